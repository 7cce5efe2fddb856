#include "onebot/wire.h"

#include "onebot/id.h"
#include "onebot/markdown.h"
#include "onebot/mediaref.h"

static struct span type_name(enum ob_native type)
{
  return span_of(ob_native_types[type].name);
}

static bool refuse(struct ob_inspect *in, enum ob_native type, enum schema_code code,
                   const char *reason)
{
  return ob_inspect_refuse(in, code, type_name(type), reason);
}

/* A string, or a number as its text; empty for all else. */
static struct span value_of(const struct schema_node *data, const char *key)
{
  return schema_tree_id(schema_tree_get(data, key));
}

/* ---- data ---- */

/* Extras that implementations read as numbers (spec/onebot.md 0.1). */
static bool stays_number(struct span key)
{
  static const char *const keys[] = { "sub_type", "subType", "emoji_package_id", "seq",
                                      "chainCount" };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (span_is(key, keys[i])) return true;
  return false;
}

static bool is_empty(const struct schema_node *datum)
{
  return datum->kind == SCHEMA_NULL || (datum->kind == SCHEMA_STRING && datum->text.len == 0);
}

void ob_wire_datum(struct ob_inspect *in, const struct schema_node *datum, struct schema_writer *w)
{
  if (is_empty(datum)) {
    in->changed = true;
    return;
  }
  schema_write_key(w, datum->key);
  if (datum->kind == SCHEMA_NUMBER && !stays_number(datum->key)) {
    in->changed = true;
    schema_write_string(w, datum->text);
  } else {
    schema_write_tree(w, datum);
  }
}

static bool is_one_of(struct span key, const char *const *keys)
{
  for (; *keys; keys++)
    if (span_is(key, *keys)) return true;
  return false;
}

/* Writes the members that are not among done (NULL-terminated). */
static void write_others(struct ob_inspect *in, const struct schema_node *data,
                         const char *const *done, struct schema_writer *w)
{
  for (const struct schema_node *d = data ? data->first : NULL; d; d = d->next)
    if (!is_one_of(d->key, done)) ob_wire_datum(in, d, w);
}

static struct schema_writer *open_segment(enum ob_native type, struct ob_compose *c)
{
  struct schema_writer *w = ob_compose_open(c, ob_native_types[type].alone);
  schema_write_object(w);
  schema_write_pair(w, "type", type_name(type));
  schema_write_key(w, SPAN("data"));
  schema_write_object(w);
  return w;
}

static void close_segment(struct schema_writer *w, struct ob_compose *c)
{
  schema_write_object_end(w);
  schema_write_object_end(w);
  ob_compose_close(c);
}

/* A segment that needs nothing but its data in order. */
static bool plain(struct ob_inspect *in, enum ob_native type, const struct schema_node *data,
                  struct ob_compose *c)
{
  static const char *const none[] = { NULL };
  const char *key = ob_native_types[type].key;
  if (key && value_of(data, key).len == 0)
    return refuse(in, type, SCHEMA_ESEGMENT, "has no value in its main key");
  struct schema_writer *w = open_segment(type, c);
  write_others(in, data, none, w);
  close_segment(w, c);
  return true;
}

/* ---- text and mentions ---- */

static bool text(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  const struct schema_node *node = schema_tree_get(data, "text");
  struct span words = schema_tree_id(node);
  if (node && node->kind != SCHEMA_NULL && !words.ptr)
    return refuse(in, OB_TEXT, SCHEMA_ESEGMENT, "wants a string as text");
  if (!node || node->kind != SCHEMA_STRING || words.len == 0 || data->count != 1)
    in->changed = true;
  ob_compose_text(c, words);
  return true;
}

static bool mention(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  const struct schema_node *node = schema_tree_get(data, "qq");
  struct span target = schema_tree_id(node);
  enum schema_code code = ob_plan_mention(in->profile, &in->settings->plan, target);
  if (code != SCHEMA_OK) return refuse(in, OB_AT, code, schema_code_text(code));
  bool group = in->target.group_id.len > 0;
  if (!group || node->kind != SCHEMA_STRING || data->count != 1) in->changed = true;
  if (group) ob_compose_at(c, target);
  return true;
}

