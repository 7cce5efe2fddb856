/* relay: the gate: bot frameworks in front of Replygate, which take it for the OneBot
 * implementation. Owns the listener and the frameworks that are dialled; brings events up to them;
 * their actions are passage.h's. Service thread only. */
#ifndef PLUGIN_RELAY_RELAY_H
#define PLUGIN_RELAY_RELAY_H

#include "plugin/relay/front.h"

struct rg_relay {
  struct rg_gate *gate;
  struct rg_config *config; /* in force; a reference; NULL: none yet */
  struct ob_listener *listener;
  struct rg_front *fronts;
  struct arena arena;   /* of the frame that is being read */
  struct ob_timer beat; /* heartbeats, while there are frameworks */
  struct ob_timer look; /* while something is held back: whether it can go on */
  char refusal[1024];   /* why the last upgrade was refused */
};

struct rg_relay *rg_relay_new(struct rg_gate *gate); /* NULL: no memory */
/* Ends all connections. NULL allowed. */
void rg_relay_free(struct rg_relay *relay);
/* Takes a configuration into use: opens, closes and dials what is different now. */
void rg_relay_configure(struct rg_relay *relay, struct rg_config *config);
/* The state of an account's connection changed. */
void rg_relay_state(struct rg_relay *relay, struct rg_account *account);
/* An event goes up to the frameworks of its account, byte for byte. */
void rg_relay_event(struct rg_relay *relay, struct rg_account *account, struct span json);
/* Whether an account has frameworks that take events. */
bool rg_relay_has(const struct rg_relay *relay, const struct rg_account *account);
/* Something is held back: looks again in a moment. */
void rg_relay_look_later(struct rg_relay *relay);

#endif
