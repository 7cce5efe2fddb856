/* relay: see relay.h. */
#include "plugin/relay/relay.h"

#include <stdlib.h>
#include <time.h>

#include "onebot/token.h"
#include "plugin/relay/passage.h"

enum {
  ARENA_MAX = 4 * OB_FRAME_MAX,
  HEARTBEAT_MS = 30 * 1000, /* NapCat's; where the implementation has its own, that is passed on */
  LOOK_MS = 1,              /* while something is held back */
  FRONT_LOW = 1024 * 1024,  /* unsent bytes towards a framework with which reading goes on */
  PATH_PARTS = 3,
  /* A framework is on the same machine or near, and restarts while its operator looks at it. */
  BACKOFF_MAX_MS = 15 * 1000,
  REFUSED_MS = 60 * 1000,
};

/* --- what a fresh connection is told --- */

static void meta_begin(struct schema_writer *w, const struct rg_account *account, const char *type)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("time"));
  schema_write_int(w, time(NULL));
  schema_write_key(w, SPAN("self_id"));
  schema_write_raw(w, span_of(account->peer.self_id)); /* only this thread writes it */
  schema_write_pair(w, "post_type", SPAN("meta_event"));
  schema_write_pair(w, "meta_event_type", span_of(type));
}

static void meta_send(struct rg_front *f, struct buf *json)
{
  struct span part = buf_span(json);
  if (!json->failed) rg_front_send(f, &part, 1);
  buf_done(json);
}

static void heartbeat(struct rg_front *f)
{
  bool online = rg_account_ready(f->account);
  struct buf json;
  struct schema_writer w = { .out = &json };
  buf_init(&json, 1024);
  meta_begin(&w, f->account, "heartbeat");
  schema_write_key(&w, SPAN("status"));
  schema_write_object(&w);
  schema_write_key(&w, SPAN("online"));
  schema_write_bool(&w, online);
  schema_write_key(&w, SPAN("good"));
  schema_write_bool(&w, online);
  schema_write_object_end(&w);
  schema_write_key(&w, SPAN("interval"));
  schema_write_int(&w, HEARTBEAT_MS);
  schema_write_object_end(&w);
  meta_send(f, &json);
}

/* Says hello as an implementation does, once it is known for whom. */
static void greet(struct rg_front *f)
{
  if (f->greeted || !f->up || f->role == RG_FRONT_API || !f->account->peer.self_id[0]) return;
  struct buf json;
  struct schema_writer w = { .out = &json };
  f->greeted = true;
  buf_init(&json, 1024);
  meta_begin(&w, f->account, "lifecycle");
  schema_write_pair(&w, "sub_type", SPAN("connect"));
  schema_write_object_end(&w);
  meta_send(f, &json);
  heartbeat(f);
}

static struct rg_relay *relay_of_beat(struct ob_timer *t)
{
  return (struct rg_relay *)(void *)((char *)t - offsetof(struct rg_relay, beat));
}

static void beat(struct ob_timer *t)
{
  struct rg_relay *relay = relay_of_beat(t);
  uint64_t now = ob_now_ms();
  for (struct rg_front *f = relay->fronts; f; f = f->next) {
    if (f->dial && f->up) ob_dial_prove(f->dial); /* it kept us so long */
    bool theirs = now - f->account->heartbeat_ms < 2 * HEARTBEAT_MS && f->account->heartbeat_ms;
    if (f->greeted && f->up && !theirs) heartbeat(f);
  }
  if (relay->fronts) ob_timer_set(relay->gate->service, t, HEARTBEAT_MS, beat);
}

/* --- holding back --- */

/* Whether every framework of an account that takes events has enough to take. */
static bool all_full(const struct rg_relay *relay, const struct rg_account *account)
{
  bool any = false;
  for (const struct rg_front *f = relay->fronts; f; f = f->next) {
    if (f->account != account || f->role == RG_FRONT_API || !f->up || f->dropped) continue;
    if (f->full_since_ms == 0) return false;
    any = true;
  }
  return any;
}

