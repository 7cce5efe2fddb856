/* store_sqlite: the store in one SQLite file, the default. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plugin/store.h"

enum {
  APPLICATION = 0x52674174, /* "RgAt", in the file's head: tells our files from others */
  BUSY_MS = 1000,           /* another process holds the file for a few milliseconds at most */
};

/* What makes a file of version n out of one of version n - 1; n counts from 1. */
static const char *const steps[] = {
  "CREATE TABLE override ("
  " endpoint TEXT NOT NULL, group_id INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
  " author TEXT NOT NULL, at INTEGER NOT NULL,"
  " PRIMARY KEY (endpoint, group_id, key)) STRICT, WITHOUT ROWID;",
};
enum { VERSION = sizeof steps / sizeof steps[0] };

enum statement { SELECT_ALL, PUT, DROP_KEY, DROP_GROUP, STATEMENT_COUNT };
static const char *const statements[STATEMENT_COUNT] = {
  [SELECT_ALL] = "SELECT endpoint, group_id, key, value, author FROM override",
  [PUT] = "INSERT INTO override (endpoint, group_id, key, value, author, at)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
          " ON CONFLICT DO UPDATE SET value = ?4, author = ?5, at = ?6",
  [DROP_KEY] = "DELETE FROM override WHERE endpoint = ?1 AND group_id = ?2 AND key = ?3",
  [DROP_GROUP] = "DELETE FROM override WHERE endpoint = ?1 AND group_id = ?2",
};

struct store {
  struct rg_store head;
  pthread_mutex_t mu; /* guards all below */
  char *path;
  sqlite3 *db; /* NULL until it is needed */
  sqlite3_stmt *prepared[STATEMENT_COUNT];
};

static struct store *of(struct rg_store *s)
{
  return (struct store *)(void *)s;
}

static bool fail(const struct store *s, const char *what, const char *advice, char *why, size_t cap)
{
  snprintf(why, cap, "store %s: %s: %s", s->path, what, advice);
  return false;
}

static bool fail_sqlite(const struct store *s, char *why, size_t cap)
{
  return fail(s, s->db ? sqlite3_errmsg(s->db) : "out of memory",
              "is the disk full, or the file or its folder not writable?", why, cap);
}

static void shut(struct store *s)
{
  for (size_t i = 0; i < STATEMENT_COUNT; i++) {
    sqlite3_finalize(s->prepared[i]);
    s->prepared[i] = NULL;
  }
  sqlite3_close(s->db);
  s->db = NULL;
}

