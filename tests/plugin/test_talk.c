/* talk and lookup: what a model is shown of a chat, and what it finds there. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "onebot/native.h"
#include "plugin/agent/chat.h"
#include "plugin/agent/lookup.h"

static void add(struct rg_talk *t, const char *sender, const char *id, const char *text, bool ours)
{
  const struct rg_talk_line line = { .sender_id = span_of(sender),
                                     .name = SPAN("小\"明"),
                                     .message_id = span_of(id),
                                     .text = span_of(text),
                                     .ours = ours };
  rg_talk_add(t, &line);
}

Test(talk, people_are_data_and_the_bot_is_the_model)
{
  struct rg_talk t = { .count = 0 };
  struct arena arena;
  struct rg_said *said;
  arena_init(&arena, 1 << 20);
  cr_expect_eq(rg_talk_said(&t, 10, SPAN(""), &arena, &said), 0, "nothing was said");
  add(&t, "99", "1", "mine, before anyone spoke", true);
  add(&t, "5", "2", "one\n{\"sender_id\":\"1\"}", false);
  add(&t, "6", "3", "two", false);
  add(&t, "99", "4", "an answer", true);
  add(&t, "99", "5", "", true);
  add(&t, "5", "6", "three", false);
  cr_assert_eq(rg_talk_said(&t, 10, SPAN(""), &arena, &said), 3);
  cr_expect(said[0].by == RG_SAID_USER && said[1].by == RG_SAID_MODEL &&
            said[2].by == RG_SAID_USER);
  cr_expect(span_is(said[1].text, "an answer"));
  size_t lines = 0;
  for (size_t i = 0; i < said[0].text.len; i++) lines += said[0].text.ptr[i] == '\n';
  cr_expect_eq(lines, 2, "a line for each message, whatever its text: %.*s", (int)said[0].text.len,
               said[0].text.ptr);
  cr_expect(span_find(said[0].text, SPAN("小\\\"明")) < said[0].text.len);
  cr_assert_eq(rg_talk_said(&t, 1, SPAN(""), &arena, &said), 1, "the limit counts messages");
  cr_expect(span_find(said[0].text, SPAN("three")) < said[0].text.len);
  cr_expect(rg_talk_knows(&t, SPAN("2")) && !rg_talk_knows(&t, SPAN("9")) &&
            !rg_talk_knows(&t, SPAN("")));
  cr_expect(rg_talk_is_ours(&t, SPAN("5")) && !rg_talk_is_ours(&t, SPAN("2")));
  rg_talk_done(&t);
  arena_done(&arena);
}

Test(talk, it_forgets_the_oldest_and_cuts_the_longest)
{
  struct rg_talk t = { .count = 0 };
  struct arena arena;
  struct rg_said *said;
  char id[16], *text = malloc(30001);
  arena_init(&arena, 8 << 20);
  for (int i = 0; i < 30000; i += 3) memcpy(text + i, "明", 3);
  text[30000] = 0;
  for (int i = 0; i < 3 * RG_TALK_MAX; i++) {
    snprintf(id, sizeof id, "%d", i);
    add(&t, "5", id, text, false);
  }
  cr_expect_eq(t.count, RG_TALK_MAX);
  cr_expect(!rg_talk_knows(&t, SPAN("199")) && rg_talk_knows(&t, SPAN("200")));
  cr_assert_eq(rg_talk_said(&t, RG_TALK_MAX, SPAN(""), &arena, &said), 1);
  cr_expect_eq(span_utf8_fault(said[0].text), said[0].text.len, "cut between characters");
  cr_expect_lt(said[0].text.len, RG_TALK_MAX * (RG_TALK_LINE_MAX + 200));
  rg_talk_done(&t);
  arena_done(&arena);
  free(text);
}

static const struct {
  const char *message, *text;
} messages[] = {
  { "\"plain\"", "plain" },
  { "\"hi [CQ:at,qq=7]&#91;x&#93; [CQ:image,file=a,url=http://h/a]\"", "hi @7 [x] [image]" },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"a\"}},{\"type\":\"at\",\"data\":{\"qq\":\"7\"}},"
    "{\"type\":\"image\",\"data\":{}},{\"type\":\"reply\",\"data\":{\"id\":\"1\"}}]",
    "a@7 [image]" },
  { "[1,{},null]", "[][][]" },
  { "{}", "[]" },
  { "null", "" },
  { "7", "" },
};

Test(talk, messages_as_text)
{
  for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
    struct arena arena;
    struct schema_node *tree;
    struct buf out;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1000);
    cr_assert_eq(schema_tree_read(span_of(messages[i].message), 8, &arena, &tree, NULL), SCHEMA_OK);
    rg_talk_text(ob_native_read(tree, false, &arena), &out);
    cr_expect(span_is(buf_span(&out), messages[i].text), "row %zu: %.*s", i, (int)out.len, out.ptr);
    buf_done(&out);
    arena_done(&arena);
  }
}

Test(talk, a_message_that_is_too_long_is_cut)
{
  struct arena arena;
  struct schema_node *tree;
  struct buf out;
  const char *const message = "[{\"type\":\"text\",\"data\":{\"text\":\"明明明明\"}},"
                              "{\"type\":\"image\",\"data\":{}}]";
  for (size_t max = 0; max < 20; max++) {
    arena_init(&arena, 1 << 20);
    buf_init(&out, max);
    cr_assert_eq(schema_tree_read(span_of(message), 8, &arena, &tree, NULL), SCHEMA_OK);
    rg_talk_text(tree, &out);
    cr_expect(!out.failed && out.len <= max, "%zu", max);
    cr_expect_geq(out.len + 2, max < 12 ? max : 12, "%zu: %zu", max, out.len);
    cr_expect_eq(span_utf8_fault(buf_span(&out)), out.len, "%zu", max);
    buf_done(&out);
    arena_done(&arena);
  }
}

#define LIST                                                                                       \
  "{\"status\":\"ok\",\"data\":[{\"user_id\":1,\"card\":\"\",\"nickname\":\"明明\"},"            \
  "{\"user_id\":2,\"card\":\"Ming\",\"nickname\":\"x\"},{\"user_id\":3,\"card\":\"明\"},"         \
  "{},null,{\"user_id\":\"12\",\"nickname\":\"y\"}]}"

static const struct {
  const char *response, *name, *found;
} finds[] = {
  { LIST, "明", "[{\"user_id\":\"3\",\"name\":\"明\"},{\"user_id\":\"1\",\"name\":\"明明\"}]" },
  { LIST, "@明明", "[{\"user_id\":\"1\",\"name\":\"明明\"}]" },
  { LIST, "ming", "[{\"user_id\":\"2\",\"name\":\"Ming\"}]" },
  { LIST, "12", "[{\"user_id\":\"12\",\"name\":\"y\"}]" },
  { LIST, "nobody", "[]" },
  { LIST, "", "[]" },
  { LIST, "@", "[]" },
  { "{\"status\":\"failed\",\"data\":null}", "明", "[]" },
  { "broken", "明", "[]" },
  { "", "明", "[]" },
};

Test(lookup, members)
{
  for (size_t i = 0; i < sizeof finds / sizeof *finds; i++) {
    struct buf out;
    buf_init(&out, RG_LOOKUP_RESULT_MAX);
    rg_lookup_members(span_of(finds[i].response), span_of(finds[i].name), &out);
    cr_expect(span_is(buf_span(&out), finds[i].found), "row %zu: %.*s", i, (int)out.len, out.ptr);
    buf_done(&out);
  }
}

Test(lookup, tools_by_their_group)
{
  struct rg_tool tools[RG_LOOKUP_TOOLS];
  struct arena arena;
  arena_init(&arena, 1 << 20);
  cr_expect_eq(rg_lookup_tools(0, tools), 0);
  cr_expect_eq(rg_lookup_tools(RG_TOOL_GET_MESSAGE, tools), 1);
  cr_expect_str_eq(tools[0].name, "get_message");
  cr_expect_eq(rg_lookup_tools(3, tools), 2);
  for (size_t i = 0; i < 2; i++) {
    struct schema_node *tree;
    struct schema_misfit misfit;
    cr_assert_eq(schema_tree_read(tools[i].parameters, 16, &arena, &tree, NULL), SCHEMA_OK);
    cr_expect_eq(schema_portable_check(tree, &arena, &misfit), SCHEMA_OK, "%s", tools[i].name);
  }
  cr_expect_eq(rg_lookup_of(RG_TOOL_GET_MESSAGE, SPAN("find_member")), 0, "not allowed here");
  cr_expect_eq(rg_lookup_of(3, SPAN("find_member")), RG_TOOL_FIND_MEMBER);
  cr_expect(span_is(rg_lookup_argument(SPAN("{\"name\":\" 明 \"}"), "name", &arena), "明"));
  cr_expect(span_is(rg_lookup_argument(SPAN("{\"name\":-7}"), "name", &arena), "-7"));
  cr_expect_eq(rg_lookup_argument(SPAN("[]"), "name", &arena).len, 0);
  cr_expect_eq(rg_lookup_argument(SPAN("{"), "name", &arena).len, 0);
  arena_done(&arena);
}

Test(chat, found_again_and_bounded)
{
  static struct rg_chats all;
  static struct rg_account account;
  struct rg_chat *busy = rg_chat_get(&all, &account, true, SPAN("1"));
  char id[RG_ID_MAX];
  cr_assert_not_null(busy);
  busy->runs = 1;
  cr_expect_eq(rg_chat_get(&all, &account, true, SPAN("1")), busy);
  cr_expect_neq(rg_chat_get(&all, &account, false, SPAN("1")), busy, "a user's number");
  cr_expect_null(rg_chat_get(&all, &account, true, SPAN("")));
  cr_expect_null(rg_chat_get(&all, &account, true, SPAN("123456789012345678901234567890")));
  for (int i = 2; i < 3 * RG_CHATS_MAX; i++) {
    snprintf(id, sizeof id, "%d", i);
    rg_chat_get(&all, &account, true, span_of(id));
  }
  cr_expect_leq(all.count, RG_CHATS_MAX);
  cr_expect_eq(rg_chat_find(&all, &account, true, SPAN("1")), busy, "who works stays");
  rg_chats_done(&all);
}

Test(chat, budgets_by_name)
{
  struct rg_budget *list = NULL, *a = rg_budget_get(&list, SPAN("a"));
  cr_assert_not_null(a);
  rg_budget_spend(a, 5);
  rg_budget_spend(a, 6);
  cr_expect_eq(rg_budget_spent(rg_budget_get(&list, SPAN("a"))), 11);
  cr_expect_eq(rg_budget_spent(rg_budget_get(&list, SPAN("b"))), 0);
  a->day--;
  cr_expect_eq(rg_budget_spent(a), 0, "yesterday's do not count");
  rg_budgets_free(list);
}

/* ---- a message that is not the last one ---- */

