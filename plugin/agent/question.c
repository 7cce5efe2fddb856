/* question: see question.h. */
#include "plugin/agent/question.h"

#include <stdlib.h>

#include "plugin/agent/memory.h"
#include "plugin/agent/round.h"
#include "plugin/delivery/delivery.h"
#include "plugin/notify.h"
#include "plugin/provider/stream.h"
#include "schema/prose.h"

enum {
  KEY_MAX = 4096,
  ONCE_MAX = 2 * RG_PROVIDER_REQUEST_MAX, /* a request, its headers, the instruction */
};

/* --- providers --- */

/* The key of a provider, read anew each time so that a changed file is used at once. False: there is
 * a file, and it cannot be read or is empty. */
static bool key_of(const struct rg_provider *p, struct arena *arena, struct span *ret)
{
  char line[KEY_MAX];
  *ret = p->api_key;
  if (p->api_key_file.len == 0) return true;
  struct span path = arena_copy(arena, p->api_key_file);
  FILE *file = path.ptr ? fopen(path.ptr, "re") : NULL;
  bool read = file && fgets(line, sizeof line, file);
  if (read) *ret = arena_copy(arena, span_trim(span_of(line)));
  if (file) fclose(file);
  return read && ret->len > 0;
}

/* What HTTP answered, on its way to the service thread. */
struct arrival {
  struct rg_gate *gate;
  uint64_t number;
  enum rg_http_end end;
  unsigned status;
  uint64_t retry_after_ms;
  const char *why;
  bool broken; /* a stream without its end */
  char *body;
  size_t len;
};

/* A request on its way: which run it is of, and what came of its answer. HTTP's thread. */
struct asked {
  struct rg_gate *gate;
  uint64_t number;
  struct rg_stream stream;
};

static void run_answered(struct rg_run *run, const struct arrival *a);

static void answer_arrives(void *arg)
{
  struct arrival *a = arg;
  struct rg_agent *agent = a->gate->agent;
  struct rg_run *run = agent && !a->gate->closing ? rg_run_find(agent, a->number) : NULL;
  if (run) {
    run->http = 0;
    run_answered(run, a);
  }
  free(a->body);
  free(a);
}

static void asked_free(struct asked *asked)
{
  rg_stream_done(&asked->stream);
  free(asked);
}

/* HTTP's thread. */
static bool on_piece(void *ctx, unsigned status, struct span piece)
{
  struct asked *asked = ctx;
  (void)status;
  return rg_stream_feed(&asked->stream, piece);
}

/* HTTP's thread. A stream that said that it is whole is so, whatever the connection did then. */
static void on_http(void *ctx, const struct rg_http_answer *answer)
{
  struct asked *asked = ctx;
  struct arrival *a = calloc(1, sizeof *a);
  struct buf body;
  buf_init(&body, 4 * (size_t)RG_STREAM_BYTES_MAX);
  enum rg_stream_end end = rg_stream_finish(&asked->stream, &body);
  bool whole = answer->status > 0 && end == RG_STREAM_WHOLE && rg_stream_ended(&asked->stream);
  if (a) {
    *a = (struct arrival) { .gate = asked->gate,
                            .number = asked->number,
                            .end = whole ? RG_HTTP_OK : answer->end,
                            .status = answer->status,
                            .retry_after_ms = answer->retry_after_ms,
                            .why = answer->why,
                            .broken = end == RG_STREAM_BROKEN && answer->end == RG_HTTP_OK };
    if (end == RG_STREAM_TOO_LARGE) a->end = RG_HTTP_TOO_LARGE;
    a->body = buf_take(&body, &a->len);
    if (!ob_service_post(asked->gate->service, answer_arrives, a)) {
      free(a->body);
      free(a);
    }
  }
  buf_done(&body);
  asked_free(asked);
}

/* once: what lives until the request was taken. */
static bool send_call(struct rg_run *run, const struct rg_provider *p,
                      const struct rg_provider_call *call, struct arena *once)
{
  struct asked *asked = malloc(sizeof *asked);
  if (!asked) return false;
  *asked = (struct asked) { .gate = run->agent->gate, .number = run->number };
  rg_stream_init(&asked->stream, p);
  struct span ca = arena_copy(once, p->ca), proxy = arena_copy(once, p->proxy);
  const struct rg_http_request request = {
    .url = call->url,
    .headers = call->headers,
    .body = call->body,
    .connect_ms = (unsigned)(p->connect_timeout * 1000),
    .total_ms = (unsigned)(p->timeout * 1000),
    .idle_ms = p->stream ? (unsigned)(p->idle_timeout * 1000) : 0,
    .body_max = RG_STREAM_BYTES_MAX,
    .ca = p->ca.len > 0 ? ca.ptr : NULL,
    .proxy = p->proxy.len > 0 ? proxy.ptr : NULL,
    .ctx = asked,
    .chunk = on_piece,
    .done = on_http,
  };
  run->http = rg_http_send(run->agent->gate->http, &request);
  if (run->http == 0) asked_free(asked);
  return run->http != 0;
}

