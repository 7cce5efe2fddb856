/* The judge of a framework's own actions, with inspect and wire behind it. */
#include <criterion/criterion.h>

#include "tests/lib/onebot.h"

#define S(type, data) "{\"type\":\"" type "\",\"data\":" data "}"
#define TEXT(t) S("text", "{\"text\":\"" t "\"}")
#define FRAME(name, params) "{\"action\":\"" name "\",\"params\":" params "}"
#define GIVEN(m) FRAME("send_group_msg", "{\"group_id\":1,\"message\":" m "}")
#define SENT(m) "send_group_msg {\"group_id\":1,\"message\":[" m "]}"
#define AND "\n"
#define PASS "pass"

struct row {
  const char *label;
  enum ob_profile_id profile;
  const char *frame, *result; /* a drop: "drop CODE", the reason is not compared */
};

static void run(const struct row *rows, size_t count, const struct ob_action_settings *settings)
{
  for (size_t i = 0; i < count; i++) {
    struct arena arena;
    arena_init(&arena, ONEBOT_ARENA_MAX);
    const char *got = onebot_judge(rows[i].profile, settings, rows[i].frame, &arena);
    size_t n = strlen(rows[i].result);
    bool drop = strncmp(rows[i].result, "drop ", 5) == 0;
    bool same = drop ? strncmp(got, rows[i].result, n) == 0 && (!got[n] || got[n] == ':')
                     : strcmp(got, rows[i].result) == 0;
    cr_expect(same, "%s:\n got %s\nwant %s", rows[i].label, got, rows[i].result);
    arena_done(&arena);
  }
}

static struct ob_action_settings usual(void)
{
  return (struct ob_action_settings) { .plan = ob_plan_settings_default(),
                                       .segments = (1u << SCHEMA_TYPE_COUNT) - 1 };
}

#define RUN(rows, settings) run(rows, sizeof(rows) / sizeof *(rows), &(settings))

