#include <criterion/criterion.h>

#include "onebot/profile.h"

Test(profile, every_row_is_complete)
{
  for (int i = 0; i < OB_PROFILE_COUNT; i++) {
    const struct ob_profile *p = &ob_profiles[i];
    cr_assert(p->name && p->note, "row %d", i);
    cr_expect_eq((int)p->id, i, "%s", p->name);
    cr_expect_eq(ob_profile_find(span_of(p->name)), p, "%s", p->name);
    cr_expect_eq(p->conditional & ~p->shows, 0, "%s: a condition on what is not shown", p->name);
    cr_expect(ob_profile_shows(p, OB_TEXT) && ob_profile_shows(p, OB_IMAGE), "%s", p->name);
    cr_expect_eq(ob_profile_shows(p, OB_MUSIC), p->music != OB_MUSIC_NONE, "%s", p->name);
    cr_expect_eq(ob_profile_shows(p, OB_FILE), p->file == OB_FILE_SEGMENT, "%s", p->name);
    cr_expect_not(ob_profile_shows(p, OB_MARKDOWN), "%s: nobody sees it", p->name);
    cr_expect_not(ob_profile_shows(p, OB_KEYBOARD), "%s: nobody sees it", p->name);
  }
  cr_expect_null(ob_profile_find(SPAN("NapCat")));
  cr_expect_null(ob_profile_find(SPAN("")));
}

Test(profile, is_detected_by_the_name_of_the_app)
{
  static const struct {
    const char *app;
    enum ob_profile_id id;
  } rows[] = {
    { "NapCat.Onebot", OB_NAPCAT },
    { "napcat.onebot", OB_NAPCAT },
    { "NapCat", OB_NAPCAT },
    { "LLOneBot", OB_LLBOT },
    { "LLOneBot-fork", OB_LLBOT },
    { "Lagrange.OneBot", OB_LAGRANGE },
    { "go-cqhttp", OB_GOCQ },
    { "Go-CQHttp", OB_GOCQ },
    { "onebots", OB_ONEBOTS },
    { "SnowLuma", OB_SPEC },
    { "", OB_SPEC },
    { "Nap", OB_SPEC },
    { "my NapCat", OB_SPEC },
    { "OneBots.3", OB_ONEBOTS },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(ob_profile_detect(span_of(rows[i].app))->id, rows[i].id, "%s", rows[i].app);
}

Test(profile, knows_which_ids_it_can_mean)
{
  static const struct {
    const char *id;
    bool napcat, lagrange, onebots;
  } messages[] = {
    { "7001", true, true, true },
    { "-5", true, true, true },
    { "0", false, false, false },
    { "", false, false, false },
    { "-0", false, false, true },
    { "007", false, false, true },
    { "2147483647", true, true, true },
    { "2147483648", true, false, true },
    { "-2147483648", true, true, true },
    { "9223372036854775807", true, false, true },
    { "9223372036854775808", false, false, true },
    { "abc=", false, false, true },
    { " ", false, false, false },
    { "1.5", false, false, true },
  };
  for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
    struct span id = span_of(messages[i].id);
    cr_expect_eq(ob_profile_has_message(&ob_profiles[OB_NAPCAT], id), messages[i].napcat, "'%s'",
                 messages[i].id);
    cr_expect_eq(ob_profile_has_message(&ob_profiles[OB_LAGRANGE], id), messages[i].lagrange,
                 "'%s'", messages[i].id);
    cr_expect_eq(ob_profile_has_message(&ob_profiles[OB_ONEBOTS], id), messages[i].onebots, "'%s'",
                 messages[i].id);
  }
  const struct ob_profile *lagrange = &ob_profiles[OB_LAGRANGE], *spec = &ob_profiles[OB_SPEC];
  cr_expect(ob_profile_has_target(lagrange, SPAN("4294967295")));
  cr_expect_not(ob_profile_has_target(lagrange, SPAN("4294967296")));
  cr_expect(ob_profile_has_target(spec, SPAN("9223372036854775807")));
  cr_expect_not(ob_profile_has_target(spec, SPAN("9223372036854775808")));
  cr_expect_not(ob_profile_has_target(spec, SPAN("-1")));
  cr_expect_not(ob_profile_has_target(spec, SPAN("0")));
}

Test(profile, takes_single_facts_from_the_operator)
{
  static const struct {
    const char *name, *value;
    bool taken;
  } rows[] = {
    { "music", "no", true },
    { "music", "false", true },
    { "music", "gocq", true },
    { "music", "yes", false },
    { "music", "", false },
    { "file", "upload", true },
    { "file", "base64", false },
    { "share", "yes", true },
    { "share", "true", true },
    { "share", "maybe", false },
    { "dice", "no", true },
    { "rps", "false", true },
    { "reactions", "no", true },
    { "reactions", "emoji_like", true },
    { "mention", "no", true },
    { "json", "no", true },
    { "frame_max", "1048576", true },
    { "frame_max", "-1", false },
    { "frame_max", "1e6", false },
    { "base64_video", "no", true },
    { "opaque_media", "yes", true },
    { "forward", "no", true },
    { "ids_32_bit", "yes", true },
    { "message_ids_32_bit", "no", true },
    { "message_ids_text", "yes", true },
    { "share_swaps", "yes", true },
    { "Music", "no", false },
    { "", "no", false },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ob_profile p = ob_profiles[OB_NAPCAT], before = p;
    struct schema_error error = { .code = SCHEMA_OK };
    enum schema_code code =
        ob_profile_override(&p, span_of(rows[i].name), span_of(rows[i].value), &error);
    cr_expect_eq(code == SCHEMA_OK, rows[i].taken, "%s: %s", rows[i].name, rows[i].value);
    if (rows[i].taken) continue;
    cr_expect_eq(memcmp(&p, &before, sizeof p), 0, "%s: %s changed it", rows[i].name,
                 rows[i].value);
    cr_expect(error.what && strlen(error.what) > 5, "%s: %s says nothing", rows[i].name,
              rows[i].value);
  }
}

Test(profile, overrides_keep_form_and_segments_together)
{
  struct ob_profile p = ob_profiles[OB_NAPCAT];
  struct schema_error error;
  cr_assert_eq(ob_profile_override(&p, SPAN("music"), SPAN("no"), NULL), SCHEMA_OK);
  cr_expect_eq(p.music, OB_MUSIC_NONE);
  cr_expect_not(ob_profile_shows(&p, OB_MUSIC));
  cr_assert_eq(ob_profile_override(&p, SPAN("music"), SPAN("custom"), NULL), SCHEMA_OK);
  cr_expect(ob_profile_shows(&p, OB_MUSIC));
  cr_assert_eq(ob_profile_override(&p, SPAN("frame_max"), SPAN("7"), NULL), SCHEMA_OK);
  cr_expect_eq(p.frame_max, 7);
  cr_assert_eq(ob_profile_override(&p, SPAN("music"), SPAN("card"), &error), SCHEMA_ECONFIG);
  cr_expect(strstr(error.what, "platform"), "%s", error.what);
  cr_assert_eq(ob_profile_override(&p, SPAN("musik"), SPAN("no"), &error), SCHEMA_ECONFIG);
  for (size_t i = 0; ob_facts[i].name; i++)
    cr_expect(strstr(error.what, ob_facts[i].name), "%s is not named", ob_facts[i].name);
}
