/* print: writes JSON into a buf, commas and escapes included. Strings must be well-formed UTF-8;
 * output is ASCII-escaped only where JSON demands it. */
#ifndef SCHEMA_PRINT_H
#define SCHEMA_PRINT_H

#include "schema/segment.h"
#include "schema/tree.h"

/* Begin with { .out = buf }; the comma is kept by the writer. */
struct schema_writer {
  struct buf *out;
  bool comma;
};

void schema_write_object(struct schema_writer *w);
void schema_write_object_end(struct schema_writer *w);
void schema_write_array(struct schema_writer *w);
void schema_write_array_end(struct schema_writer *w);
void schema_write_key(struct schema_writer *w, struct span key);
/* Returns the number of Unicode characters in s; 0 where out has failed. */
size_t schema_write_string(struct schema_writer *w, struct span s);
/* Bytes that already are JSON (a number, a raw value). */
void schema_write_raw(struct schema_writer *w, struct span json);
void schema_write_bool(struct schema_writer *w, bool b);
void schema_write_null(struct schema_writer *w);
void schema_write_int(struct schema_writer *w, int64_t n);
/* key and value in one call */
static inline void schema_write_pair(struct schema_writer *w, const char *key, struct span value)
{
  schema_write_key(w, span_of(key));
  schema_write_string(w, value);
}
/* A whole tree, compact; keys in their order. */
void schema_write_tree(struct schema_writer *w, const struct schema_node *node);
/* A reply in the contract's shape: {"messages":[…],"reaction":…}; reaction only if with_reaction. */
void schema_write_reply(struct schema_writer *w, const struct schema_reply *reply,
                        bool with_reaction);

#endif
