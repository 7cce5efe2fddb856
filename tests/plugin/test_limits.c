/* What stops a chat or an account, and what lets it go on: mutes, risk control, removal, offline,
 * rates and bounds; and what the operator is told of it. The times are scaled. */
#include "onebot/sandbox/sandbox.h"
#include "plugin/delivery/notice.h"
#include "tests/lib/bot.h"

enum { LONG_MS = 5000 };

#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(messages) "{\"messages\":[" messages "],\"reaction\":\"\"}"
#define FAST "groups:\n  default:\n    pace: {min: 0, max: 0}\n"
#define REFUSED(code, what)                                                                        \
  "\"status\":\"failed\",\"retcode\":" code ",\"data\":null,\"message\":\"" what                   \
  "\",\"wording\":\"" what "\""
#define MUTED REFUSED("1200", "EventChecker Failed: {\\\"result\\\": 120}")
#define RISK REFUSED("100", "blocked by server")
#define OFFLINE REFUSED("1200", "EventChecker Failed: {\\\"result\\\": 1006514}")
#define NOTICE(type, rest)                                                                         \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",\"notice_type\":\"" type "\"," rest "}"
#define BAN(how, user, seconds)                                                                    \
  NOTICE("group_ban", "\"sub_type\":\"" how "\",\"group_id\":123,\"user_id\":" user                \
                      ",\"operator_id\":10002,\"duration\":" seconds)
#define META(type, rest)                                                                           \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"meta_event\",\"meta_event_type\":\"" type         \
  "\"," rest "}"
#define HEARTBEAT(status) META("heartbeat", "\"interval\":5000,\"status\":" status)

/* The world a hundred times faster. */
static const struct rg_timing fast = {
  .send = 400,
  .reaction = 100,
  .card_look = 100,
  .correction = 300,
  .echo = 50,
  .retry = 20,
  .muted = 300,
  .risk = 300,
  .removed = 60000,
  .probe = 100,
  .down = 300,
  .notify = 3600 * 1000,
};

static bool has(const char *json, const char *what)
{
  return json && strstr(json, what);
}

/* What the bot answers to the next calls; ctx of a struct bot. Texts are answers. */
struct script {
  const char *group_123;  /* to messages for group 123; NULL: ok */
  const char *get_status; /* NULL: ok without data */
};

static struct bot_answer scripted(struct bot *b, const struct bot_call *call)
{
  const struct script *s = b->ctx;
  const char *text = NULL;
  if (strstr(call->params, "\"group_id\":123")) text = s->group_123;
  if (strcmp(call->action, "get_status") == 0) text = s->get_status;
  return (struct bot_answer) { .kind = text ? BOT_TEXT : BOT_OK, .text = text };
}

static void open_fast(struct stage *s, struct script *script, const char *endpoint_rest,
                      const char *rest)
{
  stage_open_timed(s, "NapCat.Onebot", endpoint_rest, rest, false, &fast);
  s->bot->ctx = script;
  s->bot->answer = scripted;
  stage_ready(s);
}

/* The result of one more reply to a group. */
static const char *say(struct stage *s, const char *group)
{
  const char *json = keeper_result_of(s->keeper, stage_submit(s, group, REPLY(TEXT("x"))), LONG_MS);
  return json ? json : "no result";
}

/* Sends an event and waits until it was seen: the bot's text of that tag comes behind it. */
static void event(struct stage *s, const char *json)
{
  size_t before = s->keeper->event_count;
  bot_send(s->bot, json);
  bot_send(s->bot, NOTICE("mark", "\"group_id\":1"));
  size_t after = before + (strstr(json, "meta_event") ? 1 : 2);
  cr_assert(keeper_wait(s->keeper, &s->keeper->event_count, after, LONG_MS), "%s", json);
}

static size_t lines_with(struct bot *b, const char *what)
{
  size_t n = 0;
  pthread_mutex_lock(&b->mu);
  for (size_t i = 0; i < b->count; i++)
    n += strcmp(b->calls[i].action, "send_private_msg") == 0 && strstr(b->calls[i].params, what);
  pthread_mutex_unlock(&b->mu);
  return n;
}

