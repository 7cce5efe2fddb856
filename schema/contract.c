#include "schema/contract.h"

#include "schema/directive.h"
#include "schema/print.h"

/* ---- the JSON Schema ---- */

static void write_type(struct schema_writer *w, const char *type)
{
  schema_write_pair(w, "type", span_of(type));
}

/* A closed object up to its properties, which follow as key and schema. */
static void begin_object(struct schema_writer *w)
{
  schema_write_object(w);
  write_type(w, "object");
  schema_write_key(w, SPAN("properties"));
  schema_write_object(w);
}

/* Behind the properties: all of them are required. */
static void begin_required(struct schema_writer *w)
{
  schema_write_object_end(w);
  schema_write_key(w, SPAN("required"));
  schema_write_array(w);
}

static void end_object(struct schema_writer *w)
{
  schema_write_array_end(w);
  schema_write_key(w, SPAN("additionalProperties"));
  schema_write_bool(w, false);
  schema_write_object_end(w);
}

static void write_string_schema(struct schema_writer *w)
{
  schema_write_object(w);
  write_type(w, "string");
  schema_write_object_end(w);
}

/* An array up to the schema of its items, which follows. */
static void begin_array(struct schema_writer *w)
{
  schema_write_object(w);
  write_type(w, "array");
  schema_write_key(w, SPAN("items"));
}

static void write_strings_object(struct schema_writer *w, const struct span *names, size_t count)
{
  begin_object(w);
  for (size_t i = 0; i < count; i++) {
    schema_write_key(w, names[i]);
    write_string_schema(w);
  }
  begin_required(w);
  for (size_t i = 0; i < count; i++) schema_write_string(w, names[i]);
  end_object(w);
}

static void write_media_schema(struct schema_writer *w)
{
  begin_object(w);
  schema_write_key(w, SPAN("media"));
  begin_object(w);
  schema_write_key(w, SPAN("kind"));
  schema_write_object(w);
  write_type(w, "string");
  schema_write_key(w, SPAN("enum"));
  schema_write_array(w);
  for (int i = 0; i < SCHEMA_MEDIA_KIND_COUNT; i++)
    schema_write_string(w, span_of(schema_media_kinds[i]));
  schema_write_array_end(w);
  schema_write_object_end(w);
  schema_write_key(w, SPAN("value"));
  write_string_schema(w);
  begin_required(w);
  schema_write_string(w, SPAN("kind"));
  schema_write_string(w, SPAN("value"));
  end_object(w);
  begin_required(w);
  schema_write_string(w, SPAN("media"));
  end_object(w);
}

static void write_keyboard_schema(struct schema_writer *w)
{
  static const struct span button[] = { { "label", 5 }, { "payload", 7 } };
  begin_object(w);
  schema_write_key(w, SPAN("rows"));
  begin_array(w);
  begin_array(w);
  write_strings_object(w, button, 2);
  schema_write_key(w, SPAN("maxItems")); /* what the schema allows must pass (reply.md 29, 39) */
  schema_write_int(w, SCHEMA_KEYBOARD_ROW_MAX);
  schema_write_object_end(w);
  schema_write_object_end(w);
  begin_required(w);
  schema_write_string(w, SPAN("rows"));
  end_object(w);
}

static void write_share_schema(struct schema_writer *w, const struct schema_offer *offer)
{
  begin_object(w);
  schema_write_key(w, SPAN("url"));
  write_string_schema(w);
  schema_write_key(w, SPAN("title"));
  write_string_schema(w);
  for (size_t i = 0; i < offer->share_field_count; i++) {
    if (!schema_share_field_counts(offer, i)) continue;
    schema_write_key(w, offer->share_fields[i]);
    write_string_schema(w);
  }
  begin_required(w);
  schema_write_string(w, SPAN("url"));
  schema_write_string(w, SPAN("title"));
  for (size_t i = 0; i < offer->share_field_count; i++)
    if (schema_share_field_counts(offer, i)) schema_write_string(w, offer->share_fields[i]);
  end_object(w);
}

static void write_data_schema(struct schema_writer *w, const struct schema_offer *offer,
                              const struct schema_segment_type *type)
{
  struct span field = span_of(type->field);
  switch (type->shape) {
  case SCHEMA_SHAPE_STRING: write_strings_object(w, &field, 1); break;
  case SCHEMA_SHAPE_MEDIA: write_media_schema(w); break;
  case SCHEMA_SHAPE_KEYBOARD: write_keyboard_schema(w); break;
  case SCHEMA_SHAPE_SHARE: write_share_schema(w, offer); break;
  case SCHEMA_SHAPE_EMPTY: write_strings_object(w, NULL, 0); break;
  }
}

