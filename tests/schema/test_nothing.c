/* nothing: a span without bytes may have no pointer either (bytes.h). Every reader of text is given
 * one; what adds to that pointer, or hands it to memchr and its like, the undefined sanitizer tells. */
#include <criterion/criterion.h>

#include "schema/answer.h"
#include "schema/attach.h"
#include "schema/bracket.h"
#include "schema/call.h"
#include "schema/directive.h"
#include "schema/document.h"
#include "schema/embed.h"
#include "schema/glance.h"
#include "schema/keys.h"
#include "schema/layer.h"
#include "schema/leak.h"
#include "schema/markup.h"
#include "schema/prose.h"
#include "schema/provider.h"
#include "schema/reasoning.h"
#include "schema/reference.h"
#include "schema/remote.h"
#include "schema/residue.h"
#include "schema/silence.h"
#include "schema/tag.h"
#include "schema/verbatim.h"
#include "schema/verdict.h"
#include "schema/white.h"

static const struct span nothing = { NULL, 0 };

static struct arena new_arena(void)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  return arena;
}

Test(nothing, is_no_text)
{
  struct span t = span_trim(nothing);
  cr_expect_eq(t.len, 0);
  cr_expect(span_starts(nothing, nothing) && span_ends(nothing, nothing));
  cr_expect(span_eq(nothing, SPAN("")) && span_eq_nocase(nothing, SPAN("")));
  cr_expect(span_is_blank(nothing));
  cr_expect_eq(span_find(nothing, SPAN("a")), 0);
  cr_expect_eq(span_find(SPAN("a"), nothing), 0);
  cr_expect_eq(span_chars(nothing), 0);
  cr_expect_eq(span_utf8_fault(nothing), 0);
  cr_expect_eq(schema_trim_blank(nothing).len, 0);
  cr_expect_eq(schema_skip_blank(nothing, 0), 0);
  cr_expect(schema_at_line_begin(nothing, 0));
  cr_expect_not(schema_has_words(nothing));
  cr_expect_eq(schema_white_trim(nothing).len, 0);
  cr_expect_eq(schema_white_at(nothing, 0), 0);
  cr_expect_eq(schema_white_before(nothing, 0), 0);
  cr_expect_not(schema_white_in(nothing, 0));
  cr_expect_eq(schema_utf16_length(nothing), 0);
}

Test(nothing, is_held_by_buffers_and_arenas)
{
  struct arena arena = new_arena();
  struct buf b;
  struct span parts[] = { nothing, nothing };
  buf_init(&b, 10);
  cr_expect(buf_add(&b, nothing));
  cr_expect_eq(buf_span(&b).len, 0);
  buf_done(&b);
  cr_expect_eq(arena_copy(&arena, nothing).len, 0);
  cr_expect_eq(arena_join(&arena, parts, 2).len, 0);
  struct schema_keys *keys = schema_keys_open(NULL, &arena);
  cr_expect_eq(schema_keys_add(keys, nothing, &arena), SCHEMA_KEYS_NEW);
  cr_expect(schema_keys_has(keys, SPAN("")));
  arena_done(&arena);
}

Test(nothing, is_no_call)
{
  size_t at;
  cr_expect_eq(schema_glance(nothing), 0u);
  cr_expect_eq(schema_glance_portable(nothing), 0u);
  cr_expect_not(schema_glance_square(nothing, 0));
  cr_expect_not(schema_residue_tool_call(nothing, &at));
  cr_expect_not(schema_residue_tool_call_around(nothing, &at));
  cr_expect_not(schema_call_pythonic(nothing));
  cr_expect_not(schema_call_named(nothing));
}

Test(nothing, is_no_reasoning_and_no_prose)
{
  struct arena arena = new_arena();
  struct schema_reasoning reasoning;
  struct span final, *texts;
  size_t count;
  bool fenced;
  cr_expect_not(schema_reasoning_possible(nothing));
  cr_expect(schema_reasoning_cut(nothing, &arena, &reasoning));
  cr_expect_not(reasoning.cut);
  cr_expect_eq(schema_reasoning_channel(nothing, &final), SCHEMA_CHANNEL_NONE);
  cr_expect_eq(schema_prose_bare(nothing).len, 0);
  cr_expect_eq(schema_prose_bare_inside(nothing).len, 0);
  cr_expect(schema_prose_split(nothing, true, &arena, &texts, &count));
  cr_expect_null(texts);
  cr_expect_not(schema_prose_is_error_page(nothing));
  cr_expect_eq(schema_prose_clean(nothing, &arena).len, 0);
  cr_expect_eq(schema_prose_unfence(nothing, &fenced).len, 0);
  cr_expect_not(fenced);
  arena_done(&arena);
}

