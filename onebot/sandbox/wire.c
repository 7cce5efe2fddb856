/* wire: see wire.h. */
#include "onebot/sandbox/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "onebot/id.h"
#include "onebot/sandbox/cq.h"

/* OneBots shows random numbers up to 1e11 instead of accounts. These are not random, so that they
 * can be read back without a table; 7 keeps neighbours apart. */
static const int64_t alias_base = INT64_C(30000000000), alias_step = 7;

static bool has_aliases(const struct ob_sandbox *b)
{
  return ob_played_fact_is(b->played, "account_ids", "alias");
}

/* A user or group as this implementation shows it. */
static int64_t shown_id(const struct ob_sandbox *b, int64_t id)
{
  bool alias = has_aliases(b) && id > 0 && id != OB_WORLD_SELF;
  return alias ? alias_base + id * alias_step : id;
}

int64_t ob_wire_id_back(const struct ob_sandbox *b, int64_t shown)
{
  if (!has_aliases(b) || shown == OB_WORLD_SELF) return shown;
  int64_t id = shown - alias_base;
  return id > 0 && id % alias_step == 0 ? id / alias_step : 0;
}

void ob_wire_write_id(const struct ob_sandbox *b, struct schema_writer *w, const char *key,
                      int64_t id)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, shown_id(b, id));
}

static void write_number(struct schema_writer *w, const char *key, int64_t n)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, n);
}

/* ---- segments ---- */

static bool is_media(struct span type)
{
  return ob_word_in(SPAN("image record video file"), type);
}

/* A medium that was sent as bytes gets the name that this implementation would give out. */
static void write_media(struct schema_writer *w, const struct ob_said *said, size_t n,
                        struct span type, const struct schema_node *data)
{
  struct span file = schema_tree_string(schema_tree_get(data, "file"));
  bool bytes = span_starts(file, SPAN("base64://")) || span_starts(file, SPAN("data:"));
  bool web = span_starts(file, SPAN("http://")) || span_starts(file, SPAN("https://"));
  const char *ending = span_is(type, "image") ? "png" : span_is(type, "record") ? "amr" : "mp4";
  char name[64];
  snprintf(name, sizeof name, "%" PRId64 "-%zu.%s", said->id, n, ending);
  schema_write_pair(w, "file", span_is(type, "file") && !bytes ? file : span_of(name));
  if (web) schema_write_pair(w, "url", file);
  char size[24];
  snprintf(size, sizeof size, "%zu", bytes ? file.len / 4 * 3 : 0);
  schema_write_pair(w, "file_size", span_of(size));
  struct span summary = schema_tree_string(schema_tree_get(data, "summary"));
  if (span_is(type, "image")) {
    write_number(w, "sub_type", 0);
    schema_write_pair(w, "summary", summary.ptr ? summary : SPAN(""));
  }
}

/* A member of data as it looks on the wire: aliases for the numbers of people. */
static void write_member(const struct ob_sandbox *b, struct schema_writer *w,
                         const struct schema_node *m)
{
  int64_t id;
  schema_write_key(w, m->key);
  if (has_aliases(b) && span_is(m->key, "qq") && ob_id_read(m->text, &id)) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, shown_id(b, id));
    schema_write_string(w, span_of(text));
    return;
  }
  schema_write_tree(w, m);
}

