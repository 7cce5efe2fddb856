#include "plugin/media/media_ref.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onebot/mediaref.h"
#include "schema/remote.h"

/* ---- addresses ---- */

/* The host of http://host:port/… or https://…, brackets of IPv6 taken off; empty: none, or the
 * address names a user. */
static struct span host_of(struct span url)
{
  size_t at = span_find(url, SPAN("://"));
  struct span rest = { url.ptr + at + 3, at + 3 <= url.len ? url.len - at - 3 : 0 };
  size_t end = 0;
  while (end < rest.len && !memchr("/?#", rest.ptr[end], 3)) end++;
  struct span host = { rest.ptr, end };
  /* whatever two readers of an address may see differently is no host */
  for (size_t i = 0; i < host.len; i++)
    if ((unsigned char)host.ptr[i] <= ' ' || memchr("@\\%", host.ptr[i], 3))
      return (struct span) { 0 };
  if (host.len && host.ptr[0] == '[') {
    const char *close = memchr(host.ptr, ']', host.len);
    if (!close) return (struct span) { 0 };
    return (struct span) { host.ptr + 1, (size_t)(close - host.ptr) - 1 };
  }
  const char *colon = memchr(host.ptr ? host.ptr : "", ':', host.len);
  if (colon) host.len = (size_t)(colon - host.ptr);
  return host;
}

/* A listed host is meant with its sub-domains. */
static bool is_listed(const struct rg_list *hosts, struct span host)
{
  for (size_t i = 0; i < hosts->count; i++) {
    struct span name = hosts->items[i];
    if (span_eq_nocase(host, name)) return true;
    if (host.len <= name.len || host.ptr[host.len - name.len - 1] != '.') continue;
    struct span tail = { host.ptr + host.len - name.len, name.len };
    if (span_eq_nocase(tail, name)) return true;
  }
  return false;
}

const char *rg_media_url_fault(const struct rg_group *settings, bool directive, struct span url)
{
  static const struct span schemes[] = { SPAN_INIT("https://"), SPAN_INIT("http://") }; /* by bit */
  uint32_t allowed = directive ? 1u : settings->media.schemes;
  bool ok = false;
  for (size_t i = 0; i < 2; i++) {
    struct span head = { url.ptr, schemes[i].len };
    ok = ok || (allowed >> i & 1u && url.len > head.len && span_eq_nocase(head, schemes[i]));
  }
  if (!ok) return "scheme";
  struct span host = host_of(url);
  if (host.len == 0) return "host";
  if (settings->media.public_hosts) return schema_remote_web_fault(url) ? "host" : NULL;
  return is_listed(&settings->media.hosts, host) ? NULL : "host";
}

/* ---- paths ---- */

struct span rg_media_home(void)
{
  return span_of(getenv("HOME"));
}

static bool is_inside(struct span root, struct span path)
{
  while (root.len > 1 && root.ptr[root.len - 1] == '/') root.len--;
  if (root.len == 1 && root.ptr[0] == '/') return true;
  return root.len && span_starts(path, root) && (path.len == root.len || path.ptr[root.len] == '/');
}

static bool is_inside_any(const struct rg_list *roots, struct span path)
{
  for (size_t i = 0; i < roots->count; i++)
    if (is_inside(roots->items[i], path)) return true;
  return false;
}

const char *rg_media_path_fault(const struct rg_list *roots, struct span home, struct span path,
                                struct arena *arena, struct span *ret)
{
  struct span meant = ob_mediaref_resolve(path, roots->items, roots->count, home, arena);
  struct span whole = ob_mediaref_path(meant, arena);
  if (whole.len == 0 || whole.len >= PATH_MAX || !is_inside_any(roots, whole)) return "path";
  *ret = arena_copy(arena, whole);
  return ret->ptr ? NULL : "memory";
}

