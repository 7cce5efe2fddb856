#include "onebot/queue.h"

#include <libwebsockets.h>
#include <stdlib.h>

/* A chunk's size including its head: frames are collected up to it and written in one call; a
 * larger frame gets a chunk of its own. */
enum { CHUNK = 64 * 1024 };

struct ob_chunk {
  struct ob_chunk *next;
  size_t len, cap, taken;
  unsigned char pre[LWS_PRE]; /* directly before the bytes */
  char bytes[];
};

static struct ob_chunk *new_chunk(struct ob_queue *q, size_t n)
{
  size_t cap = CHUNK - sizeof(struct ob_chunk);
  struct ob_chunk *c = NULL;
  if (n <= cap && q->spare) {
    c = q->spare;
    q->spare = NULL;
  } else {
    if (n > cap) cap = n;
    c = malloc(sizeof *c + cap);
    if (!c) return NULL;
    c->cap = cap;
  }
  c->next = NULL;
  c->len = c->taken = 0;
  if (q->tail)
    q->tail->next = c;
  else
    q->head = c;
  q->tail = c;
  return c;
}

char *ob_queue_add(struct ob_queue *q, size_t n)
{
  struct ob_chunk *c = q->tail;
  if (!c || n > c->cap - c->len) c = new_chunk(q, n);
  if (!c) return NULL;
  char *room = c->bytes + c->len;
  c->len += n;
  q->queued += n;
  return room;
}

struct span ob_queue_front(const struct ob_queue *q, size_t most)
{
  const struct ob_chunk *c = q->head;
  if (!c) return (struct span) { NULL, 0 };
  size_t left = c->len - c->taken;
  return (struct span) { c->bytes + c->taken, left < most ? left : most };
}

void ob_queue_take(struct ob_queue *q, size_t n)
{
  struct ob_chunk *c = q->head;
  c->taken += n;
  q->handed += n;
  if (c->taken < c->len) return;
  q->head = c->next;
  if (!q->head) q->tail = NULL;
  if (c->cap == CHUNK - sizeof(struct ob_chunk) && !q->spare)
    q->spare = c;
  else
    free(c);
}

bool ob_queue_is_cut(const struct ob_queue *q)
{
  return q->head && q->head->taken > 0; /* a chunk ends with a frame */
}

void ob_queue_clear(struct ob_queue *q)
{
  while (q->head) {
    struct ob_chunk *c = q->head;
    q->head = c->next;
    free(c);
  }
  free(q->spare);
  q->tail = q->spare = NULL;
}
