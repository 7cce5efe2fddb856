/* config_read: the loader. Walks the tree of a file by the table of keys, tells every fault, and
 * fills the snapshot. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/config/config_address.h"
#include "plugin/config/config_check.h"
#include "plugin/provider/provider.h"

enum {
  NAME_SHOWN_MAX = 80,          /* bytes of a key that a fault repeats */
  TREE_MAX = 512 * 1024 * 1024, /* an 8 MiB file of one-byte values, 100 bytes a node, at most */
  CONFIG_MAX = 256 * 1024 * 1024
};

/* ---- faults ---- */

static void on_fault(void *ctx, struct rg_text_place place, struct span what)
{
  struct rg_loader *l = ctx;
  for (size_t i = 0; i < l->fault_count; i++) {
    const struct rg_config_fault *f = &l->faults[i];
    if (f->line == place.line && f->column == place.column && span_eq(f->what, what)) return;
  }
  if (l->fault_count == RG_FAULTS_MAX) return;
  struct span copy = arena_copy(l->notes, what);
  if (!copy.ptr) copy = SPAN("a fault, and no memory to say which");
  l->faults[l->fault_count++] = (struct rg_config_fault) { place.line, place.column, copy };
}

static void on_text_fault(void *ctx, struct rg_text_place place, const char *what)
{
  on_fault(ctx, place, span_of(what));
}

void rg_loader_tell(struct rg_loader *l, const struct rg_yaml *node, const char *format, ...)
{
  char line[1024];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
  on_fault(l, node->place, (struct span) { line, length });
}

/* Words about a scalar that should have been a mapping. */
static const char *hint(const struct rg_yaml *node)
{
  return node->kind == RG_YAML_SCALAR && node->plain ? rg_yaml_hint(node->text) : "";
}

static int by_place(const void *a, const void *b)
{
  const struct rg_config_fault *x = a, *y = b;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

/* ---- paths ---- */

static struct span shown_name(struct span name)
{
  return name.len <= NAME_SHOWN_MAX ? name : SPAN("(a very long key)");
}

static struct span path_to(struct rg_loader *l, struct span path, struct span name)
{
  name = shown_name(name);
  struct span whole = path.len == 0 ? arena_copy(&l->tree, name)
                                    : arena_printf(&l->tree, "%.*s.%.*s", (int)path.len, path.ptr,
                                                   (int)name.len, name.ptr);
  return whole.ptr ? whole : SPAN("?");
}

/* "pace" and "min" -> "pace.min"; a name that cannot be a key becomes one that is none. */
static struct span full_name(struct rg_loader *l, struct span section, struct span name)
{
  if (memchr(name.ptr, '.', name.len)) return SPAN("");
  return section.len == 0 ? name : path_to(l, section, name);
}

/* ---- keys that are not known ---- */

/* The names that may stand in the section of a scope. */
static size_t names_in(enum rg_scope scope, struct span section, struct span *names, size_t max)
{
  size_t n = 0;
  for (size_t i = 0; i < rg_keys[scope].count && n < max; i++) {
    struct span name = span_of(rg_keys[scope].items[i].name);
    if (section.len > 0) {
      if (!span_starts(name, section) || name.ptr[section.len] != '.') continue;
      name.ptr += section.len + 1;
      name.len -= section.len + 1;
    }
    if (!memchr(name.ptr, '.', name.len)) names[n++] = name;
  }
  return n;
}

/* Where a key that stands in the wrong place belongs, or NULL. */
static const char *home_of(enum rg_scope scope, struct span name)
{
  static const char *const homes[RG_SCOPE_COUNT] = {
    [RG_SCOPE_TOP] = "at the top of the file",
    [RG_SCOPE_ENDPOINT] = "under endpoints.NAME",
    [RG_SCOPE_GROUP] = "under groups.default or a group's number",
    [RG_SCOPE_PROVIDER] = "under providers.NAME",
    [RG_SCOPE_TOOL] = "under tools.NAME",
  };
  for (size_t i = 0; i < RG_SCOPE_COUNT; i++)
    if ((enum rg_scope)i != scope && homes[i] && rg_key_find((enum rg_scope)i, name))
      return homes[i];
  return NULL;
}

static void unknown(struct rg_loader *l, const struct rg_mapping *m, struct span section,
                    const struct rg_yaml *key, struct span path)
{
  enum { NAMES_MAX = 64 };
  struct span names[NAMES_MAX] = { { NULL, 0 } };
  if (l->fault_count == RG_FAULTS_MAX) return; /* a search in vain for each of many keys is slow */
  size_t count = names_in(m->scope, section, names, NAMES_MAX);
  struct span meant = rg_nearest(key->text, names, count);
  const char *home = section.len == 0 ? home_of(m->scope, key->text) : NULL;
  if (meant.len > 0) {
    rg_loader_tell(l, key, "%.*s: unknown key: do you mean %.*s?", (int)path.len, path.ptr,
                   (int)meant.len, meant.ptr);
    return;
  }
  if (home) {
    rg_loader_tell(l, key, "%.*s: unknown key here: it belongs %s", (int)path.len, path.ptr, home);
    return;
  }
  struct buf b;
  buf_init(&b, 1000);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) buf_add(&b, SPAN(", "));
    buf_add(&b, names[i]);
  }
  rg_loader_tell(l, key, "%.*s: unknown key: known here are %.*s", (int)path.len, path.ptr,
                 (int)b.len, b.ptr);
  buf_done(&b);
}

