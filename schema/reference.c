#include "schema/reference.h"

#include "schema/white.h"

static bool is_letter(char c)
{
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
  return c == '/' || c == '\\';
}

static int hex_of(char c)
{
  if (is_digit(c)) return c - '0';
  return is_letter(c) && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static struct span from(struct span s, size_t at)
{
  return (struct span) { s.ptr + at, s.len - at };
}

static bool starts_nocase(struct span s, struct span prefix)
{
  return s.len >= prefix.len && span_eq_nocase((struct span) { s.ptr, prefix.len }, prefix);
}

/* ---- the parts of a text that say what it is ---- */

struct span schema_reference_bare(struct span reference)
{
  if (starts_nocase(reference, SPAN("file://"))) return from(reference, 7);
  if (starts_nocase(reference, SPAN("file:"))) return from(reference, 5);
  return reference;
}

bool schema_reference_has_scheme(struct span reference)
{
  for (size_t i = 0; i < reference.len; i++) {
    char c = reference.ptr[i];
    if (is_letter(c)) continue;
    if (i == 0) return false;
    if (c == ':') return true;
    if (!is_digit(c) && c != '+' && c != '.' && c != '-') return false;
  }
  return false;
}

static bool is_drive(struct span s)
{
  return s.len >= 3 && is_letter(s.ptr[0]) && s.ptr[1] == ':' && is_separator(s.ptr[2]);
}

static bool is_unc(struct span s)
{
  return span_starts(s, SPAN("\\\\"));
}

static bool has_separator(struct span s)
{
  return s.len && (memchr(s.ptr, '/', s.len) || memchr(s.ptr, '\\', s.len));
}

bool schema_reference_has_root(struct span s)
{
  if (s.len == 0) return false;
  if (s.ptr[0] == '/' || s.ptr[0] == '~' || is_drive(s) || is_unc(s)) return true;
  size_t dots = 0;
  while (dots < s.len && dots < 3 && s.ptr[dots] == '.') dots++;
  return (dots == 1 || dots == 2) && dots < s.len && is_separator(s.ptr[dots]);
}

bool schema_reference_has_extension(struct span s)
{
  enum { LONGEST = 10 };
  size_t n = 0;
  while (n < s.len && n <= LONGEST) {
    char c = s.ptr[s.len - 1 - n];
    if (c == '.') return n > 0;
    if (!is_letter(c) && !is_digit(c) && c != '_') return false;
    n++;
  }
  return false;
}

static bool has_dotdot(struct span s)
{
  for (size_t i = 0; i + 2 <= s.len; i++) {
    if (s.ptr[i] != '.' || s.ptr[i + 1] != '.') continue;
    bool begins = i == 0 || is_separator(s.ptr[i - 1]);
    bool ends = i + 2 == s.len || is_separator(s.ptr[i + 2]);
    if (begins && ends) return true;
  }
  return false;
}

static bool is_home(struct span s)
{
  return s.len >= 2 && s.ptr[0] == '~' && is_separator(s.ptr[1]);
}

bool schema_reference_climbs(struct span s)
{
  return (s.len && s.ptr[0] == '~' && !is_home(s)) || has_dotdot(s);
}

bool schema_reference_looks_local(struct span s)
{
  if (starts_nocase(s, SPAN("file:")) || schema_reference_has_root(s)) return true;
  return !schema_reference_has_scheme(s) && has_separator(s);
}

/* ---- file: URLs ---- */

/* The path of a file: URL, not decoded. False: it names another machine. */
static bool file_part(struct span url, struct span *ret)
{
  struct span rest = span_trim(from(url, 5)); /* file: */
  if (rest.len >= 2 && is_separator(rest.ptr[0]) && is_separator(rest.ptr[1])) {
    rest = from(rest, 2);
    size_t host = 0;
    while (host < rest.len && !is_separator(rest.ptr[host])) host++;
    if (host && !span_eq_nocase((struct span) { rest.ptr, host }, SPAN("localhost"))) return false;
    rest = from(rest, host);
  }
  size_t end = 0;
  while (end < rest.len && rest.ptr[end] != '?' && rest.ptr[end] != '#') end++;
  *ret = (struct span) { rest.ptr, end };
  return true;
}

/* Appends one segment of a path decoded, without tabs and line ends, as a URL has none. False: a
 * broken escape, or one that hides a separator. */
static bool decode_segment(struct span segment, struct buf *out)
{
  for (size_t i = 0; i < segment.len; i++) {
    char c = segment.ptr[i];
    if (c == '\t' || c == '\n' || c == '\r') continue;
    if (c == '%') {
      int high = i + 2 < segment.len ? hex_of(segment.ptr[i + 1]) : -1;
      int low = high >= 0 ? hex_of(segment.ptr[i + 2]) : -1;
      if (low < 0) return false;
      c = (char)(high << 4 | low);
      if (is_separator(c) || c == '\0') return false;
      i += 2;
    }
    buf_add_char(out, c);
  }
  return true;
}

/* Decodes a file: URL to an absolute path without . segments; false: it is none (or no memory, as
 * out tells). */
static bool file_path(struct span url, struct buf *out)
{
  struct span part;
  if (!file_part(url, &part)) return false;
  size_t i = part.len && is_separator(part.ptr[0]);
  for (;;) {
    size_t begin = i;
    while (i < part.len && !is_separator(part.ptr[i])) i++;
    size_t before = out->len;
    buf_add_char(out, '/');
    if (!decode_segment((struct span) { part.ptr + begin, i - begin }, out)) return false;
    struct span segment = { out->ptr + before + 1, out->len - before - 1 };
    if (out->failed || span_is(segment, "..")) return false;
    if (span_is(segment, ".")) out->len = before + (i == part.len);
    if (i == part.len) break;
    i++;
  }
  return span_utf8_fault(buf_span(out)) == out->len;
}

/* ---- what may be an attachment ---- */

static const char *local_fault(struct span s, unsigned options)
{
  if (schema_reference_climbs(s)) return "the path climbs out of where it begins";
  if (is_unc(s) || span_starts(s, SPAN("//"))) return "the path names another machine";
  if (s.ptr[0] == '/' || is_home(s) || is_drive(s)) return NULL;
  if (schema_reference_has_scheme(s)) return "neither https nor a path";
  if (has_separator(s) || (options & SCHEMA_REFERENCE_ANY)) return NULL;
  if ((options & SCHEMA_REFERENCE_BARE) && schema_reference_has_extension(s)) return NULL;
  return "neither an address nor a path";
}

static const char *file_fault(struct span url)
{
  struct buf path;
  buf_init(&path, url.len + 16);
  bool ok = file_path(url, &path) && !(path.len > 1 && path.ptr[1] == '/');
  buf_done(&path);
  return ok ? NULL : "no file: address of a file on this machine";
}

const char *schema_reference_fault(struct span reference, unsigned options)
{
  struct span s = schema_reference_bare(reference);
  if (s.len == 0) return "nothing is named";
  if (s.len > SCHEMA_REFERENCE_MAX && schema_utf16_length(s) > SCHEMA_REFERENCE_MAX)
    return "longer than 4096 characters";
  if (schema_remote_is_web(s))
    return schema_remote_fault(reference, (options & SCHEMA_REFERENCE_SPACES) != 0);
  if (!(options & SCHEMA_REFERENCE_SPACES) && schema_white_in(s, 0)) return "white space in it";
  const char *fault = local_fault(s, options);
  return fault || s.len == reference.len ? fault : file_fault(reference);
}

struct span schema_reference_path(struct span reference, struct arena *arena)
{
  if (!starts_nocase(reference, SPAN("file:"))) return reference;
  struct buf path;
  buf_init(&path, reference.len + 16);
  bool ok = file_path(reference, &path);
  struct span kept = reference;
  if (ok || path.failed) kept = arena_copy(arena, buf_span(&path));
  if (path.failed) kept = (struct span) { NULL, 0 };
  buf_done(&path);
  return kept;
}

/* ---- sameness ---- */

/* An absolute path with // and /./ folded. */
static struct span fold_path(struct span path, struct arena *arena)
{
  char *out = arena_alloc(arena, path.len + 1);
  if (!out) return (struct span) { NULL, 0 };
  size_t n = 0;
  for (size_t i = 0; i < path.len; i++) {
    char c = path.ptr[i];
    if (c == '/') {
      if (n && out[n - 1] == '/') continue;
      if (n > 1 && out[n - 1] == '.' && out[n - 2] == '/') {
        n--;
        continue;
      }
    }
    out[n++] = c;
  }
  if (n > 1 && out[n - 1] == '.' && out[n - 2] == '/') n -= n > 2 ? 2 : 1;
  return (struct span) { out, n };
}

struct span schema_reference_key(struct span reference, struct arena *arena)
{
  struct span key = schema_reference_path(schema_white_trim(reference), arena);
  bool absolute = key.len && key.ptr[0] == '/';
  if (!absolute || has_dotdot(key) || span_starts(key, SPAN("//"))) return key;
  return fold_path(key, arena);
}

/* ---- what it is ---- */

static const struct {
  const char *extension;
  enum schema_type type;
} extensions[] = {
  { "png", SCHEMA_IMAGE },  { "jpg", SCHEMA_IMAGE },  { "jpeg", SCHEMA_IMAGE },
  { "gif", SCHEMA_IMAGE },  { "webp", SCHEMA_IMAGE }, { "bmp", SCHEMA_IMAGE },
  { "apng", SCHEMA_IMAGE }, { "mp3", SCHEMA_AUDIO },  { "wav", SCHEMA_AUDIO },
  { "ogg", SCHEMA_AUDIO },  { "oga", SCHEMA_AUDIO },  { "opus", SCHEMA_AUDIO },
  { "m4a", SCHEMA_AUDIO },  { "aac", SCHEMA_AUDIO },  { "flac", SCHEMA_AUDIO },
  { "amr", SCHEMA_AUDIO },  { "silk", SCHEMA_AUDIO }, { "slk", SCHEMA_AUDIO },
  { "wma", SCHEMA_AUDIO },  { "mp4", SCHEMA_VIDEO },  { "m4v", SCHEMA_VIDEO },
  { "mov", SCHEMA_VIDEO },  { "webm", SCHEMA_VIDEO }, { "mkv", SCHEMA_VIDEO },
  { "avi", SCHEMA_VIDEO },  { "mpeg", SCHEMA_VIDEO }, { "mpg", SCHEMA_VIDEO },
  { "3gp", SCHEMA_VIDEO },  { "flv", SCHEMA_VIDEO },  { "wmv", SCHEMA_VIDEO },
};

enum schema_type schema_reference_type(struct span reference)
{
  size_t end = reference.len;
  if (schema_remote_is_web(reference)) {
    for (end = 0; end < reference.len; end++)
      if (reference.ptr[end] == '?' || reference.ptr[end] == '#') break;
  }
  size_t begin = end;
  while (begin > 0 && reference.ptr[begin - 1] != '.' && !is_separator(reference.ptr[begin - 1]))
    begin--;
  if (begin == 0 || reference.ptr[begin - 1] != '.') return SCHEMA_FILE;
  struct span extension = { reference.ptr + begin, end - begin };
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
    if (span_eq_nocase(extension, span_of(extensions[i].extension))) return extensions[i].type;
  return SCHEMA_FILE;
}
