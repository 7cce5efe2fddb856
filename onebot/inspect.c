#include "onebot/inspect.h"

#include <stdio.h>

#include "onebot/canonical.h"
#include "onebot/id.h"
#include "onebot/wire.h"
#include "schema/answer.h"
#include "schema/glance.h"
#include "schema/markup.h"
#include "schema/reasoning.h"
#include "schema/residue.h"
#include "schema/silence.h"
#include "schema/tag.h"

enum {
  NODE_LEVELS_MAX = 3, /* NapCat stops reading below, with only a log line */
  NODES_MAX = 500,     /* QQ's own limit is not documented; users report about 100 */
  TYPE_SHOWN_MAX = 24, /* of a type's name in a reason */
  OBJECTS_TRIED_MAX = 16,
};

static void write_place(const struct ob_inspect_place *place, char *out, size_t room)
{
  size_t n = (size_t)snprintf(out, room, "%s", place->base ? place->base : "$.params");
  for (size_t i = 0; i < place->depth && i < OB_INSPECT_DEPTH_MAX && n < room; i++) {
    if (place->parts[i].key)
      n += (size_t)snprintf(out + n, room - n, "%s", place->parts[i].key);
    else
      n += (size_t)snprintf(out + n, room - n, "[%zu]", place->parts[i].index);
  }
}

bool ob_inspect_refuse(struct ob_inspect *in, enum schema_code code, struct span type,
                       const char *reason)
{
  char path[SCHEMA_PATH_MAX];
  if (in->error.code != SCHEMA_OK) return false; /* the first reason counts */
  if (type.len > TYPE_SHOWN_MAX || span_utf8_fault(type) < type.len) type = SPAN("segment");
  write_place(&in->place, path, sizeof path);
  schema_fail(&in->error, code, 0, path, reason);
  in->why = type.len ? arena_printf(in->arena, "%s: %.*s %s", path, (int)type.len, type.ptr, reason)
                     : arena_printf(in->arena, "%s: %s", path, reason);
  return false;
}

/* Goes into a key, or into an index where key is NULL. Every enter has its leave. */
static void enter(struct ob_inspect *in, const char *key, size_t index)
{
  struct ob_inspect_place *place = &in->place;
  if (place->depth < OB_INSPECT_DEPTH_MAX) {
    place->parts[place->depth].key = key;
    place->parts[place->depth].index = index;
  }
  place->depth++;
}

static void leave(struct ob_inspect *in)
{
  in->place.depth--;
}

/* ---- tool calls ---- */

bool ob_inspect_has_call(const struct schema_node *node)
{
  if (!node) return false;
  if (node->kind == SCHEMA_STRING)
    return node->text.len > 0 && schema_residue_tool_call(node->text, NULL);
  for (const struct schema_node *child = node->first; child; child = child->next)
    if (ob_inspect_has_call(child)) return true;
  return false;
}

/* ---- segments ---- */

static enum ob_native type_of(const struct schema_node *segment)
{
  struct span name = schema_tree_string(schema_tree_get(segment, "type"));
  return name.ptr ? ob_native_find(name) : OB_NATIVE_COUNT;
}

/* Whether a segment is of a type, by its name in ob_native_types. */
static inline bool is_type(const struct schema_node *segment, const char *name)
{
  return span_is(schema_tree_string(schema_tree_get(segment, "type")), name);
}

bool ob_inspect_is_nodes(const struct schema_node *array)
{
  return array && array->first && is_type(array->first, "node");
}

static const struct schema_node *data_of(const struct schema_node *segment)
{
  return schema_tree_get(segment, "data");
}

static bool is_object(const struct schema_node *segment)
{
  return segment->kind == SCHEMA_OBJECT &&
         schema_tree_string(schema_tree_get(segment, "type")).len > 0;
}

