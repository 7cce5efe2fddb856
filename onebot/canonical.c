/* canonical: see canonical.h. */
#include "onebot/canonical.h"

#include "schema/segment.h"

/* The name that a canonical type has on the wire. */
static const struct {
  enum schema_type type;
  const char *name;
} names[] = {
  { SCHEMA_IMAGE, "image" },
  { SCHEMA_AUDIO, "record" },
  { SCHEMA_VIDEO, "video" },
  { SCHEMA_FILE, "file" },
};

static struct schema_node *string_node(const char *key, struct span text, struct arena *arena)
{
  struct schema_node *node = arena_zalloc(arena, 1, sizeof *node);
  if (node)
    *node = (struct schema_node) { .kind = SCHEMA_STRING, .key = span_of(key), .text = text };
  return node;
}

/* {"type":name,"data":{key:value}} and the other data of the segment but left. */
static const struct schema_node *native(const struct schema_node *segment, const char *name,
                                        const char *key, struct span value, const char *left,
                                        struct arena *arena)
{
  struct schema_node *ret = arena_zalloc(arena, 1, sizeof *ret);
  struct schema_node *data = arena_zalloc(arena, 1, sizeof *data);
  struct schema_node *type = string_node("type", span_of(name), arena);
  struct schema_node *datum = string_node(key, value, arena);
  if (!ret || !data || !type || !datum) return segment;
  *data = (struct schema_node) {
    .kind = SCHEMA_OBJECT, .key = SPAN("data"), .count = 1, .first = datum
  };
  struct schema_node **end = &datum->next;
  const struct schema_node *given = schema_tree_get(segment, "data");
  for (const struct schema_node *d = given->first; d; d = d->next) {
    if (span_is(d->key, left) || span_is(d->key, key)) continue;
    struct schema_node *copy = arena_alloc(arena, sizeof *copy);
    if (!copy) return segment;
    *copy = *d;
    copy->next = NULL;
    *end = copy;
    end = &copy->next;
    data->count++;
  }
  type->next = data;
  *ret = (struct schema_node) {
    .kind = SCHEMA_OBJECT, .count = 2, .first = type, .next = segment->next, .raw = segment->raw
  };
  return ret;
}

static const struct schema_node *media(const struct schema_node *segment, const char *name,
                                       const struct schema_node *reference, struct arena *arena)
{
  struct span value = schema_tree_string(schema_tree_get(reference, "value"));
  struct span word = schema_tree_string(schema_tree_get(reference, "kind"));
  enum schema_media_kind kind = schema_media_kind_find(word);
  if (value.len == 0 || kind == SCHEMA_MEDIA_KIND_COUNT) return segment;
  if (kind == SCHEMA_MEDIA_BASE64 && !span_starts(value, SPAN("base64://"))) {
    struct span prefix = SPAN("base64://");
    char *whole = arena_alloc(arena, prefix.len + value.len);
    if (!whole) return segment;
    memcpy(whole, prefix.ptr, prefix.len);
    memcpy(whole + prefix.len, value.ptr, value.len);
    value = (struct span) { whole, prefix.len + value.len };
  }
  return native(segment, name, "file", value, "media", arena);
}

const struct schema_node *ob_canonical_native(const struct schema_node *segment,
                                              struct arena *arena)
{
  const struct schema_node *data = schema_tree_get(segment, "data");
  enum schema_type type = schema_type_find(schema_tree_string(schema_tree_get(segment, "type")));
  if (type == SCHEMA_TYPE_COUNT || !data || data->kind != SCHEMA_OBJECT) return segment;
  if (type == SCHEMA_MENTION) {
    struct span target = schema_tree_id(schema_tree_get(data, "target"));
    return target.len > 0 ? native(segment, "at", "qq", target, "target", arena) : segment;
  }
  const struct schema_node *reference = schema_tree_get(data, "media");
  for (size_t i = 0; reference && i < sizeof names / sizeof *names; i++)
    if (names[i].type == type) return media(segment, names[i].name, reference, arena);
  return segment;
}
