/* inbound: see inbound.h. */
#include "plugin/inbound.h"

#include <time.h>

#include "onebot/id.h"
#include "plugin/admin/admin.h"
#include "plugin/admin/fold.h"
#include "plugin/agent/agent.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/resolve.h"
#include "plugin/relay/relay.h"
#include "plugin/submit.h"

enum {
  RELOAD_WHY_MAX = 2000, /* the first faults; a chat is no place for more */
  DELETE_MS = 20 * 1000,
};

void rg_inbound_state(struct rg_gate *gate, struct rg_account *account, enum ob_link_state state,
                      const char *why)
{
  bool trouble = state == OB_LINK_DOWN || state == OB_LINK_REFUSED;
  rg_log_line(&gate->log, trouble ? RG_LOG_WARN : RG_LOG_INFO, "endpoint %s: %s%s%s", account->name,
              rg_state_word(state), why && *why ? ", " : "", why ? why : "");
  rg_presence_state(account, state);
}

static void pass(struct rg_gate *gate, struct rg_account *account, struct span json)
{
  if (gate->relay) rg_relay_event(gate->relay, account, json);
  if (!RG_HAS(&gate->host, on_event)) return;
  struct span name = span_of(account->name);
  gate->host.on_event(gate->host.ctx, (struct rg_bytes) { name.ptr, name.len },
                      (struct rg_bytes) { json.ptr, json.len });
}

static struct ob_target target_of(const struct ob_event *event)
{
  bool group = event->type == OB_EVENT_GROUP;
  return (struct ob_target) { .group_id = group ? event->group_id : SPAN(""),
                              .user_id = group ? SPAN("") : event->user_id };
}

static struct rg_conversation *conversation_find(struct rg_gate *gate,
                                                 const struct rg_account *account,
                                                 const struct ob_target *target)
{
  bool group = target->group_id.len > 0;
  pthread_mutex_lock(&gate->mu);
  struct rg_conversation *c = rg_conversation_find(&gate->conversations, account, group,
                                                   group ? target->group_id : target->user_id);
  pthread_mutex_unlock(&gate->mu);
  return c; /* this thread is the one that forgets conversations */
}

/* --- keyboards --- */

/* A number that answers a keyboard is used as what it stands for. False: it is none. */
static bool tap(struct rg_gate *gate, const struct rg_account *account,
                const struct ob_event *event, struct buf *edit)
{
  const struct ob_target target = target_of(event);
  const struct rg_conversation *c = conversation_find(gate, account, &target);
  struct span payload;
  return c && rg_keyboard_tap(&c->keyboard, event->text, event->user_id, ob_now_ms(), &payload) &&
         rg_keyboard_event(event->tree, payload, edit);
}

/* --- admin commands --- */

/* Whom a command concerns. */
struct place {
  struct rg_gate *gate;
  struct rg_account *account;
};

/* The number of a group as text, in cap bytes; a private chat's is the user's. */
static struct ob_target command_target(uint64_t group, struct span user, char *text, size_t cap)
{
  if (group == 0) return (struct ob_target) { .user_id = user };
  int n = snprintf(text, cap, "%llu", (unsigned long long)group);
  return (struct ob_target) { .group_id = { text, n > 0 ? (size_t)n : 0 } };
}

static void on_status(void *ctx, struct span endpoint, uint64_t group,
                      enum schema_language language, struct buf *out)
{
  const struct place *p = ctx;
  const struct rg_account *a = p->account;
  char id[RG_ID_MAX];
  (void)endpoint;
  pthread_mutex_lock(&p->gate->mu);
  buf_printf(out, "%s: %s, %s%s%s", a->name, rg_presence_word(a), a->peer.profile.name,
             a->version[0] ? ", " : "", a->version);
  size_t waiting = p->gate->waiting;
  pthread_mutex_unlock(&p->gate->mu);
  if (group > 0) {
    const struct ob_target target = command_target(group, SPAN(""), id, sizeof id);
    const struct rg_conversation *c = conversation_find(p->gate, a, &target);
    waiting = c ? c->waiting : 0;
    if (c && c->blocked_until_ms > ob_now_ms()) buf_printf(out, ", %s", c->blocked_why);
  }
  buf_printf(out, language == SCHEMA_EN ? "\n%zu waiting" : "\n%zu 条在等待", waiting);
}

static void on_last(void *ctx, struct span endpoint, uint64_t group, struct span user, bool words,
                    enum schema_language language, struct buf *out)
{
  const struct place *p = ctx;
  char id[RG_ID_MAX];
  (void)endpoint;
  const struct ob_target target = command_target(group, user, id, sizeof id);
  const struct rg_conversation *c = conversation_find(p->gate, p->account, &target);
  if (c) rg_history_write(&c->history, words, language, out);
}

static void on_deleted(void *ctx, const struct ob_answer *answer)
{
  struct rg_account *account = ctx;
  if (answer->kind == OB_ANSWER_RESPONSE) return; /* what it says is not worth believing: B44 */
  rg_log_line(&account->gate->log, RG_LOG_WARN, "endpoint %s: recall: no answer", account->name);
}

