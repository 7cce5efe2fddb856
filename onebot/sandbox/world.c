/* world: see world.h. */
#include "onebot/sandbox/world.h"

#include <stdlib.h>
#include <time.h>

static const struct ob_person people[OB_WORLD_PEOPLE] = {
  { OB_WORLD_SELF, "机器人", false },
  { 10001, "群主", true },
  { 10002, "管理员", true },
  { 10003, "小明", true },
  { 10004, "小红", true },
  { 10005, "路人", false },
  { 10006, "新来的", false },
};

static const struct ob_group groups[OB_WORLD_GROUPS] = {
  { 123456789, "演示群", false },
  { 987654321, "测试群", false },
};

static const struct ob_member members[OB_WORLD_MEMBERS] = {
  { 123456789, 10001, "", "owner" },         { 123456789, 10002, "", "admin" },
  { 123456789, 10003, "明明", "member" },    { 123456789, 10004, "", "member" },
  { 123456789, 10005, "", "member" },        { 123456789, OB_WORLD_SELF, "小助手", "member" },
  { 987654321, 10003, "", "owner" },         { 987654321, 10001, "", "member" },
  { 987654321, 10004, "红红", "member" },    { 987654321, 10006, "", "member" },
  { 987654321, OB_WORLD_SELF, "", "admin" },
};

void ob_world_init(struct ob_world *w, uint64_t seed)
{
  memset(w, 0, sizeof *w);
  memcpy(w->people, people, sizeof people);
  memcpy(w->groups, groups, sizeof groups);
  memcpy(w->members, members, sizeof members);
  w->random = seed;
  size_t n = 0;
  for (size_t i = 0; i < OB_WORLD_GROUPS; i++) w->chats[n++].group = groups[i].id;
  for (size_t i = 0; i < OB_WORLD_PEOPLE; i++) w->chats[n++].user = people[i].id;
}

static size_t said_bytes(const struct ob_said *s)
{
  return sizeof *s + s->segments.len + s->notes.len;
}

static void forget_oldest(struct ob_world *w, struct ob_chat *c)
{
  struct ob_said *old = c->said[c->first];
  c->first = (c->first + 1) % OB_WORLD_MESSAGES;
  c->count--;
  w->bytes -= said_bytes(old);
  free((void *)old->segments.ptr);
  free((void *)old->notes.ptr);
  free(old);
}

void ob_world_done(struct ob_world *w)
{
  for (size_t i = 0; i < OB_WORLD_CHATS; i++)
    while (w->chats[i].count) forget_oldest(w, &w->chats[i]);
}

const struct ob_person *ob_world_person(const struct ob_world *w, int64_t user)
{
  for (size_t i = 0; i < OB_WORLD_PEOPLE; i++)
    if (w->people[i].id == user) return &w->people[i];
  return NULL;
}

struct ob_group *ob_world_group(struct ob_world *w, int64_t group)
{
  for (size_t i = 0; i < OB_WORLD_GROUPS; i++)
    if (w->groups[i].id == group) return &w->groups[i];
  return NULL;
}

struct ob_member *ob_world_member(struct ob_world *w, int64_t group, int64_t user)
{
  for (size_t i = 0; i < OB_WORLD_MEMBERS; i++)
    if (w->members[i].group == group && w->members[i].user == user) return &w->members[i];
  return NULL;
}

struct ob_chat *ob_world_chat(struct ob_world *w, int64_t group, int64_t user)
{
  for (size_t i = 0; i < OB_WORLD_CHATS; i++) {
    struct ob_chat *c = &w->chats[i];
    if (group ? c->group == group : c->group == 0 && c->user == user) return c;
  }
  return NULL;
}

struct ob_said *ob_chat_at(const struct ob_chat *c, size_t i)
{
  return c->said[(c->first + i) % OB_WORLD_MESSAGES];
}

/* splitmix64: even numbers from any seed, nothing to keep secret here */
uint64_t ob_world_draw(struct ob_world *w, uint64_t n)
{
  uint64_t z = w->random += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (z ^ (z >> 31)) % n;
}

int64_t ob_world_new_id(struct ob_world *w, struct span kind)
{
  for (;;) {
    int64_t id;
    if (span_is(kind, "long"))
      id = INT64_C(5000000000) + (int64_t)ob_world_draw(w, UINT64_C(95000000000));
    else if (span_is(kind, "signed"))
      id = (int64_t)ob_world_draw(w, UINT64_C(1) << 32) + INT32_MIN;
    else
      id = (int64_t)ob_world_draw(w, UINT64_C(1) << 31);
    if (id != 0 && !ob_world_said(w, id)) return id;
  }
}

static bool copy(struct span from, struct span *to)
{
  char *bytes = malloc(from.len + 1);
  if (!bytes) return false;
  if (from.len) memcpy(bytes, from.ptr, from.len);
  bytes[from.len] = '\0';
  *to = (struct span) { bytes, from.len };
  return true;
}

/* The chat whose oldest message goes when all of them together hold too much. */
static struct ob_chat *fullest(struct ob_world *w)
{
  struct ob_chat *most = &w->chats[0];
  for (size_t i = 1; i < OB_WORLD_CHATS; i++)
    if (w->chats[i].count > most->count) most = &w->chats[i];
  return most;
}

struct ob_said *ob_world_say(struct ob_world *w, int64_t group, int64_t user, int64_t sender,
                             int64_t id, struct span segments, struct span notes)
{
  struct ob_chat *c = ob_world_chat(w, group, user);
  struct ob_said *s = c ? calloc(1, sizeof *s) : NULL;
  if (!s) return NULL;
  *s = (struct ob_said) { .id = id,
                          .seq = ++w->seq,
                          .time = (int64_t)time(NULL),
                          .group = group,
                          .user = group ? 0 : user,
                          .sender = sender };
  if (!copy(segments, &s->segments) || !copy(notes, &s->notes)) {
    free((void *)s->segments.ptr);
    free(s);
    return NULL;
  }
  if (c->count == OB_WORLD_MESSAGES) forget_oldest(w, c);
  w->bytes += said_bytes(s);
  while (w->bytes > OB_WORLD_BYTES && fullest(w)->count) forget_oldest(w, fullest(w));
  c->said[(c->first + c->count++) % OB_WORLD_MESSAGES] = s;
  return s;
}

struct ob_said *ob_world_said(const struct ob_world *w, int64_t id)
{
  for (size_t i = 0; i < OB_WORLD_CHATS; i++) {
    const struct ob_chat *c = &w->chats[i];
    for (size_t k = c->count; k > 0; k--)
      if (ob_chat_at(c, k - 1)->id == id) return ob_chat_at(c, k - 1);
  }
  return NULL;
}

bool ob_world_react(struct ob_said *said, struct span emoji, int64_t user, bool set)
{
  size_t i = 0;
  while (i < said->reaction_count &&
         !(said->reactions[i].user == user && span_is(emoji, said->reactions[i].id)))
    i++;
  bool there = i < said->reaction_count;
  if (there == set) return false;
  if (!set) {
    size_t behind = said->reaction_count - i - 1;
    memmove(&said->reactions[i], &said->reactions[i + 1], behind * sizeof *said->reactions);
    said->reaction_count--;
    return true;
  }
  struct ob_reaction r = { .user = user };
  if (said->reaction_count == OB_WORLD_REACTIONS || emoji.len == 0 || emoji.len >= sizeof r.id)
    return false;
  memcpy(r.id, emoji.ptr, emoji.len);
  said->reactions[said->reaction_count++] = r;
  return true;
}
