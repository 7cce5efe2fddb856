/* tool: the HTTP tools of the configuration: what a model's call becomes as a request, and what it is
 * told of the response: bounded, marked as data, without what is secret. */
#ifndef PLUGIN_AGENT_TOOL_H
#define PLUGIN_AGENT_TOOL_H

#include "plugin/gate.h"
#include "plugin/provider/provider.h"

enum { RG_TOOL_HEADERS_MAX = 16 };

/* A request, in the arena of rg_tool_write. */
struct rg_tool_request {
  const char *url;
  const char *method;                           /* NULL: by whether there is a body */
  const char *headers[RG_TOOL_HEADERS_MAX + 2]; /* hold secrets: never to be logged */
  struct span body;
};

/* Makes the request of a call. NULL, or why not, for the model: {"error":…} in arena. Reads the files
 * of its headers. */
const char *rg_tool_write(const struct rg_http_tool *tool, struct span arguments,
                          struct arena *arena, struct rg_tool_request *ret);

/* How a request ended. */
struct rg_tool_outcome {
  enum rg_http_end end;
  unsigned status;
  const char *why;  /* where end is not RG_HTTP_OK */
  struct span body; /* its first response_bytes */
  bool cut;         /* there was more */
};
/* Appends what the model is told: {"data":…} where the body is JSON, {"text":…,"cut":…} else, or
 * {"error":…}. headers: what was sent, and is not to come back. */
void rg_tool_write_result(const struct rg_tool_outcome *outcome, const char *const *headers,
                          struct buf *out);

/* Makes the call. done gets the result on the service thread, but not once the gate closes. Returns
 * the number to cancel it by; 0: nothing was sent, *reterror (in arena) is the result. config is
 * kept until it is done. Service thread. */
uint64_t rg_tool_call(struct rg_gate *gate, struct rg_config *config,
                      const struct rg_http_tool *tool, struct span arguments,
                      void (*done)(struct rg_gate *gate, uint64_t run, struct span result),
                      uint64_t run, struct arena *arena, const char **reterror);

#endif
