/* cq: see cq.h. */
#include "onebot/sandbox/cq.h"

static const struct escape {
  char plain;
  bool values_only;
  struct span code;
} escapes[] = {
  { '[', false, { "&#91;", 5 } },
  { ']', false, { "&#93;", 5 } },
  { ',', true, { "&#44;", 5 } },
  { '&', false, { "&amp;", 5 } }, /* last when reading: what it uncovers is no code again */
};

static void add_escaped(struct buf *out, struct span text, bool value)
{
  for (size_t i = 0; i < text.len; i++) {
    const struct escape *found = NULL;
    for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++)
      if (escapes[k].plain == text.ptr[i] && (value || !escapes[k].values_only))
        found = &escapes[k];
    if (found)
      buf_add(out, found->code);
    else
      buf_add_char(out, text.ptr[i]);
  }
}

/* One pass from the left decodes each code once, which is the same as "&amp; last". */
static void add_plain(struct buf *out, struct span text)
{
  for (size_t i = 0; i < text.len;) {
    const struct escape *found = NULL;
    struct span rest = { text.ptr + i, text.len - i };
    for (size_t k = 0; text.ptr[i] == '&' && k < sizeof escapes / sizeof *escapes; k++)
      if (span_starts(rest, escapes[k].code)) found = &escapes[k];
    buf_add_char(out, found ? found->plain : text.ptr[i]);
    i += found ? found->code.len : 1;
  }
}

static void write_unescaped(struct schema_writer *w, struct span text)
{
  struct buf plain;
  buf_init(&plain, text.len + 1);
  add_plain(&plain, text);
  schema_write_string(w, buf_span(&plain));
  buf_done(&plain);
}

static void write_text(struct schema_writer *w, struct span text)
{
  if (text.len == 0) return;
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("text"));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  schema_write_key(w, SPAN("text"));
  write_unescaped(w, text);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

static bool type_char(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

/* The next "key=value" of code, which it is taken off. False: no '=' in it. */
static bool next_pair(struct span *code, struct span *key, struct span *value)
{
  const char *comma = memchr(code->ptr, ',', code->len);
  size_t len = comma ? (size_t)(comma - code->ptr) : code->len;
  const char *equals = memchr(code->ptr, '=', len);
  if (!equals) return false;
  *key = (struct span) { code->ptr, (size_t)(equals - code->ptr) };
  *value = (struct span) { equals + 1, len - key->len - 1 };
  code->ptr += len + (comma ? 1 : 0);
  code->len -= len + (comma ? 1 : 0);
  return true;
}

/* Parts what stands between "[CQ:" and "]" into its type and its pairs. */
static struct span code_type(struct span code, struct span *pairs)
{
  size_t len = 0;
  while (len < code.len && type_char(code.ptr[len])) len++;
  size_t comma = len < code.len && code.ptr[len] == ',';
  *pairs = (struct span) { code.ptr + len + comma, code.len - len - comma };
  return (struct span) { code.ptr, len };
}

static bool is_code(struct span code)
{
  struct span pairs, key, value, type = code_type(code, &pairs);
  if (type.len == 0 || (type.len < code.len && code.ptr[type.len] != ',')) return false;
  while (pairs.len)
    if (!next_pair(&pairs, &key, &value)) return false;
  return true;
}

static void write_code(struct schema_writer *w, struct span code)
{
  struct span pairs, key, value, type = code_type(code, &pairs);
  schema_write_object(w);
  schema_write_pair(w, "type", type);
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  while (pairs.len && next_pair(&pairs, &key, &value)) {
    schema_write_key(w, key);
    write_unescaped(w, value);
  }
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* The length of what stands between "[CQ:" and its bracket, or code.len: not closed. A raw '[' within
 * (it would have to be escaped) means that it is no code, which also keeps this linear. */
static size_t code_length(struct span code)
{
  size_t len = 0;
  while (len < code.len && code.ptr[len] != ']' && code.ptr[len] != '[') len++;
  return len < code.len && code.ptr[len] == ']' ? len : code.len;
}

void ob_cq_read(struct span text, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_array(&w);
  size_t done = 0; /* everything before is written */
  for (size_t at = 0; at < text.len;) {
    at += span_find((struct span) { text.ptr + at, text.len - at }, SPAN("[CQ:"));
    if (at >= text.len) break;
    struct span code = { text.ptr + at + 4, text.len - at - 4 };
    size_t len = code_length(code);
    size_t before = at;
    at += 4;
    if (len == code.len || !is_code((struct span) { code.ptr, len })) continue;
    write_text(&w, (struct span) { text.ptr + done, before - done });
    write_code(&w, (struct span) { code.ptr, len });
    done = at = at + len + 1;
  }
  write_text(&w, (struct span) { text.ptr + done, text.len - done });
  schema_write_array_end(&w);
}

void ob_cq_print_code(const struct schema_node *segment, struct buf *out)
{
  buf_add(out, SPAN("[CQ:"));
  buf_add(out, schema_tree_string(schema_tree_get(segment, "type")));
  const struct schema_node *data = schema_tree_get(segment, "data");
  for (const struct schema_node *m = data ? data->first : NULL; m; m = m->next) {
    buf_add_char(out, ',');
    buf_add(out, m->key);
    buf_add_char(out, '=');
    add_escaped(out, m->text.ptr ? m->text : m->raw, true);
  }
  buf_add_char(out, ']');
}

void ob_cq_print(const struct schema_node *segments, struct buf *out)
{
  for (const struct schema_node *s = segments ? segments->first : NULL; s; s = s->next) {
    if (span_is(schema_tree_string(schema_tree_get(s, "type")), "text"))
      add_escaped(out, schema_tree_string(schema_tree_get(schema_tree_get(s, "data"), "text")),
                  false);
    else
      ob_cq_print_code(s, out);
  }
}
