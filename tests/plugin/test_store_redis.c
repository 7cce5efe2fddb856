/* The store that several machines share, against a Redis server of the test's own, and against what
 * such a server, or who sits in its place, can do wrong. */
#include <time.h>

#include "plugin/gate.h"
#include "plugin/store/follow.h"
#include "plugin/store/redis.h"
#include "plugin/store/store.h"
#include "tests/lib/program.h"
#include "tests/lib/redis.h"

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct rg_store *open_at(const char *address)
{
  char why[512] = "";
  struct rg_store *s = rg_store_new(span_of(address), why, sizeof why);
  cr_assert_not_null(s, "%s", why);
  return s;
}

static bool try_put(struct rg_store *s, const char *endpoint, uint64_t group, const char *key,
                    const char *value, char *why, size_t cap)
{
  struct rg_override o = { .endpoint = span_of(endpoint),
                           .group = group,
                           .key = span_of(key),
                           .value = span_of(value),
                           .author = SPAN("10001") };
  return s->methods->override_put(s, &o, why, cap);
}

static void put(struct rg_store *s, const char *endpoint, uint64_t group, const char *key,
                const char *value)
{
  char why[512] = "";
  cr_expect(try_put(s, endpoint, group, key, value, why, sizeof why), "%s", why);
}

static void drop(struct rg_store *s, const char *endpoint, uint64_t group, const char *key)
{
  char why[512] = "";
  cr_expect(s->methods->override_drop(s, span_of(endpoint), group, span_of(key), why, sizeof why),
            "%s", why);
}

struct found {
  size_t count;
  char lines[16][128];
};

static void collect(void *ctx, const struct rg_override *o)
{
  struct found *f = ctx;
  if (f->count < 16)
    snprintf(f->lines[f->count], 128, "%.*s/%llu/%.*s=%.*s by %.*s", (int)o->endpoint.len,
             o->endpoint.ptr, (unsigned long long)o->group, (int)o->key.len, o->key.ptr,
             (int)o->value.len, o->value.ptr, (int)o->author.len, o->author.ptr);
  f->count++;
}

/* Exactly these are there, in any order. */
#define EXPECT(s, ...)                                                                             \
  do {                                                                                             \
    static const char *const wanted[] = { __VA_ARGS__ };                                           \
    expect(s, wanted, sizeof wanted / sizeof wanted[0], __LINE__);                                 \
  } while (0)

static void expect(struct rg_store *s, const char *const *wanted, size_t count, int line)
{
  char why[512] = "";
  struct found f = { .count = 0 };
  cr_expect(s->methods->override_each(s, collect, &f, why, sizeof why), "line %d: %s", line, why);
  cr_expect_eq(f.count, count, "line %d: %zu are there", line, f.count);
  for (size_t i = 0; i < count; i++) {
    bool there = false;
    for (size_t j = 0; j < f.count && j < 16; j++)
      there = there || strcmp(f.lines[j], wanted[i]) == 0;
    cr_expect(there, "line %d: %s", line, wanted[i]);
  }
}

static uint64_t version_of(struct rg_store *s)
{
  char why[512] = "";
  uint64_t version = 0;
  cr_expect(s->methods->version(s, &version, why, sizeof why), "%s", why);
  return version;
}

Test(store_redis, two_machines_share_settings)
{
  struct redis r = redis_start("");
  struct rg_store *one = open_at(r.address), *two = open_at(r.address);
  char why[512];
  cr_expect_eq(version_of(two), 0);
  put(one, "main", 5, "card", "\"text\"");
  put(two, "main", 5, "pace.min", "0.5");
  put(two, "main", 5, "card", "\"ark\"");
  put(one, "例\"; --", 7, "ignore", "[1, 2]");
  put(one, "main two", 5, "card", "\"text\"");
  EXPECT(one, "main/5/card=\"ark\" by 10001", "main/5/pace.min=0.5 by 10001",
         "例\"; --/7/ignore=[1, 2] by 10001", "main two/5/card=\"text\" by 10001");
  uint64_t before = version_of(one);
  drop(one, "main", 5, "absent");
  drop(one, "main", 6, "");
  drop(one, "main", 5, "card");
  cr_expect_neq(version_of(two), before);
  put(one, "main", 5, "card", "\"text\"");
  drop(two, "main", 5, "");
  EXPECT(one, "例\"; --/7/ignore=[1, 2] by 10001", "main two/5/card=\"text\" by 10001");
  char *long_value = calloc(1, 200000);
  memset(long_value, '1', 199999);
  cr_expect_not(try_put(one, "main", 5, "card", long_value, why, sizeof why));
  cr_expect_not_null(strstr(why, "too long"), "%s", why);
  long_value[1000] = 0;
  cr_expect_not(try_put(one, long_value, 5, "card", "1", why, sizeof why), "a name");
  free(long_value);
  cr_expect(one->methods->probe(one, why, sizeof why), "%s", why);
  rg_store_close(one);
  rg_store_close(two);
  redis_end(&r);
}

