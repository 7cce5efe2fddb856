/* resolve: sends of which nobody knows whether they arrived: an event of our own account may show
 * them. They are never sent again (spec/onebot.md 0.8). Service thread only. */
#ifndef PLUGIN_RESOLVE_H
#define PLUGIN_RESOLVE_H

#include "onebot/event.h"
#include "plugin/gate.h"

/* The send under way is unknown: waits a little for the event that shows it. */
void rg_resolve_await(struct rg_job *job, struct ob_outcome o);
/* None came. */
void rg_resolve_missed(struct rg_conversation *c, struct rg_job *job);
/* It came: the send has arrived. */
void rg_resolve_take(struct rg_conversation *c, struct rg_job *job);
/* A message of our own account was seen: it confirms the send under way that says the same
 * (spec/onebot.md 7.1). */
void rg_resolve_self_event(struct rg_gate *gate, struct rg_account *account,
                           const struct ob_event *event);

#endif
