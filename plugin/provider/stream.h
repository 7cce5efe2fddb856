/* stream: an answer that comes in pieces (SSE, or JSON lines) becomes the body that the same provider
 * would have sent in one piece, so that both are read and judged alike. One reader for all: it is fed
 * the bytes as they come, however they are cut, holds no more than the event at hand and what the
 * events came to so far, and lets an answer that is no stream pass as it is. */
#ifndef PLUGIN_PROVIDER_STREAM_H
#define PLUGIN_PROVIDER_STREAM_H

#include "plugin/provider/dialect.h"

enum {
  RG_STREAM_EVENTS_MAX = 100 * 1000,      /* one a token, and models write 32,000 */
  RG_STREAM_BYTES_MAX = 32 * 1024 * 1024, /* as many events with 300 bytes around each token */
};

/* What the events of a stream come to so far. Each dialect uses what it has; the reader's bound on
 * bytes is that of all together. */
struct rg_joined {
  struct buf text, refusal;
  struct buf parts; /* JSON values as they came, with commas: Gemini's parts, Ollama's calls */
  struct {
    struct buf id, name, arguments;
  } calls[RG_CALLS_MAX];
  size_t call_count;
  size_t
      places[RG_CALLS_MAX]; /* OpenAI: of the calls by their index, 1 for the first; 0: none yet */
  struct buf stop, usage, feedback;
  uint64_t tokens_in, tokens_out;
  bool in_text, in_call; /* Anthropic: what the block at hand is */
  bool ended;            /* the stream said that it is whole */
  bool failed;           /* the provider sent an error instead: */
  int64_t status;        /* the status that it stands for; 0: none */
  struct buf error;      /* and its JSON */
};

enum rg_stream_end {
  RG_STREAM_WHOLE,  /* body is the answer's */
  RG_STREAM_BROKEN, /* it ended too early, or memory ran out */
  RG_STREAM_TOO_LARGE,
};

struct rg_stream {
  const struct rg_dialect *dialect;
  enum { RG_STREAM_UNKNOWN, RG_STREAM_ONE_BODY, RG_STREAM_LINES } form;
  struct buf line;    /* the line that has no end yet; all bytes until the form is known */
  size_t looked;      /* so much of it was looked at for its form */
  size_t first_end;   /* where its first line ends; 0: not yet */
  struct buf data;    /* the lines of data of one SSE event that are no JSON by themselves */
  bool after_cr;      /* a line feed that comes now belongs to the end before it */
  struct arena arena; /* of the event at hand */
  size_t bytes, events;
  bool too_large, broken; /* broken: no memory */
  struct rg_joined joined;
};

/* config outlives it. */
void rg_stream_init(struct rg_stream *s, const struct rg_provider *config);
void rg_stream_done(struct rg_stream *s);
/* The next bytes. False: it is too large, and nothing more is taken. Linear in all bytes. */
bool rg_stream_feed(struct rg_stream *s, struct span piece);
/* Whether the stream said that it is whole: what the connection does then does not matter. */
bool rg_stream_ended(const struct rg_stream *s);
/* Nothing more comes: appends the whole body. */
enum rg_stream_end rg_stream_finish(struct rg_stream *s, struct buf *body);

/* For dialects: sets a buffer to a text, unless that is empty. */
void rg_joined_set(struct buf *b, struct span text);
/* Appends a JSON value to those of parts. */
void rg_joined_part(struct rg_joined *j, struct span raw);

#endif
