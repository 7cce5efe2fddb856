#include "onebot/face.h"

enum {
  EMOJI_FIRST = 1000, /* a code point below it would be taken for a face id by its length */
  VARIATION_SELECTOR = 0xFE0F,
};

const char *const ob_faces_handy[] = {
  "76",     "201",   "124",   "66",    "63",     "319",    "320",    "315",    "299",
  "297",    "282",   "318",   "99",    "118",    "147",    "179",    "182",    "264",
  "265",    "271",   "277",   "272",   "268",    "285",    "289",    "212",    "174",
  "173",    "5",     "9",     "14",    "4",      "21",     "32",     "39",     "49",
  "60",     "123",   "322",   "326",   "128077", "128076", "128079", "128170", "128293",
  "127881", "10024", "10060", "10068", "9749",   "128514", "128557", "128147",
};
const size_t ob_face_handy_count = sizeof ob_faces_handy / sizeof *ob_faces_handy;

/* Numbers as text, without leading zeros: the shorter is the smaller. */
static int compare_ids(struct span a, struct span b)
{
  if (a.len != b.len) return a.len < b.len ? -1 : 1;
  return memcmp(a.ptr, b.ptr, a.len);
}

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static int compare_names(struct span a, struct span b)
{
  for (size_t i = 0; i < a.len && i < b.len; i++) {
    int order = (unsigned char)lower(a.ptr[i]) - (unsigned char)lower(b.ptr[i]);
    if (order) return order;
  }
  return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

static const struct ob_face *by_id(struct span id)
{
  size_t low = 0, high = ob_face_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_ids(span_of(ob_faces[middle].id), id);
    if (order == 0) return &ob_faces[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* The first row of that name in the index, which is the proven one with the lowest number. */
static const struct ob_face *by_name(struct span name)
{
  size_t low = 0, high = ob_face_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_names(span_of(ob_faces[ob_faces_by_name[middle]].name), name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == ob_face_count) return NULL;
  const struct ob_face *face = &ob_faces[ob_faces_by_name[low]];
  return compare_names(span_of(face->name), name) == 0 ? face : NULL;
}

static const struct ob_face *by_emoji(struct span text)
{
  uint32_t emoji = 0;
  for (size_t i = 0; i < text.len;) {
    uint32_t code_point;
    i += utf8_decode(text.ptr + i, text.len - i, &code_point);
    if (code_point == VARIATION_SELECTOR) continue;
    if (emoji || code_point < EMOJI_FIRST) return NULL;
    emoji = code_point;
  }
  if (emoji == 0) return NULL;
  char digits[8];
  size_t at = sizeof digits;
  for (; emoji; emoji /= 10) digits[--at] = (char)('0' + emoji % 10);
  const struct ob_face *face = by_id((struct span) { digits + at, sizeof digits - at });
  return face && face->type == 2 ? face : NULL;
}

static bool is_decimal(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
  return s.len > 0;
}

const struct ob_face *ob_face_find(struct span value, bool unproven)
{
  value = span_trim(value);
  const struct ob_face *face;
  if (value.len == 0) return NULL;
  if (is_decimal(value)) {
    face = by_id(value);
    return face && (face->proven || unproven) ? face : NULL;
  }
  bool slash = span_starts(value, SPAN("/"));
  face = by_name((struct span) { value.ptr + slash, value.len - slash });
  if (face && (face->proven || unproven)) return face;
  face = by_emoji(value);
  return face && (face->proven || unproven) ? face : NULL;
}
