#include <criterion/criterion.h>

#include "schema/contract.h"
#include "schema/print.h"
#include "schema/reply.h"

#define B(type) (1u << SCHEMA_##type)

enum { OUT_MAX = 1 << 20, ARENA_MAX = 1 << 24 };

static const struct span fields[] = {
  { "description", 11 }, { "platform", 8 }, { "url", 3 }, { "platform", 8 }
};
static const struct schema_reaction reactions[] = {
  { { "", 0 }, { "none", 4 } },
  { { "76", 2 }, { "赞", 3 } },
  { { "182", 3 }, { "", 0 } },
  { { "76", 2 }, { "again", 5 } },
};
static const struct schema_hint hints[] = {
  { SCHEMA_SHARE, { "renders as a card.", 18 } },
  { SCHEMA_DICE, { "six sides.", 10 } },
};

static const struct schema_offer offers[] = {
  { .types = 0 },
  { .types = B(TEXT) | B(MENTION) | B(IMAGE), .language = SCHEMA_EN },
  { .types = B(SHARE), .hints = hints, .hint_count = 2 },
  { .types = (1u << SCHEMA_TYPE_COUNT) - 1,
    .share_fields = fields,
    .share_field_count = 4,
    .offers_reaction = true,
    .reactions = reactions,
    .reaction_count = 4,
    .hints = hints,
    .hint_count = 2,
    .language = SCHEMA_EN },
  { .types = (1u << SCHEMA_TYPE_COUNT) - 1,
    .offers_reaction = true,
    .reactions = reactions,
    .reaction_count = 4 },
  { .types = B(MARKDOWN), .offers_reaction = true },
};
enum { OFFERS = sizeof offers / sizeof *offers };

static struct schema_node *schema_of(const struct schema_offer *offer, struct arena *arena)
{
  struct buf out;
  struct schema_node *root = NULL;
  buf_init(&out, OUT_MAX);
  cr_assert(schema_contract_schema(offer, &out));
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  cr_assert_eq(schema_tree_read(copy, SCHEMA_DEPTH_SCHEMA, arena, &root, NULL), SCHEMA_OK);
  return root;
}

static bool has_item(const struct schema_node *array, struct span text)
{
  size_t hits = 0;
  for (const struct schema_node *n = array ? array->first : NULL; n; n = n->next)
    hits += span_eq(n->text, text);
  return hits == 1;
}

static bool is_one_of(struct span word, const char *const *words)
{
  for (; *words; words++)
    if (span_is(word, *words)) return true;
  return false;
}

/* The rules of strict providers, for a schema and all below it. */
static void expect_strict(const struct schema_node *schema, size_t row)
{
  static const char *const words[] = { "type",  "properties", "required", "additionalProperties",
                                       "items", "maxItems",   "anyOf",    "const",
                                       "enum",  NULL };
  cr_assert_eq(schema->kind, SCHEMA_OBJECT);
  for (const struct schema_node *n = schema->first; n; n = n->next)
    cr_expect(is_one_of(n->key, words), "row %zu: %.*s", row, (int)n->key.len, n->key.ptr);
  const struct schema_node *any = schema_tree_get(schema, "anyOf");
  struct span type = schema_tree_string(schema_tree_get(schema, "type"));
  cr_expect_eq(any != NULL, type.ptr == NULL, "row %zu: anyOf alone, a type otherwise", row);
  for (const struct schema_node *n = any ? any->first : NULL; n; n = n->next) expect_strict(n, row);
  if (span_is(type, "array")) expect_strict(schema_tree_get(schema, "items"), row);
  if (!span_is(type, "object")) return;
  const struct schema_node *properties = schema_tree_get(schema, "properties");
  const struct schema_node *required = schema_tree_get(schema, "required");
  cr_assert(properties && required);
  cr_expect_eq(properties->count, required->count, "row %zu", row);
  cr_expect_not(schema_tree_truth(schema_tree_get(schema, "additionalProperties"), true));
  for (const struct schema_node *n = properties->first; n; n = n->next) {
    cr_expect(has_item(required, n->key), "row %zu: %.*s", row, (int)n->key.len, n->key.ptr);
    expect_strict(n, row);
  }
}

Test(contract, schemas_keep_to_what_strict_providers_take)
{
  for (size_t i = 0; i < OFFERS; i++) {
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    const struct schema_node *schema = schema_of(&offers[i], &arena);
    cr_expect(span_is(schema_tree_string(schema_tree_get(schema, "type")), "object"));
    expect_strict(schema, i);
    arena_done(&arena);
  }
}

static const struct schema_node *walk(const struct schema_node *node, const char *const *keys)
{
  for (; *keys; keys++) node = schema_tree_get(node, *keys);
  return node;
}

