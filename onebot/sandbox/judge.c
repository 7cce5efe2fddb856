/* judge: see judge.h. */
#include "onebot/sandbox/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "onebot/id.h"
#include "onebot/sandbox/cq.h"
#include "onebot/sandbox/embedded.h"
#include "onebot/sandbox/reference.h"

enum {
  SEGMENTS_MAX = 256 * 1024 * 1024, /* a frame of 50 MiB, escaped again at worst five times over */
  NOTES_MAX = 64 * 1024,            /* further notes are not kept */
};

void ob_judge_init(struct ob_judge *j, const char *played, struct ob_world *world,
                   struct arena *arena)
{
  *j = (struct ob_judge) { .played = played, .world = world, .arena = arena };
  buf_init(&j->text, 4096);
  buf_init(&j->segments, SEGMENTS_MAX);
  buf_init(&j->notes, NOTES_MAX);
}

void ob_judge_done(struct ob_judge *j)
{
  buf_done(&j->text);
  buf_done(&j->segments);
  buf_done(&j->notes);
}

static void refuse(struct ob_judge *j, struct ob_failure failure, struct span detail)
{
  if (j->refused) return; /* the first reason counts */
  j->refused = true;
  j->retcode = failure.retcode;
  ob_failure_print(&failure, detail, &j->text);
}

void ob_judge_refuse(struct ob_judge *j, const char *fact, struct span detail)
{
  refuse(j, ob_played_failure(j->played, fact), detail);
}

void ob_judge_refuse_rule(struct ob_judge *j, struct span rule, struct span detail)
{
  struct ob_failure f = ob_played_failure(j->played, "failure");
  ob_word_next(&rule); /* "fail" */
  f.text = rule;
  refuse(j, f, detail);
}

void ob_judge_note(struct ob_judge_out *o, const char *format, ...)
{
  if (o->notes.out->len > NOTES_MAX / 2) return;
  char line[160];
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(line, sizeof line, format, ap);
  va_end(ap);
  if (n < 0) return;
  struct span text = { line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1 };
  text.len = span_utf8_fault(text); /* the end may have been cut within a character */
  schema_write_string(&o->notes, text);
}

static void begin_segment(struct ob_judge_out *o, struct span type)
{
  o->kept++;
  schema_write_object(&o->segments);
  schema_write_key(&o->segments, SPAN("type"));
  schema_write_string(&o->segments, type);
  schema_write_key(&o->segments, SPAN("data"));
  schema_write_object(&o->segments);
}

static void end_segment(struct ob_judge_out *o)
{
  schema_write_object_end(&o->segments);
  schema_write_object_end(&o->segments);
}

void ob_judge_write_text(struct ob_judge_out *o, struct span text)
{
  begin_segment(o, SPAN("text"));
  schema_write_pair(&o->segments, "text", text);
  end_segment(o);
}

/* ---- one segment ---- */

struct segment {
  const struct schema_node *node, *data;
  struct span type, rule, fields;
};

typedef void handler_fn(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s);

static void write_as_is(struct ob_judge_out *o, const struct segment *s)
{
  begin_segment(o, s->type);
  for (const struct schema_node *m = s->data->first; m; m = m->next) {
    schema_write_key(&o->segments, m->key);
    schema_write_tree(&o->segments, m);
  }
  end_segment(o);
}

static void write_literal(struct ob_judge_out *o, const struct segment *s)
{
  struct buf code;
  buf_init(&code, SEGMENTS_MAX);
  ob_cq_print_code(s->node, &code);
  ob_judge_write_text(o, buf_span(&code));
  buf_done(&code);
  ob_judge_note(o, "as a literal CQ code: %.*s", (int)s->type.len, s->type.ptr);
}

/* What the rule says of a segment that is not simply shown. */
static void apply(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s,
                  struct span rule)
{
  struct span rest = rule, word = ob_word_next(&rest);
  if (span_is(word, "literal")) {
    write_literal(o, s);
  } else if (span_is(word, "fail")) {
    struct span unknown = SPAN("fail 未知的消息类型：%s");
    if (rest.len)
      ob_judge_refuse_rule(j, rule, s->type);
    else
      ob_judge_refuse_rule(j, unknown, s->type);
  } else {
    ob_judge_note(o, "dropped: %.*s", (int)s->type.len, s->type.ptr);
  }
}