static void write_segment_schema(struct schema_writer *w, const struct schema_offer *offer,
                                 const struct schema_segment_type *type)
{
  begin_object(w);
  schema_write_key(w, SPAN("type"));
  schema_write_object(w);
  write_type(w, "string");
  schema_write_pair(w, "const", span_of(type->name));
  schema_write_object_end(w);
  schema_write_key(w, SPAN("data"));
  write_data_schema(w, offer, type);
  begin_required(w);
  schema_write_string(w, SPAN("type"));
  schema_write_string(w, SPAN("data"));
  end_object(w);
}

/* Values that come twice are written once: the members of an enum are distinct. */
static bool is_first(const struct schema_offer *offer, size_t i)
{
  if (offer->reactions[i].value.len == 0) return false; /* "" stands before all */
  for (size_t k = 0; k < i; k++)
    if (span_eq(offer->reactions[k].value, offer->reactions[i].value)) return false;
  return true;
}

static void write_reaction_schema(struct schema_writer *w, const struct schema_offer *offer)
{
  schema_write_object(w);
  write_type(w, "string");
  schema_write_key(w, SPAN("enum"));
  schema_write_array(w);
  schema_write_string(w, SPAN(""));
  for (size_t i = 0; i < offer->reaction_count; i++)
    if (is_first(offer, i)) schema_write_string(w, offer->reactions[i].value);
  schema_write_array_end(w);
  schema_write_object_end(w);
}

static void write_message_schema(struct schema_writer *w, const struct schema_offer *offer)
{
  begin_object(w);
  schema_write_key(w, SPAN("segments"));
  begin_array(w);
  schema_write_object(w);
  schema_write_key(w, SPAN("anyOf"));
  schema_write_array(w);
  for (unsigned i = 0; i < SCHEMA_TYPE_COUNT; i++)
    if (schema_offers(offer, (enum schema_type)i))
      write_segment_schema(w, offer, &schema_segment_types[i]);
  schema_write_array_end(w);
  schema_write_object_end(w);
  schema_write_object_end(w);
  begin_required(w);
  schema_write_string(w, SPAN("segments"));
  end_object(w);
}

bool schema_contract_schema(const struct schema_offer *offer, struct buf *out)
{
  struct schema_writer w = { .out = out };
  begin_object(&w);
  schema_write_key(&w, SPAN("messages"));
  begin_array(&w);
  write_message_schema(&w, offer);
  schema_write_object_end(&w);
  if (offer->offers_reaction) {
    schema_write_key(&w, SPAN("reaction"));
    write_reaction_schema(&w, offer);
  }
  begin_required(&w);
  schema_write_string(&w, SPAN("messages"));
  if (offer->offers_reaction) schema_write_string(&w, SPAN("reaction"));
  end_object(&w);
  return !out->failed;
}

/* ---- the instruction ---- */

enum {
  ALWAYS = 0,
  MEDIA = 1u << SCHEMA_IMAGE | 1u << SCHEMA_AUDIO | 1u << SCHEMA_VIDEO | 1u << SCHEMA_FILE,
};

struct line {
  uint32_t types; /* said where one of these is offered; ALWAYS: everywhere */
  const char *zh, *en;
};

static const struct line opening = {
  ALWAYS,
  "每个最终回答都是且只是一个 JSON 对象，只说一句话时也一样；前后不写任何别的内容，也不加代码围栏。"
  "例如：",
  "Every final answer is exactly one JSON object, also when it is a single sentence; nothing "
  "stands before or after it, and no code fence. For example:",
};

static const struct line rules[] = {
  { ALWAYS,
    "messages 的每一项是一条聊天消息，按顺序发出；segments 里的段按写下的顺序组成这条消息。",
    "Each item of messages is one chat message, sent in order; its segments make up that message "
    "in the order written." },
  { ALWAYS, "通常只要一条消息；只有像真人那样先简短回应、再说正事时，才拆成两三条。",
    "Usually one message; two or three only where a person would say something short before the "
    "answer." },
  { 1u << SCHEMA_MARKDOWN, "标题、列表、代码块等排版用 markdown 段，内容写在 data.content 里。",
    "Headings, lists, code blocks and the like go into a markdown segment, in data.content." },
  { MEDIA, "附件用单独的段，不要用 Markdown 的图片语法代替。",
    "An attachment is a segment of its own; Markdown image syntax does not send one." },
  { 1u << SCHEMA_MENTION, "提到别人用 mention 段；在文字或 Markdown 里写 @昵称 不会提醒任何人。",
    "To mention somebody use a mention segment; a written @name in text or Markdown notifies "
    "nobody." },
  { 1u << SCHEMA_MENTION,
    "target 必须是当前上下文里已有的、或用成员查询得到的平台用户 ID；当前发言者就是上下文中的 "
    "Sender id。",
    "target must be a platform user ID from the current context or a member lookup; the current "
    "speaker is the Sender id of the context." },
  { 1u << SCHEMA_MENTION, "昵称有重名，或没有办法查询时，用 text 段询问是哪一位，不要猜账号。",
    "If a name is ambiguous or cannot be looked up, ask in a text segment who is meant; never "
    "guess an ID." },
  { MEDIA,
    "media 只用上下文或工具给出的引用，不要编造地址；kind 为 "
    "url（链接）、path（本地路径）、base64（"
    "内联数据）或 file（平台文件引用）。",
    "Reuse media references given by the context or by tools, never invent an address; kind is "
    "url (a link), path (a local path), base64 (inline bytes) or file (a reference of the "
    "platform)." },
};

