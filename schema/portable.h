/* portable: the subset of JSON Schema that every provider takes (RoomKit's contract). A schema of
 * a caller is held to it before anybody is asked. See fit.h for documents. */
#ifndef SCHEMA_PORTABLE_H
#define SCHEMA_PORTABLE_H

#include "schema/tree.h"

/* The first offence. Lives in the arena of the call. */
struct schema_misfit {
  struct span
      path; /* "$.name[]": names as they are, [] for items; ptr NULL where the root is none */
  struct span why; /* what is wrong and what is wanted */
};

/* Whether a schema, read by schema_tree_read, is in the subset (response-schema.md 1 to 29).
 * SCHEMA_OK, SCHEMA_ENOTPORTABLE with *retmisfit (which may be NULL) filled, SCHEMA_ENOMEM.
 * Linear but for sorting; goes as deep as the tree, which its reader has bounded. Any thread. */
enum schema_code schema_portable_check(const struct schema_node *schema, struct arena *arena,
                                       struct schema_misfit *retmisfit);

/* The type that a checked schema names. */
enum schema_portable_type {
  SCHEMA_PORTABLE_OBJECT,
  SCHEMA_PORTABLE_ARRAY,
  SCHEMA_PORTABLE_STRING,
  SCHEMA_PORTABLE_NUMBER,
  SCHEMA_PORTABLE_INTEGER,
  SCHEMA_PORTABLE_BOOLEAN,
  SCHEMA_PORTABLE_TYPE_COUNT
};
/* SCHEMA_PORTABLE_TYPE_COUNT where it is none of them. */
enum schema_portable_type schema_portable_type(const struct schema_node *schema);
const char *schema_portable_type_name(enum schema_portable_type type);

/* ---- where one is, shared with fit.c ---- */

/* One step down from outer; the root is NULL. Lives on the stack of the walk. */
struct schema_step {
  const struct schema_step *outer;
  enum { SCHEMA_STEP_NAME, SCHEMA_STEP_ITEMS, SCHEMA_STEP_AT } kind;
  struct span name; /* SCHEMA_STEP_NAME */
  size_t at;        /* SCHEMA_STEP_AT */
};

/* "$.a[].b[2]". ptr NULL: no memory. */
struct span schema_step_path(const struct schema_step *last, struct arena *arena);

#endif
