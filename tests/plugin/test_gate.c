#include "plugin/store/redis.h"
#include "tests/lib/bot.h"

enum { LONG_MS = 8000 };

#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(messages) "{\"messages\":[" messages "],\"reaction\":\"\"}"
#define FAST "groups:\n  default:\n    pace: {min: 0.01, max: 0.02, per_char: 0.001}\n"

/* A group message as NapCat sends it. */
#define GROUP_EVENT(user, role, text)                                                              \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","            \
  "\"sub_type\":\"normal\",\"message_id\":77,\"group_id\":123,\"user_id\":" user                   \
  ",\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}],\"raw_message\":\"" text    \
  "\",\"sender\":{\"user_id\":" user ",\"role\":\"" role "\"}}"

static const char keyboard[] =
    REPLY("{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"pick\"}},{\"type\":\"keyboard\","
          "\"data\":{\"rows\":[[{\"label\":\"A\",\"payload\":\"choose A\"},"
          "{\"label\":\"B\",\"payload\":\"2\"}]]}}]}");

static bool has(const char *json, const char *what)
{
  return json && strstr(json, what);
}

static const char *event_told(struct stage *s, size_t i)
{
  return keeper_wait(s->keeper, &s->keeper->event_count, i + 1, LONG_MS) ? s->keeper->events[i].json
                                                                         : NULL;
}

Test(gate, events_reach_the_host_byte_for_byte)
{
  static const char *const rows[] = {
    GROUP_EVENT("10002", "member", "hello"),
    GROUP_EVENT("10002", "member", "2"), /* a number where there is no keyboard */
    "{ \"post_type\" : \"notice\",\t\"x\":1.50e3, \"self_id\":10001 }",
    "{\"unknown\":[null,true]}",
  };
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bot_send(s.bot, rows[i]);
    const char *told = event_told(&s, i);
    cr_expect(told && strcmp(told, rows[i]) == 0, "row %zu: %s", i, told);
  }
  stage_close(&s);
}

Test(gate, a_tap_reaches_the_host_as_its_payload)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  cr_assert(
      has(keeper_result_of(s.keeper, stage_submit(&s, "123", keyboard), LONG_MS), "delivered"));
  cr_expect(bot_call_has(s.bot, 0, "send_group_msg", "1. A\\n2. B"));
  bot_send(s.bot, GROUP_EVENT("10003", "member", " １ "));
  const char *told = event_told(&s, 0);
  cr_expect(has(told, "{\"type\":\"text\",\"data\":{\"text\":\"choose A\"}}"), "%s", told);
  cr_expect(has(told, "\"raw_message\":\"choose A\"") && has(told, "\"user_id\":10003"), "%s",
            told);
  bot_send(s.bot, GROUP_EVENT("10003", "member", "2"));
  told = event_told(&s, 1);
  cr_expect(has(told, "\"text\":\"2\""), "a payload that is a number does not loop: %s", told);
  bot_send(s.bot, GROUP_EVENT("10003", "member", "3"));
  told = event_told(&s, 2);
  cr_expect_str_eq(told, GROUP_EVENT("10003", "member", "3"));
  stage_close(&s);
}

Test(gate, only_the_asked_may_tap_where_it_says_so)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    answer_by: asked\n", false);
  stage_ready(&s);
  cr_assert(
      has(keeper_result_of(s.keeper, stage_submit(&s, "123", keyboard), LONG_MS), "delivered"));
  bot_send(s.bot, GROUP_EVENT("10003", "member", "1"));
  cr_expect_str_eq(event_told(&s, 0), GROUP_EVENT("10003", "member", "1"));
  bot_send(s.bot, GROUP_EVENT("10002", "member", "1"));
  cr_expect(has(event_told(&s, 1), "choose A"));
  stage_close(&s);
}

