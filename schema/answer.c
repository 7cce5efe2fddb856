#include "schema/answer.h"

#include "schema/bracket.h"
#include "schema/lenient.h"
#include "schema/markup.h"
#include "schema/print.h"
#include "schema/prose.h"

enum { OPTIONS = SCHEMA_REPLY_LEGACY | SCHEMA_REPLY_INTEGERS };

/* ---- reading one object ---- */

static enum schema_code read_strictly(const struct schema_answer_search *search, struct span text,
                                      struct schema_answer *ret)
{
  struct schema_json reader;
  schema_json_init(&reader, text, search->arena, SCHEMA_DEPTH_REPLY);
  enum schema_code code = schema_reply_read_from(search->offer, &reader, OPTIONS, &ret->reply,
                                                 &ret->notes, &ret->error);
  ret->begin = 0;
  ret->end = schema_json_offset(&reader);
  return code;
}

/* Whether a fault can come from a bracket. */
static bool may_be_bracket(enum schema_code code)
{
  return code == SCHEMA_ESYNTAX || code == SCHEMA_ETRUNCATED || code == SCHEMA_ETYPE ||
         code == SCHEMA_EMISSING || code == SCHEMA_EUNKNOWN;
}

static bool same_reply(const struct schema_reply *a, const struct schema_reply *b)
{
  enum { PRINTED_MAX = 1 << 26 };
  struct buf first, second;
  struct schema_writer w = { .out = &first };
  buf_init(&first, PRINTED_MAX);
  buf_init(&second, PRINTED_MAX);
  schema_write_reply(&w, a, true);
  w = (struct schema_writer) { .out = &second };
  schema_write_reply(&w, b, true);
  bool same = !first.failed && !second.failed && span_eq(buf_span(&first), buf_span(&second));
  buf_done(&first);
  buf_done(&second);
  return same;
}

/* Reads text strictly, or with one bracket put in or taken out: two ways that differ are none.
 * source tells where a byte of text comes from; NULL: it is the source. */
static enum schema_code read_bracketed(const struct schema_answer_search *search, struct span text,
                                       const struct schema_lenient *source,
                                       struct schema_answer *ret)
{
  struct schema_bracket_fix fixes[SCHEMA_BRACKET_FIXES_MAX];
  enum schema_code code = read_strictly(search, text, ret);
  if (code == SCHEMA_OK || !may_be_bracket(code)) return code;
  size_t count = schema_bracket_fixes(text, ret->error.at, search->closers_max, fixes);
  const struct schema_bracket_fix *used = NULL;
  struct schema_answer found = { .kind = SCHEMA_ANSWER_NONE }, tried;
  for (size_t i = 0; i < count; i++) {
    struct span fixed = schema_bracket_apply(text, &fixes[i], search->arena);
    if (!fixed.ptr) return SCHEMA_ENOMEM;
    if (read_strictly(search, fixed, &tried) != SCHEMA_OK) continue;
    if (used && !same_reply(&found.reply, &tried.reply)) return code;
    if (used) continue;
    used = &fixes[i];
    found = tried;
  }
  if (!used) return code;
  size_t n = strlen(used->insert);
  *ret = found;
  ret->end = n ? found.end - n : found.end + 1;
  size_t at = source ? schema_lenient_source(source, used->at) : used->at;
  schema_repairs_add(search->repairs, n ? SCHEMA_FIX_BRACKET_MISSING : SCHEMA_FIX_BRACKET_EXTRA,
                     search->base + at);
  return SCHEMA_OK;
}

/* A fault of syntax says less than one of the contract that shows once the syntax is put right. */
static void keep_better_error(struct schema_error *error, const struct schema_error *lenient,
                              size_t at)
{
  if (error->code != SCHEMA_ESYNTAX || lenient->code == SCHEMA_ESYNTAX) return;
  *error = *lenient;
  error->at = at;
}

