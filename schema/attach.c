#include "schema/attach.h"

#include "schema/reference.h"
#include "schema/verbatim.h"
#include "schema/white.h"

enum {
  IMAGE_LINE_MAX = 20000, /* UTF-16 units; longer lines are left alone (rule 147) */
  IMAGES_MAX = 50,        /* of one line */
  PARENS_MAX = 32,        /* nested in an address, as markdown-it has it */
};

struct list { /* of spans, growing in an arena */
  struct span *items;
  size_t count, cap;
};

struct take {
  struct span text;
  struct arena *arena;
  struct schema_verbatims code;
  size_t block, inline_code; /* cursors in code */
  struct list media;
  char *out; /* never longer than text */
  size_t len;
  size_t refused;
  bool any_line; /* a line was kept */
  bool taken, failed;
};

static struct span part(struct span s, size_t begin, size_t end)
{
  return (struct span) { s.ptr + begin, end - begin };
}

static void list_add(struct take *t, struct list *list, struct span item)
{
  if (list->count == list->cap) {
    size_t cap = list->cap ? list->cap * 2 : 8;
    struct span *more = arena_zalloc(t->arena, cap, sizeof *more);
    if (!more) {
      t->failed = true;
      return;
    }
    if (list->count) memcpy(more, list->items, list->count * sizeof *more);
    list->items = more;
    list->cap = cap;
  }
  list->items[list->count++] = item;
}

/* ---- lines that stay ---- */

static void put(struct take *t, struct span s)
{
  if (s.len) memcpy(t->out + t->len, s.ptr, s.len);
  t->len += s.len;
}

static void begin_line(struct take *t)
{
  if (t->any_line) t->out[t->len++] = '\n';
  t->any_line = true;
}

static void keep_line(struct take *t, struct span line)
{
  begin_line(t);
  put(t, line);
}

/* What begins at offset begin of the output is a changed line: runs of blanks become one space,
 * the ends are trimmed. Nothing left: no line. */
static void clean_line(struct take *t, size_t begin)
{
  size_t n = begin;
  for (size_t i = begin; i < t->len; i++) {
    char c = t->out[i];
    bool blank = c == ' ' || c == '\t';
    bool run = blank && i + 1 < t->len && (t->out[i + 1] == ' ' || t->out[i + 1] == '\t');
    if (!run) {
      t->out[n++] = c;
      continue;
    }
    while (i + 1 < t->len && (t->out[i + 1] == ' ' || t->out[i + 1] == '\t')) i++;
    t->out[n++] = ' ';
  }
  struct span clean = schema_white_trim((struct span) { t->out + begin, n - begin });
  if (clean.len) memmove(t->out + begin, clean.ptr, clean.len);
  t->len = begin + clean.len;
}

/* Where a changed line is to be built; end_changed drops it again if nothing is left of it. */
struct changed {
  size_t before, begin;
  bool any_line;
};

static struct changed begin_changed(struct take *t)
{
  struct changed c = { .before = t->len, .any_line = t->any_line };
  begin_line(t);
  c.begin = t->len;
  return c;
}

static void end_changed(struct take *t, struct changed c)
{
  clean_line(t, c.begin);
  if (t->len > c.begin) return;
  t->len = c.before;
  t->any_line = c.any_line;
}

/* ---- one reference of a MEDIA line ---- */

static bool is_one_of(char c, const char *set)
{
  return c && strchr(set, c);
}

/* Whether the quote at at ends a file name with an extension inside serialised JSON; *retend is
 * where that name ends. */
static bool is_json_tail(struct span s, size_t at, size_t *retend)
{
  if (at + 1 == s.len || !is_one_of(s.ptr[at + 1], "]},:")) return false;
  size_t end = at - (at > 0 && s.ptr[at - 1] == '\\');
  if (!schema_reference_has_extension(part(s, 0, end))) return false;
  *retend = end;
  return true;
}

static const char marks_before[] = "`\"'[{(", marks_behind[] = "`\"'\\})],";

