#include "schema/keys.h"

struct schema_key_slot {
  uint32_t turn, hash;
  struct span key;
};

enum { FIRST_SLOTS = 32 };

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
    keys->slot_count = 0;
    keys->turn = 0;
    if (outer) outer->inner = keys;
  }
  keys->count = 0;
  return keys;
}

/* The slot of the key, or the free one where it belongs. */
static struct schema_key_slot *slot_of(const struct schema_keys *keys, struct span key,
                                       uint32_t hash)
{
  size_t mask = keys->slot_count - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    struct schema_key_slot *slot = &keys->slots[i];
    if (slot->turn != keys->turn) return slot;
    if (slot->hash == hash && span_eq(slot->key, key)) return slot;
  }
}

static bool grow(struct schema_keys *keys, struct arena *arena)
{
  struct schema_key_slot *old = keys->slots;
  size_t old_count = keys->slot_count, count = old_count ? old_count * 2 : FIRST_SLOTS;
  struct schema_key_slot *slots = arena_zalloc(arena, count, sizeof *slots);
  if (!slots) return false;
  keys->slots = slots;
  keys->slot_count = count;
  for (size_t i = 0; i < old_count; i++)
    if (old[i].turn == keys->turn) *slot_of(keys, old[i].key, old[i].hash) = old[i];
  return true;
}

/* The first key that is too many for the list: all move to the slots. */
static bool begin_hashing(struct schema_keys *keys, struct arena *arena)
{
  if (keys->turn == UINT32_MAX) keys->slots = NULL, keys->slot_count = 0, keys->turn = 0;
  keys->turn++;
  /* The sender cannot know addresses; nothing better is at hand without asking the system. */
  keys->seed[0] = (uint64_t)(uintptr_t)keys * 0x9E3779B97F4A7C15;
  keys->seed[1] = (uint64_t)(uintptr_t)&arena ^ (uint64_t)(uintptr_t)keys->few[0].ptr << 20;
  if (!keys->slots && !grow(keys, arena)) return false;
  for (size_t i = 0; i < SCHEMA_KEYS_FEW; i++) {
    uint32_t hash = hash_of(keys->seed, keys->few[i]);
    *slot_of(keys, keys->few[i], hash) =
        (struct schema_key_slot) { keys->turn, hash, keys->few[i] };
  }
  return true;
}

static enum schema_keys_result add_hashed(struct schema_keys *keys, struct span key,
                                          struct arena *arena)
{
  if (keys->count == SCHEMA_KEYS_FEW && !begin_hashing(keys, arena)) return SCHEMA_KEYS_NOMEM;
  if (keys->count >= keys->slot_count / 2 && !grow(keys, arena)) return SCHEMA_KEYS_NOMEM;
  uint32_t hash = hash_of(keys->seed, key);
  struct schema_key_slot *slot = slot_of(keys, key, hash);
  if (slot->turn == keys->turn) return SCHEMA_KEYS_SEEN;
  *slot = (struct schema_key_slot) { keys->turn, hash, key };
  keys->count++;
  return SCHEMA_KEYS_NEW;
}

enum schema_keys_result schema_keys_add(struct schema_keys *keys, struct span key,
                                        struct arena *arena)
{
  if (keys->count >= SCHEMA_KEYS_FEW) return add_hashed(keys, key, arena);
  for (size_t i = 0; i < keys->count; i++)
    if (span_eq(keys->few[i], key)) return SCHEMA_KEYS_SEEN;
  keys->few[keys->count++] = key;
  return SCHEMA_KEYS_NEW;
}

bool schema_keys_has(const struct schema_keys *keys, struct span key)
{
  if (keys->count > SCHEMA_KEYS_FEW)
    return slot_of(keys, key, hash_of(keys->seed, key))->turn == keys->turn;
  for (size_t i = 0; i < keys->count; i++)
    if (span_eq(keys->few[i], key)) return true;
  return false;
}
