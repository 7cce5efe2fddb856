#include "onebot/action.h"

#include "onebot/id.h"
#include "onebot/inspect.h"
#include "onebot/mediaref.h"

#define ROW(name, kind, target, text)                                                              \
  {                                                                                                \
    name, sizeof name - 1, kind, target, text                                                      \
  }
const struct ob_action_row ob_action_rows[] = {
  ROW("send_msg", OB_ACTION_MESSAGE, OB_TO_GIVEN, NULL),
  ROW("send_group_msg", OB_ACTION_MESSAGE, OB_TO_GROUP, NULL),
  ROW("send_private_msg", OB_ACTION_MESSAGE, OB_TO_PRIVATE, NULL),
  ROW("send_guild_channel_msg", OB_ACTION_MESSAGE, OB_TO_GUILD, NULL),
  ROW("send_forward_msg", OB_ACTION_FORWARD, OB_TO_GIVEN, NULL),
  ROW("send_group_forward_msg", OB_ACTION_FORWARD, OB_TO_GROUP, NULL),
  ROW("send_private_forward_msg", OB_ACTION_FORWARD, OB_TO_PRIVATE, NULL),
  ROW(".handle_quick_operation", OB_ACTION_QUICK, OB_TO_GIVEN, NULL),
  ROW("upload_group_file", OB_ACTION_UPLOAD, OB_TO_GROUP, NULL),
  ROW("upload_private_file", OB_ACTION_UPLOAD, OB_TO_PRIVATE, NULL),
  ROW("_send_group_notice", OB_ACTION_NOTICE, OB_TO_GROUP, "content"),
  ROW("send_qzone_msg", OB_ACTION_NOTICE, OB_TO_GIVEN, "content"),
  ROW("send_group_ai_record", OB_ACTION_NOTICE, OB_TO_GROUP, "text"),
  ROW("send_packet", OB_ACTION_DENIED, OB_TO_GIVEN, NULL),
  ROW(".send_packet", OB_ACTION_DENIED, OB_TO_GIVEN, NULL),
  ROW("send_pb", OB_ACTION_DENIED, OB_TO_GIVEN, NULL),
  ROW("llonebot_debug", OB_ACTION_DENIED, OB_TO_GIVEN, NULL),
  { NULL, 0, OB_ACTION_OTHER, OB_TO_GIVEN, NULL },
};

const char *ob_action_verdict_word(enum ob_action_verdict verdict)
{
  static const char *const words[] = { "pass", "replace", "drop" };
  return words[verdict];
}

/* ---- names ---- */

/* NapCat and LLBot run X_async and X_rate_limited as plain X, so both are cut, in any number. */
static struct span cut_suffixes(struct span name)
{
  static const struct span async = SPAN_INIT("_async"), limited = SPAN_INIT("_rate_limited");
  for (;;) {
    if (span_ends(name, async))
      name.len -= async.len;
    else if (span_ends(name, limited))
      name.len -= limited.len;
    else
      return name;
  }
}

static const struct ob_action_row *row_of(struct span plain)
{
  for (const struct ob_action_row *row = ob_action_rows; row->name; row++)
    if (plain.len == row->length && memcmp(plain.ptr, row->name, row->length) == 0) return row;
  return NULL;
}

/* A name that is one of the table's only after trimming, lower-casing or taking off a slash: no
 * implementation knows it, so it is an attempt to pass unseen. */
