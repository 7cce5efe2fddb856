/* eval_protocol: the kinds of `replygate eval` for the two source protocols: the portable schema
 * (portable, fit) and the rich output directives. Each calls the functions of schema/ and writes
 * what vectors/rich_output.jsonl expects. */
#include "plugin/command/eval.h"

#include "schema/embed.h"
#include "schema/fit.h"
#include "schema/payload.h"
#include "schema/reference.h"
#include "schema/stream.h"
#include "schema/white.h"

static enum schema_code wants(struct schema_error *reterr, const char *path, const char *what)
{
  return schema_fail(reterr, SCHEMA_ETYPE, 0, path, what);
}

static enum schema_code no_memory(struct schema_error *reterr)
{
  return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
}

static struct span text_of(const struct schema_node *object, const char *name)
{
  return schema_tree_string(schema_tree_get(object, name));
}

static void write_flag(struct schema_writer *w, const char *name, bool flag)
{
  schema_write_key(w, span_of(name));
  schema_write_bool(w, flag);
}

static void write_or_null(struct schema_writer *w, const char *name, struct span value)
{
  schema_write_key(w, span_of(name));
  if (value.ptr)
    schema_write_string(w, value);
  else
    schema_write_null(w);
}

static void write_list(struct schema_writer *w, const char *name, const struct span *items,
                       size_t count)
{
  schema_write_key(w, span_of(name));
  schema_write_array(w);
  for (size_t i = 0; i < count; i++) schema_write_string(w, items[i]);
  schema_write_array_end(w);
}

/* {"ok","path","why"} */
static void write_verdict(struct schema_writer *w, bool ok, const struct schema_misfit *misfit)
{
  write_flag(w, "ok", ok);
  write_or_null(w, "path", ok ? (struct span) { NULL, 0 } : misfit->path);
  write_or_null(w, "why", ok ? (struct span) { NULL, 0 } : misfit->why);
}

static void write_unread(struct schema_writer *w, const struct schema_error *error)
{
  const char *what = error->what ? error->what : schema_code_text(error->code);
  struct schema_misfit misfit = { .path = { NULL, 0 }, .why = span_of(what) };
  write_verdict(w, false, &misfit);
}

/* ---- portable, fit ---- */

enum schema_code rg_eval_portable(const struct schema_node *line, struct arena *arena,
                                  struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *schema = schema_tree_get(line, "schema");
  struct span text = text_of(line, "schema_text");
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  if (!schema && text.ptr) {
    struct schema_node *read = NULL;
    struct schema_error fault = { .code = SCHEMA_OK };
    if (schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, arena, &read, &fault) != SCHEMA_OK) {
      write_unread(w, &fault);
      return SCHEMA_OK;
    }
    schema = read;
  }
  if (!schema) return wants(reterr, "$.schema", "a case has a schema or a schema_text");
  enum schema_code code = schema_portable_check(schema, arena, &misfit);
  if (code == SCHEMA_ENOMEM) return no_memory(reterr);
  write_verdict(w, code == SCHEMA_OK, &misfit);
  return SCHEMA_OK;
}

enum schema_code rg_eval_fit(const struct schema_node *line, struct arena *arena,
                             struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *schema = schema_tree_get(line, "schema");
  struct span text = text_of(line, "document_text");
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  struct schema_node *document = NULL;
  struct schema_error fault = { .code = SCHEMA_OK };
  if (!schema) return wants(reterr, "$.schema", "a case has a schema");
  if (!text.ptr) return wants(reterr, "$.document_text", "a string");
  enum schema_code code = schema_portable_check(schema, arena, &misfit);
  if (code == SCHEMA_ENOTPORTABLE)
    return schema_fail(reterr, code, 0, "$.schema", "the schema is outside the portable subset");
  if (code == SCHEMA_OK) {
    if (schema_tree_read(text, SCHEMA_DEPTH_SCHEMA, arena, &document, &fault) != SCHEMA_OK) {
      write_unread(w, &fault);
      return SCHEMA_OK;
    }
    code = schema_fit(schema, document, arena, &misfit);
  }
  if (code == SCHEMA_ENOMEM) return no_memory(reterr);
  write_verdict(w, code == SCHEMA_OK, &misfit);
  return SCHEMA_OK;
}