static const struct schema_node *alternatives(const struct schema_node *schema)
{
  static const char *const keys[] = { "properties", "messages", "items", "properties",
                                      "segments",   "items",    "anyOf", NULL };
  return walk(schema, keys);
}

static struct span type_of(const struct schema_node *alternative)
{
  static const char *const keys[] = { "properties", "type", "const", NULL };
  return schema_tree_string(walk(alternative, keys));
}

Test(contract, the_schema_has_the_offered_types)
{
  for (size_t i = 0; i < OFFERS; i++) {
    struct arena arena;
    uint32_t types = 0;
    arena_init(&arena, ARENA_MAX);
    const struct schema_node *list = alternatives(schema_of(&offers[i], &arena));
    cr_assert_not_null(list);
    for (const struct schema_node *n = list->first; n; n = n->next)
      types |= 1u << schema_type_find(type_of(n));
    cr_expect_eq(types, offers[i].types | B(TEXT), "row %zu: %#x", i, types);
    arena_done(&arena);
  }
}

/* Writes a document that the schema allows: as many items as it may have (2 where it does not
 * say), the pick-th alternative and value of an enum; the left_out-th property met is left out. */
struct writing {
  struct schema_writer w;
  size_t pick, met, left_out;
};

static void write_sample(struct writing *on, const struct schema_node *schema)
{
  const struct schema_node *any = schema_tree_get(schema, "anyOf");
  const struct schema_node *values = schema_tree_get(schema, "enum");
  const struct schema_node *constant = schema_tree_get(schema, "const");
  struct span type = schema_tree_string(schema_tree_get(schema, "type"));
  const struct schema_node *list = any ? any : values, *picked = list ? list->first : NULL;
  for (size_t i = list ? on->pick % list->count : 0; i > 0; i--) picked = picked->next;
  if (any) {
    write_sample(on, picked);
  } else if (values || constant) {
    schema_write_string(&on->w, (values ? picked : constant)->text);
  } else if (span_is(type, "string")) {
    schema_write_string(&on->w, SPAN("x"));
  } else if (span_is(type, "array")) {
    size_t n = schema_tree_get(schema, "maxItems") ? SCHEMA_KEYBOARD_ROW_MAX : 2;
    schema_write_array(&on->w);
    while (n-- > 0) write_sample(on, schema_tree_get(schema, "items"));
    schema_write_array_end(&on->w);
  } else {
    schema_write_object(&on->w);
    for (const struct schema_node *n = schema_tree_get(schema, "properties")->first; n;
         n = n->next) {
      if (on->met++ == on->left_out) continue;
      schema_write_key(&on->w, n->key);
      write_sample(on, n);
    }
    schema_write_object_end(&on->w);
  }
}

/* reply.md 29: what the schema allows passes; 9, 45: every property is needed. */
Test(contract, what_the_schema_allows_passes_and_nothing_less)
{
  size_t passed = 0, refused = 0;
  for (size_t i = 0; i < OFFERS; i++) {
    struct arena arena;
    struct buf out;
    arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
    buf_init(&out, OUT_MAX);
    const struct schema_node *schema = schema_of(&offers[i], &arena);
    for (size_t pick = 0; pick < 2 * SCHEMA_TYPE_COUNT; pick++) {
      struct writing whole = { .w = { .out = &out }, .pick = pick, .left_out = SIZE_MAX };
      struct schema_reply reply;
      struct schema_error e = { 0 };
      buf_clear(&out);
      write_sample(&whole, schema);
      cr_expect_eq(schema_reply_read(&offers[i], buf_span(&out), &arena, &reply, &e), SCHEMA_OK,
                   "row %zu: %s: %s", i, out.ptr, e.path);
      cr_expect_eq(reply.count, 2, "row %zu", i);
      passed++;
      for (size_t k = 0; k < whole.met; k++) {
        struct writing less = { .w = { .out = &out }, .pick = pick, .left_out = k };
        buf_clear(&out);
        write_sample(&less, schema);
        enum schema_code rc = schema_reply_read(&offers[i], buf_span(&out), &arena, &reply, &e);
        /* only a missing reaction is let pass (reply.md 51) */
        bool reaction = rc == SCHEMA_OK && offers[i].offers_reaction &&
                        span_find(buf_span(&out), SPAN("\"reaction\"")) == out.len;
        cr_expect(rc == SCHEMA_EMISSING || reaction, "row %zu without %zu: %s", i, k, out.ptr);
        refused += rc == SCHEMA_EMISSING;
      }
    }
    buf_done(&out);
    arena_done(&arena);
  }
  cr_expect_gt(passed, 100);
  cr_expect_gt(refused, 1000);
}

