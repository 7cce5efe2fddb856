#include "onebot/markdown.h"

/* Lines lose their block marks (quote, bullet, heading) and are gathered into paragraphs. A
 * paragraph is read once to find its inline marks and written without them. */

enum {
  BRACKETS_MAX = 64,   /* nested brackets; of more the outermost are no links */
  CODE_TICKS_MAX = 32, /* longer runs of backticks open no code */
  KEEP = 0,
  DROP = 1,
  SPACE = 2, /* what becomes of a byte */
};

/* A run of marks that may still be closed: the first left bytes from at on. */
struct run {
  size_t at, left;
  size_t below; /* 1 + index of the next lower run of the same mark; 0: none */
};

/* [label](target "title"), by offsets in the paragraph. */
struct link {
  size_t open, label_end, target, target_len, end;
  bool image;
};

struct bracket {
  size_t at;
  bool image;
};

struct state {
  struct arena *arena;
  char *out;         /* the result is never longer than the source and one line end */
  size_t len;        /* of what is done */
  size_t open;       /* the paragraph being gathered stands from len to here */
  bool failed;       /* the arena gave nothing more */
  struct span fence; /* the opening fence while inside, else empty */
  size_t fence_quotes;
  unsigned char *fate; /* per byte of the paragraph: KEEP, DROP, SPACE */
  uint32_t
      *parenthesis;   /* offset of the ) that closes the ( at this byte; 0: none. NULL: unknown */
  uint64_t no_closer; /* bit n: no run of n backticks follows in this paragraph */
  struct run *runs;   /* all kinds in one stack */
  size_t run_count, run_max;
  size_t top[3];      /* 1 + index of the highest run of each mark */
  struct link *links; /* in the order of their ends */
  size_t link_count, link_max;
  size_t bracket_count;
  struct bracket brackets[BRACKETS_MAX]; /* last, and never cleared */
};

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n';
}