static void show(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  (void)j;
  write_as_is(o, s);
}

static void show_text(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  (void)j;
  struct span text = schema_tree_string(schema_tree_get(s->data, "text"));
  if (text.len == 0)
    ob_judge_note(o, "empty text");
  else
    ob_judge_write_text(o, text);
}

static void show_unseen(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  j->unseen = true;
  ob_judge_note(o, "nobody sees it: %.*s", (int)s->type.len, s->type.ptr);
  write_as_is(o, s);
}

static bool bot_is_admin(const struct ob_judge *j)
{
  struct ob_member *self = ob_world_member(j->world, j->group, OB_WORLD_SELF);
  return self && strcmp(self->role, "member") != 0;
}

static void write_at(struct ob_judge_out *o, struct span qq)
{
  begin_segment(o, SPAN("at"));
  schema_write_pair(&o->segments, "qq", qq);
  end_segment(o);
}

/* Which row of segments.tsv speaks of this mention. */
static const char *at_case(const struct ob_judge *j, struct span qq)
{
  int64_t id;
  if (j->group == 0) return "at private";
  if (span_is(qq, "all")) return "at all";
  if (span_is(qq, "0")) return "at 0";
  if (ob_id_read(qq, &id) && ob_world_member(j->world, j->group, id)) return "at";
  return "at stranger";
}

static void show_at(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  struct span qq = schema_tree_id(schema_tree_get(s->data, "qq"));
  struct span rule = ob_played_cell(j->played, OB_TABLE_SEGMENTS, span_of(at_case(j, qq)));
  if (span_is(rule, "bare")) {
    ob_judge_note(o, "mention of nobody: a bare @");
    ob_judge_write_text(o, SPAN("@"));
  } else if (span_is(rule, "everyone")) {
    ob_judge_note(o, "mention of 0: everyone");
    write_at(o, SPAN("all"));
  } else if (span_is(rule, "ok") || span_is(rule, "raw") ||
             (span_starts(rule, SPAN("admin")) && bot_is_admin(j))) {
    int64_t id;
    if (!span_is(qq, "all") && !(ob_id_read(qq, &id) && ob_world_person(j->world, id)))
      ob_judge_note(o, "mention of a stranger");
    write_at(o, qq);
  } else if (span_is(rule, "admin text")) {
    ob_judge_note(o, "@all as text: the bot is no admin");
    ob_judge_write_text(o, SPAN("@全体成员"));
  } else {
    apply(j, o, s, span_is(rule, "admin drop") ? SPAN("drop") : rule);
  }
}

/* The faces table: id, name, usable, type. */
static bool face_known(struct span id)
{
  struct span text = ob_embedded_find(SPAN("faces.tsv"));
  while (text.len) {
    const char *end = memchr(text.ptr, '\n', text.len);
    size_t len = end ? (size_t)(end - text.ptr) : text.len;
    struct span line = { text.ptr, len };
    if (line.len > id.len && line.ptr[id.len] == '\t' && span_starts(line, id)) return true;
    text.ptr += len + (end ? 1 : 0);
    text.len -= len + (end ? 1 : 0);
  }
  return false;
}

static bool is_known(const struct ob_judge *j, const struct segment *s)
{
  int64_t id;
  if (span_is(s->type, "face")) return face_known(schema_tree_id(schema_tree_get(s->data, "id")));
  struct span text = schema_tree_id(schema_tree_get(s->data, "id"));
  return ob_id_read(text, &id) && ob_world_said(j->world, id);
}

static void show_known(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  struct span rule = s->rule;
  ob_word_next(&rule); /* "known" */
  if (is_known(j, s)) {
    write_as_is(o, s);
    return;
  }
  ob_judge_note(o, "unknown id: %.*s", (int)s->type.len, s->type.ptr);
  if (span_is(rule, "fail"))
    ob_judge_refuse(j, "no_message", s->type);
  else
    apply(j, o, s, rule);
}

