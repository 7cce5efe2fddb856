/* calls: a frame from a bot becomes an action, its answer and its events; faults are applied here. */
#ifndef ONEBOT_SANDBOX_CALLS_H
#define ONEBOT_SANDBOX_CALLS_H

#include "onebot/sandbox/core.h"

/* One frame as it came. The bot's connection may be ending when it returns. */
void ob_calls_frame(struct ob_bot *bot, struct span frame);
/* Forgets the answers that wait for this bot; NULL: for any. */
void ob_calls_forget(struct ob_sandbox *b, const struct ob_bot *bot);

#endif
