#include "schema/reply.h"

#include <stdio.h>

/* ---- where the reading stands, for the path of an error ---- */

struct step {
  struct span key; /* ptr NULL: an index */
  size_t index;
};

enum {
  STEPS_MAX = 12, /* the deepest is $.messages[].segments[].data.rows[][].label with 9 */
  PATH_MAX_CHARS = 512,
  SHARE_OWN = 2,      /* url and title, before the declared fields of a share */
  KEY_SHOWN_MAX = 32, /* an unknown key is named where it is a short word */
};

struct reading {
  const struct schema_offer *offer;
  struct schema_json *r;
  unsigned options;
  struct schema_reply_notes *notes;
  struct schema_error *reterr; /* may be NULL */
  struct step steps[STEPS_MAX];
  size_t step_count;
};

static void enter_key(struct reading *in, struct span key)
{
  in->steps[in->step_count++] = (struct step) { key, 0 };
}

static void enter_index(struct reading *in)
{
  in->steps[in->step_count++] = (struct step) { { NULL, 0 }, 0 };
}

static void leave(struct reading *in)
{
  in->step_count--;
}

static void set_index(struct reading *in, size_t index)
{
  in->steps[in->step_count - 1].index = index;
}

static enum schema_code fault(const struct reading *in, enum schema_code code, size_t at,
                              const char *what)
{
  char path[PATH_MAX_CHARS] = "$";
  size_t len = 1;
  for (size_t i = 0; i < in->step_count && len < sizeof path; i++) {
    const struct step *step = &in->steps[i];
    int n = step->key.ptr ? snprintf(path + len, sizeof path - len, ".%.*s", (int)step->key.len,
                                     step->key.ptr)
                          : snprintf(path + len, sizeof path - len, "[%zu]", step->index);
    len += n > 0 ? (size_t)n : 0;
  }
  return schema_fail(in->reterr, code, at, path, what);
}

/* The fault that the reader has met. */
static enum schema_code reader_fault(const struct reading *in)
{
  const struct schema_error *e = &in->r->error;
  return fault(in, e->code, e->at, e->what);
}

static enum schema_code memory_fault(const struct reading *in)
{
  return fault(in, SCHEMA_ENOMEM, in->r->at, "the reply needs more memory than it may have");
}

static enum schema_code missing_fault(struct reading *in, struct span key)
{
  enter_key(in, key);
  return fault(in, SCHEMA_EMISSING, in->r->at, "this key is required");
}

static bool is_word(struct span key)
{
  if (key.len == 0 || key.len > KEY_SHOWN_MAX) return false;
  for (size_t i = 0; i < key.len; i++) {
    char c = key.ptr[i];
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
      return false;
  }
  return true;
}

static enum schema_code unknown_fault(struct reading *in)
{
  if (is_word(in->r->text)) enter_key(in, in->r->text);
  return fault(in, SCHEMA_EUNKNOWN, in->r->at, "the contract has no such key here");
}

/* ---- tokens ---- */

static enum schema_code next(struct reading *in, enum schema_token *ret)
{
  *ret = schema_json_next(in->r);
  return *ret == SCHEMA_JSON_ERROR ? reader_fault(in) : SCHEMA_OK;
}

/* Whether the token that was just read opens what is wanted. */
static enum schema_code want(const struct reading *in, enum schema_token token,
                             enum schema_token wanted)
{
  if (token == wanted) return SCHEMA_OK;
  return fault(in, SCHEMA_ETYPE, in->r->at,
               wanted == SCHEMA_JSON_OBJECT ? "an object is needed here"
                                            : "an array is needed here");
}

/* Reads the first token of a member's value, which must be an object or an array. */
static enum schema_code open_value(struct reading *in, enum schema_token wanted)
{
  enum schema_token token;
  enum schema_code rc = next(in, &token);
  return rc ? rc : want(in, token, wanted);
}

/* The next key of the open object; ret->ptr is NULL behind the last. */
static enum schema_code next_key(struct reading *in, struct span *ret)
{
  enum schema_token token;
  enum schema_code rc = next(in, &token);
  *ret = token == SCHEMA_JSON_KEY ? in->r->text : (struct span) { NULL, 0 };
  return rc;
}

