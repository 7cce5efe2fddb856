#include <dlfcn.h>
#include <netdb.h>

#include "onebot/client.h"
#include "tests/lib/peer.h"

enum { STATES_MAX = 512, ANSWERS_MAX = 64 };

/* What one client told. Written on the service thread, read after a count was reached. */
struct end {
  struct ob_client *client;
  struct peer_count states, events, answers;
  enum ob_link_state state[STATES_MAX];
  char why[STATES_MAX][256];
  char event[512];
  size_t event_len;
  enum ob_answer_kind answer[ANSWERS_MAX];
  char json[ANSWERS_MAX][256];
  bool close_on_event, close_on_state, close_on_answer;
};

struct side {
  struct ob_service *s;
  struct peer_log log;
  struct end end;
  int listening;
  unsigned port;
};

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct end *e = ctx;
  int n = e->states.n % STATES_MAX;
  e->state[n] = state;
  snprintf(e->why[n], sizeof e->why[n], "%s", why);
  if (e->close_on_state) ob_client_close(e->client);
  peer_up(&e->states);
}

static void on_event(void *ctx, struct span json)
{
  struct end *e = ctx;
  e->event_len = json.len;
  snprintf(e->event, sizeof e->event, "%.*s", (int)(json.len < 500 ? json.len : 500), json.ptr);
  if (e->close_on_event) ob_client_close(e->client);
  peer_up(&e->events);
}

static void on_answer(void *ctx, const struct ob_answer *answer)
{
  struct end *e = ctx;
  int n = e->answers.n % ANSWERS_MAX;
  e->answer[n] = answer->kind;
  snprintf(e->json[n], sizeof e->json[n], "%.*s", (int)answer->json.len,
           answer->json.ptr ? answer->json.ptr : "");
  if (e->close_on_answer) ob_client_close(e->client);
  peer_up(&e->answers);
}

static const struct ob_client_timing quick = { .backoff_min = 10,
                                               .backoff_max = 40,
                                               .refused = 60000,
                                               .handshake = 500,
                                               .ping = 60000,
                                               .probe = 200,
                                               .closing = 200 };

static void init_end(struct end *e)
{
  *e = (struct end) { .states = PEER_COUNT, .events = PEER_COUNT, .answers = PEER_COUNT };
}

static void open_client(struct ob_service *s, struct end *e, const char *url, const char *token,
                        const struct ob_client_timing *timing)
{
  struct schema_error error = { 0 };
  init_end(e);
  struct ob_client_options o = { .name = "main",
                                 .url = url,
                                 .access_token = token,
                                 .on = { e, on_state, on_event },
                                 .timing = timing ? *timing : quick };
  cr_assert_eq(ob_client_open(s, &o, &e->client, &error), SCHEMA_OK, "%s", error.what);
}

static void begin(struct side *t, const char *path, const char *token,
                  const struct ob_client_timing *timing)
{
  char url[256];
  t->s = peer_service(&t->log);
  t->listening = peer_listen(&t->port);
  snprintf(url, sizeof url, "ws://127.0.0.1:%u%s", t->port, path);
  open_client(t->s, &t->end, url, token, timing);
}

static void end(struct side *t)
{
  peer_service_done(t->s, &t->log);
  close(t->listening);
}

/* Waits for the state; false where another count of states goes by without it. */
static bool came(struct end *e, enum ob_link_state state, const char *why)
{
  for (int i = 0; i < 64; i++) {
    if (!peer_reached(&e->states, i + 1)) return false;
    if (e->state[i] == state && strstr(e->why[i], why)) return true;
  }
  return false;
}

/* Accepts a connection and its upgrade. */
static int accept_upgrade(struct side *t, struct peer_in *in)
{
  char head[2048];
  int fd = peer_accept(t->listening);
  peer_read_head(fd, head, sizeof head);
  peer_accept_upgrade(fd, head);
  peer_in_init(in, true);
  return fd;
}

/* The echo of the next request, which must be for that action. */
static void next_request(struct peer_in *in, int fd, const char *action, char echo[64])
{
  char want[128];
  echo[0] = 0;
  enum ob_frame_kind kind = peer_next(in, fd);
  cr_assert_eq(kind, OB_FRAME_TEXT, "%s: no request but %d", action, kind);
  char text[2048];
  snprintf(text, sizeof text, "%.*s", (int)in->frames.payload.len, in->frames.payload.ptr);
  snprintf(want, sizeof want, "{\"action\":\"%s\",\"params\":", action);
  cr_assert_eq(strncmp(text, want, strlen(want)), 0, "%s", text);
  const char *at = strstr(text, ",\"echo\":\"");
  cr_assert(at && sscanf(at, ",\"echo\":\"%63[^\"]\"}", echo) == 1, "%s", text);
}

static void respond(int fd, const char *echo, const char *data)
{
  char text[1024];
  snprintf(text, sizeof text, "{\"status\":\"ok\",\"retcode\":0,\"data\":%s,\"echo\":\"%s\"}", data,
           echo);
  peer_text(fd, false, text);
}

#define LIFECYCLE                                                                                  \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\","  \
  "\"sub_type\":\"connect\"}"

/* Up to READY, as NapCat would. */
static int ready(struct side *t, struct peer_in *in)
{
  char echo[64];
  int fd = accept_upgrade(t, in);
  next_request(in, fd, "get_version_info", echo);
  respond(fd, echo, "{\"app_name\":\"NapCat.Onebot\",\"app_version\":\"4.18.19\"}");
  next_request(in, fd, "get_login_info", echo);
  respond(fd, echo, "{\"user_id\":10001,\"nickname\":\"x\"}");
  peer_text(fd, false, LIFECYCLE);
  cr_assert(peer_reached(&t->end.events, 1));
  return fd;
}

