/* The gate between scripted frameworks and a scripted implementation, over real sockets. */
#include "plugin/relay/relay.h"

#include <criterion/criterion.h>

#include "tests/lib/bot.h"

enum { LONG_MS = 8000, SHORT_MS = 300 };

#define FAST "groups:\n  default:\n    pace: {min: 0.01, max: 0.02, per_char: 0.001}\n"
#define TEXT(t)                                                                                    \
  "{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"" t "\\\"}}]}"

/* A group message as NapCat sends it. */
#define EVENT(id, group, segments)                                                                 \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","            \
  "\"sub_type\":\"normal\",\"message_id\":" id ",\"group_id\":" group                              \
  ",\"user_id\":10002,\"message\":[" segments                                                      \
  "],\"raw_message\":\"\",\"sender\":{\"user_id\":10002,\"role\":\"member\"}}"
#define WORDS(t) "{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}"
#define AT_BOT "{\"type\":\"at\",\"data\":{\"qq\":\"10001\"}}"

/* ---- a framework ---- */

struct framework {
  int fd;
  bool dialled; /* it dialled the gate: it masks */
  struct peer_in *in;
  char head[4096];
};

static struct framework *framework_new(int fd, bool dialled)
{
  struct framework *f = calloc(1, sizeof *f);
  f->fd = fd;
  f->dialled = dialled;
  f->in = malloc(sizeof *f->in);
  peer_in_init(f->in, !dialled);
  return f;
}

static struct framework *framework_dial(unsigned port, const char *path, const char *headers)
{
  char head[4096];
  int fd = peer_dial(port, path, headers, head, sizeof head);
  cr_assert_geq(fd, 0);
  struct framework *f = framework_new(fd, true);
  strcpy(f->head, head);
  return f;
}

static bool framework_in(const struct framework *f)
{
  return strncmp(f->head, "HTTP/1.1 101", 12) == 0;
}

static void framework_close(struct framework *f)
{
  if (!f) return;
  close(f->fd);
  peer_in_done(f->in);
  free(f->in);
  free(f);
}

/* The next text frame within ms, lent until the next call; NULL: none. */
static const char *framework_next(struct framework *f, int ms)
{
  static char text[1 << 16];
  uint64_t end = ob_now_ms() + ms;
  for (;;) {
    uint64_t now = ob_now_ms();
    if (f->in->rest.len == 0 && (now >= end || !peer_wait(f->fd, POLLIN, (int)(end - now))))
      return NULL;
    enum ob_frame_kind kind = peer_next(f->in, f->fd);
    if (kind == OB_FRAME_MORE || kind == OB_FRAME_CLOSE) return NULL;
    if (kind != OB_FRAME_TEXT) continue;
    struct span payload = f->in->frames.payload;
    cr_assert_lt(payload.len, sizeof text);
    memcpy(text, payload.ptr, payload.len);
    text[payload.len] = '\0';
    return text;
  }
}

/* The next one that is no meta event. */
static const char *framework_word(struct framework *f, int ms)
{
  const char *text;
  do text = framework_next(f, ms);
  while (text && strstr(text, "\"meta_event\""));
  return text;
}

static void framework_send(struct framework *f, const char *text)
{
  peer_text(f->fd, f->dialled, text);
}

static const char *framework_ask(struct framework *f, const char *text)
{
  framework_send(f, text);
  return framework_word(f, LONG_MS);
}

/* ---- the gate ---- */

struct relay {
  struct stage stage;
  unsigned port;
};

static void relay_open_timed(struct relay *r, const char *more_relay, const char *rest,
                             const struct rg_timing *timing)
{
  char config[4096];
  r->port = peer_free_port();
  snprintf(config, sizeof config, "relay:\n  listen: 127.0.0.1:%u\n%s%s", r->port, more_relay,
           rest);
  stage_open_timed(&r->stage, "NapCat.Onebot", "", config, false, timing);
  stage_ready(&r->stage);
}

static void relay_open_as(struct relay *r, const char *more_relay, const char *rest)
{
  relay_open_timed(r, more_relay, rest, &rg_timing);
}

static void relay_open(struct relay *r)
{
  relay_open_as(r, "", FAST);
}

static bool has(const char *text, const char *what)
{
  return text && strstr(text, what);
}

static const char *call_params(struct relay *r, size_t i)
{
  return i < bot_count(r->stage.bot) ? r->stage.bot->calls[i].params : "(no call)";
}

/* ---- who may come ---- */

Test(relay, paths_say_which_account_is_meant)
{
  static const struct {
    const char *path, *headers;
    bool in;
  } rows[] = {
    { "/", "", true },
    { "/main", "", true },
    { "/main/", "", true },
    { "/10001", "", true },
    { "/main/api", "", true },
    { "/10001/event/", "", true },
    { "/api", "", true },
    { "/event", "", true },
    { "/", "X-Self-ID: 10001\r\n", true },
    { "/", "X-Self-ID: 10002\r\n", false },
    { "/other", "", false },
    { "/main/other", "", false },
    { "/main/api/x", "", false },
  };
  struct relay r;
  relay_open(&r);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct framework *f = framework_dial(r.port, rows[i].path, rows[i].headers);
    cr_expect_eq(framework_in(f), rows[i].in, "%s %s: %s", rows[i].path, rows[i].headers, f->head);
    framework_close(f);
  }
  stage_close(&r.stage);
}

Test(relay, several_endpoints_are_listed_to_who_names_none)
{
  struct relay r;
  relay_open(&r);
  unsigned port = r.port;
  FILE *f = fopen(r.stage.config, "w");
  fprintf(f,
          "language: en\nendpoints:\n  one: {connect: 'ws://127.0.0.1:%u'}\n  two: {connect: "
          "'ws://127.0.0.1:1'}\nrelay:\n  listen: 127.0.0.1:%u\n",
          r.stage.bot->port, port);
  fclose(f);
  char why[512];
  cr_assert_eq(rg_gate_reload(r.stage.gate, why, sizeof why), RG_OK, "%s", why);
  struct framework *a = framework_dial(port, "/", "");
  cr_expect(has(a->head, "HTTP/1.1 404"), "%s", a->head);
  char body[512] = "";
  usleep(100000);
  ssize_t n = recv(a->fd, body, sizeof body - 1, MSG_DONTWAIT);
  cr_expect(n > 0 && has(body, "/one /two"), "%s", body);
  framework_close(a);
  a = framework_dial(port, "/two", "");
  cr_expect(framework_in(a));
  framework_close(a);
  stage_close(&r.stage);
}

