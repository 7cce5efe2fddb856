#include "schema/fit.h"

#include <stdlib.h>

struct walk {
  struct arena *arena;
  struct schema_misfit misfit;
};

static enum schema_code misfits(struct walk *w, const struct schema_step *step, struct span why)
{
  w->misfit = (struct schema_misfit) { schema_step_path(step, w->arena), why };
  return w->misfit.path.ptr && why.ptr ? SCHEMA_EMISFIT : SCHEMA_ENOMEM;
}

/* ---- members by name ---- */

enum { FEW = 8 }; /* members that are compared one by one; more are sorted */

struct index {
  const struct schema_node *object;
  const struct schema_node **sorted; /* NULL where there are few */
};

static int compare(struct span x, struct span y)
{
  if (x.len != y.len) return x.len < y.len ? -1 : 1;
  return x.len ? memcmp(x.ptr, y.ptr, x.len) : 0;
}

static int by_key(const void *a, const void *b)
{
  const struct schema_node *const *x = a, *const *y = b;
  return compare((*x)->key, (*y)->key);
}

static bool index_build(struct index *index, const struct schema_node *object, struct arena *arena)
{
  *index = (struct index) { .object = object };
  if (object->count <= FEW) return true;
  index->sorted = arena_zalloc(arena, object->count, sizeof *index->sorted);
  if (!index->sorted) return false;
  size_t n = 0;
  for (const struct schema_node *m = object->first; m; m = m->next) index->sorted[n++] = m;
  qsort(index->sorted, n, sizeof *index->sorted, by_key);
  return true;
}

