#include "schema/verdict.h"

#include "schema/answer.h"
#include "schema/call.h"
#include "schema/glance.h"
#include "schema/layer.h"
#include "schema/markup.h"
#include "schema/polish.h"
#include "schema/prose.h"
#include "schema/reasoning.h"
#include "schema/residue.h"
#include "schema/tag.h"

const char *schema_verdict_word(enum schema_verdict verdict)
{
  static const char *const words[] = { "accept", "repair", "correct", "block" };
  return (size_t)verdict < sizeof words / sizeof *words ? words[verdict] : "unknown";
}

enum {
  LAYERS_MAX = 8, /* how often a text may be encoded in another */
};

struct judging {
  const struct schema_offer *offer;
  const struct schema_private *hide;
  struct arena *arena;
  size_t closers_max;
  struct schema_judgement *ret;
  struct span target; /* a tag around a structured reply names it as the message to quote */
  struct schema_repairs repairs; /* last: see begin */
};

/* ---- the four ends ---- */

static void refuse(struct judging *j, enum schema_verdict verdict, enum schema_code code, size_t at,
                   const char *what)
{
  j->ret->verdict = verdict;
  schema_fail(&j->ret->error, code, at, "$", what);
}

static void refuse_memory(struct judging *j)
{
  refuse(j, SCHEMA_BLOCK, SCHEMA_ENOMEM, 0, "the answer needs more memory than it may have");
}

static void refuse_call(struct judging *j, size_t at)
{
  refuse(j, SCHEMA_BLOCK, SCHEMA_ETOOLCALL, at, "a tool call written as text; it never ran");
}

/* A reply was made of the answer: its strings decide. */
static void pass_words(struct judging *j, const struct schema_reply *reply)
{
  j->ret->reply = *reply;
  if (j->ret->rich.taken) schema_repairs_add(&j->repairs, SCHEMA_FIX_DIRECTIVE, 0);
  switch (schema_polish_reply(j->offer, j->hide, j->arena, &j->repairs, &j->ret->reply,
                              &j->ret->error)) {
  case SCHEMA_POLISHED: j->ret->verdict = j->repairs.count ? SCHEMA_REPAIR : SCHEMA_ACCEPT; break;
  case SCHEMA_POLISH_CORRECT: j->ret->verdict = SCHEMA_CORRECT; break;
  case SCHEMA_POLISH_BLOCK: j->ret->verdict = SCHEMA_BLOCK; break;
  }
}

/* A tag around the reply is its first message's, unless that has its own. */
static bool set_target(struct judging *j, struct schema_reply *reply)
{
  if (j->target.len == 0 || reply->count == 0 || reply->messages[0].reply_to.len > 0) return true;
  struct schema_message *messages = arena_zalloc(j->arena, reply->count, sizeof *messages);
  if (!messages) return false;
  memcpy(messages, reply->messages, reply->count * sizeof *messages);
  messages[0].reply_to = j->target;
  reply->messages = messages;
  return true;
}

/* A reply was read. */
static void pass(struct judging *j, const struct schema_reply *reply)
{
  struct schema_reply tagged = *reply;
  if (j->offer->directives) {
    if (!schema_rich_reply(j->offer, j->arena, &tagged, &j->ret->rich) || !set_target(j, &tagged)) {
      refuse_memory(j);
      return;
    }
  }
  pass_words(j, &tagged);
}

/* Whether text begins as an object and is brackets, plain strings and colons behind quotes, as a
 * reply that was cut mostly is: then no string and no escape hides a call or reasoning. */
static bool is_plain_json(struct span text)
{
  struct schema_glancer glancer = schema_glancer_of(text);
  if (text.len == 0 || *text.ptr != '{') return false;
  for (size_t at = 0; (at = schema_glance_next(&glancer, at)) < text.len; at++) {
    char before = at > 0 ? text.ptr[at - 1] : ' ',
         next = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    size_t inside;
    switch (text.ptr[at]) {
    case '[':
      if (next == '/' || schema_is_word(next) || schema_is_word(before)) return false;
      break;
    case '{':
      if (before == '(') return false;
      if (next == '"') break;
      inside = schema_skip_blank(text, at + 1);
      if (inside < text.len && !memchr("\"}", text.ptr[inside], 2)) return false;
      break;
    case ':':
      if (before != '"') return false;
      break;
    case '<':
    case '&':
    case '\\':
    case '`':
    case '=': return false;
    default:
      if (schema_glance_at(text, at)) return false;
    }
  }
  return true;
}

