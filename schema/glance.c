#include "schema/glance.h"

#include "schema/leak.h"
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
 * prose know there, by their first byte in lower case. */
bool schema_glance_square(struct span text, size_t at)
{
  enum { RESTS_MAX = 4 };
  static const struct {
    unsigned char first;
    const char *rests[RESTS_MAX];
  } begins[] = {
    { '/', { "" } },
    { '{', { "" } },
    { '"', { "" } },
    { '\'', { "" } },
    { '[', { "" } },
    { 't', { "ool", "hink", "houg" } },
    { 'c', { "all", "hain", "ot]" } },
    { 'f', { "unction" } },
    { 'i', { "nvok", "nner", "ntern", "nst]" } },
    { 'e', { "xecut", "nd", "os]", "~[" } },
    { 'r', { "unn", "an ", "eason", "eflect" } },
    { 'u', { "s" } },
    { 'a', { "ntth" } },
    { 's', { "cratch" } },
    { 'b', { "os]" } },
    { 'g', { "mask" } },
    { 'd', { "one]" } },
    { 'p', { "ad]" } },
    { 0xE4, { "\xBD\xBF用" } },                             /* 使用 */
    { 0xE5, { "\xB7\xB2调", "\xB7\xA5具", "\x87\xBD数" } }, /* 已调, 工具, 函数 */
    { 0xE6, { "\xAD\xA3在", "\x89\xA7行" } },               /* 正在, 执行 */
    { 0xE8, { "\xB0\x83" } },                               /* 调 */
  };
  unsigned char c = byte_at(text, at);
  c = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
    if (begins[i].first != c) continue;
    for (size_t k = 0; k < RESTS_MAX && begins[i].rests[k]; k++) {
      struct span rest = span_of(begins[i].rests[k]);
      if (text.len - at - 1 >= rest.len &&
          span_eq_nocase((struct span) { text.ptr + at + 1, rest.len }, rest))
        return true;
    }
    return false;
  }
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

bool schema_glance_at(struct span text, size_t at)
{
  return may_be_markup(text, at);
}

/* Whether the word before byte at, quoted or not, can be the name of a secret (see leak.c). */
static bool is_secret_key(struct span text, size_t at)
{
  static const char *const parts[] = {
    ['k' - 'a'] = "key",   ['o' - 'a'] = "oken",      ['e' - 'a'] = "ecret",
    ['p' - 'a'] = "passw", ['r' - 'a'] = "redential", ['z' - 'a'] = NULL,
  };
  enum { KEY_MAX = 64, KEY_MIN = 3 };
  while (at > 0 && (text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '"' || text.ptr[at - 1] == '\''))
    at--;
  size_t begin = at;
  while (begin > 0 && at - begin < KEY_MAX && is_token_char((unsigned char)text.ptr[begin - 1]))
    begin--;
  for (size_t p = begin; p + KEY_MIN <= at; p++) {
    unsigned letter = (unsigned)(((unsigned char)text.ptr[p] | 0x20) - 'a');
    const char *part = letter < 26 ? parts[letter] : NULL;
    size_t n = part ? strlen(part) : SIZE_MAX;
    if (n <= at - p && span_eq_nocase((struct span) { text.ptr + p, n }, (struct span) { part, n }))
      return true;
  }
  return false;
}

/* What the trigger at byte at may begin. */
static unsigned judge_trigger(struct span text, size_t at)
{
  unsigned char c = (unsigned char)text.ptr[at];
  if (c == '|') return 0; /* the mask takes it in */
  unsigned seen = may_be_markup(text, at) ? SCHEMA_GLANCE_MARKUP : 0;
  if (c != ':' && c != '=') return seen;
  char before = at ? text.ptr[at - 1] : '\0';
  bool pair = c == '=' || before == '"' || before == '\'';
  bool secret = (pair && is_secret_key(text, at)) || (c == ':' && is_userinfo(text, at));
  return seen | (secret ? SCHEMA_GLANCE_SECRET : 0);
}

enum { SECRET_MIN = 15 }; /* the shortest secret with its prefix; see leak.c */

