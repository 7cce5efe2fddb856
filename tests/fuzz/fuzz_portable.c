/* Two lines, a schema and a document: the check names a place where it refuses, and what it passes
 * can be compared with any document. */
#include <stdlib.h>

#include "schema/fit.h"

enum { ARENA_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct span text = { (const char *)data, size }, document = { NULL, 0 };
  const char *newline = size ? memchr(data, '\n', size) : NULL;
  struct schema_node *schema, *value;
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  struct arena arena;
  if (newline) {
    document = (struct span) { newline + 1, (size_t)(text.ptr + size - newline - 1) };
    text.len = (size_t)(newline - text.ptr);
  }
  arena_init(&arena, ARENA_MAX);
  if (schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, &arena, &schema, NULL) == SCHEMA_OK) {
    enum schema_code code = schema_portable_check(schema, &arena, &misfit);
    if (code == SCHEMA_ENOTPORTABLE && misfit.why.len == 0) abort();
    if (code == SCHEMA_OK &&
        schema_tree_read(document, SCHEMA_DEPTH_SCHEMA, &arena, &value, NULL) == SCHEMA_OK) {
      code = schema_fit(schema, value, &arena, &misfit);
      if (code == SCHEMA_EMISFIT && (misfit.path.len == 0 || misfit.why.len == 0)) abort();
      if (code != SCHEMA_OK && code != SCHEMA_EMISFIT) abort();
    }
  }
  arena_done(&arena);
  return 0;
}
