#include <criterion/criterion.h>

#include "onebot/outcome.h"

#define FAILED(code, words)                                                                        \
  "{\"status\":\"failed\",\"retcode\":" code ",\"data\":null,\"message\":\"" words "\"}"
#define EVENT(n)                                                                                   \
  FAILED("1200", "EventChecker Failed: EventRet:\\n{\\n \\\"result\\\": " n                        \
                 ",\\n \\\"errMsg\\\": \\\"\\\"\\n}")
#define GROUP "send_group_msg"
#define PRIVATE "send_private_msg"
#define LIKE "set_msg_emoji_like"

static const struct {
  const char *label;
  enum ob_profile_id profile;
  const char *action, *response; /* NULL: none came */
  enum ob_outcome_kind kind;
  const char *detail; /* the message id of what was sent, else the reason */
} rows[] = {
  { "receipt", OB_NAPCAT, GROUP, "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":-7}}",
    OB_SENT, "-7" },
  { "no data", OB_SPEC, GROUP, "{\"status\":\"ok\",\"retcode\":0}", OB_SENT, "" },
  { "id as text", OB_SPEC, GROUP,
    "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":\"x=\"}}", OB_SENT, "x=" },
  { "id in exponent form", OB_SPEC, GROUP,
    "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":1e3}}", OB_SENT, "" },
  { "data is a text", OB_GOCQ, "upload_group_file",
    "{\"status\":\"ok\",\"retcode\":0,\"data\":\"x\"}", OB_SENT, "" },
  { "timeout", OB_SPEC, GROUP, NULL, OB_UNKNOWN, "timeout" },
  { "null", OB_SPEC, GROUP, "null", OB_UNKNOWN, "timeout" },
  { "array", OB_SPEC, GROUP, "[]", OB_UNKNOWN, "malformed" },
  { "number", OB_SPEC, GROUP, "0", OB_UNKNOWN, "malformed" },
  { "async", OB_SPEC, GROUP, "{\"status\":\"async\",\"retcode\":1}", OB_UNKNOWN, "async" },
  { "ok with another code", OB_SPEC, GROUP, "{\"status\":\"ok\",\"retcode\":1}", OB_REFUSED,
    "other" },
  { "failed with code 0", OB_SPEC, GROUP, "{\"status\":\"failed\",\"retcode\":0}", OB_REFUSED,
    "other" },
  { "code true", OB_SPEC, GROUP, "{\"status\":\"ok\",\"retcode\":false}", OB_REFUSED, "other" },
  { "empty", OB_GOCQ, "send_msg", "{}", OB_REFUSED, "other" },
  { "kernel timeout", OB_NAPCAT, GROUP,
    FAILED("1200", "Timeout: NTEvent x EventRet: {\\\"result\\\":0}"), OB_UNKNOWN, "timeout" },
  { "self echo", OB_LLBOT, GROUP, FAILED("1200", "Error: waitForSelfEcho timeout"), OB_UNKNOWN,
    "timeout" },
  { "icqq timeout", OB_ONEBOTS, GROUP, FAILED("-2", ""), OB_UNKNOWN, "timeout" },
  { "muted", OB_NAPCAT, GROUP, EVENT("120"), OB_REFUSED, "muted" },
  { "muted by code", OB_LAGRANGE, GROUP, FAILED("120", ""), OB_REFUSED, "muted" },
  { "at all", OB_NAPCAT, GROUP, EVENT("121"), OB_REFUSED, "at_all" },
  { "1200 is not 120", OB_NAPCAT, GROUP, EVENT("1200"), OB_REFUSED, "other" },
  { "offline", OB_NAPCAT, GROUP, EVENT("1006514"), OB_OFFLINE, "offline" },
  { "offline in words", OB_NAPCAT, GROUP, FAILED("1200", "x 网络连接异常! y"), OB_OFFLINE,
    "offline" },
  { "no friend", OB_NAPCAT, PRIVATE, EVENT("1"), OB_REFUSED, "not_friend" },
  { "result 1 in a group", OB_NAPCAT, GROUP, EVENT("1"), OB_REFUSED, "other" },
  { "upload", OB_NAPCAT, GROUP, FAILED("1200", "Rich Media transfer failed"), OB_REFUSED,
    "upload" },
  { "upload, icqq", OB_ONEBOTS, GROUP, FAILED("-110", ""), OB_REFUSED, "upload" },
  { "risk", OB_GOCQ, GROUP, FAILED("100", "send group message failed: blocked by server"),
    OB_REFUSED, "risk" },
  { "risk, icqq", OB_ONEBOTS, GROUP, FAILED("-70", ""), OB_REFUSED, "risk" },
  { "risk, Lagrange", OB_LAGRANGE, GROUP, FAILED("9057", ""), OB_REFUSED, "risk" },
  { "target, Lagrange", OB_LAGRANGE, GROUP, FAILED("16", ""), OB_REFUSED, "target" },
  { "16 elsewhere", OB_NAPCAT, GROUP, FAILED("16", ""), OB_REFUSED, "other" },
  { "target in words", OB_LLBOT, PRIVATE, FAILED("1200", "无法获取用户信息"), OB_REFUSED,
    "target" },
  { "reaction on an old message", OB_NAPCAT, LIKE, FAILED("1200", "Error: msg not found"),
    OB_REFUSED, "target" },
  { "mention", OB_NAPCAT, GROUP, FAILED("1200", "Error: Get Uid Error"), OB_REFUSED, "mention" },
  { "segment", OB_NAPCAT, GROUP, FAILED("1200", "未知的消息类型：share"), OB_REFUSED, "segment" },
  { "nothing left", OB_GOCQ, GROUP,
    "{\"status\":\"failed\",\"retcode\":100,\"msg\":\"EMPTY_MSG_ERROR\"}", OB_REFUSED, "segment" },
  { "media", OB_NAPCAT, GROUP, FAILED("1200", "文件处理失败: 404"), OB_REFUSED, "media" },
  { "card", OB_LLBOT, GROUP, FAILED("1200", "签名音乐消息失败：x"), OB_REFUSED, "card" },
  { "card, go-cqhttp", OB_GOCQ, GROUP,
    "{\"status\":\"failed\",\"retcode\":100,\"wording\":\"song not found\"}", OB_REFUSED, "card" },
  { "too large", OB_SPEC, GROUP, FAILED("1413", ""), OB_REFUSED, "too_large" },
  { "too long", OB_ONEBOTS, GROUP, FAILED("34", ""), OB_REFUSED, "too_long" },
  { "words", OB_ONEBOTS, GROUP, FAILED("-80", ""), OB_REFUSED, "words" },
  { "auth", OB_NAPCAT, GROUP, FAILED("1403", "token验证失败"), OB_REFUSED, "auth" },
  { "params", OB_NAPCAT, GROUP, FAILED("1400", ""), OB_REFUSED, "params" },
  { "action", OB_NAPCAT, GROUP, FAILED("1404", "不支持的API x"), OB_REFUSED, "action" },
  { "action in words", OB_ONEBOTS, GROUP,
    "{\"status\":\"failed\",\"retcode\":-1,\"msg\":\"Unknown action: x\"}", OB_REFUSED, "action" },
  { "OneBots 0.4", OB_ONEBOTS, GROUP,
    "{\"status\":\"error\",\"retcode\":1500,\"error\":\"blocked by server\"}", OB_REFUSED, "risk" },
  { "only uploads", OB_LAGRANGE, "send_forward_msg",
    "{\"status\":\"ok\",\"retcode\":0,\"data\":\"resid\"}", OB_REFUSED, "not_sent" },
  { "a real forward", OB_NAPCAT, "send_forward_msg",
    "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":5}}", OB_SENT, "5" },
  { "reaction", OB_NAPCAT, LIKE, "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"result\":0}}",
    OB_SENT, "" },
  { "refused reaction", OB_NAPCAT, LIKE,
    "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"result\":-1,\"errMsg\":\"x\"}}", OB_REFUSED,
    "other" },
  { "reaction without a result", OB_NAPCAT, LIKE, "{\"status\":\"ok\",\"retcode\":0,\"data\":null}",
    OB_REFUSED, "other" },
  { "reaction on LLBot", OB_LLBOT, LIKE, "{\"status\":\"ok\",\"retcode\":0,\"data\":null}", OB_SENT,
    "" },
  { "reaction on Lagrange", OB_LAGRANGE, "set_group_reaction", FAILED("1", ""), OB_REFUSED,
    "other" },
};

