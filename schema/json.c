#include "schema/json.h"

#include "schema/grammar.h"
#include "schema/keys.h"

#include <assert.h>
#include <ctype.h>

/* Where the reader stands. Whether a value was in an object or an array, is_object knows. */
enum state {
  BEFORE_VALUE,
  BEHIND_BRACKET,
  BEHIND_VALUE,
  AT_ERROR,
};

void schema_json_init(struct schema_json *r, struct span text, struct arena *arena,
                      unsigned depth_max)
{
  assert(depth_max <= SCHEMA_DEPTH_SCHEMA);
  /* member by member: the path of the error and the bits of containers need no clearing, and a
   * reader is opened for every reply */
  r->text = (struct span) { NULL, 0 };
  r->controls = false;
  r->at = 0;
  r->error.code = SCHEMA_OK;
  r->error.at = 0;
  r->error.path[0] = '\0';
  r->error.what = NULL;
  r->depth = 0;
  r->outer_keys = r->keys = NULL;
  r->begin = r->next = text.ptr ? text.ptr : "";
  r->end = r->begin + text.len;
  r->arena = arena;
  r->depth_max = depth_max;
  r->state = BEFORE_VALUE;
}

enum schema_token grammar_fail(struct schema_json *r, enum schema_code code, const char *at,
                               const char *what)
{
  r->state = AT_ERROR;
  r->next = at;
  schema_fail(&r->error, code, (size_t)(at - r->begin), NULL, what);
  return SCHEMA_JSON_ERROR;
}

static enum schema_token fail_truncated(struct schema_json *r)
{
  return grammar_fail(r, SCHEMA_ETRUNCATED, r->end, "the text ends before the JSON value does");
}

static enum schema_token fail_memory(struct schema_json *r, const char *at)
{
  return grammar_fail(r, SCHEMA_ENOMEM, at, "the text needs more memory than it may have");
}

static bool in_object(const struct schema_json *r)
{
  unsigned i = r->depth - 1;
  return r->is_object[i / 64] >> i % 64 & 1;
}

/* ---- strings ---- */

/* Whether the left bytes at p, fewer than 4, begin a UTF-8 sequence that goes on behind them. */
static bool is_cut_sequence(const char *p, size_t left)
{
  static const char rests[2][4] = { "\x80\x80\x80", "\xA0\x80\x80" }; /* one fits every lead */
  for (int i = 0; i < 2; i++) {
    char whole[4];
    memcpy(whole, p, left);
    memcpy(whole + left, rests[i], sizeof whole - left);
    if (utf8_sequence(whole, sizeof whole) > left) return true;
  }
  return false;
}

/* Says what is wrong with the byte at p, where a string cannot go on. */
static enum schema_token fail_in_string(struct schema_json *r, const char *p)
{
  size_t left = (size_t)(r->end - p);
  if (left == 0) return fail_truncated(r);
  if ((unsigned char)*p < 0x20)
    return grammar_fail(r, SCHEMA_ESYNTAX, p,
                        "a raw control character in a string; it must be escaped");
  if (left < 4 && is_cut_sequence(p, left)) return fail_truncated(r);
  return grammar_fail(r, SCHEMA_EUTF8, p, "bytes that are not UTF-8");
}

/* Says what is wrong with the escape at p, which scan_escape refuses. */
static enum schema_token fail_in_escape(struct schema_json *r, const char *p)
{
  const char *begin = p;
  if (r->end - p < 2) return fail_truncated(r);
  if (p[1] != 'u') return grammar_fail(r, SCHEMA_ESYNTAX, p + 1, "JSON has no such escape");
  for (int half = 0; half < 2; half++) {
    p += 2;
    for (int i = 0; i < 4; i++, p++) {
      if (p >= r->end) return fail_truncated(r);
      if (!isxdigit((unsigned char)*p))
        return grammar_fail(r, SCHEMA_ESYNTAX, p, "four hexadecimal digits must follow \\u");
    }
    if (half == 1 || !strchr("89aAbB", begin[3])) break; /* else the other half has to follow */
    if (p >= r->end || (*p == '\\' && r->end - p < 2)) return fail_truncated(r);
    if (*p != '\\' || p[1] != 'u') break;
  }
  return grammar_fail(r, SCHEMA_ESURROGATE, begin,
                      "an escape of half a character; its other half must follow");
}

