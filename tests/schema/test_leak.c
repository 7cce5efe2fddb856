#include <criterion/criterion.h>

#include "schema/glance.h"
#include "schema/leak.h"
#include "schema/repair.h"

static const struct schema_private hide = { { "/home/bot", 9 }, { "/home/bot/zhin", 14 } };
static const struct schema_private windows = { { "C:\\Users\\me", 11 }, { NULL, 0 } };

#define HEX32 "0123456789abcdef0123456789abcdef"

/* What is masked, and what looks alike and is not (out NULL). */
static const struct {
  const struct schema_private *hide;
  const char *in, *out;
} rows[] = {
  /* keys by their shape */
  { NULL, "key sk-" HEX32 ".", "key sk-***." },
  { NULL, "sk-ant-api03-" HEX32, "sk-ant-***" },
  { NULL, "sk-proj-" HEX32 "_x", "sk-proj-***" },
  { NULL, "ghp_" HEX32 "abcd", "ghp_***" },
  { NULL, "github_pat_" HEX32, "github_pat_***" },
  { NULL, "AKIA0123456789ABCDEF", "AKIA***" },
  { NULL, "LTAI5t0123456789abcd", "LTAI***" },
  { NULL, "AIzaSy0123456789abcdefghijklmnopqrstuvw", "AIza***" },
  { NULL, "xoxb-123456789012-abcdefghij", "xoxb-***" },
  { NULL, "hf_" HEX32, "hf_***" },
  { NULL, "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", "hf_***" },
  { NULL, "hf_a_name_of_words_and_no_token_at_all", NULL },
  { NULL, "sk-this-is-Only-A-Long-Name-Of-Some-Words", NULL },
  { NULL, "两个 sk-" HEX32 " 和 sk-" HEX32, "两个 sk-*** 和 sk-***" },
  { NULL, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4", "***" },
  { NULL, "bot 123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "bot 123456789:***" },
  { NULL, "Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer ***" },
  { NULL, "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\n-----END RSA PRIVATE KEY-----\nok",
    "***\nok" },
  { NULL, "sk-learn", NULL },
  { NULL, "sk-your-api-key-goes-here-please", NULL },
  { NULL, "task-0123456789abcdef0123456789", NULL },
  { NULL, "commit " HEX32 "01234567", NULL },
  { NULL, "123e4567-e89b-12d3-a456-426614174000", NULL },
  { NULL, "AKIA 是前缀", NULL },
  { NULL, "eyJ.eyJ.x", NULL },
  { NULL, "Bearer token", NULL },
  { NULL, "-----BEGIN CERTIFICATE-----", NULL },
  { NULL, "supercalifragilisticexpialidocious", NULL },
  /* pairs */
  { NULL, "DB_PASSWORD=hunter2abc", "DB_PASSWORD=***" },
  { NULL, "export API_KEY='abc123def456'", "export API_KEY='***'" },
  { NULL, "https://a.b/?access_token=abc123def456&x=1", "https://a.b/?access_token=***&x=1" },
  { NULL, "{\"client_secret\": \"abc123def456\"}", "{\"client_secret\": \"***\"}" },
  { NULL, "token=abc", NULL },
  { NULL, "API_KEY=your_api_key_1", NULL },
  { NULL, "token=${TOKEN_1234}", NULL },
  { NULL, "密码：自己改", NULL },
  { NULL, "password: 123", NULL },
  { NULL, "x=abcdefgh12345678", NULL },
  /* addresses */
  { NULL, "https://me:pw@host/x", "https://***@host/x" },
  { NULL, "redis://:pw@host", "redis://***@host" },
  { NULL, "https://host/@me", NULL },
  { NULL, "https://me@host/", NULL },
  { NULL, "a://b c:d@e", NULL },
  /* paths */
  { &hide, "/home/bot/x", "~/x" },
  { &hide, "/home/bot", "~" },
  { &hide, "看 /home/bot/zhin/src/a.ts:3", "看 ./src/a.ts:3" },
  { &hide, "file:///home/bot/x", "~/x" },
  { &hide, "/home/bot/.ssh/id_rsa 和 x", "~/*** 和 x" },
  { &hide, "(/home/bot/a) (/home/bot/b)", "(~/a) (~/b)" },
  { &hide, "/home/bots", NULL },
  { &hide, "/mnt/home/bot/x", NULL },
  { &hide, "https://x.y/home/bot/x", NULL },
  { NULL, "/home/bot/x", NULL },
  { &windows, "C:\\Users\\me\\a.txt", "~\\a.txt" },
  { &windows, "C:/Users/me/a.txt", "~/a.txt" },
  { &windows, "file://C:/Users/me/a.txt", "~/a.txt" },
  /* nothing */
  { &hide, "", NULL },
  { &hide, "你好，世界", NULL },
};

Test(leak, masks_secrets_and_nothing_else)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_repairs repairs = { .count = 0 };
    struct span in = span_of(rows[i].in), out;
    arena_init(&arena, 1 << 16);
    enum schema_leak leak = schema_leak_mask(in, rows[i].hide, 7, &arena, &repairs, &out);
    const char *want = rows[i].out ? rows[i].out : rows[i].in;
    cr_expect(span_is(out, want), "%s: %.*s", rows[i].in, (int)out.len, out.ptr);
    cr_expect_eq(leak, rows[i].out ? SCHEMA_LEAK_MASKED : SCHEMA_LEAK_NONE, "%s", rows[i].in);
    cr_expect_eq(repairs.count > 0, rows[i].out != NULL, "%s", rows[i].in);
    cr_expect(!repairs.count || repairs.items[0].at == 7);
    bool seen = schema_glance(in) & SCHEMA_GLANCE_SECRET || rows[i].hide;
    cr_expect(!rows[i].out || seen, "the glance has missed %s", rows[i].in);
    arena_done(&arena);
  }
}

