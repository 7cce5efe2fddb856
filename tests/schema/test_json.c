#include <criterion/criterion.h>
#include <stdlib.h>

#include "schema/json.h"

enum { ARENA_MAX = 64 * 1024 * 1024 };

/* Reads to the end and writes the tokens as one letter each; strings and numbers with their text. */
static struct span tokens_of(struct arena *arena, struct span text, unsigned depth_max,
                             struct schema_error *reterr)
{
  static const char letters[] = "!.{}[]ksndfz";
  struct schema_json r;
  struct buf out;
  enum schema_token token;
  buf_init(&out, 1 << 24);
  schema_json_init(&r, text, arena, depth_max);
  do {
    token = schema_json_next(&r);
    buf_add_char(&out, token == SCHEMA_JSON_TRUE ? 't' : letters[token]);
    if (token == SCHEMA_JSON_KEY || token == SCHEMA_JSON_STRING || token == SCHEMA_JSON_NUMBER) {
      buf_add_char(&out, '(');
      buf_add(&out, r.text);
      buf_add_char(&out, ')');
    }
  } while (token != SCHEMA_JSON_ERROR && token != SCHEMA_JSON_END);
  cr_expect_eq(schema_json_next(&r), token, "the last token comes again");
  *reterr = r.error;
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

static const struct {
  const char *in, *tokens;
} good[] = {
  { "null", "z." },
  { " true ", "t." },
  { "false", "f." },
  { "\"\"", "s()." },
  { "[]", "[]." },
  { "{}", "{}." },
  { "\t[ 1 ,\r\n2 ] ", "[n(1)n(2)]." },
  { "{\"a\":{\"b\":[{},[]]},\"c\":\"d\"}", "{k(a){k(b)[{}[]]}k(c)s(d)}." },
  { "[{\"a\":1},{\"a\":2}]", "[{k(a)n(1)}{k(a)n(2)}]." },
  { "{\"\":0,\"a\":1,\"A\":2,\"a \":3}", "{k()n(0)k(a)n(1)k(A)n(2)k(a )n(3)}." },
  /* numbers keep every digit */
  { "[0,-0,0.0,-0.0e-0,1E+2,123456789012345678901234567890]",
    "[n(0)n(-0)n(0.0)n(-0.0e-0)n(1E+2)n(123456789012345678901234567890)]." },
  { "1e400", "n(1e400)." },
  /* escapes */
  { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s(\"\\/\b\f\n\r\t)." },
  { "\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\\uDBFF\\uDFFF\"",
    "s(A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf)." },
  { "{\"\\u006b\":1}", "{k(k)n(1)}." },
  /* UTF-8 at its borders */
  { "\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80"
    "\xf4\x8f\xbf\xbf\"",
    "s(\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80"
    "\xf4\x8f\xbf\xbf)." },
};

Test(json, sound_texts)
{
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct arena arena;
    struct schema_error e;
    arena_init(&arena, ARENA_MAX);
    struct span tokens = tokens_of(&arena, span_of(good[i].in), 32, &e);
    cr_expect(span_is(tokens, good[i].tokens), "row %zu: %s: %s", i, good[i].in, tokens.ptr);
    arena_done(&arena);
  }
}

static const struct {
  const char *in;
  enum schema_code code;
  size_t at;
} bad[] = {
  /* cut off */
  { "", SCHEMA_ETRUNCATED, 0 },
  { " \n", SCHEMA_ETRUNCATED, 2 },
  { "[", SCHEMA_ETRUNCATED, 1 },
  { "{\"a\"", SCHEMA_ETRUNCATED, 4 },
  { "{\"a\":", SCHEMA_ETRUNCATED, 5 },
  { "{\"a\":1,", SCHEMA_ETRUNCATED, 7 },
  { "[1", SCHEMA_ETRUNCATED, 2 },
  { "-", SCHEMA_ETRUNCATED, 1 },
  { "1.", SCHEMA_ETRUNCATED, 2 },
  { "1e", SCHEMA_ETRUNCATED, 2 },
  { "1e+", SCHEMA_ETRUNCATED, 3 },
  { "nul", SCHEMA_ETRUNCATED, 3 },
  { "\"", SCHEMA_ETRUNCATED, 1 },
  { "\"a\\", SCHEMA_ETRUNCATED, 3 },
  { "\"\\u00", SCHEMA_ETRUNCATED, 5 },
  { "\"\\ud83d", SCHEMA_ETRUNCATED, 7 },
  { "\"\\ud83d\\", SCHEMA_ETRUNCATED, 8 },
  { "\"\\ud83d\\ude", SCHEMA_ETRUNCATED, 11 },
  { "\"\xe5", SCHEMA_ETRUNCATED, 2 },
  { "\"\xe5\x9c", SCHEMA_ETRUNCATED, 3 },
  { "\"\xed\x9f", SCHEMA_ETRUNCATED, 3 },
  { "\"\xf0\x9f\x98", SCHEMA_ETRUNCATED, 4 },
  { "\"\\n\xf0", SCHEMA_ETRUNCATED, 4 },
  /* values */
  { "x", SCHEMA_ESYNTAX, 0 },
  { "\xef\xbb\xbf{}", SCHEMA_ESYNTAX, 0 },
  { "True", SCHEMA_ESYNTAX, 0 },
  { "tRue", SCHEMA_ESYNTAX, 1 },
  { "nulx", SCHEMA_ESYNTAX, 3 },
  { "NaN", SCHEMA_ESYNTAX, 0 },
  { "+1", SCHEMA_ESYNTAX, 0 },
  { ".5", SCHEMA_ESYNTAX, 0 },
  { "01", SCHEMA_ESYNTAX, 1 },
  { "-01", SCHEMA_ESYNTAX, 2 },
  { "[1.]", SCHEMA_ESYNTAX, 3 },
  { "[1.e3]", SCHEMA_ESYNTAX, 3 },
  { "[-]", SCHEMA_ESYNTAX, 2 },
  { "[1e]", SCHEMA_ESYNTAX, 3 },
  { "0x10", SCHEMA_ESYNTAX, 1 },
  { "1 2", SCHEMA_ESYNTAX, 2 },
  { "{}{}", SCHEMA_ESYNTAX, 2 },
  { "{},", SCHEMA_ESYNTAX, 2 },
  { "null\v", SCHEMA_ESYNTAX, 4 },
  { "[1,]", SCHEMA_ESYNTAX, 3 },
  { "[,1]", SCHEMA_ESYNTAX, 1 },
  { "[1 2]", SCHEMA_ESYNTAX, 3 },
  { "[1}", SCHEMA_ESYNTAX, 2 },
  { "[1:2]", SCHEMA_ESYNTAX, 2 },
  { "]", SCHEMA_ESYNTAX, 0 },
  { "[1]]", SCHEMA_ESYNTAX, 3 },
  { "[//\n1]", SCHEMA_ESYNTAX, 1 },
  /* objects */
  { "{'a':1}", SCHEMA_ESYNTAX, 1 },
  { "{a:1}", SCHEMA_ESYNTAX, 1 },
  { "{1:1}", SCHEMA_ESYNTAX, 1 },
  { "{,}", SCHEMA_ESYNTAX, 1 },
  { "{\"a\" 1}", SCHEMA_ESYNTAX, 5 },
  { "{\"a\",1}", SCHEMA_ESYNTAX, 4 },
  { "{\"a\":}", SCHEMA_ESYNTAX, 5 },
  { "{\"a\":1,}", SCHEMA_ESYNTAX, 7 },
  { "{\"a\":1]", SCHEMA_ESYNTAX, 6 },
  { "{\"a\":1 \"b\":2}", SCHEMA_ESYNTAX, 7 },
  { "{\"a\":1,\"a\":1}", SCHEMA_EDUPLICATE, 7 },
  { "{\"a\":1,\"\\u0061\":1}", SCHEMA_EDUPLICATE, 7 },
  { "{\"\":1,\"\":1}", SCHEMA_EDUPLICATE, 6 },
  { "[{\"a\":{\"a\":1},\"b\":2,\"a\":3}]", SCHEMA_EDUPLICATE, 20 },
  { "{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"0\":0}",
    SCHEMA_EDUPLICATE, 61 },
  /* strings */
  { "\"\n\"", SCHEMA_ESYNTAX, 1 },
  { "\"a\x1f\"", SCHEMA_ESYNTAX, 2 },
  { "\"\\n\t\"", SCHEMA_ESYNTAX, 3 },
  { "\"\\x41\"", SCHEMA_ESYNTAX, 2 },
  { "\"\\'\"", SCHEMA_ESYNTAX, 2 },
  { "\"\\U0041\"", SCHEMA_ESYNTAX, 2 },
  { "\"\\u004\"", SCHEMA_ESYNTAX, 6 },
  { "\"\\u00g0\"", SCHEMA_ESYNTAX, 5 },
  { "\"\\q\x01", SCHEMA_ESYNTAX, 2 }, /* the first fault, though the text is cut as well */
  { "\"\\ud83d\"", SCHEMA_ESURROGATE, 1 },
  { "\"\\ud83dx\"", SCHEMA_ESURROGATE, 1 },
  { "\"\\ud83d\\n\"", SCHEMA_ESURROGATE, 1 },
  { "\"\\ud83d\\u0041\"", SCHEMA_ESURROGATE, 1 },
  { "\"\\ud83d\\ud83d\"", SCHEMA_ESURROGATE, 1 },
  { "\"ab\\ude00\\ud83d\"", SCHEMA_ESURROGATE, 3 },
  { "\"\x80\"", SCHEMA_EUTF8, 1 },
  { "\"\xc0\xaf\"", SCHEMA_EUTF8, 1 },
  { "\"\xc1\xbf\"", SCHEMA_EUTF8, 1 },
  { "\"\xe0\x9f\xbf\"", SCHEMA_EUTF8, 1 },
  { "\"\xed\xa0\x80\"", SCHEMA_EUTF8, 1 },
  { "\"\xf0\x8f\xbf\xbf\"", SCHEMA_EUTF8, 1 },
  { "\"\xf4\x90\x80\x80\"", SCHEMA_EUTF8, 1 },
  { "\"\xf5\x80\x80\x80\"", SCHEMA_EUTF8, 1 },
  { "\"\xff\"", SCHEMA_EUTF8, 1 },
  { "\"\xe5\x9c\"", SCHEMA_EUTF8, 1 },
  { "\"\xe5\"", SCHEMA_EUTF8, 1 },
  { "\"\\n\xe5\"", SCHEMA_EUTF8, 3 },
  { "\"\xe0\x80", SCHEMA_EUTF8, 1 }, /* no continuation makes it good */
  { "\"\xed\xa0", SCHEMA_EUTF8, 1 },
  { "\"\xc1", SCHEMA_EUTF8, 1 },
  { "{\"\xff\":1}", SCHEMA_EUTF8, 2 },
  /* nesting, with at most 4 */
  { "[[[[[]]]]]", SCHEMA_EDEPTH, 4 },
  { "[[[[{\"a\"", SCHEMA_EDEPTH, 4 },
};

Test(json, faults_at_their_byte)
{
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena arena;
    struct schema_error e;
    arena_init(&arena, ARENA_MAX);
    /* a copy of exact size, so that a sanitizer sees a read beyond it */
    size_t len = strlen(bad[i].in);
    char *copy = malloc(len ? len : 1);
    cr_assert(copy);
    memcpy(copy, bad[i].in, len);
    struct span tokens = tokens_of(&arena, (struct span) { copy, len }, 4, &e);
    cr_expect(span_ends(tokens, SPAN("!")), "row %zu: %s is read", i, bad[i].in);
    cr_expect_eq(e.code, bad[i].code, "row %zu: %s: %s", i, bad[i].in, schema_code_word(e.code));
    cr_expect_eq(e.at, bad[i].at, "row %zu: %s: at %zu", i, bad[i].in, e.at);
    cr_expect_not_null(e.what, "row %zu", i);
    free(copy);
    arena_done(&arena);
  }
}

