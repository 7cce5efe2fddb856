#include "schema/payload.h"

#include "schema/keys.h"
#include "schema/reference.h"
#include "schema/tag.h"
#include "schema/white.h"

/* References in their order, each once. */
struct unique {
  struct arena *arena;
  struct schema_keys *seen;
  struct span *items;
  size_t count, cap;
  size_t refused; /* of structured fields */
  bool failed;
};

static bool unique_begin(struct unique *u, struct arena *arena)
{
  *u = (struct unique) { .arena = arena, .seen = schema_keys_open(NULL, arena) };
  return u->seen != NULL;
}

static void unique_add(struct unique *u, struct span reference)
{
  struct span trimmed = schema_white_trim(reference);
  if (u->failed || trimmed.len == 0) return;
  struct span key = schema_reference_key(trimmed, u->arena);
  enum schema_keys_result added =
      key.ptr ? schema_keys_add(u->seen, key, u->arena) : SCHEMA_KEYS_NOMEM;
  if (added == SCHEMA_KEYS_SEEN) return;
  if (added == SCHEMA_KEYS_NEW && u->count == u->cap) {
    size_t cap = u->cap ? u->cap * 2 : 8;
    struct span *more = arena_zalloc(u->arena, cap, sizeof *more);
    if (more && u->count) memcpy(more, u->items, u->count * sizeof *more);
    u->items = more;
    u->cap = cap;
  }
  if (added == SCHEMA_KEYS_NOMEM || !u->items)
    u->failed = true;
  else
    u->items[u->count++] = trimmed;
}

/* One of a structured field. */
static void add_field(struct unique *u, struct span reference)
{
  struct span trimmed = schema_white_trim(reference);
  unsigned options = SCHEMA_REFERENCE_SPACES | SCHEMA_REFERENCE_ANY;
  if (trimmed.len == 0) return;
  if (schema_reference_fault(trimmed, options))
    u->refused++;
  else
    unique_add(u, trimmed);
}

static void keep_unique(const struct unique *u, struct schema_directives *d)
{
  d->media = u->items;
  d->media_count = u->count;
  d->refused += u->refused;
}

static bool has_content(const struct schema_directives *d)
{
  return d->text.len || d->media_count || d->audio_as_voice;
}

bool schema_payload_plan(const struct schema_payload *p,
                         const struct schema_directive_options *options, struct arena *arena,
                         struct schema_directives *ret, bool *retdeliver)
{
  struct schema_directives d;
  struct unique media;
  if (!schema_directives_read(p->text, options, arena, &d) || !unique_begin(&media, arena))
    return false;
  for (size_t i = 0; i < p->media_url_count; i++) add_field(&media, p->media_urls[i]);
  for (size_t i = 0; i < d.media_count && !p->media_urls; i++) unique_add(&media, d.media[i]);
  if (p->media_url.ptr) add_field(&media, p->media_url);
  for (size_t i = 0; i < d.media_count; i++) unique_add(&media, d.media[i]);
  keep_unique(&media, &d);
  d.audio_as_voice |= p->audio_as_voice;
  d.reply_to_current |= p->reply_to_current;
  if (p->reply_to_id.len) d.reply_to_id = p->reply_to_id;
  *retdeliver = d.silent ? d.media_count > 0 : has_content(&d);
  if (!*retdeliver) d = (struct schema_directives) { .silent = d.silent, .refused = d.refused };
  *ret = d;
  return !media.failed;
}

/* ---- the message tool ---- */

/* The member of that name, or of its spelling with underscores. */
static const struct schema_node *argument(const struct schema_node *args, const char *name)
{
  const struct schema_node *found = schema_tree_get(args, name);
  if (found) return found;
  char snake[32];
  size_t n = 0;
  for (; *name && n + 2 < sizeof snake; name++) {
    bool upper = *name >= 'A' && *name <= 'Z';
    if (upper) snake[n++] = '_';
    snake[n++] = upper ? (char)(*name | 0x20) : *name;
  }
  snake[n] = '\0';
  return schema_tree_get(args, snake);
}

static bool says_something(struct span s)
{
  return schema_white_trim(s).len > 0;
}

/* The first of some names that holds a text, or an empty span. */
static struct span first_text(const struct schema_node *args, const char *const *names)
{
  for (; *names; names++) {
    struct span s = schema_tree_string(argument(args, *names));
    if (says_something(s)) return s;
  }
  return (struct span) { NULL, 0 };
}

