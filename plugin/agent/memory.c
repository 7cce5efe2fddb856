/* memory: see memory.h. */
#include "plugin/agent/memory.h"

#include <time.h>

enum { DAY_S = 24 * 3600, NAME_MAX_BYTES = 256, WHY_MAX = 256 };

static const struct rg_store_methods *methods_of(const struct rg_agent *agent)
{
  return agent->gate->store ? agent->gate->store->methods : NULL;
}

/* Logs the first failure in a row. */
static void report(struct rg_agent *agent, bool fine, const char *why)
{
  if (!fine && !agent->store_failed)
    rg_log_line(&agent->gate->log, RG_LOG_WARN, "agent: nothing is remembered: %s", why);
  agent->store_failed = !fine;
}

static struct rg_store_chat chat_of(const struct rg_account *account, bool group, struct span id)
{
  return (struct rg_store_chat) { .endpoint = span_of(account->name), .group = group, .id = id };
}

static struct rg_store_bound bound_of(const struct rg_group *settings)
{
  int64_t age = (int64_t)settings->agent.history_days * DAY_S;
  return (struct rg_store_bound) { .lines = settings->agent.history,
                                   .oldest = (int64_t)time(NULL) - age };
}

/* --- tokens --- */

/* The names under which budgets are kept; a provider's may hold any characters but none of these. */
static struct span chat_name(const struct rg_chat *chat, char name[NAME_MAX_BYTES])
{
  int n = snprintf(name, NAME_MAX_BYTES, "chat %s %s %s", chat->group ? "group" : "user", chat->id,
                   chat->account->name);
  return (struct span) { name, n < 0 ? 0 : n < NAME_MAX_BYTES ? (size_t)n : NAME_MAX_BYTES - 1 };
}

static struct span provider_name(const struct rg_provider *p, char name[NAME_MAX_BYTES])
{
  int n = snprintf(name, NAME_MAX_BYTES, "provider %.*s", (int)p->name.len, p->name.ptr);
  return (struct span) { name, n < 0 ? 0 : n < NAME_MAX_BYTES ? (size_t)n : NAME_MAX_BYTES - 1 };
}

static void budget_load(struct rg_agent *agent, struct rg_budget *b, struct span name)
{
  const struct rg_store_methods *m = methods_of(agent);
  char why[WHY_MAX] = "";
  if (m && m->budget_get)
    report(agent, m->budget_get(agent->gate->store, name, &b->day, &b->tokens, why, sizeof why),
           why);
}

static void budget_spend(struct rg_agent *agent, struct rg_budget *b, struct span name,
                         uint64_t tokens)
{
  const struct rg_store_methods *m = methods_of(agent);
  char why[WHY_MAX] = "";
  rg_budget_spend(b, tokens);
  if (m && m->budget_add)
    report(agent,
           m->budget_add(agent->gate->store, name, b->day, tokens, &b->tokens, why, sizeof why),
           why);
  else if (m && m->budget_put)
    report(agent, m->budget_put(agent->gate->store, name, b->day, b->tokens, why, sizeof why), why);
}

struct rg_budget *rg_memory_budget(struct rg_agent *agent, const struct rg_provider *provider)
{
  char name[NAME_MAX_BYTES];
  struct rg_budget *first = agent->used;
  struct rg_budget *b = rg_budget_get(&agent->used, provider->name);
  if (b && agent->used != first) budget_load(agent, b, provider_name(provider, name));
  return b;
}

void rg_memory_spend(struct rg_agent *agent, const struct rg_provider *provider,
                     struct rg_chat *chat, uint64_t tokens)
{
  char name[NAME_MAX_BYTES];
  struct rg_budget *b = rg_memory_budget(agent, provider);
  if (tokens == 0) return;
  if (b) budget_spend(agent, b, provider_name(provider, name), tokens);
  budget_spend(agent, &chat->budget, chat_name(chat, name), tokens);
}

/* --- talks --- */

static void on_line(void *ctx, const struct rg_store_line *kept)
{
  struct rg_chat *chat = ctx;
  const struct rg_talk_line line = { .sender_id = kept->sender_id,
                                     .name = kept->name,
                                     .message_id = kept->message_id,
                                     .reply_to = kept->reply_to,
                                     .text = kept->text,
                                     .ours = kept->ours };
  rg_talk_add(&chat->talk, &line);
}

void rg_memory_load(struct rg_agent *agent, struct rg_chat *chat, const struct rg_group *settings)
{
  const struct rg_store_methods *m = methods_of(agent);
  const struct rg_store_chat c = chat_of(chat->account, chat->group, span_of(chat->id));
  const struct rg_store_bound bound = bound_of(settings);
  char name[NAME_MAX_BYTES], why[WHY_MAX] = "";
  budget_load(agent, &chat->budget, chat_name(chat, name));
  if (bound.lines > 0 && m && m->line_each)
    report(agent, m->line_each(agent->gate->store, &c, &bound, on_line, chat, why, sizeof why),
           why);
}

void rg_memory_line(struct rg_agent *agent, struct rg_chat *chat, const struct rg_group *settings,
                    const struct rg_talk_line *line)
{
  const struct rg_store_methods *m = methods_of(agent);
  const struct rg_store_bound bound = bound_of(settings);
  char why[WHY_MAX] = "";
  rg_talk_add(&chat->talk, line);
  if (bound.lines == 0 || !m || !m->line_put) return;
  const struct rg_store_chat c = chat_of(chat->account, chat->group, span_of(chat->id));
  const struct rg_store_line kept = { .sender_id = line->sender_id,
                                      .name = line->name,
                                      .message_id = line->message_id,
                                      .reply_to = line->reply_to,
                                      .text = rg_talk_cut(line->text),
                                      .ours = line->ours,
                                      .at = (int64_t)time(NULL) };
  report(agent, m->line_put(agent->gate->store, &c, &kept, &bound, why, sizeof why), why);
}

void rg_memory_forget(struct rg_agent *agent, const struct rg_account *account, bool group,
                      struct span id, struct span message_id)
{
  const struct rg_store_methods *m = methods_of(agent);
  const struct rg_store_chat c = chat_of(account, group, id);
  struct rg_chat *chat = rg_chat_find(&agent->chats, account, group, id);
  char why[WHY_MAX] = "";
  if (chat) rg_talk_forget(&chat->talk, message_id);
  if (m && m->line_forget)
    report(agent, m->line_forget(agent->gate->store, &c, message_id, why, sizeof why), why);
}

bool rg_memory_clear(struct rg_agent *agent, const struct rg_account *account, bool group,
                     struct span id)
{
  const struct rg_store_methods *m = methods_of(agent);
  const struct rg_store_chat c = chat_of(account, group, id);
  struct rg_chat *chat = rg_chat_find(&agent->chats, account, group, id);
  char why[WHY_MAX] = "";
  if (chat) rg_talk_done(&chat->talk);
  if (!m || !m->lines_drop) return true;
  bool fine = m->lines_drop(agent->gate->store, &c, why, sizeof why);
  report(agent, fine, why);
  return fine;
}
