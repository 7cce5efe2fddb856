#include "schema/tag.h"
#include "tests/lib/protocol.h"

static const struct {
  const char *text, *left;
} tidied[] = {
  { "", "" },
  { "a  b", "a b" },
  { "a  b  c", "a b  c" }, /* a word of one unit serves one gap only, as in the package */
  { "aa  bb  cc", "aa bb cc" },
  { "\n\n a", "a" },
  { "  a", "  a" },
  { "a \t\nb", "a\nb" },
  { "a\r\n\r\n\r\nb\r\n", "a\n\nb" },
  { "a\n \n \n \nb", "a\n\nb" },
  { "a\n  b   c", "a\n  b c" },
  { "中  文", "中 文" },
  { "`a  b`  c", "`a  b` c" },
  { "```\na  b\n\n\n\n  c\n```\n", "```\na  b\n\n\n\n  c\n```" },
  { "    a  b\n", "    a  b" },
};

Test(tag, tidies_outside_code)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof tidied / sizeof *tidied; i++) {
    struct span left;
    cr_assert(schema_tag_tidy(span_of(tidied[i].text), &arena, &left));
    cr_expect(span_is(left, tidied[i].left), "row %zu: >%.*s<", i, TEXT(left));
    arena_reset(&arena);
  }
  arena_done(&arena);
}

static const struct {
  const char *text, *left;
} finished[] = {
  { "plain [[x]]", "plain [[x]]" },
  { "[[reply_to_current] x", "x" },
  { "[[reply_to_current x", "x" },
  { "[[reply_to_current", "" },
  { "[[reply_to:5] x", "x" },
  { "[[reply_to:", "" },
  { "[[reply_to:5", "[[reply_to:5" },
  { "[[reply_to_current\nx", "[[reply_to_current\nx" },
  { "\n[[reply_to_current] x", "\n[[reply_to_current] x" },
  { "[[audio_as_voice] x", "[[audio_as_voice] x" },
  { "a [[reply_to:5]] b", "a b" },
  { "[[reply_to:5]]\n\n    code", "    code" },
  { "`[[reply_to:5]]`", "`[[reply_to:5]]`" },
};

Test(tag, finishes_before_delivery)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof finished / sizeof *finished; i++) {
    struct span left;
    cr_assert(schema_tags_finish(span_of(finished[i].text), &arena, &left));
    cr_expect(span_is(left, finished[i].left), "row %zu: >%.*s<", i, TEXT(left));
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(tag, cuts_long_ids_by_characters)
{
  struct buf text;
  struct arena arena;
  struct span left;
  struct schema_tags tags;
  buf_init(&text, 1 << 20);
  arena_init(&arena, 1 << 20);
  buf_add(&text, SPAN("[[reply_to:"));
  for (int i = 0; i < 300; i++) buf_add_utf8(&text, 0x1F600);
  buf_add(&text, SPAN("]]"));
  cr_assert(schema_tags_take(buf_span(&text), SCHEMA_TAG_REPLY, &arena, &left, &tags));
  cr_expect_eq(span_chars(tags.id), SCHEMA_TAG_ID_MAX);
  cr_expect_eq(left.len, 0);
  buf_done(&text);
  arena_done(&arena);
}
