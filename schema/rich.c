#include "schema/rich.h"

#include "schema/payload.h"
#include "schema/prose.h"
#include "schema/silence.h"
#include "schema/tag.h"

static bool offers(const struct schema_offer *offer, const struct schema_segment *s)
{
  return schema_offers(offer, s->type) || (s->as_file && schema_offers(offer, SCHEMA_FILE));
}

/* Takes attachments out that this endpoint or group does not have. */
static void leave_offered(const struct schema_offer *offer, struct schema_message *m,
                          struct schema_rich *rich)
{
  struct schema_segment *segments = (struct schema_segment *)m->segments; /* just made for us */
  size_t count = 0;
  for (size_t i = 0; i < m->count; i++) {
    bool is_media = schema_segment_types[segments[i].type].shape == SCHEMA_SHAPE_MEDIA;
    if (is_media && !offers(offer, &segments[i])) {
      rich->refused++;
      continue;
    }
    if (is_media) rich->media = true;
    segments[count++] = segments[i];
  }
  m->count = count;
}

static void note(const struct schema_directives *d, struct schema_rich *rich)
{
  rich->taken |= d->has_reply_tag || d->audio_as_voice || d->silent || d->media_count > 0;
  rich->refused += d->refused;
}

/* Adds what directives say as a message, where it says something. */
static bool add_message(const struct schema_offer *offer, const struct schema_directives *d,
                        struct arena *arena, struct schema_reply *reply, struct schema_rich *rich)
{
  struct schema_reply one;
  if (!schema_directives_reply(d, arena, &one)) return false;
  if (one.count == 0) return true;
  struct schema_message m = one.messages[0];
  leave_offered(offer, &m, rich);
  if (m.count > 0) ((struct schema_message *)reply->messages)[reply->count++] = m;
  return true;
}

/* Each attachment once (rule 186). False: no memory. */
static bool read_words(const struct schema_offer *offer, struct span text, struct arena *arena,
                       struct schema_directives *ret)
{
  const struct schema_payload payload = { .text = text };
  bool deliver;
  if (!schema_payload_plan(&payload, offer->directives, arena, ret, &deliver)) return false;
  if (deliver || ret->silent) return true;
  /* a lone tag: the payload of nothing forgets that it was there */
  return schema_directives_read(text, offer->directives, arena, ret);
}

bool schema_rich_words(const struct schema_offer *offer, const struct span *texts, size_t count,
                       struct arena *arena, struct schema_reply *ret, struct schema_rich *rich)
{
  struct schema_message *messages = arena_zalloc(arena, count + 1, sizeof *messages);
  struct schema_directives *said = arena_zalloc(arena, count + 1, sizeof *said);
  const struct schema_delivered before = { NULL, 0 };
  struct span target = { NULL, 0 };
  if (!messages || !said) return false;
  *ret = (struct schema_reply) { .messages = messages };
  for (size_t i = 0; i < count; i++) {
    if (!read_words(offer, texts[i], arena, &said[i])) return false;
    note(&said[i], rich);
    if (said[i].reply_to_id.len > 0) target = said[i].reply_to_id;
    said[i].reply_to_id = target;
  }
  if (!schema_payload_dedupe(&before, arena, said, &count)) return false;
  for (size_t i = 0; i < count; i++)
    if (!add_message(offer, &said[i], arena, ret, rich)) return false;
  return true;
}

/* ---- payloads ---- */

/* Members of a payload object; one that has others, or none of the telling ones, is other JSON. */
static const struct {
  const char *name;
  bool tells;
} members[] = {
  { "text", false },          { "message", false },
  { "caption", false },       { "mediaUrl", true },
  { "media_url", true },      { "mediaUrls", true },
  { "media_urls", true },     { "media", true },
  { "attachments", true },    { "audioAsVoice", true },
  { "audio_as_voice", true }, { "asVoice", true },
  { "replyToId", true },      { "reply_to_id", true },
  { "replyToCurrent", true }, { "reply_to_current", true },
};

