/* shown: the attachments that directives of one answer have named so far. An answer of several parts,
 * words beside tool calls and then the answer itself, brings each once (rich-output.md S34, S35). */
#ifndef PLUGIN_DELIVERY_SHOWN_H
#define PLUGIN_DELIVERY_SHOWN_H

#include "schema/reply.h"

enum { RG_SHOWN_MAX = 64 }; /* far more than a person is shown for one question */

/* Zeroed but for arena, in which the references are kept: none. */
struct rg_shown {
  struct arena *arena;
  struct span items[RG_SHOWN_MAX];
  size_t count;
};

/* Takes the segments out of a reply that were shown already, and messages of which nothing is left;
 * remembers the others. reply's arrays are copied into arena. False: no memory. */
bool rg_shown_drop(struct rg_shown *shown, struct schema_reply *reply, struct arena *arena);

#endif
