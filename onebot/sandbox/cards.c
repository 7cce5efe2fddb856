/* cards: music cards and json cards, with or without a sign service (judge.h). */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "onebot/sandbox/judge.h"

static struct span music_cell(const struct ob_judge *j, const char *row)
{
  return ob_played_cell(j->played, OB_TABLE_MUSIC, span_of(row));
}

static struct span field(const struct schema_node *data, const char *name)
{
  return schema_tree_id(schema_tree_get(data, name));
}

/* What the implementation does with a card that it cannot make. */
static void cannot(struct ob_judge *j, struct ob_judge_out *o, const char *row, struct span detail)
{
  struct span rule = music_cell(j, row);
  if (span_starts(rule, SPAN("fail")))
    ob_judge_refuse_rule(j, rule, detail);
  else if (span_is(rule, "literal"))
    ob_judge_write_text(o, SPAN("[CQ:music]"));
  ob_judge_note(o, "no card (%s: %.*s)", row, (int)detail.len, detail.ptr);
}

/* The first of the wanted members that is missing; empty: none. */
static struct span missing(struct span wanted, const struct schema_node *data)
{
  while (wanted.len) {
    struct span name = ob_word_next(&wanted);
    bool there = false;
    for (const struct schema_node *m = data->first; m; m = m->next)
      if (span_eq(m->key, name) && m->text.len > 0) there = true;
    if (!there) return name;
  }
  return (struct span) { "", 0 };
}

static bool is_web(struct span address)
{
  return span_starts(address, SPAN("http://")) || span_starts(address, SPAN("https://"));
}

struct card {
  struct ob_played_app app;
  struct span title, desc, url, audio, image;
};

/* The player card as the sign service gives it back. */
static void write_signed(struct ob_judge *j, struct schema_writer *w, const struct card *c)
{
  char token[33];
  snprintf(token, sizeof token, "%016" PRIx64 "%016" PRIx64, ob_world_draw(j->world, UINT64_MAX),
           ob_world_draw(j->world, UINT64_MAX));
  int64_t now = (int64_t)time(NULL);
  schema_write_object(w);
  schema_write_pair(w, "app", SPAN("com.tencent.music.lua"));
  schema_write_pair(w, "bizsrc", SPAN("qqconnect.sdkshare_music"));
  schema_write_key(w, SPAN("config"));
  schema_write_object(w);
  schema_write_key(w, SPAN("ctime"));
  schema_write_int(w, now);
  schema_write_key(w, SPAN("forward"));
  schema_write_int(w, 1);
  schema_write_pair(w, "token", span_of(token));
  schema_write_pair(w, "type", SPAN("normal"));
  schema_write_object_end(w);
  schema_write_key(w, SPAN("extra"));
  schema_write_object(w);
  schema_write_key(w, SPAN("app_type"));
  schema_write_int(w, 1);
  schema_write_key(w, SPAN("appid"));
  schema_write_raw(w, c->app.appid);
  schema_write_key(w, SPAN("uin"));
  schema_write_int(w, OB_WORLD_SELF);
  schema_write_object_end(w);
  schema_write_key(w, SPAN("meta"));
  schema_write_object(w);
  schema_write_key(w, SPAN("music"));
  schema_write_object(w);
  schema_write_key(w, SPAN("app_type"));
  schema_write_int(w, 1);
  schema_write_key(w, SPAN("appid"));
  schema_write_raw(w, c->app.appid);
  schema_write_key(w, SPAN("ctime"));
  schema_write_int(w, now);
  schema_write_pair(w, "desc", c->desc);
  schema_write_pair(w, "jumpUrl", c->url);
  schema_write_pair(w, "musicUrl", c->audio);
  schema_write_pair(w, "preview", c->image);
  schema_write_pair(w, "tag", c->app.tag);
  schema_write_pair(w, "title", c->title);
  schema_write_object_end(w);
  schema_write_object_end(w);
  schema_write_pair(w, "prompt", c->title);
  schema_write_pair(w, "ver", SPAN("0.0.0.1"));
  schema_write_pair(w, "view", SPAN("music"));
  schema_write_object_end(w);
}

static void write_json_segment(struct ob_judge_out *o, struct span ark)
{
  o->kept++;
  struct schema_writer *w = &o->segments;
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("json"));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  schema_write_pair(w, "data", ark);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* Without a sign service the card goes as it is. */
static void write_unsigned(struct ob_judge_out *o, struct span type, const struct card *c)
{
  o->kept++;
  struct schema_writer *w = &o->segments;
  schema_write_object(w);
  schema_write_pair(w, "type", SPAN("music"));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  schema_write_pair(w, "type", type);
  schema_write_pair(w, "tag", c->app.tag);
  schema_write_pair(w, "title", c->title);
  schema_write_pair(w, "content", c->desc);
  schema_write_pair(w, "url", c->url);
  schema_write_pair(w, "audio", c->audio);
  schema_write_pair(w, "image", c->image);
  schema_write_object_end(w);
  schema_write_object_end(w);
}

