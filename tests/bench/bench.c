/* bench: times contenders on one set of replies, interleaved, by the CPU time of the thread.
 *   bench [-r ROUNDS] [-m MILLISECONDS] [-R REFERENCE] SET.frames CONTENDER.so…
 * A set is a row of frames: a length of 32 bits, little-endian, and so many bytes. Prints a line a
 * contender; ratio is the median over the rounds of its time by that of the reference. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "contender.h"

enum { CONTENDERS_MAX = 32, ROUNDS_MAX = 1000, SLACK = 64 };

struct frame {
  unsigned char *ptr;
  size_t len;
};

static struct frame *frames;
static size_t frame_count, byte_count;
static volatile long sink;

static void die(const char *what)
{
  fprintf(stderr, "bench: %s\n", what);
  exit(2);
}

/* All frames lie in one piece, each at a multiple of SLACK with at least SLACK zero bytes behind. */
static void load(const char *path)
{
  FILE *file = fopen(path, "rb");
  uint32_t len;
  size_t total = 0, at = 0, count = 0;
  if (!file) die(path);
  for (; fread(&len, 4, 1, file) == 1; count++) {
    total += (len + 2 * SLACK - 1) / SLACK * SLACK;
    if (fseek(file, (long)len, SEEK_CUR)) die(path);
  }
  unsigned char *bytes = aligned_alloc(4096, (total + SLACK + 4095) / 4096 * 4096);
  frames = calloc(count + 1, sizeof *frames);
  if (!bytes || !frames) die("out of memory");
  rewind(file);
  while (fread(&len, 4, 1, file) == 1) {
    size_t room = (len + 2 * SLACK - 1) / SLACK * SLACK;
    memset(bytes + at, 0, room);
    if (fread(bytes + at, 1, len, file) != len) die(path);
    frames[frame_count++] = (struct frame) { bytes + at, len };
    byte_count += len;
    at += room;
  }
  fclose(file);
}

static long pass(const struct contender *c)
{
  long accepted = 0;
  for (size_t i = 0; i < frame_count; i++) accepted += c->run(frames[i].ptr, frames[i].len);
  return accepted;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long peak_kib(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values, int n)
{
  static double sorted[ROUNDS_MAX];
  memcpy(sorted, values, (size_t)n * sizeof *values);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

int main(int argc, char **argv)
{
  static const struct contender *contenders[CONTENDERS_MAX];
  static double times[CONTENDERS_MAX][ROUNDS_MAX], ratios[ROUNDS_MAX];
  static long accepted[CONTENDERS_MAX], added_kib[CONTENDERS_MAX];
  static int repeats[CONTENDERS_MAX];
  const char *reference = "";
  int rounds = 21, count = 0, option;
  double milliseconds = 10;
  while ((option = getopt(argc, argv, "r:m:R:")) != -1) {
    if (option == 'r') rounds = atoi(optarg);
    if (option == 'm') milliseconds = atof(optarg);
    if (option == 'R') reference = optarg;
    if (option == '?') return 2;
  }
  if (optind >= argc || rounds < 1 || rounds > ROUNDS_MAX) die("see the head of bench.c");
  load(argv[optind]);
  for (int i = optind + 1; i < argc; i++) {
    void *object = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!object) die(dlerror());
    const struct contender *(*list)(int *) =
        (const struct contender *(*)(int *))dlsym(object, "bench_contenders");
    int n = 0;
    const struct contender *c = list ? list(&n) : NULL;
    for (int k = 0; k < n && count < CONTENDERS_MAX; k++)
      if (!c[k].init || c[k].init(argv[optind]) == 0) contenders[count++] = &c[k];
  }
  int reference_at = -1;
  for (int i = 0; i < count; i++) {
    long before = peak_kib();
    accepted[i] = pass(contenders[i]);
    added_kib[i] = peak_kib() - before;
    double begin = now();
    sink += pass(contenders[i]);
    double took = now() - begin;
    repeats[i] = 1 + (int)(milliseconds * 1e6 / (took + 1));
    if (strcmp(contenders[i]->name, reference) == 0) reference_at = i;
  }
  for (int round = 0; round < rounds; round++)
    for (int k = 0; k < count; k++) {
      int i = (k + round) % count;
      double begin = now();
      for (int n = 0; n < repeats[i]; n++) sink += pass(contenders[i]);
      times[i][round] = (now() - begin) / repeats[i];
    }
  for (int i = 0; i < count; i++) {
    double time = median(times[i], rounds);
    printf("%-28s %6ld of %-6zu %12.1f ns/reply %8.4f ns/byte %8ld KiB added", contenders[i]->name,
           accepted[i], frame_count, time / (double)frame_count, time / (double)byte_count,
           added_kib[i]);
    if (reference_at >= 0) {
      for (int round = 0; round < rounds; round++)
        ratios[round] = times[i][round] / times[reference_at][round];
      printf(" %7.3f x", median(ratios, rounds));
    }
    printf("\n");
  }
  return 0;
}
