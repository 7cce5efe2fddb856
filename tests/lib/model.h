/* model: a model's server of the tests' own, on loopback: each request is kept and answered by a
 * script, on a thread of its own, so that one may hang while others are answered. Needs peer.h. */
#ifndef TESTS_LIB_MODEL_H
#define TESTS_LIB_MODEL_H

#include <stdatomic.h>

#include "tests/lib/peer.h"

enum { MODEL_REQUESTS_MAX = 256 };

struct model;

/* Answers request n on fd, whose body is text ("" for a GET). */
typedef void model_script_fn(struct model *m, int fd, size_t n, const char *head, const char *text);

struct model {
  int listening;
  unsigned port;
  pthread_t thread;
  model_script_fn *script;
  void *ctx;
  atomic_bool closing, released;
  atomic_int hung_up; /* connections that the other side ended while a script held them */
  atomic_int threads;

  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t changed;
  char key[256]; /* of the last request's Authorization */
  char *texts[MODEL_REQUESTS_MAX];
  size_t count;
};

PEER_FN void model_send(int fd, const char *status, const char *type, const char *body)
{
  char head[256];
  snprintf(head, sizeof head,
           "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
           status, type, strlen(body));
  peer_puts(fd, head);
  peer_puts(fd, body);
}

/* An answer of OpenAI's form; content is the inside of a JSON string. */
PEER_FN void model_say(int fd, const char *content, const char *finish)
{
  char *body = NULL;
  cr_assert_gt(
      asprintf(&body,
               "{\"choices\":[{\"message\":{\"content\":\"%s\"},\"finish_reason\":\"%s\"}],"
               "\"usage\":{\"total_tokens\":10}}",
               content, finish),
      0);
  model_send(fd, "200 OK", "application/json", body);
  free(body);
}

/* Until the script may go on, or the other side ends: then false. */
PEER_FN bool model_hold(struct model *m, int fd)
{
  char any[64];
  while (!m->released && !m->closing) {
    if (!peer_wait(fd, POLLIN, 10)) continue;
    if (recv(fd, any, sizeof any, 0) > 0) continue;
    m->hung_up++;
    return false;
  }
  return true;
}

struct model_call {
  struct model *m;
  int fd;
};

PEER_FN void *model_answer(void *arg)
{
  struct model_call *call = arg;
  struct model *m = call->m;
  char head[8192], length[32];
  peer_read_head(call->fd, head, sizeof head);
  size_t n = strtoul(peer_header(head, "Content-Length:", length, sizeof length), NULL, 10), at = 0;
  char *text = calloc(1, n + 1);
  if (head[0] && (n == 0 || peer_read_all(call->fd, text, n))) {
    pthread_mutex_lock(&m->mu);
    cr_assert_lt(m->count, MODEL_REQUESTS_MAX);
    at = m->count++;
    m->texts[at] = strdup(text);
    peer_header(head, "Authorization:", m->key, sizeof m->key);
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mu);
    m->script(m, call->fd, at, head, text);
  }
  free(text);
  close(call->fd);
  free(call);
  m->threads--;
  return NULL;
}

PEER_FN void *model_main(void *arg)
{
  struct model *m = arg;
  while (!m->closing) {
    if (!peer_wait(m->listening, POLLIN, 20)) continue;
    struct model_call *call = malloc(sizeof *call);
    *call = (struct model_call) { m, accept(m->listening, NULL, NULL) };
    pthread_t thread;
    m->threads++;
    cr_assert_eq(pthread_create(&thread, NULL, model_answer, call), 0);
    pthread_detach(thread);
  }
  return NULL;
}

PEER_FN struct model *model_start(model_script_fn *script, void *ctx)
{
  struct model *m = calloc(1, sizeof *m);
  m->listening = peer_listen(&m->port);
  m->script = script;
  m->ctx = ctx;
  pthread_mutex_init(&m->mu, NULL);
  pthread_cond_init(&m->changed, NULL);
  cr_assert_eq(pthread_create(&m->thread, NULL, model_main, m), 0);
  return m;
}

PEER_FN void model_stop(struct model *m)
{
  m->closing = true;
  pthread_join(m->thread, NULL);
  while (m->threads > 0) usleep(1000);
  close(m->listening);
  for (size_t i = 0; i < m->count; i++) free(m->texts[i]);
  free(m);
}

/* Waits until so many requests came. */
PEER_FN bool model_asked(struct model *m, size_t count, int ms)
{
  for (int i = 0; i <= ms; i += 5) {
    pthread_mutex_lock(&m->mu);
    bool reached = m->count >= count;
    pthread_mutex_unlock(&m->mu);
    if (reached) return true;
    usleep(5000);
  }
  return false;
}

PEER_FN size_t model_count(struct model *m)
{
  pthread_mutex_lock(&m->mu);
  size_t n = m->count;
  pthread_mutex_unlock(&m->mu);
  return n;
}

/* Whether request i holds a text. */
PEER_FN bool model_has(struct model *m, size_t i, const char *text)
{
  pthread_mutex_lock(&m->mu);
  bool has = i < m->count && strstr(m->texts[i], text) != NULL;
  pthread_mutex_unlock(&m->mu);
  return has;
}

#endif
