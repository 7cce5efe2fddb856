#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "plugin/config/config_print.h"
#include "plugin/config/config_text.h"
#include "plugin/config/config_value.h"

enum { ARENA_MAX = 64 << 20 };

#define MAIN "endpoints:\n  main:\n    connect: ws://127.0.0.1:3001\n" /* three lines */
#define DEFAULT MAIN "groups:\n  default:\n"                           /* five */

static const char *const env[][2] = {
  { "TOKEN", "s3cret" }, { "EMPTY", "" },           { "NEST", "${TOKEN}" },
  { "URL", "http://x" }, { "WS", "ws://10.0.0.1" }, { "LINES", "x\nadmins: [1]" },
  { "BAD", "\xff" },     { "LANG2", "en" },
};

static const char *env_get(void *ctx, const char *name)
{
  (void)ctx;
  for (size_t i = 0; i < sizeof env / sizeof *env; i++)
    if (strcmp(env[i][0], name) == 0) return env[i][1];
  return NULL;
}

static struct rg_config *read_in(const char *text, size_t length, struct arena *arena,
                                 struct rg_config_faults *faults)
{
  return rg_config_read((struct span) { text, length }, SPAN("/etc/bot"), env_get, NULL, arena,
                        faults);
}

static struct rg_config *read_good(const char *text)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, ARENA_MAX);
  struct rg_config *c = read_in(text, strlen(text), &arena, &faults);
  for (size_t i = 0; i < faults.count; i++)
    cr_expect_fail("%zu:%zu: %.*s in\n%s", faults.items[i].line, faults.items[i].column,
                   (int)faults.items[i].what.len, faults.items[i].what.ptr, text);
  arena_done(&arena);
  return c;
}

static bool holds(struct span s, const char *word)
{
  return span_find(s, span_of(word)) < s.len || *word == 0;
}

