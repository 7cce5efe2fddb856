/* question: a run's question to its providers: sent over HTTP, tried again, handed to the next one, and
 * the answer read. Service thread only. */
#ifndef PLUGIN_AGENT_QUESTION_H
#define PLUGIN_AGENT_QUESTION_H

#include "plugin/agent/run.h"

/* Asks the provider whose turn it is. The run may have ended when this returns. */
void rg_run_ask(struct rg_run *run);
/* The same as the run's timer. */
void rg_run_ask_due(struct ob_timer *t);

#endif
