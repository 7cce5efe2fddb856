#include <criterion/criterion.h>

#include "onebot/longtext.h"
#include "tests/lib/onebot.h"

Test(longtext, cuts_where_a_person_would)
{
  static const struct {
    const char *label, *text;
    size_t max;
    const char *first;
  } rows[] = {
    { "fits", "一二三", 3, "一二三" },
    { "paragraph", "一二三四\n\n五六\n七八九", 10, "一二三四\n\n" },
    { "line", "一二三四五。\n六七八九十", 9, "一二三四五。\n" },
    { "sentence", "一二三四五。六七八九十", 8, "一二三四五。" },
    { "closing quote belongs to it", "他说“一二三。”然后走了", 9, "他说“一二三。”" },
    { "dots in a number", "a version 1.2.3 here", 14, "a version " },
    { "full stop", "First one. Second one.", 14, "First one." },
    { "word", "alpha beta gamma", 12, "alpha beta " },
    { "a sentence far in front", "一。二三四五六七八九十", 9, "一。" },
    { "character", "一二三四五六七", 3, "一二三" },
    { "address stays whole", "看 https://example.com/aaaaaaaaaaaaaaaa 好", 10, "看 " },
    { "address first, longer than all", "https://example.com/aaaa 好", 5,
      "https://example.com/aaaa" },
    { "address ends at Chinese", "https://e.com/a好的呀", 16, "https://e.com/a好" },
    { "fence stays whole", "一\n```\n二\n三\n```\n四", 6, "一\n" },
    { "fence first, longer than all", "```\nab\ncd\n```\n四五", 5, "```\nab\ncd\n```\n" },
    { "open fence is text", "```\nab cd ef gh", 9, "```\nab " },
    { "flag", "🇨🇳🇨🇳🇨🇳", 5, "🇨🇳🇨🇳" },
    { "family", "👨‍👩‍👧👨‍👩‍👧", 7, "👨‍👩‍👧" },
    { "family longer than all", "👨‍👩‍👧x", 2, "👨‍👩‍👧" },
    { "skin tone", "👍🏽👍🏽", 3, "👍🏽" },
    { "combining mark",
      "e\xCC\x81"
      "e\xCC\x81",
      3, "e\xCC\x81" },
    { "CRLF", "ab\r\ncd", 3, "ab" },
    { "max 1", "ab", 1, "a" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct span text = span_of(rows[i].text);
    size_t n = ob_longtext_cut(text, rows[i].max);
    cr_expect(span_is((struct span) { text.ptr, n }, rows[i].first), "%s: [%.*s]", rows[i].label,
              (int)n, text.ptr);
  }
}

Test(longtext, always_moves_on_and_keeps_characters_whole)
{
  static const char *const texts[] = { "\xFF\xFE\x80", "👨‍👩‍👧🇨🇳é", "a\n\n\n\nb",
                                       "```\n```\n```", "https://https://" };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (size_t max = 1; max < 6; max++) {
      struct span rest = span_of(texts[i]);
      while (rest.len) {
        size_t n = ob_longtext_cut(rest, max);
        cr_assert(n > 0 && n <= rest.len, "%s", texts[i]);
        rest = (struct span) { rest.ptr + n, rest.len - n };
      }
    }
  }
}

static const char *applied(enum ob_profile_id profile, enum ob_long_form form, size_t max,
                           const char *segments, struct arena *arena)
{
  struct ob_plan_settings settings = ob_plan_settings_default();
  struct span json =
      arena_printf(arena, "{\"messages\":[{\"reply_to\":\"7\",\"segments\":[%s]}]}", segments);
  struct schema_reply reply = onebot_reply(json.ptr, arena);
  struct ob_target target = { SPAN("1"), { NULL, 0 } };
  const struct ob_author author = { SPAN("9"), SPAN("机器人") };
  struct ob_plan plan;
  cr_assert_eq(
      ob_plan_make(&ob_profiles[profile], &target, SPAN(""), &settings, &reply, arena, &plan, NULL),
      SCHEMA_OK);
  cr_assert_eq(
      ob_longtext_apply(&ob_profiles[profile], &target, form, max, &author, &plan, arena, &plan),
      SCHEMA_OK);
  return onebot_lines(&plan, arena);
}

