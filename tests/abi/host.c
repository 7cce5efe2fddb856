/* A host that knows nothing of Replygate but plugin/replygate.h: loads the plugin by dlopen, runs
 * two instances, calls from several threads, and counts that every ticket gets exactly one result.
 * The endpoints are where nobody listens. usage: host REPLYGATE.SO */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/replygate.h"

enum { THREADS = 4, TURNS = 60, TICKETS_MAX = THREADS * TURNS + 2 };

static atomic_int failures;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                              \
      failures++;                                                                                  \
    }                                                                                              \
  } while (0)

struct instance {
  const struct rg_api *api;
  struct rg_gate *gate;
  atomic_int results[TICKETS_MAX];
  atomic_int taken, busy, lines;
  atomic_bool closed;
};

static struct rg_bytes bytes(const char *z)
{
  return (struct rg_bytes) { z, strlen(z) };
}

static void on_log(void *ctx, int32_t level, struct rg_bytes line)
{
  struct instance *in = ctx;
  CHECK(level >= RG_LOG_ERROR && level <= RG_LOG_DEBUG);
  CHECK(!memchr(line.ptr, '\n', line.len));
  in->lines++;
}

static void on_result(void *ctx, uint64_t ticket, struct rg_bytes result)
{
  struct instance *in = ctx;
  CHECK(!in->closed);
  CHECK(ticket > 0 && ticket < TICKETS_MAX);
  CHECK(result.len > 2 && result.ptr[0] == '{' && result.ptr[result.len - 1] == '}');
  if (ticket > 0 && ticket < TICKETS_MAX) in->results[ticket]++;
}

static const char answer[] =
    "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}]}],"
    "\"reaction\":\"\"}";

static void ask(struct instance *in, const struct rg_turn *turn)
{
  struct rg_buf schema = { NULL, 0 }, instruction = { NULL, 0 }, report = { NULL, 0 };
  CHECK(in->api->check(in->gate, turn, bytes(answer), &report) == RG_OK);
  CHECK(report.len > 0 && memmem(report.ptr, report.len, "\"verdict\":\"accept\"", 18));
  in->api->release(&report);
  CHECK(!report.ptr && !report.len);
  in->api->release(&report);
  CHECK(in->api->contract(in->gate, turn, &schema, &instruction) == RG_OK);
  CHECK(schema.len > 0 && instruction.len > 0);
  in->api->release(&schema);
  in->api->release(&instruction);
  CHECK(in->api->stats(in->gate, &report) == RG_OK);
  in->api->release(&report);
}

static void *work(void *arg)
{
  struct instance *in = arg;
  for (int i = 0; i < TURNS; i++) {
    char group[24];
    snprintf(group, sizeof group, "%d", 10000 + i % 7);
    const struct rg_turn turn = { .size = sizeof turn,
                                  .kind = RG_KIND_ANSWER,
                                  .group_id = bytes(group),
                                  .message_id = bytes("1"),
                                  .sender_id = bytes("10002") };
    uint64_t ticket = 0;
    int32_t rc = in->api->submit(in->gate, &turn, bytes(answer), &ticket);
    CHECK(rc == RG_OK || rc == RG_EBUSY);
    if (rc == RG_OK) in->taken++;
    if (rc == RG_EBUSY) in->busy++;
    if (i % 9 == 0 && rc == RG_OK) CHECK(in->api->cancel(in->gate, ticket) == RG_OK);
    if (i % 16 == 0) ask(in, &turn);
    if (i % 20 == 0) CHECK(in->api->reload(in->gate, NULL, 0) == RG_OK);
  }
  return NULL;
}

static struct rg_host host_of(struct instance *in)
{
  return (struct rg_host) {
    .size = sizeof(struct rg_host), .abi = RG_ABI, .ctx = in, .log = on_log, .on_result = on_result
  };
}

