/* seen: which events came a short while ago. Implementations send one twice after a reconnect or over
 * several addresses (spec/onebot.md 6), byte for byte; a bot must answer it once. */
#ifndef PLUGIN_SEEN_H
#define PLUGIN_SEEN_H

#include "schema/bytes.h"

enum {
  RG_SEEN_PLACES =
      4096, /* two minutes of a busy account; a newer event takes an older one's place */
  RG_SEEN_MS = 120 * 1000, /* spec/reply.md 6.3 */
};

/* Zeroed: nothing was seen. */
struct rg_seen {
  struct {
    uint64_t hash, at_ms;
  } places[RG_SEEN_PLACES];
};

/* Whether this event of a message came within RG_SEEN_MS; remembers it. Events without a message_id
 * never count: two pokes within a second are two. */
bool rg_seen_before(struct rg_seen *s, struct span json, uint64_t now_ms);

#endif
