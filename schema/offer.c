#include "schema/offer.h"

bool schema_share_field_counts(const struct schema_offer *offer, size_t i)
{
  struct span name = offer->share_fields[i];
  if (span_is(name, "url") || span_is(name, "title")) return false;
  for (size_t k = 0; k < i; k++)
    if (span_eq(offer->share_fields[k], name)) return false;
  return true;
}