static void wrong_calls(const struct rg_api *api, struct rg_gate *gate, const char *config)
{
  char why[512];
  struct rg_gate *none = NULL;
  struct instance in = { .api = api };
  struct rg_host host = host_of(&in);
  const struct rg_turn nobody = { .size = sizeof nobody };
  const struct rg_turn both = { .size = sizeof both,
                                .group_id = bytes("1"),
                                .user_id = bytes("2") };
  const struct rg_turn no_number = { .size = sizeof no_number, .group_id = bytes("0x10") };
  const struct rg_turn elsewhere = { .size = sizeof elsewhere,
                                     .endpoint = bytes("nowhere"),
                                     .group_id = bytes("10001") };
  const struct rg_turn unknown_kind = { .size = sizeof unknown_kind,
                                        .kind = 99,
                                        .group_id = bytes("10001") };
  const struct rg_turn *wrong[] = { NULL, &nobody, &both, &no_number, &elsewhere, &unknown_kind };
  uint64_t ticket;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK(api->submit(gate, wrong[i], bytes(answer), &ticket) == RG_EARGUMENT);
  }
  CHECK(api->submit(NULL, &elsewhere, bytes(answer), &ticket) == RG_EARGUMENT);
  CHECK(api->open(NULL, bytes(config), &none, why, sizeof why) == RG_EARGUMENT);
  host.abi = 99;
  CHECK(api->open(&host, bytes(config), &none, why, sizeof why) == RG_EARGUMENT);
  host = host_of(&in);
  CHECK(api->open(&host, bytes("/nowhere/x.yaml"), &none, why, sizeof why) == RG_ECONFIG);
  CHECK(strstr(why, "/nowhere/x.yaml:1:1: "));
  CHECK(api->open(&host, bytes("/nowhere/x.yaml"), &none, NULL, 0) == RG_ECONFIG);
  CHECK(!none);
  api->close(NULL);
  api->release(NULL);
}

/* A host that was built before most of the table existed. */
static void old_host(const struct rg_api *api, const char *config)
{
  struct instance in = { .api = api };
  struct rg_host host = host_of(&in);
  struct rg_gate *gate = NULL;
  host.size = offsetof(struct rg_host, log);
  CHECK(api->open(&host, bytes(config), &gate, NULL, 0) == RG_OK);
  const struct rg_turn turn = { .size = offsetof(struct rg_turn, message_id),
                                .group_id = bytes("10001") };
  CHECK(api->submit(gate, &turn, bytes(answer), NULL) == RG_OK);
  api->close(gate);
  CHECK(in.lines == 0);
}

static void two_instances(const struct rg_api *api, const char *config)
{
  static struct instance instances[2];
  pthread_t threads[2][THREADS];
  char why[512];
  for (int i = 0; i < 2; i++) {
    struct rg_host host = host_of(&instances[i]);
    instances[i].api = api;
    int32_t rc = api->open(&host, bytes(config), &instances[i].gate, why, sizeof why);
    if (rc != RG_OK) fprintf(stderr, "%s\n", why);
    CHECK(rc == RG_OK);
    if (rc != RG_OK) return;
  }
  wrong_calls(api, instances[0].gate, config);
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < THREADS; k++) pthread_create(&threads[i][k], NULL, work, &instances[i]);
  }
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < THREADS; k++) pthread_join(threads[i][k], NULL);
    api->close(instances[i].gate);
    instances[i].closed = true;
    int results = 0;
    for (int t = 0; t < TICKETS_MAX; t++) {
      CHECK(instances[i].results[t] <= 1);
      results += instances[i].results[t];
    }
    CHECK(results == instances[i].taken);
    CHECK(instances[i].taken + instances[i].busy == THREADS * TURNS);
    CHECK(instances[i].taken > 0 && instances[i].lines > 0);
  }
}

int main(int argc, char **argv)
{
  if (argc != 2) return 64;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const struct rg_api *(*entry)(uint32_t host_abi);
  *(void **)&entry = dlsym(library, "rg_plugin");
  if (!entry) return 1;
  CHECK(!entry(0) && !entry(RG_ABI + 1));
  const struct rg_api *api = entry(RG_ABI);
  CHECK(api && api->size >= sizeof *api && api->abi == RG_ABI && *api->version);
  if (!api) return 1;

  char folder[] = "/tmp/rg-abi-XXXXXX", config[64];
  if (!mkdtemp(folder)) return 1;
  snprintf(config, sizeof config, "%s/c.yaml", folder);
  FILE *f = fopen(config, "w");
  if (!f) return 1;
  fputs("endpoints:\n  main:\n    connect: ws://127.0.0.1:9\n    profile: napcat\n", f);
  fclose(f);

  old_host(api, config);
  two_instances(api, config);
  dlclose(library); /* stays mapped: -z nodelete */
  CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));
  static const char *const files[] = { "c.yaml", "replygate.db", "replygate.db-lock",
                                       "replygate.db-2", "replygate.db-2-lock" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    CHECK(unlink(path) == 0);
  }
  CHECK(rmdir(folder) == 0);
  printf("%s\n", failures ? "failed" : "ok");
  return failures ? 1 : 0;
}
