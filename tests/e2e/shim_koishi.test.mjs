// Koishi as it is started, with its OneBot adapter against the sandbox: the shim is in its plugins list.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ADMIN, GROUP, MEMBER, SELF, Sandbox, root, until } from '../lib/sandbox.mjs';
import { CONFIG, LEAK, installed, linkPackages, remove, reply, say } from '../lib/shim.mjs';

const STRUCTURED = reply([
  { segments: [{ type: 'mention', data: { target: String(MEMBER) } }, { type: 'text', data: { text: ' first' } }] },
  { segments: [{ type: 'text', data: { text: 'second' } }] },
  { segments: [{ type: 'share', data: { url: 'https://example.com/song/42', title: '晴天', description: '周杰伦', image: 'https://example.com/c.jpg', audio: 'https://example.com/a.mp3', platform: 'netease' } }] },
], '76');

// A bot whose answers depend on the word it hears; what it hears and sends is told by IPC.
const BOT = `
const { h } = require('koishi');
exports.name = 'bot';
exports.inject = ['replygate'];
exports.apply = (ctx) => {
  const answers = ${JSON.stringify({ structured: STRUCTURED, leak: LEAK, plain: 'fine', two: reply(say('one', 'two')), keys: reply([{ segments: [{ type: 'text', data: { text: 'Well?' } }, { type: 'keyboard', data: { rows: [[{ label: 'Yes', payload: 'tea please' }, { label: 'No', payload: 'no' }]] } }] }]) })};
  const tell = (kind, value) => process.send({ kind, value });
  ctx.on('message', (session) => tell('heard', session.content));
  ctx.on('send', (session) => tell('sent', session.messageId));
  ctx.middleware(async (session, next) => {
    const word = session.stripped.content;
    tell('middleware', word);
    if (word.startsWith('model ')) {
      const { result, sent } = await ctx.replygate.reply(session, answers[word.slice(6)]);
      return void tell('result', { result, sent: sent.length, instruction: ctx.replygate.contract(session).instruction.length });
    }
    if (word === 'internal') return void await session.bot.internal.sendGroupMsg(session.guildId, [{ type: 'text', data: { text: ${JSON.stringify(LEAK)} } }]);
    if (word === 'picture') return void tell('ids', await session.send([h.quote(session.messageId), h.at(session.userId), h.text(' look '), h.image('http://127.0.0.1:' + process.env.PORT + '/demo/picture.png')]));
    if (word === 'forward') return void await session.send(h('message', { forward: true }, [h('message', 'a'), h('message', 'b')]));
    if (answers[word]) return void tell('ids', await session.send(h.text(answers[word])));
    return next();
  });
};
`;

class Koishi {
  told = [];
  log = '';
  static async start(s, config, profile = '') {
    const k = new Koishi();
    k.path = installed({
      'package.json': '{"name": "bot", "dependencies": {"koishi": "*"}}',
      'koishi.yml': `plugins:\n  http: {}\n  adapter-onebot:\n    selfId: "${SELF}"\n    token: ${s.access_token}\n    protocol: ws\n    endpoint: ws://127.0.0.1:${s.port}\n  ./plugins/replygate: {}\n  ./bot: {}\n${profile}`,
      'bot.js': BOT,
    }, config);
    linkPackages(k.path);
    k.child = fork(join(root, 'tests/node_modules/koishi/lib/worker/index.js'), [], { cwd: k.path, silent: true, env: { ...process.env, PORT: s.port, NO_COLOR: '1' } });
    for (const stream of [k.child.stdout, k.child.stderr]) stream.on('data', (d) => { k.log += d; });
    k.child.on('message', (m) => k.told.push(m));
    await k.logged('connect to server', 20000);
    return k;
  }
  logged(words, ms) {
    return until(`the log to say ${words}`, () => {
      if (this.child.exitCode !== null) throw new Error(this.log);
      return this.log.includes(words);
    }, ms).catch((error) => { throw new Error(`${error.message}: ${this.log}`); });
  }
  of(kind) { return this.told.filter((t) => t.kind === kind).map((t) => t.value); }
  async stop() {
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    remove(this.path);
  }
}

const ours = async (s) => (await s.messages()).filter((m) => m.sender === SELF);
const typesOf = (m) => m.segments.map((x) => x.type);

