/* delivery: see delivery.h. Everything here runs on the service thread. rg_delivery_advance looks at
 * a conversation's first job and does the next thing; whatever happens (an answer, a timer, a
 * connection) is written down and ends in a call of it. What became of a step is step.c's. */
#include "plugin/delivery/delivery.h"

#include <inttypes.h>
#include <stdarg.h>

#include "plugin/agent/agent.h"
#include "plugin/crash.h"
#include "plugin/delivery/card_check.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/notice.h"
#include "plugin/delivery/recovery.h"
#include "plugin/delivery/resolve.h"
#include "plugin/delivery/result.h"
#include "plugin/delivery/step.h"
#include "plugin/media/media_stage.h"

enum {
  CLOSED_CHATS_MAX = 8192, /* a QQ account is in 5,000 groups at most */
  FRAME_MARGIN = 256,      /* "action", "echo" and braces around the params */
};

void rg_delivery_say(const struct rg_conversation *c, int32_t level, const char *format, ...)
{
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  rg_log_line(&c->account->gate->log, level, "%s, %s %s: %s", c->account->name,
              c->group ? "group" : "user", c->id, what);
}

/* --- the list of conversations that have jobs --- */

static void active_add(struct rg_conversation *c)
{
  struct rg_gate *gate = c->account->gate;
  c->previous_active = NULL;
  c->next_active = gate->active;
  if (gate->active) gate->active->previous_active = c;
  gate->active = c;
}

static void active_remove(struct rg_conversation *c)
{
  struct rg_gate *gate = c->account->gate;
  if (c->next_active) c->next_active->previous_active = c->previous_active;
  if (c->previous_active) {
    c->previous_active->next_active = c->next_active;
  } else {
    gate->active = c->next_active;
  }
}

static struct rg_job *job_find(const struct rg_gate *gate, uint64_t ticket)
{
  for (struct rg_conversation *c = gate->active; c; c = c->next_active) {
    for (struct rg_job *job = c->head; job; job = job->next) {
      if (job->ticket == ticket) return job;
    }
  }
  return NULL;
}

/* --- how a job ends --- */

static enum rg_ending ending_of(const struct rg_job *job)
{
  if (job->cancelled) return RG_ENDING_CANCELLED;
  if (job->course == RG_COURSE_SILENT) return RG_ENDING_NOTHING;
  if (job->course == RG_COURSE_MEDIA) return RG_ENDING_FAILED; /* nobody could look at them */
  if (job->course != RG_COURSE_DELIVER) return RG_ENDING_BLOCKED;
  if (job->recovered && job->stopped && job->plan.count == 0) return RG_ENDING_FAILED;
  size_t sent = 0, sends = 0, reactions = 0;
  for (size_t i = 0; i < job->plan.count; i++) {
    bool arrived = job->parts[i].state == RG_PART_SENT;
    if (job->plan.steps[i].kind == OB_STEP_REACTION) {
      reactions += arrived;
    } else {
      sends++;
      sent += arrived;
    }
  }
  if (sends == 0) return reactions > 0 ? RG_ENDING_DELIVERED : RG_ENDING_NOTHING;
  if (sent == sends) return RG_ENDING_DELIVERED;
  return sent > 0 ? RG_ENDING_PARTIAL : RG_ENDING_FAILED;
}

/* Whether nobody knows of one of its messages. */
static bool is_unknown(const struct rg_job *job)
{
  for (size_t i = 0; i < job->plan.count; i++) {
    const struct rg_part *p = &job->parts[i];
    if (job->plan.steps[i].kind != OB_STEP_REACTION && p->state == RG_PART_UNSENT &&
        p->outcome == OB_UNKNOWN)
      return true;
  }
  return false;
}

static void tell_result(struct rg_gate *gate, const struct rg_job *job, enum rg_ending ending)
{
  if (!RG_HAS(&gate->host, on_result)) return;
  struct buf json;
  buf_init(&json, 2 * (size_t)RG_TEXT_MAX);
  struct span result =
      SPAN("{\"result\":\"failed\",\"reason\":\"memory\",\"sent\":[],\"unsent\":[]}");
  if (rg_job_write_result(job, rg_ending_word(ending), &json)) result = buf_span(&json);
  gate->host.on_result(gate->host.ctx, job->ticket, (struct rg_bytes) { result.ptr, result.len });
  buf_done(&json);
}

