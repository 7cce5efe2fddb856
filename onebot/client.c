/* client: owns one endpoint's attempts and its connection.
 *
 * libwebsockets connects, does TLS and the upgrade in its HTTP client role; the frames are ours
 * (frame.h). Its own WebSocket client of 4.1.6 is not used: a peer can overflow its heap in two
 * ways, it spends 82 instructions a byte, and it hides close codes. What that role does not say
 * clearly is whether an attempt is over; only WSI_DESTROY and a NULL of the connect call do.
 *
 * One attempt: resolve -> dial each address -> upgrade -> up -> over, then the back-off. */
#include "onebot/client.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onebot/frame.h"
#include "onebot/queue.h"
#include "onebot/resolver.h"
#include "onebot/url.h"

enum {
  BACKOFF_MIN_MS = 1000,
  BACKOFF_MAX_MS = 60 * 1000,
  REFUSED_MS = 300 * 1000,
  HANDSHAKE_MS = 10 * 1000,
  PING_MS = 30 * 1000,
  PROBE_MS = 5 * 1000,
  CLOSING_MS = 2 * 1000,
  /* One frame of the largest size may wait behind another; more means that the peer takes nothing. */
  SEND_MAX = 2 * OB_FRAME_MAX,
  PONG_MAX = 64 * 1024, /* waiting bytes beyond which pings are not answered */
  READ_SIZE = 64 * 1024,
  WRITE_SLICE = 64 * 1024,  /* one write: what the socket does not take is copied by lws */
  WRITE_ROUND = 256 * 1024, /* at one wake-up; then others have their turn */
  MASKS = 4096,             /* bytes of randomness taken at once: a read() for each frame is dear */
  READ_ANYWAY_MS = 1,
  KEY_LEN = 24,    /* base64 of 16 bytes */
  ACCEPT_LEN = 28, /* and of a SHA-1 */
  BASE64_ROOM = 2, /* lws_b64_encode_string wants one byte more than the NUL needs */
  WHY_MAX = 256,
  TOKEN_MAX = 1024,
};

enum phase { IDLE, RESOLVING, DIALING, UP, ENDING };

struct ob_client {
  struct ob_part part;
  struct ob_service *s;
  struct ob_link *link;
  char *name, *authorization, *ca; /* authorization: the header's value, NULL for none */
  struct ob_url url;
  struct ob_client_timing timing;

  enum phase phase;
  bool closed;
  unsigned tries; /* failed ones since the last proof of life */
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
  char accept[ACCEPT_LEN + BASE64_ROOM]; /* what the peer must answer */
  char why[WHY_MAX];                     /* the first reason why this attempt ends */

  struct ob_frames in;
  struct ob_queue out;
  unsigned char masks[MASKS];
  size_t masks_used;
};

/* Keeps the first reason: what follows from it is only noise. */
__attribute__((format(printf, 2, 3))) static void because(struct ob_client *c, const char *format,
                                                          ...)
{
  if (c->why[0]) return;
  va_list args;
  va_start(args, format);
  vsnprintf(c->why, sizeof c->why, format, args);
  va_end(args);
}

/* ---- sending ---- */

static const unsigned char *next_mask(struct ob_client *c)
{
  if (c->masks_used + 4 > MASKS) {
    lws_get_random(ob_service_lws(c->s), c->masks, MASKS);
    c->masks_used = 0;
  }
  c->masks_used += 4;
  return c->masks + c->masks_used - 4;
}

static bool queue_frame(struct ob_client *c, enum ob_opcode opcode, const struct span *parts,
                        size_t count)
{
  size_t payload = 0;
  for (size_t i = 0; i < count; i++) payload += parts[i].len;
  size_t size = ob_frame_head_size(payload, true) + payload;
  if (!c->wsi || size > SEND_MAX || ob_queue_size(&c->out) > SEND_MAX - size) return false;
  char *room = ob_queue_add(&c->out, size);
  if (!room) return false;
  ob_frame_write(room, opcode, parts, count, next_mask(c));
  lws_callback_on_writable(c->wsi);
  return true;
}

