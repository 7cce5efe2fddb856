#include "schema/offer.h"

#define BIT(type) (1u << SCHEMA_##type)

enum {
  MEDIA = BIT(IMAGE) | BIT(AUDIO) | BIT(VIDEO) | BIT(FILE),
  /* without a list of its own an endpoint has exactly these (reply.md 21, 22) */
  UNDECLARED = BIT(TEXT) | BIT(MENTION) | BIT(MARKDOWN) | MEDIA | BIT(KEYBOARD),
};

uint32_t schema_offer_types(const struct schema_declaration *declared)
{
  if (!declared->has_supported) return UNDECLARED;
  uint32_t types = BIT(TEXT);
  for (size_t i = 0; i < declared->supported_count; i++) {
    enum schema_type type = schema_type_find(declared->supported[i]);
    if (type != SCHEMA_TYPE_COUNT) types |= 1u << type;
  }
  if (declared->markdown_text) types |= BIT(MARKDOWN);
  if (declared->interactive_text) types |= BIT(KEYBOARD);
  return types;
}

bool schema_share_field_counts(const struct schema_offer *offer, size_t i)
{
  struct span name = offer->share_fields[i];
  if (span_is(name, "url") || span_is(name, "title")) return false;
  for (size_t k = 0; k < i; k++)
    if (span_eq(offer->share_fields[k], name)) return false;
  return true;
}