static void job_unlink(struct rg_conversation *c, struct rg_job *job)
{
  struct rg_job **at = &c->head;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  if (!*at) c->tail = at;
  if (!c->head) active_remove(c);
}

/* What was delivered is bounded by `rate` and `pace`, and each of it is looked for in a log. */
static void log_ending(const struct rg_job *job, enum rg_ending ending)
{
  const struct rg_conversation *c = job->conversation;
  if (ending == RG_ENDING_DELIVERED && !job->own) {
    rg_log_always(&c->account->gate->log, RG_LOG_INFO, "%s, %s %s: turn %" PRIu64 ": %s",
                  c->account->name, c->group ? "group" : "user", c->id, job->ticket,
                  rg_ending_word(ending));
    return;
  }
  rg_delivery_say(c, job->own ? RG_LOG_DEBUG : RG_LOG_INFO, "turn %" PRIu64 ": %s%s%s", job->ticket,
                  rg_ending_word(ending), job->stopped ? ", " : "",
                  job->stopped ? job->stopped : "");
}

/* Takes the job out of its conversation and tells its result. */
static void finish(struct rg_job *job)
{
  struct rg_conversation *c = job->conversation;
  struct rg_gate *gate = c->account->gate;
  if (c->head == job) ob_timer_clear(gate->service, &c->timer);
  ob_timer_clear(gate->service, &job->timer);
  job_unlink(c, job);
  if (!job->judged) rg_job_judge(job); /* so that its result has a verdict */
  enum rg_ending ending = ending_of(job);
  log_ending(job, ending);
  pthread_mutex_lock(&gate->mu);
  if (!job->own) gate->endings[ending]++;
  gate->waiting--;
  gate->waiting_bytes -= job->bytes;
  c->waiting--;
  pthread_mutex_unlock(&gate->mu);
  if (job->recovered && is_unknown(job)) rg_notify(gate, c->account, RG_NOTIFY_UNKNOWN, SPAN(""));
  bool gone = ending == RG_ENDING_DELIVERED || ending == RG_ENDING_NOTHING;
  rg_step_tell_watch(job, SPAN(""),
                     gone           ? NULL
                     : job->stopped ? job->stopped
                                    : rg_ending_word(ending));
  if (!job->own) { /* last: a host that hears of it finds it counted, and its place free */
    rg_history_add(&c->history, job, rg_ending_word(ending), ob_now_ms());
    if (gate->agent) rg_agent_turn_ended(gate->agent, job);
    if (!job->foreign) tell_result(gate, job, ending);
    rg_journal_ended(gate->journal, job, rg_ending_word(ending));
    rg_crash("marked", job->step < job->plan.count ? job->step : job->plan.count - 1);
  }
  rg_job_free(job);
}

/* Whether the job is elsewhere and comes back: on the wire, or with the media thread. */
static bool is_out(const struct rg_job *job)
{
  return job->at_media || job->awaits_echo ||
         (job->conversation->calling && job->conversation->head == job);
}

/* Stops a job from outside. It ends now, or once it is back. */
static void call_off(struct rg_job *job, const char *why)
{
  rg_step_stop(job, why);
  job->cancelled = true;
  if (is_out(job))
    rg_journal_called_off(job->conversation->account->gate->journal, job);
  else
    finish(job);
}

/* --- the verdict, where it is made or asked for here --- */

static void log_verdict(const struct rg_job *job)
{
  const struct schema_error *e = &job->error;
  if (e->code == SCHEMA_OK) return;
  bool held = job->course == RG_COURSE_CORRECT || job->course == RG_COURSE_REFUSED;
  rg_delivery_say(job->conversation, RG_LOG_WARN, "turn %" PRIu64 ": %s, %s at byte %zu %s",
                  job->ticket, held ? "held back" : "let through", schema_code_word(e->code), e->at,
                  e->path);
}

static void correction_late(struct ob_timer *t);

