#include "tests/lib/bot.h"

enum { LONG_MS = 8000 };

#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(messages) "{\"messages\":[" messages "],\"reaction\":\"\"}"
#define FAST "groups:\n  default:\n    pace: {min: 0.05, max: 0.1, per_char: 0.001}\n"
#define REFUSED(code, what)                                                                        \
  "\"status\":\"failed\",\"retcode\":" code ",\"data\":null,\"message\":\"" what                   \
  "\",\"wording\":\"" what "\""

static bool has(const char *json, const char *what)
{
  return json && strstr(json, what);
}

/* How often what is in text. */
static size_t times(const char *text, const char *what)
{
  size_t n = 0;
  for (const char *at = text; at && (at = strstr(at, what)); at++) n++;
  return n;
}

Test(delivery, messages_in_order_with_pauses)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot",
             "groups:\n  default:\n    pace: {min: 0.2, max: 0.5, per_char: 0.02}\n", false);
  stage_ready(&s);
  uint64_t begin = ob_now_ms();
  uint64_t ticket =
      stage_submit(&s, "123",
                   "{\"messages\":[" TEXT("one") "," TEXT("0123456789012345") "," TEXT(
                       "0123456789012345678901234567890123456789") "],\"reaction\":\"76\"}");
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_assert(has(result, "\"result\":\"delivered\""), "%s", result);
  cr_assert_eq(bot_count(s.bot), 4);
  cr_expect(bot_call_has(s.bot, 0, "set_msg_emoji_like", "\"message_id\":555"));
  cr_expect(bot_call_has(s.bot, 1, "send_group_msg", "one"));
  cr_expect(bot_call_has(s.bot, 2, "send_group_msg", "\"0123456789012345\""));
  cr_expect(bot_call_has(s.bot, 3, "send_group_msg", "6789\""));
  const struct bot_call *calls = s.bot->calls;
  cr_expect_lt(calls[1].at_ms - begin, 150, "the first at once");
  uint64_t second = calls[2].at_ms - calls[1].at_ms, third = calls[3].at_ms - calls[2].at_ms;
  cr_expect(second >= 315 && second < 480, "16 characters: 320 ms, %d", (int)second);
  cr_expect(third >= 495 && third < 700, "at most 500 ms: %d", (int)third);
  cr_expect_eq(times(result, "\"action\":\"send_group_msg\""), 3, "%s", result);
  cr_expect(has(result, "\"message_id\":\"1001\""), "%s", result);
  cr_expect(has(result, "\"unsent\":[]"), "%s", result);
  stage_close(&s);
}

static struct bot_answer reaction_silent(struct bot *b, const struct bot_call *call)
{
  (void)b;
  bool reaction = strcmp(call->action, "set_msg_emoji_like") == 0;
  return (struct bot_answer) { .kind = reaction ? BOT_SILENT : BOT_OK };
}

Test(delivery, words_wait_for_a_reaction_but_not_long)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  s.bot->answer = reaction_silent;
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", "{\"messages\":[" TEXT("hi") "],\"reaction\":\"76\"}");
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_assert(has(result, "\"result\":\"delivered\""), "%s", result);
  uint64_t waited = s.bot->calls[1].at_ms - s.bot->calls[0].at_ms;
  cr_expect(waited >= 2900 && waited < 4000, "%d", (int)waited);
  cr_expect(has(result, "\"unsent\":[{\"action\":\"set_msg_emoji_like\""), "%s", result);
  stage_close(&s);
}

static struct bot_answer second_send_refused(struct bot *b, const struct bot_call *call)
{
  (void)b;
  static const struct bot_answer refused = { .kind = BOT_TEXT,
                                             .text =
                                                 REFUSED("1200", "rich media transfer failed") };
  return strstr(call->params, "two") ? refused : (struct bot_answer) { .kind = BOT_OK };
}

