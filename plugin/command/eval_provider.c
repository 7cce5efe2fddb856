/* eval_provider: the kinds of `replygate eval` for model providers: what a request carries, what an
 * answer is worth, what a held stream lets out, what may be tried again. */
#include "plugin/command/eval.h"

#include "schema/provider.h"

static enum schema_code wants(struct schema_error *reterr, const char *path, const char *what)
{
  return schema_fail(reterr, SCHEMA_ETYPE, 0, path, what);
}

static enum schema_code no_memory(struct schema_error *reterr)
{
  return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
}

static void write_or_null(struct schema_writer *w, const char *name, struct span value)
{
  schema_write_key(w, span_of(name));
  if (value.ptr)
    schema_write_string(w, value);
  else
    schema_write_null(w);
}

/* ---- what a case says ---- */

struct call {
  const struct schema_provider *provider;
  struct schema_provider_config config;
  const struct schema_node *schema; /* NULL: none is set */
  bool tools;
};

static int stated(const struct schema_node *node)
{
  if (!node || node->kind != SCHEMA_BOOL) return SCHEMA_UNSTATED;
  return node->truth ? SCHEMA_STATED_YES : SCHEMA_STATED_NO;
}

static enum schema_code provider_of(const struct schema_node *line,
                                    const struct schema_provider **ret, struct schema_error *reterr)
{
  *ret = schema_provider_find(schema_tree_string(schema_tree_get(line, "provider")));
  if (!*ret) return wants(reterr, "$.provider", "the name of a known provider");
  return SCHEMA_OK;
}

static enum schema_code schema_of(const struct schema_node *line, struct arena *arena,
                                  const struct schema_node **ret, struct schema_error *reterr)
{
  const struct schema_node *schema = schema_tree_get(line, "schema");
  *ret = NULL;
  if (!schema || schema->kind == SCHEMA_NULL) return SCHEMA_OK;
  enum schema_code code = schema_portable_check(schema, arena, NULL);
  if (code != SCHEMA_OK) return schema_fail(reterr, code, 0, "$.schema", NULL);
  *ret = schema;
  return SCHEMA_OK;
}

static enum schema_code call_of(const struct schema_node *line, struct arena *arena,
                                struct call *ret, struct schema_error *reterr)
{
  const struct schema_node *config = schema_tree_get(line, "config");
  const struct schema_node *extra = schema_tree_get(config, "extra_body");
  enum schema_code code = provider_of(line, &ret->provider, reterr);
  if (code == SCHEMA_OK) code = schema_of(line, arena, &ret->schema, reterr);
  if (code != SCHEMA_OK) return code;
  bool mock = ret->provider->dialect == SCHEMA_DIALECT_MOCK;
  const char *takes = mock ? "response_schema" : "supports_response_schema";
  const char *with_tools =
      mock ? "response_schema_with_tools" : "supports_response_schema_with_tools";
  ret->tools = schema_tree_truth(schema_tree_get(line, "tools_in_request"), false);
  ret->config.base_url = schema_tree_string(schema_tree_get(config, "base_url"));
  ret->config.schema = stated(schema_tree_get(config, takes));
  ret->config.schema_with_tools = stated(schema_tree_get(config, with_tools));
  ret->config.extra_body = extra && extra->kind == SCHEMA_OBJECT ? extra : NULL;
  return SCHEMA_OK;
}

static bool is_unsupported(const struct call *call)
{
  return call->schema && !schema_provider_takes(call->provider, &call->config, call->tools);
}

/* ---- provider_request, provider_answer ---- */

enum schema_code rg_eval_provider_request(const struct schema_node *line, struct arena *arena,
                                          struct schema_writer *w, struct schema_error *reterr)
{
  struct call call = { .tools = false };
  enum schema_code code = call_of(line, arena, &call, reterr);
  if (code != SCHEMA_OK) return code;
  if (is_unsupported(&call)) {
    schema_write_pair(w, "reason", span_of(schema_document_word(SCHEMA_DOCUMENT_UNSUPPORTED)));
    return SCHEMA_OK;
  }
  schema_write_key(w, SPAN("fragment"));
  schema_write_object(w);
  if (call.schema) schema_provider_write_request(w, call.provider, &call.config, call.schema);
  schema_write_object_end(w);
  return SCHEMA_OK;
}

enum schema_code rg_eval_provider_answer(const struct schema_node *line, struct arena *arena,
                                         struct schema_writer *w, struct schema_error *reterr)
{
  struct call call = { .tools = false };
  struct schema_provider_answer answer = { .tool_round = false };
  enum schema_document_verdict verdict = SCHEMA_DOCUMENT_UNSUPPORTED;
  enum schema_code code = call_of(line, arena, &call, reterr);
  if (code != SCHEMA_OK) return code;
  if (!is_unsupported(&call)) {
    const struct schema_node *body = schema_tree_get(line, "response_body");
    if (!schema_provider_read(call.provider, body, arena, &answer)) return no_memory(reterr);
    code = schema_document_judge(answer.tool_round ? NULL : call.schema, answer.refusal,
                                 answer.stop, answer.text, arena, &verdict, NULL);
    if (code != SCHEMA_OK) return no_memory(reterr);
  }
  bool ok = verdict == SCHEMA_DOCUMENT_OK;
  schema_write_pair(w, "expect", span_of(schema_document_word(verdict)));
  schema_write_key(w, SPAN("checked"));
  if (ok)
    schema_write_bool(w, call.schema && !answer.tool_round);
  else
    schema_write_null(w);
  struct span said = answer.text.ptr ? answer.text : SPAN("");
  write_or_null(w, "content", ok ? said : (struct span) { NULL, 0 });
  return SCHEMA_OK;
}

/* ---- provider_stream ---- */

