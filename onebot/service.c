/* service: owns the thread, the lws context, the queue of posts and the timers.
 *
 * Other threads touch three things, all under mu: the queue, `stopping` and the pointer to the
 * context (lws_cancel_service must not meet a context that is not there yet or any more). The
 * queue is drained in the main loop behind lws_service(): inside a timer lws would not notice it
 * before its next wait, which may have no end. */
#include "onebot/service.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  /* Descriptors of one instance: a few endpoints, and frameworks and browsers in front of it. With
   * 0 lws would make tables for the whole `ulimit -n`, 16 MiB where that is a million. */
  FD_LIMIT = 256,
  /* One read of a server connection; lws' 4 KiB cost twice the time a byte. */
  READ_SIZE = 64 * 1024,
  /* One request's headers; a browser sends localhost the cookies of every port. */
  HEADERS_MAX = 8 * 1024,
  /* Whole seconds, a net below the clients' own timers. */
  LWS_TIMEOUT_S = 20,
  LOG_LINE_MAX = 512,
};

struct post {
  struct post *next;
  void (*run)(void *arg);
  void *arg;
};

struct ob_service {
  struct ob_service_options options;
  pthread_t thread;
  pthread_mutex_t mu;     /* guards the next five */
  pthread_cond_t changed; /* started, or a run of ob_service_run is done */
  struct post *head, **tail;
  bool started, stopping;
  struct lws_context *lws; /* NULL before the thread has it and after it let go */
  /* service thread only */
  struct ob_timer *timers; /* by due time: a handful per endpoint */
  lws_sorted_usec_list_t sul;
  struct ob_part *parts, *graves;
  char lws_line[LOG_LINE_MAX];
};

uint64_t ob_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct lws_context *ob_service_lws(struct ob_service *s)
{
  return s->lws;
}

bool ob_service_here(const struct ob_service *s)
{
  return pthread_equal(pthread_self(), s->thread) != 0;
}

/* ---- lines ---- */

