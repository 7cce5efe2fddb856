/* store_sqlite: the store in one SQLite file, the default: the file, its version, its statements and
 * the settings made in the chat. What the journal keeps in it is store_journal.c's, what the built-in
 * agent keeps store_talk.c's. */
#ifndef PLUGIN_STORE_STORE_SQLITE_H
#define PLUGIN_STORE_STORE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "plugin/store/store.h"

enum rg_sql {
  RG_SQL_OVERRIDES,
  RG_SQL_OVERRIDE_PUT,
  RG_SQL_OVERRIDE_DROP,
  RG_SQL_OVERRIDE_DROP_GROUP,
  RG_SQL_LINE_PUT,
  RG_SQL_LINE_TRIM,
  RG_SQL_LINE_EACH,
  RG_SQL_LINE_FORGET,
  RG_SQL_LINES_DROP,
  RG_SQL_BUDGET_PUT,
  RG_SQL_BUDGET_GET,
  RG_SQL_BEGIN,
  RG_SQL_COMMIT,
  RG_SQL_ROLLBACK,
  RG_SQL_TURNS,
  RG_SQL_STEPS,
  RG_SQL_TURN_PUT,
  RG_SQL_STEP_PUT,
  RG_SQL_STEP_STATE,
  RG_SQL_STEP_FORM,
  RG_SQL_STEP_END,
  RG_SQL_STEPS_CLEAR,
  RG_SQL_TURN_STOP,
  RG_SQL_TURN_END,
  RG_SQL_STEPS_DROP,
  RG_SQL_TURNS_DROP,
  RG_SQL_SENT_NEAR,
  RG_SQL_COUNT
};

struct rg_sqlite {
  struct rg_store head;
  pthread_mutex_t mu; /* guards all below */
  char *path;
  sqlite3 *db; /* NULL until it is needed */
  sqlite3_stmt *prepared[RG_SQL_COUNT];
  int claim;      /* the journal's lock file, open and locked; -1: not claimed */
  unsigned ended; /* turns since old ones were dropped */
  bool full;      /* it failed last because of its bound */
};

/* For the methods; under mu. Those with why return false with what is wrong, where and what to do in
 * why. */

bool rg_sqlite_need(struct rg_sqlite *s, char *why,
                    size_t cap); /* opens where it is not open yet */
bool rg_sqlite_say(const struct rg_sqlite *s, const char *what, const char *advice, char *why,
                   size_t cap);                                  /* false always */
bool rg_sqlite_fail(struct rg_sqlite *s, char *why, size_t cap); /* the same, by SQLite */
bool rg_sqlite_run(struct rg_sqlite *s, const char *sql);
int64_t rg_sqlite_number(struct rg_sqlite *s, const char *query); /* that a query gives, or -1 */
bool rg_sqlite_bind(sqlite3_stmt *q, int at, struct span text);
/* Runs a statement to its end and makes it ready for the next use. */
bool rg_sqlite_step(struct rg_sqlite *s, sqlite3_stmt *q, bool bound, char *why, size_t cap);
/* Begins a transaction, opening the file where it is not open yet. */
bool rg_sqlite_begin(struct rg_sqlite *s, char *why, size_t cap);
/* Ends it; fine: whether all of it went well so far, else nothing of it is kept. */
bool rg_sqlite_commit(struct rg_sqlite *s, bool fine, char *why, size_t cap);
struct span rg_sqlite_text(sqlite3_stmt *q, int column); /* lent until the next step */

/* Methods of other files (store.h). */

bool rg_sqlite_line_put(struct rg_store *s, const struct rg_store_chat *chat,
                        const struct rg_store_line *line, const struct rg_store_bound *bound,
                        char *why, size_t cap);
bool rg_sqlite_line_each(struct rg_store *s, const struct rg_store_chat *chat,
                         const struct rg_store_bound *bound, rg_line_fn *each, void *ctx, char *why,
                         size_t cap);
bool rg_sqlite_line_forget(struct rg_store *s, const struct rg_store_chat *chat,
                           struct span message_id, char *why, size_t cap);
bool rg_sqlite_lines_drop(struct rg_store *s, const struct rg_store_chat *chat, char *why,
                          size_t cap);
bool rg_sqlite_budget_put(struct rg_store *s, struct span name, int64_t day, uint64_t tokens,
                          char *why, size_t cap);
bool rg_sqlite_budget_get(struct rg_store *s, struct span name, int64_t *retday,
                          uint64_t *rettokens, char *why, size_t cap);

enum rg_claim rg_sqlite_claim(struct rg_store *s, uint64_t *last_ticket, char *why, size_t cap);
struct rg_store *rg_sqlite_sibling(struct rg_store *s, unsigned n, char *why, size_t cap);
bool rg_sqlite_turn_each(struct rg_store *s, rg_stored_turn_fn *each, void *ctx, char *why,
                         size_t cap);
bool rg_sqlite_turn_put(struct rg_store *s, const struct rg_stored_turn *t, char *why, size_t cap);
bool rg_sqlite_step_put(struct rg_store *s, uint64_t ticket, size_t n,
                        const struct rg_stored_step *step, char *why, size_t cap);
bool rg_sqlite_turn_stop(struct rg_store *s, uint64_t ticket, char *why, size_t cap);
bool rg_sqlite_turn_end(struct rg_store *s, const struct rg_stored_turn *t, const char *result,
                        char *why, size_t cap);
bool rg_sqlite_sent_near(struct rg_store *s, uint64_t ticket, struct span message_id);
void rg_sqlite_trust(struct rg_store *s, bool trusted);

#endif
