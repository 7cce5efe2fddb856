#include <criterion/criterion.h>

#include "schema/print.h"
#include "schema/reply.h"
#include "tests/lib/vectors.h"

#define ALL_TYPES ((1u << SCHEMA_TYPE_COUNT) - 1)
#define TEXT_REPLY(json_string)                                                                    \
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":" json_string "}}]}]}"
#define DATA_REPLY(type, data)                                                                     \
  "{\"messages\":[{\"segments\":[{\"type\":\"" type "\",\"data\":" data "}]}]}"

static const struct span share_fields[] = { { "description", 11 }, { "image", 5 } };
static const struct schema_reaction reactions[] = { { { "76", 2 }, { "赞", 3 } } };

static const struct schema_offer plain = { .types = ALL_TYPES };
static const struct schema_offer with_reaction = {
  .types = ALL_TYPES,
  .offers_reaction = true,
  .reactions = reactions,
  .reaction_count = 1,
};
static const struct schema_offer with_fields = {
  .types = ALL_TYPES,
  .share_fields = share_fields,
  .share_field_count = 2,
};
static const struct schema_offer few = { .types = 1u << SCHEMA_IMAGE };
static const struct schema_offer canonical = {
  .types = ALL_TYPES,
  .share_fields = share_fields,
  .share_field_count = 2,
  .canonical = true,
};

