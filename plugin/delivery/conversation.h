/* conversation: one chat at one endpoint: its queue of turns and what is remembered of it. The
 * table finds it by account, kind and number; its cost does not depend on how many there are. */
#ifndef PLUGIN_DELIVERY_CONVERSATION_H
#define PLUGIN_DELIVERY_CONVERSATION_H

#include "plugin/admin/history.h"
#include "plugin/delivery/keyboard.h"
#include "plugin/delivery/rate.h"
#include "plugin/delivery/turn.h"
#include "plugin/endpoint.h"

struct rg_conversation {
  struct rg_conversation *next; /* in its bucket; guarded by the gate's mu, as the next line */
  size_t waiting;               /* jobs that have no result yet */

  /* set once */
  struct rg_account *account;
  bool group;
  char id[RG_ID_MAX];

  /* service thread only */
  struct rg_job *head, **tail;                           /* the jobs in their order */
  struct rg_conversation *previous_active, *next_active; /* of those with jobs */
  bool calling;                                          /* an answer for head is outstanding */
  struct ob_timer timer;                                 /* when head goes on */
  uint64_t blocked_until_ms;                             /* muted, or refused as risky */
  const char *blocked_why;
  struct rg_rate rate, notices; /* what was sent lately, failure notices by themselves */
  struct rg_keyboard keyboard;
  struct rg_history history;
};

struct rg_conversations {
  struct rg_conversation **buckets;
  size_t bucket_count; /* a power of two, 0 at first */
  size_t count;
  size_t sweep_at; /* look for forgotten ones when there are so many */
};

/* All under the gate's mu. id is a decimal number of at most RG_ID_MAX - 1 bytes. */
struct rg_conversation *rg_conversation_find(const struct rg_conversations *all,
                                             const struct rg_account *account, bool group,
                                             struct span id);
/* The same, made where it is missing; NULL: no memory. */
struct rg_conversation *rg_conversation_get(struct rg_conversations *all,
                                            struct rg_account *account, bool group, struct span id);
/* Forgets those that hold nothing any more, once they have become many. Service thread. */
void rg_conversations_sweep(struct rg_conversations *all, uint64_t now_ms);
/* None may have a job. Service thread, or after it has ended. */
void rg_conversations_done(struct rg_conversations *all);

#endif
