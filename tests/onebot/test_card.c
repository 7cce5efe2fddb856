#include <criterion/criterion.h>
#include <stdio.h>

#include "onebot/card.h"

#define URL "https://e.com/s"
#define AUDIO "https://e.com/a.mp3"
#define IMAGE "https://e.com/i.jpg"

static struct ob_share share_of(const char *url, const char *title, const char *description,
                                const char *image, const char *audio, const char *platform)
{
  const struct schema_pair pairs[] = {
    { SPAN("url"), span_of(url) },
    { SPAN("title"), span_of(title) },
    { SPAN("description"), span_of(description) },
    { SPAN("image"), span_of(image) },
    { SPAN("audio"), span_of(audio) },
    { SPAN("platform"), span_of(platform) },
  };
  const struct schema_segment segment = { .type = SCHEMA_SHARE, .share = { pairs, 6 } };
  return ob_share_read(&segment, (1u << OB_PLATFORM_COUNT) - 1 - (1u << OB_MIGU));
}

Test(card, platforms_have_names_and_apps)
{
  static const struct {
    const char *name;
    enum ob_platform platform;
  } rows[] = {
    { "qq", OB_QQ },           { "QQ", OB_QQ },
    { " tencent ", OB_QQ },    { "QQMusic", OB_QQ },
    { "163", OB_NETEASE },     { "netease", OB_NETEASE },
    { "ncm", OB_NETEASE },     { "CloudMusic", OB_NETEASE },
    { "kugou", OB_KUGOU },     { "kuwo", OB_KUWO },
    { "migu", OB_MIGU },       { "xm", OB_PLATFORM_COUNT },
    { "", OB_PLATFORM_COUNT }, { "custom", OB_PLATFORM_COUNT },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(ob_platform_find(span_of(rows[i].name)), rows[i].platform, "%s", rows[i].name);
  for (int i = 0; i < OB_PLATFORM_COUNT; i++) {
    cr_expect_gt(ob_apps[i].appid, 0u);
    cr_expect_eq(strlen(ob_apps[i].sign), 32u, "%s", ob_apps[i].name);
    cr_expect_eq(strspn(ob_apps[i].sign, "0123456789abcdef"), 32u, "%s", ob_apps[i].name);
  }
}

Test(card, form_follows_profile_and_setting)
{
  static const struct {
    enum ob_profile_id profile;
    enum ob_card card;
    const char *url, *title, *image, *audio;
    enum ob_card_form form;
  } rows[] = {
    { OB_NAPCAT, OB_CARD_AUTO, URL, "t", IMAGE, AUDIO, OB_FORM_MUSIC },
    { OB_NAPCAT, OB_CARD_AUTO, URL, "t", "", AUDIO, OB_FORM_TEXT },
    { OB_NAPCAT, OB_CARD_AUTO, URL, "t", IMAGE, "", OB_FORM_TEXT },
    { OB_NAPCAT, OB_CARD_MUSIC, URL, "t", IMAGE, "", OB_FORM_MUSIC },
    { OB_NAPCAT, OB_CARD_MUSIC, URL, "t", "", AUDIO, OB_FORM_TEXT },
    { OB_NAPCAT, OB_CARD_ARK, URL, "t", "", "", OB_FORM_ARK },
    { OB_NAPCAT, OB_CARD_TEXT, URL, "t", IMAGE, AUDIO, OB_FORM_TEXT },
    { OB_LLBOT, OB_CARD_AUTO, URL, "t", "", AUDIO, OB_FORM_MUSIC },
    { OB_LLBOT, OB_CARD_AUTO, URL, "", "", AUDIO, OB_FORM_TEXT },
    { OB_LAGRANGE, OB_CARD_AUTO, URL, "t", "", AUDIO, OB_FORM_MUSIC },
    { OB_LAGRANGE, OB_CARD_AUTO, URL, "t", IMAGE, "", OB_FORM_TEXT },
    { OB_GOCQ, OB_CARD_AUTO, URL, "t", "", AUDIO, OB_FORM_MUSIC },
    { OB_GOCQ, OB_CARD_AUTO, URL, "t", IMAGE, "", OB_FORM_SHARE },
    { OB_GOCQ, OB_CARD_TEXT, URL, "t", IMAGE, "", OB_FORM_TEXT },
    { OB_SPEC, OB_CARD_AUTO, URL, "t", "", AUDIO, OB_FORM_MUSIC },
    { OB_SPEC, OB_CARD_MUSIC, URL, "t", "", "", OB_FORM_SHARE },
    { OB_ONEBOTS, OB_CARD_AUTO, URL, "t", IMAGE, AUDIO, OB_FORM_SHARE },
    { OB_ONEBOTS, OB_CARD_MUSIC, URL, "t", IMAGE, AUDIO, OB_FORM_SHARE },
    { OB_ONEBOTS, OB_CARD_ARK, URL, "t", IMAGE, AUDIO, OB_FORM_ARK },
    { OB_NAPCAT, OB_CARD_TEXT, "javascript:1", "t", "", "", OB_FORM_NOTICE },
    { OB_NAPCAT, OB_CARD_ARK, "ftp://e.com", "t", "", "", OB_FORM_NOTICE },
    { OB_NAPCAT, OB_CARD_AUTO, "https://", "t", "", "", OB_FORM_NOTICE },
    { OB_GOCQ, OB_CARD_AUTO, URL, "t", "", "file:///a.mp3", OB_FORM_SHARE },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ob_share s =
        share_of(rows[i].url, rows[i].title, "", rows[i].image, rows[i].audio, "qq");
    cr_expect_eq(ob_card_form(&ob_profiles[rows[i].profile], rows[i].card, &s), rows[i].form,
                 "row %zu", i);
  }
}

Test(card, words_leave_nothing_out)
{
  static const struct {
    const char *title, *description, *text;
  } rows[] = {
    { "t", "d", "t – d\n" URL },
    { "t", "", "t\n" URL },
    { "", "d", "d\n" URL },
    { "", "", URL },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct ob_share s = share_of(URL, rows[i].title, rows[i].description, "", "", "");
    struct span text = ob_card_text(&s, &arena);
    cr_expect(span_is(text, rows[i].text), "row %zu: %.*s", i, (int)text.len, text.ptr);
    arena_done(&arena);
  }
}

static struct schema_node *ark_of(const struct ob_share *s, struct arena *arena)
{
  struct buf out;
  buf_init(&out, 1 << 16);
  struct schema_writer w = { .out = &out };
  ob_card_ark(s, &w);
  struct schema_node *root = NULL;
  schema_tree_read(arena_copy(arena, buf_span(&out)), 16, arena, &root, NULL);
  buf_done(&out);
  return root;
}

Test(card, ark_carries_the_app_id_of_its_platform)
{
  struct arena arena;
  arena_init(&arena, 1 << 20);
  for (int i = 0; i < OB_MIGU; i++) {
    struct ob_share s = share_of(URL, "曲\"名\"", "d", IMAGE, AUDIO, ob_apps[i].name);
    struct schema_node *root = ark_of(&s, &arena);
    cr_assert_not_null(root, "%s", ob_apps[i].name);
    const struct schema_node *music = schema_tree_get(schema_tree_get(root, "meta"), "music");
    char appid[16];
    snprintf(appid, sizeof appid, "%u", ob_apps[i].appid);
    cr_expect(span_is(schema_tree_string(schema_tree_get(root, "view")), "music"));
    cr_expect(span_is(schema_tree_string(schema_tree_get(root, "app")), "com.tencent.structmsg"));
    cr_expect(span_is(schema_tree_string(schema_tree_get(root, "prompt")), "[分享]曲\"名\""));
    cr_expect(span_is(schema_tree_id(schema_tree_get(music, "appid")), appid), "%s",
              ob_apps[i].name);
    cr_expect(span_is(schema_tree_string(schema_tree_get(music, "tag")), ob_apps[i].tag));
    cr_expect(span_is(schema_tree_string(schema_tree_get(music, "musicUrl")), AUDIO));
    cr_expect(span_is(schema_tree_string(schema_tree_get(music, "jumpUrl")), URL));
    cr_expect(span_is(schema_tree_string(schema_tree_get(music, "preview")), IMAGE));
  }
  struct ob_share silent = share_of(URL, "t", "", "", "", "qq");
  struct schema_node *news = ark_of(&silent, &arena);
  cr_expect(span_is(schema_tree_string(schema_tree_get(news, "view")), "news"));
  cr_expect_not_null(
      schema_tree_get(schema_tree_get(schema_tree_get(news, "meta"), "news"), "appid"));
  struct ob_share nameless = share_of(URL, "t", "", "", AUDIO, "migu"); /* not allowed here */
  news = ark_of(&nameless, &arena);
  cr_expect(span_is(schema_tree_string(schema_tree_get(news, "view")), "news"));
  cr_expect_null(schema_tree_get(schema_tree_get(schema_tree_get(news, "meta"), "news"), "appid"));
  cr_expect_null(schema_tree_get(news, "extra"));
  arena_done(&arena);
}