Test(action, judges_names)
{
  static const struct row rows[] = {
    { "unknown", OB_NAPCAT, FRAME("get_status", "{}"), PASS },
    { "unknown with a suffix", OB_NAPCAT, FRAME("get_status_async", "{}"), PASS },
    { "no params", OB_NAPCAT, "{\"action\":\"get_status\"}", PASS },
    { "a message without params", OB_NAPCAT, "{\"action\":\"send_msg\"}", "drop type" },
    { "params null", OB_NAPCAT, FRAME("send_group_msg", "null"), "drop type" },
    { "suffixes", OB_NAPCAT,
      FRAME("send_group_msg_rate_limited_async", "{\"group_id\":1,\"message\":[" TEXT("a") "]}"),
      SENT(TEXT("a")) },
    { "a suffix within", OB_NAPCAT, FRAME("send_async_group_msg", "{}"), PASS },
    { "only a suffix", OB_NAPCAT, FRAME("_async", "{}"), PASS },
    { "capitals", OB_NAPCAT, FRAME("Send_Msg_Async", "{}"), "drop argument" },
    { "slashes", OB_NAPCAT, FRAME("//send_msg", "{}"), "drop argument" },
    { "slash and space", OB_NAPCAT, FRAME("/ send_msg ", "{}"), "drop argument" },
    { "NUL behind", OB_NAPCAT, FRAME("send_msg\\u0000", "{}"), "drop argument" },
    { "denied", OB_NAPCAT, FRAME(".send_packet", "{}"), "drop argument" },
    { "denied, disguised", OB_NAPCAT, FRAME(" SEND_PB", "{}"), "drop argument" },
    { "not denied", OB_NAPCAT, FRAME("send_packets", "{}"), PASS },
    { "empty name", OB_NAPCAT, FRAME("", "{}"), PASS },
    { "no object", OB_NAPCAT, "[]", "drop type" },
    { "no JSON", OB_NAPCAT, "{'action':1}", "drop syntax" },
    { "doubled key", OB_NAPCAT, "{\"action\":\"a\",\"action\":\"b\"}", "drop duplicate_key" },
    { "doubled key within", OB_NAPCAT,
      GIVEN("[{\"type\":\"text\",\"data\":{\"text\":\"a\",\"text\":\"b\"}}]"),
      "drop duplicate_key" },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

Test(action, judges_targets)
{
  static const struct row rows[] = {
    { "own id missing", OB_NAPCAT, FRAME("send_group_msg", "{\"user_id\":5,\"message\":\"a\"}"),
      "drop target" },
    { "fraction", OB_NAPCAT, FRAME("send_group_msg", "{\"group_id\":1.0,\"message\":\"a\"}"),
      "drop target" },
    { "exponent", OB_NAPCAT, FRAME("send_group_msg", "{\"group_id\":1e3,\"message\":\"a\"}"),
      "drop target" },
    { "sign", OB_NAPCAT, FRAME("send_group_msg", "{\"group_id\":\"+1\",\"message\":\"a\"}"),
      "drop target" },
    { "array", OB_NAPCAT, FRAME("send_group_msg", "{\"group_id\":[1],\"message\":\"a\"}"),
      "drop target" },
    { "Lagrange ends at 32 bits", OB_LAGRANGE,
      FRAME("send_group_msg", "{\"group_id\":4294967296,\"message\":\"a\"}"), "drop target" },
    { "foreign id goes", OB_NAPCAT,
      FRAME("send_private_msg", "{\"user_id\":5,\"group_id\":1,\"message\":\"a\"}"),
      "send_private_msg {\"user_id\":5,\"message\":[" TEXT("a") "]}" },
    { "absent forms", OB_NAPCAT,
      FRAME("send_msg",
            "{\"user_id\":null,\"group_id\":\"1\",\"message_type\":\"\",\"message\":\"a\"}"),
      SENT(TEXT("a")) },
    { "bad other id", OB_NAPCAT,
      FRAME("send_msg", "{\"user_id\":\"x\",\"group_id\":1,\"message\":\"a\"}"), "drop target" },
    { "no id", OB_NAPCAT, FRAME("send_msg", "{\"message\":\"a\"}"), "drop target" },
    { "type decides", OB_NAPCAT,
      FRAME("send_msg",
            "{\"user_id\":5,\"group_id\":1,\"message_type\":\"private\",\"message\":\"a\"}"),
      "send_private_msg {\"user_id\":5,\"message\":[" TEXT("a") "]}" },
    { "type of another kind", OB_NAPCAT,
      FRAME("send_msg", "{\"group_id\":1,\"message_type\":\"guild\",\"message\":\"a\"}"),
      "drop target" },
    { "type is a number", OB_NAPCAT,
      FRAME("send_msg", "{\"group_id\":1,\"message_type\":1,\"message\":\"a\"}"), "drop target" },
    { "type contradicts", OB_NAPCAT,
      FRAME("send_group_msg", "{\"group_id\":1,\"message_type\":\"private\",\"message\":\"a\"}"),
      "drop target" },
    { "19 digits", OB_ONEBOTS,
      FRAME("send_private_msg", "{\"user_id\":9007199254740993,\"message\":[" TEXT("a") "]}"),
      PASS },
    { "more keys go", OB_NAPCAT,
      FRAME("send_group_msg", "{\"group_id\":1,\"message\":[" TEXT("a") "],\"timeout\":5}"),
      SENT(TEXT("a")) },
    { "guild", OB_GOCQ,
      FRAME("send_guild_channel_msg", "{\"guild_id\":\"5\",\"channel_id\":6,\"message\":\"a\"}"),
      "send_guild_channel_msg {\"guild_id\":\"5\",\"channel_id\":\"6\",\"message\":[" TEXT(
          "a") "]}" },
    { "guild in form", OB_GOCQ,
      FRAME("send_guild_channel_msg",
            "{\"guild_id\":\"5\",\"channel_id\":\"6\",\"message\":[" TEXT("a") "]}"),
      PASS },
    { "guild without a channel", OB_GOCQ,
      FRAME("send_guild_channel_msg", "{\"guild_id\":\"5\",\"message\":\"a\"}"), "drop target" },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

Test(action, settles_messages)
{
  static const struct row rows[] = {
    { "in form", OB_NAPCAT,
      GIVEN("[" TEXT("a") "," S("at", "{\"qq\":\"10001\"}") "," TEXT("b") "]"), PASS },
    { "two texts pass", OB_NAPCAT, GIVEN("[" TEXT("a") "," TEXT("b") "]"), PASS },
    { "missing", OB_NAPCAT, FRAME("send_group_msg", "{\"group_id\":1}"), "drop type" },
    { "empty array", OB_NAPCAT, GIVEN("[]"), "drop empty" },
    { "empty string", OB_NAPCAT, GIVEN("\"\""), "drop empty" },
    { "blank", OB_NAPCAT, GIVEN("[" TEXT(" \\u3000") "]"), "drop empty" },
    { "only a quote", OB_NAPCAT, GIVEN("[" S("reply", "{\"id\":\"7\"}") "]"), "drop empty" },
    { "auto_escape 1 escapes nothing", OB_NAPCAT,
      FRAME("send_group_msg", "{\"group_id\":1,\"message\":\"[CQ:dice]\",\"auto_escape\":1}"),
      SENT(S("dice", "{}")) },
    { "auto_escape as a word", OB_NAPCAT,
      FRAME("send_group_msg",
            "{\"group_id\":1,\"message\":\"[CQ:dice]\",\"auto_escape\":\"true\"}"),
      SENT(TEXT("[CQ:dice]")) },
    { "auto_escape false goes", OB_NAPCAT,
      FRAME("send_group_msg", "{\"group_id\":1,\"message\":[" TEXT("a") "],\"auto_escape\":false}"),
      SENT(TEXT("a")) },
    { "segment without a type", OB_NAPCAT, GIVEN("[{\"data\":{\"text\":\"a\"}}]"), "drop type" },
    { "type of another type", OB_NAPCAT, GIVEN("[{\"type\":5,\"data\":{}}]"), "drop type" },
    { "unknown type", OB_NAPCAT, GIVEN("[" S("poll", "{}") "]"), "drop segment" },
    { "a very long type", OB_NAPCAT,
      GIVEN(
          "[" S("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "{}") "]"),
      "drop segment" },
    { "data an array", OB_NAPCAT, GIVEN("[" S("text", "[]") "]"), "drop type" },
    { "text an object", OB_NAPCAT, GIVEN("[" S("text", "{\"text\":{}}") "]"), "drop segment" },
    { "text null", OB_NAPCAT, GIVEN("[" S("text", "{\"text\":null}") "," TEXT("a") "]"),
      SENT(TEXT("a")) },
    { "more in a text goes", OB_NAPCAT, GIVEN("[" S("text", "{\"text\":\"a\",\"x\":1}") "]"),
      SENT(TEXT("a")) },
    { "more in an at goes", OB_NAPCAT, GIVEN("[" S("at", "{\"qq\":10001,\"name\":\"x\"}") "]"),
      SENT(S("at", "{\"qq\":\"10001\"}")) },
    { "numbers but a few", OB_NAPCAT,
      GIVEN("[" S("face", "{\"id\":76,\"chainCount\":3,\"resultId\":5,\"large\":true}") "]"),
      SENT(S("face", "{\"id\":\"76\",\"chainCount\":3,\"resultId\":\"5\",\"large\":true}")) },
    { "a big number keeps its digits", OB_NAPCAT,
      GIVEN("[" S("forward", "{\"id\":7512345678901234567}") "]"),
      SENT(S("forward", "{\"id\":\"7512345678901234567\"}")) },
    { "empty and null go", OB_NAPCAT,
      GIVEN(
          "[" S("image", "{\"file\":\"https://e.com/a\",\"summary\":\"\",\"sub_type\":null}") "]"),
      SENT(S("image", "{\"file\":\"https://e.com/a\"}")) },
    { "face without an id", OB_NAPCAT, GIVEN("[" S("face", "{}") "]"), "drop segment" },
    { "alone parts split", OB_NAPCAT,
      GIVEN("[" TEXT("a") "," S("record", "{\"file\":\"https://e.com/a\"}") "," TEXT("b") "]"),
      SENT(TEXT("a")) AND SENT(S("record", "{\"file\":\"https://e.com/a\"}")) AND SENT(TEXT("b")) },
    { "quote stays first", OB_NAPCAT,
      GIVEN("[" S("reply", "{\"id\":\"7\"}") "," S("dice", "{}") "," TEXT("b") "]"),
      SENT(S("reply", "{\"id\":\"7\"}") "," S("dice", "{}")) AND SENT(TEXT("b")) },
    { "quote in form", OB_NAPCAT, GIVEN("[" S("reply", "{\"id\":\"7\"}") "," TEXT("b") "]"), PASS },
    { "quote moves to the front", OB_NAPCAT,
      GIVEN("[" TEXT("b") "," S("reply", "{\"id\":\"7\"}") "]"),
      SENT(S("reply", "{\"id\":\"7\"}") "," TEXT("b")) },
    { "only the first quote", OB_NAPCAT,
      GIVEN("[" S("reply", "{\"id\":\"7\"}") "," S("reply", "{\"id\":\"8\"}") "," TEXT("b") "]"),
      SENT(S("reply", "{\"id\":\"7\"}") "," TEXT("b")) },
    { "quote by seq", OB_NAPCAT, GIVEN("[" S("reply", "{\"seq\":8}") "," TEXT("b") "]"), PASS },
    { "quote by seq elsewhere", OB_LLBOT, GIVEN("[" S("reply", "{\"seq\":8}") "," TEXT("b") "]"),
      "drop segment" },
    { "quote of nothing", OB_NAPCAT, GIVEN("[" S("reply", "{\"id\":0}") "," TEXT("b") "]"),
      "drop segment" },
    { "quote by any id", OB_ONEBOTS,
      GIVEN("[" S("reply", "{\"message_id\":\"ab=\"}") "," TEXT("b") "]"),
      SENT(S("reply", "{\"id\":\"ab=\"}") "," TEXT("b")) },
    { "quote of words", OB_ONEBOTS,
      GIVEN("[" S("reply", "{\"message_id\":\"那条\"}") "," TEXT("b") "]"), "drop segment" },
    { "private mentions go", OB_NAPCAT,
      FRAME("send_private_msg",
            "{\"user_id\":5,\"message\":[" S("at", "{\"qq\":\"10001\"}") "," TEXT("a") "]}"),
      "send_private_msg {\"user_id\":5,\"message\":[" TEXT("a") "]}" },
    { "bad private mentions refuse", OB_NAPCAT,
      FRAME("send_private_msg",
            "{\"user_id\":5,\"message\":[" S("at", "{\"qq\":\"0\"}") "," TEXT("a") "]}"),
      "drop mention_target" },
    { "at all", OB_NAPCAT, GIVEN("\"[CQ:at,qq=all]\""), "drop mention_all" },
    { "json by text", OB_NAPCAT, GIVEN("[" S("json", "{\"data\":\"{}\"}") "]"), PASS },
    { "json by object", OB_NAPCAT,
      GIVEN("[" S("json", "{\"data\":{\"b\":1.50,\"a\":[true,null]}}") "]"),
      SENT(S("json", "{\"data\":\"{\\\"b\\\":1.50,\\\"a\\\":[true,null]}\"}")) },
    { "json without data", OB_NAPCAT, GIVEN("[" S("json", "{}") "]"), "drop segment" },
    { "shake", OB_LLBOT, GIVEN("[" S("shake", "{}") "]"), PASS },
    { "shake elsewhere", OB_NAPCAT, GIVEN("[" S("shake", "{}") "]"), "drop segment" },
    { "a file is no segment on Lagrange", OB_LAGRANGE,
      GIVEN("[" S("file", "{\"file\":\"https://e.com/a\"}") "]"), "drop segment" },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

Test(action, settles_media)
{
  static const struct row rows[] = {
    { "file before url", OB_NAPCAT,
      GIVEN("[" S("image", "{\"url\":\"https://e.com/u\",\"file\":\"https://e.com/f\"}") "]"),
      SENT(S("image", "{\"file\":\"https://e.com/f\"}")) },
    { "path last", OB_NAPCAT,
      GIVEN("[" S("image", "{\"path\":\"/a\",\"url\":\"https://e.com/u\"}") "]"),
      SENT(S("image", "{\"file\":\"https://e.com/u\"}")) },
    { "opaque gives way where there is none", OB_LAGRANGE,
      GIVEN("[" S("image", "{\"file\":\"a.png\",\"url\":\"https://e.com/u\"}") "]"),
      SENT(S("image", "{\"file\":\"https://e.com/u\"}")) },
    { "opaque alone", OB_LAGRANGE, GIVEN("[" S("image", "{\"file\":\"a.png\"}") "]"),
      "drop media" },
    { "path", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"/a b\"}") "]"),
      SENT(S("image", "{\"file\":\"file:///a%20b\"}")) },
    { "path in form", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"file:///a%20b\"}") "]"), PASS },
    { "Windows path", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"C:\\\\p\\\\a.png\"}") "]"),
      PASS },
    { "Windows path on Lagrange", OB_LAGRANGE,
      GIVEN("[" S("image", "{\"file\":\"C:\\\\p\\\\a.png\"}") "]"), "drop media" },
    { "climbing", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"file:///a/../b\"}") "]"),
      "drop media" },
    { "climbing Windows path", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"C:\\\\..\\\\a\"}") "]"),
      "drop media" },
    { "data address", OB_NAPCAT,
      GIVEN("[" S("image", "{\"file\":\"data:image/png;base64,QUJD\"}") "]"),
      SENT(S("image", "{\"file\":\"base64://QUJD\"}")) },
    { "padding", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":\"base64://QUI\"}") "]"),
      SENT(S("image", "{\"file\":\"base64://QUI=\"}")) },
    { "user in an address", OB_NAPCAT,
      GIVEN("[" S("image", "{\"file\":\"https://u:p@e.com/a\"}") "]"), "drop media" },
    { "preview", OB_NAPCAT,
      GIVEN("[" S("video", "{\"file\":\"https://e.com/a\",\"thumb\":\"file:///../x\"}") "]"),
      "drop media" },
    { "preview in form", OB_NAPCAT,
      GIVEN("[" S("video", "{\"file\":\"https://e.com/a\",\"thumb\":\"https://e.com/t\"}") "]"),
      PASS },
    { "base64 video", OB_GOCQ, GIVEN("[" S("video", "{\"file\":\"base64://QUJD\"}") "]"),
      "drop media" },
    { "name with a slash", OB_NAPCAT,
      GIVEN("[" S("file", "{\"file\":\"https://e.com/a\",\"name\":\"../x\"}") "]"), "drop media" },
    { "file number", OB_NAPCAT, GIVEN("[" S("image", "{\"file\":5}") "]"), "drop media" },
    { "upload", OB_NAPCAT,
      FRAME("upload_group_file", "{\"group_id\":1,\"file\":\"/a\",\"name\":\"b\"}"), PASS },
    { "upload of a Windows path", OB_LAGRANGE,
      FRAME("upload_group_file", "{\"group_id\":1,\"file\":\"D:\\\\a.zip\"}"), PASS },
    { "upload that climbs", OB_LAGRANGE,
      FRAME("upload_private_file_async", "{\"user_id\":1,\"file\":\"/a/../b\",\"name\":\"b\"}"),
      "drop media" },
    { "upload with a bad name", OB_NAPCAT,
      FRAME("upload_group_file", "{\"group_id\":1,\"file\":\"/a\",\"name\":\"a\\\\b\"}"),
      "drop media" },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

