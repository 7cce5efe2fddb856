/* agent: what makes it answer, how many answers are made at once, what it may spend, what it
 * remembers, and what becomes of a model that fails. A bot's endpoint and a model's server, both the
 * test's own, stand around a whole gate. */
#include "plugin/agent/agent.h"
#include "tests/lib/bot.h"
#include "tests/lib/model.h"

#define KEY "sk-7hQ-never-in-a-log"
#define WORDS(text)                                                                                \
  "{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":"   \
  "\\\"" text "\\\"}}]}],\\\"reaction\\\":\\\"\\\"}"

struct scene {
  struct stage stage;
  struct model *model;
  int message; /* id of the last one */
};

/* provider: further keys of the provider, each with a comma before it; agent: of the group default's
 * agent; rest: what follows in the file, at its left edge. */
static void scene_config(const struct scene *s, const char *provider, const char *agent,
                         const char *rest, char *ret, size_t cap)
{
  snprintf(ret, cap,
           "store: sqlite:a.db\nlog: {level: debug}\n"
           "providers:\n  one: {base_url: \"http://127.0.0.1:%u/v1\", api_key: \"" KEY
           "\", model: m%s}\n"
           "groups:\n  default:\n    pace: {min: 0, max: 0}\n    rate: {per_minute: 6000}\n"
           "    agent: {enabled: true, tools: []%s}\n%s",
           s->model->port, provider, agent, rest);
}

static void scene_open(struct scene *s, model_script_fn *script, void *ctx, const char *provider,
                       const char *agent, const char *rest)
{
  char config[4096];
  *s = (struct scene) { .model = model_start(script, ctx), .message = 100 };
  scene_config(s, provider, agent, rest, config, sizeof config);
  stage_open(&s->stage, "NapCat.Onebot", config, false);
  stage_ready(&s->stage);
}

/* The key stands nowhere but in the requests. */
static void scene_close(struct scene *s)
{
  cr_expect_not(keeper_logged(s->stage.keeper, KEY), "the key is logged");
  cr_expect_not(keeper_logged(s->stage.keeper, "7hQ"), "a part of the key is logged");
  s->model->released = true;
  stage_close(&s->stage);
  model_stop(s->model);
}

/* The program ends and begins again, with the same files. */
static void scene_restart(struct scene *s)
{
  char why[2048];
  rg_gate_close(s->stage.gate);
  const struct rg_host host = { .size = sizeof host,
                                .abi = RG_ABI,
                                .ctx = s->stage.keeper,
                                .log = keeper_log,
                                .on_event = keeper_event,
                                .on_result = keeper_result };
  struct rg_bytes path = { s->stage.config, strlen(s->stage.config) };
  cr_assert_eq(rg_gate_open(&host, path, &s->stage.gate, why, sizeof why), RG_OK, "%s", why);
  stage_ready(&s->stage);
}

/* A message of a user in a group (0: in private); segments is JSON. Returns its id. */
static int scene_message(struct scene *s, int group, int user, const char *segments)
{
  char text[4096], place[64] = "\"message_type\":\"private\",\"sub_type\":\"friend\"";
  if (group > 0) snprintf(place, sizeof place, "\"message_type\":\"group\",\"group_id\":%d", group);
  snprintf(text, sizeof text,
           "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",%s,\"user_id\":%d,"
           "\"message_id\":%d,\"message\":[%s],\"sender\":{\"user_id\":%d,\"nickname\":\"n%d\"}}",
           place, user, ++s->message, segments, user, user);
  bot_send(s->stage.bot, text);
  return s->message;
}

#define TEXT(text) "{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}"
#define AT(who) "{\"type\":\"at\",\"data\":{\"qq\":\"" who "\"}}"
#define MENTION AT("10001") ","

static int scene_ask(struct scene *s, int user, const char *segments)
{
  return scene_message(s, 7, user, segments);
}

/* ---- what makes it answer ---- */

static void answer_fine(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  (void)m, (void)n, (void)head, (void)text;
  model_say(fd, WORDS("fine"), "stop");
}