/* Reads on to the next string of an object, which is then in reader->text. False: the object ends or
 * stops being JSON. */
static bool next_string(struct schema_json *reader)
{
  enum schema_token token;
  do token = schema_json_next(reader);
  while (token != SCHEMA_JSON_STRING && token != SCHEMA_JSON_ERROR && reader->depth > 0);
  return token == SCHEMA_JSON_STRING;
}

/* What reader, behind the last string of text, has not read as strings; of a string that is cut its
 * content. */
static struct span rest_of(const struct schema_json *reader, struct span text)
{
  size_t read = schema_json_offset(reader);
  if (reader->error.code != SCHEMA_OK && reader->at < reader->error.at) read = reader->at;
  if (read < text.len && text.ptr[read] == '"') read++;
  return (struct span) { text.ptr + read, text.len - read };
}

/* Whether a string of the JSON that begins in text holds a call. *rettail is what is left of text
 * where it stops being JSON. */
static bool has_call_in_strings(struct judging *j, struct span text, struct span *rettail)
{
  struct schema_json reader;
  const char *begin = memchr(text.ptr, '{', text.len);
  *rettail = text;
  if (!begin) return false;
  struct span json = { begin, (size_t)(text.ptr + text.len - begin) };
  schema_json_init(&reader, json, j->arena, SCHEMA_DEPTH_SCHEMA);
  while (next_string(&reader))
    if (schema_glance(reader.text) & SCHEMA_GLANCE_MARKUP &&
        schema_residue_tool_call(reader.text, NULL))
      return true;
  *rettail = rest_of(&reader, json);
  return false;
}

/* Whether neither the strings of the object that text begins with nor a string that it ends in can
 * hold a call or reasoning. */
static bool has_plain_strings(struct judging *j, struct span text)
{
  struct schema_json reader;
  schema_json_init(&reader, text, j->arena, SCHEMA_DEPTH_REPLY);
  while (next_string(&reader))
    if (schema_glance(reader.text) & SCHEMA_GLANCE_MARKUP) return false;
  struct span tail = rest_of(&reader, text);
  if (tail.len && memchr(tail.ptr, '\\', tail.len)) tail = schema_layer_unescape(tail, j->arena);
  return tail.ptr && !(schema_glance(tail) & SCHEMA_GLANCE_MARKUP);
}

/* Whether nothing is wrong with the object that text is but that it was cut: its keys are those of a
 * reply, so that it is no call, and its strings hide none. */
static bool is_only_cut(struct judging *j, struct span text, const struct schema_answer *answer)
{
  return answer->kind == SCHEMA_ANSWER_BROKEN && answer->error.code == SCHEMA_ETRUNCATED &&
         !answer->notes.skipped && (is_plain_json(text) || has_plain_strings(j, text));
}

/* What cannot be sent may be reworded by the model, unless it has written a tool call, in the open
 * or behind the escapes of a string. */
static void correct(struct judging *j, struct span text, size_t base,
                    const struct schema_error *error)
{
  size_t at;
  if (error->code == SCHEMA_ENOMEM) {
    refuse_memory(j);
    return;
  }
  j->ret->verdict = SCHEMA_CORRECT;
  j->ret->error = *error;
  j->ret->error.at += base;
  if (schema_residue_tool_call(text, &at)) {
    refuse_call(j, base + at);
    return;
  }
  if (is_plain_json(text)) return;
  struct span tail;
  if (has_call_in_strings(j, text, &tail)) {
    refuse_call(j, base);
    return;
  }
  if (tail.len == 0 || !memchr(tail.ptr, '\\', tail.len)) return;
  struct span plain = schema_layer_unescape(tail, j->arena);
  if (!plain.ptr)
    refuse_memory(j);
  else if (schema_residue_tool_call(plain, NULL))
    refuse_call(j, base);
}

