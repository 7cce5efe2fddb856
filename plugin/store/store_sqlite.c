/* store_sqlite: see store_sqlite.h. */
#include "plugin/store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  APPLICATION = 0x52674174, /* "RgAt", in the file's head: tells our files from others */
  BUSY_MS = 1000,           /* another process holds the file for a few milliseconds at most */
  BOUND_MIB = 512,          /* of the file: twice the text that may wait */
  MIB = 1024 * 1024,
};

/* What makes a file of version n out of one of version n - 1; n counts from 1. */
static const char *const steps[] = {
  "CREATE TABLE override ("
  " endpoint TEXT NOT NULL, group_id INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
  " author TEXT NOT NULL, at INTEGER NOT NULL,"
  " PRIMARY KEY (endpoint, group_id, key)) STRICT, WITHOUT ROWID;",
  "CREATE TABLE line ("
  " n INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, is_group INTEGER NOT NULL, chat TEXT NOT NULL,"
  " at INTEGER NOT NULL, ours INTEGER NOT NULL, sender TEXT NOT NULL, name TEXT NOT NULL,"
  " message TEXT NOT NULL, reply TEXT NOT NULL, text TEXT NOT NULL) STRICT;"
  "CREATE INDEX line_of_chat ON line (endpoint, is_group, chat, n);"
  "CREATE TABLE budget (name TEXT NOT NULL PRIMARY KEY, day INTEGER NOT NULL,"
  " tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
  "CREATE TABLE turn ("
  " ticket INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, endpoint TEXT NOT NULL,"
  " group_id TEXT NOT NULL, user_id TEXT NOT NULL, message_id TEXT NOT NULL,"
  " sender_id TEXT NOT NULL, kind INTEGER NOT NULL, origin INTEGER NOT NULL,"
  " notice TEXT NOT NULL, schema BLOB NOT NULL, kept INTEGER NOT NULL, doubted INTEGER NOT NULL,"
  " text BLOB NOT NULL, result TEXT, ended INTEGER) STRICT;"
  "CREATE TABLE step ("
  " ticket INTEGER NOT NULL, n INTEGER NOT NULL, kind INTEGER NOT NULL, message INTEGER NOT NULL,"
  " chars INTEGER NOT NULL, card INTEGER NOT NULL, action TEXT NOT NULL, params BLOB NOT NULL,"
  " card_text BLOB NOT NULL, state INTEGER NOT NULL, at INTEGER NOT NULL, message_id TEXT NOT NULL,"
  " PRIMARY KEY (ticket, n)) STRICT, WITHOUT ROWID;",
};
enum { VERSION = sizeof steps / sizeof steps[0] };

/* Of the oldest with a result, so that looking costs the same however many there are: those that are
 * too many or too old. */
#define OLD                                                                                        \
  "SELECT ticket FROM (SELECT ticket, ended FROM turn WHERE result IS NOT NULL"                    \
  " ORDER BY ticket LIMIT 256) WHERE ticket <= ?1 OR ended < ?2"

