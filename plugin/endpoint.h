/* endpoint: a configured endpoint and its connection: the bot's account there. It lives as long as
 * its gate; a reload changes what it is connected to. */
#ifndef PLUGIN_ENDPOINT_H
#define PLUGIN_ENDPOINT_H

#include "onebot/client.h"
#include "onebot/server.h"
#include "plugin/config/config.h"
#include "plugin/delivery/rate.h"
#include "plugin/notify.h"
#include "plugin/presence.h"
#include "plugin/relay/mention.h"
#include "plugin/seen.h"

struct rg_gate;

struct rg_account {
  struct rg_gate *gate;
  char *name;

  /* guarded by the gate's mu */
  struct rg_peer peer;
  enum ob_link_state state;
  char version[64];
  struct rg_mentions mentions;

  /* service thread only */
  struct ob_client *client;             /* NULL: not in the configuration, or nothing to dial */
  struct ob_server *server;             /* the same for one that dials us */
  struct ob_link *hosted;               /* the same over the host's own connection */
  struct ob_link *link;                 /* of the connection; NULL with it */
  const struct rg_endpoint *configured; /* in `config` */
  struct rg_config *config;             /* what configured is lent by; a reference */
  bool cards_trusted;                   /* the operator says that this peer signs cards */
  uint64_t heartbeat_ms;                /* when its last heartbeat came; 0: none did */
  int64_t clock_off_s;                  /* its clock is ahead of ours by that, as its events say */
  unsigned cards_missed;                /* accepted and not shown, in a row */
  uint64_t told_ms[RG_NOTIFY_COUNT];    /* when the operator may be told again */
  struct rg_rate rate;                  /* what was sent lately */
  struct rg_presence presence;
  struct rg_seen seen; /* events that came */
};

/* NULL: no memory. */
struct rg_account *rg_account_new(struct rg_gate *gate, struct span name);
/* The connection must be closed. NULL allowed. */
void rg_account_free(struct rg_account *account);

/* What follows: service thread only. */

/* Makes the account what a configuration says of it; e NULL: it is no longer there. Dials again only
 * where something of the connection changed. */
void rg_account_configure(struct rg_account *account, struct rg_config *config,
                          const struct rg_endpoint *e);
/* Ends the connection. Calls that wait are answered before this returns. */
void rg_account_close(struct rg_account *account);
/* Whether an action would reach the peer now, and the account is logged in there. */
bool rg_account_ready(const struct rg_account *account);
/* As ob_link_call; without a connection done runs at once with OB_ANSWER_NOT_WRITTEN. */
void rg_account_call(struct rg_account *account, struct span action, struct span params,
                     unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                     void *ctx);
/* The same with params {"message_id":…}: a number where the id is one. */
void rg_account_call_message(struct rg_account *account, struct span action, struct span message_id,
                             unsigned timeout_ms,
                             void (*done)(void *ctx, const struct ob_answer *answer), void *ctx);
/* A card was accepted: was it shown? After two that were not, cards go as text. */
void rg_account_card_seen(struct rg_account *account, bool shown);

#endif
