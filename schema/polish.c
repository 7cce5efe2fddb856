#include "schema/polish.h"

#include "schema/answer.h"
#include "schema/glance.h"
#include "schema/markup.h"
#include "schema/prose.h"
#include "schema/reasoning.h"
#include "schema/residue.h"

#include <stdio.h>

#define EVERYWHERE SIZE_MAX

enum { NESTED_MAX = 4 }; /* a reply in a text in a reply …: deeper is no accident */

struct polishing {
  const struct schema_offer *offer;
  const struct schema_private *hide;
  bool hides; /* there are private paths */
  struct arena *arena;
  struct schema_repairs *repairs;
  struct schema_error *reterr;
  size_t message, segment; /* where the polishing stands; EVERYWHERE: at all at once */
  unsigned nested;
  enum schema_polish result;
  bool thought; /* a segment was nothing but reasoning */
  /* the reply that is built: its messages, and the segments of the one that grows */
  struct schema_message *messages;
  size_t message_count, message_cap;
  struct schema_segment *segments;
  size_t segment_count, segment_cap;
  struct span reply_to; /* its target: of the first of what one message becomes */
};

/* The segment that is being looked at is at fault. */
static bool refuse(struct polishing *p, enum schema_polish result, enum schema_code code,
                   const char *what)
{
  char path[SCHEMA_PATH_MAX] = "$.messages";
  if (p->message != EVERYWHERE)
    snprintf(path, sizeof path, "$.messages[%zu].segments[%zu].data", p->message, p->segment);
  p->result = result;
  schema_fail(p->reterr, code, 0, path, what);
  return false;
}

static bool refuse_memory(struct polishing *p)
{
  return refuse(p, SCHEMA_POLISH_BLOCK, SCHEMA_ENOMEM,
                "the reply needs more memory than it may have");
}

/* ---- building ---- */

static bool add_segment(struct polishing *p, const struct schema_segment *segment)
{
  enum { FIRST = 4 };
  if (p->segment_count == p->segment_cap) {
    size_t cap = p->segment_cap ? p->segment_cap * 2 : FIRST;
    struct schema_segment *grown = arena_zalloc(p->arena, cap, sizeof *grown);
    if (!grown) return refuse_memory(p);
    if (p->segment_count) memcpy(grown, p->segments, p->segment_count * sizeof *grown);
    p->segments = grown;
    p->segment_cap = cap;
  }
  p->segments[p->segment_count++] = *segment;
  return true;
}

/* Whether nothing of the message would be seen. */
static bool is_empty_message(const struct polishing *p)
{
  for (size_t i = 0; i < p->segment_count; i++) {
    const struct schema_segment *s = &p->segments[i];
    bool words = s->type == SCHEMA_TEXT || s->type == SCHEMA_MARKDOWN;
    if (!words || !span_is_blank(s->text)) return false;
  }
  return true;
}

/* Ends the message that grows; one without anything is left out. */
static bool end_message(struct polishing *p)
{
  enum { FIRST = 4 };
  bool empty = is_empty_message(p);
  if (!empty) {
    if (p->message_count == p->message_cap) {
      size_t cap = p->message_cap ? p->message_cap * 2 : FIRST;
      struct schema_message *grown = arena_zalloc(p->arena, cap, sizeof *grown);
      if (!grown) return refuse_memory(p);
      if (p->message_count) memcpy(grown, p->messages, p->message_count * sizeof *grown);
      p->messages = grown;
      p->message_cap = cap;
    }
    p->messages[p->message_count++] = (struct schema_message) { .segments = p->segments,
                                                                .count = p->segment_count,
                                                                .reply_to = p->reply_to };
    p->reply_to = (struct span) { NULL, 0 };
  }
  p->segments = NULL;
  p->segment_count = p->segment_cap = 0;
  return true;
}

/* ---- strings ---- */

/* seen: what a glance has shown. */
static bool check_call(struct polishing *p, struct span text, unsigned seen)
{
  if (!(seen & SCHEMA_GLANCE_MARKUP)) return true;
  if (!schema_residue_tool_call(text, NULL)) return true;
  return refuse(p, SCHEMA_POLISH_BLOCK, SCHEMA_ETOOLCALL,
                "a tool call written as text; it never ran");
}

/* What may be in words at a glance; a slash can begin a private path. */
static unsigned look(const struct polishing *p, struct span text)
{
  unsigned seen = schema_glance(text);
  bool slash =
      p->hides && text.len && (memchr(text.ptr, '/', text.len) || memchr(text.ptr, '\\', text.len));
  return seen | (slash ? SCHEMA_GLANCE_SECRET : 0);
}

