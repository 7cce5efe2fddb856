#include <criterion/criterion.h>

#include <stdio.h>

#include "plugin/admin/admin.h"
#include "schema/print.h"

#define ADMINS "endpoints: {main: {connect: host}}\nadmins: [20001]\n"

/* A bot with one configuration; commands are events that are handed to it. */
struct bot {
  struct rg_settings *settings;
  struct rg_admin admin;
  struct rg_ids own;
  struct arena arena;
  char log[4096];
  bool reload_fails;
};

static void on_audit(void *ctx, struct span line)
{
  struct bot *b = ctx;
  size_t n = strlen(b->log);
  snprintf(b->log + n, sizeof b->log - n, "%.*s\n", (int)line.len, line.ptr);
}

static void on_status(void *ctx, struct span endpoint, uint64_t group,
                      enum schema_language language, struct buf *out)
{
  (void)ctx, (void)language;
  buf_printf(out, "%.*s %llu ready", (int)endpoint.len, endpoint.ptr, (unsigned long long)group);
}

static void on_last(void *ctx, struct span endpoint, uint64_t group, struct span user, bool words,
                    enum schema_language language, struct buf *out)
{
  (void)ctx, (void)endpoint, (void)language;
  if (group != 9)
    buf_printf(out, "accept %llu %.*s %d", (unsigned long long)group, (int)user.len, user.ptr,
               words);
}

static void on_recall(void *ctx, struct span endpoint, uint64_t group, struct span user,
                      enum schema_language language, struct buf *out)
{
  (void)ctx, (void)endpoint, (void)group, (void)user, (void)language;
  buf_add(out, SPAN("recalled"));
}

static void on_clear(void *ctx, struct span endpoint, uint64_t group, struct span user,
                     enum schema_language language, struct buf *out)
{
  (void)ctx, (void)endpoint, (void)language;
  if (group == 9) return;
  buf_printf(out, "cleared %llu %.*s", (unsigned long long)group, (int)user.len, user.ptr);
}

static bool on_reload(void *ctx, enum schema_language language, struct buf *out)
{
  const struct bot *b = ctx;
  (void)language;
  if (b->reload_fails) buf_add(out, SPAN("my.yaml:3:1: foo: unknown key"));
  return !b->reload_fails;
}

static void begin(struct bot *b, const char *text, bool runs)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, 1 << 20);
  *b = (struct bot) { .own = { NULL, 0 } };
  struct rg_config *c =
      rg_config_read(span_of(text), SPAN("/etc/bot"), NULL, NULL, &arena, &faults);
  cr_assert_not_null(c, "%.*s", faults.count ? (int)faults.items[0].what.len : 0,
                     faults.count ? faults.items[0].what.ptr : "");
  arena_done(&arena);
  b->settings = rg_settings_new(c, NULL, NULL, NULL);
  rg_config_release(c);
  b->admin = (struct rg_admin) { .settings = b->settings, .audit = on_audit, .audit_ctx = b };
  if (runs)
    b->admin.runtime = (struct rg_admin_runtime) { .ctx = b,
                                                   .status = on_status,
                                                   .last = on_last,
                                                   .recall = on_recall,
                                                   .clear = on_clear,
                                                   .reload = on_reload };
  arena_init(&b->arena, 16 << 20);
}

static void end(struct bot *b)
{
  rg_settings_free(b->settings);
  arena_done(&b->arena);
}

/* Hands an event over; its message is JSON. */
static enum rg_admin_result hand(struct bot *b, const char *head, const char *message,
                                 struct rg_admin_answer *answer)
{
  struct ob_event event;
  struct span json = arena_printf(
      &b->arena, "{\"self_id\":1000,\"message_id\":7,%s,\"message\":%s}", head, message);
  cr_assert_eq(ob_event_read(json, SPAN("1000"), &b->arena, &event, NULL), SCHEMA_OK, "%s",
               json.ptr);
  return rg_admin_handle(&b->admin, SPAN("main"), &event, &b->own, &b->arena, answer);
}

#define GROUP(user, role)                                                                          \
  "\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":5,\"user_id\":" user          \
  ",\"sender\":{\"role\":\"" role "\"}"
#define PRIVATE(user)                                                                              \
  "\"post_type\":\"message\",\"message_type\":\"private\",\"user_id\":" user                       \
  ",\"sender\":{\"role\":\"owner\"}"

