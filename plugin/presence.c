/* presence: see presence.h. */
#include "plugin/presence.h"

#include "plugin/delivery/delivery.h"
#include "plugin/relay/relay.h"

enum { STATUS_ARENA_MAX = 256 * 1024 }; /* an answer to get_status has a few hundred bytes */

static struct rg_account *account_of(struct ob_timer *t, size_t offset)
{
  return (struct rg_account *)(void *)((char *)t - offset);
}

static void ask_due(struct ob_timer *t);

static void ask_in(struct rg_account *account, unsigned ms)
{
  ob_timer_set(account->gate->service, &account->presence.ask, ms, ask_due);
}

/* Whoever waits for the account goes on, or is told that it waits. */
static void changed(struct rg_account *account)
{
  struct rg_gate *gate = account->gate;
  struct rg_presence *p = &account->presence;
  bool ready = rg_account_ready(account);
  if (ready) p->absent_ms = 0;
  if (!ready && p->absent_ms == 0) p->absent_ms = ob_now_ms();
  rg_delivery_link_changed(gate, account);
  if (gate->relay) rg_relay_state(gate->relay, account);
  if (!ready) return;
  if (p->told) rg_notify(gate, account, RG_NOTIFY_BACK, SPAN(""));
  p->told = false;
  rg_notify_flush(gate);
}

static void trouble(struct rg_account *account, enum rg_notify_event event)
{
  account->presence.told = true;
  rg_notify(account->gate, account, event, SPAN(""));
}

static void set_offline(struct rg_account *account, bool offline, const char *why)
{
  struct rg_gate *gate = account->gate;
  struct rg_presence *p = &account->presence;
  if (p->offline == offline) return;
  pthread_mutex_lock(&gate->mu);
  p->offline = offline;
  pthread_mutex_unlock(&gate->mu);
  rg_log_line(&gate->log, offline ? RG_LOG_WARN : RG_LOG_INFO, "endpoint %s: the account is %s, %s",
              account->name, offline ? "offline" : "online again", why);
  if (offline) {
    trouble(account, RG_NOTIFY_OFFLINE);
    ask_in(account, gate->timing.retry);
  } else {
    ob_timer_clear(gate->service, &p->ask);
  }
  changed(account);
}

/* A status is {"online","good"}; what it leaves out or calls null it does not know. */
static void take_status(struct rg_account *account, const struct schema_node *status,
                        const char *why)
{
  static const char *const words[] = { "online", "good" };
  bool known = false, away = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const struct schema_node *n = schema_tree_get(status, words[i]);
    if (!n || n->kind == SCHEMA_NULL) continue;
    known = true;
    away = away || !schema_tree_truth(n, true);
  }
  if (known) set_offline(account, away, why);
}

/* --- asking: heartbeats may be switched off, or be wrong --- */

static void status_answered(void *ctx, const struct ob_answer *answer)
{
  struct rg_account *account = ctx;
  struct arena arena;
  struct schema_node *tree;
  account->presence.asking = false;
  if (!account->presence.offline) return;
  arena_init(&arena, STATUS_ARENA_MAX);
  if (answer->kind == OB_ANSWER_RESPONSE &&
      schema_tree_read(answer->json, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK)
    take_status(account, schema_tree_get(tree, "data"), "as it answers");
  arena_done(&arena);
  if (account->presence.offline && account->link) ask_in(account, account->gate->timing.probe);
}

static void ask_due(struct ob_timer *t)
{
  struct rg_account *account =
      account_of(t, offsetof(struct rg_account, presence) + offsetof(struct rg_presence, ask));
  if (account->presence.asking || !account->presence.offline) return;
  account->presence.asking = true;
  rg_account_call(account, SPAN("get_status"), SPAN("{}"), account->gate->timing.send,
                  status_answered, account);
}

void rg_presence_refused(struct rg_account *account)
{
  set_offline(account, true, "as it refuses an action");
}

/* --- what it tells by itself --- */

void rg_presence_event(struct rg_account *account, const struct ob_event *event)
{
  bool meta = event->type == OB_EVENT_META;
  if (meta && span_is(event->detail, "heartbeat"))
    take_status(account, schema_tree_get(event->tree, "status"), "says its heartbeat");
  else if (meta && span_is(event->detail, "lifecycle"))
    set_offline(account, false, "it has started");
  else if (event->type == OB_EVENT_NOTICE && span_is(event->detail, "bot_offline"))
    set_offline(account, true, "it says");
  else if (event->type == OB_EVENT_NOTICE && span_is(event->detail, "bot_online"))
    set_offline(account, false, "it says");
}

/* --- the connection --- */

static void down_for_long(struct ob_timer *t)
{
  struct rg_account *account =
      account_of(t, offsetof(struct rg_account, presence) + offsetof(struct rg_presence, down));
  trouble(account, RG_NOTIFY_DOWN);
}

static void forget(struct rg_account *account)
{
  struct rg_gate *gate = account->gate;
  pthread_mutex_lock(&gate->mu);
  account->presence.offline = false; /* what it said was said of another connection */
  pthread_mutex_unlock(&gate->mu);
  ob_timer_clear(gate->service, &account->presence.ask);
}

/* Begins to count the time without a connection. */
static void watch(struct rg_account *account)
{
  struct rg_presence *p = &account->presence;
  if (p->absent_ms == 0) p->absent_ms = ob_now_ms();
  if (!p->down.armed && !p->told)
    ob_timer_set(account->gate->service, &p->down, account->gate->timing.down, down_for_long);
}

void rg_presence_begin(struct rg_account *account)
{
  if (!rg_account_ready(account)) watch(account);
}

void rg_presence_state(struct rg_account *account, enum ob_link_state state)
{
  struct rg_gate *gate = account->gate;
  struct rg_presence *p = &account->presence;
  if (state != OB_LINK_READY) forget(account);
  if (state == OB_LINK_READY)
    ob_timer_clear(gate->service, &p->down);
  else
    watch(account);
  if (state == OB_LINK_REFUSED) trouble(account, RG_NOTIFY_REFUSED);
  changed(account);
}

void rg_presence_end(struct rg_account *account)
{
  struct rg_presence *p = &account->presence;
  forget(account);
  ob_timer_clear(account->gate->service, &p->down);
  p->absent_ms = ob_now_ms();
  p->told = false;
}

const char *rg_presence_word(const struct rg_account *account)
{
  bool offline = account->state == OB_LINK_READY && account->presence.offline;
  return offline ? "offline" : rg_state_word(account->state);
}
