#include "schema/directive.h"
#include "tests/lib/protocol.h"

static struct schema_directive_options options_of(const struct schema_node *row)
{
  const struct schema_node *o = schema_tree_get(row, "options");
  return (struct schema_directive_options) {
    .current_message_id = vectors_string(o, "current_message_id"),
    .media_lines = schema_tree_truth(schema_tree_get(o, "extract_media_directives"), true),
    .markdown_images = schema_tree_truth(schema_tree_get(o, "extract_markdown_images"), false),
  };
}

static void check_row(struct vectors *v, const struct schema_node *row)
{
  struct schema_directive_options options = options_of(row);
  struct schema_directives d;
  cr_assert(schema_directives_read(vectors_string(row, "text"), &options, &v->arena, &d));
  if (!protocol_counts(row)) return;
  const struct schema_node *want = schema_tree_get(row, "expect");
  struct span text = vectors_string(want, "text"), id = vectors_string(want, "reply_to_id");
  if (protocol_wants(row, "text"))
    cr_expect(protocol_same_text(v, row, text, d.text), "%.*s: text >%.*s<", ROW(row),
              TEXT(d.text));
  cr_expect(protocol_same_list(schema_tree_get(want, "media_urls"), d.media, d.media_count),
            "%.*s: media", ROW(row));
  cr_expect_eq(d.audio_as_voice, protocol_truth(row, "audio_as_voice"), "%.*s: voice", ROW(row));
  cr_expect_eq(d.reply_to_current, protocol_truth(row, "reply_to_current"), "%.*s: current",
               ROW(row));
  cr_expect(span_eq(d.reply_to_id, id) && !d.reply_to_id.ptr == !id.ptr, "%.*s: id", ROW(row));
  if (protocol_wants(row, "has_reply_tag"))
    cr_expect_eq(d.has_reply_tag, protocol_truth(row, "has_reply_tag"), "%.*s: tag", ROW(row));
  if (protocol_wants(row, "silent"))
    cr_expect_eq(d.silent, protocol_truth(row, "silent"), "%.*s: silent", ROW(row));
}

Test(directive, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "rich_output"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    if (!protocol_is(row, "kind", "directives")) continue;
    check_row(&v, row);
    rows++;
  }
  cr_expect_gt(rows, 150);
  vectors_close(&v);
}

/* All with MEDIA lines, Markdown images and the message C being answered. */
static const struct {
  const char *text, *left;
  const char *media; /* joined by | */
  const char *reply_to;
  bool voice, silent;
} rows[] = {
  { "", "", "", "", false, false },
  { "plain  text \n", "plain  text", "", "", false, false },
  { "[[reply_to_current]]a", "a", "", "C", false, false },
  { "[[reply_to:1]][[reply_to:[x]]] y", "] y", "", "x", false, false },
  { "[[reply_to: ]]a", "a", "", "", false, false },
  { "a [[reply_to:\n5 ]] b", "a b", "", "5", false, false },
  { "a [[reply_to:5\n6]] b", "a [[reply_to:5\n6]] b", "", "", false, false },
  { "[[reply_to_current] a", "a", "", "", false, false },
  { "a\n[[reply_to_current] a", "a\n[[reply_to_current] a", "", "", false, false },
  { "你好[[audio_as_voice]]世界", "你好 世界", "", "", true, false },
  { "`[[reply_to:1]]` [[reply_to:2]]", "`[[reply_to:1]]`", "", "2", false, false },
  { "> ```\n> [[reply_to:1]]\n> ```\n[[reply_to:2]]", "> ```\n> [[reply_to:1]]\n> ```", "", "2",
    false, false },
  { "See\nMEDIA:/w/a b.png\nmedia: 'x/y.jpg'", "See", "/w/a b.png|x/y.jpg", "", false, false },
  { "MEDIA:\"/w/first image.png\"\nMEDIA:file:///w/%E4%B8%AD.png", "",
    "/w/first image.png|/w/中.png", "", false, false },
  { "See chart\nMEDIA:../outside/a.png", "See chart", "", "", false, false },
  { "See\nMEDIA:https://10.0.0.1/a.png", "See\nMEDIA:https://10.0.0.1/a.png", "", "", false,
    false },
  { "a ![x](https://e.com/i.png) b", "a b", "https://e.com/i.png", "", false, false },
  { "a ![x](https://e.com/i.png?a=1&amp;b=2)", "a", "https://e.com/i.png?a=1&b=2", "", false,
    false },
  { "[![x](https://e.com/i.png)](https://e.com)", "[](https://e.com)", "https://e.com/i.png", "",
    false, false },
  { "![x](https://192.168.0.1/i.png)", "![x](https://192.168.0.1/i.png)", "", "", false, false },
  { "[[audio_as_voice]]\nMEDIA:/tmp/t.mp3", "", "/tmp/t.mp3", "", true, false },
  { "NO_REPLY\nMEDIA:/a.png", "", "/a.png", "", false, true },
  { "[[reply_to:4]] no_reply.", "", "", "4", false, true },
  { "All good.\n\nNO_REPLY", "All good.\n\nNO_REPLY", "", "", false, false },
  { "use a[[0", "use a[[0", "", "", false, false },
};

