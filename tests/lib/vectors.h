/* vectors: the rows of tests/data/vectors/NAME.jsonl, for unit tests. Everything lives in the
 * arena of the file until vectors_close. */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdio.h>
#include <stdlib.h>

#include "schema/offer.h"
#include "schema/tree.h"

enum { VECTORS_ARENA_MAX = 256 * 1024 * 1024 };

struct vectors {
  struct arena arena;
  struct span rest;
};

/* False: the file cannot be read (RG_TESTS names the folder tests). */
static inline bool vectors_open(struct vectors *v, const char *name)
{
  arena_init(&v->arena, VECTORS_ARENA_MAX);
  v->rest = (struct span) { NULL, 0 };
  const char *tests = getenv("RG_TESTS");
  struct span path = arena_printf(&v->arena, "%s/data/vectors/%s.jsonl", tests ? tests : ".", name);
  FILE *file = fopen(path.ptr, "rb");
  if (!file) return false;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = size > 0 ? arena_alloc(&v->arena, (size_t)size) : NULL;
  bool ok = text && fread(text, 1, (size_t)size, file) == (size_t)size;
  fclose(file);
  if (ok) v->rest = (struct span) { text, (size_t)size };
  return ok;
}

static inline void vectors_close(struct vectors *v)
{
  arena_done(&v->arena);
}

/* The next row, or NULL behind the last. A row that is no JSON ends the program. */
static inline struct schema_node *vectors_next(struct vectors *v)
{
  while (v->rest.len) {
    const char *newline = memchr(v->rest.ptr, '\n', v->rest.len);
    size_t len = newline ? (size_t)(newline - v->rest.ptr) : v->rest.len;
    struct span line = { v->rest.ptr, len };
    v->rest.ptr += len + (newline ? 1 : 0);
    v->rest.len -= len + (newline ? 1 : 0);
    if (span_trim(line).len == 0) continue;
    struct schema_node *row = NULL;
    if (schema_tree_read(line, SCHEMA_DEPTH_SCHEMA, &v->arena, &row, NULL)) abort();
    return row;
  }
  return NULL;
}

static inline struct span vectors_string(const struct schema_node *row, const char *name)
{
  return schema_tree_string(schema_tree_get(row, name));
}

/* input, or the bytes of input_b64. */
static inline struct span vectors_input(struct vectors *v, const struct schema_node *row)
{
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  struct span b64 = vectors_string(row, "input_b64");
  if (!b64.ptr) return vectors_string(row, "input");
  char *out = arena_alloc(&v->arena, b64.len + 1);
  size_t len = 0;
  unsigned bits = 0, held = 0;
  for (size_t i = 0; i < b64.len && b64.ptr[i] != '='; i++) {
    held = held << 6 | (unsigned)(strchr(alphabet, b64.ptr[i]) - alphabet);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out[len++] = (char)(held >> bits);
  }
  return (struct span) { out, len };
}

/* The member offered: {types, share_fields, reactions}. */
static inline struct schema_offer vectors_offer(struct vectors *v, const struct schema_node *row)
{
  const struct schema_node *offered = schema_tree_get(row, "offered");
  const struct schema_node *types = schema_tree_get(offered, "types");
  const struct schema_node *fields = schema_tree_get(offered, "share_fields");
  const struct schema_node *reactions = schema_tree_get(offered, "reactions");
  struct schema_offer offer = { 0 };
  for (const struct schema_node *n = types ? types->first : NULL; n; n = n->next)
    offer.types |= 1u << schema_type_find(n->text);
  if (fields && fields->count) {
    struct span *names = arena_zalloc(&v->arena, fields->count, sizeof *names);
    for (const struct schema_node *n = fields->first; n; n = n->next)
      names[offer.share_field_count++] = n->text;
    offer.share_fields = names;
  }
  if (reactions && reactions->kind == SCHEMA_ARRAY) {
    struct schema_reaction *values = arena_zalloc(&v->arena, reactions->count + 1, sizeof *values);
    for (const struct schema_node *n = reactions->first; n; n = n->next)
      values[offer.reaction_count++].value = n->text;
    offer.reactions = values;
    offer.offers_reaction = true;
  }
  return offer;
}

/* Equal values; the order of keys is free. */
static inline bool vectors_equal(const struct schema_node *a, const struct schema_node *b)
{
  if (!a || !b || a->kind != b->kind || a->count != b->count) return a == b;
  if (a->kind == SCHEMA_BOOL) return a->truth == b->truth;
  if (!span_eq(a->text, b->text)) return false;
  const struct schema_node *other = b->first;
  for (const struct schema_node *child = a->first; child; child = child->next) {
    if (a->kind == SCHEMA_OBJECT)
      for (other = b->first; other && !span_eq(other->key, child->key);) other = other->next;
    if (!vectors_equal(child, other)) return false;
    other = other->next;
  }
  return true;
}

#endif