static bool state_is(struct stage *s, const char *word)
{
  char wanted[64];
  snprintf(wanted, sizeof wanted, "\"state\":\"%s\"", word);
  for (int i = 0; i < 200; i++) {
    struct rg_buf json;
    cr_assert_eq(rg_gate_stats(s->gate, &json), RG_OK);
    bool is = memmem(json.ptr, json.len, wanted, strlen(wanted)) != NULL;
    rg_gate_release(&json);
    if (is) return true;
    usleep(10000);
  }
  return false;
}

/* --- chats --- */

Test(limits, a_chat_that_is_closed_rests_until_its_time)
{
  static const struct {
    const char *label, *answer, *reason;
  } rows[] = { { "muted", MUTED, "\"reason\":\"muted\"" },
               { "risk", RISK, "\"reason\":\"risk\"" } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct stage s;
    struct script script = { .group_123 = rows[i].answer };
    open_fast(&s, &script, "", FAST);
    for (int n = 0; n < 20; n++)
      cr_expect(has(say(&s, "123"), rows[i].reason), "%s", rows[i].label);
    cr_expect_eq(bot_count(s.bot), 1, "%s: %zu sends into it", rows[i].label, bot_count(s.bot));
    cr_expect(has(say(&s, "124"), "\"delivered\""), "%s: others go on", rows[i].label);
    script.group_123 = NULL;
    usleep(350000);
    cr_expect(has(say(&s, "123"), "\"delivered\""), "%s: its time is over", rows[i].label);
    stage_close(&s);
  }
}

Test(limits, events_close_a_chat_and_open_it)
{
  static const struct {
    const char *label, *closes, *reason, *opens;
    bool closed, open;
  } rows[] = {
    { "mute and lift", BAN("ban", "10001", "600"), "muted", BAN("lift_ban", "10001", "0"), true,
      true },
    { "lift for all", BAN("ban", "10001", "600"), "muted", BAN("lift_ban", "0", "0"), true, true },
    { "lift for another", BAN("ban", "10001", "600"), "muted", BAN("lift_ban", "10005", "0"), true,
      false },
    { "made an admin", BAN("ban", "10001", "600"), "muted",
      NOTICE("group_admin", "\"sub_type\":\"set\",\"group_id\":123,\"user_id\":10001"), true,
      true },
    { "an admin no more", BAN("ban", "10001", "600"), "muted",
      NOTICE("group_admin", "\"sub_type\":\"unset\",\"group_id\":123,\"user_id\":10001"), true,
      false },
    { "mute of another", BAN("ban", "10005", "600"), "muted", NULL, false, true },
    { "mute of all: maybe not of us", BAN("ban", "0", "-1"), "muted", NULL, false, true },
    { "kicked and back",
      NOTICE("group_decrease", "\"sub_type\":\"kick_me\",\"group_id\":123,\"user_id\":10001"),
      "removed",
      NOTICE("group_increase", "\"sub_type\":\"invite\",\"group_id\":123,\"user_id\":10001"), true,
      true },
    { "disbanded",
      NOTICE("group_decrease", "\"sub_type\":\"disband\",\"group_id\":123,\"user_id\":0"),
      "removed", NULL, true, false },
    { "another left",
      NOTICE("group_decrease", "\"sub_type\":\"leave\",\"group_id\":123,\"user_id\":10005"),
      "removed", NULL, false, true },
    { "another came back",
      NOTICE("group_decrease", "\"sub_type\":\"kick_me\",\"group_id\":123,\"user_id\":10001"),
      "removed",
      NOTICE("group_increase", "\"sub_type\":\"invite\",\"group_id\":123,\"user_id\":10005"), true,
      false },
  };
  struct stage s;
  struct script script = { NULL, NULL };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char reason[64];
    snprintf(reason, sizeof reason, "\"reason\":\"%s\"", rows[i].reason);
    open_fast(&s, &script, "", FAST);
    event(&s, rows[i].closes); /* nothing was sent there before */
    cr_expect_eq(has(say(&s, "123"), reason), rows[i].closed, "%s: closed", rows[i].label);
    cr_expect_eq(bot_count(s.bot), rows[i].closed ? 0 : 1, "%s", rows[i].label);
    if (rows[i].opens) event(&s, rows[i].opens);
    cr_expect_eq(has(say(&s, "123"), "\"delivered\""), rows[i].open, "%s: open", rows[i].label);
    cr_expect(has(say(&s, "124"), "\"delivered\""), "%s: others", rows[i].label);
    stage_close(&s);
  }
}