/* ---- directives, payload, message_tool, dedupe ---- */

static struct schema_directive_options options_of(const struct schema_node *line)
{
  const struct schema_node *o = schema_tree_get(line, "options");
  return (struct schema_directive_options) {
    .current_message_id = text_of(o, "current_message_id"),
    .media_lines = schema_tree_truth(schema_tree_get(o, "extract_media_directives"), true),
    .markdown_images = schema_tree_truth(schema_tree_get(o, "extract_markdown_images"), false),
  };
}

enum schema_code rg_eval_directives(const struct schema_node *line, struct arena *arena,
                                    struct schema_writer *w, struct schema_error *reterr)
{
  struct schema_directive_options options = options_of(line);
  struct schema_directives d;
  struct span text = text_of(line, "text");
  if (!text.ptr) return wants(reterr, "$.text", "a string");
  if (!schema_directives_read(text, &options, arena, &d)) return no_memory(reterr);
  schema_write_pair(w, "text", d.text);
  write_list(w, "media_urls", d.media, d.media_count);
  write_flag(w, "audio_as_voice", d.audio_as_voice);
  write_flag(w, "reply_to_current", d.reply_to_current);
  write_or_null(w, "reply_to_id", d.reply_to_id);
  write_flag(w, "has_reply_tag", d.has_reply_tag);
  write_flag(w, "silent", d.silent);
  return SCHEMA_OK;
}

/* A payload as cases write it. False: no memory. */
static bool payload_of(const struct schema_node *node, struct arena *arena,
                       struct schema_payload *ret)
{
  const struct schema_node *list = schema_tree_get(node, "media_urls");
  *ret = (struct schema_payload) {
    .text = text_of(node, "text"),
    .media_url = text_of(node, "media_url"),
    .audio_as_voice = schema_tree_truth(schema_tree_get(node, "audio_as_voice"), false),
    .reply_to_id = text_of(node, "reply_to_id"),
    .reply_to_current = schema_tree_truth(schema_tree_get(node, "reply_to_current"), false),
  };
  if (!list || list->kind != SCHEMA_ARRAY) return true;
  struct span *urls = arena_zalloc(arena, list->count + 1, sizeof *urls);
  if (!urls) return false;
  for (const struct schema_node *n = list->first; n; n = n->next)
    urls[ret->media_url_count++] = schema_tree_string(n);
  ret->media_urls = urls;
  return true;
}

enum schema_code rg_eval_payload(const struct schema_node *line, struct arena *arena,
                                 struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *node = schema_tree_get(line, "payload");
  struct schema_directive_options options = options_of(line);
  struct schema_payload payload;
  struct schema_directives d;
  bool deliver;
  if (!node || node->kind != SCHEMA_OBJECT) return wants(reterr, "$.payload", "an object");
  if (!payload_of(node, arena, &payload) ||
      !schema_payload_plan(&payload, &options, arena, &d, &deliver))
    return no_memory(reterr);
  write_flag(w, "deliver", deliver);
  schema_write_pair(w, "text", d.text);
  write_list(w, "media_urls", d.media, d.media_count);
  write_flag(w, "audio_as_voice", d.audio_as_voice);
  write_or_null(w, "reply_to_id", d.reply_to_id);
  write_flag(w, "reply_to_current", d.reply_to_current);
  return SCHEMA_OK;
}