Test(delivery, failure_behind_the_first_is_partial)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  s.bot->answer = second_send_refused;
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two") "," TEXT("three")));
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_assert(has(result, "\"result\":\"partial_delivery\""), "%s", result);
  cr_expect_eq(times(result, "\"message_id\":\"1000\""), 1, "%s", result);
  cr_expect(has(result, "\"outcome\":\"refused\",\"reason\":\"upload\""), "%s", result);
  cr_expect(has(result, "\"outcome\":\"not_tried\""), "%s", result);
  cr_expect_eq(bot_count(s.bot), 2, "nothing is sent again, nothing after it");
  ticket = stage_submit(&s, "123", REPLY(TEXT("two")));
  result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"result\":\"failed\""), "%s", result);
  stage_close(&s);
}

/* Answers that say that nobody knows, and that the socket ended. */
static struct bot_answer unknown_by_text(struct bot *b, const struct bot_call *call)
{
  (void)b;
  if (strstr(call->params, "drop")) return (struct bot_answer) { .kind = BOT_DROP };
  if (strstr(call->params, "timeout")) {
    return (struct bot_answer) {
      .kind = BOT_TEXT,
      .text = REFUSED("1200", "Timeout: NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg")
    };
  }
  return (struct bot_answer) { .kind = BOT_OK };
}

Test(delivery, unknown_is_never_sent_again)
{
  static const struct {
    const char *text, *reason;
  } rows[] = { { "timeout", "\"outcome\":\"unknown\",\"reason\":\"timeout\"" },
               { "drop", "\"outcome\":\"unknown\",\"reason\":\"closed\"" } };
  for (size_t i = 0; i < 2; i++) {
    struct stage s;
    char text[128];
    stage_open(&s, "NapCat.Onebot", FAST, false);
    s.bot->answer = unknown_by_text;
    stage_ready(&s);
    snprintf(text, sizeof text, REPLY(TEXT("%s")), rows[i].text);
    uint64_t ticket = stage_submit(&s, "123", text);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_assert(has(result, "\"result\":\"failed\""), "%s", result);
    cr_expect(has(result, rows[i].reason), "%s", result);
    /* the conversation goes on, over a new connection where the old one ended */
    ticket = stage_submit(&s, "123", REPLY(TEXT("next")));
    cr_expect(has(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
    cr_expect_eq(bot_count(s.bot), 2, "%s: %zu calls", rows[i].text, bot_count(s.bot));
    stage_close(&s);
  }
}

static struct bot_answer muted_in_123(struct bot *b, const struct bot_call *call)
{
  (void)b;
  static const struct bot_answer refused = {
    .kind = BOT_TEXT, .text = REFUSED("1200", "EventChecker Failed: {\\\"result\\\": 120}")
  };
  return strstr(call->params, "\"group_id\":123") ? refused
                                                  : (struct bot_answer) { .kind = BOT_OK };
}

Test(delivery, a_muted_group_rests_until_the_mute_ends)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  s.bot->answer = muted_in_123;
  stage_ready(&s);
  uint64_t first = stage_submit(&s, "123", REPLY(TEXT("a")));
  uint64_t second = stage_submit(&s, "123", REPLY(TEXT("b")));
  cr_expect(has(keeper_result_of(s.keeper, first, LONG_MS), "\"reason\":\"muted\""));
  const char *result = keeper_result_of(s.keeper, second, LONG_MS);
  cr_expect(has(result, "\"result\":\"failed\",\"reason\":\"muted\""), "%s", result);
  cr_expect_eq(bot_count(s.bot), 1, "the second is not even tried");
  uint64_t other = stage_submit(&s, "124", REPLY(TEXT("c")));
  cr_expect(has(keeper_result_of(s.keeper, other, LONG_MS), "\"delivered\""));
  s.bot->answer = NULL;
  bot_send(s.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":"
                  "\"group_ban\",\"sub_type\":\"lift_ban\",\"group_id\":123,\"user_id\":10001,"
                  "\"operator_id\":10002,\"duration\":0}");
  cr_assert(keeper_wait(s.keeper, &s.keeper->event_count, 1, LONG_MS));
  uint64_t third = stage_submit(&s, "123", REPLY(TEXT("d")));
  cr_expect(has(keeper_result_of(s.keeper, third, LONG_MS), "\"delivered\""));
  bot_send(s.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":"
                  "\"group_ban\",\"sub_type\":\"ban\",\"group_id\":123,\"user_id\":10001,"
                  "\"operator_id\":10002,\"duration\":600}");
  cr_assert(keeper_wait(s.keeper, &s.keeper->event_count, 2, LONG_MS));
  uint64_t fourth = stage_submit(&s, "123", REPLY(TEXT("e")));
  cr_expect(has(keeper_result_of(s.keeper, fourth, LONG_MS), "\"reason\":\"muted\""));
  stage_close(&s);
}

static struct bot_answer slow_in_123(struct bot *b, const struct bot_call *call)
{
  (void)b;
  bool slow = strstr(call->params, "\"group_id\":123") != NULL;
  return (struct bot_answer) { .kind = slow ? BOT_SILENT : BOT_OK };
}

Test(delivery, conversations_do_not_wait_for_each_other)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  s.bot->answer = slow_in_123;
  stage_ready(&s);
  uint64_t slow = stage_submit(&s, "123", REPLY(TEXT("a")));
  uint64_t behind = stage_submit(&s, "123", REPLY(TEXT("b")));
  uint64_t other = stage_submit(&s, "124", REPLY(TEXT("c")));
  cr_expect(has(keeper_result_of(s.keeper, other, 1000), "\"delivered\""));
  cr_expect_null(keeper_result_of(s.keeper, slow, 100));
  cr_expect_null(keeper_result_of(s.keeper, behind, 100), "turns of one chat keep their order");
  stage_close(&s);
}

