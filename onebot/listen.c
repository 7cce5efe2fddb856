/* listen: owns the listening socket, its connections, and what libwebsockets must be told.
 *
 * The socket is bound and accepted from here and each connection is given to lws: lws' own listener
 * would share a port between two vhosts, pick the vhost by the Host header, and give the port back
 * only some time after it was closed. One vhost serves all listeners of a service; a connection
 * finds its listener through its opaque pointer, which is NULL once the listener has let it go.
 *
 * lws parses the requests, the upgrade among them. An accepted WebSocket is then taken out of its
 * hands: a descriptor of our own goes back in as a raw socket, and frames are read and written here
 * as for the connections that we dial (frame.h). lws' own WebSocket role unmasks byte by byte and
 * calls back for each piece, a tenth of what a relayed message costs in all, and it copies what the
 * socket does not take at once. */
#include "onebot/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libwebsockets.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "onebot/exchange.h"
#include "onebot/frame.h"
#include "onebot/handshake.h"
#include "onebot/origin.h"
#include "onebot/queue.h"

enum {
  MESSAGE_MAX = 50 * 1024 * 1024, /* what NapCat accepts itself */
  /* Connections of one listener: frameworks, one or two implementations, and six of each browser;
   * the rest of the service's descriptors stays for its clients. */
  CONNECTIONS_MAX = 64,
  BACKLOG = 64,
  ACCEPT_ROUND = 16,      /* at one wake-up, so that a flood of them stops nobody else */
  ACCEPT_PAUSE_MS = 1000, /* where no descriptor is left */
  PING_S = 30,
  CLOSE_S = 5,              /* for a peer to take what waits and to answer a close frame */
  WRITE_ROUND = 256 * 1024, /* handed over at one wake-up; then others have their turn */
  PONG_MAX = 64 * 1024,     /* waiting bytes beyond which pings are not answered */
};

enum kind { KIND_LISTENER, KIND_PEER };

struct ob_peer { /* one TCP connection; a WebSocket once is_open */
  enum kind kind;
  struct ob_listener *l;
  struct lws *wsi;
  struct ob_peer *next, **link;
  char address[INET6_ADDRSTRLEN];
  struct ob_exchange *x; /* the request that is being answered, the upgrade until it is done */
  /* from here on: WebSocket */
  bool is_open, dropped, paused;
  bool closing, ended; /* our close frame is queued; theirs came */
  bool heard, pinged;  /* since the last sweep */
  bool waited;         /* at the last sweep something waited to be sent */
  uint64_t handed;     /* and so much was handed over by then */
  unsigned code;       /* for the closed handler */
  struct ob_frames in;
  struct ob_queue out;
  void *user;
};

struct ob_listener {
  enum kind kind;
  struct ob_part part;
  struct ob_service *s;
  char name[64], host[INET6_ADDRSTRLEN];
  unsigned port;
  bool wildcard, any_host;
  size_t body_max, message_max;
  unsigned ping_ms;
  struct ob_listen_handlers on;
  struct lws *wsi; /* of the listening socket */
  struct ob_peer *peers;
  size_t peer_count;
  struct ob_timer sweep, accept_again;
};

/* ---- requests and upgrades ----
 * A handler may close the listener: the connection's opaque pointer is NULL afterwards. */

static bool is_gone(struct lws *wsi)
{
  return lws_get_opaque_user_data(wsi) == NULL;
}

/* Why a request is refused before anybody is asked; NULL: it is not. */
static const char *refusal(const struct ob_listener *l, const struct ob_exchange *x, bool upgrade)
{
  return l->any_host ? NULL : ob_origin_refusal(l->host, l->wildcard, &x->request, upgrade);
}

static struct ob_exchange *new_exchange(struct ob_peer *p, struct lws *wsi)
{
  ob_exchange_free(p->x);
  p->x = ob_exchange_new(wsi, p->address, p->l->body_max);
  return p->x;
}

static void end_exchange(struct ob_peer *p)
{
  ob_exchange_free(p->x);
  p->x = NULL;
}

static int dispatch(struct ob_peer *p, struct lws *wsi)
{
  struct ob_listener *l = p->l;
  if (l->on.request) l->on.request(l->on.ctx, &p->x->request);
  if (is_gone(wsi)) return -1;
  if (!p->x->answered) ob_exchange_text(p->x, 404, "not found\n");
  return 0;
}

