/* command_config: `replygate config`: checks a configuration and prints what it comes to; prints the
 * example file and the reference of all keys. */
#include <stdio.h>

#include "plugin/command/command.h"
#include "plugin/config/config_print.h"

static const char usage[] =
    "usage: replygate config CONFIG        checks it, prints what holds in each group\n"
    "       replygate config --example     prints config.example.yaml\n"
    "       replygate config --reference [zh|en]   prints all keys as Markdown\n";

static int put(bool fine, struct buf *out)
{
  if (fine) fwrite(out->ptr, 1, out->len, stdout);
  buf_done(out);
  if (fine) return 0;
  fputs("replygate config: out of memory\n", stderr);
  return RG_EXIT_FAULT;
}

static int check(const char *path)
{
  struct arena arena;
  struct rg_config_faults faults;
  struct buf out;
  int rc = RG_EXIT_FAULT;
  arena_init(&arena, 1024 * 1024);
  buf_init(&out, 256 * 1024 * 1024);
  struct rg_config *c = rg_config_load(span_of(path), &arena, &faults);
  for (size_t i = 0; i < faults.count; i++) {
    const struct rg_config_fault *f = &faults.items[i];
    fprintf(stderr, "%s:%zu:%zu: %.*s\n", path, f->line, f->column, (int)f->what.len, f->what.ptr);
  }
  if (c) rc = put(rg_config_print(c, &out), &out);
  rg_config_release(c);
  arena_done(&arena);
  return rc;
}

int rg_command_config(int argc, char **argv)
{
  struct buf out;
  buf_init(&out, 1024 * 1024);
  if (argc == 2 && strcmp(argv[1], "--example") == 0)
    return put(rg_config_print_example(true, &out), &out);
  if ((argc == 2 || argc == 3) && strcmp(argv[1], "--reference") == 0) {
    if (argc == 2 || strcmp(argv[2], "en") == 0)
      return put(rg_config_print_reference(SCHEMA_EN, &out), &out);
    if (strcmp(argv[2], "zh") == 0) return put(rg_config_print_reference(SCHEMA_ZH, &out), &out);
    return rg_command_usage(usage, false);
  }
  if (argc != 2 || argv[1][0] == '-')
    return rg_command_usage(usage, rg_command_asks_help(argc, argv));
  return check(argv[1]);
}
