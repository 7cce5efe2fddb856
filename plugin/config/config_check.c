#include "plugin/config/config_check.h"

#include "plugin/agent/tool_url.h"
#include "plugin/provider/provider.h"

/* ---- providers ---- */

/* What goes into the request by itself, and would stand there twice. */
static bool is_ours(struct span member)
{
  static const char *const ours[] = { "model",    "messages",        "system",
                                      "tools",    "stream",          "max_tokens",
                                      "contents", "response_format", "format" };
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (span_is(member, ours[i])) return true;
  return false;
}

static void check_extra(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *map,
                        const struct rg_provider *p)
{
  const struct rg_yaml *key = rg_yaml_key(map, "extra_body");
  struct schema_node *extra = NULL;
  if (!key || p->extra_body.len == 0) return;
  enum schema_code code =
      schema_tree_read(p->extra_body, SCHEMA_DEPTH_REPLY, &l->tree, &extra, NULL);
  if (code != SCHEMA_OK || extra->kind != SCHEMA_OBJECT) {
    rg_loader_tell(l, key->next,
                   "%.*s.extra_body: write a JSON object in single quotes, like '{\"top_p\": 1}'",
                   (int)m->path.len, m->path.ptr);
    return;
  }
  for (const struct schema_node *n = extra->first; n; n = n->next)
    if (is_ours(n->key))
      rg_loader_tell(l, key->next, "%.*s.extra_body: %.*s is written by Replygate: leave it out",
                     (int)m->path.len, m->path.ptr, (int)n->key.len, n->key.ptr);
}

/* Keys that this dialect does not read: without a word they would look as if they held. */
static void check_unread(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *map,
                         const struct rg_provider *p, const struct schema_provider *known)
{
  bool states = schema_provider_may_state(known);
  const struct {
    const char *key, *readers;
    bool unread;
  } rows[] = {
    { "api_version", "azure", p->api_version.len > 0 && strcmp(known->name, "azure") != 0 },
    { "supports_response_schema", "OpenAI-compatible dialects",
      p->takes_schema != RG_UNKNOWN && !states },
    { "supports_response_schema_with_tools", "OpenAI-compatible dialects",
      p->takes_schema_with_tools != RG_UNKNOWN && !states },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].unread)
      rg_loader_tell(l, rg_yaml_key(map, rows[i].key),
                     "%.*s.%s: only for %s, not for %s: leave it out", (int)m->path.len,
                     m->path.ptr, rows[i].key, rows[i].readers, known->name);
}

void rg_check_provider(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *key,
                       const struct rg_provider *p)
{
  const struct rg_yaml *map = key->next, *url = rg_yaml_key(map, "base_url");
  const struct schema_provider *known = schema_provider_find(p->dialect);
  int n = (int)m->path.len;
  bool http =
      span_starts(p->base_url, SPAN("http://")) || span_starts(p->base_url, SPAN("https://"));
  if (m->bad || !known) return;
  bool holds_more = p->base_url.len > 0 && (memchr(p->base_url.ptr, '?', p->base_url.len) ||
                                            memchr(p->base_url.ptr, '@', p->base_url.len));
  if (p->base_url.len > 0 && (!http || holds_more))
    rg_loader_tell(l, url->next,
                   "%.*s.base_url: write an address like https://api.openai.com/v1, no ? or @", n,
                   m->path.ptr);
  if (p->base_url.len == 0 && !known->base_url && strcmp(known->name, "gemini") != 0)
    rg_loader_tell(l, key, "%.*s: no address: %s has none of its own: write base_url", n,
                   m->path.ptr, known->name);
  if (p->model.len == 0 && !m->unknown)
    rg_loader_tell(l, key, "%.*s: no model: write model: and the model's name", n, m->path.ptr);
  if (p->api_key.len > 0 && p->api_key_file.len > 0)
    rg_loader_tell(l, rg_yaml_key(map, "api_key_file"),
                   "%.*s.api_key_file: not together with api_key", n, m->path.ptr);
  check_unread(l, m, map, p, known);
  enum rg_form form;
  if (!rg_provider_form(p, false, &form))
    rg_loader_tell(l, rg_yaml_key(map, "structured_output")->next,
                   "%.*s.structured_output: %s takes no schema: write prompt, or state "
                   "supports_response_schema: yes",
                   n, m->path.ptr, known->name);
  check_extra(l, m, map, p);
}

/* ---- tools ---- */

bool rg_is_tool_name(struct span s)
{
  enum { NAME_MAX_BYTES = 64 };
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-'))) return false;
  }
  return s.len > 0 && s.len <= NAME_MAX_BYTES;
}