struct call_job {
  struct end *e;
  struct span action, params;
  unsigned timeout_ms;
};

static void run_call(void *arg)
{
  struct call_job *j = arg;
  ob_link_call(ob_client_link(j->e->client), j->action, j->params, j->timeout_ms, on_answer, j->e);
}

static void call(struct side *t, const char *action, const char *params, unsigned timeout_ms)
{
  struct call_job j = { &t->end, span_of(action), span_of(params), timeout_ms };
  cr_assert(ob_service_run(t->s, run_call, &j));
}

/* ---- the good way ---- */

Test(client, asks_for_the_upgrade_as_the_standard_says)
{
  struct side t;
  char head[2048], value[256];
  begin(&t, "/onebot/v11/ws?x=1", "s3cret", NULL);
  int fd = peer_accept(t.listening);
  peer_read_head(fd, head, sizeof head);
  cr_expect_eq(strncmp(head, "GET /onebot/v11/ws?x=1 HTTP/1.1\r\n", 33), 0, "%s", head);
  cr_expect_str_eq(peer_header(head, "Authorization:", value, sizeof value), "Bearer s3cret");
  cr_expect_str_eq(peer_header(head, "Upgrade:", value, sizeof value), "websocket");
  cr_expect_str_eq(peer_header(head, "Connection:", value, sizeof value), "Upgrade");
  cr_expect_str_eq(peer_header(head, "Sec-WebSocket-Version:", value, sizeof value), "13");
  cr_expect_eq(strlen(peer_header(head, "Sec-WebSocket-Key:", value, sizeof value)), 24);
  cr_expect_str_eq(peer_header(head, "Origin:", value, sizeof value), "");
  char host[64];
  snprintf(host, sizeof host, "127.0.0.1:%u", t.port);
  cr_expect_str_eq(peer_header(head, "Host:", value, sizeof value), host);
  cr_expect_null(strstr(head, "connection: close"));
  cr_expect(!peer_logged(&t.log, "s3cret"));
  cr_expect(!peer_logged(&t.log, "x=1"));
  close(fd);
  end(&t);
}

Test(client, sends_the_token_once)
{
  static const struct {
    const char *path, *token, *header;
  } rows[] = {
    { "/", NULL, "" },
    { "/", "", "" },
    { "/?access_token=abc", "abc", "" },
    { "/?access_token=", "abc", "Bearer abc" },
    { "/?xaccess_token=1", "abc", "Bearer abc" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct side t;
    char head[2048], value[256];
    begin(&t, rows[i].path, rows[i].token, NULL);
    int fd = peer_accept(t.listening);
    peer_read_head(fd, head, sizeof head);
    cr_expect_str_eq(peer_header(head, "Authorization:", value, sizeof value), rows[i].header,
                     "row %zu", i);
    close(fd);
    end(&t);
  }
}

Test(client, becomes_ready_and_knows_its_peer)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  cr_expect(came(&t.end, OB_LINK_OPEN, "connected"));
  cr_expect(came(&t.end, OB_LINK_READY, "NapCat.Onebot 4.18.19, account 10001"));
  cr_expect_eq(ob_link_state(ob_client_link(t.end.client)), OB_LINK_READY);
  cr_expect_eq(ob_link_profile(ob_client_link(t.end.client))->id, OB_NAPCAT);
  cr_expect(span_is(ob_link_self_id(ob_client_link(t.end.client)), "10001"));
  cr_expect(span_is(ob_link_version(ob_client_link(t.end.client)), "NapCat.Onebot 4.18.19"));
  cr_expect_str_eq(t.end.event, LIFECYCLE);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, is_ready_without_answers_once_an_event_came)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = accept_upgrade(&t, &in);
  cr_expect(!peer_reached_in(&t.end.states, 2, 300), "nothing was heard: not ready");
  peer_text(fd, false, LIFECYCLE);
  cr_expect(came(&t.end, OB_LINK_READY, "account 10001"));
  cr_expect_eq(ob_link_profile(ob_client_link(t.end.client))->id, OB_SPEC);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

/* ---- calls ---- */

