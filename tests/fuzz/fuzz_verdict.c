/* fuzz_verdict: the whole judge on any bytes. Whatever it is given: the verdict and its parts agree;
 * a reply that is let through is a reply of the contract, holds no tool call, and is accepted as it
 * was printed; and what strict reading takes needs no lenient one. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/lenient.h"
#include "schema/print.h"
#include "schema/residue.h"
#include "schema/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct schema_reaction reactions[] = { { { "76", 2 }, { "赞", 3 } } };
static const struct span fields[] = { { "description", 11 }, { "audio", 5 } };
static const struct schema_directive_options directives = { { "5", 1 }, true, true };
static const struct schema_private hide = { { "/home/bot", 9 }, { "/home/bot/zhin", 14 } };

/* The offer is picked by the first byte, so that all of them meet all inputs. */
static struct schema_offer offer_of(uint8_t pick)
{
  struct schema_offer offer = { .types = pick & 1 ? (1u << SCHEMA_TYPE_COUNT) - 1 : 0 };
  if (pick & 2) {
    offer.offers_reaction = true;
    offer.reactions = reactions;
    offer.reaction_count = 1;
  }
  if (pick & 4) {
    offer.share_fields = fields;
    offer.share_field_count = 2;
  }
  if (pick & 16) offer.directives = &directives;
  return offer;
}

static void need(bool holds, const char *what)
{
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

/* No string that people read may hold a tool call. */
static void check_words(const struct schema_reply *reply)
{
  for (size_t i = 0; i < reply->count; i++)
    for (size_t k = 0; k < reply->messages[i].count; k++) {
      const struct schema_segment *s = &reply->messages[i].segments[k];
      if (s->type == SCHEMA_TEXT || s->type == SCHEMA_MARKDOWN)
        need(!schema_residue_tool_call(s->text, NULL), "no tool call in what is sent");
    }
}

/* What is sent, printed and judged again, is sent again: nothing is left that could be repaired. */
static void check_again(const struct schema_offer *offer, const struct schema_reply *reply,
                        struct arena *arena)
{
  struct buf printed, twice;
  struct schema_reply again;
  struct schema_offer canonical = *offer;
  canonical.canonical = true; /* empty extension fields of share are gone */
  buf_init(&printed, 1 << 26);
  buf_init(&twice, 1 << 26);
  struct schema_writer w = { .out = &printed };
  schema_write_reply(&w, reply, offer->offers_reaction);
  struct span text = arena_copy(arena, buf_span(&printed));
  need(schema_reply_read(&canonical, text, arena, &again, NULL) == SCHEMA_OK,
       "what is sent is a reply of the contract");
  w = (struct schema_writer) { .out = &twice };
  schema_write_reply(&w, &again, offer->offers_reaction);
  need(span_eq(buf_span(&printed), buf_span(&twice)), "printing and reading give the same");
  buf_done(&twice);
  buf_done(&printed);
}

/* Lenient reading leaves sound JSON alone. */
static void check_lenient(struct span text, struct arena *arena)
{
  struct schema_lenient lenient;
  struct schema_repairs repairs = { .count = 0 };
  schema_lenient_write(span_trim(text), 0, arena, &repairs, &lenient);
  need(!lenient.strict.ptr || !lenient.changed, "a sound reply is not rewritten");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena;
  struct schema_judgement j;
  struct schema_reply strict;
  if (size == 0) return 0;
  struct schema_offer offer = offer_of(data[0]);
  struct span text = { (const char *)data + 1, size - 1 };
  arena_init(&arena, 1 << 26);
  schema_judge(&offer, data[0] & 8 ? &hide : NULL, text, &arena, &j);
  bool sends = j.verdict == SCHEMA_ACCEPT || j.verdict == SCHEMA_REPAIR;
  need(sends == (j.error.code == SCHEMA_OK), "a refusal has a code");
  need(sends || (j.error.what && j.error.path[0] == '$'), "and a reason and a place");
  need((j.verdict == SCHEMA_REPAIR) == (j.repair_count > 0), "a repair says what was done");
  need(sends || j.reply.count == 0, "a refusal sends nothing");
  if (sends) {
    check_words(&j.reply);
    check_again(&offer, &j.reply, &arena);
  }
  schema_judge_words(&offer, &hide, text, &arena, &j);
  need(j.verdict != SCHEMA_CORRECT, "words need no correction");
  check_words(&j.reply);
  schema_judge(&offer, data[0] & 8 ? &hide : NULL, text, &arena, &j);
  enum schema_code code = schema_reply_read(&offer, text, &arena, &strict, NULL);
  need(j.verdict != SCHEMA_ACCEPT || code == SCHEMA_OK, "what is accepted is strict");
  if (code == SCHEMA_OK) check_lenient(text, &arena);
  arena_done(&arena);
  return 0;
}