static const struct ob_action_row *disguised(struct span name, struct arena *arena)
{
  enum { LONGEST = 128 }; /* the table's longest with several suffixes */
  while (name.len && (unsigned char)name.ptr[0] <= ' ') name.ptr++, name.len--;
  while (name.len && (unsigned char)name.ptr[name.len - 1] <= ' ') name.len--;
  while (name.len && (name.ptr[0] == '/' || (unsigned char)name.ptr[0] <= ' '))
    name.ptr++, name.len--;
  char *low = name.len <= LONGEST ? arena_alloc(arena, name.len) : NULL;
  if (!low) return NULL;
  for (size_t i = 0; i < name.len; i++) {
    char c = name.ptr[i];
    low[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  const struct ob_action_row *row = row_of(cut_suffixes((struct span) { low, name.len }));
  bool guarded = row && row->kind != OB_ACTION_NOTICE && row->kind != OB_ACTION_UPLOAD;
  return guarded ? row : NULL;
}

/* ---- targets ---- */

enum given { GIVEN_NONE, GIVEN_ID, GIVEN_BAD };

/* An id parameter: absent (null, "", 0), a positive decimal in *ret, or nothing usable. */
static enum given read_id(const struct ob_profile *profile, const struct schema_node *node,
                          struct span *ret)
{
  *ret = (struct span) { NULL, 0 };
  if (!node || node->kind == SCHEMA_NULL) return GIVEN_NONE;
  struct span id = schema_tree_id(node);
  if (id.ptr && (id.len == 0 || span_is(id, "0"))) return GIVEN_NONE;
  bool fine = profile ? ob_profile_has_target(profile, id) : ob_id_positive(id, INT64_MAX);
  if (!fine) return GIVEN_BAD;
  *ret = id;
  return GIVEN_ID;
}

static const char both_ids[] = "both group_id and user_id without a message_type: "
                               "implementations differ in whom they mean";
static const char bad_id[] = "an id that is no positive decimal number";
static const char no_id[] = "the group_id or user_id that it goes to is missing";
static const char bad_type[] = "a message_type that contradicts the action";

/* Where an action goes; NULL, else why it cannot be told. profile NULL: its limits do not count. */
static const char *read_target(const struct ob_profile *profile, const struct schema_node *params,
                               enum ob_action_target to, struct ob_target *ret)
{
  *ret = (struct ob_target) { { NULL, 0 }, { NULL, 0 } };
  struct ob_target ids;
  enum given group = read_id(profile, schema_tree_get(params, "group_id"), &ids.group_id);
  enum given user = read_id(profile, schema_tree_get(params, "user_id"), &ids.user_id);
  const struct schema_node *type = schema_tree_get(params, "message_type");
  if (type && type->kind != SCHEMA_NULL && !(type->kind == SCHEMA_STRING && type->text.len == 0)) {
    struct span word = schema_tree_string(type);
    enum ob_action_target said = span_is(word, "group")     ? OB_TO_GROUP
                                 : span_is(word, "private") ? OB_TO_PRIVATE
                                                            : OB_TO_GUILD;
    if (said == OB_TO_GUILD || (to != OB_TO_GIVEN && to != said)) return bad_type;
    if (to == OB_TO_GIVEN && (group == GIVEN_BAD || user == GIVEN_BAD)) return bad_id;
    to = said;
  }
  if (to == OB_TO_GIVEN) {
    if (group == GIVEN_BAD || user == GIVEN_BAD) return bad_id;
    if (group == GIVEN_ID && user == GIVEN_ID) return both_ids;
    to = group == GIVEN_ID ? OB_TO_GROUP : OB_TO_PRIVATE;
  }
  enum given own = to == OB_TO_GROUP ? group : user;
  if (own != GIVEN_ID) return own == GIVEN_BAD ? bad_id : no_id;
  if (to == OB_TO_GROUP)
    ret->group_id = ids.group_id;
  else
    ret->user_id = ids.user_id;
  return NULL;
}

/* The chat that a quick operation's event came from. */
static const char *context_target(const struct ob_profile *profile,
                                  const struct schema_node *params, struct ob_target *ret)
{
  const struct schema_node *context = schema_tree_get(params, "context");
  bool group = span_is(schema_tree_string(schema_tree_get(context, "message_type")), "group");
  *ret = (struct ob_target) { { NULL, 0 }, { NULL, 0 } };
  enum given given = read_id(profile, schema_tree_get(context, group ? "group_id" : "user_id"),
                             group ? &ret->group_id : &ret->user_id);
  return given == GIVEN_ID ? NULL : "the chat of its context is unclear";
}

/* ---- reading ---- */

/* auto_escape as NapCat and the specification read it: true or "true", for strings only. */
static bool is_literal(const struct schema_node *params)
{
  const struct schema_node *flag = schema_tree_get(params, "auto_escape");
  return schema_tree_truth(flag, false) || span_is(schema_tree_string(flag), "true");
}

/* What a framework wrote as the message of a MESSAGE or QUICK action. */
static const struct schema_node *written_message(const struct ob_action *a)
{
  if (a->kind == OB_ACTION_MESSAGE) return schema_tree_get(a->params, "message");
  return schema_tree_get(schema_tree_get(a->params, "operation"), "reply");
}

/* The message that the first reply segment names. Only a look: the judgement reads it again. */
static struct span quoted_message(const struct schema_node *array)
{
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next)
    if (span_is(schema_tree_string(schema_tree_get(s, "type")), "reply"))
      return ob_id_of(schema_tree_get(schema_tree_get(s, "data"), "id"));
  return (struct span) { NULL, 0 };
}

static void find_chat(struct ob_action *a, struct arena *arena)
{
  if (a->kind == OB_ACTION_QUICK) {
    const struct schema_node *operation = schema_tree_get(a->params, "operation");
    context_target(NULL, a->params, &a->target);
    a->message = ob_native_read(written_message(a), is_literal(operation), arena);
    a->answers = quoted_message(a->message);
    if (a->answers.len == 0)
      a->answers = ob_id_of(schema_tree_get(schema_tree_get(a->params, "context"), "message_id"));
  } else if (a->kind == OB_ACTION_MESSAGE || a->kind == OB_ACTION_FORWARD) {
    if (a->row->target != OB_TO_GUILD) read_target(NULL, a->params, a->row->target, &a->target);
    if (a->kind == OB_ACTION_FORWARD) return;
    a->message = ob_native_read(written_message(a), is_literal(a->params), arena);
    a->answers = quoted_message(a->message);
  }
}

/* What an action of that name carries. */
static enum ob_action_kind kind_of(const struct ob_action_row *row, struct span name,
                                   struct arena *arena)
{
  if (row) return row->kind;
  return disguised(name, arena) ? OB_ACTION_DENIED : OB_ACTION_OTHER;
}

static bool is_plain(const struct schema_node *root)
{
  for (const struct schema_node *m = root->first; m; m = m->next)
    if (!span_eq(m->key, SPAN("action")) && !span_eq(m->key, SPAN("params")) &&
        !span_eq(m->key, SPAN("echo")))
      return false;
  return true;
}

enum schema_code ob_action_read(struct span frame, struct arena *arena, struct ob_action *ret,
                                struct schema_error *reterr)
{
  struct schema_node *root;
  enum schema_code code = schema_tree_read(frame, SCHEMA_DEPTH_EVENT, arena, &root, reterr);
  if (code != SCHEMA_OK) return code;
  const struct schema_node *name = schema_tree_get(root, "action");
  if (!schema_tree_string(name).ptr)
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.action",
                       "an action is an object with a string action");
  const struct schema_node *echo = schema_tree_get(root, "echo");
  const struct schema_node *params = schema_tree_get(root, "params");
  struct ob_action a = {
    .frame = root->raw,
    .params = params && params->kind == SCHEMA_OBJECT ? params : NULL,
    .name = name->text,
    .echo = echo ? echo->raw : (struct span) { NULL, 0 },
    .plain = is_plain(root),
  };
  struct span plain = cut_suffixes(a.name);
  a.suffixed = plain.len != a.name.len;
  a.row = row_of(plain);
  a.kind = kind_of(a.row, a.name, arena);
  find_chat(&a, arena);
  if (arena->failed) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  *ret = a;
  return SCHEMA_OK;
}