struct span ob_wire_reply(struct ob_inspect *in, const struct schema_node *data, struct span *retid)
{
  static const char *const done[] = { "id", "message_id", NULL };
  const struct schema_node *node = schema_tree_get(data, "id");
  struct span id = schema_tree_id(node);
  if (id.len == 0 && in->profile->message_id_any) id = value_of(data, "message_id");
  bool named = ob_profile_has_message(in->profile, id);
  bool by_seq =
      id.len == 0 && in->profile->reply_seq && ob_id_positive(value_of(data, "seq"), INT64_MAX);
  *retid = id;
  if (!named && !by_seq) {
    refuse(in, OB_REPLY, SCHEMA_ESEGMENT, "names no message that this endpoint can mean");
    return (struct span) { 0 };
  }
  if (named && (!node || node->kind != SCHEMA_STRING)) in->changed = true;
  struct buf out;
  buf_init(&out, in->arena->max);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_pair(&w, "type", SPAN("reply"));
  schema_write_key(&w, SPAN("data"));
  schema_write_object(&w);
  if (named) schema_write_pair(&w, "id", id);
  write_others(in, data, done, &w);
  schema_write_object_end(&w);
  schema_write_object_end(&w);
  struct span printed = arena_copy(in->arena, buf_span(&out));
  if (out.failed) in->arena->failed = true;
  buf_done(&out);
  return printed;
}

/* ---- media ---- */

/* Finds the reference: file before url before path. One of the peer's own does not count where the
 * profile has none. */
static const struct schema_node *reference(const struct ob_profile *profile,
                                           const struct schema_node *data)
{
  static const char *const keys[] = { "file", "url", "path" };
  const struct schema_node *first = NULL;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const struct schema_node *node = schema_tree_get(data, keys[i]);
    struct span wire = schema_tree_string(node), value;
    if (wire.len == 0) continue;
    if (!first) first = node;
    if (ob_mediaref_kind(wire, &value) != SCHEMA_MEDIA_FILE || profile->opaque_media) return node;
  }
  return first;
}

/* Writes a reference under key. False: it cannot go. */
static bool write_reference(struct ob_inspect *in, const char *key, struct span wire, bool video,
                            struct schema_writer *w)
{
  struct ob_mediaref ref = { .value = wire };
  struct span value;
  enum schema_media_kind kind = ob_mediaref_kind(wire, &value);
  bool drive = in->profile->opaque_media && ob_mediaref_is_drive(wire);
  if (!drive && !ob_mediaref_read(in->profile, kind, value, video, in->arena, &ref)) return false;
  if (!ob_mediaref_is(&ref, wire)) in->changed = true;
  schema_write_key(w, span_of(key));
  ob_mediaref_print(&ref, w->out);
  w->comma = true;
  return true;
}

/* A preview picture beside the reference would be opened by the peer just the same. */
static bool write_previews(struct ob_inspect *in, const struct schema_node *data,
                           struct schema_writer *w)
{
  static const char *const keys[] = { "thumb", "cover" };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const struct schema_node *node = schema_tree_get(data, keys[i]);
    if (!node) continue;
    if (is_empty(node))
      in->changed = true;
    else if (!write_reference(in, keys[i], schema_tree_string(node), false, w))
      return false;
  }
  return true;
}

static bool media(struct ob_inspect *in, enum ob_native type, const struct schema_node *data,
                  struct ob_compose *c)
{
  static const char *const done[] = { "file", "url", "path", "thumb", "cover", NULL };
  const struct schema_node *node = reference(in->profile, data);
  if (!node) return refuse(in, type, SCHEMA_EMEDIA, "has no media reference");
  struct span name = schema_tree_string(schema_tree_get(data, "name"));
  if (type == OB_FILE && name.len && !ob_mediaref_is_name(name))
    return refuse(in, type, SCHEMA_EMEDIA, "has a name with / or \\ in it");
  struct schema_writer *w = open_segment(type, c);
  if (!write_reference(in, "file", node->text, type == OB_VIDEO, w))
    return refuse(in, type, SCHEMA_EMEDIA, "has a media reference that cannot go");
  if (!write_previews(in, data, w))
    return refuse(in, type, SCHEMA_EMEDIA, "has a preview that cannot go");
  if (!span_is(node->key, "file") || schema_tree_get(data, "url") || schema_tree_get(data, "path"))
    in->changed = true;
  write_others(in, data, done, w);
  close_segment(w, c);
  return true;
}

/* ---- cards ---- */