static struct span without_marks(struct span s)
{
  size_t begin = 0, end = s.len;
  while (begin < end && is_one_of(s.ptr[begin], marks_before)) begin++;
  while (end > begin && is_one_of(s.ptr[end - 1], marks_behind)) end--;
  return part(s, begin, end);
}

/* The reference in an unquoted word: marks around it go, and a tail of JSON (rules 105, 113). */
static struct span clean(struct span s)
{
  s = without_marks(s);
  for (size_t i = s.len; i > 0; i--) {
    size_t end;
    if (s.ptr[i - 1] == '"' && is_json_tail(s, i - 1, &end)) return part(s, 0, end);
  }
  return s;
}

static bool is_sound(struct span reference, unsigned options)
{
  return schema_reference_fault(reference, options) == NULL;
}

static bool begins_another(struct span word)
{
  struct span s = schema_reference_bare(clean(word));
  return schema_reference_has_root(s) || schema_reference_has_scheme(s);
}

/* What has been read of the reference that is being put together. */
struct growing {
  struct span all;
  bool rooted, json_tail;
};

static bool has_json_tail(struct span word)
{
  size_t end;
  for (size_t i = 0; i < word.len; i++)
    if (word.ptr[i] == '"' && is_json_tail(word, i, &end)) return true;
  return false;
}

/* Whether the word belongs to the rooted path before it: white space may be part of a path. */
static bool goes_on(const struct growing *g, struct span word)
{
  if (!g->rooted || begins_another(word)) return false;
  struct span so_far = g->all;
  while (so_far.len && is_one_of(so_far.ptr[so_far.len - 1], marks_behind)) so_far.len--;
  if (!g->json_tail && !schema_reference_has_extension(so_far)) return true;
  return !is_sound(schema_reference_bare(clean(word)), 0);
}

/* The references of an unquoted payload (rules 101, 103). */
static void split(struct take *t, struct span payload, struct list *parts)
{
  struct growing g = { .all = { NULL, 0 } };
  for (size_t at = schema_white_skip(payload, 0); at < payload.len;) {
    size_t end = at;
    while (end < payload.len && !schema_white_at(payload, end)) end++;
    struct span word = part(payload, at, end);
    if (g.all.ptr && goes_on(&g, word)) {
      g.all.len = (size_t)(word.ptr + word.len - g.all.ptr);
      g.json_tail |= has_json_tail(word);
      if (parts->count) parts->items[parts->count - 1] = g.all;
    } else {
      g.all = word;
      g.rooted = schema_reference_has_root(schema_reference_bare(clean(word)));
      g.json_tail = has_json_tail(word);
      list_add(t, parts, word);
    }
    at = schema_white_skip(payload, end);
  }
}

/* ---- a MEDIA line ---- */

/* The inside of one pair of quotes around it all. */
static bool unquote(struct span s, struct span *ret)
{
  s = schema_white_trim(s);
  if (s.len < 2 || s.ptr[0] != s.ptr[s.len - 1] || !is_one_of(s.ptr[0], "\"'`")) return false;
  *ret = schema_white_trim(part(s, 1, s.len - 1));
  return true;
}

/* What stands behind MEDIA: and white space; a backtick in front is not part of it. */
static struct span payload_of(struct span rest)
{
  size_t at = schema_white_skip(rest, 0);
  if (at + 1 < rest.len && rest.ptr[at] == '`') at++;
  return part(rest, at, rest.len);
}

struct found {
  size_t before;       /* media before this line */
  struct list invalid; /* words that are none: they stay */
};

static void take_parts(struct take *t, const struct list *parts, bool quoted, struct found *f)
{
  for (size_t i = 0; i < parts->count; i++) {
    struct span word = parts->items[i], reference = quoted ? word : clean(word);
    bool spaced = schema_white_in(reference, 0);
    if (is_sound(reference, spaced ? SCHEMA_REFERENCE_SPACES : 0))
      list_add(t, &t->media, reference);
    else if (!schema_white_in(word, 0) ||
             !schema_reference_climbs(schema_reference_bare(reference)))
      list_add(t, &f->invalid, word);
  }
}

