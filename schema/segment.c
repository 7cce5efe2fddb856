#include "schema/segment.h"

/* In the order in which the model is told of them. */
const struct schema_segment_type schema_segment_types[SCHEMA_TYPE_COUNT] = {
  [SCHEMA_TEXT] = { "text", SCHEMA_SHAPE_STRING, "text", "plain words", "普通文字" },
  [SCHEMA_MENTION] = { "mention", SCHEMA_SHAPE_STRING, "target",
                       "mentions a person; target is that person's platform user ID",
                       "提到某人；target 是对方的平台用户 ID" },
  [SCHEMA_MARKDOWN] = { "markdown", SCHEMA_SHAPE_STRING, "content",
                        "formatted text; the Markdown goes into content",
                        "带格式的文字；Markdown 写在 content 里" },
  [SCHEMA_IMAGE] = { "image", SCHEMA_SHAPE_MEDIA, NULL, "a picture", "图片" },
  [SCHEMA_AUDIO] = { "audio", SCHEMA_SHAPE_MEDIA, NULL, "a voice message", "语音" },
  [SCHEMA_VIDEO] = { "video", SCHEMA_SHAPE_MEDIA, NULL, "a video", "视频" },
  [SCHEMA_FILE] = { "file", SCHEMA_SHAPE_MEDIA, NULL, "a file to download", "文件" },
  [SCHEMA_KEYBOARD] = { "keyboard", SCHEMA_SHAPE_KEYBOARD, NULL,
                        "quick-reply buttons, at most 5 in a row; a tap sends payload as the "
                        "user's next message",
                        "快捷回复按钮，每行最多 5 个；点一下就把 payload "
                        "作为用户的下一条消息发出" },
  [SCHEMA_SHARE] = { "share", SCHEMA_SHAPE_SHARE, NULL, "a link card", "链接卡片" },
  [SCHEMA_DICE] = { "dice", SCHEMA_SHAPE_EMPTY, NULL, "rolls a die; data is {}",
                    "掷骰子；data 为 {}" },
  [SCHEMA_RPS] = { "rps", SCHEMA_SHAPE_EMPTY, NULL, "plays rock, paper, scissors; data is {}",
                   "猜拳；data 为 {}" },
};

const char *const schema_media_kinds[SCHEMA_MEDIA_KIND_COUNT] = {
  [SCHEMA_MEDIA_URL] = "url",
  [SCHEMA_MEDIA_PATH] = "path",
  [SCHEMA_MEDIA_BASE64] = "base64",
  [SCHEMA_MEDIA_FILE] = "file",
};

enum schema_type schema_type_find(struct span name)
{
  if (name.len == 0) return SCHEMA_TYPE_COUNT;
  for (unsigned i = 0; i < SCHEMA_TYPE_COUNT; i++) {
    const char *known = schema_segment_types[i].name;
    if (*known == *name.ptr && span_is(name, known)) return (enum schema_type)i;
  }
  return SCHEMA_TYPE_COUNT;
}

struct span schema_share_field(const struct schema_segment *share, const char *name)
{
  for (size_t i = 0; i < share->share.count; i++)
    if (span_is(share->share.fields[i].name, name)) return share->share.fields[i].value;
  return (struct span) { NULL, 0 };
}
