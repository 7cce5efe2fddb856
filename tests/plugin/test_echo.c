/* A send of which nothing is known is confirmed by the event of it that the implementation pushes, is
 * never sent again, and is told as unknown where no such event comes. */
#include <criterion/criterion.h>

#include "tests/lib/bot.h"

#define FAST "groups:\n  default: {pace: {min: 0, max: 0}}\n"
#define REPLY                                                                                      \
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"one\"}}]},"               \
  "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"two\"}}]}]}"
#define SENT(text)                                                                                 \
  "{\"time\":1,\"self_id\":10001,\"post_type\":\"message_sent\",\"message_type\":\"group\","       \
  "\"message_id\":77,\"group_id\":123,\"user_id\":10001,\"message\":"                              \
  "[{\"type\":\"text\",\"data\":{\"text\":\"" text "\"}}]}"

enum { LONG_MS = 15000 };

/* What is pushed beside the first send, and whether the send is answered at all. */
struct play {
  const char *before, *after;
  unsigned after_ms;
  unsigned sends;
};

static struct bot_answer unknown_first(struct bot *bot, const struct bot_call *call)
{
  struct play *p = bot->ctx;
  if (strcmp(call->action, "send_group_msg") != 0 || p->sends++ > 0)
    return (struct bot_answer) { 0 };
  if (p->before) bot_send(bot, p->before);
  return (struct bot_answer) {
    BOT_TEXT,
    "\"status\":\"failed\",\"retcode\":1200,\"data\":null,\"message\":\"Timeout: NTEvent "
    "serviceAndMethod:NodeIKernelMsgService/sendMsg\"",
    0
  };
}

static const struct {
  const char *label;
  struct play play;
  const char *result, *holds;
  size_t calls;
} rows[] = {
  { "its event came before", { SENT("one"), NULL, 0, 0 }, "\"delivered\"", "\"77\"", 2 },
  { "its event comes after", { NULL, SENT("one"), 300, 0 }, "\"delivered\"", "\"77\"", 2 },
  { "no event", { NULL, NULL, 0, 0 }, "\"failed\"", "\"unknown\"", 1 },
  { "the event of something else", { SENT("other"), NULL, 0, 0 }, "\"failed\"", "\"unknown\"", 1 },
};

Test(echo, an_unknown_send_is_confirmed_or_told)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct stage s;
    struct play play = rows[i].play;
    stage_open(&s, "NapCat.Onebot", FAST, false);
    stage_ready(&s);
    s.bot->ctx = &play;
    s.bot->answer = unknown_first;
    uint64_t ticket = stage_submit(&s, "123", REPLY);
    cr_assert(bot_called(s.bot, 1, LONG_MS));
    if (play.after) {
      usleep(play.after_ms * 1000);
      bot_send(s.bot, play.after);
    }
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(result && strstr(result, rows[i].result) && strstr(result, rows[i].holds), "%s: %s",
              rows[i].label, result ? result : "none");
    cr_expect_eq(bot_count(s.bot), rows[i].calls, "%s: %zu calls", rows[i].label, bot_count(s.bot));
    stage_close(&s);
  }
}

Test(echo, what_is_called_off_meanwhile_is_told_as_unknown)
{
  struct stage s;
  struct play play = { 0 };
  stage_open(&s, "NapCat.Onebot", FAST, false);
  stage_ready(&s);
  s.bot->ctx = &play;
  s.bot->answer = unknown_first;
  uint64_t ticket = stage_submit(&s, "123", REPLY);
  cr_assert(bot_called(s.bot, 1, LONG_MS));
  usleep(300000);
  cr_expect_eq(rg_gate_cancel(s.gate, ticket), RG_OK);
  const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
  cr_expect(result && strstr(result, "\"cancelled\"") && strstr(result, "\"unknown\""), "%s",
            result ? result : "none");
  cr_expect_eq(bot_count(s.bot), 1);
  stage_close(&s);
}
