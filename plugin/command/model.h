/* model: a thread of the bundled host that plays the model: takes events, answers by a script
 * (script.h), submits through the ABI. Host callbacks must not call back in, so they only queue. */
#ifndef PLUGIN_COMMAND_MODEL_H
#define PLUGIN_COMMAND_MODEL_H

#include "plugin/command/script.h"
#include "plugin/replygate.h"

struct rg_model;

/* script is lent until rg_model_stop. answers_all: every message of a group, not only those that
 * mention the bot. NULL: no memory. */
struct rg_model *rg_model_new(const struct rg_script *script, bool answers_all);
/* Begins to answer. False: no thread could be had. */
bool rg_model_start(struct rg_model *m, const struct rg_api *api, struct rg_gate *gate);
/* An event of an endpoint; copied. Any thread. Beyond what may wait it is dropped. */
void rg_model_event(struct rg_model *m, struct rg_bytes endpoint, struct rg_bytes event);
/* The request of a correction. Any thread. */
void rg_model_correct(struct rg_model *m, uint64_t ticket);
/* Ends the thread; what waits is dropped. The gate must still be open. Before or after it the other
 * functions do nothing. */
void rg_model_stop(struct rg_model *m);
void rg_model_free(struct rg_model *m); /* stopped; NULL allowed */

#endif
