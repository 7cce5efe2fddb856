#include "onebot/profile.h"

#include "onebot/card.h"
#include "onebot/id.h"
#include "schema/markup.h"

#define BIT(type) (1u << OB_##type)
/* shown by every implementation that was read */
#define USUAL                                                                                      \
  (BIT(TEXT) | BIT(AT) | BIT(FACE) | BIT(REPLY) | BIT(IMAGE) | BIT(RECORD) | BIT(VIDEO) | BIT(JSON))
#define ALL_PLATFORMS ((1u << OB_PLATFORM_COUNT) - 1)
#define CHANCE (BIT(DICE) | BIT(RPS))

const struct ob_profile ob_profiles[OB_PROFILE_COUNT] = {
  [OB_NAPCAT] = {
    .id = OB_NAPCAT,
    .name = "napcat",
    .app_name = "NapCat",
    .shows = USUAL | CHANCE | BIT(MFACE) | BIT(FILE) | BIT(MUSIC) | BIT(CONTACT) | BIT(FORWARD) |
             BIT(NODE),
    .conditional = BIT(FACE) | BIT(REPLY) | BIT(MUSIC) | BIT(JSON) | BIT(NODE),
    .note = "face: only ids of its own list; reply: only messages it remembers (5,000, until a "
            "restart); music: a sign service, url and image; json: signed; node: only alone",
    .reaction = OB_REACT_EMOJI_LIKE,
    .reaction_result = true,
    .music = OB_MUSIC_PLATFORM,
    .music_needs = OB_NEEDS_IMAGE,
    .music_ids = ALL_PLATFORMS,
    .file = OB_FILE_SEGMENT,
    .mention_person = true,
    .opaque_media = true,
    .base64_video = true,
    .reply_seq = true,
    .forward = true,
    .node_message = true,
    .uploads = true,
    .frame_max = 50 * 1024 * 1024,
    .group_history = true,
    .friend_history = true,
  },
  [OB_LLBOT] = {
    .id = OB_LLBOT,
    .name = "llbot",
    .app_name = "LLOneBot",
    .shows = USUAL | CHANCE | BIT(MFACE) | BIT(FILE) | BIT(MUSIC) | BIT(SHAKE) | BIT(CONTACT) |
             BIT(FORWARD),
    .conditional = BIT(AT) | BIT(REPLY) | BIT(MUSIC) | BIT(JSON),
    .note = "at all: only as an admin with quota left; reply: an unknown message is skipped; "
            "music: a sign service must be set; json: signed",
    .reaction = OB_REACT_EMOJI_LIKE,
    .music = OB_MUSIC_PLATFORM,
    .music_needs = OB_NEEDS_TITLE,
    .music_ids = ALL_PLATFORMS,
    .file = OB_FILE_SEGMENT,
    .mention_person = true,
    .opaque_media = true,
    .base64_video = true,
    .forward = true,
    .group_history = true,
    .friend_history = true,
  },
  [OB_LAGRANGE] = {
    .id = OB_LAGRANGE,
    .name = "lagrange",
    .app_name = "Lagrange",
    .shows = USUAL | CHANCE | BIT(MFACE) | BIT(MUSIC) | BIT(XML) | BIT(POKE) | BIT(LOCATION) |
             BIT(FORWARD),
    .conditional = BIT(REPLY) | BIT(RECORD) | BIT(MUSIC) | BIT(JSON),
    .note = "reply: an unknown message fails the whole call; record: wav, ogg, mp3, amr, silk; "
            "music: a sign service must be set; json: signed",
    .reaction = OB_REACT_GROUP_REACTION,
    .music = OB_MUSIC_PLATFORM,
    .music_ids = ALL_PLATFORMS,
    .file = OB_FILE_UPLOAD,
    .mention_person = true,
    .base64_video = true,
    .id_uint32 = true,
    .message_id_int32 = true,
    .forward = true,
    .forward_only_uploads = true,
    .node_needs_user = true,
    .group_history = true, /* that of a friend has the newest message in every place */
  },
  [OB_GOCQ] = {
    .id = OB_GOCQ,
    .name = "go-cqhttp",
    .app_name = "go-cqhttp",
    .shows = USUAL | CHANCE | BIT(MUSIC) | BIT(SHARE) | BIT(XML) | BIT(POKE) | BIT(FORWARD) |
             BIT(TTS) | BIT(CARDIMAGE),
    .conditional = BIT(AT) | BIT(REPLY) | BIT(VIDEO) | BIT(XML),
    .note = "at all: plain text where it is no admin; reply: an unknown message comes out as text; "
            "video: at most 100 MB, no base64; xml: often stopped by risk control",
    .music = OB_MUSIC_GOCQ,
    .music_ids = 1u << OB_QQ | 1u << OB_NETEASE,
    .file = OB_FILE_UPLOAD,
    .mention_person = true,
    .opaque_media = true,
    .forward = true,
    .group_history = true,
  },
  [OB_ONEBOTS] = {
    .id = OB_ONEBOTS,
    .name = "onebots",
    .app_name = "onebots",
    .shows = USUAL | BIT(SHARE) | BIT(XML),
    .conditional = BIT(AT) | BIT(SHARE),
    .note = "at: only all, a person would be an alias that hits another one; share: url and title, "
            "content and image arrive swapped",
    .share_swaps = true,
    .opaque_media = true,
    .base64_video = true,
    .message_id_any = true,
  },
  [OB_SPEC] = {
    .id = OB_SPEC,
    .name = "spec",
    .app_name = NULL,
    .shows = USUAL | CHANCE | BIT(MUSIC) | BIT(SHARE) | BIT(XML),
    .note = "an implementation that is not known: what OneBot 11 itself has",
    .music = OB_MUSIC_CUSTOM,
    .music_needs = OB_NEEDS_TITLE | OB_NEEDS_AUDIO,
    .music_ids = 1u << OB_QQ | 1u << OB_NETEASE | OB_MUSIC_XM,
    .mention_person = true,
    .opaque_media = true,
    .base64_video = true,
  },
};

