#include "plugin/config/config_value.h"

#include <stdlib.h>

#include "onebot/face.h"
#include "onebot/id.h"
#include "onebot/profile.h"
#include "plugin/config/config_address.h"
#include "schema/print.h"

/* One value being read. */
struct value {
  const struct rg_reading *r;
  const struct rg_key *key;
  struct span path;
};

enum { SHOWN_MAX = 60 }; /* bytes of a wrong value that a fault repeats */

/* A fault of the value: what is allowed, and what stands there instead unless that is secret, long
 * or no word. */
static bool fail(const struct value *v, const struct rg_yaml *node, struct span meant)
{
  const struct rg_reading *r = v->r;
  bool en = r->language == SCHEMA_EN;
  bool shows = node->kind == RG_YAML_SCALAR && node->text.len <= SHOWN_MAX && node->text.len > 0 &&
               !(v->key->flags & (RG_KEY_SECRET | RG_KEY_ADDRESS));
  struct buf b;
  buf_init(&b, 4096);
  buf_add(&b, v->path);
  buf_add(&b, en ? SPAN(": write ") : SPAN("：应为 "));
  rg_key_allowed(v->key, r->language, &b);
  if (shows)
    buf_printf(&b, en ? ", not %.*s" : "，不能是 %.*s", (int)node->text.len, node->text.ptr);
  if (meant.len > 0)
    buf_printf(&b, en ? " (do you mean %.*s?)" : "（是不是 %.*s？）", (int)meant.len, meant.ptr);
  r->fault(r->ctx, node->place, arena_copy(r->notes, buf_span(&b)));
  buf_done(&b);
  return false;
}

/* A fault with words of its own. */
static bool fail_with(const struct value *v, const struct rg_yaml *node, const char *en,
                      const char *zh)
{
  const struct rg_reading *r = v->r;
  struct span what =
      arena_printf(r->notes, "%.*s%s%s", (int)v->path.len, v->path.ptr,
                   r->language == SCHEMA_EN ? ": " : "：", r->language == SCHEMA_EN ? en : zh);
  r->fault(r->ctx, node->place, what);
  return false;
}

static bool out_of_memory(const struct value *v, const struct rg_yaml *node)
{
  return fail_with(v, node, "out of memory", "内存不足");
}

static const struct span nothing = { NULL, 0 };

/* ---- text and ${VAR} ---- */

static bool is_identifier(struct span s)
{
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return s.len > 0;
}

static const char *variable(const struct rg_reading *r, const char *name)
{
  return r->env ? r->env(r->env_ctx, name) : getenv(name);
}

/* Adds what stands for the inside of one ${…}. What a variable holds is not looked at again. */
static bool expand_one(const struct value *v, const struct rg_yaml *node, struct span inside,
                       struct buf *out)
{
  const struct rg_reading *r = v->r;
  struct span name = inside, otherwise = nothing;
  size_t colon = span_find(inside, SPAN(":-"));
  if (colon < inside.len) {
    name.len = colon;
    otherwise = (struct span) { inside.ptr + colon + 2, inside.len - colon - 2 };
  }
  if (!is_identifier(name) || span_find(otherwise, SPAN("${")) < otherwise.len)
    return fail_with(
        v, node,
        "inside ${…} write a name of letters, digits and _, perhaps with a default: "
        "${NAME} or ${NAME:-default}",
        "${…} 里写字母、数字、下划线组成的变量名，可带默认值：${NAME} 或 ${NAME:-默认}");
  struct span z = arena_copy(r->notes, name);
  if (!z.ptr) return out_of_memory(v, node);
  const char *value = variable(r, z.ptr);
  if (colon < inside.len && (!value || !*value)) {
    buf_add(out, otherwise);
    return true;
  }
  if (value) {
    buf_add(out, span_of(value));
    return true;
  }
  struct span what = arena_printf(
      r->notes,
      r->language == SCHEMA_EN
          ? "%.*s: the environment variable %s is not set: set it, or write ${%s:-default}"
          : "%.*s：环境变量 %s 没有设置：请设置它，或写 ${%s:-默认值}",
      (int)v->path.len, v->path.ptr, z.ptr, z.ptr);
  r->fault(r->ctx, node->place, what);
  return false;
}

