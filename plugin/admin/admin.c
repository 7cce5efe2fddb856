#include "plugin/admin/admin.h"

#include "onebot/id.h"

enum { ANSWER_MAX = 8 * 1024 }; /* bytes: one message that QQ still takes */

/* One command being done. */
struct act {
  const struct rg_admin *admin;
  struct span endpoint;
  const struct ob_event *event;
  const struct rg_command *command;
  enum rg_rank rank;
  struct rg_view view; /* of the group that the command is about */
  struct arena *arena;
  bool en;
  bool failed; /* out says why it could not be done */
  struct buf out;
};

/* printf into the answer, in its language; both formats take the same arguments. */
#define SAY(a, english, chinese, ...)                                                              \
  buf_printf(&(a)->out, (a)->en ? english : chinese, __VA_ARGS__)
#define TELL(a, english, chinese) buf_add(&(a)->out, (a)->en ? span_of(english) : span_of(chinese))
#define TEXT(span) (int)(span).len, (span).ptr

static enum schema_language language(const struct act *a)
{
  return a->en ? SCHEMA_EN : SCHEMA_ZH;
}

/* ---- the log ---- */

/* who and where, in front of what. */
static void audit(const struct act *a, struct span what)
{
  const struct ob_event *e = a->event;
  if (!a->admin->audit) return;
  struct span place = e->group_id.len > 0
                          ? arena_printf(a->arena, "in group %.*s", TEXT(e->group_id))
                          : SPAN("in private");
  struct span target = SPAN("");
  if (a->command->named)
    target = arena_printf(a->arena, " about group %llu", (unsigned long long)a->command->group);
  struct span line =
      arena_printf(a->arena, "command of %.*s %.*s at %.*s%.*s: %.*s", TEXT(e->user_id),
                   TEXT(place), TEXT(a->endpoint), TEXT(target), TEXT(what));
  if (line.ptr) a->admin->audit(a->admin->audit_ctx, line);
}

static void audit_change(const struct act *a, const char *op, const char *key,
                         const struct rg_change *change)
{
  audit(a, arena_printf(a->arena, "%s %s: %.*s -> %.*s", op, key, TEXT(change->old),
                        TEXT(change->now)));
}

/* ---- showing ---- */

static void add_origin(struct act *a, const struct rg_key *key)
{
  struct span name = a->view.endpoint ? a->view.endpoint->name : a->endpoint;
  unsigned long long group = a->view.group_id;
  switch (rg_view_origin(&a->view, key)) {
  case RG_FROM_BUILTIN: TELL(a, "default", "默认值"); return;
  case RG_FROM_DEFAULT: TELL(a, "groups.default", "groups.default"); return;
  case RG_FROM_GROUP: SAY(a, "groups.%llu", "groups.%llu", group); return;
  case RG_FROM_ENDPOINT_DEFAULT:
    SAY(a, "endpoints.%.*s.groups.default", "endpoints.%.*s.groups.default", TEXT(name));
    return;
  case RG_FROM_ENDPOINT_GROUP:
    SAY(a, "endpoints.%.*s.groups.%llu", "endpoints.%.*s.groups.%llu", TEXT(name), group);
    return;
  case RG_FROM_OVERRIDE: TELL(a, "set in the chat", "聊天里设置"); return;
  }
}

static void add_value(struct act *a, const struct rg_key *key)
{
  SAY(a, "%s: ", "%s：", key->name);
  rg_value_print(key, a->view.group, RG_PRINT_YAML, &a->out);
  TELL(a, " (", "（");
  add_origin(a, key);
  TELL(a, ")", "）");
}

static bool may_see(const struct act *a, const struct rg_key *key)
{
  return key->type != RG_KEY_SECTION &&
         (a->rank == RG_RANK_OPERATOR || !(key->flags & RG_KEY_OPERATOR));
}

static bool is_in(const struct rg_key *key, const struct rg_key *section)
{
  struct span name = span_of(key->name), whole = span_of(section->name);
  return span_starts(name, whole) && name.ptr[whole.len] == '.';
}

static void show_one(struct act *a, const struct rg_key *key)
{
  add_value(a, key);
  buf_add_char(&a->out, '\n');
  TELL(a, key->help_en, key->help_zh);
  TELL(a, "\nAllowed: ", "\n可填：");
  rg_key_allowed(key, language(a), &a->out);
}

