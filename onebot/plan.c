#include "onebot/plan.h"

#include <stdio.h>

#include "onebot/face.h"
#include "onebot/id.h"
#include "onebot/markdown.h"
#include "onebot/mediaref.h"

/* What is fixed while one plan is made. */
struct planner {
  const struct ob_profile *profile;
  const struct ob_plan_settings *settings;
  const struct ob_target *target;
  struct ob_compose *c;
  struct arena *arena;
};

static const struct {
  struct span zh, en;
} notices[SCHEMA_TYPE_COUNT] = {
#define NOTICE(zh, en)                                                                             \
  {                                                                                                \
    { zh, sizeof zh - 1 },                                                                         \
    {                                                                                              \
      en, sizeof en - 1                                                                            \
    }                                                                                              \
  }
  [SCHEMA_IMAGE] = NOTICE("[图片无法发送]", "[image could not be sent]"),
  [SCHEMA_AUDIO] = NOTICE("[语音无法发送]", "[audio could not be sent]"),
  [SCHEMA_VIDEO] = NOTICE("[视频无法发送]", "[video could not be sent]"),
  [SCHEMA_FILE] = NOTICE("[文件无法发送]", "[file could not be sent]"),
  [SCHEMA_DICE] = NOTICE("[骰子无法发送]", "[dice could not be sent]"),
  [SCHEMA_RPS] = NOTICE("[猜拳无法发送]", "[rps could not be sent]"),
  [SCHEMA_SHARE] = NOTICE("[链接无法发送]", "[link could not be sent]"),
#undef NOTICE
};

struct ob_plan_settings ob_plan_settings_default(void)
{
  return (struct ob_plan_settings) {
    .language = SCHEMA_ZH,
    .share_platforms = (1u << OB_PLATFORM_COUNT) - 1,
    .card = OB_CARD_AUTO,
    .reactions = true,
  };
}

struct span ob_plan_notice(enum schema_type type, enum schema_language language)
{
  return language == SCHEMA_EN ? notices[type].en : notices[type].zh;
}

static void notice(struct planner *p, enum schema_type type)
{
  ob_compose_text(p->c, ob_plan_notice(type, p->settings->language));
}

/* ---- mentions ---- */

/* 0 would be everyone on Lagrange and go-cqhttp, 2^32 wraps to it. */
static bool is_account(struct span target)
{
  int64_t id;
  return ob_id_read(target, &id) && id >= 10000 && id <= UINT32_MAX;
}

enum schema_code ob_plan_mention(const struct ob_profile *profile,
                                 const struct ob_plan_settings *settings, struct span target)
{
  if (span_is(target, "all")) return settings->mention_all ? SCHEMA_OK : SCHEMA_EMENTIONALL;
  if (!is_account(target)) return SCHEMA_EMENTIONTARGET;
  return profile->mention_person ? SCHEMA_OK : SCHEMA_EMENTIONUNSUPPORTED;
}

static enum schema_code mention(struct planner *p, const struct schema_segment *segment)
{
  enum schema_code code = ob_plan_mention(p->profile, p->settings, segment->text);
  if (code == SCHEMA_OK && p->target->group_id.len) ob_compose_at(p->c, segment->text);
  return code;
}

/* ---- text forms ---- */

/* Appends text with every run of white space as one space, none at the ends. */
static void add_line(struct buf *out, struct span text)
{
  size_t i = span_blank_run(text);
  while (i < text.len) {
    struct span rest = { text.ptr + i, text.len - i }, word = { rest.ptr, span_word_run(rest) };
    buf_add(out, word);
    rest.ptr += word.len, rest.len -= word.len;
    i += word.len + span_blank_run(rest);
    if (i < text.len) buf_add_char(out, ' ');
  }
}

bool ob_buttons_add(struct ob_buttons *b, struct span label, struct span payload)
{
  if (payload.len == 0 || span_is_blank(label)) return false;
  if (b->count++ == 0)
    buf_add(&b->text, b->language == SCHEMA_EN ? SPAN("Please choose (reply with a number):")
                                               : SPAN("请选择（回复数字）："));
  char number[24]; /* the digits of a size_t, from behind */
  size_t at = sizeof number;
  for (size_t n = b->count; n; n /= 10) number[--at] = (char)('0' + n % 10);
  buf_add_char(&b->text, '\n');
  buf_add(&b->text, (struct span) { number + at, sizeof number - at });
  buf_add(&b->text, SPAN(". "));
  add_line(&b->text, label);
  return true;
}