static const struct {
  int group; /* 0: private */
  const char *segments;
  bool asks;
} triggers[] = {
  /* 7: mention and reply, as without settings */
  { 7, MENTION TEXT("hello"), true },
  { 7, TEXT("hello"), false },
  { 7, AT("10002") "," TEXT("hello"), false },
  { 7, AT("all") "," TEXT("hello"), false },
  { 7, TEXT("@10001 hello"), false },
  { 7, "{\"type\":\"reply\",\"data\":{\"id\":\"1000\"}}," TEXT("again"), true },
  { 7, "{\"type\":\"reply\",\"data\":{\"id\":\"101\"}}," TEXT("a person's"), false },
  { 7, "{\"type\":\"reply\",\"data\":{\"id\":\"999999\"}}," TEXT("unknown"), false },
  /* 8: prefix only */
  { 8, TEXT("  momo hello"), true },
  { 8, TEXT("hello momo"), false },
  { 8, MENTION TEXT("hello"), false },
  { 8, MENTION TEXT("momo hello"), true },
  /* 9: keyword only */
  { 9, TEXT("is there some TEA left"), false },
  { 9, TEXT("is there some tea left"), true },
  { 9, TEXT("momo hello"), false },
  /* 10: any message by a chance of 1; 11: by none */
  { 10, TEXT("x"), true },
  { 11, TEXT("x"), false },
  /* 12: the agent is off; 13: the group is */
  { 12, MENTION TEXT("hello"), false },
  { 13, MENTION TEXT("hello"), false },
  /* private chats: only who is listed, whatever the text */
  { 0, TEXT("hello"), true },
  { 0, TEXT("hello"), false },
};

static bool asked_about(struct model *m, int message)
{
  char id[64];
  snprintf(id, sizeof id, "\\\"message_id\\\":\\\"%d\\\"", message);
  for (size_t i = 0; i < model_count(m); i++) {
    pthread_mutex_lock(&m->mu);
    const char *last = NULL;
    for (const char *at = m->texts[i]; (at = strstr(at, "\\\"message_id\\\"")); at++) last = at;
    bool is = last && strncmp(last, id, strlen(id)) == 0;
    pthread_mutex_unlock(&m->mu);
    if (is) return true;
  }
  return false;
}

Test(agent, what_makes_it_answer, .timeout = 30)
{
  enum { ROWS = sizeof triggers / sizeof *triggers };
  struct scene s;
  int ids[ROWS];
  size_t expected = 1;
  scene_open(&s, answer_fine, NULL, "", "",
             "  8: {agent: {triggers: [prefix], prefixes: [momo]}}\n"
             "  9: {agent: {triggers: [keyword], keywords: [tea]}}\n"
             "  10: {agent: {triggers: [chance], chance: 1}}\n"
             "  11: {agent: {triggers: [chance], chance: 0}}\n"
             "  12: {agent: {enabled: false}}\n"
             "  13: {enabled: false}\n"
             "private: {enabled: true, users: [219]}\n");
  scene_ask(&s, 150, MENTION TEXT("first")); /* 101; the answer becomes 1000 */
  cr_assert(bot_called(s.stage.bot, 1, 5000));
  for (int i = 0; i < 200 && s.stage.keeper->result_count == 0; i++) usleep(5000);
  for (size_t i = 0; i < ROWS; i++) {
    ids[i] = scene_message(&s, triggers[i].group, 200 + (int)i, triggers[i].segments);
    expected += triggers[i].asks;
  }
  cr_expect(model_asked(s.model, expected, 5000), "%zu of %zu", model_count(s.model), expected);
  usleep(200000); /* whatever else it would ask */
  for (size_t i = 0; i < ROWS; i++)
    cr_expect_eq(asked_about(s.model, ids[i]), triggers[i].asks, "row %zu", i);
  cr_expect_eq(model_count(s.model), expected, "%zu", model_count(s.model));
  scene_close(&s);
}

/* ---- at once ---- */

static void answer_when_released(struct model *m, int fd, size_t n, const char *head,
                                 const char *text)
{
  (void)n, (void)head, (void)text;
  if (model_hold(m, fd)) model_say(fd, WORDS("fine"), "stop");
}

/* The head of a stream and its first event, then nothing. */
static void stream_and_hang(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  (void)head, (void)text;
  if (n > 0) {
    model_say(fd, WORDS("second"), "stop");
    return;
  }
  peer_puts(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                "data: {\"choices\":[{\"delta\":{\"content\":\"first\"}}]}\n\n");
  model_hold(m, fd);
}

static bool sent(struct scene *s, const char *text, int ms)
{
  for (int t = 0; t <= ms; t += 10) {
    for (size_t i = 0; i < bot_count(s->stage.bot); i++)
      if (bot_call_has(s->stage.bot, i, "send_group_msg", text) ||
          bot_call_has(s->stage.bot, i, "send_private_msg", text))
        return true;
    usleep(10000);
  }
  return false;
}