static void on_recall(void *ctx, struct span endpoint, uint64_t group, struct span user,
                      enum schema_language language, struct buf *out)
{
  const struct place *p = ctx;
  char id[RG_ID_MAX];
  (void)endpoint;
  const struct ob_target target = command_target(group, user, id, sizeof id);
  struct rg_conversation *c = conversation_find(p->gate, p->account, &target);
  const struct span *sent;
  size_t count = c ? rg_history_take_sent(&c->history, &sent) : 0;
  for (size_t i = 0; i < count; i++) {
    rg_account_call_message(p->account, SPAN("delete_msg"), sent[i], DELETE_MS, on_deleted,
                            p->account);
  }
  if (count == 0) return;
  buf_printf(out, language == SCHEMA_EN ? "Taking back %zu message(s)." : "正在撤回 %zu 条消息。",
             count);
}

static void on_clear(void *ctx, struct span endpoint, uint64_t group, struct span user,
                     enum schema_language language, struct buf *out)
{
  const struct place *p = ctx;
  char id[RG_ID_MAX];
  (void)endpoint;
  const struct ob_target target = command_target(group, user, id, sizeof id);
  if (!p->gate->agent) return;
  bool done = rg_agent_clear(p->gate->agent, p->account, group > 0,
                             group > 0 ? target.group_id : target.user_id);
  buf_add(out,
          span_of(language == SCHEMA_EN
                      ? done ? "The built-in agent has forgotten what was said here."
                             : "Forgotten for now, but the store could not drop it: see the log."
                  : done ? "内置助手已忘掉这里的聊天记录。"
                         : "已忘掉，但存储里没能删除，原因见日志。"));
}

static bool on_reload(void *ctx, enum schema_language language, struct buf *out)
{
  const struct place *p = ctx;
  char why[RELOAD_WHY_MAX];
  (void)language;
  if (rg_gate_reload(p->gate, why, sizeof why) == RG_OK) return true;
  buf_add(out, span_of(why));
  return false;
}

static void on_audit(void *ctx, struct span line)
{
  struct rg_gate *gate = ctx;
  rg_log_line(&gate->log, RG_LOG_INFO, "%.*s", (int)line.len, line.ptr);
}

/* The numbers of our own accounts, in the arena of the event. */
static struct rg_ids own_ids(struct rg_gate *gate)
{
  uint64_t *ids = arena_zalloc(&gate->event_arena, gate->account_count, sizeof *ids);
  size_t count = 0;
  for (size_t i = 0; ids && i < gate->account_count; i++) {
    int64_t id;
    if (ob_id_read(span_of(gate->accounts[i]->peer.self_id), &id) && id > 0)
      ids[count++] = (uint64_t)id;
  }
  return (struct rg_ids) { ids, count };
}

/* True: the event was a command, or an attempt at one, and is nothing for the bot. */
static bool command(struct rg_gate *gate, struct rg_account *account, const struct ob_event *event)
{
  struct place place = { gate, account };
  const struct rg_admin admin = {
    .settings = gate->settings,
    .runtime = { .ctx = &place,
                 .status = on_status,
                 .last = on_last,
                 .recall = on_recall,
                 .clear = on_clear,
                 .reload = on_reload },
    .audit = on_audit,
    .audit_ctx = gate,
  };
  struct rg_admin_answer answer;
  const struct rg_ids own = own_ids(gate);
  enum rg_admin_result result =
      rg_admin_handle(&admin, span_of(account->name), event, &own, &gate->event_arena, &answer);
  if (result == RG_ADMIN_DONE && answer.text.len > 0) {
    const struct ob_target target = target_of(event);
    rg_gate_say(gate, account, &target, answer.text);
  }
  return result != RG_ADMIN_NOT_A_COMMAND;
}

/* --- events --- */

static bool is_message(const struct ob_event *event)
{
  return event->type == OB_EVENT_GROUP || event->type == OB_EVENT_PRIVATE;
}

/* Whether actions of others pass here, whose reactions need to know who spoke to the bot. */
static bool has_foreigners(const struct rg_gate *gate, const struct rg_account *account)
{
  return account->hosted || (gate->relay && rg_relay_has(gate->relay, account));
}

/* Unix seconds by which the clock of whoever wrote an event a moment ago is ahead of ours. More than a
 * day is no clock, and 0. */
static int64_t clock_off(const struct ob_event *event)
{
  enum { DAY_S = 24 * 3600 };
  int64_t theirs, ours = (int64_t)time(NULL);
  if (!ob_id_read(schema_tree_id(schema_tree_get(event->tree, "time")), &theirs)) return 0;
  return theirs > ours - DAY_S && theirs < ours + DAY_S ? theirs - ours : 0;
}

