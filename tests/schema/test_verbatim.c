#include "schema/verbatim.h"
#include "tests/lib/protocol.h"

/* The regions of a text, each between < and > for a span, { and } for a block. */
static struct span marked(struct span text, const struct schema_verbatims *v, struct arena *arena)
{
  char *out = arena_alloc(arena, text.len + 2 * v->count + 1);
  size_t n = 0, at = 0;
  for (size_t i = 0; i < v->count; i++) {
    const struct schema_verbatim *r = &v->items[i];
    memcpy(out + n, text.ptr + at, r->start - at);
    n += r->start - at;
    out[n++] = r->block ? '{' : '<';
    memcpy(out + n, text.ptr + r->start, r->end - r->start);
    n += r->end - r->start;
    out[n++] = r->block ? '}' : '>';
    at = r->end;
  }
  memcpy(out + n, text.ptr + at, text.len - at);
  return (struct span) { out, n + text.len - at };
}

static const struct {
  const char *text, *marked;
} rows[] = {
  { "", "" },
  { "no code", "no code" },
  { "a `b` c", "a <`b`> c" },
  { "a ``b ` c`` d", "a <``b ` c``> d" },
  { "a `b", "a `b" },
  { "\\`a` b`", "\\`a<` b`>" },
  { "`a\\` b`", "<`a\\`> b`" },
  { "\\\\`a`", "\\\\<`a`>" },
  { "`a\nb` c", "<`a\nb`> c" },
  { "`a\n\nb`", "`a\n\nb`" },
  { "> `a\n> b`", "> <`a\n> b`>" },
  { "<https://a`b.c>`d`", "<https://a`b.c><`d`>" },
  { "<b`c>`d", "<b<`c>`>d" }, /* HTML is not known */
  { "# `a` `\nb`", "# <`a`> `\nb`" },
  { "```\na\n```\nb", "{```\na\n```}\nb" },
  { "  ```js\n  a\n  ```", "  {```js\n  a\n  ```}" },
  { "````\n```\n````", "{````\n```\n````}" },
  { "```\n~~~\n", "{```\n~~~\n}" },
  { "``` a`b\nx", "``` a`b\nx" },
  { "~~~ a`b\nx", "{~~~ a`b\nx}" },
  { "```\na\n```x\n", "{```\na\n```x\n}" },
  { "```\na\n    ```\n", "{```\na\n    ```\n}" },
  { "> ```\n> a\nb", "> {```\n> a}\nb" },
  { "- ```\n  a\n  ```\n- b", "- {```\n  a\n  ```}\n- b" },
  { "    a\n\n    b\nc", "{    a\n\n    b}\nc" },
  { "\ta", "{\ta}" },
  { "a\n    b", "a\n    b" },
  { "a\n\n    b\n", "a\n\n{    b}\n" },
  { "a\n===\n    b", "a\n===\n{    b}" },
  { "# a\n    b", "# a\n{    b}" },
  { "***\n    b", "***\n{    b}" },
  { "- a\n\n      b", "- a\n\n  {    b}" },
  { "- a\n\n    b", "- a\n\n    b" },
  { "1. a\n\n       b", "1. a\n\n   {    b}" },
  { "-     a", "- {    a}" },
  { "- \n\n  `a`", "- \n\n  <`a`>" },
  { "a\n2. b\n\n       c", "a\n2. b\n\n{       c}" },
  { "> a\n    b", "> a\n    b" },
  { "> a\n\n    b", "> a\n\n{    b}" },
  { "a|b\n-|-\n`c|d`\n    e", "a|b\n-|-\n`c|d`\n{    e}" },
  { "a|b\n-|-\n`c`|`d\ne`", "a|b\n-|-\n<`c`>|`d\ne`" },
  { "a\r\n\r\n    b\r\n`c`", "a\r\n\r\n{    b}\r\n<`c`>" },
};

Test(verbatim, follows_commonmark)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_verbatims v;
    struct span text = span_of(rows[i].text);
    cr_assert(schema_verbatim_find(text, &arena, &v));
    struct span got = marked(text, &v, &arena);
    cr_expect(span_is(got, rows[i].marked), "row %zu: >%.*s<", i, TEXT(got));
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(verbatim, is_found_by_offset)
{
  struct arena arena;
  struct schema_verbatims v;
  struct span text = SPAN("a `b` c `d`");
  size_t cursor = 0, inside = 0;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_verbatim_find(text, &arena, &v));
  for (size_t i = 0; i < text.len; i++) inside += schema_verbatim_at(&v, i, &cursor) != NULL;
  cr_expect_eq(inside, 6);
  arena_done(&arena);
}

/* Containers beyond the bound are text; the work for a blank line stays bounded. */
Test(verbatim, bears_deep_nesting)
{
  enum { DEEP = 100000 };
  struct buf text;
  struct arena arena;
  struct schema_verbatims v;
  arena_init(&arena, 1 << 26);
  buf_init(&text, 1 << 22);
  for (int i = 0; i < DEEP; i++) buf_add(&text, SPAN("- "));
  buf_add(&text, SPAN("`a`"));
  for (int i = 0; i < DEEP; i++) buf_add(&text, SPAN("\n"));
  cr_assert(schema_verbatim_find(buf_span(&text), &arena, &v));
  cr_expect_eq(v.count, 1);
  buf_done(&text);
  arena_done(&arena);
}
