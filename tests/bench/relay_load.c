/* relay_load: both ends of a relay that is measured with real OneBot frames: the implementation, which
 * answers every action, and a framework behind the relay.
 *   relay_load NAME SIZE LISTEN UPSTREAM PID TEST=MESSAGES…
 * Tests: down (a flood of events), up (a flood of send_group_msg, 500 in flight), echo1 and echo64 (an
 * event that the framework answers with a message, so many in flight), send32 (send_group_msg with 32
 * in flight). Prints a line a test: messages that went through the relay a second (the answers to
 * actions are not counted), the relay's CPU a message, its resident KiB. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "onebot/frame.h"

enum {
  READ_SIZE = 256 * 1024,
  OUT_ROOM = 1024 * 1024,
  OUT_FULL = 128 * 1024, /* a flood waits beyond it */
  FLOOD_FLIGHT = 500,    /* the gate takes 512 of one framework */
  FRAME_ROOM = 128 * 1024,
  STALL_MS = 20 * 1000,
};

struct end { /* one side of the relay */
  int fd;
  bool client;
  struct ob_frames in;
  char *out;
  size_t from, to; /* what of out waits */
};

static struct end up, down; /* the implementation's side, the framework's */
static const char *name;
static size_t size, events, actions, answers; /* that arrived */
static bool answering;                        /* the framework answers events */

static void die(const char *what)
{
  fprintf(stderr, "%s: %s: %s\n", name, what, strerror(errno));
  exit(1);
}

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- sockets ---- */

static void flush_end(struct end *e)
{
  while (e->from < e->to) {
    ssize_t n = send(e->fd, e->out + e->from, e->to - e->from, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) die("send");
    e->from += (size_t)n;
  }
  e->from = e->to = 0;
}

static size_t waiting(const struct end *e)
{
  return e->to - e->from;
}

static void put(struct end *e, struct span text)
{
  static const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
  if (OUT_ROOM - e->to < text.len + OB_FRAME_HEAD_MAX) {
    memmove(e->out, e->out + e->from, waiting(e));
    e->to -= e->from;
    e->from = 0;
  }
  if (OUT_ROOM - e->to < text.len + OB_FRAME_HEAD_MAX) die("too much waits");
  e->to += ob_frame_write(e->out + e->to, OB_OP_TEXT, &text, 1, e->client ? mask : NULL);
}

static void accept_key(const char *key, char out[32])
{
  char joined[128];
  unsigned char hash[SHA_DIGEST_LENGTH];
  int n = snprintf(joined, sizeof joined, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  SHA1((unsigned char *)joined, (size_t)n, hash);
  EVP_EncodeBlock((unsigned char *)out, hash, sizeof hash);
}

/* Reads up to the blank line, byte for byte. */
static void read_head(int fd, char *head, size_t room)
{
  size_t n = 0;
  while (n + 1 < room && (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0)) {
    if (recv(fd, head + n, 1, 0) != 1) die("the upgrade");
    n++;
  }
  head[n] = '\0';
}

static void begin(struct end *e, int fd, bool client)
{
  e->fd = fd;
  e->client = client;
  e->out = malloc(OUT_ROOM);
  if (!e->out) die("memory");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
  ob_frames_init(&e->in, !client, FRAME_ROOM);
}

static struct sockaddr_in loopback(int port)
{
  return (struct sockaddr_in) { .sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void serve_up(int port)
{
  char head[4096], accepted[32], answer[256];
  struct sockaddr_in at = loopback(port);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int));
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4)) die("bind");
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) die("accept");
  read_head(fd, head, sizeof head);
  const char *key = strcasestr(head, "sec-websocket-key: ");
  if (!key) die("no key");
  accept_key(key + strlen("sec-websocket-key: "), accepted);
  int n = snprintf(answer, sizeof answer,
                   "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                   "Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                   accepted);
  if (send(fd, answer, (size_t)n, 0) != n) die("send");
  begin(&up, fd, false);
  close(listener);
}

