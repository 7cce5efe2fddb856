#include <criterion/criterion.h>

#include "schema/layer.h"
#include "schema/lenient.h"
#include "schema/print.h"
#include "schema/prose.h"
#include "schema/verdict.h"

static const struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1 };

static const char *const replies[] = {
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}]}]}",
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a }] [{\"}},{\"type\":"
  "\"mention\",\"data\":{\"target\":\"12345\"}}]},{\"segments\":[{\"type\":\"dice\",\"data\":{}}]},"
  "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"b\\\"\"}}]}]}",
  "{\"messages\":[{\"segments\":[{\"type\":\"image\",\"data\":{\"media\":{\"kind\":\"url\","
  "\"value\":\"https://a.b/"
  "c\"}}},{\"type\":\"share\",\"data\":{\"url\":\"u\",\"title\":\"t\"}}]}]}",
  "{ \"messages\" : [ {\n \"segments\" : [ { \"type\" : \"keyboard\" , \"data\" : { \"rows\" : [ [ "
  "{"
  " \"label\" : \"a\" , \"payload\" : \"b\" } ] , [ { \"label\" : \"c\" , \"payload\" : \"d\" } , {"
  " \"label\" : \"e\" , \"payload\" : \"f\" } ] ] } } ] } ] }",
};

/* What is sent for text, printed; ptr NULL: nothing. */
static struct span sent(struct span text, struct arena *arena)
{
  struct schema_judgement j;
  struct buf out;
  schema_judge(&offer, NULL, text, arena, &j);
  if (j.verdict != SCHEMA_ACCEPT && j.verdict != SCHEMA_REPAIR) return (struct span) { NULL, 0 };
  buf_init(&out, 1 << 20);
  struct schema_writer w = { .out = &out };
  schema_write_reply(&w, &j.reply, false);
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

/* Outside strings. */
static bool is_bracket_at(struct span text, size_t at)
{
  bool string = false;
  for (size_t i = 0; i < at; i++) {
    if (text.ptr[i] == '\\' && string)
      i++;
    else if (text.ptr[i] == '"')
      string = !string;
  }
  return !string && strchr("{}[]", text.ptr[at]);
}

struct tally {
  size_t same, none;
};

static void check_change(struct span text, size_t at, const char *insert, size_t gone,
                         struct span want, struct tally *tally)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  struct span changed = arena_printf(&arena, "%.*s%s%.*s", (int)at, text.ptr, insert,
                                     (int)(text.len - at - gone), text.ptr + at + gone);
  struct span got = sent(changed, &arena);
  cr_expect(!got.ptr || span_eq(got, want), "%.*s\n  sends %.*s", (int)changed.len, changed.ptr,
            (int)got.len, got.ptr);
  *(got.ptr ? &tally->same : &tally->none) += 1;
  arena_done(&arena);
}

/* One bracket lost, doubled or put in anywhere: the same reply, or none. */
Test(repair, puts_one_bracket_right_and_never_makes_another_reply)
{
  struct tally tally = { 0, 0 };
  for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct span text = span_of(replies[i]), want = sent(text, &arena);
    cr_assert(want.ptr);
    for (size_t at = 0; at < text.len; at++) {
      if (!is_bracket_at(text, at)) continue;
      check_change(text, at, "", 1, want, &tally);
      for (const char *b = "{\0}\0[\0]\0"; *b; b += 2) check_change(text, at, b, 0, want, &tally);
    }
    arena_done(&arena);
  }
  /* what stays ambiguous is a row of buttons that could be split in two ways */
  cr_expect_gt(tally.same, 400, "%zu", tally.same);
  cr_expect_leq(tally.none, 12, "%zu are not repaired", tally.none);
}

/* Two brackets lost or a text that was cut: nothing is sent, least of all a part. */
Test(repair, sends_nothing_of_a_text_that_was_cut)
{
  for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
    struct span text = span_trim(span_of(replies[i]));
    for (size_t len = 0; len < text.len; len++) {
      struct arena arena;
      arena_init(&arena, 1 << 20);
      struct span part = { text.ptr, len }, rest = { text.ptr + len, text.len - len };
      struct span fenced = arena_printf(&arena, "ok\n```json\n%.*s", (int)len, text.ptr);
      bool one_lost = span_is(span_trim(rest), "}");
      cr_expect_eq(sent(part, &arena).ptr != NULL, one_lost, "%.*s", (int)len, text.ptr);
      if (len)
        cr_expect_eq(sent(fenced, &arena).ptr != NULL, one_lost, "%.*s", (int)fenced.len,
                     fenced.ptr);
      arena_done(&arena);
    }
  }
}

/* ---- lenient reading ---- */

