#include "schema/document.h"
#include "tests/lib/protocol.h"

static const char schema_text[] = "{\"type\":\"object\",\"properties\":{\"label\":{\"type\":"
                                  "\"string\",\"enum\":[\"yes\",\"no\"]}},"
                                  "\"required\":[\"label\"],\"additionalProperties\":false}";

static const struct {
  const char *refusal, *stop, *text;
  enum schema_document_verdict verdict;
} rows[] = {
  { "", "stop", "{\"label\":\"yes\"}", SCHEMA_DOCUMENT_OK },
  { "", "", " \r\n\t{\"label\":\"no\"}\n", SCHEMA_DOCUMENT_OK },
  { "no", "length", "{\"label\":\"yes\"}", SCHEMA_DOCUMENT_REFUSAL },
  { "", "length", "{\"label\":\"yes\"}", SCHEMA_DOCUMENT_TRUNCATED },
  { "", "MAX_TOKENS", "", SCHEMA_DOCUMENT_TRUNCATED },
  { "", "model_context_window_exceeded", "", SCHEMA_DOCUMENT_TRUNCATED },
  { "", "Model_Length", "", SCHEMA_DOCUMENT_TRUNCATED },
  { "", "lengthy", "", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "Yes.", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "```json\n{\"label\":\"yes\"}\n```", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "{\"label\":\"yes\"} {\"label\":\"yes\"}", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "\xef\xbb\xbf{\"label\":\"yes\"}", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "\xc2\xa0{\"label\":\"yes\"}", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "{\"label\":\"maybe\"}", SCHEMA_DOCUMENT_INVALID },
  { "", "stop", "[{\"label\":\"yes\"}]", SCHEMA_DOCUMENT_INVALID },
};

Test(document, is_judged_in_order)
{
  struct arena arena;
  struct schema_node *schema;
  arena_init(&arena, 1 << 20);
  cr_assert_eq(schema_tree_read(span_of(schema_text), 8, &arena, &schema, NULL), SCHEMA_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    enum schema_document_verdict verdict;
    struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
    cr_assert_eq(schema_document_judge(schema, span_of(rows[i].refusal), span_of(rows[i].stop),
                                       span_of(rows[i].text), &arena, &verdict, &misfit),
                 SCHEMA_OK);
    cr_expect_eq(verdict, rows[i].verdict, "row %zu: %s", i, schema_document_word(verdict));
    cr_expect_eq(misfit.why.len > 0, verdict == SCHEMA_DOCUMENT_INVALID, "row %zu", i);
  }
  arena_done(&arena);
}

Test(document, is_any_text_without_a_schema)
{
  enum schema_document_verdict verdict;
  struct arena arena;
  arena_init(&arena, 1 << 10);
  cr_assert_eq(
      schema_document_judge(NULL, SPAN("no"), SPAN("length"), SPAN("Yes."), &arena, &verdict, NULL),
      SCHEMA_OK);
  cr_expect_eq(verdict, SCHEMA_DOCUMENT_OK);
  arena_done(&arena);
}

Test(document, does_not_end_in_a_crash_when_deep)
{
  enum { DEEP = 5000 };
  char text[2 * DEEP];
  struct arena arena;
  struct schema_node *schema;
  enum schema_document_verdict verdict;
  memset(text, '[', DEEP);
  memset(text + DEEP, ']', DEEP);
  arena_init(&arena, 1 << 20);
  cr_assert_eq(schema_tree_read(span_of(schema_text), 8, &arena, &schema, NULL), SCHEMA_OK);
  cr_assert_eq(schema_document_judge(schema, SPAN(""), SPAN(""),
                                     (struct span) { text, sizeof text }, &arena, &verdict, NULL),
               SCHEMA_OK);
  cr_expect_eq(verdict, SCHEMA_DOCUMENT_INVALID);
  arena_done(&arena);
}
