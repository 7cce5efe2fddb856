#include "plugin/agent/tool_url.h"

#include "schema/portable.h"

static const char no_part[] = "an argument can be no part of a path";
static const char no_url[] = "write an address like https://api.example.com/search?q={keyword}";

/* Where path and query begin, or 0: no http(s) address with a host. */
static size_t host_end(struct span url)
{
  size_t at = span_starts(url, SPAN("https://")) ? 8 : span_starts(url, SPAN("http://")) ? 7 : 0;
  if (at == 0) return 0;
  size_t end = at;
  while (end < url.len && !memchr("/?#", url.ptr[end], 3)) end++;
  return end > at ? end : 0;
}

/* The next {name} from *at on: *retname is its name, *at behind it. False: there is none. */
static bool next_name(struct span url, size_t *at, struct span *retname)
{
  struct span rest = { url.ptr + *at, url.len - *at };
  const char *open = rest.len ? memchr(rest.ptr, '{', rest.len) : NULL;
  if (!open) return false;
  size_t begin = (size_t)(open - url.ptr) + 1;
  const char *close = memchr(url.ptr + begin, '}', url.len - begin);
  if (!close) return false;
  *retname = (struct span) { url.ptr + begin, (size_t)(close - url.ptr) - begin };
  *at = (size_t)(close - url.ptr) + 1;
  return true;
}

bool rg_tool_url_names(struct span url, struct span parameter)
{
  struct span name;
  for (size_t at = 0; next_name(url, &at, &name);)
    if (span_eq(name, parameter)) return true;
  return false;
}

static bool is_scalar(const struct schema_node *schema)
{
  enum schema_portable_type type = schema_portable_type(schema);
  return type != SCHEMA_PORTABLE_OBJECT && type != SCHEMA_PORTABLE_ARRAY;
}

/* What a query can hold: one value, or a list of them. */
static bool is_queryable(const struct schema_node *schema)
{
  bool list = schema_portable_type(schema) == SCHEMA_PORTABLE_ARRAY;
  return is_scalar(list ? schema_tree_get(schema, "items") : schema);
}

/* Braces that are no {name}, spaces and what else no address has. */
static const char *characters_fault(struct span url, size_t host)
{
  bool open = false;
  for (size_t i = 0; i < url.len; i++) {
    unsigned char c = (unsigned char)url.ptr[i];
    if (c <= ' ' || c >= 0x7F || c == '\\')
      return "no spaces, no characters beyond ASCII: write them as %XX";
    if (c == '#') return "an address of a tool has no #";
    if (i < host && (c == '{' || c == '}'))
      return "the host stands fixed: {name} only behind it, in the path or the query";
    if (i < host && c == '@') return "no user and password in the address: write headers";
    if (c == '{' && open) return "{ inside { }";
    if (c == '}' && !open) return "a } without its {";
    if (c == '{' || c == '}') open = c == '{';
  }
  return open ? "a { without its }" : NULL;
}

const char *rg_tool_url_fault(struct span url, const struct schema_node *parameters, bool queried,
                              struct arena *arena)
{
  size_t host = host_end(url);
  if (host == 0 || url.len > RG_TOOL_URL_MAX) return no_url;
  const char *fault = characters_fault(url, host);
  if (fault || !parameters) return fault;
  const struct schema_node *properties = schema_tree_get(parameters, "properties");
  struct span name, what = { NULL, 0 };
  for (size_t at = 0; !what.ptr && next_name(url, &at, &name);) {
    const struct schema_node *p = properties->first;
    while (p && !span_eq(p->key, name)) p = p->next;
    if (!p || !is_scalar(p))
      what = arena_printf(arena, "{%.*s} is no parameter that is text, a number or a boolean",
                          (int)name.len, name.ptr);
  }
  for (const struct schema_node *p = properties->first; p && queried && !what.ptr; p = p->next)
    if (!rg_tool_url_names(url, p->key) && !is_queryable(p))
      what = arena_printf(arena,
                          "the parameter %.*s is an object, which no address can hold: use "
                          "method: post",
                          (int)p->key.len, p->key.ptr);
  return what.ptr;
}

/* ---- filling ---- */

static void encode(struct span text, struct buf *out)
{
  static const char hex[] = "0123456789ABCDEF";
  for (size_t i = 0; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 memchr("-_.~", c, 4);
    if (plain) {
      buf_add_char(out, (char)c);
    } else {
      buf_add_char(out, '%');
      buf_add_char(out, hex[c >> 4]);
      buf_add_char(out, hex[c & 15]);
    }
  }
}

/* What a scalar says: a text, the digits of a number, true or false. */
static struct span scalar_text(const struct schema_node *value)
{
  return value->kind == SCHEMA_STRING ? value->text : value->raw;
}

static void add_query(struct span key, const struct schema_node *value, bool *first,
                      struct buf *out)
{
  buf_add_char(out, *first ? '?' : '&');
  *first = false;
  encode(key, out);
  buf_add_char(out, '=');
  encode(scalar_text(value), out);
}

/* Whether a step of a path is . or .., which would lead elsewhere. */
static bool climbs(struct span path)
{
  for (size_t at = 0, begin = 0; at <= path.len; at++) {
    if (at < path.len && path.ptr[at] != '/' && path.ptr[at] != '\\') continue;
    struct span step = { path.ptr + begin, at - begin };
    if (span_is(step, ".") || span_is(step, "..")) return true;
    begin = at + 1;
  }
  return false;
}

/* The path of an address. */
static struct span path_of(struct span url)
{
  size_t at = host_end(url), end = at;
  while (end < url.len && url.ptr[end] != '?') end++;
  return (struct span) { url.ptr + at, end - at };
}

/* What a part of a path may not be: nothing, or steps (a server may read %2F as /). */
static bool is_path_part(struct span value)
{
  return value.len > 0 && !climbs(value);
}

const char *rg_tool_url_write(struct span url, const struct schema_node *arguments, bool queried,
                              struct buf *out)
{
  struct span name;
  size_t begin = 0;
  bool query = memchr(url.ptr, '?', url.len) != NULL;
  for (size_t at = 0; next_name(url, &at, &name); begin = at) {
    struct span before = { url.ptr + begin, (size_t)(name.ptr - 1 - url.ptr) - begin };
    const struct schema_node *value = arguments->first;
    while (value && !span_eq(value->key, name)) value = value->next;
    if (!value) return "an argument is missing";
    buf_add(out, before);
    bool in_path = !out->len || !memchr(out->ptr, '?', out->len);
    if (in_path && !is_path_part(scalar_text(value))) return no_part;
    encode(scalar_text(value), out);
  }
  buf_add(out, (struct span) { url.ptr + begin, url.len - begin });
  bool first = !query;
  for (const struct schema_node *value = queried ? arguments->first : NULL; value;
       value = value->next) {
    if (rg_tool_url_names(url, value->key)) continue;
    if (value->kind != SCHEMA_ARRAY) add_query(value->key, value, &first, out);
    for (const struct schema_node *item = value->kind == SCHEMA_ARRAY ? value->first : NULL; item;
         item = item->next)
      add_query(value->key, item, &first, out);
  }
  if (out->failed || out->len > RG_TOOL_URL_MAX) return "the arguments are too long";
  return climbs(path_of(buf_span(out))) ? no_part : NULL;
}
