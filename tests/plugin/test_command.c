#include "tests/lib/program.h"

#define SOUND                                                                                      \
  "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}]}],\"reaction\":"  \
  "\"\"}"

Test(command, exit_codes_and_words)
{
  static const struct {
    const char *arguments, *in;
    int code;
    const char *out, *err; /* parts of it */
  } rows[] = {
    { "--version", "", 0, "replygate 0.", "" },
    { "--version", "", 0, "ABI 1\n", "" },
    { "--version", "", 0, "libwebsockets 4.", "" },
    { "--help", "", 0, "replygate run [CONFIG]", "" },
    { "", "", 64, "", "usage: replygate COMMAND" },
    { "nothing", "", 64, "", "\"nothing\"" },
    { "check", SOUND, 0, "verdict: accept\nreply: {\"messages\":", "" },
    { "check", "ok: " SOUND, 0, "verdict: repair\nrepairs: prose_around\n", "" },
    { "check", "```json\n" SOUND "\n```", 0, "verdict: repair\nrepairs: fence\n", "" },
    { "check", "{\"messages\":[{}]}", 1, "verdict: correct\ncode: missing\npath: $.messages[0]",
      "" },
    { "check", "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>", 2,
      "verdict: block\ncode: tool_call\n", "" },
    { "check", "", 2, "code: empty", "" },
    { "check /nowhere/x", "", 64, "", "/nowhere/x: No such file" },
    { "check --profile nothing", SOUND, 64, "", "unknown profile \"nothing\"" },
    { "check --config /nowhere/x.yaml", SOUND, 64, "", "/nowhere/x.yaml:1:1: " },
    { "check --nothing", SOUND, 64, "", "usage: replygate check" },
    { "check a b", SOUND, 64, "", "usage: replygate check" },
    { "check --help", "", 0, "usage: replygate check", "" },
    { "check",
      "{\"messages\":[{\"segments\":[{\"type\":\"mention\",\"data\":{\"target\":\"Bob\"}}]}]}", 2,
      "code: mention_target", "" },
    { "plan --profile napcat --group 123 --message-id 5",
      "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}]}],"
      "\"reaction\":\"76\"}",
      0,
      "{\"action\":\"set_msg_emoji_like\",\"params\":{\"message_id\":5,\"emoji_id\":\"76\"}}\n"
      "{\"action\":\"send_group_msg\",\"params\":{\"group_id\":123,",
      "" },
    { "plan --profile napcat --user 123", SOUND, 0,
      "{\"action\":\"send_private_msg\",\"params\":{\"user_id\":123,", "" },
    { "plan --group 123 --user 5", SOUND, 64, "", "usage: replygate plan" },
    { "plan --profile napcat --group 0123", SOUND, 2, "", "code: target" },
    { "plan", "{\"messages\":[{}]}", 1, "", "code: missing" },
    { "schema", "", 0, "\"additionalProperties\":false", "" },
    { "schema x", "", 64, "", "usage: replygate schema" },
    { "instruction --language en", "", 0, "messages", "" },
    { "faces 76", "", 0, "76\t赞\tface\tproven\n", "" },
    { "faces 👍", "", 0, "128077\t", "" },
    { "faces", "", 0, "201\t", "" },
    { "faces nothing-like-it", "", 1, "", "nothing is called that" },
    { "schema >/dev/full 2>/dev/null; echo $?", "", 0, "74\n", "" },
    { "config --example >/dev/full 2>/dev/null; echo $?", "", 0, "74\n", "" },
    { "faces a b", "", 64, "", "usage: replygate faces" },
    { "run --help", "", 0, "usage: replygate run", "" },
    { "config --help", "", 0, "usage: replygate config", "" },
    { "config -h", "", 0, "usage: replygate config", "" },
    { "config --nothing", "", 64, "", "usage: replygate config" },
    { "doctor --help", "", 0, "usage: replygate doctor", "" },
    { "faces --help", "", 0, "usage: replygate faces", "" },
    { "sandbox --help", "", 0, "usage: replygate sandbox", "" },
    { "eval --help", "", 0, "usage: replygate eval", "" },
    { "eval --nothing", "", 64, "", "usage: replygate eval" },
    { "run a b", "", 64, "", "usage: replygate run" },
    { "run --nothing", "", 64, "", "usage: replygate run" },
    { "run /nowhere/x.yaml", "", 1, "", "/nowhere/x.yaml:1:1: " },
    { "run --script /nowhere/x", "", 1, "", "/nowhere/x: No such file" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct program_end end = program_run(rows[i].arguments, span_of(rows[i].in));
    cr_expect_eq(end.code, rows[i].code, "%s: exit %d\n%s%s", rows[i].arguments, end.code, end.out,
                 end.err);
    cr_expect(strstr(end.out, rows[i].out), "%s: %s", rows[i].arguments, end.out);
    cr_expect(strstr(end.err, rows[i].err), "%s: %s", rows[i].arguments, end.err);
    program_done(&end);
  }
}
