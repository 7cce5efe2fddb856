#include "schema/print.h"

#include "schema/scan.h"

#include <inttypes.h>
#include <stdio.h>

enum { ESCAPE_MAX = 6 };

/* The top bit of each byte of eight that has to be escaped, and of some that need not. */
static inline uint64_t escapes(uint64_t eight)
{
  const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
  uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
  return ((quote - ones) | (backslash - ones) | (eight - ones * 0x20) | eight) & tops;
}

/* Copies n bytes, at most 16, and says whether none has to be escaped. False may be said of others
 * than ASCII as well. Keys and names are most of what is written, and are of this kind. */
static inline bool copy_plain(char *to, const char *from, size_t n)
{
  if (n >= 8) {
    uint64_t first, last;
    memcpy(&first, from, 8), memcpy(&last, from + n - 8, 8);
    memcpy(to, &first, 8), memcpy(to + n - 8, &last, 8);
    return !(escapes(first) | escapes(last));
  }
  if (n >= 4) {
    uint32_t first, last;
    memcpy(&first, from, 4), memcpy(&last, from + n - 4, 4);
    memcpy(to, &first, 4), memcpy(to + n - 4, &last, 4);
    return !escapes((uint64_t)first << 32 | last);
  }
  bool plain = true;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)from[i];
    plain &= (c >= 0x20) & (c < 0x80) & (c != '"') & (c != '\\');
    to[i] = from[i];
  }
  return plain;
}

/* buf_add in line: what is added here is mostly short, and there mostly is room. */
static inline void put(struct buf *out, const char *ptr, size_t len)
{
  if (!out->ptr || out->failed || len >= out->cap - out->len) {
    buf_add(out, (struct span) { ptr, len });
    return;
  }
  memcpy(out->ptr + out->len, ptr, len);
  out->len += len;
  out->ptr[out->len] = '\0';
}

static inline void put_char(struct buf *out, char c)
{
  put(out, &c, 1);
}

/* Where a value begins: the comma that parts it from the one before. */
static inline void begin_value(struct schema_writer *w)
{
  if (w->comma) put_char(w->out, ',');
  w->comma = true;
}

static void open_container(struct schema_writer *w, char bracket)
{
  begin_value(w);
  put_char(w->out, bracket);
  w->comma = false;
}

static void close_container(struct schema_writer *w, char bracket)
{
  put_char(w->out, bracket);
  w->comma = true;
}

void schema_write_object(struct schema_writer *w)
{
  open_container(w, '{');
}

void schema_write_object_end(struct schema_writer *w)
{
  close_container(w, '}');
}

void schema_write_array(struct schema_writer *w)
{
  open_container(w, '[');
}

void schema_write_array_end(struct schema_writer *w)
{
  close_container(w, ']');
}

/* Room for n bytes and for what scan_print may write behind them; *retslack: the latter is there. */
static bool reserve(struct buf *out, size_t n, bool *retslack)
{
  *retslack = out->max > n && out->max - n > out->len + SCAN_PRINT_SLACK;
  return buf_reserve(out, *retslack ? n + SCAN_PRINT_SLACK : n);
}

/* A text that is longer than keys and names, or not plain. */
static size_t put_text(struct buf *out, const char *p, const char *end)
{
  struct scan_print to = { .chars = 0 };
  bool slack;
  if (!reserve(out, (size_t)(end - p) + 2, &slack)) return 0;
  out->ptr[out->len++] = '"';
  for (;;) {
    size_t need = (size_t)(end - p) + 2 + (slack ? SCAN_PRINT_SLACK : 0); /* quote and NUL */
    to.out = out->ptr + out->len;
    to.spare = out->cap - out->len - need;
    p = slack ? scan_print(p, end, &to) : scan_print_portable(p, end, &to);
    out->len = (size_t)(to.out - out->ptr);
    if (p == end) break;
    if (!reserve(out, ESCAPE_MAX + (size_t)(end - p) + 1, &slack)) return 0;
  }
  out->ptr[out->len++] = '"';
  out->ptr[out->len] = '\0';
  return to.chars;
}

/* Returns the number of characters in s. */
static size_t put_quoted(struct buf *out, struct span s)
{
  const char *p = s.len ? s.ptr : "";
  if (s.len > 16 || !buf_reserve(out, s.len + 2)) return put_text(out, p, p + s.len);
  char *to = out->ptr + out->len;
  if (!copy_plain(to + 1, p, s.len)) return put_text(out, p, p + s.len);
  to[0] = to[s.len + 1] = '"';
  to[s.len + 2] = '\0';
  out->len += s.len + 2;
  return s.len; /* it is ASCII */
}

