/* eval_tap: the kind `tap`: {keyboard:{rows:[[{label,payload}]]}, text} -> {payload}, or null where
 * the text is no tap. */
#include "plugin/command/eval.h"
#include "plugin/delivery/keyboard.h"

static const char wanted[] = "\"keyboard\" is {\"rows\":[[{\"label\",\"payload\"}]]}";

static enum schema_code row_read(const struct schema_node *node, struct arena *arena,
                                 struct schema_row *ret, struct schema_error *reterr)
{
  if (node->kind != SCHEMA_ARRAY) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.keyboard.rows", wanted);
  }
  struct schema_button *buttons = arena_zalloc(arena, node->count, sizeof *buttons);
  if (node->count > 0 && !buttons) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  size_t i = 0;
  for (const struct schema_node *b = node->first; b; b = b->next, i++) {
    buttons[i].label = schema_tree_string(schema_tree_get(b, "label"));
    buttons[i].payload = schema_tree_string(schema_tree_get(b, "payload"));
  }
  *ret = (struct schema_row) { buttons, node->count };
  return SCHEMA_OK;
}

static enum schema_code keyboard_read(const struct schema_node *rows, struct arena *arena,
                                      struct schema_segment *ret, struct schema_error *reterr)
{
  if (!rows || rows->kind != SCHEMA_ARRAY) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.keyboard", wanted);
  }
  struct schema_row *all = arena_zalloc(arena, rows->count, sizeof *all);
  if (rows->count > 0 && !all) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  size_t i = 0;
  for (const struct schema_node *row = rows->first; row; row = row->next) {
    enum schema_code code = row_read(row, arena, &all[i++], reterr);
    if (code != SCHEMA_OK) return code;
  }
  *ret = (struct schema_segment) { .type = SCHEMA_KEYBOARD };
  ret->keyboard.rows = all;
  ret->keyboard.count = rows->count;
  return SCHEMA_OK;
}

enum schema_code rg_eval_tap(const struct schema_node *line, struct arena *arena,
                             struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *text = schema_tree_get(line, "text");
  if (!text || text->kind != SCHEMA_STRING) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.text", "a text is wanted");
  }
  struct schema_segment segment;
  const struct schema_node *rows = schema_tree_get(schema_tree_get(line, "keyboard"), "rows");
  enum schema_code code = keyboard_read(rows, arena, &segment, reterr);
  if (code != SCHEMA_OK) return code;

  struct rg_keyboard keyboard = { .count = 0 };
  struct span payload;
  if (!rg_keyboard_remember(&keyboard, &segment, SPAN(""), 0)) {
    return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  }
  schema_write_key(w, SPAN("payload"));
  if (rg_keyboard_tap(&keyboard, text->text, SPAN(""), 0, &payload)) {
    schema_write_string(w, payload);
  } else {
    schema_write_null(w);
  }
  rg_keyboard_forget(&keyboard);
  return SCHEMA_OK;
}
