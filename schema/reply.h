/* reply: the strict contract. An offer and bytes become a reply in one pass, or the first fault. */
#ifndef SCHEMA_REPLY_H
#define SCHEMA_REPLY_H

#include "schema/error.h"
#include "schema/offer.h"

/* The most that one reply may take from its arena besides the text itself. */
enum { SCHEMA_REPLY_ARENA_MAX = 64 * 1024 * 1024 };

/* Reads text as one reply by reply.md 2.A to 2.G, strictly, and cleans it (empty texts, share
 * fields, keyboards and then messages go; control characters but tab and newline are cut).
 * *ret lives in arena and in text, and is written only on success. The legacy root
 * {"segments":[…]} is SCHEMA_EMISSING here; the verdict reads it by schema_reply_read_legacy.
 * Any thread; no global state. */
enum schema_code schema_reply_read(const struct schema_offer *offer, struct span text,
                                   struct arena *arena, struct schema_reply *ret,
                                   struct schema_error *reterr);

#endif
