/* embedded: the files that are built into the sandbox (page, tables, demo pictures); the table is
 * written by embed.py. */
#ifndef ONEBOT_SANDBOX_EMBEDDED_H
#define ONEBOT_SANDBOX_EMBEDDED_H

#include "schema/bytes.h"

struct ob_embedded {
  const char *name;
  const unsigned char *bytes;
  size_t len;
};

extern const struct ob_embedded ob_embedded[];
extern const size_t ob_embedded_count;

/* The bytes of that file, ptr NULL where there is none. */
static inline struct span ob_embedded_find(struct span name)
{
  for (size_t i = 0; i < ob_embedded_count; i++) {
    if (span_is(name, ob_embedded[i].name))
      return (struct span) { (const char *)ob_embedded[i].bytes, ob_embedded[i].len };
  }
  return (struct span) { NULL, 0 };
}

#endif
