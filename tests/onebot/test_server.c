#include "onebot/client.h"
#include "onebot/server.h"
#include "tests/lib/peer.h"

enum { MAX = 64 };

struct seen {
  struct ob_service *s;
  struct ob_server *v;
  struct peer_log log;
  struct peer_count states, events, answers;
  enum ob_link_state state[MAX];
  char why[MAX][256], event[512];
  enum ob_answer_kind answer[MAX];
  char json[256];
  bool close_on_event;
};

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct seen *t = ctx;
  int n = t->states.n % MAX;
  t->state[n] = state;
  snprintf(t->why[n], sizeof t->why[n], "%s", why);
  peer_up(&t->states);
}

static void on_event(void *ctx, struct span json)
{
  struct seen *t = ctx;
  snprintf(t->event, sizeof t->event, "%.*s", (int)(json.len < 500 ? json.len : 500), json.ptr);
  if (t->close_on_event) ob_server_close(t->v);
  peer_up(&t->events);
}

static void on_answer(void *ctx, const struct ob_answer *answer)
{
  struct seen *t = ctx;
  t->answer[t->answers.n % MAX] = answer->kind;
  snprintf(t->json, sizeof t->json, "%.*s", (int)answer->json.len,
           answer->json.ptr ? answer->json.ptr : "");
  peer_up(&t->answers);
}

static unsigned begin(struct seen *t, const char *path, const char *token)
{
  struct schema_error e = { 0 };
  *t = (struct seen) { .states = PEER_COUNT, .events = PEER_COUNT, .answers = PEER_COUNT };
  t->s = peer_service(&t->log);
  struct ob_server_options o = { .name = "main",
                                 .host = "127.0.0.1",
                                 .path = path,
                                 .access_token = token,
                                 .on = { t, on_state, on_event },
                                 .probe_ms = 200 };
  cr_assert_eq(ob_server_open(t->s, &o, &t->v, &e), SCHEMA_OK, "%s", e.what);
  return ob_server_port(t->v);
}

static void end(struct seen *t)
{
  peer_service_done(t->s, &t->log);
}

/* Dials and returns the status of the answer. */
static unsigned dial(unsigned port, const char *path, const char *headers, int *fd)
{
  char head[1024];
  unsigned status = 0;
  *fd = peer_dial(port, path, headers, head, sizeof head);
  sscanf(head, "HTTP/1.1 %u", &status);
  return status;
}

