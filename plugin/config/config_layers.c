#include "plugin/config/config_layers.h"

/* Complete settings and where each value is from. values is first, so that a group's settings lead
 * to their origins. */
struct resolved {
  struct rg_group values;
  uint8_t origin[RG_GROUP_KEYS_MAX];
};

struct slot {
  uint64_t id; /* 0: free */
  const struct resolved *settings;
};

struct rg_group_table {
  const struct resolved *fallback;
  struct slot *slots;
  size_t mask; /* their number, a power of two, less one */
  struct rg_ids named;
};

/* splitmix64's finisher: group numbers are dense, slots should not be. */
static uint64_t mix(uint64_t n)
{
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
  n = (n ^ n >> 27) * 0x94d049bb133111ebu;
  return n ^ n >> 31;
}

static struct slot *slot_of(const struct rg_group_table *t, uint64_t id)
{
  size_t i = (size_t)mix(id) & t->mask;
  while (t->slots[i].id != 0 && t->slots[i].id != id) i = (i + 1) & t->mask;
  return &t->slots[i];
}

static const struct resolved *find(const struct rg_group_table *t, uint64_t id)
{
  if (id == 0) return t->fallback;
  const struct slot *s = slot_of(t, id);
  return s->id == id ? s->settings : t->fallback;
}

static void lay(struct resolved *on, const struct rg_layer *layer, enum rg_origin origin)
{
  for (size_t i = 0; i < rg_keys[RG_SCOPE_GROUP].count; i++) {
    if (!(layer->set >> i & 1u)) continue;
    rg_value_copy(&rg_keys[RG_SCOPE_GROUP].items[i], &on->values, &layer->values);
    on->origin[i] = (uint8_t)origin;
  }
}

/* ---- what must fit together ---- */

static bool has(uint64_t bits, const char *name)
{
  const struct rg_key *key = rg_key_find(RG_SCOPE_GROUP, span_of(name));
  return bits >> rg_key_index(RG_SCOPE_GROUP, key) & 1u;
}

/* The value of "a.b" in a layer's mapping, or NULL. */
static const struct rg_yaml *value_in(const struct rg_yaml *map, const char *name)
{
  struct span rest = span_of(name);
  while (map && map->kind == RG_YAML_MAP) {
    size_t dot = span_find(rest, SPAN("."));
    const struct rg_yaml *key = map->first;
    while (key && !span_eq(key->text, (struct span) { rest.ptr, dot })) key = key->next->next;
    map = key ? key->next : NULL;
    if (dot == rest.len) return map;
    rest = (struct span) { rest.ptr + dot + 1, rest.len - dot - 1 };
  }
  return NULL;
}

static void tell(const struct rg_reading *r, const struct rg_layer *layer, const char *first,
                 const char *second, struct span what)
{
  const struct rg_yaml *node = value_in(layer->map, first);
  if (!node) node = value_in(layer->map, second);
  if (node) r->fault(r->ctx, node->place, what);
}

/* Told at the layer that was laid last; what lies below it was checked before. */
static void check(const struct rg_reading *r, const struct resolved *s,
                  const struct rg_layer *layer)
{
  const struct rg_group *g = &s->values;
  bool paced = has(layer->set, "pace.min") || has(layer->set, "pace.max");
  bool pace_bad = has(layer->bad, "pace.min") || has(layer->bad, "pace.max");
  if (paced && !pace_bad && g->pace.min > g->pace.max)
    tell(
        r, layer, "pace.min", "pace.max",
        arena_printf(r->notes,
                     "%.*s.pace: min is %.15g and max is %.15g here: write a min that is not above "
                     "the max",
                     (int)layer->path.len, layer->path.ptr, g->pace.min, g->pace.max));
  bool output_bad = has(layer->bad, "output") || has(layer->bad, "output_schema");
  bool output_set = has(layer->set, "output") || has(layer->set, "output_schema");
  if (output_set && !output_bad && g->output == RG_OUTPUT_SCHEMA && g->output_schema.path.len == 0)
    tell(r, layer, "output", "output_schema",
         arena_printf(r->notes, "%.*s.output: schema needs a file: write output_schema: FILE too",
                      (int)layer->path.len, layer->path.ptr));
}

