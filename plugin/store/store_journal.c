/* store_journal: what the journal keeps in the SQLite store: turns on their way and the steps of
 * their plans. Each change is one transaction, which is in the file's log (WAL) when the call
 * returns: a process that is killed loses none. With synchronous=NORMAL a machine that goes down may
 * lose the last ones, which would make sent steps look unsent; so the lock file says in which run of
 * the machine, and whether completely, the journal was written. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/store/store_sqlite.h"

enum {
  BOOT_ID_MAX = 64, /* the kernel's has 36 bytes */
  CLAIM_MS = 1000,  /* until a journal that is taken is given up */
  CLAIM_LOOK_MS = 20,
  DROP_EVERY = 64, /* ended turns between two looks at those that are to be dropped */
  NEAR = 64,       /* tickets before and behind one whose sends can be taken for each other's */
  /* the steps of one turn, and a table of them that doubles */
  STEPS_ARENA_MAX = 2 * RG_STORED_TURN_MAX + 64 * 1024 * 1024,
  NAME_MAX_BYTES = 4096, /* endpoints, actions and numbers have a line */
  STEPS_MAX = 65536,     /* of one turn; a reply's plan has fewer than its bytes */
};

/* Bits of the column, and what stands behind them. */
enum { ORIGIN_FOREIGN = 1, ORIGIN_WORDS = 2, ORIGIN_ASKED = 4, ASKED_LIMIT = 1 << 16 };

static struct rg_sqlite *of(struct rg_store *s)
{
  return (struct rg_sqlite *)(void *)s;
}

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the claim ---- */

/* What names this run of the machine: changes with each start of the kernel. "" where unknown. */
static size_t boot_id(char *to)
{
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, to, BOOT_ID_MAX) : -1;
  if (fd >= 0) close(fd);
  return n > 0 ? (size_t)n : 0;
}

/* Whether everything that was sent is surely in the journal. */
static bool is_trusted(const struct rg_sqlite *s)
{
  char now[BOOT_ID_MAX], then[BOOT_ID_MAX];
  size_t len = boot_id(now);
  ssize_t n = pread(s->claim, then, sizeof then, 0);
  return len > 0 && n == (ssize_t)len && memcmp(now, then, len) == 0;
}

static void trust(const struct rg_sqlite *s, bool trusted)
{
  char id[BOOT_ID_MAX];
  size_t len = trusted ? boot_id(id) : 0;
  if (ftruncate(s->claim, 0) == 0 && len > 0 && pwrite(s->claim, id, len, 0) != (ssize_t)len)
    (void)!ftruncate(s->claim, 0); /* half of it trusts nothing, as it should */
}

void rg_sqlite_trust(struct rg_store *store, bool trusted)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  if (s->claim >= 0) trust(s, trusted);
  pthread_mutex_unlock(&s->mu);
}

/* Whether this process has the file of fd open a second time: then another instance here holds its
 * lock. */
static bool is_held_here(int fd)
{
  struct stat own, other;
  DIR *dir = opendir("/proc/self/fd");
  if (!dir) return false;
  bool held = false;
  bool known = fstat(fd, &own) == 0;
  for (struct dirent *e = readdir(dir); known && e && !held; e = readdir(dir)) {
    int n = atoi(e->d_name); /* of "." it is 0, which is no lock file */
    held = n != fd && n != dirfd(dir) && fstat(n, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
  }
  closedir(dir);
  return held;
}

/* Locks it; the process before this one may still be ending. */
static enum rg_claim lock(int fd)
{
  for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ms += CLAIM_LOOK_MS) {
    if (errno != EWOULDBLOCK) return RG_CLAIM_FAILED;
    if (is_held_here(fd)) return RG_CLAIM_OURS;
    errno = EWOULDBLOCK;
    if (ms >= CLAIM_MS) return RG_CLAIM_FAILED;
    usleep(CLAIM_LOOK_MS * 1000);
  }
  return RG_CLAIM_HAD;
}

/* Takes the lock that stands beside the file. Not the file's own locks: those are SQLite's, and
 * closing another descriptor of the file would let go of them. */