static const struct {
  const char *label, *token, *path, *headers;
  unsigned status;
} upgrades[] = {
  { "napcat", "abc", "/onebot/v11/ws",
    "Authorization: Bearer abc\r\nX-Self-ID: 10001\r\nx-client-role: Universal\r\n", 101 },
  { "lagrange", "abc", "/onebot/v11/ws",
    "Authorization: Bearer abc\r\nX-Self-ID: 10001\r\nX-Client-Role: Api\r\n", 101 },
  { "go-cqhttp", "abc", "/onebot/v11/ws",
    "Authorization: Token abc\r\nX-Self-ID: 10001\r\nX-Client-Role: API\r\n", 101 },
  { "onebots", "abc", "/onebot/v11/ws?access_token=abc",
    "X-Self-ID: 10001\r\nX-Client-Role: Universal\r\n", 101 },
  { "any case", "abc", "/onebot/v11/ws",
    "authorization: bEARER   abc \r\nX-SELF-ID: 10001\r\nX-CLIENT-ROLE: eVENT\r\n", 101 },
  { "no role", "abc", "/onebot/v11/ws", "Authorization: Bearer abc\r\nX-Self-ID: 10001\r\n", 101 },
  { "napcat without token", "", "/onebot/v11/ws", "Authorization: Bearer \r\nX-Self-ID: 1\r\n",
    101 },
  { "none wanted, one given", "", "/onebot/v11/ws", "Authorization: Bearer x\r\nX-Self-ID: 1\r\n",
    101 },
  { "final slash", "", "/onebot/v11/ws/", "X-Self-ID: 1\r\n", 101 },
  { "percent in the query", "a+b&c", "/onebot/v11/ws?access_token=a%2Bb%26c", "X-Self-ID: 1\r\n",
    101 },
  { "empty bearer, token in the query", "abc", "/onebot/v11/ws?access_token=abc",
    "Authorization: Basic x\r\nX-Self-ID: 1\r\n", 101 },
  { "missing token", "abc", "/onebot/v11/ws", "X-Self-ID: 10001\r\n", 401 },
  { "empty token", "abc", "/onebot/v11/ws", "Authorization: Bearer \r\nX-Self-ID: 10001\r\n", 401 },
  { "no scheme", "abc", "/onebot/v11/ws", "Authorization: abc\r\nX-Self-ID: 10001\r\n", 401 },
  { "wrong token", "abc", "/onebot/v11/ws", "Authorization: Bearer abd\r\nX-Self-ID: 10001\r\n",
    403 },
  { "beginning of the token", "abc", "/onebot/v11/ws",
    "Authorization: Bearer ab\r\nX-Self-ID: 10001\r\n", 403 },
  { "more than the token", "abc", "/onebot/v11/ws",
    "Authorization: Bearer abcabc\r\nX-Self-ID: 10001\r\n", 403 },
  { "wrong token in the query", "abc", "/onebot/v11/ws?access_token=x", "X-Self-ID: 10001\r\n",
    403 },
  { "no self id", "abc", "/onebot/v11/ws", "Authorization: Bearer abc\r\n", 400 },
  { "self id is no number", "", "/onebot/v11/ws", "X-Self-ID: 10x\r\n", 400 },
  { "negative self id", "", "/onebot/v11/ws", "X-Self-ID: -1\r\n", 400 },
  { "unknown role", "", "/onebot/v11/ws", "X-Self-ID: 1\r\nX-Client-Role: Boss\r\n", 400 },
  { "wrong path", "", "/onebot/v11", "X-Self-ID: 1\r\n", 404 },
  { "longer path", "", "/onebot/v11/ws/x", "X-Self-ID: 1\r\n", 404 },
  { "foreign page", "", "/onebot/v11/ws", "X-Self-ID: 1\r\nOrigin: http://evil.example\r\n", 403 },
};

Test(server, lets_in_who_may_come)
{
  for (size_t i = 0; i < sizeof upgrades / sizeof *upgrades; i++) {
    struct seen t;
    int fd;
    unsigned port = begin(&t, "/onebot/v11/ws", upgrades[i].token);
    unsigned status = dial(port, upgrades[i].path, upgrades[i].headers, &fd);
    cr_expect_eq(status, upgrades[i].status, "%s: %u", upgrades[i].label, status);
    if (status != 101) cr_expect(peer_ended(fd), "%s", upgrades[i].label);
    cr_expect(!peer_logged(&t.log, "abd"), "no token in a line");
    close(fd);
    end(&t);
  }
}

static void next_request(struct peer_in *in, int fd, const char *action, char echo[64])
{
  char want[128], text[2048];
  cr_assert_eq(peer_next(in, fd), OB_FRAME_TEXT, "%s", action);
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
  peer_text(fd, true, text);
}

static void answer_probes(struct peer_in *in, int fd)
{
  char echo[64];
  next_request(in, fd, "get_version_info", echo);
  respond(fd, echo, "{\"app_name\":\"Lagrange.OneBot\",\"app_version\":\"0.0.3\"}");
  next_request(in, fd, "get_login_info", echo);
  respond(fd, echo, "{\"user_id\":10001}");
}

static bool came(struct seen *t, enum ob_link_state state, const char *why)
{
  for (int i = 0; i < MAX; i++) {
    if (!peer_reached(&t->states, i + 1)) return false;
    if (t->state[i] == state && strstr(t->why[i], why)) return true;
  }
  return false;
}