/* Asks the host's model for the one correction. False: it has none. */
static bool ask_host(struct rg_gate *gate, struct rg_job *job)
{
  struct buf request;
  if (!RG_HAS(&gate->host, complete)) return false;
  buf_init(&request, 4 * (size_t)RG_TEXT_MAX);
  bool made = rg_job_write_request(job, &request);
  if (made) {
    job->corrected = true;
    ob_timer_set(gate->service, &job->timer, gate->timing.correction, correction_late);
    gate->host.complete(gate->host.ctx, job->ticket,
                        (struct rg_bytes) { request.ptr, request.len });
  }
  buf_done(&request);
  return made;
}

/* Asks a provider, once. False: there is none. */
static bool ask_provider(struct rg_gate *gate, struct rg_job *job)
{
  if (job->provider_asked || !gate->agent || !rg_agent_correct(gate->agent, job)) return false;
  job->corrected = job->provider_asked = true;
  ob_timer_set(gate->service, &job->timer, gate->timing.correction, correction_late);
  return true;
}

/* The host's model, else a provider; without one the job is refused. */
static void ask_correction(struct rg_gate *gate, struct rg_job *job)
{
  if (job->foreign || (!ask_host(gate, job) && !ask_provider(gate, job)))
    job->course = RG_COURSE_REFUSED;
}

static void judged(struct rg_gate *gate, struct rg_job *job)
{
  log_verdict(job);
  if (job->judgement.rich.refused > 0)
    rg_delivery_say(job->conversation, RG_LOG_WARN,
                    "turn %" PRIu64 ": attachments of its directives left out: %zu", job->ticket,
                    job->judgement.rich.refused);
  if (job->stopped) return; /* it ends at once and must not be given away */
  if (job->course == RG_COURSE_CORRECT) ask_correction(gate, job);
  if (job->course == RG_COURSE_MEDIA) rg_media_stage_begin(gate, job);
}

static void corrected(struct rg_job *job, struct span text)
{
  struct rg_conversation *c = job->conversation;
  ob_timer_clear(c->account->gate->service, &job->timer);
  if (span_trim(text).len > 0) {
    rg_job_judge_again(job, text);
    judged(c->account->gate, job);
  } else if (!ask_provider(c->account->gate, job)) {
    job->course = RG_COURSE_REFUSED;
  }
  rg_delivery_advance(c);
}

static void correction_late(struct ob_timer *t)
{
  struct rg_job *job = (struct rg_job *)((char *)t - offsetof(struct rg_job, timer));
  corrected(job, SPAN(""));
}

/* Fits a turn that came before its endpoint was known to what the endpoint turned out to be. */
static void fit_late(struct rg_conversation *c, struct rg_job *job)
{
  struct rg_gate *gate = c->account->gate;
  pthread_mutex_lock(&gate->mu);
  struct rg_peer peer = c->account->peer;
  pthread_mutex_unlock(&gate->mu);
  if (!rg_job_fit(job, &peer)) rg_step_stop(job, "memory");
}

/* --- one step --- */

/* How long a message waits for the account (setting `offline_wait`). */
static uint64_t patience_ms(const struct rg_conversation *c)
{
  const struct rg_endpoint *e = c->account->configured;
  return e ? (uint64_t)(e->offline_wait * 1000) : 0;
}

/* It is surely not sent: the connection did not take it, or the account is not logged in. A message is
 * tried again for a while, a reaction is not. */
static void not_sent(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o,
                     bool refused)
{
  uint64_t now = ob_now_ms();
  if (job->plan.steps[job->step].kind == OB_STEP_REACTION) {
    rg_step_lost(c, job, o);
  } else {
    if (job->stuck_until_ms == 0) job->stuck_until_ms = now + patience_ms(c);
    job->not_before_ms = now + c->account->gate->timing.retry;
    rg_journal_unframed(c->account->gate->journal, job);
    if (now >= job->stuck_until_ms) rg_step_lost(c, job, o);
  }
  if (refused) rg_presence_refused(c->account);
  rg_delivery_advance(c);
}

