/* notice: the host's own fixed words where a reply cannot be shown (reply.md 96, 103, 127). They
 * never contain anything of the model's. */
#ifndef PLUGIN_DELIVERY_NOTICE_H
#define PLUGIN_DELIVERY_NOTICE_H

#include "plugin/config/config.h"

enum { RG_NOTICES_PER_MINUTE = 3 }; /* a broken model must not fill a chat */

/* The text for a group; empty where the operator wants none. Lent by the group or static. */
struct span rg_notice_text(const struct rg_group *group, enum schema_language language);

#endif
