/* act: the table of actions, and those that only read (act.h). */
#include "onebot/sandbox/act.h"

#include "onebot/id.h"

void ob_act_refuse(struct ob_act *a, const char *fact, struct span detail)
{
  struct ob_failure f = ob_played_failure(a->b->played, fact);
  a->result->refused = true;
  a->result->retcode = f.retcode;
  ob_failure_print(&f, detail, &a->result->text);
}

bool ob_act_number(struct ob_act *a, const char *name, int64_t *ret)
{
  if (ob_id_read(schema_tree_id(schema_tree_get(a->params, name)), ret)) return true;
  ob_act_refuse(a, "bad_params", span_of(name));
  return false;
}

bool ob_act_account(struct ob_act *a, const char *name, int64_t *ret)
{
  int64_t max = INT64_MAX;
  if (!ob_act_number(a, name, ret)) return false;
  ob_id_read(ob_played_fact(a->b->played, "id_max"), &max);
  if (*ret > max || (*ret < 0 && max < INT64_MAX)) { /* an unsigned number overflows */
    ob_act_refuse(a, "bad_params", span_of(name));
    return false;
  }
  *ret = ob_wire_id_back(a->b, *ret);
  return true;
}

static struct schema_writer data(struct ob_act *a)
{
  return (struct schema_writer) { .out = &a->result->data };
}

static void pair_number(struct schema_writer *w, const char *key, int64_t n)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, n);
}

/* ---- who and where ---- */

static void get_login_info(struct ob_act *a)
{
  struct schema_writer w = data(a);
  schema_write_object(&w);
  pair_number(&w, "user_id", OB_WORLD_SELF);
  schema_write_pair(&w, "nickname", span_of(ob_world_person(&a->b->world, OB_WORLD_SELF)->name));
  schema_write_object_end(&w);
}

static void get_version_info(struct ob_act *a)
{
  struct schema_writer w = data(a);
  schema_write_object(&w);
  schema_write_pair(&w, "app_name", ob_played_fact(a->b->played, "app_name"));
  schema_write_pair(&w, "app_version", ob_played_fact(a->b->played, "app_version"));
  schema_write_pair(&w, "protocol_version", SPAN("v11"));
  schema_write_object_end(&w);
}

static void get_status(struct ob_act *a)
{
  struct schema_writer w = data(a);
  ob_wire_status(a->b, &w);
}

static int64_t members_of(const struct ob_world *world, int64_t group)
{
  int64_t n = 0;
  for (size_t i = 0; i < OB_WORLD_MEMBERS; i++) n += world->members[i].group == group;
  return n;
}

static void write_group(struct ob_act *a, struct schema_writer *w, const struct ob_group *g)
{
  schema_write_object(w);
  ob_wire_write_id(a->b, w, "group_id", g->id);
  schema_write_pair(w, "group_name", span_of(g->name));
  pair_number(w, "member_count", members_of(&a->b->world, g->id));
  pair_number(w, "max_member_count", 200);
  schema_write_object_end(w);
}

static void get_group_list(struct ob_act *a)
{
  struct schema_writer w = data(a);
  schema_write_array(&w);
  for (size_t i = 0; i < OB_WORLD_GROUPS; i++) write_group(a, &w, &a->b->world.groups[i]);
  schema_write_array_end(&w);
}

/* The group that the parameters name, or NULL and refused. */
static struct ob_group *named_group(struct ob_act *a)
{
  int64_t id;
  if (!ob_act_account(a, "group_id", &id)) return NULL;
  struct ob_group *g = ob_world_group(&a->b->world, id);
  if (!g) ob_act_refuse(a, "no_group", SPAN("group_id"));
  return g;
}

static void get_group_info(struct ob_act *a)
{
  struct ob_group *g = named_group(a);
  struct schema_writer w = data(a);
  if (g) write_group(a, &w, g);
}

static void write_member(struct ob_act *a, struct schema_writer *w, const struct ob_member *m)
{
  schema_write_object(w);
  ob_wire_write_id(a->b, w, "group_id", m->group);
  ob_wire_write_id(a->b, w, "user_id", m->user);
  schema_write_pair(w, "nickname", span_of(ob_world_person(&a->b->world, m->user)->name));
  schema_write_pair(w, "card", span_of(m->card));
  schema_write_pair(w, "sex", SPAN("unknown"));
  pair_number(w, "age", 0);
  schema_write_pair(w, "area", SPAN(""));
  pair_number(w, "join_time", a->b->started);
  pair_number(w, "last_sent_time", a->b->started);
  schema_write_pair(w, "level", SPAN("1"));
  schema_write_pair(w, "role", span_of(m->role));
  schema_write_pair(w, "title", SPAN(""));
  schema_write_key(w, SPAN("card_changeable"));
  schema_write_bool(w, true);
  pair_number(w, "shut_up_timestamp", 0);
  schema_write_object_end(w);
}