Test(gate, commands_are_answered_and_not_passed_on)
{
  static const struct {
    const char *label, *event, *answer; /* NULL: none */
  } rows[] = {
    { "a member may not", GROUP_EVENT("10002", "member", "/gate off"), NULL },
    { "status", GROUP_EVENT("10009", "member", "/gate status"), "napcat" },
    { "last", GROUP_EVENT("10002", "admin", "/gate last"), "blocked" },
    { "off", GROUP_EVENT("10002", "owner", "/gate off"), "" },
    { "reload by a group's admin", GROUP_EVENT("10002", "admin", "/gate reload"), NULL },
    { "reload", GROUP_EVENT("10009", "member", "/gate reload"), "" },
    { "recall", GROUP_EVENT("10009", "member", "/gate recall"), "" },
  };
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    off_means: mute\n", false);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
  cr_assert(has(keeper_result_of(s.keeper, ticket, LONG_MS), "delivered"));
  ticket = stage_submit(&s, "123", "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>");
  cr_assert(has(keeper_result_of(s.keeper, ticket, LONG_MS), "blocked"));
  size_t calls = bot_count(s.bot);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bot_send(s.bot, rows[i].event);
    if (!rows[i].answer) continue;
    bool recall = strcmp(rows[i].label, "recall") == 0;
    size_t wanted = calls + (recall ? 2 : 1);
    cr_assert(bot_called(s.bot, wanted, LONG_MS), "%s", rows[i].label);
    usleep(100000);
    cr_expect_eq(bot_count(s.bot), wanted, "%s: %zu", rows[i].label, bot_count(s.bot));
    cr_expect(bot_call_has(s.bot, wanted - 1, "send_group_msg", rows[i].answer), "%s: %s",
              rows[i].label, s.bot->calls[wanted - 1].params);
    if (recall) {
      cr_expect(bot_call_has(s.bot, calls, "delete_msg", "\"message_id\":1002"),
                "the failure notice is the newest: %s", s.bot->calls[calls].params);
    }
    calls = wanted;
  }
  ticket = stage_submit(&s, "123", REPLY(TEXT("silenced")));
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"result\":\"nothing\""), "switched off and muted: %s", result);
  cr_expect_eq(s.keeper->event_count, 0, "no command reaches the host");
  cr_expect_eq(s.keeper->result_count, 3, "and no answer to one is told as a result");
  stage_close(&s);
}

Test(gate, reload_takes_what_changed_and_refuses_what_is_wrong)
{
  char why[512];
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  stage_config(&s, "", "groups:\n  default:\n    long_text_chars: x\n");
  cr_expect_eq(rg_gate_reload(s.gate, why, sizeof why), RG_ECONFIG);
  cr_expect(has(why, s.config) && has(why, ":8:22: "), "%s", why);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("a")));
  cr_expect(has(keeper_result_of(s.keeper, ticket, LONG_MS), "delivered"), "the old one stays");
  cr_expect_eq(s.bot->connections, 1);
  stage_config(&s, "", "groups:\n  default: {enabled: false, off_means: mute}\n");
  cr_expect_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  ticket = stage_submit(&s, "123", REPLY(TEXT("a")));
  cr_expect(has(keeper_result_of(s.keeper, ticket, LONG_MS), "nothing"));
  cr_expect_eq(s.bot->connections, 1, "a connection that did not change is kept");
  stage_config(&s, "    access_token: abc\n", FAST);
  cr_expect_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  cr_assert(bot_connected(s.bot, 2, LONG_MS), "a connection that changed is made anew");
  stage_ready(&s);
  ticket = stage_submit(&s, "123", REPLY(TEXT("a")));
  cr_expect(has(keeper_result_of(s.keeper, ticket, LONG_MS), "delivered"));
  stage_close(&s);
}

Test(gate, profile_override_holds_for_what_was_detected)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  char why[512];
  stage_config(&s, "    profile_override: {reactions: no}\n", FAST);
  cr_assert_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", "{\"messages\":[" TEXT("a") "],\"reaction\":\"76\"}");
  cr_assert(keeper_result_of(s.keeper, ticket, LONG_MS));
  cr_expect_eq(bot_count(s.bot), 1);
  stage_close(&s);
}

Test(gate, a_private_chat_is_a_conversation_of_its_own)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  const struct rg_turn turn = { .size = sizeof turn,
                                .kind = RG_KIND_ANSWER,
                                .endpoint = { "main", 4 },
                                .user_id = { "123", 3 },
                                .message_id = { "5", 1 } };
  static const char text[] = "{\"messages\":[" TEXT("a") "],\"reaction\":\"76\"}";
  uint64_t ticket;
  struct rg_bytes raw = { text, sizeof text - 1 };
  cr_assert_eq(rg_gate_submit(s.gate, &turn, raw, &ticket), RG_OK);
  cr_expect(has(keeper_result_of(s.keeper, ticket, LONG_MS), "delivered"));
  cr_expect(bot_call_has(s.bot, 0, "send_private_msg", "\"user_id\":123"));
  cr_expect_eq(bot_count(s.bot), 1, "no reaction in private");
  stage_close(&s);
}

#define MOOD                                                                                       \
  "{\"type\":\"object\",\"properties\":{\"mood\":{\"type\":\"string\"}},\"required\":[\"mood\"],"  \
  "\"additionalProperties\":false}"

