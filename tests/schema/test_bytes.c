#include <criterion/criterion.h>
#include <stdlib.h>

#include "schema/bytes.h"

Test(bytes, spans)
{
  cr_expect(span_eq(SPAN(""), (struct span) { NULL, 0 }));
  cr_expect_not(span_is(SPAN("a\0b"), "a"));
  cr_expect(span_starts(SPAN("abc"), SPAN("ab")));
  cr_expect(span_starts(SPAN("abc"), SPAN("")));
  cr_expect_not(span_starts(SPAN("a"), SPAN("ab")));
  cr_expect(span_ends(SPAN("abc"), SPAN("bc")));
  cr_expect(span_ends((struct span) { NULL, 0 }, SPAN("")));
  cr_expect_not(span_ends(SPAN("c"), SPAN("bc")));
  cr_expect(span_eq_nocase(SPAN("AbZ[\xc3\x89"), SPAN("aBz[\xc3\x89")));
  cr_expect_not(span_eq_nocase(SPAN("[@"), SPAN("{`")));
  cr_expect(span_is(span_trim(SPAN(" \t\r\na b\n ")), "a b"));
  cr_expect_eq(span_trim(SPAN(" \n ")).len, 0);
  cr_expect_eq(span_find(SPAN("abcabc"), SPAN("ca")), 2);
  cr_expect_eq(span_find(SPAN("abc"), SPAN("x")), 3);
  cr_expect_eq(span_find(SPAN("abc"), SPAN("abcd")), 3);
  cr_expect_eq(span_find(SPAN("abc"), SPAN("")), 0);
  cr_expect_eq(span_find((struct span) { NULL, 0 }, SPAN("a")), 0);
}