Test(json, length_counts_not_nul)
{
  struct arena arena;
  struct schema_error e;
  arena_init(&arena, ARENA_MAX);
  struct span tokens = tokens_of(&arena, SPAN("[\"a\\u0000b\"]"), 4, &e);
  cr_expect(span_eq(tokens, SPAN("[s(a\0b)].")));
  tokens_of(&arena, SPAN("[\0]"), 4, &e);
  cr_expect_eq(e.code, SCHEMA_ESYNTAX);
  cr_expect_eq(e.at, 1);
  tokens_of(&arena, SPAN("\"a\0\""), 4, &e);
  cr_expect_eq(e.at, 2);
  tokens_of(&arena, (struct span) { NULL, 0 }, 4, &e);
  cr_expect_eq(e.code, SCHEMA_ETRUNCATED);
  arena_done(&arena);
}

Test(json, plain_strings_are_not_copied)
{
  static const char text[] = "[\"plain \xe5\x9c\xa8\",\"with\\n\"]";
  struct arena arena;
  struct schema_json r;
  arena_init(&arena, ARENA_MAX);
  schema_json_init(&r, span_of(text), &arena, 4);
  schema_json_next(&r);
  cr_assert_eq(schema_json_next(&r), SCHEMA_JSON_STRING);
  cr_expect_eq(r.text.ptr, text + 2);
  cr_expect_eq(arena.used, 0);
  cr_assert_eq(schema_json_next(&r), SCHEMA_JSON_STRING);
  cr_expect(r.text.ptr < text || r.text.ptr > text + sizeof text);
  arena_done(&arena);
}

