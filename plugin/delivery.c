/* delivery: see delivery.h. Everything here runs on the service thread. `advance` looks at a
 * conversation's first job and does the next thing; whatever happens (an answer, a timer, a
 * connection) is written down and ends in a call of `advance`. */
#include "plugin/delivery.h"

#include <inttypes.h>
#include <stdarg.h>

#include "plugin/agent.h"
#include "plugin/notice.h"
#include "plugin/upload.h"

enum {
  ECHO_MS = 2 * 1000, /* an implementation's event of its own send comes at once, if at all */
  RETRY_MS = 1000,    /* until an action that was not written is written again */
  FRAME_MARGIN = 256, /* "action", "echo" and braces around the params */
  ANSWER_ARENA_MAX = OB_FRAME_MAX, /* a tree of an answer; real ones have a few hundred bytes */
};

static void advance(struct rg_conversation *c);

static struct rg_gate *gate_of(const struct rg_conversation *c)
{
  return c->account->gate;
}

__attribute__((format(printf, 3, 4))) static void say(const struct rg_conversation *c,
                                                      int32_t level, const char *format, ...)
{
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  rg_log_line(&gate_of(c)->log, level, "%s, %s %s: %s", c->account->name,
              c->group ? "group" : "user", c->id, what);
}

/* --- the list of conversations that have jobs --- */

static void active_add(struct rg_conversation *c)
{
  struct rg_gate *gate = gate_of(c);
  c->previous_active = NULL;
  c->next_active = gate->active;
  if (gate->active) gate->active->previous_active = c;
  gate->active = c;
}

static void active_remove(struct rg_conversation *c)
{
  struct rg_gate *gate = gate_of(c);
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

/* Tells a framework, once, what became of its message. */
static void tell_watch(struct rg_job *job, struct span message_id, const char *why)
{
  struct rg_job_watch watch = job->watch;
  job->watch = (struct rg_job_watch) { .told = NULL };
  if (watch.told) watch.told(watch.ctx, message_id, why);
}

static void job_unlink(struct rg_conversation *c, struct rg_job *job)
{
  struct rg_job **at = &c->head;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  if (!*at) c->tail = at;
  if (!c->head) active_remove(c);
}

/* Takes the job out of its conversation and tells its result. */
static void finish(struct rg_job *job)
{
  struct rg_conversation *c = job->conversation;
  struct rg_gate *gate = gate_of(c);
  if (c->head == job) ob_timer_clear(gate->service, &c->timer);
  ob_timer_clear(gate->service, &job->timer);
  job_unlink(c, job);
  if (!job->judged) rg_job_judge(job); /* so that its result has a verdict */
  enum rg_ending ending = ending_of(job);
  say(c, job->own ? RG_LOG_DEBUG : RG_LOG_INFO, "turn %" PRIu64 ": %s%s%s", job->ticket,
      rg_ending_word(ending), job->stopped ? ", " : "", job->stopped ? job->stopped : "");
  pthread_mutex_lock(&gate->mu);
  if (!job->own) gate->endings[ending]++;
  gate->waiting--;
  gate->waiting_bytes -= job->bytes;
  c->waiting--;
  pthread_mutex_unlock(&gate->mu);
  bool gone = ending == RG_ENDING_DELIVERED || ending == RG_ENDING_NOTHING;
  tell_watch(job, SPAN(""), gone ? NULL : job->stopped ? job->stopped : rg_ending_word(ending));
  if (!job->own) { /* last: a host that hears of it finds it counted, and its place free */
    rg_history_add(&c->history, job, rg_ending_word(ending), ob_now_ms());
    if (gate->agent) rg_agent_turn_ended(gate->agent, job);
    if (!job->foreign) tell_result(gate, job, ending);
  }
  rg_job_free(job);
}

/* Whether the job is elsewhere and comes back: on the wire, or with the media thread. */
static bool is_out(const struct rg_job *job)
{
  return job->at_media || job->awaits_echo ||
         (job->conversation->calling && job->conversation->head == job);
}

static void stop(struct rg_job *job, const char *why)
{
  if (!job->stopped) job->stopped = why;
}

/* Stops a job from outside. It ends now, or once it is back. */
static void call_off(struct rg_job *job, const char *why)
{
  stop(job, why);
  job->cancelled = true;
  if (!is_out(job)) finish(job);
}

static void block(struct rg_conversation *c, const char *why, uint64_t ms)
{
  c->blocked_why = why;
  c->blocked_until_ms = ob_now_ms() + ms;
  say(c, RG_LOG_WARN, "%s: nothing is sent there for %" PRIu64 " s", why, ms / 1000);
}

/* Refusals after which a whole conversation rests. */
static const struct {
  const char *reason;
  uint64_t rest_ms;
} rests[] = {
  { "muted", RG_MUTED_MS },
  { "risk", RG_RISK_MS },
};

static void rest_after(struct rg_conversation *c, const char *reason)
{
  for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
    if (strcmp(rests[i].reason, reason) == 0) block(c, rests[i].reason, rests[i].rest_ms);
  }
}