static struct ob_share read_share(const struct schema_node *data)
{
  struct ob_share s = {
    .url = schema_tree_string(schema_tree_get(data, "url")),
    .title = value_of(data, "title"),
    .description = value_of(data, "content"),
    .image = schema_tree_string(schema_tree_get(data, "image")),
    .audio = schema_tree_string(schema_tree_get(data, "audio")),
    .platform = OB_PLATFORM_COUNT,
  };
  if (s.audio.len == 0) s.audio = schema_tree_string(schema_tree_get(data, "voice"));
  if (!ob_url_is_web(s.image)) s.image = (struct span) { 0 };
  if (!ob_url_is_web(s.audio)) s.audio = (struct span) { 0 };
  return s;
}

/* The words of a card that cannot be one here. */
static bool card_words(struct ob_inspect *in, struct ob_share *s, struct ob_compose *c)
{
  if (s->title.len == 0) {
    s->title = s->description;
    s->description.len = 0;
  }
  in->changed = true;
  ob_compose_block(c, ob_card_text(s, in->arena));
  return true;
}

/* The members of the reply contract that OneBot's own share has not. */
static bool is_canonical_share(const struct schema_node *data)
{
  static const char *const own[] = { "description", "audio", "platform" };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (value_of(data, own[i]).len > 0) return true;
  return false;
}

/* A share of the reply contract: as in a model's reply. */
static void canonical_share(struct ob_inspect *in, const struct schema_node *data,
                            struct ob_compose *c)
{
  struct ob_share s = read_share(data);
  if (s.description.len == 0) s.description = value_of(data, "description");
  s.platform = ob_platform_find(value_of(data, "platform"));
  in->changed = true;
  ob_plan_share(in->profile, &in->settings->plan,
                ob_share_settle(s, in->settings->plan.share_platforms), in->arena, c);
}

static bool share(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  static const char *const done[] = { "image", NULL };
  static const char *const swapped[] = { "content", "image", NULL };
  struct ob_share s = read_share(data);
  if (!ob_url_is_web(s.url)) return refuse(in, OB_SHARE, SCHEMA_EMEDIA, "has no web address");
  if (is_canonical_share(data) || !ob_profile_shows(in->profile, OB_SHARE)) {
    canonical_share(in, data, c);
    return true;
  }
  if (s.title.len == 0) return card_words(in, &s, c);
  bool swaps = in->profile->share_swaps;
  const struct schema_node *image = schema_tree_get(data, "image");
  if (swaps ? image || schema_tree_get(data, "content") : image && s.image.len == 0)
    in->changed = true;
  struct schema_writer *w = open_segment(OB_SHARE, c);
  write_others(in, data, swaps ? swapped : done, w);
  if (!swaps && s.image.len) schema_write_pair(w, "image", s.image);
  close_segment(w, c);
  return true;
}

/* "custom" or a music type in OneBot's own spelling; NULL: the profile has none such. */
static const char *music_type(const struct ob_profile *p, struct span type, uint32_t *retbit)
{
  *retbit = 0;
  if (type.len == 0 || span_is(type, "custom")) return "custom";
  if (span_is(type, "xm")) {
    *retbit = OB_MUSIC_XM;
    return p->music_ids & OB_MUSIC_XM ? "xm" : NULL;
  }
  enum ob_platform platform = ob_platform_find(type);
  if (platform == OB_PLATFORM_COUNT) return NULL;
  *retbit = 1u << platform;
  return ob_apps[platform].music;
}

static bool music_by_id(struct ob_inspect *in, const struct schema_node *data, const char *type,
                        struct ob_compose *c)
{
  const struct schema_node *id = schema_tree_get(data, "id");
  if (id->kind != SCHEMA_STRING || data->count != 2) in->changed = true;
  struct schema_writer *w = open_segment(OB_MUSIC, c);
  schema_write_pair(w, "type", span_of(type));
  schema_write_pair(w, "id", id->text);
  ob_compose_is_card(c, SPAN(""));
  close_segment(w, c);
  return true;
}

