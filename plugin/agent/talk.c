/* talk: see talk.h. */
#include "plugin/agent/talk.h"

#include <stdlib.h>

#include "schema/print.h"

struct span rg_talk_cut(struct span text)
{
  if (text.len <= RG_TALK_LINE_MAX) return text;
  text.len = RG_TALK_LINE_MAX;
  while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) text.len--;
  return text;
}

static struct span put(char **at, struct span s)
{
  struct span copy = { *at, s.len };
  if (s.len > 0) memcpy(*at, s.ptr, s.len);
  *at += s.len;
  return copy;
}

void rg_talk_add(struct rg_talk *t, const struct rg_talk_line *line)
{
  struct rg_talk_line l = *line;
  l.text = rg_talk_cut(l.text);
  char *bytes = malloc(l.sender_id.len + l.name.len + l.message_id.len + l.reply_to.len +
                       l.text.len + l.pictures.len + 1);
  if (!bytes) return;
  l.sender_id = put(&bytes, l.sender_id); /* first: it is where the allocation begins */
  l.name = put(&bytes, l.name);
  l.message_id = put(&bytes, l.message_id);
  l.reply_to = put(&bytes, l.reply_to);
  l.text = put(&bytes, l.text);
  l.pictures = put(&bytes, l.pictures);
  if (t->count == RG_TALK_MAX) {
    free((void *)t->lines[t->first].sender_id.ptr);
    t->first = (t->first + 1) % RG_TALK_MAX;
    t->count--;
  }
  t->lines[(t->first + t->count++) % RG_TALK_MAX] = l;
}

void rg_talk_done(struct rg_talk *t)
{
  for (size_t i = 0; i < t->count; i++)
    free((void *)t->lines[(t->first + i) % RG_TALK_MAX].sender_id.ptr);
  t->first = t->count = 0;
}

void rg_talk_forget(struct rg_talk *t, struct span message_id)
{
  for (size_t i = 0; message_id.len > 0 && i < t->count; i++) {
    struct rg_talk_line *l = &t->lines[(t->first + i) % RG_TALK_MAX];
    if (span_eq(l->message_id, message_id)) l->text.len = l->pictures.len = 0;
  }
}

bool rg_talk_knows(const struct rg_talk *t, struct span message_id)
{
  if (message_id.len == 0) return false;
  for (size_t i = 0; i < t->count; i++) {
    const struct rg_talk_line *l = &t->lines[(t->first + i) % RG_TALK_MAX];
    if (span_eq(l->message_id, message_id) || span_eq(l->reply_to, message_id)) return true;
  }
  return false;
}

bool rg_talk_is_ours(const struct rg_talk *t, struct span message_id)
{
  if (message_id.len == 0) return false;
  for (size_t i = 0; i < t->count; i++) {
    const struct rg_talk_line *l = &t->lines[(t->first + i) % RG_TALK_MAX];
    if (l->ours && span_eq(l->message_id, message_id)) return true;
  }
  return false;
}

/* A person's words as one line of JSON, so that no text can pass for another line. */
static void write_line(const struct rg_talk_line *l, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_object(&w);
  schema_write_pair(&w, "sender_id", l->sender_id);
  schema_write_pair(&w, "name", l->name);
  schema_write_pair(&w, "message_id", l->message_id);
  if (l->reply_to.len > 0) schema_write_pair(&w, "reply_to", l->reply_to);
  schema_write_pair(&w, "text", l->text);
  schema_write_object_end(&w);
  buf_add_char(out, '\n');
}

/* What was gathered becomes one turn. False: no memory. */
static bool flush(struct buf *gathered, bool ours, struct arena *arena, struct rg_said *ret)
{
  ret->by = ours ? RG_SAID_MODEL : RG_SAID_USER;
  ret->text = arena_copy(arena, buf_span(gathered));
  bool made = !gathered->failed && ret->text.ptr;
  buf_clear(gathered);
  return made;
}

/* How far from the end of the talk a message stands, 1 for the last; 0: it is not there. */
static size_t distance(const struct rg_talk *t, struct span message_id)
{
  for (size_t back = 1; message_id.len > 0 && back <= t->count; back++)
    if (span_eq(t->lines[(t->first + t->count - back) % RG_TALK_MAX].message_id, message_id))
      return back;
  return 0;
}

static void write_asked(struct span message_id, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_object(&w);
  schema_write_pair(&w, "answer", message_id);
  schema_write_object_end(&w);
  buf_add_char(out, '\n');
}

size_t rg_talk_said(const struct rg_talk *t, size_t limit, struct span asked, struct arena *arena,
                    struct rg_said **ret)
{
  size_t back = distance(t, asked), n = 0;
  if (back > limit) limit = back;
  size_t skip = t->count > limit ? t->count - limit : 0;
  struct rg_said *said = arena_zalloc(arena, RG_TALK_MAX + 1, sizeof *said);
  struct buf b;
  bool ours = false, made = said != NULL;
  buf_init(&b, RG_TALK_MAX * (size_t)RG_TALK_LINE_MAX * 8);
  for (size_t i = skip; i < t->count && made; i++) {
    const struct rg_talk_line *l = &t->lines[(t->first + i) % RG_TALK_MAX];
    if (l->text.len == 0) continue;
    if (b.len > 0 && l->ours != ours) made = flush(&b, ours, arena, &said[n++]);
    if (l->ours && n == 0 && b.len == 0) continue; /* a talk begins with a person */
    ours = l->ours;
    if (ours && b.len > 0) buf_add_char(&b, '\n');
    if (ours)
      buf_add(&b, l->text);
    else
      write_line(l, &b);
  }
  if (b.len > 0 && ours && back > 1 && made) made = flush(&b, ours, arena, &said[n++]);
  if (back > 1) ours = false;
  if (back > 1) write_asked(asked, &b);
  if (b.len > 0 && made) made = flush(&b, ours, arena, &said[n++]);
  buf_done(&b);
  *ret = said;
  return made ? n : 0;
}

