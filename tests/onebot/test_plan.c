#include <criterion/criterion.h>

#include "tests/lib/onebot.h"

#define S(type, data) "{\"type\":\"" type "\",\"data\":" data "}"
#define TEXT(t) S("text", "{\"text\":\"" t "\"}")
#define AT(q) S("at", "{\"qq\":\"" q "\"}")
#define MENTION(q) S("mention", "{\"target\":\"" q "\"}")
#define MD(t) S("markdown", "{\"content\":\"" t "\"}")
#define KEYS(rows) S("keyboard", "{\"rows\":" rows "}")
#define MEDIA(type, kind, v) S(type, "{\"media\":{\"kind\":\"" kind "\",\"value\":\"" v "\"}}")
#define IMAGE MEDIA("image", "url", "https://e.com/i")
#define IMG S("image", "{\"file\":\"https://e.com/i\"}")
#define DICE S("dice", "{}")
#define SHARE(fields) S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\"" fields "}")
#define SEND(m) "send_group_msg {\"group_id\":1,\"message\":[" m "]}"
#define AND "\n"

static const struct {
  const char *label;
  enum ob_profile_id profile;
  const char *segments, *lines;
} rows[] = {
  { "text", OB_SPEC, TEXT("a"), SEND(TEXT("a")) },
  { "block between texts", OB_NAPCAT, TEXT("a") "," MD("*b*") "," TEXT("c"),
    SEND(TEXT("a\\n") "," TEXT("b\\n") "," TEXT("c")) },
  { "no second line end", OB_NAPCAT, TEXT("a\\n") "," MD("b") "," TEXT("\\nc"),
    SEND(TEXT("a\\n") "," TEXT("b") "," TEXT("\\nc")) },
  { "block after an at", OB_NAPCAT, MENTION("10001") "," MD("b"),
    SEND(AT("10001") "," TEXT("\\n") "," TEXT("b")) },
  { "at after a block", OB_NAPCAT, MD("b") "," MENTION("10001"),
    SEND(TEXT("b\\n") "," AT("10001")) },
  { "two blocks", OB_NAPCAT, MD("b") "," MD("c"), SEND(TEXT("b\\n") "," TEXT("c")) },
  { "block beside an image", OB_NAPCAT, IMAGE "," MD("b") "," IMAGE,
    SEND(IMG "," TEXT("b") "," IMG) },
  { "block beside what is alone", OB_NAPCAT, DICE "," MD("b") "," DICE,
    SEND(DICE) AND SEND(TEXT("b")) AND SEND(DICE) },
  { "an empty block is none", OB_NAPCAT, TEXT("a") "," MD("![i](u)") "," TEXT("b"),
    SEND(TEXT("a") "," TEXT("b")) },
  { "notice after a block", OB_NAPCAT, MD("b") "," MEDIA("image", "path", "x"),
    SEND(TEXT("b\\n") "," TEXT("[图片无法发送]")) },
  { "blank text beside what is alone", OB_NAPCAT, TEXT(" ") "," DICE "," TEXT("\\n\\u3000"),
    SEND(DICE) },
  { "blank text beside an image stays", OB_NAPCAT, TEXT(" ") "," IMAGE, SEND(TEXT(" ") "," IMG) },
  { "three alone", OB_GOCQ, DICE "," S("rps", "{}") "," MEDIA("video", "url", "https://e.com/v"),
    SEND(DICE) AND SEND(S("rps", "{}")) AND SEND(S("video", "{\"file\":\"https://e.com/v\"}")) },
  { "white space of labels", OB_NAPCAT,
    KEYS("[[{\"label\":\" a\\u3000\\n b "
         "\",\"payload\":\"x\"}],[{\"label\":\"c\",\"payload\":\"y\"}]]"),
    SEND(TEXT("请选择（回复数字）：\\n1. a b\\n2. c")) },
  { "buttons without a label or payload take no number", OB_NAPCAT,
    KEYS("[[{\"label\":\"\",\"payload\":\"x\"},{\"label\":\"a\",\"payload\":\"\"},"
         "{\"label\":\"\\u3000\",\"payload\":\"x\"},{\"label\":\"b\",\"payload\":\"y\"}]]"),
    SEND(TEXT("请选择（回复数字）：\\n1. b")) },
  { "file by url", OB_LLBOT, MEDIA("file", "url", "https://e.com/a%20b.txt"),
    SEND(S("file", "{\"file\":\"https://e.com/a%20b.txt\",\"name\":\"a b.txt\"}")) },
  { "file by base64 has no name", OB_NAPCAT, MEDIA("file", "base64", "QUJD"),
    SEND(S("file", "{\"file\":\"base64://QUJD\"}")) },
  { "file in running text", OB_SPEC,
    TEXT("a") "," MEDIA("file", "url", "https://e.com/图") "," TEXT("b"),
    SEND(TEXT("a") "," TEXT("[文件] https://e.com/%E5%9B%BE") "," TEXT("b")) },
  { "upload splits", OB_LAGRANGE,
    TEXT("a") "," MEDIA("file", "path", "file:///d/a%20b") "," TEXT("b"),
    SEND(TEXT("a")) AND
    "upload_group_file {\"group_id\":1,\"file\":\"/d/a b\",\"name\":\"a b\"}" AND SEND(TEXT("b")) },
  { "upload of a folder", OB_LAGRANGE, MEDIA("file", "path", "/d/"), SEND(TEXT("[文件无法发送]")) },
  { "upload of what is no UTF-8", OB_GOCQ, MEDIA("file", "path", "file:///%FF"),
    SEND(TEXT("[文件无法发送]")) },
  { "opaque file is no upload", OB_GOCQ, MEDIA("file", "file", "abc"),
    SEND(TEXT("[文件无法发送]")) },
  { "base64 video", OB_GOCQ, MEDIA("video", "base64", "QUJD"), SEND(TEXT("[视频无法发送]")) },
  { "link words", OB_NAPCAT, TEXT("看") "," SHARE(",\"description\":\"d\"") "," TEXT("吧"),
    SEND(TEXT("看\\n") "," TEXT("t – d\\nhttps://e.com/s\\n") "," TEXT("吧")) },
  { "link notice runs on", OB_GOCQ, TEXT("a") "," S("share", "{\"url\":\"x\",\"title\":\"t\"}"),
    SEND(TEXT("a") "," TEXT("[链接无法发送]")) },
  { "link card is alone", OB_GOCQ, TEXT("a") "," SHARE("") "," TEXT("b"),
    SEND(TEXT("a")) AND SEND(S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\"}"))
        AND SEND(TEXT("b")) },
  { "bad mention", OB_NAPCAT, TEXT("a") "," MENTION("9999"),
    "mention_target at $.messages[0].segments[1].data.target" },
  { "everyone", OB_NAPCAT, MENTION("all"), "mention_all at $.messages[0].segments[0].data.target" },
  { "alias", OB_ONEBOTS, MENTION("10001"),
    "mention_unsupported at $.messages[0].segments[0].data.target" },
  { "escapes in JSON", OB_NAPCAT, TEXT("\\\"\\\\\\u0001\\u2028/"),
    SEND(TEXT("\\\"\\\\\xE2\x80\xA8/")) },
};

