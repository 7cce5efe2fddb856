#include "onebot/mediaref.h"

#include "schema/print.h"

static bool starts_nocase(struct span s, struct span prefix)
{
  return s.len >= prefix.len && span_eq_nocase((struct span) { s.ptr, prefix.len }, prefix);
}

static struct span behind(struct span s, size_t n)
{
  return (struct span) { s.ptr + n, s.len - n };
}

static int hex(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Whether s has %XX at i. */
static bool is_encoded(struct span s, size_t i)
{
  return s.ptr[i] == '%' && s.len - i > 2 && hex(s.ptr[i + 1]) >= 0 && hex(s.ptr[i + 2]) >= 0;
}

static size_t add_encoded(char *out, unsigned char c)
{
  static const char digits[] = "0123456789ABCDEF";
  out[0] = '%';
  out[1] = digits[c >> 4];
  out[2] = digits[c & 15];
  return 3;
}

/* Every %XX becomes its byte; a lone % stays. */
static struct span percent_decode(struct span s, struct arena *arena)
{
  if (s.len == 0 || !memchr(s.ptr, '%', s.len)) return s;
  char *out = arena_alloc(arena, s.len);
  if (!out) return (struct span) { 0 };
  size_t n = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (is_encoded(s, i)) {
      out[n++] = (char)(hex(s.ptr[i + 1]) << 4 | hex(s.ptr[i + 2]));
      i += 2;
    } else {
      out[n++] = s.ptr[i];
    }
  }
  return (struct span) { out, n };
}

/* ---- addresses ---- */

/* user, host and port of an http(s) address; empty where it is none. */
static struct span url_authority(struct span url)
{
  struct span rest = { 0 };
  if (starts_nocase(url, SPAN("http://")))
    rest = behind(url, 7);
  else if (starts_nocase(url, SPAN("https://")))
    rest = behind(url, 8);
  size_t n = 0;
  while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?' && rest.ptr[n] != '#') n++;
  rest.len = n;
  return rest;
}

static bool is_host(struct span authority)
{
  if (authority.len == 0 || authority.ptr[0] == ':') return false;
  for (size_t i = 0; i < authority.len; i++) {
    unsigned char c = (unsigned char)authority.ptr[i];
    if (c <= ' ' || c == 0x7F || c == '\\') return false;
  }
  return true;
}

bool ob_url_is_web(struct span url)
{
  return is_host(url_authority(url));
}

/* Spaces, controls and what is not ASCII are encoded; the rest, %XX too, stays as it is. */
static bool read_url(struct span url, struct arena *arena, struct ob_mediaref *ret)
{
  struct span authority = url_authority(url);
  if (!is_host(authority) || memchr(authority.ptr, '@', authority.len)) return false;
  size_t odd = 0;
  for (size_t i = 0; i < url.len; i++)
    odd += (unsigned char)url.ptr[i] <= ' ' || (unsigned char)url.ptr[i] >= 0x7F;
  ret->value = url;
  if (odd == 0) return true;
  if (odd > (SIZE_MAX - url.len) / 2) return false;
  char *out = arena_alloc(arena, url.len + 2 * odd);
  if (!out) return false;
  size_t n = 0;
  for (size_t i = 0; i < url.len; i++) {
    unsigned char c = (unsigned char)url.ptr[i];
    if (c <= ' ' || c >= 0x7F)
      n += add_encoded(out + n, c);
    else
      out[n++] = (char)c;
  }
  ret->value = (struct span) { out, n };
  return true;
}

/* ---- paths ---- */

/* A backslash parts as well: some peers run on Windows. */
bool ob_mediaref_climbs(struct span path)
{
  if (path.len == 0) return false;
  size_t begin = 0;
  for (size_t i = 0; i <= path.len; i++) {
    if (i < path.len && path.ptr[i] != '/' && path.ptr[i] != '\\') continue;
    if (span_is((struct span) { path.ptr + begin, i - begin }, "..")) return true;
    begin = i + 1;
  }
  return false;
}

