#include <criterion/criterion.h>
#include <stdio.h>

#include "plugin/delivery/conversation.h"

Test(rate, allows_so_many_in_any_minute)
{
  struct rg_rate r = { .count = 0 };
  for (uint64_t t = 0; t < 3; t++) {
    cr_expect_eq(rg_rate_wait(&r, 3, 1000 * t), 0);
    rg_rate_count(&r, 3, 1000 * t);
  }
  cr_expect_eq(rg_rate_wait(&r, 3, 3000), 57000, "the first send leaves the minute at 60 s");
  cr_expect_eq(rg_rate_wait(&r, 3, 59999), 1);
  cr_expect_eq(rg_rate_wait(&r, 3, 60000), 0);
  rg_rate_count(&r, 3, 60000);
  cr_expect_eq(rg_rate_wait(&r, 3, 60000), 1000);
  rg_rate_done(&r);
}

Test(rate, follows_a_changed_limit)
{
  struct rg_rate r = { .count = 0 };
  for (uint64_t t = 0; t < 4; t++) rg_rate_count(&r, 4, t);
  cr_expect_eq(rg_rate_wait(&r, 4, 10), 59990);
  cr_expect_eq(rg_rate_wait(&r, 2, 10), 59992, "the last two count");
  cr_expect_eq(rg_rate_wait(&r, 6, 10), 0);
  rg_rate_count(&r, 6, 10);
  rg_rate_count(&r, 6, 11);
  cr_expect_eq(rg_rate_wait(&r, 6, 12), 59988);
  cr_expect_eq(rg_rate_wait(&r, 0, 12), 0, "0 is no limit");
  cr_expect_eq(rg_rate_wait(&r, 6, 100000), 0);
  rg_rate_done(&r);
}

Test(rate, of_the_largest_limit_grows_as_it_is_needed)
{
  struct rg_rate r = { .count = 0 };
  for (uint64_t t = 0; t < 6000; t++) {
    cr_assert_eq(rg_rate_wait(&r, 6000, t), 0);
    rg_rate_count(&r, 6000, t);
    cr_assert_leq(r.capacity, t < 8 ? 8 : 2 * (t + 1));
  }
  cr_expect_eq(rg_rate_wait(&r, 6000, 6000), 54000);
  rg_rate_done(&r);
}

Test(conversations, are_found_by_account_kind_and_number)
{
  struct rg_conversations all = { .count = 0 };
  struct rg_account *a = rg_account_new(NULL, SPAN("a")), *b = rg_account_new(NULL, SPAN("b"));
  struct rg_conversation *c = rg_conversation_get(&all, a, true, SPAN("123"));
  cr_assert(c);
  cr_expect_eq(rg_conversation_get(&all, a, true, SPAN("123")), c);
  cr_expect_eq(rg_conversation_find(&all, a, true, SPAN("123")), c);
  cr_expect_null(rg_conversation_find(&all, a, false, SPAN("123")));
  cr_expect_null(rg_conversation_find(&all, b, true, SPAN("123")));
  cr_expect_null(rg_conversation_find(&all, a, true, SPAN("12")));
  cr_expect_null(rg_conversation_get(&all, a, true, SPAN("1234567890123456789012345")));
  rg_conversations_done(&all);
  cr_expect_null(rg_conversation_find(&all, a, true, SPAN("123")));
  rg_account_free(a);
  rg_account_free(b);
}

Test(conversations, many_are_forgotten_once_they_hold_nothing)
{
  struct rg_conversations all = { .count = 0 };
  struct rg_account *a = rg_account_new(NULL, SPAN("a"));
  char id[24];
  for (int i = 0; i < 5000; i++) {
    snprintf(id, sizeof id, "%d", 10000 + i);
    struct rg_conversation *c = rg_conversation_get(&all, a, true, span_of(id));
    cr_assert(c);
    if (i % 100 == 0) c->waiting = 1;
    if (i % 100 == 1) c->blocked_until_ms = 5000;
  }
  cr_expect_eq(all.count, 5000);
  rg_conversations_sweep(&all, 4000);
  cr_expect_eq(all.count, 100);
  cr_expect(rg_conversation_find(&all, a, true, SPAN("10000")));
  cr_expect(rg_conversation_find(&all, a, true, SPAN("10001")));
  cr_expect_null(rg_conversation_find(&all, a, true, SPAN("10002")));
  rg_conversations_done(&all);
  rg_account_free(a);
}
