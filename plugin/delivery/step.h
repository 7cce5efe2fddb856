/* step: what became of one step of a job's plan, and what follows from it for the job and its
 * conversation. Service thread only. */
#ifndef PLUGIN_DELIVERY_STEP_H
#define PLUGIN_DELIVERY_STEP_H

#include "plugin/delivery/conversation.h"

enum {
  RG_ANSWER_ARENA_MAX = OB_FRAME_MAX, /* a tree of an answer; real ones have a few hundred bytes */
};

/* Nothing more of a job is sent; why: a word. The first reason holds. */
void rg_step_stop(struct rg_job *job, const char *why);
/* Nothing is sent to a conversation for a while; why: a word. */
void rg_step_block(struct rg_conversation *c, const char *why, uint64_t ms);
/* Milliseconds until the chat and the account may send one more message; and that one was sent. */
uint64_t rg_step_rate_wait(struct rg_conversation *c, const struct rg_job *job, uint64_t now_ms);
void rg_step_count(struct rg_conversation *c, const struct rg_job *job);
/* Tells who watches the job, once, what became of its message (struct rg_job_watch). */
void rg_step_tell_watch(struct rg_job *job, struct span message_id, const char *why);
/* What an answer to the job's action means; a message id in it is copied into the job. */
struct ob_outcome rg_step_outcome(struct rg_job *job, struct span action,
                                  const struct ob_answer *answer);
/* The step that the job is at has arrived; message_id lives as long as the job. */
void rg_step_arrived(struct rg_conversation *c, struct rg_job *job, struct span message_id);
/* It has not, as far as is known. A message ends its turn, since what follows would stand without
 * it; a reaction is never worth that (reply.md 60). */
void rg_step_lost(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o);

#endif
