#include "onebot/client.h"
#include "tests/lib/peer.h"

/* ---- a WebSocket server with TLS ---- */

#define HELLO                                                                                      \
  "{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\","      \
  "\"self_id\":10001}"

struct host {
  struct lws_context *lws;
  unsigned port;
  pthread_t thread;
  volatile bool stop;
  size_t got; /* bytes of messages */
  struct peer_count hellos, bigs;
};

enum { BIG = 20 << 20 };

static int host_serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                      size_t len)
{
  (void)user;
  struct host *h = lws_context_user(lws_get_context(wsi));
  if (reason == LWS_CALLBACK_ESTABLISHED) lws_callback_on_writable(wsi);
  if (reason == LWS_CALLBACK_RECEIVE) {
    h->got += len;
    if (len && ((char *)in)[len - 1] == '}' && h->got > BIG) peer_up(&h->bigs);
  }
  if (reason == LWS_CALLBACK_SERVER_WRITEABLE) {
    char hello[LWS_PRE + sizeof HELLO];
    memcpy(hello + LWS_PRE, HELLO, sizeof HELLO - 1);
    lws_write(wsi, (unsigned char *)hello + LWS_PRE, sizeof HELLO - 1, LWS_WRITE_TEXT);
    if (h->hellos.n == 0) {
      char *big = malloc(LWS_PRE + BIG);
      memset(big + LWS_PRE, ' ', BIG);
      memcpy(big + LWS_PRE, HELLO, sizeof HELLO - 1);
      lws_write(wsi, (unsigned char *)big + LWS_PRE, BIG, LWS_WRITE_TEXT);
      free(big);
    }
    peer_up(&h->hellos);
  }
  return 0;
}

static void *host_run(void *arg)
{
  struct host *h = arg;
  while (!h->stop) lws_service(h->lws, 0);
  return NULL;
}

static const char *data_path(const char *name, char to[512])
{
  const char *tests = getenv("RG_TESTS");
  snprintf(to, 512, "%s/data/tls/%s", tests ? tests : "tests", name);
  return to;
}

static void host_begin(struct host *h, const char *certificate)
{
  static const struct lws_protocols protocols[] = { { .name = "x", .callback = host_serve },
                                                    { .name = NULL } };
  char cert[512], key[512];
  struct lws_context_creation_info info = {
    .port = CONTEXT_PORT_NO_LISTEN,
    .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
    .fd_limit_per_thread = 64,
    .user = h,
    .http_proxy_address = ":0",
    .gid = (gid_t)-1,
    .uid = (uid_t)-1,
  };
  peer_process_lock();
  peer_process_unlock();
  *h = (struct host) { .hellos = PEER_COUNT, .bigs = PEER_COUNT };
  h->lws = lws_create_context(&info);
  info.port = 0;
  info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_IPV6;
  info.protocols = protocols;
  info.ssl_cert_filepath = data_path(certificate, cert);
  info.ssl_private_key_filepath = data_path("server.key", key);
  struct lws_vhost *v = lws_create_vhost(h->lws, &info);
  cr_assert_not_null(v);
  h->port = (unsigned)lws_get_vhost_listen_port(v);
  pthread_create(&h->thread, NULL, host_run, h);
}

static void host_end(struct host *h)
{
  h->stop = true;
  lws_cancel_service(h->lws);
  pthread_join(h->thread, NULL);
  lws_context_destroy(h->lws);
}

/* ---- the client ---- */

struct end {
  struct peer_count states, events;
  enum ob_link_state state[64];
  char why[64][256];
  size_t longest;
};

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct end *e = ctx;
  e->state[e->states.n % 64] = state;
  snprintf(e->why[e->states.n % 64], 256, "%s", why);
  peer_up(&e->states);
}

static void on_event(void *ctx, struct span json)
{
  struct end *e = ctx;
  cr_expect(span_starts(json, SPAN(HELLO)));
  e->longest = json.len > e->longest ? json.len : e->longest;
  peer_up(&e->events);
}

static struct ob_client *open_client(struct ob_service *s, struct end *e, const char *scheme,
                                     const char *name, unsigned port, const char *ca)
{
  char url[128], path[512];
  struct schema_error error = { 0 };
  struct ob_client *c = NULL;
  *e = (struct end) { .states = PEER_COUNT, .events = PEER_COUNT };
  snprintf(url, sizeof url, "%s://%s:%u/", scheme, name, port);
  struct ob_client_options o = {
    .name = "main",
    .url = url,
    .ca = ca ? data_path(ca, path) : NULL,
    .on = { e, on_state, on_event },
    .timing = { .backoff_min = 200, .backoff_max = 500, .handshake = 1500, .probe = 100 },
  };
  cr_assert_eq(ob_client_open(s, &o, &c, &error), SCHEMA_OK, "%s", error.what);
  return c;
}

