#include "schema/tree.h"

/* What is being read: the open containers, outermost first, and the last child of each. */
struct growing {
  struct schema_node *container, *last;
};

static bool kind_of(enum schema_token token, enum schema_kind *ret)
{
  switch (token) {
  case SCHEMA_JSON_OBJECT: *ret = SCHEMA_OBJECT; return true;
  case SCHEMA_JSON_ARRAY: *ret = SCHEMA_ARRAY; return true;
  case SCHEMA_JSON_STRING: *ret = SCHEMA_STRING; return true;
  case SCHEMA_JSON_NUMBER: *ret = SCHEMA_NUMBER; return true;
  case SCHEMA_JSON_TRUE:
  case SCHEMA_JSON_FALSE: *ret = SCHEMA_BOOL; return true;
  case SCHEMA_JSON_NULL: *ret = SCHEMA_NULL; return true;
  case SCHEMA_JSON_ERROR:
  case SCHEMA_JSON_END:
  case SCHEMA_JSON_OBJECT_END:
  case SCHEMA_JSON_ARRAY_END:
  case SCHEMA_JSON_KEY: break;
  }
  return false;
}

static void append(struct growing *parent, struct schema_node *node)
{
  if (parent->last)
    parent->last->next = node;
  else
    parent->container->first = node;
  parent->last = node;
  parent->container->count++;
}

enum schema_code schema_tree_read(struct span text, unsigned depth_max, struct arena *arena,
                                  struct schema_node **ret, struct schema_error *reterr)
{
  struct schema_json r;
  schema_json_init(&r, text, arena, depth_max);
  struct growing open[SCHEMA_DEPTH_SCHEMA + 1];
  struct schema_node *root = NULL;
  struct span key = { NULL, 0 };
  enum schema_token token;
  while ((token = schema_json_next(&r)) != SCHEMA_JSON_END) {
    if (token == SCHEMA_JSON_ERROR) {
      if (reterr) *reterr = r.error;
      return r.error.code;
    }
    if (token == SCHEMA_JSON_KEY) {
      key = r.text;
      continue;
    }
    enum schema_kind kind;
    if (!kind_of(token, &kind)) { /* an end */
      struct schema_node *closed = open[r.depth + 1].container;
      closed->raw.len = (size_t)(r.begin + schema_json_offset(&r) - closed->raw.ptr);
      continue;
    }
    struct schema_node *node = arena_alloc(arena, sizeof *node);
    if (!node) return schema_fail(reterr, SCHEMA_ENOMEM, r.at, NULL, "the tree needs more memory");
    *node = (struct schema_node) {
      .kind = kind,
      .truth = token == SCHEMA_JSON_TRUE,
      .raw = { r.begin + r.at, schema_json_offset(&r) - r.at },
    };
    if (kind == SCHEMA_STRING || kind == SCHEMA_NUMBER) node->text = r.text;
    bool opens = kind == SCHEMA_OBJECT || kind == SCHEMA_ARRAY;
    unsigned parent = r.depth - opens; /* open[n] is the container at depth n; [0] is unused */
    if (parent == 0) {
      root = node;
    } else {
      if (open[parent].container->kind == SCHEMA_OBJECT) node->key = key;
      append(&open[parent], node);
    }
    if (opens) open[r.depth] = (struct growing) { node, NULL };
  }
  *ret = root;
  return SCHEMA_OK;
}

struct schema_node *schema_tree_find(const struct schema_node *object, struct span name)
{
  if (!object || object->kind != SCHEMA_OBJECT) return NULL;
  for (struct schema_node *child = object->first; child; child = child->next) {
    /* most keys of one length differ in the first letter: no call of memcmp for them */
    bool alike = child->key.len == name.len && (name.len == 0 || *child->key.ptr == *name.ptr);
    if (alike && span_eq(child->key, name)) return child;
  }
  return NULL;
}

struct span schema_tree_string(const struct schema_node *node)
{
  if (!node || node->kind != SCHEMA_STRING) return (struct span) { NULL, 0 };
  return node->text;
}

struct span schema_tree_id(const struct schema_node *node)
{
  if (!node || (node->kind != SCHEMA_STRING && node->kind != SCHEMA_NUMBER))
    return (struct span) { NULL, 0 };
  return node->text;
}

bool schema_tree_truth(const struct schema_node *node, bool otherwise)
{
  return node && node->kind == SCHEMA_BOOL ? node->truth : otherwise;
}