/* ---- the table ---- */

/* The layer of a group, or NULL; groups are by number. */
static const struct rg_layer *layer_of(const struct rg_layers *layers, uint64_t id)
{
  size_t low = 0, high = layers ? layers->count : 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (layers->groups[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return layers && low < layers->count && layers->groups[low].id == id ? &layers->groups[low]
                                                                       : NULL;
}

/* The numbers of both lists, ascending, each once. */
static bool unite(const struct rg_layers *a, const struct rg_layers *b, struct arena *arena,
                  struct rg_ids *ret)
{
  size_t i = 0, j = 0, n = 0, m = b ? b->count : 0;
  uint64_t *ids = arena_zalloc(arena, a->count + m + 1, sizeof *ids);
  if (!ids) return false;
  while (i < a->count || j < m) {
    uint64_t x = i < a->count ? a->groups[i].id : UINT64_MAX;
    uint64_t y = j < m ? b->groups[j].id : UINT64_MAX;
    ids[n++] = x < y ? x : y;
    i += x <= y;
    j += y <= x;
  }
  *ret = (struct rg_ids) { ids, n };
  return true;
}

struct laying {
  const struct rg_reading *r;
  const struct rg_group *builtin;
  const struct rg_layers *file, *own;
  struct arena *arena;
};

static const struct resolved *resolve(const struct laying *l, uint64_t id)
{
  struct resolved *s = arena_zalloc(l->arena, 1, sizeof *s);
  if (!s) return NULL;
  s->values = *l->builtin;
  const struct rg_layer *below = layer_of(l->file, id), *above = layer_of(l->own, id);
  lay(s, &l->file->fallback, RG_FROM_DEFAULT);
  if (!l->own && id == 0) check(l->r, s, &l->file->fallback);
  if (below) {
    lay(s, below, RG_FROM_GROUP);
    if (!l->own) check(l->r, s, below);
  }
  if (l->own) {
    lay(s, &l->own->fallback, RG_FROM_ENDPOINT_DEFAULT);
    if (below || id == 0) check(l->r, s, &l->own->fallback);
  }
  if (above) {
    lay(s, above, RG_FROM_ENDPOINT_GROUP);
    check(l->r, s, above);
  }
  return s;
}

const struct rg_group_table *rg_layers_lay(const struct rg_reading *r,
                                           const struct rg_group *builtin,
                                           const struct rg_layers *file,
                                           const struct rg_layers *own,
                                           const struct rg_group_table *shared, struct arena *arena)
{
  struct laying l = { r, builtin, file, own, arena };
  struct rg_group_table *t = arena_zalloc(arena, 1, sizeof *t);
  if (!t || !unite(file, own, arena, &t->named)) return NULL;
  size_t slots = 2;
  while (slots < 2 * t->named.count) slots *= 2;
  t->slots = arena_zalloc(arena, slots, sizeof *t->slots);
  t->mask = slots - 1;
  t->fallback = resolve(&l, 0);
  if (!t->slots || !t->fallback) return NULL;
  for (size_t i = 0; i < t->named.count; i++) {
    uint64_t id = t->named.items[i];
    bool as_shared = shared && own->fallback.set == 0 && !layer_of(own, id);
    const struct resolved *s = as_shared ? find(shared, id) : resolve(&l, id);
    if (!s) return NULL;
    *slot_of(t, id) = (struct slot) { id, s };
  }
  return t;
}

const struct rg_group *rg_table_group(const struct rg_group_table *table, uint64_t id)
{
  return &find(table, id)->values;
}

enum rg_origin rg_table_origin(const struct rg_group_table *table, uint64_t id, size_t key)
{
  return (enum rg_origin)find(table, id)->origin[key];
}

struct rg_ids rg_table_named(const struct rg_group_table *table)
{
  return table->named;
}