static const struct {
  const char *label, *certificate, *scheme, *name, *ca;
  const char *why; /* NULL: it becomes ready */
} rows[] = {
  { "by name", "good.pem", "wss", "localhost", "ca.pem", NULL },
  { "by address", "good.pem", "wss", "127.0.0.1", "ca.pem", NULL },
  { "by another address", "good.pem", "wss", "127.0.0.2", "ca.pem", "mismatch" },
  { "unknown authority", "good.pem", "wss", "localhost", NULL, "issuer certificate" },
  { "wrong authority", "good.pem", "wss", "localhost", "good.pem", "certificate" },
  { "expired", "expired.pem", "wss", "localhost", "ca.pem", "expired" },
  { "no ca file", "good.pem", "wss", "localhost", "missing.pem", "is the ca file there" },
  { "no tls", "good.pem", "ws", "localhost", NULL, "" },
};

Test(client_tls, trusts_only_the_right_certificate)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct host h;
    struct end e;
    struct peer_log log;
    host_begin(&h, rows[i].certificate);
    struct ob_service *s = peer_service(&log);
    open_client(s, &e, rows[i].scheme, rows[i].name, h.port, rows[i].ca);
    if (rows[i].why) {
      cr_expect(peer_reached(&e.states, 1), "%s", rows[i].label);
      cr_expect_eq(e.state[0], OB_LINK_DOWN, "%s", rows[i].label);
      cr_expect(strstr(e.why[0], rows[i].why), "%s: %s", rows[i].label, e.why[0]);
      cr_expect_eq(e.events.n, 0, "%s", rows[i].label);
    } else {
      cr_expect(peer_reached(&e.events, 1), "%s: %s", rows[i].label, e.why[0]);
      cr_expect(peer_reached(&e.states, 2), "%s", rows[i].label);
      cr_expect_eq(e.state[1], OB_LINK_READY, "%s: %s", rows[i].label, e.why[1]);
    }
    peer_service_done(s, &log);
    host_end(&h);
  }
}

static const char *no_tls(void)
{
  return "two libraries in one process";
}

Test(client_tls, is_not_begun_where_the_process_must_not)
{
  static const struct ob_process process = { .lock = peer_process_lock,
                                             .unlock = peer_process_unlock,
                                             .sink = peer_process_sink,
                                             .tls_fault = no_tls };
  struct host h;
  struct end e, plain;
  struct peer_log log = { .mu = PTHREAD_MUTEX_INITIALIZER };
  struct schema_error error = { 0 };
  struct ob_service *s = NULL;
  buf_init(&log.text, 1 << 20);
  host_begin(&h, "good.pem");
  const struct ob_service_options o = { .ctx = &log, .log = peer_log_line, .process = &process };
  cr_assert_eq(ob_service_start(&o, &s, &error), SCHEMA_OK);
  open_client(s, &e, "wss", "localhost", h.port, "ca.pem");
  cr_expect(peer_reached(&e.states, 1));
  cr_expect(strstr(e.why[0], "no TLS: two libraries in one process"), "%s", e.why[0]);
  cr_expect_eq(h.hellos.n, 0);
  open_client(s, &plain, "ws", "localhost", h.port, NULL);
  cr_expect(peer_reached(&plain.states, 1));
  cr_expect_not(strstr(plain.why[0], "no TLS"), "%s", plain.why[0]);
  peer_service_done(s, &log);
  host_end(&h);
}

Test(client_tls, gives_up_a_peer_without_tls)
{
  struct peer_log log;
  struct end e;
  unsigned port;
  int listening = peer_listen(&port);
  struct ob_service *s = peer_service(&log);
  open_client(s, &e, "wss", "127.0.0.1", port, "ca.pem");
  int fd = peer_accept(listening);
  cr_expect(peer_reached(&e.states, 1));
  cr_expect(strstr(e.why[0], "does not answer"), "%s", e.why[0]);
  close(fd);
  fd = peer_accept(listening);
  peer_puts(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
  cr_expect(peer_reached(&e.states, 2));
  cr_expect(strstr(e.why[1], "cannot be reached"), "%s", e.why[1]);
  close(fd);
  peer_service_done(s, &log);
  close(listening);
}

struct big_job {
  struct ob_client *c;
  struct span params;
};

static void ignore_answer(void *ctx, const struct ob_answer *answer)
{
  (void)ctx, (void)answer;
}

static void call_big(void *arg)
{
  struct big_job *j = arg;
  ob_link_call(ob_client_link(j->c), SPAN("big"), j->params, 60000, ignore_answer, NULL);
}

Test(client_tls, carries_large_frames_for_two_services_at_once)
{
  struct host h;
  struct end e, e2;
  struct peer_log log, log2;
  host_begin(&h, "good.pem");
  struct ob_service *s = peer_service(&log), *s2 = peer_service(&log2);
  struct ob_client *c = open_client(s, &e, "wss", "localhost", h.port, "ca.pem");
  cr_expect(peer_reached(&e.events, 2));
  cr_expect_eq(e.longest, BIG);
  open_client(s2, &e2, "wss", "localhost", h.port, "ca.pem");
  cr_expect(peer_reached(&e2.events, 1));
  char *params = malloc(BIG);
  memset(params, 'x', BIG);
  params[0] = params[BIG - 1] = '"';
  struct big_job j = { c, { params, BIG } };
  cr_expect(ob_service_run(s, call_big, &j));
  cr_expect(peer_reached(&h.bigs, 1));
  free(params);
  peer_service_done(s2, &log2);
  peer_service_done(s, &log);
  host_end(&h);
}
