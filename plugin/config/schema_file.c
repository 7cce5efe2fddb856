#include "plugin/config/schema_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Line and column of a byte, from 1. */
static struct span place_of(struct span text, size_t at, struct arena *arena)
{
  size_t line = 1, begin = 0;
  if (at > text.len) at = text.len;
  for (size_t i = 0; i < at; i++)
    if (text.ptr[i] == '\n') line++, begin = i + 1;
  struct span before = { text.ptr + begin, at - begin };
  return arena_printf(arena, "line %zu, column %zu", line, span_chars(before) + 1);
}

bool rg_schema_read(struct span text, struct arena *arena, struct arena *notes,
                    const struct schema_node **ret, struct span *retwhy)
{
  struct schema_node *tree = NULL;
  struct schema_error error = { .code = SCHEMA_OK };
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  if (text.len > RG_SCHEMA_MAX) {
    *retwhy = SPAN("larger than 256 KiB");
    return false;
  }
  enum schema_code code = schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, arena, &tree, &error);
  if (code == SCHEMA_OK) code = schema_portable_check(tree, notes, &misfit);
  if (code == SCHEMA_OK) {
    *ret = tree;
    return true;
  }
  if (code == SCHEMA_ENOTPORTABLE && misfit.path.ptr) {
    *retwhy = arena_printf(notes, "%.*s: %.*s", (int)misfit.path.len, misfit.path.ptr,
                           (int)misfit.why.len, misfit.why.ptr);
  } else if (code == SCHEMA_ENOTPORTABLE) {
    *retwhy = misfit.why;
  } else if (code == SCHEMA_ENOMEM) {
    *retwhy = SPAN("out of memory");
  } else {
    struct span place = place_of(text, error.at, notes);
    *retwhy = arena_printf(notes, "%.*s: %s", (int)place.len, place.ptr ? place.ptr : "",
                           error.what ? error.what : schema_code_text(code));
  }
  if (!retwhy->ptr) *retwhy = SPAN("out of memory");
  return false;
}

/* The whole of a regular file, at most RG_SCHEMA_MAX bytes. Returns what is wrong, or NULL. */
static const char *read_file(const char *path, char *bytes, size_t *retlen)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
  if (fd < 0) return strerror(errno);
  struct stat st;
  size_t got = 0;
  ssize_t n = 0;
  const char *why = fstat(fd, &st) != 0 ? strerror(errno) : NULL;
  if (!why && !S_ISREG(st.st_mode)) why = "no regular file";
  while (!why && got <= RG_SCHEMA_MAX && (n = read(fd, bytes + got, RG_SCHEMA_MAX + 1 - got)) > 0)
    got += (size_t)n;
  if (!why && n < 0) why = strerror(errno);
  if (!why && got > RG_SCHEMA_MAX) why = "larger than 256 KiB";
  close(fd);
  *retlen = got;
  return why;
}

bool rg_schema_load(struct arena *arena, struct arena *notes, struct rg_schema_file *ret,
                    struct span *retwhy)
{
  struct span path = arena_copy(notes, ret->path); /* with its end */
  char *bytes = malloc(RG_SCHEMA_MAX + 1);
  size_t len = 0;
  const char *why = path.ptr && bytes ? read_file(path.ptr, bytes, &len) : "out of memory";
  if (!why) ret->text = arena_copy(arena, (struct span) { bytes, len });
  free(bytes);
  if (!why && !ret->text.ptr) why = "out of memory";
  if (why) {
    *retwhy = arena_printf(notes, "%s", why);
    return false;
  }
  return rg_schema_read(ret->text, arena, notes, &ret->tree, retwhy);
}