Test(agent, a_newer_message_cancels_in_the_middle_of_a_stream, .timeout = 30)
{
  struct scene s;
  scene_open(&s, stream_and_hang, NULL, ", stream: true", "", "");
  scene_ask(&s, 200, MENTION TEXT("one"));
  cr_assert(model_asked(s.model, 1, 5000));
  usleep(50000);
  uint64_t from_ms = ob_now_ms();
  scene_ask(&s, 200, MENTION TEXT("two"));
  for (int i = 0; i < 2000 && s.model->hung_up == 0; i++) usleep(1000);
  cr_expect_eq(s.model->hung_up, 1, "the connection is still there");
  cr_expect_lt(ob_now_ms() - from_ms, 2000);
  cr_expect(sent(&s, "second", 5000));
  cr_expect_not(sent(&s, "first", 0));
  scene_close(&s);
}

/* A host with a model of its own that has no correction for this answer. */
Test(agent, a_provider_corrects_where_the_host_has_nothing, .timeout = 30)
{
  static const char wrong[] = "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{}}]}]}";
  char why[2048];
  struct scene s;
  scene_open(&s, answer_fine, NULL, "", "", "");
  rg_gate_close(s.stage.gate);
  struct keeper *k = s.stage.keeper;
  const struct rg_host host = { .size = sizeof host,
                                .abi = RG_ABI,
                                .ctx = k,
                                .log = keeper_log,
                                .complete = keeper_complete,
                                .on_result = keeper_result };
  struct rg_bytes path = { s.stage.config, strlen(s.stage.config) };
  cr_assert_eq(rg_gate_open(&host, path, &s.stage.gate, why, sizeof why), RG_OK, "%s", why);
  stage_ready(&s.stage);
  uint64_t ticket = stage_submit(&s.stage, "7", wrong);
  cr_assert(keeper_wait(k, &k->request_count, 1, 5000));
  cr_expect_eq(model_count(s.model), 0, "the host first");
  cr_expect_eq(rg_gate_completed(s.stage.gate, ticket, (struct rg_bytes) { "", 0 }), RG_OK);
  const char *result = keeper_result_of(k, ticket, 5000);
  cr_expect(result && strstr(result, "\"result\":\"delivered\"") &&
                strstr(result, "\"corrected\":true") && strstr(result, "fine"),
            "%s", result);
  cr_expect_eq(model_count(s.model), 1);
  scene_close(&s);
}

Test(agent, another_persons_message_cancels_nothing, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_when_released, NULL, "", "", "");
  scene_ask(&s, 200, MENTION TEXT("one"));
  scene_ask(&s, 201, MENTION TEXT("two"));
  scene_message(&s, 8, 200, MENTION TEXT("elsewhere"));
  cr_expect(model_asked(s.model, 3, 5000));
  cr_expect_eq(s.model->hung_up, 0);
  s.model->released = true;
  cr_expect(bot_called(s.stage.bot, 3, 5000));
  scene_close(&s);
}

Test(agent, a_newer_message_waits_where_it_is_so_set, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_when_released, NULL, "", ", newer: queue", "");
  scene_ask(&s, 200, MENTION TEXT("one"));
  scene_ask(&s, 200, MENTION TEXT("two"));
  scene_ask(&s, 201, MENTION TEXT("three"));
  cr_expect(model_asked(s.model, 2, 5000));
  usleep(100000);
  cr_expect_eq(model_count(s.model), 2, "one of each person");
  s.model->released = true;
  cr_expect(bot_called(s.stage.bot, 3, 5000));
  scene_close(&s);
}

Test(agent, so_many_at_once_in_a_chat, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_when_released, NULL, "", ", at_once: 2", "");
  for (int i = 0; i < 30; i++) scene_ask(&s, 200 + i, MENTION TEXT("hello"));
  scene_message(&s, 8, 200, MENTION TEXT("elsewhere"));
  cr_expect(model_asked(s.model, 3, 5000));
  usleep(100000);
  cr_expect_eq(model_count(s.model), 3, "two there and one elsewhere, not %zu",
               model_count(s.model));
  s.model->released = true;
  cr_expect(bot_called(s.stage.bot, RG_AGENT_RUNS_CHAT_MAX + 1, 10000));
  usleep(100000);
  cr_expect_eq(model_count(s.model), RG_AGENT_RUNS_CHAT_MAX + 1, "the rest is turned away: %zu",
               model_count(s.model));
  cr_expect(keeper_logged(s.stage.keeper, "too many answers"));
  scene_close(&s);
}