/* One segment that is neither text nor reply nor node. */
static bool other_segment(struct ob_inspect *in, const struct schema_node *given,
                          struct ob_compose *c)
{
  const struct schema_node *segment = ob_canonical_native(given, in->arena);
  if (segment != given) in->changed = true;
  struct span name = schema_tree_string(schema_tree_get(segment, "type"));
  enum ob_native type = type_of(segment);
  if (type == OB_NODE)
    return ob_inspect_refuse(in, SCHEMA_ESEGMENT, name, "does not mix with other segments");
  if (type == OB_NATIVE_COUNT)
    return ob_inspect_refuse(in, SCHEMA_ESEGMENT, name, "is no segment that this endpoint shows");
  if (ob_inspect_has_call(data_of(segment)))
    return ob_inspect_refuse(in, SCHEMA_ETOOLCALL, name, "holds a tool call written as text");
  return ob_wire_segment(in, type, data_of(segment), c);
}

/* ---- runs of text: residue and replies in them ---- */

/* The texts of the run that begins with segment, which is one, joined; *retend is behind it. Empty
 * where there is no usable text. */
static struct span join_run(const struct schema_node *segment, struct arena *arena,
                            const struct schema_node **retend)
{
  size_t n = 0, count = 0;
  struct span text = { NULL, 0 };
  const struct schema_node *end = segment;
  for (; end == segment || (end && type_of(end) == OB_TEXT); end = end->next) {
    struct span part = schema_tree_id(schema_tree_get(data_of(end), "text"));
    if (part.len == 0) continue;
    text = part;
    n += part.len;
    count++;
  }
  *retend = end;
  if (count < 2) return text;
  char *out = arena_alloc(arena, n);
  if (!out) return (struct span) { NULL, 0 };
  size_t at = 0;
  for (const struct schema_node *s = segment; s != end; s = s->next) {
    struct span part = schema_tree_id(schema_tree_get(data_of(s), "text"));
    if (part.len) memcpy(out + at, part.ptr, part.len);
    at += part.len;
  }
  return (struct span) { out, n };
}

/* Whether an array, opened, begins with an object that has a role: the messages of a model's API, which
 * people quote, and no reply. */
static bool has_roles(struct schema_json *r)
{
  if (schema_json_next(r) != SCHEMA_JSON_OBJECT) return false;
  enum schema_token t;
  while ((t = schema_json_next(r)) == SCHEMA_JSON_KEY) {
    if (span_is(r->text, "role")) return true;
    if (!schema_json_skip(r, schema_json_next(r))) return false;
  }
  return false;
}

/* Whether the object that text begins with has the messages or segments of a reply at its root.
 * *retend is behind what was read of it. */
static bool is_reply_object(struct span text, struct arena *arena, size_t *retend)
{
  struct schema_json r;
  schema_json_init(&r, text, arena, SCHEMA_DEPTH_REPLY);
  bool found = false;
  for (enum schema_token t = schema_json_next(&r); !found; t = schema_json_next(&r)) {
    if (t == SCHEMA_JSON_ERROR || t == SCHEMA_JSON_END) break;
    if (r.depth == 0) break; /* the object is complete */
    if (t != SCHEMA_JSON_KEY || r.depth != 1) continue;
    if (!span_is(r.text, "messages") && !span_is(r.text, "segments")) continue;
    t = schema_json_next(&r);
    found = t == SCHEMA_JSON_STRING || t == SCHEMA_JSON_OBJECT ||
            (t == SCHEMA_JSON_ARRAY && !has_roles(&r)) || t == SCHEMA_JSON_ERROR;
  }
  *retend = schema_json_offset(&r);
  return found;
}

/* Whether text is a garbled reply with all its names; a framework's words may begin alike. */
static bool is_garbled_reply(struct span text)
{
  static const struct span names[] = { SPAN_INIT("segments"), SPAN_INIT("type"),
                                       SPAN_INIT("data") };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (span_find(text, names[i]) == text.len) return false;
  return schema_answer_is_garbled(text);
}

/* Whether a reply object stands in text, sound or not: other JSON is what the user asked for. */
static bool holds_reply(struct span text, struct arena *arena)
{
  if (is_garbled_reply(text)) return true;
  for (size_t i = 0; i < OBJECTS_TRIED_MAX; i++) {
    const char *open = text.len ? memchr(text.ptr, '{', text.len) : NULL;
    if (!open) return false;
    size_t at = (size_t)(open - text.ptr), end;
    text = (struct span) { open, text.len - at };
    if (is_reply_object(text, arena, &end)) return true;
    if (end == 0) end = 1;
    text = (struct span) { text.ptr + end, text.len - end };
  }
  return false;
}

