/* The configuration is read again and again while 1,000 messages a second come in and replies go out:
 * nothing is lost, nothing changes its order, the connection stays. */
#include <criterion/criterion.h>

#include "tests/lib/bot.h"

enum { EVENTS = 3000, TURNS = 200, LONG_MS = 10000 };

static void *flood(void *arg)
{
  struct bot *bot = arg;
  char text[256];
  for (int i = 0; i < EVENTS; i++) {
    snprintf(text, sizeof text,
             "{\"time\":1,\"self_id\":10001,\"post_type\":\"message\",\"message_type\":\"group\","
             "\"message_id\":%d,\"group_id\":123,\"user_id\":10002,\"message\":[]}",
             i + 1);
    bot_send(bot, text);
    usleep(1000);
  }
  return NULL;
}

static void reload(struct stage *s, int i)
{
  char rest[256], why[512];
  snprintf(
      rest, sizeof rest,
      "groups:\n  default: {pace: {min: 0, max: 0}, rate: {per_minute: %d}, long_text_chars: %d}\n",
      i % 2 ? 6000 : 5999, 1000 + i % 7);
  stage_config(s, "", rest);
  cr_assert_eq(rg_gate_reload(s->gate, why, sizeof why), RG_OK, "%s", why);
}

static size_t number_in(const char *json, const char *before)
{
  const char *at = strstr(json, before);
  return at ? (size_t)atol(at + strlen(before)) : 0;
}

Test(reload, under_load_nothing_is_lost_or_reordered)
{
  struct stage s;
  pthread_t thread;
  uint64_t tickets[TURNS];
  int reloads = 0;
  stage_open(&s, "NapCat.Onebot", "", false);
  stage_ready(&s);
  reload(&s, 0);
  cr_assert_eq(pthread_create(&thread, NULL, flood, s.bot), 0);
  for (int i = 0; i < TURNS; i++) {
    char reply[160];
    snprintf(reply, sizeof reply,
             "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"t%d.\"}}]}]}",
             i);
    int32_t rc = RG_EBUSY;
    for (int k = 0; rc == RG_EBUSY && k < 1000; k++) {
      tickets[i] = stage_submit_as(&s, RG_KIND_ANSWER, "123", "555", reply, &rc);
      if (rc == RG_EBUSY) usleep(1000);
    }
    cr_assert_eq(rc, RG_OK);
    reload(&s, ++reloads);
  }
  while (!keeper_wait(s.keeper, &s.keeper->event_count, EVENTS, 1) && reloads < 100000)
    reload(&s, ++reloads);
  pthread_join(thread, NULL);
  cr_expect_eq(s.keeper->event_count, EVENTS);
  for (size_t i = 0; i < s.keeper->event_count; i++)
    cr_expect_eq(number_in(s.keeper->events[i].json, "\"message_id\":"), i + 1, "event %zu", i);
  for (int i = 0; i < TURNS; i++) {
    const char *result = keeper_result_of(s.keeper, tickets[i], LONG_MS);
    cr_expect(result && strstr(result, "\"delivered\""), "turn %d: %s", i,
              result ? result : "none");
  }
  cr_expect_eq(bot_count(s.bot), (size_t)TURNS);
  for (size_t i = 0; i < bot_count(s.bot); i++) {
    char text[32];
    snprintf(text, sizeof text, "t%zu.", i);
    cr_expect(bot_call_has(s.bot, i, "send_group_msg", text), "call %zu", i);
  }
  cr_expect_gt(reloads, TURNS);
  cr_expect_eq(s.bot->connections, 1);
  stage_close(&s);
}
