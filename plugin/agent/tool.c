#include "plugin/agent/tool.h"

#include <stdlib.h>

#include "plugin/agent/tool_url.h"
#include "plugin/media/http.h"
#include "schema/fit.h"

enum {
  BODY_MAX = 64 * 1024,        /* of a request */
  HEADER_MAX = 4096,           /* a line of a file */
  CONNECT_MS = 5 * 1000,       /* somebody waits in the chat */
  SECRET_MIN = 6,              /* bytes of a header that are worth hiding: not "1", not "json" */
  RESULT_MAX = 8 * 64 * 1024,  /* response_bytes at most, every byte escaped */
  TREE_MAX = 16 * 1024 * 1024, /* of arguments or of a response */
};

/* {"error":why} */
static const char *error_text(struct arena *arena, struct span why)
{
  struct buf out;
  buf_init(&out, HEADER_MAX);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_pair(&w, "error", why);
  schema_write_object_end(&w);
  struct span copy = arena_copy(arena, buf_span(&out));
  buf_done(&out);
  return copy.ptr ? copy.ptr : "{\"error\":\"out of memory\"}";
}

/* ---- the request ---- */

/* The first line of a file, without its end. ptr NULL: it cannot be read, or is no header. */
static struct span file_line(struct span path, struct arena *arena)
{
  char line[HEADER_MAX];
  struct span z = arena_copy(arena, path), value = { NULL, 0 };
  FILE *file = z.ptr ? fopen(z.ptr, "re") : NULL;
  if (file && fgets(line, sizeof line, file)) value = arena_copy(arena, span_trim(span_of(line)));
  if (file) fclose(file);
  bool fine = value.len > 0;
  for (size_t i = 0; i < value.len && fine; i++)
    fine = (unsigned char)value.ptr[i] >= ' ' && value.ptr[i] != 0x7F;
  return fine ? value : (struct span) { NULL, 0 };
}

static bool add_header(struct rg_tool_request *r, size_t *count, struct span name,
                       struct span value, struct arena *arena)
{
  struct span line = arena_printf(arena, "%.*s: %.*s", (int)name.len, name.ptr, (int)value.len,
                                  value.len ? value.ptr : "");
  r->headers[(*count)++] = line.ptr;
  return line.ptr != NULL;
}

/* NULL, or what is wrong. */
static const char *headers_make(const struct rg_http_tool *tool, struct arena *arena,
                                struct rg_tool_request *ret)
{
  size_t n = 0;
  bool typed = false;
  for (size_t i = 0; i + 1 < tool->headers.count && n < RG_TOOL_HEADERS_MAX; i += 2) {
    const struct span *pair = &tool->headers.items[i];
    typed |= span_eq_nocase(pair[0], SPAN("Content-Type"));
    if (!add_header(ret, &n, pair[0], pair[1], arena)) return "out of memory";
  }
  for (size_t i = 0; i + 1 < tool->header_files.count && n < RG_TOOL_HEADERS_MAX; i += 2) {
    const struct span *pair = &tool->header_files.items[i];
    struct span value = file_line(pair[1], arena);
    if (!value.ptr) return "the tool is not set up: a file of header_files cannot be read";
    if (!add_header(ret, &n, pair[0], value, arena)) return "out of memory";
  }
  if (ret->body.len > 0 && !typed &&
      !add_header(ret, &n, SPAN("Content-Type"), SPAN("application/json"), arena))
    return "out of memory";
  ret->headers[n] = NULL;
  return NULL;
}

/* The parameters that the address has no place for, as a JSON object. */
static const char *body_make(const struct rg_http_tool *tool, const struct schema_node *arguments,
                             struct arena *arena, struct rg_tool_request *ret)
{
  struct buf out;
  buf_init(&out, BODY_MAX);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  for (const struct schema_node *n = arguments->first; n; n = n->next) {
    if (rg_tool_url_names(tool->url, n->key)) continue;
    schema_write_key(&w, n->key);
    schema_write_tree(&w, n);
  }
  schema_write_object_end(&w);
  ret->body = arena_copy(arena, buf_span(&out));
  bool failed = out.failed;
  buf_done(&out);
  return failed ? "the arguments are too long" : ret->body.ptr ? NULL : "out of memory";
}

/* The arguments as a tree that fits the parameters. NULL, or what is wrong with them. */
static struct span arguments_read(const struct rg_http_tool *tool, struct span text,
                                  struct arena *arena, struct schema_node **ret)
{
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  if (span_is_blank(text)) text = SPAN("{}"); /* some models write nothing for no parameters */
  enum schema_code code = schema_tree_read(text, SCHEMA_DEPTH_EVENT, arena, ret, NULL);
  if (code == SCHEMA_ENOMEM) return SPAN("out of memory");
  if (code != SCHEMA_OK) return SPAN("the arguments are no JSON");
  code = schema_fit(tool->parameters.tree, *ret, arena, &misfit);
  if (code == SCHEMA_OK) return (struct span) { NULL, 0 };
  return arena_printf(arena, "arguments: %.*s: %.*s", (int)misfit.path.len,
                      misfit.path.len ? misfit.path.ptr : "", (int)misfit.why.len,
                      misfit.why.len ? misfit.why.ptr : "they do not fit the parameters");
}

