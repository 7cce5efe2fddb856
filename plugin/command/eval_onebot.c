/* eval_onebot: the kinds of `replygate eval` that speak OneBot: plan, action, outcome, event, face.
 * Each reads its case, calls the one function of onebot/ and writes what it says. */
#include "onebot/action.h"
#include "onebot/event.h"
#include "onebot/face.h"
#include "onebot/id.h"
#include "onebot/outcome.h"
#include "plugin/command/eval.h"

/* ---- what cases share ---- */

static enum schema_code read_profile(const struct schema_node *line, const struct ob_profile **ret,
                                     struct schema_error *reterr)
{
  *ret = ob_profile_find(schema_tree_string(schema_tree_get(line, "profile")));
  if (*ret) return SCHEMA_OK;
  return schema_fail(reterr, SCHEMA_EPROFILE, 0, "$.profile",
                     "wanted: napcat, llbot, lagrange, go-cqhttp, onebots or spec");
}

/* The strings of an array, in arena. */
static const struct span *read_strings(const struct schema_node *array, struct arena *arena,
                                       size_t *retcount)
{
  *retcount = 0;
  if (!array || array->kind != SCHEMA_ARRAY) return NULL;
  struct span *items = arena_alloc(arena, array->count * sizeof *items);
  for (const struct schema_node *n = array->first; items && n; n = n->next) {
    struct span item = schema_tree_id(n);
    if (item.ptr) items[(*retcount)++] = item;
  }
  return items;
}

static void read_reactions(const struct schema_node *node, struct arena *arena,
                           struct ob_plan_settings *s)
{
  s->reactions = schema_tree_truth(node, true);
  s->reaction_list = read_strings(node, arena, &s->reaction_list_count);
}

static void read_platforms(const struct schema_node *node, struct ob_plan_settings *s)
{
  if (!node || node->kind != SCHEMA_ARRAY) return;
  s->share_platforms = 0;
  for (const struct schema_node *n = node->first; n; n = n->next) {
    enum ob_platform platform = ob_platform_find(schema_tree_string(n));
    if (platform != OB_PLATFORM_COUNT) s->share_platforms |= 1u << platform;
  }
}

static enum ob_card read_card(const struct schema_node *node)
{
  static const char *const words[] = { "auto", "music", "ark", "text" };
  struct span word = schema_tree_string(node);
  for (int i = OB_CARD_AUTO; i <= OB_CARD_TEXT; i++)
    if (span_is(word, words[i])) return (enum ob_card)i;
  return OB_CARD_AUTO;
}

static uint32_t read_segments(const struct schema_node *node)
{
  if (!node || node->kind != SCHEMA_ARRAY) return (1u << SCHEMA_TYPE_COUNT) - 1;
  uint32_t types = 0;
  for (const struct schema_node *n = node->first; n; n = n->next) {
    enum schema_type type = schema_type_find(schema_tree_string(n));
    if (type != SCHEMA_TYPE_COUNT) types |= 1u << type;
  }
  return types;
}

static struct ob_action_settings read_settings(const struct schema_node *line, struct arena *arena)
{
  const struct schema_node *node = schema_tree_get(line, "settings");
  struct ob_action_settings s = { .plan = ob_plan_settings_default() };
  struct span language = schema_tree_string(schema_tree_get(node, "language"));
  if (span_is(language, "en")) s.plan.language = SCHEMA_EN;
  s.plan.mention_all = schema_tree_truth(schema_tree_get(node, "mention_all"), false);
  s.plan.card = read_card(schema_tree_get(node, "card"));
  read_platforms(schema_tree_get(node, "share_platforms"), &s.plan);
  read_reactions(schema_tree_get(node, "reactions"), arena, &s.plan);
  s.plan.roots = read_strings(schema_tree_get(schema_tree_get(node, "media"), "roots"), arena,
                              &s.plan.root_count);
  s.unwrap = schema_tree_truth(schema_tree_get(node, "unwrap"), false);
  s.segments = read_segments(schema_tree_get(node, "segments"));
  return s;
}

