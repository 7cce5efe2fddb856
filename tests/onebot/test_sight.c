/* What one pass over a frame tells. */
#include "onebot/sight.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define SEG(type, data) "{\"type\":\"" type "\",\"data\":{" data "}}"
#define WORDS(t) SEG("text", "\"text\":\"" t "\"")

Test(sight, of_a_message)
{
  static const struct {
    const char *message;
    bool known, at;
    const char *text;
  } rows[] = {
    { "[" WORDS("hi") "]", true, false, "hi" },
    { "[" WORDS(" ") "," WORDS("\\u002fgate") "]", true, false, "/gate" },
    { "[" SEG("image", "\"file\":\"x\"") "]", true, false, "" },
    { "[" SEG("at", "\"qq\":1") "," WORDS("hi") "]", true, true, "hi" },
    { "[{\"data\":{\"text\":\"a\",\"x\":[{}]},\"type\":\"text\"}]", true, false, "a" },
    { "[{\"data\":null,\"type\":\"at\"}]", true, true, "" },
    { "[1,[],{}]", true, false, "" },
    { "[]", true, false, "" },
    { "\"hi [CQ:face,id=1]\"", true, false, "hi [CQ:face,id=1]" },
    { "\"\"", true, false, "" },
    { "\"hi [CQ:at,qq=1]\"", true, true, "hi [CQ:at,qq=1]" },
    { "\" [CQ:reply,id=1]/gate\"", true, true, " [CQ:reply,id=1]/gate" },
    { "\"&#91;gate\"", true, true, "&#91;gate" },
    { "null", false, false, "" },
    { "{\"type\":\"at\"}", false, false, "" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char frame[512];
    struct arena arena;
    struct ob_sight s;
    arena_init(&arena, 65536);
    snprintf(frame, sizeof frame,
             "{\"user_id\":5,\"message\":%s,\"post_type\":\"message\",\"group_id\":\"7\"}",
             rows[i].message);
    cr_assert(ob_sight_read(span_of(frame), &arena, &s, NULL), "%s", frame);
    cr_expect_eq(s.message, rows[i].known, "%s", frame);
    cr_expect_eq(s.at, rows[i].at, "%s", frame);
    cr_expect(span_is(s.text, rows[i].text), "%s: %.*s", frame, (int)s.text.len, s.text.ptr);
    cr_expect(span_is(s.user_id, "5") && span_is(s.group_id, "7") && s.has_post_type);
    arena_done(&arena);
  }
}

Test(sight, of_an_answer)
{
  static const char frame[] = "{ \"status\":\"ok\", \"retcode\": 0,\"data\": {\"echo\":[1]} ,"
                              "\"echo\" : { \"a\" : 1 } }";
  struct arena arena;
  struct ob_sight s;
  arena_init(&arena, 65536);
  cr_assert(ob_sight_read(span_of(frame), &arena, &s, NULL));
  cr_expect(s.has_status && !s.has_post_type && !s.echo_is_string);
  cr_expect(span_is(s.echo_raw, "{ \"a\" : 1 }"));
  cr_expect(span_is(s.data, "{\"echo\":[1]}"));
  cr_expect(span_is(s.retcode, "0"));
  cr_expect_eq(s.message_id.len, 0);
  static const char sent[] =
      "{\"data\":{\"x\":[{\"message_id\":1}],\"message_id\":-7},\"status\":\"ok\"}";
  cr_assert(ob_sight_read(span_of(sent), &arena, &s, NULL));
  cr_expect(span_is(s.message_id, "-7"));
  arena_done(&arena);
}

Test(sight, of_what_is_no_object)
{
  static const char *const rows[] = { "",
                                      "[1]",
                                      "{",
                                      "{\"message\":[{\"data\":{\"text\":\"a\"}",
                                      "{} {}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"message\":[{\"type\":}]}" };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct ob_sight s;
    struct schema_error error = { .code = SCHEMA_OK };
    arena_init(&arena, 65536);
    cr_expect(!ob_sight_read(span_of(rows[i]), &arena, &s, &error), "%s", rows[i]);
    arena_done(&arena);
  }
}