enum schema_code rg_eval_message_tool(const struct schema_node *line, struct arena *arena,
                                      struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *args = schema_tree_get(line, "args");
  struct schema_directives d;
  bool ok;
  if (!args || args->kind != SCHEMA_OBJECT) return wants(reterr, "$.args", "an object");
  if (!schema_payload_from_tool(args, arena, &d, &ok)) return no_memory(reterr);
  write_flag(w, "ok", ok);
  if (!ok) return SCHEMA_OK;
  schema_write_pair(w, "text", d.text);
  write_list(w, "media_urls", d.media, d.media_count);
  write_flag(w, "audio_as_voice", d.audio_as_voice);
  return SCHEMA_OK;
}

/* Each payload of a list planned. *ret has room for all. False: no memory. */
static bool plan_list(const struct schema_node *list,
                      const struct schema_directive_options *options, bool keep_empty,
                      struct arena *arena, struct schema_directives **ret, size_t *retcount)
{
  size_t count = 0;
  *ret = arena_zalloc(arena, list ? list->count + 1 : 1, sizeof **ret);
  for (const struct schema_node *n = list && *ret ? list->first : NULL; n; n = n->next) {
    struct schema_payload payload;
    bool deliver;
    if (!payload_of(n, arena, &payload) ||
        !schema_payload_plan(&payload, options, arena, &(*ret)[count], &deliver))
      return false;
    count += deliver || keep_empty;
  }
  *retcount = count;
  return *ret != NULL;
}

enum schema_code rg_eval_dedupe(const struct schema_node *line, struct arena *arena,
                                struct schema_writer *w, struct schema_error *reterr)
{
  struct schema_directive_options options = options_of(line), block_options = options;
  struct schema_directives *blocks, *finals;
  struct schema_delivered delivered = { NULL, 0 };
  const struct span *media;
  size_t block_count, count, media_count;
  block_options.media_lines = false; /* a text command in a streamed block is text */
  block_options.markdown_images = false;
  if (!plan_list(schema_tree_get(line, "blocks"), &block_options, true, arena, &blocks,
                 &block_count) ||
      !plan_list(schema_tree_get(line, "final"), &options, false, arena, &finals, &count))
    return no_memory(reterr);
  if (!span_is(text_of(line, "block_outcome"), "not_sent"))
    delivered = (struct schema_delivered) { blocks, block_count };
  if (!schema_payload_dedupe(&delivered, arena, finals, &count) ||
      !schema_payload_media(&delivered, finals, count, arena, &media, &media_count))
    return no_memory(reterr);
  schema_write_key(w, SPAN("final_payloads"));
  schema_write_array(w);
  for (size_t i = 0; i < count; i++) {
    schema_write_object(w);
    schema_write_pair(w, "text", finals[i].text);
    write_list(w, "media_urls", finals[i].media, finals[i].media_count);
    write_flag(w, "audio_as_voice", finals[i].audio_as_voice);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  write_list(w, "media_delivered", media, media_count);
  return SCHEMA_OK;
}

enum schema_code rg_eval_reply_mode(const struct schema_node *line, struct arena *arena,
                                    struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  const struct schema_node *payloads = schema_tree_get(line, "payloads");
  struct span name = text_of(line, "mode");
  enum schema_reply_mode mode = SCHEMA_REPLY_ALL;
  bool allowed = schema_tree_truth(schema_tree_get(line, "explicit_allowed_when_off"), false);
  bool used = false;
  if (span_is(name, "off"))
    mode = SCHEMA_REPLY_OFF;
  else if (span_is(name, "first") || span_is(name, "batched"))
    mode = SCHEMA_REPLY_FIRST;
  else if (!span_is(name, "all"))
    return wants(reterr, "$.mode", "one of all, first, batched, off");
  schema_write_key(w, SPAN("reply_to_ids"));
  schema_write_array(w);
  for (const struct schema_node *n = payloads ? payloads->first : NULL; n; n = n->next) {
    struct span id = text_of(n, "reply_to_id");
    bool is_explicit = schema_tree_truth(schema_tree_get(n, "explicit"), false);
    if (schema_reply_mode_keeps(mode, allowed, id.len > 0, is_explicit, &used))
      schema_write_string(w, id);
    else
      schema_write_null(w);
  }
  schema_write_array_end(w);
  return SCHEMA_OK;
}

/* ---- references ---- */

static enum schema_code write_accepted(struct schema_writer *w, const char *fault)
{
  write_flag(w, "accepted", fault == NULL);
  write_or_null(w, "why", span_of(fault));
  return SCHEMA_OK;
}

enum schema_code rg_eval_remote_media(const struct schema_node *line, struct arena *arena,
                                      struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  struct span url = text_of(line, "url");
  if (!url.ptr) return wants(reterr, "$.url", "a string");
  return write_accepted(w, schema_remote_fault(url, false));
}

enum schema_code rg_eval_local_media(const struct schema_node *line, struct arena *arena,
                                     struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  struct span path = text_of(line, "path");
  if (!path.ptr) return wants(reterr, "$.path", "a string");
  path = schema_white_trim(path);
  const char *fault = "no path";
  if (!schema_remote_is_web(schema_reference_bare(path)))
    fault = schema_reference_fault(path, SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_BARE);
  return write_accepted(w, fault);
}

enum schema_code rg_eval_media_same(const struct schema_node *line, struct arena *arena,
                                    struct schema_writer *w, struct schema_error *reterr)
{
  struct span a = text_of(line, "a"), b = text_of(line, "b");
  if (!a.ptr || !b.ptr) return wants(reterr, "$", "a and b are strings");
  a = schema_reference_key(a, arena);
  b = schema_reference_key(b, arena);
  if (!a.ptr || !b.ptr) return no_memory(reterr);
  write_flag(w, "same", span_eq(a, b));
  return SCHEMA_OK;
}

/* ---- embeds ---- */

static void write_canvas(struct schema_writer *w, const struct schema_embed *embed)
{
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("canvas"));
  schema_write_key(w, SPAN("preview"));
  schema_embed_write(w, embed);
  schema_write_object_end(w);
}

