#include "schema/markup.h"

/* ---- characters ---- */

struct fold {
  const char *bytes;
  char means;
};

/* What stands for a bracket or a bar of a tag besides itself. */
static const struct fold folds[] = {
  { "&lt;", '<' },         { "&gt;", '>' },   { "&#60;", '<' },        { "&#62;", '>' },
  { "&#x3c;", '<' },       { "&#x3e;", '>' }, { "\\u003c", '<' },      { "\\u003e", '>' },
  { "\\x3c", '<' },        { "\\x3e", '>' },  { "\xE2\x80\x96", '|' }, /* ‖ */
  { "\xE2\x88\xA5", '|' },                                             /* ∥ */
  { "\xE2\x94\x82", '|' },                                             /* │ */
  { "\xE2\x94\x83", '|' },                                             /* ┃ */
  { "\xE2\x88\xA3", '|' },                                             /* ∣ */
  { "\xE2\x9D\x98", '|' },                                             /* ❘ */
  { "\xC2\xA6", '|' },                                                 /* ¦ */
  { "\xE2\x96\x81", '_' },                                             /* ▁ */
  { "\xE2\x80\xB9", '<' },                                             /* ‹ */
  { "\xE2\x80\xBA", '>' },                                             /* › */
  { "\xE3\x80\x88", '<' },                                             /* 〈 */
  { "\xE3\x80\x89", '>' },                                             /* 〉 */
  { "\xE2\x9F\xA8", '<' },                                             /* ⟨ */
  { "\xE2\x9F\xA9", '>' },                                             /* ⟩ */
};

static int lower(int c)
{
  return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static bool starts_nocase(const char *p, const char *end, const char *word)
{
  for (; *word; word++, p++)
    if (p >= end || lower(*p) != *word) return false;
  return true;
}

static bool is_zero_width(uint32_t c)
{
  return (c >= 0x200B && c <= 0x200F) || (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF || c == 0xAD ||
         c == 0x180E;
}

int schema_fold(struct span text, size_t *at)
{
  const char *p = text.ptr + *at, *end = text.ptr + text.len;
  while (p < end) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x80 && c != '&' && c != '\\') {
      *at = (size_t)(p + 1 - text.ptr);
      return c ? lower(c) : ' ';
    }
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
      if ((unsigned char)folds[i].bytes[0] != c || !starts_nocase(p, end, folds[i].bytes)) continue;
      *at = (size_t)(p - text.ptr) + strlen(folds[i].bytes);
      return folds[i].means;
    }
    uint32_t code_point;
    p += utf8_decode(p, (size_t)(end - p), &code_point);
    *at = (size_t)(p - text.ptr);
    if (is_zero_width(code_point)) continue;
    if (code_point >= 0xFF01 && code_point <= 0xFF5E) return lower((int)(code_point - 0xFEE0));
    return code_point < 0x80 ? (int)code_point : 0x80;
  }
  *at = text.len;
  return 0;
}

/* Whether a character that begins with these two bytes can be a blank: a quick no for nearly all. */
static bool may_be_blank(unsigned char first, unsigned char second)
{
  switch (first) {
  case 0xC2:
  case 0xE1:
  case 0xE2: return true;
  case 0xE3: return second == 0x80;
  case 0xEF: return second == 0xBB;
  default: return false;
  }
}

size_t schema_skip_blank(struct span text, size_t at)
{
  while (at < text.len) {
    unsigned char c = (unsigned char)text.ptr[at];
    if (c == ' ' || (c >= 0x09 && c <= 0x0D)) {
      at++;
      continue;
    }
    unsigned char second = at + 1 < text.len ? (unsigned char)text.ptr[at + 1] : 0;
    if (!may_be_blank(c, second)) break;
    uint32_t code_point;
    size_t n = utf8_decode(text.ptr + at, text.len - at, &code_point);
    if (!is_zero_width(code_point) && !span_is_blank((struct span) { text.ptr + at, n })) break;
    at += n;
  }
  return at;
}

/* The length of the character that ends text, at most 4. */
static size_t last_char(struct span text)
{
  size_t n = 1;
  while (n < 4 && n < text.len && ((unsigned char)text.ptr[text.len - n] & 0xC0) == 0x80) n++;
  return n;
}

struct span schema_trim_blank(struct span text)
{
  for (;;) {
    size_t n = schema_skip_blank(text, 0);
    while (n < text.len && text.ptr[n] == '\0') n++;
    if (n == 0) break;
    text.ptr += n;
    text.len -= n;
  }
  while (text.len) {
    size_t n = last_char(text);
    struct span last = { text.ptr + text.len - n, n };
    if (schema_skip_blank(last, 0) < n && *last.ptr != '\0') break;
    text.len -= n;
  }
  return text;
}

