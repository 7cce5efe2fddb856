/* What the journal keeps, for how long, what is done with what an earlier process left, and what
 * happens where it cannot be written. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "plugin/journal.h"
#include "plugin/recovery.h"
#include "plugin/resolve.h"
#include "tests/lib/bot.h"

#define FAST "groups:\n  default: {pace: {min: 0, max: 0}}\n"
#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(m) "{\"messages\":[" m "]}"
#define SEND(t) "{\"group_id\":123,\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define CARD                                                                                       \
  "{\"group_id\":123,\"message\":[{\"type\":\"music\",\"data\":{\"type\":\"163\",\"id\":\"1\"}}]}"

enum { LONG_MS = 15000, SHORT_MS = 300 };

static const struct rg_timing fast = {
  .send = 300,
  .reaction = 300,
  .card_look = 300,
  .correction = 300,
  .history = 2000,
  .resolve = 4000,
  .echo = 50,
  .retry = 20,
  .muted = 60000,
  .risk = 60000,
  .removed = 60000,
  .backoff = 20,
  .probe = 50,
  .down = 60000,
  .notify = 60000,
};

static unsigned send_ms = 300; /* a test may wait longer: each is a process of its own */

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- a stage whose gate opens later ---- */

static void stage_prepare(struct stage *s)
{
  *s = (struct stage) { .bot = bot_start("NapCat.Onebot"), .keeper = keeper_new() };
  strcpy(s->folder, "/tmp/rg-test-XXXXXX");
  cr_assert(mkdtemp(s->folder));
  snprintf(s->config, sizeof s->config, "%s/c.yaml", s->folder);
}

static int32_t gate_try(struct stage *s, const char *rest, char *why, size_t cap)
{
  const struct rg_host host = {
    .size = sizeof host,
    .abi = RG_ABI,
    .ctx = s->keeper,
    .log = keeper_log,
    .on_result = keeper_result,
  };
  stage_config(s, "", rest);
  struct rg_bytes path = { s->config, strlen(s->config) };
  s->gate = NULL;
  struct rg_timing timing = fast;
  timing.send = send_ms;
  return rg_gate_open_timed(&host, path, &timing, &s->gate, why, cap);
}

static void gate_start(struct stage *s, const char *rest)
{
  char why[2048];
  cr_assert_eq(gate_try(s, rest, why, sizeof why), RG_OK, "%s", why);
}

static const char *db_path(const struct stage *s)
{
  static char path[128];
  snprintf(path, sizeof path, "%s/replygate.db", s->folder);
  return path;
}

static struct rg_store *store_at(const struct stage *s)
{
  char address[160], why[512] = "";
  snprintf(address, sizeof address, "sqlite:%s", db_path(s));
  struct rg_store *store = rg_store_new(span_of(address), why, sizeof why);
  cr_assert(store, "%s", why);
  return store;
}

