/* longtext: cuts a text that is too long for one chat message, where a person would: between
 * paragraphs, lines or sentences, never inside an address, a code fence or a character. */
#ifndef PLUGIN_LONGTEXT_H
#define PLUGIN_LONGTEXT_H

#include "schema/segment.h"

/* The bytes of the first piece of text: at most limit characters, more only where an address or a
 * fence is longer by itself. text.len: it fits. Linear in the piece. */
size_t rg_longtext_cut(struct span text, size_t limit);
/* Splits the messages whose text or markdown is longer than limit characters: what stands before a
 * long text stays with its first piece, what follows with its last. True and *ret, which lives in
 * arena and reply; false: no memory. */
bool rg_longtext_split(const struct schema_reply *reply, size_t limit, struct arena *arena,
                       struct schema_reply *ret);
/* Whether a segment is such a text. */
bool rg_longtext_is(const struct schema_segment *segment, size_t limit);

#endif