/* ---- talks and budgets ---- */

struct seen {
  size_t count;
  char first[32], last[32];
};

static void on_line(void *ctx, const struct rg_store_line *line)
{
  struct seen *seen = ctx;
  char *text = seen->count++ == 0 ? seen->first : seen->last;
  snprintf(text, sizeof seen->first, "%.*s", (int)line->text.len, line->text.ptr);
  cr_expect(span_is(line->sender_id, "5") && span_is(line->name, "小\"明\n") &&
            span_is(line->message_id, "-1") && line->reply_to.len == 0 && line->ours);
}

static void say(struct rg_store *s, const struct rg_store_chat *chat, int n, int64_t at,
                uint32_t limit, int64_t oldest)
{
  char text[32], why[512] = "";
  snprintf(text, sizeof text, "line %d", n);
  const struct rg_store_line line = { .sender_id = SPAN("5"),
                                      .name = SPAN("小\"明\n"),
                                      .message_id = SPAN("-1"),
                                      .text = span_of(text),
                                      .ours = true,
                                      .at = at };
  const struct rg_store_bound bound = { limit, oldest };
  cr_expect(s->methods->line_put(s, chat, &line, &bound, why, sizeof why), "%s", why);
}

static struct seen look(struct rg_store *s, const struct rg_store_chat *chat, uint32_t limit,
                        int64_t oldest)
{
  char why[512] = "";
  struct seen seen = { .count = 0 };
  const struct rg_store_bound bound = { limit, oldest };
  cr_expect(s->methods->line_each(s, chat, &bound, on_line, &seen, why, sizeof why), "%s", why);
  return seen;
}

Test(store_redis, keeps_the_last_lines_of_a_talk)
{
  struct redis r = redis_start("");
  struct rg_store *s = open_at(r.address), *other = open_at(r.address);
  const struct rg_store_chat group = { SPAN("main"), true, SPAN("7") };
  const struct rg_store_chat user = { SPAN("main"), false, SPAN("7") };
  char why[512];
  int64_t t = (int64_t)time(NULL);
  cr_expect_eq(look(s, &group, 9, 0).count, 0);
  for (int i = 0; i < 9; i++) say(i % 2 ? s : other, &group, i, t + i, 5, t - 50);
  say(s, &user, 1, t, 5, t - 50);
  struct seen seen = look(other, &group, 9, 0);
  cr_expect(seen.count == 5 && strcmp(seen.first, "line 4") == 0 &&
                strcmp(seen.last, "line 8") == 0,
            "%zu, from %s to %s", seen.count, seen.first, seen.last);
  cr_expect_eq(look(s, &group, 2, 0).count, 2, "a lower limit holds at once");
  cr_expect_eq(look(s, &group, 9, t + 7).count, 2, "and so does an age");
  say(s, &group, 9, t + 20, 5, t + 8);
  cr_expect_eq(look(s, &group, 9, 0).count, 2, "what is too old was dropped");
  cr_expect(s->methods->line_forget(s, &user, SPAN("-2"), why, sizeof why));
  cr_expect_eq(look(s, &user, 9, 0).count, 1, "no such message");
  say(s, &group, 9, t + 20, 5, t - 50);
  cr_expect(s->methods->line_forget(s, &group, SPAN("-1"), why, sizeof why));
  cr_expect_eq(look(s, &group, 9, 0).count, 0);
  say(s, &group, 9, t + 20, 5, t - 50);
  cr_expect(s->methods->lines_drop(s, &group, why, sizeof why));
  cr_expect_eq(look(s, &group, 9, 0).count, 0);
  cr_expect_eq(look(s, &user, 9, 0).count, 1, "another chat of the same number stays");
  redisContext *c = redis_direct(&r);
  redisReply *left = redisCommand(c, "TTL replygate:talk:user:7:main");
  cr_expect(left->integer > 40 && left->integer <= 51, "%lld", left->integer);
  freeReplyObject(left);
  redisFree(c);
  rg_store_close(s);
  rg_store_close(other);
  redis_end(&r);
}

