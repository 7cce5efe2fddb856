#include "schema/scan.h"

enum {
  LONG_TEXT = 4096, /* from here on a string may be long enough for a loop of its own: base64 */
  COPY_SLACK = 32,  /* what copy_string may write beyond what it copies: the rest of a block */
};

static bool is_stop(unsigned char c)
{
  return c < 0x20 || c == '"' || c == '\\';
}

/* Goes on character by character from p, a character's begin, up to a stop, a fault or at least
 * limit. */
static const char *go_slowly(const char *p, const char *end, const char *limit, bool *controls)
{
  while (p < limit) {
    unsigned char c = (unsigned char)*p;
    if (is_stop(c)) break;
    size_t n = c < 0x80 ? 1 : utf8_sequence(p, (size_t)(end - p));
    if (n == 0) break;
    if (c == 0x7F || (c == 0xC2 && (unsigned char)p[1] < 0xA0)) *controls = true;
    p += n;
  }
  return p;
}

/* n bytes at p, the first one lowest. */
static uint64_t load(const char *p, size_t n)
{
  uint64_t word = 0;
  memcpy(&word, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* The top bit of each byte of eight that is a stop, DEL or not ASCII. x - ones borrows into the top
 * bit of a byte that was 0; what a borrow spoils lies above such a byte, so the lowest bit is
 * right. */
static uint64_t odd_bytes(uint64_t eight)
{
  const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
  uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\', del = eight ^ ones * 0x7F;
  return ((quote - ones) | (backslash - ones) | (del - ones) | (eight - ones * 0x20) | eight) &
         tops;
}

/* Whether the low half of a lead of three bytes is none of E0 and ED, which ask for a closer look at
 * the byte behind them. */
static inline unsigned is_plain_lead(uint64_t low_half)
{
  return 0xDFFEu >> (low_half & 0xF) & 1;
}

/* Over characters of three bytes, as most are that are not ASCII here, two at a time. */
static inline const char *pass_three_bytes(const char *p, const char *end)
{
  const uint64_t bits = 0xC0C0F0, form = 0x8080E0;
  for (; end - p >= 8; p += 6) {
    uint64_t two = load(p, 8);
    if ((two & (bits << 24 | bits)) != (form << 24 | form)) break;
    if (!(is_plain_lead(two) & is_plain_lead(two >> 24))) break;
  }
  if (end - p < 4) return p;
  uint64_t one = load(p, 4);
  return (one & bits) == form && is_plain_lead(one) ? p + 3 : p;
}

const char *scan_string_portable(const char *p, const char *end, bool *controls)
{
  for (;;) {
    while (end - p >= 8) {
      uint64_t odd = odd_bytes(load(p, 8));
      p += odd ? __builtin_ctzll(odd) / 8 : 8;
      if (odd) break;
    }
    const char *begin = p;
    if (SCAN_USUAL(p < end) && is_stop((unsigned char)*p)) return p;
    p = pass_three_bytes(p, end);
    if (p > begin) continue;
    p = go_slowly(p, end, p < end ? p + 1 : end, controls);
    if (p == begin) return p;
  }
}

#ifdef SCHEMA_SSE2

/* Whether the rare bytes at the bits of mask begin what they may; DEL and C1 set *controls. */
static bool judge_rare(const char *block, const char *end, uint32_t mask, bool *controls)
{
  for (; mask; mask &= mask - 1) {
    const unsigned char *p = (const unsigned char *)block + __builtin_ctz(mask);
    unsigned second = (const char *)p + 1 < end ? p[1] : 0;
    switch (p[0]) {
    case 0x7F: *controls = true; break;
    case 0xC2: *controls |= second < 0xA0; break;
    case 0xE0:
      if (second < 0xA0) return false;
      break;
    case 0xED:
      if (second > 0x9F) return false;
      break;
    case 0xF0:
      if (second < 0x90) return false;
      break;
    case 0xF1:
    case 0xF2:
    case 0xF3: break;
    case 0xF4:
      if (second > 0x8F) return false;
      break;
    default: return false; /* C0, C1, F5 and above */
    }
  }
  return true;
}

/* One bit a byte. */
struct masks {
  uint32_t stop;                /* the plain content of a string stops */
  uint32_t tails;               /* 80 to BF */
  uint32_t lead2, lead3, lead4; /* sequences of that many bytes, or of more, begin */
  uint32_t rare;                /* DEL, C0 to C2, E0, ED, F0 and above: see judge_rare */
};

static struct masks look_sse2(const char *block)
{
  scan_bytes16 v;
  memcpy(&v, block, sizeof v);
  struct masks m;
  uint32_t high = scan_mask16(v);
  m.stop = scan_mask16((v == '"') | (v == '\\') | (v < 0x20));
  m.tails = scan_mask16((scan_bytes16)((__v16qs)v < (signed char)0xC0));
  m.lead2 = high & ~m.tails;
  m.lead3 = scan_mask16(v >= 0xE0);
  m.lead4 = scan_mask16(v >= 0xF0);
  scan_bytes16 from_c0 = v - 0xC0;
  m.rare = scan_mask16((v == 0x7F) | (from_c0 < 3) | (v == 0xE0) | (v == 0xED)) | m.lead4;
  return m;
}

#  define SCAN_NAME pass_sse2
#  define SCAN_TARGET
#  define SCAN_WIDTH 16
#  define SCAN_LOOK look_sse2
#  include "schema/scan_wide.h"

/* What a byte is, by two tables for its two halves: it is what both allow. */
enum {
  IS_QUOTE = 1,
  IS_BACKSLASH = 2,
  IS_CONTROL = 4,
  IS_DEL = 8,
  IS_C0_TO_C2 = 16,
  IS_E0_OR_ED = 32,
  IS_FROM_F0 = 64,
  IS_TAIL = 128,
  IS_STOP = IS_QUOTE | IS_BACKSLASH | IS_CONTROL,
  IS_RARE = IS_DEL | IS_C0_TO_C2 | IS_E0_OR_ED | IS_FROM_F0,
  ANY_LOW = IS_CONTROL | IS_FROM_F0 | IS_TAIL,
};

#  define TWICE(...)                                                                               \
    {                                                                                              \
      __VA_ARGS__, __VA_ARGS__                                                                     \
    }

static const unsigned char low_half[32] = TWICE(
    ANY_LOW | IS_C0_TO_C2 | IS_E0_OR_ED, ANY_LOW | IS_C0_TO_C2, ANY_LOW | IS_C0_TO_C2 | IS_QUOTE,
    ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW, ANY_LOW,
    ANY_LOW | IS_BACKSLASH, ANY_LOW | IS_E0_OR_ED, ANY_LOW, ANY_LOW | IS_DEL);
static const unsigned char high_half[32] =
    TWICE(IS_CONTROL, IS_CONTROL, IS_QUOTE, 0, 0, IS_BACKSLASH, 0, IS_DEL, IS_TAIL, IS_TAIL,
          IS_TAIL, IS_TAIL, IS_C0_TO_C2, 0, IS_E0_OR_ED, IS_FROM_F0);

__attribute__((target("avx2"))) static inline struct masks look_avx2(const char *block)
{
  const __m256i half = _mm256_set1_epi8(0x0F), top = _mm256_set1_epi8(0x7F);
  __m256i v = _mm256_loadu_si256((const __m256i *)block);
  __m256i low =
      _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)low_half), _mm256_and_si256(v, half));
  __m256i high = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)high_half),
                                     _mm256_and_si256(_mm256_srli_epi16(v, 4), half));
  __m256i is = _mm256_and_si256(low, high);
  /* adding 7F carries any bit below the top into the top, which a mask is made of */
  __m256i stop = _mm256_adds_epu8(_mm256_and_si256(is, _mm256_set1_epi8(IS_STOP)), top);
  __m256i rare = _mm256_adds_epu8(_mm256_and_si256(is, _mm256_set1_epi8(IS_RARE)), top);
  struct masks m;
  m.stop = (uint32_t)_mm256_movemask_epi8(stop);
  m.rare = (uint32_t)_mm256_movemask_epi8(rare);
  m.tails = (uint32_t)_mm256_movemask_epi8(is);
  uint32_t not_ascii = (uint32_t)_mm256_movemask_epi8(v);
  /* signed: above DF are E0 to FF and ASCII */
  __m256i from_e0 = _mm256_cmpgt_epi8(v, _mm256_set1_epi8((char)0xDF));
  __m256i from_f0 = _mm256_cmpgt_epi8(v, _mm256_set1_epi8((char)0xEF));
  m.lead2 = not_ascii & ~m.tails;
  m.lead3 = not_ascii & (uint32_t)_mm256_movemask_epi8(from_e0);
  m.lead4 = not_ascii & (uint32_t)_mm256_movemask_epi8(from_f0);
  return m;
}

