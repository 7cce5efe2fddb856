/* played: see played.h. */
#include "onebot/sandbox/played.h"

#include "onebot/id.h"
#include "onebot/sandbox/embedded.h"

const char *const ob_played_names[] = { "napcat",  "llbot", "lagrange", "go-cqhttp",
                                        "onebots", "spec",  NULL };

static const char *const table_names[OB_TABLE_COUNT] = {
  [OB_TABLE_FACTS] = "facts.tsv",   [OB_TABLE_SEGMENTS] = "segments.tsv",
  [OB_TABLE_FIELDS] = "fields.tsv", [OB_TABLE_FILES] = "files.tsv",
  [OB_TABLE_MUSIC] = "music.tsv",   [OB_TABLE_ACTIONS] = "actions.tsv",
};

const char *ob_played_find(struct span name)
{
  for (size_t i = 0; ob_played_names[i]; i++)
    if (span_is(name, ob_played_names[i])) return ob_played_names[i];
  return NULL;
}

/* Takes what stands before the first c (or all of it) off the front of text. */
static struct span take(struct span *text, char c)
{
  const char *at = text->len ? memchr(text->ptr, c, text->len) : NULL;
  struct span piece = { text->ptr, at ? (size_t)(at - text->ptr) : text->len };
  size_t gone = piece.len + (at ? 1 : 0);
  text->ptr += gone;
  text->len -= gone;
  return piece;
}

struct span ob_played_cell(const char *played, enum ob_table table, struct span row)
{
  size_t column = 1; /* the first is the row's name */
  while (ob_played_names[column - 1] && strcmp(played, ob_played_names[column - 1]) != 0) column++;
  struct span text = ob_embedded_find(span_of(table_names[table]));
  take(&text, '\n'); /* the names of the columns; a unit test holds them to ob_played_names */
  while (text.len) {
    struct span line = take(&text, '\n');
    if (!span_eq(take(&line, '\t'), row)) continue;
    struct span cell = { "", 0 };
    for (size_t i = 0; i < column; i++) cell = take(&line, '\t');
    return cell;
  }
  return (struct span) { NULL, 0 };
}

static struct ob_played_app find_app(struct span value, size_t column)
{
  struct span text = ob_embedded_find(SPAN("apps.tsv"));
  take(&text, '\n');
  while (text.len) {
    struct span line = take(&text, '\n'), cells[5];
    for (size_t i = 0; i < 5; i++) cells[i] = take(&line, '\t');
    if (span_eq(cells[column], value))
      return (struct ob_played_app) { cells[0], cells[1], cells[2], cells[3], cells[4] };
  }
  return (struct ob_played_app) { .type = { NULL, 0 } };
}

struct ob_played_app ob_played_app_by_type(struct span type)
{
  return find_app(type, 0);
}

struct ob_played_app ob_played_app_by_id(struct span appid)
{
  return find_app(appid, 1);
}

struct span ob_played_fact(const char *played, const char *row)
{
  return ob_played_cell(played, OB_TABLE_FACTS, span_of(row));
}

bool ob_played_fact_is(const char *played, const char *row, const char *value)
{
  return span_is(ob_played_fact(played, row), value);
}

struct ob_failure ob_played_failure(const char *played, const char *row)
{
  struct span cell = ob_played_fact(played, row);
  int64_t code = 0;
  ob_id_read(take(&cell, ' '), &code);
  return (struct ob_failure) { (int32_t)code, cell };
}

void ob_failure_print(const struct ob_failure *f, struct span detail, struct buf *out)
{
  struct span text = f->text;
  for (size_t i = 0; i < text.len; i++) {
    bool pair = i + 1 < text.len;
    if (pair && text.ptr[i] == '\\' && text.ptr[i + 1] == 'n') {
      buf_add_char(out, '\n');
      i++;
    } else if (pair && text.ptr[i] == '%' && text.ptr[i + 1] == 's') {
      buf_add(out, detail);
      i++;
    } else {
      buf_add_char(out, text.ptr[i]);
    }
  }
}

struct span ob_word_next(struct span *list)
{
  return take(list, ' ');
}

bool ob_word_in(struct span list, struct span word)
{
  while (list.len)
    if (span_eq(ob_word_next(&list), word)) return true;
  return false;
}
