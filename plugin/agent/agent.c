/* agent: see agent.h. What makes it answer, and what becomes of its turns. */
#include "plugin/agent/agent.h"

#include <stdlib.h>
#include <sys/random.h>

#include "onebot/id.h"
#include "onebot/native.h"
#include "plugin/agent/memory.h"
#include "plugin/agent/question.h"
#include "plugin/delivery/preview.h"

/* What a newer message does to the person's older runs, where it does not wait for them. */
static void make_way(struct rg_agent *agent, const struct rg_view *view, const struct rg_chat *chat,
                     struct span sender_id)
{
  if (view->group->agent.newer == RG_NEWER_WAITS) return;
  for (struct rg_run *r = agent->runs, *next; r; r = next) {
    next = r->next;
    if (!rg_run_is_of(r, chat, sender_id)) continue;
    rg_run_say(r, RG_LOG_DEBUG, "given up for a newer message", "");
    rg_run_free(r);
  }
}

static void begin(struct rg_agent *agent, struct rg_chat *chat, const struct rg_view *view,
                  const struct ob_event *event)
{
  uint64_t limit = view->group->agent.daily_tokens;
  if (limit > 0 && rg_budget_spent(&chat->budget) >= limit) {
    rg_log_line(&agent->gate->log, RG_LOG_INFO,
                "%s, %s %s: agent: the tokens of the day are used up", chat->account->name,
                chat->group ? "group" : "user", chat->id);
    return;
  }
  make_way(agent, view, chat, event->user_id);
  bool waits = !rg_run_may_start(agent, chat, view->group, event->user_id);
  struct rg_run *run = rg_run_new(agent, chat, view);
  if (!run) {
    rg_log_line(&agent->gate->log, RG_LOG_WARN, "%s, %s %s: agent: too many answers are being made",
                chat->account->name, chat->group ? "group" : "user", chat->id);
    return;
  }
  run->message_id = arena_copy(&run->arena, event->message_id);
  run->sender_id = arena_copy(&run->arena, event->user_id);
  run->waiting = waits;
  if (!waits) rg_run_start(run);
}

/* --- events --- */

static bool by_chance(double chance)
{
  uint32_t dice = 0;
  return chance > 0 && getrandom(&dice, sizeof dice, GRND_NONBLOCK) == sizeof dice &&
         dice < chance * 4294967296.0;
}

static bool holds_one(const struct rg_list *list, struct span text, bool at_start)
{
  for (size_t i = 0; i < list->count; i++) {
    if (at_start && span_starts(text, list->items[i])) return true;
    if (!at_start && span_find(text, list->items[i]) < text.len) return true;
  }
  return false;
}

static bool is_trigger(const struct rg_group *group, const struct rg_chat *chat,
                       const struct ob_event *event)
{
  uint32_t rules = group->agent.triggers;
  struct span text = span_trim(event->text);
  return (rules & RG_TRIGGER_MENTION && event->mentions_self) ||
         (rules & RG_TRIGGER_REPLY && rg_talk_is_ours(&chat->talk, event->reply_to)) ||
         (rules & RG_TRIGGER_PREFIX && holds_one(&group->agent.prefixes, text, true)) ||
         (rules & RG_TRIGGER_KEYWORD && holds_one(&group->agent.keywords, text, false)) ||
         (rules & RG_TRIGGER_CHANCE && by_chance(group->agent.chance));
}

static bool lists(const struct rg_ids *ids, struct span id)
{
  int64_t number = 0;
  if (!ob_id_read(id, &number)) return false;
  for (size_t i = 0; i < ids->count; i++)
    if (ids->items[i] == (uint64_t)number) return true;
  return false;
}

/* Whether the agent works in the event's chat, for its sender. */
static bool is_for_us(const struct rg_view *view, const struct ob_event *event,
                      const struct rg_account *account)
{
  const struct rg_config *c = view->config;
  if (c->provider_count == 0 || !view->group->enabled) return false;
  if (span_is(event->user_id, account->peer.self_id)) return false;
  if (lists(&view->group->ignore, event->user_id)) return false;
  if (event->type == OB_EVENT_GROUP) return view->group->agent.enabled;
  return c->private_chat.enabled && lists(&c->private_chat.users, event->user_id);
}