Test(delivery, queues_are_bounded)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  s.bot->answer = slow_in_123;
  stage_ready(&s);
  int32_t rc;
  for (int i = 0; i < RG_WAITING_CONVERSATION_MAX; i++) stage_submit(&s, "123", REPLY(TEXT("a")));
  stage_submit_as(&s, RG_KIND_ANSWER, "123", "555", REPLY(TEXT("a")), &rc);
  cr_expect_eq(rc, RG_EBUSY);
  uint64_t other = stage_submit(&s, "124", REPLY(TEXT("c")));
  cr_expect(has(keeper_result_of(s.keeper, other, 1000), "\"delivered\""));
  struct keeper *k = s.keeper;
  rg_gate_close(s.gate);
  cr_expect_eq(k->result_count, RG_WAITING_CONVERSATION_MAX + 1, "each ticket has its result: %zu",
               k->result_count);
  for (size_t i = 1; i < k->result_count; i++) {
    cr_expect(has(k->results[i].json, "\"result\":\"cancelled\",\"reason\":\"closed\""), "%s",
              k->results[i].json);
  }
  s.gate = NULL;
  stage_close(&s);
}

Test(delivery, cancel_keeps_back_what_is_unsent)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", "groups:\n  default:\n    pace: {min: 2, max: 2}\n", false);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
  uint64_t behind = stage_submit(&s, "123", REPLY(TEXT("three")));
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  usleep(100000);
  cr_expect_eq(rg_gate_cancel(s.gate, behind), RG_OK);
  const char *result = keeper_result_of(s.keeper, behind, 1000);
  cr_expect(has(result, "\"result\":\"cancelled\",\"reason\":\"cancelled\""), "%s", result);
  cr_expect_eq(rg_gate_cancel(s.gate, ticket), RG_OK);
  result = keeper_result_of(s.keeper, ticket, 1000);
  cr_expect(has(result, "\"result\":\"cancelled\""), "%s", result);
  cr_expect(has(result, "\"sent\":[{\"action\":\"send_group_msg\",\"message_id\":\"1000\"}]"), "%s",
            result);
  cr_expect_eq(times(result, "\"reason\":\"cancelled\""), 2, "%s", result);
  cr_expect_eq(rg_gate_cancel(s.gate, ticket), RG_OK, "a ticket that ended is no fault");
  cr_expect_eq(rg_gate_cancel(s.gate, 0), RG_EARGUMENT);
  cr_expect_eq(rg_gate_cancel(s.gate, 99), RG_EARGUMENT);
  usleep(300000);
  cr_expect_eq(bot_count(s.bot), 1);
  cr_expect_eq(s.keeper->result_count, 2);
  stage_close(&s);
}