/* An id that half a character stands in is none. */
static bool has_broken_target(const struct schema_reply *reply)
{
  static const struct span mark = { "\xEF\xBF\xBD", 3 };
  for (size_t i = 0; i < reply->count; i++)
    for (size_t k = 0; k < reply->messages[i].count; k++) {
      const struct schema_segment *s = &reply->messages[i].segments[k];
      bool words = s->type == SCHEMA_TEXT || s->type == SCHEMA_MARKDOWN;
      if (!words && s->text.len && span_find(s->text, mark) < s->text.len) return true;
    }
  return false;
}

static enum schema_code read_leniently(const struct schema_answer_search *search, struct span text,
                                       struct schema_answer *ret)
{
  struct schema_repairs repairs = { .count = 0 };
  struct schema_answer_search inner = *search;
  struct schema_lenient lenient;
  struct schema_answer found;
  inner.repairs = &repairs;
  schema_lenient_write(text, search->base, search->arena, &repairs, &lenient);
  if (!lenient.strict.ptr) return SCHEMA_ENOMEM;
  if (!lenient.changed) return ret->error.code;
  enum schema_code code = read_bracketed(&inner, lenient.strict, &lenient, &found);
  if (code == SCHEMA_OK && schema_repairs_have(&repairs, SCHEMA_FIX_SURROGATE) &&
      has_broken_target(&found.reply)) {
    return schema_fail(&ret->error, SCHEMA_ESURROGATE, 0, "$",
                       "half a character in an id; the whole id is needed");
  }
  if (code != SCHEMA_OK) {
    keep_better_error(&ret->error, &found.error, schema_lenient_source(&lenient, found.error.at));
    return code;
  }
  *ret = found;
  ret->end = schema_lenient_source(&lenient, found.end);
  if (ret->end > text.len) ret->end = text.len;
  /* what was put right behind the object has no meaning any more */
  for (size_t i = 0; i < repairs.count; i++)
    if (repairs.items[i].at < search->base + ret->end)
      schema_repairs_add(search->repairs, repairs.items[i].kind, repairs.items[i].at);
  return SCHEMA_OK;
}

enum schema_code schema_answer_read(const struct schema_answer_search *search, struct span text,
                                    struct schema_answer *ret)
{
  enum schema_code code = read_bracketed(search, text, NULL, ret);
  bool lexical = code == SCHEMA_ESYNTAX || code == SCHEMA_ESURROGATE || code == SCHEMA_EUNKNOWN ||
                 code == SCHEMA_EUTF8;
  if (lexical) code = read_leniently(search, text, ret);
  if (code == SCHEMA_ENOMEM)
    schema_fail(&ret->error, code, 0, "$", "the answer needs more memory than it may have");
  ret->kind = code == SCHEMA_OK ? SCHEMA_ANSWER_REPLY : SCHEMA_ANSWER_BROKEN;
  if (code != SCHEMA_OK) return code;
  const struct schema_reply_notes *notes = &ret->notes;
  if (notes->legacy_root) schema_repairs_add(search->repairs, SCHEMA_FIX_LEGACY_ROOT, search->base);
  if (notes->integers)
    schema_repairs_add(search->repairs, SCHEMA_FIX_INTEGER, search->base + notes->integer_at);
  if (notes->reaction_ignored)
    schema_repairs_add(search->repairs, SCHEMA_FIX_REACTION_IGNORED, search->base);
  if (notes->reaction_missing)
    schema_repairs_add(search->repairs, SCHEMA_FIX_REACTION_MISSING, search->base);
  return SCHEMA_OK;
}

/* ---- finding it ---- */

static char char_at(struct span text, size_t at)
{
  return at < text.len ? text.ptr[at] : '\0';
}

