/* http: HTTP and HTTPS requests through libcurl on a thread of its own, which starts at the first
 * request. Guarded requests (media, tools) only reach public addresses, checked at each connect and
 * so at each redirect; unguarded ones (a provider the operator named) reach any. */
#ifndef PLUGIN_MEDIA_HTTP_H
#define PLUGIN_MEDIA_HTTP_H

#include "schema/bytes.h"

enum rg_http_end {
  RG_HTTP_OK,        /* a response came whole; its status may be any */
  RG_HTTP_TOO_LARGE, /* the body is larger than body_max */
  RG_HTTP_GUARDED,   /* the address is not public */
  RG_HTTP_TIMEOUT,
  RG_HTTP_FAILED, /* no connection, broken transfer, a redirect too many */
  RG_HTTP_CANCELLED,
};

struct rg_http_answer {
  enum rg_http_end end;
  unsigned status;         /* 0: no response */
  struct span body;        /* lent for the call; empty where chunk was given */
  const char *url;         /* after redirects; lent; never to be logged whole */
  uint64_t retry_after_ms; /* of a Retry-After header; 0: none */
  const char *why;         /* constant text for people; NULL where end is RG_HTTP_OK */
};

/* Everything is copied by rg_http_send. Both callbacks run on the HTTP thread and must not block. */
struct rg_http_request {
  const char *url;            /* http:// or https:// */
  const char *method;         /* NULL: GET, or POST where there is a body */
  const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
  struct span body;
  bool guarded;
  bool https_only;        /* also for redirects */
  unsigned redirects;     /* how many are followed */
  unsigned connect_ms;    /* 0: 10,000 */
  unsigned total_ms;      /* 0: 30,000 */
  unsigned idle_ms;       /* no byte for so long ends it; 0: only total_ms does */
  size_t body_max;        /* 0: 1 MiB */
  const char *ca, *proxy; /* NULL: the system's CAs; no proxy (the environment's is not used) */
  void *ctx;
  /* Each piece of the body as it comes. False ends the transfer as RG_HTTP_FAILED. May be NULL. */
  bool (*chunk)(void *ctx, unsigned status, struct span piece);
  /* Exactly once a request that was taken. */
  void (*done)(void *ctx, const struct rg_http_answer *answer);
};

struct rg_http;

/* NULL: no memory. Starts nothing yet. */
struct rg_http *rg_http_new(void);
/* Cancels what runs (done is called for each) and joins. NULL allowed. Not from a callback. */
void rg_http_free(struct rg_http *h);
/* Any thread. Returns the request's number, 0 where it could not be taken (done is not called). */
uint64_t rg_http_send(struct rg_http *h, const struct rg_http_request *request);
/* Any thread. The request ends at once as RG_HTTP_CANCELLED, unless it has ended already. */
void rg_http_cancel(struct rg_http *h, uint64_t number);

#endif
