#include "schema/fit.h"
#include "tests/lib/protocol.h"

static void check_row(struct vectors *v, const struct schema_node *row)
{
  const struct schema_node *schema = schema_tree_get(row, "schema");
  struct schema_node *document = NULL;
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  cr_expect_eq(schema_portable_check(schema, &v->arena, NULL), SCHEMA_OK, "%.*s", ROW(row));
  enum schema_code code = schema_tree_read(vectors_string(row, "document_text"),
                                           SCHEMA_DEPTH_SCHEMA, &v->arena, &document, NULL);
  bool read = code == SCHEMA_OK;
  if (read) code = schema_fit(schema, document, &v->arena, &misfit);
  if (!protocol_is(row, "basis", "seed")) return;
  bool ok = schema_tree_truth(schema_tree_get(row, "ok_strict"), false);
  cr_expect_eq(code == SCHEMA_OK, ok, "%.*s: %s", ROW(row), schema_code_word(code));
  if (ok || !read || !protocol_is(row, "stage", "schema")) return;
  cr_expect(span_eq(misfit.path, vectors_string(row, "path")), "%.*s: path %.*s", ROW(row),
            TEXT(misfit.path));
}

Test(fit, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "response_schema"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    if (!protocol_is(row, "kind", "mismatch")) continue;
    check_row(&v, row);
    rows++;
  }
  cr_expect_gt(rows, 300);
  vectors_close(&v);
}

/* Against {"x": TYPE}. */
static const struct {
  const char *type, *value;
  bool fits;
} rows[] = {
  { "integer", "0", true },
  { "integer", "-0", true },
  { "integer", "-0.0", true },
  { "integer", "0e-5", true },
  { "integer", "1e2", true },
  { "integer", "100e-2", true },
  { "integer", "100e-3", false },
  { "integer", "1.50e1", true },
  { "integer", "1.25e1", false },
  { "integer", "12e-1", false },
  { "integer", "9007199254740993", true },
  { "integer", "9007199254740993.5", false },
  { "integer", "1e99999999999999999999", true },
  { "integer", "1e-99999999999999999999", false },
  { "integer", "0e-99999999999999999999", true },
  { "integer", "true", false },
  { "integer", "\"1\"", false },
  { "number", "1.5", true },
  { "number", "1", true },
  { "number", "false", false },
  { "boolean", "0", false },
  { "string", "null", false },
};

Test(fit, judges_numbers_by_their_digits)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_node *schema, *document;
    struct span text = arena_printf(&arena,
                                    "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"%s\"}},"
                                    "\"required\":[\"x\"],\"additionalProperties\":false}",
                                    rows[i].type);
    struct span value = arena_printf(&arena, "{\"x\":%s}", rows[i].value);
    cr_assert_eq(schema_tree_read(text, 8, &arena, &schema, NULL), SCHEMA_OK);
    cr_assert_eq(schema_tree_read(value, 8, &arena, &document, NULL), SCHEMA_OK);
    cr_expect_eq(schema_fit(schema, document, &arena, NULL),
                 rows[i].fits ? SCHEMA_OK : SCHEMA_EMISFIT, "row %zu: %s %s", i, rows[i].type,
                 rows[i].value);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

/* More members than are compared one by one, the document's in the opposite order. */
Test(fit, finds_members_among_many)
{
  enum { COUNT = 300 };
  struct arena arena;
  struct buf properties, required, document;
  arena_init(&arena, 1 << 24);
  buf_init(&properties, 1 << 20);
  buf_init(&required, 1 << 20);
  buf_init(&document, 1 << 20);
  for (int i = 0; i < COUNT; i++) {
    const char *comma = i ? "," : "";
    buf_printf(&properties, "%s\"k%d\":{\"type\":\"integer\"}", comma, i);
    buf_printf(&required, "%s\"k%d\"", comma, i);
    buf_printf(&document, "%s\"k%d\":%s", i ? "," : "{", COUNT - 1 - i, i == 7 ? "0.5" : "1");
  }
  buf_add_char(&document, '}');
  struct span text = arena_printf(&arena,
                                  "{\"type\":\"object\",\"properties\":{%s},\"required\":[%s],"
                                  "\"additionalProperties\":false}",
                                  properties.ptr, required.ptr);
  struct schema_node *schema, *value;
  struct schema_misfit misfit;
  cr_assert_eq(schema_tree_read(text, 8, &arena, &schema, NULL), SCHEMA_OK);
  cr_assert_eq(schema_tree_read(buf_span(&document), 8, &arena, &value, NULL), SCHEMA_OK);
  cr_expect_eq(schema_portable_check(schema, &arena, NULL), SCHEMA_OK);
  cr_assert_eq(schema_fit(schema, value, &arena, &misfit), SCHEMA_EMISFIT);
  cr_expect(span_is(misfit.path, "$.k292"), "%.*s", TEXT(misfit.path));
  value->first->key = SPAN("other");
  cr_assert_eq(schema_fit(schema, value, &arena, &misfit), SCHEMA_EMISFIT);
  cr_expect(span_is(misfit.path, "$"));
  cr_expect(span_is(misfit.why, "missing: k299; unexpected: other"), "%.*s", TEXT(misfit.why));
  buf_done(&properties);
  buf_done(&required);
  buf_done(&document);
  arena_done(&arena);
}