Test(gate, a_turn_may_bring_its_own_schema)
{
  static const struct {
    const char *schema, *text;
    int32_t rc;
    const char *result[3];
  } rows[] = {
    { MOOD,
      "{\"mood\":\"good\"}",
      RG_OK,
      { "\"delivered\"", "\"document\":\"{\\\"mood\\\":\\\"good\\\"}\"",
        "\"verdict\":\"accept\"" } },
    { MOOD, "good", RG_OK, { "\"blocked\"", "\"code\":\"invalid_json\"", "\"document\":null" } },
    { "{}", "{}", RG_EARGUMENT, { NULL } },
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"(a+)+$\"}},"
      "\"required\":[\"a\"],\"additionalProperties\":false}",
      "{}",
      RG_EARGUMENT,
      { NULL } },
  };
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    failure_notice: off\n", false);
  stage_ready(&s);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct rg_turn turn = { .size = sizeof turn,
                                  .group_id = { "123", 3 },
                                  .schema = { rows[i].schema, strlen(rows[i].schema) } };
    struct rg_bytes text = { rows[i].text, strlen(rows[i].text) };
    struct rg_buf schema, instruction, report;
    uint64_t ticket;
    cr_expect_eq(rg_gate_submit(s.gate, &turn, text, &ticket), rows[i].rc, "row %zu", i);
    cr_expect_eq(rg_gate_contract(s.gate, &turn, &schema, &instruction), rows[i].rc, "row %zu", i);
    if (rows[i].rc != RG_OK) {
      cr_expect_eq(rg_gate_check(s.gate, &turn, text, &report), rows[i].rc, "row %zu", i);
      continue;
    }
    cr_expect(schema.len == strlen(rows[i].schema) &&
              memcmp(schema.ptr, rows[i].schema, schema.len) == 0);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_assert(result, "row %zu", i);
    for (size_t k = 0; k < 3; k++)
      cr_expect(has(result, rows[i].result[k]), "row %zu: %s", i, result);
    rg_gate_release(&schema);
    rg_gate_release(&instruction);
  }
  cr_expect_eq(bot_count(s.bot), 1, "only the document that fits went out");
  cr_expect(bot_call_has(s.bot, 0, "send_group_msg", "mood"));
  cr_expect(keeper_logged(s.keeper, "the schema of a turn cannot be used: $.a: "));
  stage_close(&s);
}

Test(gate, where_words_are_wanted_there_is_no_schema)
{
  struct stage s;
  struct rg_buf schema = { NULL, 1 }, instruction = { NULL, 1 };
  stage_open(&s, "NapCat.Onebot", FAST "    output: text\n", false);
  stage_ready(&s);
  const struct rg_turn turn = { .size = sizeof turn, .group_id = { "123", 3 } };
  cr_assert_eq(rg_gate_contract(s.gate, &turn, &schema, &instruction), RG_OK);
  cr_expect(schema.ptr && schema.len == 0 && instruction.ptr && instruction.len == 0);
  rg_gate_release(&schema);
  rg_gate_release(&instruction);
  stage_close(&s);
}

Test(gate, a_group_may_want_documents)
{
  struct stage s;
  char why[512], rest[512];
  stage_open(&s, "NapCat.Onebot", FAST, false);
  snprintf(rest, sizeof rest,
           FAST "    output: schema\n    output_schema: %s/data/answer.schema.json\n",
           getenv("RG_TESTS"));
  stage_config(&s, "", rest);
  cr_assert_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", "{\"answer\":\"42\"}");
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"document\":\"{\\\"answer\\\":\\\"42\\\"}\""), "%s", result);
  ticket = stage_submit(&s, "123", REPLY(TEXT("a")));
  result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(has(result, "\"blocked\"") && has(result, "invalid_json"), "%s", result);
  cr_assert(bot_called(s.bot, 2, LONG_MS));
  cr_expect(bot_call_has(s.bot, 0, "send_group_msg", "answer"));
  cr_expect_not(bot_call_has(s.bot, 1, "send_group_msg", "segments"), "the notice");
  stage_close(&s);
}

