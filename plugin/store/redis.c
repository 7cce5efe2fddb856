/* redis: see redis.h. */
#include "plugin/store/redis.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "plugin/thread.h"

enum {
  COMMANDS_MAX = 16, /* of one call, with those that connecting needs */
  PARTS_KEPT = 8,    /* a command's parts that need no memory */
  WHY_MAX = 512,
  HOST_MAX = RG_HOST_MAX + 1,
};

static const char no_server[] = "is a Redis server running there, with this address and port?";

/* The number of an array's items: hiredis 1 has another type. */
#if HIREDIS_MAJOR < 1
typedef int item_count;
#else
typedef size_t item_count;
#endif

struct rg_redis {
  char host[HOST_MAX], port[8], database[8];
  char *login; /* user and password, one behind the other */
  struct span user, password;
  char shown[HOST_MAX + 40];

  unsigned wait_ms;

  int fd;    /* -1: not connected */
  bool used; /* a call went through since it was connected */
  redisReader *reader;
  redisReplyObjectFunctions functions;
  void *(*array_of)(const redisReadTask *task, item_count items); /* hiredis's own */
  size_t received;                                                /* bytes, in this call */

  struct buf request;
  size_t commands;
  int64_t until_ms, pause_until_ms; /* monotonic; of this call, of the time in which none is made */
  char fault[WHY_MAX];              /* of the last call that failed */
};

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool rg_redis_say(const struct rg_redis *r, const char *what, const char *advice, char *why,
                  size_t cap)
{
  snprintf(why, cap, "store %s: %s: %s", r->shown, what, advice);
  return false;
}

/* ---- made and ended ---- */

/* Refuses an array that no command of ours gets: hiredis takes memory for all its items before the
 * first has come. */
static void *array_of(const redisReadTask *task, item_count items)
{
  const struct rg_redis *r = task->privdata;
  return items <= RG_REDIS_ITEMS_MAX ? r->array_of(task, items) : NULL;
}

static void put_down(struct rg_redis *r)
{
  if (r->fd >= 0) close(r->fd);
  r->fd = -1;
  if (r->reader) redisReaderFree(r->reader);
  r->reader = NULL;
}

struct rg_redis *rg_redis_new(const struct rg_redis_address *a, unsigned wait_ms)
{
  struct rg_redis *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->fd = -1;
  r->wait_ms = wait_ms;
  buf_init(&r->request, RG_REDIS_REQUEST_MAX);
  r->login = malloc(a->user.len + a->password.len + 1);
  if (!r->login) {
    free(r);
    return NULL;
  }
  r->user = (struct span) { r->login, rg_address_decode(a->user, r->login) };
  char *behind = r->login + r->user.len;
  r->password = (struct span) { behind, rg_address_decode(a->password, behind) };
  bool brackets = a->host.len > 0 && memchr(a->host.ptr, ':', a->host.len);
  snprintf(r->host, sizeof r->host, "%.*s", (int)a->host.len, a->host.ptr);
  snprintf(r->port, sizeof r->port, "%u", a->port);
  snprintf(r->database, sizeof r->database, "%u", a->database);
  snprintf(r->shown, sizeof r->shown, brackets ? "redis://[%s]:%s/%s" : "redis://%s:%s/%s", r->host,
           r->port, r->database);
  return r;
}

void rg_redis_free(struct rg_redis *r)
{
  if (!r) return;
  put_down(r);
  buf_done(&r->request);
  explicit_bzero(r->login, r->user.len + r->password.len);
  free(r->login);
  free(r);
}

/* ---- the name ---- */

/* A question that its thread may still be busy with when nobody waits any more. */
struct lookup {
  atomic_int holders;
  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t done;
  bool answered;
  int fault; /* of getaddrinfo */
  struct addrinfo *found;
  char host[HOST_MAX], port[8];
};

static void lookup_release(struct lookup *l)
{
  if (atomic_fetch_sub(&l->holders, 1) != 1) return;
  if (l->found) freeaddrinfo(l->found);
  pthread_cond_destroy(&l->done);
  pthread_mutex_destroy(&l->mu);
  free(l);
}

static const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

static void *lookup_run(void *arg)
{
  struct lookup *l = arg;
  struct addrinfo *found = NULL;
  int fault = getaddrinfo(l->host, l->port, &hints, &found);
  pthread_mutex_lock(&l->mu);
  l->fault = fault;
  l->found = fault == 0 ? found : NULL;
  l->answered = true;
  pthread_cond_signal(&l->done);
  pthread_mutex_unlock(&l->mu);
  lookup_release(l);
  return NULL;
}