Test(store_redis, a_budget_is_that_of_all_machines)
{
  struct redis r = redis_start("");
  struct rg_store *one = open_at(r.address), *two = open_at(r.address);
  char why[512] = "";
  int64_t today = (int64_t)time(NULL) / (24 * 3600), day = 1;
  uint64_t tokens = 1;
  cr_expect(one->methods->budget_get(one, SPAN("provider a"), &day, &tokens, why, sizeof why));
  cr_expect(day == 0 && tokens == 0);
  cr_expect(one->methods->budget_add(one, SPAN("provider a"), today, 5, &tokens, why, sizeof why),
            "%s", why);
  cr_expect_eq(tokens, 5);
  cr_expect(two->methods->budget_add(two, SPAN("provider a"), today, 70, &tokens, why, sizeof why));
  cr_expect_eq(tokens, 75);
  cr_expect(
      two->methods->budget_add(two, SPAN("provider a"), today - 1, 9, &tokens, why, sizeof why));
  cr_expect_eq(tokens, 9, "another day");
  cr_expect(one->methods->budget_get(one, SPAN("provider a"), &day, &tokens, why, sizeof why));
  cr_expect(day == today && tokens == 75);
  redis_do(&r, "SET %s -7", "replygate:budget:1:b");
  cr_expect(one->methods->budget_add(one, SPAN("b"), 1, 1, &tokens, why, sizeof why));
  cr_expect_eq(tokens, 0, "less than nothing was not spent");
  redis_do(&r, "SET %s x", "replygate:budget:1:b");
  cr_expect_not(one->methods->budget_add(one, SPAN("b"), 1, 1, &tokens, why, sizeof why));
  rg_store_close(one);
  rg_store_close(two);
  redis_end(&r);
}

/* ---- what goes wrong ---- */

static void expect_wrong(struct rg_store *s, const char *says, int line)
{
  char why[512] = "";
  struct found f = { .count = 0 };
  cr_expect_not(s->methods->override_each(s, collect, &f, why, sizeof why), "line %d", line);
  cr_expect_not_null(strstr(why, says), "line %d: \"%s\" says not %s", line, why, says);
  cr_expect_null(strstr(why, "s3cret"), "line %d: %s", line, why);
  cr_expect_null(strstr(why, "wr0ng"), "line %d: %s", line, why);
  cr_expect_not_null(strstr(why, "redis://127.0.0.1:"), "line %d: %s", line, why);
  bool much = strstr(says, "more than 64 MiB") != NULL; /* no reason to keep nothing */
  cr_expect_eq(try_put(s, "m", 1, "k", "1", why, 8), much, "a short why is no fault");
}

Test(store_redis, a_lost_server_is_found_again)
{
  struct redis r = redis_start("s3cret");
  struct rg_store *s = open_at(r.address);
  put(s, "main", 5, "card", "\"text\"");
  redis_kill(&r);
  expect_wrong(s, "Connection refused", __LINE__);
  redis_run(&r);
  char why[512] = "";
  bool fine = false;
  for (int i = 0; i < 100 && !fine; i++) {
    struct found f = { .count = 0 };
    fine = try_put(s, "main", 5, "quote", "\"all\"", why, sizeof why) &&
           s->methods->override_each(s, collect, &f, why, sizeof why); /* both connections */
    if (!fine) usleep(20000);
  }
  cr_expect(fine, "%s", why);
  EXPECT(s, "main/5/quote=\"all\" by 10001");
  redis_do(&r, "CLIENT KILL TYPE normal SKIPME yes");
  put(s, "main", 5, "card", "\"ark\"");
  EXPECT(s, "main/5/quote=\"all\" by 10001", "main/5/card=\"ark\" by 10001");
  rg_store_close(s);
  redis_end(&r);
}