static bool is_integer(struct span number)
{
  for (size_t i = 0; i < number.len; i++)
    if (number.ptr[i] == '.' || number.ptr[i] == 'e' || number.ptr[i] == 'E') return false;
  return true;
}

/* Takes the value whose first token was just read as a string; ret->ptr is never NULL then. */
static enum schema_code take_string(struct reading *in, enum schema_token token, struct span *ret)
{
  bool integer =
      token == SCHEMA_JSON_NUMBER && in->options & SCHEMA_REPLY_INTEGERS && is_integer(in->r->text);
  if (token != SCHEMA_JSON_STRING && !integer)
    return fault(in, SCHEMA_ETYPE, in->r->at, "a string is needed here");
  if (integer && in->notes->integers++ == 0) in->notes->integer_at = in->r->at;
  *ret = in->r->text.len ? in->r->text : SPAN("");
  return SCHEMA_OK;
}

static enum schema_code read_string(struct reading *in, struct span *ret)
{
  enum schema_token token;
  enum schema_code rc = next(in, &token);
  return rc ? rc : take_string(in, token, ret);
}

struct field {
  struct span name, value; /* value.ptr NULL: left out */
  size_t at;               /* of the value */
};

/* Reads the members of an open, closed-world object of strings. The first required fields may not
 * be left out. */
static enum schema_code read_fields(struct reading *in, struct field *fields, size_t count,
                                    size_t required)
{
  struct span key;
  enum schema_code rc;
  while ((rc = next_key(in, &key)) == SCHEMA_OK && key.ptr) {
    size_t i = 0;
    while (i < count && !span_eq(fields[i].name, key)) i++;
    if (i == count) return unknown_fault(in);
    enter_key(in, fields[i].name);
    rc = read_string(in, &fields[i].value);
    if (rc) return rc;
    fields[i].at = in->r->at;
    leave(in);
  }
  if (rc) return rc;
  for (size_t i = 0; i < required; i++)
    if (!fields[i].value.ptr) return missing_fault(in, fields[i].name);
  return SCHEMA_OK;
}

/* ---- what is built ---- */

/* An array in the arena with room for one more than count items. */
static void *with_room(struct reading *in, void *items, size_t count, size_t *cap, size_t size)
{
  if (count < *cap) return items;
  enum { FIRST = 4 }; /* most replies have fewer of each */
  size_t grown = *cap ? *cap * 2 : FIRST;
  void *copy = arena_alloc(in->r->arena, grown * size);
  if (!copy) return NULL;
  if (count) memcpy(copy, items, count * size);
  *cap = grown;
  return copy;
}

/* The length of the control character at p, tab and newline excepted, or 0. */
static size_t control_length(const char *p, const char *end)
{
  unsigned char c = (unsigned char)*p;
  if (c < 0x20) return c != '\t' && c != '\n';
  if (c == 0x7F) return 1;
  return c == 0xC2 && end - p > 1 && (unsigned char)p[1] < 0xA0 ? 2 : 0;
}

/* Cuts control characters but tab and newline out of what people read. */
static enum schema_code clean(struct reading *in, struct span *text)
{
  const char *p = text->ptr, *end = p + text->len;
  while (p < end && !control_length(p, end)) p++;
  if (p == end) return SCHEMA_OK;
  char *copy = arena_alloc(in->r->arena, text->len);
  if (!copy) return memory_fault(in);
  size_t len = (size_t)(p - text->ptr);
  memcpy(copy, text->ptr, len);
  while (p < end) {
    size_t n = control_length(p, end);
    if (n == 0) copy[len++] = *p;
    p += n ? n : 1;
  }
  *text = (struct span) { copy, len };
  return SCHEMA_OK;
}

/* Moves the members of data into segment; *retkeep: something is left of it after cleaning. All
 * of these stand behind the { of data. */
typedef enum schema_code read_data(struct reading *in, struct schema_segment *segment,
                                   bool *retkeep);

static enum schema_code read_string_data(struct reading *in, struct schema_segment *segment,
                                         bool *retkeep)
{
  struct field field = { .name = span_of(schema_segment_types[segment->type].field) };
  enum schema_code rc = read_fields(in, &field, 1, 1);
  bool shown = segment->type != SCHEMA_MENTION; /* a target is no text: nothing is cut from it */
  if (!rc && shown) rc = clean(in, &field.value);
  segment->text = field.value;
  *retkeep = !shown || field.value.len > 0;
  return rc;
}