/* Fills the card. False: it was refused or dropped. */
static bool read_card(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *data,
                      struct span type, struct card *c)
{
  const struct schema_node *id = schema_tree_get(data, "id");
  struct span number = schema_tree_id(id);
  bool by_id = id && (number.len > 0 || span_is(music_cell(j, "empty id"), "id"));
  struct span types = music_cell(j, by_id ? "types with id" : "types without id");
  struct span sub = field(data, "subtype");
  if (!ob_word_in(types, type)) {
    cannot(j, o, "other type", type);
    return false;
  }
  struct span lacking = by_id ? SPAN("id") : missing(music_cell(j, "wants"), data);
  if (by_id ? number.len == 0 : lacking.len > 0) {
    cannot(j, o, "wants not", lacking);
    return false;
  }
  if (sub.len && !ob_word_in(music_cell(j, "subtypes"), sub)) {
    cannot(j, o, "other type", sub);
    return false;
  }
  struct span sound = music_cell(j, "sound"), content = field(data, "content");
  *c = (struct card) { .app = ob_played_app_by_type(sub.len ? sub : type),
                       .title = by_id ? number : field(data, "title"),
                       .desc = content.len ? content : field(data, "singer"),
                       .url = field(data, "url"),
                       .audio = field(data, span_is(sound, "voice") ? "voice" : "audio"),
                       .image = field(data, "image") };
  if (c->audio.len == 0 && !by_id) ob_judge_note(o, "a card without sound");
  if (!c->app.type.ptr) c->app = ob_played_app_by_type(SPAN("share"));
  return true;
}

void ob_judge_music(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *segment)
{
  static const struct {
    const char *row;
    enum ob_sign sign;
  } down[] = { { "sign down", OB_SIGN_DOWN }, { "sign unset", OB_SIGN_UNSET } };
  const struct schema_node *data = schema_tree_get(segment, "data");
  struct span type = field(data, "type");
  struct card c;
  if (!data || !read_card(j, o, data, type, &c)) return;
  if (c.url.len && !is_web(c.url)) ob_judge_note(o, "the card's url is no web address");
  if (c.audio.len && !is_web(c.audio)) ob_judge_note(o, "the card's audio is no web address");
  if (c.image.len && !is_web(c.image)) ob_judge_note(o, "the card's image is no web address");
  if (!span_is(music_cell(j, "signed"), "yes")) {
    struct span sub = field(data, "subtype");
    write_unsigned(o, sub.len ? sub : type, &c);
    return;
  }
  for (size_t i = 0; i < sizeof down / sizeof *down; i++) {
    if (j->sign != down[i].sign) continue;
    cannot(j, o, down[i].row, type);
    return;
  }
  struct buf ark;
  buf_init(&ark, 1024 * 1024);
  struct schema_writer w = { .out = &ark };
  write_signed(j, &w, &c);
  if (!ark.failed) write_json_segment(o, buf_span(&ark));
  buf_done(&ark);
}

/* A number or text of ark, two levels down: meta.<any>.<name>. */
static struct span meta_member(const struct schema_node *ark, const char *name)
{
  const struct schema_node *meta = schema_tree_get(ark, "meta");
  return schema_tree_id(schema_tree_get(meta ? meta->first : NULL, name));
}

void ob_judge_ark(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *segment)
{
  const struct schema_node *given = schema_tree_get(schema_tree_get(segment, "data"), "data");
  struct span text =
      given ? (given->kind == SCHEMA_OBJECT ? given->raw : given->text) : (struct span) { NULL, 0 };
  struct schema_node *ark = NULL;
  struct schema_error error;
  if (schema_tree_read(text, SCHEMA_DEPTH_EVENT, j->arena, &ark, &error) != SCHEMA_OK ||
      ark->kind != SCHEMA_OBJECT || !schema_tree_string(schema_tree_get(ark, "app")).len) {
    ob_judge_refuse(j, "timeout", SPAN("")); /* an empty or broken ark never gets an answer */
    return;
  }
  struct span token = schema_tree_string(schema_tree_get(schema_tree_get(ark, "config"), "token"));
  if (token.len == 0) {
    j->unseen = true;
    ob_judge_note(o, "nobody sees it: json without a signature");
  }
  struct span appid = meta_member(ark, "appid");
  if (appid.len && !ob_played_app_by_id(appid).type.ptr)
    ob_judge_note(o, "an app that is in no table: %.*s", (int)appid.len, appid.ptr);
  write_json_segment(o, text);
}
