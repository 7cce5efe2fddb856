#include "schema/lenient.h"

/* ---- what stands for what ---- */

static const struct {
  const char *bytes;
  char means;
} punctuation[] = {
  { "｛", '{' }, { "｝", '}' }, { "［", '[' }, { "］", ']' }, { "【", '[' },
  { "】", ']' }, { "：", ':' }, { "，", ',' }, { "、", ',' }, { "﹛", '{' },
  { "﹜", '}' }, { "﹕", ':' }, { "﹐", ',' },
};

enum { QUOTE_FORMS = 8 };

/* A family of quotes: any of open begins a string, any of close may end it. */
struct quotes {
  const char *open[QUOTE_FORMS], *close[QUOTE_FORMS];
  const char *inside; /* an ASCII quote that may also be content between them */
};

static const struct quotes families[] = {
  { { "\"" }, { "\"" }, NULL }, /* JSON's own: the first one ends the string */
  { { "'" }, { "'" }, NULL },
  { { "`" }, { "`" }, NULL },
  { { "“", "”", "„", "‟", "＂", "〝", "〞" },
    { "“", "”", "„", "‟", "＂", "〝", "〞", "\"" },
    "\"" },
  { { "‘", "’", "‚", "‛", "＇", "´" }, { "‘", "’", "‚", "‛", "＇", "´", "'" }, "'" },
  { { "「" }, { "」", "「" }, NULL },
  { { "『" }, { "』", "『" }, NULL },
};

static size_t starts(const char *p, const char *end, const char *what)
{
  size_t n = strlen(what);
  return (size_t)(end - p) >= n && memcmp(p, what, n) == 0 ? n : 0;
}

/* The length of the punctuation mark at p (0: none); what it stands for goes to *ret. */
static size_t punctuation_at(const char *p, const char *end, char *ret)
{
  *ret = 0;
  if (p >= end) return 0;
  switch (*p) {
  case '{':
  case '}':
  case '[':
  case ']':
  case ':':
  case ',': *ret = *p; return 1;
  default:
    if (!(*p & 0x80)) return 0;
  }
  for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++) {
    size_t n = starts(p, end, punctuation[i].bytes);
    if (n == 0) continue;
    *ret = punctuation[i].means;
    return n;
  }
  return 0;
}

static const struct quotes *quotes_at(const char *p, const char *end, size_t *retlen)
{
  if (p >= end || (!(*p & 0x80) && !memchr("\"'`", *p, 3))) return NULL;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (size_t k = 0; k < QUOTE_FORMS && families[i].open[k]; k++)
      if ((*retlen = starts(p, end, families[i].open[k]))) return &families[i];
  return NULL;
}

/* The length of the closing quote at p, or 0. */
static size_t close_at(const struct quotes *q, const char *p, const char *end)
{
  size_t n = 0;
  for (size_t k = 0; k < QUOTE_FORMS && q->close[k] && !n; k++) n = starts(p, end, q->close[k]);
  return n;
}

/* ---- what is passed over ---- */

