/* lookup: see lookup.h. */
#include "plugin/agent/lookup.h"

#include <stdlib.h>

#include "onebot/native.h"
#include "plugin/agent/talk.h"
#include "schema/print.h"

enum { RESPONSE_ARENA_MAX = 64 * 1024 * 1024 }; /* a group of 5,000 members is 3 MiB of text */

static const struct {
  uint32_t bit;
  struct rg_tool tool;
} tools[RG_LOOKUP_TOOLS] = {
  { RG_TOOL_FIND_MEMBER,
    { "find_member",
      "Finds members of this group by name or part of a name. Use it before you mention someone "
      "whose number you do not know: a mention needs the number.",
      SPAN_INIT("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
                "\"description\":\"The name, or a part of it\"}},\"required\":[\"name\"],"
                "\"additionalProperties\":false}") } },
  { RG_TOOL_GET_MESSAGE,
    { "get_message",
      "Reads one message of this chat by its id, for example the one that a reply_to names.",
      SPAN_INIT("{\"type\":\"object\",\"properties\":{\"message_id\":{\"type\":\"string\","
                "\"description\":\"The message_id\"}},\"required\":[\"message_id\"],"
                "\"additionalProperties\":false}") } },
};

size_t rg_lookup_tools(uint32_t mask, struct rg_tool ret[RG_LOOKUP_TOOLS])
{
  size_t n = 0;
  for (size_t i = 0; i < RG_LOOKUP_TOOLS; i++)
    if (mask & tools[i].bit) ret[n++] = tools[i].tool;
  return n;
}

uint32_t rg_lookup_of(uint32_t mask, struct span name)
{
  for (size_t i = 0; i < RG_LOOKUP_TOOLS; i++)
    if (mask & tools[i].bit && span_is(name, tools[i].tool.name)) return tools[i].bit;
  return 0;
}

struct span rg_lookup_argument(struct span arguments, const char *name, struct arena *arena)
{
  struct schema_node *tree = NULL;
  if (schema_tree_read(arguments, SCHEMA_DEPTH_EVENT, arena, &tree, NULL) != SCHEMA_OK)
    return (struct span) { NULL, 0 };
  return span_trim(schema_tree_id(schema_tree_get(tree, name)));
}

/* The data of an answer of the endpoint, or NULL. */
static const struct schema_node *data_of(struct span response, struct arena *arena)
{
  struct schema_node *tree = NULL;
  if (schema_tree_read(response, SCHEMA_DEPTH_EVENT, arena, &tree, NULL) != SCHEMA_OK) return NULL;
  return schema_tree_get(tree, "data");
}

static bool contains_nocase(struct span text, struct span part)
{
  for (size_t i = 0; i + part.len <= text.len; i++)
    if (span_eq_nocase((struct span) { text.ptr + i, part.len }, part)) return true;
  return false;
}

enum match { NO_MATCH, IN_PART, WHOLE };

static enum match match_of(const struct schema_node *member, struct span name)
{
  const struct span forms[] = { schema_tree_string(schema_tree_get(member, "card")),
                                schema_tree_string(schema_tree_get(member, "nickname")),
                                schema_tree_id(schema_tree_get(member, "user_id")) };
  enum match best = NO_MATCH;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (span_eq_nocase(forms[i], name)) return WHOLE;
    if (contains_nocase(forms[i], name)) best = IN_PART;
  }
  return best;
}

static void write_member(const struct schema_node *member, struct schema_writer *w)
{
  struct span card = schema_tree_string(schema_tree_get(member, "card"));
  struct span nickname = schema_tree_string(schema_tree_get(member, "nickname"));
  schema_write_object(w);
  schema_write_pair(w, "user_id", schema_tree_id(schema_tree_get(member, "user_id")));
  schema_write_pair(w, "name", span_trim(card).len > 0 ? card : nickname);
  schema_write_object_end(w);
}

void rg_lookup_members(struct span response, struct span name, struct buf *out)
{
  struct arena arena;
  struct schema_writer w = { .out = out };
  arena_init(&arena, RESPONSE_ARENA_MAX);
  const struct schema_node *data = data_of(response, &arena);
  const struct schema_node *first = data && data->kind == SCHEMA_ARRAY ? data->first : NULL;
  size_t n = 0;
  if (name.len > 0 && name.ptr[0] == '@') /* as people write it */
    name = (struct span) { name.ptr + 1, name.len - 1 };
  schema_write_array(&w);
  for (int wanted = WHOLE; wanted > NO_MATCH && name.len > 0; wanted--)
    for (const struct schema_node *m = first; m && n < RG_LOOKUP_FOUND_MAX; m = m->next) {
      if ((int)match_of(m, name) != wanted) continue;
      write_member(m, &w);
      n++;
    }
  schema_write_array_end(&w);
  arena_done(&arena);
}

void rg_lookup_message(struct span response, struct buf *out)
{
  struct arena arena;
  struct buf text;
  struct schema_writer w = { .out = out };
  arena_init(&arena, RESPONSE_ARENA_MAX);
  buf_init(&text, RG_LOOKUP_RESULT_MAX / 2);
  const struct schema_node *data = data_of(response, &arena);
  const struct schema_node *sender = schema_tree_get(data, "sender");
  struct span card = schema_tree_string(schema_tree_get(sender, "card"));
  rg_talk_text(ob_native_read(schema_tree_get(data, "message"), false, &arena), &text);
  if (!data || data->kind != SCHEMA_OBJECT) {
    buf_add(out, SPAN("{\"error\":\"no such message\"}"));
  } else {
    schema_write_object(&w);
    schema_write_pair(&w, "sender_id", schema_tree_id(schema_tree_get(sender, "user_id")));
    schema_write_pair(
        &w, "name", card.len > 0 ? card : schema_tree_string(schema_tree_get(sender, "nickname")));
    schema_write_pair(&w, "text", buf_span(&text));
    schema_write_object_end(&w);
  }
  buf_done(&text);
  arena_done(&arena);
}
