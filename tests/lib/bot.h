/* bot: what tests of a whole gate stand on: a OneBot implementation that does what it is told (on a
 * socket of its own), and a host that keeps what it is told. Needs peer.h's helpers. */
#ifndef TESTS_LIB_BOT_H
#define TESTS_LIB_BOT_H

#include "onebot/service.h"
#include "plugin/gate.h"
#include "schema/tree.h"
#include "tests/lib/peer.h"

enum { BOT_CALLS_MAX = 4096 };

struct bot;

/* How a call is answered. The fields that are not given stay zero: "ok" with a message id. */
struct bot_answer {
  enum { BOT_OK, BOT_TEXT, BOT_SILENT, BOT_DROP } kind;
  const char *text;  /* BOT_TEXT: the response object's members, without braces and echo */
  unsigned delay_ms; /* before it is answered; later calls wait for it */
};

struct bot_call {
  char action[64];
  char *params; /* raw JSON */
  uint64_t at_ms;
};

struct bot {
  int listening;
  unsigned port;
  pthread_t thread;
  const char *app_name; /* of get_version_info */
  struct bot_answer (*answer)(struct bot *bot, const struct bot_call *call);
  void *ctx;
  const char *history;   /* what a question for one gets; NULL: there is no such action */
  atomic_uint histories; /* how many such questions came; they are no calls */
  atomic_bool closing;

  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t changed;
  int fd;                               /* of the connection, -1: none */
  struct bot_call calls[BOT_CALLS_MAX]; /* but get_version_info and get_login_info */
  size_t count;
  unsigned connections;
};

PEER_FN void bot_send(struct bot *b, const char *text)
{
  pthread_mutex_lock(&b->mu);
  if (b->fd >= 0) peer_text(b->fd, false, text);
  pthread_mutex_unlock(&b->mu);
}

PEER_FN struct timespec bot_until(int ms)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += (long)(ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  return until;
}

/* Waits until so many calls came. */
PEER_FN bool bot_called(struct bot *b, size_t count, int ms)
{
  struct timespec until = bot_until(ms);
  pthread_mutex_lock(&b->mu);
  while (b->count < count && pthread_cond_timedwait(&b->changed, &b->mu, &until) == 0) {
  }
  bool reached = b->count >= count;
  pthread_mutex_unlock(&b->mu);
  return reached;
}

PEER_FN bool bot_connected(struct bot *b, unsigned connections, int ms)
{
  struct timespec until = bot_until(ms);
  pthread_mutex_lock(&b->mu);
  while (b->connections < connections && pthread_cond_timedwait(&b->changed, &b->mu, &until) == 0) {
  }
  bool reached = b->connections >= connections;
  pthread_mutex_unlock(&b->mu);
  return reached;
}

PEER_FN size_t bot_count(struct bot *b)
{
  pthread_mutex_lock(&b->mu);
  size_t n = b->count;
  pthread_mutex_unlock(&b->mu);
  return n;
}

/* Whether a call's params hold a text. */
PEER_FN bool bot_call_has(struct bot *b, size_t i, const char *action, const char *text)
{
  pthread_mutex_lock(&b->mu);
  bool has = i < b->count && strcmp(b->calls[i].action, action) == 0 &&
             strstr(b->calls[i].params, text) != NULL;
  pthread_mutex_unlock(&b->mu);
  return has;
}

PEER_FN void bot_drop(struct bot *b)
{
  pthread_mutex_lock(&b->mu);
  if (b->fd >= 0) shutdown(b->fd, SHUT_RDWR);
  pthread_mutex_unlock(&b->mu);
}

PEER_FN void bot_respond(struct bot *b, const char *members, struct span echo)
{
  char *text = NULL;
  if (asprintf(&text, "{%s,\"echo\":%.*s}", members, (int)echo.len, echo.ptr) > 0) {
    bot_send(b, text);
  }
  free(text);
}

