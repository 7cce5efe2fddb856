/* passage: see passage.h. An action without a message passes as the framework wrote it, but for the
 * echo: ours goes down, theirs comes back. One with a message is judged and always printed anew. */
#include "plugin/relay/passage.h"

#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/delivery/promise.h"
#include "plugin/relay/relay.h"
#include "plugin/submit.h"

enum {
  LINK_FULL = 1024 * 1024,       /* unsent bytes towards the implementation; then nobody is read */
  ANSWER_MAX = 64 * 1024,        /* of our own answers; a reason names a segment */
  PARAMS_MAX = 2 * OB_FRAME_MAX, /* of an action that is printed anew */
  ECHO_MAX = 16 * 1024,          /* it is kept until the answer; frameworks use some bytes */
};

/* One action that waits for its answer. */
struct rg_passage {
  struct rg_passage *next, **link; /* among its front's; link NULL: the front is gone */
  struct rg_front *front;
  struct rg_gate *gate;
  struct rg_account *account;
  struct ob_timer deadline;   /* of one that delivery.c carries */
  struct rg_promise *promise; /* what its keyboard means; NULL: it has none */
  bool answered, group;
  char chat[RG_ID_MAX]; /* of a single message, whose id is noted; "": of anything else */
  size_t echo_len;      /* 0: the framework gave none */
  char echo[];
};

static struct span echo_or_null(struct span echo)
{
  return echo.len > 0 ? echo : SPAN("null");
}

static struct span echo_of(const struct rg_passage *p)
{
  return echo_or_null((struct span) { p->echo, p->echo_len });
}

static struct rg_passage *passage_new(struct rg_front *f, struct span echo)
{
  struct rg_passage *p = malloc(sizeof *p + echo.len);
  if (!p) return NULL;
  *p = (struct rg_passage) {
    .next = f->calls,
    .link = &f->calls,
    .front = f,
    .gate = f->account->gate,
    .account = f->account,
    .echo_len = echo.len,
  };
  if (echo.len > 0) memcpy(p->echo, echo.ptr, echo.len);
  if (f->calls) f->calls->link = &p->next;
  f->calls = p;
  if (++f->call_count >= RG_FRONT_CALLS_MAX) rg_front_pause(f);
  return p;
}

static void detach(struct rg_passage *p)
{
  struct rg_front *f = p->front;
  if (!f) return;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  p->front = NULL;
  if (--f->call_count == RG_FRONT_CALLS_MAX / 2 && (f->paused || f->overdue))
    rg_relay_look_later(f->relay);
}

static void passage_end(struct rg_passage *p)
{
  ob_timer_clear(p->gate->service, &p->deadline);
  rg_promise_free(p->promise);
  detach(p);
  free(p);
}

void rg_passage_orphan(struct rg_front *f)
{
  while (f->calls) detach(f->calls);
}

/* --- answers --- */

static void front_answer(struct rg_front *f, const struct buf *members, struct span echo)
{
  struct span parts[] = { buf_span(members), SPAN(",\"echo\":"), echo, SPAN("}") };
  if (members->failed) parts[0] = SPAN("{\"status\":\"failed\",\"retcode\":1200,\"data\":null");
  rg_front_send(f, parts, sizeof parts / sizeof *parts);
}

static void front_refuse(struct rg_front *f, struct span echo, int retcode, struct span why)
{
  struct buf out;
  struct schema_writer w = { .out = &out };
  buf_init(&out, ANSWER_MAX);
  schema_write_object(&w);
  schema_write_pair(&w, "status", SPAN("failed"));
  schema_write_key(&w, SPAN("retcode"));
  schema_write_int(&w, retcode);
  schema_write_key(&w, SPAN("data"));
  schema_write_null(&w);
  schema_write_pair(&w, "message", why);
  schema_write_pair(&w, "wording", why);
  front_answer(f, &out, echo);
  buf_done(&out);
}

static void refuse(struct rg_passage *p, int retcode, const char *why)
{
  if (p->front && !p->answered) front_refuse(p->front, echo_of(p), retcode, span_of(why));
  p->answered = true;
}

