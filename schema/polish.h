/* polish: looks at every string of a reply that fits the contract (reply.md 101, 106, 2.O): a tool
 * call blocks, a secret is masked, and what a model's machinery has left in words goes: reasoning,
 * template tokens, <text> wrappers, a whole reply object as text. */
#ifndef SCHEMA_POLISH_H
#define SCHEMA_POLISH_H

#include "schema/leak.h"
#include "schema/repair.h"
#include "schema/reply.h"

enum schema_polish {
  SCHEMA_POLISHED, /* *reply may be sent; it is another one where repairs were noted */
  SCHEMA_POLISH_CORRECT,
  SCHEMA_POLISH_BLOCK,
};

/* reply is changed in place; what is new lives in arena. On CORRECT and BLOCK *reterr says why.
 * hide may be NULL. Linear. */
enum schema_polish schema_polish_reply(const struct schema_offer *offer,
                                       const struct schema_private *hide, struct arena *arena,
                                       struct schema_repairs *repairs, struct schema_reply *reply,
                                       struct schema_error *reterr);

#endif
