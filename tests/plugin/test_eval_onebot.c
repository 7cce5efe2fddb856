/* Every row of the OneBot vectors through the very functions of `replygate eval`, compared by the
 * rules of shared vectors/README.md. The command's file is part of this program: it is in no
 * library. */
#include <criterion/criterion.h>

#include "plugin/command/eval_onebot.c"
#include "tests/lib/vectors.h"

static bool is_text(const struct schema_node *s)
{
  const struct schema_node *data = schema_tree_get(s, "data");
  return data && data->count == 1 && s->count == 2 && span_is(vectors_string(s, "type"), "text") &&
         vectors_string(data, "text").ptr;
}

/* Joins neighbouring texts and takes the defaults of reactions out. */
static void normalise(struct schema_node *node, struct arena *arena)
{
  bool reacts = schema_tree_get(node, "message_id") != NULL;
  struct schema_node **link = &node->first;
  while (*link) {
    struct schema_node *child = *link;
    normalise(child, arena);
    struct schema_node *next = child->next;
    if (reacts && child->kind == SCHEMA_BOOL && child->truth &&
        (span_is(child->key, "set") || span_is(child->key, "is_add"))) {
      *link = next;
      node->count--;
      continue;
    }
    while (node->kind == SCHEMA_ARRAY && next && is_text(child) && is_text(next)) {
      struct schema_node *text = schema_tree_get(schema_tree_get(child, "data"), "text");
      struct span more = vectors_string(schema_tree_get(next, "data"), "text");
      text->text = arena_printf(arena, "%.*s%.*s", (int)text->text.len, text->text.ptr,
                                (int)more.len, more.ptr);
      next = child->next = next->next;
      node->count--;
    }
    link = &child->next;
  }
}

static bool fits(const struct schema_node *want, const struct schema_node *got)
{
  const struct schema_node *error = schema_tree_get(got, "error");
  if (error && !schema_tree_get(want, "error")) return false;
  for (const struct schema_node *w = want->first; w; w = w->next) {
    if (!span_is(w->key, "error")) {
      const struct schema_node *g = NULL;
      for (const struct schema_node *m = got->first; m; m = m->next)
        if (span_eq(m->key, w->key)) g = m;
      if (!vectors_equal(w, g)) return false;
      continue;
    }
    for (const struct schema_node *m = w->first; m; m = m->next)
      if (!error ||
          !span_eq(vectors_string(error, m->key.ptr[0] == 'c' ? "code" : "path"), m->text))
        return false;
  }
  return true;
}

/* The output of one case as a tree. */
static struct schema_node *answer(rg_eval_fn *run, const struct schema_node *row,
                                  struct arena *arena)
{
  struct buf out;
  buf_init(&out, VECTORS_ARENA_MAX);
  struct schema_writer w = { .out = &out };
  struct schema_error error = { .code = SCHEMA_OK };
  schema_write_object(&w);
  if (run(row, arena, &w, &error) != SCHEMA_OK) {
    schema_write_key(&w, SPAN("error"));
    schema_write_object(&w);
    schema_write_pair(&w, "code", span_of(schema_code_word(error.code)));
    schema_write_pair(&w, "path", span_of(error.path));
    schema_write_object_end(&w);
  }
  schema_write_object_end(&w);
  struct span text = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  struct schema_node *tree = NULL;
  cr_expect_eq(schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, arena, &tree, NULL), SCHEMA_OK,
               "no JSON: %s", text.ptr);
  return tree;
}

static void run_file(const char *name, rg_eval_fn *run, size_t expected)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, name), "%s", name);
  for (struct schema_node *row; (row = vectors_next(&v)); rows++) {
    struct schema_node *got = answer(run, row, &v.arena);
    struct schema_node *want = schema_tree_get(row, "expect"), *alt = schema_tree_get(row, "alt");
    if (!got) continue;
    normalise(got, &v.arena);
    normalise(want, &v.arena);
    bool right = fits(want, got);
    for (struct schema_node *a = alt ? alt->first : NULL; a && !right; a = a->next) {
      normalise(a, &v.arena);
      right = fits(a, got);
    }
    cr_expect(right, "%.*s: got %.*s", (int)vectors_string(row, "id").len,
              vectors_string(row, "id").ptr, (int)got->raw.len, got->raw.ptr);
  }
  cr_expect(rows >= expected, "%s has %zu rows", name, rows);
  vectors_close(&v);
}

Test(eval_onebot, plans)
{
  run_file("plan", rg_eval_plan, 178);
}

Test(eval_onebot, actions)
{
  run_file("action", rg_eval_action, 123);
}

Test(eval_onebot, outcomes)
{
  run_file("outcome", rg_eval_outcome, 59);
}

Test(eval_onebot, events)
{
  run_file("event", rg_eval_event, 52);
}

Test(eval_onebot, faces)
{
  run_file("face", rg_eval_face, 71);
}
