/* bracket: the one bracket that is missing or too many (reply.md 80). Where the reader has met a
 * fault, the places around it are tried at which putting one in or taking one out balances the
 * whole object; which of them is right, the full reading decides. */
#ifndef SCHEMA_BRACKET_H
#define SCHEMA_BRACKET_H

#include "schema/bytes.h"

enum {
  SCHEMA_BRACKET_FIXES_MAX = 6, /* each is read in full; a slip has one or two */
  SCHEMA_CLOSERS_MAX = 8,       /* what a reply is nested */
};

struct schema_bracket_fix {
  size_t at;
  char insert[SCHEMA_CLOSERS_MAX + 1]; /* put in before byte at; "": the bracket there goes */
};

/* Finds the changes to text, which begins with an object and has its first fault at byte fault.
 * closers_max: how many may be missing at the end of the object (reply.md says 1; more is a text
 * that was cut). Returns how many were found. One pass over text. */
size_t schema_bracket_fixes(struct span text, size_t fault, size_t closers_max,
                            struct schema_bracket_fix fixes[SCHEMA_BRACKET_FIXES_MAX]);

/* A copy of text with the change made; ptr NULL where memory ran out. */
struct span schema_bracket_apply(struct span text, const struct schema_bracket_fix *fix,
                                 struct arena *arena);

#endif