/* What one message shows. */
struct shown {
  struct buf text;
  struct schema_embed *canvas;
  size_t count, cap;
};

static bool add_canvas(struct shown *s, const struct schema_embed *embed, struct arena *arena)
{
  if (s->count == s->cap) {
    size_t cap = s->cap ? s->cap * 2 : 8;
    struct schema_embed *more = arena_zalloc(arena, cap, sizeof *more);
    if (!more) return false;
    if (s->count) memcpy(more, s->canvas, s->count * sizeof *more);
    s->canvas = more;
    s->cap = cap;
  }
  s->canvas[s->count++] = *embed;
  return true;
}

static bool is_stored(const struct schema_node *content, const struct schema_embed *embed)
{
  struct schema_embed stored;
  for (const struct schema_node *n = content ? content->first : NULL; n; n = n->next)
    if (schema_embed_read(n, &stored) && schema_embed_same(embed, &stored)) return true;
  return false;
}

/* The text of an assistant's message: shortcodes become canvases, but those stored beside it. */
static bool show_text(struct shown *s, struct span text, const struct schema_node *content,
                      struct arena *arena)
{
  struct schema_embeds embeds;
  if (!schema_embeds_take(text, arena, &embeds)) return false;
  text = span_is_blank(embeds.text) ? SPAN("") : embeds.text;
  while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1])) text.len--;
  if (s->text.len && text.len) buf_add_char(&s->text, '\n');
  buf_add(&s->text, text);
  for (size_t i = 0; i < embeds.count; i++)
    if (!is_stored(content, &embeds.items[i]) && !add_canvas(s, &embeds.items[i], arena))
      return false;
  return true;
}

static bool show_content(struct shown *s, const struct schema_node *content, bool assistant,
                         struct arena *arena)
{
  for (const struct schema_node *n = content->first; n; n = n->next) {
    struct schema_embed stored;
    struct span text = text_of(n, "text");
    if (assistant && schema_embed_read(n, &stored)) {
      if (!add_canvas(s, &stored, arena)) return false;
    } else if (text.ptr && assistant) {
      if (!show_text(s, text, content, arena)) return false;
    } else if (text.ptr) {
      if (s->text.len) buf_add_char(&s->text, '\n');
      buf_add(&s->text, text);
    }
  }
  return true;
}