Test(relay, many_endpoints_are_listed_too)
{
  struct relay r;
  relay_open(&r);
  FILE *f = fopen(r.stage.config, "w");
  fprintf(f, "language: en\nrelay:\n  listen: 127.0.0.1:%u\nendpoints:\n", r.port);
  for (int i = 0; i < 30; i++)
    fprintf(f, "  an-endpoint-with-a-name-%02d: {connect: 'ws://127.0.0.1:1'}\n", i);
  fclose(f);
  char why[512];
  cr_assert_eq(rg_gate_reload(r.stage.gate, why, sizeof why), RG_OK, "%s", why);
  struct framework *a = framework_dial(r.port, "/", "");
  cr_expect(has(a->head, "HTTP/1.1 404"), "%s", a->head);
  char body[2048] = "";
  usleep(100000);
  ssize_t n = recv(a->fd, body, sizeof body - 1, MSG_DONTWAIT);
  cr_expect(n > 0 && has(body, "/an-endpoint-with-a-name-29"), "%s", body);
  framework_close(a);
  stage_close(&r.stage);
}

/* The relay's and an endpoint's: a port that was in use when it was wanted. */
Test(relay, a_port_that_is_free_again_is_listened_at_after_a_reload)
{
  struct relay r;
  relay_open(&r);
  unsigned relay_port, endpoint_port;
  int taken = peer_listen(&relay_port), taken_too = peer_listen(&endpoint_port);
  char why[512];
  FILE *f = fopen(r.stage.config, "w");
  fprintf(f,
          "language: en\nendpoints:\n  one: {connect: 'ws://127.0.0.1:%u'}\n  two: {listen: "
          "'127.0.0.1:%u/two'}\nrelay:\n  listen: 127.0.0.1:%u\n",
          r.stage.bot->port, endpoint_port, relay_port);
  fclose(f);
  cr_assert_eq(rg_gate_reload(r.stage.gate, why, sizeof why), RG_OK, "%s", why);
  cr_expect(keeper_logged(r.stage.keeper, "endpoint two: the address is in use"));
  cr_expect(keeper_logged(r.stage.keeper, "the address is in use by another program or listener; "
                                          "put it right, then reload"));
  close(taken);
  close(taken_too);
  cr_assert_eq(rg_gate_reload(r.stage.gate, why, sizeof why), RG_OK, "%s", why);
  struct framework *a = framework_dial(relay_port, "/one", "");
  cr_expect(framework_in(a), "%s", a->head);
  framework_close(a);
  a = framework_dial(endpoint_port, "/two", "X-Self-ID: 10002\r\nX-Client-Role: Universal\r\n");
  cr_expect(framework_in(a), "%s", a->head);
  framework_close(a);
  stage_close(&r.stage);
}

Test(relay, tokens)
{
  static const struct {
    const char *path, *headers, *status;
  } rows[] = {
    { "/", "", "HTTP/1.1 401" },
    { "/", "Authorization: Bearer wrong\r\n", "HTTP/1.1 403" },
    { "/", "Authorization: Bearer secrets\r\n", "HTTP/1.1 403" },
    { "/", "Authorization: Bearer secret\r\n", "HTTP/1.1 101" },
    { "/", "Authorization: Token secret\r\n", "HTTP/1.1 101" },
    { "/?access_token=secret", "", "HTTP/1.1 101" },
    { "/?access_token=x", "", "HTTP/1.1 403" },
  };
  struct relay r;
  relay_open_as(&r, "  access_token: secret\n", FAST);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct framework *f = framework_dial(r.port, rows[i].path, rows[i].headers);
    cr_expect(has(f->head, rows[i].status), "%s %s: %s", rows[i].path, rows[i].headers, f->head);
    framework_close(f);
  }
  stage_close(&r.stage);
}

Test(relay, a_fresh_connection_is_greeted)
{
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/event", ""),
                   *api = framework_dial(r.port, "/api", "");
  const char *text = framework_next(f, LONG_MS);
  cr_expect(has(text, "\"self_id\":10001") && has(text, "\"lifecycle\",\"sub_type\":\"connect\""),
            "%s", text);
  text = framework_next(f, LONG_MS);
  cr_expect(has(text, "\"heartbeat\"") && has(text, "\"online\":true"), "%s", text);
  cr_expect_null(framework_next(api, SHORT_MS), "/api gets no events");
  framework_close(f);
  framework_close(api);
  stage_close(&r.stage);
}

/* ---- events ---- */

Test(relay, events_come_byte_for_byte_to_every_framework)
{
  static const char *const rows[] = {
    EVENT("1", "123", WORDS("hello")),
    "{ \"post_type\" : \"notice\",\t\"x\":1.50e3, \"self_id\":10001 }",
    "{\"unknown\":[null,true]}",
    EVENT("2", "123", AT_BOT "," WORDS(" \\u4f60 /x")),
  };
  struct relay r;
  relay_open(&r);
  struct framework *a = framework_dial(r.port, "/", ""), *b = framework_dial(r.port, "/main", "");
  usleep(100000);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) bot_send(r.stage.bot, rows[i]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *text = framework_word(a, LONG_MS);
    cr_expect(text && strcmp(text, rows[i]) == 0, "a %zu: %s", i, text);
    text = framework_word(b, LONG_MS);
    cr_expect(text && strcmp(text, rows[i]) == 0, "b %zu: %s", i, text);
  }
  bot_send(r.stage.bot, "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":"
                        "\"group\",\"message_id\":7,\"group_id\":123,\"user_id\":10009,\"message\":"
                        "\"/gate status\",\"sender\":{\"role\":\"member\"}}");
  cr_expect(bot_called(r.stage.bot, 1, LONG_MS), "the command is answered");
  cr_expect_null(framework_word(a, SHORT_MS), "and reaches no framework");
  framework_close(a);
  framework_close(b);
  stage_close(&r.stage);
}

