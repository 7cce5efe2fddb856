/* round: a step of the tool loop: the calls of one answer of the model, done one after the other, and
 * then the next question. Service thread only. */
#ifndef PLUGIN_AGENT_ROUND_H
#define PLUGIN_AGENT_ROUND_H

#include "plugin/agent/run.h"

/* Begins with the calls of an answer. The words beside them are a message of their own. The run may
 * have ended when this returns. */
void rg_round_begin(struct rg_run *run, const struct rg_provider_answer *answer);

#endif