static void run_call(void *arg)
{
  struct seen *t = arg;
  ob_link_call(ob_server_link(t->v), SPAN("send_msg"), SPAN("{\"a\":1}"), 60000, on_answer, t);
}

static void call(struct seen *t)
{
  cr_assert(ob_service_run(t->s, run_call, t));
}

#define UNIVERSAL "X-Self-ID: 10001\r\nX-Client-Role: Universal\r\n"
#define API "X-Self-ID: 10001\r\nX-Client-Role: Api\r\n"
#define EVENT "X-Self-ID: 10001\r\nX-Client-Role: Event\r\n"
#define NOTICE "{\"post_type\":\"notice\"}"

Test(server, shows_the_same_link_as_a_client)
{
  struct seen t;
  struct peer_in in;
  char echo[64];
  int fd;
  unsigned port = begin(&t, "", "");
  call(&t);
  cr_expect_eq(t.answer[0], OB_ANSWER_NOT_WRITTEN, "nobody is there");
  cr_assert_eq(dial(port, "/anything", UNIVERSAL, &fd), 101);
  peer_in_init(&in, false);
  answer_probes(&in, fd);
  cr_expect(came(&t, OB_LINK_READY, "Lagrange.OneBot 0.0.3, account 10001"));
  cr_expect_eq(ob_link_profile(ob_server_link(t.v))->id, OB_LAGRANGE);
  call(&t);
  next_request(&in, fd, "send_msg", echo);
  respond(fd, echo, "{\"message_id\":7}");
  cr_expect(peer_reached(&t.answers, 2));
  cr_expect(strstr(t.json, "\"message_id\":7"));
  peer_text(fd, true, NOTICE);
  cr_expect(peer_reached(&t.events, 1));
  call(&t);
  next_request(&in, fd, "send_msg", echo);
  close(fd);
  cr_expect(peer_reached(&t.answers, 3));
  cr_expect_eq(t.answer[2], OB_ANSWER_CLOSED);
  cr_expect(came(&t, OB_LINK_DOWN, "code 1006"));
  peer_in_done(&in);
  end(&t);
}

Test(server, keeps_one_connection_of_a_role)
{
  struct seen t;
  struct peer_in in, in2;
  int old, new;
  unsigned port = begin(&t, "", "");
  for (int round = 1; round <= 2; round++) {
    peer_in_init(&in, false);
    peer_in_init(&in2, false);
    cr_assert_eq(dial(port, "/", UNIVERSAL, &old), 101);
    answer_probes(&in, old);
    cr_assert_eq(dial(port, "/", UNIVERSAL, &new), 101);
    cr_expect_eq(peer_next(&in, old), OB_FRAME_CLOSE);
    cr_expect_eq(in.frames.code, 1008);
    peer_text(old, true, NOTICE); /* it has not noticed yet */
    answer_probes(&in2, new);
    peer_text(new, true, NOTICE);
    cr_expect(peer_reached(&t.events, round));
    usleep(50000);
    cr_expect_eq(t.events.n, round, "each event once");
    cr_expect_eq(ob_link_state(ob_server_link(t.v)), OB_LINK_READY);
    close(old);
    close(new);
    peer_in_done(&in);
    peer_in_done(&in2);
    for (int i = 0; i < 50 && ob_link_state(ob_server_link(t.v)) != OB_LINK_DOWN; i++)
      usleep(20000);
    cr_expect_eq(ob_link_state(ob_server_link(t.v)), OB_LINK_DOWN);
  }
  end(&t);
}

