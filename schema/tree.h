/* tree: a JSON value held in an arena, for documents that must be walked more than once (events,
 * actions, eval lines, JSON Schemas). Built only by the reader of json.h, so it holds what that
 * accepted; numbers stay text, members keep their order. */
#ifndef SCHEMA_TREE_H
#define SCHEMA_TREE_H

#include "schema/json.h"

enum schema_kind {
  SCHEMA_NULL,
  SCHEMA_BOOL,
  SCHEMA_NUMBER,
  SCHEMA_STRING,
  SCHEMA_ARRAY,
  SCHEMA_OBJECT,
};

struct schema_node {
  enum schema_kind kind;
  bool truth;       /* SCHEMA_BOOL */
  struct span key;  /* where it is a member */
  struct span text; /* SCHEMA_STRING: decoded; SCHEMA_NUMBER: as written */
  struct span raw;  /* its bytes in the source text */
  size_t count;     /* of children */
  struct schema_node *first, *next;
};

/* Reads one JSON text. *ret and everything below live in arena and in text. */
enum schema_code schema_tree_read(struct span text, unsigned depth_max, struct arena *arena,
                                  struct schema_node **ret, struct schema_error *reterr);
/* The member of that name, or NULL (also where object is NULL or no object). */
struct schema_node *schema_tree_find(const struct schema_node *object, struct span name);
static inline struct schema_node *schema_tree_get(const struct schema_node *object,
                                                  const char *name)
{
  return schema_tree_find(object, span_of(name)); /* a literal is measured by the compiler */
}
/* Its text where it is a string, else an empty span (ptr NULL). NULL allowed. */
struct span schema_tree_string(const struct schema_node *node);
/* A string's text or a number's bytes, else an empty span: how ids are read. */
struct span schema_tree_id(const struct schema_node *node);
bool schema_tree_truth(const struct schema_node *node, bool otherwise);

#endif
