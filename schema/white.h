/* white: text as JavaScript counts it, in which the protocol of the directives is written: what
 * \s and trim take for white space, and lengths in UTF-16 units. */
#ifndef SCHEMA_WHITE_H
#define SCHEMA_WHITE_H

#include "schema/bytes.h"

/* Bytes of the white space character that begins at (ends before) offset at, 0 where none does. */
size_t schema_white_at(struct span s, size_t at);
size_t schema_white_before(struct span s, size_t at);
/* The first offset from at on, or s.len, where no white space begins. */
size_t schema_white_skip(struct span s, size_t at);
/* The smallest offset down to floor (where a character begins) from where on all before at is white
 * space. */
size_t schema_white_back(struct span s, size_t at, size_t floor);
struct span schema_white_trim(struct span s);
struct span schema_white_trim_end(struct span s);
/* Whether s holds any, from offset at on. */
bool schema_white_in(struct span s, size_t at);

/* UTF-16 units of well-formed UTF-8. */
size_t schema_utf16_length(struct span utf8);

#endif
