#include "onebot/compose.h"

#include "schema/residue.h"

enum {
  SEND_MAX = 256 * 1024 * 1024, /* a reply's text of 64 MiB, each byte escaped, ends below */
  STEPS_FIRST = 8,
  PIECE = 2048, /* where a send is printed: a usual one fits, and the rest goes back */
};

void ob_compose_init(struct ob_compose *c, struct span action, struct span head, struct span tail,
                     struct arena *arena)
{
  memset(c, 0, sizeof *c);
  c->arena = arena;
  c->action = action;
  c->head = head;
  c->tail = tail;
  buf_init(&c->out, SEND_MAX);
  buf_init(&c->words, SEND_MAX);
  c->w.out = &c->out;
}

void ob_compose_done(struct ob_compose *c)
{
  buf_done(&c->out);
  buf_done(&c->words);
}

/* A literal is put as a few stores where the compiler knows its length. The first bytes, as many as
 * skip says, may be left out. */
#define PUT_FROM(buf, literal, skip) put(buf, literal "\0", sizeof(literal) - 1, skip)
#define PUT(buf, literal) PUT_FROM(buf, literal, 0)

static inline void put(struct buf *b, const char *literal, size_t n, size_t skip)
{
  if (!buf_reserve(b, n)) return;
  memcpy(b->ptr + b->len, literal + skip, n + 1); /* with its NUL */
  b->len += n - skip;
}

/* buf_add in line. */
static inline void put_span(struct buf *b, struct span s)
{
  if (s.len == 0 || !buf_reserve(b, s.len)) return;
  memcpy(b->ptr + b->len, s.ptr, s.len);
  b->len += s.len;
  b->ptr[b->len] = '\0';
}

static struct ob_step *new_step(struct ob_compose *c)
{
  if (c->count == c->room) {
    size_t room = c->room ? c->room * 2 : STEPS_FIRST;
    struct ob_step *grown = arena_alloc(c->arena, room * sizeof *grown);
    if (!grown) return NULL;
    if (c->count) memcpy(grown, c->steps, c->count * sizeof *grown);
    c->steps = grown;
    c->room = room;
  }
  return &c->steps[c->count++];
}

/* Lends the send that begins a piece of the arena. One that outgrew its piece goes on in memory of
 * its own, as all do where the arena gives nothing more. */
static void begin_piece(struct ob_compose *c)
{
  if (c->out.ptr) return;
  char *piece = arena_alloc(c->arena, PIECE);
  if (piece) buf_lend(&c->out, SEND_MAX, piece, PIECE);
}

/* What was printed, in the arena: where it stands if nothing was allocated since, else a copy. */
static struct span take_params(struct ob_compose *c)
{
  struct span params = buf_span(&c->out);
  if (params.ptr != c->out.lent || !arena_trim(c->arena, c->out.lent, PIECE, params.len + 1))
    return arena_copy(c->arena, params);
  bool failed = c->out.failed;
  buf_init(&c->out, SEND_MAX);
  c->out.failed = failed;
  return params;
}

/* Ends the send that was begun, if it shows anything. */
static void flush(struct ob_compose *c)
{
  if (c->texts > 1) c->call = c->call || schema_residue_tool_call(buf_span(&c->words), NULL);
  c->texts = c->words.len = 0;
  if (c->visible) {
    put_span(&c->out, c->tail);
    struct span params = take_params(c); /* first, while nothing stands behind it */
    struct ob_step *step = new_step(c);
    if (step)
      *step = (struct ob_step) { .kind = OB_STEP_SEND,
                                 .action = c->action,
                                 .params = params,
                                 .message = c->message,
                                 .chars = c->chars,
                                 .card = c->card,
                                 .card_text = c->card_text };
    c->quote.len = 0;
  }
  c->out.len = 0; /* a failure stays */
  c->visible = c->card = false;
  c->card_text.len = 0;
  c->chars = 0;
  c->last = OB_LAST_NONE;
}

struct span ob_compose_quote(struct span id, struct arena *arena)
{
  struct buf out;
  buf_init(&out, SEND_MAX);
  struct schema_writer w = { .out = &out };
  buf_add(&out, SPAN("{\"type\":\"reply\",\"data\":{\"id\":"));
  schema_write_string(&w, id);
  buf_add(&out, SPAN("}}"));
  struct span quote = out.failed ? (struct span) { 0 } : arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return quote;
}