Test(limits, a_mute_ends_when_it_said)
{
  struct stage s;
  struct script script = { NULL, NULL };
  open_fast(&s, &script, "", FAST);
  event(&s, BAN("ban", "10001", "1"));
  cr_expect(has(say(&s, "123"), "\"reason\":\"muted\""));
  usleep(1050000);
  cr_expect(has(say(&s, "123"), "\"delivered\""));
  stage_close(&s);
}

/* --- the account --- */

Test(limits, an_account_says_that_it_is_offline_and_back)
{
  static const struct {
    const char *label, *away, *back;
    bool offline;
  } rows[] = {
    { "online", HEARTBEAT("{\"online\":false,\"good\":true}"),
      HEARTBEAT("{\"online\":true,\"good\":true}"), true },
    { "good", HEARTBEAT("{\"online\":true,\"good\":false}"),
      HEARTBEAT("{\"online\":true,\"good\":true}"), true },
    { "bot_offline", NOTICE("bot_offline", "\"user_id\":10001,\"tag\":\"KickedOffLine\""),
      HEARTBEAT("{\"online\":true,\"good\":true}"), true },
    { "bot_online", NOTICE("bot_offline", "\"user_id\":10001"),
      NOTICE("bot_online", "\"reason\":\"x\""), true },
    { "lifecycle", HEARTBEAT("{\"online\":false}"), META("lifecycle", "\"sub_type\":\"enable\""),
      true },
    { "unknown is not offline", HEARTBEAT("{\"online\":null,\"good\":null}"), NULL, false },
    { "no status", HEARTBEAT("null"), NULL, false },
    { "no sense", HEARTBEAT("{\"online\":\"no\"}"), NULL, false },
  };
  struct stage s;
  struct script script = {
    .get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":false,\"good\":true}"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    open_fast(&s, &script, "    offline_wait: 1.5\n", FAST);
    event(&s, rows[i].away);
    cr_expect(state_is(&s, rows[i].offline ? "offline" : "ready"), "%s", rows[i].label);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("x")));
    if (rows[i].offline) {
      cr_expect_null(keeper_result_of(s.keeper, ticket, 100), "%s: it waits", rows[i].label);
      cr_expect_not(bot_call_has(s.bot, 0, "send_group_msg", "x"), "%s", rows[i].label);
      event(&s, rows[i].back);
    }
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(has(result, "\"delivered\""), "%s: %s", rows[i].label, result);
    cr_expect(state_is(&s, "ready"), "%s", rows[i].label);
    stage_close(&s);
  }
}

Test(limits, offline_fails_by_setting)
{
  static const struct {
    const char *label, *rest;
    unsigned least, most;
  } rows[] = { { "at once", "    offline_wait: 0\n", 0, 250 },
               { "after a while", "    offline_wait: 0.4\n", 300, 1000 } };
  struct stage s;
  struct script script = {
    .get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":false,\"good\":true}"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    open_fast(&s, &script, rows[i].rest, FAST);
    event(&s, HEARTBEAT("{\"online\":false,\"good\":true}"));
    uint64_t begin = ob_now_ms(), tickets[4];
    for (int n = 0; n < 4; n++) tickets[n] = stage_submit(&s, "123", REPLY(TEXT("x")));
    for (int n = 0; n < 4; n++)
      cr_expect(has(keeper_result_of(s.keeper, tickets[n], LONG_MS),
                    "\"result\":\"failed\",\"reason\":\"offline\""),
                "%s", rows[i].label);
    uint64_t took = ob_now_ms() - begin;
    cr_expect(took >= rows[i].least && took <= rows[i].most,
              "%s: all in %d ms, not one after the other", rows[i].label, (int)took);
    cr_expect_eq(lines_with(s.bot, "x"), 0);
    stage_close(&s);
  }
}

