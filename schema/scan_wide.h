/* scan_wide: SCAN_WIDTH bytes of a string at a time, for scan.h, which includes this once for each
 * width that it has a name for. */

typedef unsigned char SCAN_BYTES __attribute__((vector_size(SCAN_WIDTH)));
typedef signed char SCAN_SIGNED __attribute__((vector_size(SCAN_WIDTH)));

/* UTF-8 by masks of one bit a byte: continuation bytes must stand exactly where the leads want
 * them. What this does not decide hangs on bytes that are rare and looked at one by one. There is no
 * branch on whether a block is ASCII: in mixed text it would be mispredicted too often. */
static SCAN_TARGET const char *SCAN_NAME(const char *begin, const char *end, bool *controls)
{
  const uint32_t all = SCAN_WIDTH == 32 ? UINT32_MAX : (1u << SCAN_WIDTH % 32) - 1;
  uint32_t owed = 0; /* continuations that the block before wants at the begin of this one */
  char tail[SCAN_WIDTH] = { 0 };
  for (const char *p = begin;; p += SCAN_WIDTH) {
    const char *block = p;
    if (end - p < SCAN_WIDTH) { /* behind the end stand controls, which stop */
      memcpy(tail, p, (size_t)(end - p));
      block = tail;
    }
    SCAN_BYTES v;
    memcpy(&v, block, sizeof v);
    uint32_t stop = SCAN_MASK((v == '"') | (v == '\\') | (v < 0x20));
    uint32_t high = SCAN_MASK(v), tails = SCAN_MASK((SCAN_SIGNED)v < (signed char)0xC0);
    uint32_t lead3 = SCAN_MASK(v >= 0xE0);
    /* DEL, and leads that alone do not say whether the sequence is well-formed and no control */
    SCAN_BYTES from_c0 = v - 0xC0;
    uint32_t rare =
        SCAN_MASK((v == 0x7F) | (from_c0 < 3) | (v == 0xE0) | (v == 0xED) | (v >= 0xF0));
    uint64_t wanted = (uint64_t)(high & ~tails) << 1 | (uint64_t)lead3 << 2 | owed;
    uint32_t before = stop ? (stop & -stop) - 1 : all; /* the bytes before the first stop */
    if (rare & before) {
      wanted |= (uint64_t)SCAN_MASK(v >= 0xF0) << 3;
      if (!scan_judge_rare(p, end, rare & before, controls)) break;
    }
    /* at the stop nothing may be wanted either */
    if (((uint32_t)wanted ^ tails) & (before << 1 | 1) & all) break;
    if (stop) return p + __builtin_ctz(stop);
    owed = (uint32_t)(wanted >> SCAN_WIDTH);
  }
  return scan_slowly(begin, end, end, controls);
}

#undef SCAN_NAME
#undef SCAN_TARGET
#undef SCAN_WIDTH
#undef SCAN_BYTES
#undef SCAN_SIGNED
#undef SCAN_MASK
