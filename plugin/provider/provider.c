/* provider: see provider.h. What all dialects share. */
#include "plugin/provider/provider.h"

#include <stdio.h>

#include "onebot/id.h"
#include "plugin/provider/dialect.h"

static const struct rg_dialect *dialect_of(const struct schema_provider *known)
{
  switch (known->dialect) {
  case SCHEMA_DIALECT_OPENAI:
    return strcmp(known->name, "azure") == 0 ? &rg_dialect_azure : &rg_dialect_openai;
  case SCHEMA_DIALECT_POLARGRID: return &rg_dialect_openai;
  case SCHEMA_DIALECT_MISTRAL: return &rg_dialect_mistral;
  case SCHEMA_DIALECT_ANTHROPIC: return &rg_dialect_anthropic;
  case SCHEMA_DIALECT_GEMINI:
    return strcmp(known->name, "gemini") == 0 ? &rg_dialect_gemini : &rg_dialect_vertex;
  case SCHEMA_DIALECT_OLLAMA: return &rg_dialect_ollama;
  case SCHEMA_DIALECT_MOCK: break;
  }
  return NULL;
}

const struct schema_provider *rg_provider_known(const struct rg_provider *config)
{
  return schema_provider_find(config->dialect);
}

const struct rg_dialect *rg_dialect_of(const struct rg_provider *config)
{
  const struct schema_provider *known = rg_provider_known(config);
  return known ? dialect_of(known) : NULL;
}

/* ---- the form of structured output ---- */

static struct schema_provider_config stated(const struct rg_provider *config)
{
  static const int words[] = {
    [RG_UNKNOWN] = SCHEMA_UNSTATED, [RG_YES] = SCHEMA_STATED_YES, [RG_NO] = SCHEMA_STATED_NO
  };
  struct schema_provider_config ret = { .base_url = config->base_url };
  ret.schema = words[config->takes_schema];
  ret.schema_with_tools = words[config->takes_schema_with_tools];
  return ret;
}

bool rg_provider_form(const struct rg_provider *config, bool tools, enum rg_form *ret)
{
  const struct schema_provider *known = rg_provider_known(config);
  const struct schema_provider_config c = stated(config);
  bool takes = known && schema_provider_takes(known, &c, tools);
  *ret = takes && config->structured_output != RG_FORM_PROMPT ? RG_FORM_NATIVE : RG_FORM_PROMPT;
  return known && (takes || config->structured_output != RG_FORM_NATIVE);
}

/* ---- writing ---- */

size_t rg_dialect_pictures(const struct rg_ask *ask, const struct rg_said *said)
{
  return ask->config->images ? said->picture_count : 0;
}

void rg_dialect_write_messages(const struct rg_ask *ask, struct span system,
                               void (*write_said)(const struct rg_said *said, size_t pictures,
                                                  struct schema_writer *w),
                               struct schema_writer *w)
{
  schema_write_key(w, SPAN("messages"));
  schema_write_array(w);
  if (system.len > 0) {
    schema_write_object(w);
    schema_write_pair(w, "role", SPAN("system"));
    schema_write_pair(w, "content", system);
    schema_write_object_end(w);
  }
  for (size_t i = 0; i < ask->said_count; i++)
    write_said(&ask->said[i], rg_dialect_pictures(ask, &ask->said[i]), w);
  schema_write_array_end(w);
}

void rg_dialect_write_tools(const struct rg_ask *ask, struct schema_writer *w)
{
  schema_write_key(w, SPAN("tools"));
  schema_write_array(w);
  for (size_t i = 0; i < ask->tool_count; i++) {
    const struct rg_tool *tool = &ask->tools[i];
    schema_write_object(w);
    schema_write_pair(w, "type", SPAN("function"));
    schema_write_key(w, SPAN("function"));
    schema_write_object(w);
    schema_write_pair(w, "name", span_of(tool->name));
    schema_write_pair(w, "description", span_of(tool->description));
    schema_write_key(w, SPAN("parameters"));
    schema_write_raw(w, tool->parameters);
    schema_write_object_end(w);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

void rg_dialect_write_schema(const struct rg_ask *ask, bool native, struct schema_writer *w)
{
  const struct schema_provider *known = rg_provider_known(ask->config);
  struct schema_provider_config c = stated(ask->config);
  struct schema_node *extra = NULL;
  struct arena arena;
  arena_init(&arena, RG_PROVIDER_REQUEST_MAX);
  if (ask->config->extra_body.len > 0)
    schema_tree_read(ask->config->extra_body, SCHEMA_DEPTH_REPLY, &arena, &extra, NULL);
  if (native) {
    c.extra_body = extra;
    const struct schema_node schema = { .kind = SCHEMA_OBJECT, .raw = ask->schema };
    schema_provider_write_request(w, known, &c, &schema);
  }
  bool written = native && known->dialect == SCHEMA_DIALECT_OPENAI;
  for (const struct schema_node *n = extra && !written ? extra->first : NULL; n; n = n->next) {
    schema_write_key(w, n->key);
    schema_write_raw(w, n->raw);
  }
  arena_done(&arena);
}

void rg_dialect_write_count(struct schema_writer *w, const char *key, uint64_t n)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, (int64_t)n);
}

