#include "onebot/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onebot/frame.h"
#include "onebot/token.h"

enum { PROBE_MS = 5000, SELF_ID_MAX = 20 };

enum role { UNIVERSAL, API, EVENT, ROLES };

static const char *const role_names[ROLES] = { "Universal", "API", "Event" };

struct ob_server {
  struct ob_part part;
  struct ob_service *s;
  struct ob_listener *listener;
  struct ob_link *link;
  char *name, *path, *token;
  bool closed;
  char account[SELF_ID_MAX + 1]; /* of the connections below; "" without any */
  struct ob_peer *peers[ROLES];  /* their user pointer is the server; NULL once replaced */
};

/* ---- who may come ---- */

static bool is_account(struct span id)
{
  if (id.len == 0 || id.len > SELF_ID_MAX) return false;
  for (size_t i = 0; i < id.len; i++)
    if (id.ptr[i] < '0' || id.ptr[i] > '9') return false;
  return true;
}

static enum role role_of(const struct ob_request *r)
{
  struct span role = span_trim(r->client_role);
  if (role.len == 0) return UNIVERSAL;
  for (size_t i = 0; i < ROLES; i++)
    if (span_eq_nocase(role, span_of(role_names[i]))) return (enum role)i;
  return ROLES;
}

static bool path_is_ours(const struct ob_server *v, struct span path)
{
  if (!v->path[0]) return true;
  struct span wanted = span_of(v->path);
  if (wanted.len > 1 && wanted.ptr[wanted.len - 1] == '/') wanted.len--;
  if (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
  return span_eq(path, wanted);
}

static unsigned on_upgrade(void *ctx, const struct ob_request *r, const char **why)
{
  const struct ob_server *v = ctx;
  struct span account = span_trim(r->self_id);
  if (!path_is_ours(v, r->path)) {
    *why = "no OneBot endpoint at this path";
    return 404;
  }
  unsigned refused = ob_token_judge(r, span_of(v->token), why);
  if (refused) return refused;
  if (!is_account(account)) {
    *why = "X-Self-ID must be the account's number";
    return 400;
  }
  if (role_of(r) == ROLES) {
    *why = "X-Client-Role must be Universal, API or Event";
    return 400;
  }
  if (v->account[0] && !span_is(account, v->account)) {
    *why = "another account is connected; it needs an endpoint of its own";
    return 403;
  }
  return 0;
}

/* ---- the link's bytes ---- */

/* The connection that actions go to. */
static struct ob_peer *actions_of(const struct ob_server *v)
{
  return v->peers[UNIVERSAL] ? v->peers[UNIVERSAL] : v->peers[API];
}

static bool carrier_send(void *wire, const struct span *parts, size_t count)
{
  struct ob_peer *p = actions_of(wire);
  return p && ob_peer_send_parts(p, parts, count);
}

static uint64_t carrier_queued(void *wire)
{
  const struct ob_peer *p = actions_of(wire);
  return p ? ob_peer_total(p) : 0;
}

static uint64_t carrier_handed(void *wire)
{
  const struct ob_peer *p = actions_of(wire);
  return p ? ob_peer_handed(p) : 0;
}

static void carrier_pause(void *wire, bool pause)
{
  struct ob_server *v = wire;
  for (size_t i = 0; i < ROLES; i++)
    if (v->peers[i]) ob_peer_pause(v->peers[i], pause);
}

static void carrier_end(void *wire, const char *why);

static const struct ob_carrier carrier = {
  .send = carrier_send,
  .queued = carrier_queued,
  .handed = carrier_handed,
  .pause = carrier_pause,
  .end = carrier_end, /* no ping: the listener looks after silent peers */
};

/* ---- connections ---- */

static bool is_role_of_actions(enum role role)
{
  return role != EVENT;
}

/* Forgets a connection. The link goes down first where its actions went there: it still asks how
 * much was handed over. */
static void forget(struct ob_server *v, enum role role, const char *why)
{
  if (is_role_of_actions(role)) ob_link_down(v->link, OB_LINK_DOWN, why);
  v->peers[role] = NULL;
  if (!v->peers[UNIVERSAL] && !v->peers[API] && !v->peers[EVENT]) v->account[0] = 0;
}

/* Lets a connection go that is replaced or dead: it is not waited for. */
static void dismiss(struct ob_server *v, enum role role, unsigned code, const char *why)
{
  struct ob_peer *p = v->peers[role];
  if (!p) return;
  ob_peer_set_user(p, NULL);
  ob_peer_close(p, code, why);
  forget(v, role, why);
}

static void carrier_end(void *wire, const char *why)
{
  struct ob_server *v = wire;
  for (enum role role = UNIVERSAL; role < ROLES && !v->closed; role++)
    dismiss(v, role, OB_CLOSE_NORMAL, why);
}

static void on_open(void *ctx, struct ob_peer *p, const struct ob_request *r)
{
  struct ob_server *v = ctx;
  enum role role = role_of(r);
  struct span account = span_trim(r->self_id);
  /* events must not come twice: Universal stands alone, API and Event stand beside each other */
  for (enum role other = UNIVERSAL; other < ROLES && !v->closed; other++)
    if (other == role || other == UNIVERSAL || role == UNIVERSAL)
      dismiss(v, other, OB_CLOSE_POLICY, "replaced by a new connection of the account");
  if (v->closed) return;
  snprintf(v->account, sizeof v->account, "%.*s", (int)account.len, account.ptr);
  v->peers[role] = p;
  ob_peer_set_user(p, v);
  ob_service_log(v->s, OB_LOG_INFO, "%s: account %s connected from %.*s as %s", v->name, v->account,
                 (int)r->peer.len, r->peer.ptr, role_names[role]);
  if (!is_role_of_actions(role)) return;
  carrier_pause(v, false); /* the Event connection may be paused, the link begins as it is not */
  ob_link_up(v->link, &carrier, v, account);
}

static void on_text(void *ctx, struct ob_peer *p, struct span message)
{
  struct ob_server *v = ctx;
  if (v->closed || !ob_peer_user(p)) return;
  ob_link_heard(v->link);
  ob_link_take(v->link, message);
}

static void on_binary(void *ctx, struct ob_peer *p, struct span message)
{
  struct ob_server *v = ctx;
  (void)p;
  ob_service_log(v->s, OB_LOG_WARN, "%s: a binary frame of %zu bytes is skipped", v->name,
                 message.len);
}

static void on_closed(void *ctx, struct ob_peer *p, unsigned code)
{
  struct ob_server *v = ctx;
  if (v->closed) return;
  for (enum role role = UNIVERSAL; role < ROLES; role++) {
    if (v->peers[role] != p) continue;
    char why[64];
    snprintf(why, sizeof why, "the connection ended (code %u)", code);
    if (!is_role_of_actions(role))
      ob_service_log(v->s, OB_LOG_WARN, "%s: the Event connection ended (code %u): no events now",
                     v->name, code);
    forget(v, role, why);
    return;
  }
}

/* ---- life ---- */

static void end_part(struct ob_part *part)
{
  ob_server_close((struct ob_server *)(void *)((char *)part - offsetof(struct ob_server, part)));
}

static void free_server(struct ob_server *v)
{
  if (!v) return;
  ob_link_free(v->link);
  if (v->token) explicit_bzero(v->token, strlen(v->token));
  free(v->token);
  free(v->name);
  free(v->path);
  free(v);
}

static void bury_part(struct ob_part *part)
{
  free_server((struct ob_server *)(void *)((char *)part - offsetof(struct ob_server, part)));
}

static struct ob_server *new_server(struct ob_service *s, const struct ob_server_options *o)
{
  struct ob_server *v = calloc(1, sizeof *v);
  if (!v) return NULL;
  v->s = s;
  v->part = (struct ob_part) { .end = end_part, .bury = bury_part };
  v->name = strdup(o->name ? o->name : "endpoint");
  v->path = strdup(o->path ? o->path : "");
  v->token = strdup(o->access_token ? o->access_token : "");
  v->link = ob_link_new(&(struct ob_link_options) {
      .service = s,
      .name = v->name,
      .profile = o->profile,
      .self_id = o->self_id,
      .on = o->on,
      .probe_ms = o->probe_ms ? o->probe_ms : PROBE_MS,
  });
  if (v->name && v->path && v->token && v->link) return v;
  free_server(v);
  return NULL;
}

struct opening { /* what ob_server_open hands to the service thread */
  struct ob_server *v;
  const struct ob_server_options *options;
  enum schema_code code;
  struct schema_error error;
};

static void open_here(void *arg)
{
  struct opening *o = arg;
  struct ob_server *v = o->v;
  struct ob_listen_options listen = {
    .name = v->name,
    .host = o->options->host,
    .port = o->options->port,
    .ping_s = o->options->ping_s,
    .on = { .ctx = v,
            .upgrade = on_upgrade,
            .open = on_open,
            .text = on_text,
            .binary = on_binary,
            .closed = on_closed },
  };
  o->code = ob_listen_open(v->s, &listen, &v->listener, &o->error);
  /* after the listener, so that at the end of the service it is ended before it */
  if (o->code == SCHEMA_OK) ob_service_add(v->s, &v->part);
}

enum schema_code ob_server_open(struct ob_service *s, const struct ob_server_options *options,
                                struct ob_server **ret, struct schema_error *reterr)
{
  struct opening o = { .v = new_server(s, options), .options = options };
  if (!o.v) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  if (!ob_service_run(s, open_here, &o))
    o.code = schema_fail(&o.error, SCHEMA_ECLOSED, 0, NULL, "the service is stopping");
  if (o.code == SCHEMA_OK) {
    *ret = o.v;
    return SCHEMA_OK;
  }
  free_server(o.v);
  if (reterr) *reterr = o.error;
  return o.code;
}

void ob_server_close(struct ob_server *v)
{
  if (!v || v->closed) return;
  v->closed = true;
  ob_link_close(v->link); /* while the connections are there: it asks what was handed over */
  ob_listen_close(v->listener);
  ob_service_bury(v->s, &v->part);
}

struct ob_link *ob_server_link(struct ob_server *v)
{
  return v->link;
}

unsigned ob_server_port(const struct ob_server *v)
{
  return ob_listen_port(v->listener);
}
