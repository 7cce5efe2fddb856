#include "schema/glance.h"

#include "schema/markup.h"

#if defined(__SSE2__) && !defined(SCHEMA_PORTABLE)
#  include <emmintrin.h>
#  define GLANCE_SSE2 1
#endif

/* Bytes that begin something; all others are passed over:
 *   < & \ and the first bytes of fullwidth and other brackets    tags
 *   [ { `                                                        calls, objects, tool fences
 *   : =                                                          labels, recipients, pairs */
static inline bool is_trigger(unsigned char c)
{
  switch (c) {
  case '<':
  case '&':
  case '\\':
  case '[':
  case '{':
  case '`':
  case ':':
  case '=':
  case 0xE2:
  case 0xE3:
  case 0xEF: return true;
  default: return false;
  }
}

static inline bool is_token_char(unsigned char c)
{
  return (c >= '0' && c <= '9') || (unsigned)((c | 0x20) - 'a') < 26 || c == '-' || c == '_';
}

static unsigned char byte_at(struct span text, size_t at)
{
  return at < text.len ? (unsigned char)text.ptr[at] : 0;
}

static bool ends_in(struct span text, size_t at, const char *word)
{
  size_t n = strlen(word);
  return at >= n && span_eq_nocase((struct span) { text.ptr + at - n, n }, span_of(word));
}

static bool is_letter(unsigned char c)
{
  return (unsigned)((c | 0x20) - 'a') < 26 || c == '_';
}

/* A label's colon at byte at: ReAct's action and its input, in either language; name:0{. */
bool schema_glance_label(struct span text, size_t at)
{
  static const char *const labels[] = { "action", "input", "*", " ", "动作", "行动", "输入" };
  static const char lasts[] = "nNtT* \x9C\xA8\xA5";
  if (at == 0 || !memchr(lasts, text.ptr[at - 1], sizeof lasts - 1)) return false;
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
    if (ends_in(text, at, labels[i])) return true;
  return false;
}

/* What may follow a square bracket at byte at: the begins of all names that residue, reasoning and
 * prose know there. */
bool schema_glance_square(struct span text, size_t at)
{
  static const char *const begins[] = {
    "/",     "{",     "\"",   "'",     "[",     "tool",  "call",   "function", "invok", "execut",
    "runn",  "ran ",  "us",   "end",   "think", "thoug", "reason", "scratch",  "inner", "intern",
    "antth", "chain", "cot]", "inst]", "eos]",  "bos]",  "gmask",  "done]",    "pad]",  "e~[",
    "已调",  "正在",  "调",   "工具",  "使用",  "执行",  "函数",
  };
  unsigned char c = byte_at(text, at);
  c = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if ((unsigned char)begins[i][0] == c && text.len - at >= strlen(begins[i]) &&
        span_eq_nocase((struct span) { text.ptr + at, strlen(begins[i]) }, span_of(begins[i])))
      return true;
  return false;
}

static bool is_userinfo(struct span text, size_t colon)
{
  enum { USERINFO_MAX = 256 };
  if (byte_at(text, colon + 1) != '/' || byte_at(text, colon + 2) != '/') return false;
  size_t left = text.len - colon < USERINFO_MAX ? text.len - colon : USERINFO_MAX;
  return memchr(text.ptr + colon, '@', left) != NULL;
}

static bool is_key(struct span text, size_t at)
{
  unsigned char c = byte_at(text, schema_skip_blank(text, at));
  return is_letter(c) || c == '"' || c == '\'' || c == '\\' || c >= 0xE2;
}

/* Whether a bracket beyond ASCII, 【 before a name or a label's ： is at byte at. */
static bool is_wide(struct span text, size_t at)
{
  unsigned second = byte_at(text, at + 1), third = byte_at(text, at + 2);
  switch ((unsigned)(unsigned char)text.ptr[at] << 16 | second << 8 | third) {
  case 0xE280B9:                                            /* ‹ */
  case 0xE29781:                                            /* ◁ */
  case 0xE29FA8:                                            /* ⟨ */
  case 0xE38088:                                            /* 〈 */
  case 0xEFBC9C: return true;                               /* ＜ */
  case 0xE38090: return schema_glance_square(text, at + 3); /* 【 */
  case 0xEFBC9A: return schema_glance_label(text, at);      /* ： */
  default: break;
  }
  return false;
}

static bool may_be_markup(struct span text, size_t at)
{
  unsigned char next = byte_at(text, at + 1), before = byte_at(text, at ? at - 1 : text.len);
  switch ((unsigned char)text.ptr[at]) {
  case '<': return true;
  case '&': return next == 'l' || next == '#';
  case '\\': return next == 'u' || next == 'x' || next == '"';
  case '[': return schema_glance_square(text, at + 1);
  case '{': return is_key(text, at + 1);
  case '`': return (next | 0x20) == 't' || (before == '`' && next == ' ');
  case ':': return schema_glance_label(text, at);
  case '=': return (before | 0x20) == 'o' && at >= 2 && (text.ptr[at - 2] | 0x20) == 't';
  case 0xE2:
  case 0xE3:
  case 0xEF: return is_wide(text, at);
  default: return false;
  }
}