static void note(struct rg_agent *agent, struct rg_chat *chat, const struct rg_group *settings,
                 const struct ob_event *event)
{
  struct buf text, pictures;
  const struct schema_node *message =
      ob_native_read(schema_tree_get(event->tree, "message"), false, &agent->gate->event_arena);
  buf_init(&text, RG_TALK_LINE_MAX);
  buf_init(&pictures, RG_TALK_PICTURES_MAX * (RG_TALK_URL_MAX + 1));
  rg_talk_addresses(message, &pictures);
  rg_talk_text(message, &text);
  const struct rg_talk_line line = { .sender_id = event->user_id,
                                     .name = event->sender_name,
                                     .message_id = event->message_id,
                                     .reply_to = event->reply_to,
                                     .text = span_trim(buf_span(&text)),
                                     .pictures = buf_span(&pictures) };
  rg_memory_line(agent, chat, settings, &line);
  buf_done(&text);
  buf_done(&pictures);
}

/* The chat of a message, with what is remembered of it. NULL: no memory, or too many. */
static struct rg_chat *chat_of(struct rg_agent *agent, struct rg_account *account, bool group,
                               struct span id, const struct rg_group *settings)
{
  struct rg_chat *chat = rg_chat_get(&agent->chats, account, group, id);
  if (chat && !chat->loaded) {
    chat->loaded = true;
    rg_memory_load(agent, chat, settings);
  }
  return chat;
}

bool rg_agent_wants(const struct rg_agent *agent, const struct rg_account *account,
                    struct span group_id)
{
  const struct rg_config *config = account->config;
  int64_t number = 0;
  struct rg_view view;
  if (!config || config->provider_count == 0) return false;
  if (group_id.len == 0) return config->private_chat.enabled;
  if (!ob_id_read(group_id, &number) || number <= 0) return false;
  bool known =
      rg_settings_view(agent->gate->settings, span_of(account->name), (uint64_t)number, &view);
  bool wants = !known || !view.group || (view.group->enabled && view.group->agent.enabled);
  rg_view_done(&view);
  return wants;
}

void rg_agent_event(struct rg_agent *agent, struct rg_account *account,
                    const struct ob_event *event, bool for_bot)
{
  bool group = event->type == OB_EVENT_GROUP;
  struct span id = group ? event->group_id : event->user_id;
  int64_t number = 0;
  struct rg_view view;
  if (agent->gate->closing || (!group && event->type != OB_EVENT_PRIVATE)) return;
  if (!ob_id_read(id, &number) || number <= 0) return;
  bool known = rg_settings_view(agent->gate->settings, span_of(account->name),
                                group ? (uint64_t)number : 0, &view);
  struct rg_chat *chat = known && view.group && is_for_us(&view, event, account)
                             ? chat_of(agent, account, group, id, view.group)
                             : NULL;
  if (chat) {
    note(agent, chat, view.group, event);
    if (!group || for_bot || is_trigger(view.group, chat, event)) begin(agent, chat, &view, event);
  }
  rg_view_done(&view);
}

/* Gives up what is being made of a message, or of all of a chat where its id is empty. */
static void give_up(struct rg_agent *agent, const struct rg_account *account, bool group,
                    struct span id, struct span message_id, const char *why)
{
  for (struct rg_run *run = agent->runs, *next; run; run = next) {
    next = run->next;
    const struct rg_chat *c = run->chat;
    bool here = c->account == account && c->group == group && span_is(id, c->id);
    if (run->ticket > 0 || !here) continue;
    if (message_id.len > 0 && !span_eq(run->message_id, message_id)) continue;
    rg_run_say(run, RG_LOG_DEBUG, why, "");
    rg_run_free(run);
  }
  rg_run_wake(agent);
}

bool rg_agent_clear(struct rg_agent *agent, const struct rg_account *account, bool group,
                    struct span id)
{
  bool cleared = rg_memory_clear(agent, account, group, id); /* before others begin */
  give_up(agent, account, group, id, SPAN(""), "given up: its talk was cleared");
  return cleared;
}

/* Whether the account is in the group no longer. */
static bool removes_self(const struct ob_event *event)
{
  struct span how = schema_tree_string(schema_tree_get(event->tree, "sub_type"));
  return span_eq(event->user_id, event->self_id) || span_is(how, "kick_me") ||
         span_is(how, "disband");
}

