/* eval_config: the eval kinds `config` and `command`: the loader and the commands of the running
 * plugin on one case. */
#include "onebot/event.h"
#include "plugin/admin/admin.h"
#include "plugin/command/eval.h"

/* ---- config ---- */

/* The environment of a case: its `env`, nothing else. */
static const char *case_env(void *ctx, const char *name)
{
  struct span value = schema_tree_string(schema_tree_get(ctx, name));
  return value.ptr; /* decoded strings end with a NUL: case_text sees to it */
}

/* The environment with each value NUL-terminated, as getenv gives it. */
static struct schema_node *env_of(const struct schema_node *line, struct arena *arena)
{
  struct schema_node *env = schema_tree_get(line, "env");
  for (struct schema_node *v = env ? env->first : NULL; v; v = v->next)
    if (v->kind == SCHEMA_STRING) v->text = arena_copy(arena, v->text);
  return env;
}

/* Reads the configuration of a case. NULL with faults, or NULL and an error of the case. */
static struct rg_config *case_config(const struct schema_node *line, struct arena *arena,
                                     struct rg_config_faults *faults, enum schema_code *code,
                                     struct schema_error *reterr)
{
  const struct schema_node *plain = schema_tree_get(line, "config_text");
  const struct schema_node *coded = schema_tree_get(line, "config_base64");
  struct span text = schema_tree_string(plain ? plain : coded);
  *code = SCHEMA_OK;
  if (text.ptr && !plain) text = rg_eval_base64(text, arena);
  if (!text.ptr) {
    *code = schema_fail(reterr, SCHEMA_EARGUMENT, 0, "$.config_text",
                        "config_text or config_base64 holds the configuration");
    return NULL;
  }
  return rg_config_read(text, SPAN(""), case_env, env_of(line, arena), arena, faults);
}

enum schema_code rg_eval_config(const struct schema_node *line, struct arena *arena,
                                struct schema_writer *w, struct schema_error *reterr)
{
  struct rg_config_faults faults;
  enum schema_code code;
  struct rg_config *config = case_config(line, arena, &faults, &code, reterr);
  if (code != SCHEMA_OK) return code;
  schema_write_key(w, SPAN("ok"));
  schema_write_bool(w, config != NULL);
  schema_write_key(w, SPAN("errors"));
  schema_write_array(w);
  for (size_t i = 0; i < faults.count; i++) {
    schema_write_object(w);
    schema_write_key(w, SPAN("line"));
    schema_write_int(w, (int64_t)faults.items[i].line);
    schema_write_key(w, SPAN("column"));
    schema_write_int(w, (int64_t)faults.items[i].column);
    schema_write_pair(w, "what", faults.items[i].what);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  rg_config_release(config);
  return SCHEMA_OK;
}

/* ---- command ---- */

/* A value as it was typed: what the row takes for numbers and booleans, else text. */
static void write_scalar(struct schema_writer *w, const struct rg_key *key,
                         const struct rg_yaml *value)
{
  bool bare = key->type == RG_KEY_BOOL || key->type == RG_KEY_COUNT || key->type == RG_KEY_BYTES ||
              key->type == RG_KEY_SECONDS || key->type == RG_KEY_IDS ||
              (key->type == RG_KEY_REACTIONS &&
               (span_is(value->text, "true") || span_is(value->text, "false")));
  if (bare)
    schema_write_raw(w, value->text);
  else
    schema_write_string(w, value->text);
}

static void write_value(struct schema_writer *w, const struct rg_key *key,
                        const struct rg_yaml *value)
{
  if (value->kind != RG_YAML_LIST) {
    write_scalar(w, key, value);
    return;
  }
  schema_write_array(w);
  for (const struct rg_yaml *item = value->first; item; item = item->next)
    write_scalar(w, key, item);
  schema_write_array_end(w);
}

static void write_effect(struct schema_writer *w, const struct rg_command *c, struct arena *arena)
{
  bool has_key = c->op == RG_OP_SET || c->op == RG_OP_RESET || c->op == RG_OP_SHOW;
  schema_write_object(w);
  schema_write_pair(w, "op", span_of(rg_op_word(c->op)));
  schema_write_key(w, SPAN("group"));
  if (c->group > 0)
    schema_write_string(w, arena_printf(arena, "%llu", (unsigned long long)c->group));
  else
    schema_write_null(w);
  if (has_key) schema_write_key(w, SPAN("key"));
  if (has_key && c->key)
    schema_write_string(w, span_of(c->key->name));
  else if (has_key)
    schema_write_null(w);
  if (c->value) {
    schema_write_key(w, SPAN("value"));
    write_value(w, c->key, c->value);
  }
  schema_write_object_end(w);
}

static void write_result(struct schema_writer *w, enum rg_admin_result result,
                         const struct rg_admin_answer *answer, struct arena *arena)
{
  bool done = result == RG_ADMIN_DONE;
  schema_write_key(w, SPAN("is_command"));
  schema_write_bool(w, result != RG_ADMIN_NOT_A_COMMAND);
  schema_write_key(w, SPAN("allowed"));
  schema_write_bool(w, done);
  schema_write_key(w, SPAN("effect"));
  if (done && answer->command.fault.len == 0)
    write_effect(w, &answer->command, arena);
  else
    schema_write_null(w);
  schema_write_key(w, SPAN("answer"));
  if (done)
    schema_write_string(w, answer->text);
  else
    schema_write_null(w);
}

enum schema_code rg_eval_command(const struct schema_node *line, struct arena *arena,
                                 struct schema_writer *w, struct schema_error *reterr)
{
  struct rg_config_faults faults;
  struct rg_admin_answer answer;
  struct ob_event event;
  enum schema_code code;
  const struct schema_node *tree = schema_tree_get(line, "event");
  struct rg_config *config = case_config(line, arena, &faults, &code, reterr);
  if (code != SCHEMA_OK) return code;
  if (!config)
    return schema_fail(reterr, SCHEMA_ECONFIG, 0, "$.config_text",
                       "the configuration has faults: `eval config` lists them");
  struct rg_admin admin = { .settings = rg_settings_new(config, NULL, NULL, NULL) };
  if (!admin.settings) {
    code = schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  } else if (!tree) {
    code = schema_fail(reterr, SCHEMA_EARGUMENT, 0, "$.event", "the event is missing");
  } else {
    struct rg_ids own = { NULL, 0 };
    struct span endpoint = config->endpoint_count > 0 ? config->endpoints[0].name : SPAN("");
    ob_event_from_tree(tree, SPAN(""), arena, &event);
    enum rg_admin_result result = rg_admin_handle(&admin, endpoint, &event, &own, arena, &answer);
    write_result(w, result, &answer, arena);
  }
  rg_settings_free(admin.settings);
  rg_config_release(config);
  return code;
}