/* A host's answer, which may lack the echo. */
static void answer_without_echo(struct rg_passage *p, struct span json)
{
  json = span_trim(json);
  if (json.len < 2 || json.ptr[0] != '{' || json.ptr[json.len - 1] != '}') {
    refuse(p, RG_RETCODE_FAILED, "Replygate: the host gave an answer that is no JSON object");
    return;
  }
  json.len--;
  bool empty = span_trim((struct span) { json.ptr + 1, json.len - 1 }).len == 0;
  const struct span parts[] = { json, empty ? SPAN("\"echo\":") : SPAN(",\"echo\":"), echo_of(p),
                                SPAN("}") };
  rg_front_send(p->front, parts, sizeof parts / sizeof *parts);
}

/* What became of a framework's message, for the commands of its chat. Not from within the delivery,
 * whose conversations a sweep could take away. */
static void note(struct rg_account *account, bool group, struct span chat, struct span message_id,
                 const char *ending, const struct schema_error *error)
{
  struct rg_gate *gate = account->gate;
  if (chat.len == 0 || !ob_id_positive(chat, INT64_MAX)) return;
  uint64_t now = ob_now_ms();
  pthread_mutex_lock(&gate->mu);
  rg_conversations_sweep(&gate->conversations, now);
  struct rg_conversation *c = rg_conversation_get(&gate->conversations, account, group, chat);
  pthread_mutex_unlock(&gate->mu);
  if (c) rg_history_note(&c->history, message_id, ending, error, now);
}

/* An answer of success. id: of the message; empty: none is known. */
static void front_done(struct rg_front *f, struct span echo, struct span id)
{
  struct buf out;
  struct schema_writer w = { .out = &out };
  buf_init(&out, ANSWER_MAX);
  schema_write_object(&w);
  schema_write_pair(&w, "status", SPAN("ok"));
  schema_write_key(&w, SPAN("retcode"));
  schema_write_int(&w, 0);
  schema_write_key(&w, SPAN("data"));
  if (id.len > 0) {
    schema_write_object(&w);
    schema_write_key(&w, SPAN("message_id"));
    if (ob_id_read(id, NULL)) {
      schema_write_raw(&w, id);
    } else {
      schema_write_string(&w, id);
    }
    schema_write_object_end(&w);
  } else {
    schema_write_null(&w);
  }
  schema_write_pair(&w, "message", SPAN(""));
  schema_write_pair(&w, "wording", SPAN(""));
  front_answer(f, &out, echo);
  buf_done(&out);
}

/* The answer to a message that was delivered here: the id of its first part. */
static void answer_id(struct rg_passage *p, struct span id)
{
  if (p->front && !p->answered) front_done(p->front, echo_of(p), id);
  p->answered = true;
}

/* The implementation's own answer, with the framework's echo in the place of ours. */
static void answer_theirs(struct rg_passage *p, const struct ob_answer *answer)
{
  struct span json = answer->json, echo = answer->echo;
  if (!p->front) return;
  if (echo.len == 0) { /* of a host's connection, which need not give one */
    answer_without_echo(p, json);
    return;
  }
  size_t at = (size_t)(echo.ptr - json.ptr), end = at + echo.len;
  const struct span parts[] = { { json.ptr, at }, echo_of(p), { json.ptr + end, json.len - end } };
  rg_front_send(p->front, parts, sizeof parts / sizeof *parts);
}

/* A single message was answered: its chat remembers what was sent, for `last` and `recall`. */
static void note_sent(struct rg_passage *p, const struct ob_answer *answer)
{
  bool sent = span_eq(answer->retcode, SPAN("0"));
  if (sent) {
    rg_promise_keep(p->promise);
    p->promise = NULL;
  }
  note(p->account, p->group, span_of(p->chat), sent ? answer->message_id : SPAN(""),
       rg_ending_word(sent ? RG_ENDING_DELIVERED : RG_ENDING_FAILED), NULL);
}