Test(relay, a_framework_that_takes_nothing_is_let_go_and_the_others_go_on)
{
  struct relay r;
  relay_open(&r);
  struct framework *slow = framework_dial(r.port, "/", ""), *good = framework_dial(r.port, "/", "");
  usleep(100000);
  enum { SIZE = 1 << 20, COUNT = 80 };
  char *big = malloc(SIZE + 64);
  cr_assert(big);
  int n = sprintf(big, "{\"post_type\":\"notice\",\"x\":\"");
  memset(big + n, 'x', SIZE);
  strcpy(big + n + SIZE, "\"}");
  size_t got = 0;
  for (int i = 0; i < COUNT; i++) {
    bot_send(r.stage.bot, big);
    while (got < (size_t)i + 1 && peer_wait(good->fd, POLLIN, LONG_MS)) {
      enum ob_frame_kind kind = peer_next(good->in, good->fd);
      if (kind == OB_FRAME_MORE) break;
      got += kind == OB_FRAME_TEXT && good->in->frames.payload.len > SIZE;
    }
  }
  cr_expect_eq(got, COUNT);
  cr_expect(keeper_logged(r.stage.keeper, "it takes nothing"), "%s", r.stage.keeper->log.ptr);
  free(big);
  framework_close(slow);
  framework_close(good);
  stage_close(&r.stage);
}

enum {
  BIG = 1 << 20,
  BIG_COUNT = 40, /* far more than sockets and queues hold before reading stops */
};

/* A thread sends them, because the gate stops reading. */
struct events {
  struct relay *relay;
  size_t size, count;
};

static void *send_big(void *arg)
{
  struct events *e = arg;
  char *big = malloc(e->size + 64);
  cr_assert(big);
  int n = sprintf(big, "{\"post_type\":\"notice\",\"x\":\"");
  memset(big + n, 'x', e->size);
  strcpy(big + n + e->size, "\"}");
  for (size_t i = 0; i < e->count; i++) bot_send(e->relay->stage.bot, big);
  free(big);
  return NULL;
}

Test(relay, who_comes_beside_one_that_takes_nothing_has_its_events)
{
  struct relay r;
  pthread_t sender;
  relay_open(&r);
  struct framework *slow = framework_dial(r.port, "/", "");
  usleep(100000);
  struct events events = { &r, BIG, BIG_COUNT };
  cr_assert_eq(pthread_create(&sender, NULL, send_big, &events), 0);
  usleep(500000);
  struct framework *good = framework_dial(r.port, "/", "");
  size_t got = 0;
  while (peer_wait(good->fd, POLLIN, 700)) {
    enum ob_frame_kind kind = peer_next(good->in, good->fd);
    if (kind == OB_FRAME_MORE || kind == OB_FRAME_CLOSE) break;
    got += kind == OB_FRAME_TEXT && good->in->frames.payload.len > BIG;
  }
  cr_expect(got > 0 && got <= BIG_COUNT, "%zu", got);
  framework_close(slow); /* before the sender's end: without this one all would be waiting for it */
  pthread_join(sender, NULL);
  framework_close(good);
  stage_close(&r.stage);
}

/* When the one that takes nothing is let go, the other has enough to take for the moment too. */
Test(relay, reading_goes_on_only_where_there_is_room)
{
  enum { SIZE = 8 << 20, COUNT = 20 };
  struct relay r;
  pthread_t sender;
  relay_open(&r);
  struct framework *slow = framework_dial(r.port, "/", ""), *good = framework_dial(r.port, "/", "");
  usleep(100000);
  struct events events = { &r, SIZE, COUNT };
  cr_assert_eq(pthread_create(&sender, NULL, send_big, &events), 0);
  size_t got = 0;
  while (got < COUNT && peer_wait(good->fd, POLLIN, LONG_MS)) {
    enum ob_frame_kind kind = peer_next(good->in, good->fd);
    if (kind == OB_FRAME_MORE || kind == OB_FRAME_CLOSE) break;
    if (kind != OB_FRAME_TEXT || good->in->frames.payload.len < SIZE) continue;
    if (++got >= 7 && got <= 10)
      usleep(400000); /* with one of these the slow one's 64 MiB are full */
  }
  cr_expect_eq(got, COUNT);
  framework_close(slow);
  framework_close(good);
  pthread_join(sender, NULL);
  stage_close(&r.stage);
}

/* ---- actions ---- */

Test(relay, echoes_come_back_byte_for_byte)
{
  static const char *const echoes[] = {
    "1",
    "-1.50e3",
    "\"x\"",
    "\"\\u4f60\\/\"",
    "null",
    "true",
    "{ \"a\" : [1, 2] }",
    "[1,{}]",
    "\"\"",
    "18446744073709551616",
  };
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  for (size_t i = 0; i < sizeof echoes / sizeof *echoes; i++) {
    char action[256], wanted[256];
    snprintf(action, sizeof action, "{\"action\":\"get_x\",\"params\":{ \"a\":1},\"echo\":%s}",
             echoes[i]);
    snprintf(wanted, sizeof wanted, "\"echo\":%s}", echoes[i]);
    const char *text = framework_ask(f, action);
    cr_expect(has(text, wanted) && has(text, "\"status\":\"ok\""), "%s: %s", echoes[i], text);
    cr_expect_str_eq(call_params(&r, i), "{ \"a\":1}", "params pass as they are");
  }
  const char *text = framework_ask(f, "{\"action\":\"get_y\"}");
  cr_expect(has(text, "\"echo\":null"), "%s", text);
  framework_close(f);
  stage_close(&r.stage);
}

/* It would be kept until the answer, and many of them. */
Test(relay, an_echo_has_its_limit)
{
  enum { MOST = 16 * 1024 };
  static char action[MOST + 64];
  static const struct {
    size_t len;
    const char *status;
  } rows[] = { { MOST - 64, "\"status\":\"ok\"" }, { MOST - 1, "\"retcode\":1400" } };
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int n = sprintf(action, "{\"action\":\"get_x\",\"echo\":\"");
    memset(action + n, 'e', rows[i].len);
    strcpy(action + n + rows[i].len, "\"}");
    const char *text = framework_ask(f, action);
    const char *echo = text ? strstr(text, "\"echo\":\"") : NULL;
    cr_expect(has(text, rows[i].status), "%zu: %.200s", i, text);
    cr_expect(echo && strspn(echo + 8, "e") == rows[i].len, "%zu: the echo comes back", i);
  }
  framework_close(f);
  stage_close(&r.stage);
}

