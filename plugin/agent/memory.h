/* memory: what the agent keeps in the store beyond the process: the last messages of its chats and
 * the tokens spent today. A store that fails costs the memory, not the answer: it is logged once
 * until it works again. Service thread only. */
#ifndef PLUGIN_AGENT_MEMORY_H
#define PLUGIN_AGENT_MEMORY_H

#include "plugin/agent/run.h"

/* Fills a chat that was just made. */
void rg_memory_load(struct rg_agent *agent, struct rg_chat *chat, const struct rg_group *settings);
/* Adds a message to a chat's talk, and to the store as far as its settings want it kept. */
void rg_memory_line(struct rg_agent *agent, struct rg_chat *chat, const struct rg_group *settings,
                    const struct rg_talk_line *line);
/* Forgets one message of a chat, in the store too: it was taken back. */
void rg_memory_forget(struct rg_agent *agent, const struct rg_account *account, bool group,
                      struct span id, struct span message_id);
/* Forgets a chat's talk, in the store too. False: the store could not. */
bool rg_memory_clear(struct rg_agent *agent, const struct rg_account *account, bool group,
                     struct span id);
/* The budget of a provider, made and loaded where it is missing. NULL: no memory. */
struct rg_budget *rg_memory_budget(struct rg_agent *agent, const struct rg_provider *provider);
/* Counts tokens that an answer cost against its provider and its chat. */
void rg_memory_spend(struct rg_agent *agent, const struct rg_provider *provider,
                     struct rg_chat *chat, uint64_t tokens);

#endif
