/* stream: see stream.h. */
#include "plugin/provider/stream.h"

enum { EVENT_ARENA_MAX = 8 * RG_PROVIDER_BODY_MAX }; /* the tree of the largest event */

/* ---- what events come to ---- */

enum { BUFS = 7 };

static void joined_bufs(struct rg_joined *j, struct buf *ret[BUFS])
{
  struct buf *const all[BUFS] = { &j->text,  &j->refusal,  &j->parts, &j->stop,
                                  &j->usage, &j->feedback, &j->error };
  memcpy(ret, all, sizeof all);
}

static void joined_init(struct rg_joined *j)
{
  struct buf *all[BUFS];
  *j = (struct rg_joined) { .status = 0 };
  joined_bufs(j, all);
  for (size_t i = 0; i < BUFS; i++) buf_init(all[i], RG_STREAM_BYTES_MAX);
  for (size_t i = 0; i < RG_CALLS_MAX; i++) {
    buf_init(&j->calls[i].id, RG_STREAM_BYTES_MAX);
    buf_init(&j->calls[i].name, RG_STREAM_BYTES_MAX);
    buf_init(&j->calls[i].arguments, RG_STREAM_BYTES_MAX);
  }
}

static void joined_done(struct rg_joined *j)
{
  struct buf *all[BUFS];
  joined_bufs(j, all);
  for (size_t i = 0; i < BUFS; i++) buf_done(all[i]);
  for (size_t i = 0; i < RG_CALLS_MAX; i++) {
    buf_done(&j->calls[i].id);
    buf_done(&j->calls[i].name);
    buf_done(&j->calls[i].arguments);
  }
}

static bool joined_failed(struct rg_joined *j)
{
  struct buf *all[BUFS];
  bool failed = false;
  joined_bufs(j, all);
  for (size_t i = 0; i < BUFS; i++) failed |= all[i]->failed;
  for (size_t i = 0; i < RG_CALLS_MAX; i++)
    failed |= j->calls[i].id.failed || j->calls[i].name.failed || j->calls[i].arguments.failed;
  return failed;
}

void rg_joined_set(struct buf *b, struct span text)
{
  if (text.len == 0) return;
  buf_clear(b);
  buf_add(b, text);
}

void rg_joined_part(struct rg_joined *j, struct span raw)
{
  if (j->parts.len > 0) buf_add_char(&j->parts, ',');
  buf_add(&j->parts, raw);
}

/* ---- events ---- */

/* One event, if it is JSON: else it is passed over. Returns whether it was one. */
static bool event(struct rg_stream *s, struct span json)
{
  struct schema_node *tree = NULL;
  struct rg_joined *j = &s->joined;
  arena_reset(&s->arena);
  if (span_is(json, "[DONE]")) {
    j->ended = true;
    return true;
  }
  enum schema_code code = schema_tree_read(json, SCHEMA_DEPTH_SCHEMA, &s->arena, &tree, NULL);
  if (code == SCHEMA_ENOMEM) s->broken = true; /* an answer with a hole would look whole */
  if (code != SCHEMA_OK || tree->kind != SCHEMA_OBJECT) return false;
  if (++s->events > RG_STREAM_EVENTS_MAX) s->too_large = true;
  const struct schema_node *error = schema_tree_get(tree, "error");
  if (j->failed || s->too_large) return true;
  if (error && error->kind != SCHEMA_NULL) {
    j->failed = j->ended = true;
    j->status = s->dialect->error_status ? s->dialect->error_status(error)
                                         : (int64_t)rg_dialect_count(error, "code");
    buf_add(&j->error, error->raw);
  } else {
    s->dialect->add(j, tree);
  }
  return true;
}

/* The lines of data held so far are all of their event. */
static void dispatch(struct rg_stream *s)
{
  if (s->data.len > 0) event(s, buf_span(&s->data));
  buf_clear(&s->data);
}

/* One line without its end: a field of SSE, a line of JSON, or nothing. */
static void line(struct rg_stream *s, struct span text)
{
  const struct span field = SPAN("data:");
  text = span_trim(text);
  if (text.len == 0) {
    dispatch(s);
  } else if (span_starts(text, SPAN("{"))) {
    event(s, text);
  } else if (span_starts(text, field)) {
    struct span data = span_trim((struct span) { text.ptr + field.len, text.len - field.len });
    if (s->data.len == 0 && event(s, data)) return; /* nearly always: one line an event */
    if (s->data.len > 0) buf_add_char(&s->data, '\n');
    if (!buf_add(&s->data, data)) s->too_large = true;
  }
}

/* ---- lines ---- */

