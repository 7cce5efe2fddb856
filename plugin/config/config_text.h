/* config_text: looks at the bytes of a configuration before libyaml does, which names no line for
 * what it refuses here and takes some characters for line ends that an editor does not show. */
#ifndef PLUGIN_CONFIG_CONFIG_TEXT_H
#define PLUGIN_CONFIG_CONFIG_TEXT_H

#include "schema/bytes.h"

struct rg_text_place {
  size_t line, column; /* from 1; columns in characters; a BOM is none */
};

/* Called for each fault; what is constant text. */
typedef void rg_text_fault_fn(void *ctx, struct rg_text_place place, const char *what);

/* Checks a whole text: UTF-8, no control characters but tab, CR and LF, no U+0085, U+2028, U+2029,
 * no BOM but the first. At most one fault a line is told. Returns whether there was none;
 * *rettext is the text behind its BOM. Linear. */
bool rg_text_check(struct span text, rg_text_fault_fn *fault, void *ctx, struct span *rettext);

#endif
