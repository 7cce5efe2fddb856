/* outcome: a response, a timeout or a closed socket -> sent | refused | unknown | offline, with
 * the reason (vectors/README.md "outcome"; spec/onebot.md 7). */
#ifndef ONEBOT_OUTCOME_H
#define ONEBOT_OUTCOME_H

#include "onebot/profile.h"
#include "schema/tree.h"

enum ob_outcome_kind { OB_SENT, OB_REFUSED, OB_UNKNOWN, OB_OFFLINE };

struct ob_outcome {
  enum ob_outcome_kind kind;
  struct span message_id; /* lives in the response; empty: none */
  const char *reason;     /* a word of the list, NULL for OB_SENT */
};

const char *ob_outcome_word(enum ob_outcome_kind kind);
/* response NULL: timeout. */
struct ob_outcome ob_outcome_read(const struct ob_profile *profile, struct span action,
                                  const struct schema_node *response);
struct ob_outcome ob_outcome_closed(void); /* the socket closed after the write */

#endif