Test(limits, an_account_that_refuses_as_offline_is_asked_until_it_is_back)
{
  struct stage s;
  struct script script = {
    .group_123 = OFFLINE,
    .get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":false,\"good\":true}"
  };
  open_fast(&s, &script, "    offline_wait: 3\n", FAST);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("x")));
  cr_expect(state_is(&s, "offline"));
  uint64_t other = stage_submit(&s, "124", REPLY(TEXT("y")));
  cr_expect_null(keeper_result_of(s.keeper, other, 250), "nothing is tried meanwhile");
  cr_expect_eq(bot_call_has(s.bot, 1, "get_status", "{}"), true);
  script.group_123 = NULL;
  script.get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":true,\"good\":true}";
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"delivered\""), "%s", result);
  result = keeper_result_of(s.keeper, other, LONG_MS);
  cr_expect(has(result, "\"delivered\""), "%s", result);
  stage_close(&s);
}

/* --- rates and bounds --- */

Test(limits, an_account_has_a_rate_of_its_own)
{
  struct stage s;
  struct script script = { NULL, NULL };
  open_fast(&s, &script, "    rate: {per_minute: 3}\n", FAST);
  cr_expect(has(say(&s, "123"), "\"delivered\""));
  cr_expect(has(say(&s, "124"), "\"delivered\""));
  cr_expect(has(say(&s, "125"), "\"delivered\""));
  uint64_t fourth = stage_submit(&s, "126", REPLY(TEXT("x")));
  cr_expect_null(keeper_result_of(s.keeper, fourth, 300), "a fourth in any chat waits");
  cr_expect_eq(bot_count(s.bot), 3);
  cr_expect_eq(rg_gate_cancel(s.gate, fourth), RG_OK, "and can be called off");
  cr_expect(has(keeper_result_of(s.keeper, fourth, LONG_MS), "\"cancelled\""));
  stage_close(&s);
}

Test(limits, too_much_is_turned_away_and_the_host_is_told)
{
  struct stage s;
  struct script script = {
    .get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":false,\"good\":true}"
  };
  open_fast(&s, &script, "    offline_wait: 60\n",
            FAST "    rate: {per_minute: 6000}\nnotify: [10007]\n");
  event(&s, HEARTBEAT("{\"online\":false}"));
  int32_t rc = RG_OK;
  size_t taken = 0;
  for (int g = 0; g < 40 && rc == RG_OK; g++) {
    char group[16];
    snprintf(group, sizeof group, "%d", 1000 + g);
    for (int n = 0; n < RG_WAITING_CONVERSATION_MAX; n++) {
      stage_submit_as(&s, RG_KIND_ANSWER, group, "5", REPLY(TEXT("x")), &rc);
      if (rc != RG_OK) break;
      taken++;
    }
  }
  cr_expect_eq(rc, RG_EBUSY);
  cr_expect_eq(taken, RG_WAITING_MAX, "%zu", taken);
  event(&s, HEARTBEAT("{\"online\":true}"));
  cr_assert(keeper_wait(s.keeper, &s.keeper->result_count, taken, LONG_MS), "%zu of %zu",
            s.keeper->result_count, taken);
  for (int i = 0; i < 100 && lines_with(s.bot, "too many messages") < 1; i++) usleep(10000);
  cr_expect_eq(lines_with(s.bot, "too many messages"), 1, "the operator is told, over the bound");
  stage_submit_as(&s, RG_KIND_ANSWER, "1000", "5", REPLY(TEXT("x")), &rc);
  cr_expect_eq(rc, RG_OK, "there is room again");
  stage_close(&s);
}

/* --- what the operator is told --- */

