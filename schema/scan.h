/* scan: how the bytes of a JSON text are passed over: white space, and the content of strings with
 * their UTF-8 checked and their escapes decoded, and how they are printed. By 32 or 16 bytes at a time where the machine has
 * AVX2 or SSE2, else by 8; define SCHEMA_PORTABLE for the last alone. All give the same, which a
 * test holds them to. Private to what reads and prints. */
#ifndef SCHEMA_SCAN_H
#define SCHEMA_SCAN_H

#include "schema/bytes.h"

#if defined(__SSE2__) && !defined(SCHEMA_PORTABLE)
#  include <immintrin.h>
#  define SCHEMA_SSE2 1

typedef unsigned char scan_bytes16 __attribute__((vector_size(16)));

static inline uint32_t scan_mask16(scan_bytes16 bytes)
{
  return (uint32_t)_mm_movemask_epi8((__m128i)bytes);
}
#endif

/* Keeps what a reply usually is on the straight way through the code. */
#define SCAN_USUAL(condition) __builtin_expect(!!(condition), 1)

/* The ways to do scan_string, below; those of SSE2 and AVX2 exist where SCHEMA_SSE2 is defined. */
const char *scan_string_portable(const char *p, const char *end, bool *controls);
const char *scan_string_sse2(const char *p, const char *end, bool *controls);
const char *scan_string_avx2(const char *p, const char *end, bool *controls);
/* The best of them on this machine. */
const char *scan_string_best(const char *p, const char *end, bool *controls);

/* The first byte from p on, where a character begins, that is no plain content of a string: a
 * quote, a backslash, a byte below 0x20, or one that begins no UTF-8 sequence; or end. *controls is
 * set where DEL or one of U+0080 to U+009F is passed over. */
static inline const char *scan_string(const char *p, const char *end, bool *controls)
{
#ifdef SCHEMA_SSE2
  /* most strings are keys and names that end within one block */
  if (end - p >= 16) {
    scan_bytes16 v;
    memcpy(&v, p, sizeof v);
    uint32_t stop = scan_mask16((v == '"') | (v == '\\') | (v < 0x20));
    uint32_t odd = scan_mask16(v >= 0x7F);
    if (stop && !(odd & (stop - 1) & ~stop)) return p + __builtin_ctz(stop);
  }
#endif
  return scan_string_best(p, end, controls);
}

/* Decodes the string whose content began at begin and whose first escape is at p. Returns the byte
 * behind its quote, or NULL: it has a fault or the arena is full. *controls is set as above, and
 * where an escape makes a control character but tab and newline. */
const char *scan_decode(const char *begin, const char *p, const char *end, struct arena *arena,
                        struct span *ret, bool *controls);
/* Reads the escape whose backslash is at p. Returns the byte behind it; NULL where it has a fault,
 * is cut off, or is half of a surrogate pair. */
const char *scan_escape(const char *p, const char *end, uint32_t *ret);

enum { SCAN_PRINT_SLACK = 32 }; /* what scan_print may write behind its text: the rest of a block */

/* Where a text is printed to. out has room for what is left of the text as it is, for spare bytes
 * more that escapes may take, and for SCAN_PRINT_SLACK. */
struct scan_print {
  char *out; /* behind what is printed */
  size_t spare;
  size_t chars; /* grows by the characters that are printed */
};

/* Prints a text up to end as the content of a JSON string. Returns end, or the first byte whose
 * escape takes more than is to spare. */
const char *scan_print(const char *p, const char *end, struct scan_print *to);
/* The ways to do it. The portable one needs no slack. */
const char *scan_print_portable(const char *p, const char *end, struct scan_print *to);
const char *scan_print_sse2(const char *p, const char *end, struct scan_print *to);
const char *scan_print_avx2(const char *p, const char *end, struct scan_print *to);

static inline bool scan_is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Goes on behind the white space at p and before it. */
const char *scan_more_space(const char *p, const char *end);

/* The first byte from p on that is no white space, or end. Most often there is none or one space,
 * else a line break and an indentation. */
static inline const char *scan_space(const char *p, const char *end)
{
  if (SCAN_USUAL(p < end) && *p == ' ') p++;
  return SCAN_USUAL(p >= end || (unsigned char)*p > ' ') ? p : scan_more_space(p, end);
}

/* Whether n bytes are the same; without a call for as many as keys and names have. */
static inline bool scan_same(const char *a, const char *b, size_t n)
{
  if (n > 16) return memcmp(a, b, n) == 0;
  if (n > 8) {
    uint64_t x[2], y[2];
    memcpy(&x[0], a, 8), memcpy(&x[1], a + n - 8, 8);
    memcpy(&y[0], b, 8), memcpy(&y[1], b + n - 8, 8);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  if (n >= 4) {
    uint32_t x[2], y[2];
    memcpy(&x[0], a, 4), memcpy(&x[1], a + n - 4, 4);
    memcpy(&y[0], b, 4), memcpy(&y[1], b + n - 4, 4);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  while (n > 0 && *a == *b) a++, b++, n--;
  return n == 0;
}

#endif