const char *rg_tool_write(const struct rg_http_tool *tool, struct span arguments,
                          struct arena *arena, struct rg_tool_request *ret)
{
  struct schema_node *tree = NULL;
  *ret = (struct rg_tool_request) { .url = NULL };
  struct span misfit = arguments_read(tool, arguments, arena, &tree);
  if (misfit.ptr) return error_text(arena, misfit);
  bool posts = tool->method == RG_METHOD_POST;
  struct buf url;
  buf_init(&url, 4 * RG_TOOL_URL_MAX);
  const char *fault = rg_tool_url_write(tool->url, tree, !posts, &url);
  ret->url = arena_copy(arena, buf_span(&url)).ptr;
  buf_done(&url);
  if (!fault && !ret->url) fault = "out of memory";
  if (!fault && posts) fault = body_make(tool, tree, arena, ret);
  if (!fault) fault = headers_make(tool, arena, ret);
  return fault ? error_text(arena, span_of(fault)) : NULL;
}

/* ---- the result ---- */

/* Without half a character at its end. */
static struct span whole_characters(struct span s)
{
  size_t end = s.len;
  while (end > 0 && s.len - end < 4 && ((unsigned char)s.ptr[end - 1] & 0xC0) == 0x80) end--;
  if (end == 0) return s;
  size_t begin = end - 1;
  unsigned char head = (unsigned char)s.ptr[begin];
  bool complete = head < 0xC0 || utf8_sequence(s.ptr + begin, s.len - begin) == s.len - begin;
  return complete ? s : (struct span) { s.ptr, begin };
}

/* What of a header's value is secret: all of it, but for a word like Bearer before it. */
static struct span secret_of(const char *header)
{
  const char *colon = strchr(header, ':');
  struct span value = span_trim(span_of(colon ? colon + 1 : ""));
  const char *space = value.len ? memrchr(value.ptr, ' ', value.len) : NULL;
  if (!space) return value;
  size_t skip = (size_t)(space - value.ptr) + 1;
  return (struct span) { value.ptr + skip, value.len - skip };
}

/* The length of a secret that begins at byte at of text, or 0. */
static size_t secret_at(struct span text, size_t at, const char *const *headers)
{
  struct span rest = { text.ptr + at, text.len - at };
  for (; *headers; headers++) {
    struct span secret = secret_of(*headers);
    if (secret.len >= SECRET_MIN && span_starts(rest, secret)) return secret.len;
  }
  return 0;
}

/* A copy in UTF-8 that holds nothing of what was sent in headers. */
static void clean(struct span text, const char *const *headers, struct buf *out)
{
  for (size_t i = 0; i < text.len;) {
    size_t secret = secret_at(text, i, headers);
    uint32_t c;
    size_t n = utf8_decode(text.ptr + i, text.len - i, &c);
    if (secret > 0)
      buf_add(out, SPAN("***"));
    else if (c >= ' ' || c == '\n' || c == '\t')
      buf_add_utf8(out, c);
    i += secret > 0 ? secret : n;
  }
}

static bool is_json(struct span text)
{
  struct arena arena;
  struct schema_node *tree;
  arena_init(&arena, TREE_MAX);
  bool is = schema_tree_read(text, SCHEMA_DEPTH_EVENT, &arena, &tree, NULL) == SCHEMA_OK;
  arena_done(&arena);
  return is;
}

static void write_error(const struct rg_tool_outcome *o, struct schema_writer *w)
{
  char status[32];
  snprintf(status, sizeof status, "HTTP status %u", o->status);
  bool answered = o->end == RG_HTTP_OK;
  schema_write_pair(w, "error", span_of(answered ? status : o->why ? o->why : "no response"));
}

void rg_tool_write_result(const struct rg_tool_outcome *outcome, const char *const *headers,
                          struct buf *out)
{
  struct schema_writer w = { .out = out };
  struct buf text;
  bool fine = outcome->end == RG_HTTP_OK && outcome->status >= 200 && outcome->status < 300;
  buf_init(&text, RESULT_MAX);
  schema_write_object(&w);
  if (fine) clean(outcome->cut ? whole_characters(outcome->body) : outcome->body, headers, &text);
  if (!fine) {
    write_error(outcome, &w);
  } else if (!outcome->cut && is_json(buf_span(&text))) {
    schema_write_key(&w, SPAN("data"));
    schema_write_raw(&w, span_trim(buf_span(&text)));
  } else {
    schema_write_pair(&w, "text", buf_span(&text));
    schema_write_key(&w, SPAN("cut"));
    schema_write_bool(&w, outcome->cut);
  }
  schema_write_object_end(&w);
  buf_done(&text);
}

