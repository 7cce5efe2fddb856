/* rate: how much was sent within the last minute, for `rate.per_minute` of a chat and of an account. */
#ifndef PLUGIN_DELIVERY_RATE_H
#define PLUGIN_DELIVERY_RATE_H

#include <stddef.h>
#include <stdint.h>

/* The times of the last sends. Zeroed: none. */
struct rg_rate {
  uint64_t *at_ms; /* a ring of capacity places */
  size_t capacity, first, count;
};

/* Milliseconds until one more send is within per_minute (0: no limit). */
uint64_t rg_rate_wait(struct rg_rate *r, uint32_t per_minute, uint64_t now_ms);
/* Counts a send; forgets the oldest where memory for it cannot be had. */
void rg_rate_count(struct rg_rate *r, uint32_t per_minute, uint64_t now_ms);
/* Forgets what is older than a minute. */
void rg_rate_expire(struct rg_rate *r, uint64_t now_ms);
void rg_rate_done(struct rg_rate *r);

#endif