static struct span printed(struct arena *arena, const struct schema_reply *reply, bool reaction)
{
  struct buf out;
  buf_init(&out, 1 << 24);
  struct schema_writer w = { .out = &out };
  schema_write_reply(&w, reply, reaction);
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

/* ---- accepted: what is left of it ---- */

static const struct {
  const struct schema_offer *offer;
  const char *in, *out; /* out NULL: as in */
} accepted[] = {
  { &plain, "{\"messages\":[]}", NULL },
  { &plain, " \n{ \"messages\" : [ ] }\t", "{\"messages\":[]}" },
  { &plain, TEXT_REPLY("\"在的\""), NULL },
  { &plain, TEXT_REPLY("\"a\\u0000b\\u001b\\r\\n\\tc\""), TEXT_REPLY("\"ab\\n\\tc\"") },
  { &plain, TEXT_REPLY("\"\x7f\xc2\x80x\xc2\x9f\xc2\xa0\""), TEXT_REPLY("\"x\xc2\xa0\"") },
  { &plain, TEXT_REPLY("\"\\u0007\""), "{\"messages\":[]}" },
  { &plain, TEXT_REPLY("\"\""), "{\"messages\":[]}" },
  { &plain, TEXT_REPLY("\" \\n\xe3\x80\x80\""), "{\"messages\":[]}" },
  { &plain, DATA_REPLY("markdown", "{\"content\":\"\"}"), "{\"messages\":[]}" },
  { &plain, DATA_REPLY("markdown", "{\"content\":\" # \"}"), NULL },
  { &plain, DATA_REPLY("mention", "{\"target\":\"\"}"), NULL },
  { &plain, DATA_REPLY("mention", "{\"target\":\"1\\u0000\"}"), NULL },
  { &plain, DATA_REPLY("dice", "{}"), NULL },
  { &plain, DATA_REPLY("rps", "{ }"), DATA_REPLY("rps", "{}") },
  { &plain, DATA_REPLY("image", "{\"media\":{\"value\":\"\",\"kind\":\"url\"}}"),
    DATA_REPLY("image", "{\"media\":{\"kind\":\"url\",\"value\":\"\"}}") },
  { &plain, DATA_REPLY("file", "{\"media\":{\"kind\":\"path\",\"value\":\"/a\\u0000b\"}}"), NULL },
  { &plain, DATA_REPLY("audio", "{\"media\":{\"kind\":\"base64\",\"value\":\"AA==\"}}"), NULL },
  { &plain, DATA_REPLY("video", "{\"media\":{\"kind\":\"file\",\"value\":\"x\"}}"), NULL },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[]}"), "{\"messages\":[]}" },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[[],[]]}"), "{\"messages\":[]}" },
  { &plain,
    DATA_REPLY("keyboard", "{\"rows\":[[],[{\"label\":\"\",\"payload\":\"a\\u0001\"}],[]]}"),
    DATA_REPLY("keyboard", "{\"rows\":[[{\"label\":\"\",\"payload\":\"a\"}]]}") },
  { &plain, DATA_REPLY("share", "{\"title\":\"\",\"url\":\"u\"}"),
    DATA_REPLY("share", "{\"url\":\"u\",\"title\":\"\"}") },
  { &with_fields,
    DATA_REPLY("share", "{\"image\":\"\",\"title\":\"t\",\"description\":\" \",\"url\":\"u\"}"),
    DATA_REPLY("share", "{\"url\":\"u\",\"title\":\"t\",\"description\":\" \"}") },
  { &few, TEXT_REPLY("\"text is always offered\""), NULL },
  /* blank words beside something else stay */
  { &plain,
    "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\" \"}},"
    "{\"type\":\"dice\",\"data\":{}},{\"type\":\"text\",\"data\":{\"text\":\"\"}}]},"
    "{\"segments\":[]}]}",
    "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\" \"}},"
    "{\"type\":\"dice\",\"data\":{}}]}]}" },
  /* keys in any order, and written with escapes */
  { &plain,
    "{\"messages\":[{\"segments\":[{\"data\":{\"te\\u0078t\":\"a\"},\"\\u0074ype\":\"t\\u0065xt\"},"
    "{\"data\":{},\"type\":\"dice\"},{\"type\":\"text\",\"data\":{\"text\":\"b\"}}]}]}",
    "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}},"
    "{\"type\":\"dice\",\"data\":{}},{\"type\":\"text\",\"data\":{\"text\":\"b\"}}]}]}" },
  /* reactions */
  { &plain, "{\"reaction\":{\"a\":[1,{\"b\":null}]},\"messages\":[]}", "{\"messages\":[]}" },
  { &plain, "{\"messages\":[],\"reaction\":\"76\"}", "{\"messages\":[]}" },
  { &with_reaction, "{\"messages\":[],\"reaction\":\"76\"}", NULL },
  { &with_reaction, "{\"reaction\":\"\\u0037\\u0036\",\"messages\":[]}",
    "{\"messages\":[],\"reaction\":\"76\"}" },
  { &with_reaction, "{\"messages\":[],\"reaction\":\"\"}", NULL },
  { &with_reaction, "{\"messages\":[]}", "{\"messages\":[],\"reaction\":\"\"}" },
  /* the canonical form */
  { &canonical, DATA_REPLY("share", "{\"url\":\"u\",\"title\":\"t\"}"), NULL },
  { &canonical, "{\"messages\":[],\"reaction\":null}", "{\"messages\":[]}" },
  { &canonical,
    "{\"messages\":[{\"reply_to\":\"-5\",\"segments\":[{\"type\":\"dice\",\"data\":{}}]}]}", NULL },
};

Test(reply, what_is_left_of_a_sound_reply)
{
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    struct arena arena;
    struct schema_reply reply;
    struct schema_error e = { 0 };
    const struct schema_offer *offer = accepted[i].offer;
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    enum schema_code rc = schema_reply_read(offer, span_of(accepted[i].in), &arena, &reply, &e);
    cr_expect_eq(rc, SCHEMA_OK, "row %zu: %s: %s at %zu", i, accepted[i].in, schema_code_word(rc),
                 e.at);
    if (!rc) {
      struct span out = printed(&arena, &reply, offer->offers_reaction);
      const char *wanted = accepted[i].out ? accepted[i].out : accepted[i].in;
      cr_expect(span_is(out, wanted), "row %zu: %s\n became %s", i, accepted[i].in, out.ptr);
    }
    arena_done(&arena);
  }
}

/* ---- refused: code, byte, path ---- */

#define SEGMENTS "$.messages[0].segments[0]"