/* name(…), [name(…)]: as a call in Python's syntax begins and ends. */
static bool is_like_call(struct span text)
{
  /* nearly every text ends in a character that is neither of these brackets nor blank */
  size_t n = text.len;
  while (n > 0 && (text.ptr[n - 1] == ' ' || text.ptr[n - 1] == '\n')) n--;
  if (n < 3) return false;
  unsigned char last = byte_at(text, n - 1);
  if (last > ' ' && last < 0x7F && last != ')' && last != ']') return false;
  unsigned char first = byte_at(text, n - 3), second = byte_at(text, n - 2);
  bool blank = first == 0xE3 ? second == 0x80 && last == 0x80 : first == 0xEF && second == 0xBB;
  if (first >= 0xE3 && second >= 0x80 && last >= 0x80 && !blank) return false; /* of CJK */
  struct span t = schema_trim_blank(text);
  if (t.len < 3 || !memchr(")]", t.ptr[t.len - 1], 2)) return false;
  if (t.ptr[0] == '[') t = schema_trim_blank((struct span) { t.ptr + 1, t.len - 1 });
  size_t at = 0, begin = at;
  while (at < t.len && (is_letter((unsigned char)t.ptr[at]) || t.ptr[at] == '.' ||
                        (t.ptr[at] >= '0' && t.ptr[at] <= '9')))
    at++;
  return at > begin && at < t.len && t.ptr[at] == '(';
}

/* ---- runs of the characters of words ---- */

/* A text whose runs are looked at, and whether a private key begins in it, which is found out when
 * it first matters. */
struct runs {
  struct span text;
  bool knows_key, has_key;
};

static bool has_private_key(struct runs *runs)
{
  if (!runs->knows_key) {
    runs->knows_key = true;
    runs->has_key = span_find(runs->text, SPAN("-----BEGIN ")) < runs->text.len;
  }
  return runs->has_key;
}

/* Whether the word "Bearer" and a space stand before byte at. */
static bool is_behind_bearer(struct span text, size_t at)
{
  size_t end = at;
  while (end > 0 && text.ptr[end - 1] == ' ') end--;
  return end < at && end >= 6 &&
         span_eq_nocase((struct span) { text.ptr + end - 6, 6 }, SPAN("bearer"));
}

/* Whether the run of token characters around byte at can be a secret of leak.c: too long for
 * anything else, or with the first letters of one, or where one is to be expected. */
static bool is_secret_run(struct runs *runs, size_t at)
{
  enum { WORD_MAX = 64, BASE64_MIN = 1024 };
  struct span text = runs->text;
  size_t begin = at, end = at;
  while (begin > 0 && end - begin < WORD_MAX && is_token_char((unsigned char)text.ptr[begin - 1]))
    begin--;
  while (end < text.len && end - begin < WORD_MAX && is_token_char((unsigned char)text.ptr[end]))
    end++;
  if (end - begin >= WORD_MAX) return true;
  if (memchr("Mb", text.ptr[begin], 2) && has_private_key(runs)) return true; /* its first line */
  if (is_behind_bearer(text, begin)) return true;
  unsigned char before = byte_at(text, begin ? begin - 1 : text.len), behind = byte_at(text, end);
  if (text.len >= BASE64_MIN && (before == '+' || behind == '+' || behind == '=')) return true;
  while (begin < end && text.ptr[begin] == '-') begin++;
  return schema_leak_begins(text, begin);
}

unsigned schema_glance_portable(struct span text)
{
  struct runs runs = { .text = text };
  unsigned seen = 0;
  size_t run = 0;
  for (size_t at = 0; at < text.len; at++) {
    unsigned char c = (unsigned char)text.ptr[at];
    run = is_token_char(c) ? run + 1 : 0;
    if (run == SECRET_MIN && is_secret_run(&runs, at)) seen |= SCHEMA_GLANCE_SECRET;
    if (is_trigger(c)) seen |= judge_trigger(text, at);
  }
  return seen | (is_like_call(text) ? SCHEMA_GLANCE_MARKUP : 0);
}

static size_t block_portable(struct span text, size_t at, uint32_t *retmask)
{
  for (; at < text.len; at += 32) {
    *retmask = 0;
    for (size_t i = 0; i < 32 && at + i < text.len; i++)
      if (is_trigger((unsigned char)text.ptr[at + i])) *retmask |= (uint32_t)1 << i;
    if (*retmask != 0) break;
  }
  return at;
}

#ifdef GLANCE_AVX2

#  define AVX2 __attribute__((target("avx2")))

/* 32 bytes of text from byte at on, with zeros behind its end: what is left is loaded by words, and
 * the bytes behind them as one. Copying them somewhere first takes longer than all else here. */