static bool is_punctuation(char c)
{
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

static bool is_word(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t run_length(struct span s, size_t at)
{
  size_t n = 1;
  while (at + n < s.len && s.ptr[at + n] == s.ptr[at]) n++;
  return n;
}

static void drop(struct state *st, size_t at, size_t n)
{
  memset(st->fate + at, DROP, n);
}

/* Room for one more of size bytes behind count of them, in memory of the arena. */
static void *grow(struct state *st, void *items, size_t count, size_t *max, size_t size)
{
  if (count < *max) return items;
  size_t room = *max ? *max * 2 : 16;
  char *grown = arena_alloc(st->arena, room * size);
  if (!grown) {
    st->failed = true;
    return NULL;
  }
  if (count) memcpy(grown, items, count * size);
  *max = room;
  return grown;
}

/* ---- inline marks ---- */

/* The end of the inline code that the n backticks at `at` open; 0: none. */
static size_t code_end(struct state *st, struct span s, size_t at, size_t n)
{
  if (n > CODE_TICKS_MAX || (st->no_closer >> n & 1u)) return 0;
  for (size_t i = at + n; i < s.len;) {
    const char *tick = memchr(s.ptr + i, '`', s.len - i);
    if (!tick) break;
    i = (size_t)(tick - s.ptr);
    size_t run = run_length(s, i);
    if (run == n) return i + n;
    i += run;
  }
  st->no_closer |= (uint64_t)1 << n; /* each length is looked for in vain only once */
  return 0;
}

/* The end of a bare address, whose underscores and tildes are no marks; at where there is none. */
static size_t address_end(struct span s, size_t at)
{
  struct span rest = { s.ptr + at, s.len - at };
  if (!span_starts(rest, SPAN("http://")) && !span_starts(rest, SPAN("https://"))) return at;
  size_t i = at;
  while (i < s.len && s.ptr[i] > ' ' && s.ptr[i] < 0x7F && !strchr("*<>()[]`\"", s.ptr[i])) i++;
  return i;
}

/* Takes the runs from index count on off the stack. */
static void cut_runs(struct state *st, size_t count)
{
  st->run_count = count;
  for (size_t k = 0; k < 3; k++)
    while (st->top[k] > count) st->top[k] = st->runs[st->top[k] - 1].below;
}

/* A run of n marks at `at` closes what it can and waits with the rest. Punctuation beside it does
 * not matter, unlike in CommonMark: "**重点：**说明" is meant as bold. */
static void emphasis(struct state *st, struct span s, size_t at, size_t n)
{
  size_t kind = s.ptr[at] == '*' ? 0 : s.ptr[at] == '_' ? 1 : 2;
  bool blank_before = at == 0 || is_blank(s.ptr[at - 1]);
  bool blank_behind = at + n == s.len || is_blank(s.ptr[at + n]);
  bool in_word = !blank_before && !blank_behind && is_word(s.ptr[at - 1]) && is_word(s.ptr[at + n]);
  if (in_word && (kind == 1 || n == 1)) return; /* snake_case, 2*3 */
  if (kind == 2 && n != 2) return;
  size_t left = n;
  while (!blank_before && left && st->top[kind]) {
    size_t index = st->top[kind] - 1;
    struct run *open = &st->runs[index];
    size_t used = open->left < left ? open->left : left;
    drop(st, open->at + open->left - used, used);
    drop(st, at + n - left, used);
    open->left -= used;
    left -= used;
    cut_runs(st, open->left ? index + 1 : index); /* what stood between them stays as it is */
  }
  if (!left || blank_behind) return;
  struct run *runs = grow(st, st->runs, st->run_count, &st->run_max, sizeof *runs);
  if (!runs) return;
  st->runs = runs;
  st->runs[st->run_count++] = (struct run) { at + n - left, left, st->top[kind] };
  st->top[kind] = st->run_count;
}

static void open_bracket(struct state *st, size_t at, bool image)
{
  if (st->bracket_count == BRACKETS_MAX) {
    memmove(st->brackets, st->brackets + 1, (BRACKETS_MAX - 1) * sizeof st->brackets[0]);
    st->bracket_count--;
  }
  st->brackets[st->bracket_count].at = at;
  st->brackets[st->bracket_count++].image = image;
}

/* The target between begin and end, without <> around it and a title behind it. */
static void read_target(struct span s, size_t begin, size_t end, struct link *l)
{
  while (begin < end && is_blank(s.ptr[begin])) begin++;
  size_t stop = begin;
  if (begin < end && s.ptr[begin] == '<') {
    stop = ++begin;
    while (stop < end && s.ptr[stop] != '>') stop++;
  } else {
    while (stop < end && !is_blank(s.ptr[stop])) stop++;
  }
  l->target = begin;
  l->target_len = stop - begin;
}

/* Which ) closes which (, line by line, in one pass: looking for each alone would be quadratic. */
static bool pair_parentheses(struct state *st, struct span s)
{
  uint32_t *open = s.len <= UINT32_MAX ? arena_alloc(st->arena, s.len * sizeof *open) : NULL;
  st->parenthesis = open ? arena_zalloc(st->arena, s.len, sizeof *st->parenthesis) : NULL;
  st->failed = st->failed || !st->parenthesis;
  if (!st->parenthesis) return false;
  size_t depth = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] == '\\')
      i++;
    else if (s.ptr[i] == '\n')
      depth = 0;
    else if (s.ptr[i] == '(')
      open[depth++] = (uint32_t)i;
    else if (s.ptr[i] == ')' && depth)
      st->parenthesis[open[--depth]] = (uint32_t)i;
  }
  return true;
}

/* A closing bracket at `at`: the end of its link, or at + 1. */
static size_t close_bracket(struct state *st, struct span s, size_t at)
{
  if (st->bracket_count == 0) return at + 1;
  st->bracket_count--;
  size_t open = st->brackets[st->bracket_count].at;
  bool image = st->brackets[st->bracket_count].image;
  if (at + 1 == s.len || s.ptr[at + 1] != '(') return at + 1;
  if (!st->parenthesis && !pair_parentheses(st, s)) return at + 1;
  size_t end = st->parenthesis[at + 1];
  if (end == 0) return at + 1;
  struct link *links = grow(st, st->links, st->link_count, &st->link_max, sizeof *links);
  if (!links) return at + 1;
  st->links = links;
  struct link *l = &st->links[st->link_count++];
  *l = (struct link) { .open = open, .label_end = at, .end = end + 1, .image = image };
  read_target(s, at + 2, end, l);
  return l->end;
}

