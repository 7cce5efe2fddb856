/* config_print: what is made from the table of keys for people: the example file, the reference,
 * and the settings that a file comes to. */
#ifndef PLUGIN_CONFIG_CONFIG_PRINT_H
#define PLUGIN_CONFIG_CONFIG_PRINT_H

#include "plugin/config/config_keys.h"

/* Appends config.example.yaml: every key, what it is for in English and Chinese, its default. With
 * defaults false only what differs from a default stands in it, and no comment. */
bool rg_config_print_example(bool defaults, struct buf *out);
/* Appends the reference of all keys as Markdown. */
bool rg_config_print_reference(enum schema_language language, struct buf *out);
/* Appends what a configuration comes to, as YAML: everything at the top and of endpoints; of groups
 * `default` whole and each other group with what differs from it, and where each value is from.
 * Secrets are shown as "***". */
bool rg_config_print(const struct rg_config *c, struct buf *out);

#endif