/* --- the verdict, where it is made or asked for here --- */

static void log_verdict(const struct rg_job *job)
{
  const struct schema_error *e = &job->error;
  if (e->code == SCHEMA_OK) return;
  bool held = job->course == RG_COURSE_CORRECT || job->course == RG_COURSE_REFUSED;
  say(job->conversation, RG_LOG_WARN, "turn %" PRIu64 ": %s, %s at byte %zu %s", job->ticket,
      held ? "held back" : "let through", schema_code_word(e->code), e->at, e->path);
}

static void correction_late(struct ob_timer *t);

/* Asks for the one correction: the host's model, else a provider; without one the job is refused. */
static void ask_correction(struct rg_gate *gate, struct rg_job *job)
{
  struct buf request;
  bool host = RG_HAS(&gate->host, complete);
  buf_init(&request, 4 * (size_t)RG_TEXT_MAX);
  if (job->foreign || (host && !rg_job_write_request(job, &request)) ||
      (!host && (!gate->agent || !rg_agent_correct(gate->agent, job)))) {
    job->course = RG_COURSE_REFUSED;
  } else {
    job->corrected = true;
    ob_timer_set(gate->service, &job->timer, RG_CORRECTION_MS, correction_late);
  }
  if (host && job->corrected) {
    gate->host.complete(gate->host.ctx, job->ticket,
                        (struct rg_bytes) { request.ptr, request.len });
  }
  buf_done(&request);
}

static void look_at_media(struct rg_gate *gate, struct rg_job *job);

static void judged(struct rg_gate *gate, struct rg_job *job)
{
  log_verdict(job);
  if (job->stopped) return; /* it ends at once and must not be given away */
  if (job->course == RG_COURSE_CORRECT) ask_correction(gate, job);
  if (job->course == RG_COURSE_MEDIA) look_at_media(gate, job);
}

static void corrected(struct rg_job *job, struct span text)
{
  struct rg_conversation *c = job->conversation;
  ob_timer_clear(gate_of(c)->service, &job->timer);
  if (span_trim(text).len > 0) {
    rg_job_judge_again(job, text);
    judged(gate_of(c), job);
  } else {
    job->course = RG_COURSE_REFUSED;
  }
  advance(c);
}

static void correction_late(struct ob_timer *t)
{
  struct rg_job *job = (struct rg_job *)((char *)t - offsetof(struct rg_job, timer));
  corrected(job, SPAN(""));
}

/* Its media are as they will go: the job is back. */
static void media_ready(struct rg_job *job)
{
  struct rg_conversation *c = job->conversation;
  job->at_media = false;
  if (job->stopped && c->head != job) {
    finish(job);
    return;
  }
  if (!job->stopped) rg_job_media_done(job);
  advance(c);
}

static struct schema_segment *upload_segment(const struct rg_job *job)
{
  const struct schema_message *m = &job->media_reply->messages[job->upload_message];
  return (struct schema_segment *)&m->segments[job->upload_segment]; /* media.c's own copy */
}

static void upload_next(struct rg_job *job);