Test(json, offsets_cut_out_raw_values)
{
  static const char *const raws[] = { "{\"a\" : [1, \"\\n\"]}", "-1.5e3", "\"x\\u0041\"", "true" };
  for (size_t i = 0; i < sizeof raws / sizeof *raws; i++) {
    struct arena arena;
    struct schema_json r;
    arena_init(&arena, ARENA_MAX);
    struct span text = arena_printf(&arena, "{\"k\" :  %s  , \"l\":0}", raws[i]);
    schema_json_init(&r, text, &arena, 8);
    schema_json_next(&r);
    schema_json_next(&r);
    enum schema_token first = schema_json_next(&r);
    size_t begin = r.at;
    cr_expect(schema_json_skip(&r, first));
    struct span raw = { text.ptr + begin, schema_json_offset(&r) - begin };
    cr_expect(span_is(raw, raws[i]), "row %zu: %.*s", i, (int)raw.len, raw.ptr);
    cr_expect_eq(r.depth, 1, "row %zu", i);
    cr_expect_eq(schema_json_next(&r), SCHEMA_JSON_KEY, "row %zu", i);
    arena_done(&arena);
  }
}

Test(json, skipping_judges_all_the_same)
{
  static const struct {
    const char *in;
    bool ok;
    size_t at;
  } rows[] = {
    { "[[1,[2,{}]],3]", true, 0 },       { "[[1,[2,]],3]", false, 7 },
    { "[{\"a\":1,\"a\":2}]", false, 8 }, { "[[[", false, 3 },
    { "[\"\xff\"]", false, 2 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_json r;
    arena_init(&arena, ARENA_MAX);
    schema_json_init(&r, span_of(rows[i].in), &arena, 8);
    schema_json_next(&r);
    cr_expect_eq(schema_json_skip(&r, schema_json_next(&r)), rows[i].ok, "row %zu", i);
    cr_expect_eq(r.error.at, rows[i].at, "row %zu: %zu", i, r.error.at);
    arena_done(&arena);
  }
}

Test(json, depth_is_counted)
{
  for (unsigned depth = 1; depth <= SCHEMA_DEPTH_SCHEMA; depth += 73) {
    struct arena arena;
    struct schema_error e;
    struct buf text;
    arena_init(&arena, ARENA_MAX);
    buf_init(&text, 1 << 20);
    for (unsigned i = 0; i < depth; i++) buf_add(&text, i % 2 ? SPAN("{\"a\":") : SPAN("["));
    for (unsigned i = depth; i-- > 0;) buf_add_char(&text, i % 2 ? '}' : ']');
    struct span tokens = tokens_of(&arena, buf_span(&text), depth, &e);
    bool empty_member = depth % 2 == 0; /* the innermost {"a":} lacks its value */
    cr_expect_eq(span_ends(tokens, SPAN(".")), !empty_member, "depth %u: %s", depth,
                 schema_code_word(e.code));
    tokens_of(&arena, buf_span(&text), depth - 1, &e);
    cr_expect_eq(e.code, SCHEMA_EDEPTH, "depth %u", depth);
    buf_done(&text);
    arena_done(&arena);
  }
}

/* 100,000 keys, the last one twice, in every other object: neither slow nor wrong. */
Test(json, many_keys)
{
  enum { KEYS = 100000 };
  struct arena arena;
  struct schema_error e;
  struct buf text;
  arena_init(&arena, ARENA_MAX);
  buf_init(&text, 1 << 24);
  buf_add(&text, SPAN("[{"));
  for (int i = 0; i < KEYS; i++) buf_printf(&text, "%s\"k%d\":0", i ? "," : "", i);
  buf_add(&text, SPAN("},{"));
  for (int i = 0; i < 20; i++) buf_printf(&text, "%s\"k%d\":0", i ? "," : "", i);
  buf_add(&text, SPAN("}"));
  size_t sound = text.len;
  buf_add(&text, SPAN("]"));
  tokens_of(&arena, buf_span(&text), 4, &e);
  cr_expect_eq(e.code, SCHEMA_OK, "%s at %zu", schema_code_word(e.code), e.at);
  text.len = sound - 1;
  size_t at = text.len + 1;
  buf_add(&text, SPAN(",\"k\\u0037\":0}]"));
  tokens_of(&arena, buf_span(&text), 4, &e);
  cr_expect_eq(e.code, SCHEMA_EDUPLICATE, "%s", schema_code_word(e.code));
  cr_expect_eq(e.at, at, "%zu", e.at);
  buf_done(&text);
  arena_done(&arena);
}

Test(json, memory_may_run_out)
{
  static const char *const texts[] = {
    "{\"a\":1}", "\"\\n\"",
    "{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0}"
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct arena arena;
    struct schema_json r;
    bool ok = false;
    for (size_t max = 0; max < 1 << 14 && !ok; max += 16) {
      arena_init(&arena, max);
      schema_json_init(&r, span_of(texts[i]), &arena, 4);
      enum schema_token token;
      while ((token = schema_json_next(&r)) > SCHEMA_JSON_END)
        ;
      ok = token == SCHEMA_JSON_END;
      cr_expect(ok || r.error.code == SCHEMA_ENOMEM, "text %zu with %zu", i, max);
      cr_expect(!(ok && max == 0), "text %zu needs memory", i);
      arena_done(&arena);
    }
    cr_expect(ok, "text %zu", i);
  }
}