static enum schema_code read_media(struct reading *in, struct schema_segment *segment)
{
  struct field fields[] = { { .name = SPAN("kind") }, { .name = SPAN("value") } };
  enum schema_code rc = open_value(in, SCHEMA_JSON_OBJECT);
  if (!rc) rc = read_fields(in, fields, 2, 2);
  if (rc) return rc;
  unsigned kind = 0;
  while (kind < SCHEMA_MEDIA_KIND_COUNT && !span_is(fields[0].value, schema_media_kinds[kind]))
    kind++;
  if (kind == SCHEMA_MEDIA_KIND_COUNT) {
    enter_key(in, fields[0].name);
    return fault(in, SCHEMA_EENUM, fields[0].at, "kind is one of url, path, base64 and file");
  }
  segment->media_kind = (enum schema_media_kind)kind;
  segment->text = fields[1].value;
  return SCHEMA_OK;
}

static enum schema_code read_row(struct reading *in, struct schema_row *ret)
{
  struct schema_button *buttons = NULL;
  size_t count = 0, cap = 0;
  enum schema_token token;
  enum schema_code rc;
  enter_index(in);
  while ((rc = next(in, &token)) == SCHEMA_OK && token != SCHEMA_JSON_ARRAY_END) {
    set_index(in, count);
    if (count == SCHEMA_KEYBOARD_ROW_MAX)
      return fault(in, SCHEMA_ELIMIT, in->r->at, "a row of a keyboard has at most 5 buttons");
    struct field fields[] = { { .name = SPAN("label") }, { .name = SPAN("payload") } };
    rc = want(in, token, SCHEMA_JSON_OBJECT);
    if (!rc) rc = read_fields(in, fields, 2, 2);
    if (!rc) rc = clean(in, &fields[0].value);
    if (!rc) rc = clean(in, &fields[1].value);
    if (rc) return rc;
    buttons = with_room(in, buttons, count, &cap, sizeof *buttons);
    if (!buttons) return memory_fault(in);
    buttons[count++] = (struct schema_button) { fields[0].value, fields[1].value };
  }
  leave(in);
  *ret = (struct schema_row) { buttons, count };
  return rc;
}

/* Empty rows are left out. */
static enum schema_code read_rows(struct reading *in, struct schema_segment *segment)
{
  struct schema_row *rows = NULL;
  size_t count = 0, cap = 0, written = 0;
  enum schema_token token;
  enum schema_code rc = open_value(in, SCHEMA_JSON_ARRAY);
  if (rc) return rc;
  enter_index(in);
  while ((rc = next(in, &token)) == SCHEMA_OK && token != SCHEMA_JSON_ARRAY_END) {
    struct schema_row row;
    set_index(in, written++);
    rc = want(in, token, SCHEMA_JSON_ARRAY);
    if (!rc) rc = read_row(in, &row);
    if (rc) return rc;
    if (row.count == 0) continue;
    rows = with_room(in, rows, count, &cap, sizeof *rows);
    if (!rows) return memory_fault(in);
    rows[count++] = row;
  }
  leave(in);
  segment->keyboard.rows = rows;
  segment->keyboard.count = count;
  return rc;
}

/* Reads the one required member of data that is no string. */
static enum schema_code
read_one_member(struct reading *in, struct span name, struct schema_segment *segment,
                enum schema_code (*read)(struct reading *, struct schema_segment *))
{
  bool seen = false;
  struct span key;
  enum schema_code rc;
  while ((rc = next_key(in, &key)) == SCHEMA_OK && key.ptr) {
    if (!span_eq(key, name)) return unknown_fault(in);
    enter_key(in, name);
    rc = read(in, segment);
    if (rc) return rc;
    leave(in);
    seen = true;
  }
  if (rc) return rc;
  return seen ? SCHEMA_OK : missing_fault(in, name);
}

static enum schema_code read_media_data(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  *retkeep = true;
  return read_one_member(in, SPAN("media"), segment, read_media);
}

static enum schema_code read_keyboard_data(struct reading *in, struct schema_segment *segment,
                                           bool *retkeep)
{
  enum schema_code rc = read_one_member(in, SPAN("rows"), segment, read_rows);
  *retkeep = !rc && segment->keyboard.count > 0;
  return rc;
}

