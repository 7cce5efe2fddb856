#include "onebot/event.h"

#include "onebot/id.h"
#include "onebot/native.h"

#define ANONYMOUS "80000000" /* the user_id that every anonymous member has */

static const char *const type_words[OB_EVENT_TYPE_COUNT] = {
  [OB_EVENT_GROUP] = "group", [OB_EVENT_PRIVATE] = "private", [OB_EVENT_GUILD] = "guild",
  [OB_EVENT_SELF] = "self",   [OB_EVENT_NOTICE] = "notice",   [OB_EVENT_REQUEST] = "request",
  [OB_EVENT_META] = "meta",   [OB_EVENT_OTHER] = "other",
};

/* From post_type: what it is, where its detail stands. A message is told apart further. */
static const struct {
  const char *post_type;
  enum ob_event_type type;
  const char *detail;
} posts[] = {
  { "message", OB_EVENT_OTHER, NULL },
  { "message_sent", OB_EVENT_SELF, NULL },
  { "notice", OB_EVENT_NOTICE, "notice_type" },
  { "request", OB_EVENT_REQUEST, "request_type" },
  { "meta_event", OB_EVENT_META, "meta_event_type" },
};

const char *ob_event_type_word(enum ob_event_type type)
{
  return type_words[type];
}

const char *ob_role_word(enum ob_role role)
{
  static const char *const words[] = { NULL, "member", "admin", "owner" };
  return words[role];
}

static bool string_is(const struct schema_node *object, const char *key, const char *value)
{
  return span_is(schema_tree_string(schema_tree_get(object, key)), value);
}

static bool set(const struct schema_node *node)
{
  return node && node->kind != SCHEMA_NULL;
}

/* The role that the implementation vouches for. In private there is none to have, and an anonymous
 * sender may carry anyone's. */
static enum ob_role read_role(const struct schema_node *event, const struct ob_event *e)
{
  if (string_is(event, "message_type", "private") || span_is(e->user_id, ANONYMOUS) ||
      set(schema_tree_get(event, "anonymous")))
    return OB_ROLE_NONE;
  struct span role = schema_tree_string(schema_tree_get(schema_tree_get(event, "sender"), "role"));
  for (int i = OB_ROLE_MEMBER; i <= OB_ROLE_OWNER; i++)
    if (span_is(role, ob_role_word((enum ob_role)i))) return (enum ob_role)i;
  return OB_ROLE_NONE;
}

static void read_name(const struct schema_node *event, struct ob_event *e)
{
  const struct schema_node *sender = schema_tree_get(event, "sender");
  e->sender_name = schema_tree_string(schema_tree_get(sender, "card"));
  if (e->sender_name.len == 0)
    e->sender_name = schema_tree_string(schema_tree_get(sender, "nickname"));
}

static const struct schema_node *datum(const struct schema_node *segment, const char *key)
{
  return schema_tree_get(schema_tree_get(segment, "data"), key);
}

/* Joins the texts of a message; one alone is lent as it is. */
static struct span join_texts(const struct schema_node *message, struct arena *arena)
{
  size_t n = 0, count = 0;
  struct span only = SPAN("");
  for (const struct schema_node *s = message->first; s; s = s->next) {
    if (!string_is(s, "type", "text")) continue;
    only = schema_tree_id(datum(s, "text"));
    n += only.len;
    count++;
  }
  if (count < 2) return only.ptr ? only : SPAN("");
  char *out = arena_alloc(arena, n);
  if (!out) return SPAN("");
  size_t at = 0;
  for (const struct schema_node *s = message->first; s; s = s->next) {
    if (!string_is(s, "type", "text")) continue;
    struct span text = schema_tree_id(datum(s, "text"));
    if (text.len) memcpy(out + at, text.ptr, text.len);
    at += text.len;
  }
  return (struct span) { out, n };
}

static void read_segments(const struct schema_node *message, struct arena *arena,
                          struct ob_event *e)
{
  bool replied = false;
  e->text = join_texts(message, arena);
  for (const struct schema_node *s = message->first; s; s = s->next) {
    struct span type = schema_tree_string(schema_tree_get(s, "type"));
    if (span_is(type, "at")) {
      struct span target = schema_tree_id(datum(s, "qq"));
      e->mentions_self = e->mentions_self || (target.len && span_eq(target, e->self_id));
    } else if (span_is(type, "reply") && !replied) {
      replied = true;
      e->reply_to = ob_id_of(datum(s, "id"));
      if (e->reply_to.len == 0) e->reply_to = ob_id_of(datum(s, "message_id"));
    }
  }
}

static enum ob_event_type message_type(const struct schema_node *event, const struct ob_event *e)
{
  static const struct {
    const char *word;
    enum ob_event_type type;
  } types[] = { { "group", OB_EVENT_GROUP },
                { "private", OB_EVENT_PRIVATE },
                { "guild", OB_EVENT_GUILD } };
  struct span tiny = ob_id_of(schema_tree_get(event, "self_tiny_id")); /* the bot in a guild */
  if (e->user_id.len && (span_eq(e->user_id, e->self_id) || span_eq(e->user_id, tiny)))
    return OB_EVENT_SELF;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (string_is(event, "message_type", types[i].word)) return types[i].type;
  return OB_EVENT_OTHER;
}

static void read_message(const struct schema_node *event, struct arena *arena, struct ob_event *e)
{
  if (string_is(event, "post_type", "message")) e->type = message_type(event, e);
  if (e->type == OB_EVENT_OTHER) {
    e->group_id = e->user_id = e->message_id = (struct span) { 0 };
    return;
  }
  /* a temporary session names a group, sometimes a false one: it is not where it was said */
  if (!string_is(event, "message_type", "group")) e->group_id = (struct span) { 0 };
  e->role = read_role(event, e);
  read_name(event, e);
  const struct schema_node *message =
      ob_native_read(schema_tree_get(event, "message"), false, arena);
  if (message) read_segments(message, arena, e);
}

void ob_event_from_tree(const struct schema_node *tree, struct span self_id, struct arena *arena,
                        struct ob_event *ret)
{
  *ret = (struct ob_event) { .type = OB_EVENT_OTHER, .text = SPAN(""), .tree = tree };
  ret->self_id = ob_id_of(schema_tree_get(tree, "self_id"));
  if (ret->self_id.len == 0) ret->self_id = self_id;
  for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
    if (!string_is(tree, "post_type", posts[i].post_type)) continue;
    ret->type = posts[i].type;
    if (posts[i].detail) ret->detail = schema_tree_string(schema_tree_get(tree, posts[i].detail));
    if (ret->type == OB_EVENT_META) return;
    ret->group_id = ob_id_of(schema_tree_get(tree, "group_id"));
    ret->user_id = ob_id_of(schema_tree_get(tree, "user_id"));
    ret->message_id = ob_id_of(schema_tree_get(tree, "message_id"));
    if (!posts[i].detail) read_message(tree, arena, ret);
    return;
  }
}

enum schema_code ob_event_read(struct span json, struct span self_id, struct arena *arena,
                               struct ob_event *ret, struct schema_error *reterr)
{
  struct schema_node *tree;
  enum schema_code code = schema_tree_read(json, SCHEMA_DEPTH_EVENT, arena, &tree, reterr);
  if (code != SCHEMA_OK) return code;
  if (tree->kind != SCHEMA_OBJECT)
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$", "an event is a JSON object");
  ob_event_from_tree(tree, self_id, arena, ret);
  return arena->failed ? schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL) : SCHEMA_OK;
}
