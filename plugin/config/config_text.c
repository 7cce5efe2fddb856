#include "plugin/config/config_text.h"

static const char not_utf8[] = "not UTF-8: save the file with the encoding UTF-8";

/* Decodes the character at s of well-formed UTF-8. */
static uint32_t decode(struct span s, size_t *length)
{
  const unsigned char *p = (const unsigned char *)s.ptr;
  if (p[0] < 0x80) {
    *length = 1;
    return p[0];
  }
  if (p[0] < 0xe0) {
    *length = 2;
    return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
  }
  if (p[0] < 0xf0) {
    *length = 3;
    return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
  }
  *length = 4;
  return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

/* What is wrong with a character, or NULL. */
static const char *refused(uint32_t c)
{
  if (c == '\t' || c == '\n' || c == '\r') return NULL;
  if (c == 0) return "a NUL character: is this a text file?";
  if (c < 0x20 || c == 0x7f) return "a control character: delete it";
  if (c < 0x7f || (c > 0x9f && c < 0x2028)) return NULL;
  if (c == 0x85 || c == 0x2028 || c == 0x2029)
    return "an invisible line end (U+0085, U+2028 or U+2029): write an ordinary line end";
  if (c < 0xa0) return "a control character: delete it";
  if (c == 0xfeff) return "an invisible character (U+FEFF): delete it";
  if (c == 0xfffe || c == 0xffff) return "a code point that is no character: delete it";
  return NULL;
}

bool rg_text_check(struct span text, rg_text_fault_fn *fault, void *ctx, struct span *rettext)
{
  struct rg_text_place place = { 1, 1 };
  if (span_starts(text, SPAN("\xff\xfe")) || span_starts(text, SPAN("\xfe\xff"))) {
    fault(ctx, place, "UTF-16: save the file with the encoding UTF-8");
    return false;
  }
  if (span_starts(text, SPAN("\xef\xbb\xbf"))) {
    text.ptr += 3;
    text.len -= 3;
  }
  *rettext = text;
  size_t good = span_utf8_fault(text); /* what lies before this byte is well-formed */
  size_t faulty_line = 0;
  bool fine = true;
  for (size_t i = 0; i < text.len;) {
    struct span rest = { text.ptr + i, text.len - i };
    size_t length = 1;
    uint32_t c = 0;
    const char *what = not_utf8;
    if (i < good) {
      c = decode(rest, &length);
      what = refused(c);
    }
    if (what && faulty_line != place.line) fault(ctx, place, what);
    if (what) {
      faulty_line = place.line;
      fine = false;
    }
    i += length;
    if (i > good) good = i + span_utf8_fault((struct span) { text.ptr + i, text.len - i });
    place.column++;
    if (c == '\n' || (c == '\r' && !(i < text.len && text.ptr[i] == '\n'))) {
      place.line++;
      place.column = 1;
    }
  }
  return fine;
}