static enum schema_code read_share_data(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  const struct schema_offer *offer = in->offer;
  size_t most = SHARE_OWN + offer->share_field_count, count = SHARE_OWN, kept = 0;
  struct field *fields = arena_zalloc(in->r->arena, most, sizeof *fields);
  struct schema_pair *pairs = arena_alloc(in->r->arena, most * sizeof *pairs);
  if (!fields || !pairs) return memory_fault(in);
  fields[0].name = SPAN("url");
  fields[1].name = SPAN("title");
  for (size_t i = 0; i < offer->share_field_count; i++)
    if (schema_share_field_counts(offer, i)) fields[count++].name = offer->share_fields[i];
  enum schema_code rc = read_fields(in, fields, count, offer->canonical ? SHARE_OWN : count);
  for (size_t i = 0; i < count && !rc; i++) {
    rc = clean(in, &fields[i].value);
    if (i < SHARE_OWN || fields[i].value.len > 0)
      pairs[kept++] = (struct schema_pair) { fields[i].name, fields[i].value };
  }
  segment->share.fields = pairs;
  segment->share.count = kept;
  *retkeep = true;
  return rc;
}

static enum schema_code read_empty_data(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  (void)segment;
  *retkeep = true;
  return read_fields(in, NULL, 0, 0);
}

static read_data *const data_readers[] = {
  [SCHEMA_SHAPE_STRING] = read_string_data,     [SCHEMA_SHAPE_MEDIA] = read_media_data,
  [SCHEMA_SHAPE_KEYBOARD] = read_keyboard_data, [SCHEMA_SHAPE_SHARE] = read_share_data,
  [SCHEMA_SHAPE_EMPTY] = read_empty_data,
};

/* ---- segments, messages, the root ---- */

/* Reads the value of data, whose key was just read; segment->type is known. */
static enum schema_code read_data_value(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  static const struct span data = { "data", 4 };
  enter_key(in, data);
  enum schema_code rc = open_value(in, SCHEMA_JSON_OBJECT);
  if (!rc) rc = data_readers[schema_segment_types[segment->type].shape](in, segment, retkeep);
  if (rc) return rc;
  leave(in);
  return SCHEMA_OK;
}

static enum schema_code read_type(struct reading *in, enum schema_type *ret)
{
  static const struct span type = { "type", 4 };
  struct span name;
  enter_key(in, type);
  enum schema_code rc = read_string(in, &name);
  if (rc) return rc;
  *ret = schema_type_find(name);
  if (*ret == SCHEMA_TYPE_COUNT)
    return fault(in, SCHEMA_ENOTOFFERED, in->r->at, "no segment type has this name");
  if (!schema_offers(in->offer, *ret))
    return fault(in, SCHEMA_ENOTOFFERED, in->r->at, "this segment type is not offered here");
  leave(in);
  return SCHEMA_OK;
}

/* Reads the members of a segment, behind its {. */
static enum schema_code read_segment(struct reading *in, struct schema_segment *segment,
                                     bool *retkeep)
{
  memset(segment, 0, sizeof *segment);
  bool has_type = false, has_data = false, put_off = false;
  struct schema_json at_data;
  struct span key;
  enum schema_code rc;
  while ((rc = next_key(in, &key)) == SCHEMA_OK && key.ptr) {
    if (span_is(key, "type")) {
      rc = read_type(in, &segment->type);
      has_type = true;
    } else if (span_is(key, "data")) {
      has_data = true;
      put_off = !has_type; /* it is read by its type, so it has to wait for that */
      if (put_off) {
        at_data = *in->r;
        if (!schema_json_skip(in->r, schema_json_next(in->r))) rc = reader_fault(in);
      } else {
        rc = read_data_value(in, segment, retkeep);
      }
    } else {
      rc = unknown_fault(in);
    }
    if (rc) return rc;
  }
  if (rc) return rc;
  if (!has_type) return missing_fault(in, SPAN("type"));
  if (!has_data) return missing_fault(in, SPAN("data"));
  if (!put_off) return SCHEMA_OK;
  struct schema_json behind = *in->r;
  *in->r = at_data;
  rc = read_data_value(in, segment, retkeep);
  if (!rc) *in->r = behind;
  return rc;
}