static const struct {
  const struct schema_offer *offer;
  const char *in;
  enum schema_code code;
  size_t at;
  const char *path;
} refused[] = {
  { &plain, "", SCHEMA_ETRUNCATED, 0, "$" },
  { &plain, " ", SCHEMA_ETRUNCATED, 1, "$" },
  { &plain, "[]", SCHEMA_ETYPE, 0, "$" },
  { &plain, "null", SCHEMA_ETYPE, 0, "$" },
  { &plain, "{}", SCHEMA_EMISSING, 1, "$.messages" },
  { &plain, "{\"messages\":{}}", SCHEMA_ETYPE, 12, "$.messages" },
  { &plain, "{\"messages\":null}", SCHEMA_ETYPE, 12, "$.messages" },
  { &plain, "{\"messages\":[1]}", SCHEMA_ETYPE, 13, "$.messages[0]" },
  { &plain, "{\"messages\":[{}]}", SCHEMA_EMISSING, 14, "$.messages[0].segments" },
  { &plain, "{\"messages\":[{\"segments\":[]},[]]}", SCHEMA_ETYPE, 29, "$.messages[1]" },
  { &plain, "{\"messages\":[],\"x\":1}", SCHEMA_EUNKNOWN, 15, "$.x" },
  { &plain, "{\"messages\":[],\"a b\":1}", SCHEMA_EUNKNOWN, 15, "$" },
  { &plain, "{\"messages\":[],\"messages\":[]}", SCHEMA_EDUPLICATE, 15, "$" },
  { &plain, "{\"messages\":[],\"segments\":[]}", SCHEMA_EUNKNOWN, 15, "$.segments" },
  { &plain, "{\"segments\":[]}", SCHEMA_EUNKNOWN, 1, "$.segments" },
  { &plain, "{\"messages\":[]}x", SCHEMA_ESYNTAX, 15, "$" },
  { &plain, "{\"messages\":[]", SCHEMA_ETRUNCATED, 14, "$" },
  { &plain, "{\"messages\":[{\"segments\":[{\"type\":\"te", SCHEMA_ETRUNCATED, 37,
    SEGMENTS ".type" },
  { &plain, "{\"messages\":[{\"reply_to\":\"1\",\"segments\":[]}]}", SCHEMA_EUNKNOWN, 14,
    "$.messages[0].reply_to" },
  { &plain, "{\"messages\":[{\"segments\":[null]}]}", SCHEMA_ETYPE, 26, SEGMENTS },
  { &plain, "{\"messages\":[{\"segments\":[{}]}]}", SCHEMA_EMISSING, 27, SEGMENTS ".type" },
  { &plain, "{\"messages\":[{\"segments\":[{\"type\":\"dice\"}]}]}", SCHEMA_EMISSING, 40,
    SEGMENTS ".data" },
  { &plain, "{\"messages\":[{\"segments\":[{\"data\":{}}]}]}", SCHEMA_EMISSING, 36,
    SEGMENTS ".type" },
  { &plain, "{\"messages\":[{\"segments\":[{\"data\":{},\"type\":\"text\"}]}]}", SCHEMA_EMISSING,
    35, SEGMENTS ".data.text" },
  { &plain, "{\"messages\":[{\"segments\":[{\"data\":{\"text\":1},\"type\":\"text\"}]}]}",
    SCHEMA_ETYPE, 42, SEGMENTS ".data.text" },
  { &plain, "{\"messages\":[{\"segments\":[{\"data\":{\"a\":1,\"a\":1},\"type\":\"text\"}]}]}",
    SCHEMA_EDUPLICATE, 41, SEGMENTS },
  { &plain, "{\"messages\":[{\"segments\":[{\"type\":\"dice\",\"data\":{},\"platform\":{}}]}]}",
    SCHEMA_EUNKNOWN, 51, SEGMENTS ".platform" },
  { &plain, DATA_REPLY("dice", "{\"result\":3}"), SCHEMA_EUNKNOWN, 49, SEGMENTS ".data.result" },
  { &plain, DATA_REPLY("dice", "[]"), SCHEMA_ETYPE, 48, SEGMENTS ".data" },
  { &plain, DATA_REPLY("dice", "null"), SCHEMA_ETYPE, 48, SEGMENTS ".data" },
  { &plain, DATA_REPLY("Text", "{}"), SCHEMA_ENOTOFFERED, 34, SEGMENTS ".type" },
  { &plain, DATA_REPLY("reply", "{}"), SCHEMA_ENOTOFFERED, 34, SEGMENTS ".type" },
  { &plain, DATA_REPLY("face", "{}"), SCHEMA_ENOTOFFERED, 34, SEGMENTS ".type" },
  { &few, DATA_REPLY("dice", "{}"), SCHEMA_ENOTOFFERED, 34, SEGMENTS ".type" },
  { &plain, DATA_REPLY("text", "{\"content\":\"\"}"), SCHEMA_EUNKNOWN, 49,
    SEGMENTS ".data.content" },
  { &plain, DATA_REPLY("markdown", "{\"text\":\"\"}"), SCHEMA_EUNKNOWN, 53, SEGMENTS ".data.text" },
  { &plain, DATA_REPLY("mention", "{\"target\":123}"), SCHEMA_ETYPE, 61, SEGMENTS ".data.target" },
  { &plain, DATA_REPLY("image", "{}"), SCHEMA_EMISSING, 50, SEGMENTS ".data.media" },
  { &plain, DATA_REPLY("image", "{\"media\":\"u\"}"), SCHEMA_ETYPE, 58, SEGMENTS ".data.media" },
  { &plain, DATA_REPLY("image", "{\"media\":{\"kind\":\"url\"}}"), SCHEMA_EMISSING, 71,
    SEGMENTS ".data.media.value" },
  { &plain, DATA_REPLY("image", "{\"media\":{\"kind\":\"URL\",\"value\":\"\"}}"), SCHEMA_EENUM, 66,
    SEGMENTS ".data.media.kind" },
  { &plain, DATA_REPLY("image", "{\"media\":{\"kind\":\"url\",\"value\":\"\"},\"alt\":\"\"}"),
    SCHEMA_EUNKNOWN, 84, SEGMENTS ".data.alt" },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[{}]}"), SCHEMA_ETYPE, 61, SEGMENTS ".data.rows[0]" },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[[],[\"a\"]]}"), SCHEMA_ETYPE, 65,
    SEGMENTS ".data.rows[1][0]" },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[[{\"label\":\"a\"}]]}"), SCHEMA_EMISSING, 74,
    SEGMENTS ".data.rows[0][0].payload" },
  { &plain, DATA_REPLY("keyboard", "{\"rows\":[[{\"label\":\"a\",\"payload\":\"\",\"id\":\"\"}]]}"),
    SCHEMA_EUNKNOWN, 88, SEGMENTS ".data.rows[0][0].id" },
#define BUTTON "{\"label\":\"\",\"payload\":\"\"}"
  { &plain,
    DATA_REPLY("keyboard",
               "{\"rows\":[[" BUTTON "," BUTTON "," BUTTON "," BUTTON "," BUTTON "," BUTTON "]]}"),
    SCHEMA_ELIMIT, 192, SEGMENTS ".data.rows[0][5]" },
  { &plain, DATA_REPLY("share", "{\"url\":\"u\"}"), SCHEMA_EMISSING, 59, SEGMENTS ".data.title" },
  { &plain, DATA_REPLY("share", "{\"url\":\"u\",\"title\":\"t\",\"image\":\"\"}"), SCHEMA_EUNKNOWN,
    72, SEGMENTS ".data.image" },
  { &with_fields, DATA_REPLY("share", "{\"url\":\"u\",\"title\":\"t\",\"image\":\"\"}"),
    SCHEMA_EMISSING, 82, SEGMENTS ".data.description" },
  { &canonical, DATA_REPLY("share", "{\"url\":\"u\"}"), SCHEMA_EMISSING, 59,
    SEGMENTS ".data.title" },
  { &with_reaction, "{\"messages\":[],\"reaction\":\"999\"}", SCHEMA_EENUM, 26, "$.reaction" },
  { &with_reaction, "{\"messages\":[],\"reaction\":null}", SCHEMA_ETYPE, 26, "$.reaction" },
  { &with_reaction, "{\"messages\":[],\"reaction\":76}", SCHEMA_ETYPE, 26, "$.reaction" },
  { &plain, "{\"messages\":[],\"reaction\":[1,}", SCHEMA_ESYNTAX, 29, "$.reaction" },
  { &plain, "{\"messages\":[],\"reaction\":1,\"reaction\":2}", SCHEMA_EDUPLICATE, 28, "$" },
  { &canonical, "{\"messages\":[],\"reaction\":1}", SCHEMA_ETYPE, 26, "$.reaction" },
  { &plain, TEXT_REPLY("\"\xff\""), SCHEMA_EUTF8, 57, SEGMENTS ".data.text" },
  { &plain, TEXT_REPLY("\"\n\""), SCHEMA_ESYNTAX, 57, SEGMENTS ".data.text" },
  { &plain, TEXT_REPLY("\"\\ud800\""), SCHEMA_ESURROGATE, 57, SEGMENTS ".data.text" },
};