static int begin_request(struct ob_peer *p, struct lws *wsi)
{
  struct ob_exchange *x = new_exchange(p, wsi);
  if (!x) return -1;
  const char *why = refusal(p->l, x, false);
  if (why) {
    x->close = true;
    ob_exchange_text(x, 403, why);
    return 0;
  }
  return ob_exchange_begin(x) ? dispatch(p, wsi) : 0;
}

static int continue_answer(struct ob_peer *p, struct lws *wsi)
{
  if (!p->x) return 0;
  enum ob_exchange_step step = ob_exchange_continue(p->x);
  if (step == OB_EXCHANGE_MORE) return 0;
  end_exchange(p);
  return step == OB_EXCHANGE_CLOSE || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static bool hand_to_lws(struct ob_peer *p, int fd, lws_adoption_type type);

/* The upgrade is accepted: from here on the connection is a WebSocket. Always -1: lws closes what
 * it has left. What a client sends before it has our answer, which it must not, is lost. */
static int open_peer(struct ob_peer *p, struct lws *wsi, const char *key)
{
  struct ob_listener *l = p->l;
  if (!ob_handshake_answer(wsi, key)) return -1;
  int fd = ob_handshake_detach(wsi);
  if (fd < 0) return -1;
  lws_set_opaque_user_data(wsi, NULL);
  if (!hand_to_lws(p, fd, LWS_ADOPT_SOCKET)) return -1;
  struct lws *stream = p->wsi;
  p->is_open = p->heard = true;
  ob_frames_init(&p->in, true, l->message_max);
  if (l->on.open) l->on.open(l->on.ctx, p, &p->x->request);
  if (!is_gone(stream)) end_exchange(p);
  return -1;
}

/* Judges an upgrade. Always -1: it was refused, or the connection is lws' no longer. */
static int begin_upgrade(struct ob_peer *p, struct lws *wsi, const char *protocol)
{
  struct ob_listener *l = p->l;
  struct ob_exchange *x = new_exchange(p, wsi);
  if (!x || strcasecmp(protocol, "websocket") != 0) return -1;
  char key[OB_HANDSHAKE_KEY + 1];
  unsigned status = 403;
  const char *why = refusal(l, x, true);
  if (!why && (why = ob_handshake_fault(wsi, key))) status = 400;
  if (!why) {
    status = l->on.upgrade ? l->on.upgrade(l->on.ctx, &x->request, &why) : 404;
    if (is_gone(wsi)) return -1;
    if (status == 0) return open_peer(p, wsi, key);
  }
  if (!why) why = ob_exchange_status(status);
  ob_service_log(l->s, OB_LOG_INFO, "%s: refused a WebSocket from %s: %u, %s", l->name, p->address,
                 status, why);
  ob_exchange_refuse(x, status, why);
  end_exchange(p);
  return -1;
}

/* ---- sending ---- */

/* Room for the payload of one frame, whose header is written. */
static char *queue_head(struct ob_peer *p, enum ob_opcode opcode, size_t size)
{
  bool idle = ob_queue_size(&p->out) == 0; /* else the socket is waited for already */
  char *room = ob_queue_add(&p->out, ob_frame_head_size(size, false) + size);
  if (!room) return NULL;
  if (idle) lws_callback_on_writable(p->wsi);
  return room + ob_frame_head(room, opcode, true, size, NULL);
}

static void queue_close(struct ob_peer *p, unsigned code, struct span reason)
{
  char payload[OB_FRAME_CONTROL_MAX];
  size_t size = ob_frame_close_payload(payload, code, reason);
  char *room = queue_head(p, OB_OP_CLOSE, size);
  if (!room) {
    ob_peer_drop(p);
    return;
  }
  if (size) memcpy(room, payload, size);
  p->closing = true;
  p->code = code ? code : OB_CLOSE_NO_CODE;
  lws_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, CLOSE_S);
}