static bool expand(const struct value *v, const struct rg_yaml *node, struct buf *out)
{
  struct span rest = node->text;
  for (;;) {
    size_t at = span_find(rest, SPAN("${"));
    buf_add(out, (struct span) { rest.ptr, at });
    if (at == rest.len) return true;
    rest = (struct span) { rest.ptr + at + 2, rest.len - at - 2 };
    size_t end = span_find(rest, SPAN("}"));
    if (end == rest.len)
      return fail_with(v, node, "a ${ without its }: write ${NAME}",
                       "${ 没有对应的 }：写成 ${NAME}");
    if (!expand_one(v, node, (struct span) { rest.ptr, end }, out)) return false;
    rest = (struct span) { rest.ptr + end + 1, rest.len - end - 1 };
  }
}

/* Characters that no text of a configuration holds, also when they come by an escape or through a
 * variable. */
static bool is_text(struct span s)
{
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) return false;
  }
  return span_utf8_fault(s) == s.len;
}

/* Whether a variable was meant and written as $NAME or as {NAME}, which YAML takes for a mapping. A
 * text that is meant so is the default of a variable: ${NONE:-$NAME}. */
static bool is_half_variable(const struct rg_yaml *node)
{
  if (node->kind == RG_YAML_MAP)
    return node->count == 1 && node->first->kind == RG_YAML_SCALAR &&
           is_identifier(node->first->text) && node->first->next->kind == RG_YAML_SCALAR &&
           node->first->next->text.len == 0;
  if (node->kind != RG_YAML_SCALAR || node->text.len < 3 || node->text.ptr[0] != '$') return false;
  struct span name = { node->text.ptr + 1, node->text.len - 1 };
  for (size_t i = 0; i < name.len; i++) {
    if (name.ptr[i] >= 'a' && name.ptr[i] <= 'z') return false; /* rather a password */
  }
  return is_identifier(name);
}

/* The text of a scalar, expanded and kept in the arena of values. */
static bool text_of(const struct value *v, const struct rg_yaml *node, struct span *ret)
{
  const struct rg_reading *r = v->r;
  if (r->expand && is_half_variable(node))
    return fail_with(v, node, "a variable is written ${NAME}, with both the $ and the braces",
                     "变量要写成 ${NAME}，$ 和花括号都不能少");
  if (node->kind != RG_YAML_SCALAR) return fail(v, node, nothing);
  struct buf b;
  buf_init(&b, RG_YAML_SCALAR_MAX);
  bool fine;
  if (r->expand)
    fine = expand(v, node, &b);
  else
    fine = buf_add(&b, node->text) || node->text.len == 0;
  if (fine && b.failed)
    fine = fail_with(v, node, "a value of more than 64 KiB", "值超过 64 KiB");
  else if (fine && !is_text(buf_span(&b)))
    fine = fail_with(v, node, "a control character or broken UTF-8 in the value",
                     "值里有控制字符或编码损坏");
  if (fine) {
    *ret = b.len > 0 ? arena_copy(r->arena, buf_span(&b)) : SPAN("");
    if (!ret->ptr) fine = out_of_memory(v, node);
  }
  buf_done(&b);
  return fine;
}

/* ---- numbers ---- */

/* Digits, perhaps a point and digits. Exact as written: both sides are whole and below 2^53. */
static bool seconds_of(struct span s, double *ret)
{
  double n = 0, scale = 1;
  size_t point = span_find(s, SPAN("."));
  if (s.len == 0 || s.len > 15 || point == 0 || point + 1 == s.len) return false;
  if (point > 1 && s.ptr[0] == '0') return false;
  for (size_t i = 0; i < s.len; i++) {
    if (i == point) continue;
    unsigned d = (unsigned char)s.ptr[i] - '0';
    if (d > 9) return false;
    n = n * 10 + d;
    if (i > point) scale *= 10;
  }
  *ret = n / scale;
  return true;
}

static bool read_number(const struct value *v, const struct rg_yaml *node, char *place)
{
  const struct rg_key *key = v->key;
  int64_t whole = 0;
  double number = 0;
  bool fine = node->kind == RG_YAML_SCALAR && node->plain;
  if (fine && key->type == RG_KEY_SECONDS)
    fine = seconds_of(node->text, &number);
  else if (fine) {
    fine = ob_id_read(node->text, &whole);
    number = (double)whole;
  }
  if (!fine || number < key->low || number > key->high) return fail(v, node, nothing);
  if (key->type == RG_KEY_SECONDS)
    memcpy(place, &number, sizeof number);
  else if (key->type == RG_KEY_BYTES)
    memcpy(place, &whole, sizeof whole);
  else
    memcpy(place, &(uint32_t) { (uint32_t)whole }, sizeof(uint32_t));
  return true;
}

