#include "plugin/config_address.h"

#include <arpa/inet.h>

/* Takes the part of *s before the first of the characters in stops. */
static struct span cut(struct span *s, const char *stops)
{
  size_t n = 0;
  while (n < s->len && !(s->ptr[n] && strchr(stops, s->ptr[n]))) n++;
  struct span part = { s->ptr, n };
  if (n > 0) *s = (struct span) { s->ptr + n, s->len - n }; /* ptr may be NULL */
  return part;
}

static bool take(struct span *s, struct span prefix)
{
  if (!span_starts(*s, prefix)) return false;
  s->ptr += prefix.len;
  s->len -= prefix.len;
  return true;
}

/* Visible ASCII only: what may stand in a URL as it is. */
static bool is_visible(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.ptr[i] <= ' ' || s.ptr[i] > '~') return false;
  return true;
}

static bool port_of(struct span s, uint16_t *ret)
{
  unsigned v = 0;
  if (s.len == 0 || s.len > 5 || s.ptr[0] == '0') return false;
  for (size_t i = 0; i < s.len; i++) {
    unsigned d = (unsigned char)s.ptr[i] - '0';
    if (d > 9) return false;
    v = v * 10 + d;
  }
  if (v > 65535) return false;
  *ret = (uint16_t)v;
  return true;
}

static bool is_numeric(int family, struct span s)
{
  char text[INET6_ADDRSTRLEN + 1];
  unsigned char address[16];
  if (s.len == 0 || s.len >= sizeof text || memchr(s.ptr, 0, s.len)) return false;
  memcpy(text, s.ptr, s.len);
  text[s.len] = 0;
  return inet_pton(family, text, address) == 1;
}

/* Letters, digits, - _ and dots that do not lead, end or follow one another. */
static bool is_name(struct span s)
{
  char last = '.';
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
    if (!letter && !(c == '.' && last != '.')) return false;
    last = c;
  }
  return s.len > 0 && s.len <= RG_HOST_MAX && last != '.';
}

/* Takes a host, [IPv6] too, and gives it without brackets. */
static bool take_host(struct span *s, const char *stops, struct span *ret)
{
  if (take(s, SPAN("["))) {
    *ret = cut(s, "]");
    return take(s, SPAN("]")) && is_numeric(AF_INET6, *ret);
  }
  *ret = cut(s, stops);
  return is_name(*ret);
}

bool rg_address_is_ws(struct span text)
{
  struct span host;
  uint16_t port;
  if (!is_visible(text) || (!take(&text, SPAN("ws://")) && !take(&text, SPAN("wss://"))))
    return false;
  if (!take_host(&text, ":/?#", &host)) return false;
  if (take(&text, SPAN(":")) && !port_of(cut(&text, "/?#"), &port)) return false;
  return text.len <= RG_URL_PATH_MAX && !(text.len > 0 && memchr(text.ptr, '#', text.len)) &&
         (text.len == 0 || text.ptr[0] == '/' || text.ptr[0] == '?');
}

bool rg_address_listen(struct span text, bool with_path, struct span *rethost, uint16_t *retport,
                       struct span *retpath)
{
  struct span host;
  if (!is_visible(text) || !take_host(&text, ":/", &host)) return false;
  bool known =
      span_is(host, "localhost") || is_numeric(AF_INET, host) || is_numeric(AF_INET6, host);
  if (!known || !take(&text, SPAN(":")) || !port_of(cut(&text, "/"), retport)) return false;
  if (with_path != (text.len > 0)) return false;
  for (size_t i = 0; i < text.len; i++)
    if (strchr("?#", text.ptr[i])) return false;
  *rethost = host;
  *retpath = text;
  return true;
}

bool rg_address_is_loopback(struct span host)
{
  return span_is(host, "localhost") || span_is(host, "::1") ||
         (is_numeric(AF_INET, host) && span_starts(host, SPAN("127.")));
}

bool rg_address_is_any(struct span host)
{
  return span_is(host, "0.0.0.0") || span_is(host, "::");
}

bool rg_address_is_host(struct span text)
{
  return is_name(text) || is_numeric(AF_INET6, text);
}

bool rg_address_is_store(struct span text)
{
  struct span host;
  uint16_t port;
  if (take(&text, SPAN("sqlite:"))) return text.len > 0 && !span_starts(text, SPAN("//"));
  if (!is_visible(text) || !take(&text, SPAN("redis://"))) return false;
  struct span rest = text, user = cut(&rest, "@/");
  if (rest.len > 0 && rest.ptr[0] == '@') {
    text = rest;
    take(&text, SPAN("@"));
    if (user.len == 0) return false;
  }
  if (!take_host(&text, ":/", &host)) return false;
  if (take(&text, SPAN(":")) && !port_of(cut(&text, "/"), &port)) return false;
  if (text.len == 0 || span_is(text, "/")) return true;
  take(&text, SPAN("/"));
  if (text.len > 5) return false;
  for (size_t i = 0; i < text.len; i++)
    if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
  return true;
}

struct span rg_address_shown(struct span text, struct arena *arena)
{
  struct span shown = cut(&text, "?");
  size_t scheme = span_find(shown, SPAN("://"));
  const char *at = shown.len > 0 ? memrchr(shown.ptr, '@', shown.len) : NULL;
  if (!at || scheme == shown.len) return arena_copy(arena, shown);
  size_t behind = (size_t)(at - shown.ptr);
  if (behind < scheme) return arena_copy(arena, shown);
  return arena_printf(arena, "%.*s***%.*s", (int)(scheme + 3), shown.ptr, (int)(shown.len - behind),
                      at);
}

struct span rg_path_join(struct span folder, struct span path, struct arena *arena)
{
  struct span whole = path;
  if (path.len > 0 && path.ptr[0] != '/' && folder.len > 0)
    whole = arena_printf(arena, "%.*s/%.*s", (int)folder.len, folder.ptr, (int)path.len, path.ptr);
  if (!whole.ptr || whole.len == 0) return whole;
  bool absolute = whole.ptr[0] == '/';
  char *out = arena_alloc(arena, whole.len + 1);
  if (!out) return (struct span) { NULL, 0 };
  size_t n = 0;
  while (whole.len > 0) {
    struct span part = cut(&whole, "/");
    take(&whole, SPAN("/"));
    if (part.len == 0 || span_is(part, ".")) continue;
    if (absolute && span_is(part, "..")) {
      while (n > 0 && out[n - 1] != '/') n--;
      if (n > 0) n--;
      continue;
    }
    if (absolute || n > 0) out[n++] = '/';
    memcpy(out + n, part.ptr, part.len);
    n += part.len;
  }
  if (n == 0) out[n++] = absolute ? '/' : '.';
  return (struct span) { out, n };
}