Test(reply, where_and_why_a_reply_is_refused)
{
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct arena arena;
    struct schema_reply reply = { .count = 77 };
    struct schema_error e = { 0 };
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    enum schema_code rc =
        schema_reply_read(refused[i].offer, span_of(refused[i].in), &arena, &reply, &e);
    cr_expect_eq(rc, refused[i].code, "row %zu: %s: %s", i, refused[i].in, schema_code_word(rc));
    cr_expect_eq(e.code, rc, "row %zu", i);
    cr_expect_eq(e.at, refused[i].at, "row %zu: %s: at %zu", i, refused[i].in, e.at);
    cr_expect_str_eq(e.path, refused[i].path, "row %zu: %s: %s", i, refused[i].in, e.path);
    cr_expect_not_null(e.what, "row %zu", i);
    cr_expect_eq(reply.count, 77, "row %zu: the result is touched", i);
    arena_done(&arena);
  }
}

/* Cut anywhere, a reply is truncated, at its end. */
Test(reply, cut_replies_are_truncated)
{
  static const char whole[] =
      "{\"messages\":[{\"segments\":[{\"data\":{\"text\":\"\\ud83d\\ude00é\\n\"},"
      "\"type\":\"text\"}]}],\"reaction\":[true,-1.5e+3,null]}";
  for (size_t len = 0; len < sizeof whole - 1; len++) {
    struct arena arena;
    struct schema_reply reply;
    struct schema_error e = { 0 };
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    enum schema_code rc =
        schema_reply_read(&plain, (struct span) { whole, len }, &arena, &reply, &e);
    cr_expect_eq(rc, SCHEMA_ETRUNCATED, "cut at %zu: %s", len, schema_code_word(rc));
    cr_expect_eq(e.at, len, "cut at %zu: at %zu", len, e.at);
    arena_done(&arena);
  }
}

