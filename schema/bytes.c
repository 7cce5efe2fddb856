#include "schema/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool span_starts(struct span s, struct span prefix)
{
  return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

bool span_eq_nocase(struct span a, struct span b)
{
  if (a.len != b.len) return false;
  for (size_t i = 0; i < a.len; i++)
    if (lower(a.ptr[i]) != lower(b.ptr[i])) return false;
  return true;
}

struct span span_trim(struct span s)
{
  while (s.len > 0 && is_space(s.ptr[s.len - 1])) s.len--;
  while (s.len > 0 && is_space(*s.ptr)) s.ptr++, s.len--;
  return s;
}

/* The code points beyond ASCII that show nothing, ascending. */
static const struct {
  uint32_t first, last;
} blanks[] = {
  { 0xA0, 0xA0 },     { 0x1680, 0x1680 }, { 0x2000, 0x200B }, { 0x2028, 0x2029 },
  { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF },
};

static bool is_blank(uint32_t code_point)
{
  if (code_point < 0x80) return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0D);
  for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
    if (code_point >= blanks[i].first && code_point <= blanks[i].last) return true;
  return false;
}

/* The bytes that characters which show nothing begin with. */
static const unsigned char may_begin_blank[256] = {
  ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [' '] = 1,
  [0xC2] = 1, [0xE1] = 1, [0xE2] = 1, [0xE3] = 1, [0xEF] = 1,
};

/* The length of the character at p if it shows nothing, else 0. */
static size_t blank_length(const char *p, size_t left)
{
  uint32_t code_point;
  if (!may_begin_blank[(unsigned char)*p]) return 0;
  size_t n = utf8_decode(p, left, &code_point);
  return is_blank(code_point) ? n : 0;
}

bool span_is_blank(struct span utf8)
{
  return span_blank_run(utf8) == utf8.len;
}

size_t span_blank_run(struct span utf8)
{
  size_t i = 0;
  for (size_t n; i < utf8.len; i += n) {
    n = blank_length(utf8.ptr + i, utf8.len - i);
    if (n == 0) break;
  }
  return i;
}

size_t span_word_run(struct span utf8)
{
  size_t i = 0;
  while (i < utf8.len && blank_length(utf8.ptr + i, utf8.len - i) == 0) i++;
  return i;
}

size_t span_find(struct span s, struct span needle)
{
  if (needle.len == 0) return 0;
  if (s.len < needle.len) return s.len;
  const char *hit = memmem(s.ptr, s.len, needle.ptr, needle.len); /* linear in glibc (two-way) */
  return hit ? (size_t)(hit - s.ptr) : s.len;
}

/* 10xxxxxx: a byte that begins no character. */
static bool is_inner(char c)
{
  return ((unsigned char)c & 0xC0) == 0x80;
}

/* Bytes that are looked at together, in the compiler's own vectors. */
typedef unsigned char lanes __attribute__((vector_size(16)));
typedef signed char signed_lanes __attribute__((vector_size(16)));

/* The sum of the sixteen bytes, each at most 255. */
static size_t sum_of(lanes counts)
{
  const uint64_t pairs = 0x00FF00FF00FF00FF;
  uint64_t halves[2];
  memcpy(halves, &counts, sizeof halves);
  uint64_t fours = (halves[0] & pairs) + (halves[0] >> 8 & pairs) + (halves[1] & pairs) +
                   (halves[1] >> 8 & pairs);
  return fours * 0x0001000100010001 >> 48;
}

/* FF for each byte that begins no character: 10xxxxxx. */
static lanes inner_bytes(const char *p)
{
  signed_lanes v;
  memcpy(&v, p, sizeof v);
  return (lanes)(v < (signed char)0xC0);
}