static void show_drawn(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  bool dice = span_is(s->type, "dice");
  struct span value = schema_tree_id(schema_tree_get(s->data, "value"));
  char drawn[24];
  snprintf(drawn, sizeof drawn, "%" PRIu64, 1 + ob_world_draw(j->world, dice ? 6 : 3));
  begin_segment(o, s->type);
  bool chosen = span_is(s->rule, "value") && value.len > 0;
  schema_write_pair(&o->segments, "result", chosen ? value : span_of(drawn));
  end_segment(o);
}

static void show_share(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  bool swapped = span_is(s->rule, "swapped");
  static const char *const names[] = { "url", "title", "content", "image" };
  static const char *const other[] = { "url", "title", "image", "content" };
  (void)j;
  begin_segment(o, s->type);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct span v = schema_tree_string(schema_tree_get(s->data, swapped ? other[i] : names[i]));
    if (v.len) schema_write_pair(&o->segments, names[i], v);
    if (v.len && swapped && i >= 2) ob_judge_note(o, "content and image change places");
  }
  end_segment(o);
}

static void show_junk(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  (void)j;
  ob_judge_note(o, "shown as something else: %.*s", (int)s->type.len, s->type.ptr);
  ob_judge_write_text(o, SPAN("测试"));
}

/* The value that counts of the first field ("url|file|path:s!"), and whether a second was given. */
static struct span reference(const struct segment *s, bool *doubled)
{
  struct span fields = s->fields, names = ob_word_next(&fields), found = { NULL, 0 };
  names.len = span_find(names, SPAN(":"));
  *doubled = false;
  while (names.len) {
    size_t len = span_find(names, SPAN("|"));
    for (const struct schema_node *m = s->data->first; m; m = m->next) {
      if (!span_eq(m->key, (struct span) { names.ptr, len })) continue;
      if (found.ptr) *doubled = true;
      if (!found.ptr && m->text.len) found = m->text;
    }
    len += len < names.len;
    names.ptr += len;
    names.len -= len;
  }
  return found;
}

static void show_media(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  bool doubled;
  struct span value = reference(s, &doubled);
  if (doubled) ob_judge_note(o, "two references in one %.*s", (int)s->type.len, s->type.ptr);
  enum ob_reference_fate fate = ob_reference_judge(j, s->type, value);
  if (fate == OB_REFERENCE_DROP) apply(j, o, s, SPAN("drop"));
  if (fate == OB_REFERENCE_JUNK)
    ob_judge_note(o, "nothing in the %.*s", (int)s->type.len, s->type.ptr);
  if (fate == OB_REFERENCE_DROP || fate == OB_REFERENCE_FAIL) return;
  begin_segment(o, s->type);
  schema_write_pair(&o->segments, "file", value);
  static const char *const extra[] = { "name", "summary", "thumb", "cover" };
  for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
    struct span v = schema_tree_string(schema_tree_get(s->data, extra[i]));
    if (v.len) schema_write_pair(&o->segments, extra[i], v);
  }
  end_segment(o);
}

static void show_music(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  ob_judge_music(j, o, s->node);
}

static void show_json(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  ob_judge_ark(j, o, s->node);
}

static const struct {
  const char *type; /* NULL: any */
  const char *word; /* the first word of the rule; NULL: any */
  handler_fn *run;
} handlers[] = {
  { "text", "ok", show_text },     { "at", NULL, show_at },        { "music", "ok", show_music },
  { "json", "ok", show_json },     { "share", NULL, show_share },  { "image", "ok", show_media },
  { "record", "ok", show_media },  { "video", "ok", show_media },  { "file", "ok", show_media },
  { NULL, "known", show_known },   { NULL, "random", show_drawn }, { NULL, "value", show_drawn },
  { NULL, "unseen", show_unseen }, { NULL, "junk", show_junk },    { NULL, "ok", show },
  { NULL, "alone", show },
};

/* A rule that needs no look at the data. */
static bool is_fate(struct span rule)
{
  return ob_word_in(SPAN("drop fail literal nodes forward"), ob_word_next(&rule));
}

static void judge_segment(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  struct span rest = s->rule, word = ob_word_next(&rest);
  if (span_is(word, "forward")) {
    apply(j, o, s, rest); /* nobody sends files to the bot here, so none can be forwarded */
    return;
  }
  if (is_fate(word)) {
    if (span_is(word, "nodes")) /* beside other segments */
      ob_judge_refuse(j, "bad_params", SPAN("message"));
    else
      apply(j, o, s, s->rule);
    return;
  }
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
    bool fits = (!handlers[i].type || span_is(s->type, handlers[i].type)) &&
                (!handlers[i].word || span_is(word, handlers[i].word));
    if (!fits) continue;
    handlers[i].run(j, o, s);
    return;
  }
}

