/* bytes: the three holders of bytes that everything else is built on.
 *   span   bytes that someone else owns: pointer and length, not NUL-terminated
 *   buf    bytes that grow, up to a maximum that its user states
 *   arena  many small pieces with one owner, given back by one call
 * No function here is safe for two threads on one object; all are on different objects. */
#ifndef SCHEMA_BYTES_H
#define SCHEMA_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
  const char *ptr; /* may be NULL only where len is 0 */
  size_t len;
};

#define SPAN(literal) ((struct span)SPAN_INIT(literal))
/* the same where C wants a constant: in static tables */
#define SPAN_INIT(literal)                                                                         \
  {                                                                                                \
    "" literal, sizeof(literal) - 1                                                                \
  }

static inline struct span span_of(const char *z)
{
  return (struct span) { z, z ? strlen(z) : 0 };
}

/* b may be a literal, whose length is known: then the compiler compares in place. */
static inline bool span_eq(struct span a, struct span b)
{
  return a.len == b.len && (b.len == 0 || memcmp(a.ptr, b.ptr, b.len) == 0);
}

static inline bool span_is(struct span a, const char *literal)
{
  return span_eq(a, span_of(literal));
}

bool span_starts(struct span s, struct span prefix);
static inline bool span_ends(struct span s, struct span suffix)
{
  return s.len >= suffix.len &&
         (suffix.len == 0 || memcmp(s.ptr + (s.len - suffix.len), suffix.ptr, suffix.len) == 0);
}
/* ASCII letters compared without case. */
bool span_eq_nocase(struct span a, struct span b);
/* Without the spaces, tabs, CR and LF at both ends. */
struct span span_trim(struct span s);
/* Whether nothing can be seen of well-formed UTF-8: it is empty or white space (that of JavaScript's
 * trim, as chats trim) and zero-width space. */
bool span_is_blank(struct span utf8);
/* How many bytes of such characters well-formed UTF-8 begins with; how many before the first. */
size_t span_blank_run(struct span utf8);
size_t span_word_run(struct span utf8);
/* The offset of needle in s, or s.len where it is absent. */
size_t span_find(struct span s, struct span needle);
/* Number of Unicode characters in well-formed UTF-8. */
size_t span_chars(struct span utf8);
/* Offset of the first byte that is not well-formed UTF-8 (RFC 3629), or s.len. */
size_t span_utf8_fault(struct span s);

/* Length of the well-formed UTF-8 sequence that begins at p (left bytes are there), 0 if none. */
size_t utf8_sequence(const char *p, size_t left);
/* Reads the code point at p and returns its length; a byte that begins none reads as U+FFFD. */
size_t utf8_decode(const char *p, size_t left, uint32_t *ret);
/* Writes the UTF-8 form of a code point (U+FFFD for a surrogate or beyond U+10FFFF): 1 to 4. */
size_t utf8_encode(uint32_t code_point, char out[4]);

struct buf {
  char *ptr; /* NULL while empty; NUL-terminated behind len once something was added */
  size_t len, cap, max;
  bool failed; /* memory or max ran out; further additions do nothing */
  char *lent;  /* memory of its user, see buf_lend; else NULL */
};

/* An empty buffer that never holds more than max bytes. */
static inline void buf_init(struct buf *b, size_t max)
{
  *b = (struct buf) { .max = max };
}
/* The same over size bytes (at least 1) that its user lends until buf_done, for short texts; a
 * longer one moves to memory of its own. Nothing of it may be taken. */
static inline void buf_lend(struct buf *b, size_t max, char *first, size_t size)
{
  size_t cap = size - 1 > max ? max + 1 : size;
  *b = (struct buf) { .ptr = first, .cap = cap, .max = max, .lent = first };
}
void buf_done(struct buf *b);
/* Keeps the memory, forgets the content and the failure. */
void buf_clear(struct buf *b);
/* Room for n further bytes. False (and failed) where max or memory forbids it. */
bool buf_grow(struct buf *b, size_t n);
static inline bool buf_reserve(struct buf *b, size_t n)
{
  bool room = b->ptr && !b->failed && n < b->cap - b->len; /* one byte stays for the NUL */
  return room || buf_grow(b, n);
}
/* The additions return false once the buffer has failed, so that callers may look only at the end. */
bool buf_add(struct buf *b, struct span s);
bool buf_add_char(struct buf *b, char c);
/* Adds the UTF-8 form of a code point; a surrogate or a number beyond U+10FFFF becomes U+FFFD. */
bool buf_add_utf8(struct buf *b, uint32_t code_point);
__attribute__((format(printf, 2, 3))) bool buf_printf(struct buf *b, const char *format, ...);
static inline struct span buf_span(const struct buf *b)
{
  return (struct span) { b->ptr, b->len };
}
/* Gives the bytes away (free() them); the buffer is empty afterwards. */
char *buf_take(struct buf *b, size_t *len);

struct arena_chunk;
struct arena {
  struct arena_chunk *chunks;
  char *at, *end;
  size_t used, max;
  bool failed; /* an allocation was refused; it stays set until arena_reset */
};

/* Nothing is allocated before the first arena_alloc; the sum of all pieces never exceeds max. */
void arena_init(struct arena *a, size_t max);
void arena_done(struct arena *a);
/* Gives all pieces back but keeps one chunk for the next user. */
void arena_reset(struct arena *a);
/* n bytes aligned for any object, not cleared; NULL where max or memory forbids it. */
void *arena_alloc(struct arena *a, size_t n);
/* Sees to it that a piece of n bytes comes from where arena_trim can give back. False: max or memory
 * forbids it, which leaves the arena as it is. */
bool arena_reserve(struct arena *a, size_t n);
/* Gives back the end of the piece of n bytes that was allocated last: used bytes of it stay. False:
 * it was not the last, all of it stays. */
bool arena_trim(struct arena *a, void *piece, size_t n, size_t used);
/* The same, zeroed, for count objects of size bytes, checked for overflow. */
void *arena_zalloc(struct arena *a, size_t count, size_t size);
/* A copy with a NUL behind it; ptr is NULL where memory ran out. */
struct span arena_copy(struct arena *a, struct span s);
/* The parts one behind the other, likewise. */
struct span arena_join(struct arena *a, const struct span *parts, size_t count);
__attribute__((format(printf, 2, 3))) struct span arena_printf(struct arena *a, const char *format,
                                                               ...);

#endif
