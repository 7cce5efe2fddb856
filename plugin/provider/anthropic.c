/* anthropic: the messages of Claude. */
#include "plugin/provider/stream.h"

static void write_text(struct span text, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("text"));
  schema_write_pair(w, "text", text);
  schema_write_object_end(w);
}

static void write_result(const struct rg_said *said, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("tool_result"));
  schema_write_pair(w, "tool_use_id", said->call_id);
  schema_write_pair(w, "content", said->text);
  schema_write_object_end(w);
}

static void write_model(const struct rg_said *said, struct schema_writer *w)
{
  if (said->text.len > 0) write_text(said->text, w); /* an empty block is refused */
  for (size_t i = 0; i < said->call_count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "type", SPAN("tool_use"));
    schema_write_pair(w, "id", said->calls[i].id);
    schema_write_pair(w, "name", said->calls[i].name);
    schema_write_key(w, SPAN("input"));
    schema_write_raw(w, said->calls[i].arguments);
    schema_write_object_end(w);
  }
}

/* The results of one round stand in one message of the user. Returns how many were written. */
static size_t write_said(const struct rg_said *said, size_t left, struct schema_writer *w)
{
  size_t n = 1;
  schema_write_object(w);
  schema_write_pair(w, "role", said->by == RG_SAID_MODEL ? SPAN("assistant") : SPAN("user"));
  schema_write_key(w, SPAN("content"));
  schema_write_array(w);
  if (said->by == RG_SAID_TOOL) {
    for (n = 0; n < left && said[n].by == RG_SAID_TOOL; n++) write_result(&said[n], w);
  } else if (said->by == RG_SAID_MODEL) {
    write_model(said, w);
  } else {
    write_text(said->text, w);
  }
  schema_write_array_end(w);
  schema_write_object_end(w);
  return n;
}

static void write(const struct rg_ask *ask, struct span system, bool native,
                  struct schema_writer *w)
{
  rg_dialect_write_count(w, "max_tokens", ask->config->max_tokens);
  if (ask->config->stream) {
    schema_write_key(w, SPAN("stream"));
    schema_write_bool(w, true);
  }
  if (system.len > 0) schema_write_pair(w, "system", system);
  schema_write_key(w, SPAN("messages"));
  schema_write_array(w);
  for (size_t i = 0; i < ask->said_count;) i += write_said(&ask->said[i], ask->said_count - i, w);
  schema_write_array_end(w);
  if (ask->tool_count > 0) {
    schema_write_key(w, SPAN("tools"));
    schema_write_array(w);
    for (size_t i = 0; i < ask->tool_count; i++) {
      schema_write_object(w);
      schema_write_pair(w, "name", span_of(ask->tools[i].name));
      schema_write_pair(w, "description", span_of(ask->tools[i].description));
      schema_write_key(w, SPAN("input_schema"));
      schema_write_raw(w, ask->tools[i].parameters);
      schema_write_object_end(w);
    }
    schema_write_array_end(w);
  }
  if (ask->tool_count > 0 && ask->tools_off) {
    schema_write_key(w, SPAN("tool_choice"));
    schema_write_raw(w, SPAN("{\"type\":\"none\"}"));
  }
  rg_dialect_write_schema(ask, native, w);
}

static void read_calls(const struct schema_node *body, struct arena *arena,
                       struct rg_provider_answer *ret)
{
  const struct schema_node *content = schema_tree_get(body, "content");
  (void)arena;
  if (!content || content->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = content->first; n; n = n->next) {
    if (!span_is(schema_tree_string(schema_tree_get(n, "type")), "tool_use")) continue;
    struct rg_tool_call *call = rg_dialect_call(ret);
    if (!call) return;
    call->id = schema_tree_string(schema_tree_get(n, "id"));
    call->name = schema_tree_string(schema_tree_get(n, "name"));
    call->arguments = rg_dialect_arguments(schema_tree_get(n, "input"));
  }
}

/* ---- streams ---- */

