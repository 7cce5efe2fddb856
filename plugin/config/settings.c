#include "plugin/config/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/tree.h"

enum {
  OVERLAYS_MAX = 100000,       /* groups with overrides: ten times the largest bots */
  OVERLAY_ARENA_MAX = 4 << 20, /* every key of a group with its longest value */
  LOAD_ARENA_MAX = 512 << 20,
  LOADS_MAX = 3,  /* people do not set something in every millisecond */
  JSON_DEPTH = 4, /* a value is a scalar or a list of scalars */
};

struct item {
  const struct rg_key *key; /* NULL: this build has no such key */
  struct span name, value;  /* JSON */
};

/* The overrides of one group and what they make of one configuration. Never changed once made. */
struct rg_overlay {
  atomic_uint references;
  struct arena arena;
  struct rg_config *config; /* a reference: values lends from it */
  struct span endpoint;
  uint64_t group_id;
  struct item *items;
  size_t count;
  uint64_t set; /* bits of keys whose override has effect */
  struct rg_group values;
};

struct entry {
  struct entry *next;
  struct rg_overlay *overlay;
};

struct rg_settings {
  pthread_mutex_t mu; /* guards all below */
  struct rg_config *config;
  struct rg_store *store;
  rg_settings_note_fn *note;
  void *ctx;
  struct entry **buckets;
  size_t bucket_count, count; /* a power of two */
  uint64_t changes;           /* made in this process */
};

/* ---- overlays ---- */

static void release(struct rg_overlay *o)
{
  if (!o || atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) != 1) return;
  rg_config_release(o->config);
  arena_done(&o->arena);
  free(o);
}

static struct rg_overlay *keep(struct rg_overlay *o)
{
  if (o) atomic_fetch_add_explicit(&o->references, 1, memory_order_relaxed);
  return o;
}

/* An empty overlay with room for count items. */
static struct rg_overlay *overlay_new(struct rg_config *config, struct span endpoint,
                                      uint64_t group_id, size_t count)
{
  struct rg_overlay *o = calloc(1, sizeof *o);
  if (!o) return NULL;
  atomic_init(&o->references, 1);
  arena_init(&o->arena, OVERLAY_ARENA_MAX);
  o->config = rg_config_keep(config);
  o->endpoint = arena_copy(&o->arena, endpoint);
  o->group_id = group_id;
  o->items = arena_zalloc(&o->arena, count + 1, sizeof *o->items);
  if (o->endpoint.ptr && o->items) return o;
  release(o);
  return NULL;
}

static bool overlay_add(struct rg_overlay *o, struct span name, struct span value)
{
  struct item *item = &o->items[o->count];
  item->key = rg_key_find(RG_SCOPE_GROUP, name);
  item->name = arena_copy(&o->arena, name);
  item->value = arena_copy(&o->arena, value);
  o->count++;
  return item->name.ptr && item->value.ptr;
}

/* The first fault of a value, kept for whoever asks. */
struct first_fault {
  struct arena *arena;
  struct span what;
};

static void on_fault(void *ctx, struct rg_text_place place, struct span what)
{
  struct first_fault *f = ctx;
  (void)place;
  if (!f->what.ptr) f->what = arena_copy(f->arena, what);
}

/* Lays one override on values. False: it does not fit; fault then says why. */
static bool item_lay(struct rg_overlay *o, const struct item *item, struct first_fault *fault)
{
  struct schema_node *json;
  struct schema_error error;
  struct rg_reading r = { .arena = &o->arena,
                          .notes = fault->arena,
                          .language = SCHEMA_EN,
                          .folder = o->config->folder,
                          .files = o->config->path.len > 0,
                          .fault = on_fault,
                          .ctx = fault };
  if (!item->key) {
    fault->what = SPAN("this build has no such key");
    return false;
  }
  if (schema_tree_read(item->value, JSON_DEPTH, &o->arena, &json, &error) != SCHEMA_OK) {
    fault->what = SPAN("its value is damaged");
    return false;
  }
  struct rg_yaml *value = rg_value_from_json(json, &o->arena);
  struct rg_group before = o->values;
  if (value && rg_value_read(&r, item->key, value, item->name, &o->values)) return true;
  o->values = before;
  return false;
}

