/* submit: turns on their way in. What a host, a framework, the built-in agent, an earlier process or the
 * plugin itself wants said becomes a job in the queue of its chat, by one way. The ABI's functions
 * that take a turn (submit, cancel, completed, check, contract) are here too, declared in gate.h. */
#ifndef PLUGIN_SUBMIT_H
#define PLUGIN_SUBMIT_H

#include "plugin/gate.h"

/* A message of a framework that the delivery is to bring: a plan, or a reply's text (plan NULL). */
struct rg_foreign {
  const struct rg_turn *turn;
  struct span text;
  const struct ob_plan *plan;
  bool quoted; /* as in struct rg_job */
  struct rg_job_watch watch;
};
/* Its watch is told where RG_OK is returned, maybe before. Service thread. */
int32_t rg_gate_deliver(struct rg_gate *gate, const struct rg_foreign *foreign);
/* A part of the agent's answer, a turn of its own. words: they stood beside a tool call, whatever form
 * the answer is to have. shown: what its directives have named so far. Service thread. */
int32_t rg_gate_submit_part(struct rg_gate *gate, const struct rg_turn *turn, struct span text,
                            bool words, struct rg_shown *shown);
/* A turn of which no answer came: the chat gets the notice, the host the result. what: constant. */
int32_t rg_gate_submit_failure(struct rg_gate *gate, const struct rg_turn *turn,
                               enum schema_code code, const char *what);
/* A fresh job for a turn that an earlier process left, with its place taken. Service thread. */
int32_t rg_gate_take_up(struct rg_gate *gate, const struct rg_stored_turn *t, struct rg_job **ret);
/* The plugin's own words to a chat, through the same queue. Service thread. */
void rg_gate_say(struct rg_gate *gate, const struct rg_account *account,
                 const struct ob_target *target, struct span text);

#endif