#define URLS "\"url\":\"https://e.com/s\",\"audio\":\"https://e.com/a\""

Test(action, settles_cards_and_text_forms)
{
  static const struct row rows[] = {
    { "music by id", OB_NAPCAT, GIVEN("[" S("music", "{\"type\":\"qq\",\"id\":\"5\"}") "]"), PASS },
    { "alias", OB_LLBOT, GIVEN("[" S("music", "{\"type\":\"netease\",\"id\":5}") "]"),
      SENT(S("music", "{\"type\":\"163\",\"id\":\"5\"}")) },
    { "id on custom goes", OB_LLBOT,
      GIVEN("[" S("music", "{\"type\":\"custom\",\"id\":\"5\"," URLS ",\"title\":\"t\"}") "]"),
      SENT(S("music", "{\"type\":\"custom\"," URLS ",\"title\":\"t\"}")) },
    { "xm", OB_NAPCAT, GIVEN("[" S("music", "{\"type\":\"xm\",\"id\":\"5\"}") "]"),
      "drop segment" },
    { "xm by the specification", OB_SPEC,
      GIVEN("[" S("music", "{\"type\":\"xm\",\"id\":\"5\"}") "]"), PASS },
    { "unknown music type", OB_NAPCAT, GIVEN("[" S("music", "{\"type\":\"spotify\"," URLS "}") "]"),
      "drop segment" },
    { "custom in form", OB_NAPCAT,
      GIVEN("[" S("music", "{\"type\":\"custom\"," URLS
                           ",\"title\":\"t\",\"image\":\"https://e.com/i\"}") "]"),
      PASS },
    { "custom without title", OB_LLBOT, GIVEN("[" S("music", "{\"type\":\"custom\"," URLS "}") "]"),
      SENT(TEXT("https://e.com/s")) },
    { "go-cqhttp gets voice", OB_GOCQ,
      GIVEN("[" S("music", "{\"type\":\"custom\"," URLS ",\"title\":\"t\"}") "]"),
      SENT(S("music",
             "{\"type\":\"custom\"," URLS ",\"voice\":\"https://e.com/a\",\"title\":\"t\"}")) },
    { "a platform becomes a subtype", OB_GOCQ,
      GIVEN("[" S("music", "{\"type\":\"kugou\"," URLS ",\"title\":\"t\"}") "]"),
      SENT(S("music", "{\"type\":\"custom\",\"subtype\":\"kugou\"," URLS
                      ",\"voice\":\"https://e.com/a\",\"title\":\"t\"}")) },
    { "a platform in the specification", OB_SPEC,
      GIVEN("[" S("music", "{\"type\":\"qq\"," URLS ",\"title\":\"t\"}") "]"),
      SENT(S("music", "{\"type\":\"custom\"," URLS ",\"title\":\"t\"}")) },
    { "no music on OneBots", OB_ONEBOTS,
      GIVEN("[" S("music", "{\"type\":\"custom\"," URLS ",\"title\":\"t\",\"content\":\"c\"}") "]"),
      SENT(TEXT("t – c\\nhttps://e.com/s")) },
    { "nothing to show", OB_NAPCAT, GIVEN("[" S("music", "{\"type\":\"qq\"}") "]"),
      "drop segment" },
    { "share as text", OB_NAPCAT,
      GIVEN("[" S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\"}") "]"),
      SENT(TEXT("t\\nhttps://e.com/s")) },
    { "share with a bad image", OB_GOCQ,
      GIVEN("[" S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\",\"image\":\"x\"}") "]"),
      SENT(S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\"}")) },
    { "swapped share", OB_ONEBOTS,
      GIVEN("[" S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\",\"content\":\"c\"}") "]"),
      SENT(S("share", "{\"url\":\"https://e.com/s\",\"title\":\"t\"}")) },
    { "share without an address", OB_NAPCAT, GIVEN("[" S("share", "{\"title\":\"t\"}") "]"),
      "drop media" },
    { "markdown", OB_NAPCAT, GIVEN("[" S("markdown", "{\"content\":\"# a\"}") "," TEXT("b") "]"),
      SENT(TEXT("a\\n") "," TEXT("b")) },
    { "markdown of Lagrange", OB_LAGRANGE,
      GIVEN("[" S("markdown", "{\"content\":\"{\\\"content\\\":\\\"**a**\\\"}\"}") "]"),
      SENT(TEXT("a")) },
    { "markdown that is nothing", OB_NAPCAT, GIVEN("[" S("markdown", "{\"content\":\"\"}") "]"),
      "drop empty" },
    { "keyboard of zhin", OB_NAPCAT,
      GIVEN("[" S("keyboard", "{\"rows\":[[{\"label\":\"a\",\"data\":\"x\"},{\"label\":\"b\","
                              "\"payload\":\"y\"}]]}") "]"),
      SENT(TEXT("请选择（回复数字）：\\n1. a\\n2. b")) },
    { "keyboard of Lagrange", OB_LAGRANGE,
      GIVEN("[" S("keyboard", "{\"content\":{\"rows\":[{\"buttons\":[{\"render_data\":{\"label\":"
                              "\"a\"},\"action\":{\"data\":\"x\"}}]}]}}") "]"),
      SENT(TEXT("请选择（回复数字）：\\n1. a")) },
    { "keyboard of LLBot", OB_LLBOT,
      GIVEN("[" S("keyboard", "{\"rows\":[{\"buttons\":[{\"render_data\":{\"label\":\"a\"},"
                              "\"action\":{\"data\":\"x\"}}]}]}") "]"),
      SENT(TEXT("请选择（回复数字）：\\n1. a")) },
    { "keyboard without rows", OB_NAPCAT, GIVEN("[" S("keyboard", "{}") "]"), "drop segment" },
    { "odd rows", OB_NAPCAT,
      GIVEN("[" S("keyboard", "{\"rows\":[5,[6,null],{\"buttons\":7}]}") "," TEXT("a") "]"),
      SENT(TEXT("a")) },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

