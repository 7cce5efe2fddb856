/* fit: whether a JSON document has the shape of a portable schema, exactly: nothing is coerced,
 * repaired or defaulted. */
#ifndef SCHEMA_FIT_H
#define SCHEMA_FIT_H

#include "schema/portable.h"

/* Compares a document with a schema that schema_portable_check has passed (response-schema.md 34
 * to 51). Keys before values, values in the schema's order, the first fault ends it.
 * SCHEMA_OK, SCHEMA_EMISFIT with *retmisfit (which may be NULL) filled, SCHEMA_ENOMEM. Numbers are
 * judged by their digits: an integer has no range, 1e2 is one, 1.5 is none. Any thread. */
enum schema_code schema_fit(const struct schema_node *schema, const struct schema_node *document,
                            struct arena *arena, struct schema_misfit *retmisfit);

#endif