static void do_show(struct act *a)
{
  const struct rg_key *one = a->command->key;
  const struct rg_keys *keys = &rg_keys[RG_SCOPE_GROUP];
  size_t shown = 0;
  if (one && one->type != RG_KEY_SECTION) {
    show_one(a, one);
    return;
  }
  for (size_t i = 0; i < keys->count; i++) {
    const struct rg_key *key = &keys->items[i];
    if (!may_see(a, key)) continue;
    if (one ? !is_in(key, one) : rg_view_origin(&a->view, key) == RG_FROM_BUILTIN) continue;
    if (shown++ > 0) buf_add_char(&a->out, '\n');
    add_value(a, key);
  }
  if (one) return;
  if (shown > 0)
    TELL(a, "\nThe rest are defaults.", "\n其余都是默认值。");
  else
    TELL(a, "All settings are defaults.", "全部是默认值。");
}

/* ---- help, status, groups ---- */

static void do_help(struct act *a)
{
  bool everywhere = a->rank == RG_RANK_OPERATOR;
  struct span prefix = a->view.config->command_prefix;
  SAY(a, "Commands, each after %.*s:\n", "命令，前面加 %.*s：\n", TEXT(prefix));
  for (size_t i = 0; i < RG_OP_COUNT; i++) {
    static const char *const arguments_en[RG_OP_COUNT] = {
      [RG_OP_SET] = " KEY VALUE", [RG_OP_RESET] = " [KEY]", [RG_OP_SHOW] = " [KEY]"
    };
    static const char *const arguments_zh[RG_OP_COUNT] = {
      [RG_OP_SET] = " 键 值", [RG_OP_RESET] = " [键]", [RG_OP_SHOW] = " [键]"
    };
    static const char *const zh[RG_OP_COUNT] = {
#define X(name, english, chinese) chinese,
      RG_OPS(X)
#undef X
    };
    struct rg_command probe = { .op = (enum rg_op)i };
    if (!rg_command_may(&probe, a->rank)) continue;
    const char *arguments = a->en ? arguments_en[i] : arguments_zh[i];
    if (i > 0) TELL(a, ", ", "｜");
    buf_add(&a->out, span_of(a->en ? rg_op_word((enum rg_op)i) : zh[i]));
    if (arguments) buf_add(&a->out, span_of(arguments));
  }
  if (everywhere)
    SAY(a, "\nAnother group: %.*s @123456789 off", "\n管别的群：%.*s @123456789 关", TEXT(prefix));
  TELL(a, "\nKeys: ", "\n键：");
  size_t shown = 0;
  for (size_t i = 0; i < rg_keys[RG_SCOPE_GROUP].count; i++) {
    const struct rg_key *key = &rg_keys[RG_SCOPE_GROUP].items[i];
    if (!may_see(a, key)) continue;
    if (shown++ > 0) TELL(a, ", ", "、");
    buf_add(&a->out, span_of(key->name));
  }
}

/* How many of the settings of a view were made in the chat. */
static size_t overrides(const struct rg_view *v)
{
  size_t n = 0;
  for (size_t i = 0; i < rg_keys[RG_SCOPE_GROUP].count; i++)
    n += rg_view_origin(v, &rg_keys[RG_SCOPE_GROUP].items[i]) == RG_FROM_OVERRIDE;
  return n;
}

static void add_state(struct act *a, const struct rg_view *v)
{
  const struct rg_group *g = v->group;
  size_t n = overrides(v);
  if (!g->enabled && g->off_means == RG_OFF_MUTE)
    TELL(a, "off, nothing is sent", "已停用，不发任何消息");
  else if (!g->enabled)
    TELL(a, "off, everything passes unjudged", "已停用，全部放行");
  else if (g->mode == RG_MODE_OBSERVE)
    TELL(a, "on, only observing", "已启用，只观察");
  else
    TELL(a, "on", "已启用");
  if (n > 0) SAY(a, ", %zu set in the chat", "，聊天里改了 %zu 项", n);
}

static void do_status(struct act *a)
{
  const struct rg_admin_runtime *run = &a->admin->runtime;
  if (a->command->group > 0)
    SAY(a, "Group %llu: ", "群 %llu：", (unsigned long long)a->command->group);
  else
    TELL(a, "Private chats: ", "私聊：");
  add_state(a, &a->view);
  if (!run->status) return;
  buf_add_char(&a->out, '\n');
  run->status(run->ctx, a->endpoint, a->command->group, language(a), &a->out);
}

