/* offer: what one reply may use. Schema, instruction and validator are made from the same offer
 * (reply.md 29), so nothing that the model may pick is refused later. */
#ifndef SCHEMA_OFFER_H
#define SCHEMA_OFFER_H

#include "schema/segment.h"

enum schema_language { SCHEMA_ZH, SCHEMA_EN };

struct schema_reaction {
  struct span value, label; /* label may be empty */
};

struct schema_hint {
  enum schema_type type;
  struct span text;
};

struct schema_directive_options; /* directive.h */

/* Lent to every function: arrays and spans live as long as the offer is used. */
struct schema_offer {
  uint32_t types; /* bit 1u << enum schema_type; text is always offered */
  const struct span *share_fields;
  size_t share_field_count; /* declared extension fields of share, behind url and title */
  bool offers_reaction;
  const struct schema_reaction *reactions;
  size_t reaction_count;
  const struct schema_hint *hints;
  size_t hint_count;
  enum schema_language language;
  /* Reads our own canonical form (eval plan, the store) instead of a model's: share extension
   * fields may be absent, messages may have reply_to, reaction may be null or any string
   * whether offered or not. Never set for a model. */
  bool canonical;
  /* The delivery directives in a model's words are read by these options; NULL: they are words. */
  const struct schema_directive_options *directives;
};

static inline bool schema_offers(const struct schema_offer *offer, enum schema_type type)
{
  return (offer->types | 1u << SCHEMA_TEXT) >> type & 1u;
}

/* Whether the i-th declared share field counts: its name is not that of url, title or an earlier
 * one. Those that do not are passed over everywhere. */
bool schema_share_field_counts(const struct schema_offer *offer, size_t i);

#endif
