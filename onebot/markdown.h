/* markdown: markdown as readable plain text, for chats that show none. */
#ifndef ONEBOT_MARKDOWN_H
#define ONEBOT_MARKDOWN_H

#include "schema/bytes.h"

/* Marks of headings, quotes, bullets, emphasis, strike and code go; numbers of lists and the inside
 * of fences and inline code stay as they are; [label](url) becomes "label url", images vanish, an
 * escaped mark shows itself; the result is trimmed. Linear in its length. Lives in arena, or is a
 * piece of markdown; ptr is NULL where memory ran out. */
struct span ob_markdown_text(struct span markdown, struct arena *arena);

#endif