Test(delivery, a_recall_of_what_is_answered_cancels)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", "groups:\n  default:\n    pace: {min: 2, max: 2}\n", false);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  usleep(100000);
  bot_send(s.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":"
                  "\"group_recall\",\"group_id\":123,\"user_id\":10002,\"operator_id\":10002,"
                  "\"message_id\":556}");
  cr_expect_null(keeper_result_of(s.keeper, ticket, 200), "another message");
  bot_send(s.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":"
                  "\"group_recall\",\"group_id\":123,\"user_id\":10002,\"operator_id\":10002,"
                  "\"message_id\":555}");
  const char *result = keeper_result_of(s.keeper, ticket, 1000);
  cr_expect(has(result, "\"result\":\"cancelled\",\"reason\":\"recalled\""), "%s", result);
  stage_close(&s);
}

Test(delivery, removal_from_the_group_clears_its_queue)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", "groups:\n  default:\n    pace: {min: 2, max: 2}\n", false);
  stage_ready(&s);
  uint64_t a = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
  uint64_t b = stage_submit(&s, "123", REPLY(TEXT("three")));
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  usleep(100000);
  bot_send(s.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":"
                  "\"group_decrease\",\"sub_type\":\"kick_me\",\"group_id\":123,"
                  "\"user_id\":10001,\"operator_id\":10002}");
  cr_expect(has(keeper_result_of(s.keeper, a, 1000), "\"reason\":\"removed\""));
  cr_expect(has(keeper_result_of(s.keeper, b, 1000), "\"reason\":\"removed\""));
  stage_close(&s);
}

Test(delivery, failure_notice_in_the_place_of_what_is_refused)
{
  static const char tool[] = "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    failure_notice: 出错了\n", false);
  stage_ready(&s);
  uint64_t tickets[5];
  for (int i = 0; i < 5; i++) tickets[i] = stage_submit(&s, "123", tool);
  const char *result = keeper_result_of(s.keeper, tickets[0], LONG_MS);
  cr_expect(has(result, "\"result\":\"blocked\""), "%s", result);
  cr_expect(has(result, "\"code\":\"tool_call\""), "%s", result);
  cr_expect(has(result, "\"sent\":[],\"unsent\":[],"), "%s", result);
  cr_expect(has(result, "\"notice\":{\"message_id\":\"1000\"}"), "%s", result);
  cr_expect(bot_call_has(s.bot, 0, "send_group_msg", "出错了"));
  result = keeper_result_of(s.keeper, tickets[4], LONG_MS);
  cr_expect(has(result, "\"notice\":null"), "no more than three a minute: %s", result);
  cr_expect_eq(bot_count(s.bot), 3);
  uint64_t other = stage_submit(&s, "124", tool);
  cr_expect(has(keeper_result_of(s.keeper, other, LONG_MS), "\"notice\":{"), "each chat its own");
  int32_t rc;
  uint64_t quiet = stage_submit_as(&s, RG_KIND_PROACTIVE, "125", "", tool, &rc);
  cr_expect(has(keeper_result_of(s.keeper, quiet, LONG_MS), "\"notice\":null"), "nobody asked");
  stage_close(&s);
}

Test(delivery, one_correction_by_the_hosts_model)
{
  static const char wrong[] = "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{}}]}]}";
  static const struct {
    const char *label, *text, *result, *verdict;
  } rows[] = {
    { "sound", REPLY(TEXT("fixed")), "\"result\":\"delivered\"", "\"corrected\":true" },
    { "still wrong", wrong, "\"result\":\"blocked\"", "\"verdict\":\"correct\"" },
    { "it failed", "", "\"result\":\"blocked\"", "\"code\":\"missing\"" },
  };
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, true);
  stage_ready(&s);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t ticket = stage_submit(&s, "123", wrong);
    uint64_t behind = stage_submit(&s, "123", REPLY(TEXT("behind")));
    cr_assert(keeper_wait(s.keeper, &s.keeper->request_count, i + 1, LONG_MS), "%s", rows[i].label);
    cr_expect_eq(s.keeper->requests[i].ticket, ticket);
    cr_expect_null(keeper_result_of(s.keeper, behind, 100), "in order");
    struct rg_bytes text = { rows[i].text, strlen(rows[i].text) };
    cr_expect_eq(rg_gate_completed(s.gate, ticket, text), RG_OK);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(has(result, rows[i].result) && has(result, rows[i].verdict), "%s: %s", rows[i].label,
              result);
    cr_expect_eq(rg_gate_completed(s.gate, ticket, text), RG_OK, "a second time does nothing");
    cr_expect(has(keeper_result_of(s.keeper, behind, LONG_MS), "delivered"));
  }
  cr_expect_eq(s.keeper->request_count, 3, "never twice for a turn");
  stage_close(&s);
}

