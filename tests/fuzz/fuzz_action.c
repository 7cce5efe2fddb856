/* fuzz_action: a frame of a framework for every profile. Whatever it is given: what is sent instead
 * is JSON, passes when it is judged again, mentions everyone nowhere and holds no tool call. */
#include <stdio.h>
#include <stdlib.h>

#include "onebot/action.h"
#include "onebot/inspect.h"
#include "schema/directive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds, const char *what, struct span frame)
{
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n%.*s\n", what, (int)frame.len, frame.ptr);
  abort();
}

static bool mentions_all(const struct schema_node *node)
{
  if (span_is(schema_tree_string(schema_tree_get(node, "type")), "at") &&
      span_is(schema_tree_string(schema_tree_get(schema_tree_get(node, "data"), "qq")), "all"))
    return true;
  for (const struct schema_node *child = node->first; child; child = child->next)
    if (mentions_all(child)) return true;
  return false;
}

static void check_step(const struct ob_profile *profile, const struct ob_action_settings *settings,
                       const struct ob_step *step, struct arena *arena)
{
  struct ob_action action;
  struct ob_action_judgement judged;
  struct buf out;
  buf_init(&out, 1 << 26);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_pair(&w, "action", step->action);
  schema_write_key(&w, SPAN("params"));
  schema_write_raw(&w, step->params);
  schema_write_object_end(&w);
  struct span frame = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  need(ob_action_read(frame, arena, &action, NULL) == SCHEMA_OK, "an action is JSON", frame);
  if (step->kind != OB_STEP_SEND) return;
  need(!mentions_all(action.params), "nobody mentions everyone", frame);
  need(action.kind != OB_ACTION_MESSAGE || !ob_inspect_has_call(action.params), "no tool call",
       frame);
  ob_action_judge(profile, settings, &action, arena, &judged);
  need(judged.verdict == OB_PASS, "what is sent instead passes", frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct schema_directive_options directives = { { "7", 1 }, true, true };
  struct span frame = { (const char *)data, size };
  for (int p = 0; p < OB_PROFILE_COUNT; p++) {
    struct arena arena;
    struct ob_action action;
    struct ob_action_judgement judged;
    struct ob_action_settings settings = { .plan = ob_plan_settings_default(),
                                           .unwrap = size & 1,
                                           .directives = size & 2 ? &directives : NULL,
                                           .segments = (1u << SCHEMA_TYPE_COUNT) - 1 };
    arena_init(&arena, 256 << 20);
    if (ob_action_read(frame, &arena, &action, NULL) == SCHEMA_OK) {
      ob_action_judge(&ob_profiles[p], &settings, &action, &arena, &judged);
      settings.unwrap = false; /* a reply's own words are no second reply */
      for (size_t i = 0; judged.verdict == OB_REPLACE && i < judged.plan.count; i++)
        check_step(&ob_profiles[p], &settings, &judged.plan.steps[i], &arena);
      if (judged.verdict == OB_DROP)
        need(judged.why.len > 0 && judged.error.code != SCHEMA_OK, "a drop has a reason", frame);
    }
    arena_done(&arena);
  }
  return 0;
}