#  define SCAN_NAME pass_avx2
#  define SCAN_TARGET __attribute__((target("avx2")))
#  define SCAN_WIDTH 32
#  define SCAN_LOOK look_avx2
#  include "schema/scan_wide.h"

const char *scan_string_sse2(const char *p, const char *end, bool *controls)
{
  return pass_sse2(p, end, NULL, controls);
}

/* Over blocks of plain ASCII. */
__attribute__((target("avx2"))) static const char *skip_ascii(const char *p, const char *end)
{
  const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
  const __m256i space = _mm256_set1_epi8(0x20), del = _mm256_set1_epi8(0x7F);
  for (; end - p >= 64; p += 64) {
    __m256i a = _mm256_loadu_si256((const __m256i *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(p + 32));
    /* signed: what is not ASCII lies below space as well */
    __m256i low = _mm256_cmpgt_epi8(space, _mm256_min_epi8(a, b));
    __m256i quotes = _mm256_or_si256(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote));
    __m256i slashes =
        _mm256_or_si256(_mm256_cmpeq_epi8(a, backslash), _mm256_cmpeq_epi8(b, backslash));
    __m256i dels = _mm256_cmpeq_epi8(_mm256_max_epi8(a, b), del);
    __m256i any = _mm256_or_si256(_mm256_or_si256(low, quotes), _mm256_or_si256(slashes, dels));
    if (_mm256_movemask_epi8(any)) break;
  }
  return p;
}

