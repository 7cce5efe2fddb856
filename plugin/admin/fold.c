#include "plugin/admin/fold.h"

char rg_fold_first(struct span s, size_t *retlen)
{
  const unsigned char *p = (const unsigned char *)s.ptr;
  unsigned c = p[0];
  *retlen = 1;
  if (c >= 0x80) {
    *retlen = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (*retlen > s.len) *retlen = s.len;
    if (*retlen != 3) return 0;
    unsigned wide = (c & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    if (wide == 0x3000) return ' ';
    if (wide < 0xff01 || wide > 0xff5e) return 0;
    c = wide - 0xff01 + '!';
  }
  if (c >= 'A' && c <= 'Z') c = c - 'A' + 'a';
  return (char)c;
}

struct span rg_fold(struct span text, struct arena *arena)
{
  char *out = arena_alloc(arena, text.len + 1);
  if (!out) return (struct span) { NULL, 0 };
  size_t n = 0, length;
  for (size_t i = 0; i < text.len; i += length) {
    char c = rg_fold_first((struct span) { text.ptr + i, text.len - i }, &length);
    if (c || (length == 1 && text.ptr[i] == 0)) {
      out[n++] = c;
    } else {
      memcpy(out + n, text.ptr + i, length);
      n += length;
    }
  }
  out[n] = 0;
  return (struct span) { out, n };
}

struct span rg_fold_trim(struct span s)
{
  struct span before;
  do {
    before = s;
    s = span_trim(s);
    while (span_starts(s, SPAN("\u3000"))) {
      s.ptr += 3;
      s.len -= 3;
    }
    while (span_ends(s, SPAN("\u3000"))) s.len -= 3;
  } while (s.len != before.len);
  return s;
}
