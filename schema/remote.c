#include "schema/remote.h"

#include "schema/address.h"
#include "schema/white.h"

enum {
  HOST_MAX = 1024, /* a DNS name has 253 bytes; escapes triple it */
  LABEL_MAX = 63,  /* of DNS; bounds the work of decoding punycode */
  PORT_MAX = 0xFFFF,
};

bool schema_remote_is_web(struct span reference)
{
  struct span http = SPAN("http://"), https = SPAN("https://");
  struct span head = reference;
  head.len = head.len < https.len ? head.len : https.len;
  if (span_eq_nocase(head, https)) return true;
  head.len = head.len < http.len ? head.len : http.len;
  return span_eq_nocase(head, http);
}

/* ---- characters of a host ---- */

/* Characters that stand for ASCII ones, are invisible, or shape text (Unicode 14: NFKC and case
 * folding give ASCII, or category Cf, Zs): what folded() does not know of them is refused, so that
 * no spelling of a forbidden name gets through. */
static const struct {
  uint32_t first, last;
} disguises[] = {
  { 0x0080, 0x00A0 },   { 0x00A8, 0x00A8 },   { 0x00AA, 0x00AA },   { 0x00AD, 0x00AD },
  { 0x00AF, 0x00AF },   { 0x00B2, 0x00B4 },   { 0x00B8, 0x00BA },   { 0x00BC, 0x00BE },
  { 0x0130, 0x0130 },   { 0x0132, 0x0133 },   { 0x013F, 0x0140 },   { 0x0149, 0x0149 },
  { 0x017F, 0x017F },   { 0x01C4, 0x01CC },   { 0x01F1, 0x01F3 },   { 0x02B0, 0x02B8 },
  { 0x02D8, 0x02E3 },   { 0x037A, 0x0385 },   { 0x0600, 0x0605 },   { 0x061C, 0x061C },
  { 0x06DD, 0x06DD },   { 0x070F, 0x070F },   { 0x0890, 0x0891 },   { 0x08E2, 0x08E2 },
  { 0x1680, 0x1680 },   { 0x180E, 0x180E },   { 0x1D2C, 0x1D65 },   { 0x1D9C, 0x1DA0 },
  { 0x1DBB, 0x1DBB },   { 0x1E9A, 0x1E9E },   { 0x1FBD, 0x20A8 },   { 0x2100, 0x2189 },
  { 0x2460, 0x24EA },   { 0x2A74, 0x2A76 },   { 0x2C7C, 0x2C7D },   { 0x3000, 0x3000 },
  { 0x309B, 0x309C },   { 0x3200, 0x325F },   { 0x32B1, 0x32CF },   { 0x3358, 0x33FF },
  { 0xA7F2, 0xA7F4 },   { 0xFB00, 0xFB29 },   { 0xFC5E, 0xFC63 },   { 0xFDFA, 0xFE7E },
  { 0xFEFF, 0xFF5E },   { 0xFFE3, 0xFFFD },   { 0x107A5, 0x107A5 }, { 0x110BD, 0x110CD },
  { 0x13430, 0x13438 }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, { 0x1D400, 0x1D6A3 },
  { 0x1D7CE, 0x1D7FF }, { 0x1F100, 0x1F190 }, { 0x1FBF0, 0x1FBF9 }, { 0xE0001, 0xE007F },
};

static bool is_disguise(uint32_t c)
{
  for (size_t i = 0; i < sizeof disguises / sizeof *disguises; i++)
    if (c >= disguises[i].first && c <= disguises[i].last) return true;
  return false;
}

/* Runs of characters that stand for digits and letters in their order. */
static const struct {
  uint32_t first, last;
  char to;      /* what the first stands for */
  uint8_t turn; /* after so many it begins again */
} foldings[] = {
  { 'A', 'Z', 'a', 26 },         { 0xFF21, 0xFF3A, 'a', 26 },   { 0xFF01, 0xFF5E, '!', 94 },
  { 0x2070, 0x2070, '0', 1 },    { 0x00B9, 0x00B9, '1', 1 },    { 0x00B2, 0x00B3, '2', 2 },
  { 0x2074, 0x2079, '4', 6 },    { 0x2080, 0x2089, '0', 10 },   { 0x2460, 0x2468, '1', 9 },
  { 0x24EA, 0x24EA, '0', 1 },    { 0x24B6, 0x24CF, 'a', 26 },   { 0x24D0, 0x24E9, 'a', 26 },
  { 0x1D400, 0x1D6A3, 'a', 26 }, { 0x1D7CE, 0x1D7FF, '0', 10 }, { 0x1FBF0, 0x1FBF9, '0', 10 },
  { 0x3002, 0x3002, '.', 1 },    { 0xFF61, 0xFF61, '.', 1 },
};

