#include "schema/json.h"

#include "schema/keys.h"

#include <assert.h>

enum state {
  EXPECT_VALUE,
  EXPECT_VALUE_OR_END, /* behind [ */
  EXPECT_KEY,
  EXPECT_KEY_OR_END, /* behind { */
  EXPECT_COMMA_OR_END,
  EXPECT_NOTHING, /* behind the whole value */
  AT_END,
  AT_ERROR,
};

void schema_json_init(struct schema_json *r, struct span text, struct arena *arena,
                      unsigned depth_max, enum schema_json_mode mode)
{
  assert(depth_max <= SCHEMA_DEPTH_SCHEMA);
  memset(r, 0, sizeof *r);
  r->begin = r->next = text.ptr ? text.ptr : "";
  r->end = r->begin + text.len;
  r->arena = arena;
  r->depth_max = depth_max;
  r->mode = mode;
  r->state = EXPECT_VALUE;
}

static enum schema_token fail(struct schema_json *r, enum schema_code code, const char *at,
                              const char *what)
{
  r->state = AT_ERROR;
  r->next = at;
  schema_fail(&r->error, code, (size_t)(at - r->begin), NULL, what);
  return SCHEMA_JSON_ERROR;
}

static enum schema_token fail_truncated(struct schema_json *r)
{
  return fail(r, SCHEMA_ETRUNCATED, r->end, "the text ends before the JSON value does");
}

static enum schema_token fail_memory(struct schema_json *r, const char *at)
{
  return fail(r, SCHEMA_ENOMEM, at, "the text needs more memory than it may have");
}