/* Exactly one fault each: its place and two words that it says. */
static const struct {
  const char *in;
  size_t line, column;
  const char *says, *advises;
} one[] = {
  /* keys */
  { DEFAULT "    enabeld: true\n", 6, 5, "groups.default.enabeld", "do you mean enabled?" },
  { DEFAULT "    media:\n      max_size: 1\n", 7, 7, "media.max_size", "known here are max_bytes" },
  { DEFAULT "    pace: {mn: 1}\n", 6, 12, "pace.mn", "min" },
  { DEFAULT "    pace.min: 1\n", 6, 5, "pace.min", "unknown key" },
  { DEFAULT "    admins: [1]\n", 6, 5, "admins", "at the top of the file" },
  { MAIN "enabled: true\n", 4, 1, "enabled", "under groups.default" },
  { "conect: x\n", 1, 1, "conect", "known here are" },
  { "endpoints:\n  main:\n    conect: ws://127.0.0.1:3001\n", 3, 5, "conect", "connect?" },
  { MAIN "provisions: {}\n", 4, 1, "providers", "unknown key" },
  { MAIN "agent: {}\n", 4, 1, "agent", "unknown key" },
  { DEFAULT "    启用: true\n", 6, 5, "启用", "known here are" },
  { DEFAULT "    [a, b]: 1\n", 6, 5, "", "a key is one word" },
  { DEFAULT "    {a: b}: 1\n", 6, 5, "", "a key is one word" },
  { MAIN "admins: [1]\nadmins: [2]\n", 5, 1, "admins", "line 4" },
  { MAIN "groups:\n  5: {}\n  \"5\": {}\n", 6, 3, "5", "doubled" },
  { DEFAULT "    rate: {per_minute: 20, per_minute: 30}\n", 6, 28, "per_minute", "doubled" },
  { "endpoints:\n  main:\n    connect: host\n  main:\n    connect: host\n", 4, 3, "main",
    "doubled" },
  /* what YAML has and we do not */
  { DEFAULT "    segments: &s [text]\n    share_platforms: *s\n", 7, 22, "", "alias" },
  { MAIN "admins: !!seq [1]\n", 4, 9, "", "tag" },
  { MAIN "language: !x zh\n", 4, 11, "", "tag" },
  { "%TAG !a! !\n---\n" MAIN, 1, 1, "", "tag" },
  { MAIN "\r...\r\n%TAG !a! !\n", 6, 1, "", "tag" },
  { MAIN "---\nadmins: [1]\n", 4, 1, "", "second document" },
  { DEFAULT "    segments: [text, image\n", 7, 1, "", "not valid YAML" },
  { "endpoints:\n\tmain: {}\n", 2, 1, "with tabs", "not valid YAML" },
  { "a: {b: {c: {d: {e: {f: {g: {h: {i: {j: {k: {l: {m: {n: {o: {p: {q: 1}}}}}}}}}}}}}}}}\n", 1, 64,
    "", "nested too deep" },
  { "endpoints:\n  main:\n    connect：host\n", 3, 5, "endpoints.main", "not ：" },
  { "endpoints：\n  main: {connect: host}\n", 2, 7, "not valid YAML", "not ：" },
  { MAIN "admins：[1]\nnotify: []\n", 5, 1, "not valid YAML", "not ：" },
  { MAIN "admins:[1]\nnotify: []\n", 5, 1, "not valid YAML", "a space" },
  { "groups:\n  5:\n    card:text\n", 3, 5, "groups.5", "a space" },
  /* types */
  { "- a\n", 1, 1, "", "mapping" },
  { "word\n", 1, 1, "", "mapping" },
  { DEFAULT "    pace: 0.5\n", 6, 11, "pace", "a mapping" },
  { DEFAULT "    pace:\n", 6, 10, "pace", "a mapping" },
  { DEFAULT "    segments: text\n", 6, 15, "segments", "a list of text, mention" },
  { DEFAULT "    segments: [text, [image]]\n", 6, 22, "segments", "a list" },
  { DEFAULT "    segments: [text, texts]\n", 6, 22, "texts", "do you mean text?" },
  { DEFAULT "    enabled: \"true\"\n", 6, 14, "enabled", "true or false" },
  { DEFAULT "    enabled: yes\n", 6, 14, "enabled", "not yes" },
  { DEFAULT "    enabled: True\n", 6, 14, "enabled", "true or false" },
  { DEFAULT "    enabled: 1\n", 6, 14, "enabled", "true or false" },
  { DEFAULT "    enabled:\n", 6, 13, "enabled", "true or false" },
  { DEFAULT "    enabled: ${TOKEN}\n", 6, 14, "enabled", "true or false" },
  { DEFAULT "    media: {max_bytes: 1.5}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: 1e3}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: 0x10}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: 010}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: +10}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: \"10\"}\n", 6, 24, "max_bytes", "whole number" },
  { DEFAULT "    media: {max_bytes: 99999999999999999999}\n", 6, 24, "max_bytes", "whole" },
  { DEFAULT "    rate: {per_minute: 0}\n", 6, 24, "per_minute", "from 1 to 6000" },
  { DEFAULT "    rate: {per_minute: -20}\n", 6, 24, "per_minute", "from 1" },
  { DEFAULT "    pace: {min: -1}\n", 6, 17, "min", "from 0 to 60" },
  { DEFAULT "    pace: {max: .inf}\n", 6, 17, "max", "number" },
  { DEFAULT "    pace: {max: .nan}\n", 6, 17, "max", "number" },
  { DEFAULT "    pace: {max: 61}\n", 6, 17, "max", "to 60" },
  { DEFAULT "    pace: {max: 1.}\n", 6, 17, "max", "number" },
  { DEFAULT "    pace: {max: 1.2.3}\n", 6, 17, "max", "number" },
  { DEFAULT "    pace: {max: 01.5}\n", 6, 17, "max", "number" },
  { DEFAULT "    pace: {min: 2, max: 1}\n", 6, 17, "min is 2", "max is 1" },
  { DEFAULT "    pace: {min: 2}\n", 6, 17, "min is 2", "max is 1.5" },
  { MAIN "groups:\n  5:\n    pace: {max: 0.1}\n", 6, 17, "groups.5.pace", "min is 0.4" },
  { DEFAULT "    output: schema\n", 6, 13, "output", "output_schema" },
  { DEFAULT "    quote: sometimes\n", 6, 12, "quote", "never, first, all" },
  { DEFAULT "    mode: observ\n", 6, 11, "mode", "do you mean observe?" },
  { DEFAULT "    card: [text]\n", 6, 11, "card", "one of" },
  { DEFAULT "    reactions: [赞, 不存在的表情]\n", 6, 20, "不存在的表情", "replygate faces" },
  { DEFAULT "    reactions: maybe\n", 6, 16, "reactions", "true, false, or a list" },
  { DEFAULT "    failure_notice: [a]\n", 6, 21, "failure_notice", "default, off" },
  { DEFAULT "    failure_notice: \"\"\n", 6, 21, "failure_notice", "default, off" },
  { DEFAULT "    failure_notice: \"a\\0b\"\n", 6, 21, "failure_notice", "control character" },
  { DEFAULT "    media: {hosts: private}\n", 6, 20, "hosts", "public" },
  { DEFAULT "    media: {hosts: [\"http://x\"]}\n", 6, 21, "hosts", "host names" },
  { DEFAULT "    media: {roots: [\"~/m\"]}\n", 6, 21, "roots", "${HOME}" },
  { DEFAULT "    media: {roots: [\"\"]}\n", 6, 21, "roots", "folders" },
  { DEFAULT "    ignore: [x]\n", 6, 14, "ignore", "QQ numbers" },
  { MAIN "admins: 10001\n", 4, 9, "admins", "a list" },
  { MAIN "admins: [-1]\n", 4, 10, "admins", "not -1" },
  { MAIN "admins: [0]\n", 4, 10, "admins", "QQ numbers" },
  { MAIN "admins: [01]\n", 4, 10, "admins", "QQ numbers" },
  { MAIN "admins: [9223372036854775808]\n", 4, 10, "admins", "QQ numbers" },
  { MAIN "language: fr\n", 4, 11, "language", "one of zh, en" },
  { MAIN "log: {level: loud}\n", 4, 14, "log.level", "error, warn, info, debug" },
  { MAIN "command_prefix: \"/ga te\"\n", 4, 17, "command_prefix", "without spaces" },
  { MAIN "command_prefix: \"\"\n", 4, 17, "command_prefix", "a word" },
  { MAIN "command_prefix: \"12\"\n", 4, 17, "command_prefix", "not only digits" },
  /* addresses */
  { "endpoints:\n  main:\n    connect: ws://\n", 3, 14, "connect", "ws://127.0.0.1:3001" },
  { "endpoints:\n  main:\n    connect: http://x\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: x:3001\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ws://x:0\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ws://x:70000\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ws://a b:1\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: \"\"\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ws://u:p@x\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: \"ws://x/#a\"\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ws://例子.com\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    connect: ${URL}\n", 3, 14, "connect", "" },
  { "endpoints:\n  main:\n    listen: 127.0.0.1:8080\n", 3, 13, "listen", "path" },
  { "endpoints:\n  main:\n    listen: 127.0.0.1/ws\n", 3, 13, "listen", "port" },
  { "endpoints:\n  main:\n    listen: :8080/ws\n", 3, 13, "listen", "" },
  { "endpoints:\n  main:\n    listen: bot.example:8080/ws\n", 3, 13, "listen", "" },
  { "endpoints:\n  main:\n    listen: 127.0.0.1:70000/ws\n", 3, 13, "listen", "" },
  { "endpoints:\n  main:\n    listen: 0.0.0.0:8080/ws\n", 3, 13, "listen", "access_token" },
  { "endpoints:\n  main:\n    listen: \"[::]:8080/ws\"\n    access_token: ${EMPTY}\n", 3, 13,
    "listen", "access_token" },
  { "endpoints:\n  main:\n    connect: host\n    listen: 127.0.0.1:8080/ws\n", 4, 5, "listen",
    "one of connect and listen" },
  { "endpoints:\n  main: {}\n", 2, 3, "main", "connect" },
  { "endpoints:\n  main:\n", 2, 8, "main", "connect" },
  { "endpoints: []\n", 1, 12, "endpoints", "mapping" },
  { "endpoints:\n  a b: {connect: host}\n", 2, 3, "a b", "name" },
  { "endpoints:\n  a: {listen: \"127.0.0.1:80/x\"}\n  b: {listen: \"127.0.0.1:80/x\"}\n", 3, 15,
    "endpoints.b.listen", "endpoints.a" },
  { "endpoints:\n  a: {listen: \"127.0.0.1:80/x\"}\nrelay: {listen: \"127.0.0.1:80\"}\n", 2, 15,
    "listen", "relay.listen" },
  { "endpoints:\n  a: {connect: host, profile: napcta}\n", 2, 31, "profile", "napcat?" },
  { "endpoints:\n  a: {connect: host, profile_override: {muisc: no}}\n", 2, 41, "muisc",
    "the facts are" },
  { "endpoints:\n  a: {connect: host, profile_override: {music: 7}}\n", 2, 48, "music",
    "write no" },
  { "endpoints:\n  a: {connect: host, path_map: {media: /x}}\n", 2, 33, "path_map", "absolute" },
  { "endpoints:\n  a: {connect: host, music_sign: true}\n", 2, 34, "music_sign", "yes, no" },
  { MAIN "relay:\n  listen: 127.0.0.1:67000\n", 5, 11, "listen", "port" },
  { MAIN "relay:\n  listen: 127.0.0.1:6700/x\n", 5, 11, "listen", "port" },
  { MAIN "relay:\n  listen: 0.0.0.0:6700\n", 5, 11, "listen", "access_token" },
  { MAIN "relay: {connect: [{endpoint: main}]}\n", 4, 19, "relay.connect", "url" },
  { MAIN "relay: {connect: [{url: \"ws://x\", endpoint: mian}]}\n", 4, 45, "endpoint",
    "no endpoint" },
  { MAIN "relay: {connect: [x]}\n", 4, 19, "relay.connect", "{url:" },
  { MAIN "providers: {a: {}}\n", 4, 13, "providers.a", "no model" },
  { MAIN "providers: {a: {model: m, base_url: \"ftp://x\"}}\n", 4, 37, "base_url", "https://" },
  { MAIN "providers: {a: {model: m, base_url: \"https://k@x\"}}\n", 4, 37, "base_url", "no ?" },
  { MAIN "providers: {a: {model: m, dialect: azure}}\n", 4, 13, "azure", "base_url" },
  { MAIN "providers: {a: {model: m, dialect: deepseek, structured_output: native}}\n", 4, 65,
    "structured_output", "prompt" },
  { MAIN "providers: {a: {model: m, extra_body: \"[]\"}}\n", 4, 39, "extra_body", "JSON object" },
  { MAIN "providers: {a: {model: m, extra_body: '{\"model\": 1}'}}\n", 4, 39, "extra_body",
    "leave it out" },
  { MAIN "providers: {a: {model: m, api_key: x, api_key_file: y}}\n", 4, 39, "api_key_file",
    "not together" },
  { MAIN "providers: {a: {model: m, api_version: x}}\n", 4, 27, "api_version", "only for azure" },
  { MAIN "providers: {a: {model: m, dialect: ollama, supports_response_schema: no}}\n", 4, 44,
    "supports_response_schema", "OpenAI-compatible" },
  { MAIN "providers: {a: {model: m, dialect: mistral, supports_response_schema_with_tools: yes}}\n",
    4, 45, "supports_response_schema_with_tools", "not for mistral" },
  { DEFAULT "    agent: {enabled: true}\n"
            "providers: {a: {model: m, dialect: vllm, structured_output: native}}\n",
    7, 61, "structured_output", "beside agent.tools" },
  { DEFAULT "    agent: {providers: [b]}\n", 6, 25, "agent.providers", "no provider" },
  { MAIN "store: mysql://x\n", 4, 8, "store", "sqlite:FILE" },
  { MAIN "store: \"sqlite:\"\n", 4, 8, "store", "sqlite:FILE" },
  { MAIN "store: \"sqlite: \"\n", 4, 8, "store", "sqlite:FILE" },
  { MAIN "store: \"sqlite::memory:\"\n", 4, 8, "store", "a file's path" },
  { MAIN "store: \"sqlite:file:a.db?mode=memory\"\n", 4, 8, "store", "a file's path" },
  { MAIN "store: rediss://x\n", 4, 8, "store", "TLS" },
  { MAIN "store: redis://\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://user@h\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://user:@h\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://:a%zz@h\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://:a@b@h\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://h:0/1\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://h:6379/x\n", 4, 8, "store", "redis://host" },
  { MAIN "store: redis://h/1/2\n", 4, 8, "store", "redis://host" },
  /* ${VAR} */
  { MAIN "    access_token: ${NOT_SET}\n", 4, 19, "NOT_SET", "not set" },
  { MAIN "    access_token: \"${TOKEN\"\n", 4, 19, "access_token", "without its }" },
  { MAIN "    access_token: {TOKEN}\n", 4, 19, "access_token", "written ${NAME}" },
  { MAIN "    access_token: $TOKEN\n", 4, 19, "access_token", "written ${NAME}" },
  { MAIN "    access_token: \"${}\"\n", 4, 19, "access_token", "a name" },
  { MAIN "    access_token: ${1A}\n", 4, 19, "access_token", "a name" },
  { MAIN "    access_token: ${A B}\n", 4, 19, "access_token", "a name" },
  { MAIN "    access_token: ${A:-${TOKEN}}\n", 4, 19, "access_token", "a name" },
  { MAIN "    access_token: ${BAD}\n", 4, 19, "access_token", "UTF-8" },
  /* groups */
  { MAIN "groups:\n  0123: {}\n", 5, 3, "0123", "digits only" },
  { MAIN "groups:\n  -5: {}\n", 5, 3, "-5", "digits only" },
  { MAIN "groups:\n  +5: {}\n", 5, 3, "+5", "digits only" },
  { MAIN "groups:\n  0x5: {}\n", 5, 3, "0x5", "digits only" },
  { MAIN "groups:\n  1.0: {}\n", 5, 3, "1.0", "digits only" },
  { MAIN "groups:\n  all: {}\n", 5, 3, "all", "default" },
  { MAIN "groups:\n  0: {}\n", 5, 3, "0", "digits only" },
  { MAIN "groups:\n  ５: {}\n", 5, 3, "５", "digits only" },
  { MAIN "groups:\n  99999999999999999999: {}\n", 5, 3, "99999999999999999999", "digits" },
  { MAIN "groups:\n  5:\n", 5, 5, "groups.5", "{}" },
  { MAIN "groups:\n  - 5\n", 5, 3, "groups", "mapping" },
  { MAIN "    groups:\n      x: {}\n", 5, 7, "endpoints.main.groups", "digits only" },
  { MAIN "    groups:\n      5: {pace: {max: 0.1}}\n", 5, 23, "endpoints.main.groups.5", "min" },
};

