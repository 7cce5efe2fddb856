/* media: judges the media of a reply before anything is journaled or sent (design 8): reads or
 * fetches what can be read, looks at the bytes, holds limits, hosts and roots, and turns each
 * reference into the form that this endpoint can take. What cannot go becomes the visible notice
 * of the plan. Works on a thread of its own, which starts at the first media. */
#ifndef PLUGIN_MEDIA_MEDIA_H
#define PLUGIN_MEDIA_MEDIA_H

#include "plugin/config/config.h"
#include "plugin/media/http.h"

struct rg_media;

/* Why a segment could not go: where, a word for the result, a sentence for the log. */
struct rg_media_fault {
  size_t message, segment;
  const char *reason; /* "host", "scheme", "type", "size", "path", "fetch", "base64", "empty" */
};

struct rg_media_order {
  const struct rg_group *settings;    /* lent until done */
  const struct rg_endpoint *endpoint; /* lent until done */
  enum schema_language language;
  bool directive;                   /* from a directive: remote media are https only */
  const struct schema_reply *reply; /* lent until done */
  struct arena *arena;              /* the result goes there; nobody else may use it until done */
  void *ctx;
  /* Exactly once, on the media thread, or before rg_media_judge returns where nothing has to be
   * read. resolved and faults live in arena and in reply. */
  void (*done)(void *ctx, const struct schema_reply *resolved, const struct rg_media_fault *faults,
               size_t fault_count);
};

/* http stays the caller's and must outlive it. NULL: no memory. */
struct rg_media *rg_media_new(struct rg_http *http);
/* Ends what runs (each order's done is called, with what is unread refused) and joins. */
void rg_media_free(struct rg_media *m);
/* Any thread. False: too much is waiting, done is not called. */
bool rg_media_judge(struct rg_media *m, const struct rg_media_order *order);
/* Whether a reply holds media that rg_media_judge would have to read (files, bytes, and addresses
 * where they are inspected): else it need not be asked. */
bool rg_media_needed(const struct rg_group *settings, const struct schema_reply *reply);

#endif
