/* config_yaml: a YAML text -> a small tree with places, through libyaml's events. Refuses what the
 * configuration does not use: aliases, tags, doubled keys, keys that are no words, a second
 * document, deep nesting. */
#ifndef PLUGIN_CONFIG_CONFIG_YAML_H
#define PLUGIN_CONFIG_CONFIG_YAML_H

#include "plugin/config/config_text.h"

enum {
  /* endpoints.NAME.groups.ID.media.roots needs 7; tools.NAME.parameters with three objects in each
   * other 12 */
  RG_YAML_DEPTH_MAX = 16,
  RG_YAML_TEXT_MAX = 8 * 1024 * 1024, /* 10,000 groups with every key set take 7 MiB */
  RG_YAML_SCALAR_MAX = 64 * 1024,     /* the longest value: a notice; more is a lost quote */
};

enum rg_yaml_kind { RG_YAML_SCALAR, RG_YAML_LIST, RG_YAML_MAP };

struct rg_yaml {
  enum rg_yaml_kind kind;
  bool plain;  /* a scalar without quotes */
  bool faulty; /* was told already: to be passed over */
  struct span text;
  struct rg_text_place place;
  size_t count;                 /* items; of a mapping: keys */
  struct rg_yaml *first, *last; /* of a mapping: key, value, key, value… */
  struct rg_yaml *next;
};

/* What is usually wrong with a line, or with a scalar where a mapping should be: a tab, a full-width
 * colon, no space behind the colon. "" or words to be put behind a fault. */
const char *rg_yaml_hint(struct span line);

/* what lives in the arena. */
typedef void rg_yaml_fault_fn(void *ctx, struct rg_text_place place, struct span what);

/* Reads text that rg_text_check has passed. Returns the root (NULL for a text without content)
 * through *retroot, which lives in arena; false where the text is no YAML or too large, and then
 * nothing else of it is known. Faults of single nodes leave them marked faulty. */
bool rg_yaml_read(struct span text, struct arena *arena, rg_yaml_fault_fn *fault, void *ctx,
                  struct rg_yaml **retroot);

#endif
