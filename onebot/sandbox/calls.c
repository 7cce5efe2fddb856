/* calls: see calls.h. */
#include "onebot/sandbox/calls.h"

#include <stdlib.h>

#include "onebot/sandbox/act.h"
#include "onebot/sandbox/reverse.h"
#include "onebot/sandbox/view.h"

/* ---- answers ---- */

static void send_answer(struct ob_bot *bot, struct span text)
{
  if (!ob_bot_live(bot)) return;
  ob_view_frame(bot->sandbox, bot, "answer", text);
  ob_bot_send(bot, text);
}

static void unlink_late(struct ob_sandbox *b, struct ob_late *late)
{
  struct ob_late **at = &b->late;
  while (*at != late) at = &(*at)->next;
  *at = late->next;
  b->late_count--;
  ob_timer_clear(b->service, &late->timer);
  free((void *)late->text.ptr);
  free(late);
}

static void late_is_due(struct ob_timer *t)
{
  struct ob_late *late = (struct ob_late *)(void *)((char *)t - offsetof(struct ob_late, timer));
  send_answer(late->bot, late->text);
  unlink_late(late->bot->sandbox, late);
}

/* Keeps text (taken from it) until its time; at once where too many wait already. */
static void answer_later(struct ob_bot *bot, struct buf *text, unsigned ms)
{
  struct ob_sandbox *b = bot->sandbox;
  struct ob_late *late = b->late_count < OB_LATE_MAX ? calloc(1, sizeof *late) : NULL;
  if (!late) {
    send_answer(bot, buf_span(text));
    return;
  }
  late->bot = bot;
  late->text.ptr = buf_take(text, &late->text.len);
  late->next = b->late;
  b->late = late;
  b->late_count++;
  ob_timer_set(b->service, &late->timer, ms, late_is_due);
}

void ob_calls_forget(struct ob_sandbox *b, const struct ob_bot *bot)
{
  for (struct ob_late *late = b->late, *next; late; late = next) {
    next = late->next;
    if (!bot || late->bot == bot) unlink_late(b, late);
  }
}

static void answer(struct ob_bot *bot, const struct ob_result *r, struct span echo,
                   const struct ob_fault *fault)
{
  struct buf text;
  buf_init(&text, OB_SANDBOX_FRAME_MAX);
  if (fault->kind == OB_FAULT_GARBLED)
    buf_add(&text, SPAN("{\"status\":\"ok\",\"retcode\":"));
  else
    ob_wire_answer(bot->sandbox, &text, r,
                   fault->kind == OB_FAULT_NO_ECHO ? (struct span) { NULL, 0 } : echo);
  if (fault->kind == OB_FAULT_LATE) {
    answer_later(bot, &text, fault->ms);
  } else {
    send_answer(bot, buf_span(&text));
    if (fault->kind == OB_FAULT_TWICE) send_answer(bot, buf_span(&text));
  }
  buf_done(&text);
}

/* ---- faults ---- */

/* The row of facts.tsv with which a fault refuses, or NULL. */
static const char *refusal_of(enum ob_fault_kind kind)
{
  static const struct {
    enum ob_fault_kind kind;
    const char *row;
  } rows[] = {
    { OB_FAULT_MUTED, "muted" }, { OB_FAULT_UPLOAD, "upload" },   { OB_FAULT_OFFLINE, "offline" },
    { OB_FAULT_RISK, "risk" },   { OB_FAULT_TIMEOUT, "timeout" }, { OB_FAULT_LOG_OUT, "offline" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == kind) return rows[i].row;
  return NULL;
}

/* Whether the action does its work although a fault applies. */
static bool acts(const struct ob_fault *fault)
{
  switch (fault->kind) {
  case OB_FAULT_SILENT:
  case OB_FAULT_TIMEOUT:
  case OB_FAULT_RESTART: return fault->delivered;
  case OB_FAULT_MUTED:
  case OB_FAULT_UPLOAD:
  case OB_FAULT_OFFLINE:
  case OB_FAULT_RISK:
  case OB_FAULT_REFUSE:
  case OB_FAULT_RESULT:
  case OB_FAULT_CLOSE_BEFORE:
  case OB_FAULT_LOG_OUT: return false;
  case OB_FAULT_NONE:
  case OB_FAULT_LATE:
  case OB_FAULT_CLOSE_AFTER:
  case OB_FAULT_DROP:
  case OB_FAULT_NO_ECHO:
  case OB_FAULT_TWICE:
  case OB_FAULT_GARBLED:
  case OB_FAULT_ANSWER_CLOSE:
  case OB_FAULT_KIND_COUNT: break;
  }
  return true;
}

/* Puts the fault's answer in the place of the action's. */
static void replace_result(struct ob_act *a, const struct ob_fault *fault)
{
  struct ob_result *r = a->result;
  const char *row = refusal_of(fault->kind);
  if (!row && fault->kind != OB_FAULT_REFUSE && fault->kind != OB_FAULT_RESULT) return;
  buf_clear(&r->data);
  buf_clear(&r->text);
  r->empty = r->refused = false;
  r->retcode = 0;
  if (row) {
    ob_act_refuse(a, row, SPAN(""));
  } else if (fault->kind == OB_FAULT_REFUSE) {
    r->refused = true;
    r->retcode = fault->retcode;
    buf_add(&r->text, span_of(fault->text));
  } else {
    buf_printf(&r->data, "{\"result\":%d,\"errMsg\":\"\"}", (int)fault->retcode);
  }
}

/* Closes as the fault says. True: there is no answer. */
static bool end_of_connection(struct ob_bot *bot, const struct ob_fault *fault)
{
  enum ob_fault_kind kind = fault->kind;
  if (kind == OB_FAULT_DROP)
    ob_bot_end(bot, true, 0);
  else if (kind == OB_FAULT_RESTART)
    ob_sandbox_restart(bot->sandbox, fault->ms);
  else if (kind == OB_FAULT_CLOSE_AFTER || kind == OB_FAULT_CLOSE_BEFORE)
    ob_bot_end(bot, false, 1001);
  else
    return false;
  return true;
}

/* ---- calls ---- */

/* Cuts _async and _rate_limited as the implementation does. later: its answer is only "async". */
static struct span base_name(const struct ob_sandbox *b, struct span action, bool *later)
{
  static const struct {
    struct span suffix;
    const char *row;
  } suffixes[] = { { { "_async", 6 }, "async" }, { { "_rate_limited", 13 }, "rate_limited" } };
  *later = false;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    struct span how = ob_played_fact(b->played, suffixes[i].row);
    if (!span_ends(action, suffixes[i].suffix) || span_is(how, "unknown")) continue;
    *later = span_is(how, "async");
    action.len -= suffixes[i].suffix.len;
  }
  return action;
}