static bool is_visible(const struct schema_segment *segment)
{
  bool words = segment->type == SCHEMA_TEXT || segment->type == SCHEMA_MARKDOWN;
  return !words || !span_is_blank(segment->text);
}

/* Reads the array of segments; a message that shows nothing gets none. */
static enum schema_code read_segments(struct reading *in, struct schema_message *message)
{
  static const struct span name = { "segments", 8 };
  struct schema_segment *segments = NULL;
  size_t count = 0, cap = 0, written = 0;
  bool visible = false;
  enum schema_token token;
  enter_key(in, name);
  enum schema_code rc = open_value(in, SCHEMA_JSON_ARRAY);
  if (rc) return rc;
  enter_index(in);
  while ((rc = next(in, &token)) == SCHEMA_OK && token != SCHEMA_JSON_ARRAY_END) {
    bool keep = false;
    set_index(in, written++);
    segments = with_room(in, segments, count, &cap, sizeof *segments);
    if (!segments) return memory_fault(in);
    rc = want(in, token, SCHEMA_JSON_OBJECT);
    if (!rc) rc = read_segment(in, &segments[count], &keep);
    if (rc) return rc;
    if (!keep) continue;
    visible = visible || is_visible(&segments[count]);
    count++;
  }
  if (rc) return rc;
  leave(in);
  leave(in);
  message->segments = segments;
  message->count = visible ? count : 0;
  return SCHEMA_OK;
}

/* Reads the members of a message, behind its {. */
static enum schema_code read_message(struct reading *in, struct schema_message *message)
{
  static const struct span reply_to = { "reply_to", 8 };
  memset(message, 0, sizeof *message);
  bool has_segments = false;
  struct span key;
  enum schema_code rc;
  while ((rc = next_key(in, &key)) == SCHEMA_OK && key.ptr) {
    if (span_is(key, "segments")) {
      rc = read_segments(in, message);
      has_segments = true;
    } else if (in->offer->canonical && span_eq(key, reply_to)) {
      enter_key(in, reply_to);
      rc = read_string(in, &message->reply_to);
      if (!rc) leave(in);
    } else {
      rc = unknown_fault(in);
    }
    if (rc) return rc;
  }
  if (rc) return rc;
  return has_segments ? SCHEMA_OK : missing_fault(in, SPAN("segments"));
}

static enum schema_code read_messages(struct reading *in, struct schema_reply *reply)
{
  static const struct span name = { "messages", 8 };
  struct schema_message *messages = NULL;
  size_t count = 0, cap = 0, written = 0;
  enum schema_token token;
  enter_key(in, name);
  enum schema_code rc = open_value(in, SCHEMA_JSON_ARRAY);
  if (rc) return rc;
  enter_index(in);
  while ((rc = next(in, &token)) == SCHEMA_OK && token != SCHEMA_JSON_ARRAY_END) {
    set_index(in, written++);
    messages = with_room(in, messages, count, &cap, sizeof *messages);
    if (!messages) return memory_fault(in);
    rc = want(in, token, SCHEMA_JSON_OBJECT);
    if (!rc) rc = read_message(in, &messages[count]);
    if (rc) return rc;
    if (messages[count].count > 0) count++;
  }
  if (rc) return rc;
  leave(in);
  leave(in);
  reply->messages = messages;
  reply->count = count;
  return SCHEMA_OK;
}

/* The legacy root: its segments are one message. */
static enum schema_code read_only_message(struct reading *in, struct schema_reply *reply)
{
  struct schema_message *message = arena_zalloc(in->r->arena, 1, sizeof *message);
  if (!message) return memory_fault(in);
  enum schema_code rc = read_segments(in, message);
  reply->messages = message;
  reply->count = message->count > 0;
  return rc;
}

static bool is_declared(const struct schema_offer *offer, struct span value)
{
  if (value.len == 0) return true;
  for (size_t i = 0; i < offer->reaction_count; i++)
    if (span_eq(offer->reactions[i].value, value)) return true;
  return false;
}

