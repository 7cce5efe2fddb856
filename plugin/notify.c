/* notify: see notify.h. A line is posted to the service thread, waits there until an account can
 * carry it, and goes the way of the plugin's other words. */
#include "plugin/notify.h"

#include <stdlib.h>
#include <time.h>

#include "plugin/gate.h"
#include "plugin/submit.h"

enum {
  LINE_MAX_BYTES = 1000,
  WAITING_MS = 24 * 3600 * 1000, /* a line about yesterday helps nobody */
};

/* What is told. The time, the endpoint and what it is about stand around it. */
static const struct {
  const char *zh, *en;
} texts[RG_NOTIFY_COUNT] = {
  [RG_NOTIFY_DOWN] = { "连不上 OneBot 实现已有几分钟。请检查它是否在运行、地址是否正确。",
                       "no connection to the OneBot implementation for minutes. Is it running, and "
                       "is the address right?" },
  [RG_NOTIFY_REFUSED] = { "OneBot 实现拒绝了连接，多半是 access_token 不对。",
                          "the OneBot implementation refuses the connection, most likely its "
                          "access_token." },
  [RG_NOTIFY_OFFLINE] = { "QQ 账号掉线了，恢复之前什么都发不出去。请在 OneBot 实现里重新登录。",
                          "the QQ account is offline and nothing can be sent. Log in again in the "
                          "OneBot implementation." },
  [RG_NOTIFY_BACK] = { "恢复正常。", "works again." },
  [RG_NOTIFY_MUTED] = { "机器人被禁言，解除之前不再往那里发。",
                        "the bot is muted; nothing is sent there until that ends." },
  [RG_NOTIFY_RISK] = { "消息被风控拦下，暂停几分钟再发。", "a message was refused by risk control; "
                                                           "nothing is sent there for minutes." },
  [RG_NOTIFY_REMOVED] = { "机器人不在这个群里了。", "the bot is no longer in the group." },
  [RG_NOTIFY_CARDS] = { "音乐卡片发出去却不显示，现在改发文字（见 music_sign）。",
                        "music cards are accepted but not shown; text is sent in their place (see "
                        "music_sign)." },
  [RG_NOTIFY_BUSY] = { "等待发送的消息太多，新的被退回。",
                       "too many messages wait to be sent; new ones are turned away." },
  [RG_NOTIFY_JOURNAL_OFF] = { "发送记录写不进磁盘，重启后可能说不清哪些已发出。请检查磁盘空间和权限"
                              "。",
                              "the journal cannot be written: a restart may not know what was "
                              "sent. "
                              "Look at the disk's space and rights." },
  [RG_NOTIFY_JOURNAL_FULL] = { "发送记录的文件已到上限。请停止 Replygate，移走该文件，或在 store "
                               "里另写"
                               "一个。",
                               "the journal's file has reached its bound. Stop Replygate and move "
                               "the file away, or name another one in store." },
  [RG_NOTIFY_UNKNOWN] = { "重启前有消息说不清是否已送达，不会重发。",
                          "of some messages from before the restart nobody knows whether they "
                          "arrived; they are not sent again." },
  [RG_NOTIFY_PROVIDER] = { "模型服务没有回答。", "the model does not answer." },
  [RG_NOTIFY_BUDGET] = { "今天的模型用量已用完。", "the model's tokens of the day are used up." },
};

static uint64_t *told_ms(struct rg_gate *gate, struct rg_account *account,
                         enum rg_notify_event event)
{
  return account ? &account->told_ms[event] : &gate->notify.told_ms[event];
}

/* An account that can send: the one that it happened at, else any other. */
static struct rg_account *sender_of(const struct rg_gate *gate, struct rg_account *account)
{
  if (account && rg_account_ready(account)) return account;
  for (size_t i = 0; i < gate->account_count; i++)
    if (rg_account_ready(gate->accounts[i])) return gate->accounts[i];
  return NULL;
}

