#include "schema/remote.h"
#include "tests/lib/protocol.h"

static size_t check_file(const char *name)
{
  struct vectors v;
  size_t rows = 0;
  cr_assert(vectors_open(&v, name));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL;) {
    if (!protocol_is(row, "kind", "remote_media")) continue;
    const char *fault = schema_remote_fault(vectors_string(row, "url"), false);
    bool want = schema_tree_truth(schema_tree_get(row, "accepted"), false);
    rows++;
    if (protocol_counts(row))
      cr_expect_eq(!fault, want, "%.*s: %s", ROW(row), fault ? fault : "accepted");
  }
  vectors_close(&v);
  return rows;
}

Test(remote, agrees_with_the_vectors)
{
  cr_expect_gt(check_file("remote_media"), 150);
  cr_expect_gt(check_file("rich_output"), 20);
}

static const struct {
  const char *url;
  bool public;
} rows[] = {
  /* spellings of hosts that are not public */
  { "https://①②⑦.⓪.⓪.①/", false },
  { "https://𝟏𝟐𝟕.0.0.1/", false },
  { "https://¹²⁷.0.0.1/", false },
  { "https://127。0．0｡1/", false },
  { "https://ｌｏｃａｌｈｏｓｔ/", false },
  { "https://a.ⓛⓞⓒⓐⓛ/", false },
  { "https://ﬁle.example.com/", false },
  { "https://loc\xc2\xad"
    "alhost.example/",
    false },
  { "https://%31%30.0.0.1/", false },
  { "https://%e3%80%82example.com/", false },
  { "https://2130706433/", false },
  { "https://127.1/", false },
  { "https://0177.0.0.1/", false },
  { "https://1.2.3.4.5/", false },
  { "https://1.2.3.08/", false },
  { "https://a.0x/", false },
  { "https://[::ffff:7f00:1]/", false },
  { "https://[1:2:3:4:5:6:7:8:9]/", false },
  { "https://[1::2::3]/", false },
  { "https://[::1]x/", false },
  { "https://[::01.2.3.4]/", false },
  { "https://x.lan/", false },
  { "https://x.svc/", false },
  { "https://printer./", false },
  { "https://a..b.com/", false },
  { "https://a.com../", false },
  { "https://xn--a.com/", false },
  { "https://xn--zz.com/", false },
  { "https://xn--\xc3\xa9.com/", false },
  { "https://user@e.com/", false },
  { "https://@e.com/", false },
  { "https://e.com:80:80/", false },
  { "https://e.com:0x50/", false },
  { "https://e.com\\@10.0.0.1/", false },
  { "https://e.com/\x01", false },
  { "https://e.com/a b", false },
  { "http://e.com/", false },
  { "https:e.com", false },
  { "https://", false },
  { "", false },
  /* and of public ones */
  { "https://e.com\\a", true },
  { "https:////e.com/a", true },
  { "https://E%2Ecom", true },
  { "https://e.com:/", true },
  { "https://e.com:00443/", true },
  { "https://e.com./", true },
  { "https://10.0.0.1.e.com/", true },
  { "https://münchen.de/", true },
  { "https://президент.рф/", true },
  { "https://例え.jp/a", true },
  { "https://xn--n3h.com/", true },
  { "https://ｅ．com/", true },
  { "https://0x08080808/", true },
  { "https://[2606:4700::1111]:443/", true },
  { "https://e.com/?u=http://10.0.0.1/#@10.0.0.1", true },
};

Test(remote, reads_hosts_as_a_browser)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *fault = schema_remote_fault(span_of(rows[i].url), false);
    cr_expect_eq(!fault, rows[i].public, "%s: %s", rows[i].url, fault ? fault : "accepted");
  }
}

Test(remote, lets_blanks_pass_behind_the_host_only)
{
  cr_expect_null(schema_remote_fault(SPAN("https://e.com/a b"), true));
  cr_expect_not_null(schema_remote_fault(SPAN("https://e .com/a"), true));
  cr_expect_not_null(schema_remote_fault(SPAN("https://e.com/a\tb"), true));
  cr_expect(schema_remote_is_web(SPAN("HTTP://x")));
  cr_expect(!schema_remote_is_web(SPAN("https:/x")));
}

/* Every prefix and every byte replaced: nothing crashes, nothing private gets through. */
Test(remote, bears_broken_addresses)
{
  static const char url[] = "https://[::ffff:127.0.0.1]:443/a%20b?c#d";
  char broken[sizeof url];
  for (size_t i = 0; i < sizeof url - 1; i++) {
    (void)schema_remote_fault((struct span) { url, i }, false);
    for (int c = 0; c < 256; c++) {
      memcpy(broken, url, sizeof url);
      broken[i] = (char)c;
      (void)schema_remote_fault((struct span) { broken, sizeof url - 1 }, true);
    }
  }
}
