/* verdict: what is to be done with a model's raw answer. Strict reading first, then the free
 * repairs, then accept | repair | correct | block with a reason (reply.md 2.H, 2.J, 2.K, 2.O). */
#ifndef SCHEMA_VERDICT_H
#define SCHEMA_VERDICT_H

#include "schema/leak.h"
#include "schema/repair.h"
#include "schema/reply.h"
#include "schema/rich.h"

enum schema_verdict { SCHEMA_ACCEPT, SCHEMA_REPAIR, SCHEMA_CORRECT, SCHEMA_BLOCK };

enum { SCHEMA_CORRECTABLE_CHARS = 32000 }; /* reply.md 94 */

struct schema_judgement {
  enum schema_verdict verdict;
  struct schema_reply reply; /* accept and repair: what to send; else empty */
  struct schema_repair repairs[SCHEMA_REPAIR_MAX];
  size_t repair_count;       /* the first SCHEMA_REPAIR_MAX are kept */
  struct schema_error error; /* correct and block: why */
  struct schema_rich rich;   /* what directives there were, where the offer has them read */
};

const char *schema_verdict_word(enum schema_verdict verdict);

/* Judges a model's raw answer. *ret is always filled; the reply in it lives in arena and in text.
 * hide may be NULL. Linear in text.len. Any thread. */
void schema_judge(const struct schema_offer *offer, const struct schema_private *hide,
                  struct span text, struct arena *arena, struct schema_judgement *ret);

/* The same where words are asked for (`output: text`): no reply object is looked for. Reasoning and
 * template tokens go, secrets are masked, directives are read where the offer says so; a tool call
 * or an error page blocks. Never SCHEMA_CORRECT. */
void schema_judge_words(const struct schema_offer *offer, const struct schema_private *hide,
                        struct span text, struct arena *arena, struct schema_judgement *ret);

/* As schema_judge, where up to closers_max closing brackets may be missing at the end, which are put in.
 * schema_judge takes 1, as reply.md 80 says; more makes a reply of what may have been cut. */
void schema_judge_closing(const struct schema_offer *offer, const struct schema_private *hide,
                          struct span text, size_t closers_max, struct arena *arena,
                          struct schema_judgement *ret);

#endif