/* The whole lines among those bytes; what has no end yet stays in s->line. */
static void lines(struct rg_stream *s, struct span bytes)
{
  while (bytes.len > 0 && !s->too_large) {
    if (s->after_cr && bytes.ptr[0] == '\n') bytes.ptr++, bytes.len--;
    s->after_cr = false;
    size_t n = 0;
    while (n < bytes.len && bytes.ptr[n] != '\n' && bytes.ptr[n] != '\r') n++;
    struct span piece = { bytes.ptr, n };
    if (n == bytes.len) {
      if (n > 0 && !buf_add(&s->line, piece)) s->too_large = true;
      return;
    }
    s->after_cr = bytes.ptr[n] == '\r';
    if (s->line.len > 0) {
      buf_add(&s->line, piece);
      line(s, buf_span(&s->line));
      buf_clear(&s->line);
    } else {
      line(s, piece);
    }
    bytes.ptr += n + 1;
    bytes.len -= n + 1;
  }
}

/* ---- which form it has ---- */

static bool begins_sse(struct span first)
{
  static const char *const heads[] = { "data:", "event:", "id:", "retry:", ":" };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (span_starts(first, span_of(heads[i]))) return true;
  return false;
}

static struct span without_mark(struct span text)
{
  const struct span mark = SPAN("\xEF\xBB\xBF");
  if (!span_starts(text, mark)) return text;
  return (struct span) { text.ptr + mark.len, text.len - mark.len };
}

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Looks at the bytes that came until now: a stream has a first line of SSE, or several lines that
 * each are an object. */
static void find_form(struct rg_stream *s)
{
  struct span all = buf_span(&s->line);
  if (s->first_end == 0) {
    while (s->looked < all.len && all.ptr[s->looked] != '\n' && all.ptr[s->looked] != '\r')
      s->looked++;
    if (s->looked == all.len) return;
    s->first_end = s->looked;
  }
  struct span first = span_trim((struct span) { all.ptr, s->first_end });
  while (s->looked < all.len && is_space(all.ptr[s->looked])) s->looked++;
  if (begins_sse(without_mark(first))) {
    s->form = RG_STREAM_LINES;
  } else if (!span_starts(first, SPAN("{")) || !span_ends(first, SPAN("}"))) {
    s->form = RG_STREAM_ONE_BODY;
  } else if (s->looked < all.len) {
    s->form = all.ptr[s->looked] == '{' ? RG_STREAM_LINES : RG_STREAM_ONE_BODY;
  }
}

/* The bytes that were held for want of a form, as lines. */
static void release(struct rg_stream *s)
{
  struct buf held = s->line;
  buf_init(&s->line, RG_PROVIDER_BODY_MAX);
  lines(s, without_mark(buf_span(&held)));
  buf_done(&held);
}

/* ---- the reader ---- */

void rg_stream_init(struct rg_stream *s, const struct rg_provider *config)
{
  *s = (struct rg_stream) { .dialect = rg_dialect_of(config) };
  buf_init(&s->line, RG_PROVIDER_BODY_MAX);
  buf_init(&s->data, RG_PROVIDER_BODY_MAX);
  arena_init(&s->arena, EVENT_ARENA_MAX);
  joined_init(&s->joined);
}

void rg_stream_done(struct rg_stream *s)
{
  buf_done(&s->line);
  buf_done(&s->data);
  arena_done(&s->arena);
  joined_done(&s->joined);
}

bool rg_stream_feed(struct rg_stream *s, struct span piece)
{
  size_t most = s->form == RG_STREAM_LINES ? RG_STREAM_BYTES_MAX : RG_PROVIDER_BODY_MAX;
  if (piece.len > most - s->bytes) s->too_large = true;
  if (s->too_large) return false;
  s->bytes += piece.len;
  if (s->form == RG_STREAM_LINES) {
    lines(s, piece);
    return !s->too_large && !s->broken;
  }
  while (s->line.len == 0 && piece.len > 0 && is_space(piece.ptr[0])) piece.ptr++, piece.len--;
  buf_add(&s->line, piece);
  if (s->form == RG_STREAM_UNKNOWN) find_form(s);
  if (s->form == RG_STREAM_LINES) release(s);
  return !s->too_large && !s->broken;
}

bool rg_stream_ended(const struct rg_stream *s)
{
  return s->joined.ended;
}

enum rg_stream_end rg_stream_finish(struct rg_stream *s, struct buf *body)
{
  struct schema_writer w = { .out = body };
  struct rg_joined *j = &s->joined;
  if (s->too_large) return RG_STREAM_TOO_LARGE;
  if (s->form == RG_STREAM_UNKNOWN && begins_sse(without_mark(buf_span(&s->line)))) {
    s->form = RG_STREAM_LINES;
    release(s);
  }
  if (s->form != RG_STREAM_LINES) {
    buf_add(body, buf_span(&s->line));
    return body->failed ? RG_STREAM_BROKEN : RG_STREAM_WHOLE;
  }
  if (s->line.len > 0) line(s, buf_span(&s->line));
  buf_clear(&s->line);
  dispatch(s);
  if (!j->ended || s->broken || joined_failed(j)) return RG_STREAM_BROKEN;
  if (j->failed)
    rg_dialect_write_error(&w, j->status, buf_span(&j->error));
  else
    s->dialect->write_joined(j, &w);
  return body->failed ? RG_STREAM_BROKEN : RG_STREAM_WHOLE;
}
