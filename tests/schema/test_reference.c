#include "schema/reference.h"
#include "tests/lib/protocol.h"

Test(reference, agrees_with_the_vectors)
{
  struct vectors v;
  size_t rows = 0;
  unsigned options = SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_BARE;
  cr_assert(vectors_open(&v, "rich_output"));
  for (struct schema_node *row; (row = vectors_next(&v)) != NULL; rows++) {
    if (!protocol_counts(row)) continue;
    if (protocol_is(row, "kind", "local_media")) {
      bool want = schema_tree_truth(schema_tree_get(row, "accepted"), false);
      const char *fault = schema_reference_fault(vectors_string(row, "path"), options);
      cr_expect_eq(!fault, want, "%.*s: %s", ROW(row), fault ? fault : "accepted");
    }
    if (protocol_is(row, "kind", "media_same")) {
      struct span a = schema_reference_key(vectors_string(row, "a"), &v.arena);
      struct span b = schema_reference_key(vectors_string(row, "b"), &v.arena);
      bool want = schema_tree_truth(schema_tree_get(row, "same"), false);
      cr_expect_eq(span_eq(a, b), want, "%.*s: %.*s %.*s", ROW(row), TEXT(a), TEXT(b));
    }
  }
  cr_expect_gt(rows, 300);
  vectors_close(&v);
}

/* Beyond the vectors: what is refused for safety although the package lets it pass. */
static const struct {
  const char *reference;
  bool sound;
} rows[] = {
  { "//example.com/a.png", false },
  { "\\\\server\\a.png", false },
  { "file:///tmp/%2e%2e/a.png", false },
  { "file:///tmp/a%2fb.png", false },
  { "file://server/a.png", false },
  { "file://localhost/a.png", true },
  { "file:///tmp/a%20b.png", true },
  { "file:////tmp/a.png", false },
  { "file:///tmp/%ff.png", false },
  { "file:///tmp/%0", false },
  { "C:\\a.png", true },
  { "c:/a.png", true },
  { "C:a.png", false },
  { "~/a.png", true },
  { "~\\a.png", true },
  { "~a.png", false },
  { ".../a.png", true },
  { "a.b:c/d.png", false },
  { "a b:c/d.png", true },
  { "name.toolongextension", false },
  { ".png", true },
  { "name.", false },
};

Test(reference, refuses_what_names_another_place)
{
  unsigned options = SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_BARE;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *fault = schema_reference_fault(span_of(rows[i].reference), options);
    cr_expect_eq(!fault, rows[i].sound, "%s: %s", rows[i].reference, fault ? fault : "accepted");
  }
}

Test(reference, is_bounded)
{
  enum { LONG = SCHEMA_REFERENCE_MAX };
  static char path[LONG + 2];
  memset(path, 'a', sizeof path);
  path[0] = '/';
  cr_expect_null(schema_reference_fault((struct span) { path, LONG }, 0));
  cr_expect_not_null(schema_reference_fault((struct span) { path, LONG + 1 }, 0));
}

static const struct {
  const char *reference, *path, *key;
} paths[] = {
  { "/tmp/a.png", "/tmp/a.png", "/tmp/a.png" },
  { " /tmp//./a/. ", NULL, "/tmp/a" },
  { "/.", "/.", "/" },
  { "/a/../b//c", "/a/../b//c", "/a/../b//c" },
  { "./a//b", "./a//b", "./a//b" },
  { "https://e.com//a", "https://e.com//a", "https://e.com//a" },
  { "file:///tmp/%E4%B8%AD%20a.png?x#y", "/tmp/中 a.png", "/tmp/中 a.png" },
  { "FILE:/tmp/./a.png", "/tmp/a.png", "/tmp/a.png" },
  { "file:///tmp/a%2Fb", "file:///tmp/a%2Fb", "file:///tmp/a%2Fb" },
};

Test(reference, has_a_path_and_a_key)
{
  struct arena arena;
  arena_init(&arena, 1 << 16);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    struct span reference = span_of(paths[i].reference);
    struct span path = schema_reference_path(reference, &arena);
    struct span key = schema_reference_key(reference, &arena);
    if (paths[i].path) cr_expect(span_is(path, paths[i].path), "row %zu: %.*s", i, TEXT(path));
    cr_expect(span_is(key, paths[i].key), "row %zu: %.*s", i, TEXT(key));
  }
  arena_done(&arena);
}

Test(reference, is_a_type_by_its_extension)
{
  cr_expect_eq(schema_reference_type(SPAN("/a.JPeG")), SCHEMA_IMAGE);
  cr_expect_eq(schema_reference_type(SPAN("https://e.com/a.ogg?b.png#c.png")), SCHEMA_AUDIO);
  cr_expect_eq(schema_reference_type(SPAN("a?b.mp4")), SCHEMA_VIDEO);
  cr_expect_eq(schema_reference_type(SPAN("/a.png/b")), SCHEMA_FILE);
  cr_expect_eq(schema_reference_type(SPAN("/a.pdf")), SCHEMA_FILE);
  cr_expect_eq(schema_reference_type(SPAN("")), SCHEMA_FILE);
}