static bool carrier_send(void *wire, const struct span *parts, size_t count)
{
  struct ob_client *c = wire;
  return c->phase == UP && queue_frame(c, OB_OP_TEXT, parts, count);
}

static uint64_t carrier_queued(void *wire)
{
  const struct ob_client *c = wire;
  return c->out.queued;
}

static uint64_t carrier_handed(void *wire)
{
  const struct ob_client *c = wire;
  return c->out.handed;
}

static void carrier_ping(void *wire)
{
  struct ob_client *c = wire;
  struct span nothing = { NULL, 0 };
  queue_frame(c, OB_OP_PING, &nothing, 1);
}

/* Ends the connection at the next round; over() follows. */
static void kill_later(struct ob_client *c)
{
  if (c->wsi) lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static void give_up_closing(struct ob_timer *t)
{
  struct ob_client *c = lws_container_of(t, struct ob_client, deadline);
  if (c->wsi) lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

/* Queues a close frame; the peer has some time to answer it. What it sends meanwhile is discarded. */
static void start_closing(struct ob_client *c, unsigned code)
{
  if (c->phase != UP) return;
  char payload[OB_FRAME_CONTROL_MAX];
  struct span part = { payload, ob_frame_close_payload(payload, code, SPAN("")) };
  queue_frame(c, OB_OP_CLOSE, &part, 1);
  c->phase = ENDING;
  ob_timer_set(c->s, &c->deadline, c->timing.closing, give_up_closing);
}

static void carrier_end(void *wire, const char *why)
{
  struct ob_client *c = wire;
  because(c, "%s", why);
  start_closing(c, OB_CLOSE_NORMAL);
}

/* Reads from the socket, whose event lws has switched off until then; not while paused. */
static int read_now(struct ob_client *c)
{
  char bytes[READ_SIZE], *p = bytes;
  int len = sizeof bytes;
  c->unread = c->paused;
  if (c->paused) return 0;
  return lws_http_client_read(c->wsi, &p, &len) < 0 ? -1 : 0;
}

static void carrier_pause(void *wire, bool pause)
{
  struct ob_client *c = wire;
  c->paused = pause;
  if (pause || !c->unread || !c->wsi) return;
  c->deferred = true; /* the read happens where lws expects it, in its own callback */
  lws_callback_on_writable(c->wsi);
}

static const struct ob_carrier carrier = {
  .send = carrier_send,
  .queued = carrier_queued,
  .handed = carrier_handed,
  .pause = carrier_pause,
  .ping = carrier_ping,
  .end = carrier_end,
};

static int write_queued(struct ob_client *c, struct lws *wsi)
{
  size_t written = 0;
  while (written < WRITE_ROUND && !lws_partial_buffered(wsi)) {
    struct span front = ob_queue_front(&c->out, WRITE_SLICE);
    if (front.len == 0) break;
    if (lws_write(wsi, (unsigned char *)front.ptr, front.len, LWS_WRITE_RAW) < 0) {
      because(c, "the connection broke while sending");
      return -1;
    }
    written += front.len;
    ob_queue_take(&c->out, front.len);
  }
  if (ob_queue_size(&c->out)) lws_callback_on_writable(wsi);
  return 0;
}

/* ---- receiving ---- */

static void note_close(struct ob_client *c)
{
  char reason[OB_FRAME_CONTROL_MAX];
  struct span said = c->in.payload;
  size_t n = 0;
  for (; n < said.len && n + 1 < sizeof reason; n++)
    reason[n] = said.ptr[n] < ' ' || said.ptr[n] == 0x7F ? '?' : said.ptr[n];
  if (span_utf8_fault(said) != said.len) n = 0;
  reason[n] = 0;
  c->close_code = c->in.code;
  because(c, "the peer closed the connection (code %u%s%s)", c->in.code, n ? ", " : "", reason);
  start_closing(c, c->in.code == OB_CLOSE_NO_CODE ? 0 : OB_CLOSE_NORMAL);
}

/* One complete thing from the peer. False: the client is closed or nothing more is wanted. */
static bool take(struct ob_client *c, enum ob_frame_kind kind)
{
  switch (kind) {
  case OB_FRAME_TEXT: ob_link_take(c->link, c->in.payload); break;
  case OB_FRAME_BINARY:
    ob_service_log(c->s, OB_LOG_WARN, "%s: a binary frame of %zu bytes is skipped", c->name,
                   c->in.payload.len);
    break;
  case OB_FRAME_PING:
    if (ob_queue_size(&c->out) < PONG_MAX) queue_frame(c, OB_OP_PONG, &c->in.payload, 1);
    break;
  case OB_FRAME_CLOSE: note_close(c); break;
  case OB_FRAME_FAULT:
    because(c, "the peer broke the WebSocket protocol: %s", c->in.what);
    start_closing(c, c->in.code);
    break;
  case OB_FRAME_PONG:
  case OB_FRAME_MORE: break;
  }
  return !c->closed && c->phase == UP;
}

static int feed(struct ob_client *c, struct span bytes)
{
  if (c->phase != UP) return 0;
  ob_link_heard(c->link);
  enum ob_frame_kind kind;
  do kind = ob_frames_next(&c->in, &bytes);
  while (kind != OB_FRAME_MORE && take(c, kind));
  if (c->closed) return -1;
  if (ob_link_proven(c->link)) c->tries = 0;
  return 0;
}

static void read_anyway(struct ob_timer *t)
{
  struct ob_client *c = lws_container_of(t, struct ob_client, read_anyway);
  if (!c->wsi || !c->deferred) return;
  c->deferred = false;
  if (read_now(c) < 0 && !c->closed) kill_later(c);
}

/* The socket has bytes. lws' HTTP client serves reading first: where the peer floods, a write would
 * wait for ever, so one read waits for one write; but not longer than a moment, for two peers may
 * both be waiting for the other to read. */
static int readable(struct ob_client *c, struct lws *wsi)
{
  if (!c->upgraded) return read_now(c);
  if (ob_queue_size(&c->out) && !c->deferred) {
    c->deferred = true;
    lws_callback_on_writable(wsi);
    ob_timer_set(c->s, &c->read_anyway, READ_ANYWAY_MS, read_anyway);
    return 0;
  }
  return read_now(c);
}

static int writable(struct ob_client *c, struct lws *wsi)
{
  if (write_queued(c, wsi) < 0) return -1;
  if (!c->deferred) return 0;
  c->deferred = false;
  ob_timer_clear(c->s, &c->read_anyway);
  return read_now(c);
}

/* ---- the upgrade ---- */

/* A new key, and what the peer must answer to it. False: no randomness. */
static bool make_key(struct ob_client *c, char key[KEY_LEN + BASE64_ROOM])
{
  static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char random[16], hash[20];
  char joined[KEY_LEN + sizeof guid];
  if (lws_get_random(ob_service_lws(c->s), random, sizeof random) != sizeof random ||
      lws_b64_encode_string((char *)random, sizeof random, key, KEY_LEN + BASE64_ROOM) != KEY_LEN)
    return false;
  memcpy(joined, key, KEY_LEN);
  memcpy(joined + KEY_LEN, guid, sizeof guid);
  lws_SHA1((unsigned char *)joined, sizeof joined - 1, hash);
  return lws_b64_encode_string((char *)hash, sizeof hash, c->accept, sizeof c->accept) ==
         ACCEPT_LEN;
}

static int write_headers(struct ob_client *c, unsigned char **at, size_t room)
{
  static const char close_header[] = "connection: close\r\n";
  size_t n = sizeof close_header - 1;
  char key[KEY_LEN + BASE64_ROOM];
  /* lws has just written that; two Connection headers would be left */
  if (memcmp(*at - n, close_header, n) == 0) *at -= n, room += n;
  if (!make_key(c, key)) return -1;
  int len = snprintf((char *)*at, room,
                     "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: %s\r\n%s%s%s",
                     key, c->authorization ? "Authorization: " : "",
                     c->authorization ? c->authorization : "", c->authorization ? "\r\n" : "");
  if (len < 0 || (size_t)len >= room) return -1;
  *at += len;
  return 0;
}

static bool accept_is_right(struct ob_client *c, struct lws *wsi)
{
  char accept[ACCEPT_LEN + 1];
  return lws_hdr_copy(wsi, accept, sizeof accept, WSI_TOKEN_ACCEPT) == ACCEPT_LEN &&
         memcmp(accept, c->accept, ACCEPT_LEN) == 0;
}

static int answered(struct ob_client *c, struct lws *wsi)
{
  c->status = lws_http_client_http_response(wsi);
  if (c->status != 101) return -1;
  if (!accept_is_right(c, wsi) || lws_hdr_total_length(wsi, WSI_TOKEN_EXTENSIONS) ||
      lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) ||
      lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING)) {
    because(c, "no WebSocket at %s:%u: it answers 101 wrongly", c->url.host, c->url.port);
    return -1;
  }
  ob_timer_clear(c->s, &c->deadline);
  c->upgraded = true;
  c->phase = UP;
  ob_frames_init(&c->in, false, OB_FRAME_MAX);
  ob_link_up(c->link, &carrier, c, SPAN(""));
  return c->closed ? -1 : 0;
}