/* ---- objects that are only spoken of ---- */

/* The line around an object, without the blanks next to it. */
struct line {
  struct span before, behind;
};

/* Behind the object that begins at byte at, by its brackets. */
static size_t object_end(struct span text, size_t at)
{
  for (size_t depth = 0; at < text.len; at++) {
    if (strchr("{[", text.ptr[at]) && text.ptr[at]) depth++;
    if (strchr("}]", text.ptr[at]) && text.ptr[at] && --depth == 0) return at + 1;
  }
  return text.len;
}

/* The line of the first reply object in text. False: there is none in its own brackets. */
static bool line_of_reply(struct span text, struct line *ret)
{
  struct span rest = text;
  for (size_t i = 0; i < OBJECTS_TRIED_MAX; i++) {
    const char *open = rest.len ? memchr(rest.ptr, '{', rest.len) : NULL;
    if (!open) return false;
    size_t at = (size_t)(open - text.ptr), begin = at;
    rest = (struct span) { open + 1, text.len - at - 1 };
    if (!schema_answer_is_reply_like(text, at)) continue;
    size_t end = object_end(text, at), stop = end;
    while (begin > 0 && text.ptr[begin - 1] != '\n') begin--;
    while (stop < text.len && text.ptr[stop] != '\n') stop++;
    ret->before = schema_trim_blank((struct span) { text.ptr + begin, at - begin });
    ret->behind = schema_trim_blank((struct span) { text.ptr + end, stop - end });
    return true;
  }
  return false;
}

/* Takes the marks off that quote the object. False: there are none. */
static bool take_quotes(struct line *line)
{
  static const struct span marks[][2] = {
    { SPAN_INIT("`"), SPAN_INIT("`") },   { SPAN_INIT("\""), SPAN_INIT("\"") },
    { SPAN_INIT("'"), SPAN_INIT("'") },   { SPAN_INIT("“"), SPAN_INIT("”") },
    { SPAN_INIT("‘"), SPAN_INIT("’") },   { SPAN_INIT("「"), SPAN_INIT("」") },
    { SPAN_INIT("『"), SPAN_INIT("』") },
  };
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    struct span open = marks[i][0], close = marks[i][1];
    if (!span_ends(line->before, open) || !span_starts(line->behind, close)) continue;
    line->before.len -= open.len;
    line->behind.ptr += close.len;
    line->behind.len -= close.len;
    line->before = schema_trim_blank(line->before);
    line->behind = schema_trim_blank(line->behind);
    return true;
  }
  return false;
}

static bool is_word(char c)
{
  return schema_is_word(c) || (unsigned char)c >= 0x80;
}

/* Whether the words before an object run on into it: they neither end nor present it, and they
 * are no tag. */
static bool runs_in(struct span before)
{
  static const struct span ends[] = { SPAN_INIT("。"), SPAN_INIT("！"), SPAN_INIT("？"),
                                      SPAN_INIT("："), SPAN_INIT("；"), SPAN_INIT("…"),
                                      SPAN_INIT("＞"), SPAN_INIT("】"), SPAN_INIT("）") };
  if (before.len == 0 || span_find(before, SPAN("```")) < before.len) return false;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (span_ends(before, ends[i])) return false;
  char last = before.ptr[before.len - 1];
  return is_word(last) || last == ',' || last == '=';
}

/* Whether the words behind an object go on with its sentence. */
static bool runs_on(struct span behind)
{
  static const struct span begins[] = { SPAN_INIT("。"), SPAN_INIT("！"), SPAN_INIT("？"),
                                        SPAN_INIT("（"), SPAN_INIT("＜"), SPAN_INIT("【") };
  if (behind.len == 0) return false;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (span_starts(behind, begins[i])) return false;
  char first = *behind.ptr;
  return is_word(first) || first == ',' || first == ';';
}

