/* endpoint: see endpoint.h. */
#include "plugin/endpoint.h"

#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/hosted.h"
#include "plugin/inbound.h"
#include "schema/print.h"

enum {
  CARDS_MISSED_MAX = 2,   /* design 8 */
  PARAMS_MAX = 64 * 1024, /* a message id in JSON; icqq's have 30 bytes */
};

struct rg_account *rg_account_new(struct rg_gate *gate, struct span name)
{
  struct rg_account *account = calloc(1, sizeof *account);
  char *copy = strndup(name.len > 0 ? name.ptr : "", name.len);
  if (!account || !copy) {
    free(copy);
    free(account);
    return NULL;
  }
  account->gate = gate;
  account->name = copy;
  account->peer.profile = ob_profiles[OB_SPEC];
  account->state = OB_LINK_DOWN;
  return account;
}

void rg_account_free(struct rg_account *account)
{
  if (!account) return;
  rg_config_release(account->config);
  rg_mentions_done(&account->mentions);
  rg_rate_done(&account->rate);
  free(account->name);
  free(account);
}

static void copy_text(char *to, size_t size, struct span from)
{
  size_t len = from.len < size ? from.len : size - 1;
  if (len > 0) memcpy(to, from.ptr, len);
  to[len] = '\0';
}

/* A profile as the operator corrects it; the configuration has checked the words. */
static struct ob_profile profile_of(const struct rg_endpoint *e, const struct ob_profile *base)
{
  struct ob_profile p = *base;
  const struct rg_list *facts = &e->profile_override;
  for (size_t i = 0; i + 1 < facts->count; i += 2) {
    ob_profile_override(&p, facts->items[i], facts->items[i + 1], NULL);
  }
  return p;
}

/* What the connection knows of its peer becomes what other threads may read. */
static void identity_take(struct rg_account *account, enum ob_link_state state)
{
  const struct ob_link *link = account->link;
  pthread_mutex_lock(&account->gate->mu);
  account->state = state;
  if (state == OB_LINK_READY && link) {
    account->peer.profile = profile_of(account->configured, ob_link_profile(link));
    account->peer.known = true;
    copy_text(account->peer.self_id, sizeof account->peer.self_id, ob_link_self_id(link));
    copy_text(account->version, sizeof account->version, ob_link_version(link));
  }
  pthread_mutex_unlock(&account->gate->mu);
}

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct rg_account *account = ctx;
  if (account->client) account->link = ob_client_link(account->client);
  identity_take(account, state);
  rg_inbound_state(account->gate, account, state, why);
}

static void on_event(void *ctx, struct span json)
{
  struct rg_account *account = ctx;
  rg_inbound_event(account->gate, account, json);
}

static char *text_of(struct span s)
{
  return s.len > 0 ? strndup(s.ptr, s.len) : NULL;
}

static void say_failure(const struct rg_account *account, enum schema_code code,
                        const struct schema_error *error)
{
  rg_log_line(&account->gate->log, RG_LOG_ERROR,
              "endpoint %s: %s; put it right, then reload (SIGHUP or the command reload)",
              account->name, error->what ? error->what : schema_code_text(code));
}

static void dial(struct rg_account *account, const struct rg_endpoint *e)
{
  struct schema_error error = { .code = SCHEMA_OK };
  char *url = text_of(e->connect), *token = text_of(e->access_token), *ca = text_of(e->ca);
  const struct ob_client_options options = {
    .name = account->name,
    .url = url,
    .access_token = token,
    .ca = ca,
    .profile = e->profile,
    .self_id = e->self_id,
    .on = { .ctx = account, .state = on_state, .event = on_event },
    .timing = { .backoff_min = account->gate->timing.backoff,
                .backoff_max = account->gate->timing.backoff },
  };
  struct ob_client *client = NULL;
  enum schema_code code = ob_client_open(account->gate->service, &options, &client, &error);
  free(url);
  free(token);
  free(ca);
  if (code != SCHEMA_OK) {
    say_failure(account, code, &error);
    return;
  }
  account->client = client;
  account->link = ob_client_link(client);
}

/* The implementation dials us: a reverse WebSocket. */
static void listen_for(struct rg_account *account, const struct rg_endpoint *e)
{
  struct schema_error error = { .code = SCHEMA_OK };
  char *host = text_of(e->listen.host), *path = text_of(e->listen.path),
       *token = text_of(e->access_token);
  const struct ob_server_options options = {
    .name = account->name,
    .host = host,
    .port = e->listen.port,
    .path = path,
    .access_token = token,
    .profile = e->profile,
    .self_id = e->self_id,
    .on = { .ctx = account, .state = on_state, .event = on_event },
  };
  struct ob_server *server = NULL;
  enum schema_code code = ob_server_open(account->gate->service, &options, &server, &error);
  free(host);
  free(path);
  free(token);
  if (code != SCHEMA_OK) {
    say_failure(account, code, &error);
    return;
  }
  account->server = server;
  account->link = ob_server_link(server);
}