static void do_groups(struct act *a)
{
  enum { SHOWN_MAX = 40 };
  struct rg_ids ids = rg_settings_groups(a->admin->settings, a->endpoint, a->arena);
  if (ids.count == 0) {
    TELL(a, "No group has settings of its own; groups.default holds for all.",
         "没有单独设置的群，全部按 groups.default。");
    return;
  }
  for (size_t i = 0; i < ids.count && i < SHOWN_MAX; i++) {
    struct rg_view v;
    rg_settings_view(a->admin->settings, a->endpoint, ids.items[i], &v);
    if (i > 0) buf_add_char(&a->out, '\n');
    SAY(a, "%llu: ", "%llu：", (unsigned long long)ids.items[i]);
    add_state(a, &v);
    rg_view_done(&v);
  }
  if (ids.count > SHOWN_MAX) SAY(a, "\n… %zu in all", "\n… 共 %zu 个", ids.count);
}

/* ---- changes ---- */

static void add_unsaved(struct act *a, enum rg_change_result result, struct span why)
{
  if (result != RG_CHANGED_UNSAVED) return;
  SAY(a, "\nIt could not be saved and ends with the program: %.*s",
      "\n没能保存，程序重启后失效：%.*s", TEXT(why));
}

/* Sets a key; says why not where it fails. */
static bool change(struct act *a, const struct rg_key *key, const struct rg_yaml *value,
                   struct rg_change *ret, enum rg_change_result *retresult)
{
  *retresult = rg_settings_set(a->admin->settings, a->endpoint, a->command->group, key, value,
                               a->event->user_id, language(a), a->arena, ret);
  if (*retresult == RG_NOT_CHANGED) {
    a->failed = true;
    buf_add(&a->out, ret->why);
    return false;
  }
  audit_change(a, "set", key->name, ret);
  return true;
}

static void do_set(struct act *a)
{
  struct rg_change c;
  enum rg_change_result result;
  const struct rg_key *key = a->command->key;
  if (!change(a, key, a->command->value, &c, &result)) return;
  if (span_eq(c.old, c.now))
    SAY(a, "%s: %.*s", "%s：%.*s", key->name, TEXT(c.now));
  else
    SAY(a, "%s: %.*s → %.*s", "%s：%.*s → %.*s", key->name, TEXT(c.old), TEXT(c.now));
  add_unsaved(a, result, c.why);
}

static void do_switch(struct act *a, bool on)
{
  struct rg_change c;
  enum rg_change_result result;
  struct rg_yaml value = { .kind = RG_YAML_SCALAR,
                           .plain = true,
                           .text = on ? SPAN("true") : SPAN("false") };
  if (!change(a, rg_key_find(RG_SCOPE_GROUP, SPAN("enabled")), &value, &c, &result)) return;
  struct rg_view now;
  rg_settings_view(a->admin->settings, a->endpoint, a->command->group, &now);
  SAY(a, "Group %llu: ", "群 %llu：", (unsigned long long)a->command->group);
  add_state(a, &now);
  rg_view_done(&now);
  add_unsaved(a, result, c.why);
}

static void do_reset(struct act *a)
{
  struct rg_change c;
  size_t count;
  const struct rg_key *key = a->command->key;
  enum rg_change_result result = rg_settings_reset(a->admin->settings, a->endpoint,
                                                   a->command->group, key, &count, a->arena, &c);
  if (result == RG_NOT_CHANGED) {
    a->failed = true;
    buf_add(&a->out, c.why);
    return;
  }
  if (count > 0 && key && key->type != RG_KEY_SECTION)
    audit_change(a, "reset", key->name, &c);
  else if (count > 0)
    audit(a, arena_printf(a->arena, "reset %s: %zu back to the configuration",
                          key ? key->name : "all", count));
  const char *what = key ? key->name : a->en ? "Settings" : "设置";
  if (count == 0)
    SAY(a, "%s: nothing was set in the chat.", "%s：聊天里没有改过。", what);
  else if (key && key->type != RG_KEY_SECTION)
    SAY(a, "%s: %.*s → %.*s, as configured", "%s：%.*s → %.*s，恢复为配置文件的值", what,
        TEXT(c.old), TEXT(c.now));
  else
    SAY(a, "%s: %zu back to the configuration.", "%s：%zu 项恢复为配置文件的值。", what, count);
  add_unsaved(a, result, c.why);
}

/* ---- what other parts do ---- */

static void do_last(struct act *a)
{
  const struct rg_admin_runtime *run = &a->admin->runtime;
  size_t before = a->out.len;
  if (run->last)
    run->last(run->ctx, a->endpoint, a->command->group, a->event->user_id, !a->view.group->privacy,
              language(a), &a->out);
  if (a->out.len == before) TELL(a, "Nothing was judged here yet.", "这里还没有记录。");
}

