#include "schema/portable.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/keys.h"

struct walk {
  struct arena *arena;
  struct schema_misfit misfit;
};

static const char *const type_names[SCHEMA_PORTABLE_TYPE_COUNT] = {
  "object", "array", "string", "number", "integer", "boolean",
};

/* Which keyword stands with which types: one bit a type. */
enum {
  ON_OBJECT = 1u << SCHEMA_PORTABLE_OBJECT,
  ON_ARRAY = 1u << SCHEMA_PORTABLE_ARRAY,
  ON_STRING = 1u << SCHEMA_PORTABLE_STRING,
  ON_ALL = (1u << SCHEMA_PORTABLE_TYPE_COUNT) - 1,
};

static const struct {
  const char *name;
  unsigned types;
} keywords[] = {
  { "type", ON_ALL },          { "title", ON_ALL },       { "description", ON_ALL },
  { "properties", ON_OBJECT }, { "required", ON_OBJECT }, { "additionalProperties", ON_OBJECT },
  { "items", ON_ARRAY },       { "enum", ON_STRING },
};

const char *schema_portable_type_name(enum schema_portable_type type)
{
  return type < SCHEMA_PORTABLE_TYPE_COUNT ? type_names[type] : "";
}

enum schema_portable_type schema_portable_type(const struct schema_node *schema)
{
  const struct schema_node *type = schema_tree_get(schema, "type");
  if (!type || type->kind != SCHEMA_STRING) return SCHEMA_PORTABLE_TYPE_COUNT;
  unsigned t = 0;
  while (t < SCHEMA_PORTABLE_TYPE_COUNT && !span_is(type->text, type_names[t])) t++;
  return (enum schema_portable_type)t;
}

/* ---- the path ---- */

static size_t step_size(const struct schema_step *step)
{
  switch (step->kind) {
  case SCHEMA_STEP_NAME: return 1 + step->name.len;
  case SCHEMA_STEP_ITEMS: return 2;
  case SCHEMA_STEP_AT: return 2 + (size_t)snprintf(NULL, 0, "%zu", step->at);
  }
  return 0;
}

/* Writes the step so that it ends before end; returns where it begins. */
static char *step_write(const struct schema_step *step, char *end)
{
  char *begin = end - step_size(step);
  switch (step->kind) {
  case SCHEMA_STEP_NAME:
    *begin = '.';
    if (step->name.len) memcpy(begin + 1, step->name.ptr, step->name.len);
    break;
  case SCHEMA_STEP_ITEMS: memcpy(begin, "[]", 2); break;
  case SCHEMA_STEP_AT: {
    char number[32];
    int n = snprintf(number, sizeof number, "[%zu]", step->at);
    memcpy(begin, number, (size_t)n);
    break;
  }
  }
  return begin;
}

struct span schema_step_path(const struct schema_step *last, struct arena *arena)
{
  size_t size = 1;
  for (const struct schema_step *s = last; s; s = s->outer) size += step_size(s);
  char *path = arena_alloc(arena, size);
  if (!path) return (struct span) { NULL, 0 };
  char *at = path + size;
  for (const struct schema_step *s = last; s; s = s->outer) at = step_write(s, at);
  *path = '$';
  return (struct span) { path, size };
}

/* ---- the check ---- */

static enum schema_code offends(struct walk *w, const struct schema_step *step, struct span why)
{
  w->misfit = (struct schema_misfit) { schema_step_path(step, w->arena), why };
  return w->misfit.path.ptr && why.ptr ? SCHEMA_ENOTPORTABLE : SCHEMA_ENOMEM;
}

static bool keyword_allowed(struct span name, enum schema_portable_type type)
{
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (span_is(name, keywords[i].name)) return keywords[i].types >> type & 1u;
  return false;
}

static int by_text(const void *a, const void *b)
{
  const struct span *x = a, *y = b;
  size_t n = x->len < y->len ? x->len : y->len;
  int order = n ? memcmp(x->ptr, y->ptr, n) : 0;
  return order ? order : (x->len > y->len) - (x->len < y->len);
}

