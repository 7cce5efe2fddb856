/* script: the scripted model: raw answers chosen by what a user typed, for trying the gate without
 * a model. One JSON object a line:
 *   when       what is typed, or an array of such; ASCII case is ignored; "*" is anything else
 *   answer     the raw answer, as a model would write it; {{sender_id}}, {{sender_name}},
 *              {{message_id}}, {{group_id}}, {{text}} and {{menu}} are replaced, escaped as in JSON
 *   corrected  optional: what it writes when it is asked for the correction
 *   about      optional: what it shows; rows with it make up {{menu}}
 * Empty lines and lines that begin with # are passed over. */
#ifndef PLUGIN_COMMAND_SCRIPT_H
#define PLUGIN_COMMAND_SCRIPT_H

#include "schema/print.h"

enum { RG_SCRIPT_MAX = 16 * 1024 * 1024 }; /* a demo; base64 pictures included */

struct rg_script_row {
  const struct span *when;
  size_t when_count;
  struct span answer, corrected, about;
};

struct rg_script {
  const struct rg_script_row *rows;
  size_t count;
};

/* Whom and what the model answers; unused spans are empty. */
struct rg_script_ask {
  struct span text, sender_id, sender_name, message_id, group_id;
};

/* Reads a script; everything lives in arena and in text. *line gets the number of a faulty line. */
enum schema_code rg_script_read(struct span text, struct arena *arena, struct rg_script *ret,
                                size_t *line, struct schema_error *reterr);
/* The row that answers a text, or NULL. */
const struct rg_script_row *rg_script_find(const struct rg_script *script, struct span text);
/* Appends an answer with its placeholders replaced. False: out of room. */
bool rg_script_write(const struct rg_script *script, struct span answer,
                     const struct rg_script_ask *ask, struct buf *out);

#endif
