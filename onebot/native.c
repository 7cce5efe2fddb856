#include "onebot/native.h"

/* Alone by spec/onebot.md 0.5: implementations drop or refuse what stands beside these. */
const struct ob_native_type ob_native_types[OB_NATIVE_COUNT] = {
  [OB_TEXT] = { "text", "text", false, false },
  [OB_AT] = { "at", "qq", false, false },
  [OB_FACE] = { "face", "id", false, false },
  [OB_MFACE] = { "mface", "emoji_id", true, false },
  [OB_REPLY] = { "reply", "id", false, false },
  [OB_IMAGE] = { "image", "file", false, true },
  [OB_RECORD] = { "record", "file", true, true },
  [OB_VIDEO] = { "video", "file", true, true },
  [OB_FILE] = { "file", "file", true, true },
  [OB_MARKDOWN] = { "markdown", "content", true, false },
  [OB_KEYBOARD] = { "keyboard", NULL, true, false },
  [OB_MUSIC] = { "music", "type", true, false },
  [OB_SHARE] = { "share", "url", true, false },
  [OB_JSON] = { "json", "data", true, false },
  [OB_XML] = { "xml", "data", true, false },
  [OB_DICE] = { "dice", NULL, true, false },
  [OB_RPS] = { "rps", NULL, true, false },
  [OB_POKE] = { "poke", NULL, true, false },
  [OB_SHAKE] = { "shake", NULL, true, false },
  [OB_CONTACT] = { "contact", "id", true, false },
  [OB_LOCATION] = { "location", NULL, true, false },
  [OB_FORWARD] = { "forward", "id", true, false },
  [OB_NODE] = { "node", NULL, true, false },
  [OB_TTS] = { "tts", "text", true, false },
  [OB_CARDIMAGE] = { "cardimage", "file", true, true },
};

enum ob_native ob_native_find(struct span name)
{
  if (name.len == 0) return OB_NATIVE_COUNT;
  for (int i = 0; i < OB_NATIVE_COUNT; i++)
    if (ob_native_types[i].name[0] == name.ptr[0] && span_is(name, ob_native_types[i].name))
      return (enum ob_native)i;
  return OB_NATIVE_COUNT;
}

/* ---- reading CQ codes ---- */

static const struct {
  struct span escape;
  char plain;
} escapes[] = {
  { { "&amp;", 5 }, '&' },
  { { "&#91;", 5 }, '[' },
  { { "&#93;", 5 }, ']' },
  { { "&#44;", 5 }, ',' },
};

/* One pass from left to right is "&amp; last": what an escape became is not looked at again. */
static struct span unescape(struct span s, struct arena *arena)
{
  if (s.len == 0 || !memchr(s.ptr, '&', s.len)) return s;
  char *out = arena_alloc(arena, s.len);
  if (!out) return (struct span) { 0 };
  size_t n = 0, i = 0;
  while (i < s.len) {
    out[n] = s.ptr[i];
    size_t used = 1;
    for (size_t e = 0; s.ptr[i] == '&' && e < sizeof escapes / sizeof *escapes; e++) {
      if (!span_starts((struct span) { s.ptr + i, s.len - i }, escapes[e].escape)) continue;
      out[n] = escapes[e].plain;
      used = escapes[e].escape.len;
    }
    n++;
    i += used;
  }
  return (struct span) { out, n };
}

static struct schema_node *new_node(struct arena *arena, enum schema_kind kind, struct span key,
                                    struct span text)
{
  struct schema_node *node = arena_zalloc(arena, 1, sizeof *node);
  if (!node) return NULL;
  node->kind = kind;
  node->key = key;
  node->text = text;
  return node;
}

/* Appends child, which may be NULL (memory), to a container whose last child is *last. */
static bool append(struct schema_node *container, struct schema_node **last,
                   struct schema_node *child)
{
  if (!child) return false;
  if (*last)
    (*last)->next = child;
  else
    container->first = child;
  *last = child;
  container->count++;
  return true;
}

/* {"type":type,"data":{}}; *ret is the data object. */
static struct schema_node *new_segment(struct arena *arena, struct span type,
                                       struct schema_node **ret)
{
  struct schema_node *segment = new_node(arena, SCHEMA_OBJECT, (struct span) { 0 }, SPAN(""));
  struct schema_node *last = NULL;
  *ret = new_node(arena, SCHEMA_OBJECT, SPAN("data"), SPAN(""));
  if (!segment || !*ret ||
      !append(segment, &last, new_node(arena, SCHEMA_STRING, SPAN("type"), type)))
    return NULL;
  append(segment, &last, *ret);
  return segment;
}

static struct schema_node *new_text(struct arena *arena, struct span text)
{
  struct schema_node *data, *last = NULL;
  struct schema_node *segment = new_segment(arena, SPAN("text"), &data);
  struct schema_node *datum = new_node(arena, SCHEMA_STRING, SPAN("text"), text);
  return segment && append(data, &last, datum) ? segment : NULL;
}

