/* eval_schema: the eval kinds `reply` and `contract`: the judge of the running plugin on one answer,
 * and what a model is given for one offer. */
#include "plugin/command/eval.h"
#include "schema/contract.h"
#include "schema/verdict.h"

enum { CONTRACT_MAX = 1024 * 1024 }; /* an instruction is a few KiB, hints are short */

/* ---- what a case offers ---- */

static enum schema_code read_types(const struct schema_node *types, uint32_t *ret,
                                   struct schema_error *reterr)
{
  for (const struct schema_node *n = types ? types->first : NULL; n; n = n->next) {
    enum schema_type type = schema_type_find(schema_tree_string(n));
    if (type == SCHEMA_TYPE_COUNT)
      return schema_fail(reterr, SCHEMA_EARGUMENT, 0, "$.offered.types",
                         "a segment type that does not exist");
    *ret |= 1u << type;
  }
  return SCHEMA_OK;
}

/* A list of strings; *retcount of them. NULL where memory ran out. */
static struct span *read_strings(const struct schema_node *list, struct arena *arena,
                                 size_t *retcount)
{
  size_t count = list ? list->count : 0;
  struct span *strings = arena_zalloc(arena, count + 1, sizeof *strings);
  *retcount = 0;
  for (const struct schema_node *n = strings && list ? list->first : NULL; n; n = n->next)
    strings[(*retcount)++] = schema_tree_string(n);
  return strings;
}

/* Values alone or {value, label}. */
static struct schema_reaction *read_reactions(const struct schema_node *list, struct arena *arena,
                                              size_t *retcount)
{
  struct schema_reaction *reactions = arena_zalloc(arena, list->count + 1, sizeof *reactions);
  *retcount = 0;
  for (const struct schema_node *n = reactions ? list->first : NULL; n; n = n->next) {
    struct schema_reaction *r = &reactions[(*retcount)++];
    bool object = n->kind == SCHEMA_OBJECT;
    r->value = schema_tree_string(object ? schema_tree_get(n, "value") : n);
    r->label = schema_tree_string(object ? schema_tree_get(n, "label") : NULL);
  }
  return reactions;
}

/* {type: text} or [{type, text}]. */
static struct schema_hint *read_hints(const struct schema_node *list, struct arena *arena,
                                      size_t *retcount)
{
  size_t count = list ? list->count : 0;
  struct schema_hint *hints = arena_zalloc(arena, count + 1, sizeof *hints);
  *retcount = 0;
  for (const struct schema_node *n = hints && list ? list->first : NULL; n; n = n->next) {
    bool object = n->kind == SCHEMA_OBJECT;
    struct span name = object ? schema_tree_string(schema_tree_get(n, "type")) : n->key;
    enum schema_type type = schema_type_find(name);
    if (type == SCHEMA_TYPE_COUNT) continue;
    struct span text = schema_tree_string(object ? schema_tree_get(n, "text") : n);
    hints[(*retcount)++] = (struct schema_hint) { type, text };
  }
  return hints;
}

static enum schema_code read_offer(const struct schema_node *line, struct arena *arena,
                                   struct schema_offer *ret, struct schema_error *reterr)
{
  const struct schema_node *offered = schema_tree_get(line, "offered");
  const struct schema_node *reactions = schema_tree_get(offered, "reactions");
  memset(ret, 0, sizeof *ret);
  if (!offered || offered->kind != SCHEMA_OBJECT)
    return schema_fail(reterr, SCHEMA_EARGUMENT, 0, "$.offered",
                       "offered holds types, share_fields and reactions");
  enum schema_code code = read_types(schema_tree_get(offered, "types"), &ret->types, reterr);
  if (code != SCHEMA_OK) return code;
  ret->share_fields =
      read_strings(schema_tree_get(offered, "share_fields"), arena, &ret->share_field_count);
  ret->hints = read_hints(schema_tree_get(line, "hints"), arena, &ret->hint_count);
  ret->offers_reaction = reactions && reactions->kind == SCHEMA_ARRAY;
  if (ret->offers_reaction) ret->reactions = read_reactions(reactions, arena, &ret->reaction_count);
  bool english = span_is(schema_tree_string(schema_tree_get(line, "language")), "en");
  ret->language = english ? SCHEMA_EN : SCHEMA_ZH;
  if (!ret->share_fields || !ret->hints || (ret->offers_reaction && !ret->reactions))
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, "$.offered", NULL);
  return SCHEMA_OK;
}

/* ---- reply ---- */

