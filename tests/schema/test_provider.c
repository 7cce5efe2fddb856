#include "schema/provider.h"
#include "tests/lib/protocol.h"

static int stated(const struct schema_node *config, const char *name)
{
  const struct schema_node *node = schema_tree_get(config, name);
  if (!node) return SCHEMA_UNSTATED;
  return node->truth ? SCHEMA_STATED_YES : SCHEMA_STATED_NO;
}

static struct schema_provider_config config_of(const struct schema_node *row)
{
  const struct schema_node *config = schema_tree_get(row, "config");
  bool mock = protocol_is(row, "provider", "mock");
  return (struct schema_provider_config) {
    .base_url = vectors_string(config, "base_url"),
    .schema = stated(config, mock ? "response_schema" : "supports_response_schema"),
    .schema_with_tools = stated(config, "supports_response_schema_with_tools"),
    .extra_body = schema_tree_get(config, "extra_body"),
  };
}

static bool takes(const struct schema_node *row, const struct schema_provider **ret)
{
  struct schema_provider_config config = config_of(row);
  *ret = schema_provider_find(vectors_string(row, "provider"));
  cr_assert_not_null(*ret, "%.*s", ROW(row));
  bool tools = schema_tree_truth(schema_tree_get(row, "tools_in_request"), false);
  return schema_provider_takes(*ret, &config, tools);
}

static void check_answer(struct vectors *v, const struct schema_node *row)
{
  const struct schema_provider *p;
  struct schema_provider_answer a;
  enum schema_document_verdict verdict = SCHEMA_DOCUMENT_UNSUPPORTED;
  const struct schema_node *schema = schema_tree_get(row, "schema");
  if (takes(row, &p)) {
    cr_assert(schema_provider_read(p, schema_tree_get(row, "response_body"), &v->arena, &a));
    cr_assert_eq(schema_document_judge(a.tool_round ? NULL : schema, a.refusal, a.stop, a.text,
                                       &v->arena, &verdict, NULL),
                 SCHEMA_OK);
  }
  cr_expect(protocol_is(row, "expect", schema_document_word(verdict)), "%.*s: %s", ROW(row),
            schema_document_word(verdict));
  if (!protocol_is(row, "expect", "ok") || verdict != SCHEMA_DOCUMENT_OK) return;
  cr_expect(span_eq(a.text, vectors_string(row, "content")), "%.*s: >%.*s<", ROW(row),
            TEXT(a.text));
  cr_expect_eq(!a.tool_round, schema_tree_truth(schema_tree_get(row, "checked"), true), "%.*s",
               ROW(row));
}

Test(provider, reads_answers)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "provider_answers"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL; rows++) check_answer(&v, row);
  cr_expect_gt(rows, 90);
  vectors_close(&v);
}

Test(provider, writes_requests)
{
  struct vectors v;
  struct buf out;
  cr_assert(vectors_open(&v, "provider_requests"));
  buf_init(&out, 1 << 20);
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    const struct schema_node *want = schema_tree_get(row, "fragment");
    struct schema_provider_config config = config_of(row);
    const struct schema_provider *p;
    struct schema_node *got;
    struct schema_writer w = { .out = &out };
    cr_expect_eq(takes(row, &p), want != NULL, "%.*s", ROW(row));
    if (!want) continue;
    buf_clear(&out);
    schema_write_object(&w);
    schema_provider_write_request(&w, p, &config, schema_tree_get(row, "schema"));
    schema_write_object_end(&w);
    struct span text = arena_copy(&v.arena, buf_span(&out));
    cr_assert_eq(schema_tree_read(text, 64, &v.arena, &got, NULL), SCHEMA_OK);
    cr_expect(vectors_equal(want, got), "%.*s: %.*s", ROW(row), TEXT(text));
  }
  buf_done(&out);
  vectors_close(&v);
}

Test(provider, knows_what_may_be_tried_again)
{
  struct vectors v;
  cr_assert(vectors_open(&v, "provider_http_cases"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    const struct schema_provider *p = schema_provider_find(vectors_string(row, "provider"));
    const struct schema_node *status = schema_tree_get(row, "http_status");
    bool want = schema_tree_truth(schema_tree_get(row, "retryable"), false);
    if (!status) continue; /* failures: see below and eval */
    cr_expect_eq(schema_provider_retries(p, strtol(status->text.ptr, NULL, 10)), want, "%.*s",
                 ROW(row));
  }
  vectors_close(&v);
  const struct schema_provider *gemini = schema_provider_find(SPAN("gemini"));
  const struct schema_provider *openai = schema_provider_find(SPAN("openai"));
  cr_expect(schema_provider_retries_failure(openai, SCHEMA_FAILURE_CONNECTION));
  cr_expect(!schema_provider_retries_failure(openai, SCHEMA_FAILURE_LIMIT));
  cr_expect(schema_provider_retries_failure(gemini, SCHEMA_FAILURE_LIMIT));
  cr_expect(!schema_provider_retries_failure(gemini, SCHEMA_FAILURE_OTHER));
}

/* Whatever a server sends as a body is read without a crash. */
Test(provider, bears_any_body)
{
  static const char *const names[] = { "openai", "anthropic", "gemini", "mistral",
                                       "ollama", "polargrid", "mock" };
  static const char *const bodies[] = {
    "null",
    "[]",
    "\"x\"",
    "{}",
    "{\"choices\":{}}",
    "{\"choices\":[]}",
    "{\"choices\":[null]}",
    "{\"choices\":[{\"message\":[]}]}",
    "{\"choices\":[{\"message\":{\"content\":[1,null,{}]}}]}",
    "{\"content\":\"x\"}",
    "{\"content\":[{\"type\":\"text\"},{\"text\":\"a\"}]}",
    "{\"candidates\":[{\"content\":{\"parts\":[{}, {\"text\":1}]}}]}",
    "{\"message\":\"x\"}",
    "{\"choices\":[{\"message\":{\"content\":\"<think>a<think>b</think>c</think>d\"}}]}",
  };
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
      struct schema_node *body;
      struct schema_provider_answer a;
      cr_assert_eq(schema_tree_read(span_of(bodies[b]), 16, &arena, &body, NULL), SCHEMA_OK);
      cr_expect(schema_provider_read(schema_provider_find(span_of(names[n])), body, &arena, &a));
      cr_expect(!a.tool_round && a.refusal.len == 0, "%s: %s", names[n], bodies[b]);
    }
  cr_expect_null(schema_provider_find(SPAN("Openai")));
  arena_done(&arena);
}