Test(client, matches_responses_by_echo_only)
{
  struct side t;
  struct peer_in in;
  char a[64], b[64], text[512];
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  call(&t, "get_status", "{}", 5000);
  next_request(&in, fd, "get_status", a);
  call(&t, "get_group_list", "{\"x\":1}", 5000);
  next_request(&in, fd, "get_group_list", b);
  cr_expect_str_neq(a, b);
  /* complaints without an echo, foreign echoes, events between: nobody's answer */
  peer_text(fd, false, "{\"status\":\"failed\",\"retcode\":1400,\"data\":null,\"echo\":null}");
  peer_text(fd, false,
            "{\"status\":\"ok\",\"retcode\":0,\"data\":null,\"echo\":\"rgffffffffffffffff\"}");
  peer_text(fd, false, "{\"status\":\"ok\",\"retcode\":0,\"data\":null,\"echo\":7}");
  peer_text(fd, false, "{\"status\":\"ok\",\"retcode\":0,\"data\":null}");
  peer_text(fd, false, "{\"post_type\":\"notice\",\"echo\":\"x\"}");
  cr_expect(peer_reached(&t.end.events, 2));
  cr_expect_eq(t.end.answers.n, 0);
  /* out of order */
  respond(fd, b, "\"second\"");
  respond(fd, a, "\"first\"");
  cr_expect(peer_reached(&t.end.answers, 2));
  cr_expect(strstr(t.end.json[0], "second"));
  cr_expect(strstr(t.end.json[1], "first"));
  /* twice the same: the second one is late */
  respond(fd, a, "\"again\"");
  snprintf(text, sizeof text, "{\"post_type\":\"notice\",\"n\":2}");
  peer_text(fd, false, text);
  cr_expect(peer_reached(&t.end.events, 3));
  cr_expect_eq(t.end.answers.n, 2);
  cr_expect(peer_logged(&t.log, "too late"));
  cr_expect(peer_logged(&t.log, "retcode 1400"));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, waits_for_the_last_reply_of_a_stream)
{
  static const char *const types[] = { "stream", "stream", "response" };
  struct side t;
  struct peer_in in;
  char echo[64], text[512];
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  call(&t, "upload_file_stream", "{}", 5000);
  next_request(&in, fd, "upload_file_stream", echo);
  for (size_t i = 0; i < 3; i++) {
    cr_expect_eq(t.end.answers.n, 0);
    snprintf(
        text, sizeof text,
        "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"type\":\"%s\",\"n\":%zu},\"echo\":\"%s\","
        "\"stream\":\"stream-action\"}",
        types[i], i, echo);
    peer_text(fd, false, text);
  }
  cr_expect(peer_reached(&t.end.answers, 1));
  cr_expect(strstr(t.end.json[0], "\"n\":2"));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, ends_calls_that_get_no_answer)
{
  struct side t;
  struct peer_in in;
  char echo[64];
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  call(&t, "first", "{}", 300);
  call(&t, "second", "{}", 50);
  cr_expect(peer_reached(&t.end.answers, 2));
  cr_expect_eq(t.end.answer[0], OB_ANSWER_TIMEOUT);
  cr_expect_eq(t.end.answer[1], OB_ANSWER_TIMEOUT);
  next_request(&in, fd, "first", echo);
  respond(fd, echo, "null");
  peer_text(fd, false, "{\"post_type\":\"notice\"}");
  cr_expect(peer_reached(&t.end.events, 2));
  cr_expect_eq(t.end.answers.n, 2, "the late one is dropped");
  call(&t, "third", "{}", 60000);
  next_request(&in, fd, "second", echo);
  next_request(&in, fd, "third", echo);
  peer_in_done(&in);
  close(fd); /* without a close frame */
  cr_expect(peer_reached(&t.end.answers, 3));
  cr_expect_eq(t.end.answer[2], OB_ANSWER_CLOSED);
  call(&t, "fourth", "{}", 60000);
  cr_expect_eq(t.end.answers.n, 4, "not connected: at once");
  cr_expect_eq(t.end.answer[3], OB_ANSWER_NOT_WRITTEN);
  end(&t);
}

/* A JSON string of so many bytes; the caller frees it. */
static char *big_params(size_t size)
{
  char *params = malloc(size + 1);
  cr_assert(params);
  memset(params, 'a', size);
  params[0] = params[size - 1] = '"';
  params[size] = 0;
  return params;
}

Test(client, tells_written_calls_from_queued_ones)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  size_t big = 40u << 20; /* far beyond the socket's buffers */
  char *params = big_params(big);
  call(&t, "small", "{}", 60000);
  usleep(50000);
  call(&t, "big", params, 60000);
  call(&t, "behind", "{}", 60000);
  usleep(50000);
  close(fd);
  cr_expect(peer_reached(&t.end.answers, 3));
  cr_expect_eq(t.end.answer[0], OB_ANSWER_CLOSED);
  cr_expect_eq(t.end.answer[1], OB_ANSWER_NOT_WRITTEN);
  cr_expect_eq(t.end.answer[2], OB_ANSWER_NOT_WRITTEN);
  free(params);
  peer_in_done(&in);
  end(&t);
}

Test(client, leaves_a_peer_that_takes_nothing)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  size_t big = 40u << 20; /* far beyond the socket's buffers */
  char *params = big_params(big);
  call(&t, "big", params, 60000);
  for (int i = 0; i < 40 && t.end.answers.n < 1; i++) { /* it is alive, but deaf */
    peer_text(fd, false, "{\"post_type\":\"notice\"}");
    usleep(100000);
  }
  cr_expect_eq(t.end.answers.n, 1);
  cr_expect_eq(t.end.answer[0], OB_ANSWER_NOT_WRITTEN);
  cr_expect(came(&t.end, OB_LINK_DOWN, "takes nothing"));
  free(params);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, refuses_calls_that_it_cannot_send)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  size_t big = OB_FRAME_MAX;
  char *params = big_params(big);
  call(&t, "too_big", params, 1000);
  call(&t, "with\"quote", "{}", 1000);
  call(&t, "", "{}", 1000);
  cr_assert_eq(t.end.answers.n, 3);
  for (int i = 0; i < 3; i++) cr_expect_eq(t.end.answer[i], OB_ANSWER_NOT_WRITTEN, "%d", i);
  free(params);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, keeps_to_the_largest_frame_of_its_peer)
{
  struct side t;
  struct peer_in in;
  struct schema_error error = { 0 };
  struct ob_profile small = ob_profiles[OB_SPEC];
  char url[64], params[200], echo[64];
  small.frame_max = 149;
  t.s = peer_service(&t.log);
  t.listening = peer_listen(&t.port);
  init_end(&t.end);
  snprintf(url, sizeof url, "ws://127.0.0.1:%u", t.port);
  struct ob_client_options o = {
    .url = url, .profile = &small, .on = { &t.end, on_state, on_event }, .timing = quick
  };
  cr_assert_eq(ob_client_open(t.s, &o, &t.end.client, &error), SCHEMA_OK);
  int fd = ready(&t, &in);
  cr_expect_eq(ob_link_profile(ob_client_link(t.end.client)), &small,
               "a given profile is not detected over");
  /* {"action":"x","params":…,"echo":"rg…"} is 56 bytes and the params */
  memset(params, 'a', sizeof params);
  params[0] = params[92] = '"';
  params[93] = 0;
  call(&t, "x", params, 60000);
  next_request(&in, fd, "x", echo);
  cr_expect_eq(in.frames.payload.len, 149);
  params[92] = 'a';
  params[93] = '"';
  params[94] = 0;
  call(&t, "x", params, 60000);
  cr_expect_eq(t.end.answers.n, 1);
  cr_expect_eq(t.end.answer[0], OB_ANSWER_NOT_WRITTEN);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

static void many_calls(void *arg)
{
  struct end *e = arg;
  for (int i = 0; i < OB_CALLS_MAX + 10; i++)
    ob_link_call(ob_client_link(e->client), SPAN("x"), SPAN("{}"), 60000, on_answer, e);
}

Test(client, bounds_the_calls_that_wait)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  ob_service_run(t.s, many_calls, &t.end);
  cr_expect_eq(t.end.answers.n, 10);
  close(fd);
  cr_expect(peer_reached(&t.end.answers, OB_CALLS_MAX + 10));
  peer_in_done(&in);
  end(&t);
}

