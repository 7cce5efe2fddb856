#include "schema/payload.h"
#include "tests/lib/protocol.h"

static struct schema_payload payload_of(struct vectors *v, const struct schema_node *node)
{
  const struct schema_node *list = schema_tree_get(node, "media_urls");
  struct schema_payload p = {
    .text = vectors_string(node, "text"),
    .media_url = vectors_string(node, "media_url"),
    .audio_as_voice = schema_tree_truth(schema_tree_get(node, "audio_as_voice"), false),
    .reply_to_id = vectors_string(node, "reply_to_id"),
  };
  if (!list) return p;
  struct span *urls = arena_zalloc(&v->arena, list->count + 1, sizeof *urls);
  for (const struct schema_node *n = list->first; n; n = n->next)
    urls[p.media_url_count++] = n->text;
  p.media_urls = urls;
  return p;
}

static struct schema_directive_options options_of(const struct schema_node *row, bool lines)
{
  const struct schema_node *o = schema_tree_get(row, "options");
  return (struct schema_directive_options) {
    .media_lines = lines,
    .markdown_images =
        lines && schema_tree_truth(schema_tree_get(o, "extract_markdown_images"), false),
  };
}

static void check_payload(struct vectors *v, const struct schema_node *row)
{
  struct schema_payload p = payload_of(v, schema_tree_get(row, "payload"));
  struct schema_directive_options options = options_of(row, true);
  const struct schema_node *want = schema_tree_get(row, "expect");
  struct schema_directives d;
  bool deliver;
  cr_assert(schema_payload_plan(&p, &options, &v->arena, &d, &deliver));
  if (!protocol_counts(row)) return;
  cr_expect_eq(deliver, protocol_truth(row, "deliver"), "%.*s", ROW(row));
  if (protocol_wants(row, "text"))
    cr_expect(span_eq(d.text, vectors_string(want, "text")), "%.*s: >%.*s<", ROW(row),
              TEXT(d.text));
  cr_expect(protocol_same_list(schema_tree_get(want, "media_urls"), d.media, d.media_count),
            "%.*s: media", ROW(row));
  if (protocol_wants(row, "audio_as_voice"))
    cr_expect_eq(d.audio_as_voice, protocol_truth(row, "audio_as_voice"), "%.*s", ROW(row));
  if (protocol_wants(row, "reply_to_id"))
    cr_expect(span_eq(d.reply_to_id, vectors_string(want, "reply_to_id")), "%.*s: id", ROW(row));
}

static void check_tool(struct vectors *v, const struct schema_node *row)
{
  const struct schema_node *want = schema_tree_get(row, "expect");
  struct schema_directives d;
  bool ok;
  cr_assert(schema_payload_from_tool(schema_tree_get(row, "args"), &v->arena, &d, &ok));
  if (!protocol_counts(row)) return;
  cr_expect_eq(ok, protocol_truth(row, "ok"), "%.*s", ROW(row));
  if (!ok) return;
  cr_expect(span_eq(d.text, vectors_string(want, "text")), "%.*s: >%.*s<", ROW(row), TEXT(d.text));
  cr_expect(protocol_same_list(schema_tree_get(want, "media_urls"), d.media, d.media_count),
            "%.*s: media", ROW(row));
  cr_expect_eq(d.audio_as_voice, protocol_truth(row, "audio_as_voice"), "%.*s", ROW(row));
}

static size_t plan_all(struct vectors *v, const struct schema_node *list, bool lines,
                       const struct schema_node *row, struct schema_directives *ret)
{
  struct schema_directive_options options = options_of(row, lines);
  size_t count = 0;
  for (const struct schema_node *n = list->first; n; n = n->next) {
    struct schema_payload p = payload_of(v, n);
    bool deliver;
    cr_assert(schema_payload_plan(&p, &options, &v->arena, &ret[count], &deliver));
    count += deliver;
  }
  return count;
}