static bool read_bool(const struct value *v, const struct rg_yaml *node, bool *place)
{
  bool yes = node->kind == RG_YAML_SCALAR && node->plain && span_is(node->text, "true");
  bool no = node->kind == RG_YAML_SCALAR && node->plain && span_is(node->text, "false");
  if (!yes && !no) return fail(v, node, nothing);
  *place = yes;
  return true;
}

/* ---- words ---- */

/* The index of the word that a scalar names, or SIZE_MAX after a fault. */
static size_t word_of(const struct value *v, const struct rg_yaml *node)
{
  enum { CANDIDATES = 16 };
  struct span word, candidates[CANDIDATES];
  if (!text_of(v, node, &word)) return SIZE_MAX;
  size_t i = rg_key_word_find(v->key, word), n = 0;
  if (i != SIZE_MAX) return i;
  const char *candidate;
  while (n < CANDIDATES && (candidate = rg_key_word(v->key, n)))
    candidates[n++] = span_of(candidate);
  fail(v, node, rg_nearest(word, candidates, n));
  return SIZE_MAX;
}

static bool read_word(const struct value *v, const struct rg_yaml *node, char *place)
{
  size_t i = word_of(v, node);
  if (i == SIZE_MAX) return false;
  if (v->key->type == RG_KEY_WORD_TEXT) {
    struct span word = span_of(rg_key_word(v->key, i));
    memcpy(place, &word, sizeof word);
  } else if (v->key->type == RG_KEY_PROFILE) {
    const struct ob_profile *profile = i > 0 ? &ob_profiles[i - 1] : NULL;
    memcpy(place, &profile, sizeof profile);
  } else
    memcpy(place, &(unsigned) { (unsigned)i }, sizeof(unsigned)); /* an enum */
  return true;
}

static bool read_words(const struct value *v, const struct rg_yaml *node, uint32_t *place)
{
  if (node->kind != RG_YAML_LIST) return fail(v, node, nothing);
  bool fine = true;
  uint32_t bits = 0;
  for (const struct rg_yaml *item = node->first; item; item = item->next) {
    size_t i = item->faulty ? SIZE_MAX : word_of(v, item);
    if (i == SIZE_MAX)
      fine = false;
    else
      bits |= 1u << i;
  }
  *place = bits;
  return fine;
}

/* ---- lists ---- */

typedef bool item_fn(const struct value *v, const struct rg_yaml *item, struct span *ret);

/* A list of texts, each checked by item. */
static bool read_list(const struct value *v, const struct rg_yaml *node, item_fn *item,
                      struct rg_list *place)
{
  if (node->kind != RG_YAML_LIST) return fail(v, node, nothing);
  struct span *items = arena_zalloc(v->r->arena, node->count + 1, sizeof *items);
  if (!items) return out_of_memory(v, node);
  bool fine = true;
  size_t n = 0;
  for (const struct rg_yaml *each = node->first; each; each = each->next) {
    if (each->faulty || !item(v, each, &items[n]))
      fine = false;
    else
      n++;
  }
  *place = (struct rg_list) { items, n };
  return fine;
}

static bool path_item(const struct value *v, const struct rg_yaml *item, struct span *ret)
{
  struct span path;
  if (!text_of(v, item, &path)) return false;
  if (path.len == 0) return fail(v, item, nothing);
  if (path.ptr[0] == '~')
    return fail_with(v, item, "~ is not known here: write ${HOME}", "这里不认 ~：请写 ${HOME}");
  *ret = rg_path_join(v->r->folder, path, v->r->arena);
  return ret->ptr || out_of_memory(v, item);
}

static bool text_item(const struct value *v, const struct rg_yaml *item, struct span *ret)
{
  return text_of(v, item, ret) && (span_trim(*ret).len > 0 || fail(v, item, nothing));
}

static bool host_item(const struct value *v, const struct rg_yaml *item, struct span *ret)
{
  return text_of(v, item, ret) && (rg_address_is_host(*ret) || fail(v, item, nothing));
}