/* The status that an error inside a stream stands for. */
static int64_t status_of(struct span type)
{
  static const struct {
    const char *type;
    int64_t status;
  } rows[] = {
    { "overloaded_error", 529 },      { "rate_limit_error", 429 },     { "api_error", 500 },
    { "invalid_request_error", 400 }, { "authentication_error", 401 }, { "permission_error", 403 },
    { "not_found_error", 404 },       { "request_too_large", 413 }
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (span_is(type, rows[i].type)) return rows[i].status;
  return 0;
}

/* The pieces of one block, from its start to the start of the next. */
static size_t join_block(const struct rg_stream *stream, size_t at, struct schema_writer *w)
{
  const struct schema_node *block = schema_tree_get(stream->events[at], "content_block");
  struct span type = schema_tree_string(schema_tree_get(block, "type"));
  struct buf text, json;
  buf_init(&text, RG_PROVIDER_BODY_MAX);
  buf_init(&json, RG_PROVIDER_BODY_MAX);
  buf_add(&text, schema_tree_string(schema_tree_get(block, "text")));
  for (at++; at < stream->count; at++) {
    const struct schema_node *delta = schema_tree_get(stream->events[at], "delta");
    struct span event = schema_tree_string(schema_tree_get(stream->events[at], "type"));
    if (span_is(event, "content_block_start")) break;
    if (!span_is(event, "content_block_delta")) continue;
    buf_add(&text, schema_tree_string(schema_tree_get(delta, "text")));
    buf_add(&json, schema_tree_string(schema_tree_get(delta, "partial_json")));
  }
  schema_write_object(w);
  schema_write_pair(w, "type", type);
  schema_write_pair(w, "text", buf_span(&text));
  if (span_is(type, "tool_use")) {
    schema_write_pair(w, "id", schema_tree_string(schema_tree_get(block, "id")));
    schema_write_pair(w, "name", schema_tree_string(schema_tree_get(block, "name")));
    schema_write_pair(w, "input", buf_span(&json)); /* as text: it may be broken */
  }
  schema_write_object_end(w);
  buf_done(&text);
  buf_done(&json);
  return at;
}

static bool join(const struct rg_stream *stream, struct arena *arena, struct schema_writer *w)
{
  struct span stop = { NULL, 0 };
  uint64_t in = 0, out = 0;
  bool whole = false;
  (void)arena;
  for (size_t i = 0; i < stream->count; i++) {
    const struct schema_node *event = stream->events[i], *error = schema_tree_get(event, "error");
    const struct schema_node *start = schema_tree_get(schema_tree_get(event, "message"), "usage");
    const struct schema_node *usage = schema_tree_get(event, "usage");
    struct span reason =
        schema_tree_string(schema_tree_get(schema_tree_get(event, "delta"), "stop_reason"));
    if (error) {
      rg_dialect_write_error(w, status_of(schema_tree_string(schema_tree_get(error, "type"))));
      return true;
    }
    if (reason.len > 0) stop = reason;
    if (start) in = rg_dialect_count(start, "input_tokens");
    if (usage) out = rg_dialect_count(usage, "output_tokens");
    whole |=
        stop.len > 0 || span_is(schema_tree_string(schema_tree_get(event, "type")), "message_stop");
  }
  schema_write_object(w);
  schema_write_key(w, SPAN("content"));
  schema_write_array(w);
  for (size_t i = 0; i < stream->count;) {
    struct span type = schema_tree_string(schema_tree_get(stream->events[i], "type"));
    i = span_is(type, "content_block_start") ? join_block(stream, i, w) : i + 1;
  }
  schema_write_array_end(w);
  schema_write_pair(w, "stop_reason", stop);
  schema_write_key(w, SPAN("usage"));
  schema_write_object(w);
  rg_dialect_write_count(w, "input_tokens", in);
  rg_dialect_write_count(w, "output_tokens", out);
  schema_write_object_end(w);
  schema_write_object_end(w);
  return whole;
}

static uint64_t tokens(const struct schema_node *body)
{
  const struct schema_node *usage = schema_tree_get(body, "usage");
  return rg_dialect_count(usage, "input_tokens") + rg_dialect_count(usage, "output_tokens");
}

const struct rg_dialect rg_dialect_anthropic = {
  .path = "/messages",
  .version = "/v1",
  .key = "x-api-key: ",
  .header = "anthropic-version: 2023-06-01",
  .write = write,
  .read_calls = read_calls,
  .tokens = tokens,
  .join = join,
};
