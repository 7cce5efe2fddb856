/* result: what of a job others are told, as JSON: its result, a report of its verdict, what a model is
 * to be given for it. All append to out and return false where memory ran out or it has no room. */
#ifndef PLUGIN_DELIVERY_RESULT_H
#define PLUGIN_DELIVERY_RESULT_H

#include "plugin/delivery/turn.h"

/* Appends what the model is to be given: a JSON Schema (nothing where words are asked for) and an
 * instruction. */
bool rg_job_write_contract(const struct rg_job *job, struct buf *schema, struct buf *instruction);
/* Appends what host->complete is asked: {"instruction","schema","answer","code","path","why"}. */
bool rg_job_write_request(const struct rg_job *job, struct buf *out);
/* Appends what on_result tells (replygate.h); result is the word. */
bool rg_job_write_result(const struct rg_job *job, const char *result, struct buf *out);
/* Appends what check() tells. */
bool rg_job_write_report(const struct rg_job *job, struct buf *out);

#endif