/* ---- the members of data ---- */

static bool kind_allowed(struct span types, const struct schema_node *m)
{
  static const char letters[] = {
    [SCHEMA_NULL] = '-',   [SCHEMA_BOOL] = 'b',  [SCHEMA_NUMBER] = 'n',
    [SCHEMA_STRING] = 's', [SCHEMA_ARRAY] = 'a', [SCHEMA_OBJECT] = 'o'
  };
  return memchr(types.ptr, letters[m->kind], types.len) != NULL;
}

static bool name_in(struct span names, struct span key) /* names: "url|file|path" */
{
  while (names.len) {
    size_t len = span_find(names, SPAN("|"));
    if (span_eq((struct span) { names.ptr, len }, key)) return true;
    len += len < names.len;
    names.ptr += len;
    names.len -= len;
  }
  return false;
}

/* Whether the members that the field speaks of have its types and, where needed, are there. */
static bool field_fits(struct span field, const struct schema_node *data)
{
  size_t colon = span_find(field, SPAN(":"));
  struct span names = { field.ptr, colon };
  struct span types = { field.ptr + colon, field.len - colon };
  bool there = false;
  for (const struct schema_node *m = data->first; m; m = m->next) {
    if (!name_in(names, m->key)) continue;
    if (!kind_allowed(types, m)) return false;
    there = true;
  }
  return there || !span_ends(field, SPAN("!"));
}

static bool field_known(struct span fields, struct span key)
{
  while (fields.len) {
    struct span field = ob_word_next(&fields);
    field.len = span_find(field, SPAN(":"));
    if (name_in(field, key)) return true;
  }
  return false;
}

static bool check_fields(struct ob_judge *j, struct ob_judge_out *o, const struct segment *s)
{
  for (struct span fields = s->fields; fields.len;) {
    struct span field = ob_word_next(&fields);
    if (field_fits(field, s->data)) continue;
    field.len = span_find(field, SPAN(":"));
    ob_judge_refuse(j, "bad_params", field);
    return false;
  }
  for (const struct schema_node *m = s->data->first; m; m = m->next)
    if (!field_known(s->fields, m->key))
      ob_judge_note(o, "ignored: %.*s.%.*s", (int)s->type.len, s->type.ptr, (int)m->key.len,
                    m->key.ptr);
  return true;
}

/* ---- a whole message ---- */

static bool read_segment(const struct ob_judge *j, const struct schema_node *node,
                         struct segment *ret)
{
  static const struct schema_node nothing = { .kind = SCHEMA_OBJECT };
  struct segment s = { .node = node, .type = schema_tree_string(schema_tree_get(node, "type")) };
  s.data = schema_tree_get(node, "data");
  if (!s.data) s.data = &nothing;
  if (!s.type.ptr || s.data->kind != SCHEMA_OBJECT) return false;
  s.rule = ob_played_cell(j->played, OB_TABLE_SEGMENTS, s.type);
  bool a_case = memchr(s.type.ptr, ' ', s.type.len) != NULL; /* "at all" is a row, but no type */
  if (!s.rule.ptr || a_case) s.rule = ob_played_cell(j->played, OB_TABLE_SEGMENTS, SPAN("*"));
  s.fields = ob_played_cell(j->played, OB_TABLE_FIELDS, s.type);
  *ret = s;
  return true;
}

/* Types that reach a chat only as a message of their own. */
static bool goes_alone(struct span type)
{
  static const char *const types[] = { "record",  "video", "file",    "json",     "xml",
                                       "music",   "share", "dice",    "rps",      "markdown",
                                       "forward", "poke",  "contact", "location", "mface" };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (span_is(type, types[i])) return true;
  return false;
}

