/* contender: what the harness (bench.c) times. A shared object exports bench_contenders(). */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct contender {
  const char *name;
  const char *kind;                /* what it does: "validate", or less */
  int (*init)(const char *folder); /* the set; may be NULL; 0: ready */
  /* Judges the n bytes at p, which must not be changed and have 64 zero bytes behind them. 1:
   * accepted. */
  int (*run)(const unsigned char *p, size_t n);
};

__attribute__((visibility("default"))) const struct contender *bench_contenders(int *count);

#ifdef __cplusplus
}
#endif

#endif
