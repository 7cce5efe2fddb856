/* handshake: the upgrade to a WebSocket (RFC 6455 4): key and answer for both sides, and the server's
 * part of it. Service thread only. */
#ifndef ONEBOT_HANDSHAKE_H
#define ONEBOT_HANDSHAKE_H

#include <stdbool.h>

struct lws;
struct lws_context;

enum {
  OB_HANDSHAKE_KEY = 24,    /* base64 of 16 bytes */
  OB_HANDSHAKE_ACCEPT = 28, /* and of a SHA-1 */
};

/* A new Sec-WebSocket-Key. False: no randomness. */
bool ob_handshake_key(struct lws_context *lws, char retkey[OB_HANDSHAKE_KEY + 1]);
/* The Sec-WebSocket-Accept that answers a key of OB_HANDSHAKE_KEY characters, whatever they are. */
bool ob_handshake_accept(const char *key, char retaccept[OB_HANDSHAKE_ACCEPT + 1]);

/* As a server, of a request whose headers lws has read: why it is no handshake, constant; NULL: it is
 * one, with that key. */
const char *ob_handshake_fault(struct lws *wsi, char retkey[OB_HANDSHAKE_KEY + 1]);
/* Accepts it: writes the answer, which is little enough for the buffer of a fresh socket. False: the
 * connection is broken. */
bool ob_handshake_answer(struct lws *wsi, const char *key);
/* Takes the socket out of lws' hands, which is left with another one to close. A descriptor of the
 * caller's; -1: none is left. */
int ob_handshake_detach(struct lws *wsi);

#endif