bool grammar_string_rest(struct schema_json *r, const char *begin, const char *p)
{
  if (p < r->end && *p == '\\') {
    const char *behind = scan_decode(begin, p, r->end, r->arena, &r->text, &r->controls);
    if (behind) {
      r->next = behind;
      return true;
    }
    if (r->arena->failed) return fail_memory(r, begin - 1), false;
  }
  /* it has a fault: which is the first */
  while (p < r->end && *p == '\\') {
    uint32_t code_point;
    const char *behind = scan_escape(p, r->end, &code_point);
    if (!behind) return fail_in_escape(r, p), false;
    p = scan_string(behind, r->end, &r->controls);
  }
  return fail_in_string(r, p), false;
}

/* ---- values ---- */

static bool is_digit(const char *p, const char *end)
{
  return p < end && *p >= '0' && *p <= '9';
}

/* Moves *at over at least one digit. False: there is none, and the reader has failed. */
static bool read_digits(struct schema_json *r, const char **at)
{
  const char *p = *at;
  while (is_digit(p, r->end)) p++;
  if (p == *at) {
    if (p >= r->end)
      fail_truncated(r);
    else
      grammar_fail(r, SCHEMA_ESYNTAX, p, "a digit is needed here");
    return false;
  }
  *at = p;
  return true;
}

static enum schema_token read_number(struct schema_json *r, const char *p)
{
  const char *begin = p;
  if (*p == '-') p++;
  if (is_digit(p, r->end) && *p == '0')
    p++; /* a further digit would have to be behind the value, where it is refused */
  else if (!read_digits(r, &p))
    return SCHEMA_JSON_ERROR;
  if (p < r->end && *p == '.') {
    p++;
    if (!read_digits(r, &p)) return SCHEMA_JSON_ERROR;
  }
  if (p < r->end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < r->end && (*p == '+' || *p == '-')) p++;
    if (!read_digits(r, &p)) return SCHEMA_JSON_ERROR;
  }
  r->text = (struct span) { begin, (size_t)(p - begin) };
  r->next = p;
  return SCHEMA_JSON_NUMBER;
}

static enum schema_token read_word(struct schema_json *r, const char *p, const char *word,
                                   enum schema_token token)
{
  for (; *word; word++, p++) {
    if (p >= r->end) return fail_truncated(r);
    if (*p != *word) return grammar_fail(r, SCHEMA_ESYNTAX, p, "neither true, false nor null");
  }
  r->next = p;
  return token;
}

static enum schema_token open_container(struct schema_json *r, const char *p, bool object)
{
  if (r->depth >= r->depth_max)
    return grammar_fail(r, SCHEMA_EDEPTH, p, "nested deeper than allowed");
  if (object) {
    struct schema_keys *keys =
        r->keys || !r->outer_keys ? schema_keys_open(r->keys, r->arena) : r->outer_keys;
    if (!keys) return fail_memory(r, p);
    if (!r->outer_keys) r->outer_keys = keys;
    keys->count = 0;
    r->keys = keys;
  }
  unsigned i = r->depth++;
  uint64_t bit = (uint64_t)1 << i % 64;
  r->is_object[i / 64] = object ? r->is_object[i / 64] | bit : r->is_object[i / 64] & ~bit;
  r->next = p + 1;
  r->state = BEHIND_BRACKET;
  return object ? SCHEMA_JSON_OBJECT : SCHEMA_JSON_ARRAY;
}

static enum schema_token close_container(struct schema_json *r, enum schema_token token)
{
  if (token == SCHEMA_JSON_OBJECT_END) r->keys = r->keys->outer;
  r->depth--;
  return token;
}