/* ---- dialling ---- */

/* Between 80 and 120 % of ms, so that a server that comes back is not dialled by all at once. */
static uint64_t jittered(struct ob_client *c, uint64_t ms)
{
  uint16_t random;
  lws_get_random(ob_service_lws(c->s), &random, sizeof random);
  return ms * 4 / 5 + ms * 2 / 5 * random / UINT16_MAX;
}

static uint64_t backoff(struct ob_client *c)
{
  uint64_t ms = c->timing.backoff_min;
  for (unsigned i = 1; i < c->tries && ms < c->timing.backoff_max; i++) ms *= 2;
  return jittered(c, ms < c->timing.backoff_max ? ms : c->timing.backoff_max);
}

/* A status that says that token or path are wrong, and will be the next time too. */
static bool status_refuses(unsigned status)
{
  return status >= 300 && status < 500 && status != 408 && status != 429;
}

static void explain_status(struct ob_client *c)
{
  if (c->status == 0 || c->status == 101) return;
  const char *hint =
      c->status == 401 || c->status == 403  ? "the access_token is missing or wrong, or the path is"
      : c->status == 404                    ? "is the path right?"
      : c->status >= 300 && c->status < 400 ? "redirects are not followed, give the final address"
                                            : "no WebSocket for us";
  because(c, "%s:%u%.*s answers HTTP %u: %s", c->url.host, c->url.port, (int)c->url.path_len,
          c->url.path, c->status, hint);
}

