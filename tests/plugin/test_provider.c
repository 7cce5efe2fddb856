/* provider: what each dialect asks and how its answers are read. */
#include <criterion/criterion.h>
#include <string.h>

#include "plugin/provider/provider.h"

static const struct rg_tool tools[] = {
  { "find_member", "looks a member up", SPAN_INIT("{\"type\":\"object\"}") },
};

static bool holds(struct span text, const char *part)
{
  return span_find(text, span_of(part)) < text.len;
}

struct row {
  const char *dialect, *base, *url, *key, *call, *result, *cap, *answer;
};

/* The same talk in each: a question, a tool call, its result; then the reading of such a call. */
static const struct row rows[] = {
  { "openai", "", "https://api.openai.com/v1/chat/completions", "Authorization: Bearer k3y",
    "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"find_member\","
    "\"arguments\":\"{\\\"name\\\":\\\"明\\\"}\"}}]",
    "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"[]\"}",
    "\"max_completion_tokens\":99",
    "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"content\":null,\"tool_calls\":"
    "[{\"id\":\"c1\",\"function\":{\"name\":\"find_member\",\"arguments\":\"{\\\"name\\\":"
    "\\\"明\\\"}"
    "\"}}]}}],\"usage\":{\"total_tokens\":7}}" },
  { "vllm", "http://h:1/v1/", "http://h:1/v1/chat/completions", "Authorization: Bearer k3y",
    "\"arguments\":\"{\\\"name\\\"", "\"tool_call_id\":\"c1\"", "\"max_tokens\":99",
    "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":"
    "\"find_member\",\"arguments\":{\"name\":\"明\"}}}]}}],\"usage\":{\"total_tokens\":7}}" },
  { "azure", "https://r.openai.azure.com/openai/v1",
    "https://r.openai.azure.com/openai/v1/chat/completions", "api-key: k3y", "\"tool_calls\"",
    "\"tool_call_id\":\"c1\"", "\"max_completion_tokens\":99",
    "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":"
    "\"find_member\",\"arguments\":{\"name\":\"明\"}}}]}}],\"usage\":{\"total_tokens\":7}}" },
  { "mistral", "", "https://api.mistral.ai/v1/chat/completions", "Authorization: Bearer k3y",
    "\"tool_calls\"", "\"tool_call_id\":\"c1\"", "\"max_tokens\":99",
    "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":"
    "\"find_member\",\"arguments\":{\"name\":\"明\"}}}]}}],\"usage\":{\"total_tokens\":7}}" },
  { "anthropic", "", "https://api.anthropic.com/v1/messages", "x-api-key: k3y",
    "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"find_member\",\"input\":{\"name\":\"明\"}}",
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":"
    "\"[]\"}]}",
    "\"max_tokens\":99",
    "{\"content\":[{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"find_member\",\"input\":{"
    "\"name\":\"明\"}}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":4,"
    "\"output_tokens\":3}}" },
  { "gemini", "", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
    "x-goog-api-key: k3y",
    "{\"functionCall\":{\"name\":\"find_member\",\"args\":{\"name\":\"明\"}}}",
    "{\"functionResponse\":{\"name\":\"find_member\",\"response\":{\"result\":\"[]\"}}}",
    "\"maxOutputTokens\":99",
    "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"find_member\","
    "\"args\":"
    "{\"name\":\"明\"}}}]}}],\"usageMetadata\":{\"totalTokenCount\":7}}" },
  { "ollama", "", "http://localhost:11434/api/chat", "Authorization: Bearer k3y",
    "{\"function\":{\"name\":\"find_member\",\"arguments\":{\"name\":\"明\"}}}",
    "{\"role\":\"tool\",\"content\":\"[]\",\"tool_name\":\"find_member\"}", "\"num_predict\":99",
    "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"find_member\","
    "\"arguments\":{\"name\":\"明\"}}}]},\"done_reason\":\"stop\",\"prompt_eval_count\":4,"
    "\"eval_count\":3}" },
};

