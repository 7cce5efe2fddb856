#include <criterion/criterion.h>

#include "schema/print.h"
#include "schema/verdict.h"
#include "tests/lib/vectors.h"

#define DEFAULT_TYPES                                                                              \
  (1u << SCHEMA_TEXT | 1u << SCHEMA_MENTION | 1u << SCHEMA_MARKDOWN | 1u << SCHEMA_IMAGE |         \
   1u << SCHEMA_AUDIO | 1u << SCHEMA_VIDEO | 1u << SCHEMA_FILE | 1u << SCHEMA_KEYBOARD)
#define TEXT_REPLY(json_string)                                                                    \
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":" json_string "}}]}]}"

static const struct schema_offer plain = { .types = DEFAULT_TYPES };

static struct span printed(struct arena *arena, const struct schema_reply *reply)
{
  struct buf out;
  buf_init(&out, 1 << 26);
  struct schema_writer w = { .out = &out };
  schema_write_reply(&w, reply, false);
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

static bool sends(enum schema_verdict verdict)
{
  return verdict == SCHEMA_ACCEPT || verdict == SCHEMA_REPAIR;
}

/* ---- rows of files ---- */

/* The messages of the judged reply as a tree. */
static const struct schema_node *delivered(struct arena *arena, const struct schema_judgement *j)
{
  struct schema_node *tree = NULL;
  cr_assert_eq(schema_tree_read(printed(arena, &j->reply), 64, arena, &tree, NULL), SCHEMA_OK);
  return schema_tree_get(tree, "messages");
}

static bool fits(const struct schema_judgement *j, const struct schema_node *messages,
                 struct span verdict, const struct schema_node *want,
                 const struct schema_node *reaction)
{
  if (!span_is(verdict, schema_verdict_word(j->verdict))) return false;
  if (!sends(j->verdict)) return true;
  struct span value = schema_tree_string(reaction);
  return vectors_equal(messages, want) && (!value.ptr || span_eq(value, j->reply.reaction));
}

static bool fits_alt(const struct schema_judgement *j, const struct schema_node *messages,
                     const struct schema_node *expect)
{
  const struct schema_node *alt = schema_tree_get(expect, "alt");
  const struct schema_node *want = schema_tree_get(expect, "alt_delivered");
  if (!want) want = schema_tree_get(expect, "delivered");
  for (const struct schema_node *v = alt ? alt->first : NULL; v; v = v->next)
    if (fits(j, messages, v->text, want, NULL)) return true;
  return false;
}

static void check_row(struct vectors *v, const struct schema_node *row, size_t *alts)
{
  struct schema_offer offer = schema_tree_get(row, "offered") ? vectors_offer(v, row) : plain;
  const struct schema_node *expect = schema_tree_get(row, "expect");
  struct span id = vectors_string(row, "id"), input = vectors_input(v, row);
  struct schema_judgement j;
  schema_judge(&offer, NULL, input, &v->arena, &j);
  const struct schema_node *messages = sends(j.verdict) ? delivered(&v->arena, &j) : NULL;
  bool right = fits(&j, messages, schema_tree_string(schema_tree_get(expect, "verdict")),
                    schema_tree_get(expect, "delivered"), schema_tree_get(expect, "reaction"));
  bool silent = schema_tree_truth(schema_tree_get(expect, "silent"), false);
  if (!right && silent && fits_alt(&j, messages, expect)) {
    ++*alts;
    right = true;
  }
  cr_expect(right, "%.*s: %s, %s", (int)id.len, id.ptr, schema_verdict_word(j.verdict),
            j.error.what ? j.error.what : "");
  const struct schema_node *bad = schema_tree_get(expect, "must_not_deliver");
  for (const struct schema_node *b = bad ? bad->first : NULL; b; b = b->next)
    cr_expect(!messages || !vectors_equal(messages, b), "%.*s: delivers what must not go out",
              (int)id.len, id.ptr);
  cr_expect_eq(j.verdict == SCHEMA_REPAIR, sends(j.verdict) && j.repair_count > 0, "%.*s: repairs",
               (int)id.len, id.ptr);
  cr_expect_eq(sends(j.verdict), j.error.code == SCHEMA_OK, "%.*s: code %s", (int)id.len, id.ptr,
               schema_code_word(j.error.code));
  cr_expect(sends(j.verdict) || (j.reply.count == 0 && j.error.what), "%.*s: a reason", (int)id.len,
            id.ptr);
}

static void check_file(const char *name, size_t rows_min)
{
  struct vectors v;
  size_t rows = 0, alts = 0;
  cr_assert(vectors_open(&v, name), "%s.jsonl is needed", name);
  for (const struct schema_node *row; (row = vectors_next(&v)); rows++) check_row(&v, row, &alts);
  cr_expect_geq(rows, rows_min);
  cr_expect_eq(alts, 0, "%zu rows only by another verdict", alts);
  vectors_close(&v);
}

Test(verdict, is_that_of_the_vectors)
{
  check_file("replies", 413);
}

Test(verdict, is_that_of_our_own_rows)
{
  check_file("../answers", 700);
}

/* ---- where and why ---- */

static const struct {
  const char *in;
  enum schema_verdict verdict;
  enum schema_code code;
  size_t at;
  const char *path;
} reasons[] = {
  { "", SCHEMA_BLOCK, SCHEMA_EEMPTY, 0, "$" },
  { " \n", SCHEMA_BLOCK, SCHEMA_EEMPTY, 0, "$" },
  { "<think>x</think>", SCHEMA_BLOCK, SCHEMA_EREASONING, 16, "$" },
  { "<|channel|>analysis<|message|>x", SCHEMA_BLOCK, SCHEMA_EREASONING, 0, "$" },
  { "<html><head>", SCHEMA_BLOCK, SCHEMA_EERRORPAGE, 0, "$" },
  { "ok <tool_call>{}", SCHEMA_BLOCK, SCHEMA_ETOOLCALL, 3, "$" },
  { TEXT_REPLY("\"<invoke name='a'>\""), SCHEMA_BLOCK, SCHEMA_ETOOLCALL, 0,
    "$.messages[0].segments[0].data" },
  { "{\"messages\":[{\"segments\":[]},{\"segments\":[{\"type\":\"image\",\"data\":{\"media\":"
    "{\"kind\":\"url\",\"value\":\"https://a:b@c.d/e\"}}}]}]}",
    SCHEMA_BLOCK, SCHEMA_ELEAK, 0, "$.messages[0].segments[0].data" },
  { TEXT_REPLY("1.5"), SCHEMA_CORRECT, SCHEMA_ETYPE, 56, "$.messages[0].segments[0].data.text" },
  { "ok: " TEXT_REPLY("1.5"), SCHEMA_CORRECT, SCHEMA_ETYPE, 60,
    "$.messages[0].segments[0].data.text" },
  { "{\"messages\":[", SCHEMA_CORRECT, SCHEMA_ETRUNCATED, 13, "$.messages[0]" },
  { "{\"messages\":[],\"a\":1}", SCHEMA_CORRECT, SCHEMA_EUNKNOWN, 15, "$.a" },
  { "{'messages':[],'a':1}", SCHEMA_CORRECT, SCHEMA_EUNKNOWN, 15, "$.a" },
  { "{\"a\":1}", SCHEMA_CORRECT, SCHEMA_EUNKNOWN, 1, "$.a" },
  { "42", SCHEMA_CORRECT, SCHEMA_ETYPE, 0, "$" },
  { "\xff", SCHEMA_CORRECT, SCHEMA_EUTF8, 0, "$" },
  { TEXT_REPLY("\"{\\\"messages\\\":1}\""), SCHEMA_CORRECT, SCHEMA_ENOREPLY, 0,
    "$.messages[0].segments[0].data" },
};

Test(verdict, says_where_and_why)
{
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    struct arena arena;
    struct schema_judgement j;
    arena_init(&arena, 1 << 20);
    schema_judge(&plain, NULL, span_of(reasons[i].in), &arena, &j);
    cr_expect_eq(j.verdict, reasons[i].verdict, "%s: %s", reasons[i].in,
                 schema_verdict_word(j.verdict));
    cr_expect_eq(j.error.code, reasons[i].code, "%s: %s", reasons[i].in,
                 schema_code_word(j.error.code));
    cr_expect_eq(j.error.at, reasons[i].at, "%s: at %zu", reasons[i].in, j.error.at);
    cr_expect_str_eq(j.error.path, reasons[i].path, "%s: %s", reasons[i].in, j.error.path);
    arena_done(&arena);
  }
}