/* The answer is JSON of another shape, which decides what it is: the call of a tool? */
static void correct_other(struct judging *j, struct span text, size_t base,
                          const struct schema_answer *answer)
{
  size_t reach;
  if (answer->kind == SCHEMA_ANSWER_OTHER && answer->begin < text.len &&
      text.ptr[answer->begin] == '{' && schema_call_json(text, answer->begin, &reach))
    refuse_call(j, base + answer->begin);
  else
    correct(j, text, base, &answer->error);
}

/* ---- prose ---- */

static bool add_message(struct judging *j, struct span text, struct schema_message *ret)
{
  struct schema_segment *segment = arena_zalloc(j->arena, 1, sizeof *segment);
  if (!segment) return false;
  *segment = (struct schema_segment) { .type = SCHEMA_TEXT, .text = text };
  *ret = (struct schema_message) { .segments = segment, .count = 1 };
  return true;
}

/* Each text with directives becomes a message, or nothing. False: out of memory. */
static bool build_rich(struct judging *j, const struct span *texts, size_t count,
                       struct schema_reply *ret)
{
  struct span *clean = arena_zalloc(j->arena, count + 1, sizeof *clean);
  for (size_t i = 0; clean && i < count; i++) {
    clean[i] = schema_prose_clean(texts[i], j->arena);
    if (!clean[i].ptr) return false;
  }
  return clean && schema_rich_words(j->offer, clean, count, j->arena, ret, &j->ret->rich);
}

/* Each text becomes a message. False: out of memory. */
static bool build_prose(struct judging *j, const struct span *texts, size_t count,
                        struct schema_reply *ret)
{
  if (j->offer->directives) return build_rich(j, texts, count, ret);
  struct schema_message *messages = arena_zalloc(j->arena, count + 1, sizeof *messages);
  *ret = (struct schema_reply) { .messages = messages };
  for (size_t i = 0; messages && i < count; i++) {
    struct span clean = schema_prose_clean(texts[i], j->arena);
    if (!clean.ptr) return false;
    if (span_is_blank(clean)) continue;
    if (!add_message(j, clean, &messages[ret->count++])) return false;
  }
  return messages != NULL;
}

static void send_prose(struct judging *j, struct span text, size_t base)
{
  struct span bare = schema_prose_bare(text), *texts;
  struct schema_reply reply;
  size_t count, fault = span_utf8_fault(bare);
  if (fault < bare.len) {
    struct schema_error error;
    schema_fail(&error, SCHEMA_EUTF8, fault, "$", "bytes that are not UTF-8");
    correct(j, text, base, &error);
    return;
  }
  if (bare.len < schema_trim_blank(text).len)
    schema_repairs_add(&j->repairs, SCHEMA_FIX_TEMPLATE_TOKEN, base);
  if (!schema_prose_split(bare, true, j->arena, &texts, &count)) {
    refuse_memory(j);
    return;
  }
  if (texts) schema_repairs_add(&j->repairs, SCHEMA_FIX_TEXT_WRAPPER, base);
  schema_repairs_add(&j->repairs, SCHEMA_FIX_PLAIN_TEXT, base);
  if (!build_prose(j, texts ? texts : &bare, texts ? count : 1, &reply))
    refuse_memory(j);
  else if (reply.count == 0 && !j->ret->rich.taken)
    refuse(j, SCHEMA_BLOCK, SCHEMA_EEMPTY, base, "nothing is left to be sent");
  else
    pass_words(j, &reply);
}

