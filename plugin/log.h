/* log: where an instance's lines go: to the host's function, and to the file of `log.file`. A line
 * says what happened, never what was said: no message text, token or address with a query. */
#ifndef PLUGIN_LOG_H
#define PLUGIN_LOG_H

#include <pthread.h>
#include <stdio.h>

#include "plugin/log_limit.h"
#include "plugin/replygate.h"
#include "schema/bytes.h"

/* One per instance. Any thread, once rg_log_init returned. */
struct rg_log {
  void (*sink)(void *ctx, int32_t level, struct rg_bytes line); /* the host's; may be NULL */
  void *ctx;
  pthread_mutex_t mu; /* guards the members below */
  int32_t level;      /* lines above it are dropped */
  FILE *file;         /* NULL: none */
  struct rg_log_limit limit;
};

/* False: no mutex could be had. */
bool rg_log_init(struct rg_log *log, const struct rg_host *host);
void rg_log_done(struct rg_log *log);
/* Takes over what the configuration says: "error" … "debug" and a file, empty for none. False: the
 * file cannot be opened; what was before stays. */
bool rg_log_configure(struct rg_log *log, struct span level, struct span file);
/* One line, cut at 1000 bytes. What others can cause without end is written a few times and then
 * counted (log_limit.h); debug lines are not. */
__attribute__((format(printf, 3, 4))) void rg_log_line(struct rg_log *log, int32_t level,
                                                       const char *format, ...);
/* The same for what is bounded by itself: it is never left out. */
__attribute__((format(printf, 3, 4))) void rg_log_always(struct rg_log *log, int32_t level,
                                                         const char *format, ...);
/* Writes what was counted and is due; every line does so too. */
void rg_log_summaries(struct rg_log *log);

#endif