Test(delivery, without_a_model_to_ask_the_notice_goes_out)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", "{\"messages\":[{\"text\":\"wrong\"}]}");
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"result\":\"blocked\"") && has(result, "\"verdict\":\"correct\""), "%s",
            result);
  cr_expect_eq(bot_count(s.bot), 1);
  stage_close(&s);
}

/* --- cards --- */

#define CARD                                                                                       \
  REPLY(                                                                                           \
      "{\"segments\":[{\"type\":\"share\",\"data\":{\"url\":\"https://music.163.com/song?id=1\","  \
      "\"title\":\"Song\",\"description\":\"Singer\",\"image\":\"https://a.bc/i.jpg\","            \
      "\"audio\":\"https://a.bc/s.mp3\",\"platform\":\"netease\"}}]}")

static struct bot_answer card_answer(struct bot *b, const struct bot_call *call)
{
  const char *shown = b->ctx;
  if (strcmp(call->action, "get_msg") != 0) return (struct bot_answer) { .kind = BOT_OK };
  if (!shown) return (struct bot_answer) { .kind = BOT_SILENT };
  return (struct bot_answer) { .kind = BOT_TEXT, .text = shown };
}

Test(delivery, a_card_that_is_not_shown_goes_as_text_once)
{
#define MESSAGE(m) "\"status\":\"ok\",\"retcode\":0,\"data\":{\"message\":" m "}"
  static char seen[] = MESSAGE("[{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}]");
  static char seen_code[] = MESSAGE("\"[CQ:json,data={}]\"");
  static char empty[] = MESSAGE("[]");
  static const struct {
    const char *label;
    char *answer;
    size_t calls;
    bool shown;
  } rows[] = { { "segment", seen, 2, true },
               { "code", seen_code, 2, true },
               { "nothing", empty, 3, false },
               { "no answer", NULL, 3, false } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct stage s;
    stage_open(&s, "NapCat.Onebot", FAST, false);
    s.bot->ctx = rows[i].answer;
    s.bot->answer = card_answer;
    stage_ready(&s);
    uint64_t ticket = stage_submit(&s, "123", CARD);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(has(result, "\"result\":\"delivered\""), "%s: %s", rows[i].label, result);
    cr_expect_eq(bot_count(s.bot), rows[i].calls, "%s: %zu", rows[i].label, bot_count(s.bot));
    cr_expect(bot_call_has(s.bot, 0, "send_group_msg", "\"music\""), "%s", rows[i].label);
    cr_expect(bot_call_has(s.bot, 1, "get_msg", "\"message_id\":1000"), "%s", rows[i].label);
    cr_expect_eq(has(result, "card_not_shown"), !rows[i].shown, "%s: %s", rows[i].label, result);
    if (!rows[i].shown) {
      cr_expect(bot_call_has(s.bot, 2, "send_group_msg", "Song"));
      cr_expect(has(result, "\"message_id\":\"1002\""), "%s", result);
    }
    stage_close(&s);
  }
}

