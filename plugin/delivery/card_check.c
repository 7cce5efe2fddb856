/* card_check: see card_check.h. */
#include "plugin/delivery/card_check.h"

#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/step.h"

static void card_text_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  c->calling = false;
  if (answer->kind != OB_ANSWER_NOT_WRITTEN) {
    rg_step_count(c, job);
  }
  struct ob_outcome o = rg_step_outcome(job, SPAN("send_msg"), answer);
  job->parts[job->step].card_fell_back = true;
  if (o.kind == OB_SENT) {
    rg_step_arrived(c, job, o.message_id);
  } else {
    /* nobody knows whether the card itself is there */
    if (job->parts[job->step].card_doubtful)
      o = (struct ob_outcome) { .kind = OB_UNKNOWN, .reason = "card" };
    rg_step_lost(c, job, o);
  }
  rg_delivery_advance(c);
}

/* Sends the text form in the place of a card that is not there. False: there is none. */
bool rg_card_as_text(struct rg_conversation *c, struct rg_job *job)
{
  const struct ob_step *step = &job->plan.steps[job->step];
  struct ob_plan plan;
  if (job->stopped || step->card_text.len == 0) return false;
  if (!rg_job_plan_text(job, step->card_text, &plan) || plan.count == 0) return false;
  if (!rg_journal_framed(c->account->gate->journal, job, &plan.steps[0])) return false;
  c->calling = true;
  rg_account_call(c->account, plan.steps[0].action, plan.steps[0].params,
                  rg_job_timeout_ms(job, job->step), card_text_answered, c);
  return true;
}

enum look { LOOK_SHOWN, LOOK_ABSENT, LOOK_FAILED };

/* Whether get_msg's answer shows a card: a segment, or its CQ code. */
static enum look card_in(struct span json)
{
  static const char *const types[] = { "json", "music" };
  bool found = false, read = false;
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, RG_ANSWER_ARENA_MAX);
  if (schema_tree_read(json, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK) {
    const struct schema_node *message = schema_tree_get(schema_tree_get(tree, "data"), "message");
    struct span text = schema_tree_string(message);
    read = message != NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
      char code[16];
      snprintf(code, sizeof code, "[CQ:%s,", types[i]);
      found = found || span_find(text, span_of(code)) < text.len;
      for (const struct schema_node *s = message ? message->first : NULL; s; s = s->next) {
        found = found || span_is(schema_tree_string(schema_tree_get(s, "type")), types[i]);
      }
    }
  }
  arena_done(&arena);
  return found ? LOOK_SHOWN : read ? LOOK_ABSENT : LOOK_FAILED;
}

static void card_looked(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  c->calling = false;
  enum look look = answer->kind == OB_ANSWER_RESPONSE ? card_in(answer->json) : LOOK_FAILED;
  /* where the connection ended meanwhile, its receipt is all that is known, and a text might double it */
  bool ended = answer->kind != OB_ANSWER_RESPONSE && answer->kind != OB_ANSWER_TIMEOUT;
  if (!ended) rg_account_card_seen(c->account, look == LOOK_SHOWN);
  job->parts[job->step].card_doubtful = look == LOOK_FAILED;
  if (look == LOOK_SHOWN || ended || !rg_card_as_text(c, job)) {
    rg_step_arrived(c, job, job->parts[job->step].message_id);
    rg_delivery_advance(c);
  }
}

/* Whether a card that was accepted is to be looked at: implementations that have it signed by a
 * service answer "ok" without one (spec/onebot.md 3.3). */
bool rg_card_doubtful(const struct rg_conversation *c, const struct rg_job *job)
{
  enum ob_music_form music = job->peer.profile.music;
  return job->plan.steps[job->step].card && !c->account->cards_trusted &&
         (music == OB_MUSIC_PLATFORM || music == OB_MUSIC_CUSTOM);
}

void rg_card_look(struct rg_conversation *c, struct rg_job *job, struct span message_id)
{
  job->parts[job->step].message_id = message_id;
  rg_journal_answered(c->account->gate->journal, job, message_id);
  c->calling = true;
  rg_account_call_message(c->account, SPAN("get_msg"), message_id,
                          c->account->gate->timing.card_look, card_looked, c);
}

bool rg_card_failed(const struct ob_step *step, struct ob_outcome o)
{
  return step->card && o.kind == OB_REFUSED &&
         (strcmp(o.reason, "card") == 0 || strcmp(o.reason, "segment") == 0);
}
