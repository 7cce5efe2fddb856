/* send: the actions that leave something in a chat: messages, forwards, files, reactions, recalls
 * (act.h). */
#include <inttypes.h>
#include <stdio.h>

#include "onebot/id.h"
#include "onebot/sandbox/act.h"
#include "onebot/sandbox/embedded.h"
#include "onebot/sandbox/view.h"

static bool fact_is(const struct ob_act *a, const char *row, const char *value)
{
  return ob_played_fact_is(a->b->played, row, value);
}

/* ---- where a message goes ---- */

struct place {
  int64_t group, user; /* one of them is 0 */
};

/* Whether the parameter is there; 0 counts by the implementation. */
static bool given(const struct ob_act *a, const char *name)
{
  struct span id = schema_tree_id(schema_tree_get(a->params, name));
  if (id.len == 0) return false;
  return !span_is(id, "0") || fact_is(a, "zero_id", "given");
}

static bool group_place(struct ob_act *a, struct place *ret)
{
  int64_t id;
  if (!ob_act_account(a, "group_id", &id)) return false;
  struct ob_group *g = ob_world_group(&a->b->world, id);
  const char *fault = a->b->switches.offline ? "offline"
                      : !g                   ? "no_group"
                      : g->muted             ? "muted"
                                             : NULL;
  if (fault) {
    ob_act_refuse(a, fault, SPAN("group_id"));
    return false;
  }
  *ret = (struct place) { .group = id };
  return true;
}

/* A private chat: with a friend, or through a group that both are in. */
static bool private_place(struct ob_act *a, struct place *ret)
{
  int64_t user, group = 0;
  if (!ob_act_account(a, "user_id", &user)) return false;
  if (a->b->switches.offline) {
    ob_act_refuse(a, "offline", SPAN("user_id"));
    return false;
  }
  bool through = ob_id_read(schema_tree_id(schema_tree_get(a->params, "group_id")), &group);
  group = ob_wire_id_back(a->b, group);
  const struct ob_person *p = ob_world_person(&a->b->world, user);
  if (!p && through && fact_is(a, "private_by_group", "group")) return group_place(a, ret);
  if (!p || user == OB_WORLD_SELF) {
    ob_act_refuse(a, "no_user", SPAN("user_id"));
    return false;
  }
  if (!p->is_friend && !(through && ob_world_member(&a->b->world, group, user))) {
    ob_act_refuse(a, "not_friend", SPAN("user_id"));
    return false;
  }
  *ret = (struct place) { .user = user };
  return true;
}

/* The target of send_msg and send_forward_msg: message_type, or the ids by the implementation. */
static bool any_place(struct ob_act *a, struct place *ret)
{
  struct span type = schema_tree_string(schema_tree_get(a->params, "message_type"));
  bool group = given(a, "group_id"), user = given(a, "user_id");
  if (span_is(type, "group")) return group_place(a, ret);
  if (span_is(type, "private")) return private_place(a, ret);
  if (group && user) {
    if (fact_is(a, "both_ids", "group")) return group_place(a, ret);
    if (fact_is(a, "both_ids", "private")) return private_place(a, ret);
    ob_act_refuse(a, "bad_params", SPAN("message_type"));
    return false;
  }
  if (group) return group_place(a, ret);
  if (user) return private_place(a, ret);
  if (fact_is(a, "no_ids", "empty"))
    a->result->empty = true;
  else
    ob_act_refuse(a, "no_ids", SPAN("group_id"));
  return false;
}

/* ---- what is said ---- */

/* Takes over the judge's refusal, or puts the message into its chat. NULL: it is not there. */
static const struct ob_said *deliver(struct ob_act *a, struct ob_judge *j)
{
  struct ob_sandbox *b = a->b;
  if (j->refused) {
    a->result->refused = true;
    a->result->retcode = j->retcode;
    buf_add(&a->result->text, buf_span(&j->text));
    return NULL;
  }
  int64_t id = ob_world_new_id(&b->world, ob_played_fact(b->played, "message_id"));
  struct ob_said *said = ob_world_say(&b->world, j->group, j->user, OB_WORLD_SELF, id,
                                      buf_span(&j->segments), buf_span(&j->notes));
  if (!said) {
    ob_act_refuse(a, "upload", SPAN(""));
    return NULL;
  }
  said->unseen = j->unseen;
  ob_view_said(b, said, false);
  return said;
}