Test(bytes, utf8)
{
  static const struct {
    const char *in;
    size_t fault, chars;
  } rows[] = {
    { "", 0, 0 },
    { "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10, 4 },
    { "a\xc0\x80", 1, 2 },
    { "ab\xed\xa0\x80", 2, 3 },
    { "\xf4\x90\x80\x80", 0, 1 },
    { "abc\xe5\x9c", 3, 4 },
    { "\x80", 0, 0 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_expect_eq(span_utf8_fault(span_of(rows[i].in)), rows[i].fault, "row %zu", i);
    cr_expect_eq(span_chars(span_of(rows[i].in)), rows[i].chars, "row %zu", i);
  }
}

/* Every code point goes to UTF-8 and back; every surrogate becomes U+FFFD. */
Test(bytes, code_points_there_and_back)
{
  size_t wrong = 0;
  for (uint32_t c = 0; c < 0x110002; c++) {
    char bytes[4];
    uint32_t back;
    size_t n = utf8_encode(c, bytes);
    bool none = c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF);
    wrong += utf8_sequence(bytes, n) != n;
    wrong += utf8_decode(bytes, n, &back) != n;
    wrong += back != (none ? 0xFFFD : c);
    wrong += n > 1 && utf8_sequence(bytes, n - 1) != 0;
  }
  cr_expect_eq(wrong, 0, "%zu", wrong);
}

/* All sequences of up to three bytes against the definition by decoding. */
Test(bytes, sequences_by_brute_force)
{
  size_t wrong = 0;
  for (uint32_t n = 0; n < 1u << 24; n++) {
    char in[4] = { (char)(n >> 16), (char)(n >> 8), (char)n, (char)0x80 }, again[4];
    uint32_t code_point;
    size_t len = utf8_sequence(in, sizeof in);
    if (len == 0) continue;
    utf8_decode(in, sizeof in, &code_point);
    wrong += utf8_encode(code_point, again) != len || memcmp(in, again, len) != 0;
  }
  cr_expect_eq(wrong, 0, "%zu", wrong);
}

Test(bytes, blank)
{
  static const struct {
    const char *in;
    bool blank;
  } rows[] = {
    { "", true },
    { " \t\r\n\v\f", true },
    { "\xc2\xa0\xe3\x80\x80\xe2\x80\x8b\xef\xbb\xbf\xe2\x80\xa8\xe1\x9a\x80", true },
    { " a ", false },
    { ".", false },
    { "\xe2\x80\x8c", false },
    { "\xe3\x80\x81", false },
    { "\xff", false },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(span_is_blank(span_of(rows[i].in)), rows[i].blank, "row %zu", i);
}

Test(bytes, buffers_grow_up_to_their_maximum)
{
  struct buf b;
  buf_init(&b, 10);
  cr_expect(buf_add(&b, SPAN("")));
  cr_expect_str_eq(b.ptr, "");
  cr_expect(buf_add(&b, SPAN("12345678")));
  cr_expect(buf_printf(&b, "%d", 9));
  cr_expect(buf_add_char(&b, 'x'));
  cr_expect_str_eq(b.ptr, "123456789x");
  cr_expect_not(buf_add_char(&b, 'y'));
  cr_expect(b.failed);
  cr_expect_not(buf_add(&b, SPAN("")), "it stays failed");
  cr_expect_str_eq(b.ptr, "123456789x");
  buf_clear(&b);
  cr_expect(buf_add_utf8(&b, 0x20AC));
  cr_expect(buf_add_utf8(&b, 0xD800));
  cr_expect_str_eq(b.ptr, "\xe2\x82\xac\xef\xbf\xbd");
  cr_expect_not(buf_reserve(&b, SIZE_MAX));
  size_t len;
  char *taken = buf_take(&b, &len);
  cr_expect_eq(len, 6);
  cr_expect_null(b.ptr);
  cr_expect_not(b.failed);
  free(taken);
  buf_done(&b);
}

Test(bytes, large_buffers)
{
  struct buf b;
  buf_init(&b, SIZE_MAX);
  for (int i = 0; i < 100000; i++) buf_printf(&b, "%d,", i % 10);
  cr_expect_eq(b.len, 200000);
  cr_expect_eq(strlen(b.ptr), 200000);
  cr_expect_not(buf_reserve(&b, SIZE_MAX - 1));
  buf_done(&b);
}

Test(bytes, arenas_hold_to_their_maximum)
{
  struct arena a;
  arena_init(&a, 100);
  cr_expect_not_null(arena_alloc(&a, 1));
  cr_expect_not_null(arena_alloc(&a, 0));
  cr_expect_eq(a.used, 32);
  cr_expect_not_null(arena_alloc(&a, 64));
  cr_expect_null(arena_alloc(&a, 1));
  cr_expect(a.failed);
  cr_expect_null(arena_alloc(&a, 0), "it stays failed");
  arena_reset(&a);
  cr_expect_not_null(arena_alloc(&a, 90));
  cr_expect_null(arena_alloc(&a, SIZE_MAX));
  arena_reset(&a);
  cr_expect_null(arena_zalloc(&a, SIZE_MAX / 2, 3));
  arena_reset(&a);
  cr_expect(span_is(arena_copy(&a, SPAN("abc")), "abc"));
  cr_expect_str_eq(arena_printf(&a, "%s-%d", "x", 5).ptr, "x-5");
  cr_expect_null(arena_printf(&a, "%100d", 1).ptr);
  arena_done(&a);
}

Test(bytes, arena_pieces_are_aligned_and_apart)
{
  enum { PIECES = 3000 };
  struct arena a;
  static unsigned char *pieces[PIECES];
  arena_init(&a, SIZE_MAX);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < PIECES; i++) {
      size_t n = i % 100 == 0 ? 100000 : (size_t)(i % 50);
      pieces[i] = arena_alloc(&a, n);
      cr_assert_not_null(pieces[i]);
      cr_assert_eq((uintptr_t)pieces[i] % 16, 0);
      memset(pieces[i], i % 251, n);
    }
    for (int i = 0; i < PIECES; i++)
      if (i % 50) cr_assert_eq(pieces[i][i % 50 - 1], i % 251, "piece %d", i);
    arena_reset(&a);
    cr_expect_eq(a.used, 0);
  }
  arena_done(&a);
  arena_done(&a);
}

