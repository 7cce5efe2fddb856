/* handshake: the key and its answer in the upgrade to a WebSocket (RFC 6455 4.2.2), for both sides. */
#ifndef ONEBOT_HANDSHAKE_H
#define ONEBOT_HANDSHAKE_H

#include <stdbool.h>

struct lws_context;

enum {
  OB_HANDSHAKE_KEY = 24,    /* base64 of 16 bytes */
  OB_HANDSHAKE_ACCEPT = 28, /* and of a SHA-1 */
};

/* A new Sec-WebSocket-Key. False: no randomness. */
bool ob_handshake_key(struct lws_context *lws, char retkey[OB_HANDSHAKE_KEY + 1]);
/* The Sec-WebSocket-Accept that answers a key of OB_HANDSHAKE_KEY characters, whatever they are. */
bool ob_handshake_accept(const char *key, char retaccept[OB_HANDSHAKE_ACCEPT + 1]);

#endif