static const struct {
  const char *in, *out; /* out NULL: as in */
} lenient[] = {
  { "{\"a\":[1,\"b\"]}", NULL },
  { "{'a':'b'}", "{\"a\":\"b\"}" },
  { "{'a':'b\"c'}", "{\"a\":\"b\\\"c\"}" },
  { "{'a':'b\\'c'}", "{\"a\":\"b'c\"}" },
  { "{'a':'\\x41'}", "{\"a\":\"\\u0041\"}" },
  { "{`a`:1}", "{\"a\":1}" },
  { "{“a”:„b“}", "{\"a\":\"b\"}" },
  { "{“a”:“b\"c\"”}", "{\"a\":\"b\\\"c\\\"\"}" },
  { "{「a」:『b』}", "{\"a\":\"b\"}" },
  { "{a:1,b_2:2,$c:3}", "{\"a\":1,\"b_2\":2,\"$c\":3}" },
  { "｛\"a\"：［1，2］｝", "{\"a\":[1,2]}" },
  { "【1、2】", "[1,2]" },
  { "{\"a\":1,}", "{\"a\":1}" },
  { "[1, ]", "[1 ]" },
  { "[1,,2]", NULL },
  { "[1 2]", "[null]" }, /* no value of the contract is a word: it is refused all the same */
  { "{/*x*/\"a\":1}", "{ \"a\":1}" },
  { "{//x\n\"a\":1}", "{ \n\"a\":1}" },
  { "{#x\n\"a\":1}", "{ \n\"a\":1}" },
  { "{\xc2\xa0\"a\":\xe3\x80\x80"
    "1\xe2\x80\x8b}",
    "{ \"a\": 1 }" },
  { "{\"\xe2\x80\x8b"
    "a\":1}",
    "{\"a\":1}" },
  { "{\"a\":\"\xe2\x80\x8b\"}", NULL },
  { "{\"\\u200ba\":1}", "{\"a\":1}" },
  { "{\x1b[1m\"a\":\"\x1b[31mb\"}", "{ \"a\":\"b\"}" },
  { "[\"a\nb\tc\x01\"]", "[\"a\\nb\\tc\"]" },
  { "[\"a\\\nb\"]", "[\"a\\nb\"]" },
  { "[\"\\d\\s\"]", "[\"\\\\d\\\\s\"]" },
  { "[\"\\_\\n\"]", "[\"\\\\_\\n\"]" },
  { "[\"\\d\\nx\"]", "[\"\\\\\x01" }, /* two readings: the reader refuses it */
  { "[\"\\u12\"]", "[\x01" },
  { "[\"\\ud83d\\ude00\\ud83d\"]", "[\"\\ud83d\\ude00\xef\xbf\xbd\"]" },
  { "['it's']", "[\x01" },
  { "[“a“b”]", "[\x01" },
  { "[True,None,NaN,undefined,-1.5e3]", "[null,null,null,null,-1.5e3]" },
  { "[007,+1,.5]", "[null,null,null]" },
  { "{\"a\":1} it's 'x' //", NULL },
  { "{\"a\":1}}]x", NULL },
  { "{\"a\":\"b", NULL },
  { "", NULL },
};

Test(repair, writes_what_has_one_reading_as_strict_json)
{
  for (size_t i = 0; i < sizeof lenient / sizeof *lenient; i++) {
    struct arena arena;
    struct schema_repairs repairs = { .count = 0 };
    struct schema_lenient out;
    const char *want = lenient[i].out ? lenient[i].out : lenient[i].in;
    arena_init(&arena, 1 << 16);
    schema_lenient_write(span_of(lenient[i].in), 0, &arena, &repairs, &out);
    cr_expect(span_is(out.strict, want), "%s: %.*s", lenient[i].in, (int)out.strict.len,
              out.strict.ptr);
    cr_expect_eq(out.changed, lenient[i].out != NULL, "%s", lenient[i].in);
    arena_done(&arena);
  }
}

Test(repair, knows_where_strict_text_came_from)
{
  struct arena arena;
  struct schema_repairs repairs = { .count = 0 };
  struct schema_lenient out;
  struct span in = SPAN("{'a':1,/*x*/b:[2],}");
  arena_init(&arena, 1 << 16);
  schema_lenient_write(in, 100, &arena, &repairs, &out);
  cr_assert(span_is(out.strict, "{\"a\":1, \"b\":[2]}"));
  size_t two = span_find(out.strict, SPAN("2")), end = out.strict.len - 1;
  cr_expect_eq(in.ptr[schema_lenient_source(&out, two)], '2');
  cr_expect_eq(in.ptr[schema_lenient_source(&out, end)], '}');
  cr_expect_eq(schema_lenient_source(&out, 0), 0);
  cr_expect_eq(repairs.items[0].at, 101);
  arena_done(&arena);
}

