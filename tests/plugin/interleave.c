/* 200 conversations of 20 turns each at one endpoint, submitted by several threads, with answers that
 * come late and out of order, and some turns called off: in every chat the messages stand in the order
 * of its turns, each turn's messages complete as far as its result says, none twice, and the chats
 * take turns. A plain program, so that it also runs under ThreadSanitizer, which Criterion does not.
 * usage: interleave [CONVERSATIONS TURNS] */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onebot/listen.h"
#include "plugin/gate.h"
#include "plugin/process.h"
#include "schema/tree.h"

enum {
  CONVERSATIONS_MAX = 1000,
  TURNS_MAX = 200,
  MESSAGES_MAX = 3,
  SUBMITTERS = 4,
  CALLED_OFF_EVERY = 13,
  ANSWER_MS_MAX = 8,
  WAIT_S = 60,
};

/* What one chat shows: turn and message of each, in order. */
struct chat {
  int shown[TURNS_MAX * MESSAGES_MAX];
  size_t count;
  uint64_t tickets[TURNS_MAX];
};

struct run {
  int conversations, turns;
  struct rg_gate *gate;
  struct ob_service *service; /* of the other side */
  struct ob_peer *peer;       /* its service's thread, as the next lines */
  uint64_t random;
  int messages, switches, last_chat;
  struct chat chats[CONVERSATIONS_MAX];

  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t changed;
  int sent[CONVERSATIONS_MAX * TURNS_MAX + 1]; /* by ticket: messages of its result; -1: none yet */
  int results, twice;
  atomic_int busy;
};

static int failures;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
  va_list args;
  if (++failures > 20) return;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

/* --- the other side --- */

struct answer {
  struct ob_timer timer;
  struct run *run;
  struct buf text;
};

static void answer_due(struct ob_timer *t)
{
  struct answer *a = (struct answer *)(void *)((char *)t - offsetof(struct answer, timer));
  if (a->run->peer) ob_peer_send(a->run->peer, buf_span(&a->text));
  buf_done(&a->text);
  free(a);
}

static unsigned draw(struct run *r, unsigned n)
{
  r->random = r->random * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (unsigned)(r->random >> 33) % n;
}

static void answer(struct run *r, const char *data, struct span echo, unsigned ms)
{
  struct answer *a = calloc(1, sizeof *a);
  if (!a) abort();
  a->run = r;
  buf_init(&a->text, 4096);
  buf_printf(&a->text, "{\"status\":\"ok\",\"retcode\":0,\"data\":%s,\"echo\":%.*s}", data,
             (int)echo.len, echo.ptr);
  ob_timer_set(r->service, &a->timer, ms, answer_due);
}

static void shown(struct run *r, const struct schema_node *params)
{
  const struct schema_node *segment = schema_tree_get(params, "message")->first;
  struct span text = schema_tree_string(schema_tree_get(schema_tree_get(segment, "data"), "text"));
  char words[64];
  int chat, turn, message;
  snprintf(words, sizeof words, "%.*s", (int)text.len, text.ptr);
  if (sscanf(words, "chat %d turn %d message %d", &chat, &turn, &message) != 3 || chat < 0 ||
      chat >= r->conversations) {
    fail("what is this: %s", words);
    return;
  }
  struct chat *c = &r->chats[chat];
  if (c->count == TURNS_MAX * MESSAGES_MAX) {
    fail("chat %d: too many messages", chat);
    return;
  }
  c->shown[c->count++] = turn * MESSAGES_MAX + message;
  r->messages++;
  r->switches += chat != r->last_chat;
  r->last_chat = chat;
}

static void on_text(void *ctx, struct ob_peer *p, struct span frame)
{
  struct run *r = ctx;
  struct arena arena;
  struct schema_node *tree;
  (void)p;
  arena_init(&arena, 1 << 20);
  if (schema_tree_read(frame, 64, &arena, &tree, NULL) != SCHEMA_OK) abort();
  struct span action = schema_tree_string(schema_tree_get(tree, "action"));
  struct span echo = schema_tree_get(tree, "echo")->raw;
  char data[64];
  if (span_is(action, "get_version_info")) {
    answer(r, "{\"app_name\":\"NapCat.Onebot\",\"app_version\":\"4\"}", echo, 0);
  } else if (span_is(action, "get_login_info")) {
    answer(r, "{\"user_id\":10001}", echo, 0);
  } else {
    shown(r, schema_tree_get(tree, "params"));
    snprintf(data, sizeof data, "{\"message_id\":%d}", r->messages);
    answer(r, data, echo, draw(r, ANSWER_MS_MAX));
  }
  arena_done(&arena);
}

