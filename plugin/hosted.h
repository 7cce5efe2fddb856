/* hosted: an endpoint with `connect: host`: the host's own connection carries what we send, through
 * its function send, and tells the answers through response(). Shows the same link as a client. */
#ifndef PLUGIN_HOSTED_H
#define PLUGIN_HOSTED_H

#include "plugin/gate.h"

/* The account's link is up at once: the host's connection is the host's business. handlers as for
 * ob_client_open. NULL: the host has no send, or no memory. Service thread. */
struct ob_link *rg_hosted_open(struct rg_account *account, const struct ob_profile *profile,
                               const struct ob_link_handlers *handlers);
/* Ends it; calls that wait end before. NULL allowed. Service thread. */
void rg_hosted_close(struct ob_link *link);

#endif
