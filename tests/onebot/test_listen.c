#include "onebot/listen.h"
#include "tests/lib/peer.h"

enum { BIG = 3 * 1024 * 1024 };

/* What the handlers of one test saw. All members are written on the service thread only and read
 * after a count was reached. */
struct seen {
  struct ob_service *s;
  struct ob_listener *l;
  struct peer_log log;
  struct peer_count opened, texts, closed;
  struct ob_peer *peer;
  unsigned refuse;
  bool close_listener;
  char path[256], query[256], header[512], last[256];
  size_t last_len;
  unsigned code;
  char *big;
};

static void put(char *to, size_t cap, struct span s)
{
  snprintf(to, cap, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

static void on_request(void *ctx, struct ob_request *r)
{
  struct seen *t = ctx;
  if (span_is(r->path, "/big")) {
    ob_request_answer(r, 200, "application/octet-stream", NULL, (struct span) { t->big, BIG },
                      OB_BODY_LENT);
  } else if (span_is(r->path, "/echo")) {
    char body[1024];
    struct span q = ob_request_query(r, "q");
    int n = snprintf(body, sizeof body, "%d|%.*s|%.*s|%.*s", r->method, (int)q.len, q.ptr,
                     (int)r->body.len, r->body.ptr ? r->body.ptr : "", (int)r->content_type.len,
                     r->content_type.ptr ? r->content_type.ptr : "");
    ob_request_answer(r, 200, NULL, "X-More: yes\r\n", (struct span) { body, (size_t)n },
                      OB_BODY_COPY);
  } else if (span_is(r->path, "/nothing")) {
    ob_request_answer(r, 204, NULL, NULL, SPAN(""), OB_BODY_LENT);
  } else if (span_is(r->path, "/last")) {
    ob_listen_close(t->l);
  }
}

static unsigned on_upgrade(void *ctx, const struct ob_request *r, const char **why)
{
  struct seen *t = ctx;
  put(t->path, sizeof t->path, r->path);
  struct span token = ob_request_query(r, "access_token");
  put(t->query, sizeof t->query, token);
  snprintf(t->header, sizeof t->header, "%.*s|%.*s|%.*s", (int)r->authorization.len,
           r->authorization.ptr ? r->authorization.ptr : "", (int)r->self_id.len,
           r->self_id.ptr ? r->self_id.ptr : "", (int)r->client_role.len,
           r->client_role.ptr ? r->client_role.ptr : "");
  *why = t->refuse ? "because of the test" : NULL;
  return t->refuse;
}

static void on_open(void *ctx, struct ob_peer *p, const struct ob_request *r)
{
  struct seen *t = ctx;
  cr_expect(span_is(r->path, t->path));
  cr_expect(span_is(ob_peer_address(p), "127.0.0.1"));
  ob_peer_set_user(p, t);
  t->peer = p;
  peer_up(&t->opened);
}

static void on_text(void *ctx, struct ob_peer *p, struct span m)
{
  struct seen *t = ctx;
  cr_expect_eq(ob_peer_user(p), t);
  t->last_len = m.len;
  put(t->last, sizeof t->last, m);
  if (t->close_listener)
    ob_listen_close(t->l);
  else if (span_is(m, "close 1008"))
    ob_peer_close(p, 1008, "as asked");
  else if (span_is(m, "close 0"))
    ob_peer_close(p, 0, NULL);
  else if (span_is(m, "drop"))
    ob_peer_drop(p);
  else if (span_is(m, "pause"))
    ob_peer_pause(p, true);
  else if (!span_is(m, "mute"))
    cr_expect(ob_peer_send(p, m));
  peer_up(&t->texts);
}

static void on_closed(void *ctx, struct ob_peer *p, unsigned code)
{
  struct seen *t = ctx;
  cr_expect_eq(p, t->peer);
  t->code = code;
  peer_up(&t->closed);
}

static unsigned begin(struct seen *t, const struct ob_listen_options *more)
{
  struct schema_error e = { 0 };
  *t = (struct seen) { .opened = PEER_COUNT, .texts = PEER_COUNT, .closed = PEER_COUNT };
  t->s = peer_service(&t->log);
  struct ob_listen_options o = more ? *more : (struct ob_listen_options) { 0 };
  if (!o.host) o.host = "127.0.0.1";
  o.name = "test";
  o.on = (struct ob_listen_handlers) { .ctx = t,
                                       .request = on_request,
                                       .upgrade = on_upgrade,
                                       .open = on_open,
                                       .text = on_text,
                                       .closed = on_closed };
  cr_assert_eq(ob_listen_open(t->s, &o, &t->l, &e), SCHEMA_OK, "%s", e.what);
  cr_assert(ob_listen_port(t->l) > 0);
  return ob_listen_port(t->l);
}

static void end(struct seen *t)
{
  peer_service_done(t->s, &t->log);
}

/* Sends a request and returns the status; the body in body (NUL-terminated). */
static unsigned ask(int fd, const char *request, char *body, size_t cap)
{
  char head[2048], length[32];
  unsigned status = 0;
  peer_puts(fd, request);
  peer_read_head(fd, head, sizeof head);
  body[0] = 0;
  if (sscanf(head, "HTTP/1.1 %u", &status) != 1) return 0;
  size_t n = strtoull(peer_header(head, "Content-Length:", length, sizeof length), NULL, 10);
  if (n < cap && peer_read_all(fd, body, n)) body[n] = 0;
  return status;
}

/* A request of its own connection. */
static unsigned ask_once(unsigned port, const char *request, char *body, size_t cap)
{
  int fd = peer_connect(port);
  unsigned status = ask(fd, request, body, cap);
  close(fd);
  return status;
}

static const struct {
  const char *label, *request;
  unsigned status;
  const char *body;
} requests[] = {
  { "get with query", "GET /echo?a=1&q=%E4%BD%A0+b%26c&q=2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    200, "0|\xe4\xbd\xa0 b&c||" },
  { "empty parameter", "GET /echo?q HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "0|||" },
  { "post",
    "POST /echo?q=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: text/x\r\n"
    "Content-Length: 5\r\n\r\nhello",
    200, "1|1|hello|text/x" },
  { "post of nothing", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 200,
    "1|||" },
  { "no content", "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 204, "" },
  { "unknown path", "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not found\n" },
  { "climbing", "GET /a/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not found\n" },
  { "other method", "DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "2|||" },
  { "no length", "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    411, NULL },
  { "silly length", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", 411,
    NULL },
  { "too large", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n", 413,
    NULL },
  { "far too large",
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551617\r\n\r\n", 413,
    NULL },
  { "own page", "GET /echo HTTP/1.1\r\nHost: localhost:9\r\nOrigin: http://localhost:9\r\n\r\n",
    200, NULL },
  { "other page", "GET /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n",
    403, NULL },
  { "other port", "GET /echo HTTP/1.1\r\nHost: localhost:9\r\nOrigin: http://localhost:8\r\n\r\n",
    403, NULL },
  { "sandboxed page", "GET /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", 403, NULL },
  { "rebound name", "GET /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, NULL },
  { "rebound name with post",
    "POST /echo HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1\r\n\r\nx", 403, NULL },
  { "no host", "GET /echo HTTP/1.0\r\n\r\n", 403, NULL },
};

Test(listen, answers_requests)
{
  struct seen t;
  char body[1024];
  unsigned port = begin(&t, NULL);
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    unsigned status = ask_once(port, requests[i].request, body, sizeof body);
    cr_expect_eq(status, requests[i].status, "%s: %u", requests[i].label, status);
    if (requests[i].body) cr_expect_str_eq(body, requests[i].body, "%s", requests[i].label);
  }
  end(&t);
}

Test(listen, keeps_connections_alive_and_sends_large_bodies)
{
  struct seen t;
  unsigned port = begin(&t, NULL);
  char *body = malloc(BIG + 1), head[1024];
  t.big = malloc(BIG);
  for (size_t i = 0; i < BIG; i++) t.big[i] = (char)(i * 7 >> 3);
  int fd = peer_connect(port);
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(ask(fd, "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n", body, BIG + 1), 200);
    cr_expect_eq(memcmp(body, t.big, BIG), 0, "round %d", i);
    cr_expect_eq(
        ask(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok", body, BIG),
        200);
    cr_expect_str_eq(body, "1||ok|");
  }
  peer_puts(fd, "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  peer_read_head(fd, head, sizeof head);
  cr_expect(strstr(head, "X-More: yes\r\n"));
  cr_expect(peer_ended(fd));
  close(fd);
  end(&t);
  free(t.big);
  free(body);
}

Test(listen, refuses_upgrades_before_they_are_done)
{
  static const struct {
    const char *label, *headers;
    unsigned refuse, status;
  } rows[] = {
    { "no token", "", 401, 401 },
    { "wrong token", "", 403, 403 },
    { "wrong path", "", 404, 404 },
    { "bad self id", "", 400, 400 },
    { "foreign page", "Origin: http://evil.example\r\n", 0, 403 },
  };
  struct seen t;
  char head[1024], want[32];
  unsigned port = begin(&t, NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    t.refuse = rows[i].refuse;
    int fd = peer_dial(port, "/x", rows[i].headers, head, sizeof head);
    snprintf(want, sizeof want, "HTTP/1.1 %u ", rows[i].status);
    cr_expect_eq(strncmp(head, want, strlen(want)), 0, "%s: %s", rows[i].label, head);
    cr_expect_eq(strstr(head, "WWW-Authenticate") != NULL, rows[i].status == 401);
    cr_expect(peer_ended(fd), "%s", rows[i].label);
    close(fd);
  }
  t.refuse = 0;
  int fd = peer_connect(port);
  peer_puts(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  peer_read_head(fd, head, sizeof head);
  cr_expect_eq(strncmp(head, "HTTP/1.1 400", 12), 0, "%s", head);
  close(fd);
  fd = peer_dial(port, "/x", "Sec-WebSocket-Protocol: onebot, 11.onebot\r\n", head, sizeof head);
  cr_expect_eq(strncmp(head, "HTTP/1.1 400", 12), 0, "%s", head);
  close(fd);
  fd = peer_connect(port);
  peer_puts(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
  cr_expect(peer_ended(fd));
  close(fd);
  cr_expect_eq(t.opened.n, 0);
  end(&t);
  cr_expect_eq(t.closed.n, 0);
}

Test(listen, shows_the_headers_of_an_upgrade)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, NULL);
  int fd = peer_dial(port, "/onebot/v11/ws?access_token=a%2Bb%26c&x=1",
                     "authorization: Token abc\r\nX-SELF-ID: 10001\r\nx-client-role: Api\r\n", head,
                     sizeof head);
  cr_expect_eq(strncmp(head, "HTTP/1.1 101", 12), 0, "%s", head);
  cr_assert(peer_reached(&t.opened, 1));
  cr_expect_str_eq(t.path, "/onebot/v11/ws");
  cr_expect_str_eq(t.query, "a+b&c");
  cr_expect_str_eq(t.header, "Token abc|10001|Api");
  close(fd);
  cr_assert(peer_reached(&t.closed, 1));
  cr_expect_eq(t.code, 1006);
  end(&t);
}

Test(listen, carries_messages_of_every_form)
{
  static const char umlaut[] = "{\"x\":\"\xe4\xbd\xa0\xe5\xa5\xbd\"}";
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, NULL);
  int fd = peer_dial(port, "/", "", head, sizeof head);
  struct peer_in in;
  peer_in_init(&in, false);
  peer_text(fd, true, "hello");
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  cr_expect(span_is(in.frames.payload, "hello"));
  /* cut inside a character, a ping between, the last fragment empty */
  for (size_t i = 0; i < sizeof umlaut - 1; i++) {
    peer_frame(fd, true, i ? OB_OP_CONTINUATION : OB_OP_TEXT, false,
               (struct span) { umlaut + i, 1 });
    if (i == 8) {
      peer_frame(fd, true, OB_OP_PING, true, SPAN("p"));
      cr_expect_eq(peer_next(&in, fd), OB_FRAME_PONG);
      cr_expect(span_is(in.frames.payload, "p"));
    }
  }
  peer_frame(fd, true, OB_OP_CONTINUATION, true, SPAN(""));
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  cr_expect(span_is(in.frames.payload, umlaut));
  /* empty; many at once; large both ways */
  peer_text(fd, true, "");
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  cr_expect_eq(in.frames.payload.len, 0);
  for (int i = 0; i < 200; i++) peer_text(fd, true, "many");
  for (int i = 0; i < 200; i++) cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT, "%d", i);
  struct span big = { malloc(5u << 20), 5u << 20 };
  memset((char *)big.ptr, 'b', big.len);
  peer_frame(fd, true, OB_OP_TEXT, true, big);
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_TEXT);
  cr_expect(span_eq(in.frames.payload, big));
  free((char *)big.ptr);
  peer_in_done(&in);
  close(fd);
  end(&t);
}

/* What the peer does, the close frame it gets (0: none) and the code that is reported. */
static const struct {
  const char *label;
  unsigned opcode;
  const char *payload;
  size_t len;
  unsigned gets, reported;
} endings[] = {
  { "peer closes with a code", OB_OP_CLOSE, "\x03\xe8", 2, 1000, 1000 },
  { "peer closes with code and reason", OB_OP_CLOSE, "\x0f\xa1why", 5, 4001, 4001 },
  { "peer closes bare", OB_OP_CLOSE, "", 0, OB_CLOSE_NO_CODE, OB_CLOSE_NO_CODE },
  { "we close with a code", OB_OP_TEXT, "close 1008", 10, 1008, 1008 },
  { "we close bare", OB_OP_TEXT, "close 0", 7, OB_CLOSE_NO_CODE, OB_CLOSE_NO_CODE },
  { "we drop", OB_OP_TEXT, "drop", 4, 0, 1006 },
  { "binary", OB_OP_BINARY, "x", 1, 1003, 1003 },
  { "too large", OB_OP_TEXT, "a message of more than sixteen bytes", 36, 1009, 1009 },
  { "unknown opcode", 3, "x", 1, 1002, 1002 },
};

Test(listen, ends_connections_in_every_way)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, &(struct ob_listen_options) { .message_max = 16 });
  int before = peer_open_fds();
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const char *label = endings[i].label;
    int fd = peer_dial(port, "/", "", head, sizeof head);
    struct peer_in in;
    peer_in_init(&in, false);
    peer_frame(fd, true, endings[i].opcode, true,
               (struct span) { endings[i].payload, endings[i].len });
    enum ob_frame_kind kind = peer_next(&in, fd);
    cr_expect_eq(kind, endings[i].gets ? OB_FRAME_CLOSE : OB_FRAME_MORE, "%s: %d", label, kind);
    if (kind == OB_FRAME_CLOSE) {
      cr_expect_eq(in.frames.code, endings[i].gets, "%s: %u", label, in.frames.code);
      if (endings[i].opcode != OB_OP_CLOSE)
        peer_frame(fd, true, OB_OP_CLOSE, true,
                   endings[i].gets == OB_CLOSE_NO_CODE ? SPAN("") : SPAN("\x03\xe8"));
    }
    cr_expect(peer_ended(fd), "%s", label);
    peer_in_done(&in);
    close(fd);
    cr_assert(peer_reached(&t.closed, (int)i + 1), "%s", label);
    cr_expect_eq(t.code, endings[i].reported, "%s: %u", label, t.code);
  }
  for (int i = 0; i < 50 && peer_open_fds() != before; i++) usleep(20000);
  cr_expect_eq(peer_open_fds(), before);
  end(&t);
}

Test(listen, takes_nothing_after_a_goodbye)
{
  struct seen t;
  struct peer_in in;
  char head[1024], bytes[64];
  unsigned port = begin(&t, NULL);
  int fd = peer_dial(port, "/", "", head, sizeof head);
  peer_in_init(&in, false);
  struct span code = SPAN("\x03\xe8"), word = SPAN("late");
  static const unsigned char mask[4] = { 1, 2, 3, 4 };
  size_t n = ob_frame_write(bytes, OB_OP_CLOSE, &code, 1, mask);
  n += ob_frame_write(bytes + n, OB_OP_TEXT, &word, 1, mask);
  peer_write(fd, (struct span) { bytes, n });
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE);
  peer_in_done(&in);
  close(fd);
  cr_expect(peer_reached(&t.closed, 1));
  cr_expect_eq(t.texts.n, 0);
  end(&t);
}

Test(listen, drops_silent_peers)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, &(struct ob_listen_options) { .ping_s = 1 });
  int silent = peer_dial(port, "/", "", head, sizeof head);
  cr_assert(peer_reached(&t.opened, 1));
  struct peer_in in;
  peer_in_init(&in, false);
  cr_expect_eq(peer_next(&in, silent), OB_FRAME_PING);
  cr_expect_eq(peer_next(&in, silent), OB_FRAME_MORE);
  cr_assert(peer_reached(&t.closed, 1));
  cr_expect(peer_logged(&t.log, "silent"));
  peer_in_done(&in);
  close(silent);
  /* one that answers stays */
  int alive = peer_dial(port, "/", "", head, sizeof head);
  peer_in_init(&in, false);
  for (int i = 0; i < 2; i++) {
    cr_expect_eq(peer_next(&in, alive), OB_FRAME_PING, "%d", i);
    peer_frame(alive, true, OB_OP_PONG, true, in.frames.payload);
  }
  cr_expect_eq(t.closed.n, 1);
  peer_in_done(&in);
  close(alive);
  end(&t);
}

