#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "plugin/log.h"

static const char here[] = "a place", there[] = "another";

static bool take(struct rg_log_limit *l, const char *source, const char *line, uint64_t now)
{
  return rg_log_limit_take(l, source, RG_LOG_WARN, span_of(line), now);
}

static size_t taken(struct rg_log_limit *l, const char *source, const char *format, unsigned count,
                    uint64_t now)
{
  size_t n = 0;
  for (unsigned i = 0; i < count; i++) {
    char line[RG_LOG_SAMPLE_MAX + 100];
    snprintf(line, sizeof line, "%s %u", format, i);
    n += take(l, source, line, now);
  }
  return n;
}

/* A name that is another one for each number, without digits. */
static void name_of(unsigned n, char *to)
{
  for (int i = 0; i < 5; i++, n /= 26) to[i] = (char)('a' + n % 26);
  to[5] = '\0';
}

Test(log, of_one_shape_a_few_are_written_and_the_rest_is_counted)
{
  struct rg_log_limit *l = calloc(1, sizeof *l);
  char out[RG_LOG_SAMPLE_MAX + 64];
  int32_t level = 0;
  uint64_t now = 1000;
  cr_expect_eq(taken(l, here, "endpoint a: down", 25, now), RG_LOG_SHAPE_MAX);
  cr_expect_eq(taken(l, here, "endpoint b: down", 2, now), 2, "another endpoint is not hidden");
  cr_expect_not(rg_log_limit_summary(l, false, now + 5, &level, out, sizeof out));
  now += RG_LOG_WINDOW_MS;
  cr_expect(rg_log_limit_summary(l, false, now, &level, out, sizeof out));
  cr_expect_str_eq(out, "endpoint a: down 24 (the last of 15 more like it in 10 min)");
  cr_expect_eq(level, RG_LOG_WARN);
  cr_expect_not(rg_log_limit_summary(l, false, now, &level, out, sizeof out));
  cr_expect_eq(taken(l, here, "endpoint a: down", 3, now), 3, "and from the start again");
  cr_expect_eq(taken(l, here, "endpoint a: down", 8, now), 7);
  cr_expect(rg_log_limit_summary(l, true, now, &level, out, sizeof out), "at the end all are told");
  cr_expect_not(rg_log_limit_summary(l, true, now, &level, out, sizeof out));
  free(l);
}

Test(log, words_of_others_make_no_more_lines)
{
  enum { FLOOD = 20000 };
  struct rg_log_limit *l = calloc(1, sizeof *l);
  char out[RG_LOG_SAMPLE_MAX + 64];
  int32_t level;
  size_t lines = 0, summaries = 0;
  for (unsigned i = 0; i < FLOOD; i++) {
    char line[16];
    name_of(i / 15, line); /* each shape more often than it may */
    lines += take(l, here, line, 1000 + i / 100);
  }
  cr_expect_leq(lines, RG_LOG_SOURCE_MAX);
  cr_expect(take(l, there, "something else", 1200));
  while (rg_log_limit_summary(l, true, 2000, &level, out, sizeof out)) summaries++;
  cr_expect_leq(summaries, RG_LOG_SHAPES + 1);
  cr_expect_gt(summaries, 0);
  free(l);
}

static void count_line(void *ctx, int32_t level, struct rg_bytes line)
{
  (void)level;
  (void)line;
  ++*(size_t *)ctx;
}

Test(log, a_log_counts_but_for_debug_and_what_is_always_written)
{
  struct rg_log *log = calloc(1, sizeof *log);
  size_t count = 0;
  const struct rg_host host = {
    .size = sizeof host, .abi = RG_ABI, .ctx = &count, .log = count_line
  };
  cr_assert(rg_log_init(log, &host));
  for (int i = 0; i < 30; i++) rg_log_line(log, RG_LOG_INFO, "line %d", i);
  cr_expect_eq(count, RG_LOG_SHAPE_MAX);
  for (int i = 0; i < 30; i++) rg_log_always(log, RG_LOG_INFO, "line %d", i);
  cr_expect_eq(count, RG_LOG_SHAPE_MAX + 30);
  cr_assert(rg_log_configure(log, SPAN("debug"), SPAN("")));
  for (int i = 0; i < 30; i++) rg_log_line(log, RG_LOG_DEBUG, "line %d", i);
  cr_expect_eq(count, RG_LOG_SHAPE_MAX + 60);
  rg_log_done(log);
  cr_expect_eq(count, RG_LOG_SHAPE_MAX + 61, "the summary");
  free(log);
}
