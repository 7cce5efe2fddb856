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

static void write_picture(const struct rg_picture *p, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("image"));
  schema_write_key(w, SPAN("source"));
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("base64"));
  schema_write_pair(w, "media_type", p->mime);
  schema_write_pair(w, "data", p->base64);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* The results of one round stand in one message of the user. Returns how many were written. */
static size_t write_said(const struct rg_said *said, size_t left, size_t pictures,
                         struct schema_writer *w)
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
    for (size_t i = 0; i < pictures; i++) write_picture(&said->pictures[i], w);
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
  for (size_t i = 0; i < ask->said_count;)
    i += write_said(&ask->said[i], ask->said_count - i, rg_dialect_pictures(ask, &ask->said[i]), w);
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
static int64_t error_status(const struct schema_node *error)
{
  struct span type = schema_tree_string(schema_tree_get(error, "type"));
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

static void begin_block(struct rg_joined *j, const struct schema_node *block)
{
  struct span type = schema_tree_string(schema_tree_get(block, "type"));
  j->in_text = span_is(type, "text");
  j->in_call = span_is(type, "tool_use") && j->call_count < RG_CALLS_MAX;
  if (j->in_text) buf_add(&j->text, schema_tree_string(schema_tree_get(block, "text")));
  if (!j->in_call) return;
  rg_joined_set(&j->calls[j->call_count].id, schema_tree_string(schema_tree_get(block, "id")));
  rg_joined_set(&j->calls[j->call_count].name, schema_tree_string(schema_tree_get(block, "name")));
  j->call_count++;
}

/* Blocks come one after the other, so that a piece belongs to the one that began last. */
static void add(struct rg_joined *j, const struct schema_node *event)
{
  struct span type = schema_tree_string(schema_tree_get(event, "type"));
  const struct schema_node *delta = schema_tree_get(event, "delta");
  const struct schema_node *start = schema_tree_get(schema_tree_get(event, "message"), "usage");
  const struct schema_node *usage = schema_tree_get(event, "usage");
  if (start) j->tokens_in = rg_dialect_count(start, "input_tokens");
  if (usage) j->tokens_out = rg_dialect_count(usage, "output_tokens");
  if (span_is(type, "content_block_start")) {
    begin_block(j, schema_tree_get(event, "content_block"));
  } else if (span_is(type, "content_block_delta") && j->in_text) {
    buf_add(&j->text, schema_tree_string(schema_tree_get(delta, "text")));
  } else if (span_is(type, "content_block_delta") && j->in_call) {
    buf_add(&j->calls[j->call_count - 1].arguments,
            schema_tree_string(schema_tree_get(delta, "partial_json")));
  }
  rg_joined_set(&j->stop, schema_tree_string(schema_tree_get(delta, "stop_reason")));
  if (j->stop.len > 0 || span_is(type, "message_stop")) j->ended = true;
}

static void write_joined(const struct rg_joined *j, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("content"));
  schema_write_array(w);
  if (j->text.len > 0) write_text(buf_span(&j->text), w);
  for (size_t i = 0; i < j->call_count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "type", SPAN("tool_use"));
    schema_write_pair(w, "id", buf_span(&j->calls[i].id));
    schema_write_pair(w, "name", buf_span(&j->calls[i].name));
    schema_write_pair(w, "input", buf_span(&j->calls[i].arguments)); /* as text: maybe broken */
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  schema_write_pair(w, "stop_reason", buf_span(&j->stop));
  schema_write_key(w, SPAN("usage"));
  schema_write_object(w);
  rg_dialect_write_count(w, "input_tokens", j->tokens_in);
  rg_dialect_write_count(w, "output_tokens", j->tokens_out);
  schema_write_object_end(w);
  schema_write_object_end(w);
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
  .add = add,
  .write_joined = write_joined,
  .error_status = error_status,
};
