#include <criterion/criterion.h>

#include "schema/glance.h"
#include "schema/markup.h"
#include "schema/reasoning.h"
#include "schema/residue.h"
#include "tests/lib/vectors.h"

/* ---- tool calls ---- */

Test(residue, knows_calls_and_near_misses)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, "../residue"), "tests/data/residue.jsonl is needed");
  for (const struct schema_node *row; (row = vectors_next(&v)); rows++) {
    struct span text = vectors_string(row, "text");
    bool call = schema_tree_truth(schema_tree_get(row, "call"), false);
    cr_expect_eq(schema_residue_tool_call(text, NULL), call, "%s: %.*s",
                 call ? "not seen" : "taken for a call", (int)text.len, text.ptr);
    cr_expect(!call || schema_glance(text) & SCHEMA_GLANCE_MARKUP, "glance: %.*s", (int)text.len,
              text.ptr);
  }
  cr_expect_geq(rows, 160);
  vectors_close(&v);
}

static const struct {
  const char *text;
  size_t at;
} begins[] = {
  { "<tool_call>{}", 0 },
  { "查一下 <tool_call>\n{\"name\":1}", 10 },
  { "ok {\"name\":\"f\",\"arguments\":{}}", 3 },
  { "ok\nAction: f\nAction Input: x", 3 },
  { "x fun:0{\"a\":1}", 2 },
  { "ok [TOOL_CALLS]f{}", 3 },
  { "ok functools[{\"a\":1}]", 3 },
  { "fun(a=1)", 0 },
};

Test(residue, says_where_a_call_begins)
{
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
    size_t at = 99;
    cr_expect(schema_residue_tool_call(span_of(begins[i].text), &at), "%s", begins[i].text);
    cr_expect_eq(at, begins[i].at, "%s: %zu", begins[i].text, at);
  }
  size_t at = 99;
  cr_expect(!schema_residue_tool_call(SPAN("ok"), &at));
  cr_expect_eq(at, 99, "left alone where there is none");
  cr_expect(!schema_residue_tool_call(SPAN(""), NULL));
}

static const struct {
  const char *text;
  bool call;
} scraps[] = {
  { "</tool_call>", false },
  { "</tool_call>\n</function>", false },
  { "<|tool_call_result_begin|>\n<|tool_list_end|>\n", false },
  { "<|tool_calls_section_end|>", false },
  { "<tool_call>{}</tool_call>", true },
  { "<function_results>{\"a\":1}</function_results>", true },
  { "{\"name\":\"f\",\"arguments\":{}}", true },
};

Test(residue, lets_scraps_pass_around_a_reply)
{
  for (size_t i = 0; i < sizeof scraps / sizeof *scraps; i++)
    cr_expect_eq(schema_residue_tool_call_around(span_of(scraps[i].text), NULL), scraps[i].call,
                 "%s", scraps[i].text);
}

/* ---- the glance ---- */

/* Both ways of looking see the same, wherever in a block something stands. */
Test(residue, glances_alike_with_and_without_vectors)
{
  static const char *const signs[] = {
    "<",
    "&lt;",
    "\\u003c",
    "[tool",
    "{\"a",
    "```tool",
    "action:",
    "to=",
    "◁",
    "‹",
    "⟨",
    "〈",
    "＜",
    "【工具",
    "动作：",
    "。",
    "，",
    "：",
    "abcdefghijklmno",
    "abcdefghijklmn",
    "a://b@",
    "key=",
    "\"token\":",
    "f(a=1)",
    ";|",
    "\xe3\x80",
    "\xef",
  };
  char text[128];
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    for (size_t at = 0; at < 70; at++)
      for (size_t tail = 0; tail < 3; tail++) {
        size_t n = strlen(signs[i]);
        memset(text, ' ', sizeof text);
        memcpy(text + at, signs[i], n);
        struct span s = { text, at + n + tail * 17 };
        unsigned seen = schema_glance(s);
        cr_expect_eq(seen, schema_glance_portable(s), "%s at %zu", signs[i], at);
        cr_expect_eq(schema_glance_markup(s), (seen & SCHEMA_GLANCE_MARKUP) != 0, "%s at %zu",
                     signs[i], at);
      }
}

