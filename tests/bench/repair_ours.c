/* repair_ours: the contender for bench/c/repair_main.c: judges one damaged reply and prints it.
 *
 * The corpus calls a reply with up to four closing brackets missing at its end recoverable; the
 * judge of the product takes one, as reply.md 80 says, and more for a reply that was cut. So the
 * number is an argument here: -DREPAIR_CLOSERS=1 measures the product's own rule. */
#include "offer.h"

#include "schema/print.h"
#include "schema/verdict.h"

#ifndef REPAIR_CLOSERS
#  define REPAIR_CLOSERS 4
#endif

size_t repair_reply(const unsigned char *p, size_t n, unsigned char *out, size_t cap);

size_t repair_reply(const unsigned char *p, size_t n, unsigned char *out, size_t cap)
{
  static struct arena arena; /* kept between the calls, as a turn keeps its own */
  static struct buf printed;
  static bool ready;
  struct schema_judgement judgement;
  if (!ready) {
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    buf_init(&printed, 1 << 26);
    ready = true;
  }
  arena_reset(&arena);
  buf_clear(&printed);
  schema_judge_closing(&bench_offer, NULL, (struct span) { (const char *)p, n }, REPAIR_CLOSERS,
                       &arena, &judgement);
  if (judgement.verdict != SCHEMA_ACCEPT && judgement.verdict != SCHEMA_REPAIR) return 0;
  /* a reaction is printed where one was written, even "" */
  bool reaction = true;
  for (size_t i = 0; i < judgement.repair_count; i++)
    if (judgement.repairs[i].kind == SCHEMA_FIX_REACTION_MISSING) reaction = false;
  struct schema_writer w = { .out = &printed };
  schema_write_reply(&w, &judgement.reply, reaction);
  if (printed.failed || printed.len > cap) return 0;
  memcpy(out, printed.ptr, printed.len);
  return printed.len;
}