/* ---- defaults ---- */

static const void *defaults_of(const struct rg_loader *l, enum rg_scope scope)
{
  switch (scope) {
  case RG_SCOPE_TOP: return &l->top;
  case RG_SCOPE_ENDPOINT: return &l->endpoint;
  case RG_SCOPE_GROUP: return &l->group;
  case RG_SCOPE_PROVIDER: return &l->provider;
  case RG_SCOPE_TOOL: return &l->tool;
  case RG_SCOPE_FRAMEWORK: return &l->framework;
  case RG_SCOPE_COUNT: break;
  }
  return NULL;
}

/* ---- mappings ---- */

static void read_endpoint(struct rg_loader *l, const struct rg_yaml *key, struct span path,
                          void *base);
static void read_provider(struct rg_loader *l, const struct rg_yaml *key, struct span path,
                          void *base);
static void read_tool(struct rg_loader *l, const struct rg_yaml *key, struct span path, void *base);
static void *read_named(struct rg_loader *l, const struct rg_yaml *map, struct span path,
                        enum rg_scope scope, size_t size, size_t *retcount,
                        void (*read)(struct rg_loader *l, const struct rg_yaml *key,
                                     struct span path, void *item));
static void read_groups(struct rg_loader *l, const struct rg_yaml *map, struct span path,
                        struct rg_layers *ret);

static void read_section(struct rg_loader *l, struct rg_mapping *m, const struct rg_yaml *map,
                         struct span section, struct span path);

/* A key that is a mapping or list with keys of its own. */
static void read_inner(struct rg_loader *l, struct rg_mapping *m, const struct rg_key *key,
                       const struct rg_yaml *value, struct span name, struct span path)
{
  struct rg_config *c = l->c;
  bool is_list = key->type == RG_KEY_FRAMEWORKS;
  if (value->faulty) return;
  if (value->kind != (is_list ? RG_YAML_LIST : RG_YAML_MAP)) {
    rg_value_read(&l->r, key, value, path, m->base); /* tells the wrong type */
    return;
  }
  if (key->type == RG_KEY_SECTION) {
    if (m->scope == RG_SCOPE_TOP && span_is(name, "relay")) c->relay.present = true;
    read_section(l, m, value, name, path);
  } else if (key->type == RG_KEY_ENDPOINTS) {
    c->endpoints = read_named(l, value, path, RG_SCOPE_ENDPOINT, sizeof *c->endpoints,
                              &c->endpoint_count, read_endpoint);
  } else if (key->type == RG_KEY_PROVIDERS) {
    c->providers = read_named(l, value, path, RG_SCOPE_PROVIDER, sizeof *c->providers,
                              &c->provider_count, read_provider);
  } else if (key->type == RG_KEY_TOOLS) {
    c->tools =
        read_named(l, value, path, RG_SCOPE_TOOL, sizeof *c->tools, &c->tool_count, read_tool);
  } else if (is_list) {
    l->frameworks = value;
  } else if (m->scope == RG_SCOPE_TOP) {
    read_groups(l, value, path, &l->groups);
  }
  /* an endpoint's groups are read by read_endpoint, which keeps their layers */
}