/* False: the connection is to end. */
PEER_FN bool bot_call(struct bot *b, struct span frame)
{
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, 256u << 20);
  bool goes_on = true;
  char members[256] = "\"status\":\"ok\",\"retcode\":0,\"data\":null";
  if (schema_tree_read(frame, 64, &arena, &tree, NULL) != SCHEMA_OK) goto done;
  struct span action = schema_tree_string(schema_tree_get(tree, "action"));
  struct schema_node *echo = schema_tree_get(tree, "echo");
  struct schema_node *params = schema_tree_get(tree, "params");
  if (!echo) goto done;
  if (span_is(action, "get_version_info")) {
    snprintf(members, sizeof members,
             "\"status\":\"ok\",\"retcode\":0,\"data\":{\"app_name\":\"%s\",\"app_version\":\"1\","
             "\"protocol_version\":\"v11\"}",
             b->app_name);
    bot_respond(b, members, echo->raw);
    goto done;
  }
  if (span_is(action, "get_login_info")) {
    bot_respond(b, "\"status\":\"ok\",\"retcode\":0,\"data\":{\"user_id\":10001}", echo->raw);
    goto done;
  }
  if (span_is(action, "get_group_msg_history") || span_is(action, "get_friend_msg_history")) {
    b->histories++;
    bot_respond(b,
                b->history ? b->history
                           : "\"status\":\"failed\",\"retcode\":1404,\"data\":null,"
                             "\"message\":\"no such action\"",
                echo->raw);
    goto done;
  }
  pthread_mutex_lock(&b->mu);
  cr_assert_lt(b->count, BOT_CALLS_MAX);
  struct bot_call *call = &b->calls[b->count];
  snprintf(call->action, sizeof call->action, "%.*s", (int)action.len, action.ptr);
  call->params = params ? strndup(params->raw.ptr, params->raw.len) : strdup("");
  call->at_ms = ob_now_ms();
  size_t id = 1000 + b->count++;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mu);
  struct bot_answer answer = { .kind = BOT_OK };
  if (b->answer) answer = b->answer(b, call);
  if (answer.delay_ms) usleep(answer.delay_ms * 1000);
  if (answer.kind == BOT_OK) {
    snprintf(members, sizeof members,
             "\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":%zu,\"result\":0}", id);
    bot_respond(b, members, echo->raw);
  }
  if (answer.kind == BOT_TEXT) bot_respond(b, answer.text, echo->raw);
  goes_on = answer.kind != BOT_DROP;
done:
  arena_done(&arena);
  return goes_on;
}

PEER_FN void bot_serve(struct bot *b, int fd)
{
  struct peer_in *in = malloc(sizeof *in);
  char head[4096];
  peer_read_head(fd, head, sizeof head);
  peer_accept_upgrade(fd, head);
  peer_in_init(in, true);
  pthread_mutex_lock(&b->mu);
  b->fd = fd;
  b->connections++;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mu);
  bot_send(b, "{\"time\":1,\"self_id\":10001,\"post_type\":\"meta_event\","
              "\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\"}");
  while (!b->closing) {
    if (in->rest.len == 0 && !peer_wait(fd, POLLIN, 50)) continue;
    enum ob_frame_kind kind = peer_next(in, fd);
    if (kind == OB_FRAME_MORE || kind == OB_FRAME_CLOSE) break;
    if (kind == OB_FRAME_PING) peer_frame(fd, false, OB_OP_PONG, true, in->frames.payload);
    if (kind == OB_FRAME_TEXT && !bot_call(b, in->frames.payload)) break;
  }
  pthread_mutex_lock(&b->mu);
  b->fd = -1;
  close(fd);
  pthread_mutex_unlock(&b->mu);
  peer_in_done(in);
  free(in);
}

PEER_FN void *bot_main(void *arg)
{
  struct bot *b = arg;
  while (!b->closing) {
    int fd = peer_accept_in(b->listening, 50);
    if (fd >= 0) bot_serve(b, fd);
  }
  return NULL;
}

PEER_FN struct bot *bot_start(const char *app_name)
{
  struct bot *b = calloc(1, sizeof *b);
  b->listening = peer_listen(&b->port);
  b->app_name = app_name;
  b->fd = -1;
  pthread_mutex_init(&b->mu, NULL);
  pthread_cond_init(&b->changed, NULL);
  cr_assert_eq(pthread_create(&b->thread, NULL, bot_main, b), 0);
  return b;
}

