/* The reader against json-c, whose strict mode must take what we take and find the same values; a
 * tree that is printed and read again is the same; and all ways to scan a string agree. */
#include <json-c/json.h>
#include <stdlib.h>

#include "schema/print.h"
#include "schema/scan.h"

enum { ARENA_MAX = 256 << 20, OUT_MAX = 64 << 20, DEPTH = 64 };

static void must(bool ok)
{
  if (!ok) abort();
}

static void compare_scans(const char *p, const char *end)
{
  bool a = false, b = false;
  const char *wanted = scan_string_portable(p, end, &a);
  bool sound = wanted == end || !(*wanted & 0x80);
  must(scan_string(p, end, &b) == wanted && (a == b || !sound));
#ifdef SCHEMA_SSE2
  b = false;
  must(scan_string_sse2(p, end, &b) == wanted && (a == b || !sound));
  b = false;
  if (__builtin_cpu_supports("avx2"))
    must(scan_string_avx2(p, end, &b) == wanted && (a == b || !sound));
#endif
}

typedef const char *print_function(const char *p, const char *end, struct scan_print *to);

/* Whether a text is printed by one way as by the portable one. */
static void compare_printed(const char *p, const char *end, print_function *print)
{
  size_t len = (size_t)(end - p), spare = len % 64;
  struct scan_print a = { .spare = spare }, b = { .spare = spare };
  char *wanted = malloc(len + spare + 1), *got = malloc(len + spare + SCAN_PRINT_SLACK);
  must(wanted && got);
  a.out = wanted, b.out = got;
  must(scan_print_portable(p, end, &a) == print(p, end, &b));
  must(a.out - wanted == b.out - got && a.chars == b.chars && a.spare == b.spare);
  must(memcmp(wanted, got, (size_t)(a.out - wanted)) == 0);
  free(wanted);
  free(got);
}

static void compare_prints(const char *p, const char *end)
{
  compare_printed(p, end, scan_print);
#ifdef SCHEMA_SSE2
  compare_printed(p, end, scan_print_sse2);
#endif
}

/* json-c holds keys as C strings, so one with a NUL cannot be found there. */
static bool has_nul(struct span s)
{
  return s.len && memchr(s.ptr, 0, s.len);
}

static void compare(const struct schema_node *ours, struct json_object *theirs)
{
  static const enum json_type types[] = {
    [SCHEMA_NULL] = json_type_null,     [SCHEMA_BOOL] = json_type_boolean,
    [SCHEMA_STRING] = json_type_string, [SCHEMA_ARRAY] = json_type_array,
    [SCHEMA_OBJECT] = json_type_object,
  };
  enum json_type type = json_object_get_type(theirs);
  size_t i = 0;
  if (ours->kind == SCHEMA_NUMBER) {
    must(type == json_type_int || type == json_type_double);
    return;
  }
  must(type == types[ours->kind]);
  if (ours->kind == SCHEMA_BOOL) must(ours->truth == json_object_get_boolean(theirs));
  if (ours->kind == SCHEMA_STRING)
    must(ours->text.len == (size_t)json_object_get_string_len(theirs) &&
         memcmp(ours->text.ptr, json_object_get_string(theirs), ours->text.len) == 0);
  if (ours->kind == SCHEMA_ARRAY) {
    must(ours->count == json_object_array_length(theirs));
    for (const struct schema_node *n = ours->first; n; n = n->next)
      compare(n, json_object_array_get_idx(theirs, i++));
  }
  if (ours->kind == SCHEMA_OBJECT)
    for (const struct schema_node *n = ours->first; n; n = n->next) {
      struct json_object *value;
      char *key = strndup(n->key.len ? n->key.ptr : "", n->key.len);
      must(key);
      if (!has_nul(n->key)) {
        must(json_object_object_get_ex(theirs, key, &value));
        compare(n, value);
      }
      free(key);
    }
}

static void compare_with_json_c(const struct schema_node *root, const char *text, size_t size)
{
  struct json_tokener *tokener = json_tokener_new_ex(DEPTH + 1);
  must(tokener);
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  struct json_object *theirs = json_tokener_parse_ex(tokener, text, (int)size);
  enum json_tokener_error error = json_tokener_get_error(tokener);
  if (error == json_tokener_continue) { /* a word or number may go on behind the text */
    theirs = json_tokener_parse_ex(tokener, "", 1);
    error = json_tokener_get_error(tokener);
  }
  must(error == json_tokener_success);
  compare(root, theirs);
  json_object_put(theirs);
  json_tokener_free(tokener);
}

static bool same(const struct schema_node *a, const struct schema_node *b)
{
  if (!a || !b) return a == b;
  if (a->kind != b->kind || a->count != b->count || a->truth != b->truth ||
      !span_eq(a->key, b->key) || !span_eq(a->text, b->text))
    return false;
  const struct schema_node *other = b->first;
  for (const struct schema_node *n = a->first; n; n = n->next, other = other->next)
    if (!same(n, other)) return false;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct span text = { (const char *)data, size };
  struct schema_node *root, *again;
  struct schema_error e = { 0 };
  struct arena arena;
  if (size) compare_scans(text.ptr, text.ptr + size);
  if (size) compare_prints(text.ptr, text.ptr + size);
  arena_init(&arena, ARENA_MAX);
  enum schema_code code = schema_tree_read(text, DEPTH, &arena, &root, &e);
  if (code) {
    must(e.code == code && e.what && e.at <= size);
    must(code != SCHEMA_ETRUNCATED || e.at == size);
  } else {
    struct buf out;
    buf_init(&out, OUT_MAX);
    struct schema_writer w = { .out = &out };
    must(root->raw.ptr >= text.ptr && root->raw.len <= size);
    schema_write_tree(&w, root);
    must(!out.failed);
    must(schema_tree_read(buf_span(&out), DEPTH, &arena, &again, &e) == SCHEMA_OK);
    must(same(root, again));
    compare_with_json_c(root, text.ptr, size);
    buf_done(&out);
  }
  arena_done(&arena);
  return 0;
}
