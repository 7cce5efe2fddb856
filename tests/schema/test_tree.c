#include <criterion/criterion.h>

#include "schema/tree.h"

enum { ARENA_MAX = 1 << 24 };

Test(tree, what_was_read)
{
  struct arena arena;
  struct schema_node *root;
  struct span text = SPAN(" {\"n\":-1.50 ,\"s\":\"a\\nb\",\"t\":true,\"f\":false,\"z\":null,"
                          "\"l\":[ 1,[],{\"x\":[2]} ],\"o\":{}} ");
  arena_init(&arena, ARENA_MAX);
  cr_assert_eq(schema_tree_read(text, 8, &arena, &root, NULL), SCHEMA_OK);
  cr_expect_eq(root->kind, SCHEMA_OBJECT);
  cr_expect_eq(root->count, 7);
  cr_expect(span_eq(root->raw, (struct span) { text.ptr + 1, text.len - 2 }));
  cr_expect(span_is(schema_tree_id(schema_tree_get(root, "n")), "-1.50"));
  cr_expect_null(schema_tree_string(schema_tree_get(root, "n")).ptr);
  cr_expect(span_is(schema_tree_string(schema_tree_get(root, "s")), "a\nb"));
  cr_expect(span_is(schema_tree_get(root, "s")->raw, "\"a\\nb\""));
  cr_expect(schema_tree_truth(schema_tree_get(root, "t"), false));
  cr_expect_not(schema_tree_truth(schema_tree_get(root, "f"), true));
  cr_expect(schema_tree_truth(schema_tree_get(root, "z"), true));
  cr_expect_eq(schema_tree_get(root, "z")->kind, SCHEMA_NULL);
  const struct schema_node *list = schema_tree_get(root, "l");
  cr_expect(span_is(list->raw, "[ 1,[],{\"x\":[2]} ]"));
  cr_expect_eq(list->count, 3);
  cr_expect_eq(list->first->next->kind, SCHEMA_ARRAY);
  cr_expect_null(list->first->next->first);
  cr_expect_null(list->first->key.ptr);
  cr_expect(span_is(schema_tree_get(list->first->next->next, "x")->first->text, "2"));
  cr_expect_null(list->first->next->next->next);
  cr_expect_eq(schema_tree_get(root, "o")->count, 0);
  cr_expect_null(schema_tree_get(root, "absent"));
  cr_expect_null(schema_tree_get(list, "x"));
  cr_expect_null(schema_tree_get(NULL, "x"));
  cr_expect_null(schema_tree_id(NULL).ptr);
  arena_done(&arena);
}

Test(tree, lone_values)
{
  static const struct {
    const char *in;
    enum schema_kind kind;
  } rows[] = { { "1", SCHEMA_NUMBER }, { "\"\"", SCHEMA_STRING }, { "null", SCHEMA_NULL },
               { "[]", SCHEMA_ARRAY }, { "true", SCHEMA_BOOL },   { "{}", SCHEMA_OBJECT } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_node *root;
    arena_init(&arena, ARENA_MAX);
    cr_assert_eq(schema_tree_read(span_of(rows[i].in), 1, &arena, &root, NULL), SCHEMA_OK);
    cr_expect_eq(root->kind, rows[i].kind, "row %zu", i);
    cr_expect(span_is(root->raw, rows[i].in), "row %zu", i);
    arena_done(&arena);
  }
}

Test(tree, faults)
{
  static const struct {
    const char *in;
    enum schema_code code;
    size_t at;
  } rows[] = { { "", SCHEMA_ETRUNCATED, 0 },
               { "[1,2", SCHEMA_ETRUNCATED, 4 },
               { "{} x", SCHEMA_ESYNTAX, 3 },
               { "[[[]]]", SCHEMA_EDEPTH, 2 },
               { "{\"a\":1,\"a\":2}", SCHEMA_EDUPLICATE, 7 } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_node *root = NULL;
    struct schema_error e;
    arena_init(&arena, ARENA_MAX);
    cr_expect_eq(schema_tree_read(span_of(rows[i].in), 2, &arena, &root, &e), rows[i].code,
                 "row %zu", i);
    cr_expect_eq(e.code, rows[i].code, "row %zu", i);
    cr_expect_eq(e.at, rows[i].at, "row %zu: %zu", i, e.at);
    cr_expect_null(root);
    cr_expect_eq(schema_tree_read(span_of(rows[i].in), 2, &arena, &root, NULL), rows[i].code);
    arena_done(&arena);
  }
}

Test(tree, as_deep_as_allowed)
{
  static char text[2 * SCHEMA_DEPTH_SCHEMA];
  memset(text, '[', SCHEMA_DEPTH_SCHEMA);
  memset(text + SCHEMA_DEPTH_SCHEMA, ']', SCHEMA_DEPTH_SCHEMA);
  struct arena arena;
  struct schema_node *root;
  struct span whole = { text, sizeof text };
  arena_init(&arena, ARENA_MAX);
  cr_expect_eq(schema_tree_read(whole, SCHEMA_DEPTH_SCHEMA, &arena, &root, NULL), SCHEMA_OK);
  unsigned depth = 0;
  for (const struct schema_node *n = root; n; n = n->first) depth++;
  cr_expect_eq(depth, SCHEMA_DEPTH_SCHEMA);
  arena_done(&arena);
}

Test(tree, memory_may_run_out)
{
  bool ok = false;
  for (size_t max = 0; !ok && max < 1 << 14; max += 16) {
    struct arena arena;
    struct schema_node *root;
    arena_init(&arena, max);
    enum schema_code rc = schema_tree_read(SPAN("[{\"a\":\"\\n\"}]"), 4, &arena, &root, NULL);
    cr_expect(rc == SCHEMA_OK || rc == SCHEMA_ENOMEM);
    ok = rc == SCHEMA_OK;
    arena_done(&arena);
  }
  cr_expect(ok);
}