static void uploaded(void *ctx, struct span path)
{
  struct rg_job *job = ctx;
  struct span copy = arena_copy(&job->arena, path);
  if (path.len == 0 || !copy.ptr) {
    say(job->conversation, RG_LOG_WARN,
        "turn %" PRIu64 ": an upload failed, its bytes go as they are", job->ticket);
    media_ready(job);
    return;
  }
  struct schema_segment *s = upload_segment(job);
  s->media_kind = SCHEMA_MEDIA_PATH;
  s->text = copy;
  upload_next(job);
}

/* `files: upload`: bytes that are left become files of the peer, one behind the other. */
static void upload_next(struct rg_job *job)
{
  const struct schema_reply *r = job->media_reply;
  struct rg_account *account = job->conversation->account;
  for (; !job->stopped && job->upload_message < r->count; job->upload_message++) {
    for (; job->upload_segment < r->messages[job->upload_message].count; job->upload_segment++) {
      const struct schema_segment *s = upload_segment(job);
      if (schema_segment_types[s->type].shape != SCHEMA_SHAPE_MEDIA) continue;
      if (s->media_kind != SCHEMA_MEDIA_BASE64) continue;
      rg_upload_start(account, s->text, uploaded, job);
      return;
    }
    job->upload_segment = 0;
  }
  media_ready(job);
}

/* On the service thread: the media were looked at. */
static void media_back(void *arg)
{
  struct rg_job *job = arg;
  struct rg_conversation *c = job->conversation;
  const struct rg_endpoint *e = rg_config_endpoint(job->view.config, span_of(c->account->name));
  for (size_t i = 0; i < job->media_fault_count; i++) {
    const struct rg_media_fault *f = &job->media_faults[i];
    say(c, RG_LOG_WARN, "turn %" PRIu64 ": message %zu, segment %zu cannot go: %s", job->ticket,
        f->message, f->segment, f->reason);
  }
  if (job->media_reply && e && e->files == RG_FILES_UPLOAD && job->peer.profile.uploads)
    upload_next(job);
  else
    media_ready(job);
}

/* On the media thread, or at once. */
static void media_looked_at(void *ctx, const struct schema_reply *resolved,
                            const struct rg_media_fault *faults, size_t count)
{
  struct rg_job *job = ctx;
  job->media_reply = resolved;
  job->media_faults = faults;
  job->media_fault_count = count;
  /* the service outlives the media thread */
  ob_service_post(gate_of(job->conversation)->service, media_back, job);
}

static void look_at_media(struct rg_gate *gate, struct rg_job *job)
{
  const struct rg_media_order order = {
    .settings = job->group,
    .endpoint = rg_config_endpoint(job->view.config, span_of(job->conversation->account->name)),
    .language = job->view.config->language,
    .reply = &job->reply,
    .arena = &job->arena,
    .ctx = job,
    .done = media_looked_at,
  };
  job->at_media = true;
  if (order.endpoint && !gate->closing && rg_media_judge(gate->media, &order)) return;
  job->at_media = false;
  stop(job, "busy");
}

/* A turn that came before its endpoint was known is judged for what the endpoint turned out to be. */
static void judge_late(struct rg_conversation *c, struct rg_job *job)
{
  struct rg_gate *gate = gate_of(c);
  pthread_mutex_lock(&gate->mu);
  struct rg_peer peer = c->account->peer;
  pthread_mutex_unlock(&gate->mu);
  if (!rg_job_fit(job, &peer)) stop(job, "memory");
  rg_job_judge(job);
  judged(gate, job);
}

/* --- what became of a step --- */

static void step_done(struct rg_job *job)
{
  job->step++;
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
    gate_of(c)->keyboards_until_ms = now + RG_KEYBOARD_TTL_MS;
  }
}

/* A part that did not arrive ends its turn: what follows would stand without it. A reaction is
 * never worth that (reply.md 60). */
static void part_lost(struct rg_conversation *c, struct rg_job *job, struct ob_outcome o)
{
  struct rg_part *part = &job->parts[job->step];
  bool reaction = job->plan.steps[job->step].kind == OB_STEP_REACTION;
  part->state = RG_PART_UNSENT;
  part->outcome = o.kind;
  part->reason = o.reason ? o.reason : "other";
  say(c, reaction ? RG_LOG_DEBUG : RG_LOG_WARN, "turn %" PRIu64 ": %s %s, %s", job->ticket,
      reaction ? "reaction" : "message", ob_outcome_word(o.kind), part->reason);
  if (reaction) {
    step_done(job);
    return;
  }
  rest_after(c, part->reason);
  stop(job, part->reason);
  tell_watch(job, SPAN(""), part->reason);
}