Test(outcome, is_read_from_the_response)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_node *response = NULL;
    arena_init(&arena, 1 << 20);
    if (rows[i].response)
      cr_assert_eq(schema_tree_read(span_of(rows[i].response), 64, &arena, &response, NULL),
                   SCHEMA_OK, "%s", rows[i].label);
    struct ob_outcome o =
        ob_outcome_read(&ob_profiles[rows[i].profile], span_of(rows[i].action), response);
    cr_expect_eq(o.kind, rows[i].kind, "%s: %s", rows[i].label, ob_outcome_word(o.kind));
    if (o.kind == OB_SENT) {
      cr_expect_null(o.reason, "%s", rows[i].label);
      cr_expect(span_is(o.message_id, rows[i].detail), "%s: %.*s", rows[i].label,
                (int)o.message_id.len, o.message_id.ptr);
    } else {
      cr_expect_str_eq(o.reason, rows[i].detail, "%s: %s", rows[i].label, o.reason);
      cr_expect_eq(o.message_id.len, 0u, "%s", rows[i].label);
    }
    arena_done(&arena);
  }
  cr_expect_eq(ob_outcome_closed().kind, OB_UNKNOWN);
  cr_expect_str_eq(ob_outcome_closed().reason, "closed");
}

Test(outcome, bears_words_of_any_length)
{
  struct arena arena;
  struct buf text;
  struct schema_node *response;
  arena_init(&arena, 64 << 20);
  buf_init(&text, 4 << 20);
  buf_add(&text, SPAN("{\"status\":\"failed\",\"retcode\":1200,\"message\":\""));
  for (int i = 0; i < 200000; i++) buf_add(&text, SPAN("\\\"result\\\":"));
  buf_add(&text, SPAN("\"}"));
  cr_assert_eq(schema_tree_read(buf_span(&text), 64, &arena, &response, NULL), SCHEMA_OK);
  struct ob_outcome o = ob_outcome_read(&ob_profiles[OB_NAPCAT], SPAN(GROUP), response);
  cr_expect_str_eq(o.reason, "other");
  buf_done(&text);
  arena_done(&arena);
}