/* Whether the open file, by its real name, lies inside a root, by that one's real name. */
static bool is_really_inside(const struct rg_list *roots, int fd)
{
  char link[64], real[PATH_MAX], root[PATH_MAX], root_real[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, real, sizeof real);
  if (n <= 0 || (size_t)n >= sizeof real) return false;
  for (size_t i = 0; i < roots->count; i++) {
    struct span r = roots->items[i];
    if (r.len >= sizeof root) continue;
    memcpy(root, r.ptr, r.len);
    root[r.len] = '\0';
    if (realpath(root, root_real) &&
        is_inside(span_of(root_real), (struct span) { real, (size_t)n }))
      return true;
  }
  return false;
}

int rg_media_path_open(const struct rg_list *roots, const char *path)
{
  char link[64];
  struct stat st;
  int fd = -1;
  /* O_PATH touches neither a device nor a FIFO; what is judged is what is then read */
  int handle = open(path, O_PATH | O_CLOEXEC);
  if (handle < 0) return -1;
  if (fstat(handle, &st) == 0 && S_ISREG(st.st_mode) && is_really_inside(roots, handle)) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    fd = open(link, O_RDONLY | O_CLOEXEC);
  }
  close(handle);
  return fd;
}

struct span rg_media_path_map(const struct rg_list *map, struct span path, struct arena *arena)
{
  for (size_t i = 0; i + 1 < map->count; i += 2) {
    struct span ours = map->items[i], theirs = map->items[i + 1];
    while (ours.len > 1 && ours.ptr[ours.len - 1] == '/') ours.len--;
    if (!is_inside(ours, path)) continue;
    while (theirs.len > 1 && theirs.ptr[theirs.len - 1] == '/') theirs.len--;
    struct span rest = { path.ptr + ours.len, path.len - ours.len };
    return arena_printf(arena, "%.*s%.*s", (int)theirs.len, theirs.ptr, (int)rest.len, rest.ptr);
  }
  return path;
}

/* ---- base64 ---- */

static int base64_value(char c)
{
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

/* Without base64:// or data:…;base64, in front. */
static struct span base64_body(struct span text)
{
  if (span_starts(text, SPAN("base64://"))) return (struct span) { text.ptr + 9, text.len - 9 };
  if (!span_starts(text, SPAN("data:"))) return text;
  size_t at = span_find(text, SPAN(";base64,"));
  if (at == text.len) return text;
  return (struct span) { text.ptr + at + 8, text.len - at - 8 };
}

bool rg_media_base64(struct span text, char *head, size_t cap, size_t *head_len, size_t *size)
{
  struct span in = base64_body(text);
  uint32_t bits = 0;
  size_t digits = 0, padding = 0, n = 0;
  for (size_t i = 0; i < in.len; i++) {
    char c = in.ptr[i];
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      padding++;
      continue;
    }
    int value = base64_value(c);
    if (value < 0 || padding) return false;
    bits = bits << 6 | (uint32_t)value;
    if (++digits % 4 == 0)
      for (int shift = 16; shift >= 0; shift -= 8)
        if (n < cap) head[n++] = (char)(bits >> shift);
  }
  size_t left = digits % 4;
  if (left == 1 || padding > 2 || (padding && (digits + padding) % 4 != 0)) return false;
  for (size_t i = 0; i + 1 < left && n < cap; i++)
    head[n++] = (char)(bits >> (left == 2 ? 4 : 10 - 8 * i));
  *head_len = n;
  *size = digits / 4 * 3 + (left ? left - 1 : 0);
  return true;
}

struct span rg_media_base64_print(struct span bytes, struct arena *arena)
{
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t len = (bytes.len + 2) / 3 * 4, at = 0;
  char *out = arena_alloc(arena, len);
  if (!out) return (struct span) { 0 };
  const unsigned char *b = (const unsigned char *)bytes.ptr;
  for (size_t i = 0; i < bytes.len; i += 3) {
    size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
    uint32_t bits =
        (uint32_t)b[i] << 16 | (n > 1 ? (uint32_t)b[i + 1] << 8 : 0) | (n > 2 ? b[i + 2] : 0);
    for (size_t k = 0; k < 4; k++) out[at++] = k <= n ? alphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return (struct span) { out, len };
}
