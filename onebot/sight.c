/* sight: see sight.h. */
#include "onebot/sight.h"

/* The members of the top level whose value is kept where it is a string or a number. */
static const struct {
  struct span key;
  size_t offset;
} members[] = {
  { SPAN_INIT("echo"), offsetof(struct ob_sight, echo) },
  { SPAN_INIT("data"), offsetof(struct ob_sight, data) },
  { SPAN_INIT("stream"), offsetof(struct ob_sight, stream) },
  { SPAN_INIT("retcode"), offsetof(struct ob_sight, retcode) },
  { SPAN_INIT("self_id"), offsetof(struct ob_sight, self_id) },
  { SPAN_INIT("user_id"), offsetof(struct ob_sight, user_id) },
  { SPAN_INIT("group_id"), offsetof(struct ob_sight, group_id) },
  { SPAN_INIT("interval"), offsetof(struct ob_sight, interval) },
  { SPAN_INIT("post_type"), offsetof(struct ob_sight, post_type) },
  { SPAN_INIT("message_type"), offsetof(struct ob_sight, message_type) },
  { SPAN_INIT("meta_event_type"), offsetof(struct ob_sight, meta_event) },
};

static struct span *member_of(struct ob_sight *s, struct span key)
{
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (span_eq(key, members[i].key)) return (struct span *)(void *)((char *)s + members[i].offset);
  return NULL;
}

static bool is_scalar(enum schema_token token)
{
  return token == SCHEMA_JSON_STRING || token == SCHEMA_JSON_NUMBER;
}

/* A segment's data, opened: its text, maybe empty. False: a fault. */
static bool read_data(struct schema_json *r, struct span *rettext)
{
  enum schema_token token;
  while ((token = schema_json_next(r)) == SCHEMA_JSON_KEY) {
    bool is_text = span_eq(r->text, SPAN("text"));
    token = schema_json_next(r);
    if (is_text && is_scalar(token)) *rettext = r->text;
    if (!schema_json_skip(r, token)) return false;
  }
  return token == SCHEMA_JSON_OBJECT_END;
}

/* One segment, opened. False: a fault. */
static bool read_segment(struct schema_json *r, struct ob_sight *s)
{
  struct span type = SPAN(""), text = SPAN("");
  enum schema_token token;
  while ((token = schema_json_next(r)) == SCHEMA_JSON_KEY) {
    bool is_type = span_eq(r->text, SPAN("type")), is_data = span_eq(r->text, SPAN("data"));
    token = schema_json_next(r);
    if (is_type && token == SCHEMA_JSON_STRING) type = r->text;
    bool fine =
        is_data && token == SCHEMA_JSON_OBJECT ? read_data(r, &text) : schema_json_skip(r, token);
    if (!fine) return false;
  }
  s->at = s->at || span_eq(type, SPAN("at"));
  if (s->text.len == 0 && span_eq(type, SPAN("text")) && !span_is_blank(text)) s->text = text;
  return token == SCHEMA_JSON_OBJECT_END;
}

/* The segments of a message, opened. False: a fault. */
static bool read_segments(struct schema_json *r, struct ob_sight *s)
{
  enum schema_token token;
  s->message = true;
  while ((token = schema_json_next(r)) != SCHEMA_JSON_ARRAY_END) {
    bool fine = token == SCHEMA_JSON_OBJECT ? read_segment(r, s) : schema_json_skip(r, token);
    if (!fine) return false;
  }
  return true;
}

/* The data of an answer, opened. False: a fault. */
static bool read_answer(struct schema_json *r, struct ob_sight *s)
{
  enum schema_token token;
  while ((token = schema_json_next(r)) == SCHEMA_JSON_KEY) {
    bool is_id = span_eq(r->text, SPAN("message_id"));
    token = schema_json_next(r);
    if (is_id && is_scalar(token)) s->message_id = r->text;
    if (!schema_json_skip(r, token)) return false;
  }
  return token == SCHEMA_JSON_OBJECT_END;
}

/* A message as a CQ string: codes and escapes in front hide how its words begin. */
static void look_at_string(struct span text, struct ob_sight *s)
{
  struct span words = span_trim(text);
  s->message = true;
  s->text = span_is_blank(text) ? SPAN("") : text;
  s->at = span_starts(words, SPAN("[CQ:")) || span_starts(words, SPAN("&")) ||
          (words.len > 0 && memchr(words.ptr, '[', words.len) &&
           span_find(words, SPAN("[CQ:at")) < words.len);
}

/* The value of a key of the top level, of which token is the first. False: a fault. */
static bool read_member(struct schema_json *r, struct span key, enum schema_token token,
                        struct ob_sight *s)
{
  struct span *member = member_of(s, key);
  size_t from = r->at;
  if (!member) {
    s->has_status = s->has_status || span_eq(key, SPAN("status"));
    bool message = span_eq(key, SPAN("message"));
    if (message && token == SCHEMA_JSON_ARRAY) return read_segments(r, s);
    if (message && token == SCHEMA_JSON_STRING) look_at_string(r->text, s);
    return schema_json_skip(r, token);
  }
  *member = is_scalar(token) ? r->text : SPAN("");
  bool answer = member == &s->data && token == SCHEMA_JSON_OBJECT;
  if (answer ? !read_answer(r, s) : !schema_json_skip(r, token)) return false;
  struct span raw = { r->begin + from, schema_json_offset(r) - from };
  if (member == &s->data) s->data = raw;
  if (member == &s->post_type) s->has_post_type = true;
  if (member == &s->echo) {
    s->echo_is_string = token == SCHEMA_JSON_STRING;
    s->echo_raw = raw;
  }
  return true;
}

bool ob_sight_read(struct span frame, struct arena *arena, struct ob_sight *ret,
                   struct schema_error *reterr)
{
  struct schema_json r;
  *ret = (struct ob_sight) { .text = SPAN("") };
  schema_json_init(&r, frame, arena, SCHEMA_DEPTH_EVENT);
  enum schema_token token = schema_json_next(&r);
  if (token == SCHEMA_JSON_OBJECT) {
    while ((token = schema_json_next(&r)) == SCHEMA_JSON_KEY) {
      struct span key = r.text;
      token = schema_json_next(&r);
      if (!read_member(&r, key, token, ret)) break;
    }
    if (token == SCHEMA_JSON_OBJECT_END && schema_json_next(&r) == SCHEMA_JSON_END) return true;
  }
  if (reterr) *reterr = r.error;
  return false;
}