static void read_section(struct rg_loader *l, struct rg_mapping *m, const struct rg_yaml *map,
                         struct span section, struct span path)
{
  for (const struct rg_yaml *key = map->first; key; key = key->next->next) {
    if (key->faulty) {
      m->unknown = true;
      continue;
    }
    struct span name = full_name(l, section, key->text), below = path_to(l, path, key->text);
    const struct rg_key *row = rg_key_find(m->scope, name);
    if (!row) {
      m->unknown = true;
      unknown(l, m, section, key, below);
      continue;
    }
    uint64_t bit = 1ull << rg_key_index(m->scope, row);
    m->set |= bit;
    if (row->type == RG_KEY_SECTION || row->type == RG_KEY_ENDPOINTS ||
        row->type == RG_KEY_PROVIDERS || row->type == RG_KEY_TOOLS || row->type == RG_KEY_GROUPS ||
        row->type == RG_KEY_FRAMEWORKS)
      read_inner(l, m, row, key->next, name, below);
    else if (!rg_value_read(&l->r, row, key->next, below, m->base))
      m->bad |= bit;
  }
}

static bool has(const struct rg_mapping *m, const char *name)
{
  return m->set >> rg_key_index(m->scope, rg_key_find(m->scope, span_of(name))) & 1u;
}

const struct rg_yaml *rg_yaml_key(const struct rg_yaml *map, const char *name)
{
  const struct rg_yaml *key = map->first;
  while (key && (key->faulty || !span_is(key->text, name))) key = key->next->next;
  return key;
}

/* Fills base with what its keys have where a file does not name them. */
static void fill(const struct rg_loader *l, enum rg_scope scope, void *base)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++)
    rg_value_copy(&rg_keys[scope].items[i], base, defaults_of(l, scope));
}

/* ---- groups ---- */

