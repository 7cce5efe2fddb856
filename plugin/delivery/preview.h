/* preview: a judged reply as one readable text, for results, logs of the host and pages. It shows
 * what was validated, never a model's raw words (reply.md 116). */
#ifndef PLUGIN_DELIVERY_PREVIEW_H
#define PLUGIN_DELIVERY_PREVIEW_H

#include "schema/segment.h"

/* Appends the text: messages separated by a line end, media by kind and not by content. Cut at
 * about 2,000 bytes. */
void rg_preview(const struct schema_reply *reply, struct buf *out);

#endif