static const char *const statements[RG_SQL_COUNT] = {
  [RG_SQL_OVERRIDES] = "SELECT endpoint, group_id, key, value, author FROM override",
  [RG_SQL_OVERRIDE_PUT] = "INSERT INTO override (endpoint, group_id, key, value, author, at)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
                          " ON CONFLICT DO UPDATE SET value = ?4, author = ?5, at = ?6",
  [RG_SQL_OVERRIDE_DROP] =
      "DELETE FROM override WHERE endpoint = ?1 AND group_id = ?2 AND key = ?3",
  [RG_SQL_OVERRIDE_DROP_GROUP] = "DELETE FROM override WHERE endpoint = ?1 AND group_id = ?2",
  [RG_SQL_LINE_PUT] = "INSERT INTO line (endpoint, is_group, chat, at, ours, sender, name, message,"
                      " reply, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
  [RG_SQL_LINE_TRIM] = "DELETE FROM line WHERE endpoint = ?1 AND is_group = ?2 AND chat = ?3 AND"
                       " (at < ?5 OR n NOT IN (SELECT n FROM line WHERE endpoint = ?1 AND"
                       " is_group = ?2 AND chat = ?3 ORDER BY n DESC LIMIT ?4))",
  [RG_SQL_LINE_EACH] =
      "SELECT at, ours, sender, name, message, reply, text FROM (SELECT * FROM line"
      " WHERE endpoint = ?1 AND is_group = ?2 AND chat = ?3 AND at >= ?5"
      " ORDER BY n DESC LIMIT ?4) ORDER BY n",
  [RG_SQL_LINE_FORGET] = "DELETE FROM line WHERE endpoint = ?1 AND is_group = ?2 AND chat = ?3"
                         " AND message = ?4",
  [RG_SQL_LINES_DROP] = "DELETE FROM line WHERE endpoint = ?1 AND is_group = ?2 AND chat = ?3",
  [RG_SQL_BUDGET_PUT] = "INSERT INTO budget (name, day, tokens) VALUES (?1, ?2, ?3)"
                        " ON CONFLICT DO UPDATE SET day = ?2, tokens = ?3",
  [RG_SQL_BUDGET_GET] = "SELECT day, tokens FROM budget WHERE name = ?1",
  [RG_SQL_BEGIN] = "BEGIN IMMEDIATE",
  [RG_SQL_COMMIT] = "COMMIT",
  [RG_SQL_ROLLBACK] = "ROLLBACK",
  [RG_SQL_TURNS] = "SELECT ticket, at, endpoint, group_id, user_id, message_id, sender_id, kind,"
                   " origin, notice, kept, doubted, text, schema FROM turn WHERE result IS NULL"
                   " ORDER BY ticket",
  [RG_SQL_STEPS] = "SELECT kind, message, chars, card, action, params, card_text, state, at,"
                   " message_id FROM step WHERE ticket = ?1 ORDER BY n",
  [RG_SQL_TURN_PUT] =
      "INSERT INTO turn (ticket, at, endpoint, group_id, user_id, message_id,"
      " sender_id, kind, origin, notice, kept, doubted, text, schema)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13)"
      " ON CONFLICT DO UPDATE SET notice = ?10, kept = ?11, doubted = 0, text = ?12, schema = ?13",
  [RG_SQL_STEP_PUT] = "INSERT INTO step (ticket, n, kind, message, chars, card, action, params,"
                      " card_text, state, at, message_id)"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
                      " ON CONFLICT DO UPDATE SET card = ?6, params = ?8, card_text = ?9,"
                      " state = ?10, at = ?11, message_id = ?12",
  [RG_SQL_STEP_STATE] = "UPDATE step SET state = ?3, at = ?4, message_id = ?5"
                        " WHERE ticket = ?1 AND n = ?2",
  [RG_SQL_STEP_FORM] =
      "UPDATE step SET state = ?3, at = ?4, message_id = ?5, params = ?6, card = 0,"
      " card_text = x'' WHERE ticket = ?1 AND n = ?2",
  [RG_SQL_STEP_END] = "UPDATE step SET state = ?3, at = ?4, message_id = ?5, params = x'',"
                      " card_text = x'' WHERE ticket = ?1 AND n = ?2",
  [RG_SQL_STEPS_CLEAR] = "UPDATE step SET params = x'', card_text = x'' WHERE ticket = ?1",
  [RG_SQL_TURN_STOP] = "UPDATE turn SET text = x'', kept = 0 WHERE ticket = ?1",
  [RG_SQL_TURN_END] = "UPDATE turn SET text = x'', schema = x'', kept = 0, result = ?2, ended = ?3"
                      " WHERE ticket = ?1",
  [RG_SQL_STEPS_DROP] = "DELETE FROM step WHERE ticket IN (" OLD ")",
  [RG_SQL_TURNS_DROP] = "DELETE FROM turn WHERE ticket IN (" OLD ")",
  [RG_SQL_SENT_NEAR] = "SELECT 1 FROM step WHERE ticket BETWEEN ?1 AND ?2 AND message_id = ?3",
};

static struct rg_sqlite *of(struct rg_store *s)
{
  return (struct rg_sqlite *)(void *)s;
}

bool rg_sqlite_say(const struct rg_sqlite *s, const char *what, const char *advice, char *why,
                   size_t cap)
{
  snprintf(why, cap, "store %s: %s: %s", s->path, what, advice);
  return false;
}

