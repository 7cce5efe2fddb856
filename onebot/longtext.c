#include "onebot/longtext.h"

#include "onebot/native.h"

/* ---- characters as people see them ---- */

enum { ZERO_WIDTH_JOINER = 0x200D };

/* Code points that belong to the character before them: combining marks of the scripts that chats
 * use, variation selectors, skin tones, tags. Ascending. */
static const struct {
  uint32_t first, last;
} marks[] = {
  { 0x0300, 0x036F },   { 0x0483, 0x0489 },   { 0x0591, 0x05BD }, { 0x0610, 0x061A },
  { 0x064B, 0x065F },   { 0x06D6, 0x06DC },   { 0x0900, 0x0903 }, { 0x093A, 0x094F },
  { 0x0E31, 0x0E31 },   { 0x0E34, 0x0E3A },   { 0x0E47, 0x0E4E }, { 0x1AB0, 0x1AFF },
  { 0x1DC0, 0x1DFF },   { 0x200D, 0x200D },   { 0x20D0, 0x20FF }, { 0x302A, 0x302F },
  { 0x3099, 0x309A },   { 0xFE00, 0xFE0F },   { 0xFE20, 0xFE2F }, { 0x1F3FB, 0x1F3FF },
  { 0xE0020, 0xE007F }, { 0xE0100, 0xE01EF },
};

static bool is_mark(uint32_t c)
{
  if (c < marks[0].first) return false;
  for (size_t i = 0; i < sizeof marks / sizeof *marks && marks[i].first <= c; i++)
    if (c <= marks[i].last) return true;
  return false;
}

static bool is_flag_half(uint32_t c)
{
  return c >= 0x1F1E6 && c <= 0x1F1FF;
}

/* Vowels and finals of Hangul written in pieces. */
static bool is_jamo(uint32_t c)
{
  return c >= 0x1160 && c <= 0x11FF;
}

/* The end of the character that begins at `at`; *retchars is how many code points it has. */
static size_t character_end(struct span s, size_t at, size_t *retchars)
{
  uint32_t c, next;
  size_t end = at + utf8_decode(s.ptr + at, s.len - at, &c);
  *retchars = 1;
  bool half = is_flag_half(c);
  while (end < s.len) {
    size_t n = utf8_decode(s.ptr + end, s.len - end, &next);
    bool crlf = c == '\r' && next == '\n';
    bool joined = c == ZERO_WIDTH_JOINER && next >= 0x80;
    bool pair = half && is_flag_half(next);
    if (!crlf && !joined && !pair && !is_mark(next) && !is_jamo(next)) break;
    half = false; /* two make a flag */
    end += n;
    ++*retchars;
    c = next;
  }
  return end;
}

/* ---- what must stay whole ---- */

static size_t address_end(struct span s, size_t at)
{
  struct span rest = { s.ptr + at, s.len - at };
  if (s.ptr[at] != 'h') return at;
  if (!span_starts(rest, SPAN("http://")) && !span_starts(rest, SPAN("https://"))) return at;
  while (at < s.len && s.ptr[at] > ' ' && s.ptr[at] < 0x7F) at++;
  return at;
}

static struct span line_at(struct span s, size_t at)
{
  const char *end = memchr(s.ptr + at, '\n', s.len - at);
  return (struct span) { s.ptr + at, end ? (size_t)(end - s.ptr) + 1 - at : s.len - at };
}

static bool is_fence(struct span line)
{
  while (line.len && line.ptr[0] == ' ') line.ptr++, line.len--;
  return span_starts(line, SPAN("```"));
}

/* The end of the closed fence that begins on the line at `at`, its closing line included; at where
 * there is none. */
static size_t fence_end(struct span s, size_t at)
{
  struct span line = { s.ptr + at, s.len - at };
  if (!is_fence(line)) return at; /* before its end is looked for, which may be far */
  line = line_at(s, at);
  for (size_t i = at + line.len; i < s.len; i += line.len) {
    line = line_at(s, i);
    if (is_fence(line)) return i + line.len;
  }
  return at;
}

/* ---- where to cut ---- */

enum place { AT_CHARACTER, AT_WORD, AT_SENTENCE, AT_LINE, AT_PARAGRAPH, PLACE_COUNT };

static const struct span sentence_ends[] = {
  SPAN_INIT("。"), SPAN_INIT("！"), SPAN_INIT("？"), SPAN_INIT("…"), SPAN_INIT("；"),
  SPAN_INIT("!"),  SPAN_INIT("?"),  SPAN_INIT(";"),  { NULL, 0 },
};
/* these belong to the sentence before them */
static const struct span closers[] = {
  SPAN_INIT("」"), SPAN_INIT("』"), SPAN_INIT("”"),  SPAN_INIT("’"),
  SPAN_INIT("）"), SPAN_INIT("】"), SPAN_INIT("》"), SPAN_INIT(")"),
  SPAN_INIT("\""), SPAN_INIT("'"),  { NULL, 0 },
};