/* ---- tags ---- */

static const struct {
  const char *text, *name;
  bool closing, complete, truncated, bars, attributes;
  size_t end;
} marks[] = {
  { "<a>", "a", false, true, false, false, false, 3 },
  { "</a>b", "a", true, true, false, false, false, 4 },
  { "< Tool_Call >", "toolcall", false, true, false, false, false, 13 },
  { "<x:tool-call>", "xtoolcall", false, true, false, false, false, 13 },
  { "<|im_end|>", "imend", false, true, false, true, false, 10 },
  { "<\xef\xbd\x9c"
    "DSML\xef\xbd\x9cinvoke name=\"a\">",
    "dsmlinvoke", false, true, false, true, true, 27 },
  { "<invoke name='>'>", "invoke", false, true, false, false, true, 17 },
  { "&lt;tool_call&gt;", "toolcall", false, true, false, false, false, 17 },
  { "\\u003ca\\u003e", "a", false, true, false, false, false, 13 },
  { "<tool", "tool", false, false, true, false, false, 5 },
  { "<a b", "a", false, false, true, false, false, 4 },
  { "<br/>", "br", false, true, false, false, false, 5 },
};

Test(residue, reads_tags_in_every_style)
{
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    struct schema_mark m;
    cr_assert(schema_mark_read(span_of(marks[i].text), 0, &m), "%s", marks[i].text);
    cr_expect_str_eq(m.name, marks[i].name, "%s: %s", marks[i].text, m.name);
    cr_expect_eq(m.closing, marks[i].closing, "%s", marks[i].text);
    cr_expect_eq(m.complete, marks[i].complete, "%s", marks[i].text);
    cr_expect_eq(m.truncated, marks[i].truncated, "%s", marks[i].text);
    cr_expect_eq(m.bar_front, marks[i].bars, "%s", marks[i].text);
    cr_expect_eq(m.has_attributes, marks[i].attributes, "%s", marks[i].text);
    cr_expect_eq(m.end, marks[i].end, "%s: %zu", marks[i].text, m.end);
  }
  static const char *const none[] = { "", "a", "<", "< 3 >", "<>", "<-", "&lt", "&amp;" };
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    struct schema_mark m;
    bool three = strcmp(none[i], "< 3 >") == 0; /* a name of a digit is one, but no known one */
    cr_expect_eq(schema_mark_read(span_of(none[i]), 0, &m), three, "%s", none[i]);
  }
}

/* ---- code ---- */

static const struct {
  const char *text;
  bool code, fenced;
  size_t inner_begin, inner_end, end;
} codes[] = {
  { "`a`b", true, false, 1, 2, 3 },
  { "``a`b``", true, false, 2, 5, 7 },
  { "`a\nb`", false, false, 0, 0, 1 },
  { "`a", false, false, 0, 0, 1 },
  { "```c\nx\n```\ny", true, true, 5, 7, 10 },
  { "```\nx", true, true, 4, 5, 5 },
  { "```x```", true, false, 3, 4, 7 },
  { "````\n```\n````", true, true, 5, 9, 13 },
  { "```\n{\"a\":\"```x\"}\n```", true, true, 4, 17, 20 },
};

Test(residue, knows_where_markdown_quotes)
{
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    struct schema_quoted_reader reader = { 0 };
    struct schema_quoted code;
    bool is = schema_quoted_read(&reader, span_of(codes[i].text), 0, &code);
    cr_expect_eq(is, codes[i].code, "%s", codes[i].text);
    cr_expect_eq(code.fenced, codes[i].fenced, "%s", codes[i].text);
    cr_expect_eq(code.end, codes[i].end, "%s: %zu", codes[i].text, code.end);
    if (!is) continue;
    cr_expect_eq(code.inner_begin, codes[i].inner_begin, "%s", codes[i].text);
    cr_expect_eq(code.inner_end, codes[i].inner_end, "%s: %zu", codes[i].text, code.inner_end);
  }
}

/* ---- reasoning ---- */