#define TEXT(t) "{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}"
#define REPLY "{\"type\":\"reply\",\"data\":{\"id\":\"7\"}}"
#define SEND(message) "send_group_msg {\"group_id\":1,\"message\":[" message "]}"

Test(longtext, cuts_sends_and_keeps_order)
{
  static const struct {
    const char *label;
    enum ob_long_form form;
    size_t max;
    const char *segments, *lines;
  } rows[] = {
    { "short", OB_LONG_SPLIT, 9, TEXT("一二三"), SEND(REPLY "," TEXT("一二三")) },
    { "two parts, the quote on the first", OB_LONG_SPLIT, 4, TEXT("一二。\\n三四五"),
      SEND(REPLY "," TEXT("一二。")) "\n" SEND(TEXT("三四五")) },
    { "an at stays with its text", OB_LONG_SPLIT, 4,
      "{\"type\":\"mention\",\"data\":{\"target\":\"10001\"}}," TEXT("一二。三四"),
      SEND(REPLY ",{\"type\":\"at\",\"data\":{\"qq\":\"10001\"}}," TEXT("一二。")) "\n" SEND(
          TEXT("三四")) },
    { "an image behind goes with the last", OB_LONG_SPLIT, 2,
      TEXT("一。二。") ",{\"type\":\"image\",\"data\":{\"media\":{\"kind\":\"url\",\"value\":"
                       "\"https://e.com/a\"}}}",
      SEND(REPLY "," TEXT("一。")) "\n" SEND(
          TEXT("二。") ",{\"type\":\"image\",\"data\":{\"file\":\"https://e.com/a\"}}") },
    { "two texts share a send while they fit", OB_LONG_SPLIT, 4,
      TEXT("一。") "," TEXT("二。三四。"),
      SEND(REPLY "," TEXT("一。") "," TEXT("二。")) "\n" SEND(TEXT("三四。")) },
    { "one forward", OB_LONG_FORWARD, 4, TEXT("一二。\\n三四五"),
      "send_group_forward_msg "
      "{\"group_id\":1,\"messages\":[{\"type\":\"node\",\"data\":{\"user_id\":"
      "\"9\",\"nickname\":\"机器人\",\"content\":[" TEXT(
          "一二。") "]}},{\"type\":\"node\",\"data\":{"
                    "\"user_id\":\"9\",\"nickname\":\"机器人\",\"content\":[" TEXT(
                        "三四五") "]}}]}" },
    { "others stay beside a forward", OB_LONG_FORWARD, 4,
      "{\"type\":\"dice\",\"data\":{}}," TEXT("一二三四五"),
      SEND(REPLY
           ",{\"type\":\"dice\",\"data\":{}}") "\n"
                                               "send_group_forward_msg "
                                               "{\"group_id\":1,\"messages\":[{\"type\":\"node\","
                                               "\"data\":{\"user_id\":"
                                               "\"9\",\"nickname\":\"机器人\",\"content\":[" TEXT(
                                                   "一二三四") "]}},{\"type\":\"node\",\"data\":{"
                                                               "\"user_id\":\"9\",\"nickname\":"
                                                               "\"机器人\",\"content\":[" TEXT(
                                                                   "五") "]}}]}" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    arena_init(&arena, ONEBOT_ARENA_MAX);
    const char *lines = applied(OB_NAPCAT, rows[i].form, rows[i].max, rows[i].segments, &arena);
    cr_expect_str_eq(lines, rows[i].lines, "%s:\n%s", rows[i].label, lines);
    arena_done(&arena);
  }
}

Test(longtext, splits_where_there_are_no_forwards)
{
  struct arena arena;
  arena_init(&arena, ONEBOT_ARENA_MAX);
  const char *lines = applied(OB_ONEBOTS, OB_LONG_FORWARD, 2, TEXT("一二三"), &arena);
  cr_expect_str_eq(lines, SEND(REPLY "," TEXT("一二")) "\n" SEND(TEXT("三")));
  arena_done(&arena);
}