static int write_queued(struct ob_peer *p, struct lws *wsi)
{
  if (p->dropped) return -1;
  for (size_t written = 0; written < WRITE_ROUND;) {
    struct span front = ob_queue_front(&p->out, SIZE_MAX);
    if (front.len == 0) break;
    ssize_t n =
        send((int)lws_get_socket_fd(wsi), front.ptr, front.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (n <= 0) break;
    written += (size_t)n;
    ob_queue_take(&p->out, (size_t)n);
    if (p->closing) lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, CLOSE_S); /* it moves */
  }
  if (ob_queue_size(&p->out)) {
    lws_callback_on_writable(wsi);
    return 0;
  }
  /* what follows a fault is not understood; hanging up on it could take our close frame along */
  if (p->in.faulty) shutdown((int)lws_get_socket_fd(wsi), SHUT_WR);
  return p->ended ? -1 : 0;
}

/* ---- messages ---- */

/* The peer's close frame: the first word is answered, the answer to ours ends the connection. */
static void take_close(struct ob_peer *p)
{
  p->ended = true;
  if (p->closing) {
    lws_callback_on_writable(p->wsi);
    return;
  }
  queue_close(p, ob_frame_close_answer(p->in.code), SPAN(""));
  p->code = p->in.code;
}

static void take_ping(struct ob_peer *p)
{
  struct span payload = p->in.payload;
  if (p->closing || ob_queue_size(&p->out) >= PONG_MAX) return;
  char *room = queue_head(p, OB_OP_PONG, payload.len);
  if (room && payload.len) memcpy(room, payload.ptr, payload.len);
}

static void take(struct ob_peer *p, enum ob_frame_kind kind)
{
  struct ob_listener *l = p->l;
  switch (kind) {
  case OB_FRAME_TEXT:
    if (!p->closing) l->on.text(l->on.ctx, p, p->in.payload);
    break;
  case OB_FRAME_BINARY:
    if (p->closing) break;
    if (l->on.binary)
      l->on.binary(l->on.ctx, p, p->in.payload);
    else
      ob_peer_close(p, OB_CLOSE_UNSUPPORTED, "text frames only");
    break;
  case OB_FRAME_PING: take_ping(p); break;
  case OB_FRAME_CLOSE: take_close(p); break;
  case OB_FRAME_FAULT: ob_peer_close(p, p->in.code, p->in.what); break;
  case OB_FRAME_PONG:
  case OB_FRAME_MORE: break;
  }
}

static int receive(struct ob_peer *p, struct lws *wsi, struct span bytes)
{
  enum ob_frame_kind kind;
  p->heard = true;
  while (!p->dropped && !p->ended && (kind = ob_frames_next(&p->in, &bytes)) != OB_FRAME_MORE) {
    take(p, kind);
    if (is_gone(wsi)) return -1;
  }
  return p->dropped ? -1 : 0;
}

static bool may_queue(const struct ob_peer *p, size_t n)
{
  return p->is_open && !p->closing && !p->dropped && n <= OB_PEER_QUEUE_MAX &&
         ob_queue_size(&p->out) <= OB_PEER_QUEUE_MAX - n;
}

bool ob_peer_send_parts(struct ob_peer *p, const struct span *parts, size_t count)
{
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += parts[i].len;
  char *room = may_queue(p, size) ? queue_head(p, OB_OP_TEXT, size) : NULL;
  if (!room) return false;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].len) memcpy(room, parts[i].ptr, parts[i].len);
    room += parts[i].len;
  }
  return true;
}

bool ob_peer_send(struct ob_peer *p, struct span message)
{
  return ob_peer_send_parts(p, &message, 1);
}

size_t ob_peer_queued(const struct ob_peer *p)
{
  return ob_queue_size(&p->out);
}

uint64_t ob_peer_total(const struct ob_peer *p)
{
  return p->out.queued;
}

uint64_t ob_peer_handed(const struct ob_peer *p)
{
  return p->out.handed;
}

void ob_peer_close(struct ob_peer *p, unsigned code, const char *reason)
{
  if (!p->closing && !p->dropped) queue_close(p, code, span_of(reason ? reason : ""));
}

