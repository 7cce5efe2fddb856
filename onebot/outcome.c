#include "onebot/outcome.h"

#include "onebot/id.h"

/* Which profiles a number means something for: QQ's own codes come through where an implementation
 * hands them on, and nobody uses them for anything else. */
enum { ANY = (1 << OB_PROFILE_COUNT) - 1, LAGRANGE = 1 << OB_LAGRANGE, ICQQ = 1 << OB_ONEBOTS };

/* Where a number was found. */
enum { RETCODE = 1, RESULT = 2 };

/* Numbers that say why by themselves (spec/onebot.md 1.4, 7). Those that only say "failed" (100,
 * 200, 1200, -1) are not here: then the words tell. */
static const struct {
  int64_t code;
  uint8_t where;
  uint32_t profiles;
  enum ob_outcome_kind kind;
  const char *reason;
} codes[] = {
  { 120, RETCODE | RESULT, ANY, OB_REFUSED, "muted" },
  { 121, RETCODE | RESULT, ANY, OB_REFUSED, "at_all" },
  { 1006514, RETCODE | RESULT, ANY, OB_OFFLINE, "offline" },
  { 9057, RETCODE | RESULT, ANY, OB_REFUSED, "risk" },
  { 16, RETCODE, LAGRANGE, OB_REFUSED, "target" },
  { 10, RETCODE, ICQQ, OB_REFUSED, "too_long" },
  { 34, RETCODE, ICQQ, OB_REFUSED, "too_long" },
  { -2, RETCODE, ICQQ, OB_UNKNOWN, "timeout" },
  { -10, RETCODE, ICQQ, OB_REFUSED, "params" },
  { -20, RETCODE, ANY, OB_REFUSED, "target" },
  { -30, RETCODE, ANY, OB_REFUSED, "target" },
  { -60, RETCODE, ICQQ, OB_REFUSED, "segment" },
  { -70, RETCODE | RESULT, ANY, OB_REFUSED, "risk" },
  { -80, RETCODE, ANY, OB_REFUSED, "words" },
  { -110, RETCODE, ANY, OB_REFUSED, "upload" },
  { -120, RETCODE, ANY, OB_REFUSED, "upload" },
  { -130, RETCODE, ANY, OB_REFUSED, "upload" },
  { 404, RETCODE, ANY, OB_REFUSED, "action" },
  { 1404, RETCODE, ANY, OB_REFUSED, "action" },
  { 1400, RETCODE, ANY, OB_REFUSED, "params" },
  { 1401, RETCODE, ANY, OB_REFUSED, "auth" },
  { 1403, RETCODE, ANY, OB_REFUSED, "auth" },
  { 413, RETCODE, ANY, OB_REFUSED, "too_large" },
  { 1413, RETCODE, ANY, OB_REFUSED, "too_large" },
};

/* Words that implementations use, any ASCII case; the first row that is found decides. */
static const struct {
  const char *words;
  enum ob_outcome_kind kind;
  const char *reason;
} phrases[] = {
  { "网络连接异常", OB_OFFLINE, "offline" },
  { "rich media", OB_REFUSED, "upload" },
  { "blocked by server", OB_REFUSED, "risk" },
  { "风控", OB_REFUSED, "risk" },
  { "Get Uid Error", OB_REFUSED, "mention" },
  { "签名地址未配置", OB_REFUSED, "card" },
  { "音乐卡片", OB_REFUSED, "card" },
  { "自定义音卡", OB_REFUSED, "card" },
  { "签名音乐", OB_REFUSED, "card" },
  { "song not found", OB_REFUSED, "card" },
  { "unsupported music type", OB_REFUSED, "card" },
  { "未知的消息类型", OB_REFUSED, "segment" },
  { "消息体无法解析", OB_REFUSED, "segment" },
  { "EMPTY_MSG_ERROR", OB_REFUSED, "segment" },
  { "EMPTY_NODES", OB_REFUSED, "segment" },
  { "无法获取用户信息", OB_REFUSED, "target" },
  { "请指定正确的", OB_REFUSED, "target" },
  { "GROUP_NOT_FOUND", OB_REFUSED, "target" },
  { "USER_NOT_FOUND", OB_REFUSED, "target" },
  { "FRIEND_NOT_FOUND", OB_REFUSED, "target" },
  { "MSG_NOT_FOUND", OB_REFUSED, "target" },
  { "msg not found", OB_REFUSED, "target" },
  { "message not found", OB_REFUSED, "target" },
  { "find msg by msgid", OB_REFUSED, "target" },
  { "群聊不存在", OB_REFUSED, "target" },
  { "消息不存在", OB_REFUSED, "target" },
  { "识别URL失败", OB_REFUSED, "media" },
  { "文件处理失败", OB_REFUSED, "media" },
  { "文件异常", OB_REFUSED, "media" },
  { "下载失败", OB_REFUSED, "media" },
  { "download failed", OB_REFUSED, "media" },
  { "file not found", OB_REFUSED, "media" },
  { "no such file", OB_REFUSED, "media" },
  { "ENOENT", OB_REFUSED, "media" },
  { "entity too large", OB_REFUSED, "too_large" },
  { "payload too large", OB_REFUSED, "too_large" },
  { "payload size exceeded", OB_REFUSED, "too_large" },
  { "message too long", OB_REFUSED, "too_long" },
  { "消息过长", OB_REFUSED, "too_long" },
  { "敏感词", OB_REFUSED, "words" },
  { "token验证失败", OB_REFUSED, "auth" },
  { "不支持的API", OB_REFUSED, "action" },
  { "Unknown action", OB_REFUSED, "action" },
  { "API_NOT_FOUND", OB_REFUSED, "action" },
  { "禁言", OB_REFUSED, "muted" },
};