Test(agent, an_answer_does_not_come_too_soon, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_fine, NULL, "", ", pause: 0.4", "");
  uint64_t from_ms = ob_now_ms();
  scene_ask(&s, 200, MENTION TEXT("hello"));
  cr_expect(sent(&s, "fine", 5000));
  cr_expect_geq(ob_now_ms() - from_ms, 390);
  scene_close(&s);
}

static void scene_notice(struct scene *s, const char *members)
{
  char text[512];
  snprintf(text, sizeof text, "{\"time\":1,\"self_id\":10001,\"post_type\":\"notice\",%s}",
           members);
  bot_send(s->stage.bot, text);
}

Test(agent, a_message_taken_back_is_neither_answered_nor_remembered, .timeout = 30)
{
  struct scene s;
  char members[256];
  scene_open(&s, answer_when_released, NULL, "", ", at_once: 1", "");
  int first = scene_ask(&s, 200, MENTION TEXT("a secret"));
  cr_assert(model_asked(s.model, 1, 5000));
  int second = scene_ask(&s, 201, MENTION TEXT("another secret"));
  scene_ask(&s, 202, MENTION TEXT("something else"));
  snprintf(members, sizeof members,
           "\"notice_type\":\"group_recall\",\"group_id\":7,\"user_id\":201,\"operator_id\":201,"
           "\"message_id\":%d",
           second);
  scene_notice(&s, members);
  usleep(50000);
  cr_expect_eq(s.model->hung_up, 0, "what waits is given up, not the other one");
  snprintf(members, sizeof members,
           "\"notice_type\":\"group_recall\",\"group_id\":7,\"user_id\":200,\"operator_id\":200,"
           "\"message_id\":%d",
           first);
  scene_notice(&s, members);
  cr_assert(model_asked(s.model, 2, 5000), "the third one's turn has come");
  cr_expect_eq(s.model->hung_up, 1);
  cr_expect(model_has(s.model, 1, "something else"));
  cr_expect_not(model_has(s.model, 1, "secret"));
  s.model->released = true;
  cr_expect(bot_called(s.stage.bot, 1, 5000));
  scene_restart(&s);
  scene_ask(&s, 203, MENTION TEXT("what was said?"));
  cr_assert(model_asked(s.model, 3, 5000));
  cr_expect(model_has(s.model, 2, "something else"));
  cr_expect_not(model_has(s.model, 2, "secret"));
  scene_close(&s);
}

Test(agent, a_group_that_was_left_is_not_answered, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_when_released, NULL, "", "", "");
  scene_ask(&s, 200, MENTION TEXT("hello"));
  scene_message(&s, 8, 200, MENTION TEXT("elsewhere"));
  cr_assert(model_asked(s.model, 2, 5000));
  scene_notice(&s, "\"notice_type\":\"group_decrease\",\"sub_type\":\"leave\",\"group_id\":7,"
                   "\"user_id\":200,\"operator_id\":200");
  usleep(50000);
  cr_expect_eq(s.model->hung_up, 0, "somebody else has left");
  scene_notice(&s, "\"notice_type\":\"group_decrease\",\"sub_type\":\"kick_me\",\"group_id\":7,"
                   "\"user_id\":10001,\"operator_id\":1");
  for (int i = 0; i < 2000 && s.model->hung_up == 0; i++) usleep(1000);
  cr_expect_eq(s.model->hung_up, 1);
  s.model->released = true;
  cr_expect(bot_called(s.stage.bot, 1, 5000));
  scene_close(&s);
}

/* ---- budgets ---- */

Test(agent, budgets_outlive_the_program, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_fine, NULL, ", daily_tokens: 25", ", daily_tokens: 15",
             "notify: [10009]\n");
  for (int i = 0; i < 2; i++) {
    scene_ask(&s, 200, MENTION TEXT("hello"));
    cr_assert(bot_called(s.stage.bot, (size_t)i + 1, 5000));
  }
  scene_restart(&s);
  scene_ask(&s, 200, MENTION TEXT("hello"));
  for (int i = 0; i < 500 && !keeper_logged(s.stage.keeper, "are used up"); i++) usleep(10000);
  cr_expect(keeper_logged(s.stage.keeper, "group 7: agent: the tokens of the day are used up"));
  cr_expect_eq(model_count(s.model), 2, "20 of the chat's 15 are spent");
  scene_message(&s, 8, 200, MENTION TEXT("elsewhere"));
  cr_expect(bot_called(s.stage.bot, 3, 5000), "the provider has 5 left");
  scene_message(&s, 9, 200, MENTION TEXT("elsewhere"));
  for (int i = 0; i < 500 && !keeper_logged(s.stage.keeper, "no provider"); i++) usleep(10000);
  cr_expect(keeper_logged(s.stage.keeper, "no provider could answer"));
  cr_expect_eq(model_count(s.model), 3);
  cr_expect(sent(&s, "the model's tokens of the day are used up", 5000), "the operator is told");
  scene_close(&s);
}