/* The decoded absolute path behind a value; empty where it is none. */
static struct span plain_path(struct span value, struct arena *arena)
{
  struct span path = value;
  if (starts_nocase(value, SPAN("file://"))) path = percent_decode(behind(value, 7), arena);
  bool host = path.len > 1 && (path.ptr[1] == '/' || path.ptr[1] == '\\'); /* //host/share */
  bool usable = path.len > 0 && path.ptr[0] == '/' && !host && !memchr(path.ptr, '\0', path.len);
  return usable && !ob_mediaref_climbs(path) ? path : (struct span) { 0 };
}

static bool is_unreserved(unsigned char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

static bool read_path(struct span value, struct arena *arena, struct ob_mediaref *ret)
{
  if (plain_path(value, arena).len == 0) return false;
  bool is_url = starts_nocase(value, SPAN("file://"));
  struct span path = is_url ? behind(value, 7) : value;
  char *out = path.len <= SIZE_MAX / 3 ? arena_alloc(arena, path.len * 3) : NULL;
  if (!out) return false;
  size_t n = 0;
  for (size_t i = 0; i < path.len; i++) {
    unsigned char c = (unsigned char)path.ptr[i];
    if (is_unreserved(c) || c == '/' || (is_url && is_encoded(path, i)))
      out[n++] = (char)c;
    else
      n += add_encoded(out + n, c);
  }
  *ret = (struct ob_mediaref) { SPAN("file://"), { out, n }, true };
  return true;
}

struct span ob_mediaref_path(struct span value, struct arena *arena)
{
  struct span path = plain_path(value, arena);
  return span_utf8_fault(path) == path.len ? path : (struct span) { 0 };
}

/* ---- base64 ---- */

enum { B64_NONE = 0, B64_DATUM = 1, B64_PAD = 2, B64_SPACE = 4 };

#define DATA4(a, b, c, d) [a] = B64_DATUM, [b] = B64_DATUM, [c] = B64_DATUM, [d] = B64_DATUM
static const unsigned char base64_classes[256] = {
  DATA4('A', 'B', 'C', 'D'), DATA4('E', 'F', 'G', 'H'), DATA4('I', 'J', 'K', 'L'),
  DATA4('M', 'N', 'O', 'P'), DATA4('Q', 'R', 'S', 'T'), DATA4('U', 'V', 'W', 'X'),
  DATA4('Y', 'Z', 'a', 'b'), DATA4('c', 'd', 'e', 'f'), DATA4('g', 'h', 'i', 'j'),
  DATA4('k', 'l', 'm', 'n'), DATA4('o', 'p', 'q', 'r'), DATA4('s', 't', 'u', 'v'),
  DATA4('w', 'x', 'y', 'z'), DATA4('0', '1', '2', '3'), DATA4('4', '5', '6', '7'),
  DATA4('8', '9', '+', '/'), ['='] = B64_PAD,           [' '] = B64_SPACE,
  ['\t'] = B64_SPACE,        ['\n'] = B64_SPACE,        ['\r'] = B64_SPACE,
};

/* Bytes of s from i on that are digits of the alphabet. Eight at a time: a video has millions. */
static size_t data_run(struct span s, size_t i)
{
  const unsigned char *classes = base64_classes;
  const unsigned char *p = (const unsigned char *)s.ptr;
  size_t begin = i;
  while (s.len - i >= 8 && (classes[p[i]] & classes[p[i + 1]] & classes[p[i + 2]] &
                            classes[p[i + 3]] & classes[p[i + 4]] & classes[p[i + 5]] &
                            classes[p[i + 6]] & classes[p[i + 7]]) == B64_DATUM)
    i += 8;
  while (i < s.len && classes[p[i]] == B64_DATUM) i++;
  return i - begin;
}

/* Digits and padding in s, and whether they stand as they must. */
static bool base64_shape(struct span s, size_t *retdata, size_t *retpads, bool *retspaces)
{
  size_t data = 0, pads = 0;
  *retspaces = false;
  for (size_t i = 0; i < s.len;) {
    size_t run = data_run(s, i);
    if (run && pads) return false;
    data += run;
    i += run;
    if (i == s.len) break;
    unsigned char class = base64_classes[(unsigned char)s.ptr[i++]];
    if (class == B64_NONE) return false;
    if (class == B64_PAD)
      pads++;
    else
      *retspaces = true;
  }
  *retdata = data;
  *retpads = pads;
  return data > 0 && data % 4 != 1 && (pads == 0 || (pads <= 2 && (data + pads) % 4 == 0));
}

/* The bytes themselves, without the prefix or the head of a data URI that may stand before them. */
static struct span base64_body(struct span value)
{
  if (starts_nocase(value, SPAN("base64://"))) return behind(value, 9);
  if (!starts_nocase(value, SPAN("data:"))) return value;
  const char *comma = memchr(value.ptr, ',', value.len);
  if (!comma) return value;
  struct span head = { value.ptr, (size_t)(comma - value.ptr) };
  return span_ends(head, SPAN(";base64")) ? behind(value, head.len + 1) : value;
}

static bool read_base64(struct span value, struct arena *arena, struct ob_mediaref *ret)
{
  struct span body = span_trim(base64_body(value));
  size_t data, pads;
  bool spaces;
  if (!base64_shape(body, &data, &pads, &spaces)) return false;
  *ret = (struct ob_mediaref) { SPAN("base64://"), body, true };
  size_t missing = pads ? 0 : (4 - data % 4) % 4;
  if (missing == 0 && !spaces) return true;
  char *out = arena_alloc(arena, data + 3);
  if (!out) return false;
  size_t n = 0;
  for (size_t i = 0; i < body.len; i++)
    if (base64_classes[(unsigned char)body.ptr[i]] == B64_DATUM) out[n++] = body.ptr[i];
  while (n % 4) out[n++] = '=';
  ret->value = (struct span) { out, n };
  return true;
}

/* ---- opaque references ---- */

/* C:\dir or C:/dir */
static bool has_drive(struct span s)
{
  return s.len > 2 && s.ptr[1] == ':' && (s.ptr[2] == '\\' || s.ptr[2] == '/');
}

bool ob_mediaref_is_drive(struct span wire)
{
  return has_drive(wire) && !ob_mediaref_climbs(wire) && !memchr(wire.ptr, '\0', wire.len) &&
         span_find(wire, SPAN("://")) == wire.len;
}

/* A path or an address in the clothes of an opaque reference would be opened by the peer. */
static bool is_opaque(struct span s)
{
  if (s.len == 0 || s.ptr[0] == '/' || s.ptr[0] == '\\' || ob_mediaref_climbs(s)) return false;
  if (memchr(s.ptr, '\0', s.len) || span_is_blank(s)) return false;
  if (span_find(s, SPAN("://")) < s.len) return false;
  return !has_drive(s) && !starts_nocase(s, SPAN("data:")) && !starts_nocase(s, SPAN("file:")) &&
         !starts_nocase(s, SPAN("base64:"));
}

/* ---- all kinds ---- */

bool ob_mediaref_read(const struct ob_profile *profile, enum schema_media_kind kind,
                      struct span value, bool video, struct arena *arena, struct ob_mediaref *ret)
{
  *ret = (struct ob_mediaref) { .value = value };
  switch (kind) {
  case SCHEMA_MEDIA_URL: return read_url(value, arena, ret);
  case SCHEMA_MEDIA_PATH: return read_path(value, arena, ret);
  case SCHEMA_MEDIA_BASE64:
    return (!video || profile->base64_video) && read_base64(value, arena, ret);
  case SCHEMA_MEDIA_FILE: return profile->opaque_media && is_opaque(value);
  case SCHEMA_MEDIA_KIND_COUNT: break;
  }
  return false;
}

enum schema_media_kind ob_mediaref_kind(struct span wire, struct span *retvalue)
{
  *retvalue = wire;
  if (starts_nocase(wire, SPAN("http://")) || starts_nocase(wire, SPAN("https://")))
    return SCHEMA_MEDIA_URL;
  if (starts_nocase(wire, SPAN("base64://")) || starts_nocase(wire, SPAN("data:")))
    return SCHEMA_MEDIA_BASE64;
  if (starts_nocase(wire, SPAN("file://")) || span_starts(wire, SPAN("/")))
    return SCHEMA_MEDIA_PATH;
  return SCHEMA_MEDIA_FILE;
}

bool ob_mediaref_is(const struct ob_mediaref *ref, struct span given)
{
  return given.len == ref->prefix.len + ref->value.len && span_starts(given, ref->prefix) &&
         span_ends(given, ref->value);
}

void ob_mediaref_print(const struct ob_mediaref *ref, struct buf *out)
{
  if (!ref->safe) { /* then it has no prefix */
    struct schema_writer w = { .out = out };
    schema_write_string(&w, ref->value);
    return;
  }
  buf_add_char(out, '"');
  buf_add(out, ref->prefix);
  buf_add(out, ref->value);
  buf_add_char(out, '"');
}

bool ob_mediaref_is_name(struct span name)
{
  for (size_t i = 0; i < name.len; i++) {
    unsigned char c = (unsigned char)name.ptr[i];
    if (c < ' ' || c == 0x7F || c == '/' || c == '\\') return false;
  }
  return name.len > 0 && span_utf8_fault(name) == name.len && !span_is(name, ".") &&
         !span_is(name, "..");
}

static struct span last_part(struct span path)
{
  const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
  return slash ? behind(path, (size_t)(slash - path.ptr) + 1) : path;
}

struct span ob_mediaref_name(enum schema_media_kind kind, struct span value, struct arena *arena)
{
  struct span name = { 0 };
  if (kind == SCHEMA_MEDIA_PATH) {
    name = last_part(plain_path(value, arena));
  } else if (kind == SCHEMA_MEDIA_URL) {
    struct span authority = url_authority(value);
    if (authority.len == 0) return name;
    struct span path = behind(value, (size_t)(authority.ptr + authority.len - value.ptr));
    size_t n = 0;
    while (n < path.len && path.ptr[n] != '?' && path.ptr[n] != '#') n++;
    name = percent_decode(last_part((struct span) { path.ptr, n }), arena);
  }
  return ob_mediaref_is_name(name) ? name : (struct span) { 0 };
}

/* Whether path is root or lies in it. */
static bool lies_in(struct span path, struct span root)
{
  while (root.len > 1 && root.ptr[root.len - 1] == '/') root.len--;
  if (root.len == 0 || !span_starts(path, root)) return false;
  return path.len == root.len || root.len == 1 || path.ptr[root.len] == '/';
}

struct span ob_mediaref_resolve(struct span value, const struct span *roots, size_t root_count,
                                struct span home, struct arena *arena)
{
  if (span_starts(value, SPAN("/")) || starts_nocase(value, SPAN("file://"))) return value;
  struct span folder = root_count ? roots[0] : (struct span) { 0 };
  if (span_starts(value, SPAN("~"))) {
    bool allowed = false;
    for (size_t i = 0; i < root_count; i++) allowed = allowed || lies_in(home, roots[i]);
    if (!allowed || !span_starts(value, SPAN("~/"))) return (struct span) { 0 };
    folder = home;
    value = behind(value, 2);
  }
  while (span_starts(value, SPAN("./"))) value = behind(value, 2);
  if (folder.len == 0 || value.len == 0 || value.len > INT32_MAX || folder.len > INT32_MAX)
    return (struct span) { 0 };
  const char *between = span_ends(folder, SPAN("/")) ? "" : "/";
  char *out = arena_alloc(arena, folder.len + value.len + 1);
  if (!out) return (struct span) { 0 };
  memcpy(out, folder.ptr, folder.len);
  size_t n = folder.len;
  if (*between) out[n++] = '/';
  memcpy(out + n, value.ptr, value.len);
  return (struct span) { out, n + value.len };
}
