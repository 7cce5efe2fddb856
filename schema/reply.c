#include "schema/reply.h"

#include "schema/grammar.h"

#include <stdio.h>

#define KEY(literal) ((struct span) { literal, sizeof(literal) - 1 })

enum {
  SHARE_OWN = 2,  /* url and title, before the declared fields of a share */
  STEPS_MAX = 12, /* the deepest path is $.messages[].segments[].data.rows[][].label with 9 */
  PATH_CHARS_MAX = 512,
  KEY_SHOWN_MAX = 32, /* an unknown key is named where it is a short word */
  DEPTH_MAX = 10,     /* of what the contract has, so of what is read directly */
  DEPTH_ROOT = 1,     /* containers around a member of the root */
  DEPTH_SEGMENT = 5,  /* around a member of a segment; */
  DEPTH_LEGACY = 3,   /* under the legacy root */
};

struct step {
  struct span key; /* ptr NULL: an index */
  size_t index;
};

struct reading {
  const struct schema_offer *offer;
  struct schema_json *r;
  unsigned options;
  /* The reader is strict, so the grammar's pieces are driven from here, by the nesting of the
   * functions below; with a state between each two tokens reading takes twice as long. */
  bool direct;
  unsigned segment_depth; /* DEPTH_SEGMENT or DEPTH_LEGACY */
  struct schema_reply_notes *notes;
  /* the fault, and the way to it from the inside outwards */
  struct schema_error fault;
  struct step steps[STEPS_MAX];
  size_t step_count;
};

/* ---- faults ---- */

static enum schema_code fault(struct reading *in, enum schema_code code, size_t at,
                              const char *what)
{
  in->fault.code = code;
  in->fault.at = at;
  in->fault.what = what;
  return code;
}

/* The fault that the reader has met. */
static enum schema_code reader_fault(struct reading *in)
{
  return fault(in, in->r->error.code, in->r->error.at, in->r->error.what);
}

static enum schema_code memory_fault(struct reading *in)
{
  return fault(in, SCHEMA_ENOMEM, in->r->at, "the reply needs more memory than it may have");
}

/* On the way out: rc arose under this key or index. */
static enum schema_code under_key(struct reading *in, enum schema_code rc, struct span key)
{
  if (rc) in->steps[in->step_count++].key = key;
  return rc;
}

static enum schema_code under_index(struct reading *in, enum schema_code rc, size_t index)
{
  if (rc) in->steps[in->step_count++] = (struct step) { { NULL, 0 }, index };
  return rc;
}

