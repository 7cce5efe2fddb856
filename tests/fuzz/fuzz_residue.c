/* fuzz_residue: the readers of words on any bytes. They end, they stay inside the text, and the
 * glance that comes before them has seen whatever they find. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/call.h"
#include "schema/glance.h"
#include "schema/layer.h"
#include "schema/leak.h"
#include "schema/markup.h"
#include "schema/prose.h"
#include "schema/reasoning.h"
#include "schema/residue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds, const char *what)
{
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

static bool is_inside(struct span part, struct span whole)
{
  return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_calls(struct span text)
{
  size_t at = 0;
  bool call = schema_residue_tool_call(text, &at);
  unsigned seen = schema_glance(text);
  need(seen == schema_glance_portable(text), "both glances see the same");
  need(schema_glance_markup(text) == ((seen & SCHEMA_GLANCE_MARKUP) != 0), "so does the third");
  need(!schema_reasoning_possible(text) || seen & SCHEMA_GLANCE_MARKUP, "and reasoning");
  need(!call || at < text.len, "a call begins inside the text");
  need(!call || seen & SCHEMA_GLANCE_MARKUP, "a call is seen at a glance");
  if (schema_residue_tool_call_around(text, NULL))
    need(call, "what is a call around a reply is one anywhere");
}

static void check_leaks(struct span text, struct arena *arena)
{
  static const struct schema_private hide = { { "/home/bot", 9 }, { "C:\\bot", 6 } };
  struct schema_repairs repairs = { .count = 0 };
  struct span masked;
  enum schema_leak leak = schema_leak_mask(text, NULL, 0, arena, &repairs, &masked);
  need(leak != SCHEMA_LEAK_MASKED || schema_glance(text) & SCHEMA_GLANCE_SECRET,
       "a secret is seen at a glance");
  need((leak == SCHEMA_LEAK_MASKED) == (repairs.count > 0), "what was masked is noted");
  schema_leak_mask(text, &hide, 0, arena, &repairs, &masked);
  need(masked.len <= text.len * 4 + 16, "masking does not blow up");
  schema_leak_in_address(text);
}

static void check_reasoning(struct span text, struct arena *arena)
{
  struct schema_reasoning reasoning;
  struct span final;
  need(schema_reasoning_cut(text, arena, &reasoning), "there is memory");
  need(reasoning.text.len <= text.len, "cutting makes shorter");
  need(!reasoning.cut || schema_reasoning_possible(text), "reasoning is seen before it is cut");
  need(reasoning.cut || span_eq(reasoning.text, text), "or all is left");
  if (schema_reasoning_channel(text, &final) == SCHEMA_CHANNEL_FINAL)
    need(is_inside(final, text), "the final channel is part of the text");
}

static void check_prose(struct span text, struct arena *arena)
{
  struct span *texts, inner;
  size_t count;
  bool fenced;
  enum schema_repair_kind kind;
  need(is_inside(schema_prose_bare(text), text), "bare prose is part of the text");
  need(is_inside(schema_prose_bare_inside(text), text), "and that of a text inside a reply");
  need(is_inside(schema_prose_unfence(text, &fenced), text), "and without its fence");
  need(schema_prose_split(text, true, arena, &texts, &count), "there is memory");
  for (size_t i = 0; texts && i < count; i++) {
    need(is_inside(texts[i], text), "wrapped texts are part of the text");
    need(texts[i].len > 0, "and none is empty");
  }
  need(schema_prose_clean(text, arena).len <= text.len, "cleaning makes shorter");
  schema_prose_is_error_page(text);
  if (schema_layer_decode(text, arena, &inner, &kind))
    need(inner.len < text.len, "a layer less is shorter");
}

static void check_readers(struct span text)
{
  struct schema_quoted_reader codes = { 0 };
  struct schema_quoted code;
  struct schema_mark mark;
  for (size_t at = 0; at < text.len;) {
    size_t next = at + 1, reach;
    if (text.ptr[at] == '`') {
      bool is = schema_quoted_read(&codes, text, at, &code);
      need(code.end > at && code.end <= text.len, "code moves forward");
      need(!is || (code.inner_begin <= code.inner_end && code.inner_end <= code.end), "in order");
      next = code.end;
    } else if (schema_mark_read(text, at, &mark)) {
      need(mark.end > at && mark.end <= text.len, "a mark moves forward");
      need(!(mark.complete && mark.truncated), "and is whole or cut");
    } else if (text.ptr[at] == '{') {
      schema_call_json(text, at, &reach);
      need(reach > at && reach <= text.len, "an object moves forward");
    }
    at = next;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena;
  struct span text = { size ? (const char *)data : "", size };
  arena_init(&arena, 1 << 26);
  check_calls(text);
  check_leaks(text, &arena);
  check_reasoning(text, &arena);
  check_prose(text, &arena);
  if (size < 4096) check_readers(text); /* each place is looked at: too much for long texts */
  arena_done(&arena);
  return 0;
}
