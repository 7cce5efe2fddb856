/* host: the bundled host: finds and loads replygate.so as any foreign host does, through dlopen and
 * the one exported symbol. */
#ifndef PLUGIN_COMMAND_HOST_H
#define PLUGIN_COMMAND_HOST_H

#include "plugin/replygate.h"

/* The plugin of $REPLYGATE_SO, else the one beside this program, else the installed one. It is never
 * unloaded. NULL: it was said on stderr why not. */
const struct rg_api *rg_host_load(void);
/* A host's log function: one line on stderr, "level: line". ctx is not used. */
void rg_host_log(void *ctx, int32_t level, struct rg_bytes line);

#endif