/* The implementation is read as long as one of its frameworks has room, or none is there. */
static void settle(const struct rg_relay *relay, struct rg_account *account)
{
  if (account->link) ob_link_pause(account->link, all_full(relay, account));
}

static bool look_front(struct rg_front *f, uint64_t now)
{
  if (f->full_since_ms > 0) {
    if (rg_front_waiting(f) < FRONT_LOW)
      f->full_since_ms = 0;
    else if (now - f->full_since_ms > RG_FRONT_STALL_MS && all_full(f->relay, f->account))
      rg_front_drop(f, "it is too slow: for 10 s it did not catch up with what waits");
    settle(f->relay, f->account);
  }
  bool back = f->paused || f->overdue;
  if (back && rg_front_has_room(f)) rg_front_resume(f);
  back = (f->paused || f->overdue) && f->call_count <= RG_FRONT_CALLS_MAX / 2;
  return f->up && !f->dropped && (f->full_since_ms > 0 || back);
}

static void look(struct ob_timer *t)
{
  struct rg_relay *relay = (struct rg_relay *)(void *)((char *)t - offsetof(struct rg_relay, look));
  bool again = false;
  uint64_t now = ob_now_ms();
  for (struct rg_front *f = relay->fronts, *next; f; f = next) {
    next = f->next;
    again = look_front(f, now) || again;
  }
  if (again) rg_relay_look_later(relay);
}

void rg_relay_look_later(struct rg_relay *relay)
{
  if (!relay->look.armed) ob_timer_set(relay->gate->service, &relay->look, LOOK_MS, look);
}

/* --- fronts --- */

static struct rg_front *front_new(struct rg_relay *relay, struct rg_account *account)
{
  struct rg_front *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (struct rg_front) {
    .next = relay->fronts, .link = &relay->fronts, .relay = relay, .account = account
  };
  rg_front_forget(f);
  if (relay->fronts) relay->fronts->link = &f->next;
  relay->fronts = f;
  if (!relay->beat.armed) ob_timer_set(relay->gate->service, &relay->beat, HEARTBEAT_MS, beat);
  return f;
}

static void front_free(struct rg_front *f)
{
  rg_passage_orphan(f);
  rg_front_forget(f);
  *f->link = f->next;
  if (f->next) f->next->link = f->link;
  settle(f->relay, f->account);
  if (f->token) explicit_bzero(f->token, strlen(f->token));
  free(f->url);
  free(f->token);
  free(f);
}

/* --- frameworks that dial us --- */

/* The parts of a path between slashes; more than PATH_PARTS count as so many. */
static size_t path_split(struct span path, struct span parts[PATH_PARTS])
{
  size_t count = 0;
  while (path.len > 0) {
    const char *slash = memchr(path.ptr, '/', path.len);
    size_t len = slash ? (size_t)(slash - path.ptr) : path.len;
    if (len > 0 && count < PATH_PARTS) parts[count++] = (struct span) { path.ptr, len };
    size_t step = slash ? len + 1 : len;
    path = (struct span) { path.ptr + step, path.len - step };
  }
  return count;
}

static bool role_read(struct span word, enum rg_front_role *ret)
{
  if (span_eq_nocase(word, SPAN("api"))) return *ret = RG_FRONT_API, true;
  if (span_eq_nocase(word, SPAN("event"))) return *ret = RG_FRONT_EVENT, true;
  return false;
}

static struct rg_account *account_named(const struct rg_gate *gate, const struct rg_config *config,
                                        struct span word)
{
  struct rg_account *found = NULL;
  for (size_t i = 0; i < gate->account_count && !found; i++) {
    struct rg_account *a = gate->accounts[i];
    if (!rg_config_endpoint(config, span_of(a->name))) continue;
    if (span_is(word, a->name) || (a->peer.self_id[0] && span_is(word, a->peer.self_id))) found = a;
  }
  return found;
}

static struct rg_account *only_account(const struct rg_gate *gate, const struct rg_config *config)
{
  if (config->endpoint_count != 1) return NULL;
  return account_named(gate, config, config->endpoints[0].name);
}