#define NODE(content)                                                                              \
  S("node", "{\"user_id\":\"10001\",\"nickname\":\"n\",\"content\":" content "}")
#define FORWARD(nodes) FRAME("send_group_forward_msg", "{\"group_id\":1,\"messages\":[" nodes "]}")
#define FORWARDED(nodes) "send_group_forward_msg {\"group_id\":1,\"messages\":[" nodes "]}"

Test(action, judges_forwards)
{
  static const struct row rows[] = {
    { "in form", OB_NAPCAT, FORWARD(NODE("[" TEXT("a") "]")), PASS },
    { "nested", OB_NAPCAT, FORWARD(NODE("[" NODE("[" NODE("[" TEXT("a") "]") "]") "]")), PASS },
    { "nested too deep", OB_NAPCAT,
      FORWARD(NODE("[" NODE("[" NODE("[" NODE("[" TEXT("a") "]") "]") "]") "]")), "drop depth" },
    { "string content", OB_NAPCAT, FORWARD(NODE("\"a\"")), FORWARDED(NODE("[" TEXT("a") "]")) },
    { "object content", OB_NAPCAT, FORWARD(NODE(TEXT("a"))), FORWARDED(NODE("[" TEXT("a") "]")) },
    { "a node for each send", OB_NAPCAT, FORWARD(NODE("[" TEXT("a") "," S("dice", "{}") "]")),
      FORWARDED(NODE("[" TEXT("a") "]") "," NODE("[" S("dice", "{}") "]")) },
    { "empty content", OB_NAPCAT, FORWARD(NODE("[]")), "drop empty" },
    { "no content", OB_NAPCAT, FORWARD(S("node", "{\"user_id\":\"10001\"}")), "drop segment" },
    { "by id", OB_NAPCAT, FORWARD(S("node", "{\"id\":\"-5\"}")), PASS },
    { "id number", OB_NAPCAT, FORWARD(S("node", "{\"id\":5}")),
      FORWARDED(S("node", "{\"id\":\"5\"}")) },
    { "author is a word", OB_NAPCAT, FORWARD(S("node", "{\"user_id\":\"x\",\"content\":\"a\"}")),
      "drop target" },
    { "Lagrange needs an author", OB_LAGRANGE,
      FORWARD(S("node", "{\"nickname\":\"n\",\"content\":\"a\"}")), "drop target" },
    { "mixed", OB_NAPCAT, FORWARD(NODE("[" TEXT("a") "]") "," TEXT("b")), "drop segment" },
    { "mixed within", OB_NAPCAT, FORWARD(NODE("[" TEXT("a") "," NODE("\"b\"") "]")),
      "drop segment" },
    { "no segment at all", OB_NAPCAT, FORWARD("5"), "drop segment" },
    { "unsupported within", OB_LLBOT, FORWARD(NODE("[" S("xml", "{\"data\":\"x\"}") "]")),
      "drop segment" },
    { "missing", OB_NAPCAT, FRAME("send_group_forward_msg", "{\"group_id\":1}"), "drop type" },
    { "only message", OB_NAPCAT,
      FRAME("send_group_forward_msg", "{\"group_id\":1,\"message\":[" NODE("[" TEXT("a") "]") "]}"),
      FORWARDED(NODE("[" TEXT("a") "]")) },
    { "messages null", OB_NAPCAT,
      FRAME("send_group_forward_msg",
            "{\"group_id\":1,\"messages\":null,\"message\":[" NODE("[" TEXT("a") "]") "]}"),
      FORWARDED(NODE("[" TEXT("a") "]")) },
    { "its own words stay", OB_NAPCAT,
      FRAME("send_group_forward_msg",
            "{\"group_id\":1,\"messages\":[" NODE(
                "[" TEXT("a") "]") "],\"prompt\":\"p\",\"news\":[{\"text\":\"x\"}]}"),
      PASS },
    { "a call in its words", OB_NAPCAT,
      FRAME("send_group_forward_msg", "{\"group_id\":1,\"messages\":[" NODE("[" TEXT(
                                          "a") "]") "],\"prompt\":\"<invoke name=\\\"x\\\">\"}"),
      "drop tool_call" },
    { "a call in a name", OB_NAPCAT,
      FORWARD(
          S("node",
            "{\"user_id\":\"10001\",\"nickname\":\"<invoke name=\\\"x\\\">\",\"content\":\"a\"}")),
      "drop tool_call" },
    { "either kind", OB_LAGRANGE,
      FRAME("send_forward_msg", "{\"user_id\":5,\"messages\":[" NODE("[" TEXT("a") "]") "]}"),
      "send_private_forward_msg {\"user_id\":5,\"messages\":[" NODE("[" TEXT("a") "]") "]}" },
    { "a message of nodes", OB_NAPCAT, GIVEN("[" NODE("[" TEXT("a") "]") "]"), PASS },
    { "a message of nodes elsewhere", OB_LLBOT, GIVEN("[" NODE("[" TEXT("a") "]") "]"),
      FORWARDED(NODE("[" TEXT("a") "]")) },
    { "a message of nodes on OneBots", OB_ONEBOTS, GIVEN("[" NODE("[" TEXT("a") "]") "]"),
      "drop segment" },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

#define CONTEXT                                                                                    \
  "\"context\":{\"message_type\":\"group\",\"group_id\":1,\"user_id\":5,\"message_id\":7}"
#define QUICK(operation)                                                                           \
  FRAME(".handle_quick_operation", "{" CONTEXT ",\"operation\":" operation "}")
#define QUICKED(operation) ".handle_quick_operation {" CONTEXT ",\"operation\":" operation "}"

Test(action, judges_quick_operations)
{
  static const struct row rows[] = {
    { "no reply", OB_NAPCAT, QUICK("{\"delete\":true}"), PASS },
    { "reply null", OB_NAPCAT, QUICK("{\"reply\":null}"), PASS },
    { "no operation", OB_NAPCAT, FRAME(".handle_quick_operation", "{" CONTEXT "}"), PASS },
    { "in form", OB_NAPCAT, QUICK("{\"reply\":[" TEXT("a") "],\"at_sender\":true}"), PASS },
    { "string", OB_NAPCAT,
      QUICK("{\"delete\":true,\"reply\":\"a[CQ:face,id=1]\",\"auto_escape\":false}"),
      QUICKED("{\"delete\":true,\"reply\":[" TEXT("a") "," S("face", "{\"id\":\"1\"}") "]}") },
    { "literal string", OB_NAPCAT, QUICK("{\"reply\":\"[CQ:at,qq=all]\",\"auto_escape\":true}"),
      QUICKED("{\"reply\":[" TEXT("[CQ:at,qq=all]") "]}") },
    { "more parts go to its chat", OB_NAPCAT, QUICK("{\"reply\":\"a[CQ:dice]\"}"),
      QUICKED("{\"reply\":[" TEXT("a") "]}") AND SENT(S("dice", "{}")) },
    { "more parts and no chat", OB_NAPCAT,
      FRAME(".handle_quick_operation", "{\"operation\":{\"reply\":\"a[CQ:dice]\"}}"),
      "drop target" },
    { "one part needs no chat", OB_NAPCAT,
      FRAME(".handle_quick_operation", "{\"operation\":{\"reply\":[" TEXT("a") "]}}"), PASS },
    { "empty", OB_NAPCAT, QUICK("{\"reply\":[]}"), "drop empty" },
    { "no message", OB_NAPCAT, QUICK("{\"reply\":5}"), "drop type" },
    { "suffix", OB_GOCQ,
      FRAME(".handle_quick_operation_async", "{" CONTEXT ",\"operation\":{\"delete\":true}}"),
      QUICKED("{\"delete\":true}") },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

#define REPLY(text)                                                                                \
  "{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":"   \
  "\\\"" text "\\\"}}]}]"

Test(action, unwraps_replies)
{
  static const struct row rows[] = {
    { "a reply", OB_NAPCAT, GIVEN("[" TEXT(REPLY("a") "}") "]"), SENT(TEXT("a")) },
    { "two messages", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\","
                     "\\\"data\\\":{\\\"text\\\":\\\"a\\\"}}]},{\\\"segments\\\":[{\\\"type\\\":"
                     "\\\"dice\\\",\\\"data\\\":{}}]}]}") "]"),
      SENT(TEXT("a")) AND SENT(S("dice", "{}")) },
    { "split over texts", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"messages\\\":[{\\\"segments\\\":") "," TEXT(
          "[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"a\\\"}}]}]}") "]"),
      SENT(TEXT("a")) },
    { "behind an at", OB_NAPCAT,
      GIVEN("[" S("at", "{\"qq\":\"10001\"}") "," TEXT(REPLY("a") "}") "]"),
      SENT(S("at", "{\"qq\":\"10001\"}") "," TEXT("a")) },
    { "quoted, with a reaction", OB_NAPCAT,
      GIVEN("[" S("reply",
                  "{\"id\":\"7\"}") "," TEXT(REPLY("a") ",\\\"reaction\\\":\\\"76\\\"}") "]"),
      "set_msg_emoji_like {\"message_id\":7,\"emoji_id\":\"76\"}" AND SENT(
          S("reply", "{\"id\":\"7\"}") "," TEXT("a")) },
    { "a reaction alone", OB_NAPCAT,
      GIVEN("[" S("reply", "{\"id\":\"7\"}") "," TEXT(
          "{\\\"messages\\\":[],\\\"reaction\\\":\\\"76\\\"}") "]"),
      "set_msg_emoji_like {\"message_id\":7,\"emoji_id\":\"76\"}" },
    { "a reaction without a message", OB_NAPCAT,
      GIVEN("[" TEXT(REPLY("a") ",\\\"reaction\\\":\\\"76\\\"}") "]"), SENT(TEXT("a")) },
    { "nothing to send", OB_NAPCAT, GIVEN("[" TEXT("{\\\"messages\\\":[]}") "]"), "drop empty" },
    { "unknown type", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"poll\\\","
                     "\\\"data\\\":{}}]}]}") "]"),
      "drop not_offered" },
    { "truncated", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"te") "]"),
      "drop truncated" },
    { "bad mention", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"mention\\\","
                     "\\\"data\\\":{\\\"target\\\":\\\"1\\\"}}]}]}") "]"),
      "drop mention_target" },
    { "in quotes that nobody reads", OB_NAPCAT,
      GIVEN("[" TEXT("{«messages»:[{«segments»:[{«type»:«text»,«data»:{«text»:«a»}}]}]}") "]"),
      "drop syntax" },
    { "in no quotes", OB_NAPCAT,
      GIVEN("[" TEXT("{messages:[{segments:[{type:text,data:{text:a}}]}]}") "]"), "drop type" },
    { "the schema of one", OB_NAPCAT,
      GIVEN("[" TEXT("{\\\"properties\\\":{\\\"messages\\\":{\\\"items\\\":{\\\"properties\\\":"
                     "{\\\"segments\\\":{\\\"type\\\":\\\"array\\\"},\\\"data\\\":{}}}}}}") "]"),
      PASS },
    { "other JSON", OB_NAPCAT, GIVEN("[" TEXT("{\\\"data\\\":{\\\"messages\\\":1}}") "]"), PASS },
    { "the word in prose", OB_NAPCAT, GIVEN("[" TEXT("the messages {and} segments") "]"), PASS },
    { "in a quick operation", OB_NAPCAT,
      QUICK("{\"reply\":[" TEXT(REPLY("a") ",\\\"reaction\\\":\\\"76\\\"}") "]}"),
      "set_msg_emoji_like {\"message_id\":7,\"emoji_id\":\"76\"}" AND QUICKED(
          "{\"reply\":[" TEXT("a") "]}") },
    { "in a node", OB_NAPCAT, FORWARD(NODE("[" TEXT(REPLY("a") "}") "]")),
      FORWARDED(NODE("[" TEXT("a") "]")) },
  };
  struct ob_action_settings s = usual();
  s.unwrap = true;
  RUN(rows, s);
}

