#include "schema/stream.h"
#include "tests/lib/protocol.h"

static void push(struct schema_stream *s, struct span chunk, bool last, struct arena *arena,
                 struct buf *shown)
{
  struct span text;
  cr_assert(schema_stream_push(s, chunk, last, arena, &text));
  buf_add(shown, text);
}

Test(stream, agrees_with_the_vectors)
{
  struct vectors v;
  cr_assert(vectors_open(&v, "rich_output"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    const struct schema_node *want = schema_tree_get(row, "expect");
    struct schema_stream s;
    struct buf shown;
    if (!protocol_is(row, "kind", "stream")) continue;
    schema_stream_init(&s);
    buf_init(&shown, 1 << 20);
    for (const struct schema_node *n = schema_tree_get(row, "chunks")->first; n; n = n->next)
      push(&s, n->text, false, &v.arena, &shown);
    push(&s, SPAN(""), true, &v.arena, &shown);
    cr_expect(protocol_same_text(&v, row, vectors_string(want, "text"), buf_span(&shown)),
              "%.*s: >%s<", ROW(row), shown.ptr);
    cr_expect(span_eq(buf_span(&s.id), vectors_string(want, "reply_to_id")), "%.*s", ROW(row));
    cr_expect_eq(s.reply_to_current, protocol_truth(row, "reply_to_current"), "%.*s", ROW(row));
    cr_expect_eq(s.audio_as_voice, protocol_truth(row, "audio_as_voice"), "%.*s", ROW(row));
    schema_stream_done(&s);
    buf_done(&shown);
  }
  vectors_close(&v);
}

/* Cut in two and into single bytes: no part of a tag is ever shown. */
Test(stream, never_shows_a_tag_wherever_it_is_cut)
{
  const struct span text = SPAN("a [[reply_to: 5 ]] b [c] [[audio_as_voice]]\nMEDIA:/x.png\nd");
  struct arena arena;
  arena_init(&arena, 1 << 22);
  for (size_t cut = 0; cut <= text.len; cut++) {
    struct schema_stream s;
    struct buf shown;
    char folded[64];
    schema_stream_init(&s);
    buf_init(&shown, 1 << 10);
    push(&s, (struct span) { text.ptr, cut }, false, &arena, &shown);
    cr_expect(cut == 0 || span_find(buf_span(&shown), SPAN("[[")) == shown.len, "cut %zu", cut);
    for (size_t i = cut; i < text.len; i++)
      push(&s, (struct span) { text.ptr + i, 1 }, false, &arena, &shown);
    push(&s, SPAN(""), true, &arena, &shown);
    cr_expect(span_is(protocol_folded(buf_span(&shown), true, folded), "ab[c]MEDIA:/x.pngd"),
              "cut %zu: >%s<", cut, shown.ptr);
    cr_expect(span_is(buf_span(&s.id), "5"), "cut %zu", cut);
    cr_expect(s.audio_as_voice, "cut %zu", cut);
    schema_stream_done(&s);
    buf_done(&shown);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

/* What stays open is let out at the end, and at the limit. */
Test(stream, lets_out_what_is_no_tag)
{
  struct schema_stream s;
  struct buf shown;
  struct arena arena;
  struct span text;
  schema_stream_init(&s);
  buf_init(&shown, 1 << 20);
  arena_init(&arena, 1 << 24);
  push(&s, SPAN("use a[[0 then"), false, &arena, &shown);
  push(&s, SPAN(" more"), true, &arena, &shown);
  cr_expect(span_is(buf_span(&shown), "use a[[0 then more"), "%s", shown.ptr);
  schema_stream_done(&s);
  schema_stream_init(&s);
  char *many = arena_alloc(&arena, SCHEMA_STREAM_HELD_MAX);
  memset(many, 'x', SCHEMA_STREAM_HELD_MAX);
  push(&s, SPAN("[["), false, &arena, &shown);
  cr_assert(
      schema_stream_push(&s, (struct span) { many, SCHEMA_STREAM_HELD_MAX }, false, &arena, &text));
  cr_expect_eq(text.len, SCHEMA_STREAM_HELD_MAX + 2);
  schema_stream_done(&s);
  buf_done(&shown);
  arena_done(&arena);
}