/* What is to be done about a failure of SQLite's. */
static const char *advice_for(int code)
{
  static const struct {
    int code;
    const char *advice;
  } known[] = {
    { SQLITE_NOTADB, "it is damaged or another program's; move it away or name another file" },
    { SQLITE_CORRUPT, "it is damaged; move it away, what it says is lost" },
    { SQLITE_ERROR, "it is damaged or was changed by others; move it away, what it says is lost" },
    { SQLITE_BUSY, "another program holds it; end that, or name another file" },
    { SQLITE_FULL, "make room on the disk" },
    { SQLITE_READONLY, "the file and its folder must be there and writable for this user" },
    { SQLITE_CANTOPEN, "the file and its folder must be there and writable for this user" },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].code == (code & 0xff)) return known[i].advice;
  return "is the disk full, or the file or its folder not writable?";
}

/* Whether the file is as large as it may be. After a failure it may be smaller again by what was not
 * written: a turn. */
static bool is_at_bound(struct rg_sqlite *s)
{
  int64_t most = rg_sqlite_number(s, "PRAGMA max_page_count");
  int64_t count = rg_sqlite_number(s, "PRAGMA page_count");
  int64_t size = rg_sqlite_number(s, "PRAGMA page_size");
  return size > 0 && count >= 0 && count >= most - 2 * RG_STORED_TURN_MAX / size;
}

bool rg_sqlite_fail(struct rg_sqlite *s, char *why, size_t cap)
{
  char what[256];
  int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
  snprintf(what, sizeof what, "%s", s->db ? sqlite3_errmsg(s->db) : "out of memory");
  s->full = (code & 0xff) == SQLITE_FULL && is_at_bound(s);
  if (!s->full) return rg_sqlite_say(s, what, advice_for(code), why, cap);
  snprintf(what, sizeof what, "it has reached its bound of %d MiB and is full", BOUND_MIB);
  return rg_sqlite_say(s, what, "stop Replygate and move it away, or name another file", why, cap);
}

static bool is_full(struct rg_store *store)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool full = s->full;
  pthread_mutex_unlock(&s->mu);
  return full;
}

static void shut(struct rg_sqlite *s)
{
  for (size_t i = 0; i < RG_SQL_COUNT; i++) {
    sqlite3_finalize(s->prepared[i]);
    s->prepared[i] = NULL;
  }
  sqlite3_close(s->db);
  s->db = NULL;
}