Test(server, joins_api_and_event)
{
  struct seen t;
  struct peer_in in, in2;
  char echo[64];
  int event, api, universal;
  unsigned port = begin(&t, "", "");
  peer_in_init(&in, false);
  peer_in_init(&in2, false);
  cr_assert_eq(dial(port, "/", EVENT, &event), 101);
  cr_assert_eq(dial(port, "/", API, &api), 101);
  answer_probes(&in, api);
  cr_expect(came(&t, OB_LINK_READY, "10001"));
  peer_text(event, true, NOTICE);
  cr_expect(peer_reached(&t.events, 1));
  call(&t);
  next_request(&in, api, "send_msg", echo);
  respond(api, echo, "1");
  cr_expect(peer_reached(&t.answers, 1));
  /* the event connection alone may go and come */
  close(event);
  for (int i = 0; i < 50 && !peer_logged(&t.log, "no events now"); i++) usleep(20000);
  cr_expect(peer_logged(&t.log, "no events now"));
  cr_expect_eq(ob_link_state(ob_server_link(t.v)), OB_LINK_READY);
  cr_assert_eq(dial(port, "/", EVENT, &event), 101);
  peer_text(event, true, NOTICE);
  cr_expect(peer_reached(&t.events, 2));
  /* a universal one takes the place of both */
  cr_assert_eq(dial(port, "/", UNIVERSAL, &universal), 101);
  peer_frame(event, true, OB_OP_CLOSE, true, SPAN("\x03\xe8"));
  peer_frame(api, true, OB_OP_CLOSE, true, SPAN("\x03\xe8"));
  cr_expect(peer_ended(event));
  cr_expect(peer_ended(api));
  answer_probes(&in2, universal);
  peer_text(universal, true, NOTICE);
  cr_expect(peer_reached(&t.events, 3));
  close(event);
  close(api);
  close(universal);
  peer_in_done(&in);
  peer_in_done(&in2);
  end(&t);
}

static void run_pause(void *arg)
{
  struct seen *t = arg;
  ob_link_pause(ob_server_link(t->v), true);
}

static void run_resume(void *arg)
{
  struct seen *t = arg;
  ob_link_pause(ob_server_link(t->v), false);
}

/* The link that begins with a new API connection is not paused, so its Event connection is not. */
Test(server, begins_a_link_unpaused)
{
  struct seen t;
  int event, api, newer;
  unsigned port = begin(&t, "", "");
  cr_assert_eq(dial(port, "/", EVENT, &event), 101);
  cr_assert_eq(dial(port, "/", API, &api), 101);
  cr_expect(came(&t, OB_LINK_OPEN, ""));
  ob_service_run(t.s, run_pause, &t);
  peer_text(event, true, NOTICE);
  cr_expect_not(peer_reached_in(&t.events, 1, 200));
  cr_assert_eq(dial(port, "/", API, &newer), 101);
  cr_expect(peer_reached(&t.events, 1));
  ob_service_run(t.s, run_pause, &t);
  peer_text(event, true, NOTICE);
  cr_expect_not(peer_reached_in(&t.events, 2, 200));
  ob_service_run(t.s, run_resume, &t);
  cr_expect(peer_reached(&t.events, 2));
  close(event);
  close(api);
  close(newer);
  end(&t);
}

Test(server, serves_one_account_at_a_time)
{
  struct seen t;
  int first, second;
  unsigned port = begin(&t, "", "");
  cr_assert_eq(dial(port, "/", UNIVERSAL, &first), 101);
  cr_assert(peer_reached(&t.states, 1));
  cr_expect_eq(dial(port, "/", "X-Self-ID: 10002\r\n", &second), 403);
  close(second);
  cr_expect(peer_logged(&t.log, "another account is connected"));
  close(first);
  for (int i = 0; i < 50 && ob_link_state(ob_server_link(t.v)) != OB_LINK_DOWN; i++) usleep(20000);
  cr_expect_eq(dial(port, "/", "X-Self-ID: 10002\r\n", &second), 101, "the first has gone");
  close(second);
  end(&t);
}

Test(server, takes_missed_heartbeats_for_death)
{
  struct seen t;
  int fd;
  unsigned port = begin(&t, "", "");
  cr_assert_eq(dial(port, "/", UNIVERSAL, &fd), 101);
  peer_text(fd, true,
            "{\"post_type\":\"meta_event\",\"meta_event_type\":\"heartbeat\",\"interval\":1000}");
  cr_expect(came(&t, OB_LINK_DOWN, "nothing was heard for 3 s"));
  cr_expect_eq(ob_link_state(ob_server_link(t.v)), OB_LINK_DOWN);
  close(fd);
  end(&t);
}