Test(nothing, is_no_reply)
{
  struct arena arena = new_arena();
  const struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1 };
  struct schema_repairs repairs = { .count = 0 };
  struct schema_answer_search search = { .offer = &offer, .arena = &arena, .repairs = &repairs };
  struct schema_bracket_fix fixes[SCHEMA_BRACKET_FIXES_MAX];
  struct schema_answer answer;
  struct schema_reply reply;
  struct schema_judgement judgement;
  enum schema_repair_kind kind;
  struct span inner;
  cr_expect_eq(schema_reply_read(&offer, nothing, &arena, &reply, NULL), SCHEMA_ETRUNCATED);
  cr_expect_eq(schema_answer_read(&search, nothing, &answer), SCHEMA_ETRUNCATED);
  schema_answer_find(&search, nothing, &answer);
  cr_expect_eq(answer.kind, SCHEMA_ANSWER_NONE);
  cr_expect_not(schema_answer_is_reply_like(nothing, 0));
  cr_expect_eq(schema_bracket_fixes(nothing, 0, 1, fixes), 0);
  cr_expect_not(schema_layer_decode(nothing, &arena, &inner, &kind));
  cr_expect_eq(schema_layer_unescape(nothing, &arena).len, 0);
  schema_judge(&offer, NULL, nothing, &arena, &judgement);
  cr_expect_eq(judgement.verdict, SCHEMA_BLOCK);
  cr_expect_eq(judgement.error.code, SCHEMA_EEMPTY);
  arena_done(&arena);
}

Test(nothing, is_read_from_a_reply_too)
{
  /* a reply as the directives make it: texts and references without a byte */
  const struct schema_segment segments[] = { { .type = SCHEMA_TEXT },
                                             { .type = SCHEMA_MARKDOWN },
                                             { .type = SCHEMA_MENTION },
                                             { .type = SCHEMA_IMAGE } };
  const struct schema_message message = { .segments = segments, .count = 4 };
  const struct schema_private hide = { nothing, SPAN_INIT("/srv/bot") };
  struct arena arena = new_arena();
  struct schema_repairs repairs = { .count = 0 };
  struct span masked;
  cr_expect_eq(schema_leak_mask(nothing, &hide, 0, &arena, &repairs, &masked), SCHEMA_LEAK_NONE);
  cr_expect_not(schema_leak_in_address(nothing));
  struct buf out;
  struct schema_writer w = { .out = &out };
  struct schema_reply reply = { .messages = &message, .count = 1 };
  buf_init(&out, 1 << 10);
  schema_write_reply(&w, &reply, true);
  cr_expect_not(out.failed);
  buf_done(&out);
  arena_done(&arena);
}

Test(nothing, has_no_directive)
{
  struct arena arena = new_arena();
  const struct schema_directive_options options = { 0 };
  struct schema_directives directives;
  struct schema_attached attachments;
  struct schema_verbatims verbatims;
  struct schema_embeds embeds;
  struct schema_tags tags;
  struct span text;
  cr_expect(schema_directives_read(nothing, &options, &arena, &directives));
  cr_expect(schema_attach_take(nothing, 0, &arena, &attachments));
  cr_expect(schema_verbatim_find(nothing, &arena, &verbatims));
  cr_expect_eq(verbatims.count, 0);
  cr_expect(schema_embeds_take(nothing, &arena, &embeds));
  cr_expect_not(schema_tag_possible(nothing));
  cr_expect(schema_tags_take(nothing, 0, &arena, &text, &tags));
  cr_expect(schema_tags_finish(nothing, &arena, &text));
  cr_expect(schema_tag_tidy(nothing, &arena, &text));
  cr_expect_not(schema_silence_is(nothing, &arena));
  arena_done(&arena);
}

Test(nothing, is_no_reference)
{
  struct arena arena = new_arena();
  cr_expect_not_null(schema_reference_fault(nothing, 0));
  cr_expect_not(schema_reference_looks_local(nothing));
  cr_expect_not(schema_reference_climbs(nothing));
  cr_expect_not(schema_reference_has_root(nothing));
  cr_expect_not(schema_reference_has_scheme(nothing));
  cr_expect_not(schema_reference_has_extension(nothing));
  cr_expect_eq(schema_reference_bare(nothing).len, 0);
  cr_expect_eq(schema_reference_path(nothing, &arena).len, 0);
  cr_expect_eq(schema_reference_key(nothing, &arena).len, 0);
  cr_expect_not(schema_remote_is_web(nothing));
  cr_expect_not_null(schema_remote_fault(nothing, false));
  cr_expect_not_null(schema_remote_web_fault(nothing));
  cr_expect_not(schema_embed_renderable(nothing, true));
  cr_expect_null(schema_provider_find(nothing));
  cr_expect_not(schema_provider_is_broken_call(nothing));
  cr_expect_not(schema_document_is_cut(nothing));
  arena_done(&arena);
}
