/* control: see control.h. */
#include "onebot/sandbox/control.h"

#include <inttypes.h>
#include <stdio.h>

#include "onebot/id.h"
#include "onebot/sandbox/reverse.h"
#include "onebot/sandbox/view.h"
#include "onebot/sandbox/wire.h"

/* One order being carried out. */
struct order {
  struct ob_sandbox *b;
  const struct schema_node *tree;
  int64_t message_id;          /* for the answer of say; 0: none */
  const struct ob_chat *shown; /* for the answer of shown */
  int64_t shown_count;
};

/* Each gives NULL or what is wrong. */
typedef const char *order_fn(struct order *o);

static const struct schema_node *member(const struct order *o, const char *name)
{
  return schema_tree_get(o->tree, name);
}

static bool number(const struct order *o, const char *name, int64_t *ret)
{
  return ob_id_read(schema_tree_id(member(o, name)), ret);
}

/* ---- what people do ---- */

static bool sound_segment(const struct schema_node *s)
{
  const struct schema_node *data = schema_tree_get(s, "data");
  return schema_tree_string(schema_tree_get(s, "type")).len > 0 &&
         (!data || data->kind == SCHEMA_OBJECT);
}

static void write_said(struct schema_writer *w, struct span text, const struct schema_node *array)
{
  schema_write_array(w);
  if (!array) {
    schema_write_object(w);
    schema_write_pair(w, "type", SPAN("text"));
    schema_write_key(w, SPAN("data"));
    schema_write_object(w);
    schema_write_pair(w, "text", text);
    schema_write_object_end(w);
    schema_write_object_end(w);
  }
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next) {
    const struct schema_node *data = schema_tree_get(s, "data");
    schema_write_object(w);
    schema_write_pair(w, "type", schema_tree_string(schema_tree_get(s, "type")));
    schema_write_key(w, SPAN("data"));
    schema_write_raw(w, data ? data->raw : SPAN("{}"));
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static const char *say(struct order *o)
{
  int64_t as, group = 0;
  const struct schema_node *array = member(o, "segments");
  struct span text = schema_tree_string(member(o, "text"));
  struct ob_world *world = &o->b->world;
  if (!number(o, "as", &as) || !ob_world_person(world, as)) return "as: no such person";
  if (!schema_tree_truth(member(o, "private"), false)) {
    if (!number(o, "group", &group) || !ob_world_member(world, group, as))
      return "group: no such group, or the person is not in it";
  }
  if (array && array->kind != SCHEMA_ARRAY) return "segments: an array is needed";
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next)
    if (!sound_segment(s)) return "segments: each needs a type and data";
  if (array ? array->count == 0 : text.len == 0) return "text or segments: nothing to say";
  struct buf segments;
  buf_init(&segments, OB_SANDBOX_FRAME_MAX);
  struct schema_writer w = { .out = &segments };
  write_said(&w, text, array);
  int64_t id = ob_world_new_id(world, ob_played_fact(o->b->played, "message_id"));
  const struct ob_said *said =
      segments.failed ? NULL
                      : ob_world_say(world, group, as, as, id, buf_span(&segments), SPAN("[]"));
  buf_done(&segments);
  if (!said) return "out of memory";
  ob_view_said(o->b, said, false);
  o->message_id = id;
  return NULL;
}

static struct ob_said *named(const struct order *o)
{
  int64_t id;
  return number(o, "message_id", &id) ? ob_world_said(&o->b->world, id) : NULL;
}

static const char *react(struct order *o)
{
  int64_t as;
  struct ob_said *said = named(o);
  struct span emoji = schema_tree_id(member(o, "emoji_id"));
  bool set = schema_tree_truth(member(o, "set"), true);
  if (!number(o, "as", &as) || !ob_world_person(&o->b->world, as)) return "as: no such person";
  if (!said) return "message_id: no such message";
  if (!ob_world_react(said, emoji, as, set)) return "emoji_id: it is so already, or no room";
  ob_view_reacted(o->b, said, emoji, as, set);
  return NULL;
}