/* What is no action is answered with its fault and, as far as it can be seen, its echo. */
Test(relay, a_frame_that_is_no_action_is_told_why)
{
  static const struct {
    const char *frame, *why, *echo;
  } rows[] = {
    { "[{\"action\":\"get_x\",\"echo\":1}]", "an action is a JSON object", "\"echo\":null}" },
    { "{\"action\":5,\"echo\":2}", "a string action", "\"echo\":2}" },
    { "{\"action\":\"get_x\",\"action\":\"get_y\",\"echo\":[3]}", "the same key twice",
      "\"echo\":[3]}" },
    { "{\"action\":\"get_x\",\"echo\":\"\\ud800\"}", "byte 26", "\"echo\":null}" },
    { "\xef\xbb\xbf{\"action\":\"get_x\",\"echo\":4}", "not valid JSON here, byte 0",
      "\"echo\":4}" },
    { "{\"action\":\"get_x\",\"echo\":5", "ends before it is complete", "\"echo\":null}" },
  };
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *text = framework_ask(f, rows[i].frame);
    cr_expect(has(text, "\"retcode\":1400") && has(text, rows[i].why) && has(text, rows[i].echo),
              "%zu: %s", i, text);
  }
  enum { SIZE = 12 << 20 }; /* of a small value each: more than the memory for a frame holds */
  char *many = malloc(SIZE + 64);
  cr_assert(many);
  size_t n = (size_t)sprintf(many, "{\"action\":\"get_x\",\"params\":[0");
  while (n < SIZE) many[n++] = ',', many[n++] = '0';
  strcpy(many + n, "],\"echo\":6}");
  const char *text = framework_ask(f, many);
  cr_expect(has(text, "too many values") && has(text, "\"echo\":6}"), "%.300s", text);
  free(many);
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, messages_are_judged)
{
  static const struct {
    const char *label, *action, *called, *params, *answer;
  } rows[] = {
    { "a plain one",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[" WORDS(
          "hi") "]},\"echo\":1}",
      "send_group_msg", "\"text\":\"hi\"", "\"message_id\":1000" },
    { "a string, a suffix, an id as text",
      "{\"action\":\"send_msg_async\",\"params\":{\"group_id\":\"123\",\"message\":\"hi\"},"
      "\"echo\":2}",
      "send_group_msg", "{\"group_id\":123,\"message\":[{\"type\":\"text\"", "\"echo\":2" },
    { "a canonical mention",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"mention\","
      "\"data\":{\"target\":\"10002\"}}]},\"echo\":3}",
      "send_group_msg", "{\"type\":\"at\",\"data\":{\"qq\":\"10002\"}}", "\"status\":\"ok\"" },
    { "a canonical picture",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"image\","
      "\"data\":{\"media\":{\"kind\":\"base64\",\"value\":\"aGk=\"}}}]},\"echo\":3}",
      "send_group_msg", "\"file\":\"base64://aGk=\"", "\"status\":\"ok\"" },
    { "a canonical voice",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"audio\","
      "\"data\":{\"media\":{\"kind\":\"url\",\"value\":\"https://example.com/"
      "a.mp3\"}}}]},\"echo\":3}",
      "send_group_msg", "\"type\":\"record\"", "\"status\":\"ok\"" },
    { "canonical buttons",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"keyboard\","
      "\"data\":{\"rows\":[[{\"label\":\"A\",\"payload\":\"a\"}]]}}]},\"echo\":3}",
      "send_group_msg", "1. A", "\"status\":\"ok\"" },
    { "a canonical share without a sound",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"share\",\"data\":{\"url\":\"https://example.com/\",\"title\":\"T\",\"description\":"
      "\"D\"}}]},\"echo\":3}",
      "send_group_msg", "T – D\\nhttps://example.com/", "\"status\":\"ok\"" },
    { "a tool call",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"<tool_call>{"
      "\\\"name\\\":\\\"a\\\",\\\"arguments\\\":{}}</tool_call>\"},\"echo\":4}",
      NULL, NULL, "\"retcode\":1400" },
    { "a reply that says nothing",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"{\\\"messages\\\":"
      "[]"
      "}\"},\"echo\":9}",
      NULL, NULL, "\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":0}" },
    { "a raw packet", "{\"action\":\"send_packet\",\"params\":{},\"echo\":5}", NULL, NULL,
      "\"retcode\":1400" },
    { "a disguise", "{\"action\":\" Send_Group_Msg\",\"params\":{},\"echo\":6}", NULL, NULL,
      "\"retcode\":1400" },
    { "doubled keys", "{\"action\":\"get_x\",\"action\":\"send_packet\",\"params\":{},\"echo\":7}",
      NULL, NULL, "\"echo\":7}" },
    { "an echo before the fault",
      "{\"echo\":{ \"a\":\"}\\\"\"} ,\"action\":\"get_x\",\"params\":{\"a\":NaN}}", NULL, NULL,
      "\"echo\":{ \"a\":\"}\\\"\"}}" },
    { "half a character",
      "{\"action\":\"get_x\",\"params\":{\"echo\":1,\"a\":\"\\ud83d\"},\"echo\":\"e\"}", NULL, NULL,
      "\"echo\":\"e\"}" },
    { "two echoes", "{\"action\":\"get_x\",\"echo\":1,\"echo\":2}", NULL, NULL, "\"echo\":null}" },
    { "an echo with the fault", "{\"action\":\"get_x\",\"echo\":01}", NULL, NULL,
      "\"echo\":null}" },
    { "an echo that is cut", "{\"action\":\"get_x\",\"echo\":1", NULL, NULL, "\"echo\":null}" },
    { "an action under another name", "{\"Action\":\"send_group_msg\",\"params\":{}}", NULL, NULL,
      "\"retcode\":1400" },
    { "more members than it needs", "{\"action\":\"get_z\",\"Params\":{\"a\":1},\"echo\":8}",
      "get_z", "{}", "\"echo\":8" },
    { "no JSON", "hello", NULL, NULL, "\"retcode\":1400" },
    { "no object", "[1]", NULL, NULL, "\"retcode\":1400" },
    { "an unsound reply",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"{\\\"messages\\\":"
      "[{\\\"segments\\\":[{\\\"type\\\":\\\"nope\\\"}]}]}\"},\"echo\":9}",
      NULL, NULL, "$.params.message[0]" },
    { "another API's messages",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"send "
      "{\\\"model\\\":"
      "\\\"x\\\",\\\"messages\\\":[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"hi\\\"}]} to "
      "it\"},\"echo\":10}",
      "send_group_msg", "\\\"role\\\":\\\"user\\\"", "\"status\":\"ok\"" },
    { "a number called messages",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"stats: "
      "{\\\"messages\\\":17}\"},\"echo\":10}",
      "send_group_msg", "{\\\"messages\\\":17}", "\"status\":\"ok\"" },
    { "technical text",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"use {\\\"a\\\":1} "
      "and "
      "[1]\"},\"echo\":10}",
      "send_group_msg", "use {\\\"a\\\":1}", "\"status\":\"ok\"" },
  };
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  size_t calls = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *text = framework_ask(f, rows[i].action);
    cr_expect(has(text, rows[i].answer), "%s: %s", rows[i].label, text);
    if (rows[i].called) {
      cr_expect(bot_call_has(r.stage.bot, calls, rows[i].called, rows[i].params), "%s: %s %s",
                rows[i].label, r.stage.bot->calls[calls].action, call_params(&r, calls));
      calls++;
    }
    cr_assert_eq(bot_count(r.stage.bot), calls, "%s", rows[i].label);
  }
  framework_close(f);
  stage_close(&r.stage);
}

