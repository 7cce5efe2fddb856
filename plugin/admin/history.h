/* history: how the last turns of a conversation ended, for the admin commands `last` and `recall`. */
#ifndef PLUGIN_ADMIN_HISTORY_H
#define PLUGIN_ADMIN_HISTORY_H

#include <time.h>

#include "plugin/delivery/turn.h"

enum {
  RG_HISTORY_MAX = 5,               /* what fits one chat message */
  RG_HISTORY_MS = 24 * 3600 * 1000, /* nobody asks about the day before yesterday */
};

/* Zeroed: nothing happened yet. */
struct rg_history {
  struct rg_past *items; /* a ring; NULL until there is one */
  size_t newest, count;
  uint64_t until_ms; /* forgotten then */
};

/* Notes how a job ended; ending is the word of its result. Memory that is not there costs the note. */
void rg_history_add(struct rg_history *h, const struct rg_job *job, const char *ending,
                    uint64_t now_ms);
/* The same of a framework's single message: its id where it was sent, else why it was not (error may
 * be NULL). */
void rg_history_note(struct rg_history *h, struct span message_id, const char *ending,
                     const struct schema_error *error, uint64_t now_ms);
void rg_history_done(struct rg_history *h);
/* Appends a line each: time, ending, reason; with words the text of the reply where it was kept. */
void rg_history_write(const struct rg_history *h, bool words, enum schema_language language,
                      struct buf *out);
/* Whether a message id is that of a reply that was sent. */
bool rg_history_knows(const struct rg_history *h, struct span message_id);
/* The message ids of the newest reply that was sent, in the order of sending, and forgets them: a
 * second call takes back the one before. *ret is lent until the next call for h; 0: none. */
size_t rg_history_take_sent(struct rg_history *h, const struct span **ret);

#endif