/* One round of a stream whose text is held until it has been checked (rules 106 to 113, 127). */
struct round {
  const struct schema_node *schema;
  struct buf text;                 /* all of the round */
  const struct schema_node **held; /* text events not let out yet */
  size_t held_count;
  bool tool_call;
};

static void let_out(struct schema_writer *w, const struct schema_node *event)
{
  const struct schema_node *value = event->first->next;
  schema_write_array(w);
  schema_write_raw(w, event->first->raw);
  if (value) schema_write_raw(w, value->raw);
  schema_write_array_end(w);
}

static void let_held_out(struct schema_writer *w, struct round *r)
{
  for (size_t i = 0; i < r->held_count; i++) let_out(w, r->held[i]);
  r->held_count = 0;
}

/* The end of a round. *retverdict tells whether it is let out. */
static enum schema_code end_round(struct schema_writer *w, struct round *r,
                                  const struct schema_node *event, struct arena *arena,
                                  enum schema_document_verdict *retverdict)
{
  const struct schema_node *value = event->first->next;
  struct span stop = schema_tree_string(value);
  struct span refusal = schema_tree_string(value ? value->next : NULL);
  bool unchecked = r->tool_call || schema_provider_is_broken_call(stop);
  enum schema_code code = schema_document_judge(unchecked ? NULL : r->schema, refusal, stop,
                                                buf_span(&r->text), arena, retverdict, NULL);
  if (code != SCHEMA_OK || *retverdict != SCHEMA_DOCUMENT_OK) return code;
  let_held_out(w, r);
  let_out(w, event);
  buf_clear(&r->text);
  r->tool_call = false;
  return SCHEMA_OK;
}

/* One event. */
static enum schema_code stream_event(struct schema_writer *w, struct round *r,
                                     const struct schema_node *event, struct arena *arena,
                                     enum schema_document_verdict *retverdict)
{
  struct span kind = schema_tree_string(event->first);
  if (span_is(kind, "done")) return end_round(w, r, event, arena, retverdict);
  if (span_is(kind, "text") && r->schema) {
    buf_add(&r->text, schema_tree_string(event->first->next));
    r->held[r->held_count++] = event;
    return r->text.failed ? SCHEMA_ENOMEM : SCHEMA_OK;
  }
  r->tool_call |= span_is(kind, "tool_call");
  if (span_starts(kind, SPAN("tool_call"))) let_held_out(w, r);
  let_out(w, event);
  return SCHEMA_OK;
}

enum schema_code rg_eval_provider_stream(const struct schema_node *line, struct arena *arena,
                                         struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *events = schema_tree_get(line, "events");
  enum schema_document_verdict verdict = SCHEMA_DOCUMENT_OK;
  struct round r = { .tool_call = false };
  if (!events || events->kind != SCHEMA_ARRAY) return wants(reterr, "$.events", "a list of events");
  enum schema_code code = schema_of(line, arena, &r.schema, reterr);
  if (code != SCHEMA_OK) return code;
  r.held = arena_zalloc(arena, events->count + 1, sizeof *r.held);
  if (!r.held) return no_memory(reterr);
  buf_init(&r.text, 64 * 1024 * 1024); /* as long as a line of eval */
  schema_write_key(w, SPAN("released"));
  schema_write_array(w);
  for (const struct schema_node *e = events->first; e && code == SCHEMA_OK; e = e->next) {
    if (e->kind != SCHEMA_ARRAY || !e->first) {
      code = wants(reterr, "$.events", "an event is a list that begins with its kind");
    } else {
      code = stream_event(w, &r, e, arena, &verdict);
      if (verdict != SCHEMA_DOCUMENT_OK) break;
    }
  }
  schema_write_array_end(w);
  bool ok = verdict == SCHEMA_DOCUMENT_OK;
  write_or_null(w, "reason",
                ok ? (struct span) { NULL, 0 } : span_of(schema_document_word(verdict)));
  buf_done(&r.text);
  return code == SCHEMA_ENOMEM ? no_memory(reterr) : code;
}

/* ---- provider_http ---- */

static enum schema_provider_failure failure_of(struct span words)
{
  static const char *const connections[] = { "connection error", "transport",
                                             "server aborted, no status" };
  for (size_t i = 0; i < sizeof connections / sizeof *connections; i++)
    if (span_is(words, connections[i])) return SCHEMA_FAILURE_CONNECTION;
  return span_ends(words, SPAN("names 429")) ? SCHEMA_FAILURE_LIMIT : SCHEMA_FAILURE_OTHER;
}

/* A status of three digits, or 0. */
static int64_t status_of(const struct schema_node *node)
{
  int64_t status = 0;
  if (!node || node->kind != SCHEMA_NUMBER || node->text.len != 3) return 0;
  for (size_t i = 0; i < 3; i++) {
    if (node->text.ptr[i] < '0' || node->text.ptr[i] > '9') return 0;
    status = status * 10 + (node->text.ptr[i] - '0');
  }
  return status;
}

enum schema_code rg_eval_provider_http(const struct schema_node *line, struct arena *arena,
                                       struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  const struct schema_provider *provider;
  enum schema_code code = provider_of(line, &provider, reterr);
  struct span failure = schema_tree_string(schema_tree_get(line, "failure"));
  int64_t status = status_of(schema_tree_get(line, "http_status"));
  if (code != SCHEMA_OK) return code;
  if (!status && !failure.ptr)
    return wants(reterr, "$.http_status", "a case has an http_status or a failure");
  schema_write_key(w, SPAN("retryable"));
  schema_write_bool(w, status ? schema_provider_retries(provider, status)
                              : schema_provider_retries_failure(provider, failure_of(failure)));
  return SCHEMA_OK;
}
