#include "schema/portable.h"
#include "tests/lib/protocol.h"

static const struct schema_node *schema_of(struct vectors *v, const struct schema_node *row)
{
  const struct schema_node *schema = schema_tree_get(row, "schema");
  struct schema_node *read = NULL;
  if (schema) return schema;
  struct span text = vectors_string(row, "schema_text");
  return schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, &v->arena, &read, NULL) ? NULL : read;
}

Test(portable, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "response_schema"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
    if (!span_starts(vectors_string(row, "kind"), SPAN("portable"))) continue;
    rows++;
    const struct schema_node *schema = schema_of(&v, row);
    if (!schema) continue; /* doubled keys in the text: refusing them is right too */
    enum schema_code code = schema_portable_check(schema, &v.arena, &misfit);
    if (!protocol_is(row, "basis", "seed")) continue;
    bool ok = schema_tree_truth(schema_tree_get(row, "ok"), false);
    cr_expect_eq(code, ok ? SCHEMA_OK : SCHEMA_ENOTPORTABLE, "%.*s", ROW(row));
    if (ok) continue;
    struct span path = vectors_string(row, "path");
    cr_expect(span_eq(path, misfit.path) && !path.ptr == !misfit.path.ptr, "%.*s: path %.*s",
              ROW(row), TEXT(misfit.path));
    cr_expect_gt(misfit.why.len, 0, "%.*s", ROW(row));
  }
  cr_expect_gt(rows, 200);
  vectors_close(&v);
}

Test(portable, names_what_is_unknown_in_order)
{
  static const char text[] = "{\"type\":\"object\",\"zeta\":1,\"properties\":{},\"alpha\":1}";
  struct arena arena;
  struct schema_node *schema;
  struct schema_misfit misfit;
  arena_init(&arena, 1 << 20);
  cr_assert_eq(schema_tree_read(span_of(text), 8, &arena, &schema, NULL), SCHEMA_OK);
  cr_assert_eq(schema_portable_check(schema, &arena, &misfit), SCHEMA_ENOTPORTABLE);
  cr_expect_lt(span_find(misfit.why, SPAN("alpha, zeta")), misfit.why.len, "%.*s",
               TEXT(misfit.why));
  cr_expect_lt(span_find(misfit.why, SPAN("object")), misfit.why.len);
  arena_done(&arena);
}

/* {"type":"array","items":… as deep as the reader goes */
Test(portable, goes_as_deep_as_the_reader)
{
  struct buf text;
  struct arena arena;
  struct schema_node *schema;
  buf_init(&text, 1 << 20);
  arena_init(&arena, 1 << 22);
  buf_add(&text, SPAN("{\"type\":\"object\",\"required\":[\"a\"],\"additionalProperties\":false,"
                      "\"properties\":{\"a\":"));
  unsigned depth = SCHEMA_DEPTH_SCHEMA - 3;
  for (unsigned i = 0; i < depth; i++) buf_add(&text, SPAN("{\"type\":\"array\",\"items\":"));
  buf_add(&text, SPAN("{\"type\":\"string\"}"));
  for (unsigned i = 0; i < depth + 2; i++) buf_add_char(&text, '}');
  cr_assert_eq(schema_tree_read(buf_span(&text), SCHEMA_DEPTH_SCHEMA, &arena, &schema, NULL),
               SCHEMA_OK);
  cr_expect_eq(schema_portable_check(schema, &arena, NULL), SCHEMA_OK);
  buf_done(&text);
  arena_done(&arena);
}

Test(portable, fails_cleanly_without_memory)
{
  static const char text[] =
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[\"x\",\"y\"]},"
      "\"b\":{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":1}}},"
      "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}";
  struct arena tree, arena;
  struct schema_node *schema;
  arena_init(&tree, 1 << 20);
  cr_assert_eq(schema_tree_read(span_of(text), 16, &tree, &schema, NULL), SCHEMA_OK);
  for (size_t max = 0; max < 4096; max += 16) {
    struct schema_misfit misfit;
    arena_init(&arena, max);
    enum schema_code code = schema_portable_check(schema, &arena, &misfit);
    cr_expect(code == SCHEMA_ENOTPORTABLE || (code == SCHEMA_ENOMEM && arena.failed), "at %zu",
              max);
    arena_done(&arena);
  }
  arena_done(&tree);
}
