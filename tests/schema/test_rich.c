#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/print.h"
#include "schema/verdict.h"

#define ALL_TYPES ((1u << SCHEMA_TYPE_COUNT) - 1)
#define SAID(text) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}]}"
#define SAID_TO(text, id)                                                                          \
  "{\"reply_to\":\"" id "\",\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}]}"
#define MEDIA(type, kind, value)                                                                   \
  "{\"type\":\"" type "\",\"data\":{\"media\":{\"kind\":\"" kind "\",\"value\":\"" value "\"}}}"

static const struct schema_directive_options all_on = { .current_message_id = { "555", 3 },
                                                        .media_lines = true,
                                                        .markdown_images = true };
static const struct schema_directive_options tags_only = { .current_message_id = { "555", 3 } };

static struct span printed(struct arena *arena, const struct schema_reply *reply)
{
  struct buf out;
  buf_init(&out, 1 << 22);
  struct schema_writer w = { .out = &out };
  schema_write_reply(&w, reply, false);
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy;
}

struct row {
  const char *label, *text;
  enum schema_verdict verdict;
  const char *messages; /* without the brackets around them; NULL: nothing is sent */
  enum schema_code code;
};

static void check_rows(const struct row *rows, size_t count, bool words,
                       const struct schema_directive_options *options)
{
  const struct schema_offer offer = { .types = ALL_TYPES, .directives = options };
  const struct schema_private hide = { .home = SPAN_INIT("/home/bot") };
  struct arena arena;
  arena_init(&arena, 1 << 26);
  for (size_t i = 0; i < count; i++) {
    struct schema_judgement j;
    char want[2048];
    (words ? schema_judge_words : schema_judge)(&offer, &hide, span_of(rows[i].text), &arena, &j);
    snprintf(want, sizeof want, "{\"messages\":[%s]}", rows[i].messages ? rows[i].messages : "");
    struct span got = printed(&arena, &j.reply);
    cr_expect_eq(j.verdict, rows[i].verdict, "%s: %s", rows[i].label,
                 schema_verdict_word(j.verdict));
    cr_expect_eq(j.error.code, rows[i].code, "%s: %s", rows[i].label,
                 schema_code_word(j.error.code));
    cr_expect(span_is(got, want), "%s: %.*s", rows[i].label, (int)got.len, got.ptr);
    arena_reset(&arena);
  }
  arena_done(&arena);
}

