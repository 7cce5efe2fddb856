#include "tests/lib/program.h"

Test(eval, one_result_a_line_in_order)
{
  static const char in[] =
      "{\"id\":1,\"keyboard\":{\"rows\":[[{\"label\":\"a\",\"payload\":\"x\"}]]},\"text\":\"1\"}\n"
      "\n"
      "not json\n"
      "[1]\n"
      "{\"id\":{\"deep\":[1.50,\"\\u00e9\"]},\"keyboard\":1,\"text\":\"1\"}\n"
      "{\"text\":\"1\",\"keyboard\":{\"rows\":[]}}\r\n"
      "{\"id\":\"cut\",\"text\":\"1\"\n"
      "{\"id\":\"last\",\"keyboard\":{\"rows\":[]},\"text\":\"1\"}";
  static const char *const wanted[] = {
    "{\"id\":1,\"payload\":\"x\"}",
    "{\"id\":null,\"error\":{\"code\":\"truncated\",",
    "{\"id\":null,\"error\":{\"code\":\"syntax\",",
    "{\"id\":null,\"error\":{\"code\":\"type\",",
    "{\"id\":{\"deep\":[1.50,\"\\u00e9\"]},\"error\":{\"code\":\"type\",",
    "{\"id\":null,\"payload\":null}",
    "{\"id\":null,\"error\":{\"code\":\"truncated\",",
    "{\"id\":\"last\",\"payload\":null}",
  };
  struct program_end end = program_run("eval tap", (struct span) { in, sizeof in - 1 });
  cr_expect_eq(end.code, 0);
  char *line = end.out;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    char *newline = line ? strchr(line, '\n') : NULL;
    cr_assert(newline, "line %zu is missing", i);
    *newline = '\0';
    cr_expect_eq(strncmp(line, wanted[i], strlen(wanted[i])), 0, "line %zu: %s", i, line);
    line = newline + 1;
  }
  cr_expect_str_eq(line, "");
  program_done(&end);
}

Test(eval, an_unknown_kind_is_2_with_the_list)
{
  struct program_end end = program_run("eval nothing", SPAN("{}\n"));
  cr_expect_eq(end.code, 2);
  cr_expect_str_empty(end.out);
  cr_expect(strstr(end.err, "\"nothing\"") && strstr(end.err, " reply ") && strstr(end.err, " tap"),
            "%s", end.err);
  program_done(&end);
  end = program_run("eval", SPAN(""));
  cr_expect_eq(end.code, 64);
  program_done(&end);
}

Test(eval, a_line_of_more_than_64_MiB_is_a_fault_of_that_line)
{
  enum { SIZE = 65 * 1024 * 1024 };
  static const char head[] = "{\"id\":5,\"text\":\"", after[] = "\"}\n{\"id\":6}\n";
  char *in = malloc(SIZE + 64);
  memcpy(in, head, sizeof head - 1);
  memset(in + sizeof head - 1, 'a', SIZE);
  memcpy(in + sizeof head - 1 + SIZE, after, sizeof after - 1);
  struct program_end end =
      program_run("eval tap", (struct span) { in, sizeof head - 1 + SIZE + sizeof after - 1 });
  cr_expect_eq(end.code, 0);
  cr_expect(strstr(end.out, "{\"id\":null,\"error\":{\"code\":\"too_big\"") == end.out, "%s",
            end.out);
  cr_expect(strstr(end.out, "\n{\"id\":6,\"error\":{\"code\":\"type\""), "%s", end.out);
  program_done(&end);
  free(in);
}

Test(eval, deep_and_broken_lines_go_on)
{
  struct buf in;
  buf_init(&in, 1 << 22);
  for (int i = 0; i < 600; i++) buf_add_char(&in, '[');
  buf_add_char(&in, '\n');
  buf_add(
      &in,
      SPAN("{\"id\":\"\xff\"}\n{\"id\":\"\\ud800\"}\n{\"id\":1,\"id\":2}\n{\"id\":\"a\0b\"}\n"));
  buf_add(&in, SPAN("{\"id\":7,\"text\":\"1\",\"keyboard\":{\"rows\":[]}}\n"));
  static const char *const codes[] = { "depth", "utf8", "surrogate", "duplicate_key", "syntax" };
  struct program_end end = program_run("eval tap", buf_span(&in));
  const char *line = end.out;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{\"id\":null,\"error\":{\"code\":\"%s\"", codes[i]);
    cr_expect_eq(strncmp(line, wanted, strlen(wanted)), 0, "line %zu: %.80s", i, line);
    line = strchr(line, '\n') + 1;
  }
  cr_expect_str_eq(line, "{\"id\":7,\"payload\":null}\n");
  program_done(&end);
  buf_done(&in);
}