/* "[12-01 10:02] main: what happened (123456)" */
static void write_line(const struct rg_notify_line *line, enum schema_language language,
                       struct buf *out)
{
  char when[32] = "";
  struct tm local;
  time_t at = (time_t)line->at;
  if (localtime_r(&at, &local)) strftime(when, sizeof when, "%m-%d %H:%M", &local);
  buf_printf(out, "[%s] Replygate%s%s%s%s", when, line->account ? " " : "",
             line->account ? line->account->name : "", language == SCHEMA_EN ? ": " : "：",
             language == SCHEMA_EN ? texts[line->event].en : texts[line->event].zh);
  if (line->about[0]) buf_printf(out, language == SCHEMA_EN ? " (%s)" : "（%s）", line->about);
}

static void say_to(struct rg_gate *gate, const struct rg_account *sender, const struct rg_ids *ids,
                   bool groups, struct span text)
{
  for (size_t i = 0; i < ids->count; i++) {
    char id[RG_ID_MAX];
    snprintf(id, sizeof id, "%llu", (unsigned long long)ids->items[i]);
    const struct ob_target target = { .group_id = groups ? span_of(id) : SPAN(""),
                                      .user_id = groups ? SPAN("") : span_of(id) };
    rg_gate_say(gate, sender, &target, text);
  }
}

static void send_line(struct rg_gate *gate, const struct rg_account *sender,
                      const struct rg_notify_line *line)
{
  struct rg_config *config = rg_config_keep(gate->config); /* only this thread changes it */
  struct buf text;
  buf_init(&text, LINE_MAX_BYTES);
  write_line(line, config->language, &text);
  if (!text.failed) {
    say_to(gate, sender, &config->notify, false, buf_span(&text));
    say_to(gate, sender, &config->notify_groups, true, buf_span(&text));
  }
  buf_done(&text);
  rg_config_release(config);
}

static void forget_first(struct rg_notify *n)
{
  n->count--;
  memmove(n->waiting, n->waiting + 1, n->count * sizeof n->waiting[0]);
}

void rg_notify_flush(struct rg_gate *gate)
{
  struct rg_notify *n = &gate->notify;
  while (n->count > 0 && !gate->closing) {
    struct rg_notify_line line = n->waiting[0];
    struct rg_account *sender = sender_of(gate, line.account);
    bool stale = ob_now_ms() >= line.until_ms;
    if (!sender && !stale) return;
    forget_first(n); /* first: what is said may come back here */
    if (!stale) send_line(gate, sender, &line);
  }
}

/* A line on its way to the service thread. */
struct order {
  struct rg_gate *gate;
  struct rg_notify_line line;
};

static void order_arrives(void *arg)
{
  struct order *o = arg;
  struct rg_gate *gate = o->gate;
  struct rg_notify *n = &gate->notify;
  uint64_t now = ob_now_ms(), *told = told_ms(gate, o->line.account, o->line.event);
  bool wanted = gate->config->notify.count + gate->config->notify_groups.count > 0;
  if (wanted && !gate->closing && now >= *told) {
    *told = now + gate->timing.notify;
    if (n->count == RG_NOTIFY_WAITING_MAX) forget_first(n);
    n->waiting[n->count++] = o->line;
    rg_notify_flush(gate);
  }
  free(o);
}

void rg_notify(struct rg_gate *gate, struct rg_account *account, enum rg_notify_event event,
               struct span about)
{
  struct order *o = calloc(1, sizeof *o);
  if (!o) return;
  if (about.len >= sizeof o->line.about) about.len = sizeof o->line.about - 1;
  size_t len = span_utf8_fault(about); /* not cut within a character */
  o->gate = gate;
  o->line.event = event;
  o->line.account = account;
  o->line.at = (int64_t)time(NULL);
  o->line.until_ms = ob_now_ms() + WAITING_MS;
  if (len > 0) memcpy(o->line.about, about.ptr, len);
  if (!ob_service_post(gate->service, order_arrives, o)) free(o);
}