/* Masks what leaks in *text. */
static bool mask(struct polishing *p, struct span *text, unsigned seen)
{
  if (!(seen & SCHEMA_GLANCE_SECRET)) return true;
  switch (schema_leak_mask(*text, p->hide, 0, p->arena, p->repairs, text)) {
  case SCHEMA_LEAK_NOMEM: return refuse_memory(p);
  case SCHEMA_LEAK_NONE:
  case SCHEMA_LEAK_MASKED: break;
  }
  return true;
}

static bool check_address(struct polishing *p, struct span address, unsigned seen)
{
  if (!(seen & SCHEMA_GLANCE_SECRET)) return true;
  if (!schema_leak_in_address(address)) return true;
  return refuse(p, SCHEMA_POLISH_BLOCK, SCHEMA_ELEAK, "an address with a secret in it");
}

/* ---- words ---- */

static bool add_words(struct polishing *p, const struct schema_segment *like, struct span text,
                      unsigned seen)
{
  struct schema_segment segment = *like;
  if (text.len == 0 || !mask(p, &text, seen)) return p->result == SCHEMA_POLISHED;
  segment.text = text;
  return add_segment(p, &segment);
}

static bool polish_messages(struct polishing *p, const struct schema_reply *reply);

/* Whether text is a reply object from its first byte to its last. */
static bool looks_nested(struct span text)
{
  if (text.len < 2 || text.ptr[0] != '{') return false;
  char last = text.ptr[text.len - 1];
  return (last == '}' || last == ']') && schema_answer_is_reply_like(text, 0);
}

/* A text that is a whole reply: its messages come in the place of the text. *rettaken: it was. */
static bool take_nested(struct polishing *p, struct span text, bool *rettaken)
{
  bool fenced;
  struct span inner = schema_trim_blank(schema_prose_unfence(schema_trim_blank(text), &fenced));
  *rettaken = false;
  if (!looks_nested(inner)) return true;
  struct schema_json reader;
  struct schema_reply reply;
  schema_json_init(&reader, inner, p->arena, SCHEMA_DEPTH_REPLY);
  enum schema_code code = schema_reply_read_from(
      p->offer, &reader, SCHEMA_REPLY_LEGACY | SCHEMA_REPLY_INTEGERS, &reply, NULL, p->reterr);
  if (code != SCHEMA_OK || schema_json_next(&reader) != SCHEMA_JSON_END || p->nested == NESTED_MAX)
    return refuse(p, SCHEMA_POLISH_CORRECT, SCHEMA_ENOREPLY,
                  "a text that is a broken reply object");
  schema_repairs_add(p->repairs, SCHEMA_FIX_NESTED_REPLY, 0);
  *rettaken = true;
  if (!end_message(p)) return false;
  p->nested++;
  bool ok = polish_messages(p, &reply);
  p->nested--;
  return ok;
}

/* Of a text in harmony's format only the final channel is left. */
static bool read_channel(struct polishing *p, struct span *text)
{
  struct span final = { text->ptr, 0 };
  if (span_find(*text, SPAN("<|channel|>")) == text->len) return true;
  switch (schema_reasoning_channel(*text, &final)) {
  case SCHEMA_CHANNEL_NONE: return true;
  case SCHEMA_CHANNEL_CALL:
    return refuse(p, SCHEMA_POLISH_BLOCK, SCHEMA_ETOOLCALL,
                  "a tool call written as text; it never ran");
  case SCHEMA_CHANNEL_REASONING: p->thought = true; break;
  case SCHEMA_CHANNEL_FINAL: break;
  }
  schema_repairs_add(p->repairs, SCHEMA_FIX_CHANNEL, 0);
  *text = final;
  return true;
}

/* Reasoning goes. *rettext is what is left. */
static bool cut_reasoning(struct polishing *p, struct span *text)
{
  struct schema_reasoning reasoning;
  if (!read_channel(p, text)) return false;
  if (!schema_reasoning_possible(*text)) return true;
  if (!schema_reasoning_cut(*text, p->arena, &reasoning)) return refuse_memory(p);
  if (!reasoning.cut) return true;
  schema_repairs_add(p->repairs, SCHEMA_FIX_REASONING, 0);
  *text = reasoning.text;
  p->thought = true;
  return true;
}

