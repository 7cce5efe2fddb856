/* prose: words that are to be sent as they are, without what a chat template or a prompt has put
 * around them: template tokens, the tail of a stream, <text> wrappers. */
#ifndef SCHEMA_PROSE_H
#define SCHEMA_PROSE_H

#include "schema/bytes.h"

/* Cuts the tokens of chat templates at both ends (<|im_start|>assistant, </s>, [/INST] …), what a
 * model has gone on with after the end of its turn, and the tail of an event stream. Part of text. */
struct span schema_prose_bare(struct span text);

/* The same for a text inside a reply, where a token may also be what is talked about: tokens at its
 * end go, at its begin only the head of a turn with its role. Part of text. */
struct span schema_prose_bare_inside(struct span text);

/* Splits text at its <text>…</text> wrappers: each is one text, and so are the words outside, all
 * trimmed (reply.md 88). A wrapper in code, with attributes, or only named in a sentence is none.
 * loose: <answer>, <reply> and their like around the whole are taken off as well.
 * *rettexts lives in arena (NULL: no wrapper), the texts in text. False: out of memory. */
bool schema_prose_split(struct span text, bool loose, struct arena *arena, struct span **rettexts,
                        size_t *retcount);

/* Whether text is the error page of a server between, not an answer: HTML, a bare status line. */
bool schema_prose_is_error_page(struct span text);

/* A copy of text without control characters but tab and newline, and without terminal colours; text
 * itself where it has none. ptr NULL: out of memory. */
struct span schema_prose_clean(struct span text, struct arena *arena);

/* What was fenced: the inside of a fence that is the whole text, or text itself. */
struct span schema_prose_unfence(struct span text, bool *retfenced);

#endif
