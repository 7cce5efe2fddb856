/* step: see step.h. */
#include "plugin/delivery/step.h"

#include <inttypes.h>

#include "plugin/crash.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"

void rg_step_stop(struct rg_job *job, const char *why)
{
  if (!job->stopped) job->stopped = why;
}

void rg_step_tell_watch(struct rg_job *job, struct span message_id, const char *why)
{
  struct rg_job_watch watch = job->watch;
  job->watch = (struct rg_job_watch) { .told = NULL };
  if (watch.told) watch.told(watch.ctx, message_id, why);
}

void rg_step_block(struct rg_conversation *c, const char *why, uint64_t ms)
{
  c->blocked_why = why;
  c->blocked_until_ms = ob_now_ms() + ms;
  rg_delivery_say(c, RG_LOG_WARN, "%s: nothing is sent there for %" PRIu64 " s", why, ms / 1000);
}

static uint32_t account_rate(const struct rg_account *account)
{
  return account->configured ? account->configured->rate.per_minute : 0;
}

uint64_t rg_step_rate_wait(struct rg_conversation *c, const struct rg_job *job, uint64_t now_ms)
{
  uint64_t chat = rg_rate_wait(&c->rate, job->group->rate.per_minute, now_ms);
  uint64_t all = rg_rate_wait(&c->account->rate, account_rate(c->account), now_ms);
  return chat > all ? chat : all;
}

void rg_step_count(struct rg_conversation *c, const struct rg_job *job)
{
  uint64_t now = ob_now_ms();
  rg_rate_count(&c->rate, job->group->rate.per_minute, now);
  rg_rate_count(&c->account->rate, account_rate(c->account), now);
}

/* Refusals after which a whole conversation rests. */
static void rest_after(struct rg_conversation *c, const struct rg_job *job, const char *reason)
{
  struct rg_gate *gate = c->account->gate;
  const struct {
    const char *reason;
    unsigned ms;
    enum rg_notify_event event;
  } rests[] = {
    { "muted", gate->timing.muted, RG_NOTIFY_MUTED },
    { "risk", gate->timing.risk, RG_NOTIFY_RISK },
  };
  for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
    if (strcmp(rests[i].reason, reason) != 0) continue;
    rg_step_block(c, rests[i].reason, rests[i].ms);
    /* a line to the operator that was refused is not told of by another */
    if (!job->own) rg_notify(gate, c->account, rests[i].event, span_of(c->id));
  }
}

/* What became of the step is written down before anything follows from it. */
static void settled(struct rg_conversation *c, struct rg_job *job)
{
  if (!rg_journal_settled(c->account->gate->journal, job, job->step)) rg_step_stop(job, "journal");
  if (job->step + 1 < job->plan.count) rg_crash("marked", job->step);
}

static void step_done(struct rg_job *job)
{
  job->step++;
  job->unsure = job->doubted; /* nor is it known of the next one */
  job->not_before_ms = ob_now_ms();
  if (job->step < job->plan.count) job->not_before_ms += rg_job_pause_ms(job, job->step);
}

static void keyboard_take(struct rg_conversation *c, const struct rg_job *job, size_t message)
{
  if (job->is_notice || message >= job->reply.count) return;
  struct span asked = job->group->answer_by == RG_ANSWER_ASKED ? job->sender_id : SPAN("");
  const struct schema_message *m = &job->reply.messages[message];
  for (size_t i = 0; i < m->count; i++) {
    if (m->segments[i].type != SCHEMA_KEYBOARD) continue;
    uint64_t now = ob_now_ms();
    rg_keyboard_remember(&c->keyboard, &m->segments[i], asked, now);
    c->account->gate->keyboards_until_ms = now + RG_KEYBOARD_TTL_MS;
  }
}

void rg_step_lost(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o)
{
  struct rg_part *part = &job->parts[job->step];
  bool reaction = job->plan.steps[job->step].kind == OB_STEP_REACTION;
  part->state = RG_PART_UNSENT;
  part->outcome = o.kind;
  part->reason = o.reason ? o.reason : "other";
  rg_delivery_say(c, reaction ? RG_LOG_DEBUG : RG_LOG_WARN, "turn %" PRIu64 ": %s %s, %s",
                  job->ticket, reaction ? "reaction" : "message", ob_outcome_word(o.kind),
                  part->reason);
  if (reaction) {
    settled(c, job);
    step_done(job);
    return;
  }
  rest_after(c, job, part->reason);
  rg_step_stop(job, part->reason);
  rg_step_tell_watch(job, SPAN(""), part->reason);
}

void rg_step_arrived(struct rg_conversation *c, struct rg_job *job, struct span message_id)
{
  struct rg_part *part = &job->parts[job->step];
  part->state = RG_PART_SENT;
  part->message_id = message_id;
  settled(c, job);
  if (job->plan.steps[job->step].kind != OB_STEP_REACTION) {
    keyboard_take(c, job, job->plan.steps[job->step].message);
    rg_step_tell_watch(job, message_id, NULL);
  }
  step_done(job);
}

struct ob_outcome rg_step_outcome(struct rg_job *job, struct span action,
                                  const struct ob_answer *answer)
{
  struct ob_outcome o = { .kind = OB_UNKNOWN, .reason = "malformed" };
  switch (answer->kind) {
  case OB_ANSWER_NOT_WRITTEN:
    return (struct ob_outcome) { .kind = OB_OFFLINE, .reason = "offline" };
  case OB_ANSWER_CLOSED: return ob_outcome_closed();
  case OB_ANSWER_TIMEOUT: return ob_outcome_read(&job->peer.profile, action, NULL);
  case OB_ANSWER_PART:
  case OB_ANSWER_RESPONSE: break;
  }
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, RG_ANSWER_ARENA_MAX);
  if (schema_tree_read(answer->json, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK) {
    o = ob_outcome_read(&job->peer.profile, action, tree);
    o.message_id = arena_copy(&job->arena, o.message_id);
  }
  arena_done(&arena);
  return o;
}
