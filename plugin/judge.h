/* judge: an action that a framework or a host is about to send, under the settings of its chat:
 * what passes, what goes in its place, what is held back and why. The gate and the host's own
 * connection share it. Asks no one; any thread. */
#ifndef PLUGIN_JUDGE_H
#define PLUGIN_JUDGE_H

#include "onebot/action.h"
#include "plugin/gate.h"

enum { RG_RETCODE_REFUSED = 1400 }; /* OneBot's "bad request": what a framework is told */

struct rg_judged {
  struct ob_action action;
  struct ob_action_judgement judgement;
  bool unjudged; /* passes whatever was found: switched off, or only observed */
  /* what would have become of it where `mode: observe` lets it pass; OB_PASS: the same */
  enum ob_action_verdict observed;
  struct span message_id; /* of what it answers, as far as it is known, and who wrote that */
  struct span sender_id;  /* maybe empty */
  bool quoted;            /* the action itself quotes message_id */
  struct rg_view view;    /* a reference; its group is NULL where no settings were asked */
  struct ob_plan_settings plan_settings;
};

/* Judges an action that was read. Everything lives in arena, in what the action lives in, and in the
 * view. Every call needs rg_judged_done. */
void rg_judge_action(struct rg_gate *gate, struct rg_account *account,
                     const struct ob_action *action, struct arena *arena, struct rg_judged *ret);
void rg_judged_done(struct rg_judged *j);
/* Logs what is held back, and what would not have passed as it is but for `mode: observe`. kind and
 * name: of who sends it ("framework koishi"). */
void rg_judged_log(struct rg_gate *gate, const struct rg_judged *j, const char *kind,
                   const char *name);

#endif
