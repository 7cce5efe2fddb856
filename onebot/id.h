/* id: the numbers of OneBot, which are text to us: read by their digits, never through a double. */
#ifndef ONEBOT_ID_H
#define ONEBOT_ID_H

#include "schema/tree.h"

/* Whether s is a decimal int64 as JSON writes it: no plus, no leading zero, "-0" not. A
 * message_id may be negative. ret may be NULL. */
bool ob_id_read(struct span s, int64_t *ret);
/* Whether s is a positive decimal of at most max. */
bool ob_id_positive(struct span s, int64_t max);
/* An id of an event or a response: the text of an integer, or a string as it is. Empty where it is
 * 0, "", "0", "null", "undefined", a fraction or of another type. node may be NULL. */
struct span ob_id_of(const struct schema_node *node);

#endif
