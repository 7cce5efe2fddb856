/* agent: the built-in agent: a message that it is to answer becomes a question to a model, and the
 * model's answer a turn like any host's. Everything here runs on the service thread; HTTP's answers
 * are posted to it. Whatever a chat says is data in the user's turns, never system text. */
#ifndef PLUGIN_AGENT_AGENT_H
#define PLUGIN_AGENT_AGENT_H

#include "onebot/event.h"
#include "plugin/gate.h"

enum {
  RG_AGENT_RUNS_MAX = 256,     /* answers being made or waiting, of all chats */
  RG_AGENT_AT_ONCE_MAX = 64,   /* being made; each is a connection */
  RG_AGENT_RUNS_CHAT_MAX = 24, /* of one chat, those that wait too: nobody waits for the 25th */
  RG_AGENT_TRIES = 3,          /* of one provider, with back-off */
  RG_AGENT_BACK_OFF_MS = 1000, /* before the second try; doubled for each further one */
  RG_AGENT_BACK_OFF_MAX_MS = 30 * 1000,
  RG_AGENT_LOOKUP_MS = 10 * 1000, /* for the endpoint to answer a tool's question */
};

struct rg_agent;

/* NULL: no memory. gate outlives it. */
struct rg_agent *rg_agent_new(struct rg_gate *gate);
/* HTTP must have ended and every account be closed. NULL allowed. */
void rg_agent_free(struct rg_agent *agent);
/* Whether the agent may take part in a chat, so that what is said there must be shown to it.
 * group_id empty: a private chat. */
bool rg_agent_wants(const struct rg_agent *agent, const struct rg_account *account,
                    struct span group_id);
/* A message that is no command. Remembers it, and answers it where a rule of its group says so, or
 * where it is for the bot anyway (a choice that the bot offered). */
void rg_agent_event(struct rg_agent *agent, struct rg_account *account,
                    const struct ob_event *event, bool for_bot);
/* Forgets what was said in a chat, here and in the store, and gives up what is being made of it.
 * False: the store could not. */
bool rg_agent_clear(struct rg_agent *agent, const struct rg_account *account, bool group,
                    struct span id);
/* A notice: a message that was taken back is neither answered nor remembered, and no answer is made
 * for a group that the account has left. */
void rg_agent_notice(struct rg_agent *agent, const struct rg_account *account,
                     const struct ob_event *event);
/* A turn has ended: what of it was sent belongs to the talk. */
void rg_agent_turn_ended(struct rg_agent *agent, const struct rg_job *job);
/* Asks a provider for the one format-only correction of a job; rg_delivery_corrected is called with
 * its answer, never before this returns. False: there is no provider to ask. */
bool rg_agent_correct(struct rg_agent *agent, const struct rg_job *job);

#endif