static void answer_without_usage(struct model *m, int fd, size_t n, const char *head,
                                 const char *text)
{
  (void)m, (void)n, (void)head, (void)text;
  model_send(fd, "200 OK", "application/json",
             "{\"choices\":[{\"message\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}");
}

Test(agent, tokens_that_are_not_told_are_guessed, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_without_usage, NULL, "", ", daily_tokens: 20", "");
  scene_ask(&s, 200, MENTION TEXT("hello"));
  cr_assert(bot_called(s.stage.bot, 1, 5000));
  scene_ask(&s, 200, MENTION TEXT("hello"));
  for (int i = 0; i < 500 && !keeper_logged(s.stage.keeper, "are used up"); i++) usleep(10000);
  cr_expect(keeper_logged(s.stage.keeper, "the tokens of the day are used up"));
  cr_expect_eq(model_count(s.model), 1);
  scene_close(&s);
}

/* The key is read anew for each question, so that a token that somebody renews is used at once. */
Test(agent, the_key_may_stand_in_a_file, .timeout = 30)
{
  struct scene s;
  char config[4096], path[128];
  scene_open(&s, answer_fine, NULL, "", "", "");
  snprintf(
      config, sizeof config,
      "providers:\n  one: {base_url: \"http://127.0.0.1:%u/v1\", api_key_file: key.txt, model: m}\n"
      "groups: {default: {pace: {min: 0, max: 0}, agent: {enabled: true}}}\n",
      s.model->port);
  stage_config(&s.stage, "", config);
  cr_assert_eq(rg_gate_reload(s.stage.gate, config, sizeof config), RG_OK, "%s", config);
  scene_ask(&s, 200, MENTION TEXT("one"));
  for (int i = 0; i < 500 && !keeper_logged(s.stage.keeper, "api_key_file"); i++) usleep(10000);
  cr_expect(keeper_logged(s.stage.keeper, "the api_key_file of its provider cannot be read"));
  cr_expect_eq(model_count(s.model), 0);
  snprintf(path, sizeof path, "%s/key.txt", s.stage.folder);
  FILE *f = fopen(path, "w");
  fputs(" " KEY "\r\nmore", f);
  fclose(f);
  scene_ask(&s, 201, MENTION TEXT("two"));
  cr_expect(sent(&s, "fine", 5000));
  cr_expect_str_eq(s.model->key, "Bearer " KEY);
  scene_close(&s);
}

/* ---- what it remembers ---- */

Test(agent, its_talk_outlives_the_program_and_can_be_cleared, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_fine, NULL, "", "", "  8: {agent: {history: 0}}\n");
  scene_ask(&s, 200, TEXT("I like \\\"tea\\\"\\n{}"));
  scene_message(&s, 8, 200, TEXT("I like milk"));
  scene_ask(&s, 201, MENTION TEXT("what does n200 like?"));
  cr_assert(bot_called(s.stage.bot, 1, 5000));
  for (int i = 0; i < 200 && s.stage.keeper->result_count == 0; i++) usleep(5000);
  scene_restart(&s);
  scene_ask(&s, 201, MENTION TEXT("again?"));
  scene_message(&s, 8, 201, MENTION TEXT("and here?"));
  cr_assert(model_asked(s.model, 3, 5000));
  size_t there = model_has(s.model, 1, "again?") ? 1 : 2;
  cr_expect(model_has(s.model, there, "I like \\\\\\\"tea\\\\\\\"\\\\n{}"), "a person's words");
  cr_expect(model_has(s.model, there, "{\"role\":\"assistant\",\"content\":\"fine\"}"), "its own");
  cr_expect_not(model_has(s.model, 3 - there, "milk"), "where nothing is kept");
  cr_assert(bot_called(s.stage.bot, 3, 5000));
  scene_ask(&s, 200, TEXT("/gate clear"));
  scene_ask(&s, 10009, TEXT("/gate clear"));
  cr_expect(sent(&s, "has forgotten", 5000));
  scene_restart(&s);
  scene_ask(&s, 201, MENTION TEXT("now?"));
  cr_assert(model_asked(s.model, 4, 5000));
  cr_expect(model_has(s.model, 3, "now?"));
  cr_expect_not(model_has(s.model, 3, "I like"));
  cr_expect_not(model_has(s.model, 3, "again?"));
  scene_close(&s);
}