Test(config, one_fault)
{
  for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
    struct arena arena;
    struct rg_config_faults faults;
    arena_init(&arena, ARENA_MAX);
    struct rg_config *c = read_in(one[i].in, strlen(one[i].in), &arena, &faults);
    cr_expect_null(c, "row %zu is accepted:\n%s", i, one[i].in);
    cr_expect_eq(faults.count, 1, "row %zu: %zu faults:\n%s", i, faults.count, one[i].in);
    if (faults.count > 0) {
      const struct rg_config_fault *f = &faults.items[0];
      cr_expect(f->line == one[i].line && f->column == one[i].column,
                "row %zu: at %zu:%zu, not %zu:%zu: %.*s\n%s", i, f->line, f->column, one[i].line,
                one[i].column, (int)f->what.len, f->what.ptr, one[i].in);
      cr_expect(holds(f->what, one[i].says) && holds(f->what, one[i].advises),
                "row %zu: \"%.*s\" says not %s and %s", i, (int)f->what.len, f->what.ptr,
                one[i].says, one[i].advises);
      cr_expect_not(holds(f->what, "s3cret"), "row %zu shows a secret", i);
    }
    rg_config_release(c);
    arena_done(&arena);
  }
}

static const char *const good[] = {
  "",
  "\n# nothing\n",
  "---\n",
  "---\n" MAIN "...\n",
  "%YAML 1.1\n---\n" MAIN,
  "\xef\xbb\xbf" MAIN,
  "endpoints:\r\n  main:\r\n    connect: host\r\n",
  "endpoints:\r  main:\r    connect: host\r",
  MAIN "admins: []\n",
  MAIN "admins: [10001, \"10002\", '10003']\n",
  MAIN "admins: [\"${A:-10001}\"]\n",
  MAIN "store: redis://127.0.0.1:6379/0\n",
  MAIN "store: redis://:pass@host\n",
  MAIN "store: redis://user:p%40ss@[::1]:6380/15\n",
  MAIN "store: sqlite:/var/lib/x.db\n",
  MAIN "language: ${LANG2}\n",
  MAIN "command_prefix: 闸\n",
  MAIN "# ${NOT_SET}\n",
  MAIN "    access_token: ${TOKEN}${EMPTY}${NO:-x}$\n",
  MAIN "    access_token: ${LINES}\n",
  MAIN "    access_token:\n",
  MAIN "    access_token: 007\n",
  MAIN "    access_token: true\n",
  MAIN "    path_map: {/a: /b, /c: 'C:\\d'}\n",
  MAIN "    profile_override: {music: no}\n",
  MAIN "    groups:\n      default: {}\n      5: {card: text}\n",
  "endpoints: {a: {connect: \"wss://[::1]:3001/x?y=z\"}, b: {connect: ws://a-b.c_d}}\n",
  MAIN "groups:\n  default: &d {}\n",
  MAIN "groups:\n  9223372036854775807: {}\n",
  DEFAULT "    failure_notice: off\n    ignore: []\n    reactions: []\n    segments: []\n",
  DEFAULT "    pace: {min: 0, max: 0, per_char: 0.001}\n",
  DEFAULT "    output: schema\n    output_schema: a.json\n",
  DEFAULT "    media: {hosts: [example.com, 10.0.0.1, \"::1\"], roots: []}\n",
  "endpoints:\n  a: {listen: \"127.0.0.1:80/x\"}\n  b: {listen: \"127.0.0.1:80/y\"}\n",
  "endpoints:\n  a: {listen: \"0.0.0.0:80/x\", access_token: t}\n",
  "endpoints:\n  a: {listen: \"localhost:80/\"}\n",
  MAIN "relay: {listen: \"\"}\n",
  MAIN "relay: {listen: \"[::1]:6700\", connect: [{url: ws://x}]}\n",
};