/* An operator may list reactions that nobody has proven to work. */
static bool reaction_item(const struct value *v, const struct rg_yaml *item, struct span *ret)
{
  if (!text_of(v, item, ret)) return false;
  if (ob_face_find(*ret, true)) return true;
  struct span what = arena_printf(
      v->r->notes,
      v->r->language == SCHEMA_EN ? "%.*s: no reaction is called %.*s: `replygate faces` lists "
                                    "ids and names"
                                  : "%.*s：没有叫 %.*s 的表情：`replygate faces` 可查编号和名称",
      (int)v->path.len, v->path.ptr, (int)(ret->len > 60 ? 60 : ret->len), ret->ptr);
  v->r->fault(v->r->ctx, item->place, what);
  return false;
}

static bool read_ids(const struct value *v, const struct rg_yaml *node, struct rg_ids *place)
{
  if (node->kind != RG_YAML_LIST) return fail(v, node, nothing);
  uint64_t *ids = arena_zalloc(v->r->arena, node->count + 1, sizeof *ids);
  if (!ids) return out_of_memory(v, node);
  bool fine = true;
  size_t n = 0;
  for (const struct rg_yaml *item = node->first; item; item = item->next) {
    struct span text;
    int64_t id;
    if (item->faulty || !text_of(v, item, &text))
      fine = false;
    else if (!ob_id_read(text, &id) || id <= 0)
      fine = fail(v, item, nothing);
    else
      ids[n++] = (uint64_t)id;
  }
  *place = (struct rg_ids) { ids, n };
  return fine;
}

/* A fact of a profile, tried on a copy of one: what is wrong with it is told. */
static bool fact(const struct value *v, const struct rg_yaml *key, struct span value)
{
  struct ob_profile probe = ob_profiles[OB_SPEC];
  struct schema_error error;
  if (ob_profile_override(&probe, key->text, value, &error) == SCHEMA_OK) return true;
  bool known = error.path[0] != 0; /* the fact itself is, so its value is not */
  struct span what = arena_printf(
      v->r->notes, known ? "%.*s.%.*s: write %s" : "%.*s: %.*s: %s", (int)v->path.len, v->path.ptr,
      key->text.len > SHOWN_MAX ? SHOWN_MAX : (int)key->text.len, key->text.ptr, error.what);
  v->r->fault(v->r->ctx, known ? key->next->place : key->place, what);
  return false;
}

/* Keys and values of a mapping of texts, in turn. */
static bool read_pairs(const struct value *v, const struct rg_yaml *node, struct rg_list *place)
{
  if (node->kind != RG_YAML_MAP) return fail(v, node, nothing);
  struct span *items = arena_zalloc(v->r->arena, 2 * node->count + 1, sizeof *items);
  if (!items) return out_of_memory(v, node);
  bool fine = true;
  size_t n = 0;
  for (const struct rg_yaml *key = node->first; key; key = key->next->next) {
    if (key->faulty || key->next->faulty) {
      fine = false;
      continue;
    }
    items[n] = arena_copy(v->r->arena, key->text);
    if (!items[n].ptr) return out_of_memory(v, key);
    if (v->key->type == RG_KEY_PATH_MAP && !span_starts(key->text, SPAN("/")))
      fine = fail(v, key, nothing);
    else if (!text_of(v, key->next, &items[n + 1]))
      fine = false;
    else if (items[n + 1].len == 0)
      fine = fail(v, key->next, nothing);
    else if (v->key->type == RG_KEY_FACTS && !fact(v, key, items[n + 1]))
      fine = false;
    else
      n += 2;
  }
  *place = (struct rg_list) { items, n };
  return fine;
}

/* ---- tools ---- */

static size_t word_index(const struct rg_key *key, struct span word)
{
  size_t i = rg_key_word_find(key, word);
  return i == SIZE_MAX ? 0 : i + 1;
}