static struct ob_judge begin(struct ob_act *a, struct place place)
{
  struct ob_judge j;
  ob_judge_init(&j, a->b->played, &a->b->world, a->arena);
  j.group = place.group;
  j.user = place.user;
  j.sign = a->b->switches.sign;
  return j;
}

/* Writes the named members: message_id, and ids of the forward or the file. */
static void write_ids(struct ob_act *a, const struct ob_said *said, struct span words)
{
  struct schema_writer w = { .out = &a->result->data };
  char id[40];
  snprintf(id, sizeof id, "sandbox-%016" PRIx64, (uint64_t)said->id);
  if (words.len == 0) return;
  schema_write_object(&w);
  while (words.len) {
    struct span word = ob_word_next(&words);
    schema_write_key(&w, word);
    if (span_is(word, "message_id"))
      schema_write_int(&w, said->id);
    else
      schema_write_string(&w, span_of(id));
  }
  schema_write_object_end(&w);
}

/* auto_escape as the implementations agree on it: true, or the text "true" on NapCat. */
static bool plain(const struct schema_node *params)
{
  const struct schema_node *n = schema_tree_get(params, "auto_escape");
  return schema_tree_truth(n, false) || span_is(schema_tree_string(n), "true");
}

static void send_message(struct ob_act *a, struct place place)
{
  struct ob_judge j = begin(a, place);
  ob_judge_message(&j, schema_tree_get(a->params, "message"), plain(a->params));
  const struct ob_said *said = deliver(a, &j);
  if (said) write_ids(a, said, SPAN("message_id"));
  ob_judge_done(&j);
}

void ob_act_send_msg(struct ob_act *a)
{
  struct place place;
  if (any_place(a, &place)) send_message(a, place);
}

void ob_act_send_group_msg(struct ob_act *a)
{
  struct place place;
  if (group_place(a, &place)) send_message(a, place);
}

void ob_act_send_private_msg(struct ob_act *a)
{
  struct place place;
  if (private_place(a, &place)) send_message(a, place);
}

static void send_forward(struct ob_act *a, struct place place)
{
  const struct schema_node *nodes = schema_tree_get(a->params, "messages");
  struct ob_judge j = begin(a, place);
  ob_judge_forward(&j, nodes ? nodes : schema_tree_get(a->params, "message"));
  const struct ob_said *said = deliver(a, &j);
  if (said) write_ids(a, said, ob_played_fact(a->b->played, "forward_data"));
  ob_judge_done(&j);
}

void ob_act_send_group_forward_msg(struct ob_act *a)
{
  struct place place;
  if (group_place(a, &place)) send_forward(a, place);
}

void ob_act_send_private_forward_msg(struct ob_act *a)
{
  struct place place;
  if (private_place(a, &place)) send_forward(a, place);
}

void ob_act_send_forward_msg(struct ob_act *a)
{
  struct place place;
  struct schema_writer w = { .out = &a->result->data };
  if (fact_is(a, "send_forward", "id only")) /* it makes the forward and sends it to nobody */
    schema_write_string(&w, SPAN("sandbox-forward"));
  else if (any_place(a, &place))
    send_forward(a, place);
}

static void upload(struct ob_act *a, struct place place)
{
  struct span file = schema_tree_string(schema_tree_get(a->params, "file"));
  struct span name = schema_tree_string(schema_tree_get(a->params, "name"));
  struct ob_judge j = begin(a, place);
  ob_judge_upload(&j, file, name);
  const struct ob_said *said = deliver(a, &j);
  if (said) write_ids(a, said, ob_played_fact(a->b->played, "upload_data"));
  ob_judge_done(&j);
}

void ob_act_upload_group_file(struct ob_act *a)
{
  struct place place;
  if (group_place(a, &place)) upload(a, place);
}

void ob_act_upload_private_file(struct ob_act *a)
{
  struct place place;
  if (private_place(a, &place)) upload(a, place);
}

void ob_act_quick_operation(struct ob_act *a)
{
  const struct schema_node *context = schema_tree_get(a->params, "context");
  const struct schema_node *operation = schema_tree_get(a->params, "operation");
  const struct schema_node *reply = schema_tree_get(operation, "reply");
  struct ob_act inner = *a;
  struct place place;
  if (!context || !operation) {
    ob_act_refuse(a, "bad_params", SPAN("context"));
    return;
  }
  inner.params = context; /* the target is that of the event */
  if (reply && any_place(&inner, &place)) {
    struct ob_judge j = begin(a, place);
    ob_judge_message(&j, reply, plain(operation));
    deliver(a, &j);
    ob_judge_done(&j);
  }
  if (!a->result->refused && schema_tree_truth(schema_tree_get(operation, "delete"), false))
    ob_act_delete_msg(&inner);
}

