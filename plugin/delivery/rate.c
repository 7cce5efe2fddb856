/* rate: see rate.h. */
#include "plugin/delivery/rate.h"

#include <stdlib.h>

enum {
  MINUTE_MS = 60 * 1000,
  RATE_MAX = 6000, /* the largest rate.per_minute */
  RATE_MIN = 8,
};

void rg_rate_expire(struct rg_rate *r, uint64_t now_ms)
{
  while (r->count > 0 && r->at_ms[r->first] + MINUTE_MS <= now_ms) {
    r->first = (r->first + 1) % r->capacity;
    r->count--;
  }
}

uint64_t rg_rate_wait(struct rg_rate *r, uint32_t per_minute, uint64_t now_ms)
{
  rg_rate_expire(r, now_ms);
  if (per_minute == 0 || per_minute > RATE_MAX || r->count < per_minute) return 0;
  size_t deciding = (r->first + r->count - per_minute) % r->capacity;
  return r->at_ms[deciding] + MINUTE_MS - now_ms;
}

/* Room for one more, as long as there are fewer than limit. */
static void rate_grow(struct rg_rate *r, size_t limit)
{
  size_t capacity = r->capacity > 0 ? 2 * r->capacity : RATE_MIN;
  if (capacity > limit) capacity = limit;
  uint64_t *grown = capacity > r->capacity ? malloc(capacity * sizeof *grown) : NULL;
  if (!grown) return;
  for (size_t i = 0; i < r->count; i++) grown[i] = r->at_ms[(r->first + i) % r->capacity];
  free(r->at_ms);
  r->at_ms = grown;
  r->capacity = capacity;
  r->first = 0;
}

void rg_rate_count(struct rg_rate *r, uint32_t per_minute, uint64_t now_ms)
{
  if (per_minute == 0 || per_minute > RATE_MAX) return;
  rg_rate_expire(r, now_ms);
  if (r->count == r->capacity) rate_grow(r, per_minute);
  if (r->capacity == 0) return;
  if (r->count == r->capacity) {
    r->first = (r->first + 1) % r->capacity;
    r->count--;
  }
  r->at_ms[(r->first + r->count) % r->capacity] = now_ms;
  r->count++;
}

void rg_rate_done(struct rg_rate *r)
{
  free(r->at_ms);
  *r = (struct rg_rate) { .at_ms = NULL };
}
