#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/delivery/result.h"

static const char *const defaults = "endpoints:\n  main:\n    connect: ws://127.0.0.1:3001\n";

/* A job for group 123, answering message 555, judged. rest: what follows in the configuration. */
static struct rg_job *job_of(const char *rest, int32_t kind, enum ob_profile_id profile,
                             const char *text)
{
  char yaml[4096];
  struct arena arena;
  struct rg_config_faults faults = { .count = 0 };
  snprintf(yaml, sizeof yaml, "%s%s", defaults, rest);
  arena_init(&arena, 1 << 20);
  struct rg_config *config =
      rg_config_read(span_of(yaml), SPAN("/srv/bot"), NULL, NULL, &arena, &faults);
  cr_assert(config, "%.*s", faults.count ? (int)faults.items[0].what.len : 0,
            faults.count ? faults.items[0].what.ptr : "");
  const struct rg_view view = { .group = rg_config_group(config, config->endpoints, 123),
                                .endpoint = config->endpoints,
                                .config = config,
                                .group_id = 123 };
  const struct rg_turn turn = { .size = sizeof turn,
                                .kind = kind,
                                .group_id = { "123", 3 },
                                .message_id = { "555", 3 },
                                .sender_id = { "10002", 5 } };
  const struct rg_job_input input = { .view = &view, .turn = &turn, .text = span_of(text) };
  struct rg_job *job = rg_job_new(&input, NULL);
  rg_config_release(config);
  arena_done(&arena);
  cr_assert(job);
  cr_assert(rg_job_fit(job, &(struct rg_peer) { .profile = ob_profiles[profile], .known = true }));
  rg_job_judge(job);
  return job;
}

#define TEXT(t) "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}]}"
#define REPLY(messages) "{\"messages\":[" messages "],\"reaction\":\"\"}"

