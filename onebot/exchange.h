/* exchange: one HTTP request on its way through lws: what of it is kept, and its answer. The
 * listener's own half for HTTP; nobody else includes it. */
#ifndef ONEBOT_EXCHANGE_H
#define ONEBOT_EXCHANGE_H

#include "onebot/listen.h"

struct lws;

enum { OB_QUERY_MAX = 32 /* parameters that are looked at */ };

struct ob_exchange {
  struct ob_request request;
  bool answered;
  /* its own */
  struct lws *wsi;
  struct arena arena;
  struct span query[OB_QUERY_MAX]; /* "name=value", decoded */
  size_t query_count;
  struct buf body;
  bool close; /* after the answer, because a body that is not wanted follows */
  struct span out;
  char *out_owned;
  size_t sent;
};

/* Copies what handlers may ask for: lws lets go of the headers before the answer is through. peer
 * stays the caller's and must outlive it. NULL: no memory. */
struct ob_exchange *ob_exchange_new(struct lws *wsi, const char *peer, size_t body_max);
void ob_exchange_free(struct ob_exchange *x); /* NULL allowed */

/* The head is here: answers at once where the request cannot be served (no length, too large).
 * True: it can be handed to its handler now; false: it is answered or its body follows. */
bool ob_exchange_begin(struct ob_exchange *x);
/* A piece of the body. False: no memory, the connection is to be dropped. */
bool ob_exchange_body(struct ob_exchange *x, struct span part);
void ob_exchange_text(struct ob_exchange *x, unsigned status, const char *text);

enum ob_exchange_step { OB_EXCHANGE_MORE, OB_EXCHANGE_DONE, OB_EXCHANGE_CLOSE };
/* The socket takes bytes: sends the next slice of the answer. */
enum ob_exchange_step ob_exchange_continue(struct ob_exchange *x);

/* Writes the answer to an upgrade that is refused; why is cut at 1 KiB. */
void ob_exchange_refuse(struct ob_exchange *x, unsigned status, const char *why);
const char *ob_exchange_status(unsigned status); /* its usual words */

#endif