static bool split_wrappers(struct polishing *p, const struct schema_segment *segment,
                           struct span text, unsigned seen)
{
  struct span *texts;
  size_t count;
  if (!memchr(text.ptr, '<', text.len)) return add_words(p, segment, text, seen);
  if (!schema_prose_split(text, false, p->arena, &texts, &count)) return refuse_memory(p);
  if (!texts) return add_words(p, segment, text, seen);
  schema_repairs_add(p->repairs, SCHEMA_FIX_TEXT_WRAPPER, 0);
  for (size_t i = 0; i < count; i++) {
    if (i && !end_message(p)) return false;
    if (!add_words(p, segment, texts[i], seen)) return false;
  }
  return true;
}

static bool polish_words(struct polishing *p, const struct schema_segment *segment)
{
  struct span text = segment->text;
  bool taken;
  unsigned seen = look(p, text);
  if (!(seen & SCHEMA_GLANCE_MARKUP)) return add_words(p, segment, text, seen);
  if (!check_call(p, text, seen) || !take_nested(p, text, &taken)) return false;
  if (taken) return true;
  if (!cut_reasoning(p, &text)) return false;
  struct span bare = schema_prose_bare_inside(text);
  if (bare.len < text.len) schema_repairs_add(p->repairs, SCHEMA_FIX_TEMPLATE_TOKEN, 0);
  return split_wrappers(p, segment, bare, seen);
}

/* ---- other segments ---- */

/* A string of one line that people read. */
static bool polish_line(struct polishing *p, struct span *line)
{
  unsigned seen = look(p, *line);
  return check_call(p, *line, seen) && mask(p, line, seen);
}

static bool polish_address(struct polishing *p, struct span address)
{
  unsigned seen = schema_glance(address);
  return check_call(p, address, seen) && check_address(p, address, seen);
}

static bool polish_keyboard(struct polishing *p, struct schema_segment *segment)
{
  size_t count = segment->keyboard.count;
  struct schema_row *rows = arena_zalloc(p->arena, count, sizeof *rows);
  if (!rows && count) return refuse_memory(p);
  for (size_t i = 0; i < count; i++) {
    const struct schema_row *row = &segment->keyboard.rows[i];
    struct schema_button *buttons = arena_zalloc(p->arena, row->count, sizeof *buttons);
    if (!buttons && row->count) return refuse_memory(p);
    for (size_t k = 0; k < row->count; k++) {
      buttons[k] = row->buttons[k];
      if (!polish_line(p, &buttons[k].label) || !polish_line(p, &buttons[k].payload)) return false;
    }
    rows[i] = (struct schema_row) { buttons, row->count };
  }
  segment->keyboard.rows = rows;
  return true;
}

static bool is_address_field(struct span name)
{
  return span_is(name, "url") || span_is(name, "image") || span_is(name, "audio");
}

static bool polish_share(struct polishing *p, struct schema_segment *segment)
{
  size_t count = segment->share.count;
  struct schema_pair *fields = arena_zalloc(p->arena, count, sizeof *fields);
  if (!fields && count) return refuse_memory(p);
  for (size_t i = 0; i < count; i++) {
    fields[i] = segment->share.fields[i];
    bool ok = is_address_field(fields[i].name) ? polish_address(p, fields[i].value)
                                               : polish_line(p, &fields[i].value);
    if (!ok) return false;
  }
  segment->share.fields = fields;
  return true;
}

/* base64 is bytes: nobody reads it, and it may be large. */
static bool polish_media(struct polishing *p, const struct schema_segment *segment)
{
  if (segment->media_kind == SCHEMA_MEDIA_BASE64) return true;
  if (segment->media_kind == SCHEMA_MEDIA_URL) return polish_address(p, segment->text);
  return check_call(p, segment->text, schema_glance(segment->text));
}

static bool polish_segment(struct polishing *p, const struct schema_segment *segment)
{
  struct schema_segment copy = *segment;
  switch (schema_segment_types[segment->type].shape) {
  case SCHEMA_SHAPE_STRING:
    if (segment->type != SCHEMA_MENTION) return polish_words(p, segment);
    if (!check_call(p, segment->text, schema_glance(segment->text))) return false;
    break;
  case SCHEMA_SHAPE_MEDIA:
    if (!polish_media(p, segment)) return false;
    break;
  case SCHEMA_SHAPE_KEYBOARD:
    if (!polish_keyboard(p, &copy)) return false;
    break;
  case SCHEMA_SHAPE_SHARE:
    if (!polish_share(p, &copy)) return false;
    break;
  case SCHEMA_SHAPE_EMPTY: break;
  }
  return add_segment(p, &copy);
}

