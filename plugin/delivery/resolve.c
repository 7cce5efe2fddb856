/* resolve: see resolve.h. */
#include "plugin/delivery/resolve.h"

#include <inttypes.h>

#include "onebot/id.h"
#include "onebot/native.h"
#include "plugin/delivery/card_check.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/step.h"
#include "schema/print.h"

enum {
  ASKS = 2,            /* at once, and once more for what shows late */
  ASK_COUNT = 20,      /* messages: more than a chat gets while an answer is waited for */
  CLOCKS_APART_S = 30, /* how far the peer's clock may be from what its events say of it */
  SAME_ARENA_MAX = 2 * RG_ANSWER_ARENA_MAX, /* the params and what they are compared with */
  PARAMS_MAX = 256,
};

/* ---- is it the same message ---- */

/* What stands in the chat for a segment of that type: implementations give some kinds back as
 * others. "" is left out, since it may be missing there. */
static const struct {
  enum ob_native type;
  const char *kind, *datum; /* datum: what must be the same; NULL: nothing, files get other names */
} kinds[] = {
  { OB_AT, "at", "qq" },        { OB_FACE, "face", "id" },       { OB_REPLY, "", NULL },
  { OB_IMAGE, "image", NULL },  { OB_MFACE, "image", NULL },     { OB_CARDIMAGE, "image", NULL },
  { OB_MUSIC, "card", NULL },   { OB_SHARE, "card", NULL },      { OB_JSON, "card", NULL },
  { OB_XML, "card", NULL },     { OB_CONTACT, "card", NULL },    { OB_LOCATION, "card", NULL },
  { OB_NODE, "forward", NULL }, { OB_FORWARD, "forward", NULL },
};

static void shape_segment(const struct schema_node *s, struct buf *out)
{
  struct span type = schema_tree_string(schema_tree_get(s, "type"));
  const struct schema_node *data = schema_tree_get(s, "data");
  if (span_is(type, "text")) {
    buf_add(out, schema_tree_string(schema_tree_get(data, "text")));
    return;
  }
  struct span kind = type, datum = SPAN("");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i].type != ob_native_find(type)) continue;
    kind = span_of(kinds[i].kind);
    if (kinds[i].datum) datum = schema_tree_id(schema_tree_get(data, kinds[i].datum));
  }
  if (kind.len == 0) return;
  buf_add_char(out, '\0'); /* stands in no text of a chat */
  buf_add(out, kind);
  buf_add_char(out, ' ');
  buf_add(out, datum);
  buf_add_char(out, '\0');
}

/* A message as one text: its words, and a mark for each other segment. */
static bool shape(const struct schema_node *message, struct arena *arena, struct buf *out)
{
  const struct schema_node *segments = ob_native_read(message, false, arena);
  for (const struct schema_node *s = segments ? segments->first : NULL; s; s = s->next)
    shape_segment(s, out);
  return segments && !out->failed;
}

bool rg_resolve_same(const struct schema_node *params, const struct schema_node *message,
                     struct arena *arena)
{
  struct buf ours, theirs;
  buf_init(&ours, RG_ANSWER_ARENA_MAX);
  buf_init(&theirs, RG_ANSWER_ARENA_MAX);
  const struct schema_node *sent = schema_tree_get(params, "message");
  bool same = shape(message, arena, &theirs);
  if (sent) {
    same = same && shape(sent, arena, &ours);
  } else if (schema_tree_get(params, "messages")) { /* a forward */
    buf_add(&ours, (struct span) { "\0forward \0", 10 });
  }
  same = same && span_trim(buf_span(&ours)).len > 0 &&
         span_eq(span_trim(buf_span(&ours)), span_trim(buf_span(&theirs)));
  buf_done(&ours);
  buf_done(&theirs);
  return same;
}

static bool says_the_same(struct span params, const struct schema_node *message)
{
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, SAME_ARENA_MAX);
  bool same = schema_tree_read(params, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK &&
              rg_resolve_same(tree, message, &arena);
  arena_done(&arena);
  return same;
}

/* ---- the history ---- */

static bool can_ask(const struct rg_conversation *c, const struct rg_job *job)
{
  const struct ob_profile *p = &job->peer.profile;
  return job->plan.steps[job->step].kind == OB_STEP_SEND &&
         (c->group ? p->group_history : p->friend_history);
}

/* Whether a message id is that of another send of ours. */
static bool is_another(const struct rg_conversation *c, const struct rg_job *job, struct span id)
{
  for (size_t i = 0; i < job->plan.count; i++)
    if (i != job->step && span_eq(job->parts[i].message_id, id)) return true;
  return rg_history_knows(&c->history, id) ||
         rg_journal_knows(c->account->gate->journal, job->ticket, id);
}

/* Unix time of a message, or 0. */
static int64_t time_of(const struct schema_node *message)
{
  int64_t t = 0;
  return ob_id_read(schema_tree_id(schema_tree_get(message, "time")), &t) ? t : 0;
}

static bool is_own(const struct rg_job *job, const struct schema_node *message)
{
  const struct schema_node *sender = schema_tree_get(message, "sender");
  struct span id = ob_id_of(schema_tree_get(sender, "user_id"));
  if (id.len == 0) id = ob_id_of(schema_tree_get(message, "user_id"));
  return span_is(id, job->peer.self_id);
}

/* Looks for the send in a history; its id goes into the job. What stands before another send of ours,
 * or before the message that is answered, was said earlier: a chat's sends go one behind the other, and
 * histories give the oldest first. *covers: the history reaches back to before the send, so that what
 * is not in it is not in the chat. False: this is no history. */