AVX2 static inline __m256i load(struct span text, size_t at)
{
  const char *p = text.ptr + at;
  size_t left = text.len - at, words = left / 4;
  if (left >= 32) return _mm256_loadu_si256((const __m256i *)p);
  const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i count = _mm256_set1_epi32((int)words);
  __m256i whole = _mm256_maskload_epi32((const int *)p, _mm256_cmpgt_epi32(count, order));
  uint32_t last = 0;
  for (size_t i = left; i > words * 4; i--) last = last << 8 | (unsigned char)p[i - 1];
  __m256i rest = _mm256_and_si256(_mm256_cmpeq_epi32(count, order), _mm256_set1_epi32((int)last));
  return _mm256_or_si256(whole, rest);
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

/* Bits of the token characters. A table for each half of a byte, as above. */
AVX2 static inline uint32_t token_mask(__m256i v)
{
  enum { HYPHEN = 1, DIGIT = 2, A_TO_O = 4, P_TO_Z = 8, UNDERSCORE = 16 };
  enum { LOW_9 = DIGIT | A_TO_O | P_TO_Z };
  const __m256i low = _mm256_setr_epi8(
      DIGIT | P_TO_Z, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9,
      A_TO_O | P_TO_Z, A_TO_O, A_TO_O, A_TO_O | HYPHEN, A_TO_O, A_TO_O | UNDERSCORE, DIGIT | P_TO_Z,
      LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, LOW_9, A_TO_O | P_TO_Z, A_TO_O,
      A_TO_O, A_TO_O | HYPHEN, A_TO_O, A_TO_O | UNDERSCORE);
  const __m256i high = _mm256_setr_epi8(
      0, 0, HYPHEN, DIGIT, A_TO_O, P_TO_Z | UNDERSCORE, A_TO_O, P_TO_Z, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0, HYPHEN, DIGIT, A_TO_O, P_TO_Z | UNDERSCORE, A_TO_O, P_TO_Z, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i nibble = _mm256_set1_epi8(0x0F);
  __m256i classes = _mm256_and_si256(
      _mm256_shuffle_epi8(low, _mm256_and_si256(v, nibble)),
      _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
  __m256i none = _mm256_cmpeq_epi8(classes, _mm256_setzero_si256());
  return ~(uint32_t)_mm256_movemask_epi8(none);
}

/* Bits at which SECRET_MIN set bits in a row begin. */
static inline uint64_t run_begins(uint64_t bits)
{
  bits &= bits >> 1;
  bits &= bits >> 2;
  bits &= bits >> 4;
  return bits & bits >> (SECRET_MIN - 8);
}

AVX2 static unsigned glance_avx2(struct span text)
{
  const unsigned all = SCHEMA_GLANCE_MARKUP | SCHEMA_GLANCE_SECRET;
  enum { CARRY = SECRET_MIN - 1 }; /* bits of the block before, below those of this one */
  struct runs runs = { .text = text };
  unsigned seen = 0;
  uint64_t tokens = 0;
  for (size_t at = 0; at < text.len && seen != all; at += 32) {
    __m256i v = load(text, at);
    for (unsigned mask = trigger_mask(v); mask; mask &= mask - 1) {
      size_t hit = at + (size_t)__builtin_ctz(mask);
      seen |= judge_trigger(text, hit);
    }
    tokens = (uint64_t)token_mask(v) << CARRY | tokens >> 32;
    for (uint64_t begins = run_begins(tokens); begins; begins &= begins + (begins & -begins))
      if (is_secret_run(&runs, at + (size_t)__builtin_ctzll(begins) - CARRY))
        seen |= SCHEMA_GLANCE_SECRET;
  }
  return seen | (is_like_call(text) ? SCHEMA_GLANCE_MARKUP : 0);
}

AVX2 static size_t block_avx2(struct span text, size_t at, uint32_t *retmask)
{
  for (; at < text.len; at += 32)
    if ((*retmask = trigger_mask(load(text, at))) != 0) break;
  return at;
}

unsigned schema_glance(struct span text)
{
  return __builtin_cpu_supports("avx2") ? glance_avx2(text) : schema_glance_portable(text);
}

size_t schema_glance_block(struct span text, size_t at, uint32_t *retmask)
{
  return __builtin_cpu_supports("avx2") ? block_avx2(text, at, retmask)
                                        : block_portable(text, at, retmask);
}

#else

unsigned schema_glance(struct span text)
{
  return schema_glance_portable(text);
}

size_t schema_glance_block(struct span text, size_t at, uint32_t *retmask)
{
  return block_portable(text, at, retmask);
}

#endif

bool schema_glance_markup(struct span text)
{
  struct schema_glancer glancer = schema_glancer_of(text);
  for (size_t at = 0; (at = schema_glance_next(&glancer, at)) < text.len; at++)
    if (may_be_markup(text, at)) return true;
  return is_like_call(text);
}