static void answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_passage *p = ctx;
  switch (answer->kind) {
  case OB_ANSWER_PART: answer_theirs(p, answer); return;
  case OB_ANSWER_RESPONSE:
    note_sent(p, answer);
    answer_theirs(p, answer);
    break;
  case OB_ANSWER_TIMEOUT:
    refuse(p, RG_RETCODE_FAILED, "Replygate: no answer within 50 s; it may be done all the same");
    break;
  case OB_ANSWER_CLOSED:
    refuse(p, RG_RETCODE_FAILED,
           "Replygate: the connection to the implementation ended; it may be done all the same");
    break;
  case OB_ANSWER_NOT_WRITTEN:
    refuse(p, RG_RETCODE_FAILED, "Replygate: the implementation is not connected, or too busy");
    break;
  }
  passage_end(p);
}

/* --- actions as they are --- */

/* The connection to the implementation; NULL: there is none. What it is need not be known yet, but
 * for messages, which are judged for it. */
static struct ob_link *link_of(const struct rg_front *f)
{
  struct ob_link *link = f->account->link;
  if (!link) return NULL;
  enum ob_link_state state = ob_link_state(link);
  return state == OB_LINK_OPEN || state == OB_LINK_READY ? link : NULL;
}

/* The frame with an echo of ours in it. */
static void forward(struct rg_passage *p, struct ob_link *link, const struct ob_action *action)
{
  struct span frame = action->frame, echo = action->echo;
  struct span before[2] = { frame, { NULL, 0 } }, after = SPAN("}");
  if (echo.len > 0) {
    size_t at = (size_t)(echo.ptr - frame.ptr), end = at + echo.len;
    before[0].len = at;
    after = (struct span) { frame.ptr + end, frame.len - end };
  } else {
    before[0].len--;
    before[1] = SPAN(",\"echo\":");
  }
  ob_link_forward(link, before, after, p->gate->timing.passage, answered, p);
}

/* --- actions with a message --- */

static void deadline_passed(struct ob_timer *t)
{
  struct rg_passage *p =
      (struct rg_passage *)(void *)((char *)t - offsetof(struct rg_passage, deadline));
  refuse(p, RG_RETCODE_FAILED, "Replygate: not sent within 50 s; it still waits for its turn");
}

static void delivered(void *ctx, struct span message_id, const char *why)
{
  struct rg_passage *p = ctx;
  if (why) {
    char text[96];
    snprintf(text, sizeof text, "Replygate: the message was not sent: %s", why);
    refuse(p, RG_RETCODE_FAILED, text);
  } else {
    rg_promise_keep(p->promise);
    p->promise = NULL;
    answer_id(p, message_id);
  }
  passage_end(p);
}

/* Gives a message to the delivery: a reply's text, or a plan. */
static void deliver(struct rg_front *f, struct rg_passage *p, const struct rg_judged *j,
                    const struct ob_plan *plan)
{
  struct span id = j->message_id, sender = j->sender_id, name = span_of(f->account->name);
  const struct ob_target *to = &j->action.target;
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = id.len > 0 ? RG_KIND_ANSWER : RG_KIND_PROACTIVE,
    .endpoint = { name.ptr, name.len },
    .group_id = { to->group_id.ptr, to->group_id.len },
    .user_id = { to->user_id.ptr, to->user_id.len },
    .message_id = { id.ptr, id.len },
    .sender_id = { sender.ptr, sender.len },
  };
  const struct rg_foreign foreign = {
    .turn = &turn,
    .text = plan ? SPAN("") : j->judgement.reply_text,
    .plan = plan,
    .quoted = j->quoted,
    .watch = { .told = delivered, .ctx = p },
  };
  ob_timer_set(p->gate->service, &p->deadline, p->gate->timing.passage, deadline_passed);
  int32_t rc = rg_gate_deliver(p->gate, &foreign);
  if (rc == RG_OK) return; /* p may be gone */
  delivered(p, SPAN(""), rc == RG_EBUSY ? "too much is waiting" : "memory");
}

