#include "plugin/config/config_print.h"

#include "plugin/config/config_value.h"

enum { COLUMNS = 100 };

static void indent(struct buf *out, size_t depth)
{
  for (size_t i = 0; i < depth; i++) buf_add(out, SPAN("  "));
}

/* The last part of a dotted name. */
static struct span leaf(const struct rg_key *key)
{
  struct span name = span_of(key->name);
  const char *dot = memrchr(name.ptr, '.', name.len);
  if (!dot) return name;
  return (struct span) { dot + 1, name.len - (size_t)(dot + 1 - name.ptr) };
}

/* Whether key stands right in section ("" is the scope itself). */
static bool is_in(const struct rg_key *key, struct span section)
{
  struct span name = span_of(key->name), last = leaf(key);
  if (section.len == 0) return last.len == name.len;
  return span_starts(name, section) && name.ptr[section.len] == '.' &&
         name.len == section.len + 1 + last.len;
}

/* ---- the example ---- */

struct example {
  struct buf *out;
  bool defaults; /* also what is a default, and comments */
  /* the defaults, in the structs of a configuration */
  const struct rg_config *c;
};

static const void *base_of(const struct example *x, enum rg_scope scope)
{
  switch (scope) {
  case RG_SCOPE_TOP: return x->c;
  case RG_SCOPE_ENDPOINT: return x->c->endpoints;
  case RG_SCOPE_GROUP: return rg_config_group(x->c, NULL, 0);
  case RG_SCOPE_PROVIDER: return x->c->providers;
  case RG_SCOPE_TOOL: return x->c->tools;
  case RG_SCOPE_FRAMEWORK:
  case RG_SCOPE_COUNT: break;
  }
  return NULL;
}

/* A comment, broken at spaces. */
static void comment(struct buf *out, size_t depth, struct span text)
{
  size_t width = COLUMNS - 2 * depth - 2;
  while (text.len > 0) {
    size_t n = text.len;
    if (n > width) {
      for (n = width; n > 0 && text.ptr[n] != ' ';) n--;
      if (n == 0) n = text.len; /* Chinese: its texts are kept short */
    }
    indent(out, depth);
    buf_printf(out, "# %.*s\n", (int)n, text.ptr);
    if (n < text.len) n++;
    text.ptr += n;
    text.len -= n;
  }
}

static bool has_range(const struct rg_key *key)
{
  return key->type == RG_KEY_COUNT || key->type == RG_KEY_BYTES || key->type == RG_KEY_SECONDS;
}

static void explain(const struct example *x, const struct rg_key *key, size_t depth)
{
  struct buf b;
  if (!x->defaults) return;
  buf_init(&b, 2048);
  buf_add(&b, span_of(key->help_en));
  if (has_range(key)) {
    buf_add(&b, SPAN(" Write "));
    rg_key_allowed(key, SCHEMA_EN, &b);
    buf_add_char(&b, '.');
  }
  comment(x->out, depth, buf_span(&b));
  buf_done(&b);
  indent(x->out, depth);
  buf_printf(x->out, "# %s\n", key->help_zh);
}

static void print_keys(const struct example *x, enum rg_scope scope, struct span section,
                       size_t depth, bool off);

/* The beginning of a line; off: with # before it, to be taken away by whoever wants it. */
static void begin(const struct example *x, size_t depth, bool off, struct span name)
{
  if (off) buf_add_char(x->out, '#');
  indent(x->out, depth);
  buf_add(x->out, name);
  buf_add_char(x->out, ':');
}

static void line(const struct example *x, size_t depth, bool off, const char *name,
                 const char *value)
{
  begin(x, depth, off, span_of(name));
  buf_printf(x->out, "%s%s\n", *value ? " " : "", value);
}

static void print_inner(const struct example *x, const struct rg_key *key, enum rg_scope scope,
                        size_t depth, bool off)
{
  line(x, depth, off, leaf(key).ptr, "");
  if (key->type == RG_KEY_SECTION) {
    print_keys(x, scope, span_of(key->name), depth + 1, off);
  } else if (key->type == RG_KEY_ENDPOINTS) {
    line(x, depth + 1, off, "main", "");
    print_keys(x, RG_SCOPE_ENDPOINT, SPAN(""), depth + 2, off);
  } else if (key->type == RG_KEY_PROVIDERS) {
    line(x, depth + 1, off, "main", "");
    print_keys(x, RG_SCOPE_PROVIDER, SPAN(""), depth + 2, off);
  } else if (key->type == RG_KEY_TOOLS) {
    line(x, depth + 1, off, "search_music", "");
    print_keys(x, RG_SCOPE_TOOL, SPAN(""), depth + 2, off);
  } else if (scope == RG_SCOPE_ENDPOINT) {
    line(x, depth + 1, off, "123456789", "");
    line(x, depth + 2, off, "card", "text");
  } else {
    if (x->defaults) line(x, depth + 1, off, "default", "");
    if (x->defaults) print_keys(x, RG_SCOPE_GROUP, SPAN(""), depth + 2, off);
    line(x, depth + 1, off, "123456789", "");
    line(x, depth + 2, off, "reactions", "[赞, 笑哭]");
  }
}