void ob_peer_drop(struct ob_peer *p)
{
  if (p->dropped) return;
  p->dropped = true;
  ob_queue_clear(&p->out);
  lws_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void ob_peer_pause(struct ob_peer *p, bool pause)
{
  p->paused = pause;
  p->heard = true; /* the silence in between was ours */
  lws_rx_flow_control(p->wsi, pause ? 0 : 1);
}

void ob_peer_set_user(struct ob_peer *p, void *user)
{
  p->user = user;
}

void *ob_peer_user(const struct ob_peer *p)
{
  return p->user;
}

struct span ob_peer_address(const struct ob_peer *p)
{
  return span_of(p->address);
}

/* ---- connections ---- */

static struct ob_peer *new_peer(struct ob_listener *l, const struct sockaddr *from, socklen_t size)
{
  struct ob_peer *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->kind = KIND_PEER;
  p->l = l;
  p->code = OB_CLOSE_ABNORMAL;
  if (getnameinfo(from, size, p->address, sizeof p->address, NULL, 0, NI_NUMERICHOST) != 0)
    p->address[0] = 0;
  if (strncmp(p->address, "::ffff:", 7) == 0)
    memmove(p->address, p->address + 7, strlen(p->address + 7) + 1);
  p->next = l->peers;
  p->link = &l->peers;
  if (p->next) p->next->link = &p->next;
  l->peers = p;
  l->peer_count++;
  return p;
}

/* Takes the connection off its listener and tells the owner of an open WebSocket. */
static void free_peer(struct ob_peer *p)
{
  struct ob_listener *l = p->l;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  l->peer_count--;
  if (p->is_open && l->on.closed) l->on.closed(l->on.ctx, p, p->code);
  end_exchange(p);
  if (p->is_open) ob_frames_done(&p->in);
  ob_queue_clear(&p->out);
  free(p);
}

static int serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                 size_t len)
{
  (void)user;
  struct ob_peer *p = lws_get_opaque_user_data(wsi);
  struct span bytes = { in, len };
  if (!p || p->kind != KIND_PEER) return p == NULL && reason == LWS_CALLBACK_RAW_RX ? -1 : 0;
  switch ((int)reason) {
  case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED: p->wsi = wsi; return 0;
  case LWS_CALLBACK_HTTP: return begin_request(p, wsi);
  case LWS_CALLBACK_HTTP_BODY: return !p->x || ob_exchange_body(p->x, bytes) ? 0 : -1;
  case LWS_CALLBACK_HTTP_BODY_COMPLETION: return p->x && !p->x->answered ? dispatch(p, wsi) : 0;
  case LWS_CALLBACK_HTTP_WRITEABLE: return continue_answer(p, wsi);
  case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return begin_upgrade(p, wsi, in);
  case LWS_CALLBACK_RAW_RX: return receive(p, wsi, bytes);
  case LWS_CALLBACK_RAW_WRITEABLE: return write_queued(p, wsi);
  case LWS_CALLBACK_WSI_DESTROY:
    lws_set_opaque_user_data(wsi, NULL);
    free_peer(p);
    return 0;
  default: return 0;
  }
}

static int accept_ready(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                        size_t len);

static const struct lws_protocols protocols[] = {
  { .name = "onebot", .callback = serve },
  { .name = "accept", .callback = accept_ready },
  { .name = NULL },
};

static struct lws_vhost *server_vhost(struct ob_service *s)
{
  static const char name[] = "replygate-listen";
  struct lws_context *lws = ob_service_lws(s);
  struct lws_vhost *v = lws_get_vhost_by_name(lws, name);
  if (v) return v;
  return lws_create_vhost(lws, &(struct lws_context_creation_info) {
                                   .vhost_name = name,
                                   .protocols = protocols,
                                   /* not NO_LISTEN, which lws' own and the clients' vhosts have: a
                                      connection goes to the first vhost of this number */
                                   .port = CONTEXT_PORT_NO_LISTEN_SERVER,
                                   .http_proxy_address = ":0",
                               });
}

static void accept_again(struct ob_timer *t)
{
  struct ob_listener *l = lws_container_of(t, struct ob_listener, accept_again);
  lws_rx_flow_control(l->wsi, 1);
}

/* Makes room by the oldest connection that is no WebSocket yet: who is slow at it must not keep all
 * others out. False: there is none. */
static bool make_room(struct ob_listener *l)
{
  struct ob_peer *oldest = NULL;
  for (struct ob_peer *p = l->peers; p; p = p->next)
    if (!p->is_open && !p->dropped) oldest = p;
  if (oldest) ob_peer_drop(oldest);
  return oldest != NULL;
}