static const char *recall(struct order *o)
{
  int64_t as;
  struct ob_said *said = named(o);
  if (!number(o, "as", &as) || !ob_world_person(&o->b->world, as)) return "as: no such person";
  if (!said || said->recalled) return "message_id: no such message";
  said->recalled = true;
  ob_view_recalled(o->b, said, as);
  return NULL;
}

/* ---- what the implementation does ---- */

static const char *fault(struct order *o)
{
  return ob_fault_order(&o->b->faults, o->tree);
}

static const char *clear(struct order *o)
{
  o->b->faults.count = 0;
  return NULL;
}

static const char *play(struct order *o)
{
  const char *name = ob_played_find(schema_tree_string(member(o, "profile")));
  if (!name) return "profile: no such implementation";
  o->b->played = name;
  ob_sandbox_beat(o->b);
  return NULL;
}

static bool one_of(struct span word, const char *const *words, size_t *ret)
{
  for (size_t i = 0; words[i]; i++) {
    if (!span_is(word, words[i])) continue;
    *ret = i;
    return true;
  }
  return false;
}

static const char *set(struct order *o)
{
  static const char *const formats[] = { "array", "string", NULL };
  static const char *const signs[] = { "up", "down", "unset", NULL };
  struct ob_switches *s = &o->b->switches;
  struct ob_switches next = *s;
  int64_t ms = next.heartbeat_ms;
  size_t format = next.string_form, sign = next.sign;
  const struct {
    const char *name;
    bool *to;
  } switches[] = { { "report_self", &next.report_self },
                   { "offline", &next.offline },
                   { "refuse_tokens", &next.refuse_tokens } };
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    *switches[i].to = schema_tree_truth(member(o, switches[i].name), *switches[i].to);
  next.no_heartbeat = !schema_tree_truth(member(o, "heartbeat"), !next.no_heartbeat);
  if (member(o, "message_format") &&
      !one_of(schema_tree_string(member(o, "message_format")), formats, &format))
    return "message_format: array or string";
  if (member(o, "sign") && !one_of(schema_tree_string(member(o, "sign")), signs, &sign))
    return "sign: up, down or unset";
  if (member(o, "heartbeat_ms") && (!number(o, "heartbeat_ms", &ms) || ms < 0 || ms > 3600000))
    return "heartbeat_ms: 0 to 3600000";
  next.string_form = format == 1;
  next.sign = (enum ob_sign)sign;
  next.heartbeat_ms = (unsigned)ms;
  *s = next;
  ob_sandbox_beat(o->b);
  return NULL;
}

static const char *mute(struct order *o)
{
  int64_t id;
  struct ob_group *g = number(o, "group", &id) ? ob_world_group(&o->b->world, id) : NULL;
  struct buf event;
  if (!g) return "group: no such group";
  g->muted = schema_tree_truth(member(o, "on"), true);
  buf_init(&event, 4096);
  struct schema_writer w = { .out = &event };
  ob_wire_ban(o->b, &w, g->id, g->muted);
  ob_view_event(o->b, buf_span(&event));
  buf_done(&event);
  return NULL;
}

static const char *role(struct order *o)
{
  static const char *const roles[] = { "owner", "admin", "member", NULL };
  int64_t group, user;
  size_t i;
  struct ob_member *m = number(o, "group", &group) && number(o, "user", &user)
                            ? ob_world_member(&o->b->world, group, user)
                            : NULL;
  if (!m) return "group, user: no such member";
  if (!one_of(schema_tree_string(member(o, "role")), roles, &i))
    return "role: owner, admin or member";
  m->role = roles[i];
  return NULL;
}

static const char *event(struct order *o)
{
  const struct schema_node *e = member(o, "event");
  if (!e || e->kind != SCHEMA_OBJECT) return "event: an object is needed";
  ob_view_event(o->b, e->raw);
  return NULL;
}

static const char *raw(struct order *o)
{
  const struct schema_node *text = member(o, "text");
  if (!text || text->kind != SCHEMA_STRING) return "text: a text is needed";
  ob_view_event(o->b, text->text);
  return NULL;
}