static enum schema_code missing_fault(struct reading *in, struct span key)
{
  return under_key(in, fault(in, SCHEMA_EMISSING, in->r->at, "this key is required"), key);
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

/* The key that was just read is not one of those that are known here. */
static enum schema_code unknown_fault(struct reading *in)
{
  enum schema_code rc = fault(in, SCHEMA_EUNKNOWN, in->r->at, "the contract has no such key here");
  return is_word(in->r->text) ? under_key(in, rc, in->r->text) : rc;
}

/* The key that was just read was read before. A reader that is not direct finds this itself. */
static enum schema_code duplicate_fault(struct reading *in)
{
  return fault(in, SCHEMA_EDUPLICATE, in->r->at, "this object has that key already");
}

static enum schema_code report(const struct reading *in, struct schema_error *reterr)
{
  char path[PATH_CHARS_MAX] = "$";
  size_t len = 1;
  for (size_t i = in->step_count; i-- > 0 && len < sizeof path;) {
    const struct step *step = &in->steps[i];
    int n = step->key.ptr ? snprintf(path + len, sizeof path - len, ".%.*s", (int)step->key.len,
                                     step->key.ptr)
                          : snprintf(path + len, sizeof path - len, "[%zu]", step->index);
    len += n > 0 ? (size_t)n : 0;
  }
  return schema_fail(reterr, in->fault.code, in->fault.at, path, in->fault.what);
}

/* ---- tokens ---- */

/* The next key of the open object, or its end, or an error. begun: a member was read before. */
static enum schema_token next_member(struct reading *in, bool begun)
{
  return in->direct ? grammar_member(in->r, !begun) : schema_json_next(in->r);
}

/* The first token of a value. Read directly, an object or array is entered by this alone: the
 * reader's own depth and keys are not needed, for the contract bounds both. */
static enum schema_token next_value(struct reading *in)
{
  struct schema_json *r = in->r;
  if (!in->direct) return schema_json_next(r);
  const char *p = scan_space(r->next, r->end);
  if (p >= r->end || (*p != '{' && *p != '[')) return grammar_value(r, p);
  r->at = (size_t)(p - r->begin);
  r->next = p + 1;
  return *p == '{' ? SCHEMA_JSON_OBJECT : SCHEMA_JSON_ARRAY;
}

/* The first token of the next item of the open array, or its end, or an error. */
static enum schema_token next_item(struct reading *in, bool begun)
{
  enum schema_token end;
  if (in->direct && !grammar_item(in->r, !begun, &end)) return end;
  return next_value(in);
}

static bool skip_value(struct reading *in, unsigned depth)
{
  if (in->direct) return grammar_skip_member(in->r, depth);
  return schema_json_skip(in->r, schema_json_next(in->r));
}

/* Whether the token that was just read is the wanted { or [. */
static enum schema_code want(struct reading *in, enum schema_token token, enum schema_token wanted)
{
  if (token == wanted) return SCHEMA_OK;
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  return fault(in, SCHEMA_ETYPE, in->r->at,
               wanted == SCHEMA_JSON_OBJECT ? "an object is needed here"
                                            : "an array is needed here");
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
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  if (token != SCHEMA_JSON_STRING) {
    if (token != SCHEMA_JSON_NUMBER || !(in->options & SCHEMA_REPLY_INTEGERS) ||
        !is_integer(in->r->text))
      return fault(in, SCHEMA_ETYPE, in->r->at, "a string is needed here");
    if (in->notes->integers++ == 0) in->notes->integer_at = in->r->at;
  }
  *ret = in->r->text.len ? in->r->text : KEY("");
  return SCHEMA_OK;
}

struct field {
  struct span name, value; /* value.ptr NULL: left out */
  size_t at;               /* of the value */
  bool controls;           /* control characters may be in it */
};

/* Reads the members of an open object whose members are strings. The first required fields may
 * not be left out. */
static enum schema_code read_fields(struct reading *in, struct field *fields, size_t count,
                                    size_t required)
{
  enum schema_token token;
  for (bool begun = false; (token = next_member(in, begun)) == SCHEMA_JSON_KEY; begun = true) {
    size_t i = 0;
    while (i < count && !span_eq(fields[i].name, in->r->text)) i++;
    if (i == count) return unknown_fault(in);
    if (fields[i].value.ptr) return duplicate_fault(in);
    enum schema_code rc = take_string(in, next_value(in), &fields[i].value);
    if (rc) return under_key(in, rc, fields[i].name);
    fields[i].at = in->r->at;
    fields[i].controls = in->r->controls || !in->direct;
  }
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
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
static enum schema_code clean(struct reading *in, struct field *field)
{
  if (!field->controls) return SCHEMA_OK;
  const char *begin = field->value.ptr, *end = begin + field->value.len, *p = begin;
  while (p < end && !control_length(p, end)) p++;
  if (p == end) return SCHEMA_OK;
  char *copy = arena_alloc(in->r->arena, field->value.len);
  if (!copy) return memory_fault(in);
  size_t len = (size_t)(p - begin);
  memcpy(copy, begin, len);
  while (p < end) {
    size_t n = control_length(p, end);
    if (n == 0) copy[len++] = *p;
    p += n ? n : 1;
  }
  field->value = (struct span) { copy, len };
  return SCHEMA_OK;
}

/* Moves the members of data, behind its {, into segment; *retkeep: something is left of it after
 * cleaning. */
typedef enum schema_code read_data(struct reading *in, struct schema_segment *segment,
                                   bool *retkeep);

static enum schema_code read_string_data(struct reading *in, struct schema_segment *segment,
                                         bool *retkeep)
{
  struct field field = { .name = span_of(schema_segment_types[segment->type].field) };
  enum schema_code rc = read_fields(in, &field, 1, 1);
  bool shown = segment->type != SCHEMA_MENTION; /* a target is no text: nothing is cut from it */
  if (!rc && shown) rc = clean(in, &field);
  segment->text = field.value;
  *retkeep = !shown || field.value.len > 0;
  return rc;
}

/* Reads the one required member of data that is no string, by read. */
static enum schema_code
read_one_member(struct reading *in, struct span name, struct schema_segment *segment,
                enum schema_code (*read)(struct reading *, struct schema_segment *))
{
  bool seen = false;
  enum schema_token token;
  for (; (token = next_member(in, seen)) == SCHEMA_JSON_KEY; seen = true) {
    if (!span_eq(in->r->text, name)) return unknown_fault(in);
    if (seen) return duplicate_fault(in);
    enum schema_code rc = read(in, segment);
    if (rc) return under_key(in, rc, name);
  }
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  return seen ? SCHEMA_OK : missing_fault(in, name);
}

static enum schema_code read_media(struct reading *in, struct schema_segment *segment)
{
  struct field fields[] = { { .name = KEY("kind") }, { .name = KEY("value") } };
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_OBJECT);
  if (!rc) rc = read_fields(in, fields, 2, 2);
  if (rc) return rc;
  unsigned kind = 0;
  while (kind < SCHEMA_MEDIA_KIND_COUNT && !span_is(fields[0].value, schema_media_kinds[kind]))
    kind++;
  if (kind == SCHEMA_MEDIA_KIND_COUNT) {
    rc = fault(in, SCHEMA_EENUM, fields[0].at, "kind is one of url, path, base64 and file");
    return under_key(in, rc, fields[0].name);
  }
  segment->media_kind = (enum schema_media_kind)kind;
  segment->text = fields[1].value;
  return SCHEMA_OK;
}

static enum schema_code read_media_data(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  *retkeep = true;
  return read_one_member(in, KEY("media"), segment, read_media);
}

/* Reads a button; token is its first. */
static enum schema_code read_button(struct reading *in, enum schema_token token,
                                    struct schema_button *ret)
{
  struct field fields[] = { { .name = KEY("label") }, { .name = KEY("payload") } };
  enum schema_code rc = want(in, token, SCHEMA_JSON_OBJECT);
  if (!rc) rc = read_fields(in, fields, 2, 2);
  if (!rc) rc = clean(in, &fields[0]);
  if (!rc) rc = clean(in, &fields[1]);
  *ret = (struct schema_button) { fields[0].value, fields[1].value };
  return rc;
}

/* Reads the buttons of a row, behind its [. */
static enum schema_code read_row(struct reading *in, struct schema_row *ret)
{
  struct schema_button *buttons = NULL;
  size_t count = 0, cap = 0;
  enum schema_token token;
  for (; (token = next_item(in, count > 0)) != SCHEMA_JSON_ARRAY_END; count++) {
    enum schema_code rc;
    if (token == SCHEMA_JSON_ERROR) return under_index(in, reader_fault(in), count);
    if (count == SCHEMA_KEYBOARD_ROW_MAX) {
      rc = fault(in, SCHEMA_ELIMIT, in->r->at, "a row of a keyboard has at most 5 buttons");
      return under_index(in, rc, count);
    }
    buttons = with_room(in, buttons, count, &cap, sizeof *buttons);
    rc = buttons ? read_button(in, token, &buttons[count]) : memory_fault(in);
    if (rc) return under_index(in, rc, count);
  }
  *ret = (struct schema_row) { buttons, count };
  return SCHEMA_OK;
}

/* Reads the rows of a keyboard; empty ones are left out. */
static enum schema_code read_rows(struct reading *in, struct schema_segment *segment)
{
  struct schema_row *rows = NULL;
  size_t count = 0, cap = 0, read = 0;
  enum schema_token token;
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_ARRAY);
  if (rc) return rc;
  for (; (token = next_item(in, read > 0)) != SCHEMA_JSON_ARRAY_END; read++) {
    rows = with_room(in, rows, count, &cap, sizeof *rows);
    rc = rows ? want(in, token, SCHEMA_JSON_ARRAY) : memory_fault(in);
    if (!rc) rc = read_row(in, &rows[count]);
    if (rc) return under_index(in, rc, read);
    if (rows[count].count > 0) count++;
  }
  segment->keyboard.rows = rows;
  segment->keyboard.count = count;
  return SCHEMA_OK;
}