PEER_FN void bot_stop(struct bot *b)
{
  b->closing = true;
  pthread_join(b->thread, NULL);
  close(b->listening);
  for (size_t i = 0; i < b->count; i++) free(b->calls[i].params);
  free(b);
}

/* ---- the host ---- */

struct told {
  uint64_t ticket;
  char *json;
};

struct keeper {           /* of what the host is told */
  struct rg_gate *closes; /* what its event function closes, as none may; NULL: nothing */
  pthread_mutex_t mu;
  pthread_cond_t changed;
  struct told results[4096], events[8192], requests[64];
  size_t result_count, event_count, request_count;
  struct buf log;
};

PEER_FN void keeper_add(struct keeper *k, struct told *list, size_t *count, size_t max,
                        uint64_t ticket, struct rg_bytes json)
{
  pthread_mutex_lock(&k->mu);
  cr_assert_lt(*count, max);
  list[(*count)++] = (struct told) { ticket, strndup(json.ptr, json.len) };
  pthread_cond_broadcast(&k->changed);
  pthread_mutex_unlock(&k->mu);
}

PEER_FN void keeper_result(void *ctx, uint64_t ticket, struct rg_bytes json)
{
  struct keeper *k = ctx;
  keeper_add(k, k->results, &k->result_count, 4096, ticket, json);
}

PEER_FN void keeper_event(void *ctx, struct rg_bytes endpoint, struct rg_bytes json)
{
  struct keeper *k = ctx;
  rg_gate_close(k->closes);
  (void)endpoint;
  if (memmem(json.ptr, json.len, "meta_event", 10)) return;
  keeper_add(k, k->events, &k->event_count, 8192, 0, json);
}

PEER_FN void keeper_complete(void *ctx, uint64_t ticket, struct rg_bytes json)
{
  struct keeper *k = ctx;
  keeper_add(k, k->requests, &k->request_count, 64, ticket, json);
}

PEER_FN void keeper_log(void *ctx, int32_t level, struct rg_bytes line)
{
  struct keeper *k = ctx;
  pthread_mutex_lock(&k->mu);
  buf_printf(&k->log, "%d %.*s\n", level, (int)line.len, line.ptr);
  pthread_mutex_unlock(&k->mu);
  if (getenv("PEER_SHOW")) fprintf(stderr, "%d %.*s\n", level, (int)line.len, line.ptr);
}

PEER_FN bool keeper_logged(struct keeper *k, const char *what)
{
  pthread_mutex_lock(&k->mu);
  bool found = k->log.ptr && strstr(k->log.ptr, what);
  pthread_mutex_unlock(&k->mu);
  return found;
}

/* Waits until *count (a member of k) reached n. */
PEER_FN bool keeper_wait(struct keeper *k, const size_t *count, size_t n, int ms)
{
  struct timespec until = bot_until(ms);
  pthread_mutex_lock(&k->mu);
  while (*count < n && pthread_cond_timedwait(&k->changed, &k->mu, &until) == 0) {
  }
  bool reached = *count >= n;
  pthread_mutex_unlock(&k->mu);
  return reached;
}

PEER_FN struct keeper *keeper_new(void)
{
  struct keeper *k = calloc(1, sizeof *k);
  pthread_mutex_init(&k->mu, NULL);
  pthread_cond_init(&k->changed, NULL);
  buf_init(&k->log, 1 << 24);
  return k;
}

PEER_FN void keeper_free(struct keeper *k)
{
  for (size_t i = 0; i < k->result_count; i++) free(k->results[i].json);
  for (size_t i = 0; i < k->event_count; i++) free(k->events[i].json);
  for (size_t i = 0; i < k->request_count; i++) free(k->requests[i].json);
  buf_done(&k->log);
  free(k);
}

