#include <criterion/criterion.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/store/store.h"

/* A folder of its own, and the address of a file in it. */
struct place {
  char folder[64], path[96], address[112];
};

static struct place place_new(void)
{
  struct place p = { .folder = "/tmp/rg_store_XXXXXX" };
  cr_assert_not_null(mkdtemp(p.folder));
  snprintf(p.path, sizeof p.path, "%s/a.db", p.folder);
  snprintf(p.address, sizeof p.address, "sqlite:%s", p.path);
  return p;
}

static void place_done(const struct place *p)
{
  static const char *const ends[] = { "", "-wal", "-shm", "-journal", "-lock" };
  char path[112];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s%s", p->path, ends[i]);
    remove(path);
  }
  rmdir(p->folder);
}

static struct rg_store *open_at(const char *address)
{
  char why[256] = "";
  struct rg_store *s = rg_store_new(span_of(address), why, sizeof why);
  cr_assert_not_null(s, "%s", why);
  return s;
}

static void put(struct rg_store *s, const char *endpoint, uint64_t group, const char *key,
                const char *value)
{
  char why[256] = "";
  struct rg_override o = { .endpoint = span_of(endpoint),
                           .group = group,
                           .key = span_of(key),
                           .value = span_of(value),
                           .author = SPAN("10001") };
  cr_expect(s->methods->override_put(s, &o, why, sizeof why), "%s", why);
}

static void drop(struct rg_store *s, const char *endpoint, uint64_t group, const char *key)
{
  char why[256] = "";
  cr_expect(s->methods->override_drop(s, span_of(endpoint), group, span_of(key), why, sizeof why),
            "%s", why);
}

static void collect(void *ctx, const struct rg_override *o)
{
  buf_printf(ctx, "%.*s/%llu/%.*s=%.*s;", (int)o->endpoint.len, o->endpoint.ptr,
             (unsigned long long)o->group, (int)o->key.len, o->key.ptr, (int)o->value.len,
             o->value.ptr);
}

/* What a store holds, in its order. */
static void expect(struct rg_store *s, const char *wanted)
{
  char why[256] = "";
  struct buf b;
  buf_init(&b, 1 << 20);
  cr_expect(s->methods->override_each(s, collect, &b, why, sizeof why), "%s", why);
  cr_expect(span_is(buf_span(&b), wanted), "%s, not %s", b.ptr, wanted);
  buf_done(&b);
}

Test(store, keeps_replaces_and_drops)
{
  struct place p = place_new();
  struct rg_store *s = open_at(p.address);
  expect(s, "");
  cr_expect_neq(access(p.path, F_OK), 0, "asking makes no file");
  put(s, "main", 5, "card", "\"text\"");
  put(s, "main", 5, "pace.min", "0.5");
  put(s, "main", 5, "card", "\"ark\"");
  put(s, "b", 5, "card", "\"music\"");
  put(s, "main", 9223372036854775807u, "ignore", "[1,2]");
  expect(s, "b/5/card=\"music\";main/5/card=\"ark\";main/5/pace.min=0.5;"
            "main/9223372036854775807/ignore=[1,2];");
  drop(s, "main", 5, "card");
  drop(s, "main", 5, "absent");
  drop(s, "main", 6, "");
  expect(s, "b/5/card=\"music\";main/5/pace.min=0.5;main/9223372036854775807/ignore=[1,2];");
  rg_store_close(s);
  s = open_at(p.address);
  drop(s, "main", 5, "");
  put(s, "例\"; --", 1, "k", "\"'\"");
  expect(s, "b/5/card=\"music\";main/9223372036854775807/ignore=[1,2];例\"; --/1/k=\"'\";");
  rg_store_close(s);
  rg_store_close(NULL);
  struct stat st;
  cr_expect_eq(stat(p.path, &st), 0);
  cr_expect_eq(st.st_mode & 0777, 0600, "no one else may read it");
  place_done(&p);
}

/* In a child of a test, where Criterion's checks would wait for ever: they speak to the parent's
 * connection. The store, still open; NULL: it failed. */