/* ---- frames ---- */

Test(client, reads_fragments_cut_anywhere)
{
  static const char text[] = "{\"post_type\":\"notice\",\"x\":\"\xe4\xbd\xa0\xf0\x9f\x98\x80\"}";
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  size_t n = sizeof text - 1;
  for (size_t i = 0; i < n; i++) {
    peer_frame(fd, false, i ? OB_OP_CONTINUATION : OB_OP_TEXT, i + 1 == n,
               (struct span) { text + i, 1 });
    if (i == n / 2) {
      peer_frame(fd, false, OB_OP_PING, true, SPAN("hey"));
      cr_expect_eq(peer_next(&in, fd), OB_FRAME_PONG);
      cr_expect(span_is(in.frames.payload, "hey"));
    }
  }
  cr_expect(peer_reached(&t.end.events, 2));
  cr_expect_str_eq(t.end.event, text);
  /* several in one segment, and one byte at a time */
  char joined[512];
  struct span part = SPAN("{\"post_type\":\"notice\",\"n\":1}");
  size_t len = 0;
  for (int i = 0; i < 3; i++) len += ob_frame_write(joined + len, OB_OP_TEXT, &part, 1, NULL);
  peer_write(fd, (struct span) { joined, len });
  cr_expect(peer_reached(&t.end.events, 5));
  for (size_t i = 0; i < len / 3; i++) {
    peer_write(fd, (struct span) { joined + i, 1 });
    usleep(500);
  }
  cr_expect(peer_reached(&t.end.events, 6));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

/* An event of exactly so many bytes. */
static struct span event_of(size_t size)
{
  static const char head[] = "{\"post_type\":\"notice\",\"x\":\"";
  char *text = malloc(size);
  memset(text, 'x', size);
  memcpy(text, head, sizeof head - 1);
  memcpy(text + size - 2, "\"}", 2);
  return (struct span) { text, size };
}

Test(client, takes_fifty_mebibytes_and_not_one_byte_more)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  struct span big = event_of(OB_FRAME_MAX + 1);
  peer_text(fd, false, LIFECYCLE);
  memcpy((char *)big.ptr + OB_FRAME_MAX - 2, "\"} ", 3);
  peer_frame(fd, false, OB_OP_TEXT, true, (struct span) { big.ptr, OB_FRAME_MAX });
  cr_expect(peer_reached(&t.end.events, 3));
  cr_expect_eq(t.end.event_len, OB_FRAME_MAX);
  peer_frame(fd, false, OB_OP_TEXT, true, big);
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE);
  cr_expect_eq(in.frames.code, 1009);
  cr_expect_eq(t.end.events.n, 3);
  free((char *)big.ptr);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, sends_fifty_mebibytes)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  size_t big = OB_FRAME_MAX - 100;
  char *params = big_params(big);
  call(&t, "big", params, 60000);
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  cr_expect_gt(in.frames.payload.len, big);
  cr_expect_eq(
      memcmp(in.frames.payload.ptr + sizeof "{\"action\":\"big\",\"params\":" - 1, params, big), 0);
  free(params);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

static const struct {
  const char *label, *bytes;
  size_t len;
  unsigned code;
} broken[] = {
  { "masked", "\x81\x81....a", 7, 1002 },
  { "reserved bit", "\xc1\x01x", 3, 1002 },
  { "unknown opcode", "\x83\x01x", 3, 1002 },
  { "unknown control opcode", "\x8b\x01x", 3, 1002 },
  { "fragmented ping", "\x09\x01x", 3, 1002 },
  { "long ping", "\x89\x7e\x00\x7e", 4, 1002 },
  { "continuation of nothing", "\x80\x01x", 3, 1002 },
  { "message inside a message", "\x01\x01x\x81\x01x", 6, 1002 },
  { "half a close code", "\x88\x01x", 3, 1002 },
  { "beyond memory", "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10, 1009 },
  { "negative length", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, 1009 },
};

Test(client, closes_what_breaks_the_protocol_and_dials_again)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char echo[64];
    int fd = accept_upgrade(&t, &in);
    peer_text(fd, false, LIFECYCLE);
    next_request(&in, fd, "get_version_info", echo);
    next_request(&in, fd, "get_login_info", echo);
    peer_write(fd, (struct span) { broken[i].bytes, broken[i].len });
    peer_text(fd, false, "{\"post_type\":\"notice\",\"late\":1}");
    cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE, "%s", broken[i].label);
    cr_expect_eq(in.frames.code, broken[i].code, "%s: %u", broken[i].label, in.frames.code);
    cr_expect_eq(t.end.events.n, (int)i + 1, "%s: what follows is discarded", broken[i].label);
    if (i % 2) peer_frame(fd, false, OB_OP_CLOSE, true, SPAN("\x03\xea"));
    cr_expect(peer_ended(fd), "%s", broken[i].label);
    peer_in_done(&in);
    close(fd);
  }
  end(&t);
}