static bool is_payload(const struct schema_node *object)
{
  bool tells = false;
  if (object->kind != SCHEMA_OBJECT) return false;
  for (const struct schema_node *n = object->first; n; n = n->next) {
    size_t i = 0, count = sizeof members / sizeof *members;
    while (i < count && !span_is(n->key, members[i].name)) i++;
    if (i == count) return false;
    tells |= members[i].tells;
  }
  return tells;
}

/* The member of either spelling, or NULL. */
static const struct schema_node *member(const struct schema_node *object, const char *camel,
                                        const char *snake)
{
  const struct schema_node *n = schema_tree_get(object, camel);
  return n ? n : schema_tree_get(object, snake);
}

/* The texts of a list, or the one text that stands in its place. False: no memory. */
static bool texts_of(const struct schema_node *list, struct arena *arena,
                     struct schema_payload *payload)
{
  if (!list) return true;
  struct span *urls = arena_zalloc(arena, list->count + 1, sizeof *urls);
  if (!urls) return false;
  if (list->kind == SCHEMA_STRING) urls[payload->media_url_count++] = list->text;
  for (const struct schema_node *n = list->kind == SCHEMA_ARRAY ? list->first : NULL; n;
       n = n->next)
    urls[payload->media_url_count++] = schema_tree_string(n);
  payload->media_urls = urls;
  return true;
}

/* {"text", "mediaUrl", "mediaUrls", "audioAsVoice", "replyToId", "replyToCurrent"} */
static bool read_payload(const struct schema_offer *offer, const struct schema_node *object,
                         struct arena *arena, struct schema_directives *ret)
{
  struct schema_payload payload = {
    .text = schema_tree_string(schema_tree_get(object, "text")),
    .media_url = schema_tree_string(member(object, "mediaUrl", "media_url")),
    .audio_as_voice = schema_tree_truth(member(object, "audioAsVoice", "audio_as_voice"), false),
    .reply_to_id = schema_tree_id(member(object, "replyToId", "reply_to_id")),
    .reply_to_current =
        schema_tree_truth(member(object, "replyToCurrent", "reply_to_current"), false),
  };
  bool deliver;
  if (!texts_of(member(object, "mediaUrls", "media_urls"), arena, &payload)) return false;
  if (!schema_payload_plan(&payload, offer->directives, arena, ret, &deliver)) return false;
  if (ret->reply_to_current && ret->reply_to_id.len == 0)
    ret->reply_to_id = offer->directives->current_message_id;
  return true;
}

/* {"message", "media" …}, the arguments of a message tool. */
static bool read_message(const struct schema_offer *offer, const struct schema_node *object,
                         struct arena *arena, struct schema_directives *ret)
{
  struct span id = schema_tree_id(member(object, "replyToId", "reply_to_id"));
  bool current = schema_tree_truth(member(object, "replyToCurrent", "reply_to_current"), false);
  bool sends;
  if (!schema_payload_from_tool(object, arena, ret, &sends)) return false;
  if (id.len > 0) ret->reply_to_id = id;
  if ((current || ret->reply_to_current) && ret->reply_to_id.len == 0)
    ret->reply_to_id = offer->directives->current_message_id;
  return true;
}

bool schema_rich_payload(const struct schema_offer *offer, struct span text, struct arena *arena,
                         bool *retis, struct schema_reply *ret, struct schema_rich *rich)
{
  struct schema_node *object = NULL;
  struct schema_directives d;
  bool fenced;
  *retis = false;
  text = span_trim(schema_prose_unfence(span_trim(text), &fenced));
  if (text.len == 0 || text.ptr[0] != '{') return true;
  enum schema_code code = schema_tree_read(text, SCHEMA_DEPTH_REPLY, arena, &object, NULL);
  if (code == SCHEMA_ENOMEM) return false;
  if (code != SCHEMA_OK || !is_payload(object)) return true;
  bool as_tool = !schema_tree_get(object, "text") && !schema_tree_get(object, "mediaUrls") &&
                 !schema_tree_get(object, "media_urls");
  if (as_tool || schema_tree_get(object, "media") || schema_tree_get(object, "attachments")) {
    if (!read_message(offer, object, arena, &d)) return false;
  } else if (!read_payload(offer, object, arena, &d)) {
    return false;
  }
  struct schema_message *messages = arena_zalloc(arena, 1, sizeof *messages);
  *ret = (struct schema_reply) { .messages = messages };
  *retis = rich->taken = true;
  note(&d, rich);
  return messages && add_message(offer, &d, arena, ret, rich);
}