static struct rg_store *put_many(const char *address, const char *endpoint, uint64_t count)
{
  char why[256] = "";
  struct rg_store *s = rg_store_new(span_of(address), why, sizeof why);
  bool fine = s != NULL;
  for (uint64_t i = 1; fine && i <= count; i++) {
    struct rg_override o = { .endpoint = span_of(endpoint),
                             .group = i,
                             .key = SPAN("card"),
                             .value = SPAN("\"text\""),
                             .author = SPAN("10001") };
    fine = s->methods->override_put(s, &o, why, sizeof why);
  }
  if (!fine) fprintf(stderr, "%s\n", why);
  return fine ? s : NULL;
}

Test(store, survives_a_killed_process)
{
  struct place p = place_new();
  pid_t child = fork();
  if (child == 0) {
    put_many(p.address, "main", 1);
    _exit(0); /* nothing is closed */
  }
  waitpid(child, NULL, 0);
  struct rg_store *s = open_at(p.address);
  expect(s, "main/1/card=\"text\";");
  rg_store_close(s);
  place_done(&p);
}

/* A write that must fail, with what it says. */
static void expect_refused(const char *address, const char *says)
{
  char why[512] = "";
  struct rg_store *s = open_at(address);
  struct rg_override o = {
    .endpoint = SPAN("m"), .group = 1, .key = SPAN("k"), .value = SPAN("1"), .author = SPAN("1")
  };
  cr_expect_not(s->methods->override_put(s, &o, why, sizeof why));
  cr_expect_not_null(strstr(why, says), "\"%s\" says not %s", why, says);
  cr_expect_not(s->methods->override_put(s, &o, why, 8), "a short why is no fault");
  rg_store_close(s);
}