static void judge_prose(struct judging *j, struct span text, size_t base)
{
  size_t at;
  bool fenced;
  if (schema_prose_is_error_page(text)) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EERRORPAGE, base, "an error page instead of an answer");
  } else if (schema_residue_tool_call(text, &at)) {
    refuse_call(j, base + at);
  } else if (schema_trim_blank(schema_prose_unfence(text, &fenced)).len == 0) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EEMPTY, base, "an empty code fence");
  } else if (schema_answer_is_garbled(text)) {
    refuse(j, SCHEMA_CORRECT, SCHEMA_ESYNTAX, base, "a reply object in quotes that are none");
  } else {
    send_prose(j, text, base);
  }
}

/* Other JSON that is a payload of the directives' protocol. True: the verdict has fallen. */
static bool judge_payload(struct judging *j, struct span text)
{
  struct schema_reply reply;
  bool is = false;
  if (!j->offer->directives) return false;
  if (!schema_rich_payload(j->offer, text, j->arena, &is, &reply, &j->ret->rich))
    refuse_memory(j);
  else if (is)
    pass_words(j, &reply);
  return is || j->arena->failed;
}

/* ---- what stands around the object ---- */

static bool is_brackets(struct span text)
{
  for (size_t i = 0; i < text.len; i++)
    if (!strchr("{}[] \t\r\n", text.ptr[i]) || !text.ptr[i]) return false;
  return true;
}

/* Says what was dropped, and whether a tool call was in it. */
static bool drop_around(struct judging *j, struct span text, size_t base)
{
  size_t at;
  struct span t = schema_trim_blank(text);
  if (j->offer->directives &&
      !schema_rich_around(j->offer, t, j->arena, &t, &j->target, &j->ret->rich)) {
    refuse_memory(j);
    return false;
  }
  t = schema_trim_blank(t);
  if (t.len == 0) {
    if (span_trim(text).len && !j->ret->rich.taken)
      schema_repairs_add(&j->repairs, SCHEMA_FIX_TRIMMED, base);
    return true;
  }
  if (schema_glance(t) & SCHEMA_GLANCE_MARKUP && schema_residue_tool_call_around(t, &at)) {
    refuse_call(j, base + at);
    return false;
  }
  enum schema_repair_kind kind = SCHEMA_FIX_PROSE_AROUND;
  if (*t.ptr == '`' || span_starts(t, SPAN("'''")) || span_starts(t, SPAN("~~~")))
    kind = SCHEMA_FIX_FENCE;
  else if (is_brackets(t))
    kind = SCHEMA_FIX_BRACKET_EXTRA;
  else if (memchr("<[]", *t.ptr, 3) && schema_prose_bare(t).len == 0)
    kind = SCHEMA_FIX_TEMPLATE_TOKEN;
  schema_repairs_add(&j->repairs, kind, base);
  if (kind != SCHEMA_FIX_PROSE_AROUND || !memchr(t.ptr, '`', t.len)) return true;
  size_t fence = span_find(t, SPAN("```"));
  if (fence < t.len) schema_repairs_add(&j->repairs, SCHEMA_FIX_FENCE, base + fence);
  return true;
}

/* ---- finding what to judge ---- */

static void judge_layer(struct judging *j, struct span text, size_t base, unsigned layer);

/* The text is one JSON string, or an object with every quote escaped, or with every quote an HTML
 * entity: what it says is judged instead. */
static bool judge_inner(struct judging *j, struct span text, size_t base, unsigned layer)
{
  enum schema_repair_kind kind = SCHEMA_FIX_DOUBLE_ENCODED;
  struct span inner;
  if (layer == LAYERS_MAX) return false;
  if (!schema_layer_decode(text, j->arena, &inner, &kind)) return false;
  if (!inner.ptr) {
    refuse_memory(j);
    return true;
  }
  schema_repairs_add(&j->repairs, kind, base);
  judge_layer(j, inner, base, layer + 1);
  return true;
}

static struct schema_answer_search search_for(struct judging *j, size_t base)
{
  return (struct schema_answer_search) { .offer = j->offer,
                                         .arena = j->arena,
                                         .repairs = &j->repairs,
                                         .base = base,
                                         .closers_max = j->closers_max };
}

