/* fault: the misbehaviour that tests and the page order: each applies to the next calls of one
 * action (or of any), in the order in which they were ordered. */
#ifndef ONEBOT_SANDBOX_FAULT_H
#define ONEBOT_SANDBOX_FAULT_H

#include "schema/tree.h"

enum ob_fault_kind {
  OB_FAULT_NONE,
  OB_FAULT_LATE,         /* the answer comes after `ms` */
  OB_FAULT_SILENT,       /* no answer; delivered unless "delivered": false */
  OB_FAULT_MUTED,        /* refused: the bot is muted */
  OB_FAULT_UPLOAD,       /* refused: rich media transfer failed */
  OB_FAULT_OFFLINE,      /* refused: the account is offline */
  OB_FAULT_RISK,         /* refused: risk control */
  OB_FAULT_TIMEOUT,      /* the implementation's own timeout; delivered unless "delivered": false */
  OB_FAULT_REFUSE,       /* refused with `retcode` and `text` */
  OB_FAULT_RESULT,       /* "ok" with data {"result":retcode} */
  OB_FAULT_CLOSE_AFTER,  /* acts, then closes without an answer */
  OB_FAULT_CLOSE_BEFORE, /* closes without having acted */
  OB_FAULT_DROP,         /* acts, then the connection just ends */
  OB_FAULT_NO_ECHO,      /* the answer has no echo */
  OB_FAULT_TWICE,        /* two answers */
  OB_FAULT_GARBLED,      /* the answer is no JSON */
  OB_FAULT_ANSWER_CLOSE, /* answers, then closes: the next call finds no connection */
  OB_FAULT_RESTART, /* the connection just ends and nobody may connect for `ms`; acts before that
                            unless "delivered": false */
  OB_FAULT_LOG_OUT, /* refused: the account is offline from now on, for `ms`; heartbeats say so */
  OB_FAULT_KIND_COUNT
};

enum {
  OB_FAULTS_MAX = 64,           /* ordered at a time */
  OB_FAULT_MS_MAX = 600 * 1000, /* of LATE: longer than any client waits */
};

struct ob_fault {
  char action[64]; /* "*": any */
  enum ob_fault_kind kind;
  unsigned skip;  /* calls that it leaves alone first */
  unsigned count; /* calls that it still applies to */
  unsigned ms;
  bool delivered; /* SILENT, TIMEOUT, RESTART: the message is in the chat all the same */
  bool push;      /* SILENT, TIMEOUT: a message_sent event tells so */
  int32_t retcode;
  char text[256];
};

struct ob_faults {
  struct ob_fault list[OB_FAULTS_MAX];
  size_t count;
};

/* {"action","kind","skip"?,"count"?,"ms"?,"delivered"?,"push"?,"retcode"?,"text"?}; NULL or why not. */
const char *ob_fault_order(struct ob_faults *f, const struct schema_node *order);
/* Takes one call off the first fault that applies to action; kind OB_FAULT_NONE: none does. */
struct ob_fault ob_fault_take(struct ob_faults *f, struct span action);
const char *ob_fault_word(enum ob_fault_kind kind);

#endif