static bool music_custom(struct ob_inspect *in, const struct schema_node *data, const char *type,
                         struct ob_compose *c)
{
  static const char *const done[] = { "type",  "id",      "url",   "audio",   "voice",
                                      "title", "content", "image", "subtype", NULL };
  const struct ob_profile *p = in->profile;
  struct ob_share s = read_share(data);
  if (!ob_url_is_web(s.url)) return refuse(in, OB_MUSIC, SCHEMA_EMEDIA, "has no web address");
  if (((p->music_needs & OB_NEEDS_IMAGE) && s.image.len == 0) ||
      ((p->music_needs & OB_NEEDS_TITLE) && s.title.len == 0) ||
      ((p->music_needs & OB_NEEDS_AUDIO) && s.audio.len == 0))
    return card_words(in, &s, c);
  bool named = strcmp(type, "custom") != 0;
  bool gocq = p->music == OB_MUSIC_GOCQ;
  struct span subtype = value_of(data, "subtype");
  if (gocq && named && subtype.len == 0) subtype = span_of(type);
  if (p->music != OB_MUSIC_PLATFORM) type = "custom";
  struct span voice = schema_tree_string(schema_tree_get(data, "voice"));
  if (gocq && voice.len == 0) voice = s.audio;
  struct {
    const char *key;
    struct span value;
  } members[] = {
    { "type", span_of(type) },    { "subtype", subtype }, { "url", s.url },
    { "audio", s.audio },         { "voice", voice },     { "title", s.title },
    { "content", s.description }, { "image", s.image },   { "id", { NULL, 0 } },
  };
  struct schema_writer *w = open_segment(OB_MUSIC, c);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const struct schema_node *given = schema_tree_get(data, members[i].key);
    struct span value = members[i].value;
    if (given ? given->kind != SCHEMA_STRING || !span_eq(given->text, value) || value.len == 0
              : value.len > 0)
      in->changed = true;
    if (value.len) schema_write_pair(w, members[i].key, value);
  }
  write_others(in, data, done, w);
  ob_compose_is_card(c, ob_card_text(&s, in->arena));
  close_segment(w, c);
  return true;
}

static bool music(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  const struct schema_node *node = schema_tree_get(data, "type");
  struct span given = schema_tree_string(node);
  uint32_t bit;
  const char *type = music_type(in->profile, span_trim(given), &bit);
  if (!type)
    return refuse(in, OB_MUSIC, SCHEMA_ESEGMENT, "is of a type that this endpoint has not");
  bool by_id = bit && value_of(data, "id").len > 0;
  if (by_id && ob_profile_shows(in->profile, OB_MUSIC) && (in->profile->music_ids & bit)) {
    if (!span_is(given, type)) in->changed = true;
    return music_by_id(in, data, type, c);
  }
  struct ob_share s = read_share(data);
  if (!ob_url_is_web(s.url))
    return refuse(in, OB_MUSIC, SCHEMA_ESEGMENT,
                  by_id ? "by id is unknown to this endpoint, and it has no address to show"
                        : "has neither an id nor a web address");
  if (!ob_profile_shows(in->profile, OB_MUSIC)) return card_words(in, &s, c);
  if (bit == OB_MUSIC_XM) return card_words(in, &s, c);
  return music_custom(in, data, type, c);
}

static bool json(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  static const char *const done[] = { "data", NULL };
  const struct schema_node *card = schema_tree_get(data, "data");
  if (!card || card->kind != SCHEMA_OBJECT) return plain(in, OB_JSON, data, c);
  struct buf compact;
  buf_init(&compact, in->arena->max);
  struct schema_writer inner = { .out = &compact };
  schema_write_tree(&inner, card);
  in->changed = true;
  struct schema_writer *w = open_segment(OB_JSON, c);
  schema_write_pair(w, "data", buf_span(&compact));
  write_others(in, data, done, w);
  close_segment(w, c);
  if (compact.failed) in->arena->failed = true;
  buf_done(&compact);
  return true;
}

/* ---- what has only a text form ---- */

static struct span inner_content(struct ob_inspect *in, struct span content)
{
  struct schema_node *root;
  if (!span_starts(span_trim(content), SPAN("{"))) return content;
  if (schema_tree_read(content, SCHEMA_DEPTH_EVENT, in->arena, &root, NULL) != SCHEMA_OK)
    return content;
  struct span inner = schema_tree_string(schema_tree_get(root, "content"));
  return inner.ptr ? inner : content; /* Lagrange wraps its markdown once more */
}

static bool markdown(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  const struct schema_node *content = schema_tree_get(data, "content");
  if (!content) content = schema_tree_get(data, "text");
  if (!schema_tree_string(content).ptr)
    return refuse(in, OB_MARKDOWN, SCHEMA_ESEGMENT, "has no content");
  in->changed = true;
  struct span source = inner_content(in, content->text);
  ob_compose_block(c, ob_markdown_text(source, in->arena));
  return true;
}

