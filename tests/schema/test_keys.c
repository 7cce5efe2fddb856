#include <criterion/criterion.h>
#include <stdio.h>

#include "schema/keys.h"

enum { ARENA_MAX = 1 << 26, NAMES = 30000 };

static struct span names[NAMES];

static void make_names(struct arena *arena)
{
  for (int i = 0; i < NAMES; i++) names[i] = arena_printf(arena, "%d", i * 7919);
}

/* Sets of very different sizes after each other in the same place, as of objects in an array. */
Test(keys, a_set_reuses_what_one_before_it_has_left)
{
  static const size_t sizes[] = { 0, 1, 8, 9, 100, 8, 30000, 9, 17, 5000, 1 };
  struct arena arena;
  struct schema_keys *outer = NULL, *first = NULL;
  arena_init(&arena, ARENA_MAX);
  make_names(&arena);
  outer = schema_keys_open(NULL, &arena);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct schema_keys *keys = schema_keys_open(outer, &arena);
    if (!first) first = keys;
    cr_assert_eq(keys, first);
    size_t used = arena.used;
    for (size_t i = 0; i < sizes[s]; i++) {
      cr_assert_eq(schema_keys_add(keys, names[i], &arena), SCHEMA_KEYS_NEW, "%zu of %zu", i, s);
      cr_assert(schema_keys_has(keys, names[i]));
    }
    for (size_t i = 0; i < sizes[s]; i++)
      cr_assert_eq(schema_keys_add(keys, names[i], &arena), SCHEMA_KEYS_SEEN, "%zu of %zu", i, s);
    for (size_t i = sizes[s]; i < sizes[s] + 50 && i < NAMES; i++)
      cr_assert_not(schema_keys_has(keys, names[i]), "%zu of %zu", i, s);
    if (s > 6) cr_expect_eq(arena.used, used, "set %zu takes new memory", s);
  }
  arena_done(&arena);
}

Test(keys, memory_runs_out)
{
  for (size_t max = 0; max < 8000; max += 16) {
    struct arena arena, kept;
    arena_init(&kept, ARENA_MAX);
    make_names(&kept);
    arena_init(&arena, max);
    struct schema_keys *keys = schema_keys_open(NULL, &arena);
    size_t i = 0;
    while (keys && i < NAMES && schema_keys_add(keys, names[i], &arena) == SCHEMA_KEYS_NEW) i++;
    cr_expect_lt(i, NAMES);
    cr_expect(!keys || i >= SCHEMA_KEYS_FEW);
    arena_done(&arena);
    arena_done(&kept);
    max += max / 3;
  }
}
