/* resolve: sends of which nobody knows whether they arrived: a timeout, a socket that closed after
 * the write, an earlier process that died. They are never sent again (spec/onebot.md 0.8); they are
 * looked for: an event of our own account may show them, or the history of the chat, where the
 * implementation gives one. What is not found is reported as unknown. Service thread only. */
#ifndef PLUGIN_DELIVERY_RESOLVE_H
#define PLUGIN_DELIVERY_RESOLVE_H

#include "onebot/event.h"
#include "plugin/gate.h"

/* The send under way is unknown: begins to look for it. */
void rg_resolve_begin(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o);

enum rg_resolve_next { RG_RESOLVE_OVER, RG_RESOLVE_WAIT, RG_RESOLVE_ASK };
/* What is next for a send that is looked for. OVER: it was given up, and the job has gone on or was
 * stopped. WAIT: for *wait_ms. ASK: call rg_resolve_ask. */
enum rg_resolve_next rg_resolve_look(struct rg_conversation *c, struct rg_job *job, uint64_t now_ms,
                                     uint64_t *wait_ms);
/* Asks for the history; the delivery goes on when that is answered. */
void rg_resolve_ask(struct rg_conversation *c, struct rg_job *job);
/* Gives up: it stays unknown; a card that surely is not there is followed by its text. */
void rg_resolve_missed(struct rg_conversation *c, struct rg_job *job);
/* It is there, by job->echoed_id: the send has arrived. */
void rg_resolve_take(struct rg_conversation *c, struct rg_job *job);
/* A message of our own account was seen: it confirms the send under way that says the same
 * (spec/onebot.md 7.1). */
void rg_resolve_self_event(struct rg_gate *gate, struct rg_account *account,
                           const struct ob_event *event);

/* Whether a message of the chat shows what the params of a send say: the same words in the same
 * places, segments of the same kinds. Both lend from the arena. */
bool rg_resolve_same(const struct schema_node *params, const struct schema_node *message,
                     struct arena *arena);

#endif
