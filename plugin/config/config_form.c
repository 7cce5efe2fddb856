/* config_form: the other forms of a value: words in the chat, JSON, text. */
#include <stdio.h>

#include "onebot/profile.h"
#include "plugin/admin/fold.h"
#include "plugin/config/config_address.h"
#include "plugin/config/config_value.h"
#include "schema/print.h"

/* ---- from the chat ---- */

static struct rg_yaml *scalar(struct span text, bool plain, struct arena *arena)
{
  struct rg_yaml *node = arena_zalloc(arena, 1, sizeof *node);
  if (!node || !text.ptr) return NULL;
  node->kind = RG_YAML_SCALAR;
  node->text = text;
  node->plain = plain;
  return node;
}

static void append(struct rg_yaml *list, struct rg_yaml *item)
{
  if (list->last)
    list->last->next = item;
  else
    list->first = item;
  list->last = item;
  list->count++;
}

static bool is_one_of(struct span word, const char *const *words)
{
  for (; *words; words++)
    if (span_is(word, *words)) return true;
  return false;
}

static const char *const yes_words[] = { "true", "on", "开", NULL };
static const char *const no_words[] = { "false", "off", "关", NULL };
static const char *const none_words[] = { "none", "无", NULL };

/* The word of a boolean in the form of the file, or the folded text. */
static struct span boolean(struct span folded)
{
  if (is_one_of(folded, yes_words)) return SPAN("true");
  if (is_one_of(folded, no_words)) return SPAN("false");
  return folded;
}

/* Items between commas, ASCII or full-width; [ ] around them are allowed, as in the file. */
static struct rg_yaml *list(struct span text, bool folds, struct arena *arena)
{
  struct rg_yaml *all = arena_zalloc(arena, 1, sizeof *all);
  if (!all) return NULL;
  all->kind = RG_YAML_LIST;
  bool bracketed = span_starts(text, SPAN("[")) && span_ends(text, SPAN("]"));
  if (bracketed) text = rg_fold_trim((struct span) { text.ptr + 1, text.len - 2 });
  if (text.len == 0 && bracketed) return all;
  size_t begin = 0, length;
  for (size_t i = 0; i <= text.len; i += length) {
    length = 1;
    if (i < text.len && rg_fold_first((struct span) { text.ptr + i, text.len - i }, &length) != ',')
      continue;
    struct span item = rg_fold_trim((struct span) { text.ptr + begin, i - begin });
    struct rg_yaml *node = scalar(folds ? rg_fold(item, arena) : item, true, arena);
    if (!node) return NULL;
    append(all, node);
    begin = i + length;
  }
  return all;
}

struct rg_yaml *rg_value_from_text(const struct rg_key *key, struct span text, struct arena *arena)
{
  text = rg_fold_trim(text);
  if (!text.ptr) text = SPAN("");
  struct span folded = rg_fold(text, arena);
  if (!folded.ptr) return NULL;
  bool lists = false, folds = false;
  switch (key->type) {
  case RG_KEY_BOOL: return scalar(boolean(folded), true, arena);
  case RG_KEY_COUNT:
  case RG_KEY_BYTES:
  case RG_KEY_SECONDS:
  case RG_KEY_WORD:
  case RG_KEY_WORD_TEXT:
  case RG_KEY_PROFILE: return scalar(folded, true, arena);
  case RG_KEY_REACTIONS:
    if (span_is(boolean(folded), "true") || span_is(boolean(folded), "false"))
      return scalar(boolean(folded), true, arena);
    lists = true;
    break;
  case RG_KEY_HOSTS:
    if (span_is(folded, "public")) return scalar(folded, true, arena);
    lists = folds = true;
    break;
  case RG_KEY_WORDS:
  case RG_KEY_IDS: lists = folds = true; break;
  case RG_KEY_TOOL_NAMES:
  case RG_KEY_PATHS:
  case RG_KEY_TEXTS: lists = true; break;
  case RG_KEY_NOTICE:
    if (span_is(folded, "off") || span_is(folded, "default")) return scalar(folded, true, arena);
    break;
  case RG_KEY_TEXT:
  case RG_KEY_PREFIX:
  case RG_KEY_PATH:
  case RG_KEY_SCHEMA:
  case RG_KEY_STORE:
  case RG_KEY_CONNECT:
  case RG_KEY_LISTEN:
  case RG_KEY_RELAY_LISTEN:
  case RG_KEY_URL:
  case RG_KEY_FACTS:
  case RG_KEY_PATH_MAP:
  case RG_KEY_PARAMETERS:
  case RG_KEY_HEADERS:
  case RG_KEY_HEADER_FILES:
  case RG_KEY_SECTION:
  case RG_KEY_TOOLS:
  case RG_KEY_ENDPOINTS:
  case RG_KEY_PROVIDERS:
  case RG_KEY_GROUPS:
  case RG_KEY_FRAMEWORKS: break;
  }
  if (!lists) return scalar(text, false, arena);
  if (is_one_of(folded, none_words) || text.len == 0) text = SPAN("[]");
  return list(text, folds, arena);
}