static void note_unfit(struct rg_settings *s, const struct rg_overlay *o, const struct item *item,
                       struct span what)
{
  char line[512];
  if (!s->note) return;
  int n = snprintf(line, sizeof line,
                   "endpoint %.*s, group %llu: what was set for %.*s in the chat "
                   "has no effect: %.*s",
                   (int)o->endpoint.len, o->endpoint.ptr, (unsigned long long)o->group_id,
                   (int)item->name.len, item->name.ptr, (int)what.len, what.ptr);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
  s->note(s->ctx, (struct span) { line, length });
}

/* Makes values of the configuration and the items; tells of those that do not fit. */
static void overlay_resolve(struct rg_settings *s, struct rg_overlay *o)
{
  struct arena notes;
  arena_init(&notes, 64 * 1024);
  const struct rg_endpoint *e = rg_config_endpoint(o->config, o->endpoint);
  o->values = *rg_config_group(o->config, e, o->group_id);
  for (size_t i = 0; i < o->count; i++) {
    struct first_fault fault = { .arena = &notes };
    if (item_lay(o, &o->items[i], &fault))
      o->set |= 1ull << rg_key_index(RG_SCOPE_GROUP, o->items[i].key);
    else
      note_unfit(s, o, &o->items[i], fault.what);
    arena_reset(&notes);
  }
  /* the file may have changed below an override: what must fit together does so here */
  if (o->values.pace.max < o->values.pace.min) o->values.pace.max = o->values.pace.min;
  arena_done(&notes);
}

/* ---- the table; all under the mutex ---- */

static size_t hash(struct span endpoint, uint64_t group_id)
{
  uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
  for (size_t i = 0; i < endpoint.len; i++)
    h = (h ^ (unsigned char)endpoint.ptr[i]) * 0x100000001b3u;
  h = (h ^ group_id) * 0x9e3779b97f4a7c15u;
  return (size_t)(h ^ h >> 32);
}

static struct entry **place_of(struct rg_settings *s, struct span endpoint, uint64_t group_id)
{
  struct entry **at = &s->buckets[hash(endpoint, group_id) & (s->bucket_count - 1)];
  while (*at &&
         !((*at)->overlay->group_id == group_id && span_eq((*at)->overlay->endpoint, endpoint)))
    at = &(*at)->next;
  return at;
}

static bool grow(struct rg_settings *s)
{
  size_t count = s->bucket_count * 2;
  struct entry **buckets = calloc(count, sizeof(struct entry *));
  if (!buckets) return false;
  for (size_t i = 0; i < s->bucket_count; i++) {
    struct entry *next;
    for (struct entry *e = s->buckets[i]; e; e = next) {
      next = e->next;
      size_t to = hash(e->overlay->endpoint, e->overlay->group_id) & (count - 1);
      e->next = buckets[to];
      buckets[to] = e;
    }
  }
  free(s->buckets);
  s->buckets = buckets;
  s->bucket_count = count;
  return true;
}

/* Puts an overlay in the place of an older one of its group. Takes it, also on failure. */
static bool table_put(struct rg_settings *s, struct rg_overlay *o)
{
  struct entry **at = place_of(s, o->endpoint, o->group_id);
  if (*at) {
    release((*at)->overlay);
    (*at)->overlay = o;
    return true;
  }
  struct entry *e = s->count < OVERLAYS_MAX ? calloc(1, sizeof *e) : NULL;
  if (!e || (s->count >= s->bucket_count && !grow(s))) {
    free(e);
    release(o);
    return false;
  }
  at = place_of(s, o->endpoint, o->group_id);
  e->overlay = o;
  *at = e;
  s->count++;
  return true;
}

static void table_drop(struct rg_settings *s, struct span endpoint, uint64_t group_id)
{
  struct entry **at = place_of(s, endpoint, group_id), *e = *at;
  if (!e) return;
  *at = e->next;
  release(e->overlay);
  free(e);
  s->count--;
}

static void table_clear(struct rg_settings *s)
{
  for (size_t i = 0; i < s->bucket_count; i++) {
    while (s->buckets[i]) {
      struct entry *e = s->buckets[i];
      s->buckets[i] = e->next;
      release(e->overlay);
      free(e);
    }
  }
  s->count = 0;
}

/* A copy of old (which may be NULL) without the overrides of the keys in drop, and with name and
 * value where name is not empty. */
