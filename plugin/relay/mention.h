/* mention: who spoke to the bot lately, so that a framework's answer that names no message can be
 * given its reaction: only where one single message can be meant (design 8). */
#ifndef PLUGIN_RELAY_MENTION_H
#define PLUGIN_RELAY_MENTION_H

#include <stdbool.h>

#include "plugin/peer.h"
#include "schema/bytes.h"

/* Of one account; more within the window is a crowd in which nobody can tell anyway. */
enum { RG_MENTIONS_MAX = 256 };

struct rg_mention {
  char group_id[RG_ID_MAX], message_id[RG_ID_MAX], user_id[RG_ID_MAX];
  uint64_t at_ms;
};

/* Zeroed: none. */
struct rg_mentions {
  struct rg_mention *ring;
  size_t count, next;
  uint64_t lost_ms; /* when the youngest that had to be forgotten came; 0: none */
};

/* Notes a message; one whose ids do not fit is as if it were lost. */
void rg_mentions_note(struct rg_mentions *m, struct span group_id, struct span message_id,
                      struct span user_id, uint64_t now_ms);
/* The only mention of that group within the window. False: none, several, or it cannot be told. */
bool rg_mentions_only(const struct rg_mentions *m, struct span group_id, uint64_t window_ms,
                      uint64_t now_ms, struct rg_mention *ret);
void rg_mentions_done(struct rg_mentions *m);

#endif
