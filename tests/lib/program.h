/* program: runs the command `replygate` of this build ($RG_BUILD) in tests. */
#ifndef TESTS_LIB_PROGRAM_H
#define TESTS_LIB_PROGRAM_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/bytes.h"

/* What a run left. */
struct program_end {
  int code;
  char *out, *err; /* NUL-terminated */
};

__attribute__((unused)) static char *program_slurp(const char *path)
{
  FILE *f = fopen(path, "r");
  cr_assert(f);
  struct buf b;
  buf_init(&b, 256u << 20);
  char piece[65536];
  for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
    buf_add(&b, (struct span) { piece, n });
  buf_add_char(&b, '\0');
  fclose(f);
  return b.ptr;
}

/* arguments: as a shell reads them. in: standard input. */
__attribute__((unused)) static struct program_end program_run(const char *arguments, struct span in)
{
  char folder[] = "/tmp/rg-program-XXXXXX", path[3][64];
  cr_assert(mkdtemp(folder));
  for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
  FILE *f = fopen(path[0], "w");
  cr_assert(f);
  fwrite(in.ptr, 1, in.len, f);
  fclose(f);
  char *command = NULL;
  const char *build = getenv("RG_BUILD");
  cr_assert_gt(asprintf(&command, "%s/replygate %s <%s >%s 2>%s", build ? build : ".", arguments,
                        path[0], path[1], path[2]),
               0);
  int status = system(command);
  struct program_end end = { WIFEXITED(status) ? WEXITSTATUS(status) : -1, program_slurp(path[1]),
                             program_slurp(path[2]) };
  free(command);
  for (int i = 0; i < 3; i++) unlink(path[i]);
  rmdir(folder);
  return end;
}

__attribute__((unused)) static void program_done(struct program_end *end)
{
  free(end->out);
  free(end->err);
}

#endif