Test(rich, answers_become_messages)
{
  static const struct row rows[] = {
    { "a tag at the begin", "[[reply_to_current]] 好的", SCHEMA_REPAIR, SAID_TO("好的", "555"),
      SCHEMA_OK },
    { "another message", "x [[reply_to: 77 ]] y", SCHEMA_REPAIR, SAID_TO("x y", "77"), SCHEMA_OK },
    { "two tags before the words", "[[audio_as_voice]] [[reply_to:7]]\nhi", SCHEMA_REPAIR,
      SAID_TO("hi", "7"), SCHEMA_OK },
    { "a broken tag at the begin", "[[reply_to_current] hi", SCHEMA_REPAIR, SAID("hi"), SCHEMA_OK },
    { "voice", "[[audio_as_voice]]\nMEDIA:https://e.com/t.mp3", SCHEMA_REPAIR,
      "{\"segments\":[" MEDIA("audio", "url", "https://e.com/t.mp3") "]}", SCHEMA_OK },
    { "text, then attachments, each once",
      "看图\nMEDIA:https://e.com/a.png\nMEDIA:/srv/b.mp4\nMEDIA:https://e.com/a.png", SCHEMA_REPAIR,
      "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"看图\"}}," MEDIA(
          "image", "url", "https://e.com/a.png") "," MEDIA("video", "path", "/srv/b.mp4") "]}",
      SCHEMA_OK },
    { "a Markdown image", "a ![x](https://e.com/i.png) b", SCHEMA_REPAIR,
      "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a b\"}}," MEDIA(
          "image", "url", "https://e.com/i.png") "]}",
      SCHEMA_OK },
    { "http and private addresses stay words", "MEDIA:http://e.com/a.png", SCHEMA_REPAIR,
      SAID("MEDIA:http://e.com/a.png"), SCHEMA_OK },
    { "a path that climbs vanishes", "See\nMEDIA:../x.png", SCHEMA_REPAIR, SAID("See"), SCHEMA_OK },
    { "a path below home is an attachment, in words it is hidden",
      "in /home/bot/x\nMEDIA:/home/bot/a.png", SCHEMA_REPAIR,
      "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"in ~/x\"}}," MEDIA(
          "image", "path", "/home/bot/a.png") "]}",
      SCHEMA_OK },
    { "silence", "NO_REPLY", SCHEMA_REPAIR, "", SCHEMA_OK },
    { "silence with a picture", "NO_REPLY\nMEDIA:https://e.com/a.png", SCHEMA_REPAIR,
      "{\"segments\":[" MEDIA("image", "url", "https://e.com/a.png") "]}", SCHEMA_OK },
    { "a lone tag", "[[reply_to_current]]", SCHEMA_REPAIR, "", SCHEMA_OK },
    { "in code it is words", "`[[reply_to_current]]`", SCHEMA_REPAIR,
      SAID("`[[reply_to_current]]`"), SCHEMA_OK },
    { "an embed is for another surface", "[embed ref=\"a\" /]", SCHEMA_REPAIR,
      SAID("[embed ref=\\\"a\\\" /]"), SCHEMA_OK },
    { "a target holds for the messages behind it", "<text>[[reply_to:9]]a</text><text>b</text>",
      SCHEMA_REPAIR, SAID_TO("a", "9") "," SAID_TO("b", "9"), SCHEMA_OK },
    { "behind reasoning", "<think>[[reply_to:1]] MEDIA:/x.png</think>[[reply_to:2]] hi",
      SCHEMA_REPAIR, SAID_TO("hi", "2"), SCHEMA_OK },
    { "a tool call blocks",
      "[[reply_to:2]] <tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>", SCHEMA_BLOCK, NULL,
      SCHEMA_ETOOLCALL },
    { "an address with a secret is words", "MEDIA:https://user:hunter2hunter2@e.com/a.png",
      SCHEMA_REPAIR, SAID("MEDIA:https://***@e.com/a.png"), SCHEMA_OK },
    { "other JSON is corrected", "{\"answer\":1}", SCHEMA_CORRECT, NULL, SCHEMA_EUNKNOWN },
    { "an array is no tag", "[[1,2],[3]]", SCHEMA_CORRECT, NULL, SCHEMA_ETYPE },
  };
  check_rows(rows, sizeof rows / sizeof *rows, false, &all_on);
}

Test(rich, payload_objects)
{
  static const struct row rows[] = {
    { "text and one", "{\"text\":\"hi\",\"mediaUrl\":\"https://e.com/a.png\"}", SCHEMA_REPAIR,
      "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}," MEDIA(
          "image", "url", "https://e.com/a.png") "]}",
      SCHEMA_OK },
    { "the list comes before the single one, nothing twice",
      "{\"text\":\"\",\"mediaUrl\":\"/b.png\",\"mediaUrls\":[\"/a.png\",\"/b.png\"]}",
      SCHEMA_REPAIR,
      "{\"segments\":[" MEDIA("image", "path", "/a.png") "," MEDIA("image", "path", "/b.png") "]}",
      SCHEMA_OK },
    { "the field's target beats the tag's, fenced",
      "```json\n{\"text\":\"[[reply_to:1]] hi\",\"replyToId\":\"2\"}\n```", SCHEMA_REPAIR,
      SAID_TO("hi", "2"), SCHEMA_OK },
    { "the current message", "{\"text\":\"hi\",\"replyToCurrent\":true}", SCHEMA_REPAIR,
      SAID_TO("hi", "555"), SCHEMA_OK },
    { "a message tool's arguments", "{\"message\":\"hi\",\"mediaUrl\":\"/a.png\",\"replyToId\":3}",
      SCHEMA_REPAIR,
      "{\"reply_to\":\"3\",\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}," MEDIA(
          "image", "path", "/a.png") "]}",
      SCHEMA_OK },
    { "an http address is left out", "{\"text\":\"hi\",\"mediaUrl\":\"http://e.com/a.png\"}",
      SCHEMA_REPAIR, SAID("hi"), SCHEMA_OK },
    { "a private address is left out", "{\"text\":\"hi\",\"mediaUrl\":\"https://10.0.0.1/a.png\"}",
      SCHEMA_REPAIR, SAID("hi"), SCHEMA_OK },
    { "a tool call in its text blocks",
      "{\"text\":\"<tool_call>{\\\"name\\\":\\\"a\\\",\\\"arguments\\\":{}}</tool_call>\","
      "\"mediaUrl\":\"/a.png\"}",
      SCHEMA_BLOCK, NULL, SCHEMA_ETOOLCALL },
    { "other members: other JSON", "{\"text\":\"hi\",\"mediaUrl\":\"/a.png\",\"x\":1}",
      SCHEMA_CORRECT, NULL, SCHEMA_EUNKNOWN },
    { "only text is no payload", "{\"text\":\"hi\"}", SCHEMA_CORRECT, NULL, SCHEMA_EUNKNOWN },
  };
  check_rows(rows, sizeof rows / sizeof *rows, false, &all_on);
}

