/* sandbox: the listener: who may connect, and the page (sandbox.h). */
#include "onebot/sandbox/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "onebot/id.h"
#include "onebot/sandbox/calls.h"
#include "onebot/sandbox/control.h"
#include "onebot/sandbox/embedded.h"
#include "onebot/sandbox/reverse.h"
#include "onebot/sandbox/view.h"
#include "onebot/sandbox/wire.h"

/* The page loads nothing from elsewhere but pictures and sounds that a message names, and its
 * address (with the token) is not told to them. */
static const char page_headers[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data: http: https:; media-src 'self' data: http: https:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\n";

static const char no_token[] =
    "<!doctype html><html lang=\"zh\"><meta charset=\"utf-8\"><title>403</title>"
    "<body style=\"font-family:sans-serif;max-width:34em;margin:4em auto;padding:0 1em\">"
    "<h1>403</h1><p>请打开 Replygate 启动时打印的完整地址（含 <code>?token=…</code>）。</p>"
    "<p>Please open the whole address that Replygate printed at its start, with its "
    "<code>?token=…</code>.</p></body></html>";

/* ---- tokens ---- */

/* Compares in a time that does not depend on where they differ. */
static bool same_token(struct span given, const char *token)
{
  size_t len = strlen(token);
  unsigned char differs = given.len != len;
  for (size_t i = 0; i < given.len; i++)
    differs |= (unsigned char)(given.ptr[i] ^ token[len ? i % len : 0]);
  return !differs;
}

static bool random_token(char *to)
{
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(to + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

/* A given token must fit an address as it is, so that it can be printed in one. */
static bool take_token(const char *given, char *to)
{
  if (!given) return random_token(to);
  size_t len = strlen(given);
  if (len > OB_SANDBOX_TOKEN_MAX) return false;
  for (size_t i = 0; i < len; i++) {
    char c = given[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '.' || c == '~';
    if (!plain) return false;
  }
  memcpy(to, given, len + 1);
  return true;
}

/* What the played implementation takes for the token; ptr NULL: none is there. */
static struct span sent_token(const struct ob_sandbox *b, const struct ob_request *r)
{
  struct span query = ob_request_query(r, "access_token"), header = r->authorization;
  struct span scheme = ob_played_fact(b->played, "token_scheme");
  size_t space = span_find(header, SPAN(" "));
  struct span word = { header.ptr, space };
  bool has_scheme = space < header.len;
  if (span_is(scheme, "bearer") && header.ptr && !span_eq_nocase(word, SPAN("Bearer")))
    header = (struct span) { "", 0 }; /* there, and wrong */
  else if (has_scheme)
    header = (struct span) { header.ptr + space + 1, header.len - space - 1 };
  if (ob_played_fact_is(b->played, "token_from", "query")) return query.len ? query : header;
  return header.ptr ? header : query;
}

/* The fact that says how this upgrade is refused, or NULL: the token is right. */
static const char *token_fault(const struct ob_sandbox *b, const struct ob_request *r)
{
  struct span token = sent_token(b, r);
  if (b->switches.refuse_tokens) return "token_wrong";
  if (!b->access_token[0]) return NULL;
  if (!token.ptr) return "token_missing";
  return same_token(token, b->access_token) ? NULL : "token_wrong";
}

/* ---- HTTP ---- */

static const struct {
  const char *path, *file, *type;
  bool open; /* without the token: it is the same for everyone */
} files[] = {
  { "/", "page/index.html", "text/html; charset=utf-8", false },
  { "/page.css", "page/page.css", "text/css; charset=utf-8", true },
  { "/page.js", "page/page.js", "text/javascript; charset=utf-8", true },
  { "/segments.js", "page/segments.js", "text/javascript; charset=utf-8", true },
  { "/words.js", "page/words.js", "text/javascript; charset=utf-8", true },
  { "/icon.svg", "page/icon.svg", "image/svg+xml", true },
  { "/faces.tsv", "faces.tsv", "text/tab-separated-values; charset=utf-8", true },
  { "/demo/cover.png", "page/demo/cover.png", "image/png", true },
  { "/demo/picture.png", "page/demo/picture.png", "image/png", true },
};

static void on_request(void *ctx, struct ob_request *r)
{
  struct ob_sandbox *b = ctx;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (!span_is(r->path, files[i].path)) continue;
    if (r->method != OB_GET) {
      ob_request_answer(r, 405, NULL, "Allow: GET\r\n", SPAN("only GET"), OB_BODY_LENT);
    } else if (!files[i].open && !same_token(ob_request_query(r, "token"), b->page_token)) {
      ob_request_answer(r, 403, "text/html; charset=utf-8", "Cache-Control: no-store\r\n",
                        span_of(no_token), OB_BODY_LENT);
    } else {
      ob_request_answer(r, 200, files[i].type, page_headers,
                        ob_embedded_find(span_of(files[i].file)), OB_BODY_LENT);
    }
    return;
  }
}

/* ---- upgrades ---- */

static bool is_ui(const struct ob_request *r)
{
  return span_is(r->path, "/ui");
}

static bool path_is(const struct ob_request *r, const char *path)
{
  struct span given = r->path;
  if (given.len > 1 && given.ptr[given.len - 1] == '/') given.len--;
  return span_is(given, path);
}

/* Whether the played implementation has such an address. */
static bool path_exists(const struct ob_sandbox *b, const struct ob_request *r)
{
  struct span paths = ob_played_fact(b->played, "paths");
  bool root = span_is(r->path, "/");
  if (span_is(paths, "account")) return root || span_ends(r->path, SPAN("/onebot/v11"));
  if (span_is(paths, "known")) return root || path_is(r, "/api") || path_is(r, "/event");
  return true;
}

static unsigned on_upgrade(void *ctx, const struct ob_request *r, const char **why)
{
  struct ob_sandbox *b = ctx;
  if (is_ui(r)) {
    *why = "the token of the page is missing or wrong";
    return same_token(ob_request_query(r, "token"), b->page_token) ? 0 : 403;
  }
  if (!path_exists(b, r)) {
    *why = "no OneBot here";
    return 404;
  }
  if (ob_now_ms() < b->away_until_ms) {
    *why = "it restarts";
    return 503;
  }
  const char *fault = token_fault(b, r);
  struct span how = fault ? ob_played_fact(b->played, fault) : (struct span) { "", 0 };
  int64_t status = 0;
  if (span_is(ob_word_next(&how), "http")) ob_id_read(how, &status);
  *why = "the access token is missing or wrong";
  return (unsigned)status;
}

/* The end of a connection whose token was refused after the upgrade: "json", "json CODE REASON",
 * "close CODE REASON" or "drop". */
static void refuse_peer(const struct ob_sandbox *b, struct ob_peer *p, const char *fault)
{
  struct span how = ob_played_fact(b->played, fault), word = ob_word_next(&how);
  int64_t code = 0;
  char reason[64];
  if (span_is(word, "drop")) {
    ob_peer_drop(p);
    return;
  }
  if (span_is(word, "json")) {
    static const struct span text = { "token验证失败", sizeof "token验证失败" - 1 };
    struct ob_result result;
    struct buf answer;
    ob_result_init(&result);
    buf_init(&answer, 4096);
    result.refused = true;
    result.retcode = 1403;
    buf_add(&result.text, text);
    ob_wire_answer(b, &answer, &result, SPAN("null"));
    ob_peer_send(p, buf_span(&answer));
    buf_done(&answer);
    ob_result_done(&result);
  }
  ob_id_read(ob_word_next(&how), &code);
  snprintf(reason, sizeof reason, "%.*s", (int)how.len, how.len ? how.ptr : "");
  ob_peer_close(p, (unsigned)code, reason);
}

static void open_bot(struct ob_sandbox *b, struct ob_peer *p, const struct ob_request *r)
{
  const char *fault = token_fault(b, r);
  struct ob_bot *bot = fault ? NULL : ob_bot_free(b);
  if (!bot) {
    if (fault)
      refuse_peer(b, p, fault);
    else
      ob_peer_close(p, 1013, "too many connections");
    return;
  }
  bool api = path_is(r, "/api"), event = path_is(r, "/event");
  bool mute = ob_played_fact_is(b->played, "paths", "mute") && !api && !event && !path_is(r, "/");
  *bot = (struct ob_bot) { .sandbox = b, .peer = p, .number = ++b->connections };
  bot->events = !api && !mute;
  bot->acts = !mute && (!event || ob_played_fact_is(b->played, "event_path_acts", "yes"));
  ob_peer_set_user(p, bot);
  ob_bot_greet(bot);
  ob_view_state(b, NULL);
}

static void open_viewer(struct ob_sandbox *b, struct ob_peer *p)
{
  for (size_t i = 0; i < OB_VIEWERS_MAX; i++) {
    struct ob_viewer *v = &b->viewers[i];
    if (v->peer) continue;
    *v = (struct ob_viewer) { b, p };
    ob_peer_set_user(p, v);
    ob_view_all(b, v);
    return;
  }
  ob_peer_close(p, 1013, "too many pages");
}

static void on_open(void *ctx, struct ob_peer *p, const struct ob_request *r)
{
  if (is_ui(r))
    open_viewer(ctx, p);
  else
    open_bot(ctx, p, r);
}

static struct ob_viewer *viewer_of(struct ob_sandbox *b, const struct ob_peer *p)
{
  for (size_t i = 0; i < OB_VIEWERS_MAX; i++)
    if (b->viewers[i].peer == p) return &b->viewers[i];
  return NULL;
}

static struct ob_bot *bot_of(struct ob_sandbox *b, const struct ob_peer *p)
{
  for (size_t i = 0; i < OB_BOTS_MAX; i++)
    if (b->bots[i].peer == p) return &b->bots[i];
  return NULL;
}

static void on_text(void *ctx, struct ob_peer *p, struct span message)
{
  struct ob_sandbox *b = ctx;
  struct ob_bot *bot = bot_of(b, p);
  if (bot && bot->acts) ob_calls_frame(bot, message);
  if (bot || !viewer_of(b, p)) return;
  struct buf answer;
  buf_init(&answer, OB_SANDBOX_FRAME_MAX);
  ob_control_run(b, message, &answer);
  if (!answer.failed) ob_peer_send(p, buf_span(&answer));
  buf_done(&answer);
}

static void on_closed(void *ctx, struct ob_peer *p, unsigned code)
{
  struct ob_sandbox *b = ctx;
  struct ob_viewer *v = viewer_of(b, p);
  struct ob_bot *bot = bot_of(b, p);
  (void)code;
  if (v) v->peer = NULL;
  if (!bot) return;
  ob_calls_forget(b, bot);
  bot->peer = NULL;
  ob_view_state(b, NULL);
}

/* ---- heartbeat ---- */

void ob_sandbox_heartbeat(struct ob_sandbox *b)
{
  struct buf event;
  buf_init(&event, 4096);
  struct schema_writer w = { .out = &event };
  ob_wire_heartbeat(b, &w);
  ob_view_event(b, buf_span(&event));
  buf_done(&event);
}

static void on_heartbeat(struct ob_timer *t)
{
  struct ob_sandbox *b =
      (struct ob_sandbox *)(void *)((char *)t - offsetof(struct ob_sandbox, heartbeat));
  ob_sandbox_heartbeat(b);
  ob_sandbox_beat(b);
}

static void set_offline(struct ob_sandbox *b, bool offline)
{
  b->switches.offline = offline;
  ob_sandbox_heartbeat(b);
  ob_view_state(b, NULL);
}

static void on_log_in(struct ob_timer *t)
{
  set_offline((struct ob_sandbox *)(void *)((char *)t - offsetof(struct ob_sandbox, log_in)),
              false);
}

void ob_sandbox_log_out(struct ob_sandbox *b, unsigned ms)
{
  set_offline(b, true);
  if (ms > 0) ob_timer_set(b->service, &b->log_in, ms, on_log_in);
}

void ob_sandbox_restart(struct ob_sandbox *b, unsigned ms)
{
  b->away_until_ms = ob_now_ms() + ms;
  for (size_t i = 0; i < OB_BOTS_MAX; i++) ob_bot_end(&b->bots[i], true, 0);
}

void ob_sandbox_beat(struct ob_sandbox *b)
{
  int64_t ms = b->switches.heartbeat_ms;
  if (ms == 0) ob_id_read(ob_played_fact(b->played, "heartbeat_ms"), &ms);
  ob_timer_clear(b->service, &b->heartbeat);
  if (!b->switches.no_heartbeat)
    ob_timer_set(b->service, &b->heartbeat, (uint64_t)ms, on_heartbeat);
}

/* ---- start and stop ---- */

struct start {
  struct ob_sandbox *b;
  const char *host;
  unsigned port;
  enum schema_code code;
  struct schema_error *error;
};

/* On the service thread, so that no page sees a half-made sandbox. */
static void start_here(void *arg)
{
  struct start *start = arg;
  struct ob_sandbox *b = start->b;
  struct ob_listen_options listen = {
    .name = "sandbox",
    .host = start->host,
    .port = start->port,
    .on = { .ctx = b,
            .request = on_request,
            .upgrade = on_upgrade,
            .open = on_open,
            .text = on_text,
            .closed = on_closed },
  };
  start->code = ob_listen_open(b->service, &listen, &b->listener, start->error);
  if (start->code != SCHEMA_OK) return;
  unsigned port = ob_listen_port(b->listener);
  const char *left = strchr(start->host, ':') ? "[" : "", *right = *left ? "]" : "";
  snprintf(b->page_url, sizeof b->page_url, "http://%s%s%s:%u/?token=%s", left, start->host, right,
           port, b->page_token);
  snprintf(b->link_url, sizeof b->link_url, "ws://%s%s%s:%u/", left, start->host, right, port);
  ob_sandbox_beat(b);
}

enum schema_code ob_sandbox_start(struct ob_service *s, const struct ob_sandbox_options *options,
                                  struct ob_sandbox **ret, struct schema_error *reterr)
{
  uint64_t seed;
  struct ob_sandbox *b = calloc(1, sizeof *b);
  if (!b) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  struct start start = { .b = b,
                         .host = options->host ? options->host : "127.0.0.1",
                         .port = options->port,
                         .code = SCHEMA_EARGUMENT,
                         .error = reterr };
  b->service = s;
  b->started = (int64_t)time(NULL);
  b->played = ob_played_find(span_of(options->profile ? options->profile : "napcat"));
  if (!b->played) {
    schema_fail(reterr, start.code, 0, NULL,
                "no such profile: napcat, llbot, lagrange, go-cqhttp, onebots or spec");
    goto fail;
  }
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed ||
      !take_token(options->page_token, b->page_token) || !b->page_token[0] ||
      !take_token(options->access_token, b->access_token)) {
    schema_fail(reterr, start.code, 0, NULL,
                "a token is made of at most 127 letters, digits and - _ . ~");
    goto fail;
  }
  ob_world_init(&b->world, seed);
  if (!ob_service_run(s, start_here, &start))
    start.code = schema_fail(reterr, SCHEMA_ECLOSED, 0, NULL, NULL);
  if (start.code != SCHEMA_OK) goto fail;
  *ret = b;
  return SCHEMA_OK;
fail:
  free(b);
  return start.code;
}

static void stop_timers(void *arg)
{
  struct ob_sandbox *b = arg;
  ob_timer_clear(b->service, &b->heartbeat);
  ob_timer_clear(b->service, &b->log_in);
  ob_reverse_stop(b);
  ob_calls_forget(b, NULL);
}

void ob_sandbox_stop(struct ob_sandbox *b)
{
  if (!b) return;
  ob_listen_close(b->listener);
  ob_service_run(b->service, stop_timers, b);
  ob_world_done(&b->world);
  free(b);
}

unsigned ob_sandbox_port(const struct ob_sandbox *b)
{
  return ob_listen_port(b->listener);
}

const char *ob_sandbox_page_url(const struct ob_sandbox *b)
{
  return b->page_url;
}

const char *ob_sandbox_link_url(const struct ob_sandbox *b)
{
  return b->link_url;
}

const char *ob_sandbox_page_token(const struct ob_sandbox *b)
{
  return b->page_token;
}

const char *ob_sandbox_access_token(const struct ob_sandbox *b)
{
  return b->access_token;
}

struct control {
  struct ob_sandbox *b;
  struct span request;
  struct buf *answer;
};

static void run_control(void *arg)
{
  struct control *c = arg;
  ob_control_run(c->b, c->request, c->answer);
}

bool ob_sandbox_control(struct ob_sandbox *b, struct span request, struct buf *answer)
{
  struct control c = { b, request, answer };
  return ob_service_run(b->service, run_control, &c);
}
