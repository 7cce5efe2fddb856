/* config_value: one value, by its row of the table: from YAML, from the words behind `set` or from
 * the store's JSON into its struct, and back into text. */
#ifndef PLUGIN_CONFIG_CONFIG_VALUE_H
#define PLUGIN_CONFIG_CONFIG_VALUE_H

#include "plugin/config/config_keys.h"
#include "plugin/config/config_yaml.h"
#include "schema/tree.h"

/* How values are read. */
struct rg_reading {
  struct arena *arena; /* where what they hold is kept */
  struct arena *notes; /* where the texts of faults are kept */
  struct span folder;  /* where relative paths start */
  enum schema_language language;
  bool expand;    /* ${VAR}, through env */
  bool files;     /* files that a value names are opened and checked */
  rg_env_fn *env; /* NULL: the process's environment */
  void *env_ctx;
  rg_yaml_fault_fn *fault;
  void *ctx;
};

/* Checks value by the row and keeps it in base, the struct that the row's offset is for. path names
 * it in faults ("groups.default.pace.min"). False after at least one fault; base is then in part
 * changed. Rows of mappings with keys of their own (sections, endpoints, groups, frameworks) are
 * config_read's. */
bool rg_value_read(const struct rg_reading *r, const struct rg_key *key,
                   const struct rg_yaml *value, struct span path, void *base);

/* The value that text means behind `set` in the chat: lists by commas, booleans by word; full-width
 * forms are folded but in texts. Lives in arena and text; NULL: out of memory. */
struct rg_yaml *rg_value_from_text(const struct rg_key *key, struct span text, struct arena *arena);
/* The value of a JSON tree; NULL: out of memory, or no value of a configuration. */
struct rg_yaml *rg_value_from_json(const struct schema_node *json, struct arena *arena);

enum rg_print {
  RG_PRINT_YAML, /* as one writes it in the file */
  RG_PRINT_JSON, /* for the store and for programs */
};

/* Writes the value that base holds. Secrets become "***" (set) or "" (not set). */
void rg_value_print(const struct rg_key *key, const void *base, enum rg_print form,
                    struct buf *out);
/* Copies a value from one struct of the scope to another; what it points to is shared. */
void rg_value_copy(const struct rg_key *key, void *to, const void *from);

#endif
