/* store: what outlives the process, behind one interface: settings made in the chat. A store is
 * named by `store:` of the configuration and opened at its first use, so that a bot that never
 * needs it pays nothing. */
#ifndef PLUGIN_STORE_H
#define PLUGIN_STORE_H

#include "schema/bytes.h"

/* One setting made in the chat. */
struct rg_override {
  struct span endpoint; /* its name */
  uint64_t group;
  struct span key;    /* "pace.min" */
  struct span value;  /* JSON */
  struct span author; /* account number of who made it; to be looked up by people */
};

typedef void rg_override_fn(void *ctx, const struct rg_override *o);

struct rg_store;

/* What a kind of store can do. All may be called from any thread. On failure they return false and
 * write into why (cap bytes, NUL-terminated) what is wrong, where, and what to do. */
struct rg_store_methods {
  /* Gives every override, lent for the call. A store that was never written to has none and is not
   * made by asking. */
  bool (*override_each)(struct rg_store *s, rg_override_fn *each, void *ctx, char *why, size_t cap);
  /* Keeps an override in place of an older one of the same endpoint, group and key. */
  bool (*override_put)(struct rg_store *s, const struct rg_override *o, char *why, size_t cap);
  /* Drops one key, or all of a group where key is empty. What is not there is no failure. */
  bool (*override_drop)(struct rg_store *s, struct span endpoint, uint64_t group, struct span key,
                        char *why, size_t cap);
  void (*close)(struct rg_store *s);
};

/* The head of each kind's own struct. */
struct rg_store {
  const struct rg_store_methods *methods;
};

/* The store of an address ("sqlite:/absolute/file"), not opened yet; NULL and why where this build
 * has no such store or memory ran out. To be closed by rg_store_close. */
struct rg_store *rg_store_new(struct span address, char *why, size_t cap);
/* NULL allowed. No other thread may use it any more. */
void rg_store_close(struct rg_store *s);

/* Each kind of store; path is what stands behind the scheme. */
struct rg_store *rg_store_sqlite_new(struct span path, char *why, size_t cap); /* store_sqlite.c */

#endif