/* ---- judging: what all kinds share ---- */

struct judge {
  struct ob_inspect in;
  const struct ob_action *action;
  struct ob_action_judgement *ret;
};

static void drop(struct judge *j, enum schema_code code, const char *path, const char *why)
{
  j->ret->verdict = OB_DROP;
  schema_fail(&j->ret->error, code, 0, path, why);
  j->ret->why = path ? arena_printf(j->in.arena, "%s: %s", path, why) : span_of(why);
}

static void drop_inspected(struct judge *j)
{
  j->ret->verdict = OB_DROP;
  j->ret->error = j->in.error;
  j->ret->why = j->in.why;
}

/* Whether params holds nothing but these keys (NULL-terminated). */
static bool has_only(const struct schema_node *params, const char *const *keys)
{
  for (const struct schema_node *p = params->first; p; p = p->next) {
    const char *const *key = keys;
    while (*key && !span_is(p->key, *key)) key++;
    if (!*key) return false;
  }
  return true;
}

/* The reaction of a reply that stood in a text, and then steps. */
static void replace(struct judge *j, const struct ob_plan *steps)
{
  struct ob_plan reaction = { NULL, 0 };
  ob_compose_end(&j->in.reaction, &reaction);
  size_t count = reaction.count + steps->count;
  struct ob_step *all = arena_alloc(j->in.arena, count * sizeof *all);
  if (!all) {
    drop(j, SCHEMA_ENOMEM, NULL, "no memory");
    return;
  }
  if (reaction.count) memcpy(all, reaction.steps, reaction.count * sizeof *all);
  if (steps->count) memcpy(all + reaction.count, steps->steps, steps->count * sizeof *all);
  j->ret->verdict = OB_REPLACE;
  j->ret->plan = (struct ob_plan) { all, count };
}

