/* dial: one WebSocket that we dial: attempts, the upgrade, framing, sending, the back-off between
 * attempts. A forward endpoint (client.h) and the frameworks that the gate dials stand on it.
 * Service thread only, but ob_dial_open; so are all callbacks, which may close the dial. */
#ifndef ONEBOT_DIAL_H
#define ONEBOT_DIAL_H

#include "onebot/service.h"
#include "schema/bytes.h"

/* Milliseconds; 0 takes the value in brackets. */
struct ob_dial_timing {
  unsigned backoff_min; /* [1000] before the second attempt; doubles with each, plus jitter */
  unsigned backoff_max; /* [60000] */
  unsigned refused;     /* [300000] after a refused token or path */
  unsigned handshake;   /* [10000] from the dial to the upgrade, for each address of the name */
  unsigned closing;     /* [2000] for the peer to end a connection that was closed */
};

struct ob_dial_handlers {
  void *ctx;
  void (*up)(void *ctx);    /* the upgrade is done */
  void (*heard)(void *ctx); /* bytes came; what they hold follows */
  /* one whole text message, its UTF-8 not checked; lent for the call */
  void (*text)(void *ctx, struct span message);
  /* An attempt failed or the connection ended; the next attempt comes by itself. refused: token or
   * path are, as far as one can tell. Bytes queued and handed over are still those of it. */
  void (*down)(void *ctx, bool refused, const char *why);
};

struct ob_dial_options {
  const char *name;         /* for log lines */
  const char *url;          /* ws://host:port/path or wss:// */
  const char *access_token; /* NULL or "": no header */
  const char *ca;           /* a CA file for wss, or NULL */
  const char *headers;      /* NULL, or further lines of the upgrade: "Name: value\r\n" each */
  struct ob_dial_handlers on;
  struct ob_dial_timing timing;
};

struct ob_dial;

/* Copies what it needs. Begins to dial at once. Any thread. */
enum schema_code ob_dial_open(struct ob_service *s, const struct ob_dial_options *options,
                              struct ob_dial **ret, struct schema_error *reterr);
/* Says goodbye where that goes at once and ends; no callback comes after it returned. */
void ob_dial_close(struct ob_dial *d);

/* Queues the parts as one text message. False: not up, or too much waits. */
bool ob_dial_send(struct ob_dial *d, const struct span *parts, size_t count);
void ob_dial_ping(struct ob_dial *d);
/* Bytes queued and bytes handed to the socket since the connection began. */
uint64_t ob_dial_queued(const struct ob_dial *d);
uint64_t ob_dial_handed(const struct ob_dial *d);
/* Stops and resumes reading. */
void ob_dial_pause(struct ob_dial *d, bool pause);
/* Ends this connection with a close frame; down follows, then the back-off. */
void ob_dial_end(struct ob_dial *d, const char *why);
/* The same without a close frame and without what is queued, as a cable that was cut. */
void ob_dial_drop(struct ob_dial *d, const char *why);
/* The peer is one of ours: the back-off begins anew, and an end is no refusal. Until then a
 * connection that ends in silence counts as refused unless one was proven before. */
void ob_dial_prove(struct ob_dial *d);
/* The peer said that it does not want us. */
void ob_dial_unwanted(struct ob_dial *d);

#endif