Test(bytes, arenas_take_back_what_was_not_used)
{
  struct arena a;
  arena_init(&a, 1 << 20);
  cr_expect(arena_reserve(&a, 1000));
  cr_expect_eq(a.used, 0);
  char *first = arena_alloc(&a, 1000);
  cr_assert(first);
  arena_trim(&a, first, 1000, 5);
  cr_expect_eq(a.used, 16);
  cr_expect_eq(arena_alloc(&a, 1), first + 16);
  arena_trim(&a, first, 1000, 1); /* not the last piece any more */
  cr_expect_eq(a.used, 32);
  /* a reserved piece can be given back, however large */
  cr_expect(arena_reserve(&a, 900000));
  char *large = arena_alloc(&a, 900000);
  cr_assert(large);
  arena_trim(&a, large, 900000, 0);
  cr_expect_eq(a.used, 48);
  cr_expect_not(arena_reserve(&a, 1 << 20), "beyond the maximum");
  cr_expect_not(arena_reserve(&a, SIZE_MAX));
  cr_expect_not(a.failed);
  cr_expect_eq(arena_alloc(&a, 16), large + 16);
  arena_reset(&a);
  cr_expect_eq(a.used, 0);
  arena_done(&a);
}

/* Characters of every length at every offset to a word's begin. */
Test(bytes, characters_are_counted_by_words)
{
  static const char text[] = "aé€😀bé€😀cé€😀dé€😀eé€😀f";
  for (size_t begin = 0; begin < sizeof text; begin++) {
    for (size_t end = begin; end < sizeof text; end++) {
      size_t chars = 0;
      for (size_t i = begin; i < end; i++) chars += ((unsigned char)text[i] & 0xC0) != 0x80;
      cr_assert_eq(span_chars((struct span) { text + begin, end - begin }), chars, "%zu to %zu",
                   begin, end);
    }
  }
}

Test(bytes, lent_buffers_move_when_they_are_full)
{
  char first[8];
  struct buf b;
  buf_lend(&b, 100, first, sizeof first);
  cr_expect(buf_add(&b, SPAN("1234567")));
  cr_expect_eq(b.ptr, first);
  cr_expect_str_eq(b.ptr, "1234567");
  cr_expect(buf_add_char(&b, '8'));
  cr_expect_neq(b.ptr, first);
  cr_expect(span_is(buf_span(&b), "12345678"));
  buf_clear(&b);
  cr_expect(buf_add(&b, SPAN("x")));
  cr_expect(span_is(buf_span(&b), "x"));
  buf_done(&b);

  buf_lend(&b, 9, first, sizeof first);
  cr_expect_not(buf_add(&b, SPAN("1234567890")));
  cr_expect(b.failed);
  buf_done(&b);

  buf_lend(&b, 3, first, sizeof first);
  cr_expect_not(buf_add(&b, SPAN("1234")));
  buf_done(&b);
}

Test(bytes, arena_joins)
{
  struct arena a;
  const struct span parts[] = { SPAN("ab"), { NULL, 0 }, SPAN("c") };
  arena_init(&a, 1024);
  struct span joined = arena_join(&a, parts, 3);
  cr_expect(span_is(joined, "abc"));
  cr_expect_eq(joined.ptr[3], '\0');
  cr_expect_eq(arena_join(&a, NULL, 0).len, 0u);
  const struct span huge[] = { SPAN("a"), { "b", SIZE_MAX - 1 } };
  cr_expect_null(arena_join(&a, huge, 2).ptr);
  cr_expect(a.failed);
  arena_done(&a);
}
