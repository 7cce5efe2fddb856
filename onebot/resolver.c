/* resolver: a detached thread per question, because a getaddrinfo() that hangs cannot be stopped.
 * There are as many as endpoints at the most, each asks one question at a time.
 *
 * The question belongs to its thread until that has posted the answer, then to the post; it frees
 * itself there. Where the answer cannot be posted because the service is stopping, it stays for
 * ob_lookup_cancel. The thread posts under mu, so that after a cancel it leaves the service alone. */
#include "onebot/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct ob_lookup {
  pthread_mutex_t mu; /* guards the next two */
  bool cancelled;     /* the client has let go */
  bool left;          /* the thread has ended and could not post */
  struct ob_service *s;
  void (*done)(void *ctx, const struct ob_addresses *addresses);
  void *ctx;
  struct ob_addresses addresses;
  char name[];
};

static void free_lookup(struct ob_lookup *l)
{
  pthread_mutex_destroy(&l->mu);
  free(l);
}

static bool is_listed(const struct ob_addresses *a, const char *text)
{
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(a->text[i], text) == 0) return true;
  return false;
}

static const char *fault_text(int code)
{
  switch (code) {
  case EAI_NONAME: return "the name is not known";
  case EAI_AGAIN: return "no name server answers";
  default: return "the name cannot be resolved";
  }
}

static void ask(struct ob_lookup *l, int flags)
{
  struct ob_addresses *a = &l->addresses;
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags }, *list = NULL;
  int code = getaddrinfo(l->name, NULL, &hints, &list);
  for (struct addrinfo *i = code == 0 ? list : NULL; i && a->count < OB_ADDRESSES_MAX;
       i = i->ai_next) {
    char text[OB_ADDRESS_MAX];
    if (getnameinfo(i->ai_addr, i->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0 &&
        !is_listed(a, text))
      snprintf(a->text[a->count++], OB_ADDRESS_MAX, "%s", text);
  }
  if (list) freeaddrinfo(list);
  if (a->count == 0) a->what = fault_text(code);
}

/* On the service thread. */
static void deliver(void *arg)
{
  struct ob_lookup *l = arg;
  pthread_mutex_lock(&l->mu); /* the thread may still be on its way out */
  bool cancelled = l->cancelled;
  pthread_mutex_unlock(&l->mu);
  if (!cancelled) l->done(l->ctx, &l->addresses);
  free_lookup(l);
}

/* Hands the answer over, or frees what nobody waits for. */
static void finish(struct ob_lookup *l)
{
  pthread_mutex_lock(&l->mu);
  bool cancelled = l->cancelled;
  if (!cancelled) l->left = !ob_service_post(l->s, deliver, l);
  pthread_mutex_unlock(&l->mu);
  if (cancelled) free_lookup(l);
}

static void *run(void *arg)
{
  struct ob_lookup *l = arg;
  pthread_setname_np(pthread_self(), "replygate-dns");
  ask(l, AI_ADDRCONFIG);
  finish(l);
  return NULL;
}

struct ob_lookup *ob_lookup_start(struct ob_service *s, const char *name,
                                  void (*done)(void *ctx, const struct ob_addresses *addresses),
                                  void *ctx)
{
  size_t size = strlen(name) + 1;
  struct ob_lookup *l = calloc(1, sizeof *l + size);
  if (!l) return NULL;
  l->s = s;
  l->done = done;
  l->ctx = ctx;
  memcpy(l->name, name, size);
  pthread_mutex_init(&l->mu, NULL);

  ask(l, AI_NUMERICHOST);
  if (l->addresses.count) {
    finish(l);
    return l;
  }
  pthread_t thread;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  int failed = pthread_create(&thread, &detached, run, l);
  pthread_attr_destroy(&detached);
  if (!failed) return l;
  free_lookup(l);
  return NULL;
}

void ob_lookup_cancel(struct ob_lookup *l)
{
  if (!l) return;
  pthread_mutex_lock(&l->mu);
  l->cancelled = true;
  bool left = l->left;
  pthread_mutex_unlock(&l->mu);
  if (left) free_lookup(l);
}
