/* scan: how the bytes of a JSON text are passed over: white space, and the content of strings with
 * its UTF-8 checked on the way. With SSE2 sixteen bytes at a time, else eight; define
 * SCHEMA_PORTABLE to do without SSE2. Both give the same, which a test holds them to.
 * Private to json.c and reply.c, in a header because calls cost as much as a short string. */
#ifndef SCHEMA_SCAN_H
#define SCHEMA_SCAN_H

#include "schema/bytes.h"

#if defined(__SSE2__) && !defined(SCHEMA_PORTABLE)
#  include <immintrin.h>
#  define SCHEMA_SSE2 1
#endif

static inline bool scan_is_stop(unsigned char c)
{
  return c < 0x20 || c == '"' || c == '\\';
}

/* Goes on character by character from p, a character's begin, up to a stop, a fault or at least
 * limit. */
static inline const char *scan_slowly(const char *p, const char *end, const char *limit,
                                      bool *controls)
{
  while (p < limit) {
    unsigned char c = (unsigned char)*p;
    if (scan_is_stop(c)) break;
    size_t n = c < 0x80 ? 1 : utf8_sequence(p, (size_t)(end - p));
    if (n == 0) break;
    if (c == 0x7F || (c == 0xC2 && (unsigned char)p[1] < 0xA0)) *controls = true;
    p += n;
  }
  return p;
}

/* A mask with the top bit of each byte of eight that is a stop, DEL or not ASCII. */
static inline uint64_t scan_odd_bytes(uint64_t eight)
{
  const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
  uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\', del = eight ^ ones * 0x7F;
  /* x - ones borrows into the top bit of a byte that was 0; from a borrow upwards the mask may
   * be wrong, but only above a byte that is odd itself */
  return ((quote - ones) | (backslash - ones) | (del - ones) | (eight - ones * 0x20) | eight) &
         tops;
}

static inline const char *scan_string_portable(const char *p, const char *end, bool *controls)
{
  for (;;) {
    while (end - p >= 8) {
      uint64_t eight;
      memcpy(&eight, p, 8);
      if (scan_odd_bytes(eight)) break;
      p += 8;
    }
    /* most of what is not ASCII here are characters of three bytes */
    while (end - p >= 4) {
      uint32_t four;
      memcpy(&four, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      four = __builtin_bswap32(four);
#endif
      unsigned lead = four & 0xFF;
      if ((four & 0xC0C0F0) != 0x8080E0 || lead == 0xE0 || lead == 0xED) break;
      p += 3;
    }
    const char *limit = end - p > 8 ? p + 8 : end, *behind = p;
    while (behind < limit && (unsigned char)*behind < 0x7F && !scan_is_stop((unsigned char)*behind))
      behind++;
    if (behind == p) behind = scan_slowly(p, end, p + 1, controls);
    if (behind == p) return p;
    p = behind;
  }
}

#ifdef SCHEMA_SSE2

/* Whether the rare bytes at the bits of mask begin what they may; DEL and C1 set *controls. */
static inline bool scan_judge_rare(const char *block, const char *end, uint32_t mask,
                                   bool *controls)
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

#  define SCAN_NAME scan_string_sse2
#  define SCAN_TARGET
#  define SCAN_WIDTH 16
#  define SCAN_BYTES scan_bytes16
#  define SCAN_SIGNED scan_signed16
#  define SCAN_MASK(bytes) (uint32_t) _mm_movemask_epi8((__m128i)(bytes))
#  include "schema/scan_wide.h"

#  define SCAN_NAME scan_string_avx2
#  define SCAN_TARGET __attribute__((target("avx2")))
#  define SCAN_WIDTH 32
#  define SCAN_BYTES scan_bytes32
#  define SCAN_SIGNED scan_signed32
#  define SCAN_MASK(bytes) (uint32_t) _mm256_movemask_epi8((__m256i)(bytes))
#  include "schema/scan_wide.h"

static inline uint32_t scan_mask16(scan_bytes16 bytes)
{
  return (uint32_t)_mm_movemask_epi8((__m128i)bytes);
}

/* Most strings are keys and names that end within one block. */
static inline const char *scan_string(const char *p, const char *end, bool *controls)
{
  if (end - p >= 16) {
    scan_bytes16 v;
    memcpy(&v, p, sizeof v);
    uint32_t stop = scan_mask16((v == '"') | (v == '\\') | (v < 0x20));
    uint32_t odd = scan_mask16(v >= 0x7F);
    if (stop && !(odd & (stop - 1) & ~stop)) return p + __builtin_ctz(stop);
  }
  return __builtin_cpu_supports("avx2") ? scan_string_avx2(p, end, controls)
                                        : scan_string_sse2(p, end, controls);
}
#else
#  define scan_string scan_string_portable
#endif

/* The first byte from p on that is no white space, or end. */
static inline const char *scan_space(const char *p, const char *end)
{
  for (; p < end && (unsigned char)*p <= ' '; p++)
    if (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t') break;
  return p;
}

/* The first quote or backslash from p on, or end. */
static inline const char *scan_quote(const char *p, const char *end)
{
#ifdef SCHEMA_SSE2
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
    unsigned mask = (unsigned)_mm_movemask_epi8(hit);
    if (mask) return p + __builtin_ctz(mask);
  }
#endif
  while (p < end && *p != '"' && *p != '\\') p++;
  return p;
}

#endif