static void note(struct rg_gate *gate, struct rg_account *account, const struct ob_event *event)
{
  if (event->type == OB_EVENT_META && span_is(event->detail, "heartbeat")) {
    account->heartbeat_ms = ob_now_ms();
    rg_log_summaries(&gate->log); /* else they would wait for the next line */
  }
  if (event->type == OB_EVENT_META) account->clock_off_s = clock_off(event);
  rg_presence_event(account, event);
  if (event->type == OB_EVENT_NOTICE) rg_delivery_notice_event(gate, account, event);
  if (event->type == OB_EVENT_NOTICE && gate->agent) rg_agent_notice(gate->agent, account, event);
  if (event->type == OB_EVENT_SELF) rg_resolve_self_event(gate, account, event);
  if (event->type != OB_EVENT_GROUP || !event->mentions_self || !has_foreigners(gate, account))
    return;
  pthread_mutex_lock(&gate->mu);
  rg_mentions_note(&account->mentions, event->group_id, event->message_id, event->user_id,
                   ob_now_ms());
  pthread_mutex_unlock(&gate->mu);
}

/* The agent sees what the bot sees. */
static void show_agent(struct rg_gate *gate, struct rg_account *account,
                       const struct ob_event *event, const struct rg_inbound_verdict *verdict)
{
  struct ob_event tapped;
  struct span self_id = span_of(account->peer.self_id);
  if (!gate->agent) return;
  if (!verdict->edited)
    rg_agent_event(gate->agent, account, event, false);
  else if (ob_event_read(buf_span(&verdict->edit), self_id, &gate->event_arena, &tapped, NULL) ==
           SCHEMA_OK)
    rg_agent_event(gate->agent, account, &tapped, true);
}

void rg_inbound_judge(struct rg_gate *gate, struct rg_account *account, struct span json,
                      struct rg_inbound_verdict *ret)
{
  struct ob_event event;
  pthread_mutex_lock(&gate->mu);
  gate->events++;
  pthread_mutex_unlock(&gate->mu);
  arena_reset(&gate->event_arena);
  struct span self_id = span_of(account->peer.self_id); /* only this thread writes it */
  if (ob_event_read(json, self_id, &gate->event_arena, &event, NULL) != SCHEMA_OK) {
    rg_log_line(&gate->log, RG_LOG_WARN, "endpoint %s: an event of %zu bytes could not be read",
                account->name, json.len);
    ret->taken = true;
    return;
  }
  ret->taken = is_message(&event) && command(gate, account, &event);
  if (ret->taken) return;
  note(gate, account, &event);
  ret->edited = is_message(&event) && tap(gate, account, &event, &ret->edit);
  if (is_message(&event)) show_agent(gate, account, &event, ret);
}

/* Whether a message that begins with text may be a command: the first character is the prefix's,
 * also as people type it on a Chinese keyboard. */
static bool may_command(const struct rg_account *account, struct span text)
{
  struct span prefix = account->config ? account->config->command_prefix : SPAN("");
  size_t length;
  text = rg_fold_trim(text);
  if (text.len == 0) return false;
  char first = prefix.len > 0 ? rg_fold_first(prefix, &length) : 0;
  return first == 0 || first == rg_fold_first(text, &length);
}

/* Whether a message has to be read as a whole: most of a busy group's are seen by what the link saw
 * to be neither command nor tap nor mention nor anything that the agent must know. */
static bool must_read(const struct rg_gate *gate, const struct rg_account *account,
                      const struct ob_sight *s)
{
  enum { TAP_MAX = 256 }; /* bytes of a number, maybe behind a name */
  if (!s || !s->message || !span_eq(s->post_type, SPAN("message"))) return true;
  if (s->at || span_is(s->user_id, account->peer.self_id)) return true;
  bool private_chat = !span_eq(s->message_type, SPAN("group"));
  if (gate->agent && rg_agent_wants(gate->agent, account, private_chat ? SPAN("") : s->group_id))
    return true;
  if (s->text.len > 0 && s->text.len <= TAP_MAX && ob_now_ms() < gate->keyboards_until_ms)
    return true;
  return may_command(account, s->text);
}

void rg_inbound_event(struct rg_gate *gate, struct rg_account *account, struct span json)
{
  if (rg_seen_before(&account->seen, json, ob_now_ms())) {
    rg_log_line(&gate->log, RG_LOG_DEBUG, "endpoint %s: an event came twice, once is enough",
                account->name);
    return;
  }
  const struct ob_sight *seen = account->link ? ob_link_sight(account->link) : NULL;
  if (!must_read(gate, account, seen)) {
    pthread_mutex_lock(&gate->mu);
    gate->events++;
    pthread_mutex_unlock(&gate->mu);
    pass(gate, account, json);
    return;
  }
  struct rg_inbound_verdict verdict = { .taken = false };
  buf_init(&verdict.edit, 2 * (size_t)OB_FRAME_MAX);
  rg_inbound_judge(gate, account, json, &verdict);
  if (!verdict.taken) pass(gate, account, verdict.edited ? buf_span(&verdict.edit) : json);
  buf_done(&verdict.edit);
}
