/* follow: takes over what another machine set in the chat, where several share a store: looks at the
 * store's version on a thread of its own, so that no message waits for it. */
#ifndef PLUGIN_STORE_FOLLOW_H
#define PLUGIN_STORE_FOLLOW_H

#include "plugin/config/settings.h"
#include "plugin/log.h"

enum { RG_FOLLOW_MS = 5000 }; /* between two looks: a question of 60 bytes */

struct rg_follow;

/* store, settings and log are lent until rg_follow_free. interval_ms: between two looks. NULL: the
 * store is not shared, or no thread could be had. */
struct rg_follow *rg_follow_new(struct rg_store *store, struct rg_settings *settings,
                                struct rg_log *log, unsigned interval_ms);
void rg_follow_free(struct rg_follow *f); /* NULL allowed; waits for a look that has begun */
/* Looks at once, whatever the version is, and does not wait for it. NULL allowed. Any thread. */
void rg_follow_now(struct rg_follow *f);

#endif
