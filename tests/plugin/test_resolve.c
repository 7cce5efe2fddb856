/* Sends of which nobody knows are looked for in the history of the chat before they are reported. */
#include "plugin/delivery/resolve.h"

#include "tests/lib/journal_stage.h"

static struct bot_answer unknown_sends(struct bot *b, const struct bot_call *call)
{
  (void)b;
  static const struct bot_answer timeout = {
    .kind = BOT_TEXT,
    .text = "\"status\":\"failed\",\"retcode\":1200,\"data\":null,\"message\":\"Timeout: NTEvent\""
  };
  bool first = strstr(call->params, "one") || strstr(call->params, "\"type\":\"music\"");
  return first ? timeout : (struct bot_answer) { .kind = BOT_OK };
}

Test(resolve, an_unknown_send_is_looked_for_before_it_is_reported)
{
  static const struct {
    const char *history, *result, *holds;
    size_t calls;
  } live[] = {
    { "one", "\"delivered\"", "\"77\"", 2 },
    { "other", "\"failed\"", "\"unknown\"", 1 },
    { NULL, "\"failed\"", "\"unknown\"", 1 },
  };
  for (size_t i = 0; i < sizeof live / sizeof *live; i++) {
    struct stage s;
    stage_prepare(&s);
    char *history = live[i].history ? history_of(live[i].history) : NULL;
    s.bot->history = history;
    s.bot->answer = unknown_sends;
    gate_start(&s, FAST);
    stage_ready(&s);
    uint64_t ticket = stage_submit(&s, "123", REPLY(TEXT("one") "," TEXT("two")));
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(result && strstr(result, live[i].result) && strstr(result, live[i].holds), "%zu: %s",
              i, result ? result : "none");
    cr_expect_eq(bot_count(s.bot), live[i].calls, "%zu: %zu calls", i, bot_count(s.bot));
    cr_expect_leq(s.bot->histories, 2, "a bounded number of questions");
    stage_close(&s);
    free(history);
  }
}

Test(resolve, a_card_that_timed_out_is_looked_for_before_its_text_goes)
{
#define SONG                                                                                       \
  "{\"messages\":[{\"segments\":[{\"type\":\"share\",\"data\":{\"title\":\"Song\",\"url\":"        \
  "\"https://music.163.com/song?id=1\",\"description\":\"d\",\"image\":"                           \
  "\"https://a.example/i.png\",\"audio\":\"https://a.example/"                                     \
  "a.mp3\",\"platform\":\"netease\"}}]}]}"
#define SHOWN "{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}"
  static const struct {
    const char *label, *message; /* ours in the history: "" none, NULL no history */
    const char *result, *holds;
    size_t calls;
    int clock_off_s; /* of the implementation */
  } cards[] = {
    { "it is there", SHOWN, "\"delivered\"", "\"77\"", 1, 0 },
    { "it is there, by a clock that is behind", SHOWN, "\"delivered\"", "\"77\"", 1, -300 },
    { "it is there, by a clock that is ahead", SHOWN, "\"delivered\"", "\"77\"", 1, 3000 },
    { "it surely is not", "", "\"delivered\"", "\"card_not_shown\"", 2, 0 },
    { "nobody knows", NULL, "\"failed\"", "\"unknown\"", 1, 0 },
  };
  for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
    struct stage s;
    char *history = NULL, beat[256];
    stage_prepare(&s);
    if (cards[i].message)
      cr_assert_gt(
          asprintf(&history,
                   "\"status\":\"ok\",\"retcode\":0,\"data\":{\"messages\":[{\"time\":%lld,"
                   "\"message_id\":77,\"user_id\":10001,\"message\":[%s]}]}",
                   (long long)time(NULL) + cards[i].clock_off_s, cards[i].message),
          0);
    s.bot->history = history;
    s.bot->answer = unknown_sends;
    gate_start(&s, FAST);
    stage_ready(&s);
    snprintf(beat, sizeof beat,
             "{\"time\":%lld,\"self_id\":10001,\"post_type\":\"meta_event\","
             "\"meta_event_type\":\"heartbeat\",\"status\":{\"online\":true}}",
             (long long)time(NULL) + cards[i].clock_off_s);
    bot_send(s.bot, beat);
    usleep(SHORT_MS * 1000);
    uint64_t ticket = stage_submit(&s, "123", SONG);
    const char *result = keeper_result_of(s.keeper, ticket, LONG_MS);
    cr_expect(result && strstr(result, cards[i].result) && strstr(result, cards[i].holds), "%s: %s",
              cards[i].label, result ? result : "none");
    cr_expect_eq(bot_count(s.bot), cards[i].calls, "%s: %zu calls", cards[i].label,
                 bot_count(s.bot));
    stage_close(&s);
    free(history);
  }
}

/* ---- the same message, or another ---- */

Test(resolve, a_message_is_known_by_what_it_shows)
{
#define T(t) "{\"type\":\"text\",\"data\":{\"text\":\"" t "\"}}"
#define I(f) "{\"type\":\"image\",\"data\":{\"file\":\"" f "\"}}"
#define AT(q) "{\"type\":\"at\",\"data\":{\"qq\":\"" q "\"}}"
  static const struct {
    const char *ours, *theirs;
    bool same;
  } pairs[] = {
    { T("a"), T("a"), true },
    { T("a"), T("b"), false },
    { T("a") "," T("b"), T("ab"), true },
    { T("a"), T("a ") "," T(""), true },
    { T("a"), T("a") "," I("x"), false },
    { I("base64://AAAA"), I("1.png"), true },
    { I("base64://AAAA"), "{\"type\":\"record\",\"data\":{\"file\":\"1.amr\"}}", false },
    { I("a") "," I("b"), I("a"), false },
    { AT("1") "," T("a"), AT("1") "," T("a"), true },
    { AT("1") "," T("a"), AT("2") "," T("a"), false },
    { "{\"type\":\"reply\",\"data\":{\"id\":\"5\"}}," T("a"), T("a"), true },
    { "{\"type\":\"music\",\"data\":{\"type\":\"163\",\"id\":\"1\"}}",
      "{\"type\":\"json\",\"data\":{\"data\":\"{}\"}}", true },
    { "{\"type\":\"face\",\"data\":{\"id\":\"76\"}}", "{\"type\":\"face\",\"data\":{\"id\":76}}",
      true },
    { "{\"type\":\"face\",\"data\":{\"id\":\"76\"}}",
      "{\"type\":\"face\",\"data\":{\"id\":\"66\"}}", false },
    { "", "", false },
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    struct arena arena;
    struct schema_node *ours, *theirs;
    arena_init(&arena, 1 << 20);
    struct span a = arena_printf(&arena, "{\"group_id\":1,\"message\":[%s]}", pairs[i].ours);
    struct span b = arena_printf(&arena, "[%s]", pairs[i].theirs);
    cr_assert_eq(schema_tree_read(a, 64, &arena, &ours, NULL), SCHEMA_OK, "%zu", i);
    cr_assert_eq(schema_tree_read(b, 64, &arena, &theirs, NULL), SCHEMA_OK, "%zu", i);
    cr_expect_eq(rg_resolve_same(ours, theirs, &arena), pairs[i].same, "row %zu", i);
    arena_done(&arena);
  }
}
