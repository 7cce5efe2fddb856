/* fuzz_plan: a canonical reply for every profile. Whatever it is given: each action is a JSON
 * object with one target, what must travel alone does, data are strings that are not empty, no media
 * value is a bare path, and cutting the plan keeps it so. */
#include <stdio.h>
#include <stdlib.h>

#include "onebot/longtext.h"
#include "schema/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds, const char *what)
{
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

static void check_datum(const struct schema_node *d)
{
  need(d->kind == SCHEMA_STRING && d->text.len > 0, "data are strings that are not empty");
  if (span_is(d->key, "file") && span_starts(d->text, SPAN("file://")))
    need(span_find(d->text, SPAN("/../")) == d->text.len, "no path climbs");
  need(!span_is(d->key, "file") || d->text.ptr[0] != '/', "no bare path");
}

static void check_segments(const struct ob_profile *profile, const struct schema_node *array)
{
  size_t count = 0, alone = 0;
  need(array && array->kind == SCHEMA_ARRAY && array->count > 0, "a send has segments");
  for (const struct schema_node *s = array->first; s; s = s->next) {
    enum ob_native type = ob_native_find(schema_tree_string(schema_tree_get(s, "type")));
    const struct schema_node *data = schema_tree_get(s, "data");
    need(type != OB_NATIVE_COUNT && ob_profile_shows(profile, type), "the profile shows it");
    need(s->count == 2 && data && data->kind == SCHEMA_OBJECT, "a segment is type and data");
    if (type == OB_REPLY) {
      need(count == 0, "the quote stands first");
      continue;
    }
    count++;
    alone += ob_native_types[type].alone;
    for (const struct schema_node *d = data->first; d; d = d->next) check_datum(d);
  }
  need(count > 0 && (alone == 0 || count == 1), "what must travel alone does");
}

static void check_plan(const struct ob_profile *profile, const struct ob_plan *plan,
                       struct arena *arena)
{
  for (size_t i = 0; i < plan->count; i++) {
    struct schema_node *params;
    need(schema_tree_read(plan->steps[i].params, 32, arena, &params, NULL) == SCHEMA_OK,
         "params are JSON");
    need(i == 0 || plan->steps[i].kind != OB_STEP_REACTION, "the reaction comes first");
    need(i == 0 || plan->steps[i].message >= plan->steps[i - 1].message,
         "messages keep their order");
    if (plan->steps[i].kind != OB_STEP_SEND) continue;
    if (schema_tree_get(params, "messages")) continue; /* a merged forward */
    need(params->count == 2, "one target and the message");
    check_segments(profile, schema_tree_get(params, "message"));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct span fields[] = {
    { "description", 11 }, { "image", 5 }, { "audio", 5 }, { "platform", 8 }
  };
  const struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1,
                                      .share_fields = fields,
                                      .share_field_count = 4,
                                      .canonical = true };
  const struct ob_author author = { SPAN("9"), SPAN("bot") };
  struct arena arena;
  struct schema_reply reply;
  arena_init(&arena, 256 << 20);
  if (schema_reply_read(&offer, (struct span) { (const char *)data, size }, &arena, &reply, NULL) ==
      SCHEMA_OK) {
    for (int p = 0; p < OB_PROFILE_COUNT; p++) {
      const struct ob_profile *profile = &ob_profiles[p];
      struct ob_plan_settings settings = ob_plan_settings_default();
      settings.mention_all = size & 1;
      settings.card = (enum ob_card)(size >> 1 & 3);
      settings.language = size & 8 ? SCHEMA_EN : SCHEMA_ZH;
      struct ob_target target = { SPAN("1"), { NULL, 0 } };
      if (size & 16) target = (struct ob_target) { { NULL, 0 }, SPAN("10001") };
      struct ob_plan plan;
      if (ob_plan_make(profile, &target, SPAN("7"), &settings, &reply, &arena, &plan, NULL) !=
          SCHEMA_OK)
        continue;
      check_plan(profile, &plan, &arena);
      enum ob_long_form form = size & 32 ? OB_LONG_FORWARD : OB_LONG_SPLIT;
      if (ob_longtext_apply(profile, &target, form, 1 + size % 40, &author, &plan, &arena, &plan) ==
          SCHEMA_OK)
        check_plan(profile, &plan, &arena);
    }
  }
  arena_done(&arena);
  return 0;
}