Test(repair, says_when_memory_runs_out)
{
  struct schema_repairs repairs = { .count = 0 };
  for (size_t max = 0; max < 4096; max += 64) {
    struct arena arena;
    struct schema_lenient out;
    struct schema_judgement j;
    arena_init(&arena, max);
    schema_judge(&offer, NULL, SPAN("x <think>y</think> {'messages':[{'segments':[]}],}"), &arena,
                 &j);
    cr_expect(j.verdict == SCHEMA_REPAIR || j.error.code == SCHEMA_ENOMEM, "%zu: %s", max,
              schema_code_word(j.error.code));
    arena_reset(&arena);
    if (max < 64) {
      schema_lenient_write(SPAN("{'a':1}"), 0, &arena, &repairs, &out);
      cr_expect(max || !out.strict.ptr);
    }
    arena_done(&arena);
  }
}

/* ---- layers ---- */

static const struct {
  const char *in, *out; /* NULL: no layer */
  enum schema_repair_kind kind;
} layers[] = {
  { "\"a\"", "a", SCHEMA_FIX_DOUBLE_ENCODED },
  { "\"a\\n\\\"\\u4f60\\ud83d\\ude00\\\\\"", "a\n\"你😀\\", SCHEMA_FIX_DOUBLE_ENCODED },
  { "```\n\"a\"\n```", "a", SCHEMA_FIX_DOUBLE_ENCODED },
  { "{\\\"a\\\":1}", "{\"a\":1}", SCHEMA_FIX_DOUBLE_ENCODED },
  { "{&quot;a&quot;:&quot;&lt;&amp;&quot;}", "{\"a\":\"<&\"}", SCHEMA_FIX_HTML_ENTITIES },
  { "{&#34;a&#34;:1}", "{\"a\":1}", SCHEMA_FIX_HTML_ENTITIES },
  { "\"a\" b \"c\"", NULL, 0 },
  { "\"a", NULL, 0 },
  { "\"a\\\"", NULL, 0 },
  { "{\"a\":\"\\\"\"}", NULL, 0 },
  { "{&lt;}", NULL, 0 },
  { "<pre>{&quot;a&quot;:1}</pre>", NULL, 0 },
  { "", NULL, 0 },
};

Test(repair, takes_off_layers)
{
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    struct arena arena;
    struct span out;
    enum schema_repair_kind kind;
    arena_init(&arena, 1 << 16);
    bool is = schema_layer_decode(span_of(layers[i].in), &arena, &out, &kind);
    cr_expect_eq(is, layers[i].out != NULL, "%s", layers[i].in);
    if (is && layers[i].out) {
      cr_expect(span_is(out, layers[i].out), "%s: %.*s", layers[i].in, (int)out.len, out.ptr);
      cr_expect_eq(kind, layers[i].kind);
    }
    arena_done(&arena);
  }
}

Test(repair, takes_off_a_bounded_number_of_layers)
{
  struct arena arena;
  struct buf text, next;
  size_t sends = 0;
  arena_init(&arena, 1 << 24);
  buf_init(&text, 1 << 22);
  buf_init(&next, 1 << 22);
  buf_add(&text, SPAN("{\"messages\":[]}"));
  for (size_t layer = 0; layer < 12; layer++) {
    if (sent(buf_span(&text), &arena).ptr) sends = layer;
    struct schema_writer w = { .out = &next };
    buf_clear(&next);
    schema_write_string(&w, buf_span(&text));
    struct buf swap = text;
    text = next;
    next = swap;
  }
  cr_expect_eq(sends, 8, "%zu", sends);
  buf_done(&next);
  buf_done(&text);
  arena_done(&arena);
}

/* ---- prose ---- */

static const struct {
  const char *in, *out;
} bare[] = {
  { "a", "a" },
  { " a<|im_end|>\n<|im_end|> ", "a" },
  { "<|im_start|>assistant\na<|im_end|>", "a" },
  { "<|im_start|>assistants", "assistants" },
  { "<s>[INST] [/INST] a</s>", "a" },
  { "a<|im_end|>\n<|im_start|>user\nb", "a" },
  { "a <|im_end|> b", "a <|im_end|> b" },
  { "a\ndata: [DONE]\n", "a" },
  { "a</answer>", "a" },
  { "<answer>a</answer>", "<answer>a</answer>" },
  { "<b>a</b>", "<b>a</b>" },
  { "a[/INST", "a[/INST" },
  { "<|im_end|>", "" },
  { "", "" },
};

Test(repair, cuts_template_tokens_off_prose)
{
  for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
    struct span out = schema_prose_bare(span_of(bare[i].in));
    cr_expect(span_is(out, bare[i].out), "%s: %.*s", bare[i].in, (int)out.len, out.ptr);
  }
}
