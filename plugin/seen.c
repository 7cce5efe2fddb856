/* seen: see seen.h. The whole text is hashed, eight bytes at a time: reading out the ids would cost
 * more than passing an event on does. */
#include "plugin/seen.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

static uint64_t hash_of(struct span s)
{
  uint64_t h = s.len, word;
  size_t i = 0;
  for (; i + sizeof word <= s.len; i += sizeof word) {
    memcpy(&word, s.ptr + i, sizeof word);
    h = mix(h, word);
  }
  word = 0;
  if (i < s.len) memcpy(&word, s.ptr + i, s.len - i);
  return mix(mix(h, word), s.len);
}

bool rg_seen_before(struct rg_seen *s, struct span json, uint64_t now_ms)
{
  uint64_t hash = hash_of(json);
  size_t place = hash % RG_SEEN_PLACES;
  bool same = s->places[place].hash == hash && s->places[place].at_ms != 0 &&
              now_ms - s->places[place].at_ms < RG_SEEN_MS;
  if (same) return span_find(json, SPAN("\"message_id\"")) < json.len;
  s->places[place].hash = hash;
  s->places[place].at_ms = now_ms;
  return false;
}