/* Bytes of the tags that the text begins with, whose brackets are none of JSON's. */
static size_t tags_length(struct judging *j, struct span text)
{
  size_t at = 0;
  while (j->offer->directives &&
         span_starts((struct span) { text.ptr + at, text.len - at }, SPAN("[["))) {
    struct span rest = { text.ptr + at, text.len - at }, left;
    struct span tag = { rest.ptr, span_find(rest, SPAN("]]")) };
    struct schema_tags tags = { 0 };
    if (tag.len < rest.len && tag.len <= SCHEMA_TAG_ID_MAX * 4) {
      tag.len += 2;
      if (!schema_tags_take(tag, 0, j->arena, &left, &tags)) return at;
    }
    if (!tags.reply && !tags.audio) return at;
    at = schema_skip_blank(text, at + tag.len);
  }
  return at;
}

static void judge_body(struct judging *j, struct span text, size_t base)
{
  size_t lead = tags_length(j, text);
  struct schema_answer_search search = search_for(j, base + lead);
  struct schema_answer answer;
  schema_answer_find(&search, (struct span) { text.ptr + lead, text.len - lead }, &answer);
  answer.begin += lead;
  answer.end += lead;
  struct span before = { text.ptr, answer.begin };
  struct span behind = { text.ptr + answer.end, text.len - answer.end };
  switch (answer.kind) {
  case SCHEMA_ANSWER_REPLY:
    if (drop_around(j, before, base) && drop_around(j, behind, base + answer.end))
      pass(j, &answer.reply);
    break;
  case SCHEMA_ANSWER_OTHER:
    if (judge_payload(j, text)) break;
    correct_other(j, text, base, &answer);
    break;
  case SCHEMA_ANSWER_BROKEN: correct_other(j, text, base, &answer); break;
  case SCHEMA_ANSWER_NONE: judge_prose(j, text, base); break;
  }
}

/* Takes off the channels of harmony. True: it was its format, and *text is the answer or the
 * verdict has fallen. */
static bool read_channels(struct judging *j, struct span *text, size_t *base)
{
  struct span final;
  switch (schema_reasoning_channel(*text, &final)) {
  case SCHEMA_CHANNEL_NONE: return true;
  case SCHEMA_CHANNEL_CALL: refuse_call(j, *base); return false;
  case SCHEMA_CHANNEL_REASONING:
    refuse(j, SCHEMA_BLOCK, SCHEMA_EREASONING, *base, "no final channel, only reasoning");
    return false;
  case SCHEMA_CHANNEL_FINAL: break;
  }
  schema_repairs_add(&j->repairs, SCHEMA_FIX_CHANNEL, *base);
  *base += (size_t)(final.ptr - text->ptr);
  *text = final;
  return true;
}

/* Takes off reasoning. False: the verdict has fallen. */
static bool cut_reasoning(struct judging *j, struct span *text, size_t *base)
{
  struct schema_reasoning reasoning;
  if (!schema_reasoning_possible(*text)) return true;
  if (!schema_reasoning_cut(*text, j->arena, &reasoning)) {
    refuse_memory(j);
    return false;
  }
  if (!reasoning.cut) return true;
  schema_repairs_add(&j->repairs, SCHEMA_FIX_REASONING, *base + reasoning.at);
  *base += reasoning.base;
  *text = reasoning.text;
  if (schema_trim_blank(*text).len) return true;
  refuse(j, SCHEMA_BLOCK, SCHEMA_EREASONING, *base, "only reasoning, no answer");
  return false;
}

static void judge_layer(struct judging *j, struct span text, size_t base, unsigned layer)
{
  struct span t = schema_trim_blank(text), spaces = span_trim(text);
  if (t.len < spaces.len)
    schema_repairs_add(&j->repairs, SCHEMA_FIX_TRIMMED, base);
  else
    t.len = (size_t)(text.ptr + text.len - t.ptr); /* how a cut text ends says something */
  base += t.len ? (size_t)(t.ptr - text.ptr) : 0;
  if (t.len == 0) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EEMPTY, base, "nothing in the answer");
    return;
  }
  if (!read_channels(j, &t, &base) || !cut_reasoning(j, &t, &base)) return;
  if (!judge_inner(j, t, base, layer)) judge_body(j, t, base);
}