/* Whether the reply object of text stands inside a sentence that speaks of it, as help for people
 * does. sound: it can be read and says nothing; a broken one has to be quoted as well, for it may
 * be an answer that went wrong. */
static bool is_spoken_of(struct span text, bool sound)
{
  struct line line;
  if (!line_of_reply(text, &line)) return false;
  bool quoted = take_quotes(&line), in = runs_in(line.before), on = runs_on(line.behind);
  return sound && quoted ? in || on : in && on && (sound || quoted);
}

/* A reply's plan in the place of its text. */
static bool compose_reply(struct ob_inspect *in, const struct schema_reply *reply,
                          struct ob_compose *c)
{
  struct schema_error error = { .code = SCHEMA_OK };
  if (in->reaction.count == 0)
    ob_plan_react(in->profile, &in->settings->plan, &in->target, in->answers, reply->reaction,
                  &in->reaction);
  if (c->quote.len == 0 && reply->count > 0 &&
      ob_profile_has_message(in->profile, reply->messages[0].reply_to))
    c->quote = ob_compose_quote(reply->messages[0].reply_to, in->arena);
  enum schema_code code =
      ob_plan_messages(in->profile, &in->settings->plan, &in->target, reply, true, c, &error);
  in->changed = true;
  if (code == SCHEMA_OK) return true;
  return ob_inspect_refuse(in, code, SPAN("text"), schema_code_text(code));
}

/* What a text has that holds directives. */
static bool may_hold_directives(struct span text, const struct schema_directive_options *options,
                                struct arena *arena)
{
  if (!options || text.len == 0) return false;
  if (schema_tag_possible(text) || schema_silence_is(text, arena)) return true;
  if (options->markdown_images && span_find(text, SPAN("](")) < text.len) return true;
  return options->media_lines && memchr(text.ptr, ':', text.len);
}

/* Whether a fullwidth { (EF BD 9B) is in text: looked for by its last byte, for Chinese commas have
 * the same first. */
static bool has_wide_brace(struct span text)
{
  const char *end = text.ptr + text.len;
  for (const char *at = text.ptr; (at = memchr(at, 0x9B, (size_t)(end - at))); at++)
    if (at - text.ptr >= 2 && memcmp(at - 2, "\xEF\xBD", 2) == 0) return true;
  return false;
}

/* A quick look: a reply has a brace, in whatever script, and one of the two names of its root. */
static bool may_hold_reply(struct span text)
{
  if (text.len == 0) return false;
  bool brace =
      memchr(text.ptr, '{', text.len) || memchr(text.ptr, '&', text.len) || has_wide_brace(text);
  return brace && (span_find(text, SPAN("messages")) < text.len ||
                   span_find(text, SPAN("segments")) < text.len);
}

static void find_keyboard(struct ob_inspect *in, const struct schema_reply *reply)
{
  for (size_t i = 0; i < reply->count; i++)
    for (size_t j = 0; j < reply->messages[i].count; j++)
      if (reply->messages[i].segments[j].type == SCHEMA_KEYBOARD)
        in->keyboard = &reply->messages[i].segments[j];
}

