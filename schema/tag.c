#include "schema/tag.h"

#include "schema/verbatim.h"
#include "schema/white.h"

/* A pass over one text. Output never is longer than input: a tag becomes one space at most. */
struct pass {
  struct span text;
  struct schema_verbatims code;
  size_t cursor; /* in code */
  size_t stop;   /* the next ] or line end at or behind the last place asked for */
  char *out;
  size_t len;
};

struct match {
  size_t end; /* behind the tag, 0: none */
  enum schema_tag_kind kind;
  bool current;
  struct span id; /* as written; ptr NULL: no id */
};

bool schema_tag_possible(struct span text)
{
  return span_find(text, SPAN("[[")) < text.len;
}

static bool pass_begin(struct pass *p, struct span text, struct arena *arena)
{
  *p = (struct pass) { .text = text, .out = arena_alloc(arena, text.len + 1) };
  return p->out && schema_verbatim_find(text, arena, &p->code);
}

static struct span pass_end(const struct pass *p)
{
  return (struct span) { p->out, p->len };
}

static void put(struct pass *p, size_t begin, size_t end)
{
  if (end <= begin) return;
  memcpy(p->out + p->len, p->text.ptr + begin, end - begin);
  p->len += end - begin;
}

static bool is_in_code(struct pass *p, size_t at)
{
  return schema_verbatim_at(&p->code, at, &p->cursor) != NULL;
}

/* ---- one tag ---- */

static size_t word_at(struct span text, size_t at, struct span word)
{
  if (text.len - at < word.len) return 0;
  return span_eq_nocase((struct span) { text.ptr + at, word.len }, word) ? at + word.len : 0;
}

/* Behind white space and ]], 0 where they do not follow. */
static size_t closed_at(struct span text, size_t at)
{
  at = schema_white_skip(text, at);
  return word_at(text, at, SPAN("]]"));
}

static size_t stop_from(struct pass *p, size_t at)
{
  if (p->stop < at) p->stop = at;
  while (p->stop < p->text.len && p->text.ptr[p->stop] != ']' && p->text.ptr[p->stop] != '\n')
    p->stop++;
  return p->stop;
}

/* ": ID ]]" behind reply_to. The white space before an id may hold line ends, the id none. */
static struct match id_at(struct pass *p, size_t at)
{
  struct match m = { 0 };
  struct span text = p->text;
  at = schema_white_skip(text, at);
  if (at >= text.len || text.ptr[at] != ':') return m;
  size_t gap = at + 1, begin = schema_white_skip(text, gap), stop = begin;
  if (begin < text.len && text.ptr[begin] == ']') { /* blank, if anything but line ends is there */
    bool blank = false;
    for (size_t i = gap; i < begin; i++) blank |= text.ptr[i] != '\n';
    if (!blank) return m;
    begin = gap;
  } else {
    stop = stop_from(p, begin);
    if (stop == begin) return m;
  }
  m.end = closed_at(text, stop);
  m.kind = SCHEMA_TAG_REPLY;
  m.id = (struct span) { text.ptr + begin, stop - begin };
  return m;
}

/* The tag whose [[ stands at at. */
static struct match tag_at(struct pass *p, size_t at)
{
  struct span text = p->text;
  struct match none = { 0 };
  at = schema_white_skip(text, at + 2);
  size_t behind = word_at(text, at, SPAN("audio_as_voice"));
  if (behind) return (struct match) { .end = closed_at(text, behind), .kind = SCHEMA_TAG_AUDIO };
  behind = word_at(text, at, SPAN("reply_to"));
  if (!behind) return none;
  size_t current = word_at(text, behind, SPAN("_current"));
  if (!current) return id_at(p, behind);
  return (
      struct match) { .end = closed_at(text, current), .kind = SCHEMA_TAG_REPLY, .current = true };
}