describe('Koishi with the shim', () => {
  let s, k;
  before(async () => {
    s = await Sandbox.start();
    k = await Koishi.start(s, CONFIG.replace('10009', String(ADMIN)));
    await k.logged('ready, NapCat');
  });
  after(async () => {
    await k?.stop();
    await s?.stop();
  });
  const fresh = async () => { k.told.length = 0; return (await ours(s)).length; };
  const mention = (words, more = {}) => s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ` ${words}` } }], ...more });

  test('structured JSON becomes reaction, mention, two paced messages and a card', async () => {
    const before = await fresh();
    const { message_id } = await mention('structured');
    await until('three messages', async () => (await ours(s)).length >= before + 3);
    const [first, second, third] = (await ours(s)).slice(before);
    assert.deepEqual(typesOf(first), ['at', 'text']);
    assert.equal(second.segments[0].data.text, 'second');
    assert.equal(['json', 'music', 'share'].includes(third.segments[0].type), true, JSON.stringify(third.segments));
    assert.deepEqual((await s.message(message_id)).reactions, [{ emoji_id: '76', user_id: SELF }]);
    const at = (m) => s.ui.frames.find((f) => f.json?.push === 'message' && f.json.message_id === m.message_id).at;
    assert.equal(at(second) - at(first) >= 140 && at(third) - at(second) >= 140, true, 'the pace');
    await until('listeners to be told', () => k.of('sent').includes(first.message_id));
  });

  test('what may go goes through Koishi itself, with its id', async () => {
    await fresh();
    await s.say('plain');
    const [ids] = await until('the ids', () => k.of('ids').length && k.of('ids'));
    assert.deepEqual((await s.message(ids[0])).segments, [{ type: 'text', data: { text: 'fine' } }]);
    await s.say('picture');
    const [, picture] = await until('the ids', () => k.of('ids').length > 1 && k.of('ids'));
    assert.equal(picture.length <= 1, true);
    const last = (await ours(s)).at(-1);
    assert.deepEqual(typesOf(last), ['reply', 'at', 'text', 'image']);
  });

  test('what is held back is not sent, and the log says why', async () => {
    const before = await fresh();
    await s.say('leak');
    await until('the end', () => k.of('ids').length);
    assert.deepEqual(k.of('ids'), [[]]);
    assert.equal((await ours(s)).length, before);
    assert.match(k.log, /held back: tool_call/);
  });

  test('the service delivers what a model answered', async () => {
    const before = await fresh();
    await s.say('model two');
    const [result] = await until('the result', () => k.of('result').length && k.of('result'));
    assert.deepEqual([result.result, result.sent, result.instruction > 100], ['delivered', 2, true]);
    assert.equal((await ours(s)).length, before + 2);
    await s.say('model leak');
    await until('the result', () => k.of('result').length > 1);
    assert.equal(k.of('result')[1].result, 'blocked');
  });

  test('a number answers a keyboard, as if the bot were mentioned', async () => {
    await fresh();
    await s.say('keys');
    await until('the keyboard', () => k.of('ids').length);
    await s.say('1');
    await until('the payload', () => k.of('middleware').includes('tea please'));
    await s.say('model keys');
    await until('the keyboard', () => k.of('result').length);
    await s.say('2');
    await until('the payload', () => k.of('middleware').includes('no'));
    assert.equal(k.of('heard').some((c) => c === '1'), false);
  });

  test('a command is answered and reaches no listener', async () => {
    const before = await fresh();
    await s.say('/gate status', { as: ADMIN });
    await until('the answer', async () => (await ours(s)).length > before);
    assert.match(JSON.stringify((await ours(s)).at(-1).segments), /napcat/);
    await s.say('/gate off', { as: MEMBER });
    await s.say('after');
    await until('the next message', () => k.of('middleware').includes('after'));
    assert.deepEqual(k.of('heard'), ['after']);
    assert.deepEqual(k.of('middleware'), ['after']);
    assert.equal((await ours(s)).length, before + 1, 'a stranger gets no answer');
  });

  test('forwards are judged as the adapter makes them', async () => {
    const before = await fresh();
    await s.say('forward');
    await until('the forward', async () => (await ours(s)).length > before);
    assert.match(JSON.stringify((await ours(s)).at(-1).segments), /forward|node/);
  });

  test("bot.internal goes past the hook, as its README says: the gate's business", async () => {
    const before = await fresh();
    await s.say('internal');
    await until('the message', async () => (await ours(s)).length > before);
  });

  test('an error of the implementation stops the rest', async () => {
    const before = await fresh();
    await s.fault('muted');
    await s.say('two');
    await k.logged('session Failed: send_group_msg');
    assert.equal((await ours(s)).length, before);
  });
});

describe('Koishi with a configuration that has faults', () => {
  test('nothing is sent, and the log says where the fault is', async () => {
    const s = await Sandbox.start();
    const k = await Koishi.start(s, 'endpoints: {main: {connect: host}}\nnonsense: 1\n');
    try {
      await k.logged('nothing is sent');
      assert.match(k.log, /replygate\.yaml:2:1/);
      await s.say('plain');
      await until('the bot to try', () => k.of('ids').length);
      assert.deepEqual(await ours(s), []);
    } finally {
      await k.stop();
      await s.stop();
    }
  });
});