Test(config, accepted)
{
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct arena arena;
    struct rg_config_faults faults;
    arena_init(&arena, ARENA_MAX);
    struct rg_config *c = read_in(good[i], strlen(good[i]), &arena, &faults);
    cr_expect_not_null(c, "row %zu: %.*s\n%s", i, faults.count ? (int)faults.items[0].what.len : 0,
                       faults.count ? faults.items[0].what.ptr : "", good[i]);
    rg_config_release(c);
    arena_done(&arena);
  }
}

/* ---- several faults, and the bytes ---- */

Test(config, all_faults_in_the_order_of_the_file)
{
  static const size_t lines[] = { 1, 4, 6, 7, 8, 9, 11, 12 };
  struct arena arena;
  struct rg_config_faults faults;
  const char *text = "language: xx\nendpoints:\n  main:\n    connect: tcp://x\n"
                     "groups:\n  x: {}\n  5: {foo: 1}\n  6: {pace: 5}\n  7: {mention_all: 1}\n"
                     "admins: [1]\nadmins: [2]\nfoo: bar\n";
  arena_init(&arena, ARENA_MAX);
  cr_expect_null(read_in(text, strlen(text), &arena, &faults));
  cr_assert_eq(faults.count, sizeof lines / sizeof *lines);
  for (size_t i = 0; i < faults.count; i++) cr_expect_eq(faults.items[i].line, lines[i]);
  arena_done(&arena);
}

Test(config, a_flood_of_faults_has_an_end)
{
  struct arena arena;
  struct rg_config_faults faults;
  struct buf b;
  buf_init(&b, 1 << 20);
  for (size_t i = 0; i < 1000; i++) buf_printf(&b, "key%zu: 1\n", i);
  arena_init(&arena, ARENA_MAX);
  cr_expect_null(rg_config_read(buf_span(&b), SPAN(""), env_get, NULL, &arena, &faults));
  cr_expect_eq(faults.count, 100);
  arena_done(&arena);
  buf_done(&b);
}