static void do_recall(struct act *a)
{
  const struct rg_admin_runtime *run = &a->admin->runtime;
  size_t before = a->out.len;
  if (run->recall) {
    audit(a, SPAN("recall"));
    run->recall(run->ctx, a->endpoint, a->command->group, a->event->user_id, language(a), &a->out);
  }
  if (a->out.len == before) TELL(a, "There is nothing to take back.", "没有可以撤回的消息。");
}

static void do_clear(struct act *a)
{
  const struct rg_admin_runtime *run = &a->admin->runtime;
  size_t before = a->out.len;
  if (run->clear) {
    audit(a, SPAN("clear"));
    run->clear(run->ctx, a->endpoint, a->command->group, a->event->user_id, language(a), &a->out);
  }
  if (a->out.len == before) TELL(a, "There is nothing to forget.", "没有可以清空的聊天记录。");
}

static void do_reload(struct act *a)
{
  const struct rg_admin_runtime *run = &a->admin->runtime;
  size_t before = a->out.len;
  if (!run->reload) {
    TELL(a, "There is no file to load again.", "没有可以重新读取的配置文件。");
    return;
  }
  bool fine = run->reload(run->ctx, language(a), &a->out);
  audit(a, fine ? SPAN("reload: done") : SPAN("reload: refused, the file has faults"));
  if (a->out.len > before) return;
  if (fine)
    TELL(a, "The configuration was loaded again.", "配置已重新读取。");
  else
    TELL(a, "The configuration has faults; the old one stays in force.",
         "配置有错误，仍用原来的。");
}

static void act(struct act *a)
{
  switch (a->command->op) {
  case RG_OP_HELP: do_help(a); return;
  case RG_OP_STATUS: do_status(a); return;
  case RG_OP_ON: do_switch(a, true); return;
  case RG_OP_OFF: do_switch(a, false); return;
  case RG_OP_SET: do_set(a); return;
  case RG_OP_RESET: do_reset(a); return;
  case RG_OP_SHOW: do_show(a); return;
  case RG_OP_LAST: do_last(a); return;
  case RG_OP_RECALL: do_recall(a); return;
  case RG_OP_CLEAR: do_clear(a); return;
  case RG_OP_GROUPS: do_groups(a); return;
  case RG_OP_RELOAD: do_reload(a); return;
  case RG_OP_COUNT: return;
  }
}

/* ---- the whole ---- */

static uint64_t group_of(const struct ob_event *event)
{
  int64_t id;
  if (event->group_id.len == 0) return 0;
  return ob_id_read(event->group_id, &id) && id > 0 ? (uint64_t)id : 0;
}

/* Does an allowed command, or says what is wrong with it. */
static void answer(struct act *a, struct rg_admin_answer *ret)
{
  buf_init(&a->out, ANSWER_MAX);
  a->en = a->view.config->language == SCHEMA_EN;
  if (a->command->fault.len > 0)
    buf_add(&a->out, a->command->fault);
  else
    act(a);
  ret->text = arena_copy(a->arena, buf_span(&a->out));
  if (a->failed) ret->command.fault = ret->text;
  buf_done(&a->out);
}

enum rg_admin_result rg_admin_handle(const struct rg_admin *admin, struct span endpoint,
                                     const struct ob_event *event, const struct rg_ids *own,
                                     struct arena *arena, struct rg_admin_answer *ret)
{
  struct act a = { .admin = admin, .endpoint = endpoint, .event = event, .arena = arena };
  struct rg_view here;
  struct span rest;
  *ret = (struct rg_admin_answer) { .command = { .op = RG_OP_COUNT } };
  rg_settings_view(admin->settings, endpoint, group_of(event), &here);
  enum rg_admin_result result = RG_ADMIN_NOT_A_COMMAND;
  if (!rg_command_find(event, here.config->command_prefix, arena, &rest)) goto done;
  result = RG_ADMIN_DENIED;
  a.command = &ret->command;
  a.rank = rg_command_rank(event, &here, own);
  bool read = a.rank != RG_RANK_NONE &&
              rg_command_read(event, rest, &here, a.rank == RG_RANK_OPERATOR, arena, &ret->command);
  if (!read || !rg_command_may(&ret->command, a.rank)) {
    audit(&a, SPAN("refused: its sender may not command here"));
    goto done;
  }
  result = RG_ADMIN_DONE;
  rg_settings_view(admin->settings, endpoint, ret->command.group, &a.view);
  answer(&a, ret);
  rg_view_done(&a.view);
done:
  rg_view_done(&here);
  return result;
}
