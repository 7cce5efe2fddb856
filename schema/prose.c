#include "schema/prose.h"

#include "schema/markup.h"

/* ---- tokens of chat templates ---- */

/* Plain tags that are tokens; those between bars are tokens whatever their name. */
static const char *const plain_tokens[] = {
  "s",   "eos", "bos",       "pad", "unk", "startofturn", "endofturn",
  "sop", "eop", "endoftext", "eot", "eod", "sys",         NULL,
};
/* What a prompt may have asked for: a closing tag that is left over at the end. */
static const char *const closing_tokens[] = {
  "answer", "output", "response", "final", "finalanswer", "reply", NULL,
};

static const char *const square_tokens[] = { "[INST]",  "[/INST]", "[EOS]",    "[BOS]",
                                             "[gMASK]", "[/SYS]",  "[DONE]",   "]~b]",
                                             "[e~[",    "<<SYS>>", "<</SYS>>", "[PAD]" };
static const char *const roles[] = { "assistant", "model", "bot", "ai", "gpt", NULL };
static const char *const turn_heads[] = { "imstart",     "startheaderid", "startofturn", "start",
                                          "startofrole", "turn",          "role",        NULL };
static const char *const turn_ends[] = { "imend",     "eotid",         "eomid", "endoftext",
                                         "endofturn", "eot",           "end",   "return",
                                         "eos",       "endofsentence", "s",     NULL };

