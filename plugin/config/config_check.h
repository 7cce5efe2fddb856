/* config_check: what the parts of a file that the built-in agent uses need beyond each key: providers,
 * tools, and the names of both in groups. Faults are told. */
#ifndef PLUGIN_CONFIG_CONFIG_CHECK_H
#define PLUGIN_CONFIG_CONFIG_CHECK_H

#include "plugin/config/config_loader.h"

/* key is the provider's or tool's own, with its mapping behind it. */
void rg_check_provider(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *key,
                       const struct rg_provider *p);
/* Fills the parameters of a tool that has none. */
void rg_check_tool(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *key,
                   struct rg_http_tool *t);
/* Whether every provider takes it as the name of a function. */
bool rg_is_tool_name(struct span s);
/* Names in agent.providers and agent.tools that nothing has. */
void rg_check_agents(struct rg_loader *l, const struct rg_layers *layers);
/* A schema that was stated to go beside tools where it cannot. Once the groups are laid. */
void rg_check_native(struct rg_loader *l, const struct rg_yaml *root);

#endif
