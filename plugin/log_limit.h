/* log_limit: which lines of a log are written where a peer that flaps, a broken framework or a chat
 * full of attempts causes one with each event. Lines that differ in numbers only are of one shape, and
 * those that one place of the program writes are of one source, whatever somebody else's words in
 * them. Of each the first few are written and the others counted, and after a while a summary says how
 * many those were. */
#ifndef PLUGIN_LOG_LIMIT_H
#define PLUGIN_LOG_LIMIT_H

#include "schema/bytes.h"

enum {
  RG_LOG_WINDOW_MS = 10 * 60 * 1000,
  RG_LOG_SHAPE_MAX = 10, /* lines of one shape in that time: enough to see what happens */
  RG_LOG_SOURCE_MAX =
      500,              /* of one source: the endpoints or chats of a large instance at its start */
  RG_LOG_SHAPES = 64,   /* remembered at once; the oldest makes room */
  RG_LOG_SOURCES = 128, /* twice the places that log */
  RG_LOG_SAMPLE_MAX = 200, /* bytes of a line that its summary shows */
};

/* Lines of one shape or source. Zeroed: unused. */
struct rg_log_kind {
  uint64_t key;
  uint64_t begun_ms;
  uint32_t written, left_out;
  int32_t level;
  char last[RG_LOG_SAMPLE_MAX + 1];
};

/* Zeroed: nothing was written yet. Its owner's lock guards it. */
struct rg_log_limit {
  struct rg_log_kind shapes[RG_LOG_SHAPES], sources[RG_LOG_SOURCES];
  uint64_t due_ms; /* when the next summary may be due; 0: none is */
};

/* Whether a line is to be written now; it is counted either way. source: an address that stands for
 * the place in the program. */
bool rg_log_limit_take(struct rg_log_limit *l, const void *source, int32_t level, struct span line,
                       uint64_t now_ms);
/* Writes the next summary that is due to out (RG_LOG_SAMPLE_MAX + 64 bytes); all: also those whose time
 * is not over yet. False: there is none. */
bool rg_log_limit_summary(struct rg_log_limit *l, bool all, uint64_t now_ms, int32_t *retlevel,
                          char *out, size_t cap);

#endif
