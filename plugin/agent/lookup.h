/* lookup: what the agent's model may look up: a member's number by name, a message of the chat. The
 * descriptions, the arguments and the results; asking the endpoint is the agent's. */
#ifndef PLUGIN_AGENT_LOOKUP_H
#define PLUGIN_AGENT_LOOKUP_H

#include "plugin/provider/provider.h"

enum {
  RG_LOOKUP_TOOLS = 2,
  RG_LOOKUP_FOUND_MAX = 10, /* members in one result: who needs more asks more closely */
  RG_LOOKUP_RESULT_MAX = 8 * 1024,
  RG_MEMBERS_MS = 5 * 60 * 1000, /* people come and rename themselves slowly */
};

/* The tools of a mask of enum rg_agent_tool, in the order of its bits; returns how many. */
size_t rg_lookup_tools(uint32_t mask, struct rg_tool ret[RG_LOOKUP_TOOLS]);
/* The bit of the tool that a call names; 0: none of the mask. */
uint32_t rg_lookup_of(uint32_t mask, struct span name);
/* One text member of a call's arguments; a number counts as its digits. Lives in arena. */
struct span rg_lookup_argument(struct span arguments, const char *name, struct arena *arena);

/* Appends the members that a name or number means, from the answer to get_group_member_list:
 * [{"user_id","name"}], those that are called so before those that only contain it. */
void rg_lookup_members(struct span response, struct span name, struct buf *out);
/* Appends a message from the answer to get_msg: {"sender_id","name","text"}. */
void rg_lookup_message(struct span response, struct buf *out);

#endif