enum { NAMED_MAX = 16 }; /* a message names so many keywords; more help nobody */

static struct span unknown_why(struct walk *w, struct span *names, size_t count,
                               enum schema_portable_type type)
{
  qsort(names, count, sizeof *names, by_text);
  struct buf why;
  buf_init(&why, 64 * 1024);
  buf_add(&why, SPAN("these keywords are not portable on a schema of this type: "));
  for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
    if (i) buf_add(&why, SPAN(", "));
    buf_add(&why, names[i].len <= 64 ? names[i] : SPAN("(a long name)"));
  }
  if (count > NAMED_MAX) buf_printf(&why, " and %zu more", count - NAMED_MAX);
  buf_printf(&why, "; type: %s", type_names[type]);
  struct span kept = why.failed ? (struct span) { NULL, 0 } : arena_copy(w->arena, buf_span(&why));
  buf_done(&why);
  return kept;
}

static enum schema_code check_keywords(struct walk *w, const struct schema_node *schema,
                                       const struct schema_step *step,
                                       enum schema_portable_type type)
{
  size_t count = 0;
  for (const struct schema_node *m = schema->first; m; m = m->next)
    count += !keyword_allowed(m->key, type);
  if (count == 0) return SCHEMA_OK;
  struct span *names = arena_zalloc(w->arena, count, sizeof *names);
  if (!names) return SCHEMA_ENOMEM;
  size_t n = 0;
  for (const struct schema_node *m = schema->first; m; m = m->next)
    if (!keyword_allowed(m->key, type)) names[n++] = m->key;
  return offends(w, step, unknown_why(w, names, count, type));
}

static enum schema_code check_notes(struct walk *w, const struct schema_node *schema,
                                    const struct schema_step *step)
{
  const struct schema_node *title = schema_tree_get(schema, "title");
  if (title && title->kind != SCHEMA_STRING)
    return offends(w, step, SPAN("'title' must be a string"));
  const struct schema_node *description = schema_tree_get(schema, "description");
  if (description && description->kind != SCHEMA_STRING)
    return offends(w, step, SPAN("'description' must be a string"));
  return SCHEMA_OK;
}

/* Whether list holds each property's name once and nothing else. */
static enum schema_code names_match(struct walk *w, const struct schema_node *properties,
                                    const struct schema_node *list, bool *ret)
{
  *ret = false;
  if (!list || list->kind != SCHEMA_ARRAY || list->count != properties->count) return SCHEMA_OK;
  struct schema_keys *known = schema_keys_open(NULL, w->arena);
  struct schema_keys *listed = schema_keys_open(NULL, w->arena);
  if (!known || !listed) return SCHEMA_ENOMEM;
  for (const struct schema_node *p = properties->first; p; p = p->next)
    if (schema_keys_add(known, p->key, w->arena) == SCHEMA_KEYS_NOMEM) return SCHEMA_ENOMEM;
  for (const struct schema_node *item = list->first; item; item = item->next) {
    if (item->kind != SCHEMA_STRING) return SCHEMA_OK;
    enum schema_keys_result in_known = schema_keys_add(known, item->text, w->arena);
    enum schema_keys_result in_listed = schema_keys_add(listed, item->text, w->arena);
    if (in_known == SCHEMA_KEYS_NOMEM || in_listed == SCHEMA_KEYS_NOMEM) return SCHEMA_ENOMEM;
    if (in_known == SCHEMA_KEYS_NEW || in_listed == SCHEMA_KEYS_SEEN) return SCHEMA_OK;
  }
  *ret = true;
  return SCHEMA_OK;
}

static enum schema_code check_schema(struct walk *w, const struct schema_node *schema,
                                     const struct schema_step *step);