static const struct {
  const char *text, *left; /* NULL: nothing is cut */
  bool unclosed;
} thoughts[] = {
  { "<think>a</think>b", "b", false },
  { "<think>a</think>\n\n b", "b", false },
  { "<think>a<think>b</think>c</think>d", "d", false },
  { "<think>a<think>b</think>c", "c", false },
  { "a</think>b", "b", false },
  { "a</think>b</think>c", "c", false },
  { "<think>a", "", true },
  { "b\n<think>a", "b\n", true },
  { "b <think>so it is", "b ", true },
  { "b <think> is a mark", NULL, false },
  { "x <think> and </think> y", NULL, false },
  { "ends with </think> here", NULL, false },
  { "`<think>a</think>`", NULL, false },
  { "{\"a\":\"<think>\"}<think>b</think>", "{\"a\":\"<think>\"}", false },
  { "{\"a\":\"</think>\"}", NULL, false },
  { "{\"a\":1}</think>b", "b", false },
  { "a. <thinking>\nb\n</thinking>c", "a. c", false },
  { "[THINK]a[/THINK]b", "b", false },
  { "\xe2\x97\x81think\xe2\x96\xb7"
    "a\xe2\x97\x81/think\xe2\x96\xb7"
    "b",
    "b", false },
  { "<|begin_of_thought|>a<|end_of_thought|>b", "b", false },
  { "<|channel>thought\na<channel|>b", "b", false },
  { "<unused94>a<unused95>b", "b", false },
  { "plain", NULL, false },
  { "", NULL, false },
};

Test(residue, cuts_reasoning_of_every_family)
{
  for (size_t i = 0; i < sizeof thoughts / sizeof *thoughts; i++) {
    struct arena arena;
    struct schema_reasoning r;
    const char *text = thoughts[i].text, *left = thoughts[i].left;
    arena_init(&arena, 1 << 16);
    cr_assert(schema_reasoning_cut(span_of(text), &arena, &r));
    cr_expect_eq(r.cut, left != NULL, "%s", text);
    cr_expect(span_is(r.text, left ? left : text), "%s: %.*s", text, (int)r.text.len, r.text.ptr);
    cr_expect_eq(r.unclosed, thoughts[i].unclosed, "%s", text);
    cr_expect(!r.cut || schema_reasoning_possible(span_of(text)), "%s", text);
    arena_done(&arena);
  }
}

static const struct {
  const char *text;
  enum schema_channel channel;
  const char *final;
} channels[] = {
  { "<|channel|>final<|message|>a<|end|>b", SCHEMA_CHANNEL_FINAL, "a" },
  { "<|channel|>final<|message|>a<|end|><|channel|>final<|message|>b", SCHEMA_CHANNEL_FINAL, "b" },
  { "<|channel|>final <|constrain|>json<|message|>a", SCHEMA_CHANNEL_FINAL, "a" },
  { "<|channel|>analysis<|message|>a", SCHEMA_CHANNEL_REASONING, NULL },
  { "<|channel|>commentary to=functions.f<|message|>{}", SCHEMA_CHANNEL_CALL, NULL },
  { "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}", SCHEMA_CHANNEL_CALL,
    NULL },
  { "analysisHm.assistantfinala", SCHEMA_CHANNEL_FINAL, "a" },
  { "analysisHm. to=functions.f{}assistantfinala", SCHEMA_CHANNEL_CALL, NULL },
  { "analysisHm", SCHEMA_CHANNEL_REASONING, NULL },
  { "analysis of it", SCHEMA_CHANNEL_NONE, NULL },
  { "final answer", SCHEMA_CHANNEL_NONE, NULL },
  { "", SCHEMA_CHANNEL_NONE, NULL },
};

Test(residue, reads_the_final_channel_only)
{
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    struct span final = { NULL, 0 };
    enum schema_channel c = schema_reasoning_channel(span_of(channels[i].text), &final);
    cr_expect_eq(c, channels[i].channel, "%s: %d", channels[i].text, c);
    if (channels[i].final)
      cr_expect(span_is(final, channels[i].final), "%s: %.*s", channels[i].text, (int) final.len,
                final.ptr);
  }
}