/* One number that a query gives, or -1. */
int64_t rg_sqlite_number(struct rg_sqlite *s, const char *query)
{
  sqlite3_stmt *q = NULL;
  int64_t n = -1;
  if (sqlite3_prepare_v2(s->db, query, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
    n = sqlite3_column_int64(q, 0);
  sqlite3_finalize(q);
  return n;
}

bool rg_sqlite_run(struct rg_sqlite *s, const char *sql)
{
  return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* SQLite does not wait where two that wait would stop each other, as when two processes turn a new file
 * to WAL at once: one of them is told at once that it is busy. Repeating is sound here: neither holds
 * anything. */
static bool run_patiently(struct rg_sqlite *s, const char *sql)
{
  enum { PAUSE_MS = 2 };
  for (int waited = 0; waited < BUSY_MS; waited += PAUSE_MS) {
    if (rg_sqlite_run(s, sql)) return true;
    if ((sqlite3_errcode(s->db) & 0xff) != SQLITE_BUSY) return false;
    sqlite3_sleep(PAUSE_MS);
  }
  return false;
}

/* Brings the file to VERSION, in one transaction: another process may do the same. */
static bool upgrade(struct rg_sqlite *s, char *why, size_t cap)
{
  if (!run_patiently(s, "BEGIN IMMEDIATE")) return rg_sqlite_fail(s, why, cap);
  int64_t version = rg_sqlite_number(s, "PRAGMA user_version");
  int64_t application = rg_sqlite_number(s, "PRAGMA application_id");
  bool empty = rg_sqlite_number(s, "SELECT count(*) FROM sqlite_schema") == 0;
  bool fine = true;
  if (application != APPLICATION && !(empty && application == 0 && version == 0))
    fine = rg_sqlite_say(s, "this is a database of another program", "name another file", why, cap);
  else if (version < 0 || version > VERSION)
    fine = rg_sqlite_say(s, "written by a newer version of Replygate",
                         "use that version, or another file", why, cap);
  for (int64_t v = version; fine && v < VERSION; v++)
    if (!rg_sqlite_run(s, steps[v])) fine = rg_sqlite_fail(s, why, cap);
  char mark[96];
  snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION,
           VERSION);
  if (fine && version < VERSION && !rg_sqlite_run(s, mark)) fine = rg_sqlite_fail(s, why, cap);
  if (fine && !rg_sqlite_run(s, "COMMIT")) fine = rg_sqlite_fail(s, why, cap);
  if (!fine) rg_sqlite_run(s, "ROLLBACK");
  return fine;
}

/* Whatever the size of its pages, which may be another program's choice. */
static bool bound_set(struct rg_sqlite *s)
{
  char bound[64];
  int64_t size = rg_sqlite_number(s, "PRAGMA page_size");
  if (size <= 0) return false;
  snprintf(bound, sizeof bound, "PRAGMA max_page_count = %" PRId64,
           BOUND_MIB * (int64_t)MIB / size);
  return rg_sqlite_run(s, bound);
}

static bool set_up(struct rg_sqlite *s, char *why, size_t cap)
{
  sqlite3_busy_timeout(s->db, BUSY_MS);
  /* we have none: those of a file were put there by others, and would change what is written */
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_extended_result_codes(s->db, 1);
  static const char *const settings[] = {
    /* a small cache: there is little to hold, and memory is dear on a small machine */
    "PRAGMA cache_size = -256; PRAGMA trusted_schema = OFF",
    /* Survives a killed process. FULL would survive a machine that goes down as well, for a wait for
     * the disk with each message (milliseconds instead of 10 us); instead the journal is not believed
     * then (store_journal.c). */
    "PRAGMA synchronous = NORMAL",
    /* where it cannot be had (a network folder) the file works all the same, more slowly */
    "PRAGMA journal_mode = WAL",
    "PRAGMA journal_size_limit = 4194304", /* the log's file shrinks again after a large picture */
    "PRAGMA secure_delete = ON",           /* what people were told does not stay in free pages */
  };
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    if (!run_patiently(s, settings[i])) return rg_sqlite_fail(s, why, cap);
  if (!bound_set(s)) return rg_sqlite_fail(s, why, cap);
  if (!upgrade(s, why, cap)) return false;
  for (size_t i = 0; i < RG_SQL_COUNT; i++)
    if (sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[i],
                           NULL) != SQLITE_OK)
      return rg_sqlite_fail(s, why, cap);
  return true;
}

/* Opens the file where it is not open yet. */
bool rg_sqlite_need(struct rg_sqlite *s, char *why, size_t cap)
{
  if (s->db) return true;
  /* Made here, so that no one else on the machine may read it. A file that is there is not opened:
   * closing it again would let go of the locks that another store of this process has on it. */
  int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EEXIST)
    return rg_sqlite_say(s, strerror(errno), "the folder must exist and be writable for this user",
                         why, cap);
  struct stat found;
  bool there = fd < 0 && stat(s->path, &found) == 0;
  if (there && !S_ISREG(found.st_mode))
    return rg_sqlite_say(s, S_ISDIR(found.st_mode) ? strerror(EISDIR) : "This is no regular file",
                         "name a file", why, cap);
  if (fd < 0 && !there)
    fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* a link's target */
  if (fd >= 0) close(fd);
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  bool fine = sqlite3_open_v2(s->path, &s->db, flags, NULL) == SQLITE_OK;
  if (fine)
    fine = set_up(s, why, cap);
  else
    rg_sqlite_fail(s, why, cap);
  if (!fine) shut(s);
  return fine;
}

bool rg_sqlite_bind(sqlite3_stmt *q, int at, struct span text)
{
  return sqlite3_bind_text(q, at, text.ptr ? text.ptr : "", (int)text.len, SQLITE_STATIC) ==
         SQLITE_OK;
}

/* Runs a statement to its end and makes it ready for the next use. */
bool rg_sqlite_step(struct rg_sqlite *s, sqlite3_stmt *q, bool bound, char *why, size_t cap)
{
  bool fine = bound && sqlite3_step(q) == SQLITE_DONE;
  if (!fine) rg_sqlite_fail(s, why, cap);
  sqlite3_reset(q);
  sqlite3_clear_bindings(q);
  return fine;
}

bool rg_sqlite_begin(struct rg_sqlite *s, char *why, size_t cap)
{
  return rg_sqlite_need(s, why, cap) &&
         rg_sqlite_step(s, s->prepared[RG_SQL_BEGIN], true, why, cap);
}

bool rg_sqlite_commit(struct rg_sqlite *s, bool fine, char *why, size_t cap)
{
  if (fine && rg_sqlite_step(s, s->prepared[RG_SQL_COMMIT], true, why, cap)) return true;
  char ignored[256];
  if (!sqlite3_get_autocommit(s->db))
    rg_sqlite_step(s, s->prepared[RG_SQL_ROLLBACK], true, ignored, sizeof ignored);
  return false;
}