/* Where it fails, the descriptor is closed and p is gone. */
static bool hand_to_lws(struct ob_peer *p, int fd, lws_adoption_type type)
{
  struct ob_listener *l = p->l;
  lws_adopt_desc_t info = {
    .vh = server_vhost(l->s),
    .type = type,
    .fd.sockfd = fd,
    .vh_prot_name = protocols[0].name,
    .opaque = p,
  };
  size_t before = l->peer_count;
  struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&info);
  /* lws has closed fd then, and p went with WSI_DESTROY, or there was none */
  if (!wsi && l->peer_count == before) free_peer(p);
  if (wsi) p->wsi = wsi;
  return wsi != NULL;
}

static void adopt(struct ob_listener *l, int fd, const struct sockaddr *from, socklen_t size)
{
  bool room = l->peer_count < CONNECTIONS_MAX || make_room(l);
  struct ob_peer *p = room ? new_peer(l, from, size) : NULL;
  if (!p) {
    ob_service_log(l->s, OB_LOG_WARN, "%s: a connection is turned away: %zu are open", l->name,
                   l->peer_count);
    close(fd);
    return;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
  hand_to_lws(p, fd, LWS_ADOPT_HTTP | LWS_ADOPT_SOCKET);
}

static int accept_ready(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                        size_t len)
{
  (void)user, (void)in, (void)len;
  struct ob_listener *l = lws_get_opaque_user_data(wsi);
  if (!l || reason != LWS_CALLBACK_RAW_RX_FILE) return 0;
  for (int i = 0; i < ACCEPT_ROUND; i++) {
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    int fd = accept4((int)lws_get_socket_fd(wsi), (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
    if (fd >= 0) {
      adopt(l, fd, (struct sockaddr *)&from, size);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ob_service_log(l->s, OB_LOG_WARN, "%s: no connection can be accepted: %s", l->name,
                     strerror(errno));
      lws_rx_flow_control(wsi, 0);
      ob_timer_set(l->s, &l->accept_again, ACCEPT_PAUSE_MS, accept_again);
    }
    break;
  }
  return 0;
}

/* Whether a peer took nothing since the last sweep of what waited for it already then. */
static bool is_stuck(struct ob_peer *p)
{
  bool waits = ob_queue_size(&p->out) > 0;
  bool stuck = waits && p->waited && p->handed == p->out.handed;
  p->waited = waits;
  p->handed = p->out.handed;
  return stuck;
}

/* Pings whom nothing was heard of since the last time, and drops who did not even answer that, or
 * takes nothing. */
static void sweep(struct ob_timer *t)
{
  struct ob_listener *l = lws_container_of(t, struct ob_listener, sweep);
  for (struct ob_peer *p = l->peers; p; p = p->next) {
    if (!p->is_open || p->dropped) continue;
    if (is_stuck(p)) {
      ob_service_log(l->s, OB_LOG_WARN, "%s: %s takes nothing, dropped", l->name, p->address);
      ob_peer_drop(p);
    } else if (p->closing || p->paused) {
      continue;
    } else if (p->heard) {
      p->heard = p->pinged = false;
    } else if (!p->pinged) {
      p->pinged = true;
      queue_head(p, OB_OP_PING, 0);
    } else {
      ob_service_log(l->s, OB_LOG_WARN, "%s: %s is silent, dropped", l->name, p->address);
      ob_peer_drop(p);
    }
  }
  ob_timer_set(l->s, &l->sweep, l->ping_ms, sweep);
}

/* ---- the listener ---- */

static const char *bind_fault(int error)
{
  switch (error) {
  case EADDRINUSE: return "the address is in use by another program or listener";
  case EADDRNOTAVAIL: return "no address of this machine";
  case EACCES: return "this port needs rights that the program does not have";
  default: return "the address cannot be listened on";
  }
}

/* A listening socket, or -1 with errno. */
static int listen_on(struct ob_listener *l)
{
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } to = { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)l->port) } };
  socklen_t size = sizeof to.v6;
  if (inet_pton(AF_INET6, l->host, &to.v6.sin6_addr) == 1) {
    l->wildcard = IN6_IS_ADDR_UNSPECIFIED(&to.v6.sin6_addr);
  } else {
    to.v4 = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons((uint16_t)l->port) };
    size = sizeof to.v4;
    if (inet_pton(AF_INET, l->host, &to.v4.sin_addr) != 1) {
      errno = EADDRNOTAVAIL;
      return -1;
    }
    l->wildcard = to.v4.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int)); /* a restart at once */
  if (bind(fd, &to.any, size) != 0 || listen(fd, BACKLOG) != 0 ||
      getsockname(fd, &to.any, &size) != 0) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  l->port = ntohs(to.any.sa_family == AF_INET ? to.v4.sin_port : to.v6.sin6_port);
  return fd;
}

