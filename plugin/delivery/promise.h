/* promise: what the numbers of a keyboard mean that is on its way to a chat as somebody else's
 * message, a host's or a framework's: the chat remembers it once the message is there. */
#ifndef PLUGIN_DELIVERY_PROMISE_H
#define PLUGIN_DELIVERY_PROMISE_H

#include "plugin/judge.h"

struct rg_promise;

/* NULL: the action shows no keyboard, or there is no memory for it. */
struct rg_promise *rg_promise_new(struct rg_gate *gate, struct rg_account *account,
                                  const struct rg_judged *judged);
/* The message was sent. Takes the promise; NULL allowed. Service thread. */
void rg_promise_keep(struct rg_promise *p);
void rg_promise_free(struct rg_promise *p); /* NULL allowed */

#endif