static void get_group_member_list(struct ob_act *a)
{
  struct ob_group *g = named_group(a);
  if (!g) return;
  struct schema_writer w = data(a);
  schema_write_array(&w);
  for (size_t i = 0; i < OB_WORLD_MEMBERS; i++)
    if (a->b->world.members[i].group == g->id) write_member(a, &w, &a->b->world.members[i]);
  schema_write_array_end(&w);
}

static void get_group_member_info(struct ob_act *a)
{
  int64_t user;
  struct ob_group *g = named_group(a);
  if (!g || !ob_act_account(a, "user_id", &user)) return;
  struct ob_member *m = ob_world_member(&a->b->world, g->id, user);
  struct schema_writer w = data(a);
  if (m)
    write_member(a, &w, m);
  else
    ob_act_refuse(a, "no_user", SPAN("user_id"));
}

static void write_person(struct ob_act *a, struct schema_writer *w, const struct ob_person *p)
{
  schema_write_object(w);
  ob_wire_write_id(a->b, w, "user_id", p->id);
  schema_write_pair(w, "nickname", span_of(p->name));
  schema_write_pair(w, "remark", SPAN(""));
  schema_write_pair(w, "sex", SPAN("unknown"));
  pair_number(w, "age", 0);
  schema_write_object_end(w);
}

static void get_friend_list(struct ob_act *a)
{
  struct schema_writer w = data(a);
  schema_write_array(&w);
  for (size_t i = 0; i < OB_WORLD_PEOPLE; i++)
    if (a->b->world.people[i].is_friend) write_person(a, &w, &a->b->world.people[i]);
  schema_write_array_end(&w);
}

static void get_stranger_info(struct ob_act *a)
{
  int64_t user;
  if (!ob_act_account(a, "user_id", &user)) return;
  const struct ob_person *p = ob_world_person(&a->b->world, user);
  struct schema_writer w = data(a);
  if (p)
    write_person(a, &w, p);
  else
    ob_act_refuse(a, "no_user", SPAN("user_id"));
}

static void get_group_at_all_remain(struct ob_act *a)
{
  struct ob_group *g = named_group(a);
  if (!g) return;
  bool can = strcmp(ob_world_member(&a->b->world, g->id, OB_WORLD_SELF)->role, "member") != 0;
  struct schema_writer w = data(a);
  schema_write_object(&w);
  schema_write_key(&w, SPAN("can_at_all"));
  schema_write_bool(&w, can);
  pair_number(&w, "remain_at_all_count_for_group", can ? 20 : 0);
  pair_number(&w, "remain_at_all_count_for_uin", can ? 10 : 0);
  schema_write_object_end(&w);
}

static void can_send(struct ob_act *a)
{
  struct schema_writer w = data(a);
  schema_write_raw(&w, SPAN("{\"yes\":true}"));
}

static const struct {
  const char *name;
  ob_act_fn *run;
} actions[] = {
  { ".handle_quick_operation", ob_act_quick_operation },
  { "can_send_image", can_send },
  { "can_send_record", can_send },
  { "delete_msg", ob_act_delete_msg },
  { "get_forward_msg", ob_act_get_forward_msg },
  { "get_friend_list", get_friend_list },
  { "get_friend_msg_history", ob_act_friend_history },
  { "get_group_at_all_remain", get_group_at_all_remain },
  { "get_group_info", get_group_info },
  { "get_group_list", get_group_list },
  { "get_group_member_info", get_group_member_info },
  { "get_group_member_list", get_group_member_list },
  { "get_group_msg_history", ob_act_group_history },
  { "get_login_info", get_login_info },
  { "get_msg", ob_act_get_msg },
  { "get_status", get_status },
  { "get_stranger_info", get_stranger_info },
  { "get_version_info", get_version_info },
  { "send_forward_msg", ob_act_send_forward_msg },
  { "send_group_forward_msg", ob_act_send_group_forward_msg },
  { "send_group_msg", ob_act_send_group_msg },
  { "send_msg", ob_act_send_msg },
  { "send_private_forward_msg", ob_act_send_private_forward_msg },
  { "send_private_msg", ob_act_send_private_msg },
  { "set_group_reaction", ob_act_group_reaction },
  { "set_msg_emoji_like", ob_act_emoji_like },
  { "unset_msg_emoji_like", ob_act_unset_emoji_like },
  { "upload_group_file", ob_act_upload_group_file },
  { "upload_private_file", ob_act_upload_private_file },
};

static ob_act_fn *find(const struct ob_sandbox *b, struct span action)
{
  if (!span_is(ob_played_cell(b->played, OB_TABLE_ACTIONS, action), "yes")) return NULL;
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (span_is(action, actions[i].name)) return actions[i].run;
  return NULL;
}

bool ob_act_known(const struct ob_sandbox *b, struct span action)
{
  return find(b, action) != NULL;
}

bool ob_act_run(struct ob_act *a, struct span action)
{
  ob_act_fn *run = find(a->b, action);
  if (!run) return false;
  run(a);
  return true;
}