/* The system prompt, with the schema where the request has no field for it. */
static struct span system_of(const struct rg_ask *ask, bool native, struct arena *arena)
{
  struct span system = span_trim(ask->system);
  if (native || ask->schema.len == 0) return system;
  return arena_printf(arena, "%.*s%sAnswer with one JSON object matching: %.*s", (int)system.len,
                      system.len ? system.ptr : "", system.len ? "\n" : "", (int)ask->schema.len,
                      ask->schema.ptr);
}

static struct span base_of(const struct rg_provider *config, const struct schema_provider *known)
{
  struct span base = config->base_url.len > 0 ? config->base_url : span_of(known->base_url);
  if (base.len == 0 && known->dialect == SCHEMA_DIALECT_GEMINI)
    base = SPAN("https://generativelanguage.googleapis.com");
  while (base.len > 0 && base.ptr[base.len - 1] == '/') base.len--;
  return base;
}

/* Azure before its v1 paths: the deployment in the path, the version behind it. A base that names
 * those paths already is taken without. */
static const char *azure_url(struct span base, const struct rg_provider *config,
                             struct arena *arena)
{
  static const char *const ends[] = { "/openai/v1", "/openai" };
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (span_ends(base, span_of(ends[i]))) base.len -= strlen(ends[i]);
  return arena_printf(arena, "%.*s/openai/deployments/%.*s/chat/completions?api-version=%.*s",
                      (int)base.len, base.len ? base.ptr : "", (int)config->model.len,
                      config->model.len ? config->model.ptr : "", (int)config->api_version.len,
                      config->api_version.ptr)
      .ptr;
}

static const char *url_of(const struct rg_ask *ask, const struct rg_dialect *d,
                          const struct schema_provider *known, struct arena *arena)
{
  struct span base = base_of(ask->config, known), model = ask->config->model;
  const char *version = d->version && !span_ends(base, span_of(d->version)) ? d->version : "";
  bool streams = ask->config->stream && d->stream_path;
  struct span path = span_of(streams ? d->stream_path : d->path), behind = { NULL, 0 };
  if (ask->config->api_version.len > 0 && d == &rg_dialect_azure)
    return azure_url(base, ask->config, arena);
  size_t hole = span_find(path, SPAN("%s"));
  if (hole < path.len) {
    behind = (struct span) { path.ptr + hole + 2, path.len - hole - 2 };
    path.len = hole;
  } else {
    model = behind;
  }
  return arena_printf(arena, "%.*s%s%.*s%.*s%.*s", (int)base.len, base.len ? base.ptr : "", version,
                      (int)path.len, path.ptr, (int)model.len, model.len ? model.ptr : "",
                      (int)behind.len, behind.len ? behind.ptr : "")
      .ptr;
}

static bool headers_make(const struct rg_ask *ask, const struct rg_dialect *d, struct arena *arena,
                         struct rg_provider_call *ret)
{
  size_t n = 0;
  ret->headers[n++] = "Content-Type: application/json";
  ret->headers[n++] = "Accept: application/json";
  if (d->header) ret->headers[n++] = d->header;
  if (ask->key.len > 0) {
    struct span line = arena_printf(arena, "%s%.*s", d->key, (int)ask->key.len, ask->key.ptr);
    if (!line.ptr) return false;
    ret->headers[n++] = line.ptr;
  }
  ret->headers[n] = NULL;
  return true;
}

bool rg_provider_write(const struct rg_ask *ask, struct arena *arena, struct rg_provider_call *ret)
{
  const struct schema_provider *known = rg_provider_known(ask->config);
  const struct rg_dialect *d = known ? dialect_of(known) : NULL;
  enum rg_form form;
  if (!d || !rg_provider_form(ask->config, ask->tool_count > 0, &form)) return false;
  bool native = form == RG_FORM_NATIVE && ask->schema.len > 0;
  struct span system = system_of(ask, native, arena);
  ret->url = url_of(ask, d, known, arena);
  if (!ret->url || (!system.ptr && ask->system.len > 0) || !headers_make(ask, d, arena, ret))
    return false;
  struct buf body;
  buf_init(&body, RG_PROVIDER_REQUEST_MAX);
  struct schema_writer w = { .out = &body };
  schema_write_object(&w);
  if (!strstr(d->path, "%s")) schema_write_pair(&w, "model", ask->config->model);
  d->write(ask, system, native, &w);
  schema_write_object_end(&w);
  ret->body = arena_copy(arena, buf_span(&body));
  bool made = !body.failed && ret->body.ptr;
  buf_done(&body);
  return made;
}