/* A model that escapes twice means a line end. */
static struct span line_ends(struct span text, struct arena *arena)
{
  const struct span escape = SPAN("\\n");
  if (span_find(text, escape) == text.len) return text;
  char *out = arena_alloc(arena, text.len);
  size_t n = 0;
  for (size_t i = 0; out && i < text.len;) {
    size_t at = span_find((struct span) { text.ptr + i, text.len - i }, escape);
    memcpy(out + n, text.ptr + i, at);
    n += at;
    i += at;
    if (i == text.len) break;
    out[n++] = '\n';
    i += escape.len;
  }
  return (struct span) { out, n };
}

static void add_list(struct unique *u, const struct schema_node *list)
{
  if (list && list->kind == SCHEMA_STRING) add_field(u, list->text);
  if (!list || list->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *n = list->first; n; n = n->next)
    add_field(u, schema_tree_string(n));
}

static void add_tool_media(struct unique *u, const struct schema_node *args)
{
  static const char *const single[] = { "media",   "mediaUrl", "path", "filePath",
                                        "fileUrl", "image",    NULL };
  static const char *const attached[] = { "media",   "mediaUrl", "path", "filePath",
                                          "fileUrl", "url",      NULL };
  for (const char *const *name = single; *name; name++) {
    struct span s = schema_tree_string(argument(args, *name));
    if (s.len) add_field(u, s);
    if (s.len) break;
  }
  add_list(u, argument(args, "mediaUrls"));
  const struct schema_node *attachments = schema_tree_get(args, "attachments");
  if (!attachments || attachments->kind != SCHEMA_ARRAY) return;
  for (const struct schema_node *a = attachments->first; a; a = a->next)
    for (const char *const *name = attached; *name; name++)
      add_field(u, schema_tree_string(argument(a, *name)));
}

/* true, false, or what either says as a word; otherwise for anything else. */
static bool truth(const struct schema_node *node, bool otherwise)
{
  struct span word = schema_white_trim(schema_tree_string(node));
  if (span_eq_nocase(word, SPAN("true"))) return true;
  if (span_eq_nocase(word, SPAN("false"))) return false;
  return schema_tree_truth(node, otherwise);
}

bool schema_payload_from_tool(const struct schema_node *args, struct arena *arena,
                              struct schema_directives *ret, bool *retok)
{
  static const char *const texts[] = {
    "message", "SendMessage", "content", "text", "caption", NULL
  };
  struct schema_directives d = { 0 };
  struct schema_tags tags = { 0 };
  struct unique media;
  struct span text = line_ends(first_text(args, texts), arena);
  if (!unique_begin(&media, arena)) return false;
  add_tool_media(&media, args);
  keep_unique(&media, &d);
  if (text.len && !text.ptr) return false;
  bool tagged = schema_tag_possible(text);
  unsigned all = SCHEMA_TAG_AUDIO | SCHEMA_TAG_REPLY;
  if (tagged && !schema_tags_take(text, all, arena, &text, &tags)) return false;
  if (!tagged && !schema_tag_tidy(text, arena, &text)) return false;
  d.text = text;
  d.audio_as_voice =
      truth(argument(args, "asVoice"), truth(argument(args, "audioAsVoice"), tags.audio));
  d.has_reply_tag = tags.reply;
  d.reply_to_current = tags.current;
  d.reply_to_id = tags.id;
  *retok = says_something(text) || d.media_count;
  *ret = d;
  return !media.failed;
}

/* ---- duplicates ---- */

/* A copy without white space; ptr NULL: no memory. */
static struct span without_white(struct span s, struct arena *arena)
{
  char *out = arena_alloc(arena, s.len + 1);
  if (!out) return (struct span) { NULL, 0 };
  size_t n = 0;
  for (size_t i = 0; i < s.len;) {
    size_t white = schema_white_at(s, i);
    if (!white) out[n++] = s.ptr[i];
    i += white ? white : 1;
  }
  return (struct span) { out, n };
}

struct sent {
  struct arena *arena;
  struct schema_keys *media, *texts, *finals;
};

static bool add_key(struct schema_keys *keys, struct span key, struct arena *arena)
{
  return key.ptr && schema_keys_add(keys, key, arena) != SCHEMA_KEYS_NOMEM;
}