/* What a text in a group answers; "" for none. */
static struct span say_as(struct bot *b, const char *head, const char *text,
                          struct rg_admin_answer *answer)
{
  struct buf message;
  buf_init(&message, 1 << 16);
  struct schema_writer w = { .out = &message };
  buf_add(&message, SPAN("[{\"type\":\"text\",\"data\":{\"text\":"));
  schema_write_string(&w, span_of(text));
  buf_add(&message, SPAN("}}]"));
  enum rg_admin_result result = hand(b, head, message.ptr, answer);
  buf_done(&message);
  return result == RG_ADMIN_DONE ? answer->text : SPAN("");
}

static struct span say(struct bot *b, const char *text)
{
  struct rg_admin_answer answer;
  return say_as(b, GROUP("20001", "member"), text, &answer);
}

static bool holds(struct span s, const char *word)
{
  return span_find(s, span_of(word)) < s.len;
}

#define EXPECT_SAYS(b, text, ...)                                                                  \
  do {                                                                                             \
    static const char *const words[] = { __VA_ARGS__ };                                            \
    struct span s_ = say(b, text);                                                                 \
    for (size_t i_ = 0; i_ < sizeof words / sizeof *words; i_++)                                   \
      cr_expect(holds(s_, words[i_]), "%s: \"%.*s\" says not %s", text, (int)s_.len, s_.ptr,       \
                words[i_]);                                                                        \
  } while (0)

/* ---- what is one ---- */

static const struct {
  const char *message;
  bool is;
} messages[] = {
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/gate\"}}]", true },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"  /gate on\"}}]", true },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"\\u3000／ＧＡＴＥ\\u3000on\\u3000\"}}]", true },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/gate\\non\"}}]", true },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/ga\"}},{\"type\":\"text\",\"data\":{\"text\":\"te "
    "on\"}}]",
    true },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/gateon\"}}]", false },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/gat\"}}]", false },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"\"}}]", false },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"x /gate on\"}}]", false },
  { "[]", false },
  { "\"/gate on\"", true },
  { "{\"type\":\"text\",\"data\":{\"text\":\"/gate on\"}}", true },
  { "null", false },
  { "7", false },
  { "[{\"type\":\"at\",\"data\":{\"qq\":\"1000\"}},{\"type\":\"text\",\"data\":{\"text\":\" /gate "
    "on\"}}]",
    true },
  { "[{\"type\":\"at\",\"data\":{\"qq\":1000}},{\"type\":\"text\",\"data\":{\"text\":\" /gate "
    "on\"}}]",
    true },
  { "[{\"type\":\"at\",\"data\":{\"qq\":\"1001\"}},{\"type\":\"text\",\"data\":{\"text\":\" /gate "
    "on\"}}]",
    false },
  { "[{\"type\":\"at\",\"data\":{\"qq\":\"all\"}},{\"type\":\"text\",\"data\":{\"text\":\" /gate "
    "on\"}}]",
    false },
  { "[{\"type\":\"reply\",\"data\":{\"id\":\"1\"}},{\"type\":\"at\",\"data\":{\"qq\":\"1001\"}},"
    "{\"type\":\"text\",\"data\":{\"text\":\" /gate on\"}}]",
    true },
  { "[{\"type\":\"reply\",\"data\":{\"id\":\"1\"}},{\"type\":\"text\",\"data\":{\"text\":\" \"}},"
    "{\"type\":\"at\",\"data\":{\"qq\":\"1000\"}},{\"type\":\"text\",\"data\":{\"text\":\"/gate "
    "on\"}}]",
    true },
  { "[{\"type\":\"reply\",\"data\":{\"id\":\"1\"}},{\"type\":\"at\",\"data\":{\"qq\":\"1001\"}},"
    "{\"type\":\"at\",\"data\":{\"qq\":\"1002\"}},{\"type\":\"text\",\"data\":{\"text\":\" /gate "
    "on\"}}]",
    false },
  { "[{\"type\":\"image\",\"data\":{\"file\":\"a\"}},{\"type\":\"text\",\"data\":{\"text\":\"/gate "
    "on\"}}]",
    false },
  { "[{\"type\":\"text\",\"data\":{\"text\":\"/gate "
    "on\"}},{\"type\":\"image\",\"data\":{\"file\":\"a\"}}]",
    true },
  { "[{\"type\":\"text\"},{\"type\":\"text\",\"data\":{}},{\"data\":{}},7]", false },
  { "\"[CQ:at,qq=1000] /gate on\"", true },
  { "\"&#91;CQ:at,qq=1000&#93; /gate on\"", false },
};