static struct rg_overlay *overlay_changed(struct rg_settings *s, const struct rg_overlay *old,
                                          struct span endpoint, uint64_t group_id,
                                          const struct rg_key *key, struct span value)
{
  size_t count = old ? old->count : 0;
  struct rg_overlay *o = overlay_new(s->config, endpoint, group_id, count + 1);
  bool fine = o != NULL;
  for (size_t i = 0; fine && i < count; i++)
    if (!key || old->items[i].key != key)
      fine = overlay_add(o, old->items[i].name, old->items[i].value);
  if (fine && key) fine = overlay_add(o, span_of(key->name), value);
  if (fine) {
    overlay_resolve(s, o);
    return o;
  }
  release(o);
  return NULL;
}

/* The overlay of a group for the configuration of now, lent; NULL: none. False: no memory. */
static bool overlay_now(struct rg_settings *s, struct span endpoint, uint64_t group_id,
                        struct rg_overlay **ret)
{
  struct entry *e = *place_of(s, endpoint, group_id);
  *ret = NULL;
  if (!e) return true;
  if (e->overlay->config != s->config) {
    struct rg_overlay *o =
        overlay_changed(s, e->overlay, e->overlay->endpoint, group_id, NULL, SPAN(""));
    if (!o) return false;
    release(e->overlay);
    e->overlay = o;
  }
  *ret = e->overlay;
  return true;
}

/* ---- the whole ---- */

struct rg_settings *rg_settings_new(struct rg_config *config, struct rg_store *store,
                                    rg_settings_note_fn *note, void *ctx)
{
  enum { BUCKETS = 64 };
  struct rg_settings *s = calloc(1, sizeof *s);
  struct entry **buckets = calloc(BUCKETS, sizeof(struct entry *));
  if (!s || !buckets || pthread_mutex_init(&s->mu, NULL) != 0) {
    free(buckets);
    free(s);
    return NULL;
  }
  s->config = rg_config_keep(config);
  s->store = store;
  s->note = note;
  s->ctx = ctx;
  s->buckets = buckets;
  s->bucket_count = BUCKETS;
  return s;
}

void rg_settings_free(struct rg_settings *s)
{
  if (!s) return;
  table_clear(s);
  rg_config_release(s->config);
  pthread_mutex_destroy(&s->mu);
  free(s->buckets);
  free(s);
}

/* Overrides as they come from the store, to be sorted by group. */
struct loading {
  struct arena arena;
  struct rg_override *items;
  size_t count, room;
  bool failed;
};

static void on_override(void *ctx, const struct rg_override *o)
{
  struct loading *l = ctx;
  if (l->count == l->room) {
    size_t room = l->room ? l->room * 2 : 64;
    struct rg_override *items =
        room <= OVERLAYS_MAX * RG_GROUP_KEYS_MAX ? realloc(l->items, room * sizeof *items) : NULL;
    if (!items) {
      l->failed = true;
      return;
    }
    l->items = items;
    l->room = room;
  }
  l->items[l->count++] = (struct rg_override) { .endpoint = arena_copy(&l->arena, o->endpoint),
                                                .group = o->group,
                                                .key = arena_copy(&l->arena, o->key),
                                                .value = arena_copy(&l->arena, o->value) };
  l->failed = l->failed || l->arena.failed;
}

static int by_group(const void *a, const void *b)
{
  const struct rg_override *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  size_t n = x->endpoint.len < y->endpoint.len ? x->endpoint.len : y->endpoint.len;
  int order = memcmp(x->endpoint.ptr, y->endpoint.ptr, n);
  if (order != 0) return order;
  return x->endpoint.len < y->endpoint.len ? -1 : x->endpoint.len > y->endpoint.len;
}

/* Fills the emptied table. */
static bool take_over(struct rg_settings *s, struct loading *l)
{
  if (l->count > 0) qsort(l->items, l->count, sizeof *l->items, by_group);
  for (size_t i = 0, end; i < l->count; i = end) {
    for (end = i + 1; end < l->count && by_group(&l->items[i], &l->items[end]) == 0;) end++;
    struct rg_overlay *o = overlay_new(s->config, l->items[i].endpoint, l->items[i].group, end - i);
    bool fine = o != NULL;
    for (size_t j = i; fine && j < end; j++)
      fine = overlay_add(o, l->items[j].key, l->items[j].value);
    if (!fine) {
      release(o);
      return false;
    }
    overlay_resolve(s, o);
    if (!table_put(s, o)) return false;
  }
  return true;
}