/* Moves on to a provider that has tokens left today. NULL: none. */
static const struct rg_provider *provider_next(struct rg_run *run)
{
  for (const struct rg_provider *p; (p = rg_run_provider(run, run->provider)); run->provider++) {
    const struct rg_budget *b = rg_memory_budget(run->agent, p);
    if (p->daily_tokens == 0 || (b && rg_budget_spent(b) < p->daily_tokens)) return p;
    rg_run_say(run, RG_LOG_WARN, "the tokens of the day are used up", "");
    rg_notify(run->agent->gate, run->chat->account, RG_NOTIFY_BUDGET, p->name);
  }
  return NULL;
}

/* The operator is told: a model that does not answer is a bot that says nothing. */
static void nobody_answers(struct rg_run *run)
{
  const struct rg_provider *p = rg_run_provider(run, run->provider > 0 ? run->provider - 1 : 0);
  rg_notify(run->agent->gate, run->chat->account, RG_NOTIFY_PROVIDER, p ? p->name : SPAN(""));
  rg_run_fail(run, SCHEMA_EPROVIDER, "no provider could answer", "");
}

void rg_run_ask(struct rg_run *run)
{
  const struct rg_provider *p = provider_next(run);
  struct rg_tool tools[RG_RUN_TOOLS_MAX];
  struct rg_provider_call call;
  struct arena once;
  enum rg_form form;
  if (!p) {
    nobody_answers(run);
    return;
  }
  arena_init(&once, ONCE_MAX);
  struct rg_ask ask = {
    .config = p,
    .system = run->system,
    .said = run->said,
    .said_count = run->said_count,
    .tools = tools,
    .tool_count = rg_run_tool_list(run, tools),
    .tools_off = run->rounds >= run->view.group->agent.tool_rounds,
    .schema = run->schema,
  };
  if (!key_of(p, &once, &ask.key)) {
    rg_run_fail(run, SCHEMA_EPROVIDER,
                "the api_key_file of its provider cannot be read, or its first line is empty", "");
  } else if (!rg_provider_form(p, ask.tool_count > 0, &form)) {
    rg_run_fail(run, SCHEMA_EUNSUPPORTED,
                "structured_output: native cannot be together with agent.tools here: write auto",
                "");
  } else if (!rg_provider_write(&ask, &once, &call)) {
    rg_run_fail(run, SCHEMA_ETOOBIG, "the request could not be made: too large or out of memory",
                "");
  } else if (!send_call(run, p, &call, &once)) {
    rg_run_fail(run, SCHEMA_EPROVIDER, "the request could not be sent", "");
  }
  arena_done(&once);
}

void rg_run_ask_due(struct ob_timer *t)
{
  struct rg_run *run = (struct rg_run *)(void *)((char *)t - offsetof(struct rg_run, timer));
  if (!run->agent->gate->closing) rg_run_ask(run);
}

/* The same provider again after a pause, or the next one. */
static void run_retry(struct rg_run *run, uint64_t retry_after_ms)
{
  uint64_t ms = RG_AGENT_BACK_OFF_MS << run->tries;
  if (++run->tries >= RG_AGENT_TRIES) {
    run->tries = 0;
    run->provider++;
    ms = 0;
    if (run->delivered || !rg_run_provider(run, run->provider)) {
      nobody_answers(run);
      return;
    }
  }
  if (ms > 0 && retry_after_ms > ms) ms = retry_after_ms;
  if (ms > RG_AGENT_BACK_OFF_MAX_MS) ms = RG_AGENT_BACK_OFF_MAX_MS;
  ob_timer_set(run->agent->gate->service, &run->timer, ms, rg_run_ask_due);
}

/* --- answers --- */

/* The provider says that the question is too long: once, what was said first is left out. False: it
 * cannot be shorter, or something of the answer was shown. */
static bool run_shorten(struct rg_run *run, const struct arrival *a, int64_t status)
{
  const struct span body = { a->body, a->len };
  if (run->ticket > 0 || run->shortened || run->delivered || status == 429) return false;
  if (!rg_provider_is_overflow(body)) return false;
  run->shortened = true;
  if (!rg_talk_halve(run->said, &run->said_count)) return false;
  rg_run_say(run, RG_LOG_INFO, "the question is too long for the model: its older half is left out",
             "");
  rg_run_ask(run);
  return true;
}

