/* openai: chat completions, as OpenAI, Azure, Mistral and everything compatible speak them. */
#include "plugin/provider/stream.h"

static void write_call(const struct rg_tool_call *call, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "id", call->id);
  schema_write_pair(w, "type", SPAN("function"));
  schema_write_key(w, SPAN("function"));
  schema_write_object(w);
  schema_write_pair(w, "name", call->name);
  schema_write_pair(w, "arguments", call->arguments);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* Pictures and the text as parts of one content. */
static void write_parts(const struct rg_said *said, size_t pictures, struct schema_writer *w)
{
  schema_write_key(w, SPAN("content"));
  schema_write_array(w);
  for (size_t i = 0; i < pictures; i++) {
    const struct rg_picture *p = &said->pictures[i];
    schema_write_object(w);
    schema_write_pair(w, "type", SPAN("image_url"));
    schema_write_key(w, SPAN("image_url"));
    schema_write_object(w);
    schema_write_key(w, SPAN("url"));
    buf_printf(w->out, "\"data:%.*s;base64,", (int)p->mime.len, p->mime.ptr);
    buf_add(w->out, p->base64); /* neither holds what JSON would escape */
    buf_add_char(w->out, '"');
    w->comma = true;
    schema_write_object_end(w);
    schema_write_object_end(w);
  }
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("text"));
  schema_write_pair(w, "text", said->text);
  schema_write_object_end(w);
  schema_write_array_end(w);
}

static void write_said(const struct rg_said *said, size_t pictures, struct schema_writer *w)
{
  static const char *const roles[] = {
    [RG_SAID_USER] = "user", [RG_SAID_MODEL] = "assistant", [RG_SAID_TOOL] = "tool"
  };
  schema_write_object(w);
  schema_write_pair(w, "role", span_of(roles[said->by]));
  if (said->by == RG_SAID_TOOL) schema_write_pair(w, "tool_call_id", said->call_id);
  if (pictures > 0)
    write_parts(said, pictures, w);
  else
    schema_write_pair(w, "content", said->text);
  if (said->call_count > 0) {
    schema_write_key(w, SPAN("tool_calls"));
    schema_write_array(w);
    for (size_t i = 0; i < said->call_count; i++) write_call(&said->calls[i], w);
    schema_write_array_end(w);
  }
  schema_write_object_end(w);
}

/* own: the vendor's own endpoint, which knows every member. */
static void write_all(const struct rg_ask *ask, struct span system, bool native, const char *cap,
                      bool own, struct schema_writer *w)
{
  rg_dialect_write_messages(ask, system, write_said, w);
  if (ask->tool_count > 0) rg_dialect_write_tools(ask, w);
  if (ask->tool_count > 0 && ask->tools_off) schema_write_pair(w, "tool_choice", SPAN("none"));
  rg_dialect_write_count(w, cap, ask->config->max_tokens);
  if (ask->config->stream) {
    schema_write_key(w, SPAN("stream"));
    schema_write_bool(w, true);
    if (own) { /* else a stream does not say what it cost */
      schema_write_key(w, SPAN("stream_options"));
      schema_write_raw(w, SPAN("{\"include_usage\":true}"));
    }
  }
  rg_dialect_write_schema(ask, native, w);
}

/* The vendor's newer models refuse the older word, everyone else may not know the newer one. */
static void write_openai(const struct rg_ask *ask, struct span system, bool native,
                         struct schema_writer *w)
{
  bool own = span_is(ask->config->dialect, "openai") && ask->config->base_url.len == 0;
  write_all(ask, system, native, own ? "max_completion_tokens" : "max_tokens", own, w);
}

static void write_azure(const struct rg_ask *ask, struct span system, bool native,
                        struct schema_writer *w)
{
  write_all(ask, system, native, "max_completion_tokens", true, w);
}

static void read_calls(const struct schema_node *body, struct arena *arena,
                       struct rg_provider_answer *ret)
{
  const struct schema_node *choices = schema_tree_get(body, "choices");
  const struct schema_node *choice =
      choices && choices->kind == SCHEMA_ARRAY ? choices->first : NULL;
  const struct schema_node *calls =
      schema_tree_get(schema_tree_get(choice, "message"), "tool_calls");
  (void)arena;
  if (!calls || calls->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = calls->first; n; n = n->next) {
    const struct schema_node *function = schema_tree_get(n, "function");
    struct rg_tool_call *call = rg_dialect_call(ret);
    if (!call) return;
    call->id = schema_tree_string(schema_tree_get(n, "id"));
    call->name = schema_tree_string(schema_tree_get(function, "name"));
    call->arguments = rg_dialect_arguments(schema_tree_get(function, "arguments"));
  }
}