static enum schema_code read_keyboard_data(struct reading *in, struct schema_segment *segment,
                                           bool *retkeep)
{
  enum schema_code rc = read_one_member(in, KEY("rows"), segment, read_rows);
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
  fields[0].name = KEY("url");
  fields[1].name = KEY("title");
  for (size_t i = 0; i < offer->share_field_count; i++)
    if (schema_share_field_counts(offer, i)) fields[count++].name = offer->share_fields[i];
  enum schema_code rc = read_fields(in, fields, count, offer->canonical ? SHARE_OWN : count);
  for (size_t i = 0; i < count && !rc; i++) {
    rc = clean(in, &fields[i]);
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

/* Reads the value of data; segment->type is known. */
static enum schema_code read_data_value(struct reading *in, struct schema_segment *segment,
                                        bool *retkeep)
{
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_OBJECT);
  if (!rc) rc = data_readers[schema_segment_types[segment->type].shape](in, segment, retkeep);
  return under_key(in, rc, KEY("data"));
}

static enum schema_code read_type(struct reading *in, enum schema_type *ret)
{
  struct span name;
  enum schema_code rc = take_string(in, next_value(in), &name);
  if (rc) return under_key(in, rc, KEY("type"));
  *ret = schema_type_find(name);
  if (*ret == SCHEMA_TYPE_COUNT)
    rc = fault(in, SCHEMA_ENOTOFFERED, in->r->at, "no segment type has this name");
  else if (!schema_offers(in->offer, *ret))
    rc = fault(in, SCHEMA_ENOTOFFERED, in->r->at, "this segment type is not offered here");
  return under_key(in, rc, KEY("type"));
}

/* Reads data that stood before type, whose key ended where before stands. */
static enum schema_code read_data_again(struct reading *in, const struct schema_json *before,
                                        struct schema_segment *segment, bool *retkeep)
{
  struct schema_json behind = *in->r;
  *in->r = *before;
  enum schema_code rc = read_data_value(in, segment, retkeep);
  if (!rc) *in->r = behind;
  return rc;
}

/* Reads the members of a segment, behind its {. */
static enum schema_code read_segment(struct reading *in, struct schema_segment *segment,
                                     bool *retkeep)
{
  memset(segment, 0, sizeof *segment);
  bool has_type = false, has_data = false, put_off = false;
  struct schema_json before_data;
  enum schema_token token;
  while ((token = next_member(in, has_type || has_data)) == SCHEMA_JSON_KEY) {
    enum schema_code rc = SCHEMA_OK;
    if (span_is(in->r->text, "type")) {
      rc = has_type ? duplicate_fault(in) : read_type(in, &segment->type);
      has_type = true;
    } else if (!span_is(in->r->text, "data")) {
      rc = unknown_fault(in);
    } else if (has_data) {
      rc = duplicate_fault(in);
    } else if (has_type) {
      rc = read_data_value(in, segment, retkeep);
      has_data = true;
    } else { /* it is read by its type, so it has to wait for that */
      before_data = *in->r;
      if (!skip_value(in, in->segment_depth)) rc = reader_fault(in);
      has_data = put_off = true;
    }
    if (rc) return rc;
  }
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  if (!has_type) return missing_fault(in, KEY("type"));
  if (!has_data) return missing_fault(in, KEY("data"));
  return put_off ? read_data_again(in, &before_data, segment, retkeep) : SCHEMA_OK;
}

static bool is_visible(const struct schema_segment *segment)
{
  bool words = segment->type == SCHEMA_TEXT || segment->type == SCHEMA_MARKDOWN;
  return !words || !span_is_blank(segment->text);
}

/* Reads the array of segments; a message that shows nothing gets none. */
static enum schema_code read_segments(struct reading *in, struct schema_message *message)
{
  struct schema_segment *segments = NULL;
  size_t count = 0, cap = 0, read = 0;
  bool visible = false;
  enum schema_token token;
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_ARRAY);
  for (; !rc && (token = next_item(in, read > 0)) != SCHEMA_JSON_ARRAY_END; read++) {
    bool keep = false;
    segments = with_room(in, segments, count, &cap, sizeof *segments);
    rc = segments ? want(in, token, SCHEMA_JSON_OBJECT) : memory_fault(in);
    if (!rc) rc = read_segment(in, &segments[count], &keep);
    under_index(in, rc, read);
    if (rc || !keep) continue;
    visible = visible || is_visible(&segments[count]);
    count++;
  }
  message->segments = segments;
  message->count = visible ? count : 0;
  return under_key(in, rc, KEY("segments"));
}