/* Behind the word at byte at, with what is invisible in it left out of word. */
static size_t read_key_word(struct span text, size_t at, char *word, size_t cap)
{
  size_t len = 0;
  while (at < text.len && len + 1 < cap) {
    char c = text.ptr[at];
    size_t next = c & 0x80 ? schema_skip_blank(text, at) : at;
    if (next > at) {
      at = next;
      continue;
    }
    if (!schema_is_word(c)) break;
    word[len++] = c;
    at++;
  }
  word[len] = '\0';
  return at;
}

/* Whether a colon of any form is at byte at. */
static bool colon_at(struct span text, size_t at)
{
  return char_at(text, at) == ':' || (text.len - at >= 3 && memcmp(text.ptr + at, "：", 3) == 0);
}

/* Whether a key of a reply's root is at byte at, in any quotes, with its colon. */
static bool root_key_at(struct span text, size_t at)
{
  static const char *const roots[] = { "messages", "segments", "reaction" };
  char word[12];
  if (at < text.len) at = schema_lenient_quote(text, at);
  at = read_key_word(text, at, word, sizeof word);
  bool known = false, cut = at >= text.len; /* a key that the end of the text cuts counts as well */
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    known = known || (cut ? strncmp(word, roots[i], strlen(word)) : strcmp(word, roots[i])) == 0;
  if (!known || cut) return known;
  at = schema_lenient_blank(text, schema_lenient_quote(text, at));
  return at >= text.len || colon_at(text, at);
}

bool schema_answer_is_reply_like(struct span text, size_t at)
{
  static const struct span usual = SPAN_INIT("\"messages\":");
  size_t n, key = at + 1;
  if (at >= text.len) return false;
  while (key < text.len && schema_is_space(text.ptr[key])) key++;
  if (text.ptr[at] == '{' && key < text.len && text.len - key >= usual.len &&
      memcmp(text.ptr + key, usual.ptr, usual.len) == 0)
    return true;
  if (schema_lenient_bracket(text, at, &n) != '{') return false;
  return root_key_at(text, schema_lenient_blank(text, at + n));
}

struct search {
  const struct schema_answer_search *with;
  struct span text;
  size_t at;
  size_t open_braces; /* of what was passed over: more opened than closed */
  bool other;         /* an object of another shape was parsed before, at other_at */
  size_t other_at;
  struct schema_error other_error;
  struct schema_answer *ret;
};

static size_t last_visible(struct span text, size_t at)
{
  while (at > 0 && schema_is_space(text.ptr[at - 1])) at--;
  return at;
}

static void set_error(struct schema_answer *ret, enum schema_answer_kind kind,
                      enum schema_code code, size_t at, const char *what)
{
  ret->kind = kind;
  schema_fail(&ret->error, code, at, "$", what);
}

/* Whether the object [begin, end) is an item of an array or a member of an object that goes on. */
static const char *outer_of(const struct search *s, size_t begin, size_t end)
{
  size_t before = last_visible(s->text, begin);
  size_t behind = schema_skip_blank(s->text, end);
  char c = before ? s->text.ptr[before - 1] : '\0', next = char_at(s->text, behind);
  bool item = c == '[' || (c == ',' && s->ret->notes.legacy_root);
  if (item && (next == ',' || next == ']'))
    return "an array; the reply is one object with messages";
  if (c == ':' && s->open_braces)
    return "the reply stands inside another object; it has to be the outermost";
  return NULL;
}

/* The object at s->at begins like a reply: it is the one. */
static void take_reply(struct search *s)
{
  struct schema_answer_search inner = *s->with;
  struct span rest = { s->text.ptr + s->at, s->text.len - s->at };
  inner.base += s->at;
  if (schema_answer_read(&inner, rest, s->ret) != SCHEMA_OK) {
    s->ret->error.at += s->at;
    s->ret->begin = s->at;
    s->ret->end = s->text.len;
    return;
  }
  s->ret->begin = s->at;
  s->ret->end += s->at;
  const char *outer = outer_of(s, s->ret->begin, s->ret->end);
  if (outer) set_error(s->ret, SCHEMA_ANSWER_OTHER, SCHEMA_ETYPE, s->at, outer);
}

