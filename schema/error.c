#include "schema/error.h"

#include <string.h>

static const struct {
  const char *word, *text;
} codes[SCHEMA_CODE_COUNT] = {
#define X(name, word, text) [SCHEMA_##name] = { word, text },
  SCHEMA_ERRORS(X)
#undef X
};

const char *schema_code_word(enum schema_code code)
{
  return (unsigned)code < SCHEMA_CODE_COUNT ? codes[code].word : "internal";
}

const char *schema_code_text(enum schema_code code)
{
  return (unsigned)code < SCHEMA_CODE_COUNT ? codes[code].text : "a fault of the program itself";
}

/* The end of a path says most, so a long one loses its beginning, at a UTF-8 boundary. */
static void copy_path(char out[SCHEMA_PATH_MAX], const char *path)
{
  size_t len = strlen(path);
  if (len < SCHEMA_PATH_MAX) {
    memcpy(out, path, len + 1);
    return;
  }
  static const char dots[] = "...";
  const char *tail = path + len - (SCHEMA_PATH_MAX - sizeof dots);
  while (((unsigned char)*tail & 0xC0) == 0x80) tail++;
  memcpy(out, dots, sizeof dots - 1);
  memcpy(out + sizeof dots - 1, tail, strlen(tail) + 1);
}

enum schema_code schema_fail(struct schema_error *reterr, enum schema_code code, size_t at,
                             const char *path, const char *what)
{
  if (!reterr) return code;
  reterr->code = code;
  reterr->at = at;
  reterr->what = what;
  copy_path(reterr->path, path ? path : "");
  return code;
}
