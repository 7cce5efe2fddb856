/* script: see script.h. */
#include "plugin/command/script.h"

/* --- reading --- */

static enum schema_code when_read(const struct schema_node *when, struct arena *arena,
                                  struct rg_script_row *row, struct schema_error *reterr)
{
  static const char wanted[] = "\"when\" is a text or an array of texts";
  bool one = when && when->kind == SCHEMA_STRING;
  if (!one && (!when || when->kind != SCHEMA_ARRAY || when->count == 0)) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.when", wanted);
  }
  size_t count = one ? 1 : when->count;
  struct span *texts = arena_zalloc(arena, count, sizeof *texts);
  if (!texts) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  const struct schema_node *item = one ? when : when->first;
  for (size_t i = 0; i < count; i++, item = item->next) {
    if (item->kind != SCHEMA_STRING) {
      return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.when", wanted);
    }
    texts[i] = span_trim(item->text);
  }
  row->when = texts;
  row->when_count = count;
  return SCHEMA_OK;
}

static enum schema_code row_read(struct span line, struct arena *arena, struct rg_script_row *row,
                                 struct schema_error *reterr)
{
  struct schema_node *tree;
  enum schema_code code = schema_tree_read(line, SCHEMA_DEPTH_REPLY, arena, &tree, reterr);
  if (code != SCHEMA_OK) return code;
  const struct schema_node *answer = schema_tree_get(tree, "answer");
  if (!answer || answer->kind != SCHEMA_STRING) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$.answer", "\"answer\" is a text");
  }
  row->answer = answer->text;
  row->corrected = schema_tree_string(schema_tree_get(tree, "corrected"));
  row->about = schema_tree_string(schema_tree_get(tree, "about"));
  return when_read(schema_tree_get(tree, "when"), arena, row, reterr);
}

/* The next line of *text, which moves on. False: none is left. */
static bool line_take(struct span *text, struct span *line)
{
  if (text->len == 0) return false;
  size_t end = span_find(*text, SPAN("\n"));
  *line = span_trim((struct span) { text->ptr, end });
  if (end < text->len) end++;
  *text = (struct span) { text->ptr + end, text->len - end };
  return true;
}

static bool line_counts(struct span line)
{
  return line.len > 0 && line.ptr[0] != '#';
}

enum schema_code rg_script_read(struct span text, struct arena *arena, struct rg_script *ret,
                                size_t *line_number, struct schema_error *reterr)
{
  size_t count = 0;
  struct span rest = text, line;
  while (line_take(&rest, &line)) count += line_counts(line);
  struct rg_script_row *rows = arena_zalloc(arena, count, sizeof *rows);
  if (count > 0 && !rows) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);

  *line_number = 0;
  rest = text;
  for (size_t i = 0; line_take(&rest, &line);) {
    ++*line_number;
    if (!line_counts(line)) continue;
    enum schema_code code = row_read(line, arena, &rows[i++], reterr);
    if (code != SCHEMA_OK) return code;
  }
  *ret = (struct rg_script) { rows, count };
  return SCHEMA_OK;
}

/* --- answering --- */

static bool row_matches(const struct rg_script_row *row, struct span text)
{
  for (size_t i = 0; i < row->when_count; i++) {
    if (span_eq_nocase(row->when[i], text)) return true;
  }
  return false;
}

const struct rg_script_row *rg_script_find(const struct rg_script *script, struct span text)
{
  text = span_trim(text);
  const struct rg_script_row *otherwise = NULL;
  for (size_t i = 0; i < script->count; i++) {
    const struct rg_script_row *row = &script->rows[i];
    if (row_matches(row, text)) return row;
    if (!otherwise && row_matches(row, SPAN("*"))) otherwise = row;
  }
  return otherwise;
}

/* "what to type  what it shows", a line each row that says what it shows. */
static void add_menu(const struct rg_script *script, struct buf *out)
{
  for (size_t i = 0; i < script->count; i++) {
    const struct rg_script_row *row = &script->rows[i];
    if (row->about.len == 0) continue;
    if (out->len > 0) buf_add_char(out, '\n');
    buf_add(out, row->when[0]);
    buf_add(out, SPAN(" – "));
    buf_add(out, row->about);
  }
}

/* What a placeholder stands for, or ptr NULL where there is no such one. scratch may hold it. */
static struct span value_of(const struct rg_script *script, const struct rg_script_ask *ask,
                            struct span name, struct buf *scratch)
{
  const struct {
    const char *name;
    struct span value;
  } values[] = {
    { "sender_id", ask->sender_id },
    { "sender_name", ask->sender_name },
    { "message_id", ask->message_id },
    { "group_id", ask->group_id },
    { "text", ask->text },
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (!span_is(name, values[i].name)) continue;
    return values[i].value.ptr ? values[i].value : SPAN("");
  }
  if (!span_is(name, "menu")) return (struct span) { NULL, 0 };
  buf_clear(scratch);
  add_menu(script, scratch);
  return scratch->ptr ? buf_span(scratch) : SPAN("");
}

/* value as it stands inside a JSON string. */
static void add_escaped(struct span value, struct buf *out)
{
  struct buf quoted;
  struct schema_writer w = { .out = &quoted };
  buf_init(&quoted, RG_SCRIPT_MAX);
  schema_write_string(&w, value);
  if (quoted.failed) out->failed = true;
  if (quoted.len >= 2) buf_add(out, (struct span) { quoted.ptr + 1, quoted.len - 2 });
  buf_done(&quoted);
}

bool rg_script_write(const struct rg_script *script, struct span answer,
                     const struct rg_script_ask *ask, struct buf *out)
{
  struct buf scratch;
  buf_init(&scratch, RG_SCRIPT_MAX);
  while (answer.len > 0) {
    size_t open = span_find(answer, SPAN("{{"));
    buf_add(out, (struct span) { answer.ptr, open });
    answer = (struct span) { answer.ptr + open, answer.len - open };
    if (answer.len == 0) break;
    size_t close = span_find(answer, SPAN("}}"));
    struct span name = { answer.ptr + 2, close - 2 };
    struct span value = { NULL, 0 };
    if (close < answer.len) value = value_of(script, ask, name, &scratch);
    size_t used = value.ptr ? close + 2 : 2; /* braces of the answer's own stay */
    if (value.ptr) {
      add_escaped(value, out);
    } else {
      buf_add(out, SPAN("{{"));
    }
    answer = (struct span) { answer.ptr + used, answer.len - used };
  }
  if (scratch.failed) out->failed = true;
  buf_done(&scratch);
  return !out->failed;
}
