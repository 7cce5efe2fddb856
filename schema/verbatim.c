#include "schema/verbatim.h"

/* The outline is the one of CommonMark: each line first continues the containers that are open
 * (quotes, list items), then may open further ones, then belongs to a leaf (paragraph, fence,
 * indented code, table). Inline code is looked for when a paragraph is complete. */

enum {
  DEPTH_MAX = 64, /* deeper quotes and lists are text: it bounds the work for a blank line */
  CODE_INDENT = 4,
  TAB = 4,
};

struct container {
  bool quote;    /* else a list item */
  bool empty;    /* an item of which only a blank line was seen */
  size_t indent; /* of an item's content, in columns from its own container */
};

enum leaf { LEAF_NONE, LEAF_PARAGRAPH, LEAF_TABLE, LEAF_INDENTED, LEAF_FENCE };

struct slice {
  size_t start, end;
};

struct scan {
  struct span text;
  struct arena *arena;
  bool failed; /* no memory */
  struct schema_verbatim *regions;
  size_t region_count, region_cap;
  struct container open[DEPTH_MAX];
  unsigned depth;
  enum leaf leaf;
  struct slice *slices; /* the lines of the open paragraph */
  size_t slice_count, slice_cap;
  bool lazy_last;    /* its last line came without the marks of its containers */
  size_t start, end; /* of the open fence or indented code; end of its last line so far */
  char mark;         /* of the fence */
  size_t mark_count;
};

/* Where one is in a line. */
struct cursor {
  size_t at, column;
  bool in_tab; /* a part of the tab at `at` has been passed */
};

struct line {
  size_t begin, end, next; /* end: without its line ending */
};

static void *grown(struct scan *s, void *items, size_t count, size_t *cap, size_t size)
{
  if (count < *cap) return items;
  size_t wanted = *cap ? *cap * 2 : 16;
  void *more = arena_zalloc(s->arena, wanted, size);
  if (!more) {
    s->failed = true;
    return NULL;
  }
  if (count) memcpy(more, items, count * size);
  *cap = wanted;
  return more;
}

static void add_region(struct scan *s, size_t start, size_t end, bool block)
{
  void *items = grown(s, s->regions, s->region_count, &s->region_cap, sizeof *s->regions);
  if (!items) return;
  s->regions = items;
  s->regions[s->region_count++] = (struct schema_verbatim) { start, end, block };
}

static void add_slice(struct scan *s, size_t start, size_t end)
{
  void *items = grown(s, s->slices, s->slice_count, &s->slice_cap, sizeof *s->slices);
  if (!items) return;
  s->slices = items;
  s->slices[s->slice_count++] = (struct slice) { start, end };
}

/* ---- inline code ---- */

struct run { /* of backticks, as long as it can be */
  size_t at, len;
  size_t next; /* index of the next run of the same length */
  bool escaped;
};

struct runs {
  struct run *items;
  size_t count, cap;
  size_t longest;
};

static void add_run(struct scan *s, struct runs *runs, struct run run)
{
  void *items = grown(s, runs->items, runs->count, &runs->cap, sizeof *runs->items);
  if (!items) return;
  runs->items = items;
  runs->items[runs->count++] = run;
  if (run.len > runs->longest) runs->longest = run.len;
}

/* Length of an address in angle brackets that begins at at, 0 if none: a backtick in it opens no
 * code. */