static void step_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  const struct ob_step *step = &job->plan.steps[job->step];
  c->calling = false;
  rg_crash("answered", job->step);
  struct ob_outcome o = rg_step_outcome(job, step->action, answer);
  if (answer->kind != OB_ANSWER_NOT_WRITTEN && step->kind != OB_STEP_REACTION)
    rg_step_count(c, job);
  if (o.kind == OB_OFFLINE) {
    not_sent(c, job, o, answer->kind != OB_ANSWER_NOT_WRITTEN);
    return;
  }
  job->stuck_until_ms = 0;
  if (o.kind == OB_SENT && rg_card_doubtful(c, job) && o.message_id.len > 0 && !job->stopped) {
    rg_card_look(c, job, o.message_id);
    return;
  }
  if (o.kind == OB_UNKNOWN && job->echoed_id.len > 0) {
    rg_resolve_take(c, job);
    rg_delivery_advance(c);
    return;
  }
  if (rg_card_failed(step, o) && rg_card_as_text(c, job)) return;
  if (o.kind == OB_SENT) {
    rg_step_arrived(c, job, o.message_id);
  } else if (o.kind == OB_UNKNOWN && step->kind == OB_STEP_SEND) {
    rg_resolve_begin(c, job, o);
  } else {
    rg_step_lost(c, job, o);
  }
  rg_delivery_advance(c);
}

static void step_begin(struct rg_conversation *c, struct rg_job *job)
{
  job->echoed_id = (struct span) { 0 };
  const struct ob_step *step = &job->plan.steps[job->step];
  size_t frame_max = job->peer.profile.frame_max;
  if (frame_max > 0 && step->params.len + FRAME_MARGIN > frame_max) {
    rg_step_lost(c, job, (struct ob_outcome) { .kind = OB_REFUSED, .reason = "too_large" });
    return;
  }
  if (!rg_journal_framed(c->account->gate->journal, job, NULL)) {
    rg_step_stop(job, "journal");
    return;
  }
  size_t step_number = job->step; /* the job may be gone when the call returns */
  rg_crash("framed", step_number);
  c->calling = true;
  rg_account_call(c->account, step->action, step->params, rg_job_timeout_ms(job, job->step),
                  step_answered, c);
  rg_crash_written(c, step_number);
}

/* --- the machine --- */

static void notice_decide(struct rg_conversation *c, struct rg_job *job, uint64_t now_ms)
{
  job->notice_decided = true;
  if (rg_rate_wait(&c->notices, RG_NOTICES_PER_MINUTE, now_ms) > 0) return;
  if (rg_job_plan_notice(job)) rg_rate_count(&c->notices, RG_NOTICES_PER_MINUTE, now_ms);
}

/* Whether the connection can be waited for; *wait_ms gets how long. Not: the job is stopped. */
static bool link_wait(const struct rg_conversation *c, struct rg_job *job, uint64_t now_ms,
                      uint64_t *wait_ms)
{
  bool refused = c->account->link && ob_link_state(c->account->link) == OB_LINK_REFUSED;
  uint64_t absent_ms = c->account->presence.absent_ms, until = job->arrived_ms;
  if (absent_ms > until) until = absent_ms;
  until += job->recovered ? RG_RECOVERY_WAIT_MS : patience_ms(c);
  if (refused || !c->account->link || now_ms >= until) {
    rg_step_stop(job, refused ? "auth" : "offline");
    return false;
  }
  *wait_ms = until - now_ms;
  return true;
}

enum next { NEXT_END, NEXT_WAIT, NEXT_STEP, NEXT_ASK, NEXT_RESUME };