static size_t backslash(struct state *st, struct span s, size_t at)
{
  if (at + 1 == s.len || !is_punctuation(s.ptr[at + 1])) return at + 1;
  drop(st, at, 1);
  return at + 2;
}

static size_t backticks(struct state *st, struct span s, size_t at)
{
  size_t n = run_length(s, at), end = code_end(st, s, at, n);
  if (end == 0) return at + n;
  drop(st, at, n);
  drop(st, end - n, n);
  return end;
}

/* <https://…> loses its angle brackets; the end of it, or at + 1. */
static size_t autolink(struct state *st, struct span s, size_t at)
{
  size_t end = address_end(s, at + 1);
  if (end == at + 1 || end >= s.len || s.ptr[end] != '>') return at + 1;
  drop(st, at, 1);
  drop(st, end, 1);
  return end + 1;
}

/* The colon of an address: its end, or at + 1. */
static size_t colon(struct span s, size_t at)
{
  static const struct span schemes[] = { { "http", 4 }, { "https", 5 } };
  for (size_t i = 0; i < 2; i++) {
    size_t n = schemes[i].len;
    if (at < n || memcmp(s.ptr + at - n, schemes[i].ptr, n) != 0) continue;
    size_t end = address_end(s, at - n);
    if (end > at) return end;
  }
  return at + 1;
}

typedef unsigned char lanes __attribute__((vector_size(16)));

