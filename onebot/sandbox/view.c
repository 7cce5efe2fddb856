/* view: see view.h. */
#include "onebot/sandbox/view.h"

#include "onebot/sandbox/reverse.h"

#include <inttypes.h>
#include <stdio.h>

#include "onebot/sandbox/wire.h"

static void push(struct ob_sandbox *b, struct ob_viewer *viewer, struct span text)
{
  for (size_t i = 0; i < OB_VIEWERS_MAX; i++) {
    struct ob_viewer *v = &b->viewers[i];
    if (v->peer && (!viewer || viewer == v)) ob_peer_send(v->peer, text);
  }
}

static bool anyone_looks(const struct ob_sandbox *b)
{
  for (size_t i = 0; i < OB_VIEWERS_MAX; i++)
    if (b->viewers[i].peer) return true;
  return false;
}

static void pair_number(struct schema_writer *w, const char *key, int64_t n)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, n);
}

static void pair_bool(struct schema_writer *w, const char *key, bool b)
{
  schema_write_key(w, span_of(key));
  schema_write_bool(w, b);
}

/* ---- messages ---- */

/* A tree as it is, but without texts that are too long for a page: "…" and their size. Depth is
 * bounded by the reader. */
static void write_short(struct schema_writer *w, const struct schema_node *node)
{
  if (node->kind == SCHEMA_STRING && node->text.len > OB_VIEW_STRING_MAX) {
    char text[64];
    snprintf(text, sizeof text, "too-long:%zu", node->text.len);
    schema_write_string(w, span_of(text));
    return;
  }
  if (node->kind != SCHEMA_ARRAY && node->kind != SCHEMA_OBJECT) {
    schema_write_tree(w, node);
    return;
  }
  bool object = node->kind == SCHEMA_OBJECT;
  if (object)
    schema_write_object(w);
  else
    schema_write_array(w);
  for (const struct schema_node *m = node->first; m; m = m->next) {
    if (object) schema_write_key(w, m->key);
    write_short(w, m);
  }
  if (object)
    schema_write_object_end(w);
  else
    schema_write_array_end(w);
}

static void write_segments(struct schema_writer *w, const struct ob_said *said)
{
  struct arena arena;
  struct schema_node *array;
  struct schema_error error;
  if (said->segments.len <= OB_VIEW_STRING_MAX) {
    schema_write_raw(w, said->segments);
    return;
  }
  arena_init(&arena, OB_SANDBOX_ARENA_MAX);
  if (schema_tree_read(said->segments, SCHEMA_DEPTH_EVENT, &arena, &array, &error) == SCHEMA_OK)
    write_short(w, array);
  else
    schema_write_raw(w, SPAN("[]"));
  arena_done(&arena);
}

