/* host: see host.h. */
#include "plugin/command/host.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char plugin_name[] = "replygate.so";

/* The plugin beside this program; false: there is none, or the program's place is not known. */
static bool path_beside(char *path, size_t cap)
{
  ssize_t n = readlink("/proc/self/exe", path, cap);
  if (n <= 0 || (size_t)n >= cap) return false;
  path[n] = '\0';
  char *slash = strrchr(path, '/');
  if (!slash || (size_t)(slash + 1 - path) + sizeof plugin_name > cap) return false;
  strcpy(slash + 1, plugin_name);
  return access(path, R_OK) == 0;
}

const struct rg_api *rg_host_load(void)
{
  char beside[PATH_MAX];
  const char *path = getenv("REPLYGATE_SO");
  if (!path || !*path) path = path_beside(beside, sizeof beside) ? beside : plugin_name;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "error: the plugin cannot be loaded: %s\n", dlerror());
    return NULL;
  }
  const struct rg_api *(*entry)(uint32_t host_abi);
  *(void **)&entry = dlsym(library, "rg_plugin");
  const struct rg_api *api = entry ? entry(RG_ABI) : NULL;
  if (!api) fprintf(stderr, "error: %s is no plugin of ABI %u\n", path, RG_ABI);
  return api;
}

void rg_host_log(void *ctx, int32_t level, struct rg_bytes line)
{
  static const char *const words[] = { "error", "warn", "info", "debug" };
  (void)ctx;
  const char *word = level >= RG_LOG_ERROR && level <= RG_LOG_DEBUG ? words[level] : "log";
  fprintf(stderr, "%s: %.*s\n", word, (int)line.len, line.ptr);
}
