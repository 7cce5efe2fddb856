#include "schema/embed.h"

#include "schema/verbatim.h"
#include "schema/white.h"

static struct span part(struct span s, size_t begin, size_t end)
{
  return (struct span) { s.ptr + begin, end - begin };
}

static bool is_letter(char c)
{
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* ---- where shortcodes are ---- */

struct shortcode {
  size_t begin, end;
  struct span attributes;
  struct span body; /* ptr NULL: closes itself */
};

struct shortcodes {
  struct shortcode *items;
  size_t count, cap;
};

struct search {
  struct span text;
  struct arena *arena;
  struct schema_verbatims code;
  size_t bracket, close; /* the next ] and the next [/embed] from the last place asked for on */
  bool failed;
};

static bool is_at(struct span text, size_t at, struct span word)
{
  return text.len - at >= word.len && span_eq_nocase(part(text, at, at + word.len), word);
}

static size_t next_bracket(struct search *s, size_t at)
{
  if (s->bracket < at) s->bracket = at;
  while (s->bracket < s->text.len && s->text.ptr[s->bracket] != ']') s->bracket++;
  return s->bracket;
}

static size_t next_close(struct search *s, size_t at)
{
  if (s->close < at) s->close = at;
  while (s->close < s->text.len && !is_at(s->text, s->close, SPAN("[/embed]"))) s->close++;
  return s->close;
}

static void add(struct search *s, struct shortcodes *list, struct shortcode code)
{
  if (list->count == list->cap) {
    size_t cap = list->cap ? list->cap * 2 : 8;
    struct shortcode *more = arena_zalloc(s->arena, cap, sizeof *more);
    if (!more) {
      s->failed = true;
      return;
    }
    if (list->count) memcpy(more, list->items, list->count * sizeof *more);
    list->items = more;
    list->cap = cap;
  }
  list->items[list->count++] = code;
}

/* The shortcode that begins at at, of one of the two forms. */
static bool shortcode_at(struct search *s, size_t at, bool block, struct shortcode *ret)
{
  const struct span open = SPAN("[embed"), close = SPAN("[/embed]");
  size_t name_end = at + open.len;
  if (!is_at(s->text, at, open) || !schema_white_at(s->text, name_end)) return false;
  size_t bracket = next_bracket(s, name_end);
  if (bracket == s->text.len) return false;
  bool closes_itself = s->text.ptr[bracket - 1] == '/';
  if (closes_itself == block) return false;
  *ret = (struct shortcode) { .begin = at, .end = bracket + 1 };
  ret->attributes = part(s->text, name_end, bracket - closes_itself);
  if (!block) return true;
  size_t body_end = next_close(s, bracket + 1);
  if (body_end == s->text.len) return false;
  ret->body = part(s->text, bracket + 1, body_end);
  ret->end = body_end + close.len;
  return true;
}

/* All of one form, those that begin in code left out. */
static void search_form(struct search *s, bool block, struct shortcodes *list)
{
  size_t cursor = 0;
  s->bracket = s->close = 0;
  for (size_t at = 0; at < s->text.len;) {
    const char *next = memchr(s->text.ptr + at, '[', s->text.len - at);
    if (!next) break;
    at = (size_t)(next - s->text.ptr);
    struct shortcode code;
    if (!shortcode_at(s, at, block, &code)) {
      at++;
      continue;
    }
    if (!schema_verbatim_at(&s->code, at, &cursor)) add(s, list, code);
    at = code.end;
  }
}

/* ---- attributes ---- */

enum attribute { REF, URL, TITLE, HEIGHT, CLASS, CLASS_NAME, STYLE, TARGET, ATTRIBUTE_COUNT };

static const char *const attribute_names[ATTRIBUTE_COUNT] = {
  "ref", "url", "title", "height", "class", "class_name", "style", "target",
};

static size_t name_end(struct span s, size_t at)
{
  if (!is_letter(s.ptr[at]) && s.ptr[at] != '_') return at;
  while (at < s.len &&
         (is_letter(s.ptr[at]) || is_digit(s.ptr[at]) || s.ptr[at] == '_' || s.ptr[at] == '-'))
    at++;
  return at;
}

/* The quoted value behind = from at on; its end, or 0. */
static size_t value_end(struct span s, size_t at, struct span *ret)
{
  at = schema_white_skip(s, at);
  if (at >= s.len || s.ptr[at] != '=') return 0;
  at = schema_white_skip(s, at + 1);
  if (at >= s.len || (s.ptr[at] != '"' && s.ptr[at] != '\'')) return 0;
  const char *close = memchr(s.ptr + at + 1, s.ptr[at], s.len - at - 1);
  if (!close) return 0;
  *ret = part(s, at + 1, (size_t)(close - s.ptr));
  return (size_t)(close - s.ptr) + 1;
}

/* The last value that says something counts. */
static void read_attributes(struct span s, struct span values[ATTRIBUTE_COUNT])
{
  for (size_t at = 0; at < s.len;) {
    size_t end = name_end(s, at);
    if (end == at) {
      at++;
      continue;
    }
    struct span name = part(s, at, end), value;
    at = value_end(s, end, &value);
    if (!at) {
      at = end;
      continue;
    }
    value = schema_white_trim(value);
    for (size_t i = 0; i < ATTRIBUTE_COUNT && value.len; i++)
      if (span_eq_nocase(name, span_of(attribute_names[i]))) values[i] = value;
  }
}

/* ---- height ---- */

static unsigned digit_of(char c)
{
  if (is_digit(c)) return (unsigned)(c - '0');
  return is_letter(c) ? (unsigned)((c | 0x20) - 'a') + 10 : 99;
}

/* 0x, 0o and 0b numbers, held at the maximum; -1: it is none. */
static int prefixed_number(struct span s)
{
  static const struct {
    char letter;
    unsigned base;
  } prefixes[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
  if (s.len < 3 || s.ptr[0] != '0') return -1;
  for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
    if ((s.ptr[1] | 0x20) != prefixes[p].letter) continue;
    unsigned value = 0;
    for (size_t i = 2; i < s.len; i++) {
      unsigned digit = digit_of(s.ptr[i]);
      if (digit >= prefixes[p].base) return -1;
      value = value * prefixes[p].base + digit;
      if (value > SCHEMA_EMBED_HEIGHT_MAX) value = SCHEMA_EMBED_HEIGHT_MAX;
    }
    return (int)value;
  }
  return -1;
}

/* The whole part of a decimal number as JavaScript reads one, held at the maximum; -1: it is none,
 * negative, or beyond a double. */
static int decimal_number(struct span s)
{
  enum { EXPONENT_MAX = 309 };
  char digits[8]; /* the first ones that are not leading zeros */
  size_t count = 0, i = s.len && s.ptr[0] == '+', seen = 0;
  int places = 0; /* digits before the point, leading zeros apart */
  bool point = false;
  for (; i < s.len && (is_digit(s.ptr[i]) || (s.ptr[i] == '.' && !point)); i++) {
    if (s.ptr[i] == '.') {
      point = true;
      continue;
    }
    seen++;
    if (count == 0 && s.ptr[i] == '0') {
      places -= point && places > -EXPONENT_MAX;
      continue;
    }
    if (count < sizeof digits) digits[count++] = s.ptr[i];
    if (!point && places < EXPONENT_MAX) places++;
  }
  if (seen == 0) return -1;
  if (i < s.len && (s.ptr[i] | 0x20) == 'e') {
    bool minus = ++i < s.len && s.ptr[i] == '-';
    if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+')) i++;
    int exponent = 0;
    size_t first = i;
    for (; i < s.len && is_digit(s.ptr[i]); i++)
      if (exponent <= 2 * EXPONENT_MAX) exponent = exponent * 10 + (s.ptr[i] - '0');
    if (i == first) return -1;
    places += minus ? -exponent : exponent;
  }
  if (i < s.len || (count && places > EXPONENT_MAX)) return -1;
  int value = 0;
  for (int n = 0; n < places && value < SCHEMA_EMBED_HEIGHT_MAX; n++)
    value = value * 10 + ((size_t)n < count ? digits[n] - '0' : 0);
  return value < SCHEMA_EMBED_HEIGHT_MAX ? value : SCHEMA_EMBED_HEIGHT_MAX;
}

static struct span height_of(struct span s, struct arena *arena)
{
  int height = prefixed_number(s);
  if (height < 0) height = decimal_number(s);
  if (height < SCHEMA_EMBED_HEIGHT_MIN) return (struct span) { NULL, 0 };
  return arena_printf(arena, "%d", height);
}

/* ---- a shortcode as a preview ---- */

/* The address of a hosted document: its id as one path segment. */
static struct span document_url(struct span ref, struct arena *arena)
{
  const struct span before = SPAN("/__openclaw__/canvas/documents/"), behind = SPAN("/index.html");
  char *out = arena_alloc(arena, before.len + 3 * ref.len + behind.len);
  if (!out) return (struct span) { NULL, 0 };
  memcpy(out, before.ptr, before.len);
  size_t n = before.len;
  for (size_t i = 0; i < ref.len; i++) {
    char c = ref.ptr[i];
    if (is_letter(c) || is_digit(c) || (c && strchr("-_.!~*'()", c))) {
      out[n++] = c;
      continue;
    }
    static const char hex[] = "0123456789ABCDEF";
    out[n++] = '%';
    out[n++] = hex[(unsigned char)c >> 4];
    out[n++] = hex[(unsigned char)c & 15];
  }
  memcpy(out + n, behind.ptr, behind.len);
  return (struct span) { out, n + behind.len };
}

static bool holds_html(struct span body)
{
  for (size_t i = 0; i + 1 < body.len; i++) {
    char next = body.ptr[i + 1];
    if (body.ptr[i] == '<' && (is_letter(next) || next == '/' || next == '!')) return true;
  }
  return false;
}

/* False: it is left in the text. A block form with HTML in it is never rendered (rule 43); one
 * with other or no content is, like the package does (rule 152). */
static bool preview_of(struct search *s, const struct shortcode *code, struct schema_embed *ret)
{
  struct span values[ATTRIBUTE_COUNT] = { { NULL, 0 } };
  if (code->body.ptr && holds_html(code->body)) return false;
  read_attributes(code->attributes, values);
  if (values[TARGET].ptr && !span_is(values[TARGET], "assistant_message")) return false;
  if (!values[URL].ptr && !values[REF].ptr) return false;
  *ret = (struct schema_embed) {
    .url = values[URL],
    .view_id = values[REF],
    .title = values[TITLE],
    .class_name = values[CLASS].ptr ? values[CLASS] : values[CLASS_NAME],
    .style = values[STYLE],
  };
  if (!ret->url.ptr) ret->url = document_url(values[REF], s->arena);
  if (values[HEIGHT].ptr) ret->height = height_of(values[HEIGHT], s->arena);
  if (!ret->url.ptr) s->failed = true;
  return true;
}

/* The next of two lists by begin. */
static const struct shortcode *earlier(const struct shortcodes *a, size_t *i,
                                       const struct shortcodes *b, size_t *j)
{
  bool left = *i < a->count, right = *j < b->count;
  if (left && right) left = a->items[*i].begin < b->items[*j].begin;
  if (left) return &a->items[(*i)++];
  return right ? &b->items[(*j)++] : NULL;
}

bool schema_embeds_take(struct span text, struct arena *arena, struct schema_embeds *ret)
{
  *ret = (struct schema_embeds) { .text = text };
  struct search s = { .text = text, .arena = arena };
  struct shortcodes blocks = { 0 }, singles = { 0 };
  if (!schema_verbatim_find(text, arena, &s.code)) return false;
  search_form(&s, true, &blocks);
  search_form(&s, false, &singles);
  size_t count = blocks.count + singles.count;
  if (s.failed || count == 0) return !s.failed;
  char *out = arena_alloc(arena, text.len + 1);
  struct schema_embed *embeds = arena_zalloc(arena, count, sizeof *embeds);
  if (!out || !embeds) return false;
  size_t len = 0, copied = 0, i = 0, j = 0, past = 0;
  for (const struct shortcode *c; (c = earlier(&blocks, &i, &singles, &j)) != NULL;) {
    if (c->begin < past) continue;
    past = c->end;
    if (!preview_of(&s, c, &embeds[ret->count])) continue;
    ret->count++;
    memcpy(out + len, text.ptr + copied, c->begin - copied);
    len += c->begin - copied;
    copied = c->end;
  }
  memcpy(out + len, text.ptr + copied, text.len - copied);
  ret->text = (struct span) { out, len + text.len - copied };
  ret->items = embeds;
  return !s.failed;
}

/* ---- stored blocks ---- */

bool schema_embed_read(const struct schema_node *block, struct schema_embed *ret)
{
  const struct schema_node *preview = schema_tree_get(block, "preview");
  if (!span_is(schema_tree_string(schema_tree_get(block, "type")), "canvas")) return false;
  if (!span_is(schema_tree_string(schema_tree_get(preview, "kind")), "canvas")) return false;
  if (!span_is(schema_tree_string(schema_tree_get(preview, "render")), "url")) return false;
  if (span_is(schema_tree_string(schema_tree_get(preview, "surface")), "tool_card")) return false;
  const struct schema_node *height = schema_tree_get(preview, "preferredHeight");
  struct span sandbox = schema_tree_string(schema_tree_get(preview, "sandbox"));
  *ret = (struct schema_embed) {
    .url = schema_tree_string(schema_tree_get(preview, "url")),
    .view_id = schema_tree_string(schema_tree_get(preview, "viewId")),
    .title = schema_tree_string(schema_tree_get(preview, "title")),
    .class_name = schema_tree_string(schema_tree_get(preview, "className")),
    .style = schema_tree_string(schema_tree_get(preview, "style")),
  };
  if (span_is(sandbox, "strict") || span_is(sandbox, "scripts")) ret->sandbox = sandbox;
  if (height && height->kind == SCHEMA_NUMBER) ret->height = height->text;
  return true;
}

bool schema_embed_same(const struct schema_embed *a, const struct schema_embed *b)
{
  return (a->view_id.len && span_eq(a->view_id, b->view_id)) ||
         (a->url.len && span_eq(a->url, b->url));
}

void schema_embed_write(struct schema_writer *w, const struct schema_embed *e)
{
  schema_write_object(w);
  schema_write_pair(w, "kind", SPAN("canvas"));
  schema_write_pair(w, "surface", SPAN("assistant_message"));
  schema_write_pair(w, "render", SPAN("url"));
  if (e->url.ptr) schema_write_pair(w, "url", e->url);
  if (e->view_id.ptr) schema_write_pair(w, "viewId", e->view_id);
  if (e->title.ptr) schema_write_pair(w, "title", e->title);
  if (e->height.ptr) {
    schema_write_key(w, SPAN("preferredHeight"));
    schema_write_raw(w, e->height);
  }
  if (e->class_name.ptr) schema_write_pair(w, "className", e->class_name);
  if (e->style.ptr) schema_write_pair(w, "style", e->style);
  if (e->sandbox.ptr) schema_write_pair(w, "sandbox", e->sandbox);
  schema_write_object_end(w);
}

/* ---- what a frame may load ---- */

static bool is_slash(char c)
{
  return c == '/' || c == '\\';
}

static bool is_scheme_char(char c)
{
  return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
}

/* Number of dots that a path segment stands for, escapes included; 0: it is a name. */
static size_t dots_of(struct span segment)
{
  size_t dots = 0;
  for (size_t i = 0; i < segment.len; dots++) {
    bool escaped = is_at(segment, i, SPAN("%2e"));
    if (!escaped && segment.ptr[i] != '.') return 0;
    i += escaped ? 3 : 1;
  }
  return dots;
}

/* Whether a path, its dot segments resolved, lies in one of the hosted folders. */
static bool is_hosted(struct span path)
{
  struct span top[2] = { { NULL, 0 }, { NULL, 0 } };
  size_t depth = 0;
  for (size_t i = path.len && is_slash(path.ptr[0]);;) {
    size_t begin = i;
    while (i < path.len && !is_slash(path.ptr[i])) i++;
    struct span segment = part(path, begin, i);
    size_t dots = dots_of(segment);
    bool last = i == path.len;
    if (dots == 2 && depth) depth--;
    if (dots != 1 && dots != 2) {
      if (depth < 2) top[depth] = segment;
      depth++;
    } else if (last) { /* what is left ends in a slash */
      if (depth < 2) top[depth] = SPAN("");
      depth++;
    }
    if (last) break;
    i++;
  }
  return depth >= 2 && span_is(top[0], "__openclaw__") &&
         (span_is(top[1], "canvas") || span_is(top[1], "a2ui"));
}

/* Whether host:port could be one: whose it is does not matter here. */
static bool is_authority(struct span s)
{
  size_t host = 0;
  while (host < s.len && s.ptr[host] != ':') host++;
  for (size_t i = 0; i < host; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c <= ' ' || c == 0x7F || strchr("<>@[]^|%", c)) return false;
  }
  for (size_t i = host + 1; i < s.len; i++)
    if (!is_digit(s.ptr[i])) return false;
  return host > 0;
}

