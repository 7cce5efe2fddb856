/* What a configuration says of tools, and the schema files that it names. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/config/config_print.h"

enum { ARENA_MAX = 64 << 20 };

#define MAIN "endpoints:\n  main:\n    connect: ws://127.0.0.1:3001\n" /* three lines */
#define DEFAULT MAIN "groups:\n  default:\n"                           /* five */

static const char *env_get(void *ctx, const char *name)
{
  (void)ctx;
  return strcmp(name, "TOKEN") == 0 ? "s3cret" : NULL;
}

static struct rg_config *read_in(const char *text, struct arena *arena,
                                 struct rg_config_faults *faults)
{
  return rg_config_read(span_of(text), SPAN("/etc/bot"), env_get, NULL, arena, faults);
}

static bool holds(struct span s, const char *word)
{
  return span_find(s, span_of(word)) < s.len || *word == 0;
}

static struct rg_config *load(const char *path, struct rg_config_faults *faults,
                              struct arena *arena)
{
  arena_init(arena, ARENA_MAX);
  return rg_config_load(span_of(path), arena, faults);
}

#define TOOL MAIN "tools:\n  t:\n    description: d\n"
#define OBJECT_OF(properties)                                                                      \
  "    url: https://h/\n    parameters: {type: object, properties: {" properties                   \
  "}, required: [q], additionalProperties: false}\n"

Test(config_tool, faults_have_their_place)
{
  static const struct {
    const char *in;
    size_t line, column;
    const char *says, *advises;
  } rows[] = {
    { TOOL, 5, 3, "tools.t", "write url" },
    { MAIN "tools: {t: {url: https://h/}}\n", 4, 9, "tools.t", "description" },
    { MAIN "tools: {find_member: {}}\n", 4, 9, "find_member", "already" },
    { MAIN "tools: {json: {}}\n", 4, 9, "tools.json", "another name" },
    { MAIN "tools: {\"a b\": {}}\n", 4, 9, "tools.a b", "letters" },
    { MAIN "tools: {t: x}\n", 4, 12, "tools.t", "below it" },
    { MAIN "tools: [t]\n", 4, 8, "tools", "mapping" },
    { TOOL "    url: ftp://h/\n", 7, 10, "tools.t.url", "https://" },
    { TOOL "    url: https://{q}/\n", 7, 10, "tools.t.url", "fixed" },
    { TOOL "    url: https://h/{q}\n", 7, 10, "tools.t.url", "no parameter" },
    { TOOL "    url: https://h/\n    method: put\n", 8, 13, "method", "get, post" },
    { TOOL "    url: https://h/\n    timeout: 0\n", 8, 14, "timeout", "from 1 to 60" },
    { TOOL "    url: https://h/\n    response_bytes: 65537\n", 8, 21, "response_bytes", "65536" },
    { TOOL "    url: https://h/\n    addresses: private\n", 8, 16, "addresses", "public, any" },
    { TOOL "    url: https://h/\n    headers: {\"a b\": x}\n", 8, 15, "headers", "no header" },
    { TOOL "    url: https://h/\n    headers: {HOST: x}\n", 8, 15, "headers", "no header" },
    { TOOL "    url: https://h/\n    headers: {X: \"a\\r\\nY: b\"}\n", 8, 14, "headers",
      "line end" },
    { TOOL "    url: https://h/\n    headers: {X: [s3cret]}\n", 8, 18, "headers", "mapping" },
    { TOOL "    url: https://h/\n    headers: {A: x, B: x, C: x, D: x, E: x}\n"
           "    header_files: {F: x, G: x, H: x, I: x}\n",
      5, 3, "header", "at most 8" },
    { TOOL "    url: https://h/\n    parameters: x\n", 8, 17, "parameters", "JSON Schema" },
    { TOOL "    url: https://h/\n    parameters: {type: array}\n", 8, 17, "parameters", "object" },
    { TOOL OBJECT_OF("q: {type: string, pattern: '(a+)+$'}"), 8, 17, "$.q: ", "pattern" },
    { TOOL OBJECT_OF("q: {type: string, minLength: 1}"), 8, 17, "$.q: ", "minLength" },
    { TOOL OBJECT_OF("q: {type: string}, r: {type: string}"), 8, 17, "parameters", "required" },
    { TOOL OBJECT_OF(
          "q: {type: object, properties: {}, required: [], additionalProperties: false}"),
      7, 10, "tools.t.url", "method: post" },
    { DEFAULT "    agent: {tools: [find_member, search]}\n", 6, 34, "agent.tools", "no tool" },
    { MAIN "    groups: {5: {agent: {tools: [search]}}}\n", 4, 34,
      "endpoints.main.groups.5.agent.tools", "no tool" },
    { MAIN "description: x\n", 4, 1, "description", "under tools.NAME" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct rg_config_faults faults;
    arena_init(&arena, ARENA_MAX);
    struct rg_config *c = read_in(rows[i].in, &arena, &faults);
    cr_expect_null(c, "row %zu is accepted:\n%s", i, rows[i].in);
    for (size_t k = 0; k < faults.count; k++) {
      const struct rg_config_fault *f = &faults.items[k];
      cr_expect(k == 0 && f->line == rows[i].line && f->column == rows[i].column &&
                    holds(f->what, rows[i].says) && holds(f->what, rows[i].advises),
                "row %zu: %zu:%zu: %.*s\n%s", i, f->line, f->column, (int)f->what.len, f->what.ptr,
                rows[i].in);
      cr_expect_not(holds(f->what, "s3cret"), "row %zu shows a secret", i);
    }
    rg_config_release(c);
    arena_done(&arena);
  }
}

Test(config_tool, values_are_read_and_secrets_not_printed)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, ARENA_MAX);
  struct rg_config *c = read_in(
      DEFAULT "    agent: {tools: [search, get_message]}\n"
              "tools:\n  search:\n    description: \"Finds songs\"\n"
              "    url: \"https://h/{q}?key=s3cret\"\n    method: post\n"
              "    parameters:\n      type: object\n      properties:\n        q: {type: string, "
              "enum: [no, false]}\n      required: [q]\n      additionalProperties: false\n"
              "    headers: {X-Key: \"${TOKEN}\"}\n    header_files: {X-B: b.key}\n"
              "    addresses: any\n    timeout: 2.5\n",
      &arena, &faults);
  cr_assert(c && c->tool_count == 1);
  const struct rg_http_tool *t = rg_config_tool(c, SPAN("search"));
  cr_assert_not_null(t);
  cr_expect(
      span_is(t->parameters.text,
              "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\",\"enum\":[\"no\","
              "\"false\"]}},\"required\":[\"q\"],\"additionalProperties\":false}"),
      "%.*s", (int)t->parameters.text.len, t->parameters.text.ptr);
  cr_expect(t->method == RG_METHOD_POST && t->reach == RG_REACH_ANY && t->response_bytes == 8192);
  cr_expect(span_is(t->headers.items[1], "s3cret"));
  cr_expect(span_is(t->header_files.items[1], "/etc/bot/b.key"));
  const struct rg_group *g = rg_config_group(c, NULL, 0);
  cr_expect_eq(g->agent.tools, RG_TOOL_GET_MESSAGE | RG_TOOL_HTTP);
  cr_expect(g->agent.http_tools.count == 1 && span_is(g->agent.http_tools.items[0], "search"));
  struct buf out;
  buf_init(&out, 1 << 20);
  cr_expect(rg_config_print(c, &out));
  cr_expect(holds(buf_span(&out), "tools:") && holds(buf_span(&out), "X-Key: \"***\""), "%s",
            out.ptr);
  cr_expect(holds(buf_span(&out), "[get_message, search]"));
  cr_expect_not(holds(buf_span(&out), "s3cret"), "%s", out.ptr);
  buf_done(&out);
  rg_config_release(c);
  arena_done(&arena);
}

