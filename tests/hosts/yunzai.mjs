// What the shim uses of TRSS-Yunzai 3.1.3, written down from its source (lib/bot.js, lib/plugins/loader.js,
// plugins/adapter/OneBotv11.js): not Yunzai itself.
import { EventEmitter } from 'node:events';

export class Yunzai extends EventEmitter {
  logged = [];
  plugins = [];
  makeLog(level, message, id) { this.logged.push({ level, message: String(message), id }); }
  makeError(message, ...more) { return Object.assign(Error(message), ...more); }
  // message.group.normal, then message.group, then message
  em(name, data) {
    for (let n = name; n; n = n.includes('.') ? n.slice(0, n.lastIndexOf('.')) : '') this.emit(n, data);
  }
  // The loader: exported classes, lowest priority first; accept before any rule.
  load(module) {
    for (const Class of Object.values(module)) if (Class?.prototype && /^class/.test(String(Class))) this.plugins.push(new Class());
    this.plugins.sort((a, b) => a.priority - b.priority);
    if (this.listenerCount('message') === 0) this.on('message', (e) => this.deal(e));
  }
  async deal(e) {
    e.msg = e.message.filter((s) => s.type === 'text').map((s) => s.text).join('').trim();
    e.atBot = e.message.some((s) => s.type === 'at' && String(s.qq) === String(e.self_id));
    for (const p of this.plugins) if (p.accept && (await p.accept(e)) === 'return') return;
    this.dealt?.(e);
  }
}

export class Plugin {
  constructor({ name, priority = 5000, rule = [], event = 'message' }) { Object.assign(this, { name, priority, rule, event }); }
}

// The adapter with one connection: what goes over the wire, and its answers by action: an object, or
// a function of the params; without one, an id or nothing.
export class Adapter {
  name = 'OneBotv11';
  wire = [];
  answers = {};
  #ids = 1000;
  async sendApi(data, ws, action, params = {}) {
    this.wire.push({ action, params: JSON.parse(JSON.stringify(params)), at: performance.now() });
    await new Promise((resolve) => setImmediate(resolve));
    const answer = this.answers[action] ?? { status: 'ok', retcode: 0, data: /^send/.test(action) ? { message_id: this.#ids++ } : null };
    if (answer instanceof Error) throw answer;
    if (answer.retcode !== 0 && answer.retcode !== 1) throw Bot.makeError(answer.msg || answer.wording, { action, params }, { error: answer });
    return answer.data ? new Proxy(answer, { get: (target, key) => target.data[key] ?? target[key] }) : answer;
  }
  // lifecycle: a new object for the bot; `connect` is told later
  connect(self_id) {
    const ws = { readyState: 1 };
    const bot = { adapter: this, ws, sendApi: (...call) => this.sendApi({ self_id }, ws, ...call) };
    return { bot, self_id };
  }
  // an event as it came
  message(bot, raw) {
    const data = { ...JSON.parse(raw), raw, bot };
    if (data.post_type === 'message') data.message = data.message.map(({ type, data: more }) => ({ ...more, type }));
    Bot.em(data.post_type === 'message' ? `message.${data.message_type}.${data.sub_type}` : `notice.${data.notice_type}`, data);
    return data;
  }
}