static void write_row(const struct row *row, struct arena *arena)
{
  const struct rg_provider config = { .dialect = span_of(row->dialect),
                                      .base_url = span_of(row->base),
                                      .model = SPAN("m"),
                                      .max_tokens = 99 };
  const struct rg_tool_call call = { .id = SPAN("c1"),
                                     .name = SPAN("find_member"),
                                     .arguments = SPAN("{\"name\":\"明\"}") };
  const struct rg_said said[] = {
    { .by = RG_SAID_USER, .text = SPAN("who is 明\"?") },
    { .by = RG_SAID_MODEL, .calls = &call, .call_count = 1, .text = SPAN("") },
    { .by = RG_SAID_TOOL, .text = SPAN("[]"), .call_id = SPAN("c1"), .tool = SPAN("find_member") },
  };
  const struct rg_ask ask = { .config = &config,
                              .key = SPAN("k3y"),
                              .system = SPAN("be kind"),
                              .said = said,
                              .said_count = 3,
                              .tools = tools,
                              .tool_count = 1,
                              .schema = SPAN("{\"type\":\"object\"}") };
  struct rg_provider_call c;
  cr_assert(rg_provider_write(&ask, arena, &c), "%s", row->dialect);
  cr_expect_str_eq(c.url, row->url);
  bool key = false;
  for (size_t i = 0; c.headers[i]; i++) key |= strcmp(c.headers[i], row->key) == 0;
  cr_expect(key, "%s: no header %s", row->dialect, row->key);
  struct schema_node *tree;
  cr_expect_eq(schema_tree_read(c.body, SCHEMA_DEPTH_SCHEMA, arena, &tree, NULL), SCHEMA_OK, "%.*s",
               (int)c.body.len, c.body.ptr);
  const char *const parts[] = { "be kind",   "who is 明\\\"?", row->call,
                                row->result, row->cap,         "looks a member up" };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    cr_expect(holds(c.body, parts[i]), "%s: no %s in %.*s", row->dialect, parts[i], (int)c.body.len,
              c.body.ptr);
  cr_expect_not(holds(c.body, "k3y"), "%s: the key stands in the body", row->dialect);
}

Test(provider, each_dialect_asks_and_is_read)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    write_row(&rows[i], &arena);
    const struct rg_provider config = { .dialect = span_of(rows[i].dialect) };
    struct rg_provider_answer a;
    cr_assert(rg_provider_read(&config, span_of(rows[i].answer), &arena, &a), "%s",
              rows[i].dialect);
    cr_expect(a.said.tool_round && a.call_count == 1 && a.tokens == 7, "%s: %zu calls, %d tokens",
              rows[i].dialect, a.call_count, (int)a.tokens);
    cr_expect(span_is(a.calls[0].name, "find_member") &&
                  span_is(a.calls[0].arguments, "{\"name\":\"明\"}"),
              "%s", rows[i].dialect);
    arena_done(&arena);
  }
}

static const struct {
  const char *dialect;
  enum rg_form stated;
  enum rg_yes_no with_tools;
  bool tools, allowed;
  enum rg_form form;
} forms[] = {
  { "openai", RG_FORM_AUTO, RG_UNKNOWN, true, true, RG_FORM_NATIVE },
  { "anthropic", RG_FORM_AUTO, RG_UNKNOWN, true, true, RG_FORM_NATIVE },
  { "vllm", RG_FORM_AUTO, RG_UNKNOWN, false, true, RG_FORM_NATIVE },
  { "vllm", RG_FORM_AUTO, RG_UNKNOWN, true, true, RG_FORM_PROMPT },
  { "vllm", RG_FORM_NATIVE, RG_UNKNOWN, true, false, RG_FORM_PROMPT },
  { "vllm", RG_FORM_NATIVE, RG_YES, true, true, RG_FORM_NATIVE },
  { "deepseek", RG_FORM_AUTO, RG_UNKNOWN, false, true, RG_FORM_PROMPT },
  { "deepseek", RG_FORM_NATIVE, RG_UNKNOWN, false, false, RG_FORM_PROMPT },
  { "openai", RG_FORM_PROMPT, RG_UNKNOWN, false, true, RG_FORM_PROMPT },
  { "nobody", RG_FORM_AUTO, RG_UNKNOWN, false, false, RG_FORM_PROMPT },
};

