/* ollama: its own chat interface. */
#include "plugin/provider/stream.h"

static void write_said(const struct rg_said *said, size_t pictures, struct schema_writer *w)
{
  static const char *const roles[] = {
    [RG_SAID_USER] = "user", [RG_SAID_MODEL] = "assistant", [RG_SAID_TOOL] = "tool"
  };
  schema_write_object(w);
  schema_write_pair(w, "role", span_of(roles[said->by]));
  schema_write_pair(w, "content", said->text);
  if (said->by == RG_SAID_TOOL) schema_write_pair(w, "tool_name", said->tool);
  if (pictures > 0) {
    schema_write_key(w, SPAN("images"));
    schema_write_array(w);
    for (size_t i = 0; i < pictures; i++) schema_write_string(w, said->pictures[i].base64);
    schema_write_array_end(w);
  }
  if (said->call_count > 0) {
    schema_write_key(w, SPAN("tool_calls"));
    schema_write_array(w);
    for (size_t i = 0; i < said->call_count; i++) {
      schema_write_object(w);
      schema_write_key(w, SPAN("function"));
      schema_write_object(w);
      schema_write_pair(w, "name", said->calls[i].name);
      schema_write_key(w, SPAN("arguments"));
      schema_write_raw(w, said->calls[i].arguments);
      schema_write_object_end(w);
      schema_write_object_end(w);
    }
    schema_write_array_end(w);
  }
  schema_write_object_end(w);
}

static void write(const struct rg_ask *ask, struct span system, bool native,
                  struct schema_writer *w)
{
  rg_dialect_write_messages(ask, system, write_said, w);
  if (ask->tool_count > 0 && !ask->tools_off)
    rg_dialect_write_tools(ask, w); /* it knows no other way */
  schema_write_key(w, SPAN("stream"));
  schema_write_bool(w, ask->config->stream);
  schema_write_key(w, SPAN("options"));
  schema_write_object(w);
  rg_dialect_write_count(w, "num_predict", ask->config->max_tokens);
  schema_write_object_end(w);
  rg_dialect_write_schema(ask, native, w);
}

static void read_calls(const struct schema_node *body, struct arena *arena,
                       struct rg_provider_answer *ret)
{
  const struct schema_node *calls = schema_tree_get(schema_tree_get(body, "message"), "tool_calls");
  if (!calls || calls->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = calls->first; n; n = n->next) {
    const struct schema_node *function = schema_tree_get(n, "function");
    struct rg_tool_call *call = rg_dialect_call(ret);
    if (!call) return;
    call->id = arena_printf(arena, "call_%zu", ret->call_count);
    call->name = schema_tree_string(schema_tree_get(function, "name"));
    call->arguments = rg_dialect_arguments(schema_tree_get(function, "arguments"));
  }
}

/* ---- streams: JSON lines; the last one has what the whole answer has, but for its words ---- */

static void add(struct rg_joined *j, const struct schema_node *event)
{
  const struct schema_node *message = schema_tree_get(event, "message");
  buf_add(&j->text, schema_tree_string(schema_tree_get(message, "content")));
  for (const struct schema_node *n = rg_dialect_first(message, "tool_calls"); n; n = n->next)
    rg_joined_part(j, n->raw);
  if (!schema_tree_truth(schema_tree_get(event, "done"), false)) return;
  j->ended = true;
  rg_joined_set(&j->stop, schema_tree_string(schema_tree_get(event, "done_reason")));
  j->tokens_in = rg_dialect_count(event, "prompt_eval_count");
  j->tokens_out = rg_dialect_count(event, "eval_count");
}

static void write_joined(const struct rg_joined *j, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("message"));
  schema_write_object(w);
  schema_write_key(w, SPAN("tool_calls"));
  schema_write_array(w);
  if (j->parts.len > 0) schema_write_raw(w, buf_span(&j->parts));
  schema_write_array_end(w);
  schema_write_pair(w, "content", buf_span(&j->text));
  schema_write_object_end(w);
  schema_write_pair(w, "done_reason", buf_span(&j->stop));
  rg_dialect_write_count(w, "prompt_eval_count", j->tokens_in);
  rg_dialect_write_count(w, "eval_count", j->tokens_out);
  schema_write_object_end(w);
}

static uint64_t tokens(const struct schema_node *body)
{
  return rg_dialect_count(body, "prompt_eval_count") + rg_dialect_count(body, "eval_count");
}

const struct rg_dialect rg_dialect_ollama = {
  .path = "/api/chat",
  .key = "Authorization: Bearer ",
  .write = write,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};