/* The usual case: the first brace begins the reply, and what stands around it has nothing of
 * reasoning. False: it is not, and nothing was judged. */
static bool judge_at_once(struct judging *j, struct span text)
{
  const char *brace = text.len ? memchr(text.ptr, '{', text.len) : NULL;
  struct span before = { text.ptr, brace ? (size_t)(brace - text.ptr) : 0 }, final;
  if (!brace || !schema_answer_is_reply_like(text, before.len)) return false;
  if (schema_reasoning_possible(before) ||
      schema_reasoning_channel(before, &final) != SCHEMA_CHANNEL_NONE)
    return false;
  struct schema_answer answer;
  struct schema_answer_search search = search_for(j, 0);
  schema_answer_find(&search, text, &answer);
  struct span behind = { text.ptr + answer.end, text.len - answer.end };
  if (answer.kind == SCHEMA_ANSWER_REPLY && !schema_reasoning_possible(behind)) {
    if (drop_around(j, before, 0) && drop_around(j, behind, answer.end)) pass(j, &answer.reply);
    return true;
  }
  if (before.len == 0 && is_only_cut(j, text, &answer)) {
    j->ret->verdict = SCHEMA_CORRECT;
    j->ret->error = answer.error;
    return true;
  }
  if (answer.kind != SCHEMA_ANSWER_REPLY && !schema_reasoning_possible(text)) {
    if (!judge_inner(j, text, 0, 0)) correct_other(j, text, 0, &answer);
    return true;
  }
  j->repairs.count = 0;
  return false;
}

/* A reply whose first key is written with escapes, or is none of a reply's. */
static bool judge_strictly(struct judging *j, struct span text)
{
  struct schema_json reader;
  struct schema_reply reply;
  struct schema_reply_notes notes;
  schema_json_init(&reader, text, j->arena, SCHEMA_DEPTH_REPLY);
  if (schema_reply_read_from(j->offer, &reader, 0, &reply, &notes, NULL) != SCHEMA_OK) return false;
  if (schema_json_next(&reader) != SCHEMA_JSON_END) return false;
  if (notes.reaction_ignored) schema_repairs_add(&j->repairs, SCHEMA_FIX_REACTION_IGNORED, 0);
  if (notes.reaction_missing) schema_repairs_add(&j->repairs, SCHEMA_FIX_REACTION_MISSING, 0);
  pass(j, &reply);
  return true;
}

/* What people read of a plain answer, masked; an address with a secret refuses it. */
static bool mask_words(struct judging *j, struct schema_message *m)
{
  struct schema_segment *segments = (struct schema_segment *)m->segments; /* just made */
  for (size_t i = 0; i < m->count; i++) {
    struct schema_segment *s = &segments[i];
    bool address = s->type != SCHEMA_TEXT && s->media_kind == SCHEMA_MEDIA_URL;
    if (schema_residue_tool_call(s->text, NULL)) { /* put together by what went */
      refuse_call(j, 0);
      return false;
    }
    if (address && schema_leak_in_address(s->text)) {
      refuse(j, SCHEMA_BLOCK, SCHEMA_ELEAK, 0, "an address with a secret in it");
      return false;
    }
    if (s->type == SCHEMA_TEXT && schema_leak_mask(s->text, j->hide, 0, j->arena, &j->repairs,
                                                   &s->text) == SCHEMA_LEAK_NOMEM) {
      refuse_memory(j);
      return false;
    }
  }
  return true;
}

