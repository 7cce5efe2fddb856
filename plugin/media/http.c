#include "plugin/media/http.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>

#include "onebot/service.h"
#include "plugin/process.h"
#include "plugin/thread.h"
#include "schema/address.h"

enum {
  CONNECT_MS = 10 * 1000,
  TOTAL_MS = 30 * 1000,
  BODY_MAX = 1024 * 1024,
  RUNNING_MAX = 256, /* requests at once; a flood of media links must not eat every descriptor */
  POLL_MS = 60 * 1000,
};

struct transfer {
  struct transfer *next;
  uint64_t number;
  CURL *easy;
  struct curl_slist *headers;
  char *url, *method, *ca, *proxy, *body;
  size_t body_len;
  bool guarded, https_only, cancelled, refused_address, too_large, stopped;
  unsigned redirects, connect_ms, total_ms, idle_ms;
  uint64_t heard_ms; /* when it began, or its last byte came */
  struct buf answer;
  void *ctx;
  bool (*chunk)(void *ctx, unsigned status, struct span piece);
  void (*done)(void *ctx, const struct rg_http_answer *answer);
};

struct rg_http {
  pthread_mutex_t mu; /* guards everything but running, which is the thread's */
  pthread_t thread;
  bool started, stopping;
  CURLM *multi;
  uint64_t last_number;
  size_t count;            /* taken and not yet ended */
  struct transfer *queued; /* newest first */
  uint64_t *cancelled;     /* numbers to be ended */
  size_t cancelled_count, cancelled_cap;
  struct transfer *running;
};

static void transfer_free(struct transfer *t)
{
  if (!t) return;
  if (t->easy) curl_easy_cleanup(t->easy);
  curl_slist_free_all(t->headers);
  free(t->url);
  free(t->method);
  free(t->ca);
  free(t->proxy);
  free(t->body);
  buf_done(&t->answer);
  free(t);
}

static bool copy_text(char **to, const char *from)
{
  if (!from) return true;
  *to = strdup(from);
  return *to != NULL;
}

static bool copy_headers(struct transfer *t, const char *const *headers)
{
  for (; headers && *headers; headers++) {
    struct curl_slist *longer = curl_slist_append(t->headers, *headers);
    if (!longer) return false;
    t->headers = longer;
  }
  return true;
}

static struct transfer *transfer_new(const struct rg_http_request *r)
{
  struct transfer *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  buf_init(&t->answer, r->body_max ? r->body_max : BODY_MAX);
  t->guarded = r->guarded;
  t->https_only = r->https_only;
  t->redirects = r->redirects;
  t->connect_ms = r->connect_ms ? r->connect_ms : CONNECT_MS;
  t->total_ms = r->total_ms ? r->total_ms : TOTAL_MS;
  t->idle_ms = r->idle_ms;
  t->ctx = r->ctx;
  t->chunk = r->chunk;
  t->done = r->done;
  if (!copy_text(&t->url, r->url) || !copy_text(&t->method, r->method) ||
      !copy_text(&t->ca, r->ca) || !copy_text(&t->proxy, r->proxy) || !copy_headers(t, r->headers))
    goto fail;
  if (r->body.len) {
    t->body = malloc(r->body.len);
    if (!t->body) goto fail;
    memcpy(t->body, r->body.ptr, r->body.len);
    t->body_len = r->body.len;
  }
  return t;
fail:
  transfer_free(t);
  return NULL;
}

/* ---- the HTTP thread ---- */

static size_t on_body(char *ptr, size_t size, size_t count, void *user)
{
  struct transfer *t = user;
  size_t n = size * count;
  t->heard_ms = ob_now_ms();
  if (t->chunk) {
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->stopped = !t->chunk(t->ctx, (unsigned)status, (struct span) { ptr, n });
    return t->stopped ? 0 : n;
  }
  if (buf_add(&t->answer, (struct span) { ptr, n })) return n;
  t->too_large = true;
  return 0;
}

/* Sees each address just before it is connected to, at the first request and at every redirect. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
  struct transfer *t = user;
  (void)purpose;
  bool public = address->family == AF_INET
                    ? schema_address_is_public4(
                          (const uint8_t *)&((struct sockaddr_in *)&address->addr)->sin_addr)
                    : address->family == AF_INET6 &&
                          schema_address_is_public6(
                              (const uint8_t *)&((struct sockaddr_in6 *)&address->addr)->sin6_addr);
  if (!public) {
    t->refused_address = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void set_guard(struct transfer *t)
{
  curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
  curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
  /* A reused connection is not asked about again, and a proxy would hide the address: neither. */
  curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
}