enum schema_code rg_eval_embed(const struct schema_node *line, struct arena *arena,
                               struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *content = schema_tree_get(line, "content");
  struct span text = text_of(line, "text");
  bool assistant = span_is(text_of(line, "role"), "assistant");
  struct shown s = { .count = 0 };
  bool ok = true;
  buf_init(&s.text, 64 * 1024 * 1024); /* as long as a line of eval */
  if (content && content->kind == SCHEMA_ARRAY)
    ok = show_content(&s, content, assistant, arena);
  else if (assistant)
    ok = show_text(&s, text, NULL, arena);
  else
    buf_add(&s.text, text);
  ok = ok && !s.text.failed;
  if (ok) {
    schema_write_pair(w, "text", buf_span(&s.text));
    schema_write_key(w, SPAN("canvas"));
    schema_write_array(w);
    for (size_t i = 0; i < s.count; i++) write_canvas(w, &s.canvas[i]);
    schema_write_array_end(w);
  }
  buf_done(&s.text);
  return ok ? SCHEMA_OK : no_memory(reterr);
}

enum schema_code rg_eval_embed_url(const struct schema_node *line, struct arena *arena,
                                   struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  struct span url = text_of(line, "url");
  bool external = schema_tree_truth(schema_tree_get(line, "allow_external"), false);
  if (!url.ptr) return wants(reterr, "$.url", "a string");
  write_flag(w, "renderable", schema_embed_renderable(url, external));
  return SCHEMA_OK;
}

enum schema_code rg_eval_canvas_block(const struct schema_node *line, struct arena *arena,
                                      struct schema_writer *w, struct schema_error *reterr)
{
  (void)arena;
  (void)reterr;
  struct schema_embed embed;
  bool recognized = schema_embed_read(schema_tree_get(line, "block"), &embed);
  write_flag(w, "recognized", recognized);
  schema_write_key(w, SPAN("preview"));
  if (recognized)
    schema_embed_write(w, &embed);
  else
    schema_write_null(w);
  return SCHEMA_OK;
}

/* ---- stream ---- */

enum schema_code rg_eval_stream(const struct schema_node *line, struct arena *arena,
                                struct schema_writer *w, struct schema_error *reterr)
{
  const struct schema_node *chunks = schema_tree_get(line, "chunks");
  struct schema_stream stream;
  struct span shown = { NULL, 0 };
  struct buf text;
  bool ok = true;
  if (!chunks || chunks->kind != SCHEMA_ARRAY)
    return wants(reterr, "$.chunks", "a list of strings");
  schema_stream_init(&stream);
  buf_init(&text, 64 * 1024 * 1024); /* as long as a line of eval */
  for (const struct schema_node *n = chunks->first; n && ok; n = n->next) {
    ok = schema_stream_push(&stream, schema_tree_string(n), false, arena, &shown);
    if (ok) buf_add(&text, shown);
  }
  ok = ok && schema_stream_push(&stream, SPAN(""), true, arena, &shown);
  if (ok) buf_add(&text, shown);
  ok = ok && !text.failed;
  if (ok) {
    struct span id = stream.id.len ? buf_span(&stream.id) : (struct span) { NULL, 0 };
    struct span current = options_of(line).current_message_id;
    if (!id.ptr && stream.reply_to_current && current.len) id = current;
    schema_write_pair(w, "text", buf_span(&text));
    write_or_null(w, "reply_to_id", id);
    write_flag(w, "reply_to_current", stream.reply_to_current);
    write_flag(w, "audio_as_voice", stream.audio_as_voice);
  }
  schema_stream_done(&stream);
  buf_done(&text);
  return ok ? SCHEMA_OK : no_memory(reterr);
}
