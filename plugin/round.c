/* round: see round.h. */
#include "plugin/round.h"

#include <stdlib.h>

#include "plugin/lookup.h"
#include "plugin/question.h"

static void run_lookup(struct rg_run *run);

/* --- tools --- */

/* Answers the call whose turn it is. Lent. */
static void lookup_done(struct rg_run *run, struct span result)
{
  const struct rg_tool_call *call = &run->calls[run->call++];
  const struct rg_said said = { .by = RG_SAID_TOOL,
                                .text = arena_copy(&run->arena, result),
                                .call_id = call->id,
                                .tool = call->name };
  if (!said.text.ptr || !rg_run_said(run, &said)) {
    rg_run_fail(run, "the talk with the model is too long", "");
    return;
  }
  run_lookup(run);
}

static void members_found(struct rg_run *run)
{
  struct buf out;
  struct span all = { run->chat->members, run->chat->members_len };
  struct span name = rg_lookup_argument(run->calls[run->call].arguments, "name", &run->arena);
  buf_init(&out, RG_LOOKUP_RESULT_MAX);
  rg_lookup_members(all, name, &out);
  lookup_done(run, out.failed ? SPAN("{\"error\":\"too long\"}") : buf_span(&out));
  buf_done(&out);
}

/* Which run the endpoint's answer is of. */
struct looked {
  struct rg_agent *agent;
  uint64_t number;
};

static struct rg_run *looked_take(struct looked *looked)
{
  struct rg_run *run =
      looked->agent->gate->closing ? NULL : rg_run_find(looked->agent, looked->number);
  free(looked);
  return run;
}

static struct looked *looked_new(struct rg_run *run)
{
  struct looked *looked = malloc(sizeof *looked);
  if (looked) *looked = (struct looked) { run->agent, run->number };
  return looked;
}

static void on_members(void *ctx, const struct ob_answer *answer)
{
  struct rg_run *run = looked_take(ctx);
  if (!run) return;
  struct rg_chat *c = run->chat;
  char *copy = answer->kind == OB_ANSWER_RESPONSE ? malloc(answer->json.len + 1) : NULL;
  if (!copy) {
    lookup_done(run, SPAN("{\"error\":\"the member list cannot be had now\"}"));
    return;
  }
  memcpy(copy, answer->json.ptr, answer->json.len);
  free(c->members);
  c->members = copy;
  c->members_len = answer->json.len;
  c->members_until_ms = ob_now_ms() + RG_MEMBERS_MS;
  members_found(run);
}

static void on_message(void *ctx, const struct ob_answer *answer)
{
  struct rg_run *run = looked_take(ctx);
  struct buf out;
  if (!run) return;
  buf_init(&out, RG_LOOKUP_RESULT_MAX);
  if (answer->kind == OB_ANSWER_RESPONSE)
    rg_lookup_message(answer->json, &out);
  else
    buf_add(&out, SPAN("{\"error\":\"the message cannot be had now\"}"));
  lookup_done(run, out.failed ? SPAN("{\"error\":\"too long\"}") : buf_span(&out));
  buf_done(&out);
}

static void find_member(struct rg_run *run)
{
  struct rg_chat *c = run->chat;
  char params[64];
  if (c->members && ob_now_ms() < c->members_until_ms) {
    members_found(run);
    return;
  }
  struct looked *looked = looked_new(run);
  if (!looked) {
    rg_run_fail(run, "out of memory", "");
    return;
  }
  int n = snprintf(params, sizeof params, "{\"group_id\":%s}", c->id);
  rg_account_call(c->account, SPAN("get_group_member_list"), (struct span) { params, (size_t)n },
                  RG_AGENT_LOOKUP_MS, on_members, looked);
}

/* Only what this chat has shown: an id of another chat must not open it. */
static void get_message(struct rg_run *run)
{
  struct span id = rg_lookup_argument(run->calls[run->call].arguments, "message_id", &run->arena);
  if (!rg_talk_knows(&run->chat->talk, id)) {
    lookup_done(run, SPAN("{\"error\":\"no such message in this chat\"}"));
    return;
  }
  struct looked *looked = looked_new(run);
  if (!looked) {
    rg_run_fail(run, "out of memory", "");
    return;
  }
  rg_account_call_message(run->chat->account, SPAN("get_msg"), id, RG_AGENT_LOOKUP_MS, on_message,
                          looked);
}

/* Does the next call of the round, or asks the model with all results. At most RG_CALLS_MAX deep. */
static void run_lookup(struct rg_run *run)
{
  if (run->call == run->call_count) {
    rg_run_ask(run);
    return;
  }
  switch (rg_lookup_of(rg_run_tools(run), run->calls[run->call].name)) {
  case RG_TOOL_FIND_MEMBER: find_member(run); return;
  case RG_TOOL_GET_MESSAGE: get_message(run); return;
  default: lookup_done(run, SPAN("{\"error\":\"there is no such tool\"}")); return;
  }
}

/* A step of the tool loop. The words beside the calls are a message of their own. */
void rg_round_begin(struct rg_run *run, const struct rg_provider_answer *answer)
{
  size_t bytes = answer->call_count * sizeof *answer->calls;
  struct rg_tool_call *calls = arena_alloc(&run->arena, bytes);
  const struct rg_said said = {
    .by = RG_SAID_MODEL, .text = answer->said.text, .calls = calls, .call_count = answer->call_count
  };
  if (!calls || !rg_run_said(run, &said)) {
    rg_run_fail(run, "the talk with the model is too long", "");
    return;
  }
  memcpy(calls, answer->calls, bytes);
  memcpy(run->calls, answer->calls, bytes);
  run->call_count = answer->call_count;
  run->call = 0;
  run->rounds++;
  if (!span_is_blank(answer->said.text)) rg_run_narrate(run, answer->said.text);
  run_lookup(run);
}
