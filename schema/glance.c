#include "schema/glance.h"

#include "schema/markup.h"
#include "schema/step.h"

#if defined(__x86_64__) && !defined(SCHEMA_PORTABLE)
#  include <immintrin.h>
#  define GLANCE_AVX2 1
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

static bool is_letter(unsigned char c)
{
  return (unsigned)((c | 0x20) - 'a') < 26 || c == '_';
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

/* Whether the object whose brace is before byte at can be a call: it has a key, or it is the empty
 * arguments of one. */
static bool is_object(struct span text, size_t at, unsigned char before)
{
  unsigned char c = byte_at(text, schema_skip_blank(text, at));
  if (c == '}')
    return before == '(' || schema_is_space((char)before) || (before >= '0' && before <= '9');
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
  case 0xEFBC9A: return schema_step_may_be(text, at);       /* ： */
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
  case '{': return is_object(text, at + 1, before);
  case '`': return (next | 0x20) == 't' || (before == '`' && next == ' ');
  case ':': return schema_step_may_be(text, at);
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
  bool secret = (pair && is_secret_key(text, at)) || (c == ':' && is_userinfo(text, at));
  return seen | (secret ? SCHEMA_GLANCE_SECRET : 0);
}

enum { SECRET_MIN = 15 }; /* the shortest secret with its prefix; see leak.c */

/* name(…), [name(…)]: as a call in Python's syntax begins and ends. */
static bool is_like_call(struct span text)
{
  /* most texts end in a character that is neither of these brackets nor blank */
  if (text.len < 3) return false;
  unsigned char last = byte_at(text, text.len - 1), first = byte_at(text, text.len - 3);
  if (schema_is_word((char)last)) return false;
  if (last >= 0x80 && first >= 0xE4 && first != 0xEF) return false;
  struct span t = schema_trim_blank(text);
  if (t.len < 3 || !memchr(")]", t.ptr[t.len - 1], 2)) return false;
  if (t.ptr[0] == '[') t = schema_trim_blank((struct span) { t.ptr + 1, t.len - 1 });
  size_t at = 0, begin = at;
  while (at < t.len && (is_letter((unsigned char)t.ptr[at]) || t.ptr[at] == '.' ||
                        (t.ptr[at] >= '0' && t.ptr[at] <= '9')))
    at++;
  return at > begin && at < t.len && t.ptr[at] == '(';
}

/* Whether the run of token characters around byte at can be a secret of leak.c: long enough, and
 * with the first letter of one, or too long for anything else. */
static bool is_secret_run(struct span text, size_t at)
{
  static const char firsts[] = "srwgALGxhntdpeMb"; /* M and b: the first line of a private key */
  enum { WORD_MAX = 64 };
  size_t begin = at, end = at;
  while (begin > 0 && end - begin < WORD_MAX && is_token_char((unsigned char)text.ptr[begin - 1]))
    begin--;
  while (end < text.len && end - begin < WORD_MAX && is_token_char((unsigned char)text.ptr[end]))
    end++;
  if (end - begin < SECRET_MIN) return false;
  if (end - begin >= WORD_MAX) return true;
  while (begin < end && text.ptr[begin] == '-') begin++;
  unsigned char first = byte_at(text, begin), before = byte_at(text, begin ? begin - 1 : text.len);
  if (memchr(firsts, first, sizeof firsts - 1) || before == ' ') return true;
  unsigned char behind = byte_at(text, end);
  return before == '+' || behind == '+' || behind == '='; /* base64 */
}

unsigned schema_glance_portable(struct span text)
{
  unsigned seen = 0;
  size_t run = 0;
  for (size_t at = 0; at < text.len; at++) {
    unsigned char c = (unsigned char)text.ptr[at];
    run = is_token_char(c) ? run + 1 : 0;
    if (run == SECRET_MIN && is_secret_run(text, at)) seen |= SCHEMA_GLANCE_SECRET;
    if (is_trigger(c)) seen |= judge_trigger(text, at);
  }
  return seen | (is_like_call(text) ? SCHEMA_GLANCE_MARKUP : 0);
}

static uint32_t block_portable(struct span text, size_t at)
{
  uint32_t mask = 0;
  for (size_t i = 0; i < 32 && at + i < text.len; i++)
    if (is_trigger((unsigned char)text.ptr[at + i])) mask |= (uint32_t)1 << i;
  return mask;
}

#ifdef GLANCE_AVX2

#  define AVX2 __attribute__((target("avx2")))

/* 32 bytes of text from byte at on, with zeros behind its end. */
AVX2 static inline __m256i load(struct span text, size_t at)
{
  char block[32] = { 0 };
  if (text.len - at >= sizeof block) return _mm256_loadu_si256((const __m256i *)(text.ptr + at));
  memcpy(block, text.ptr + at, text.len - at);
  return _mm256_loadu_si256((const __m256i *)block);
}

/* Bits of the bytes at which something may begin. A table for each half of a byte gives classes, of
 * which both have to agree: 1 to 8 are the triggers in ASCII, with | beside them; 16, 32 and 64 or
 * 128 the first, second and third byte of the brackets beyond ASCII, with a few others of CJK. */
AVX2 static inline unsigned trigger_mask(__m256i v)
{
  const __m256i low =
      _mm256_setr_epi8(8 | 32 | -128, 64, 16, 16, 0, 0, 1, 32, 64, 64, 2 | -128, 4,
                       2 | 4 | 32 | -128, 2, 0, 16 | 32, 8 | 32 | -128, 64, 16, 16, 0, 0, 1, 32, 64,
                       64, 2 | -128, 4, 2 | 4 | 32 | -128, 2, 0, 16 | 32);
  const __m256i high =
      _mm256_setr_epi8(0, 0, 1, 2, 0, 4, 8, 4, 32 | 64, 32 | -128, 64, 32 | 64, 0, 0, 16, 0, 0, 0,
                       1, 2, 0, 4, 8, 4, 32 | 64, 32 | -128, 64, 32 | 64, 0, 0, 16, 0);
  const __m256i nibble = _mm256_set1_epi8(0x0F);
  __m256i classes = _mm256_and_si256(
      _mm256_shuffle_epi8(low, _mm256_and_si256(v, nibble)),
      _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
  __m256i others = _mm256_cmpeq_epi8(_mm256_and_si256(classes, nibble), _mm256_setzero_si256());
  unsigned first = (unsigned)_mm256_movemask_epi8(_mm256_slli_epi16(classes, 3));
  unsigned second = (unsigned)_mm256_movemask_epi8(_mm256_slli_epi16(classes, 2));
  unsigned third =
      (unsigned)_mm256_movemask_epi8(_mm256_or_si256(classes, _mm256_slli_epi16(classes, 1)));
  /* of a character that goes on in the next block only the first byte is known */
  unsigned wide = first & (second >> 1 | 1u << 31) & (third >> 2 | 3u << 30);
  return ~(unsigned)_mm256_movemask_epi8(others) | wide;
}

/* Bits at which eight bytes begin that are all of a word in ASCII, or stand in its range. */
AVX2 static inline unsigned run_mask(__m256i v)
{
  __m256i low = _mm256_sub_epi8(v, _mm256_set1_epi8('-'));
  __m256i in = _mm256_cmpeq_epi8(_mm256_min_epu8(low, _mm256_set1_epi8('z' - '-')), low);
  unsigned mask = (unsigned)_mm256_movemask_epi8(in);
  mask &= mask >> 1;
  mask &= mask >> 2;
  return mask & mask >> 4;
}

AVX2 static unsigned glance_avx2(struct span text)
{
  const unsigned all = SCHEMA_GLANCE_MARKUP | SCHEMA_GLANCE_SECRET;
  unsigned seen = 0;
  for (size_t at = 0; at < text.len && seen != all; at += 32) {
    __m256i v = load(text, at);
    for (unsigned mask = trigger_mask(v); mask; mask &= mask - 1) {
      size_t hit = at + (size_t)__builtin_ctz(mask);
      seen |= judge_trigger(text, hit);
    }
    /* a run of 15 has eight characters between two boundaries of eight */
    for (unsigned runs = run_mask(v) & 0x01010101; runs; runs &= runs - 1)
      if (is_secret_run(text, at + (size_t)__builtin_ctz(runs))) seen |= SCHEMA_GLANCE_SECRET;
  }
  return seen | (is_like_call(text) ? SCHEMA_GLANCE_MARKUP : 0);
}

AVX2 static uint32_t block_avx2(struct span text, size_t at)
{
  return trigger_mask(load(text, at));
}

unsigned schema_glance(struct span text)
{
  return __builtin_cpu_supports("avx2") ? glance_avx2(text) : schema_glance_portable(text);
}

uint32_t schema_glance_block(struct span text, size_t at)
{
  return __builtin_cpu_supports("avx2") ? block_avx2(text, at) : block_portable(text, at);
}

#else

unsigned schema_glance(struct span text)
{
  return schema_glance_portable(text);
}

uint32_t schema_glance_block(struct span text, size_t at)
{
  return block_portable(text, at);
}

#endif
