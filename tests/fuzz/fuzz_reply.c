/* The reply reader against a second judgement by the tree, and what it has built against itself: a
 * reply that is printed and read as our own form is printed the same again. */
#include <stdlib.h>

#include "schema/print.h"
#include "schema/reply.h"

enum { OUT_MAX = 64 << 20 };

#define ALL_TYPES ((1u << SCHEMA_TYPE_COUNT) - 1)

static const struct span fields[] = { { "description", 11 }, { "audio", 5 } };
static const struct schema_reaction reactions[] = { { { "76", 2 }, { NULL, 0 } } };

static const struct schema_offer offers[] = {
  { .types = ALL_TYPES },
  { .types = ALL_TYPES,
    .share_fields = fields,
    .share_field_count = 2,
    .offers_reaction = true,
    .reactions = reactions,
    .reaction_count = 1 },
  { .types = 1u << SCHEMA_IMAGE | 1u << SCHEMA_KEYBOARD },
};
enum { OFFERS = sizeof offers / sizeof *offers };
static const struct schema_offer own = {
  .types = ALL_TYPES, .share_fields = fields, .share_field_count = 2, .canonical = true
};

static void must(bool ok)
{
  if (!ok) abort();
}

/* ---- the contract once more, over a tree ---- */

static bool is_kind(const struct schema_node *node, enum schema_kind kind)
{
  return node && node->kind == kind;
}

/* An object with exactly these members, all strings. */
static bool is_record(const struct schema_node *node, const char *const *names)
{
  size_t count = 0;
  if (!is_kind(node, SCHEMA_OBJECT)) return false;
  for (; names[count]; count++)
    if (!is_kind(schema_tree_get(node, names[count]), SCHEMA_STRING)) return false;
  return node->count == count;
}

static bool is_media(const struct schema_node *data)
{
  static const char *const names[] = { "kind", "value", NULL };
  const struct schema_node *media = schema_tree_get(data, "media");
  if (data->count != 1 || !is_record(media, names)) return false;
  struct span kind = schema_tree_get(media, "kind")->text;
  return span_is(kind, "url") || span_is(kind, "path") || span_is(kind, "base64") ||
         span_is(kind, "file");
}

static bool is_keyboard(const struct schema_node *data)
{
  static const char *const names[] = { "label", "payload", NULL };
  const struct schema_node *rows = schema_tree_get(data, "rows");
  if (data->count != 1 || !is_kind(rows, SCHEMA_ARRAY)) return false;
  for (const struct schema_node *row = rows->first; row; row = row->next) {
    if (row->kind != SCHEMA_ARRAY || row->count > 5) return false;
    for (const struct schema_node *button = row->first; button; button = button->next)
      if (!is_record(button, names)) return false;
  }
  return true;
}

static bool is_data(const struct schema_offer *offer, struct span type,
                    const struct schema_node *data)
{
  static const char *const share[] = { "url", "title", NULL };
  static const char *const shares[] = { "url", "title", "description", "audio", NULL };
  static const struct {
    const char *type, *names[2];
  } words[] = { { "text", { "text" } },
                { "markdown", { "content" } },
                { "mention", { "target" } },
                { "dice", { NULL } },
                { "rps", { NULL } } };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (span_is(type, words[i].type)) return is_record(data, words[i].names);
  if (span_is(type, "keyboard")) return is_keyboard(data);
  if (span_is(type, "share")) return is_record(data, offer->share_field_count ? shares : share);
  return is_media(data);
}

static bool is_message(const struct schema_offer *offer, const struct schema_node *segments)
{
  if (!is_kind(segments, SCHEMA_ARRAY)) return false;
  for (const struct schema_node *n = segments->first; n; n = n->next) {
    const struct schema_node *data = schema_tree_get(n, "data"), *type = schema_tree_get(n, "type");
    if (!is_kind(n, SCHEMA_OBJECT) || n->count != 2 || !is_kind(type, SCHEMA_STRING) ||
        !is_kind(data, SCHEMA_OBJECT))
      return false;
    enum schema_type known = schema_type_find(type->text);
    if (known == SCHEMA_TYPE_COUNT || !schema_offers(offer, known) ||
        !is_data(offer, type->text, data))
      return false;
  }
  return true;
}