static void dial_down(int port)
{
  static const char ask[] =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  char head[4096];
  struct sockaddr_in at = loopback(port);
  int fd = -1;
  for (int i = 0; i < 200 && fd < 0; i++) {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) break;
    close(fd);
    fd = -1;
    usleep(50000);
  }
  if (fd < 0 || send(fd, ask, sizeof ask - 1, 0) < 0) die("connect");
  read_head(fd, head, sizeof head);
  if (!strstr(head, " 101 ")) die("refused");
  begin(&down, fd, true);
}

/* ---- frames ---- */

static size_t numbered; /* events and messages have a number, so that none is like another */

/* Words up to the wanted size of the frame: Chinese, with what a chat has between. */
static size_t fill_words(char *at, size_t room)
{
  static const char words[] = "看了一下，是缓存的问题，清掉就好了。 OK, 明天 10 点再试一次～ ";
  size_t n = 0, i = 0;
  while (n + 4 < room) {
    unsigned char c = (unsigned char)words[i];
    size_t len = c < 0x80 ? 1 : 3;
    memcpy(at + n, words + i, len);
    n += len;
    i += len;
    if (!words[i]) i = 0;
  }
  return n;
}

static void send_event(void)
{
  char frame[FRAME_ROOM];
  static char words[FRAME_ROOM];
  static size_t words_len;
  if (!words_len) words_len = fill_words(words, size > 400 ? (size - 320) / 2 : 40);
  numbered++;
  int n =
      snprintf(frame, sizeof frame,
               "{\"self_id\":10000,\"user_id\":20001,\"time\":1700000000,\"message_id\":%zu,"
               "\"message_seq\":%zu,\"message_type\":\"group\",\"sender\":{\"user_id\":20001,"
               "\"nickname\":\"小明\",\"card\":\"\",\"role\":\"member\"},\"raw_message\":\"%.*s\","
               "\"font\":14,\"sub_type\":\"normal\",\"message\":[{\"type\":\"text\",\"data\":{"
               "\"text\":\"%.*s\"}}],\"message_format\":\"array\",\"post_type\":\"message\","
               "\"group_id\":30001}",
               numbered, numbered, (int)words_len, words, (int)words_len, words);
  put(&up, (struct span) { frame, (size_t)n });
}

static void send_action(void)
{
  char frame[FRAME_ROOM];
  static char words[FRAME_ROOM];
  static size_t words_len;
  if (!words_len) words_len = fill_words(words, size > 200 ? size - 150 : 40);
  numbered++;
  int n = snprintf(frame, sizeof frame,
                   "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":30001,\"message\":[{"
                   "\"type\":\"text\",\"data\":{\"text\":\"%.*s\"}}]},\"echo\":\"%zu\"}",
                   (int)words_len, words, numbered);
  put(&down, (struct span) { frame, (size_t)n });
}

/* The raw echo of a frame: the last member, or null. */
static struct span echo_of(struct span frame)
{
  static const char key[] = "\"echo\":";
  const char *at = memmem(frame.ptr, frame.len, key, sizeof key - 1);
  if (!at) return SPAN("null");
  at += sizeof key - 1;
  const char *end = frame.ptr + frame.len - 1;
  return (struct span) { at, (size_t)(end - at) };
}

static void implementation(struct span frame)
{
  char answer[512];
  struct span echo = echo_of(frame);
  const char *data = "{\"message_id\":1234567}";
  if (span_find(frame, SPAN("\"get_login_info\"")) < frame.len)
    data = "{\"user_id\":10000,\"nickname\":\"bot\"}";
  else if (span_find(frame, SPAN("\"get_version_info\"")) < frame.len)
    data = "{\"app_name\":\"NapCat.Onebot\",\"app_version\":\"4.18.19\"}";
  else
    actions++;
  int n = snprintf(answer, sizeof answer,
                   "{\"status\":\"ok\",\"retcode\":0,\"data\":%s,\"message\":\"\",\"wording\":\"\","
                   "\"echo\":%.*s}",
                   data, (int)echo.len, echo.ptr);
  put(&up, (struct span) { answer, (size_t)n });
}

static void framework(struct span frame)
{
  struct span head = { frame.ptr, frame.len < 200 ? frame.len : 200 };
  if (span_find(frame, SPAN("\"meta_event\"")) < frame.len) return;
  if (span_find(head, SPAN("\"status\"")) < head.len) {
    if (span_find(frame, SPAN("\"ok\"")) == frame.len) die("an action was refused");
    answers++;
    return;
  }
  events++;
  if (answering) send_action();
}

