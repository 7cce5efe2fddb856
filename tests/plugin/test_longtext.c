#include <criterion/criterion.h>
#include <stdlib.h>

#include "plugin/longtext.h"

Test(longtext, cuts_where_a_person_would)
{
  static const struct {
    const char *label, *text;
    size_t limit;
    const char *piece;
  } rows[] = {
    { "fits", "abc", 3, "abc" },
    { "paragraph before line", "aaaa\n\nbb\ncccc", 10, "aaaa\n\n" },
    { "line before sentence", "aaaa. bb\ncc dd", 11, "aaaa. bb\n" },
    { "sentence before space", "aaaa. bb cc dd", 11, "aaaa." },
    { "Chinese sentence", "一二三四。五六七八九", 8, "一二三四。" },
    { "space", "aaaa bbbb cccc", 11, "aaaa bbbb " },
    { "a short piece is not worth it", "a\n\nbbbbbbbbbbbbbbbbbbbb", 12, "a\n\nbbbbbbbbb" },
    { "characters", "一二三四五六", 4, "一二三四" },
    { "a dot in a number is no end", "aaaa1.5aaaaaaa", 8, "aaaa1.5a" },
    { "an address is not cut", "see https://example.com/aaaa ok", 12, "see " },
    { "an address longer than all", "https://example.com/aaaaaaaa ok", 5,
      "https://example.com/aaaaaaaa" },
    { "an address ends at Chinese", "看https://a.bc/d这个是一个链接", 16, "看https://a.bc/d这" },
    { "a fence is not cut", "text\n```\ncode one\ncode two\n```\nmore", 14, "text\n" },
    { "a fence longer than all", "```\ncode one\ncode two\n```\nmore", 6,
      "```\ncode one\ncode two\n```\n" },
    { "an unclosed fence stays whole", "```\ncode one\ncode two", 6, "```\ncode one\ncode two" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t cut = rg_longtext_cut(span_of(rows[i].text), rows[i].limit);
    cr_expect(span_is((struct span) { rows[i].text, cut }, rows[i].piece), "%s: %.*s",
              rows[i].label, (int)cut, rows[i].text);
  }
}

static struct schema_segment text_of(enum schema_type type, const char *text)
{
  return (struct schema_segment) { .type = type, .text = span_of(text) };
}

Test(longtext, splits_messages_and_keeps_their_order)
{
  struct schema_segment a[] = { text_of(SCHEMA_MENTION, "10001"),
                                text_of(SCHEMA_TEXT, "one one.\ntwo two.\nthree three"),
                                text_of(SCHEMA_IMAGE, "picture") };
  struct schema_segment b[] = { text_of(SCHEMA_TEXT, "short") };
  struct schema_message messages[] = { { .segments = a, .count = 3, .reply_to = SPAN("7") },
                                       { .segments = NULL, .count = 0 },
                                       { .segments = b, .count = 1 } };
  const struct schema_reply reply = { messages, 3, SPAN("76") };
  struct schema_reply split;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_assert(rg_longtext_split(&reply, 12, &arena, &split));
  cr_assert_eq(split.count, 5);
  cr_expect(span_is(split.reaction, "76"));
  const struct schema_message *m = split.messages;
  cr_assert_eq(m[0].count, 2);
  cr_expect(span_is(m[0].reply_to, "7"));
  cr_expect_eq(m[0].segments[0].type, SCHEMA_MENTION);
  cr_expect(span_is(m[0].segments[1].text, "one one."));
  cr_assert_eq(m[1].count, 1);
  cr_expect_eq(m[1].reply_to.len, 0);
  cr_expect(span_is(m[1].segments[0].text, "two two."));
  cr_assert_eq(m[2].count, 2);
  cr_expect(span_is(m[2].segments[0].text, "three three"));
  cr_expect_eq(m[2].segments[1].type, SCHEMA_IMAGE);
  cr_expect_eq(m[3].count, 0);
  cr_expect(span_is(m[4].segments[0].text, "short"));
  cr_assert(rg_longtext_split(&reply, 1000, &arena, &split));
  cr_expect_eq(split.messages, reply.messages);
  arena_done(&arena);
}

Test(longtext, is_linear_in_a_hostile_text)
{
  enum { SIZE = 4 << 20 };
  static const char *const units[] = { "a", "```\n", "https://", "\n", "。", "`" };
  char *text = malloc(SIZE + 16);
  for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
    size_t n = strlen(units[u]), len = 0;
    for (; len < SIZE; len += n) memcpy(text + len, units[u], n);
    struct schema_segment s = { .type = SCHEMA_TEXT, .text = { text, len } };
    const struct schema_message m = { .segments = &s, .count = 1 };
    const struct schema_reply reply = { .messages = &m, .count = 1 };
    struct schema_reply split;
    struct arena arena;
    arena_init(&arena, 1u << 30);
    cr_expect(rg_longtext_split(&reply, 1500, &arena, &split), "unit %zu", u);
    size_t total = 0;
    for (size_t i = 0; i < split.count; i++) total += split.messages[i].segments[0].text.len;
    cr_expect(units[u][0] == '\n' || total + 2 * split.count >= len, "unit %zu: %zu", u, total);
    arena_done(&arena);
  }
  free(text);
}