static void write_segments(const struct ob_sandbox *b, struct schema_writer *w,
                           const struct ob_said *said, const struct schema_node *array)
{
  size_t n = 0;
  schema_write_array(w);
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next, n++) {
    struct span type = schema_tree_string(schema_tree_get(s, "type"));
    const struct schema_node *data = schema_tree_get(s, "data");
    schema_write_object(w);
    schema_write_pair(w, "type", type);
    schema_write_key(w, SPAN("data"));
    schema_write_object(w);
    if (is_media(type)) {
      write_media(w, said, n, type, data);
    } else {
      for (const struct schema_node *m = data ? data->first : NULL; m; m = m->next)
        write_member(b, w, m);
    }
    schema_write_object_end(w);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

/* The message and raw_message of an event. */
static void write_content(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                          struct arena *arena)
{
  struct schema_node *array = NULL;
  struct schema_error error;
  struct buf json, cq;
  buf_init(&json, OB_SANDBOX_FRAME_MAX);
  buf_init(&cq, OB_SANDBOX_FRAME_MAX);
  if (schema_tree_read(said->segments, SCHEMA_DEPTH_EVENT, arena, &array, &error) == SCHEMA_OK) {
    struct schema_writer inner = { .out = &json };
    write_segments(b, &inner, said, array);
    array = NULL;
    if (!json.failed &&
        schema_tree_read(buf_span(&json), SCHEMA_DEPTH_EVENT, arena, &array, &error) == SCHEMA_OK)
      ob_cq_print(array, &cq);
  }
  schema_write_key(w, SPAN("message"));
  if (b->switches.string_form)
    schema_write_string(w, buf_span(&cq));
  else
    schema_write_raw(w, array ? buf_span(&json) : SPAN("[]"));
  schema_write_pair(w, "raw_message", buf_span(&cq));
  buf_done(&json);
  buf_done(&cq);
}

/* ---- messages ---- */

static void write_sender(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said)
{
  const struct ob_person *who = ob_world_person(&b->world, said->sender);
  const struct ob_member *member = ob_world_member(&b->world, said->group, said->sender);
  struct span words = ob_played_fact(b->played, said->group ? "sender_group" : "sender_private");
  schema_write_key(w, SPAN("sender"));
  schema_write_object(w);
  while (words.len) {
    struct span word = ob_word_next(&words);
    schema_write_key(w, word);
    if (span_is(word, "user_id"))
      schema_write_int(w, shown_id(b, said->sender));
    else if (span_is(word, "nickname"))
      schema_write_string(w, span_of(who ? who->name : ""));
    else if (span_is(word, "card"))
      schema_write_string(w, span_of(member ? member->card : ""));
    else if (span_is(word, "role"))
      schema_write_string(w, span_of(member ? member->role : "member"));
    else if (span_is(word, "age"))
      schema_write_int(w, 0);
    else
      schema_write_string(w, span_is(word, "sex") ? SPAN("unknown") : SPAN(""));
  }
  schema_write_object_end(w);
}

static void write_extra(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                        struct span word)
{
  char seq[24];
  snprintf(seq, sizeof seq, "%" PRId64, said->seq);
  if (span_is(word, "message_seq")) /* NapCat shows the id once more, the others a true sequence */
    write_number(w, "message_seq",
                 ob_played_fact_is(b->played, "app_name", "NapCat.Onebot") ? said->id : said->seq);
  else if (span_is(word, "real_id"))
    write_number(w, "real_id", said->id);
  else if (span_is(word, "real_seq"))
    schema_write_pair(w, "real_seq", span_of(seq));
  else if (span_is(word, "message_format"))
    schema_write_pair(w, "message_format",
                      b->switches.string_form ? SPAN("string") : SPAN("array"));
  else if (span_is(word, "group_name") && said->group)
    schema_write_pair(w, "group_name", span_of(ob_world_group(&b->world, said->group)->name));
  else if (span_is(word, "target_id") && !said->group)
    ob_wire_write_id(b, w, "target_id", said->sender == OB_WORLD_SELF ? said->user : OB_WORLD_SELF);
  else if (span_is(word, "anonymous") && said->group) {
    schema_write_key(w, SPAN("anonymous"));
    schema_write_null(w);
  }
}

static const char *sub_type(const struct ob_sandbox *b, const struct ob_said *said)
{
  if (said->group) return "normal";
  const struct ob_person *who = ob_world_person(&b->world, said->user);
  return who && who->is_friend ? "friend" : "group";
}

void ob_wire_message(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                     bool own, struct arena *arena)
{
  schema_write_object(w);
  write_number(w, "self_id", OB_WORLD_SELF);
  ob_wire_write_id(b, w, "user_id", said->sender);
  write_number(w, "time", said->time);
  write_number(w, "message_id", said->id);
  schema_write_pair(w, "message_type", said->group ? SPAN("group") : SPAN("private"));
  write_sender(b, w, said);
  write_number(w, "font", 14);
  schema_write_pair(w, "sub_type", span_of(sub_type(b, said)));
  write_content(b, w, said, arena);
  schema_write_pair(w, "post_type", own ? SPAN("message_sent") : SPAN("message"));
  if (said->group) ob_wire_write_id(b, w, "group_id", said->group);
  for (struct span words = ob_played_fact(b->played, "message_extra"); words.len;)
    write_extra(b, w, said, ob_word_next(&words));
  schema_write_object_end(w);
}

/* ---- other events ---- */

/* Begins an event object: time, self_id, post_type. The caller adds the rest and ends it. */
static void begin_event(struct schema_writer *w, const char *post_type)
{
  schema_write_object(w);
  write_number(w, "time", (int64_t)time(NULL));
  write_number(w, "self_id", OB_WORLD_SELF);
  schema_write_pair(w, "post_type", span_of(post_type));
}

void ob_wire_lifecycle(struct schema_writer *w)
{
  begin_event(w, "meta_event");
  schema_write_pair(w, "meta_event_type", SPAN("lifecycle"));
  schema_write_pair(w, "sub_type", SPAN("connect"));
  schema_write_object_end(w);
}

void ob_wire_status(struct ob_sandbox *b, struct schema_writer *w)
{
  schema_write_object(w);
  for (struct span words = ob_played_fact(b->played, "status"); words.len;) {
    struct span word = ob_word_next(&words);
    schema_write_key(w, word);
    if (span_is(word, "stat")) {
      schema_write_raw(w, SPAN("{}"));
    } else if (span_is(word, "plugins_good")) {
      schema_write_null(w);
    } else {
      schema_write_bool(w, !span_is(word, "online") || !b->switches.offline);
    }
  }
  schema_write_object_end(w);
}

void ob_wire_heartbeat(struct ob_sandbox *b, struct schema_writer *w)
{
  int64_t interval = b->switches.heartbeat_ms;
  if (interval == 0) ob_id_read(ob_played_fact(b->played, "heartbeat_ms"), &interval);
  begin_event(w, "meta_event");
  schema_write_pair(w, "meta_event_type", SPAN("heartbeat"));
  schema_write_key(w, SPAN("status"));
  ob_wire_status(b, w);
  write_number(w, "interval", interval);
  schema_write_object_end(w);
}

void ob_wire_recall(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                    int64_t operator_id)
{
  begin_event(w, "notice");
  schema_write_pair(w, "notice_type", said->group ? SPAN("group_recall") : SPAN("friend_recall"));
  if (said->group) {
    ob_wire_write_id(b, w, "group_id", said->group);
    ob_wire_write_id(b, w, "operator_id", operator_id);
  }
  ob_wire_write_id(b, w, "user_id", said->sender);
  write_number(w, "message_id", said->id);
  schema_write_object_end(w);
}

static int64_t count_of(const struct ob_said *said, struct span emoji)
{
  int64_t n = 0;
  for (size_t i = 0; i < said->reaction_count; i++) n += span_is(emoji, said->reactions[i].id);
  return n;
}

bool ob_wire_reaction(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                      struct span emoji, int64_t user, bool set)
{
  struct span type = ob_played_fact(b->played, "reaction_event");
  if (type.len == 0 || said->group == 0) return false;
  begin_event(w, "notice");
  schema_write_pair(w, "notice_type", type);
  ob_wire_write_id(b, w, "group_id", said->group);
  write_number(w, "message_id", said->id);
  if (span_is(type, "reaction")) {
    schema_write_pair(w, "sub_type", set ? SPAN("add") : SPAN("remove"));
    ob_wire_write_id(b, w, "operator_id", user);
    schema_write_pair(w, "code", emoji);
    write_number(w, "count", count_of(said, emoji));
  } else {
    ob_wire_write_id(b, w, "user_id", user);
    schema_write_key(w, SPAN("likes"));
    schema_write_array(w);
    schema_write_object(w);
    schema_write_pair(w, "emoji_id", emoji);
    write_number(w, "count", count_of(said, emoji));
    schema_write_object_end(w);
    schema_write_array_end(w);
    schema_write_key(w, SPAN("is_add"));
    schema_write_bool(w, set);
  }
  schema_write_object_end(w);
  return true;
}

void ob_wire_ban(struct ob_sandbox *b, struct schema_writer *w, int64_t group, bool on)
{
  begin_event(w, "notice");
  schema_write_pair(w, "notice_type", SPAN("group_ban"));
  schema_write_pair(w, "sub_type", on ? SPAN("ban") : SPAN("lift_ban"));
  ob_wire_write_id(b, w, "group_id", group);
  ob_wire_write_id(b, w, "operator_id", 10001);
  ob_wire_write_id(b, w, "user_id", OB_WORLD_SELF);
  write_number(w, "duration", on ? 3600 : 0);
  schema_write_object_end(w);
}

/* ---- answers ---- */

void ob_result_init(struct ob_result *r)
{
  *r = (struct ob_result) { .refused = false };
  buf_init(&r->data, OB_SANDBOX_FRAME_MAX);
  buf_init(&r->text, 64 * 1024);
}

void ob_result_done(struct ob_result *r)
{
  buf_done(&r->data);
  buf_done(&r->text);
}

void ob_wire_answer(const struct ob_sandbox *b, struct buf *out, const struct ob_result *r,
                    struct span echo)
{
  struct schema_writer w = { .out = out };
  struct span words = ob_played_fact(b->played, r->refused ? "failed_keys" : "ok_keys");
  struct span absent = ob_played_fact(b->played, "echo_absent");
  if (!echo.ptr && !span_is(absent, "omit")) echo = absent;
  schema_write_object(&w);
  if (!r->empty) {
    bool later = !r->refused && r->retcode == 1;
    schema_write_pair(&w, "status",
                      r->refused ? SPAN("failed")
                      : later    ? SPAN("async")
                                 : SPAN("ok"));
    write_number(&w, "retcode", r->retcode);
    schema_write_key(&w, SPAN("data"));
    schema_write_raw(&w, r->data.len && !r->refused ? buf_span(&r->data) : SPAN("null"));
    while (words.len) {
      struct span word = ob_word_next(&words);
      schema_write_key(&w, word);
      schema_write_string(&w, span_is(word, "stream") ? SPAN("normal-action") : buf_span(&r->text));
    }
  }
  if (echo.ptr) {
    schema_write_key(&w, SPAN("echo"));
    schema_write_raw(&w, echo);
  }
  schema_write_object_end(&w);
}
