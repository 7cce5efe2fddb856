#include "plugin/store/store.h"

#include <stdio.h>

struct kind {
  const char *scheme;
  struct rg_store *(*make)(struct span path, char *why, size_t cap);
};

static const struct kind kinds[] = {
  { "sqlite:", rg_store_sqlite_new },
  { "redis:", rg_store_redis_new },
};

struct rg_store *rg_store_new(struct span address, char *why, size_t cap)
{
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    struct span scheme = span_of(kinds[i].scheme);
    if (!span_starts(address, scheme)) continue;
    struct span path = { address.ptr + scheme.len, address.len - scheme.len };
    return kinds[i].make(path, why, cap);
  }
  snprintf(why, cap, "store: there is no such store: write sqlite:FILE or redis://host:6379/0");
  return NULL;
}

void rg_store_close(struct rg_store *s)
{
  if (s) s->methods->close(s);
}
