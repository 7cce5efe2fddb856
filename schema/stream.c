#include "schema/stream.h"

#include "schema/silence.h"
#include "schema/tag.h"
#include "schema/white.h"

void schema_stream_init(struct schema_stream *s)
{
  *s = (struct schema_stream) { .shown = false };
  buf_init(&s->held, SCHEMA_STREAM_HELD_MAX);
  buf_init(&s->gap, SIZE_MAX); /* part of a chunk and of what is held */
  buf_init(&s->id, SIZE_MAX);  /* cut by tag.c */
}

void schema_stream_done(struct schema_stream *s)
{
  buf_done(&s->held);
  buf_done(&s->gap);
  buf_done(&s->id);
}

static struct span part(struct span s, size_t begin, size_t end)
{
  return (struct span) { s.ptr + begin, end - begin };
}

/* Where the last [[ begins that has no ]] behind it, or the length. */
static size_t open_tag(struct span text)
{
  for (size_t i = text.len; i >= 2; i--) {
    struct span pair = part(text, i - 2, i);
    if (span_is(pair, "]]")) return text.len;
    if (span_is(pair, "[[")) return i - 2;
  }
  return text.len;
}

/* Where the last line begins if it is, or may become, a MEDIA line; else the length. */
static size_t open_media_line(struct span text)
{
  const struct span token = SPAN("MEDIA:");
  size_t begin = text.len;
  while (begin > 0 && text.ptr[begin - 1] != '\n') begin--;
  size_t at = schema_white_skip(text, begin);
  size_t there = text.len - at < token.len ? text.len - at : token.len;
  bool is_prefix = there > 0 && span_eq_nocase(part(text, at, at + there), part(token, 0, there));
  return is_prefix ? begin : text.len;
}

/* Keeps the end of text back that is not certain yet; returns what is. old_gap is the white space
 * that stood before what was held until now. */
static struct span hold_back(struct schema_stream *s, struct span text, struct span old_gap)
{
  size_t tag = open_tag(text), line = open_media_line(text);
  if (tag == text.len && text.len && text.ptr[text.len - 1] == '[') tag = text.len - 1;
  size_t begin = tag < line ? tag : line;
  if (begin == text.len) return text;
  size_t end = tag < text.len ? schema_white_back(text, begin, 0) : begin;
  if (end == 0) buf_add(&s->gap, old_gap);
  buf_add(&s->gap, part(text, end, begin));
  buf_add(&s->held, part(text, begin, text.len));
  return part(text, 0, end);
}

/* A copy of both; ptr NULL: no memory. */
static struct span joined(struct arena *arena, struct span a, struct span b)
{
  char *out = arena_alloc(arena, a.len + b.len + 1);
  if (!out) return (struct span) { NULL, 0 };
  if (a.len) memcpy(out, a.ptr, a.len);
  if (b.len) memcpy(out + a.len, b.ptr, b.len);
  return (struct span) { out, a.len + b.len };
}

/* A certain piece without its tags, which are noted. */
static bool show(struct schema_stream *s, struct span text, struct arena *arena, struct span *ret)
{
  struct schema_tags tags = { 0 };
  unsigned all = SCHEMA_TAG_AUDIO | SCHEMA_TAG_REPLY;
  if (!schema_tags_take(text, all, arena, ret, &tags)) return false;
  s->reply_to_current |= tags.current;
  s->has_reply_tag |= tags.reply;
  s->audio_as_voice |= tags.audio;
  if (tags.id.ptr) buf_clear(&s->id);
  if (tags.id.ptr) buf_add(&s->id, tags.id);
  if (schema_silence_is(*ret, arena)) ret->len = 0;
  return !s->id.failed;
}

/* Whether the pair stands in the chunk, or across its border with what is held. */
static bool pair_arrives(struct span held, struct span chunk, struct span pair)
{
  bool across = chunk.len && chunk.ptr[0] == pair.ptr[1] && held.ptr[held.len - 1] == pair.ptr[0];
  return across || span_find(chunk, pair) < chunk.len;
}

/* Whether what is held stays open whatever else the chunk says: a tag without its ]] (or a further
 * one's beginning), a MEDIA line without its end. Only the new bytes are looked at. */
static bool stays_open(const struct schema_stream *s, struct span chunk)
{
  const struct span token = SPAN("MEDIA:");
  struct span held = buf_span(&s->held);
  if (span_starts(held, SPAN("[[")))
    return !pair_arrives(held, chunk, SPAN("]]")) && !pair_arrives(held, chunk, SPAN("[["));
  size_t at = schema_white_skip(held, 0);
  bool is_line =
      held.len - at >= token.len && span_eq_nocase(part(held, at, at + token.len), token);
  return is_line && !memchr(chunk.ptr, '\n', chunk.len);
}

bool schema_stream_push(struct schema_stream *s, struct span chunk, bool last, struct arena *arena,
                        struct span *ret)
{
  *ret = (struct span) { NULL, 0 };
  bool had_held = s->held.len > 0;
  bool holds = !last && chunk.len <= SCHEMA_STREAM_HELD_MAX - s->held.len;
  if (chunk.len == 0 && !last) return true;
  if (had_held && holds && stays_open(s, chunk)) return buf_add(&s->held, chunk);
  struct span gap = arena_copy(arena, buf_span(&s->gap));
  struct span text = joined(arena, buf_span(&s->held), chunk), shown = { NULL, 0 };
  if (!gap.ptr || !text.ptr) return false;
  buf_clear(&s->held);
  buf_clear(&s->gap);
  if (holds) text = hold_back(s, text, gap);
  if (s->held.failed || s->gap.failed) return false;
  if (text.len && !show(s, text, arena, &shown)) return false;
  if (had_held && gap.len && shown.len && shown.ptr[0] == '[') shown = joined(arena, gap, shown);
  if (last && !s->shown && shown.len && !schema_tags_finish(shown, arena, &shown)) return false;
  s->shown |= shown.len > 0;
  *ret = shown;
  return shown.len == 0 || shown.ptr != NULL;
}
