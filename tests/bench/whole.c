/* The whole pure way of an answer: from a model's bytes to the OneBot frames that show it. Two
 * contenders: the strict reply alone, and the full judgement with its look for calls and secrets. */
#include "contender.h"
#include "offer.h"

#include "onebot/plan.h"
#include "schema/verdict.h"

static struct arena arena;
static struct buf frame;
static const struct ob_profile *profile;
static struct ob_plan_settings settings;
static volatile size_t checksum;

static int init(const char *folder)
{
  (void)folder;
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
  buf_init(&frame, 1 << 26);
  profile = ob_profile_find(SPAN("napcat"));
  settings = ob_plan_settings_default();
  return profile ? 0 : 1;
}

/* Adds bytes for which room was reserved. */
static void put(struct span s)
{
  memcpy(frame.ptr + frame.len, s.ptr, s.len);
  frame.len += s.len;
}

/* Plans the reply and prints its frames. */
static int send(const struct schema_reply *reply)
{
  enum { AROUND = 128 }; /* the action, the echo and what stands between */
  const struct ob_target target = { .group_id = SPAN("123456789") };
  struct ob_plan plan;
  if (ob_plan_make(profile, &target, SPAN("1001"), &settings, reply, &arena, &plan, NULL)) return 0;
  buf_clear(&frame);
  for (size_t i = 0; i < plan.count; i++) {
    if (!buf_reserve(&frame, plan.steps[i].params.len + AROUND)) return 0;
    put(SPAN("{\"action\":\""));
    put(plan.steps[i].action);
    put(SPAN("\",\"params\":"));
    put(plan.steps[i].params);
    put(SPAN(",\"echo\":\"1\"}"));
  }
  checksum += frame.len;
  return 1;
}

static int read_and_send(const unsigned char *p, size_t n)
{
  struct schema_reply reply;
  arena_reset(&arena);
  if (schema_reply_read(&bench_offer, (struct span) { (const char *)p, n }, &arena, &reply, NULL))
    return 0;
  return send(&reply);
}

static int judge_and_send(const unsigned char *p, size_t n)
{
  struct schema_judgement judged;
  arena_reset(&arena);
  schema_judge(&bench_offer, NULL, (struct span) { (const char *)p, n }, &arena, &judged);
  return judged.verdict <= SCHEMA_REPAIR && send(&judged.reply);
}

static const struct contender contenders[] = {
  { "ours, read to frames", "whole", init, read_and_send },
  { "ours, judged to frames", "whole", init, judge_and_send },
};

const struct contender *bench_contenders(int *count)
{
  *count = sizeof contenders / sizeof *contenders;
  return contenders;
}