/* What the first job of a conversation is to do; *wait_ms: 0 waits for something else than time. */
static enum next next_of(struct rg_conversation *c, struct rg_job *job, uint64_t *wait_ms)
{
  uint64_t now = ob_now_ms();
  *wait_ms = 0;
  if (now < c->blocked_until_ms) rg_step_stop(job, c->blocked_why);
  if (job->at_media) return NEXT_WAIT;
  if (job->awaits_echo) {
    enum rg_resolve_next next = rg_resolve_look(c, job, now, wait_ms);
    if (next == RG_RESOLVE_ASK) return NEXT_ASK;
    if (next == RG_RESOLVE_WAIT || c->calling) return NEXT_WAIT;
  }
  if (job->stopped) return NEXT_END;
  bool ready = rg_account_ready(c->account);
  if (!job->judged) {
    if (!ready && link_wait(c, job, now, wait_ms)) return NEXT_WAIT;
    fit_late(c, job);
    rg_job_judge(job);
    judged(c->account->gate, job);
    if (job->stopped) return NEXT_END;
  }
  if (job->course == RG_COURSE_CORRECT || job->at_media) return NEXT_WAIT;
  if (job->course == RG_COURSE_REFUSED && !job->notice_decided) notice_decide(c, job, now);
  if (job->step >= job->plan.count) return NEXT_END;
  if (now < job->not_before_ms) {
    *wait_ms = job->not_before_ms - now;
    return NEXT_WAIT;
  }
  if (!ready) return link_wait(c, job, now, wait_ms) ? NEXT_WAIT : NEXT_END;
  if (job->recovered && !job->peer.known) fit_late(c, job);
  if (job->unsure) return NEXT_RESUME;
  /* who commands is not kept waiting by what the bot said */
  if (!job->own && job->plan.steps[job->step].kind != OB_STEP_REACTION) {
    *wait_ms = rg_step_rate_wait(c, job, now);
  }
  return *wait_ms > 0 ? NEXT_WAIT : NEXT_STEP;
}

static void timer_fired(struct ob_timer *t)
{
  rg_delivery_advance(
      (struct rg_conversation *)((char *)t - offsetof(struct rg_conversation, timer)));
}

void rg_delivery_advance(struct rg_conversation *c)
{
  /* when the gate closes, what is on the wire is still written down; rg_delivery_end does the rest */
  while (c->head && !c->calling && !c->account->gate->closing) {
    uint64_t wait_ms;
    switch (next_of(c, c->head, &wait_ms)) {
    case NEXT_END: finish(c->head); break;
    case NEXT_STEP: step_begin(c, c->head); break;
    case NEXT_ASK: rg_resolve_ask(c, c->head); break;
    case NEXT_RESUME: rg_recovery_resume(c, c->head); break;
    case NEXT_WAIT:
      if (wait_ms > 0) ob_timer_set(c->account->gate->service, &c->timer, wait_ms, timer_fired);
      return;
    }
  }
}

/* --- from outside --- */

void rg_delivery_add(struct rg_gate *gate, struct rg_job *job)
{
  struct rg_conversation *c = job->conversation;
  pthread_mutex_lock(&gate->mu);
  rg_conversations_sweep(&gate->conversations, ob_now_ms());
  pthread_mutex_unlock(&gate->mu);
  job->arrived_ms = ob_now_ms();
  if (!c->head) active_add(c);
  *c->tail = job;
  c->tail = &job->next;
  if (gate->closing) {
    call_off(job, "closed");
    return;
  }
  if (job->judged) judged(gate, job);
  if (c->head == job) rg_delivery_advance(c);
}

void rg_delivery_back(struct rg_job *job)
{
  struct rg_conversation *c = job->conversation;
  if (job->stopped && c->head != job) {
    finish(job);
  } else {
    rg_delivery_advance(c);
  }
}

void rg_delivery_cancel(struct rg_gate *gate, uint64_t ticket)
{
  struct rg_job *job = job_find(gate, ticket);
  if (!job || job->cancelled) return;
  struct rg_conversation *c = job->conversation;
  call_off(job, "cancelled");
  rg_delivery_advance(c);
}

void rg_delivery_corrected(struct rg_gate *gate, uint64_t ticket, struct span text)
{
  struct rg_job *job = job_find(gate, ticket);
  if (job && job->corrected && job->course == RG_COURSE_CORRECT) corrected(job, text);
}

void rg_delivery_link_changed(struct rg_gate *gate, struct rg_account *account)
{
  for (struct rg_conversation *c = gate->active, *next; c; c = next) {
    next = c->next_active;
    if (c->account == account) rg_delivery_advance(c);
  }
}

static void call_off_all(struct rg_conversation *c, struct span message_id, const char *why)
{
  for (struct rg_job *job = c->head, *next; job; job = next) {
    next = job->next;
    if (message_id.len > 0 && !span_eq(message_id, job->message_id)) continue;
    if (!job->cancelled) call_off(job, why);
  }
  rg_delivery_advance(c);
}