Test(agent, clearing_is_for_those_who_may_command, .timeout = 30)
{
  struct scene s;
  scene_open(&s, answer_fine, NULL, "", "", "");
  scene_ask(&s, 200, TEXT("I like tea"));
  scene_ask(&s, 200, TEXT("/gate clear"));
  scene_ask(&s, 201, MENTION TEXT("what?"));
  cr_assert(model_asked(s.model, 1, 5000));
  cr_expect(model_has(s.model, 0, "I like tea"));
  cr_expect_not(model_has(s.model, 0, "/gate clear"));
  scene_close(&s);
}

/* ---- answers in parts ---- */

#define PICTURE "![p](https://img.invalid/p.png)"

static void picture_twice(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  (void)m, (void)head, (void)text;
  if (n == 0)
    model_send(
        fd, "200 OK", "application/json",
        "{\"choices\":[{\"message\":{\"content\":\"one " PICTURE "\",\"tool_calls\":[{\"id\":\"a\","
        "\"function\":{\"name\":\"get_message\",\"arguments\":\"{\\\"message_id\\\":\\\"1\\\"}"
        "\"}}]},\"finish_reason\":\"tool_calls\"}]}");
  else
    model_say(fd, "two " PICTURE " ![q](https://img.invalid/q.png)", "stop");
}

/* Shown once (rich-output.md S34): the second part has its words and the other picture. */
Test(agent, an_attachment_is_shown_once, .timeout = 30)
{
  struct scene s;
  scene_open(&s, picture_twice, NULL, "", "",
             "  7: {agent: {tools: [get_message]}, "
             "media: {inspect: false}, directives: {enabled: true, markdown_images: true}}\n");
  scene_ask(&s, 200, MENTION TEXT("a picture"));
  cr_expect(sent(&s, "two", 5000));
  cr_expect(sent(&s, "p.png", 0));
  cr_expect(sent(
      &s, "\"two\"}},{\"type\":\"image\",\"data\":{\"file\":\"https://img.invalid/q.png\"}}]", 0));
  scene_close(&s);
}

/* ---- models that fail ---- */

static const char overflow[] =
    "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"" KEY " is too long\"}}";

/* What the server answers, one after the other; the last one again and again. */
static const struct failure {
  const char *status, *type, *bodies[3];
  size_t asked;
  const char *sent; /* or the code of the result, in quotes: only the notice is sent */
  const char *logged;
} failures[] = {
  { "429 Too Many Requests", "text/plain", { KEY, NULL }, 2, "fine", "HTTP status 429" },
  { "400 Bad Request",
    "application/json",
    { overflow, NULL },
    2,
    "fine",
    "older half is left out" },
  { "400 Bad Request",
    "application/json",
    { overflow, overflow, NULL },
    2,
    "\"provider\"",
    "HTTP status 400" },
  { "200 OK", "application/json", { overflow, NULL }, 2, "fine", "older half is left out" },
  { "200 OK",
    "text/event-stream",
    { "data: {\"error\":{\"message\":\"prompt is too long\"}}\n\n", NULL },
    2,
    "fine",
    "older half is left out" },
  { "401 Unauthorized",
    "application/json",
    { "{\"error\":\"bad key " KEY "\"}" },
    1,
    "\"provider\"",
    "HTTP status 401" },
  { "200 OK", "text/html", { "<html>" KEY "</html>" }, 1, "\"provider\"", "no JSON of an answer" },
  { "200 OK",
    "application/json",
    { "{\"choices\":[{\"message\":{\"content\":\"cut\"},\"finish_reason\":\"length\"}]}" },
    1,
    "\"truncated\"",
    "the answer was cut" },
  { "200 OK",
    "application/json",
    { "{\"choices\":[{\"message\":{\"content\":\"only words\"},\"finish_reason\":\"stop\"}]}" },
    1,
    "only words",
    "" },
  { "200 OK",
    "application/json",
    { "{\"choices\":[{\"message\":{\"content\":\" \\n\\u200b \"},\"finish_reason\":\"stop\"}]}" },
    1,
    "\"empty\"",
    "" },
  { "200 OK",
    "application/json",
    { "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no\"},\"finish_reason\":\"stop\"}"
      "]}" },
    1,
    "\"refusal\"",
    "declined" },
  { "200 OK",
    "application/json",
    { "{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"json\",\"arguments\":"
      "\"" WORDS("by call") "\"}}]}}]}" },
    1,
    "by call",
    "" },
  { "200 OK",
    "text/event-stream",
    { "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n", NULL },
    2,
    "fine",
    "its stream broke off" },
};