#define EMPTY(key) "{\\\"" key "\\\": []}"

Test(action, passes_words_about_a_reply)
{
  static const struct row rows[] = {
    { "in a sentence", OB_NAPCAT, GIVEN("[" TEXT("空回复写作 " EMPTY("segments") " 就行") "]"),
      PASS },
    { "in inline code", OB_NAPCAT, GIVEN("[" TEXT("空回复写作 `" EMPTY("segments") "` 就行") "]"),
      PASS },
    { "in code at the end", OB_NAPCAT,
      GIVEN("[" TEXT("不想说话就写 `" EMPTY("messages") "`。") "]"), PASS },
    { "in code at the begin", OB_NAPCAT, GIVEN("[" TEXT("`" EMPTY("messages") "` is silence") "]"),
      PASS },
    { "in curly quotes", OB_NAPCAT, GIVEN("[" TEXT("用“" EMPTY("messages") "”表示不回复") "]"),
      PASS },
    { "as a statement", OB_NAPCAT, GIVEN("[" TEXT("const r = " EMPTY("messages") "; send(r)") "]"),
      PASS },
    { "on a line of many", OB_NAPCAT,
      GIVEN("[" TEXT("1. 打开配置\\n2. 返回 " EMPTY("messages") " 即可\\n3. 重启") "]"), PASS },
    { "with a reaction", OB_NAPCAT,
      GIVEN("[" TEXT("写 {\\\"messages\\\":[],\\\"reaction\\\":\\\"76\\\"} 就只点赞") "]"), PASS },
    { "a pattern", OB_NAPCAT,
      GIVEN("[" TEXT("格式是 `{\\\"messages\\\":[{\\\"segments\\\":[...]}]}` 这样写") "]"), PASS },
    { "behind reasoning", OB_NAPCAT,
      GIVEN("[" TEXT("<think>hm</think>写 " EMPTY("messages") " 就行") "]"),
      SENT(TEXT("写 " EMPTY("messages") " 就行")) },
    { "in a fence", OB_NAPCAT, GIVEN("[" TEXT("```json\\n" EMPTY("messages") "\\n```") "]"),
      "drop empty" },
    { "in code alone", OB_NAPCAT, GIVEN("[" TEXT("`" EMPTY("messages") "`") "]"), "drop empty" },
    { "reasoning and silence", OB_NAPCAT,
      GIVEN("[" TEXT("<think>hm</think>\\n" EMPTY("messages")) "]"), "drop empty" },
    { "behind a sentence", OB_NAPCAT,
      GIVEN("[" TEXT("No reply needed. " EMPTY("messages") " Done") "]"), "drop empty" },
    { "presented", OB_NAPCAT, GIVEN("[" TEXT("回复：" EMPTY("messages") " 完") "]"), "drop empty" },
    { "in a tag", OB_NAPCAT, GIVEN("[" TEXT("<answer>" EMPTY("messages") "</answer>") "]"),
      "drop empty" },
    { "between invisible characters", OB_NAPCAT,
      GIVEN("[" TEXT("\\u200b" EMPTY("messages") "\\u200b") "]"), "drop empty" },
    { "a comment on its own line", OB_NAPCAT,
      GIVEN("[" TEXT(EMPTY("messages") "\\n\\n（不用回复）") "]"), "drop empty" },
    { "a broken answer", OB_NAPCAT,
      GIVEN("[" TEXT("好的 {\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"poll\\\","
                     "\\\"data\\\":{}}]}]} 就这样") "]"),
      "drop not_offered" },
  };
  struct ob_action_settings s = usual();
  s.unwrap = true;
  RUN(rows, s);
}