/* The one segment beside which the implementation ignores the others, or NULL. */
static const struct schema_node *lonely(const struct ob_judge *j, const struct schema_node *array)
{
  bool music =
      span_is(ob_played_cell(j->played, OB_TABLE_MUSIC, SPAN("others beside it")), "ignored");
  for (const struct schema_node *n = array->first; n; n = n->next) {
    struct segment s;
    if (!read_segment(j, n, &s)) continue;
    if (span_is(s.rule, "alone") || (music && span_is(s.type, "music"))) return n;
  }
  return NULL;
}

static void judge_array(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *array)
{
  const struct schema_node *only = array->count > 1 ? lonely(j, array) : NULL;
  for (const struct schema_node *n = array->first; n && !j->refused; n = n->next) {
    struct segment s;
    if (!read_segment(j, n, &s)) {
      ob_judge_refuse(j, "bad_params", SPAN("message"));
      return;
    }
    if (only && n != only) {
      apply(j, o, &s, SPAN("drop"));
      continue;
    }
    if (array->count > 1 && goes_alone(s.type))
      ob_judge_note(o, "beside others: %.*s", (int)s.type.len, s.type.ptr);
    if (is_fate(s.rule) || check_fields(j, o, &s)) judge_segment(j, o, &s);
  }
}

/* A message in any of its forms as an array. NULL: it is none. */
static const struct schema_node *as_array(struct ob_judge *j, const struct schema_node *message,
                                          bool plain)
{
  if (!message) return NULL;
  if (message->kind == SCHEMA_ARRAY) return message;
  struct schema_node *array = arena_zalloc(j->arena, 1, sizeof *array);
  if (!array) return NULL;
  array->kind = SCHEMA_ARRAY;
  if (message->kind == SCHEMA_OBJECT) {
    struct schema_node *one = arena_alloc(j->arena, sizeof *one);
    if (!one) return NULL;
    *one = *message;
    one->next = NULL;
    array->first = one;
    array->count = 1;
    return array;
  }
  if (message->kind != SCHEMA_STRING) return NULL;
  struct buf text;
  buf_init(&text, SEGMENTS_MAX);
  if (plain) {
    struct ob_judge_out o = { .segments = { .out = &text } };
    schema_write_array(&o.segments);
    ob_judge_write_text(&o, message->text);
    schema_write_array_end(&o.segments);
  } else {
    ob_cq_read(message->text, &text);
  }
  struct span json =
      text.failed ? (struct span) { NULL, 0 } : arena_copy(j->arena, buf_span(&text));
  buf_done(&text);
  struct schema_error error;
  if (!json.ptr ||
      schema_tree_read(json, SCHEMA_DEPTH_EVENT, j->arena, &array, &error) != SCHEMA_OK)
    return NULL;
  return array;
}

static struct ob_judge_out begin(struct ob_judge *j)
{
  struct ob_judge_out o = { .segments = { .out = &j->segments }, .notes = { .out = &j->notes } };
  schema_write_array(&o.segments);
  schema_write_array(&o.notes);
  return o;
}

static void end(struct ob_judge *j, struct ob_judge_out *o)
{
  schema_write_array_end(&o->segments);
  schema_write_array_end(&o->notes);
  if (!j->refused && o->kept == 0) ob_judge_refuse(j, "nothing_left", SPAN(""));
  if (!j->refused && (j->segments.failed || j->notes.failed))
    ob_judge_refuse(j, "upload", SPAN("")); /* out of memory: the message is lost, and it says so */
}

static void judge_nodes(struct ob_judge *j, struct ob_judge_out *o,
                        const struct schema_node *nodes);

void ob_judge_message(struct ob_judge *j, const struct schema_node *message, bool plain)
{
  const struct schema_node *array = as_array(j, message, plain);
  if (!array) {
    ob_judge_refuse(j, "bad_params", SPAN("message"));
    return;
  }
  struct ob_judge_out o = begin(j);
  struct segment first;
  bool nodes = array->first && read_segment(j, array->first, &first) &&
               span_is(first.type, "node") && span_is(first.rule, "nodes");
  if (nodes)
    judge_nodes(j, &o, array);
  else
    judge_array(j, &o, array);
  end(j, &o);
}

/* ---- merged forwards ---- */

static struct span first_text(const struct schema_node *data, const char *a, const char *b)
{
  struct span v = schema_tree_id(schema_tree_get(data, a));
  return v.len ? v : schema_tree_id(schema_tree_get(data, b));
}