static void answer_by_row(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  const struct failure *row = m->ctx;
  size_t count = 0;
  (void)head, (void)text;
  while (count < 3 && row->bodies[count]) count++;
  if (n < count)
    model_send(fd, row->status, row->type, row->bodies[n]);
  else
    model_say(fd, WORDS("fine"), "stop");
}

Test(agent, models_that_fail, .timeout = 60)
{
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    struct scene s;
    scene_open(&s, answer_by_row, (void *)&failures[i], "", "", "");
    scene_ask(&s, 200, TEXT("a line that may be left out"));
    scene_ask(&s, 201, TEXT("another one"));
    scene_ask(&s, 202, MENTION TEXT("hello"));
    cr_expect(model_asked(s.model, failures[i].asked, 5000), "row %zu", i);
    if (failures[i].sent[0] != '"')
      cr_expect(sent(&s, failures[i].sent, 5000), "row %zu", i);
    else {
      cr_expect(bot_called(s.stage.bot, 1, 5000), "row %zu: the notice", i);
      cr_expect(keeper_wait(s.stage.keeper, &s.stage.keeper->result_count, 1, 5000), "row %zu", i);
      cr_expect(strstr(s.stage.keeper->results[0].json, failures[i].sent), "row %zu", i);
    }
    usleep(20000);
    cr_expect_eq(model_count(s.model), failures[i].asked, "row %zu: %zu", i, model_count(s.model));
    cr_expect_not(sent(&s, "half", 0) || sent(&s, "cut", 0), "row %zu", i);
    cr_expect_not(sent(&s, "7hQ", 0), "row %zu: the key is sent", i);
    cr_expect(keeper_logged(s.stage.keeper, failures[i].logged), "row %zu", i);
    if (failures[i].asked == 2 && strstr(failures[i].logged, "older half")) {
      cr_expect(model_has(s.model, 0, "may be left out"), "row %zu", i);
      cr_expect_not(model_has(s.model, 1, "may be left out"), "row %zu", i);
      cr_expect(model_has(s.model, 1, "hello"), "row %zu", i);
    }
    scene_close(&s);
  }
}

/* A stream that stops: the idle timeout ends it, and the next provider is asked. */
Test(agent, a_stream_that_stops_is_given_up, .timeout = 30)
{
  struct scene s;
  scene_open(&s, stream_and_hang, NULL, ", stream: true, idle_timeout: 1", "", "");
  uint64_t from_ms = ob_now_ms();
  scene_ask(&s, 200, MENTION TEXT("one"));
  for (int i = 0; i < 600 && !keeper_logged(s.stage.keeper, "no answer in time"); i++)
    usleep(10000);
  cr_expect(keeper_logged(s.stage.keeper, "no answer in time"));
  cr_expect_geq(ob_now_ms() - from_ms, 900);
  cr_expect_lt(ob_now_ms() - from_ms, 5000);
  cr_expect(bot_called(s.stage.bot, 1, 5000), "the notice");
  cr_expect_not(sent(&s, "first", 0));
  scene_close(&s);
}

static void hang_at_one(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  (void)n, (void)text;
  if (strncmp(head, "POST /one/", 10) == 0)
    model_hold(m, fd);
  else
    model_say(fd, WORDS("the second"), "stop");
}

Test(agent, the_next_provider_follows_one_that_had_its_time, .timeout = 30)
{
  struct scene s;
  char config[4096];
  scene_open(&s, hang_at_one, NULL, "", "", "");
  snprintf(config, sizeof config,
           "providers:\n"
           "  one: {base_url: \"http://127.0.0.1:%u/one\", api_key: \"" KEY
           "\", model: m, timeout: 1}\n"
           "  two: {base_url: \"http://127.0.0.1:%u/two\", api_key: \"" KEY "\", model: m}\n"
           "groups: {default: {pace: {min: 0, max: 0}, agent: {enabled: true}}}\n",
           s.model->port, s.model->port);
  stage_config(&s.stage, "", config);
  cr_assert_eq(rg_gate_reload(s.stage.gate, config, sizeof config), RG_OK, "%s", config);
  scene_ask(&s, 200, MENTION TEXT("hello"));
  cr_expect(sent(&s, "the second", 5000));
  cr_expect_eq(model_count(s.model), 2, "not the first one again: %zu", model_count(s.model));
  scene_close(&s);
}

/* ---- pictures ---- */

