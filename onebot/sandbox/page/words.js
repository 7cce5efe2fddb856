// words: the texts of the page in both languages.
const words = {
  zh: {
    other: 'English', chats: '聊天', groups: '群聊', privates: '私聊', panel: '调试面板', close: '关闭', cancel: '取消',
    messages: '消息', newest: '↓ 新消息', as: '发言人', mention: '@ 提及', send: '发送', text: '消息内容',
    hint: '说点什么…（Enter 发送，@名字 提及）', wire: '协议帧', peer: '对端行为',
    events: '事件', beats: '心跳', clear: '清空', no_frames: '机器人连上后，经过线路的每一帧都会出现在这里。',
    plays: '扮演的实现', profile: '实现', format: '消息格式', sign: '音乐签名', sign_up: '正常', sign_down: '失败', sign_unset: '未配置',
    bot_role: '机器人身份', member: '成员', admin: '管理员', owner: '群主', report_self: '上报自己的消息', heartbeat: '心跳',
    muted: '机器人被禁言', offline: '账号离线', refuse_tokens: '拒绝所有令牌', drop_now: '断开连接', close_now: '关闭连接',
    next_calls: '接下来的调用', action: '动作', kind: '行为', count: '次数', ms: '毫秒', reason: '文本',
    delivered: '消息其实已送达', push: '并上报 message_sent', order: '安排', clear_faults: '取消全部',
    late: '晚答', silent: '不答', upload: '上传失败 -1', risk: '风控', timeout: '内部超时 NTEvent', refuse: '自定错误', result: 'data.result',
    close_after: '执行后关闭', close_before: '不执行就关闭', drop: '执行后断线', no_echo: '回应无 echo', twice: '回应两次', garbled: '回应不是 JSON',
    answer_close: '回应后关闭', restart: '重启，暂不接受连接', log_out: '账号掉线一段时间',
    connected: (n) => `${n} 个机器人已连接`, waiting: '等待机器人连接…', lost: '与沙盒的连接已断开，正在重连…',
    members: (n) => `${n} 人`, recalled: (who) => `${who} 撤回了一条消息`, quote: '回复', react: '表情回应', recall: '撤回',
    unseen: '普通客户端看不到这条消息', bot: '机器人', image: '图片', voice: '语音', video: '视频', file: '文件', forward: '聊天记录', dice: '骰子', rps: '猜拳', poke: '戳一戳', mface: '表情', contact: '名片', location: '位置',
    gone: '原消息不在这里了', card: '卡片', private_with: (who) => `${who} 与机器人的私聊`, stranger: '不是机器人的好友',
    everyone: '全体成员', play: '播放', count_messages: (n) => `查看 ${n} 条转发消息`, nothing: '还没有消息，先说句话吧，比如“帮助”。',
    cut: (n) => `只显示开头，共 ${n} 字节`, times: (n) => `×${n}`, too_long: '内容太大，页面不显示',
    // what the sandbox notes at a message (judge.c, cards.c); in English they are as it writes them
    dropped: '被静默丢弃', 'as a literal CQ code': '被当作文字发出的 CQ 码', 'nobody sees it': '已接受但无人可见', ignored: '被忽略的字段',
    'unknown id': '未知 id', 'empty text': '空文本', 'beside others': '与其他消息段混发', 'mention of a stranger': '提及了群外的人', 'mention of nobody': '提及失败',
    'mention of 0': '提及 0', '@all as text': '@全体成员 变成文字', 'content and image change places': 'content 与 image 互换', 'shown as something else': '显示成别的内容',
    'a card without sound': '卡片没有声音', 'an app that is in no table': '未知的应用 id', 'the card\'s url is no web address': '卡片链接不是网址', 'the card\'s audio is no web address': '卡片音频不是网址', 'the card\'s image is no web address': '卡片封面不是网址',
  },
  en: {
    other: '中文', chats: 'Chats', groups: 'Groups', privates: 'Private', panel: 'Inspect', close: 'Close', cancel: 'Cancel',
    messages: 'Messages', newest: '↓ New messages', as: 'Speak as', mention: '@ Mention', send: 'Send', text: 'Message',
    hint: 'Say something… (Enter sends, @name mentions)', wire: 'Wire', peer: 'Peer',
    events: 'Events', beats: 'Heartbeats', clear: 'Clear', no_frames: 'Once a bot connects, every frame on the wire shows up here.',
    plays: 'What is played', profile: 'Implementation', format: 'Message form', sign: 'Card signing', sign_up: 'works', sign_down: 'fails', sign_unset: 'not set up',
    bot_role: 'The bot is', member: 'member', admin: 'admin', owner: 'owner', report_self: 'Report own messages', heartbeat: 'Heartbeat',
    muted: 'The bot is muted', offline: 'Account offline', refuse_tokens: 'Refuse every token', drop_now: 'Drop connections', close_now: 'Close connections',
    next_calls: 'The next calls', action: 'Action', kind: 'What happens', count: 'Times', ms: 'Milliseconds', reason: 'Text',
    delivered: 'The message arrives all the same', push: 'and message_sent is reported', order: 'Order', clear_faults: 'Take all back',
    late: 'answers late', silent: 'no answer', upload: 'upload failed (-1)', risk: 'risk control', timeout: 'own timeout (NTEvent)', refuse: 'an error of your own', result: 'data.result',
    close_after: 'acts, then closes', close_before: 'closes before acting', drop: 'acts, link drops', no_echo: 'answer without echo', twice: 'answers twice', garbled: 'answer is no JSON',
    answer_close: 'answers, then closes', restart: 'restarts, refuses links', log_out: 'account goes offline',
    connected: (n) => `${n} bot${n === 1 ? '' : 's'} connected`, waiting: 'Waiting for a bot…', lost: 'The sandbox is gone, reconnecting…',
    members: (n) => `${n} members`, recalled: (who) => `${who} recalled a message`, quote: 'Reply', react: 'React', recall: 'Recall',
    unseen: 'Ordinary clients do not show this message', bot: 'bot', image: 'Picture', voice: 'Voice', video: 'Video', file: 'File', forward: 'Chat history', dice: 'dice', rps: 'rock-paper-scissors', poke: 'poke', mface: 'sticker', contact: 'contact', location: 'location',
    gone: 'The original is not here any more', card: 'Card', private_with: (who) => `${who} and the bot`, stranger: 'not a friend of the bot',
    everyone: 'everyone', play: 'Play', count_messages: (n) => `${n} forwarded message${n === 1 ? '' : 's'}`, nothing: 'Nothing here yet. Say something, for example “help”.',
    cut: (n) => `only the beginning of ${n} bytes`, times: (n) => `×${n}`, too_long: 'too large to show here',
  },
};

const stored = () => { try { return localStorage.getItem('language'); } catch { return null; } };
let language = stored() ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en');

// The text of that name; with a value where it takes one.
export const word = (name, value) => {
  const found = Object.hasOwn(words[language], name) ? words[language][name] : name;
  return typeof found === 'function' ? found(value) : found;
};

// Fills the elements that name their words.
export const translate = () => {
  document.documentElement.lang = language;
  for (const e of document.querySelectorAll('[data-word]')) e.textContent = word(e.dataset.word);
  for (const e of document.querySelectorAll('[data-label]')) e.setAttribute('aria-label', word(e.dataset.label));
  for (const e of document.querySelectorAll('[data-hint]')) e.placeholder = word(e.dataset.hint);
  document.getElementById('language').textContent = word('other');
};

export const switchLanguage = () => {
  language = language === 'zh' ? 'en' : 'zh';
  try { localStorage.setItem('language', language); } catch { /* a browser without storage forgets it */ }
};
