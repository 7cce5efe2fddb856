#include <criterion/criterion.h>

#include "plugin/command/script.h"

static struct arena arena;

static void set_up(void)
{
  arena_init(&arena, 1 << 20);
}

static void tear_down(void)
{
  arena_done(&arena);
}

TestSuite(script, .init = set_up, .fini = tear_down);

static struct rg_script script_of(const char *text)
{
  struct rg_script script;
  size_t line;
  struct schema_error error = { .what = "" };
  cr_assert_eq(rg_script_read(span_of(text), &arena, &script, &line, &error), SCHEMA_OK,
               "line %zu: %s", line, error.what);
  return script;
}

Test(script, answers_by_what_was_typed)
{
  struct rg_script script = script_of("# a comment\n"
                                      "{\"when\":\"*\",\"answer\":\"anything\"}\r\n\n"
                                      "{\"when\":[\"Help\",\"帮助\"],\"answer\":\"help\"}\n"
                                      "{\"when\":\"help\",\"answer\":\"never\"}");
  static const struct {
    const char *typed, *answer;
  } rows[] = {
    { "help", "help" },  { " HELP\n", "help" },     { "帮助", "help" },
    { "*", "anything" }, { "help me", "anything" }, { "", "anything" },
  };
  cr_assert_eq(script.count, 3);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct rg_script_row *row = rg_script_find(&script, span_of(rows[i].typed));
    cr_assert(row, "row %zu", i);
    cr_expect(span_is(row->answer, rows[i].answer), "row %zu", i);
  }
  script = script_of("{\"when\":\"a\",\"answer\":\"b\"}");
  cr_expect_null(rg_script_find(&script, SPAN("c")));
  script = script_of("");
  cr_expect_null(rg_script_find(&script, SPAN("c")));
}

Test(script, faults_name_their_line)
{
  static const struct {
    const char *text;
    size_t line;
    const char *path;
  } rows[] = {
    { "{", 1, "" },
    { "\n# x\n[]", 3, "$.answer" },
    { "{\"when\":\"a\"}", 1, "$.answer" },
    { "{\"answer\":\"a\"}", 1, "$.when" },
    { "{\"answer\":\"a\",\"when\":[]}", 1, "$.when" },
    { "{\"answer\":\"a\",\"when\":[1]}", 1, "$.when" },
    { "{\"answer\":1,\"when\":\"a\"}", 1, "$.answer" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_script script;
    struct schema_error error = { .code = SCHEMA_OK };
    size_t line = 0;
    cr_expect_neq(rg_script_read(span_of(rows[i].text), &arena, &script, &line, &error), SCHEMA_OK,
                  "row %zu", i);
    cr_expect_eq(line, rows[i].line, "row %zu: line %zu", i, line);
    cr_expect_str_eq(error.path, rows[i].path, "row %zu", i);
  }
}

Test(script, placeholders)
{
  struct rg_script script =
      script_of("{\"when\":\"a\",\"answer\":\"x\",\"about\":\"first\"}\n"
                "{\"when\":\"b\",\"answer\":\"y\"}\n"
                "{\"when\":[\"c\",\"d\"],\"answer\":\"z\",\"about\":\"sec\\\"ond\"}");
  const struct rg_script_ask ask = { .text = SPAN("t\n\"q\""),
                                     .sender_id = SPAN("10002"),
                                     .sender_name = SPAN("A\\B"),
                                     .message_id = SPAN("-7") };
  static const struct {
    const char *answer, *wanted;
  } rows[] = {
    { "", "" },
    { "{{sender_id}}{{message_id}}", "10002-7" },
    { "<{{group_id}}>", "<>" },
    { "{{sender_name}} {{text}}", "A\\\\B t\\n\\\"q\\\"" },
    { "{{menu}}", "a – first\\nc – sec\\\"ond" },
    { "{{unknown}} {{", "{{unknown}} {{" },
    { "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}" },
    { "{{{sender_id}}}", "{{{sender_id}}}" },
    { "{{x{{sender_id}}", "{{x10002" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf out;
    buf_init(&out, 1 << 16);
    cr_expect(rg_script_write(&script, span_of(rows[i].answer), &ask, &out), "row %zu", i);
    cr_expect(span_is(buf_span(&out), rows[i].wanted), "row %zu: %.*s", i, (int)out.len, out.ptr);
    buf_done(&out);
  }
}