/* The result of a ticket; waits for it. NULL: none came. */
PEER_FN const char *keeper_result_of(struct keeper *k, uint64_t ticket, int ms)
{
  struct timespec until = bot_until(ms);
  const char *json = NULL;
  pthread_mutex_lock(&k->mu);
  for (int rc = 0; !json && rc == 0;) {
    for (size_t i = 0; i < k->result_count; i++) {
      if (k->results[i].ticket == ticket) json = k->results[i].json;
    }
    if (!json) rc = pthread_cond_timedwait(&k->changed, &k->mu, &until);
  }
  pthread_mutex_unlock(&k->mu);
  return json;
}

/* ---- a gate between the two ---- */

struct stage {
  struct bot *bot;
  struct keeper *keeper;
  struct rg_gate *gate;
  char folder[64], config[96];
};

PEER_FN void stage_config(const struct stage *s, const char *endpoint_rest, const char *rest)
{
  FILE *f = fopen(s->config, "w");
  cr_assert(f);
  fprintf(f,
          "%sadmins: [10009]\nendpoints:\n  main:\n"
          "    connect: ws://127.0.0.1:%u\n%s%s",
          strstr(rest, "language:") ? "" : "language: en\n", s->bot->port, endpoint_rest, rest);
  fclose(f);
}

/* endpoint_rest: further keys of the endpoint; rest: what follows in the configuration. complete: the host has a model to ask. */
PEER_FN void stage_open_timed(struct stage *s, const char *app_name, const char *endpoint_rest,
                              const char *rest, bool complete, const struct rg_timing *timing)
{
  char why[2048];
  s->bot = bot_start(app_name);
  s->keeper = keeper_new();
  strcpy(s->folder, "/tmp/rg-test-XXXXXX");
  cr_assert(mkdtemp(s->folder));
  snprintf(s->config, sizeof s->config, "%s/c.yaml", s->folder);
  stage_config(s, endpoint_rest, rest);
  const struct rg_host host = {
    .size = sizeof host,
    .abi = RG_ABI,
    .ctx = s->keeper,
    .log = keeper_log,
    .complete = complete ? keeper_complete : NULL,
    .on_event = keeper_event,
    .on_result = keeper_result,
  };
  struct rg_bytes path = { s->config, strlen(s->config) };
  cr_assert_eq(rg_gate_open_timed(&host, path, timing, &s->gate, why, sizeof why), RG_OK, "%s",
               why);
}

PEER_FN void stage_open(struct stage *s, const char *app_name, const char *rest, bool complete)
{
  stage_open_timed(s, app_name, "", rest, complete, &rg_timing);
}

PEER_FN void stage_close(struct stage *s)
{
  rg_gate_close(s->gate);
  bot_stop(s->bot);
  keeper_free(s->keeper);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", s->folder);
  cr_expect_eq(system(command), 0);
}

/* Until the peer is known, so that what follows is judged at once. */
PEER_FN void stage_ready(struct stage *s)
{
  for (int i = 0; i < 200; i++) {
    struct rg_buf json;
    cr_assert_eq(rg_gate_stats(s->gate, &json), RG_OK);
    bool ready = memmem(json.ptr, json.len, "\"state\":\"ready\"", 15) != NULL;
    rg_gate_release(&json);
    if (ready) return;
    usleep(20000);
  }
  cr_assert_fail("the endpoint did not become ready");
}

/* Submits an answer for a group; 0 and *rc where it was not taken. */
PEER_FN uint64_t stage_submit_as(struct stage *s, int32_t kind, const char *group,
                                 const char *message_id, const char *text, int32_t *rc)
{
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = kind,
    .group_id = { group, strlen(group) },
    .message_id = { message_id, strlen(message_id) },
    .sender_id = { "10002", 5 },
  };
  uint64_t ticket = 0;
  *rc = rg_gate_submit(s->gate, &turn, (struct rg_bytes) { text, strlen(text) }, &ticket);
  return *rc == RG_OK ? ticket : 0;
}

PEER_FN uint64_t stage_submit(struct stage *s, const char *group, const char *text)
{
  int32_t rc;
  uint64_t ticket = stage_submit_as(s, RG_KIND_ANSWER, group, "555", text, &rc);
  cr_assert_eq(rc, RG_OK, "submit: %d", rc);
  return ticket;
}

#endif
