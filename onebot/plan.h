/* plan: a judged reply, a profile and a target become the ordered OneBot actions that show it:
 * the reaction first, then sends and uploads (vectors/README.md "plan"). Reads no file, asks no
 * one. Nothing is planned when any part is invalid. */
#ifndef ONEBOT_PLAN_H
#define ONEBOT_PLAN_H

#include "onebot/card.h"
#include "onebot/compose.h"
#include "onebot/profile.h"

struct ob_target {
  struct span group_id, user_id; /* exactly one is not empty; decimal */
};

struct ob_plan_settings {
  enum schema_language language;
  bool mention_all;
  uint32_t share_platforms; /* bit 1u << enum ob_platform */
  enum ob_card card;
  bool reactions;                   /* false: none */
  const struct span *reaction_list; /* values or labels listed by the operator: may be unproven */
  size_t reaction_list_count;
  /* media roots, absolute, and home for ~/ (empty: refused): for ob_mediaref_resolve, which comes
   * before the plan; the plan itself refuses relative paths */
  const struct span *roots;
  size_t root_count;
  struct span home;
};

/* The defaults of a group: language zh, all platforms, card auto, reactions on, no roots. */
struct ob_plan_settings ob_plan_settings_default(void);

/* message_id: the message being answered, empty where there is none. Everything in *ret lives in
 * arena, reply and static tables. *ret only on success. Any thread. Errors: ETARGET;
 * EMENTIONTARGET, EMENTIONALL, EMENTIONUNSUPPORTED with the path of the target; ENOMEM. */
enum schema_code ob_plan_make(const struct ob_profile *profile, const struct ob_target *target,
                              struct span message_id, const struct ob_plan_settings *settings,
                              const struct schema_reply *reply, struct arena *arena,
                              struct ob_plan *ret, struct schema_error *reterr);

/* What the model gets offered by this endpoint and these settings: types (a bit per enum
 * schema_type allowed by the group), share fields, reactions with labels. Nothing of it is refused
 * by ob_plan_make but a mention of no account. Lives in arena. */
void ob_plan_offer(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   uint32_t segments, bool reactions_apply, struct arena *arena,
                   struct schema_offer *ret);

/* ---- parts of it that the judge of actions and the delivery need as well ---- */

/* The fixed notice in place of a part that cannot go ("[图片无法发送]"), constant. */
struct span ob_plan_notice(enum schema_type type, enum schema_language language);
/* Whether target may be mentioned: SCHEMA_OK or the code of the refusal. */
enum schema_code ob_plan_mention(const struct ob_profile *profile,
                                 const struct ob_plan_settings *settings, struct span target);
/* "{"group_id":1,"message":[" of a target that was checked, and its action. */
struct span ob_plan_head(const struct ob_target *target, struct arena *arena);
struct span ob_plan_action(const struct ob_target *target);
/* Composes a share in the form that the profile shows. False: its address is none, nothing was
 * composed. */
bool ob_plan_share(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   struct ob_share share, struct arena *arena, struct ob_compose *c);
/* Puts a reply's messages into c, each in sends of its own; join: the first goes on with the send
 * that is begun. Errors as above, without ETARGET. */
enum schema_code ob_plan_messages(const struct ob_profile *profile,
                                  const struct ob_plan_settings *settings,
                                  const struct ob_target *target, const struct schema_reply *reply,
                                  bool join, struct ob_compose *c, struct schema_error *reterr);
/* The reaction of a reply as a step of c; left out where there is none to give. */
void ob_plan_react(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   const struct ob_target *target, struct span message_id, struct span reaction,
                   struct ob_compose *c);
/* Buttons as a numbered list: text gets "请选择…" with the first button, then a line each. */
struct ob_buttons {
  struct buf text;
  enum schema_language language;
  size_t count;
};
/* Adds a button, which takes the next number; false where it has no label or no payload and takes
 * none. Begin with a buf that was initialised. */
bool ob_buttons_add(struct ob_buttons *b, struct span label, struct span payload);

#endif
