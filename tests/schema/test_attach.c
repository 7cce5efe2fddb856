#include "schema/attach.h"
#include "tests/lib/protocol.h"

static const struct {
  const char *text, *left;
  const char *media; /* joined by | */
} rows[] = {
  { "", "", "" },
  { "a\nMEDIA:/x.png\nb", "a\nb", "/x.png" },
  { "a\n\nMEDIA:/x.png\n\nb", "a\n\n\nb", "/x.png" },
  { "\n \nMEDIA:/x.png\n\nb", "b", "/x.png" },
  { "MEDIA:/a b c.png", "", "/a b c.png" },
  { "MEDIA:/a b.png c/d.png", "", "/a b.png|c/d.png" },
  { "MEDIA:/a.png https://e.com/b.png", "", "/a.png|https://e.com/b.png" },
  { "MEDIA:/x y.png and words", "", "/x y.png and words" },
  { "MEDIA:https://e.com/a.png  and   words", "and words", "https://e.com/a.png" },
  { "MEDIA:\"https://e.com/a.png?t=a,\"", "", "https://e.com/a.png?t=a," },
  { "MEDIA:/t/a.png\"}],\"d\":{\"n\":1}", "", "/t/a.png" },
  { "MEDIA:name.png", "", "name.png" },
  { "MEDIA:my file.png", "", "my file.png" },
  { "MEDIA:word", "MEDIA:word", "" },
  { "MEDIA:\"\"", "MEDIA:\"\"", "" },
  { "MEDIA:~bob/a.png", "", "" },
  { "MEDIA:http://e.com/a.png", "MEDIA:http://e.com/a.png", "" },
  { "MEDIA:data:image/png;base64,AA", "MEDIA:data:image/png;base64,AA", "" },
  { "x MEDIA:/a.png", "x MEDIA:/a.png", "" },
  { "```\nMEDIA:/a.png\n```", "```\nMEDIA:/a.png\n```", "" },
  { "- item\n  MEDIA:/a.png", "- item", "/a.png" },
  { "`a\nMEDIA:/a.png\nb`", "`a\nb`", "/a.png" },
  { "![a](https://e.com/1.png) and ![b](https://e.com/2.png)", "and",
    "https://e.com/1.png|https://e.com/2.png" },
  { "![a[b]](<https://e.com/1.png>)", "", "https://e.com/1.png" },
  { "![a](https://e.com/a_(1).png 'title')", "", "https://e.com/a_(1).png" },
  { "![a](https://e.com/1.png", "![a](https://e.com/1.png", "" },
  { "[a](b![c](https://e.com/1.png)d)", "[a](b![c](https://e.com/1.png)d)", "" },
  { "\\![a](https://e.com/1.png)", "\\![a](https://e.com/1.png)", "" },
  { "`![a](https://e.com/1.png)`", "`![a](https://e.com/1.png)`", "" },
  { "![a](/1.png) ![b]() ![c](x", "![a](/1.png) ![b]() ![c](x", "" },
};

static bool joined_is(const struct span *items, size_t count, const char *joined)
{
  char all[256];
  size_t n = 0;
  for (size_t i = 0; i < count && n + items[i].len + 1 < sizeof all; i++) {
    if (i) all[n++] = '|';
    memcpy(all + n, items[i].ptr, items[i].len);
    n += items[i].len;
  }
  return span_is((struct span) { all, n }, joined);
}

Test(attach, takes_lines_and_images)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_attached a;
    cr_assert(schema_attach_take(span_of(rows[i].text), SCHEMA_ATTACH_LINES | SCHEMA_ATTACH_IMAGES,
                                 &arena, &a));
    cr_expect(span_is(a.text, rows[i].left), "row %zu: >%.*s<", i, TEXT(a.text));
    cr_expect(joined_is(a.media, a.count, rows[i].media), "row %zu: media", i);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(attach, takes_only_what_is_asked_for)
{
  static const char text[] = "MEDIA:/a.png\n![b](https://e.com/b.png)";
  struct schema_attached a;
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_assert(schema_attach_take(span_of(text), 0, &arena, &a));
  cr_expect(span_is(a.text, text) && a.count == 0 && !a.taken);
  cr_assert(schema_attach_take(span_of(text), SCHEMA_ATTACH_LINES, &arena, &a));
  cr_expect(joined_is(a.media, a.count, "/a.png"));
  cr_assert(schema_attach_take(span_of(text), SCHEMA_ATTACH_IMAGES, &arena, &a));
  cr_expect(joined_is(a.media, a.count, "https://e.com/b.png"));
  arena_done(&arena);
}

Test(attach, bounds_the_images_of_a_line)
{
  struct buf text;
  struct schema_attached a;
  struct arena arena;
  arena_init(&arena, 1 << 24);
  buf_init(&text, 1 << 20);
  for (int i = 0; i < 60; i++) buf_add(&text, SPAN("![a](https://e.com/b.png)"));
  cr_assert(schema_attach_take(buf_span(&text), SCHEMA_ATTACH_IMAGES, &arena, &a));
  cr_expect_eq(a.count, 50);
  while (text.len < 20001) buf_add_char(&text, 'x');
  cr_assert(schema_attach_take(buf_span(&text), SCHEMA_ATTACH_IMAGES, &arena, &a));
  cr_expect_eq(a.count, 0);
  buf_done(&text);
  arena_done(&arena);
}
