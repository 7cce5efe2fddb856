#include "plugin/store.h"

#include <stdio.h>

struct kind {
  const char *scheme;
  struct rg_store *(*make)(struct span path, char *why, size_t cap);
};

static const struct kind kinds[] = {
  { "sqlite:", rg_store_sqlite_new },
};

struct rg_store *rg_store_new(struct span address, char *why, size_t cap)
{
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    struct span scheme = span_of(kinds[i].scheme);
    if (!span_starts(address, scheme)) continue;
    struct span path = { address.ptr + scheme.len, address.len - scheme.len };
    return kinds[i].make(path, why, cap);
  }
  snprintf(why, cap, "store: this build has no such store yet: write sqlite:FILE");
  return NULL;
}

void rg_store_close(struct rg_store *s)
{
  if (s) s->methods->close(s);
}