static int by_number(const void *a, const void *b)
{
  const struct rg_layer *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static void read_layer(struct rg_loader *l, const struct rg_yaml *key, uint64_t id,
                       struct span path, struct rg_layer *ret)
{
  struct rg_mapping m = { .scope = RG_SCOPE_GROUP,
                          .base = &ret->values,
                          .path = path_to(l, path, key->text) };
  const struct rg_yaml *map = key->next;
  ret->id = id;
  ret->path = m.path;
  if (map->faulty) return;
  if (map->kind != RG_YAML_MAP) {
    rg_loader_tell(l, map, "%.*s: write the settings of this group below it, or {} for none%s",
                   (int)m.path.len, m.path.ptr, hint(map));
    return;
  }
  ret->map = map;
  read_section(l, &m, map, SPAN(""), m.path);
  ret->set = m.set & ~m.bad;
  ret->bad = m.bad;
}

static void read_groups(struct rg_loader *l, const struct rg_yaml *map, struct span path,
                        struct rg_layers *ret)
{
  ret->groups = arena_zalloc(&l->tree, map->count + 1, sizeof *ret->groups);
  if (!ret->groups) {
    rg_loader_tell(l, map, "out of memory");
    return;
  }
  for (const struct rg_yaml *key = map->first; key; key = key->next->next) {
    if (key->faulty) continue;
    int64_t id = 0;
    if (!ob_id_read(key->text, &id) || id < 0) id = 0;
    if (span_is(key->text, "default")) {
      read_layer(l, key, 0, path, &ret->fallback);
    } else if (id == 0) {
      struct span name = shown_name(key->text);
      rg_loader_tell(l, key,
                     "%.*s: %.*s is no group: write default or a group's number, digits only",
                     (int)path.len, path.ptr, (int)name.len, name.ptr);
    } else
      read_layer(l, key, (uint64_t)id, path, &ret->groups[ret->count++]);
  }
  qsort(ret->groups, ret->count, sizeof *ret->groups, by_number);
}

/* ---- what has names: endpoints, providers, tools ---- */

/* What is wrong with the name of an endpoint or provider; NULL: nothing. */
static const char *name_fault(struct span s)
{
  enum { NAME_MAX_BYTES = 64 };
  bool usable = s.len > 0 && s.len <= NAME_MAX_BYTES;
  for (size_t i = 0; usable && i < s.len; i++)
    usable = (unsigned char)s.ptr[i] > ' ' && !strchr("/\\\"'", s.ptr[i]);
  return usable ? NULL
                : "not a usable name: write at most 64 bytes (a Chinese character has 3) without "
                  "spaces, quotes and slashes";
}

/* Whether the keys of an entry can be read: its name is sound (fault is NULL) and it is a mapping.
 * What is wrong is told, with what it is (an endpoint, …) and a key that it could have. */
static bool is_entry(struct rg_loader *l, const struct rg_yaml *key, struct span path,
                     const char *fault, const char *what, const char *example)
{
  const struct rg_yaml *map = key->next;
  if (map->faulty) return false;
  if (!fault && map->kind == RG_YAML_MAP) return true;
  if (fault)
    rg_loader_tell(l, key, "%.*s: %s", (int)path.len, path.ptr, fault);
  else
    rg_loader_tell(l, map, "%.*s: write the keys of this %s below it, like %s%s", (int)path.len,
                   path.ptr, what, example, hint(map));
  return false;
}

/* Reads the items of a mapping into an array, each of so many bytes. *retcount counts them as they
 * come. NULL: no memory. */
static void *read_named(struct rg_loader *l, const struct rg_yaml *map, struct span path,
                        enum rg_scope scope, size_t size, size_t *retcount,
                        void (*read)(struct rg_loader *l, const struct rg_yaml *key,
                                     struct span path, void *item))
{
  char *items = arena_zalloc(&l->c->arena, map->count + 1, size);
  if (!items) rg_loader_tell(l, map, "out of memory");
  for (const struct rg_yaml *key = items ? map->first : NULL; key; key = key->next->next) {
    if (key->faulty) continue;
    void *item = items + size * (*retcount)++;
    fill(l, scope, item);
    read(l, key, path, item);
  }
  return items;
}

/* ---- endpoints ---- */

/* What an endpoint needs beyond each key. */
static void check_endpoint(struct rg_loader *l, const struct rg_mapping *m,
                           const struct rg_yaml *key, const struct rg_endpoint *e)
{
  const struct rg_yaml *map = key->next, *listen = rg_yaml_key(map, "listen");
  struct span path = m->path;
  if (has(m, "connect") && has(m, "listen"))
    rg_loader_tell(l, listen,
                   "%.*s.listen: not together with connect: write one of connect and listen",
                   (int)path.len, path.ptr);
  else if (!has(m, "connect") && !has(m, "listen") && !m->unknown)
    rg_loader_tell(l, key, "%.*s: no address: write connect (ws://…, wss://… or host) or listen",
                   (int)path.len, path.ptr);
  if (listen && e->listen.port > 0 && !rg_address_is_loopback(e->listen.host) &&
      e->access_token.len == 0 && !(m->bad))
    rg_loader_tell(
        l, listen->next,
        "%.*s.listen: reachable from other machines: write an access_token, or listen on 127.0.0.1",
        (int)path.len, path.ptr);
}

/* Two listeners that would get the same connections. */
static bool collide(struct span host, uint16_t port, struct span other, uint16_t other_port)
{
  return port > 0 && port == other_port &&
         (span_eq(host, other) || rg_address_is_any(host) || rg_address_is_any(other));
}

static void check_listeners(struct rg_loader *l, const struct rg_yaml *map)
{
  const struct rg_config *c = l->c;
  for (size_t i = 0; i < c->endpoint_count; i++) {
    const struct rg_endpoint *e = &c->endpoints[i];
    const struct rg_yaml *key = map->first;
    while (key && !span_eq(key->text, e->name)) key = key->next->next;
    if (!key) continue;
    const struct rg_yaml *listen = e->listen.port > 0 ? rg_yaml_key(key->next, "listen") : NULL;
    if (!listen) continue;
    for (size_t j = 0; j < i; j++) {
      const struct rg_endpoint *other = &c->endpoints[j];
      if (collide(e->listen.host, e->listen.port, other->listen.host, other->listen.port) &&
          span_eq(e->listen.path, other->listen.path))
        rg_loader_tell(l, listen->next,
                       "endpoints.%.*s.listen: the same address as endpoints.%.*s: write "
                       "another port or path",
                       (int)e->name.len, e->name.ptr, (int)other->name.len, other->name.ptr);
    }
    if (collide(e->listen.host, e->listen.port, c->relay.listen_host, c->relay.listen_port))
      rg_loader_tell(l, listen->next,
                     "endpoints.%.*s.listen: the port of relay.listen: write another port",
                     (int)e->name.len, e->name.ptr);
  }
}

static void read_endpoint(struct rg_loader *l, const struct rg_yaml *key, struct span path,
                          void *base)
{
  struct rg_endpoint *e = base;
  struct rg_mapping m = { .scope = RG_SCOPE_ENDPOINT,
                          .base = e,
                          .path = path_to(l, path, key->text) };
  const struct rg_yaml *map = key->next;
  e->name = arena_copy(&l->c->arena, key->text);
  if (!is_entry(l, key, m.path, name_fault(key->text), "endpoint", "connect: ws://127.0.0.1:3001"))
    return;
  read_section(l, &m, map, SPAN(""), m.path);
  check_endpoint(l, &m, key, e);
  const struct rg_yaml *groups = rg_yaml_key(map, "groups");
  if (!groups || groups->next->faulty || groups->next->kind != RG_YAML_MAP) return;
  struct rg_layers *layers = arena_zalloc(&l->tree, 1, sizeof *layers);
  if (!layers) {
    rg_loader_tell(l, groups, "out of memory");
    return;
  }
  read_groups(l, groups->next, path_to(l, m.path, SPAN("groups")), layers);
  e->groups = layers; /* until lay_groups makes the table of it */
}

/* ---- providers ---- */

static void read_provider(struct rg_loader *l, const struct rg_yaml *key, struct span path,
                          void *base)
{
  struct rg_provider *p = base;
  struct rg_mapping m = { .scope = RG_SCOPE_PROVIDER,
                          .base = p,
                          .path = path_to(l, path, key->text) };
  p->name = arena_copy(&l->c->arena, key->text);
  if (!is_entry(l, key, m.path, name_fault(key->text), "provider", "model: gpt-5-mini")) return;
  read_section(l, &m, key->next, SPAN(""), m.path);
  rg_check_provider(l, &m, key, p);
}

/* ---- tools ---- */

static void read_tool(struct rg_loader *l, const struct rg_yaml *key, struct span path, void *base)
{
  struct rg_http_tool *t = base;
  struct rg_mapping m = { .scope = RG_SCOPE_TOOL, .base = t, .path = path_to(l, path, key->text) };
  t->name = arena_copy(&l->c->arena, key->text);
  const struct rg_key *words = rg_key_find(RG_SCOPE_GROUP, SPAN("agent.tools"));
  const char *fault = NULL;
  if (!rg_is_tool_name(key->text))
    fault = "not a usable name: write at most 64 letters, digits, _ and -";
  if (rg_provider_is_answer_tool(key->text))
    fault = "models call their answer so: write another name";
  if (rg_key_word_find(words, key->text) != SIZE_MAX)
    fault = "Replygate has a tool of this name already";
  if (!is_entry(l, key, m.path, fault, "tool", "url: https://…")) return;
  read_section(l, &m, key->next, SPAN(""), m.path);
  rg_check_tool(l, &m, key, t);
}

/* ---- the whole ---- */

static void read_framework(struct rg_loader *l, const struct rg_yaml *item, size_t i,
                           struct rg_framework *f)
{
  struct rg_mapping m = { .scope = RG_SCOPE_FRAMEWORK, .base = f };
  m.path = arena_printf(&l->tree, "relay.connect[%zu]", i);
  if (item->faulty) return;
  if (item->kind != RG_YAML_MAP) {
    rg_loader_tell(
        l, item,
        "relay.connect: write each framework as {url: ws://…, access_token: …, endpoint: …}");
    return;
  }
  read_section(l, &m, item, SPAN(""), m.path);
  if (!has(&m, "url") && !m.unknown)
    rg_loader_tell(l, item, "relay.connect: a framework without url");
  const struct rg_yaml *endpoint = rg_yaml_key(item, "endpoint");
  bool known = rg_config_endpoint(l->c, f->endpoint) != NULL;
  if (endpoint && f->endpoint.len > 0 && !known)
    rg_loader_tell(l, endpoint->next,
                   "relay.connect.endpoint: no endpoint of this name under endpoints");
  if (!endpoint && l->c->endpoint_count > 1 && !m.unknown)
    rg_loader_tell(l, item, "relay.connect: there are several endpoints: write endpoint: NAME");
}

static void read_frameworks(struct rg_loader *l)
{
  const struct rg_yaml *list = l->frameworks;
  if (!list) return;
  struct rg_framework *all = arena_zalloc(&l->c->arena, list->count + 1, sizeof *all);
  if (!all) {
    rg_loader_tell(l, list, "out of memory");
    return;
  }
  size_t n = 0;
  for (const struct rg_yaml *item = list->first; item; item = item->next, n++)
    read_framework(l, item, n, &all[n]);
  l->c->relay.frameworks = all;
  l->c->relay.framework_count = n;
}

static void check_relay(struct rg_loader *l, const struct rg_yaml *root)
{
  const struct rg_yaml *relay = rg_yaml_key(root, "relay");
  if (!relay || relay->next->kind != RG_YAML_MAP) return;
  const struct rg_yaml *listen = rg_yaml_key(relay->next, "listen");
  const struct rg_config *c = l->c;
  if (listen && c->relay.listen_port > 0 && !rg_address_is_loopback(c->relay.listen_host) &&
      c->relay.access_token.len == 0)
    rg_loader_tell(l, listen->next,
                   "relay.listen: reachable from other machines: write an access_token, or "
                   "listen on 127.0.0.1");
}

/* The tables of settings, last: they need every layer. */
static void lay_groups(struct rg_loader *l, struct rg_endpoint *endpoints)
{
  struct rg_config *c = l->c;
  const struct rg_group_table *shared =
      rg_layers_lay(&l->r, &l->group, &l->groups, NULL, NULL, &c->arena);
  const struct rg_yaml start = { .place = { 1, 1 } };
  c->groups = shared;
  for (size_t i = 0; i < c->endpoint_count && shared; i++) {
    if (!endpoints[i].groups) continue;
    endpoints[i].groups =
        rg_layers_lay(&l->r, &l->group, &l->groups, endpoints[i].groups, shared, &c->arena);
    if (!endpoints[i].groups) shared = NULL;
  }
  if (!shared) rg_loader_tell(l, &start, "out of memory");
}

static void read_root(struct rg_loader *l, const struct rg_yaml *root)
{
  if (root->faulty) return;
  if (root->kind == RG_YAML_SCALAR && root->plain && root->text.len == 0) return; /* only "---" */
  if (root->kind != RG_YAML_MAP) {
    rg_loader_tell(l, root,
                   "the file is a mapping of keys, like endpoints: and groups: below each other%s",
                   hint(root));
    return;
  }
  struct rg_mapping m = { .scope = RG_SCOPE_TOP, .base = l->c };
  read_section(l, &m, root, SPAN(""), SPAN(""));
  read_frameworks(l);
  check_relay(l, root);
  rg_check_agents(l, &l->groups);
  for (size_t i = 0; i < l->c->endpoint_count; i++)
    if (l->c->endpoints[i].groups) rg_check_agents(l, l->c->endpoints[i].groups); /* still layers */
  const struct rg_yaml *endpoints = rg_yaml_key(root, "endpoints");
  if (l->c->endpoint_count > 0) check_listeners(l, endpoints->next);
}

/* What each key has by itself. The table's own defaults are always right: a test reads them. */
static void read_defaults(struct rg_loader *l, enum rg_scope scope, void *base)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++) {
    const struct rg_key *key = &rg_keys[scope].items[i];
    if (!key->initial || !*key->initial) continue;
    struct rg_yaml *value = rg_value_from_text(key, span_of(key->initial), &l->tree);
    if (value)
      rg_value_read(&l->r, key, value, span_of(key->name), base);
    else
      rg_loader_tell(l, &(struct rg_yaml) { .place = { 1, 1 } }, "out of memory");
  }
}