/* params printed into the arena; done with buf. */
static struct span keep(struct judge *j, struct buf *buf)
{
  struct span text = arena_copy(j->in.arena, buf_span(buf));
  if (buf->failed) j->in.arena->failed = true;
  buf_done(buf);
  return text;
}

static struct ob_plan one_step(struct judge *j, struct span action, struct span params)
{
  struct ob_step *step = arena_alloc(j->in.arena, sizeof *step);
  if (!step) return (struct ob_plan) { NULL, 0 };
  *step = (struct ob_step) { .kind = OB_STEP_SEND, .action = action, .params = params };
  return (struct ob_plan) { step, 1 };
}

/* ---- forwards ---- */

/* What people see of the folded forward on NapCat. */
static const char *const forward_words[] = { "news", "prompt", "summary", "source" };

static bool judge_forward_words(struct judge *j, struct schema_writer *w)
{
  for (size_t i = 0; i < sizeof forward_words / sizeof *forward_words; i++) {
    const struct schema_node *words = schema_tree_get(j->action->params, forward_words[i]);
    if (!words) continue;
    if (ob_inspect_has_call(words)) {
      drop(j, SCHEMA_ETOOLCALL, "$.params", "the words of a forward hold a tool call as text");
      return false;
    }
    schema_write_key(w, words->key);
    schema_write_raw(w, words->raw);
  }
  return true;
}

/* send_group_forward_msg or the private one with nodes from `messages` or `message`. */
static void send_forward(struct judge *j, const struct schema_node *nodes, const char *path)
{
  struct ob_inspect *in = &j->in;
  bool group = in->target.group_id.len > 0;
  struct span id = group ? in->target.group_id : in->target.user_id;
  struct buf out;
  buf_init(&out, in->arena->max);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_key(&w, group ? SPAN("group_id") : SPAN("user_id"));
  schema_write_raw(&w, id);
  schema_write_key(&w, SPAN("messages"));
  if (!ob_inspect_nodes(in, nodes, path, &w)) {
    drop_inspected(j);
    buf_done(&out);
    return;
  }
  bool fine = judge_forward_words(j, &w);
  schema_write_object_end(&w);
  struct span params = keep(j, &out);
  if (!fine) return;
  struct span name = group ? SPAN("send_group_forward_msg") : SPAN("send_private_forward_msg");
  struct ob_plan plan = one_step(j, name, params);
  in->reaction.count = 0; /* a reply inside a node answers nothing */
  if (in->changed || !span_eq(name, j->action->name)) replace(j, &plan);
}

/* A parameter that is not null. */
static const struct schema_node *present(const struct schema_node *params, const char *key)
{
  const struct schema_node *node = schema_tree_get(params, key);
  return node && node->kind != SCHEMA_NULL ? node : NULL;
}

static void judge_forward(struct judge *j)
{
  static const char *const keys[] = { "group_id", "user_id", "messages", "news",
                                      "prompt",   "summary", "source",   NULL };
  const struct schema_node *params = j->action->params;
  const char *why = read_target(j->in.profile, params, j->action->row->target, &j->in.target);
  if (why) {
    drop(j, SCHEMA_ETARGET, "$.params", why);
    return;
  }
  const char *id_key = j->in.target.group_id.len ? "group_id" : "user_id";
  const char *other_key = j->in.target.group_id.len ? "user_id" : "group_id";
  if (!has_only(params, keys) || schema_tree_get(params, other_key) ||
      schema_tree_get(params, id_key)->kind != SCHEMA_NUMBER)
    j->in.changed = true;
  const struct schema_node *messages = present(params, "messages");
  const struct schema_node *message = present(params, "message");
  if (messages && message) {
    struct buf scratch; /* judged like the other, and left out */
    buf_init(&scratch, j->in.arena->max);
    struct schema_writer w = { .out = &scratch };
    bool fine = ob_inspect_nodes(&j->in, message, "$.params.message", &w);
    buf_done(&scratch);
    if (!fine) {
      drop_inspected(j);
      return;
    }
  }
  if (messages)
    send_forward(j, messages, "$.params.messages");
  else
    send_forward(j, message, "$.params.message");
}

