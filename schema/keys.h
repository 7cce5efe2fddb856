/* keys: the keys that were seen in one object, to find one that comes twice. A few are compared
 * one by one, many are hashed, so that hostile objects cost linear time as well. */
#ifndef SCHEMA_KEYS_H
#define SCHEMA_KEYS_H

#include "schema/bytes.h"

enum {
  SCHEMA_KEYS_FEW = 16,    /* compared one by one: objects of the reply contract have at most 6 */
  SCHEMA_KEYS_BLOCKS = 20, /* together 2^24 keys: a slot has 24 bits for the place of one */
};

struct schema_key;

/* The sets of nested objects form a list, so that an object reuses what one before it at the same
 * depth has left. */
struct schema_keys {
  struct schema_keys *outer, *inner;
  size_t count;
  struct span few[SCHEMA_KEYS_FEW];
  /* from the first key on that is more than a few: all in the order in which they came, and by
   * their hash the place of each in that order */
  struct schema_key *blocks[SCHEMA_KEYS_BLOCKS]; /* each holds twice as many as the one before */
  size_t block_count;
  uint32_t *slots;
  size_t slot_count, slot_cap; /* powers of two: in use, and there from an earlier object */
  uint64_t seed[2];
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
