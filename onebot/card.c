#include "onebot/card.h"

#include "onebot/mediaref.h"

/* spec/onebot.md 3.1. The sign is the MD5 of the app's certificate: what QQ checks a package by. */
const struct ob_app ob_apps[OB_PLATFORM_COUNT] = {
  [OB_QQ] = { "qq", "qq", 100497308, "com.tencent.qqmusic", "cbd27cd7c861227d013a25b2d10f0799",
              "QQ音乐",
              "https://p.qpic.cn/qqconnect/0/app_100497308_1626060999/100?max-age=2592000&t=0" },
  [OB_NETEASE] = { "netease", "163", 100495085, "com.netease.cloudmusic",
                   "da6b069da1e2982db3e386233f68d76d", "网易云音乐",
                   "https://i.gtimg.cn/open/app_icon/00/49/50/85/100495085_100_m.png" },
  [OB_KUGOU] = { "kugou", "kugou", 205141, "com.kugou.android", "fe4a24d80fcf253a00676a808f62c2c6",
                 "酷狗音乐", "https://open.gtimg.cn/open/app_icon/00/20/51/41/205141_100_m.png" },
  [OB_KUWO] = { "kuwo", "kuwo", 100243533, "cn.kuwo.player", "bf9ff4ffb4c558a34ee3fd52c223ebf5",
                "酷我音乐",
                "https://p.qpic.cn/qqconnect/0/app_100243533_1636374695/100?max-age=2592000&t=0" },
  [OB_MIGU] = { "migu", "migu", 1101053067, "cmccwm.mobilemusic",
                "6cdc72a439cef99a3418d2a78aa28c73", "咪咕音乐", NULL },
};

static const struct {
  const char *alias;
  enum ob_platform platform;
} aliases[] = {
  { "cloudmusic", OB_NETEASE },
  { "ncm", OB_NETEASE },
  { "tencent", OB_QQ },
  { "qqmusic", OB_QQ },
};

enum ob_platform ob_platform_find(struct span name)
{
  name = span_trim(name);
  for (int i = 0; i < OB_PLATFORM_COUNT; i++)
    if (span_eq_nocase(name, span_of(ob_apps[i].name)) ||
        span_eq_nocase(name, span_of(ob_apps[i].music)))
      return (enum ob_platform)i;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (span_eq_nocase(name, span_of(aliases[i].alias))) return aliases[i].platform;
  return OB_PLATFORM_COUNT;
}

struct ob_share ob_share_settle(struct ob_share s, uint32_t platforms)
{
  if (!ob_url_is_web(s.image)) s.image = (struct span) { 0 };
  if (!ob_url_is_web(s.audio)) s.audio = (struct span) { 0 };
  if (s.platform != OB_PLATFORM_COUNT && !(platforms >> s.platform & 1u))
    s.platform = OB_PLATFORM_COUNT;
  if (s.title.len == 0) {
    s.title = s.description;
    s.description = (struct span) { 0 };
  }
  return s;
}

struct ob_share ob_share_read(const struct schema_segment *segment, uint32_t platforms)
{
  struct ob_share s = {
    .url = schema_share_field(segment, "url"),
    .title = schema_share_field(segment, "title"),
    .description = schema_share_field(segment, "description"),
    .image = schema_share_field(segment, "image"),
    .audio = schema_share_field(segment, "audio"),
    .platform = ob_platform_find(schema_share_field(segment, "platform")),
  };
  return ob_share_settle(s, platforms);
}

/* Whether the music card of this profile would be shown. */
static bool has_music(const struct ob_profile *p, const struct ob_share *s)
{
  if (p->music == OB_MUSIC_NONE) return false;
  if ((p->music_needs & OB_NEEDS_IMAGE) && s->image.len == 0) return false;
  return !(p->music_needs & OB_NEEDS_AUDIO) || s->audio.len > 0;
}

enum ob_card_form ob_card_form(const struct ob_profile *profile, enum ob_card card,
                               const struct ob_share *share)
{
  if (!ob_url_is_web(share->url)) return OB_FORM_NOTICE;
  if (card == OB_CARD_TEXT || share->title.len == 0) return OB_FORM_TEXT;
  if (card == OB_CARD_ARK) return ob_profile_shows(profile, OB_JSON) ? OB_FORM_ARK : OB_FORM_TEXT;
  if (has_music(profile, share) && (share->audio.len || card == OB_CARD_MUSIC))
    return OB_FORM_MUSIC;
  /* a link card cannot play: where the profile's music card cannot be, words are as good */
  return ob_profile_shows(profile, OB_SHARE) ? OB_FORM_SHARE : OB_FORM_TEXT;
}

struct span ob_card_text(const struct ob_share *share, struct arena *arena)
{
  if (share->title.len == 0) return share->url;
  struct span parts[] = { share->title, SPAN(" – "), share->description, SPAN("\n"), share->url };
  if (share->description.len == 0) parts[1].len = 0;
  return arena_join(arena, parts, sizeof parts / sizeof *parts);
}

static void pair_if(struct schema_writer *w, const char *key, struct span value)
{
  if (value.len) schema_write_pair(w, key, value);
}