/* ---- messages ---- */

/* A message that is all nodes: itself where the profile takes it, else a forward. */
static void judge_node_message(struct judge *j)
{
  const struct schema_node *message = j->action->message;
  if (message != written_message(j->action)) j->in.changed = true;
  if (!j->in.profile->node_message) {
    j->in.changed = true;
    if (j->in.profile->forward)
      send_forward(j, message, "$.params.message");
    else
      drop(j, SCHEMA_ESEGMENT, "$.params.message", "node is not shown by this endpoint");
    return;
  }
  struct buf out;
  buf_init(&out, j->in.arena->max);
  struct schema_writer w = { .out = &out };
  struct span head = ob_plan_head(&j->in.target, j->in.arena);
  buf_add(&out, (struct span) { head.ptr, head.len - 1 }); /* the array brings its own bracket */
  bool fine = ob_inspect_nodes(&j->in, message, "$.params.message", &w);
  buf_add_char(&out, '}');
  struct span params = keep(j, &out);
  if (!fine) {
    drop_inspected(j);
    return;
  }
  struct ob_plan plan = one_step(j, ob_plan_action(&j->in.target), params);
  j->in.reaction.count = 0;
  if (j->in.changed) replace(j, &plan);
}

/* Judges the action's message into sends with that head, tail and action. False: dropped. */
static bool compose(struct judge *j, const char *base, struct span action, struct span head,
                    struct span tail, struct ob_plan *ret)
{
  struct ob_compose c;
  ob_compose_init(&c, action, head, tail, j->in.arena);
  c.watch = true;
  const struct schema_node *message = j->action->message;
  if (message != written_message(j->action)) j->in.changed = true;
  bool fine = ob_inspect_message(&j->in, message, base, &c) && ob_inspect_end(&j->in, &c, ret);
  if (!fine) drop_inspected(j);
  ob_compose_done(&c);
  if (!fine) return false;
  bool one = ret->count == 1 && ret->steps[0].kind == OB_STEP_SEND;
  if (!one || j->in.reaction.count) j->in.changed = true;
  if (ret->count + j->in.reaction.count > 0) return true;
  drop(j, SCHEMA_EEMPTY, base, "nothing is left of the message");
  j->ret->silent = j->in.parts == 1 && j->in.unwrapped.len > 0;
  return false;
}

/* What a message became: something else, or what it was. */
static void take_plan(struct judge *j, const struct ob_plan *plan)
{
  if (j->in.changed)
    replace(j, plan);
  else
    j->ret->plan = *plan;
}

/* {"guild_id":…,"channel_id":…,"message":[ ; empty: an id is missing. */
static struct span guild_head(struct judge *j)
{
  struct span guild = ob_id_of(schema_tree_get(j->action->params, "guild_id"));
  struct span channel = ob_id_of(schema_tree_get(j->action->params, "channel_id"));
  if (guild.len == 0 || channel.len == 0) return (struct span) { NULL, 0 };
  struct buf out;
  buf_init(&out, j->in.arena->max);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_pair(&w, "guild_id", guild);
  schema_write_pair(&w, "channel_id", channel);
  schema_write_key(&w, SPAN("message"));
  schema_write_array(&w);
  return keep(j, &out);
}

static void judge_guild(struct judge *j)
{
  static const char *const keys[] = { "guild_id", "channel_id", "message", NULL };
  const struct schema_node *params = j->action->params;
  struct span head = guild_head(j);
  if (head.len == 0) {
    drop(j, SCHEMA_ETARGET, "$.params", "guild_id or channel_id is missing");
    return;
  }
  if (!has_only(params, keys) || schema_tree_get(params, "guild_id")->kind != SCHEMA_STRING ||
      schema_tree_get(params, "channel_id")->kind != SCHEMA_STRING)
    j->in.changed = true;
  struct ob_plan plan;
  if (compose(j, "$.params.message", SPAN("send_guild_channel_msg"), head, SPAN("]}"), &plan))
    take_plan(j, &plan);
}

