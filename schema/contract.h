/* contract: the offer as the model is given it: a JSON Schema and an instruction text, both
 * generated from the segment table and the same offer that the validator uses. */
#ifndef SCHEMA_CONTRACT_H
#define SCHEMA_CONTRACT_H

#include "schema/offer.h"

/* Appends the JSON Schema (draft 2020-12 words inside the portable subset of response-schema.md A:
 * anyOf over type consts, every object closed, every property required). False: out of room. */
bool schema_contract_schema(const struct schema_offer *offer, struct buf *out);
/* Appends the instruction in offer->language (reply.md 130). False: out of room. */
bool schema_contract_instruction(const struct schema_offer *offer, struct buf *out);
/* The same where words are asked for: how directives are written. Nothing where none are read. */
bool schema_contract_words(const struct schema_offer *offer, struct buf *out);
/* The same where a document in a caller's schema is asked for (response-schema.md 152). */
bool schema_contract_document(const struct schema_offer *offer, struct span schema,
                              struct buf *out);

#endif