/* ---- what was done ---- */

static const struct {
  const char *in, *words; /* the kinds in their order with their byte */
} repaired[] = {
  { "```json\n{\"messages\":[]}\n```", "fence@0 fence@23 " },
  { "ok {\"messages\":[]} ok", "prose_around@0 prose_around@18 " },
  { "\xef\xbb\xbf{\"messages\":[]}", "trimmed@0 " },
  { "{\"messages\":[]}}", "bracket_extra@15 " },
  { "{\"messages\":[]", "bracket_missing@14 " },
  { "{\"messages\":[]]}", "bracket_extra@13 " },
  { "\"messages\":[]}", "bracket_missing@0 " },
  { "{\"segments\":[]}", "legacy_root@0 " },
  { "{'messages':[],}", "quotes@1 trailing_comma@14 " },
  { "{messages:[]}", "bare_key@1 " },
  { "{\"messages\"\xef\xbc\x9a[]}", "punctuation@11 " },
  { "{\"messages\":[/*x*/]}", "comment@13 " },
  { "{\"messages\":[],\"reaction\":1}", "reaction_ignored@0 " },
  { "\"{\\\"messages\\\":[]}\"", "double_encoded@0 " },
  { "{&quot;messages&quot;:[]}", "html_entities@0 " },
  { "hi", "plain_text@0 " },
  { "<text>hi</text>", "text_wrapper@0 plain_text@0 " },
  { "hi<|im_end|>", "template_token@0 plain_text@0 " },
  { "<think>x</think>hi", "reasoning@0 plain_text@16 " },
  { TEXT_REPLY("12"), "integer@56 " },
  { TEXT_REPLY("\"a\nb\""), "raw_control@58 " },
  { TEXT_REPLY("\"a\\d\""), "bad_escape@58 " },
  { TEXT_REPLY("\"a\\ud800\""), "surrogate@58 " },
  { TEXT_REPLY("\"\x1b[1ma\""), "ansi@57 " },
  { TEXT_REPLY("\"<think>x</think>a\""), "reasoning@0 " },
  { TEXT_REPLY("\"sk-abcdefghij0123456789xyz\""), "masked@0 " },
};