static void run_sql(const char *path, const char *sql)
{
  sqlite3 *db;
  cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

Test(store, says_why_it_cannot_be_opened)
{
  struct place p = place_new();
  char address[160];
  expect_refused("sqlite:/nonexistent/folder/a.db", "/nonexistent/folder/a.db");
  expect_refused("sqlite:/nonexistent/folder/a.db", "the folder must exist");
  snprintf(address, sizeof address, "sqlite:%s", p.folder);
  expect_refused(address, "directory");
  run_sql(p.path, "CREATE TABLE others (a); INSERT INTO others VALUES (1)");
  expect_refused(p.address, "another program");
  remove(p.path);
  run_sql(p.path, "PRAGMA application_id = 1382498676; PRAGMA user_version = 999;"
                  "CREATE TABLE override (a)");
  expect_refused(p.address, "newer version");
  remove(p.path);
  FILE *f = fopen(p.path, "w");
  cr_assert_not_null(f);
  for (size_t i = 0; i < 1000; i++) fputs("this is no database ", f);
  fclose(f);
  expect_refused(p.address, "not a database");
  place_done(&p);
}

/* Claims the journal of a store in another process. */
static bool claims(const char *address)
{
  int status;
  pid_t child = fork();
  cr_assert_geq(child, 0);
  if (child == 0) {
    char why[512] = "";
    uint64_t last;
    struct rg_store *s = rg_store_new(span_of(address), why, sizeof why);
    bool had = s && s->methods->journal_claim(s, &last, why, sizeof why) == RG_CLAIM_HAD;
    if (!had && !strstr(why, "another Replygate keeps its journal here")) _exit(2);
    _exit(had ? 0 : 1);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_expect(WIFEXITED(status) && WEXITSTATUS(status) < 2);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Test(store, a_link_is_the_file_that_it_leads_to)
{
  struct place p = place_new();
  char link[120], address[140], why[512] = "";
  uint64_t last;
  snprintf(link, sizeof link, "%s/link.db", p.folder);
  snprintf(address, sizeof address, "sqlite:%s", link);
  cr_assert_eq(symlink("a.db", link), 0); /* the file comes later */
  struct rg_store *s = open_at(address);
  cr_assert_eq(s->methods->journal_claim(s, &last, why, sizeof why), RG_CLAIM_HAD, "%s", why);
  cr_expect_eq(access(p.path, F_OK), 0);
  cr_expect_not(claims(p.address), "by its other name it is the same journal");
  rg_store_close(s);
  cr_expect(claims(p.address));
  remove(link);
  place_done(&p);
}

Test(store, what_is_no_file_is_refused)
{
  struct place p = place_new();
  expect_refused("sqlite:/dev/null", "no regular file");
  cr_assert_eq(mkfifo(p.path, 0600), 0);
  expect_refused(p.address, "no regular file");
  remove(p.path);
  place_done(&p);
}

Test(store, triggers_that_others_put_there_do_nothing)
{
  struct place p = place_new();
  struct rg_store *s = put_many(p.address, "a", 1);
  rg_store_close(s);
  run_sql(p.path, "CREATE TRIGGER t AFTER INSERT ON override BEGIN DELETE FROM override; END");
  s = put_many(p.address, "b", 1);
  expect(s, "a/1/card=\"text\";b/1/card=\"text\";");
  rg_store_close(s);
  place_done(&p);
}

Test(store, opens_once_the_folder_is_there)
{
  struct place p = place_new();
  char why[256] = "", path[128], address[140], folder[100];
  snprintf(folder, sizeof folder, "%s/later", p.folder);
  snprintf(path, sizeof path, "%s/a.db", folder);
  snprintf(address, sizeof address, "sqlite:%s", path);
  struct rg_store *s = open_at(address);
  struct rg_override o = {
    .endpoint = SPAN("m"), .group = 1, .key = SPAN("k"), .value = SPAN("1"), .author = SPAN("1")
  };
  cr_expect_not(s->methods->override_put(s, &o, why, sizeof why));
  cr_assert_eq(mkdir(folder, 0700), 0);
  cr_expect(s->methods->override_put(s, &o, why, sizeof why), "%s", why);
  rg_store_close(s);
  remove(path);
  rmdir(folder);
  place_done(&p);
}

Test(store, two_processes_share_a_file)
{
  enum { EACH = 50 };
  struct place p = place_new();
  pid_t children[2];
  for (int c = 0; c < 2; c++) {
    children[c] = fork();
    if (children[c] != 0) continue;
    struct rg_store *s = put_many(p.address, c ? "a" : "b", EACH);
    if (s) rg_store_close(s);
    _exit(s ? 0 : 1);
  }
  for (int c = 0; c < 2; c++) {
    int status;
    waitpid(children[c], &status, 0);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  char why[256] = "";
  struct buf b;
  buf_init(&b, 1 << 20);
  struct rg_store *s = open_at(p.address);
  cr_expect(s->methods->override_each(s, collect, &b, why, sizeof why), "%s", why);
  size_t count = 0;
  for (size_t i = 0; i < b.len; i++) count += b.ptr[i] == ';';
  cr_expect_eq(count, 2 * EACH);
  rg_store_close(s);
  buf_done(&b);
  place_done(&p);
}

Test(store, kinds)
{
  char why[256] = "";
  cr_expect_null(rg_store_new(SPAN("files:/a"), why, sizeof why));
  cr_expect_not_null(strstr(why, "sqlite:FILE"));
}

/* ---- talks and budgets ---- */

static const struct rg_store_chat group_chat = { SPAN_INIT("main"), true, SPAN_INIT("7") };

struct seen {
  size_t count;
  char first[32], last[32];
  bool ours;
};

static void on_line(void *ctx, const struct rg_store_line *line)
{
  struct seen *seen = ctx;
  char *text = seen->count++ == 0 ? seen->first : seen->last;
  snprintf(text, sizeof seen->first, "%.*s", (int)line->text.len, line->text.ptr);
  seen->ours = line->ours;
  cr_expect(span_is(line->sender_id, "5") && span_is(line->name, "小\"明") &&
            span_is(line->message_id, "-1") && line->reply_to.len == 0);
}

static void say(struct rg_store *s, const struct rg_store_chat *chat, int n, int64_t at,
                uint32_t limit, int64_t oldest)
{
  char text[32], why[256] = "";
  snprintf(text, sizeof text, "line %d", n);
  const struct rg_store_line line = { .sender_id = SPAN("5"),
                                      .name = SPAN("小\"明"),
                                      .message_id = SPAN("-1"),
                                      .text = span_of(text),
                                      .ours = n % 2 == 1,
                                      .at = at };
  const struct rg_store_bound bound = { limit, oldest };
  cr_expect(s->methods->line_put(s, chat, &line, &bound, why, sizeof why), "%s", why);
}

static struct seen look(struct rg_store *s, const struct rg_store_chat *chat, uint32_t limit,
                        int64_t oldest)
{
  char why[256] = "";
  struct seen seen = { .count = 0 };
  const struct rg_store_bound bound = { limit, oldest };
  cr_expect(s->methods->line_each(s, chat, &bound, on_line, &seen, why, sizeof why), "%s", why);
  return seen;
}

Test(store, keeps_the_last_lines_of_a_talk)
{
  struct place p = place_new();
  struct rg_store *s = open_at(p.address);
  const struct rg_store_chat user = { SPAN("main"), false, SPAN("7") };
  char why[256];
  cr_expect_eq(look(s, &group_chat, 9, 0).count, 0);
  cr_expect_neq(access(p.path, F_OK), 0, "asking does not make the file");
  for (int i = 0; i < 9; i++) say(s, &group_chat, i, 100 + i, 5, 0);
  say(s, &user, 1, 100, 5, 0);
  rg_store_close(s);
  s = open_at(p.address);
  struct seen seen = look(s, &group_chat, 9, 0);
  cr_expect(seen.count == 5 && strcmp(seen.first, "line 4") == 0 &&
                strcmp(seen.last, "line 8") == 0 && !seen.ours,
            "%zu, from %s to %s", seen.count, seen.first, seen.last);
  cr_expect_eq(look(s, &group_chat, 2, 0).count, 2, "a lower limit holds at once");
  cr_expect_eq(look(s, &group_chat, 9, 107).count, 2, "and so does an age");
  say(s, &group_chat, 9, 120, 5, 108);
  cr_expect_eq(look(s, &group_chat, 9, 0).count, 2, "what is too old was dropped");
  cr_expect(s->methods->line_forget(s, &user, SPAN("-2"), why, sizeof why));
  cr_expect_eq(look(s, &user, 9, 0).count, 1, "no such message");
  cr_expect(s->methods->line_forget(s, &group_chat, SPAN("-1"), why, sizeof why));
  cr_expect_eq(look(s, &group_chat, 9, 0).count, 0);
  say(s, &group_chat, 9, 120, 5, 0);
  cr_expect(s->methods->lines_drop(s, &group_chat, why, sizeof why));
  cr_expect_eq(look(s, &group_chat, 9, 0).count, 0);
  cr_expect_eq(look(s, &user, 9, 0).count, 1, "another chat of the same number stays");
  rg_store_close(s);
  place_done(&p);
}

Test(store, keeps_budgets)
{
  struct place p = place_new();
  struct rg_store *s = open_at(p.address);
  char why[256] = "";
  int64_t day = 1;
  uint64_t tokens = 1;
  cr_expect(s->methods->budget_get(s, SPAN("provider a"), &day, &tokens, why, sizeof why));
  cr_expect(day == 0 && tokens == 0);
  cr_expect(s->methods->budget_put(s, SPAN("provider a"), 20000, 5, why, sizeof why), "%s", why);
  cr_expect(s->methods->budget_put(s, SPAN("provider a"), 20001, 70, why, sizeof why));
  rg_store_close(s);
  s = open_at(p.address);
  cr_expect(s->methods->budget_get(s, SPAN("provider a"), &day, &tokens, why, sizeof why));
  cr_expect(day == 20001 && tokens == 70);
  rg_store_close(s);
  place_done(&p);
}
