/* seen: see seen.h. The whole text is hashed, 32 bytes at a time in two lanes that do not wait for each
 * other: reading out the ids would cost more than passing an event on does. */
#include "plugin/seen.h"

__extension__ typedef unsigned __int128 wide;

/* Both halves of a product: every bit of a and b reaches the result. */
static uint64_t mix(uint64_t a, uint64_t b)
{
  wide product = (wide)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(struct span s)
{
  uint64_t one = s.len, two = 1, words[4];
  size_t i = 0;
  for (; i + sizeof words <= s.len; i += sizeof words) {
    memcpy(words, s.ptr + i, sizeof words);
    one = mix(one ^ words[0], words[1]);
    two = mix(two ^ words[2], words[3]);
  }
  memset(words, 0, sizeof words);
  if (i < s.len) memcpy(words, s.ptr + i, s.len - i);
  one = mix(one ^ words[0], words[1]);
  return mix(one, mix(two ^ words[2], words[3]));
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
