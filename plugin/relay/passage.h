/* passage: a framework's action on its way down, and its answer on the way back: judged, sent,
 * answered with the framework's own echo, within 50 s whatever happens. Service thread only. */
#ifndef PLUGIN_RELAY_PASSAGE_H
#define PLUGIN_RELAY_PASSAGE_H

#include "plugin/relay/front.h"

enum {
  RG_RETCODE_FAILED = 1200, /* what NapCat and LLBot call a failure that is nobody's mistake */
};

/* One frame from a framework. Lent for the call. */
void rg_passage_take(struct rg_front *f, struct span frame);
/* The framework is gone: nobody waits for its answers; what was begun goes on. */
void rg_passage_orphan(struct rg_front *f);

#endif