void rg_agent_notice(struct rg_agent *agent, const struct rg_account *account,
                     const struct ob_event *event)
{
  bool group = event->group_id.len > 0;
  struct span id = group ? event->group_id : event->user_id;
  if (agent->gate->closing || !rg_agent_wants(agent, account, event->group_id)) return;
  if (span_is(event->detail, "group_recall") || span_is(event->detail, "friend_recall")) {
    if (event->message_id.len == 0) return;
    rg_memory_forget(agent, account, group, id, event->message_id); /* before others begin */
    give_up(agent, account, group, id, event->message_id, "given up: the question was taken back");
  } else if (span_is(event->detail, "group_decrease") && group && removes_self(event)) {
    give_up(agent, account, true, id, SPAN(""), "given up: the account is not in the group");
  }
}

/* --- what became of turns --- */

void rg_agent_turn_ended(struct rg_agent *agent, const struct rg_job *job)
{
  const struct rg_conversation *c = job->conversation;
  struct rg_chat *chat = rg_chat_find(&agent->chats, c->account, c->group, span_of(c->id));
  struct buf text;
  bool first = true;
  if (!chat || job->is_notice) return;
  buf_init(&text, RG_TEXT_MAX);
  rg_preview(&job->reply, &text);
  for (size_t i = 0; i < job->plan.count; i++) {
    if (job->plan.steps[i].kind == OB_STEP_REACTION || job->parts[i].state != RG_PART_SENT)
      continue;
    const struct rg_talk_line line = { .sender_id = span_of(c->account->peer.self_id),
                                       .message_id = job->parts[i].message_id,
                                       .text = first ? buf_span(&text) : SPAN(""),
                                       .ours = true };
    rg_memory_line(agent, chat, job->view.group, &line);
    first = false;
  }
  buf_done(&text);
}

/* --- the correction --- */

static const char correction[] =
    "The answer below was meant as one JSON object in the form described above, and is not: %s "
    "(%s). Write the same answer in the right form; add nothing, change no words. Answer:\n%.*s";

bool rg_agent_correct(struct rg_agent *agent, const struct rg_job *job)
{
  const struct rg_conversation *c = job->conversation;
  struct rg_buf schema = { NULL, 0 }, instruction = { NULL, 0 };
  if (agent->gate->closing || job->view.config->provider_count == 0) return false;
  struct rg_chat *chat = chat_of(agent, c->account, c->group, span_of(c->id), job->view.group);
  struct rg_run *run = chat ? rg_run_new(agent, chat, &job->view) : NULL;
  if (!run) return false;
  run->ticket = job->ticket;
  const struct rg_turn turn = rg_run_turn(run);
  size_t good = span_utf8_fault(job->text);
  const char *why = job->error.what ? job->error.what : schema_code_text(job->error.code);
  const struct rg_said said = {
    .by = RG_SAID_USER,
    .text = arena_printf(&run->arena, correction, why, job->error.path, (int)good, job->text.ptr),
  };
  bool made = good == job->text.len && good > 0 && said.text.ptr && rg_run_said(run, &said) &&
              rg_gate_contract(agent->gate, &turn, &schema, &instruction) == RG_OK;
  if (made) {
    run->schema = arena_copy(&run->arena, (struct span) { schema.ptr, schema.len });
    run->system = arena_copy(&run->arena, (struct span) { instruction.ptr, instruction.len });
    made = run->schema.ptr && run->system.ptr;
  }
  rg_gate_release(&schema);
  rg_gate_release(&instruction);
  if (!made) {
    rg_run_free(run);
    return false;
  }
  ob_timer_set(agent->gate->service, &run->timer, 0, rg_run_ask_due); /* not before this returns */
  return true;
}

/* --- the whole --- */

struct rg_agent *rg_agent_new(struct rg_gate *gate)
{
  struct rg_agent *agent = calloc(1, sizeof *agent);
  if (agent) agent->gate = gate;
  return agent;
}

void rg_agent_free(struct rg_agent *agent)
{
  if (!agent) return;
  while (agent->runs) rg_run_free(agent->runs);
  rg_chats_done(&agent->chats);
  rg_budgets_free(agent->used);
  free(agent);
}