static const char *end_links(struct order *o)
{
  static const char *const ends[] = { "drop", "close", NULL };
  int64_t code = 1000, ms = 0;
  size_t end;
  if (!one_of(schema_tree_string(member(o, "end")), ends, &end)) return "end: drop or close";
  if (member(o, "code") && (!number(o, "code", &code) || code < 0 || code > 4999))
    return "code: 0 to 4999";
  if (member(o, "ms") && (!number(o, "ms", &ms) || ms < 0 || ms > OB_FAULT_MS_MAX))
    return "ms: 0 to 600000";
  if (end == 0) {
    ob_sandbox_restart(o->b, (unsigned)ms);
    return NULL;
  }
  for (size_t i = 0; i < OB_BOTS_MAX; i++) {
    ob_bot_end(&o->b->bots[i], false, (unsigned)code);
  }
  return NULL;
}

static const char *dial(struct order *o)
{
  int64_t ms = 0;
  if (member(o, "ms") && (!number(o, "ms", &ms) || ms < 0 || ms > OB_FAULT_MS_MAX))
    return "ms: 0 to 600000";
  return ob_reverse_dial(o->b, schema_tree_string(member(o, "url")),
                         schema_tree_string(member(o, "token")),
                         schema_tree_truth(member(o, "split"), false), (unsigned)ms);
}

static const char *shown(struct order *o)
{
  int64_t group = 0, user = 0;
  if (!number(o, "group", &group)) number(o, "user", &user);
  o->shown = ob_world_chat(&o->b->world, group, user);
  o->shown_count = 100;
  if (!o->shown) return "group, user: no such chat";
  if (member(o, "count") &&
      (!number(o, "count", &o->shown_count) || o->shown_count < 1 || o->shown_count > 500))
    return "count: 1 to 500";
  return NULL;
}

static const char *state(struct order *o)
{
  (void)o; /* the state is pushed after every order */
  return NULL;
}

static const struct {
  const char *name;
  order_fn *run;
  bool changes_state; /* of what the push "state" shows */
} orders[] = {
  { "say", say, false },     { "react", react, false }, { "recall", recall, false },
  { "fault", fault, true },  { "clear", clear, true },  { "play", play, true },
  { "set", set, true },      { "mute", mute, true },    { "role", role, true },
  { "event", event, false }, { "raw", raw, false },     { "link", end_links, false },
  { "dial", dial, false },   { "shown", shown, false }, { "state", state, true },
};

static const char *run(struct order *o)
{
  struct span name = schema_tree_string(member(o, "do"));
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    if (!span_is(name, orders[i].name)) continue;
    const char *wrong = orders[i].run(o);
    if (!wrong && orders[i].changes_state) ob_view_state(o->b, NULL);
    return wrong;
  }
  return "do: no such order";
}

static void write_shown(const struct order *o, struct schema_writer *w)
{
  size_t count = o->shown->count, most = (size_t)o->shown_count;
  schema_write_key(w, SPAN("messages"));
  schema_write_array(w);
  for (size_t i = count > most ? count - most : 0; i < count; i++)
    ob_view_write_message(w, ob_chat_at(o->shown, i));
  schema_write_array_end(w);
}

void ob_control_run(struct ob_sandbox *b, struct span request, struct buf *answer)
{
  struct arena arena;
  struct schema_node *tree = NULL;
  struct schema_error error;
  struct schema_writer w = { .out = answer };
  arena_init(&arena, OB_SANDBOX_ARENA_MAX);
  struct order o = { .b = b };
  const char *wrong = "a JSON object is needed";
  if (schema_tree_read(request, SCHEMA_DEPTH_EVENT, &arena, &tree, &error) == SCHEMA_OK &&
      tree->kind == SCHEMA_OBJECT) {
    o.tree = tree;
    wrong = run(&o);
  }
  const struct schema_node *id = schema_tree_get(tree, "id");
  schema_write_object(&w);
  schema_write_key(&w, SPAN("re"));
  schema_write_raw(&w, id ? id->raw : SPAN("null"));
  schema_write_key(&w, SPAN("ok"));
  schema_write_bool(&w, !wrong);
  if (wrong) schema_write_pair(&w, "error", span_of(wrong));
  if (o.message_id) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, o.message_id);
    schema_write_pair(&w, "message_id", span_of(text));
  }
  if (o.shown && !wrong) write_shown(&o, &w);
  schema_write_object_end(&w);
  arena_done(&arena);
}