static bool is_hidden(uint32_t c)
{
  return (c >= 0x200B && c <= 0x200F) || (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF || c == 0xAD ||
         c == 0x180E;
}

/* The length of the control, invisible or special white character at p, or 0. */
static size_t special_space(const char *p, const char *end)
{
  unsigned char c = (unsigned char)*p;
  if (c == 0x7F || (c < 0x20 && c != '\t' && c != '\n' && c != '\r')) return 1;
  if (c < 0xC2) return 0;
  uint32_t code_point;
  size_t n = utf8_decode(p, (size_t)(end - p), &code_point);
  bool passed = is_hidden(code_point) || (code_point >= 0x80 && code_point < 0xA0) ||
                span_is_blank((struct span) { p, n });
  return passed ? n : 0;
}

/* The length of the terminal sequence at p (ESC [ … letter), or 0. */
static size_t ansi_length(const char *p, const char *end)
{
  enum { SEQUENCE_MAX = 32 };
  if (end - p < 3 || p[0] != 0x1B || p[1] != '[') return 0;
  for (size_t n = 2; n < SEQUENCE_MAX && p + n < end; n++) {
    if (p[n] >= 0x40 && p[n] <= 0x7E) return n + 1;
    if (p[n] < 0x20) return 0;
  }
  return 0;
}

/* The length of the comment at p, or 0. One that is not closed reaches to the end. */
static size_t comment_length(const char *p, const char *end)
{
  const char *close;
  if (*p == '#' || starts(p, end, "//")) {
    close = memchr(p, '\n', (size_t)(end - p));
    return (size_t)((close ? close : end) - p);
  }
  if (!starts(p, end, "/*")) return 0;
  close = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
  return (size_t)((close ? close + 2 : end) - p);
}

/* The length of what is passed over at p, and of which kind it is; 0: nothing. */
static size_t junk_at(const char *p, const char *end, enum schema_repair_kind *retkind)
{
  size_t n;
  *retkind = SCHEMA_FIX_COUNT; /* white space of JSON: no repair */
  if (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') return 1;
  if (*p > ' ' && *p < 0x7F && *p != '/' && *p != '#') return 0;
  *retkind = SCHEMA_FIX_ANSI;
  if ((n = ansi_length(p, end))) return n;
  *retkind = SCHEMA_FIX_COMMENT;
  if ((n = comment_length(p, end))) return n;
  *retkind = SCHEMA_FIX_SPACE;
  return special_space(p, end);
}

static const char *skip_junk(const char *p, const char *end)
{
  enum schema_repair_kind kind;
  size_t n;
  while (p < end && (n = junk_at(p, end, &kind))) p += n;
  return p;
}

/* ---- writing ---- */

struct writing {
  const char *begin, *p, *end;
  size_t base;
  struct buf out;
  const char *copied; /* what lies between here and p is still to be copied */
  struct schema_repairs *repairs;
  struct schema_lenient *ret;
};

static void note(struct writing *w, enum schema_repair_kind kind, const char *at)
{
  schema_repairs_add(w->repairs, kind, w->base + (size_t)(at - w->begin));
}

/* Copies the source up to p. */
static void flush(struct writing *w, const char *p)
{
  if (p > w->copied) buf_add(&w->out, (struct span) { w->copied, (size_t)(p - w->copied) });
  w->copied = p;
}

/* The source goes on at p: what lies between was written in another form. */
static void resume(struct writing *w, const char *p)
{
  w->copied = p;
  w->ret->changed = true;
  if (w->ret->drift_count < SCHEMA_DRIFT_MAX)
    w->ret->drifts[w->ret->drift_count++] =
        (struct schema_drift) { w->out.len, (size_t)(p - w->begin) };
}

/* Writes text instead of the source from p to behind. */
static void replace(struct writing *w, const char *p, const char *behind, struct span text)
{
  flush(w, p);
  buf_add(&w->out, text);
  resume(w, behind);
}

/* A byte that the strict reader refuses, where the source has no one reading. */
static void refuse(struct writing *w, const char *at)
{
  replace(w, at, w->end, SPAN("\x01"));
  w->p = w->end;
}

/* ---- strings ---- */

/* Whether what ends or follows a string follows at p: a colon, a comma, a closing bracket or the
 * end. */
static bool is_followed(const char *p, const char *end)
{
  char c;
  p = skip_junk(p, end);
  return p >= end || (punctuation_at(p, end, &c) && c != '{' && c != '[');
}

/* The closing quote of the string whose content begins at p, its length to *retlen. NULL: there is
 * none, or (*retdoubt) one of which one cannot say whether it ends the string. */
static const char *find_close(const struct quotes *q, const char *p, const char *end,
                              size_t *retlen, bool *retdoubt)
{
  *retdoubt = false;
  *retlen = 1;
  if (q == families) {
    for (; p < end && *p != '"'; p++)
      if (*p == '\\') p++;
    return p < end ? p : NULL;
  }
  for (; p < end; p++) {
    if (*p == '\\') {
      p++;
      continue;
    }
    size_t n = close_at(q, p, end);
    if (!n) continue;
    *retlen = n;
    if (is_followed(p + n, end)) return p;
    *retdoubt = !q->inside || !starts(p, end, q->inside);
    if (*retdoubt) return NULL;
  }
  return NULL;
}

struct decoding {
  struct writing *w;
  const struct quotes *quotes;
  bool key;
  const char *p, *end;
  bool letters; /* a backslash before a letter that is no escape: a path, TeX, a pattern */
  bool doubt;   /* an escape that may be meant like these */
};

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads count hexadecimal digits at p. */
static bool read_hex(const char *p, const char *end, int count, uint32_t *ret)
{
  *ret = 0;
  for (int i = 0; i < count; i++) {
    int digit = p + i < end ? hex_digit(p[i]) : -1;
    if (digit < 0) return false;
    *ret = *ret << 4 | (uint32_t)digit;
  }
  return true;
}

/* Writes text for the n bytes at d->p and notes why. */
static void put_instead(struct decoding *d, size_t n, enum schema_repair_kind kind,
                        struct span text)
{
  note(d->w, kind, d->p);
  replace(d->w, d->p, d->p + n, text);
  d->p += n;
}

/* \uXXXX at d->p. False: its digits are not there. */
static bool pass_unicode(struct decoding *d)
{
  uint32_t high, low;
  if (!read_hex(d->p + 2, d->end, 4, &high)) return false;
  size_t n = 6;
  if (high >= 0xD800 && high <= 0xDFFF) {
    bool pair = high < 0xDC00 && starts(d->p + n, d->end, "\\u") &&
                read_hex(d->p + n + 2, d->end, 4, &low) && low >= 0xDC00 && low <= 0xDFFF;
    if (!pair) {
      put_instead(d, n, SCHEMA_FIX_SURROGATE, SPAN("\xEF\xBF\xBD"));
      return true;
    }
    n += 6;
  } else if (d->key && is_hidden(high)) {
    put_instead(d, n, SCHEMA_FIX_ZERO_WIDTH, SPAN(""));
    return true;
  }
  d->p += n;
  return true;
}

static bool is_lower(char c)
{
  return c >= 'a' && c <= 'z';
}

/* A backslash that begins no escape of JSON; c stands behind it. */
static void pass_bad_escape(struct decoding *d, char c)
{
  uint32_t code;
  if (c == '\'' || c == '`') {
    put_instead(d, 2, SCHEMA_FIX_BAD_ESCAPE, (struct span) { d->p + 1, 1 });
  } else if (c == '\n') { /* a line that goes on */
    put_instead(d, 2, SCHEMA_FIX_BAD_ESCAPE, SPAN("\\n"));
  } else if (c == 'x' && d->quotes != families && read_hex(d->p + 2, d->end, 2, &code)) {
    /* as Python and JavaScript write it between their quotes */
    char hex[] = { '\\', 'u', '0', '0', d->p[2], d->p[3] };
    put_instead(d, 4, SCHEMA_FIX_BAD_ESCAPE, (struct span) { hex, sizeof hex });
  } else {
    d->letters = d->letters || is_lower(c) || (c >= 'A' && c <= 'Z') || memchr("([{", c, 3);
    put_instead(d, 1, SCHEMA_FIX_BAD_ESCAPE, SPAN("\\\\"));
  }
}

/* The escape at d->p. False: it has no one reading, or the string ends in it. */
static bool pass_escape(struct decoding *d)
{
  if (d->end - d->p < 2) return false;
  char c = d->p[1];
  if (c == 'u') return pass_unicode(d);
  if (!memchr("\"\\/bfnrt", c, 8)) {
    pass_bad_escape(d, c);
    return true;
  }
  d->doubt = d->doubt || (is_lower(c) && d->end - d->p > 2 && is_lower(d->p[2]));
  d->p += 2;
  return true;
}

static void pass_control(struct decoding *d)
{
  size_t n = ansi_length(d->p, d->end);
  if (n)
    put_instead(d, n, SCHEMA_FIX_ANSI, SPAN(""));
  else if (*d->p == '\n' || *d->p == '\t')
    put_instead(d, 1, SCHEMA_FIX_RAW_CONTROL, *d->p == '\n' ? SPAN("\\n") : SPAN("\\t"));
  else
    put_instead(d, 1, SCHEMA_FIX_RAW_CONTROL, SPAN(""));
}

/* Writes the content of a string. False: it has no one reading. */
static bool pass_content(struct decoding *d)
{
  while (d->p < d->end) {
    unsigned char c = (unsigned char)*d->p;
    if (c == '\\') {
      if (!pass_escape(d)) return false;
    } else if (c < 0x20) {
      pass_control(d);
    } else if (c == '"') { /* content between quotes of another kind */
      replace(d->w, d->p, d->p + 1, SPAN("\\\""));
      d->p++;
    } else if (c >= 0x80 && d->key) {
      uint32_t code_point;
      size_t n = utf8_decode(d->p, (size_t)(d->end - d->p), &code_point);
      if (is_hidden(code_point))
        put_instead(d, n, SCHEMA_FIX_ZERO_WIDTH, SPAN(""));
      else
        d->p += n;
    } else {
      d->p++;
    }
  }
  return !(d->letters && d->doubt);
}

/* The string whose opening quote (n bytes) is at w->p. */
static void pass_string(struct writing *w, const struct quotes *q, size_t n)
{
  size_t close_len = 0;
  bool doubt;
  const char *close = find_close(q, w->p + n, w->end, &close_len, &doubt);
  if (doubt) {
    refuse(w, w->p);
    return;
  }
  if (!close) { /* the text ends in it: copied as it is, the reader says so */
    w->p = w->end;
    return;
  }
  char c;
  const char *follows = skip_junk(close + close_len, w->end);
  struct decoding d = { .w = w, .quotes = q, .p = w->p + n, .end = close };
  d.key = punctuation_at(follows, w->end, &c) && c == ':';
  if (q != families) {
    note(w, SCHEMA_FIX_QUOTES, w->p);
    replace(w, w->p, d.p, SPAN("\""));
  }
  if (!pass_content(&d)) {
    refuse(w, w->p > w->copied ? w->p : w->copied);
    return;
  }
  w->p = close + close_len;
  if (q != families) replace(w, close, w->p, SPAN("\""));
}

/* ---- everything else ---- */

static bool is_name(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

static const char *skip_digits(const char *p, const char *end)
{
  while (p < end && *p >= '0' && *p <= '9') p++;
  return p;
}

/* Whether [p, end) is a number of JSON. */
static bool is_number(const char *p, const char *end)
{
  if (p < end && *p == '-') p++;
  const char *digits = p;
  p = skip_digits(p, end);
  if (p == digits || (*digits == '0' && p > digits + 1)) return false;
  if (p < end && *p == '.') {
    digits = ++p;
    p = skip_digits(p, end);
    if (p == digits) return false;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p < end && (*p == '+' || *p == '-')) p++;
    digits = p;
    p = skip_digits(p, end);
    if (p == digits) return false;
  }
  return p == end;
}

/* A word without quotes: a key before a colon, a value of JSON, or a value that is none. */
static void pass_word(struct writing *w)
{
  const char *begin = w->p, *p = begin;
  char c;
  size_t n;
  while (p < w->end && is_name(*p)) p++;
  const char *follows = skip_junk(p, w->end);
  if (p > begin && punctuation_at(follows, w->end, &c) && c == ':' &&
      (*begin < '0' || *begin > '9')) {
    note(w, SCHEMA_FIX_BARE_KEY, begin);
    replace(w, begin, begin, SPAN("\""));
    replace(w, p, p, SPAN("\""));
    w->p = p;
    return;
  }
  enum schema_repair_kind kind;
  while (p < w->end && !punctuation_at(p, w->end, &c) && !quotes_at(p, w->end, &n) &&
         (*p == ' ' || !junk_at(p, w->end, &kind)))
    p++;
  struct span word = span_trim((struct span) { begin, (size_t)(p - begin) });
  w->p = p;
  if (word.len == 0 || p >= w->end) {
    w->p = p > begin ? p : begin + 1; /* it stays as it is */
    return;
  }
  const char *behind = word.ptr + word.len;
  if (is_number(begin, behind) || span_is(word, "true") || span_is(word, "false") ||
      span_is(word, "null"))
    return;
  if (punctuation_at(p, w->end, &c) && c != ':' && c != '{' && c != '[') {
    /* no string: wherever the contract looks at it, it is a fault */
    note(w, SCHEMA_FIX_LITERAL, begin);
    replace(w, begin, behind, SPAN("null"));
  }
}

/* A comma with nothing but a closing bracket behind it goes. */
static void pass_comma(struct writing *w, const char *behind)
{
  char c;
  const char *follows = skip_junk(behind, w->end);
  punctuation_at(follows, w->end, &c);
  if (c == '}' || c == ']') {
    note(w, SCHEMA_FIX_TRAILING_COMMA, w->p);
    replace(w, w->p, behind, SPAN(""));
  }
  w->p = behind;
}

/* The punctuation mark (n bytes, meaning c) at w->p. *depth counts the open brackets. */
static void pass_punctuation(struct writing *w, char c, size_t n, int64_t *depth)
{
  const char *behind = w->p + n;
  if (c == '{' || c == '[') ++*depth;
  if (c == '}' || c == ']') --*depth;
  if (n > 1) {
    note(w, SCHEMA_FIX_PUNCTUATION, w->p);
    replace(w, w->p, behind, (struct span) { &c, 1 });
  }
  if (c == ',')
    pass_comma(w, behind);
  else
    w->p = behind;
}

void schema_lenient_write(struct span text, size_t base, struct arena *arena,
                          struct schema_repairs *repairs, struct schema_lenient *ret)
{
  struct writing w = {
    .begin = text.ptr,
    .p = text.ptr,
    .end = text.ptr + text.len,
    .base = base,
    .copied = text.ptr,
    .repairs = repairs,
    .ret = ret,
  };
  enum { GROWTH_MAX = 5, SLACK = 64 }; /* the worst is a word of one letter that becomes null */
  int64_t depth = 0;
  ret->changed = false;
  ret->drift_count = 0;
  buf_init(&w.out, text.len < SIZE_MAX / 8 ? text.len * GROWTH_MAX + SLACK : SIZE_MAX / 2);
  while (w.p < w.end) {
    char c;
    enum schema_repair_kind kind;
    size_t n = junk_at(w.p, w.end, &kind);
    if (n) {
      if (kind != SCHEMA_FIX_COUNT) {
        note(&w, kind, w.p);
        replace(&w, w.p, w.p + n, SPAN(" "));
      }
      w.p += n;
      continue;
    }
    n = punctuation_at(w.p, w.end, &c);
    if (depth <= 0 && w.p > w.begin && c != '}' && c != ']' && c != ',') break;
    const struct quotes *q;
    if (n)
      pass_punctuation(&w, c, n, &depth);
    else if ((q = quotes_at(w.p, w.end, &n)))
      pass_string(&w, q, n);
    else
      pass_word(&w);
  }
  flush(&w, w.end);
  ret->strict = w.out.failed ? (struct span) { NULL, 0 } : arena_copy(arena, buf_span(&w.out));
  buf_done(&w.out);
}

size_t schema_lenient_source(const struct schema_lenient *lenient, size_t at)
{
  struct schema_drift last = { 0, 0 };
  for (size_t i = 0; i < lenient->drift_count && lenient->drifts[i].to <= at; i++)
    last = lenient->drifts[i];
  return last.from + (at - last.to);
}

char schema_lenient_bracket(struct span text, size_t at, size_t *retlen)
{
  char c;
  *retlen = 0;
  if (at >= text.len) return 0;
  *retlen = punctuation_at(text.ptr + at, text.ptr + text.len, &c);
  return c == ':' || c == ',' ? 0 : c;
}

size_t schema_lenient_quote(struct span text, size_t at)
{
  const char *p = text.ptr + at, *end = text.ptr + text.len;
  size_t n = 0;
  if (p < end && *p == '\\') p++;
  if (p >= end) return at;
  if (!quotes_at(p, end, &n))
    for (size_t i = 0; i < sizeof families / sizeof *families && !n; i++)
      n = close_at(&families[i], p, end);
  return n ? (size_t)(p + n - text.ptr) : at;
}

size_t schema_lenient_blank(struct span text, size_t at)
{
  return (size_t)(skip_junk(text.ptr + at, text.ptr + text.len) - text.ptr);
}