static const struct {
  const char *in;
  size_t length; /* 0: to the NUL */
  size_t line, column;
  const char *says;
} bytes[] = {
  { "a: 1\nb: \xff\n", 0, 2, 4, "UTF-8" },
  { "a: \xc0\xaf\n", 0, 1, 4, "UTF-8" },
  { "a: \xed\xa0\x80\n", 0, 1, 4, "UTF-8" },
  { "中文: \xe4\xb8\n", 0, 1, 5, "UTF-8" },
  { "a: \x01\n", 0, 1, 4, "control" },
  { "a: \x7f\n", 0, 1, 4, "control" },
  { "a: \xc2\x9f\n", 0, 1, 4, "control" },
  { "a: \0\n", 5, 1, 4, "NUL" },
  { "a: \xc2\x85\n", 0, 1, 4, "line end" },
  { "a: \"x\xe2\x80\xa8y\"\n", 0, 1, 6, "line end" },
  { "a: \xe2\x80\xa9\n", 0, 1, 4, "line end" },
  { "a: \xef\xbb\xbf\n", 0, 1, 4, "U+FEFF" },
  { "a: \xef\xbf\xbf\n", 0, 1, 4, "no character" },
  { "\xef\xbb\xbf\x01", 0, 1, 1, "control" },
  { "\xff\xfe"
    "a\0",
    4, 1, 1, "UTF-16" },
  { "\xfe\xff\0a", 4, 1, 1, "UTF-16" },
  { "\r\n\r\n\r\x01", 0, 4, 1, "control" },
  { "\n\n\r\r\x01", 0, 5, 1, "control" },
};

Test(config, bytes)
{
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
    struct arena arena;
    struct rg_config_faults faults;
    size_t length = bytes[i].length ? bytes[i].length : strlen(bytes[i].in);
    arena_init(&arena, ARENA_MAX);
    cr_expect_null(read_in(bytes[i].in, length, &arena, &faults), "row %zu", i);
    cr_expect_eq(faults.count, 1, "row %zu: %zu", i, faults.count);
    cr_expect(faults.count > 0 && faults.items[0].line == bytes[i].line &&
                  faults.items[0].column == bytes[i].column &&
                  holds(faults.items[0].what, bytes[i].says),
              "row %zu: %zu:%zu %.*s", i, faults.items[0].line, faults.items[0].column,
              (int)faults.items[0].what.len, faults.items[0].what.ptr);
    arena_done(&arena);
  }
}

Test(config, too_large_and_too_long)
{
  struct arena arena;
  struct rg_config_faults faults;
  size_t length = RG_YAML_TEXT_MAX + 1;
  char *text = malloc(length);
  cr_assert_not_null(text);
  memset(text, '\n', length);
  arena_init(&arena, ARENA_MAX);
  cr_expect_null(read_in(text, length, &arena, &faults));
  cr_expect(faults.count == 1 && holds(faults.items[0].what, "8 MiB"));
  memset(text, 'x', length);
  memcpy(text, "language: ", 10);
  cr_expect_null(read_in(text, RG_YAML_SCALAR_MAX + 100, &arena, &faults));
  cr_expect(faults.count == 1 && holds(faults.items[0].what, "64 KiB"));
  arena_done(&arena);
  free(text);
}

/* ---- what holds ---- */

Test(config, values_reach_the_structs)
{
  struct rg_config *c = read_good(
      "language: en\nstore: sqlite:a/../b.db\nlog: {level: debug, file: x.log}\n"
      "command_prefix: /g\nadmins: [1, 2]\nnotify: [3]\n"
      "endpoints:\n  a:\n    connect: host\n    profile: llbot\n    files: shared\n"
      "    path_map: {/a: /b}\n    music_sign: no\n    ca: ca.pem\n"
      "  b:\n    listen: \"[::1]:80/x\"\n    access_token: ${TOKEN}\n"
      "relay: {listen: \"127.0.0.1:6700\", access_token: t, answer_window: 5, "
      "connect: [{url: ws://x, access_token: u, endpoint: b}]}\n"
      "private: {enabled: true, users: [9]}\n"
      "groups:\n  default:\n    segments: [image, dice]\n    reactions: [赞]\n"
      "    share_platforms: [qq]\n    output: text\n    output_schema: s.json\n"
      "    media: {max_bytes: 7, roots: [m, /n/], hosts: [a.b], schemes: [http], deliver: url}\n"
      "    failure_notice: \" 出错 \"\n    quote: all\n    answer_by: asked\n    long_text: "
      "refuse\n");
  cr_assert_not_null(c);
  cr_expect_eq(c->language, SCHEMA_EN);
  cr_expect(span_is(c->store, "sqlite:/etc/bot/b.db"));
  cr_expect(span_is(c->log_level, "debug") && span_is(c->log_file, "/etc/bot/x.log"));
  cr_expect(span_is(c->command_prefix, "/g"));
  cr_expect(c->admins.count == 2 && c->admins.items[1] == 2 && c->notify.count == 1);
  cr_assert_eq(c->endpoint_count, 2);
  const struct rg_endpoint *a = rg_config_endpoint(c, SPAN("a"));
  cr_expect(a->host_connects && a->connect.len == 0);
  cr_expect(a->profile && a->profile->id == OB_LLBOT);
  cr_expect_eq(a->files, RG_FILES_SHARED);
  cr_expect(a->path_map.count == 2 && span_is(a->path_map.items[1], "/b"));
  cr_expect_eq(a->music_sign, RG_NO);
  cr_expect(span_is(a->ca, "/etc/bot/ca.pem"));
  const struct rg_endpoint *b = rg_config_endpoint(c, SPAN("b"));
  cr_expect(span_is(b->listen.host, "::1") && b->listen.port == 80);
  cr_expect(span_is(b->listen.path, "/x") && span_is(b->access_token, "s3cret"));
  cr_expect_null(b->profile);
  cr_expect_null(rg_config_endpoint(c, SPAN("")), "two: none is the only one");
  cr_expect(c->relay.present && c->relay.listen_port == 6700 && c->relay.answer_window == 5);
  cr_expect(c->relay.framework_count == 1 && span_is(c->relay.frameworks[0].access_token, "u"));
  cr_expect(c->private_chat.enabled && c->private_chat.users.items[0] == 9);
  const struct rg_group *g = rg_config_group(c, a, 5);
  cr_expect_eq(g->segments, 1u << SCHEMA_IMAGE | 1u << SCHEMA_DICE);
  cr_expect(g->reactions && !g->reactions_handy && span_is(g->reaction_list.items[0], "赞"));
  cr_expect_eq(g->share_platforms, 1u << OB_QQ);
  cr_expect(g->output == RG_OUTPUT_TEXT && span_is(g->output_schema.path, "/etc/bot/s.json"));
  cr_expect_eq(g->media.max_bytes, 7);
  cr_expect(span_is(g->media.roots.items[0], "/etc/bot/m"));
  cr_expect(span_is(g->media.roots.items[1], "/n"));
  cr_expect(!g->media.public_hosts && span_is(g->media.hosts.items[0], "a.b"));
  cr_expect(g->media.schemes == 2 && g->media.deliver == RG_DELIVER_URL && g->media.inspect);
  cr_expect(!g->notice_off && span_is(g->notice, " 出错 "));
  cr_expect(g->quote == RG_QUOTE_ALL && g->answer_by == RG_ANSWER_ASKED);
  cr_expect_eq(g->long_text, RG_LONG_REFUSE);
  rg_config_release(c);
}

