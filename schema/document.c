#include "schema/document.h"

static const char *const words[] = {
  [SCHEMA_DOCUMENT_OK] = "ok",
  [SCHEMA_DOCUMENT_UNSUPPORTED] = "unsupported",
  [SCHEMA_DOCUMENT_REFUSAL] = "refusal",
  [SCHEMA_DOCUMENT_TRUNCATED] = "truncated",
  [SCHEMA_DOCUMENT_INVALID] = "invalid_json",
};

const char *schema_document_word(enum schema_document_verdict verdict)
{
  return words[verdict];
}

bool schema_document_is_cut(struct span stop)
{
  static const char *const cuts[] = { "length", "max_tokens", "model_context_window_exceeded",
                                      "model_length" };
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    if (span_eq_nocase(stop, span_of(cuts[i]))) return true;
  return false;
}

enum schema_code schema_document_judge(const struct schema_node *schema, struct span refusal,
                                       struct span stop, struct span text, struct arena *arena,
                                       enum schema_document_verdict *ret,
                                       struct schema_misfit *retmisfit)
{
  struct schema_error error = { .code = SCHEMA_OK };
  struct schema_node *document = NULL;
  *ret = SCHEMA_DOCUMENT_OK;
  if (!schema) return SCHEMA_OK;
  if (refusal.len)
    *ret = SCHEMA_DOCUMENT_REFUSAL;
  else if (schema_document_is_cut(stop))
    *ret = SCHEMA_DOCUMENT_TRUNCATED;
  if (*ret != SCHEMA_DOCUMENT_OK) return SCHEMA_OK;
  enum schema_code code = schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, arena, &document, &error);
  if (code == SCHEMA_ENOMEM) return code;
  if (code != SCHEMA_OK) {
    struct span why = span_of(error.what ? error.what : schema_code_text(code));
    *ret = SCHEMA_DOCUMENT_INVALID;
    if (retmisfit) *retmisfit = (struct schema_misfit) { .path = { NULL, 0 }, .why = why };
    return SCHEMA_OK;
  }
  code = schema_fit(schema, document, arena, retmisfit);
  if (code == SCHEMA_EMISFIT) *ret = SCHEMA_DOCUMENT_INVALID;
  return code == SCHEMA_ENOMEM ? code : SCHEMA_OK;
}