/* A GET is for a picture: 1 x 1 PNG; "/text" is none. */
static void answer_pictures(struct model *m, int fd, size_t n, const char *head, const char *text)
{
  static const char png[] =
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89";
  char line[160];
  (void)m, (void)n;
  if (text[0]) {
    model_say(fd, WORDS("fine"), "stop");
    return;
  }
  bool is_text = strncmp(head, "GET /text", 9) == 0;
  snprintf(line, sizeof line,
           "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %zu\r\n\r\n",
           is_text ? 5 : sizeof png - 1);
  peer_puts(fd, line);
  peer_write(fd, is_text ? SPAN("hello") : (struct span) { png, sizeof png - 1 });
}

static const struct {
  const char *provider, *agent, *hosts;
  size_t shown;
} sights[] = {
  { ", images: true", "", "    media: {hosts: [127.0.0.1]}\n", 2 },
  { ", images: true", ", images: 1", "    media: {hosts: [127.0.0.1]}\n", 1 },
  { ", images: true", ", images: 0", "    media: {hosts: [127.0.0.1]}\n", 0 },
  { ", images: false", "", "    media: {hosts: [127.0.0.1]}\n", 0 },
  { ", images: true", "", "", 0 }, /* the guard: no public address */
};

Test(agent, pictures_for_models_that_see, .timeout = 60)
{
  for (size_t i = 0; i < sizeof sights / sizeof *sights; i++) {
    struct scene s;
    char segments[512];
    scene_open(&s, answer_pictures, NULL, sights[i].provider, sights[i].agent, sights[i].hosts);
    snprintf(segments, sizeof segments,
             "{\"type\":\"image\",\"data\":{\"file\":\"a\",\"url\":\"http://127.0.0.1:%u/text\"}},"
             "{\"type\":\"image\",\"data\":{\"file\":\"a\",\"url\":\"http://127.0.0.1:%u/a\"}},"
             "{\"type\":\"image\",\"data\":{\"file\":\"a\",\"url\":\"http://127.0.0.1:%u/b\"}}",
             s.model->port, s.model->port, s.model->port);
    scene_ask(&s, 200, segments);
    scene_ask(&s, 201, MENTION TEXT("what is that?"));
    cr_expect(sent(&s, "fine", 5000), "row %zu", i);
    size_t last = model_count(s.model) - 1, shown = 0;
    pthread_mutex_lock(&s.model->mu);
    for (const char *at = s.model->texts[last]; (at = strstr(at, "data:image/png;base64,iVBOR"));
         at++)
      shown++;
    pthread_mutex_unlock(&s.model->mu);
    cr_expect_eq(shown, sights[i].shown, "row %zu: %zu", i, shown);
    cr_expect_eq(model_has(s.model, last, "pictures_of"), shown > 0, "row %zu", i);
    scene_close(&s);
  }
}

/* An implementation that writes messages as strings. */
Test(agent, pictures_and_words_of_messages_that_are_strings, .timeout = 30)
{
  struct scene s;
  char text[1024];
  scene_open(&s, answer_pictures, NULL, ", images: true", "", "    media: {hosts: [127.0.0.1]}\n");
  snprintf(text, sizeof text,
           "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","
           "\"group_id\":7,\"user_id\":200,\"message_id\":5,\"message\":\"[CQ:at,qq=10001] what is "
           "[CQ:image,file=x,url=http://127.0.0.1:%u/a]?\",\"sender\":{\"nickname\":\"n\"}}",
           s.model->port);
  bot_send(s.stage.bot, text);
  cr_expect(sent(&s, "fine", 5000));
  size_t last = model_count(s.model) - 1;
  cr_expect(model_has(s.model, last, "@10001  what is [image]?"));
  cr_expect(model_has(s.model, last, "data:image/png;base64,iVBOR"));
  scene_close(&s);
}

/* What is no picture, or cannot be had, is left out; the answer comes all the same. */
Test(agent, what_is_no_picture_is_left_out, .timeout = 30)
{
  struct scene s;
  char segments[512];
  scene_open(&s, answer_pictures, NULL, ", images: true", "", "    media: {hosts: [127.0.0.1]}\n");
  snprintf(
      segments, sizeof segments,
      "{\"type\":\"image\",\"data\":{\"url\":\"http://127.0.0.1:%u/text\"}},"
      "{\"type\":\"image\",\"data\":{\"url\":\"http://127.0.0.1:1/none\"}}," MENTION TEXT("what?"),
      s.model->port);
  scene_ask(&s, 200, segments);
  cr_expect(sent(&s, "fine", 5000));
  cr_expect_not(model_has(s.model, model_count(s.model) - 1, "data:image"));
  cr_expect(keeper_logged(s.stage.keeper, "is left out"));
  scene_close(&s);
}
