/* cq: messages as text with CQ codes, the sandbox's own reading (spec/onebot.md 1.7), so that a
 * fault of the gate's reading shows when the two talk to each other. */
#ifndef ONEBOT_SANDBOX_CQ_H
#define ONEBOT_SANDBOX_CQ_H

#include "schema/print.h"

/* Writes text as an array of segments. A code that is not closed, or has a pair without '=', is text. */
void ob_cq_read(struct span text, struct buf *out);
/* Adds the segments (an array) as text with CQ codes. */
void ob_cq_print(const struct schema_node *segments, struct buf *out);
/* Adds one segment as a CQ code, whatever its type. */
void ob_cq_print_code(const struct schema_node *segment, struct buf *out);

#endif
