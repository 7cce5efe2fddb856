/* offer: what the corpus offers (corpus.py): every type, no share fields, 29 reactions. */
#ifndef BENCH_OFFER_H
#define BENCH_OFFER_H

#include "schema/offer.h"

#define REACTION(value)                                                                            \
  {                                                                                                \
    SPAN_INIT(value), SPAN_INIT("")                                                                \
  }

static const struct schema_reaction bench_reactions[] = {
  REACTION("4"),   REACTION("5"),   REACTION("8"),   REACTION("9"),   REACTION("10"),
  REACTION("12"),  REACTION("14"),  REACTION("21"),  REACTION("23"),  REACTION("26"),
  REACTION("66"),  REACTION("74"),  REACTION("75"),  REACTION("76"),  REACTION("78"),
  REACTION("79"),  REACTION("85"),  REACTION("89"),  REACTION("96"),  REACTION("98"),
  REACTION("100"), REACTION("124"), REACTION("144"), REACTION("147"), REACTION("171"),
  REACTION("174"), REACTION("179"), REACTION("182"), REACTION("212"),
};

static const struct schema_offer bench_offer = {
  .types = (1u << SCHEMA_TYPE_COUNT) - 1,
  .offers_reaction = true,
  .reactions = bench_reactions,
  .reaction_count = sizeof bench_reactions / sizeof *bench_reactions,
};

#endif