/* The message that a call left in a chat, for a fault that tells of it by an event. */
static const struct ob_said *said_since(const struct ob_sandbox *b, int64_t seq)
{
  for (size_t i = 0; i < OB_WORLD_CHATS; i++) {
    const struct ob_chat *c = &b->world.chats[i];
    if (c->count && ob_chat_at(c, c->count - 1)->seq > seq) return ob_chat_at(c, c->count - 1);
  }
  return NULL;
}

static void call(struct ob_bot *bot, const struct schema_node *tree, struct arena *arena)
{
  struct ob_sandbox *b = bot->sandbox;
  const struct schema_node *echo = schema_tree_get(tree, "echo");
  struct span echo_raw = echo ? echo->raw : (struct span) { NULL, 0 };
  struct span name = schema_tree_string(schema_tree_get(tree, "action"));
  bool later;
  struct span action = base_name(b, name, &later);
  struct ob_fault fault = ob_fault_take(&b->faults, action);
  struct ob_result result;
  ob_result_init(&result);
  struct ob_act act = { b, schema_tree_get(tree, "params"), arena, &result };
  int64_t seq = b->world.seq;
  if (fault.kind != OB_FAULT_NONE) ob_view_state(b, NULL);
  if (acts(&fault) && !ob_act_run(&act, action)) ob_act_refuse(&act, "unknown_action", name);
  replace_result(&act, &fault);
  if (later && !result.refused) {
    buf_clear(&result.data);
    result.retcode = 1;
  }
  const struct ob_said *said = fault.push && acts(&fault) ? said_since(b, seq) : NULL;
  if (said && !b->switches.report_self) ob_view_said(b, said, true);
  bool silent = result.silent || fault.kind == OB_FAULT_SILENT;
  if (!end_of_connection(bot, &fault) && !silent) answer(bot, &result, echo_raw, &fault);
  if (fault.kind == OB_FAULT_ANSWER_CLOSE) ob_bot_end(bot, false, 1001);
  if (fault.kind == OB_FAULT_LOG_OUT) ob_sandbox_log_out(b, fault.ms);
  ob_result_done(&result);
}

static void bad_json(struct ob_bot *bot)
{
  struct ob_sandbox *b = bot->sandbox;
  if (ob_played_fact_is(b->played, "bad_json", "none")) return;
  struct ob_failure f = ob_played_failure(b->played, "bad_json");
  struct ob_result r;
  ob_result_init(&r);
  r.refused = true;
  r.retcode = f.retcode;
  ob_failure_print(&f, SPAN(""), &r.text);
  struct span echo = ob_played_fact(b->played, "bad_json_echo");
  struct ob_fault none = { .kind = OB_FAULT_NONE };
  answer(bot, &r, span_is(echo, "null") ? echo : (struct span) { NULL, 0 }, &none);
  ob_result_done(&r);
}

void ob_calls_frame(struct ob_bot *bot, struct span frame)
{
  struct arena arena;
  struct schema_node *tree = NULL;
  struct schema_error error;
  ob_view_frame(bot->sandbox, bot, "call", frame);
  arena_init(&arena, OB_SANDBOX_ARENA_MAX);
  if (schema_tree_read(frame, SCHEMA_DEPTH_EVENT, &arena, &tree, &error) == SCHEMA_OK &&
      tree->kind == SCHEMA_OBJECT)
    call(bot, tree, &arena);
  else
    bad_json(bot);
  arena_done(&arena);
}