static void part_arrived(struct rg_conversation *c, struct rg_job *job, struct span message_id)
{
  struct rg_part *part = &job->parts[job->step];
  part->state = RG_PART_SENT;
  part->message_id = message_id;
  if (job->plan.steps[job->step].kind != OB_STEP_REACTION) {
    keyboard_take(c, job, job->plan.steps[job->step].message);
    tell_watch(job, message_id, NULL);
  }
  step_done(job);
}

/* What an answer means; a message id in it is copied into the job. */
static struct ob_outcome outcome_of(struct rg_job *job, struct span action,
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
  arena_init(&arena, ANSWER_ARENA_MAX);
  if (schema_tree_read(answer->json, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK) {
    o = ob_outcome_read(&job->peer.profile, action, tree);
    o.message_id = arena_copy(&job->arena, o.message_id);
  }
  arena_done(&arena);
  return o;
}

/* --- cards, the one send that can be "ok" and invisible --- */

static void card_text_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  c->calling = false;
  if (answer->kind != OB_ANSWER_NOT_WRITTEN) {
    rg_rate_count(&c->rate, job->group->rate.per_minute, ob_now_ms());
  }
  struct ob_outcome o = outcome_of(job, SPAN("send_msg"), answer);
  job->parts[job->step].card_fell_back = true;
  if (o.kind == OB_SENT) {
    part_arrived(c, job, o.message_id);
  } else {
    part_lost(c, job, o);
  }
  advance(c);
}

/* Sends the text form in the place of a card that is not there. False: there is none. */
static bool card_as_text(struct rg_conversation *c, struct rg_job *job)
{
  const struct ob_step *step = &job->plan.steps[job->step];
  struct ob_plan plan;
  if (job->stopped || step->card_text.len == 0) return false;
  if (!rg_job_plan_text(job, step->card_text, &plan) || plan.count == 0) return false;
  c->calling = true;
  rg_account_call(c->account, plan.steps[0].action, plan.steps[0].params,
                  rg_job_timeout_ms(job, job->step), card_text_answered, c);
  return true;
}