static struct lookup *lookup_start(const struct rg_redis *r)
{
  struct lookup *l = calloc(1, sizeof *l);
  pthread_condattr_t clock;
  pthread_t thread;
  if (!l) return NULL;
  memcpy(l->host, r->host, sizeof l->host);
  memcpy(l->port, r->port, sizeof l->port);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&l->mu, NULL);
  pthread_cond_init(&l->done, &clock);
  pthread_condattr_destroy(&clock);
  atomic_init(&l->holders, 2);
  if (rg_thread_start(&thread, "rg-redis-name", lookup_run, l)) {
    pthread_detach(thread);
    return l;
  }
  atomic_store(&l->holders, 1);
  lookup_release(l);
  return NULL;
}

/* Waits for the answer as long as the call may take. */
static bool lookup_wait(const struct rg_redis *r, struct lookup *l, char *why, size_t cap)
{
  struct timespec until = { .tv_sec = r->until_ms / 1000,
                            .tv_nsec = (long)(r->until_ms % 1000) * 1000000 };
  pthread_mutex_lock(&l->mu);
  while (!l->answered && pthread_cond_timedwait(&l->done, &l->mu, &until) == 0) {
  }
  bool answered = l->answered;
  int fault = l->fault;
  pthread_mutex_unlock(&l->mu);
  if (!answered)
    return rg_redis_say(r, "its name is not resolved in time", "is the name server reachable?", why,
                        cap);
  return fault == 0 || rg_redis_say(r, gai_strerror(fault), "is the host's name right?", why, cap);
}

/* ---- the socket ---- */

enum went { WENT_WELL, WENT_LOST, WENT_WRONG };