static bool starts_at(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return at <= text.len && text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

static bool is_one_of(const char *name, const char *const *words)
{
  for (; *words; words++)
    if (strcmp(name, *words) == 0) return true;
  return false;
}

static bool is_token(const struct schema_mark *mark)
{
  if (!mark->complete || mark->has_attributes || mark->has_value) return false;
  if (mark->bar_front || mark->bar_back) return true;
  return is_one_of(mark->name, plain_tokens) ||
         (mark->closing && is_one_of(mark->name, closing_tokens));
}

/* The length of the token at byte at, or 0. */
static size_t token_at(struct span text, size_t at, struct schema_mark *ret)
{
  memset(ret, 0, sizeof *ret);
  if (at >= text.len) return 0;
  for (size_t i = 0; i < sizeof square_tokens / sizeof *square_tokens; i++)
    if (starts_at(text, at, square_tokens[i])) return strlen(square_tokens[i]);
  bool bracket = text.ptr[at] == '<' || (text.ptr[at] & 0x80);
  return bracket && schema_mark_read(text, at, ret) && is_token(ret) ? ret->end - at : 0;
}

static size_t role_at(struct span text, size_t at)
{
  for (const char *const *role = roles; *role; role++) {
    size_t n = strlen(*role);
    if (text.len - at < n || !span_eq_nocase((struct span) { text.ptr + at, n }, span_of(*role)))
      continue;
    if (at + n == text.len || !schema_is_word(text.ptr[at + n])) return n;
  }
  return 0;
}

static struct span bare_begin(struct span text)
{
  struct schema_mark mark;
  for (;;) {
    text = schema_trim_blank(text);
    size_t n = token_at(text, 0, &mark);
    if (n == 0) return text;
    text.ptr += n;
    text.len -= n;
    if (!is_one_of(mark.name, turn_heads)) continue;
    n = role_at(text, 0);
    text.ptr += n;
    text.len -= n;
  }
}

/* Whether the plain closing tag, <> or [], of n bytes at byte at has its opening tag before it. */
static bool closes_something(struct span text, size_t at, size_t n)
{
  char opener[SCHEMA_MARK_NAME_MAX + 2] = { text.ptr[at] };
  if (n < 4 || n > sizeof opener || text.ptr[at + 1] != '/') return false;
  memcpy(opener + 1, text.ptr + at + 2, n - 2);
  return span_find((struct span) { text.ptr, at }, (struct span) { opener, n - 1 }) < at;
}

/* Where the token begins that ends text, or text.len. */
static size_t last_token(struct span text)
{
  enum { TOKEN_MAX = 80 };
  size_t from = text.len > TOKEN_MAX ? text.len - TOKEN_MAX : 0;
  struct schema_mark mark;
  for (size_t at = text.len; at-- > from;) {
    unsigned char c = (unsigned char)text.ptr[at];
    if (c != '<' && c != '[' && c != ']' && c != 0xEF) continue;
    size_t n = token_at(text, at, &mark);
    if (n && at + n == text.len && !closes_something(text, at, n)) return at;
  }
  return text.len;
}

/* Without the tokens that end text. What stands before its words stays. */
static struct span bare_end(struct span text)
{
  struct span trimmed = schema_trim_blank(text);
  size_t at = last_token(trimmed);
  if (at == trimmed.len) return text;
  for (; at < trimmed.len; at = last_token(trimmed)) {
    trimmed.len = at;
    trimmed = schema_trim_blank(trimmed);
  }
  return (struct span) { text.ptr, (size_t)(trimmed.ptr + trimmed.len - text.ptr) };
}

/* Where a model has gone on with the next turn after the end of its own, or text.len. */
static size_t next_turn(struct span text)
{
  struct schema_mark mark;
  for (size_t at = 0; at < text.len; at++) {
    if (text.ptr[at] != '<') continue;
    size_t n = token_at(text, at, &mark);
    if (n == 0) continue;
    size_t next = schema_skip_blank(text, at + n);
    struct schema_mark head;
    if (is_one_of(mark.name, turn_ends) && token_at(text, next, &head) &&
        is_one_of(head.name, turn_heads))
      return at;
    at += n - 1;
  }
  return text.len;
}

static struct span without_stream_tail(struct span text)
{
  static const struct span tail = { "data: [DONE]", 12 };
  while (span_ends(text, tail)) {
    text.len -= tail.len;
    text = schema_trim_blank(text);
  }
  return text;
}

struct span schema_prose_bare(struct span text)
{
  text = bare_begin(without_stream_tail(schema_trim_blank(text)));
  if (text.len && memchr(text.ptr, '<', text.len)) text.len = next_turn(text);
  return schema_trim_blank(bare_end(text));
}

struct span schema_prose_bare_inside(struct span text)
{
  struct schema_mark mark;
  struct span t = schema_trim_blank(text);
  size_t n = token_at(t, 0, &mark);
  if (n && is_one_of(mark.name, turn_heads)) {
    size_t role = role_at(t, n);
    struct span rest = { t.ptr + n + role, t.len - n - role };
    if (role && rest.len && (*rest.ptr == '\n' || *rest.ptr == '<')) text = bare_begin(rest);
  }
  if (text.len && memchr(text.ptr, '<', text.len)) text.len = next_turn(text);
  return bare_end(text);
}

/* ---- wrappers ---- */

static const char *const loose_wrappers[] = {
  "answer",      "output",        "response", "final",    "reply",   "message", "msg",
  "finalanswer", "finalresponse", "messages", "segments", "segment", NULL
};

struct splitting {
  struct span text;
  struct arena *arena;
  struct span *texts;
  size_t count, cap;
  bool failed;
};

static void add_text(struct splitting *s, size_t begin, size_t end)
{
  struct span text = schema_trim_blank((struct span) { s->text.ptr + begin, end - begin });
  if (text.len == 0 || s->failed) return;
  if (s->count == s->cap) {
    enum { FIRST = 4 };
    size_t cap = s->cap ? s->cap * 2 : FIRST;
    struct span *grown = arena_zalloc(s->arena, cap, sizeof *grown);
    if (!grown) {
      s->failed = true;
      return;
    }
    if (s->count) memcpy(grown, s->texts, s->count * sizeof *grown);
    s->texts = grown;
    s->cap = cap;
  }
  s->texts[s->count++] = text;
}

/* The next wrapper tag from byte at on, outside code. */
static bool next_wrapper(struct span text, size_t at, bool loose,
                         struct schema_quoted_reader *codes, struct schema_mark *ret)
{
  while (at < text.len) {
    if (text.ptr[at] == '`') {
      struct schema_quoted code;
      schema_quoted_read(codes, text, at, &code);
      at = code.end;
      continue;
    }
    if (text.ptr[at] == '<' && schema_mark_read(text, at, ret) && ret->complete &&
        !ret->bar_front && !ret->bar_back && !ret->has_attributes && !ret->has_value &&
        (strcmp(ret->name, "text") == 0 || (loose && is_one_of(ret->name, loose_wrappers))))
      return true;
    at++;
  }
  return false;
}

/* Whether the opening tag is a wrapper though none closes it: it leads, and words stand right
 * behind it. */
static bool opens_unclosed(struct span text, const struct schema_mark *mark)
{
  struct span before = { text.ptr, mark->begin };
  bool leads = schema_skip_blank(before, 0) == before.len;
  return leads && mark->end < text.len && text.ptr[mark->end] != ' ';
}

bool schema_prose_split(struct span text, bool loose, struct arena *arena, struct span **rettexts,
                        size_t *retcount)
{
  struct splitting s = { .text = text, .arena = arena };
  struct schema_quoted_reader codes = { 0 };
  struct schema_mark mark, next;
  size_t done = 0;
  *rettexts = NULL;
  *retcount = 0;
  bool found = next_wrapper(text, 0, loose, &codes, &mark);
  if (!found) return true;
  bool leads = schema_skip_blank((struct span) { text.ptr, mark.begin }, 0) == mark.begin;
  if (strcmp(mark.name, "text") != 0 && !leads) return true;
  bool more = next_wrapper(text, mark.end, loose, &codes, &next);
  bool tail = mark.closing && schema_skip_blank(text, mark.end) == text.len;
  bool pair = !mark.closing && more && next.closing;
  bool another = more && leads && !mark.closing;
  if (another && strcmp(mark.name, "text") != 0) /* else words name both */
    another = schema_skip_blank(text, mark.end) == next.begin;
  if (!tail && !pair && !another && !opens_unclosed(text, &mark)) return true;
  while (found) {
    add_text(&s, done, mark.begin);
    done = mark.end;
    found = more;
    mark = next;
    more = found && next_wrapper(text, mark.end, loose, &codes, &next);
  }
  add_text(&s, done, text.len);
  *rettexts = s.count ? s.texts : arena_zalloc(arena, 1, sizeof **rettexts);
  *retcount = s.count;
  return !s.failed && *rettexts;
}

/* ---- what is no answer ---- */

/* The whole of such a text, after a status number; those of several words without it too. */
static const char *const status_lines[] = {
  "bad gateway",
  "gateway timeout",
  "gateway time-out",
  "service unavailable",
  "service temporarily unavailable",
  "internal server error",
  "too many requests",
  "request timeout",
  "bad request",
  "unauthorized",
  "forbidden",
  "not found",
};

static const char *const error_starts[] = {
  "upstream connect error", "upstream request timeout", "no healthy upstream", "error code: 4",
  "error code: 5",          "error code: 10",
};

static bool starts_nocase(struct span text, const char *what)
{
  size_t n = strlen(what);
  return text.len >= n && span_eq_nocase((struct span) { text.ptr, n }, span_of(what));
}

/* Whether a page of HTML begins here: a document, or its parts with nothing but tags before. */
static bool begins_html(struct span text)
{
  if (starts_nocase(text, "<!doctype html")) return true;
  struct schema_mark mark;
  if (!schema_mark_read(text, 0, &mark) || !mark.complete || mark.closing) return false;
  bool page = strcmp(mark.name, "html") == 0 || strcmp(mark.name, "head") == 0;
  size_t next = schema_skip_blank(text, mark.end);
  return page && (next == text.len || text.ptr[next] == '<');
}

bool schema_prose_is_error_page(struct span text)
{
  text = schema_trim_blank(text);
  if (text.len == 0) return false;
  if (*text.ptr == '<' && begins_html(text)) return true;
  for (size_t i = 0; i < sizeof error_starts / sizeof *error_starts; i++)
    if (starts_nocase(text, error_starts[i])) return true;
  size_t n = 0;
  while (n < text.len && n < 3 && text.ptr[n] >= '0' && text.ptr[n] <= '9') n++;
  struct span rest = { text.ptr + n, text.len - n };
  rest = span_trim(rest);
  while (rest.len && (rest.ptr[rest.len - 1] == '.' || rest.ptr[rest.len - 1] == '\n')) rest.len--;
  for (size_t i = 0; i < sizeof status_lines / sizeof *status_lines; i++)
    if ((n == 3 || strchr(status_lines[i], ' ')) && span_eq_nocase(rest, span_of(status_lines[i])))
      return true;
  return false;
}

struct span schema_prose_unfence(struct span text, bool *retfenced)
{
  struct schema_quoted_reader codes = { 0 };
  struct schema_quoted code;
  *retfenced = false;
  struct span t = schema_trim_blank(text);
  if (t.len == 0 || *t.ptr != '`' || !schema_quoted_read(&codes, t, 0, &code) || !code.fenced)
    return text;
  if (schema_skip_blank(t, code.end) < t.len) return text;
  *retfenced = true;
  return (struct span) { t.ptr + code.inner_begin, code.inner_end - code.inner_begin };
}

/* ---- characters that may not be sent ---- */

/* The length of the control character or terminal sequence at byte at, or 0. */
static size_t control_at(struct span text, size_t at)
{
  enum { SEQUENCE_MAX = 32 };
  unsigned char c = (unsigned char)text.ptr[at];
  if (c == 0xC2) return at + 1 < text.len && (unsigned char)text.ptr[at + 1] < 0xA0 ? 2 : 0;
  if (c == 0x7F) return 1;
  if (c >= 0x20 || c == '\t' || c == '\n') return 0;
  if (!starts_at(text, at, "\x1B[")) return 1;
  for (size_t n = 2; n < SEQUENCE_MAX && at + n < text.len; n++)
    if (text.ptr[at + n] >= 0x40 && text.ptr[at + n] <= 0x7E) return n + 1;
  return 1;
}

struct span schema_prose_clean(struct span text, struct arena *arena)
{
  size_t at = 0, len = 0;
  while (at < text.len && !control_at(text, at)) at++;
  if (at == text.len) return text;
  char *out = arena_alloc(arena, text.len);
  if (!out) return (struct span) { NULL, 0 };
  for (at = 0; at < text.len;) {
    size_t n = control_at(text, at);
    if (n == 0) out[len++] = text.ptr[at];
    at += n ? n : 1;
  }
  return (struct span) { out, len };
}
