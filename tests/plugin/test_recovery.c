/* What is done with turns that an earlier process left. */
#include "plugin/delivery/recovery.h"
#include "plugin/submit.h"

#include <sys/wait.h>

#include "tests/lib/journal_stage.h"

#define SEND(t) "{\"group_id\":123,\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define CARD                                                                                       \
  "{\"group_id\":123,\"message\":[{\"type\":\"music\",\"data\":{\"type\":\"163\",\"id\":\"1\"}}]}"

struct left {
  const char *label;
  const char *text; /* not planned yet */
  struct {
    const char *params, *message_id;
    enum rg_stored_state state;
    bool card;
  } steps[3];
  const char
      *history; /* text of a message of ours in the chat's history, "" none, NULL no history */
  int64_t age_ms;
  bool foreign, lost_text, other_run; /* other_run: the machine went down since */
  const char *endpoint, *notice;
  /* what is to come of it: NULL: nothing is told */
  const char *result, *holds;
  size_t calls;
  const char *call; /* what the last call holds */
};

static const struct left rows[] = {
  { "a text without a plan", .text = REPLY(TEXT("one")), .history = "", .result = "\"delivered\"",
    .holds = "\"recovered\":true", .calls = 1, .call = "one" },
  { "a plan of which the first was sent",
    .steps = { { SEND("one"), "7", RG_STORED_SENT, false },
               { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    .history = "", .result = "\"delivered\"", .holds = "\"message_id\":\"7\"", .calls = 1,
    .call = "two" },
  { "one that was sent and not marked",
    .steps = { { SEND("one"), NULL, RG_STORED_FRAMED, false },
               { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    .history = "one", .result = "\"delivered\"", .holds = "\"message_id\":\"77\"", .calls = 1,
    .call = "two" },
  { "one that may have been sent",
    .steps = { { SEND("one"), NULL, RG_STORED_FRAMED, false },
               { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    .history = "", .result = "\"failed\"",
    .holds = "\"outcome\":\"unknown\",\"reason\":\"restart\"" },
  { "the same where no history is given",
    .steps = { { SEND("one"), NULL, RG_STORED_FRAMED, false } }, .result = "\"failed\"",
    .holds = "\"outcome\":\"unknown\",\"reason\":\"restart\"" },
  { "words of ours that say something else",
    .steps = { { SEND("one"), NULL, RG_STORED_FRAMED, false } }, .history = "other",
    .result = "\"failed\"", .holds = "\"outcome\":\"unknown\"" },
  { "the last of two, found",
    .steps = { { SEND("one"), "7", RG_STORED_SENT, false },
               { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    .history = "two", .result = "\"delivered\"", .holds = "\"77\"" },
  { "the last of two, not found",
    .steps = { { SEND("one"), "7", RG_STORED_SENT, false },
               { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    .history = "", .result = "\"partial_delivery\"", .holds = "\"unknown\"" },
  { "the same words with an id that is known",
    .steps = { { SEND("one"), "77", RG_STORED_SENT, false },
               { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    .history = "one", .result = "\"partial_delivery\"", .holds = "\"unknown\"" },
  { "too late", .text = REPLY(TEXT("one")), .history = "", .age_ms = RG_RECOVERY_AGE_MS + 1000,
    .result = "\"failed\"", .holds = "\"reason\":\"expired\"" },
  { "too late, with a plan", .steps = { { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    .history = "one", .age_ms = RG_RECOVERY_AGE_MS + 1000, .result = "\"failed\"",
    .holds = "\"outcome\":\"unknown\",\"reason\":\"restart\"" },
  { "a text that was too long to be kept", .text = "", .history = "", .lost_text = true,
    .result = "\"failed\"", .holds = "\"reason\":\"restart\"" },
  { "a plan that was too large to be kept", .steps = { { "", NULL, RG_STORED_QUEUED, false } },
    .history = "", .lost_text = true, .result = "\"failed\"", .holds = "\"reason\":\"restart\"" },
  { "the machine went down: not planned", .text = REPLY(TEXT("one")), .history = "",
    .other_run = true, .result = "\"failed\"", .holds = "\"reason\":\"restart\"" },
  { "the machine went down: nothing is surely unsent",
    .steps = { { SEND("one"), NULL, RG_STORED_QUEUED, false } }, .history = "", .other_run = true,
    .result = "\"failed\"", .holds = "\"unknown\"" },
  { "the machine went down: found",
    .steps = { { SEND("one"), NULL, RG_STORED_QUEUED, false },
               { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    .history = "one", .other_run = true, .result = "\"partial_delivery\"", .holds = "\"unknown\"" },
  { "a framework's",
    .steps = { { SEND("one"), "7", RG_STORED_SENT, false },
               { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    .history = "", .foreign = true, .calls = 1, .call = "two" },
  { "an endpoint that is gone",
    .steps = { { SEND("one"), "7", RG_STORED_SENT, false },
               { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    .history = "", .endpoint = "gone", .result = "\"partial_delivery\"",
    .holds = "\"reason\":\"endpoint\"" },
  { "the failure notice", .steps = { { SEND("sorry"), NULL, RG_STORED_QUEUED, false } },
    .history = "", .notice = "tool_call", .result = "\"blocked\"",
    .holds = "\"code\":\"tool_call\"", .calls = 1, .call = "sorry" },
  { "a plan that is no JSON", .steps = { { "{\"group_id\":123", NULL, RG_STORED_QUEUED, false } },
    .history = "", .result = "\"failed\"", .holds = "\"reason\":\"damaged\"" },
  { "a plan that is no object", .steps = { { "[1]", NULL, RG_STORED_QUEUED, false } },
    .history = "", .result = "\"failed\"", .holds = "\"reason\":\"damaged\"" },
  { "a plan with more behind it",
    .steps = { { SEND("one") ",\"echo\":1", NULL, RG_STORED_QUEUED, false } }, .history = "",
    .result = "\"failed\"", .holds = "\"reason\":\"damaged\"" },
  { "a plan that is not in UTF-8", .steps = { { SEND("\xff"), NULL, RG_STORED_QUEUED, false } },
    .history = "", .result = "\"failed\"", .holds = "\"reason\":\"damaged\"" },
  { "a card that was accepted and shows", .steps = { { CARD, "5", RG_STORED_ANSWERED, true } },
    .history = "", .result = "\"delivered\"", .holds = "\"message_id\":\"5\"", .calls = 1,
    .call = "\"message_id\":5" },
};

static void left_put(const struct stage *s, const struct left *row)
{
  struct rg_store *store = store_at(s);
  struct rg_stored_step steps[3];
  uint64_t last;
  char why[512] = "";
  size_t count = 0;
  memset(steps, 0, sizeof steps);
  for (; count < 3 && row->steps[count].params; count++)
    steps[count] = (struct rg_stored_step) {
      .kind = OB_STEP_SEND,
      .message = count,
      .chars = 3,
      .action = SPAN("send_group_msg"),
      .params = span_of(row->steps[count].params),
      .state = row->steps[count].state,
      .at_ms = now_ms() - row->age_ms,
      .message_id = span_of(row->steps[count].message_id),
      .card = row->steps[count].card,
      .card_text = row->steps[count].card ? SPAN("a song") : SPAN(""),
    };
  const struct rg_stored_turn turn = {
    .ticket = 41,
    .at_ms = now_ms() - row->age_ms,
    .endpoint = span_of(row->endpoint ? row->endpoint : "main"),
    .group_id = SPAN("123"),
    .message_id = SPAN("555"),
    .sender_id = SPAN("10002"),
    .kind = RG_KIND_ANSWER,
    .foreign = row->foreign,
    .notice = span_of(row->notice),
    .kept = !row->lost_text,
    .text = span_of(row->text),
    .steps = steps,
    .step_count = count,
  };
  cr_assert_eq(store->methods->journal_claim(store, &last, why, sizeof why), RG_CLAIM_HAD, "%s",
               why);
  cr_assert(store->methods->turn_put(store, &turn, why, sizeof why), "%s", why);
  if (row->other_run) store->methods->journal_trust(store, false);
  rg_store_close(store);
}

static struct bot_answer card_shows(struct bot *b, const struct bot_call *call)
{
  (void)b;
  if (strcmp(call->action, "get_msg") != 0) return (struct bot_answer) { .kind = BOT_OK };
  return (struct bot_answer) { .kind = BOT_TEXT,
                               .text = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"message\":"
                                       "[{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}]}" };
}

Test(recovery, goes_on_with_what_an_earlier_process_left)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct left *row = &rows[i];
    struct stage s;
    stage_prepare(&s);
    left_put(&s, row);
    char *history = row->history ? history_of(row->history) : NULL;
    s.bot->history = history;
    s.bot->answer = card_shows;
    gate_start(&s, FAST);
    const char *result = row->result ? keeper_result_of(s.keeper, 41, LONG_MS) : NULL;
    if (row->result)
      cr_expect(result && strstr(result, row->result) && strstr(result, row->holds), "%s: %s",
                row->label, result ? result : "no result");
    if (row->calls > 0) cr_expect(bot_called(s.bot, row->calls, LONG_MS), "%s", row->label);
    if (!row->result) usleep(SHORT_MS * 1000);
    cr_expect_eq(s.keeper->result_count, row->result ? 1 : 0, "%s", row->label);
    cr_expect_eq(bot_count(s.bot), row->calls, "%s: %zu calls", row->label, bot_count(s.bot));
    if (row->call && row->calls > 0 && bot_count(s.bot) > 0)
      cr_expect(strstr(s.bot->calls[bot_count(s.bot) - 1].params, row->call), "%s: %s", row->label,
                s.bot->calls[bot_count(s.bot) - 1].params);
    rg_gate_close(s.gate);
    cr_expect_eq(number(&s, "SELECT count(*) FROM turn WHERE result IS NULL"), 0, "%s", row->label);
    cr_expect_eq(number(&s, "SELECT sum(length(params) + length(card_text)) FROM step") > 0, 0,
                 "%s", row->label);
    s.gate = NULL;
    stage_close(&s);
    free(history);
  }
}

/* ---- settings that changed in between ---- */

#define QUICK "groups:\n  default:\n    pace: {min: 0, max: 0}\n"
#define DIRECTIVES QUICK "    directives: {enabled: true, media_lines: true}\n"
#define TEXT_OUT QUICK "    output: text\n"
#define SCHEMA_OUT QUICK "    output: schema\n    output_schema: a.json\n"
#define ANSWER_SCHEMA                                                                              \
  "{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\"}},"                        \
  "\"required\":[\"answer\"],\"additionalProperties\":false}"
#define OWN_SCHEMA                                                                                 \
  "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"                            \
  "\"required\":[\"n\"],\"additionalProperties\":false}"

static const struct {
  const char *label, *before, *after; /* settings of the groups */
  int32_t kind;
  const char *schema; /* of the turn */
  bool words;
  const char *text, *result, *call; /* call NULL: nothing goes out but maybe the notice */
} changes[] = {
  { "text, then reply", TEXT_OUT, FAST, RG_KIND_ANSWER, NULL, false, "plain words", "\"delivered\"",
    "\"plain words\"" },
  { "reply, then text", FAST, TEXT_OUT, RG_KIND_ANSWER, NULL, false, REPLY(TEXT("one")),
    "\"delivered\"", "\"one\"" },
  { "reply, then schema", FAST, SCHEMA_OUT, RG_KIND_PROACTIVE, NULL, false, REPLY(TEXT("one")),
    "\"delivered\"", "\"one\"" },
  { "schema, then reply", SCHEMA_OUT, FAST, RG_KIND_ANSWER, NULL, false, "{\"answer\":\"42\"}",
    "\"document\":\"{\\\"answer", "answer" },
  { "schema, then text", SCHEMA_OUT, TEXT_OUT, RG_KIND_ANSWER, NULL, false, "{\"mood\":1}",
    "\"blocked\"", NULL },
  { "the turn's own schema", FAST, FAST, RG_KIND_ANSWER, OWN_SCHEMA, false, "{\"n\":1}",
    "\"document\":\"{\\\"n", "{\\\"n\\\":1}" },
  { "the turn's own, then another", FAST, SCHEMA_OUT, RG_KIND_ANSWER, OWN_SCHEMA, false,
    "{\"n\":1}", "\"document\":\"{\\\"n", "{\\\"n\\\":1}" },
  { "words beside a tool call", SCHEMA_OUT, FAST, RG_KIND_ANSWER, NULL, true, "plain words",
    "\"delivered\"", "\"plain words\"" },
  { "a notice", FAST, SCHEMA_OUT, RG_KIND_NOTICE, NULL, false, "plain words", "\"delivered\"",
    "\"plain words\"" },
  { "directives, then none", DIRECTIVES, FAST, RG_KIND_ANSWER, NULL, false,
    REPLY(TEXT("[[reply_to_current]]hello")), "\"delivered\"", "\"text\":\"hello\"" },
  { "none, then directives", FAST, DIRECTIVES, RG_KIND_ANSWER, NULL, false,
    REPLY(TEXT("[[reply_to_current]]hello")), "\"delivered\"", "[[reply_to_current]]hello" },
};

static void file_write(const char *path, const char *head, const char *text)
{
  FILE *f = fopen(path, "w");
  cr_assert(f);
  fprintf(f, "%s%s", head, text);
  fclose(f);
}

/* In a process of its own: accepts a turn before its endpoint is known, and dies. */
static void accept_and_die(struct stage *s, size_t row)
{
  char head[128], schema[128], why[512] = "";
  const struct rg_host host = { .size = sizeof host, .abi = RG_ABI };
  const struct rg_bytes path = { s->config, strlen(s->config) };
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = changes[row].kind,
    .group_id = { "123", 3 },
    .message_id = { "555", 3 },
    .schema = { changes[row].schema, changes[row].schema ? strlen(changes[row].schema) : 0 },
  };
  snprintf(head, sizeof head, "endpoints:\n  main: {listen: \"127.0.0.1:%u/ws\"}\n",
           peer_free_port());
  file_write(s->config, head, changes[row].before);
  snprintf(schema, sizeof schema, "%s/a.json", s->folder);
  file_write(schema, "", ANSWER_SCHEMA);
  pid_t child = fork();
  cr_assert(child >= 0);
  if (child == 0) {
    struct rg_gate *gate;
    const char *text = changes[row].text;
    if (rg_gate_open_timed(&host, path, &fast, &gate, why, sizeof why) != RG_OK) {
      fprintf(stderr, "%s\n", why);
      _exit(1);
    }
    int32_t rc = changes[row].words
                     ? rg_gate_submit_part(gate, &turn, span_of(text), true, NULL)
                     : rg_gate_submit(gate, &turn, (struct rg_bytes) { text, strlen(text) }, NULL);
    _exit(rc == RG_OK ? 0 : 2);
  }
  int status;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %d", changes[row].label, status);
}

Test(recovery, reads_a_text_as_it_was_asked_for)
{
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    struct stage s;
    stage_prepare(&s);
    accept_and_die(&s, i);
    gate_start(&s, changes[i].after);
    const char *result = keeper_result_of(s.keeper, 1, LONG_MS);
    cr_expect(result && strstr(result, changes[i].result), "%s: %s", changes[i].label, result);
    if (changes[i].call && bot_called(s.bot, 1, LONG_MS))
      cr_expect(strstr(s.bot->calls[0].params, changes[i].call), "%s: %s", changes[i].label,
                s.bot->calls[0].params);
    stage_close(&s);
  }
}

Test(recovery, what_is_too_large_to_be_ours_is_not_sent)
{
  static const char *const others[] = {
    "UPDATE turn SET text = zeroblob(5000000)",
    "UPDATE turn SET schema = zeroblob(5000000)",
    "UPDATE turn SET endpoint = hex(zeroblob(5000))",
    "UPDATE turn SET kind = 99",
    "UPDATE turn SET group_id = ''",
    "UPDATE turn SET schema = x'7b'",
    "UPDATE turn SET text = x'ff'",
    ("INSERT INTO step WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT 70000)"
     " SELECT 41, n, 0, 0, 0, 0, 'send_group_msg', x'7b7d', x'', 0, 0, '' FROM c"),
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct stage s;
    struct left row = { .text = REPLY(TEXT("one")), .history = "" };
    stage_prepare(&s);
    left_put(&s, &row);
    sql(&s, others[i]);
    gate_start(&s, QUICK "    failure_notice: \"off\"\n");
    const char *result = keeper_result_of(s.keeper, 41, LONG_MS);
    cr_expect(result && (strstr(result, "\"failed\"") || strstr(result, "\"blocked\"")), "%s: %s",
              others[i], result);
    cr_expect_eq(bot_count(s.bot), 0, "%s", others[i]);
    rg_gate_close(s.gate);
    cr_expect_eq(number(&s, "SELECT count(*) FROM turn WHERE result IS NULL"), 0, "%s", others[i]);
    s.gate = NULL;
    stage_close(&s);
  }
}