Test(provider, where_the_schema_goes)
{
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const struct rg_provider config = { .dialect = span_of(forms[i].dialect),
                                        .model = SPAN("m"),
                                        .max_tokens = 9,
                                        .structured_output = forms[i].stated,
                                        .takes_schema_with_tools = forms[i].with_tools };
    enum rg_form form;
    cr_expect_eq(rg_provider_form(&config, forms[i].tools, &form), forms[i].allowed, "row %zu", i);
    cr_expect_eq(form, forms[i].form, "row %zu", i);
    const struct rg_ask ask = { .config = &config,
                                .system = SPAN("s"),
                                .tools = tools,
                                .tool_count = forms[i].tools,
                                .schema = SPAN("{\"title\":\"T7\"}") };
    struct rg_provider_call call;
    cr_expect_eq(rg_provider_write(&ask, &arena, &call), forms[i].allowed, "row %zu", i);
    if (forms[i].allowed) {
      bool prompt = holds(call.body, "matching: {\\\"title\\\":\\\"T7\\\"}");
      cr_expect_eq(prompt, form == RG_FORM_PROMPT, "row %zu", i);
      cr_expect_eq(holds(call.body, "{\"title\":\"T7\"}"), form == RG_FORM_NATIVE, "row %zu", i);
    }
    arena_done(&arena);
  }
}

Test(provider, extra_members_are_written_once)
{
  static const char *const dialects[] = { "openai", "deepseek", "anthropic", "gemini", "ollama" };
  for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
    struct arena arena;
    struct schema_node *tree;
    arena_init(&arena, 1 << 20);
    const struct rg_provider config = { .dialect = span_of(dialects[i]),
                                        .model = SPAN("m"),
                                        .max_tokens = 9,
                                        .extra_body = SPAN("{\"top_p\":0.5}") };
    const struct rg_ask ask = { .config = &config, .schema = SPAN("{}") };
    struct rg_provider_call call;
    cr_assert(rg_provider_write(&ask, &arena, &call));
    enum schema_code code = schema_tree_read(call.body, SCHEMA_DEPTH_SCHEMA, &arena, &tree, NULL);
    cr_expect_eq(code, SCHEMA_OK, "%s: %s", dialects[i], schema_code_word(code));
    cr_expect(holds(call.body, "\"top_p\":0.5"), "%s", dialects[i]);
    arena_done(&arena);
  }
}

static const struct {
  const char *dialect, *body;
  bool read, failed, cut;
  int64_t status;
} bodies[] = {
  { "openai", "", false, false, false, 0 },
  { "openai", "<html>", false, false, false, 0 },
  { "openai", "[]", false, false, false, 0 },
  { "openai", "{}", true, false, false, 0 },
  { "openai", "{\"error\":{\"code\":429,\"message\":\"slow down\"}}", true, true, false, 429 },
  { "openai", "{\"error\":\"no\"}", true, true, false, 0 },
  { "openai", "{\"error\":null,\"choices\":[{\"finish_reason\":\"length\",\"message\":{}}]}", true,
    false, true, 0 },
  { "anthropic", "{\"content\":[],\"stop_reason\":\"max_tokens\"}", true, false, true, 0 },
  { "gemini", "{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}", true, false, true, 0 },
  { "ollama", "{\"message\":{\"content\":\"x\"},\"done_reason\":\"length\"}", true, false, true,
    0 },
  { "openai",
    "{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":"
    "\"{broken\"}}]}}]}",
    true, false, false, 0 },
};

Test(provider, bodies_of_every_kind)
{
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const struct rg_provider config = { .dialect = span_of(bodies[i].dialect) };
    struct rg_provider_answer a;
    cr_expect_eq(rg_provider_read(&config, span_of(bodies[i].body), &arena, &a), bodies[i].read,
                 "row %zu", i);
    cr_expect(a.failed == bodies[i].failed && a.failed_status == bodies[i].status, "row %zu", i);
    cr_expect_eq(a.truncated, bodies[i].cut, "row %zu", i);
    for (size_t k = 0; k < a.call_count; k++) cr_expect(span_is(a.calls[k].arguments, "{}"));
    arena_done(&arena);
  }
}