void schema_write_key(struct schema_writer *w, struct span key)
{
  begin_value(w);
  put_quoted(w->out, key);
  put_char(w->out, ':');
  w->comma = false;
}

size_t schema_write_string(struct schema_writer *w, struct span s)
{
  begin_value(w);
  return put_quoted(w->out, s);
}

void schema_write_raw(struct schema_writer *w, struct span json)
{
  begin_value(w);
  put(w->out, json.ptr, json.len);
}

void schema_write_bool(struct schema_writer *w, bool b)
{
  schema_write_raw(w, b ? SPAN("true") : SPAN("false"));
}

void schema_write_null(struct schema_writer *w)
{
  schema_write_raw(w, SPAN("null"));
}

void schema_write_int(struct schema_writer *w, int64_t n)
{
  begin_value(w);
  buf_printf(w->out, "%" PRId64, n);
}

/* Depth is bounded by the reader that built the tree. */
void schema_write_tree(struct schema_writer *w, const struct schema_node *node)
{
  switch (node->kind) {
  case SCHEMA_NULL: schema_write_null(w); break;
  case SCHEMA_BOOL: schema_write_bool(w, node->truth); break;
  case SCHEMA_NUMBER: schema_write_raw(w, node->text); break;
  case SCHEMA_STRING: schema_write_string(w, node->text); break;
  case SCHEMA_ARRAY:
    schema_write_array(w);
    for (const struct schema_node *child = node->first; child; child = child->next)
      schema_write_tree(w, child);
    schema_write_array_end(w);
    break;
  case SCHEMA_OBJECT:
    schema_write_object(w);
    for (const struct schema_node *child = node->first; child; child = child->next) {
      schema_write_key(w, child->key);
      schema_write_tree(w, child);
    }
    schema_write_object_end(w);
    break;
  }
}

/* ---- replies ---- */

static void write_media(struct schema_writer *w, const struct schema_segment *segment)
{
  schema_write_key(w, SPAN("media"));
  schema_write_object(w);
  schema_write_pair(w, "kind", span_of(schema_media_kinds[segment->media_kind]));
  schema_write_pair(w, "value", segment->text);
  schema_write_object_end(w);
}

static void write_keyboard(struct schema_writer *w, const struct schema_segment *segment)
{
  schema_write_key(w, SPAN("rows"));
  schema_write_array(w);
  for (size_t i = 0; i < segment->keyboard.count; i++) {
    const struct schema_row *row = &segment->keyboard.rows[i];
    schema_write_array(w);
    for (size_t k = 0; k < row->count; k++) {
      schema_write_object(w);
      schema_write_pair(w, "label", row->buttons[k].label);
      schema_write_pair(w, "payload", row->buttons[k].payload);
      schema_write_object_end(w);
    }
    schema_write_array_end(w);
  }
  schema_write_array_end(w);
}

static void write_share(struct schema_writer *w, const struct schema_segment *segment)
{
  for (size_t i = 0; i < segment->share.count; i++) {
    schema_write_key(w, segment->share.fields[i].name);
    schema_write_string(w, segment->share.fields[i].value);
  }
}

static void write_segment(struct schema_writer *w, const struct schema_segment *segment)
{
  const struct schema_segment_type *type = &schema_segment_types[segment->type];
  begin_value(w);
  put(w->out, type->heads[0], type->head_lens[0]);
  w->comma = false;
  switch (type->shape) {
  case SCHEMA_SHAPE_STRING: put_quoted(w->out, segment->text); break;
  case SCHEMA_SHAPE_MEDIA: write_media(w, segment); break;
  case SCHEMA_SHAPE_KEYBOARD: write_keyboard(w, segment); break;
  case SCHEMA_SHAPE_SHARE: write_share(w, segment); break;
  case SCHEMA_SHAPE_EMPTY: break;
  }
  put(w->out, "}}", 2);
  w->comma = true;
}

void schema_write_reply(struct schema_writer *w, const struct schema_reply *reply,
                        bool with_reaction)
{
  schema_write_object(w);
  schema_write_key(w, SPAN("messages"));
  schema_write_array(w);
  for (size_t i = 0; i < reply->count; i++) {
    const struct schema_message *message = &reply->messages[i];
    schema_write_object(w);
    if (message->reply_to.len) schema_write_pair(w, "reply_to", message->reply_to);
    schema_write_key(w, SPAN("segments"));
    schema_write_array(w);
    for (size_t k = 0; k < message->count; k++) write_segment(w, &message->segments[k]);
    schema_write_array_end(w);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  if (with_reaction) schema_write_pair(w, "reaction", reply->reaction);
  schema_write_object_end(w);
}
