/* Any bytes as a configuration: refused with faults that have a place, or accepted; what was
 * accepted is printed as a configuration that comes to the same. */
#include <stdlib.h>

#include "plugin/config/config_print.h"

enum { ARENA_MAX = 64 << 20, PRINT_MAX = 64 << 20 };

static const char *env_get(void *ctx, const char *name)
{
  (void)ctx;
  return name[0] == 'A' ? "value" : name[0] == 'B' ? "" : NULL;
}

static struct rg_config *read_text(struct span text, struct arena *arena,
                                   struct rg_config_faults *faults)
{
  return rg_config_read(text, SPAN("/etc/bot"), env_get, NULL, arena, faults);
}

static void check_faults(const struct rg_config_faults *faults)
{
  if (faults->count == 0) abort();
  for (size_t i = 0; i < faults->count; i++) {
    const struct rg_config_fault *f = &faults->items[i];
    if (f->line == 0 || f->column == 0 || f->what.len == 0) abort();
    if (span_utf8_fault(f->what) != f->what.len) abort();
  }
}

/* Reads what was printed and prints it again into out, emptied before. */
static void print_again(struct span printed, struct buf *out)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, ARENA_MAX);
  struct rg_config *c = read_text(printed, &arena, &faults);
  buf_clear(out);
  if (!c || !rg_config_print(c, out)) abort();
  rg_config_release(c);
  arena_done(&arena);
}

/* The second and the third print are the same: the first has other words on where values are from. */
static void check_printed(const struct rg_config *c)
{
  struct buf first, second;
  buf_init(&first, PRINT_MAX);
  buf_init(&second, PRINT_MAX);
  if (!rg_config_print(c, &first)) abort();
  if (span_find(buf_span(&first), SPAN("${")) == first.len) { /* else it would be expanded again */
    print_again(buf_span(&first), &second);
    print_again(buf_span(&second), &first);
    if (!span_eq(buf_span(&first), buf_span(&second))) abort();
  }
  buf_done(&first);
  buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, ARENA_MAX);
  struct rg_config *c = read_text((struct span) { (const char *)data, size }, &arena, &faults);
  if (c)
    check_printed(c);
  else
    check_faults(&faults);
  rg_config_release(c);
  arena_done(&arena);
  return 0;
}