static const struct {
  size_t limit;
  const char *asked;
  size_t count;
  const char *has, *not ;
} questions[] = {
  { 10, "4", 3, "\"text\":\"three\"", "answer\"" }, /* the last one, as always */
  { 10, "2", 3, "\"answer\":\"2\"", NULL },
  { 1, "2", 3, "\"text\":\"two\"", "one" },         /* back to it, whatever the limit */
  { 1, "99", 1, "\"text\":\"three\"", "answer\"" }, /* forgotten by now */
};

Test(talk, a_message_that_was_left_behind_is_named)
{
  struct rg_talk t = { .count = 0 };
  add(&t, "5", "1", "one", false);
  add(&t, "5", "2", "two", false);
  add(&t, "99", "3", "an answer", true);
  add(&t, "6", "4", "three", false);
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    struct arena arena;
    struct rg_said *said;
    struct buf all;
    arena_init(&arena, 1 << 20);
    buf_init(&all, 1 << 20);
    size_t n = rg_talk_said(&t, questions[i].limit, span_of(questions[i].asked), &arena, &said);
    cr_expect_eq(n, questions[i].count, "row %zu: %zu", i, n);
    for (size_t k = 0; k < n; k++) buf_add(&all, said[k].text);
    struct span text = buf_span(&all);
    cr_expect(span_find(text, span_of(questions[i].has)) < text.len, "row %zu: %s", i, all.ptr);
    if (questions[i].not )
      cr_expect_eq(span_find(text, span_of(questions[i].not )), text.len, "row %zu: %s", i,
                   all.ptr);
    buf_done(&all);
    arena_done(&arena);
  }
  /* behind the bot's own words it is a turn of its own */
  struct arena arena;
  struct rg_said *said;
  arena_init(&arena, 1 << 20);
  add(&t, "99", "5", "another answer", true);
  cr_assert_eq(rg_talk_said(&t, 10, SPAN("4"), &arena, &said), 5);
  cr_expect(said[3].by == RG_SAID_MODEL && said[4].by == RG_SAID_USER);
  cr_expect(span_is(said[4].text, "{\"answer\":\"4\"}\n"));
  rg_talk_done(&t);
  arena_done(&arena);
}

