/* attach: attachments that a final reply names in its text: MEDIA lines of older agents, and
 * Markdown images where the channel opted in (rich-output.md sections E and H). Both leave the
 * text; nothing is fetched. */
#ifndef SCHEMA_ATTACH_H
#define SCHEMA_ATTACH_H

#include "schema/bytes.h"

enum schema_attach_option {
  SCHEMA_ATTACH_LINES = 1,  /* MEDIA: lines */
  SCHEMA_ATTACH_IMAGES = 2, /* ![alt](https address) */
};

struct schema_attached {
  struct span text;         /* what is left, or the text itself where nothing was taken out */
  const struct span *media; /* as written, in the order of the text, twice where it stands twice */
  size_t count;
  size_t refused; /* lines with a path that may not be one: they leave the text all the same */
  bool taken;     /* something was taken out, if only a refused path */
};

/* options: bits of above. *ret lives in arena and in text. False: no memory. Linear. Any thread. */
bool schema_attach_take(struct span text, unsigned options, struct arena *arena,
                        struct schema_attached *ret);

#endif