/* ---- reactions and recalls ---- */

/* The message that the parameters name, or NULL and refused. */
static struct ob_said *named_message(struct ob_act *a)
{
  int64_t id;
  if (!ob_act_number(a, "message_id", &id)) return NULL;
  struct ob_said *said = ob_world_said(&a->b->world, id);
  if (!said || said->recalled) ob_act_refuse(a, "no_message", SPAN("message_id"));
  return said && !said->recalled ? said : NULL;
}

/* Whether the table of faces has the id with the type that its length stands for: the
 * implementations take more than three characters for a code point. */
static bool emoji_known(struct span id)
{
  struct span text = ob_embedded_find(SPAN("faces.tsv"));
  char want = id.len > 3 ? '2' : '1';
  while (text.len) {
    size_t len = span_find(text, SPAN("\n"));
    struct span line = { text.ptr, len };
    if (line.len > id.len && line.ptr[id.len] == '\t' && span_starts(line, id))
      return line.ptr[line.len - 1] == want;
    len += len < text.len;
    text.ptr += len;
    text.len -= len;
  }
  return false;
}

/* NapCat hands on what the kernel said, with status ok. */
static void kernel_result(struct ob_act *a, const char *json)
{
  buf_add(&a->result->data, span_of(json));
}

static void react(struct ob_act *a, struct ob_said *said, struct span emoji, bool set)
{
  const char *fault = said->group == 0      ? "reaction_private"
                      : !emoji_known(emoji) ? "reaction_unknown"
                                            : NULL;
  bool by_result = fact_is(a, "app_name", "NapCat.Onebot");
  if (fault && fact_is(a, fault, "result")) {
    kernel_result(a, "{\"result\":-1,\"errMsg\":\"invalid emoji or message\"}");
  } else if (fault) {
    ob_act_refuse(a, fault, SPAN(""));
  } else {
    ob_world_react(said, emoji, OB_WORLD_SELF, set);
    ob_view_message(a->b, NULL, said);
    if (by_result) kernel_result(a, "{\"result\":0,\"errMsg\":\"\"}");
  }
}

static void emoji_like(struct ob_act *a, bool set)
{
  const struct schema_node *n = schema_tree_get(a->params, "emoji_id");
  struct span emoji = schema_tree_id(n);
  struct ob_said *said = named_message(a);
  if (!said) return;
  if (emoji.len == 0 || (n->kind == SCHEMA_NUMBER && span_is(emoji, "0"))) {
    struct span rule = SPAN("fail emojiId not found");
    struct ob_failure f = ob_played_failure(a->b->played, "failure");
    ob_word_next(&rule);
    a->result->refused = true;
    a->result->retcode = f.retcode;
    buf_add(&a->result->text, rule);
    return;
  }
  react(a, said, emoji, set);
}

void ob_act_emoji_like(struct ob_act *a)
{
  const struct schema_node *set = schema_tree_get(a->params, "set");
  bool on = !set || schema_tree_truth(set, false) || span_is(schema_tree_string(set), "true");
  emoji_like(a, on);
}

void ob_act_unset_emoji_like(struct ob_act *a)
{
  emoji_like(a, false);
}

void ob_act_group_reaction(struct ob_act *a)
{
  int64_t group, id;
  const struct schema_node *code = schema_tree_get(a->params, "code");
  if (!ob_act_account(a, "group_id", &group) || !ob_act_number(a, "message_id", &id)) return;
  if (!code || code->kind != SCHEMA_STRING || id > INT32_MAX || id < INT32_MIN) {
    ob_act_refuse(a, "bad_params", SPAN("code"));
    return;
  }
  struct ob_said *said = named_message(a); /* group_id is not compared with the message's own */
  if (said)
    react(a, said, code->text, schema_tree_truth(schema_tree_get(a->params, "is_add"), true));
}

void ob_act_delete_msg(struct ob_act *a)
{
  struct ob_said *said = named_message(a);
  if (!said) return;
  const struct ob_member *self = ob_world_member(&a->b->world, said->group, OB_WORLD_SELF);
  bool may = said->sender == OB_WORLD_SELF || (self && strcmp(self->role, "member") != 0);
  if (!may) {
    ob_act_refuse(a, "no_message", SPAN("message_id"));
    return;
  }
  said->recalled = true;
  ob_view_recalled(a->b, said, OB_WORLD_SELF);
}