const struct ob_profile *ob_profile_find(struct span name)
{
  for (size_t i = 0; i < OB_PROFILE_COUNT; i++)
    if (span_is(name, ob_profiles[i].name)) return &ob_profiles[i];
  return NULL;
}

const struct ob_profile *ob_profile_detect(struct span app_name)
{
  for (size_t i = 0; i < OB_PROFILE_COUNT; i++) {
    struct span prefix = span_of(ob_profiles[i].app_name);
    if (!prefix.ptr || app_name.len < prefix.len) continue;
    if (span_eq_nocase((struct span) { app_name.ptr, prefix.len }, prefix)) return &ob_profiles[i];
  }
  return &ob_profiles[OB_SPEC];
}

/* The ids that are no numbers: icqq's are base64, those of guilds digits or letters with joints. Words
 * that were put where an id belongs are none. */
static bool is_id_text(struct span s)
{
  enum { MAX = 128 }; /* several times the longest seen, 28 characters */
  static const char joints[] = "+/=-.:";
  for (size_t i = 0; i < s.len; i++)
    if (!schema_is_word(s.ptr[i]) && !memchr(joints, s.ptr[i], sizeof joints - 1)) return false;
  return s.len > 0 && s.len <= MAX;
}

bool ob_profile_has_message(const struct ob_profile *p, struct span message_id)
{
  int64_t id;
  if (!ob_id_read(message_id, &id)) return p->message_id_any && is_id_text(message_id);
  return id != 0 && (!p->message_id_int32 || (id >= INT32_MIN && id <= INT32_MAX));
}

bool ob_profile_has_target(const struct ob_profile *p, struct span id)
{
  return ob_id_positive(id, p->id_uint32 ? UINT32_MAX : INT64_MAX);
}

/* ---- overrides ---- */

enum fact_kind { FACT_FLAG, FACT_SEGMENT, FACT_WORD, FACT_SIZE };

static const char *const music_words[] = { "no", "platform", "custom", "gocq", NULL };
static const char *const file_words[] = { "no", "segment", "upload", NULL };
static const char *const reaction_words[] = { "no", "emoji_like", "group_reaction", NULL };

#define YES_NO "yes or no"
#define FLAG(member) FACT_FLAG, offsetof(struct ob_profile, member), OB_NATIVE_COUNT, NULL
#define SEGMENT(type) FACT_SEGMENT, 0, OB_##type, NULL
/* a word of a list; the segment type is shown unless it is the first */
#define WORD(member, type, words) FACT_WORD, offsetof(struct ob_profile, member), type, words

