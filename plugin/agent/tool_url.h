/* tool_url: the address of an HTTP tool with the parameters of a call in it. {name} in the operator's
 * address stands for a parameter, behind the host only; a value is percent-encoded, so that it stays
 * in its place. Pure. */
#ifndef PLUGIN_AGENT_TOOL_URL_H
#define PLUGIN_AGENT_TOOL_URL_H

#include "schema/tree.h"

enum { RG_TOOL_URL_MAX = 8 * 1024 }; /* most servers take no more */

/* Whether a template can be used for these parameters (a portable schema, NULL: none are known yet).
 * queried: parameters that it does not name are put behind the ?. NULL, or what is wrong and what is
 * wanted; lives in arena. */
const char *rg_tool_url_fault(struct span url, const struct schema_node *parameters, bool queried,
                              struct arena *arena);
/* Appends the address for arguments that fit the parameters. NULL, or what is wrong with them, for
 * the model (constant). */
const char *rg_tool_url_write(struct span url, const struct schema_node *arguments, bool queried,
                              struct buf *out);
/* Whether the address has a place for that parameter. */
bool rg_tool_url_names(struct span url, struct span parameter);

#endif