Test(verdict, lists_what_was_done)
{
  for (size_t i = 0; i < sizeof repaired / sizeof *repaired; i++) {
    struct arena arena;
    struct buf words;
    struct schema_judgement j;
    arena_init(&arena, 1 << 20);
    buf_init(&words, 1 << 12);
    buf_add(&words, SPAN(""));
    schema_judge(&plain, NULL, span_of(repaired[i].in), &arena, &j);
    cr_expect_eq(j.verdict, SCHEMA_REPAIR, "%s: %s", repaired[i].in,
                 schema_verdict_word(j.verdict));
    for (size_t k = 0; k < j.repair_count; k++) {
      cr_expect_gt(strlen(schema_repair_text(j.repairs[k].kind)), 10);
      buf_printf(&words, "%s@%zu ", schema_repair_word(j.repairs[k].kind), j.repairs[k].at);
    }
    cr_expect(span_is(buf_span(&words), repaired[i].words), "%s: %s", repaired[i].in, words.ptr);
    buf_done(&words);
    arena_done(&arena);
  }
}

Test(verdict, names_what_is_unknown)
{
  cr_expect_str_eq(schema_verdict_word((enum schema_verdict)9), "unknown");
  cr_expect_str_eq(schema_repair_word(SCHEMA_FIX_COUNT), "unknown");
  cr_expect_str_eq(schema_repair_text(SCHEMA_FIX_COUNT), "unknown");
}

/* ---- limits ---- */

