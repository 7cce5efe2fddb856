/* inbound: what connections tell: their state, and events, of which admin commands and numeric taps
 * are taken out and everything else reaches the host byte for byte. Service thread. */
#ifndef PLUGIN_INBOUND_H
#define PLUGIN_INBOUND_H

#include "plugin/gate.h"

void rg_inbound_state(struct rg_gate *gate, struct rg_account *account, enum ob_link_state state,
                      const char *why);
void rg_inbound_event(struct rg_gate *gate, struct rg_account *account, struct span json);

#endif
