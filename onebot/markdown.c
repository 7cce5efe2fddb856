#include "onebot/markdown.h"

#include "schema/scan.h"

/* The text is looked at once: a bit for each byte says where lines end, another where there may be
 * a mark. Lines lose their block marks (quote, bullet, heading) and are gathered into paragraphs. A
 * paragraph is read from mark to mark to find what is cut out of it. Nothing is copied where the
 * text stands already: a paragraph is a piece of the source unless its lines do not follow each
 * other, and what is kept is gathered into runs, which are written one behind the other. */

enum {
  BRACKETS_MAX = 64,   /* nested brackets; of more the outermost are no links */
  CODE_TICKS_MAX = 32, /* longer runs of backticks open no code */
  WORD = 64,           /* bytes that a word has bits for */
  LANES = 16,          /* bytes that are looked at together */
  RUNS_FIRST = 8,      /* room for as many as most paragraphs have */
  LINKS_FIRST = 4,
};

/* A run of marks that may still be closed: the first left bytes from at on. */
struct run {
  size_t at, left;
  size_t below; /* 1 + index of the next lower run of the same mark; 0: none */
};

/* [label](target "title"), by offsets in the paragraph. */
struct link {
  size_t open, label_end, target, target_len, end;
};

struct bracket {
  size_t at;
  bool image;
};

