#include "plugin/config/config_keys.h"

#include "onebot/profile.h"
#include "schema/segment.h"

#define AT_TOP(member) offsetof(struct rg_config, member)
#define AT_ENDPOINT(member) offsetof(struct rg_endpoint, member)
#define AT_GROUP(member) offsetof(struct rg_group, member)
#define AT_PROVIDER(member) offsetof(struct rg_provider, member)
#define AT_TOOL(member) offsetof(struct rg_http_tool, member)
#define AT_FRAMEWORK(member) offsetof(struct rg_framework, member)

/* Words in the order of their enums. */
static const char *const journals[] = { "required", "optional", "off", NULL };
static const char *const languages[] = { "zh", "en", NULL };
static const char *const log_levels[] = { "error", "warn", "info", "debug", NULL };
static const char *const files_ways[] = { "base64", "shared", "upload", NULL };
static const char *const yes_no[] = { "unknown", "yes", "no", NULL };
static const char *const off_meanings[] = { "pass", "mute", NULL };
static const char *const modes[] = { "enforce", "observe", NULL };
static const char *const outputs[] = { "reply", "text", "schema", NULL };
static const char *const cards[] = { "auto", "music", "ark", "text", NULL };
static const char *const quotes[] = { "never", "first", "all", NULL };
static const char *const answerers[] = { "anyone", "asked", NULL };
static const char *const long_texts[] = { "split", "forward", "refuse", NULL };
static const char *const schemes[] = { "https", "http", NULL };
static const char *const deliveries[] = { "auto", "url", "base64", NULL };
static const char *const forms[] = { "auto", "native", "prompt", NULL };
static const char *const newer[] = { "cancel", "queue", NULL };
static const char *const triggers[] = { "mention", "reply", "prefix", "keyword", "chance", NULL };
static const char *const agent_tools[] = { "find_member", "get_message", NULL };
static const char *const methods[] = { "get", "post", NULL };
static const char *const reaches[] = { "public", "any", NULL };
static const char *const dialects[] = {
  "openai",        "azure",      "xai",      "cerebras",  "litellm",   "vllm",
  "llamacpp",      "openrouter", "deepseek", "qwen",      "anthropic", "gemini",
  "gemini_vertex", "mistral",    "ollama",   "polargrid", NULL
};
/* These stand for tables of onebot/ and schema/, see rg_key_word. */
static const char *const segment_types[] = { NULL };
static const char *const platforms[] = { NULL };
static const char *const profiles[] = { NULL };

/* clang-format off */
static const struct rg_key top[] = {
  { .name = "language", .type = RG_KEY_WORD, .offset = AT_TOP(language), .words = languages,
    .initial = "zh",
    .help_en = "Language of notices and of the answers to commands: zh or en.",
    .help_zh = "提示和命令回答所用的语言：zh 中文，en 英文。" },
  { .name = "store", .type = RG_KEY_STORE, .offset = AT_TOP(store),
    .initial = "sqlite:replygate.db", .flags = RG_KEY_ADDRESS,
    .help_en = "Where settings made in the chat, turns on their way and what the built-in agent "
               "remembers are kept: sqlite:FILE, or for several machines redis://host:6379/0 (with a "
               "password redis://:PASSWORD@host:6379/0; no TLS). It needs a restart.",
    .help_zh = "设置、消息、记忆存在哪：sqlite:文件；多机共用 redis://[:密码@]主机:6379/0，无 TLS；需重启。" },
  { .name = "journal", .type = RG_KEY_WORD, .offset = AT_TOP(journal), .words = journals,
    .initial = "required",
    .help_en = "Turns on their way are written to the store first, so that a crash neither loses nor "
               "repeats one. required: where it cannot be written nothing is sent; optional: then "
               "sending goes on without it; off. With a redis: store they are in replygate.db beside the "
               "configuration. It needs a restart.",
    .help_zh = "先记后发，崩溃不丢不重：required 写不进不发，optional 照发，off 不记（redis 时在 replygate.db）；需重启。" },
  { .name = "log", .type = RG_KEY_SECTION,
    .help_en = "The log.", .help_zh = "日志。" },
  { .name = "log.level", .type = RG_KEY_WORD_TEXT, .offset = AT_TOP(log_level),
    .words = log_levels, .initial = "info",
    .help_en = "How much is logged: error, warn, info or debug.",
    .help_zh = "日志详细程度：error、warn、info、debug。" },
  { .name = "log.file", .type = RG_KEY_PATH, .offset = AT_TOP(log_file), .initial = "",
    .help_en = "A file for the log; empty: standard error, or the host's own log.",
    .help_zh = "日志文件；留空则写到标准错误或宿主的日志。" },
  { .name = "command_prefix", .type = RG_KEY_PREFIX, .offset = AT_TOP(command_prefix),
    .initial = "/gate",
    .help_en = "The word that begins an admin command in the chat.",
    .help_zh = "聊天里管理命令的开头。" },
  { .name = "admins", .type = RG_KEY_IDS, .offset = AT_TOP(admins), .initial = "",
    .example = "[10001]",
    .help_en = "Accounts that may command in every group, and the only ones in private chats.",
    .help_zh = "可以在任何群发命令的 QQ 号；私聊里只有他们可以。" },
  { .name = "notify", .type = RG_KEY_IDS, .offset = AT_TOP(notify), .initial = "",
    .help_en = "Accounts told in private, once an hour at most for each, when an endpoint is down, "
               "offline or refuses the token, when a group is muted or lost, at risk control, when "
               "cards fail, a model does not answer or the journal cannot be written.",
    .help_zh = "连不上、掉线、被禁言、被移出群、风控、模型不回答等情况私聊通知的 QQ 号，每小时一次。" },
  { .name = "notify_groups", .type = RG_KEY_IDS, .offset = AT_TOP(notify_groups), .initial = "",
    .help_en = "Groups that are told the same.",
    .help_zh = "同样的事也通知这些群。" },
  { .name = "endpoints", .type = RG_KEY_ENDPOINTS,
    .help_en = "The OneBot connections, each under a name of your own: one bot account each.",
    .help_zh = "OneBot 连接，名字自取，一个连接对应一个机器人账号。" },
  { .name = "relay", .type = RG_KEY_SECTION, .flags = RG_KEY_OPTIONAL,
    .help_en = "The gate: bot frameworks in front of Replygate, which take it for the OneBot "
               "implementation. Leave the section out if you have none.",
    .help_zh = "网关：机器人框架把 Replygate 当作 OneBot 实现来连。没有框架就不写这一节。" },
  { .name = "relay.listen", .type = RG_KEY_RELAY_LISTEN, .initial = "",
    .example = "127.0.0.1:6700",
    .help_en = "Address and port where frameworks connect. An address that other machines reach "
               "needs an access_token.",
    .help_zh = "框架来连的地址和端口；不是本机地址时必须写 access_token。" },
  { .name = "relay.access_token", .type = RG_KEY_TEXT, .offset = AT_TOP(relay.access_token),
    .initial = "", .example = "${RELAY_TOKEN:-}", .flags = RG_KEY_SECRET,
    .help_en = "The token that frameworks must show.",
    .help_zh = "框架要出示的令牌。" },
  { .name = "relay.connect", .type = RG_KEY_FRAMEWORKS, .initial = "",
    .help_en = "Frameworks that Replygate dials itself (reverse WebSocket).",
    .help_zh = "由 Replygate 主动去连的框架（反向 WebSocket）。" },
  { .name = "relay.answer_window", .type = RG_KEY_COUNT, .offset = AT_TOP(relay.answer_window),
    .low = 0, .high = 3600, .initial = "30",
    .help_en = "Seconds in which a mention of the bot counts as the message being answered.",
    .help_zh = "多少秒内 @ 机器人的消息算作正在回答的消息。" },
  { .name = "providers", .type = RG_KEY_PROVIDERS, .flags = RG_KEY_OPTIONAL,
    .help_en = "The models of the built-in agent, each under a name of your own. The first that "
               "answers is used. Leave the section out if your bot asks a model itself.",
    .help_zh = "内置助手用的模型服务，名字自取，按顺序使用。机器人自己调用模型时不写这一节。" },
  { .name = "tools", .type = RG_KEY_TOOLS, .flags = RG_KEY_OPTIONAL,
    .help_en = "Tools of the built-in agent that ask a server, each under the name that its model "
               "sees. A group may use those that its agent.tools lists.",
    .help_zh = "内置助手可调用的 HTTP 工具，名字自取。群里要在 agent.tools 里列出才能用。" },
  { .name = "private", .type = RG_KEY_SECTION,
    .help_en = "Private chats of the built-in agent. All other private traffic is judged by "
               "groups.default.",
    .help_zh = "内置助手的私聊。其他私聊消息按 groups.default 处理。" },
  { .name = "private.enabled", .type = RG_KEY_BOOL, .offset = AT_TOP(private_chat.enabled),
    .initial = "false",
    .help_en = "Whether the built-in agent answers in private chats.",
    .help_zh = "内置助手是否回答私聊。" },
  { .name = "private.users", .type = RG_KEY_IDS, .offset = AT_TOP(private_chat.users),
    .initial = "",
    .help_en = "Whom it answers there.",
    .help_zh = "只回答这些 QQ 号。" },
  { .name = "groups", .type = RG_KEY_GROUPS,
    .help_en = "What holds in the groups: `default` for all, then a group's number with what is "
               "different there.",
    .help_zh = "各群的设置：default 是默认值，再按群号写与默认不同的项。" },
};