static const struct line no_reply = {
  ALWAYS,
  "不需要回复时让 messages 为空：",
  "Where no reply is needed, leave messages empty: ",
};

static const struct line types_head = {
  ALWAYS,
  "只能使用下列段；data 的字段都要写，不多也不少，没有列出的类型和字段会让整个回答作废：",
  "Only the segments below exist here; write all fields of data and no others, a type or field "
  "that is not listed makes the whole answer invalid:",
};

static const struct line share_rule = {
  1u << SCHEMA_SHARE,
  "share 中没有真实值的字段写 \"\"。",
  "A field of share without a real value is \"\".",
};

static const struct line reaction_head = {
  ALWAYS,
  "reaction 是给所回复的消息点的表情，取下列值之一，不点时写 \"\"。感谢、附和、玩笑这类不必说话的消"
  "息，只点一个表情往往最自然，例如 ",
  "reaction taps a reaction on the message being answered: one of the values below, or \"\" for "
  "none. For thanks, agreement or a joke a reaction alone is often the most natural answer, for "
  "example ",
};

static const struct line reply_tags = {
  ALWAYS,
  "文字开头可以写 [[reply_to_current]] 来引用正在回答的消息，或写 [[reply_to:消息ID]] "
  "引用另一条；标记本"
  "身不会显示。",
  "A text may begin with [[reply_to_current]], which quotes the message being answered, or with "
  "[[reply_to:ID]] for another one; such tags are never shown.",
};

/* Of answers in plain words, which have no segments for them. */
static const struct line voice_tag = {
  1u << SCHEMA_AUDIO,
  "写 [[audio_as_voice]] 时，这条回复里的音频作为语音发出。",
  "With [[audio_as_voice]] the audio of the answer goes as a voice message.",
};
static const struct line media_lines = {
  MEDIA,
  "附件单独写一行：MEDIA: 加公开的 https 链接或本地路径，不要编造地址。",
  "An attachment is a line of its own: MEDIA: and a public https address or a local path, never "
  "an invented one.",
};
static const struct line markdown_images = {
  1u << SCHEMA_IMAGE,
  "图片也可以写成 ![说明](https 链接)。",
  "A picture may also be written as ![what it is](https address).",
};
static const struct line silence = {
  ALWAYS,
  "不需要回复时只写 NO_REPLY。",
  "Where no reply is needed, write NO_REPLY and nothing else.",
};

static struct span said(const struct schema_offer *offer, const struct line *line)
{
  return span_of(offer->language == SCHEMA_EN ? line->en : line->zh);
}

static void add_line(struct buf *out, const struct schema_offer *offer, const char *mark,
                     const struct line *line)
{
  uint32_t offered = offer->types | 1u << SCHEMA_TEXT;
  if (line->types != ALWAYS && !(line->types & offered)) return;
  buf_add(out, span_of(mark));
  buf_add(out, said(offer, line));
  buf_add_char(out, '\n');
}

static void add_reply(struct buf *out, const struct schema_offer *offer,
                      const struct schema_reply *reply)
{
  struct schema_writer w = { .out = out };
  schema_write_reply(&w, reply, offer->offers_reaction);
  buf_add_char(out, '\n');
}

static void add_example(struct buf *out, const struct schema_offer *offer)
{
  struct span words = offer->language == SCHEMA_EN ? SPAN("On it") : SPAN("在的");
  struct schema_segment text = { .type = SCHEMA_TEXT, .text = words };
  struct schema_message message = { .segments = &text, .count = 1 };
  add_reply(out, offer, &(struct schema_reply) { .messages = &message, .count = 1 });
}

