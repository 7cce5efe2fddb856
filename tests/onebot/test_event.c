#include <criterion/criterion.h>

#include "onebot/event.h"

#define HEAD "\"self_id\":9,\"post_type\":\"message\",\"user_id\":10001,\"message_id\":7,"
#define GROUP HEAD "\"message_type\":\"group\",\"group_id\":1,"
#define SENDER "\"sender\":{\"role\":\"admin\",\"card\":\"名片\",\"nickname\":\"昵称\"},"

static struct ob_event read_event(const char *json, struct arena *arena)
{
  struct ob_event e;
  struct schema_error error = { .code = SCHEMA_OK };
  arena_init(arena, 1 << 20);
  cr_assert_eq(ob_event_read(span_of(json), SPAN("9"), arena, &e, &error), SCHEMA_OK, "%s", json);
  return e;
}

static void same(const char *label, const char *what, struct span got, const char *want)
{
  cr_expect(span_is(got, want), "%s: %s is %.*s", label, what, (int)got.len, got.ptr);
}

static const struct {
  const char *label, *json;
  enum ob_event_type type;
  const char *group, *user, *message, *text, *reply; /* "": none */
  enum ob_role role;
  bool mentioned;
} rows[] = {
  { "group", "{" GROUP SENDER "\"message\":\"hi\"}", OB_EVENT_GROUP, "1", "10001", "7", "hi", "",
    OB_ROLE_ADMIN, false },
  { "texts are joined",
    "{" GROUP "\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"a\"}},{\"type\":\"face\","
    "\"data\":{}},{\"type\":\"text\",\"data\":{\"text\":\"b\"}}]}",
    OB_EVENT_GROUP, "1", "10001", "7", "ab", "", OB_ROLE_NONE, false },
  { "no message", "{" GROUP "\"x\":1}", OB_EVENT_GROUP, "1", "10001", "7", "", "", OB_ROLE_NONE,
    false },
  { "odd segments",
    "{" GROUP "\"message\":[1,\"x\",{},{\"type\":5},{\"type\":\"text\"},{\"type\":\"text\","
    "\"data\":[]},{\"type\":\"at\",\"data\":{\"qq\":[9]}}]}",
    OB_EVENT_GROUP, "1", "10001", "7", "", "", OB_ROLE_NONE, false },
  { "mention by number", "{" GROUP "\"message\":[{\"type\":\"at\",\"data\":{\"qq\":9}}]}",
    OB_EVENT_GROUP, "1", "10001", "7", "", "", OB_ROLE_NONE, true },
  { "mention in a string", "{" GROUP "\"message\":\"[CQ:reply,id=5][CQ:at,qq=9] x\"}",
    OB_EVENT_GROUP, "1", "10001", "7", " x", "5", OB_ROLE_NONE, true },
  { "an escaped code is text", "{" GROUP "\"message\":\"&#91;CQ:at,qq=9&#93;\"}", OB_EVENT_GROUP,
    "1", "10001", "7", "[CQ:at,qq=9]", "", OB_ROLE_NONE, false },
  { "only the first reply", "{" GROUP "\"message\":\"[CQ:reply,id=0][CQ:reply,id=5]\"}",
    OB_EVENT_GROUP, "1", "10001", "7", "", "", OB_ROLE_NONE, false },
  { "reply by message_id",
    "{" GROUP "\"message\":[{\"type\":\"reply\",\"data\":{\"message_id\":\"x\"}}]}", OB_EVENT_GROUP,
    "1", "10001", "7", "", "x", OB_ROLE_NONE, false },
  { "role in capitals", "{" GROUP "\"sender\":{\"role\":\"Owner\"},\"message\":\"\"}",
    OB_EVENT_GROUP, "1", "10001", "7", "", "", OB_ROLE_NONE, false },
  { "anonymous null", "{" GROUP SENDER "\"anonymous\":null,\"message\":\"\"}", OB_EVENT_GROUP, "1",
    "10001", "7", "", "", OB_ROLE_ADMIN, false },
  { "anonymous set", "{" GROUP SENDER "\"anonymous\":{},\"message\":\"\"}", OB_EVENT_GROUP, "1",
    "10001", "7", "", "", OB_ROLE_NONE, false },
  { "anonymous account",
    "{\"self_id\":9,\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":1,\"user_"
    "id\":\"80000000\",\"message_id\":7," SENDER "\"message\":\"\"}",
    OB_EVENT_GROUP, "1", "80000000", "7", "", "", OB_ROLE_NONE, false },
  { "private", "{" HEAD "\"message_type\":\"private\",\"group_id\":5," SENDER "\"message\":\"x\"}",
    OB_EVENT_PRIVATE, "", "10001", "7", "x", "", OB_ROLE_NONE, false },
  { "self",
    "{\"self_id\":9,\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":1,\"user_"
    "id\":9,\"message_id\":7,\"message\":\"x\"}",
    OB_EVENT_SELF, "1", "9", "7", "x", "", OB_ROLE_NONE, false },
  { "message_sent",
    "{\"self_id\":9,\"post_type\":\"message_sent\",\"message_type\":\"private\",\"user_id\":9,"
    "\"target_id\":5,\"message_id\":7,\"message\":\"x\"}",
    OB_EVENT_SELF, "", "9", "7", "x", "", OB_ROLE_NONE, false },
  { "the bot in a guild",
    "{\"post_type\":\"message\",\"message_type\":\"guild\",\"user_id\":\"77\",\"self_tiny_id\":"
    "\"77\",\"message\":\"x\"}",
    OB_EVENT_SELF, "", "77", "", "x", "", OB_ROLE_NONE, false },
  { "unknown kind of chat", "{" HEAD "\"message_type\":\"discuss\",\"message\":\"x\"}",
    OB_EVENT_OTHER, "", "", "", "", "", OB_ROLE_NONE, false },
  { "ids of other types",
    "{\"post_type\":\"notice\",\"notice_type\":\"x\",\"group_id\":{},\"user_id\":[1],\"message_"
    "id\":1e3}",
    OB_EVENT_NOTICE, "", "", "", "", "", OB_ROLE_NONE, false },
  { "ids that are none",
    "{\"post_type\":\"request\",\"group_id\":\"undefined\",\"user_id\":\"null\",\"message_id\":"
    "\"0\"}",
    OB_EVENT_REQUEST, "", "", "", "", "", OB_ROLE_NONE, false },
  { "a notice has no text",
    "{\"post_type\":\"notice\",\"group_id\":1,\"user_id\":2,\"message\":\"x\"," SENDER
    "\"message_id\":3}",
    OB_EVENT_NOTICE, "1", "2", "3", "", "", OB_ROLE_NONE, false },
  { "meta",
    "{\"post_type\":\"meta_event\",\"meta_event_type\":\"heartbeat\",\"user_id\":5,\"group_id\":6}",
    OB_EVENT_META, "", "", "", "", "", OB_ROLE_NONE, false },
  { "unknown post", "{\"post_type\":\"Message\",\"user_id\":5}", OB_EVENT_OTHER, "", "", "", "", "",
    OB_ROLE_NONE, false },
};

