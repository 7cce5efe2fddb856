/* run: one answer being made by the agent: what was said, what it waits for, what becomes of it. It
 * asks (question.h), looks up (round.h), and ends in a turn or in nothing. Who calls back finds it by
 * number, so that a run may end at any time. Service thread only. */
#ifndef PLUGIN_AGENT_RUN_H
#define PLUGIN_AGENT_RUN_H

#include "plugin/agent/agent.h"
#include "plugin/agent/chat.h"
#include "plugin/agent/lookup.h"
#include "plugin/delivery/shown.h"

enum { RG_RUN_TOOLS_MAX = RG_LOOKUP_TOOLS + RG_TOOLS_MAX };
enum {
  RG_SAID_MAX = RG_TALK_MAX + 1 + 21 * (RG_CALLS_MAX + 1)
}; /* the talk, every round's calls */

struct rg_run {
  struct rg_run *next;
  struct rg_agent *agent;
  struct rg_chat *chat;
  uint64_t number;
  uint64_t ticket; /* of the turn that is to be corrected; 0: an answer of our own */
  struct rg_view view;
  struct arena arena; /* what follows points into it */
  struct span message_id, sender_id;
  struct span system, schema;
  struct rg_said *said;
  size_t said_count;
  bool waiting;      /* behind another run of the same person, or too many of the chat */
  bool delivered;    /* something of it is on its way: no other provider may begin anew */
  bool shortened;    /* the question was too long for a model */
  struct span final; /* the answer that waits for its time */
  struct rg_shown shown;
  uint64_t asked_ms;
  size_t provider, tries;
  uint32_t rounds;
  uint64_t http;
  struct ob_timer timer;
  struct rg_tool_call calls[RG_CALLS_MAX]; /* of this round */
  size_t call_count, call;
};

struct rg_agent {
  struct rg_gate *gate;
  struct rg_chats chats;
  struct rg_run *runs;
  size_t run_count;
  uint64_t last_number;
  struct rg_budget *used; /* by providers */
  bool store_failed;      /* the last time, which was logged */
  bool waking;            /* those that waited are being begun */
};

/* Writes a line of the log: the account, the chat, what and more. */
void rg_run_say(const struct rg_run *run, int32_t level, const char *what, const char *more);
/* NULL: it has ended. */
struct rg_run *rg_run_find(const struct rg_agent *agent, uint64_t number);
/* NULL: too many, or no memory. Keeps the view. */
struct rg_run *rg_run_new(struct rg_agent *agent, struct rg_chat *chat, const struct rg_view *view);
/* Takes a run away, whatever it waits for. */
void rg_run_free(struct rg_run *run);
/* Whether it answers a person's message of that chat. */
bool rg_run_is_of(const struct rg_run *run, const struct rg_chat *chat, struct span sender_id);
/* Makes the talk and the system text, and asks. */
void rg_run_start(struct rg_run *run);
/* Whether an answer to that person may be begun now: none of theirs is being made, and not too many
 * in the chat. */
bool rg_run_may_start(const struct rg_agent *agent, const struct rg_chat *chat,
                      const struct rg_group *settings, struct span sender_id);
/* Lets the oldest run that waits and may begin, begin. */
void rg_run_wake(struct rg_agent *agent);
/* Takes a run away and lets the next one begin. */
void rg_run_end(struct rg_run *run);
/* Ends a run of which no answer comes: its turn fails by that code, for the host and for `last`, and
 * the chat is told (reply.md 127). why is constant text; more goes to the log only. */
void rg_run_fail(struct rg_run *run, enum schema_code code, const char *why, const char *more);
/* The i-th provider of its group, or NULL behind the last. */
const struct rg_provider *rg_run_provider(const struct rg_run *run, size_t i);
/* Hands words that stand beside a tool call over as a turn. */
void rg_run_narrate(struct rg_run *run, struct span text);
/* Hands an answer of the model over as a turn. */
void rg_run_deliver(struct rg_run *run, struct span text);
/* What a turn of this run is about; lent by the run. */
struct rg_turn rg_run_turn(const struct rg_run *run);
/* Adds to what was said. False: the talk is too long. */
bool rg_run_said(struct rg_run *run, const struct rg_said *said);
/* The tools that it may use: bits of enum rg_agent_tool. */
uint32_t rg_run_tools(const struct rg_run *run);
/* The same as the model is told of them; returns how many. */
size_t rg_run_tool_list(const struct rg_run *run, struct rg_tool ret[RG_RUN_TOOLS_MAX]);
/* The HTTP tool of that name, if it may use it. */
const struct rg_http_tool *rg_run_http_tool(const struct rg_run *run, struct span name);

#endif