static size_t autolink_at(struct span text, size_t at, size_t end)
{
  size_t i = at + 1, scheme;
  for (; i < end; i++) {
    char c = text.ptr[i], low = (char)(c | 0x20);
    bool inner = (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
    if (!(low >= 'a' && low <= 'z') && !(inner && i > at + 1)) break;
  }
  scheme = i - at - 1;
  if (i >= end || text.ptr[i] != ':' || scheme < 2 || scheme > 32) return 0;
  for (; i < end; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (c == '>') return i + 1 - at;
    if (c == '<' || c <= ' ' || c == 0x7F) return 0;
  }
  return 0;
}

/* The backtick runs of some lines. */
static void collect_runs(struct scan *s, const struct slice *slices, size_t count,
                         struct runs *runs)
{
  for (size_t n = 0; n < count; n++) {
    size_t backslashes = 0;
    for (size_t i = slices[n].start; i < slices[n].end;) {
      char c = s->text.ptr[i];
      if (c == '`') {
        size_t begin = i;
        while (i < slices[n].end && s->text.ptr[i] == '`') i++;
        add_run(s, runs, (struct run) { begin, i - begin, 0, backslashes % 2 == 1 });
      } else {
        i++;
      }
      backslashes = c == '\\' ? backslashes + 1 : 0;
    }
  }
}

/* heads[len] is the first run of that length behind the ones passed, by index + 1. */
static size_t closer_of(const struct runs *runs, size_t *heads, size_t len, size_t opener)
{
  while (heads[len] && heads[len] <= opener + 1) heads[len] = runs->items[heads[len] - 1].next;
  return heads[len];
}

/* The addresses of some lines, looked for as far as was asked. */
struct addresses {
  const struct slice *slices;
  size_t count, n; /* lines; the one that is looked at */
  size_t at;       /* so far nothing more is to be found: addresses begin outside code only */
  size_t end;      /* of the last one found */
};

/* Whether an address covers the offset, which only grows from call to call. */
static bool is_in_address(const struct scan *s, struct addresses *a, size_t offset)
{
  while (a->n < a->count && a->slices[a->n].end <= offset) a->n++;
  if (a->n == a->count) return false;
  if (a->at < a->slices[a->n].start) a->at = a->slices[a->n].start;
  while (a->at < offset) {
    bool opens = s->text.ptr[a->at] == '<';
    size_t len = opens ? autolink_at(s->text, a->at, a->slices[a->n].end) : 0;
    if (len) a->end = a->at + len;
    a->at += len ? len : s->text.ptr[a->at] == '\\' ? 2 : 1;
  }
  return offset < a->end;
}

static void find_inline(struct scan *s, const struct slice *slices, size_t count)
{
  struct runs runs = { 0 };
  collect_runs(s, slices, count, &runs);
  if (runs.count == 0 || s->failed) return;
  size_t *heads = arena_zalloc(s->arena, runs.longest + 1, sizeof *heads);
  if (!heads) {
    s->failed = true;
    return;
  }
  for (size_t i = runs.count; i-- > 0;) {
    runs.items[i].next = heads[runs.items[i].len];
    heads[runs.items[i].len] = i + 1;
  }
  struct addresses addresses = { .slices = slices, .count = count };
  for (size_t i = 0; i < runs.count; i++) {
    const struct run *opener = &runs.items[i];
    size_t at = opener->at + opener->escaped, len = opener->len - opener->escaped;
    if (len == 0 || is_in_address(s, &addresses, opener->at)) continue;
    size_t closer = closer_of(&runs, heads, len, i);
    if (!closer) continue;
    const struct run *close = &runs.items[closer - 1];
    add_region(s, at, close->at + close->len, false);
    addresses.at = close->at + close->len;
    i = closer - 1;
  }
}

/* ---- tables ---- */

static bool is_blank_char(char c)
{
  return c == ' ' || c == '\t';
}

static size_t skip_blanks(struct span text, size_t at, size_t end)
{
  while (at < end && is_blank_char(text.ptr[at])) at++;
  return at;
}

/* Number of cells of a row as GFM counts a head, 0: it cannot be one. */
static size_t cells_of(struct span text, struct slice row)
{
  size_t cells = 0, things = 0;
  bool open = false;
  size_t i = skip_blanks(text, row.start, row.end);
  if (i < row.end && text.ptr[i] != '|') open = true, things++;
  while (i < row.end) {
    if (is_blank_char(text.ptr[i])) {
      i++;
      continue;
    }
    things++;
    cells += open;
    open = text.ptr[i] == '|';
    if (open) {
      i++;
      continue;
    }
    while (i < row.end && text.ptr[i] != '|' && !is_blank_char(text.ptr[i]))
      i += text.ptr[i] == '\\' && i + 1 < row.end &&
                   (text.ptr[i + 1] == '|' || text.ptr[i + 1] == '\\')
               ? 2
               : 1;
  }
  return things > 1 ? cells : 0;
}

/* Number of columns of a delimiter row, 0: it is none. A pipe or a colon tells it from a heading's
 * underline. */
static size_t delimiters_of(struct span text, struct slice row)
{
  size_t columns = 0, at = skip_blanks(text, row.start, row.end);
  bool telling = at < row.end && text.ptr[at] == '|';
  at = skip_blanks(text, at + telling, row.end);
  while (at < row.end) {
    bool left = text.ptr[at] == ':';
    at += left;
    size_t dashes = at;
    while (at < row.end && text.ptr[at] == '-') at++;
    if (at == dashes) return 0;
    bool right = at < row.end && text.ptr[at] == ':';
    at = skip_blanks(text, at + right, row.end);
    bool pipe = at < row.end && text.ptr[at] == '|';
    if (!pipe && at < row.end) return 0;
    telling |= left || right || pipe;
    columns++;
    at = skip_blanks(text, at + pipe, row.end);
  }
  return telling ? columns : 0;
}

/* Each cell is a text of its own: a span does not cross its border. */
static void find_in_row(struct scan *s, struct slice row)
{
  size_t start = row.start;
  for (size_t i = row.start; i <= row.end; i++) {
    if (i < row.end && s->text.ptr[i] == '\\') {
      i += i + 1 < row.end;
      continue;
    }
    if (i < row.end && s->text.ptr[i] != '|') continue;
    struct slice cell = { start, i };
    find_inline(s, &cell, 1);
    start = i + 1;
  }
}

/* ---- leaves and containers ---- */

static void close_leaf(struct scan *s)
{
  if (s->leaf == LEAF_PARAGRAPH) find_inline(s, s->slices, s->slice_count);
  if (s->leaf == LEAF_INDENTED || s->leaf == LEAF_FENCE) add_region(s, s->start, s->end, true);
  s->leaf = LEAF_NONE;
  s->slice_count = 0;
}

static void close_down_to(struct scan *s, unsigned depth)
{
  close_leaf(s);
  s->depth = depth;
}

/* Columns of white space from the cursor on; *retat is what stands behind. */
static size_t indent_at(const struct scan *s, struct cursor c, size_t end, size_t *retat)
{
  size_t column = c.column;
  size_t at = c.at;
  for (; at < end && is_blank_char(s->text.ptr[at]); at++)
    column += s->text.ptr[at] == '\t' ? TAB - column % TAB : 1;
  *retat = at;
  return column - c.column;
}

/* Passes so many columns of white space; part of a tab may be left. */
static void pass_columns(const struct scan *s, struct cursor *c, size_t end, size_t columns)
{
  while (columns && c->at < end && is_blank_char(s->text.ptr[c->at])) {
    size_t width = s->text.ptr[c->at] == '\t' ? TAB - c->column % TAB : 1;
    if (width > columns) {
      c->column += columns;
      c->in_tab = true;
      return;
    }
    c->in_tab = false;
    c->column += width;
    columns -= width;
    c->at++;
  }
}

static void pass_chars(struct cursor *c, size_t count)
{
  c->at += count;
  c->column += count;
}

static bool continues(struct scan *s, struct container *open, struct cursor *c, size_t end)
{
  size_t at, indent = indent_at(s, *c, end, &at);
  if (open->quote) {
    if (indent >= CODE_INDENT || at == end || s->text.ptr[at] != '>') return false;
    pass_columns(s, c, end, indent);
    pass_chars(c, 1);
    pass_columns(s, c, end, 1);
    return true;
  }
  if (at == end && open->empty) return false;
  if (at < end && indent < open->indent) return false;
  pass_columns(s, c, end, open->indent);
  if (at == end) return true;
  open->empty = false;
  return true;
}

/* ---- what may begin in a line ---- */

static bool is_break(struct span text, size_t at, size_t end)
{
  char mark = text.ptr[at];
  if (mark != '*' && mark != '-' && mark != '_') return false;
  size_t count = 0;
  for (; at < end; at++) {
    if (text.ptr[at] == mark)
      count++;
    else if (!is_blank_char(text.ptr[at]))
      return false;
  }
  return count >= 3;
}

static bool is_underline(struct span text, size_t at, size_t end)
{
  char mark = text.ptr[at];
  if (mark != '=' && mark != '-') return false;
  while (at < end && text.ptr[at] == mark) at++;
  return skip_blanks(text, at, end) == end;
}

static bool is_heading(struct span text, size_t at, size_t end)
{
  size_t begin = at;
  while (at < end && text.ptr[at] == '#') at++;
  size_t marks = at - begin;
  return marks >= 1 && marks <= 6 && (at == end || is_blank_char(text.ptr[at]));
}

/* Length of the mark of an opening fence, 0: it is none. */
static size_t fence_mark(struct span text, size_t at, size_t end)
{
  char mark = text.ptr[at];
  if (mark != '`' && mark != '~') return 0;
  size_t begin = at;
  while (at < end && text.ptr[at] == mark) at++;
  size_t count = at - begin;
  if (count < 3) return 0;
  if (mark == '`' && memchr(text.ptr + at, '`', end - at)) return 0;
  return count;
}

/* Length of a list marker, 0: it is none. A paragraph (and indented code, as micromark has it) is
 * only broken off by an item that has content, and by a number only if it is 1. */
static size_t list_mark(struct span text, size_t at, size_t end, bool breaks_off)
{
  size_t begin = at;
  char c = text.ptr[at];
  bool is_one = true;
  if (c == '-' || c == '+' || c == '*') {
    at++;
  } else {
    while (at < end && text.ptr[at] >= '0' && text.ptr[at] <= '9') at++;
    size_t digits = at - begin;
    if (digits == 0 || digits > 9 || at == end) return 0;
    if (text.ptr[at] != '.' && text.ptr[at] != ')') return 0;
    is_one = digits == 1 && c == '1';
    at++;
  }
  size_t len = at - begin;
  if (at < end && !is_blank_char(text.ptr[at])) return 0;
  if (!breaks_off) return len;
  return skip_blanks(text, at, end) < end && is_one ? len : 0;
}

static void open_item(struct scan *s, struct cursor *c, size_t end, size_t indent, size_t len)
{
  pass_columns(s, c, end, indent);
  pass_chars(c, len);
  size_t at, space = indent_at(s, *c, end, &at);
  bool empty = at == end;
  size_t padding = empty || space > CODE_INDENT ? 1 : space;
  pass_columns(s, c, end, padding);
  s->open[s->depth++] = (struct container) { .empty = empty, .indent = indent + len + padding };
}

/* Opens the containers that begin at the cursor; true where any did. */
static bool open_containers(struct scan *s, struct cursor *c, struct line line, unsigned matched)
{
  bool opened = false;
  bool whole = matched == s->depth;
  bool breaks_off = whole && (s->leaf == LEAF_PARAGRAPH || s->leaf == LEAF_INDENTED);
  size_t end = line.end;
  while (s->depth < DEPTH_MAX || (!opened && matched < DEPTH_MAX)) {
    size_t at, indent = indent_at(s, *c, end, &at);
    if (at == end || indent >= CODE_INDENT) break;
    bool quote = s->text.ptr[at] == '>';
    size_t mark = 0;
    if (!quote) {
      if (is_break(s->text, at, end)) break;
      if (whole && s->leaf == LEAF_PARAGRAPH && is_underline(s->text, at, end)) break;
      mark = list_mark(s->text, at, end, breaks_off);
      if (!mark) break;
    }
    if (!opened && s->leaf == LEAF_FENCE) s->end = line.begin;
    if (!opened) close_down_to(s, matched);
    opened = true;
    if (quote) {
      pass_columns(s, c, end, indent);
      pass_chars(c, 1);
      pass_columns(s, c, end, 1);
      s->open[s->depth++] = (struct container) { .quote = true };
    } else {
      open_item(s, c, end, indent, mark);
    }
  }
  return opened;
}

/* ---- lines ---- */

/* A line inside the open fence. */
static void fence_line(struct scan *s, struct cursor c, struct line line)
{
  size_t at, indent = indent_at(s, c, line.end, &at);
  s->end = line.end;
  if (indent >= CODE_INDENT) return;
  size_t begin = at;
  while (at < line.end && s->text.ptr[at] == s->mark) at++;
  if (at - begin < s->mark_count) return;
  if (skip_blanks(s->text, at, line.end) < line.end) return;
  add_region(s, s->start, line.end, true);
  s->leaf = LEAF_NONE;
}

/* The open paragraph's last line as a table's head, where this line is its delimiter row. */
static bool becomes_table(struct scan *s, struct slice row)
{
  if (s->slice_count == 0 || s->lazy_last) return false;
  size_t columns = delimiters_of(s->text, row);
  struct slice head = s->slices[s->slice_count - 1];
  if (columns == 0 || cells_of(s->text, head) != columns) return false;
  s->slice_count--;
  close_leaf(s);
  find_in_row(s, head);
  s->leaf = LEAF_TABLE;
  return true;
}

static void begin_block(struct scan *s, enum leaf leaf, size_t start, struct line line)
{
  s->leaf = leaf;
  s->start = start;
  s->end = line.end;
}

/* A leaf that begins at at, where the containers are settled. False: it is the text of a
 * paragraph. */
static bool leaf_begins(struct scan *s, size_t at, struct line line, unsigned matched)
{
  size_t mark = fence_mark(s->text, at, line.end);
  bool heading = is_heading(s->text, at, line.end);
  if (!mark && !heading && !is_break(s->text, at, line.end)) return false;
  close_down_to(s, matched);
  if (mark) {
    begin_block(s, LEAF_FENCE, at, line);
    s->mark = s->text.ptr[at];
    s->mark_count = mark;
  } else if (heading) {
    struct slice content = { at, line.end };
    find_inline(s, &content, 1);
  }
  return true;
}

static void text_line(struct scan *s, size_t at, struct line line, unsigned matched)
{
  struct slice content = { at, line.end };
  bool lazy = matched < s->depth;
  if (s->leaf == LEAF_TABLE && !lazy) {
    find_in_row(s, content);
    return;
  }
  if (s->leaf != LEAF_PARAGRAPH) {
    close_down_to(s, matched);
    s->leaf = LEAF_PARAGRAPH;
    lazy = false;
  }
  add_slice(s, content.start, content.end);
  s->lazy_last = lazy;
}

static void scan_line(struct scan *s, struct line line)
{
  struct cursor c = { .at = line.begin };
  unsigned matched = 0;
  while (matched < s->depth && continues(s, &s->open[matched], &c, line.end)) matched++;
  bool whole = matched == s->depth;
  if (whole && s->leaf == LEAF_FENCE) {
    fence_line(s, c, line);
    return;
  }
  size_t at, indent = indent_at(s, c, line.end, &at);
  if (whole && s->leaf == LEAF_INDENTED) {
    if (indent >= CODE_INDENT) s->end = line.end;
    if (at == line.end || indent >= CODE_INDENT) return;
  }
  if (open_containers(s, &c, line, matched)) {
    matched = s->depth;
    indent = indent_at(s, c, line.end, &at);
  }
  whole = matched == s->depth;
  if (at == line.end) { /* blank: nothing goes on but containers */
    close_down_to(s, matched);
    return;
  }
  if (indent >= CODE_INDENT) {
    if (s->leaf == LEAF_PARAGRAPH) { /* only a paragraph goes on */
      text_line(s, at, line, matched);
      return;
    }
    close_down_to(s, matched);
    begin_block(s, LEAF_INDENTED, c.at + c.in_tab, line);
    return;
  }
  if (whole && s->leaf == LEAF_PARAGRAPH) {
    if (is_underline(s->text, at, line.end)) {
      close_leaf(s);
      return;
    }
    if (becomes_table(s, (struct slice) { at, line.end })) return;
  }
  if (!leaf_begins(s, at, line, matched)) text_line(s, at, line, matched);
}

/* A text without any of these holds no code: most replies are not looked at further. */
static bool may_hold_code(struct span text)
{
  return memchr(text.ptr, '`', text.len) || memchr(text.ptr, '~', text.len) ||
         memchr(text.ptr, '\t', text.len) || span_find(text, SPAN("    ")) < text.len;
}

bool schema_verbatim_find(struct span text, struct arena *arena, struct schema_verbatims *ret)
{
  *ret = (struct schema_verbatims) { NULL, 0 };
  if (text.len == 0 || !may_hold_code(text)) return true;
  struct scan *s = arena_zalloc(arena, 1, sizeof *s);
  if (!s) return false;
  s->text = text;
  s->arena = arena;
  for (size_t at = 0; at < text.len && !s->failed;) {
    struct line line = { .begin = at, .end = at };
    while (line.end < text.len && text.ptr[line.end] != '\n' && text.ptr[line.end] != '\r')
      line.end++;
    bool pair =
        line.end + 1 < text.len && text.ptr[line.end] == '\r' && text.ptr[line.end + 1] == '\n';
    line.next = line.end + (line.end < text.len) + pair;
    scan_line(s, line);
    at = line.next;
  }
  bool quoted = false;
  for (unsigned i = 0; i < s->depth; i++) quoted |= s->open[i].quote;
  if (s->leaf == LEAF_FENCE && !quoted) s->end = text.len; /* blank lines at the end belong to it */
  close_leaf(s);
  *ret = (struct schema_verbatims) { s->regions, s->region_count };
  return !s->failed;
}

const struct schema_verbatim *schema_verbatim_at(const struct schema_verbatims *all, size_t at,
                                                 size_t *cursor)
{
  while (*cursor < all->count && all->items[*cursor].end <= at) ++*cursor;
  if (*cursor == all->count || all->items[*cursor].start > at) return NULL;
  return &all->items[*cursor];
}
