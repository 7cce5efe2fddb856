/* embed: the [embed …] shortcode of an assistant's text and the canvas block that it is stored as
 * (rich-output.md section I). It is for a web page, never for a chat: the delivery of a reply does
 * not look at it. */
#ifndef SCHEMA_EMBED_H
#define SCHEMA_EMBED_H

#include "schema/print.h"

/* A canvas preview. ptr NULL: absent. */
struct schema_embed {
  struct span url, view_id, title, class_name, style, sandbox;
  struct span height; /* the text of a JSON number */
};

struct schema_embeds {
  struct span text; /* without the shortcodes that render */
  const struct schema_embed *items;
  size_t count;
};

enum { SCHEMA_EMBED_HEIGHT_MIN = 160, SCHEMA_EMBED_HEIGHT_MAX = 1200 }; /* rule 164 */

/* Takes the shortcodes out of an assistant's text. *ret lives in arena and in text. False: no
 * memory. Linear. Any thread. */
bool schema_embeds_take(struct span text, struct arena *arena, struct schema_embeds *ret);

/* Reads a stored content block; false: it is no canvas block (rules 46, 53, 167). *ret lives in
 * the tree. */
bool schema_embed_read(const struct schema_node *block, struct schema_embed *ret);

/* Whether two show the same document: by view or by address (rule 166). */
bool schema_embed_same(const struct schema_embed *a, const struct schema_embed *b);

/* Whether a frame may load the address (rule 168). */
bool schema_embed_renderable(struct span url, bool allow_external);

/* Writes the preview object, without what is absent. */
void schema_embed_write(struct schema_writer *w, const struct schema_embed *embed);

#endif