enum schema_token grammar_value(struct schema_json *r, const char *p)
{
  r->at = (size_t)(p - r->begin);
  if (p >= r->end) return fail_truncated(r);
  switch (*p) {
  case '"': return grammar_string(r, p) ? SCHEMA_JSON_STRING : SCHEMA_JSON_ERROR;
  case '{': return open_container(r, p, true);
  case '[': return open_container(r, p, false);
  case 't': return read_word(r, p, "true", SCHEMA_JSON_TRUE);
  case 'f': return read_word(r, p, "false", SCHEMA_JSON_FALSE);
  case 'n': return read_word(r, p, "null", SCHEMA_JSON_NULL);
  case '-': return read_number(r, p);
  default:
    if (is_digit(p, r->end)) return read_number(r, p);
    return grammar_fail(r, SCHEMA_ESYNTAX, p, "a JSON value is needed here");
  }
}

enum schema_token grammar_fail_member(struct schema_json *r, const char *p, bool first)
{
  if (p >= r->end) return fail_truncated(r);
  return grammar_fail(r, SCHEMA_ESYNTAX, p,
                      first ? "a key in double quotes is needed here"
                            : "a comma or } is needed here");
}

enum schema_token grammar_fail_item(struct schema_json *r, const char *p)
{
  if (p >= r->end) return fail_truncated(r);
  return grammar_fail(r, SCHEMA_ESYNTAX, p, "a comma or ] is needed here");
}

bool grammar_colon_rest(struct schema_json *r)
{
  const char *colon = scan_space(r->next, r->end);
  if (colon >= r->end) return fail_truncated(r), false;
  if (*colon != ':')
    return grammar_fail(r, SCHEMA_ESYNTAX, colon, "a colon must follow the key"), false;
  r->next = colon + 1;
  return true;
}

/* ---- the reader ---- */

static enum schema_token next_member(struct schema_json *r)
{
  enum schema_token token = grammar_member(r, r->state == BEHIND_BRACKET);
  if (token == SCHEMA_JSON_OBJECT_END) {
    r->state = BEHIND_VALUE;
    return close_container(r, token);
  }
  if (token == SCHEMA_JSON_ERROR) return token;
  r->state = BEFORE_VALUE;
  const char *key = r->begin + r->at;
  switch (schema_keys_add(r->keys, r->text, r->arena)) {
  case SCHEMA_KEYS_NEW: break;
  case SCHEMA_KEYS_SEEN:
    return grammar_fail(r, SCHEMA_EDUPLICATE, key, "this object has that key already");
  case SCHEMA_KEYS_NOMEM: return fail_memory(r, key);
  }
  return token;
}

static enum schema_token next_value(struct schema_json *r, const char *p)
{
  enum schema_token token = grammar_value(r, p);
  if (token > SCHEMA_JSON_KEY) r->state = BEHIND_VALUE;
  return token;
}

static enum schema_token next_item(struct schema_json *r)
{
  enum schema_token end;
  if (grammar_item(r, r->state == BEHIND_BRACKET, &end)) return next_value(r, r->next);
  if (end == SCHEMA_JSON_ERROR) return end;
  r->state = BEHIND_VALUE;
  return close_container(r, end);
}

enum schema_token schema_json_next(struct schema_json *r)
{
  if (r->state == AT_ERROR) return SCHEMA_JSON_ERROR;
  if (r->state == BEFORE_VALUE) return next_value(r, scan_space(r->next, r->end));
  if (r->depth > 0) return in_object(r) ? next_member(r) : next_item(r);
  const char *p = scan_space(r->next, r->end);
  r->at = (size_t)(p - r->begin);
  if (p < r->end) return grammar_fail(r, SCHEMA_ESYNTAX, p, "nothing may follow the JSON value");
  r->next = p;
  return SCHEMA_JSON_END;
}

bool schema_json_skip(struct schema_json *r, enum schema_token first)
{
  if (first == SCHEMA_JSON_ERROR) return false;
  if (first != SCHEMA_JSON_OBJECT && first != SCHEMA_JSON_ARRAY) return true;
  unsigned outside = r->depth - 1;
  while (r->depth > outside)
    if (schema_json_next(r) == SCHEMA_JSON_ERROR) return false;
  return true;
}

bool grammar_skip_member(struct schema_json *r, unsigned depth)
{
  r->state = BEFORE_VALUE;
  r->depth += depth;
  bool ok = schema_json_skip(r, schema_json_next(r));
  r->depth -= depth;
  return ok;
}

void grammar_value_done(struct schema_json *r, const char *behind)
{
  r->next = behind;
  r->state = BEHIND_VALUE;
}
