#include "plugin/thread.h"

#include <signal.h>

bool rg_thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg)
{
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = pthread_create(ret, NULL, run, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_setname_np(*ret, name);
  return started;
}
