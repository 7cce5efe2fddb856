/* redis: one connection to a Redis server. hiredis speaks the protocol; the socket is ours, because
 * hiredis's own raises SIGPIPE, resolves names for as long as it takes, and bounds each read instead
 * of the whole call.
 *
 * A call takes as long as the connection was told at most, the looking up of the name, the connecting
 * and the password included. After one that got no answer those that follow fail at once, for ten
 * times as long as it took: whoever calls waits for a hanging server a tenth of the time at most. A
 * connection that was lost is made again by the next call. */
#ifndef PLUGIN_STORE_REDIS_H
#define PLUGIN_STORE_REDIS_H

#include <hiredis/hiredis.h>

#include "plugin/config/config_address.h"

enum {
  RG_REDIS_WAIT_MS = 2000, /* for a thread that nobody waits for */
  /* For the service thread, which delivers to all chats: an answer, with the connecting before it,
   * takes four journeys, a quarter of a second between neighbouring continents. */
  RG_REDIS_QUICK_MS = 250,
  RG_REDIS_PAUSE_FACTOR = 10,
  /* Bytes that come for one call: ten times what 100,000 settings take. */
  RG_REDIS_ANSWER_MAX = 64 * 1024 * 1024,
  RG_REDIS_REQUEST_MAX = 64 * 1024 * 1024,
  RG_REDIS_ITEMS_MAX = 4 * 1024 * 1024, /* of one array: memory is taken for all at once */
};

struct rg_redis;

/* wait_ms: for one call. Nothing is connected yet. NULL: no memory. One thread at a time may use it. */
struct rg_redis *rg_redis_new(const struct rg_redis_address *address, unsigned wait_ms);
void rg_redis_free(struct rg_redis *r); /* NULL allowed */

/* Adds a command to the next call. What fails here shows there. */
void rg_redis_add(struct rg_redis *r, const struct span *parts, size_t count);
/* Sends the commands that were added and gives the last one's reply, to be freed with
 * freeReplyObject. NULL, with what is wrong, where and what to do in why: no answer, or one of them
 * was refused. A call whose connection broke is made once more: a command may run twice. */
redisReply *rg_redis_call(struct rg_redis *r, char *why, size_t cap);
/* For what the reply itself shows: writes the same kind of line. False always. */
bool rg_redis_say(const struct rg_redis *r, const char *what, const char *advice, char *why,
                  size_t cap);

#endif
