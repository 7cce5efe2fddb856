#include <criterion/criterion.h>
#include <stdio.h>

#include "schema/offer.h"

#define B(type) (1u << SCHEMA_##type)

Test(offer, text_is_always_offered)
{
  struct schema_offer offer = { .types = B(DICE) };
  cr_expect(schema_offers(&offer, SCHEMA_TEXT));
  cr_expect(schema_offers(&offer, SCHEMA_DICE));
  cr_expect_not(schema_offers(&offer, SCHEMA_RPS));
}

Test(offer, every_type_has_its_name)
{
  for (unsigned i = 0; i < SCHEMA_TYPE_COUNT; i++) {
    const struct schema_segment_type *type = &schema_segment_types[i];
    cr_expect_eq(schema_type_find(span_of(type->name)), i, "%s", type->name);
    char quoted[32];
    size_t len = (size_t)snprintf(quoted, sizeof quoted, "%s\"x", type->name) - 1;
    cr_expect_eq(schema_type_quoted(quoted, quoted + len), i, "%s", quoted);
    cr_expect_eq(schema_type_quoted(quoted, quoted + len - 1), SCHEMA_TYPE_COUNT, "%s", quoted);
    quoted[len - 1] = 's';
    cr_expect_eq(schema_type_quoted(quoted, quoted + len), SCHEMA_TYPE_COUNT, "%s", quoted);
    cr_expect_eq(type->name_len, strlen(type->name), "%s", type->name);
    cr_expect_eq(type->field_len, type->field ? strlen(type->field) : 0, "%s", type->name);
    cr_expect_eq(type->shape == SCHEMA_SHAPE_STRING, type->field != NULL, "%s", type->name);
    cr_expect(type->help_en && type->help_zh, "%s", type->name);
  }
  cr_expect_eq(schema_type_find(SPAN("text2")), SCHEMA_TYPE_COUNT);
  cr_expect_eq(schema_type_find(SPAN("")), SCHEMA_TYPE_COUNT);
}
