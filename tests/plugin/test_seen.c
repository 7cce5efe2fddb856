#include <criterion/criterion.h>
#include <stdlib.h>

#include "plugin/seen.h"

#define EVENT(id) "{\"post_type\":\"message\",\"time\":7,\"self_id\":1,\"message_id\":" id "}"

Test(seen, an_event_counts_once_within_two_minutes)
{
  struct rg_seen *s = calloc(1, sizeof *s);
  cr_expect_not(rg_seen_before(s, SPAN(EVENT("1")), 1000));
  cr_expect(rg_seen_before(s, SPAN(EVENT("1")), 1001));
  cr_expect(rg_seen_before(s, SPAN(EVENT("1")), 1000 + RG_SEEN_MS - 1));
  cr_expect_not(rg_seen_before(s, SPAN(EVENT("2")), 1002));
  cr_expect_not(rg_seen_before(s, SPAN(EVENT("11")), 1002));
  cr_expect_not(rg_seen_before(s, SPAN(EVENT("1")), 1000 + RG_SEEN_MS), "forgotten by now");
  free(s);
}

Test(seen, two_pokes_in_a_second_are_two)
{
  struct rg_seen *s = calloc(1, sizeof *s);
  for (int i = 0; i < 3; i++)
    cr_expect_not(rg_seen_before(s, SPAN("{\"notice_type\":\"notify\",\"time\":7}"), 1000));
  free(s);
}

Test(seen, every_byte_and_every_length_counts)
{
  struct rg_seen *s = calloc(1, sizeof *s);
  char text[80];
  for (size_t n = 20; n < sizeof text; n++) {
    for (size_t i = 13; i < n; i++) {
      memset(text, 'a', n);
      memcpy(text, "\"message_id\":", 13);
      text[i] = 'b';
      cr_expect_not(rg_seen_before(s, (struct span) { text, n }, 5), "%zu of %zu", i, n);
    }
  }
  free(s);
}