/* Words of the row are bits, other names those of HTTP tools, looked up when all are known. */
static bool read_tool_names(const struct value *v, const struct rg_yaml *node, struct rg_group *g)
{
  struct rg_list names = { NULL, 0 };
  if (!read_list(v, node, text_item, &names)) return false;
  struct span *others = arena_zalloc(v->r->arena, names.count + 1, sizeof *others);
  if (!others) return out_of_memory(v, node);
  size_t n = 0;
  uint32_t bits = 0;
  for (size_t i = 0; i < names.count; i++) {
    size_t word = word_index(v->key, names.items[i]);
    if (word > 0)
      bits |= 1u << (word - 1);
    else
      others[n++] = names.items[i];
  }
  if (n > RG_TOOLS_MAX) return fail_with(v, node, "at most 32 tools", "最多 32 个工具");
  g->agent.tools = bits | (n > 0 ? RG_TOOL_HTTP : 0);
  g->agent.http_tools = (struct rg_list) { others, n };
  return true;
}

/* Writes YAML as JSON. The only word of a schema that is no text is additionalProperties: false. */
static void write_json(const struct rg_yaml *node, bool may_be_false, struct schema_writer *w)
{
  switch (node->kind) {
  case RG_YAML_SCALAR:
    if (may_be_false && node->plain && span_is(node->text, "false"))
      schema_write_bool(w, false);
    else
      schema_write_string(w, node->text.ptr ? node->text : SPAN(""));
    return;
  case RG_YAML_LIST:
    schema_write_array(w);
    for (const struct rg_yaml *item = node->first; item; item = item->next)
      write_json(item, false, w);
    schema_write_array_end(w);
    return;
  case RG_YAML_MAP:
    schema_write_object(w);
    for (const struct rg_yaml *key = node->first; key; key = key->next->next) {
      schema_write_key(w, key->text);
      write_json(key->next, span_is(key->text, "additionalProperties"), w);
    }
    schema_write_object_end(w);
    return;
  }
}

static bool holds_fault(const struct rg_yaml *node)
{
  bool faulty = node->faulty;
  for (const struct rg_yaml *n = node->first; n && !faulty; n = n->next) faulty = holds_fault(n);
  return faulty;
}

/* A schema written as YAML. */
static bool read_parameters(const struct value *v, const struct rg_yaml *node,
                            struct rg_schema_file *place)
{
  const struct rg_reading *r = v->r;
  struct buf json;
  struct span why;
  *place = (struct rg_schema_file) { .tree = NULL };
  if (holds_fault(node)) return false; /* it was told */
  if (node->kind != RG_YAML_MAP) return fail(v, node, nothing);
  buf_init(&json, RG_SCHEMA_MAX);
  struct schema_writer w = { .out = &json };
  write_json(node, false, &w);
  place->text = arena_copy(r->arena, buf_span(&json));
  bool failed = json.failed || !place->text.ptr;
  buf_done(&json);
  if (failed) return fail_with(v, node, "larger than 256 KiB", "超过 256 KiB");
  if (rg_schema_read(place->text, r->arena, r->notes, &place->tree, &why)) return true;
  why = arena_copy(r->notes, why); /* with its end */
  return fail_with(v, node, why.ptr, why.ptr);
}

/* RFC 9110's token. */
static bool is_header_name(struct span s)
{
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && !memchr("!#$%&'*+-.^_`|~", c, 15)) return false;
  }
  return s.len > 0;
}

/* What the request has by itself, or would be another request. */
static bool is_own_header(struct span name)
{
  static const char *const own[] = { "Host",       "Content-Length", "Transfer-Encoding",
                                     "Connection", "Expect",         "Upgrade" };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (span_eq_nocase(name, span_of(own[i]))) return true;
  return false;
}

static bool has_control(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.ptr[i] < ' ') return true;
  return false;
}

/* Header names, and values or paths of files. */
static bool read_headers(const struct value *v, const struct rg_yaml *node, struct rg_list *place)
{
  if (!read_pairs(v, node, place)) return false;
  bool fine = place->count <= 2 * RG_HEADERS_MAX ||
              fail_with(v, node, "at most 8 headers", "最多 8 个请求头");
  for (const struct rg_yaml *key = node->first; key && fine; key = key->next->next)
    if (!is_header_name(key->text) || is_own_header(key->text))
      fine = fail_with(v, key, "no header that may be set here", "不能设置这样的请求头");
  struct span *items = (struct span *)place->items; /* just made */
  for (size_t i = 1; i < place->count && fine; i += 2) {
    if (v->key->type == RG_KEY_HEADER_FILES)
      items[i] = rg_path_join(v->r->folder, items[i], v->r->arena);
    if (!items[i].ptr) return out_of_memory(v, node);
    if (has_control(items[i])) fine = fail_with(v, node, "a line end in a value", "值里有换行");
  }
  return fine;
}