static void keyboard(struct planner *p, const struct schema_segment *segment)
{
  struct ob_buttons b = { .language = p->settings->language };
  char first[512];
  buf_lend(&b.text, p->arena->max, first, sizeof first);
  for (size_t r = 0; r < segment->keyboard.count; r++) {
    const struct schema_row *row = &segment->keyboard.rows[r];
    for (size_t i = 0; i < row->count; i++)
      ob_buttons_add(&b, row->buttons[i].label, row->buttons[i].payload);
  }
  if (b.text.failed) p->arena->failed = true;
  ob_compose_block(p->c, buf_span(&b.text));
  buf_done(&b.text);
}

/* ---- media ---- */

#define HEAD(type) SPAN_INIT("{\"type\":\"" type "\",\"data\":{\"file\":")
static const struct span image_head = HEAD("image"), record_head = HEAD("record"),
                         video_head = HEAD("video"), file_head = HEAD("file");
#undef HEAD

/* head: how the segment is printed up to its file. */
static bool media(struct planner *p, const struct schema_segment *segment, struct span head,
                  bool alone)
{
  struct ob_mediaref ref;
  bool video = segment->type == SCHEMA_VIDEO, named = head.ptr == file_head.ptr;
  if (!ob_mediaref_read(p->profile, segment->media_kind, segment->text, video, p->arena, &ref))
    return false;
  struct schema_writer *w = ob_compose_open(p->c, alone);
  schema_write_raw(w, head);
  ob_mediaref_print(&ref, w->out);
  if (named) {
    struct span name = ob_mediaref_name(segment->media_kind, segment->text, p->arena);
    if (name.len) schema_write_pair(w, "name", name);
  }
  buf_add(w->out, SPAN("}}"));
  ob_compose_close(p->c);
  return true;
}

/* upload_group_file or upload_private_file with the plain host path. */
static bool upload(struct planner *p, const struct schema_segment *segment)
{
  if (segment->media_kind != SCHEMA_MEDIA_PATH) return false;
  if (p->target->group_id.len == 0 && p->target->user_id.len == 0) return false; /* a guild */
  struct span path = ob_mediaref_path(segment->text, p->arena);
  struct span name = ob_mediaref_name(segment->media_kind, segment->text, p->arena);
  if (path.len == 0 || name.len == 0) return false;
  struct buf out;
  buf_init(&out, p->arena->max);
  struct schema_writer w = { .out = &out };
  bool group = p->target->group_id.len > 0;
  schema_write_object(&w);
  schema_write_key(&w, group ? SPAN("group_id") : SPAN("user_id"));
  schema_write_raw(&w, group ? p->target->group_id : p->target->user_id);
  schema_write_pair(&w, "file", path);
  schema_write_pair(&w, "name", name);
  schema_write_object_end(&w);
  if (out.failed) p->arena->failed = true;
  ob_compose_step(p->c, OB_STEP_UPLOAD,
                  group ? SPAN("upload_group_file") : SPAN("upload_private_file"),
                  arena_copy(p->arena, buf_span(&out)));
  buf_done(&out);
  return true;
}

/* A file that cannot go as one: its address as words, else the notice. */
static void file_words(struct planner *p, const struct schema_segment *segment)
{
  struct ob_mediaref ref;
  bool english = p->settings->language == SCHEMA_EN;
  if (segment->media_kind != SCHEMA_MEDIA_URL ||
      !ob_mediaref_read(p->profile, SCHEMA_MEDIA_URL, segment->text, false, p->arena, &ref)) {
    notice(p, SCHEMA_FILE);
    return;
  }
  struct buf words;
  buf_init(&words, ref.value.len + 16);
  buf_add(&words, english ? SPAN("[file] ") : SPAN("[文件] "));
  buf_add(&words, ref.value);
  if (words.failed) p->arena->failed = true;
  ob_compose_text(p->c, buf_span(&words));
  buf_done(&words);
}

static bool file_native(struct planner *p, const struct schema_segment *segment)
{
  if (p->profile->file == OB_FILE_SEGMENT) return media(p, segment, file_head, true);
  return p->profile->file == OB_FILE_UPLOAD && upload(p, segment);
}