/* Whether a block holds what may be a mark ('^' counts as one, a range is cheaper than its parts). */
static bool has_mark(lanes v)
{
  lanes hit = (lanes)((v >= '[') & (v <= '`')) | (lanes)(v == '*') | (lanes)(v == '~') |
              (lanes)(v == '!') | (lanes)(v == ':') | (lanes)(v == '<');
  uint64_t halves[2];
  memcpy(halves, &hit, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

/* The next byte from i on that may be a mark, or s.len. Sixteen bytes at a time, in the compiler's
 * own vectors: most of a text is no mark. */
static size_t next_mark(struct span s, size_t i)
{
  static const unsigned char may_be[256] = {
    ['\\'] = 1, ['`'] = 1, ['*'] = 1, ['_'] = 1, ['~'] = 1,
    ['['] = 1,  [']'] = 1, ['!'] = 1, ['<'] = 1, [':'] = 1,
  };
  for (;;) {
    lanes block;
    while (s.len - i >= sizeof block && (memcpy(&block, s.ptr + i, sizeof block), !has_mark(block)))
      i += sizeof block;
    size_t end = s.len - i < sizeof block ? s.len : i + sizeof block;
    while (i < end && !may_be[(unsigned char)s.ptr[i]]) i++;
    if (i < end || i == s.len) return i;
  }
}

static void find_marks(struct state *st, struct span s, size_t i)
{
  for (; i < s.len; i = next_mark(s, i)) {
    size_t n;
    switch (s.ptr[i]) {
    case '\\': i = backslash(st, s, i); break;
    case '`': i = backticks(st, s, i); break;
    case '*':
    case '_':
    case '~':
      n = run_length(s, i);
      emphasis(st, s, i, n);
      i += n;
      break;
    case '[': open_bracket(st, i++, false); break;
    case '!':
      if (i + 1 < s.len && s.ptr[i + 1] == '[') open_bracket(st, i++, true);
      i++;
      break;
    case ']': i = close_bracket(st, s, i); break;
    case '<': i = autolink(st, s, i); break;
    case ':': i = colon(s, i); break;
    default: i++;
    }
  }
}

/* An image goes whole. A link loses its brackets, its parentheses and its title. */
static void drop_links(struct state *st, struct span s)
{
  for (size_t i = 0; i < st->link_count; i++) {
    const struct link *l = &st->links[i];
    drop(st, l->image ? l->open : l->label_end, l->end - (l->image ? l->open : l->label_end));
    if (l->image) continue;
    drop(st, l->open, 1);
    struct span label = { s.ptr + l->open + 1, l->label_end - l->open - 1 };
    struct span target = { s.ptr + l->target, l->target_len };
    if (target.len == 0 || span_eq(label, target)) continue;
    memset(st->fate + l->target, KEEP, l->target_len);
    bool labelled = memchr(st->fate + l->open + 1, KEEP, label.len) != NULL;
    if (labelled) st->fate[l->label_end + 1] = SPACE;
  }
}

/* The next byte from i on that is not kept, or n. */
static size_t next_fate(const unsigned char *fate, size_t i, size_t n)
{
  uint64_t word;
  while (n - i >= 8 && (memcpy(&word, fate + i, 8), word == 0)) i += 8;
  while (i < n && fate[i] == KEEP) i++;
  return i;
}

/* Closes the gaps that the marks leave, where the paragraph stands. */
static size_t close_gaps(const struct state *st, char *p, size_t n)
{
  size_t kept = 0;
  for (size_t begin = 0; begin < n;) {
    size_t end = next_fate(st->fate, begin, n);
    if (kept < begin) memmove(p + kept, p + begin, end - begin);
    kept += end - begin;
    if (end < n && st->fate[end] == SPACE) p[kept++] = ' ';
    begin = end + 1;
  }
  return kept;
}

static void paragraph_end(struct state *st)
{
  struct span s = { st->out + st->len, st->open - st->len };
  size_t first = next_mark(s, 0);
  if (first == s.len) {
    st->len = st->open;
    return;
  }
  st->fate = arena_zalloc(st->arena, s.len, 1);
  if (!st->fate) {
    st->failed = true;
    return;
  }
  st->run_count = st->bracket_count = st->link_count = 0;
  st->no_closer = 0;
  st->parenthesis = NULL;
  memset(st->top, 0, sizeof st->top);
  find_marks(st, s, first);
  drop_links(st, s);
  st->len += close_gaps(st, st->out + st->len, s.len);
  st->open = st->len;
}

/* ---- block marks ---- */

static size_t indent_of(struct span line)
{
  size_t n = 0;
  while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t')) n++;
  return n;
}

static struct span behind(struct span s, size_t n)
{
  return (struct span) { s.ptr + n, s.len - n };
}

/* Takes up to max quote marks off the line; returns how many there were. */
static size_t unquote(struct span *line, size_t max)
{
  size_t quotes = 0;
  while (quotes < max) {
    size_t n = indent_of(*line);
    if (n == line->len || line->ptr[n] != '>') break;
    n++;
    if (n < line->len && line->ptr[n] == ' ') n++;
    *line = behind(*line, n);
    quotes++;
  }
  return quotes;
}

/* The lines below are given without their indent and have at least one byte. */

/* The opening fence that s is, as a span of its marks; empty where it is none. */
static struct span fence_of(struct span s)
{
  size_t n = run_length(s, 0);
  bool code = s.ptr[0] == '`' && memchr(s.ptr + n, '`', s.len - n); /* ```inline``` */
  return n >= 3 && !code ? (struct span) { s.ptr, n } : (struct span) { 0 };
}

static bool closes(struct span line, struct span fence)
{
  struct span s = span_trim(line);
  return s.len >= fence.len && s.ptr[0] == fence.ptr[0] && run_length(s, 0) == s.len;
}

/* ---, ***, ___ with or without spaces between: nothing to take off. */
static bool is_rule(struct span s)
{
  size_t marks = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] == ' ' || s.ptr[i] == '\t') continue;
    if (s.ptr[i] != s.ptr[0]) return false;
    marks++;
  }
  return marks >= 3;
}

/* Takes the marks of a heading off; whether it was one. */
static bool unhead(struct span *line)
{
  struct span s = *line;
  size_t n = run_length(s, 0);
  if (n > 6 || (n < s.len && s.ptr[n] != ' ' && s.ptr[n] != '\t')) return false;
  s = span_trim(behind(s, n));
  size_t marks = 0;
  while (marks < s.len && s.ptr[s.len - 1 - marks] == '#') marks++;
  if (marks == s.len || (marks && is_blank(s.ptr[s.len - 1 - marks])))
    s = span_trim((struct span) { s.ptr, s.len - marks });
  *line = s;
  return true;
}

/* Whether s goes on with white space behind its first n bytes: the mark of a list item. */
static bool has_space(struct span s, size_t n)
{
  return n < s.len && (s.ptr[n] == ' ' || s.ptr[n] == '\t');
}