static void check_dedupe(struct vectors *v, const struct schema_node *row)
{
  struct schema_directives blocks[8], finals[8];
  struct schema_delivered delivered = { blocks, 0 };
  const struct schema_node *want = schema_tree_get(row, "expect");
  const struct schema_node *payloads = schema_tree_get(want, "final_payloads");
  const struct span *media;
  size_t media_count;
  if (!protocol_is(row, "block_outcome", "not_sent"))
    delivered.block_count = plan_all(v, schema_tree_get(row, "blocks"), false, row, blocks);
  size_t count = plan_all(v, schema_tree_get(row, "final"), true, row, finals);
  cr_assert(schema_payload_dedupe(&delivered, &v->arena, finals, &count));
  cr_assert(schema_payload_media(&delivered, finals, count, &v->arena, &media, &media_count));
  if (!protocol_counts(row)) return;
  cr_assert_eq(count, payloads->count, "%.*s", ROW(row));
  size_t i = 0;
  for (const struct schema_node *n = payloads->first; n; n = n->next, i++) {
    cr_expect(span_eq(finals[i].text, vectors_string(n, "text")), "%.*s: text", ROW(row));
    cr_expect(protocol_same_list(schema_tree_get(n, "media_urls"), finals[i].media,
                                 finals[i].media_count),
              "%.*s: media", ROW(row));
    cr_expect_eq(finals[i].audio_as_voice,
                 schema_tree_truth(schema_tree_get(n, "audio_as_voice"), false), "%.*s", ROW(row));
  }
  cr_expect(protocol_same_list(schema_tree_get(want, "media_delivered"), media, media_count),
            "%.*s: delivered", ROW(row));
}

static void check_mode(const struct schema_node *row)
{
  const struct schema_node *want = schema_tree_get(schema_tree_get(row, "expect"), "reply_to_ids");
  enum schema_reply_mode mode = protocol_is(row, "mode", "all")   ? SCHEMA_REPLY_ALL
                                : protocol_is(row, "mode", "off") ? SCHEMA_REPLY_OFF
                                                                  : SCHEMA_REPLY_FIRST;
  bool allowed = schema_tree_truth(schema_tree_get(row, "explicit_allowed_when_off"), false);
  bool used = false;
  const struct schema_node *id = want->first;
  for (const struct schema_node *n = schema_tree_get(row, "payloads")->first; n; n = n->next) {
    bool keeps =
        schema_reply_mode_keeps(mode, allowed, vectors_string(n, "reply_to_id").len > 0,
                                schema_tree_truth(schema_tree_get(n, "explicit"), false), &used);
    cr_expect_eq(keeps, id->kind == SCHEMA_STRING, "%.*s", ROW(row));
    id = id->next;
  }
}

Test(payload, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "rich_output"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL; rows++) {
    if (protocol_is(row, "kind", "payload")) check_payload(&v, row);
    if (protocol_is(row, "kind", "message_tool")) check_tool(&v, row);
    if (protocol_is(row, "kind", "dedupe")) check_dedupe(&v, row);
    if (protocol_is(row, "kind", "reply_mode")) check_mode(row);
  }
  cr_expect_gt(rows, 300);
  vectors_close(&v);
}

static struct schema_directives said(const char *text, const struct span *media, size_t count)
{
  return (struct schema_directives) { .text = span_of(text), .media = media, .media_count = count };
}

Test(payload, tells_what_it_left_out)
{
  static const struct span urls[] = { { "http://e.com/a.png", 18 }, { "/a.png", 6 } };
  struct schema_payload p = { .text = SPAN("a\nMEDIA:../x.png"),
                              .media_url = SPAN("ftp://e.com/a"),
                              .media_urls = urls,
                              .media_url_count = 2 };
  struct schema_directive_options options = { .media_lines = true };
  struct schema_directives d;
  bool deliver;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_payload_plan(&p, &options, &arena, &d, &deliver));
  cr_expect_eq(d.refused, 3);
  cr_expect_eq(d.media_count, 1);
  cr_expect(span_is(d.text, "a"));
  arena_done(&arena);
}

