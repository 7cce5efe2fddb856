#include "plugin/config/config_address.h"

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

static int hex_of(char c)
{
  static const char digits[] = "0123456789abcdef";
  const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* What % stands for at the begin of s: 0 to 255, or -1. */
static int escaped(struct span s)
{
  int high = s.len > 2 ? hex_of(s.ptr[1]) : -1;
  int low = high >= 0 ? hex_of(s.ptr[2]) : -1;
  return low >= 0 ? high * 16 + low : -1;
}

size_t rg_address_decode(struct span part, char *out)
{
  size_t n = 0;
  for (size_t i = 0; i < part.len; i++) {
    struct span rest = { part.ptr + i, part.len - i };
    int c = part.ptr[i] == '%' ? escaped(rest) : -1;
    out[n++] = c >= 0 ? (char)c : part.ptr[i];
    if (c >= 0) i += 2;
  }
  return n;
}

/* Whether every % of s is followed by two digits. */
static bool is_escaped(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.ptr[i] == '%' && escaped((struct span) { s.ptr + i, s.len - i }) < 0) return false;
  return true;
}

/* "user:password"; the user may be empty. */
static bool take_login(struct span login, struct rg_redis_address *ret)
{
  ret->user = cut(&login, ":");
  if (!take(&login, SPAN(":")) || login.len == 0) return false;
  ret->password = login;
  return is_escaped(ret->user) && is_escaped(login);
}

bool rg_address_redis(struct span text, struct rg_redis_address *ret)
{
  enum { REDIS_PORT = 6379 };
  *ret = (struct rg_redis_address) { .port = REDIS_PORT };
  if (!is_visible(text) || !take(&text, SPAN("redis://"))) return false;
  struct span rest = text, login = cut(&rest, "@/");
  if (rest.len > 0 && rest.ptr[0] == '@') {
    text = rest;
    take(&text, SPAN("@"));
    if (!take_login(login, ret)) return false;
  }
  if (!take_host(&text, ":/", &ret->host)) return false;
  if (take(&text, SPAN(":")) && !port_of(cut(&text, "/"), &ret->port)) return false;
  if (text.len == 0 || span_is(text, "/")) return true;
  take(&text, SPAN("/"));
  if (text.len > 5) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    ret->database = ret->database * 10 + (unsigned)(text.ptr[i] - '0');
  }
  return true;
}

bool rg_address_is_store(struct span text)
{
  struct rg_redis_address address;
  if (take(&text, SPAN("sqlite:")))
    return span_trim(text).len > 0 && !span_starts(text, SPAN("//"));
  return rg_address_redis(text, &address);
}

struct span rg_address_shown(struct span text, struct arena *arena)
{
  if (span_starts(text, SPAN("sqlite:"))) return text; /* a file's name may hold anything */
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