Test(limits, the_operator_is_told_once)
{
  static const struct {
    const char *label, *event, *words;
  } rows[] = {
    { "muted", BAN("ban", "10001", "600"), "the bot is muted" },
    { "removed",
      NOTICE("group_decrease", "\"sub_type\":\"kick_me\",\"group_id\":123,\"user_id\":10001"),
      "no longer in the group" },
  };
  struct stage s;
  struct script script = { NULL, NULL };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    open_fast(&s, &script, "", FAST "notify: [10007]\nnotify_groups: [777]\n");
    event(&s, rows[i].event);
    event(&s, rows[i].event);
    cr_assert(bot_called(s.bot, 2, LONG_MS), "%s", rows[i].label);
    usleep(100000);
    cr_expect_eq(bot_count(s.bot), 2, "%s: %zu", rows[i].label, bot_count(s.bot));
    cr_expect(bot_call_has(s.bot, 0, "send_private_msg", rows[i].words), "%s", rows[i].label);
    cr_expect(bot_call_has(s.bot, 0, "send_private_msg", "\"user_id\":10007"), "%s", rows[i].label);
    cr_expect(bot_call_has(s.bot, 0, "send_private_msg", "Replygate main: "), "%s", rows[i].label);
    cr_expect(bot_call_has(s.bot, 0, "send_private_msg", "(123)"), "%s", rows[i].label);
    cr_expect(bot_call_has(s.bot, 1, "send_group_msg", "\"group_id\":777"), "%s", rows[i].label);
    cr_expect_eq(s.keeper->result_count, 0, "the host is told no result of it");
    stage_close(&s);
  }
}

Test(limits, what_cannot_be_told_now_is_told_later)
{
  struct stage s;
  struct script script = {
    .get_status = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"online\":false,\"good\":true}"
  };
  open_fast(&s, &script, "    offline_wait: 0\n", FAST "notify: [10007]\n");
  event(&s, HEARTBEAT("{\"online\":false}"));
  usleep(200000);
  cr_expect_eq(lines_with(s.bot, "Replygate"), 0, "nobody can carry it");
  event(&s, HEARTBEAT("{\"online\":true}"));
  for (int i = 0; i < 100 && lines_with(s.bot, "Replygate") < 2; i++) usleep(10000);
  cr_expect_eq(lines_with(s.bot, "the QQ account is offline"), 1);
  cr_expect_eq(lines_with(s.bot, "works again"), 1);
  stage_close(&s);
}

static struct bot_answer all_risky(struct bot *b, const struct bot_call *call)
{
  (void)b, (void)call;
  return (struct bot_answer) { .kind = BOT_TEXT, .text = RISK };
}

Test(limits, a_line_that_cannot_be_sent_is_not_told_of)
{
  struct stage s;
  struct rg_timing often = fast;
  often.notify = 1;
  stage_open_timed(&s, "NapCat.Onebot", "", FAST "notify: [10007]\n", false, &often);
  s.bot->answer = all_risky;
  stage_ready(&s);
  cr_expect(has(say(&s, "123"), "\"reason\":\"risk\""));
  usleep(500000);
  cr_expect_eq(lines_with(s.bot, "risk control"), 1);
  cr_expect_eq(bot_count(s.bot), 2);
  stage_close(&s);
}

Test(limits, a_connection_that_stays_away_is_told_of_when_it_is_back)
{
  struct stage s;
  struct script script = { NULL, NULL };
  open_fast(&s, &script, "", FAST "notify: [10007]\n");
  close(s.bot->listening);
  s.bot->listening = -1;
  bot_drop(s.bot);
  usleep(600000);
  unsigned port = s.bot->port;
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in at = { .sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr = { htonl(INADDR_LOOPBACK) } };
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
  cr_assert_eq(listen(fd, 5), 0);
  s.bot->listening = fd;
  for (int i = 0; i < 500 && lines_with(s.bot, "Replygate") < 2; i++) usleep(10000);
  cr_expect_eq(lines_with(s.bot, "no connection to the OneBot"), 1);
  cr_expect_eq(lines_with(s.bot, "works again"), 1);
  stage_close(&s);
}