static enum rg_claim claim(struct rg_sqlite *s, char *why, size_t cap)
{
  char path[4096 + sizeof "-lock"];
  /* beside the file itself, whatever links lead to it */
  int n = snprintf(path, sizeof path, "%s-lock", sqlite3_db_filename(s->db, "main"));
  if (n < 0 || (size_t)n >= sizeof path) {
    rg_sqlite_say(s, "its path is too long", "name a shorter one", why, cap);
    return RG_CLAIM_FAILED;
  }
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    rg_sqlite_say(s, strerror(errno), "the folder must exist and be writable for this user", why,
                  cap);
    return RG_CLAIM_FAILED;
  }
  enum rg_claim claimed = lock(fd);
  if (claimed == RG_CLAIM_HAD) {
    s->claim = fd;
    return claimed;
  }
  bool taken = claimed == RG_CLAIM_OURS || errno == EWOULDBLOCK;
  const char *what = taken ? "another Replygate keeps its journal here" : strerror(errno);
  rg_sqlite_say(s, what,
                taken ? "end it, or give this one a store of its own" : "name another file", why,
                cap);
  close(fd);
  return claimed;
}

struct rg_store *rg_sqlite_sibling(struct rg_store *store, unsigned n, char *why, size_t cap)
{
  char path[4096];
  int len = snprintf(path, sizeof path, "%s-%u", of(store)->path, n);
  if (len > 0 && (size_t)len < sizeof path)
    return rg_store_sqlite_new((struct span) { path, (size_t)len }, why, cap);
  rg_sqlite_say(of(store), "its path is too long", "name a shorter one", why, cap);
  return NULL;
}

static bool doubt_all(struct rg_sqlite *s)
{
  static const char sql[] = "BEGIN IMMEDIATE; UPDATE turn SET doubted = 1 WHERE result IS NULL;"
                            "UPDATE step SET state = 1 WHERE state = 0 AND"
                            " ticket IN (SELECT ticket FROM turn WHERE result IS NULL); COMMIT";
  if (rg_sqlite_run(s, sql)) return true;
  rg_sqlite_run(s, "ROLLBACK");
  return false;
}

/* Whether the file is sound: what a damaged one says of turns could send them again. A few
 * milliseconds, since the journal is bounded. */
static bool is_sound(struct rg_sqlite *s)
{
  sqlite3_stmt *q = NULL;
  bool sound = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &q, NULL) == SQLITE_OK &&
               sqlite3_step(q) == SQLITE_ROW && span_is(rg_sqlite_text(q, 0), "ok");
  sqlite3_finalize(q);
  return sound;
}

/* The highest ticket ever given, or -1. The table knows it too, in case somebody changed the other. */
static int64_t last_ticket_of(struct rg_sqlite *s)
{
  return rg_sqlite_number(
      s, "SELECT max(coalesce((SELECT max(ticket) FROM turn), 0), coalesce("
         "(SELECT max(CAST(seq AS INTEGER)) FROM sqlite_sequence WHERE name = 'turn'), 0))");
}

enum rg_claim rg_sqlite_claim(struct rg_store *store, uint64_t *last_ticket, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  bool before = fine && s->claim < 0; /* a second claim of the same store is none */
  enum rg_claim claimed = before ? claim(s, why, cap) : fine ? RG_CLAIM_HAD : RG_CLAIM_FAILED;
  fine = claimed == RG_CLAIM_HAD;
  if (fine && !is_sound(s))
    fine = rg_sqlite_say(s, "the file is damaged", "move it away; what it says is lost", why, cap);
  if (fine && before && !is_trusted(s) && !doubt_all(s)) fine = rg_sqlite_fail(s, why, cap);
  int64_t last = fine ? last_ticket_of(s) : 0;
  if (last < 0 || last > INT64_MAX / 2) /* more than a turn a nanosecond makes in a century */
    fine = rg_sqlite_say(s, "the file is damaged", "move it away; what it says is lost", why, cap);
  if (fine) {
    *last_ticket = (uint64_t)last;
    trust(s, true);
  } else if (s->claim >= 0) {
    close(s->claim);
    s->claim = -1;
    claimed = RG_CLAIM_FAILED;
  }
  pthread_mutex_unlock(&s->mu);
  return claimed;
}

/* ---- reading ---- */

static struct span blob(sqlite3_stmt *q, int i)
{
  const char *bytes = sqlite3_column_blob(q, i);
  return (struct span) { bytes ? bytes : "", bytes ? (size_t)sqlite3_column_bytes(q, i) : 0 };
}