static void write_plan(struct schema_writer *w, const struct ob_plan *plan)
{
  schema_write_key(w, SPAN("actions"));
  schema_write_array(w);
  for (size_t i = 0; i < plan->count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "action", plan->steps[i].action);
    schema_write_key(w, SPAN("params"));
    schema_write_raw(w, plan->steps[i].params);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

/* null where it is empty */
static void write_id(struct schema_writer *w, const char *key, struct span id)
{
  schema_write_key(w, span_of(key));
  if (id.len)
    schema_write_string(w, id);
  else
    schema_write_null(w);
}

static void write_word(struct schema_writer *w, const char *key, const char *word)
{
  write_id(w, key, span_of(word));
}

/* ---- plan ---- */

/* Our own canonical form: any type, the share fields that exist, present or not. */
static enum schema_code read_reply(const struct schema_node *node, struct arena *arena,
                                   struct schema_reply *ret, struct schema_error *reterr)
{
  static const struct span fields[] = {
    { "description", 11 }, { "image", 5 }, { "audio", 5 }, { "platform", 8 }
  };
  struct schema_offer offer = { .types = (1u << SCHEMA_TYPE_COUNT) - 1,
                                .share_fields = fields,
                                .share_field_count = sizeof fields / sizeof *fields,
                                .canonical = true };
  struct schema_error fault = { .code = SCHEMA_OK };
  if (!node) return schema_fail(reterr, SCHEMA_EREPLY, 0, "$.reply", "a reply is needed");
  if (schema_reply_read(&offer, node->raw, arena, ret, &fault) == SCHEMA_OK) return SCHEMA_OK;
  const char *what = fault.what ? fault.what : schema_code_text(fault.code);
  return schema_fail(reterr, SCHEMA_EREPLY, fault.at, fault.path, what);
}

enum schema_code rg_eval_plan(const struct schema_node *line, struct arena *arena,
                              struct schema_writer *w, struct schema_error *reterr)
{
  const struct ob_profile *profile;
  const struct schema_node *to = schema_tree_get(line, "target");
  struct ob_action_settings settings = read_settings(line, arena);
  struct ob_target target = { schema_tree_id(schema_tree_get(to, "group_id")),
                              schema_tree_id(schema_tree_get(to, "user_id")) };
  struct schema_reply reply;
  struct ob_plan plan;
  enum schema_code code = read_profile(line, &profile, reterr);
  if (code == SCHEMA_OK) code = read_reply(schema_tree_get(line, "reply"), arena, &reply, reterr);
  if (code == SCHEMA_OK)
    code = ob_plan_make(profile, &target, schema_tree_id(schema_tree_get(line, "message_id")),
                        &settings.plan, &reply, arena, &plan, reterr);
  if (code == SCHEMA_OK) write_plan(w, &plan);
  return code;
}

/* ---- action ---- */

static void write_judgement(struct schema_writer *w, const struct ob_action *action,
                            const struct ob_action_judgement *judged)
{
  schema_write_pair(w, "verdict", span_of(ob_action_verdict_word(judged->verdict)));
  if (judged->verdict == OB_PASS) {
    schema_write_key(w, SPAN("actions"));
    schema_write_array(w);
    schema_write_raw(w, action->frame);
    schema_write_array_end(w);
  } else {
    write_plan(w, &judged->plan);
  }
  write_id(w, "why", judged->why);
  if (judged->verdict != OB_DROP) return;
  schema_write_pair(w, "code", span_of(schema_code_word(judged->error.code)));
  schema_write_pair(w, "path", span_of(judged->error.path));
}

enum schema_code rg_eval_action(const struct schema_node *line, struct arena *arena,
                                struct schema_writer *w, struct schema_error *reterr)
{
  const struct ob_profile *profile;
  const struct schema_node *given = schema_tree_get(line, "action");
  const struct schema_node *text = schema_tree_get(line, "action_text");
  struct ob_action_settings settings = read_settings(line, arena);
  enum schema_code code = read_profile(line, &profile, reterr);
  if (code != SCHEMA_OK) return code;
  struct span frame = text ? schema_tree_string(text) : given ? given->raw : SPAN("");
  struct ob_action action = { .frame = frame };
  struct ob_action_judgement judged = { .verdict = OB_DROP };
  if (ob_action_read(frame, arena, &action, &judged.error) == SCHEMA_OK)
    ob_action_judge(profile, &settings, &action, arena, &judged);
  else
    judged.why =
        span_of(judged.error.what ? judged.error.what : schema_code_text(judged.error.code));
  write_judgement(w, &action, &judged);
  return SCHEMA_OK;
}

/* ---- outcome, event, face ---- */

enum schema_code rg_eval_outcome(const struct schema_node *line, struct arena *arena,
                                 struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  const struct ob_profile *profile;
  const struct schema_node *response = schema_tree_get(line, "response");
  enum schema_code code = read_profile(line, &profile, reterr);
  if (code != SCHEMA_OK) return code;
  struct ob_outcome o =
      span_is(schema_tree_string(response), "closed")
          ? ob_outcome_closed()
          : ob_outcome_read(profile, schema_tree_string(schema_tree_get(line, "action")), response);
  write_word(w, "outcome", ob_outcome_word(o.kind));
  write_id(w, "message_id", o.message_id);
  write_word(w, "reason", o.reason);
  return SCHEMA_OK;
}

enum schema_code rg_eval_event(const struct schema_node *line, struct arena *arena,
                               struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *tree = schema_tree_get(line, "event");
  if (!tree || tree->kind != SCHEMA_OBJECT)
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.event", "an event is a JSON object");
  struct ob_event e;
  ob_event_from_tree(tree, ob_id_of(schema_tree_get(line, "self_id")), arena, &e);
  write_word(w, "type", ob_event_type_word(e.type));
  write_id(w, "group_id", e.group_id);
  write_id(w, "user_id", e.user_id);
  write_id(w, "message_id", e.message_id);
  write_word(w, "role", ob_role_word(e.role));
  schema_write_pair(w, "text", e.text);
  schema_write_key(w, SPAN("mentions_self"));
  schema_write_bool(w, e.mentions_self);
  write_id(w, "reply_to", e.reply_to);
  return SCHEMA_OK;
}

enum schema_code rg_eval_face(const struct schema_node *line, struct arena *arena,
                              struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  const struct ob_profile *profile;
  enum schema_code code = read_profile(line, &profile, reterr);
  if (code != SCHEMA_OK) return code;
  bool unproven = schema_tree_truth(schema_tree_get(line, "unproven"), false);
  const struct ob_face *face =
      ob_face_find(schema_tree_id(schema_tree_get(line, "value")), unproven);
  const char *why = profile->reaction == OB_REACT_NONE ? "this profile has no reaction action"
                    : face                             ? face->name
                                                       : "no face or emoji that is known to work";
  if (profile->reaction == OB_REACT_NONE) face = NULL;
  write_word(w, "emoji_id", face ? face->id : NULL);
  write_word(w, "why", why);
  return SCHEMA_OK;
}
