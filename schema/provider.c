#include "schema/provider.h"

#include "schema/white.h"

static const struct schema_provider providers[] = {
  { "openai", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_OWN_ENDPOINT, "https://api.openai.com/v1" },
  { "azure", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_YES, NULL },
  { "xai", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, "https://api.x.ai/v1" },
  { "cerebras", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, "https://api.cerebras.ai/v1" },
  { "litellm", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, "http://localhost:4000" },
  { "vllm", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, "http://localhost:8000/v1" },
  { "llamacpp", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, NULL },
  { "openrouter", SCHEMA_DIALECT_OPENAI, true, SCHEMA_TOOLS_NO, "https://openrouter.ai/api/v1" },
  { "deepseek", SCHEMA_DIALECT_OPENAI, false, SCHEMA_TOOLS_NO, "https://api.deepseek.com/v1" },
  { "qwen", SCHEMA_DIALECT_OPENAI, false, SCHEMA_TOOLS_NO,
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" },
  { "anthropic", SCHEMA_DIALECT_ANTHROPIC, true, SCHEMA_TOOLS_YES, "https://api.anthropic.com" },
  { "gemini", SCHEMA_DIALECT_GEMINI, true, SCHEMA_TOOLS_YES, NULL },
  { "gemini_vertex", SCHEMA_DIALECT_GEMINI, true, SCHEMA_TOOLS_YES, NULL },
  { "mistral", SCHEMA_DIALECT_MISTRAL, true, SCHEMA_TOOLS_NO, "https://api.mistral.ai" },
  { "ollama", SCHEMA_DIALECT_OLLAMA, true, SCHEMA_TOOLS_NO, "http://localhost:11434" },
  { "polargrid", SCHEMA_DIALECT_POLARGRID, true, SCHEMA_TOOLS_NO, NULL },
  { "mock", SCHEMA_DIALECT_MOCK, true, SCHEMA_TOOLS_NO, NULL },
};

const struct schema_provider *schema_provider_find(struct span name)
{
  for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
    if (span_is(name, providers[i].name)) return &providers[i];
  return NULL;
}

/* ---- before a request ---- */

static struct span without_slash(struct span url)
{
  while (url.len && url.ptr[url.len - 1] == '/') url.len--;
  return url;
}

bool schema_provider_may_state(const struct schema_provider *p)
{
  return p->dialect == SCHEMA_DIALECT_OPENAI || p->dialect == SCHEMA_DIALECT_MOCK;
}

bool schema_provider_takes(const struct schema_provider *p,
                           const struct schema_provider_config *config, bool tools)
{
  bool may_state = schema_provider_may_state(p);
  bool takes = p->takes_schema;
  if (may_state && config->schema != SCHEMA_UNSTATED) takes = config->schema == SCHEMA_STATED_YES;
  if (!takes || !tools) return takes;
  if (may_state && config->schema_with_tools != SCHEMA_UNSTATED)
    return config->schema_with_tools == SCHEMA_STATED_YES;
  if (p->takes_schema_with_tools != SCHEMA_TOOLS_OWN_ENDPOINT)
    return p->takes_schema_with_tools == SCHEMA_TOOLS_YES;
  return config->base_url.len == 0 ||
         span_eq(without_slash(config->base_url), without_slash(span_of(p->base_url)));
}

static void write_json_schema(struct schema_writer *w, const struct schema_node *schema)
{
  schema_write_key(w, SPAN("response_format"));
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("json_schema"));
  schema_write_key(w, SPAN("json_schema"));
  schema_write_object(w);
  schema_write_pair(w, "name", SPAN("response"));
  schema_write_key(w, SPAN("schema"));
  schema_write_raw(w, schema->raw);
  schema_write_key(w, SPAN("strict"));
  schema_write_bool(w, true);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* The routing wish of the operator, and that only who honours the schema may answer. */
static void write_routing(struct schema_writer *w, const struct schema_node *wish)
{
  schema_write_key(w, SPAN("provider"));
  schema_write_object(w);
  const struct schema_node *first = wish && wish->kind == SCHEMA_OBJECT ? wish->first : NULL;
  for (const struct schema_node *n = first; n; n = n->next) {
    if (span_is(n->key, "require_parameters")) continue;
    schema_write_key(w, n->key);
    schema_write_raw(w, n->raw);
  }
  schema_write_key(w, SPAN("require_parameters"));
  schema_write_bool(w, true);
  schema_write_object_end(w);
}

static void write_openai(struct schema_writer *w, const struct schema_provider *p,
                         const struct schema_provider_config *config,
                         const struct schema_node *schema)
{
  bool routes = strcmp(p->name, "openrouter") == 0;
  const struct schema_node *extra = config->extra_body;
  write_json_schema(w, schema);
  if (routes) write_routing(w, schema_tree_get(extra, "provider"));
  for (const struct schema_node *n = extra ? extra->first : NULL; n; n = n->next) {
    if (span_is(n->key, "response_format") || (routes && span_is(n->key, "provider"))) continue;
    schema_write_key(w, n->key);
    schema_write_raw(w, n->raw);
  }
}

static void write_anthropic(struct schema_writer *w, const struct schema_node *schema)
{
  schema_write_key(w, SPAN("output_config"));
  schema_write_object(w);
  schema_write_key(w, SPAN("format"));
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("json_schema"));
  schema_write_key(w, SPAN("schema"));
  schema_write_raw(w, schema->raw);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

static void write_gemini(struct schema_writer *w, const struct schema_node *schema)
{
  schema_write_key(w, SPAN("generationConfig"));
  schema_write_object(w);
  schema_write_pair(w, "responseMimeType", SPAN("application/json"));
  schema_write_key(w, SPAN("responseJsonSchema"));
  schema_write_raw(w, schema->raw);
  schema_write_object_end(w);
}

void schema_provider_write_request(struct schema_writer *w, const struct schema_provider *p,
                                   const struct schema_provider_config *config,
                                   const struct schema_node *schema)
{
  switch (p->dialect) {
  case SCHEMA_DIALECT_OPENAI: write_openai(w, p, config, schema); break;
  case SCHEMA_DIALECT_MISTRAL:
  case SCHEMA_DIALECT_POLARGRID: write_json_schema(w, schema); break;
  case SCHEMA_DIALECT_ANTHROPIC: write_anthropic(w, schema); break;
  case SCHEMA_DIALECT_GEMINI: write_gemini(w, schema); break;
  case SCHEMA_DIALECT_OLLAMA:
    schema_write_key(w, SPAN("format"));
    schema_write_raw(w, schema->raw);
    break;
  case SCHEMA_DIALECT_MOCK: break;
  }
}

/* ---- reading an answer ---- */

static struct span text_of(const struct schema_node *object, const char *name)
{
  return schema_tree_string(schema_tree_get(object, name));
}

static const struct schema_node *first_of(const struct schema_node *object, const char *name)
{
  const struct schema_node *list = schema_tree_get(object, name);
  return list && list->kind == SCHEMA_ARRAY ? list->first : NULL;
}

/* Appends the texts of the parts that are text. False: no memory. */
static bool join_parts(const struct schema_node *first, bool (*is_text)(const struct schema_node *),
                       struct arena *arena, struct span *ret)
{
  size_t len = 0, n = 0;
  for (const struct schema_node *p = first; p; p = p->next)
    if (is_text(p)) len += text_of(p, "text").len;
  char *out = arena_alloc(arena, len + 1);
  if (!out) return false;
  for (const struct schema_node *p = first; p; p = p->next) {
    struct span text = text_of(p, "text");
    if (!is_text(p) || text.len == 0) continue;
    memcpy(out + n, text.ptr, text.len);
    n += text.len;
  }
  *ret = (struct span) { out, n };
  return true;
}

static bool is_text_block(const struct schema_node *part)
{
  return span_is(text_of(part, "type"), "text");
}

static bool is_said_part(const struct schema_node *part)
{
  return !schema_tree_truth(schema_tree_get(part, "thought"), false);
}

/* Takes <think>…</think> out, an unclosed one to the end, and trims what is left if there was any
 * (rule 94). False: no memory. */
static bool without_thinking(struct span text, struct arena *arena, struct span *ret)
{
  const struct span open = SPAN("<think>"), close = SPAN("</think>");
  *ret = text;
  if (span_find(text, open) == text.len) return true;
  char *out = arena_alloc(arena, text.len + 1);
  if (!out) return false;
  size_t n = 0, at = 0;
  while (at < text.len) {
    struct span rest = { text.ptr + at, text.len - at };
    size_t begin = span_find(rest, open);
    memcpy(out + n, rest.ptr, begin);
    n += begin;
    at += begin;
    rest = (struct span) { text.ptr + at, text.len - at };
    size_t end = span_find(rest, close);
    at += end < rest.len ? end + close.len : rest.len;
  }
  *ret = schema_white_trim((struct span) { out, n });
  return true;
}

/* choices[0] of the OpenAI shape, which Mistral and PolarGrid share. */
static bool read_choice(const struct schema_provider *p, const struct schema_node *body,
                        struct arena *arena, struct schema_provider_answer *a)
{
  const struct schema_node *choice = first_of(body, "choices");
  const struct schema_node *message = schema_tree_get(choice, "message");
  bool mistral = p->dialect == SCHEMA_DIALECT_MISTRAL;
  a->stop = text_of(choice, "finish_reason");
  a->tool_round = first_of(message, "tool_calls") != NULL;
  if (!mistral && span_is(a->stop, "content_filter")) a->refusal = a->stop;
  if (p->dialect == SCHEMA_DIALECT_OPENAI && text_of(message, "refusal").len)
    a->refusal = text_of(message, "refusal");
  const struct schema_node *parts = first_of(message, "content");
  if (mistral && parts) return join_parts(parts, is_text_block, arena, &a->text);
  return without_thinking(text_of(message, "content"), arena, &a->text);
}

static bool read_anthropic(const struct schema_node *body, struct arena *arena,
                           struct schema_provider_answer *a)
{
  const struct schema_node *first = first_of(body, "content");
  a->stop = text_of(body, "stop_reason");
  if (span_is(a->stop, "refusal")) a->refusal = a->stop;
  for (const struct schema_node *n = first; n; n = n->next)
    a->tool_round |= span_is(text_of(n, "type"), "tool_use");
  return join_parts(first, is_text_block, arena, &a->text);
}

bool schema_provider_is_broken_call(struct span stop)
{
  return span_eq_nocase(stop, SPAN("MALFORMED_FUNCTION_CALL")) ||
         span_eq_nocase(stop, SPAN("UNEXPECTED_TOOL_CALL"));
}

static bool read_gemini(const struct schema_node *body, struct arena *arena,
                        struct schema_provider_answer *a)
{
  static const char *const refusals[] = { "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST",
                                          "SPII" };
  const struct schema_node *candidate = first_of(body, "candidates");
  const struct schema_node *first = first_of(schema_tree_get(candidate, "content"), "parts");
  a->stop = text_of(candidate, "finishReason");
  a->refusal = text_of(schema_tree_get(body, "promptFeedback"), "blockReason");
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (span_is(a->stop, refusals[i])) a->refusal = a->stop;
  a->tool_round = schema_provider_is_broken_call(a->stop);
  for (const struct schema_node *n = first; n; n = n->next)
    a->tool_round |= schema_tree_get(n, "functionCall") != NULL;
  return join_parts(first, is_said_part, arena, &a->text);
}

bool schema_provider_read(const struct schema_provider *p, const struct schema_node *body,
                          struct arena *arena, struct schema_provider_answer *ret)
{
  const struct schema_node *message = schema_tree_get(body, "message");
  *ret = (struct schema_provider_answer) { .tool_round = false };
  switch (p->dialect) {
  case SCHEMA_DIALECT_OPENAI:
  case SCHEMA_DIALECT_MISTRAL:
  case SCHEMA_DIALECT_POLARGRID: return read_choice(p, body, arena, ret);
  case SCHEMA_DIALECT_ANTHROPIC: return read_anthropic(body, arena, ret);
  case SCHEMA_DIALECT_GEMINI: return read_gemini(body, arena, ret);
  case SCHEMA_DIALECT_OLLAMA:
    ret->text = text_of(message, "content");
    ret->stop = text_of(body, "done_reason");
    ret->tool_round = first_of(message, "tool_calls") != NULL;
    return true;
  case SCHEMA_DIALECT_MOCK:
    ret->text = text_of(body, "content");
    ret->stop = text_of(body, "finish_reason");
    if (span_is(ret->stop, "refusal")) ret->refusal = ret->stop;
    ret->tool_round = first_of(body, "tool_calls") || schema_provider_is_broken_call(ret->stop);
    return true;
  }
  return true;
}

/* ---- failures ---- */

bool schema_provider_retries(const struct schema_provider *p, int64_t status)
{
  if (status == 529) return p->dialect == SCHEMA_DIALECT_ANTHROPIC;
  return status == 429 || status == 500 || status == 502 || status == 503;
}

bool schema_provider_retries_failure(const struct schema_provider *p,
                                     enum schema_provider_failure failure)
{
  bool by_words = p->dialect == SCHEMA_DIALECT_GEMINI || p->dialect == SCHEMA_DIALECT_MISTRAL;
  if (failure == SCHEMA_FAILURE_CONNECTION || p->dialect == SCHEMA_DIALECT_OLLAMA) return true;
  return failure == SCHEMA_FAILURE_LIMIT && by_words;
}