/* ---- from JSON ---- */

static struct rg_yaml *json_scalar(const struct schema_node *json, struct arena *arena)
{
  if (json->kind == SCHEMA_STRING) {
    struct span text = json->text.ptr ? json->text : SPAN("");
    return scalar(text, false, arena);
  }
  if (json->kind == SCHEMA_NUMBER) return scalar(json->text, true, arena);
  if (json->kind == SCHEMA_BOOL)
    return scalar(json->truth ? SPAN("true") : SPAN("false"), true, arena);
  return NULL;
}

struct rg_yaml *rg_value_from_json(const struct schema_node *json, struct arena *arena)
{
  if (json->kind != SCHEMA_ARRAY) return json_scalar(json, arena);
  struct rg_yaml *all = arena_zalloc(arena, 1, sizeof *all);
  if (!all) return NULL;
  all->kind = RG_YAML_LIST;
  for (const struct schema_node *item = json->first; item; item = item->next) {
    struct rg_yaml *node = json_scalar(item, arena);
    if (!node) return NULL;
    append(all, node);
  }
  return all;
}

/* ---- into text ---- */

/* Whether YAML reads the text as itself without quotes, in a list as well. */
static bool is_plain(struct span s)
{
  static const char stops[] = ",[]{}\"'`#&*!|>%@\\:?=~ ";
  if (s.len == 0 || s.ptr[0] == '-') return false;
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    bool colon_inside = c == ':' && i > 0 && i + 1 < s.len; /* ws://… */
    if (c < 0x20 || c == 0x7f || (strchr(stops, (char)c) && !colon_inside)) return false;
  }
  return true;
}

static void add_text(struct span s, enum rg_print form, struct buf *out)
{
  if (form == RG_PRINT_YAML && is_plain(s)) {
    buf_add(out, s);
    return;
  }
  struct schema_writer w = { .out = out };
  schema_write_string(&w, s.ptr ? s : SPAN(""));
}

static void add_list(const struct rg_list *texts, enum rg_print form, struct buf *out)
{
  buf_add_char(out, '[');
  for (size_t i = 0; i < texts->count; i++) {
    if (i > 0) buf_add(out, form == RG_PRINT_YAML ? SPAN(", ") : SPAN(","));
    add_text(texts->items[i], form, out);
  }
  buf_add_char(out, ']');
}

static void add_pairs(const struct rg_list *pairs, enum rg_print form, struct buf *out)
{
  buf_add_char(out, '{');
  for (size_t i = 0; i + 1 < pairs->count; i += 2) {
    if (i > 0) buf_add(out, SPAN(", "));
    add_text(pairs->items[i], form, out);
    buf_add(out, SPAN(": "));
    add_text(pairs->items[i + 1], form, out);
  }
  buf_add_char(out, '}');
}

static void add_ids(const struct rg_ids *ids, enum rg_print form, struct buf *out)
{
  buf_add_char(out, '[');
  for (size_t i = 0; i < ids->count; i++)
    buf_printf(out, "%s%llu",
               i == 0                  ? ""
               : form == RG_PRINT_YAML ? ", "
                                       : ",",
               (unsigned long long)ids->items[i]);
  buf_add_char(out, ']');
}

static void add_words(const struct rg_key *key, uint32_t bits, enum rg_print form, struct buf *out)
{
  const char *word;
  bool comma = false;
  buf_add_char(out, '[');
  for (size_t i = 0; (word = rg_key_word(key, i)); i++) {
    if (!(bits >> i & 1u)) continue;
    if (comma) buf_add(out, form == RG_PRINT_YAML ? SPAN(", ") : SPAN(","));
    add_text(span_of(word), form, out);
    comma = true;
  }
  buf_add_char(out, ']');
}