/* Judges a run as a model's answer. *rethandled: it was a reply and is composed. False: refused. */
static bool unwrap(struct ob_inspect *in, struct span text, struct ob_compose *c, bool *rethandled)
{
  *rethandled = false;
  const struct schema_directive_options *directives = in->settings->directives;
  if (!in->settings->unwrap) return true;
  if (!may_hold_reply(text) && !may_hold_directives(text, directives, in->arena)) return true;
  struct schema_offer offer;
  struct schema_judgement *judged = arena_alloc(in->arena, sizeof *judged);
  if (!judged) return ob_inspect_refuse(in, SCHEMA_ENOMEM, SPAN(""), "no memory");
  ob_plan_offer(in->profile, &in->settings->plan, in->settings->segments,
                in->answers.len > 0 && in->target.group_id.len > 0, in->arena, &offer);
  if (directives) {
    struct schema_directive_options *answering = arena_zalloc(in->arena, 1, sizeof *answering);
    if (!answering) return ob_inspect_refuse(in, SCHEMA_ENOMEM, SPAN(""), "no memory");
    *answering = *directives;
    answering->current_message_id = in->answers;
    offer.directives = answering;
  }
  schema_judge(&offer, &in->settings->hide, text, in->arena, judged);
  bool sound = judged->verdict == SCHEMA_ACCEPT || judged->verdict == SCHEMA_REPAIR;
  for (size_t i = 0; sound && !judged->rich.taken && i < judged->repair_count; i++)
    if (judged->repairs[i].kind == SCHEMA_FIX_PLAIN_TEXT) return true;
  bool says_nothing = sound && !judged->rich.taken && judged->reply.count == 0;
  if ((says_nothing || judged->verdict == SCHEMA_CORRECT) && is_spoken_of(text, sound)) return true;
  if (!sound && !holds_reply(text, in->arena)) return true;
  if (!sound)
    return ob_inspect_refuse(in, judged->error.code, SPAN("text"),
                             "holds a structured reply that is not valid");
  *rethandled = true;
  in->unwrapped = text;
  find_keyboard(in, &judged->reply);
  return compose_reply(in, &judged->reply, c);
}

/* Takes off what a model has thought aloud: it is no answer, whoever sends it (reply.md 108). Channels
 * only with their tokens, for without them they are ordinary words. False: refused. */
static bool cut_reasoning(struct ob_inspect *in, struct span *text)
{
  struct schema_reasoning left;
  struct span answer = *text, final;
  if (!in->settings->unwrap || !schema_reasoning_possible(*text)) return true;
  if (span_find(answer, SPAN("<|")) < answer.len) {
    enum schema_channel channel = schema_reasoning_channel(answer, &final);
    if (channel == SCHEMA_CHANNEL_CALL)
      return ob_inspect_refuse(in, SCHEMA_ETOOLCALL, SPAN("text"),
                               "holds a tool call written as text");
    if (channel == SCHEMA_CHANNEL_FINAL) answer = final;
    if (channel == SCHEMA_CHANNEL_REASONING) answer.len = 0;
  }
  if (!schema_reasoning_cut(answer, in->arena, &left))
    return ob_inspect_refuse(in, SCHEMA_ENOMEM, SPAN(""), "no memory");
  if (left.cut) answer = left.text;
  if (answer.ptr == text->ptr && answer.len == text->len) return true;
  *text = span_trim(answer);
  if (text->len > 0) return true;
  return ob_inspect_refuse(in, SCHEMA_EREASONING, SPAN("text"), "holds only reasoning, no answer");
}

/* The run of texts that begins with segment number index; *retend is behind it. */
static bool text_run(struct ob_inspect *in, const struct schema_node *segment, size_t *index,
                     struct ob_compose *c, const struct schema_node **retend)
{
  struct span text = join_run(segment, in->arena, retend), words = text;
  bool handled = false, fine = true;
  bool markup = text.len && schema_glance_markup(text); /* most texts have nothing to look for */
  enter(in, NULL, *index);
  if (markup && schema_residue_tool_call(text, NULL))
    fine =
        ob_inspect_refuse(in, SCHEMA_ETOOLCALL, SPAN("text"), "holds a tool call written as text");
  fine = fine && (!markup || cut_reasoning(in, &words)) && unwrap(in, words, c, &handled);
  leave(in);
  if (fine && !handled && (words.ptr != text.ptr || words.len != text.len)) {
    ob_compose_text(c, words);
    in->changed = handled = true;
  }
  for (; fine && segment != *retend; segment = segment->next, ++*index) {
    enter(in, NULL, *index);
    if (segment->count > 2) in->changed = true;
    fine = handled || ob_wire_segment(in, OB_TEXT, data_of(segment), c);
    leave(in);
  }
  return fine;
}

/* ---- messages ---- */

