/* front: one connection of a bot framework to the gate, whichever side dialled: what goes to it and
 * how much of it may wait. Service thread only. */
#ifndef PLUGIN_RELAY_FRONT_H
#define PLUGIN_RELAY_FRONT_H

#include "onebot/dial.h"
#include "onebot/listen.h"
#include "plugin/gate.h"

enum {
  /* Unsent bytes of one framework: an event of the largest size behind some others. Beyond, it is
   * disconnected: it takes nothing, and the memory is everybody's. */
  RG_FRONT_QUEUE_MAX = 64 * 1024 * 1024,
  /* Where a lone framework has so much to take, the implementation is not read for a while. */
  RG_FRONT_FULL = 4 * 1024 * 1024,
  RG_FRONT_STALL_MS = 10 * 1000, /* and for no longer than that */
  /* Actions of one framework that wait for their answer; then it is not read. Bots wait for most
   * of theirs, so that hundreds are a fault or a test. */
  RG_FRONT_CALLS_MAX = 512,
};

enum rg_front_role { RG_FRONT_UNIVERSAL, RG_FRONT_API, RG_FRONT_EVENT };

struct rg_passage;
struct rg_relay;

struct rg_front {
  struct rg_front *next, **link; /* in the relay's list */
  struct rg_relay *relay;
  struct rg_account *account;
  enum rg_front_role role;
  struct ob_peer *peer;    /* where it dialled us */
  struct ob_dial *dial;    /* where we dial it; NULL until the account is known */
  char *url, *token;       /* of that; NULL: it dials us */
  char self_id[RG_ID_MAX]; /* that the dial shows */
  bool up, greeted;
  bool dropped;             /* its end is on its way; nothing more goes to it */
  bool paused;              /* it is not read */
  bool overdue;             /* it was not read for too long: what comes is refused at once */
  struct ob_timer patience; /* while it is paused */
  struct buf held;          /* frames that one read brought after the one that paused it */
  uint64_t full_since_ms;   /* 0: its queue is not full */
  struct rg_passage *calls; /* that wait for an answer */
  size_t call_count;
  char name[96]; /* for log lines */
};

/* Sends the parts as one text message. False: it cannot be taken, the framework is let go. */
bool rg_front_send(struct rg_front *f, const struct span *parts, size_t count);
size_t rg_front_waiting(const struct rg_front *f);
/* Whether one that was held back can go on. */
bool rg_front_has_room(const struct rg_front *f);
/* Reads it no more, what it has sent already is held. Where nothing has changed after a while, all
 * that waits and comes is refused, so that it is answered in time; then this does nothing. */
void rg_front_pause(struct rg_front *f);
/* There is room: takes what is held and reads on, as far as that does not pause it again. */
void rg_front_resume(struct rg_front *f);
/* A frame came. */
void rg_front_take(struct rg_front *f, struct span frame);
/* Its connection ended: what is held goes with it. */
void rg_front_forget(struct rg_front *f);
/* Disconnects it. */
void rg_front_drop(struct rg_front *f, const char *why);

#endif
