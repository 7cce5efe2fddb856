/* fold: what people type on a Chinese keyboard, brought to one form. */
#ifndef PLUGIN_ADMIN_FOLD_H
#define PLUGIN_ADMIN_FOLD_H

#include "schema/bytes.h"

/* Well-formed UTF-8 with full-width ASCII and U+3000 as ASCII, and ASCII letters in lower case.
 * Lives in arena; ptr NULL: out of memory. */
struct span rg_fold(struct span text, struct arena *arena);

/* Takes the first character of *s: its folded byte where it is or folds to ASCII, else 0. *retlen
 * are its bytes in *s. */
char rg_fold_first(struct span s, size_t *retlen);

/* Without the white space at both ends, U+3000 included. */
struct span rg_fold_trim(struct span s);

#endif