/* Whether get_msg's answer shows a card: a segment, or its CQ code. */
static bool card_in(struct span json)
{
  static const char *const types[] = { "json", "music" };
  bool found = false;
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, ANSWER_ARENA_MAX);
  if (schema_tree_read(json, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK) {
    const struct schema_node *message = schema_tree_get(schema_tree_get(tree, "data"), "message");
    struct span text = schema_tree_string(message);
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
  return found;
}

static void card_looked(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  c->calling = false;
  bool shown = answer->kind == OB_ANSWER_RESPONSE && card_in(answer->json);
  rg_account_card_seen(c->account, shown);
  if (shown || !card_as_text(c, job)) {
    part_arrived(c, job, job->parts[job->step].message_id);
    advance(c);
  }
}

/* Whether a card that was accepted is to be looked at: implementations that have it signed by a
 * service answer "ok" without one (spec/onebot.md 3.3). */
static bool card_doubtful(const struct rg_conversation *c, const struct rg_job *job)
{
  enum ob_music_form music = job->peer.profile.music;
  return job->plan.steps[job->step].card && !c->account->cards_trusted &&
         (music == OB_MUSIC_PLATFORM || music == OB_MUSIC_CUSTOM);
}

static void card_look(struct rg_conversation *c, struct rg_job *job, struct span message_id)
{
  job->parts[job->step].message_id = message_id;
  c->calling = true;
  rg_account_call_message(c->account, SPAN("get_msg"), message_id, RG_CARD_LOOK_MS, card_looked, c);
}

/* --- sends of which nobody knows --- */

/* Whether an event of our own account says what a step says: the same words, and as many parts. */
static bool says_the_same(const struct ob_step *step, const struct ob_event *event)
{
  struct arena arena;
  struct schema_node *params;
  struct buf text;
  arena_init(&arena, 2 * ANSWER_ARENA_MAX);
  buf_init(&text, ANSWER_ARENA_MAX);
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
static void await_echo(struct rg_job *job, struct ob_outcome o)
{
  job->awaits_echo = true;
  job->echo_until_ms = ob_now_ms() + ECHO_MS;
  job->unknown = o.reason;
}

static void echo_missed(struct rg_conversation *c, struct rg_job *job)
{
  job->awaits_echo = false;
  part_lost(c, job, (struct ob_outcome) { .kind = OB_UNKNOWN, .reason = job->unknown });
}

static void echo_take(struct rg_conversation *c, struct rg_job *job)
{
  struct span id = job->echoed_id;
  job->awaits_echo = false;
  job->echoed_id = (struct span) { 0 };
  say(c, RG_LOG_INFO, "turn %" PRIu64 ": an unknown send was confirmed by its own event",
      job->ticket);
  part_arrived(c, job, id);
}

void rg_delivery_self_event(struct rg_gate *gate, struct rg_account *account,
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
  echo_take(c, job);
  advance(c);
}

/* --- one step --- */

static void not_written(struct rg_job *job, uint64_t now_ms)
{
  if (job->stuck_until_ms == 0) job->stuck_until_ms = now_ms + RG_OFFLINE_MS;
  job->not_before_ms = now_ms + RETRY_MS;
  if (now_ms >= job->stuck_until_ms) stop(job, "offline");
}

/* Whether a failed card may be shown as text all the same: it surely or most likely is not there. */
static bool card_failed(const struct ob_step *step, struct ob_outcome o)
{
  return step->card &&
         (o.kind == OB_REFUSED ? strcmp(o.reason, "card") == 0 || strcmp(o.reason, "segment") == 0
                               : o.kind == OB_UNKNOWN && strcmp(o.reason, "timeout") == 0);
}

static void step_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_conversation *c = ctx;
  struct rg_job *job = c->head;
  const struct ob_step *step = &job->plan.steps[job->step];
  uint64_t now = ob_now_ms();
  c->calling = false;
  if (answer->kind == OB_ANSWER_NOT_WRITTEN && step->kind != OB_STEP_REACTION) {
    not_written(job, now);
    advance(c);
    return;
  }
  job->stuck_until_ms = 0;
  if (step->kind != OB_STEP_REACTION) rg_rate_count(&c->rate, job->group->rate.per_minute, now);
  struct ob_outcome o = outcome_of(job, step->action, answer);
  if (o.kind == OB_SENT && card_doubtful(c, job) && o.message_id.len > 0 && !job->stopped) {
    card_look(c, job, o.message_id);
    return;
  }
  if (o.kind == OB_UNKNOWN && job->echoed_id.len > 0) {
    echo_take(c, job);
    advance(c);
    return;
  }
  if (card_failed(step, o) && card_as_text(c, job)) return;
  if (o.kind == OB_SENT) {
    part_arrived(c, job, o.message_id);
  } else if (o.kind == OB_UNKNOWN && step->kind == OB_STEP_SEND) {
    await_echo(job, o);
  } else {
    part_lost(c, job, o);
  }
  advance(c);
}

static void step_begin(struct rg_conversation *c, struct rg_job *job)
{
  job->echoed_id = (struct span) { 0 };
  const struct ob_step *step = &job->plan.steps[job->step];
  size_t frame_max = job->peer.profile.frame_max;
  if (frame_max > 0 && step->params.len + FRAME_MARGIN > frame_max) {
    part_lost(c, job, (struct ob_outcome) { .kind = OB_REFUSED, .reason = "too_large" });
    return;
  }
  c->calling = true;
  rg_account_call(c->account, step->action, step->params, rg_job_timeout_ms(job, job->step),
                  step_answered, c);
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
  if (job->stuck_until_ms == 0) job->stuck_until_ms = now_ms + RG_OFFLINE_MS;
  bool refused = c->account->link && ob_link_state(c->account->link) == OB_LINK_REFUSED;
  if (refused || !c->account->link || now_ms >= job->stuck_until_ms) {
    stop(job, refused ? "auth" : "offline");
    return false;
  }
  *wait_ms = job->stuck_until_ms - now_ms;
  return true;
}

enum next { NEXT_END, NEXT_WAIT, NEXT_STEP };

/* What the first job of a conversation is to do; *wait_ms: 0 waits for something else than time. */
static enum next next_of(struct rg_conversation *c, struct rg_job *job, uint64_t *wait_ms)
{
  uint64_t now = ob_now_ms();
  *wait_ms = 0;
  if (now < c->blocked_until_ms) stop(job, c->blocked_why);
  if (job->at_media) return NEXT_WAIT;
  if (job->awaits_echo && (job->stopped || now >= job->echo_until_ms)) echo_missed(c, job);
  if (job->awaits_echo) {
    *wait_ms = job->echo_until_ms - now;
    return NEXT_WAIT;
  }
  if (job->stopped) return NEXT_END;
  bool ready = rg_account_ready(c->account);
  if (!job->judged) {
    if (!ready && link_wait(c, job, now, wait_ms)) return NEXT_WAIT;
    judge_late(c, job);
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
  /* who commands is not kept waiting by what the bot said */
  if (!job->own && job->plan.steps[job->step].kind != OB_STEP_REACTION) {
    *wait_ms = rg_rate_wait(&c->rate, job->group->rate.per_minute, now);
  }
  return *wait_ms > 0 ? NEXT_WAIT : NEXT_STEP;
}

static void timer_fired(struct ob_timer *t)
{
  advance((struct rg_conversation *)((char *)t - offsetof(struct rg_conversation, timer)));
}

static void advance(struct rg_conversation *c)
{
  /* when the gate closes, what is on the wire is still written down; rg_delivery_end does the rest */
  while (c->head && !c->calling && !gate_of(c)->closing) {
    uint64_t wait_ms;
    switch (next_of(c, c->head, &wait_ms)) {
    case NEXT_END: finish(c->head); break;
    case NEXT_STEP: step_begin(c, c->head); break;
    case NEXT_WAIT:
      if (wait_ms > 0) ob_timer_set(gate_of(c)->service, &c->timer, wait_ms, timer_fired);
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
  if (!c->head) active_add(c);
  *c->tail = job;
  c->tail = &job->next;
  if (gate->closing) {
    call_off(job, "closed");
    return;
  }
  if (job->judged) judged(gate, job);
  if (c->head == job) advance(c);
}

void rg_delivery_cancel(struct rg_gate *gate, uint64_t ticket)
{
  struct rg_job *job = job_find(gate, ticket);
  if (!job || job->cancelled) return;
  struct rg_conversation *c = job->conversation;
  call_off(job, "cancelled");
  advance(c);
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
    if (c->account == account) advance(c);
  }
}

static void call_off_all(struct rg_conversation *c, struct span message_id, const char *why)
{
  for (struct rg_job *job = c->head, *next; job; job = next) {
    next = job->next;
    if (message_id.len > 0 && !span_eq(message_id, job->message_id)) continue;
    if (!job->cancelled) call_off(job, why);
  }
  advance(c);
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
  block(c, "muted", seconds > 0 ? seconds * 1000 : RG_MUTED_MS);
  advance(c);
}

void rg_delivery_notice_event(struct rg_gate *gate, struct rg_account *account,
                              const struct ob_event *event)
{
  bool group = event->group_id.len > 0;
  pthread_mutex_lock(&gate->mu);
  struct rg_conversation *c = rg_conversation_find(&gate->conversations, account, group,
                                                   group ? event->group_id : event->user_id);
  pthread_mutex_unlock(&gate->mu);
  if (!c) return;
  if (span_is(event->detail, "group_recall") || span_is(event->detail, "friend_recall")) {
    if (event->message_id.len > 0) call_off_all(c, event->message_id, "recalled");
  } else if (span_is(event->detail, "group_decrease") && removes_self(event)) {
    call_off_all(c, SPAN(""), "removed");
  } else if (span_is(event->detail, "group_ban")) {
    muted(c, event);
  }
}

void rg_delivery_end(struct rg_gate *gate)
{
  gate->closing = true;
  while (gate->active) {
    struct rg_job *job = gate->active->head;
    if (job->awaits_echo) echo_missed(gate->active, job);
    stop(job, "closed");
    job->cancelled = true;
    finish(job);
  }
}
