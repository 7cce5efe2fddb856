#include "schema/segment.h"

#include "schema/scan.h"

#define HEAD(name, s) "{\"type\":" s "\"" name "\"," s "\"data\":" s "{"
#define FIELD_HEAD(name, field, s) HEAD(name, s) "\"" field "\":" s
#define HEADS(close, spaced)                                                                       \
  { close, spaced },                                                                               \
  {                                                                                                \
    sizeof(close) - 1, sizeof(spaced) - 1                                                          \
  }
#define TYPE(name, shape, field, en, zh)                                                           \
  {                                                                                                \
    name, SCHEMA_SHAPE_##shape, field, en, zh, sizeof(name) - 1, sizeof(field) - 1,                \
        HEADS(FIELD_HEAD(name, field, ""), FIELD_HEAD(name, field, " "))                           \
  }
#define NO_FIELD(name, shape, en, zh)                                                              \
  {                                                                                                \
    name, SCHEMA_SHAPE_##shape, NULL, en, zh, sizeof(name) - 1, 0,                                 \
        HEADS(HEAD(name, ""), HEAD(name, " "))                                                     \
  }

/* In the order in which the model is told of them. */
const struct schema_segment_type schema_segment_types[SCHEMA_TYPE_COUNT] = {
  [SCHEMA_TEXT] = TYPE("text", STRING, "text", "plain words", "普通文字"),
  [SCHEMA_MENTION] = TYPE("mention", STRING, "target",
                          "mentions a person; target is that person's platform user ID",
                          "提到某人；target 是对方的平台用户 ID"),
  [SCHEMA_MARKDOWN] =
      TYPE("markdown", STRING, "content", "formatted text; the Markdown goes into content",
           "带格式的文字；Markdown 写在 content 里"),
  [SCHEMA_IMAGE] = NO_FIELD("image", MEDIA, "a picture", "图片"),
  [SCHEMA_AUDIO] = NO_FIELD("audio", MEDIA, "a voice message", "语音"),
  [SCHEMA_VIDEO] = NO_FIELD("video", MEDIA, "a video", "视频"),
  [SCHEMA_FILE] = NO_FIELD("file", MEDIA, "a file to download", "文件"),
  [SCHEMA_KEYBOARD] =
      NO_FIELD("keyboard", KEYBOARD,
               "quick-reply buttons, at most 5 in a row; a tap sends payload as the "
               "user's next message",
               "快捷回复按钮，每行最多 5 个；点一下就把 payload "
               "作为用户的下一条消息发出"),
  [SCHEMA_SHARE] = NO_FIELD("share", SHARE, "a link card", "链接卡片"),
  [SCHEMA_DICE] = NO_FIELD("dice", EMPTY, "rolls a die; data is {}", "掷骰子；data 为 {}"),
  [SCHEMA_RPS] =
      NO_FIELD("rps", EMPTY, "plays rock, paper, scissors; data is {}", "猜拳；data 为 {}"),
};

const char *const schema_media_kinds[SCHEMA_MEDIA_KIND_COUNT] = {
  [SCHEMA_MEDIA_URL] = "url",
  [SCHEMA_MEDIA_PATH] = "path",
  [SCHEMA_MEDIA_BASE64] = "base64",
  [SCHEMA_MEDIA_FILE] = "file",
};

/* The first two bytes of a name are enough to guess the type, which leaves one comparison: the type
 * of each segment is looked up, and a row of comparisons is mispredicted. */
enum { GUESSES = 32 };
#define GUESS(first, second) (((first)*3 + (second)*10) % GUESSES)

static const unsigned char guesses[GUESSES] = {
  [GUESS('t', 'e')] = SCHEMA_TEXT,     [GUESS('m', 'e')] = SCHEMA_MENTION,
  [GUESS('m', 'a')] = SCHEMA_MARKDOWN, [GUESS('i', 'm')] = SCHEMA_IMAGE,
  [GUESS('a', 'u')] = SCHEMA_AUDIO,    [GUESS('v', 'i')] = SCHEMA_VIDEO,
  [GUESS('f', 'i')] = SCHEMA_FILE,     [GUESS('k', 'e')] = SCHEMA_KEYBOARD,
  [GUESS('s', 'h')] = SCHEMA_SHARE,    [GUESS('d', 'i')] = SCHEMA_DICE,
  [GUESS('r', 'p')] = SCHEMA_RPS,
};

enum schema_type schema_type_find(struct span name)
{
  if (name.len < 2) return SCHEMA_TYPE_COUNT;
  unsigned type = guesses[GUESS((unsigned char)name.ptr[0], (unsigned char)name.ptr[1])];
  const struct schema_segment_type *row = &schema_segment_types[type];
  bool same = name.len == row->name_len && scan_same(name.ptr, row->name, name.len);
  return same ? (enum schema_type)type : SCHEMA_TYPE_COUNT;
}

enum schema_type schema_type_quoted(const char *p, const char *end)
{
  if (end - p < 2) return SCHEMA_TYPE_COUNT;
  unsigned type = guesses[GUESS((unsigned char)p[0], (unsigned char)p[1])];
  const struct schema_segment_type *row = &schema_segment_types[type];
  bool same = (size_t)(end - p) > row->name_len && p[row->name_len] == '"' &&
              scan_same(p, row->name, row->name_len);
  return same ? (enum schema_type)type : SCHEMA_TYPE_COUNT;
}

/* Whether the first n of SCHEMA_HEAD_MAX bytes are the same. All are compared at once: a branch on
 * each would be mispredicted. */
static bool begins_alike(const char *p, const char *head, size_t n)
{
  enum { WORDS = SCHEMA_HEAD_MAX / sizeof(uint64_t) };
  static const uint64_t masks[2 * WORDS] = { UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                             UINT64_MAX, UINT64_MAX, UINT64_MAX };
  uint64_t a[WORDS], b[WORDS], mask[WORDS], differ = 0;
  memcpy(a, p, sizeof a);
  memcpy(b, head, sizeof b);
  memcpy(mask, (const char *)masks + SCHEMA_HEAD_MAX - n, sizeof mask);
  for (size_t i = 0; i < WORDS; i++) differ |= (a[i] ^ b[i]) & mask[i];
  return differ == 0;
}

enum schema_type schema_type_headed(const char *p, const char *end, size_t *retlen)
{
  enum { BEFORE_NAME = sizeof "{\"type\":\"" - 1 };
  if (end - p < SCHEMA_HEAD_MAX) return SCHEMA_TYPE_COUNT;
  size_t spaced = p[BEFORE_NAME - 1] == ' ';
  const unsigned char *name = (const unsigned char *)p + BEFORE_NAME + spaced;
  unsigned type = guesses[GUESS(name[0], name[1])];
  const struct schema_segment_type *row = &schema_segment_types[type];
  *retlen = row->head_lens[spaced];
  return begins_alike(p, row->heads[spaced], *retlen) ? (enum schema_type)type : SCHEMA_TYPE_COUNT;
}

enum schema_media_kind schema_media_kind_find(struct span name)
{
  unsigned kind = 0;
  while (kind < SCHEMA_MEDIA_KIND_COUNT && !span_is(name, schema_media_kinds[kind])) kind++;
  return (enum schema_media_kind)kind;
}

struct span schema_share_field(const struct schema_segment *share, const char *name)
{
  for (size_t i = 0; i < share->share.count; i++)
    if (span_is(share->share.fields[i].name, name)) return share->share.fields[i].value;
  return (struct span) { NULL, 0 };
}
