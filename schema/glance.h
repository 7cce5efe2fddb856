/* glance: a first look at a string, many bytes at a time: could there be anything in it that needs
 * a second one? Most strings of a chat have nothing. */
#ifndef SCHEMA_GLANCE_H
#define SCHEMA_GLANCE_H

#include "schema/bytes.h"

enum schema_glance {
  SCHEMA_GLANCE_MARKUP = 1, /* a tool call, reasoning, a token, a wrapper, an object */
  SCHEMA_GLANCE_SECRET = 2, /* a secret by its shape; private paths are not looked for */
};

/* The bits of what may be in text. A bit that is not set is certain. Linear. */
unsigned schema_glance(struct span text);

/* The first byte of text from at on where a mark, a token, a call or an object might begin. */
size_t schema_glance_next(struct span text, size_t at);

/* Whether one of the names that stand in square brackets may begin at byte at, behind the bracket. */
bool schema_glance_square(struct span text, size_t at);
/* Whether the colon at byte at may end the label of an agent's step. */
bool schema_glance_label(struct span text, size_t at);

#endif