static void sql(const struct stage *s, const char *text)
{
  sqlite3 *db;
  cr_assert_eq(sqlite3_open(db_path(s), &db), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

static int64_t number(const struct stage *s, const char *text)
{
  sqlite3 *db;
  sqlite3_stmt *q;
  cr_assert_eq(sqlite3_open(db_path(s), &db), SQLITE_OK);
  cr_assert_eq(sqlite3_prepare_v2(db, text, -1, &q, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
  int64_t n = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
  sqlite3_finalize(q);
  sqlite3_close(db);
  return n;
}

/* ---- what an earlier process left ---- */

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
  { "a text without a plan",
    REPLY(TEXT("one")),
    { { 0 } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"delivered\"",
    "\"recovered\":true",
    1,
    "one" },
  { "a plan of which the first was sent",
    NULL,
    { { SEND("one"), "7", RG_STORED_SENT, false }, { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"delivered\"",
    "\"message_id\":\"7\"",
    1,
    "two" },
  { "one that was sent and not marked",
    NULL,
    { { SEND("one"), NULL, RG_STORED_FRAMED, false },
      { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    "one",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"delivered\"",
    "\"message_id\":\"77\"",
    1,
    "two" },
  { "one that may have been sent",
    NULL,
    { { SEND("one"), NULL, RG_STORED_FRAMED, false },
      { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"outcome\":\"unknown\",\"reason\":\"restart\"",
    0,
    NULL },
  { "the same where no history is given",
    NULL,
    { { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    NULL,
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"outcome\":\"unknown\",\"reason\":\"restart\"",
    0,
    NULL },
  { "words of ours that say something else",
    NULL,
    { { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    "other",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"outcome\":\"unknown\"",
    0,
    NULL },
  { "the last of two, found",
    NULL,
    { { SEND("one"), "7", RG_STORED_SENT, false }, { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    "two",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"delivered\"",
    "\"77\"",
    0,
    NULL },
  { "the last of two, not found",
    NULL,
    { { SEND("one"), "7", RG_STORED_SENT, false }, { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"partial_delivery\"",
    "\"unknown\"",
    0,
    NULL },
  { "the same words with an id that is known",
    NULL,
    { { SEND("one"), "77", RG_STORED_SENT, false },
      { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    "one",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"partial_delivery\"",
    "\"unknown\"",
    0,
    NULL },
  { "too late",
    REPLY(TEXT("one")),
    { { 0 } },
    "",
    RG_RECOVERY_AGE_MS + 1000,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"reason\":\"expired\"",
    0,
    NULL },
  { "too late, with a plan",
    NULL,
    { { SEND("one"), NULL, RG_STORED_FRAMED, false } },
    "one",
    RG_RECOVERY_AGE_MS + 1000,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"outcome\":\"unknown\",\"reason\":\"restart\"",
    0,
    NULL },
  { "a text that was too long to be kept",
    "",
    { { 0 } },
    "",
    0,
    false,
    true,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"reason\":\"restart\"",
    0,
    NULL },
  { "a plan that was too large to be kept",
    NULL,
    { { "", NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    false,
    true,
    false,
    NULL,
    NULL,
    "\"failed\"",
    "\"reason\":\"restart\"",
    0,
    NULL },
  { "the machine went down: not planned",
    REPLY(TEXT("one")),
    { { 0 } },
    "",
    0,
    false,
    false,
    true,
    NULL,
    NULL,
    "\"failed\"",
    "\"reason\":\"restart\"",
    0,
    NULL },
  { "the machine went down: nothing is surely unsent",
    NULL,
    { { SEND("one"), NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    false,
    false,
    true,
    NULL,
    NULL,
    "\"failed\"",
    "\"unknown\"",
    0,
    NULL },
  { "the machine went down: found",
    NULL,
    { { SEND("one"), NULL, RG_STORED_QUEUED, false },
      { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    "one",
    0,
    false,
    false,
    true,
    NULL,
    NULL,
    "\"partial_delivery\"",
    "\"unknown\"",
    0,
    NULL },
  { "a framework's",
    NULL,
    { { SEND("one"), "7", RG_STORED_SENT, false }, { SEND("two"), NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    true,
    false,
    false,
    NULL,
    NULL,
    NULL,
    NULL,
    1,
    "two" },
  { "an endpoint that is gone",
    NULL,
    { { SEND("one"), "7", RG_STORED_SENT, false }, { SEND("two"), NULL, RG_STORED_FRAMED, false } },
    "",
    0,
    false,
    false,
    false,
    "gone",
    NULL,
    "\"partial_delivery\"",
    "\"reason\":\"endpoint\"",
    0,
    NULL },
  { "the failure notice",
    NULL,
    { { SEND("sorry"), NULL, RG_STORED_QUEUED, false } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    "tool_call",
    "\"blocked\"",
    "\"code\":\"tool_call\"",
    1,
    "sorry" },
  { "a card that was accepted and shows",
    NULL,
    { { CARD, "5", RG_STORED_ANSWERED, true } },
    "",
    0,
    false,
    false,
    false,
    NULL,
    NULL,
    "\"delivered\"",
    "\"message_id\":\"5\"",
    1,
    "\"message_id\":5" },
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
  cr_assert(store->methods->journal_claim(store, &last, why, sizeof why), "%s", why);
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

static char *history_of(const char *text)
{
  char *json = NULL;
  int n = asprintf(
      &json,
      "\"status\":\"ok\",\"retcode\":0,\"data\":{\"messages\":["
      "{\"time\":%lld,\"message_id\":70,\"user_id\":10002,\"sender\":{\"user_id\":10002},"
      "\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"one\"}}]},"
      "{\"time\":%lld,\"message_id\":71,\"user_id\":10001,\"sender\":{\"user_id\":10001},"
      "\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"%s\"}}]},"
      "{\"time\":%lld,\"message_id\":77,\"user_id\":10001,\"sender\":{\"user_id\":10001},"
      "\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"%s\"}}]}]}",
      (long long)time(NULL), (long long)time(NULL) - 3600, text, (long long)time(NULL), text);
  cr_assert(n > 0);
  return json;
}

Test(journal, goes_on_with_what_an_earlier_process_left)
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

Test(journal, tickets_are_never_given_twice)
{
  struct stage s;
  uint64_t last = 0;
  stage_prepare(&s);
  for (int i = 0; i < 3; i++) {
    gate_start(&s, FAST);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one")));
    cr_expect(keeper_result_of(s.keeper, ticket, LONG_MS) != NULL);
    cr_expect_gt(ticket, last);
    last = ticket;
    rg_gate_close(s.gate);
  }
  s.gate = NULL;
  stage_close(&s);
}

Test(journal, a_result_leaves_no_words_and_nobody_else_may_read)
{
  static const char *const names[] = { "", "-wal", "-shm", "-lock" };
  struct stage s;
  struct stat st;
  stage_prepare(&s);
  gate_start(&s, FAST);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("a secret") "," TEXT("another one")));
  cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[160];
    snprintf(path, sizeof path, "%s%s", db_path(&s), names[i]);
    cr_expect_eq(stat(path, &st), 0, "%s", path);
    cr_expect_eq(st.st_mode & 0777, 0600, "%s", path);
  }
  for (int i = 0; i < 100 && number(&s, "SELECT result IS NULL FROM turn") != 0; i++) usleep(10000);
  cr_expect_eq(number(&s, "SELECT length(text) FROM turn"), 0);
  cr_expect_eq(number(&s, "SELECT sum(length(params)) FROM step"), 0);
  cr_expect_eq(number(&s, "SELECT count(*) FROM step WHERE state = 3 AND message_id <> ''"), 2);
  cr_expect_eq(number(&s, "SELECT result = 'delivered' FROM turn"), 1);
  struct rg_buf stats;
  cr_assert_eq(rg_gate_stats(s.gate, &stats), RG_OK);
  cr_expect(memmem(stats.ptr, stats.len, "\"journal\":\"on\"", 14));
  rg_gate_release(&stats);
  stage_close(&s);
}

static void turn_through(struct rg_store *store, uint64_t ticket)
{
  char why[512] = "";
  const struct rg_stored_step step = { .action = SPAN("send_group_msg"), .state = RG_STORED_SENT };
  const struct rg_stored_turn turn = { .ticket = ticket,
                                       .at_ms = now_ms(),
                                       .endpoint = SPAN("main"),
                                       .group_id = SPAN("1"),
                                       .kept = true,
                                       .steps = &step,
                                       .step_count = 1 };
  cr_assert(store->methods->turn_put(store, &turn, why, sizeof why), "%s", why);
  cr_assert(store->methods->turn_end(store, &turn, "delivered", why, sizeof why), "%s", why);
}

Test(journal, old_turns_are_dropped_by_number_and_by_age)
{
  enum { LOOK = 64 }; /* ends between two looks */
  struct stage s;
  uint64_t last;
  char why[512] = "";
  stage_prepare(&s);
  struct rg_store *store = store_at(&s);
  cr_assert(store->methods->journal_claim(store, &last, why, sizeof why), "%s", why);
  for (uint64_t i = 1; i <= 10; i++) turn_through(store, i);
  sql(&s, "UPDATE turn SET ended = ended - 8 * 86400000 WHERE ticket IN (2, 3)");
  for (uint64_t i = 0; i < LOOK; i++) turn_through(store, 1000 + i);
  cr_expect_eq(number(&s, "SELECT count(*) FROM turn WHERE ticket <= 10"), 8, "two are a week old");
  for (uint64_t i = 0; i < LOOK; i++) turn_through(store, 11000 + i);
  cr_expect_eq(number(&s, "SELECT count(*) FROM turn WHERE ticket <= 10"), 0, "10,000 behind");
  cr_expect_eq(number(&s, "SELECT count(*) FROM step WHERE ticket <= 10"), 0);
  cr_expect_gt(number(&s, "SELECT count(*) FROM turn"), LOOK);
  rg_store_close(store);
  s.gate = NULL;
  stage_close(&s);
}

/* ---- what cannot be written ---- */

Test(journal, a_store_belongs_to_one_process)
{
  struct stage s, second;
  char why[2048];
  stage_prepare(&s);
  gate_start(&s, FAST);
  second = s;
  cr_expect_eq(gate_try(&second, FAST, why, sizeof why), RG_ESYSTEM);
  cr_expect(strstr(why, "another Replygate keeps its journal here"), "%s", why);
  gate_start(&second, "journal: optional\n" FAST);
  cr_expect(keeper_logged(s.keeper, "Sending goes on without it"));
  rg_gate_close(second.gate);
  stage_ready(&s); /* the first one still has it */
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one")));
  cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
  stage_close(&s);
}

/* Makes the file what it must not be. */
static void damage(const struct stage *s, int how)
{
  char path[160];
  struct rg_store *store = store_at(s);
  turn_through(store, 1);
  rg_store_close(store);
  int fd = open(db_path(s), O_RDWR);
  cr_assert_geq(fd, 0);
  static char garbage[8192];
  memset(garbage, 0x5A, sizeof garbage);
  switch (how) {
  case 0: cr_assert_eq(pwrite(fd, garbage, sizeof garbage, 4096), sizeof garbage); break;
  case 1: cr_assert_eq(pwrite(fd, garbage, 100, 0), 100); break;
  case 2: cr_assert_eq(ftruncate(fd, 5000), 0); break;
  default:
    close(fd);
    if (how == 3) sql(s, "PRAGMA user_version = 999");
    if (how == 4) { /* nobody may write there: as somebody else than root */
      snprintf(path, sizeof path, "%s/replygate.db-lock", s->folder);
      unlink(path);
      cr_assert_eq(chmod(s->folder, 0555), 0);
      if (geteuid() == 0) cr_assert_eq(seteuid(65534), 0);
    }
    return;
  }
  close(fd);
}

Test(journal, a_file_that_cannot_be_used_says_why)
{
  static const char *const says[] = { "damaged", "not a database", "malformed", "newer version",
                                      "not writable" };
  for (int how = 0; how < 5; how++) {
    struct stage s;
    char why[2048] = "";
    stage_prepare(&s);
    stage_config(&s, "", FAST);
    cr_assert_eq(chmod(s.config, 0644), 0);
    cr_assert_eq(chmod(s.folder, 0755), 0);
    damage(&s, how);
    const struct rg_host host = { .size = sizeof host,
                                  .abi = RG_ABI,
                                  .ctx = s.keeper,
                                  .log = keeper_log,
                                  .on_result = keeper_result };
    struct rg_bytes path = { s.config, strlen(s.config) };
    int32_t rc = rg_gate_open_timed(&host, path, &fast, &s.gate, why, sizeof why);
    if (geteuid() != 0 && how == 4) cr_assert_eq(seteuid(0), 0);
    cr_expect_eq(rc, RG_ESYSTEM, "%d: %d", how, rc);
    cr_expect(strstr(why, says[how]) || (how == 2 && strstr(why, "damaged")), "%d: %s", how, why);
    cr_expect(strstr(why, "journal:"), "%d: %s", how, why);
    if (rc == RG_OK) rg_gate_close(s.gate);
    cr_assert_eq(chmod(s.folder, 0755), 0);
    /* by setting it goes on all the same */
    gate_start(&s, "journal: optional\n" FAST);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one")));
    cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""), "%d", how);
    stage_close(&s);
  }
}

/* Lets files of this process grow no further than they are. */
static void disk_fill(const struct stage *s, bool full)
{
  struct stat st;
  char path[160];
  snprintf(path, sizeof path, "%s-wal", db_path(s));
  signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(stat(path, &st), 0);
  const struct rlimit limit = { full ? (rlim_t)st.st_size : RLIM_INFINITY, RLIM_INFINITY };
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(journal, a_full_disk_stops_or_not_as_it_is_set)
{
  for (int optional = 0; optional < 2; optional++) {
    struct stage s;
    int32_t rc;
    stage_prepare(&s);
    gate_start(&s, optional ? "journal: optional\n" FAST : FAST);
    stage_ready(&s);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("before")));
    cr_expect(keeper_result_of(s.keeper, ticket, LONG_MS) != NULL);
    for (int i = 0; i < 100 && number(&s, "SELECT result IS NULL FROM turn") != 0; i++)
      usleep(10000);
    disk_fill(&s, true);
    for (int i = 0; i < 3; i++) {
      ticket = stage_submit_as(&s, RG_KIND_ANSWER, "123", "555", REPLY(TEXT("full")), &rc);
      cr_expect_eq(rc, optional ? RG_OK : RG_ESYSTEM, "%d", rc);
      if (optional) cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
    }
    cr_expect_eq(bot_count(s.bot), optional ? 4 : 1);
    cr_expect(keeper_logged(s.keeper, "journal: store "));
    cr_expect(keeper_logged(s.keeper, "full"));
    disk_fill(&s, false);
    ticket = stage_submit(&s, "123", REPLY(TEXT("after")));
    cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
    cr_expect(keeper_logged(s.keeper, "can be written again"));
    stage_close(&s);
  }
}

/* The disk fills while the first of two messages is on its way. */
static struct bot_answer fills(struct bot *b, const struct bot_call *call)
{
  (void)call;
  struct stage *s = b->ctx;
  if (bot_count(b) == 1) disk_fill(s, true);
  return (struct bot_answer) { .kind = BOT_OK };
}

Test(journal, what_was_not_written_down_is_not_believed)
{
  for (int optional = 0; optional < 2; optional++) {
    struct stage s;
    char lock[160];
    struct stat st;
    stage_prepare(&s);
    gate_start(&s, optional ? "journal: optional\n" FAST : FAST);
    stage_ready(&s);
    s.bot->ctx = &s;
    s.bot->answer = fills;
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(strstr(result, optional ? "\"delivered\"" : "\"partial_delivery\""), "%s", result);
    if (!optional) cr_expect(strstr(result, "\"reason\":\"journal\""), "%s", result);
    cr_expect_eq(bot_count(s.bot), optional ? 2 : 1);
    usleep(50000);
    snprintf(lock, sizeof lock, "%s-lock", db_path(&s));
    cr_expect_eq(stat(lock, &st), 0);
    cr_expect_eq(st.st_size, 0, "the next process must not believe the file");
    disk_fill(&s, false);
    stage_close(&s);
  }
}

Test(journal, off_keeps_nothing)
{
  struct stage s;
  stage_prepare(&s);
  gate_start(&s, "journal: \"off\"\n" FAST);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one")));
  cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
  cr_expect_neq(access(db_path(&s), F_OK), 0, "no file is made");
  stage_close(&s);
}

static struct bot_answer nothing(struct bot *b, const struct bot_call *call)
{
  (void)b;
  (void)call;
  return (struct bot_answer) { .kind = BOT_SILENT };
}

Test(journal, what_was_called_off_is_not_sent_by_the_next_process_either)
{
  struct stage s;
  stage_prepare(&s);
  s.bot->answer = nothing;
  send_ms = 3000;
  gate_start(&s, FAST);
  stage_ready(&s);
  uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  cr_expect_eq(number(&s, "SELECT kept FROM turn"), 1);
  cr_expect_eq(rg_gate_cancel(s.gate, ticket), RG_OK);
  for (int i = 0; i < 100 && number(&s, "SELECT kept FROM turn") != 0; i++) usleep(2000);
  cr_expect_eq(number(&s, "SELECT kept = 0 AND result IS NULL FROM turn"), 1, "before its result");
  cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"cancelled\""));
  stage_close(&s);
}

static struct bot_answer second_silent(struct bot *b, const struct bot_call *call)
{
  (void)b;
  return (struct bot_answer) { .kind = strstr(call->params, "two") ? BOT_SILENT : BOT_OK };
}

/* What a framework's message is told, and what the journal has of it then. */
struct foreign_told {
  struct stage *stage;
  atomic_int told;
  int64_t kept;
  bool sent;
};

static void foreign_told(void *ctx, struct span message_id, const char *why)
{
  struct foreign_told *t = ctx;
  t->kept = number(t->stage, "SELECT count(*) FROM turn WHERE origin = 1 AND result IS NULL");
  t->sent = message_id.len > 0 && !why;
  t->told++;
}

static void foreign_deliver(void *arg)
{
  struct foreign_told *t = arg;
  const struct rg_turn turn = { .size = sizeof turn,
                                .kind = RG_KIND_PROACTIVE,
                                .group_id = { "123", 3 } };
  const struct rg_foreign foreign = { .turn = &turn,
                                      .text = SPAN(REPLY(TEXT("one") "," TEXT("two"))),
                                      .watch = { .told = foreign_told, .ctx = t } };
  cr_expect_eq(rg_gate_deliver(t->stage->gate, &foreign), RG_OK);
}

Test(journal, a_frameworks_message_is_kept_from_its_first_part_on)
{
  struct stage s;
  struct foreign_told told = { .stage = &s };
  stage_prepare(&s);
  s.bot->answer = second_silent;
  send_ms = 3000;
  gate_start(&s, FAST);
  stage_ready(&s);
  ob_service_run(s.gate->service, foreign_deliver, &told);
  cr_assert(bot_called(s.bot, 2, LONG_MS));
  cr_expect_eq(told.told, 1);
  cr_expect(told.sent, "it is told with the first part");
  cr_expect_eq(told.kept, 1, "and by then the rest is written down");
  cr_expect_eq(number(&s, "SELECT state FROM step WHERE n = 0"), RG_STORED_SENT);
  cr_expect_eq(number(&s, "SELECT state FROM step WHERE n = 1"), RG_STORED_FRAMED);
  rg_gate_close(s.gate);
  s.gate = NULL;
  cr_expect_eq(number(&s, "SELECT result = 'cancelled' FROM turn"), 1);
  cr_expect_eq(s.keeper->result_count, 0, "a framework's result is not the host's");
  stage_close(&s);
}

/* ---- resolving in a process that lives ---- */

static struct bot_answer unknown_sends(struct bot *b, const struct bot_call *call)
{
  (void)b;
  static const struct bot_answer timeout = {
    .kind = BOT_TEXT,
    .text = "\"status\":\"failed\",\"retcode\":1200,\"data\":null,\"message\":\"Timeout: NTEvent\""
  };
  bool first = strstr(call->params, "one") || strstr(call->params, "\"type\":\"music\"");
  return first ? timeout : (struct bot_answer) { .kind = BOT_OK };
}

Test(journal, an_unknown_send_is_looked_for_before_it_is_reported)
{
  static const struct {
    const char *history, *result, *holds;
    size_t calls;
  } live[] = {
    { "one", "\"delivered\"", "\"77\"", 2 },
    { "other", "\"failed\"", "\"unknown\"", 1 },
    { NULL, "\"failed\"", "\"unknown\"", 1 },
  };
  for (size_t i = 0; i < sizeof live / sizeof *live; i++) {
    struct stage s;
    stage_prepare(&s);
    char *history = live[i].history ? history_of(live[i].history) : NULL;
    s.bot->history = history;
    s.bot->answer = unknown_sends;
    gate_start(&s, FAST);
    stage_ready(&s);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(result && strstr(result, live[i].result) && strstr(result, live[i].holds), "%zu: %s",
              i, result ? result : "none");
    cr_expect_eq(bot_count(s.bot), live[i].calls, "%zu: %zu calls", i, bot_count(s.bot));
    cr_expect_leq(s.bot->histories, 2, "a bounded number of questions");
    stage_close(&s);
    free(history);
  }
}

Test(journal, a_card_that_timed_out_is_looked_for_before_its_text_goes)
{
#define SONG                                                                                       \
  "{\"messages\":[{\"segments\":[{\"type\":\"share\",\"data\":{\"title\":\"Song\",\"url\":"        \
  "\"https://music.163.com/song?id=1\",\"description\":\"d\",\"image\":"                           \
  "\"https://a.example/i.png\",\"audio\":\"https://a.example/"                                     \
  "a.mp3\",\"platform\":\"netease\"}}]}]}"
  static const struct {
    const char *label, *message; /* ours in the history: "" none, NULL no history */
    const char *result, *holds;
    size_t calls;
  } cards[] = {
    { "it is there", "{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}", "\"delivered\"", "\"77\"",
      1 },
    { "it surely is not", "", "\"delivered\"", "\"card_not_shown\"", 2 },
    { "nobody knows", NULL, "\"failed\"", "\"unknown\"", 1 },
  };
  for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
    struct stage s;
    char *history = NULL;
    stage_prepare(&s);
    if (cards[i].message)
      cr_assert_gt(
          asprintf(&history,
                   "\"status\":\"ok\",\"retcode\":0,\"data\":{\"messages\":[{\"time\":%lld,"
                   "\"message_id\":77,\"user_id\":10001,\"message\":[%s]}]}",
                   (long long)time(NULL), cards[i].message),
          0);
    s.bot->history = history;
    s.bot->answer = unknown_sends;
    gate_start(&s, FAST);
    stage_ready(&s);
    uint64_t ticket = stage_submit(&s, "123", SONG);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(result && strstr(result, cards[i].result) && strstr(result, cards[i].holds), "%s: %s",
              cards[i].label, result ? result : "none");
    cr_expect_eq(bot_count(s.bot), cards[i].calls, "%s: %zu calls", cards[i].label,
                 bot_count(s.bot));
    stage_close(&s);
    free(history);
  }
}

/* ---- the same message, or another ---- */

Test(journal, a_message_is_known_by_what_it_shows)
{
#define T(t) "{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}"
#define I(f) "{\"type\":\"image\",\"data\":{\"file\":\"" f "\"}}"
#define AT(q) "{\"type\":\"at\",\"data\":{\"qq\":\"" q "\"}}"
  static const struct {
    const char *ours, *theirs;
    bool same;
  } pairs[] = {
    { T("a"), T("a"), true },
    { T("a"), T("b"), false },
    { T("a") "," T("b"), T("ab"), true },
    { T("a"), T("a ") "," T(""), true },
    { T("a"), T("a") "," I("x"), false },
    { I("base64://AAAA"), I("1.png"), true },
    { I("base64://AAAA"), "{\"type\":\"record\",\"data\":{\"file\":\"1.amr\"}}", false },
    { I("a") "," I("b"), I("a"), false },
    { AT("1") "," T("a"), AT("1") "," T("a"), true },
    { AT("1") "," T("a"), AT("2") "," T("a"), false },
    { "{\"type\":\"reply\",\"data\":{\"id\":\"5\"}}," T("a"), T("a"), true },
    { "{\"type\":\"music\",\"data\":{\"type\":\"163\",\"id\":\"1\"}}",
      "{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}", true },
    { "{\"type\":\"face\",\"data\":{\"id\":\"76\"}}", "{\"type\":\"face\",\"data\":{\"id\":76}}",
      true },
    { "{\"type\":\"face\",\"data\":{\"id\":\"76\"}}",
      "{\"type\":\"face\",\"data\":{\"id\":\"66\"}}", false },
    { "", "", false },
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    struct arena arena;
    struct schema_node *ours, *theirs;
    arena_init(&arena, 1 << 20);
    struct span a = arena_printf(&arena, "{\"group_id\":1,\"message\":[%s]}", pairs[i].ours);
    struct span b = arena_printf(&arena, "[%s]", pairs[i].theirs);
    cr_assert_eq(schema_tree_read(a, 64, &arena, &ours, NULL), SCHEMA_OK, "%zu", i);
    cr_assert_eq(schema_tree_read(b, 64, &arena, &theirs, NULL), SCHEMA_OK, "%zu", i);
    cr_expect_eq(rg_resolve_same(ours, theirs, &arena), pairs[i].same, "row %zu", i);
    arena_done(&arena);
  }
}