static void resolve(struct ob_client *c);

static void retry(struct ob_timer *t)
{
  resolve(lws_container_of(t, struct ob_client, retry));
}

/* The attempt or the connection is over: says so and waits for the next one. */
static void fail_attempt(struct ob_client *c)
{
  struct ob_link *l = c->link;
  explain_status(c);
  bool refused = status_refuses(c->status) || ob_link_unwanted(l);
  if (c->upgraded && !ob_link_proven(l)) {
    if (c->close_code == OB_CLOSE_POLICY || !ob_link_ever_proven(l)) refused = true;
    if (refused && !ob_link_unwanted(l)) {
      char said[WHY_MAX];
      snprintf(said, sizeof said, "%s", c->why[0] ? c->why : "the connection ended");
      snprintf(c->why, sizeof c->why,
               "%.160s; nothing was heard before: is the access_token right?", said);
    }
  }
  because(c, "the connection to %s:%u ended", c->url.host, c->url.port);

  char why[WHY_MAX];
  snprintf(why, sizeof why, "%s", c->why);
  c->tries++;
  uint64_t wait = refused ? jittered(c, c->timing.refused) : backoff(c);
  c->phase = IDLE;
  c->upgraded = c->deferred = c->paused = c->unread = false;
  c->status = c->close_code = 0;
  c->why[0] = 0;
  ob_timer_clear(c->s, &c->deadline);
  ob_timer_clear(c->s, &c->read_anyway);
  ob_timer_set(c->s, &c->retry, wait, retry);
  ob_service_log(c->s, OB_LOG_DEBUG, "%s: %s; the next attempt is in %llu ms", c->name, why,
                 (unsigned long long)wait);
  ob_link_down(l, refused ? OB_LINK_REFUSED : OB_LINK_DOWN, why);
  /* the link has looked at what was handed over; the next connection counts from zero */
  ob_frames_done(&c->in);
  ob_queue_clear(&c->out);
  c->out = (struct ob_queue) { 0 };
}