#define QUOTE(id) S("reply", "{\"id\":\"" id "\"}")

Test(action, unwraps_directives_where_they_are_on)
{
  static const struct schema_directive_options options = { .media_lines = true };
  static const struct row on[] = {
    { "a target", OB_NAPCAT, GIVEN("\"[[reply_to:7]] a\""), SENT(QUOTE("7") "," TEXT("a")) },
    { "the message that is answered", OB_NAPCAT, GIVEN("\"[[reply_to_current]] a\""),
      SENT(QUOTE("9") "," TEXT("a")) },
    { "the framework quotes already", OB_NAPCAT,
      GIVEN("[" QUOTE("7") "," TEXT("[[reply_to:8]] a") "]"), SENT(QUOTE("7") "," TEXT("a")) },
    { "an attachment", OB_NAPCAT, GIVEN("\"a\\nMEDIA:https://e.com/x.png\""),
      SENT(TEXT("a") "," S("image", "{\"file\":\"https://e.com/x.png\"}")) },
    { "words", OB_NAPCAT, GIVEN("[" TEXT("at 10:30 [[x]]") "]"), PASS },
    { "words are not tidied", OB_NAPCAT, GIVEN("[" TEXT("a:  b ") "]"), PASS },
    { "silence", OB_NAPCAT, GIVEN("\"NO_REPLY\""), "drop empty" },
    { "in a structured reply", OB_NAPCAT, GIVEN("[" TEXT(REPLY("[[reply_to:7]]a") "}") "]"),
      SENT(QUOTE("7") "," TEXT("a")) },
  };
  static const struct row off[] = {
    { "off", OB_NAPCAT, GIVEN("[" TEXT("[[reply_to:7]] a") "]"), PASS },
  };
  struct ob_action_settings s = usual();
  s.unwrap = true;
  s.answering = SPAN("9");
  RUN(off, s);
  s.directives = &options;
  RUN(on, s);
  s.unwrap = false;
  RUN(off, s);
}