Test(rich, tags_in_a_structured_reply)
{
  static const struct row rows[] = {
    { "in a text", "{\"messages\":[" SAID("[[reply_to_current]] a") "," SAID("b") "]}",
      SCHEMA_REPAIR, SAID_TO("a", "555") "," SAID("b"), SCHEMA_OK },
    { "before the object", "[[reply_to:8]]\n{\"messages\":[" SAID("a") "]}", SCHEMA_REPAIR,
      SAID_TO("a", "8"), SCHEMA_OK },
    { "a text of a tag only", "{\"messages\":[" SAID("[[reply_to_current]]") "," SAID("b") "]}",
      SCHEMA_REPAIR, SAID("b"), SCHEMA_OK },
    { "attachments have segments", "{\"messages\":[" SAID("MEDIA:/a.png") "]}", SCHEMA_ACCEPT,
      SAID("MEDIA:/a.png"), SCHEMA_OK },
    { "silence", "{\"messages\":[" SAID("NO_REPLY") "]}", SCHEMA_REPAIR, "", SCHEMA_OK },
    { "none", "{\"messages\":[" SAID("a ") "]}", SCHEMA_ACCEPT, SAID("a "), SCHEMA_OK },
    { "a masked text keeps its target",
      "{\"messages\":[" SAID("[[reply_to:3]] in /home/bot/x <b>") "]}", SCHEMA_REPAIR,
      SAID_TO("in ~/x <b>", "3"), SCHEMA_OK },
  };
  check_rows(rows, sizeof rows / sizeof *rows, false, &all_on);
}

Test(rich, only_what_is_switched_on)
{
  static const struct row off[] = {
    { "no directives", "hi [[reply_to_current]]", SCHEMA_REPAIR, SAID("hi [[reply_to_current]]"),
      SCHEMA_OK },
    { "no silence", "NO_REPLY", SCHEMA_REPAIR, SAID("NO_REPLY"), SCHEMA_OK },
  };
  static const struct row tags[] = {
    { "a media line is words", "[[reply_to:1]]a\nMEDIA:/a.png", SCHEMA_REPAIR,
      SAID_TO("a\\nMEDIA:/a.png", "1"), SCHEMA_OK },
    { "a Markdown image is words", "![x](https://e.com/i.png)", SCHEMA_REPAIR,
      SAID("![x](https://e.com/i.png)"), SCHEMA_OK },
  };
  check_rows(off, sizeof off / sizeof *off, false, NULL);
  check_rows(tags, sizeof tags / sizeof *tags, false, &tags_only);
}

