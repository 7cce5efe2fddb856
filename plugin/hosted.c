/* hosted: see hosted.h. The link's frame goes to the host as it is; its number is the ticket, so
 * that the host may use an echo of its own on the wire. */
#include "plugin/hosted.h"

#include <stdlib.h>

#include "plugin/inbound.h"
#include "plugin/relay/relay.h"

enum {
  PROBE_MS = 10 * 1000, /* asked again until an answer comes: a host may connect much later */
  EDIT_MAX = 2 * OB_FRAME_MAX,
};

static bool carrier_send(void *wire, const struct span *parts, size_t count)
{
  struct rg_account *account = wire;
  const struct rg_host *host = &account->gate->host;
  struct span name = span_of(account->name);
  struct buf frame;
  buf_init(&frame, 2 * (size_t)OB_FRAME_MAX);
  for (size_t i = 0; i < count; i++) buf_add(&frame, parts[i]);
  bool made = !frame.failed;
  if (made)
    host->send(host->ctx, (struct rg_bytes) { name.ptr, name.len }, ob_link_ticket(account->link),
               (struct rg_bytes) { frame.ptr, frame.len });
  buf_done(&frame);
  return made;
}

/* Nothing waits here: what is sent is the host's. */
static uint64_t carrier_bytes(void *wire)
{
  (void)wire;
  return 0;
}

static void carrier_pause(void *wire, bool pause)
{
  (void)wire, (void)pause;
}

static void carrier_end(void *wire, const char *why)
{
  (void)wire, (void)why;
}

static const struct ob_carrier carrier = {
  .send = carrier_send,
  .queued = carrier_bytes,
  .handed = carrier_bytes,
  .pause = carrier_pause,
  .end = carrier_end,
};

struct ob_link *rg_hosted_open(struct rg_account *account, const struct ob_profile *profile,
                               const struct ob_link_handlers *handlers)
{
  if (!RG_HAS(&account->gate->host, send)) return NULL;
  struct ob_link *link = ob_link_new(&(struct ob_link_options) {
      .service = account->gate->service,
      .name = account->name,
      .profile = profile,
      .on = *handlers,
      .probe_ms = PROBE_MS,
      .patient = true,
  });
  if (!link) return NULL;
  account->link = link; /* the carrier asks it for tickets */
  ob_link_up(link, &carrier, account, SPAN(""));
  return link;
}

void rg_hosted_close(struct ob_link *link)
{
  if (!link) return;
  ob_link_close(link);
  ob_link_free(link);
}

/* --- what the host tells --- */

struct arrival {
  struct rg_gate *gate;
  struct rg_account *account;
  struct rg_inbound_verdict verdict;
  struct span event;
};

static void event_arrives(void *arg)
{
  struct arrival *a = arg;
  rg_inbound_judge(a->gate, a->account, a->event, &a->verdict);
  if (a->verdict.taken || !a->gate->relay) return;
  rg_relay_event(a->gate->relay, a->account,
                 a->verdict.edited ? buf_span(&a->verdict.edit) : a->event);
}

int32_t rg_gate_inbound(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes event,
                        int32_t *verdict, struct rg_buf *edit)
{
  if (!gate || !verdict || !edit) return RG_EARGUMENT;
  if (event.len > OB_FRAME_MAX) return RG_ETOOBIG;
  struct arrival arrival = {
    .gate = gate,
    .account = rg_gate_account(gate, (struct span) { endpoint.ptr, endpoint.len }),
    .event = { event.ptr, event.len },
  };
  if (!arrival.account) return RG_EARGUMENT;
  buf_init(&arrival.verdict.edit, EDIT_MAX);
  if (!ob_service_run(gate->service, event_arrives, &arrival)) {
    buf_done(&arrival.verdict.edit);
    return RG_ESYSTEM;
  }
  *verdict = arrival.verdict.taken ? RG_DROP : arrival.verdict.edited ? RG_REPLACE : RG_PASS;
  *edit = (struct rg_buf) { .ptr = NULL };
  if (arrival.verdict.edited)
    edit->ptr = buf_take(&arrival.verdict.edit, &edit->len);
  else
    buf_done(&arrival.verdict.edit);
  return RG_OK;
}

struct response {
  struct rg_gate *gate;
  struct rg_account *account;
  uint64_t ticket;
  size_t len;
  char json[];
};

static void response_arrives(void *arg)
{
  struct response *r = arg;
  if (r->account->hosted)
    ob_link_answer(r->account->hosted, r->ticket, (struct span) { r->json, r->len });
  free(r);
}

int32_t rg_gate_response(struct rg_gate *gate, struct rg_bytes endpoint, uint64_t ticket,
                         struct rg_bytes json)
{
  if (!gate || ticket == 0) return RG_EARGUMENT;
  if (json.len > OB_FRAME_MAX) return RG_ETOOBIG;
  struct rg_account *account = rg_gate_account(gate, (struct span) { endpoint.ptr, endpoint.len });
  if (!account) return RG_EARGUMENT;
  struct response *r = malloc(sizeof *r + json.len);
  if (!r) return RG_ENOMEM;
  *r = (struct response) { .gate = gate, .account = account, .ticket = ticket, .len = json.len };
  if (json.len > 0) memcpy(r->json, json.ptr, json.len);
  if (ob_service_post(gate->service, response_arrives, r)) return RG_OK;
  free(r);
  return RG_ESYSTEM;
}