static void write_music(const struct ob_profile *p, const struct ob_share *s,
                        struct schema_writer *w)
{
  struct span platform = { 0 };
  if (s->platform != OB_PLATFORM_COUNT) platform = span_of(ob_apps[s->platform].music);
  bool direct = p->music == OB_MUSIC_PLATFORM && platform.len;
  schema_write_pair(w, "type", direct ? platform : SPAN("custom"));
  if (p->music == OB_MUSIC_GOCQ) pair_if(w, "subtype", platform);
  schema_write_pair(w, "url", s->url);
  pair_if(w, "audio", s->audio);
  if (p->music == OB_MUSIC_GOCQ) pair_if(w, "voice", s->audio);
  schema_write_pair(w, "title", s->title);
  pair_if(w, "content", s->description);
  pair_if(w, "image", s->image);
}

static void write_share(const struct ob_profile *p, const struct ob_share *s,
                        struct schema_writer *w)
{
  schema_write_pair(w, "url", s->url);
  schema_write_pair(w, "title", s->title);
  if (p->share_swaps) return;
  pair_if(w, "content", s->description);
  pair_if(w, "image", s->image);
}

/* meta.music of a song, meta.news of a link: the same members but for the sound. */
static void write_meta(const struct ob_share *s, const struct ob_app *app, bool song,
                       struct schema_writer *w)
{
  schema_write_key(w, SPAN("meta"));
  schema_write_object(w);
  schema_write_key(w, song ? SPAN("music") : SPAN("news"));
  schema_write_object(w);
  schema_write_pair(w, "action", SPAN(""));
  schema_write_pair(w, "android_pkg_name", span_of(app ? app->package : ""));
  schema_write_key(w, SPAN("app_type"));
  schema_write_int(w, 1);
  if (app) {
    schema_write_key(w, SPAN("appid"));
    schema_write_int(w, app->appid);
  }
  schema_write_key(w, SPAN("ctime"));
  schema_write_int(w, 0);
  schema_write_pair(w, "desc", s->description);
  schema_write_pair(w, "jumpUrl", s->url);
  if (song) schema_write_pair(w, "musicUrl", s->audio);
  schema_write_pair(w, "preview", s->image);
  schema_write_pair(w, "sourceMsgId", SPAN("0"));
  schema_write_pair(w, "source_icon", span_of(app && app->icon ? app->icon : ""));
  schema_write_pair(w, "source_url", SPAN(""));
  schema_write_pair(w, "tag", span_of(app ? app->tag : ""));
  schema_write_pair(w, "title", s->title);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* A song needs an app: without one it is a plain link card without an app id (reply.md 6.5). */
void ob_card_ark(const struct ob_share *share, struct schema_writer *w)
{
  const struct ob_app *app =
      share->platform != OB_PLATFORM_COUNT ? &ob_apps[share->platform] : NULL;
  bool song = app && share->audio.len > 0;
  struct buf prompt;
  buf_init(&prompt, share->title.len + 16);
  buf_add(&prompt, SPAN("[分享]"));
  buf_add(&prompt, share->title);
  schema_write_object(w);
  schema_write_pair(w, "app", SPAN("com.tencent.structmsg"));
  schema_write_key(w, SPAN("config"));
  schema_write_object(w);
  schema_write_key(w, SPAN("forward"));
  schema_write_int(w, 1);
  schema_write_pair(w, "type", SPAN("normal"));
  schema_write_object_end(w);
  schema_write_pair(w, "desc", song ? SPAN("音乐") : SPAN("新闻"));
  if (app) {
    schema_write_key(w, SPAN("extra"));
    schema_write_object(w);
    schema_write_key(w, SPAN("app_type"));
    schema_write_int(w, 1);
    schema_write_key(w, SPAN("appid"));
    schema_write_int(w, app->appid);
    schema_write_object_end(w);
  }
  write_meta(share, app, song, w);
  schema_write_pair(w, "prompt", buf_span(&prompt));
  schema_write_pair(w, "ver", SPAN("0.0.0.1"));
  schema_write_pair(w, "view", song ? SPAN("music") : SPAN("news"));
  schema_write_object_end(w);
  if (prompt.failed) w->out->failed = true;
  buf_done(&prompt);
}

static void write_ark(const struct ob_share *s, struct schema_writer *w)
{
  struct buf ark;
  buf_init(&ark, w->out->max);
  struct schema_writer inner = { .out = &ark };
  ob_card_ark(s, &inner);
  schema_write_pair(w, "data", buf_span(&ark));
  if (ark.failed) w->out->failed = true;
  buf_done(&ark);
}

void ob_card_write(enum ob_card_form form, const struct ob_profile *profile,
                   const struct ob_share *share, struct schema_writer *w)
{
  static const char *const names[] = {
    [OB_FORM_MUSIC] = "music", [OB_FORM_SHARE] = "share", [OB_FORM_ARK] = "json"
  };
  schema_write_object(w);
  schema_write_pair(w, "type", span_of(names[form]));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  if (form == OB_FORM_MUSIC) write_music(profile, share, w);
  if (form == OB_FORM_SHARE) write_share(profile, share, w);
  if (form == OB_FORM_ARK) write_ark(share, w);
  schema_write_object_end(w);
  schema_write_object_end(w);
}