static const char *const no_objects[] = {
  "",
  "hello",
  "[1]",
  "null",
  "{\"a\":1,}",
  "{\"a\":1}{",
  "{'a':1}",
  "{\"a\":NaN}",
  "{\"post_type\":\"x\",\"post_type\":\"y\"}",
  "{\"post_type\":\"\xff\"}",
  "{\"post_type\":\"\xc0\xaf\"}",
  "{\"post_type\":\"\\ud800\"}",
  "{\"post_type\":\"x\"",
};

Test(client, skips_frames_that_are_no_json_objects)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  for (size_t i = 0; i < sizeof no_objects / sizeof *no_objects; i++)
    peer_text(fd, false, no_objects[i]);
  char *deep = malloc(4000);
  memset(deep, '[', 4000);
  memcpy(deep, "{\"a\":", 5);
  peer_frame(fd, false, OB_OP_TEXT, true, (struct span) { deep, 4000 });
  free(deep);
  peer_frame(fd, false, OB_OP_BINARY, true, SPAN("{\"post_type\":\"x\"}"));
  peer_text(fd, false, "{\"post_type\":\"notice\",\"end\":1}");
  cr_expect(peer_reached(&t.end.events, 2));
  cr_expect_str_eq(t.end.event, "{\"post_type\":\"notice\",\"end\":1}");
  cr_expect(peer_logged(&t.log, "a frame of 5 bytes is skipped"));
  cr_expect(!peer_logged(&t.log, "hello"));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

/* ---- refusals ---- */

#define RETCODE_1403                                                                               \
  "{\"status\":\"failed\",\"retcode\":1403,\"data\":null,\"message\":\"token\xe9\xaa\x8c\","       \
  "\"wording\":\"\",\"echo\":null}"

enum way { HTTP, TEXT_THEN_CLOSE, CLOSE, HANG_UP };

static const struct {
  const char *label;
  enum way way;
  const char *answer; /* the HTTP answer, or the close frame's payload */
  size_t len;
  enum ob_link_state state;
  const char *why;
} refusals[] = {
  { "401", HTTP, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 0, OB_LINK_REFUSED,
    "/path answers HTTP 401: the access_token is missing or wrong" },
  { "403", HTTP, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", 0, OB_LINK_REFUSED,
    "/path answers HTTP 403" },
  { "404", HTTP, "HTTP/1.1 404 Not Found\r\n\r\n", 0, OB_LINK_REFUSED,
    "/path answers HTTP 404: is the path right?" },
  { "200", HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, OB_LINK_DOWN, "HTTP 200" },
  { "503", HTTP, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 0, OB_LINK_DOWN,
    "HTTP 503" },
  { "wrong accept", HTTP,
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
    0, OB_LINK_DOWN, "answers 101 wrongly" },
  { "no http", HTTP, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, OB_LINK_DOWN, "" },
  { "hangs up", HTTP, "", 0, OB_LINK_DOWN, "" },
  { "napcat", TEXT_THEN_CLOSE, "", 0, OB_LINK_REFUSED, "the peer refuses the access_token" },
  { "llbot", TEXT_THEN_CLOSE, "\x03\xf0invalid access token", 22, OB_LINK_REFUSED,
    "the peer refuses the access_token" },
  { "onebots 3", CLOSE, "\x03\xf0Unauthorized", 14, OB_LINK_REFUSED, "code 1008, Unauthorized" },
  { "onebots 0.4", CLOSE, "\x03\xeawrong access token", 20, OB_LINK_REFUSED,
    "code 1002, wrong access token" },
  { "hangs up after the upgrade", HANG_UP, "", 0, OB_LINK_REFUSED, "is the access_token right?" },
};

Test(client, tells_refusals_from_failures)
{
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const char *label = refusals[i].label;
    struct side t;
    struct peer_in in;
    char head[2048];
    begin(&t, "/path?access_token=topsecret", NULL, NULL);
    int fd;
    if (refusals[i].way == HTTP) {
      fd = peer_accept(t.listening);
      peer_read_head(fd, head, sizeof head);
      peer_puts(fd, refusals[i].answer);
      peer_in_init(&in, true);
    } else {
      fd = accept_upgrade(&t, &in);
    }
    if (refusals[i].way == TEXT_THEN_CLOSE) peer_text(fd, false, RETCODE_1403);
    if (refusals[i].way == TEXT_THEN_CLOSE || refusals[i].way == CLOSE)
      peer_frame(fd, false, OB_OP_CLOSE, true,
                 (struct span) { refusals[i].answer, refusals[i].len });
    if (refusals[i].way == HTTP || refusals[i].way == HANG_UP) {
      shutdown(fd, SHUT_WR);
      peer_ended(fd);
    }
    close(fd);
    cr_expect(came(&t.end, refusals[i].state, refusals[i].why), "%s: %d %s", label,
              t.end.state[t.end.states.n - 1], t.end.why[t.end.states.n - 1]);
    int again = peer_accept_in(t.listening, 300);
    cr_expect_eq(again >= 0, refusals[i].state == OB_LINK_DOWN, "%s: dialled again", label);
    if (again >= 0) close(again);
    for (int k = 0; k < t.end.states.n; k++)
      cr_expect(!strstr(t.end.why[k], "secret"), "%s", t.end.why[k]);
    cr_expect(!peer_logged(&t.log, "secret"));
    peer_in_done(&in);
    end(&t);
  }
}