/* The host's own connection carries everything. */
static void use_host(struct rg_account *account, const struct rg_endpoint *e)
{
  const struct ob_link_handlers on = { .ctx = account, .state = on_state, .event = on_event };
  account->hosted = rg_hosted_open(account, e->profile, &on);
  if (account->hosted) return;
  rg_log_line(&account->gate->log, RG_LOG_WARN,
              "endpoint %s: connect: host, but this host gives no send; nothing can be sent",
              account->name);
}

static bool lists_equal(const struct rg_list *a, const struct rg_list *b)
{
  bool equal = a->count == b->count;
  for (size_t i = 0; equal && i < a->count; i++) equal = span_eq(a->items[i], b->items[i]);
  return equal;
}

static bool connection_equal(const struct rg_endpoint *a, const struct rg_endpoint *b)
{
  return a && b && span_eq(a->connect, b->connect) && a->host_connects == b->host_connects &&
         span_eq(a->access_token, b->access_token) && span_eq(a->listen.host, b->listen.host) &&
         a->listen.port == b->listen.port && span_eq(a->listen.path, b->listen.path) &&
         span_eq(a->ca, b->ca) && a->profile == b->profile && a->self_id == b->self_id &&
         lists_equal(&a->profile_override, &b->profile_override);
}

void rg_account_configure(struct rg_account *account, struct rg_config *config,
                          const struct rg_endpoint *e)
{
  /* a port that was in use is tried again */
  bool open = account->client || account->server || account->hosted;
  bool same = connection_equal(account->configured, e) && (open || !e);
  struct rg_config *old = account->config;
  if (!same) rg_account_close(account);
  account->config = rg_config_keep(config);
  account->configured = e;
  account->cards_trusted = e && e->music_sign == RG_YES;
  account->cards_missed = 0;

  pthread_mutex_lock(&account->gate->mu);
  account->peer.cards_as_text = e && e->music_sign == RG_NO;
  if (!same) {
    account->peer.known = e && e->profile;
    if (e) account->peer.profile = profile_of(e, e->profile ? e->profile : &ob_profiles[OB_SPEC]);
  }
  pthread_mutex_unlock(&account->gate->mu);

  if (!same && e && e->connect.len > 0) dial(account, e);
  if (!same && e && e->listen.host.len > 0) listen_for(account, e);
  if (!same && e && e->host_connects) use_host(account, e);
  if (!same && e) rg_presence_begin(account);
  rg_config_release(old);
}

void rg_account_close(struct rg_account *account)
{
  struct ob_client *client = account->client;
  struct ob_server *server = account->server;
  struct ob_link *hosted = account->hosted;
  rg_presence_end(account);
  if (!client && !server && !hosted) return;
  account->client = NULL; /* first: the calls that end now must not find it usable */
  account->server = NULL;
  account->hosted = NULL;
  account->link = NULL;
  if (client) ob_client_close(client);
  if (server) ob_server_close(server);
  rg_hosted_close(hosted);
  identity_take(account, OB_LINK_DOWN);
}

bool rg_account_ready(const struct rg_account *account)
{
  return account->link && ob_link_state(account->link) == OB_LINK_READY &&
         !account->presence.offline; /* only this thread writes it */
}

void rg_account_call(struct rg_account *account, struct span action, struct span params,
                     unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                     void *ctx)
{
  if (account->link) {
    ob_link_call(account->link, action, params, timeout_ms, done, ctx);
    return;
  }
  const struct ob_answer answer = { .kind = OB_ANSWER_NOT_WRITTEN };
  done(ctx, &answer);
}

void rg_account_call_message(struct rg_account *account, struct span action, struct span message_id,
                             unsigned timeout_ms,
                             void (*done)(void *ctx, const struct ob_answer *answer), void *ctx)
{
  struct buf params;
  struct schema_writer w = { .out = &params };
  buf_init(&params, PARAMS_MAX);
  schema_write_object(&w);
  schema_write_key(&w, SPAN("message_id"));
  if (ob_id_read(message_id, NULL)) {
    schema_write_raw(&w, message_id);
  } else {
    schema_write_string(&w, message_id);
  }
  schema_write_object_end(&w);
  rg_account_call(account, action, params.failed ? SPAN("{}") : buf_span(&params), timeout_ms, done,
                  ctx);
  buf_done(&params);
}

void rg_account_card_seen(struct rg_account *account, bool shown)
{
  account->cards_missed = shown ? 0 : account->cards_missed + 1;
  if (account->cards_missed < CARDS_MISSED_MAX) return;
  pthread_mutex_lock(&account->gate->mu);
  bool already = account->peer.cards_as_text;
  account->peer.cards_as_text = true;
  pthread_mutex_unlock(&account->gate->mu);
  if (already) return;
  rg_log_line(&account->gate->log, RG_LOG_WARN,
              "endpoint %s: music cards are accepted but not shown; sending text in their place "
              "(see music_sign)",
              account->name);
  rg_notify(account->gate, account, RG_NOTIFY_CARDS, SPAN(""));
}