static void free_listener(struct ob_listener *l)
{
  ob_service_remove(&l->part);
  ob_timer_clear(l->s, &l->sweep);
  ob_timer_clear(l->s, &l->accept_again);
  if (l->wsi) {
    lws_set_opaque_user_data(l->wsi, NULL);
    lws_set_timeout(l->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
  }
  while (l->peers) {
    struct ob_peer *p = l->peers;
    struct lws *wsi = p->wsi;
    if (p->is_open && !p->closing && !p->dropped && !ob_queue_is_cut(&p->out)) {
      char bye[4];
      ob_frame_head(bye, OB_OP_CLOSE, true, 2, NULL);
      ob_frame_close_payload(bye + 2, OB_CLOSE_GOING_AWAY, SPAN(""));
      send((int)lws_get_socket_fd(wsi), bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    lws_set_opaque_user_data(wsi, NULL);
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
    free_peer(p);
  }
  free(l);
}

static void end_part(struct ob_part *part)
{
  free_listener(lws_container_of(part, struct ob_listener, part));
}

struct opening { /* what ob_listen_open hands to the service thread */
  struct ob_service *s;
  const struct ob_listen_options *options;
  struct ob_listener *l;
  enum schema_code code;
  const char *what;
};

static void open_here(void *arg)
{
  struct opening *o = arg;
  const struct ob_listen_options *options = o->options;
  struct ob_listener *l = calloc(1, sizeof *l);
  o->code = SCHEMA_ENOMEM;
  if (!l) return;
  l->kind = KIND_LISTENER;
  l->s = o->s;
  l->port = options->port;
  l->any_host = options->any_host;
  l->body_max = options->body_max ? options->body_max : OB_BODY_MAX;
  l->message_max = options->message_max ? options->message_max : MESSAGE_MAX;
  l->ping_ms = 1000 * (options->ping_s ? options->ping_s : PING_S);
  l->on = options->on;
  bool local = strcmp(options->host, "localhost") == 0;
  snprintf(l->name, sizeof l->name, "%s", options->name ? options->name : "listen");
  snprintf(l->host, sizeof l->host, "%s", local ? "127.0.0.1" : options->host);

  int fd = listen_on(l);
  if (fd < 0) {
    o->code = SCHEMA_EARGUMENT;
    o->what = bind_fault(errno);
    free(l);
    return;
  }
  struct lws_vhost *v = server_vhost(l->s);
  lws_adopt_desc_t info = {
    .vh = v, .type = LWS_ADOPT_RAW_FILE_DESC, .fd.filefd = fd, .vh_prot_name = "accept", .opaque = l
  };
  l->wsi = v ? lws_adopt_descriptor_vhost_via_info(&info) : NULL;
  if (!l->wsi) {
    close(fd);
    free(l);
    return;
  }
  l->part.end = end_part;
  ob_service_add(l->s, &l->part);
  ob_timer_set(l->s, &l->sweep, l->ping_ms, sweep);
  o->l = l;
  o->code = SCHEMA_OK;
}

enum schema_code ob_listen_open(struct ob_service *s, const struct ob_listen_options *options,
                                struct ob_listener **ret, struct schema_error *reterr)
{
  if (!options->host || options->port > 65535)
    return schema_fail(reterr, SCHEMA_EARGUMENT, 0, NULL, "no address to listen on");
  struct opening o = { .s = s, .options = options };
  if (!ob_service_run(s, open_here, &o))
    return schema_fail(reterr, SCHEMA_ECLOSED, 0, NULL, "the service is stopping");
  if (o.code != SCHEMA_OK) return schema_fail(reterr, o.code, 0, NULL, o.what);
  *ret = o.l;
  return SCHEMA_OK;
}

unsigned ob_listen_port(const struct ob_listener *l)
{
  return l->port;
}

static void close_here(void *arg)
{
  free_listener(arg);
}

void ob_listen_close(struct ob_listener *l)
{
  if (l) ob_service_run(l->s, close_here, l);
}