/* Reads the members of a message, behind its {. */
static enum schema_code read_message(struct reading *in, struct schema_message *message)
{
  memset(message, 0, sizeof *message);
  bool has_segments = false;
  enum schema_token token;
  for (bool begun = false; (token = next_member(in, begun)) == SCHEMA_JSON_KEY; begun = true) {
    enum schema_code rc;
    if (span_is(in->r->text, "segments")) {
      rc = has_segments ? duplicate_fault(in) : read_segments(in, message);
      has_segments = true;
    } else if (in->offer->canonical && span_is(in->r->text, "reply_to")) {
      rc = message->reply_to.ptr ? duplicate_fault(in)
                                 : take_string(in, next_value(in), &message->reply_to);
      under_key(in, rc, KEY("reply_to"));
    } else {
      rc = unknown_fault(in);
    }
    if (rc) return rc;
  }
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  return has_segments ? SCHEMA_OK : missing_fault(in, KEY("segments"));
}

static enum schema_code read_messages(struct reading *in, struct schema_reply *reply)
{
  struct schema_message *messages = NULL;
  size_t count = 0, cap = 0, read = 0;
  enum schema_token token;
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_ARRAY);
  in->segment_depth = DEPTH_SEGMENT;
  for (; !rc && (token = next_item(in, read > 0)) != SCHEMA_JSON_ARRAY_END; read++) {
    messages = with_room(in, messages, count, &cap, sizeof *messages);
    rc = messages ? want(in, token, SCHEMA_JSON_OBJECT) : memory_fault(in);
    if (!rc) rc = read_message(in, &messages[count]);
    under_index(in, rc, read);
    if (!rc && messages[count].count > 0) count++;
  }
  reply->messages = messages;
  reply->count = count;
  return under_key(in, rc, KEY("messages"));
}

