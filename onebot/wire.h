/* wire: one segment that a framework wrote, settled into what this profile can be sent: data as
 * strings, one media reference, music and link cards, and text where there is only a text form. */
#ifndef ONEBOT_WIRE_H
#define ONEBOT_WIRE_H

#include "onebot/inspect.h"

/* Judges a segment other than reply and node and composes it. data may be NULL. False: refused,
 * the reason is in in. */
bool ob_wire_segment(struct ob_inspect *in, enum ob_native type, const struct schema_node *data,
                     struct ob_compose *c);
/* The reply segment, printed; *retid is the message it names. Empty: refused. */
struct span ob_wire_reply(struct ob_inspect *in, const struct schema_node *data,
                          struct span *retid);
/* Writes one member of a segment's data as the wire wants it: numbers as strings but for a few,
 * null and "" left out. */
void ob_wire_datum(struct ob_inspect *in, const struct schema_node *datum, struct schema_writer *w);

#endif