static void pump(int wait_ms)
{
  static char bytes[READ_SIZE];
  struct end *ends[] = { &up, &down };
  struct pollfd p[2];
  size_t count = 0;
  for (size_t i = 0; i < 2; i++) {
    flush_end(ends[i]);
    if (ends[i]->fd) p[count++] = (struct pollfd) { ends[i]->fd, POLLIN, 0 };
    if (ends[i]->fd && waiting(ends[i])) p[count - 1].events |= POLLOUT;
  }
  if (poll(p, count, wait_ms) <= 0) return;
  for (size_t i = 0; i < count; i++) {
    if (!(p[i].revents & (POLLIN | POLLHUP))) continue;
    struct end *e = ends[i];
    ssize_t n = recv(e->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) die("the relay hung up");
    struct span input = { bytes, n > 0 ? (size_t)n : 0 };
    enum ob_frame_kind kind;
    while ((kind = ob_frames_next(&e->in, &input)) != OB_FRAME_MORE) {
      if (kind != OB_FRAME_TEXT) continue;
      if (e == &up)
        implementation(e->in.payload);
      else
        framework(e->in.payload);
    }
  }
}

/* ---- what is measured ---- */

/* Nanoseconds that a process has run, all its threads. */
static double cpu_of(int pid)
{
  char path[64], line[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  char *end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
  if (end) sscanf(end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  fclose(f);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK) * 1e9;
}

static long resident_kb(int pid)
{
  char path[64], line[256];
  long kb = 0;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %ld", &kb);
  if (f) fclose(f);
  return kb;
}

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

static const struct test {
  const char *word;
  size_t flight; /* 0: as much as goes */
  bool events, answered;
} tests[] = {
  { "down", 0, true, false },   { "up", FLOOD_FLIGHT, false, false }, { "echo1", 1, true, true },
  { "echo64", 64, true, true }, { "send32", 32, false, false },
};

static void run(const struct test *t, size_t wanted, int pid)
{
  size_t sent = 0;
  double cpu = cpu_of(pid), from = seconds();
  answering = t->answered;
  events = actions = answers = 0;
  for (;;) {
    size_t done = t->events && !t->answered ? events : answers;
    if (done >= wanted) break;
    if (seconds() - from > 120) die("no progress");
    size_t more =
        t->flight ? least(t->flight - least(t->flight, sent - done), wanted - sent) : wanted - sent;
    while (more-- > 0 && waiting(t->events ? &up : &down) < OUT_FULL) {
      if (t->events)
        send_event();
      else
        send_action();
      sent++;
    }
    pump(sent < wanted && !t->flight && waiting(&up) < OUT_FULL ? 0 : 1000);
  }
  double took = seconds() - from, ran = cpu_of(pid) - cpu;
  size_t through = t->answered ? 2 * wanted : wanted;
  printf("{\"name\":\"%s\",\"test\":\"%s\",\"size\":%zu,\"per_s\":%.0f,\"cpu_us\":%.3f,\"rss_kb\":%"
         "ld}\n",
         name, t->word, size, (double)through / took, ran / 1e3 / (double)through,
         resident_kb(pid));
  fflush(stdout);
}

int main(int argc, char **argv)
{
  if (argc < 7) return 2;
  name = argv[1];
  size = strtoul(argv[2], NULL, 10);
  if (size > FRAME_ROOM / 2) return 2;
  serve_up(atoi(argv[4]));
  static const char hello[] = "{\"time\":1700000000,\"self_id\":10000,\"post_type\":\"meta_event\","
                              "\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\"}";
  put(&up, span_of(hello));
  for (double from = seconds(); seconds() - from < 0.5;) pump(50); /* it asks who we are */
  dial_down(atoi(argv[3]));
  for (double from = seconds(); seconds() - from < 0.3;) pump(50);
  for (int i = 6; i < argc; i++) {
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
      size_t n = strlen(tests[k].word);
      if (strncmp(argv[i], tests[k].word, n) == 0 && argv[i][n] == '=')
        run(&tests[k], strtoul(argv[i] + n + 1, NULL, 10), atoi(argv[5]));
    }
  }
  return 0;
}
