#include "onebot/markdown.h"

/* Lines lose their block marks (quote, bullet, heading) and are gathered into paragraphs. A
 * paragraph is read once to find its inline marks and written without them. */

enum {
  RUNS_MAX = 4096,     /* runs of * _ ~ that wait for their closer; more is noise */
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

struct state {
  struct arena *arena;
  struct buf out, paragraph;
  struct span fence; /* the opening fence while inside, else empty */
  size_t fence_quotes;
  struct run *runs; /* all kinds in one stack */
  size_t run_count, run_max;
  size_t top[3];         /* 1 + index of the highest run of each mark */
  unsigned char *fate;   /* per byte of the paragraph: KEEP, DROP, SPACE */
  uint32_t *parenthesis; /* offset of the ) that closes the ( at this byte; 0: none */
  uint64_t no_closer;    /* bit n: no run of n backticks follows in this paragraph */
  struct link *links;    /* in the order of their ends */
  size_t link_count, link_max;
  struct {
    size_t at;
    bool image;
  } brackets[BRACKETS_MAX];
  size_t bracket_count;
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
  if (!left || blank_behind || st->run_count == st->run_max) return;
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

/* A closing bracket at `at`: the end of its link, or at + 1. */
static size_t close_bracket(struct state *st, struct span s, size_t at)
{
  if (st->bracket_count == 0) return at + 1;
  st->bracket_count--;
  size_t open = st->brackets[st->bracket_count].at;
  bool image = st->brackets[st->bracket_count].image;
  size_t end = at + 1 < s.len && s.ptr[at + 1] == '(' ? st->parenthesis[at + 1] : 0;
  if (end == 0 || st->link_count == st->link_max) return at + 1;
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

static void find_marks(struct state *st, struct span s)
{
  for (size_t i = 0; i < s.len;) {
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
    case 'h':
      n = address_end(s, i);
      i = n > i ? n : i + 1;
      break;
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

/* <https://…> loses its angle brackets. */
static void drop_autolinks(struct state *st, struct span s)
{
  for (size_t i = 0; i < s.len; i++) {
    const char *open = memchr(s.ptr + i, '<', s.len - i);
    if (!open) return;
    i = (size_t)(open - s.ptr);
    size_t end = address_end(s, i + 1);
    if (end == i + 1 || end >= s.len || s.ptr[end] != '>' || st->fate[i]) continue;
    drop(st, i, 1);
    drop(st, end, 1);
  }
}

static void write_kept(struct state *st, struct span s)
{
  size_t begin = 0;
  for (size_t i = 0; i <= s.len; i++) {
    if (i < s.len && st->fate[i] == KEEP) continue;
    buf_add(&st->out, (struct span) { s.ptr + begin, i - begin });
    if (i < s.len && st->fate[i] == SPACE) buf_add_char(&st->out, ' ');
    begin = i + 1;
  }
}

/* Which ) closes which (, line by line, in one pass: looking for each alone would be quadratic. */
static bool pair_parentheses(struct state *st, struct span s)
{
  if (s.len > UINT32_MAX) return false;
  st->parenthesis = arena_zalloc(st->arena, s.len, sizeof *st->parenthesis);
  uint32_t *open = arena_alloc(st->arena, s.len * sizeof *open);
  if (!st->parenthesis || !open) return false;
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

static size_t count_of(struct span s, const char *set)
{
  size_t n = 0;
  for (size_t i = 0; i < s.len; i++) n += s.ptr[i] && strchr(set, s.ptr[i]) != NULL;
  return n;
}

/* What the paragraph needs besides itself. */
static bool make_room(struct state *st, struct span s)
{
  st->run_count = st->bracket_count = st->link_count = 0;
  st->no_closer = 0;
  memset(st->top, 0, sizeof st->top);
  st->run_max = count_of(s, "*_~");
  if (st->run_max > RUNS_MAX) st->run_max = RUNS_MAX;
  st->link_max = count_of(s, "]");
  st->fate = arena_zalloc(st->arena, s.len, 1);
  st->runs = arena_alloc(st->arena, st->run_max * sizeof *st->runs);
  st->links = arena_alloc(st->arena, st->link_max * sizeof *st->links);
  return st->fate && st->runs && st->links && (st->link_max == 0 || pair_parentheses(st, s));
}

static void paragraph_end(struct state *st)
{
  struct span s = buf_span(&st->paragraph);
  if (s.len == 0) return;
  if (count_of(s, "\\`*_~]<") == 0) {
    buf_add(&st->out, s);
  } else if (make_room(st, s)) {
    find_marks(st, s);
    drop_links(st, s);
    drop_autolinks(st, s);
    write_kept(st, s);
  } else {
    st->out.failed = true;
  }
  buf_clear(&st->paragraph);
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

/* The opening fence that the line is, as a span of its marks; empty where it is none. */
static struct span fence_of(struct span line)
{
  struct span s = behind(line, indent_of(line));
  if (s.len < 3 || (s.ptr[0] != '`' && s.ptr[0] != '~')) return (struct span) { 0 };
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
static bool is_rule(struct span line)
{
  struct span s = span_trim(line);
  size_t marks = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] == ' ' || s.ptr[i] == '\t') continue;
    if (s.ptr[i] != s.ptr[0]) return false;
    marks++;
  }
  return marks >= 3 && (s.ptr[0] == '-' || s.ptr[0] == '*' || s.ptr[0] == '_');
}

/* Takes the marks of a heading off; whether it was one. */
static bool unhead(struct span *line)
{
  struct span s = behind(*line, indent_of(*line));
  size_t n = s.len && s.ptr[0] == '#' ? run_length(s, 0) : 0;
  if (n == 0 || n > 6 || (n < s.len && s.ptr[n] != ' ' && s.ptr[n] != '\t')) return false;
  s = span_trim(behind(s, n));
  size_t marks = 0;
  while (marks < s.len && s.ptr[s.len - 1 - marks] == '#') marks++;
  if (marks == s.len || (marks && is_blank(s.ptr[s.len - 1 - marks])))
    s = span_trim((struct span) { s.ptr, s.len - marks });
  *line = s;
  return true;
}

/* Whether the line begins a list item: 1 a bullet, 2 a number. */
static int item_of(struct span line, size_t *retmark)
{
  size_t n = indent_of(line), digits = 0;
  while (n + digits < line.len && digits < 9 && line.ptr[n + digits] >= '0' &&
         line.ptr[n + digits] <= '9')
    digits++;
  *retmark = n;
  size_t mark = n + digits;
  if (mark + 1 >= line.len || (line.ptr[mark + 1] != ' ' && line.ptr[mark + 1] != '\t')) return 0;
  char c = line.ptr[mark];
  if (digits) return c == '.' || c == ')' ? 2 : 0;
  return c == '-' || c == '*' || c == '+' ? 1 : 0;
}

static void add_line(struct state *st, struct span line)
{
  buf_add(&st->paragraph, line);
  buf_add_char(&st->paragraph, '\n');
}

static void fenced_line(struct state *st, struct span line)
{
  unquote(&line, st->fence_quotes);
  if (closes(line, st->fence)) {
    st->fence.len = 0;
    return;
  }
  buf_add(&st->out, line);
  buf_add_char(&st->out, '\n');
}

static void open_line(struct state *st, struct span line)
{
  if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
  size_t quotes = unquote(&line, SIZE_MAX), mark;
  struct span fence = fence_of(line);
  if (fence.len) {
    paragraph_end(st);
    st->fence = fence;
    st->fence_quotes = quotes;
  } else if (span_trim(line).len == 0 || is_rule(line)) {
    paragraph_end(st);
    buf_add(&st->out, line);
    buf_add_char(&st->out, '\n');
  } else if (unhead(&line)) {
    paragraph_end(st);
    add_line(st, line);
    paragraph_end(st);
  } else {
    int item = item_of(line, &mark);
    if (item) paragraph_end(st);
    if (item == 1) { /* its indent stays */
      buf_add(&st->paragraph, (struct span) { line.ptr, mark });
      line = behind(line, mark + 1);
      line = behind(line, indent_of(line));
      unhead(&line);
    }
    add_line(st, line);
  }
}

/* Both ends without anything that only leaves room. */
static struct span trim(struct span s)
{
  size_t first = s.len, end = 0;
  for (size_t i = 0; i < s.len;) {
    uint32_t code_point;
    size_t n = utf8_decode(s.ptr + i, s.len - i, &code_point);
    if (!span_is_blank((struct span) { s.ptr + i, n })) {
      if (first == s.len) first = i;
      end = i + n;
    }
    i += n;
  }
  return first < end ? (struct span) { s.ptr + first, end - first } : SPAN("");
}

struct span ob_markdown_text(struct span markdown, struct arena *arena)
{
  struct state *st = arena_zalloc(arena, 1, sizeof *st);
  if (!st) return (struct span) { NULL, 0 };
  st->arena = arena;
  buf_init(&st->out, arena->max);
  buf_init(&st->paragraph, arena->max);
  while (markdown.len) {
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
  struct span text = { NULL, 0 };
  if (!st->out.failed && !st->paragraph.failed) text = arena_copy(arena, trim(buf_span(&st->out)));
  buf_done(&st->out);
  buf_done(&st->paragraph);
  return text;
}