static void write_reactions(struct schema_writer *w, const struct ob_said *said)
{
  schema_write_array(w);
  for (size_t i = 0; i < said->reaction_count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "emoji_id", span_of(said->reactions[i].id));
    pair_number(w, "user_id", said->reactions[i].user);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

void ob_view_write_message(struct schema_writer *w, const struct ob_said *said)
{
  char id[24];
  snprintf(id, sizeof id, "%" PRId64, said->id);
  schema_write_object(w);
  schema_write_pair(w, "push", SPAN("message"));
  schema_write_pair(w, "message_id", span_of(id));
  pair_number(w, "seq", said->seq);
  pair_number(w, "time", said->time);
  pair_number(w, "group_id", said->group);
  pair_number(w, "user_id", said->user);
  pair_number(w, "sender", said->sender);
  pair_bool(w, "recalled", said->recalled);
  pair_bool(w, "unseen", said->unseen);
  schema_write_key(w, SPAN("segments"));
  write_segments(w, said);
  schema_write_key(w, SPAN("notes"));
  schema_write_raw(w, said->notes.len ? said->notes : SPAN("[]"));
  schema_write_key(w, SPAN("reactions"));
  write_reactions(w, said);
  schema_write_object_end(w);
}

void ob_view_message(struct ob_sandbox *b, struct ob_viewer *viewer, const struct ob_said *said)
{
  if (!anyone_looks(b)) return;
  struct buf text;
  buf_init(&text, OB_SANDBOX_FRAME_MAX);
  struct schema_writer w = { .out = &text };
  ob_view_write_message(&w, said);
  if (!text.failed) push(b, viewer, buf_span(&text));
  buf_done(&text);
}

/* ---- frames ---- */

void ob_view_frame(struct ob_sandbox *b, const struct ob_bot *bot, const char *way,
                   struct span text)
{
  b->frames++;
  if (!anyone_looks(b)) return;
  struct buf out;
  buf_init(&out, 4 * OB_VIEW_TEXT_MAX + 4096);
  struct schema_writer w = { .out = &out };
  struct span shown = text;
  if (shown.len > OB_VIEW_TEXT_MAX) shown.len = OB_VIEW_TEXT_MAX;
  shown.len = span_utf8_fault(shown); /* cut within a character, or no text at all */
  schema_write_object(&w);
  schema_write_pair(&w, "push", SPAN("frame"));
  pair_number(&w, "n", (int64_t)b->frames);
  schema_write_pair(&w, "way", span_of(way));
  pair_number(&w, "bot", bot ? bot->number : 0);
  pair_number(&w, "bytes", (int64_t)text.len);
  pair_bool(&w, "cut", shown.len < text.len);
  schema_write_pair(&w, "text", shown);
  schema_write_object_end(&w);
  if (!out.failed) push(b, NULL, buf_span(&out));
  buf_done(&out);
}

/* ---- state ---- */

static void write_people(struct schema_writer *w, const struct ob_world *world)
{
  schema_write_array(w);
  for (size_t i = 0; i < OB_WORLD_PEOPLE; i++) {
    const struct ob_person *p = &world->people[i];
    schema_write_object(w);
    pair_number(w, "user_id", p->id);
    schema_write_pair(w, "name", span_of(p->name));
    pair_bool(w, "friend", p->is_friend);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static void write_groups(struct schema_writer *w, const struct ob_world *world)
{
  schema_write_array(w);
  for (size_t i = 0; i < OB_WORLD_GROUPS; i++) {
    const struct ob_group *g = &world->groups[i];
    schema_write_object(w);
    pair_number(w, "group_id", g->id);
    schema_write_pair(w, "name", span_of(g->name));
    pair_bool(w, "muted", g->muted);
    schema_write_key(w, SPAN("members"));
    schema_write_array(w);
    for (size_t k = 0; k < OB_WORLD_MEMBERS; k++) {
      const struct ob_member *m = &world->members[k];
      if (m->group != g->id) continue;
      schema_write_object(w);
      pair_number(w, "user_id", m->user);
      schema_write_pair(w, "card", span_of(m->card));
      schema_write_pair(w, "role", span_of(m->role));
      schema_write_object_end(w);
    }
    schema_write_array_end(w);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static void write_switches(struct schema_writer *w, const struct ob_switches *s)
{
  static const char *const signs[] = { "up", "down", "unset" };
  schema_write_object(w);
  schema_write_pair(w, "message_format", s->string_form ? SPAN("string") : SPAN("array"));
  pair_bool(w, "report_self", s->report_self);
  pair_bool(w, "offline", s->offline);
  pair_bool(w, "refuse_tokens", s->refuse_tokens);
  pair_bool(w, "heartbeat", !s->no_heartbeat);
  pair_number(w, "heartbeat_ms", s->heartbeat_ms);
  schema_write_pair(w, "sign", span_of(signs[s->sign]));
  schema_write_object_end(w);
}

static void write_faults(struct schema_writer *w, const struct ob_faults *faults)
{
  schema_write_array(w);
  for (size_t i = 0; i < faults->count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "action", span_of(faults->list[i].action));
    schema_write_pair(w, "kind", span_of(ob_fault_word(faults->list[i].kind)));
    pair_number(w, "count", faults->list[i].count);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

void ob_view_state(struct ob_sandbox *b, struct ob_viewer *viewer)
{
  if (!anyone_looks(b)) return;
  struct buf text;
  buf_init(&text, 256 * 1024);
  struct schema_writer w = { .out = &text };
  int64_t bots = 0;
  for (size_t i = 0; i < OB_BOTS_MAX; i++) bots += ob_bot_live(&b->bots[i]);
  schema_write_object(&w);
  schema_write_pair(&w, "push", SPAN("state"));
  schema_write_pair(&w, "profile", span_of(b->played));
  schema_write_pair(&w, "app_name", ob_played_fact(b->played, "app_name"));
  schema_write_key(&w, SPAN("profiles"));
  schema_write_array(&w);
  for (size_t i = 0; ob_played_names[i]; i++) schema_write_string(&w, span_of(ob_played_names[i]));
  schema_write_array_end(&w);
  schema_write_key(&w, SPAN("faults_known"));
  schema_write_array(&w);
  for (size_t i = 1; i < OB_FAULT_KIND_COUNT; i++)
    schema_write_string(&w, span_of(ob_fault_word((enum ob_fault_kind)i)));
  schema_write_array_end(&w);
  schema_write_pair(&w, "link", span_of(b->link_url));
  pair_number(&w, "self_id", OB_WORLD_SELF);
  pair_number(&w, "bots", bots);
  pair_number(&w, "connections", b->connections);
  schema_write_key(&w, SPAN("people"));
  write_people(&w, &b->world);
  schema_write_key(&w, SPAN("groups"));
  write_groups(&w, &b->world);
  schema_write_key(&w, SPAN("switches"));
  write_switches(&w, &b->switches);
  schema_write_key(&w, SPAN("faults"));
  write_faults(&w, &b->faults);
  schema_write_object_end(&w);
  if (!text.failed) push(b, viewer, buf_span(&text));
  buf_done(&text);
}

void ob_view_all(struct ob_sandbox *b, struct ob_viewer *viewer)
{
  ob_view_state(b, viewer);
  for (size_t i = 0; i < OB_WORLD_CHATS; i++)
    for (size_t k = 0; k < b->world.chats[i].count; k++)
      ob_view_message(b, viewer, ob_chat_at(&b->world.chats[i], k));
}

/* ---- events ---- */

void ob_view_event(struct ob_sandbox *b, struct span event)
{
  for (size_t i = 0; i < OB_BOTS_MAX; i++)
    if (ob_bot_live(&b->bots[i]) && b->bots[i].events) ob_bot_send(&b->bots[i], event);
  ob_view_frame(b, NULL, "event", event);
}

void ob_view_said(struct ob_sandbox *b, const struct ob_said *said, bool told)
{
  bool own = said->sender == OB_WORLD_SELF;
  ob_view_message(b, NULL, said);
  if (own && !told && !b->switches.report_self) return;
  struct arena arena;
  struct buf event;
  arena_init(&arena, OB_SANDBOX_ARENA_MAX);
  buf_init(&event, OB_SANDBOX_FRAME_MAX);
  struct schema_writer w = { .out = &event };
  ob_wire_message(b, &w, said, own, &arena);
  if (!event.failed) ob_view_event(b, buf_span(&event));
  buf_done(&event);
  arena_done(&arena);
}

void ob_view_reacted(struct ob_sandbox *b, const struct ob_said *said, struct span emoji,
                     int64_t user, bool set)
{
  struct buf event;
  ob_view_message(b, NULL, said);
  buf_init(&event, 4096);
  struct schema_writer w = { .out = &event };
  if (ob_wire_reaction(b, &w, said, emoji, user, set)) ob_view_event(b, buf_span(&event));
  buf_done(&event);
}

void ob_view_recalled(struct ob_sandbox *b, const struct ob_said *said, int64_t operator_id)
{
  struct buf event;
  ob_view_message(b, NULL, said);
  buf_init(&event, 4096);
  struct schema_writer w = { .out = &event };
  ob_wire_recall(b, &w, said, operator_id);
  ob_view_event(b, buf_span(&event));
  buf_done(&event);
}
