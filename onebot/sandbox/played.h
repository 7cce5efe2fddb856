/* played: the implementation that the sandbox plays, read from the tables of tests/data/peers
 * (built in). A cell is lent from the program itself. */
#ifndef ONEBOT_SANDBOX_PLAYED_H
#define ONEBOT_SANDBOX_PLAYED_H

#include "schema/bytes.h"

enum ob_table {
  OB_TABLE_FACTS,
  OB_TABLE_SEGMENTS,
  OB_TABLE_FIELDS,
  OB_TABLE_FILES,
  OB_TABLE_MUSIC,
  OB_TABLE_ACTIONS,
  OB_TABLE_COUNT
};

/* The columns of every table, NULL behind the last. */
extern const char *const ob_played_names[];

/* The name of ob_played_names that equals name, or NULL. */
const char *ob_played_find(struct span name);
/* One cell; ptr NULL where the table has no such row. */
struct span ob_played_cell(const char *played, enum ob_table table, struct span row);
/* A cell of facts.tsv. */
struct span ob_played_fact(const char *played, const char *row);
bool ob_played_fact_is(const char *played, const char *row, const char *value);

/* A row of apps.tsv: the app that a music card comes from. type.ptr NULL: none has that value. */
struct ob_played_app {
  struct span type, appid, package, sign, tag;
};
struct ob_played_app ob_played_app_by_type(struct span type);
struct ob_played_app ob_played_app_by_id(struct span appid);

/* A cell that is an answer, "RETCODE TEXT". */
struct ob_failure {
  int32_t retcode;
  struct span text; /* \n and %s are not replaced yet */
};
struct ob_failure ob_played_failure(const char *played, const char *row);
/* The text with \n as line ends and detail for %s. */
void ob_failure_print(const struct ob_failure *f, struct span detail, struct buf *out);

/* Takes the next word off a list; an empty word at its end. */
struct span ob_word_next(struct span *list);
bool ob_word_in(struct span list, struct span word);

#endif
