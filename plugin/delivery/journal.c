/* journal: see journal.h. */
#include "plugin/delivery/journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "plugin/delivery/conversation.h"

enum {
  WHY_MAX = 512,
  ARENA_SLACK = 256,  /* for alignment */
  INSTANCES_MAX = 64, /* of one process on one store: more are a loop gone wrong */
};

struct rg_journal {
  struct rg_journal_options o;
  struct rg_store *own; /* o.store is this one; NULL: the caller's */
  pthread_mutex_t mu;   /* guards the members below */
  bool failing;         /* the last write failed, and that was said */
  size_t stale; /* turns of which the file says less than was done: it is not to be believed */
};

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Claims the store's journal, or that of a store beside it where another instance of this process
 * has the first: each start of the process gives the same instance the same one. */
static bool claim(struct rg_journal *j, uint64_t *last_ticket, char *why, size_t cap)
{
  struct rg_store *first = j->o.store;
  enum rg_claim claimed = first->methods->journal_claim(first, last_ticket, why, cap);
  for (unsigned n = 2; claimed == RG_CLAIM_OURS && n <= INSTANCES_MAX; n++) {
    rg_store_close(j->own);
    j->own = first->methods->sibling(first, n, why, cap);
    if (!j->own) return false;
    j->o.store = j->own;
    claimed = j->own->methods->journal_claim(j->own, last_ticket, why, cap);
  }
  return claimed == RG_CLAIM_HAD;
}

struct rg_journal *rg_journal_open(const struct rg_journal_options *options, uint64_t *last_ticket,
                                   char *why, size_t cap)
{
  struct rg_journal *j = calloc(1, sizeof *j);
  if (!j || pthread_mutex_init(&j->mu, NULL) != 0) {
    free(j);
    snprintf(why, cap, "out of memory");
    return NULL;
  }
  j->o = *options;
  if (claim(j, last_ticket, why, cap)) return j;
  rg_journal_free(j);
  return NULL;
}

void rg_journal_free(struct rg_journal *j)
{
  if (!j) return;
  rg_store_close(j->own);
  pthread_mutex_destroy(&j->mu);
  free(j);
}

bool rg_journal_each(struct rg_journal *j, rg_stored_turn_fn *each, void *ctx, char *why,
                     size_t cap)
{
  return !j || j->o.store->methods->turn_each(j->o.store, each, ctx, why, cap);
}

bool rg_journal_knows(struct rg_journal *j, uint64_t ticket, struct span message_id)
{
  return j && j->o.store->methods->sent_near(j->o.store, ticket, message_id);
}

const char *rg_journal_state(struct rg_journal *j)
{
  if (!j) return "off";
  pthread_mutex_lock(&j->mu);
  bool failing = j->failing;
  pthread_mutex_unlock(&j->mu);
  return failing ? "failing" : "on";
}

/* ---- trouble ---- */

/* Notes how a write went and says so where that is news. Returns fine. */
static bool wrote(struct rg_journal *j, bool fine, const char *why)
{
  pthread_mutex_lock(&j->mu);
  bool news = j->failing == fine;
  j->failing = !fine;
  pthread_mutex_unlock(&j->mu);
  if (!news) return fine;
  if (fine) {
    rg_log_line(j->o.log, RG_LOG_INFO, "journal: it can be written again");
    return true;
  }
  rg_log_line(j->o.log, RG_LOG_ERROR, "journal: %s %s", why,
              j->o.optional ? "Sending goes on without it (journal: optional)."
                            : "Nothing is sent meanwhile (journal: required).");
  if (j->o.trouble) j->o.trouble(j->o.ctx, j->o.store->methods->is_full(j->o.store));
  return false;
}

