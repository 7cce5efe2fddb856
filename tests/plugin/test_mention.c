#include "plugin/relay/mention.h"

#include <criterion/criterion.h>

enum { WINDOW = 1000 };

static void note(struct rg_mentions *m, const char *group, const char *id, uint64_t at)
{
  rg_mentions_note(m, span_of(group), span_of(id), SPAN("7"), at);
}

Test(mention, only_where_one_can_be_meant)
{
  struct rg_mentions m = { .ring = NULL };
  struct rg_mention found;
  cr_expect_not(rg_mentions_only(&m, SPAN("1"), WINDOW, 5000, &found), "nothing yet");
  note(&m, "1", "a", 5000);
  note(&m, "2", "b", 5001);
  cr_assert(rg_mentions_only(&m, SPAN("1"), WINDOW, 6000, &found));
  cr_expect_str_eq(found.message_id, "a");
  cr_expect_str_eq(found.user_id, "7");
  cr_expect_not(rg_mentions_only(&m, SPAN("1"), WINDOW, 6001, &found), "too old");
  cr_expect(rg_mentions_only(&m, SPAN("2"), WINDOW, 6001, &found));
  note(&m, "2", "c", 6001);
  cr_expect_not(rg_mentions_only(&m, SPAN("2"), WINDOW, 6001, &found), "two");
  cr_expect(rg_mentions_only(&m, SPAN("2"), WINDOW, 6500, &found), "the first is too old by now");
  cr_expect_not(rg_mentions_only(&m, SPAN("3"), WINDOW, 6500, &found), "another group");
  rg_mentions_done(&m);
}

Test(mention, what_had_to_be_forgotten_counts)
{
  struct rg_mentions m = { .ring = NULL };
  struct rg_mention found;
  note(&m, "1", "a", 5000);
  note(&m, "1", "b", 5000);
  for (int i = 0; i < RG_MENTIONS_MAX - 1; i++) note(&m, "2", "x", 5100);
  cr_expect_not(rg_mentions_only(&m, SPAN("1"), WINDOW, 5200, &found), "a was overwritten");
  cr_expect(rg_mentions_only(&m, SPAN("2"), 0, 5100, &found) == false, "a crowd");
  rg_mentions_note(&m, SPAN("1"), SPAN("an id that is longer than any number"), SPAN("7"), 9000);
  cr_expect_not(rg_mentions_only(&m, SPAN("1"), WINDOW, 9500, &found));
  rg_mentions_done(&m);
}