/* One number that a query gives, or -1. */
static int64_t number(struct store *s, const char *query)
{
  sqlite3_stmt *q = NULL;
  int64_t n = -1;
  if (sqlite3_prepare_v2(s->db, query, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
    n = sqlite3_column_int64(q, 0);
  sqlite3_finalize(q);
  return n;
}

static bool run(struct store *s, const char *sql)
{
  return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Brings the file to VERSION, in one transaction: another process may do the same. */
static bool upgrade(struct store *s, char *why, size_t cap)
{
  if (!run(s, "BEGIN IMMEDIATE")) return fail_sqlite(s, why, cap);
  int64_t version = number(s, "PRAGMA user_version");
  int64_t application = number(s, "PRAGMA application_id");
  bool empty = number(s, "SELECT count(*) FROM sqlite_schema") == 0;
  bool fine = true;
  if (application != APPLICATION && !(empty && application == 0 && version == 0))
    fine = fail(s, "this is a database of another program", "name another file", why, cap);
  else if (version < 0 || version > VERSION)
    fine = fail(s, "written by a newer version of Replygate", "use that version, or another file",
                why, cap);
  for (int64_t v = version; fine && v < VERSION; v++)
    if (!run(s, steps[v])) fine = fail_sqlite(s, why, cap);
  char mark[96];
  snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION,
           VERSION);
  if (fine && version < VERSION && !run(s, mark)) fine = fail_sqlite(s, why, cap);
  if (fine && !run(s, "COMMIT")) fine = fail_sqlite(s, why, cap);
  if (!fine) run(s, "ROLLBACK");
  return fine;
}

static bool set_up(struct store *s, char *why, size_t cap)
{
  sqlite3_busy_timeout(s->db, BUSY_MS);
  sqlite3_extended_result_codes(s->db, 1);
  /* a small cache: there is little to hold, and memory is dear on a small machine */
  if (!run(s, "PRAGMA cache_size = -256; PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL"))
    return fail_sqlite(s, why, cap);
  /* where it cannot be had (a network folder) the file works all the same, more slowly */
  if (!run(s, "PRAGMA journal_mode = WAL")) return fail_sqlite(s, why, cap);
  if (!upgrade(s, why, cap)) return false;
  for (size_t i = 0; i < STATEMENT_COUNT; i++)
    if (sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[i],
                           NULL) != SQLITE_OK)
      return fail_sqlite(s, why, cap);
  return true;
}

/* Opens the file where it is not open yet. */
static bool need(struct store *s, char *why, size_t cap)
{
  if (s->db) return true;
  /* made here, so that no one else on the machine may read it */
  int fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(s, strerror(errno), "the folder must exist and be writable for this user", why,
                cap);
  close(fd);
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  bool fine = sqlite3_open_v2(s->path, &s->db, flags, NULL) == SQLITE_OK;
  if (fine)
    fine = set_up(s, why, cap);
  else
    fail_sqlite(s, why, cap);
  if (!fine) shut(s);
  return fine;
}

static bool bind_text(sqlite3_stmt *q, int at, struct span text)
{
  return sqlite3_bind_text(q, at, text.ptr ? text.ptr : "", (int)text.len, SQLITE_STATIC) ==
         SQLITE_OK;
}

/* Runs a statement to its end and makes it ready for the next use. */
static bool finish(struct store *s, sqlite3_stmt *q, bool bound, char *why, size_t cap)
{
  bool fine = bound && sqlite3_step(q) == SQLITE_DONE;
  if (!fine) fail_sqlite(s, why, cap);
  sqlite3_reset(q);
  sqlite3_clear_bindings(q);
  return fine;
}

static struct span column(sqlite3_stmt *q, int i)
{
  const char *text = (const char *)sqlite3_column_text(q, i);
  return (struct span) { text ? text : "", text ? (size_t)sqlite3_column_bytes(q, i) : 0 };
}

static bool override_each(struct rg_store *store, rg_override_fn *each, void *ctx, char *why,
                          size_t cap)
{
  struct store *s = of(store);
  bool fine = true;
  pthread_mutex_lock(&s->mu);
  if (!s->db && access(s->path, F_OK) != 0 && errno == ENOENT) goto done;
  fine = need(s, why, cap);
  if (!fine) goto done;
  sqlite3_stmt *q = s->prepared[SELECT_ALL];
  int rc;
  while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
    struct rg_override o = { .endpoint = column(q, 0),
                             .group = (uint64_t)sqlite3_column_int64(q, 1),
                             .key = column(q, 2),
                             .value = column(q, 3),
                             .author = column(q, 4) };
    each(ctx, &o);
  }
  if (rc != SQLITE_DONE) fine = fail_sqlite(s, why, cap);
  sqlite3_reset(q);
done:
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static bool override_put(struct rg_store *store, const struct rg_override *o, char *why, size_t cap)
{
  struct store *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[PUT];
    bool bound =
        bind_text(q, 1, o->endpoint) && sqlite3_bind_int64(q, 2, (int64_t)o->group) == SQLITE_OK &&
        bind_text(q, 3, o->key) && bind_text(q, 4, o->value) && bind_text(q, 5, o->author) &&
        sqlite3_bind_int64(q, 6, (int64_t)time(NULL)) == SQLITE_OK;
    fine = finish(s, q, bound, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static bool override_drop(struct rg_store *store, struct span endpoint, uint64_t group,
                          struct span key, char *why, size_t cap)
{
  struct store *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[key.len > 0 ? DROP_KEY : DROP_GROUP];
    bool bound = bind_text(q, 1, endpoint) &&
                 sqlite3_bind_int64(q, 2, (int64_t)group) == SQLITE_OK &&
                 (key.len == 0 || bind_text(q, 3, key));
    fine = finish(s, q, bound, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static void close_store(struct rg_store *store)
{
  struct store *s = of(store);
  shut(s);
  pthread_mutex_destroy(&s->mu);
  free(s->path);
  free(s);
}

static const struct rg_store_methods methods = { override_each, override_put, override_drop,
                                                 close_store };

struct rg_store *rg_store_sqlite_new(struct span path, char *why, size_t cap)
{
  struct store *s = calloc(1, sizeof *s);
  char *copy = strndup(path.ptr ? path.ptr : "", path.len);
  if (s && copy && pthread_mutex_init(&s->mu, NULL) == 0) {
    s->head.methods = &methods;
    s->path = copy;
    return &s->head;
  }
  free(copy);
  free(s);
  snprintf(why, cap, "store: out of memory");
  return NULL;
}
