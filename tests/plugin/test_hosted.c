/* A host with its own connection (connect: host): what it is about to send, what it received, and
 * what we send through it. */
#include <criterion/criterion.h>

#include "tests/lib/bot.h"

enum { SENT_MAX = 64, LONG_MS = 8000 };

#define GROUP_EVENT(user, role, text)                                                              \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","            \
  "\"message_id\":77,\"group_id\":123,\"user_id\":" user                                           \
  ",\"message\":[{\"type\":\"at\",\"data\":{\"qq\":\"10001\"}},"                                   \
  "{\"type\":\"text\",\"data\":{\"text\":\"" text                                                  \
  "\"}}],\"raw_message\":\"\",\"sender\":{\"role\":\"" role "\"}}"

struct sent {
  uint64_t ticket;
  char *action;
};

struct host {
  struct keeper *keeper;
  struct rg_gate *gate;
  char folder[64], config[96];
  pthread_mutex_t mu;
  pthread_cond_t changed;
  struct sent sent[SENT_MAX];
  size_t count;
};

static void host_log(void *ctx, int32_t level, struct rg_bytes line)
{
  keeper_log(((struct host *)ctx)->keeper, level, line);
}

static void host_result(void *ctx, uint64_t ticket, struct rg_bytes json)
{
  keeper_result(((struct host *)ctx)->keeper, ticket, json);
}

static void host_send(void *ctx, struct rg_bytes endpoint, uint64_t ticket, struct rg_bytes action)
{
  struct host *h = ctx;
  (void)endpoint;
  pthread_mutex_lock(&h->mu);
  cr_assert_lt(h->count, SENT_MAX);
  h->sent[h->count++] = (struct sent) { ticket, strndup(action.ptr, action.len) };
  pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->mu);
}

/* The i-th action that was to be sent; NULL: none came. */
static const struct sent *host_sent(struct host *h, size_t i)
{
  struct timespec until = bot_until(LONG_MS);
  pthread_mutex_lock(&h->mu);
  while (h->count <= i && pthread_cond_timedwait(&h->changed, &h->mu, &until) == 0) {
  }
  const struct sent *s = h->count > i ? &h->sent[i] : NULL;
  pthread_mutex_unlock(&h->mu);
  return s;
}

static struct rg_bytes bytes(const char *text)
{
  return (struct rg_bytes) { text, strlen(text) };
}

static void host_answer(struct host *h, size_t i, const char *json)
{
  const struct sent *s = host_sent(h, i);
  cr_assert(s);
  cr_assert_eq(rg_gate_response(h->gate, bytes("main"), s->ticket, bytes(json)), RG_OK);
}

static void host_open_as(struct host *h, const char *group, const char *more)
{
  char why[1024];
  memset(h, 0, sizeof *h);
  h->keeper = keeper_new();
  pthread_mutex_init(&h->mu, NULL);
  pthread_cond_init(&h->changed, NULL);
  strcpy(h->folder, "/tmp/rg-test-XXXXXX");
  cr_assert(mkdtemp(h->folder));
  snprintf(h->config, sizeof h->config, "%s/c.yaml", h->folder);
  FILE *f = fopen(h->config, "w");
  fprintf(f,
          "language: en\nadmins: [10009]\nendpoints:\n  main: {connect: host}\ngroups:\n"
          "  default: {%s}\n%s",
          group, more);
  fclose(f);
  const struct rg_host host = {
    .size = sizeof host,
    .abi = RG_ABI,
    .ctx = h,
    .log = host_log,
    .send = host_send,
    .on_result = host_result,
  };
  cr_assert_eq(rg_gate_open(&host, bytes(h->config), &h->gate, why, sizeof why), RG_OK, "%s", why);
  host_answer(h, 0,
              "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"app_name\":\"NapCat.Onebot\","
              "\"app_version\":\"1\"}}");
  host_answer(h, 1, "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"user_id\":10001}}");
  for (int i = 0; i < 200 && !keeper_logged(h->keeper, "ready"); i++) usleep(20000);
  cr_assert(keeper_logged(h->keeper, "ready"));
}

static void host_open(struct host *h, const char *group)
{
  host_open_as(h, group, "");
}

static void host_close(struct host *h)
{
  rg_gate_close(h->gate);
  for (size_t i = 0; i < h->count; i++) free(h->sent[i].action);
  keeper_free(h->keeper);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", h->folder);
  cr_expect_eq(system(command), 0);
}