/* Offset of the next [[ from at on, or the length. */
static size_t opening_from(struct span text, size_t at)
{
  struct span rest = { text.ptr + at, text.len - at };
  return at + span_find(rest, SPAN("[["));
}

/* ---- ids ---- */

static bool is_unsafe(uint32_t c)
{
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == '[' || c == ']';
}

static struct span first_chars(struct span s, size_t count)
{
  size_t at = 0;
  for (; count && at < s.len; count--) {
    uint32_t c;
    at += utf8_decode(s.ptr + at, s.len - at, &c);
  }
  return (struct span) { s.ptr, at };
}

/* What of an id can be used; ptr NULL: nothing. False: no memory. */
static bool clean_id(struct span raw, struct arena *arena, struct span *ret)
{
  *ret = (struct span) { NULL, 0 };
  raw = schema_white_trim(raw);
  char *out = arena_alloc(arena, raw.len + 1);
  if (!out) return false;
  size_t len = 0;
  for (size_t i = 0; i < raw.len;) {
    uint32_t c;
    size_t n = utf8_decode(raw.ptr + i, raw.len - i, &c);
    if (!is_unsafe(c)) memcpy(out + len, raw.ptr + i, n);
    if (!is_unsafe(c)) len += n;
    i += n;
  }
  struct span id = schema_white_trim((struct span) { out, len });
  if (schema_utf16_length(id) > SCHEMA_TAG_ID_MAX) id = first_chars(id, SCHEMA_TAG_ID_MAX);
  if (id.len) *ret = id;
  return true;
}

/* ---- tidying ---- */

enum piece_kind { PIECE_NONE, PIECE_BLANKS, PIECE_LINE_END, PIECE_CODE, PIECE_WHITE, PIECE_CHAR };

struct piece {
  enum piece_kind kind;
  size_t begin, end;
};

/* What stands at at: a region of code, a run of spaces and tabs, a line end, other white space, or
 * a character. */
static struct piece piece_at(struct pass *p, size_t at)
{
  struct span text = p->text;
  struct piece piece = { PIECE_NONE, at, at };
  if (at >= text.len) return piece;
  const struct schema_verbatim *code = schema_verbatim_at(&p->code, at, &p->cursor);
  char c = text.ptr[at];
  if (code) {
    piece.kind = PIECE_CODE;
    piece.end = code->end;
  } else if (c == ' ' || c == '\t') {
    size_t limit = p->cursor < p->code.count ? p->code.items[p->cursor].start : text.len;
    piece.kind = PIECE_BLANKS;
    while (piece.end < limit && (text.ptr[piece.end] == ' ' || text.ptr[piece.end] == '\t'))
      piece.end++;
  } else if (c == '\n' || (c == '\r' && at + 1 < text.len && text.ptr[at + 1] == '\n')) {
    piece.kind = PIECE_LINE_END;
    piece.end = at + (c == '\r' ? 2 : 1);
  } else {
    size_t white = schema_white_at(text, at);
    uint32_t code_point;
    piece.kind = white ? PIECE_WHITE : PIECE_CHAR;
    piece.end = at + (white ? white : utf8_decode(text.ptr + at, text.len - at, &code_point));
  }
  return piece;
}

static bool is_solid(struct piece piece)
{
  return piece.kind == PIECE_CHAR || piece.kind == PIECE_CODE;
}

/* Blanks between two words become one space. The package's pattern takes the character before and
 * the one behind, so a word of one UTF-16 unit cannot serve twice; `free` says whether the one
 * before is still to be had. */
static bool are_squeezed(const struct piece *blanks, struct piece next, bool free)
{
  return free && blanks->end - blanks->begin >= 2 && is_solid(next);
}

/* The white space at the beginning: line ends go, then one single blank. */
static size_t tidy_start(struct pass *p)
{
  struct piece piece = piece_at(p, 0);
  while (piece.kind == PIECE_LINE_END) piece = piece_at(p, piece.end);
  if (piece.kind != PIECE_BLANKS || piece.end - piece.begin != 1) return piece.begin;
  return is_solid(piece_at(p, piece.end)) ? piece.end : piece.begin;
}

