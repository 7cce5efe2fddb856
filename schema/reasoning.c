#include "schema/reasoning.h"

#include "schema/glance.h"
#include "schema/markup.h"

/* ---- the marks ---- */

enum side { NEITHER, OPENS, CLOSES };

/* Names in lower case without separators: <name> opens and </name> closes, with a vendor's prefix
 * too; also as [NAME], ◁name▷ and <|name|>. */
static const char *const names[] = {
  "think",      "thinking",         "thought",           "thoughts",         "reasoning",
  "scratchpad", "reasoningcontent", "innermonologue",    "antthinking",      "chainofthought",
  "cot",        "thinkingprocess",  "internalmonologue", "reasoningprocess", "reflection",
};

/* Tokens of which each side has its own name. */
static const struct {
  const char *open, *close;
} tokens[] = {
  { "beginofthought", "endofthought" }, { "thoughtbegin", "thoughtend" },
  { "thoughtstart", "thoughtend" },     { "startthinking", "endthinking" },
  { "beginthinking", "endthinking" },   { "thinkingstart", "thinkingend" },
  { "thinkstart", "thinkend" },         { "thinkbegin", "thinkend" },
  { "beginofthink", "endofthink" },     { "beginofthinking", "endofthinking" },
  { "innerprefix", "innersuffix" },     { "unused94", "unused95" },
};

struct found {
  size_t begin, end;
  enum side side;
};

static enum side side_of(const struct schema_mark *mark)
{
  if (!mark->complete) return NEITHER;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (schema_mark_is(mark, names[i])) return mark->closing ? CLOSES : OPENS;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
    if (schema_mark_is(mark, tokens[i].open)) return mark->closing ? CLOSES : OPENS;
    if (schema_mark_is(mark, tokens[i].close)) return CLOSES;
  }
  /* Gemma: <|channel>thought … <channel|> */
  if (schema_mark_is(mark, "channel") && mark->bar_front != mark->bar_back)
    return mark->bar_front ? OPENS : CLOSES;
  return NEITHER;
}

/* A name between [ ] or ◁ ▷: n bytes open it at byte at, and close ends it. */
static bool square_at(struct span text, size_t at, size_t n, const char *close, struct found *ret)
{
  char word[SCHEMA_MARK_NAME_MAX];
  size_t len = 0, p = at + n;
  bool closing = p < text.len && text.ptr[p] == '/';
  for (p += closing; p < text.len && len < sizeof word; p++) {
    char c = text.ptr[p];
    if (!schema_is_word(c)) break;
    word[len++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  if (text.len - p < strlen(close) || memcmp(text.ptr + p, close, strlen(close)) != 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i]) != len || memcmp(names[i], word, len) != 0) continue;
    *ret = (struct found) { at, p + strlen(close), closing ? CLOSES : OPENS };
    return true;
  }
  return false;
}

/* ---- walking from mark to mark ---- */

struct walk {
  struct span text;
  size_t at;
  bool sees_all; /* inside a block: code and objects hide nothing */
  bool objects;  /* whole objects are still to be found */
  struct schema_quoted_reader codes;
};

