/* schema_file: a JSON Schema of the operator's or a caller's own, held to the portable subset when it
 * is set (response-schema.md A, 121 to 125). */
#ifndef PLUGIN_CONFIG_SCHEMA_FILE_H
#define PLUGIN_CONFIG_SCHEMA_FILE_H

#include "schema/portable.h"

enum { RG_SCHEMA_MAX = 256 * 1024 }; /* bytes of one; providers take far less */

/* Empty path and NULL tree: none is set. */
struct rg_schema_file {
  struct span path; /* of the setting: absolute */
  struct span text; /* as it was written, for the model */
  const struct schema_node *tree;
};

/* Reads a schema's text. *ret lives in arena and in text. False: *retwhy, which lives in notes, says
 * what is wrong and where. Any thread. */
bool rg_schema_read(struct span text, struct arena *arena, struct arena *notes,
                    const struct schema_node **ret, struct span *retwhy);
/* Reads the file at ret->path, which is kept. Everything else of *ret lives in arena. */
bool rg_schema_load(struct arena *arena, struct arena *notes, struct rg_schema_file *ret,
                    struct span *retwhy);

#endif