static enum schema_code check_object(struct walk *w, const struct schema_node *schema,
                                     const struct schema_step *step)
{
  const struct schema_node *properties = schema_tree_get(schema, "properties");
  if (!properties || properties->kind != SCHEMA_OBJECT)
    return offends(w, step, SPAN("an object must have 'properties', an object of schemas by name"));
  const struct schema_node *additional = schema_tree_get(schema, "additionalProperties");
  if (!additional || additional->kind != SCHEMA_BOOL || additional->truth)
    return offends(w, step, SPAN("an object must have 'additionalProperties': false"));
  bool matches;
  enum schema_code code = names_match(w, properties, schema_tree_get(schema, "required"), &matches);
  if (code != SCHEMA_OK) return code;
  if (!matches)
    return offends(w, step, SPAN("'required' must be a list of every property's name, each once"));
  for (const struct schema_node *p = properties->first; p; p = p->next) {
    struct schema_step down = { .outer = step, .kind = SCHEMA_STEP_NAME, .name = p->key };
    code = check_schema(w, p, &down);
    if (code != SCHEMA_OK) return code;
  }
  return SCHEMA_OK;
}

static enum schema_code check_enum(struct walk *w, const struct schema_node *schema,
                                   const struct schema_step *step)
{
  const struct schema_node *values = schema_tree_get(schema, "enum");
  if (!values) return SCHEMA_OK;
  const struct span why = SPAN("'enum' must be a list of strings, at least one, no two alike");
  if (values->kind != SCHEMA_ARRAY || values->count == 0) return offends(w, step, why);
  struct schema_keys *seen = schema_keys_open(NULL, w->arena);
  if (!seen) return SCHEMA_ENOMEM;
  for (const struct schema_node *v = values->first; v; v = v->next) {
    if (v->kind != SCHEMA_STRING) return offends(w, step, why);
    enum schema_keys_result added = schema_keys_add(seen, v->text, w->arena);
    if (added == SCHEMA_KEYS_NOMEM) return SCHEMA_ENOMEM;
    if (added == SCHEMA_KEYS_SEEN) return offends(w, step, why);
  }
  return SCHEMA_OK;
}

static enum schema_code check_schema(struct walk *w, const struct schema_node *schema,
                                     const struct schema_step *step)
{
  if (!schema || schema->kind != SCHEMA_OBJECT)
    return offends(w, step, SPAN("a schema must be a JSON object here"));
  enum schema_portable_type type = schema_portable_type(schema);
  if (type == SCHEMA_PORTABLE_TYPE_COUNT)
    return offends(w, step,
                   SPAN("'type' must be one of object, array, string, number, integer, "
                        "boolean, as one string"));
  enum schema_code code = check_keywords(w, schema, step, type);
  if (code == SCHEMA_OK) code = check_notes(w, schema, step);
  if (code != SCHEMA_OK) return code;
  if (type == SCHEMA_PORTABLE_OBJECT) return check_object(w, schema, step);
  if (type == SCHEMA_PORTABLE_STRING) return check_enum(w, schema, step);
  if (type != SCHEMA_PORTABLE_ARRAY) return SCHEMA_OK;
  struct schema_step down = { .outer = step, .kind = SCHEMA_STEP_ITEMS };
  return check_schema(w, schema_tree_get(schema, "items"), &down);
}

enum schema_code schema_portable_check(const struct schema_node *schema, struct arena *arena,
                                       struct schema_misfit *retmisfit)
{
  struct walk w = { .arena = arena };
  enum schema_code code;
  if (schema_portable_type(schema) != SCHEMA_PORTABLE_OBJECT) {
    w.misfit.why =
        SPAN("the schema of a response must be a JSON object whose 'type' is \"object\"");
    code = SCHEMA_ENOTPORTABLE;
  } else {
    code = check_schema(&w, schema, NULL);
  }
  if (code == SCHEMA_ENOTPORTABLE && retmisfit) *retmisfit = w.misfit;
  return code;
}
