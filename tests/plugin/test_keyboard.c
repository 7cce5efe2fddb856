#include <criterion/criterion.h>
#include <stdio.h>

#include "plugin/delivery/keyboard.h"

enum { NOW = 1000 };

static const struct schema_button first_row[] = { { SPAN_INIT("一"), SPAN_INIT("one") },
                                                  { SPAN_INIT(" 　"), SPAN_INIT("no label") },
                                                  { SPAN_INIT("no payload"), SPAN_INIT("") } };
static const struct schema_button second_row[] = { { SPAN_INIT("二"), SPAN_INIT("2") },
                                                   { SPAN_INIT("line\nend [CQ:at,qq=all]"),
                                                     SPAN_INIT("[CQ:at,qq=all]&") } };
static const struct schema_row rows[] = { { first_row, 3 }, { second_row, 2 } };

static struct schema_segment keyboard_of(const struct schema_row *r, size_t count)
{
  struct schema_segment s = { .type = SCHEMA_KEYBOARD };
  s.keyboard.rows = r;
  s.keyboard.count = count;
  return s;
}

static void remember(struct rg_keyboard *k, const char *asked)
{
  struct schema_segment s = keyboard_of(rows, 2);
  cr_assert(rg_keyboard_remember(k, &s, span_of(asked), NOW));
}

Test(keyboard, texts_that_are_taps)
{
  static const struct {
    const char *text, *payload; /* NULL: no tap */
  } cases[] = {
    { "1", "one" },
    { "2", "2" },
    { " 2 ", "2" },
    { "２", "2" },
    { "　２　", "2" },
    { "@bot 2", "2" },
    { "@机器人　1", "one" },
    { "<at id=\"10001\"/> 1", "one" },
    { "3", "[CQ:at,qq=all]&" },
    { "@a @b 1", "one" },
    { "0", NULL },
    { "4", NULL },
    { "01", NULL },
    { "1 2", NULL },
    { "2.", NULL },
    { "-1", NULL },
    { "1a", NULL },
    { "", NULL },
    { "   ", NULL },
    { "@2", NULL },
    { "one", NULL },
    { "99999", NULL },
    { "18446744073709551617", NULL },
    { "<at 1", NULL },
    { "\xEF\xBC", NULL },
  };
  struct rg_keyboard k = { .count = 0 };
  remember(&k, "");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct span payload = { NULL, 0 };
    bool tap = rg_keyboard_tap(&k, span_of(cases[i].text), SPAN("10002"), NOW, &payload);
    cr_expect_eq(tap, cases[i].payload != NULL, "row %zu: %s", i, cases[i].text);
    if (tap && cases[i].payload) {
      cr_expect(span_is(payload, cases[i].payload), "row %zu: %s", i, cases[i].text);
    }
  }
  rg_keyboard_forget(&k);
}

Test(keyboard, ends_with_its_hour)
{
  struct rg_keyboard k = { .count = 0 };
  struct span payload;
  cr_expect_not(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW, &payload));
  remember(&k, "");
  cr_expect(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW + RG_KEYBOARD_TTL_MS - 1, &payload));
  cr_expect_not(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW + RG_KEYBOARD_TTL_MS, &payload));
  rg_keyboard_forget(&k);
  cr_expect_not(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW, &payload));
}

Test(keyboard, only_the_asked_where_it_says_so)
{
  struct rg_keyboard k = { .count = 0 };
  struct span payload;
  remember(&k, "10002");
  cr_expect(rg_keyboard_tap(&k, SPAN("1"), SPAN("10002"), NOW, &payload));
  cr_expect_not(rg_keyboard_tap(&k, SPAN("1"), SPAN("10003"), NOW, &payload));
  cr_expect_not(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW, &payload));
  rg_keyboard_forget(&k);
}

