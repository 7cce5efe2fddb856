/* keyboard: see keyboard.h. */
#include "plugin/delivery/keyboard.h"

#include <stdlib.h>

enum { NUMBER_DIGITS_MAX = 4 }; /* nobody counts through a list of more than 9,999 buttons */

static const char ideographic_space[] = "\xE3\x80\x80"; /* U+3000, what a Chinese keyboard types */

/* Without white space at both ends, the ideographic space included. */
static struct span trim_wide(struct span s)
{
  struct span wide = span_of(ideographic_space);
  for (size_t before = s.len + 1; s.len < before;) {
    before = s.len;
    s = span_trim(s);
    while (span_starts(s, wide)) s = (struct span) { s.ptr + wide.len, s.len - wide.len };
    while (span_ends(s, wide)) s.len -= wide.len;
  }
  return s;
}

/* Whether a button takes a number: it has a label and a payload, as the plan counts them. */
static bool is_numbered(const struct schema_button *button)
{
  return button->payload.len > 0 && !span_is_blank(button->label);
}

static size_t numbered_count(const struct schema_segment *keyboard, size_t *bytes)
{
  size_t count = 0;
  *bytes = 0;
  for (size_t r = 0; r < keyboard->keyboard.count; r++) {
    const struct schema_row *row = &keyboard->keyboard.rows[r];
    for (size_t i = 0; i < row->count; i++) {
      if (!is_numbered(&row->buttons[i])) continue;
      count++;
      *bytes += row->buttons[i].payload.len;
    }
  }
  return count;
}

/* Copies s behind *at and moves it on. */
static struct span put(char **at, struct span s)
{
  struct span copy = { *at, s.len };
  if (s.len > 0) memcpy(*at, s.ptr, s.len);
  *at += s.len;
  return copy;
}

bool rg_keyboard_remember(struct rg_keyboard *k, const struct schema_segment *keyboard,
                          struct span asked, uint64_t now_ms)
{
  size_t bytes;
  size_t count = numbered_count(keyboard, &bytes);
  if (count == 0) return true;
  struct span *payloads = malloc(count * sizeof *payloads + bytes + asked.len);
  if (!payloads) return false;

  rg_keyboard_forget(k);
  char *at = (char *)(payloads + count);
  for (size_t r = 0; r < keyboard->keyboard.count; r++) {
    const struct schema_row *row = &keyboard->keyboard.rows[r];
    for (size_t i = 0; i < row->count; i++) {
      if (!is_numbered(&row->buttons[i])) continue;
      payloads[k->count++] = put(&at, row->buttons[i].payload);
    }
  }
  k->payloads = payloads;
  k->asked = put(&at, asked);
  k->until_ms = now_ms + RG_KEYBOARD_TTL_MS;
  return true;
}

void rg_keyboard_forget(struct rg_keyboard *k)
{
  free(k->payloads);
  *k = (struct rg_keyboard) { .payloads = NULL };
}

static bool space_at(struct span s, size_t i)
{
  struct span rest = { s.ptr + i, s.len - i };
  return s.ptr[i] == ' ' || s.ptr[i] == '\n' || span_starts(rest, span_of(ideographic_space));
}

/* What addresses the bot in front of the words: <at …/> and @name, as some hosts leave them. */
static struct span without_address(struct span text)
{
  text = trim_wide(text);
  for (;;) {
    size_t end = 0;
    if (span_starts(text, SPAN("<at "))) {
      end = span_find(text, SPAN("/>")) + 2;
    } else if (span_starts(text, SPAN("@"))) {
      while (end < text.len && !space_at(text, end)) end++;
    }
    if (end == 0 || end >= text.len) return text;
    text = trim_wide((struct span) { text.ptr + end, text.len - end });
  }
}

/* The digit at the beginning of *s, ASCII or full-width, or -1; *s moves on. */
static int digit_take(struct span *s)
{
  const unsigned char *u = (const unsigned char *)s->ptr;
  size_t len = 1;
  int digit = -1;
  if (s->len >= 1 && u[0] >= '0' && u[0] <= '9') {
    digit = u[0] - '0';
  } else if (s->len >= 3 && u[0] == 0xEF && u[1] == 0xBC && u[2] >= 0x90 && u[2] <= 0x99) {
    digit = u[2] - 0x90;
    len = 3;
  }
  if (digit >= 0) *s = (struct span) { s->ptr + len, s->len - len };
  return digit;
}

/* The number that the whole of s is, without leading zeros; 0: none. */
static size_t number_read(struct span s)
{
  size_t number = 0;
  for (int i = 0; s.len > 0; i++) {
    int digit = digit_take(&s);
    if (digit < 0 || i == NUMBER_DIGITS_MAX || (i == 0 && digit == 0)) return 0;
    number = number * 10 + (size_t)digit;
  }
  return number;
}

bool rg_keyboard_tap(const struct rg_keyboard *k, struct span text, struct span user,
                     uint64_t now_ms, struct span *ret)
{
  if (k->count == 0 || now_ms >= k->until_ms) return false;
  if (k->asked.len > 0 && !span_eq(k->asked, user)) return false;
  size_t number = number_read(without_address(text));
  if (number == 0 || number > k->count) return false;
  *ret = k->payloads[number - 1];
  return true;
}

static void add_cq_text(struct buf *out, struct span text)
{
  for (size_t i = 0; i < text.len; i++) {
    switch (text.ptr[i]) {
    case '&': buf_add(out, SPAN("&amp;")); break;
    case '[': buf_add(out, SPAN("&#91;")); break;
    case ']': buf_add(out, SPAN("&#93;")); break;
    default: buf_add_char(out, text.ptr[i]); break;
    }
  }
}

/* A CQ string: its leading codes (a mention, a quote) stay, its words become the payload. */
static void write_cq_string(struct schema_writer *w, struct span old, struct span payload)
{
  size_t kept = 0;
  for (;;) {
    struct span rest = { old.ptr + kept, old.len - kept };
    size_t end = span_find(rest, SPAN("]"));
    if (!span_starts(rest, SPAN("[CQ:")) || end == rest.len) break;
    kept += end + 1;
    while (kept < old.len && old.ptr[kept] == ' ') kept++;
  }
  struct buf text;
  buf_init(&text, old.len + 5 * payload.len);
  buf_add(&text, (struct span) { old.ptr, kept });
  add_cq_text(&text, payload);
  if (text.failed) w->out->failed = true;
  schema_write_string(w, buf_span(&text));
  buf_done(&text);
}

static void write_segments(struct schema_writer *w, const struct schema_node *old,
                           struct span payload)
{
  schema_write_array(w);
  for (const struct schema_node *s = old->first; s; s = s->next) {
    if (!span_is(schema_tree_string(schema_tree_get(s, "type")), "text")) {
      schema_write_raw(w, s->raw);
    }
  }
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("text"));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  schema_write_pair(w, "text", payload);
  schema_write_object_end(w);
  schema_write_object_end(w);
  schema_write_array_end(w);
}

bool rg_keyboard_event(const struct schema_node *event, struct span payload, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_object(&w);
  for (const struct schema_node *m = event->first; m; m = m->next) {
    bool message = span_is(m->key, "message");
    schema_write_key(&w, m->key);
    if (message && m->kind == SCHEMA_ARRAY) {
      write_segments(&w, m, payload);
    } else if (m->kind == SCHEMA_STRING && (message || span_is(m->key, "raw_message"))) {
      write_cq_string(&w, m->text, payload);
    } else {
      schema_write_raw(&w, m->raw);
    }
  }
  schema_write_object_end(&w);
  return !out->failed;
}