Test(config, defaults)
{
  struct rg_config *c = read_good(MAIN);
  cr_assert_not_null(c);
  const struct rg_group *g = rg_config_group(c, NULL, 0);
  cr_expect(g->enabled && g->group_admins && g->unwrap && g->privacy && !g->mention_all);
  cr_expect_eq(g->segments, (1u << SCHEMA_TYPE_COUNT) - 1);
  cr_expect(g->reactions && g->reactions_handy && g->reaction_list.count == 0);
  cr_expect_eq(g->share_platforms, (1u << OB_PLATFORM_COUNT) - 1);
  cr_expect_eq(g->pace.min, 0.4);
  cr_expect_eq(g->pace.max, 1.5);
  cr_expect_eq(g->pace.per_char, 0.03);
  cr_expect(g->rate.per_minute == 20 && g->long_text_chars == 1500);
  cr_expect(g->media.max_bytes == 26214400 && g->media.public_hosts && g->media.schemes == 3);
  cr_expect(span_is(g->media.roots.items[0], "/etc/bot/media"));
  cr_expect(!g->notice_off && g->notice.len == 0 && g->ignore.count == 0);
  cr_expect(span_is(c->store, "sqlite:/etc/bot/replygate.db"));
  cr_expect(span_is(c->command_prefix, "/gate") && span_is(c->log_level, "info"));
  cr_expect(c->language == SCHEMA_ZH && !c->relay.present && c->relay.answer_window == 30);
  cr_expect(span_is(rg_config_endpoint(c, SPAN(""))->name, "main"), "the only one");
  cr_expect_null(rg_config_endpoint(c, SPAN("x")));
  rg_config_release(c);
}

Test(config, layers)
{
  struct rg_config *c =
      read_good("groups:\n  5: {card: music, quote: first}\n  default: {card: ark}\n"
                "endpoints:\n"
                "  a:\n    connect: host\n    groups:\n      default: {quote: all}\n"
                "      5: {card: text}\n      6: {mode: observe}\n"
                "  b:\n    connect: ws://x\n"
                "  c:\n    connect: ws://y\n    groups: {7: {card: text}}\n");
  static const struct {
    const char *endpoint;
    uint64_t group;
    enum ob_card card;
    enum rg_quote quote;
    enum rg_origin card_from, quote_from;
  } rows[] = {
    { "b", 0, OB_CARD_ARK, RG_QUOTE_NEVER, RG_FROM_DEFAULT, RG_FROM_BUILTIN },
    { "b", 5, OB_CARD_MUSIC, RG_QUOTE_FIRST, RG_FROM_GROUP, RG_FROM_GROUP },
    { "b", 6, OB_CARD_ARK, RG_QUOTE_NEVER, RG_FROM_DEFAULT, RG_FROM_BUILTIN },
    { "a", 0, OB_CARD_ARK, RG_QUOTE_ALL, RG_FROM_DEFAULT, RG_FROM_ENDPOINT_DEFAULT },
    { "a", 5, OB_CARD_TEXT, RG_QUOTE_ALL, RG_FROM_ENDPOINT_GROUP, RG_FROM_ENDPOINT_DEFAULT },
    { "a", 6, OB_CARD_ARK, RG_QUOTE_ALL, RG_FROM_DEFAULT, RG_FROM_ENDPOINT_DEFAULT },
    { "a", 7, OB_CARD_ARK, RG_QUOTE_ALL, RG_FROM_DEFAULT, RG_FROM_ENDPOINT_DEFAULT },
    { "c", 5, OB_CARD_MUSIC, RG_QUOTE_FIRST, RG_FROM_GROUP, RG_FROM_GROUP },
    { "c", 7, OB_CARD_TEXT, RG_QUOTE_NEVER, RG_FROM_ENDPOINT_GROUP, RG_FROM_BUILTIN },
  };
  cr_assert_not_null(c);
  size_t card = rg_key_index(RG_SCOPE_GROUP, rg_key_find(RG_SCOPE_GROUP, SPAN("card")));
  size_t quote = rg_key_index(RG_SCOPE_GROUP, rg_key_find(RG_SCOPE_GROUP, SPAN("quote")));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct rg_endpoint *e = rg_config_endpoint(c, span_of(rows[i].endpoint));
    const struct rg_group *g = rg_config_group(c, e, rows[i].group);
    cr_expect_eq(g->card, rows[i].card, "row %zu", i);
    cr_expect_eq(g->quote, rows[i].quote, "row %zu", i);
    cr_expect_eq(rg_config_origin(c, e, rows[i].group, card), rows[i].card_from, "row %zu", i);
    cr_expect_eq(rg_config_origin(c, e, rows[i].group, quote), rows[i].quote_from, "row %zu", i);
  }
  struct rg_ids named = rg_config_named(c, rg_config_endpoint(c, SPAN("a")));
  cr_expect(named.count == 2 && named.items[0] == 5 && named.items[1] == 6);
  cr_expect_eq(rg_config_group(c, rg_config_endpoint(c, SPAN("c")), 5), rg_config_group(c, NULL, 5),
               "what is the same is held once");
  rg_config_release(c);
}

Test(config, ten_thousand_groups)
{
  struct buf b;
  buf_init(&b, RG_YAML_TEXT_MAX);
  buf_add(&b, SPAN(MAIN "groups:\n"));
  for (size_t i = 1; i <= 10000; i++)
    buf_printf(&b, "  %zu: {long_text_chars: %zu}\n", i * 7919, i + 10);
  buf_add_char(&b, 0);
  struct rg_config *c = read_good(b.ptr);
  cr_assert_not_null(c);
  cr_expect_eq(rg_config_named(c, NULL).count, 10000);
  for (size_t i = 1; i <= 10000; i++) {
    cr_assert_eq(rg_config_group(c, c->endpoints, i * 7919)->long_text_chars, i + 10);
    cr_assert_eq(rg_config_group(c, c->endpoints, i * 7919 + 1)->long_text_chars, 1500);
  }
  rg_config_release(c);
  buf_done(&b);
}

