/* shown: see shown.h. */
#include "plugin/delivery/shown.h"

#include "schema/segment.h"

static bool is_shown(const struct rg_shown *shown, struct span reference)
{
  for (size_t i = 0; i < shown->count; i++)
    if (span_eq(shown->items[i], reference)) return true;
  return false;
}

static void remember(struct rg_shown *shown, struct span reference)
{
  if (shown->count == RG_SHOWN_MAX) return;
  struct span kept = arena_copy(shown->arena, reference);
  if (kept.ptr) shown->items[shown->count++] = kept;
}

static bool message_drop(struct rg_shown *shown, struct schema_message *m, struct arena *arena)
{
  struct schema_segment *left = arena_zalloc(arena, m->count, sizeof *left);
  size_t count = 0;
  if (m->count > 0 && !left) return false;
  for (size_t i = 0; i < m->count; i++) {
    const struct schema_segment *s = &m->segments[i];
    bool media = schema_segment_types[s->type].shape == SCHEMA_SHAPE_MEDIA;
    if (media && is_shown(shown, s->text)) continue;
    if (media) remember(shown, s->text);
    left[count++] = *s;
  }
  m->segments = left;
  m->count = count;
  return true;
}

bool rg_shown_drop(struct rg_shown *shown, struct schema_reply *reply, struct arena *arena)
{
  struct schema_message *left = arena_zalloc(arena, reply->count, sizeof *left);
  size_t count = 0;
  if (reply->count > 0 && !left) return false;
  for (size_t i = 0; i < reply->count; i++) {
    left[count] = reply->messages[i];
    if (!message_drop(shown, &left[count], arena)) return false;
    if (left[count].count > 0) count++;
  }
  reply->messages = left;
  reply->count = count;
  return true;
}
