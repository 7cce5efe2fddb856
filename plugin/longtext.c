/* longtext: see longtext.h. */
#include "plugin/longtext.h"

/* Where a text may be cut, the best first. */
enum place {
  PLACE_PARAGRAPH,
  PLACE_LINE,
  PLACE_SENTENCE,
  PLACE_SPACE,
  PLACE_CHARACTER,
  PLACE_COUNT
};

/* A walk over the characters of a text. */
struct walk {
  struct span text;
  size_t at, chars;                       /* bytes and characters passed */
  enum { OUTSIDE, FENCE, CLOSING } fence; /* the line that closes a fence belongs to it */
  bool address;
  size_t last[PLACE_COUNT];       /* bytes behind the last place of each kind; 0: none yet */
  size_t last_chars[PLACE_COUNT]; /* the same in characters */
};

static struct span rest_of(const struct walk *w)
{
  return (struct span) { w->text.ptr + w->at, w->text.len - w->at };
}

static size_t character_len(unsigned char lead)
{
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static bool is_sentence_end(struct span character, struct span rest)
{
  static const char *const ends[] = { "。", "！", "？", "；", "…" };
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    if (span_is(character, ends[i])) return true;
  }
  bool ascii = character.len == 1 && strchr(".!?;", character.ptr[0]);
  return ascii && (rest.len == 0 || rest.ptr[0] == ' ' || rest.ptr[0] == '\n');
}

/* An address ends at white space, a quote or the first character that is not ASCII. */
static bool ends_address(unsigned char c)
{
  return c <= ' ' || c >= 0x80 || c == '"' || c == '<' || c == '>';
}

static void note(struct walk *w, enum place place)
{
  w->last[place] = w->at;
  w->last_chars[place] = w->chars;
}

static void fence_step(struct walk *w, struct span rest)
{
  bool line_begins = w->at == 0 || rest.ptr[-1] == '\n';
  if (!line_begins) return;
  if (w->fence == CLOSING) w->fence = OUTSIDE;
  if (span_starts(rest, SPAN("```"))) w->fence = w->fence == FENCE ? CLOSING : FENCE;
}

/* Passes one character and notes whether the text may be cut behind it. */
static void step(struct walk *w)
{
  struct span rest = rest_of(w);
  fence_step(w, rest);
  if (span_starts(rest, SPAN("http://")) || span_starts(rest, SPAN("https://"))) w->address = true;
  if (w->address && ends_address((unsigned char)rest.ptr[0])) w->address = false;

  size_t len = character_len((unsigned char)rest.ptr[0]);
  if (len > rest.len) len = rest.len;
  struct span character = { rest.ptr, len };
  w->at += len;
  w->chars++;
  bool line_ends = character.ptr[0] == '\n';
  if (w->fence == FENCE || (w->fence == CLOSING && !line_ends)) return;
  struct span next = rest_of(w);
  if (w->address && next.len > 0 && !ends_address((unsigned char)next.ptr[0])) return;
  note(w, PLACE_CHARACTER);
  if (character.ptr[0] == ' ') note(w, PLACE_SPACE);
  if (is_sentence_end(character, next)) note(w, PLACE_SENTENCE);
  if (!line_ends) return;
  note(w, PLACE_LINE);
  if (w->at >= 2 && character.ptr[-1] == '\n') note(w, PLACE_PARAGRAPH);
}

size_t rg_longtext_cut(struct span text, size_t limit)
{
  struct walk w = { .text = text };
  while (w.at < text.len && w.chars < limit) step(&w);
  if (w.at == text.len) return text.len;
  /* a piece that is much shorter than it could be is no better for ending well */
  for (int place = 0; place < PLACE_COUNT; place++) {
    if (w.last[place] > 0 && w.last_chars[place] >= limit / 3) return w.last[place];
  }
  if (w.last[PLACE_CHARACTER] > 0) return w.last[PLACE_CHARACTER];
  while (w.at < text.len && w.last[PLACE_CHARACTER] == 0) step(&w);
  return w.last[PLACE_CHARACTER] > 0 ? w.last[PLACE_CHARACTER] : text.len;
}

/* --- replies --- */

bool rg_longtext_is(const struct schema_segment *segment, size_t limit)
{
  bool text = segment->type == SCHEMA_TEXT || segment->type == SCHEMA_MARKDOWN;
  return text && segment->text.len > limit && span_chars(segment->text) > limit;
}

/* The pieces of a long text, as many as *count says; pieces NULL only counts. */
static size_t pieces_of(struct span text, size_t limit, struct span *pieces)
{
  size_t count = 0;
  text = span_trim(text);
  while (text.len > 0) {
    size_t cut = rg_longtext_cut(text, limit);
    if (pieces) pieces[count] = span_trim((struct span) { text.ptr, cut });
    count++;
    text = span_trim((struct span) { text.ptr + cut, text.len - cut });
  }
  return count;
}

static size_t message_count(const struct schema_message *m, size_t limit)
{
  size_t count = 1;
  for (size_t i = 0; i < m->count; i++) {
    if (!rg_longtext_is(&m->segments[i], limit)) continue;
    size_t pieces = pieces_of(m->segments[i].text, limit, NULL);
    count += pieces > 0 ? pieces - 1 : 0;
  }
  return count;
}

/* Splits one message into to[0…]; count as message_count says. */
static bool message_split(const struct schema_message *m, size_t limit, size_t count,
                          struct arena *arena, struct schema_message *to)
{
  struct schema_segment *segments = arena_zalloc(arena, m->count + count, sizeof *segments);
  struct span *pieces = arena_zalloc(arena, count, sizeof *pieces);
  if (!segments || !pieces) return false;
  *to = (struct schema_message) { .segments = segments, .reply_to = m->reply_to };
  for (size_t i = 0; i < m->count; i++) {
    size_t n =
        rg_longtext_is(&m->segments[i], limit) ? pieces_of(m->segments[i].text, limit, pieces) : 0;
    for (size_t k = 0; k == 0 || k < n; k++) {
      if (k > 0) *++to = (struct schema_message) { .segments = segments };
      *segments = m->segments[i];
      if (n > 0) segments->text = pieces[k];
      segments++;
      to->count++;
    }
  }
  return true;
}

bool rg_longtext_split(const struct schema_reply *reply, size_t limit, struct arena *arena,
                       struct schema_reply *ret)
{
  size_t total = 0;
  for (size_t i = 0; i < reply->count; i++) total += message_count(&reply->messages[i], limit);
  if (total == reply->count) {
    *ret = *reply;
    return true;
  }
  struct schema_message *messages = arena_zalloc(arena, total, sizeof *messages);
  if (!messages) return false;
  size_t at = 0;
  for (size_t i = 0; i < reply->count; i++) {
    size_t count = message_count(&reply->messages[i], limit);
    if (count == 1) {
      messages[at] = reply->messages[i];
    } else if (!message_split(&reply->messages[i], limit, count, arena, &messages[at])) {
      return false;
    }
    at += count;
  }
  *ret = (struct schema_reply) { messages, total, reply->reaction };
  return true;
}
