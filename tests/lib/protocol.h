/* protocol: what the unit tests of the directives share: which rows of rich_output.jsonl count, and
 * how they compare (exactly, or with white space folded or left out). */
#ifndef TESTS_PROTOCOL_H
#define TESTS_PROTOCOL_H

#include <criterion/criterion.h>

#include "schema/white.h"
#include "tests/lib/vectors.h"

/* "ID: got >TEXT<" for a failing row. */
#define ROW(row) (int)vectors_string(row, "id").len, vectors_string(row, "id").ptr
#define TEXT(s) (int)(s).len, (s).ptr

static inline bool protocol_is(const struct schema_node *row, const char *name, const char *value)
{
  return span_is(vectors_string(row, name), value);
}

/* A row whose answer is settled: in the others any answer is right, a crash is not. */
static inline bool protocol_counts(const struct schema_node *row)
{
  return protocol_is(row, "tier", "core") || protocol_is(row, "tier", "behavior");
}

/* White space folded to one space, or left out; out has room for s.len bytes. */
static inline struct span protocol_folded(struct span s, bool out_of_it, char *out)
{
  size_t n = 0;
  for (size_t i = 0; i < s.len;) {
    size_t white = schema_white_skip(s, i) - i;
    if (white && !out_of_it) out[n++] = ' ';
    if (!white) out[n++] = s.ptr[i];
    i += white ? white : 1;
  }
  return (struct span) { out, n };
}

static inline bool protocol_same_text(struct vectors *v, const struct schema_node *row,
                                      struct span want, struct span got)
{
  bool nows = protocol_is(row, "text_match", "nows"), ws = protocol_is(row, "text_match", "ws");
  if (!nows && !ws) return span_eq(want, got);
  char *a = arena_alloc(&v->arena, want.len + 1), *b = arena_alloc(&v->arena, got.len + 1);
  return span_eq(protocol_folded(want, nows, a), protocol_folded(got, nows, b));
}

static inline bool protocol_same_list(const struct schema_node *want, const struct span *got,
                                      size_t count)
{
  if (!want || want->count != count) return false;
  for (const struct schema_node *n = want->first; n; n = n->next, got++)
    if (!span_eq(n->text, *got)) return false;
  return true;
}

/* Whether the member counts in this row: `normative`, where given, names the only ones. */
static inline bool protocol_wants(const struct schema_node *row, const char *name)
{
  const struct schema_node *normative = schema_tree_get(row, "normative");
  if (!schema_tree_get(schema_tree_get(row, "expect"), name)) return false;
  if (!normative) return true;
  for (const struct schema_node *n = normative->first; n; n = n->next)
    if (span_is(n->text, name)) return true;
  return false;
}

static inline bool protocol_truth(const struct schema_node *row, const char *name)
{
  return schema_tree_truth(schema_tree_get(schema_tree_get(row, "expect"), name), false);
}

#endif