/* The names of bits, then names. */
static void add_tools(const struct rg_key *key, const struct rg_group *g, enum rg_print form,
                      struct buf *out)
{
  struct span both[2 + RG_TOOLS_MAX];
  const char *word;
  size_t n = 0;
  for (size_t i = 0; (word = rg_key_word(key, i)); i++)
    if (g->agent.tools >> i & 1u) both[n++] = span_of(word);
  for (size_t i = 0; i < g->agent.http_tools.count; i++) both[n++] = g->agent.http_tools.items[i];
  add_list(&(struct rg_list) { both, n }, form, out);
}

/* Names are shown, values are not. */
static void add_headers(const struct rg_list *pairs, enum rg_print form, struct buf *out)
{
  struct span shown[2 * RG_HEADERS_MAX];
  for (size_t i = 0; i < pairs->count; i++) shown[i] = i % 2 ? SPAN("***") : pairs->items[i];
  add_pairs(&(struct rg_list) { shown, pairs->count }, form, out);
}

static void add_address(struct span text, enum rg_print form, struct buf *out)
{
  struct arena a;
  arena_init(&a, 64 * 1024);
  add_text(rg_address_shown(text, &a), form, out);
  arena_done(&a);
}

static void add_listen(struct span host, uint16_t port, struct span path, enum rg_print form,
                       struct buf *out)
{
  bool v6 = host.len > 0 && memchr(host.ptr, ':', host.len);
  struct buf b;
  buf_init(&b, 4096);
  if (port > 0)
    buf_printf(&b, v6 ? "[%.*s]:%u%.*s" : "%.*s:%u%.*s", (int)host.len, host.ptr, port,
               (int)path.len, path.ptr);
  add_text(buf_span(&b), form, out);
  buf_done(&b);
}

static void add_bool(bool b, struct buf *out)
{
  buf_add(out, b ? SPAN("true") : SPAN("false"));
}

/* Values that are held in more than one member. */
static void add_special(const struct rg_key *key, const void *base, enum rg_print form,
                        struct buf *out)
{
  const struct rg_endpoint *e = base;
  const struct rg_config *c = base;
  const struct rg_group *g = base;
  const struct span none = { NULL, 0 };
  switch ((int)key->type) {
  case RG_KEY_CONNECT:
    if (e->host_connects)
      add_text(SPAN("host"), form, out);
    else
      add_address(e->connect, form, out);
    return;
  case RG_KEY_LISTEN: add_listen(e->listen.host, e->listen.port, e->listen.path, form, out); return;
  case RG_KEY_RELAY_LISTEN:
    add_listen(c->relay.listen_host, c->relay.listen_port, none, form, out);
    return;
  case RG_KEY_REACTIONS:
    if (g->reactions && !g->reactions_handy)
      add_list(&g->reaction_list, form, out);
    else
      add_bool(g->reactions, out);
    return;
  case RG_KEY_HOSTS:
    if (g->media.public_hosts)
      add_text(SPAN("public"), form, out);
    else
      add_list(&g->media.hosts, form, out);
    return;
  case RG_KEY_TOOL_NAMES: add_tools(key, g, form, out); return;
  default: /* RG_KEY_NOTICE */
    add_text(g->notice_off       ? SPAN("off")
             : g->notice.len > 0 ? g->notice
                                 : SPAN("default"),
             form, out);
    return;
  }
}

