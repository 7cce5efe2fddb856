#include "schema/reply.h"

#include "schema/grammar.h"

/* Every read_ function reads from p on and returns the byte behind what it has read, or NULL: the
 * fault is noted. The grammar is driven from here by the nesting of these functions, and p is
 * handed on in a register: so a reply is read, judged and built in 470 ns, where the tokens of
 * schema_json_next alone take 590. */

enum {
  SHARE_OWN = 2,  /* url and title, before the declared fields of a share */
  STEPS_MAX = 12, /* the deepest path is $.messages[].segments[].data.rows[][].label with 9 */
  PATH_CHARS_MAX = 512,
  INDEX_MAX = 24,     /* the digits of a size_t in brackets */
  KEY_SHOWN_MAX = 32, /* an unknown key is named where it is a short word */
  DEPTH_ROOT = 1,     /* containers around a member of the root, */
  DEPTH_SEGMENT = 5,  /* of a segment, */
  DEPTH_LEGACY = 3,   /* of a segment under the legacy root */
};

#define KEY(literal) ((struct span) { literal, sizeof(literal) - 1 })

struct step {
  struct span key; /* ptr NULL: an index */
  size_t index;
};

struct reading {
  const struct schema_offer *offer;
  const char *end; /* of the text */
  struct schema_json *r;
  struct arena *arena;
  unsigned options;
  unsigned segment_depth; /* DEPTH_SEGMENT or DEPTH_LEGACY */
  struct schema_reply_notes *notes;
  struct span key;    /* of the last member that was not the expected one */
  const char *key_at; /* where it stands */
  bool controls;      /* the last string holds control characters to be cut */
  /* the fault, and the way to it from the inside outwards */
  struct schema_error fault;
  struct step steps[STEPS_MAX];
  size_t step_count;
};

/* ---- faults ---- */

static const char *fault(struct reading *in, enum schema_code code, const char *at,
                         const char *what)
{
  in->fault.code = code;
  in->fault.at = (size_t)(at - in->r->begin);
  in->fault.what = what;
  return NULL;
}

/* The fault that the reader has met. */
static const char *reader_fault(struct reading *in)
{
  return fault(in, in->r->error.code, in->r->begin + in->r->error.at, in->r->error.what);
}

static const char *memory_fault(struct reading *in, const char *at)
{
  return fault(in, SCHEMA_ENOMEM, at, "the reply needs more memory than it may have");
}

/* On the way out: where p is NULL the fault arose under this key or index. */
static const char *under_key(struct reading *in, const char *p, struct span key)
{
  if (!p) in->steps[in->step_count++].key = key;
  return p;
}

static const char *under_index(struct reading *in, const char *p, size_t index)
{
  if (!p) in->steps[in->step_count++] = (struct step) { { NULL, 0 }, index };
  return p;
}