/* ---- values of a form of their own ---- */

static bool read_path(const struct value *v, const struct rg_yaml *node, struct span *place)
{
  if (node->kind == RG_YAML_SCALAR && node->text.len > 0) return path_item(v, node, place);
  return text_of(v, node, place);
}

/* A schema outside the portable subset is as wrong as no file. */
static bool read_schema(const struct value *v, const struct rg_yaml *node,
                        struct rg_schema_file *place)
{
  const struct rg_reading *r = v->r;
  struct span why, path;
  *place = (struct rg_schema_file) { .tree = NULL };
  if (!read_path(v, node, &place->path)) return false;
  path = place->path;
  if (path.len == 0 || !r->files) return true;
  if (rg_schema_load(r->arena, r->notes, place, &why)) return true;
  struct span what =
      arena_printf(r->notes, r->language == SCHEMA_EN ? "%.*s: %.*s: %.*s" : "%.*s：%.*s：%.*s",
                   (int)v->path.len, v->path.ptr, (int)path.len, path.ptr, (int)why.len, why.ptr);
  r->fault(r->ctx, node->place, what);
  return false;
}

static bool read_prefix(const struct value *v, const struct rg_yaml *node, struct span *place)
{
  enum { PREFIX_CHARS_MAX = 32 };
  if (!text_of(v, node, place)) return false;
  bool digits = true;
  for (size_t i = 0; i < place->len; i++) {
    if (strchr(" \t\r\n", place->ptr[i])) return fail(v, node, nothing);
    if (place->ptr[i] < '0' || place->ptr[i] > '9') digits = false;
  }
  bool spaced = span_find(*place, SPAN("\u3000")) < place->len;
  if (digits || spaced || span_chars(*place) > PREFIX_CHARS_MAX) return fail(v, node, nothing);
  return true;
}

static bool read_store(const struct value *v, const struct rg_yaml *node, struct span *place)
{
  if (!text_of(v, node, place)) return false;
  if (span_starts(*place, SPAN("rediss://")))
    return fail_with(v, node, "rediss:// (TLS) is not possible in this build: write redis://",
                     "这个版本不支持 rediss://（TLS）：请写 redis://");
  if (!rg_address_is_store(*place)) return fail(v, node, nothing);
  struct span sqlite = SPAN("sqlite:");
  if (!span_starts(*place, sqlite)) return true;
  struct span path = { place->ptr + sqlite.len, place->len - sqlite.len };
  if (span_is(path, ":memory:") || span_starts(path, SPAN("file:")))
    return fail_with(v, node, "a store is a file's path, not :memory: or file: with options",
                     "store 要写文件路径，不能是 :memory: 或带选项的 file:");
  path = rg_path_join(v->r->folder, path, v->r->arena);
  *place = arena_printf(v->r->arena, "sqlite:%.*s", (int)path.len, path.ptr);
  return place->ptr || out_of_memory(v, node);
}

static bool read_connect(const struct value *v, const struct rg_yaml *node, struct rg_endpoint *e)
{
  struct span text;
  if (!text_of(v, node, &text)) return false;
  e->host_connects = span_is(text, "host");
  if (e->host_connects) return true;
  if (!rg_address_is_ws(text)) return fail(v, node, nothing);
  e->connect = text;
  return true;
}

static bool read_listen(const struct value *v, const struct rg_yaml *node, void *base)
{
  struct span text, host, path;
  uint16_t port;
  bool with_path = v->key->type == RG_KEY_LISTEN;
  if (!text_of(v, node, &text)) return false;
  if (!with_path && text.len == 0) return true; /* not set: the relay only dials */
  if (!rg_address_listen(text, with_path, &host, &port, &path)) return fail(v, node, nothing);
  if (with_path) {
    struct rg_endpoint *e = base;
    e->listen.host = host;
    e->listen.path = path;
    e->listen.port = port;
  } else {
    struct rg_config *c = base;
    c->relay.listen_host = host;
    c->relay.listen_port = port;
  }
  return true;
}

static bool read_url(const struct value *v, const struct rg_yaml *node, struct span *place)
{
  return text_of(v, node, place) && (rg_address_is_ws(*place) || fail(v, node, nothing));
}