/* The reply segments: the first is the quote of the first send, the others go. */
static bool take_quote(struct ob_inspect *in, const struct schema_node *array, struct ob_compose *c)
{
  size_t index = 0;
  bool quoted = false;
  for (const struct schema_node *s = array->first; s; s = s->next, index++) {
    if (!is_type(s, "reply")) continue;
    if (index > 0 || s->count > 2) in->changed = true;
    if (quoted) continue;
    enter(in, NULL, index);
    const struct schema_node *data = data_of(s);
    struct span id;
    if (ob_inspect_has_call(data))
      return ob_inspect_refuse(in, SCHEMA_ETOOLCALL, SPAN("reply"), "holds a tool call");
    c->quote = ob_wire_reply(in, data && data->kind == SCHEMA_OBJECT ? data : NULL, &id);
    if (c->quote.len == 0) return false;
    if (id.len) in->answers = id;
    quoted = true;
    leave(in);
  }
  return true;
}

static bool segments(struct ob_inspect *in, const struct schema_node *array, struct ob_compose *c)
{
  size_t index = 0;
  for (const struct schema_node *s = array->first; s;) {
    enum ob_native type = type_of(s);
    if (type != OB_REPLY) in->parts++;
    if (type == OB_TEXT) {
      if (!text_run(in, s, &index, c, &s)) return false;
      continue;
    }
    enter(in, NULL, index);
    if (!is_object(s))
      return ob_inspect_refuse(in, SCHEMA_ETYPE, SPAN(""), "a segment is an object with a type");
    if (s->count > 2) in->changed = true;
    if (type != OB_REPLY && !other_segment(in, s, c)) return false;
    leave(in);
    s = s->next;
    index++;
  }
  return true;
}

bool ob_inspect_message(struct ob_inspect *in, const struct schema_node *array, const char *base,
                        struct ob_compose *c)
{
  in->place = (struct ob_inspect_place) { .base = base };
  if (!array)
    return ob_inspect_refuse(in, SCHEMA_ETYPE, SPAN(""),
                             "a message is an array of segments, one segment or a string");
  ob_compose_message(c, 0, SPAN(""));
  return take_quote(in, array, c) && segments(in, array, c);
}

bool ob_inspect_end(struct ob_inspect *in, struct ob_compose *c, struct ob_plan *ret)
{
  if (!ob_compose_end(c, ret)) return ob_inspect_refuse(in, SCHEMA_ENOMEM, SPAN(""), "no memory");
  if (!c->call) return true;
  return ob_inspect_refuse(in, SCHEMA_ETOOLCALL, SPAN(""),
                           "the texts together hold a tool call written as text");
}

/* ---- nodes ---- */

struct level {
  size_t depth;
  size_t *nodes; /* of the whole forward */
};

static bool write_nodes(struct ob_inspect *in, const struct schema_node *nodes, struct level level,
                        struct schema_writer *w);

/* Its author, time and the like, before the content. */
static void open_node(struct ob_inspect *in, const struct schema_node *data,
                      struct schema_writer *w)
{
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("node"));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  for (const struct schema_node *d = data->first; d; d = d->next)
    if (!span_is(d->key, "content")) ob_wire_datum(in, d, w);
}

static void close_node(struct schema_writer *w)
{
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* A node whose content is segments: as many nodes of the same author as they need sends. */
static bool content_nodes(struct ob_inspect *in, const struct schema_node *data,
                          const struct schema_node *array, struct schema_writer *w)
{
  struct ob_compose c;
  struct ob_plan plan = { NULL, 0 };
  ob_compose_init(&c, SPAN("node"), SPAN("["), SPAN("]"), in->arena);
  c.watch = true;
  bool fine = take_quote(in, array, &c) && segments(in, array, &c) && ob_inspect_end(in, &c, &plan);
  if (fine && plan.count == 0)
    fine = ob_inspect_refuse(in, SCHEMA_EEMPTY, SPAN("node"), "has nothing to show");
  if (plan.count != 1) in->changed = true;
  for (size_t i = 0; fine && i < plan.count; i++) {
    if (plan.steps[i].kind != OB_STEP_SEND) {
      fine = ob_inspect_refuse(in, SCHEMA_ESEGMENT, SPAN("file"), "cannot stand in a node here");
      break;
    }
    open_node(in, data, w);
    schema_write_key(w, SPAN("content"));
    schema_write_raw(w, plan.steps[i].params);
    close_node(w);
  }
  ob_compose_done(&c);
  return fine;
}

static bool is_author(const struct ob_profile *profile, const struct schema_node *data)
{
  static const char *const keys[] = { "user_id", "uin" };
  bool named = false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    struct span id = schema_tree_id(schema_tree_get(data, keys[i]));
    if (id.len && !ob_id_positive(id, INT64_MAX)) return false;
    named = named || id.len;
  }
  return named || !profile->node_needs_user;
}