/* What we never wrote is not read: a text that was not to be kept, a name that is no name. */
static struct span text_kept(sqlite3_stmt *q, int i)
{
  struct span text = blob(q, i);
  return text.len <= RG_STORED_TURN_MAX ? text : SPAN("");
}

static struct span name(sqlite3_stmt *q, int i)
{
  struct span text = rg_sqlite_text(q, i);
  bool sound = text.len <= NAME_MAX_BYTES && span_utf8_fault(text) == text.len;
  return sound ? text : SPAN("");
}

static enum rg_stored_state state_of(int64_t n)
{
  return n >= 0 && n < RG_STORED_STATE_COUNT ? (enum rg_stored_state)n : RG_STORED_UNKNOWN;
}

/* One row; texts are copied, since the next row takes their place. */
static struct rg_stored_step step_read(sqlite3_stmt *q, struct arena *arena)
{
  return (struct rg_stored_step) {
    .kind = (uint32_t)sqlite3_column_int64(q, 0),
    .message = (size_t)sqlite3_column_int64(q, 1),
    .chars = (size_t)sqlite3_column_int64(q, 2),
    .card = sqlite3_column_int(q, 3) != 0,
    .action = arena_copy(arena, name(q, 4)),
    .params = arena_copy(arena, text_kept(q, 5)),
    .card_text = arena_copy(arena, text_kept(q, 6)),
    .state = state_of(sqlite3_column_int64(q, 7)),
    .at_ms = sqlite3_column_int64(q, 8),
    .message_id = arena_copy(arena, name(q, 9)),
  };
}

/* A turn of which no plan of ours can be read. */
static void steps_none(struct rg_stored_turn *t)
{
  t->steps = NULL;
  t->step_count = 0;
  t->kept = false;
}

/* The steps of t, in the arena. Those that have no room, or are too many, are none of ours. */
static bool steps_read(struct rg_sqlite *s, struct rg_stored_turn *t, struct arena *arena,
                       char *why, size_t cap)
{
  sqlite3_stmt *q = s->prepared[RG_SQL_STEPS];
  struct rg_stored_step *steps = NULL;
  size_t count = 0, room = 0;
  int rc = sqlite3_bind_int64(q, 1, (int64_t)t->ticket);
  if (rc == SQLITE_OK)
    while ((rc = sqlite3_step(q)) == SQLITE_ROW && count < STEPS_MAX && !arena->failed) {
      if (count == room) {
        room = room > 0 ? 2 * room : 8;
        struct rg_stored_step *grown = arena_zalloc(arena, room, sizeof *grown);
        if (!grown) break;
        if (count > 0) memcpy(grown, steps, count * sizeof *steps);
        steps = grown;
      }
      steps[count++] = step_read(q, arena);
    }
  bool fine = rc == SQLITE_DONE || rc == SQLITE_ROW;
  if (!fine) rg_sqlite_fail(s, why, cap);
  sqlite3_reset(q);
  t->steps = steps;
  t->step_count = count;
  if (rc == SQLITE_ROW || arena->failed) steps_none(t);
  return fine;
}

bool rg_sqlite_turn_each(struct rg_store *store, rg_stored_turn_fn *each, void *ctx, char *why,
                         size_t cap)
{
  struct rg_sqlite *s = of(store);
  struct arena arena;
  int rc = SQLITE_ERROR;
  arena_init(&arena, STEPS_ARENA_MAX);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  sqlite3_stmt *q = fine ? s->prepared[RG_SQL_TURNS] : NULL;
  while (fine && (rc = sqlite3_step(q)) == SQLITE_ROW) {
    struct rg_stored_turn t = {
      .ticket = (uint64_t)sqlite3_column_int64(q, 0),
      .at_ms = sqlite3_column_int64(q, 1),
      .endpoint = name(q, 2),
      .group_id = name(q, 3),
      .user_id = name(q, 4),
      .message_id = name(q, 5),
      .sender_id = name(q, 6),
      .kind = (int32_t)sqlite3_column_int64(q, 7),
      .foreign = (sqlite3_column_int(q, 8) & ORIGIN_FOREIGN) != 0,
      .words = (sqlite3_column_int(q, 8) & ORIGIN_WORDS) != 0,
      .asked = (uint32_t)(sqlite3_column_int64(q, 8) / ORIGIN_ASKED % ASKED_LIMIT),
      .notice = name(q, 9),
      .kept = sqlite3_column_int(q, 10) != 0,
      .doubted = sqlite3_column_int(q, 11) != 0,
      .text = text_kept(q, 12),
      .schema = text_kept(q, 13),
    };
    /* a part of it is not the whole: what is to be kept was never longer */
    t.kept = t.kept && t.text.len == blob(q, 12).len && t.schema.len == blob(q, 13).len;
    arena_reset(&arena);
    fine = steps_read(s, &t, &arena, why, cap);
    if (fine) each(ctx, &t);
  }
  if (fine && rc != SQLITE_DONE) fine = rg_sqlite_fail(s, why, cap);
  if (q) sqlite3_reset(q);
  pthread_mutex_unlock(&s->mu);
  arena_done(&arena);
  return fine;
}