static unsigned on_upgrade(void *ctx, const struct ob_request *request, const char **why)
{
  (void)ctx, (void)request, (void)why;
  return 0;
}

static void on_open(void *ctx, struct ob_peer *p, const struct ob_request *request)
{
  struct run *r = ctx;
  (void)request;
  r->peer = p;
  ob_peer_send(p, SPAN("{\"time\":1,\"self_id\":10001,\"post_type\":\"meta_event\","
                       "\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\"}"));
}

static void on_closed(void *ctx, struct ob_peer *p, unsigned code)
{
  struct run *r = ctx;
  (void)p, (void)code;
  r->peer = NULL;
}

/* --- the host --- */

/* How many messages a result calls sent. */
static int sent_of(const char *json)
{
  const char *at = strstr(json, "\"sent\":["), *end = strstr(json, "],\"unsent\":");
  int n = 0;
  if (!at || !end) return 0;
  while ((at = strstr(at, "\"action\"")) && at < end) at++, n++;
  return n;
}

static void on_result(void *ctx, uint64_t ticket, struct rg_bytes result)
{
  struct run *r = ctx;
  char *json = strndup(result.ptr, result.len);
  if (!json) abort();
  pthread_mutex_lock(&r->mu);
  r->twice += r->sent[ticket] >= 0;
  r->sent[ticket] = sent_of(json);
  r->results++;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mu);
  free(json);
}

static void on_log(void *ctx, int32_t level, struct rg_bytes line)
{
  (void)ctx;
  if (level <= RG_LOG_WARN) fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
}

static int messages_of(int chat, int turn)
{
  return 1 + (chat + turn) % MESSAGES_MAX;
}

static bool is_called_off(int chat, int turn)
{
  return (chat * 7 + turn) % CALLED_OFF_EVERY == 0;
}

static void submit(struct run *r, int chat, int turn)
{
  char group[16], text[1024];
  int used = snprintf(text, sizeof text, "{\"messages\":[");
  for (int m = 0; m < messages_of(chat, turn); m++)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "%s{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":"
                     "\"chat %d turn %d message %d\"}}]}",
                     m ? "," : "", chat, turn, m);
  snprintf(text + used, sizeof text - (size_t)used, "],\"reaction\":\"\"}");
  snprintf(group, sizeof group, "%d", 1000 + chat);
  const struct rg_turn t = { .size = sizeof t,
                             .kind = RG_KIND_ANSWER,
                             .group_id = { group, strlen(group) },
                             .message_id = { "5", 1 } };
  uint64_t ticket = 0;
  int32_t rc;
  while ((rc = rg_gate_submit(r->gate, &t, (struct rg_bytes) { text, strlen(text) }, &ticket)) ==
         RG_EBUSY) {
    r->busy++;
    usleep(1000);
  }
  if (rc != RG_OK) {
    fprintf(stderr, "submit: %d\n", (int)rc);
    exit(1);
  }
  r->chats[chat].tickets[turn] = ticket;
  if (is_called_off(chat, turn)) rg_gate_cancel(r->gate, ticket);
}

struct submitter {
  pthread_t thread;
  struct run *run;
  int first;
};

static void *submit_all(void *arg)
{
  const struct submitter *s = arg;
  for (int turn = 0; turn < s->run->turns; turn++)
    for (int chat = s->first; chat < s->run->conversations; chat += SUBMITTERS)
      submit(s->run, chat, turn);
  return NULL;
}

/* --- what came of it --- */

static void chat_check(struct run *r, int chat)
{
  const struct chat *c = &r->chats[chat];
  size_t at = 0;
  for (int turn = 0; turn < r->turns; turn++) {
    int sent = r->sent[c->tickets[turn]], all = messages_of(chat, turn);
    if (sent != all && !(is_called_off(chat, turn) && sent >= 0 && sent < all))
      fail("chat %d, turn %d: %d of %d sent", chat, turn, sent, all);
    for (int m = 0; m < sent; m++, at++)
      if (at >= c->count || c->shown[at] != turn * MESSAGES_MAX + m)
        fail("chat %d, place %zu: not turn %d message %d", chat, at, turn, m);
  }
  if (at != c->count) fail("chat %d: %zu are called sent, %zu are shown", chat, at, c->count);
}