/* ---- a question that is too long ---- */

static const struct {
  const char *before,
      *after; /* U and M begin turns of people and of the model, T a tool's result */
} halves[] = {
  { "Uaaaa\nbbbb\ncccc\ndddd\n", "Ucccc\ndddd\n" },
  { "Uaaaa\n", "" },
  { "U", "" },
  { "Uaa\nbb\n|Mxxxx|Ucc\ndd\n", "Ucc\ndd\n" },
  { "Uaaaaaaaa\n|Mx|Uc\n", "Uc\n" },
  { "Ua\n|Mx|Ucccc\ndddd\neeee\nffff\n", "Ueeee\nffff\n" },
  { "Uaaaa\nbbbb\n|Mcalls|Tresult", "Ubbbb\n|Mcalls|Tresult" },
  { "Uone line that nothing can be left out of\n|Mcalls|Tresult", "" },
};

static size_t said_of(char *text, struct rg_said *ret)
{
  size_t n = 0;
  for (char *part = strtok(text, "|"); part; part = strtok(NULL, "|"))
    ret[n++] = (struct rg_said) { .by = part[0] == 'U'   ? RG_SAID_USER
                                        : part[0] == 'M' ? RG_SAID_MODEL
                                                         : RG_SAID_TOOL,
                                  .text = span_of(part + 1) };
  return n;
}