struct span rg_sqlite_text(sqlite3_stmt *q, int i)
{
  const char *text = (const char *)sqlite3_column_text(q, i);
  return (struct span) { text ? text : "", text ? (size_t)sqlite3_column_bytes(q, i) : 0 };
}

static bool override_each(struct rg_store *store, rg_override_fn *each, void *ctx, char *why,
                          size_t cap)
{
  struct rg_sqlite *s = of(store);
  bool fine = true;
  pthread_mutex_lock(&s->mu);
  if (!s->db && access(s->path, F_OK) != 0 && errno == ENOENT) goto done;
  fine = rg_sqlite_need(s, why, cap);
  if (!fine) goto done;
  sqlite3_stmt *q = s->prepared[RG_SQL_OVERRIDES];
  int rc;
  while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
    struct rg_override o = { .endpoint = rg_sqlite_text(q, 0),
                             .group = (uint64_t)sqlite3_column_int64(q, 1),
                             .key = rg_sqlite_text(q, 2),
                             .value = rg_sqlite_text(q, 3),
                             .author = rg_sqlite_text(q, 4) };
    each(ctx, &o);
  }
  if (rc != SQLITE_DONE) fine = rg_sqlite_fail(s, why, cap);
  sqlite3_reset(q);
done:
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static bool override_put(struct rg_store *store, const struct rg_override *o, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[RG_SQL_OVERRIDE_PUT];
    bool bound = rg_sqlite_bind(q, 1, o->endpoint) &&
                 sqlite3_bind_int64(q, 2, (int64_t)o->group) == SQLITE_OK &&
                 rg_sqlite_bind(q, 3, o->key) && rg_sqlite_bind(q, 4, o->value) &&
                 rg_sqlite_bind(q, 5, o->author) &&
                 sqlite3_bind_int64(q, 6, (int64_t)time(NULL)) == SQLITE_OK;
    fine = rg_sqlite_step(s, q, bound, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static bool override_drop(struct rg_store *store, struct span endpoint, uint64_t group,
                          struct span key, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[key.len > 0 ? RG_SQL_OVERRIDE_DROP : RG_SQL_OVERRIDE_DROP_GROUP];
    bool bound = rg_sqlite_bind(q, 1, endpoint) &&
                 sqlite3_bind_int64(q, 2, (int64_t)group) == SQLITE_OK &&
                 (key.len == 0 || rg_sqlite_bind(q, 3, key));
    fine = rg_sqlite_step(s, q, bound, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static void close_store(struct rg_store *store)
{
  struct rg_sqlite *s = of(store);
  shut(s);
  if (s->claim >= 0) close(s->claim);
  pthread_mutex_destroy(&s->mu);
  free(s->path);
  free(s);
}

static const struct rg_store_methods methods = {
  .override_each = override_each,
  .override_put = override_put,
  .override_drop = override_drop,
  .is_full = is_full,
  .journal_claim = rg_sqlite_claim,
  .sibling = rg_sqlite_sibling,
  .turn_each = rg_sqlite_turn_each,
  .turn_put = rg_sqlite_turn_put,
  .step_put = rg_sqlite_step_put,
  .turn_stop = rg_sqlite_turn_stop,
  .turn_end = rg_sqlite_turn_end,
  .sent_near = rg_sqlite_sent_near,
  .journal_trust = rg_sqlite_trust,
  .close = close_store,
  .line_put = rg_sqlite_line_put,
  .line_each = rg_sqlite_line_each,
  .line_forget = rg_sqlite_line_forget,
  .lines_drop = rg_sqlite_lines_drop,
  .budget_put = rg_sqlite_budget_put,
  .budget_get = rg_sqlite_budget_get,
};

struct rg_store *rg_store_sqlite_new(struct span path, char *why, size_t cap)
{
  struct rg_sqlite *s = calloc(1, sizeof *s);
  char *copy = strndup(path.ptr ? path.ptr : "", path.len);
  if (s && copy && pthread_mutex_init(&s->mu, NULL) == 0) {
    s->head.methods = &methods;
    s->path = copy;
    s->claim = -1;
    return &s->head;
  }
  free(copy);
  free(s);
  snprintf(why, cap, "store: out of memory");
  return NULL;
}