/* Another account carries it: the one it happened at cannot. */
Test(limits, a_refused_token_is_told_of_by_another_account)
{
  struct stage s;
  struct script script = { NULL, NULL };
  const struct ob_service_options none = { .ctx = NULL };
  const struct ob_sandbox_options played = { .profile = "lagrange", .access_token = "right" };
  struct ob_service *service;
  struct ob_sandbox *box;
  char second[256];
  cr_assert_eq(ob_service_start(&none, &service, NULL), SCHEMA_OK);
  cr_assert_eq(ob_sandbox_start(service, &played, &box, NULL), SCHEMA_OK);
  snprintf(second, sizeof second, "  second:\n    connect: %s\n    access_token: wrong\n",
           ob_sandbox_link_url(box));
  open_fast(&s, &script, second, FAST "notify: [10007]\n");
  for (int i = 0; i < 200 && lines_with(s.bot, "Replygate") < 1; i++) usleep(10000);
  cr_expect_eq(lines_with(s.bot, "Replygate second: "), 1);
  cr_expect_eq(lines_with(s.bot, "access_token"), 1);
  cr_expect_eq(lines_with(s.bot, "wrong"), 0, "no secret in it");
  stage_close(&s);
  ob_sandbox_stop(box);
  ob_service_stop(service);
}

Test(limits, nobody_is_told_where_nobody_is_named)
{
  struct stage s;
  struct script script = { .group_123 = RISK };
  open_fast(&s, &script, "", FAST);
  cr_expect(has(say(&s, "123"), "\"reason\":\"risk\""));
  usleep(100000);
  cr_expect_eq(bot_count(s.bot), 1);
  stage_close(&s);
}

/* --- the failure notice --- */

Test(limits, the_failure_notice_is_of_the_language_and_of_the_setting)
{
  static const char tool[] = "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
  static const struct {
    const char *label, *rest, *says;
  } rows[] = {
    { "en", FAST, "Sorry, that reply did not work out" },
    { "zh", FAST "language: zh\n", "抱歉，这条回复没能生成好" },
    { "a text", FAST "    failure_notice: 出错了\n", "出错了" },
    { "off", FAST "    failure_notice: off\n", NULL },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct stage s;
    struct script script = { NULL, NULL };
    open_fast(&s, &script, "", rows[i].rest);
    enum { TURNS = 12 };
    uint64_t tickets[TURNS];
    for (int n = 0; n < TURNS; n++) tickets[n] = stage_submit(&s, "123", tool);
    for (int n = 0; n < TURNS; n++)
      cr_expect(has(keeper_result_of(s.keeper, tickets[n], LONG_MS), "\"blocked\""), "%s",
                rows[i].label);
    size_t sent = bot_count(s.bot);
    cr_expect_eq(sent, rows[i].says ? RG_NOTICES_PER_MINUTE : 0, "%s: %zu", rows[i].label, sent);
    for (size_t n = 0; n < sent; n++)
      cr_expect(bot_call_has(s.bot, n, "send_group_msg", rows[i].says), "%s", rows[i].label);
    stage_close(&s);
  }
}

/* --- taking back --- */

Test(limits, recall_takes_back_the_last_reply_and_then_the_one_before)
{
#define COMMAND                                                                                    \
  "{\"time\":%d,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","           \
  "\"group_id\":123,\"user_id\":10009,\"message_id\":%d,\"sender\":{\"role\":\"member\"},"         \
  "\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"/gate recall\"}}]}"
  struct stage s;
  struct script script = { NULL, NULL };
  char command[512];
  open_fast(&s, &script, "", FAST);
  uint64_t a = stage_submit(&s, "123", REPLY(TEXT("1") "," TEXT("2")));
  uint64_t b = stage_submit(&s, "123", REPLY(TEXT("3") "," TEXT("4")));
  cr_assert(keeper_result_of(s.keeper, a, LONG_MS) && keeper_result_of(s.keeper, b, LONG_MS));
  for (int i = 0; i < 2; i++) {
    size_t from = bot_count(s.bot);
    snprintf(command, sizeof command, COMMAND, i, 70 + i);
    bot_send(s.bot, command);
    cr_assert(bot_called(s.bot, from + 3, LONG_MS));
    cr_expect(bot_call_has(s.bot, from, "delete_msg", i ? "1000" : "1002"), "%d", i);
    cr_expect(bot_call_has(s.bot, from + 1, "delete_msg", i ? "1001" : "1003"), "%d", i);
    cr_expect(bot_call_has(s.bot, from + 2, "send_group_msg", "Taking back 2"), "%d", i);
  }
  cr_expect_eq(s.keeper->event_count, 0, "a command is nothing for the bot");
  stage_close(&s);
}
