/* reverse: see reverse.h. */
#include "onebot/sandbox/reverse.h"

#include <inttypes.h>
#include <stdio.h>

#include "onebot/id.h"
#include "onebot/sandbox/calls.h"
#include "onebot/sandbox/view.h"
#include "onebot/sandbox/wire.h"

enum { REVERSE_URL_MAX = 1024 };

bool ob_bot_live(const struct ob_bot *bot)
{
  return bot->peer || bot->up;
}

void ob_bot_send(struct ob_bot *bot, struct span text)
{
  if (bot->peer)
    ob_peer_send(bot->peer, text);
  else if (bot->up)
    ob_dial_send(bot->dial, &text, 1);
}

void ob_bot_end(struct ob_bot *bot, bool drop, unsigned code)
{
  if (bot->up && drop)
    ob_dial_drop(bot->dial, "ended by order");
  else if (bot->up)
    ob_dial_end(bot->dial, "ended by order");
  else if (bot->peer && drop)
    ob_peer_drop(bot->peer);
  else if (bot->peer)
    ob_peer_close(bot->peer, code, "");
}

struct ob_bot *ob_bot_free(struct ob_sandbox *b)
{
  for (size_t i = 0; i < OB_BOTS_MAX; i++)
    if (!b->bots[i].peer && !b->bots[i].dial) return &b->bots[i];
  return NULL;
}

void ob_bot_greet(struct ob_bot *bot)
{
  struct buf event;
  buf_init(&event, 4096);
  struct schema_writer w = { .out = &event };
  ob_wire_lifecycle(&w);
  if (bot->events) {
    ob_view_frame(bot->sandbox, bot, "event", buf_span(&event));
    ob_bot_send(bot, buf_span(&event));
  }
  buf_done(&event);
}

/* ---- what the dial tells ---- */

static void on_up(void *ctx)
{
  struct ob_bot *bot = ctx;
  if (ob_now_ms() < bot->sandbox->away_until_ms) { /* it restarts: nobody is there */
    ob_dial_drop(bot->dial, "ended by order");
    return;
  }
  bot->up = true;
  bot->number = ++bot->sandbox->connections;
  ob_dial_prove(bot->dial);
  ob_bot_greet(bot);
  ob_view_state(bot->sandbox, NULL);
}

static void on_heard(void *ctx)
{
  (void)ctx; /* the played implementations watch no silence */
}

static void on_text(void *ctx, struct span message)
{
  struct ob_bot *bot = ctx;
  if (bot->up && bot->acts) ob_calls_frame(bot, message);
}

static void on_down(void *ctx, bool refused, const char *why)
{
  struct ob_bot *bot = ctx;
  (void)refused; /* they dial again all the same */
  (void)why;     /* the dial logs it */
  if (!bot->up) return;
  bot->up = false;
  ob_calls_forget(bot->sandbox, bot);
  ob_view_state(bot->sandbox, NULL);
}

/* ---- dialling ---- */

static bool plain_token(struct span token)
{
  if (token.len > OB_SANDBOX_TOKEN_MAX) return false;
  for (size_t i = 0; i < token.len; i++) {
    char c = token.ptr[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
          memchr("-_.~", c, 4)))
      return false;
  }
  return true;
}

static const char *dial(struct ob_sandbox *b, struct span url, struct span token, struct span role,
                        unsigned again_ms)
{
  struct span agent = ob_played_fact(b->played, "reverse_agent");
  struct span scheme = ob_played_fact(b->played, "reverse_scheme");
  bool always = ob_played_fact_is(b->played, "reverse_empty_token", "yes");
  bool query = span_is(scheme, "query");
  char address[REVERSE_URL_MAX + OB_SANDBOX_TOKEN_MAX + 32], headers[512];
  int64_t ms = 0;
  struct ob_bot *bot = ob_bot_free(b);
  if (!bot) return "too many connections";
  ob_id_read(ob_played_fact(b->played, "reverse_ms"), &ms);
  if (again_ms > 0) ms = again_ms;
  int used = snprintf(headers, sizeof headers, "X-Self-ID: %" PRId64 "\r\nX-Client-Role: %.*s\r\n",
                      (int64_t)OB_WORLD_SELF, (int)role.len, role.ptr);
  if (agent.len)
    used += snprintf(headers + used, sizeof headers - (size_t)used, "User-Agent: %.*s\r\n",
                     (int)agent.len, agent.ptr);
  if (!query && (token.len || always))
    snprintf(headers + used, sizeof headers - (size_t)used, "Authorization: %.*s %.*s\r\n",
             (int)scheme.len, scheme.ptr, (int)token.len, token.len ? token.ptr : "");
  const char *mark = memchr(url.ptr, '?', url.len) ? "&" : "?";
  snprintf(address, sizeof address, "%.*s", (int)url.len, url.ptr);
  if (query && token.len)
    snprintf(address, sizeof address, "%.*s%saccess_token=%.*s", (int)url.len, url.ptr, mark,
             (int)token.len, token.ptr);
  *bot = (struct ob_bot) { .sandbox = b,
                           .events = !span_eq_nocase(role, SPAN("API")),
                           .acts = !span_eq_nocase(role, SPAN("Event")) };
  const struct ob_dial_options options = {
    .name = "sandbox",
    .url = address,
    .headers = headers,
    .on = { .ctx = bot, .up = on_up, .heard = on_heard, .text = on_text, .down = on_down },
    .timing = { .backoff_min = (unsigned)ms, .backoff_max = (unsigned)ms, .refused = (unsigned)ms },
  };
  if (ob_dial_open(b->service, &options, &bot->dial, NULL) == SCHEMA_OK) return NULL;
  bot->dial = NULL;
  return "url: ws://host:port/path is needed";
}

const char *ob_reverse_dial(struct ob_sandbox *b, struct span url, struct span token, bool split,
                            unsigned again_ms)
{
  if (url.len == 0 || url.len > REVERSE_URL_MAX) return "url: 1 to 1024 bytes are needed";
  if (!plain_token(token)) return "token: at most 127 letters, digits and - _ . ~";
  if (!split) return dial(b, url, token, SPAN("Universal"), again_ms);
  struct span roles = ob_played_fact(b->played, "reverse_roles");
  if (roles.len == 0) return "split: this implementation has only one connection";
  const char *wrong = NULL;
  while (roles.len && !wrong) wrong = dial(b, url, token, ob_word_next(&roles), again_ms);
  return wrong;
}

void ob_reverse_stop(struct ob_sandbox *b)
{
  for (size_t i = 0; i < OB_BOTS_MAX; i++) {
    struct ob_bot *bot = &b->bots[i];
    if (!bot->dial) continue;
    bot->up = false;
    ob_dial_close(bot->dial);
    bot->dial = NULL;
  }
}