/* A plain answer without reasoning. */
static void judge_plain(struct judging *j, struct span text, size_t base)
{
  struct span bare = schema_prose_bare(text);
  struct schema_reply reply;
  size_t at, fault = span_utf8_fault(bare);
  if (fault < bare.len) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EUTF8, base + fault, "bytes that are not UTF-8");
  } else if (schema_prose_is_error_page(text)) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EERRORPAGE, base, "an error page instead of an answer");
  } else if (schema_residue_tool_call(text, &at)) {
    refuse_call(j, base + at);
  } else if (!build_prose(j, &bare, 1, &reply)) {
    refuse_memory(j);
  } else if (reply.count == 0 && !j->ret->rich.taken) {
    refuse(j, SCHEMA_BLOCK, SCHEMA_EEMPTY, base, "nothing is left to be sent");
  } else {
    if (bare.len < schema_trim_blank(text).len)
      schema_repairs_add(&j->repairs, SCHEMA_FIX_TEMPLATE_TOKEN, base);
    if (j->ret->rich.taken) schema_repairs_add(&j->repairs, SCHEMA_FIX_DIRECTIVE, base);
    for (size_t i = 0; i < reply.count; i++)
      if (!mask_words(j, (struct schema_message *)&reply.messages[i])) return;
    j->ret->reply = reply;
    j->ret->verdict = j->repairs.count ? SCHEMA_REPAIR : SCHEMA_ACCEPT;
  }
}

static void keep_verdict(struct judging *j)
{
  struct schema_judgement *ret = j->ret;
  if (ret->verdict >= SCHEMA_CORRECT) {
    ret->reply = (struct schema_reply) { .messages = NULL };
    ret->rich = (struct schema_rich) { .taken = false };
    return;
  }
  if (ret->error.code != SCHEMA_OK) ret->error = (struct schema_error) { .code = SCHEMA_OK };
  ret->repair_count = j->repairs.count;
  memcpy(ret->repairs, j->repairs.items, j->repairs.count * sizeof *ret->repairs);
}

/* Clears j and *ret but for their lists of repairs, which are long and mostly empty. */
static void begin(struct judging *j, const struct schema_offer *offer,
                  const struct schema_private *hide, struct arena *arena,
                  struct schema_judgement *ret)
{
  memset(j, 0, offsetof(struct judging, repairs));
  j->offer = offer;
  j->hide = hide;
  j->arena = arena;
  j->ret = ret;
  j->repairs.count = 0;
  size_t behind = offsetof(struct schema_judgement, repair_count);
  memset(ret, 0, offsetof(struct schema_judgement, repairs));
  memset((char *)ret + behind, 0, sizeof *ret - behind);
  ret->verdict = SCHEMA_BLOCK;
}

void schema_judge_words(const struct schema_offer *offer, const struct schema_private *hide,
                        struct span text, struct arena *arena, struct schema_judgement *ret)
{
  struct judging j;
  size_t base = 0;
  begin(&j, offer, hide, arena, ret);
  struct span t = schema_trim_blank(text);
  if (t.len == 0)
    refuse(&j, SCHEMA_BLOCK, SCHEMA_EEMPTY, 0, "nothing in the answer");
  else
    base = (size_t)(t.ptr - text.ptr);
  if (t.len > 0 && read_channels(&j, &t, &base) && cut_reasoning(&j, &t, &base))
    judge_plain(&j, t, base);
  keep_verdict(&j);
}

void schema_judge_closing(const struct schema_offer *offer, const struct schema_private *hide,
                          struct span text, size_t closers_max, struct arena *arena,
                          struct schema_judgement *ret)
{
  struct judging j;
  begin(&j, offer, hide, arena, ret);
  j.closers_max = closers_max;
  if (!text.ptr) text = SPAN("");
  if (!judge_at_once(&j, text) && !judge_strictly(&j, text)) judge_layer(&j, text, 0, 0);
  if (ret->verdict == SCHEMA_CORRECT && text.len > SCHEMA_CORRECTABLE_CHARS &&
      span_chars(text) > SCHEMA_CORRECTABLE_CHARS)
    refuse(&j, SCHEMA_BLOCK, SCHEMA_ETOOLONG, ret->error.at,
           "over 32,000 characters; no correction is asked for");
  keep_verdict(&j);
}

void schema_judge(const struct schema_offer *offer, const struct schema_private *hide,
                  struct span text, struct arena *arena, struct schema_judgement *ret)
{
  schema_judge_closing(offer, hide, text, 1, arena, ret);
}