/* One path with white space in it was taken apart wrongly: it is taken as a whole. */
static bool is_one_path(struct take *t, const struct list *parts, struct span payload,
                        const struct found *f)
{
  if (t->media.count != f->before + 1 || f->invalid.count == 0) return false;
  for (size_t i = 1; i < parts->count; i++)
    if (begins_another(parts->items[i])) return false;
  return schema_white_in(payload, 0) && is_sound(clean(payload), SCHEMA_REFERENCE_SPACES);
}

/* The rest of a line behind its MEDIA: token. Writes what stays of it; false: the line stays. */
static bool take_payload(struct take *t, struct span payload)
{
  struct span inside = payload;
  bool quoted = unquote(payload, &inside);
  struct list parts = { 0 };
  struct found f = { .before = t->media.count };
  if (quoted && inside.len)
    list_add(t, &parts, inside);
  else
    split(t, payload, &parts);
  take_parts(t, &parts, quoted, &f);
  bool local = schema_reference_looks_local(schema_white_trim(inside));
  if (!quoted && local && is_one_path(t, &parts, inside, &f)) {
    t->media.items[f.before] = clean(inside);
    f.invalid.count = 0;
  }
  if (t->media.count == f.before) {
    struct span whole = quoted ? inside : clean(inside);
    if (!is_sound(whole, SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_BARE)) {
      t->refused += local;
      return local;
    }
    list_add(t, &t->media, whole);
    f.invalid.count = 0;
  }
  for (size_t i = 0; i < f.invalid.count; i++) {
    if (i) put(t, SPAN(" "));
    put(t, f.invalid.items[i]);
  }
  return true;
}

/* A line that begins with MEDIA: (after white space). */
static void media_line(struct take *t, struct span line, size_t token)
{
  const size_t token_len = 6; /* MEDIA: */
  struct changed c = begin_changed(t);
  struct span payload = payload_of(part(line, token + token_len, line.len));
  if (payload.len && take_payload(t, payload)) {
    t->taken = true;
    end_changed(t, c);
    return;
  }
  t->len = c.begin;
  put(t, line);
  if (payload.len || token + token_len < line.len) end_changed(t, c);
}

/* ---- Markdown images ---- */

/* The brackets of a line that belong together. */
struct brackets {
  size_t *open;  /* the stack of the open ones */
  size_t *close; /* by offset: where the one that opens here closes, or, where one closes, its own
                  * offset; 0: none */
};

struct image {
  size_t begin, end;
  struct span address;
};

