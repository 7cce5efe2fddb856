/* What the journal keeps and for how long, and what happens where it cannot be written. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/store/store_sqlite.h"
#include "plugin/submit.h"
#include "tests/lib/journal_stage.h"

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

Test(journal, a_ticket_is_not_given_again_where_the_count_was_lost)
{
  static const struct {
    const char *sql;
    bool fine;
  } rows[] = {
    { "DELETE FROM sqlite_sequence", true },
    { "UPDATE sqlite_sequence SET seq = 0", true },
    { "UPDATE sqlite_sequence SET seq = 9223372036854775807", false },
    { "UPDATE sqlite_sequence SET seq = 'x'", true },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct stage s;
    char why[2048] = "";
    stage_prepare(&s);
    gate_start(&s, FAST);
    stage_ready(&s);
    uint64_t first = stage_submit(&s, "123", REPLY(TEXT("one")));
    cr_expect(keeper_result_of(s.keeper, first, LONG_MS) != NULL);
    rg_gate_close(s.gate);
    sql(&s, rows[i].sql);
    int32_t rc = gate_try(&s, FAST, why, sizeof why);
    cr_expect_eq(rc, rows[i].fine ? RG_OK : RG_ESYSTEM, "%s: %d, %s", rows[i].sql, rc, why);
    if (rc == RG_OK) cr_expect_gt(stage_submit(&s, "123", REPLY(TEXT("two"))), first);
    stage_close(&s);
  }
}

static bool file_has(const char *path, const char *what)
{
  static char bytes[1 << 20];
  FILE *f = fopen(path, "r");
  cr_assert(f, "%s", path);
  size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  return memmem(bytes, n, what, strlen(what)) != NULL;
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
  rg_gate_close(s.gate);
  s.gate = NULL;
  cr_expect_not(file_has(db_path(&s), "a secret"), "nor in what SQLite has given up");
  cr_expect_not(file_has(db_path(&s), "another one"));
  cr_expect(file_has(db_path(&s), "send_group_msg"), "the look is a look");
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
  cr_assert_eq(store->methods->journal_claim(store, &last, why, sizeof why), RG_CLAIM_HAD, "%s",
               why);
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

/* Holds the lock of the stage's journal as another process does. Its pid, to be ended. */
static pid_t other_holder(const struct stage *s)
{
  int up[2];
  char byte, path[160];
  cr_assert_eq(pipe(up), 0);
  pid_t pid = fork();
  if (pid == 0) {
    snprintf(path, sizeof path, "%s-lock", db_path(s));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (flock(fd, LOCK_EX) != 0 || write(up[1], "!", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(up[1]);
  cr_assert_eq(read(up[0], &byte, 1), 1);
  close(up[0]);
  return pid;
}

Test(journal, a_store_belongs_to_one_process)
{
  struct stage s;
  char why[2048];
  stage_prepare(&s);
  pid_t other = other_holder(&s);
  cr_expect_eq(gate_try(&s, FAST, why, sizeof why), RG_ESYSTEM);
  cr_expect(strstr(why, "another Replygate keeps its journal here"), "%s", why);
  gate_start(&s, "journal: optional\n" FAST);
  cr_expect(keeper_logged(s.keeper, "Sending goes on without it"));
  kill(other, SIGKILL);
  waitpid(other, NULL, 0);
  stage_close(&s);
}

Test(journal, instances_of_a_process_have_a_file_each)
{
  struct stage s, second;
  stage_prepare(&s);
  gate_start(&s, FAST);
  second = s;
  gate_start(&second, FAST);
  stage_submit(&second, "123", REPLY(TEXT("two")));
  cr_expect_eq(number(&s, "SELECT count(*) FROM turn"), 0, "it is in the other file");
  rg_gate_close(second.gate);
  stage_submit(&s, "123", REPLY(TEXT("one")));
  cr_expect_eq(number(&s, "SELECT count(*) FROM turn"), 1, "the first still has its own");
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
                                      "must be there and writable" };
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

/* How often the operator was told that. */
static size_t told(struct bot *b, const char *what)
{
  size_t count = 0;
  for (size_t i = 0; i < bot_count(b); i++)
    count += strstr(b->calls[i].action, "send_private_msg") && strstr(b->calls[i].params, what);
  return count;
}

static bool fails(const struct stage *s)
{
  struct rg_buf stats;
  cr_assert_eq(rg_gate_stats(s->gate, &stats), RG_OK);
  bool failing = memmem(stats.ptr, stats.len, "\"journal\":\"failing\"", 19);
  rg_gate_release(&stats);
  return failing;
}

Test(journal, one_that_cannot_be_had_is_told_of)
{
  struct stage s;
  stage_prepare(&s);
  damage(&s, 3);
  gate_start(&s, "journal: optional\nnotify: [10007]\n" FAST);
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  cr_expect_eq(told(s.bot, "the journal cannot be written"), 1);
  cr_expect(fails(&s));
  stage_close(&s);
}

#define TOLD                                                                                       \
  "notify: [10007]\ngroups:\n"                                                                     \
  "  default: {pace: {min: 0, max: 0}, rate: {per_minute: 6000}}\n"

Test(journal, a_file_at_its_bound_stops_or_not_as_it_is_set)
{
  static char text[64 * 1024]; /* more than the file has room for */
  memset(text, 'x', sizeof text - 1);
  for (int optional = 0; optional < 2; optional++) {
    struct stage s;
    int32_t rc;
    stage_prepare(&s);
    gate_start(&s, optional ? "journal: optional\n" TOLD : TOLD);
    stage_ready(&s);
    cr_assert(
        rg_sqlite_run((struct rg_sqlite *)(void *)s.gate->store, "PRAGMA max_page_count = 1"));
    stage_submit_as(&s, RG_KIND_NOTICE, "123", "", text, &rc);
    cr_expect_eq(rc, optional ? RG_OK : RG_ESYSTEM, "%d", rc);
    for (int i = 0; i < 100 && told(s.bot, "has reached its bound") == 0; i++) usleep(20000);
    cr_expect_eq(told(s.bot, "has reached its bound"), 1);
    cr_expect(keeper_logged(s.keeper, "it has reached its bound of 512 MiB"));
    cr_expect(fails(&s));
    /* what fits is written again */
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("small")));
    cr_expect(strstr(keeper_result_of(s.keeper, ticket, LONG_MS), "\"delivered\""));
    cr_expect_not(fails(&s));
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
  t->kept = number(t->stage, "SELECT count(*) FROM turn WHERE (origin & 1) = 1 AND result IS NULL");
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
