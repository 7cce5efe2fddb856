/* presence: whether an account can send: connected, and logged in to QQ as far as its implementation
 * says (spec/onebot.md 6 and 7.9). An open connection alone says nothing: the account may have been
 * taken over by another login. Service thread only, but where a comment says otherwise. */
#ifndef PLUGIN_PRESENCE_H
#define PLUGIN_PRESENCE_H

#include "onebot/event.h"
#include "onebot/link.h"

struct rg_account;

struct rg_presence {
  bool offline;        /* it says that it is not logged in; guarded by the gate's mu */
  bool asking;         /* get_status is under way */
  bool told;           /* the operator knows of trouble */
  uint64_t absent_ms;  /* since when it cannot send; 0: it can */
  struct ob_timer ask; /* when it is asked again */
  struct ob_timer down;
};

/* There is a connection to be made or waited for. */
void rg_presence_begin(struct rg_account *account);
/* Its connection changed. */
void rg_presence_state(struct rg_account *account, enum ob_link_state state);
/* Heartbeats, lifecycle, bot_offline and bot_online. */
void rg_presence_event(struct rg_account *account, const struct ob_event *event);
/* An action was refused because the account is offline: it counts as that until it says that it is
 * not, by itself or because it is asked. */
void rg_presence_refused(struct rg_account *account);
/* Forgets what is known and stops its timers. */
void rg_presence_end(struct rg_account *account);
/* "down", "open", "ready", "offline" or "refused". Under the gate's mu, any thread. */
const char *rg_presence_word(const struct rg_account *account);

#endif
