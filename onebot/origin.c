/* origin: see origin.h. */
#include "onebot/origin.h"

#include <arpa/inet.h>
#include <string.h>

/* "name:port" without its port, "[::1]:port" as "::1". */
static struct span host_name(struct span host)
{
  if (host.len && host.ptr[0] == '[') {
    size_t end = span_find(host, SPAN("]"));
    return (struct span) { host.ptr + 1, end - 1 };
  }
  return (struct span) { host.ptr, span_find(host, SPAN(":")) };
}

static bool is_numeric(struct span name)
{
  char z[INET6_ADDRSTRLEN];
  struct in6_addr any;
  if (name.len >= sizeof z) return false;
  memcpy(z, name.ptr, name.len);
  z[name.len] = 0;
  return inet_pton(AF_INET, z, &any) == 1 || inet_pton(AF_INET6, z, &any) == 1;
}

/* A page on a foreign name that resolves to us (DNS rebinding) has that name in Host. Bound to all
 * addresses we cannot know our names: any numeric one will do, and any at all for an upgrade
 * without an Origin, which no browser sends (a container's name, say). */
static bool host_allowed(const char *bound, bool wildcard, const struct ob_request *r, bool upgrade)
{
  struct span name = host_name(r->host);
  if (name.len == 0) return false;
  if (span_eq_nocase(name, SPAN("localhost")) || span_is(name, "127.0.0.1") || span_is(name, "::1"))
    return true;
  if (span_eq_nocase(name, span_of(bound))) return true;
  return wildcard && (is_numeric(name) || (upgrade && r->origin.len == 0));
}

/* Our own page has an Origin that is http:// (or https:// behind a proxy) and the Host. */
static bool origin_allowed(const struct ob_request *r)
{
  static const char *const schemes[] = { "http://", "https://" };
  if (r->origin.len == 0) return true;
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    size_t n = strlen(schemes[i]);
    if (!span_starts(r->origin, span_of(schemes[i]))) continue;
    if (span_eq_nocase((struct span) { r->origin.ptr + n, r->origin.len - n }, r->host))
      return true;
  }
  return false;
}

const char *ob_origin_refusal(const char *bound, bool wildcard, const struct ob_request *r,
                              bool upgrade)
{
  if (!host_allowed(bound, wildcard, r, upgrade))
    return "not served under this Host; use the address or localhost";
  if (!origin_allowed(r)) return "not for pages of another Origin";
  return NULL;
}
