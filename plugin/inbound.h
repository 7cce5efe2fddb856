/* inbound: what connections tell: their state, and events, of which admin commands and numeric taps
 * are taken out and everything else reaches the host byte for byte. Service thread. */
#ifndef PLUGIN_INBOUND_H
#define PLUGIN_INBOUND_H

#include "plugin/gate.h"

void rg_inbound_state(struct rg_gate *gate, struct rg_account *account, enum ob_link_state state,
                      const char *why);
/* What is to become of an event. edit is initialised by the caller. */
struct rg_inbound_verdict {
  bool taken;  /* an admin command, or nothing that can be read: not for the bot */
  bool edited; /* edit holds the event that is used in its place */
  struct buf edit;
};

/* Judges an event of an account and does what it asks of us; nothing is passed on. */
void rg_inbound_judge(struct rg_gate *gate, struct rg_account *account, struct span json,
                      struct rg_inbound_verdict *ret);
void rg_inbound_event(struct rg_gate *gate, struct rg_account *account, struct span json);

#endif
