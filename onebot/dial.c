/* dial: owns the attempts at one address and its connection.
 *
 * libwebsockets connects, does TLS and the upgrade in its HTTP client role; the frames are ours
 * (frame.h). Its own WebSocket client of 4.1.6 is not used: a peer can overflow its heap in two
 * ways, it spends 82 instructions a byte, and it hides close codes. What that role does not say
 * clearly is whether an attempt is over; only WSI_DESTROY and a NULL of the connect call do.
 *
 * One attempt: resolve -> dial each address -> upgrade -> up -> over, then the back-off. */
#include "onebot/dial.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onebot/frame.h"
#include "onebot/handshake.h"
#include "onebot/queue.h"
#include "onebot/resolver.h"
#include "onebot/url.h"

enum {
  BACKOFF_MIN_MS = 1000,
  BACKOFF_MAX_MS = 60 * 1000,
  REFUSED_MS = 300 * 1000,
  HANDSHAKE_MS = 10 * 1000,
  CLOSING_MS = 2 * 1000,
  FRAME_MAX = 50 * 1024 * 1024, /* what NapCat accepts itself */
  /* One frame of the largest size may wait behind another; more means that the peer takes nothing. */
  SEND_MAX = 2 * FRAME_MAX,
  PONG_MAX = 64 * 1024, /* waiting bytes beyond which pings are not answered */
  READ_SIZE = 64 * 1024,
  WRITE_SLICE = 64 * 1024,  /* one write: what the socket does not take is copied by lws */
  WRITE_ROUND = 256 * 1024, /* at one wake-up; then others have their turn */
  MASKS = 4096,             /* bytes of randomness taken at once: a read() for each frame is dear */
  READ_ANYWAY_MS = 1,
  WHY_MAX = 256,
  TOKEN_MAX = 1024,
};

enum phase { IDLE, RESOLVING, DIALING, UP, ENDING };

struct ob_dial {
  struct ob_part part;
  struct ob_service *s;
  struct ob_dial_handlers on;
  char *name, *authorization, *ca, *headers; /* authorization: its value, NULL for none */
  struct ob_url url;
  struct ob_dial_timing timing;

  enum phase phase;
  bool closed;
  bool proven, ever_proven, unwanted; /* the first and the last of this connection */
  unsigned tries;                     /* failed ones since the last proof of life */
  struct ob_timer retry, deadline, read_anyway;
  struct ob_lookup *lookup;
  struct ob_addresses addresses;
  size_t address; /* the one being dialled */

  struct lws *wsi;
  bool dialing;  /* inside lws_client_connect_via_info */
  bool upgraded; /* 101 with the right accept */
  bool deferred; /* one read was put off so that a write comes through */
  bool paused, unread;
  unsigned status; /* of the HTTP answer, 0: none */
  unsigned close_code;
  char accept[OB_HANDSHAKE_ACCEPT + 1]; /* what the peer must answer */
  char why[WHY_MAX];                    /* the first reason why this attempt ends */

  struct ob_frames in;
  struct ob_queue out;
  unsigned char masks[MASKS];
  size_t masks_used;
};

/* Keeps the first reason: what follows from it is only noise. */
__attribute__((format(printf, 2, 3))) static void because(struct ob_dial *d, const char *format,
                                                          ...)
{
  if (d->why[0]) return;
  va_list args;
  va_start(args, format);
  vsnprintf(d->why, sizeof d->why, format, args);
  va_end(args);
}

/* ---- sending ---- */

static const unsigned char *next_mask(struct ob_dial *d)
{
  if (d->masks_used + 4 > MASKS) {
    lws_get_random(ob_service_lws(d->s), d->masks, MASKS);
    d->masks_used = 0;
  }
  d->masks_used += 4;
  return d->masks + d->masks_used - 4;
}