static const struct schema_node *index_find(const struct index *index, struct span key)
{
  if (!index->sorted) {
    const struct schema_node *m = index->object->first;
    while (m && !span_eq(m->key, key)) m = m->next;
    return m;
  }
  size_t low = 0, high = index->object->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare(index->sorted[middle]->key, key);
    if (order == 0) return index->sorted[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* ---- numbers ---- */

/* The exponent of a number's text behind e or E, held within ±2^40 (far beyond any length). */
static int64_t exponent_of(struct span digits)
{
  bool negative = digits.len > 0 && *digits.ptr == '-';
  int64_t value = 0;
  for (size_t i = 0; i < digits.len; i++) {
    char c = digits.ptr[i];
    if (c >= '0' && c <= '9' && value < (int64_t)1 << 40) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

/* Whether a JSON number is whole, by its digits: a trailing zero counts up, a place behind the
 * point counts down, the exponent shifts. */
static bool is_whole(struct span number)
{
  int64_t zeros = 0, places = 0, exponent = 0;
  bool behind_point = false, nonzero = false;
  for (size_t i = 0; i < number.len; i++) {
    char c = number.ptr[i];
    if (c == 'e' || c == 'E') {
      exponent = exponent_of((struct span) { number.ptr + i + 1, number.len - i - 1 });
      break;
    }
    if (c == '.') behind_point = true;
    if (c < '0' || c > '9') continue;
    places += behind_point;
    zeros = c == '0' ? zeros + 1 : 0;
    nonzero |= c != '0';
  }
  return !nonzero || exponent - places + zeros >= 0;
}

/* ---- the walk ---- */

static enum schema_code fit_node(struct walk *w, const struct schema_node *schema,
                                 const struct schema_node *value, const struct schema_step *step);

enum { NAMED_MAX = 16 }; /* a message names so many keys; more help nobody */

static void add_name(struct buf *why, struct span name, size_t nth)
{
  if (nth > NAMED_MAX) return;
  if (nth > 1) buf_add(why, SPAN(", "));
  if (nth == NAMED_MAX || name.len > 64)
    buf_add(why, SPAN("…"));
  else
    buf_add(why, name);
}

/* Names every key that one side has and the other lacks. ptr NULL: no memory. */
static struct span keys_why(struct walk *w, const struct schema_node *properties,
                            const struct index *there)
{
  struct index wanted;
  if (!index_build(&wanted, properties, w->arena)) return (struct span) { NULL, 0 };
  struct buf why;
  buf_init(&why, 64 * 1024);
  size_t missing = 0, unexpected = 0;
  for (const struct schema_node *p = properties->first; p; p = p->next) {
    if (index_find(there, p->key)) continue;
    if (missing++ == 0) buf_add(&why, SPAN("missing: "));
    add_name(&why, p->key, missing);
  }
  for (const struct schema_node *m = there->object->first; m; m = m->next) {
    if (index_find(&wanted, m->key)) continue;
    if (unexpected++ == 0) buf_add(&why, missing ? SPAN("; unexpected: ") : SPAN("unexpected: "));
    add_name(&why, m->key, unexpected);
  }
  struct span kept = why.failed ? (struct span) { NULL, 0 } : arena_copy(w->arena, buf_span(&why));
  buf_done(&why);
  return kept;
}

static enum schema_code fit_object(struct walk *w, const struct schema_node *schema,
                                   const struct schema_node *value, const struct schema_step *step)
{
  const struct schema_node *properties = schema_tree_get(schema, "properties");
  struct index there;
  if (!index_build(&there, value, w->arena)) return SCHEMA_ENOMEM;
  bool same = properties->count == value->count;
  for (const struct schema_node *p = properties->first; p && same; p = p->next)
    same = index_find(&there, p->key) != NULL;
  if (!same) return misfits(w, step, keys_why(w, properties, &there));
  for (const struct schema_node *p = properties->first; p; p = p->next) {
    struct schema_step down = { .outer = step, .kind = SCHEMA_STEP_NAME, .name = p->key };
    enum schema_code code = fit_node(w, p, index_find(&there, p->key), &down);
    if (code != SCHEMA_OK) return code;
  }
  return SCHEMA_OK;
}

static enum schema_code fit_array(struct walk *w, const struct schema_node *schema,
                                  const struct schema_node *value, const struct schema_step *step)
{
  const struct schema_node *items = schema_tree_get(schema, "items");
  size_t at = 0;
  for (const struct schema_node *item = value->first; item; item = item->next) {
    struct schema_step down = { .outer = step, .kind = SCHEMA_STEP_AT, .at = at++ };
    enum schema_code code = fit_node(w, items, item, &down);
    if (code != SCHEMA_OK) return code;
  }
  return SCHEMA_OK;
}

static enum schema_code fit_enum(struct walk *w, const struct schema_node *schema,
                                 const struct schema_node *value, const struct schema_step *step)
{
  const struct schema_node *values = schema_tree_get(schema, "enum");
  if (!values) return SCHEMA_OK;
  for (const struct schema_node *v = values->first; v; v = v->next)
    if (span_eq(v->text, value->text)) return SCHEMA_OK;
  return misfits(w, step, SPAN("not one of the values that the schema lists"));
}

static const char *kind_name(const struct schema_node *value)
{
  static const char *const names[] = {
    [SCHEMA_NULL] = "null",       [SCHEMA_BOOL] = "a boolean", [SCHEMA_NUMBER] = "a number",
    [SCHEMA_STRING] = "a string", [SCHEMA_ARRAY] = "an array", [SCHEMA_OBJECT] = "an object",
  };
  return names[value->kind];
}

static bool kind_fits(enum schema_portable_type type, const struct schema_node *value)
{
  switch (type) {
  case SCHEMA_PORTABLE_OBJECT: return value->kind == SCHEMA_OBJECT;
  case SCHEMA_PORTABLE_ARRAY: return value->kind == SCHEMA_ARRAY;
  case SCHEMA_PORTABLE_STRING: return value->kind == SCHEMA_STRING;
  case SCHEMA_PORTABLE_NUMBER: return value->kind == SCHEMA_NUMBER;
  case SCHEMA_PORTABLE_INTEGER: return value->kind == SCHEMA_NUMBER && is_whole(value->text);
  case SCHEMA_PORTABLE_BOOLEAN: return value->kind == SCHEMA_BOOL;
  case SCHEMA_PORTABLE_TYPE_COUNT: break;
  }
  return false;
}

static enum schema_code fit_node(struct walk *w, const struct schema_node *schema,
                                 const struct schema_node *value, const struct schema_step *step)
{
  enum schema_portable_type type = schema_portable_type(schema);
  if (!kind_fits(type, value))
    return misfits(w, step,
                   arena_printf(w->arena, "expected %s, got %s", schema_portable_type_name(type),
                                kind_name(value)));
  if (type == SCHEMA_PORTABLE_OBJECT) return fit_object(w, schema, value, step);
  if (type == SCHEMA_PORTABLE_ARRAY) return fit_array(w, schema, value, step);
  if (type == SCHEMA_PORTABLE_STRING) return fit_enum(w, schema, value, step);
  return SCHEMA_OK;
}

enum schema_code schema_fit(const struct schema_node *schema, const struct schema_node *document,
                            struct arena *arena, struct schema_misfit *retmisfit)
{
  struct walk w = { .arena = arena };
  enum schema_code code = fit_node(&w, schema, document, NULL);
  if (code == SCHEMA_EMISFIT && retmisfit) *retmisfit = w.misfit;
  return code;
}
