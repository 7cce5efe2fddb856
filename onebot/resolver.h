/* resolver: names to numeric addresses, off the service thread: lws 4.1.6 would resolve inside its
 * loop, and one name whose server does not answer would stall every other connection for 10 s. */
#ifndef ONEBOT_RESOLVER_H
#define ONEBOT_RESOLVER_H

#include "onebot/service.h"

enum {
  OB_ADDRESSES_MAX = 8, /* of one name that are tried */
  OB_ADDRESS_MAX = 64,  /* a numeric IPv6 address with a zone */
};

struct ob_addresses {
  size_t count; /* 0: see what */
  char text[OB_ADDRESSES_MAX][OB_ADDRESS_MAX];
  const char *what; /* constant text: why there are none */
};

struct ob_lookup; /* one question that is not answered yet */

/* Asks for a name (or a numeric address, which is answered without asking anyone). done runs once
 * on the service thread, never before this returns, unless it is cancelled or the service stops
 * first. Service thread only. NULL: no memory or no thread. */
struct ob_lookup *ob_lookup_start(struct ob_service *s, const char *name,
                                  void (*done)(void *ctx, const struct ob_addresses *addresses),
                                  void *ctx);
/* done will not run. NULL allowed. Not after done has begun. Service thread only; the question's
 * own thread ends by itself some time later. */
void ob_lookup_cancel(struct ob_lookup *l);

#endif