Test(plan, becomes_sends)
{
  struct ob_plan_settings settings = ob_plan_settings_default();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    arena_init(&arena, ONEBOT_ARENA_MAX);
    const char *lines = onebot_plan(rows[i].profile, &settings, rows[i].segments, &arena);
    cr_expect_str_eq(lines, rows[i].lines, "%s:\n%s", rows[i].label, lines);
    arena_done(&arena);
  }
}

Test(plan, every_type_on_every_profile_is_shown_or_said)
{
  static const char *const segments[] = {
    TEXT("x"),
    MD("x"),
    IMAGE,
    MEDIA("audio", "url", "https://e.com/a"),
    MEDIA("video", "url", "https://e.com/a"),
    MEDIA("file", "url", "https://e.com/a"),
    MEDIA("image", "file", "x"),
    MEDIA("audio", "path", "/x"),
    MEDIA("video", "base64", "QUJD"),
    KEYS("[[{\"label\":\"a\",\"payload\":\"b\"}]]"),
    SHARE(""),
    SHARE(",\"audio\":\"https://e.com/a\",\"platform\":\"qq\""),
    DICE,
    S("rps", "{}"),
  };
  for (int p = 0; p < OB_PROFILE_COUNT; p++) {
    for (int card = OB_CARD_AUTO; card <= OB_CARD_TEXT; card++) {
      for (int language = SCHEMA_ZH; language <= SCHEMA_EN; language++) {
        struct ob_plan_settings settings = ob_plan_settings_default();
        settings.card = (enum ob_card)card;
        settings.language = (enum schema_language)language;
        for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
          struct arena arena;
          struct schema_node *params;
          arena_init(&arena, ONEBOT_ARENA_MAX);
          const char *lines = onebot_plan((enum ob_profile_id)p, &settings, segments[i], &arena);
          const char *space = strchr(lines, ' ');
          cr_assert(space && !strchr(lines, '\n'), "%s %s: %s", ob_profiles[p].name, segments[i],
                    lines);
          cr_expect_eq(schema_tree_read(span_of(space + 1), 16, &arena, &params, NULL), SCHEMA_OK,
                       "%s", lines);
          arena_done(&arena);
        }
      }
    }
  }
}