static bool is_self(const struct ob_event *event)
{
  return event->user_id.len > 0 && span_eq(event->user_id, event->self_id);
}

/* Whether this account is in the group no longer. */
static bool removes_self(const struct ob_event *event)
{
  struct span how = schema_tree_string(schema_tree_get(event->tree, "sub_type"));
  return is_self(event) || span_is(how, "kick_me") || span_is(how, "disband");
}

static void removed(struct rg_conversation *c)
{
  struct rg_gate *gate = c->account->gate;
  rg_step_block(c, "removed", gate->timing.removed);
  rg_notify(gate, c->account, RG_NOTIFY_REMOVED, span_of(c->id));
  call_off_all(c, SPAN(""), "removed");
}

static void muted(struct rg_conversation *c, const struct ob_event *event)
{
  const struct schema_node *tree = event->tree;
  bool whole_group = event->user_id.len == 0;
  if (span_is(schema_tree_string(schema_tree_get(tree, "sub_type")), "lift_ban")) {
    if (whole_group || is_self(event)) c->blocked_until_ms = 0;
    return;
  }
  if (!is_self(event)) return; /* a mute of the whole group does not hold for its admins */
  uint64_t seconds = 0;
  struct span text = schema_tree_id(schema_tree_get(tree, "duration"));
  for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
    seconds = seconds * 10 + (uint64_t)(text.ptr[i] - '0');
    if (seconds > UINT32_MAX) break;
  }
  rg_step_block(c, "muted", seconds > 0 ? seconds * 1000 : c->account->gate->timing.muted);
  rg_notify(c->account->gate, c->account, RG_NOTIFY_MUTED, span_of(c->id));
  rg_delivery_advance(c);
}

/* Whether this account may speak in the group again: it came back, or a mute of all does not hold for
 * it any more. */
static bool opens_chat(const struct ob_event *event)
{
  if (!is_self(event)) return false;
  struct span how = schema_tree_string(schema_tree_get(event->tree, "sub_type"));
  return span_is(event->detail, "group_increase") ||
         (span_is(event->detail, "group_admin") && span_is(how, "set"));
}

/* The chat that a notice is of; one that is closed to us is remembered although nothing was sent there
 * yet. NULL: nothing is known of it, or no memory. */
static struct rg_conversation *chat_of(struct rg_gate *gate, struct rg_account *account,
                                       const struct ob_event *event)
{
  bool group = event->group_id.len > 0;
  struct span id = group ? event->group_id : event->user_id;
  bool closes = group && (removes_self(event) || is_self(event)) &&
                (span_is(event->detail, "group_decrease") || span_is(event->detail, "group_ban"));
  pthread_mutex_lock(&gate->mu);
  closes = closes && gate->conversations.count < CLOSED_CHATS_MAX;
  struct rg_conversation *c = closes
                                  ? rg_conversation_get(&gate->conversations, account, group, id)
                                  : rg_conversation_find(&gate->conversations, account, group, id);
  pthread_mutex_unlock(&gate->mu);
  return c;
}

void rg_delivery_notice_event(struct rg_gate *gate, struct rg_account *account,
                              const struct ob_event *event)
{
  struct rg_conversation *c = chat_of(gate, account, event);
  if (!c) return;
  if (span_is(event->detail, "group_recall") || span_is(event->detail, "friend_recall")) {
    if (event->message_id.len > 0) call_off_all(c, event->message_id, "recalled");
  } else if (span_is(event->detail, "group_decrease") && removes_self(event)) {
    removed(c);
  } else if (opens_chat(event)) {
    c->blocked_until_ms = 0;
  } else if (span_is(event->detail, "group_ban")) {
    muted(c, event);
  }
}

void rg_delivery_end(struct rg_gate *gate)
{
  gate->closing = true;
  while (gate->active) {
    struct rg_job *job = gate->active->head;
    if (job->awaits_echo) rg_resolve_missed(gate->active, job);
    rg_step_stop(job, "closed");
    job->cancelled = true;
    finish(job);
  }
}
