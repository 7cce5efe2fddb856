/* provider: one question to a model as bytes of HTTP, and the bytes of its answer as what it said.
 * Pure: nothing is sent here. Each dialect is a row of functions in a file of its own. */
#ifndef PLUGIN_PROVIDER_PROVIDER_H
#define PLUGIN_PROVIDER_PROVIDER_H

#include "plugin/config/config.h"
#include "schema/provider.h"

enum {
  RG_CALLS_MAX = 16,                      /* tool calls of one answer; more are a loop */
  RG_PROVIDER_BODY_MAX = 8 * 1024 * 1024, /* a reply with a picture as base64 */
  /* a hundred messages and the contract are 0.2 MiB, four pictures 16 MiB */
  RG_PROVIDER_REQUEST_MAX = 24 * 1024 * 1024,
  RG_PROVIDER_HEADERS_MAX = 4,
};

struct rg_tool {
  const char *name, *description;
  struct span parameters; /* a portable JSON Schema */
};

/* The model's wish to use a tool. */
struct rg_tool_call {
  struct span id, name;
  struct span arguments; /* JSON text */
  struct span raw;       /* Gemini: the whole part, which must come back as it was */
};

struct rg_picture {
  struct span mime, base64;
};

/* One thing that was said, in the order of the talk. */
struct rg_said {
  enum { RG_SAID_USER, RG_SAID_MODEL, RG_SAID_TOOL } by;
  struct span text;
  const struct rg_tool_call *calls; /* RG_SAID_MODEL */
  size_t call_count;
  struct span call_id, tool;         /* RG_SAID_TOOL: what it answers */
  const struct rg_picture *pictures; /* RG_SAID_USER: for models that see, before the text */
  size_t picture_count;
};

struct rg_ask {
  const struct rg_provider *config;
  struct span key;    /* the secret; empty: none */
  struct span system; /* the operator's words and ours, never a chat's */
  const struct rg_said *said;
  size_t said_count;
  const struct rg_tool *tools;
  size_t tool_count;
  bool tools_off;     /* they are described, for the talk names them, but not to be called */
  struct span schema; /* JSON; empty: any text is right */
};

/* A request in an arena. */
struct rg_provider_call {
  const char *url;
  const char *headers[RG_PROVIDER_HEADERS_MAX + 1]; /* hold the key: never to be logged */
  struct span body;
};

struct rg_provider_answer {
  struct schema_provider_answer said;
  bool truncated;
  struct rg_tool_call calls[RG_CALLS_MAX];
  size_t call_count;
  uint64_t tokens;       /* used by question and answer; 0: it does not say */
  bool failed;           /* the body is an error in spite of its status */
  int64_t failed_status; /* the status that it names; 0: none */
};

/* The table of a provider, or NULL. */
const struct schema_provider *rg_provider_known(const struct rg_provider *config);
/* Whether the schema goes in the request (native) or into the system prompt. False: what is stated
 * cannot be (`structured_output: native` beside tools), and nothing may be asked. */
bool rg_provider_form(const struct rg_provider *config, bool tools, enum rg_form *ret);
/* Makes the request. False: unsupported (see rg_provider_form), or no memory. */
bool rg_provider_write(const struct rg_ask *ask, struct arena *arena, struct rg_provider_call *ret);
/* Whether a tool's name means the answer itself: no tool of ours may have it. */
bool rg_provider_is_answer_tool(struct span name);
/* Whether the body of an error says that the question is too long for the model (response-schema.md
 * 159). */
bool rg_provider_is_overflow(struct span body);
/* Reads the whole body (stream.h) of an answer with a status of success. False: it is no JSON of an answer. */
bool rg_provider_read(const struct rg_provider *config, struct span body, struct arena *arena,
                      struct rg_provider_answer *ret);

#endif