/* Without what a browser drops: white space and controls at the ends, tabs and line ends; false:
 * too long to look at. */
static bool plain_url(struct span url, char *out, size_t cap, struct span *ret)
{
  url = schema_white_trim(url);
  if (url.len > cap) return false;
  size_t n = 0;
  for (size_t i = 0; i < url.len; i++)
    if (url.ptr[i] != '\t' && url.ptr[i] != '\n' && url.ptr[i] != '\r') out[n++] = url.ptr[i];
  *ret = (struct span) { out, n };
  return true;
}

bool schema_embed_renderable(struct span raw, bool allow_external)
{
  enum { URL_MAX = 4096 }; /* as for media */
  char room[URL_MAX];
  struct span url;
  if (!plain_url(raw, room, sizeof room, &url) || url.len == 0) return false;
  size_t end = 0, scheme = 0;
  while (end < url.len && url.ptr[end] != '?' && url.ptr[end] != '#') end++;
  struct span rest = part(url, 0, end);
  while (scheme < rest.len && is_scheme_char(rest.ptr[scheme])) scheme++;
  bool absolute =
      scheme > 0 && scheme < rest.len && rest.ptr[scheme] == ':' && is_letter(rest.ptr[0]);
  bool http = absolute && span_eq_nocase(part(rest, 0, scheme), SPAN("http"));
  if (absolute) {
    if (!http && !span_eq_nocase(part(rest, 0, scheme), SPAN("https"))) return false;
    rest = part(rest, scheme + 1, rest.len);
  }
  size_t slashes = 0;
  while (slashes < rest.len && is_slash(rest.ptr[slashes])) slashes++;
  if (slashes < 2 && (!absolute || http)) return is_hosted(rest); /* relative to the page */
  rest = part(rest, slashes, rest.len);
  size_t host = 0;
  while (host < rest.len && !is_slash(rest.ptr[host])) host++;
  struct span name = part(rest, 0, host);
  bool own = (http || !absolute) && (span_eq_nocase(name, SPAN("localhost")) ||
                                     span_eq_nocase(name, SPAN("localhost:80")));
  if (own) return is_hosted(part(rest, host, rest.len));
  return allow_external && is_authority(name);
}