void ob_compose_message(struct ob_compose *c, size_t index, struct span quote)
{
  flush(c);
  c->message = index;
  c->quote = quote;
}

static void begin_send(struct ob_compose *c)
{
  begin_piece(c);
  put_span(&c->out, c->head);
  put_span(&c->out, c->quote);
  c->w.comma = c->quote.len > 0;
}

/* Begins a segment with a literal, which begins with the comma between two. */
#define BEGIN(c, literal)                                                                          \
  do {                                                                                             \
    if ((c)->out.len == 0) begin_send(c);                                                          \
    PUT_FROM(&(c)->out, literal, !(c)->w.comma);                                                   \
    (c)->w.comma = false;                                                                          \
  } while (0)

/* Keeps a text beside the others of the send, the first in a piece of the arena. */
static void watch_text(struct ob_compose *c, struct span text)
{
  char *piece = c->words.ptr ? NULL : arena_alloc(c->arena, text.len + 1);
  if (piece) buf_lend(&c->words, SEND_MAX, piece, text.len + 1);
  buf_add(&c->words, text);
  c->texts++;
}

static void add_text(struct ob_compose *c, struct span text)
{
  if (c->watch) watch_text(c, text); /* before the send takes the end of the arena */
  BEGIN(c, ",{\"type\":\"text\",\"data\":{\"text\":");
  c->chars += schema_write_string(&c->w, text);
  PUT(&c->out, "}}");
  c->visible = c->visible || !span_is_blank(text);
}

/* Puts a line end behind the text that stands last. */
static void end_line(struct ob_compose *c)
{
  if (c->out.failed) return;
  c->out.len -= sizeof "\"}}" - 1;
  PUT(&c->out, "\\n\"}}");
}

void ob_compose_text(struct ob_compose *c, struct span text)
{
  if (text.len == 0) return;
  if (c->last == OB_LAST_BLOCK && text.ptr[0] != '\n') end_line(c);
  add_text(c, text);
  c->last = text.ptr[text.len - 1] == '\n' ? OB_LAST_LINE : OB_LAST_TEXT;
}

void ob_compose_block(struct ob_compose *c, struct span text)
{
  if (text.len == 0) return;
  if (c->last == OB_LAST_TEXT || c->last == OB_LAST_BLOCK) end_line(c);
  if (c->last == OB_LAST_AT) add_text(c, SPAN("\n"));
  add_text(c, text);
  c->last = text.ptr[text.len - 1] == '\n' ? OB_LAST_LINE : OB_LAST_BLOCK;
}

void ob_compose_at(struct ob_compose *c, struct span target)
{
  if (c->last == OB_LAST_BLOCK) end_line(c);
  BEGIN(c, ",{\"type\":\"at\",\"data\":{\"qq\":");
  schema_write_string(&c->w, target);
  PUT(&c->out, "}}");
  c->visible = true;
  c->last = OB_LAST_AT;
}

struct schema_writer *ob_compose_open(struct ob_compose *c, bool alone)
{
  if (alone) flush(c);
  c->alone = alone;
  BEGIN(c, ",");
  return &c->w;
}

void ob_compose_close(struct ob_compose *c)
{
  c->visible = true;
  c->last = OB_LAST_NONE;
  if (c->alone) flush(c);
  c->alone = false;
}

void ob_compose_is_card(struct ob_compose *c, struct span text)
{
  c->card = true;
  c->card_text = text;
}

void ob_compose_step(struct ob_compose *c, enum ob_step_kind kind, struct span action,
                     struct span params)
{
  flush(c);
  struct ob_step *step = new_step(c);
  if (step)
    *step = (struct ob_step) {
      .kind = kind, .action = action, .params = params, .message = c->message
    };
}

bool ob_compose_end(struct ob_compose *c, struct ob_plan *ret)
{
  flush(c);
  if (c->out.failed || c->words.failed || c->arena->failed) return false;
  *ret = (struct ob_plan) { c->steps, c->count };
  return true;
}
