/* delivery: brings jobs to their chats: in order, at a person's pace, each part once. Every chat
 * is a small machine on the service thread; none waits for another. */
#ifndef PLUGIN_DELIVERY_DELIVERY_H
#define PLUGIN_DELIVERY_DELIVERY_H

#include "onebot/event.h"
#include "plugin/gate.h"

/* Puts a job behind the others of its conversation. Takes it. */
void rg_delivery_add(struct rg_gate *gate, struct rg_job *job);
/* What is unsent of a ticket is not sent. */
void rg_delivery_cancel(struct rg_gate *gate, uint64_t ticket);
/* The host's model has answered the correction; empty: it failed. */
void rg_delivery_corrected(struct rg_gate *gate, uint64_t ticket, struct span text);
/* An account's connection came up or went down. */
void rg_delivery_link_changed(struct rg_gate *gate, struct rg_account *account);
/* Mutes, recalls and removals that an event tells of. */
void rg_delivery_notice_event(struct rg_gate *gate, struct rg_account *account,
                              const struct ob_event *event);
/* Ends every job as cancelled. All connections must be closed. */
void rg_delivery_end(struct rg_gate *gate);

/* For the parts of a delivery that have files of their own. */

/* Goes on with a conversation, after something happened to its first job. */
void rg_delivery_advance(struct rg_conversation *c);
/* A job that was elsewhere (at_media) is back. It may have ended when this returns. */
void rg_delivery_back(struct rg_job *job);
/* A log line about a conversation. */
__attribute__((format(printf, 3, 4))) void rg_delivery_say(const struct rg_conversation *c,
                                                           int32_t level, const char *format, ...);

#endif
