/* store_redis: see store_redis.h. */
#include "plugin/store/store_redis.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "onebot/id.h"
#include "plugin/store/redis.h"
#include "plugin/store/store.h"
#include "schema/print.h"

enum {
  NAME_MAX_BYTES = 512, /* of a key or field: names of endpoints and budgets are a line */
  ENTRY_ARENA_MAX = 4 * RG_REDIS_VALUE_MAX,
  ENTRY_DEPTH = 2,
  DAY_S = 24 * 3600,
};

#define OVERRIDES "replygate:overrides"
#define VERSION "replygate:overrides:version"

struct channel {
  pthread_mutex_t mu; /* guards the connection */
  struct rg_redis *redis;
};

/* Two connections, so that who delivers to chats waits for no one who has time. */
struct redis_store {
  struct rg_store head;
  struct channel quick, patient;
};

static struct redis_store *of(struct rg_store *s)
{
  return (struct redis_store *)(void *)s;
}

/* For what the service thread asks. */
static struct channel *quick(struct rg_store *s)
{
  return &of(s)->quick;
}

/* For the start, and threads of their own. */
static struct channel *patient(struct rg_store *s)
{
  return &of(s)->patient;
}

/* ---- commands ---- */

#define ADD(s, ...)                                                                                \
  rg_redis_add((s)->redis, (const struct span[]) { __VA_ARGS__ },                                  \
               sizeof((const struct span[]) { __VA_ARGS__ }) / sizeof(struct span))

/* Text in a place of its own, for a number, a key or a field. */
struct text {
  char bytes[NAME_MAX_BYTES];
};

__attribute__((format(printf, 2, 3))) static struct span write_text(struct text *t,
                                                                    const char *format, ...)
{
  va_list args;
  va_start(args, format);
  int n = vsnprintf(t->bytes, sizeof t->bytes, format, args);
  va_end(args);
  return (struct span) { t->bytes, n < 0 ? 0 : (size_t)n };
}

static bool too_long(const struct channel *s, char *why, size_t cap)
{
  return rg_redis_say(s->redis, "a name or a value is too long", "shorten it", why, cap);
}

/* A reply of that kind, or NULL and why; frees another one. */
static redisReply *of_kind(struct channel *s, redisReply *reply, int kind, char *why, size_t cap)
{
  if (!reply || reply->type == kind) return reply;
  freeReplyObject(reply);
  rg_redis_say(s->redis, "it answers something else than it was asked", "is it a Redis server?",
               why, cap);
  return NULL;
}

static redisReply *call(struct channel *s, int kind, char *why, size_t cap)
{
  return of_kind(s, rg_redis_call(s->redis, why, cap), kind, why, cap);
}

/* Ends what ADD of "MULTI" began. */
static bool commit(struct channel *s, char *why, size_t cap)
{
  ADD(s, SPAN("EXEC"));
  redisReply *reply = call(s, REDIS_REPLY_ARRAY, why, cap);
  if (reply) freeReplyObject(reply);
  return reply != NULL;
}

static struct span text_of(const redisReply *reply)
{
  bool text = reply->type == REDIS_REPLY_STRING;
  return (struct span) { text ? reply->str : "", text ? (size_t)reply->len : 0 };
}

/* UTF-8 of a size that we would write, without control characters: it may be shown in a log. */
static bool is_sound(struct span s)
{
  if (s.len > RG_REDIS_VALUE_MAX || span_utf8_fault(s) < s.len) return false;
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f) return false;
  return true;
}

/* Takes what stands before the next space. False: there is none. */
static bool take_word(struct span *rest, struct span *ret)
{
  size_t n = span_find(*rest, SPAN(" "));
  if (n == rest->len) return false;
  *ret = (struct span) { rest->ptr, n };
  *rest = (struct span) { rest->ptr + n + 1, rest->len - n - 1 };
  return true;
}

/* ---- overrides ---- */

static struct span field_of(struct text *t, struct span endpoint, uint64_t group, struct span key)
{
  return write_text(t, "%" PRIu64 " %.*s %.*s", group, (int)key.len, key.ptr, (int)endpoint.len,
                    endpoint.ptr);
}

static bool field_read(struct span field, struct rg_override *ret)
{
  struct span group;
  int64_t number;
  if (!is_sound(field) || !take_word(&field, &group) || !take_word(&field, &ret->key)) return false;
  if (!ob_id_read(group, &number) || number < 0 || ret->key.len == 0) return false;
  ret->group = (uint64_t)number;
  ret->endpoint = field;
  return true;
}