static bool wait_for_results(struct run *r)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += WAIT_S;
  pthread_mutex_lock(&r->mu);
  while (r->results < r->conversations * r->turns &&
         pthread_cond_timedwait(&r->changed, &r->mu, &until) == 0) {
  }
  bool all = r->results == r->conversations * r->turns;
  pthread_mutex_unlock(&r->mu);
  return all;
}

static void gate_open(struct run *r, const char *path, unsigned port)
{
  char why[1024];
  FILE *f = fopen(path, "w");
  if (!f) abort();
  fprintf(f,
          "endpoints:\n  main: {connect: \"ws://127.0.0.1:%u\"}\n"
          "groups:\n  default:\n    pace: {min: 0, max: 0.002}\n    rate: {per_minute: 6000}\n",
          port);
  fclose(f);
  const struct rg_host host = {
    .size = sizeof host, .abi = RG_ABI, .ctx = r, .log = on_log, .on_result = on_result
  };
  if (rg_gate_open(&host, (struct rg_bytes) { path, strlen(path) }, &r->gate, why, sizeof why) ==
      RG_OK)
    return;
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static void run_all(struct run *r, const char *path, unsigned port)
{
  struct submitter submitters[SUBMITTERS];
  uint64_t begin = ob_now_ms();
  gate_open(r, path, port);
  for (int i = 0; i < SUBMITTERS; i++) {
    submitters[i] = (struct submitter) { .run = r, .first = i };
    if (pthread_create(&submitters[i].thread, NULL, submit_all, &submitters[i]) != 0) abort();
  }
  for (int i = 0; i < SUBMITTERS; i++) pthread_join(submitters[i].thread, NULL);
  if (!wait_for_results(r)) fail("%d results of %d", r->results, r->conversations * r->turns);
  rg_gate_close(r->gate);
  printf("%d turns, %d messages, %d changes of the chat, %d times busy, %d ms\n", r->results,
         r->messages, r->switches, (int)r->busy, (int)(ob_now_ms() - begin));
}

int main(int argc, char **argv)
{
  struct run *r = calloc(1, sizeof *r);
  char folder[] = "/tmp/rg-test-XXXXXX", path[64];
  if (!r || !mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/c.yaml", folder);
  r->conversations = argc == 3 ? atoi(argv[1]) : 200;
  r->turns = argc == 3 ? atoi(argv[2]) : 20;
  if (r->conversations < 1 || r->conversations > CONVERSATIONS_MAX || r->turns < 1 ||
      r->turns > TURNS_MAX)
    return 64;
  r->random = 7;
  memset(r->sent, -1, sizeof r->sent);
  pthread_mutex_init(&r->mu, NULL);
  pthread_cond_init(&r->changed, NULL);
  const struct ob_service_options options = { .process = &rg_process };
  struct ob_listener *listener;
  const struct ob_listen_options listen = {
    .name = "peer",
    .host = "127.0.0.1",
    .on = { .ctx = r, .upgrade = on_upgrade, .open = on_open, .text = on_text, .closed = on_closed }
  };
  if (ob_service_start(&options, &r->service, NULL) != SCHEMA_OK ||
      ob_listen_open(r->service, &listen, &listener, NULL) != SCHEMA_OK)
    return 1;
  run_all(r, path, ob_listen_port(listener));
  ob_listen_close(listener);
  ob_service_stop(r->service);
  for (int chat = 0; chat < r->conversations; chat++) chat_check(r, chat);
  if (r->twice) fail("%d results came twice", r->twice);
  if (r->conversations > 10 && r->switches < r->messages / 2) fail("the chats take no turns");
  snprintf(path, sizeof path, "rm -rf %s", folder);
  if (system(path) != 0) fail("%s is left", folder);
  pthread_mutex_destroy(&r->mu);
  pthread_cond_destroy(&r->changed);
  free(r);
  return failures > 0;
}