static const struct rg_key endpoint[] = {
  { .name = "connect", .type = RG_KEY_CONNECT, .initial = "", .example = "ws://127.0.0.1:3001",
    .flags = RG_KEY_ADDRESS,
    .help_en = "The address of the OneBot implementation (ws:// or wss://), or host: the bot "
               "framework's own connection is used. Exactly one of connect and listen.",
    .help_zh = "OneBot 实现的地址（ws:// 或 wss://），或 host：用宿主自己的连接。与 listen 二选一。" },
  { .name = "listen", .type = RG_KEY_LISTEN, .initial = "",
    .example = "127.0.0.1:8080/onebot/v11/ws", .flags = RG_KEY_OPTIONAL,
    .help_en = "Instead of connect: where the OneBot implementation connects to us (reverse "
               "WebSocket). An address that other machines reach needs an access_token.",
    .help_zh = "代替 connect：等 OneBot 实现来连（反向 WebSocket）；不是本机地址时必须写 access_token。" },
  { .name = "access_token", .type = RG_KEY_TEXT, .offset = AT_ENDPOINT(access_token),
    .initial = "", .example = "${ONEBOT_TOKEN:-}", .flags = RG_KEY_SECRET,
    .help_en = "The access token set in the OneBot implementation.",
    .help_zh = "OneBot 实现里设置的 access token。" },
  { .name = "profile", .type = RG_KEY_PROFILE, .offset = AT_ENDPOINT(profile), .words = profiles,
    .initial = "auto",
    .help_en = "Which implementation it is; auto asks it.",
    .help_zh = "是哪个实现；auto 自动识别。" },
  { .name = "profile_override", .type = RG_KEY_FACTS, .offset = AT_ENDPOINT(profile_override),
    .initial = "",
    .help_en = "Single facts of the profile that are different here, for example {music: no}.",
    .help_zh = "与该实现的已知情况不同的单项，如 {music: no}。" },
  { .name = "self_id", .type = RG_KEY_COUNT, .offset = AT_ENDPOINT(self_id), .high = UINT32_MAX,
    .initial = "0",
    .help_en = "The bot's own account number; 0 asks for it. With it and a profile the "
               "implementation is asked nothing when a connection begins.",
    .help_zh = "机器人自己的 QQ 号；0 表示连接后询问。同时写了 profile 时，连接后不向对方询问任何信息。" },
  { .name = "ca", .type = RG_KEY_PATH, .offset = AT_ENDPOINT(ca), .initial = "",
    .help_en = "A file of CA certificates for wss, besides the system's.",
    .help_zh = "wss 用的 CA 证书文件（系统证书之外）。" },
  { .name = "files", .type = RG_KEY_WORD, .offset = AT_ENDPOINT(files), .words = files_ways,
    .initial = "base64",
    .help_en = "How local files travel: base64 in the message, shared (the peer sees our folders) "
               "or upload.",
    .help_zh = "本地文件怎么传：base64、shared（对方看得到我们的目录）、upload（上传）。" },
  { .name = "path_map", .type = RG_KEY_PATH_MAP, .offset = AT_ENDPOINT(path_map), .initial = "",
    
    .help_en = "With files: shared, our folder and the peer's name of it: "
               "{/srv/media: /app/media}.",
    .help_zh = "files: shared 时，我们的目录对应对方的哪个目录：{/srv/media: /app/media}。" },
  { .name = "music_sign", .type = RG_KEY_WORD, .offset = AT_ENDPOINT(music_sign),
    .words = yes_no, .initial = "unknown",
    .help_en = "Whether the peer can sign music cards: yes, no or unknown.",
    .help_zh = "对方能否签名音乐卡片：yes、no、unknown。" },
  { .name = "offline_wait", .type = RG_KEY_SECONDS, .offset = AT_ENDPOINT(offline_wait),
    .low = 0, .high = 3600, .initial = "10",
    .help_en = "How long a message waits for an account that is offline or not connected before it "
               "fails; 0: it fails at once.",
    .help_zh = "账号掉线或连不上时消息最多等多久，之后算失败；0 立即失败。" },
  { .name = "rate", .type = RG_KEY_SECTION,
    .help_en = "How much the account may send.", .help_zh = "这个账号的发送频率。" },
  { .name = "rate.per_minute", .type = RG_KEY_COUNT, .offset = AT_ENDPOINT(rate.per_minute),
    .low = 0, .high = 6000, .initial = "0",
    .help_en = "Messages a minute in all its chats together; more of them wait. 0: no limit but "
               "those of the chats.",
    .help_zh = "所有聊天合计每分钟最多几条，多的排队；0 只按各聊天的限制。" },
  { .name = "groups", .type = RG_KEY_GROUPS, .flags = RG_KEY_OPTIONAL,
    .help_en = "As groups below, for this account only; wins over it.",
    .help_zh = "同下面的 groups，只对这个账号有效，优先于它。" },
};

