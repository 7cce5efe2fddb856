/* peer: the other side of a socket in tests, blocking, with a deadline on everything; a service
 * whose lines are kept; and what a WebSocket handshake needs. Loopback only. */
#ifndef TESTS_LIB_PEER_H
#define TESTS_LIB_PEER_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "onebot/frame.h"
#include "onebot/service.h"

#define PEER_FN static __attribute__((unused))

enum { PEER_WAIT_MS = 5000 };

/* ---- bytes ---- */

PEER_FN bool peer_wait(int fd, short events, int ms)
{
  struct pollfd p = { .fd = fd, .events = events };
  return poll(&p, 1, ms) == 1;
}

PEER_FN void peer_write(int fd, struct span s)
{
  while (s.len) {
    cr_assert(peer_wait(fd, POLLOUT, PEER_WAIT_MS), "the other side takes nothing");
    ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);
    if (n <= 0) return; /* it has hung up: the caller sees it when it reads */
    s.ptr += n;
    s.len -= (size_t)n;
  }
}

PEER_FN void peer_puts(int fd, const char *z)
{
  peer_write(fd, span_of(z));
}

/* At most n bytes; 0 at the end of the connection or where nothing came in time. */
PEER_FN size_t peer_read(int fd, char *to, size_t n)
{
  if (!peer_wait(fd, POLLIN, PEER_WAIT_MS)) return 0;
  ssize_t got = recv(fd, to, n, 0);
  return got > 0 ? (size_t)got : 0;
}

PEER_FN bool peer_read_all(int fd, char *to, size_t n)
{
  for (size_t at = 0, got; at < n; at += got)
    if ((got = peer_read(fd, to + at, n - at)) == 0) return false;
  return true;
}

/* Whether the connection ends within the time, whatever comes before. */
PEER_FN bool peer_ended(int fd)
{
  char any[4096];
  while (peer_wait(fd, POLLIN, PEER_WAIT_MS)) {
    ssize_t n = recv(fd, any, sizeof any, 0);
    if (n <= 0) return true;
  }
  return false;
}

/* An HTTP head up to and with its empty line, NUL-terminated; "" at the end. */
PEER_FN const char *peer_read_head(int fd, char *to, size_t cap)
{
  size_t n = 0;
  to[0] = 0;
  while (n + 1 < cap && peer_read(fd, to + n, 1) == 1) {
    to[++n] = 0;
    if (n >= 4 && memcmp(to + n - 4, "\r\n\r\n", 4) == 0) return to;
  }
  return "";
}

/* The value of a header in a head, copied; "" where it is absent. Name with its colon. */
PEER_FN const char *peer_header(const char *head, const char *name, char *to, size_t cap)
{
  to[0] = 0;
  for (const char *line = head; line && *line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncasecmp(line, name, strlen(name)) != 0) continue;
    line += strlen(name);
    line += strspn(line, " ");
    snprintf(to, cap, "%.*s", (int)strcspn(line, "\r\n"), line);
    return to;
  }
  return to;
}

/* ---- sockets ---- */

PEER_FN int peer_listen_at(unsigned port_wanted, unsigned *port)
{
  struct sockaddr_in a = { .sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port_wanted),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int));
  cr_assert_eq(bind(fd, (struct sockaddr *)&a, n), 0);
  cr_assert_eq(listen(fd, 16), 0);
  cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
  *port = ntohs(a.sin_port);
  return fd;
}

PEER_FN int peer_listen(unsigned *port)
{
  return peer_listen_at(0, port);
}

/* A port that somebody else is to listen at in a moment. Not one that the kernel picks: by then it
 * could have given it to another test's connection. Each process begins elsewhere. */
PEER_FN unsigned peer_free_port(void)
{
  enum { FIRST = 10000, COUNT = 20000, STRIDE = 32 }; /* below the ports that the kernel picks */
  static unsigned taken;
  for (;;) {
    unsigned port = FIRST + ((unsigned)getpid() * STRIDE + taken++) % COUNT;
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    if (is_free) return port;
    cr_assert_lt(taken, COUNT, "no port is free");
  }
}

/* -1 where nobody came in time. */
PEER_FN int peer_accept_in(int listening, int ms)
{
  if (!peer_wait(listening, POLLIN, ms)) return -1;
  int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
  return fd;
}

PEER_FN int peer_accept(int listening)
{
  int fd = peer_accept_in(listening, PEER_WAIT_MS);
  cr_assert(fd >= 0, "nobody has dialled");
  return fd;
}

