/* conversation: see conversation.h. */
#include "plugin/delivery/conversation.h"

#include <stdlib.h>

enum {
  BUCKETS_MIN = 64,
  HISTORY_CONVERSATIONS_MAX = 8192, /* with more, old verdicts of quiet chats are forgotten */
  SWEEP_MIN = 1024, /* below it forgotten conversations cost nothing worth the look */
};

static size_t hash(const struct rg_account *account, bool group, struct span id)
{
  uint64_t h = 14695981039346656037u ^ (uintptr_t)account ^ (group ? 1u : 0u); /* FNV-1a */
  for (size_t i = 0; i < id.len; i++) h = (h ^ (unsigned char)id.ptr[i]) * 1099511628211u;
  return (size_t)(h ^ h >> 32);
}

static size_t hash_of(const struct rg_conversation *c)
{
  return hash(c->account, c->group, span_of(c->id));
}

struct rg_conversation *rg_conversation_find(const struct rg_conversations *all,
                                             const struct rg_account *account, bool group,
                                             struct span id)
{
  if (all->bucket_count == 0) return NULL;
  struct rg_conversation *c = all->buckets[hash(account, group, id) & (all->bucket_count - 1)];
  while (c && !(c->account == account && c->group == group && span_is(id, c->id))) c = c->next;
  return c;
}

static bool buckets_grow(struct rg_conversations *all)
{
  if (all->count < all->bucket_count) return true;
  size_t count = all->bucket_count > 0 ? 2 * all->bucket_count : BUCKETS_MIN;
  struct rg_conversation **grown = calloc(count, sizeof *grown);
  if (!grown) return all->bucket_count > 0; /* longer chains serve as well */
  for (size_t i = 0; i < all->bucket_count; i++) {
    for (struct rg_conversation *c = all->buckets[i], *next; c; c = next) {
      struct rg_conversation **bucket = &grown[hash_of(c) & (count - 1)];
      next = c->next;
      c->next = *bucket;
      *bucket = c;
    }
  }
  free(all->buckets);
  all->buckets = grown;
  all->bucket_count = count;
  return true;
}

struct rg_conversation *rg_conversation_get(struct rg_conversations *all,
                                            struct rg_account *account, bool group, struct span id)
{
  struct rg_conversation *c = rg_conversation_find(all, account, group, id);
  if (c) return c;
  if (id.len >= sizeof c->id || !buckets_grow(all)) return NULL;
  c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->account = account;
  c->group = group;
  memcpy(c->id, id.ptr, id.len);
  c->tail = &c->head;
  struct rg_conversation **bucket = &all->buckets[hash_of(c) & (all->bucket_count - 1)];
  c->next = *bucket;
  *bucket = c;
  all->count++;
  return c;
}

static void conversation_free(struct rg_conversation *c)
{
  rg_keyboard_forget(&c->keyboard);
  rg_rate_done(&c->rate);
  rg_rate_done(&c->notices);
  rg_history_done(&c->history);
  free(c);
}

static bool forgotten(const struct rg_conversations *all, struct rg_conversation *c,
                      uint64_t now_ms)
{
  if (all->count <= HISTORY_CONVERSATIONS_MAX && c->history.until_ms > now_ms) return false;
  rg_rate_expire(&c->rate, now_ms);
  rg_rate_expire(&c->notices, now_ms);
  bool keyboard = c->keyboard.count > 0 && c->keyboard.until_ms > now_ms;
  return c->waiting == 0 && !keyboard && c->rate.count == 0 && c->notices.count == 0 &&
         c->blocked_until_ms <= now_ms;
}

void rg_conversations_sweep(struct rg_conversations *all, uint64_t now_ms)
{
  if (all->count < SWEEP_MIN || all->count < all->sweep_at) return;
  for (size_t i = 0; i < all->bucket_count; i++) {
    struct rg_conversation **at = &all->buckets[i];
    while (*at) {
      struct rg_conversation *c = *at;
      if (!forgotten(all, c, now_ms)) {
        at = &c->next;
        continue;
      }
      *at = c->next;
      conversation_free(c);
      all->count--;
    }
  }
  all->sweep_at = 2 * all->count; /* so that looking costs a constant for each new one */
}

void rg_conversations_done(struct rg_conversations *all)
{
  for (size_t i = 0; i < all->bucket_count; i++) {
    for (struct rg_conversation *c = all->buckets[i], *next; c; c = next) {
      next = c->next;
      conversation_free(c);
    }
  }
  free(all->buckets);
  *all = (struct rg_conversations) { .buckets = NULL };
}