/* The legacy root: its segments are one message. */
static enum schema_code read_only_message(struct reading *in, struct schema_reply *reply)
{
  struct schema_message *message = arena_zalloc(in->r->arena, 1, sizeof *message);
  if (!message) return memory_fault(in);
  in->segment_depth = DEPTH_LEGACY;
  in->notes->legacy_root = true;
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
  const struct schema_offer *offer = in->offer;
  enum schema_code rc = SCHEMA_OK;
  if (!offer->offers_reaction && !offer->canonical) {
    in->notes->reaction_ignored = true;
    if (!skip_value(in, DEPTH_ROOT)) rc = reader_fault(in);
    return under_key(in, rc, KEY("reaction"));
  }
  enum schema_token token = next_value(in);
  if (token == SCHEMA_JSON_NULL && offer->canonical) return SCHEMA_OK;
  rc = take_string(in, token, &reply->reaction);
  if (!rc && !offer->canonical && !is_declared(offer, reply->reaction))
    rc = fault(in, SCHEMA_EENUM, in->r->at, "a reaction is empty or one of the offered values");
  return under_key(in, rc, KEY("reaction"));
}

static enum schema_code read_root(struct reading *in, struct schema_reply *reply)
{
  bool legacy_allowed = in->options & SCHEMA_REPLY_LEGACY;
  bool has_messages = false, has_reaction = false;
  enum schema_token token;
  enum schema_code rc = want(in, next_value(in), SCHEMA_JSON_OBJECT);
  if (rc) return rc;
  for (bool begun = false; (token = next_member(in, begun)) == SCHEMA_JSON_KEY; begun = true) {
    bool legacy = in->notes->legacy_root;
    struct span key = in->r->text;
    if (span_is(key, "messages") && !legacy) {
      rc = has_messages ? duplicate_fault(in) : read_messages(in, reply);
      has_messages = true;
    } else if (span_is(key, "segments") && legacy_allowed && (legacy || !has_messages)) {
      rc = has_messages ? duplicate_fault(in) : read_only_message(in, reply);
      has_messages = true;
    } else if (span_is(key, "reaction")) {
      rc = has_reaction ? duplicate_fault(in) : read_reaction(in, reply);
      has_reaction = true;
    } else {
      rc = unknown_fault(in);
    }
    if (rc) return rc;
  }
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  in->notes->reaction_missing = in->offer->offers_reaction && !has_reaction;
  return has_messages ? SCHEMA_OK : missing_fault(in, KEY("messages"));
}

enum schema_code schema_reply_read_from(const struct schema_offer *offer,
                                        struct schema_json *reader, unsigned options,
                                        struct schema_reply *ret,
                                        struct schema_reply_notes *retnotes,
                                        struct schema_error *reterr)
{
  struct schema_reply_notes unwanted;
  struct schema_reply reply = { 0 };
  struct reading in;
  in.offer = offer;
  in.r = reader;
  in.options = options;
  in.direct = reader->mode == SCHEMA_JSON_STRICT && reader->depth_max >= reader->depth + DEPTH_MAX;
  in.notes = retnotes ? retnotes : &unwanted;
  in.step_count = 0;
  memset(in.notes, 0, sizeof *in.notes);
  if (read_root(&in, &reply)) return report(&in, reterr);
  if (in.direct) grammar_value_done(reader);
  *ret = reply;
  return SCHEMA_OK;
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
