#include <criterion/criterion.h>

#include "onebot/mediaref.h"

#define U SCHEMA_MEDIA_URL
#define P SCHEMA_MEDIA_PATH
#define B SCHEMA_MEDIA_BASE64
#define F SCHEMA_MEDIA_FILE

/* file NULL: refused. Profile NapCat where none is named. */
static const struct {
  const char *label;
  enum schema_media_kind kind;
  const char *value, *file;
} rows[] = {
  { "url", U, "https://e.com/a.png", "https://e.com/a.png" },
  { "scheme in capitals", U, "HTTP://e.com", "HTTP://e.com" },
  { "port and query", U, "http://e.com:8/a?b=c%20d#e", "http://e.com:8/a?b=c%20d#e" },
  { "space", U, "https://e.com/a b", "https://e.com/a%20b" },
  { "Chinese", U, "https://e.com/图", "https://e.com/%E5%9B%BE" },
  { "controls", U, "https://e.com/a\n\x7F", "https://e.com/a%0A%7F" },
  { "quote stays", U, "https://e.com/\"", "https://e.com/\"" },
  { "no host", U, "https:///a", NULL },
  { "no host, a port", U, "https://:80/a", NULL },
  { "no host at all", U, "https://", NULL },
  { "user", U, "https://u@e.com/", NULL },
  { "at sign in the path", U, "https://e.com/@a", "https://e.com/@a" },
  { "backslash host", U, "https://e.com\\@f.com/", NULL },
  { "space in the host", U, "https://e .com/", NULL },
  { "leading space", U, " https://e.com/", NULL },
  { "ftp", U, "ftp://e.com/", NULL },
  { "file", U, "file:///a", NULL },
  { "data", U, "data:image/png;base64,AAAA", NULL },
  { "empty", U, "", NULL },
  { "path", P, "/data/a.png", "file:///data/a.png" },
  { "path with odd characters", P, "/a b/#%?图~", "file:///a%20b/%23%25%3F%E5%9B%BE~" },
  { "path with percent", P, "/a%20b", "file:///a%2520b" },
  { "file url", P, "file:///a%20b", "file:///a%20b" },
  { "file url, raw", P, "file:///a b%2", "file:///a%20b%252" },
  { "file url in capitals", P, "FILE:///a", "file:///a" },
  { "file url with a host", P, "file://h/a", NULL },
  { "localhost is a host", P, "file://localhost/a", NULL },
  { "file url without a path", P, "file://", NULL },
  { "relative", P, "a.png", NULL },
  { "host of a share", P, "//host/share/a", NULL },
  { "host of a share in a file url", P, "file:////host/a", NULL },
  { "host of a share, encoded", P, "file:///%5Chost/a", NULL },
  { "climbing", P, "/a/../b", NULL },
  { "climbing at the end", P, "/a/..", NULL },
  { "climbing, encoded", P, "file:///a/%2E%2e/b", NULL },
  { "climbing, encoded slash", P, "file:///a%2F..%2Fb", NULL },
  { "climbing with backslashes", P, "/a\\..\\b", NULL },
  { "dots in a name", P, "/a/..b/c..", "file:///a/..b/c.." },
  { "encoded NUL", P, "file:///a%00b", NULL },
  { "tilde", P, "~/a", NULL },
  { "base64", B, "QUJD", "base64://QUJD" },
  { "padding is added", B, "QUI", "base64://QUI=" },
  { "two of padding are added", B, "QQ", "base64://QQ==" },
  { "prefix is not doubled", B, "base64://QUJD", "base64://QUJD" },
  { "data address", B, "data:image/png;base64,QUJD", "base64://QUJD" },
  { "data address without base64", B, "data:text/plain,QUJD", NULL },
  { "white space goes", B, " QU\nJD\r\n", "base64://QUJD" },
  { "4n+1", B, "QUJDR", NULL },
  { "too much padding", B, "QQ===", NULL },
  { "wrong padding", B, "QUI==", NULL },
  { "padding within", B, "QQ==QQ==", NULL },
  { "address alphabet", B, "ab-_", NULL },
  { "only padding", B, "==", NULL },
  { "nothing", B, "base64://", NULL },
  { "opaque", F, "ABC.image", "ABC.image" },
  { "opaque address", F, "https://e.com/a", NULL },
  { "opaque path", F, "/etc/passwd", NULL },
  { "opaque climbing", F, "../a", NULL },
  { "opaque drive", F, "C:\\a.png", NULL },
  { "opaque data", F, "data:image/png;base64,QUJD", NULL },
  { "opaque base64", F, "base64:QUJD", NULL },
  { "opaque nothing", F, "", NULL },
  { "opaque blank", F, " ", NULL },
};

static struct span printed(const struct ob_mediaref *ref, struct arena *arena)
{
  struct buf out;
  buf_init(&out, 1 << 16);
  ob_mediaref_print(ref, &out);
  struct span text = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return text;
}

