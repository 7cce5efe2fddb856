/* resolve: see resolve.h. */
#include "plugin/resolve.h"

#include <inttypes.h>

#include "plugin/delivery.h"
#include "plugin/step.h"

/* Whether an event of our own account says what a step says: the same words, and as many parts. */
static bool says_the_same(const struct ob_step *step, const struct ob_event *event)
{
  struct arena arena;
  struct schema_node *params;
  struct buf text;
  arena_init(&arena, 2 * RG_ANSWER_ARENA_MAX);
  buf_init(&text, RG_ANSWER_ARENA_MAX);
  bool same =
      schema_tree_read(step->params, SCHEMA_DEPTH_EVENT, &arena, &params, NULL) == SCHEMA_OK;
  const struct schema_node *ours = same ? schema_tree_get(params, "message") : NULL;
  const struct schema_node *theirs = schema_tree_get(event->tree, "message");
  for (const struct schema_node *s = ours ? ours->first : NULL; s; s = s->next)
    buf_add(&text, schema_tree_string(schema_tree_get(schema_tree_get(s, "data"), "text")));
  same = ours && !text.failed && span_eq(buf_span(&text), event->text) &&
         (text.len > 0 || (theirs && theirs->count == ours->count));
  buf_done(&text);
  arena_done(&arena);
  return same;
}

/* Waits a little for the event that shows a send of which nothing is known. */
void rg_resolve_await(struct rg_job *job, struct ob_outcome o)
{
  job->awaits_echo = true;
  job->echo_until_ms = ob_now_ms() + job->timing->echo;
  job->unknown = o.reason;
}

void rg_resolve_missed(struct rg_conversation *c, struct rg_job *job)
{
  job->awaits_echo = false;
  rg_step_lost(c, job, (struct ob_outcome) { .kind = OB_UNKNOWN, .reason = job->unknown });
}

void rg_resolve_take(struct rg_conversation *c, struct rg_job *job)
{
  struct span id = job->echoed_id;
  job->awaits_echo = false;
  job->echoed_id = (struct span) { 0 };
  rg_delivery_say(c, RG_LOG_INFO,
                  "turn %" PRIu64 ": an unknown send was confirmed by its own event", job->ticket);
  rg_step_arrived(c, job, id);
}

void rg_resolve_self_event(struct rg_gate *gate, struct rg_account *account,
                           const struct ob_event *event)
{
  bool group = event->group_id.len > 0;
  struct span id =
      group ? event->group_id : schema_tree_id(schema_tree_get(event->tree, "target_id"));
  pthread_mutex_lock(&gate->mu);
  struct rg_conversation *c = id.len > 0 && id.len < RG_ID_MAX
                                  ? rg_conversation_find(&gate->conversations, account, group, id)
                                  : NULL;
  pthread_mutex_unlock(&gate->mu);
  struct rg_job *job = c ? c->head : NULL;
  if (!job || event->message_id.len == 0 || job->step >= job->plan.count) return;
  if (!c->calling && !job->awaits_echo) return;
  const struct ob_step *step = &job->plan.steps[job->step];
  if (step->kind != OB_STEP_SEND || !says_the_same(step, event)) return;
  job->echoed_id = arena_copy(&job->arena, event->message_id);
  if (!job->awaits_echo || job->echoed_id.len == 0) return;
  rg_resolve_take(c, job);
  rg_delivery_advance(c);
}
