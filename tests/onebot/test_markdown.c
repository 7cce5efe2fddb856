#include <criterion/criterion.h>

#include "onebot/markdown.h"

static const struct {
  const char *label, *markdown, *text;
} rows[] = {
  { "plain", "你好 a*b", "你好 a*b" },
  { "heading", "# 题\n正文", "题\n正文" },
  { "closed heading", "## 题 ##", "题" },
  { "seven marks are no heading", "####### x", "####### x" },
  { "a tag is no heading", "#话题 x", "#话题 x" },
  { "empty heading", "a\n#\nb", "a\n\nb" },
  { "quote", "> 一\n>二\n> > 三", "一\n二\n三" },
  { "bullets", "- a\n* b\n+ c", "a\nb\nc" },
  { "nested bullets keep their indent", "- a\n  - b", "a\n  b" },
  { "numbers", "1. a\n2) b\n10. c", "1. a\n2) b\n10. c" },
  { "a dash alone", "- \n-x\n5 - 3", "-x\n5 - 3" },
  { "rules stay", "a\n---\nb\n***\nc", "a\n---\nb\n***\nc" },
  { "bold", "**粗** __粗__", "粗 粗" },
  { "italic", "*斜* _斜_", "斜 斜" },
  { "both", "***重*** **a *b* c**", "重 a b c" },
  { "strike", "~~旧~~ ~x~", "旧 ~x~" },
  { "bold before Chinese", "**重点：**说明", "重点：说明" },
  { "bold within a word", "**im**portant", "important" },
  { "over two lines", "**a\nb**", "a\nb" },
  { "not over paragraphs", "**a\n\nb**", "**a\n\nb**" },
  { "products", "2 * 3 * 4 = 24, 2*3*4", "2 * 3 * 4 = 24, 2*3*4" },
  { "snake case", "max_retry_count", "max_retry_count" },
  { "lone marks", "* a ** b _ ~~", "a ** b _ ~~" },
  { "unclosed", "**a *b", "**a *b" },
  { "crossed", "*a **b* c**", "a b c" },
  { "code", "`a*b*` ``x`y``", "a*b* x`y" },
  { "unclosed code", "`a *b*", "`a b" },
  { "escapes", "\\* \\_ \\` \\# \\\\ \\a", "* _ ` # \\ \\a" },
  { "escaped bold", "\\**a\\**", "*a*" },
  { "fence", "前\n```c\n*a* \\*\n\n# x\n```\n后", "前\n*a* \\*\n\n# x\n后" },
  { "tilde fence", "~~~\n```\n~~~", "```" },
  { "longer fence", "````\n```\n````", "```" },
  { "unclosed fence", "a\n```\n*b*", "a\n*b*" },
  { "fence in a quote", "> ```\n> *a*\n> ```\n> *b*", "*a*\nb" },
  { "inline fence", "```a```", "a" },
  { "indented fence", "- x\n  ```\n  y\n  ```", "x\n  y" },
  { "link", "[a](https://e.com)", "a https://e.com" },
  { "link with a title", "[a](https://e.com \"t\")", "a https://e.com" },
  { "link in angles", "[a](<https://e.com/x y>)", "a https://e.com/x y" },
  { "link with parentheses", "[a](https://e.com/x_(y)_z)b", "a https://e.com/x_(y)_zb" },
  { "label with marks", "[**a**](u)", "a u" },
  { "label that is the address", "[https://e.com](https://e.com)", "https://e.com" },
  { "empty label", "[](u)", "u" },
  { "empty target", "[a]()", "a" },
  { "no link", "[a] (b) [c][d] [x", "[a] (b) [c][d] [x" },
  { "unclosed target", "[a](b", "[a](b" },
  { "link behind an unclosed target", "[a](b\n[c](d)", "[a](b\nc d" },
  { "image", "a ![i](u) b", "a  b" },
  { "linked image", "[![i](u)](https://e.com)", "https://e.com" },
  { "image alone", "![i](u)", "" },
  { "autolink", "<https://e.com/a_b_>", "https://e.com/a_b_" },
  { "html stays", "<b>x</b> a<b", "<b>x</b> a<b" },
  { "bare address", "https://e.com/_a_/__init__ *x*", "https://e.com/_a_/__init__ x" },
  { "bold address", "**https://e.com**", "https://e.com" },
  { "CQ code", "[CQ:at,qq=all] *x*", "[CQ:at,qq=all] x" },
  { "CRLF", "# a\r\n*b*\r\n", "a\nb" },
  { "trimmed", " \n\n　a　\n", "a" },
  { "nothing", " \n\t　", "" },
  { "empty", "", "" },
};

Test(markdown, becomes_readable_text)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct span text = ob_markdown_text(span_of(rows[i].markdown), &arena);
    cr_expect(span_is(text, rows[i].text), "%s: [%.*s]", rows[i].label, (int)text.len, text.ptr);
    arena_done(&arena);
  }
}

Test(markdown, survives_hostile_repetition)
{
  static const char *const pieces[] = { "[",  "[a](", "*a ", "**a", "`",  "` `` ",     "_a*b~~c ",
                                        "](", "![",   "> ",  "#",   "\\", "<https://", "-\n" };
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct arena arena;
    struct buf text;
    arena_init(&arena, 64 << 20);
    buf_init(&text, 1 << 20);
    while (text.len < 200000) buf_add(&text, span_of(pieces[i]));
    struct span out = ob_markdown_text(buf_span(&text), &arena);
    cr_expect_not_null(out.ptr, "%s", pieces[i]);
    cr_expect_leq(out.len, text.len, "%s", pieces[i]);
    buf_done(&text);
    arena_done(&arena);
  }
}

/* Room for links is made where it runs out, which an unclosed target may come upon. */
Test(markdown, keeps_links_on_both_sides_of_an_unclosed_target)
{
  for (size_t before = 0; before < 40; before++) {
    struct arena arena;
    struct buf text, wanted;
    arena_init(&arena, 1 << 20);
    buf_init(&text, 1 << 12);
    buf_init(&wanted, 1 << 12);
    for (size_t i = 0; i < 80; i++) {
      buf_add(&text, i == before ? SPAN("[x](\n") : SPAN("[a](b)\n"));
      buf_add(&wanted, i == before ? SPAN("[x](\n") : SPAN("a b\n"));
    }
    struct span out = ob_markdown_text(buf_span(&text), &arena);
    cr_expect(span_eq(out, span_trim(buf_span(&wanted))), "%zu: %.*s", before, (int)out.len,
              out.ptr);
    buf_done(&text);
    buf_done(&wanted);
    arena_done(&arena);
  }
}

Test(markdown, says_when_memory_is_out)
{
  for (size_t max = 0; max < 4096; max += 128) {
    struct arena arena;
    arena_init(&arena, max);
    struct span text = ob_markdown_text(SPAN("# a **b** [c](d) `e`"), &arena);
    cr_expect(!text.ptr || span_is(text, "a b c d e"), "%zu: %.*s", max, (int)text.len, text.ptr);
    arena_done(&arena);
  }
}