Test(gate, log_lines_hold_no_words_and_no_token)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  char why[512];
  stage_config(&s, "    access_token: top-secret-token\n", FAST);
  cr_assert_eq(rg_gate_reload(s.gate, why, sizeof why), RG_OK, "%s", why);
  stage_ready(&s);
  static const char *const texts[] = {
    REPLY(TEXT("private words")),
    "<tool_call>{\"name\":\"private words\",\"arguments\":{}}</tool_call>",
    "{\"messages\":[{\"private words\":1}]}",
    REPLY("{\"segments\":[{\"type\":\"mention\",\"data\":{\"target\":\"private words\"}}]}"),
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cr_assert(keeper_result_of(s.keeper, stage_submit(&s, "123", texts[i]), LONG_MS));
  }
  bot_send(s.bot, GROUP_EVENT("10002", "member", "private words"));
  cr_assert(event_told(&s, 0));
  cr_expect_not(keeper_logged(s.keeper, "private words"));
  cr_expect_not(keeper_logged(s.keeper, "top-secret-token"));
  cr_expect(keeper_logged(s.keeper, "held back, tool_call"));
  stage_close(&s);
}

Test(gate, many_turns_leave_nothing_behind)
{
  enum { ROUNDS = 100, CHATS = 30 };
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST "    rate: {per_minute: 6000}\n", false);
  stage_ready(&s);
  for (int i = 0; i < ROUNDS; i++) {
    for (int k = 0; k < CHATS; k++) {
      char group[16];
      snprintf(group, sizeof group, "%d", 1000 + k);
      stage_submit(&s, group, REPLY(TEXT("a")));
    }
    cr_assert(keeper_wait(s.keeper, &s.keeper->result_count, (size_t)(i + 1) * CHATS, LONG_MS));
  }
  struct rg_buf json;
  cr_assert_eq(rg_gate_stats(s.gate, &json), RG_OK);
  cr_expect(memmem(json.ptr, json.len, "\"submitted\":3000", 16), "%.*s", (int)json.len, json.ptr);
  cr_expect(memmem(json.ptr, json.len, "\"delivered\":3000", 16), "%.*s", (int)json.len, json.ptr);
  cr_expect(memmem(json.ptr, json.len, "\"waiting\":0", 11), "%.*s", (int)json.len, json.ptr);
  rg_gate_release(&json);
  stage_close(&s);
}

/* Milliseconds until a turn for another chat has its result. */
static uint64_t other_chat_ms(struct stage *s)
{
  uint64_t begun = ob_now_ms();
  uint64_t ticket = stage_submit(s, "456", REPLY(TEXT("one")));
  cr_expect(has(keeper_result_of(s->keeper, ticket, LONG_MS), "\"delivered\""));
  return ob_now_ms() - begun;
}

Test(gate, is_not_closed_from_inside_of_the_host)
{
  struct stage s;
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  s.keeper->closes = s.gate;
  bot_send(s.bot, GROUP_EVENT("10002", "member", "first"));
  cr_expect(event_told(&s, 0));
  bot_send(s.bot, GROUP_EVENT("10002", "member", "second"));
  cr_expect(event_told(&s, 1), "all goes on");
  cr_expect(keeper_logged(s.keeper, "must not call back in"));
  s.keeper->closes = NULL;
  stage_close(&s);
}

Test(gate, a_store_that_hangs_holds_up_no_chat)
{
#define SET(value) GROUP_EVENT("10009", "member", "/gate set rate.per_minute " value)
  static const char *const commands[] = { SET("31"), SET("32"), SET("33"), SET("34") };
  enum { COMMANDS = sizeof commands / sizeof *commands, SLACK_MS = 300 };
  struct stage s;
  unsigned port;
  char rest[256];
  int silent = peer_listen(&port); /* the kernel accepts, nobody answers */
  snprintf(rest, sizeof rest, FAST "store: redis://127.0.0.1:%u/0\njournal: \"off\"\n", port);
  stage_open(&s, "NapCat.Onebot", rest, false);
  stage_ready(&s);
  uint64_t slowest = 0;
  for (int i = 0; i < COMMANDS; i++) {
    bot_send(s.bot, commands[i]);
    usleep(10000);
    uint64_t ms = other_chat_ms(&s);
    if (ms > slowest) slowest = ms;
  }
  cr_expect_lt(slowest, RG_REDIS_QUICK_MS + SLACK_MS, "another chat waited for %d ms",
               (int)slowest);
  cr_assert(bot_called(s.bot, 2 * COMMANDS, LONG_MS));
  size_t told = 0;
  for (size_t i = 0; i < 2 * COMMANDS; i++)
    told += bot_call_has(s.bot, i, "send_group_msg", "no answer within 0.25 seconds");
  cr_expect_eq(told, COMMANDS, "who commands is told that it was not kept");
  stage_close(&s);
  close(silent);
}
