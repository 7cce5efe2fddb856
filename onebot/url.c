#include "onebot/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static enum schema_code wrong(struct schema_error *reterr, const char *what)
{
  return schema_fail(reterr, SCHEMA_EARGUMENT, 0, NULL, what);
}

/* Bytes that may not stand in a request line. */
static bool is_printable(const char *text)
{
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if (*c <= ' ' || *c >= 0x7F) return false;
  return true;
}

static bool parse_port(const char *digits, size_t len, unsigned *ret)
{
  unsigned port = 0;
  if (len == 0 || len > 5) return false;
  for (size_t i = 0; i < len; i++) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    port = port * 10 + (unsigned)(digits[i] - '0');
  }
  *ret = port;
  return port > 0 && port <= 65535;
}

enum schema_code ob_url_parse(const char *text, struct ob_url *ret, struct schema_error *reterr)
{
  struct ob_url url = { 0 };
  if (!text || !is_printable(text)) return wrong(reterr, "an address has no spaces or umlauts");
  url.tls = strncasecmp(text, "wss://", 6) == 0;
  if (!url.tls && strncasecmp(text, "ws://", 5) != 0)
    return wrong(reterr, "an address begins with ws:// or wss://");
  const char *host = strstr(text, "://") + 3, *end = host + strcspn(host, "/?#");
  if (memchr(host, '@', (size_t)(end - host)))
    return wrong(reterr, "no user name in an address; the token is access_token");
  if (strchr(end, '#')) return wrong(reterr, "an address has no #");

  bool bracket = *host == '[';
  const char *host_end = bracket ? memchr(host, ']', (size_t)(end - host)) : NULL;
  if (bracket && !host_end) return wrong(reterr, "a ] is missing");
  if (bracket)
    host++;
  else
    host_end = host + strcspn(host, ":/?");
  const char *colon = bracket ? host_end + 1 : host_end;
  url.port = url.tls ? 443 : 80;
  if (colon < end &&
      (*colon != ':' || !parse_port(colon + 1, (size_t)(end - colon - 1), &url.port)))
    return wrong(reterr, "the port is a number from 1 to 65535");
  size_t host_len = (size_t)(host_end - host), path_len = strlen(end);
  if (host_len == 0) return wrong(reterr, "the host is missing");
  if (host_len > OB_HOST_MAX) return wrong(reterr, "the host is longer than 100 bytes");
  if (path_len + 1 > OB_PATH_MAX) return wrong(reterr, "the path is longer than 1024 bytes");

  memcpy(url.host, host, host_len);
  snprintf(url.host_header, sizeof url.host_header, "%s%s%s:%u", bracket ? "[" : "", url.host,
           bracket ? "]" : "", url.port);
  snprintf(url.path, sizeof url.path, "%s%s", *end == '/' ? "" : "/", end);
  url.path_len = strcspn(url.path, "?");
  *ret = url;
  return SCHEMA_OK;
}

bool ob_url_has_query(const struct ob_url *url, const char *name)
{
  size_t n = strlen(name);
  for (const char *q = strchr(url->path, '?'); q; q = strchr(q, '&')) {
    q++;
    if (strncmp(q, name, n) == 0 && q[n] == '=' && q[n + 1] && q[n + 1] != '&') return true;
  }
  return false;
}