/* behind: the byte behind the } of the object that lacks the key */
static const char *missing_fault(struct reading *in, const char *behind, struct span key)
{
  return under_key(in, fault(in, SCHEMA_EMISSING, behind - 1, "this key is required"), key);
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

/* in->key is not one of those that are known here. */
static const char *unknown_fault(struct reading *in)
{
  fault(in, SCHEMA_EUNKNOWN, in->key_at, "the contract has no such key here");
  return is_word(in->key) ? under_key(in, NULL, in->key) : NULL;
}

/* in->key was read before in this object. */
static const char *duplicate_fault(struct reading *in)
{
  return fault(in, SCHEMA_EDUPLICATE, in->key_at, "this object has that key already");
}

/* Writes [index] to out, which has room for INDEX_MAX bytes; returns how many. */
static size_t write_index(char *out, size_t index)
{
  char digits[INDEX_MAX];
  size_t n = 0, len = 0;
  do digits[n++] = (char)('0' + index % 10);
  while (index /= 10);
  out[len++] = '[';
  while (n) out[len++] = digits[--n];
  out[len++] = ']';
  return len;
}

static enum schema_code report(const struct reading *in, struct schema_error *reterr)
{
  char path[PATH_CHARS_MAX] = "$";
  size_t len = 1;
  if (!reterr) return in->fault.code;
  for (size_t i = in->step_count; i-- > 0;) {
    const struct step *step = &in->steps[i];
    size_t n = step->key.ptr ? step->key.len + 1 : INDEX_MAX;
    if (n >= sizeof path - len) break;
    if (step->key.ptr) {
      path[len] = '.';
      memcpy(path + len + 1, step->key.ptr, step->key.len);
      len += n;
    } else {
      len += write_index(path + len, step->index);
    }
  }
  path[len] = '\0';
  return schema_fail(reterr, in->fault.code, in->fault.at, path, in->fault.what);
}

/* ---- the grammar ---- */

static inline const char *skip_space(const struct reading *in, const char *p)
{
  return scan_space(p, in->end);
}

/* What stands at p is not what is wanted: is it another value, or none at all? */
static __attribute__((noinline)) const char *wrong_value(struct reading *in, const char *p,
                                                         const char *what)
{
  if (grammar_value(in->r, p) == SCHEMA_JSON_ERROR) return reader_fault(in);
  return fault(in, SCHEMA_ETYPE, p, what);
}

/* Enters the object or array whose bracket has to stand at p. */
static inline const char *enter(struct reading *in, const char *p, char bracket)
{
  if (SCAN_USUAL(p < in->end && *p == bracket)) return p + 1;
  return wrong_value(in, p,
                     bracket == '{' ? "an object is needed here" : "an array is needed here");
}

/* Behind the end of the object, if it ends here, else NULL, which is no fault. */
static inline const char *leave_object(const struct reading *in, const char *p)
{
  p = skip_space(in, p);
  return p < in->end && *p == '}' ? p + 1 : NULL;
}

/* In an object, behind its { (first) or a member: the value of the next member if that has this
 * very key, written plainly, else NULL, which is no fault. Most keys come like that, since models
 * write them in the order of the schema. */
static inline const char *expect_member(const struct reading *in, const char *p, bool first,
                                        struct span key)
{
  p = skip_space(in, p);
  if (!first) {
    if (!SCAN_USUAL(p < in->end && *p == ',')) return NULL;
    p = skip_space(in, p + 1);
  }
  if (SCAN_USUAL((size_t)(in->end - p) > key.len + 3 && *p == '"' && p[key.len + 1] == '"' &&
                 p[key.len + 2] == ':' && scan_same(p + 1, key.ptr, key.len)))
    return skip_space(in, p + key.len + 3);
  return NULL;
}

/* The value of the next member, whatever its key, which goes to in->key. The object does not end
 * here. */
static __attribute__((noinline)) const char *other_member(struct reading *in, const char *p,
                                                          bool first)
{
  in->r->next = p;
  if (grammar_member(in->r, first) != SCHEMA_JSON_KEY) return reader_fault(in);
  in->key = in->r->text;
  in->key_at = in->r->begin + in->r->at;
  return skip_space(in, in->r->next);
}

static bool is_key(const struct reading *in, struct span key)
{
  return span_eq(in->key, key);
}

/* In an array, behind its [ (first) or an item: the next item, or behind the end of the array,
 * which *retend tells. */
static inline const char *next_item(struct reading *in, const char *p, bool first, bool *retend)
{
  p = skip_space(in, p);
  *retend = p < in->end && *p == ']';
  if (*retend) return p + 1;
  if (first) return p;
  if (p < in->end && *p == ',') return skip_space(in, p + 1);
  grammar_fail_item(in->r, p);
  return reader_fault(in);
}

static bool is_integer(struct span number)
{
  for (size_t i = 0; i < number.len; i++)
    if (number.ptr[i] == '.' || number.ptr[i] == 'e' || number.ptr[i] == 'E') return false;
  return true;
}

/* Where a string is wanted and none stands at p. */
static __attribute__((noinline)) const char *read_integer(struct reading *in, const char *p,
                                                          struct span *ret)
{
  enum schema_token token = grammar_value(in->r, p);
  if (token == SCHEMA_JSON_ERROR) return reader_fault(in);
  if (token != SCHEMA_JSON_NUMBER || !(in->options & SCHEMA_REPLY_INTEGERS) ||
      !is_integer(in->r->text))
    return fault(in, SCHEMA_ETYPE, p, "a string is needed here");
  if (in->notes->integers++ == 0) in->notes->integer_at = in->r->at;
  *ret = in->r->text;
  return in->r->next;
}

/* A string that is not plain: from its first escape or fault at p on. */
static __attribute__((noinline)) const char *read_string_rest(struct reading *in, const char *begin,
                                                              const char *p, struct span *ret)
{
  in->r->controls = in->controls;
  if (!grammar_string_rest(in->r, begin, p)) return reader_fault(in);
  in->controls = in->r->controls;
  *ret = in->r->text;
  return in->r->next;
}

/* Reads a string; ret->ptr is never NULL then. */
static const char *read_string(struct reading *in, const char *p, struct span *ret)
{
  in->controls = false;
  if (!SCAN_USUAL(p < in->end && *p == '"')) return read_integer(in, p, ret);
  const char *begin = p + 1;
  p = scan_string(begin, in->end, &in->controls);
  if (!SCAN_USUAL(p < in->end && *p == '"')) return read_string_rest(in, begin, p, ret);
  *ret = (struct span) { begin, (size_t)(p - begin) };
  return p + 1;
}

struct field {
  struct span name, value; /* value.ptr NULL: left out */
  const char *at;          /* of the value */
  bool controls;           /* there are control characters to be cut from it */
};

/* Reads a closed object of strings, behind its { or the first so many of its fields. The first
 * required fields may not be left out. */
static inline const char *read_more_fields(struct reading *in, const char *p, struct field *fields,
                                           size_t count, size_t required, size_t read)
{
  const char *behind;
  for (;; read++) {
    size_t i = read;
    const char *value = NULL;
    if (i < count && !fields[i].value.ptr) value = expect_member(in, p, read == 0, fields[i].name);
    if (!SCAN_USUAL(value)) {
      behind = leave_object(in, p);
      if (behind) break;
      value = other_member(in, p, read == 0);
      if (!value) return NULL;
      for (i = 0; i < count && !is_key(in, fields[i].name);) i++;
      if (i == count) return unknown_fault(in);
      if (fields[i].value.ptr) return duplicate_fault(in);
    }
    fields[i].at = value;
    p = read_string(in, value, &fields[i].value);
    if (!p) return under_key(in, p, fields[i].name);
    fields[i].controls = in->controls;
  }
  for (size_t i = 0; i < required; i++)
    if (!fields[i].value.ptr) return missing_fault(in, behind, fields[i].name);
  return behind;
}

static const char *read_fields(struct reading *in, const char *p, struct field *fields,
                               size_t count, size_t required)
{
  return read_more_fields(in, p, fields, count, required, 0);
}

/* ---- what is built ---- */

/* An array in the arena with room for one more than count items. */
static void *with_room(struct reading *in, void *items, size_t count, size_t *cap, size_t size)
{
  if (count < *cap) return items;
  enum { FIRST = 4 }; /* most replies have fewer of each */
  size_t grown = *cap ? *cap * 2 : FIRST;
  void *copy = arena_alloc(in->arena, grown * size);
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

static __attribute__((noinline)) bool cut_controls(struct reading *in, struct field *field)
{
  const char *p = field->value.ptr, *end = p + field->value.len;
  char *copy = arena_alloc(in->arena, field->value.len);
  if (!copy) {
    memory_fault(in, field->at);
    return false;
  }
  size_t len = 0;
  while (p < end) {
    size_t n = control_length(p, end);
    if (n == 0) copy[len++] = *p;
    p += n ? n : 1;
  }
  field->value = (struct span) { copy, len };
  return true;
}

/* Cuts control characters but tab and newline out of what people read. False: out of memory. */
static inline bool clean(struct reading *in, struct field *field)
{
  return !field->controls || cut_controls(in, field);
}

/* Reads the members of data, behind its {, into segment; *retkeep: something is left of it after
 * cleaning. */
typedef const char *read_data(struct reading *in, const char *p, struct schema_segment *segment,
                              bool *retkeep);

/* The field that was read up to p, if it was, is what the segment says. */
static inline const char *take_string(struct reading *in, const char *p, struct field *field,
                                      struct schema_segment *segment, bool *retkeep)
{
  bool shown = segment->type != SCHEMA_MENTION; /* a target is no text: nothing is cut from it */
  field->controls &= shown; /* & and | here and below: a branch on the type is mispredicted */
  if (p && !clean(in, field)) return NULL;
  segment->text = field->value;
  *retkeep = !shown | (field->value.len > 0);
  return p;
}

static const char *read_string_data(struct reading *in, const char *p,
                                    struct schema_segment *segment, bool *retkeep)
{
  const struct schema_segment_type *type = &schema_segment_types[segment->type];
  struct field field = { .name = { type->field, type->field_len } };
  return take_string(in, read_fields(in, p, &field, 1, 1), &field, segment, retkeep);
}

/* The same from the value of the one field on. */
static inline const char *read_headed_string(struct reading *in, const char *p,
                                             struct schema_segment *segment, bool *retkeep)
{
  const struct schema_segment_type *type = &schema_segment_types[segment->type];
  p = skip_space(in, p);
  struct field field = { .name = { type->field, type->field_len }, .at = p };
  p = under_key(in, read_string(in, p, &field.value), field.name);
  field.controls = in->controls;
  if (p) p = read_more_fields(in, p, &field, 1, 1, 1);
  return take_string(in, p, &field, segment, retkeep);
}

/* Reads the one required member of data that is no string, by read. */
static inline const char *
read_one_member(struct reading *in, const char *p, struct span name, struct schema_segment *segment,
                const char *(*read)(struct reading *, const char *, struct schema_segment *))
{
  for (bool seen = false;; seen = true) {
    const char *value = seen ? NULL : expect_member(in, p, true, name);
    if (!value) {
      const char *behind = leave_object(in, p);
      if (behind) return seen ? behind : missing_fault(in, behind, name);
      value = other_member(in, p, !seen);
      if (!value) return NULL;
      if (!is_key(in, name)) return unknown_fault(in);
      if (seen) return duplicate_fault(in);
    }
    p = read(in, value, segment);
    if (!p) return under_key(in, p, name);
  }
}

static const char *read_media(struct reading *in, const char *p, struct schema_segment *segment)
{
  struct field fields[] = { { .name = KEY("kind") }, { .name = KEY("value") } };
  p = enter(in, p, '{');
  if (p) p = read_fields(in, p, fields, 2, 2);
  if (!p) return NULL;
  segment->media_kind = schema_media_kind_find(fields[0].value);
  if (segment->media_kind == SCHEMA_MEDIA_KIND_COUNT) {
    fault(in, SCHEMA_EENUM, fields[0].at, "kind is one of url, path, base64 and file");
    return under_key(in, NULL, fields[0].name);
  }
  segment->text = fields[1].value;
  return p;
}

static const char *read_media_data(struct reading *in, const char *p,
                                   struct schema_segment *segment, bool *retkeep)
{
  *retkeep = true;
  return read_one_member(in, p, KEY("media"), segment, read_media);
}

static const char *read_button(struct reading *in, const char *p, struct schema_button *ret)
{
  struct field fields[] = { { .name = KEY("label") }, { .name = KEY("payload") } };
  p = enter(in, p, '{');
  if (p) p = read_fields(in, p, fields, 2, 2);
  if (!p || !clean(in, &fields[0]) || !clean(in, &fields[1])) return NULL;
  *ret = (struct schema_button) { fields[0].value, fields[1].value };
  return p;
}

static const char *read_row(struct reading *in, const char *p, struct schema_row *ret)
{
  struct schema_button *buttons = NULL;
  size_t count = 0, cap = 0;
  bool end = false;
  p = enter(in, p, '[');
  for (; p; count++) {
    p = next_item(in, p, count == 0, &end);
    if (p && end) break;
    if (p && count == SCHEMA_KEYBOARD_ROW_MAX)
      p = fault(in, SCHEMA_ELIMIT, p, "a row of a keyboard has at most 5 buttons");
    if (p) buttons = with_room(in, buttons, count, &cap, sizeof *buttons);
    if (p) p = buttons ? read_button(in, p, &buttons[count]) : memory_fault(in, p);
    under_index(in, p, count);
  }
  *ret = (struct schema_row) { buttons, count };
  return p;
}

/* Reads the rows of a keyboard; empty ones are left out. */
static const char *read_rows(struct reading *in, const char *p, struct schema_segment *segment)
{
  struct schema_row *rows = NULL;
  size_t count = 0, cap = 0;
  bool end = false;
  p = enter(in, p, '[');
  for (size_t read = 0; p; read++) {
    p = next_item(in, p, read == 0, &end);
    if (p && end) break;
    if (p) rows = with_room(in, rows, count, &cap, sizeof *rows);
    if (p) p = rows ? read_row(in, p, &rows[count]) : memory_fault(in, p);
    under_index(in, p, read);
    if (p && rows[count].count > 0) count++;
  }
  segment->keyboard.rows = rows;
  segment->keyboard.count = count;
  return p;
}

static const char *read_keyboard_data(struct reading *in, const char *p,
                                      struct schema_segment *segment, bool *retkeep)
{
  p = read_one_member(in, p, KEY("rows"), segment, read_rows);
  *retkeep = p && segment->keyboard.count > 0;
  return p;
}

static const char *read_share_data(struct reading *in, const char *p,
                                   struct schema_segment *segment, bool *retkeep)
{
  const struct schema_offer *offer = in->offer;
  size_t most = SHARE_OWN + offer->share_field_count, count = SHARE_OWN, kept = 0;
  struct field *fields = arena_zalloc(in->arena, most, sizeof *fields);
  struct schema_pair *pairs = arena_alloc(in->arena, most * sizeof *pairs);
  if (!fields || !pairs) return memory_fault(in, p);
  fields[0].name = KEY("url");
  fields[1].name = KEY("title");
  for (size_t i = 0; i < offer->share_field_count; i++)
    if (schema_share_field_counts(offer, i)) fields[count++].name = offer->share_fields[i];
  p = read_fields(in, p, fields, count, offer->canonical ? SHARE_OWN : count);
  for (size_t i = 0; i < count && p; i++) {
    if (!clean(in, &fields[i])) return NULL;
    if (i < SHARE_OWN || fields[i].value.len > 0)
      pairs[kept++] = (struct schema_pair) { fields[i].name, fields[i].value };
  }
  segment->share.fields = pairs;
  segment->share.count = kept;
  *retkeep = true;
  return p;
}

static const char *read_empty_data(struct reading *in, const char *p,
                                   struct schema_segment *segment, bool *retkeep)
{
  (void)segment;
  *retkeep = true;
  return read_fields(in, p, NULL, 0, 0);
}

static read_data *const data_readers[] = {
  [SCHEMA_SHAPE_STRING] = read_string_data,     [SCHEMA_SHAPE_MEDIA] = read_media_data,
  [SCHEMA_SHAPE_KEYBOARD] = read_keyboard_data, [SCHEMA_SHAPE_SHARE] = read_share_data,
  [SCHEMA_SHAPE_EMPTY] = read_empty_data,
};

/* ---- segments, messages, the root ---- */

/* Reads the value of data; segment->type is known. */
static const char *read_data_value(struct reading *in, const char *p,
                                   struct schema_segment *segment, bool *retkeep)
{
  p = enter(in, p, '{');
  if (p) p = data_readers[schema_segment_types[segment->type].shape](in, p, segment, retkeep);
  return under_key(in, p, KEY("data"));
}

static const char *read_type(struct reading *in, const char *p, enum schema_type *ret)
{
  struct span name;
  const char *behind;
  *ret = p < in->end && *p == '"' ? schema_type_quoted(p + 1, in->end) : SCHEMA_TYPE_COUNT;
  if (SCAN_USUAL(*ret != SCHEMA_TYPE_COUNT)) {
    behind = p + 1 + schema_segment_types[*ret].name_len + 1;
  } else { /* it may be written with escapes */
    behind = read_string(in, p, &name);
    if (!behind) return under_key(in, NULL, KEY("type"));
    *ret = schema_type_find(name);
  }
  if (*ret == SCHEMA_TYPE_COUNT)
    behind = fault(in, SCHEMA_ENOTOFFERED, p, "no segment type has this name");
  else if (!schema_offers(in->offer, *ret))
    behind = fault(in, SCHEMA_ENOTOFFERED, p, "this segment type is not offered here");
  return under_key(in, behind, KEY("type"));
}

/* Passes over a value that lies in so many containers. */
static const char *skip_value(struct reading *in, const char *p, unsigned depth)
{
  in->r->next = p;
  in->notes->skipped = true;
  return grammar_skip_member(in->r, depth) ? in->r->next : reader_fault(in);
}

/* Reads the rest of a segment whose members are not just type and data in this order: from p on,
 * where has_type and data (its value, if not NULL) were read before. */
static __attribute__((noinline)) const char *read_odd_segment(struct reading *in, const char *p,
                                                              struct schema_segment *segment,
                                                              bool *retkeep, bool has_type,
                                                              const char *data)
{
  bool put_off = false;
  for (bool first = !has_type;; first = false) {
    const char *behind = leave_object(in, p);
    if (behind) {
      if (!has_type) return missing_fault(in, behind, KEY("type"));
      if (!data) return missing_fault(in, behind, KEY("data"));
      if (put_off && !read_data_value(in, data, segment, retkeep)) return NULL;
      return behind;
    }
    const char *value = other_member(in, p, first);
    if (!value) return NULL;
    bool is_type = is_key(in, KEY("type"));
    if (!is_type && !is_key(in, KEY("data"))) return unknown_fault(in);
    if (is_type ? has_type : data != NULL) return duplicate_fault(in);
    if (is_type) {
      p = read_type(in, value, &segment->type);
      has_type = true;
    } else {
      data = value;
      put_off = !has_type; /* it is read by its type, so it has to wait for that */
      p = put_off ? skip_value(in, value, in->segment_depth)
                  : read_data_value(in, value, segment, retkeep);
    }
    if (!p) return NULL;
  }
}

/* Reads a segment that begins with one of the heads, of an offered type, from its data on. */
static inline const char *read_headed_data(struct reading *in, const char *p,
                                           struct schema_segment *segment, bool *retkeep)
{
  enum schema_shape shape = schema_segment_types[segment->type].shape;
  p = shape == SCHEMA_SHAPE_STRING ? read_headed_string(in, p, segment, retkeep)
                                   : data_readers[shape](in, p, segment, retkeep);
  return under_key(in, p, KEY("data"));
}

static const char *read_segment(struct reading *in, const char *p, struct schema_segment *segment,
                                bool *retkeep)
{
  memset(segment, 0, sizeof *segment);
  size_t head;
  enum schema_type headed = schema_type_headed(p, in->end, &head);
  if (SCAN_USUAL(headed != SCHEMA_TYPE_COUNT) && schema_offers(in->offer, headed)) {
    segment->type = headed;
    const char *data = p + head;
    p = read_headed_data(in, data, segment, retkeep);
    if (!p) return NULL;
    const char *behind = leave_object(in, p);
    return behind ? behind : read_odd_segment(in, p, segment, retkeep, true, data);
  }
  p = enter(in, p, '{');
  if (!p) return NULL;
  const char *type = expect_member(in, p, true, KEY("type")), *data = NULL;
  if (type) {
    p = read_type(in, type, &segment->type);
    if (!p) return NULL;
    data = expect_member(in, p, false, KEY("data"));
  }
  if (data) {
    p = read_data_value(in, data, segment, retkeep);
    if (!p) return NULL;
    const char *behind = leave_object(in, p);
    if (behind) return behind;
  }
  return read_odd_segment(in, p, segment, retkeep, type, data);
}

static bool is_visible(const struct schema_segment *segment)
{
  bool words = segment->type == SCHEMA_TEXT || segment->type == SCHEMA_MARKDOWN;
  return !words || !span_is_blank(segment->text);
}

/* Reads the array of segments; a message that shows nothing gets none. */
static const char *read_segments(struct reading *in, const char *p, struct schema_message *message)
{
  struct schema_segment *segments = NULL;
  size_t count = 0, cap = 0;
  bool visible = false, end = false;
  p = enter(in, p, '[');
  for (size_t read = 0; p; read++) {
    bool keep = false;
    p = next_item(in, p, read == 0, &end);
    if (p && end) break;
    if (p) segments = with_room(in, segments, count, &cap, sizeof *segments);
    if (p) p = segments ? read_segment(in, p, &segments[count], &keep) : memory_fault(in, p);
    under_index(in, p, read);
    if (p && keep) visible = visible || is_visible(&segments[count]), count++;
  }
  message->segments = segments;
  message->count = visible ? count : 0;
  return under_key(in, p, KEY("segments"));
}

static const char *read_message(struct reading *in, const char *p, struct schema_message *message)
{
  bool has_segments = false;
  memset(message, 0, sizeof *message);
  p = enter(in, p, '{');
  for (bool first = true; p; first = false) {
    const char *value = has_segments ? NULL : expect_member(in, p, first, KEY("segments"));
    if (!value) {
      const char *behind = leave_object(in, p);
      if (behind) return has_segments ? behind : missing_fault(in, behind, KEY("segments"));
      value = other_member(in, p, first);
      if (!value) return NULL;
      if (in->offer->canonical && is_key(in, KEY("reply_to"))) {
        if (message->reply_to.ptr) return duplicate_fault(in);
        p = under_key(in, read_string(in, value, &message->reply_to), KEY("reply_to"));
        continue;
      }
      if (!is_key(in, KEY("segments"))) return unknown_fault(in);
      if (has_segments) return duplicate_fault(in);
    }
    p = read_segments(in, value, message);
    has_segments = true;
  }
  return NULL;
}

static const char *read_messages(struct reading *in, const char *p, struct schema_reply *reply)
{
  struct schema_message *messages = NULL;
  size_t count = 0, cap = 0;
  bool end = false;
  in->segment_depth = DEPTH_SEGMENT;
  p = enter(in, p, '[');
  for (size_t read = 0; p; read++) {
    p = next_item(in, p, read == 0, &end);
    if (p && end) break;
    if (p) messages = with_room(in, messages, count, &cap, sizeof *messages);
    if (p) p = messages ? read_message(in, p, &messages[count]) : memory_fault(in, p);
    under_index(in, p, read);
    if (p && messages[count].count > 0) count++;
  }
  reply->messages = messages;
  reply->count = count;
  return under_key(in, p, KEY("messages"));
}

/* The legacy root: its segments are one message. */
static const char *read_only_message(struct reading *in, const char *p, struct schema_reply *reply)
{
  struct schema_message *message = arena_zalloc(in->arena, 1, sizeof *message);
  if (!message) return memory_fault(in, p);
  in->segment_depth = DEPTH_LEGACY;
  in->notes->legacy_root = true;
  p = read_segments(in, p, message);
  reply->messages = message;
  reply->count = message->count > 0;
  return p;
}

static bool is_declared(const struct schema_offer *offer, struct span value)
{
  if (value.len == 0) return true;
  for (size_t i = 0; i < offer->reaction_count; i++)
    if (span_eq(offer->reactions[i].value, value)) return true;
  return false;
}

static const char *read_reaction(struct reading *in, const char *p, struct schema_reply *reply)
{
  const struct schema_offer *offer = in->offer;
  if (offer->canonical && p < in->end && *p == 'n') return skip_value(in, p, DEPTH_ROOT);
  if (!offer->offers_reaction && !offer->canonical) {
    in->notes->reaction_ignored = true;
    return skip_value(in, p, DEPTH_ROOT);
  }
  const char *behind = read_string(in, p, &reply->reaction);
  if (behind && !offer->canonical && !is_declared(offer, reply->reaction))
    return fault(in, SCHEMA_EENUM, p, "a reaction is empty or one of the offered values");
  return behind;
}

/* Reads the value of the root's member in->key. */
static const char *read_root_member(struct reading *in, const char *p, struct schema_reply *reply,
                                    bool *has_messages, bool *has_reaction)
{
  bool legacy = in->notes->legacy_root, is_messages = !legacy && is_key(in, KEY("messages"));
  bool is_legacy = in->options & SCHEMA_REPLY_LEGACY && (legacy || !*has_messages) &&
                   is_key(in, KEY("segments"));
  bool is_reaction = is_key(in, KEY("reaction"));
  if (!is_messages && !is_legacy && !is_reaction) return unknown_fault(in);
  if (is_reaction ? *has_reaction : *has_messages) return duplicate_fault(in);
  *(is_reaction ? has_reaction : has_messages) = true;
  if (is_reaction) return under_key(in, read_reaction(in, p, reply), KEY("reaction"));
  return is_legacy ? read_only_message(in, p, reply) : read_messages(in, p, reply);
}

static const char *read_root(struct reading *in, const char *p, struct schema_reply *reply)
{
  bool has_messages = false, has_reaction = false;
  p = enter(in, skip_space(in, p), '{');
  for (bool first = true; p; first = false) {
    const char *value = has_messages ? NULL : expect_member(in, p, first, KEY("messages"));
    if (value) {
      p = read_messages(in, value, reply);
      has_messages = true;
      continue;
    }
    const char *behind = leave_object(in, p);
    if (behind) {
      in->notes->reaction_missing = in->offer->offers_reaction && !has_reaction;
      return has_messages ? behind : missing_fault(in, behind, KEY("messages"));
    }
    value = other_member(in, p, first);
    p = value ? read_root_member(in, value, reply, &has_messages, &has_reaction) : NULL;
  }
  return NULL;
}

enum schema_code schema_reply_read_from(const struct schema_offer *offer,
                                        struct schema_json *reader, unsigned options,
                                        struct schema_reply *ret,
                                        struct schema_reply_notes *retnotes,
                                        struct schema_error *reterr)
{
  struct schema_reply_notes unwanted;
  struct schema_reply reply = { 0 };
  struct reading in; /* not cleared: what matters is set before it is read */
  in.offer = offer;
  in.end = reader->end;
  in.r = reader;
  in.arena = reader->arena;
  in.options = options;
  in.notes = retnotes ? retnotes : &unwanted;
  in.step_count = 0;
  memset(in.notes, 0, sizeof *in.notes);
  const char *behind = read_root(&in, reader->next, &reply);
  if (!behind) return report(&in, reterr);
  grammar_value_done(reader, behind);
  *ret = reply;
  return SCHEMA_OK;
}

enum schema_code schema_reply_read(const struct schema_offer *offer, struct span text,
                                   struct arena *arena, struct schema_reply *ret,
                                   struct schema_error *reterr)
{
  struct schema_json r;
  struct schema_reply reply;
  schema_json_init(&r, text, arena, SCHEMA_DEPTH_REPLY);
  enum schema_code rc = schema_reply_read_from(offer, &r, 0, &reply, NULL, reterr);
  if (rc) return rc;
  if (schema_json_next(&r) != SCHEMA_JSON_END)
    return schema_fail(reterr, r.error.code, r.error.at, "$", r.error.what);
  *ret = reply;
  return SCHEMA_OK;
}
