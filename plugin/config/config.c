#include "plugin/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/config/config_layers.h"

/* Reads a whole file into b; otherwise says why not. */
static const char *read_file(const char *path, struct buf *b)
{
  struct stat st;
  const char *why = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return strerror(errno);
  if (fstat(fd, &st) < 0)
    why = strerror(errno);
  else if (S_ISDIR(st.st_mode))
    why = "it is a folder";
  while (!why) {
    if (!buf_reserve(b, 64 * 1024)) {
      why = "it is larger than 8 MiB";
      break;
    }
    ssize_t n = read(fd, b->ptr + b->len, 64 * 1024);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) why = strerror(errno);
    if (n <= 0) break;
    b->len += (size_t)n;
  }
  close(fd);
  return why;
}

static void refuse(struct span path, const char *why, struct arena *arena,
                   struct rg_config_faults *faults)
{
  struct rg_config_fault *fault = arena_alloc(arena, sizeof *fault);
  *faults = (struct rg_config_faults) { fault, fault ? 1 : 0 };
  if (!fault) return;
  struct span what = arena_printf(arena, "%.*s cannot be read: %s", (int)path.len, path.ptr, why);
  *fault = (struct rg_config_fault) { 1, 1, what.ptr ? what : SPAN("the file cannot be read") };
}

struct rg_config *rg_config_load(struct span path, struct arena *arena,
                                 struct rg_config_faults *faults)
{
  struct rg_config *c = NULL;
  struct buf b;
  /* one read more than the limit, so that rg_yaml_read says that it is too large */
  buf_init(&b, RG_YAML_TEXT_MAX + 128 * 1024);
  char *z = strndup(path.ptr ? path.ptr : "", path.len);
  char *real = z ? realpath(z, NULL) : NULL;
  const char *why = !z ? "out of memory" : !real ? strerror(errno) : read_file(real, &b);
  if (why) {
    refuse(path, why, arena, faults);
    goto done;
  }
  const char *slash = strrchr(real, '/');
  struct span folder = { real, slash == real ? 1 : (size_t)(slash - real) };
  c = rg_config_read_files(buf_span(&b), folder, true, NULL, NULL, arena, faults);
  if (c) c->path = arena_copy(&c->arena, span_of(real));
done:
  buf_done(&b);
  free(real);
  free(z);
  return c;
}

struct rg_config *rg_config_keep(struct rg_config *c)
{
  atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
  return c;
}

void rg_config_release(struct rg_config *c)
{
  if (!c || atomic_fetch_sub_explicit(&c->references, 1, memory_order_acq_rel) != 1) return;
  arena_done(&c->arena);
  free(c);
}

static const struct rg_group_table *table_of(const struct rg_config *c, const struct rg_endpoint *e)
{
  return e && e->groups ? e->groups : c->groups;
}

const struct rg_group *rg_config_group(const struct rg_config *c, const struct rg_endpoint *e,
                                       uint64_t group_id)
{
  return rg_table_group(table_of(c, e), group_id);
}

enum rg_origin rg_config_origin(const struct rg_config *c, const struct rg_endpoint *e,
                                uint64_t group_id, size_t key)
{
  return rg_table_origin(table_of(c, e), group_id, key);
}

struct rg_ids rg_config_named(const struct rg_config *c, const struct rg_endpoint *e)
{
  return rg_table_named(table_of(c, e));
}

const struct rg_http_tool *rg_config_tool(const struct rg_config *c, struct span name)
{
  for (size_t i = 0; i < c->tool_count; i++)
    if (span_eq(c->tools[i].name, name)) return &c->tools[i];
  return NULL;
}

const struct rg_provider *rg_config_provider(const struct rg_config *c, struct span name)
{
  for (size_t i = 0; i < c->provider_count; i++)
    if (span_eq(c->providers[i].name, name)) return &c->providers[i];
  return NULL;
}

const struct rg_endpoint *rg_config_endpoint(const struct rg_config *c, struct span name)
{
  if (name.len == 0) return c->endpoint_count == 1 ? c->endpoints : NULL;
  for (size_t i = 0; i < c->endpoint_count; i++)
    if (span_eq(c->endpoints[i].name, name)) return &c->endpoints[i];
  return NULL;
}