/* The file says less of a turn than was done: the next process must not believe it. */
static void stale(struct rg_journal *j, struct rg_job *job, bool is)
{
  if (job->journal_stale == is) return;
  job->journal_stale = is;
  pthread_mutex_lock(&j->mu);
  j->stale += is ? 1 : (size_t)-1;
  bool change = j->stale == (is ? 1 : 0);
  if (change) j->o.store->methods->journal_trust(j->o.store, !is);
  pthread_mutex_unlock(&j->mu);
}

/* ---- a job as the store keeps it ---- */

static enum rg_stored_state state_of(const struct rg_part *part)
{
  if (part->state == RG_PART_SENT) return RG_STORED_SENT;
  if (part->state == RG_PART_OPEN) return RG_STORED_QUEUED;
  return part->outcome == OB_UNKNOWN ? RG_STORED_UNKNOWN : RG_STORED_UNSENT;
}

static size_t plan_bytes(const struct ob_plan *plan)
{
  size_t bytes = 0;
  for (size_t i = 0; i < plan->count; i++)
    bytes += plan->steps[i].params.len + plan->steps[i].card_text.len;
  return bytes;
}

/* What steps_of needs. */
static size_t steps_bytes(const struct rg_job *job)
{
  return (job->plan.count + 1) * sizeof(struct rg_stored_step) + ARENA_SLACK;
}

/* The steps of the job's plan in the arena of the call; with: their actions too, where they are not
 * too large. NULL: no memory. */
static struct rg_stored_step *steps_of(const struct rg_job *job, bool with, struct arena *arena)
{
  struct rg_stored_step *steps = arena_zalloc(arena, job->plan.count + 1, sizeof *steps);
  int64_t now = now_ms();
  for (size_t i = 0; steps && i < job->plan.count; i++) {
    const struct ob_step *s = &job->plan.steps[i];
    steps[i] = (struct rg_stored_step) {
      .kind = s->kind,
      .message = s->message,
      .chars = s->chars,
      .card = s->card,
      .action = s->action,
      .params = with ? s->params : SPAN(""),
      .card_text = with ? s->card_text : SPAN(""),
      .state = state_of(&job->parts[i]),
      .at_ms = now,
      .message_id = job->parts[i].message_id,
    };
  }
  return steps;
}

static struct rg_stored_turn turn_of(const struct rg_job *job)
{
  return (struct rg_stored_turn) {
    .ticket = job->ticket,
    .at_ms = job->accepted_ms,
    .endpoint = span_of(job->conversation->account->name),
    .group_id = job->target.group_id,
    .user_id = job->target.user_id,
    .message_id = job->message_id,
    .sender_id = job->sender_id,
    .kind = job->kind,
    .foreign = job->foreign,
    .words = job->words,
    .asked = rg_asked_pack(&job->asked),
    .notice = job->is_notice ? span_of(schema_code_word(job->error.code)) : SPAN(""),
  };
}

/* ---- what happens to a job ---- */

bool rg_journal_accept(struct rg_journal *j, struct rg_job *job)
{
  if (!j || job->own || job->foreign) return true;
  char why[WHY_MAX] = "";
  struct rg_stored_turn t = turn_of(job);
  t.kept = job->text.len <= RG_STORED_TURN_MAX;
  if (t.kept) {
    t.text = job->text;
    t.schema = job->wanted.text;
  }
  job->accepted_ms = t.at_ms = now_ms();
  job->journaled = wrote(j, j->o.store->methods->turn_put(j->o.store, &t, why, sizeof why), why);
  return job->journaled || j->o.optional;
}

/* The plan takes the text's place; framed: the step that the job is at is begun. */
static bool plan_write(struct rg_journal *j, struct rg_job *job, bool framed)
{
  char why[WHY_MAX] = "out of memory";
  struct arena arena;
  arena_init(&arena, steps_bytes(job));
  struct rg_stored_turn t = turn_of(job);
  t.kept = plan_bytes(&job->plan) <= RG_STORED_TURN_MAX;
  struct rg_stored_step *steps = steps_of(job, t.kept, &arena);
  bool fine = steps != NULL;
  if (fine) {
    if (framed) steps[job->step].state = RG_STORED_FRAMED;
    t.steps = steps;
    t.step_count = job->plan.count;
    fine = j->o.store->methods->turn_put(j->o.store, &t, why, sizeof why);
  }
  arena_done(&arena);
  return wrote(j, fine, why);
}