static bool is_reply(const struct schema_offer *offer, const struct schema_node *root, bool legacy)
{
  const struct schema_node *messages = schema_tree_get(root, legacy ? "segments" : "messages");
  const struct schema_node *reaction = schema_tree_get(root, "reaction");
  if (!is_kind(root, SCHEMA_OBJECT) || !messages || root->count != (reaction ? 2 : 1)) return false;
  if (reaction && offer->offers_reaction &&
      (reaction->kind != SCHEMA_STRING || (reaction->text.len && !span_is(reaction->text, "76"))))
    return false;
  if (legacy) return is_message(offer, messages);
  if (messages->kind != SCHEMA_ARRAY) return false;
  for (const struct schema_node *n = messages->first; n; n = n->next)
    if (!is_kind(n, SCHEMA_OBJECT) || n->count != 1 ||
        !is_message(offer, schema_tree_get(n, "segments")))
      return false;
  return true;
}

/* ---- what was built ---- */

static void write(struct buf *out, const struct schema_reply *reply)
{
  struct schema_writer w = { .out = out };
  schema_write_reply(&w, reply, true);
  must(!out->failed);
}

static void read_own_form(const struct schema_reply *reply, struct arena *arena)
{
  struct buf first, second;
  struct schema_reply again;
  buf_init(&first, OUT_MAX);
  buf_init(&second, OUT_MAX);
  write(&first, reply);
  must(schema_reply_read(&own, buf_span(&first), arena, &again, NULL) == SCHEMA_OK);
  write(&second, &again);
  must(span_eq(buf_span(&first), buf_span(&second)));
  buf_done(&first);
  buf_done(&second);
}

/* Like schema_reply_read, but of the legacy root and no other. */
static enum schema_code read_legacy(const struct schema_offer *offer, struct span text,
                                    struct arena *arena, struct schema_reply *ret,
                                    struct schema_error *reterr)
{
  struct schema_json r;
  struct schema_reply_notes notes;
  schema_json_init(&r, text, arena, SCHEMA_DEPTH_REPLY);
  enum schema_code rc = schema_reply_read_from(offer, &r, SCHEMA_REPLY_LEGACY, ret, &notes, reterr);
  if (rc) return rc;
  if (schema_json_next(&r) != SCHEMA_JSON_END)
    return schema_fail(reterr, r.error.code, r.error.at, "$", r.error.what);
  if (!notes.legacy_root) return schema_fail(reterr, SCHEMA_EMISSING, 0, "$", "no legacy root");
  return SCHEMA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct span text = { (const char *)data, size };
  struct schema_node *root = NULL;
  struct schema_reply reply;
  struct arena arena;
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX * 2);
  bool is_json = schema_tree_read(text, SCHEMA_DEPTH_REPLY, &arena, &root, NULL) == SCHEMA_OK;
  for (size_t i = 0; i < OFFERS; i++)
    for (int legacy = 0; legacy < 2; legacy++) {
      struct schema_error e = { 0 };
      enum schema_code code =
          (legacy ? read_legacy : schema_reply_read)(&offers[i], text, &arena, &reply, &e);
      must((code == SCHEMA_OK) == (is_json && is_reply(&offers[i], root, legacy)));
      must(code == SCHEMA_OK || (e.code == code && e.what && e.path[0] == '$' && e.at <= size));
      if (code == SCHEMA_OK) read_own_form(&reply, &arena);
    }
  struct schema_json r;
  struct schema_reply_notes notes;
  schema_json_init(&r, text, &arena, SCHEMA_DEPTH_REPLY);
  if (schema_reply_read_from(&offers[1], &r, SCHEMA_REPLY_LEGACY | SCHEMA_REPLY_INTEGERS, &reply,
                             &notes, NULL) == SCHEMA_OK) {
    must(schema_json_offset(&r) <= size && notes.integer_at < size);
    read_own_form(&reply, &arena);
  }
  arena_done(&arena);
  return 0;
}