Test(turn, course_by_verdict_and_settings)
{
  static const char off_mute[] = "groups:\n  default:\n    enabled: false\n    off_means: mute\n";
  static const char off_pass[] = "groups:\n  default:\n    enabled: false\n";
  static const char observe[] = "groups:\n  default:\n    mode: observe\n";
  static const char plain[] = "groups:\n  default:\n    output: text\n";
  static const char tool[] = "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
  static const char wrong[] = "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{}}]}]}";
  static const struct {
    const char *label, *rest;
    int32_t kind;
    const char *text;
    enum rg_course course;
    size_t steps;
    enum schema_code code;
  } rows[] = {
    { "sound", "", RG_KIND_ANSWER, REPLY(TEXT("hi")), RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "nothing", "", RG_KIND_ANSWER, REPLY(""), RG_COURSE_DELIVER, 0, SCHEMA_OK },
    { "reaction and words", "", RG_KIND_ANSWER,
      "{\"messages\":[" TEXT("hi") "],\"reaction\":\"76\"}", RG_COURSE_DELIVER, 2, SCHEMA_OK },
    { "a proactive one has no reaction", "", RG_KIND_PROACTIVE,
      "{\"messages\":[" TEXT("hi") "],\"reaction\":\"76\"}", RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "prose", "", RG_KIND_ANSWER, "just words", RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "wrong field", "", RG_KIND_ANSWER, wrong, RG_COURSE_CORRECT, 0, SCHEMA_EMISSING },
    { "tool call", "", RG_KIND_ANSWER, tool, RG_COURSE_REFUSED, 0, SCHEMA_ETOOLCALL },
    { "empty", "", RG_KIND_ANSWER, " \n", RG_COURSE_REFUSED, 0, SCHEMA_EEMPTY },
    { "no account number", "", RG_KIND_ANSWER,
      REPLY("{\"segments\":[{\"type\":\"mention\",\"data\":{\"target\":\"Bob\"}}]}"),
      RG_COURSE_REFUSED, 0, SCHEMA_EMENTIONTARGET },
    { "everyone", "", RG_KIND_ANSWER,
      REPLY("{\"segments\":[{\"type\":\"mention\",\"data\":{\"target\":\"all\"}}]}"),
      RG_COURSE_REFUSED, 0, SCHEMA_EMENTIONALL },
    { "everyone allowed", "groups:\n  default:\n    mention_all: true\n", RG_KIND_ANSWER,
      REPLY("{\"segments\":[{\"type\":\"mention\",\"data\":{\"target\":\"all\"}}]}"),
      RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "muted group", off_mute, RG_KIND_ANSWER, REPLY(TEXT("hi")), RG_COURSE_SILENT, 0, SCHEMA_OK },
    { "muted group, notice", off_mute, RG_KIND_NOTICE, "hi", RG_COURSE_SILENT, 0, SCHEMA_OK },
    { "off, sound", off_pass, RG_KIND_ANSWER, REPLY(TEXT("hi") "," TEXT("ho")), RG_COURSE_DELIVER,
      2, SCHEMA_OK },
    { "off, tool call", off_pass, RG_KIND_ANSWER, tool, RG_COURSE_DELIVER, 1, SCHEMA_ETOOLCALL },
    { "watched, wrong", observe, RG_KIND_ANSWER, wrong, RG_COURSE_DELIVER, 1, SCHEMA_EMISSING },
    { "watched, sound", observe, RG_KIND_ANSWER, REPLY(TEXT("hi")), RG_COURSE_DELIVER, 1,
      SCHEMA_OK },
    { "plain text", plain, RG_KIND_ANSWER, "{\"not\":\"read\"}", RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "plain text, secret", plain, RG_KIND_ANSWER,
      "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "plain text, only reasoning", plain, RG_KIND_ANSWER, "<think>hm</think>", RG_COURSE_REFUSED,
      0, SCHEMA_EREASONING },
    { "plain text, tool call", plain, RG_KIND_ANSWER, tool, RG_COURSE_REFUSED, 0,
      SCHEMA_ETOOLCALL },
    { "a notice is not judged", "", RG_KIND_NOTICE, tool, RG_COURSE_DELIVER, 1, SCHEMA_OK },
    { "a notice of nothing", "", RG_KIND_NOTICE, "\n", RG_COURSE_REFUSED, 0, SCHEMA_EEMPTY },
    { "a notice of bad bytes", "", RG_KIND_NOTICE, "a\xff", RG_COURSE_REFUSED, 0, SCHEMA_EUTF8 },
    { "long, refused", "groups:\n  default:\n    long_text: refuse\n    long_text_chars: 100\n",
      RG_KIND_NOTICE,
      "0123456789012345678901234567890123456789012345678901234567890123456789"
      "01234567890123456789012345678901",
      RG_COURSE_REFUSED, 0, SCHEMA_ETOOLONG },
    { "long, split", "groups:\n  default:\n    long_text_chars: 100\n", RG_KIND_NOTICE,
      "0123456789012345678901234567890123456789012345678901234567890123456789"
      "01234567890123456789012345678901",
      RG_COURSE_DELIVER, 2, SCHEMA_OK },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_of(rows[i].rest, rows[i].kind, OB_NAPCAT, rows[i].text);
    cr_expect_eq(job->course, rows[i].course, "%s: course %d", rows[i].label, job->course);
    cr_expect_eq(job->plan.count, rows[i].steps, "%s: %zu steps", rows[i].label, job->plan.count);
    cr_expect_eq(job->error.code, rows[i].code, "%s: %s", rows[i].label,
                 schema_code_word(job->error.code));
    rg_job_free(job);
  }
}

