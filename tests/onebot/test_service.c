#include <dirent.h>
#include <signal.h>

#include "onebot/listen.h"
#include "onebot/service.h"
#include "tests/lib/peer.h"

enum { POSTS = 20000, THREADS = 4 };

/* ---- posts ---- */

struct order {
  struct ob_service *s;
  int last[THREADS], count;
  bool wrong;
};

struct numbered {
  struct order *o;
  int thread, n;
};

static void note_order(void *arg)
{
  struct numbered *p = arg;
  struct order *o = p->o;
  if (!ob_service_here(o->s) || p->n != o->last[p->thread] + 1) o->wrong = true;
  o->last[p->thread] = p->n;
  o->count++;
  free(p);
}

struct poster {
  struct order *o;
  int thread;
};

static void *post_many(void *arg)
{
  struct poster *w = arg;
  for (int i = 1; i <= POSTS; i++) {
    struct numbered *p = malloc(sizeof *p);
    *p = (struct numbered) { w->o, w->thread, i };
    cr_assert(ob_service_post(w->o->s, note_order, p));
  }
  return NULL;
}

Test(service, runs_posts_of_all_threads_in_order)
{
  struct peer_log log;
  struct order o = { .s = peer_service(&log) };
  struct poster posters[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    posters[i] = (struct poster) { &o, i };
    pthread_create(&threads[i], NULL, post_many, &posters[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  peer_service_done(o.s, &log); /* runs what was posted */
  cr_expect_eq(o.count, THREADS * POSTS);
  cr_expect(!o.wrong);
}

static void add_one(void *arg)
{
  ++*(int *)arg;
}

struct nested {
  struct ob_service *s;
  int n;
  bool done;
};

static void post_again(void *arg)
{
  struct nested *x = arg;
  x->n++;
  if (x->n < 100) cr_expect(ob_service_post(x->s, post_again, x));
  if (x->n == 50) {
    int inner = 0;
    cr_expect(ob_service_run(x->s, add_one, &inner));
    cr_expect_eq(inner, 1, "run on the own thread is a call");
  }
}

static void nothing(void *arg)
{
  (void)arg;
}

Test(service, takes_posts_from_posts)
{
  struct peer_log log;
  struct nested x = { .s = peer_service(&log) };
  cr_expect(!ob_service_here(x.s));
  cr_expect(ob_service_run(x.s, post_again, &x));
  for (int i = 0; i < 200 && x.n < 100; i++) cr_expect(ob_service_run(x.s, nothing, NULL));
  cr_expect_eq(x.n, 100);
  peer_service_done(x.s, &log);
}

static void post_while_stopping(void *arg)
{
  struct nested *x = arg;
  usleep(100000); /* until the stop has begun */
  x->done = !ob_service_post(x->s, add_one, &x->n);
}

Test(service, refuses_posts_once_it_stops)
{
  struct peer_log log;
  struct nested x = { .s = peer_service(&log) };
  cr_expect(ob_service_post(x.s, post_while_stopping, &x));
  peer_service_done(x.s, &log);
  cr_expect(x.done);
  cr_expect_eq(x.n, 0);
  ob_service_stop(NULL);
}

/* ---- timers ---- */

struct clock {
  struct ob_service *s;
  struct ob_timer t[6];
  char fired[64];
  uint64_t begin;
  struct peer_count count;
  int again;
};

static struct clock *clock_of; /* a timer knows only itself */

static void fired(struct ob_timer *t)
{
  struct clock *c = clock_of;
  size_t n = strlen(c->fired);
  c->fired[n] = (char)('a' + (t - c->t));
  cr_expect(!t->armed);
  if (t == &c->t[4]) ob_timer_clear(c->s, &c->t[5]);
  if (t == &c->t[0] && c->again++ < 2) ob_timer_set(c->s, t, 0, fired);
  peer_up(&c->count);
}

static void set_timers(void *arg)
{
  struct clock *c = arg;
  ob_timer_clear(c->s, &c->t[0]); /* never armed */
  ob_timer_set(c->s, &c->t[3], 90, fired);
  ob_timer_set(c->s, &c->t[1], 30, fired);
  ob_timer_set(c->s, &c->t[2], 60, fired);
  ob_timer_set(c->s, &c->t[0], 200, fired);
  ob_timer_set(c->s, &c->t[0], 0, fired); /* moved */
  ob_timer_set(c->s, &c->t[5], 120, fired);
  ob_timer_set(c->s, &c->t[4], 120, fired);
  ob_timer_set(c->s, &c->t[5], 121, fired);
}

Test(service, fires_timers_in_order_and_in_time)
{
  struct peer_log log;
  struct clock c = { .s = peer_service(&log), .count = PEER_COUNT };
  clock_of = &c;
  c.begin = ob_now_ms();
  ob_service_run(c.s, set_timers, &c);
  cr_expect(peer_reached(&c.count, 7));
  uint64_t took = ob_now_ms() - c.begin;
  cr_expect(took >= 120 && took < 1000, "%d ms", (int)took);
  usleep(50000);
  cr_expect_str_eq(c.fired, "aaabcde");
  peer_service_done(c.s, &log);
}

/* ---- the thread ---- */

static void look_at_thread(void *arg)
{
  char *name = arg;
  sigset_t blocked;
  pthread_getname_np(pthread_self(), name, 16);
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  cr_expect(sigismember(&blocked, SIGTERM));
  cr_expect(sigismember(&blocked, SIGCHLD));
  cr_expect(sigismember(&blocked, SIGPIPE));
}

static void on_pipe(int sig)
{
  (void)sig;
}

Test(service, leaves_the_host_alone)
{
  struct peer_log log;
  char name[16] = "";
  struct sigaction mine = { .sa_handler = on_pipe }, now;
  sigset_t before, after;
  sigaction(SIGPIPE, &mine, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  struct ob_service *s = peer_service(&log);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  sigaction(SIGPIPE, NULL, &now);
  cr_expect_eq(now.sa_handler, on_pipe, "lws would have it ignored");
  cr_expect_eq(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
  ob_service_run(s, look_at_thread, name);
  cr_expect_str_eq(name, "replygate");
  peer_service_done(s, &log);
}

/* Times the service's thread was taken off and put on a processor. */
static long switches(void)
{
  long sum = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *d; (d = readdir(tasks));) {
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", d->d_name);
    FILE *f = fopen(path, "r");
    bool ours = false;
    long n;
    while (f && fgets(line, sizeof line, f)) {
      if (strcmp(line, "Name:\treplygate\n") == 0) ours = true;
      if (ours && sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1) sum += n;
    }
    if (f) fclose(f);
  }
  closedir(tasks);
  return sum;
}

Test(service, sleeps_while_nothing_happens)
{
  struct peer_log log;
  struct schema_error e;
  struct ob_listener *l;
  struct ob_service *s = peer_service(&log);
  ob_listen_open(s, &(struct ob_listen_options) { .host = "127.0.0.1" }, &l, &e);
  usleep(100000);
  long before = switches();
  usleep(1500000);
  cr_expect_leq(switches() - before, 2, "%ld wake-ups", switches() - before);
  peer_service_done(s, &log);
}

Test(service, starts_and_stops_without_a_trace)
{
  int before = peer_open_fds();
  for (int i = 0; i < 100; i++) {
    struct peer_log log;
    struct schema_error e;
    struct ob_listener *l;
    struct ob_service *s = peer_service(&log);
    if (i % 2) ob_listen_open(s, &(struct ob_listen_options) { .host = "::1" }, &l, &e);
    peer_service_done(s, &log);
  }
  cr_expect_eq(peer_open_fds(), before);
}

/* ---- several in one process ---- */

struct worker {
  int rounds;
};

static void *start_and_stop(void *arg)
{
  struct worker *w = arg;
  for (int i = 0; i < w->rounds; i++) {
    struct peer_log log;
    int n = 0;
    struct ob_service *s = peer_service(&log);
    ob_service_run(s, add_one, &n);
    cr_expect_eq(n, 1);
    peer_service_done(s, &log);
  }
  return NULL;
}

Test(service, lives_beside_others)
{
  pthread_t threads[THREADS];
  struct worker w = { 20 };
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, start_and_stop, &w);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void complain(void *arg)
{
  (void)arg;
  lwsl_err("%s\n", "a line of the library");
}

Test(service, gets_the_lines_of_its_own_library_calls)
{
  struct peer_log log, log2;
  struct ob_service *s = peer_service(&log), *s2 = peer_service(&log2);
  ob_service_run(s, complain, NULL);
  cr_expect(peer_logged(&log, "a line of the library"));
  cr_expect(!peer_logged(&log2, "a line of the library"));
  complain(NULL); /* from a thread that is none of ours: nowhere */
  peer_service_done(s, &log);
  peer_service_done(s2, &log2);
}

/* ---- parts ---- */

struct part {
  struct ob_part part;
  struct ob_service *s;
  char *trace;
};

static void end_part(struct ob_part *p)
{
  struct part *x = (struct part *)(void *)p;
  strcat(x->trace, "e");
  ob_service_bury(x->s, p);
}

static void bury_part(struct ob_part *p)
{
  struct part *x = (struct part *)(void *)p;
  strcat(x->trace, "b");
  free(x);
}

static void add_part(void *arg)
{
  struct part *x = arg;
  x->part = (struct ob_part) { .end = end_part, .bury = bury_part };
  ob_service_add(x->s, &x->part);
}

static void bury_now(void *arg)
{
  struct part *x = arg;
  ob_service_bury(x->s, &x->part);
  strcat(x->trace, "x"); /* still there */
}

Test(service, buries_its_parts)
{
  struct peer_log log;
  char traces[2][16] = { "", "" };
  struct ob_service *s = peer_service(&log);
  for (int i = 0; i < 2; i++) {
    struct part *x = calloc(1, sizeof *x);
    x->s = s;
    x->trace = traces[i];
    ob_service_run(s, add_part, x);
    if (i == 0) ob_service_run(s, bury_now, x);
  }
  ob_service_run(s, nothing, NULL);
  ob_service_run(s, nothing, NULL);
  cr_expect_str_eq(traces[0], "xb");
  cr_expect_str_eq(traces[1], "");
  peer_service_done(s, &log);
  cr_expect_str_eq(traces[1], "eb");
}
