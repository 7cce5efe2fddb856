/* document: what a model's text is worth where a caller asked for one JSON document in a schema of
 * his own: the document, or why there is none (response-schema.md section C). */
#ifndef SCHEMA_DOCUMENT_H
#define SCHEMA_DOCUMENT_H

#include "schema/fit.h"

enum schema_document_verdict {
  SCHEMA_DOCUMENT_OK,
  SCHEMA_DOCUMENT_UNSUPPORTED, /* the call cannot carry a schema: nothing was asked */
  SCHEMA_DOCUMENT_REFUSAL,     /* the model declined */
  SCHEMA_DOCUMENT_TRUNCATED,   /* the answer was cut */
  SCHEMA_DOCUMENT_INVALID,     /* no JSON, or JSON of another shape */
};

/* "ok", "unsupported", "refusal", "truncated", "invalid_json" */
const char *schema_document_word(enum schema_document_verdict verdict);

/* Whether a provider's word for why it stopped means that the answer was cut, whoever's word it is
 * (rule 55). */
bool schema_document_is_cut(struct span stop);

/* Judges the text of an answer. refusal: the signal, empty for none; stop: the provider's word, or
 * empty. schema NULL: any text is right. A refusal comes before a cut, a cut before the text.
 * *retmisfit (which may be NULL) says what is wrong with the text. SCHEMA_ENOMEM, else SCHEMA_OK
 * with *ret. */
enum schema_code schema_document_judge(const struct schema_node *schema, struct span refusal,
                                       struct span stop, struct span text, struct arena *arena,
                                       enum schema_document_verdict *ret,
                                       struct schema_misfit *retmisfit);

#endif