/* An object that begins unlike a reply: is it JSON, and does it have a reply's key further on?
 * Returns where the search goes on. */
static size_t pass_object(struct search *s)
{
  struct schema_json reader;
  struct span rest = { s->text.ptr + s->at, s->text.len - s->at };
  schema_json_init(&reader, rest, s->with->arena, SCHEMA_DEPTH_SCHEMA);
  enum schema_token token = schema_json_next(&reader);
  bool root_key = false;
  while (token != SCHEMA_JSON_ERROR && reader.depth > 0) {
    token = schema_json_next(&reader);
    if (token == SCHEMA_JSON_KEY && reader.depth == 1)
      root_key = root_key || span_is(reader.text, "messages") || span_is(reader.text, "segments");
  }
  if (token == SCHEMA_JSON_ERROR && root_key) {
    s->ret->kind = SCHEMA_ANSWER_BROKEN;
    read_strictly(s->with, rest, s->ret);
    s->ret->error.at += s->at;
    return s->text.len;
  }
  if (token == SCHEMA_JSON_ERROR) {
    s->open_braces++;
    return s->at + (reader.error.at > 1 ? reader.error.at : 1);
  }
  if (!s->other) {
    struct schema_answer tried;
    s->other = true;
    s->other_at = s->at;
    read_strictly(s->with, rest, &tried);
    s->other_error = tried.error;
    s->other_error.at += s->at;
  }
  if (root_key) s->ret->kind = SCHEMA_ANSWER_BROKEN;
  return s->at + schema_json_offset(&reader);
}

static void count_braces(struct search *s, size_t to)
{
  for (size_t i = s->at; i < to; i++)
    if (s->text.ptr[i] == '}' && s->open_braces) s->open_braces--;
}

/* The key of a reply without the brace before it (reply.md 80: one bracket too few). */
static void take_unopened(struct search *s, size_t at)
{
  struct schema_answer_search inner = *s->with;
  struct schema_repairs repairs = { .count = 0 };
  size_t len = s->text.len - at;
  char *copy = arena_alloc(inner.arena, len + 1);
  if (!copy) return;
  copy[0] = '{';
  memcpy(copy + 1, s->text.ptr + at, len);
  inner.repairs = &repairs;
  inner.base += at ? at - 1 : 0;
  enum schema_code code = schema_answer_read(&inner, (struct span) { copy, len + 1 }, s->ret);
  s->ret->begin = at;
  s->ret->end = code == SCHEMA_OK ? at + s->ret->end - 1 : s->text.len;
  bool second = schema_repairs_have(&repairs, SCHEMA_FIX_BRACKET_MISSING) ||
                schema_repairs_have(&repairs, SCHEMA_FIX_BRACKET_EXTRA);
  if (code != SCHEMA_OK || second) {
    set_error(s->ret, SCHEMA_ANSWER_BROKEN, SCHEMA_ESYNTAX, at, "the brace before it is missing");
    return;
  }
  schema_repairs_add(s->with->repairs, SCHEMA_FIX_BRACKET_MISSING, s->with->base + at);
  for (size_t i = 0; i < repairs.count; i++)
    schema_repairs_add(s->with->repairs, repairs.items[i].kind, repairs.items[i].at);
}

/* The first place from at on where text has one of the words, quoted in any way, as a key. */
static size_t find_key(struct span text, const char *word)
{
  struct span needle = span_of(word);
  if (text.len <= needle.len) return text.len;
  for (size_t at = 0; at < text.len;) {
    size_t n = span_find((struct span) { text.ptr + at, text.len - at }, needle);
    if (n == text.len - at) break;
    size_t quote = at + n;
    if (quote > 0 && (text.ptr[quote - 1] == '"' || text.ptr[quote - 1] == '\''))
      if (root_key_at(text, quote - 1)) return quote - 1;
    at += n + needle.len;
  }
  return text.len;
}

