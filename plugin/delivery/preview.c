/* preview: see preview.h. */
#include "plugin/delivery/preview.h"

enum { PREVIEW_MAX = 2000 }; /* enough to recognise a reply; nobody reads more in a log */

/* Adds what still fits, whole characters only. */
static void add(struct buf *out, size_t end, struct span text)
{
  size_t room = out->len < end ? end - out->len : 0;
  if (text.len > room) {
    text.len = room;
    text.len = span_utf8_fault(text);
  }
  buf_add(out, text);
}

static void add_button_row(struct buf *out, size_t end, const struct schema_row *row)
{
  for (size_t i = 0; i < row->count; i++) {
    add(out, end, SPAN("["));
    add(out, end, row->buttons[i].label);
    add(out, end, SPAN("]"));
  }
}

static void add_segment(struct buf *out, size_t end, const struct schema_segment *s)
{
  switch (s->type) {
  case SCHEMA_TEXT:
  case SCHEMA_MARKDOWN: add(out, end, s->text); return;
  case SCHEMA_MENTION:
    add(out, end, SPAN("@"));
    add(out, end, s->text);
    return;
  case SCHEMA_KEYBOARD:
    for (size_t i = 0; i < s->keyboard.count; i++) add_button_row(out, end, &s->keyboard.rows[i]);
    return;
  case SCHEMA_SHARE:
    add(out, end, SPAN("[share: "));
    add(out, end, schema_share_field(s, "title"));
    add(out, end, SPAN("]"));
    return;
  case SCHEMA_IMAGE:
  case SCHEMA_AUDIO:
  case SCHEMA_VIDEO:
  case SCHEMA_FILE:
  case SCHEMA_DICE:
  case SCHEMA_RPS:
  case SCHEMA_TYPE_COUNT: break;
  }
  add(out, end, SPAN("["));
  add(out, end, span_of(schema_segment_types[s->type].name));
  add(out, end, SPAN("]"));
}

void rg_preview(const struct schema_reply *reply, struct buf *out)
{
  size_t end = out->len + PREVIEW_MAX;
  for (size_t m = 0; m < reply->count; m++) {
    if (m > 0) add(out, end, SPAN("\n"));
    for (size_t i = 0; i < reply->messages[m].count; i++) {
      add_segment(out, end, &reply->messages[m].segments[i]);
    }
  }
}