bool rg_settings_load(struct rg_settings *s, char *why, size_t cap)
{
  struct loading l = { .count = 0 };
  arena_init(&l.arena, LOAD_ARENA_MAX);
  pthread_mutex_lock(&s->mu);
  struct rg_store *store = s->store;
  bool fine = true, late = store != NULL;
  /* no message waits while the store is read: what was set meanwhile may be missing then */
  for (int n = 0; late && fine && n < LOADS_MAX; n++) {
    uint64_t before = s->changes;
    pthread_mutex_unlock(&s->mu);
    arena_reset(&l.arena);
    l.count = 0;
    fine = store->methods->override_each(store, on_override, &l, why, cap);
    pthread_mutex_lock(&s->mu);
    late = s->changes != before;
  }
  if (fine && store) {
    table_clear(s);
    fine = !l.failed && take_over(s, &l);
    if (!fine) snprintf(why, cap, "store: no memory for what was set in the chat");
  }
  pthread_mutex_unlock(&s->mu);
  arena_done(&l.arena);
  free(l.items);
  return fine;
}

void rg_settings_use(struct rg_settings *s, struct rg_config *config, struct rg_store *store)
{
  pthread_mutex_lock(&s->mu);
  struct rg_config *old = s->config;
  s->config = rg_config_keep(config);
  s->store = store;
  pthread_mutex_unlock(&s->mu);
  rg_config_release(old);
}

/* ---- views ---- */

static bool view_locked(struct rg_settings *s, struct span endpoint, uint64_t group_id,
                        struct rg_view *ret)
{
  struct rg_overlay *o;
  const struct rg_endpoint *e = rg_config_endpoint(s->config, endpoint);
  bool fine = overlay_now(s, e ? e->name : endpoint, group_id, &o); /* "": the only one */
  *ret = (struct rg_view) { .config = rg_config_keep(s->config),
                            .overlay = keep(o),
                            .group_id = group_id };
  ret->endpoint = e;
  ret->group = o ? &o->values : rg_config_group(s->config, ret->endpoint, group_id);
  return fine;
}

bool rg_settings_view(struct rg_settings *s, struct span endpoint, uint64_t group_id,
                      struct rg_view *ret)
{
  pthread_mutex_lock(&s->mu);
  bool fine = view_locked(s, endpoint, group_id, ret);
  pthread_mutex_unlock(&s->mu);
  return fine;
}

void rg_view_done(struct rg_view *v)
{
  release(v->overlay);
  rg_config_release(v->config);
  *v = (struct rg_view) { .config = NULL };
}

struct rg_view rg_view_keep(const struct rg_view *v)
{
  keep(v->overlay);
  if (v->config) rg_config_keep(v->config);
  return *v;
}

enum rg_origin rg_view_origin(const struct rg_view *v, const struct rg_key *key)
{
  size_t i = rg_key_index(RG_SCOPE_GROUP, key);
  if (v->overlay && v->overlay->set >> i & 1u) return RG_FROM_OVERRIDE;
  return rg_config_origin(v->config, v->endpoint, v->group_id, i);
}

/* ---- changes ---- */

static struct span printed(const struct rg_key *key, const struct rg_group *g, enum rg_print form,
                           struct arena *arena)
{
  struct buf b;
  buf_init(&b, OVERLAY_ARENA_MAX);
  rg_value_print(key, g, form, &b);
  struct span text = arena_copy(arena, buf_span(&b));
  buf_done(&b);
  return text.ptr ? text : SPAN("");
}

/* What a new value breaks together with others, or an empty span. */
static struct span conflict(const struct rg_config *c, const struct rg_group *g,
                            const struct rg_key *key, enum schema_language language,
                            struct arena *arena)
{
  bool en = language == SCHEMA_EN;
  bool paces = strcmp(key->name, "pace.min") == 0 || strcmp(key->name, "pace.max") == 0;
  if (paces && g->pace.min > g->pace.max)
    return arena_printf(
        arena,
        en ? "%s: pace.min would be %.15g and pace.max %.15g: change the other first"
           : "%s：这样 pace.min 是 %.15g，pace.max 是 %.15g：请先改另一个",
        key->name, g->pace.min, g->pace.max);
  if (strcmp(key->name, "output") == 0 && g->output == RG_OUTPUT_SCHEMA &&
      g->output_schema.path.len == 0)
    return en ? SPAN("output: schema needs a file: set output_schema first")
              : SPAN("output：schema 需要文件：请先设置 output_schema");
  bool tools = strcmp(key->name, "agent.tools") == 0;
  for (size_t i = 0; tools && i < g->agent.http_tools.count; i++)
    if (!rg_config_tool(c, g->agent.http_tools.items[i]))
      return en ? SPAN("agent.tools: no tool of this name: see tools in the configuration")
                : SPAN("agent.tools：没有这个工具：请看配置里的 tools");
  return (struct span) { NULL, 0 };
}