static void dial(struct ob_client *c);

static void dial_next(struct ob_timer *t)
{
  dial(lws_container_of(t, struct ob_client, retry));
}

/* lws has let go of the connection. */
static void over(struct ob_client *c)
{
  c->wsi = NULL;
  bool more = c->phase == DIALING && c->status == 0 && c->address + 1 < c->addresses.count;
  if (!more) {
    fail_attempt(c);
    return;
  }
  c->address++;
  c->why[0] = 0;
  ob_timer_clear(c->s, &c->deadline);
  ob_timer_set(c->s, &c->retry, 0, dial_next);
}

static void handshake_late(struct ob_timer *t)
{
  struct ob_client *c = lws_container_of(t, struct ob_client, deadline);
  because(c, "%s:%u does not answer", c->url.host, c->url.port);
  if (c->wsi) lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

/* What lws says of a failed attempt. Only its log line tells why TLS failed. */
static void explain_error(struct ob_client *c, struct span said)
{
  if (lws_http_client_http_response(c->wsi) > 0) c->status = lws_http_client_http_response(c->wsi);
  if (c->status) return; /* the status says it better */
  const char *line = ob_service_lws_line(c->s);
  if (c->url.tls && line[0])
    because(c, "%s:%u cannot be reached: %.150s", c->url.host, c->url.port, line);
  else
    because(c, "%s:%u cannot be reached: %.*s", c->url.host, c->url.port,
            said.len < 100 ? (int)said.len : 100, said.ptr ? said.ptr : "");
}

static int serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                 size_t len)
{
  (void)user;
  struct ob_client *c = lws_get_opaque_user_data(wsi);
  if (!c) return reason == LWS_CALLBACK_RECEIVE_CLIENT_HTTP ? -1 : 0; /* it was let go */
  switch ((int)reason) {
  case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return write_headers(c, in, len);
  case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP: return answered(c, wsi);
  case LWS_CALLBACK_RECEIVE_CLIENT_HTTP: return readable(c, wsi);
  case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ: return feed(c, (struct span) { in, len });
  case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE: return c->upgraded ? writable(c, wsi) : 0;
  case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    explain_error(c, (struct span) { in, in ? len : 0 });
    return 0;
  case LWS_CALLBACK_WSI_DESTROY:
    lws_set_opaque_user_data(wsi, NULL);
    if (!c->dialing) over(c);
    return 0;
  default: return 0;
  }
}

static const struct lws_protocols protocols[] = {
  { .name = "onebot-client", .callback = serve },
  { .name = NULL },
};

/* One vhost for ws://, one for each CA file: there lws keeps what TLS needs. A CA file that was
 * changed is another one. They stay until the service ends. */
static void free_name(struct lws_vhost *v, void *name)
{
  (void)v;
  free(name);
}

