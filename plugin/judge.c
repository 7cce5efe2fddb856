/* judge: see judge.h. */
#include "plugin/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/delivery/promise.h"

enum {
  /* the tree of the largest frame, and the frames that it becomes */
  ACTION_ARENA_MAX = 4 * OB_FRAME_MAX,
  EDIT_MAX = 2 * OB_FRAME_MAX,
};

static uint64_t number_of(struct span id)
{
  int64_t n = 0;
  return ob_id_read(id, &n) && n > 0 ? (uint64_t)n : 0;
}

/* The group that an action concerns; 0: none, a private chat, or it cannot be told. */
static uint64_t group_of(const struct ob_action *a)
{
  if (a->target.group_id.len > 0) return number_of(a->target.group_id);
  if (a->kind != OB_ACTION_UPLOAD && a->kind != OB_ACTION_NOTICE) return 0;
  return number_of(schema_tree_id(schema_tree_get(a->params, "group_id")));
}

/* What the account's peer is, and the message being answered: what the action says, else the only
 * mention of late. */
static struct rg_peer look_at_account(struct rg_gate *gate, struct rg_account *account,
                                      struct arena *arena, struct rg_judged *j)
{
  struct rg_mention mention;
  const struct ob_action *a = &j->action;
  bool found = false;
  j->message_id = a->answers;
  j->quoted = a->kind == OB_ACTION_MESSAGE && a->answers.len > 0;
  pthread_mutex_lock(&gate->mu);
  const struct rg_peer peer = account->peer;
  if (a->answers.len == 0 && a->target.group_id.len > 0 && account->mentions.count > 0)
    found =
        rg_mentions_only(&account->mentions, a->target.group_id,
                         (uint64_t)gate->config->relay.answer_window * 1000, ob_now_ms(), &mention);
  pthread_mutex_unlock(&gate->mu);
  if (!found) return peer;
  j->message_id = arena_copy(arena, span_of(mention.message_id));
  j->sender_id = arena_copy(arena, span_of(mention.user_id));
  return peer;
}

static struct span folder(struct span path)
{
  return path.len > 1 ? path : (struct span) { NULL, 0 };
}

static void drop(struct rg_judged *j, enum schema_code code, const char *why)
{
  j->judgement.verdict = OB_DROP;
  schema_fail(&j->judgement.error, code, 0, NULL, why);
  j->judgement.why = span_of(why);
}

/* Judges a readable action that carries something. */
static void judge(struct rg_gate *gate, struct rg_account *account, struct arena *arena,
                  struct rg_judged *j)
{
  if (!rg_settings_view(gate->settings, span_of(account->name), group_of(&j->action), &j->view)) {
    drop(j, SCHEMA_ENOMEM, "out of memory");
    return;
  }
  const struct rg_group *group = j->view.group;
  /* what goes round every check names no group that could be switched off */
  if (!group->enabled && j->action.kind != OB_ACTION_DENIED) {
    j->unjudged = group->off_means == RG_OFF_PASS;
    if (!j->unjudged)
      drop(j, SCHEMA_EARGUMENT,
           j->view.group_id ? "Replygate is off in this group (enabled: false, off_means: mute)"
                            : "Replygate is off in private chats (groups.default has enabled: "
                              "false, off_means: mute)");
    return;
  }
  const struct rg_peer peer = look_at_account(gate, account, arena, j);
  j->plan_settings = rg_plan_settings(&j->view, gate->home);
  if (peer.cards_as_text) j->plan_settings.card = OB_CARD_TEXT;
  const struct schema_directive_options directives = rg_directive_options(group, j->message_id);
  const struct ob_action_settings settings = {
    .plan = j->plan_settings,
    .unwrap = group->unwrap,
    .segments = group->segments,
    .directives = group->directives.enabled ? &directives : NULL,
    .hide = { .home = folder(gate->home), .project = folder(j->view.config->folder) },
    .answering = j->message_id,
  };
  ob_action_judge(&peer.profile, &settings, &j->action, arena, &j->judgement);
  if (group->mode != RG_MODE_OBSERVE) return;
  j->observed = j->judgement.verdict;
  j->unjudged = true;
  j->judgement.verdict = OB_PASS;
  j->judgement.plan.count = 0;
}

void rg_judge_action(struct rg_gate *gate, struct rg_account *account,
                     const struct ob_action *action, struct arena *arena, struct rg_judged *ret)
{
  *ret = (struct rg_judged) { .action = *action, .judgement = { .verdict = OB_PASS } };
  if (action->kind != OB_ACTION_OTHER) judge(gate, account, arena, ret);
}