void ob_service_log(struct ob_service *s, enum ob_log_level level, const char *format, ...)
{
  if (!s->options.log) return;
  char line[LOG_LINE_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  s->options.log(s->options.ctx, level, line);
}

/* The library's own lines are for those who look for a fault: what matters of them is said again
 * by the client that failed. */
static void take_lws_line(void *ctx, enum ob_log_level level, const char *text)
{
  struct ob_service *s = ctx;
  (void)level;
  size_t n = 0;
  for (; text[n] && n + 1 < sizeof s->lws_line; n++)
    s->lws_line[n] = (unsigned char)text[n] < ' ' ? ' ' : text[n];
  while (n > 0 && s->lws_line[n - 1] == ' ') n--;
  s->lws_line[n] = 0;
  ob_service_log(s, OB_LOG_DEBUG, "libwebsockets: %s", s->lws_line);
}

const char *ob_service_tls_fault(const struct ob_service *s)
{
  return s->options.process && s->options.process->tls_fault ? s->options.process->tls_fault()
                                                             : NULL;
}

const char *ob_service_lws_line(const struct ob_service *s)
{
  return s->lws_line;
}

void ob_service_lws_line_clear(struct ob_service *s)
{
  s->lws_line[0] = 0;
}

/* ---- timers ---- */

static void fire_ripe(lws_sorted_usec_list_t *sul);

static void arm_first(struct ob_service *s)
{
  if (!s->timers) {
    lws_sul_cancel(&s->sul);
    return;
  }
  uint64_t now = ob_now_ms();
  uint64_t wait = s->timers->due_ms > now ? s->timers->due_ms - now : 0;
  lws_sul_schedule(s->lws, 0, &s->sul, fire_ripe, (lws_usec_t)wait * LWS_US_PER_MS + 1);
}

static void unlink_timer(struct ob_service *s, struct ob_timer *t)
{
  struct ob_timer **at = &s->timers;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  t->armed = false;
}

static void fire_ripe(lws_sorted_usec_list_t *sul)
{
  struct ob_service *s = lws_container_of(sul, struct ob_service, sul);
  uint64_t now = ob_now_ms();
  while (s->timers && s->timers->due_ms <= now) {
    struct ob_timer *t = s->timers;
    unlink_timer(s, t);
    t->fire(t);
  }
  arm_first(s);
}

void ob_timer_set(struct ob_service *s, struct ob_timer *t, uint64_t ms,
                  void (*fire)(struct ob_timer *t))
{
  if (t->armed) unlink_timer(s, t);
  t->due_ms = ob_now_ms() + ms;
  t->fire = fire;
  t->armed = true;
  struct ob_timer **at = &s->timers;
  while (*at && (*at)->due_ms <= t->due_ms) at = &(*at)->next;
  t->next = *at;
  *at = t;
  if (s->timers == t) arm_first(s);
}

/* The armed sul may stay for a timer that is gone: it fires once for nothing. */
void ob_timer_clear(struct ob_service *s, struct ob_timer *t)
{
  if (t->armed) unlink_timer(s, t);
}

/* ---- parts ---- */

static void put_part(struct ob_part **list, struct ob_part *p)
{
  p->next = *list;
  p->link = list;
  if (p->next) p->next->link = &p->next;
  *list = p;
}

void ob_service_add(struct ob_service *s, struct ob_part *p)
{
  put_part(&s->parts, p);
}

void ob_service_remove(struct ob_part *p)
{
  if (!p->link) return;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  p->link = NULL;
}

void ob_service_bury(struct ob_service *s, struct ob_part *p)
{
  ob_service_remove(p);
  put_part(&s->graves, p);
  lws_cancel_service(s->lws);
}

static void bury_all(struct ob_service *s)
{
  while (s->graves) {
    struct ob_part *p = s->graves;
    ob_service_remove(p);
    p->bury(p);
  }
}

/* ---- posts ---- */

bool ob_service_post(struct ob_service *s, void (*run)(void *arg), void *arg)
{
  struct post *p = malloc(sizeof *p);
  if (!p) return false;
  *p = (struct post) { .run = run, .arg = arg };
  pthread_mutex_lock(&s->mu);
  bool taken = !s->stopping;
  if (taken) {
    /* where others wait already, the thread has been woken and not come round yet */
    if (!s->head) lws_cancel_service(s->lws);
    *s->tail = p;
    s->tail = &p->next;
  }
  pthread_mutex_unlock(&s->mu);
  if (!taken) free(p);
  return taken;
}

struct errand { /* of ob_service_run, on the caller's stack */
  struct ob_service *s;
  void (*run)(void *arg);
  void *arg;
  bool done;
};

static void run_errand(void *arg)
{
  struct errand *e = arg;
  e->run(e->arg);
  pthread_mutex_lock(&e->s->mu);
  e->done = true;
  pthread_cond_broadcast(&e->s->changed);
  pthread_mutex_unlock(&e->s->mu);
}

bool ob_service_run(struct ob_service *s, void (*run)(void *arg), void *arg)
{
  if (ob_service_here(s)) {
    run(arg);
    return true;
  }
  struct errand e = { .s = s, .run = run, .arg = arg };
  if (!ob_service_post(s, run_errand, &e)) return false;
  pthread_mutex_lock(&s->mu);
  while (!e.done) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  return true;
}

/* Runs what waits now; what that posts has woken the thread again. False once stopping: then
 * nothing more can come. */
static bool drain(struct ob_service *s)
{
  pthread_mutex_lock(&s->mu);
  struct post *list = s->head;
  s->head = NULL;
  s->tail = &s->head;
  bool stopping = s->stopping;
  pthread_mutex_unlock(&s->mu);
  while (list) {
    struct post *p = list;
    list = p->next;
    p->run(p->arg);
    free(p);
  }
  return !stopping;
}

/* ---- the thread ---- */

static struct lws_context *create_context(struct ob_service *s)
{
  struct lws_context_creation_info info = {
    .port = CONTEXT_PORT_NO_LISTEN,
    .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
    .http_proxy_address = ":0", /* else http_proxy in the environment gets even 127.0.0.1 */
    .fd_limit_per_thread = FD_LIMIT,
    .pt_serv_buf_size = READ_SIZE,
    .max_http_header_data = HEADERS_MAX,
    .timeout_secs = LWS_TIMEOUT_S,
    .user = s,
    .gid = (gid_t)-1,
    .uid = (uid_t)-1,
  };
  /* no DO_SSL_GLOBAL_INIT: OpenSSL 3 needs none, the clients' TLS vhosts ask for it themselves, and
     it would move the indexes under which the other services of the process find their data */
  /* lws ignores SIGPIPE for the whole process; the host's choice is given back: on this thread
   * every signal is blocked anyway */
  struct sigaction before;
  if (s->options.process) s->options.process->lock();
  sigaction(SIGPIPE, NULL, &before);
  struct lws_context *lws = lws_create_context(&info);
  sigaction(SIGPIPE, &before, NULL);
  if (s->options.process) s->options.process->unlock();
  return lws;
}

static void destroy_context(struct ob_service *s)
{
  struct lws_context *lws = s->lws;
  lws_sul_cancel(&s->sul);
  pthread_mutex_lock(&s->mu);
  s->lws = NULL;
  pthread_mutex_unlock(&s->mu);
  if (s->options.process) s->options.process->lock();
  lws_context_destroy(lws);
  if (s->options.process) s->options.process->unlock();
}

static void *serve(void *arg)
{
  struct ob_service *s = arg;
  pthread_setname_np(pthread_self(), "replygate");
  if (s->options.process) s->options.process->sink(take_lws_line, s);
  struct lws_context *lws = create_context(s);
  pthread_mutex_lock(&s->mu);
  s->lws = lws;
  s->started = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  if (!lws) return NULL;

  do {
    if (lws_service(lws, 0) < 0) {
      /* poll() itself failed (no memory): nothing to be done but not to spin */
      nanosleep(&(struct timespec) { .tv_nsec = 100000000 }, NULL);
    }
    bury_all(s);
  } while (drain(s));
  while (s->parts) s->parts->end(s->parts);
  bury_all(s);
  destroy_context(s);
  if (s->options.process) s->options.process->sink(NULL, NULL);
  return NULL;
}

static void free_service(struct ob_service *s)
{
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mu);
  free(s);
}

enum schema_code ob_service_start(const struct ob_service_options *options, struct ob_service **ret,
                                  struct schema_error *reterr)
{
  struct ob_service *s = calloc(1, sizeof *s);
  if (!s) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  s->options = *options;
  s->tail = &s->head;
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->changed, NULL);

  sigset_t all, before; /* the thread inherits the mask: no handler of the host runs on it */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int rc = pthread_create(&s->thread, NULL, serve, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc != 0) {
    free_service(s);
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, "no thread could be started");
  }
  pthread_mutex_lock(&s->mu);
  while (!s->started) pthread_cond_wait(&s->changed, &s->mu);
  bool up = s->lws != NULL;
  pthread_mutex_unlock(&s->mu);
  if (!up) {
    pthread_join(s->thread, NULL);
    free_service(s);
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, "libwebsockets could not be started");
  }
  *ret = s;
  return SCHEMA_OK;
}

void ob_service_stop(struct ob_service *s)
{
  if (!s) return;
  pthread_mutex_lock(&s->mu);
  s->stopping = true;
  lws_cancel_service(s->lws);
  pthread_mutex_unlock(&s->mu);
  pthread_join(s->thread, NULL);
  free_service(s);
}