static void read_all(struct rg_loader *l, struct span text)
{
  struct rg_yaml *root = NULL;
  read_defaults(l, RG_SCOPE_TOP, &l->top);
  read_defaults(l, RG_SCOPE_ENDPOINT, &l->endpoint);
  read_defaults(l, RG_SCOPE_GROUP, &l->group);
  read_defaults(l, RG_SCOPE_PROVIDER, &l->provider);
  read_defaults(l, RG_SCOPE_TOOL, &l->tool);
  l->r.expand = true;
  fill(l, RG_SCOPE_TOP, l->c);
  if (!rg_text_check(text, on_text_fault, l, &text)) return;
  if (!rg_yaml_read(text, &l->tree, on_fault, l, &root)) return;
  if (root) read_root(l, root);
  lay_groups(l, (struct rg_endpoint *)(uintptr_t)l->c->endpoints);
  if (root && root->kind == RG_YAML_MAP && !root->faulty) rg_check_native(l, root);
}

struct rg_config *rg_config_read(struct span text, struct span folder, rg_env_fn *env,
                                 void *env_ctx, struct arena *arena,
                                 struct rg_config_faults *faults)
{
  return rg_config_read_files(text, folder, false, env, env_ctx, arena, faults);
}

/* The journal is one machine's: beside a store that several share it has the default file. */
static void place_journal(struct rg_config *c)
{
  c->journal_store = c->store;
  if (!span_starts(c->store, SPAN("redis:"))) return;
  struct span file = rg_path_join(c->folder, SPAN("replygate.db"), &c->arena);
  c->journal_store = arena_printf(&c->arena, "sqlite:%.*s", (int)file.len, file.ptr);
}

