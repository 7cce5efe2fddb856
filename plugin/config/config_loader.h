/* config_loader: what config_read and config_check share: one file on its way into a snapshot. */
#ifndef PLUGIN_CONFIG_CONFIG_LOADER_H
#define PLUGIN_CONFIG_CONFIG_LOADER_H

#include "plugin/config/config_layers.h"

enum { RG_FAULTS_MAX = 100 }; /* more are of no use to anyone */

struct rg_loader {
  struct rg_config *c;
  struct rg_reading r;
  struct arena *notes; /* the caller's: what faults say */
  struct arena tree;   /* of the reading only */
  struct rg_config_fault faults[RG_FAULTS_MAX];
  size_t fault_count;
  /* what a key has where the file does not name it, for each scope */
  struct rg_config top;
  struct rg_endpoint endpoint;
  struct rg_group group;
  struct rg_provider provider;
  struct rg_http_tool tool;
  struct rg_framework framework;
  struct rg_layers groups;          /* of the file */
  const struct rg_yaml *frameworks; /* relay.connect, to look at when endpoints are known */
};

/* One mapping being read: whose keys, into what. */
struct rg_mapping {
  enum rg_scope scope;
  void *base;
  struct span path; /* "" at the top */
  uint64_t set, bad;
  bool unknown; /* some key was none: what is missing may only be mistyped */
};

/* Tells a fault at a node; format as printf's. */
__attribute__((format(printf, 3, 4))) void
rg_loader_tell(struct rg_loader *l, const struct rg_yaml *node, const char *format, ...);
/* The key of that name in a mapping, or NULL. */
const struct rg_yaml *rg_yaml_key(const struct rg_yaml *map, const char *name);

#endif