/* ---- what else the answer may be ---- */

/* Whether a value of JSON is all that text is. */
static bool is_one_value(struct span text, struct arena *arena)
{
  struct schema_json reader;
  schema_json_init(&reader, text, arena, SCHEMA_DEPTH_SCHEMA);
  if (!schema_json_skip(&reader, schema_json_next(&reader))) return false;
  return schema_json_next(&reader) == SCHEMA_JSON_END;
}

/* Whether a number or a word of JSON begins at byte at. */
static bool is_value(struct span text, size_t at)
{
  struct span rest = { text.ptr + at, text.len - at };
  return (*rest.ptr >= '0' && *rest.ptr <= '9') || span_starts(rest, SPAN("true")) ||
         span_starts(rest, SPAN("false")) || span_starts(rest, SPAN("null"));
}

/* Whether text begins as a JSON object or array would, complete or not. */
static bool begins_as_json(struct span text)
{
  size_t n, inside;
  char c = schema_lenient_bracket(text, 0, &n);
  if (c != '{' && c != '[') return false;
  inside = schema_lenient_blank(text, n);
  if (inside >= text.len) return true;
  char next = text.ptr[inside];
  size_t quote = schema_lenient_quote(text, inside), m;
  if (c == '[') {
    size_t in = inside; /* lists in lists; but [[a word]] is none */
    while (in < text.len && text.ptr[in] == '[') in = schema_lenient_blank(text, in + 1);
    if (in > inside && in < text.len && schema_is_word(text.ptr[in]) && !is_value(text, in))
      return false;
    bool item = next == '{' || next == '[' || next == ']' || quote > inside;
    return item || schema_lenient_bracket(text, inside, &m) == '{';
  }
  if (next == '}' || next == '{') return next == '}';
  char word[64];
  size_t behind = read_key_word(text, quote, word, sizeof word);
  if (quote > inside && next == '"') return true;
  behind = schema_lenient_blank(text, schema_lenient_quote(text, behind));
  return *word && colon_at(text, behind);
}

/* The same behind what a model may put before it: a fence, the word json, the mark of an event. */
static bool is_json_answer(struct span text, struct arena *arena)
{
  static const struct span heads[] = { { "json", 4 }, { "JSON", 4 }, { "data:", 5 } };
  bool fenced;
  struct span t = schema_trim_blank(schema_prose_unfence(text, &fenced));
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    if (!span_starts(t, heads[i])) continue;
    struct span rest = { t.ptr + heads[i].len, t.len - heads[i].len };
    rest = schema_trim_blank(rest);
    if (rest.len && begins_as_json(rest)) t = rest;
  }
  return t.len && (begins_as_json(t) || is_one_value(t, arena));
}

static void judge_rest(struct search *s, struct span text)
{
  struct schema_answer *ret = s->ret;
  if (ret->kind == SCHEMA_ANSWER_NONE &&
      (span_find(text, SPAN("&quot;messages&quot;")) < text.len ||
       span_find(text, SPAN("&#34;messages&#34;")) < text.len)) {
    set_error(ret, SCHEMA_ANSWER_BROKEN, SCHEMA_ESYNTAX, 0, "a reply object written as HTML");
    return;
  }
  if (ret->kind == SCHEMA_ANSWER_BROKEN || (s->other && is_json_answer(text, s->with->arena))) {
    ret->kind = ret->kind == SCHEMA_ANSWER_BROKEN ? ret->kind : SCHEMA_ANSWER_OTHER;
    if (s->other) ret->error = s->other_error, ret->begin = s->other_at;
    return;
  }
  if (is_json_answer(text, s->with->arena)) {
    struct schema_answer tried;
    struct span t = schema_trim_blank(text);
    read_strictly(s->with, t, &tried);
    ret->kind = SCHEMA_ANSWER_OTHER;
    ret->error = tried.error;
  }
}

