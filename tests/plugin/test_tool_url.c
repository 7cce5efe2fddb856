#include <criterion/criterion.h>

#include "plugin/agent/tool_url.h"
#include "schema/portable.h"

#define OBJECT(properties, required)                                                               \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                   \
  "],\"additionalProperties\":false}"
#define STRING "{\"type\":\"string\"}"
#define Q OBJECT("\"q\":" STRING, "\"q\"")
#define MIXED                                                                                      \
  OBJECT("\"q\":" STRING ",\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"l\":{"      \
         "\"type\":\"array\",\"items\":" STRING "}",                                               \
         "\"q\",\"n\",\"b\",\"l\"")
#define NESTED OBJECT("\"o\":" OBJECT("\"a\":" STRING, "\"a\""), "\"o\"")

static struct schema_node *tree_of(const char *text, struct arena *arena)
{
  struct schema_node *tree = NULL;
  cr_assert_eq(schema_tree_read(span_of(text), 64, arena, &tree, NULL), SCHEMA_OK, "%s", text);
  return tree;
}

Test(tool_url, templates_are_checked)
{
  static const struct {
    const char *url, *parameters;
    bool queried;
    const char *fault; /* a part of it; NULL: none */
  } rows[] = {
    { "https://h/", Q, true, NULL },
    { "http://127.0.0.1:3000/search?keywords={q}", Q, true, NULL },
    { "https://h/{q}/x?y={q}", Q, true, NULL },
    { "https://h/", MIXED, true, NULL },
    { "https://h/", NESTED, false, NULL },
    { "", Q, true, "https://" },
    { "h/x", Q, true, "https://" },
    { "ftp://h/x", Q, true, "https://" },
    { "HTTPS://h/x", Q, true, "https://" },
    { "https:///x", Q, true, "https://" },
    { "https://{q}/x", Q, true, "the host stands fixed" },
    { "https://{q}.example.com/", Q, true, "the host stands fixed" },
    { "https://h:{q}/", Q, true, "the host stands fixed" },
    { "https://user:pass@h/", Q, true, "headers" },
    { "https://h/#{q}", Q, true, "#" },
    { "https://h/a b", Q, true, "spaces" },
    { "https://h/歌", Q, true, "ASCII" },
    { "https://h/a\\b", Q, true, "spaces" },
    { "https://h/{q", Q, true, "without its }" },
    { "https://h/q}", Q, true, "without its {" },
    { "https://h/{{q}}", Q, true, "{ inside" },
    { "https://h/{x}", Q, true, "{x} is no parameter" },
    { "https://h/{}", Q, true, "{} is no parameter" },
    { "https://h/{l}", MIXED, true, "{l} is no parameter" },
    { "https://h/{o}", NESTED, false, "{o} is no parameter" },
    { "https://h/", NESTED, true, "method: post" },
  };
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_node *parameters = tree_of(rows[i].parameters, &arena);
    cr_assert_eq(schema_portable_check(parameters, &arena, NULL), SCHEMA_OK);
    const char *fault =
        rg_tool_url_fault(span_of(rows[i].url), parameters, rows[i].queried, &arena);
    cr_expect(rows[i].fault ? fault && strstr(fault, rows[i].fault) : !fault, "%s: %s", rows[i].url,
              fault);
  }
  arena_done(&arena);
}

#define NO_PART "no part of a path"

Test(tool_url, arguments_stay_in_their_place)
{
  static const struct {
    const char *url, *arguments;
    bool queried;
    const char *want; /* with a space first: a part of the fault */
  } rows[] = {
    { "https://h/s?q={q}", "{\"q\":\"a b\"}", true, "https://h/s?q=a%20b" },
    { "https://h/s?q={q}&k=1", "{\"q\":\"x&k=2#y\"}", true, "https://h/s?q=x%26k%3D2%23y&k=1" },
    { "https://h/s?q={q}", "{\"q\":\"周杰伦\"}", true,
      "https://h/s?q=%E5%91%A8%E6%9D%B0%E4%BC%A6" },
    { "https://h/s?q={q}", "{\"q\":\"a\\r\\nX-Evil: 1\"}", true,
      "https://h/s?q=a%0D%0AX-Evil%3A%201" },
    { "https://h/s?q={q}", "{\"q\":\"\\u0000\"}", true, "https://h/s?q=%00" },
    { "https://h/s?q={q}", "{\"q\":\"%2e%2E\"}", true, "https://h/s?q=%252e%252E" },
    { "https://h/s?q={q}", "{\"q\":\"\"}", true, "https://h/s?q=" },
    { "https://h/s?q={q}", "{\"q\":\"{q}\"}", true, "https://h/s?q=%7Bq%7D" },
    { "https://h/s", "{\"q\":\"a\",\"n\":3,\"b\":true,\"l\":[\"x\",\"y z\"]}", true,
      "https://h/s?q=a&n=3&b=true&l=x&l=y%20z" },
    { "https://h/s?k=1", "{\"q\":\"a\"}", true, "https://h/s?k=1&q=a" },
    { "https://h/s", "{\"q\":\"a\"}", false, "https://h/s" },
    { "https://h/s", "{}", true, "https://h/s" },
    { "https://h/{q}/info", "{\"q\":\"a/b?c\"}", true, "https://h/a%2Fb%3Fc/info" },
    { "https://h/{q}", "{\"q\":\"..\"}", true, " " NO_PART },
    { "https://h/{q}/x", "{\"q\":\".\"}", true, " " NO_PART },
    { "https://h/a{q}", "{\"q\":\"/../../admin\"}", true, " " NO_PART },
    { "https://h/{q}", "{\"q\":\"x\\\\..\\\\y\"}", true, " " NO_PART },
    { "https://h/.{q}", "{\"q\":\".\"}", true, " " NO_PART },
    { "https://h/{q}", "{\"q\":\"\"}", true, " " NO_PART },
    { "https://h/{q}", "{\"q\":\"a..b\"}", true, "https://h/a..b" },
  };
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf out;
    buf_init(&out, 1 << 16);
    const char *fault = rg_tool_url_write(span_of(rows[i].url), tree_of(rows[i].arguments, &arena),
                                          rows[i].queried, &out);
    if (rows[i].want[0] == ' ')
      cr_expect(fault && strstr(fault, rows[i].want + 1), "%s %s: %s", rows[i].url,
                rows[i].arguments, fault ? fault : out.ptr);
    else
      cr_expect(!fault && span_is(buf_span(&out), rows[i].want), "%s %s: %s", rows[i].url,
                rows[i].arguments, fault ? fault : out.ptr);
    buf_done(&out);
  }
  arena_done(&arena);
}

Test(tool_url, what_is_too_long_is_no_address)
{
  struct arena arena;
  struct buf json, out;
  arena_init(&arena, 1 << 22);
  buf_init(&json, 1 << 20);
  buf_init(&out, 1 << 22);
  buf_add(&json, SPAN("{\"q\":\""));
  for (size_t i = 0; i < RG_TOOL_URL_MAX; i++) buf_add_char(&json, 'a');
  buf_add(&json, SPAN("\"}"));
  const char *fault =
      rg_tool_url_write(SPAN("https://h/s?q={q}"), tree_of(json.ptr, &arena), true, &out);
  cr_expect(fault && strstr(fault, "too long"));
  buf_done(&out);
  buf_done(&json);
  arena_done(&arena);
}