/* The texts of the blocks, each and all together, and their media. */
static bool note_sent(struct sent *sent, const struct schema_delivered *delivered)
{
  size_t len = 0;
  for (size_t i = 0; i < delivered->block_count; i++) len += delivered->blocks[i].text.len;
  char *all = arena_alloc(sent->arena, len + 1);
  if (!all) return false;
  size_t n = 0;
  for (size_t i = 0; i < delivered->block_count; i++) {
    const struct schema_directives *block = &delivered->blocks[i];
    struct span text = without_white(block->text, sent->arena);
    if (!text.ptr) return false;
    memcpy(all + n, text.ptr, text.len);
    n += text.len;
    if (text.len && !block->media_count && !add_key(sent->texts, text, sent->arena)) return false;
    for (size_t m = 0; m < block->media_count; m++) {
      struct span key = schema_reference_key(block->media[m], sent->arena);
      if (!add_key(sent->media, key, sent->arena)) return false;
    }
  }
  return n == 0 || add_key(sent->texts, (struct span) { all, n }, sent->arena);
}

/* Media that were delivered leave the payload, and the voice hint goes with the last of them. */
static bool drop_media(const struct sent *sent, struct schema_directives *d)
{
  if (d->media_count == 0) return true;
  struct span *left = arena_zalloc(sent->arena, d->media_count, sizeof *left);
  size_t count = 0;
  if (!left) return false;
  for (size_t i = 0; i < d->media_count; i++) {
    struct span key = schema_reference_key(d->media[i], sent->arena);
    if (!key.ptr) return false;
    if (!schema_keys_has(sent->media, key)) left[count++] = d->media[i];
  }
  if (count == 0) d->audio_as_voice = false;
  d->media = left;
  d->media_count = count;
  return true;
}

static bool drop_text(const struct sent *sent, struct schema_directives *d)
{
  struct span text = without_white(d->text, sent->arena);
  if (!text.ptr) return false;
  if (text.len && schema_keys_has(sent->texts, text)) d->text.len = 0;
  return true;
}

/* Text and media in one: two final payloads that are all alike are one. */
static struct span whole_key(const struct schema_directives *d, struct arena *arena)
{
  size_t len = d->text.len + 1;
  for (size_t i = 0; i < d->media_count; i++) len += d->media[i].len + 1;
  char *out = arena_alloc(arena, len);
  if (!out) return (struct span) { NULL, 0 };
  size_t n = 0;
  if (d->text.len) memcpy(out, d->text.ptr, d->text.len);
  n += d->text.len;
  out[n++] = '\n';
  for (size_t i = 0; i < d->media_count; i++) {
    memcpy(out + n, d->media[i].ptr, d->media[i].len);
    n += d->media[i].len;
    out[n++] = '\n';
  }
  return (struct span) { out, n };
}

bool schema_payload_dedupe(const struct schema_delivered *delivered, struct arena *arena,
                           struct schema_directives *finals, size_t *count)
{
  struct sent sent = { .arena = arena,
                       .media = schema_keys_open(NULL, arena),
                       .texts = schema_keys_open(NULL, arena),
                       .finals = schema_keys_open(NULL, arena) };
  if (!sent.media || !sent.texts || !sent.finals || !note_sent(&sent, delivered)) return false;
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    struct schema_directives d = finals[i];
    if (!drop_text(&sent, &d) || !drop_media(&sent, &d)) return false;
    if (!has_content(&d)) continue;
    struct span key = whole_key(&d, arena);
    enum schema_keys_result added =
        key.ptr ? schema_keys_add(sent.finals, key, arena) : SCHEMA_KEYS_NOMEM;
    if (added == SCHEMA_KEYS_NOMEM) return false;
    if (added == SCHEMA_KEYS_NEW) finals[kept++] = d;
  }
  *count = kept;
  return true;
}

bool schema_payload_media(const struct schema_delivered *delivered,
                          const struct schema_directives *finals, size_t count, struct arena *arena,
                          const struct span **ret, size_t *retcount)
{
  struct unique media;
  if (!unique_begin(&media, arena)) return false;
  for (size_t i = 0; i < delivered->block_count; i++)
    for (size_t m = 0; m < delivered->blocks[i].media_count; m++)
      unique_add(&media, delivered->blocks[i].media[m]);
  for (size_t i = 0; i < count; i++)
    for (size_t m = 0; m < finals[i].media_count; m++) unique_add(&media, finals[i].media[m]);
  *ret = media.items;
  *retcount = media.count;
  return !media.failed;
}

/* ---- reply mode ---- */

bool schema_reply_mode_keeps(enum schema_reply_mode mode, bool explicit_allowed_when_off,
                             bool has_target, bool is_explicit, bool *used)
{
  if (!has_target) return false;
  if (mode == SCHEMA_REPLY_OFF) return is_explicit && explicit_allowed_when_off;
  bool keeps = mode == SCHEMA_REPLY_ALL || !*used;
  *used = true;
  return keeps;
}