/* The length of the one of list that s ends with (front: begins with); 0: none. Asked at every
 * character of a long text, of which nearly all differ in one byte. */
static size_t one_of(struct span s, const struct span *list, bool front)
{
  if (s.len == 0) return 0;
  char byte = front ? s.ptr[0] : s.ptr[s.len - 1];
  for (; list->ptr; list++) {
    if (byte != list->ptr[front ? 0 : list->len - 1]) continue;
    if (front ? span_starts(s, *list) : span_ends(s, *list)) return list->len;
  }
  return 0;
}

static bool ends_sentence(struct span part, struct span rest)
{
  if (one_of(rest, closers, true) || one_of(rest, sentence_ends, true)) return false;
  size_t n;
  while ((n = one_of(part, closers, false))) part.len -= n;
  if (one_of(part, sentence_ends, false)) return true;
  return span_ends(part, SPAN(".")) && rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '\n');
}

/* What kind of place it is behind the character that ends at `at`. */
static enum place place_of(struct span s, size_t at)
{
  struct span part = { s.ptr, at }, rest = { s.ptr + at, s.len - at };
  if (span_ends(part, SPAN("\n\n")) || span_ends(part, SPAN("\n\r\n"))) return AT_PARAGRAPH;
  if (span_ends(part, SPAN("\n"))) return AT_LINE;
  if (span_ends(part, SPAN(" ")) || span_ends(part, SPAN("\t"))) return AT_WORD;
  return ends_sentence(part, rest) ? AT_SENTENCE : AT_CHARACTER;
}

size_t ob_longtext_cut(struct span text, size_t max)
{
  size_t last[PLACE_COUNT] = { 0 }, count[PLACE_COUNT] = { 0 };
  size_t at = 0, chars = 0;
  while (at < text.len) {
    bool line = at == 0 || text.ptr[at - 1] == '\n';
    size_t n = 1, end = line ? fence_end(text, at) : at;
    if (end == at) end = address_end(text, at);
    if (end == at)
      end = character_end(text, at, &n);
    else
      n = span_chars((struct span) { text.ptr + at, end - at });
    if (chars + n > max && at > 0) break;
    at = end;
    chars += n;
    enum place place = place_of(text, at);
    last[place] = at;
    count[place] = chars;
    if (chars > max) break; /* the first piece alone is too long */
  }
  if (at == text.len) return at;
  for (int place = AT_PARAGRAPH; place >= AT_WORD; place--)
    if (count[place] > max / 2) return last[place];
  size_t latest = 0; /* a sentence end far in front is better than a cut within one */
  for (int place = AT_PARAGRAPH; place >= AT_SENTENCE; place--)
    if (last[place] > latest) latest = last[place];
  return latest ? latest : at;
}

/* ---- plans ---- */

static struct span without_ends(struct span s)
{
  while (s.len && strchr(" \t\r\n", s.ptr[s.len - 1]) && s.ptr[s.len - 1]) s.len--;
  return s;
}

static struct span without_begin(struct span s)
{
  while (s.len && strchr(" \r\n", s.ptr[0]) && s.ptr[0]) s.ptr++, s.len--;
  return s;
}

/* Text into sends of at most max characters; what was begun goes on in the first. */
static void add_text(struct ob_compose *c, struct span text, size_t max)
{
  while (text.len) {
    size_t room = c->chars < max ? max - c->chars : 0;
    size_t n = room ? ob_longtext_cut(text, room) : 0;
    bool begun = c->chars > 0;
    if (begun && (n == 0 || span_chars((struct span) { text.ptr, n }) > room)) {
      ob_compose_message(c, c->message, SPAN(""));
      text = without_begin(text);
      continue;
    }
    if (n == text.len) {
      ob_compose_text(c, text);
      return;
    }
    ob_compose_text(c, without_ends((struct span) { text.ptr, n }));
    ob_compose_message(c, c->message, SPAN(""));
    text = without_begin((struct span) { text.ptr + n, text.len - n });
  }
}