static bool media_is(const struct schema_directives *d, const char *joined)
{
  char all[256];
  size_t n = 0;
  for (size_t i = 0; i < d->media_count && n + d->media[i].len + 1 < sizeof all; i++) {
    if (i) all[n++] = '|';
    memcpy(all + n, d->media[i].ptr, d->media[i].len);
    n += d->media[i].len;
  }
  return span_is((struct span) { all, n }, joined);
}

static const struct schema_directive_options all_on = { .current_message_id = { "C", 1 },
                                                        .media_lines = true,
                                                        .markdown_images = true };

Test(directive, takes_directives_out)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_directives d;
    cr_assert(schema_directives_read(span_of(rows[i].text), &all_on, &arena, &d));
    cr_expect(span_is(d.text, rows[i].left), "row %zu: >%.*s<", i, TEXT(d.text));
    cr_expect(media_is(&d, rows[i].media), "row %zu: media", i);
    cr_expect(span_is(d.reply_to_id, rows[i].reply_to), "row %zu: id", i);
    cr_expect_eq(d.audio_as_voice, rows[i].voice, "row %zu: voice", i);
    cr_expect_eq(d.silent, rows[i].silent, "row %zu: silent", i);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(directive, leaves_media_alone_unless_asked)
{
  static const char text[] = "a\nMEDIA:/b.png\n![c](https://e.com/c.png)";
  struct schema_directive_options none = { .media_lines = false };
  struct schema_directives d;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_directives_read(span_of(text), &none, &arena, &d));
  cr_expect(span_is(d.text, text));
  cr_expect_eq(d.media_count, 0);
  arena_done(&arena);
}

Test(directive, becomes_a_reply)
{
  static const struct span media[] = {
    { "/w/a.PNG", 8 }, { "https://e.com/v.mp3?x=.png", 26 }, { "b.mp4", 5 }, { "/w/noext", 8 }
  };
  static const enum schema_type types[] = { SCHEMA_TEXT, SCHEMA_IMAGE, SCHEMA_AUDIO, SCHEMA_VIDEO,
                                            SCHEMA_FILE };
  struct schema_directives d = { .text = SPAN("t"), .media = media, .media_count = 4 };
  struct schema_reply reply;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  d.reply_to_id = SPAN("-7");
  for (int voice = 0; voice < 2; voice++) {
    d.audio_as_voice = voice;
    cr_assert(schema_directives_reply(&d, &arena, &reply));
    cr_assert_eq(reply.count, 1);
    cr_assert_eq(reply.messages[0].count, 5);
    cr_expect(span_is(reply.messages[0].reply_to, "-7"));
    for (size_t i = 0; i < 5; i++) {
      const struct schema_segment *s = &reply.messages[0].segments[i];
      cr_expect_eq(s->type, types[i], "segment %zu", i);
      cr_expect_eq(s->as_file, s->type == SCHEMA_AUDIO && !voice, "segment %zu", i);
      if (i == 0) continue;
      cr_expect(span_eq(s->text, media[i - 1]), "segment %zu", i);
      cr_expect_eq(s->media_kind, i == 2 ? SCHEMA_MEDIA_URL : SCHEMA_MEDIA_PATH, "segment %zu", i);
    }
  }
  arena_done(&arena);
}

Test(directive, of_nothing_is_no_message)
{
  struct schema_directives d = { .text = SPAN(" \n"), .audio_as_voice = true };
  struct schema_reply reply;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_directives_reply(&d, &arena, &reply));
  cr_expect_eq(reply.count, 0);
  arena_done(&arena);
}

Test(directive, fails_cleanly_without_memory)
{
  static const char text[] =
      "[[reply_to:1]] `a` [[audio_as_voice]]\nMEDIA:/a b.png\n![x](https://e.com/\\(a.png)\n"
      "MEDIA:file:///c.png\n```\n[[reply_to:2]]\n";
  for (size_t max = 0; max < 16 * 1024; max += 64) {
    struct arena arena;
    struct schema_directives d;
    struct schema_reply reply;
    arena_init(&arena, max);
    if (schema_directives_read(span_of(text), &all_on, &arena, &d))
      (void)schema_directives_reply(&d, &arena, &reply);
    else
      cr_expect(arena.failed, "at %zu", max);
    arena_done(&arena);
  }
}