static void judge_message(struct judge *j)
{
  static const char *const keys[] = { "group_id", "user_id", "message", NULL };
  const struct schema_node *params = j->action->params;
  if (j->action->row->target == OB_TO_GUILD) {
    judge_guild(j);
    return;
  }
  const char *why = read_target(j->in.profile, params, j->action->row->target, &j->in.target);
  if (why) {
    drop(j, SCHEMA_ETARGET, "$.params", why);
    return;
  }
  bool group = j->in.target.group_id.len > 0;
  struct span action = ob_plan_action(&j->in.target);
  if (!has_only(params, keys) || schema_tree_get(params, group ? "user_id" : "group_id") ||
      schema_tree_get(params, group ? "group_id" : "user_id")->kind != SCHEMA_NUMBER ||
      !span_eq(action, j->action->name))
    j->in.changed = true;
  if (ob_inspect_is_nodes(j->action->message)) {
    judge_node_message(j);
    return;
  }
  struct ob_plan plan;
  if (compose(j, "$.params.message", action, ob_plan_head(&j->in.target, j->in.arena), SPAN("]}"),
              &plan))
    take_plan(j, &plan);
}

/* ---- quick operations ---- */

/* params with operation.reply replaced and auto_escape gone, everything else as it was. reply
 * empty: without one. */
static struct span quick_params(struct judge *j, struct span reply)
{
  struct buf out;
  buf_init(&out, j->in.arena->max);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  for (const struct schema_node *p = j->action->params->first; p; p = p->next) {
    schema_write_key(&w, p->key);
    if (!span_is(p->key, "operation")) {
      schema_write_raw(&w, p->raw);
      continue;
    }
    schema_write_object(&w);
    for (const struct schema_node *o = p->first; o; o = o->next) {
      bool is_reply = span_is(o->key, "reply");
      if (span_is(o->key, "auto_escape") || (is_reply && reply.len == 0)) continue;
      schema_write_key(&w, o->key);
      schema_write_raw(&w, is_reply ? reply : o->raw);
    }
    schema_write_object_end(&w);
  }
  schema_write_object_end(&w);
  return keep(j, &out);
}

/* The first send stays the operation's reply, further ones go to the chat of its context. */
static void quick_steps(struct judge *j, const struct ob_plan *parts)
{
  struct ob_step *steps = arena_alloc(j->in.arena, (parts->count + 1) * sizeof *steps);
  if (!steps) {
    drop(j, SCHEMA_ENOMEM, NULL, "no memory");
    return;
  }
  size_t n = 0;
  bool replied = false;
  struct span head = ob_plan_head(&j->in.target, j->in.arena);
  for (size_t i = 0; i < parts->count; i++) {
    struct ob_step step = parts->steps[i];
    if (step.kind == OB_STEP_SEND && !replied) {
      step.action = SPAN(".handle_quick_operation");
      step.params = quick_params(j, step.params);
      replied = true;
    } else if (step.kind == OB_STEP_SEND) {
      step.action = ob_plan_action(&j->in.target);
      const struct span frame[] = { { head.ptr, head.len - 1 }, step.params, SPAN("}") };
      step.params = arena_join(j->in.arena, frame, 3);
    }
    steps[n++] = step;
  }
  if (!replied) { /* what else it does is done all the same */
    steps[n] = (struct ob_step) { .kind = OB_STEP_SEND,
                                  .action = SPAN(".handle_quick_operation"),
                                  .params = quick_params(j, (struct span) { NULL, 0 }) };
    n++;
  }
  replace(j, &(struct ob_plan) { steps, n });
}

static void judge_quick(struct judge *j)
{
  const struct schema_node *operation = schema_tree_get(j->action->params, "operation");
  const struct schema_node *reply = schema_tree_get(operation, "reply");
  if (!reply || reply->kind == SCHEMA_NULL ||
      (reply->kind == SCHEMA_STRING && reply->text.len == 0)) {
    if (j->action->suffixed) {
      struct ob_plan plan = one_step(j, span_of(j->action->row->name), j->action->params->raw);
      replace(j, &plan);
    }
    return;
  }
  const char *unclear = context_target(j->in.profile, j->action->params, &j->in.target);
  if (schema_tree_get(operation, "auto_escape") || j->action->suffixed) j->in.changed = true;
  struct ob_plan parts;
  if (!compose(j, "$.params.operation.reply", SPAN("reply"), SPAN("["), SPAN("]"), &parts)) return;
  bool elsewhere = parts.count > 1 || j->in.reaction.count;
  if (elsewhere && unclear)
    drop(j, SCHEMA_ETARGET, "$.params.context", unclear);
  else if (j->in.changed)
    quick_steps(j, &parts);
}

