/* recovery: turns that an earlier process accepted and did not end. Their steps that surely were not
 * written are sent, one that may have been is looked for in the chat; each gets its result, whatever
 * became of it. Service thread only. */
#ifndef PLUGIN_DELIVERY_RECOVERY_H
#define PLUGIN_DELIVERY_RECOVERY_H

#include "plugin/gate.h"

enum {
  /* An answer that comes later than this is no answer any more: the turn fails as expired. */
  RG_RECOVERY_AGE_MS = 5 * 60 * 1000,
  /* After a start of the machine the implementation logs in as well. */
  RG_RECOVERY_WAIT_MS = 60 * 1000,
};

/* Takes up everything that is left in the journal. Before the first turn of this process. */
void rg_recovery_run(struct rg_gate *gate);
/* Makes a fresh job what the journal knows of its turn. */
void rg_recovery_fill(struct rg_job *job, const struct rg_stored_turn *t);
/* The step that the job is at (unsure) may have been sent: begins to find out. */
void rg_recovery_resume(struct rg_conversation *c, struct rg_job *job);

#endif