/* Whether the word before byte at, quoted or not, can be the name of a secret (see leak.c). */
static bool is_secret_key(struct span text, size_t at)
{
  static const char *const parts[] = { "key", "oken", "ecret", "passw", "redential" };
  enum { KEY_MAX = 64 };
  while (at > 0 && strchr(" \"'", text.ptr[at - 1])) at--;
  size_t begin = at;
  while (begin > 0 && at - begin < KEY_MAX && is_token_char((unsigned char)text.ptr[begin - 1]))
    begin--;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (size_t p = begin, n = strlen(parts[i]); p + n <= at; p++)
      if (span_eq_nocase((struct span) { text.ptr + p, n }, (struct span) { parts[i], n }))
        return true;
  return false;
}

/* What the trigger at byte at may begin. */
static unsigned judge_trigger(struct span text, size_t at)
{
  unsigned seen = may_be_markup(text, at) ? SCHEMA_GLANCE_MARKUP : 0;
  char c = text.ptr[at], before = at ? text.ptr[at - 1] : '\0';
  bool pair = c == '=' || (c == ':' && (before == '"' || before == '\''));
  pair = pair ? is_secret_key(text, at) : c == ':' && is_userinfo(text, at);
  return seen | (pair ? SCHEMA_GLANCE_SECRET : 0);
}

enum { SECRET_MIN = 15 }; /* the shortest secret with its prefix; see leak.c */

#ifdef GLANCE_SSE2

typedef unsigned char bytes16 __attribute__((vector_size(16)));

/* Whether the run of token characters around byte at is as long as a secret. */
static bool is_long_run(struct span text, size_t at)
{
  size_t begin = at, end = at;
  while (begin > 0 && end - begin < SECRET_MIN && is_token_char((unsigned char)text.ptr[begin - 1]))
    begin--;
  while (end < text.len && end - begin < SECRET_MIN && is_token_char((unsigned char)text.ptr[end]))
    end++;
  return end - begin >= SECRET_MIN;
}

static inline unsigned mask_of(bytes16 v)
{
  return (unsigned)_mm_movemask_epi8((__m128i)v);
}

static inline unsigned trigger_mask(bytes16 v)
{
  return mask_of((bytes16)((v == '<') | (v == '&') | ((v | 0x20) == '{') | (v == '\\') |
                           (v == '`') | (v == ':') | (v == '=') | ((v & 0xFE) == 0xE2) |
                           (v == 0xEF)));
}

/* Letters, digits, - and _, and what stands between them in ASCII: a word and more. */
static inline unsigned token_mask(bytes16 v)
{
  return mask_of((bytes16)((bytes16)(v - '-') <= 'z' - '-'));
}

unsigned schema_glance(struct span text)
{
  const unsigned all = SCHEMA_GLANCE_MARKUP | SCHEMA_GLANCE_SECRET;
  unsigned seen = 0;
  bool equals = false;
  for (size_t at = 0; at < text.len && seen != all; at += 16) {
    bytes16 v = { 0 };
    size_t left = text.len - at;
    if (left >= 16)
      memcpy(&v, text.ptr + at, 16);
    else
      memcpy(&v, text.ptr + at, left);
    for (unsigned mask = trigger_mask(v); mask; mask &= mask - 1) {
      size_t hit = at + (size_t)__builtin_ctz(mask);
      equals = equals || text.ptr[hit] == '=';
      seen |= judge_trigger(text, hit);
    }
    unsigned tokens = token_mask(v);
    /* a run of 15 has eight characters on one side of a boundary of eight at least */
    if ((tokens & 0xFF) == 0xFF && is_long_run(text, at)) seen |= SCHEMA_GLANCE_SECRET;
    if ((tokens >> 8) == 0xFF && is_long_run(text, at + 8)) seen |= SCHEMA_GLANCE_SECRET;
  }
  struct span t = equals ? span_trim(text) : (struct span) { NULL, 0 };
  bool call = t.len && (t.ptr[t.len - 1] == ')' || t.ptr[t.len - 1] == ']');
  return seen | (call ? SCHEMA_GLANCE_MARKUP : 0);
}

size_t schema_glance_next(struct span text, size_t at)
{
  for (; text.len - at >= 16; at += 16) {
    bytes16 v;
    memcpy(&v, text.ptr + at, 16);
    unsigned mask = trigger_mask(v);
    if (mask) return at + (size_t)__builtin_ctz(mask);
  }
  while (at < text.len && !is_trigger((unsigned char)text.ptr[at])) at++;
  return at;
}

#else

unsigned schema_glance(struct span text)
{
  unsigned seen = 0;
  bool equals = false;
  size_t run = 0;
  for (size_t at = 0; at < text.len; at++) {
    unsigned char c = (unsigned char)text.ptr[at];
    run = is_token_char(c) ? run + 1 : 0;
    if (run >= SECRET_MIN) seen |= SCHEMA_GLANCE_SECRET;
    equals = equals || c == '=';
    if (is_trigger(c)) seen |= judge_trigger(text, at);
  }
  struct span t = equals ? span_trim(text) : (struct span) { NULL, 0 };
  bool call = t.len && (t.ptr[t.len - 1] == ')' || t.ptr[t.len - 1] == ']');
  return seen | (call ? SCHEMA_GLANCE_MARKUP : 0);
}

size_t schema_glance_next(struct span text, size_t at)
{
  while (at < text.len && !is_trigger((unsigned char)text.ptr[at])) at++;
  return at;
}

#endif