static uint32_t folded(uint32_t c)
{
  for (size_t i = 0; i < sizeof foldings / sizeof *foldings; i++)
    if (c >= foldings[i].first && c <= foldings[i].last)
      return (uint32_t)foldings[i].to + (c - foldings[i].first) % foldings[i].turn;
  return c;
}

/* Forbidden in a host by the URL standard. */
static bool is_forbidden(uint32_t c)
{
  return c <= ' ' || c == 0x7F || (c < 0x80 && strchr("#/:<>?@[\\]^|%", (int)c));
}

static int hex_of(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes percent-escapes; one that is none stays. */
static struct span unescape(struct span raw, char out[HOST_MAX])
{
  size_t n = 0;
  for (size_t i = 0; i < raw.len; i++) {
    char c = raw.ptr[i];
    if (c == '%' && i + 2 < raw.len && hex_of(raw.ptr[i + 1]) >= 0 && hex_of(raw.ptr[i + 2]) >= 0) {
      c = (char)(hex_of(raw.ptr[i + 1]) << 4 | hex_of(raw.ptr[i + 2]));
      i += 2;
    }
    out[n++] = c;
  }
  return (struct span) { out, n };
}

/* ---- IPv4 ---- */

/* A number in decimal, octal or hexadecimal spelling. */
static bool number_of(struct span part, uint64_t *ret)
{
  unsigned base = 10;
  size_t i = 0;
  if (part.len >= 2 && part.ptr[0] == '0' && part.ptr[1] == 'x') {
    base = 16;
    i = 2;
  } else if (part.len >= 2 && part.ptr[0] == '0') {
    base = 8;
    i = 1;
  }
  uint64_t value = 0;
  if (part.len == 0) return false;
  for (; i < part.len; i++) {
    int digit = hex_of(part.ptr[i]);
    if (digit < 0 || (unsigned)digit >= base) return false;
    value = value * base + (unsigned)digit;
    if (value > UINT32_MAX) value = (uint64_t)UINT32_MAX + 1;
  }
  *ret = value;
  return true;
}

/* One dot at the end of a name says nothing. */
static struct span without_dot(struct span host)
{
  host.len -= host.len > 1 && host.ptr[host.len - 1] == '.';
  return host;
}

static struct span last_label(struct span host)
{
  size_t begin = host.len;
  while (begin > 0 && host.ptr[begin - 1] != '.') begin--;
  return (struct span) { host.ptr + begin, host.len - begin };
}

/* A host whose last label is a number must be an IPv4 address. */
static bool ends_in_number(struct span host)
{
  struct span last = last_label(host);
  size_t digits = 0;
  while (digits < last.len && last.ptr[digits] >= '0' && last.ptr[digits] <= '9') digits++;
  uint64_t value;
  return last.len > 0 && (digits == last.len || number_of(last, &value));
}

static bool ipv4_of(struct span host, uint8_t ret[4])
{
  uint64_t parts[4];
  size_t count = 0;
  while (true) {
    const char *dot = memchr(host.ptr, '.', host.len);
    struct span part = { host.ptr, dot ? (size_t)(dot - host.ptr) : host.len };
    if (count == 4 || !number_of(part, &parts[count++])) return false;
    if (!dot) break;
    host = (struct span) { dot + 1, host.len - part.len - 1 };
  }
  uint64_t ip = 0;
  for (size_t i = 0; i + 1 < count; i++) {
    if (parts[i] > 255) return false;
    ip |= parts[i] << (24 - 8 * i);
  }
  if (parts[count - 1] >= (uint64_t)1 << (8 * (5 - count))) return false;
  ip |= parts[count - 1];
  for (size_t i = 0; i < 4; i++) ret[i] = (uint8_t)(ip >> (24 - 8 * i));
  return true;
}

/* ---- IPv6 ---- */

/* Four decimal numbers without leading zeros, as they may end an IPv6 address. */
static bool dotted_of(struct span text, uint8_t ret[4])
{
  size_t i = 0;
  for (size_t n = 0; n < 4; n++) {
    if (n && (i == text.len || text.ptr[i++] != '.')) return false;
    unsigned value = 0;
    size_t begin = i;
    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && i - begin < 3)
      value = value * 10 + (unsigned)(text.ptr[i++] - '0');
    if (i == begin || value > 255 || (i - begin > 1 && text.ptr[begin] == '0')) return false;
    ret[n] = (uint8_t)value;
  }
  return i == text.len;
}

