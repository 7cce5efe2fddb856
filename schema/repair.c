#include "schema/repair.h"

static const struct {
  const char *word, *text;
} kinds[SCHEMA_FIX_COUNT] = {
#define X(name, word, text) [SCHEMA_FIX_##name] = { word, text },
  SCHEMA_REPAIRS(X)
#undef X
};

const char *schema_repair_word(enum schema_repair_kind kind)
{
  return kind < SCHEMA_FIX_COUNT ? kinds[kind].word : "unknown";
}

const char *schema_repair_text(enum schema_repair_kind kind)
{
  return kind < SCHEMA_FIX_COUNT ? kinds[kind].text : "unknown";
}

void schema_repairs_add(struct schema_repairs *list, enum schema_repair_kind kind, size_t at)
{
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].kind == kind && list->items[i].at == at) return;
  if (list->count < SCHEMA_REPAIR_MAX)
    list->items[list->count++] = (struct schema_repair) { kind, at };
}

bool schema_repairs_have(const struct schema_repairs *list, enum schema_repair_kind kind)
{
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].kind == kind) return true;
  return false;
}