struct state {
  struct arena *arena;
  bool failed; /* the arena gave nothing more */
  /* the source, and a bit for each of its bytes */
  struct span source;
  uint64_t *line_ends, *marks, *cuts; /* cuts: NULL before the first paragraph with a mark */
  struct span line_end;               /* of the line that is read: its \n, or nothing */
  /* the result: what is written, and the bytes behind that, kept but not yet written */
  char *out;
  size_t len;
  struct span run;
  struct span fence; /* the opening fence while inside, else empty */
  size_t fence_quotes;
  /* the paragraph being gathered; copied: where paragraphs of several pieces are put together */
  struct span paragraph;
  bool is_copy; /* it is */
  char *copied;
  size_t copied_len;
  /* the paragraph being read: the bits of its bytes, which begin with bit number base */
  const uint64_t *mark_bits;
  uint64_t *cut_bits;
  size_t base;
  uint32_t
      *parenthesis;   /* offset of the ) that closes the ( at this byte; 0: none. NULL: unknown */
  uint64_t no_closer; /* bit n: no run of n backticks follows in this paragraph */
  struct run *runs;   /* all kinds in one stack */
  size_t run_count, run_max;
  size_t top[3];      /* 1 + index of the highest run of each mark */
  struct link *links; /* in the order of their ends */
  size_t link_count, link_max;
  size_t space_count; /* the first so many links leave a space between label and target */
  size_t bracket_count;
  /* room to begin with: last, and never cleared */
  struct run first_runs[RUNS_FIRST];
  struct link first_links[LINKS_FIRST];
  struct bracket brackets[BRACKETS_MAX];
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

/* ---- bits ---- */

/* The same as find_bit, a word at a time. */
static size_t find_far_bit(const uint64_t *bits, size_t i, size_t end, uint64_t flip)
{
  uint64_t word = (bits[i / WORD] ^ flip) & ~(uint64_t)0 << i % WORD;
  size_t k = i / WORD;
  while (word == 0) {
    if (++k * WORD >= end) return end;
    word = bits[k] ^ flip;
  }
  i = k * WORD + (size_t)__builtin_ctzll(word);
  return i < end ? i : end;
}

/* The first bit from i on that is set, or that is not where flip is all ones; end if there is none
 * before it. The next two words from i on are looked at together, wherever they begin: whether a
 * bit stands in the first is not to be foreseen. */
static inline size_t find_bit(const uint64_t *bits, size_t i, size_t end, uint64_t flip)
{
  if (i >= end) return end;
  const uint64_t *at = bits + i / WORD;
  unsigned low = i % WORD, high = WORD - 1 - low;
  uint64_t middle = at[1] ^ flip;
  uint64_t first = (at[0] ^ flip) >> low | middle << 1 << high;
  uint64_t second = middle >> low | (at[2] ^ flip) << 1 << high;
  uint64_t word = first ? first : second;
  if (!SCAN_USUAL(word || end - i <= 2 * WORD)) return find_far_bit(bits, i + 2 * WORD, end, flip);
  size_t found = i + (first ? 0 : WORD) + (size_t)__builtin_ctzll(word | (uint64_t)1 << (WORD - 1));
  return word && found < end ? found : end;
}

static inline size_t next_set(const uint64_t *bits, size_t i, size_t end)
{
  return find_bit(bits, i, end, 0);
}

static inline size_t next_clear(const uint64_t *bits, size_t i, size_t end)
{
  return find_bit(bits, i, end, ~(uint64_t)0);
}

/* Sets n bits from i on, or clears them. */
static inline void put_bits(uint64_t *bits, size_t i, size_t n, bool set)
{
  while (n) {
    size_t room = WORD - i % WORD, some = n < room ? n : room;
    uint64_t mask = ~(uint64_t)0 >> (WORD - some) << i % WORD;
    bits[i / WORD] = set ? bits[i / WORD] | mask : bits[i / WORD] & ~mask;
    i += some;
    n -= some;
  }
}

typedef unsigned char lanes __attribute__((vector_size(LANES)));

/* One bit for each byte of a comparison, the first one lowest. */
static inline uint64_t bits_of(lanes hits)
{
#ifdef SCHEMA_SSE2
  return scan_mask16(hits);
#else
  const uint64_t ones = 0x0101010101010101, gather = 0x0102040810204080;
  uint64_t halves[2];
  memcpy(halves, &hits, sizeof halves);
#  if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  halves[0] = __builtin_bswap64(halves[0]), halves[1] = __builtin_bswap64(halves[1]);
#  endif
  return (halves[0] & ones) * gather >> 56 | ((halves[1] & ones) * gather >> 56) << 8;
#endif
}

/* Looks at 64 bytes. '^' counts as a mark, a range is cheaper than its parts. */
static inline void look(const char *p, uint64_t *ret_marks, uint64_t *ret_ends)
{
  uint64_t marks = 0, ends = 0;
  for (size_t i = 0; i < WORD; i += LANES) {
    lanes v;
    memcpy(&v, p + i, sizeof v);
    lanes range = v - '[';
    lanes hit = (lanes)(range <= '`' - '[') | (lanes)(v == '*') | (lanes)(v == '~') |
                (lanes)(v == ':') | (lanes)(v == '<');
    marks |= bits_of(hit) << i;
    ends |= bits_of((lanes)(v == '\n')) << i;
  }
  *ret_marks = marks;
  *ret_ends = ends;
}

/* Words of bits for n bytes: two more are looked at behind the one of the last. */
static size_t words_of(size_t n)
{
  return n / WORD + 3;
}

/* Where there may be marks in s, and where its lines end. */
static void look_over(struct span s, uint64_t *marks, uint64_t *ends)
{
  size_t i = 0, k = 0;
  for (; s.len - i >= WORD; i += WORD, k++) look(s.ptr + i, &marks[k], &ends[k]);
  size_t rest = s.len - i;
  for (size_t n = k; n < words_of(s.len); n++) marks[n] = ends[n] = 0;
  if (rest == 0) return;
  char tail[WORD];
  const char *last = s.ptr + s.len - WORD; /* with bytes that were looked at already */
  if (k == 0) {
    memset(tail, 0, sizeof tail);
    memcpy(tail + WORD - rest, s.ptr, rest);
    last = tail;
  }
  look(last, &marks[k], &ends[k]);
  marks[k] >>= WORD - rest;
  ends[k] >>= WORD - rest;
}

static void *allocate(struct state *st, size_t n)
{
  void *piece = arena_alloc(st->arena, n);
  st->failed = st->failed || !piece;
  return piece;
}

/* Cuts n bytes from at on out of the paragraph. */
static inline void drop(struct state *st, size_t at, size_t n)
{
  put_bits(st->cut_bits, st->base + at, n, true);
}

/* ---- what is kept ---- */

/* Writes the run behind what is written. All of them have no more bytes than the source. */
static void write_run(struct state *st)
{
  struct span run = st->run;
  if (!st->out) st->out = allocate(st, st->source.len);
  if (!st->out) return;
  memcpy(st->out + st->len, run.ptr, run.len);
  st->len += run.len;
  st->run.len = 0;
}

static inline void keep(struct state *st, struct span s)
{
  if (s.len == 0) return;
  if (st->run.len && st->run.ptr + st->run.len == s.ptr) {
    st->run.len += s.len;
    return;
  }
  if (st->run.len) write_run(st);
  st->run = s;
}

/* Room for one more of size bytes behind count of them, in memory of the arena. */
static void *grow(struct state *st, void *items, size_t count, size_t *max, size_t size)
{
  if (count < *max) return items;
  size_t room = *max * 2;
  char *grown = allocate(st, room * size);
  if (!grown) return NULL;
  memcpy(grown, items, count * size);
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
  static const unsigned char ends[128] = {
    ['*'] = 1, ['<'] = 1, ['>'] = 1, ['('] = 1, [')'] = 1,
    ['['] = 1, [']'] = 1, ['`'] = 1, ['"'] = 1,
  };
  struct span rest = { s.ptr + at, s.len - at };
  if (!span_starts(rest, SPAN("http://")) && !span_starts(rest, SPAN("https://"))) return at;
  size_t i = at;
  while (i < s.len && (unsigned char)s.ptr[i] > ' ' && (unsigned char)s.ptr[i] < 0x80 &&
         !ends[(unsigned char)s.ptr[i]])
    i++;
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

/* The offset of the ) that closes the ( at `at`, in its line; 0: none. */
static size_t parenthesis_end(struct span s, size_t at)
{
  size_t depth = 0;
  for (size_t i = at; i < s.len && s.ptr[i] != '\n'; i++) {
    if (s.ptr[i] == '\\')
      i++;
    else if (s.ptr[i] == '(')
      depth++;
    else if (s.ptr[i] == ')' && --depth == 0)
      return i;
  }
  return 0;
}

/* Which ) closes which (, line by line, in one pass: looking for each alone would be quadratic. */
static void pair_parentheses(struct state *st, struct span s)
{
  uint32_t *open = s.len <= UINT32_MAX ? arena_alloc(st->arena, s.len * sizeof *open) : NULL;
  st->parenthesis = open ? arena_zalloc(st->arena, s.len, sizeof *st->parenthesis) : NULL;
  st->failed = st->failed || !st->parenthesis;
  if (!st->parenthesis) return;
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
}

/* A closing bracket at `at`: the end of its link, or at + 1. */
static size_t close_bracket(struct state *st, struct span s, size_t at)
{
  if (st->bracket_count == 0) return at + 1;
  st->bracket_count--;
  size_t open = st->brackets[st->bracket_count].at;
  bool image = st->brackets[st->bracket_count].image;
  if (at + 1 == s.len || s.ptr[at + 1] != '(') return at + 1;
  /* what is passed over up to an end is not looked at again; only what has none is looked up */
  size_t end = st->parenthesis ? st->parenthesis[at + 1] : parenthesis_end(s, at + 1);
  if (end == 0 && !st->parenthesis) pair_parentheses(st, s);
  if (end == 0) return at + 1;
  if (image) { /* it goes whole, with the links in it */
    while (st->link_count && st->links[st->link_count - 1].open > open) st->link_count--;
    drop(st, open, end + 1 - open);
    return end + 1;
  }
  struct link *links = grow(st, st->links, st->link_count, &st->link_max, sizeof *links);
  if (!links) return at + 1;
  st->links = links;
  struct link *l = &st->links[st->link_count++];
  *l = (struct link) { .open = open, .label_end = at, .end = end + 1 };
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

static void find_marks(struct state *st, struct span s, size_t i)
{
  size_t end = st->base + s.len, behind = 0; /* the mark before */
  for (; i < s.len; i = next_set(st->mark_bits, st->base + i, end) - st->base) {
    size_t n;
    bool image;
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
    case '[':
      image = i > behind && s.ptr[i - 1] == '!';
      open_bracket(st, i - image, image);
      i++;
      break;
    case ']': i = close_bracket(st, s, i); break;
    case '<': i = autolink(st, s, i); break;
    case ':': i = colon(s, i); break;
    default: i++;
    }
    behind = i;
  }
}

/* A link loses its brackets, its parentheses and its title. */
static void drop_links(struct state *st, struct span s)
{
  st->space_count = 0;
  for (size_t i = 0; i < st->link_count; i++) {
    struct link l = st->links[i];
    drop(st, l.open, 1);
    drop(st, l.label_end, l.end - l.label_end);
    struct span label = { s.ptr + l.open + 1, l.label_end - l.open - 1 };
    struct span target = { s.ptr + l.target, l.target_len };
    if (target.len == 0 || span_eq(label, target)) continue;
    put_bits(st->cut_bits, st->base + l.target, l.target_len, false);
    size_t label_end = st->base + l.label_end;
    if (next_clear(st->cut_bits, st->base + l.open + 1, label_end) < label_end)
      st->links[st->space_count++] = l;
  }
}

/* Keeps what was not cut out of the paragraph. */
static void keep_rest(struct state *st, struct span s)
{
  size_t end = st->base + s.len, space = 0;
  for (size_t at = st->base; at < end;) {
    size_t cut = next_set(st->cut_bits, at, end);
    keep(st, (struct span) { s.ptr + (at - st->base), cut - at });
    at = next_clear(st->cut_bits, cut, end);
    for (; space < st->space_count && st->base + st->links[space].label_end < at; space++)
      keep(st, SPAN(" "));
  }
}

/* The bits of a paragraph that was put together from pieces. */
static uint64_t *bits_of_copy(struct state *st, struct span s)
{
  size_t words = words_of(s.len);
  uint64_t *bits = allocate(st, 2 * words * sizeof *bits);
  if (bits) look_over(s, bits, bits + words); /* where lines end is not asked for */
  return bits;
}

/* Sees to it that there are bits for the bytes of the paragraph s. False: out of memory. */
static bool begin_bits(struct state *st, struct span s)
{
  uint64_t *bits = st->is_copy ? bits_of_copy(st, s) : st->marks;
  st->mark_bits = bits;
  st->base = st->is_copy ? 0 : (size_t)(s.ptr - st->source.ptr);
  if (!bits) return false;
  st->cut_bits = st->is_copy ? bits + words_of(s.len) : st->cuts;
  return true;
}

/* The same for what is cut out of it. */
static bool begin_cuts(struct state *st, struct span s)
{
  if (!st->is_copy && st->cuts) return true;
  size_t words = words_of(st->is_copy ? s.len : st->source.len);
  if (!st->is_copy) st->cut_bits = st->cuts = allocate(st, words * sizeof *st->cuts);
  if (st->cut_bits) memset(st->cut_bits, 0, words * sizeof *st->cut_bits);
  return st->cut_bits != NULL;
}

static void paragraph_end(struct state *st)
{
  struct span s = st->paragraph;
  st->paragraph.len = 0;
  if (s.len == 0 || !begin_bits(st, s)) return;
  size_t first = next_set(st->mark_bits, st->base, st->base + s.len) - st->base;
  if (first == s.len) {
    keep(st, s);
    return;
  }
  if (!begin_cuts(st, s)) return;
  st->run_count = st->bracket_count = st->link_count = 0;
  st->no_closer = 0;
  st->parenthesis = NULL;
  memset(st->top, 0, sizeof st->top);
  find_marks(st, s, first);
  drop_links(st, s);
  keep_rest(st, s);
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

/* Puts s behind the paragraph in memory of its own. All of them have no more than the source. */
static void add_copy(struct state *st, struct span s)
{
  struct span *p = &st->paragraph;
  if (!st->copied) st->copied = allocate(st, st->source.len);
  if (!st->copied) return;
  char *end = st->copied + st->copied_len;
  if (!st->is_copy) {
    memcpy(end, p->ptr, p->len);
    p->ptr = end;
    end += p->len;
    st->is_copy = true;
  }
  memcpy(end, s.ptr, s.len);
  p->len += s.len;
  st->copied_len = (size_t)(end + s.len - st->copied);
}

/* Puts s behind the paragraph: a longer piece of the source if s follows it there, else a copy. */
static inline void add(struct state *st, struct span s)
{
  struct span *p = &st->paragraph;
  if (p->len == 0) {
    *p = s;
    st->is_copy = false;
  } else if (!st->is_copy && p->ptr + p->len == s.ptr) {
    p->len += s.len;
  } else if (s.len) {
    add_copy(st, s);
  }
}

static inline void add_line(struct state *st, struct span line)
{
  add(st, line);
  add(st, st->line_end);
}

/* A line that stays as it is, where no paragraph is open. */
static void pass_line(struct state *st, struct span line)
{
  keep(st, line);
  keep(st, st->line_end);
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
  keep(st, (struct span) { line.ptr, indent });
  line = behind(line, indent + 1);
  line = behind(line, indent_of(line));
  if (line.len && line.ptr[0] == '#') unhead(&line);
  add_line(st, line);
}

static void heading(struct state *st, struct span text)
{
  paragraph_end(st);
  add(st, text);
  paragraph_end(st);
  keep(st, st->line_end);
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
  s = behind(s, span_blank_run(s));
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
  memset(st, 0, offsetof(struct state, first_runs));
  st->arena = arena;
  st->source = markdown;
  st->runs = st->first_runs, st->run_max = RUNS_FIRST;
  st->links = st->first_links, st->link_max = LINKS_FIRST;
  size_t words = words_of(markdown.len);
  st->marks = allocate(st, 2 * words * sizeof *st->marks);
  if (!st->marks) return (struct span) { NULL, 0 };
  st->line_ends = st->marks + words;
  look_over(markdown, st->marks, st->line_ends);
  for (size_t at = 0, end; at < markdown.len && !st->failed; at = end + 1) {
    end = next_set(st->line_ends, at, markdown.len);
    struct span line = { markdown.ptr + at, end - at };
    st->line_end = (struct span) { markdown.ptr + end, end < markdown.len };
    if (st->fence.len)
      fenced_line(st, line);
    else
      open_line(st, line);
  }
  paragraph_end(st);
  if (st->out) write_run(st);
  if (st->failed) return (struct span) { NULL, 0 };
  return trim(st->out ? (struct span) { st->out, st->len } : st->run);
}