static bool write_node(struct ob_inspect *in, const struct schema_node *node, struct level level,
                       struct schema_writer *w)
{
  const struct schema_node *data = data_of(node);
  if (type_of(node) != OB_NODE || !data || data->kind != SCHEMA_OBJECT)
    return ob_inspect_refuse(in, SCHEMA_ESEGMENT, SPAN(""),
                             "a forward holds nodes and nothing else");
  if (++*level.nodes > NODES_MAX)
    return ob_inspect_refuse(in, SCHEMA_ELIMIT, SPAN("node"), "is one of too many");
  if (node->count > 2) in->changed = true;
  for (const struct schema_node *d = data->first; d; d = d->next)
    if (!span_is(d->key, "content") && ob_inspect_has_call(d))
      return ob_inspect_refuse(in, SCHEMA_ETOOLCALL, SPAN("node"), "holds a tool call as text");
  const struct schema_node *content = schema_tree_get(data, "content");
  if (!content || content->kind == SCHEMA_NULL) {
    if (!ob_id_read(schema_tree_id(schema_tree_get(data, "id")), NULL))
      return ob_inspect_refuse(in, SCHEMA_ESEGMENT, SPAN("node"), "has neither content nor an id");
    open_node(in, data, w);
    close_node(w);
    return true;
  }
  if (!is_author(in->profile, data))
    return ob_inspect_refuse(in, SCHEMA_ETARGET, SPAN("node"), "has no account as its author");
  const struct schema_node *array = ob_native_read(content, false, in->arena);
  if (!array)
    return ob_inspect_refuse(in, SCHEMA_ETYPE, SPAN("node"), "has no message as its content");
  if (array != content) in->changed = true;
  enter(in, ".data.content", 0);
  bool fine;
  if (ob_inspect_is_nodes(array)) {
    open_node(in, data, w);
    schema_write_key(w, SPAN("content"));
    fine = write_nodes(in, array, (struct level) { level.depth + 1, level.nodes }, w);
    close_node(w);
  } else {
    fine = content_nodes(in, data, array, w);
  }
  leave(in);
  return fine;
}

static bool write_nodes(struct ob_inspect *in, const struct schema_node *nodes, struct level level,
                        struct schema_writer *w)
{
  if (level.depth > NODE_LEVELS_MAX)
    return ob_inspect_refuse(in, SCHEMA_EDEPTH, SPAN("node"), "is nested deeper than three levels");
  if (!nodes->first) return ob_inspect_refuse(in, SCHEMA_EEMPTY, SPAN(""), "a forward needs nodes");
  size_t index = 0;
  bool fine = true;
  schema_write_array(w);
  for (const struct schema_node *n = nodes->first; n && fine; n = n->next) {
    enter(in, NULL, index++);
    fine = write_node(in, n, level, w);
    leave(in);
  }
  schema_write_array_end(w);
  return fine;
}

bool ob_inspect_nodes(struct ob_inspect *in, const struct schema_node *nodes, const char *base,
                      struct schema_writer *w)
{
  size_t count = 0;
  in->place = (struct ob_inspect_place) { .base = base };
  const struct schema_node *array = ob_native_read(nodes, false, in->arena);
  if (!array) return ob_inspect_refuse(in, SCHEMA_ETYPE, SPAN(""), "a forward needs nodes");
  if (array != nodes) in->changed = true;
  return write_nodes(in, array, (struct level) { 1, &count }, w);
}