static bool is_punctuation(char c)
{
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

/* Length of what the scan for images passes over at offset i of the line: an escape, code; 0: a
 * character that counts. */
static size_t passed_over(struct take *t, struct span line, size_t i, size_t *cursor)
{
  size_t at = (size_t)(line.ptr - t->text.ptr) + i;
  const struct schema_verbatim *code = schema_verbatim_at(&t->code, at, cursor);
  if (code) return code->end - at < line.len - i ? code->end - at : line.len - i;
  bool escape = line.ptr[i] == '\\' && i + 1 < line.len && is_punctuation(line.ptr[i + 1]);
  return escape ? 2 : 0;
}

static bool pair_brackets(struct take *t, struct span line, struct brackets *ret)
{
  ret->open = arena_zalloc(t->arena, line.len, sizeof *ret->open);
  ret->close = arena_zalloc(t->arena, line.len, sizeof *ret->close);
  if (!ret->open || !ret->close) return false;
  size_t depth = 0, cursor = t->inline_code;
  for (size_t i = 0; i < line.len;) {
    size_t over = passed_over(t, line, i, &cursor);
    if (over) {
      i += over;
      continue;
    }
    if (line.ptr[i] == '[') ret->open[depth++] = i;
    if (line.ptr[i] == ']' && depth) ret->close[ret->open[--depth]] = ret->close[i] = i;
    i++;
  }
  return true;
}

static size_t skip_blanks(struct span line, size_t i)
{
  while (i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t')) i++;
  return i;
}

/* The address that begins at i, bare or in angle brackets; its end, or 0. */
static size_t address_end(struct span line, size_t i, struct span *ret)
{
  size_t begin = i, parens = 0;
  if (i < line.len && line.ptr[i] == '<') {
    for (i++; i < line.len && line.ptr[i] != '>'; i++) {
      if (line.ptr[i] == '<') return 0;
      if (line.ptr[i] == '\\' && i + 1 < line.len) i++;
    }
    if (i == line.len) return 0;
    *ret = part(line, begin + 1, i);
    return i + 1;
  }
  for (; i < line.len; i++) {
    unsigned char c = (unsigned char)line.ptr[i];
    if (c <= ' ' || c == 0x7F) break;
    if (c == '\\' && i + 1 < line.len) {
      if (line.ptr[i + 1] == ' ') break;
      i++;
    } else if (c == '(') {
      if (++parens > PARENS_MAX) return 0;
    } else if (c == ')') {
      if (parens == 0) break;
      parens--;
    }
  }
  if (i == begin || parens) return 0;
  *ret = part(line, begin, i);
  return i;
}

/* Behind a title in quotes or parentheses, i where there is none. */
static size_t title_end(struct span line, size_t i)
{
  if (i >= line.len || !is_one_of(line.ptr[i], "\"'(")) return i;
  char close = line.ptr[i] == '(' ? ')' : line.ptr[i];
  for (size_t at = i + 1; at < line.len; at++) {
    if (line.ptr[at] == close) return at + 1;
    if (line.ptr[at] == '(' && close == ')') return i;
    if (line.ptr[at] == '\\') at++;
  }
  return i;
}

/* Behind the "(address title)" that follows the bracket at close, 0: none follows. */
static size_t target_end(struct span line, size_t close, struct span *retaddress)
{
  if (close + 1 >= line.len || line.ptr[close + 1] != '(') return 0;
  size_t at = skip_blanks(line, close + 2);
  *retaddress = (struct span) { line.ptr, 0 };
  size_t end = address_end(line, at, retaddress);
  if (end) {
    size_t gap = skip_blanks(line, end);
    end = gap > end ? skip_blanks(line, title_end(line, gap)) : gap;
  } else {
    end = at;
  }
  return end < line.len && line.ptr[end] == ')' ? end + 1 : 0;
}

/* The image whose ! stands at i. */
static bool image_at(struct span line, const struct brackets *b, size_t i, struct image *ret)
{
  if (line.ptr[i] != '!' || i + 1 >= line.len || line.ptr[i + 1] != '[') return false;
  size_t close = b->close[i + 1];
  ret->begin = i;
  ret->end = close ? target_end(line, close, &ret->address) : 0;
  return ret->end != 0;
}

/* How far the scan goes on from i: past what is passed over, past a link's target, or one byte. */
static size_t step_from(struct span line, const struct brackets *b, size_t i, size_t over)
{
  struct span address;
  if (over) return i + over;
  size_t end = b->close[i] == i && line.ptr[i] == ']' ? target_end(line, i, &address) : 0;
  return end ? end : i + 1;
}

/* Undoes backslashes and the entities that addresses have. */
static struct span unescape(struct take *t, struct span s)
{
  static const struct {
    struct span entity;
    char c;
  } entities[] = {
    { { "&amp;", 5 }, '&' },
    { { "&lt;", 4 }, '<' },
    { { "&gt;", 4 }, '>' },
    { { "&quot;", 6 }, '"' },
  };
  if (!memchr(s.ptr, '\\', s.len) && !memchr(s.ptr, '&', s.len)) return s;
  char *out = arena_alloc(t->arena, s.len);
  if (!out) {
    t->failed = true;
    return s;
  }
  size_t n = 0;
  for (size_t i = 0; i < s.len;) {
    struct span rest = part(s, i, s.len);
    if (rest.ptr[0] == '\\' && rest.len > 1 && is_punctuation(rest.ptr[1])) {
      out[n++] = rest.ptr[1];
      i += 2;
      continue;
    }
    char c = rest.ptr[0];
    size_t len = 1;
    for (size_t e = 0; c == '&' && e < sizeof entities / sizeof *entities; e++) {
      if (!span_starts(rest, entities[e].entity)) continue;
      c = entities[e].c;
      len = entities[e].entity.len;
    }
    out[n++] = c;
    i += len;
  }
  return (struct span) { out, n };
}

/* A line without a MEDIA token: accepted images leave it (rules 142 to 147). */
static void image_line(struct take *t, struct span line)
{
  struct brackets brackets;
  if (span_find(line, SPAN("![")) == line.len || schema_utf16_length(line) > IMAGE_LINE_MAX) {
    keep_line(t, line);
    return;
  }
  if (!pair_brackets(t, line, &brackets)) {
    t->failed = true;
    return;
  }
  struct changed c = begin_changed(t);
  size_t copied = 0, images = 0, before = t->media.count;
  for (size_t i = 0; i < line.len && images < IMAGES_MAX;) {
    struct image image;
    size_t over = passed_over(t, line, i, &t->inline_code);
    if (over || !image_at(line, &brackets, i, &image)) {
      i = step_from(line, &brackets, i, over);
      continue;
    }
    images++;
    i = image.end;
    struct span address = schema_white_trim(unescape(t, image.address));
    if (!schema_remote_is_web(address) || !is_sound(address, 0)) continue;
    list_add(t, &t->media, address);
    put(t, part(line, copied, image.begin));
    copied = image.end;
  }
  put(t, part(line, copied, line.len));
  if (t->media.count == before) return;
  t->taken = true;
  end_changed(t, c);
}

/* ---- all lines ---- */

/* Whether the line is touched by block code. */
static bool is_code_line(struct take *t, size_t begin, size_t end)
{
  while (t->block < t->code.count &&
         (!t->code.items[t->block].block || t->code.items[t->block].end <= begin))
    t->block++;
  return t->block < t->code.count && t->code.items[t->block].start < end;
}

static void take_line(struct take *t, size_t begin, size_t end, unsigned options)
{
  struct span line = part(t->text, begin, end);
  if (is_code_line(t, begin, end)) {
    keep_line(t, line);
    return;
  }
  const struct span token = SPAN("MEDIA:");
  size_t at = schema_white_skip(line, 0);
  bool is_media = (options & SCHEMA_ATTACH_LINES) && line.len - at >= token.len &&
                  span_eq_nocase(part(line, at, at + token.len), token);
  if (is_media)
    media_line(t, line, at);
  else if (options & SCHEMA_ATTACH_IMAGES)
    image_line(t, line);
  else
    keep_line(t, line);
}

/* Blank lines at the beginning go. */
static struct span without_blank_lines(struct span text)
{
  size_t begin = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '\n')
      begin = i + 1;
    else if (text.ptr[i] != ' ' && text.ptr[i] != '\t')
      break;
  }
  return part(text, begin, text.len);
}

bool schema_attach_take(struct span text, unsigned options, struct arena *arena,
                        struct schema_attached *ret)
{
  *ret = (struct schema_attached) { .text = text };
  if (!options || text.len == 0) return true;
  struct take t = { .text = text, .arena = arena, .out = arena_alloc(arena, 2 * text.len + 2) };
  if (!t.out || !schema_verbatim_find(text, arena, &t.code)) return false;
  for (size_t begin = 0; begin <= text.len && !t.failed;) {
    const char *newline = memchr(text.ptr + begin, '\n', text.len - begin);
    size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
    take_line(&t, begin, end, options);
    begin = end + 1;
  }
  struct span left = without_blank_lines((struct span) { t.out, t.len });
  *ret = (struct schema_attached) { left, t.media.items, t.media.count, t.refused, t.taken };
  return !t.failed;
}