Test(client, never_follows_a_redirect)
{
  struct side t;
  char head[2048], answer[256];
  unsigned elsewhere;
  int other = peer_listen(&elsewhere);
  begin(&t, "/", "s3cret", NULL);
  int fd = peer_accept(t.listening);
  peer_read_head(fd, head, sizeof head);
  snprintf(answer, sizeof answer,
           "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%u/\r\nContent-Length: 0\r\n\r\n",
           elsewhere);
  peer_puts(fd, answer);
  cr_expect(came(&t.end, OB_LINK_REFUSED, "HTTP 302: redirects are not followed"));
  cr_expect_eq(peer_accept_in(other, 300), -1, "nobody is dialled");
  close(fd);
  close(other);
  end(&t);
}

Test(client, takes_a_close_for_a_failure_once_it_has_been_accepted)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  peer_frame(fd, false, OB_OP_CLOSE, true, SPAN("\x03\xe9restart"));
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE, "the close is answered");
  close(fd);
  cr_expect(came(&t.end, OB_LINK_DOWN, "code 1001, restart"));
  peer_in_done(&in);
  /* a restart may also end a connection that has said nothing yet */
  fd = accept_upgrade(&t, &in);
  close(fd);
  peer_in_done(&in);
  fd = accept_upgrade(&t, &in);
  peer_text(fd, false, RETCODE_1403);
  cr_expect(came(&t.end, OB_LINK_REFUSED, "refuses the access_token"), "but a plain word counts");
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, gives_up_a_peer_that_never_answers_the_upgrade)
{
  struct side t;
  struct ob_client_timing timing = quick;
  timing.handshake = 100;
  begin(&t, "", NULL, &timing);
  int fd = peer_accept(t.listening);
  cr_expect(came(&t.end, OB_LINK_DOWN, "does not answer"));
  int again = peer_accept(t.listening);
  close(fd);
  close(again);
  end(&t);
}

/* ---- silence and reconnecting ---- */

Test(client, pings_a_silent_peer_and_leaves_a_dead_one)
{
  struct side t;
  struct peer_in in;
  struct ob_client_timing timing = quick;
  timing.ping = 200;
  begin(&t, "", NULL, &timing);
  int fd = ready(&t, &in);
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(peer_next(&in, fd), OB_FRAME_PING, "%d", i);
    peer_frame(fd, false, OB_OP_PONG, true, SPAN(""));
  }
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_PING);
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE, "no pong: given up");
  cr_expect(peer_ended(fd), "also where the close is not answered");
  cr_expect(came(&t.end, OB_LINK_DOWN, "nothing was heard for"));
  int again = peer_accept(t.listening);
  close(again);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, takes_three_missed_heartbeats_for_death)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  uint64_t before = ob_now_ms();
  peer_text(fd, false,
            "{\"post_type\":\"meta_event\",\"meta_event_type\":\"heartbeat\",\"interval\":1000}");
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE);
  uint64_t took = ob_now_ms() - before;
  cr_expect(took >= 2900 && took < 6000, "%d ms", (int)took);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, reconnects_for_ever_without_a_leak)
{
  struct side t;
  struct peer_in in;
  struct ob_client_timing timing = quick;
  timing.backoff_min = 1;
  timing.backoff_max = 2;
  begin(&t, "", NULL, &timing);
  int before = 0;
  for (int i = 0; i < 60; i++) {
    int fd = accept_upgrade(&t, &in);
    peer_text(fd, false, LIFECYCLE);
    cr_assert(peer_reached(&t.end.events, i + 1), "%d", i);
    if (i == 10) before = peer_open_fds();
    if (i == 59) cr_expect_eq(peer_open_fds(), before);
    peer_in_done(&in);
    close(fd);
  }
  close(t.listening); /* and where nobody is there at all */
  int n = t.end.states.n;
  usleep(300000);
  cr_expect_eq(ob_link_state(ob_client_link(t.end.client)), OB_LINK_DOWN);
  cr_expect_leq(t.end.states.n, n + 4, "the same reason is told once");
  t.listening = peer_listen_at(t.port, &t.port);
  int fd = accept_upgrade(&t, &in);
  peer_text(fd, false, LIFECYCLE);
  cr_assert(peer_reached(&t.end.events, 61));
  cr_expect_leq(peer_open_fds(), before);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, waits_longer_with_every_failure)
{
  struct side t;
  uint64_t at[6];
  struct ob_client_timing timing = quick;
  timing.backoff_min = 50;
  timing.backoff_max = 200;
  begin(&t, "", NULL, &timing);
  for (int i = 0; i < 6; i++) {
    int fd = peer_accept(t.listening);
    at[i] = ob_now_ms();
    close(fd);
  }
  /* 50, 100, 200, 200, 200 within 20 % and what a busy machine adds */
  static const int least[] = { 40, 80, 160, 160, 160 };
  for (int i = 0; i < 5; i++) {
    int waited = (int)(at[i + 1] - at[i]);
    cr_expect(waited >= least[i] && waited < least[i] * 3 / 2 + 400, "%d: %d ms", i, waited);
  }
  end(&t);
}

