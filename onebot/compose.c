#include "onebot/compose.h"

#include "schema/residue.h"

enum {
  SEND_MAX = 256 * 1024 * 1024, /* a reply's text of 64 MiB, each byte escaped, ends below */
  STEPS_FIRST = 8,
};

void ob_compose_init(struct ob_compose *c, struct span action, struct span head, struct span tail,
                     struct arena *arena)
{
  memset(c, 0, offsetof(struct ob_compose, first));
  c->arena = arena;
  c->action = action;
  c->head = head;
  c->tail = tail;
  buf_lend(&c->out, SEND_MAX, c->first, sizeof c->first);
  buf_init(&c->words, SEND_MAX);
  c->w.out = &c->out;
}

void ob_compose_done(struct ob_compose *c)
{
  buf_done(&c->out);
  buf_done(&c->words);
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

/* Ends the send that was begun, if it shows anything. */
static void flush(struct ob_compose *c)
{
  if (c->texts > 1) c->call = c->call || schema_residue_tool_call(buf_span(&c->words), NULL);
  c->texts = c->words.len = 0;
  if (c->visible) {
    buf_add(&c->out, c->tail);
    struct ob_step *step = new_step(c);
    if (step)
      *step = (struct ob_step) { .kind = OB_STEP_SEND,
                                 .action = c->action,
                                 .params = arena_copy(c->arena, buf_span(&c->out)),
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

/* A literal is put as a few stores where the compiler knows its length. */
#define PUT(buf, literal) put(buf, "" literal, sizeof(literal) - 1)

static inline void put(struct buf *b, const char *literal, size_t n)
{
  if (!buf_reserve(b, n)) return;
  memcpy(b->ptr + b->len, literal, n + 1); /* with its NUL */
  b->len += n;
}

static void begin_segment(struct ob_compose *c)
{
  if (c->out.len == 0) {
    buf_add(&c->out, c->head);
    buf_add(&c->out, c->quote);
    c->w.comma = c->quote.len > 0;
  }
  if (c->w.comma) buf_add_char(&c->out, ',');
  c->w.comma = false;
}

static void add_text(struct ob_compose *c, struct span text)
{
  begin_segment(c);
  PUT(&c->out, "{\"type\":\"text\",\"data\":{\"text\":");
  schema_write_string(&c->w, text);
  PUT(&c->out, "}}");
  c->chars += span_chars(text);
  if (c->watch) {
    c->texts++;
    buf_add(&c->words, text);
  }
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
  begin_segment(c);
  PUT(&c->out, "{\"type\":\"at\",\"data\":{\"qq\":");
  schema_write_string(&c->w, target);
  PUT(&c->out, "}}");
  c->visible = true;
  c->last = OB_LAST_AT;
}

struct schema_writer *ob_compose_open(struct ob_compose *c, bool alone)
{
  if (alone) flush(c);
  c->alone = alone;
  begin_segment(c);
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