Test(plan, marks_cards_and_counts_characters)
{
  struct arena arena;
  struct ob_plan plan;
  struct ob_plan_settings settings = ob_plan_settings_default();
  struct ob_target target = { SPAN("1"), { NULL, 0 } };
  arena_init(&arena, ONEBOT_ARENA_MAX);
  struct schema_reply reply =
      onebot_reply("{\"messages\":[{\"segments\":[" TEXT("一二") "]},{\"segments\":[" TEXT(
                       "三") "," SHARE(",\"audio\":\"https://e.com/a\",\"image\":\"https://e.com/"
                                       "i\"") "]}],\"reaction\":\"76\"}",
                   &arena);
  cr_assert_eq(ob_plan_make(&ob_profiles[OB_NAPCAT], &target, SPAN("7"), &settings, &reply, &arena,
                            &plan, NULL),
               SCHEMA_OK);
  cr_assert_eq(plan.count, 4u);
  cr_expect_eq(plan.steps[0].kind, OB_STEP_REACTION);
  cr_expect_eq(plan.steps[1].chars, 2u);
  cr_expect_eq(plan.steps[2].message, 1u);
  cr_expect_eq(plan.steps[2].chars, 1u);
  cr_expect(plan.steps[3].card && plan.steps[3].message == 1);
  cr_expect(span_is(plan.steps[3].card_text, "t\nhttps://e.com/s"));
  cr_expect_not(plan.steps[2].card);
  arena_done(&arena);
}

Test(plan, quotes_in_the_first_send_that_is_made)
{
  static const struct {
    enum ob_profile_id profile;
    const char *id, *segments, *lines;
  } quotes[] = {
    { OB_NAPCAT, "-7", TEXT("a"), SEND(S("reply", "{\"id\":\"-7\"}") "," TEXT("a")) },
    { OB_NAPCAT, "7", TEXT(" ") "," DICE "," TEXT("b"),
      SEND(S("reply", "{\"id\":\"7\"}") "," DICE) AND SEND(TEXT("b")) },
    { OB_NAPCAT, "0", TEXT("a"), SEND(TEXT("a")) },
    { OB_NAPCAT, "abc", TEXT("a"), SEND(TEXT("a")) },
    { OB_LAGRANGE, "3000000001", TEXT("a"), SEND(TEXT("a")) },
    { OB_ONEBOTS, "aB+/=-_.:9", TEXT("a"),
      SEND(S("reply", "{\"id\":\"aB+/=-_.:9\"}") "," TEXT("a")) },
    { OB_ONEBOTS, "a\\\"b", TEXT("a"), SEND(TEXT("a")) },
    { OB_ONEBOTS, "<tool_call>", TEXT("a"), SEND(TEXT("a")) },
    { OB_ONEBOTS, "那条", TEXT("a"), SEND(TEXT("a")) },
    { OB_LAGRANGE, "7", MEDIA("file", "path", "/a") "," TEXT("b"),
      "upload_group_file {\"group_id\":1,\"file\":\"/a\",\"name\":\"a\"}" AND SEND(
          S("reply", "{\"id\":\"7\"}") "," TEXT("b")) },
  };
  for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
    struct arena arena;
    struct ob_plan plan;
    struct ob_plan_settings settings = ob_plan_settings_default();
    struct ob_target target = { SPAN("1"), { NULL, 0 } };
    arena_init(&arena, ONEBOT_ARENA_MAX);
    struct span json =
        arena_printf(&arena, "{\"messages\":[{\"reply_to\":\"%s\",\"segments\":[%s]}]}",
                     quotes[i].id, quotes[i].segments);
    struct schema_reply reply = onebot_reply(json.ptr, &arena);
    cr_assert_eq(ob_plan_make(&ob_profiles[quotes[i].profile], &target, SPAN(""), &settings, &reply,
                              &arena, &plan, NULL),
                 SCHEMA_OK);
    const char *lines = onebot_lines(&plan, &arena);
    cr_expect_str_eq(lines, quotes[i].lines, "row %zu:\n%s", i, lines);
    arena_done(&arena);
  }
}

