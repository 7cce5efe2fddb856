/* lenient: the lenient reading of JSON. It stands before the one JSON reader: what has one reading
 * only (reply.md 2.O) is written out as strict JSON and noted, everything else stays as it is and
 * is refused by the reader. Brackets are passed on as they stand. */
#ifndef SCHEMA_LENIENT_H
#define SCHEMA_LENIENT_H

#include "schema/bytes.h"
#include "schema/repair.h"

/* Where the strict text and its source drift apart: from byte to of the one and byte from of the
 * other on they run in step. */
struct schema_drift {
  size_t to, from;
};

enum { SCHEMA_DRIFT_MAX = 32 }; /* enough to find a fault by; then its place is a guess */

struct schema_lenient {
  struct span strict; /* lives in the arena; ptr NULL where memory ran out */
  bool changed;       /* it differs from the source */
  struct schema_drift drifts[SCHEMA_DRIFT_MAX];
  size_t drift_count;
};

/* Writes text, an object or array and what may follow it, as strict JSON. Where what follows it
 * begins is not judged; at most the rest of the text is copied with it. Repairs are noted at
 * base + their byte in text. Linear. */
void schema_lenient_write(struct span text, size_t base, struct arena *arena,
                          struct schema_repairs *repairs, struct schema_lenient *ret);

/* The byte of the source that byte at of the strict text comes from. */
size_t schema_lenient_source(const struct schema_lenient *lenient, size_t at);

/* The bracket that stands at byte at in any form, in ASCII and with its length; 0: none. */
char schema_lenient_bracket(struct span text, size_t at, size_t *retlen);
/* Behind the quote of any kind at byte at, or at. */
size_t schema_lenient_quote(struct span text, size_t at);
/* Behind white space, special spaces, comments and terminal colours at byte at. */
size_t schema_lenient_blank(struct span text, size_t at);

#endif
