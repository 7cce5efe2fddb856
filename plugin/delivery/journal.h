/* journal: turns on their way, written down before the wire is, so that a process that dies at any
 * instant neither repeats a message nor forgets one (design 8).
 *
 * A turn is written when it is accepted, before submit returns. Its plan and "about to be written"
 * of a step are, before the step goes to the wire; what became of it is, before the next one goes.
 * The next process reads what has no result (recovery.h): steps that were not begun are sent, one
 * that was begun is looked for in the chat (resolve.h) and never sent again.
 *
 * What it holds: the text of a turn that is not planned yet, then the actions of its plan, until the
 * turn has its result; after that its numbers, message ids, states and result, for a week and 10,000
 * turns at most. Texts and plans above 4 MiB are not kept: after a crash such a turn is reported,
 * not sent. The plugin's own words are not written down, nor a framework's message before its first
 * part was sent: until then the framework has been promised nothing.
 *
 * Every function takes NULL for a journal that is off. */
#ifndef PLUGIN_DELIVERY_JOURNAL_H
#define PLUGIN_DELIVERY_JOURNAL_H

#include "plugin/delivery/turn.h"
#include "plugin/log.h"
#include "plugin/store/store.h"

struct rg_journal;

struct rg_journal_options {
  struct rg_store *store; /* lent for the journal's life */
  bool optional;          /* where it cannot be written sending goes on without it */
  struct rg_log *log;
  /* It cannot be written; told once, and again after it could. full: since its store is as large as
   * it may be. Any thread. May be NULL. */
  void (*trouble)(void *ctx, bool full);
  void *ctx;
};

/* Claims the store's journal; where another instance of this process has it, that of a file beside
 * it (`replygate.db-2`, …). *last_ticket: the highest ticket ever given. NULL with the reason in
 * why: another process has it, it cannot be written, a newer version wrote it. */
struct rg_journal *rg_journal_open(const struct rg_journal_options *options, uint64_t *last_ticket,
                                   char *why, size_t cap);
void rg_journal_free(struct rg_journal *j);

/* Every turn of an earlier process that has no result, in the order of tickets; lent for the call. */
bool rg_journal_each(struct rg_journal *j, rg_stored_turn_fn *each, void *ctx, char *why,
                     size_t cap);

/* A turn is accepted. False: it must not be (journal: required). Any thread; the caller has the job
 * for itself, as below. */
bool rg_journal_accept(struct rg_journal *j, struct rg_job *job);
/* The step that the job is at goes to the wire now; as: in the form of this action, not in that of
 * the plan, or NULL. False: it must not go. */
bool rg_journal_framed(struct rg_journal *j, struct rg_job *job, const struct ob_step *as);
/* The step that the job is at was accepted with an id, but may not show (a card). */
void rg_journal_answered(struct rg_journal *j, struct rg_job *job, struct span message_id);
/* It is known what became of a step, as its part says. False: what follows must not go. */
bool rg_journal_settled(struct rg_journal *j, struct rg_job *job, size_t step);
/* It did not reach the wire after all. */
void rg_journal_unframed(struct rg_journal *j, struct rg_job *job);
/* The job was called off while it is elsewhere: nothing more of it is to be sent, by any process. */
void rg_journal_called_off(struct rg_journal *j, struct rg_job *job);
/* The job has its result. */
void rg_journal_ended(struct rg_journal *j, struct rg_job *job, const char *result);
/* "off", "on" or "failing": the last write went wrong. Any thread. */
const char *rg_journal_state(struct rg_journal *j);
/* Whether a message id is that of another send, of a turn near that ticket. */
bool rg_journal_knows(struct rg_journal *j, uint64_t ticket, struct span message_id);

#endif
