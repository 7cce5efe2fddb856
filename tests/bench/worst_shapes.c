/* worst_shapes: what a byte of a hostile answer costs at 1 KiB and at 1 MiB, judged, and where it is a
 * reply planned and cut into sends. A text is walked a bounded number of times, so the two must not
 * differ by more than the caches make them: design.md 10 wants at most twice as much. Prints a line
 * a shape, and exits 1 where one exceeds.
 *   cc -O2 -I. tests/bench/worst_shapes.c libonebot.a libschema.a && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "onebot/longtext.h"
#include "onebot/plan.h"
#include "schema/verdict.h"

static const char *const shapes[] = {
  "{",
  "[",
  "}",
  "\"",
  "'",
  "`",
  "``` ",
  "`a``b",
  "<",
  "<tool_call>",
  "</tool_call>",
  "<tool_call> ",
  "<think>",
  "</think>",
  " <think> a",
  "<text>",
  "</text>",
  "{\"a\":",
  "{\"name\":",
  "{\"messages\":[",
  "{\"messages\":[]}",
  "{\"messages\":1}\n",
  "[TOOL_CALLS]",
  "[a](b) ",
  "\\",
  "\\\"",
  "\\u",
  "&lt;",
  "&quot;{",
  "：",
  "。",
  "a:1{",
  "Action: x\n",
  "to=x ",
  "<|a|>",
  "<a b=\"",
  "/",
  "/*",
  "//\n",
  "# ",
  ",",
  "“",
  "「",
  "\xe3\x80",
  "\xef\xbb\xbf",
  "\x1b[1m",
  "eyJ.",
  "sk-",
  "a/b/",
  "a",
  "长",
  "http://",
  "http://a:b@",
  "-----BEGIN ",
  "token=a1",
  "data: [DONE]",
  "<|channel|>final",
  "assistantfinal",
  "[f(a=1)",
  "```json\n",
  "{{",
  "[{",
  "{'",
};
static const char *const heads[] = {
  "",
  "{\"messages\":[",
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"",
  "{'messages':[{'segments':[{'type':'text','data':{'text':'",
  "<think>",
  "```json\n",
};

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* From an answer to its sends. */
static void take(struct span text, struct arena *arena)
{
  enum { SEND_CHARS = 200 }; /* so that 1 KiB is cut as well */
  static const struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1 };
  const struct ob_profile *profile = ob_profile_find(SPAN("napcat"));
  const struct ob_target target = { .group_id = SPAN("123456789") };
  const struct ob_author author = { .user_id = SPAN("10000") };
  const struct ob_plan_settings settings = ob_plan_settings_default();
  struct schema_judgement judged;
  struct ob_plan plan, parts;
  schema_judge(&offer, NULL, text, arena, &judged);
  if (judged.verdict > SCHEMA_REPAIR) return;
  if (ob_plan_make(profile, &target, SPAN("1001"), &settings, &judged.reply, arena, &plan, NULL))
    return;
  ob_longtext_apply(profile, &target, OB_LONG_SPLIT, SEND_CHARS, &author, &plan, arena, &parts);
}

/* Nanoseconds a byte; the best of some runs. */
static double cost(const char *head, const char *shape, size_t size, struct arena *arena)
{
  struct buf text;
  double best = 1e18;
  buf_init(&text, 1 << 24);
  buf_add(&text, span_of(head));
  while (text.len < size) buf_add(&text, span_of(shape));
  int runs = size > 100000 ? 3 : 200;
  for (int i = 0; i < runs; i++) {
    arena_reset(arena);
    double begin = now();
    take(buf_span(&text), arena);
    double spent = now() - begin;
    if (spent < best) best = spent;
  }
  double per_byte = best / (double)text.len;
  buf_done(&text);
  return per_byte;
}

int main(void)
{
  enum { SMALL = 1024, LARGE = 1024 * 1024 };
  struct arena arena;
  int exceeded = 0;
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
  for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      double small = cost(heads[h], shapes[i], SMALL, &arena);
      double large = cost(heads[h], shapes[i], LARGE, &arena);
      bool over = large > 2 * small;
      exceeded += over;
      printf("%-8s %8.2f %8.2f ns a byte, %5.2f  %.12s + %.16s\n", over ? "EXCEEDS" : "", small,
             large, large / small, heads[h], shapes[i]);
    }
  arena_done(&arena);
  return exceeded ? 1 : 0;
}
