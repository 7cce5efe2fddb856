/* notice: the host's own fixed words where a reply cannot be shown (reply.md 96, 103, 127). They
 * never contain anything of the model's. */
#ifndef PLUGIN_NOTICE_H
#define PLUGIN_NOTICE_H

#include "plugin/config.h"

enum { RG_NOTICE_GAP_MS = 60 * 1000 }; /* a broken model must not fill a chat: one a minute */

/* The text for a group; empty where the operator wants none. Lent by the group or static. */
struct span rg_notice_text(const struct rg_group *group, enum schema_language language);

#endif