static bool transfer_begin(struct rg_http *h, struct transfer *t)
{
  t->easy = curl_easy_init();
  if (!t->easy) return false;
  t->heard_ms = ob_now_ms();
  CURL *e = t->easy;
  const char *protocols = t->https_only ? "https" : "http,https";
  curl_easy_setopt(e, CURLOPT_URL, t->url);
  curl_easy_setopt(e, CURLOPT_PRIVATE, t);
  curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* else one dead name server stalls the thread */
  curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, t->redirects ? 1L : 0L);
  curl_easy_setopt(e, CURLOPT_MAXREDIRS, (long)t->redirects);
  curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)t->connect_ms);
  curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)t->total_ms);
  curl_easy_setopt(e, CURLOPT_PROXY, t->guarded || !t->proxy ? "" : t->proxy);
  if (t->ca) curl_easy_setopt(e, CURLOPT_CAINFO, t->ca);
  curl_easy_setopt(e, CURLOPT_USERAGENT, "Replygate/" RG_VERSION);
  curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(e, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->answer.max);
  if (t->body) {
    curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->body);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_len);
  }
  if (t->method) curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, t->method);
  if (t->guarded) set_guard(t);
  return curl_multi_add_handle(h->multi, e) == CURLM_OK;
}

static struct rg_http_answer answer_of(const struct transfer *t, CURLcode code)
{
  struct rg_http_answer a = { .end = RG_HTTP_FAILED };
  if (t->cancelled) {
    a.end = RG_HTTP_CANCELLED;
    a.why = "cancelled";
  } else if (t->too_large || code == CURLE_FILESIZE_EXCEEDED) {
    a.end = RG_HTTP_TOO_LARGE;
    a.why = "larger than allowed";
  } else if (t->refused_address) {
    a.end = RG_HTTP_GUARDED;
    a.why = "the address is not a public one";
  } else if (code == CURLE_OK) {
    a.end = RG_HTTP_OK;
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    a.end = RG_HTTP_TIMEOUT;
    a.why = "no answer in time";
  } else {
    a.why = t->stopped ? "stopped by the reader" : curl_easy_strerror(code);
  }
  return a;
}

/* Tells how it ended and gives everything back. t is in no list any more. */
static void transfer_end(struct rg_http *h, struct transfer *t, CURLcode code)
{
  struct rg_http_answer a = answer_of(t, code);
  long status = 0;
  curl_off_t retry = 0;
  char *url = NULL;
  if (t->easy) {
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
    curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry);
    curl_multi_remove_handle(h->multi, t->easy);
  }
  a.status = (unsigned)status;
  a.url = url ? url : t->url;
  a.retry_after_ms = retry > 0 && retry < 3600 ? (uint64_t)retry * 1000 : 0;
  a.body = buf_span(&t->answer);
  t->done(t->ctx, &a);
  transfer_free(t);
  pthread_mutex_lock(&h->mu);
  h->count--;
  pthread_mutex_unlock(&h->mu);
}

static struct transfer *take(struct transfer **list, uint64_t number)
{
  for (struct transfer **at = list; *at; at = &(*at)->next) {
    if ((*at)->number != number) continue;
    struct transfer *t = *at;
    *at = t->next;
    return t;
  }
  return NULL;
}

static void end_cancelled(struct rg_http *h, uint64_t number)
{
  struct transfer *t = take(&h->running, number);
  if (!t) return;
  t->cancelled = true;
  transfer_end(h, t, CURLE_OK);
}

/* Starts what was queued and ends what was cancelled. False: the thread is to stop. */
static bool take_orders(struct rg_http *h)
{
  pthread_mutex_lock(&h->mu);
  struct transfer *queued = h->queued;
  uint64_t *cancelled = h->cancelled;
  size_t count = h->cancelled_count;
  bool stopping = h->stopping;
  h->queued = NULL;
  h->cancelled = NULL;
  h->cancelled_count = h->cancelled_cap = 0;
  pthread_mutex_unlock(&h->mu);
  while (queued) {
    struct transfer *t = queued;
    queued = t->next;
    t->next = NULL;
    if (!stopping && transfer_begin(h, t)) {
      t->next = h->running;
      h->running = t;
    } else {
      t->cancelled = stopping;
      transfer_end(h, t, CURLE_FAILED_INIT);
    }
  }
  for (size_t i = 0; i < count; i++) end_cancelled(h, cancelled[i]);
  free(cancelled);
  return !stopping;
}