static struct bot_answer answer_errors(struct bot *bot, const struct bot_call *call)
{
  (void)bot;
  if (strcmp(call->action, "send_group_msg") == 0)
    return (struct bot_answer) { .kind = BOT_TEXT,
                                 .text = "\"status\":\"failed\",\"retcode\":120,\"data\":null,"
                                         "\"message\":\"muted\"" };
  return (struct bot_answer) { .kind = BOT_OK };
}

Test(relay, errors_of_the_implementation_are_its_own)
{
  struct relay r;
  relay_open(&r);
  r.stage.bot->answer = answer_errors;
  struct framework *f = framework_dial(r.port, "/", "");
  const char *text = framework_ask(f, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":1,"
                                      "\"message\":\"a\"},\"echo\":\"e\"}");
  cr_expect_str_eq(text,
                   "{\"status\":\"failed\",\"retcode\":120,\"data\":null,\"message\":\"muted\","
                   "\"echo\":\"e\"}");
  framework_close(f);
  stage_close(&r.stage);
}

#define REPLY_TEXT                                                                                 \
  "{\\\"messages\\\":[" TEXT("one") "," TEXT("two") "],\\\"reaction\\\":\\\"76\\\"}"

Test(relay, a_reply_as_text_is_delivered_as_that_reply)
{
  static const struct {
    const char *label, *message, *reacts_on; /* NULL: no reaction */
  } rows[] = {
    { "quoted",
      "[{\"type\":\"reply\",\"data\":{\"id\":\"55\"}},{\"type\":\"text\",\"data\":{\"text\":"
      "\"" REPLY_TEXT "\"}}]",
      "\"message_id\":55" },
    { "fenced and quoted",
      "[{\"type\":\"reply\",\"data\":{\"id\":\"55\"}},{\"type\":\"text\",\"data\":{\"text\":"
      "\"```json\\n" REPLY_TEXT "\\n```\"}}]",
      "\"message_id\":55" },
    { "not quoted", "\"" REPLY_TEXT "\"", NULL },
  };
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  size_t at = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char action[2048], id[64];
    snprintf(action, sizeof action,
             "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":%s},\"echo\":"
             "\"q\"}",
             rows[i].message);
    const char *text = framework_ask(f, action);
    bool reacts = rows[i].reacts_on;
    snprintf(id, sizeof id, "\"message_id\":%zu", 1000 + at + reacts);
    cr_expect(has(text, id) && has(text, "\"echo\":\"q\""), "%s: %s", rows[i].label, text);
    cr_assert(bot_called(r.stage.bot, at + 2 + reacts, LONG_MS), "%s", rows[i].label);
    if (reacts)
      cr_expect(bot_call_has(r.stage.bot, at, "set_msg_emoji_like", rows[i].reacts_on), "%s: %s",
                rows[i].label, call_params(&r, at));
    at += reacts;
    cr_expect(bot_call_has(r.stage.bot, at, "send_group_msg", "one"), "%s", rows[i].label);
    cr_expect_eq(has(call_params(&r, at), "\"reply\""), reacts, "%s: %s", rows[i].label,
                 call_params(&r, at));
    cr_expect(bot_call_has(r.stage.bot, at + 1, "send_group_msg", "two"), "%s", rows[i].label);
    at += 2;
  }
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, directives_of_a_framework_are_read_where_they_are_on)
{
  static const struct {
    const char *label, *message, *has, *lacks;
  } rows[] = {
    { "a target", "\"[[reply_to:55]] one\"", "{\"type\":\"reply\",\"data\":{\"id\":\"55\"}}",
      "[[" },
    { "an attachment", "\"one\\nMEDIA:cat.png\"", "base64://", "MEDIA" },
    { "one that is not there", "\"one\\nMEDIA:dog.png\"", "could not be sent]", "dog.png" },
    { "behind an at",
      "[{\"type\":\"at\",\"data\":{\"qq\":\"10002\"}},{\"type\":\"text\",\"data\":{"
      "\"text\":\" [[reply_to:55]] one\"}}]",
      "\"qq\":\"10002\"", "[[" },
    { "the action's own quote goes before a tag",
      "[{\"type\":\"reply\",\"data\":{\"id\":\"55\"}},{\"type\":\"text\",\"data\":{\"text\":"
      "\"[[reply_to:66]] one\"}}]",
      "{\"type\":\"reply\",\"data\":{\"id\":\"55\"}}", "66" },
    { "words", "\"one: [[two]]\"", "one: [[two]]", "\"reply\"" },
    { "output: text does not unmake a reply", "\"" REPLY_TEXT "\"", "\"text\":\"one\"",
      "segments" },
  };
  struct relay r;
  char command[512], rest[512];
  relay_open_as(&r, "", FAST);
  snprintf(command, sizeof command,
           "mkdir %s/media && cp %s/data/media/picture.png %s/media/cat.png", r.stage.folder,
           getenv("RG_TESTS"), r.stage.folder);
  cr_assert_eq(system(command), 0);
  snprintf(rest, sizeof rest,
           "relay:\n  listen: 127.0.0.1:%u\n" FAST
           "    output: text\n    directives: {enabled: true, media_lines: true}\n",
           r.port);
  stage_config(&r.stage, "", rest);
  char why[512];
  cr_assert_eq(rg_gate_reload(r.stage.gate, why, sizeof why), RG_OK, "%s", why);
  struct framework *f = framework_dial(r.port, "/", "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char action[2048];
    size_t at = bot_count(r.stage.bot);
    snprintf(action, sizeof action,
             "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":%s},\"echo\":"
             "\"q\"}",
             rows[i].message);
    const char *text = framework_ask(f, action);
    cr_expect(has(text, "\"status\":\"ok\""), "%s: %s", rows[i].label, text);
    cr_assert(bot_called(r.stage.bot, at + 1, LONG_MS), "%s", rows[i].label);
    cr_expect(has(call_params(&r, at), rows[i].has), "%s: %s", rows[i].label, call_params(&r, at));
    cr_expect_not(has(call_params(&r, at), rows[i].lacks), "%s: %s", rows[i].label,
                  call_params(&r, at));
    usleep(50000);
  }
  framework_close(f);
  stage_close(&r.stage);
}