/* Whether a section holds something that is no default. */
static bool has_example(enum rg_scope scope, const struct rg_key *section)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++)
    if (is_in(&rg_keys[scope].items[i], span_of(section->name)) && rg_keys[scope].items[i].example)
      return true;
  return false;
}

static bool is_inner(const struct rg_key *key)
{
  return key->type == RG_KEY_SECTION || key->type == RG_KEY_ENDPOINTS ||
         key->type == RG_KEY_PROVIDERS || key->type == RG_KEY_TOOLS || key->type == RG_KEY_GROUPS;
}

static void print_key(const struct example *x, const struct rg_key *key, enum rg_scope scope,
                      size_t depth, bool off)
{
  bool optional = key->flags & RG_KEY_OPTIONAL;
  if (!x->defaults && (optional || (!is_inner(key) && !key->example))) return;
  if (!x->defaults && key->type == RG_KEY_SECTION && !has_example(scope, key)) return;
  if (x->defaults && depth == 0) buf_add_char(x->out, '\n');
  explain(x, key, depth);
  off = off || optional;
  if (is_inner(key)) {
    print_inner(x, key, scope, depth, off);
    return;
  }
  begin(x, depth, off, leaf(key));
  buf_add_char(x->out, ' ');
  if (key->example)
    buf_add(x->out, span_of(key->example));
  else if (key->type == RG_KEY_FRAMEWORKS)
    buf_add(x->out, SPAN("[]"));
  else
    rg_value_print(key, base_of(x, scope), RG_PRINT_YAML, x->out);
  buf_add_char(x->out, '\n');
}

static void print_keys(const struct example *x, enum rg_scope scope, struct span section,
                       size_t depth, bool off)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++)
    if (is_in(&rg_keys[scope].items[i], section))
      print_key(x, &rg_keys[scope].items[i], scope, depth, off);
}

static const char example_head[] =
    "# Replygate: every key, with its default where it has one. What you leave out has the value\n"
    "# shown here; a short file with your address and what you want different is enough. Lines "
    "that\n"
    "# begin with # and a key are optional: take the # away to use them.\n"
    "# Replygate 的全部设置和默认值。不写的项就用这里的值，通常只写地址和想改的几项即可。\n"
    "# 以 # 加键名开头的行是可选的，去掉 # 即启用。\n"
    "#\n"
    "# The file is UTF-8. ${NAME} stands for an environment variable, ${NAME:-default} with a "
    "default.\n"
    "# `replygate config FILE` checks it and shows what holds in each group.\n"
    "# 文件用 UTF-8 保存。${NAME} 代表环境变量，${NAME:-默认值} 可带默认值。\n"
    "# `replygate config 文件` 检查并显示各群的实际设置。\n"
    "# Settings of a group, the later wins: groups.default, groups.NUMBER, the endpoint's own\n"
    "# groups.default and groups.NUMBER, what was set in the chat.\n"
    "# 群的设置按此顺序，后者优先：groups.default、groups.群号、连接自己的 groups.default 和\n"
    "# groups.群号、聊天里的设置。\n";

bool rg_config_print_example(bool defaults, struct buf *out)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, 64 * 1024);
  struct rg_config *c = rg_config_read(SPAN("endpoints: {main: {connect: host}}\n"
                                            "providers: {main: {model: m}}\n"
                                            "tools: {t: {description: d, url: https://h/}}"),
                                       SPAN(""), NULL, NULL, &arena, &faults);
  arena_done(&arena);
  if (!c) return false;
  struct example x = { out, defaults, c };
  if (defaults) buf_add(out, span_of(example_head));
  print_keys(&x, RG_SCOPE_TOP, SPAN(""), 0, false);
  rg_config_release(c);
  return !out->failed;
}

/* ---- the reference ---- */