static bool queue_frame(struct ob_dial *d, enum ob_opcode opcode, const struct span *parts,
                        size_t count)
{
  size_t payload = 0;
  for (size_t i = 0; i < count; i++) payload += parts[i].len;
  size_t size = ob_frame_head_size(payload, true) + payload;
  if (!d->wsi || size > SEND_MAX || ob_queue_size(&d->out) > SEND_MAX - size) return false;
  bool idle = ob_queue_size(&d->out) == 0; /* else the socket is waited for already */
  char *room = ob_queue_add(&d->out, size);
  if (!room) return false;
  ob_frame_write(room, opcode, parts, count, next_mask(d));
  if (idle) lws_callback_on_writable(d->wsi);
  return true;
}

bool ob_dial_send(struct ob_dial *d, const struct span *parts, size_t count)
{
  return d->phase == UP && queue_frame(d, OB_OP_TEXT, parts, count);
}

uint64_t ob_dial_queued(const struct ob_dial *d)
{
  return d->out.queued;
}

uint64_t ob_dial_handed(const struct ob_dial *d)
{
  return d->out.handed;
}

void ob_dial_ping(struct ob_dial *d)
{
  struct span nothing = { NULL, 0 };
  if (d->phase == UP) queue_frame(d, OB_OP_PING, &nothing, 1);
}

