/* scan_wide: strings SCAN_WIDTH bytes at a time. scan.c includes this once for each width, with
 * what depends on it: SCAN_LOOK(block) gives the struct masks of a block. */

/* Passes over plain content. Where out is given the blocks are copied to it, the last one whole.
 * UTF-8 is judged by masks of one bit a byte: continuation bytes must stand exactly where the leads
 * want them. What this does not decide hangs on bytes that are rare and looked at one by one. There
 * is no branch on whether a block is ASCII: in mixed text it would be mispredicted too often. */
static inline SCAN_TARGET const char *SCAN_NAME(const char *begin, const char *end, char *out,
                                                bool *controls)
{
  const uint32_t all = SCAN_WIDTH == 32 ? UINT32_MAX : (1u << SCAN_WIDTH % 32) - 1;
  uint32_t owed = 0; /* continuations that the block before wants at the begin of this one */
  char tail[SCAN_WIDTH];
  for (const char *p = begin;; p += SCAN_WIDTH) {
    const char *block = p;
    if (end - p < SCAN_WIDTH) { /* behind the end stand controls, which stop */
      memset(tail, 0, sizeof tail);
      memcpy(tail, p, (size_t)(end - p));
      block = tail;
    }
    if (out) memcpy(out + (p - begin), block, SCAN_WIDTH);
    struct masks m = SCAN_LOOK(block);
    uint64_t wanted = (uint64_t)m.lead2 << 1 | (uint64_t)m.lead3 << 2 | owed;
    uint32_t before = m.stop ? (m.stop & -m.stop) - 1 : all; /* the bytes before the first stop */
    if (m.rare & before) {
      wanted |= (uint64_t)m.lead4 << 3;
      if (!judge_rare(p, end, m.rare & before, controls)) break;
    }
    /* at the stop nothing may be wanted either */
    if (((uint32_t)wanted ^ m.tails) & (before << 1 | 1) & all) break;
    if (m.stop) return p + __builtin_ctz(m.stop);
    owed = (uint32_t)(wanted >> SCAN_WIDTH);
  }
  return go_slowly(begin, end, end, controls);
}

#undef SCAN_NAME
#undef SCAN_TARGET
#undef SCAN_WIDTH
#undef SCAN_LOOK