static void refusal_write(struct rg_relay *relay, const char *what)
{
  size_t cap = sizeof relay->refusal;
  int n = snprintf(relay->refusal, cap, "%s Give the path of one:", what);
  size_t used = n > 0 ? (size_t)n : 0;
  for (size_t i = 0; i < relay->config->endpoint_count && used < cap; i++) {
    struct span name = relay->config->endpoints[i].name;
    n = snprintf(relay->refusal + used, cap - used, " /%.*s", (int)name.len, name.ptr);
    used += n > 0 ? (size_t)n : 0;
  }
}

/* Which account and role a connection means. NULL: refused, and relay->refusal says why. */
static struct rg_account *route(struct rg_relay *relay, const struct ob_request *r,
                                enum rg_front_role *role)
{
  struct span parts[PATH_PARTS] = { { NULL, 0 } }, self_id = span_trim(r->self_id);
  size_t count = path_split(r->path, parts);
  *role = RG_FRONT_UNIVERSAL;
  struct rg_account *named = count > 0 ? account_named(relay->gate, relay->config, parts[0]) : NULL;
  bool role_alone = !named && count == 1 && role_read(parts[0], role);
  if (named && count == 2 && role_read(parts[1], role)) count = 1;
  if (named && count == 1) return named;
  if (count > 0 && !role_alone) {
    refusal_write(relay, "No endpoint has this path.");
    return NULL;
  }
  if (self_id.len > 0) {
    named = account_named(relay->gate, relay->config, self_id);
    if (!named) refusal_write(relay, "No endpoint has the account of X-Self-ID.");
    return named;
  }
  named = only_account(relay->gate, relay->config);
  if (!named) refusal_write(relay, "Several endpoints are here.");
  return named;
}

static unsigned on_upgrade(void *ctx, const struct ob_request *r, const char **why)
{
  struct rg_relay *relay = ctx;
  enum rg_front_role role;
  unsigned refused = ob_token_judge(r, relay->config->relay.access_token, why);
  if (refused) return refused;
  if (route(relay, r, &role)) return 0;
  *why = relay->refusal;
  return 404;
}

static void on_open(void *ctx, struct ob_peer *p, const struct ob_request *r)
{
  struct rg_relay *relay = ctx;
  enum rg_front_role role;
  static const char *const words[] = { "", " (api)", " (event)" };
  struct rg_account *account = route(relay, r, &role);
  struct rg_front *f = account ? front_new(relay, account) : NULL;
  if (!f) {
    ob_peer_drop(p);
    return;
  }
  f->peer = p;
  f->role = role;
  f->up = true;
  snprintf(f->name, sizeof f->name, "%.40s, endpoint %.40s%s", ob_peer_address(p).ptr,
           account->name, words[role]);
  ob_peer_set_user(p, f);
  rg_log_line(&relay->gate->log, RG_LOG_INFO, "framework %s: connected", f->name);
  settle(f->relay, f->account);
  greet(f);
}

static void on_peer_text(void *ctx, struct ob_peer *p, struct span message)
{
  struct rg_front *f = ob_peer_user(p);
  (void)ctx;
  if (f) rg_front_take(f, message);
}

static void on_closed(void *ctx, struct ob_peer *p, unsigned code)
{
  struct rg_relay *relay = ctx;
  struct rg_front *f = ob_peer_user(p);
  if (!f) return;
  rg_log_line(&relay->gate->log, RG_LOG_INFO, "framework %s: its connection ended (code %u)",
              f->name, code);
  f->up = false;
  f->peer = NULL;
  front_free(f);
}

static char *text_of(struct span s)
{
  return strndup(s.len > 0 ? s.ptr : "", s.len);
}