Test(admin, what_is_a_command)
{
  struct bot b;
  begin(&b, ADMINS, false);
  for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
    struct rg_admin_answer answer;
    enum rg_admin_result result = hand(&b, GROUP("20001", "member"), messages[i].message, &answer);
    cr_expect_eq(result, messages[i].is ? RG_ADMIN_DONE : RG_ADMIN_NOT_A_COMMAND, "row %zu: %s", i,
                 messages[i].message);
  }
  end(&b);
}

Test(admin, only_messages_of_others)
{
  static const char *const heads[] = {
    "\"post_type\":\"notice\",\"notice_type\":\"x\",\"user_id\":20001",
    "\"post_type\":\"request\",\"request_type\":\"friend\",\"user_id\":20001",
    "\"post_type\":\"meta_event\"",
    "\"post_type\":\"message_sent\",\"message_type\":\"group\",\"group_id\":5,\"user_id\":20001",
    GROUP("1000", "owner"),
    "\"post_type\":\"message\",\"message_type\":\"guild\",\"user_id\":20001",
  };
  struct bot b;
  begin(&b, ADMINS, false);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    struct rg_admin_answer answer;
    cr_expect_eq(hand(&b, heads[i], "\"/gate on\"", &answer), RG_ADMIN_NOT_A_COMMAND, "%s",
                 heads[i]);
  }
  end(&b);
}

Test(admin, the_prefix_is_the_operators)
{
  struct bot b;
  struct rg_admin_answer answer;
  begin(&b, "command_prefix: 闸Ａ\n" ADMINS, false);
  static const struct {
    const char *text;
    enum rg_admin_result result;
  } rows[] = { { "\"闸a 开\"", RG_ADMIN_DONE },          { "\"闸Ａ\"", RG_ADMIN_DONE },
               { "\"闸 开\"", RG_ADMIN_NOT_A_COMMAND },  { "\"/gate on\"", RG_ADMIN_NOT_A_COMMAND },
               { "\"闸b 开\"", RG_ADMIN_NOT_A_COMMAND }, { "\"闸\"", RG_ADMIN_NOT_A_COMMAND } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    cr_expect_eq(hand(&b, GROUP("20001", "member"), rows[i].text, &answer), rows[i].result, "%s",
                 rows[i].text);
  end(&b);
}

/* ---- who may ---- */

#define RULES ADMINS "groups: {default: {ignore: [30001, 20002]}, 6: {group_admins: false}}\n"

Test(admin, who_may)
{
  static const struct {
    const char *head, *text;
    bool may;
  } rows[] = {
    { GROUP("20001", "member"), "on", true },
    { GROUP("10002", "owner"), "on", true },
    { GROUP("10002", "admin"), "on", true },
    { GROUP("10002", "member"), "on", false },
    { GROUP("10002", "ADMIN"), "on", false },
    { GROUP("10002", ""), "on", false },
    { GROUP("\"20001\"", "member"), "on", true },
    { GROUP("\"020001\"", "member"), "on", false },
    { GROUP("0", "owner"), "on", false },
    { GROUP("null", "owner"), "on", false },
    { GROUP("-20001", "owner"), "on", false },
    { GROUP("30001", "owner"), "on", false },
    { GROUP("80000000", "owner"), "on", false },
    { GROUP("20001", "owner") ",\"anonymous\":{\"id\":1}", "on", false },
    { GROUP("20001", "owner") ",\"anonymous\":null", "on", true },
    { GROUP("10002", "owner") ",\"sub_type\":\"anonymous\"", "on", false },
    { GROUP("40001", "owner"), "on", false }, /* one of our own */
    { GROUP("10002", "owner"), "groups", false },
    { GROUP("10002", "owner"), "reload", false },
    { GROUP("10002", "owner"), "@6 off", false },
    { GROUP("10002", "owner"), "@x off", false },
    { GROUP("10002", "owner"), "nonsense", true },
    { GROUP("10002", "member"), "nonsense", false },
    { GROUP("20001", "member"), "@6 off", true },
    { GROUP("20001", "member"), "groups", true },
    { "\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":6,\"user_id\":10002,"
      "\"sender\":{\"role\":\"owner\"}",
      "on", false },
    { PRIVATE("10002"), "status", false },
    { PRIVATE("20001"), "status", true },
    { PRIVATE("20001"), "@5 off", true },
    { PRIVATE("20001") ",\"sub_type\":\"group\"", "status", true },
  };
  static const uint64_t own[] = { 1000, 40001 };
  struct bot b;
  begin(&b, RULES, false);
  b.own = (struct rg_ids) { own, 2 };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_admin_answer answer;
    char message[128];
    snprintf(message, sizeof message, "\"/gate %s\"", rows[i].text);
    b.log[0] = 0;
    cr_expect_eq(hand(&b, rows[i].head, message, &answer),
                 rows[i].may ? RG_ADMIN_DONE : RG_ADMIN_DENIED, "row %zu: %s: %s", i, rows[i].head,
                 rows[i].text);
    cr_expect(rows[i].may ? answer.text.len > 0 : strstr(b.log, "refused") != NULL, "row %zu", i);
  }
  end(&b);
}

