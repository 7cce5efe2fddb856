/* listen: one HTTP and WebSocket listener on one address: the only server code of libwebsockets.
 * The sandbox, the reverse WebSocket, the gate and the console stand on it. All handlers run on the
 * service thread; a request or an upgrade is answered inside its handler.
 *
 * Before any handler is asked: a Host that is neither the bound address nor localhost, or an Origin
 * that is not a page of this listener, gets 403 (a browser on a foreign page, DNS rebinding). */
#ifndef ONEBOT_LISTEN_H
#define ONEBOT_LISTEN_H

#include "onebot/service.h"
#include "schema/bytes.h"

enum {
  OB_BODY_MAX = 1024 * 1024,               /* of a POST, where options.body_max is 0 */
  OB_PEER_QUEUE_MAX = 2 * 50 * 1024 * 1024 /* unsent bytes of one peer: two of the largest frames */
};

enum ob_method { OB_GET, OB_POST, OB_METHOD_OTHER };

/* One HTTP request or upgrade. Everything is lent for the handler's call. Absent headers are empty
 * spans (a header that is present but empty has a ptr). */
struct ob_request {
  enum ob_method method;
  struct span path; /* decoded, without "." and "..", begins with '/' */
  struct span host, origin, authorization, content_type, cookie;
  struct span self_id, client_role; /* X-Self-ID, X-Client-Role */
  struct span body;                 /* POST */
  struct span peer;                 /* numeric address of the other side */
  void *inner;                      /* the listener's own */
};

/* The first query parameter of that name, percent-decoded; ptr NULL where there is none. */
struct span ob_request_query(const struct ob_request *r, const char *name);

enum ob_body_life {
  OB_BODY_COPY, /* the body is copied */
  OB_BODY_LENT, /* the body stays until the listener is closed (a page in the program) */
};

/* Answers the request; the first answer counts, none at all is 404. content_type NULL: plain text.
 * headers: NULL or further lines, "Name: value\r\n" each, at most 1 KiB. */
void ob_request_answer(struct ob_request *r, unsigned status, const char *content_type,
                       const char *headers, struct span body, enum ob_body_life life);

struct ob_peer; /* one accepted WebSocket */

struct ob_listen_handlers {
  void *ctx;
  /* NULL: every request gets 404. */
  void (*request)(void *ctx, struct ob_request *r);
  /* 0 accepts; an HTTP status (401, 403, 404 …) refuses before the upgrade, with *why as the text
   * (constant; may stay NULL). NULL: every upgrade gets 404. */
  unsigned (*upgrade)(void *ctx, const struct ob_request *r, const char **why);
  /* The upgrade is done. r is the one that was accepted. Set the user pointer here. */
  void (*open)(void *ctx, struct ob_peer *p, const struct ob_request *r);
  /* One whole text message (reassembled, at most options.message_max bytes, UTF-8 not checked).
   * The bytes may be changed by the listener once this returns. */
  void (*text)(void *ctx, struct ob_peer *p, struct span message);
  /* NULL: a binary message closes with 1003. */
  void (*binary)(void *ctx, struct ob_peer *p, struct span message);
  /* The last word about a peer that was opened; p is gone afterwards. code: the peer's close code,
   * 1005 for a close without one, 1006 where the connection just ended; after ob_peer_close the
   * code given there; after a fault against the protocol the one it was closed with. */
  void (*closed)(void *ctx, struct ob_peer *p, unsigned code);
};

struct ob_listen_options {
  const char *name; /* for log lines */
  const char *host; /* numeric address to bind, "127.0.0.1", "::1", "0.0.0.0", "::"; or localhost */
  unsigned port;    /* 0: any that is free */
  size_t body_max;  /* 0: OB_BODY_MAX; a larger POST gets 413 */
  size_t message_max; /* 0: 50 MiB; a larger message closes with 1009 */
  unsigned ping_s; /* silent peers are pinged after so many seconds and dropped after half as many
                         again; 0: 30 */
  bool any_host;   /* no check of Host and Origin (a fault-injecting test peer) */
  struct ob_listen_handlers on;
};

struct ob_listener;

/* Binds and serves. Copies what it needs. Any thread (another than the service's waits for it).
 * SCHEMA_EARGUMENT: the address is no address or is in use. */
enum schema_code ob_listen_open(struct ob_service *s, const struct ob_listen_options *options,
                                struct ob_listener **ret, struct schema_error *reterr);
unsigned ob_listen_port(const struct ob_listener *l);
/* Ends every connection (closed is called for each peer) and gives the port back. Any thread, as
 * above, also from a handler; ob_service_stop closes what is left. NULL allowed. */
void ob_listen_close(struct ob_listener *l);

/* The rest: service thread only. */

/* Queues one text message; many are written together. False: the peer is closing or more
 * than OB_PEER_QUEUE_MAX would wait (then nothing was queued). */
bool ob_peer_send(struct ob_peer *p, struct span message);
/* The same for a message that is in pieces. */
bool ob_peer_send_parts(struct ob_peer *p, const struct span *parts, size_t count);
/* Bytes that wait for the socket. */
size_t ob_peer_queued(const struct ob_peer *p);
/* Bytes queued and bytes handed to the socket since it was opened; also valid in closed. */
uint64_t ob_peer_total(const struct ob_peer *p);
uint64_t ob_peer_handed(const struct ob_peer *p);
/* Sends what is queued, then a close frame (code 0: one without code; reason at most 123 bytes).
 * closed follows. */
void ob_peer_close(struct ob_peer *p, unsigned code, const char *reason);
/* Ends the connection without a close frame and without what is queued; closed follows later. */
void ob_peer_drop(struct ob_peer *p);
/* Nothing more is read until it is called with false: back-pressure. What was read by then, at most
 * 64 KiB, still comes. */
void ob_peer_pause(struct ob_peer *p, bool pause);
void ob_peer_set_user(struct ob_peer *p, void *user);
void *ob_peer_user(const struct ob_peer *p); /* NULL until set */
struct span ob_peer_address(const struct ob_peer *p);

#endif
