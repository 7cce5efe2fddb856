#include "schema/embed.h"
#include "tests/lib/protocol.h"

/* The previews of a text as {"canvas":[…]} in the shape of the vectors. */
static const struct schema_node *canvas_of(struct vectors *v, const struct schema_embeds *e)
{
  struct buf out;
  struct schema_writer w = { .out = &out };
  struct schema_node *node = NULL;
  buf_init(&out, 1 << 20);
  schema_write_array(&w);
  for (size_t i = 0; i < e->count; i++) {
    schema_write_object(&w);
    schema_write_pair(&w, "type", SPAN("canvas"));
    schema_write_key(&w, SPAN("preview"));
    schema_embed_write(&w, &e->items[i]);
    schema_write_object_end(&w);
  }
  schema_write_array_end(&w);
  struct span text = arena_copy(&v->arena, buf_span(&out));
  buf_done(&out);
  cr_assert_eq(schema_tree_read(text, 16, &v->arena, &node, NULL), SCHEMA_OK);
  return node;
}

static void check_shortcodes(struct vectors *v, const struct schema_node *row)
{
  struct schema_embeds e;
  struct span text = vectors_string(row, "text");
  const struct schema_node *want = schema_tree_get(row, "expect");
  if (!text.ptr || !protocol_is(row, "role", "assistant")) return; /* content: see eval */
  cr_assert(schema_embeds_take(text, &v->arena, &e));
  if (!protocol_counts(row)) return;
  struct span left = schema_white_trim_end(e.text);
  struct span wanted = schema_white_trim_end(vectors_string(want, "text"));
  if (protocol_wants(row, "text"))
    cr_expect(protocol_same_text(v, row, wanted, left), "%.*s: >%.*s<", ROW(row), TEXT(left));
  cr_expect(vectors_equal(schema_tree_get(want, "canvas"), canvas_of(v, &e)), "%.*s", ROW(row));
}

static void check_block(const struct schema_node *row)
{
  struct schema_embed e;
  bool recognized = schema_embed_read(schema_tree_get(row, "block"), &e);
  if (!protocol_counts(row)) return;
  cr_expect_eq(recognized, protocol_truth(row, "recognized"), "%.*s", ROW(row));
  if (!recognized) return;
  const struct schema_node *want = schema_tree_get(schema_tree_get(row, "expect"), "preview");
  cr_expect(span_eq(e.view_id, vectors_string(want, "viewId")), "%.*s", ROW(row));
  cr_expect(span_eq(e.url, vectors_string(want, "url")), "%.*s", ROW(row));
  cr_expect(span_eq(e.height, schema_tree_get(want, "preferredHeight")->text), "%.*s", ROW(row));
}

Test(embed, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "rich_output"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    rows++;
    if (protocol_is(row, "kind", "embed")) check_shortcodes(&v, row);
    if (protocol_is(row, "kind", "canvas_block")) check_block(row);
    if (!protocol_is(row, "kind", "embed_url")) continue;
    bool external = schema_tree_truth(schema_tree_get(row, "allow_external"), false);
    bool want = schema_tree_truth(schema_tree_get(row, "renderable"), false);
    cr_expect_eq(schema_embed_renderable(vectors_string(row, "url"), external), want, "%.*s",
                 ROW(row));
  }
  cr_expect_gt(rows, 300);
  vectors_close(&v);
}

static const struct {
  const char *text, *left;
  size_t count;
} rows[] = {
  { "a [embed ref=\"x\"]words [embed ref=\"y\" /][/embed] b", "a  b", 1 },
  { "[embed ref=\"x\"]<p>hello</p>[/embed]", "[embed ref=\"x\"]<p>hello</p>[/embed]", 0 },
  { "[embed url=\"/x\" /] keep [/embed]", " keep [/embed]", 1 },
  { "[embed ref=\"x\"]", "[embed ref=\"x\"]", 0 },
  { "[embed ref=\"x\" / ]", "[embed ref=\"x\" / ]", 0 },
  { "`[embed ref=\"x\" /]` [embed ref=\"y\" /]", "`[embed ref=\"x\" /]` ", 1 },
  { "[present_view ref=\"x\" /]", "[present_view ref=\"x\" /]", 0 },
};

Test(embed, takes_shortcodes_out)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_embeds e;
    cr_assert(schema_embeds_take(span_of(rows[i].text), &arena, &e));
    cr_expect(span_is(e.text, rows[i].left), "row %zu: >%.*s<", i, TEXT(e.text));
    cr_expect_eq(e.count, rows[i].count, "row %zu", i);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

static const struct {
  const char *written, *height; /* NULL: none */
} heights[] = {
  { "160", "160" },
  { "159.9", NULL },
  { "0160", "160" },
  { "1.6e2", "160" },
  { "16000e-2", "160" },
  { "0x140", "320" },
  { "0b101000000", "320" },
  { "1e308", "1200" },
  { "1e400", NULL },
  { "-320", NULL },
  { "+320.", "320" },
  { ".32e3", "320" },
  { "3 20", NULL },
  { "Infinity", NULL },
  { "0.0000032e8", "320" },
  { "99999999999", "1200" },
  { "e3", NULL },
  { "1e", NULL },
  { ".", NULL },
};

Test(embed, reads_heights_as_numbers)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
    struct schema_embeds e;
    struct span text = arena_printf(&arena, "[embed ref='a' height='%s' /]", heights[i].written);
    cr_assert(schema_embeds_take(text, &arena, &e));
    cr_assert_eq(e.count, 1);
    cr_expect(span_eq(e.items[0].height, span_of(heights[i].height)), "%s: %.*s",
              heights[i].written, TEXT(e.items[0].height));
  }
  arena_done(&arena);
}