#define HARMONY(channel, words) "<|channel|>" channel "<|message|>" words

Test(action, takes_reasoning_off)
{
  static const struct row rows[] = {
    { "before the answer", OB_NAPCAT, GIVEN("[" TEXT("<think>hm</think>\\n\\na") "]"),
      SENT(TEXT("a")) },
    { "another mark", OB_NAPCAT, GIVEN("\"<thinking>hm</thinking>a\""), SENT(TEXT("a")) },
    { "without its beginning", OB_NAPCAT, GIVEN("\"hm</think>a\""), SENT(TEXT("a")) },
    { "over several texts", OB_NAPCAT, GIVEN("[" TEXT("<think>h") "," TEXT("m</think>a") "]"),
      SENT(TEXT("a")) },
    { "behind a mention", OB_NAPCAT,
      GIVEN("[" S("at", "{\"qq\":\"10001\"}") "," TEXT("<think>hm</think>a") "]"),
      SENT(S("at", "{\"qq\":\"10001\"}") "," TEXT("a")) },
    { "before a reply", OB_NAPCAT, GIVEN("[" TEXT("<think>hm</think>" REPLY("a") "}") "]"),
      SENT(TEXT("a")) },
    { "alone", OB_NAPCAT, GIVEN("\"<think>hm</think>\""), "drop reasoning" },
    { "without an end", OB_NAPCAT, GIVEN("\"<think>hm\""), "drop reasoning" },
    { "channels", OB_NAPCAT,
      GIVEN("\"" HARMONY("analysis", "hm<|end|><|start|>assistant") HARMONY("final", "a") "\""),
      SENT(TEXT("a")) },
    { "no final channel", OB_NAPCAT, GIVEN("\"" HARMONY("analysis", "hm") "\""), "drop reasoning" },
    { "in a quick operation", OB_NAPCAT, QUICK("{\"reply\":\"<think>hm</think>a\"}"),
      QUICKED("{\"reply\":[" TEXT("a") "]}") },
    { "in a node", OB_NAPCAT, FORWARD(NODE("[" TEXT("<think>hm</think>a") "]")),
      FORWARDED(NODE("[" TEXT("a") "]")) },
    { "named in code", OB_NAPCAT, GIVEN("[" TEXT("use `<think>` here") "]"), PASS },
    { "markup", OB_NAPCAT, GIVEN("[" TEXT("<b>a</b> 1 < 2, [CQ] &lt;") "]"), PASS },
    { "in other JSON", OB_NAPCAT, GIVEN("[" TEXT("{\\\"a\\\":\\\"<think>b</think>\\\"}") "]"),
      PASS },
  };
  struct ob_action_settings s = usual();
  s.unwrap = true;
  RUN(rows, s);
}