static void file(struct planner *p, const struct schema_segment *segment)
{
  if (file_native(p, segment)) return;
  if (p->profile->file == OB_FILE_SEGMENT)
    notice(p, SCHEMA_FILE);
  else
    file_words(p, segment);
}

/* A directive's audio without the voice tag is a file where the profile has files (design 8). */
static void audio(struct planner *p, const struct schema_segment *segment)
{
  if (segment->as_file && file_native(p, segment)) return;
  if (!media(p, segment, record_head, true)) notice(p, SCHEMA_AUDIO);
}

static void chance(struct planner *p, const struct schema_segment *segment)
{
  enum ob_native native = segment->type == SCHEMA_DICE ? OB_DICE : OB_RPS;
  if (!ob_profile_shows(p->profile, native)) {
    notice(p, segment->type);
    return;
  }
  struct schema_writer *w = ob_compose_open(p->c, true);
  schema_write_raw(w, native == OB_DICE ? SPAN("{\"type\":\"dice\",\"data\":{}}")
                                        : SPAN("{\"type\":\"rps\",\"data\":{}}"));
  ob_compose_close(p->c);
}

bool ob_plan_share(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   struct ob_share share, struct arena *arena, struct ob_compose *c)
{
  enum ob_card_form form = ob_card_form(profile, settings->card, &share);
  if (form == OB_FORM_NOTICE) return false;
  if (form == OB_FORM_TEXT) {
    ob_compose_block(c, ob_card_text(&share, arena));
    return true;
  }
  struct schema_writer *w = ob_compose_open(c, true);
  ob_card_write(form, profile, &share, w);
  if (form != OB_FORM_SHARE) ob_compose_is_card(c, ob_card_text(&share, arena));
  ob_compose_close(c);
  return true;
}

static void share(struct planner *p, const struct schema_segment *segment)
{
  struct ob_share s = ob_share_read(segment, p->settings->share_platforms);
  if (!ob_plan_share(p->profile, p->settings, s, p->arena, p->c)) notice(p, SCHEMA_SHARE);
}

static enum schema_code plan_segment(struct planner *p, const struct schema_segment *segment)
{
  switch (segment->type) {
  case SCHEMA_TEXT: ob_compose_text(p->c, segment->text); break;
  case SCHEMA_MENTION: return mention(p, segment);
  case SCHEMA_MARKDOWN: ob_compose_block(p->c, ob_markdown_text(segment->text, p->arena)); break;
  case SCHEMA_KEYBOARD: keyboard(p, segment); break;
  case SCHEMA_IMAGE:
    if (!media(p, segment, image_head, false)) notice(p, SCHEMA_IMAGE);
    break;
  case SCHEMA_AUDIO: audio(p, segment); break;
  case SCHEMA_VIDEO:
    if (!media(p, segment, video_head, true)) notice(p, SCHEMA_VIDEO);
    break;
  case SCHEMA_FILE: file(p, segment); break;
  case SCHEMA_SHARE: share(p, segment); break;
  case SCHEMA_DICE:
  case SCHEMA_RPS: chance(p, segment); break;
  case SCHEMA_TYPE_COUNT: break;
  }
  return SCHEMA_OK;
}

/* ---- the reaction ---- */

/* What the operator lists by himself may be unproven; he may have listed the label and the model
 * have taken the id, so rows are compared. */
static const struct ob_face *reaction_face(const struct ob_plan_settings *settings,
                                           struct span value)
{
  const struct ob_face *face = ob_face_find(value, false);
  const struct ob_face *any = face ? NULL : ob_face_find(value, true);
  for (size_t i = 0; any && i < settings->reaction_list_count; i++)
    if (ob_face_find(settings->reaction_list[i], true) == any) return any;
  return face;
}