/* Cuts whole lines from the front of a text, bytes of them or more if it can; the last one stays.
 * Returns how much was cut. */
static size_t cut_lines(struct span *text, size_t bytes)
{
  size_t at = 0;
  for (size_t i = 0; i + 1 < text->len && at < bytes; i++)
    if (text->ptr[i] == '\n') at = i + 1;
  text->ptr += at;
  text->len -= at;
  return at;
}

bool rg_talk_halve(struct rg_said *said, size_t *count)
{
  size_t last = *count, all = 0, gone = 0, n = 0;
  while (last > 0 && said[last - 1].by != RG_SAID_USER) last--;
  if (last-- == 0) return false;
  for (size_t i = 0; i <= last; i++) all += said[i].text.len;
  for (; n < last && gone + said[n].text.len <= all / 2; n++) gone += said[n].text.len;
  for (; n < last && said[n].by != RG_SAID_USER; n++) gone += said[n].text.len;
  if (gone < all / 2) gone += cut_lines(&said[n].text, all / 2 - gone);
  if (gone == 0) { /* the first turn is one long line */
    for (n = n < last ? 1 : 0; n < last && said[n].by != RG_SAID_USER;) n++;
    if (n == 0) return false;
  }
  memmove(said, said + n, (*count - n) * sizeof *said);
  *count -= n;
  return true;
}

/* Adds as much of a text as there is room for, cut between characters. */
static void add_cut(struct buf *out, struct span text)
{
  size_t room = out->max - out->len;
  if (text.len > room) {
    text.len = room;
    while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) text.len--;
  }
  buf_add(out, text);
}

void rg_talk_text(const struct schema_node *message, struct buf *out)
{
  if (!message || message->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = message->first; n; n = n->next) {
    struct span type = schema_tree_string(schema_tree_get(n, "type"));
    const struct schema_node *data = schema_tree_get(n, "data");
    if (type.len > 32) type.len = 0; /* no type of a message has so long a name */
    if (span_is(type, "text")) {
      add_cut(out, schema_tree_string(schema_tree_get(data, "text")));
    } else if (span_is(type, "at")) {
      add_cut(out, SPAN("@"));
      add_cut(out, schema_tree_id(schema_tree_get(data, "qq")));
      add_cut(out, SPAN(" "));
    } else if (!span_is(type, "reply")) {
      add_cut(out, SPAN("["));
      add_cut(out, type);
      add_cut(out, SPAN("]"));
    }
  }
}

/* ---- pictures ---- */

static bool is_address(struct span s)
{
  return (span_starts(s, SPAN("http://")) || span_starts(s, SPAN("https://"))) &&
         s.len <= RG_TALK_URL_MAX && !memchr(s.ptr, '\n', s.len);
}

void rg_talk_addresses(const struct schema_node *message, struct buf *out)
{
  size_t count = 0;
  if (!message || message->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = message->first; n && count < RG_TALK_PICTURES_MAX;
       n = n->next) {
    const struct schema_node *data = schema_tree_get(n, "data");
    if (!span_is(schema_tree_string(schema_tree_get(n, "type")), "image")) continue;
    struct span url = schema_tree_string(schema_tree_get(data, "url"));
    if (!is_address(url)) url = schema_tree_string(schema_tree_get(data, "file"));
    if (!is_address(url)) continue;
    buf_add(out, url);
    buf_add_char(out, '\n');
    count++;
  }
}

/* The last line of lines that each end in a line feed, which is cut off; empty: there is none. */
static struct span last_line(struct span *lines)
{
  if (lines->len == 0) return (struct span) { NULL, 0 };
  size_t end = --lines->len;
  while (lines->len > 0 && lines->ptr[lines->len - 1] != '\n') lines->len--;
  return (struct span) { lines->ptr + lines->len, end - lines->len };
}

size_t rg_talk_pictures(const struct rg_talk *t, size_t lines, size_t max, struct arena *arena,
                        struct rg_talk_picture *ret)
{
  size_t n = 0;
  for (size_t back = 1; back <= t->count && back <= lines; back++) {
    const struct rg_talk_line *l = &t->lines[(t->first + t->count - back) % RG_TALK_MAX];
    struct span rest = l->pictures, url;
    while (n < max && (url = last_line(&rest)).len > 0)
      ret[n++] =
          (struct rg_talk_picture) { arena_copy(arena, l->message_id), arena_copy(arena, url) };
  }
  for (size_t i = 0; i < n / 2; i++) {
    struct rg_talk_picture swapped = ret[i];
    ret[i] = ret[n - 1 - i];
    ret[n - 1 - i] = swapped;
  }
  return arena->failed ? 0 : n;
}
