/* client: owns one endpoint's link; dial.h carries its bytes. */
#include "onebot/client.h"

#include <stdlib.h>
#include <string.h>

#include "onebot/dial.h"

enum { PING_MS = 30 * 1000, PROBE_MS = 5 * 1000 };

struct ob_client {
  struct ob_part part;
  struct ob_service *s;
  struct ob_dial *dial;
  struct ob_link *link;
  char *name;
  bool closed;
};

/* ---- the link's bytes ---- */

static bool carrier_send(void *wire, const struct span *parts, size_t count)
{
  struct ob_client *c = wire;
  return ob_dial_send(c->dial, parts, count);
}

static uint64_t carrier_queued(void *wire)
{
  const struct ob_client *c = wire;
  return ob_dial_queued(c->dial);
}

static uint64_t carrier_handed(void *wire)
{
  const struct ob_client *c = wire;
  return ob_dial_handed(c->dial);
}

static void carrier_pause(void *wire, bool pause)
{
  struct ob_client *c = wire;
  ob_dial_pause(c->dial, pause);
}

static void carrier_ping(void *wire)
{
  struct ob_client *c = wire;
  ob_dial_ping(c->dial);
}

static void carrier_end(void *wire, const char *why)
{
  struct ob_client *c = wire;
  if (ob_link_unwanted(c->link)) ob_dial_unwanted(c->dial);
  ob_dial_end(c->dial, why);
}

static const struct ob_carrier carrier = {
  .send = carrier_send,
  .queued = carrier_queued,
  .handed = carrier_handed,
  .pause = carrier_pause,
  .ping = carrier_ping,
  .end = carrier_end,
};

static void on_up(void *ctx)
{
  struct ob_client *c = ctx;
  ob_link_up(c->link, &carrier, c, SPAN(""));
}

static void on_heard(void *ctx)
{
  struct ob_client *c = ctx;
  ob_link_heard(c->link);
}

static void on_text(void *ctx, struct span message)
{
  struct ob_client *c = ctx;
  ob_link_take(c->link, message);
  if (!c->closed && ob_link_proven(c->link)) ob_dial_prove(c->dial);
}

static void on_down(void *ctx, bool refused, const char *why)
{
  struct ob_client *c = ctx;
  ob_link_down(c->link, refused ? OB_LINK_REFUSED : OB_LINK_DOWN, why);
}

/* ---- life ---- */

static void end_part(struct ob_part *part)
{
  ob_client_close((struct ob_client *)(void *)((char *)part - offsetof(struct ob_client, part)));
}

static void free_client(struct ob_client *c)
{
  if (!c) return;
  ob_link_free(c->link);
  free(c->name);
  free(c);
}

static void bury_part(struct ob_part *part)
{
  free_client((struct ob_client *)(void *)((char *)part - offsetof(struct ob_client, part)));
}

static struct ob_client *new_client(struct ob_service *s, const struct ob_client_options *o)
{
  struct ob_client *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->s = s;
  c->part = (struct ob_part) { .end = end_part, .bury = bury_part };
  c->name = strdup(o->name ? o->name : "endpoint");
  c->link = ob_link_new(&(struct ob_link_options) {
      .service = s,
      .name = c->name,
      .profile = o->profile,
      .self_id = o->self_id,
      .on = o->on,
      .ping_ms = o->timing.ping ? o->timing.ping : PING_MS,
      .probe_ms = o->timing.probe ? o->timing.probe : PROBE_MS,
  });
  if (c->name && c->link) return c;
  free_client(c);
  return NULL;
}

/* What the opening of a client hands to the service thread. */
struct opening {
  struct ob_client *client;
  const struct ob_client_options *options;
  struct schema_error *error;
  enum schema_code code;
};

static void begin(void *arg)
{
  struct opening *o = arg;
  struct ob_client *c = o->client;
  const struct ob_client_timing *t = &o->options->timing;
  const struct ob_dial_options dial = {
    .name = c->name,
    .url = o->options->url,
    .access_token = o->options->access_token,
    .ca = o->options->ca,
    .on = { .ctx = c, .up = on_up, .heard = on_heard, .text = on_text, .down = on_down },
    .timing = { .backoff_min = t->backoff_min,
                .backoff_max = t->backoff_max,
                .refused = t->refused,
                .handshake = t->handshake,
                .closing = t->closing },
  };
  o->code = ob_dial_open(c->s, &dial, &c->dial, o->error);
  if (o->code == SCHEMA_OK) ob_service_add(c->s, &c->part);
}

enum schema_code ob_client_open(struct ob_service *s, const struct ob_client_options *options,
                                struct ob_client **ret, struct schema_error *reterr)
{
  struct opening opening = {
    .client = new_client(s, options), .options = options, .error = reterr, .code = SCHEMA_ECLOSED
  };
  if (!opening.client) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  if (!ob_service_run(s, begin, &opening))
    schema_fail(reterr, SCHEMA_ECLOSED, 0, NULL, "the service is stopping");
  if (opening.code != SCHEMA_OK) {
    free_client(opening.client);
    return opening.code;
  }
  *ret = opening.client;
  return SCHEMA_OK;
}

void ob_client_close(struct ob_client *c)
{
  if (!c || c->closed) return;
  c->closed = true;
  ob_link_close(c->link); /* calls that wait end by what was handed over until now */
  ob_dial_close(c->dial);
  ob_service_bury(c->s, &c->part);
}

struct ob_link *ob_client_link(struct ob_client *c)
{
  return c->link;
}
