#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/media/media_ref.h"

enum { HTTPS = 1, HTTP = 2 };

static const struct {
  const char *url;
  uint32_t schemes;
  bool directive;
  const char *fault;
} urls[] = {
  { "https://example.com/a.png", HTTPS | HTTP, false, NULL },
  { "http://example.com/a.png", HTTPS | HTTP, false, NULL },
  { "HTTPS://EXAMPLE.COM", HTTPS, false, NULL },
  { "http://example.com/a.png", HTTPS, false, "scheme" },
  { "http://example.com/a.png", HTTPS | HTTP, true, "scheme" },
  { "https://example.com/a.png", HTTP, false, "scheme" },
  { "ftp://example.com/a", HTTPS | HTTP, false, "scheme" },
  { "file:///etc/passwd", HTTPS | HTTP, false, "scheme" },
  { "", HTTPS | HTTP, false, "scheme" },
  { "https://", HTTPS, false, "scheme" },
  { "https:///x", HTTPS, false, "host" },
  { "https://user:pw@example.com/", HTTPS, false, "host" },
  { "https://example.com\\@127.0.0.1/", HTTPS, false, "host" },
  { "https://example.com%00.evil/", HTTPS, false, "host" },
  { "https://example.com /", HTTPS, false, "host" },
  { "https://localhost/x", HTTPS, false, "host" },
  { "https://a.localhost./x", HTTPS, false, "host" },
  { "https://notlocalhost.example.org/x", HTTPS, false, NULL },
  { "https://router.lan/x", HTTPS, false, "host" },
  { "https://127.0.0.1/x", HTTPS, false, "host" },
  { "https://2130706433/x", HTTPS, false, "host" },
  { "https://0x7f.1/x", HTTPS, false, "host" },
  { "https://0177.0.0.1/x", HTTPS, false, "host" },
  { "https://10.1.2.3:8443/x", HTTPS, false, "host" },
  { "https://169.254.169.254/latest", HTTPS, false, "host" },
  { "https://[::1]/x", HTTPS, false, "host" },
  { "https://[::ffff:127.0.0.1]:1/x", HTTPS, false, "host" },
  { "https://[fe80::1]/x", HTTPS, false, "host" },
  { "https://[::1", HTTPS, false, "host" },
  { "https://1.1.1.1/x", HTTPS, false, NULL },
};

Test(media_ref, tells_an_address_that_may_be_fetched)
{
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    struct rg_group g = { .media = { .public_hosts = true, .schemes = urls[i].schemes } };
    const char *fault = rg_media_url_fault(&g, urls[i].directive, span_of(urls[i].url));
    cr_expect_str_eq(fault ? fault : "", urls[i].fault ? urls[i].fault : "", "%s", urls[i].url);
  }
}

Test(media_ref, listed_hosts_are_the_only_ones)
{
  struct span items[] = { SPAN("example.com"), SPAN("127.0.0.1") };
  struct rg_group g = { .media = { .schemes = HTTPS, .hosts = { items, 2 } } };
  cr_expect_null(rg_media_url_fault(&g, false, SPAN("https://example.com/a")));
  cr_expect_null(rg_media_url_fault(&g, false, SPAN("https://cdn.Example.com:8443/a")));
  cr_expect_null(rg_media_url_fault(&g, false, SPAN("https://127.0.0.1/a")));
  cr_expect_str_eq(rg_media_url_fault(&g, false, SPAN("https://badexample.com/a")), "host");
  cr_expect_str_eq(rg_media_url_fault(&g, false, SPAN("https://example.org/a")), "host");
}

static const struct {
  const char *path, *whole; /* NULL: refused */
} paths[] = {
  { "cat.png", "/srv/media/cat.png" },
  { "sub/cat.png", "/srv/media/sub/cat.png" },
  { "/srv/media/cat.png", "/srv/media/cat.png" },
  { "/home/bot/cat.png", "/home/bot/cat.png" },
  { "~/cat.png", "/home/bot/cat.png" },
  { "file:///srv/media/a%20b%231%25.png", "/srv/media/a b#1%.png" },
  { "/etc/passwd", NULL },
  { "/srv/mediacat.png", NULL },
  { "../cat.png", NULL },
  { "sub/../../x", NULL },
  { "/srv/media/../../etc/passwd", NULL },
  { "file:///srv/media/%2e%2e/x", NULL },
  { "file:///srv/media/a%00b", NULL },
  { "file:///srv/media/a%2", "/srv/media/a%2" },
  { "file://host/srv/media/x", NULL },
  { "", NULL },
  { "..", NULL },
};