/* The value as JSON, as the store keeps it; empty after a fault in ret->why. */
static struct span to_json(const struct rg_view *v, const struct rg_key *key,
                           const struct rg_yaml *value, enum schema_language language,
                           struct arena *arena, struct rg_change *ret)
{
  struct first_fault fault = { .arena = arena };
  struct rg_reading r = { .arena = arena,
                          .notes = arena,
                          .language = language,
                          .folder = v->config->folder,
                          .files = v->config->path.len > 0,
                          .fault = on_fault,
                          .ctx = &fault };
  struct rg_group g = *v->group;
  struct span none = { NULL, 0 };
  if (rg_value_read(&r, key, value, span_of(key->name), &g)) {
    ret->why = conflict(v->config, &g, key, language, arena);
    return ret->why.len > 0 ? none : printed(key, &g, RG_PRINT_JSON, arena);
  }
  ret->why = fault.what.ptr ? fault.what : span_of(key->name);
  return none;
}

static enum rg_change_result no_memory(struct rg_change *ret)
{
  ret->why = SPAN("out of memory");
  return RG_NOT_CHANGED;
}

static enum rg_change_result set_locked(struct rg_settings *s, struct rg_override *change,
                                        const struct rg_key *key, const struct rg_yaml *value,
                                        enum schema_language language, struct arena *arena,
                                        struct rg_change *ret)
{
  struct rg_view v;
  enum rg_change_result result = RG_NOT_CHANGED;
  char why[512] = "";
  if (!view_locked(s, change->endpoint, change->group, &v)) {
    rg_view_done(&v);
    return no_memory(ret);
  }
  if (v.endpoint) change->endpoint = v.endpoint->name;
  ret->old = printed(key, v.group, RG_PRINT_YAML, arena);
  change->value = to_json(&v, key, value, language, arena, ret);
  if (change->value.len == 0) goto done;
  struct rg_overlay *o =
      overlay_changed(s, v.overlay, change->endpoint, change->group, key, change->value);
  if (o) ret->now = printed(key, &o->values, RG_PRINT_YAML, arena);
  if (!o || !table_put(s, o)) {
    result = no_memory(ret);
    goto done;
  }
  result = RG_CHANGED;
  if (s->store && !s->store->methods->override_put(s->store, change, why, sizeof why)) {
    ret->why = arena_copy(arena, span_of(why));
    result = RG_CHANGED_UNSAVED;
  }
done:
  rg_view_done(&v);
  return result;
}

enum rg_change_result rg_settings_set(struct rg_settings *s, struct span endpoint,
                                      uint64_t group_id, const struct rg_key *key,
                                      const struct rg_yaml *value, struct span author,
                                      enum schema_language language, struct arena *arena,
                                      struct rg_change *ret)
{
  struct rg_override change = {
    .endpoint = endpoint, .group = group_id, .key = span_of(key->name), .author = author
  };
  *ret = (struct rg_change) { .why = { NULL, 0 } };
  pthread_mutex_lock(&s->mu);
  s->changes++;
  enum rg_change_result result = set_locked(s, &change, key, value, language, arena, ret);
  pthread_mutex_unlock(&s->mu);
  return result;
}

/* Whether name is key, or one of its keys where it is a section. */
static bool is_below(struct span name, const struct rg_key *key)
{
  struct span whole = span_of(key->name);
  if (key->type != RG_KEY_SECTION) return span_eq(name, whole);
  return span_starts(name, whole) && name.len > whole.len && name.ptr[whole.len] == '.';
}

