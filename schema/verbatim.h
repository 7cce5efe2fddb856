/* verbatim: where a Markdown text is code, so that nothing in it means anything: fenced and
 * indented blocks and inline spans, by CommonMark with GFM tables and without HTML (rich-output.md
 * 76 to 83). */
#ifndef SCHEMA_VERBATIM_H
#define SCHEMA_VERBATIM_H

#include "schema/bytes.h"

struct schema_verbatim {
  size_t start, end; /* bytes: a fence with its marks, a span with its backticks */
  bool block;
};

struct schema_verbatims {
  const struct schema_verbatim *items; /* by start, none within another */
  size_t count;
};

/* Finds them all. What is found lives in arena; false: no memory. Linear. Any thread. */
bool schema_verbatim_find(struct span text, struct arena *arena, struct schema_verbatims *ret);

/* The region that holds offset at, or NULL. *cursor begins as 0 and lets offsets that only grow
 * be asked in linear time all together. */
const struct schema_verbatim *schema_verbatim_at(const struct schema_verbatims *all, size_t at,
                                                 size_t *cursor);

#endif