Test(provider, an_answer_with_too_many_calls_is_bounded)
{
  struct arena arena;
  struct buf b;
  arena_init(&arena, 1 << 20);
  buf_init(&b, 1 << 20);
  buf_add(&b, SPAN("{\"message\":{\"tool_calls\":[{}"));
  for (int i = 0; i < 100; i++) buf_add(&b, SPAN(",{\"function\":{\"name\":\"x\"}}"));
  buf_add(&b, SPAN("]}}"));
  const struct rg_provider config = { .dialect = SPAN("ollama") };
  struct rg_provider_answer a;
  cr_expect(rg_provider_read(&config, buf_span(&b), &arena, &a));
  cr_expect_eq(a.call_count, RG_CALLS_MAX);
  buf_done(&b);
  arena_done(&arena);
}

/* ---- pictures ---- */

static const struct {
  const char *dialect, *part;
} sights[] = {
  { "openai",
    "\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}},"
    "{\"type\":\"text\",\"text\":\"what is it?\"}]" },
  { "mistral", "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}" },
  { "anthropic",
    "\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
    "\"data\":\"AAAA\"}},{\"type\":\"text\",\"text\":\"what is it?\"}]" },
  { "gemini", "\"parts\":[{\"inlineData\":{\"mimeType\":\"image/"
              "png\",\"data\":\"AAAA\"}},{\"text\":\"what is it?\"}]" },
  { "ollama", "\"content\":\"what is it?\",\"images\":[\"AAAA\"]" },
};

Test(provider, models_that_see_are_shown_pictures)
{
  const struct rg_picture picture = { SPAN("image/png"), SPAN("AAAA") };
  const struct rg_said said = {
    .by = RG_SAID_USER, .text = SPAN("what is it?"), .pictures = &picture, .picture_count = 1
  };
  for (size_t i = 0; i < sizeof sights / sizeof *sights; i++)
    for (int sees = 0; sees < 2; sees++) {
      struct arena arena;
      struct rg_provider_call c;
      struct schema_node *tree;
      arena_init(&arena, 1 << 20);
      const struct rg_provider config = { .dialect = span_of(sights[i].dialect),
                                          .model = SPAN("m"),
                                          .max_tokens = 99,
                                          .images = sees == 1 };
      const struct rg_ask ask = { .config = &config, .said = &said, .said_count = 1 };
      cr_assert(rg_provider_write(&ask, &arena, &c));
      cr_expect_eq(schema_tree_read(c.body, SCHEMA_DEPTH_SCHEMA, &arena, &tree, NULL), SCHEMA_OK);
      cr_expect_eq(holds(c.body, sights[i].part), sees, "%s: %.*s", sights[i].dialect,
                   (int)c.body.len, c.body.ptr);
      cr_expect_eq(holds(c.body, "AAAA"), sees, "%s", sights[i].dialect);
      arena_done(&arena);
    }
}

/* ---- where requests go ---- */

static const struct {
  const char *dialect, *base, *version, *url;
  bool stream;
} addresses[] = {
  { "azure", "https://r.openai.azure.com", "2024-10-21",
    "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
    false },
  { "azure", "https://r.openai.azure.com/openai/v1/", "2024-10-21",
    "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
    true },
  { "azure", "https://r.openai.azure.com/openai", "preview",
    "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=preview", false },
  { "openai", "http://h/v1", "2024-10-21", "http://h/v1/chat/completions", false },
  { "gemini_vertex",
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/"
    "publishers/google",
    "",
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/"
    "publishers/google"
    "/models/m:streamGenerateContent?alt=sse",
    true },
};

Test(provider, addresses)
{
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
    struct arena arena;
    struct rg_provider_call c;
    arena_init(&arena, 1 << 20);
    const struct rg_said said = { .by = RG_SAID_USER, .text = SPAN("x") };
    const struct rg_provider config = { .dialect = span_of(addresses[i].dialect),
                                        .base_url = span_of(addresses[i].base),
                                        .api_version = span_of(addresses[i].version),
                                        .model = SPAN("m"),
                                        .stream = addresses[i].stream,
                                        .max_tokens = 99 };
    const struct rg_ask ask = { .config = &config, .said = &said, .said_count = 1 };
    cr_assert(rg_provider_write(&ask, &arena, &c));
    cr_expect_str_eq(c.url, addresses[i].url);
    arena_done(&arena);
  }
}