static const char *skip_space(const char *p, const char *end)
{
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

static bool in_object(const struct schema_json *r)
{
  unsigned i = r->depth - 1;
  return r->is_object[i / 64] >> i % 64 & 1;
}

static void value_done(struct schema_json *r, const char *behind)
{
  r->next = behind;
  r->state = r->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

/* ---- strings ---- */

/* The first byte from p on that is a quote, a backslash, a control character or not ASCII. */
static const char *skip_plain(const char *p, const char *end)
{
  while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
         *p != '\\')
    p++;
  return p;
}

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
    return fail(r, SCHEMA_ESYNTAX, p, "a raw control character in a string; it must be escaped");
  if (left < 4 && is_cut_sequence(p, left)) return fail_truncated(r);
  return fail(r, SCHEMA_EUTF8, p, "bytes that are not UTF-8");
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads the four digits of an escape. *at is moved behind them, or to the byte at fault. */
static bool read_hex4(const char **at, const char *end, uint32_t *ret)
{
  uint32_t n = 0;
  for (int i = 0; i < 4; i++, ++*at) {
    int digit = *at < end ? hex_digit(**at) : -1;
    if (digit < 0) return false;
    n = n << 4 | (uint32_t)digit;
  }
  *ret = n;
  return true;
}

/* Reads the escape whose u is at *at. *at is moved behind it. False: the reader has failed. */
static bool read_unicode_escape(struct schema_json *r, const char **at, uint32_t *ret)
{
  const char *begin = *at - 1, *p = *at + 1;
  uint32_t high, low;
  if (!read_hex4(&p, r->end, &high)) goto not_hex;
  if (high >= 0xD800 && high <= 0xDFFF) {
    if (p >= r->end || (*p == '\\' && r->end - p == 1)) return fail_truncated(r), false;
    if (high > 0xDBFF || *p != '\\' || p[1] != 'u') goto lone;
    p += 2;
    if (!read_hex4(&p, r->end, &low)) goto not_hex;
    if (low < 0xDC00 || low > 0xDFFF) goto lone;
    high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }
  *at = p;
  *ret = high;
  return true;
lone:
  fail(r, SCHEMA_ESURROGATE, begin, "an escape of half a character; its other half must follow");
  return false;
not_hex:
  if (p >= r->end)
    fail_truncated(r);
  else
    fail(r, SCHEMA_ESYNTAX, p, "four hexadecimal digits must follow \\u");
  return false;
}

/* Reads the escape whose backslash is at p and writes what it means to *out (NULL: nowhere).
 * Returns the byte behind it, or NULL: the reader has failed. */
static const char *read_escape(struct schema_json *r, const char *p, char **out)
{
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (++p >= r->end) return fail_truncated(r), NULL;
  char bytes[4];
  size_t n = 1;
  if (*p == 'u') {
    uint32_t code_point;
    if (!read_unicode_escape(r, &p, &code_point)) return NULL;
    n = utf8_encode(code_point, bytes);
  } else {
    const char *name = memchr(names, *p, sizeof names - 1);
    if (!name) return fail(r, SCHEMA_ESYNTAX, p, "JSON has no such escape"), NULL;
    bytes[0] = meanings[name - names];
    p++;
  }
  if (*out) memcpy(*out, bytes, n), *out += n;
  return p;
}

/* The quote that ends the string whose content goes on at p, or NULL. Judges nothing. */
static const char *find_quote(const char *p, const char *end)
{
  for (; p < end && *p != '"'; p++)
    if (*p == '\\' && end - p > 1) p++;
  return p < end ? p : NULL;
}

/* Reads a string from its first escape at p on; its content began at begin. */
static bool read_escaped(struct schema_json *r, const char *begin, const char *p)
{
  /* What is decoded is never longer than its source, so one piece of memory is enough. Where no
   * quote follows, the rest is only searched for its first fault. */
  const char *quote = find_quote(p, r->end);
  char *decoded = quote ? arena_alloc(r->arena, (size_t)(quote - begin)) : NULL, *out = decoded;
  if (quote && !decoded) return fail_memory(r, p), false;
  if (out) memcpy(out, begin, (size_t)(p - begin)), out += p - begin;
  for (;;) {
    const char *plain = p;
    while ((p = skip_plain(p, r->end)) < r->end && (*p & 0x80)) {
      size_t n = utf8_sequence(p, (size_t)(r->end - p));
      if (n == 0) break;
      p += n;
    }
    if (out) memcpy(out, plain, (size_t)(p - plain)), out += p - plain;
    if (p >= r->end || (*p != '"' && *p != '\\')) return fail_in_string(r, p), false;
    if (*p == '"') break;
    p = read_escape(r, p, &out);
    if (!p) return false;
  }
  r->text = (struct span) { decoded, (size_t)(out - decoded) };
  r->next = p + 1;
  return true;
}

/* Reads the string whose first quote is at p into r->text. False: the reader has failed. */
static bool read_string(struct schema_json *r, const char *p)
{
  const char *begin = ++p;
  for (;;) {
    p = skip_plain(p, r->end);
    if (p >= r->end) break;
    if (*p == '"') {
      r->text = (struct span) { begin, (size_t)(p - begin) };
      r->next = p + 1;
      return true;
    }
    if (*p == '\\') return read_escaped(r, begin, p);
    size_t n = utf8_sequence(p, (size_t)(r->end - p));
    if (n < 2) break;
    p += n;
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
      fail(r, SCHEMA_ESYNTAX, p, "a digit is needed here");
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
  value_done(r, p);
  return SCHEMA_JSON_NUMBER;
}

static enum schema_token read_word(struct schema_json *r, const char *p, const char *word,
                                   enum schema_token token)
{
  for (; *word; word++, p++) {
    if (p >= r->end) return fail_truncated(r);
    if (*p != *word) return fail(r, SCHEMA_ESYNTAX, p, "neither true, false nor null");
  }
  value_done(r, p);
  return token;
}

static enum schema_token open_container(struct schema_json *r, const char *p, bool object)
{
  if (r->depth >= r->depth_max) return fail(r, SCHEMA_EDEPTH, p, "nested deeper than allowed");
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
  r->state = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
  return object ? SCHEMA_JSON_OBJECT : SCHEMA_JSON_ARRAY;
}

static enum schema_token close_container(struct schema_json *r, const char *p)
{
  bool object = in_object(r);
  if (object) r->keys = r->keys->outer;
  r->depth--;
  value_done(r, p + 1);
  return object ? SCHEMA_JSON_OBJECT_END : SCHEMA_JSON_ARRAY_END;
}

static enum schema_token read_value(struct schema_json *r, const char *p)
{
  switch (*p) {
  case '"':
    if (!read_string(r, p)) return SCHEMA_JSON_ERROR;
    value_done(r, r->next);
    return SCHEMA_JSON_STRING;
  case '{': return open_container(r, p, true);
  case '[': return open_container(r, p, false);
  case 't': return read_word(r, p, "true", SCHEMA_JSON_TRUE);
  case 'f': return read_word(r, p, "false", SCHEMA_JSON_FALSE);
  case 'n': return read_word(r, p, "null", SCHEMA_JSON_NULL);
  case '-': return read_number(r, p);
  default:
    if (is_digit(p, r->end)) return read_number(r, p);
    return fail(r, SCHEMA_ESYNTAX, p, "a JSON value is needed here");
  }
}

static enum schema_token read_key(struct schema_json *r, const char *p)
{
  if (*p != '"') return fail(r, SCHEMA_ESYNTAX, p, "a key in double quotes is needed here");
  if (!read_string(r, p)) return SCHEMA_JSON_ERROR;
  switch (schema_keys_add(r->keys, r->text, r->arena)) {
  case SCHEMA_KEYS_NEW: break;
  case SCHEMA_KEYS_SEEN: return fail(r, SCHEMA_EDUPLICATE, p, "this object has that key already");
  case SCHEMA_KEYS_NOMEM: return fail_memory(r, p);
  }
  const char *colon = skip_space(r->next, r->end);
  if (colon >= r->end) return fail_truncated(r);
  if (*colon != ':') return fail(r, SCHEMA_ESYNTAX, colon, "a colon must follow the key");
  r->next = colon + 1;
  r->state = EXPECT_VALUE;
  return SCHEMA_JSON_KEY;
}

enum schema_token schema_json_next(struct schema_json *r)
{
  if (r->state == AT_ERROR) return SCHEMA_JSON_ERROR;
  const char *p = skip_space(r->next, r->end);
  if (r->state == EXPECT_COMMA_OR_END && p < r->end && *p == ',') {
    p = skip_space(p + 1, r->end);
    r->state = in_object(r) ? EXPECT_KEY : EXPECT_VALUE;
  }
  r->at = (size_t)(p - r->begin);
  if (p >= r->end) {
    if (r->state != EXPECT_NOTHING && r->state != AT_END) return fail_truncated(r);
    r->next = p;
    r->state = AT_END;
    return SCHEMA_JSON_END;
  }
  bool closes = *p == ']' || *p == '}';
  switch ((enum state)r->state) {
  case EXPECT_VALUE: return read_value(r, p);
  case EXPECT_VALUE_OR_END: return *p == ']' ? close_container(r, p) : read_value(r, p);
  case EXPECT_KEY: return read_key(r, p);
  case EXPECT_KEY_OR_END: return *p == '}' ? close_container(r, p) : read_key(r, p);
  case EXPECT_COMMA_OR_END:
    if (closes && in_object(r) == (*p == '}')) return close_container(r, p);
    return fail(r, SCHEMA_ESYNTAX, p,
                in_object(r) ? "a comma or } is needed here" : "a comma or ] is needed here");
  case EXPECT_NOTHING:
  case AT_END:
  case AT_ERROR: break;
  }
  return fail(r, SCHEMA_ESYNTAX, p, "nothing may follow the JSON value");
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
