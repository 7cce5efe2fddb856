#include <criterion/criterion.h>

#include "schema/white.h"

Test(white, is_what_javascript_trims)
{
  static const uint32_t white[] = {
    0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0xA0,   0x1680,
    0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF
  };
  static const uint32_t other[] = { 0x00, 0x08, 0x1F, 'a', 0x85, 0x180E, 0x200B, 0x2060, 0x1F600 };
  char bytes[4];
  for (size_t i = 0; i < sizeof white / sizeof *white; i++) {
    struct span s = { bytes, utf8_encode(white[i], bytes) };
    cr_expect_eq(schema_white_at(s, 0), s.len, "U+%04X", white[i]);
    cr_expect_eq(schema_white_before(s, s.len), s.len, "U+%04X", white[i]);
  }
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    struct span s = { bytes, utf8_encode(other[i], bytes) };
    cr_expect_eq(schema_white_at(s, 0), 0, "U+%04X", other[i]);
    cr_expect_eq(schema_white_before(s, s.len), 0, "U+%04X", other[i]);
  }
}

Test(white, trims_and_skips)
{
  struct span s = SPAN("\xe3\x80\x80 a\xc2\xa0 b\n ");
  cr_expect(span_is(schema_white_trim(s), "a\xc2\xa0 b"));
  cr_expect(span_is(schema_white_trim_end(s), "\xe3\x80\x80 a\xc2\xa0 b"));
  cr_expect_eq(schema_white_skip(s, 0), 4);
  cr_expect_eq(schema_white_back(s, 4, 3), 3);
  cr_expect(schema_white_in(SPAN("a\xc2\xa0"), 0));
  cr_expect(!schema_white_in(SPAN("a b"), 2));
  cr_expect_eq(schema_white_trim(SPAN(" \n")).len, 0);
}

Test(white, counts_utf16_units)
{
  cr_expect_eq(schema_utf16_length(SPAN("")), 0);
  cr_expect_eq(schema_utf16_length(SPAN("aé中")), 3);
  cr_expect_eq(schema_utf16_length(SPAN("\xf0\x9f\x98\x80")), 2);
}
