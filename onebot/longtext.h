/* longtext: a text that is too long for one chat message is cut where a person would cut it, or
 * sent as one merged forward. Works on a finished plan, so that plans never depend on lengths. */
#ifndef ONEBOT_LONGTEXT_H
#define ONEBOT_LONGTEXT_H

#include "onebot/plan.h"

enum ob_long_form { OB_LONG_SPLIT, OB_LONG_FORWARD };

/* Who the nodes of a merged forward are from: the bot itself. */
struct ob_author {
  struct span user_id, nickname;
};

/* How many bytes of text go first so that they hold at most max characters: up to a paragraph, a
 * line, a sentence, a word or at least a whole character (with its marks and joiners), never within
 * an address or a closed ``` fence, which then may make the part longer. At least one character;
 * all of text where it is short enough. */
size_t ob_longtext_cut(struct span text, size_t max);

/* Sends of plan whose text is longer than max characters become several, or one forward where the
 * form says so and the profile has forwards. Everything else stays as it is; ret may be plan.
 * What is new lives in arena. Errors: ENOMEM. */
enum schema_code ob_longtext_apply(const struct ob_profile *profile, const struct ob_target *target,
                                   enum ob_long_form form, size_t max,
                                   const struct ob_author *author, const struct ob_plan *plan,
                                   struct arena *arena, struct ob_plan *ret);

#endif