static bool polish_messages(struct polishing *p, const struct schema_reply *reply)
{
  for (size_t i = 0; i < reply->count; i++) {
    if (p->nested == 0) p->reply_to = reply->messages[i].reply_to;
    for (size_t k = 0; k < reply->messages[i].count; k++) {
      if (p->nested == 0) p->message = i, p->segment = k;
      if (!polish_segment(p, &reply->messages[i].segments[k])) return false;
    }
    if (!end_message(p)) return false;
  }
  return true;
}

/* ---- a call that is spread over several texts ---- */

/* All words of a reply in one: texts of one message as they show, messages on lines of their own. */
static bool check_joined(struct polishing *p, const struct schema_reply *reply)
{
  struct buf all;
  size_t texts = 0, total = 0;
  for (size_t i = 0; i < reply->count; i++)
    for (size_t k = 0; k < reply->messages[i].count; k++) {
      const struct schema_segment *s = &reply->messages[i].segments[k];
      if (s->type != SCHEMA_TEXT && s->type != SCHEMA_MARKDOWN) continue;
      texts++;
      total += s->text.len + 1;
    }
  if (texts < 2) return true;
  buf_init(&all, total);
  for (size_t i = 0; i < reply->count; i++) {
    for (size_t k = 0; k < reply->messages[i].count; k++) {
      const struct schema_segment *s = &reply->messages[i].segments[k];
      if (s->type == SCHEMA_TEXT || s->type == SCHEMA_MARKDOWN) buf_add(&all, s->text);
    }
    if (all.len && all.ptr[all.len - 1] != '\n') buf_add_char(&all, '\n');
  }
  p->message = EVERYWHERE;
  bool ok =
      all.failed ? refuse_memory(p) : check_call(p, buf_span(&all), schema_glance(buf_span(&all)));
  buf_done(&all);
  return ok;
}

/* ---- most replies have nothing ---- */

/* The bits of what may be in the strings of a segment. */
static unsigned look_at(const struct polishing *p, const struct schema_segment *s)
{
  unsigned seen = 0;
  switch (schema_segment_types[s->type].shape) {
  case SCHEMA_SHAPE_STRING: return look(p, s->text);
  case SCHEMA_SHAPE_MEDIA: return s->media_kind == SCHEMA_MEDIA_BASE64 ? 0 : schema_glance(s->text);
  case SCHEMA_SHAPE_KEYBOARD:
    for (size_t i = 0; i < s->keyboard.count; i++)
      for (size_t k = 0; k < s->keyboard.rows[i].count; k++)
        seen |= look(p, s->keyboard.rows[i].buttons[k].label) |
                look(p, s->keyboard.rows[i].buttons[k].payload);
    return seen;
  case SCHEMA_SHAPE_SHARE:
    for (size_t i = 0; i < s->share.count; i++) seen |= look(p, s->share.fields[i].value);
    return seen;
  case SCHEMA_SHAPE_EMPTY: break;
  }
  return seen;
}

static unsigned look_at_all(const struct polishing *p, const struct schema_reply *reply)
{
  unsigned seen = 0;
  for (size_t i = 0; i < reply->count; i++)
    for (size_t k = 0; k < reply->messages[i].count; k++)
      seen |= look_at(p, &reply->messages[i].segments[k]);
  return seen;
}

enum schema_polish schema_polish_reply(const struct schema_offer *offer,
                                       const struct schema_private *hide, struct arena *arena,
                                       struct schema_repairs *repairs, struct schema_reply *reply,
                                       struct schema_error *reterr)
{
  struct polishing p = {
    .offer = offer, .hide = hide, .arena = arena, .repairs = repairs, .reterr = reterr
  };
  p.hides = hide && (hide->home.len || hide->project.len);
  if (!look_at_all(&p, reply)) return SCHEMA_POLISHED;
  if (!polish_messages(&p, reply) || !check_joined(&p, reply)) return p.result;
  if (p.thought && p.message_count == 0) {
    p.message = EVERYWHERE;
    refuse(&p, SCHEMA_POLISH_BLOCK, SCHEMA_EREASONING, "nothing but reasoning");
    return p.result;
  }
  reply->messages = p.messages;
  reply->count = p.message_count;
  return SCHEMA_POLISHED;
}
