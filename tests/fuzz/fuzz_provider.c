/* A dialect, how the bytes are cut, and the bytes of an answer, whole or as a stream: it comes to the
 * same however it is cut, what it comes to is an answer or none, and what is said of it next can be
 * written for every dialect. */
#include <stdlib.h>

#include "plugin/provider/stream.h"

enum { ARENA_MAX = 256 << 20 };

static const char *const dialects[] = { "openai", "mistral", "anthropic", "gemini", "ollama" };
enum { DIALECTS = sizeof dialects / sizeof *dialects };

/* Feeds the bytes in pieces of step; 0: in one. Returns whether all were taken. */
static bool feed(struct rg_stream *s, struct span bytes, size_t step)
{
  if (step == 0) return rg_stream_feed(s, bytes);
  for (size_t at = 0; at < bytes.len; at += step) {
    size_t n = bytes.len - at < step ? bytes.len - at : step;
    if (!rg_stream_feed(s, (struct span) { bytes.ptr + at, n })) return false;
  }
  return true;
}

static enum rg_stream_end read_stream(const struct rg_provider *config, struct span bytes,
                                      size_t step, struct buf *body)
{
  struct rg_stream s;
  rg_stream_init(&s, config);
  if (!feed(&s, bytes, step) && !s.too_large && !s.broken) abort();
  enum rg_stream_end end = rg_stream_finish(&s, body);
  rg_stream_done(&s);
  return end;
}

/* The answer becomes part of the talk, in every dialect. */
static void say_next(const struct rg_provider_answer *a, struct arena *arena)
{
  const struct rg_said said[] = {
    { .by = RG_SAID_USER, .text = SPAN("x") },
    { .by = RG_SAID_MODEL, .text = a->said.text, .calls = a->calls, .call_count = a->call_count },
    { .by = RG_SAID_TOOL,
      .text = SPAN("{}"),
      .call_id = a->call_count ? a->calls[0].id : SPAN("c"),
      .tool = a->call_count ? a->calls[0].name : SPAN("t") },
  };
  for (size_t i = 0; i < DIALECTS; i++) {
    const struct rg_provider config = { .dialect = span_of(dialects[i]), .model = SPAN("m") };
    const struct rg_ask ask = { .config = &config, .said = said, .said_count = 3 };
    struct rg_provider_call call;
    struct schema_node *tree;
    if (!rg_provider_write(&ask, arena, &call)) abort();
    enum schema_code code = schema_tree_read(call.body, SCHEMA_DEPTH_SCHEMA, arena, &tree, NULL);
    if (code != SCHEMA_OK && code != SCHEMA_EDEPTH)
      abort(); /* Gemini's parts go back as they came */
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 2) return 0;
  const struct rg_provider config = { .dialect = span_of(dialects[data[0] % DIALECTS]) };
  struct span bytes = { (const char *)data + 2, size - 2 };
  struct buf whole, cut;
  struct arena arena;
  struct rg_provider_answer answer;
  buf_init(&whole, 1 << 28);
  buf_init(&cut, 1 << 28);
  arena_init(&arena, ARENA_MAX);
  enum rg_stream_end end = read_stream(&config, bytes, 0, &whole);
  if (read_stream(&config, bytes, data[1] % 64 + 1, &cut) != end) abort();
  if (!span_eq(buf_span(&whole), buf_span(&cut))) abort();
  (void)rg_provider_is_overflow(buf_span(&whole));
  if (end == RG_STREAM_WHOLE && rg_provider_read(&config, buf_span(&whole), &arena, &answer) &&
      !answer.failed) {
    if (answer.call_count > RG_CALLS_MAX) abort();
    say_next(&answer, &arena);
  }
  arena_done(&arena);
  buf_done(&whole);
  buf_done(&cut);
  return 0;
}