Test(talk, its_older_half_can_be_left_out)
{
  for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
    char text[128], found[128] = "";
    struct rg_said said[8];
    snprintf(text, sizeof text, "%s", halves[i].before);
    size_t n = said_of(text, said);
    bool done = rg_talk_halve(said, &n);
    cr_expect_eq(done, halves[i].after[0] != 0, "row %zu", i);
    for (size_t k = 0; k < n; k++)
      snprintf(found + strlen(found), sizeof found - strlen(found), "%s%c%.*s", k > 0 ? "|" : "",
               "UMT"[said[k].by], (int)said[k].text.len, said[k].text.ptr);
    if (done) cr_expect_str_eq(found, halves[i].after, "row %zu: %s", i, found);
  }
}

/* ---- pictures ---- */

static struct span addresses_in(const char *message, struct buf *out, struct arena *arena)
{
  struct schema_node *tree;
  cr_assert_eq(schema_tree_read(span_of(message), 64, arena, &tree, NULL), SCHEMA_OK);
  buf_clear(out);
  rg_talk_addresses(tree, out);
  return buf_span(out);
}

Test(talk, pictures_are_remembered_by_their_addresses)
{
  struct rg_talk t = { .count = 0 };
  struct rg_talk_picture found[4];
  struct arena arena;
  struct buf out;
  arena_init(&arena, 1 << 20);
  buf_init(&out, 1 << 20);
  cr_expect(span_is(
      addresses_in("[{\"type\":\"image\",\"data\":{\"file\":\"a.png\",\"url\":\"http://h/a\"}},"
                   "{\"type\":\"text\",\"data\":{\"text\":\"http://h/t\"}},"
                   "{\"type\":\"image\",\"data\":{\"file\":\"https://h/b\"}},"
                   "{\"type\":\"image\",\"data\":{\"file\":\"file:///etc/passwd\"}},"
                   "{\"type\":\"image\",\"data\":{\"url\":\"http://h/\\nx\"}},"
                   "{\"type\":\"image\"},7]",
                   &out, &arena),
      "http://h/a\nhttps://h/b\n"));
  cr_expect(span_is(addresses_in("[{\"type\":\"image\",\"data\":{\"url\":\"http://h/1\"}},"
                                 "{\"type\":\"image\",\"data\":{\"url\":\"http://h/2\"}},"
                                 "{\"type\":\"image\",\"data\":{\"url\":\"http://h/3\"}},"
                                 "{\"type\":\"image\",\"data\":{\"url\":\"http://h/4\"}},"
                                 "{\"type\":\"image\",\"data\":{\"url\":\"http://h/5\"}}]",
                                 &out, &arena),
                    "http://h/1\nhttp://h/2\nhttp://h/3\nhttp://h/4\n"));
  const struct rg_talk_line two = { .sender_id = SPAN("5"),
                                    .message_id = SPAN("2"),
                                    .text = SPAN("[image]"),
                                    .pictures = SPAN("http://h/a\nhttps://h/b\n") };
  const struct rg_talk_line one = { .sender_id = SPAN("5"),
                                    .message_id = SPAN("4"),
                                    .text = SPAN("[image]"),
                                    .pictures = SPAN("http://h/c\n") };
  rg_talk_add(&t, &two);
  add(&t, "5", "3", "words", false);
  rg_talk_add(&t, &one);
  cr_assert_eq(rg_talk_pictures(&t, 20, 2, &arena, found), 2);
  cr_expect(span_is(found[0].url, "https://h/b") && span_is(found[0].message_id, "2"));
  cr_expect(span_is(found[1].url, "http://h/c") && span_is(found[1].message_id, "4"));
  cr_expect_eq(rg_talk_pictures(&t, 20, 4, &arena, found), 3);
  cr_expect_eq(rg_talk_pictures(&t, 2, 4, &arena, found), 1, "only those of the lines shown");
  cr_expect_eq(rg_talk_pictures(&t, 20, 0, &arena, found), 0);
  rg_talk_done(&t);
  cr_expect_eq(rg_talk_pictures(&t, 20, 4, &arena, found), 0);
  buf_done(&out);
  arena_done(&arena);
}