struct rg_config *rg_config_read_files(struct span text, struct span folder, bool files,
                                       rg_env_fn *env, void *env_ctx, struct arena *arena,
                                       struct rg_config_faults *faults)
{
  *faults = (struct rg_config_faults) { NULL, 0 };
  struct rg_config *c = calloc(1, sizeof *c);
  struct rg_loader *l = calloc(1, sizeof *l);
  if (!c || !l) goto no_memory;
  atomic_init(&c->references, 1);
  arena_init(&c->arena, CONFIG_MAX);
  arena_init(&l->tree, TREE_MAX);
  c->folder = arena_copy(&c->arena, folder);
  l->c = c;
  l->notes = arena;
  l->r = (struct rg_reading) { .arena = &c->arena,
                               .notes = &l->tree,
                               .folder = c->folder,
                               .language = SCHEMA_EN,
                               .files = files,
                               .env = env,
                               .env_ctx = env_ctx,
                               .fault = on_fault,
                               .ctx = l };
  read_all(l, text);
  place_journal(c);
  if (c->arena.failed && l->fault_count == 0)
    on_text_fault(l, (struct rg_text_place) { 1, 1 }, "out of memory");
  if (l->fault_count > 0) {
    struct rg_config_fault *items = arena_alloc(arena, l->fault_count * sizeof *items);
    qsort(l->faults, l->fault_count, sizeof *l->faults, by_place);
    if (items) memcpy(items, l->faults, l->fault_count * sizeof *items);
    *faults = (struct rg_config_faults) { items, items ? l->fault_count : 0 };
    rg_config_release(c);
    c = NULL;
  }
  arena_done(&l->tree);
  free(l);
  return c;
no_memory:
  free(c);
  free(l);
  return NULL;
}