/* A row: name, what is allowed, what it means, and how it is set. */
#define FACTS(X)                                                                                   \
  X("reactions", "no, emoji_like or group_reaction", "the action that puts a reaction",            \
    WORD(reaction, OB_NATIVE_COUNT, reaction_words))                                               \
  X("music", "no, platform, custom or gocq", "the form of music cards; no: shares become text",    \
    WORD(music, OB_MUSIC, music_words))                                                            \
  X("file", "no, segment or upload", "how files go", WORD(file, OB_FILE, file_words))              \
  X("share", YES_NO, "link cards are shown", SEGMENT(SHARE))                                       \
  X("share_swaps", YES_NO, "content and image of a link card arrive swapped", FLAG(share_swaps))   \
  X("json", YES_NO, "json cards are shown", SEGMENT(JSON))                                         \
  X("dice", YES_NO, "dice are shown", SEGMENT(DICE))                                               \
  X("rps", YES_NO, "rock-paper-scissors is shown", SEGMENT(RPS))                                   \
  X("mention", YES_NO, "a person can be mentioned by an id of its events", FLAG(mention_person))   \
  X("opaque_media", YES_NO, "takes back media references of its own", FLAG(opaque_media))          \
  X("base64_video", YES_NO, "takes a video as base64", FLAG(base64_video))                         \
  X("ids_32_bit", YES_NO, "group and user ids end at 32 bits", FLAG(id_uint32))                    \
  X("message_ids_32_bit", YES_NO, "message ids are 32 bits with a sign", FLAG(message_id_int32))   \
  X("message_ids_text", YES_NO, "message ids need not be numbers", FLAG(message_id_any))           \
  X("forward", YES_NO, "can send merged forwards", FLAG(forward))                                  \
  X("frame_max", "a number of bytes, 0 for unknown", "the largest frame it takes", FACT_SIZE,      \
    offsetof(struct ob_profile, frame_max), OB_NATIVE_COUNT, NULL)

const struct ob_fact ob_facts[] = {
#define X(name, values, help, ...) { name, values, help },
  FACTS(X)
#undef X
      { NULL, NULL, NULL },
};

static const struct setter {
  enum fact_kind kind;
  size_t offset;
  enum ob_native type;
  const char *const *words;
} setters[] = {
#define X(name, values, help, ...) { __VA_ARGS__ },
  FACTS(X)
#undef X
};

static const char every_fact[] = "no such fact; the facts are"
#define X(name, ...) " " name
    FACTS(X)
#undef X
    ;

static bool read_flag(struct span value, bool *ret)
{
  *ret = span_is(value, "yes") || span_is(value, "true");
  return *ret || span_is(value, "no") || span_is(value, "false");
}

static void show(struct ob_profile *p, enum ob_native type, bool shown)
{
  if (type == OB_NATIVE_COUNT) return;
  p->shows = shown ? p->shows | 1u << type : p->shows & ~(1u << type);
}

static bool set_word(struct ob_profile *p, const struct setter *s, struct span value)
{
  if (span_is(value, "false")) value = SPAN("no"); /* YAML's own word for it */
  for (size_t i = 0; s->words[i]; i++) {
    if (!span_is(value, s->words[i])) continue;
    *(unsigned *)((char *)p + s->offset) = (unsigned)i; /* enums without negatives are unsigned */
    show(p, s->type, i > 0);
    return true;
  }
  return false;
}

static bool set(struct ob_profile *p, const struct setter *s, struct span value)
{
  bool flag;
  int64_t size;
  switch (s->kind) {
  case FACT_FLAG:
    if (!read_flag(value, &flag)) return false;
    *(bool *)((char *)p + s->offset) = flag;
    return true;
  case FACT_SEGMENT:
    if (!read_flag(value, &flag)) return false;
    show(p, s->type, flag);
    return true;
  case FACT_WORD: return set_word(p, s, value);
  case FACT_SIZE:
    if (!ob_id_read(value, &size) || size < 0) return false;
    *(size_t *)((char *)p + s->offset) = (size_t)size;
    return true;
  }
  return false;
}

enum schema_code ob_profile_override(struct ob_profile *p, struct span name, struct span value,
                                     struct schema_error *reterr)
{
  for (size_t i = 0; ob_facts[i].name; i++) {
    if (!span_is(name, ob_facts[i].name)) continue;
    if (set(p, &setters[i], value)) return SCHEMA_OK;
    return schema_fail(reterr, SCHEMA_ECONFIG, 0, ob_facts[i].name, ob_facts[i].values);
  }
  return schema_fail(reterr, SCHEMA_ECONFIG, 0, NULL, every_fact);
}