/* Ends the connection at the next round; over() follows. */
static void kill_later(struct ob_dial *d)
{
  if (d->wsi) lws_set_timeout(d->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static void give_up_closing(struct ob_timer *t)
{
  struct ob_dial *d = lws_container_of(t, struct ob_dial, deadline);
  if (d->wsi) lws_set_timeout(d->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

/* Queues a close frame; the peer has some time to answer it. What it sends meanwhile is discarded. */
static void start_closing(struct ob_dial *d, unsigned code)
{
  if (d->phase != UP) return;
  char payload[OB_FRAME_CONTROL_MAX];
  struct span part = { payload, ob_frame_close_payload(payload, code, SPAN("")) };
  queue_frame(d, OB_OP_CLOSE, &part, 1);
  d->phase = ENDING;
  ob_timer_set(d->s, &d->deadline, d->timing.closing, give_up_closing);
}

void ob_dial_end(struct ob_dial *d, const char *why)
{
  because(d, "%s", why);
  start_closing(d, OB_CLOSE_NORMAL);
}

void ob_dial_drop(struct ob_dial *d, const char *why)
{
  if (d->phase != UP) return;
  because(d, "%s", why);
  d->phase = ENDING;
  kill_later(d);
}

/* Reads from the socket, whose event lws has switched off until then; not while paused. */
static int read_now(struct ob_dial *d)
{
  char bytes[READ_SIZE], *p = bytes;
  int len = sizeof bytes;
  d->unread = d->paused;
  if (d->paused) return 0;
  return lws_http_client_read(d->wsi, &p, &len) < 0 ? -1 : 0;
}

void ob_dial_pause(struct ob_dial *d, bool pause)
{
  d->paused = pause;
  if (pause || !d->unread || !d->wsi) return;
  d->deferred = true; /* the read happens where lws expects it, in its own callback */
  lws_callback_on_writable(d->wsi);
}

void ob_dial_prove(struct ob_dial *d)
{
  d->proven = d->ever_proven = true;
}

void ob_dial_unwanted(struct ob_dial *d)
{
  d->unwanted = true;
}

static int write_queued(struct ob_dial *d, struct lws *wsi)
{
  size_t written = 0;
  while (written < WRITE_ROUND && !lws_partial_buffered(wsi)) {
    struct span front = ob_queue_front(&d->out, WRITE_SLICE);
    if (front.len == 0) break;
    if (lws_write(wsi, (unsigned char *)front.ptr, front.len, LWS_WRITE_RAW) < 0) {
      because(d, "the connection broke while sending");
      return -1;
    }
    written += front.len;
    ob_queue_take(&d->out, front.len);
  }
  if (ob_queue_size(&d->out)) lws_callback_on_writable(wsi);
  return 0;
}

/* ---- receiving ---- */

static void note_close(struct ob_dial *d)
{
  char reason[OB_FRAME_CONTROL_MAX];
  struct span said = d->in.payload;
  size_t n = 0;
  for (; n < said.len && n + 1 < sizeof reason; n++)
    reason[n] = said.ptr[n] < ' ' || said.ptr[n] == 0x7F ? '?' : said.ptr[n];
  if (span_utf8_fault(said) != said.len) n = 0;
  reason[n] = 0;
  d->close_code = d->in.code;
  because(d, "the peer closed the connection (code %u%s%s)", d->in.code, n ? ", " : "", reason);
  start_closing(d, ob_frame_close_answer(d->in.code));
}

/* One complete thing from the peer. False: the client is closed or nothing more is wanted. */
static bool take(struct ob_dial *d, enum ob_frame_kind kind)
{
  switch (kind) {
  case OB_FRAME_TEXT: d->on.text(d->on.ctx, d->in.payload); break;
  case OB_FRAME_BINARY:
    ob_service_log(d->s, OB_LOG_WARN, "%s: a binary frame of %zu bytes is skipped", d->name,
                   d->in.payload.len);
    break;
  case OB_FRAME_PING:
    if (ob_queue_size(&d->out) < PONG_MAX) queue_frame(d, OB_OP_PONG, &d->in.payload, 1);
    break;
  case OB_FRAME_CLOSE: note_close(d); break;
  case OB_FRAME_FAULT:
    because(d, "the peer broke the WebSocket protocol: %s", d->in.what);
    start_closing(d, d->in.code);
    break;
  case OB_FRAME_PONG:
  case OB_FRAME_MORE: break;
  }
  return !d->closed && d->phase == UP;
}

static int feed(struct ob_dial *d, struct span bytes)
{
  if (d->phase != UP) return 0;
  d->on.heard(d->on.ctx);
  enum ob_frame_kind kind;
  do kind = ob_frames_next(&d->in, &bytes);
  while (kind != OB_FRAME_MORE && take(d, kind));
  if (d->closed) return -1;
  if (d->proven) d->tries = 0;
  return 0;
}

static void read_anyway(struct ob_timer *t)
{
  struct ob_dial *d = lws_container_of(t, struct ob_dial, read_anyway);
  if (!d->wsi || !d->deferred) return;
  d->deferred = false;
  if (read_now(d) < 0 && !d->closed) kill_later(d);
}

/* The socket has bytes. lws' HTTP client serves reading first: where the peer floods, a write would
 * wait for ever, so one read waits for one write; but not longer than a moment, for two peers may
 * both be waiting for the other to read. */
static int readable(struct ob_dial *d, struct lws *wsi)
{
  if (!d->upgraded) return read_now(d);
  if (ob_queue_size(&d->out) && !d->deferred) {
    d->deferred = true;
    lws_callback_on_writable(wsi);
    ob_timer_set(d->s, &d->read_anyway, READ_ANYWAY_MS, read_anyway);
    return 0;
  }
  return read_now(d);
}

static int writable(struct ob_dial *d, struct lws *wsi)
{
  if (write_queued(d, wsi) < 0) return -1;
  if (!d->deferred) return 0;
  d->deferred = false;
  ob_timer_clear(d->s, &d->read_anyway);
  return read_now(d);
}

/* ---- the upgrade ---- */

static int write_headers(struct ob_dial *d, unsigned char **at, size_t room)
{
  static const char close_header[] = "connection: close\r\n";
  size_t n = sizeof close_header - 1;
  char key[OB_HANDSHAKE_KEY + 1];
  /* lws has just written that; two Connection headers would be left */
  if (memcmp(*at - n, close_header, n) == 0) *at -= n, room += n;
  if (!ob_handshake_key(ob_service_lws(d->s), key) || !ob_handshake_accept(key, d->accept))
    return -1;
  int len = snprintf((char *)*at, room,
                     "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: %s\r\n%s%s%s%s",
                     key, d->headers ? d->headers : "", d->authorization ? "Authorization: " : "",
                     d->authorization ? d->authorization : "", d->authorization ? "\r\n" : "");
  if (len < 0 || (size_t)len >= room) return -1;
  *at += len;
  return 0;
}

static bool accept_is_right(struct ob_dial *d, struct lws *wsi)
{
  char accept[OB_HANDSHAKE_ACCEPT + 1];
  return lws_hdr_copy(wsi, accept, sizeof accept, WSI_TOKEN_ACCEPT) == OB_HANDSHAKE_ACCEPT &&
         memcmp(accept, d->accept, OB_HANDSHAKE_ACCEPT) == 0;
}

static int answered(struct ob_dial *d, struct lws *wsi)
{
  d->status = lws_http_client_http_response(wsi);
  if (d->status != 101) return -1;
  if (!accept_is_right(d, wsi) || lws_hdr_total_length(wsi, WSI_TOKEN_EXTENSIONS) ||
      lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) ||
      lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING)) {
    because(d, "no WebSocket at %s:%u: it answers 101 wrongly", d->url.host, d->url.port);
    return -1;
  }
  ob_timer_clear(d->s, &d->deadline);
  d->upgraded = true;
  d->phase = UP;
  d->proven = d->unwanted = false;
  ob_frames_init(&d->in, false, FRAME_MAX);
  d->on.up(d->on.ctx);
  return d->closed ? -1 : 0;
}

/* ---- dialling ---- */

/* Between 80 and 120 % of ms, so that a server that comes back is not dialled by all at once. */
static uint64_t jittered(struct ob_dial *d, uint64_t ms)
{
  uint16_t random;
  lws_get_random(ob_service_lws(d->s), &random, sizeof random);
  return ms * 4 / 5 + ms * 2 / 5 * random / UINT16_MAX;
}

static uint64_t backoff(struct ob_dial *d)
{
  uint64_t ms = d->timing.backoff_min;
  for (unsigned i = 1; i < d->tries && ms < d->timing.backoff_max; i++) ms *= 2;
  return jittered(d, ms < d->timing.backoff_max ? ms : d->timing.backoff_max);
}

/* A status that says that token or path are wrong, and will be the next time too. */
static bool status_refuses(unsigned status)
{
  return status >= 300 && status < 500 && status != 408 && status != 429;
}

static void explain_status(struct ob_dial *d)
{
  if (d->status == 0 || d->status == 101) return;
  const char *hint =
      d->status == 401 || d->status == 403  ? "the access_token is missing or wrong, or the path is"
      : d->status == 404                    ? "is the path right?"
      : d->status >= 300 && d->status < 400 ? "redirects are not followed, give the final address"
                                            : "no WebSocket for us";
  because(d, "%s:%u%.*s answers HTTP %u: %s", d->url.host, d->url.port, (int)d->url.path_len,
          d->url.path, d->status, hint);
}

static void resolve(struct ob_dial *d);

static void retry(struct ob_timer *t)
{
  resolve(lws_container_of(t, struct ob_dial, retry));
}

/* The attempt or the connection is over: says so and waits for the next one. */
static void fail_attempt(struct ob_dial *d)
{
  explain_status(d);
  bool refused = status_refuses(d->status) || d->unwanted;
  if (d->upgraded && !d->proven) {
    if (d->close_code == OB_CLOSE_POLICY || !d->ever_proven) refused = true;
    if (refused && !d->unwanted) {
      char said[WHY_MAX];
      snprintf(said, sizeof said, "%s", d->why[0] ? d->why : "the connection ended");
      snprintf(d->why, sizeof d->why,
               "%.160s; nothing was heard before: is the access_token right?", said);
    }
  }
  because(d, "the connection to %s:%u ended", d->url.host, d->url.port);

  char why[WHY_MAX];
  snprintf(why, sizeof why, "%s", d->why);
  d->tries++;
  uint64_t wait = refused ? jittered(d, d->timing.refused) : backoff(d);
  d->phase = IDLE;
  d->upgraded = d->deferred = d->paused = d->unread = false;
  d->status = d->close_code = 0;
  d->why[0] = 0;
  ob_timer_clear(d->s, &d->deadline);
  ob_timer_clear(d->s, &d->read_anyway);
  ob_timer_set(d->s, &d->retry, wait, retry);
  ob_service_log(d->s, OB_LOG_DEBUG, "%s: %s; the next attempt is in %llu ms", d->name, why,
                 (unsigned long long)wait);
  d->on.down(d->on.ctx, refused, why);
  /* the owner has looked at what was handed over; the next connection counts from zero */
  ob_frames_done(&d->in);
  ob_queue_clear(&d->out);
  d->out = (struct ob_queue) { 0 };
}

static void dial(struct ob_dial *d);

static void dial_next(struct ob_timer *t)
{
  dial(lws_container_of(t, struct ob_dial, retry));
}

/* lws has let go of the connection. */
static void over(struct ob_dial *d)
{
  d->wsi = NULL;
  bool more = d->phase == DIALING && d->status == 0 && d->address + 1 < d->addresses.count;
  if (!more) {
    fail_attempt(d);
    return;
  }
  d->address++;
  d->why[0] = 0;
  ob_timer_clear(d->s, &d->deadline);
  ob_timer_set(d->s, &d->retry, 0, dial_next);
}

static void handshake_late(struct ob_timer *t)
{
  struct ob_dial *d = lws_container_of(t, struct ob_dial, deadline);
  because(d, "%s:%u does not answer", d->url.host, d->url.port);
  if (d->wsi) lws_set_timeout(d->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

/* What lws says of a failed attempt. Only its log line tells why TLS failed. */
static void explain_error(struct ob_dial *d, struct span said)
{
  if (lws_http_client_http_response(d->wsi) > 0) d->status = lws_http_client_http_response(d->wsi);
  if (d->status) return; /* the status says it better */
  const char *line = ob_service_lws_line(d->s);
  if (d->url.tls && line[0])
    because(d, "%s:%u cannot be reached: %.150s", d->url.host, d->url.port, line);
  else
    because(d, "%s:%u cannot be reached: %.*s", d->url.host, d->url.port,
            said.len < 100 ? (int)said.len : 100, said.ptr ? said.ptr : "");
}

static int serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                 size_t len)
{
  (void)user;
  struct ob_dial *d = lws_get_opaque_user_data(wsi);
  if (!d) return reason == LWS_CALLBACK_RECEIVE_CLIENT_HTTP ? -1 : 0; /* it was let go */
  switch ((int)reason) {
  case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return write_headers(d, in, len);
  case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP: return answered(d, wsi);
  case LWS_CALLBACK_RECEIVE_CLIENT_HTTP: return readable(d, wsi);
  case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ: return feed(d, (struct span) { in, len });
  case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE: return d->upgraded ? writable(d, wsi) : 0;
  case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    explain_error(d, (struct span) { in, in ? len : 0 });
    return 0;
  case LWS_CALLBACK_WSI_DESTROY:
    lws_set_opaque_user_data(wsi, NULL);
    if (!d->dialing) over(d);
    return 0;
  default: return 0;
  }
}

static const struct lws_protocols protocols[] = {
  { .name = "onebot-dial", .callback = serve },
  { .name = NULL },
};

/* One vhost for ws://, one for each CA file: there lws keeps what TLS needs. A CA file that was
 * changed is another one. They stay until the service ends. */
static void free_name(struct lws_vhost *v, void *name)
{
  (void)v;
  free(name);
}

static struct lws_vhost *dial_vhost(struct ob_dial *d)
{
  struct lws_context *lws = ob_service_lws(d->s);
  struct stat ca = { 0 };
  char *name = NULL;
  if (d->url.tls && d->ca && (stat(d->ca, &ca) != 0 || access(d->ca, R_OK) != 0)) return NULL;
  if (asprintf(&name, "replygate-dial %s %s %lld %lld", d->url.tls ? "tls" : "plain",
               d->url.tls && d->ca ? d->ca : "", (long long)ca.st_mtime, (long long)ca.st_size) < 0)
    return NULL;
  struct lws_vhost *v = lws_get_vhost_by_name(lws, name);
  if (v) {
    free(name);
    return v;
  }
  struct lws_context_creation_info info = {
    .vhost_name = name,
    .protocols = protocols,
    .port = CONTEXT_PORT_NO_LISTEN,
    .http_proxy_address = ":0",
    .connect_timeout_secs = 20, /* a net: `deadline` is shorter */
    .finalize = free_name,
    .finalize_arg = name,
  };
  if (d->url.tls) {
    info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info.client_ssl_ca_filepath = d->ca;
  }
  return lws_create_vhost(lws, &info);
}

static void dial(struct ob_dial *d)
{
  d->phase = DIALING;
  ob_service_lws_line_clear(d->s);
  const char *fault = d->url.tls ? ob_service_tls_fault(d->s) : NULL;
  if (fault) {
    because(d, "%s:%u: no TLS: %s", d->url.host, d->url.port, fault);
    fail_attempt(d);
    return;
  }
  struct lws_vhost *vhost = dial_vhost(d);
  if (!vhost) {
    because(d, "TLS cannot be set up: is the ca file there, and a certificate?");
    fail_attempt(d);
    return;
  }
  struct lws_client_connect_info info = {
    .context = ob_service_lws(d->s),
    .vhost = vhost,
    .address = d->addresses.text[d->address],
    .port = (int)d->url.port,
    .host = d->url.host_header, /* Host, SNI, and what the certificate must name */
    .path = d->url.path,
    .method = "GET",
    .alpn = "http/1.1",
    .local_protocol_name = protocols[0].name,
    .opaque_user_data = d,
    .pwsi = &d->wsi,
    /* a redirect would carry the token to another host */
    .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (d->url.tls ? LCCSCF_USE_SSL : 0),
  };
  ob_timer_set(d->s, &d->deadline, d->timing.handshake, handshake_late);
  d->dialing = true;
  struct lws *wsi = lws_client_connect_via_info(&info);
  d->dialing = false;
  if (wsi) return;
  because(d, "%s:%u cannot be reached", d->url.host, d->url.port);
  over(d);
}

static void on_addresses(void *ctx, const struct ob_addresses *addresses)
{
  struct ob_dial *d = ctx;
  d->lookup = NULL;
  d->addresses = *addresses;
  d->address = 0;
  if (addresses->count) {
    dial(d);
    return;
  }
  because(d, "%s: %s", d->url.host, addresses->what);
  fail_attempt(d);
}

static void resolve(struct ob_dial *d)
{
  d->phase = RESOLVING;
  d->lookup = ob_lookup_start(d->s, d->url.host, on_addresses, d);
  if (d->lookup) return;
  because(d, "%s: no thread to resolve the name", d->url.host);
  fail_attempt(d);
}

/* ---- life ---- */

static void end_part(struct ob_part *part)
{
  ob_dial_close(lws_container_of(part, struct ob_dial, part));
}

static void free_dial(struct ob_dial *d)
{
  if (!d) return;
  ob_frames_done(&d->in);
  ob_queue_clear(&d->out);
  if (d->authorization) explicit_bzero(d->authorization, strlen(d->authorization));
  free(d->authorization);
  free(d->name);
  free(d->ca);
  free(d->headers);
  free(d);
}

static void bury_part(struct ob_part *part)
{
  free_dial(lws_container_of(part, struct ob_dial, part));
}

static bool is_token(const char *token)
{
  for (const unsigned char *t = (const unsigned char *)token; *t; t++)
    if (*t < ' ' || *t == 0x7F) return false;
  return strlen(token) <= TOKEN_MAX;
}

static unsigned given_or(unsigned given, unsigned otherwise)
{
  return given ? given : otherwise;
}

static struct ob_dial *new_dial(struct ob_service *s, const struct ob_dial_options *o)
{
  struct ob_dial *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  const struct ob_dial_timing *t = &o->timing;
  d->s = s;
  d->part = (struct ob_part) { .end = end_part, .bury = bury_part };
  d->masks_used = MASKS;
  d->timing = (struct ob_dial_timing) {
    .backoff_min = given_or(t->backoff_min, BACKOFF_MIN_MS),
    .backoff_max = given_or(t->backoff_max, BACKOFF_MAX_MS),
    .refused = given_or(t->refused, REFUSED_MS),
    .handshake = given_or(t->handshake, HANDSHAKE_MS),
    .closing = given_or(t->closing, CLOSING_MS),
  };
  d->name = strdup(o->name ? o->name : "endpoint");
  d->ca = o->ca && o->ca[0] ? strdup(o->ca) : NULL;
  d->headers = o->headers ? strdup(o->headers) : NULL;
  d->on = o->on;
  bool copied = d->name && (d->ca || !o->ca || !o->ca[0]) && (d->headers || !o->headers);
  if (copied) return d;
  free_dial(d);
  return NULL;
}

/* On the service thread. */
static void begin(void *arg)
{
  struct ob_dial *d = arg;
  ob_service_add(d->s, &d->part);
  ob_timer_set(d->s, &d->retry, 0, retry);
}

enum schema_code ob_dial_open(struct ob_service *s, const struct ob_dial_options *options,
                              struct ob_dial **ret, struct schema_error *reterr)
{
  struct ob_url url;
  enum schema_code code = ob_url_parse(options->url, &url, reterr);
  if (code != SCHEMA_OK) return code;
  const char *token = options->access_token ? options->access_token : "";
  if (!is_token(token))
    return schema_fail(reterr, SCHEMA_EARGUMENT, 0, NULL,
                       "access_token has control characters or is longer than 1024 bytes");
  struct ob_dial *d = new_dial(s, options);
  if (!d) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  d->url = url;
  /* implementations differ in which of header and query they look at: never send both */
  bool header = token[0] && !ob_url_has_query(&url, "access_token");
  if (header && asprintf(&d->authorization, "Bearer %s", token) < 0) {
    d->authorization = NULL;
    free_dial(d);
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  }
  if (ob_service_here(s)) {
    begin(d);
  } else if (!ob_service_post(s, begin, d)) {
    free_dial(d);
    return schema_fail(reterr, SCHEMA_ECLOSED, 0, NULL, "the service is stopping");
  }
  *ret = d;
  return SCHEMA_OK;
}

/* Says goodbye where that is possible at once and lets go of the connection. */
static void let_go(struct ob_dial *d)
{
  struct lws *wsi = d->wsi;
  if (!wsi) return;
  d->wsi = NULL;
  if (d->phase == UP && ob_queue_size(&d->out) == 0 && !lws_partial_buffered(wsi)) {
    char payload[OB_FRAME_CONTROL_MAX];
    unsigned char frame[LWS_PRE + OB_FRAME_HEAD_MAX + OB_FRAME_CONTROL_MAX] = { 0 };
    struct span part = { payload, ob_frame_close_payload(payload, OB_CLOSE_NORMAL, SPAN("")) };
    size_t n = ob_frame_write((char *)frame + LWS_PRE, OB_OP_CLOSE, &part, 1, next_mask(d));
    lws_write(wsi, frame + LWS_PRE, n, LWS_WRITE_RAW);
  }
  lws_set_opaque_user_data(wsi, NULL);
  lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void ob_dial_close(struct ob_dial *d)
{
  if (!d || d->closed) return;
  d->closed = true;
  let_go(d);
  ob_lookup_cancel(d->lookup);
  ob_timer_clear(d->s, &d->retry);
  ob_timer_clear(d->s, &d->deadline);
  ob_timer_clear(d->s, &d->read_anyway);
  ob_service_bury(d->s, &d->part);
}