/* rich-output.md 181 and its issues 7, 8, 10 */
Test(payload, delivers_once)
{
  static const struct span a[] = { { "/ws/a.png", 9 } }, same[] = { { "file:///ws//a.png", 17 } };
  struct schema_directives blocks[] = { said("Part one.", NULL, 0), said("Part  two.", a, 1) };
  struct schema_directives finals[] = {
    said("Part one.\nPart two.", same, 1),
    said("Part one.", NULL, 0),
    said("More", a, 1),
    said("More", NULL, 0),
    said("Again", NULL, 0),
    said("Again", NULL, 0),
  };
  struct schema_delivered delivered = { blocks, 2 };
  struct arena arena;
  size_t count = 6;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_payload_dedupe(&delivered, &arena, finals, &count));
  cr_assert_eq(count, 2);
  cr_expect(span_is(finals[0].text, "More") && finals[0].media_count == 0);
  cr_expect(span_is(finals[1].text, "Again"));
  arena_done(&arena);
}

static const struct {
  const char *args, *text;
  const char *media; /* the first; NULL: none */
  bool ok, voice;
} tools[] = {
  { "{}", "", NULL, false, false },
  { "{\"message\":\" \"}", "", NULL, false, false },
  { "{\"content\":\"a\"}", "a", NULL, true, false },
  { "{\"text\":\"a  b\"}", "a b", NULL, true, false },
  { "{\"message\":\"\",\"caption\":\"c\",\"media_url\":\"/a.png\"}", "c", "/a.png", true, false },
  { "{\"mediaUrls\":\"/a.png\"}", "", "/a.png", true, false },
  { "{\"attachments\":[{\"file_path\":\" /a b.png \"}]}", "", "/a b.png", true, false },
  { "{\"message\":\"x\",\"media\":\"http://e.com/a.png\"}", "x", NULL, true, false },
  { "{\"media\":\"https://127.0.0.1/a.png\"}", "", NULL, false, false },
  { "{\"message\":\"[[audio_as_voice]]x\",\"asVoice\":false}", "x", NULL, true, false },
  { "{\"message\":\"x\",\"audio_as_voice\":\"true\"}", "x", NULL, true, true },
};

Test(payload, reads_the_tool_under_its_names)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    struct schema_node *args;
    struct schema_directives d;
    bool ok;
    cr_assert_eq(schema_tree_read(span_of(tools[i].args), 8, &arena, &args, NULL), SCHEMA_OK);
    cr_assert(schema_payload_from_tool(args, &arena, &d, &ok));
    cr_expect_eq(ok, tools[i].ok, "row %zu", i);
    cr_expect(span_is(d.text, tools[i].text), "row %zu: >%.*s<", i, TEXT(d.text));
    cr_expect_eq(d.audio_as_voice, tools[i].voice, "row %zu", i);
    cr_expect_eq(d.media_count, tools[i].media != NULL, "row %zu", i);
    if (d.media_count) cr_expect(span_is(d.media[0], tools[i].media), "row %zu", i);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(payload, fails_cleanly_without_memory)
{
  static const struct span urls[] = { { "/a.png", 6 }, { "https://e.com/b.png", 19 } };
  struct schema_payload p = { .text = SPAN("[[reply_to:1]] a\nMEDIA:/c.png"),
                              .media_urls = urls,
                              .media_url_count = 2 };
  struct schema_directive_options options = { .media_lines = true };
  for (size_t max = 0; max < 12 * 1024; max += 64) {
    struct arena arena;
    struct schema_directives d;
    bool deliver;
    arena_init(&arena, max);
    bool ok = schema_payload_plan(&p, &options, &arena, &d, &deliver);
    struct schema_delivered delivered = { &d, 1 };
    size_t count = 1;
    if (ok) {
      struct schema_directives finals[] = { d };
      (void)schema_payload_dedupe(&delivered, &arena, finals, &count);
    }
    cr_expect(ok || arena.failed, "at %zu", max);
    arena_done(&arena);
  }
}
