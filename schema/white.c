#include "schema/white.h"

static const struct {
  uint16_t first, last;
} wide[] = {
  { 0x00A0, 0x00A0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200A }, { 0x2028, 0x2029 },
  { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF },
};

size_t schema_white_at(struct span s, size_t at)
{
  if (at >= s.len) return 0;
  unsigned char c = (unsigned char)s.ptr[at];
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  uint32_t code_point;
  size_t n = utf8_decode(s.ptr + at, s.len - at, &code_point);
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (code_point >= wide[i].first && code_point <= wide[i].last) return n;
  return 0;
}

size_t schema_white_before(struct span s, size_t at)
{
  enum { LONGEST = 3 }; /* bytes of a white space character */
  for (size_t n = 1; n <= LONGEST && n <= at; n++) {
    if (((unsigned char)s.ptr[at - n] & 0xC0) == 0x80) continue;
    return schema_white_at((struct span) { s.ptr, at }, at - n) == n ? n : 0;
  }
  return 0;
}

size_t schema_white_skip(struct span s, size_t at)
{
  for (size_t n; (n = schema_white_at(s, at)) != 0;) at += n;
  return at;
}

size_t schema_white_back(struct span s, size_t at, size_t floor)
{
  for (size_t n; at > floor && (n = schema_white_before(s, at)) != 0;) at -= n;
  return at;
}

struct span schema_white_trim_end(struct span s)
{
  s.len = schema_white_back(s, s.len, 0);
  return s;
}

struct span schema_white_trim(struct span s)
{
  s = schema_white_trim_end(s);
  size_t skip = schema_white_skip(s, 0);
  return skip ? (struct span) { s.ptr + skip, s.len - skip } : s;
}

bool schema_white_in(struct span s, size_t at)
{
  for (; at < s.len; at++)
    if (schema_white_at(s, at)) return true;
  return false;
}

size_t schema_utf16_length(struct span utf8)
{
  size_t units = 0;
  for (size_t i = 0; i < utf8.len; i++) {
    unsigned char c = (unsigned char)utf8.ptr[i];
    units += (c & 0xC0) != 0x80;
    units += c >= 0xF0;
  }
  return units;
}
