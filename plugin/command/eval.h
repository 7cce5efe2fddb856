/* eval: `replygate eval KIND`: one JSON case a line in, one result a line out, through the same
 * functions as the running plugin. Each kind is a row of the table in eval.c. */
#ifndef PLUGIN_COMMAND_EVAL_H
#define PLUGIN_COMMAND_EVAL_H

#include <stdio.h>

#include "schema/print.h"

/* Answers one case: writes the members of the result (not the braces, not "id") with w. line is
 * the whole case, a JSON object. The arena is emptied after each case. On failure writes nothing
 * further and returns a code; *reterr says what is wrong with the case. */
typedef enum schema_code rg_eval_fn(const struct schema_node *line, struct arena *arena,
                                    struct schema_writer *w, struct schema_error *reterr);

struct rg_eval_kind {
  const char *name;
  rg_eval_fn *run;
};

/* one file per family, each a list of its kinds */
rg_eval_fn rg_eval_reply, rg_eval_contract; /* eval_schema.c */
rg_eval_fn rg_eval_plan, rg_eval_action, rg_eval_outcome, rg_eval_event,
    rg_eval_face; /* eval_onebot.c */
rg_eval_fn rg_eval_portable, rg_eval_fit, rg_eval_directives, rg_eval_remote_media, rg_eval_embed,
    rg_eval_embed_url, rg_eval_canvas_block, rg_eval_local_media, rg_eval_payload,
    rg_eval_message_tool, rg_eval_dedupe, rg_eval_media_same, rg_eval_stream,
    rg_eval_reply_mode;                     /* eval_protocol.c */
rg_eval_fn rg_eval_config, rg_eval_command; /* eval_config.c */
rg_eval_fn rg_eval_tap;                     /* eval_tap.c */
rg_eval_fn rg_eval_provider_request, rg_eval_provider_answer, rg_eval_provider_stream,
    rg_eval_provider_http; /* eval_provider.c */

/* The bytes of standard base64; ptr NULL where it is none or memory ran out. */
struct span rg_eval_base64(struct span text, struct arena *arena);

/* Reads cases from in until its end. Returns the exit code of the command: 0, or 2 for an unknown
 * kind (with the list of kinds on err). */
int rg_eval_run(const char *kind, FILE *in, FILE *out, FILE *err);

#endif