/* ---- the rest ---- */

/* The name a file gets and the file itself; the action passes as it is or not at all. */
static void judge_upload(struct judge *j)
{
  const struct schema_node *params = j->action->params;
  struct span name = schema_tree_string(schema_tree_get(params, "name"));
  struct span file = schema_tree_string(schema_tree_get(params, "file")), value;
  struct ob_mediaref ref;
  if (name.len && !ob_mediaref_is_name(name)) {
    drop(j, SCHEMA_EMEDIA, "$.params.name", "a name with / or \\ in it");
    return;
  }
  enum schema_media_kind kind = ob_mediaref_kind(file, &value);
  bool bare = kind == SCHEMA_MEDIA_FILE && !ob_mediaref_climbs(file); /* a path of the peer's */
  if (file.len && !bare && !ob_mediaref_read(j->in.profile, kind, value, false, j->in.arena, &ref))
    drop(j, SCHEMA_EMEDIA, "$.params.file", "a file that cannot go");
}

/* Whether a string of the tree holds what must not leave. */
static bool leaks(const struct schema_node *node, const struct schema_private *hide,
                  struct arena *arena)
{
  struct schema_repairs masked = { .count = 0 };
  struct span clean;
  if (node->kind == SCHEMA_STRING)
    return schema_leak_mask(node->text, hide, 0, arena, &masked, &clean) != SCHEMA_LEAK_NONE;
  for (const struct schema_node *child = node->first; child; child = child->next)
    if (leaks(child, hide, arena)) return true;
  return false;
}

static void judge_notice(struct judge *j)
{
  const struct schema_node *words = schema_tree_get(j->action->params, j->action->row->text);
  if (!words) return;
  if (ob_inspect_has_call(words))
    drop(j, SCHEMA_ETOOLCALL, "$.params", "the words hold a tool call written as text");
  else if (leaks(words, &j->in.settings->hide, j->in.arena))
    drop(j, SCHEMA_ELEAK, "$.params", "the words hold a secret or a private path");
}

void ob_action_judge(const struct ob_profile *profile, const struct ob_action_settings *settings,
                     const struct ob_action *action, struct arena *arena,
                     struct ob_action_judgement *ret)
{
  *ret = (struct ob_action_judgement) { .verdict = OB_PASS };
  struct judge j = {
    .in = { .profile = profile,
            .settings = settings,
            .arena = arena,
            .answers = action->answers.len ? action->answers : settings->answering },
    .action = action,
    .ret = ret,
  };
  ob_compose_init(&j.in.reaction, SPAN(""), SPAN(""), SPAN(""), arena);
  bool needs_params = action->kind != OB_ACTION_OTHER && action->kind != OB_ACTION_DENIED &&
                      action->kind != OB_ACTION_NOTICE && action->kind != OB_ACTION_UPLOAD;
  if (needs_params && !action->params) {
    drop(&j, SCHEMA_ETYPE, "$.params", "params is no object");
  } else {
    switch (action->kind) {
    case OB_ACTION_OTHER: break;
    case OB_ACTION_MESSAGE:
      judge_message(&j);
      if (ret->verdict == OB_REPLACE && j.in.parts == 1) ret->reply_text = j.in.unwrapped;
      break;
    case OB_ACTION_FORWARD: judge_forward(&j); break;
    case OB_ACTION_QUICK: judge_quick(&j); break;
    case OB_ACTION_UPLOAD: judge_upload(&j); break;
    case OB_ACTION_NOTICE: judge_notice(&j); break;
    case OB_ACTION_DENIED:
      drop(&j, SCHEMA_EARGUMENT, "$.action", "this action goes round every check");
      break;
    }
  }
  ret->keyboard = j.in.keyboard;
  ob_compose_done(&j.in.reaction);
  if (arena->failed) drop(&j, SCHEMA_ENOMEM, NULL, "no memory");
}