/* ---- structured replies ---- */

/* What tags mean for a target. */
static struct span target_of(const struct schema_offer *offer, const struct schema_tags *tags)
{
  if (tags->id.ptr) return tags->id;
  return tags->current ? offer->directives->current_message_id : (struct span) { NULL, 0 };
}

/* Takes the tags out of the words of a message. */
static bool clean_message(const struct schema_offer *offer, struct arena *arena,
                          struct schema_message *m, struct schema_rich *rich)
{
  struct schema_segment *segments = arena_zalloc(arena, m->count, sizeof *segments);
  size_t count = 0;
  if (!segments) return false;
  for (size_t i = 0; i < m->count; i++) {
    struct schema_segment s = m->segments[i];
    bool words = s.type == SCHEMA_TEXT || s.type == SCHEMA_MARKDOWN;
    struct schema_tags tags = { 0 };
    unsigned all = SCHEMA_TAG_AUDIO | SCHEMA_TAG_REPLY;
    if (words && schema_tag_possible(s.text)) {
      if (!schema_tags_take(s.text, all, arena, &s.text, &tags)) return false;
      struct span target = target_of(offer, &tags);
      if (target.len > 0) m->reply_to = target;
      rich->taken |= tags.reply || tags.audio;
      if ((tags.reply || tags.audio) && s.text.len == 0) continue;
    }
    segments[count++] = s;
  }
  m->segments = segments;
  m->count = count;
  return true;
}

static bool has_tags(const struct schema_message *m)
{
  for (size_t i = 0; i < m->count; i++) {
    enum schema_type type = m->segments[i].type;
    if ((type == SCHEMA_TEXT || type == SCHEMA_MARKDOWN) &&
        schema_tag_possible(m->segments[i].text))
      return true;
  }
  return false;
}

static bool asks_for_silence(const struct schema_reply *reply, struct arena *arena)
{
  return reply->count == 1 && reply->messages[0].count == 1 &&
         reply->messages[0].segments[0].type == SCHEMA_TEXT &&
         schema_silence_is(reply->messages[0].segments[0].text, arena);
}

bool schema_rich_reply(const struct schema_offer *offer, struct arena *arena,
                       struct schema_reply *reply, struct schema_rich *rich)
{
  bool any = false;
  for (size_t i = 0; i < reply->count && !any; i++) any = has_tags(&reply->messages[i]);
  if (any) {
    struct schema_message *messages = arena_zalloc(arena, reply->count, sizeof *messages);
    size_t count = 0;
    if (!messages) return false;
    for (size_t i = 0; i < reply->count; i++) {
      struct schema_message m = reply->messages[i];
      if (!clean_message(offer, arena, &m, rich)) return false;
      if (m.count > 0) messages[count++] = m;
    }
    reply->messages = messages;
    reply->count = count;
  }
  if (asks_for_silence(reply, arena)) {
    reply->count = 0;
    rich->taken = true;
  }
  return true;
}

bool schema_rich_around(const struct schema_offer *offer, struct span text, struct arena *arena,
                        struct span *rettext, struct span *rettarget, struct schema_rich *rich)
{
  struct schema_tags tags = { 0 };
  unsigned all = SCHEMA_TAG_AUDIO | SCHEMA_TAG_REPLY;
  *rettext = text;
  if (!schema_tag_possible(text)) return true;
  if (!schema_tags_take(text, all, arena, rettext, &tags)) return false;
  struct span target = target_of(offer, &tags);
  if (target.len > 0) *rettarget = target;
  rich->taken |= tags.reply || tags.audio;
  return true;
}