Test(config_tool, schema_files_are_checked)
{
  static const struct {
    const char *label, *schema; /* NULL: no such file */
    const char *what[2];        /* NULL: it is fine */
  } rows[] = {
    { "fine",
      "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":false}",
      { NULL } },
    { "missing", NULL, { "groups.default.output_schema", "No such file" } },
    { "empty", "", { "s.json", "line 1, column 1" } },
    { "no JSON", "{\n  \"type\": object}", { "line 2, column 11", "output_schema" } },
    { "a list", "{\"type\":\"array\"}", { "s.json", "object" } },
    { "a pattern",
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"(a+)+\"}},"
      "\"required\":[\"a\"],\"additionalProperties\":false}",
      { "$.a: ", "pattern" } },
  };
  char folder[] = "/tmp/rg_schema_XXXXXX", config[64], schema[64];
  cr_assert(mkdtemp(folder));
  snprintf(config, sizeof config, "%s/c.yaml", folder);
  snprintf(schema, sizeof schema, "%s/s.json", folder);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct rg_config_faults faults;
    FILE *f = fopen(config, "w");
    fputs(DEFAULT "    output: schema\n    output_schema: s.json\n", f);
    fclose(f);
    remove(schema);
    if (rows[i].schema) {
      f = fopen(schema, "w");
      fputs(rows[i].schema, f);
      fclose(f);
    }
    struct rg_config *c = load(config, &faults, &arena);
    cr_expect_eq(c != NULL, !rows[i].what[0], "%s", rows[i].label);
    if (c) {
      const struct rg_schema_file *s = &rg_config_group(c, NULL, 5)->output_schema;
      cr_expect(s->tree && span_is(s->text, rows[i].schema), "%s", rows[i].label);
    } else {
      cr_expect(faults.count == 1 && faults.items[0].line == 7 && faults.items[0].column == 20,
                "%s: %zu at %zu:%zu", rows[i].label, faults.count, faults.items[0].line,
                faults.items[0].column);
      for (size_t k = 0; k < 2; k++)
        cr_expect(holds(faults.items[0].what, rows[i].what[k]), "%s: %.*s", rows[i].label,
                  (int)faults.items[0].what.len, faults.items[0].what.ptr);
    }
    rg_config_release(c);
    arena_done(&arena);
  }
  remove(schema);
  mkfifo(schema, 0600);
  struct arena arena;
  struct rg_config_faults faults;
  cr_expect_null(load(config, &faults, &arena), "a pipe is not waited for");
  cr_expect(faults.count == 1 && holds(faults.items[0].what, "regular"));
  arena_done(&arena);
  remove(schema);
  remove(config);
  rmdir(folder);
}
