/* silence: the reply that asks for none to be sent, NO_REPLY alone (rich-output.md 92 to 94). */
#ifndef SCHEMA_SILENCE_H
#define SCHEMA_SILENCE_H

#include "schema/bytes.h"

/* Whether text is nothing but the token: any case, repeated, with white space or punctuation
 * around it, or as a JSON string, or as {"action":"NO_REPLY"}. arena is used while it looks.
 * Linear. Any thread. */
bool schema_silence_is(struct span text, struct arena *arena);

#endif