static void tidy(struct pass *p)
{
  enum { LINE_ENDS_MAX = 2 };
  size_t line_ends = 0, floor = 0;
  bool free = false; /* see are_squeezed */
  struct piece piece = piece_at(p, tidy_start(p));
  while (piece.kind != PIECE_NONE) {
    struct piece next = piece_at(p, piece.end);
    bool squeezed = false;
    if (piece.kind == PIECE_LINE_END) {
      if (line_ends++ < LINE_ENDS_MAX) p->out[p->len++] = '\n';
    } else if (piece.kind == PIECE_BLANKS && next.kind == PIECE_LINE_END) {
      /* goes */
    } else if (piece.kind == PIECE_BLANKS && are_squeezed(&piece, next, free)) {
      p->out[p->len++] = ' ';
      squeezed = true;
      line_ends = 0;
    } else {
      put(p, piece.begin, piece.end);
      line_ends = 0;
    }
    if (piece.kind == PIECE_CODE) floor = p->len;
    free = is_solid(piece);
    if (squeezed) { /* the next character is used up: only a longer word gives another */
      put(p, next.begin, next.end);
      if (next.kind == PIECE_CODE) floor = p->len;
      free = next.kind == PIECE_CODE || next.end - next.begin > 3;
      next = piece_at(p, next.end);
    }
    piece = next;
  }
  p->len = schema_white_back(pass_end(p), p->len, floor);
}

bool schema_tag_tidy(struct span text, struct arena *arena, struct span *rettext)
{
  struct pass p;
  if (!pass_begin(&p, text, arena)) return false;
  tidy(&p);
  *rettext = pass_end(&p);
  return true;
}

/* ---- taking tags out ---- */

/* A tag between two characters that are no white space leaves a space. */
static void bridge(struct pass *p, size_t begin, size_t end)
{
  bool before = begin > 0 && !schema_white_before(p->text, begin);
  bool behind = end < p->text.len && !schema_white_at(p->text, end);
  if (before && behind) p->out[p->len++] = ' ';
}

static bool note(const struct match *m, struct arena *arena, struct schema_tags *tags)
{
  tags->audio |= m->kind == SCHEMA_TAG_AUDIO;
  tags->reply |= m->kind == SCHEMA_TAG_REPLY;
  tags->current |= m->current;
  if (!m->id.ptr) return true;
  struct span id;
  if (!clean_id(m->id, arena, &id)) return false;
  if (id.ptr) tags->id = id;
  return true;
}

/* Notes the tags of one kind and, where wanted, takes them out. */
static bool take_kind(struct span *text, enum schema_tag_kind kind, bool strip, struct arena *arena,
                      struct schema_tags *tags)
{
  struct pass p;
  if (!schema_tag_possible(*text)) return true;
  if (!pass_begin(&p, *text, arena)) return false;
  size_t copied = 0;
  for (size_t at = opening_from(*text, 0); at < text->len;) {
    struct match m = tag_at(&p, at);
    if (!m.end || m.kind != kind) {
      at = opening_from(*text, at + 1);
      continue;
    }
    if (!is_in_code(&p, at)) {
      if (!note(&m, arena, tags)) return false;
      if (strip) put(&p, copied, at);
      if (strip) bridge(&p, at, m.end);
      if (strip) copied = m.end;
    }
    at = opening_from(*text, m.end);
  }
  if (!copied) return true;
  put(&p, copied, text->len);
  *text = pass_end(&p);
  return true;
}