/* Whether messages wait for that chat: what comes later goes behind them. */
static bool has_queue(struct rg_front *f, const struct ob_target *to)
{
  struct rg_gate *gate = f->account->gate;
  bool group = to->group_id.len > 0;
  if (!gate->active || (!group && to->user_id.len == 0)) return false;
  pthread_mutex_lock(&gate->mu);
  const struct rg_conversation *c = rg_conversation_find(&gate->conversations, f->account, group,
                                                         group ? to->group_id : to->user_id);
  pthread_mutex_unlock(&gate->mu);
  return c && c->head;
}

static bool is_message(const struct ob_action *a)
{
  return a->kind == OB_ACTION_MESSAGE || a->kind == OB_ACTION_FORWARD || a->kind == OB_ACTION_QUICK;
}

/* Its answer is noted in the chat that a single message goes to. */
static void note_chat(struct rg_passage *p, const struct ob_action *action)
{
  struct span group = action->target.group_id, user = action->target.user_id;
  struct span id = group.len > 0 ? group : user;
  if (!is_message(action) || id.len >= sizeof p->chat) return;
  p->group = group.len > 0;
  if (id.len > 0) memcpy(p->chat, id.ptr, id.len);
}

/* One action in the place of the framework's. */
static void send_one(struct rg_front *f, struct rg_passage *p, const struct rg_judged *j,
                     struct span action, struct span params)
{
  if (is_message(&j->action) && has_queue(f, &j->action.target)) {
    const struct ob_step step = { .kind = OB_STEP_SEND, .action = action, .params = params };
    deliver(f, p, j, &(struct ob_plan) { &step, 1 });
    return;
  }
  note_chat(p, &j->action);
  ob_link_call(f->account->link, action, params, p->gate->timing.passage, answered, p);
}

/* What passes as it is, printed anew: peers differ in how they read doubled keys and the like. */
static void send_anew(struct rg_front *f, struct rg_passage *p, const struct rg_judged *j)
{
  struct buf params;
  struct schema_writer w = { .out = &params };
  buf_init(&params, PARAMS_MAX);
  if (j->action.params) schema_write_tree(&w, j->action.params);
  if (params.failed) {
    refuse(p, RG_RETCODE_FAILED, "Replygate: out of memory");
    passage_end(p);
  } else {
    send_one(f, p, j, j->action.name, buf_span(&params));
  }
  buf_done(&params);
}

/* Whether a step needs nothing of the delivery. A card with a text form does: it may be accepted and
 * not be shown. */
static bool is_single(const struct ob_step *step)
{
  return step->kind != OB_STEP_REACTION && !(step->card && step->card_text.len > 0);
}

static void replace(struct rg_front *f, struct rg_passage *p, const struct rg_judged *j)
{
  const struct ob_plan *plan = &j->judgement.plan;
  if (j->judgement.reply_text.len > 0) {
    if (j->message_id.len == 0 && j->action.target.group_id.len > 0)
      rg_log_line(&f->account->gate->log, RG_LOG_INFO,
                  "framework %s: a reply without a reaction: which message it answers is not known",
                  f->name);
    deliver(f, p, j, NULL);
  } else if (plan->count == 1 && is_single(&plan->steps[0])) {
    send_one(f, p, j, plan->steps[0].action, plan->steps[0].params);
  } else {
    deliver(f, p, j, plan);
  }
}

static void note_refusal(const struct rg_front *f, const struct rg_judged *j)
{
  const struct ob_target *to = &j->action.target;
  bool group = to->group_id.len > 0;
  note(f->account, group, group ? to->group_id : to->user_id, SPAN(""),
       rg_ending_word(RG_ENDING_BLOCKED), &j->judgement.error);
}