/* Ends what has been silent for too long (curl's own check sees the mean of seconds, not silence).
 * Returns the milliseconds until the next one may be. */
static int end_silent(struct rg_http *h)
{
  uint64_t now_ms = ob_now_ms(), wait_ms = POLL_MS;
  for (struct transfer *t = h->running, *next; t; t = next) {
    next = t->next;
    uint64_t silent_ms = now_ms - t->heard_ms;
    if (t->idle_ms == 0) continue;
    if (silent_ms < t->idle_ms) {
      if (t->idle_ms - silent_ms < wait_ms) wait_ms = t->idle_ms - silent_ms;
      continue;
    }
    take(&h->running, t->number);
    transfer_end(h, t, CURLE_OPERATION_TIMEDOUT);
  }
  return (int)wait_ms;
}

static void *http_main(void *arg)
{
  struct rg_http *h = arg;
  while (take_orders(h)) {
    int left = 0;
    curl_multi_perform(h->multi, &left);
    struct CURLMsg *m;
    while ((m = curl_multi_info_read(h->multi, &left))) {
      if (m->msg != CURLMSG_DONE) continue;
      struct transfer *t = NULL;
      CURLcode code = m->data.result;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
      take(&h->running, t->number);
      transfer_end(h, t, code);
    }
    curl_multi_poll(h->multi, NULL, 0, end_silent(h), NULL);
  }
  while (h->running) end_cancelled(h, h->running->number);
  return NULL;
}

/* ---- any thread ---- */

struct rg_http *rg_http_new(void)
{
  struct rg_http *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  if (pthread_mutex_init(&h->mu, NULL) != 0) {
    free(h);
    return NULL;
  }
  return h;
}

/* Under the mutex. */
static bool start(struct rg_http *h)
{
  if (h->started) return true;
  if (!rg_process_curl()) return false;
  h->multi = curl_multi_init();
  if (!h->multi) return false;
  h->started = rg_thread_start(&h->thread, "replygate-http", http_main, h);
  if (!h->started) {
    curl_multi_cleanup(h->multi);
    h->multi = NULL;
  }
  return h->started;
}

uint64_t rg_http_send(struct rg_http *h, const struct rg_http_request *request)
{
  uint64_t number = 0;
  struct transfer *t = transfer_new(request);
  if (!t) return 0;
  pthread_mutex_lock(&h->mu);
  if (!h->stopping && h->count < RUNNING_MAX && start(h)) {
    t->number = number = ++h->last_number;
    t->next = h->queued;
    h->queued = t;
    h->count++;
    t = NULL;
    curl_multi_wakeup(h->multi);
  }
  pthread_mutex_unlock(&h->mu);
  transfer_free(t);
  return number;
}

void rg_http_cancel(struct rg_http *h, uint64_t number)
{
  if (!number) return;
  pthread_mutex_lock(&h->mu);
  if (h->started && h->cancelled_count == h->cancelled_cap) {
    size_t cap = h->cancelled_cap ? 2 * h->cancelled_cap : 8;
    uint64_t *more = realloc(h->cancelled, cap * sizeof *more);
    if (more) {
      h->cancelled = more;
      h->cancelled_cap = cap;
    }
  }
  if (h->cancelled_count < h->cancelled_cap) {
    h->cancelled[h->cancelled_count++] = number;
    curl_multi_wakeup(h->multi);
  }
  pthread_mutex_unlock(&h->mu);
}

void rg_http_free(struct rg_http *h)
{
  if (!h) return;
  pthread_mutex_lock(&h->mu);
  h->stopping = true;
  if (h->started) curl_multi_wakeup(h->multi);
  pthread_mutex_unlock(&h->mu);
  if (h->started) {
    pthread_join(h->thread, NULL);
    curl_multi_cleanup(h->multi);
  }
  free(h->cancelled);
  pthread_mutex_destroy(&h->mu);
  free(h);
}