Test(client, does_not_take_an_upgrade_for_success)
{
  struct side t;
  struct peer_in in;
  uint64_t at[4];
  struct ob_client_timing timing = quick;
  timing.backoff_min = 100;
  timing.backoff_max = 1000;
  begin(&t, "", NULL, &timing);
  int fd = ready(&t, &in); /* so that later hang-ups are no refusals */
  peer_in_done(&in);
  for (int i = 0; i < 4; i++) {
    close(fd);
    fd = accept_upgrade(&t, &in);
    at[i] = ob_now_ms();
    peer_in_done(&in);
  }
  cr_expect_gt(at[3] - at[2], at[1] - at[0] + 50, "%d %d", (int)(at[3] - at[2]),
               (int)(at[1] - at[0]));
  close(fd);
  end(&t);
}

/* ---- several, slow names ---- */

static bool slow_names;

/* Stands before the C library's: a name server that does not answer. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
  int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  bool numeric = hints && (hints->ai_flags & AI_NUMERICHOST);
  if (slow_names && !numeric && strcmp(name, "slow.test") == 0) {
    usleep(3000000);
    return EAI_AGAIN;
  }
  if (!numeric && strcmp(name, "unknown.test") == 0) return EAI_NONAME;
  return real(name, service, hints, list);
}

Test(client, is_not_stalled_by_a_name_that_does_not_resolve)
{
  struct side t;
  struct peer_in in;
  struct end slow, unknown;
  slow_names = true;
  t.s = peer_service(&t.log);
  t.listening = peer_listen(&t.port);
  open_client(t.s, &slow, "ws://slow.test:1/", NULL, NULL);
  open_client(t.s, &unknown, "ws://unknown.test:1/", NULL, NULL);
  usleep(50000);
  char url[64];
  snprintf(url, sizeof url, "ws://localhost:%u", t.port);
  uint64_t before = ob_now_ms();
  open_client(t.s, &t.end, url, NULL, NULL);
  int fd = ready(&t, &in);
  cr_expect_lt(ob_now_ms() - before, 2000);
  cr_expect(came(&unknown, OB_LINK_DOWN, "unknown.test: the name is not known"));
  cr_expect_eq(slow.states.n, 0);
  cr_expect(came(&slow, OB_LINK_DOWN, "slow.test: no name server answers"));
  peer_in_done(&in);
  close(fd);
  before = ob_now_ms();
  usleep(100000); /* the slow one is asked again */
  end(&t);
  cr_expect_lt(ob_now_ms() - before, 2000, "stopping does not wait for names");
}

Test(client, serves_two_endpoints_at_once)
{
  struct side t;
  struct peer_in in, in2;
  struct end second;
  char url[64], echo[64];
  unsigned port2;
  int other = peer_listen(&port2);
  begin(&t, "/a", NULL, NULL);
  snprintf(url, sizeof url, "ws://127.0.0.1:%u/b", port2);
  open_client(t.s, &second, url, NULL, NULL);
  int fd = ready(&t, &in);
  struct side t2 = { .s = t.s, .listening = other };
  int fd2 = accept_upgrade(&t2, &in2);
  call(&t, "to_first", "{}", 5000);
  next_request(&in, fd, "to_first", echo);
  respond(fd, echo, "1");
  cr_expect(peer_reached(&t.end.answers, 1));
  close(fd2);
  cr_expect(came(&second, OB_LINK_REFUSED, ""));
  cr_expect_eq(ob_link_state(ob_client_link(t.end.client)), OB_LINK_READY);
  peer_in_done(&in);
  peer_in_done(&in2);
  close(fd);
  close(other);
  end(&t);
}

/* ---- load ---- */

struct flood {
  int fd;
  volatile bool stop;
};

static void *flood(void *arg)
{
  struct flood *f = arg;
  char frames[65536];
  struct span part =
      SPAN("{\"post_type\":\"notice\",\"x\":\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}");
  size_t n = 0;
  while (n + 200 < sizeof frames) n += ob_frame_write(frames + n, OB_OP_TEXT, &part, 1, NULL);
  while (!f->stop)
    for (size_t at = 0; at < n;) { /* whole frames to the end, or the stream would be broken */
      ssize_t sent = send(f->fd, frames + at, n - at, MSG_NOSIGNAL);
      if (sent <= 0) return NULL;
      at += (size_t)sent;
    }
  return NULL;
}

