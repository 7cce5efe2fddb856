/* history: the actions that read what was said: one message, the last ones of a chat, the nodes of a
 * forward (act.h). */
#include <stdio.h>

#include "onebot/id.h"
#include "onebot/sandbox/act.h"

enum {
  HISTORY_USUAL = 20, /* messages of an answer where the caller names no number */
  HISTORY_MOST = 100,
};

static struct schema_writer data(struct ob_act *a)
{
  return (struct schema_writer) { .out = &a->result->data };
}

void ob_act_get_msg(struct ob_act *a)
{
  int64_t id;
  if (!ob_act_number(a, "message_id", &id)) return;
  const struct ob_said *said = ob_world_said(&a->b->world, id);
  struct schema_writer w = data(a);
  if (said && said->recalled && ob_played_fact_is(a->b->played, "get_recalled", "silent"))
    a->result->silent = true;
  else if (!said || said->recalled)
    ob_act_refuse(a, "no_message", SPAN("message_id"));
  else
    ob_wire_message(a->b, &w, said, said->sender == OB_WORLD_SELF, a->arena);
}

/* Where a page of the history ends: behind the message that the parameters name, by its id or its
 * sequence as the implementation reads it; without one behind the newest. False: there is no such
 * message. */
static bool page_end(const struct ob_act *a, const struct ob_chat *c, size_t *ret)
{
  struct span rule = ob_played_fact(a->b->played, "history_start"), name = ob_word_next(&rule);
  char member[32];
  int64_t start;
  snprintf(member, sizeof member, "%.*s", (int)name.len, name.len ? name.ptr : "");
  *ret = c->count;
  if (!ob_id_read(schema_tree_id(schema_tree_get(a->params, member)), &start) || start == 0)
    return true;
  for (size_t i = 0; i < c->count; i++) {
    const struct ob_said *said = ob_chat_at(c, i);
    if ((span_is(rule, "seq") ? said->seq : said->id) != start) continue;
    *ret = i + 1;
    return true;
  }
  return false;
}

static int64_t page_size(const struct ob_act *a)
{
  int64_t count = HISTORY_USUAL;
  if (ob_played_fact_is(a->b->played, "history_count", "fixed")) return count;
  ob_id_read(schema_tree_id(schema_tree_get(a->params, "count")), &count);
  return count < 1 || count > HISTORY_MOST ? HISTORY_MOST : count;
}

/* The messages of a chat, the oldest of the page first. Lagrange's history of a friend has the newest
 * message in every place (its GetFriendMessageHistoryOperation.cs). */
static void history(struct ob_act *a, const struct ob_chat *c, bool same)
{
  size_t end = 0, begin, found = 0;
  int64_t left = page_size(a);
  bool known = c && page_end(a, c, &end);
  for (begin = end; begin > 0 && left > 0; begin--) left -= !ob_chat_at(c, begin - 1)->recalled;
  struct schema_writer w = data(a);
  schema_write_object(&w);
  schema_write_key(&w, SPAN("messages"));
  schema_write_array(&w);
  for (size_t i = begin; known && i < end; i++) {
    const struct ob_said *said = ob_chat_at(c, i);
    if (said->recalled) continue;
    if (same) said = ob_chat_at(c, end - 1);
    ob_wire_message(a->b, &w, said, said->sender == OB_WORLD_SELF, a->arena);
    found++;
  }
  schema_write_array_end(&w);
  schema_write_object_end(&w);
  if (found > 0 || ob_played_fact_is(a->b->played, "history_empty", "empty")) return;
  buf_clear(&a->result->data);
  ob_act_refuse(a, "history_empty", SPAN("undefined"));
}

void ob_act_group_history(struct ob_act *a)
{
  int64_t group;
  if (!ob_act_account(a, "group_id", &group)) return;
  if (ob_world_group(&a->b->world, group))
    history(a, ob_world_chat(&a->b->world, group, 0), false);
  else
    ob_act_refuse(a, "no_group", SPAN("group_id"));
}

void ob_act_friend_history(struct ob_act *a)
{
  int64_t user;
  if (!ob_act_account(a, "user_id", &user)) return;
  if (ob_world_person(&a->b->world, user))
    history(a, ob_world_chat(&a->b->world, 0, user),
            ob_played_fact_is(a->b->played, "history_friend", "same"));
  else
    ob_act_refuse(a, "no_user", SPAN("user_id"));
}

/* The forward segment with that id: its nodes as messages. */
void ob_act_get_forward_msg(struct ob_act *a)
{
  struct span id = schema_tree_id(schema_tree_get(a->params, "id"));
  if (!id.len) id = schema_tree_id(schema_tree_get(a->params, "message_id"));
  for (size_t i = 0; id.len && i < OB_WORLD_CHATS; i++) {
    for (size_t k = 0; k < a->b->world.chats[i].count; k++) {
      const struct ob_said *said = ob_chat_at(&a->b->world.chats[i], k);
      if (span_find(said->segments, id) == said->segments.len) continue;
      struct schema_node *array;
      struct schema_error error;
      if (schema_tree_read(said->segments, SCHEMA_DEPTH_EVENT, a->arena, &array, &error) !=
          SCHEMA_OK)
        continue;
      const struct schema_node *node = schema_tree_get(array->first, "data");
      if (!span_eq(schema_tree_string(schema_tree_get(node, "id")), id)) continue;
      const struct schema_node *content = schema_tree_get(node, "content");
      struct schema_writer w = data(a);
      schema_write_object(&w);
      schema_write_key(&w, SPAN("messages"));
      schema_write_raw(&w, content ? content->raw : SPAN("[]"));
      schema_write_object_end(&w);
      return;
    }
  }
  ob_act_refuse(a, "no_message", SPAN("id"));
}
