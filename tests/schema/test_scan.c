#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/scan.h"

typedef const char *scan_function(const char *p, const char *end, bool *controls);

/* The same by the definition, a character at a time. */
static const char *plainly(const char *p, const char *end, bool *controls)
{
  while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\') {
    uint32_t c;
    size_t n = utf8_sequence(p, (size_t)(end - p));
    if (n == 0) break;
    utf8_decode(p, n, &c);
    *controls |= c >= 0x7F && c < 0xA0;
    p += n;
  }
  return p;
}

/* What the ways to scan could stumble over: stops, borders of UTF-8, whole and cut characters. */
static const char *const pieces[] = {
  "a",
  "abcdefghijklmnop",
  "\"",
  "\\",
  "\x1f",
  "\x7f",
  "\x01",
  " ",
  "\x80",
  "\xbf",
  "\xc0\x80",
  "\xc1\xbf",
  "\xc2\x80",
  "\xc2\x9f",
  "\xc2\xa0",
  "\xc3\xa9",
  "\xdf\xbf",
  "\xe0\xa0\x80",
  "\xe0",
  "\xe0\x9f\xbf",
  "\xe4\xbd\xa0",
  "\xe5\xa5\xbd",
  "\xe5",
  "\xe5\xa5",
  "\xed",
  "\xed\x9f\xbf",
  "\xed\xa0\x80",
  "\xef\xbf\xbd",
  "\xf0\x9f\x98",
  "\xf0\x9f\x98\x80",
  "\xf0",
  "\xf0\x8f\xbf\xbf",
  "\xf0\x90\x80\x80",
  "\xf1\x80\x80\x80",
  "\xf4\x8f\xbf\xbf",
  "\xf4\x90\x80\x80",
  "\xf5\x80\x80\x80",
  "\xff",
};
enum { PIECES = sizeof pieces / sizeof *pieces, LONGEST = 200, ROUNDS = 200000 };