void ob_plan_react(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   const struct ob_target *target, struct span message_id, struct span reaction,
                   struct ob_compose *c)
{
  if (reaction.len == 0 || profile->reaction == OB_REACT_NONE || !settings->reactions) return;
  if (target->group_id.len == 0 || !ob_id_read(message_id, NULL) ||
      !ob_profile_has_message(profile, message_id))
    return;
  const struct ob_face *face = reaction_face(settings, reaction);
  if (!face) return;
  const struct span like[] = { SPAN("{\"message_id\":"), message_id, SPAN(",\"emoji_id\":\""),
                               span_of(face->id), SPAN("\"}") };
  const struct span group[] = { SPAN("{\"group_id\":"),
                                target->group_id,
                                SPAN(",\"message_id\":"),
                                message_id,
                                SPAN(",\"code\":\""),
                                span_of(face->id),
                                SPAN("\"}") };
  bool likes = profile->reaction == OB_REACT_EMOJI_LIKE;
  struct span params = likes ? arena_join(c->arena, like, sizeof like / sizeof *like)
                             : arena_join(c->arena, group, sizeof group / sizeof *group);
  ob_compose_step(c, OB_STEP_REACTION,
                  likes ? SPAN("set_msg_emoji_like") : SPAN("set_group_reaction"), params);
}

/* ---- the plan ---- */

struct span ob_plan_head(const struct ob_target *target, struct arena *arena)
{
  bool group = target->group_id.len > 0;
  const struct span parts[] = { group ? SPAN("{\"group_id\":") : SPAN("{\"user_id\":"),
                                group ? target->group_id : target->user_id,
                                SPAN(",\"message\":[") };
  return arena_join(arena, parts, 3);
}

struct span ob_plan_action(const struct ob_target *target)
{
  return target->group_id.len ? SPAN("send_group_msg") : SPAN("send_private_msg");
}

static enum schema_code refuse(struct schema_error *reterr, enum schema_code code, size_t message,
                               size_t segment)
{
  char path[SCHEMA_PATH_MAX];
  snprintf(path, sizeof path, "$.messages[%zu].segments[%zu].data.target", message, segment);
  return schema_fail(reterr, code, 0, path, schema_code_text(code));
}

enum schema_code ob_plan_messages(const struct ob_profile *profile,
                                  const struct ob_plan_settings *settings,
                                  const struct ob_target *target, const struct schema_reply *reply,
                                  bool join, struct ob_compose *c, struct schema_error *reterr)
{
  struct planner p = { profile, settings, target, c, c->arena };
  for (size_t m = 0; m < reply->count; m++) {
    const struct schema_message *message = &reply->messages[m];
    struct span quote = { NULL, 0 };
    if (message->reply_to.len && ob_profile_has_message(profile, message->reply_to))
      quote = ob_compose_quote(message->reply_to, c->arena);
    if (m > 0 || !join) ob_compose_message(c, m, quote);
    for (size_t s = 0; s < message->count; s++) {
      enum schema_code code = plan_segment(&p, &message->segments[s]);
      if (code != SCHEMA_OK) return refuse(reterr, code, m, s);
    }
  }
  return SCHEMA_OK;
}

enum schema_code ob_plan_make(const struct ob_profile *profile, const struct ob_target *target,
                              struct span message_id, const struct ob_plan_settings *settings,
                              const struct schema_reply *reply, struct arena *arena,
                              struct ob_plan *ret, struct schema_error *reterr)
{
  bool group = target->group_id.len > 0;
  if (group == (target->user_id.len > 0) ||
      !ob_profile_has_target(profile, group ? target->group_id : target->user_id))
    return schema_fail(reterr, SCHEMA_ETARGET, 0, "$.target",
                       "wanted: exactly one of group_id and user_id, a positive decimal number");
  struct ob_compose c;
  ob_compose_init(&c, ob_plan_action(target), ob_plan_head(target, arena), SPAN("]}"), arena);
  ob_plan_react(profile, settings, target, message_id, reply->reaction, &c);
  enum schema_code code = ob_plan_messages(profile, settings, target, reply, false, &c, reterr);
  struct ob_plan plan = { NULL, 0 };
  if (code == SCHEMA_OK && !ob_compose_end(&c, &plan))
    code = schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, "the plan needs more memory");
  if (code == SCHEMA_OK) *ret = plan;
  ob_compose_done(&c);
  return code;
}

/* ---- the offer ---- */

/* Which wire type makes a canonical one worth offering; the rest has a text form or is text. */
static uint32_t offered_types(const struct ob_profile *p, uint32_t segments)
{
  uint32_t types = segments | 1u << SCHEMA_TEXT;
  if (!p->mention_person) types &= ~(1u << SCHEMA_MENTION);
  if (p->file == OB_FILE_NONE) types &= ~(1u << SCHEMA_FILE);
  if (!ob_profile_shows(p, OB_DICE)) types &= ~(1u << SCHEMA_DICE);
  if (!ob_profile_shows(p, OB_RPS)) types &= ~(1u << SCHEMA_RPS);
  return types;
}