static const char *const headings[RG_SCOPE_COUNT][2] = {
  [RG_SCOPE_TOP] = { "文件顶层", "The file" },
  [RG_SCOPE_ENDPOINT] = { "连接：`endpoints.名字`", "An endpoint: `endpoints.NAME`" },
  [RG_SCOPE_GROUP] = { "群：`groups.default`、`groups.群号`、`endpoints.名字.groups.…`",
                       "A group: `groups.default`, `groups.NUMBER`, `endpoints.NAME.groups.…`" },
  [RG_SCOPE_PROVIDER] = { "模型服务：`providers.名字`", "A provider: `providers.NAME`" },
  [RG_SCOPE_TOOL] = { "工具：`tools.名字`", "A tool: `tools.NAME`" },
  [RG_SCOPE_FRAMEWORK] = { "框架：`relay.connect` 的一项",
                           "A framework: an item of `relay.connect`" },
};

/* Text of a table's cell. */
static void cell(struct buf *out, struct span text)
{
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '|') buf_add_char(out, '\\');
    buf_add_char(out, text.ptr[i]);
  }
}

static void reference_row(const struct rg_key *key, enum schema_language language, struct buf *out)
{
  bool en = language == SCHEMA_EN;
  struct buf allowed;
  buf_init(&allowed, 2048);
  rg_key_allowed(key, language, &allowed);
  buf_printf(out, "| `%s` | ", key->name);
  if (key->type != RG_KEY_SECTION) cell(out, buf_span(&allowed));
  buf_add(out, SPAN(" | "));
  if (key->initial && *key->initial) buf_printf(out, "`%s`", key->initial);
  buf_add(out, SPAN(" | "));
  cell(out, span_of(en ? key->help_en : key->help_zh));
  if (key->flags & RG_KEY_OPERATOR)
    buf_add(out, en ? SPAN(" In the chat only by `admins`.") : SPAN("聊天里只有 `admins` 可改。"));
  buf_add(out, SPAN(" |\n"));
  buf_done(&allowed);
}

bool rg_config_print_reference(enum schema_language language, struct buf *out)
{
  for (size_t scope = 0; scope < RG_SCOPE_COUNT; scope++) {
    buf_printf(out, "%s### %s\n\n", scope == 0 ? "" : "\n", headings[scope][language]);
    buf_add(out, language == SCHEMA_EN ? SPAN("| Key | Value | Default | What it does |\n")
                                       : SPAN("| 键 | 值 | 默认 | 作用 |\n"));
    buf_add(out, SPAN("|---|---|---|---|\n"));
    for (size_t i = 0; i < rg_keys[scope].count; i++)
      reference_row(&rg_keys[scope].items[i], language, out);
  }
  return !out->failed;
}

/* ---- what a file comes to ---- */

static void print_value(const struct rg_key *key, const void *base, size_t depth, struct buf *out)
{
  indent(out, depth);
  buf_add(out, leaf(key));
  buf_add(out, SPAN(": "));
  rg_value_print(key, base, RG_PRINT_YAML, out);
}

/* Whether two structs of a scope hold the same value. */
static bool same(const struct rg_key *key, const void *a, const void *b)
{
  struct buf x, y;
  buf_init(&x, 1 << 20);
  buf_init(&y, 1 << 20);
  rg_value_print(key, a, RG_PRINT_JSON, &x);
  rg_value_print(key, b, RG_PRINT_JSON, &y);
  bool equal = span_eq(buf_span(&x), buf_span(&y));
  buf_done(&x);
  buf_done(&y);
  return equal;
}

/* What would only be in the way: the one of connect and listen that is not there, a relay that is
 * not there, what is printed elsewhere. */
static bool says_nothing(const struct rg_key *key, const void *base)
{
  const struct rg_endpoint *e = base;
  const struct rg_config *c = base;
  switch ((int)key->type) {
  case RG_KEY_CONNECT: return e->connect.len == 0 && !e->host_connects;
  case RG_KEY_LISTEN: return e->listen.port == 0;
  case RG_KEY_SECTION: return strcmp(key->name, "relay") == 0 && !c->relay.present;
  default:
    return key->type == RG_KEY_ENDPOINTS || key->type == RG_KEY_PROVIDERS ||
           key->type == RG_KEY_TOOLS || key->type == RG_KEY_GROUPS ||
           key->type == RG_KEY_FRAMEWORKS;
  }
}

/* The keys of a section of the top or of an endpoint. */
static void print_plain(enum rg_scope scope, struct span section, const void *base, size_t depth,
                        struct buf *out)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++) {
    const struct rg_key *key = &rg_keys[scope].items[i];
    if (!is_in(key, section) || says_nothing(key, base)) continue;
    if (key->type == RG_KEY_SECTION) {
      indent(out, depth);
      buf_printf(out, "%s:\n", key->name);
      print_plain(scope, span_of(key->name), base, depth + 1, out);
    } else {
      print_value(key, base, depth, out);
      buf_add_char(out, '\n');
    }
  }
}