static bool value_read(struct span value, struct rg_override *ret)
{
  struct span at;
  if (!is_sound(value) || !take_word(&value, &at) || !take_word(&value, &ret->author)) return false;
  ret->value = value;
  return ob_id_read(at, NULL);
}

static bool override_each(struct rg_store *store, rg_override_fn *each, void *ctx, char *why,
                          size_t cap)
{
  struct channel *s = patient(store);
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("HGETALL"), SPAN(OVERRIDES));
  redisReply *reply = call(s, REDIS_REPLY_ARRAY, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (!reply) return false;
  for (size_t i = 0; i + 1 < reply->elements; i += 2) {
    struct rg_override o;
    if (field_read(text_of(reply->element[i]), &o) &&
        value_read(text_of(reply->element[i + 1]), &o))
      each(ctx, &o);
  }
  freeReplyObject(reply);
  return true;
}

static bool override_put(struct rg_store *store, const struct rg_override *o, char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  struct buf value;
  struct span field = field_of(&name, o->endpoint, o->group, o->key);
  bool fine = field.len < sizeof name.bytes;
  buf_init(&value, RG_REDIS_VALUE_MAX);
  buf_printf(&value, "%lld %.*s ", (long long)time(NULL), (int)o->author.len, o->author.ptr);
  buf_add(&value, o->value);
  pthread_mutex_lock(&s->mu);
  if (!fine || value.failed) {
    fine = too_long(s, why, cap);
  } else {
    ADD(s, SPAN("MULTI"));
    ADD(s, SPAN("HSET"), SPAN(OVERRIDES), field, buf_span(&value));
    ADD(s, SPAN("INCR"), SPAN(VERSION));
    fine = commit(s, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  buf_done(&value);
  return fine;
}

/* Drops fields; parts holds "HDEL" and the key before them. */
static bool fields_drop(struct channel *s, const struct span *parts, size_t count, char *why,
                        size_t cap)
{
  ADD(s, SPAN("MULTI"));
  rg_redis_add(s->redis, parts, count);
  ADD(s, SPAN("INCR"), SPAN(VERSION));
  return commit(s, why, cap);
}

static bool group_drop(struct channel *s, struct span endpoint, uint64_t group, char *why,
                       size_t cap)
{
  bool fine = true;
  size_t count = 2;
  ADD(s, SPAN("HKEYS"), SPAN(OVERRIDES));
  redisReply *reply = call(s, REDIS_REPLY_ARRAY, why, cap);
  if (!reply) return false;
  struct span *parts = calloc(reply->elements + count, sizeof *parts);
  if (!parts) {
    freeReplyObject(reply);
    return rg_redis_say(s->redis, "out of memory", "close other programs", why, cap);
  }
  parts[0] = SPAN("HDEL");
  parts[1] = SPAN(OVERRIDES);
  for (size_t i = 0; i < reply->elements; i++) {
    struct rg_override o;
    struct span field = text_of(reply->element[i]);
    if (field_read(field, &o) && o.group == group && span_eq(o.endpoint, endpoint))
      parts[count++] = field;
  }
  if (count > 2) fine = fields_drop(s, parts, count, why, cap);
  free(parts);
  freeReplyObject(reply);
  return fine;
}

static bool override_drop(struct rg_store *store, struct span endpoint, uint64_t group,
                          struct span key, char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  bool fine;
  pthread_mutex_lock(&s->mu);
  if (key.len == 0) {
    fine = group_drop(s, endpoint, group, why, cap);
  } else {
    const struct span parts[] = { SPAN_INIT("HDEL"), SPAN_INIT(OVERRIDES),
                                  field_of(&name, endpoint, group, key) };
    fine = parts[2].len < sizeof name.bytes ? fields_drop(s, parts, 3, why, cap)
                                            : too_long(s, why, cap);
  }
  pthread_mutex_unlock(&s->mu);
  return fine;
}

static bool version(struct rg_store *store, uint64_t *ret, char *why, size_t cap)
{
  struct channel *s = patient(store);
  int64_t n = 0;
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("GET"), SPAN(VERSION));
  redisReply *reply = rg_redis_call(s->redis, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (!reply) return false;
  if (!ob_id_read(text_of(reply), &n))
    n = 0; /* none yet, or no number: the next change makes one */
  freeReplyObject(reply);
  *ret = (uint64_t)n;
  return true;
}

static bool probe(struct rg_store *store, char *why, size_t cap)
{
  struct channel *s = patient(store);
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("SET"), SPAN("replygate:probe"), SPAN("1"), SPAN("EX"), SPAN("60"));
  ADD(s, SPAN("HLEN"), SPAN(OVERRIDES));
  redisReply *reply = call(s, REDIS_REPLY_INTEGER, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (reply) freeReplyObject(reply);
  return reply != NULL;
}

/* ---- talks ---- */

static struct span talk_of(struct text *t, const struct rg_store_chat *chat)
{
  return write_text(t, "replygate:talk:%s:%.*s:%.*s", chat->group ? "group" : "user",
                    (int)chat->id.len, chat->id.ptr, (int)chat->endpoint.len, chat->endpoint.ptr);
}

static bool line_write(const struct rg_store_line *line, struct buf *out)
{
  const struct span parts[] = { line->sender_id, line->name, line->message_id, line->reply_to,
                                line->text };
  struct schema_writer w = { .out = out };
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (span_utf8_fault(parts[i]) < parts[i].len) return false;
  schema_write_object(&w);
  schema_write_key(&w, SPAN("at"));
  schema_write_int(&w, line->at);
  schema_write_key(&w, SPAN("ours"));
  schema_write_bool(&w, line->ours);
  schema_write_pair(&w, "sender_id", line->sender_id);
  schema_write_pair(&w, "name", line->name);
  schema_write_pair(&w, "message_id", line->message_id);
  schema_write_pair(&w, "reply_to", line->reply_to);
  schema_write_pair(&w, "text", line->text);
  schema_write_object_end(&w);
  return !out->failed;
}

static struct span member(const struct schema_node *line, const char *name)
{
  struct span text = schema_tree_string(schema_tree_get(line, name));
  return text.ptr ? text : SPAN("");
}

static bool line_read(struct span entry, struct arena *arena, struct rg_store_line *ret)
{
  struct schema_node *tree;
  int64_t at;
  arena_reset(arena);
  if (entry.len == 0 || entry.len > RG_REDIS_VALUE_MAX) return false;
  if (schema_tree_read(entry, ENTRY_DEPTH, arena, &tree, NULL) != SCHEMA_OK) return false;
  if (!ob_id_read(schema_tree_id(schema_tree_get(tree, "at")), &at)) return false;
  *ret = (struct rg_store_line) { .at = at,
                                  .ours = schema_tree_truth(schema_tree_get(tree, "ours"), false),
                                  .sender_id = member(tree, "sender_id"),
                                  .name = member(tree, "name"),
                                  .message_id = member(tree, "message_id"),
                                  .reply_to = member(tree, "reply_to"),
                                  .text = member(tree, "text") };
  return true;
}

/* The last lines of a talk, or NULL and why. */
static redisReply *lines_get(struct channel *s, struct span talk, uint32_t lines, char *why,
                             size_t cap)
{
  struct text first;
  if (lines > RG_REDIS_LINES_MAX) lines = RG_REDIS_LINES_MAX;
  ADD(s, SPAN("LRANGE"), talk, write_text(&first, "-%" PRIu32, lines), SPAN("-1"));
  return call(s, REDIS_REPLY_ARRAY, why, cap);
}

/* Adds the line; *retfirst is the oldest one then. */
static bool line_push(struct channel *s, struct span talk, struct span entry,
                      const struct rg_store_bound *bound, redisReply **retreply, char *why,
                      size_t cap)
{
  struct text first, age;
  int64_t seconds = (int64_t)time(NULL) - bound->oldest;
  ADD(s, SPAN("RPUSH"), talk, entry);
  ADD(s, SPAN("LTRIM"), talk, write_text(&first, "-%" PRIu32, bound->lines), SPAN("-1"));
  ADD(s, SPAN("EXPIRE"), talk, write_text(&age, "%" PRId64, seconds > 1 ? seconds : 1));
  ADD(s, SPAN("LINDEX"), talk, SPAN("0"));
  *retreply = rg_redis_call(s->redis, why, cap);
  return *retreply != NULL;
}

/* Drops the lines at the begin of a talk that are too old. */
static bool lines_age(struct channel *s, struct span talk, const struct rg_store_bound *bound,
                      struct arena *arena, char *why, size_t cap)
{
  struct rg_store_line line;
  struct text first;
  size_t old = 0;
  redisReply *reply = lines_get(s, talk, RG_REDIS_LINES_MAX, why, cap);
  if (!reply) return false;
  while (old < reply->elements &&
         !(line_read(text_of(reply->element[old]), arena, &line) && line.at >= bound->oldest))
    old++;
  freeReplyObject(reply);
  if (old == 0) return true;
  ADD(s, SPAN("LTRIM"), talk, write_text(&first, "%zu", old), SPAN("-1"));
  reply = rg_redis_call(s->redis, why, cap);
  if (reply) freeReplyObject(reply);
  return reply != NULL;
}

static bool line_put(struct rg_store *store, const struct rg_store_chat *chat,
                     const struct rg_store_line *line, const struct rg_store_bound *bound,
                     char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  struct buf entry;
  struct arena arena;
  struct rg_store_line oldest;
  redisReply *reply = NULL;
  bool fine = false;
  struct span talk = talk_of(&name, chat);
  buf_init(&entry, RG_REDIS_VALUE_MAX);
  arena_init(&arena, ENTRY_ARENA_MAX);
  pthread_mutex_lock(&s->mu);
  if (talk.len >= sizeof name.bytes || !line_write(line, &entry)) {
    rg_redis_say(s->redis, "a line is too long or not in UTF-8", "nothing is to be done", why, cap);
    goto done;
  }
  fine = line_push(s, talk, buf_span(&entry), bound, &reply, why, cap);
  if (!fine) goto done;
  bool young = line_read(text_of(reply), &arena, &oldest) && oldest.at >= bound->oldest;
  freeReplyObject(reply);
  if (!young) fine = lines_age(s, talk, bound, &arena, why, cap);
done:
  pthread_mutex_unlock(&s->mu);
  arena_done(&arena);
  buf_done(&entry);
  return fine;
}

static bool line_each(struct rg_store *store, const struct rg_store_chat *chat,
                      const struct rg_store_bound *bound, rg_line_fn *each, void *ctx, char *why,
                      size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  struct arena arena;
  struct span talk = talk_of(&name, chat);
  if (talk.len >= sizeof name.bytes) return too_long(s, why, cap);
  pthread_mutex_lock(&s->mu);
  redisReply *reply = lines_get(s, talk, bound->lines, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (!reply) return false;
  arena_init(&arena, ENTRY_ARENA_MAX);
  for (size_t i = 0; i < reply->elements; i++) {
    struct rg_store_line line;
    if (line_read(text_of(reply->element[i]), &arena, &line) && line.at >= bound->oldest)
      each(ctx, &line);
  }
  arena_done(&arena);
  freeReplyObject(reply);
  return true;
}

/* Drops the entries of a talk with that message id, one command for each. */
static bool entries_drop(struct channel *s, struct span talk, const redisReply *lines,
                         struct span message_id, char *why, size_t cap)
{
  struct arena arena;
  bool fine = true;
  arena_init(&arena, ENTRY_ARENA_MAX);
  for (size_t i = 0; i < lines->elements && fine; i++) {
    struct rg_store_line line;
    struct span entry = text_of(lines->element[i]);
    if (!line_read(entry, &arena, &line) || !span_eq(line.message_id, message_id)) continue;
    ADD(s, SPAN("LREM"), talk, SPAN("0"), entry);
    redisReply *reply = rg_redis_call(s->redis, why, cap);
    fine = reply != NULL;
    if (reply) freeReplyObject(reply);
  }
  arena_done(&arena);
  return fine;
}

static bool line_forget(struct rg_store *store, const struct rg_store_chat *chat,
                        struct span message_id, char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  struct span talk = talk_of(&name, chat);
  if (message_id.len == 0) return true;
  if (talk.len >= sizeof name.bytes) return too_long(s, why, cap);
  pthread_mutex_lock(&s->mu);
  redisReply *lines = lines_get(s, talk, RG_REDIS_LINES_MAX, why, cap);
  bool fine = lines && entries_drop(s, talk, lines, message_id, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (lines) freeReplyObject(lines);
  return fine;
}

static bool lines_drop(struct rg_store *store, const struct rg_store_chat *chat, char *why,
                       size_t cap)
{
  struct channel *s = quick(store);
  struct text name;
  struct span talk = talk_of(&name, chat);
  if (talk.len >= sizeof name.bytes) return too_long(s, why, cap);
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("DEL"), talk);
  redisReply *reply = rg_redis_call(s->redis, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (reply) freeReplyObject(reply);
  return reply != NULL;
}

/* ---- budgets ---- */

static struct span budget_of(struct text *t, struct span name, int64_t day)
{
  return write_text(t, "replygate:budget:%" PRId64 ":%.*s", day, (int)name.len, name.ptr);
}

static bool budget_add(struct rg_store *store, struct span name, int64_t day, uint64_t tokens,
                       uint64_t *rettotal, char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text key, more, life;
  int64_t total = 0;
  struct span budget = budget_of(&key, name, day);
  if (budget.len >= sizeof key.bytes) return too_long(s, why, cap);
  if (tokens > UINT32_MAX) tokens = UINT32_MAX; /* no answer costs so many */
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("INCRBY"), budget, write_text(&more, "%" PRIu64, tokens));
  ADD(s, SPAN("EXPIRE"), budget, write_text(&life, "%d", 2 * DAY_S));
  ADD(s, SPAN("GET"), budget);
  redisReply *reply = call(s, REDIS_REPLY_STRING, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (!reply) return false;
  *rettotal = ob_id_read(text_of(reply), &total) && total > 0 ? (uint64_t)total : 0;
  freeReplyObject(reply);
  return true;
}

static bool budget_get(struct rg_store *store, struct span name, int64_t *retday,
                       uint64_t *rettokens, char *why, size_t cap)
{
  struct channel *s = quick(store);
  struct text key;
  int64_t day = (int64_t)time(NULL) / DAY_S, tokens = 0;
  struct span budget = budget_of(&key, name, day);
  *retday = 0;
  *rettokens = 0;
  if (budget.len >= sizeof key.bytes) return too_long(s, why, cap);
  pthread_mutex_lock(&s->mu);
  ADD(s, SPAN("GET"), budget);
  redisReply *reply = rg_redis_call(s->redis, why, cap);
  pthread_mutex_unlock(&s->mu);
  if (!reply) return false;
  if (ob_id_read(text_of(reply), &tokens) && tokens > 0) {
    *retday = day;
    *rettokens = (uint64_t)tokens;
  }
  freeReplyObject(reply);
  return true;
}

/* ---- the whole ---- */

static bool channel_init(struct channel *c, const struct rg_redis_address *address,
                         unsigned wait_ms)
{
  c->redis = rg_redis_new(address, wait_ms);
  if (c->redis && pthread_mutex_init(&c->mu, NULL) == 0) return true;
  rg_redis_free(c->redis);
  c->redis = NULL;
  return false;
}

static void channel_done(struct channel *c)
{
  if (!c->redis) return;
  rg_redis_free(c->redis);
  pthread_mutex_destroy(&c->mu);
}

static void close_store(struct rg_store *store)
{
  struct redis_store *s = of(store);
  channel_done(&s->quick);
  channel_done(&s->patient);
  free(s);
}

static const struct rg_store_methods methods = {
  .override_each = override_each,
  .override_put = override_put,
  .override_drop = override_drop,
  .close = close_store,
  .line_put = line_put,
  .line_each = line_each,
  .line_forget = line_forget,
  .lines_drop = lines_drop,
  .budget_get = budget_get,
  .budget_add = budget_add,
  .version = version,
  .probe = probe,
};

struct rg_store *rg_store_redis_new(struct span path, char *why, size_t cap)
{
  struct rg_redis_address address;
  char url[2048];
  int n = snprintf(url, sizeof url, "redis:%.*s", (int)path.len, path.ptr);
  bool fits = n > 0 && (size_t)n < sizeof url;
  if (!fits || !rg_address_redis((struct span) { url, (size_t)n }, &address)) {
    snprintf(why, cap, "store: write redis://host:6379/0 or redis://:PASSWORD@host:6379/0");
    return NULL;
  }
  struct redis_store *s = calloc(1, sizeof *s);
  bool made = s && channel_init(&s->quick, &address, RG_REDIS_QUICK_MS) &&
              channel_init(&s->patient, &address, RG_REDIS_WAIT_MS);
  explicit_bzero(url, sizeof url);
  if (!made) {
    if (s) close_store(&s->head);
    snprintf(why, cap, "store: out of memory");
    return NULL;
  }
  s->head.methods = &methods;
  return &s->head;
}
