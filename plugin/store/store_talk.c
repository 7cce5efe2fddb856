/* store_talk: what the built-in agent keeps in the SQLite store: lines of talks, tokens spent. */
#include <errno.h>
#include <unistd.h>

#include "plugin/store/store_sqlite.h"

static struct rg_sqlite *of(struct rg_store *s)
{
  return (struct rg_sqlite *)(void *)s;
}

/* Whether there is a file to ask: asking does not make it. */
static bool is_there(const struct rg_sqlite *s)
{
  return s->db || access(s->path, F_OK) == 0 || errno != ENOENT;
}

/* ---- talks ---- */

static bool bind_chat(sqlite3_stmt *q, const struct rg_store_chat *chat)
{
  return rg_sqlite_bind(q, 1, chat->endpoint) && sqlite3_bind_int(q, 2, chat->group) == SQLITE_OK &&
         rg_sqlite_bind(q, 3, chat->id);
}

static bool bind_bound(sqlite3_stmt *q, const struct rg_store_bound *bound)
{
  return sqlite3_bind_int64(q, 4, bound->lines) == SQLITE_OK &&
         sqlite3_bind_int64(q, 5, bound->oldest) == SQLITE_OK;
}

static bool bind_line(sqlite3_stmt *q, const struct rg_store_line *line)
{
  return sqlite3_bind_int64(q, 4, line->at) == SQLITE_OK &&
         sqlite3_bind_int(q, 5, line->ours) == SQLITE_OK && rg_sqlite_bind(q, 6, line->sender_id) &&
         rg_sqlite_bind(q, 7, line->name) && rg_sqlite_bind(q, 8, line->message_id) &&
         rg_sqlite_bind(q, 9, line->reply_to) && rg_sqlite_bind(q, 10, line->text);
}

bool rg_sqlite_line_put(struct rg_store *store, const struct rg_store_chat *chat,
                        const struct rg_store_line *line, const struct rg_store_bound *bound,
                        char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_begin(s, why, cap); /* one commit costs half of two */
  if (fine) {
    sqlite3_stmt *put = s->prepared[RG_SQL_LINE_PUT], *trim = s->prepared[RG_SQL_LINE_TRIM];
    fine = rg_sqlite_step(s, put, bind_chat(put, chat) && bind_line(put, line), why, cap) &&
           rg_sqlite_step(s, trim, bind_chat(trim, chat) && bind_bound(trim, bound), why, cap);
    fine = rg_sqlite_commit(s, fine, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static struct rg_store_line line_of(sqlite3_stmt *q)
{
  return (struct rg_store_line) { .at = sqlite3_column_int64(q, 0),
                                  .ours = sqlite3_column_int(q, 1) != 0,
                                  .sender_id = rg_sqlite_text(q, 2),
                                  .name = rg_sqlite_text(q, 3),
                                  .message_id = rg_sqlite_text(q, 4),
                                  .reply_to = rg_sqlite_text(q, 5),
                                  .text = rg_sqlite_text(q, 6) };
}

bool rg_sqlite_line_each(struct rg_store *store, const struct rg_store_chat *chat,
                         const struct rg_store_bound *bound, rg_line_fn *each, void *ctx, char *why,
                         size_t cap)
{
  struct rg_sqlite *s = of(store);
  bool fine = true;
  int rc = SQLITE_ERROR;
  pthread_mutex_lock(&s->mu);
  if (!is_there(s)) goto done;
  fine = rg_sqlite_need(s, why, cap);
  if (!fine) goto done;
  sqlite3_stmt *q = s->prepared[RG_SQL_LINE_EACH];
  if (bind_chat(q, chat) && bind_bound(q, bound))
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
      const struct rg_store_line line = line_of(q);
      each(ctx, &line);
    }
  if (rc != SQLITE_DONE) fine = rg_sqlite_fail(s, why, cap);
  sqlite3_reset(q);
  sqlite3_clear_bindings(q);
done:
  pthread_mutex_unlock(&s->mu);
  return fine;
}

/* Drops lines of a chat: those with a message id, or all where it is empty. */
static bool drop(struct rg_sqlite *s, const struct rg_store_chat *chat, struct span message_id,
                 char *why, size_t cap)
{
  bool fine = true, all = message_id.len == 0;
  pthread_mutex_lock(&s->mu);
  if (is_there(s)) {
    fine = rg_sqlite_need(s, why, cap);
    if (fine) {
      sqlite3_stmt *q = s->prepared[all ? RG_SQL_LINES_DROP : RG_SQL_LINE_FORGET];
      bool bound = bind_chat(q, chat) && (all || rg_sqlite_bind(q, 4, message_id));
      fine = rg_sqlite_step(s, q, bound, why, cap);
    }
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

bool rg_sqlite_line_forget(struct rg_store *store, const struct rg_store_chat *chat,
                           struct span message_id, char *why, size_t cap)
{
  return message_id.len == 0 || drop(of(store), chat, message_id, why, cap);
}

bool rg_sqlite_lines_drop(struct rg_store *store, const struct rg_store_chat *chat, char *why,
                          size_t cap)
{
  return drop(of(store), chat, SPAN(""), why, cap);
}

/* ---- budgets ---- */

bool rg_sqlite_budget_put(struct rg_store *store, struct span name, int64_t day, uint64_t tokens,
                          char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[RG_SQL_BUDGET_PUT];
    bool bound = rg_sqlite_bind(q, 1, name) && sqlite3_bind_int64(q, 2, day) == SQLITE_OK &&
                 sqlite3_bind_int64(q, 3, (int64_t)tokens) == SQLITE_OK;
    fine = rg_sqlite_step(s, q, bound, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

bool rg_sqlite_budget_get(struct rg_store *store, struct span name, int64_t *retday,
                          uint64_t *rettokens, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  bool fine = true;
  *retday = 0;
  *rettokens = 0;
  pthread_mutex_lock(&s->mu);
  if (!is_there(s)) goto done;
  fine = rg_sqlite_need(s, why, cap);
  if (!fine) goto done;
  sqlite3_stmt *q = s->prepared[RG_SQL_BUDGET_GET];
  int rc = rg_sqlite_bind(q, 1, name) ? sqlite3_step(q) : SQLITE_ERROR;
  if (rc == SQLITE_ROW) {
    *retday = sqlite3_column_int64(q, 0);
    *rettokens = (uint64_t)sqlite3_column_int64(q, 1);
  }
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) fine = rg_sqlite_fail(s, why, cap);
  sqlite3_reset(q);
  sqlite3_clear_bindings(q);
done:
  pthread_mutex_unlock(&s->mu);
  return fine;
}