Test(turn, pause_by_length)
{
  static const char pace[] =
      "groups:\n  default:\n    pace: {min: 0.4, max: 1.5, per_char: 0.03}\n";
  static const struct {
    const char *label, *text;
    size_t step;
    unsigned ms;
  } rows[] = {
    { "the first at once", REPLY(TEXT("a")), 0, 0 },
    { "the first words behind a reaction at once",
      "{\"messages\":[" TEXT("hi") "],\"reaction\":\"76\"}", 1, 0 },
    { "short: min", REPLY(TEXT("a") "," TEXT("bb")), 1, 400 },
    { "20 characters", REPLY(TEXT("a") "," TEXT("一二三四五六七八九十一二三四五六七八九十")), 1,
      600 },
    { "long: max",
      REPLY(TEXT("a") "," TEXT("01234567890123456789012345678901234567890123456789"
                               "0123456789")),
      1, 1500 },
    { "parts of one message: min",
      REPLY("{\"segments\":[{\"type\":\"dice\",\"data\":{}},{\"type\":\"text\",\"data\":{\"text\":"
            "\"0123456789012345678901234567890123456789\"}}]}"),
      1, 400 },
    { "all characters of the message count, whatever its parts",
      REPLY(TEXT("a") ",{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"0123456789\"}},"
                      "{\"type\":\"dice\",\"data\":{}},"
                      "{\"type\":\"text\",\"data\":{\"text\":\"0123456789\"}}]}"),
      1, 600 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_of(pace, RG_KIND_ANSWER, OB_NAPCAT, rows[i].text);
    cr_assert_gt(job->plan.count, rows[i].step, "%s: %zu steps", rows[i].label, job->plan.count);
    unsigned ms = rg_job_pause_ms(job, rows[i].step);
    cr_expect(ms + 1 >= rows[i].ms && ms <= rows[i].ms + 1, "%s: %u", rows[i].label, ms);
    rg_job_free(job);
  }
}

Test(turn, timeout_by_what_travels)
{
  static const char small[] = "groups:\n  default:\n    media: {max_bytes: 13107200}\n";
  static const char image[] =
      REPLY("{\"segments\":[{\"type\":\"image\",\"data\":{\"media\":{"
            "\"kind\":\"url\",\"value\":\"https://example.com/a.png\"}}}]}");
  struct rg_job *job = job_of("", RG_KIND_ANSWER, OB_NAPCAT, REPLY(TEXT("a")));
  cr_expect_eq(rg_job_timeout_ms(job, 0), 20000);
  rg_job_free(job);
  job = job_of("", RG_KIND_ANSWER, OB_NAPCAT, "{\"messages\":[],\"reaction\":\"76\"}");
  cr_expect_eq(rg_job_timeout_ms(job, 0), rg_timing.reaction);
  rg_job_free(job);
  job = job_of(small, RG_KIND_ANSWER, OB_NAPCAT, image);
  cr_expect_eq(rg_job_timeout_ms(job, 0), 110000, "10 s and 12.5 MiB at 128 KiB/s: %u",
               rg_job_timeout_ms(job, 0));
  rg_job_free(job);
}

Test(turn, forbidden_media_become_the_notice)
{
  static const char rest[] = "groups:\n  default:\n    media: {roots: [media], schemes: [https]}\n";
#define IMAGE(kind, value)                                                                         \
  REPLY("{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"look \"}},{\"type\":\"image\","    \
        "\"data\":{\"media\":{\"kind\":\"" kind "\",\"value\":\"" value "\"}}}]}")
  static const struct {
    const char *text, *has;
  } rows[] = {
    { IMAGE("url", "https://example.com/a.png"), "https://example.com/a.png" },
    { IMAGE("url", "http://example.com/a.png"), "[图片无法发送]" },
    { IMAGE("url", "https://127.0.0.1/a.png"), "[图片无法发送]" },
    { IMAGE("path", "a.png"), "file:///srv/bot/media/a.png" },
    { IMAGE("path", "/srv/bot/media/a.png"), "file:///srv/bot/media/a.png" },
    { IMAGE("path", "/etc/passwd"), "[图片无法发送]" },
    { IMAGE("path", "/srv/bot/media/../../../etc/passwd"), "[图片无法发送]" },
    { IMAGE("base64", "iVBORw0KGgo="), "base64://iVBORw0KGgo=" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_of(rest, RG_KIND_ANSWER, OB_NAPCAT, rows[i].text);
    cr_assert_eq(job->plan.count, 1, "row %zu", i);
    struct span params = job->plan.steps[0].params;
    cr_expect(span_find(params, span_of(rows[i].has)) < params.len, "row %zu: %.*s", i,
              (int)params.len, params.ptr);
    struct buf result;
    buf_init(&result, 1 << 20);
    cr_expect(rg_job_write_result(job, "delivered", &result));
    cr_expect(span_find(buf_span(&result), SPAN("[image]")) < result.len, "the preview: row %zu",
              i);
    buf_done(&result);
    rg_job_free(job);
  }
}

Test(turn, quotes_what_it_answers)
{
  static const struct {
    const char *quote;
    bool first, second;
  } rows[] = { { "never", false, false }, { "first", true, false }, { "all", true, true } };
  for (size_t i = 0; i < 3; i++) {
    char rest[64];
    snprintf(rest, sizeof rest, "groups:\n  default:\n    quote: %s\n", rows[i].quote);
    struct rg_job *job = job_of(rest, RG_KIND_ANSWER, OB_NAPCAT, REPLY(TEXT("a") "," TEXT("b")));
    cr_assert_eq(job->plan.count, 2);
    for (size_t k = 0; k < 2; k++) {
      struct span params = job->plan.steps[k].params;
      bool quotes = span_find(params, SPAN("\"reply\"")) < params.len;
      cr_expect_eq(quotes, k == 0 ? rows[i].first : rows[i].second, "%s, message %zu",
                   rows[i].quote, k);
    }
    rg_job_free(job);
  }
}

#define RICH(more) "groups:\n  default:\n    directives: {enabled: true" more "}\n"

/* What an answer with directives sends first. */
Test(turn, directives_by_settings)
{
  static const char lines[] = RICH(", media_lines: true");
  static const char quote_first[] = RICH("") "    quote: first\n";
  static const char quote_all[] = RICH("") "    quote: all\n";
  static const char http[] = RICH(", media_lines: true") "    media: {inspect: false}\n";
  static const char text[] = RICH(", media_lines: true") "    output: text\n";
  static const struct {
    const char *label, *rest, *answer;
    size_t step, steps;
    const char *has, *lacks;
  } rows[] = {
    { "off", "", "[[reply_to_current]] hi", 0, 1, "[[reply_to_current]] hi", "\"reply\"" },
    { "the message being answered", RICH(""), "[[reply_to_current]] hi", 0, 1,
      "{\"type\":\"reply\",\"data\":{\"id\":\"555\"}}", "[[" },
    { "another one", RICH(""), "[[reply_to:77]] hi", 0, 1, "\"id\":\"77\"", "555" },
    { "no message has such an id", RICH(""), "[[reply_to:<id>]] hi", 0, 1, "hi", "\"reply\"" },
    { "without lines they are words", RICH(""), "a\nMEDIA:https://e.com/a.png", 0, 1,
      "MEDIA:https://e.com/a.png", "\"image\"" },
    { "a picture", http, "a\nMEDIA:https://e.com/a.png", 0, 1, "\"image\"", "MEDIA" },
    { "https only, whatever schemes says", http, "a\nMEDIA:http://e.com/a.png", 0, 1,
      "MEDIA:http://e.com/a.png", "\"image\"" },
    { "a Markdown image", RICH(", markdown_images: true") "    media: {inspect: false}\n",
      "a ![x](https://e.com/i.png)", 0, 1, "\"image\"", "![" },
    { "without the option it is words", lines, "a ![x](https://e.com/i.png)", 0, 1, "![x]",
      "\"image\"" },
    { "voice", http, "[[audio_as_voice]]\nMEDIA:https://e.com/t.mp3", 0, 1, "\"record\"", "[[" },
    { "audio without the tag is a file", http, "MEDIA:https://e.com/t.mp3", 0, 1, "\"file\"",
      "\"record\"" },
    { "mode first: the second target goes", quote_first,
      REPLY(TEXT("a") "," TEXT("[[reply_to:7]]b")), 1, 2, "b", "\"reply\"" },
    { "mode first: the first quotes", quote_first, REPLY(TEXT("a") "," TEXT("[[reply_to:7]]b")), 0,
      2, "\"id\":\"555\"", NULL },
    { "mode all: each its own", quote_all, REPLY(TEXT("a") "," TEXT("[[reply_to:7]]b")), 1, 2,
      "\"id\":\"7\"", "555" },
    { "mode never: a tag counts", RICH(""), REPLY(TEXT("a") "," TEXT("[[reply_to:7]]b")), 1, 2,
      "\"id\":\"7\"", NULL },
    { "mode never: nothing else", RICH(""), REPLY(TEXT("a") "," TEXT("[[reply_to:7]]b")), 0, 2, "a",
      "\"reply\"" },
    { "silence", RICH(""), "NO_REPLY", 0, 0, NULL, NULL },
    { "silence where it is off", "", "NO_REPLY", 0, 1, "NO_REPLY", NULL },
    { "a payload", http, "{\"text\":\"a\",\"mediaUrl\":\"https://e.com/a.png\"}", 0, 1, "\"image\"",
      "mediaUrl" },
    { "words with directives", text, "[[reply_to_current]] {\"a\":1}", 0, 1, "\"555\"", "[[" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_of(rows[i].rest, RG_KIND_ANSWER, OB_NAPCAT, rows[i].answer);
    cr_expect_eq(job->course, RG_COURSE_DELIVER, "%s: course %d, %s", rows[i].label, job->course,
                 schema_code_word(job->error.code));
    cr_assert_eq(job->plan.count, rows[i].steps, "%s: %zu steps", rows[i].label, job->plan.count);
    struct span p = rows[i].steps ? job->plan.steps[rows[i].step].params : SPAN("");
    if (rows[i].has)
      cr_expect(span_find(p, span_of(rows[i].has)) < p.len, "%s: %.*s", rows[i].label, (int)p.len,
                p.ptr);
    if (rows[i].lacks)
      cr_expect_eq(span_find(p, span_of(rows[i].lacks)), p.len, "%s: %.*s", rows[i].label,
                   (int)p.len, p.ptr);
    rg_job_free(job);
  }
}

#define OBJECT(properties, required)                                                               \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                   \
  "],\"additionalProperties\":false}"
#define MOOD OBJECT("\"mood\":{\"type\":\"string\",\"enum\":[\"good\",\"bad\"]}", "\"mood\"")

/* A job of the turn's own schema. NULL: it cannot be used, and *why says so. */
static struct rg_job *job_with_schema(const char *rest, const char *schema, int32_t kind,
                                      const char *text, struct buf *why)
{
  char yaml[4096];
  struct arena arena;
  struct rg_config_faults faults = { .count = 0 };
  snprintf(yaml, sizeof yaml, "%s%s", defaults, rest);
  arena_init(&arena, 1 << 20);
  struct rg_config *config = rg_config_read_files(span_of(yaml), span_of(getenv("RG_TESTS")), true,
                                                  NULL, NULL, &arena, &faults);
  cr_assert(config, "%.*s", faults.count ? (int)faults.items[0].what.len : 0,
            faults.count ? faults.items[0].what.ptr : "");
  const struct rg_view view = { .group = rg_config_group(config, config->endpoints, 123),
                                .endpoint = config->endpoints,
                                .config = config,
                                .group_id = 123 };
  const struct rg_turn turn = { .size = sizeof turn,
                                .kind = kind,
                                .group_id = { "123", 3 },
                                .schema = { schema, strlen(schema) } };
  const struct rg_job_input input = { .view = &view, .turn = &turn, .text = span_of(text) };
  struct rg_job *job = rg_job_new(&input, why);
  rg_config_release(config);
  arena_done(&arena);
  if (!job) return NULL;
  const struct rg_peer peer = { .profile = ob_profiles[OB_NAPCAT], .known = true };
  cr_assert(rg_job_fit(job, &peer));
  rg_job_judge(job);
  return job;
}

Test(turn, documents_in_a_schema)
{
  static const char own[] =
      "groups:\n  default:\n    output: schema\n    output_schema: data/answer.schema.json\n";
  static const char observe[] = "groups:\n  default:\n    mode: observe\n";
  static const char text[] = "groups:\n  default:\n    output: text\n";
  static const struct {
    const char *label, *rest, *schema;
    int32_t kind;
    const char *text;
    enum rg_course course;
    enum schema_code code;
    const char *path, *document; /* NULL: none */
  } rows[] = {
    { "the turn's", "", MOOD, RG_KIND_ANSWER, "{\"mood\":\"good\"}", RG_COURSE_DELIVER, SCHEMA_OK,
      "", "{\"mood\":\"good\"}" },
    { "white space is kept", "", MOOD, RG_KIND_ANSWER, " {\"mood\" : \"bad\"}\n", RG_COURSE_DELIVER,
      SCHEMA_OK, "", " {\"mood\" : \"bad\"}\n" },
    { "another value", "", MOOD, RG_KIND_ANSWER, "{\"mood\":\"so so\"}", RG_COURSE_REFUSED,
      SCHEMA_EINVALIDJSON, "$.mood", NULL },
    { "a key too many", "", MOOD, RG_KIND_ANSWER, "{\"mood\":\"bad\",\"x\":1}", RG_COURSE_REFUSED,
      SCHEMA_EINVALIDJSON, "$", NULL },
    { "a fence", "", MOOD, RG_KIND_ANSWER, "```json\n{\"mood\":\"bad\"}\n```", RG_COURSE_REFUSED,
      SCHEMA_EINVALIDJSON, "$", NULL },
    { "prose", "", MOOD, RG_KIND_ANSWER, "good", RG_COURSE_REFUSED, SCHEMA_EINVALIDJSON, "$",
      NULL },
    { "a structured reply", "", MOOD, RG_KIND_ANSWER, REPLY(TEXT("hi")), RG_COURSE_REFUSED,
      SCHEMA_EINVALIDJSON, "$", NULL },
    { "nothing", "", MOOD, RG_KIND_ANSWER, "", RG_COURSE_REFUSED, SCHEMA_EINVALIDJSON, "$", NULL },
    { "cut", "", MOOD, RG_KIND_ANSWER, "{\"mood\":\"go", RG_COURSE_REFUSED, SCHEMA_EINVALIDJSON,
      "$", NULL },
    { "the group's", own, "", RG_KIND_ANSWER, "{\"answer\":\"yes\"}", RG_COURSE_DELIVER, SCHEMA_OK,
      "", "{\"answer\":\"yes\"}" },
    { "the group's beats the turn's", own, MOOD, RG_KIND_ANSWER, "{\"mood\":\"good\"}",
      RG_COURSE_REFUSED, SCHEMA_EINVALIDJSON, "$", NULL },
    { "the turn's beats text", text, MOOD, RG_KIND_ANSWER, "{\"mood\":\"good\"}", RG_COURSE_DELIVER,
      SCHEMA_OK, "", "{\"mood\":\"good\"}" },
    { "a notice is words", own, "", RG_KIND_NOTICE, "hi", RG_COURSE_DELIVER, SCHEMA_OK, "", NULL },
    { "watched", observe, MOOD, RG_KIND_ANSWER, "hi", RG_COURSE_DELIVER, SCHEMA_EINVALIDJSON, "$",
      NULL },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job =
        job_with_schema(rows[i].rest, rows[i].schema, rows[i].kind, rows[i].text, NULL);
    struct buf result;
    cr_assert(job, "%s", rows[i].label);
    cr_expect_eq(job->course, rows[i].course, "%s: course %d", rows[i].label, job->course);
    cr_expect_eq(job->error.code, rows[i].code, "%s: %s", rows[i].label,
                 schema_code_word(job->error.code));
    cr_expect_str_eq(job->error.path, rows[i].path, "%s: %s", rows[i].label, job->error.path);
    buf_init(&result, 1 << 20);
    cr_expect(rg_job_write_report(job, &result));
    struct arena arena;
    struct schema_node *tree;
    arena_init(&arena, 1 << 22);
    cr_assert_eq(schema_tree_read(buf_span(&result), 512, &arena, &tree, NULL), SCHEMA_OK);
    struct span document = schema_tree_string(schema_tree_get(tree, "document"));
    cr_expect(rows[i].document ? span_is(document, rows[i].document) : !document.ptr, "%s: %.*s",
              rows[i].label, (int)document.len, document.ptr);
    arena_done(&arena);
    buf_done(&result);
    rg_job_free(job);
  }
}

Test(turn, a_document_is_seen_as_one_text_without_secrets)
{
  static const char schema[] = OBJECT("\"a\":{\"type\":\"string\"}", "\"a\"");
  static const char document[] = "{\"a\":\"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\"}";
  struct rg_job *job = job_with_schema("", schema, RG_KIND_ANSWER, document, NULL);
  cr_assert_eq(job->plan.count, 1);
  struct span p = job->plan.steps[0].params;
  cr_expect(span_find(p, SPAN("sk-proj-***")) < p.len, "%.*s", (int)p.len, p.ptr);
  cr_expect_eq(span_find(p, SPAN("abcdefgh")), p.len);
  cr_expect(span_is(job->document, document), "the host gets it as it came");
  rg_job_free(job);
}

Test(turn, a_schema_is_checked_when_it_is_set)
{
  static const struct {
    const char *schema, *why;
  } rows[] = {
    { "{\"type\":\"array\"}", "object" },
    { "{\"type\":\"object\"", "line 1, column" },
    { OBJECT("\"a\":{\"type\":\"string\",\"pattern\":\"x\"}", "\"a\""), "$.a: " },
    { OBJECT("\"a\":{\"type\":\"string\"}", ""), "$" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf why;
    buf_init(&why, 1024);
    cr_expect_null(job_with_schema("", rows[i].schema, RG_KIND_ANSWER, "{}", &why), "row %zu", i);
    cr_expect(span_find(buf_span(&why), span_of(rows[i].why)) < why.len, "row %zu: %.*s", i,
              (int)why.len, why.ptr);
    buf_done(&why);
  }
}

Test(turn, the_contract_is_that_of_the_output)
{
  static const struct {
    const char *rest, *schema, *has, *instruction, *lacks;
  } rows[] = {
    { "", "", "\"messages\"", "messages", "[[reply" },
    { RICH(""), "", "\"messages\"", "[[reply_to_current]]", "MEDIA:" },
    { "", MOOD, MOOD, MOOD, "messages" },
    { "groups:\n  default:\n    output: text\n", "", NULL, NULL, "messages" },
    { RICH(", media_lines: true") "    output: text\n", "", NULL, "MEDIA:", "messages" },
    { RICH(", markdown_images: true") "    output: text\n", "", NULL, "![", "MEDIA:" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_with_schema(rows[i].rest, rows[i].schema, RG_KIND_ANSWER, "x", NULL);
    struct buf schema, text;
    buf_init(&schema, 1 << 20);
    buf_init(&text, 1 << 20);
    cr_expect(rg_job_write_contract(job, &schema, &text));
    struct span s = buf_span(&schema), t = buf_span(&text);
    cr_expect(rows[i].has ? span_find(s, span_of(rows[i].has)) < s.len : s.len == 0, "row %zu", i);
    cr_expect(rows[i].instruction ? span_find(t, span_of(rows[i].instruction)) < t.len : t.len == 0,
              "row %zu: %.*s", i, (int)t.len, t.ptr);
    cr_expect_eq(span_find(t, span_of(rows[i].lacks)), t.len, "row %zu: %.*s", i, (int)t.len,
                 t.ptr);
    buf_done(&text);
    buf_done(&schema);
    rg_job_free(job);
  }
}

Test(turn, correction_is_read_like_an_answer)
{
  static const char wrong[] = "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{}}]}]}";
  static const struct {
    const char *text;
    enum rg_course course;
  } rows[] = {
    { REPLY(TEXT("fine")), RG_COURSE_DELIVER },
    { wrong, RG_COURSE_REFUSED },
    { "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>", RG_COURSE_REFUSED },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_job *job = job_of("", RG_KIND_ANSWER, OB_NAPCAT, wrong);
    struct buf request;
    buf_init(&request, 1 << 20);
    cr_assert_eq(job->course, RG_COURSE_CORRECT);
    cr_expect(rg_job_write_request(job, &request));
    struct arena arena;
    struct schema_node *tree;
    arena_init(&arena, 1 << 22);
    cr_assert_eq(schema_tree_read(buf_span(&request), 512, &arena, &tree, NULL), SCHEMA_OK);
    cr_expect(span_is(schema_tree_string(schema_tree_get(tree, "answer")), wrong));
    cr_expect(span_is(schema_tree_string(schema_tree_get(tree, "code")), "missing"));
    cr_expect_eq(schema_tree_get(tree, "schema")->kind, SCHEMA_OBJECT);
    cr_expect_gt(schema_tree_string(schema_tree_get(tree, "instruction")).len, 100);
    rg_job_judge_again(job, span_of(rows[i].text));
    cr_expect_eq(job->course, rows[i].course, "row %zu", i);
    arena_done(&arena);
    buf_done(&request);
    rg_job_free(job);
  }
}

Test(turn, refused_result_holds_nothing_of_the_answer)
{
  struct rg_job *job = job_of("", RG_KIND_ANSWER, OB_NAPCAT,
                              "<tool_call>{\"name\":\"secret\",\"arguments\":{}}</tool_call>");
  struct buf result;
  buf_init(&result, 1 << 20);
  cr_expect(rg_job_write_result(job, "blocked", &result));
  cr_expect_eq(span_find(buf_span(&result), SPAN("secret")), result.len);
  cr_expect(span_find(buf_span(&result), SPAN("\"reply\":null")) < result.len);
  cr_expect(span_find(buf_span(&result), SPAN("\"code\":\"tool_call\"")) < result.len);
  buf_done(&result);
  rg_job_free(job);
}