static void ask_reply(struct framework *f)
{
  framework_ask(
      f, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"" REPLY_TEXT
         "\"},\"echo\":1}");
}

Test(relay, the_only_mention_gets_the_reaction)
{
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  bot_send(r.stage.bot, EVENT("61", "123", AT_BOT "," WORDS("hi")));
  bot_send(r.stage.bot, EVENT("62", "123", WORDS("nothing to do with it")));
  bot_send(r.stage.bot, EVENT("63", "999", AT_BOT));
  for (int i = 0; i < 3; i++) cr_assert(framework_word(f, LONG_MS));
  ask_reply(f);
  cr_assert(bot_called(r.stage.bot, 3, LONG_MS));
  cr_expect(bot_call_has(r.stage.bot, 0, "set_msg_emoji_like", "\"message_id\":61"), "%s",
            call_params(&r, 0));
  bot_send(r.stage.bot, EVENT("64", "123", AT_BOT));
  cr_assert(framework_word(f, LONG_MS));
  ask_reply(f);
  cr_assert(bot_called(r.stage.bot, 5, LONG_MS));
  usleep(100000);
  cr_expect_eq(bot_count(r.stage.bot), 5, "two mentions: nobody can tell which is meant");
  cr_expect(keeper_logged(r.stage.keeper, "a reply without a reaction"));
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, what_comes_after_a_reply_waits_for_it)
{
  struct relay r;
  relay_open_as(&r, "", "groups:\n  default:\n    pace: {min: 0.3, max: 0.3, per_char: 0}\n");
  struct framework *f = framework_dial(r.port, "/", "");
  ask_reply(f);
  framework_ask(
      f, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"three\"},"
         "\"echo\":2}");
  cr_assert(bot_called(r.stage.bot, 3, LONG_MS));
  cr_expect(bot_call_has(r.stage.bot, 1, "send_group_msg", "two"));
  cr_expect(bot_call_has(r.stage.bot, 2, "send_group_msg", "three"));
  cr_expect_geq(r.stage.bot->calls[1].at_ms - r.stage.bot->calls[0].at_ms, 250, "at its pace");
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, switched_off_and_observed)
{
  static const char call[] =
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"<tool_call>{"
      "\\\"name\\\":\\\"a\\\",\\\"arguments\\\":{}}</tool_call>\"},\"echo\":4}";
  static const struct {
    const char *settings, *answer, *packet, *log;
  } rows[] = {
    /* a raw packet may be for any group, also one that is on */
    { "{enabled: false}", "\"status\":\"ok\"", "\"retcode\":1400", NULL },
    { "{enabled: false, off_means: mute}", "\"retcode\":1400", "\"retcode\":1400",
      "send_group_msg in group 123 is held back: argument: Replygate is off in this group" },
    { "{mode: observe}", "\"status\":\"ok\"", "\"status\":\"ok\"",
      "would be held back, but mode is observe: tool_call" },
    { "{mode: enforce}", "\"retcode\":1400", "\"retcode\":1400", "held back" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char rest[256];
    struct relay r;
    snprintf(rest, sizeof rest, "groups:\n  default: %s\n", rows[i].settings);
    relay_open_as(&r, "", rest);
    struct framework *f = framework_dial(r.port, "/", "");
    const char *text = framework_ask(f, call);
    cr_expect(has(text, rows[i].answer), "%s: %s", rows[i].settings, text);
    text = framework_ask(f, "{\"action\":\"send_packet\",\"params\":{},\"echo\":5}");
    cr_expect(has(text, rows[i].packet), "%s: %s", rows[i].settings, text);
    if (rows[i].log) cr_expect(keeper_logged(r.stage.keeper, rows[i].log), "%s", rows[i].settings);
    framework_close(f);
    stage_close(&r.stage);
  }
}

static struct bot_answer answer_late(struct bot *bot, const struct bot_call *call)
{
  (void)bot, (void)call;
  return (struct bot_answer) { .kind = BOT_OK, .delay_ms = 300 };
}

Test(relay, a_framework_that_dies_loses_only_its_answer)
{
  struct relay r;
  relay_open(&r);
  r.stage.bot->answer = answer_late;
  struct framework *a = framework_dial(r.port, "/", ""), *b = framework_dial(r.port, "/", "");
  framework_send(
      a, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"" REPLY_TEXT
         "\"},\"echo\":1}");
  framework_send(a, "{\"action\":\"get_x\",\"echo\":2}");
  cr_assert(bot_called(r.stage.bot, 1, LONG_MS));
  framework_close(a);
  const char *text = framework_ask(b, "{\"action\":\"get_y\",\"echo\":\"b\"}");
  cr_expect(has(text, "\"echo\":\"b\""), "%s", text);
  cr_assert(bot_called(r.stage.bot, 4, LONG_MS), "what was begun goes on");
  framework_close(b);
  stage_close(&r.stage);
}

static struct bot_answer answer_drop(struct bot *bot, const struct bot_call *call)
{
  (void)bot, (void)call;
  return (struct bot_answer) { .kind = BOT_DROP };
}

Test(relay, an_implementation_that_dies_is_told_and_comes_back)
{
  struct relay r;
  relay_open(&r);
  r.stage.bot->answer = answer_drop;
  struct framework *f = framework_dial(r.port, "/", "");
  const char *text = framework_ask(f, "{\"action\":\"get_x\",\"echo\":1}");
  cr_expect(has(text, "\"status\":\"failed\"") && has(text, "\"echo\":1"), "%s", text);
  text = framework_ask(f, "{\"action\":\"get_x\",\"echo\":2}");
  cr_expect(has(text, "not connected") && has(text, "\"echo\":2"), "%s", text);
  r.stage.bot->answer = NULL;
  stage_ready(&r.stage);
  text = framework_ask(f, "{\"action\":\"get_x\",\"echo\":3}");
  cr_expect(has(text, "\"status\":\"ok\""), "%s", text);
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, frameworks_are_dialled_as_napcat_does)
{
  struct relay r;
  char more[256], head[4096], value[256];
  unsigned port;
  int listening = peer_listen(&port);
  snprintf(more, sizeof more,
           "  connect: [{url: 'ws://127.0.0.1:%u/onebot/v11/ws', access_token: abc}]\n", port);
  relay_open_as(&r, more, FAST);
  int fd = peer_accept(listening);
  peer_read_head(fd, head, sizeof head);
  cr_expect(has(head, "GET /onebot/v11/ws HTTP/1.1"), "%s", head);
  static const char *const headers[][2] = { { "X-Self-ID: ", "10001" },
                                            { "X-Client-Role: ", "Universal" },
                                            { "Authorization: ", "Bearer abc" },
                                            { "User-Agent: ", "OneBot/11" } };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    const char *given = peer_header(head, headers[i][0], value, sizeof value);
    cr_expect(given && strcmp(given, headers[i][1]) == 0, "%s: %s", headers[i][0], given);
  }
  peer_accept_upgrade(fd, head);
  struct framework *f = framework_new(fd, false);
  cr_expect(has(framework_next(f, LONG_MS), "lifecycle"));
  const char *text = framework_ask(f, "{\"action\":\"get_x\",\"echo\":\"r\"}");
  cr_expect(has(text, "\"echo\":\"r\"") && has(text, "\"ok\""), "%s", text);
  bot_send(r.stage.bot, EVENT("1", "123", WORDS("up")));
  cr_expect_str_eq(framework_word(f, LONG_MS), EVENT("1", "123", WORDS("up")));
  framework_close(f);
  fd = peer_accept(listening);
  cr_expect_geq(fd, 0, "it is dialled again");
  close(fd);
  close(listening);
  stage_close(&r.stage);
}

