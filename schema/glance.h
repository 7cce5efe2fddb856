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
/* Only whether there may be markup; secrets are not looked for. */
bool schema_glance_markup(struct span text);

/* The same a byte at a time: where the processor knows no other way, and to test against. */
unsigned schema_glance_portable(struct span text);

/* The first 32 bytes of text, counted from byte at in steps of 32, among which is one where a mark, a
 * token, a call or an object might begin: where they begin, text.len or more: nowhere. retmask: a bit
 * for each such byte. */
size_t schema_glance_block(struct span text, size_t at, uint32_t *retmask);

/* A walk over such bytes, forward only. */
struct schema_glancer {
  struct span text;
  size_t block; /* the next of them are among the 32 bytes from here on */
  uint32_t mask;
};

static inline struct schema_glancer schema_glancer_of(struct span text)
{
  struct schema_glancer g = { .text = text };
  g.block = schema_glance_block(text, 0, &g.mask);
  return g;
}

/* The first such byte from byte at on, text.len: none. */
static inline size_t schema_glance_next(struct schema_glancer *g, size_t at)
{
  while (at >= g->block && g->block < g->text.len) {
    size_t block = at - at % 32;
    if (block > g->block) {
      g->block = schema_glance_block(g->text, block, &g->mask);
      continue;
    }
    uint32_t left = g->mask >> at % 32;
    if (left) return at + (size_t)__builtin_ctz(left);
    g->block = schema_glance_block(g->text, block + 32, &g->mask);
  }
  return g->block < g->text.len ? g->block + (size_t)__builtin_ctz(g->mask) : g->text.len;
}

/* Whether markup may begin at byte at, where one of such bytes is. */
bool schema_glance_at(struct span text, size_t at);

/* Whether one of the names that stand in square brackets may begin at byte at, behind the bracket. */
bool schema_glance_square(struct span text, size_t at);

#endif