Test(config, snapshots_are_counted)
{
  struct rg_config *c = read_good(MAIN);
  cr_assert_not_null(c);
  cr_expect_eq(rg_config_keep(c), c);
  rg_config_release(c);
  cr_expect_eq(c->endpoint_count, 1, "the second holder still has it");
  rg_config_release(c);
  rg_config_release(NULL);
}

/* ---- the file ---- */

static struct rg_config *load(const char *path, struct rg_config_faults *faults,
                              struct arena *arena)
{
  arena_init(arena, ARENA_MAX);
  return rg_config_load(span_of(path), arena, faults);
}

Test(config, files)
{
  struct arena arena;
  struct rg_config_faults faults;
  char path[] = "/tmp/rg_config_XXXXXX";
  int fd = mkstemp(path);
  FILE *f = fdopen(fd, "w");
  cr_assert_not_null(f);
  fputs(MAIN, f);
  fclose(f);
  struct rg_config *c = load(path, &faults, &arena);
  cr_assert_not_null(c);
  cr_expect(span_is(c->path, path) && span_is(c->folder, "/tmp"));
  cr_expect(span_is(c->store, "sqlite:/tmp/replygate.db"));
  rg_config_release(c);
  arena_done(&arena);
  remove(path);
  cr_expect_null(load(path, &faults, &arena));
  cr_expect(faults.count == 1 && faults.items[0].line == 1 && holds(faults.items[0].what, path));
  arena_done(&arena);
  cr_expect_null(load("/tmp", &faults, &arena));
  cr_expect(faults.count == 1 && holds(faults.items[0].what, "folder"));
  arena_done(&arena);
  cr_expect_null(load("/dev/zero", &faults, &arena));
  cr_expect(faults.count == 1);
  arena_done(&arena);
}

static char *file_text(const char *name)
{
  char path[4096];
  static char text[1 << 20];
  snprintf(path, sizeof path, "%s/../%s", getenv("RG_TESTS"), name);
  FILE *f = fopen(path, "r");
  cr_assert_not_null(f, "%s", path);
  size_t n = fread(text, 1, sizeof text - 1, f);
  text[n] = 0;
  fclose(f);
  return text;
}

static struct buf printed(const struct rg_config *c)
{
  struct buf b;
  buf_init(&b, 1 << 20);
  cr_expect(rg_config_print(c, &b));
  return b;
}

Test(config, the_example_is_made_from_the_table)
{
  struct buf b;
  buf_init(&b, 1 << 20);
  cr_assert(rg_config_print_example(true, &b));
  cr_expect(span_is(buf_span(&b), file_text("config.example.yaml")),
            "make it anew: build/replygate config --example >config.example.yaml");
  for (size_t scope = 0; scope < RG_SCOPE_FRAMEWORK; scope++)
    for (size_t i = 0; i < rg_keys[scope].count; i++) {
      const char *dot = strrchr(rg_keys[scope].items[i].name, '.');
      char key[64];
      snprintf(key, sizeof key, " %s:", dot ? dot + 1 : rg_keys[scope].items[i].name);
      cr_expect(holds(buf_span(&b), key) || holds(buf_span(&b), key + 1), "%s", key);
    }
  buf_done(&b);
}

/* The settings of a text without the places that they are from. */
static struct buf settings_of(const char *text)
{
  struct rg_config *c = read_good(text);
  cr_assert_not_null(c);
  struct buf all = printed(c), b;
  buf_init(&b, 1 << 20);
  for (size_t i = 0; i < all.len; i++) {
    if (all.ptr[i] == '#')
      while (i < all.len && all.ptr[i] != '\n') i++;
    buf_add_char(&b, all.ptr[i]);
  }
  buf_done(&all);
  rg_config_release(c);
  return b;
}

Test(config, the_example_without_its_defaults_is_the_same)
{
  struct buf bare;
  buf_init(&bare, 1 << 20);
  cr_assert(rg_config_print_example(false, &bare));
  buf_add_char(&bare, 0);
  cr_expect(bare.len < 300, "%zu bytes:\n%s", bare.len, bare.ptr);
  struct buf whole = settings_of(file_text("config.example.yaml")), less = settings_of(bare.ptr);
  cr_expect(span_eq(buf_span(&whole), buf_span(&less)), "%s\n%s", whole.ptr, less.ptr);
  buf_done(&bare);
  buf_done(&whole);
  buf_done(&less);
}

Test(config, the_optional_lines_of_the_example_load)
{
  const char *text = file_text("config.example.yaml");
  struct buf b;
  buf_init(&b, 1 << 20);
  /* the two are alternatives */
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
    size_t n = (size_t)(strchr(line, '\n') + 1 - line);
    bool optional = line[0] == '#' && line[1] != '\n' && !(line[1] == ' ' && line[2] != ' ');
    if (optional && strncmp(line, "#    listen:", 12) == 0) continue;
    buf_add(&b, (struct span) { line + optional, n - optional });
  }
  buf_add_char(&b, 0);
  struct rg_config *c = read_good(b.ptr);
  cr_assert_not_null(c, "%s", b.ptr);
  cr_expect(c->relay.present && c->relay.listen_port == 6700);
  cr_expect_eq(rg_config_group(c, c->endpoints, 123456789)->card, OB_CARD_TEXT);
  rg_config_release(c);
  buf_done(&b);
}

Test(config, the_reference_names_every_key)
{
  for (int language = SCHEMA_ZH; language <= SCHEMA_EN; language++) {
    struct buf b;
    buf_init(&b, 1 << 20);
    cr_assert(rg_config_print_reference(language, &b));
    for (size_t scope = 0; scope < RG_SCOPE_COUNT; scope++)
      for (size_t i = 0; i < rg_keys[scope].count; i++) {
        char cell[80];
        snprintf(cell, sizeof cell, "| `%s` |", rg_keys[scope].items[i].name);
        cr_expect(holds(buf_span(&b), cell), "%s", cell);
      }
    buf_done(&b);
  }
}

Test(config, secrets_are_not_printed)
{
  struct rg_config *c = read_good(
      "store: redis://u:s3cret@h\n"
      "endpoints: {main: {connect: \"ws://x/y?access_token=s3cret\", access_token: s3cret}}\n"
      "relay: {listen: \"127.0.0.1:1\", access_token: s3cret}\n"
      "providers: {a: {model: m, api_key: s3cret, proxy: \"http://u:s3cret@h\"}}\n");
  cr_assert_not_null(c);
  struct buf b = printed(c);
  cr_expect_not(holds(buf_span(&b), "s3cret"), "%s", b.ptr);
  cr_expect(holds(buf_span(&b), "***") && holds(buf_span(&b), "ws://x/y\n"), "%s", b.ptr);
  buf_done(&b);
  rg_config_release(c);
}