/* The state of the step that the job is at. */
static bool step_write(struct rg_journal *j, struct rg_job *job, size_t n,
                       const struct rg_stored_step *step)
{
  char why[WHY_MAX] = "";
  return wrote(j, j->o.store->methods->step_put(j->o.store, job->ticket, n, step, why, sizeof why),
               why);
}

bool rg_journal_framed(struct rg_journal *j, struct rg_job *job, const struct ob_step *as)
{
  job->framed_ms = now_ms();
  if (!j || !job->journaled) return true;
  bool fine;
  if (job->journal_planned) {
    const struct rg_stored_step step = {
      .state = RG_STORED_FRAMED,
      .at_ms = job->framed_ms,
      .params = as ? as->params : SPAN(""),
    };
    fine = step_write(j, job, job->step, &step);
  } else {
    fine = plan_write(j, job, true);
  }
  job->journal_planned = job->journal_planned || fine;
  if (!fine && j->o.optional) stale(j, job, true);
  return fine || j->o.optional;
}

void rg_journal_answered(struct rg_journal *j, struct rg_job *job, struct span message_id)
{
  if (!j || !job->journal_planned) return;
  const struct rg_stored_step step = {
    .state = RG_STORED_ANSWERED,
    .at_ms = job->framed_ms,
    .message_id = message_id,
  };
  step_write(j, job, job->step, &step);
}

void rg_journal_unframed(struct rg_journal *j, struct rg_job *job)
{
  if (!j || !job->journal_planned) return;
  const struct rg_stored_step step = { .state = RG_STORED_QUEUED, .at_ms = now_ms() };
  step_write(j, job, job->step, &step);
}

bool rg_journal_settled(struct rg_journal *j, struct rg_job *job, size_t n)
{
  if (!j || job->own) return true;
  bool last = n + 1 == job->plan.count || job->stopped; /* its result is written in a moment */
  if (last) return true;
  /* a framework is told of its message with the first part: from then on the rest is promised */
  if (job->foreign && job->accepted_ms == 0 && job->parts[n].state == RG_PART_SENT) {
    job->accepted_ms = now_ms();
    job->journaled = job->journal_planned = plan_write(j, job, false);
    return job->journaled || j->o.optional;
  }
  if (!job->journal_planned) return true;
  const struct rg_stored_step step = {
    .state = state_of(&job->parts[n]),
    .at_ms = now_ms(),
    .message_id = job->parts[n].message_id,
  };
  step_write(j, job, n, &step); /* where that failed, the next step is not begun either */
  return true;
}

void rg_journal_called_off(struct rg_journal *j, struct rg_job *job)
{
  char why[WHY_MAX] = "";
  if (!j || !job->journaled) return;
  bool fine =
      wrote(j, j->o.store->methods->turn_stop(j->o.store, job->ticket, why, sizeof why), why);
  if (!fine) stale(j, job, true);
}

void rg_journal_ended(struct rg_journal *j, struct rg_job *job, const char *result)
{
  if (!j || !job->journaled) return;
  char why[WHY_MAX] = "";
  struct arena arena;
  arena_init(&arena, steps_bytes(job));
  struct rg_stored_turn t = { .ticket = job->ticket };
  if (job->journal_planned) {
    t.steps = steps_of(job, false, &arena);
    t.step_count = t.steps ? job->plan.count : 0;
  }
  bool fine = wrote(j, j->o.store->methods->turn_end(j->o.store, &t, result, why, sizeof why), why);
  arena_done(&arena);
  stale(j, job, !fine);
  job->journaled = job->journal_planned = false;
}
