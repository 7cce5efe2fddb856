/* stream: see stream.h. */
#include "plugin/provider/stream.h"

/* The next line of a text, without its end; the text begins behind it afterwards. */
static struct span line_take(struct span *text)
{
  const char *end = memchr(text->ptr, '\n', text->len);
  size_t n = end ? (size_t)(end - text->ptr) : text->len;
  struct span line = { text->ptr, n };
  text->ptr += n + (end != NULL);
  text->len -= n + (end != NULL);
  return span_trim(line);
}

bool rg_stream_is_one(struct span body)
{
  static const char *const heads[] = { "data:", "event:", "id:", "retry:", ":" };
  struct span rest = span_trim(body);
  if (rest.len == 0) return false;
  struct span first = line_take(&rest);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (span_starts(first, span_of(heads[i]))) return true;
  return rest.len > 0 && span_starts(first, SPAN("{")) && span_ends(first, SPAN("}")) &&
         span_starts(span_trim(rest), SPAN("{"));
}

/* What a line carries: the data of SSE, a line of JSON; empty: nothing. */
static struct span data_of(struct span line)
{
  const struct span data = SPAN("data:");
  if (span_starts(line, data))
    return span_trim((struct span) { line.ptr + data.len, line.len - data.len });
  return span_starts(line, SPAN("{")) ? line : (struct span) { NULL, 0 };
}

bool rg_stream_read(struct span body, struct arena *arena, struct rg_stream *ret)
{
  size_t lines = 1;
  for (size_t i = 0; i < body.len; i++) lines += body.ptr[i] == '\n';
  *ret = (struct rg_stream) { .count = 0 };
  if (lines > 4 * (size_t)RG_STREAM_EVENTS_MAX) return false;
  ret->events = arena_zalloc(arena, lines, sizeof *ret->events);
  if (!ret->events) return false;
  while (body.len > 0) {
    struct span data = data_of(line_take(&body));
    struct schema_node *tree = NULL;
    if (span_is(data, "[DONE]")) ret->done = true;
    if (data.len == 0) continue;
    if (schema_tree_read(data, SCHEMA_DEPTH_SCHEMA, arena, &tree, NULL) == SCHEMA_OK &&
        tree->kind == SCHEMA_OBJECT)
      ret->events[ret->count++] = tree;
  }
  return !arena->failed;
}
