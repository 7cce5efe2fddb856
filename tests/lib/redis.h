/* redis: a Redis server of a test's own, on a port that was free, with nothing on the disk. It ends with
 * the test. */
#ifndef TESTS_LIB_REDIS_H
#define TESTS_LIB_REDIS_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/peer.h"

#define REDIS_FN static __attribute__((unused))

struct redis {
  pid_t pid;
  unsigned port;
  char folder[64], password[32];
  char address[96]; /* of database 3, with the password */
};

/* A socket on a free port; *retport is its number. */
REDIS_FN int redis_listen(unsigned *retport)
{
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
  socklen_t size = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 8) == 0);
  cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &size), 0);
  *retport = ntohs(a.sin_port);
  return fd;
}

/* A connection of the test's own, past the code under test. */
REDIS_FN redisContext *redis_direct(const struct redis *r)
{
  redisContext *c = redisConnect("127.0.0.1", (int)r->port);
  if (c && !c->err) {
    if (*r->password) freeReplyObject(redisCommand(c, "AUTH %s", r->password));
    freeReplyObject(redisCommand(c, "SELECT 3"));
  }
  return c;
}

REDIS_FN bool redis_answers(const struct redis *r)
{
  redisContext *c = redis_direct(r);
  redisReply *reply = c && !c->err ? redisCommand(c, "PING") : NULL;
  bool fine = reply && reply->type == REDIS_REPLY_STATUS;
  if (reply) freeReplyObject(reply);
  if (c) redisFree(c);
  return fine;
}

REDIS_FN void redis_run(struct redis *r)
{
  enum { NOT_FOUND = 127 }; /* a shell's own number for it */
  char port[8];
  snprintf(port, sizeof port, "%u", r->port);
  r->pid = fork();
  cr_assert_geq(r->pid, 0);
  if (r->pid == 0) {
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, 1);
    dup2(null, 2);
    execlp("redis-server", "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir",
           r->folder, "--save", "", "--appendonly", "no", "--requirepass", r->password,
           (char *)NULL);
    _exit(NOT_FOUND);
  }
  for (int i = 0; i < 500 && !redis_answers(r); i++) {
    int status;
    if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
      cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND, "redis-server ended");
      cr_skip("redis-server is not installed");
    }
    usleep(20000);
  }
  cr_assert(redis_answers(r));
}

REDIS_FN void redis_kill(struct redis *r)
{
  kill(r->pid, SIGKILL);
  waitpid(r->pid, NULL, 0);
}

REDIS_FN struct redis redis_start(const char *password)
{
  struct redis r = { .folder = "/tmp/rg_redis_XXXXXX" };
  cr_assert_not_null(mkdtemp(r.folder));
  r.port = peer_free_port();
  snprintf(r.password, sizeof r.password, "%s", password);
  snprintf(r.address, sizeof r.address,
           *password ? "redis://:%s@127.0.0.1:%u/3" : "redis://%s127.0.0.1:%u/3", password, r.port);
  redis_run(&r);
  return r;
}

REDIS_FN void redis_end(struct redis *r)
{
  redis_kill(r);
  rmdir(r->folder);
}

#define redis_do(r, ...)                                                                           \
  do {                                                                                             \
    redisContext *direct = redis_direct(r);                                                        \
    redisReply *done = redisCommand(direct, __VA_ARGS__);                                          \
    cr_assert(done && done->type != REDIS_REPLY_ERROR, "%s", done ? done->str : direct->errstr);   \
    freeReplyObject(done);                                                                         \
    redisFree(direct);                                                                             \
  } while (0)

#endif