static void judge(struct rg_front *f, struct ob_link *link, const struct ob_action *action)
{
  struct rg_judged j;
  rg_judge_action(f->account->gate, f->account, action, &f->relay->arena, &j);
  const struct ob_plan *plan = &j.judgement.plan;
  rg_judged_log(f->account->gate, &j, "framework", f->name);
  if (j.judgement.verdict == OB_DROP && j.judgement.silent) {
    /* a framework looks for an id in what succeeded: 0 is what peers give for none */
    front_done(f, echo_or_null(action->echo), SPAN("0"));
    rg_judged_done(&j);
    return;
  }
  if (j.judgement.verdict == OB_DROP) {
    note_refusal(f, &j);
    front_refuse(f, echo_or_null(action->echo), RG_RETCODE_REFUSED, j.judgement.why);
    rg_judged_done(&j);
    return;
  }
  struct rg_passage *p = passage_new(f, action->echo);
  if (!p) {
    rg_front_drop(f, "out of memory");
  } else if (j.judgement.verdict == OB_REPLACE) {
    if (j.judgement.reply_text.len == 0)
      p->promise = rg_promise_new(f->account->gate, f->account, &j);
    replace(f, p, &j);
  } else if (j.unjudged && action->plain) {
    note_chat(p, action);
    forward(p, link, action);
  } else if (plan->count == 1) {
    send_one(f, p, &j, plan->steps[0].action, plan->steps[0].params);
  } else {
    send_anew(f, p, &j);
  }
  rg_judged_done(&j);
}

/* --- frames --- */

static void pass(struct rg_front *f, struct ob_link *link, const struct ob_action *action)
{
  struct rg_passage *p = passage_new(f, action->echo);
  if (!p) {
    rg_front_drop(f, "out of memory");
  } else if (action->plain) {
    forward(p, link, action);
  } else {
    send_anew(f, p, &(struct rg_judged) { .action = *action });
  }
}

/* What a frame that is no action holds. */
struct look {
  bool fine, has_action;
  struct span echo;      /* its raw bytes; empty: none */
  enum schema_code code; /* of a fault in the JSON; SCHEMA_OK: it is another value than an object */
  size_t at;
};

static struct look look_at(struct span frame, struct arena *arena)
{
  struct look l = { .fine = false };
  struct schema_json r;
  schema_json_init(&r, frame, arena, SCHEMA_DEPTH_EVENT);
  enum schema_token token = schema_json_next(&r);
  bool object = token == SCHEMA_JSON_OBJECT;
  while (object && (token = schema_json_next(&r)) == SCHEMA_JSON_KEY) {
    bool is_echo = span_eq(r.text, SPAN("echo"));
    l.has_action |= span_eq_nocase(r.text, SPAN("action"));
    token = schema_json_next(&r);
    size_t from = r.at;
    if (!schema_json_skip(&r, token)) break;
    if (is_echo) l.echo = (struct span) { frame.ptr + from, schema_json_offset(&r) - from };
  }
  l.fine = token == SCHEMA_JSON_OBJECT_END && schema_json_next(&r) == SCHEMA_JSON_END;
  l.code = r.error.code;
  l.at = r.error.at;
  return l;
}

/* The value that is alone in text; empty: it is none. */
static struct span value_in(struct span text, struct arena *arena)
{
  struct schema_json r;
  text = span_trim(text);
  schema_json_init(&r, text, arena, SCHEMA_DEPTH_EVENT);
  bool sound =
      schema_json_skip(&r, schema_json_next(&r)) && schema_json_next(&r) == SCHEMA_JSON_END;
  return sound ? text : SPAN("");
}

/* The echo of a frame that has a fault elsewhere, so that its sender need not wait for an answer until
 * its time is over. Empty: there is none, or more than one. */
static struct span faulty_echo(struct span frame, struct arena *arena)
{
  struct span key = SPAN(""), echo = SPAN("");
  size_t depth = 0, from = 0, count = 0;
  bool string = false, is_echo = false;
  for (size_t i = 0; i < frame.len; i++) {
    char c = frame.ptr[i];
    if (string) {
      if (c == '\\') i++;
      if (c != '"') continue;
      string = false;
      if (depth == 1) key = (struct span) { frame.ptr + from, i + 1 - from };
      continue;
    }
    if (depth == 1 && is_echo && (c == ',' || c == '}')) {
      echo = (struct span) { echo.ptr, (size_t)(frame.ptr + i - echo.ptr) };
      is_echo = false;
    }
    if (c == '"') string = true, from = i;
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && depth > 0) depth--;
    if (c == ':' && depth == 1 && span_eq(key, SPAN("\"echo\""))) {
      echo.ptr = frame.ptr + i + 1;
      is_echo = true;
      count++;
    }
  }
  return count == 1 && !is_echo ? value_in(echo, arena) : SPAN("");
}