PEER_FN int peer_connect(unsigned port)
{
  struct sockaddr_in a = { .sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
    close(fd);
    return -1;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
  return fd;
}

PEER_FN int peer_open_fds(void)
{
  int n = 0;
  for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* ---- WebSocket ---- */

/* Answers an upgrade with 101, by the key in its head. */
PEER_FN void peer_accept_upgrade(int fd, const char *head)
{
  char key[64], joined[128], accept[64], answer[256];
  unsigned char hash[20];
  peer_header(head, "Sec-WebSocket-Key:", key, sizeof key);
  int n = snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  lws_SHA1((unsigned char *)joined, (size_t)n, hash);
  lws_b64_encode_string((char *)hash, sizeof hash, accept, sizeof accept);
  snprintf(answer, sizeof answer,
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: %s\r\n\r\n",
           accept);
  peer_puts(fd, answer);
}

/* Asks for an upgrade; further: header lines or "". The answer's head is left in head. */
PEER_FN int peer_dial(unsigned port, const char *path, const char *further, char *head, size_t cap)
{
  char request[2048];
  int fd = peer_connect(port);
  if (fd < 0) return -1;
  snprintf(request, sizeof request,
           "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
           path, port, further);
  peer_puts(fd, request);
  peer_read_head(fd, head, cap);
  return fd;
}

/* Sends one frame. As a client (masked) or as a server. */
PEER_FN void peer_frame(int fd, bool masked, unsigned opcode, bool final, struct span payload)
{
  static const unsigned char mask[4] = { 0x12, 0x34, 0x56, 0x78 };
  char *frame = malloc(OB_FRAME_HEAD_MAX + payload.len);
  size_t n = ob_frame_write(frame, (enum ob_opcode)opcode, &payload, 1, masked ? mask : NULL);
  if (!final) frame[0] = (char)(frame[0] & 0x7F);
  peer_write(fd, (struct span) { frame, n });
  free(frame);
}

PEER_FN void peer_text(int fd, bool masked, const char *z)
{
  peer_frame(fd, masked, OB_OP_TEXT, true, span_of(z));
}

/* The receiving side: what came and was not used yet. */
struct peer_in {
  struct ob_frames frames;
  char bytes[65536];
  struct span rest;
};

PEER_FN void peer_in_init(struct peer_in *in, bool from_client)
{
  ob_frames_init(&in->frames, from_client, 64u * 1024 * 1024);
  in->rest = (struct span) { NULL, 0 };
}

PEER_FN void peer_in_done(struct peer_in *in)
{
  ob_frames_done(&in->frames);
}

/* The next message or control frame; OB_FRAME_MORE where the connection ended or nothing came. */
PEER_FN enum ob_frame_kind peer_next(struct peer_in *in, int fd)
{
  for (;;) {
    enum ob_frame_kind kind = ob_frames_next(&in->frames, &in->rest);
    if (kind != OB_FRAME_MORE) return kind;
    size_t n = peer_read(fd, in->bytes, sizeof in->bytes);
    if (n == 0) return OB_FRAME_MORE;
    in->rest = (struct span) { in->bytes, n };
  }
}

/* ---- the service ---- */

static _Thread_local void (*peer_sink_line)(void *, enum ob_log_level, const char *);
static _Thread_local void *peer_sink_ctx;
static pthread_mutex_t peer_process_mu = PTHREAD_MUTEX_INITIALIZER;

PEER_FN void peer_emit(int level, const char *line)
{
  if (peer_sink_line)
    peer_sink_line(peer_sink_ctx, level == LLL_ERR ? OB_LOG_ERROR : OB_LOG_WARN, line);
}

PEER_FN void peer_process_lock(void)
{
  pthread_mutex_lock(&peer_process_mu);
  lws_set_log_level(LLL_ERR | LLL_WARN, peer_emit);
}

PEER_FN void peer_process_unlock(void)
{
  pthread_mutex_unlock(&peer_process_mu);
}

PEER_FN void peer_process_sink(void (*line)(void *, enum ob_log_level, const char *), void *ctx)
{
  peer_sink_line = line;
  peer_sink_ctx = ctx;
}

static const struct ob_process peer_process = { .lock = peer_process_lock,
                                                .unlock = peer_process_unlock,
                                                .sink = peer_process_sink };

/* Everything that was logged, a line each. */
struct peer_log {
  pthread_mutex_t mu;
  struct buf text;
};

PEER_FN void peer_log_line(void *ctx, enum ob_log_level level, const char *line)
{
  struct peer_log *log = ctx;
  pthread_mutex_lock(&log->mu);
  buf_printf(&log->text, "%c %s\n", "EWID"[level], line);
  pthread_mutex_unlock(&log->mu);
  if (getenv("PEER_SHOW")) fprintf(stderr, "%c %s\n", "EWID"[level], line);
}

PEER_FN bool peer_logged(struct peer_log *log, const char *what)
{
  pthread_mutex_lock(&log->mu);
  bool found = log->text.ptr && strstr(log->text.ptr, what);
  pthread_mutex_unlock(&log->mu);
  return found;
}

PEER_FN struct ob_service *peer_service(struct peer_log *log)
{
  struct ob_service *s = NULL;
  struct schema_error e = { 0 };
  pthread_mutex_init(&log->mu, NULL);
  buf_init(&log->text, 1 << 22);
  struct ob_service_options o = { .ctx = log, .log = peer_log_line, .process = &peer_process };
  cr_assert_eq(ob_service_start(&o, &s, &e), SCHEMA_OK);
  return s;
}

PEER_FN void peer_service_done(struct ob_service *s, struct peer_log *log)
{
  ob_service_stop(s);
  buf_done(&log->text);
}

/* A count that the service thread raises and the test waits for. */
struct peer_count {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  int n;
};
#define PEER_COUNT                                                                                 \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                         \
  }

PEER_FN void peer_up(struct peer_count *c)
{
  pthread_mutex_lock(&c->mu);
  c->n++;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mu);
}

PEER_FN bool peer_reached_in(struct peer_count *c, int n, int ms)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += (long)(ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&c->mu);
  while (c->n < n && pthread_cond_timedwait(&c->changed, &c->mu, &until) == 0) {
  }
  bool reached = c->n >= n;
  pthread_mutex_unlock(&c->mu);
  return reached;
}

PEER_FN bool peer_reached(struct peer_count *c, int n)
{
  return peer_reached_in(c, n, PEER_WAIT_MS);
}

#endif