Test(hosted, outbound_judges_what_a_host_is_about_to_send)
{
  static const struct {
    const char *label, *action;
    int32_t verdict;
    const char *edit; /* NULL: none */
  } rows[] = {
    { "no message", "{\"action\":\"get_x\",\"params\":{}}", RG_PASS, NULL },
    { "a plain one",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":\"text\","
      "\"data\":{\"text\":\"hi\"}}]}}",
      RG_PASS, NULL },
    { "a form that is settled",
      "{\"action\":\"send_msg\",\"params\":{\"group_id\":\"123\",\"message\":\"hi\"}}", RG_REPLACE,
      "[{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":[{\"type\":"
      "\"text\","
      "\"data\":{\"text\":\"hi\"}}]},\"wait_ms\":0}]" },
    { "a reply",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"{\\\"messages\\\":"
      "["
      "{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"a\\\"}}]},"
      "{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"b\\\"}}]}],"
      "\\\"reaction\\\":\\\"\\\"}\"}}",
      RG_REPLACE, "\"wait_ms\":400}]" },
    { "a leak",
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"<tool_call>{"
      "\\\"name\\\":\\\"a\\\",\\\"arguments\\\":{}}</tool_call>\"}}",
      RG_DROP, "\"retcode\":1400" },
    { "no JSON", "x", RG_DROP, "\"retcode\":1400" },
  };
  struct host h;
  host_open(&h, "pace: {min: 0.4, max: 1, per_char: 0}");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int32_t verdict = -1;
    struct rg_buf edit = { NULL, 0 };
    cr_assert_eq(rg_gate_outbound(h.gate, bytes("main"), bytes(rows[i].action), &verdict, &edit),
                 RG_OK);
    cr_expect_eq(verdict, rows[i].verdict, "%s: %d", rows[i].label, verdict);
    if (rows[i].edit)
      cr_expect(edit.ptr && strstr(edit.ptr, rows[i].edit), "%s: %s", rows[i].label, edit.ptr);
    else
      cr_expect_null(edit.ptr, "%s: %s", rows[i].label, edit.ptr);
    rg_gate_release(&edit);
  }
  int32_t verdict;
  struct rg_buf edit;
  cr_expect_eq(rg_gate_outbound(h.gate, bytes("other"), bytes("{}"), &verdict, &edit),
               RG_EARGUMENT);
  host_close(&h);
}

Test(hosted, inbound_takes_commands_out_and_remembers_mentions)
{
  int32_t verdict = -1;
  struct rg_buf edit;
  struct host h;
  host_open(&h, "mention_all: false");
  const char *event = GROUP_EVENT("10002", "member", " hi");
  cr_assert_eq(rg_gate_inbound(h.gate, bytes("main"), bytes(event), &verdict, &edit), RG_OK);
  cr_expect_eq(verdict, RG_PASS);
  cr_expect_null(edit.ptr);
  static const char reply[] =
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"{\\\"messages\\\":"
      "["
      "{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"a\\\"}}]}],"
      "\\\"reaction\\\":\\\"76\\\"}\"}}";
  cr_assert_eq(rg_gate_outbound(h.gate, bytes(""), bytes(reply), &verdict, &edit), RG_OK);
  cr_expect(edit.ptr && strstr(edit.ptr, "set_msg_emoji_like") && strstr(edit.ptr, ":77"), "%s",
            edit.ptr);
  rg_gate_release(&edit);
  const char *command = GROUP_EVENT("10009", "member", "/gate status");
  cr_assert_eq(rg_gate_inbound(h.gate, bytes("main"), bytes(command), &verdict, &edit), RG_OK);
  cr_expect_eq(verdict, RG_DROP);
  const struct sent *answer = host_sent(&h, 2);
  cr_expect(answer && strstr(answer->action, "send_group_msg") && strstr(answer->action, "napcat"),
            "%s", answer ? answer->action : "nothing");
  host_close(&h);
}

Test(hosted, a_number_answers_a_keyboard_that_the_host_sends)
{
  int32_t verdict = -1;
  struct rg_buf edit;
  struct host h;
  host_open(&h, "mention_all: false");
  static const char reply[] =
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":\"{\\\"messages\\\":"
      "[{\\\"segments\\\":[{\\\"type\\\":\\\"text\\\",\\\"data\\\":{\\\"text\\\":\\\"Well?\\\"}},"
      "{\\\"type\\\":\\\"keyboard\\\",\\\"data\\\":{\\\"rows\\\":[[{\\\"label\\\":\\\"Yes\\\","
      "\\\"payload\\\":\\\"tea please\\\"}]]}}]}],\\\"reaction\\\":\\\"\\\"}\"}}";
  cr_assert_eq(rg_gate_outbound(h.gate, bytes(""), bytes(reply), &verdict, &edit), RG_OK);
  cr_expect_eq(verdict, RG_REPLACE);
  rg_gate_release(&edit);
  static const struct {
    const char *event;
    int32_t verdict;
  } rows[] = {
    { GROUP_EVENT("10002", "member", " 2"), RG_PASS },
    { GROUP_EVENT("10002", "member", " 1"), RG_REPLACE },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_assert_eq(rg_gate_inbound(h.gate, bytes(""), bytes(rows[i].event), &verdict, &edit), RG_OK);
    cr_expect_eq(verdict, rows[i].verdict, "row %zu: %d", i, verdict);
    cr_expect(!edit.ptr || strstr(edit.ptr, "tea please"), "%s", edit.ptr);
    rg_gate_release(&edit);
  }
  host_close(&h);
}

Test(hosted, turns_go_through_the_hosts_send)
{
  struct host h;
  host_open(&h, "pace: {min: 0.01, max: 0.02, per_char: 0}");
  const struct rg_turn turn = { .size = sizeof turn,
                                .group_id = bytes("123"),
                                .message_id = bytes("5") };
  static const char reply[] = "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":"
                              "\"a\"}}]},{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":"
                              "\"b\"}}]}],\"reaction\":\"\"}";
  uint64_t ticket;
  cr_assert_eq(rg_gate_submit(h.gate, &turn, bytes(reply), &ticket), RG_OK);
  host_answer(&h, 2, "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":9}}");
  cr_assert(host_sent(&h, 3));
  cr_assert_eq(rg_gate_response(h.gate, bytes(""), host_sent(&h, 2)->ticket, bytes("{}")), RG_OK,
               "a second answer changes nothing");
  host_answer(&h, 3, "");
  const char *result = keeper_result_of(h.keeper, ticket, LONG_MS);
  cr_expect(result && strstr(result, "partial_delivery") && strstr(result, "\"message_id\":\"9\""),
            "%s", result);
  host_close(&h);
}