static const struct schema_node *buttons_of(const struct schema_node *row)
{
  return row->kind == SCHEMA_OBJECT ? schema_tree_get(row, "buttons") : row;
}

/* A button of zhin (label, data or payload), LLBot and Lagrange (render_data, action). */
static void add_button(struct ob_buttons *b, const struct schema_node *button,
                       struct schema_row *numbered)
{
  struct span label = value_of(button, "label");
  if (label.len == 0) label = value_of(schema_tree_get(button, "render_data"), "label");
  struct span payload = value_of(button, "data");
  if (payload.len == 0) payload = value_of(button, "payload");
  if (payload.len == 0) payload = value_of(schema_tree_get(button, "action"), "data");
  if (!ob_buttons_add(b, label, payload)) return;
  struct schema_button *all = (struct schema_button *)numbered->buttons; /* of number_row */
  if (all) all[numbered->count++] = (struct schema_button) { .label = label, .payload = payload };
}

/* Room for all buttons of the rows, in one. */
static struct schema_row number_row(const struct schema_node *rows, struct arena *arena)
{
  size_t most = 0;
  for (const struct schema_node *row = rows->first; row; row = row->next) {
    const struct schema_node *buttons = buttons_of(row);
    most += buttons ? buttons->count : 0;
  }
  return (struct schema_row) { .buttons = arena_zalloc(arena, most, sizeof(struct schema_button)) };
}

/* What the numbers of the list mean, for who remembers it. */
static void promise(struct ob_inspect *in, const struct schema_row *numbered)
{
  struct schema_segment *segment = arena_zalloc(in->arena, 1, sizeof *segment);
  struct schema_row *row = arena_zalloc(in->arena, 1, sizeof *row);
  if (numbered->count == 0 || !segment || !row) return;
  *row = *numbered;
  segment->type = SCHEMA_KEYBOARD;
  segment->keyboard.rows = row;
  segment->keyboard.count = 1;
  in->keyboard = segment;
}

static bool keyboard(struct ob_inspect *in, const struct schema_node *data, struct ob_compose *c)
{
  const struct schema_node *rows = schema_tree_get(data, "rows");
  if (!rows) rows = schema_tree_get(schema_tree_get(data, "content"), "rows");
  if (!rows || rows->kind != SCHEMA_ARRAY)
    return refuse(in, OB_KEYBOARD, SCHEMA_ESEGMENT, "has no rows");
  struct ob_buttons b = { .language = in->settings->plan.language };
  buf_init(&b.text, in->arena->max);
  struct schema_row numbered = number_row(rows, in->arena);
  for (const struct schema_node *row = rows->first; row; row = row->next) {
    const struct schema_node *buttons = buttons_of(row);
    for (const struct schema_node *n = buttons ? buttons->first : NULL; n; n = n->next)
      add_button(&b, n, &numbered);
  }
  promise(in, &numbered);
  if (b.text.failed) in->arena->failed = true;
  in->changed = true;
  ob_compose_block(c, buf_span(&b.text));
  buf_done(&b.text);
  return true;
}

/* ---- one segment ---- */

static bool shown(struct ob_inspect *in, enum ob_native type, const struct schema_node *data,
                  struct ob_compose *c)
{
  if (!ob_profile_shows(in->profile, type))
    return refuse(in, type, SCHEMA_ESEGMENT, "is not shown by this endpoint");
  if (ob_native_types[type].media) return media(in, type, data, c);
  return type == OB_JSON ? json(in, data, c) : plain(in, type, data, c);
}

bool ob_wire_segment(struct ob_inspect *in, enum ob_native type, const struct schema_node *data,
                     struct ob_compose *c)
{
  if (!data || data->kind == SCHEMA_NULL) in->changed = true;
  if (data && data->kind == SCHEMA_NULL) data = NULL;
  if (data && data->kind != SCHEMA_OBJECT)
    return refuse(in, type, SCHEMA_ETYPE, "wants an object as data");
  if (type == OB_TEXT) return text(in, data, c);
  if (type == OB_AT) return mention(in, data, c);
  if (type == OB_MARKDOWN) return markdown(in, data, c);
  if (type == OB_KEYBOARD) return keyboard(in, data, c);
  if (type == OB_SHARE) return share(in, data, c);
  if (type == OB_MUSIC) return music(in, data, c);
  return shown(in, type, data, c);
}
