/* mention: see mention.h. A ring: what is old enough to be overwritten is mostly old enough to be
 * forgotten. */
#include "plugin/relay/mention.h"

#include <stdlib.h>

static bool fits(struct span id)
{
  return id.len > 0 && id.len < RG_ID_MAX;
}

static void keep(char to[RG_ID_MAX], struct span id)
{
  memcpy(to, id.ptr, id.len);
  to[id.len] = '\0';
}

void rg_mentions_note(struct rg_mentions *m, struct span group_id, struct span message_id,
                      struct span user_id, uint64_t now_ms)
{
  if (!m->ring) m->ring = calloc(RG_MENTIONS_MAX, sizeof *m->ring);
  if (!m->ring || !fits(group_id) || !fits(message_id) || !fits(user_id)) {
    m->lost_ms = now_ms;
    return;
  }
  struct rg_mention *place = &m->ring[m->next];
  if (m->count == RG_MENTIONS_MAX) m->lost_ms = place->at_ms;
  keep(place->group_id, group_id);
  keep(place->message_id, message_id);
  keep(place->user_id, user_id);
  place->at_ms = now_ms;
  m->next = (m->next + 1) % RG_MENTIONS_MAX;
  if (m->count < RG_MENTIONS_MAX) m->count++;
}

bool rg_mentions_only(const struct rg_mentions *m, struct span group_id, uint64_t window_ms,
                      uint64_t now_ms, struct rg_mention *ret)
{
  const struct rg_mention *only = NULL;
  if (m->lost_ms > 0 && now_ms - m->lost_ms <= window_ms) return false;
  for (size_t i = 0; i < m->count; i++) {
    const struct rg_mention *one = &m->ring[(m->next + RG_MENTIONS_MAX - 1 - i) % RG_MENTIONS_MAX];
    if (now_ms - one->at_ms > window_ms) break;
    if (!span_is(group_id, one->group_id)) continue;
    if (only) return false;
    only = one;
  }
  if (only) *ret = *only;
  return only != NULL;
}

void rg_mentions_done(struct rg_mentions *m)
{
  free(m->ring);
  *m = (struct rg_mentions) { .ring = NULL };
}
