/* process: what libraries keep per process. The one file with mutable globals: a host may load two
 * instances, and another module of the process may use the same libraries. */
#ifndef PLUGIN_PROCESS_H
#define PLUGIN_PROCESS_H

#include "onebot/service.h"

/* libwebsockets: one lock around its contexts, and its log emitter, which is set once and never
 * taken back (the module is never unloaded) and finds its instance by the calling thread. */
extern const struct ob_process rg_process;

/* libcurl, initialised at the first call. False: it could not be. Any thread. */
bool rg_process_curl(void);

#endif