/* The next text frame that is no meta event, lent until the next call. */
static const char *framework_word(struct peer_in *in, int fd)
{
  static char text[4096];
  for (;;) {
    if (in->rest.len == 0 && !peer_wait(fd, POLLIN, LONG_MS)) return "(nothing)";
    enum ob_frame_kind kind = peer_next(in, fd);
    if (kind == OB_FRAME_MORE || kind == OB_FRAME_CLOSE) return "(nothing)";
    struct span payload = in->frames.payload;
    snprintf(text, sizeof text, "%.*s", (int)payload.len, payload.ptr);
    if (kind == OB_FRAME_TEXT && !strstr(text, "meta_event")) return text;
  }
}

Test(hosted, a_framework_in_front_of_a_host_gets_its_echo)
{
  static const struct {
    const char *answer, *wanted;
  } rows[] = {
    { "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":5}}",
      "{\"status\":\"ok\",\"retcode\":0,\"data\":{\"message_id\":5},\"echo\":{\"a\":1}}" },
    { "{\"status\":\"ok\",\"echo\":17,\"data\":null}",
      "{\"status\":\"ok\",\"echo\":{\"a\":1},\"data\":null}" },
    { " {} ", "{\"echo\":{\"a\":1}}" },
    { "", "\"retcode\":1200" },
    { "nonsense", "no JSON object" },
  };
  char more[128], head[4096];
  struct host h;
  unsigned port = peer_free_port();
  snprintf(more, sizeof more, "relay: {listen: '127.0.0.1:%u'}\n", port);
  host_open_as(&h, "", more);
  int fd = peer_dial(port, "/", "", head, sizeof head);
  cr_assert_geq(fd, 0);
  struct peer_in *in = malloc(sizeof *in);
  peer_in_init(in, false);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    peer_text(fd, true,
              "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,\"message\":"
              "\"hi\"},\"echo\":{\"a\":1}}");
    host_answer(&h, 2 + i, rows[i].answer);
    const char *text = framework_word(in, fd);
    cr_expect(strstr(text, rows[i].wanted), "%s: %s", rows[i].answer, text);
  }
  int32_t verdict;
  struct rg_buf edit;
  const char *event = GROUP_EVENT("10002", "member", "hello");
  cr_assert_eq(rg_gate_inbound(h.gate, bytes("main"), bytes(event), &verdict, &edit), RG_OK);
  cr_expect_str_eq(framework_word(in, fd), event, "what the host received goes up as well");
  rg_gate_release(&edit);
  close(fd);
  peer_in_done(in);
  free(in);
  host_close(&h);
}
