/* timing: how long a delivery waits for what. The values are those of the operator's world; tests
 * scale them, through rg_gate_open_timed. */
#ifndef PLUGIN_DELIVERY_TIMING_H
#define PLUGIN_DELIVERY_TIMING_H

/* Milliseconds. */
struct rg_timing {
  unsigned send;       /* the answer to a message; above NapCat's own 10 s (onebot.md 2.4) */
  unsigned reaction;   /* the answer to a reaction: words do not wait longer for it */
  unsigned card_look;  /* design 8: one look whether a card is there */
  unsigned correction; /* reply.md 92 */
  unsigned history;    /* the answer to a question for what was said in a chat */
  unsigned resolve;    /* in all, until an unknown send is reported as that */
  unsigned echo;       /* an implementation's event of its own send comes at once, if at all */
  unsigned retry;      /* until an action that was not written is written again */
  unsigned muted;      /* QQ says how long a mute lasts only in an event that may be missed */
  unsigned risk;       /* sending on after a refusal as risky freezes accounts (onebot.md 7.7) */
  unsigned removed;    /* from a group: whether it came back is told by an event */
  unsigned backoff;    /* between two attempts to connect; 0: onebot/dial.h's own */
  unsigned probe;      /* between two questions whether an account is online again */
  unsigned down;       /* without a connection, until the operator is told */
  unsigned notify;     /* between two lines about the same event */
  unsigned passage; /* until a framework's action is answered: Koishi and most bots wait for 60 s */
};

extern const struct rg_timing rg_timing;

#endif