Test(relay, quick_operations_keep_their_form)
{
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  const char *text = framework_ask(
      f,
      "{\"action\":\".handle_quick_operation\",\"params\":{\"context\":{\"message_type\":\"group\","
      "\"group_id\":123,\"user_id\":10002,\"message_id\":9},\"operation\":{\"reply\":\"hi\"}},"
      "\"echo\":1}");
  cr_expect(has(text, "\"ok\""), "%s", text);
  cr_expect(
      bot_call_has(r.stage.bot, 0, ".handle_quick_operation", "\"reply\":[{\"type\":\"text\""),
      "%s", call_params(&r, 0));
  framework_close(f);
  stage_close(&r.stage);
}

Test(relay, a_tap_reaches_the_framework_as_its_payload)
{
  static const struct {
    const char *label, *message;
  } rows[] = {
    { "a reply's", "\"{\\\"messages\\\":[{\\\"segments\\\":[{\\\"type\\\":\\\"keyboard\\\","
                   "\\\"data\\\":{\\\"rows\\\":[[{\\\"label\\\":\\\"A\\\",\\\"payload\\\":"
                   "\\\"choose A\\\"}]]}}]}],\\\"reaction\\\":\\\"\\\"}\"" },
    { "a canonical one",
      "[{\"type\":\"keyboard\",\"data\":{\"rows\":[[{\"label\":\"\",\"payload\":\"no\"},"
      "{\"label\":\"A\",\"payload\":\"choose A\"}]]}}]" },
    { "zhin's", "[{\"type\":\"text\",\"data\":{\"text\":\"?\"}},{\"type\":\"keyboard\",\"data\":"
                "{\"rows\":[{\"buttons\":[{\"label\":\"A\",\"data\":\"choose A\"}]}]}}]" },
    { "LLBot's", "[{\"type\":\"keyboard\",\"data\":{\"content\":{\"rows\":[{\"buttons\":[{"
                 "\"render_data\":{\"label\":\"A\"},\"action\":{\"data\":\"choose A\"}}]}]}}}]" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char action[1024];
    struct relay r;
    relay_open(&r);
    struct framework *f = framework_dial(r.port, "/", "");
    bot_send(r.stage.bot, EVENT("7", "123", WORDS("1")));
    const char *text = framework_word(f, LONG_MS);
    cr_expect(has(text, "\"text\":\"1\""), "%s: nothing is asked yet: %s", rows[i].label, text);
    snprintf(action, sizeof action,
             "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":%s},"
             "\"echo\":1}",
             rows[i].message);
    text = framework_ask(f, action);
    cr_expect(has(text, "\"status\":\"ok\""), "%s: %s", rows[i].label, text);
    cr_expect(has(call_params(&r, 0), "1. A"), "%s: %s", rows[i].label, call_params(&r, 0));
    bot_send(r.stage.bot, EVENT("8", "123", WORDS("1")));
    text = framework_word(f, LONG_MS);
    cr_expect(has(text, "choose A") && has(text, "\"message_id\":8"), "%s: %s", rows[i].label,
              text);
    framework_close(f);
    stage_close(&r.stage);
  }
}

#define COMMAND(id, words)                                                                         \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","            \
  "\"message_id\":" id ",\"group_id\":123,\"user_id\":10009,\"message\":[" WORDS(                  \
      words) "],\"sender\":{\"role\":\"admin\"}}"

Test(relay, what_a_framework_sent_is_taken_back_by_command)
{
  struct relay r;
  relay_open(&r);
  struct framework *f = framework_dial(r.port, "/", "");
  framework_ask(f,
                "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[" WORDS(
                    "one") "]},\"echo\":1}");
  framework_ask(f, "{\"action\":\"send_msg\",\"params\":{\"group_id\":\"123\",\"message\":\"two\"},"
                   "\"echo\":2}");
  framework_ask(f, "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":124,\"message\":"
                   "\"elsewhere\"},\"echo\":3}");
  const char *text = framework_ask(
      f, "{\"action\":\"send_packet\",\"params\":{},\"echo\":4}"); /* not sent: nothing to recall */
  cr_expect(has(text, "\"retcode\":1400"), "%s", text);
  for (int i = 0; i < 2; i++) { /* the newest first */
    static const char *const ids[] = { "\"message_id\":1001", "\"message_id\":1000" };
    bot_send(r.stage.bot, i ? COMMAND("21", "/gate recall") : COMMAND("20", "／gate 撤回"));
    bool found = false;
    for (int tries = 0; tries < 80 && !found; tries++) {
      for (size_t k = 0; k < bot_count(r.stage.bot); k++)
        found = found || bot_call_has(r.stage.bot, k, "delete_msg", ids[i]);
      if (!found) usleep(100000);
    }
    cr_expect(found, "%s", ids[i]);
  }
  cr_expect_null(framework_word(f, SHORT_MS), "no command reaches the framework");
  framework_close(f);
  stage_close(&r.stage);
}