bool schema_at_line_begin(struct span text, size_t at)
{
  enum { INDENT_MAX = 64 }; /* a tag further in stands behind something else */
  for (size_t n = 0; at > 0 && n < INDENT_MAX; n++) {
    char c = text.ptr[--at];
    if (c == '\n') return true;
    if (c != ' ' && c != '\t' && c != '\r') return false;
  }
  return at == 0;
}

bool schema_has_words(struct span text)
{
  for (size_t at = schema_skip_blank(text, 0); at < text.len; at = schema_skip_blank(text, at)) {
    unsigned char c = (unsigned char)text.ptr[at];
    if (c >= 0x80 || (c != '_' && schema_is_word((char)c))) return true;
    at++;
  }
  return false;
}

bool schema_joins_names(struct span between)
{
  static const char *const joints[] = {
    "",    "和", "与", "跟", "及", "或",  "到", "至", "、", "，", "…",    "……",
    "...", "-",  "~",  "/",  ",",  "and", "or", "to", "&",  "+",  "以及", "或者",
  };
  static const char *const heads[] = { "标签", "标记", "tag", "这", "是",  "之间",
                                       "{.",   "{…",   "[.",  "[…", "...", "…" };
  struct span t = schema_trim_blank(between);
  for (size_t i = 0; i < sizeof joints / sizeof *joints; i++)
    if (span_eq_nocase(t, span_of(joints[i]))) return true;
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (span_starts(t, span_of(heads[i]))) return true;
  return false;
}

/* ---- tags ---- */

struct tag_reading {
  struct span text; /* cut where a tag may not go on */
  size_t at;
  bool cut; /* text goes on behind it */
  size_t len;
  struct schema_mark *tag;
};

static int peek(struct tag_reading *in)
{
  size_t at = in->at;
  return schema_fold(in->text, &at);
}

static void skip(struct tag_reading *in)
{
  schema_fold(in->text, &in->at);
}

static bool skip_spaces(struct tag_reading *in)
{
  size_t begin = in->at;
  for (int c = peek(in); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = peek(in)) skip(in);
  return in->at > begin;
}

static bool is_name(int c)
{
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Passes over attributes up to the closing bracket, and notes whether they are any. */
static void read_attributes(struct tag_reading *in)
{
  struct schema_mark *tag = in->tag;
  char word[SCHEMA_MARK_NAME_MAX];
  size_t len = 0;
  int quote = 0;
  for (;;) {
    int c = peek(in);
    if (c == 0) return;
    if (c == '>' && !quote) return;
    if (c == '<' && !quote) return;
    skip(in);
    if (quote) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = tag->has_attributes ? c : 0;
      len = 0;
    } else if (c == '=') {
      tag->has_attributes = tag->has_attributes || len > 0;
      tag->has_name = tag->has_name || (len == 4 && memcmp(word, "name", 4) == 0);
      len = 0;
    } else if (is_name(c) || c == '_' || c == '-') {
      if (len < sizeof word) word[len++] = (char)c;
    } else if (c != ' ' && c != '\\') {
      len = 0;
    } else if (c == ' ') {
      len = peek(in) == '=' ? len : 0;
    }
  }
}

/* Reads the name with its parts. False: it has none. */
static bool read_name(struct tag_reading *in)
{
  struct schema_mark *tag = in->tag;
  for (;;) {
    int c = peek(in);
    if (is_name(c)) {
      if (tag->bar_back || (in->len && tag->local > in->len)) tag->local = in->len;
      tag->bar_back = false;
      if (in->len < SCHEMA_MARK_NAME_MAX) tag->name[in->len++] = (char)c;
    } else if (c == '|') {
      if (in->len == 0)
        tag->bar_front = true;
      else
        tag->bar_back = true;
    } else if (c == ':') {
      tag->local = in->len + 1; /* the next part is the last, if one comes */
    } else if (c == '/' && in->len == 0) {
      tag->closing = true;
    } else if (c != '_' && c != '-' && c != '.') {
      break;
    }
    skip(in);
  }
  if (tag->local > in->len) tag->local = 0;
  return in->len > 0;
}