static void pause_peer(void *arg)
{
  struct seen *t = arg;
  ob_peer_pause(t->peer, true);
}

static void resume_peer(void *arg)
{
  struct seen *t = arg;
  ob_peer_pause(t->peer, false);
}

Test(listen, stops_reading_while_paused)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, NULL);
  int fd = peer_dial(port, "/", "", head, sizeof head);
  cr_assert(peer_reached(&t.opened, 1));
  ob_service_run(t.s, pause_peer, &t);
  peer_text(fd, true, "mute");
  cr_expect(!peer_reached_in(&t.texts, 1, 200));
  ob_service_run(t.s, resume_peer, &t);
  cr_expect(peer_reached(&t.texts, 1));
  close(fd);
  end(&t);
}

static void fill(void *arg)
{
  struct seen *t = arg;
  static char block[1 << 20];
  int taken = 0;
  while (ob_peer_send(t->peer, (struct span) { block, sizeof block }) && taken < 1000) taken++;
  cr_expect_geq(taken, 99);
  cr_expect_leq(taken, 100);
  cr_expect_leq(ob_peer_queued(t->peer), (size_t)OB_PEER_QUEUE_MAX);
}

Test(listen, bounds_what_waits_for_a_peer)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, NULL);
  int fd = peer_dial(port, "/", "", head, sizeof head);
  cr_assert(peer_reached(&t.opened, 1));
  ob_service_run(t.s, fill, &t);
  close(fd);
  cr_expect(peer_reached(&t.closed, 1));
  end(&t);
}

