/* repair: what was put right in a model's answer without asking the model again. One list of
 * kinds; a list of what was done to one answer. */
#ifndef SCHEMA_REPAIR_H
#define SCHEMA_REPAIR_H

#include "schema/bytes.h"

/* name, word (what eval, logs and results show), text for people */
#define SCHEMA_REPAIRS(X)                                                                          \
  /* where the reply was found */                                                                  \
  X(FENCE, "fence", "taken out of a code fence")                                                   \
  X(PROSE_AROUND, "prose_around", "words around the reply object dropped")                         \
  X(LEGACY_ROOT, "legacy_root", "a single {\"segments\":…} read as one message")                   \
  X(PLAIN_TEXT, "plain_text", "plain prose sent as one text message")                              \
  X(DIRECTIVE, "directive", "delivery directives taken out of the words")                          \
  X(TEXT_WRAPPER, "text_wrapper", "<text> wrappers read as one message each")                      \
  X(DOUBLE_ENCODED, "double_encoded", "a reply inside a JSON string unpacked")                     \
  X(NESTED_REPLY, "nested_reply", "a reply object inside a text unpacked")                         \
  X(HTML_ENTITIES, "html_entities", "HTML entities read as the characters they stand for")         \
  X(REASONING, "reasoning", "reasoning cut")                                                       \
  X(CHANNEL, "channel", "only the final channel read")                                             \
  X(TEMPLATE_TOKEN, "template_token", "tokens of the chat template cut")                           \
  X(TOOL_SCRAP, "tool_scrap", "left-over tool markup dropped")                                     \
  X(TRIMMED, "trimmed", "white space and invisible characters around the answer cut")              \
  /* its syntax */                                                                                 \
  X(BRACKET_EXTRA, "bracket_extra", "one bracket too many taken out")                              \
  X(BRACKET_MISSING, "bracket_missing", "one missing bracket put in")                              \
  X(TRAILING_COMMA, "trailing_comma", "a comma before a closing bracket dropped")                  \
  X(COMMENT, "comment", "a comment dropped")                                                       \
  X(PUNCTUATION, "punctuation", "fullwidth punctuation read as JSON punctuation")                  \
  X(QUOTES, "quotes", "other quotes read as JSON quotes")                                          \
  X(BARE_KEY, "bare_key", "a key without quotes read")                                             \
  X(LITERAL, "literal", "a word that is no JSON value read as null")                               \
  X(RAW_CONTROL, "raw_control", "a raw control character in a string read as escaped")             \
  X(BAD_ESCAPE, "bad_escape", "a backslash that begins no escape kept as a backslash")             \
  X(SPACE, "space", "special white space and invisible characters between tokens dropped")         \
  X(ZERO_WIDTH, "zero_width", "invisible characters in a key dropped")                             \
  X(ANSI, "ansi", "terminal colours dropped")                                                      \
  X(SURROGATE, "surrogate", "half a surrogate pair replaced by U+FFFD")                            \
  /* its content */                                                                                \
  X(INTEGER, "integer", "an integer read as a string, by its digits")                              \
  X(REACTION_IGNORED, "reaction_ignored", "a reaction where none is offered ignored")              \
  X(REACTION_MISSING, "reaction_missing", "a missing reaction read as none")                       \
  X(MASKED, "masked", "a secret masked")                                                           \
  X(PATH_SHORTENED, "path_shortened", "a private path shortened")                                  \
  X(BASE64_CUT, "base64_cut", "inline base64 cut out of a text")

enum schema_repair_kind {
#define X(name, word, text) SCHEMA_FIX_##name,
  SCHEMA_REPAIRS(X)
#undef X
      SCHEMA_FIX_COUNT
};

struct schema_repair {
  enum schema_repair_kind kind;
  size_t at; /* byte in the raw answer, as near as it is known */
};

/* The word of a kind ("fence") and its text for people, never NULL. */
const char *schema_repair_word(enum schema_repair_kind kind);
const char *schema_repair_text(enum schema_repair_kind kind);

enum { SCHEMA_REPAIR_MAX = 32 }; /* as many as anybody reads; the first are kept */

/* Zero it to begin. */
struct schema_repairs {
  struct schema_repair items[SCHEMA_REPAIR_MAX];
  size_t count;
};

/* Notes a repair, once for each kind and byte. */
void schema_repairs_add(struct schema_repairs *list, enum schema_repair_kind kind, size_t at);
bool schema_repairs_have(const struct schema_repairs *list, enum schema_repair_kind kind);

#endif
