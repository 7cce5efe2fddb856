#include "schema/keys.h"

struct schema_key {
  struct span key;
  uint32_t hash;
};

/* A slot: the place of a key, of which 1 is the first, below 8 bits of its hash; 0 is free. Slots are
 * what is read at random, so they are small: those of 100,000 keys stay in a cache. */
enum { FIRST_SLOTS = 32, FIRST_BLOCK = 16, PLACE_BITS = 24, PLACE_MASK = (1 << PLACE_BITS) - 1 };

static uint64_t rotate(uint64_t x, unsigned bits)
{
  return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
  v[0] += v[1];
  v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1];
  v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

/* SipHash-1-3: with a weaker hash the sender could choose keys that all fall together. */
static uint32_t hash_of(const uint64_t seed[2], struct span key)
{
  uint64_t v[4] = { seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d,
                    seed[0] ^ 0x6c7967656e657261, seed[1] ^ 0x7465646279746573 };
  size_t whole = key.len / 8 * 8;
  for (size_t i = 0; i <= whole; i += 8) {
    uint64_t word = 0;
    size_t n = i < whole ? 8 : key.len - whole;
    if (n) memcpy(&word, key.ptr + i, n);
    if (i == whole) word |= (uint64_t)key.len << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
  }
  v[2] ^= 0xFF;
  for (int i = 0; i < 3; i++) sip_round(v);
  uint64_t h = v[0] ^ v[1] ^ v[2] ^ v[3];
  return (uint32_t)(h ^ h >> 32);
}

struct schema_keys *schema_keys_open(struct schema_keys *outer, struct arena *arena)
{
  struct schema_keys *keys = outer ? outer->inner : NULL;
  if (!keys) {
    keys = arena_alloc(arena, sizeof *keys);
    if (!keys) return NULL;
    keys->outer = outer;
    keys->inner = NULL;
    keys->slots = NULL;
    keys->block_count = keys->slot_cap = 0;
    if (outer) outer->inner = keys;
  }
  keys->count = 0;
  return keys;
}

/* The key that came at that place. Block b begins with place 16 * (2^b - 1). */
static struct schema_key *key_at(const struct schema_keys *keys, size_t place)
{
  unsigned block = 31 - (unsigned)__builtin_clz((unsigned)(place / FIRST_BLOCK + 1));
  return &keys->blocks[block][place - FIRST_BLOCK * (((size_t)1 << block) - 1)];
}

static uint32_t slot_with(uint32_t hash, size_t place)
{
  return hash >> PLACE_BITS << PLACE_BITS | (uint32_t)place;
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *slot_of(const struct schema_keys *keys, struct span key, uint32_t hash)
{
  size_t mask = keys->slot_count - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    uint32_t *slot = &keys->slots[i];
    if (*slot == 0) return slot;
    if ((*slot ^ hash) >> PLACE_BITS) continue;
    const struct schema_key *known = key_at(keys, (*slot & PLACE_MASK) - 1);
    if (known->hash == hash && span_eq(known->key, key)) return slot;
  }
}

/* Takes count slots into use and puts all keys there anew. */
static bool spread(struct schema_keys *keys, size_t count, struct arena *arena)
{
  if (count > keys->slot_cap) {
    keys->slots = count <= SIZE_MAX / sizeof *keys->slots
                      ? arena_alloc(arena, count * sizeof *keys->slots)
                      : NULL;
    keys->slot_cap = keys->slots ? count : 0;
    if (!keys->slots) return false;
  }
  keys->slot_count = count;
  memset(keys->slots, 0, count * sizeof *keys->slots);
  for (size_t k = 0; k < keys->count; k++) {
    uint32_t hash = key_at(keys, k)->hash;
    size_t i = hash & (count - 1);
    while (keys->slots[i]) i = (i + 1) & (count - 1);
    keys->slots[i] = slot_with(hash, k + 1);
  }
  return true;
}

/* Room for one more key in the order in which they came. */
static bool make_room(struct schema_keys *keys, struct arena *arena)
{
  size_t have = FIRST_BLOCK * (((size_t)1 << keys->block_count) - 1);
  if (keys->count < have) return true;
  if (keys->block_count == SCHEMA_KEYS_BLOCKS) return false;
  struct schema_key *block =
      arena_alloc(arena, ((size_t)FIRST_BLOCK << keys->block_count) * sizeof *block);
  if (block) keys->blocks[keys->block_count++] = block;
  return block;
}

/* The first key that is too many to be compared one by one: from here on all are hashed. */
static bool begin_hashing(struct schema_keys *keys, struct arena *arena)
{
  if (!make_room(keys, arena)) return false;
  /* The sender cannot know addresses; nothing better is at hand without asking the system. */
  keys->seed[0] = (uint64_t)(uintptr_t)keys * 0x9E3779B97F4A7C15;
  keys->seed[1] = (uint64_t)(uintptr_t)&arena ^ (uint64_t)(uintptr_t)keys->few[0].ptr << 20;
  for (size_t i = 0; i < SCHEMA_KEYS_FEW; i++)
    *key_at(keys, i) = (struct schema_key) { keys->few[i], hash_of(keys->seed, keys->few[i]) };
  return spread(keys, FIRST_SLOTS, arena);
}

static enum schema_keys_result add_hashed(struct schema_keys *keys, struct span key,
                                          struct arena *arena)
{
  if (keys->count == SCHEMA_KEYS_FEW && !begin_hashing(keys, arena)) return SCHEMA_KEYS_NOMEM;
  uint32_t hash = hash_of(keys->seed, key);
  uint32_t *slot = slot_of(keys, key, hash);
  if (*slot) return SCHEMA_KEYS_SEEN;
  if (!make_room(keys, arena)) return SCHEMA_KEYS_NOMEM;
  *key_at(keys, keys->count++) = (struct schema_key) { key, hash };
  *slot = slot_with(hash, keys->count);
  if (keys->count > keys->slot_count / 2 && !spread(keys, keys->slot_count * 2, arena))
    return SCHEMA_KEYS_NOMEM;
  return SCHEMA_KEYS_NEW;
}

enum schema_keys_result schema_keys_add(struct schema_keys *keys, struct span key,
                                        struct arena *arena)
{
  if (keys->count >= SCHEMA_KEYS_FEW) return add_hashed(keys, key, arena);
  for (size_t i = 0; i < keys->count; i++) {
    bool alike = keys->few[i].len == key.len && (key.len == 0 || *keys->few[i].ptr == *key.ptr);
    if (alike && span_eq(keys->few[i], key)) return SCHEMA_KEYS_SEEN;
  }
  keys->few[keys->count++] = key;
  return SCHEMA_KEYS_NEW;
}

bool schema_keys_has(const struct schema_keys *keys, struct span key)
{
  if (keys->count > SCHEMA_KEYS_FEW) return *slot_of(keys, key, hash_of(keys->seed, key)) != 0;
  for (size_t i = 0; i < keys->count; i++)
    if (span_eq(keys->few[i], key)) return true;
  return false;
}