Test(listen, may_be_closed_by_its_own_handlers)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, NULL);
  int page = peer_connect(port); /* an idle HTTP connection must not hinder it */
  int fd = peer_dial(port, "/", "", head, sizeof head);
  struct peer_in in;
  peer_in_init(&in, false);
  t.close_listener = true;
  peer_text(fd, true, "x");
  cr_expect_eq(peer_next(&in, fd), OB_FRAME_CLOSE);
  cr_expect_eq(in.frames.code, 1001);
  cr_assert(peer_reached(&t.closed, 1));
  cr_expect(peer_ended(page));
  peer_in_done(&in);
  close(page);
  close(fd);
  cr_expect_eq(peer_connect(port), -1, "the port is free");
  end(&t);
  /* and inside a request */
  port = begin(&t, NULL);
  char body[16];
  cr_expect_eq(ask_once(port, "GET /last HTTP/1.1\r\nHost: localhost\r\n\r\n", body, sizeof body),
               0);
  end(&t);
}

Test(listen, gives_its_port_back_at_once)
{
  struct seen t;
  struct schema_error e = { 0 };
  char head[1024];
  unsigned port = begin(&t, NULL);
  struct ob_listen_options o = { .host = "127.0.0.1", .port = port };
  struct ob_listener *second = NULL;
  cr_expect_eq(ob_listen_open(t.s, &o, &second, &e), SCHEMA_EARGUMENT);
  cr_expect_not_null(strstr(e.what, "in use"));
  int before = peer_open_fds();
  for (int i = 0; i < 50; i++) {
    ob_listen_close(t.l);
    o.on = (struct ob_listen_handlers) { .ctx = &t, .upgrade = on_upgrade, .open = on_open };
    cr_assert_eq(ob_listen_open(t.s, &o, &t.l, &e), SCHEMA_OK, "%d: %s", i, e.what);
    int fd = peer_dial(port, "/", "", head, sizeof head);
    cr_expect_eq(strncmp(head, "HTTP/1.1 101", 12), 0, "%d", i);
    close(fd);
  }
  for (int i = 0; i < 50 && peer_open_fds() != before; i++) usleep(20000);
  cr_expect_eq(peer_open_fds(), before);
  end(&t);
}