void rg_judged_log(struct rg_gate *gate, const struct rg_judged *j, const char *kind,
                   const char *name)
{
  enum { NAME_MAX = 48 };
  if (j->judgement.verdict != OB_DROP && j->observed == OB_PASS) return;
  const struct schema_error *e = &j->judgement.error;
  bool held = j->judgement.verdict == OB_DROP;
  struct span action = { j->action.name.ptr ? j->action.name.ptr : "", j->action.name.len };
  if (action.len > NAME_MAX) action.len = NAME_MAX;
  char chat[32] = "";
  if (group_of(&j->action)) snprintf(chat, sizeof chat, " in group %" PRIu64, group_of(&j->action));
  if (held && j->judgement.silent)
    rg_log_line(&gate->log, RG_LOG_INFO, "%s %s: %.*s holds an empty reply: nothing is sent", kind,
                name, (int)action.len, action.ptr);
  else if (held || j->observed == OB_DROP)
    rg_log_line(&gate->log, RG_LOG_WARN, "%s %s: %.*s%s %s: %s%s%s: %s", kind, name,
                (int)action.len, action.ptr, chat,
                held ? "is held back" : "would be held back, but mode is observe",
                schema_code_word(e->code), *e->path ? " " : "", e->path,
                e->what ? e->what : schema_code_text(e->code));
  else if (j->observed == OB_REPLACE)
    rg_log_line(&gate->log, RG_LOG_INFO, "%s %s: %.*s would be changed, but mode is observe", kind,
                name, (int)action.len, action.ptr);
}

void rg_judged_done(struct rg_judged *j)
{
  rg_view_done(&j->view);
}

/* --- the host's own connection --- */

/* Reads and judges a frame; one that cannot be read is dropped. */
static void judge_frame(struct rg_gate *gate, struct rg_account *account, struct span frame,
                        struct arena *arena, struct rg_judged *ret)
{
  struct ob_action action;
  struct schema_error error = { .code = SCHEMA_OK };
  enum schema_code code = ob_action_read(frame, arena, &action, &error);
  if (code == SCHEMA_OK) {
    rg_judge_action(gate, account, &action, arena, ret);
    return;
  }
  *ret = (struct rg_judged) { .action.frame = frame };
  drop(ret, code, error.what ? error.what : schema_code_text(code));
  ret->judgement.error.at = error.at;
}

static void write_steps(struct schema_writer *w, const struct rg_judged *j)
{
  const struct ob_plan *plan = &j->judgement.plan;
  schema_write_array(w);
  for (size_t i = 0; i < plan->count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "action", plan->steps[i].action);
    schema_write_key(w, SPAN("params"));
    schema_write_raw(w, plan->steps[i].params);
    schema_write_key(w, SPAN("wait_ms"));
    schema_write_int(w, rg_plan_pause_ms(j->view.group, plan, i));
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static void write_refusal(struct schema_writer *w, const struct ob_action_judgement *j)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("retcode"));
  schema_write_int(w, RG_RETCODE_REFUSED);
  schema_write_pair(w, "code", span_of(schema_code_word(j->error.code)));
  schema_write_pair(w, "path", span_of(j->error.path));
  schema_write_pair(w, "why", j->why);
  schema_write_object_end(w);
}

static void promise_arrives(void *arg)
{
  rg_promise_keep(arg);
}

/* The host sends the keyboard, so that no delivery of ours remembers it. */
static void pass_keyboard_on(struct rg_gate *gate, struct rg_account *account,
                             const struct rg_judged *j)
{
  struct rg_promise *p = rg_promise_new(gate, account, j);
  if (p && !ob_service_post(gate->service, promise_arrives, p)) rg_promise_free(p);
}

int32_t rg_gate_outbound(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes action,
                         int32_t *verdict, struct rg_buf *edit)
{
  if (!gate || !verdict || !edit) return RG_EARGUMENT;
  if (action.len > OB_FRAME_MAX) return RG_ETOOBIG;
  struct rg_account *account = rg_gate_account(gate, (struct span) { endpoint.ptr, endpoint.len });
  if (!account) return RG_EARGUMENT;
  struct arena arena;
  struct buf out;
  struct schema_writer w = { .out = &out };
  struct rg_judged judged;
  int32_t rc = RG_OK;
  arena_init(&arena, ACTION_ARENA_MAX);
  buf_init(&out, EDIT_MAX);
  judge_frame(gate, account, (struct span) { action.ptr, action.len }, &arena, &judged);
  *edit = (struct rg_buf) { .ptr = NULL };
  if (judged.judgement.verdict == OB_REPLACE) {
    write_steps(&w, &judged);
    pass_keyboard_on(gate, account, &judged);
  }
  if (judged.judgement.verdict == OB_DROP) write_refusal(&w, &judged.judgement);
  rg_judged_log(gate, &judged, "the host at", account->name);
  *verdict = judged.judgement.verdict == OB_REPLACE ? RG_REPLACE
             : judged.judgement.verdict == OB_DROP  ? RG_DROP
                                                    : RG_PASS;
  if (out.failed) {
    rc = RG_ENOMEM;
    buf_done(&out);
  } else if (out.len > 0) {
    edit->ptr = buf_take(&out, &edit->len);
  } else {
    buf_done(&out);
  }
  rg_judged_done(&judged);
  arena_done(&arena);
  return rc;
}
