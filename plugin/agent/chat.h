/* chat: a chat that the agent works in: its talk, its budget of tokens, the members it has asked for. */
#ifndef PLUGIN_AGENT_CHAT_H
#define PLUGIN_AGENT_CHAT_H

#include "plugin/agent/talk.h"
#include "plugin/delivery/conversation.h"

enum {
  RG_CHAT_BUCKETS = 256,
  RG_CHATS_MAX = 4096, /* whose talk is kept; 0.8 MiB each at most, and a list of members */
};

/* Tokens used on one day (UTC). Those of providers stand in a list by name. */
struct rg_budget {
  struct rg_budget *next;
  int64_t day;
  uint64_t tokens;
  char *name; /* NULL where it is a chat's */
};

uint64_t rg_budget_spent(const struct rg_budget *b);
void rg_budget_spend(struct rg_budget *b, uint64_t tokens);
/* The one of that name, made where it is missing; NULL: no memory. */
struct rg_budget *rg_budget_get(struct rg_budget **list, struct span name);
void rg_budgets_free(struct rg_budget *list);

struct rg_chat {
  struct rg_chat *next; /* in its bucket */
  struct rg_account *account;
  bool group;
  char id[RG_ID_MAX];
  struct rg_talk talk;
  struct rg_budget budget;
  char *members; /* the endpoint's answer to get_group_member_list, or NULL */
  size_t members_len;
  uint64_t members_until_ms;
  size_t runs; /* who works on it: it must not go */
  bool loaded; /* what the store has of it was looked for */
};

/* Zeroed: none. */
struct rg_chats {
  struct rg_chat *buckets[RG_CHAT_BUCKETS];
  size_t count;
};

struct rg_chat *rg_chat_find(const struct rg_chats *all, const struct rg_account *account,
                             bool group, struct span id);
/* The same, made where it is missing, maybe in the place of an idle one. NULL: no memory, too many,
 * or no id. */
struct rg_chat *rg_chat_get(struct rg_chats *all, struct rg_account *account, bool group,
                            struct span id);
void rg_chats_done(struct rg_chats *all);

#endif