/* Judges head, filled up with count times fill, and tail. */
static enum schema_verdict judge_long(const char *head, const char *fill, size_t count,
                                      const char *tail, enum schema_code *retcode)
{
  struct arena arena;
  struct buf text;
  struct schema_judgement j;
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
  buf_init(&text, 1 << 26);
  buf_add(&text, span_of(head));
  for (size_t i = 0; i < count; i++) buf_add(&text, span_of(fill));
  buf_add(&text, span_of(tail));
  schema_judge(&plain, NULL, buf_span(&text), &arena, &j);
  if (retcode) *retcode = j.error.code;
  buf_done(&text);
  arena_done(&arena);
  return j.verdict;
}

Test(verdict, asks_for_no_correction_beyond_32000_characters)
{
  static const char head[] =
      "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"";
  size_t left = SCHEMA_CORRECTABLE_CHARS - strlen(head);
  enum schema_code code;
  cr_expect_eq(judge_long(head, "长", left, "", &code), SCHEMA_CORRECT);
  cr_expect_eq(code, SCHEMA_ETRUNCATED);
  cr_expect_eq(judge_long(head, "长", left + 1, "", &code), SCHEMA_BLOCK);
  cr_expect_eq(code, SCHEMA_ETOOLONG);
  cr_expect_eq(judge_long(head, "a", left, "", NULL), SCHEMA_CORRECT);
  cr_expect_eq(judge_long(head, "a", left + 1, "", NULL), SCHEMA_BLOCK);
  cr_expect_eq(judge_long(head, "长", 40000, "\"}}]}]}", NULL), SCHEMA_ACCEPT);
  cr_expect_eq(judge_long(head, "长", 40000, "\"}}]}]", NULL), SCHEMA_REPAIR);
  cr_expect_eq(judge_long("", "长", 40000, "", NULL), SCHEMA_REPAIR);
}

/* What was only cut goes to the model once more; a call in it, in the open or behind escapes, in a
 * whole string or in the one that the text ends in, blocks all the same. */