bool rg_sqlite_sent_near(struct rg_store *store, uint64_t ticket, struct span message_id)
{
  struct rg_sqlite *s = of(store);
  char why[256];
  bool found = false;
  pthread_mutex_lock(&s->mu);
  if (rg_sqlite_need(s, why, sizeof why)) {
    sqlite3_stmt *q = s->prepared[RG_SQL_SENT_NEAR];
    found = sqlite3_bind_int64(q, 1, (int64_t)ticket - NEAR) == SQLITE_OK &&
            sqlite3_bind_int64(q, 2, (int64_t)ticket + NEAR) == SQLITE_OK &&
            rg_sqlite_bind(q, 3, message_id) && sqlite3_step(q) == SQLITE_ROW;
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
  }
  pthread_mutex_unlock(&s->mu);
  return found;
}

/* ---- writing ---- */

static bool bind_number(sqlite3_stmt *q, int at, int64_t n)
{
  return sqlite3_bind_int64(q, at, n) == SQLITE_OK;
}

static bool bind_blob(sqlite3_stmt *q, int at, struct span bytes)
{
  return sqlite3_bind_blob(q, at, bytes.len > 0 ? bytes.ptr : "", (int)bytes.len, SQLITE_STATIC) ==
         SQLITE_OK;
}

static bool turn_write(struct rg_sqlite *s, const struct rg_stored_turn *t, char *why, size_t cap)
{
  sqlite3_stmt *q = s->prepared[RG_SQL_TURN_PUT];
  int64_t origin = (t->foreign ? ORIGIN_FOREIGN : 0) | (t->words ? ORIGIN_WORDS : 0) |
                   (int64_t)t->asked * ORIGIN_ASKED;
  bool bound = bind_number(q, 1, (int64_t)t->ticket) && bind_number(q, 2, t->at_ms) &&
               rg_sqlite_bind(q, 3, t->endpoint) && rg_sqlite_bind(q, 4, t->group_id) &&
               rg_sqlite_bind(q, 5, t->user_id) && rg_sqlite_bind(q, 6, t->message_id) &&
               rg_sqlite_bind(q, 7, t->sender_id) && bind_number(q, 8, t->kind) &&
               bind_number(q, 9, origin) && rg_sqlite_bind(q, 10, t->notice) &&
               bind_number(q, 11, t->kept) && bind_blob(q, 12, t->text) &&
               bind_blob(q, 13, t->schema);
  return rg_sqlite_step(s, q, bound, why, cap);
}

static bool step_write(struct rg_sqlite *s, uint64_t ticket, size_t n,
                       const struct rg_stored_step *step, char *why, size_t cap)
{
  sqlite3_stmt *q = s->prepared[RG_SQL_STEP_PUT];
  bool bound = bind_number(q, 1, (int64_t)ticket) && bind_number(q, 2, (int64_t)n) &&
               bind_number(q, 3, step->kind) && bind_number(q, 4, (int64_t)step->message) &&
               bind_number(q, 5, (int64_t)step->chars) && bind_number(q, 6, step->card) &&
               rg_sqlite_bind(q, 7, step->action) && bind_blob(q, 8, step->params) &&
               bind_blob(q, 9, step->card_text) && bind_number(q, 10, step->state) &&
               bind_number(q, 11, step->at_ms) && rg_sqlite_bind(q, 12, step->message_id);
  return rg_sqlite_step(s, q, bound, why, cap);
}

