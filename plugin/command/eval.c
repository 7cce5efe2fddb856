/* eval: the frame around the kinds of `replygate eval`: reads lines, echoes ids, turns faults of a
 * line into a result of that line, and goes on. What a kind does is in its own file. */
#include "plugin/command/eval.h"

#include "plugin/media/media_ref.h"

#include <stdlib.h>

enum {
  EVAL_LINE_MAX = 64 * 1024 * 1024,    /* the largest case of the benches is 14 MiB of base64 */
  EVAL_RESULT_MAX = 128 * 1024 * 1024, /* a result may hold its case, escaped */
  EVAL_ARENA_MAX = 512 * 1024 * 1024,  /* a tree of many small values outgrows its text */
};

/* A kind appears here once its function exists. */
static const struct rg_eval_kind kinds[] = {
  { "reply", rg_eval_reply },
  { "contract", rg_eval_contract },
  { "plan", rg_eval_plan },
  { "action", rg_eval_action },
  { "outcome", rg_eval_outcome },
  { "event", rg_eval_event },
  { "face", rg_eval_face },
  { "config", rg_eval_config },
  { "command", rg_eval_command },
  { "tap", rg_eval_tap },
  { "portable", rg_eval_portable },
  { "fit", rg_eval_fit },
  { "directives", rg_eval_directives },
  { "remote_media", rg_eval_remote_media },
  { "embed", rg_eval_embed },
  { "embed_url", rg_eval_embed_url },
  { "canvas_block", rg_eval_canvas_block },
  { "local_media", rg_eval_local_media },
  { "payload", rg_eval_payload },
  { "message_tool", rg_eval_message_tool },
  { "dedupe", rg_eval_dedupe },
  { "media_same", rg_eval_media_same },
  { "stream", rg_eval_stream },
  { "reply_mode", rg_eval_reply_mode },
  { "provider_request", rg_eval_provider_request },
  { "provider_answer", rg_eval_provider_answer },
  { "provider_stream", rg_eval_provider_stream },
  { "provider_http", rg_eval_provider_http },
  { NULL, NULL }, /* the end */
};

static const struct rg_eval_kind *kind_find(const char *name)
{
  for (const struct rg_eval_kind *k = kinds; k->name; k++) {
    if (strcmp(k->name, name) == 0) return k;
  }
  return NULL;
}

static int unknown_kind(const char *name, FILE *err)
{
  fprintf(err, "replygate eval: unknown kind \"%s\"; the kinds are:", name);
  for (const struct rg_eval_kind *k = kinds; k->name; k++) fprintf(err, " %s", k->name);
  fputc('\n', err);
  return 2;
}

/* Reads up to the next line end, which is not kept. False: nothing was left. A line beyond the
 * maximum of the buffer is read to its end and leaves the buffer failed. */
static bool line_read(FILE *in, struct buf *line)
{
  int c = getc_unlocked(in);
  if (c == EOF) return false;
  buf_clear(line);
  for (; c != EOF && c != '\n'; c = getc_unlocked(in)) buf_add_char(line, (char)c);
  return true;
}

/* "error":{"code","path","why"} with "at" where it is known: how every kind shows a fault. */
static void write_error(struct schema_writer *w, const struct schema_error *error)
{
  const char *why = error->what ? error->what : schema_code_text(error->code);
  schema_write_key(w, SPAN("error"));
  schema_write_object(w);
  schema_write_pair(w, "code", span_of(schema_code_word(error->code)));
  schema_write_key(w, SPAN("at"));
  schema_write_int(w, (int64_t)error->at);
  schema_write_pair(w, "path", span_of(error->path));
  schema_write_pair(w, "why", span_of(why));
  schema_write_object_end(w);
}

static enum schema_code case_answer(const struct rg_eval_kind *kind, const struct schema_node *line,
                                    struct arena *arena, struct schema_writer *w,
                                    struct schema_error *reterr)
{
  if (line->kind != SCHEMA_OBJECT) {
    return schema_fail(reterr, SCHEMA_ETYPE, 0, "$", "a case is a JSON object");
  }
  enum schema_code code = kind->run(line, arena, w, reterr);
  if (code == SCHEMA_OK && w->out->failed) {
    return schema_fail(reterr, SCHEMA_ETOOBIG, 0, NULL, "the result is larger than the limit");
  }
  return code;
}

static struct schema_writer result_begin(struct buf *out, const struct schema_node *id)
{
  struct schema_writer w = { .out = out };
  buf_clear(out);
  schema_write_object(&w);
  schema_write_key(&w, SPAN("id"));
  schema_write_raw(&w, id ? id->raw : SPAN("null"));
  return w;
}

/* One line becomes one result in out, the line end included. */
static void line_answer(const struct rg_eval_kind *kind, const struct buf *line,
                        struct arena *arena, struct buf *out)
{
  struct schema_error error = { .code = SCHEMA_OK };
  struct schema_node *root = NULL;
  enum schema_code code;
  if (line->failed) {
    code = schema_fail(&error, SCHEMA_ETOOBIG, EVAL_LINE_MAX, NULL, "the line exceeds 64 MiB");
  } else {
    code = schema_tree_read(buf_span(line), SCHEMA_DEPTH_SCHEMA, arena, &root, &error);
  }
  const struct schema_node *id = schema_tree_get(root, "id");
  struct schema_writer w = result_begin(out, id);
  if (code == SCHEMA_OK) {
    code = case_answer(kind, root, arena, &w, &error);
    if (code != SCHEMA_OK) w = result_begin(out, id); /* a part may be written already */
  }
  if (code != SCHEMA_OK) {
    error.code = code;
    write_error(&w, &error);
  }
  schema_write_object_end(&w);
  buf_add_char(out, '\n');
}

int rg_eval_run(const char *name, FILE *in, FILE *out, FILE *err)
{
  const struct rg_eval_kind *kind = kind_find(name);
  if (!kind) return unknown_kind(name, err);
  struct buf line, result;
  struct arena arena;
  buf_init(&line, EVAL_LINE_MAX);
  buf_init(&result, EVAL_RESULT_MAX);
  arena_init(&arena, EVAL_ARENA_MAX);
  while (line_read(in, &line)) {
    line_answer(kind, &line, &arena, &result);
    fwrite(result.ptr, 1, result.len, out);
    fflush(out);
    arena_reset(&arena);
  }
  bool broken = ferror(in) || ferror(out);
  arena_done(&arena);
  buf_done(&result);
  buf_done(&line);
  if (broken) fputs("replygate eval: reading or writing failed\n", err);
  return broken ? 1 : 0;
}

struct span rg_eval_base64(struct span text, struct arena *arena)
{
  size_t cap = text.len / 4 * 3 + 3, n = 0, size = 0;
  char *out = arena_alloc(arena, cap);
  if (!out || !rg_media_base64(text, out, cap, &n, &size)) return (struct span) { 0 };
  return (struct span) { out, n };
}
