#include "schema/layer.h"

#include "schema/markup.h"
#include "schema/prose.h"

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The code unit whose \u is at byte at, or -1. */
static int32_t unit_at(struct span text, size_t at)
{
  int32_t unit = 0;
  if (text.len - at < 6 || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u') return -1;
  for (size_t i = at + 2; i < at + 6; i++) {
    int digit = hex_digit(text.ptr[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

/* Reads the escape at byte at into out (at most 4 bytes, *retlen). Returns its length, 0: none. */
static size_t read_escape(struct span text, size_t at, char *out, size_t *retlen)
{
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (text.len - at < 2) return 0;
  const char *name = memchr(names, text.ptr[at + 1], sizeof names - 1);
  if (name) {
    *out = meanings[name - names];
    *retlen = 1;
    return 2;
  }
  int32_t high = unit_at(text, at);
  if (high < 0) return 0;
  size_t n = 6;
  uint32_t code_point = (uint32_t)high;
  if (high >= 0xD800 && high < 0xDC00) {
    int32_t low = unit_at(text, at + n);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      code_point = 0x10000 + (((uint32_t)high - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
      n += 6;
    }
  }
  *retlen = utf8_encode(code_point, out);
  return n;
}

struct span schema_layer_unescape(struct span text, struct arena *arena)
{
  char *out = arena_alloc(arena, text.len + 1); /* what is meant is never longer */
  size_t len = 0, n, m;
  if (!out) return (struct span) { NULL, 0 };
  for (size_t at = 0; at < text.len; at += n) {
    n = m = 1;
    if (text.ptr[at] != '\\' || !(n = read_escape(text, at, out + len, &m))) {
      out[len] = text.ptr[at];
      n = m = 1;
    }
    len += m;
  }
  return (struct span) { out, len };
}

/* Whether a quote without a backslash before it is in text. */
static bool has_plain_quote(struct span text)
{
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '"') return true;
    if (text.ptr[i] == '\\') i++;
  }
  return false;
}

/* Whether text is one JSON string with its quotes. */
static bool is_string(struct span text)
{
  if (text.len < 2 || text.ptr[0] != '"' || text.ptr[text.len - 1] != '"') return false;
  struct span inside = { text.ptr + 1, text.len - 2 };
  size_t slashes = 0;
  while (slashes < inside.len && inside.ptr[inside.len - 1 - slashes] == '\\') slashes++;
  return slashes % 2 == 0 && !has_plain_quote(inside);
}

static const struct {
  const char *entity;
  char means;
} entities[] = {
  { "&quot;", '"' }, { "&#34;", '"' },   { "&#x22;", '"' }, { "&apos;", '\'' }, { "&#39;", '\'' },
  { "&lt;", '<' },   { "&gt;", '>' },    { "&#60;", '<' },  { "&#62;", '>' },   { "&amp;", '&' },
  { "&#38;", '&' },  { "&#x27;", '\'' }, { "&nbsp;", ' ' },
};

/* The length of the entity at byte at, or 0. */
static size_t entity_at(struct span text, size_t at, char *ret)
{
  for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
    size_t n = strlen(entities[i].entity);
    if (text.len - at < n || memcmp(text.ptr + at, entities[i].entity, n) != 0) continue;
    *ret = entities[i].means;
    return n;
  }
  return 0;
}

static struct span decode_entities(struct span text, struct arena *arena)
{
  char *out = arena_alloc(arena, text.len + 1);
  size_t len = 0;
  if (!out) return (struct span) { NULL, 0 };
  for (size_t at = 0; at < text.len;) {
    size_t n = text.ptr[at] == '&' ? entity_at(text, at, &out[len]) : 0;
    if (n == 0) out[len] = text.ptr[at];
    len++;
    at += n ? n : 1;
  }
  return (struct span) { out, len };
}

/* Whether an entity that means a quote is at byte at, be it encoded once more: &amp;quot;. */
static bool is_quote_entity(struct span text, size_t at, char *ret)
{
  size_t n = at < text.len ? entity_at(text, at, ret) : 0;
  if (n == 0 || *ret != '&') return n > 0 && (*ret == '"' || *ret == '\'');
  struct span rest = { text.ptr + at + n, text.len - at - n };
  *ret = '"';
  return span_starts(rest, SPAN("quot;")) || span_starts(rest, SPAN("#34;"));
}

/* Whether text is an object of which every quote is an entity. */
static bool is_entity_object(struct span text)
{
  char c;
  if (text.len == 0 || text.ptr[0] != '{') return false;
  size_t inside = schema_skip_blank(text, 1);
  return is_quote_entity(text, inside, &c) && !memchr(text.ptr, c, text.len);
}

/* Whether text is an object, or has a reply, of which every quote is written as in a string, once or
 * more. In words about other objects a backslash is what they speak of. */
static bool is_escaped_object(struct span text)
{
  static const struct span begins[] = { SPAN_INIT("{\\\""), SPAN_INIT("{\\\\\\\""),
                                        SPAN_INIT("{\\u0022") };
  if (has_plain_quote(text) || !memchr(text.ptr, '\\', text.len)) return false;
  bool reply =
      span_find(text, SPAN("messages")) < text.len || span_find(text, SPAN("segments")) < text.len;
  if (*text.ptr != '{' && !reply) return false;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (span_find(text, begins[i]) < text.len) return true;
  return false;
}

bool schema_layer_decode(struct span text, struct arena *arena, struct span *ret,
                         enum schema_repair_kind *retkind)
{
  bool fenced;
  struct span t = schema_trim_blank(schema_prose_unfence(text, &fenced));
  *retkind = SCHEMA_FIX_DOUBLE_ENCODED;
  if (is_string(t)) {
    *ret = schema_layer_unescape((struct span) { t.ptr + 1, t.len - 2 }, arena);
    return true;
  }
  if (t.len > 0 && is_escaped_object(t)) {
    *ret = schema_layer_unescape(t, arena);
    return true;
  }
  if (!is_entity_object(t)) return false;
  *retkind = SCHEMA_FIX_HTML_ENTITIES;
  *ret = decode_entities(t, arena);
  return true;
}