/* The segments of a printed send into c, texts cut. The quote goes with the first. */
static bool cut_send(const struct ob_step *step, bool keep_quote, size_t max, struct ob_compose *c)
{
  struct schema_node *params;
  if (schema_tree_read(step->params, SCHEMA_DEPTH_EVENT, c->arena, &params, NULL) != SCHEMA_OK)
    return false;
  ob_compose_message(c, step->message, SPAN(""));
  const struct schema_node *array = schema_tree_get(params, "message");
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next) {
    enum ob_native type = ob_native_find(schema_tree_string(schema_tree_get(s, "type")));
    if (type == OB_TEXT) {
      const struct schema_node *data = schema_tree_get(s, "data");
      add_text(c, schema_tree_string(schema_tree_get(data, "text")), max);
    } else if (type == OB_REPLY) {
      if (keep_quote) c->quote = s->raw;
    } else {
      schema_write_raw(ob_compose_open(c, false), s->raw);
      ob_compose_close(c);
    }
  }
  return true;
}

/* Parts as the nodes of one forward. */
static struct span forward_params(const struct ob_target *target, const struct ob_author *author,
                                  const struct ob_plan *parts, struct arena *arena)
{
  struct buf out;
  buf_init(&out, arena->max);
  struct schema_writer w = { .out = &out };
  bool group = target->group_id.len > 0;
  schema_write_object(&w);
  schema_write_key(&w, group ? SPAN("group_id") : SPAN("user_id"));
  schema_write_raw(&w, group ? target->group_id : target->user_id);
  schema_write_key(&w, SPAN("messages"));
  schema_write_array(&w);
  for (size_t i = 0; i < parts->count; i++) {
    schema_write_object(&w);
    schema_write_pair(&w, "type", SPAN("node"));
    schema_write_key(&w, SPAN("data"));
    schema_write_object(&w);
    schema_write_pair(&w, "user_id", author->user_id);
    schema_write_pair(&w, "nickname", author->nickname.len ? author->nickname : author->user_id);
    schema_write_key(&w, SPAN("content"));
    schema_write_raw(&w, parts->steps[i].params);
    schema_write_object_end(&w);
    schema_write_object_end(&w);
  }
  schema_write_array_end(&w);
  schema_write_object_end(&w);
  struct span params = arena_copy(arena, buf_span(&out));
  if (out.failed) arena->failed = true;
  buf_done(&out);
  return params;
}

/* One step as the steps it becomes. */
static bool replace(const struct ob_step *step, const struct ob_target *target, bool forward,
                    size_t max, const struct ob_author *author, struct arena *arena,
                    struct ob_plan *ret)
{
  struct ob_compose c;
  struct span head = forward ? SPAN("[") : ob_plan_head(target, arena);
  ob_compose_init(&c, step->action, head, forward ? SPAN("]") : SPAN("]}"), arena);
  bool fine = cut_send(step, !forward, max, &c) && ob_compose_end(&c, ret);
  ob_compose_done(&c);
  if (!fine || !forward) return fine;
  struct ob_step *one = arena_alloc(arena, sizeof *one);
  if (!one) return false;
  *one = (struct ob_step) { .kind = OB_STEP_SEND,
                            .action = target->group_id.len ? SPAN("send_group_forward_msg")
                                                           : SPAN("send_private_forward_msg"),
                            .params = forward_params(target, author, ret, arena),
                            .message = step->message,
                            .chars = step->chars };
  *ret = (struct ob_plan) { one, 1 };
  return true;
}

static bool is_long(const struct ob_step *step, size_t max)
{
  return step->kind == OB_STEP_SEND && !step->card && step->chars > max;
}

enum schema_code ob_longtext_apply(const struct ob_profile *profile, const struct ob_target *target,
                                   enum ob_long_form form, size_t max,
                                   const struct ob_author *author, const struct ob_plan *plan,
                                   struct arena *arena, struct ob_plan *ret)
{
  bool forward = form == OB_LONG_FORWARD && profile->forward && author->user_id.len > 0;
  size_t count = 0;
  struct ob_plan *parts = arena_alloc(arena, plan->count * sizeof *parts);
  if (!parts) return SCHEMA_ENOMEM;
  for (size_t i = 0; i < plan->count; i++) {
    parts[i] = (struct ob_plan) { &plan->steps[i], 1 };
    if (is_long(&plan->steps[i], max) &&
        !replace(&plan->steps[i], target, forward, max, author, arena, &parts[i]))
      return SCHEMA_ENOMEM;
    count += parts[i].count;
  }
  struct ob_step *steps = arena_alloc(arena, count * sizeof *steps);
  if (!steps) return SCHEMA_ENOMEM;
  size_t at = 0;
  for (size_t i = 0; i < plan->count; i++) {
    if (parts[i].count) memcpy(steps + at, parts[i].steps, parts[i].count * sizeof *steps);
    at += parts[i].count;
  }
  if (arena->failed) return SCHEMA_ENOMEM;
  *ret = (struct ob_plan) { steps, count };
  return SCHEMA_OK;
}
