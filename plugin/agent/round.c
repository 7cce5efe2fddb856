/* round: see round.h. */
#include "plugin/agent/round.h"

#include <stdlib.h>

#include "plugin/agent/lookup.h"
#include "plugin/agent/question.h"
#include "plugin/agent/tool.h"

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
    rg_run_fail(run, SCHEMA_ETOOBIG, "the talk with the model is too long", "");
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
    rg_run_fail(run, SCHEMA_ENOMEM, "out of memory", "");
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
    rg_run_fail(run, SCHEMA_ENOMEM, "out of memory", "");
    return;
  }
  rg_account_call_message(run->chat->account, SPAN("get_msg"), id, RG_AGENT_LOOKUP_MS, on_message,
                          looked);
}

/* --- HTTP tools --- */

static void http_done(struct rg_gate *gate, uint64_t number, struct span result)
{
  struct rg_run *run = gate->agent ? rg_run_find(gate->agent, number) : NULL;
  if (!run) return;
  run->http = 0;
  lookup_done(run, result.ptr ? result : SPAN("{\"error\":\"out of memory\"}"));
}

static void http_tool(struct rg_run *run, const struct rg_http_tool *tool)
{
  const char *error;
  run->http =
      rg_tool_call(run->agent->gate, run->view.config, tool, run->calls[run->call].arguments,
                   http_done, run->number, &run->arena, &error);
  if (run->http == 0) lookup_done(run, span_of(error));
}

/* --- the same call again --- */

/* Arguments without the white space that a model writes now and then. False: they are no JSON. */
static bool compact(struct span arguments, struct buf *out)
{
  struct arena arena;
  struct schema_node *tree;
  struct schema_writer w = { .out = out };
  arena_init(&arena, RG_PROVIDER_BODY_MAX);
  bool read = schema_tree_read(arguments, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK;
  if (read) schema_write_tree(&w, tree);
  arena_done(&arena);
  return read && !out->failed;
}

static bool same_arguments(struct span a, struct span b)
{
  struct buf x, y;
  if (span_eq(a, b)) return true;
  buf_init(&x, RG_PROVIDER_BODY_MAX);
  buf_init(&y, RG_PROVIDER_BODY_MAX);
  bool same = compact(a, &x) && compact(b, &y) && span_eq(buf_span(&x), buf_span(&y));
  buf_done(&x);
  buf_done(&y);
  return same;
}

/* What the same call has brought in this turn, or an empty span: nothing is done twice. */
static struct span earlier(const struct rg_run *run, const struct rg_tool_call *call)
{
  const struct rg_said *asked = NULL;
  size_t k = 0;
  for (size_t i = 0; i < run->said_count; i++) {
    const struct rg_said *s = &run->said[i];
    if (s->by == RG_SAID_MODEL) asked = s, k = 0;
    if (s->by != RG_SAID_TOOL || !asked || k == asked->call_count) continue;
    const struct rg_tool_call *done = &asked->calls[k++];
    if (span_eq(done->name, call->name) && same_arguments(done->arguments, call->arguments))
      return s->text;
  }
  return (struct span) { NULL, 0 };
}

/* Does the next call of the round, or asks the model with all results. At most RG_CALLS_MAX deep. */
static void run_lookup(struct rg_run *run)
{
  if (run->call == run->call_count) {
    rg_run_ask(run);
    return;
  }
  const struct rg_tool_call *call = &run->calls[run->call];
  const struct rg_http_tool *tool = rg_run_http_tool(run, call->name);
  struct span known = earlier(run, call);
  if (known.ptr) {
    lookup_done(run, known);
    return;
  }
  switch (rg_lookup_of(rg_run_tools(run), call->name)) {
  case RG_TOOL_FIND_MEMBER: find_member(run); return;
  case RG_TOOL_GET_MESSAGE: get_message(run); return;
  default: break;
  }
  if (tool)
    http_tool(run, tool);
  else
    lookup_done(run, SPAN("{\"error\":\"there is no such tool\"}"));
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
    rg_run_fail(run, SCHEMA_ETOOBIG, "the talk with the model is too long", "");
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