/* The text between the brackets. */
static bool ipv6_of(struct span text, uint8_t ret[16])
{
  enum { NO_GAP = 9 };
  uint8_t bytes[16] = { 0 };
  size_t pieces = 0, gap = NO_GAP, i = 0;
  if (text.len >= 2 && text.ptr[0] == ':' && text.ptr[1] == ':') {
    gap = 0;
    i = 2;
  }
  while (i < text.len) {
    if (pieces == 8) return false;
    if (text.ptr[i] == ':') {
      if (gap != NO_GAP || pieces == 0) return false;
      gap = pieces;
      i++;
      continue;
    }
    unsigned value = 0;
    size_t begin = i;
    for (; i < text.len && i - begin < 4 && hex_of(text.ptr[i]) >= 0; i++)
      value = value << 4 | (unsigned)hex_of(text.ptr[i]);
    if (i < text.len && text.ptr[i] == '.') {
      if (pieces > 6) return false;
      struct span rest = { text.ptr + begin, text.len - begin };
      if (!dotted_of(rest, bytes + 2 * pieces)) return false;
      pieces += 2;
      break;
    }
    if (i == begin) return false;
    bytes[2 * pieces] = (uint8_t)(value >> 8);
    bytes[2 * pieces + 1] = (uint8_t)value;
    pieces++;
    if (i == text.len) break;
    if (text.ptr[i++] != ':' || i == text.len) return false;
  }
  if (gap == NO_GAP ? pieces != 8 : pieces == 8) return false;
  memset(ret, 0, 16);
  size_t head = gap == NO_GAP ? 16 : 2 * gap, tail = 2 * pieces - (gap == NO_GAP ? 16 : head);
  memcpy(ret, bytes, head);
  memcpy(ret + 16 - tail, bytes + head, tail);
  return true;
}

/* ---- names ---- */

/* RFC 3492's bias. */
static uint32_t adapted(uint32_t delta, uint32_t count, bool first)
{
  delta = first ? delta / 700 : delta / 2;
  delta += delta / count;
  uint32_t k = 0;
  for (; delta > 455; k += 36) delta /= 35;
  return k + 36 * delta / (delta + 38);
}

/* Whether the part of a label behind xn-- is punycode of something that needs it. */
static bool is_punycode(struct span code)
{
  uint32_t points[LABEL_MAX];
  size_t count = 0, i = code.len;
  while (i > 0 && code.ptr[i - 1] != '-') i--;
  for (; count + 1 < i; count++) points[count] = (uint32_t)(unsigned char)code.ptr[count];
  uint32_t point = 0x80, at = 0, bias = 72;
  bool any = false;
  while (i < code.len) {
    uint32_t before = at, weight = 1;
    for (uint32_t k = 36;; k += 36) {
      if (i == code.len) return false;
      char c = code.ptr[i++];
      uint32_t digit = c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') : (uint32_t)(c - '0') + 26;
      if (digit > 35 || digit > (UINT32_MAX - at) / weight) return false;
      at += digit * weight;
      uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < threshold) break;
      if (weight > UINT32_MAX / (36 - threshold)) return false;
      weight *= 36 - threshold;
    }
    uint32_t now = (uint32_t)count + 1;
    bias = adapted(at - before, now, !any);
    if (at / now > UINT32_MAX - point || count == LABEL_MAX) return false;
    point += at / now;
    at %= now;
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF) || is_disguise(point))
      return false;
    memmove(points + at + 1, points + at, (count - at) * sizeof *points);
    points[at++] = point;
    count++;
    any = true;
  }
  return any;
}

static bool is_label(struct span label)
{
  if (label.len == 0) return false;
  if (!span_starts(label, SPAN("xn--"))) return true;
  return label.len <= LABEL_MAX && is_punycode((struct span) { label.ptr + 4, label.len - 4 });
}

/* Endings of names that mean a machine of the own network. The seed's word is "internal"; the
 * package lists only the first three (rule 125, decided by the seed). */
static const char *const inner_endings[] = {
  ".localhost", ".local", ".internal", ".localdomain", ".lan", ".home",
  ".home.arpa", ".corp",  ".intranet", ".private",     ".svc",
};

static const char *name_fault(struct span host)
{
  size_t begin = 0;
  bool dotted = false;
  for (size_t i = 0; i <= host.len; i++) {
    if (i < host.len && host.ptr[i] != '.') continue;
    if (!is_label((struct span) { host.ptr + begin, i - begin }))
      return "the host is no valid name";
    dotted |= i < host.len;
    begin = i + 1;
  }
  if (!dotted) return "the host is a name of the own network";
  for (size_t i = 0; i < sizeof inner_endings / sizeof *inner_endings; i++)
    if (span_ends(host, span_of(inner_endings[i]))) return "the host is a name of the own network";
  return NULL;
}