void rg_check_tool(struct rg_loader *l, const struct rg_mapping *m, const struct rg_yaml *key,
                   struct rg_http_tool *t)
{
  static const struct span no_parameters =
      SPAN_INIT("{\"type\":\"object\",\"properties\":{},\"required\":[],"
                "\"additionalProperties\":false}");
  const struct rg_yaml *map = key->next;
  struct span why;
  int n = (int)m->path.len;
  if (m->bad) return;
  if (!t->parameters.tree) {
    t->parameters.text = no_parameters;
    rg_schema_read(no_parameters, &l->c->arena, &l->tree, &t->parameters.tree, &why);
  }
  if (span_is_blank(t->description) && !m->unknown)
    rg_loader_tell(l, key, "%.*s: no description: the model knows the tool by it only", n,
                   m->path.ptr);
  const struct rg_yaml *url = rg_yaml_key(map, "url");
  if (!url && !m->unknown) rg_loader_tell(l, key, "%.*s: no address: write url", n, m->path.ptr);
  const char *fault =
      url ? rg_tool_url_fault(t->url, t->parameters.tree, t->method == RG_METHOD_GET, &l->tree)
          : NULL;
  if (fault) rg_loader_tell(l, url->next, "%.*s.url: %s", n, m->path.ptr, fault);
  if (t->headers.count + t->header_files.count > 2 * RG_HEADERS_MAX)
    rg_loader_tell(l, key, "%.*s: headers and header_files: at most 8 in all", n, m->path.ptr);
}

/* ---- names of what stands elsewhere in the file ---- */

static bool is_provider(const struct rg_config *c, struct span name)
{
  return rg_config_provider(c, name) != NULL;
}

static bool is_tool(const struct rg_config *c, struct span name)
{
  const struct rg_key *key = rg_key_find(RG_SCOPE_GROUP, SPAN("agent.tools"));
  return rg_key_word_find(key, name) != SIZE_MAX || rg_config_tool(c, name);
}

/* Names in a list of agent that nothing has. */
static void check_names(struct rg_loader *l, const struct rg_layer *layer, const char *list,
                        bool (*is)(const struct rg_config *c, struct span name), const char *what)
{
  const struct rg_yaml *agent = layer->map ? rg_yaml_key(layer->map, "agent") : NULL;
  if (!agent || agent->next->faulty || agent->next->kind != RG_YAML_MAP) return;
  const struct rg_yaml *names = rg_yaml_key(agent->next, list);
  if (!names || names->next->faulty || names->next->kind != RG_YAML_LIST) return;
  for (const struct rg_yaml *n = names->next->first; n; n = n->next)
    if (!n->faulty && n->kind == RG_YAML_SCALAR && !is(l->c, n->text))
      rg_loader_tell(l, n, "%.*s.agent.%s: %s", (int)layer->path.len, layer->path.ptr, list, what);
}

void rg_check_agents(struct rg_loader *l, const struct rg_layers *layers)
{
  for (size_t i = 0; i <= layers->count; i++) {
    const struct rg_layer *layer = i == 0 ? &layers->fallback : &layers->groups[i - 1];
    check_names(l, layer, "providers", is_provider, "no provider of this name under providers");
    check_names(l, layer, "tools", is_tool,
                "no tool of this name: write find_member, get_message or a name under tools");
  }
}

/* Whether the agent asks this provider with tools in one of an endpoint's groups (NULL: of all). */
static bool asks_with_tools(const struct rg_config *c, const struct rg_endpoint *e,
                            const struct rg_provider *p)
{
  struct rg_ids named = rg_config_named(c, e);
  for (size_t i = 0; i <= named.count; i++) {
    const struct rg_group *g = rg_config_group(c, e, i == 0 ? 0 : named.items[i - 1]);
    bool uses = g->agent.providers.count == 0;
    for (size_t n = 0; n < g->agent.providers.count && !uses; n++)
      uses = span_eq(g->agent.providers.items[n], p->name);
    if (uses && g->agent.enabled && g->agent.tools != 0) return true;
  }
  return false;
}

void rg_check_native(struct rg_loader *l, const struct rg_yaml *root)
{
  const struct rg_config *c = l->c;
  const struct rg_yaml *providers = c->provider_count > 0 ? rg_yaml_key(root, "providers") : NULL;
  const struct rg_yaml *key = providers ? providers->next->first : NULL;
  for (; key && c->groups; key = key->next->next) {
    const struct rg_provider *p = key->faulty ? NULL : rg_config_provider(c, key->text);
    const struct rg_yaml *form_key =
        p && key->next->kind == RG_YAML_MAP ? rg_yaml_key(key->next, "structured_output") : NULL;
    enum rg_form form;
    if (!form_key || !rg_provider_form(p, false, &form) || rg_provider_form(p, true, &form))
      continue;
    bool asks = asks_with_tools(c, NULL, p);
    for (size_t i = 0; i < c->endpoint_count && !asks; i++)
      asks = asks_with_tools(c, &c->endpoints[i], p);
    if (asks)
      rg_loader_tell(
          l, form_key->next,
          "providers.%.*s.structured_output: native is not possible beside agent.tools: write "
          "auto, or agent.tools: [], or state supports_response_schema_with_tools: yes",
          (int)p->name.len, p->name.ptr);
  }
}