/* A stream of the vendor's own says what it cost only if asked to; others may not know the question. */
Test(provider, what_a_stream_cost_is_asked_where_it_is_known)
{
  static const struct {
    const char *dialect, *base;
    bool asks;
  } streams[] = { { "openai", "", true },
                  { "azure", "http://h/openai/v1", true },
                  { "openai", "http://h/v1", false },
                  { "mistral", "", false } };
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    struct arena arena;
    struct rg_provider_call c;
    arena_init(&arena, 1 << 20);
    const struct rg_said said = { .by = RG_SAID_USER, .text = SPAN("x") };
    const struct rg_provider config = { .dialect = span_of(streams[i].dialect),
                                        .base_url = span_of(streams[i].base),
                                        .model = SPAN("m"),
                                        .stream = true };
    const struct rg_ask ask = { .config = &config, .said = &said, .said_count = 1 };
    cr_assert(rg_provider_write(&ask, &arena, &c));
    cr_expect_eq(holds(c.body, "\"stream_options\":{\"include_usage\":true}"), streams[i].asks,
                 "row %zu: %.*s", i, (int)c.body.len, c.body.ptr);
    arena_done(&arena);
  }
}

/* ---- answers that are calls, errors that are questions too long ---- */

static const struct {
  const char *dialect, *body, *text;
  size_t calls;
} answer_calls[] = {
  { "openai",
    "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"content\":null,\"tool_calls\":["
    "{\"id\":\"c\","
    "\"function\":{\"name\":\"json\",\"arguments\":\"{\\\"messages\\\":[}\"}}]}}]}",
    "{\"messages\":[}", 0 },
  { "openai",
    "{\"choices\":[{\"message\":{\"content\":\"aside\",\"tool_calls\":[{\"function\":{\"name\":"
    "\"find_member\"}},"
    "{\"function\":{\"name\":\"response\",\"arguments\":{\"messages\":[]}}}]}}]}",
    "{\"messages\":[]}", 0 },
  { "anthropic",
    "{\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"response\",\"input\":{"
    "\"messages\":[]}}],"
    "\"stop_reason\":\"tool_use\"}",
    "{\"messages\":[]}", 0 },
  { "openai",
    "{\"choices\":[{\"message\":{\"content\":\"aside\",\"tool_calls\":[{\"function\":{\"name\":"
    "\"Json\"}}]}}]}",
    "aside", 1 },
};

Test(provider, a_call_named_like_the_response_is_the_answer)
{
  for (size_t i = 0; i < sizeof answer_calls / sizeof *answer_calls; i++) {
    struct arena arena;
    struct rg_provider_answer a;
    arena_init(&arena, 1 << 20);
    const struct rg_provider config = { .dialect = span_of(answer_calls[i].dialect) };
    cr_assert(rg_provider_read(&config, span_of(answer_calls[i].body), &arena, &a));
    cr_expect_eq(a.call_count, answer_calls[i].calls, "row %zu", i);
    cr_expect_eq(a.said.tool_round, answer_calls[i].calls > 0, "row %zu", i);
    cr_expect(span_is(a.said.text, answer_calls[i].text), "row %zu: %.*s", i, (int)a.said.text.len,
              a.said.text.ptr);
    arena_done(&arena);
  }
}

static const struct {
  const char *body;
  bool overflow;
} errors[] = {
  { "{\"error\":{\"message\":\"This model's Maximum Context length is 8192 tokens\",\"code\":"
    "\"context_length_exceeded\"}}",
    true },
  { "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too "
    "long: 2 > 1\"}}",
    true },
  { "{\"error\":{\"code\":400,\"message\":\"The input token count (9) exceeds the maximum number "
    "of tokens allowed (1).\"}}",
    true },
  { "{\"error\":\"model not found\"}", false },
  { "", false },
};

Test(provider, questions_that_are_too_long)
{
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    cr_expect_eq(rg_provider_is_overflow(span_of(errors[i].body)), errors[i].overflow, "row %zu",
                 i);
  cr_expect_not(rg_provider_is_overflow((struct span) { NULL, 0 }));
}