/* The shape of data, "string" standing for any string. */
static void add_data_shape(struct buf *out, const struct schema_offer *offer,
                           const struct schema_segment_type *type)
{
  switch (type->shape) {
  case SCHEMA_SHAPE_STRING: buf_printf(out, "{\"%s\":string}", type->field); break;
  case SCHEMA_SHAPE_MEDIA:
    buf_add(out, SPAN("{\"media\":{\"kind\":string,\"value\":string}}"));
    break;
  case SCHEMA_SHAPE_KEYBOARD:
    buf_add(out, SPAN("{\"rows\":[[{\"label\":string,\"payload\":string}]]}"));
    break;
  case SCHEMA_SHAPE_SHARE:
    buf_add(out, SPAN("{\"url\":string,\"title\":string"));
    for (size_t i = 0; i < offer->share_field_count; i++) {
      if (!schema_share_field_counts(offer, i)) continue;
      struct schema_writer w = { .out = out, .comma = true };
      schema_write_key(&w, offer->share_fields[i]);
      buf_add(out, SPAN("string"));
    }
    buf_add_char(out, '}');
    break;
  case SCHEMA_SHAPE_EMPTY: buf_add(out, SPAN("{}")); break;
  }
}

static void add_no_reply(struct buf *out, const struct schema_offer *offer)
{
  buf_add(out, SPAN("- "));
  buf_add(out, said(offer, &no_reply));
  add_reply(out, offer, &(struct schema_reply) { .count = 0 });
}

static void add_types(struct buf *out, const struct schema_offer *offer)
{
  bool english = offer->language == SCHEMA_EN;
  for (unsigned i = 0; i < SCHEMA_TYPE_COUNT; i++) {
    const struct schema_segment_type *type = &schema_segment_types[i];
    if (!schema_offers(offer, (enum schema_type)i)) continue;
    buf_printf(out, "  - {\"type\":\"%s\",\"data\":", type->name);
    add_data_shape(out, offer, type);
    buf_printf(out, english ? "}: %s\n" : "}：%s\n", english ? type->help_en : type->help_zh);
  }
}

/* Hints for a type that is not offered have no effect (reply.md 48a). */
static void add_hints(struct buf *out, const struct schema_offer *offer)
{
  for (size_t i = 0; i < offer->hint_count; i++) {
    const struct schema_hint *hint = &offer->hints[i];
    if (!schema_offers(offer, hint->type) || hint->text.len == 0) continue;
    buf_printf(out, "- %s on this platform: ", schema_segment_types[hint->type].name);
    buf_add(out, hint->text);
    buf_add_char(out, '\n');
  }
}

static void add_reactions(struct buf *out, const struct schema_offer *offer)
{
  size_t example = 0;
  while (example < offer->reaction_count && !is_first(offer, example)) example++;
  if (!offer->offers_reaction || example == offer->reaction_count) return;
  struct schema_reply lone = { .reaction = offer->reactions[example].value };
  buf_add(out, SPAN("- "));
  buf_add(out, said(offer, &reaction_head));
  add_reply(out, offer, &lone);
  for (size_t i = 0; i < offer->reaction_count; i++) {
    if (!is_first(offer, i)) continue;
    buf_add(out, SPAN("  - "));
    struct schema_writer w = { .out = out };
    schema_write_string(&w, offer->reactions[i].value);
    if (offer->reactions[i].label.len) {
      buf_add(out, offer->language == SCHEMA_EN ? SPAN(": ") : SPAN("："));
      buf_add(out, offer->reactions[i].label);
    }
    buf_add_char(out, '\n');
  }
}

bool schema_contract_instruction(const struct schema_offer *offer, struct buf *out)
{
  add_line(out, offer, "", &opening);
  add_example(out, offer);
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) add_line(out, offer, "- ", &rules[i]);
  if (offer->directives) add_line(out, offer, "- ", &reply_tags);
  add_no_reply(out, offer);
  add_line(out, offer, "- ", &types_head);
  add_types(out, offer);
  if (offer->share_field_count) add_line(out, offer, "- ", &share_rule);
  add_hints(out, offer);
  add_reactions(out, offer);
  return !out->failed;
}

bool schema_contract_words(const struct schema_offer *offer, struct buf *out)
{
  const struct schema_directive_options *options = offer->directives;
  if (!options) return !out->failed;
  add_line(out, offer, "- ", &reply_tags);
  if (options->media_lines) add_line(out, offer, "- ", &media_lines);
  if (options->markdown_images) add_line(out, offer, "- ", &markdown_images);
  if (options->media_lines) add_line(out, offer, "- ", &voice_tag);
  add_line(out, offer, "- ", &silence);
  return !out->failed;
}

bool schema_contract_document(const struct schema_offer *offer, struct span schema, struct buf *out)
{
  static const struct line answer = {
    ALWAYS,
    "最终回答是且只是一个符合下面 JSON Schema 的 JSON 对象，前后不写任何别的内容，也不加代码围栏：",
    "Answer with one JSON object matching the JSON Schema below; nothing stands before or after "
    "it, and no code fence:",
  };
  add_line(out, offer, "", &answer);
  buf_add(out, schema);
  buf_add_char(out, '\n');
  return !out->failed;
}