/* ---- reading ---- */

uint64_t rg_dialect_count(const struct schema_node *object, const char *name)
{
  const struct schema_node *n = schema_tree_get(object, name);
  int64_t count = 0;
  if (!n || n->kind != SCHEMA_NUMBER || !ob_id_read(n->text, &count) || count < 0) return 0;
  return (uint64_t)count;
}

const struct schema_node *rg_dialect_first(const struct schema_node *object, const char *name)
{
  const struct schema_node *list = schema_tree_get(object, name);
  return list && list->kind == SCHEMA_ARRAY ? list->first : NULL;
}

void rg_dialect_write_error(struct schema_writer *w, int64_t status, struct span detail)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("error"));
  schema_write_object(w);
  schema_write_key(w, SPAN("code"));
  schema_write_int(w, status);
  schema_write_key(w, SPAN("detail"));
  schema_write_raw(w, detail);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

struct rg_tool_call *rg_dialect_call(struct rg_provider_answer *a)
{
  if (a->call_count == RG_CALLS_MAX) return NULL;
  struct rg_tool_call *call = &a->calls[a->call_count++];
  *call = (struct rg_tool_call) { .id = { NULL, 0 } };
  return call;
}

struct span rg_dialect_arguments(const struct schema_node *arguments)
{
  if (arguments && arguments->kind == SCHEMA_OBJECT) return arguments->raw;
  struct span text = schema_tree_string(arguments);
  return span_trim(text).len > 0 ? text : SPAN("{}");
}

/* Arguments that are no object become an empty one: they travel on as JSON. */
static void check_arguments(struct rg_provider_answer *a, struct arena *arena)
{
  for (size_t i = 0; i < a->call_count; i++) {
    struct schema_node *tree = NULL;
    struct span text = a->calls[i].arguments;
    if (schema_tree_read(text, SCHEMA_DEPTH_EVENT, arena, &tree, NULL) != SCHEMA_OK ||
        tree->kind != SCHEMA_OBJECT)
      a->calls[i].arguments = SPAN("{}");
  }
}

/* {"error": …} under a status of success, as OpenRouter sends it. */
static bool read_error(const struct schema_node *body, struct rg_provider_answer *ret)
{
  const struct schema_node *error = schema_tree_get(body, "error");
  if (!error || error->kind == SCHEMA_NULL) return false;
  ret->failed = true;
  ret->failed_status = (int64_t)rg_dialect_count(error, "code");
  return true;
}

bool rg_provider_is_overflow(struct span body)
{
  static const char *const phrases[] = {
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "too many tokens",
    "prompt is too long",
    "token limit",
    "input is too long",
    "context size",
    "input token count",
    "exceeds the maximum number of tokens",
  };
  enum { LOOKED_AT = 16 * 1024 }; /* of an error; its words stand at its beginning */
  char text[LOOKED_AT];
  size_t n = body.len < LOOKED_AT ? body.len : LOOKED_AT;
  for (size_t i = 0; i < n; i++) {
    char c = body.ptr[i];
    text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
    if (span_find((struct span) { text, n }, span_of(phrases[i])) < n) return true;
  return false;
}

bool rg_provider_is_answer_tool(struct span name)
{
  return span_is(name, "response") || span_is(name, "json");
}

/* MiniMax, and others through an SDK, answer by calling a tool that is named like the response: that
 * is an answer, whatever stands beside it. */
static void read_answer_call(struct rg_provider_answer *a)
{
  for (size_t i = 0; i < a->call_count; i++) {
    if (!rg_provider_is_answer_tool(a->calls[i].name)) continue;
    a->said.text = a->calls[i].arguments;
    a->said.tool_round = false;
    a->call_count = 0;
    return;
  }
}

bool rg_provider_read(const struct rg_provider *config, struct span body, struct arena *arena,
                      struct rg_provider_answer *ret)
{
  const struct schema_provider *known = rg_provider_known(config);
  const struct rg_dialect *d = known ? dialect_of(known) : NULL;
  struct schema_node *tree = NULL;
  *ret = (struct rg_provider_answer) { .tokens = 0 };
  if (!d || schema_tree_read(body, SCHEMA_DEPTH_SCHEMA, arena, &tree, NULL) != SCHEMA_OK)
    return false;
  if (tree->kind != SCHEMA_OBJECT) return false;
  if (read_error(tree, ret)) return true;
  if (!schema_provider_read(known, tree, arena, &ret->said)) return false;

  ret->truncated = schema_document_is_cut(ret->said.stop);
  d->read_calls(tree, arena, ret);
  read_answer_call(ret);
  check_arguments(ret, arena);
  ret->tokens = d->tokens(tree);
  return true;
}
