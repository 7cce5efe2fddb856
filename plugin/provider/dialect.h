/* dialect: what differs between providers' protocols, one row each. */
#ifndef PLUGIN_PROVIDER_DIALECT_H
#define PLUGIN_PROVIDER_DIALECT_H

#include "plugin/provider/provider.h"

struct rg_joined;

struct rg_dialect {
  const char *path;        /* behind the base address; %s is the model's name */
  const char *stream_path; /* the same for a stream; NULL: no other */
  const char *version; /* what the path begins with where the base does not end in it, or NULL */
  const char *key;     /* the header of the key up to its value */
  const char *header;  /* one more, or NULL */
  /* Writes the members of the request but the model's own. system is complete; native says that the
   * schema is to go in a field. */
  void (*write)(const struct rg_ask *ask, struct span system, bool native, struct schema_writer *w);
  void (*read_calls)(const struct schema_node *body, struct arena *arena,
                     struct rg_provider_answer *ret);
  uint64_t (*tokens)(const struct schema_node *body);
  /* Takes one event of a stream in. */
  void (*add)(struct rg_joined *j, const struct schema_node *event);
  /* Writes the body that all of them come to. */
  void (*write_joined)(const struct rg_joined *j, struct schema_writer *w);
  /* The status that an error inside a stream stands for; NULL: its code. */
  int64_t (*error_status)(const struct schema_node *error);
};

extern const struct rg_dialect rg_dialect_openai, rg_dialect_azure, rg_dialect_mistral;
extern const struct rg_dialect rg_dialect_anthropic, rg_dialect_ollama;
extern const struct rg_dialect rg_dialect_gemini, rg_dialect_vertex;

/* The members that carry the schema, and those of extra_body. */
void rg_dialect_write_schema(const struct rg_ask *ask, bool native, struct schema_writer *w);
/* "messages": the system text, then what was said, each by write_said: OpenAI's form and Ollama's. */
void rg_dialect_write_messages(const struct rg_ask *ask, struct span system,
                               void (*write_said)(const struct rg_said *said, size_t pictures,
                                                  struct schema_writer *w),
                               struct schema_writer *w);
/* How many pictures of what was said this model is shown. */
size_t rg_dialect_pictures(const struct rg_ask *ask, const struct rg_said *said);
/* "tools" of the same two. */
void rg_dialect_write_tools(const struct rg_ask *ask, struct schema_writer *w);
/* "key": a number */
void rg_dialect_write_count(struct schema_writer *w, const char *key, uint64_t n);
/* A member that is a count; 0 where it is none. */
uint64_t rg_dialect_count(const struct schema_node *object, const char *name);
/* Room for one more call, or NULL: too many. */
struct rg_tool_call *rg_dialect_call(struct rg_provider_answer *a);
/* The item of an array member, or NULL. */
const struct schema_node *rg_dialect_first(const struct schema_node *object, const char *name);
/* Writes {"error":{"code":…,"detail":…}}, what every dialect's error in a stream becomes. */
void rg_dialect_write_error(struct schema_writer *w, int64_t status, struct span detail);
/* The row of a provider, or NULL. */
const struct rg_dialect *rg_dialect_of(const struct rg_provider *config);
/* Arguments as JSON text: an object's bytes, a string's content, "{}" where there are none. */
struct span rg_dialect_arguments(const struct schema_node *arguments);

#endif
