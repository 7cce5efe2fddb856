/* leak: what must not leave in an outbound string (reply.md 106, 4.3). One table of shapes.
 *
 *   what                                  in words               in an address that is opened
 *   a key or token of a known shape       its prefix and ***     refused
 *   a web token, a bot's token, Bearer    ***                    left
 *   KEY=value, "key": "value" by its key  KEY=***                left (signed addresses need it)
 *   user:password@ of an address          ***@                   refused
 *   a private key (PEM)                   ***                    left
 *   a path below project or home          ./ and ~/, and *** below .ssh and the like    left
 *   base64 of 1,024 characters or more    …                      left
 *
 * Words are texts, Markdown, labels, payloads, a share's title and description. Left alone are the
 * references of kind path, base64 and file: they are not shown. */
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

/* Whether a word that begins at byte at begins like a secret of a known shape. Cheap. */
bool schema_leak_begins(struct span text, size_t at);

/* Whether an address leaks a secret, where masking would only break it. */
bool schema_leak_in_address(struct span address);

#endif