Test(media_ref, paths_lie_under_the_roots)
{
  struct span items[] = { SPAN("/srv/media"), SPAN("/home/bot/") };
  struct rg_list roots = { items, 2 };
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    struct span whole = { 0 };
    const char *fault =
        rg_media_path_fault(&roots, SPAN("/home/bot"), span_of(paths[i].path), &arena, &whole);
    if (paths[i].whole)
      cr_expect_str_eq(fault ? fault : whole.ptr, paths[i].whole, "%s", paths[i].path);
    else
      cr_expect_str_eq(fault ? fault : "taken", "path", "%s", paths[i].path);
  }
  struct span only_media[] = { SPAN("/srv/media") }, whole;
  struct rg_list one = { only_media, 1 }, none = { 0 };
  cr_expect(rg_media_path_fault(&one, SPAN("/home/bot"), SPAN("~/cat.png"), &arena, &whole));
  cr_expect(rg_media_path_fault(&none, SPAN(""), SPAN("cat.png"), &arena, &whole));
  arena_done(&arena);
}

static void put_file(const char *path)
{
  int fd = open(path, O_CREAT | O_WRONLY, 0600);
  cr_assert_geq(fd, 0);
  cr_assert_eq(write(fd, "x", 1), 1);
  close(fd);
}

Test(media_ref, links_do_not_lead_out_of_a_root)
{
  char top[] = "/tmp/media_ref.XXXXXX", name[8][128];
  static const char *const names[] = { "root",        "outside",     "root/in",   "root/to_in",
                                       "root/to_out", "root/folder", "root/fifo", "root/dir" };
  cr_assert(mkdtemp(top));
  for (size_t i = 0; i < 8; i++) snprintf(name[i], sizeof name[i], "%s/%s", top, names[i]);
  cr_assert_eq(mkdir(name[0], 0700), 0);
  put_file(name[1]);
  put_file(name[2]);
  cr_assert_eq(symlink(name[2], name[3]), 0);
  cr_assert_eq(symlink(name[1], name[4]), 0);
  cr_assert_eq(symlink(top, name[5]), 0);
  cr_assert_eq(mkfifo(name[6], 0600), 0);
  cr_assert_eq(mkdir(name[7], 0700), 0);
  char through[160];
  snprintf(through, sizeof through, "%s/outside", name[5]);
  const struct {
    const char *path;
    bool opens;
  } rows[] = { { name[2], true },  { name[3], true },  { name[4], false }, { through, false },
               { name[6], false }, { name[7], false }, { name[1], false }, { "/nowhere", false } };
  struct span item = span_of(name[0]);
  struct rg_list roots = { &item, 1 };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int fd = rg_media_path_open(&roots, rows[i].path);
    cr_expect_eq(fd >= 0, rows[i].opens, "%s", rows[i].path);
    if (fd >= 0) close(fd);
  }
  for (size_t i = 8; i-- > 0;)
    if (unlink(name[i]) != 0) rmdir(name[i]);
  rmdir(top);
}

Test(media_ref, the_peer_has_other_names)
{
  struct span items[] = { SPAN("/srv/media/"), SPAN("/app/media"), SPAN("/srv"), SPAN("/host/") };
  struct rg_list map = { items, 4 };
  struct arena arena;
  arena_init(&arena, 1 << 16);
  cr_expect(span_is(rg_media_path_map(&map, SPAN("/srv/media/a.png"), &arena), "/app/media/a.png"));
  cr_expect(span_is(rg_media_path_map(&map, SPAN("/srv/b.png"), &arena), "/host/b.png"));
  cr_expect(span_is(rg_media_path_map(&map, SPAN("/other/b.png"), &arena), "/other/b.png"));
  arena_done(&arena);
}

static const struct {
  const char *text;
  long size; /* -1: none */
  const char *bytes;
} base64[] = {
  { "", 0, "" },
  { "TQ==", 1, "M" },
  { "TWE=", 2, "Ma" },
  { "TWFu", 3, "Man" },
  { "TWFuTQ", 4, "ManM" }, /* padding left out */
  { "base64://TWFu", 3, "Man" },
  { "data:image/png;base64,TWFu", 3, "Man" },
  { "TW\r\nFu", 3, "Man" },
  { "T", -1, "" },
  { "TQ=", -1, "" },
  { "TQ===", -1, "" },
  { "TQ==TQ==", -1, "" },
  { "TW-_", -1, "" },
  { "TWFu!", -1, "" },
};

Test(media_ref, base64_is_measured_and_its_head_decoded)
{
  struct arena arena;
  arena_init(&arena, 1 << 16);
  for (size_t i = 0; i < sizeof base64 / sizeof *base64; i++) {
    char head[8];
    size_t n = 0, size = 0;
    bool ok = rg_media_base64(span_of(base64[i].text), head, sizeof head, &n, &size);
    cr_expect_eq(ok ? (long)size : -1, base64[i].size, "%s", base64[i].text);
    if (!ok) continue;
    cr_expect(span_is((struct span) { head, n }, base64[i].bytes), "%s", base64[i].text);
    struct span printed = rg_media_base64_print((struct span) { head, n }, &arena);
    cr_expect(rg_media_base64(printed, head, sizeof head, &n, &size) &&
              (long)size == base64[i].size);
  }
  char head[4];
  size_t n, size;
  cr_expect(rg_media_base64(SPAN("TWFuTWFu"), head, sizeof head, &n, &size));
  cr_expect(n == 4 && size == 6);
  arena_done(&arena);
}
