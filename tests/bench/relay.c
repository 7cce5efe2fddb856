/* relay: the gate as a contender of the relay bench: `relay REPLYGATE.SO LISTEN_PORT UPSTREAM_PORT`.
 * A host without functions: what is measured is the plugin's own work. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/replygate.h"

static void log_line(void *ctx, int32_t level, struct rg_bytes line)
{
  (void)ctx;
  if (level <= RG_LOG_WARN || getenv("SHOW")) fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
}

int main(int argc, char **argv)
{
  char path[] = "/tmp/relay-bench-XXXXXX", why[1024];
  int fd = argc == 4 ? mkstemp(path) : -1;
  if (fd < 0) return 2;
  dprintf(fd,
          "journal: off\nendpoints:\n"
          "  main: {connect: 'ws://127.0.0.1:%s', profile: napcat, self_id: 10000}\n"
          "relay: {listen: '127.0.0.1:%s'}\n",
          argv[3], argv[2]);
  void *so = dlopen(argv[1], RTLD_NOW);
  const struct rg_api *(*plugin)(uint32_t) = NULL;
  if (so) *(void **)&plugin = dlsym(so, "rg_plugin");
  const struct rg_api *api = plugin ? plugin(RG_ABI) : NULL;
  if (!api) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const struct rg_host host = { .size = sizeof host, .abi = RG_ABI, .log = log_line };
  struct rg_gate *gate;
  int32_t rc = api->open(&host, (struct rg_bytes) { path, strlen(path) }, &gate, why, sizeof why);
  unlink(path);
  if (rc != RG_OK) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  for (;;) pause();
}