static const struct {
  const char *host, *what;
} bad_hosts[] = {
  { "192.0.2.1", "no address of this machine" },
  { "example", "no address" },
  { "", "no address" },
};

Test(listen, says_why_it_cannot_listen)
{
  struct seen t;
  begin(&t, NULL);
  for (size_t i = 0; i < sizeof bad_hosts / sizeof *bad_hosts; i++) {
    struct schema_error e = { 0 };
    struct ob_listener *l = NULL;
    struct ob_listen_options o = { .host = bad_hosts[i].host };
    cr_expect_eq(ob_listen_open(t.s, &o, &l, &e), SCHEMA_EARGUMENT, "%s", bad_hosts[i].host);
    cr_expect(e.what && strstr(e.what, bad_hosts[i].what), "%s: %s", bad_hosts[i].host, e.what);
    cr_expect_null(l);
  }
  end(&t);
}

Test(listen, on_all_addresses_takes_numbers_and_names_without_a_page)
{
  static const struct {
    const char *request;
    bool served;
  } rows[] = {
    { "GET /echo HTTP/1.1\r\nHost: 192.0.2.7:80\r\n\r\n", true },
    { "GET /echo HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", true },
    { "GET /echo HTTP/1.1\r\nHost: some.name\r\n\r\n", false },
  };
  struct seen t;
  char body[256], head[1024];
  unsigned port = begin(&t, &(struct ob_listen_options) { .host = "0.0.0.0" });
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(ask_once(port, rows[i].request, body, sizeof body), rows[i].served ? 200 : 403,
                 "%zu", i);
  int fd = peer_connect(port);
  peer_puts(fd, "GET / HTTP/1.1\r\nHost: container:80\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  peer_read_head(fd, head, sizeof head);
  cr_expect_eq(strncmp(head, "HTTP/1.1 101", 12), 0, "%s", head);
  close(fd);
  end(&t);
}

/* It shows life all the while; the other one is closed with all that still waits for it. */
Test(listen, drops_who_takes_nothing)
{
  enum { COUNT = 8 };
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, &(struct ob_listen_options) { .ping_s = 1 });
  char *big = malloc(BIG + 1);
  cr_assert(big);
  memset(big, 'x', BIG);
  big[BIG] = '\0';
  for (int round = 0; round < 2; round++) {
    int fd = peer_dial(port, "/", "", head, sizeof head);
    for (int i = 0; i < COUNT; i++) peer_text(fd, true, big);
    if (round == 1) peer_text(fd, true, "close 1008");
    for (int i = 0; i < 40 && t.closed.n == round; i++) {
      if (round == 0) peer_text(fd, true, "mute");
      usleep(100000);
    }
    cr_expect(peer_reached(&t.closed, round + 1));
    close(fd);
  }
  cr_expect(peer_logged(&t.log, "takes nothing"));
  cr_expect_not(peer_logged(&t.log, "silent"));
  free(big);
  end(&t);
}

