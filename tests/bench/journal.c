/* What the journal costs a turn of one message: the three writes, one by one, over a file in the folder
 * that is named (default: here).
 *   ninja -C build tests/bench_journal && build/tests/bench_journal [FOLDER] [TURNS]
 * Prints the median, the 99th of a hundred and the longest in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plugin/store/store.h"

static double now_us(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *what, double *us, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += us[i];
  qsort(us, n, sizeof *us, by_size);
  printf("%-28s mean %7.1f  median %7.1f  99%% %7.1f  longest %9.1f us\n", what, sum / (double)n,
         us[n / 2], us[n * 99 / 100], us[n - 1]);
}

static void must(bool fine, const char *why)
{
  if (fine) return;
  fprintf(stderr, "%s\n", why);
  exit(1);
}

int main(int argc, char **argv)
{
  static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
  const char *folder = argc > 1 ? argv[1] : ".";
  size_t turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 5000;
  char address[512], why[512] = "";
  snprintf(address, sizeof address, "sqlite:%s/journal-bench-%d.db", folder, (int)getpid());
  struct rg_store *s = rg_store_new(span_of(address), why, sizeof why);
  must(s && turns > 0, why);
  uint64_t last;
  must(s->methods->journal_claim(s, &last, why, sizeof why), why);
  double *us[3];
  for (int i = 0; i < 3; i++) must((us[i] = calloc(turns, sizeof **us)) != NULL, "out of memory");
  struct rg_stored_step step = {
    .kind = 1,
    .action = SPAN("send_group_msg"),
    .params =
        SPAN("{\"group_id\":123456789,\"message\":[{\"type\":\"text\",\"data\":{\"text\":"
             "\"an answer of the usual length, a sentence or two, as people write them\"}}]}"),
    .state = RG_STORED_FRAMED,
  };
  struct rg_stored_turn turn = {
    .endpoint = SPAN("main"),
    .group_id = SPAN("123456789"),
    .kept = true,
    .text =
        SPAN("{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"an answer of "
             "the usual length, a sentence or two, as people write them\"}}]}]}"),
  };
  const struct span text = turn.text;
  for (size_t i = 0; i < turns; i++) {
    turn.ticket = last + 1 + i;
    turn.text = text;
    turn.step_count = 0;
    double at = now_us();
    must(s->methods->turn_put(s, &turn, why, sizeof why), why);
    us[0][i] = now_us() - at;
    turn.text = SPAN("");
    turn.steps = &step;
    turn.step_count = 1;
    at = now_us();
    must(s->methods->turn_put(s, &turn, why, sizeof why), why);
    us[1][i] = now_us() - at;
    at = now_us();
    must(s->methods->turn_end(s, &turn, "delivered", why, sizeof why), why);
    us[2][i] = now_us() - at;
  }
  print("accepted (caller's thread)", us[0], turns);
  print("about to be written", us[1], turns);
  print("ended", us[2], turns);
  for (int i = 0; i < 3; i++) free(us[i]);
  rg_store_close(s);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s%s", address + sizeof "sqlite:" - 1, ends[i]);
    unlink(path);
  }
  return 0;
}
