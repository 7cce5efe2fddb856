/* origin: which browsers' pages may ask a listener: its own ones, under an address that is its own.
 * Keeps out pages of others and names that others let resolve to us (DNS rebinding). */
#ifndef ONEBOT_ORIGIN_H
#define ONEBOT_ORIGIN_H

#include "onebot/listen.h"

/* Why a request is not for this listener, constant; NULL: it is. bound: the address it is bound to;
 * wildcard: that is all addresses; upgrade: to a WebSocket. Any thread. */
const char *ob_origin_refusal(const char *bound, bool wildcard, const struct ob_request *r,
                              bool upgrade);

#endif