static struct span read_input(const struct schema_node *line, struct arena *arena)
{
  struct span coded = schema_tree_string(schema_tree_get(line, "input_b64"));
  if (coded.ptr) return rg_eval_base64(coded, arena);
  const struct schema_node *input = schema_tree_get(line, "input");
  if (!input || input->kind != SCHEMA_STRING) return (struct span) { NULL, 0 };
  return input->text.ptr ? input->text : SPAN("");
}

/* The messages alone: what {"messages":…} holds. */
static void write_messages(struct schema_writer *w, const struct schema_reply *reply,
                           struct buf *scratch)
{
  static const struct span head = { "{\"messages\":", 12 };
  struct schema_writer inner = { .out = scratch };
  schema_write_reply(&inner, reply, false);
  if (scratch->failed) {
    w->out->failed = true;
    return;
  }
  struct span whole = buf_span(scratch);
  schema_write_raw(w, (struct span) { whole.ptr + head.len, whole.len - head.len - 1 });
}

static void write_repairs(struct schema_writer *w, const struct schema_judgement *j)
{
  schema_write_key(w, SPAN("repairs"));
  schema_write_array(w);
  for (size_t i = 0; i < j->repair_count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "kind", span_of(schema_repair_word(j->repairs[i].kind)));
    schema_write_key(w, SPAN("at"));
    schema_write_int(w, (int64_t)j->repairs[i].at);
    schema_write_pair(w, "why", span_of(schema_repair_text(j->repairs[i].kind)));
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static void write_reason(struct schema_writer *w, const struct schema_judgement *j)
{
  bool refused = j->verdict == SCHEMA_CORRECT || j->verdict == SCHEMA_BLOCK;
  const char *why = j->error.what ? j->error.what : schema_code_text(j->error.code);
  if (j->verdict == SCHEMA_REPAIR && j->repair_count) why = schema_repair_text(j->repairs[0].kind);
  if (j->verdict == SCHEMA_ACCEPT) why = "fits the contract as it is";
  schema_write_pair(w, "code", span_of(schema_code_word(j->error.code)));
  schema_write_pair(w, "path", refused ? span_of(j->error.path) : SPAN(""));
  schema_write_key(w, SPAN("at"));
  schema_write_int(w, refused ? (int64_t)j->error.at : 0);
  schema_write_pair(w, "why", span_of(why));
}

enum schema_code rg_eval_reply(const struct schema_node *line, struct arena *arena,
                               struct schema_writer *w, struct schema_error *reterr)
{
  struct schema_offer offer;
  struct schema_judgement j;
  enum schema_code code = read_offer(line, arena, &offer, reterr);
  if (code != SCHEMA_OK) return code;
  struct span input = read_input(line, arena);
  if (!input.ptr)
    return schema_fail(reterr, SCHEMA_EARGUMENT, 0, "$.input",
                       "input is the model's answer, or input_b64 its bytes");
  schema_judge(&offer, NULL, input, arena, &j);
  bool sends = j.verdict == SCHEMA_ACCEPT || j.verdict == SCHEMA_REPAIR;
  schema_write_pair(w, "verdict", span_of(schema_verdict_word(j.verdict)));
  schema_write_key(w, SPAN("delivered"));
  if (sends) {
    struct buf scratch;
    buf_init(&scratch, w->out->max);
    write_messages(w, &j.reply, &scratch);
    buf_done(&scratch);
  } else {
    schema_write_null(w);
  }
  schema_write_key(w, SPAN("reaction"));
  if (sends && offer.offers_reaction)
    schema_write_string(w, j.reply.reaction);
  else
    schema_write_null(w);
  write_repairs(w, &j);
  write_reason(w, &j);
  return SCHEMA_OK;
}

/* ---- contract ---- */

enum schema_code rg_eval_contract(const struct schema_node *line, struct arena *arena,
                                  struct schema_writer *w, struct schema_error *reterr)
{
  struct schema_offer offer;
  struct buf schema, instruction;
  enum schema_code code = read_offer(line, arena, &offer, reterr);
  if (code != SCHEMA_OK) return code;
  buf_init(&schema, CONTRACT_MAX);
  buf_init(&instruction, CONTRACT_MAX);
  if (schema_contract_schema(&offer, &schema) &&
      schema_contract_instruction(&offer, &instruction)) {
    schema_write_key(w, SPAN("schema"));
    schema_write_raw(w, buf_span(&schema));
    schema_write_pair(w, "instruction", buf_span(&instruction));
  } else {
    code = schema_fail(reterr, SCHEMA_ETOOBIG, 0, "$", "the contract is larger than 1 MiB");
  }
  buf_done(&instruction);
  buf_done(&schema);
  return code;
}