/* ---- the address ---- */

static const char *host_fault(struct span raw)
{
  const char *const not_public = "the host is no public address";
  char plain[HOST_MAX], host[HOST_MAX];
  if (raw.len == 0) return "there is no host";
  if (raw.ptr[0] == '[') {
    uint8_t ip[16];
    if (raw.ptr[raw.len - 1] != ']' || raw.len > HOST_MAX) return "the host is no valid name";
    if (!ipv6_of((struct span) { raw.ptr + 1, raw.len - 2 }, ip))
      return "the host is no valid name";
    return schema_address_is_public6(ip) ? NULL : not_public;
  }
  if (raw.len > HOST_MAX) return "the host is too long";
  struct span decoded = unescape(raw, plain);
  size_t len = 0;
  for (size_t i = 0; i < decoded.len;) {
    uint32_t c;
    i += utf8_decode(decoded.ptr + i, decoded.len - i, &c);
    c = folded(c);
    if (is_forbidden(c) || is_disguise(c)) return "a character that no host may have";
    char bytes[4];
    size_t n = utf8_encode(c, bytes);
    if (len + n > HOST_MAX) return "the host is too long";
    memcpy(host + len, bytes, n);
    len += n;
  }
  struct span name = without_dot((struct span) { host, len });
  if (!ends_in_number(name)) return name_fault(name);
  uint8_t ip[4];
  if (!ipv4_of(name, ip)) return "the host is no valid address";
  return schema_address_is_public4(ip) ? NULL : not_public;
}

static const char *port_fault(struct span port)
{
  unsigned value = 0;
  for (size_t i = 0; i < port.len; i++) {
    if (port.ptr[i] < '0' || port.ptr[i] > '9') return "the port is no number";
    value = value * 10 + (unsigned)(port.ptr[i] - '0');
    if (value > PORT_MAX) return "there is no such port";
  }
  return NULL;
}

/* user@host:port */
static const char *authority_fault(struct span authority)
{
  if (memchr(authority.ptr, '@', authority.len)) return "a user name or password in an address";
  size_t colon = authority.len;
  for (size_t i = authority.len; i > 0 && authority.ptr[i - 1] != ']'; i--)
    if (authority.ptr[i - 1] == ':') colon = i - 1;
  struct span port = { authority.ptr + authority.len, 0 };
  if (colon < authority.len)
    port = (struct span) { authority.ptr + colon + 1, authority.len - colon - 1 };
  authority.len = colon;
  const char *fault = host_fault(authority);
  return fault ? fault : port_fault(port);
}

static bool has_control(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7F) return true;
  return false;
}

/* What is wrong with an address whose scheme takes the first scheme_len bytes. */
static const char *fault_behind(struct span url, size_t scheme_len, bool spaces)
{
  if (url.len > SCHEMA_REFERENCE_MAX && schema_utf16_length(url) > SCHEMA_REFERENCE_MAX)
    return "longer than 4096 characters";
  if (scheme_len == 0) return "only https addresses are taken";
  if (has_control(url)) return "a control character in the address";
  if (!spaces && schema_white_in(url, 0)) return "white space in the address";
  size_t begin = scheme_len;
  while (begin < url.len && (url.ptr[begin] == '/' || url.ptr[begin] == '\\')) begin++;
  size_t end = begin;
  while (end < url.len && !strchr("/\\?#", url.ptr[end])) end++;
  /* what WHATWG takes for the path here, others take for a user name */
  if (end < url.len && url.ptr[end] == '\\') {
    size_t stop = end;
    while (stop < url.len && !strchr("/?#", url.ptr[stop])) stop++;
    if (memchr(url.ptr + end, '@', stop - end)) return "a backslash before an @";
  }
  return authority_fault((struct span) { url.ptr + begin, end - begin });
}

static size_t scheme_length(struct span url, struct span scheme)
{
  struct span head = { url.ptr, url.len < scheme.len ? url.len : scheme.len };
  return span_eq_nocase(head, scheme) ? scheme.len : 0;
}

const char *schema_remote_fault(struct span url, bool spaces)
{
  return fault_behind(url, scheme_length(url, SPAN("https://")), spaces);
}

const char *schema_remote_web_fault(struct span url)
{
  size_t plain = scheme_length(url, SPAN("http://"));
  return plain ? fault_behind(url, plain, false) : schema_remote_fault(url, false);
}