static const struct rg_key group[] = {
  { .name = "enabled", .type = RG_KEY_BOOL, .offset = AT_GROUP(enabled), .initial = "true",
    .help_en = "Whether Replygate works here.",
    .help_zh = "本群是否启用。" },
  { .name = "off_means", .type = RG_KEY_WORD, .offset = AT_GROUP(off_means),
    .words = off_meanings, .initial = "pass",
    .help_en = "With enabled: false, pass lets everything through unjudged, mute lets nothing.",
    .help_zh = "停用时：pass 全部放行不检查，mute 全部不发。" },
  { .name = "mode", .type = RG_KEY_WORD, .offset = AT_GROUP(mode), .words = modes,
    .initial = "enforce",
    .help_en = "enforce judges and repairs; observe only judges and logs, all goes through.",
    .help_zh = "enforce 检查并修复；observe 只检查和记录，全部放行。" },
  { .name = "group_admins", .type = RG_KEY_BOOL, .offset = AT_GROUP(group_admins),
    .initial = "true",
    .help_en = "Whether the owner and the admins of a group may command in it.",
    .help_zh = "群主和群管理员能否在本群发命令。" },
  { .name = "output", .type = RG_KEY_WORD, .offset = AT_GROUP(output), .words = outputs,
    .initial = "reply",
    .help_en = "What the model answers with: reply (the structured reply), text, or schema (JSON "
               "by the file of output_schema).",
    .help_zh = "模型的回答形式：reply 结构化回复，text 纯文字，schema 按 output_schema 的 JSON。" },
  { .name = "output_schema", .type = RG_KEY_SCHEMA, .offset = AT_GROUP(output_schema),
    .initial = "", .flags = RG_KEY_OPERATOR,
    .help_en = "With output: schema, the file with a JSON Schema that every provider takes: closed "
               "objects, all properties required, no $ref, anyOf or limits.",
    .help_zh = "output: schema 时所用的 JSON Schema 文件：对象全部封闭、属性全部必填，不用 $ref、anyOf "
               "和各种限制。" },
  { .name = "unwrap", .type = RG_KEY_BOOL, .offset = AT_GROUP(unwrap), .initial = "true",
    .help_en = "A framework's text that is a structured reply becomes that reply.",
    .help_zh = "框架发来的文字若是结构化回复，就按回复发送。" },
  { .name = "segments", .type = RG_KEY_WORDS, .offset = AT_GROUP(segments),
    .words = segment_types,
    .initial = "text,mention,image,audio,video,file,markdown,keyboard,share,dice,rps",
    .help_en = "What a reply may hold, as far as the endpoint can show it; text always may.",
    .help_zh = "回复可用的内容类型（还要对方支持）；text 总是可用。" },
  { .name = "reactions", .type = RG_KEY_REACTIONS, .initial = "true",
    .help_en = "Reactions offered to the model: true (a handy list), false, or a list like [赞, 76] "
               "of names and ids.",
    .help_zh = "可点的表情回应：true 常用表，false 不用，或列出名称和编号，如 [赞, 76]。" },
  { .name = "share_platforms", .type = RG_KEY_WORDS, .offset = AT_GROUP(share_platforms),
    .words = platforms, .initial = "qq,netease,kugou,kuwo,migu",
    .help_en = "Music apps in whose name a card may be sent.",
    .help_zh = "卡片可用哪些音乐平台。" },
  { .name = "card", .type = RG_KEY_WORD, .offset = AT_GROUP(card), .words = cards,
    .initial = "auto",
    .help_en = "How a share is shown: auto (what the endpoint can do), music, ark or text.",
    .help_zh = "分享的形式：auto 自动，music 音乐卡片，ark 卡片，text 文字。" },
  { .name = "quote", .type = RG_KEY_WORD, .offset = AT_GROUP(quote), .words = quotes,
    .initial = "never",
    .help_en = "Which messages of a reply quote the message being answered: never, first, all.",
    .help_zh = "回复是否引用对方的消息：never 不引用，first 第一条，all 每条。" },
  { .name = "mention_all", .type = RG_KEY_BOOL, .offset = AT_GROUP(mention_all),
    .initial = "false",
    .help_en = "Whether a reply may mention everyone.",
    .help_zh = "回复能否 @全体成员。" },
  { .name = "answer_by", .type = RG_KEY_WORD, .offset = AT_GROUP(answer_by), .words = answerers,
    .initial = "anyone",
    .help_en = "Who may answer a numbered choice: anyone, or only who was asked.",
    .help_zh = "谁可以用数字回答选项：anyone 任何人，asked 只有被问的人。" },
  { .name = "pace", .type = RG_KEY_SECTION,
    .help_en = "The pause between the messages of a reply, in seconds.",
    .help_zh = "一条回复的各条消息之间停多久（秒）。" },
  { .name = "pace.min", .type = RG_KEY_SECONDS, .offset = AT_GROUP(pace.min), .high = 60,
    .initial = "0.4",
    .help_en = "Shortest pause.", .help_zh = "最短停顿。" },
  { .name = "pace.max", .type = RG_KEY_SECONDS, .offset = AT_GROUP(pace.max), .high = 60,
    .initial = "1.5",
    .help_en = "Longest pause.", .help_zh = "最长停顿。" },
  { .name = "pace.per_char", .type = RG_KEY_SECONDS, .offset = AT_GROUP(pace.per_char),
    .high = 10, .initial = "0.03",
    .help_en = "Pause for each character of the message.", .help_zh = "每个字的停顿。" },
  { .name = "rate", .type = RG_KEY_SECTION,
    .help_en = "How much may be sent.", .help_zh = "发送频率。" },
  { .name = "rate.per_minute", .type = RG_KEY_COUNT, .offset = AT_GROUP(rate.per_minute),
    .low = 1, .high = 6000, .initial = "20",
    .help_en = "Messages a minute in one chat; more of them wait.",
    .help_zh = "每个聊天每分钟最多几条，多的排队。" },
  { .name = "long_text", .type = RG_KEY_WORD, .offset = AT_GROUP(long_text),
    .words = long_texts, .initial = "split",
    .help_en = "Text beyond long_text_chars: split at paragraphs and sentences, send as one merged "
               "forward, or refuse.",
    .help_zh = "文字超过 long_text_chars 时：split 分段，forward 合并转发，refuse 不发。" },
  { .name = "long_text_chars", .type = RG_KEY_COUNT, .offset = AT_GROUP(long_text_chars),
    .low = 10, .high = 20000, .initial = "1500",
    .help_en = "Characters that one message may have.",
    .help_zh = "一条消息最多多少字。" },
  { .name = "media", .type = RG_KEY_SECTION,
    .help_en = "Pictures, voice, videos and files.",
    .help_zh = "图片、语音、视频、文件。" },
  { .name = "media.max_bytes", .type = RG_KEY_BYTES, .offset = AT_GROUP(media.max_bytes),
    .low = 1, .high = 1073741824.0, .initial = "26214400",
    .help_en = "Largest size of one of them.", .help_zh = "单个最大字节数。" },
  { .name = "media.roots", .type = RG_KEY_PATHS, .offset = AT_GROUP(media.roots),
    .initial = "media", .flags = RG_KEY_OPERATOR,
    .help_en = "Folders from which local files may be sent; the first is where relative paths "
               "start.",
    .help_zh = "允许发送本地文件的目录；相对路径从第一个算起。" },
  { .name = "media.hosts", .type = RG_KEY_HOSTS, .initial = "public", .flags = RG_KEY_OPERATOR,
    .help_en = "From where media may be fetched: public (any public address), or a list of the "
               "only hosts.",
    .help_zh = "可以从哪里取媒体：public 任何公网地址，或列出仅允许的主机。" },
  { .name = "media.schemes", .type = RG_KEY_WORDS, .offset = AT_GROUP(media.schemes),
    .words = schemes, .initial = "https,http", .flags = RG_KEY_OPERATOR,
    .help_en = "Allowed kinds of address.", .help_zh = "允许的地址种类。" },
  { .name = "media.inspect", .type = RG_KEY_BOOL, .offset = AT_GROUP(media.inspect),
    .initial = "true", .flags = RG_KEY_OPERATOR,
    .help_en = "Fetch media and look at their bytes before they are sent.",
    .help_zh = "发送前取回媒体并检查内容。" },
  { .name = "media.deliver", .type = RG_KEY_WORD, .offset = AT_GROUP(media.deliver),
    .words = deliveries, .initial = "auto", 
    .help_en = "How inspected media travel: auto (base64 up to 8 MiB, else the address), url or "
               "base64.",
    .help_zh = "媒体怎么发：auto（8 MiB 以内 base64，否则地址）、url、base64。" },
  { .name = "directives", .type = RG_KEY_SECTION,
    .help_en = "Rich output directives in a model's text ([[audio_as_voice]], MEDIA: lines …).",
    .help_zh = "模型文字里的富输出指令（[[audio_as_voice]]、MEDIA: 行等）。" },
  { .name = "directives.enabled", .type = RG_KEY_BOOL, .offset = AT_GROUP(directives.enabled),
    .initial = "false",
    .help_en = "Whether they are read.", .help_zh = "是否识别。" },
  { .name = "directives.media_lines", .type = RG_KEY_BOOL,
    .offset = AT_GROUP(directives.media_lines), .initial = "false",
    .help_en = "Read MEDIA: lines as attachments.", .help_zh = "把 MEDIA: 行当作附件。" },
  { .name = "directives.markdown_images", .type = RG_KEY_BOOL,
    .offset = AT_GROUP(directives.markdown_images), .initial = "false",
    .help_en = "Read Markdown images as attachments.", .help_zh = "把 Markdown 图片当作附件。" },
  { .name = "failure_notice", .type = RG_KEY_NOTICE, .initial = "default",
    .help_en = "What people see when an answer could not be sent: default, off, or a text of "
               "yours.",
    .help_zh = "回复发不出时的提示：default 默认，off 不提示，或自己写一句。" },
  { .name = "privacy", .type = RG_KEY_BOOL, .offset = AT_GROUP(privacy), .initial = "true",
    .flags = RG_KEY_OPERATOR,
    .help_en = "With false, `last` may show message text.",
    .help_zh = "false 时 last 可以显示消息原文。" },
  { .name = "ignore", .type = RG_KEY_IDS, .offset = AT_GROUP(ignore), .initial = "",
    .help_en = "Accounts whose messages start nothing.",
    .help_zh = "不理会这些 QQ 号的消息。" },
  { .name = "agent", .type = RG_KEY_SECTION,
    .help_en = "The built-in agent: it reads the chat and asks a model of `providers`.",
    .help_zh = "内置助手：读聊天消息，调用 providers 里的模型。" },
  { .name = "agent.enabled", .type = RG_KEY_BOOL, .offset = AT_GROUP(agent.enabled),
    .initial = "false", .flags = RG_KEY_OPERATOR,
    .help_en = "Whether it answers here.", .help_zh = "是否在这里回答。" },
  { .name = "agent.providers", .type = RG_KEY_TEXTS, .offset = AT_GROUP(agent.providers),
    .initial = "", .flags = RG_KEY_OPERATOR,
    .help_en = "Names of providers in the order they are asked; empty: all of them.",
    .help_zh = "依次使用的模型服务名；留空则用全部。" },
  { .name = "agent.triggers", .type = RG_KEY_WORDS, .offset = AT_GROUP(agent.triggers),
    .words = triggers, .initial = "mention,reply",
    .help_en = "What it answers in a group: a mention of the bot, a reply to it, a prefix, a "
               "keyword, or any message by chance.",
    .help_zh = "群里何时回答：mention @它，reply 回复它，prefix 前缀，keyword 关键词，chance 随机。" },
  { .name = "agent.prefixes", .type = RG_KEY_TEXTS, .offset = AT_GROUP(agent.prefixes),
    .initial = "",
    .help_en = "With the trigger prefix: how such a message begins.",
    .help_zh = "prefix 触发：消息以这些文字开头。" },
  { .name = "agent.keywords", .type = RG_KEY_TEXTS, .offset = AT_GROUP(agent.keywords),
    .initial = "",
    .help_en = "With the trigger keyword: what such a message contains.",
    .help_zh = "keyword 触发：消息包含这些文字。" },
  { .name = "agent.chance", .type = RG_KEY_SECONDS, .offset = AT_GROUP(agent.chance), .high = 1,
    .initial = "0",
    .help_en = "With the trigger chance: how likely any message is answered.",
    .help_zh = "chance 触发：任意消息被回答的概率。" },
  { .name = "agent.context", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.context), .low = 1,
    .high = 100, .initial = "20",
    .help_en = "How many of the last messages the model sees.",
    .help_zh = "模型能看到最近多少条消息。" },
  { .name = "agent.history", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.history), .low = 0,
    .high = 100, .initial = "50", .flags = RG_KEY_OPERATOR,
    .help_en = "How many of the last messages of a chat are kept in the store, so that a restart "
               "does not forget them; 0: none.",
    .help_zh = "每个聊天在 store 里保存最近多少条消息，重启后还记得；0 不保存。" },
  { .name = "agent.history_days", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.history_days),
    .low = 1, .high = 365, .initial = "7", .flags = RG_KEY_OPERATOR,
    .help_en = "Days after which such a message is dropped, with the chat's next one.",
    .help_zh = "保存多少天；过期的在该聊天有新消息时删除。" },
  { .name = "agent.images", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.images), .low = 0,
    .high = 4, .initial = "2",
    .help_en = "How many of the newest pictures among those messages a model that sees (images of "
               "its provider) is shown; they are fetched under the group's media rules.",
    .help_zh = "把最近几张图片给能看图的模型（见 providers 的 images）；按本群 media 规则下载。" },
  { .name = "agent.system_prompt", .type = RG_KEY_TEXT, .offset = AT_GROUP(agent.system_prompt),
    .initial = "", .flags = RG_KEY_OPERATOR,
    .help_en = "Who the model is and how it is to speak.",
    .help_zh = "系统提示词：它是谁、怎么说话。" },
  { .name = "agent.newer", .type = RG_KEY_WORD, .offset = AT_GROUP(agent.newer), .words = newer,
    .initial = "cancel",
    .help_en = "What a newer message of the same person does to an answer that is still being "
               "made: cancel it, or queue behind it.",
    .help_zh = "同一人又发了消息时，还没生成完的回答：cancel 取消，queue 排队。" },
  { .name = "agent.at_once", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.at_once), .low = 1,
    .high = 16, .initial = "4",
    .help_en = "How many answers are made at once in one chat; the next ones wait.",
    .help_zh = "一个聊天里同时生成几个回答，其余排队。" },
  { .name = "agent.pause", .type = RG_KEY_SECONDS, .offset = AT_GROUP(agent.pause), .high = 60,
    .initial = "0",
    .help_en = "Seconds that pass at least between a question and its answer, as if it were typed.",
    .help_zh = "提问后至少过几秒才回答，像真人打字。" },
  { .name = "agent.tools", .type = RG_KEY_TOOL_NAMES, .offset = AT_GROUP(agent.tools),
    .words = agent_tools, .initial = "find_member,get_message", .flags = RG_KEY_OPERATOR,
    .help_en = "What the model may look up: a member's number by name, a message of this chat, and "
               "the tools of `tools`, by their names.",
    .help_zh = "模型可查询的内容：find_member 按名字查成员，get_message 查本聊天的消息，以及 tools 里的工具名。" },
  { .name = "agent.tool_rounds", .type = RG_KEY_COUNT, .offset = AT_GROUP(agent.tool_rounds),
    .low = 1, .high = 20, .initial = "4",
    .help_en = "How often it may look things up for one answer; then it must answer.",
    .help_zh = "一次回答最多查询几轮，之后必须作答。" },
  { .name = "agent.daily_tokens", .type = RG_KEY_BYTES, .offset = AT_GROUP(agent.daily_tokens),
    .low = 0, .high = 1e12, .initial = "0", .flags = RG_KEY_OPERATOR,
    .help_en = "Tokens a day for one chat; 0: no limit.",
    .help_zh = "每个聊天每天最多多少 token；0 不限。" },
};

