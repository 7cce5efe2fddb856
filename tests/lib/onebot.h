/* onebot: plans and judgements as text, a line an action, for the tests of onebot/. Everything
 * lives in one arena, which the test frees. */
#ifndef TESTS_ONEBOT_H
#define TESTS_ONEBOT_H

#include <stdlib.h>

#include "onebot/action.h"

enum { ONEBOT_ARENA_MAX = 64 * 1024 * 1024 };

static inline const char *onebot_lines(const struct ob_plan *plan, struct arena *arena)
{
  struct span text = SPAN("");
  for (size_t i = 0; i < plan->count; i++) {
    const struct ob_step *s = &plan->steps[i];
    text = arena_printf(arena, "%.*s%s%.*s %.*s", (int)text.len, text.ptr, i ? "\n" : "",
                        (int)s->action.len, s->action.ptr, (int)s->params.len, s->params.ptr);
  }
  return text.ptr;
}

static inline struct schema_reply onebot_reply(const char *json, struct arena *arena)
{
  static const struct span fields[] = {
    { "description", 11 }, { "image", 5 }, { "audio", 5 }, { "platform", 8 }
  };
  const struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1,
                                      .share_fields = fields,
                                      .share_field_count = 4,
                                      .canonical = true };
  struct schema_reply reply = { NULL, 0, { NULL, 0 } };
  if (schema_reply_read(&offer, span_of(json), arena, &reply, NULL) != SCHEMA_OK) abort();
  return reply;
}

/* A reply of one message with these segments, to group 1. */
static inline const char *onebot_plan(enum ob_profile_id profile,
                                      const struct ob_plan_settings *settings, const char *segments,
                                      struct arena *arena)
{
  struct span json = arena_printf(arena, "{\"messages\":[{\"segments\":[%s]}]}", segments);
  struct schema_reply reply = onebot_reply(json.ptr, arena);
  struct ob_target target = { SPAN("1"), { NULL, 0 } };
  struct ob_plan plan;
  struct schema_error error;
  enum schema_code code = ob_plan_make(&ob_profiles[profile], &target, SPAN(""), settings, &reply,
                                       arena, &plan, &error);
  if (code != SCHEMA_OK)
    return arena_printf(arena, "%s at %s", schema_code_word(code), error.path).ptr;
  return onebot_lines(&plan, arena);
}

/* "pass", "drop CODE: why", or the lines of what is sent instead. */
static inline const char *onebot_judge(enum ob_profile_id profile,
                                       const struct ob_action_settings *settings, const char *frame,
                                       struct arena *arena)
{
  struct ob_action action;
  struct ob_action_judgement judged;
  struct schema_error error;
  if (ob_action_read(span_of(frame), arena, &action, &error) != SCHEMA_OK)
    return arena_printf(arena, "drop %s", schema_code_word(error.code)).ptr;
  ob_action_judge(&ob_profiles[profile], settings, &action, arena, &judged);
  if (judged.verdict == OB_PASS) return "pass";
  if (judged.verdict == OB_REPLACE) return onebot_lines(&judged.plan, arena);
  return arena_printf(arena, "drop %s: %.*s", schema_code_word(judged.error.code),
                      (int)judged.why.len, judged.why.ptr)
      .ptr;
}

#endif
