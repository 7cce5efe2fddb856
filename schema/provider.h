/* provider: what is known of model providers without asking one: whether a call can carry a schema,
 * in which field it does, and how the body of an answer is read (response-schema.md D, E, F, M). */
#ifndef SCHEMA_PROVIDER_H
#define SCHEMA_PROVIDER_H

#include "schema/document.h"
#include "schema/print.h"

enum schema_dialect {
  SCHEMA_DIALECT_OPENAI,
  SCHEMA_DIALECT_ANTHROPIC,
  SCHEMA_DIALECT_GEMINI,
  SCHEMA_DIALECT_MISTRAL,
  SCHEMA_DIALECT_OLLAMA,
  SCHEMA_DIALECT_POLARGRID,
  SCHEMA_DIALECT_MOCK, /* the scripted model */
};

struct schema_provider {
  const char *name;
  enum schema_dialect dialect;
  bool takes_schema;
  enum { SCHEMA_TOOLS_NO, SCHEMA_TOOLS_YES, SCHEMA_TOOLS_OWN_ENDPOINT } takes_schema_with_tools;
  const char *base_url; /* the vendor's; NULL: there is none */
};

/* What an operator states of a provider's endpoint. */
struct schema_provider_config {
  struct span base_url; /* empty: the vendor's */
  enum { SCHEMA_UNSTATED, SCHEMA_STATED_NO, SCHEMA_STATED_YES } schema, schema_with_tools;
  const struct schema_node *extra_body; /* members for the request; NULL: none */
};

/* NULL where it is unknown. */
const struct schema_provider *schema_provider_find(struct span name);

/* Whether its operator may state what its endpoint takes (OpenAI-compatible ones differ). */
bool schema_provider_may_state(const struct schema_provider *p);

/* Whether one call may carry a schema, beside tools or not (rules 68 to 75). */
bool schema_provider_takes(const struct schema_provider *p,
                           const struct schema_provider_config *config, bool tools);

/* Writes the members of the request that carry the schema, and the configured extra members
 * (rules 77 to 83). The schema goes as it was written. */
void schema_provider_write_request(struct schema_writer *w, const struct schema_provider *p,
                                   const struct schema_provider_config *config,
                                   const struct schema_node *schema);

/* What an answer's body says. Everything lives in the body or in arena. */
struct schema_provider_answer {
  struct span text;    /* without reasoning */
  struct span refusal; /* the signal; empty: none */
  struct span stop;    /* the provider's word; empty: none */
  bool tool_round;     /* a step of the tool loop, which is not judged (rule 104) */
};

/* Reads a response body, whatever its shape. False: no memory. */
bool schema_provider_read(const struct schema_provider *p, const struct schema_node *body,
                          struct arena *arena, struct schema_provider_answer *ret);

/* Whether the provider's word for the stop means a tool call that went wrong (rule 110). */
bool schema_provider_is_broken_call(struct span stop);

/* Whether a call that failed with this HTTP status may be tried again (section M). */
bool schema_provider_retries(const struct schema_provider *p, int64_t status);

enum schema_provider_failure {
  SCHEMA_FAILURE_CONNECTION, /* refused, reset, aborted by the server without a status */
  SCHEMA_FAILURE_LIMIT,      /* anything else whose words name a limit or a server's fault */
  SCHEMA_FAILURE_OTHER,
};
/* The same for a call that failed without a status. */
bool schema_provider_retries_failure(const struct schema_provider *p,
                                     enum schema_provider_failure failure);

#endif
