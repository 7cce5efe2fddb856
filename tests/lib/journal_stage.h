/* journal_stage: a stage (bot.h) whose gate opens later, with a short temper, over a store that a test
 * fills and looks into. */
#ifndef TESTS_LIB_JOURNAL_STAGE_H
#define TESTS_LIB_JOURNAL_STAGE_H

#include <sqlite3.h>

#include "plugin/delivery/journal.h"
#include "tests/lib/bot.h"

#define FAST "groups:\n  default: {pace: {min: 0, max: 0}}\n"
#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(m) "{\"messages\":[" m "]}"
enum { LONG_MS = 15000, SHORT_MS = 300 };

static __attribute__((unused)) const struct rg_timing fast = {
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

static __attribute__((unused)) unsigned send_ms =
    300; /* a test may wait longer: each is a process of its own */

PEER_FN int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

PEER_FN void stage_prepare(struct stage *s)
{
  *s = (struct stage) { .bot = bot_start("NapCat.Onebot"), .keeper = keeper_new() };
  strcpy(s->folder, "/tmp/rg-test-XXXXXX");
  cr_assert(mkdtemp(s->folder));
  snprintf(s->config, sizeof s->config, "%s/c.yaml", s->folder);
}

PEER_FN int32_t gate_try(struct stage *s, const char *rest, char *why, size_t cap)
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

PEER_FN void gate_start(struct stage *s, const char *rest)
{
  char why[2048];
  cr_assert_eq(gate_try(s, rest, why, sizeof why), RG_OK, "%s", why);
}

PEER_FN const char *db_path(const struct stage *s)
{
  static char path[128];
  snprintf(path, sizeof path, "%s/replygate.db", s->folder);
  return path;
}

PEER_FN struct rg_store *store_at(const struct stage *s)
{
  char address[160], why[512] = "";
  snprintf(address, sizeof address, "sqlite:%s", db_path(s));
  struct rg_store *store = rg_store_new(span_of(address), why, sizeof why);
  cr_assert(store, "%s", why);
  return store;
}

PEER_FN void sql(const struct stage *s, const char *text)
{
  sqlite3 *db;
  cr_assert_eq(sqlite3_open(db_path(s), &db), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

PEER_FN int64_t number(const struct stage *s, const char *text)
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

/* The members of an answer: somebody's "one", and a text of ours an hour ago and now. */
PEER_FN char *history_of(const char *text)
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

#endif
