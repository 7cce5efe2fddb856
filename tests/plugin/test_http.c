/* The guard of HTTP requests, against a server that has a public address: in a network of the test's
 * own, where such an address can be given to the loopback device. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "onebot/listen.h"
#include "plugin/media/http.h"
#include "plugin/process.h"
#include "tests/lib/peer.h"

#define PUBLIC "93.184.215.14"

struct waiter {
  pthread_mutex_t mu;
  pthread_cond_t cond;
  bool done;
  enum rg_http_end end;
  unsigned status;
  size_t body_len;
};

static void on_done(void *ctx, const struct rg_http_answer *a)
{
  struct waiter *w = ctx;
  pthread_mutex_lock(&w->mu);
  w->done = true;
  w->end = a->end;
  w->status = a->status;
  w->body_len = a->body.len;
  pthread_cond_signal(&w->cond);
  pthread_mutex_unlock(&w->mu);
}

static struct waiter get(struct rg_http *h, struct rg_http_request r, bool cancel)
{
  struct waiter w = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, 0, 0 };
  r.ctx = &w;
  r.done = on_done;
  r.total_ms = 5000;
  uint64_t number = rg_http_send(h, &r);
  cr_assert(number);
  if (cancel) usleep(100000), rg_http_cancel(h, number);
  pthread_mutex_lock(&w.mu);
  while (!w.done) pthread_cond_wait(&w.cond, &w.mu);
  pthread_mutex_unlock(&w.mu);
  return w;
}

/* A network where the loopback device has a public address as well. False: not permitted here. */
static bool own_network(void)
{
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct ifreq up = { .ifr_name = "lo" }, alias = { .ifr_name = "lo:1" };
  struct sockaddr_in *a = (struct sockaddr_in *)&alias.ifr_addr;
  a->sin_family = AF_INET;
  inet_pton(AF_INET, PUBLIC, &a->sin_addr);
  up.ifr_flags = IFF_UP | IFF_RUNNING;
  bool fine = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &up) == 0 && ioctl(fd, SIOCSIFADDR, &alias) == 0;
  if (fd >= 0) close(fd);
  return fine;
}

static const struct {
  const char *host, *path;
  bool guarded;
  unsigned redirects;
  enum rg_http_end end;
} rows[] = {
  { PUBLIC, "/ok", true, 5, RG_HTTP_OK },
  { PUBLIC, "/inside", true, 5, RG_HTTP_GUARDED },
  { PUBLIC, "/inside", false, 5, RG_HTTP_OK },
  { "127.0.0.1", "/ok", true, 5, RG_HTTP_GUARDED },
  { "127.0.0.1", "/ok", false, 5, RG_HTTP_OK },
  { "2130706433", "/ok", true, 5, RG_HTTP_GUARDED },
  { "[::ffff:127.0.0.1]", "/ok", true, 5, RG_HTTP_GUARDED },
  { PUBLIC, "/plain", true, 5, RG_HTTP_FAILED }, /* no way down to http */
  { PUBLIC, "/round", true, 5, RG_HTTP_FAILED },
};

/* The port that the server wrote down, once it serves. */
static int port_of(const char *folder)
{
  char name[64];
  int port = 0;
  snprintf(name, sizeof name, "%s/port", folder);
  for (int i = 0; i < 500 && port == 0; i++) {
    FILE *f = fopen(name, "r");
    if (f && fscanf(f, "%d", &port) != 1) port = 0;
    if (f) fclose(f);
    if (!port) usleep(20000);
  }
  return port;
}

Test(http, the_guard_looks_at_every_connection)
{
  char folder[] = "/tmp/http.XXXXXX", command[256], url[128], ca[64];
  if (!own_network()) cr_skip_test("no network of our own is permitted here");
  setenv("https_proxy", "http://127.0.0.1:9", 1); /* must not be used */
  cr_assert(mkdtemp(folder));
  snprintf(command, sizeof command, "exec python3 %s/lib/https_server.py " PUBLIC " %s",
           getenv("RG_TESTS") ? getenv("RG_TESTS") : "tests", folder);
  FILE *server = popen(command, "w");
  int port = server ? port_of(folder) : 0;
  cr_assert(port, "the https server did not start");
  snprintf(ca, sizeof ca, "%s/ca.pem", folder);
  struct rg_http *h = rg_http_new();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(url, sizeof url, "https://%s:%d%s", rows[i].host, port, rows[i].path);
    struct rg_http_request r = { .url = url,
                                 .guarded = rows[i].guarded,
                                 .https_only = true,
                                 .redirects = rows[i].redirects,
                                 .ca = ca };
    struct waiter w = get(h, r, false);
    cr_expect_eq(w.end, rows[i].end, "row %zu, %s: %d", i, url, w.end);
    if (w.end == RG_HTTP_OK) cr_expect(w.status == 200 && w.body_len == 4);
  }
  rg_http_free(h);
  pclose(server);
  snprintf(command, sizeof command, "rm -r %s", folder);
  cr_expect_eq(system(command), 0);
}

static void never_answers(void *ctx, struct ob_request *r)
{
  (void)ctx;
  if (span_is(r->path, "/big"))
    ob_request_answer(r, 200, NULL, NULL, SPAN("0123456789"), OB_BODY_COPY);
}

Test(http, limits_and_cancel)
{
  struct ob_service *service;
  struct ob_listener *listener;
  struct ob_service_options so = { .process = &rg_process };
  struct ob_listen_options lo = { .name = "t", .host = "127.0.0.1", .any_host = true };
  char url[64];
  lo.on.request = never_answers;
  cr_assert_eq(ob_service_start(&so, &service, NULL), SCHEMA_OK);
  cr_assert_eq(ob_listen_open(service, &lo, &listener, NULL), SCHEMA_OK);
  struct rg_http *h = rg_http_new();
  snprintf(url, sizeof url, "http://127.0.0.1:%u/big", ob_listen_port(listener));
  struct rg_http_request r = { .url = url, .body_max = 10 };
  cr_expect_eq(get(h, r, false).end, RG_HTTP_OK);
  r.body_max = 9;
  cr_expect_eq(get(h, r, false).end, RG_HTTP_TOO_LARGE);
  unsigned mute_port;
  int mute = peer_listen(&mute_port); /* takes the connection and says nothing */
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", mute_port);
  cr_expect_eq(get(h, r, true).end, RG_HTTP_CANCELLED);
  close(mute);
  cr_expect_eq(get(h, r, false).end, RG_HTTP_FAILED);
  rg_http_free(h);
  ob_listen_close(listener);
  ob_service_stop(service);
}
