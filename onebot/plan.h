/* plan: a judged reply, a profile and a target become the ordered OneBot actions that show it:
 * the reaction first, then sends and uploads (vectors/README.md "plan"). Reads no file, asks no
 * one. Nothing is planned when any part is invalid. */
#ifndef ONEBOT_PLAN_H
#define ONEBOT_PLAN_H

#include "onebot/card.h"
#include "onebot/profile.h"
#include "schema/reply.h"

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
  const struct span *roots; /* media roots, absolute; relative paths resolve against the first */
  size_t root_count;
  struct span home; /* for ~/ ; empty: refused */
};

/* The defaults of a group: language zh, all platforms, card auto, reactions on, no roots. */
struct ob_plan_settings ob_plan_settings_default(void);

enum ob_step_kind { OB_STEP_REACTION, OB_STEP_SEND, OB_STEP_UPLOAD };

struct ob_step {
  enum ob_step_kind kind;
  struct span action;    /* "send_group_msg" */
  struct span params;    /* JSON object, as it goes over the wire */
  size_t message;        /* index in reply->messages; 0 for the reaction */
  size_t chars;          /* Unicode characters of text, for the pace */
  bool card;             /* this send is a music card or ark: may be "ok" and invisible */
  struct span card_text; /* the text form of that card, for the fallback; else empty */
};

struct ob_plan {
  const struct ob_step *steps;
  size_t count;
};

/* message_id: the message being answered, empty where there is none. Everything in *ret lives in
 * arena, reply and static tables. *ret only on success. Any thread. */
enum schema_code ob_plan_make(const struct ob_profile *profile, const struct ob_target *target,
                              struct span message_id, const struct ob_plan_settings *settings,
                              const struct schema_reply *reply, struct arena *arena,
                              struct ob_plan *ret, struct schema_error *reterr);

/* What the model gets offered by this endpoint and these settings: types (a bit per enum
 * schema_type allowed by the group), share fields, reactions with labels. Lives in arena. */
void ob_plan_offer(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   uint32_t segments, bool reactions_apply, struct arena *arena,
                   struct schema_offer *ret);

#endif
