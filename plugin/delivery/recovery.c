/* recovery: see recovery.h. */
#include "plugin/delivery/recovery.h"

#include <inttypes.h>
#include <time.h>

#include "plugin/delivery/card_check.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/resolve.h"
#include "plugin/delivery/step.h"
#include "plugin/submit.h"

enum {
  WHY_MAX = 512,
  RESULT_MAX = 16 * 1024 * 1024,
  PARAMS_ARENA_MAX = 64 * 1024 * 1024, /* the tree of RG_STORED_TURN_MAX bytes */
};

static const char died[] = "restart"; /* the reason of what an earlier process left open */

/* ---- a turn that nobody can take up ---- */

static const char *outcome_word(enum rg_stored_state state)
{
  switch (state) {
  case RG_STORED_QUEUED: return "not_tried";
  case RG_STORED_UNSENT: return ob_outcome_word(OB_REFUSED);
  case RG_STORED_FRAMED:
  case RG_STORED_ANSWERED:
  case RG_STORED_UNKNOWN: return ob_outcome_word(OB_UNKNOWN);
  case RG_STORED_SENT:
  case RG_STORED_STATE_COUNT: break;
  }
  return ob_outcome_word(OB_SENT);
}

static void write_steps(struct schema_writer *w, const struct rg_stored_turn *t, bool sent)
{
  schema_write_key(w, sent ? SPAN("sent") : SPAN("unsent"));
  schema_write_array(w);
  for (size_t i = 0; i < t->step_count; i++) {
    const struct rg_stored_step *s = &t->steps[i];
    if ((s->state == RG_STORED_SENT) != sent) continue;
    schema_write_object(w);
    schema_write_pair(w, "action", s->action);
    if (sent) {
      schema_write_pair(w, "message_id", s->message_id);
    } else {
      schema_write_pair(w, "outcome", span_of(outcome_word(s->state)));
      schema_write_pair(w, "reason", span_of(died));
    }
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static bool any_sent(const struct rg_stored_turn *t)
{
  for (size_t i = 0; i < t->step_count; i++)
    if (t->steps[i].state == RG_STORED_SENT && t->steps[i].kind != OB_STEP_REACTION) return true;
  return false;
}

/* Nothing more of it is sent; why: a word. */
static void give_up(struct rg_gate *gate, const struct rg_stored_turn *t, const char *why)
{
  struct buf json;
  struct schema_writer w = { .out = &json };
  struct rg_job ended = { .ticket = t->ticket, .journaled = true };
  const char *result = rg_ending_word(any_sent(t) ? RG_ENDING_PARTIAL : RG_ENDING_FAILED);
  buf_init(&json, RESULT_MAX);
  schema_write_object(&w);
  schema_write_pair(&w, "result", span_of(result));
  schema_write_pair(&w, "reason", span_of(why));
  schema_write_key(&w, SPAN("recovered"));
  schema_write_bool(&w, true);
  write_steps(&w, t, true);
  write_steps(&w, t, false);
  schema_write_object_end(&w);
  rg_log_line(&gate->log, RG_LOG_WARN, "turn %" PRIu64 ", of before the restart: %s, %s", t->ticket,
              result, why);
  if (!t->foreign && !json.failed && RG_HAS(&gate->host, on_result))
    gate->host.on_result(gate->host.ctx, t->ticket, (struct rg_bytes) { json.ptr, json.len });
  buf_done(&json);
  rg_journal_ended(gate->journal, &ended, result);
}

/* ---- turns that go on ---- */

static void each(void *ctx, const struct rg_stored_turn *t)
{
  struct rg_gate *gate = ctx;
  struct rg_job *job = NULL;
  int32_t rc = rg_gate_take_up(gate, t, &job);
  if (rc != RG_OK) { /* most likely its endpoint is not in the configuration any more */
    give_up(gate, t, rc == RG_EBUSY ? "busy" : rc == RG_ENOMEM ? "memory" : "endpoint");
    return;
  }
  rg_log_line(&gate->log, RG_LOG_INFO, "turn %" PRIu64 ": goes on after a restart%s%s", t->ticket,
              job->stopped ? ", " : "", job->stopped ? job->stopped : "");
  rg_delivery_add(gate, job);
}

/* A copy of what the journal lends: taking turns up writes to the store that gives them. */
struct left {
  struct left *next;
  struct rg_stored_turn turn;
};

struct gathered {
  struct arena arena;
  struct left *first, **end;
};

static void gather(void *ctx, const struct rg_stored_turn *t)
{
  struct gathered *g = ctx;
  struct arena *a = &g->arena;
  struct left *left = arena_zalloc(a, 1, sizeof *left);
  struct rg_stored_step *steps = arena_zalloc(a, t->step_count, sizeof *steps);
  if (!left || (t->step_count > 0 && !steps) || a->failed) return;
  left->turn = *t;
  struct rg_stored_turn *copy = &left->turn;
  struct span *const texts[] = { &copy->endpoint,   &copy->group_id,  &copy->user_id,
                                 &copy->message_id, &copy->sender_id, &copy->text,
                                 &copy->schema,     &copy->notice };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = arena_copy(a, *texts[i]);
  for (size_t i = 0; i < t->step_count; i++) {
    steps[i] = t->steps[i];
    steps[i].action = arena_copy(a, steps[i].action);
    steps[i].params = arena_copy(a, steps[i].params);
    steps[i].card_text = arena_copy(a, steps[i].card_text);
    steps[i].message_id = arena_copy(a, steps[i].message_id);
  }
  copy->steps = steps;
  if (a->failed) return; /* half a turn would be judged as what it is not */
  *g->end = left;
  g->end = &left->next;
}

void rg_recovery_run(struct rg_gate *gate)
{
  char why[WHY_MAX] = "";
  struct gathered g = { .first = NULL };
  g.end = &g.first;
  arena_init(&g.arena, RG_WAITING_BYTES_MAX);
  if (!rg_journal_each(gate->journal, gather, &g, why, sizeof why))
    rg_log_line(&gate->log, RG_LOG_ERROR, "journal: %s", why);
  for (const struct left *l = g.first; l; l = l->next) each(gate, &l->turn);
  if (g.arena.failed)
    rg_log_line(&gate->log, RG_LOG_ERROR,
                "journal: more is left than memory can hold; the next "
                "start goes on with it");
  arena_done(&g.arena);
}

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether a step that is still to be sent makes a frame: the file may be damaged, or another's. */
static bool is_sound(const struct rg_stored_step *s)
{
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, PARAMS_ARENA_MAX);
  bool sound = s->action.len > 0 &&
               schema_tree_read(s->params, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK &&
               tree->kind == SCHEMA_OBJECT;
  arena_done(&arena);
  return sound;
}

static bool plan_fill(struct rg_job *job, const struct rg_stored_turn *t)
{
  struct ob_step *steps = arena_zalloc(&job->arena, t->step_count, sizeof *steps);
  if (!steps) return false;
  for (size_t i = 0; i < t->step_count; i++) {
    const struct rg_stored_step *s = &t->steps[i];
    steps[i] = (struct ob_step) {
      .kind = s->kind <= OB_STEP_UPLOAD ? (enum ob_step_kind)s->kind : OB_STEP_SEND,
      .action = s->action,
      .params = s->params,
      .message = s->message,
      .chars = s->chars,
      .card = s->card,
      .card_text = s->card_text,
    };
  }
  return rg_job_take_plan(job, &(struct ob_plan) { steps, t->step_count });
}

static void part_fill(struct rg_job *job, size_t i, const struct rg_stored_step *s)
{
  struct rg_part *part = &job->parts[i];
  part->message_id = arena_copy(&job->arena, s->message_id);
  if (s->state == RG_STORED_SENT) {
    part->state = RG_PART_SENT;
  } else if (s->state == RG_STORED_UNSENT || s->state == RG_STORED_UNKNOWN) {
    part->state = RG_PART_UNSENT;
    part->outcome = s->state == RG_STORED_UNSENT ? OB_REFUSED : OB_UNKNOWN;
    part->reason = died;
    if (s->kind != OB_STEP_REACTION) rg_step_stop(job, died);
  }
}

/* Where it goes on: at the first step of which the end is not known. */
static void place_fill(struct rg_job *job, const struct rg_stored_turn *t)
{
  for (size_t i = 0; i < t->step_count; i++) part_fill(job, i, &t->steps[i]);
  while (job->step < t->step_count && job->parts[job->step].state != RG_PART_OPEN) job->step++;
  if (job->step == t->step_count) return;
  const struct rg_stored_step *s = &t->steps[job->step];
  job->doubted = t->doubted;
  job->unsure = s->state != RG_STORED_QUEUED;
  job->framed_ms = t->doubted ? t->at_ms : s->at_ms;
  if (!t->kept) rg_step_stop(job, died);
  for (size_t i = job->step; !job->stopped && i < t->step_count; i++)
    if (!is_sound(&t->steps[i])) rg_step_stop(job, "damaged");
  if (!job->stopped || !job->unsure) return;
  struct rg_part *part = &job->parts[job->step]; /* it is too late to find out */
  *part = (struct rg_part) { .state = RG_PART_UNSENT, .outcome = OB_UNKNOWN, .reason = died };
}

static enum schema_code code_of(struct span word)
{
  for (int i = 0; i < SCHEMA_CODE_COUNT; i++)
    if (span_is(word, schema_code_word((enum schema_code)i))) return (enum schema_code)i;
  return SCHEMA_EEMPTY;
}

void rg_recovery_fill(struct rg_job *job, const struct rg_stored_turn *t)
{
  job->recovered = job->journaled = true;
  job->foreign = t->foreign;
  job->words = t->words;
  job->ticket = t->ticket;
  job->accepted_ms = t->at_ms;
  if (t->at_ms < now_ms() - RG_RECOVERY_AGE_MS) rg_step_stop(job, "expired");
  if (!job->group->enabled && job->group->off_means == RG_OFF_MUTE) rg_step_stop(job, "off");
  if (t->step_count == 0) {
    /* a plan that is not here may have been lost with the machine's last seconds, and sent */
    job->judged = !t->kept || t->doubted;
    if (job->judged) rg_step_stop(job, died);
    return;
  }
  job->journal_planned = plan_fill(job, t);
  if (!job->journal_planned) {
    rg_step_stop(job, "memory");
    return;
  }
  place_fill(job, t);
  if (t->notice.len == 0) return;
  job->is_notice = job->notice_decided = true;
  job->course = RG_COURSE_REFUSED;
  job->error.code = code_of(t->notice);
}

void rg_recovery_resume(struct rg_conversation *c, struct rg_job *job)
{
  const struct ob_step *step = &job->plan.steps[job->step];
  const struct ob_outcome o = { .kind = OB_UNKNOWN, .reason = died };
  struct span id = job->parts[job->step].message_id;
  job->unsure = false;
  if (step->kind != OB_STEP_SEND) {
    rg_step_lost(c, job, o); /* a reaction is never worth it, an upload cannot be looked for */
  } else if (id.len > 0 && step->card) {
    rg_card_look(c, job, id);
  } else {
    rg_resolve_begin(c, job, o);
  }
}
