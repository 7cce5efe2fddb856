/* reverse: OneBot connections that the sandbox dials itself, as the played implementation does when
 * it is set to reverse WebSocket (its headers, its token, its interval). Service thread only. */
#ifndef ONEBOT_SANDBOX_REVERSE_H
#define ONEBOT_SANDBOX_REVERSE_H

#include "onebot/sandbox/core.h"

/* Begins to dial url, and again after every end, until the sandbox stops. token: "" for none. split:
 * one connection for actions and one for events. again_ms: between two attempts, 0 as the played
 * implementation does. NULL, or what is wrong. */
const char *ob_reverse_dial(struct ob_sandbox *b, struct span url, struct span token, bool split,
                            unsigned again_ms);
/* Ends all of them for good. */
void ob_reverse_stop(struct ob_sandbox *b);

/* For connections of both directions. */
bool ob_bot_live(const struct ob_bot *bot);
void ob_bot_send(struct ob_bot *bot, struct span text);
/* drop: without a close frame and without what is queued. */
void ob_bot_end(struct ob_bot *bot, bool drop, unsigned code);
/* Sends the first event. */
void ob_bot_greet(struct ob_bot *bot);
/* A place for a connection, or NULL. */
struct ob_bot *ob_bot_free(struct ob_sandbox *b);

#endif