void rg_value_print(const struct rg_key *key, const void *base, enum rg_print form, struct buf *out)
{
  const char *place = (const char *)base + key->offset;
  const struct span *text = (const struct span *)(const void *)place;
  switch (key->type) {
  case RG_KEY_BOOL: add_bool(*(const bool *)place, out); return;
  case RG_KEY_COUNT: buf_printf(out, "%u", *(const uint32_t *)(const void *)place); return;
  case RG_KEY_BYTES:
    buf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)(const void *)place);
    return;
  case RG_KEY_SECONDS: buf_printf(out, "%.15g", *(const double *)(const void *)place); return;
  case RG_KEY_WORD:
    add_text(span_of(rg_key_word(key, *(const unsigned *)(const void *)place)), form, out);
    return;
  case RG_KEY_PROFILE: {
    const struct ob_profile *profile = *(const struct ob_profile *const *)(const void *)place;
    add_text(span_of(profile ? profile->name : "auto"), form, out);
    return;
  }
  case RG_KEY_WORDS: add_words(key, *(const uint32_t *)(const void *)place, form, out); return;
  case RG_KEY_STORE:
  case RG_KEY_URL: add_address(*text, form, out); return;
  case RG_KEY_PARAMETERS: {
    const struct rg_schema_file *schema = (const void *)place;
    buf_add(out, schema->text.len > 0 ? schema->text : SPAN("\"\"")); /* JSON is YAML */
    return;
  }
  case RG_KEY_HEADERS: add_headers((const struct rg_list *)(const void *)place, form, out); return;
  case RG_KEY_WORD_TEXT:
  case RG_KEY_TEXT:
  case RG_KEY_PREFIX:
  case RG_KEY_PATH:
  case RG_KEY_SCHEMA: /* begins with its path */
    if (key->flags & RG_KEY_ADDRESS)
      add_address(*text, form, out);
    else
      add_text(key->flags & RG_KEY_SECRET && text->len > 0 ? SPAN("***") : *text, form, out);
    return;
  case RG_KEY_PATHS:
  case RG_KEY_TEXTS: add_list((const struct rg_list *)(const void *)place, form, out); return;
  case RG_KEY_IDS: add_ids((const struct rg_ids *)(const void *)place, form, out); return;
  case RG_KEY_FACTS:
  case RG_KEY_HEADER_FILES:
  case RG_KEY_PATH_MAP: add_pairs((const struct rg_list *)(const void *)place, form, out); return;
  case RG_KEY_CONNECT:
  case RG_KEY_LISTEN:
  case RG_KEY_RELAY_LISTEN:
  case RG_KEY_REACTIONS:
  case RG_KEY_HOSTS:
  case RG_KEY_TOOL_NAMES:
  case RG_KEY_NOTICE: add_special(key, base, form, out); return;
  case RG_KEY_SECTION:
  case RG_KEY_TOOLS:
  case RG_KEY_ENDPOINTS:
  case RG_KEY_PROVIDERS:
  case RG_KEY_GROUPS:
  case RG_KEY_FRAMEWORKS: return;
  }
}

/* The bytes of a value that is one member. */
static size_t size_of(enum rg_key_type type)
{
  switch (type) {
  case RG_KEY_BOOL: return sizeof(bool);
  case RG_KEY_COUNT:
  case RG_KEY_WORDS: return sizeof(uint32_t);
  case RG_KEY_WORD: return sizeof(unsigned);
  case RG_KEY_BYTES: return sizeof(uint64_t);
  case RG_KEY_SECONDS: return sizeof(double);
  case RG_KEY_WORD_TEXT:
  case RG_KEY_TEXT:
  case RG_KEY_PREFIX:
  case RG_KEY_PATH:
  case RG_KEY_STORE:
  case RG_KEY_URL: return sizeof(struct span);
  case RG_KEY_PATHS:
  case RG_KEY_TEXTS:
  case RG_KEY_FACTS:
  case RG_KEY_HEADERS:
  case RG_KEY_HEADER_FILES:
  case RG_KEY_PATH_MAP: return sizeof(struct rg_list);
  case RG_KEY_PARAMETERS:
  case RG_KEY_SCHEMA: return sizeof(struct rg_schema_file);
  case RG_KEY_IDS: return sizeof(struct rg_ids);
  case RG_KEY_PROFILE: return sizeof(const struct ob_profile *);
  case RG_KEY_CONNECT:
  case RG_KEY_LISTEN:
  case RG_KEY_RELAY_LISTEN:
  case RG_KEY_REACTIONS:
  case RG_KEY_HOSTS:
  case RG_KEY_NOTICE:
  case RG_KEY_TOOL_NAMES:
  case RG_KEY_SECTION:
  case RG_KEY_TOOLS:
  case RG_KEY_ENDPOINTS:
  case RG_KEY_PROVIDERS:
  case RG_KEY_GROUPS:
  case RG_KEY_FRAMEWORKS: return 0;
  }
  return 0;
}

void rg_value_copy(const struct rg_key *key, void *to, const void *from)
{
  struct rg_group *g = to;
  const struct rg_group *h = from;
  switch ((int)key->type) {
  case RG_KEY_REACTIONS:
    g->reactions = h->reactions;
    g->reactions_handy = h->reactions_handy;
    g->reaction_list = h->reaction_list;
    return;
  case RG_KEY_HOSTS:
    g->media.public_hosts = h->media.public_hosts;
    g->media.hosts = h->media.hosts;
    return;
  case RG_KEY_TOOL_NAMES:
    g->agent.tools = h->agent.tools;
    g->agent.http_tools = h->agent.http_tools;
    return;
  case RG_KEY_NOTICE:
    g->notice_off = h->notice_off;
    g->notice = h->notice;
    return;
  default:
    memcpy((char *)to + key->offset, (const char *)from + key->offset, size_of(key->type));
    return;
  }
}