Test(action, leaves_replies_alone_without_unwrap)
{
  static const struct row rows[] = {
    { "reasoning", OB_NAPCAT, GIVEN("[" TEXT("<think>hm</think>a") "]"), PASS },
    { "a reply", OB_NAPCAT, GIVEN("[" TEXT(REPLY("a") "}") "]"), PASS },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

#define CALL "<tool_call>{\\\"name\\\":\\\"x\\\",\\\"arguments\\\":{}}</tool_call>"

Test(action, drops_tool_calls_anywhere)
{
  static const struct row rows[] = {
    { "text", OB_NAPCAT, GIVEN("[" TEXT("a " CALL) "]"), "drop tool_call" },
    { "string", OB_NAPCAT, GIVEN("\"" CALL "\""), "drop tool_call" },
    { "over two texts", OB_NAPCAT,
      GIVEN("[" TEXT("<tool_call>{\\\"name\\\":") "," TEXT(
          "\\\"x\\\",\\\"arguments\\\":{}}</tool_call>") "]"),
      "drop tool_call" },
    { "over a quote", OB_NAPCAT,
      GIVEN("[" TEXT("<tool_call>{\\\"name\\\":") "," S("reply", "{\"id\":\"7\"}") "," TEXT(
          "\\\"x\\\",\\\"arguments\\\":{}}</tool_call>") "]"),
      "drop tool_call" },
    { "over an empty markdown", OB_NAPCAT,
      GIVEN("[" TEXT("<tool_call>{\\\"name\\\":") "," S("markdown", "{\"content\":\"\"}") "," TEXT(
          "\\\"x\\\",\\\"arguments\\\":{}}</tool_call>") "]"),
      "drop tool_call" },
    { "markdown", OB_NAPCAT, GIVEN("[" S("markdown", "{\"content\":\"" CALL "\"}") "]"),
      "drop tool_call" },
    { "title", OB_NAPCAT,
      GIVEN("[" S("share", "{\"url\":\"https://e.com\",\"title\":\"" CALL "\"}") "]"),
      "drop tool_call" },
    { "button", OB_NAPCAT,
      GIVEN("[" S("keyboard", "{\"rows\":[[{\"label\":\"" CALL "\",\"data\":\"x\"}]]}") "]"),
      "drop tool_call" },
    { "card", OB_NAPCAT, GIVEN("[" S("json", "{\"data\":{\"prompt\":\"" CALL "\"}}") "]"),
      "drop tool_call" },
    { "notice", OB_NAPCAT, FRAME("_send_group_notice", "{\"group_id\":1,\"content\":\"" CALL "\"}"),
      "drop tool_call" },
    { "notice with a suffix", OB_NAPCAT,
      FRAME("_send_group_notice_async", "{\"group_id\":1,\"content\":\"" CALL "\"}"),
      "drop tool_call" },
    { "qzone in parts", OB_NAPCAT,
      FRAME("send_qzone_msg", "{\"content\":[{\"text\":\"" CALL "\"}]}"), "drop tool_call" },
    { "voice", OB_NAPCAT, FRAME("send_group_ai_record", "{\"group_id\":1,\"text\":\"" CALL "\"}"),
      "drop tool_call" },
    { "a leak in a notice", OB_NAPCAT,
      FRAME("_send_group_notice",
            "{\"group_id\":1,\"content\":\"key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD\"}"),
      "drop leak" },
    { "a sound notice", OB_NAPCAT,
      FRAME("_send_group_notice", "{\"group_id\":1,\"content\":\"今晚八点\"}"), PASS },
  };
  struct ob_action_settings s = usual();
  RUN(rows, s);
}

Test(action, says_which_segment_it_was)
{
  struct arena arena;
  struct ob_action_settings s = usual();
  arena_init(&arena, ONEBOT_ARENA_MAX);
  const char *why =
      onebot_judge(OB_LLBOT, &s, GIVEN("[" TEXT("a") "," S("xml", "{\"data\":\"x\"}") "]"), &arena);
  cr_expect_str_eq(why, "drop segment: $.params.message[1]: xml is not shown by this endpoint");
  why = onebot_judge(OB_NAPCAT, &s, FORWARD(NODE("\"a\"") "," NODE("\"b[CQ:at,qq=all]\"")), &arena);
  cr_expect_str_eq(why, "drop mention_all: $.params.messages[1].data.content[1]: at mentioning "
                        "everyone is not allowed here");
  arena_done(&arena);
}

Test(action, tells_where_it_goes_and_what_it_answers)
{
  static const struct {
    const char *frame, *group, *user, *answers, *echo;
  } rows[] = {
    { "{\"action\":\"send_msg\",\"params\":{\"group_id\":\"1\",\"message\":\"[CQ:reply,id=7]a\"},"
      "\"echo\":{\"a\":1.50}}",
      "1", "", "7", "{\"a\":1.50}" },
    { QUICK("{\"reply\":\"a\"}"), "1", "", "7", "" },
    { QUICK("{\"reply\":\"[CQ:reply,id=9]a\"}"), "1", "", "9", "" },
    { FRAME("send_private_forward_msg", "{\"user_id\":5}"), "", "5", "", "" },
    { FRAME("send_msg", "{\"group_id\":1,\"user_id\":5}"), "", "", "", "" },
    { FRAME("get_status", "{\"group_id\":1}"), "", "", "", "" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct ob_action a;
    arena_init(&arena, ONEBOT_ARENA_MAX);
    cr_assert_eq(ob_action_read(span_of(rows[i].frame), &arena, &a, NULL), SCHEMA_OK);
    cr_expect(span_is(a.target.group_id, rows[i].group), "row %zu", i);
    cr_expect(span_is(a.target.user_id, rows[i].user), "row %zu", i);
    cr_expect(span_is(a.answers, rows[i].answers), "row %zu", i);
    cr_expect(span_is(a.echo, rows[i].echo), "row %zu", i);
    arena_done(&arena);
  }
}

Test(action, takes_the_reaction_to_the_message_that_the_gate_knows)
{
  struct arena arena;
  struct ob_action_settings s = usual();
  s.unwrap = true;
  s.answering = SPAN("-9");
  arena_init(&arena, ONEBOT_ARENA_MAX);
  const char *lines = onebot_judge(
      OB_LAGRANGE, &s, GIVEN("[" TEXT(REPLY("a") ",\\\"reaction\\\":\\\"76\\\"}") "]"), &arena);
  cr_expect_str_eq(
      lines,
      "set_group_reaction {\"group_id\":1,\"message_id\":-9,\"code\":\"76\"}" AND SENT(TEXT("a")),
      "%s", lines);
  arena_done(&arena);
}

Test(action, survives_any_lack_of_memory)
{
  static const char *const frames[] = {
    GIVEN("\"a&amp;[CQ:face,id=1][CQ:dice]\""),
    FORWARD(NODE("\"a[CQ:dice]\"")),
    QUICK("{\"reply\":\"a[CQ:dice]\"}"),
    GIVEN("[" TEXT(REPLY("a") "}") "]"),
  };
  struct ob_action_settings s = usual();
  s.unwrap = true;
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    bool done = false;
    for (size_t max = 0; !done; max += 64) {
      struct arena arena;
      struct ob_action a;
      struct ob_action_judgement judged;
      arena_init(&arena, max);
      enum schema_code code = ob_action_read(span_of(frames[i]), &arena, &a, NULL);
      if (code == SCHEMA_OK) {
        ob_action_judge(&ob_profiles[OB_NAPCAT], &s, &a, &arena, &judged);
        cr_expect(judged.verdict != OB_PASS, "frame %zu passed at %zu bytes", i, max);
        done = judged.verdict == OB_REPLACE;
      }
      arena_done(&arena);
      cr_assert_lt(max, 4u << 20, "frame %zu", i);
    }
  }
}