Test(store_redis, says_what_the_server_refuses)
{
  struct redis r = redis_start("s3cret@:/");
  static const struct {
    const char *login, *database, *says;
  } rows[] = {
    { "", "", "it wants a password" },
    { ":wr0ng@", "", "user or password is wrong" },
    { "wr0nguser:s3cret%40%3a%2F@", "", "user or password is wrong" },
    { ":s3cret%40%3a%2F@", "/99", "a database of this number" },
  };
  char address[128], why[512];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    snprintf(address, sizeof address, "redis://%s127.0.0.1:%u%s", rows[i].login, r.port,
             rows[i].database);
    struct rg_store *s = open_at(address);
    expect_wrong(s, rows[i].says, (int)i);
    rg_store_close(s);
  }
  snprintf(address, sizeof address, "redis://default:s3cret%%40%%3a%%2F@127.0.0.1:%u/3", r.port);
  struct rg_store *s = open_at(address);
  put(s, "main", 5, "card", "\"text\"");
  redis_do(&r, "CONFIG SET maxmemory 1");
  cr_expect_not(try_put(s, "main", 5, "card", "\"ark\"", why, sizeof why));
  cr_expect_not_null(strstr(why, "its memory is full"), "%s", why);
  EXPECT(s, "main/5/card=\"text\" by 10001");
  redis_do(&r, "CONFIG SET maxmemory 0");
  redis_do(&r, "DEL replygate:overrides");
  redis_do(&r, "SET replygate:overrides x");
  expect_wrong(s, "a key below replygate: is of another kind", __LINE__);
  rg_store_close(s);
  redis_end(&r);
}

Test(store_redis, what_is_not_ours_is_passed_over)
{
  static const struct {
    const char *field, *value;
  } rows[] = {
    { "", "1 2 3" },
    { "5", "1 2 3" },
    { "5 card", "1 2 3" },
    { "x card m", "1 2 3" },
    { "-5 card m", "1 2 3" },
    { "05 card m", "1 2 3" },
    { "5  m", "1 2 3" },
    { "5 card m", "" },
    { "5 card m2", "1 2" },
    { "5 card m3", "x 2 3" },
    { "5 card m\n4", "1 2 3" },
    { "5 card m5", "1 2 \x1b[31m" },
    { "5 card \xff", "1 2 3" },
    { "99999999999999999999 card m", "1 2 3" },
  };
  struct redis r = redis_start("");
  struct rg_store *s = open_at(r.address);
  const struct rg_store_chat chat = { SPAN("main"), true, SPAN("7") };
  static const char *const lines[] = {
    "", "x", "{}", "[1]", "{\"at\":\"x\"}", "{\"at\":1.5}", "{\"at\":[[[[1]]]]}", "\xff"
  };
  put(s, "main", 5, "card", "\"text\"");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    redis_do(&r, "HSET replygate:overrides %s %s", rows[i].field, rows[i].value);
  size_t size = 1 << 20;
  char *large = malloc(size);
  memset(large, '1', size);
  redis_do(&r, "HSET replygate:overrides %s %b", "5 quote m", large, size);
  EXPECT(s, "main/5/card=\"text\" by 10001");
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    redis_do(&r, "RPUSH replygate:talk:group:7:main %s", lines[i]);
  redis_do(&r, "RPUSH replygate:talk:group:7:main %b", large, size);
  say(s, &chat, 3, time(NULL), 50, 0);
  struct seen seen = look(s, &chat, 50, 0);
  cr_expect(seen.count == 1 && strcmp(seen.first, "line 3") == 0);
  char why[512] = "";
  cr_expect(s->methods->line_forget(s, &chat, SPAN("-1"), why, sizeof why), "%s", why);
  free(large);
  /* in pieces: one whole is moved at each of its steps, which takes a loaded machine too long */
  redis_do(&r, "EVAL %s 0",
           "local piece = string.rep('x', 1048576) "
           "for i = 1, 80 do redis.call('HSET', 'replygate:overrides', i, piece) end");
  expect_wrong(s, "more than 64 MiB", __LINE__);
  redis_do(&r, "SET replygate:overrides:version x");
  usleep(100000);
  rg_store_close(s);
  s = open_at(r.address);
  cr_expect_eq(version_of(s), 0);
  rg_store_close(s);
  redis_end(&r);
}

/* Answers every connection in one way, in a process of its own. */
static pid_t impostor(int listening, const char *greeting, bool drips)
{
  pid_t pid = fork();
  cr_assert_geq(pid, 0);
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    int fd = accept(listening, NULL, NULL);
    if (fd < 0) _exit(0);
    if (!greeting) {
      close(fd);
      continue;
    }
    for (size_t i = 0; i < strlen(greeting); i++)
      if (send(fd, greeting + i, 1, MSG_NOSIGNAL) < 0) break;
    while (drips && send(fd, "x", 1, MSG_NOSIGNAL) == 1) usleep(20000);
  }
}