static void write_node(struct ob_judge_out *o, struct span user, struct span name,
                       struct span content)
{
  o->kept++;
  schema_write_object(&o->segments);
  schema_write_pair(&o->segments, "user_id", user);
  schema_write_pair(&o->segments, "nickname", name);
  schema_write_key(&o->segments, SPAN("content"));
  schema_write_raw(&o->segments, content);
  schema_write_object_end(&o->segments);
}

/* A node that names a message of the chat. */
static void judge_known_node(struct ob_judge *j, struct ob_judge_out *o, struct span id)
{
  int64_t n;
  const struct ob_said *said = ob_id_read(id, &n) ? ob_world_said(j->world, n) : NULL;
  const struct ob_person *who = said ? ob_world_person(j->world, said->sender) : NULL;
  char number[24];
  if (!who) {
    ob_judge_note(o, "dropped: a node with an unknown id");
    return;
  }
  snprintf(number, sizeof number, "%" PRId64, who->id);
  write_node(o, span_of(number), span_of(who->name), said->segments);
}

static void judge_node(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *node)
{
  const struct schema_node *data = schema_tree_get(node, "data");
  const struct schema_node *content = schema_tree_get(data, "content");
  if (!span_is(schema_tree_string(schema_tree_get(node, "type")), "node") || !data) {
    ob_judge_refuse(j, "bad_params", SPAN("messages"));
    return;
  }
  if (!content) {
    judge_known_node(j, o, schema_tree_id(schema_tree_get(data, "id")));
    return;
  }
  if (o->depth >= OB_FORWARD_DEPTH) {
    ob_judge_note(o, "dropped: nodes below %d levels", OB_FORWARD_DEPTH);
    return;
  }
  const struct schema_node *array = as_array(j, content, false);
  struct buf inner;
  buf_init(&inner, SEGMENTS_MAX);
  struct ob_judge_out part = { .segments = { .out = &inner },
                               .notes = o->notes,
                               .depth = o->depth + 1 };
  schema_write_array(&part.segments);
  bool nested = array && array->first &&
                span_is(schema_tree_string(schema_tree_get(array->first, "type")), "node");
  if (nested)
    judge_nodes(j, &part, array);
  else if (array)
    judge_array(j, &part, array);
  schema_write_array_end(&part.segments);
  o->notes = part.notes;
  struct span user = first_text(data, "user_id", "uin"),
              name = first_text(data, "nickname", "name");
  if (part.kept && !inner.failed)
    write_node(o, user.ptr ? user : SPAN("0"), name.ptr ? name : SPAN("QQ用户"), buf_span(&inner));
  else
    ob_judge_note(o, "dropped: an empty node");
  buf_done(&inner);
}

/* Writes one forward segment with the nodes that are left. */
static void judge_nodes(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *nodes)
{
  char id[40];
  snprintf(id, sizeof id, "sandbox-%016" PRIx64, ob_world_draw(j->world, UINT64_MAX));
  size_t before = o->kept;
  begin_segment(o, SPAN("forward"));
  schema_write_pair(&o->segments, "id", span_of(id));
  schema_write_key(&o->segments, SPAN("content"));
  schema_write_array(&o->segments);
  o->kept = before;
  for (const struct schema_node *n = nodes->first; n && !j->refused; n = n->next)
    judge_node(j, o, n);
  schema_write_array_end(&o->segments);
  end_segment(o);
}

void ob_judge_forward(struct ob_judge *j, const struct schema_node *nodes)
{
  if (!nodes || nodes->kind != SCHEMA_ARRAY) {
    ob_judge_refuse(j, "bad_params", SPAN("messages"));
    return;
  }
  struct ob_judge_out o = begin(j);
  judge_nodes(j, &o, nodes);
  end(j, &o);
}

void ob_judge_upload(struct ob_judge *j, struct span file, struct span name)
{
  struct ob_judge_out o = begin(j);
  enum ob_reference_fate fate = ob_reference_judge(j, SPAN("upload"), file);
  if (fate == OB_REFERENCE_OK) {
    begin_segment(&o, SPAN("file"));
    schema_write_pair(&o.segments, "file", file);
    if (name.len) schema_write_pair(&o.segments, "name", name);
    end_segment(&o);
  }
  end(j, &o);
}