__attribute__((target("avx2"))) const char *scan_string_avx2(const char *p, const char *end,
                                                             bool *controls)
{
  if (end - p >= LONG_TEXT) p = skip_ascii(p, end);
  return pass_avx2(p, end, NULL, controls);
}

const char *scan_string_best(const char *p, const char *end, bool *controls)
{
  return __builtin_cpu_supports("avx2") ? scan_string_avx2(p, end, controls)
                                        : scan_string_sse2(p, end, controls);
}

__attribute__((target("avx2"))) static const char *copy_avx2(const char *p, const char *end,
                                                             char *out, bool *controls)
{
  return pass_avx2(p, end, out, controls);
}

/* Passes over plain content like scan_string and copies it to out, which has COPY_SLACK bytes more
 * than that needs. */
static const char *copy_string(const char *p, const char *end, char *out, bool *controls)
{
  return __builtin_cpu_supports("avx2") ? copy_avx2(p, end, out, controls)
                                        : pass_sse2(p, end, out, controls);
}

#else

const char *scan_string_best(const char *p, const char *end, bool *controls)
{
  return scan_string_portable(p, end, controls);
}

static const char *copy_string(const char *p, const char *end, char *out, bool *controls)
{
  const char *behind = scan_string_portable(p, end, controls);
  memcpy(out, p, (size_t)(behind - p));
  return behind;
}