Test(store_redis, no_server_holds_its_callers_up)
{
  static const struct {
    const char *greeting;
    bool drips;
    const char *says;
  } rows[] = {
    { "", false, "no answer within 2 seconds" },
    { "+", true, "no answer within 2 seconds" },
    { "HTTP/1.1 400 Bad Request\r\n\r\n", false, "is no Redis server" },
    { "*2147483647\r\n", false, "is no Redis server" },
    { "*-7\r\n", false, "is no Redis server" },
    { "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", false,
      "is no Redis server" },
    { "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n", false, "something else than it was asked" },
    { "-ERR unknown command, with args beginning with: s3cret\r\n", false, "it refuses" },
    { "-\r\n", false, "it refuses" },
    { NULL, false, "the connection was lost" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    unsigned port;
    char address[96];
    int listening = redis_listen(&port);
    pid_t pid = impostor(listening, rows[i].greeting, rows[i].drips);
    close(listening);
    snprintf(address, sizeof address, "redis://127.0.0.1:%u", port);
    struct rg_store *s = open_at(address);
    int64_t begun = now_ms();
    expect_wrong(s, rows[i].says, (int)i);
    int64_t took = now_ms() - begun;
    cr_expect_lt(took, RG_REDIS_WAIT_MS + 900, "row %zu: two calls took %lld ms", i,
                 (long long)took);
    if (took >= RG_REDIS_WAIT_MS) {
      begun = now_ms();
      expect_wrong(s, rows[i].says, (int)i);
      cr_expect_lt(now_ms() - begun, 200, "row %zu: the next calls do not wait", i);
    }
    rg_store_close(s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
  }
}

Test(store_redis, a_name_that_nobody_knows)
{
  char why[512] = "";
  struct found f = { .count = 0 };
  struct rg_store *s = open_at("redis://:s3cret@name.invalid/0");
  int64_t begun = now_ms();
  cr_expect_not(s->methods->override_each(s, collect, &f, why, sizeof why));
  cr_expect_lt(now_ms() - begun, RG_REDIS_WAIT_MS + 900);
  cr_expect_not_null(strstr(why, "store redis://name.invalid:6379/0: "), "%s", why);
  rg_store_close(s);
}

/* ---- the whole ---- */

struct machine {
  struct rg_store *store;
  struct rg_settings *settings;
  struct rg_log log;
  struct rg_follow *follow;
};

static void machine_start(struct machine *m, const struct redis *r, struct rg_config *config)
{
  const struct rg_host host = { .size = sizeof host, .abi = RG_ABI };
  m->store = open_at(r->address);
  m->settings = rg_settings_new(config, m->store, NULL, NULL);
  cr_assert(m->settings && rg_log_init(&m->log, &host));
  m->follow = rg_follow_new(m->store, m->settings, &m->log, 20);
  cr_assert_not_null(m->follow);
}

static void machine_end(struct machine *m)
{
  rg_follow_free(m->follow);
  rg_settings_free(m->settings);
  rg_log_done(&m->log);
  rg_store_close(m->store);
}

static size_t overrides_of(struct machine *m, uint64_t group, enum rg_origin *ret)
{
  struct rg_view v;
  const struct rg_key *key = rg_key_find(RG_SCOPE_GROUP, SPAN("card"));
  cr_assert(rg_settings_view(m->settings, SPAN("main"), group, &v));
  *ret = rg_view_origin(&v, key);
  rg_view_done(&v);
  return *ret == RG_FROM_OVERRIDE;
}

static bool becomes(struct machine *m, bool set)
{
  enum rg_origin origin;
  for (int i = 0; i < 250; i++) {
    if ((overrides_of(m, 5, &origin) == 1) == set) return true;
    usleep(20000);
  }
  return false;
}

Test(store_redis, what_one_machine_sets_holds_on_the_other)
{
  struct redis r = redis_start("");
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, 16 << 20);
  struct rg_config *config =
      rg_config_read(SPAN("endpoints:\n  main:\n    connect: ws://127.0.0.1:1\n"), SPAN("/tmp"),
                     NULL, NULL, &arena, &faults);
  cr_assert_not_null(config);
  struct machine one, two;
  machine_start(&one, &r, config);
  machine_start(&two, &r, config);
  const struct rg_key *card = rg_key_find(RG_SCOPE_GROUP, SPAN("card"));
  struct rg_yaml *text = rg_value_from_text(card, SPAN("text"), &arena);
  struct rg_change change;
  size_t count;
  cr_expect(becomes(&two, false));
  cr_expect_eq(rg_settings_set(one.settings, SPAN("main"), 5, card, text, SPAN("1"), SCHEMA_EN,
                               &arena, &change),
               RG_CHANGED);
  cr_expect(becomes(&two, true), "set");
  redis_kill(&r);
  cr_expect(becomes(&two, true), "it holds while the server is away");
  cr_expect_eq(rg_settings_set(one.settings, SPAN("main"), 5, card, text, SPAN("1"), SCHEMA_EN,
                               &arena, &change),
               RG_CHANGED_UNSAVED);
  redis_run(&r);
  usleep(300000);
  cr_expect_eq(rg_settings_set(one.settings, SPAN("main"), 5, card, text, SPAN("1"), SCHEMA_EN,
                               &arena, &change),
               RG_CHANGED, "%.*s", (int)change.why.len, change.why.ptr);
  cr_expect(becomes(&two, true));
  cr_expect_eq(rg_settings_reset(one.settings, SPAN("main"), 5, NULL, &count, &arena, &change),
               RG_CHANGED);
  cr_expect(becomes(&two, false), "given back");
  machine_end(&one);
  machine_end(&two);
  rg_config_release(config);
  arena_done(&arena);
  redis_end(&r);
}

static void no_line(void *ctx, int32_t level, struct rg_bytes line)
{
  (void)ctx;
  (void)level;
  cr_expect_null(memmem(line.ptr, line.len, "s3cret", 6), "%.*s", (int)line.len, line.ptr);
}

Test(store_redis, a_gate_keeps_its_journal_beside_the_configuration)
{
  struct redis r = redis_start("s3cret");
  char folder[] = "/tmp/rg_redis_gate_XXXXXX", path[96], arguments[160], why[2048] = "";
  static const char *const names[] = { "c.yaml", "replygate.db", "replygate.db-wal",
                                       "replygate.db-shm", "replygate.db-lock" };
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/c.yaml", folder);
  FILE *f = fopen(path, "w");
  fprintf(f, "store: %s\nendpoints:\n  main:\n    connect: host\n", r.address);
  fclose(f);
  const struct rg_host host = { .size = sizeof host, .abi = RG_ABI, .log = no_line };
  for (int round = 0; round < 2; round++) { /* with the server, and without */
    struct rg_gate *gate = NULL;
    struct rg_buf stats;
    cr_assert_eq(
        rg_gate_open(&host, (struct rg_bytes) { path, strlen(path) }, &gate, why, sizeof why),
        RG_OK, "%s", why);
    cr_assert_eq(rg_gate_stats(gate, &stats), RG_OK);
    cr_expect_not_null(memmem(stats.ptr, stats.len, "\"journal\":\"on\"", 14));
    rg_gate_release(&stats);
    cr_expect_eq(rg_gate_reload(gate, why, sizeof why), RG_OK, "%s", why);
    rg_gate_close(gate);
    snprintf(arguments, sizeof arguments, "doctor %s", path);
    struct program_end end = program_run(arguments, SPAN(""));
    cr_expect_eq(end.code, round == 0 ? 0 : 1, "%s%s", end.out, end.err);
    cr_expect_not_null(strstr(end.out, round == 0 ? "answers and takes writes"
                                                  : "Connection refused: is a Redis server"),
                       "%s", end.out);
    cr_expect_null(strstr(end.out, "s3cret"));
    program_done(&end);
    snprintf(arguments, sizeof arguments, "config %s", path);
    end = program_run(arguments, SPAN(""));
    cr_expect_eq(end.code, 0, "%s", end.err);
    cr_expect_null(strstr(end.out, "s3cret"));
    cr_expect_not_null(strstr(end.out, "@127.0.0.1"), "%s", end.out);
    program_done(&end);
    if (round == 0) redis_kill(&r);
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (i == 1) cr_expect_eq(access(path, F_OK), 0, "the journal");
    remove(path);
  }
  rmdir(folder);
  rmdir(r.folder);
}
