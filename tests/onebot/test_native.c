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

/* CQ string -> array; back where it says so. */
static const struct {
  const char *label, *cq, *array;
  bool back;
} strings[] = {
  { "empty", "", "[]", true },
  { "plain", "你好", "[" T("你好") "]", true },
  { "at", "[CQ:at,qq=10001] hi", "[{\"type\":\"at\",\"data\":{\"qq\":\"10001\"}}," T(" hi") "]",
    true },
  { "no data", "[CQ:dice]", "[{\"type\":\"dice\",\"data\":{}}]", true },
  { "two codes", "[CQ:dice][CQ:rps]",
    "[{\"type\":\"dice\",\"data\":{}},{\"type\":\"rps\",\"data\":{}}]", true },
  { "value with =", "[CQ:image,file=a=b]", "[{\"type\":\"image\",\"data\":{\"file\":\"a=b\"}}]",
    true },
  { "escaped value", "[CQ:x,k=&#91;a&#44;b&#93;&amp;]",
    "[{\"type\":\"x\",\"data\":{\"k\":\"[a,b]&\"}}]", true },
  { "escaped text", "&#91;CQ:at,qq=all&#93; &amp;", "[" T("[CQ:at,qq=all] &") "]", true },
  { "decoded once", "&amp;#91;", "[" T("&#91;") "]", true },
  { "twice escaped", "&amp;amp;", "[" T("&amp;") "]", true },
  { "comma in text", "a,b", "[" T("a,b") "]", true },
  { "escaped comma in text", "a&#44;b", "[" T("a,b") "]", false },
  { "unknown escape", "&lt;&#92;&", "[" T("&lt;&#92;&") "]", false },
  { "unclosed", "[CQ:at,qq=1", "[" T("[CQ:at,qq=1") "]", false },
  { "pair without =", "[CQ:at,qq]", "[" T("[CQ:at,qq]") "]", false },
  { "trailing comma", "[CQ:at,qq=1,]", "[" T("[CQ:at,qq=1,]") "]", false },
  { "empty key", "[CQ:at,=1]", "[" T("[CQ:at,=1]") "]", false },
  { "space before the key", "[CQ:at, qq=1]", "[" T("[CQ:at, qq=1]") "]", false },
  { "doubled key", "[CQ:at,qq=10001,qq=all]", "[" T("[CQ:at,qq=10001,qq=all]") "]", false },
  { "no type", "[CQ:]", "[" T("[CQ:]") "]", false },
  { "odd type", "[CQ:a b]", "[" T("[CQ:a b]") "]", false },
  { "lower case prefix", "[cq:at,qq=1]", "[" T("[cq:at,qq=1]") "]", false },
  { "code in a code", "[CQ:image,file=[CQ:dice]",
    "[" T("[CQ:image,file=") ","
                             "{\"type\":\"dice\",\"data\":{}}]",
    false },
  { "bracket in text", "[x] [CQ:dice]]",
    "[" T("[x] ") ",{\"type\":\"dice\",\"data\":{}}," T("]") "]", false },
  { "empty value", "[CQ:at,qq=]", "[{\"type\":\"at\",\"data\":{\"qq\":\"\"}}]", true },
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

Test(native, writes_what_it_reads)
{
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    struct arena arena;
    struct schema_node *array;
    arena_init(&arena, 1 << 20);
    struct buf out;
    buf_init(&out, 1 << 20);
    cr_assert_eq(schema_tree_read(span_of(strings[i].array), 64, &arena, &array, NULL), SCHEMA_OK,
                 "%s", strings[i].label);
    ob_native_write_cq(array, &out);
    const struct schema_node *again = ob_native_read_cq(buf_span(&out), &arena);
    bool one_text = array->count == 1; /* neighbours become one text */
    if (strings[i].back)
      cr_expect(span_is(buf_span(&out), strings[i].cq), "%s: %s", strings[i].label, out.ptr);
    if (one_text)
      cr_expect(span_is(written(again, &arena), strings[i].array), "%s", strings[i].label);
    buf_done(&out);
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
