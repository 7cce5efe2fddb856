#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "onebot/client.h"
#include "onebot/sandbox/act.h"
#include "onebot/sandbox/cq.h"
#include "onebot/sandbox/embedded.h"
#include "tests/lib/peer.h"

/* ---- the tables ---- */

static size_t cells(struct span line)
{
  size_t n = 1;
  for (size_t i = 0; i < line.len; i++) n += line.ptr[i] == '\t';
  return n;
}

static struct span next_line(struct span *text)
{
  size_t len = span_find(*text, SPAN("\n"));
  struct span line = { text->ptr, len };
  len += len < text->len;
  text->ptr += len;
  text->len -= len;
  return line;
}

Test(sandbox, tables_have_a_cell_for_each_implementation)
{
  static const char *const tables[] = { "actions.tsv", "facts.tsv", "fields.tsv",
                                        "files.tsv",   "music.tsv", "segments.tsv" };
  struct buf names;
  buf_init(&names, 1024);
  for (size_t i = 0; ob_played_names[i]; i++) buf_printf(&names, "\t%s", ob_played_names[i]);
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    struct span text = ob_embedded_find(span_of(tables[t])), first = next_line(&text);
    cr_assert(text.len, "%s", tables[t]);
    cr_expect(span_ends(first, buf_span(&names)), "%s: %.*s", tables[t], (int)first.len, first.ptr);
    while (text.len) {
      struct span line = next_line(&text);
      cr_expect_eq(cells(line), 7, "%s: %.*s", tables[t], (int)line.len, line.ptr);
    }
  }
  cr_expect(ob_played_cell("napcat", OB_TABLE_FACTS, SPAN("no such row")).ptr == NULL);
  cr_expect_null(ob_played_find(SPAN("NapCat")));
  buf_done(&names);
}

Test(sandbox, every_action_of_the_table_is_played)
{
  struct ob_sandbox *b = calloc(1, sizeof *b);
  for (size_t i = 0; ob_played_names[i]; i++) {
    struct span text = ob_embedded_find(SPAN("actions.tsv"));
    next_line(&text);
    b->played = ob_played_names[i];
    while (text.len) {
      struct span line = next_line(&text), action = { line.ptr, span_find(line, SPAN("\t")) };
      bool has = span_is(ob_played_cell(b->played, OB_TABLE_ACTIONS, action), "yes");
      cr_expect_eq(ob_act_known(b, action), has, "%s: %.*s", b->played, (int)action.len,
                   action.ptr);
    }
    cr_expect_not(ob_act_known(b, SPAN("action")));
  }
  free(b);
}

/* ---- CQ codes ---- */