/* The overlay without what key covers; what is left of it may be nothing. */
static struct rg_overlay *overlay_without(struct rg_settings *s, const struct rg_overlay *old,
                                          const struct rg_key *key, size_t *retcount)
{
  struct rg_overlay *o = overlay_new(s->config, old->endpoint, old->group_id, old->count);
  bool fine = o != NULL;
  *retcount = 0;
  for (size_t i = 0; fine && i < old->count; i++) {
    if (!key || is_below(old->items[i].name, key))
      (*retcount)++;
    else
      fine = overlay_add(o, old->items[i].name, old->items[i].value);
  }
  if (fine) {
    overlay_resolve(s, o);
    return o;
  }
  release(o);
  return NULL;
}

/* Drops in the store what key covers in old. */
static bool store_drop(struct rg_settings *s, const struct rg_overlay *old,
                       const struct rg_key *key, char *why, size_t cap)
{
  const struct rg_store_methods *m = s->store ? s->store->methods : NULL;
  if (!m) return true;
  if (!key) return m->override_drop(s->store, old->endpoint, old->group_id, SPAN(""), why, cap);
  bool fine = true;
  for (size_t i = 0; i < old->count; i++)
    if (is_below(old->items[i].name, key) &&
        !m->override_drop(s->store, old->endpoint, old->group_id, old->items[i].name, why, cap))
      fine = false;
  return fine;
}

static enum rg_change_result reset_locked(struct rg_settings *s, struct span endpoint,
                                          uint64_t group_id, const struct rg_key *key,
                                          size_t *retcount, struct arena *arena,
                                          struct rg_change *ret)
{
  struct rg_view v;
  enum rg_change_result result = RG_CHANGED;
  char why[512] = "";
  bool single = key && key->type != RG_KEY_SECTION;
  if (!view_locked(s, endpoint, group_id, &v)) {
    rg_view_done(&v);
    return no_memory(ret);
  }
  if (v.endpoint) endpoint = v.endpoint->name;
  if (single) ret->old = ret->now = printed(key, v.group, RG_PRINT_YAML, arena);
  if (!v.overlay) goto done;
  struct rg_overlay *o = overlay_without(s, v.overlay, key, retcount);
  if (!o) {
    result = no_memory(ret);
    goto done;
  }
  if (single) ret->now = printed(key, &o->values, RG_PRINT_YAML, arena);
  if (*retcount > 0 && !store_drop(s, v.overlay, key, why, sizeof why)) {
    ret->why = arena_copy(arena, span_of(why));
    result = RG_CHANGED_UNSAVED;
  }
  if (o->count > 0) {
    if (!table_put(s, o)) result = no_memory(ret);
  } else {
    release(o);
    table_drop(s, endpoint, group_id);
  }
done:
  rg_view_done(&v);
  return result;
}

enum rg_change_result rg_settings_reset(struct rg_settings *s, struct span endpoint,
                                        uint64_t group_id, const struct rg_key *key,
                                        size_t *retcount, struct arena *arena,
                                        struct rg_change *ret)
{
  *ret = (struct rg_change) { .why = { NULL, 0 } };
  *retcount = 0;
  pthread_mutex_lock(&s->mu);
  s->changes++;
  enum rg_change_result result = reset_locked(s, endpoint, group_id, key, retcount, arena, ret);
  pthread_mutex_unlock(&s->mu);
  return result;
}

/* ---- groups ---- */

static int by_number(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

struct rg_ids rg_settings_groups(struct rg_settings *s, struct span endpoint, struct arena *arena)
{
  pthread_mutex_lock(&s->mu);
  struct rg_ids named = rg_config_named(s->config, rg_config_endpoint(s->config, endpoint));
  uint64_t *ids = arena_zalloc(arena, named.count + s->count + 1, sizeof *ids);
  size_t n = 0, kept = 0;
  for (size_t i = 0; ids && i < named.count; i++) ids[n++] = named.items[i];
  for (size_t i = 0; ids && i < s->bucket_count; i++)
    for (const struct entry *e = s->buckets[i]; e; e = e->next)
      if (span_eq(e->overlay->endpoint, endpoint)) ids[n++] = e->overlay->group_id;
  pthread_mutex_unlock(&s->mu);
  if (n > 0) qsort(ids, n, sizeof *ids, by_number);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || ids[kept - 1] != ids[i]) ids[kept++] = ids[i];
  return (struct rg_ids) { ids, kept };
}