static enum schema_code read_reaction(struct reading *in, struct schema_reply *reply)
{
  static const struct span name = { "reaction", 8 };
  const struct schema_offer *offer = in->offer;
  enum schema_token token;
  enter_key(in, name);
  enum schema_code rc = next(in, &token);
  if (rc) return rc;
  bool ignored = offer->canonical ? token == SCHEMA_JSON_NULL : !offer->offers_reaction;
  if (ignored) {
    in->notes->reaction_ignored = !offer->canonical;
    if (!schema_json_skip(in->r, token)) return reader_fault(in);
  } else {
    rc = take_string(in, token, &reply->reaction);
    if (rc) return rc;
    if (!offer->canonical && !is_declared(offer, reply->reaction))
      return fault(in, SCHEMA_EENUM, in->r->at, "a reaction is empty or one of the offered values");
  }
  leave(in);
  return SCHEMA_OK;
}

static enum schema_code read_root(struct reading *in, struct schema_reply *reply)
{
  bool legacy_allowed = in->options & SCHEMA_REPLY_LEGACY;
  bool has_messages = false, has_reaction = false;
  struct span key;
  enum schema_code rc = open_value(in, SCHEMA_JSON_OBJECT);
  if (rc) return rc;
  while ((rc = next_key(in, &key)) == SCHEMA_OK && key.ptr) {
    if (!has_messages && span_is(key, "messages")) {
      rc = read_messages(in, reply);
      has_messages = true;
    } else if (!has_messages && legacy_allowed && span_is(key, "segments")) {
      rc = read_only_message(in, reply);
      has_messages = in->notes->legacy_root = true;
    } else if (span_is(key, "reaction")) {
      rc = read_reaction(in, reply);
      has_reaction = true;
    } else {
      rc = unknown_fault(in);
    }
    if (rc) return rc;
  }
  if (rc) return rc;
  in->notes->reaction_missing = in->offer->offers_reaction && !has_reaction;
  return has_messages ? SCHEMA_OK : missing_fault(in, SPAN("messages"));
}

enum schema_code schema_reply_read_from(const struct schema_offer *offer,
                                        struct schema_json *reader, unsigned options,
                                        struct schema_reply *ret,
                                        struct schema_reply_notes *retnotes,
                                        struct schema_error *reterr)
{
  struct schema_reply_notes unwanted;
  struct reading in = {
    .offer = offer,
    .r = reader,
    .options = options,
    .notes = retnotes ? retnotes : &unwanted,
    .reterr = reterr,
  };
  struct schema_reply reply = { 0 };
  memset(in.notes, 0, sizeof *in.notes);
  enum schema_code rc = read_root(&in, &reply);
  if (!rc) *ret = reply;
  return rc;
}

/* Reads text as one reply and nothing behind it. */
static enum schema_code read_all(const struct schema_offer *offer, struct span text,
                                 struct arena *arena, unsigned options, struct schema_reply *ret,
                                 struct schema_reply_notes *notes, struct schema_error *reterr)
{
  struct schema_json r;
  struct schema_reply reply;
  schema_json_init(&r, text, arena, SCHEMA_DEPTH_REPLY, SCHEMA_JSON_STRICT);
  enum schema_code rc = schema_reply_read_from(offer, &r, options, &reply, notes, reterr);
  if (rc) return rc;
  if (schema_json_next(&r) != SCHEMA_JSON_END)
    return schema_fail(reterr, r.error.code, r.error.at, "$", r.error.what);
  *ret = reply;
  return SCHEMA_OK;
}

enum schema_code schema_reply_read(const struct schema_offer *offer, struct span text,
                                   struct arena *arena, struct schema_reply *ret,
                                   struct schema_error *reterr)
{
  struct schema_reply_notes notes;
  return read_all(offer, text, arena, 0, ret, &notes, reterr);
}

enum schema_code schema_reply_read_legacy(const struct schema_offer *offer, struct span text,
                                          struct arena *arena, struct schema_reply *ret,
                                          struct schema_error *reterr)
{
  struct schema_reply reply;
  struct schema_reply_notes notes;
  enum schema_code rc = read_all(offer, text, arena, SCHEMA_REPLY_LEGACY, &reply, &notes, reterr);
  if (rc) return rc;
  if (!notes.legacy_root)
    return schema_fail(reterr, SCHEMA_EUNKNOWN, 0, "$.messages",
                       "the legacy root has segments only");
  *ret = reply;
  return SCHEMA_OK;
}