Test(sandbox, cq_codes_are_read)
{
  static const struct {
    const char *in, *out;
  } rows[] = {
    { "", "[]" },
    { "hi", "[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}]" },
    { "[CQ:at,qq=1]x",
      "[{\"type\":\"at\",\"data\":{\"qq\":\"1\"}},{\"type\":\"text\",\"data\":{\"text\":\"x\"}}]" },
    { "a[CQ:dice]",
      "[{\"type\":\"text\",\"data\":{\"text\":\"a\"}},{\"type\":\"dice\",\"data\":{}}]" },
    { "[CQ:image,file=a=b]", "[{\"type\":\"image\",\"data\":{\"file\":\"a=b\"}}]" },
    { "[CQ:image,file=a&#44;b&amp;c]", "[{\"type\":\"image\",\"data\":{\"file\":\"a,b&c\"}}]" },
    { "&amp;#91;", "[{\"type\":\"text\",\"data\":{\"text\":\"&#91;\"}}]" },
    { "[CQ:at,qq", "[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:at,qq\"}}]" },
    { "[CQ:at,qq]", "[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:at,qq]\"}}]" },
    { "[CQ:,qq=1]", "[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:,qq=1]\"}}]" },
    { "[CQ:a b]", "[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:a b]\"}}]" },
    { "[CQ:[CQ:dice]",
      "[{\"type\":\"text\",\"data\":{\"text\":\"[CQ:\"}},{\"type\":\"dice\",\"data\":{}}]" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf out;
    buf_init(&out, 4096);
    ob_cq_read(span_of(rows[i].in), &out);
    cr_expect(span_is(buf_span(&out), rows[i].out), "%s gives %s", rows[i].in, out.ptr);
    buf_done(&out);
  }
}

Test(sandbox, cq_codes_are_printed)
{
  static const struct {
    const char *in, *out;
  } rows[] = {
    { "[]", "" },
    { "[{\"type\":\"text\",\"data\":{\"text\":\"a,[b]&\"}}]", "a,&#91;b&#93;&amp;" },
    { "[{\"type\":\"at\",\"data\":{\"qq\":10001,\"name\":\"a,b\"}}]",
      "[CQ:at,qq=10001,name=a&#44;b]" },
    { "[{\"type\":\"dice\"}]", "[CQ:dice]" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct buf out;
    struct schema_node *tree;
    arena_init(&arena, 65536);
    buf_init(&out, 4096);
    cr_assert_eq(schema_tree_read(span_of(rows[i].in), 64, &arena, &tree, NULL), SCHEMA_OK);
    ob_cq_print(tree, &out);
    cr_expect(span_is(buf_span(&out), rows[i].out), "%s gives %s", rows[i].in, out.ptr);
    buf_done(&out);
    arena_done(&arena);
  }
}

/* ---- the judge, with what is no message ---- */

static bool refused(const char *played, const char *json, bool forward)
{
  struct arena arena;
  struct ob_world world;
  struct ob_judge j;
  struct schema_node *tree = NULL;
  arena_init(&arena, 16 * 1024 * 1024);
  ob_world_init(&world, 1);
  if (json)
    cr_assert_eq(schema_tree_read(span_of(json), 64, &arena, &tree, NULL), SCHEMA_OK, "%s", json);
  ob_judge_init(&j, played, &world, &arena);
  j.group = 123456789;
  if (forward)
    ob_judge_forward(&j, tree);
  else
    ob_judge_message(&j, tree, false);
  bool is = j.refused;
  struct span segments = buf_span(&j.segments);
  if (!is) {
    cr_expect_eq(schema_tree_read(segments, 64, &arena, &tree, NULL), SCHEMA_OK, "%s", json);
    cr_expect_eq(schema_tree_read(buf_span(&j.notes), 64, &arena, &tree, NULL), SCHEMA_OK);
  }
  ob_judge_done(&j);
  ob_world_done(&world);
  arena_done(&arena);
  return is;
}

Test(sandbox, what_is_no_message_is_refused)
{
  static const char *const rows[] = {
    NULL,
    "null",
    "5",
    "true",
    "{}",
    "[{}]",
    "[5]",
    "[[]]",
    "[null]",
    "{\"type\":5}",
    "{\"type\":\"text\"}",
    "{\"type\":\"text\",\"data\":5}",
    "{\"type\":\"text\",\"data\":null}",
    "{\"type\":\"text\",\"data\":{\"text\":5}}",
    "{\"type\":\"text\",\"data\":{\"text\":null}}",
    "{\"type\":\"at\",\"data\":{\"qq\":{}}}",
    "{\"type\":\"image\",\"data\":{}}",
    "{\"type\":\"image\",\"data\":{\"file\":[]}}",
    "{\"type\":\"at all\",\"data\":{\"qq\":\"1\"}}",
    "{\"type\":\"*\",\"data\":{}}",
    "{\"type\":\"\",\"data\":{}}",
    "\"\"",
    "\"[CQ:at,qq=1,qq=2]\"", /* a doubled key */
    "{\"type\":\"music\",\"data\":{}}",
    "{\"type\":\"json\",\"data\":{\"data\":\"{\"}}",
    "{\"type\":\"json\",\"data\":{\"data\":\"[]\"}}",
    "{\"type\":\"json\",\"data\":{}}",
    "{\"type\":\"node\",\"data\":{\"content\":5}}",
  };
  for (size_t p = 0; ob_played_names[p]; p++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      cr_expect(refused(ob_played_names[p], rows[i], false) ||
                    /* there an unknown segment is text */
                    strcmp(ob_played_names[p], "go-cqhttp") == 0,
                "%s takes %s", ob_played_names[p], rows[i]);
}

Test(sandbox, what_is_no_forward_is_refused)
{
  static const char *const rows[] = {
    NULL,
    "null",
    "[]",
    "{}",
    "[5]",
    "[{\"type\":\"text\",\"data\":{\"text\":\"x\"}}]",
    "[{\"type\":\"node\"}]",
    "[{\"type\":\"node\",\"data\":{}}]",
    "[{\"type\":\"node\",\"data\":{\"id\":\"5\"}}]",
    "[{\"type\":\"node\",\"data\":{\"content\":[]}}]",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect(refused("napcat", rows[i], true), "%s", rows[i]);
}

Test(sandbox, nested_nodes_are_cut_at_a_depth)
{
  struct buf json;
  buf_init(&json, 65536);
  for (int i = 0; i < 9; i++)
    buf_add(&json, SPAN("[{\"type\":\"node\",\"data\":{\"user_id\":\"1\",\"content\":"));
  buf_add(&json, SPAN("\"x\""));
  for (int i = 0; i < 9; i++) buf_add(&json, SPAN("}}]"));
  cr_expect(refused("napcat", json.ptr, true));
  buf_done(&json);
}

/* ---- the world ---- */

Test(sandbox, messages_are_bounded)
{
  struct ob_world w;
  ob_world_init(&w, 7);
  struct ob_chat *c = ob_world_chat(&w, 123456789, 0);
  for (int i = 1; i <= 1200; i++)
    cr_assert(ob_world_say(&w, 123456789, 0, 10003, i, SPAN("[]"), SPAN("[]")));
  cr_expect_eq(c->count, OB_WORLD_MESSAGES);
  cr_expect_eq(ob_chat_at(c, 0)->id, 701);
  cr_expect_null(ob_world_said(&w, 700));
  cr_expect_eq(ob_world_said(&w, 1200)->seq, 1200);
  size_t large = 40 * 1024 * 1024;
  char *bytes = calloc(1, large);
  for (int i = 0; i < 8; i++)
    ob_world_say(&w, 0, 10003, 10003, 5000 + i, (struct span) { bytes, large }, SPAN("[]"));
  cr_expect_leq(w.bytes, (size_t)OB_WORLD_BYTES);
  cr_expect(ob_world_said(&w, 5007));
  cr_expect_null(ob_world_say(&w, 5, 0, 10003, 1, SPAN("[]"), SPAN("[]")), "no such group");
  free(bytes);
  ob_world_done(&w);
  cr_expect_eq(w.bytes, 0);
}

Test(sandbox, reactions_are_bounded)
{
  struct ob_world w;
  ob_world_init(&w, 7);
  struct ob_said *s = ob_world_say(&w, 123456789, 0, 10003, 1, SPAN("[]"), SPAN("[]"));
  cr_expect(ob_world_react(s, SPAN("76"), 10001, true));
  cr_expect_not(ob_world_react(s, SPAN("76"), 10001, true), "twice");
  cr_expect(ob_world_react(s, SPAN("76"), 10002, true));
  cr_expect(ob_world_react(s, SPAN("76"), 10001, false));
  cr_expect_not(ob_world_react(s, SPAN("76"), 10001, false));
  cr_expect_eq(s->reactions[0].user, 10002);
  cr_expect_not(ob_world_react(s, SPAN(""), 10001, true));
  cr_expect_not(ob_world_react(s, SPAN("1234567890123456"), 10001, true), "too long");
  for (int i = 0; i < 2 * OB_WORLD_REACTIONS; i++) ob_world_react(s, SPAN("66"), 20000 + i, true);
  cr_expect_eq(s->reaction_count, OB_WORLD_REACTIONS);
  ob_world_done(&w);
}

/* ---- a client of ours against each played implementation ---- */

struct end {
  struct peer_count ready, events, answers;
  struct ob_client *client;
  char event[2048], answer[1024];
};

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct end *e = ctx;
  (void)why;
  if (state == OB_LINK_READY) peer_up(&e->ready);
}

static void on_event(void *ctx, struct span json)
{
  struct end *e = ctx;
  if (span_find(json, SPAN("\"message_type\"")) == json.len) return;
  snprintf(e->event, sizeof e->event, "%.*s", (int)json.len, json.ptr);
  peer_up(&e->events);
}

static void on_answer(void *ctx, const struct ob_answer *answer)
{
  struct end *e = ctx;
  snprintf(e->answer, sizeof e->answer, "%d %.*s", answer->kind, (int)answer->json.len,
           answer->json.ptr ? answer->json.ptr : "");
  peer_up(&e->answers);
}

static void call_send(void *arg)
{
  struct end *e = arg;
  ob_link_call(
      ob_client_link(e->client), SPAN("send_private_msg"),
      SPAN("{\"user_id\":10003,\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"好\"}}]}"),
      5000, on_answer, e);
}

/* ---- what was said ---- */

/* The members "text" of a history, and how it was refused. */
struct past {
  char texts[256];
  bool refused;
  int32_t retcode;
};

static struct past past(struct ob_sandbox *b, const char *action, const char *params)
{
  struct past found = { .texts = "" };
  struct arena arena;
  struct schema_node *tree;
  struct ob_result result;
  arena_init(&arena, 1 << 20);
  ob_result_init(&result);
  cr_assert_eq(schema_tree_read(span_of(params), 64, &arena, &tree, NULL), SCHEMA_OK, "%s", params);
  struct ob_act act = { b, tree, &arena, &result };
  bool known = ob_act_run(&act, span_of(action));
  found.refused = !known || result.refused;
  found.retcode = known ? result.retcode : 404;
  if (!found.refused)
    cr_assert_eq(schema_tree_read(buf_span(&result.data), 64, &arena, &tree, NULL), SCHEMA_OK);
  const struct schema_node *list = found.refused ? NULL : schema_tree_get(tree, "messages");
  for (const struct schema_node *m = list ? list->first : NULL; m; m = m->next) {
    const struct schema_node *first = schema_tree_get(m, "message")->first;
    struct span text = schema_tree_string(schema_tree_get(schema_tree_get(first, "data"), "text"));
    size_t used = strlen(found.texts);
    snprintf(found.texts + used, sizeof found.texts - used, "%.*s", (int)text.len, text.ptr);
  }
  ob_result_done(&result);
  arena_done(&arena);
  return found;
}

Test(sandbox, history_is_read_as_each_implementation_gives_it)
{
  static const struct {
    const char *played, *action, *params, *texts;
    int32_t retcode; /* of the refusal; 0: none */
  } rows[] = {
    { "napcat", "get_friend_msg_history", "{\"user_id\":10003}", "abd", 0 },
    { "napcat", "get_friend_msg_history", "{\"user_id\":\"10003\",\"count\":2}", "bd", 0 },
    { "napcat", "get_friend_msg_history", "{\"user_id\":10003,\"message_seq\":102}", "ab", 0 },
    { "napcat", "get_friend_msg_history", "{\"user_id\":10003,\"message_seq\":9}", "", 1200 },
    { "napcat", "get_friend_msg_history", "{\"user_id\":10004}", "", 1200 },
    { "napcat", "get_friend_msg_history", "{\"user_id\":5}", "", 1200 },
    { "napcat", "get_group_msg_history", "{\"group_id\":123456789}", "xyz", 0 },
    { "napcat", "get_group_msg_history", "{\"group_id\":123456789,\"message_seq\":0}", "xyz", 0 },
    { "napcat", "get_group_msg_history", "{\"group_id\":987654321}", "", 1200 },
    { "llbot", "get_friend_msg_history", "{\"user_id\":10003,\"message_seq\":2}", "ab", 0 },
    { "llbot", "get_friend_msg_history", "{\"user_id\":10003,\"message_seq\":102}", "", 0 },
    { "llbot", "get_group_msg_history", "{\"group_id\":987654321}", "", 0 },
    { "lagrange", "get_friend_msg_history", "{\"user_id\":10003}", "ddd", 0 },
    { "lagrange", "get_group_msg_history", "{\"group_id\":123456789,\"message_id\":106}", "xy", 0 },
    { "lagrange", "get_group_msg_history", "{\"group_id\":987654321}", "", 200 },
    { "go-cqhttp", "get_friend_msg_history", "{\"user_id\":10003}", "", 404 },
    { "go-cqhttp", "get_group_msg_history", "{\"group_id\":123456789,\"count\":1}", "xyz", 0 },
    { "onebots", "get_group_msg_history", "{\"group_id\":123456789}", "", 404 },
  };
  struct ob_sandbox *b = calloc(1, sizeof *b);
  ob_world_init(&b->world, 7);
  for (int i = 0; i < 4; i++) {
    char text[64];
    snprintf(text, sizeof text, "[{\"type\":\"text\",\"data\":{\"text\":\"%c\"}}]", 'a' + i);
    ob_world_say(&b->world, 0, 10003, i % 2 ? OB_WORLD_SELF : 10003, 101 + i, span_of(text),
                 SPAN("[]"));
  }
  ob_world_said(&b->world, 103)->recalled = true;
  for (int i = 0; i < 3; i++) {
    char text[64];
    snprintf(text, sizeof text, "[{\"type\":\"text\",\"data\":{\"text\":\"%c\"}}]", 'x' + i);
    ob_world_say(&b->world, 123456789, 0, 10003, 105 + i, span_of(text), SPAN("[]"));
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    b->played = ob_played_find(span_of(rows[i].played));
    struct past p = past(b, rows[i].action, rows[i].params);
    cr_expect_str_eq(p.texts, rows[i].texts, "row %zu: %s", i, p.texts);
    cr_expect_eq(p.refused, rows[i].retcode != 0, "row %zu", i);
    if (p.refused) cr_expect_eq(p.retcode, rows[i].retcode, "row %zu: %d", i, (int)p.retcode);
  }
  ob_world_done(&b->world);
  free(b);
}

static bool order(struct ob_sandbox *b, const char *request)
{
  struct buf answer;
  buf_init(&answer, 4096);
  bool done = ob_sandbox_control(b, span_of(request), &answer);
  done = done && span_find(buf_span(&answer), SPAN("\"ok\":true")) < answer.len;
  buf_done(&answer);
  return done;
}

static void meet(const char *played, const char *token)
{
  struct ob_service *s = NULL;
  struct ob_sandbox *b = NULL;
  struct end kept = { PEER_COUNT, PEER_COUNT, PEER_COUNT, NULL, "", "" }, *e = &kept;
  const struct ob_service_options none = { .ctx = NULL };
  cr_assert_eq(ob_service_start(&none, &s, NULL), SCHEMA_OK);
  cr_assert_eq(
      ob_sandbox_start(s, &(struct ob_sandbox_options) { .profile = played, .access_token = token },
                       &b, NULL),
      SCHEMA_OK);
  const struct ob_client_options options = {
    .name = "main",
    .url = ob_sandbox_link_url(b),
    .access_token = ob_sandbox_access_token(b),
    .on = { .ctx = e, .state = on_state, .event = on_event },
  };
  cr_assert_eq(ob_client_open(s, &options, &e->client, NULL), SCHEMA_OK);
  cr_expect(peer_reached(&e->ready, 1), "%s: not ready", played);
  cr_expect_str_eq(ob_link_profile(ob_client_link(e->client))->name, played);
  cr_expect(span_is(ob_link_self_id(ob_client_link(e->client)), "2854196310"));
  cr_expect(order(b, "{\"do\":\"say\",\"as\":10003,\"private\":true,\"text\":\"在吗\"}"));
  cr_expect(peer_reached(&e->events, 1), "%s: no event", played);
  cr_expect(strstr(e->event, "在吗"), "%s: %s", played, e->event);
  if (strcmp(played, "onebots") != 0) { /* its accounts are aliases */
    ob_service_post(s, call_send, e);
    cr_expect(peer_reached(&e->answers, 1), "%s: no answer", played);
    cr_expect(strstr(e->answer, "\"status\":\"ok\""), "%s: %s", played, e->answer);
  }
  cr_expect_not(order(b, "{\"do\":\"nothing\"}"));
  ob_sandbox_stop(b);
  ob_service_stop(s);
}

Test(sandbox, our_client_meets_each_implementation)
{
  for (size_t i = 0; ob_played_names[i]; i++) meet(ob_played_names[i], NULL);
  meet("napcat", "");
}

Test(sandbox, bad_options_are_refused)
{
  static const struct ob_sandbox_options rows[] = {
    { .profile = "icqq" },
    { .page_token = "" },
    { .page_token = "a b" },
    { .access_token = "ä" },
    { .host = "no address" },
    { .access_token = "0123456789012345678901234567890123456789012345678901234567890123456789"
                      "0123456789012345678901234567890123456789012345678901234567890123456789" },
  };
  struct ob_service *s = NULL;
  const struct ob_service_options none = { .ctx = NULL };
  cr_assert_eq(ob_service_start(&none, &s, NULL), SCHEMA_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ob_sandbox *b = NULL;
    struct schema_error error = { .what = NULL };
    cr_expect_neq(ob_sandbox_start(s, &rows[i], &b, &error), SCHEMA_OK, "row %zu", i);
    cr_expect_null(b);
    cr_expect(error.what, "row %zu says nothing", i);
  }
  struct ob_sandbox *first = NULL, *second = NULL;
  cr_assert_eq(ob_sandbox_start(s, &rows[0], &first, NULL), SCHEMA_EARGUMENT);
  cr_assert_eq(ob_sandbox_start(s, &(struct ob_sandbox_options) { .port = 0 }, &first, NULL),
               SCHEMA_OK);
  cr_expect_neq(ob_sandbox_start(s, &(struct ob_sandbox_options) { .port = ob_sandbox_port(first) },
                                 &second, NULL),
                SCHEMA_OK, "the port is taken");
  ob_sandbox_stop(first);
  ob_sandbox_stop(NULL);
  ob_service_stop(s);
}