bool schema_tags_take(struct span text, unsigned strip, struct arena *arena, struct span *rettext,
                      struct schema_tags *rettags)
{
  struct schema_tags tags = { 0 };
  struct span rest = text;
  if (!take_kind(&rest, SCHEMA_TAG_AUDIO, strip & SCHEMA_TAG_AUDIO, arena, &tags)) return false;
  if (!take_kind(&rest, SCHEMA_TAG_REPLY, strip & SCHEMA_TAG_REPLY, arena, &tags)) return false;
  if ((tags.audio || tags.reply) && !schema_tag_tidy(rest, arena, &rest)) return false;
  *rettext = rest;
  *rettags = tags;
  return true;
}

/* ---- the last pass ---- */

static size_t blanks_from(struct span text, size_t at)
{
  while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) at++;
  return at;
}

/* A ] that is not followed by another. */
static bool is_single_bracket(struct span text, size_t at)
{
  return at < text.len && text.ptr[at] == ']' && !(at + 1 < text.len && text.ptr[at + 1] == ']');
}

/* End of a reply tag with a bracket missing at the start of the text, 0: there is none. */
static size_t broken_end(struct span text, size_t opening)
{
  size_t at = schema_white_skip(text, opening + 2);
  size_t behind = word_at(text, at, SPAN("reply_to_current"));
  if (behind) {
    size_t end = blanks_from(text, behind);
    if (is_single_bracket(text, end)) return end + 1;
    if (end == text.len) return end;
    return end > behind && !schema_white_at(text, end) ? behind : 0;
  }
  behind = word_at(text, at, SPAN("reply_to"));
  if (!behind) return 0;
  at = schema_white_skip(text, behind);
  if (at >= text.len || text.ptr[at] != ':') return 0;
  at = schema_white_skip(text, at + 1);
  if (at == text.len) return at;
  while (at < text.len && text.ptr[at] != ']' && text.ptr[at] != '\r' && text.ptr[at] != '\n') at++;
  return is_single_bracket(text, at) ? at + 1 : 0;
}

/* White space around goes, but not the indentation of code at the start. */
static struct span trim_around(struct span text, const struct schema_verbatims *code)
{
  size_t begin = schema_white_skip(text, 0), cursor = 0;
  const struct schema_verbatim *region = schema_verbatim_at(code, begin, &cursor);
  if (region && region->block && region->start < begin) begin = region->start;
  struct span rest = { text.ptr + begin, text.len - begin };
  return schema_white_trim_end(rest);
}

/* Whether block code begins within the white space behind a tag, which then stays. */
static bool code_follows(const struct pass *p, size_t opening, size_t end)
{
  for (size_t i = p->cursor; i < p->code.count && p->code.items[i].start <= end; i++)
    if (p->code.items[i].block && p->code.items[i].start > opening) return true;
  return false;
}

bool schema_tags_finish(struct span text, struct arena *arena, struct span *rettext)
{
  *rettext = text;
  if (!schema_tag_possible(text)) return true;
  struct pass p;
  if (!pass_begin(&p, text, arena)) return false;
  size_t copied = 0, last = 0;
  bool edited = false;
  for (size_t at = opening_from(text, 0); at < text.len;) {
    size_t begin = schema_white_back(text, at, last);
    struct match m = tag_at(&p, at);
    bool whole = m.end != 0;
    if (!whole && begin == 0 && blanks_from(text, 0) == at) m.end = broken_end(text, at);
    if (!m.end) {
      at = opening_from(text, at + 1);
      continue;
    }
    size_t tag_end = m.end, end = whole ? schema_white_skip(text, m.end) : blanks_from(text, m.end);
    last = end;
    if (!is_in_code(&p, at)) {
      bool stays = code_follows(&p, at, end);
      put(&p, copied, begin);
      if (whole && !stays) p.out[p.len++] = ' ';
      copied = stays ? tag_end : end;
      edited = true;
    }
    at = opening_from(text, end);
  }
  if (!edited) return true;
  put(&p, copied, text.len);
  struct span rest = pass_end(&p);
  struct schema_verbatims code;
  if (!schema_verbatim_find(rest, arena, &code)) return false;
  *rettext = span_eq(rest, text) ? text : trim_around(rest, &code);
  return true;
}