static bool is_name(struct span s)
{
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-') return false;
  }
  return s.len > 0;
}

/* The part of *s up to the next c, which is taken off as well; all of it where there is none. */
static struct span cut(struct span *s, char c)
{
  const char *hit = s->len ? memchr(s->ptr, c, s->len) : NULL;
  size_t n = hit ? (size_t)(hit - s->ptr) : s->len;
  struct span part = { s->ptr, n };
  size_t used = n + (hit ? 1 : 0);
  *s = (struct span) { s->ptr + used, s->len - used };
  return part;
}

/* No code of any implementation has as many pairs; it bounds the search for a doubled key. */
enum { CQ_PAIRS_MAX = 64 };

static bool has_key(const struct schema_node *data, struct span key)
{
  for (const struct schema_node *d = data->first; d; d = d->next)
    if (span_eq(d->key, key)) return true;
  return false;
}

/* The inside of a code ("at,qq=10001") -> a segment; *retcode false where it is none. A doubled
 * key makes it none: implementations differ in which one they take. */
static struct schema_node *read_code(struct span inside, struct arena *arena, bool *retcode)
{
  *retcode = false;
  bool more = memchr(inside.ptr, ',', inside.len) != NULL;
  struct span type = cut(&inside, ',');
  if (!is_name(type)) return NULL;
  struct schema_node *data, *last = NULL;
  struct schema_node *segment = new_segment(arena, type, &data);
  while (segment && more) {
    more = memchr(inside.ptr, ',', inside.len) != NULL;
    struct span value = cut(&inside, ',');
    bool paired = memchr(value.ptr, '=', value.len) != NULL;
    struct span key = cut(&value, '=');
    if (!paired || !is_name(key) || data->count == CQ_PAIRS_MAX || has_key(data, key)) return NULL;
    struct schema_node *datum = new_node(arena, SCHEMA_STRING, key, unescape(value, arena));
    if (!append(data, &last, datum)) return NULL;
  }
  *retcode = segment != NULL;
  return segment;
}

/* The length of the code that s begins with, brackets included; 0 where there is none. A raw '['
 * cannot stand in a code: it is escaped there. */
static size_t code_length(struct span s)
{
  if (!span_starts(s, SPAN("[CQ:"))) return 0;
  for (size_t i = 4; i < s.len; i++) {
    if (s.ptr[i] == ']') return i + 1;
    if (s.ptr[i] == '[') return 0;
  }
  return 0;
}

const struct schema_node *ob_native_read_cq(struct span text, struct arena *arena)
{
  struct schema_node *array = new_node(arena, SCHEMA_ARRAY, (struct span) { 0 }, SPAN(""));
  struct schema_node *last = NULL;
  size_t begin = 0, at = 0; /* the text that is not yet a segment begins at begin */
  while (array && at < text.len) {
    const char *open = memchr(text.ptr + at, '[', text.len - at);
    if (!open) break;
    at = (size_t)(open - text.ptr);
    size_t n = code_length((struct span) { open, text.len - at });
    bool code = false;
    struct schema_node *segment =
        n ? read_code((struct span) { open + 4, n - 5 }, arena, &code) : NULL;
    if (!code) {
      at++;
      continue;
    }
    struct span before = { text.ptr + begin, at - begin };
    if (before.len && !append(array, &last, new_text(arena, unescape(before, arena)))) return NULL;
    append(array, &last, segment);
    at += n;
    begin = at;
  }
  struct span rest = text.len ? (struct span) { text.ptr + begin, text.len - begin } : text;
  if (array && rest.len && !append(array, &last, new_text(arena, unescape(rest, arena))))
    return NULL;
  return arena->failed ? NULL : array;
}

static const struct schema_node *array_of_one(struct schema_node *segment, struct arena *arena)
{
  struct schema_node *array = new_node(arena, SCHEMA_ARRAY, (struct span) { 0 }, SPAN(""));
  struct schema_node *last = NULL;
  return array && append(array, &last, segment) ? array : NULL;
}

const struct schema_node *ob_native_read(const struct schema_node *message, bool literal,
                                         struct arena *arena)
{
  if (!message) return NULL;
  struct schema_node *copy;
  switch (message->kind) {
  case SCHEMA_ARRAY: return message;
  case SCHEMA_STRING:
    if (!literal) return ob_native_read_cq(message->text, arena);
    return array_of_one(new_text(arena, message->text), arena);
  case SCHEMA_OBJECT:
    copy = new_node(arena, SCHEMA_OBJECT, (struct span) { 0 }, SPAN(""));
    if (!copy) return NULL;
    *copy = *message;
    copy->next = NULL; /* it has brothers where it stands */
    return array_of_one(copy, arena);
  case SCHEMA_NULL:
  case SCHEMA_BOOL:
  case SCHEMA_NUMBER: break;
  }
  return NULL;
}
