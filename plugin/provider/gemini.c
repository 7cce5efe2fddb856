/* gemini: generateContent of Google's API and of Vertex. */
#include "plugin/provider/stream.h"

static void write_text(struct span text, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "text", text);
  schema_write_object_end(w);
}

static void write_result(const struct rg_said *said, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("functionResponse"));
  schema_write_object(w);
  schema_write_pair(w, "name", said->tool);
  schema_write_key(w, SPAN("response"));
  schema_write_object(w);
  schema_write_pair(w, "result", said->text);
  schema_write_object_end(w);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* A call that another provider made has no part of its own. */
static void write_call(const struct rg_tool_call *call, struct schema_writer *w)
{
  if (call->raw.len > 0) {
    schema_write_raw(w, call->raw);
    return;
  }
  schema_write_object(w);
  schema_write_key(w, SPAN("functionCall"));
  schema_write_object(w);
  schema_write_pair(w, "name", call->name);
  schema_write_key(w, SPAN("args"));
  schema_write_raw(w, call->arguments);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

static void write_picture(const struct rg_picture *p, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("inlineData"));
  schema_write_object(w);
  schema_write_pair(w, "mimeType", p->mime);
  schema_write_pair(w, "data", p->base64);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* Returns how many were written: the results of one round stand together. */
static size_t write_said(const struct rg_said *said, size_t left, size_t pictures,
                         struct schema_writer *w)
{
  size_t n = 1;
  schema_write_object(w);
  schema_write_pair(w, "role", said->by == RG_SAID_MODEL ? SPAN("model") : SPAN("user"));
  schema_write_key(w, SPAN("parts"));
  schema_write_array(w);
  if (said->by == RG_SAID_TOOL) {
    for (n = 0; n < left && said[n].by == RG_SAID_TOOL; n++) write_result(&said[n], w);
  } else {
    for (size_t i = 0; i < pictures; i++) write_picture(&said->pictures[i], w);
    if (said->text.len > 0 || said->call_count == 0) write_text(said->text, w);
    for (size_t i = 0; i < said->call_count; i++) write_call(&said->calls[i], w);
  }
  schema_write_array_end(w);
  schema_write_object_end(w);
  return n;
}

static void write_tools(const struct rg_ask *ask, struct schema_writer *w)
{
  schema_write_key(w, SPAN("tools"));
  schema_write_array(w);
  schema_write_object(w);
  schema_write_key(w, SPAN("functionDeclarations"));
  schema_write_array(w);
  for (size_t i = 0; i < ask->tool_count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "name", span_of(ask->tools[i].name));
    schema_write_pair(w, "description", span_of(ask->tools[i].description));
    schema_write_key(w, SPAN("parametersJsonSchema"));
    schema_write_raw(w, ask->tools[i].parameters);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  schema_write_object_end(w);
  schema_write_array_end(w);
}

/* The schema and the cap share one member, so both are written here. */
static void write_generation(const struct rg_ask *ask, bool native, struct schema_writer *w)
{
  schema_write_key(w, SPAN("generationConfig"));
  schema_write_object(w);
  rg_dialect_write_count(w, "maxOutputTokens", ask->config->max_tokens);
  if (native) {
    schema_write_pair(w, "responseMimeType", SPAN("application/json"));
    schema_write_key(w, SPAN("responseJsonSchema"));
    schema_write_raw(w, ask->schema);
  }
  schema_write_object_end(w);
}

static void write(const struct rg_ask *ask, struct span system, bool native,
                  struct schema_writer *w)
{
  if (system.len > 0) {
    schema_write_key(w, SPAN("systemInstruction"));
    schema_write_object(w);
    schema_write_key(w, SPAN("parts"));
    schema_write_array(w);
    write_text(system, w);
    schema_write_array_end(w);
    schema_write_object_end(w);
  }
  schema_write_key(w, SPAN("contents"));
  schema_write_array(w);
  for (size_t i = 0; i < ask->said_count;)
    i += write_said(&ask->said[i], ask->said_count - i, rg_dialect_pictures(ask, &ask->said[i]), w);
  schema_write_array_end(w);
  if (ask->tool_count > 0) write_tools(ask, w);
  if (ask->tool_count > 0 && ask->tools_off) {
    schema_write_key(w, SPAN("toolConfig"));
    schema_write_raw(w, SPAN("{\"functionCallingConfig\":{\"mode\":\"NONE\"}}"));
  }
  write_generation(ask, native, w);
  rg_dialect_write_schema(ask, false, w);
}

static void read_calls(const struct schema_node *body, struct arena *arena,
                       struct rg_provider_answer *ret)
{
  const struct schema_node *candidates = schema_tree_get(body, "candidates");
  const struct schema_node *candidate =
      candidates && candidates->kind == SCHEMA_ARRAY ? candidates->first : NULL;
  const struct schema_node *parts = schema_tree_get(schema_tree_get(candidate, "content"), "parts");
  if (!parts || parts->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = parts->first; n; n = n->next) {
    const struct schema_node *function = schema_tree_get(n, "functionCall");
    if (!function) continue;
    struct rg_tool_call *call = rg_dialect_call(ret);
    if (!call) return;
    call->id = arena_printf(arena, "call_%zu", ret->call_count);
    call->name = schema_tree_string(schema_tree_get(function, "name"));
    call->arguments = rg_dialect_arguments(schema_tree_get(function, "args"));
    call->raw = n->raw;
  }
}

/* ---- streams ---- */

static void add(struct rg_joined *j, const struct schema_node *event)
{
  const struct schema_node *candidate = rg_dialect_first(event, "candidates");
  const struct schema_node *n = rg_dialect_first(schema_tree_get(candidate, "content"), "parts");
  const struct schema_node *usage = schema_tree_get(event, "usageMetadata");
  const struct schema_node *feedback = schema_tree_get(event, "promptFeedback");
  for (; n; n = n->next) rg_joined_part(j, n->raw);
  rg_joined_set(&j->stop, schema_tree_string(schema_tree_get(candidate, "finishReason")));
  if (usage) rg_joined_set(&j->usage, usage->raw);
  if (feedback) rg_joined_set(&j->feedback, feedback->raw);
  if (j->stop.len > 0 || j->feedback.len > 0) j->ended = true;
}

/* All parts of all events, in their order. */
static void write_joined(const struct rg_joined *j, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("candidates"));
  schema_write_array(w);
  schema_write_object(w);
  schema_write_key(w, SPAN("content"));
  schema_write_object(w);
  schema_write_key(w, SPAN("parts"));
  schema_write_array(w);
  if (j->parts.len > 0) schema_write_raw(w, buf_span(&j->parts));
  schema_write_array_end(w);
  schema_write_object_end(w);
  schema_write_pair(w, "finishReason", buf_span(&j->stop));
  schema_write_object_end(w);
  schema_write_array_end(w);
  if (j->usage.len > 0) {
    schema_write_key(w, SPAN("usageMetadata"));
    schema_write_raw(w, buf_span(&j->usage));
  }
  if (j->feedback.len > 0) {
    schema_write_key(w, SPAN("promptFeedback"));
    schema_write_raw(w, buf_span(&j->feedback));
  }
  schema_write_object_end(w);
}

static uint64_t tokens(const struct schema_node *body)
{
  return rg_dialect_count(schema_tree_get(body, "usageMetadata"), "totalTokenCount");
}

const struct rg_dialect rg_dialect_gemini = {
  .path = "/models/%s:generateContent",
  .stream_path = "/models/%s:streamGenerateContent?alt=sse",
  .version = "/v1beta",
  .key = "x-goog-api-key: ",
  .write = write,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};

const struct rg_dialect rg_dialect_vertex = {
  .path = "/models/%s:generateContent",
  .stream_path = "/models/%s:streamGenerateContent?alt=sse",
  .key = "Authorization: Bearer ",
  .write = write,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};
