#include <criterion/criterion.h>

#include "onebot/native.h"
#include "schema/print.h"

static struct span written(const struct schema_node *node, struct arena *arena)
{
  struct buf out;
  buf_init(&out, 1 << 20);
  struct schema_writer w = { .out = &out };
  if (node)
    schema_write_tree(&w, node);
  else
    schema_write_null(&w);
  struct span text = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return text;
}

#define T(text) "{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}"

/* CQ string -> array. */
static const struct {
  const char *label, *cq, *array;
} strings[] = {
  { "empty", "", "[]" },
  { "plain", "你好", "[" T("你好") "]" },
  { "at", "[CQ:at,qq=10001] hi", "[{\"type\":\"at\",\"data\":{\"qq\":\"10001\"}}," T(" hi") "]" },
  { "no data", "[CQ:dice]", "[{\"type\":\"dice\",\"data\":{}}]" },
  { "two codes", "[CQ:dice][CQ:rps]",
    "[{\"type\":\"dice\",\"data\":{}},{\"type\":\"rps\",\"data\":{}}]" },
  { "value with =", "[CQ:image,file=a=b]", "[{\"type\":\"image\",\"data\":{\"file\":\"a=b\"}}]" },
  { "escaped value", "[CQ:x,k=&#91;a&#44;b&#93;&amp;]",
    "[{\"type\":\"x\",\"data\":{\"k\":\"[a,b]&\"}}]" },
  { "escaped text", "&#91;CQ:at,qq=all&#93; &amp;", "[" T("[CQ:at,qq=all] &") "]" },
  { "decoded once", "&amp;#91;", "[" T("&#91;") "]" },
  { "twice escaped", "&amp;amp;", "[" T("&amp;") "]" },
  { "comma in text", "a,b", "[" T("a,b") "]" },
  { "escaped comma in text", "a&#44;b", "[" T("a,b") "]" },
  { "unknown escape", "&lt;&#92;&", "[" T("&lt;&#92;&") "]" },
  { "unclosed", "[CQ:at,qq=1", "[" T("[CQ:at,qq=1") "]" },
  { "pair without =", "[CQ:at,qq]", "[" T("[CQ:at,qq]") "]" },
  { "trailing comma", "[CQ:at,qq=1,]", "[" T("[CQ:at,qq=1,]") "]" },
  { "empty key", "[CQ:at,=1]", "[" T("[CQ:at,=1]") "]" },
  { "space before the key", "[CQ:at, qq=1]", "[" T("[CQ:at, qq=1]") "]" },
  { "doubled key", "[CQ:at,qq=10001,qq=all]", "[" T("[CQ:at,qq=10001,qq=all]") "]" },
  { "no type", "[CQ:]", "[" T("[CQ:]") "]" },
  { "odd type", "[CQ:a b]", "[" T("[CQ:a b]") "]" },
  { "lower case prefix", "[cq:at,qq=1]", "[" T("[cq:at,qq=1]") "]" },
  { "code in a code", "[CQ:image,file=[CQ:dice]",
    "[" T("[CQ:image,file=") ","
                             "{\"type\":\"dice\",\"data\":{}}]" },
  { "bracket in text", "[x] [CQ:dice]]",
    "[" T("[x] ") ",{\"type\":\"dice\",\"data\":{}}," T("]") "]" },
  { "empty value", "[CQ:at,qq=]", "[{\"type\":\"at\",\"data\":{\"qq\":\"\"}}]" },
};

Test(native, reads_strings_with_codes)
{
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const struct schema_node *array = ob_native_read_cq(span_of(strings[i].cq), &arena);
    struct span got = written(array, &arena);
    cr_expect(span_is(got, strings[i].array), "%s: %s", strings[i].label, got.ptr);
    arena_done(&arena);
  }
}

Test(native, reads_every_form)
{
  static const struct {
    const char *label, *message, *array;
    bool literal;
  } rows[] = {
    { "array", "[" T("a") "]", "[" T("a") "]", false },
    { "object", T("a"), "[" T("a") "]", false },
    { "string", "\"a[CQ:dice]\"", "[" T("a") ",{\"type\":\"dice\",\"data\":{}}]", false },
    { "literal string", "\"a[CQ:dice]&amp;\"", "[" T("a[CQ:dice]&amp;") "]", true },
    { "literal array", "[" T("a") "]", "[" T("a") "]", true },
    { "null", "null", "null", false },
    { "number", "5", "null", false },
    { "boolean", "true", "null", false },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_node *message;
    arena_init(&arena, 1 << 20);
    cr_assert_eq(schema_tree_read(span_of(rows[i].message), 64, &arena, &message, NULL), SCHEMA_OK);
    struct span got = written(ob_native_read(message, rows[i].literal, &arena), &arena);
    cr_expect(span_is(got, rows[i].array), "%s: %s", rows[i].label, got.ptr);
    arena_done(&arena);
  }
  cr_expect_null(ob_native_read(NULL, false, NULL));
}

Test(native, refuses_a_code_with_too_many_pairs)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  struct buf text;
  buf_init(&text, 1 << 20);
  buf_add(&text, SPAN("[CQ:x"));
  for (int i = 0; i < 65; i++) buf_printf(&text, ",k%d=v", i);
  buf_add_char(&text, ']');
  const struct schema_node *array = ob_native_read_cq(buf_span(&text), &arena);
  cr_assert_not_null(array);
  cr_expect(span_is(schema_tree_string(schema_tree_get(array->first, "type")), "text"));
  buf_done(&text);
  arena_done(&arena);
}

Test(native, gives_up_without_memory)
{
  struct arena arena;
  for (size_t max = 0; max < 2048; max += 64) {
    arena_init(&arena, max);
    const struct schema_node *array =
        ob_native_read_cq(SPAN("a&amp;b[CQ:at,qq=&#44;1][CQ:dice]c&amp;d"), &arena);
    cr_expect(!array || array->count == 4, "%zu bytes: %zu", max, array ? array->count : 0);
    arena_done(&arena);
  }
}
