/* queue: bytes on their way to a socket, in chunks, with room before each for what lws wants to put
 * there. Counts what was queued and what was handed over, so that an owner can tell whether a frame
 * may have reached the wire. */
#ifndef ONEBOT_QUEUE_H
#define ONEBOT_QUEUE_H

#include "schema/bytes.h"

struct ob_chunk;

/* Zeroed is empty. Members are read-only. */
struct ob_queue {
  struct ob_chunk *head, *tail, *spare;
  uint64_t queued, handed; /* bytes since the beginning */
};

static inline size_t ob_queue_size(const struct ob_queue *q)
{
  return (size_t)(q->queued - q->handed);
}

/* Room for one frame of n bytes at the end, to be filled in at once; never split over two chunks.
 * NULL where memory ran out. The bound is the caller's: ob_queue_size(). */
char *ob_queue_add(struct ob_queue *q, size_t n);
/* The first bytes that wait, at most `most` and at most one chunk; a chunk holds whole frames only,
 * so SIZE_MAX gives whole frames. LWS_PRE bytes before them may be written. Empty: nothing waits. */
struct span ob_queue_front(const struct ob_queue *q, size_t most);
/* n bytes of the front were handed over. */
void ob_queue_take(struct ob_queue *q, size_t n);
/* Whether a frame may be handed over in part: then nothing else can go to the wire before its rest. */
bool ob_queue_is_cut(const struct ob_queue *q);
/* Frees all, also the spare chunk; the counts stay, so this is the end of its use. */
void ob_queue_clear(struct ob_queue *q);

#endif
