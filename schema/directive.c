#include "schema/directive.h"

#include "schema/attach.h"
#include "schema/reference.h"
#include "schema/silence.h"
#include "schema/tag.h"
#include "schema/white.h"

/* The attachments in the text, file: addresses as paths. */
static bool keep_media(const struct schema_attached *attached, struct arena *arena,
                       struct schema_directives *d)
{
  if (attached->count == 0) return true;
  struct span *media = arena_zalloc(arena, attached->count, sizeof *media);
  if (!media) return false;
  for (size_t i = 0; i < attached->count; i++) {
    media[i] = schema_reference_path(attached->media[i], arena);
    if (!media[i].ptr) return false;
  }
  d->media = media;
  d->media_count = attached->count;
  return true;
}

/* Takes attachments and the voice tag out: the first of the two stages. A text of which nothing
 * was taken stays as it is but for its end. */
static bool take_media(struct span text, const struct schema_directive_options *options,
                       struct arena *arena, struct schema_directives *d)
{
  unsigned wanted = (options->media_lines ? SCHEMA_ATTACH_LINES : 0) |
                    (options->markdown_images ? SCHEMA_ATTACH_IMAGES : 0);
  struct schema_attached attached;
  struct schema_tags tags = { 0 };
  text = schema_white_trim_end(text);
  if (!schema_attach_take(text, wanted, arena, &attached)) return false;
  struct span left = attached.text;
  if (schema_tag_possible(left)) {
    if (!schema_tags_take(left, SCHEMA_TAG_AUDIO, arena, &left, &tags)) return false;
  } else if (attached.taken && !schema_tag_tidy(left, arena, &left)) {
    return false;
  }
  d->refused = attached.refused;
  d->audio_as_voice = tags.audio;
  d->text = attached.taken || tags.audio ? schema_white_trim_end(left) : text;
  return keep_media(&attached, arena, d);
}

bool schema_directives_read(struct span text, const struct schema_directive_options *options,
                            struct arena *arena, struct schema_directives *ret)
{
  struct schema_directives d = { .text = text };
  struct schema_tags tags = { 0 };
  struct span left;
  if (!take_media(text, options, arena, &d)) return false;
  if (!schema_tags_take(d.text, SCHEMA_TAG_REPLY, arena, &left, &tags)) return false;
  if (!schema_tags_finish(tags.reply ? left : d.text, arena, &d.text)) return false;
  d.has_reply_tag = tags.reply;
  d.reply_to_current = tags.current;
  struct span current = schema_white_trim(options->current_message_id);
  if (tags.id.ptr)
    d.reply_to_id = tags.id;
  else if (tags.current && current.len)
    d.reply_to_id = current;
  d.silent = schema_silence_is(d.text, arena);
  if (d.silent) d.text.len = 0;
  *ret = d;
  return true;
}

/* ---- as a reply ---- */

static struct schema_segment media_segment(struct span reference, bool voice)
{
  struct schema_segment s = { .type = schema_reference_type(reference), .text = reference };
  s.media_kind = schema_remote_is_web(reference) ? SCHEMA_MEDIA_URL : SCHEMA_MEDIA_PATH;
  s.as_file = s.type == SCHEMA_AUDIO && !voice;
  return s;
}

bool schema_directives_reply(const struct schema_directives *d, struct arena *arena,
                             struct schema_reply *ret)
{
  *ret = (struct schema_reply) { 0 };
  bool has_text = !span_is_blank(d->text);
  if (!has_text && d->media_count == 0) return true;
  struct schema_segment *segments = arena_zalloc(arena, d->media_count + 1, sizeof *segments);
  struct schema_message *message = arena_zalloc(arena, 1, sizeof *message);
  if (!segments || !message) return false;
  size_t count = 0;
  if (has_text)
    segments[count++] = (struct schema_segment) { .type = SCHEMA_TEXT, .text = d->text };
  for (size_t i = 0; i < d->media_count; i++)
    segments[count++] = media_segment(d->media[i], d->audio_as_voice);
  *message = (struct schema_message) { segments, count, d->reply_to_id };
  *ret = (struct schema_reply) { .messages = message, .count = 1 };
  return true;
}