/* count characters of base64, after head. */
static void check_base64(const char *head, size_t count, const char *tail, const char *want)
{
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  struct arena arena;
  struct buf in;
  struct span out;
  struct schema_repairs repairs = { .count = 0 };
  arena_init(&arena, 1 << 20);
  buf_init(&in, 1 << 20);
  buf_add(&in, span_of(head));
  for (size_t i = 0; i < count; i++) buf_add_char(&in, alphabet[i * 7 % 64]);
  buf_add(&in, span_of(tail));
  schema_leak_mask(buf_span(&in), NULL, 0, &arena, &repairs, &out);
  if (want)
    cr_expect(span_is(out, want), "%s: %.*s", head, (int)out.len, out.ptr);
  else
    cr_expect(span_eq(out, buf_span(&in)), "%zu characters stay", count);
  buf_done(&in);
  arena_done(&arena);
}

Test(leak, cuts_base64_out_of_words)
{
  check_base64("图 ", 2000, " 完", "图 … 完");
  check_base64("![x](data:image/png;base64,", 2000, ")", "![x](…)");
  check_base64("hash ", 512, "", NULL);
}

Test(leak, finds_secrets_in_addresses)
{
  cr_expect(schema_leak_in_address(SPAN("https://a:b@c.d/e.png")));
  cr_expect(schema_leak_in_address(SPAN("https://c.d/?key=sk-" HEX32)));
  cr_expect(
      !schema_leak_in_address(SPAN("https://c.d/e.png?rkey=CAQSKAB6J-abcdef123456&token=abc")));
  cr_expect(!schema_leak_in_address(SPAN("https://c.d/" HEX32 ".png")));
  cr_expect(!schema_leak_in_address(SPAN("")));
}

Test(leak, says_when_memory_runs_out)
{
  struct arena arena;
  struct span out;
  struct schema_repairs repairs = { .count = 0 };
  arena_init(&arena, 8);
  cr_expect_eq(schema_leak_mask(SPAN("sk-" HEX32), NULL, 0, &arena, &repairs, &out),
               SCHEMA_LEAK_NOMEM);
  arena_done(&arena);
}
