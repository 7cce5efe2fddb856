/* follow: see follow.h. */
#include "plugin/store/follow.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "plugin/thread.h"

struct rg_follow {
  struct rg_store *store;
  struct rg_settings *settings;
  struct rg_log *log;
  unsigned interval_ms;
  pthread_t thread;

  bool known, failed; /* the thread's own: version is that of what was read; the last look failed */
  uint64_t version;

  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t news;
  bool now, ending;
};

/* The version is read before the settings: a change in between is read again by the next look. */
static bool look(struct rg_follow *f, bool anyway, char *why, size_t cap)
{
  uint64_t version;
  if (!f->store->methods->version(f->store, &version, why, cap)) return false;
  if (f->known && version == f->version && !anyway) return true;
  if (!rg_settings_load(f->settings, why, cap)) return false;
  f->known = true;
  f->version = version;
  rg_log_line(f->log, RG_LOG_DEBUG, "store: what was set in the chat was read anew");
  return true;
}

static void tell(struct rg_follow *f, bool fine, const char *why)
{
  if (!fine && !f->failed)
    rg_log_line(f->log, RG_LOG_WARN, "store: what other machines set in the chat is not seen: %s",
                why);
  if (fine && f->failed) rg_log_line(f->log, RG_LOG_INFO, "store: it answers again");
  f->failed = !fine;
}

/* Waits for the next look. False: there is none. */
static bool wait_for_look(struct rg_follow *f, bool *retanyway)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += f->interval_ms / 1000;
  until.tv_nsec += (long)(f->interval_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&f->mu);
  while (!f->ending && !f->now && pthread_cond_timedwait(&f->news, &f->mu, &until) == 0) {
  }
  *retanyway = f->now;
  f->now = false;
  bool ending = f->ending;
  pthread_mutex_unlock(&f->mu);
  return !ending;
}

static void *run(void *arg)
{
  struct rg_follow *f = arg;
  bool anyway = false;
  do {
    char why[256] = "";
    bool fine = look(f, anyway, why, sizeof why);
    tell(f, fine, why);
  } while (wait_for_look(f, &anyway));
  return NULL;
}

struct rg_follow *rg_follow_new(struct rg_store *store, struct rg_settings *settings,
                                struct rg_log *log, unsigned interval_ms)
{
  pthread_condattr_t clock;
  if (!store || !store->methods->version) return NULL;
  struct rg_follow *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->store = store;
  f->settings = settings;
  f->log = log;
  f->interval_ms = interval_ms;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&f->mu, NULL);
  pthread_cond_init(&f->news, &clock);
  pthread_condattr_destroy(&clock);
  if (rg_thread_start(&f->thread, "rg-follow", run, f)) return f;
  rg_log_line(log, RG_LOG_WARN, "store: no thread could be had: other machines are not followed");
  pthread_cond_destroy(&f->news);
  pthread_mutex_destroy(&f->mu);
  free(f);
  return NULL;
}

void rg_follow_now(struct rg_follow *f)
{
  if (!f) return;
  pthread_mutex_lock(&f->mu);
  f->now = true;
  pthread_cond_signal(&f->news);
  pthread_mutex_unlock(&f->mu);
}

void rg_follow_free(struct rg_follow *f)
{
  if (!f) return;
  pthread_mutex_lock(&f->mu);
  f->ending = true;
  pthread_cond_signal(&f->news);
  pthread_mutex_unlock(&f->mu);
  pthread_join(f->thread, NULL);
  pthread_cond_destroy(&f->news);
  pthread_mutex_destroy(&f->mu);
  free(f);
}
