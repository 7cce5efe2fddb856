/* crash_bot: the process that the crash test kills: a gate with a short temper. Called as
 *   crash_bot CONFIG MESSAGE_ID REPLY   submits the reply as the answer to the message
 *   crash_bot CONFIG                    submits nothing: ends what an earlier one left
 * It says on standard output, a line each, "accepted", "refused CODE" and "result JSON", and ends when
 * nothing waits any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/gate.h"

enum { LOOKS = 2000, LOOK_US = 5000 }; /* ten seconds */

static const struct rg_timing fast = {
  .send = 300,
  .reaction = 300,
  .card_look = 300,
  .correction = 300,
  .history = 2000,
  .resolve = 4000,
  .echo = 100,
  .retry = 20,
  .muted = 60000,
  .risk = 60000,
  .removed = 60000,
  .backoff = 20,
  .probe = 50,
  .down = 60000,
  .notify = 60000,
};

/* One write, so that what was said before a kill is there. */
static void say(const char *word, struct rg_bytes rest)
{
  char *line = NULL;
  int n = asprintf(&line, "%s %.*s\n", word, (int)rest.len, rest.ptr ? rest.ptr : "");
  if (n > 0 && write(STDOUT_FILENO, line, (size_t)n) != n) abort();
  free(line);
}

static void on_result(void *ctx, uint64_t ticket, struct rg_bytes json)
{
  (void)ctx;
  (void)ticket;
  say("result", json);
}

static void on_log(void *ctx, int32_t level, struct rg_bytes line)
{
  (void)ctx;
  if (getenv("PEER_SHOW")) fprintf(stderr, "%d %.*s\n", level, (int)line.len, line.ptr);
}

/* Whether the stats say so. */
static bool stats_have(struct rg_gate *gate, const char *what)
{
  struct rg_buf json;
  if (rg_gate_stats(gate, &json) != RG_OK) return false;
  bool has = memmem(json.ptr, json.len, what, strlen(what)) != NULL;
  rg_gate_release(&json);
  return has;
}

static bool wait_for(struct rg_gate *gate, const char *what)
{
  for (int i = 0; i < LOOKS; i++) {
    if (stats_have(gate, what)) return true;
    usleep(LOOK_US);
  }
  return false;
}

static struct rg_bytes bytes_of(const char *z)
{
  return (struct rg_bytes) { z, strlen(z) };
}

int main(int argc, char **argv)
{
  struct rg_gate *gate = NULL;
  char why[2048];
  const struct rg_host host = {
    .size = sizeof host,
    .abi = RG_ABI,
    .log = on_log,
    .on_result = on_result,
  };
  if (argc < 2) return 64;
  if (rg_gate_open_timed(&host, bytes_of(argv[1]), &fast, &gate, why, sizeof why) != RG_OK) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  bool fine = wait_for(gate, "\"state\":\"ready\"");
  if (argc == 4) {
    const struct rg_turn turn = {
      .size = sizeof turn,
      .kind = RG_KIND_ANSWER,
      .group_id = bytes_of("123456789"),
      .message_id = bytes_of(argv[2]),
      .sender_id = bytes_of("10003"),
    };
    char code[16];
    uint64_t ticket;
    int32_t rc = rg_gate_submit(gate, &turn, bytes_of(argv[3]), &ticket);
    snprintf(code, sizeof code, "%d", rc);
    say(rc == RG_OK ? "accepted" : "refused", bytes_of(code));
  }
  fine = wait_for(gate, "\"waiting\":0,") && fine;
  rg_gate_close(gate);
  return fine ? 0 : 2;
}
