/* config_layers: the settings of groups as the file has them, layer by layer, and the tables that
 * are made of them: one complete set of settings a group, found by hash. */
#ifndef PLUGIN_CONFIG_CONFIG_LAYERS_H
#define PLUGIN_CONFIG_CONFIG_LAYERS_H

#include "plugin/config/config_value.h"

/* One mapping of group keys: `default` or a group's number. */
struct rg_layer {
  uint64_t id;               /* 0: default */
  const struct rg_yaml *map; /* to find places for faults; NULL: not in the file */
  struct span path;
  uint64_t set, bad; /* bits of keys that it has, and that have faults */
  struct rg_group values;
};

/* One `groups:` section, its groups by number. */
struct rg_layers {
  struct rg_layer fallback; /* its `default` */
  struct rg_layer *groups;
  size_t count;
};

struct rg_group_table;

/* Makes the table of an endpoint's groups (own; NULL: of all endpoints) upon the file's. shared is
 * the table of all endpoints, NULL where it is this that is made. Faults that only show when layers
 * are laid on each other are told through r. Lives in arena; NULL: out of memory. */
const struct rg_group_table *
rg_layers_lay(const struct rg_reading *r, const struct rg_group *builtin,
              const struct rg_layers *file, const struct rg_layers *own,
              const struct rg_group_table *shared, struct arena *arena);

/* The settings of a group; of `default` where the table does not name it. */
const struct rg_group *rg_table_group(const struct rg_group_table *table, uint64_t id);
enum rg_origin rg_table_origin(const struct rg_group_table *table, uint64_t id, size_t key);
struct rg_ids rg_table_named(const struct rg_group_table *table);

#endif
