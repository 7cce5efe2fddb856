/* notify: what the operator should know goes to the accounts and groups of `notify` and
 * `notify_groups`: one line, the plugin's own words, at most once an hour for each event of an
 * endpoint. It holds names and numbers, never the text of a message, a token or an address. */
#ifndef PLUGIN_NOTIFY_H
#define PLUGIN_NOTIFY_H

#include "schema/bytes.h"

struct rg_gate;
struct rg_account;

enum rg_notify_event {
  RG_NOTIFY_DOWN,         /* no connection for minutes */
  RG_NOTIFY_REFUSED,      /* the token or the path is */
  RG_NOTIFY_OFFLINE,      /* connected, but the account is not logged in to QQ */
  RG_NOTIFY_BACK,         /* after one of these */
  RG_NOTIFY_MUTED,        /* about: the group */
  RG_NOTIFY_RISK,         /* refused as risky; about: the group or user */
  RG_NOTIFY_REMOVED,      /* about: the group */
  RG_NOTIFY_CARDS,        /* music cards go as text from now on */
  RG_NOTIFY_BUSY,         /* turns are turned away: too many wait */
  RG_NOTIFY_JOURNAL_OFF,  /* the journal cannot be written */
  RG_NOTIFY_JOURNAL_FULL, /* its file has reached its bound */
  RG_NOTIFY_UNKNOWN,      /* after a restart: whether messages arrived; about: how many */
  RG_NOTIFY_PROVIDER,     /* no model answers; about: its name */
  RG_NOTIFY_BUDGET,       /* a model's tokens of the day are used up; about: its name */
  RG_NOTIFY_COUNT
};

enum {
  RG_NOTIFY_WAITING_MAX =
      32, /* lines that wait for a connection; beyond, the oldest is forgotten */
  RG_NOTIFY_ABOUT_MAX = 64,
};

/* A line that waits until an account can send it. */
struct rg_notify_line {
  enum rg_notify_event event;
  struct rg_account *account; /* NULL: of the whole instance */
  char about[RG_NOTIFY_ABOUT_MAX];
  int64_t at;        /* Unix time */
  uint64_t until_ms; /* nobody wants to read it later */
};

/* Of an instance. Zeroed: nothing was told. Service thread only. */
struct rg_notify {
  struct rg_notify_line waiting[RG_NOTIFY_WAITING_MAX];
  size_t count;
  uint64_t told_ms[RG_NOTIFY_COUNT]; /* of the whole instance: when it may be told again */
};

/* Tells the operator. account: the endpoint that it happened at, or NULL. about: a number or a name
 * of the configuration, or empty; copied. Any thread, with no lock of the gate held; returns at once,
 * and says nothing of whether anybody is to be told. A line of our own that could not be sent must
 * not be told of: that is the caller's (`own` of struct rg_job). */
void rg_notify(struct rg_gate *gate, struct rg_account *account, enum rg_notify_event event,
               struct span about);
/* An account may have become able to send: what waits goes out. Service thread. */
void rg_notify_flush(struct rg_gate *gate);

#endif