Test(plan, a_listed_reaction_may_be_unproven)
{
  static const struct {
    const char *listed, *reaction;
    bool given;
  } listings[] = {
    { "斜眼笑", "178", true }, { "178", "/斜眼笑", true },  { "76", "178", false },
    { "76", "182", true },     { "99999", "99999", false },
  };
  for (size_t i = 0; i < sizeof listings / sizeof *listings; i++) {
    struct arena arena;
    struct ob_plan plan;
    struct ob_plan_settings settings = ob_plan_settings_default();
    const struct span list = span_of(listings[i].listed);
    settings.reaction_list = &list;
    settings.reaction_list_count = 1;
    struct ob_target target = { SPAN("1"), { NULL, 0 } };
    struct schema_reply reply = { NULL, 0, span_of(listings[i].reaction) };
    arena_init(&arena, ONEBOT_ARENA_MAX);
    cr_assert_eq(ob_plan_make(&ob_profiles[OB_LLBOT], &target, SPAN("7"), &settings, &reply, &arena,
                              &plan, NULL),
                 SCHEMA_OK);
    cr_expect_eq(plan.count == 1, listings[i].given, "%s, %s", listings[i].listed,
                 listings[i].reaction);
    arena_done(&arena);
  }
}

Test(plan, nothing_that_is_offered_is_refused)
{
  static const char *const samples[SCHEMA_TYPE_COUNT] = {
    [SCHEMA_TEXT] = TEXT("x"),
    [SCHEMA_MENTION] = MENTION("10001"),
    [SCHEMA_MARKDOWN] = MD("x"),
    [SCHEMA_IMAGE] = IMAGE,
    [SCHEMA_AUDIO] = MEDIA("audio", "url", "https://e.com/a"),
    [SCHEMA_VIDEO] = MEDIA("video", "url", "https://e.com/a"),
    [SCHEMA_FILE] = MEDIA("file", "path", "/d/a"),
    [SCHEMA_KEYBOARD] = KEYS("[[{\"label\":\"a\",\"payload\":\"b\"}]]"),
    [SCHEMA_SHARE] = SHARE(""),
    [SCHEMA_DICE] = DICE,
    [SCHEMA_RPS] = S("rps", "{}"),
  };
  for (int p = 0; p < OB_PROFILE_COUNT; p++) {
    struct arena arena;
    struct schema_offer offer;
    struct ob_plan_settings settings = ob_plan_settings_default();
    arena_init(&arena, ONEBOT_ARENA_MAX);
    ob_plan_offer(&ob_profiles[p], &settings, (1u << SCHEMA_TYPE_COUNT) - 1, true, &arena, &offer);
    cr_expect_eq(offer.offers_reaction, ob_profiles[p].reaction != OB_REACT_NONE);
    cr_expect_eq(schema_offers(&offer, SCHEMA_MENTION), p != OB_ONEBOTS);
    cr_expect_eq(schema_offers(&offer, SCHEMA_DICE), p != OB_ONEBOTS);
    cr_expect_eq(schema_offers(&offer, SCHEMA_FILE), p != OB_ONEBOTS && p != OB_SPEC);
    cr_expect_eq(offer.share_field_count, p == OB_ONEBOTS ? 0u : 4u, "%s", ob_profiles[p].name);
    cr_expect_eq(offer.hint_count, p == OB_ONEBOTS ? 0u : 1u);
    for (int t = 0; t < SCHEMA_TYPE_COUNT; t++) {
      if (!schema_offers(&offer, (enum schema_type)t)) continue;
      const char *lines = onebot_plan((enum ob_profile_id)p, &settings, samples[t], &arena);
      cr_expect(strchr(lines, '{') && !strstr(lines, "无法发送"), "%s: %s", ob_profiles[p].name,
                lines);
    }
    for (size_t i = 0; i < offer.reaction_count; i++)
      cr_expect(offer.reactions[i].value.len && offer.reactions[i].label.len);
    arena_done(&arena);
  }
}