Test(verdict, a_cut_reply_hides_no_call)
{
#define TEXT(words) "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" words
#define NEXT "\"}},{\"type\":\"text\",\"data\":{\"text\":\""
  static const struct {
    const char *in;
    enum schema_verdict verdict;
    enum schema_code code;
  } rows[] = {
    { TEXT("先把电源拔掉，"), SCHEMA_CORRECT, SCHEMA_ETRUNCATED },
    { TEXT("C:\\\\temp 和 \\\"好的\\\"\\n- 一") NEXT "二", SCHEMA_CORRECT, SCHEMA_ETRUNCATED },
    { TEXT("a = b, `x`") NEXT "see <b>", SCHEMA_CORRECT, SCHEMA_ETRUNCATED },
    { TEXT("ok\"}}]}],\"reaction\":\"76\","), SCHEMA_CORRECT, SCHEMA_ETRUNCATED },
    { TEXT("<tool_call>{\\\"name\\\":\\\"f\\\"}"), SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("\\u003cinvoke name=\\\"f\\\">") NEXT "ok", SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("ok") NEXT "\\u003cinvoke name=\\\"f\\\">", SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("Action: f\\nAction Input: x") NEXT "ok", SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("ok") NEXT "Action: f\\nAction Input: x", SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { "{\"messages\":[{\"segments\":[{\"data\":{\"name\":\"f\",\"arguments\":{\"a\":1}},\"type\":"
      "\"te",
      SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("functions.f({}"), SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { TEXT("functools[{"), SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
    { "{\"messages\":[{\"segments\":[]}],\"tool_calls\":[{\"name\":\"f\",\"arguments\":{",
      SCHEMA_BLOCK, SCHEMA_ETOOLCALL },
  };
#undef TEXT
#undef NEXT
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_judgement j;
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    schema_judge(&plain, NULL, span_of(rows[i].in), &arena, &j);
    cr_expect_eq(j.verdict, rows[i].verdict, "%s: %s", rows[i].in, schema_verdict_word(j.verdict));
    cr_expect_eq(j.error.code, rows[i].code, "%s: %s", rows[i].in, schema_code_word(j.error.code));
    arena_done(&arena);
  }
}

/* A model that was cut has lost more than one bracket; the bench may take that for lost brackets. */
Test(verdict, closes_as_many_brackets_as_it_may)
{
  static const struct {
    const char *in;
    size_t missing;
  } cut[] = {
    { "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}]}]", 1 },
    { "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}]}", 2 },
    { "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}]", 3 },
    { "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}", 4 },
    { "{\n  \"messages\": [\n    {\n      \"segments\": []\n    }\n  ", 2 },
  };
  for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
    for (size_t max = 0; max <= 5; max++) {
      struct arena arena;
      struct schema_judgement j;
      arena_init(&arena, 1 << 20);
      schema_judge_closing(&plain, NULL, span_of(cut[i].in), max, &arena, &j);
      bool may = max >= cut[i].missing || cut[i].missing == 1;
      cr_expect_eq(j.verdict, may ? SCHEMA_REPAIR : SCHEMA_CORRECT, "row %zu, %zu", i, max);
      arena_done(&arena);
    }
  }
  /* cut in the middle of its indentation: content went as well */
  struct arena arena;
  struct schema_judgement j;
  arena_init(&arena, 1 << 20);
  schema_judge_closing(&plain, NULL,
                       SPAN("{\n  \"messages\": [\n    {\n      \"segments\": []\n   "), 4, &arena,
                       &j);
  cr_expect_eq(j.verdict, SCHEMA_CORRECT);
  arena_done(&arena);
}

/* ---- private paths ---- */

Test(verdict, shortens_private_paths)
{
  static const struct schema_private hide = { { "/home/bot", 9 }, { "/home/bot/zhin", 14 } };
  static const struct {
    const char *in, *out;
  } rows[] = {
    { "见 /home/bot/zhin/a.log", "见 ./a.log" },
    { "见 /home/bot/x", "见 ~/x" },
    { "/home/bots/x", NULL },
    { "https://a.b/home/bot/x", NULL },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_judgement j;
    arena_init(&arena, 1 << 20);
    schema_judge(&plain, &hide, span_of(rows[i].in), &arena, &j);
    cr_assert_eq(j.verdict, SCHEMA_REPAIR);
    struct span text = j.reply.messages[0].segments[0].text;
    cr_expect(span_is(text, rows[i].out ? rows[i].out : rows[i].in), "%s: %.*s", rows[i].in,
              (int)text.len, text.ptr);
    arena_done(&arena);
  }
}

/* ---- hostile shapes: a megabyte of each has to be through before the time of a test is up ---- */

static const char *const shapes[] = {
  "{",
  "[",
  "}",
  "\"",
  "'",
  "`",
  "``` ",
  "`a``b",
  "<",
  "<tool_call>",
  "</tool_call>",
  "<think>",
  "</think>",
  "<text>",
  "</text>",
  "{\"a\":",
  "{\"name\":",
  "[TOOL_CALLS]",
  "\\",
  "\\\"",
  "&lt;",
  "：",
  "a:1{",
  "Action: x\n",
  "to=x ",
  "<|a|>",
  "/",
  "/*",
  "//\n",
  "# ",
  ",",
  "“",
  "「",
  "\\u",
  "\xe3\x80",
  "{\"messages\":[",
  "{\"messages\":[]}",
  "{\"messages\":1}\n",
  "eyJ.",
  "sk-",
  "a/b/",
  "http://",
  "http://a:b@",
  "data: [DONE]",
  "<|channel|>final",
  "assistantfinal",
  "&quot;{",
  "{&quot;",
  "[f(a=1)",
  "```json\n",
  "{{",
  "[{",
  "{[",
  "\xef\xbb\xbf",
  "\x1b[1m",
  "-----BEGIN ",
  "token=a1",
  "a=",
  "{'",
};

Test(verdict, takes_linear_time_for_hostile_shapes)
{
  /* a quarter where each step costs four times as much: what grows with the square shows there, too */
#if defined __SANITIZE_ADDRESS__
  enum { SIZE = 1 << 18 };
#else
  enum { SIZE = 1 << 20 };
#endif
  static const char *const heads[] = { "", "{\"messages\":[", TEXT_REPLY("\"") "", "<think>" };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
      judge_long(heads[h], shapes[i], SIZE / strlen(shapes[i]), "", NULL);
}