Test(contract, reactions_are_distinct_and_begin_with_none)
{
  struct arena arena;
  static const char *const keys[] = { "properties", "reaction", "enum", NULL };
  static const struct {
    size_t offer;
    const char *values;
  } rows[] = { { 3, "[\"\",\"76\",\"182\"]" }, { 5, "[\"\"]" } };
  arena_init(&arena, ARENA_MAX);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct schema_node *values = walk(schema_of(&offers[rows[i].offer], &arena), keys);
    cr_assert_not_null(values);
    cr_expect(span_is(values->raw, rows[i].values), "%.*s", (int)values->raw.len, values->raw.ptr);
  }
  cr_expect_null(walk(schema_of(&offers[0], &arena), keys));
  arena_done(&arena);
}

/* ---- the instruction ---- */

static const struct {
  size_t offer;
  const char *in[12], *absent[8]; /* words that must and must not be there */
} said[] = {
  { 0,
    { "JSON", "messages", "{\"messages\":[]}", "{\"type\":\"text\",\"data\":{\"text\":string}}" },
    { "mention", "Sender id", "markdown", "media", "reaction", "on this platform", "share" } },
  { 1,
    { "Every final answer is exactly one JSON object", "in order", "two or three",
      "{\"messages\":[]}", "Sender id", "@name", "ambiguous", "never invent", "image syntax",
      "{\"media\":{\"kind\":string,\"value\":string}}" },
    { "markdown segment", "reaction", "keyboard", "\"video\"", "share" } },
  { 2,
    { "- share on this platform: renders as a card.\n",
      "{\"type\":\"share\",\"data\":{\"url\":string,\"title\":string}}" },
    { "dice", "six sides", "没有真实值" } },
  { 3,
    { "{\"url\":string,\"title\":string,\"description\":string,\"platform\":string}",
      "- share on this platform: renders as a card.\n", "- dice on this platform: six sides.\n",
      "{\"messages\":[],\"reaction\":\"76\"}", "  - \"76\": 赞\n", "  - \"182\"\n", "thanks",
      "agreement", "joke", "data.content", "{\"messages\":[],\"reaction\":\"\"}", "at most 5" },
    { "again", "none\n", "\"\": " } },
  { 4,
    { "感谢", "附和", "玩笑", "  - \"76\"：赞\n", "Sender id", "@昵称", "不要猜", "不要编造",
      "data.content", "最多 5 个", "按顺序" },
    { "on this platform", "description" } },
};

Test(contract, the_instruction_says_what_is_offered)
{
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
    struct buf out;
    buf_init(&out, OUT_MAX);
    cr_assert(schema_contract_instruction(&offers[said[i].offer], &out));
    for (size_t k = 0; k < 12 && said[i].in[k]; k++)
      cr_expect(strstr(out.ptr, said[i].in[k]), "row %zu lacks %s", i, said[i].in[k]);
    for (size_t k = 0; k < 8 && said[i].absent[k]; k++)
      cr_expect_not(strstr(out.ptr, said[i].absent[k]), "row %zu has %s", i, said[i].absent[k]);
    cr_expect_eq(span_utf8_fault(buf_span(&out)), out.len);
    buf_done(&out);
  }
}

/* The examples that the model is given are replies that pass. */
Test(contract, examples_pass)
{
  for (size_t i = 0; i < OFFERS; i++) {
    struct buf out;
    struct arena arena;
    size_t examples = 0;
    buf_init(&out, OUT_MAX);
    arena_init(&arena, ARENA_MAX);
    cr_assert(schema_contract_instruction(&offers[i], &out));
    for (const char *at = out.ptr; (at = strstr(at, "{\"messages\"")); examples++) {
      struct span example = { at, strcspn(at, "\n") };
      struct schema_reply reply;
      cr_expect_eq(schema_reply_read(&offers[i], example, &arena, &reply, NULL), SCHEMA_OK,
                   "row %zu: %.*s", i, (int)example.len, example.ptr);
      at += example.len;
    }
    cr_expect_eq(examples, offers[i].reaction_count ? 3 : 2, "row %zu: %zu", i, examples);
    arena_done(&arena);
    buf_done(&out);
  }
}

Test(contract, no_room_is_told)
{
  for (size_t max = 0; max < 400; max += 37) {
    struct buf out;
    buf_init(&out, max);
    cr_expect_not(schema_contract_schema(&offers[0], &out));
    buf_clear(&out);
    cr_expect_not(schema_contract_instruction(&offers[0], &out));
    buf_done(&out);
  }
}