static void call_failed(struct rg_run *run, const struct arrival *a, int64_t status, bool lost)
{
  const struct rg_provider *p = rg_run_provider(run, run->provider);
  const struct schema_provider *known = rg_provider_known(p);
  bool again = status > 0
                   ? schema_provider_retries(known, status)
                   : lost && schema_provider_retries_failure(known, SCHEMA_FAILURE_CONNECTION);
  char what[64];
  if (status > 0) snprintf(what, sizeof what, "HTTP status %d", (int)status);
  const char *why = status > 0                    ? what
                    : a->end == RG_HTTP_TOO_LARGE ? "the answer is larger than allowed"
                    : a->broken                   ? "its stream broke off"
                    : a->why                      ? a->why
                                                  : "no usable answer";
  if (status == 0 && a->end == RG_HTTP_TIMEOUT) {
    again = true; /* but of the next one: this one has had its time */
    run->tries = RG_AGENT_TRIES - 1;
  }
  if (!again) {
    rg_run_fail(run, SCHEMA_EPROVIDER, "the provider failed", why);
    return;
  }
  rg_run_say(run, RG_LOG_INFO, "the provider failed and may be asked again", why);
  run_retry(run, a->retry_after_ms);
}

/* A document that was asked for in words may stand in a fence: the model had no form to keep to. */
static struct span final_text(const struct rg_run *run, struct span text)
{
  enum rg_form form;
  bool fenced, tools = rg_run_tools(run) != 0;
  if (run->view.group->output != RG_OUTPUT_SCHEMA) return text;
  if (!rg_provider_form(rg_run_provider(run, run->provider), tools, &form)) return text;
  return form == RG_FORM_PROMPT ? schema_prose_unfence(span_trim(text), &fenced) : text;
}

/* The answer is handed over. */
static void run_deliver_final(struct rg_run *run)
{
  rg_run_deliver(run, run->final);
  rg_run_end(run);
}

static void pause_due(struct ob_timer *t)
{
  struct rg_run *run = (struct rg_run *)(void *)((char *)t - offsetof(struct rg_run, timer));
  if (!run->agent->gate->closing) run_deliver_final(run);
}

/* As a person who types: no sooner after the question than the group wants. */
static void run_pause(struct rg_run *run)
{
  uint64_t due_ms = run->asked_ms + (uint64_t)(run->view.group->agent.pause * 1000);
  uint64_t now_ms = ob_now_ms();
  if (run->delivered || now_ms >= due_ms) {
    run_deliver_final(run);
    return;
  }
  ob_timer_set(run->agent->gate->service, &run->timer, due_ms - now_ms, pause_due);
}

static void run_final(struct rg_run *run, const struct rg_provider_answer *answer)
{
  if (answer->said.refusal.len > 0) {
    rg_run_fail(run, SCHEMA_EREFUSAL, "the model declined to answer", "");
  } else if (answer->truncated) {
    rg_run_fail(run, SCHEMA_ETRUNCATED,
                "the answer was cut: raise max_tokens or lower agent.context", "");
  } else if (run->ticket > 0) {
    rg_delivery_corrected(run->agent->gate, run->ticket, answer->said.text);
    rg_run_end(run);
  } else {
    run->final = final_text(run, answer->said.text);
    run_pause(run);
  }
}

/* Tokens where the provider does not say how many it used (streams often do not): three bytes for
 * each, which is more than a token of Chinese and less than one of English. */
static uint64_t tokens_guessed(const struct rg_run *run, const struct rg_provider_answer *answer)
{
  size_t bytes = run->system.len + run->schema.len + answer->said.text.len;
  for (size_t i = 0; i < run->said_count; i++) bytes += run->said[i].text.len;
  for (size_t i = 0; i < answer->call_count; i++) bytes += answer->calls[i].arguments.len;
  return bytes / 3 + 1;
}

static void run_answered(struct rg_run *run, const struct arrival *a)
{
  const struct rg_provider *p = rg_run_provider(run, run->provider);
  struct rg_provider_answer answer;
  bool fine = a->end == RG_HTTP_OK && a->status >= 200 && a->status < 300;
  if (!fine || a->broken) {
    if (run_shorten(run, a, a->status)) return;
    call_failed(run, a, a->end == RG_HTTP_OK && !fine ? (int64_t)a->status : 0,
                a->end == RG_HTTP_FAILED || a->broken);
    return;
  }
  struct span body = arena_copy(&run->arena, (struct span) { a->body, a->len });
  if (!body.ptr || !rg_provider_read(p, body, &run->arena, &answer)) {
    rg_run_fail(run, SCHEMA_EPROVIDER, "the provider's answer is no JSON of an answer", "");
    return;
  }
  if (answer.failed) {
    if (run_shorten(run, a, answer.failed_status)) return;
    call_failed(run, a, answer.failed_status, false);
    return;
  }
  rg_memory_spend(run->agent, p, run->chat,
                  answer.tokens > 0 ? answer.tokens : tokens_guessed(run, &answer));
  run->tries = 0;
  bool may = rg_run_tools(run) && run->rounds < run->view.group->agent.tool_rounds;
  if (answer.call_count > 0 && may) {
    rg_round_begin(run, &answer);
  } else if (answer.said.tool_round && answer.call_count == 0 && may) {
    run->rounds++; /* a call that went wrong: it may try once more */
    rg_run_ask(run);
  } else if (answer.said.tool_round && span_is_blank(answer.said.text)) {
    rg_run_fail(run, SCHEMA_ETRUNCATED, "the model only calls tools", "");
  } else {
    run_final(run, &answer);
  }
}