/* One group of an endpoint (NULL: of all). */
struct place {
  const struct rg_config *c;
  const struct rg_endpoint *endpoint;
  uint64_t id;
  const struct rg_group *group;
  const struct rg_group *beside; /* only what differs from it; NULL: everything */
};

static void print_origin(const struct place *p, size_t key, struct buf *out)
{
  static const char *const words[] = {
    [RG_FROM_BUILTIN] = "default",
    [RG_FROM_DEFAULT] = "groups.default",
    [RG_FROM_GROUP] = "groups",
    [RG_FROM_ENDPOINT_DEFAULT] = "the endpoint's groups.default",
    [RG_FROM_ENDPOINT_GROUP] = "the endpoint's groups",
    [RG_FROM_OVERRIDE] = "set in the chat",
  };
  buf_printf(out, " # %s\n", words[rg_config_origin(p->c, p->endpoint, p->id, key)]);
}

static size_t print_group(const struct place *p, struct span section, size_t depth, struct buf *out)
{
  const struct rg_keys *keys = &rg_keys[RG_SCOPE_GROUP];
  size_t count = 0;
  for (size_t i = 0; i < keys->count; i++) {
    const struct rg_key *key = &keys->items[i];
    if (!is_in(key, section)) continue;
    if (key->type == RG_KEY_SECTION) {
      size_t before = out->len;
      indent(out, depth);
      buf_printf(out, "%s:\n", key->name);
      size_t inner = print_group(p, span_of(key->name), depth + 1, out);
      if (inner == 0) out->len = before; /* an empty section says nothing */
      count += inner;
    } else if (!p->beside || !same(key, p->group, p->beside)) {
      print_value(key, p->group, depth, out);
      print_origin(p, i, out);
      count++;
    }
  }
  return count;
}

/* The groups of an endpoint; NULL: of all. */
static void print_groups(const struct rg_config *c, const struct rg_endpoint *e, size_t depth,
                         struct buf *out)
{
  struct rg_ids named = rg_config_named(c, e);
  struct place p = { .c = c, .endpoint = e, .group = rg_config_group(c, e, 0) };
  indent(out, depth);
  buf_add(out, SPAN("groups:\n"));
  indent(out, depth + 1);
  buf_add(out, SPAN("default:\n"));
  print_group(&p, SPAN(""), depth + 2, out);
  p.beside = p.group;
  for (size_t i = 0; i < named.count; i++) {
    p.id = named.items[i];
    p.group = rg_config_group(c, e, p.id);
    indent(out, depth + 1);
    buf_printf(out, "%llu:", (unsigned long long)p.id);
    size_t before = out->len;
    buf_add_char(out, '\n');
    if (print_group(&p, SPAN(""), depth + 2, out) > 0) continue;
    out->len = before;
    buf_add(out, SPAN(" {}\n"));
  }
}

bool rg_config_print(const struct rg_config *c, struct buf *out)
{
  print_plain(RG_SCOPE_TOP, SPAN(""), c, 0, out);
  buf_add(out, c->endpoint_count > 0 ? SPAN("endpoints:\n") : SPAN("endpoints: {}\n"));
  for (size_t i = 0; i < c->endpoint_count; i++) {
    const struct rg_endpoint *e = &c->endpoints[i];
    buf_printf(out, "  %.*s:\n", (int)e->name.len, e->name.ptr);
    print_plain(RG_SCOPE_ENDPOINT, SPAN(""), e, 2, out);
    if (e->groups) print_groups(c, e, 2, out);
  }
  if (c->provider_count > 0) buf_add(out, SPAN("providers:\n"));
  for (size_t i = 0; i < c->provider_count; i++) {
    const struct rg_provider *p = &c->providers[i];
    buf_printf(out, "  %.*s:\n", (int)p->name.len, p->name.ptr);
    print_plain(RG_SCOPE_PROVIDER, SPAN(""), p, 2, out);
  }
  if (c->tool_count > 0) buf_add(out, SPAN("tools:\n"));
  for (size_t i = 0; i < c->tool_count; i++) {
    const struct rg_http_tool *t = &c->tools[i];
    buf_printf(out, "  %.*s:\n", (int)t->name.len, t->name.ptr);
    print_plain(RG_SCOPE_TOOL, SPAN(""), t, 2, out);
  }
  print_groups(c, NULL, 0, out);
  return !out->failed;
}