/* "1." or "1)" before white space. */
static bool is_numbered(struct span s)
{
  size_t n = 1;
  while (n < s.len && n < 9 && s.ptr[n] >= '0' && s.ptr[n] <= '9') n++;
  return n < s.len && (s.ptr[n] == '.' || s.ptr[n] == ')') && has_space(s, n + 1);
}

static void add(struct state *st, struct span s)
{
  if (s.len) memcpy(st->out + st->open, s.ptr, s.len);
  st->open += s.len;
}

static void add_line(struct state *st, struct span line)
{
  add(st, line);
  st->out[st->open++] = '\n';
}

/* A line that stays as it is, where no paragraph is open. */
static void pass_line(struct state *st, struct span line)
{
  add_line(st, line);
  st->len = st->open;
}

static void fenced_line(struct state *st, struct span line)
{
  unquote(&line, st->fence_quotes);
  if (closes(line, st->fence))
    st->fence.len = 0;
  else
    pass_line(st, line);
}

/* A bullet item without its bullet; its indent stays, and a heading in it loses its marks. */
static void bullet(struct state *st, struct span line, size_t indent)
{
  paragraph_end(st);
  add(st, (struct span) { line.ptr, indent });
  line = behind(line, indent + 1);
  line = behind(line, indent_of(line));
  if (line.len && line.ptr[0] == '#') unhead(&line);
  add_line(st, line);
}

static void heading(struct state *st, struct span text)
{
  paragraph_end(st);
  add_line(st, text);
  paragraph_end(st);
}

static void open_line(struct state *st, struct span line)
{
  if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
  size_t indent = indent_of(line), quotes = 0;
  if (indent < line.len && line.ptr[indent] == '>') {
    quotes = unquote(&line, SIZE_MAX);
    indent = indent_of(line);
  }
  struct span s = behind(line, indent), fence;
  char first = s.len ? s.ptr[0] : '\0';
  switch (first) {
  case '\0':
    if (s.len) break;
    paragraph_end(st);
    pass_line(st, line);
    return;
  case '`':
  case '~':
    fence = fence_of(s);
    if (fence.len == 0) break;
    paragraph_end(st);
    st->fence = fence;
    st->fence_quotes = quotes;
    return;
  case '-':
  case '*':
  case '_':
    if (is_rule(s)) {
      paragraph_end(st);
      pass_line(st, line);
      return;
    }
    if (first == '_' || !has_space(s, 1)) break;
    bullet(st, line, indent);
    return;
  case '+':
    if (!has_space(s, 1)) break;
    bullet(st, line, indent);
    return;
  case '#':
    if (!unhead(&s)) break;
    heading(st, s);
    return;
  default:
    if (first >= '0' && first <= '9' && is_numbered(s)) paragraph_end(st);
  }
  add_line(st, line);
}

/* Both ends without anything that only leaves room. */
static struct span trim(struct span s)
{
  while (s.len) {
    uint32_t code_point;
    size_t n = utf8_decode(s.ptr, s.len, &code_point);
    if (!span_is_blank((struct span) { s.ptr, n })) break;
    s = behind(s, n);
  }
  while (s.len) {
    size_t n = 1; /* back to where the last character begins */
    while (n < 4 && n < s.len && ((unsigned char)s.ptr[s.len - n] & 0xC0) == 0x80) n++;
    if (!span_is_blank((struct span) { s.ptr + s.len - n, n })) break;
    s.len -= n;
  }
  return s.len ? s : SPAN("");
}

struct span ob_markdown_text(struct span markdown, struct arena *arena)
{
  struct state state, *st = &state;
  memset(st, 0, offsetof(struct state, brackets));
  st->arena = arena;
  st->out = markdown.len < SIZE_MAX ? arena_alloc(arena, markdown.len + 1) : NULL;
  if (!st->out) return (struct span) { NULL, 0 };
  while (markdown.len && !st->failed) {
    const char *end = memchr(markdown.ptr, '\n', markdown.len);
    size_t n = end ? (size_t)(end - markdown.ptr) : markdown.len;
    struct span line = { markdown.ptr, n };
    if (st->fence.len)
      fenced_line(st, line);
    else
      open_line(st, line);
    markdown = behind(markdown, n + (end ? 1 : 0));
  }
  paragraph_end(st);
  return st->failed ? (struct span) { NULL, 0 } : trim((struct span) { st->out, st->len });
}