Test(event, is_read_for_what_the_program_needs)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct ob_event e = read_event(rows[i].json, &arena);
    cr_expect_eq(e.type, rows[i].type, "%s: %s", rows[i].label, ob_event_type_word(e.type));
    same(rows[i].label, "group", e.group_id, rows[i].group);
    same(rows[i].label, "user", e.user_id, rows[i].user);
    same(rows[i].label, "message", e.message_id, rows[i].message);
    same(rows[i].label, "text", e.text, rows[i].text);
    same(rows[i].label, "reply", e.reply_to, rows[i].reply);
    cr_expect_eq(e.role, rows[i].role, "%s", rows[i].label);
    cr_expect_eq(e.mentions_self, rows[i].mentioned, "%s", rows[i].label);
    arena_done(&arena);
  }
}

Test(event, knows_names_details_and_its_own_account)
{
  struct arena arena;
  struct ob_event e = read_event("{" GROUP SENDER "\"message\":\"\"}", &arena);
  same("card", "name", e.sender_name, "名片");
  same("its own", "self_id", e.self_id, "9");
  arena_done(&arena);
  e = read_event("{" GROUP "\"sender\":{\"card\":\"\",\"nickname\":\"昵称\"}}", &arena);
  same("nickname", "name", e.sender_name, "昵称");
  arena_done(&arena);
  e = read_event("{\"post_type\":\"notice\",\"notice_type\":\"group_ban\"}", &arena);
  same("notice", "detail", e.detail, "group_ban");
  same("of the connection", "self_id", e.self_id, "9");
  arena_done(&arena);
  e = read_event(
      "{\"self_id\":\"8\",\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\"}", &arena);
  same("meta", "detail", e.detail, "lifecycle");
  same("of the event", "self_id", e.self_id, "8");
  arena_done(&arena);
}

Test(event, refuses_what_is_no_event)
{
  static const struct {
    const char *json;
    enum schema_code code;
  } bad[] = {
    { "", SCHEMA_ETRUNCATED },
    { "[]", SCHEMA_ETYPE },
    { "\"x\"", SCHEMA_ETYPE },
    { "{", SCHEMA_ETRUNCATED },
    { "{} x", SCHEMA_ESYNTAX },
    { "{\"a\":1,\"a\":2}", SCHEMA_EDUPLICATE },
    { "{\"a\":\"\xFF\"}", SCHEMA_EUTF8 },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena arena;
    struct ob_event e;
    arena_init(&arena, 1 << 16);
    cr_expect_eq(ob_event_read(span_of(bad[i].json), SPAN("9"), &arena, &e, NULL), bad[i].code,
                 "%s", bad[i].json);
    arena_done(&arena);
  }
}