/* ---- streams ---- */

/* Where the call of an index stands. Some servers number all calls 0: another id is another call. */
static size_t call_place(struct rg_joined *j, size_t index, struct span id)
{
  size_t at = j->places[index];
  bool begins = at == 0;
  if (!begins && id.len > 0)
    begins = j->calls[at - 1].id.len > 0 && !span_eq(buf_span(&j->calls[at - 1].id), id);
  if (!begins) return at - 1;
  if (j->call_count == RG_CALLS_MAX) return RG_CALLS_MAX;
  j->places[index] = ++j->call_count;
  return j->call_count - 1;
}

static void add_call(struct rg_joined *j, const struct schema_node *piece)
{
  const struct schema_node *function = schema_tree_get(piece, "function");
  uint64_t index = rg_dialect_count(piece, "index");
  struct span id = schema_tree_string(schema_tree_get(piece, "id"));
  if (index >= RG_CALLS_MAX) return;
  size_t at = call_place(j, (size_t)index, id);
  if (at == RG_CALLS_MAX) return;
  rg_joined_set(&j->calls[at].id, id);
  rg_joined_set(&j->calls[at].name, schema_tree_string(schema_tree_get(function, "name")));
  buf_add(&j->calls[at].arguments, schema_tree_string(schema_tree_get(function, "arguments")));
}

/* Mistral sends content as parts too. */
static void add_content(struct rg_joined *j, const struct schema_node *delta)
{
  buf_add(&j->text, schema_tree_string(schema_tree_get(delta, "content")));
  for (const struct schema_node *n = rg_dialect_first(delta, "content"); n; n = n->next)
    if (span_is(schema_tree_string(schema_tree_get(n, "type")), "text"))
      buf_add(&j->text, schema_tree_string(schema_tree_get(n, "text")));
}

static void add(struct rg_joined *j, const struct schema_node *event)
{
  const struct schema_node *choice = rg_dialect_first(event, "choices");
  const struct schema_node *delta = schema_tree_get(choice, "delta");
  const struct schema_node *usage = schema_tree_get(event, "usage");
  rg_joined_set(&j->stop, schema_tree_string(schema_tree_get(choice, "finish_reason")));
  if (j->stop.len > 0) j->ended = true;
  if (usage && usage->kind == SCHEMA_OBJECT) rg_joined_set(&j->usage, usage->raw);
  add_content(j, delta);
  buf_add(&j->refusal, schema_tree_string(schema_tree_get(delta, "refusal")));
  for (const struct schema_node *n = rg_dialect_first(delta, "tool_calls"); n; n = n->next)
    add_call(j, n);
}

static void write_joined(const struct rg_joined *j, struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("choices"));
  schema_write_array(w);
  schema_write_object(w);
  schema_write_pair(w, "finish_reason", buf_span(&j->stop));
  schema_write_key(w, SPAN("message"));
  schema_write_object(w);
  schema_write_pair(w, "content", buf_span(&j->text));
  schema_write_pair(w, "refusal", buf_span(&j->refusal));
  schema_write_key(w, SPAN("tool_calls"));
  schema_write_array(w);
  for (size_t i = 0; i < j->call_count; i++) {
    const struct rg_tool_call call = { .id = buf_span(&j->calls[i].id),
                                       .name = buf_span(&j->calls[i].name),
                                       .arguments = buf_span(&j->calls[i].arguments) };
    write_call(&call, w);
  }
  schema_write_array_end(w);
  schema_write_object_end(w);
  schema_write_object_end(w);
  schema_write_array_end(w);
  if (j->usage.len > 0) {
    schema_write_key(w, SPAN("usage"));
    schema_write_raw(w, buf_span(&j->usage));
  }
  schema_write_object_end(w);
}

static uint64_t tokens(const struct schema_node *body)
{
  return rg_dialect_count(schema_tree_get(body, "usage"), "total_tokens");
}

const struct rg_dialect rg_dialect_openai = {
  .path = "/chat/completions",
  .key = "Authorization: Bearer ",
  .write = write_openai,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};

const struct rg_dialect rg_dialect_azure = {
  .path = "/chat/completions",
  .key = "api-key: ",
  .write = write_azure,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};

const struct rg_dialect rg_dialect_mistral = {
  .path = "/chat/completions",
  .version = "/v1",
  .key = "Authorization: Bearer ",
  .write = write_openai,
  .read_calls = read_calls,
  .tokens = tokens,
  .add = add,
  .write_joined = write_joined,
};
