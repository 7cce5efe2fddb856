/* shown: see shown.h. */
#include "plugin/delivery/shown.h"

#include "schema/reference.h"
#include "schema/segment.h"

static bool is_shown(const struct rg_shown *shown, struct span key)
{
  for (size_t i = 0; i < shown->count; i++)
    if (span_eq(shown->items[i], key)) return true;
  return false;
}

static void remember(struct rg_shown *shown, struct span key)
{
  if (shown->count == RG_SHOWN_MAX) return;
  struct span kept = arena_copy(shown->arena, key);
  if (kept.ptr) shown->items[shown->count++] = kept;
}

static bool message_drop(struct rg_shown *shown, struct schema_message *m, struct arena *arena)
{
  struct schema_segment *left = arena_zalloc(arena, m->count, sizeof *left);
  size_t count = 0;
  if (m->count > 0 && !left) return false;
  for (size_t i = 0; i < m->count; i++) {
    const struct schema_segment *s = &m->segments[i];
    if (schema_segment_types[s->type].shape == SCHEMA_SHAPE_MEDIA) {
      struct span key = schema_reference_key(s->text, arena);
      if (!key.ptr) return false;
      if (is_shown(shown, key)) continue;
      remember(shown, key);
    }
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
