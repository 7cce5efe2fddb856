/* keys: the keys that were seen in one object, to find one that comes twice. A few are compared
 * one by one, many are hashed, so that hostile objects cost linear time as well. */
#ifndef SCHEMA_KEYS_H
#define SCHEMA_KEYS_H

#include "schema/bytes.h"

enum {
  SCHEMA_KEYS_FEW = 8, /* compared one by one: objects of the reply contract have at most 6 */
};

struct schema_key_slot;

/* The sets of nested objects form a list, so that an object reuses what one before it at the same
 * depth has left. */
struct schema_keys {
  struct schema_keys *outer, *inner;
  size_t count;
  struct span few[SCHEMA_KEYS_FEW];
  struct schema_key_slot *slots; /* NULL until an object has many keys */
  size_t slot_count;             /* a power of two */
  uint64_t seed[2];
  uint32_t turn; /* slots of another turn are free */
};

enum schema_keys_result { SCHEMA_KEYS_NEW, SCHEMA_KEYS_SEEN, SCHEMA_KEYS_NOMEM };

/* An empty set inside outer (NULL: outermost). NULL: the arena is full. */
struct schema_keys *schema_keys_open(struct schema_keys *outer, struct arena *arena);
/* Adds a key, which must stay in place while its object is open. */
enum schema_keys_result schema_keys_add(struct schema_keys *keys, struct span key,
                                        struct arena *arena);
/* Whether it was added. */
bool schema_keys_has(const struct schema_keys *keys, struct span key);

#endif