/* We do not hear it because we do not listen. */
Test(listen, keeps_who_is_paused)
{
  struct seen t;
  char head[1024];
  unsigned port = begin(&t, &(struct ob_listen_options) { .ping_s = 1 });
  int fd = peer_dial(port, "/", "", head, sizeof head);
  peer_text(fd, true, "pause");
  cr_expect(peer_reached(&t.texts, 1));
  usleep(3500000);
  cr_expect_eq(t.closed.n, 0);
  close(fd);
  end(&t);
}

Test(listen, survives_garbage)
{
  static const char *const rows[] = { "\x16\x03\x01\x02\x00\x01", "GET\r\n\r\n", "\r\n\r\n\r\n",
                                      "GET / HTTP/1.1\r\nHost:",
                                      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" };
  struct seen t;
  char body[256];
  unsigned port = begin(&t, NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int fd = peer_connect(port);
    peer_puts(fd, rows[i]);
    close(fd);
  }
  char *long_head = malloc(20000);
  memset(long_head, 'a', 19999);
  long_head[19999] = 0;
  memcpy(long_head, "GET /", 5);
  int fd = peer_connect(port);
  peer_puts(fd, long_head);
  cr_expect(peer_ended(fd));
  close(fd);
  free(long_head);
  cr_expect_eq(
      ask_once(port, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", body, sizeof body), 204);
  end(&t);
}

Test(listen, bounds_its_connections)
{
  struct seen t;
  char body[64];
  unsigned port = begin(&t, NULL);
  int fds[80];
  for (int i = 0; i < 80; i++) fds[i] = peer_connect(port);
  cr_expect(peer_ended(fds[0]), "above the limit: the oldest that asked for nothing is hung up");
  cr_expect_not(peer_wait(fds[79], POLLIN, 100), "who comes gets in");
  for (int i = 0; i < 80; i++) close(fds[i]);
  unsigned status = 0;
  for (int i = 0; i < 50 && status != 204; i++) {
    status = ask_once(port, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", body, sizeof body);
    if (status != 204) usleep(20000);
  }
  cr_expect_eq(status, 204);
  end(&t);
}