static void listen_begin(struct rg_relay *relay)
{
  struct schema_error error = { .code = SCHEMA_OK };
  char *host = text_of(relay->config->relay.listen_host);
  const struct ob_listen_options options = {
    .name = "relay",
    .host = host,
    .port = relay->config->relay.listen_port,
    .message_max = OB_FRAME_MAX,
    .on = { .ctx = relay,
            .upgrade = on_upgrade,
            .open = on_open,
            .text = on_peer_text,
            .closed = on_closed },
  };
  enum schema_code code = SCHEMA_ENOMEM;
  if (host) code = ob_listen_open(relay->gate->service, &options, &relay->listener, &error);
  if (code != SCHEMA_OK)
    rg_log_line(
        &relay->gate->log, RG_LOG_ERROR,
        "relay.listen: port %u: %s; put it right, then reload (SIGHUP or the command reload)",
        (unsigned)options.port, error.what ? error.what : schema_code_text(code));
  else
    rg_log_line(&relay->gate->log, RG_LOG_INFO, "relay: frameworks connect to ws://%s:%u",
                strchr(host, ':') ? "[…]" : host, ob_listen_port(relay->listener));
  free(host);
}

/* --- frameworks that we dial --- */

static void on_up(void *ctx)
{
  struct rg_front *f = ctx;
  f->up = true;
  f->greeted = f->dropped = f->paused = false;
  f->full_since_ms = 0;
  rg_log_line(&f->relay->gate->log, RG_LOG_INFO, "framework %s: connected", f->name);
  settle(f->relay, f->account);
  greet(f);
}

static void on_heard(void *ctx)
{
  (void)ctx;
}

static void on_dial_text(void *ctx, struct span message)
{
  struct rg_front *f = ctx;
  ob_dial_prove(f->dial);
  rg_front_take(f, message);
}

static void on_down(void *ctx, bool refused, const char *why)
{
  struct rg_front *f = ctx;
  rg_passage_orphan(f);
  rg_front_forget(f);
  f->full_since_ms = 0;
  f->up = false;
  settle(f->relay, f->account);
  rg_log_line(&f->relay->gate->log, RG_LOG_WARN, "framework %s: %s%s", f->name,
              refused ? "refused: " : "", why);
}

/* Dials a framework as NapCat does, once the account is known. */
static void dial(struct rg_front *f)
{
  char headers[160];
  struct schema_error error = { .code = SCHEMA_OK };
  const char *self_id = f->account->peer.self_id;
  if (!f->url || !self_id[0] || (f->dial && strcmp(f->self_id, self_id) == 0)) return;
  if (f->dial) {
    rg_passage_orphan(f);
    rg_front_forget(f);
    ob_dial_close(f->dial);
    f->dial = NULL;
    f->up = false;
  }
  snprintf(f->self_id, sizeof f->self_id, "%s", self_id);
  snprintf(headers, sizeof headers,
           "X-Self-ID: %s\r\nX-Client-Role: Universal\r\nUser-Agent: OneBot/11\r\n", self_id);
  const struct ob_dial_options options = {
    .name = f->name,
    .url = f->url,
    .access_token = f->token,
    .headers = headers,
    .on = { .ctx = f, .up = on_up, .heard = on_heard, .text = on_dial_text, .down = on_down },
    .timing = { .backoff_max = BACKOFF_MAX_MS, .refused = REFUSED_MS },
  };
  enum schema_code code = ob_dial_open(f->relay->gate->service, &options, &f->dial, &error);
  if (code != SCHEMA_OK)
    rg_log_line(&f->relay->gate->log, RG_LOG_ERROR, "framework %s: %s", f->name,
                error.what ? error.what : schema_code_text(code));
}

static void dial_new(struct rg_relay *relay, size_t index)
{
  const struct rg_framework *entry = &relay->config->relay.frameworks[index];
  const struct rg_endpoint *e = rg_config_endpoint(relay->config, entry->endpoint);
  struct rg_account *account = e ? account_named(relay->gate, relay->config, e->name) : NULL;
  struct rg_front *f = account ? front_new(relay, account) : NULL;
  if (!f) {
    rg_log_line(&relay->gate->log, RG_LOG_ERROR, "relay.connect: entry %zu: no such endpoint",
                index + 1);
    return;
  }
  snprintf(f->name, sizeof f->name, "%zu of relay.connect, endpoint %.40s", index + 1,
           account->name);
  f->url = text_of(entry->url);
  f->token = text_of(entry->access_token);
  if (f->url && f->token)
    dial(f);
  else
    front_free(f);
}