bool rg_sqlite_turn_put(struct rg_store *store, const struct rg_stored_turn *t, char *why,
                        size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_begin(s, why, cap);
  if (fine) {
    fine = turn_write(s, t, why, cap);
    for (size_t i = 0; fine && i < t->step_count; i++)
      fine = step_write(s, t->ticket, i, &t->steps[i], why, cap);
    fine = rg_sqlite_commit(s, fine, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

/* The state of a step by one of the statements that change it. */
static bool state_write(struct rg_sqlite *s, enum rg_sql statement, uint64_t ticket, size_t n,
                        const struct rg_stored_step *step, char *why, size_t cap)
{
  sqlite3_stmt *q = s->prepared[statement];
  bool bound = bind_number(q, 1, (int64_t)ticket) && bind_number(q, 2, (int64_t)n) &&
               bind_number(q, 3, step->state) && bind_number(q, 4, step->at_ms) &&
               rg_sqlite_bind(q, 5, step->message_id) &&
               (statement != RG_SQL_STEP_FORM || bind_blob(q, 6, step->params));
  return rg_sqlite_step(s, q, bound, why, cap);
}

bool rg_sqlite_step_put(struct rg_store *store, uint64_t ticket, size_t n,
                        const struct rg_stored_step *step, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  enum rg_sql statement = step->params.len > 0 ? RG_SQL_STEP_FORM : RG_SQL_STEP_STATE;
  bool fine = rg_sqlite_need(s, why, cap) &&
              state_write(s, statement, ticket, n, step, why, cap); /* a transaction by itself */
  pthread_mutex_unlock(&s->mu);
  return fine;
}

bool rg_sqlite_turn_stop(struct rg_store *store, uint64_t ticket, char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_need(s, why, cap);
  if (fine) {
    sqlite3_stmt *q = s->prepared[RG_SQL_TURN_STOP];
    fine = rg_sqlite_step(s, q, bind_number(q, 1, (int64_t)ticket), why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

/* Drops turns with a result that are too old or too many. */
static bool drop_old(struct rg_sqlite *s, uint64_t ticket, char *why, size_t cap)
{
  const int64_t last = (int64_t)ticket - RG_STORED_ENDED_MAX;
  const int64_t oldest = now_ms() - (int64_t)RG_STORED_ENDED_DAYS * 24 * 3600 * 1000;
  static const enum rg_sql drops[] = { RG_SQL_STEPS_DROP, RG_SQL_TURNS_DROP };
  if (++s->ended % DROP_EVERY != 1) return true; /* the first time soon after the start */
  for (size_t i = 0; i < 2; i++) {
    sqlite3_stmt *q = s->prepared[drops[i]];
    bool bound = bind_number(q, 1, last) && bind_number(q, 2, oldest);
    if (!rg_sqlite_step(s, q, bound, why, cap)) return false;
  }
  return true;
}

bool rg_sqlite_turn_end(struct rg_store *store, const struct rg_stored_turn *t, const char *result,
                        char *why, size_t cap)
{
  struct rg_sqlite *s = of(store);
  pthread_mutex_lock(&s->mu);
  bool fine = rg_sqlite_begin(s, why, cap);
  if (fine) {
    for (size_t i = 0; fine && i < t->step_count; i++)
      fine = state_write(s, RG_SQL_STEP_END, t->ticket, i, &t->steps[i], why, cap);
    if (fine && t->step_count == 0) { /* there may be some all the same */
      sqlite3_stmt *clear = s->prepared[RG_SQL_STEPS_CLEAR];
      fine = rg_sqlite_step(s, clear, bind_number(clear, 1, (int64_t)t->ticket), why, cap);
    }
    sqlite3_stmt *q = s->prepared[RG_SQL_TURN_END];
    fine = fine &&
           rg_sqlite_step(s, q,
                          bind_number(q, 1, (int64_t)t->ticket) &&
                              rg_sqlite_bind(q, 2, span_of(result)) && bind_number(q, 3, now_ms()),
                          why, cap) &&
           drop_old(s, t->ticket, why, cap);
    fine = rg_sqlite_commit(s, fine, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}