#endif

/* ---- printed ---- */

/* The letter behind the backslash of each byte that has to be escaped. */
static const char letters[256] = {
  ['"'] = '"',  ['\\'] = '\\', [0x08] = 'b', ['\t'] = 't', ['\n'] = 'n', [0x0B] = 'u', [0x0C] = 'f',
  ['\r'] = 'r', [0x00] = 'u',  [0x01] = 'u', [0x02] = 'u', [0x03] = 'u', [0x04] = 'u', [0x05] = 'u',
  [0x06] = 'u', [0x07] = 'u',  [0x0E] = 'u', [0x0F] = 'u', [0x10] = 'u', [0x11] = 'u', [0x12] = 'u',
  [0x13] = 'u', [0x14] = 'u',  [0x15] = 'u', [0x16] = 'u', [0x17] = 'u', [0x18] = 'u', [0x19] = 'u',
  [0x1A] = 'u', [0x1B] = 'u',  [0x1C] = 'u', [0x1D] = 'u', [0x1E] = 'u', [0x1F] = 'u',
};

/* Prints the byte at p, which has to be escaped. False: there is no room to spare. */
static inline bool print_escape(struct scan_print *to, unsigned char c)
{
  enum { SHORT = 2, UNIT = 6 };
  static const char digits[] = "0123456789abcdef";
  char letter = letters[c];
  size_t n = SCAN_USUAL(letter != 'u') ? SHORT : UNIT;
  if (!SCAN_USUAL(to->spare >= n - 1)) return false;
  to->out[0] = '\\';
  to->out[1] = letter;
  if (n == UNIT) {
    to->out[2] = to->out[3] = '0';
    to->out[4] = digits[c >> 4];
    to->out[5] = digits[c & 0xF];
  }
  to->out += n;
  to->spare -= n - 1;
  return true;
}

/* Whether one of eight bytes is a stop. */
static bool has_stop(uint64_t eight)
{
  const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
  uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
  return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
          ((eight - ones * 0x20) & ~eight)) &
         tops;
}

const char *scan_print_portable(const char *p, const char *end, struct scan_print *to)
{
  const char *begin = p;
  while (p < end) {
    uint64_t eight;
    if (end - p >= 8 && (memcpy(&eight, p, 8), !has_stop(eight))) {
      memcpy(to->out, &eight, 8);
      to->out += 8;
      p += 8;
    } else if (!is_stop((unsigned char)*p)) {
      *to->out++ = *p++;
    } else if (print_escape(to, (unsigned char)*p)) {
      p++;
    } else {
      break;
    }
  }
  to->chars += span_chars((struct span) { begin, (size_t)(p - begin) });
  return p;
}

#ifdef SCHEMA_SSE2

const char *scan_print_sse2(const char *p, const char *end, struct scan_print *to)
{
  enum { WIDTH = 16 };
  const char *begin = p;
  while (end - p >= WIDTH) {
    scan_bytes16 v;
    memcpy(&v, p, sizeof v);
    memcpy(to->out, &v, sizeof v);
    uint32_t stop = scan_mask16((v == '"') | (v == '\\') | (v < 0x20));
    size_t n = stop ? (size_t)__builtin_ctz(stop) : WIDTH;
    p += n;
    to->out += n;
    if (!stop) continue;
    if (!print_escape(to, (unsigned char)*p)) break;
    p++;
  }
  to->chars += span_chars((struct span) { begin, (size_t)(p - begin) });
  return end - p < WIDTH ? scan_print_portable(p, end, to) : p;
}

struct looked {
  uint32_t stops,
      inner; /* bytes to be escaped, and bytes that begin no character: a bit for each */
};

__attribute__((target("avx2"))) static inline struct looked look_to_print(__m256i v)
{
  __m256i marks = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')),
                                  _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')));
  __m256i controls = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
  return (struct looked) {
    (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(marks, controls)),
    (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(_mm256_set1_epi8((char)0xC0), v)),
  };
}