static bool starts_at(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

/* Behind the JSON object whose brace is at byte at, by its strings and brackets alone; 0 where it
 * does not end. */
static size_t skip_object(struct span text, size_t at)
{
  size_t depth = 0;
  bool string = false;
  for (; at < text.len; at++) {
    char c = text.ptr[at];
    if (c == '"') {
      string = !string;
    } else if (string) {
      at += c == '\\';
    } else if (c == '{' || c == '[') {
      depth++;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

static void pass_object(struct walk *w)
{
  size_t inside = schema_skip_blank(w->text, w->at + 1);
  size_t behind = 0;
  if (w->objects && inside < w->text.len && w->text.ptr[inside] == '"') {
    behind = skip_object(w->text, w->at);
    w->objects = behind != 0; /* one that does not end has been walked to the end of the text */
  }
  w->at = behind ? behind : w->at + 1;
}

static void pass_code(struct walk *w)
{
  struct schema_quoted code;
  bool is_code = schema_quoted_read(&w->codes, w->text, w->at, &code);
  w->at = code.end;
  if (!is_code || !code.fenced) return;
  size_t inside = schema_skip_blank(w->text, code.inner_begin);
  if (inside < w->text.len && w->text.ptr[inside] == '{') w->at = code.inner_begin;
}

static bool next_mark(struct walk *w, struct found *ret)
{
  struct span text = w->text;
  while (w->at < text.len) {
    unsigned char c = (unsigned char)text.ptr[w->at];
    struct schema_mark mark;
    ret->side = NEITHER;
    if (c == '`' && !w->sees_all) {
      pass_code(w);
      continue;
    }
    if (c == '{' && !w->sees_all) {
      pass_object(w);
      continue;
    }
    if (c == '[')
      square_at(text, w->at, 1, "]", ret);
    else if (c == 0xE2 && starts_at(text, w->at, "◁"))
      square_at(text, w->at, strlen("◁"), "▷", ret);
    else if ((c == '<' || c == '&' || c == 0xEF) && schema_mark_may_begin(text, w->at) &&
             schema_mark_read(text, w->at, &mark))
      *ret = (struct found) { mark.begin, mark.end, side_of(&mark) };
    if (ret->side != NEITHER) {
      w->at = ret->end;
      return true;
    }
    w->at++;
  }
  return false;
}

bool schema_reasoning_possible(struct span text)
{
  struct schema_glancer glancer = schema_glancer_of(text);
  for (size_t at = 0; (at = schema_glance_next(&glancer, at)) < text.len; at++) {
    char next = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    switch ((unsigned char)text.ptr[at]) {
    case '<': return true;
    case '&':
      if (next == 'l' || next == '#') return true;
      break;
    case '[':
      if ((next == '/' || schema_is_word(next)) && schema_glance_square(text, at + 1)) return true;
      break;
    case 0xE2:
      if (starts_at(text, at, "◁")) return true;
      break;
    case 0xEF:
      if (starts_at(text, at, "＜")) return true;
      break;
    default: break;
    }
  }
  return false;
}

/* ---- cutting ---- */

struct cutting {
  struct walk walk;
  struct buf kept; /* what is kept before piece */
  size_t piece;    /* where the piece begins that is being kept */
  bool closers;    /* closing marks are still to come */
  struct schema_reasoning *ret;
};

static bool is_blank_so_far(const struct cutting *c, size_t end)
{
  struct span piece = { c->walk.text.ptr + c->piece, end - c->piece };
  return c->kept.len == 0 && schema_skip_blank(piece, 0) == piece.len;
}

static void drop(struct cutting *c, size_t begin, size_t end)
{
  struct span text = c->walk.text;
  if (!c->ret->cut) c->ret->at = begin;
  c->ret->cut = true;
  if (!is_blank_so_far(c, begin))
    buf_add(&c->kept, (struct span) { text.ptr + c->piece, begin - c->piece });
  c->piece = schema_skip_blank(text, end);
}

/* A block that opens with open: finds its end, or the last closing mark where more open than
 * close. False: none closes it. */
static bool find_end(struct cutting *c, size_t *retend)
{
  struct walk inside = c->walk;
  struct found mark;
  size_t depth = 1;
  *retend = 0;
  inside.sees_all = true;
  while (c->closers && depth && next_mark(&inside, &mark)) {
    if (mark.side == OPENS) {
      depth++;
    } else {
      depth--;
      *retend = mark.end;
    }
  }
  if (*retend == 0) c->closers = false;
  return *retend != 0;
}

/* Whether a mark that ends at byte end is only named by its sentence, which goes on in a way that no
 * thought and no answer begins. */
static bool is_named(struct span text, size_t end)
{
  static const struct span marks[] = { SPAN_INIT("、"), SPAN_INIT("，"), SPAN_INIT("。"),
                                       SPAN_INIT("；"), SPAN_INIT("）"), SPAN_INIT("」"),
                                       SPAN_INIT("』"), SPAN_INIT("”"),  SPAN_INIT("/"),
                                       SPAN_INIT(","),  SPAN_INIT(";"),  SPAN_INIT(")") };
  struct span rest = { text.ptr + end, text.len - end };
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (span_starts(rest, marks[i])) return true;
  return false;
}

static void on_opener(struct cutting *c, const struct found *open)
{
  struct span text = c->walk.text;
  bool leads = is_blank_so_far(c, open->begin) || schema_at_line_begin(text, open->begin);
  size_t end;
  if (find_end(c, &end)) {
    struct span block = { text.ptr + open->end, end - open->end };
    const char *close = memrchr(block.ptr, '<', block.len);
    struct span between = { block.ptr, close ? (size_t)(close - block.ptr) : block.len };
    bool named = !leads && schema_joins_names(between);
    c->walk.at = end;
    if (!named) drop(c, open->begin, end);
    return;
  }
  /* not closed: the rest is reasoning, unless a sentence only names the mark */
  bool spaced = open->end < text.len && text.ptr[open->end] == ' ';
  if (!leads && (spaced || open->end == text.len || is_named(text, open->end))) return;
  c->ret->unclosed = true;
  drop(c, open->begin, text.len);
  c->walk.at = text.len;
}

static void on_closer(struct cutting *c, const struct found *close)
{
  struct span text = c->walk.text;
  bool spaced = close->begin > 0 && text.ptr[close->begin - 1] == ' ' && close->end < text.len &&
                text.ptr[close->end] == ' ';
  bool in_line = close->begin > 0 && text.ptr[close->begin - 1] != '\n';
  if (spaced || (in_line && is_named(text, close->end))) return; /* a sentence names it */
  if (!c->ret->cut) c->ret->at = c->piece;
  c->ret->cut = true;
  buf_clear(&c->kept);
  c->piece = schema_skip_blank(text, close->end);
}

bool schema_reasoning_cut(struct span text, struct arena *arena, struct schema_reasoning *ret)
{
  struct cutting c = { .walk = { .text = text, .objects = true }, .closers = true, .ret = ret };
  struct found mark;
  *ret = (struct schema_reasoning) { .text = text };
  if (text.len == 0) return true;
  buf_init(&c.kept, text.len);
  while (next_mark(&c.walk, &mark)) {
    if (mark.side == OPENS)
      on_opener(&c, &mark);
    else
      on_closer(&c, &mark);
  }
  struct span last = { text.ptr + c.piece, text.len - c.piece };
  ret->base = c.kept.len ? 0 : c.piece;
  ret->text = last;
  if (c.kept.len) {
    buf_add(&c.kept, last);
    ret->text = arena_copy(arena, buf_span(&c.kept));
  }
  bool ok = !c.kept.failed && (c.kept.len == 0 || ret->text.ptr);
  buf_done(&c.kept);
  return ok;
}

/* ---- harmony ---- */

/* Where the content of a message ends that began at byte at: its end token or the next header. */
static size_t message_end(struct span text, size_t at)
{
  static const char *const ends[] = { "end", "return", "call", "start", "channel" };
  struct schema_mark mark;
  for (; at < text.len; at++) {
    if (text.ptr[at] != '<' || !schema_mark_read(text, at, &mark) || !mark.bar_front) continue;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
      if (strcmp(mark.name, ends[i]) == 0) return at;
  }
  return text.len;
}

/* Reads one channel behind its token at byte at; returns where its content ends. */
static size_t read_channel(struct span text, size_t at, struct span *retword,
                           struct span *retheader, struct span *retcontent)
{
  enum { HEADER_MAX = 256 };
  size_t begin = schema_skip_blank(text, at), word = begin;
  while (word < text.len && schema_is_word(text.ptr[word])) word++;
  *retword = (struct span) { text.ptr + begin, word - begin };
  size_t header_end = word, p = word;
  struct schema_mark mark;
  size_t stop = text.len - word > HEADER_MAX ? word + HEADER_MAX : text.len;
  for (; p < stop; p++) {
    if (text.ptr[p] != '<' || !schema_mark_read(text, p, &mark) || !mark.bar_front) continue;
    if (strcmp(mark.name, "message") != 0 && strcmp(mark.name, "constrain") != 0) break;
    header_end = mark.end;
    if (strcmp(mark.name, "message") == 0) break;
    p = mark.end - 1;
  }
  *retheader = (struct span) { text.ptr + word, header_end - word };
  size_t end = message_end(text, header_end);
  *retcontent = (struct span) { text.ptr + header_end, end - header_end };
  return end;
}

static bool names_recipient(struct span header)
{
  return span_find(header, SPAN("to=")) < header.len;
}

static enum schema_channel read_channels(struct span text, struct span *retfinal)
{
  enum schema_channel found = SCHEMA_CHANNEL_NONE;
  struct schema_mark mark;
  size_t from = 0; /* of the header: <|start|>assistant to=… <|channel|>… */
  for (size_t at = 0; at < text.len; at++) {
    if (text.ptr[at] != '<' || !schema_mark_read(text, at, &mark)) continue;
    if (!mark.bar_front || !mark.bar_back) continue;
    if (strcmp(mark.name, "start") == 0) from = mark.end;
    if (strcmp(mark.name, "channel") != 0) continue;
    struct span word, header, content, before = { text.ptr + from, at - from };
    at = read_channel(text, mark.end, &word, &header, &content) - 1;
    if (names_recipient(header) || (from && names_recipient(before))) return SCHEMA_CHANNEL_CALL;
    from = 0;
    if (span_is(word, "final")) {
      *retfinal = content;
      found = SCHEMA_CHANNEL_FINAL;
    } else if (found == SCHEMA_CHANNEL_NONE) {
      found = SCHEMA_CHANNEL_REASONING;
    }
  }
  return found;
}

/* The words of the channels where the server has dropped the tokens: analysis…assistantfinal… */
static enum schema_channel read_stripped(struct span text, struct span *retfinal)
{
  static const char *const starts[] = { "analysis", "commentary", "assistantanalysis",
                                        "assistantcommentary", "assistantfinal" };
  struct span t = schema_trim_blank(text), final = SPAN("assistantfinal");
  size_t n = 0;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (span_starts(t, span_of(starts[i]))) n = strlen(starts[i]);
  if (n == 0 || n >= t.len) return SCHEMA_CHANNEL_NONE;
  const char *hit = t.ptr - 1, *last = NULL;
  while ((hit = memmem(hit + 1, (size_t)(t.ptr + t.len - hit - 1), final.ptr, final.len)))
    last = hit + final.len;
  struct span before = { t.ptr, last ? (size_t)(last - t.ptr) : 0 };
  if (span_find(before, SPAN(" to=functions.")) < before.len) return SCHEMA_CHANNEL_CALL;
  if (last) {
    *retfinal = (struct span) { last, (size_t)(t.ptr + t.len - last) };
    return SCHEMA_CHANNEL_FINAL;
  }
  char next = t.ptr[n]; /* "analysisThe user …", not "analysis of …" */
  bool glued = (next >= 'A' && next <= 'Z') || (next & 0x80);
  return glued && *t.ptr == 'a' ? SCHEMA_CHANNEL_REASONING : SCHEMA_CHANNEL_NONE;
}

enum schema_channel schema_reasoning_channel(struct span text, struct span *retfinal)
{
  if (text.len == 0) return SCHEMA_CHANNEL_NONE;
  enum schema_channel stripped = read_stripped(text, retfinal);
  if (stripped != SCHEMA_CHANNEL_NONE || !memchr(text.ptr, '<', text.len)) return stripped;
  return read_channels(text, retfinal);
}
