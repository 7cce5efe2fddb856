/* glance: a first look at a string, many bytes at a time: could there be anything in it that needs
 * a second one? Most strings of a chat have nothing. */
#ifndef SCHEMA_GLANCE_H
#define SCHEMA_GLANCE_H

#include "schema/bytes.h"

enum schema_glance {
  SCHEMA_GLANCE_MARKUP = 1, /* a tool call, reasoning, a token, a wrapper, an object */
  SCHEMA_GLANCE_SECRET = 2, /* a secret by its shape; private paths are not looked for */
};

/* The bits of what may be in text. A bit that is not set is certain. Linear. */
unsigned schema_glance(struct span text);

/* The same a byte at a time: where the processor knows no other way, and to test against. */
unsigned schema_glance_portable(struct span text);

/* A walk over the bytes of text at which a mark, a token, a call or an object might begin. Begin
 * with { .text = text, .block = SIZE_MAX }. */
struct schema_glancer {
  struct span text;
  size_t block; /* the 32 bytes that mask belongs to begin here */
  uint32_t mask;
};

/* Bits of such bytes among the 32 from byte at on. */
uint32_t schema_glance_block(struct span text, size_t at);

/* The first such byte from byte at on, text.len: none. */
static inline size_t schema_glance_next(struct schema_glancer *g, size_t at)
{
  while (at < g->text.len) {
    if (g->block != at - at % 32) {
      g->block = at - at % 32;
      g->mask = schema_glance_block(g->text, g->block);
    }
    uint32_t left = g->mask >> at % 32;
    if (left) return at + (size_t)__builtin_ctz(left);
    at = g->block + 32;
  }
  return g->text.len;
}

/* Whether markup may begin at byte at, where one of such bytes is. */
bool schema_glance_at(struct span text, size_t at);

/* Whether one of the names that stand in square brackets may begin at byte at, behind the bracket. */
bool schema_glance_square(struct span text, size_t at);

#endif
