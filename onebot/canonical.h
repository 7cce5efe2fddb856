/* canonical: segments of the reply contract that a framework puts into its own messages, in the
 * form that the wire has for them. */
#ifndef ONEBOT_CANONICAL_H
#define ONEBOT_CANONICAL_H

#include "schema/tree.h"

/* A mention{target}, or image, audio, video and file with media{kind, value}, as the native segment
 * that says the same, in arena; everything else as it is (keyboard, markdown, dice and rps have the
 * same shape on the wire, and of a share wire.c tells which it is). The result's `next` is the
 * segment's. */
const struct schema_node *ob_canonical_native(const struct schema_node *segment,
                                              struct arena *arena);

#endif