Test(keyboard, the_last_one_counts)
{
  static const struct schema_button other[] = { { SPAN_INIT("x"), SPAN_INIT("other") } };
  static const struct schema_row other_rows[] = { { other, 1 }, { NULL, 0 } };
  static const struct schema_button empty[] = { { SPAN_INIT(""), SPAN_INIT("") } };
  static const struct schema_row empty_rows[] = { { empty, 1 } };
  struct rg_keyboard k = { .count = 0 };
  struct span payload;
  remember(&k, "");
  struct schema_segment s = keyboard_of(other_rows, 2);
  cr_assert(rg_keyboard_remember(&k, &s, SPAN(""), NOW));
  cr_expect(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW, &payload));
  cr_expect(span_is(payload, "other"));
  cr_expect_not(rg_keyboard_tap(&k, SPAN("2"), SPAN(""), NOW, &payload));
  s = keyboard_of(empty_rows, 1); /* shows nothing, so the one before is still on the screen */
  cr_assert(rg_keyboard_remember(&k, &s, SPAN(""), NOW));
  cr_expect(rg_keyboard_tap(&k, SPAN("1"), SPAN(""), NOW, &payload));
  rg_keyboard_forget(&k);
}

Test(keyboard, eleven_buttons_have_two_digits)
{
  struct schema_button many[11];
  char payloads[11][4];
  for (int i = 0; i < 11; i++) {
    snprintf(payloads[i], sizeof payloads[i], "p%d", i + 1);
    many[i] = (struct schema_button) { SPAN("label"), span_of(payloads[i]) };
  }
  const struct schema_row row = { many, 11 };
  struct schema_segment s = keyboard_of(&row, 1);
  struct rg_keyboard k = { .count = 0 };
  struct span payload;
  cr_assert(rg_keyboard_remember(&k, &s, SPAN(""), NOW));
  cr_expect(rg_keyboard_tap(&k, SPAN("１１"), SPAN(""), NOW, &payload));
  cr_expect(span_is(payload, "p11"));
  rg_keyboard_forget(&k);
}

Test(keyboard, event_gets_the_payload)
{
  static const struct {
    const char *label, *event, *payload, *wanted;
  } cases[] = {
    { "array",
      "{\"a\":1.50,\"message\":[{\"type\":\"at\",\"data\":{\"qq\":\"9\"}},"
      "{\"type\":\"text\",\"data\":{\"text\":\" 2\"}}],\"raw_message\":\"[CQ:at,qq=9] 2\"}",
      "say [hi]",
      "{\"a\":1.50,\"message\":[{\"type\":\"at\",\"data\":{\"qq\":\"9\"}},"
      "{\"type\":\"text\",\"data\":{\"text\":\"say [hi]\"}}],"
      "\"raw_message\":\"[CQ:at,qq=9] say &#91;hi&#93;\"}" },
    { "string", "{\"message\":\"2\",\"time\":5}", "a&b", "{\"message\":\"a&amp;b\",\"time\":5}" },
    { "reply code", "{\"message\":\"[CQ:reply,id=4][CQ:at,qq=9] 2\"}", "x",
      "{\"message\":\"[CQ:reply,id=4][CQ:at,qq=9] x\"}" },
    { "unclosed code", "{\"message\":\"[CQ:at,qq=9\"}", "x", "{\"message\":\"x\"}" },
    { "no message", "{\"b\":null}", "x", "{\"b\":null}" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct arena arena;
    struct buf out;
    struct schema_node *tree;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 16);
    cr_assert_eq(schema_tree_read(span_of(cases[i].event), 64, &arena, &tree, NULL), SCHEMA_OK);
    cr_expect(rg_keyboard_event(tree, span_of(cases[i].payload), &out), "%s", cases[i].label);
    cr_expect(span_is(buf_span(&out), cases[i].wanted), "%s: %.*s", cases[i].label, (int)out.len,
              out.ptr);
    buf_done(&out);
    arena_done(&arena);
  }
}