static struct lws_vhost *client_vhost(struct ob_client *c)
{
  struct lws_context *lws = ob_service_lws(c->s);
  struct stat ca = { 0 };
  char *name = NULL;
  if (c->url.tls && c->ca && (stat(c->ca, &ca) != 0 || access(c->ca, R_OK) != 0)) return NULL;
  if (asprintf(&name, "replygate-client %s %s %lld %lld", c->url.tls ? "tls" : "plain",
               c->url.tls && c->ca ? c->ca : "", (long long)ca.st_mtime, (long long)ca.st_size) < 0)
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
  if (c->url.tls) {
    info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info.client_ssl_ca_filepath = c->ca;
  }
  return lws_create_vhost(lws, &info);
}

static void dial(struct ob_client *c)
{
  c->phase = DIALING;
  ob_service_lws_line_clear(c->s);
  struct lws_vhost *vhost = client_vhost(c);
  if (!vhost) {
    because(c, "TLS cannot be set up: is the ca file there, and a certificate?");
    fail_attempt(c);
    return;
  }
  struct lws_client_connect_info info = {
    .context = ob_service_lws(c->s),
    .vhost = vhost,
    .address = c->addresses.text[c->address],
    .port = (int)c->url.port,
    .host = c->url.host_header, /* Host, SNI, and what the certificate must name */
    .path = c->url.path,
    .method = "GET",
    .alpn = "http/1.1",
    .local_protocol_name = protocols[0].name,
    .opaque_user_data = c,
    .pwsi = &c->wsi,
    /* a redirect would carry the token to another host */
    .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (c->url.tls ? LCCSCF_USE_SSL : 0),
  };
  ob_timer_set(c->s, &c->deadline, c->timing.handshake, handshake_late);
  c->dialing = true;
  struct lws *wsi = lws_client_connect_via_info(&info);
  c->dialing = false;
  if (wsi) return;
  because(c, "%s:%u cannot be reached", c->url.host, c->url.port);
  over(c);
}

static void on_addresses(void *ctx, const struct ob_addresses *addresses)
{
  struct ob_client *c = ctx;
  c->lookup = NULL;
  c->addresses = *addresses;
  c->address = 0;
  if (addresses->count) {
    dial(c);
    return;
  }
  because(c, "%s: %s", c->url.host, addresses->what);
  fail_attempt(c);
}

static void resolve(struct ob_client *c)
{
  c->phase = RESOLVING;
  c->lookup = ob_lookup_start(c->s, c->url.host, on_addresses, c);
  if (c->lookup) return;
  because(c, "%s: no thread to resolve the name", c->url.host);
  fail_attempt(c);
}

/* ---- life ---- */

static void end_part(struct ob_part *part)
{
  ob_client_close(lws_container_of(part, struct ob_client, part));
}

static void free_client(struct ob_client *c)
{
  if (!c) return;
  ob_link_free(c->link);
  ob_frames_done(&c->in);
  ob_queue_clear(&c->out);
  if (c->authorization) explicit_bzero(c->authorization, strlen(c->authorization));
  free(c->authorization);
  free(c->name);
  free(c->ca);
  free(c);
}