/* ---- the call ---- */

/* A call under way: HTTP's until it is done, then the service thread's. */
struct call {
  struct rg_gate *gate;
  struct rg_config *config; /* kept: tool is of it */
  const struct rg_http_tool *tool;
  void (*done)(struct rg_gate *gate, uint64_t run, struct span result);
  uint64_t run;
  struct arena arena; /* the request */
  struct rg_tool_request request;
  struct buf body; /* as much as may be told */
  bool cut;
  char *result;
  size_t result_len;
};

static void call_free(struct call *c)
{
  buf_done(&c->body);
  arena_done(&c->arena);
  rg_config_release(c->config);
  free(c->result);
  free(c);
}

/* Service thread. */
static void call_ended(void *arg)
{
  struct call *c = arg;
  if (!c->gate->closing) c->done(c->gate, c->run, (struct span) { c->result, c->result_len });
  call_free(c);
}

/* HTTP's thread. Takes what may be told, and no more. */
static bool on_piece(void *ctx, unsigned status, struct span piece)
{
  struct call *c = ctx;
  size_t left = c->tool->response_bytes - c->body.len;
  if (status < 200 || status >= 300) return false; /* what errors say may repeat what was sent */
  c->cut = piece.len > left;
  if (c->cut) piece.len = left;
  return (piece.len == 0 || buf_add(&c->body, piece)) && !c->cut;
}

static void log_outcome(const struct call *c, const struct rg_tool_outcome *o)
{
  struct span name = c->tool->name;
  if (o->end == RG_HTTP_OK)
    rg_log_line(&c->gate->log, RG_LOG_INFO, "tool %.*s: HTTP status %u, %zu bytes%s", (int)name.len,
                name.ptr, o->status, o->body.len, o->cut ? ", cut" : "");
  else
    rg_log_line(&c->gate->log, RG_LOG_WARN, "tool %.*s: %s", (int)name.len, name.ptr,
                o->why ? o->why : "no response");
}

/* HTTP's thread. */
static void on_done(void *ctx, const struct rg_http_answer *answer)
{
  struct call *c = ctx;
  struct buf result;
  bool stopped = answer->end == RG_HTTP_FAILED && answer->status > 0 &&
                 (c->cut || answer->status < 200 || answer->status >= 300);
  const struct rg_tool_outcome outcome = { .end = stopped ? RG_HTTP_OK : answer->end,
                                           .status = answer->status,
                                           .why = answer->why,
                                           .body = buf_span(&c->body),
                                           .cut = c->cut };
  buf_init(&result, RESULT_MAX);
  rg_tool_write_result(&outcome, c->request.headers, &result);
  if (!result.failed) c->result = buf_take(&result, &c->result_len);
  buf_done(&result);
  log_outcome(c, &outcome);
  if (!ob_service_post(c->gate->service, call_ended, c)) call_free(c);
}

uint64_t rg_tool_call(struct rg_gate *gate, struct rg_config *config,
                      const struct rg_http_tool *tool, struct span arguments,
                      void (*done)(struct rg_gate *gate, uint64_t run, struct span result),
                      uint64_t run, struct arena *arena, const char **reterror)
{
  struct call *c = calloc(1, sizeof *c);
  *reterror = "{\"error\":\"the tool cannot be used now\"}";
  if (!c) return 0;
  c->gate = gate;
  c->config = rg_config_keep(config);
  c->tool = tool;
  c->done = done;
  c->run = run;
  arena_init(&c->arena, TREE_MAX);
  buf_init(&c->body, tool->response_bytes);
  const char *error = rg_tool_write(tool, arguments, &c->arena, &c->request);
  uint64_t number = 0;
  if (error) {
    struct span copy = arena_copy(arena, span_of(error));
    if (copy.ptr) *reterror = copy.ptr;
  } else {
    const struct rg_http_request request = {
      .url = c->request.url,
      .method = c->request.method,
      .headers = c->request.headers,
      .body = c->request.body,
      .guarded = tool->reach == RG_REACH_PUBLIC,
      .https_only = span_starts(tool->url, SPAN("https:")),
      .connect_ms = CONNECT_MS,
      .total_ms = (unsigned)(tool->timeout * 1000),
      .body_max = (size_t)1 << 40, /* pieces are counted here, and the rest is not waited for */
      .ctx = c,
      .chunk = on_piece,
      .done = on_done,
    };
    number = rg_http_send(gate->http, &request);
  }
  if (number == 0) call_free(c);
  return number;
}