static bool read_reactions(const struct value *v, const struct rg_yaml *node, struct rg_group *g)
{
  g->reaction_list = (struct rg_list) { NULL, 0 };
  g->reactions_handy = false;
  if (node->kind == RG_YAML_SCALAR) {
    if (!read_bool(v, node, &g->reactions)) return false;
    g->reactions_handy = g->reactions;
    return true;
  }
  bool fine = read_list(v, node, reaction_item, &g->reaction_list);
  g->reactions = g->reaction_list.count > 0;
  return fine;
}

static bool read_hosts(const struct value *v, const struct rg_yaml *node, struct rg_group *g)
{
  struct span text;
  g->media.hosts = (struct rg_list) { NULL, 0 };
  if (node->kind != RG_YAML_SCALAR) {
    g->media.public_hosts = false;
    return read_list(v, node, host_item, &g->media.hosts);
  }
  if (!text_of(v, node, &text)) return false;
  g->media.public_hosts = span_is(text, "public");
  return g->media.public_hosts || fail(v, node, nothing);
}

static bool read_notice(const struct value *v, const struct rg_yaml *node, struct rg_group *g)
{
  struct span text;
  if (!text_of(v, node, &text)) return false;
  if (span_trim(text).len == 0) return fail(v, node, nothing);
  g->notice_off = span_is(text, "off");
  g->notice = g->notice_off || span_is(text, "default") ? SPAN("") : text;
  return true;
}

bool rg_value_read(const struct rg_reading *r, const struct rg_key *key, const struct rg_yaml *node,
                   struct span path, void *base)
{
  struct value v = { r, key, path };
  char *place = (char *)base + key->offset;
  if (node->faulty) return false;
  switch (key->type) {
  case RG_KEY_BOOL: return read_bool(&v, node, (bool *)place);
  case RG_KEY_COUNT:
  case RG_KEY_BYTES:
  case RG_KEY_SECONDS: return read_number(&v, node, place);
  case RG_KEY_WORD:
  case RG_KEY_WORD_TEXT:
  case RG_KEY_PROFILE: return read_word(&v, node, place);
  case RG_KEY_WORDS: return read_words(&v, node, (uint32_t *)(void *)place);
  case RG_KEY_TEXT: return text_of(&v, node, (struct span *)(void *)place);
  case RG_KEY_PREFIX: return read_prefix(&v, node, (struct span *)(void *)place);
  case RG_KEY_PATH: return read_path(&v, node, (struct span *)(void *)place);
  case RG_KEY_SCHEMA: return read_schema(&v, node, (struct rg_schema_file *)(void *)place);
  case RG_KEY_PATHS: return read_list(&v, node, path_item, (struct rg_list *)(void *)place);
  case RG_KEY_TEXTS: return read_list(&v, node, text_item, (struct rg_list *)(void *)place);
  case RG_KEY_IDS: return read_ids(&v, node, (struct rg_ids *)(void *)place);
  case RG_KEY_STORE: return read_store(&v, node, (struct span *)(void *)place);
  case RG_KEY_CONNECT: return read_connect(&v, node, base);
  case RG_KEY_LISTEN:
  case RG_KEY_RELAY_LISTEN: return read_listen(&v, node, base);
  case RG_KEY_URL: return read_url(&v, node, (struct span *)(void *)place);
  case RG_KEY_FACTS:
  case RG_KEY_PATH_MAP: return read_pairs(&v, node, (struct rg_list *)(void *)place);
  case RG_KEY_REACTIONS: return read_reactions(&v, node, base);
  case RG_KEY_HOSTS: return read_hosts(&v, node, base);
  case RG_KEY_NOTICE: return read_notice(&v, node, base);
  case RG_KEY_TOOL_NAMES: return read_tool_names(&v, node, base);
  case RG_KEY_PARAMETERS: return read_parameters(&v, node, (struct rg_schema_file *)(void *)place);
  case RG_KEY_HEADERS:
  case RG_KEY_HEADER_FILES: return read_headers(&v, node, (struct rg_list *)(void *)place);
  case RG_KEY_TOOLS:
  case RG_KEY_SECTION:
  case RG_KEY_ENDPOINTS:
  case RG_KEY_PROVIDERS:
  case RG_KEY_GROUPS:
  case RG_KEY_FRAMEWORKS: break;
  }
  return fail(&v, node, nothing); /* config_read asks here only to have a wrong type told */
}