static void bury_part(struct ob_part *part)
{
  free_client(lws_container_of(part, struct ob_client, part));
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

static struct ob_client *new_client(struct ob_service *s, const struct ob_client_options *o)
{
  struct ob_client *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  const struct ob_client_timing *t = &o->timing;
  c->s = s;
  c->part = (struct ob_part) { .end = end_part, .bury = bury_part };
  c->masks_used = MASKS;
  c->timing = (struct ob_client_timing) {
    .backoff_min = given_or(t->backoff_min, BACKOFF_MIN_MS),
    .backoff_max = given_or(t->backoff_max, BACKOFF_MAX_MS),
    .refused = given_or(t->refused, REFUSED_MS),
    .handshake = given_or(t->handshake, HANDSHAKE_MS),
    .closing = given_or(t->closing, CLOSING_MS),
  };
  c->name = strdup(o->name ? o->name : "endpoint");
  c->ca = o->ca && o->ca[0] ? strdup(o->ca) : NULL;
  c->link = ob_link_new(&(struct ob_link_options) {
      .service = s,
      .name = c->name,
      .profile = o->profile,
      .on = o->on,
      .ping_ms = given_or(t->ping, PING_MS),
      .probe_ms = given_or(t->probe, PROBE_MS),
  });
  if (c->name && c->link && (c->ca || !o->ca || !o->ca[0])) return c;
  free_client(c);
  return NULL;
}

/* On the service thread. */
static void begin(void *arg)
{
  struct ob_client *c = arg;
  ob_service_add(c->s, &c->part);
  ob_timer_set(c->s, &c->retry, 0, retry);
}

enum schema_code ob_client_open(struct ob_service *s, const struct ob_client_options *options,
                                struct ob_client **ret, struct schema_error *reterr)
{
  struct ob_url url;
  enum schema_code code = ob_url_parse(options->url, &url, reterr);
  if (code != SCHEMA_OK) return code;
  const char *token = options->access_token ? options->access_token : "";
  if (!is_token(token))
    return schema_fail(reterr, SCHEMA_EARGUMENT, 0, NULL,
                       "access_token has control characters or is longer than 1024 bytes");
  struct ob_client *c = new_client(s, options);
  if (!c) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  c->url = url;
  /* implementations differ in which of header and query they look at: never send both */
  bool header = token[0] && !ob_url_has_query(&url, "access_token");
  if (header && asprintf(&c->authorization, "Bearer %s", token) < 0) {
    c->authorization = NULL;
    free_client(c);
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  }
  if (ob_service_here(s)) {
    begin(c);
  } else if (!ob_service_post(s, begin, c)) {
    free_client(c);
    return schema_fail(reterr, SCHEMA_ECLOSED, 0, NULL, "the service is stopping");
  }
  *ret = c;
  return SCHEMA_OK;
}

/* Says goodbye where that is possible at once and lets go of the connection. */
static void let_go(struct ob_client *c)
{
  struct lws *wsi = c->wsi;
  if (!wsi) return;
  c->wsi = NULL;
  if (c->phase == UP && ob_queue_size(&c->out) == 0 && !lws_partial_buffered(wsi)) {
    char payload[OB_FRAME_CONTROL_MAX];
    unsigned char frame[LWS_PRE + OB_FRAME_HEAD_MAX + OB_FRAME_CONTROL_MAX] = { 0 };
    struct span part = { payload, ob_frame_close_payload(payload, OB_CLOSE_NORMAL, SPAN("")) };
    size_t n = ob_frame_write((char *)frame + LWS_PRE, OB_OP_CLOSE, &part, 1, next_mask(c));
    lws_write(wsi, frame + LWS_PRE, n, LWS_WRITE_RAW);
  }
  lws_set_opaque_user_data(wsi, NULL);
  lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void ob_client_close(struct ob_client *c)
{
  if (!c || c->closed) return;
  c->closed = true;
  ob_link_close(c->link); /* calls that wait end by what was handed over until now */
  let_go(c);
  ob_lookup_cancel(c->lookup);
  ob_timer_clear(c->s, &c->retry);
  ob_timer_clear(c->s, &c->deadline);
  ob_timer_clear(c->s, &c->read_anyway);
  ob_service_bury(c->s, &c->part);
}

struct ob_link *ob_client_link(struct ob_client *c)
{
  return c->link;
}

void ob_client_call(struct ob_client *c, struct span action, struct span params,
                    unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                    void *ctx)
{
  ob_link_call(c->link, action, params, timeout_ms, done, ctx);
}

enum ob_link_state ob_client_state(const struct ob_client *c)
{
  return ob_link_state(c->link);
}

const struct ob_profile *ob_client_profile(const struct ob_client *c)
{
  return ob_link_profile(c->link);
}

struct span ob_client_self_id(const struct ob_client *c)
{
  return ob_link_self_id(c->link);
}

struct span ob_client_version(const struct ob_client *c)
{
  return ob_link_version(c->link);
}