/* ---- the legacy root, and what was let pass ---- */

Test(reply, the_legacy_root_is_one_message)
{
  static const char segments[] = "\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}]";
  static const struct {
    const char *before, *behind;
    enum schema_code code;
    const char *path;
  } rows[] = {
    { "{", "}", SCHEMA_OK, NULL },
    { "{\"reaction\":\"76\",", "}", SCHEMA_OK, NULL },
    { "{", ",\"reaction\":\"76\"}", SCHEMA_OK, NULL },
    { "{", ",\"reaction\":\"77\"}", SCHEMA_EENUM, "$.reaction" },
    { "{", ",\"id\":\"m1\"}", SCHEMA_EUNKNOWN, "$.id" },
    { "{\"messages\":[],", "}", SCHEMA_EUNKNOWN, "$.segments" },
    { "{", ",\"messages\":[]}", SCHEMA_EUNKNOWN, "$.messages" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_reply reply;
    struct schema_error e = { 0 };
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    struct span text = arena_printf(&arena, "%s%s%s", rows[i].before, segments, rows[i].behind);
    struct schema_json r;
    struct schema_reply_notes notes;
    schema_json_init(&r, text, &arena, SCHEMA_DEPTH_REPLY);
    enum schema_code rc =
        schema_reply_read_from(&with_reaction, &r, SCHEMA_REPLY_LEGACY, &reply, &notes, &e);
    cr_expect_eq(rc, rows[i].code, "row %zu: %s", i, schema_code_word(rc));
    if (!rc) {
      cr_expect(notes.legacy_root, "row %zu", i);
      cr_expect_eq(reply.count, 1, "row %zu", i);
      cr_expect_eq(reply.messages[0].count, 1, "row %zu", i);
      cr_expect_eq(reply.reaction.len, i == 0 ? 0 : 2, "row %zu", i);
    } else {
      cr_expect_str_eq(e.path, rows[i].path, "row %zu: %s", i, e.path);
    }
    arena_done(&arena);
  }
}

Test(reply, notes_tell_what_was_let_pass)
{
  static const struct {
    const struct schema_offer *offer;
    const char *in;
    enum schema_code code;
    struct schema_reply_notes notes;
  } rows[] = {
    { &plain, "{\"messages\":[]}", SCHEMA_OK, { 0 } },
    { &plain, "{\"segments\":[]}", SCHEMA_OK, { .legacy_root = true } },
    { &plain, "{\"messages\":[],\"reaction\":1}", SCHEMA_OK, { .reaction_ignored = true } },
    { &with_reaction, "{\"messages\":[]}", SCHEMA_OK, { .reaction_missing = true } },
    { &with_reaction, "{\"messages\":[],\"reaction\":\"\"}", SCHEMA_OK, { 0 } },
    { &with_reaction,
      "{\"messages\":[],\"reaction\":76}",
      SCHEMA_OK,
      { .integers = 1, .integer_at = 26 } },
    { &plain,
      DATA_REPLY("mention", "{\"target\":12345678901234567890123}"),
      SCHEMA_OK,
      { .integers = 1, .integer_at = 61 } },
    { &plain,
      DATA_REPLY("share", "{\"url\":-1,\"title\":0}"),
      SCHEMA_OK,
      { .integers = 2, .integer_at = 56 } },
    { &plain, DATA_REPLY("text", "{\"text\":1.0}"), SCHEMA_ETYPE, { 0 } },
    { &plain, DATA_REPLY("text", "{\"text\":1e3}"), SCHEMA_ETYPE, { 0 } },
    { &plain, DATA_REPLY("text", "{\"text\":true}"), SCHEMA_ETYPE, { 0 } },
    { &canonical, "{\"messages\":[],\"reaction\":null}", SCHEMA_OK, { 0 } },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_json r;
    struct schema_reply reply;
    struct schema_reply_notes notes;
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    schema_json_init(&r, span_of(rows[i].in), &arena, SCHEMA_DEPTH_REPLY);
    enum schema_code rc = schema_reply_read_from(
        rows[i].offer, &r, SCHEMA_REPLY_LEGACY | SCHEMA_REPLY_INTEGERS, &reply, &notes, NULL);
    cr_expect_eq(rc, rows[i].code, "row %zu: %s", i, schema_code_word(rc));
    cr_expect_eq(notes.legacy_root, rows[i].notes.legacy_root, "row %zu", i);
    cr_expect_eq(notes.reaction_ignored, rows[i].notes.reaction_ignored, "row %zu", i);
    cr_expect_eq(notes.reaction_missing, rows[i].notes.reaction_missing, "row %zu", i);
    cr_expect_eq(notes.integers, rows[i].notes.integers, "row %zu", i);
    cr_expect_eq(notes.integer_at, rows[i].notes.integer_at, "row %zu: %zu", i, notes.integer_at);
    arena_done(&arena);
  }
}

Test(reply, the_reader_stays_behind_the_root)
{
  struct arena arena;
  struct schema_json r;
  struct schema_reply reply;
  struct span text = SPAN("{\"messages\":[]} and more");
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
  schema_json_init(&r, text, &arena, SCHEMA_DEPTH_REPLY);
  cr_assert_eq(schema_reply_read_from(&plain, &r, 0, &reply, NULL, NULL), SCHEMA_OK);
  cr_expect_eq(schema_json_offset(&r), 15);
  cr_expect_eq(schema_json_next(&r), SCHEMA_JSON_ERROR);
  cr_expect_eq(r.error.at, 16);
  arena_done(&arena);
}

/* ---- heads ---- */

/* Segments as printers write them, sound and not. */
static const char *const headed[] = {
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\\u0001\\n\"}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"\"}}",
  "{\"type\":\"text\",\"data\":{\"text\":7}}",
  "{\"type\":\"text\",\"data\":{\"text\":null}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\",\"text\":\"b\"}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\",\"content\":\"b\"}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"},\"id\":1}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"},\"type\":\"text\"}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"},\"data\":{}}",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"}]",
  "{\"type\":\"text\",\"data\":{\"text\":\"a\"]}",
  "{\"type\":\"text\",\"data\":{\"text\":\"\\q\"}}",
  "{\"type\":\"text\",\"data\":{\"target\":\"a\"}}",
  "{\"type\":\"text\",\"data\":{}}",
  "{\"type\":\"texts\",\"data\":{\"text\":\"a\"}}",
  "{\"type\":\"tent\",\"data\":{\"text\":\"a\"}}",
  "{\"type\":\"mention\",\"data\":{\"target\":\"10001\"}}",
  "{\"type\":\"mention\",\"data\":{\"target\":10001}}",
  "{\"type\":\"markdown\",\"data\":{\"content\":\"# a\"}}",
  "{\"type\":\"markdown\",\"data\":{\"text\":\"# a\"}}",
  "{\"type\":\"image\",\"data\":{\"media\":{\"kind\":\"url\",\"value\":\"https://a.b/c\"}}}",
  "{\"type\":\"image\",\"data\":{\"media\":{\"kind\":\"uri\",\"value\":\"https://a.b/c\"}}}",
  "{\"type\":\"keyboard\",\"data\":{\"rows\":[[{\"label\":\"a\",\"payload\":\"b\"}]]}}",
  "{\"type\":\"share\",\"data\":{\"url\":\"https://a.b\",\"title\":\"t\"}}",
  "{\"type\":\"share\",\"data\":{\"url\":\"https://a.b\"}}",
  "{\"type\":\"dice\",\"data\":{}}",
  "{\"type\":\"dice\",\"data\":{\"text\":\"a\"}}",
};

