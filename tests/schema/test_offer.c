#include <criterion/criterion.h>
#include <stdio.h>

#include "schema/offer.h"

#define B(type) (1u << SCHEMA_##type)
#define MEDIA (B(IMAGE) | B(AUDIO) | B(VIDEO) | B(FILE))

static const struct {
  const char *what;
  struct schema_declaration declared; /* supported is filled from names */
  const char *names[8];
  uint32_t types;
} rows[] = {
  { "nothing declared", { 0 }, { 0 }, B(TEXT) | B(MENTION) | B(MARKDOWN) | MEDIA | B(KEYBOARD) },
  { "nothing declared, and degrading changes nothing",
    { .markdown_text = true, .interactive_text = true },
    { 0 },
    B(TEXT) | B(MENTION) | B(MARKDOWN) | MEDIA | B(KEYBOARD) },
  { "an empty list leaves text", { .has_supported = true }, { 0 }, B(TEXT) },
  { "only what is listed",
    { .has_supported = true },
    { "image", "share", "dice", "rps" },
    B(TEXT) | B(IMAGE) | B(SHARE) | B(DICE) | B(RPS) },
  { "markdown and keyboard by degrading",
    { .has_supported = true, .markdown_text = true, .interactive_text = true },
    { "text" },
    B(TEXT) | B(MARKDOWN) | B(KEYBOARD) },
  { "markdown and keyboard by the list",
    { .has_supported = true },
    { "markdown", "keyboard" },
    B(TEXT) | B(MARKDOWN) | B(KEYBOARD) },
  { "never offered or unknown",
    { .has_supported = true },
    { "reply", "forward", "face", "html", "record", "Image", "" },
    B(TEXT) },
  { "twice is once", { .has_supported = true }, { "mention", "mention" }, B(TEXT) | B(MENTION) },
};

Test(offer, types_of_a_declaration)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct span names[8];
    struct schema_declaration declared = rows[i].declared;
    declared.supported = names;
    for (; rows[i].names[declared.supported_count]; declared.supported_count++)
      names[declared.supported_count] = span_of(rows[i].names[declared.supported_count]);
    uint32_t types = schema_offer_types(&declared);
    cr_expect_eq(types, rows[i].types, "%s: %#x", rows[i].what, types);
  }
}

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