Test(client, writes_although_the_peer_floods)
{
  struct side t;
  struct peer_in in;
  char echo[64];
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  struct flood f = { .fd = fd };
  pthread_t thread;
  pthread_create(&thread, NULL, flood, &f);
  usleep(50000);
  for (int i = 0; i < 20; i++) {
    uint64_t before = ob_now_ms();
    call(&t, "ask", "{}", 60000);
    next_request(&in, fd, "ask", echo);
    cr_expect_lt(ob_now_ms() - before, 2000, "%d", i);
  }
  f.stop = true;
  pthread_join(thread, NULL);
  respond(fd, echo, "1");
  cr_expect(peer_reached(&t.end.answers, 1));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

static void pause_link(void *arg)
{
  struct end *e = arg;
  ob_link_pause(ob_client_link(e->client), true);
}

static void resume_link(void *arg)
{
  struct end *e = arg;
  ob_link_pause(ob_client_link(e->client), false);
}

Test(client, stops_reading_while_paused)
{
  struct side t;
  struct peer_in in;
  char echo[64];
  struct ob_client_timing timing = quick;
  timing.ping = 60;
  begin(&t, "", NULL, &timing);
  int fd = ready(&t, &in);
  ob_service_run(t.s, pause_link, &t.end);
  peer_text(fd, false, "{\"post_type\":\"notice\"}");
  cr_expect(!peer_reached_in(&t.end.events, 2, 300), "and the silence is not taken for death");
  call(&t, "meanwhile", "{}", 60000);
  next_request(&in, fd, "meanwhile", echo);
  cr_expect_eq(ob_link_state(ob_client_link(t.end.client)), OB_LINK_READY);
  cr_expect(!peer_reached_in(&t.end.events, 2, 100));
  ob_service_run(t.s, resume_link, &t.end);
  cr_expect(peer_reached(&t.end.events, 2));
  peer_text(fd, false, "{\"post_type\":\"notice\"}");
  cr_expect(peer_reached(&t.end.events, 3));
  peer_in_done(&in);
  close(fd);
  end(&t);
}

/* ---- ends ---- */

static void close_client(void *arg)
{
  struct end *e = arg;
  ob_client_close(e->client);
}

Test(client, may_be_closed_by_its_own_callbacks)
{
  for (int i = 0; i < 4; i++) {
    struct side t;
    struct peer_in in;
    begin(&t, "", NULL, NULL);
    int fd = ready(&t, &in);
    int states = t.end.states.n;
    t.end.close_on_event = i == 0;
    t.end.close_on_state = i == 1;
    t.end.close_on_answer = i == 2;
    if (i == 0) peer_text(fd, false, "{\"post_type\":\"notice\"}{");
    if (i == 0) peer_text(fd, false, "{\"post_type\":\"notice\"}");
    if (i == 1) close(fd);
    if (i == 2) call(&t, "x", "{}", 10);
    if (i == 3) ob_service_run(t.s, close_client, &t.end);
    if (i != 1) {
      while (peer_next(&in, fd) == OB_FRAME_TEXT) {
      }
      cr_expect_eq(in.frames.code, 1000, "%d: says goodbye", i);
      cr_expect(peer_ended(fd));
      cr_expect_eq(t.end.states.n, states, "%d: closing tells no state", i);
    }
    cr_expect_eq(peer_accept_in(t.listening, 100), -1, "%d: no more attempts", i);
    peer_in_done(&in);
    if (i != 1) close(fd);
    end(&t);
  }
}

Test(client, ends_waiting_calls_when_it_is_closed)
{
  struct side t;
  struct peer_in in;
  begin(&t, "", NULL, NULL);
  int fd = ready(&t, &in);
  call(&t, "x", "{}", 60000);
  usleep(20000);
  ob_service_run(t.s, close_client, &t.end);
  cr_expect_eq(t.end.answers.n, 1);
  cr_expect_eq(t.end.answer[0], OB_ANSWER_CLOSED);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(client, stops_cleanly_in_every_phase)
{
  int before = peer_open_fds();
  for (int i = 0; i < 50; i++) {
    struct side t;
    struct peer_in in;
    struct end nobody, silent, unknown;
    unsigned mute_port;
    char url[64];
    peer_in_init(&in, true);
    begin(&t, "", NULL, NULL);
    open_client(t.s, &nobody, "ws://127.0.0.1:1/", NULL, NULL);
    open_client(t.s, &unknown, "ws://unknown.test/", NULL, NULL);
    int mute = peer_listen(&mute_port);
    snprintf(url, sizeof url, "ws://127.0.0.1:%u", mute_port);
    open_client(t.s, &silent, url, NULL, NULL);
    int fd = i % 2 ? accept_upgrade(&t, &in) : -1;
    if (i % 4 == 1) usleep(5000);
    end(&t);
    if (fd >= 0) close(fd);
    close(mute);
    peer_in_done(&in);
  }
  cr_expect_eq(peer_open_fds(), before);
}

static const struct {
  const char *url, *token, *what;
} bad_options[] = {
  { "http://x", "", "begins with ws://" },
  { "ws://", "", "host is missing" },
  { "ws://:80/", "", "host is missing" },
  { "ws://a:0/", "", "port" },
  { "ws://a:65536/", "", "port" },
  { "ws://a:80x/", "", "port" },
  { "ws://[::1/", "", "]" },
  { "ws://[::1]x/", "", "port" },
  { "ws://user:pass@a/", "", "user name" },
  { "ws://a/x#y", "", "#" },
  { "ws://a/x y", "", "spaces" },
  { "ws://a/\r\nX: y", "", "spaces" },
  { "ws://a/", "a\r\nX: y", "access_token" },
  { NULL, "", "spaces" },
};

Test(client, refuses_addresses_that_cannot_work)
{
  struct peer_log log;
  struct ob_service *s = peer_service(&log);
  for (size_t i = 0; i < sizeof bad_options / sizeof *bad_options; i++) {
    struct ob_client *c = NULL;
    struct schema_error e = { 0 };
    struct ob_client_options o = { .url = bad_options[i].url,
                                   .access_token = bad_options[i].token };
    cr_expect_eq(ob_client_open(s, &o, &c, &e), SCHEMA_EARGUMENT, "row %zu", i);
    cr_expect(e.what && strstr(e.what, bad_options[i].what), "row %zu: %s", i, e.what);
  }
  char longer[1200];
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  memcpy(longer, "ws://h/", 7);
  struct ob_client *c = NULL;
  struct schema_error e = { 0 };
  cr_expect_eq(ob_client_open(s, &(struct ob_client_options) { .url = longer }, &c, &e),
               SCHEMA_EARGUMENT);
  memcpy(longer, "ws://hhh", 8);
  cr_expect_eq(ob_client_open(s, &(struct ob_client_options) { .url = longer }, &c, &e),
               SCHEMA_EARGUMENT);
  peer_service_done(s, &log);
}