Test(admin, no_admins_no_private_commands)
{
  struct bot b;
  struct rg_admin_answer answer;
  begin(&b, "endpoints: {main: {connect: host}}\n", false);
  cr_expect_eq(hand(&b, PRIVATE("20001"), "\"/gate status\"", &answer), RG_ADMIN_DENIED);
  end(&b);
}

/* ---- what it asks ---- */

static const struct {
  const char *text;
  enum rg_op op; /* RG_OP_COUNT: a fault, and says is in the answer */
  const char *says;
  uint64_t group;
} asked[] = {
  { "/gate", RG_OP_HELP, "帮助", 5 },
  { "/gate 帮助", RG_OP_HELP, "/gate", 5 },
  { "/gate 状态", RG_OP_STATUS, "5", 5 },
  { "/gate 开", RG_OP_ON, "已启用", 5 },
  { "/gate 关", RG_OP_OFF, "停用", 5 },
  { "/gate @6 关", RG_OP_OFF, "6", 6 },
  { "/gate ＠６　关", RG_OP_OFF, "6", 6 },
  { "/gate @6", RG_OP_HELP, "", 6 },
  { "/gate 查看", RG_OP_SHOW, "", 5 },
  { "/gate 最近", RG_OP_LAST, "", 5 },
  { "/gate 撤回", RG_OP_RECALL, "", 5 },
  { "/gate 群", RG_OP_GROUPS, "", 5 },
  { "/gate 重载", RG_OP_RELOAD, "", 5 },
  { "/gate 重置 pace", RG_OP_RESET, "pace", 5 },
  { "/gate 设置 card text", RG_OP_SET, "card", 5 },
  { "/gate on now", RG_OP_COUNT, "now", 5 },
  { "/gate show card card", RG_OP_COUNT, "card", 5 },
  { "/gate 打开", RG_OP_COUNT, "打开", 5 },
  { "/gate @0 off", RG_OP_COUNT, "@0", 5 },
  { "/gate @-6 off", RG_OP_COUNT, "@-6", 5 },
  { "/gate set", RG_OP_COUNT, "设置 键 值", 5 },
  { "/gate set card", RG_OP_COUNT, "card", 5 },
  { "/gate set cards text", RG_OP_COUNT, "是不是 card", 5 },
  { "/gate set zzzzzz text", RG_OP_COUNT, "zzzzzz", 5 },
  { "/gate set pace 1", RG_OP_COUNT, "pace", 5 },
  { "/gate set admins 1", RG_OP_COUNT, "admins", 5 },
  { "/gate set store sqlite:x", RG_OP_COUNT, "配置文件", 5 },
  { "/gate set card purple", RG_OP_COUNT, "auto、music、ark、text", 5 },
  { "/gate set pace.min 2", RG_OP_COUNT, "pace.max 是 1.5", 5 },
  { "/gate set pace.min 61", RG_OP_COUNT, "0 到 60", 5 },
  { "/gate set rate.per_minute 1.5", RG_OP_COUNT, "整数", 5 },
  { "/gate set segments text,,image", RG_OP_COUNT, "segments", 5 },
  { "/gate set ignore me", RG_OP_COUNT, "QQ 号", 5 },
  { "/gate reset cardd", RG_OP_COUNT, "card", 5 },
};

Test(admin, what_it_asks)
{
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    struct bot b;
    struct rg_admin_answer answer;
    begin(&b, ADMINS, false);
    struct span said = say_as(&b, GROUP("20001", "member"), asked[i].text, &answer);
    bool fault = asked[i].op == RG_OP_COUNT;
    cr_expect_eq(answer.command.fault.len > 0, fault, "%s: %.*s", asked[i].text, (int)said.len,
                 said.ptr);
    if (!fault) cr_expect_eq(answer.command.op, asked[i].op, "%s", asked[i].text);
    if (!fault) cr_expect_eq(answer.command.group, asked[i].group, "%s", asked[i].text);
    cr_expect(said.len > 0 && said.len < 2000, "%s: %zu bytes", asked[i].text, said.len);
    cr_expect(*asked[i].says == 0 || holds(said, asked[i].says), "%s: %.*s", asked[i].text,
              (int)said.len, said.ptr);
    end(&b);
  }
}

