/* act: the actions of the played implementation. Which of them it has is in actions.tsv. */
#ifndef ONEBOT_SANDBOX_ACT_H
#define ONEBOT_SANDBOX_ACT_H

#include "onebot/sandbox/wire.h"

/* One call. */
struct ob_act {
  struct ob_sandbox *b;
  const struct schema_node *params; /* NULL: none were given */
  struct arena *arena;
  struct ob_result *result;
};

/* Runs the action. False: this implementation does not have it (nothing was written to result). */
bool ob_act_run(struct ob_act *a, struct span action);
/* Whether it has an action of that name: the tests hold the list of them against actions.tsv. */
bool ob_act_known(const struct ob_sandbox *b, struct span action);

/* Refuses with a row of facts.tsv. */
void ob_act_refuse(struct ob_act *a, const char *fact, struct span detail);
/* Reads an id of the parameters (a number or its text). False: refused, it is missing or no
 * number. Users and groups are translated back from aliases. */
bool ob_act_account(struct ob_act *a, const char *name, int64_t *ret);
bool ob_act_number(struct ob_act *a, const char *name, int64_t *ret);

typedef void ob_act_fn(struct ob_act *a);
/* send.c: the actions that leave something in a chat */
ob_act_fn ob_act_send_msg, ob_act_send_private_msg, ob_act_send_group_msg;
ob_act_fn ob_act_send_group_forward_msg, ob_act_send_private_forward_msg, ob_act_send_forward_msg;
ob_act_fn ob_act_upload_group_file, ob_act_upload_private_file;
ob_act_fn ob_act_emoji_like, ob_act_unset_emoji_like, ob_act_group_reaction;
ob_act_fn ob_act_delete_msg, ob_act_quick_operation;
/* history.c: the actions that read what was said */
ob_act_fn ob_act_get_msg, ob_act_group_history, ob_act_friend_history, ob_act_get_forward_msg;

#endif