static uint64_t next_random(uint64_t *state)
{
  *state += 0x9E3779B97F4A7C15;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

/* Mostly sound text, so that faults come late as well as early. */
static size_t make_text(uint64_t *state, char *out)
{
  static const size_t sound[] = { 0, 1, 7, 15, 17, 20, 21, 27, 29, 33 };
  size_t wanted = next_random(state) % LONGEST, len = 0;
  unsigned faults = next_random(state) % 3 ? 60 : 4; /* one piece in so many */
  while (len < wanted) {
    uint64_t r = next_random(state);
    const char *piece = r % faults ? pieces[sound[r / 64 % (sizeof sound / sizeof *sound)]]
                                   : pieces[r / 64 % PIECES];
    size_t n = strlen(piece);
    memcpy(out + len, piece, n);
    len += n;
  }
  return len;
}

static void expect_same(scan_function *scan, const char *name)
{
  uint64_t state = 1;
  size_t wrong = 0, stopped_early = 0;
  for (int round = 0; round < ROUNDS; round++) {
    char text[LONGEST + 32];
    size_t len = make_text(&state, text);
    char *exact = malloc(len ? len : 1); /* so that a sanitizer sees a byte too many */
    cr_assert(exact);
    memcpy(exact, text, len);
    bool controls = false, wanted_controls = false;
    const char *end = exact + len, *wanted = plainly(exact, end, &wanted_controls);
    const char *got = scan(exact, end, &controls);
    /* beyond a fault the flag is of no use to anybody */
    bool fault = wanted < end && (unsigned char)*wanted >= 0x80;
    wrong += got != wanted || (!fault && controls != wanted_controls);
    stopped_early += wanted < end;
    free(exact);
  }
  cr_expect_eq(wrong, 0, "%s: %zu of %d", name, wrong, ROUNDS);
  cr_expect(stopped_early > ROUNDS / 10 && stopped_early < ROUNDS * 9 / 10, "%zu", stopped_early);
}

static const char *in_line(const char *p, const char *end, bool *controls)
{
  return scan_string(p, end, controls);
}

/* The same by the definition, a byte at a time: what is printed, up to an escape that spare has no
 * room for. Returns how much of the text it is. */
static size_t print_plainly(struct span text, size_t spare, char *out, size_t *retlen)
{
  size_t len = 0, i = 0;
  for (; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    const char *letter = c == '"' || c == '\\' ? text.ptr + i : NULL;
    static const char *const pairs[] = { "\bb", "\ff", "\nn", "\rr", "\tt" };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
      if (pairs[k][0] == text.ptr[i]) letter = pairs[k] + 1;
    size_t more = c >= 0x20 && !letter ? 0 : letter ? 1 : 5;
    if (more > spare) break;
    spare -= more;
    if (more == 0) out[len++] = text.ptr[i];
    if (more == 1) out[len++] = '\\', out[len++] = *letter;
    if (more == 5) len += (size_t)sprintf(out + len, "\\u%04x", c);
  }
  *retlen = len;
  return i;
}

typedef const char *print_function(const char *p, const char *end, struct scan_print *to);

static void expect_printed(print_function *print, size_t slack, const char *name)
{
  uint64_t state = 2;
  size_t wrong = 0;
  for (int round = 0; round < ROUNDS / 4; round++) {
    char made[LONGEST + 32], wanted[6 * (LONGEST + 32) + 1];
    size_t len = make_text(&state, made), wanted_len, spare = next_random(&state) % 40;
    if (round % 4 == 0)
      for (size_t i = 0; i < len; i += 1 + next_random(&state) % 20)
        made[i] = "\n\t\"\\\x0c\x1f"[next_random(&state) % 6];
    char *text = malloc(len ? len : 1), *out = malloc(len + spare + slack + 1); /* exact */
    cr_assert(text && out);
    memcpy(text, made, len);
    struct scan_print to = { .out = out, .spare = spare, .chars = 0 };
    size_t printed = print_plainly((struct span) { text, len }, spare, wanted, &wanted_len);
    size_t got = (size_t)(print(text, text + len, &to) - text);
    wrong += got != printed || (size_t)(to.out - out) != wanted_len ||
             memcmp(out, wanted, wanted_len) != 0 ||
             to.chars != span_chars((struct span) { text, got }) ||
             to.spare != spare - (wanted_len - got);
    free(text);
    free(out);
  }
  cr_expect_eq(wrong, 0, "%s: %zu", name, wrong);
}

Test(scan, prints_portably_as_by_the_definition)
{
  expect_printed(scan_print_portable, 0, "portable");
  expect_printed(scan_print, SCAN_PRINT_SLACK, "the best");
}

Test(scan, portable_as_by_the_definition)
{
  expect_same(scan_string_portable, "portable");
}

Test(scan, in_line_as_by_the_definition)
{
  expect_same(in_line, "in line");
}

#ifdef SCHEMA_SSE2
Test(scan, sse2_as_by_the_definition)
{
  expect_same(scan_string_sse2, "SSE2");
}

Test(scan, avx2_as_by_the_definition)
{
  if (__builtin_cpu_supports("avx2")) expect_same(scan_string_avx2, "AVX2");
}

Test(scan, prints_by_blocks_as_by_the_definition)
{
  expect_printed(scan_print_sse2, SCAN_PRINT_SLACK, "SSE2");
  if (__builtin_cpu_supports("avx2")) expect_printed(scan_print_avx2, SCAN_PRINT_SLACK, "AVX2");
}
#endif

/* Every pair of bytes, across every border of a block. */
Test(scan, pairs_at_every_place)
{
  scan_function *const ways[] = { scan_string_portable, in_line };
  size_t wrong = 0;
  char text[80];
  for (size_t way = 0; way < 2; way++)
    for (unsigned pair = 0; pair < 1u << 16; pair++)
      for (size_t at = 13; at < 66; at += pair % 7 ? 17 : 1) {
        memset(text, 'x', sizeof text);
        text[at] = (char)(pair >> 8);
        text[at + 1] = (char)pair;
        bool a = false, b = false;
        const char *wanted = plainly(text, text + sizeof text, &a);
        wrong += ways[way](text, text + sizeof text, &b) != wanted;
      }
  cr_expect_eq(wrong, 0, "%zu", wrong);
}

/* Long ASCII has a loop of its own. */
Test(scan, long_strings)
{
  enum { LEN = 20000 };
  char *text = malloc(LEN);
  cr_assert(text);
  for (size_t at = 0; at < LEN; at += 97) {
    static const char *const ends[] = { "\"",   "\\",       "\x1f",        "\xff",
                                        "\x7f", "\xc2\x80", "\xe4\xbd\xa0" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      memset(text, 'A', LEN);
      size_t n = strlen(ends[i]);
      if (at + n > LEN) continue;
      memcpy(text + at, ends[i], n);
      bool a = false, b = false;
      const char *wanted = plainly(text, text + LEN, &a);
      cr_expect_eq(scan_string(text, text + LEN, &b), wanted, "%zu at %zu", i, at);
      cr_expect_eq(a, b, "%zu at %zu", i, at);
    }
  }
  free(text);
}

Test(scan, space)
{
  char text[120];
  for (size_t len = 0; len < 100; len++) {
    for (size_t i = 0; i < len; i++) text[i] = " \n\r\t"[(i * 7 + len) % 4];
    text[len] = len % 2 ? 'x' : '\v';
    char *exact = malloc(len + 1);
    cr_assert(exact);
    memcpy(exact, text, len + 1);
    cr_expect_eq(scan_space(exact, exact + len), exact + len, "%zu spaces to the end", len);
    cr_expect_eq(scan_space(exact, exact + len + 1), exact + len, "%zu spaces", len);
    free(exact);
  }
}

Test(scan, escapes)
{
  static const struct {
    const char *in;
    size_t len; /* 0: refused */
    uint32_t code_point;
  } rows[] = {
    { "\\n", 2, '\n' },
    { "\\\"", 2, '"' },
    { "\\/", 2, '/' },
    { "\\u0000", 6, 0 },
    { "\\uabCD", 6, 0xABCD },
    { "\\uFfFf", 6, 0xFFFF },
    { "\\ud83d\\ude00", 12, 0x1F600 },
    { "\\udbff\\udfff", 12, 0x10FFFF },
    { "\\", 0, 0 },
    { "\\x", 0, 0 },
    { "\\u12", 0, 0 },
    { "\\u00g0", 0, 0 },
    { "\\u00:0", 0, 0 },
    { "\\u0/00", 0, 0 },
    { "\\u@000", 0, 0 },
    { "\\u`000", 0, 0 },
    { "\\u\x80"
      "000",
      0, 0 },
    { "\\u\xb0"
      "000",
      0, 0 },
    { "\\u0\x10"
      "00",
      0, 0 },
    { "\\ud800", 0, 0 },
    { "\\udc00", 0, 0 },
    { "\\ud800\\u0041", 0, 0 },
    { "\\ud800\\", 0, 0 },
    { "\\ud800\\ud800", 0, 0 },
    { "\\ud83dxude00", 0, 0 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t c = 7;
    const char *end = rows[i].in + strlen(rows[i].in);
    const char *behind = scan_escape(rows[i].in, end, &c);
    cr_expect_eq(behind, rows[i].len ? rows[i].in + rows[i].len : NULL, "row %zu", i);
    if (rows[i].len) cr_expect_eq(c, rows[i].code_point, "row %zu: %x", i, c);
  }
}

/* All four digits: only hexadecimal ones pass, with their value. */
Test(scan, every_digit)
{
  size_t wrong = 0;
  for (unsigned c = 0; c < 256; c++)
    for (int place = 0; place < 4; place++) {
      char text[] = "\\u0000";
      text[2 + place] = (char)c;
      uint32_t got;
      static const char digits[] = "0123456789abcdef";
      const char *digit = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 0x20 : 0)) : NULL;
      bool ok = scan_escape(text, text + 6, &got) != NULL;
      wrong += ok != (digit != NULL);
      wrong += ok && digit && got != (uint32_t)(digit - digits) << 4 * (3 - place);
    }
  cr_expect_eq(wrong, 0, "%zu", wrong);
}

