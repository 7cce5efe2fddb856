/* process: what libraries keep per process. The one file with mutable globals: a host may load two
 * instances, and another module of the process may use the same libraries. */
#ifndef PLUGIN_PROCESS_H
#define PLUGIN_PROCESS_H

#include "onebot/service.h"

/* libwebsockets: one lock around its contexts, and its log emitter, which is set once and never
 * taken back (the module is never unloaded) and finds its instance by the calling thread. */
extern const struct ob_process rg_process;

/* Why neither TLS nor libcurl may be used in this process, a text that stays: this file's OpenSSL was
 * bound to the copy inside the main program, as Node has one, while that of the libraries below may
 * be another or half of each. NULL: all is well. Any thread. */
const char *rg_process_tls_fault(void);
/* libcurl, initialised at the first call. False: it could not or must not be. Any thread. */
bool rg_process_curl(void);

#endif