Test(rich, words_as_they_are)
{
  static const struct row rows[] = {
    { "words", "hi ", SCHEMA_ACCEPT, SAID("hi"), SCHEMA_OK },
    { "JSON is words", "{\"a\":1}", SCHEMA_ACCEPT, SAID("{\\\"a\\\":1}"), SCHEMA_OK },
    { "reasoning goes", "<think>hm</think>hi", SCHEMA_REPAIR, SAID("hi"), SCHEMA_OK },
    { "only reasoning", "<think>hm</think>", SCHEMA_BLOCK, NULL, SCHEMA_EREASONING },
    { "a secret is masked", "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", SCHEMA_REPAIR,
      SAID("key sk-proj-***"), SCHEMA_OK },
    { "a private path is shortened", "in /home/bot/x", SCHEMA_REPAIR, SAID("in ~/x"), SCHEMA_OK },
    { "template tokens go", "hi<|im_end|>", SCHEMA_REPAIR, SAID("hi"), SCHEMA_OK },
    { "an error page", "<html><head><title>502 Bad Gateway</title></head></html>", SCHEMA_BLOCK,
      NULL, SCHEMA_EERRORPAGE },
    { "a tool call", "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>", SCHEMA_BLOCK, NULL,
      SCHEMA_ETOOLCALL },
    { "broken bytes", "a\xff", SCHEMA_BLOCK, NULL, SCHEMA_EUTF8 },
    { "nothing", " \n", SCHEMA_BLOCK, NULL, SCHEMA_EEMPTY },
  };
  static const struct row rich[] = {
    { "directives", "[[reply_to_current]] a\nMEDIA:/b.png", SCHEMA_REPAIR,
      "{\"reply_to\":\"555\",\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}}," MEDIA(
          "image", "path", "/b.png") "]}",
      SCHEMA_OK },
  };
  check_rows(rows, sizeof rows / sizeof *rows, true, NULL);
  check_rows(rich, sizeof rich / sizeof *rich, true, &all_on);
}

Test(rich, what_is_not_offered_is_left_out_and_counted)
{
  static const struct {
    uint32_t types;
    const char *text;
    size_t refused, segments;
    bool media;
  } rows[] = {
    { 1u << SCHEMA_TEXT, "a\nMEDIA:/a.png\nMEDIA:/b.mp3", 2, 1, false },
    { 1u << SCHEMA_IMAGE, "a\nMEDIA:/a.png\nMEDIA:/b.mp3", 1, 2, true },
    { 1u << SCHEMA_FILE, "MEDIA:/b.mp3", 0, 1, true },
    { 1u << SCHEMA_FILE, "[[audio_as_voice]]MEDIA:/b.mp3", 0, 1, false },
    { 1u << SCHEMA_FILE, "[[audio_as_voice]]\nMEDIA:/b.mp3", 1, 0, false },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct schema_offer offer = { .types = rows[i].types, .directives = &all_on };
    struct schema_judgement j;
    struct arena arena;
    arena_init(&arena, 1 << 22);
    schema_judge(&offer, NULL, span_of(rows[i].text), &arena, &j);
    cr_expect_eq(j.rich.refused, rows[i].refused, "row %zu: %zu refused", i, j.rich.refused);
    cr_expect_eq(j.rich.media, rows[i].media, "row %zu: media", i);
    size_t segments = j.reply.count ? j.reply.messages[0].count : 0;
    cr_expect_eq(segments, rows[i].segments, "row %zu: %zu segments", i, segments);
    arena_done(&arena);
  }
}

/* A quarter of a megabyte of each has to be through before the time of a test is up. */
Test(rich, takes_linear_time_for_hostile_shapes)
{
  enum { SIZE = 1 << 18 };
  static const char *const shapes[] = {
    "[[",
    "[[reply_to:",
    "[[reply_to:1]]",
    "[[ reply_to : ",
    "`[[reply_to:1]]",
    "[[audio_as_voice]]\n",
    "MEDIA:/a.png\n",
    "MEDIA:\"",
    "MEDIA:/a b/",
    "MEDIA:/a,",
    "MEDIA:https://10.0.0.1/a.png\n",
    "![x](",
    "![x](https://e.com/i.png)",
    "<text>MEDIA:/a</text>",
    "NO_REPLY ",
    "> ",
    "{\"text\":\"a\",\"mediaUrl\":\"/b\"}",
    "{\"mediaUrls\":[\"/a\",",
  };
  const struct schema_offer offer = { .types = ALL_TYPES, .directives = &all_on };
  char *text = malloc(SIZE + 64);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    struct schema_judgement j;
    struct arena arena;
    size_t n = 0, len = strlen(shapes[i]);
    for (; n < SIZE; n += len) memcpy(text + n, shapes[i], len);
    arena_init(&arena, 1 << 28);
    schema_judge(&offer, NULL, (struct span) { text, n }, &arena, &j);
    schema_judge_words(&offer, NULL, (struct span) { text, n }, &arena, &j);
    cr_expect_neq(j.error.code, SCHEMA_ENOMEM, "%s", shapes[i]);
    arena_done(&arena);
  }
  free(text);
}