Test(delivery, two_lost_cards_in_a_row_make_the_endpoint_use_text)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  static char empty[] = MESSAGE("[]");
  s.bot->ctx = empty;
  s.bot->answer = card_answer;
  stage_ready(&s);
  for (int i = 0; i < 2; i++) {
    cr_assert(keeper_result_of(s.keeper, stage_submit(&s, "123", CARD), LONG_MS));
  }
  cr_assert_eq(bot_count(s.bot), 6);
  cr_assert(keeper_result_of(s.keeper, stage_submit(&s, "123", CARD), LONG_MS));
  cr_expect_eq(bot_count(s.bot), 7);
  cr_expect(bot_call_has(s.bot, 6, "send_group_msg", "\"text\""));
  cr_expect(keeper_logged(s.keeper, "music cards are accepted but not shown"));
  char why[512];
  cr_assert_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  cr_assert(keeper_result_of(s.keeper, stage_submit(&s, "123", CARD), LONG_MS));
  cr_expect(bot_call_has(s.bot, 7, "send_group_msg", "\"music\""), "told otherwise by a reload");
  stage_close(&s);
}

/* --- connections --- */

Test(delivery, a_turn_before_the_connection_waits_for_it)
{
  struct stage s;
  stage_open(&s, "Lagrange.OneBot", FAST, false);
  uint64_t ticket = stage_submit(&s, "123", "{\"messages\":[" TEXT("hi") "],\"reaction\":\"76\"}");
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_assert(has(result, "\"result\":\"delivered\""), "%s", result);
  cr_expect(bot_call_has(s.bot, 0, "set_group_reaction", "\"code\":\"76\""),
            "planned for what the endpoint turned out to be");
  stage_close(&s);
}

Test(delivery, offline_fails_after_a_while_and_nothing_was_written)
{
  struct stage s;
  stage_open_timed(&s, "NapCat.Onebot", "    offline_wait: 1\n", FAST, false, &rg_timing);
  stage_ready(&s);
  close(s.bot->listening); /* nobody can come back */
  s.bot->listening = -1;
  bot_drop(s.bot);
  usleep(200000);
  uint64_t begin = ob_now_ms();
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("a") "," TEXT("b")));
  const char *result = keeper_result_of(s.keeper, ticket, 20000);
  cr_expect(has(result, "\"result\":\"failed\",\"reason\":\"offline\""), "%s", result);
  cr_expect_eq(times(result, "\"outcome\":\"not_tried\""), 2, "%s", result);
  cr_expect(ob_now_ms() - begin >= 700 && ob_now_ms() - begin < 4000);
  stage_close(&s);
}

Test(delivery, rate_makes_messages_wait)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    rate: {per_minute: 3}\n", false);
  stage_ready(&s);
  uint64_t ticket =
      stage_submit(&s, "123", REPLY(TEXT("1") "," TEXT("2") "," TEXT("3") "," TEXT("4")));
  cr_assert(bot_called(s.bot, 3, LONG_MS));
  cr_expect_null(keeper_result_of(s.keeper, ticket, 1500));
  cr_expect_eq(bot_count(s.bot), 3);
  uint64_t other = stage_submit(&s, "124", REPLY(TEXT("x")));
  cr_expect(has(keeper_result_of(s.keeper, other, LONG_MS), "delivered"), "each chat its own");
  stage_close(&s);
}

Test(delivery, a_turn_with_media_that_never_connects_ends)
{
  static const char picture[] =
      REPLY("{\"segments\":[{\"type\":\"image\",\"data\":{\"media\":{\"kind\":\"base64\",\"value\":"
            "\"iVBORw0KGgo=\"}}}]}");
  struct stage s;
  char why[512];
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_config(&s, "  dead:\n    connect: ws://127.0.0.1:9\n    offline_wait: 1\n", FAST);
  cr_assert_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  const struct rg_turn turn = {
    .size = sizeof turn, .kind = RG_KIND_ANSWER, .endpoint = { "dead", 4 }, .group_id = { "123", 3 }
  };
  uint64_t ticket;
  struct rg_bytes raw = { picture, sizeof picture - 1 };
  cr_assert_eq(rg_gate_submit(s.gate, &turn, raw, &ticket), RG_OK);
  const char *result = keeper_result_of(s.keeper, ticket, 20000);
  cr_expect(has(result, "\"result\":\"failed\",\"reason\":\"offline\""), "%s", result);
  stage_close(&s);
}
