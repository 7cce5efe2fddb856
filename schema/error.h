/* error: the one list of what can go wrong, and the record that says where.
 * A row: name, word (what eval, logs and results show), text for people. */
#ifndef SCHEMA_ERROR_H
#define SCHEMA_ERROR_H

#include <stddef.h>
#include <stdint.h>

#define SCHEMA_ERRORS(X)                                                                           \
  X(OK, "ok", "nothing wrong")                                                                     \
  X(ENOMEM, "memory", "out of memory")                                                             \
  X(ETOOBIG, "too_big", "larger than the limit")                                                   \
  /* reading JSON */                                                                               \
  X(ESYNTAX, "syntax", "not valid JSON here")                                                      \
  X(ETRUNCATED, "truncated", "the JSON ends before it is complete")                                \
  X(EDEPTH, "depth", "nested too deep")                                                            \
  X(EUTF8, "utf8", "not valid UTF-8")                                                              \
  X(ESURROGATE, "surrogate", "half of a surrogate pair")                                           \
  X(EDUPLICATE, "duplicate_key", "the same key twice in one object")                               \
  /* the reply contract */                                                                         \
  X(ETYPE, "type", "a value of another type is needed")                                            \
  X(EMISSING, "missing", "a required key is missing")                                              \
  X(EUNKNOWN, "unknown_key", "a key that the contract does not have")                              \
  X(ENOTOFFERED, "not_offered", "a segment type that this endpoint does not offer")                \
  X(EENUM, "enum", "not one of the allowed values")                                                \
  X(ELIMIT, "limit", "more items than allowed")                                                    \
  X(ENOREPLY, "no_reply", "no reply object found")                                                 \
  X(EEMPTY, "empty", "nothing in the answer")                                                      \
  X(EREASONING, "reasoning", "only reasoning, no answer")                                          \
  X(ETOOLCALL, "tool_call", "a tool call written as text")                                         \
  X(ELEAK, "leak", "something that must not leave")                                                \
  X(EERRORPAGE, "error_page", "an error page instead of an answer")                                \
  X(ETOOLONG, "too_long", "too long to be corrected")                                              \
  /* answers in a caller's own schema */                                                           \
  X(ENOTPORTABLE, "not_portable", "a schema outside the portable subset")                          \
  X(EMISFIT, "misfit", "a document of another shape than its schema")                              \
  X(EREFUSAL, "refusal", "the model declined to answer")                                           \
  X(EINVALIDJSON, "invalid_json", "no JSON, or JSON of another shape than its schema")             \
  X(EUNSUPPORTED, "unsupported", "the provider cannot carry a schema here")                        \
  X(EPROVIDER, "provider", "no answer came from the model's provider")                             \
  /* planning for an endpoint */                                                                   \
  X(ETARGET, "target", "no usable group or user")                                                  \
  X(EPROFILE, "profile", "unknown profile")                                                        \
  X(EREPLY, "reply", "not a canonical reply")                                                      \
  X(EMENTIONTARGET, "mention_target", "not an account number")                                     \
  X(EMENTIONALL, "mention_all", "mentioning everyone is not allowed here")                         \
  X(EMENTIONUNSUPPORTED, "mention_unsupported", "this endpoint cannot mention a person")           \
  X(ESEGMENT, "segment", "this endpoint cannot send such a segment")                               \
  X(EMEDIA, "media", "not a usable media reference")                                               \
  /* talking to an endpoint and to the host */                                                     \
  X(ECONFIG, "config", "the configuration has faults")                                             \
  X(EARGUMENT, "argument", "a wrong argument")                                                     \
  X(ECLOSED, "closed", "already closed")

enum schema_code {
#define X(name, word, text) SCHEMA_##name,
  SCHEMA_ERRORS(X)
#undef X
      SCHEMA_CODE_COUNT
};

enum { SCHEMA_PATH_MAX = 96 };

struct schema_error {
  enum schema_code code;
  size_t at; /* byte in the text that was read */
  char
      path[SCHEMA_PATH_MAX]; /* JSON path, "$.messages[0].segments[1]", cut from the left if long */
  const char *what;          /* constant text: what is wrong and what is wanted; may be NULL */
};

/* The word of a code ("mention_all"), never NULL. */
const char *schema_code_word(enum schema_code code);
/* The text for people, never NULL. */
const char *schema_code_text(enum schema_code code);
/* Fills *reterr (which may be NULL) and returns code. path and what may be NULL. */
enum schema_code schema_fail(struct schema_error *reterr, enum schema_code code, size_t at,
                             const char *path, const char *what);

#endif