bool schema_mark_read(struct span text, size_t at, struct schema_mark *ret)
{
  struct tag_reading in = { .text = text, .at = at, .tag = ret };
  if (text.len - at > SCHEMA_MARK_LEN_MAX) in.text.len = at + SCHEMA_MARK_LEN_MAX, in.cut = true;
  memset(ret, 0, sizeof *ret);
  ret->begin = at;
  if (schema_fold(in.text, &in.at) != '<') return false;
  skip_spaces(&in);
  bool named = read_name(&in);
  /* <｜ DSML ｜ invoke name="x">, <| tool call |>: white space beside bars parts names as well */
  while (ret->bar_front && skip_spaces(&in) && (is_name(peek(&in)) || peek(&in) == '|')) {
    struct tag_reading before = in;
    struct schema_mark tag = *ret;
    if (peek(&in) == '|') ret->bar_back = in.len > 0;
    named = read_name(&in) || named;
    if (peek(&in) != '=') continue;
    in = before; /* that was an attribute */
    *ret = tag;
    break;
  }
  if (!named && !(ret->bar_front && in.at >= text.len)) return false;
  skip_spaces(&in);
  int c = peek(&in);
  bool odd_value = false; /* "<function=" is the name of a tag, not a tag */
  if (c == '=') {
    skip(&in);
    ret->has_value = is_name(peek(&in));
    odd_value = !ret->has_value && in.at < text.len;
  }
  if (c == '=' || is_name(c)) read_attributes(&in);
  while ((c = peek(&in)) == '/' || c == ' ' || c == '|') skip(&in);
  if (c == '>') {
    skip(&in);
    ret->complete = true;
  }
  ret->truncated = !ret->complete && !in.cut && in.at >= text.len && !odd_value;
  ret->end = in.at;
  return true;
}

bool schema_mark_is(const struct schema_mark *tag, const char *word)
{
  return strcmp(tag->name, word) == 0 || strcmp(tag->name + tag->local, word) == 0;
}

bool schema_mark_has(const struct schema_mark *tag, const char *part)
{
  return strstr(tag->name, part) != NULL;
}

/* ---- code ---- */

static size_t run_length(struct span text, size_t at)
{
  size_t n = 0;
  while (at + n < text.len && text.ptr[at + n] == '`') n++;
  return n;
}

static size_t find_char(struct span text, size_t at, char c)
{
  const char *hit = at < text.len ? memchr(text.ptr + at, c, text.len - at) : NULL;
  return hit ? (size_t)(hit - text.ptr) : text.len;
}

/* Whether the run of n backticks at byte at closes a fence: alone at one end of its line. */
static bool closes_fence(struct span text, size_t at, size_t n)
{
  size_t behind = at + n;
  while (behind < text.len && (text.ptr[behind] == ' ' || text.ptr[behind] == '\r')) behind++;
  return behind == text.len || text.ptr[behind] == '\n' || schema_at_line_begin(text, at);
}

/* Walks the line of byte at once and notes the last run of each length on it, so that a line of
 * runs without partners is not walked again for each of them. */
static void see_line(struct schema_quoted_reader *reader, struct span text, size_t at)
{
  if (at < reader->line_end) return;
  memset(reader->last_run, 0, sizeof reader->last_run);
  reader->line_end = find_char(text, at, '\n');
  struct span line = { text.ptr, reader->line_end };
  for (size_t i = at; (i = find_char(line, i, '`')) < line.len;) {
    size_t run = run_length(line, i);
    if (run <= SCHEMA_CODE_RUN_MAX) reader->last_run[run - 1] = i;
    i += run;
  }
}

/* A fence begins where nothing but a word stands behind its backticks on their line. */
static bool read_fence(const struct schema_quoted_reader *reader, struct span text, size_t at,
                       size_t n, struct schema_quoted *ret)
{
  size_t line_end = reader->line_end;
  struct span info = { text.ptr + at + n, line_end - at - n };
  if (info.len && memchr(info.ptr, '`', info.len)) return false;
  if (line_end == text.len && !schema_at_line_begin(text, at)) return false;
  ret->fenced = true;
  ret->info = span_trim(info);
  ret->inner_begin = line_end < text.len ? line_end + 1 : text.len;
  ret->inner_end = ret->end = text.len;
  for (size_t i = ret->inner_begin; (i = find_char(text, i, '`')) < text.len;) {
    size_t run = run_length(text, i);
    if (run >= n && closes_fence(text, i, run)) {
      ret->inner_end = i;
      ret->end = i + run;
      ret->closed = true;
      break;
    }
    i += run;
  }
  return true;
}

/* The next run of n from byte at on, on the same line; text.len: none. */
static size_t find_run(const struct schema_quoted_reader *reader, struct span text, size_t at,
                       size_t n)
{
  if (reader->last_run[n - 1] < at) return text.len;
  for (size_t i = at; (i = find_char(text, i, '`')) < reader->line_end;) {
    size_t run = run_length(text, i);
    if (run == n) return i;
    i += run;
  }
  return text.len;
}

bool schema_quoted_read(struct schema_quoted_reader *reader, struct span text, size_t at,
                        struct schema_quoted *ret)
{
  size_t n = run_length(text, at);
  memset(ret, 0, sizeof *ret);
  ret->begin = at;
  ret->end = at + n;
  if (n > SCHEMA_CODE_RUN_MAX) return false;
  see_line(reader, text, at);
  if (n >= 3 && read_fence(reader, text, at, n, ret)) return true;
  size_t close = find_run(reader, text, at + n, n);
  if (close == text.len) return false;
  ret->inner_begin = at + n;
  ret->inner_end = close;
  ret->end = close + n;
  ret->closed = true;
  return true;
}