/* Decoding against a byte-wise reading, with room in the arena and without. */
Test(scan, decoding)
{
  static const struct {
    const char *source, *meaning;
  } parts[] = { { "\\n", "\n" },
                { "\\\"", "\"" },
                { "\\u0001", "\x01" },
                { "\\u4f60", "\xe4\xbd\xa0" },
                { "\xe5\xa5\xbd", "\xe5\xa5\xbd" },
                { "\\ud83d\\ude00", "\xf0\x9f\x98\x80" },
                { "plain words, and more of them than one block",
                  "plain words, and more of them than one block" },
                { "x", "x" },
                { "\\u00e9", "\xc3\xa9" } };
  uint64_t state = 5;
  for (int round = 0; round < 3000; round++) {
    struct buf source, meaning;
    struct arena arena;
    buf_init(&source, 1 << 20);
    buf_init(&meaning, 1 << 20);
    arena_init(&arena, 1 << 20);
    if (round % 2) arena_alloc(&arena, 1); /* now there is a chunk with room */
    size_t n = 1 + next_random(&state) % 40;
    buf_add(&source, SPAN("pre\\t"));
    buf_add(&meaning, SPAN("pre\t"));
    for (size_t i = 0; i < n; i++) {
      size_t k = next_random(&state) % (sizeof parts / sizeof *parts);
      buf_add(&source, span_of(parts[k].source));
      buf_add(&meaning, span_of(parts[k].meaning));
    }
    buf_add(&source, SPAN("\" and what follows"));
    struct span got;
    bool controls = false;
    const char *end = source.ptr + source.len;
    const char *behind = scan_decode(source.ptr, source.ptr + 3, end, &arena, &got, &controls);
    cr_assert_eq(behind, end - strlen(" and what follows"), "round %d", round);
    cr_expect(span_eq(got, buf_span(&meaning)), "round %d: %s", round, source.ptr);
    cr_expect_eq(controls, strchr(meaning.ptr, 1) != NULL, "round %d", round);
    /* what follows it in the arena lies behind it */
    char *next = arena_alloc(&arena, 16);
    cr_assert(next);
    memset(next, 0xFF, 16);
    cr_expect(span_eq(got, buf_span(&meaning)), "round %d is overwritten", round);
    arena_done(&arena);
    buf_done(&source);
    buf_done(&meaning);
  }
}

Test(scan, many_escaped_strings_take_little_memory)
{
  enum { STRINGS = 2000 };
  struct buf text;
  struct arena arena;
  buf_init(&text, 1 << 20);
  arena_init(&arena, 1 << 20);
  for (int i = 0; i < STRINGS; i++) buf_add(&text, SPAN("\\n\""));
  const char *p = text.ptr, *end = text.ptr + text.len;
  for (int i = 0; i < STRINGS; i++) {
    struct span got;
    bool controls = false;
    p = scan_decode(p, p, end, &arena, &got, &controls);
    cr_assert(p, "string %d", i);
    cr_expect(span_is(got, "\n"));
  }
  cr_expect_leq(arena.used, (size_t)STRINGS * 48, "%zu", arena.used);
  arena_done(&arena);
  buf_done(&text);
}
