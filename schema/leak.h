/* leak: what must not leave in an outbound string (reply.md 106, 4.3): secrets by their shape,
 * credentials in addresses, private paths, raw base64 in words. One table of shapes. */
#ifndef SCHEMA_LEAK_H
#define SCHEMA_LEAK_H

#include "schema/bytes.h"
#include "schema/repair.h"

/* Private paths that must not leave (reply.md 4.1, 106). All may be empty. */
struct schema_private {
  struct span home, project;
};

enum schema_leak {
  SCHEMA_LEAK_NONE,
  SCHEMA_LEAK_MASKED, /* *ret is the text to use instead */
  SCHEMA_LEAK_NOMEM,
};

/* Masks what leaks in words: *ret lives in arena or is text. What was done is noted at byte at.
 * hide may be NULL. Linear. */
enum schema_leak schema_leak_mask(struct span text, const struct schema_private *hide, size_t at,
                                  struct arena *arena, struct schema_repairs *repairs,
                                  struct span *ret);

/* Whether an address leaks a secret, where masking would only break it. */
bool schema_leak_in_address(struct span address);

#endif