Test(admin, a_group_is_needed_in_private)
{
  static const char *const texts[] = { "on", "off", "set card text", "reset", "reset card" };
  struct bot b;
  struct rg_admin_answer answer;
  begin(&b, ADMINS, false);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char message[64];
    snprintf(message, sizeof message, "\"/gate %s\"", texts[i]);
    cr_expect_eq(hand(&b, PRIVATE("20001"), message, &answer), RG_ADMIN_DONE);
    cr_expect(answer.command.fault.len > 0 && holds(answer.text, "@123456789"), "%s: %.*s",
              texts[i], (int)answer.text.len, answer.text.ptr);
  }
  cr_expect_eq(hand(&b, PRIVATE("20001"), "\"/gate @5 set card text\"", &answer), RG_ADMIN_DONE);
  cr_expect_eq(answer.command.fault.len, 0);
  EXPECT_SAYS(&b, "/gate show card", "card：text");
  end(&b);
}

/* ---- what it does ---- */

Test(admin, changes_are_seen_said_and_logged)
{
  struct bot b;
  begin(&b, ADMINS "groups: {default: {card: ark}}\n", true);
  EXPECT_SAYS(&b, "/gate show card", "card：ark（groups.default）", "auto、music、ark、text");
  EXPECT_SAYS(&b, "/gate set card text", "card：ark → text");
  EXPECT_SAYS(&b, "/gate show card", "card：text（聊天里设置）");
  EXPECT_SAYS(&b, "/gate set card text", "card：text");
  EXPECT_SAYS(&b, "/gate set pace.min 3", "pace.min 是 3", "pace.max 是 1.5");
  EXPECT_SAYS(&b, "/gate show pace", "pace.min：0.4（默认值）", "pace.max：1.5", "pace.per_char");
  EXPECT_SAYS(&b, "/gate off", "群 5：已停用，全部放行", "改了 2 项");
  EXPECT_SAYS(&b, "/gate set off_means mute", "pass → mute");
  EXPECT_SAYS(&b, "/gate status", "群 5：已停用，不发任何消息", "main 5 ready");
  EXPECT_SAYS(&b, "/gate show", "enabled：false（聊天里设置）", "其余都是默认值");
  EXPECT_SAYS(&b, "/gate groups", "5：已停用");
  EXPECT_SAYS(&b, "/gate @6 set failure_notice 出错了，\n稍后再试！", "出错了，");
  EXPECT_SAYS(&b, "/gate @6 show failure_notice", "出错了，（聊天里设置）");
  EXPECT_SAYS(&b, "/gate reset card", "text → ark");
  EXPECT_SAYS(&b, "/gate reset card", "没有改过");
  EXPECT_SAYS(&b, "/gate reset", "2 项");
  EXPECT_SAYS(&b, "/gate show", "card：ark");
  EXPECT_SAYS(&b, "/gate set media.roots a,b", "[/etc/bot/media] → [/etc/bot/a, /etc/bot/b]");
  static const char *const lines[] = {
    "command of 20001 in group 5 at main: set card: ark -> text\n",
    "command of 20001 in group 5 at main: set card: text -> text\n",
    "command of 20001 in group 5 at main: set enabled: true -> false\n",
    "command of 20001 in group 5 at main about group 6: set failure_notice: default -> 出错了，\n",
    "command of 20001 in group 5 at main: reset card: text -> ark\n",
    "command of 20001 in group 5 at main: reset all: 2 back to the configuration\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    cr_expect_not_null(strstr(b.log, lines[i]), "%s is not in\n%s", lines[i], b.log);
  cr_expect_null(strstr(b.log, "pace"), "what was refused is no change");
  end(&b);
}

Test(admin, what_other_parts_answer)
{
  struct bot b;
  struct rg_admin_answer answer;
  begin(&b, ADMINS "groups: {6: {privacy: false}}\n", true);
  EXPECT_SAYS(&b, "/gate last", "accept 5 20001 0");
  EXPECT_SAYS(&b, "/gate @6 last", "accept 6 20001 1");
  EXPECT_SAYS(&b, "/gate @9 last", "没有记录");
  EXPECT_SAYS(&b, "/gate recall", "recalled");
  EXPECT_SAYS(&b, "/gate clear", "cleared 5 20001");
  EXPECT_SAYS(&b, "/gate @6 清空", "cleared 6 20001");
  EXPECT_SAYS(&b, "/gate @9 clear", "没有可以清空");
  EXPECT_SAYS(&b, "/gate reload", "重新读取");
  b.reload_fails = true;
  EXPECT_SAYS(&b, "/gate reload", "my.yaml:3:1: foo: unknown key");
  cr_expect_eq(hand(&b, PRIVATE("20001"), "\"/gate status\"", &answer), RG_ADMIN_DONE);
  cr_expect(holds(answer.text, "私聊") && holds(answer.text, "main 0 ready"));
  cr_expect_not_null(strstr(b.log, "reload: refused"));
  cr_expect_not_null(strstr(b.log, "clear"));
  end(&b);
}

Test(admin, a_groups_admins_have_their_limits)
{
  static const char *const texts[] = {
    "/gate set media.roots /",       "/gate show media.roots",
    "/gate reset media.roots",       "/gate set privacy false",
    "/gate set media.hosts a.b",     "/gate set output_schema x",
    "/gate set media.inspect false", "/gate set agent.tools get_message",
  };
  struct bot b;
  struct rg_admin_answer answer;
  begin(&b, ADMINS "groups: {default: {media: {roots: [/srv/private]}}}\n", false);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct span said = say_as(&b, GROUP("10002", "owner"), texts[i], &answer);
    cr_expect(holds(said, "admins") && answer.command.fault.len > 0, "%s: %.*s", texts[i],
              (int)said.len, said.ptr);
  }
  static const char *const open[] = { "/gate", "/gate show", "/gate show media" };
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
    struct span said = say_as(&b, GROUP("10002", "owner"), open[i], &answer);
    cr_expect(said.len > 0 && !holds(said, "roots") && !holds(said, "重载"), "%s: %.*s", open[i],
              (int)said.len, said.ptr);
  }
  EXPECT_SAYS(&b, "/gate show", "/srv/private");
  EXPECT_SAYS(&b, "/gate help", "media.roots", "重载", "@123456789");
  end(&b);
}