void schema_answer_find(const struct schema_answer_search *with, struct span text,
                        struct schema_answer *ret)
{
  struct search s = { .with = with, .text = text, .ret = ret };
  memset(ret, 0, offsetof(struct schema_answer, error)); /* the path in it is long */
  schema_fail(&ret->error, SCHEMA_OK, 0, NULL, NULL);
  ret->kind = SCHEMA_ANSWER_NONE;
  while (s.at < text.len) {
    const char *brace = memchr(text.ptr + s.at, '{', text.len - s.at);
    if (!brace) break;
    size_t at = (size_t)(brace - text.ptr);
    count_braces(&s, at);
    s.at = at;
    if (schema_answer_is_reply_like(text, at)) {
      size_t key = find_key((struct span) { text.ptr, at }, "messages");
      if (key < at && !s.other) {
        take_unopened(&s, key);
        return;
      }
      if (s.other) { /* the first object decides, and it is none */
        ret->kind = SCHEMA_ANSWER_OTHER;
        ret->error = s.other_error;
        ret->begin = s.other_at;
        return;
      }
      take_reply(&s);
      return;
    }
    size_t inside = schema_skip_blank(text, at + 1);
    if (char_at(text, inside) == '}' && root_key_at(text, schema_skip_blank(text, inside + 1)) &&
        char_at(text, schema_skip_blank(text, inside + 1)) == '"') {
      take_unopened(&s, schema_skip_blank(text, inside + 1)); /* {}"messages": closed too early */
      return;
    }
    s.at = pass_object(&s);
  }
  size_t wide = span_find(text, SPAN("｛"));
  if (ret->kind == SCHEMA_ANSWER_NONE && wide < text.len &&
      schema_answer_is_reply_like(text, wide)) {
    s.at = wide;
    take_reply(&s);
    return;
  }
  const char *first = text.len ? memchr(text.ptr, '{', text.len) : NULL;
  struct span before = { text.ptr, first ? (size_t)(first - text.ptr) : text.len };
  size_t key = find_key(before, "messages");
  if (key == before.len) key = find_key(before, "segments");
  if (ret->kind == SCHEMA_ANSWER_NONE && key < before.len) {
    take_unopened(&s, key);
    return;
  }
  judge_rest(&s, text);
}

/* The length of a quote in some writing that nobody reads, &ldquo; or \x22 or « and the like, at
 * the begin of text: before *end, without spaces, characters of CJK and what stands between names. */
static size_t garbled_quote(struct span text, const char *end)
{
  enum { QUOTE_MAX = 16 };
  size_t n = 0;
  for (; n < text.len && n < QUOTE_MAX && text.ptr[n] != *end; n++)
    if (schema_is_space(text.ptr[n]) || (unsigned char)text.ptr[n] >= 0xE3 ||
        memchr("{}[]:,", text.ptr[n], 6))
      break;
  return n;
}

bool schema_answer_is_garbled(struct span text)
{
  bool fenced;
  struct span t = schema_trim_blank(schema_prose_unfence(text, &fenced));
  if (t.len == 0 || *t.ptr != '{') return false;
  size_t at = schema_skip_blank(t, 1);
  t = (struct span) { t.ptr + at, t.len - at };
  size_t n = garbled_quote(t, "m"), other = garbled_quote(t, "s");
  struct span messages = { t.ptr + n, t.len - n }, segments = { t.ptr + other, t.len - other };
  if (span_starts(messages, SPAN("messages")))
    t = messages;
  else if (span_starts(segments, SPAN("segments")))
    t = segments;
  else
    return false;
  t = (struct span) { t.ptr + 8, t.len - 8 };
  n = garbled_quote(t, ":");
  at = schema_skip_blank(t, n);
  return at < t.len && t.ptr[at] == ':';
}
