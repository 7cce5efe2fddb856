#include "schema/print.h"

#include "schema/scan.h"

#include <inttypes.h>
#include <stdio.h>

/* Where a value begins: the comma that parts it from the one before. */
static void begin_value(struct schema_writer *w)
{
  if (w->comma) buf_add_char(w->out, ',');
  w->comma = true;
}

static void open_container(struct schema_writer *w, char bracket)
{
  begin_value(w);
  buf_add_char(w->out, bracket);
  w->comma = false;
}

static void close_container(struct schema_writer *w, char bracket)
{
  buf_add_char(w->out, bracket);
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

static void add_escape(struct buf *out, unsigned char c)
{
  static const char names[] = "btn?fr"; /* of 0x08 to 0x0D; 0x0B has none */
  if (c == '"' || c == '\\' || (c >= 0x08 && c <= 0x0D && c != 0x0B)) {
    buf_add_char(out, '\\');
    buf_add_char(out, c < 0x20 ? names[c - 0x08] : (char)c);
    return;
  }
  buf_printf(out, "\\u%04x", c);
}

/* How many bytes of [p, end) may stand in a string as they are. */
static size_t plain_length(const char *p, const char *end)
{
  const char *begin = p;
#ifdef SCHEMA_SSE2
  for (; end - p >= 16; p += 16) {
    scan_bytes16 v;
    memcpy(&v, p, sizeof v);
    uint32_t stop = scan_mask16((v == '"') | (v == '\\') | (v < 0x20));
    if (stop) return (size_t)(p - begin) + (size_t)__builtin_ctz(stop);
  }
#endif
  while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\') p++;
  return (size_t)(p - begin);
}

static void add_quoted(struct buf *out, struct span s)
{
  const char *p = s.len ? s.ptr : "", *end = p + s.len;
  buf_reserve(out, s.len + 2);
  buf_add_char(out, '"');
  while (p < end) {
    size_t n = plain_length(p, end);
    buf_add(out, (struct span) { p, n });
    p += n;
    if (p < end) add_escape(out, (unsigned char)*p++);
  }
  buf_add_char(out, '"');
}

void schema_write_key(struct schema_writer *w, struct span key)
{
  begin_value(w);
  add_quoted(w->out, key);
  buf_add_char(w->out, ':');
  w->comma = false;
}

void schema_write_string(struct schema_writer *w, struct span s)
{
  begin_value(w);
  add_quoted(w->out, s);
}

void schema_write_raw(struct schema_writer *w, struct span json)
{
  begin_value(w);
  buf_add(w->out, json);
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

void schema_write_pair(struct schema_writer *w, const char *key, struct span value)
{
  schema_write_key(w, span_of(key));
  schema_write_string(w, value);
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

static void write_segment(struct schema_writer *w, const struct schema_segment *segment)
{
  const struct schema_segment_type *type = &schema_segment_types[segment->type];
  schema_write_object(w);
  schema_write_pair(w, "type", span_of(type->name));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  switch (type->shape) {
  case SCHEMA_SHAPE_STRING: schema_write_pair(w, type->field, segment->text); break;
  case SCHEMA_SHAPE_MEDIA: write_media(w, segment); break;
  case SCHEMA_SHAPE_KEYBOARD: write_keyboard(w, segment); break;
  case SCHEMA_SHAPE_SHARE:
    for (size_t i = 0; i < segment->share.count; i++) {
      schema_write_key(w, segment->share.fields[i].name);
      schema_write_string(w, segment->share.fields[i].value);
    }
    break;
  case SCHEMA_SHAPE_EMPTY: break;
  }
  schema_write_object_end(w);
  schema_write_object_end(w);
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
