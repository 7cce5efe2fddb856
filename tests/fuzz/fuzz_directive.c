/* Any text as an assistant's reply: what is left is well-formed and no longer than it was, every
 * attachment may be one, a stream of it shows no more than it holds, embeds leave with their text. */
#include <stdlib.h>

#include "schema/directive.h"
#include "schema/embed.h"
#include "schema/reference.h"
#include "schema/stream.h"
#include "schema/verbatim.h"

enum { ARENA_MAX = 64 << 20 };

static void must(bool b)
{
  if (!b) abort();
}

static void read_whole(struct span text, unsigned options)
{
  struct schema_directive_options o = { .current_message_id = SPAN("1"),
                                        .media_lines = options & 1,
                                        .markdown_images = options & 2 };
  struct schema_directives d;
  struct schema_reply reply;
  struct arena arena;
  arena_init(&arena, ARENA_MAX);
  must(schema_directives_read(text, &o, &arena, &d));
  must(d.text.len <= text.len && span_utf8_fault(d.text) == d.text.len);
  must(options || d.media_count == 0);
  for (size_t i = 0; i < d.media_count; i++) {
    must(!schema_reference_fault(d.media[i], SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_BARE));
    must(span_utf8_fault(d.media[i]) == d.media[i].len);
    must(schema_reference_key(d.media[i], &arena).ptr != NULL);
  }
  must(!d.reply_to_id.ptr || d.reply_to_id.len);
  must(schema_directives_reply(&d, &arena, &reply));
  arena_done(&arena);
}

static void read_embeds(struct span text)
{
  struct schema_embeds e;
  struct schema_verbatims v;
  struct arena arena;
  arena_init(&arena, ARENA_MAX);
  must(schema_embeds_take(text, &arena, &e));
  must(e.text.len <= text.len && span_utf8_fault(e.text) == e.text.len);
  for (size_t i = 0; i < e.count; i++) (void)schema_embed_renderable(e.items[i].url, true);
  (void)schema_embed_renderable(text, false);
  must(schema_verbatim_find(text, &arena, &v));
  for (size_t i = 0, end = 0; i < v.count; i++) {
    must(v.items[i].start >= end && v.items[i].end > v.items[i].start);
    end = v.items[i].end;
    must(end <= text.len);
  }
  arena_done(&arena);
}

static void read_stream(struct span text, size_t step)
{
  struct schema_stream s;
  struct span shown;
  struct arena arena;
  size_t total = 0;
  arena_init(&arena, ARENA_MAX);
  schema_stream_init(&s);
  for (size_t at = 0; at < text.len; at += step) {
    struct span chunk = { text.ptr + at, text.len - at < step ? text.len - at : step };
    must(schema_stream_push(&s, chunk, false, &arena, &shown));
    total += shown.len;
  }
  must(schema_stream_push(&s, SPAN(""), true, &arena, &shown));
  must(total + shown.len <= text.len);
  schema_stream_done(&s);
  arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct span text = { (const char *)data, size };
  if (size == 0 || span_utf8_fault(text) != size) return 0;
  for (unsigned options = 0; options < 4; options++) read_whole(text, options);
  read_embeds(text);
  read_stream(text, 1 + size % 7);
  return 0;
}