static struct bot_answer answer_nothing(struct bot *bot, const struct bot_call *call)
{
  (void)bot, (void)call;
  return (struct bot_answer) { .kind = BOT_SILENT };
}

Test(relay, every_call_is_answered_in_time)
{
  enum { IN_TIME_MS = 600 };
  static const struct {
    const char *action, *why;
  } rows[] = {
    { "{\"action\":\"get_x\",\"echo\":1}", "no answer within" },
    { "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"hi\"},\"echo\":1}",
      "no answer within" },
    { "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":124,\"message\":\"" REPLY_TEXT
      "\"},\"echo\":1}",
      "not sent within" },
    /* behind the one above, whose turn is not over */
    { "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":124,\"message\":\"later\"},"
      "\"echo\":1}",
      "not sent within" },
  };
  struct rg_timing timing = rg_timing;
  struct relay r;
  timing.passage = IN_TIME_MS;
  relay_open_timed(&r, "", FAST, &timing);
  r.stage.bot->answer = answer_nothing;
  struct framework *f = framework_dial(r.port, "/", "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t from = ob_now_ms();
    const char *text = framework_ask(f, rows[i].action);
    uint64_t took = ob_now_ms() - from;
    cr_expect(has(text, rows[i].why) && has(text, "\"echo\":1"), "row %zu: %s", i, text);
    cr_expect(took >= IN_TIME_MS && took < 5 * IN_TIME_MS, "row %zu: %d ms", i, (int)took);
  }
  framework_close(f);
  stage_close(&r.stage);
}

/* So many in one write that one read of ours brings far more than may wait. */
Test(relay, a_burst_is_held_back_and_answered_in_time)
{
  enum { COUNT = 1500, IN_TIME_MS = 600 };
  static bool answered[COUNT];
  struct rg_timing timing = rg_timing;
  struct relay r;
  struct buf burst;
  timing.passage = IN_TIME_MS;
  relay_open_timed(&r, "", FAST, &timing);
  r.stage.bot->answer = answer_nothing;
  struct framework *f = framework_dial(r.port, "/", "");
  buf_init(&burst, 1 << 20);
  for (int i = 0; i < COUNT; i++) {
    static const unsigned char mask[4] = { 1, 2, 3, 4 };
    char action[64], frame[128];
    int n = snprintf(action, sizeof action, "{\"action\":\"get_x\",\"echo\":%d}", i);
    struct span text = { action, (size_t)n };
    buf_add(&burst, (struct span) { frame, ob_frame_write(frame, OB_OP_TEXT, &text, 1, mask) });
  }
  peer_write(f->fd, buf_span(&burst));
  cr_expect(bot_called(r.stage.bot, RG_FRONT_CALLS_MAX, LONG_MS));
  cr_expect_not(bot_called(r.stage.bot, RG_FRONT_CALLS_MAX + 1, IN_TIME_MS / 3));
  int late = 0;
  for (int i = 0; i < COUNT; i++) {
    const char *text = framework_word(f, LONG_MS), *echo = text ? strstr(text, "\"echo\":") : NULL;
    int n = echo ? atoi(echo + 7) : -1;
    bool refused = has(text, "too many actions wait"), timeout = has(text, "no answer within");
    cr_assert(n >= 0 && n < COUNT && !answered[n] && (refused || timeout), "%s", text);
    answered[n] = true;
    late += timeout;
  }
  cr_expect_eq(late, RG_FRONT_CALLS_MAX, "%d were sent, the others are refused at once", late);
  cr_expect(keeper_logged(r.stage.keeper, "further ones are refused"));
  r.stage.bot->answer = NULL; /* it is there again */
  cr_expect(has(framework_ask(f, "{\"action\":\"get_x\",\"echo\":1}"), "\"status\":\"ok\""));
  buf_done(&burst);
  framework_close(f);
  stage_close(&r.stage);
}

#define MUSIC_SHARE                                                                                \
  "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":\"share\","  \
  "\"data\":{\"platform\":\"netease\",\"url\":\"https://music.163.com/"                            \
  "song?id=1\",\"title\":\"T\","                                                                   \
  "\"description\":\"D\",\"image\":\"https://example.com/c.jpg\",\"audio\":"                       \
  "\"https://example.com/a.mp3\"}}]},\"echo\":3}"

static struct bot_answer answer_shown(struct bot *bot, const struct bot_call *call)
{
  (void)bot;
  if (strcmp(call->action, "get_msg") != 0) return (struct bot_answer) { .kind = BOT_OK };
  return (struct bot_answer) { .kind = BOT_TEXT,
                               .text = "\"status\":\"ok\",\"retcode\":0,\"data\":{\"message\":[{"
                                       "\"type\":\"json\",\"data\":{\"data\":\"{}\"}}]}" };
}

Test(relay, a_canonical_share_is_a_card_or_its_words)
{
  for (int shown = 0; shown < 2; shown++) {
    struct relay r;
    relay_open(&r);
    r.stage.bot->answer = shown ? answer_shown : NULL;
    struct framework *f = framework_dial(r.port, "/", "");
    const char *text = framework_ask(f, MUSIC_SHARE);
    cr_expect(has(text, "\"status\":\"ok\"") && has(text, "\"message_id\":100"), "%s", text);
    cr_expect(bot_call_has(r.stage.bot, 0, "send_group_msg",
                           "{\"type\":\"music\",\"data\":{\"type\":\"163\",\"url\":"),
              "%s", call_params(&r, 0));
    cr_expect(bot_call_has(r.stage.bot, 1, "get_msg", "\"message_id\":1000"));
    cr_expect_eq(bot_count(r.stage.bot), shown ? 2 : 3);
    if (!shown)
      cr_expect(has(call_params(&r, 2), "T – D\\nhttps://music.163.com"), "%s", call_params(&r, 2));
    framework_close(f);
    stage_close(&r.stage);
  }
}