Test(server, may_be_closed_by_its_own_callbacks)
{
  struct seen t;
  struct peer_in in;
  int fd;
  unsigned port = begin(&t, "", "");
  cr_assert_eq(dial(port, "/", UNIVERSAL, &fd), 101);
  cr_assert(peer_reached(&t.states, 1));
  call(&t);
  int states = t.states.n;
  t.close_on_event = true;
  peer_text(fd, true, NOTICE);
  peer_text(fd, true, NOTICE);
  peer_in_init(&in, false);
  while (peer_next(&in, fd) == OB_FRAME_TEXT) {
  }
  cr_expect_eq(in.frames.code, 1001);
  cr_expect(peer_ended(fd));
  cr_expect_eq(t.events.n, 1);
  cr_expect_leq(t.states.n, states + 1); /* at most READY, which the event may have brought */
  cr_expect_eq(t.answers.n, 1);
  cr_expect_eq(peer_connect(port), -1, "the port is free");
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(server, says_why_it_cannot_listen)
{
  struct seen t;
  struct schema_error e = { 0 };
  struct ob_server *second = NULL;
  unsigned port = begin(&t, "", "");
  struct ob_server_options o = { .host = "127.0.0.1", .port = port };
  cr_expect_eq(ob_server_open(t.s, &o, &second, &e), SCHEMA_EARGUMENT);
  cr_expect_not_null(strstr(e.what, "in use"));
  cr_expect_null(second);
  end(&t);
}

struct big_job {
  struct seen *t;
  struct span params;
};

static void run_big(void *arg)
{
  struct big_job *j = arg;
  ob_link_call(ob_server_link(j->t->v), SPAN("big"), j->params, 60000, on_answer, j->t);
}

Test(server, carries_large_actions_in_fragments)
{
  static const char head[] = "{\"action\":\"big\",\"params\":";
  struct seen t;
  struct peer_in in;
  int fd;
  unsigned port = begin(&t, "", "");
  cr_assert_eq(dial(port, "/", UNIVERSAL, &fd), 101);
  peer_in_init(&in, false);
  answer_probes(&in, fd);
  size_t size = 3u << 20;
  char *params = malloc(size);
  for (size_t i = 0; i < size; i++) params[i] = (char)('a' + i % 23);
  params[0] = params[size - 1] = '"';
  struct big_job j = { &t, { params, size } };
  cr_assert(ob_service_run(t.s, run_big, &j));
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  struct span got = in.frames.payload;
  cr_assert_gt(got.len, size + sizeof head);
  cr_expect_eq(memcmp(got.ptr, head, sizeof head - 1), 0);
  cr_expect_eq(memcmp(got.ptr + sizeof head - 1, params, size), 0);
  free(params);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

Test(server, is_reached_over_ipv6)
{
  struct seen t, client = { .states = PEER_COUNT, .events = PEER_COUNT, .answers = PEER_COUNT };
  struct schema_error e = { 0 };
  struct ob_server *v = NULL;
  struct ob_client *c = NULL;
  char url[64];
  begin(&t, "", "");
  struct ob_server_options o = { .host = "::1", .on = { &t, on_state, on_event } };
  cr_assert_eq(ob_server_open(t.s, &o, &v, &e), SCHEMA_OK, "%s", e.what);
  snprintf(url, sizeof url, "ws://[::1]:%u/x", ob_server_port(v));
  struct ob_client_options dial = { .url = url, .on = { &client, on_state, on_event } };
  cr_assert_eq(ob_client_open(t.s, &dial, &c, &e), SCHEMA_OK, "%s", e.what);
  /* our client has no account to show */
  cr_expect(came(&client, OB_LINK_REFUSED, "/x answers HTTP 400"));
  end(&t);
}
