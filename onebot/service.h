/* service: the one thread that owns libwebsockets and everything in it: clients, servers, timers.
 * Other threads only post. */
#ifndef ONEBOT_SERVICE_H
#define ONEBOT_SERVICE_H

#include <stdbool.h>

#include "schema/error.h"

struct ob_service;

enum ob_log_level { OB_LOG_ERROR, OB_LOG_WARN, OB_LOG_INFO, OB_LOG_DEBUG };

/* What libwebsockets keeps per process, held by the one file that may (plugin/process.c). */
struct ob_process {
  void (*lock)(void); /* around creating and destroying a context */
  void (*unlock)(void);
  /* From now on the library's lines on the calling thread go to line(ctx, …); NULL: nowhere. */
  void (*sink)(void (*line)(void *ctx, enum ob_log_level level, const char *text), void *ctx);
  const char *(*tls_fault)(void); /* why TLS must not be used here; NULL: it may be */
};

struct ob_service_options {
  void *ctx;
  /* Called on the service thread only. line: no token, no message text, no line end. */
  void (*log)(void *ctx, enum ob_log_level level, const char *line);
  const struct ob_process *process; /* &rg_process; NULL only where no other service exists */
};

/* Starts the thread (named "replygate", all signals blocked). *ret only on success. */
enum schema_code ob_service_start(const struct ob_service_options *options, struct ob_service **ret,
                                  struct schema_error *reterr);
/* Ends every connection, runs what was posted, joins. NULL is allowed. Not from its own thread. */
void ob_service_stop(struct ob_service *s);
/* Runs run(arg) on the service thread, in the order posted. Any thread; false once stopping
 * (then run is never called and arg stays the caller's). */
bool ob_service_post(struct ob_service *s, void (*run)(void *arg), void *arg);
/* The same, but returns only when run has returned; at once where the caller is the service thread.
 * Not while holding a lock that a handler takes. */
bool ob_service_run(struct ob_service *s, void (*run)(void *arg), void *arg);
/* Whether the caller is the service thread. */
bool ob_service_here(const struct ob_service *s);

/* A one-shot timer inside its owner; zeroed before first use. Service thread only. */
struct ob_timer {
  struct ob_timer *next; /* the service's own */
  uint64_t due_ms;
  void (*fire)(struct ob_timer *t);
  bool armed;
};
void ob_timer_set(struct ob_service *s, struct ob_timer *t, uint64_t ms,
                  void (*fire)(struct ob_timer *t));
void ob_timer_clear(struct ob_service *s, struct ob_timer *t); /* also where it is not armed */
/* Milliseconds of the monotonic clock. Any thread. */
uint64_t ob_now_ms(void);

/* For what lives on the service (clients, listeners); service thread only. */

struct lws_context;
struct lws_context *ob_service_lws(struct ob_service *s);

/* Something that ob_service_stop must end: a member of its owner. end takes it off, and frees it
 * or has it buried. */
struct ob_part {
  struct ob_part *next, **link; /* the service's own */
  void (*end)(struct ob_part *p);
  void (*bury)(struct ob_part *p);
};
void ob_service_add(struct ob_service *s, struct ob_part *p);
void ob_service_remove(struct ob_part *p); /* also where it was not added */
/* Removes it and calls bury later from the main loop, where no function of its owner is running:
 * an owner may be closed by its own callbacks. Surely before the service ends. */
void ob_service_bury(struct ob_service *s, struct ob_part *p);

__attribute__((format(printf, 3, 4))) void
ob_service_log(struct ob_service *s, enum ob_log_level level, const char *format, ...);
/* Why no wss:// connection may be made in this process, as a text that stays; NULL: it may. */
const char *ob_service_tls_fault(const struct ob_service *s);
/* The last line of libwebsockets, "" where there was none since the last call of
 * ob_service_lws_line_clear: the only place that says why TLS failed. */
const char *ob_service_lws_line(const struct ob_service *s);
void ob_service_lws_line_clear(struct ob_service *s);

#endif
