/* stream: an answer that comes in pieces (SSE, or JSON lines) as the body that the same provider
 * would have sent in one piece, so that both are read and judged alike. */
#ifndef PLUGIN_PROVIDER_STREAM_H
#define PLUGIN_PROVIDER_STREAM_H

#include "plugin/provider/dialect.h"

enum { RG_STREAM_EVENTS_MAX = 100 * 1000 }; /* one a token, and models write 32,000 */

/* The pieces of a stream, in their order. */
struct rg_stream {
  const struct schema_node **events;
  size_t count;
  bool done; /* data: [DONE] was there */
};

/* Whether a body is a stream: its first line is one of SSE, or it holds several lines of JSON. */
bool rg_stream_is_one(struct span body);
/* Takes the events apart; lines that are no JSON are passed over. False: no memory, or too many. */
bool rg_stream_read(struct span body, struct arena *arena, struct rg_stream *ret);

#endif