static void dials_end(struct rg_relay *relay)
{
  for (struct rg_front *f = relay->fronts, *next; f; f = next) {
    next = f->next;
    if (!f->url) continue;
    if (f->dial) ob_dial_close(f->dial);
    front_free(f);
  }
}

/* --- configuration --- */

static bool listen_equal(const struct rg_config *a, const struct rg_config *b)
{
  return a && b && span_eq(a->relay.listen_host, b->relay.listen_host) &&
         a->relay.listen_port == b->relay.listen_port &&
         span_eq(a->relay.access_token, b->relay.access_token);
}

static bool frameworks_equal(const struct rg_config *a, const struct rg_config *b)
{
  bool equal = a && b && a->relay.framework_count == b->relay.framework_count;
  for (size_t i = 0; equal && i < a->relay.framework_count; i++) {
    const struct rg_framework *x = &a->relay.frameworks[i], *y = &b->relay.frameworks[i];
    equal = span_eq(x->url, y->url) && span_eq(x->access_token, y->access_token) &&
            span_eq(x->endpoint, y->endpoint);
  }
  return equal;
}

/* Lets frameworks go whose endpoint is there no longer. */
static void strays_end(struct rg_relay *relay)
{
  for (struct rg_front *f = relay->fronts, *next; f; f = next) {
    next = f->next;
    if (rg_config_endpoint(relay->config, span_of(f->account->name))) continue;
    rg_front_drop(f, "its endpoint is no longer in the configuration");
  }
}

void rg_relay_configure(struct rg_relay *relay, struct rg_config *config)
{
  struct rg_config *old = relay->config;
  bool same_listen = listen_equal(old, config), same_dials = frameworks_equal(old, config);
  if (!same_listen && relay->listener) {
    ob_listen_close(relay->listener);
    relay->listener = NULL;
  }
  if (!same_dials) dials_end(relay);
  relay->config = rg_config_keep(config);
  if (!relay->listener && config->relay.listen_host.len > 0) listen_begin(relay);
  for (size_t i = 0; !same_dials && i < config->relay.framework_count; i++) dial_new(relay, i);
  strays_end(relay);
  rg_config_release(old);
}

/* --- life --- */

struct rg_relay *rg_relay_new(struct rg_gate *gate)
{
  struct rg_relay *relay = calloc(1, sizeof *relay);
  if (!relay) return NULL;
  relay->gate = gate;
  arena_init(&relay->arena, ARENA_MAX);
  return relay;
}

void rg_relay_free(struct rg_relay *relay)
{
  if (!relay) return;
  if (relay->listener) ob_listen_close(relay->listener);
  dials_end(relay);
  ob_timer_clear(relay->gate->service, &relay->beat);
  ob_timer_clear(relay->gate->service, &relay->look);
  rg_config_release(relay->config);
  arena_done(&relay->arena);
  free(relay);
}

/* --- from the accounts --- */

void rg_relay_state(struct rg_relay *relay, struct rg_account *account)
{
  for (struct rg_front *f = relay->fronts, *next; f; f = next) {
    next = f->next;
    if (f->account != account) continue;
    dial(f);
    greet(f);
  }
}

bool rg_relay_has(const struct rg_relay *relay, const struct rg_account *account)
{
  for (const struct rg_front *f = relay->fronts; f; f = f->next)
    if (f->account == account) return true;
  return false;
}

void rg_relay_event(struct rg_relay *relay, struct rg_account *account, struct span json)
{
  bool full = false;
  for (struct rg_front *f = relay->fronts; f; f = f->next) {
    if (f->account != account || f->role == RG_FRONT_API || !f->up || f->dropped) continue;
    if (!rg_front_send(f, &json, 1)) continue;
    if (f->full_since_ms == 0 && rg_front_waiting(f) > RG_FRONT_FULL)
      f->full_since_ms = ob_now_ms();
    full = full || f->full_since_ms > 0;
  }
  if (!full) return;
  settle(relay, account);
  rg_relay_look_later(relay);
}
