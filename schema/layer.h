/* layer: a text inside a text. A model, or a server between, may encode an answer once more: as a
 * JSON string, with every quote escaped, with HTML entities. */
#ifndef SCHEMA_LAYER_H
#define SCHEMA_LAYER_H

#include "schema/bytes.h"
#include "schema/repair.h"

/* Whether the whole of text is such an encoding; then *ret is what it says (ptr NULL: out of
 * memory) and *retkind how it was encoded. The case is clear or there is none: every quote is
 * encoded, nothing stands around. */
bool schema_layer_decode(struct span text, struct arena *arena, struct span *ret,
                         enum schema_repair_kind *retkind);

/* What text says behind the escapes of JSON strings, wherever they stand; what is no escape stays.
 * ptr NULL: out of memory. */
struct span schema_layer_unescape(struct span text, struct arena *arena);

#endif