static const struct rg_key provider[] = {
  { .name = "dialect", .type = RG_KEY_WORD_TEXT, .offset = AT_PROVIDER(dialect),
    .words = dialects, .initial = "openai",
    .help_en = "How it is spoken to; openai for everything that is compatible with it.",
    .help_zh = "接口类型；兼容 OpenAI 的都写 openai。" },
  { .name = "base_url", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(base_url), .initial = "",
    .example = "${OPENAI_BASE_URL:-}", .flags = RG_KEY_ADDRESS,
    .help_en = "Its address up to what all its paths begin with (https://api.openai.com/v1); "
               "empty: the vendor's.",
    .help_zh = "接口地址，如 https://api.openai.com/v1；留空用官方地址。" },
  { .name = "api_key", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(api_key), .initial = "",
    .example = "${OPENAI_API_KEY:-}", .flags = RG_KEY_SECRET,
    .help_en = "The key, best as ${VARIABLE}.", .help_zh = "密钥，最好写成 ${变量}。" },
  { .name = "api_key_file", .type = RG_KEY_PATH, .offset = AT_PROVIDER(api_key_file),
    .initial = "",
    .help_en = "Instead: a file whose first line is the key. It is read for each question, so that a "
               "token that is renewed there (gemini_vertex takes an access token) is used at once.",
    .help_zh = "或者：第一行是密钥的文件，每次提问时读取；gemini_vertex 要写现成的访问令牌，定期更新。" },
  { .name = "model", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(model), .initial = "",
    .example = "gpt-5-mini",
    .help_en = "The model's name there.", .help_zh = "模型名。" },
  { .name = "api_version", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(api_version), .initial = "",
    .help_en = "Azure only: the api-version of its older paths (/openai/deployments/MODEL); empty: "
               "/openai/v1.",
    .help_zh = "仅 Azure：旧式路径的 api-version；留空用 /openai/v1。" },
  { .name = "structured_output", .type = RG_KEY_WORD, .offset = AT_PROVIDER(structured_output),
    .words = forms, .initial = "auto",
    .help_en = "How the model learns the form of a reply: native (the schema in the request), "
               "prompt (in the system prompt), or auto (native where the provider can).",
    .help_zh = "结构化输出：native 随请求发 schema，prompt 写进提示词，auto 自动。" },
  { .name = "supports_response_schema", .type = RG_KEY_WORD,
    .offset = AT_PROVIDER(takes_schema), .words = yes_no, .initial = "unknown",
    .help_en = "Whether an OpenAI-compatible endpoint takes a schema; unknown: by its dialect.",
    .help_zh = "OpenAI 兼容接口能否接受 schema；unknown 按类型判断。" },
  { .name = "supports_response_schema_with_tools", .type = RG_KEY_WORD,
    .offset = AT_PROVIDER(takes_schema_with_tools), .words = yes_no, .initial = "unknown",
    .help_en = "The same for a request that offers tools too.",
    .help_zh = "同时带工具时能否接受 schema。" },
  { .name = "max_tokens", .type = RG_KEY_COUNT, .offset = AT_PROVIDER(max_tokens), .low = 16,
    .high = 1000000, .initial = "4096",
    .help_en = "The most tokens of one answer.", .help_zh = "一次回答最多多少 token。" },
  { .name = "connect_timeout", .type = RG_KEY_SECONDS, .offset = AT_PROVIDER(connect_timeout),
    .low = 1, .high = 300, .initial = "10",
    .help_en = "Seconds until a connection must stand.", .help_zh = "连接超时（秒）。" },
  { .name = "timeout", .type = RG_KEY_SECONDS, .offset = AT_PROVIDER(timeout), .low = 1,
    .high = 3600, .initial = "120",
    .help_en = "Seconds until a whole answer must be there.", .help_zh = "整个回答的超时（秒）。" },
  { .name = "stream", .type = RG_KEY_BOOL, .offset = AT_PROVIDER(stream), .initial = "false",
    .help_en = "Ask for the answer in pieces, for endpoints that can only stream; it is shown "
               "once it is whole and judged all the same.",
    .help_zh = "流式请求，用于只支持流式的接口；仍在完整检查后才发出。" },
  { .name = "images", .type = RG_KEY_BOOL, .offset = AT_PROVIDER(images), .initial = "false",
    .help_en = "Whether this model sees pictures.", .help_zh = "这个模型能否看图。" },
  { .name = "idle_timeout", .type = RG_KEY_SECONDS, .offset = AT_PROVIDER(idle_timeout),
    .low = 0, .high = 3600, .initial = "60",
    .help_en = "With stream: seconds in which nothing may come; 0: only timeout holds.",
    .help_zh = "流式时多久没有数据就放弃（秒）；0 只看 timeout。" },
  { .name = "extra_body", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(extra_body), .initial = "",
    .help_en = "Further members of the request, as a JSON object in quotes.",
    .help_zh = "请求里附加的字段，写成带引号的 JSON 对象。" },
  { .name = "proxy", .type = RG_KEY_TEXT, .offset = AT_PROVIDER(proxy), .initial = "",
    .flags = RG_KEY_SECRET,
    .help_en = "A proxy for it, like http://127.0.0.1:7890.",
    .help_zh = "代理，如 http://127.0.0.1:7890。" },
  { .name = "ca", .type = RG_KEY_PATH, .offset = AT_PROVIDER(ca), .initial = "",
    .help_en = "A file of CA certificates instead of the system's.",
    .help_zh = "代替系统证书的 CA 文件。" },
  { .name = "daily_tokens", .type = RG_KEY_BYTES, .offset = AT_PROVIDER(daily_tokens), .low = 0,
    .high = 1e12, .initial = "0",
    .help_en = "Tokens a day from it; 0: no limit.", .help_zh = "每天最多多少 token；0 不限。" },
};

