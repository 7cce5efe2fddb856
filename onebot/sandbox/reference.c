/* reference: see reference.h. */
#include "onebot/sandbox/reference.h"

#include <limits.h>
#include <sys/stat.h>

#include "onebot/id.h"

/* Whether s is base64 of the standard alphabet with its padding and holds at least one byte. */
static bool base64_sound(struct span s)
{
  size_t pad = 0;
  while (pad < 2 && pad < s.len && s.ptr[s.len - 1 - pad] == '=') pad++;
  if (s.len == 0 || s.len % 4 != 0) return false;
  for (size_t i = 0; i < s.len - pad; i++) {
    char c = s.ptr[i];
    bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/';
    if (!ok) return false;
  }
  return true;
}

static int hex(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/* Size of the file that path names, -1 where there is none. url: it is percent-encoded. */
static int64_t file_size(struct span path, bool url)
{
  char name[PATH_MAX];
  size_t n = 0;
  for (size_t i = 0; i < path.len && n + 1 < sizeof name; i++) {
    char c = path.ptr[i];
    if (url && c == '%') {
      int high = i + 2 < path.len ? hex(path.ptr[i + 1]) : -1;
      int low = i + 2 < path.len ? hex(path.ptr[i + 2]) : -1;
      if (high < 0 || low < 0) return -1; /* a lone % */
      c = (char)(high * 16 + low);
      i += 2;
    }
    name[n++] = c;
  }
  name[n] = '\0';
  struct stat st;
  if (n == 0 || strlen(name) != n || stat(name, &st) != 0 || !S_ISREG(st.st_mode)) return -1;
  return st.st_size;
}

/* A name that an event gave out: "<message id>-<n>.<ending>" of a message that is still known. */
static bool name_known(const struct ob_judge *j, struct span value)
{
  size_t digits = 1;
  while (digits < value.len && value.ptr[digits] >= '0' && value.ptr[digits] <= '9') digits++;
  int64_t id;
  return digits < value.len && value.ptr[digits] == '-' &&
         ob_id_read((struct span) { value.ptr, digits }, &id) && ob_world_said(j->world, id);
}

/* The row of files.tsv that speaks of this reference, and what is left of it. */
static const char *form_of(struct span value, bool video, struct span *rest)
{
  static const struct {
    struct span prefix;
    const char *row;
  } forms[] = {
    { { "base64://", 9 }, "base64" },
    { { "http://", 7 }, "http" },
    { { "https://", 8 }, "http" },
    { { "file://", 7 }, "file" },
    { { "base64:", 7 }, "bare base64" },
    { { "data:", 5 }, "data" },
    { { "/", 1 }, "path" },
  };
  *rest = value;
  if (value.len == 0) return "empty";
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (!span_starts(value, forms[i].prefix)) continue;
    if (strcmp(forms[i].row, "path") == 0) return "path";
    rest->ptr += forms[i].prefix.len;
    rest->len -= forms[i].prefix.len;
    if (strcmp(forms[i].row, "base64") == 0 && video) return "base64 video";
    return forms[i].row;
  }
  return "name";
}

static enum ob_reference_fate fail(struct ob_judge *j, struct span rule, const char *why)
{
  if (rule.len > strlen("fail ")) {
    ob_judge_refuse_rule(j, rule, span_of(why));
    return OB_REFERENCE_FAIL;
  }
  struct span text = ob_played_cell(j->played, OB_TABLE_FILES, SPAN("failure"));
  struct buf line;
  buf_init(&line, 4096);
  buf_printf(&line, "fail %.*s", (int)text.len, text.ptr);
  ob_judge_refuse_rule(j, buf_span(&line), span_of(why));
  buf_done(&line);
  return OB_REFERENCE_FAIL;
}

static enum ob_reference_fate by_rule(struct ob_judge *j, struct span rule, const char *why)
{
  if (span_is(rule, "drop")) return OB_REFERENCE_DROP;
  if (span_is(rule, "junk")) return OB_REFERENCE_JUNK;
  return fail(j, rule, why);
}

enum ob_reference_fate ob_reference_judge(struct ob_judge *j, struct span type, struct span value)
{
  struct span rest;
  const char *form = form_of(value, span_is(type, "video"), &rest);
  struct span rule = ob_played_cell(j->played, OB_TABLE_FILES, span_of(form));
  struct span empty = ob_played_cell(j->played, OB_TABLE_FILES, SPAN("empty"));
  bool host_only =
      span_is(type, "upload") && /* file segments are the sign of an upload by any form */
      !span_is(ob_played_cell(j->played, OB_TABLE_SEGMENTS, SPAN("file")), "ok");
  if (host_only && strcmp(form, "path") != 0) return fail(j, SPAN("fail"), "no path of this host");
  if (host_only) rule = SPAN("host");
  if (span_is(rule, "host")) {
    int64_t size = file_size(rest, strcmp(form, "file") == 0);
    if (size < 0) return fail(j, SPAN("fail"), "no such file");
    return size > 0 ? OB_REFERENCE_OK : by_rule(j, empty, "0");
  }
  if (span_is(rule, "known"))
    return name_known(j, value) ? OB_REFERENCE_OK : fail(j, SPAN("fail"), "unknown name");
  if (!span_is(rule, "ok")) return by_rule(j, rule, form);
  if (span_starts(span_of(form), SPAN("base64"))) {
    if (rest.len == 0) return by_rule(j, empty, "0");
    if (!base64_sound(rest)) return fail(j, SPAN("fail"), "base64");
  }
  return OB_REFERENCE_OK;
}