static const struct span share_fields[] = {
#define FIELD(name)                                                                                \
  {                                                                                                \
    name, sizeof name - 1                                                                          \
  }
  FIELD("description"),
  FIELD("image"),
  FIELD("audio"),
  FIELD("platform"),
#undef FIELD
};

/* How many of share_fields this implementation can show. The settings do not count: what they leave
 * out is passed over by the plan, and a model that was told of a field before `card` was changed
 * must not be refused for it. */
static size_t share_field_count(const struct ob_profile *p)
{
  if (p->music != OB_MUSIC_NONE) return 4;
  if (!ob_profile_shows(p, OB_SHARE)) return 1;
  return p->share_swaps ? 0 : 2;
}

/* "on this platform: …" of the instruction (reply.md 48). */
static struct span share_hint(const struct ob_plan_settings *settings, bool platform,
                              struct arena *arena)
{
  bool english = settings->language == SCHEMA_EN;
  struct buf hint;
  buf_init(&hint, 512);
  buf_add(&hint, english
                     ? SPAN("shown as a QQ link card. For a song, audio is the playable "
                            "address and image its cover")
                     : SPAN("显示为 QQ 链接卡片。分享歌曲时 audio 填可播放的地址，image 填封面"));
  const char *before = english ? ", platform one of " : "，platform 填其中之一：";
  for (int i = 0; platform && i < OB_PLATFORM_COUNT; i++) {
    if (!(settings->share_platforms >> i & 1u)) continue;
    buf_add(&hint, span_of(before));
    buf_add(&hint, span_of(ob_apps[i].name));
    before = " / ";
  }
  struct span copy = arena_copy(arena, buf_span(&hint));
  buf_done(&hint);
  return copy;
}

static void offer_share(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                        struct arena *arena, struct schema_offer *ret)
{
  ret->share_fields = share_fields;
  ret->share_field_count = share_field_count(profile);
  struct schema_hint *hint = ret->share_field_count > 2 ? arena_alloc(arena, sizeof *hint) : NULL;
  if (!hint) return;
  *hint = (struct schema_hint) { SCHEMA_SHARE,
                                 share_hint(settings, ret->share_field_count > 3, arena) };
  ret->hints = hint;
  ret->hint_count = 1;
}

static bool has_value(const struct schema_reaction *list, size_t count, struct span value)
{
  for (size_t i = 0; i < count; i++)
    if (span_eq(list[i].value, value)) return true;
  return false;
}

enum {
  REACTIONS_MAX = 128
}; /* more would drown the instruction; a configured list beyond is cut */

static void offer_reactions(const struct ob_plan_settings *settings, struct arena *arena,
                            struct schema_offer *ret)
{
  bool listed = settings->reaction_list_count > 0;
  size_t wanted = listed ? settings->reaction_list_count : ob_face_handy_count;
  if (wanted > REACTIONS_MAX) wanted = REACTIONS_MAX;
  struct schema_reaction *list = arena_alloc(arena, wanted * sizeof *list);
  size_t count = 0;
  for (size_t i = 0; list && i < wanted; i++) {
    struct span value = listed ? settings->reaction_list[i] : span_of(ob_faces_handy[i]);
    const struct ob_face *face = ob_face_find(value, listed);
    if (!face || has_value(list, count, span_of(face->id))) continue;
    list[count++] = (struct schema_reaction) { span_of(face->id), span_of(face->name) };
  }
  ret->reactions = list;
  ret->reaction_count = count;
  ret->offers_reaction = count > 0;
}

void ob_plan_offer(const struct ob_profile *profile, const struct ob_plan_settings *settings,
                   uint32_t segments, bool reactions_apply, struct arena *arena,
                   struct schema_offer *ret)
{
  *ret = (struct schema_offer) { .types = offered_types(profile, segments),
                                 .language = settings->language };
  if (schema_offers(ret, SCHEMA_SHARE)) offer_share(profile, settings, arena, ret);
  if (reactions_apply && settings->reactions && profile->reaction != OB_REACT_NONE)
    offer_reactions(settings, arena, ret);
}