Test(plan, offer_follows_the_settings)
{
  struct arena arena;
  struct schema_offer offer;
  const struct ob_profile *napcat = &ob_profiles[OB_NAPCAT];
  const struct span list[] = { SPAN("赞"), SPAN("76"), SPAN("斜眼笑"), SPAN("没有"), SPAN("👍") };
  struct ob_plan_settings settings = ob_plan_settings_default();
  arena_init(&arena, ONEBOT_ARENA_MAX);
  settings.reaction_list = list;
  settings.reaction_list_count = 5;
  ob_plan_offer(napcat, &settings, 1u << SCHEMA_IMAGE, true, &arena, &offer);
  cr_expect_eq(offer.types, 1u << SCHEMA_IMAGE | 1u << SCHEMA_TEXT);
  cr_assert_eq(offer.reaction_count, 3u);
  cr_expect(span_is(offer.reactions[0].value, "76") && span_is(offer.reactions[0].label, "赞"));
  cr_expect(span_is(offer.reactions[1].value, "178"));
  cr_expect(span_is(offer.reactions[2].value, "128077"));
  ob_plan_offer(napcat, &settings, 0, false, &arena, &offer);
  cr_expect_not(offer.offers_reaction);
  settings.reactions = false;
  ob_plan_offer(napcat, &settings, 0, true, &arena, &offer);
  cr_expect_not(offer.offers_reaction);
  settings.card = OB_CARD_TEXT;
  ob_plan_offer(napcat, &settings, 1u << SCHEMA_SHARE, true, &arena, &offer);
  cr_expect_eq(offer.share_field_count, 4u); /* what was offered before stays sound */
  settings.card = OB_CARD_AUTO;
  settings.share_platforms = 1u << OB_NETEASE;
  settings.language = SCHEMA_EN;
  ob_plan_offer(napcat, &settings, 1u << SCHEMA_SHARE, true, &arena, &offer);
  cr_assert_eq(offer.hint_count, 1u);
  cr_expect(span_ends(offer.hints[0].text, SPAN("platform one of netease")), "%s",
            offer.hints[0].text.ptr);
  arena_done(&arena);
}

Test(plan, survives_any_lack_of_memory)
{
  struct arena big;
  arena_init(&big, ONEBOT_ARENA_MAX);
  struct schema_reply reply = onebot_reply(
      "{\"messages\":[{\"segments\":[" TEXT("a") "," MD("**b**") "," KEYS(
          "[[{\"label\":\"a\",\"payload\":\"b\"}]]") "," IMAGE "," DICE
                                                     "," SHARE("") "]}],"
                                                                   "\"reaction\":\"76\"}",
      &big);
  struct ob_plan_settings settings = ob_plan_settings_default();
  struct ob_target target = { SPAN("1"), { NULL, 0 } };
  bool made = false;
  for (size_t max = 0; !made; max += 16) {
    struct arena arena;
    struct ob_plan plan;
    struct schema_error error = { .code = SCHEMA_OK };
    arena_init(&arena, max);
    enum schema_code code = ob_plan_make(&ob_profiles[OB_NAPCAT], &target, SPAN("7"), &settings,
                                         &reply, &arena, &plan, &error);
    made = code == SCHEMA_OK;
    cr_expect(made ? plan.count == 4 : code == SCHEMA_ENOMEM, "at %zu bytes: %d", max, code);
    arena_done(&arena);
    cr_assert_lt(max, 1u << 20);
  }
  arena_done(&big);
}