/* The peer gave up waiting for its own echo: the message is often there all the same. */
static const char *const own_timeouts[] = { "Timeout: NTEvent", "waitForSelfEcho timeout" };

/* Where an implementation puts its words. */
static const char *const word_keys[] = { "message", "wording", "msg", "error" };
enum { WORD_KEYS = sizeof word_keys / sizeof *word_keys };

const char *ob_outcome_word(enum ob_outcome_kind kind)
{
  static const char *const words[] = { "sent", "refused", "unknown", "offline" };
  return words[kind];
}

static struct ob_outcome outcome(enum ob_outcome_kind kind, const char *reason)
{
  return (struct ob_outcome) { .kind = kind, .reason = reason };
}

struct ob_outcome ob_outcome_closed(void)
{
  return outcome(OB_UNKNOWN, "closed");
}

static bool contains(struct span text, struct span words)
{
  if (words.len > text.len) return false;
  for (size_t i = 0; i <= text.len - words.len; i++)
    if (span_eq_nocase((struct span) { text.ptr + i, words.len }, words)) return true;
  return false;
}

/* The texts of a refusal: what it says on top, and what the kernel says in its data. */
static struct span words_of(const struct schema_node *response, size_t i)
{
  if (i < WORD_KEYS) return schema_tree_string(schema_tree_get(response, word_keys[i]));
  return schema_tree_string(schema_tree_get(schema_tree_get(response, "data"), "errMsg"));
}

static bool says(const struct schema_node *response, const char *words)
{
  for (size_t i = 0; i <= WORD_KEYS; i++)
    if (contains(words_of(response, i), span_of(words))) return true;
  return false;
}

/* The number behind "result": in a text that quotes the kernel's answer. */
static bool quoted_result(struct span text, int64_t *ret)
{
  struct span key = SPAN("\"result\"");
  size_t at = span_find(text, key);
  if (at == text.len) return false;
  at += key.len;
  while (at < text.len && strchr(" \t\r\n:", text.ptr[at]) && text.ptr[at]) at++;
  size_t n = 0;
  while (at + n < text.len && strchr("-0123456789", text.ptr[at + n]) && text.ptr[at + n]) n++;
  return ob_id_read((struct span) { text.ptr + at, n }, ret);
}

static bool number(const struct schema_node *node, int64_t *ret)
{
  return node && node->kind == SCHEMA_NUMBER && ob_id_read(node->text, ret);
}

static bool kernel_result(const struct schema_node *response, int64_t *ret)
{
  if (number(schema_tree_get(schema_tree_get(response, "data"), "result"), ret)) return true;
  for (size_t i = 0; i <= WORD_KEYS; i++)
    if (quoted_result(words_of(response, i), ret)) return true;
  return false;
}

static bool by_code(const struct ob_profile *p, int64_t code, uint8_t where, struct ob_outcome *ret)
{
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (codes[i].code != code || !(codes[i].where & where)) continue;
    if (!(codes[i].profiles >> p->id & 1u)) continue;
    *ret = outcome(codes[i].kind, codes[i].reason);
    return true;
  }
  return false;
}

static bool is_private(struct span action)
{
  return span_find(action, SPAN("private")) < action.len || span_is(action, "send_msg");
}

static bool is_reaction(struct span action)
{
  return span_is(action, "set_msg_emoji_like") || span_is(action, "unset_msg_emoji_like") ||
         span_is(action, "set_group_reaction");
}

static struct ob_outcome refusal(const struct ob_profile *p, struct span action,
                                 const struct schema_node *response)
{
  struct ob_outcome o;
  int64_t code;
  for (size_t i = 0; i < sizeof own_timeouts / sizeof *own_timeouts; i++)
    if (says(response, own_timeouts[i])) return outcome(OB_UNKNOWN, "timeout");
  if (kernel_result(response, &code)) {
    if (by_code(p, code, RESULT, &o)) return o;
    if (code == 1 && is_private(action)) return outcome(OB_REFUSED, "not_friend");
  }
  if (number(schema_tree_get(response, "retcode"), &code) && by_code(p, code, RETCODE, &o))
    return o;
  for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
    if (says(response, phrases[i].words)) return outcome(phrases[i].kind, phrases[i].reason);
  return outcome(OB_REFUSED, "other");
}

static bool zero(const struct schema_node *node)
{
  return node && node->kind == SCHEMA_NUMBER && span_is(node->text, "0");
}

struct ob_outcome ob_outcome_read(const struct ob_profile *profile, struct span action,
                                  const struct schema_node *response)
{
  if (!response || response->kind == SCHEMA_NULL) return outcome(OB_UNKNOWN, "timeout");
  if (response->kind != SCHEMA_OBJECT) return outcome(OB_UNKNOWN, "malformed");
  struct span status = schema_tree_string(schema_tree_get(response, "status"));
  const struct schema_node *data = schema_tree_get(response, "data");
  if (span_is(status, "async")) return outcome(OB_UNKNOWN, "async");
  if (!span_is(status, "ok") || !zero(schema_tree_get(response, "retcode")))
    return refusal(profile, action, response);
  if (profile->reaction_result && is_reaction(action) && !zero(schema_tree_get(data, "result")))
    return refusal(profile, action, response);
  if (profile->forward_only_uploads && span_is(action, "send_forward_msg"))
    return outcome(OB_REFUSED, "not_sent");
  struct ob_outcome o = outcome(OB_SENT, NULL);
  o.message_id = ob_id_of(schema_tree_get(data, "message_id"));
  return o;
}