static const struct rg_key tool[] = {
  { .name = "description", .type = RG_KEY_TEXT, .offset = AT_TOOL(description), .initial = "",
    .example = "\"Finds songs by name or singer: title, singer, url, cover\"",
    .help_en = "What the tool does and when to use it, for the model.",
    .help_zh = "给模型看的说明：这个工具做什么，什么时候用。" },
  { .name = "parameters", .type = RG_KEY_PARAMETERS, .offset = AT_TOOL(parameters), .initial = "",
    .example = "{type: object, properties: {keyword: {type: string, description: Song or singer}}, "
               "required: [keyword], additionalProperties: false}",
    .help_en = "What the model writes for a call, as a JSON Schema that every provider takes (see "
               "output_schema); without it: nothing.",
    .help_zh = "模型调用时要写的参数，JSON Schema（要求同 output_schema）；不写则没有参数。" },
  { .name = "url", .type = RG_KEY_TEXT, .offset = AT_TOOL(url), .initial = "",
    .example = "https://music.example.com/search?limit=3&q={keyword}", .flags = RG_KEY_ADDRESS,
    .help_en = "Its address. {name} in path or query stands for a parameter, percent-encoded; of "
               "those without a place get makes a query, post a JSON body. Redirects are not "
               "followed.",
    .help_zh = "地址，{参数名} 换成参数值（自动转义）；其余参数 get 放进查询，post 放进 JSON。不跟随重定向。" },
  { .name = "method", .type = RG_KEY_WORD, .offset = AT_TOOL(method), .words = methods,
    .initial = "get",
    .help_en = "get or post.", .help_zh = "get 或 post。" },
  { .name = "headers", .type = RG_KEY_HEADERS, .offset = AT_TOOL(headers), .initial = "",
    .example = "{Authorization: \"Bearer ${MUSIC_KEY:-}\"}", .flags = RG_KEY_SECRET,
    .help_en = "Headers of the request; secrets best as ${VARIABLE}. Neither the model nor the log "
               "sees them.",
    .help_zh = "请求头，密钥最好写成 ${变量}；模型和日志都看不到。" },
  { .name = "header_files", .type = RG_KEY_HEADER_FILES, .offset = AT_TOOL(header_files),
    .initial = "",
    .help_en = "More headers, each with a file whose first line is the value, read at each call.",
    .help_zh = "更多请求头：值是文件的第一行，每次调用时读取。" },
  { .name = "addresses", .type = RG_KEY_WORD, .offset = AT_TOOL(reach), .words = reaches,
    .initial = "public",
    .help_en = "Where the address may lead: public, or any for a server of your own network.",
    .help_zh = "允许的目标：public 公网地址；any 也可以是自己内网的服务。" },
  { .name = "response_bytes", .type = RG_KEY_COUNT, .offset = AT_TOOL(response_bytes), .low = 256,
    .high = 65536, .initial = "8192",
    .help_en = "How much of a response the model sees; the rest is cut.",
    .help_zh = "模型最多看到响应的多少字节，超出的截掉。" },
  { .name = "timeout", .type = RG_KEY_SECONDS, .offset = AT_TOOL(timeout), .low = 1, .high = 60,
    .initial = "10",
    .help_en = "Seconds until the response must be there.", .help_zh = "响应超时（秒）。" },
};