/* Refuses a frame that is no action. code: why it could not be read as one. */
static void refuse_frame(struct rg_front *f, const struct look *l, enum schema_code code,
                         struct span echo)
{
  char text[160];
  const char *why = "Replygate: an action is an object with a string action";
  if (code == SCHEMA_ENOMEM) {
    why = "Replygate: the frame holds too many values";
  } else if (!l->fine && l->code == SCHEMA_OK) {
    why = "Replygate: an action is a JSON object";
  } else if (!l->fine) {
    snprintf(text, sizeof text, "Replygate: the frame is not strict JSON (RFC 8259): %s, byte %zu",
             schema_code_text(l->code), l->at);
    why = text;
  }
  front_refuse(f, echo_or_null(echo), RG_RETCODE_REFUSED, span_of(why));
}

/* A frame that is no action. One without an action and an echo asks nothing; the implementation may
 * know what it is. */
static void take_other(struct rg_front *f, struct ob_link *link, struct span frame,
                       enum schema_code code)
{
  arena_reset(&f->relay->arena); /* which may have come to its end */
  struct look l = look_at(frame, &f->relay->arena);
  if (l.fine && !l.has_action && l.echo.len == 0) {
    if (link) ob_link_send(link, frame);
    return;
  }
  rg_log_line(&f->account->gate->log, RG_LOG_WARN,
              "framework %s: a frame of %zu bytes is no action (byte %zu)", f->name, frame.len,
              l.at);
  struct span echo = l.echo;
  if (!l.fine) {
    arena_reset(&f->relay->arena);
    echo = faulty_echo(frame, &f->relay->arena);
  }
  refuse_frame(f, &l, l.code == SCHEMA_ENOMEM ? l.code : code, echo);
}

static void take(struct rg_front *f, struct span frame)
{
  struct ob_action action;
  struct ob_link *link = link_of(f);
  enum schema_code code = ob_action_read(frame, &f->relay->arena, &action, NULL);
  if (code != SCHEMA_OK) {
    take_other(f, link, frame, code);
  } else if (action.echo.len > ECHO_MAX) {
    front_refuse(f, action.echo, RG_RETCODE_REFUSED,
                 SPAN("Replygate: the echo is longer than 16 KiB"));
  } else if (f->role == RG_FRONT_EVENT) {
    front_refuse(f, echo_or_null(action.echo), RG_RETCODE_REFUSED,
                 SPAN("Replygate: this is the /event connection; actions go to /api or /"));
  } else if (!link) {
    front_refuse(f, echo_or_null(action.echo), RG_RETCODE_FAILED,
                 SPAN("Replygate: the implementation is not connected"));
  } else if (f->overdue && !rg_front_has_room(f)) {
    front_refuse(f, echo_or_null(action.echo), RG_RETCODE_FAILED,
                 SPAN("Replygate: too many actions wait for the implementation already"));
  } else if (action.kind == OB_ACTION_OTHER) {
    pass(f, link, &action);
  } else if (!f->account->peer.known) { /* only this thread writes it */
    front_refuse(f, echo_or_null(action.echo), RG_RETCODE_FAILED,
                 SPAN("Replygate: what implementation this is, is not known yet"));
  } else {
    judge(f, link, &action);
  }
}

void rg_passage_take(struct rg_front *f, struct span frame)
{
  enum { ARENA_KEEP = 256 * 1024 }; /* a large frame's memory is given back */
  struct arena *arena = &f->relay->arena;
  struct rg_relay *relay = f->relay;
  take(f, frame);
  if (arena->used > ARENA_KEEP)
    arena_done(arena);
  else
    arena_reset(arena);
  const struct ob_link *link = f->account->link;
  if (!f->dropped && link && ob_link_waiting(link) > LINK_FULL) {
    rg_front_pause(f);
    rg_relay_look_later(relay);
  }
}