/* Waits until the socket can be read or written; false: the time is over. */
static bool wait_for(const struct rg_redis *r, int fd, short events)
{
  struct pollfd p = { .fd = fd, .events = events };
  for (;;) {
    int64_t left = r->until_ms - now_ms();
    int n = poll(&p, 1, left > 0 ? (int)left : 0);
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

/* Connects to one address: 0, or the errno of what went wrong; ETIMEDOUT: the time is over. */
static int connect_to(const struct rg_redis *r, const struct addrinfo *a, int *ret)
{
  int on = 1, fault = 0;
  socklen_t size = sizeof fault;
  int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
  if (fd < 0) return errno;
  if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) fault = errno;
  if (fault == EINPROGRESS) {
    if (!wait_for(r, fd, POLLOUT))
      fault = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
      fault = errno;
  }
  if (fault != 0) {
    close(fd);
    return fault;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  *ret = fd;
  return 0;
}

static bool reader_make(struct rg_redis *r)
{
  r->reader = redisReaderCreate();
  if (!r->reader) return false;
  r->functions = *r->reader->fn;
  r->array_of = r->functions.createArray;
  r->functions.createArray = array_of;
  r->reader->fn = &r->functions;
  r->reader->privdata = r;
  return true;
}

static bool reach(struct rg_redis *r, char *why, size_t cap)
{
  int fault = EADDRNOTAVAIL;
  struct lookup *l = lookup_start(r);
  if (!l) return rg_redis_say(r, "out of memory or threads", "close other programs", why, cap);
  bool fine = lookup_wait(r, l, why, cap);
  for (struct addrinfo *a = fine ? l->found : NULL; a && fault != 0 && fault != ETIMEDOUT;
       a = a->ai_next)
    fault = connect_to(r, a, &r->fd);
  lookup_release(l);
  if (!fine) return false;
  if (fault != 0) return rg_redis_say(r, strerror(fault), no_server, why, cap);
  if (reader_make(r)) return true;
  put_down(r);
  return rg_redis_say(r, "out of memory", "close other programs", why, cap);
}

/* ---- one exchange ---- */

static enum went broken(const struct rg_redis *r, const char *what, const char *advice, char *why,
                        size_t cap)
{
  rg_redis_say(r, what, advice, why, cap);
  return WENT_WRONG;
}

static enum went too_slow(const struct rg_redis *r, char *why, size_t cap)
{
  char what[48];
  snprintf(what, sizeof what, "no answer within %g seconds", r->wait_ms / 1000.0);
  return broken(r, what, no_server, why, cap);
}

static enum went lost(const struct rg_redis *r, char *why, size_t cap)
{
  rg_redis_say(r, "the connection was lost", no_server, why, cap);
  return WENT_LOST;
}

static enum went send_all(struct rg_redis *r, struct span bytes, char *why, size_t cap)
{
  while (bytes.len > 0) {
    ssize_t n = send(r->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (n > 0) {
      bytes.ptr += n;
      bytes.len -= (size_t)n;
    } else if (n < 0 && errno == EAGAIN) {
      if (!wait_for(r, r->fd, POLLOUT)) return too_slow(r, why, cap);
    } else if (n < 0 && errno != EINTR) {
      return lost(r, why, cap);
    }
  }
  return WENT_WELL;
}

/* Gives the reader what has come, or waits for it. */
static enum went receive(struct rg_redis *r, char *why, size_t cap)
{
  char chunk[16 * 1024];
  if (!wait_for(r, r->fd, POLLIN) || now_ms() >= r->until_ms) return too_slow(r, why, cap);
  ssize_t n = recv(r->fd, chunk, sizeof chunk, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return WENT_WELL;
  if (n <= 0) return lost(r, why, cap);
  r->received += (size_t)n;
  if (r->received > RG_REDIS_ANSWER_MAX)
    return broken(r, "an answer of more than 64 MiB", "use a database number of our own", why, cap);
  if (redisReaderFeed(r->reader, chunk, (size_t)n) != REDIS_OK)
    return broken(r, "out of memory", "close other programs", why, cap);
  return WENT_WELL;
}

static enum went receive_reply(struct rg_redis *r, redisReply **ret, char *why, size_t cap)
{
  void *reply = NULL;
  for (;;) {
    if (redisReaderGetReply(r->reader, &reply) != REDIS_OK)
      return broken(r, "what answers is no Redis server, or its answer is too large", no_server,
                    why, cap);
    if (reply) break;
    enum went went = receive(r, why, cap);
    if (went != WENT_WELL) return went;
  }
  *ret = reply;
  return WENT_WELL;
}

/* What a server refuses with. Its own sentence is not shown: it may repeat what it was sent. */
static const struct {
  const char *code, *what, *advice;
} refusals[] = {
  { "NOAUTH", "it wants a password", "write redis://:PASSWORD@host:port/number" },
  { "WRONGPASS", "user or password is wrong", "compare them with the server's" },
  { "NOPERM", "this user may not do that", "allow ~replygate:* +@all -@admin -@dangerous" },
  { "WRONGTYPE", "a key below replygate: is of another kind", "use another database number" },
  { "OOM", "its memory is full", "raise its maxmemory, or give it a policy that drops keys" },
  { "READONLY", "it is a read-only replica", "name the primary server" },
  { "MISCONF", "it cannot write to its disk and takes no changes", "look into the server's log" },
  { "LOADING", "it is still loading its data", "wait a moment" },
  { "MASTERDOWN", "it is a replica without its primary", "name the primary server" },
  { "CLUSTERDOWN", "its cluster is down", "look into the server's log" },
  { "MOVED", "it is part of a cluster", "name a server that is not" },
};

/* The first refusal in a reply, in those below it too (EXEC), or NULL. */
static const redisReply *refusal_in(const redisReply *reply)
{
  if (reply->type == REDIS_REPLY_ERROR) return reply;
  for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
    if (reply->element[i]->type == REDIS_REPLY_ERROR) return reply->element[i];
  return NULL;
}

static void tell_refusal(const struct rg_redis *r, const redisReply *refusal, char *why, size_t cap)
{
  struct span text = { refusal->str, (size_t)refusal->len };
  size_t n = span_find(text, SPAN(" "));
  struct span code = { text.ptr, n };
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    if (!span_is(code, refusals[i].code)) continue;
    rg_redis_say(r, refusals[i].what, refusals[i].advice, why, cap);
    return;
  }
  rg_redis_say(r, "it refuses the command",
               "is it Redis 5 or newer, with a database of this number?", why, cap);
}

/* Sends what was added and reads a reply to each; the last goes to *ret. A refusal is WENT_WELL for
 * the connection, with NULL and why. */
static enum went exchange(struct rg_redis *r, struct span request, size_t commands,
                          redisReply **ret, char *why, size_t cap)
{
  bool refused = false;
  enum went went = send_all(r, request, why, cap);
  for (size_t i = 0; i < commands && went == WENT_WELL; i++) {
    redisReply *reply = NULL;
    went = receive_reply(r, &reply, why, cap);
    if (went != WENT_WELL) break;
    const redisReply *refusal = refused ? NULL : refusal_in(reply);
    if (refusal) tell_refusal(r, refusal, why, cap);
    refused = refused || refusal;
    if (i + 1 == commands && !refused)
      *ret = reply;
    else
      freeReplyObject(reply);
  }
  return went;
}

static bool add_command(struct buf *out, const struct span *parts, size_t count)
{
  const char *kept[PARTS_KEPT];
  size_t kept_sizes[PARTS_KEPT];
  bool small = count <= PARTS_KEPT;
  const char **starts = small ? kept : calloc(count, sizeof *starts);
  size_t *sizes = small ? kept_sizes : calloc(count, sizeof *sizes);
  char *command = NULL;
  int length = -1;
  for (size_t i = 0; starts && sizes && i < count; i++) {
    starts[i] = parts[i].len > 0 ? parts[i].ptr : "";
    sizes[i] = parts[i].len;
  }
  if (starts && sizes) length = redisFormatCommandArgv(&command, (int)count, starts, sizes);
  if (length >= 0) buf_add(out, (struct span) { command, (size_t)length });
  if (length < 0) out->failed = true;
  if (length >= 0) redisFreeCommand(command);
  if (!small) {
    free(starts);
    free(sizes);
  }
  return !out->failed;
}

/* Connects, says the password and chooses the database. */
static bool open_up(struct rg_redis *r, char *why, size_t cap)
{
  struct buf out;
  redisReply *reply = NULL;
  size_t commands = 1;
  const struct span auth[] = { SPAN_INIT("AUTH"), r->password };
  const struct span auth_user[] = { SPAN_INIT("AUTH"), r->user, r->password };
  const struct span choose[] = { SPAN_INIT("SELECT"), span_of(r->database) };
  if (!reach(r, why, cap)) return false;
  r->used = false;
  buf_init(&out, RG_REDIS_REQUEST_MAX);
  if (r->password.len > 0) {
    commands = 2;
    if (r->user.len > 0)
      add_command(&out, auth_user, 3);
    else
      add_command(&out, auth, 2);
  }
  if (!add_command(&out, choose, 2)) rg_redis_say(r, "out of memory", "", why, cap);
  if (!out.failed) exchange(r, buf_span(&out), commands, &reply, why, cap);
  if (out.len > 0) explicit_bzero(out.ptr, out.len);
  buf_done(&out);
  if (!reply) put_down(r);
  if (reply) freeReplyObject(reply);
  return r->fd >= 0;
}

/* ---- a call ---- */

void rg_redis_add(struct rg_redis *r, const struct span *parts, size_t count)
{
  r->commands++;
  if (r->commands > COMMANDS_MAX) r->request.failed = true;
  add_command(&r->request, parts, count);
}

/* Puts a connection down that the server has closed meanwhile, or on which it said more than it was
 * asked: what comes next would be taken for an answer. */
static void notice_end(struct rg_redis *r)
{
  char c;
  if (r->fd < 0) return;
  if (r->reader->pos < r->reader->len || recv(r->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
    put_down(r);
}

static redisReply *attempt(struct rg_redis *r, enum went *went, char *why, size_t cap)
{
  redisReply *reply = NULL;
  *went = WENT_WRONG;
  if (r->fd < 0 && !open_up(r, why, cap)) return NULL;
  *went = exchange(r, buf_span(&r->request), r->commands, &reply, why, cap);
  if (*went != WENT_WELL) put_down(r);
  return reply;
}

redisReply *rg_redis_call(struct rg_redis *r, char *why, size_t cap)
{
  redisReply *reply = NULL;
  enum went went = WENT_WELL;
  int64_t begun = now_ms();
  if (r->request.failed) {
    rg_redis_say(r, "out of memory, or the value is too large", "shorten it", why, cap);
    goto done;
  }
  if (begun < r->pause_until_ms) {
    snprintf(why, cap, "%s", r->fault);
    goto done;
  }
  r->until_ms = begun + r->wait_ms;
  r->received = 0;
  notice_end(r);
  bool had = r->fd >= 0 && r->used;
  r->fault[0] = '\0';
  reply = attempt(r, &went, r->fault, sizeof r->fault);
  if (went == WENT_LOST && had) reply = attempt(r, &went, r->fault, sizeof r->fault);
  if (!reply) snprintf(why, cap, "%s", r->fault);
  if (went == WENT_WELL) r->used = true;
  if (went != WENT_WELL) {
    int64_t now = now_ms();
    r->pause_until_ms = now + RG_REDIS_PAUSE_FACTOR * (now - begun);
  }
done:
  buf_clear(&r->request);
  r->commands = 0;
  return reply;
}