static const struct rg_key framework[] = {
  { .name = "url", .type = RG_KEY_URL, .offset = AT_FRAMEWORK(url), .initial = "",
    .example = "ws://127.0.0.1:8080/onebot/v11/ws", .flags = RG_KEY_ADDRESS,
    .help_en = "Its address (ws:// or wss://).", .help_zh = "框架的地址（ws:// 或 wss://）。" },
  { .name = "access_token", .type = RG_KEY_TEXT, .offset = AT_FRAMEWORK(access_token),
    .initial = "", .flags = RG_KEY_SECRET,
    .help_en = "The token that it wants.", .help_zh = "框架要求的令牌。" },
  { .name = "endpoint", .type = RG_KEY_TEXT, .offset = AT_FRAMEWORK(endpoint), .initial = "",
    .help_en = "The endpoint it works with; may be left out where there is one only.",
    .help_zh = "对应的连接；只有一个连接时可以不写。" },
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

_Static_assert(COUNT(group) <= RG_GROUP_KEYS_MAX, "a mask has a bit for each key of a group");

const struct rg_keys rg_keys[RG_SCOPE_COUNT] = {
  [RG_SCOPE_TOP] = { top, COUNT(top) },
  [RG_SCOPE_ENDPOINT] = { endpoint, COUNT(endpoint) },
  [RG_SCOPE_GROUP] = { group, COUNT(group) },
  [RG_SCOPE_PROVIDER] = { provider, COUNT(provider) },
  [RG_SCOPE_TOOL] = { tool, COUNT(tool) },
  [RG_SCOPE_FRAMEWORK] = { framework, COUNT(framework) },
};

const struct rg_key *rg_key_find(enum rg_scope scope, struct span name)
{
  for (size_t i = 0; i < rg_keys[scope].count; i++)
    if (span_is(name, rg_keys[scope].items[i].name)) return &rg_keys[scope].items[i];
  return NULL;
}

size_t rg_key_index(enum rg_scope scope, const struct rg_key *key)
{
  return (size_t)(key - rg_keys[scope].items);
}

const char *rg_key_word(const struct rg_key *key, size_t i)
{
  if (key->words == segment_types)
    return i < SCHEMA_TYPE_COUNT ? schema_segment_types[i].name : NULL;
  if (key->words == platforms) return i < OB_PLATFORM_COUNT ? ob_apps[i].name : NULL;
  if (key->words == profiles) {
    if (i == 0) return "auto";
    return i <= OB_PROFILE_COUNT ? ob_profiles[i - 1].name : NULL;
  }
  return key->words ? key->words[i] : NULL;
}

size_t rg_key_word_find(const struct rg_key *key, struct span word)
{
  const char *candidate;
  for (size_t i = 0; (candidate = rg_key_word(key, i)); i++)
    if (span_is(word, candidate)) return i;
  return SIZE_MAX;
}

/* One of the key's words, or a list of them. */
static void add_words(const struct rg_key *key, bool en, struct buf *out)
{
  bool list = key->type == RG_KEY_WORDS;
  const char *word;
  if (en) buf_add(out, list ? SPAN("a list of ") : SPAN("one of "));
  for (size_t i = 0; (word = rg_key_word(key, i)); i++) {
    if (i > 0) buf_add(out, en ? SPAN(", ") : SPAN("、"));
    buf_add(out, span_of(word));
  }
  if (!en) buf_add(out, list ? SPAN(" 的列表") : SPAN(" 之一"));
}

/* What may stand as a value of a type, in the words of a fault and of the tables; what depends on
 * the key is written by rg_key_allowed. */
static const struct {
  struct span en, zh;
} allowed[] = {
  [RG_KEY_BOOL] = { SPAN_INIT("true or false"), SPAN_INIT("true 或 false") },
  [RG_KEY_IDS] = { SPAN_INIT("a list of QQ numbers, like [10001]"),
                   SPAN_INIT("QQ 号列表，如 [10001]") },
  [RG_KEY_TEXT] = { SPAN_INIT("a text"), SPAN_INIT("文字") },
  [RG_KEY_PREFIX] = { SPAN_INIT("a word without spaces, not only digits, at most 32 characters"),
                      SPAN_INIT("不含空格、不全是数字的一个词，最多 32 个字") },
  [RG_KEY_PATH] = { SPAN_INIT("a path of a file"), SPAN_INIT("文件路径") },
  [RG_KEY_SCHEMA] = { SPAN_INIT("a path of a file"), SPAN_INIT("文件路径") },
  [RG_KEY_PATHS] = { SPAN_INIT("a list of folders, like [media]"),
                     SPAN_INIT("目录列表，如 [media]") },
  [RG_KEY_TEXTS] = { SPAN_INIT("a list of texts"), SPAN_INIT("文字列表") },
  [RG_KEY_STORE] = { SPAN_INIT("sqlite:FILE or redis://host:6379/0"),
                     SPAN_INIT("sqlite:文件 或 redis://主机:6379/0") },
  [RG_KEY_CONNECT] = { SPAN_INIT("an address like ws://127.0.0.1:3001 or wss://name/path, or host"),
                       SPAN_INIT("地址，如 ws://127.0.0.1:3001 或 wss://名字/路径，或者 host") },
  [RG_KEY_URL] = { SPAN_INIT("an address like ws://127.0.0.1:8080/onebot/v11/ws"),
                   SPAN_INIT("地址，如 ws://127.0.0.1:8080/onebot/v11/ws") },
  [RG_KEY_LISTEN] = { SPAN_INIT("an address with port and path, like 127.0.0.1:8080/onebot/v11/ws"),
                      SPAN_INIT("地址、端口和路径，如 127.0.0.1:8080/onebot/v11/ws") },
  [RG_KEY_RELAY_LISTEN] = { SPAN_INIT("an address with port, like 127.0.0.1:6700"),
                            SPAN_INIT("地址和端口，如 127.0.0.1:6700") },
  [RG_KEY_FACTS] = { SPAN_INIT("a mapping like {music: no}"), SPAN_INIT("映射，如 {music: no}") },
  [RG_KEY_PATH_MAP] = { SPAN_INIT("a mapping of absolute folders, like {/srv/media: /app/media}"),
                        SPAN_INIT("绝对路径的映射，如 {/srv/media: /app/media}") },
  [RG_KEY_REACTIONS] = { SPAN_INIT("true, false, or a list of reactions, like [赞, 76]"),
                         SPAN_INIT("true、false 或表情列表，如 [赞, 76]") },
  [RG_KEY_HOSTS] = { SPAN_INIT("public, or a list of host names, like [example.com]"),
                     SPAN_INIT("public 或主机名列表，如 [example.com]") },
  [RG_KEY_NOTICE] = { SPAN_INIT("default, off, or a text"), SPAN_INIT("default、off 或一句话") },
  [RG_KEY_SECTION] = { SPAN_INIT("a mapping with its keys below it, or in { }"),
                       SPAN_INIT("映射：下面缩进写各键，或用 { }") },
  [RG_KEY_ENDPOINTS] = { SPAN_INIT("a mapping of names to endpoints"),
                         SPAN_INIT("名字到连接的映射") },
  [RG_KEY_PROVIDERS] = { SPAN_INIT("a mapping of names to providers"),
                         SPAN_INIT("名字到模型服务的映射") },
  [RG_KEY_TOOLS] = { SPAN_INIT("a mapping of names to tools"), SPAN_INIT("名字到工具的映射") },
  [RG_KEY_TOOL_NAMES] = { SPAN_INIT("a list of find_member, get_message and names under tools"),
                          SPAN_INIT("find_member、get_message 和 tools 里名字的列表") },
  [RG_KEY_PARAMETERS] = { SPAN_INIT("a JSON Schema of an object"),
                          SPAN_INIT("对象的 JSON Schema") },
  [RG_KEY_HEADERS] = { SPAN_INIT("a mapping of header names to values, like {X-Key: \"${KEY}\"}"),
                       SPAN_INIT("请求头到值的映射，如 {X-Key: \"${KEY}\"}") },
  [RG_KEY_HEADER_FILES] = { SPAN_INIT("a mapping of header names to files, like {X-Key: key.txt}"),
                            SPAN_INIT("请求头到文件的映射，如 {X-Key: key.txt}") },
  [RG_KEY_GROUPS] = { SPAN_INIT("a mapping of default and group numbers to settings"),
                      SPAN_INIT("default 和群号到设置的映射") },
  [RG_KEY_FRAMEWORKS] = { SPAN_INIT("a list of {url, access_token, endpoint}"),
                          SPAN_INIT("{url, access_token, endpoint} 的列表") },
};

void rg_key_allowed(const struct rg_key *key, enum schema_language language, struct buf *out)
{
  bool en = language == SCHEMA_EN;
  switch ((int)key->type) {
  case RG_KEY_COUNT:
  case RG_KEY_BYTES:
    buf_printf(out, en ? "a whole number from %.0f to %.0f" : "%.0f 到 %.0f 的整数", key->low,
               key->high);
    return;
  case RG_KEY_SECONDS:
    buf_printf(out, en ? "a number from %g to %g" : "%g 到 %g 的数", key->low, key->high);
    return;
  case RG_KEY_WORD:
  case RG_KEY_WORD_TEXT:
  case RG_KEY_PROFILE:
  case RG_KEY_WORDS: add_words(key, en, out); return;
  default: buf_add(out, en ? allowed[key->type].en : allowed[key->type].zh);
  }
}

/* Changes (one character more, less, other, or two swapped) that make a into b; more than limit is
 * limit + 1. Bytes stand for characters: names are short and mostly ASCII. */
static size_t distance(struct span a, struct span b, size_t limit)
{
  enum { LONGEST = 64 };
  if (a.len > LONGEST || b.len > LONGEST) return limit + 1;
  size_t rows[3][LONGEST + 1];
  size_t *before = rows[0], *last = rows[1], *now = rows[2];
  for (size_t j = 0; j <= b.len; j++) last[j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    now[0] = i;
    for (size_t j = 1; j <= b.len; j++) {
      size_t best = last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
          before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      now[j] = best;
    }
    size_t *free_row = before;
    before = last;
    last = now;
    now = free_row;
  }
  return last[b.len] < limit + 1 ? last[b.len] : limit + 1;
}

struct span rg_nearest(struct span typed, const struct span *candidates, size_t count)
{
  /* a third of the word may be wrong, at least one character, at most three */
  size_t limit = typed.len / 3 > 3 ? 3 : typed.len / 3 > 0 ? typed.len / 3 : 1;
  struct span best = { NULL, 0 };
  size_t best_distance = limit + 1;
  for (size_t i = 0; i < count; i++) {
    size_t d = distance(typed, candidates[i], limit);
    if (d < best_distance) {
      best_distance = d;
      best = candidates[i];
    }
  }
  return best;
}