static bool history_read(const struct rg_conversation *c, struct rg_job *job, struct span json,
                         struct arena *arena, bool *covers)
{
  struct schema_node *tree;
  if (schema_tree_read(json, SCHEMA_DEPTH_EVENT, arena, &tree, NULL) != SCHEMA_OK) return false;
  const struct schema_node *messages = schema_tree_get(schema_tree_get(tree, "data"), "messages");
  if (!messages || messages->kind != SCHEMA_ARRAY) return false;
  const int64_t since = job->framed_ms / 1000 + c->account->clock_off_s - CLOCKS_APART_S;
  struct span found = { NULL, 0 };
  bool timed = true;
  *covers = messages->count < ASK_COUNT;
  for (const struct schema_node *m = messages->first; m; m = m->next) {
    int64_t t = time_of(m);
    timed = timed && t > 0;
    if (t < since) *covers = true;
    struct span id = ob_id_of(schema_tree_get(m, "message_id"));
    if (id.len == 0) continue;
    if (span_eq(id, job->message_id) || (is_own(job, m) && is_another(c, job, id))) {
      found.len = 0;
      continue;
    }
    if (t < since || found.len > 0 || !is_own(job, m)) continue;
    if (says_the_same(job->plan.steps[job->step].params, schema_tree_get(m, "message"))) found = id;
  }
  if (found.len > 0) {
    job->echoed_id = arena_copy(&job->arena, found);
    return true;
  }
  *covers = *covers && timed;
  return true;
}

static void history_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  struct rg_resolving *r = &job->resolving;
  struct arena arena;
  bool covers = false;
  c->calling = false;
  arena_init(&arena, RG_ANSWER_ARENA_MAX);
  if (answer->kind == OB_ANSWER_NOT_WRITTEN) {
    r->asks_left++; /* it was no question */
    r->ask_ms = ob_now_ms() + c->account->gate->timing.retry;
  } else if (answer->kind != OB_ANSWER_RESPONSE) {
    r->ask_ms = r->asks_left > 0 ? ob_now_ms() + c->account->gate->timing.retry : 0;
  } else if (!history_read(c, job, answer->json, &arena, &covers)) {
    r->ask_ms = 0; /* it gives none */
  } else {
    r->absent = covers;
    r->ask_ms = r->asks_left > 0 ? ob_now_ms() + job->timing->echo : 0;
  }
  arena_done(&arena);
  if (job->echoed_id.len > 0) rg_resolve_take(c, job); /* by what was read, or an event meanwhile */
  rg_delivery_advance(c);
}

void rg_resolve_ask(struct rg_conversation *c, struct rg_job *job)
{
  char params[PARAMS_MAX];
  int n = snprintf(params, sizeof params, "{\"%s\":%s,\"count\":%d}",
                   c->group ? "group_id" : "user_id", c->id, ASK_COUNT);
  job->resolving.asks_left--;
  c->calling = true;
  rg_account_call(
      c->account, c->group ? SPAN("get_group_msg_history") : SPAN("get_friend_msg_history"),
      (struct span) { params, (size_t)n }, c->account->gate->timing.history, history_answered, c);
}

/* ---- the course of it ---- */

void rg_resolve_begin(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o)
{
  uint64_t now = ob_now_ms();
  bool asks = can_ask(c, job);
  job->awaits_echo = true;
  job->echo_until_ms = now + (asks ? job->timing->resolve : job->timing->echo);
  job->unknown = o.reason;
  job->resolving = (struct rg_resolving) { .ask_ms = asks ? now : 0, .asks_left = ASKS };
}

enum rg_resolve_next rg_resolve_look(struct rg_conversation *c, struct rg_job *job, uint64_t now_ms,
                                     uint64_t *wait_ms)
{
  const struct rg_resolving *r = &job->resolving;
  uint64_t until = job->echo_until_ms;
  /* who gives no history may still tell by an event, as long as one may come */
  uint64_t echo_until = until - job->timing->resolve + job->timing->echo;
  if (can_ask(c, job) && r->ask_ms == 0 && echo_until < until) until = echo_until;
  if (job->stopped || now_ms >= until) {
    rg_resolve_missed(c, job);
    return RG_RESOLVE_OVER;
  }
  bool ready = rg_account_ready(c->account);
  if (r->ask_ms > 0 && ready && now_ms >= r->ask_ms) return RG_RESOLVE_ASK;
  if (r->ask_ms > now_ms && ready && r->ask_ms < until) until = r->ask_ms;
  *wait_ms = until - now_ms;
  return RG_RESOLVE_WAIT;
}

void rg_resolve_missed(struct rg_conversation *c, struct rg_job *job)
{
  job->awaits_echo = false;
  struct ob_outcome o = { .kind = OB_UNKNOWN, .reason = job->unknown };
  bool absent = job->resolving.absent && job->plan.steps[job->step].card;
  if (absent && !c->account->gate->closing && rg_card_as_text(c, job)) return;
  rg_step_lost(c, job, o);
}

void rg_resolve_take(struct rg_conversation *c, struct rg_job *job)
{
  struct span id = job->echoed_id;
  job->awaits_echo = false;
  job->echoed_id = (struct span) { 0 };
  rg_delivery_say(c, RG_LOG_INFO, "turn %" PRIu64 ": an unknown send was found in the chat",
                  job->ticket);
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
  if (step->kind != OB_STEP_SEND) return;
  if (!says_the_same(step->params, schema_tree_get(event->tree, "message"))) return;
  job->echoed_id = arena_copy(&job->arena, event->message_id);
  if (!job->awaits_echo || c->calling || job->echoed_id.len == 0) return;
  rg_resolve_take(c, job);
  rg_delivery_advance(c);
}