/* ---- values in their other forms ---- */

static const struct {
  const char *key, *typed, *yaml, *json;
} forms[] = {
  { "mention_all", "true", "true", "true" },
  { "mention_all", " 开 ", "true", "true" },
  { "mention_all", "OFF", "false", "false" },
  { "mention_all", "ｔｒｕｅ", "true", "true" },
  { "pace.min", "0.5", "0.5", "0.5" },
  { "pace.min", "０．５", "0.5", "0.5" },
  { "pace.per_char", "0.030", "0.03", "0.03" },
  { "rate.per_minute", "30", "30", "30" },
  { "media.max_bytes", "1073741824", "1073741824", "1073741824" },
  { "segments", "text,image", "[text, image]", "[\"text\",\"image\"]" },
  { "segments", "image， Text", "[text, image]", "[\"text\",\"image\"]" },
  { "segments", "[text, image]", "[text, image]", "[\"text\",\"image\"]" },
  { "segments", "none", "[]", "[]" },
  { "segments", "无", "[]", "[]" },
  { "segments", "[ ]", "[]", "[]" },
  { "reactions", "赞,笑哭", "[赞, 笑哭]", "[\"赞\",\"笑哭\"]" },
  { "reactions", "76", "[76]", "[\"76\"]" },
  { "reactions", "关", "false", "false" },
  { "reactions", "On", "true", "true" },
  { "ignore", "1，2", "[1, 2]", "[1,2]" },
  { "media.hosts", "Public", "public", "\"public\"" },
  { "media.hosts", "a.b,C.d", "[a.b, c.d]", "[\"a.b\",\"c.d\"]" },
  { "media.roots", "M, /n", "[/etc/bot/M, /n]", "[\"/etc/bot/M\",\"/n\"]" },
  { "failure_notice", "Off", "off", "\"off\"" },
  { "failure_notice", "出错了，稍后再试！", "出错了，稍后再试！", "\"出错了，稍后再试！\"" },
  { "failure_notice", "a: \"b\"", "\"a: \\\"b\\\"\"", "\"a: \\\"b\\\"\"" },
  { "card", "ＡＲＫ", "ark", "\"ark\"" },
  { "output_schema", "", "\"\"", "\"\"" },
};

static struct span shown(const struct rg_key *key, const struct rg_group *g, enum rg_print form,
                         struct arena *arena)
{
  struct buf b;
  buf_init(&b, 1 << 16);
  rg_value_print(key, g, form, &b);
  struct span s = arena_copy(arena, buf_span(&b));
  buf_done(&b);
  return s;
}

static void ignore_fault(void *ctx, struct rg_text_place place, struct span what)
{
  (void)place;
  cr_expect_fail("%s: %.*s", (const char *)ctx, (int)what.len, what.ptr);
}

Test(config, typed_printed_and_stored)
{
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    struct arena arena;
    struct rg_group g = { .enabled = true }, again = { .enabled = true };
    struct schema_node *json;
    arena_init(&arena, 1 << 20);
    struct rg_reading r = { .arena = &arena,
                            .notes = &arena,
                            .folder = SPAN("/etc/bot"),
                            .fault = ignore_fault,
                            .ctx = (void *)(uintptr_t)forms[i].key };
    const struct rg_key *key = rg_key_find(RG_SCOPE_GROUP, span_of(forms[i].key));
    cr_assert_not_null(key, "%s", forms[i].key);
    const struct rg_yaml *v = rg_value_from_text(key, span_of(forms[i].typed), &arena);
    cr_expect(rg_value_read(&r, key, v, span_of(key->name), &g), "row %zu", i);
    struct span yaml = shown(key, &g, RG_PRINT_YAML, &arena);
    struct span stored = shown(key, &g, RG_PRINT_JSON, &arena);
    cr_expect(span_is(yaml, forms[i].yaml), "row %zu: %s", i, yaml.ptr);
    cr_expect(span_is(stored, forms[i].json), "row %zu: %s", i, stored.ptr);
    cr_assert_eq(schema_tree_read(stored, 4, &arena, &json, NULL), SCHEMA_OK, "row %zu", i);
    v = rg_value_from_json(json, &arena);
    cr_expect(rg_value_read(&r, key, v, span_of(key->name), &again), "row %zu", i);
    struct span twice = shown(key, &again, RG_PRINT_JSON, &arena);
    cr_expect(span_eq(stored, twice), "row %zu: %s", i, twice.ptr);
    arena_done(&arena);
  }
}

Test(config, every_default_is_a_value)
{
  for (size_t scope = 0; scope < RG_SCOPE_COUNT; scope++)
    for (size_t i = 0; i < rg_keys[scope].count; i++) {
      const struct rg_key *key = &rg_keys[scope].items[i];
      cr_expect(key->help_en && key->help_zh && *key->help_en && *key->help_zh, "%s", key->name);
      cr_expect(strlen(key->help_zh) < 140, "%s: the Chinese help is one line", key->name);
      for (int language = 0; language < 2; language++) {
        struct buf words;
        buf_init(&words, 1 << 12);
        rg_key_allowed(key, language ? SCHEMA_EN : SCHEMA_ZH, &words);
        cr_expect_gt(words.len, 3, "%s: what is allowed", key->name);
        buf_done(&words);
      }
      cr_expect(key->low <= key->high, "%s", key->name);
      cr_expect_eq(rg_key_find((enum rg_scope)scope, span_of(key->name)), key, "%s", key->name);
    }
}

Test(config, nearest)
{
  const struct span names[] = { SPAN("enabled"), SPAN("mode"), SPAN("card"), SPAN("pace") };
  static const struct {
    const char *typed, *meant;
  } rows[] = { { "enabeld", "enabled" },
               { "enabled ", "enabled" },
               { "moed", "mode" },
               { "cards", "card" },
               { "zzz", "" },
               { "", "" },
               { "c", "" } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct span s = rg_nearest(span_of(rows[i].typed), names, 4);
    cr_expect(span_is(s, rows[i].meant), "%s: %.*s", rows[i].typed, (int)s.len, s.ptr);
  }
}