Test(mediaref, becomes_one_file_value)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct ob_mediaref ref;
    arena_init(&arena, 1 << 16);
    bool fine = ob_mediaref_read(&ob_profiles[OB_NAPCAT], rows[i].kind, span_of(rows[i].value),
                                 false, &arena, &ref);
    cr_expect_eq(fine, rows[i].file != NULL, "%s", rows[i].label);
    if (fine && rows[i].file) {
      struct span got = printed(&ref, &arena);
      cr_expect(ob_mediaref_is(&ref, span_of(rows[i].file)), "%s: %s", rows[i].label, got.ptr);
    }
    arena_done(&arena);
  }
}

Test(mediaref, prints_json)
{
  struct arena arena;
  struct ob_mediaref ref;
  arena_init(&arena, 1 << 16);
  ob_mediaref_read(&ob_profiles[OB_NAPCAT], U, SPAN("https://e.com/\"\\"), false, &arena, &ref);
  cr_expect_str_eq(printed(&ref, &arena).ptr, "\"https://e.com/\\\"\\\\\"");
  ob_mediaref_read(&ob_profiles[OB_NAPCAT], P, SPAN("/a\"b"), false, &arena, &ref);
  cr_expect_str_eq(printed(&ref, &arena).ptr, "\"file:///a%22b\"");
  arena_done(&arena);
}

Test(mediaref, knows_what_profiles_take)
{
  struct arena arena;
  struct ob_mediaref ref;
  arena_init(&arena, 1 << 16);
  cr_expect_not(ob_mediaref_read(&ob_profiles[OB_LAGRANGE], F, SPAN("abc"), false, &arena, &ref));
  cr_expect_not(ob_mediaref_read(&ob_profiles[OB_GOCQ], B, SPAN("QUJD"), true, &arena, &ref));
  cr_expect(ob_mediaref_read(&ob_profiles[OB_GOCQ], B, SPAN("QUJD"), false, &arena, &ref));
  cr_expect(ob_mediaref_read(&ob_profiles[OB_LLBOT], B, SPAN("QUJD"), true, &arena, &ref));
  arena_done(&arena);
}

Test(mediaref, names_files)
{
  static const struct {
    enum schema_media_kind kind;
    const char *value, *name; /* "": none */
  } names[] = {
    { U, "https://e.com/d/r.pdf", "r.pdf" },
    { U, "https://e.com/r.pdf?x=/y#z", "r.pdf" },
    { U, "https://e.com/%E5%91%A8.txt", "周.txt" },
    { U, "https://e.com/a%2Fb", "" },
    { U, "https://e.com/a%5Cb", "" },
    { U, "https://e.com/%FF", "" },
    { U, "https://e.com/a%0Ab", "" },
    { U, "https://e.com/", "" },
    { U, "https://e.com", "" },
    { U, "https://e.com/a%b", "a%b" },
    { P, "/data/周报 1.xlsx", "周报 1.xlsx" },
    { P, "/data/a%20b", "a%20b" },
    { P, "file:///data/a%20b", "a b" },
    { P, "/data/", "" },
    { P, "/a\\b", "" },
    { B, "QUJD", "" },
    { F, "abc", "" },
    { U, "ftp://e.com/a", "" },
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct span name = ob_mediaref_name(names[i].kind, span_of(names[i].value), &arena);
    cr_expect(span_is(name, names[i].name), "%s: %.*s", names[i].value, (int)name.len, name.ptr);
    arena_done(&arena);
  }
}

Test(mediaref, resolves_relative_paths_before_the_plan)
{
  static const struct span roots[] = { { "/srv/media", 10 }, { "/home/bot/pics/", 15 } };
  static const struct {
    const char *value, *home, *path; /* "": refused */
  } cases[] = {
    { "a.png", "", "/srv/media/a.png" },
    { "./a/b", "", "/srv/media/a/b" },
    { "/abs", "", "/abs" },
    { "file:///abs", "", "file:///abs" },
    { "~/a", "/home/bot", "" },
    { "~/a", "", "" },
    { "~/a", "/home/bot/pics", "/home/bot/pics/a" },
    { "~root/a", "/home/bot/pics", "" },
    { "~/a", "/home/bot/picsel", "" },
    { "", "", "" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct span path =
        ob_mediaref_resolve(span_of(cases[i].value), roots, 2, span_of(cases[i].home), &arena);
    cr_expect(span_is(path, cases[i].path), "%s: %.*s", cases[i].value, (int)path.len, path.ptr);
    arena_done(&arena);
  }
  struct arena arena;
  arena_init(&arena, 1 << 16);
  cr_expect_eq(ob_mediaref_resolve(SPAN("a"), NULL, 0, SPAN(""), &arena).len, 0u);
  arena_done(&arena);
}