Test(admin, english)
{
  struct bot b;
  begin(&b, "language: en\n" ADMINS, true);
  EXPECT_SAYS(&b, "/gate help", "status", "set KEY VALUE", "Another group: /gate @123456789 off");
  EXPECT_SAYS(&b, "/gate set card text", "card: auto → text");
  EXPECT_SAYS(&b, "/gate show card", "card: text (set in the chat)", "one of auto, music");
  EXPECT_SAYS(&b, "/gate set card purple", "write one of auto, music, ark, text, not purple");
  EXPECT_SAYS(&b, "/gate set carf text", "do you mean card?");
  EXPECT_SAYS(&b, "/gate 打开", "Unknown command 打开");
  EXPECT_SAYS(&b, "/gate off", "Group 5: off, everything passes unjudged");
  end(&b);
}

Test(admin, hostile_text)
{
  struct bot b;
  struct rg_admin_answer answer;
  struct buf text;
  begin(&b, ADMINS, false);
  buf_init(&text, 1 << 20);
  static const char *const heads[] = {
    "/gate ",  "/gate set ",          "/gate set card ",     "/gate show ",
    "/gate @", "/gate set segments ", "/gate set reactions "
  };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    buf_clear(&text);
    buf_add(&text, span_of(heads[i]));
    for (size_t j = 0; j < 4000; j++) buf_add(&text, j % 7 ? SPAN("字") : SPAN(","));
    struct span said = say_as(&b, GROUP("20001", "member"), text.ptr, &answer);
    cr_expect(said.len > 0 && said.len < 2000, "%s: %zu", heads[i], said.len);
    cr_expect_eq(span_utf8_fault(said), said.len, "%s", heads[i]);
  }
  cr_expect_eq(say(&b, "/gate set failure_notice a\x01").ptr[0], 'f');
  cr_expect(say(&b, "/gate set card %s%n%s").len > 0);
  buf_done(&text);
  end(&b);
}

Test(admin, words)
{
  cr_expect_str_eq(rg_op_word(RG_OP_RECALL), "recall");
  cr_expect_null(rg_op_word(RG_OP_COUNT));
}