/* The reply of one such segment, with gap behind colons and commas, in data another one, and, inside,
 * a space before its first key. */
static struct span reply_of(struct arena *arena, const char *segment, const char *gap,
                            const char *inner_gap, bool inside)
{
  enum { ROOM = 64 }; /* a head is not looked for in the last bytes of a text */
  struct buf out;
  bool string = false;
  int depth = 0;
  buf_init(&out, 1 << 12);
  buf_add(&out, SPAN("{\"messages\":[{\"segments\":["));
  for (const char *p = segment; *p; p++) {
    if (*p == '"' && p[-1] != '\\') string = !string;
    depth += !string && *p == '{';
    buf_add_char(&out, *p);
    if (p == segment && inside) buf_add_char(&out, ' ');
    if (!string && (*p == ':' || *p == ',')) buf_add(&out, span_of(depth > 1 ? inner_gap : gap));
  }
  buf_add(&out, SPAN("]}]}"));
  for (int i = 0; i < ROOM; i++) buf_add_char(&out, ' ');
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

/* Read by its head or member by member, a segment is the same, and so is what is wrong with it. */
Test(reply, heads_change_nothing)
{
  static const char *const gaps[][2] = { { "", "" },    { " ", " " },   { "", " " }, { " ", "" },
                                         { " ", "  " }, { "", "\n\t" }, { "\n", "" } };
  enum { GAPS = sizeof gaps / sizeof *gaps };
  for (size_t i = 0; i < sizeof headed / sizeof *headed; i++)
    for (int form = 0; form < 2 * GAPS; form++) {
      struct arena arena;
      struct schema_reply want = { 0 }, got = { 0 };
      struct schema_error fault = { 0 }, wanted = { 0 };
      arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
      const struct schema_offer *offer = form < GAPS ? &few : &plain;
      const char *const *gap = gaps[form % GAPS];
      struct span slow = reply_of(&arena, headed[i], gap[0], gap[1], true);
      struct span fast = reply_of(&arena, headed[i], gap[0], gap[1], false);
      enum schema_code want_rc = schema_reply_read(offer, slow, &arena, &want, &wanted);
      enum schema_code rc = schema_reply_read(offer, fast, &arena, &got, &fault);
      cr_expect_eq(rc, want_rc, "%s: %s", headed[i], schema_code_word(rc));
      cr_expect_str_eq(fault.path, wanted.path, "%s", headed[i]);
      if (rc) cr_expect_eq(fault.at + 1, wanted.at, "%s: %zu", headed[i], fault.at);
      cr_expect(span_eq(printed(&arena, &got, true), printed(&arena, &want, true)), "%s",
                headed[i]);
      arena_done(&arena);
    }
}

/* Out of memory at any point is an error, never a crash or a part of the reply. */
Test(reply, memory_may_run_out_anywhere)
{
  struct span text =
      SPAN("{\"messages\":[{\"segments\":[{\"data\":{\"text\":\"\\u0001a\"},\"type\":\"text\"},"
           "{\"type\":\"keyboard\",\"data\":{\"rows\":[[{\"label\":\"\\n\",\"payload\":\"b\"}]]}},"
           "{\"type\":\"share\",\"data\":{\"url\":\"u\",\"title\":\"t\"}}]}],\"reaction\":\"\"}");
  bool ok = false;
  size_t max = 0, refusals = 0;
  for (; !ok && max < 1 << 16; max += 16) {
    struct arena arena;
    struct schema_reply reply;
    arena_init(&arena, max);
    enum schema_code rc = schema_reply_read(&plain, text, &arena, &reply, NULL);
    ok = rc == SCHEMA_OK;
    refusals += rc == SCHEMA_ENOMEM;
    cr_expect(ok || rc == SCHEMA_ENOMEM, "with %zu bytes: %s", max, schema_code_word(rc));
    arena_done(&arena);
  }
  cr_expect(ok);
  cr_expect_gt(refusals, 10);
}

/* ---- the vectors ---- */

/* Sound by the schema, but with tool calls or transport residue in their words: the verdict's. */
static bool is_residue(struct span kind)
{
  return span_starts(kind, SPAN("tool_")) || span_is(kind, "nested_transport") ||
         span_is(kind, "think_in_segment") || span_is(kind, "text_wrapper");
}

Test(reply, vectors)
{
  struct vectors v;
  cr_assert(vectors_open(&v, "replies"));
  size_t accepts = 0, refusals = 0, residues = 0;
  for (struct schema_node *row; (row = vectors_next(&v));) {
    struct span id = vectors_string(row, "id"), kind = vectors_string(row, "kind");
    const struct schema_node *expect = schema_tree_get(row, "expect");
    struct span verdict = vectors_string(expect, "verdict");
    struct schema_offer offer = vectors_offer(&v, row);
    struct schema_reply reply;
    struct schema_error e = { 0 };
    enum schema_code rc = schema_reply_read(&offer, vectors_input(&v, row), &v.arena, &reply, &e);
    if (span_is(verdict, "accept")) {
      cr_expect_eq(rc, SCHEMA_OK, "%.*s: %s at %zu", (int)id.len, id.ptr, schema_code_word(rc),
                   e.at);
      if (rc) continue;
      struct span out = printed(&v.arena, &reply, false);
      struct schema_node *tree;
      cr_assert_eq(schema_tree_read(out, SCHEMA_DEPTH_REPLY, &v.arena, &tree, NULL), SCHEMA_OK);
      cr_expect(
          vectors_equal(schema_tree_get(tree, "messages"), schema_tree_get(expect, "delivered")),
          "%.*s: %s", (int)id.len, id.ptr, out.ptr);
      cr_expect(span_eq(reply.reaction, vectors_string(expect, "reaction")), "%.*s", (int)id.len,
                id.ptr);
      accepts++;
    } else if (!span_is(verdict, "repair")) {
      bool residue = rc == SCHEMA_OK && is_residue(kind);
      cr_expect(rc != SCHEMA_OK || residue, "%.*s is accepted", (int)id.len, id.ptr);
      residues += residue;
      refusals += rc != SCHEMA_OK;
    }
  }
  cr_expect_eq(accepts, 75, "%zu", accepts);
  cr_expect_eq(accepts + refusals + residues, 258, "%zu %zu", refusals, residues);
  vectors_close(&v);
}