size_t span_chars(struct span utf8)
{
  enum { WIDTH = sizeof(lanes), BLOCKS_MAX = 254 }; /* one more is counted in the same bytes */
  static const char masks[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                              "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
  size_t inner = 0;
  if (utf8.len < WIDTH) {
    for (size_t i = 0; i < utf8.len; i++) inner += is_inner(utf8.ptr[i]);
    return utf8.len - inner;
  }
  const char *p = utf8.ptr, *end = p + utf8.len;
  for (;;) {
    size_t blocks = (size_t)(end - p) / WIDTH;
    if (blocks > BLOCKS_MAX) blocks = BLOCKS_MAX;
    lanes counts = { 0 };
    for (; blocks; blocks--, p += WIDTH) counts -= inner_bytes(p);
    if (end - p >= WIDTH) {
      inner += sum_of(counts);
      continue;
    }
    lanes mask; /* the last block holds bytes that have been counted */
    memcpy(&mask, masks + (end - p), sizeof mask);
    return utf8.len - inner - sum_of(counts - (inner_bytes(end - WIDTH) & mask));
  }
}

size_t span_utf8_fault(struct span s)
{
  size_t i = 0;
  while (i < s.len) {
    unsigned lead = (unsigned char)s.ptr[i];
    if (lead < 0x80) {
      i++;
      continue;
    }
    size_t n = utf8_sequence(s.ptr + i, s.len - i);
    if (n == 0) return i;
    i += n;
  }
  return s.len;
}

size_t utf8_sequence(const char *p, size_t left)
{
  const unsigned char *u = (const unsigned char *)p;
  if (left == 0) return 0;
  if (u[0] < 0x80) return 1;
  if (u[0] < 0xC2 || u[0] > 0xF4) return 0;
  if (left < 2 || (u[1] & 0xC0) != 0x80) return 0;
  if (u[0] < 0xE0) return 2;
  if (left < 3 || (u[2] & 0xC0) != 0x80) return 0;
  if (u[0] < 0xF0) {
    bool overlong = u[0] == 0xE0 && u[1] < 0xA0;
    bool surrogate = u[0] == 0xED && u[1] > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (left < 4 || (u[3] & 0xC0) != 0x80) return 0;
  bool overlong = u[0] == 0xF0 && u[1] < 0x90;
  bool beyond = u[0] == 0xF4 && u[1] > 0x8F;
  return overlong || beyond ? 0 : 4;
}

size_t utf8_decode(const char *p, size_t left, uint32_t *ret)
{
  static const unsigned char lead_bits[5] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
  size_t n = utf8_sequence(p, left);
  if (n == 0) {
    *ret = 0xFFFD;
    return left ? 1 : 0;
  }
  uint32_t code_point = (unsigned char)p[0] & lead_bits[n];
  for (size_t i = 1; i < n; i++) code_point = code_point << 6 | ((unsigned char)p[i] & 0x3F);
  *ret = code_point;
  return n;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = 0xFFFD;
  if (code_point < 0x80) {
    out[0] = (char)code_point;
    return 1;
  }
  if (code_point < 0x800) {
    out[0] = (char)(0xC0 | code_point >> 6);
    out[1] = (char)(0x80 | (code_point & 0x3F));
    return 2;
  }
  if (code_point < 0x10000) {
    out[0] = (char)(0xE0 | code_point >> 12);
    out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code_point & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | code_point >> 18);
  out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
  out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
  out[3] = (char)(0x80 | (code_point & 0x3F));
  return 4;
}

/* ---- buf ---- */

enum { BUF_FIRST = 256 };

void buf_done(struct buf *b)
{
  if (b->ptr != b->lent) free(b->ptr);
  *b = (struct buf) { .max = b->max };
}

void buf_clear(struct buf *b)
{
  b->len = 0;
  b->failed = false;
  if (b->ptr && b->cap) b->ptr[0] = '\0';
}

bool buf_grow(struct buf *b, size_t n)
{
  if (b->failed) return false;
  if (n > b->max || b->len > b->max - n || b->len + n == SIZE_MAX) {
    b->failed = true;
    return false;
  }
  size_t need = b->len + n + 1, cap = b->cap ? b->cap : BUF_FIRST;
  while (cap < need && cap <= SIZE_MAX / 2) cap *= 2;
  if (cap < need) cap = need;
  if (cap - 1 > b->max) cap = b->max + 1;
  bool lent = b->lent && b->ptr == b->lent;
  char *grown = lent ? malloc(cap) : realloc(b->ptr, cap);
  if (grown && lent) memcpy(grown, b->ptr, b->len);
  if (!grown) {
    b->failed = true;
    return false;
  }
  b->ptr = grown;
  b->cap = cap;
  return true;
}

bool buf_add(struct buf *b, struct span s)
{
  if (!buf_reserve(b, s.len)) return false;
  if (s.len) memcpy(b->ptr + b->len, s.ptr, s.len);
  b->len += s.len;
  b->ptr[b->len] = '\0';
  return true;
}

bool buf_add_char(struct buf *b, char c)
{
  if (!b->failed && b->ptr && b->cap - b->len > 1) { /* the usual case, once for each bracket */
    b->ptr[b->len++] = c;
    b->ptr[b->len] = '\0';
    return true;
  }
  return buf_add(b, (struct span) { &c, 1 });
}

bool buf_add_utf8(struct buf *b, uint32_t code_point)
{
  char bytes[4];
  return buf_add(b, (struct span) { bytes, utf8_encode(code_point, bytes) });
}

bool buf_printf(struct buf *b, const char *format, ...)
{
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  if (n < 0) b->failed = true;
  if (n < 0 || !buf_reserve(b, (size_t)n)) return false;
  va_start(ap, format);
  vsnprintf(b->ptr + b->len, (size_t)n + 1, format, ap);
  va_end(ap);
  b->len += (size_t)n;
  return true;
}

char *buf_take(struct buf *b, size_t *len)
{
  char *ptr = b->ptr;
  *len = b->len;
  *b = (struct buf) { .max = b->max };
  return ptr;
}

/* ---- arena ---- */

struct arena_chunk {
  struct arena_chunk *older;
  size_t size; /* of bytes */
  max_align_t bytes[];
};

enum {
  ARENA_ALIGN = _Alignof(max_align_t),
  ARENA_FIRST = 8 * 1024,     /* a usual reply fits */
  ARENA_LARGEST = 512 * 1024, /* chunks double up to here, so that little is left unused */
};

void arena_init(struct arena *a, size_t max)
{
  *a = (struct arena) { .max = max };
}

static void free_chunks(struct arena_chunk *chunk)
{
  while (chunk) {
    struct arena_chunk *older = chunk->older;
    free(chunk);
    chunk = older;
  }
}

void arena_done(struct arena *a)
{
  free_chunks(a->chunks);
  *a = (struct arena) { .max = a->max };
}

void arena_reset(struct arena *a)
{
  struct arena_chunk *keep = a->chunks;
  if (keep && keep->size > ARENA_LARGEST) { /* one huge piece must not stay with its user */
    free_chunks(keep);
    keep = NULL;
  }
  if (keep) {
    free_chunks(keep->older);
    keep->older = NULL;
  }
  a->chunks = keep;
  a->at = keep ? (char *)keep->bytes : NULL;
  a->end = keep ? a->at + keep->size : NULL;
  a->used = 0;
  a->failed = false;
}

static size_t next_size(const struct arena *a)
{
  if (!a->chunks) return ARENA_FIRST;
  return a->chunks->size < ARENA_LARGEST / 2 ? a->chunks->size * 2 : ARENA_LARGEST;
}

static struct arena_chunk *new_chunk(size_t size)
{
  if (size > SIZE_MAX - sizeof(struct arena_chunk)) return NULL;
  struct arena_chunk *chunk = malloc(sizeof *chunk + size);
  if (!chunk) return NULL;
  chunk->older = NULL;
  chunk->size = size;
  return chunk;
}

/* Makes a chunk of at least n bytes the current one; the rest of the one before is given up. */
static bool begin_chunk(struct arena *a, size_t n)
{
  size_t size = next_size(a);
  struct arena_chunk *chunk = new_chunk(n > size ? n : size);
  if (!chunk) return false;
  chunk->older = a->chunks;
  a->chunks = chunk;
  a->at = (char *)chunk->bytes;
  a->end = a->at + chunk->size;
  return true;
}

/* A large piece gets a chunk of its own behind the current one, whose rest stays in use. */
static void *alloc_alone(struct arena *a, size_t n)
{
  struct arena_chunk *chunk = new_chunk(n);
  if (!chunk) return NULL;
  chunk->older = a->chunks->older;
  a->chunks->older = chunk;
  return chunk->bytes;
}

static size_t rounded_up(size_t n)
{
  return n ? (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : ARENA_ALIGN;
}

void *arena_alloc(struct arena *a, size_t n)
{
  size_t rounded = rounded_up(n);
  if (a->failed || rounded < n || rounded > a->max - a->used) {
    a->failed = true;
    return NULL;
  }
  void *piece = a->at;
  if ((size_t)(a->end - a->at) >= rounded) {
    a->at += rounded;
  } else if (a->chunks && rounded > next_size(a) / 2) {
    piece = alloc_alone(a, rounded);
  } else if (begin_chunk(a, rounded)) {
    piece = a->at;
    a->at += rounded;
  } else {
    piece = NULL;
  }
  a->failed = !piece;
  if (piece) a->used += rounded;
  return piece;
}

bool arena_reserve(struct arena *a, size_t n)
{
  size_t rounded = rounded_up(n);
  if (a->failed || rounded < n || rounded > a->max - a->used) return false;
  return (size_t)(a->end - a->at) >= rounded || begin_chunk(a, rounded);
}

bool arena_trim(struct arena *a, void *piece, size_t n, size_t used)
{
  char *begin = piece;
  if (begin + rounded_up(n) != a->at) return false; /* or it has a chunk of its own */
  a->at = begin + rounded_up(used);
  a->used -= rounded_up(n) - rounded_up(used);
  return true;
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
  if (size && count > SIZE_MAX / size) {
    a->failed = true;
    return NULL;
  }
  void *piece = arena_alloc(a, count * size);
  if (piece) memset(piece, 0, count * size);
  return piece;
}

struct span arena_copy(struct arena *a, struct span s)
{
  char *copy = s.len < SIZE_MAX ? arena_alloc(a, s.len + 1) : NULL;
  if (!copy) return (struct span) { NULL, 0 };
  if (s.len) memcpy(copy, s.ptr, s.len);
  copy[s.len] = '\0';
  return (struct span) { copy, s.len };
}

struct span arena_join(struct arena *a, const struct span *parts, size_t count)
{
  size_t len = 0;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].len > SIZE_MAX - 1 - len) {
      a->failed = true;
      return (struct span) { NULL, 0 };
    }
    len += parts[i].len;
  }
  char *text = arena_alloc(a, len + 1);
  if (!text) return (struct span) { NULL, 0 };
  char *at = text;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].len) memcpy(at, parts[i].ptr, parts[i].len);
    at += parts[i].len;
  }
  *at = '\0';
  return (struct span) { text, len };
}

struct span arena_printf(struct arena *a, const char *format, ...)
{
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  char *text = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
  if (!text) return (struct span) { NULL, 0 };
  va_start(ap, format);
  vsnprintf(text, (size_t)n + 1, format, ap);
  va_end(ap);
  return (struct span) { text, (size_t)n };
}