/* The last bytes are read and written together with those before them, which stay in out as they are:
 * to look at them one by one, or by their number, would be mispredicted at the end of most texts. */
__attribute__((target("avx2"))) const char *scan_print_avx2(const char *p, const char *end,
                                                            struct scan_print *to)
{
  enum { WIDTH = 32 };
  static const char masks[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                              "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                              "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
  if (end - p < WIDTH) return scan_print_sse2(p, end, to);
  const char *begin = p;
  size_t inner = 0;
  while (p < end) {
    size_t left = (size_t)(end - p), seen = SCAN_USUAL(left >= WIDTH) ? 0 : WIDTH - left;
    __m256i v = _mm256_loadu_si256((const __m256i *)(p - seen)), copy = v;
    __m256i *out = (__m256i *)(to->out - seen);
    if (!SCAN_USUAL(seen == 0))
      copy = _mm256_blendv_epi8(_mm256_loadu_si256(out), v,
                                _mm256_loadu_si256((const __m256i *)(masks + WIDTH - seen)));
    _mm256_storeu_si256(out, copy);
    struct looked is = look_to_print(v);
    uint32_t stops = is.stops >> seen, tails = is.inner >> seen;
    size_t n = stops ? (size_t)__builtin_ctz(stops) : WIDTH - seen;
    inner += (size_t)__builtin_popcount(stops ? tails & ((stops & -stops) - 1) : tails);
    p += n;
    to->out += n;
    if (SCAN_USUAL(!stops)) continue;
    if (!print_escape(to, (unsigned char)*p)) break;
    p++;
  }
  to->chars += (size_t)(p - begin) - inner;
  return p;
}

const char *scan_print(const char *p, const char *end, struct scan_print *to)
{
  return __builtin_cpu_supports("avx2") ? scan_print_avx2(p, end, to) : scan_print_sse2(p, end, to);
}

#else

const char *scan_print(const char *p, const char *end, struct scan_print *to)
{
  return scan_print_portable(p, end, to);
}

#endif

const char *scan_more_space(const char *p, const char *end)
{
  while (p < end && scan_is_space(*p)) {
    p++;
    while (end - p >= 8) { /* indentation */
      uint64_t other = load(p, 8) ^ 0x2020202020202020;
      p += other ? __builtin_ctzll(other) / 8 : 8;
      if (other) break;
    }
  }
  return p;
}

/* ---- escapes ---- */

/* The code unit of the four digits at p, or negative. The four at once and without branches, since
 * digits are not to be foreseen; texts in which every character is escaped are common enough. */
static inline int32_t hex4(const char *p)
{
  const uint32_t ones = 0x01010101, tops = 0x80808080;
  const unsigned char *u = (const unsigned char *)p;
  uint32_t four = (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
  /* bytes of 7 bits, so that no sum carries over: a top bit says more than 9, more than 6, not 0 */
  uint32_t digit = (four ^ ones * '0') & ~tops,
           letter = ((four | ones * 0x20) ^ ones * 0x60) & ~tops;
  uint32_t no_digit = digit + ones * (0x7F - 9);
  uint32_t no_letter = (letter + ones * (0x7F - 6)) | ~(letter + ones * 0x7F);
  if (((no_digit & no_letter) | four) & tops) return -1;
  uint32_t value = (four & ones * 0x0F) + (four >> 6 & ones) * 9;
  value = (value | value >> 4) & 0x00FF00FF;
  return (int32_t)((value | value >> 8) & 0xFFFF);
}

/* What the escape of a letter means, 0: there is none. A table, for the jumps of a switch are
 * mispredicted. */
static const unsigned char meanings[256] = {
  ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static inline const char *read_escape(const char *p, const char *end, uint32_t *ret)
{
  enum { SHORT = 2, UNIT = 6, PAIR = 12 };
  if (end - p < SHORT) return NULL;
  if (p[1] != 'u') {
    *ret = meanings[(unsigned char)p[1]];
    return *ret ? p + SHORT : NULL;
  }
  int32_t unit = end - p >= UNIT ? hex4(p + 2) : -1, low;
  if (unit < 0) return NULL;
  *ret = (uint32_t)unit;
  if (unit < 0xD800 || unit > 0xDFFF) return p + UNIT;
  if (unit > 0xDBFF || end - p < PAIR || p[UNIT] != '\\' || p[UNIT + 1] != 'u') return NULL;
  low = hex4(p + UNIT + 2);
  if (low < 0xDC00 || low > 0xDFFF) return NULL;
  *ret = 0x10000 + (((uint32_t)unit - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
  return p + PAIR;
}

const char *scan_escape(const char *p, const char *end, uint32_t *ret)
{
  return read_escape(p, end, ret);
}

/* The first quote or backslash from p on, or end. */
static const char *skip_to_mark(const char *p, const char *end)
{
#ifdef SCHEMA_SSE2
  for (; end - p >= 16; p += 16) {
    scan_bytes16 v;
    memcpy(&v, p, sizeof v);
    uint32_t mark = scan_mask16((v == '"') | (v == '\\'));
    if (mark) return p + __builtin_ctz(mark);
  }
#endif
  while (p < end && *p != '"' && *p != '\\') p++;
  return p;
}

/* The quote that ends the string whose content goes on at p, or NULL. Judges nothing. */
static const char *find_quote(const char *p, const char *end)
{
  while ((p = skip_to_mark(p, end)) < end) {
    if (*p == '"') return p;
    if (end - p < 2) break;
    p += 2;
  }
  return NULL;
}

/* Whether it is a control character that people never see. */
static bool is_control(uint32_t c)
{
  return ((c < 0x20) & (c != '\t') & (c != '\n')) | (c - 0x7F < 0xA0 - 0x7F);
}

/* utf8_encode in line, for what scan_escape gives. */
static inline size_t encode(uint32_t code_point, char *out)
{
  if (code_point < 0x80) {
    out[0] = (char)code_point;
    return 1;
  }
  if (code_point < 0x800 || code_point > 0xFFFF) return utf8_encode(code_point, out);
  out[0] = (char)(0xE0 | code_point >> 12);
  out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
  out[2] = (char)(0x80 | (code_point & 0x3F));
  return 3;
}

const char *scan_decode(const char *begin, const char *p, const char *end, struct arena *arena,
                        struct span *ret, bool *controls)
{
  /* What is decoded is never longer than its source, so the rest of the text is a bound; what is
   * left of it goes back, to be the bound of the next string. Only where the arena may not have as
   * much is the end of the string looked for first, which takes as long as decoding it. */
  size_t most = (size_t)(end - begin) + COPY_SLACK;
  if (!arena_reserve(arena, most)) {
    const char *quote = find_quote(p, end);
    if (!quote) return NULL;
    most = (size_t)(quote - begin) + COPY_SLACK;
  }
  bool cut = false; /* *controls, in a register */
  char *decoded = arena_alloc(arena, most), *out = decoded;
  if (!decoded) return NULL;
  memcpy(out, begin, (size_t)(p - begin));
  out += p - begin;
  while (p < end && *p == '\\') {
    uint32_t code_point;
    p = read_escape(p, end, &code_point);
    if (!p) return NULL;
    cut |= is_control(code_point);
    out += encode(code_point, out);
    if (p < end && *p == '\\') continue; /* escapes often come in a row */
    const char *plain = p;
    p = copy_string(p, end, out, controls);
    out += p - plain;
  }
  if (p >= end || *p != '"') return NULL;
  *controls |= cut;
  *ret = (struct span) { decoded, (size_t)(out - decoded) };
  arena_trim(arena, decoded, most, ret->len);
  return p + 1;
}
