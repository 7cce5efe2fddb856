#include <criterion/criterion.h>

#include "schema/silence.h"

static const struct {
  const char *text;
  bool silent;
} rows[] = {
  { "NO_REPLY", true },
  { " no_reply\n", true },
  { "NO_REPLY NO_REPLY", true },
  { "**NO_REPLY**", true },
  { "「NO_REPLY」。", true },
  { "\"NO_REPLY\"", true },
  { "\"NO_REPLY\\n\"", true },
  { "{\"action\":\"NO_REPLY\"}", true },
  { "{ \"action\" : \" NO_REPLY \" }", true },
  { "{\"action\":\"no_reply\"}", false },
  { "{\"action\":\"NO_REPLY\",\"a\":1}", false },
  { "{\"do\":\"NO_REPLY\"}", false },
  { "`NO_REPLY`", false },
  { "NO_REPLYNO_REPLY", false },
  { "NO_REPLY thanks", false },
  { "All good. NO_REPLY", false },
  { "NO REPLY", false },
  { "", false },
  { "...", false },
};

Test(silence, is_the_token_alone)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(schema_silence_is(span_of(rows[i].text), &arena), rows[i].silent, "%s",
                 rows[i].text);
  arena_done(&arena);
}
