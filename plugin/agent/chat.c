/* chat: see chat.h. */
#include "plugin/agent/chat.h"

#include <stdlib.h>
#include <time.h>

enum { DAY_S = 24 * 3600 };

/* --- budgets --- */

static int64_t today(void)
{
  return (int64_t)time(NULL) / DAY_S;
}

uint64_t rg_budget_spent(const struct rg_budget *b)
{
  return b->day == today() ? b->tokens : 0;
}

void rg_budget_spend(struct rg_budget *b, uint64_t tokens)
{
  b->tokens = rg_budget_spent(b) + tokens;
  b->day = today();
}

struct rg_budget *rg_budget_get(struct rg_budget **list, struct span name)
{
  for (struct rg_budget *b = *list; b; b = b->next)
    if (span_is(name, b->name)) return b;
  struct rg_budget *b = calloc(1, sizeof *b);
  char *copy = strndup(name.ptr, name.len);
  if (!b || !copy) {
    free(b);
    free(copy);
    return NULL;
  }
  b->name = copy;
  b->next = *list;
  *list = b;
  return b;
}

void rg_budgets_free(struct rg_budget *list)
{
  while (list) {
    struct rg_budget *b = list;
    list = b->next;
    free(b->name);
    free(b);
  }
}

/* --- chats --- */

static size_t bucket_of(const struct rg_account *account, bool group, struct span id)
{
  uint64_t hash = 0xcbf29ce484222325u ^ (uintptr_t)account ^ group; /* FNV-1a */
  for (size_t i = 0; i < id.len; i++) hash = (hash ^ (unsigned char)id.ptr[i]) * 0x100000001b3u;
  return (size_t)(hash ^ hash >> 32) % RG_CHAT_BUCKETS;
}

static void chat_free(struct rg_chat *c)
{
  rg_talk_done(&c->talk);
  free(c->members);
  free(c);
}

/* Gives one chat of a bucket that nobody works on back. */
static void forget_one(struct rg_chats *all, struct rg_chat **bucket)
{
  for (struct rg_chat **at = bucket; *at; at = &(*at)->next) {
    if ((*at)->runs > 0) continue;
    struct rg_chat *c = *at;
    *at = c->next;
    chat_free(c);
    all->count--;
    return;
  }
}

struct rg_chat *rg_chat_find(const struct rg_chats *all, const struct rg_account *account,
                             bool group, struct span id)
{
  struct rg_chat *c = all->buckets[bucket_of(account, group, id)];
  while (c && (c->account != account || c->group != group || !span_is(id, c->id))) c = c->next;
  return c;
}

struct rg_chat *rg_chat_get(struct rg_chats *all, struct rg_account *account, bool group,
                            struct span id)
{
  struct rg_chat *c = rg_chat_find(all, account, group, id);
  struct rg_chat **bucket = &all->buckets[bucket_of(account, group, id)];
  if (c || id.len == 0 || id.len >= RG_ID_MAX) return c;
  if (all->count >= RG_CHATS_MAX) forget_one(all, bucket);
  if (all->count >= RG_CHATS_MAX) return NULL;
  c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->account = account;
  c->group = group;
  memcpy(c->id, id.ptr, id.len);
  c->next = *bucket;
  *bucket = c;
  all->count++;
  return c;
}

void rg_chats_done(struct rg_chats *all)
{
  for (size_t i = 0; i < RG_CHAT_BUCKETS; i++)
    while (all->buckets[i]) {
      struct rg_chat *c = all->buckets[i];
      all->buckets[i] = c->next;
      chat_free(c);
    }
  all->count = 0;
}
