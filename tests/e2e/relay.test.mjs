// The gate: bot frameworks connect to Replygate as if it were the OneBot implementation; the sandbox
// is the real one. Nothing of the frameworks is changed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { Gate, freePort, koishi } from '../lib/gate.mjs';
import { GROUP, MEMBER, SELF, text, until } from '../lib/sandbox.mjs';

const require = createRequire(import.meta.url);

const at = (id) => ({ type: 'at', data: { qq: String(id) } });
const quote = (id) => ({ type: 'reply', data: { id: String(id) } });
const answer = {
  messages: [
    { segments: [{ type: 'mention', data: { target: String(MEMBER) } }, { type: 'text', data: { text: ' 听这首' } }] },
    { segments: [{ type: 'share', data: { platform: 'netease', url: 'https://music.163.com/song?id=186016', title: '晴天', description: '周杰伦', image: 'https://example.com/c.jpg', audio: 'https://example.com/a.mp3' } }] },
  ],
  reaction: '76',
};

// The AI bot that knows nothing of the gate: it quotes what it answers and says what its model said.
const aiBot = async (session, next) => {
  if (!session.content?.includes('点歌')) return next();
  const { h } = require('koishi');
  await session.send([h.quote(session.messageId), h.text(JSON.stringify(answer))]);
};

const delivered = async (s, asked) => {
  const own = await until('two messages', async () => {
    const list = (await s.messages()).filter((m) => m.sender === SELF);
    return list.length >= 2 && list;
  });
  assert.equal(own.length, 2, JSON.stringify(own));
  const [first, second] = own;
  assert.deepEqual(first.segments.map((x) => x.type), ['reply', 'at', 'text'], JSON.stringify(first));
  assert.equal(String(first.segments[1].data.qq), String(MEMBER));
  assert.notEqual(second.segments[0].type, 'text', JSON.stringify(second));
  assert.equal((await s.message(asked)).reactions.length, 1, 'the reaction is on what was answered');
  assert.doesNotMatch(JSON.stringify(own.map((m) => m.segments)), /messages\\?"|reaction/, 'no raw JSON reaches the chat');
};

for (const way of ['forward', 'reverse']) {
  describe(`Koishi through the gate, ${way}`, () => {
    let g, context;
    before(async () => {
      const serverPort = await freePort();
      const relay = way === 'reverse' ? `  connect: [{url: 'ws://127.0.0.1:${serverPort}/onebot', access_token: koishi}]\n` : '';
      g = await Gate.start({ relay });
      await g.ready();
      context = way === 'reverse'
        ? await koishi({ serverPort, protocol: 'ws-reverse', path: '/onebot', token: 'koishi' }, aiBot)
        : await koishi({ protocol: 'ws', endpoint: `ws://127.0.0.1:${g.port}`, token: 'front' }, aiBot);
      await until('Koishi online', () => context.bots[0]?.status === 1, 40000);
    });
    after(async () => {
      await context?.stop();
      await g?.stop();
    });

    test('a structured answer in plain text becomes mention, card, reaction and two messages', async () => {
      const { message_id } = await g.sandbox.say('', { text: undefined, segments: [at(SELF), { type: 'text', data: { text: ' 点歌' } }] });
      await delivered(g.sandbox, message_id);
    });

    test('ordinary messages behave as without the gate', async () => {
      const bot = context.bots[0];
      const ids = await bot.sendMessage(String(GROUP), `<at id="${MEMBER}"/> 你好 { "a": 1 }`);
      assert.deepEqual((await g.sandbox.message(ids[0])).segments.map((x) => x.type), ['at', 'text']);
      assert.equal((await bot.getGuildMemberList(String(GROUP))).data.length, 6);
      await g.sandbox.fault('muted');
      await assert.rejects(bot.internal.sendGroupMsg(GROUP, '嘘'), /120|禁言|retcode/);
    });
  });
}

describe('node-napcat-ts through the gate', () => {
  let g, bot, Structs;
  before(async () => {
    g = await Gate.start();
    await g.ready();
    const module = await import('node-napcat-ts');
    Structs = module.Structs;
    bot = new module.NCWebsocket({ baseUrl: `ws://127.0.0.1:${g.port}`, accessToken: 'front', reconnection: { enable: false } }, false);
    await bot.connect();
  });
  after(async () => {
    bot?.disconnect();
    await g?.stop();
  });

  test('it receives, sends, quotes and reacts', async () => {
    const heard = [];
    bot.on('message', (m) => heard.push(m));
    const { message_id: said } = await g.sandbox.say('早');
    const event = await until('the event', () => heard.find((m) => m.raw_message === '早'));
    const { message_id } = await bot.send_group_msg({ group_id: GROUP, message: [Structs.reply(event.message_id), Structs.text('早呀')] });
    assert.deepEqual((await g.sandbox.message(message_id)).segments.map((x) => x.type), ['reply', 'text']);
    await bot.set_msg_emoji_like({ message_id: Number(said), emoji_id: '76', set: true });
    assert.equal((await g.sandbox.message(said)).reactions.length, 1);
  });

  test('an error of the implementation reaches it', async () => {
    await g.sandbox.fault('muted');
    await assert.rejects(bot.send_group_msg({ group_id: GROUP, message: [Structs.text('x')] }), (e) => /120/.test(JSON.stringify(e)));
  });
});

// What NoneBot (FastAPI) and AstrBot (aiocqhttp) check of a reverse connection.
describe('reverse frameworks', () => {
  let g, server, sockets, heads;
  before(async () => {
    sockets = [];
    heads = [];
    server = new WebSocketServer({ port: 0, host: '127.0.0.1', verifyClient: ({ req }) => {
      heads.push(req.headers);
      return /^\d+$/.test(req.headers['x-self-id']) && req.headers['x-client-role'].toLowerCase() === 'universal' && req.headers.authorization === 'Bearer astr';
    } });
    await once(server, 'listening');
    server.on('connection', (socket) => {
      const peer = { socket, frames: [] };
      socket.on('message', (data) => peer.frames.push(JSON.parse(data)));
      sockets.push(peer);
    });
    g = await Gate.start({ relay: `  connect:\n    - {url: 'ws://127.0.0.1:${server.address().port}/onebot/v11/ws', access_token: astr}\n    - {url: 'ws://127.0.0.1:${server.address().port}/ws', access_token: astr}\n` });
    await until('two frameworks', () => sockets.length === 2);
  });
  after(async () => {
    await g?.stop();
    server?.close();
  });

  test('both are dialled and greeted, both get what is said', async () => {
    assert.equal(heads[0]['x-self-id'], String(SELF));
    for (const peer of sockets) await until('a greeting', () => peer.frames.some((f) => f.meta_event_type === 'lifecycle' && f.self_id === SELF));
    await g.sandbox.say('大家好');
    for (const peer of sockets) await until('the event', () => peer.frames.some((f) => f.raw_message === '大家好'));
  });

  test('each gets its own answers, with its own echo', async () => {
    sockets[0].socket.send(JSON.stringify({ action: 'get_login_info', echo: { seq: 1 } })); // AstrBot: an object
    sockets[1].socket.send(JSON.stringify({ action: 'get_login_info', params: {}, echo: '1' })); // NoneBot: a number as text
    const a = await until('answer 1', () => sockets[0].frames.find((f) => f.echo?.seq === 1));
    const b = await until('answer 2', () => sockets[1].frames.find((f) => f.echo === '1'));
    assert.equal(a.data.user_id, SELF);
    assert.deepEqual(a.data, b.data);
    assert.equal(sockets[0].frames.filter((f) => 'echo' in f).length, 1);
  });

  test('a framework that goes is dialled again', async () => {
    sockets[0].socket.terminate();
    await until('it is back', () => sockets.length === 3, 15000);
  });
});

describe('the gate as a OneBot implementation', () => {
  let g, bot;
  before(async () => {
    g = await Gate.start({ groups: '  987654321: {enabled: false, off_means: mute}\n' });
    await g.ready();
    bot = await g.bot();
  });
  after(async () => {
    bot?.close();
    await g?.stop();
  });

  test('answers and errors are those of the implementation', async () => {
    const direct = await g.sandbox.bot();
    for (const [action, params] of [['get_group_info', { group_id: GROUP }], ['get_nothing', {}], ['send_group_msg', { group_id: 5, message: 'x' }], ['get_status', {}]]) {
      const through = await bot.call(action, params), plain = await direct.call(action, params);
      delete through.echo;
      delete plain.echo;
      assert.deepEqual(through, plain, action);
    }
    direct.close();
  });

  test('leaks never reach the chat, and the framework is told why', async () => {
    const before = (await g.sandbox.messages()).length;
    for (const words of ['<tool_call>{"name":"a","arguments":{}}</tool_call>', JSON.stringify({ messages: [{ segments: [{ type: 'nope', data: {} }] }] })]) {
      const r = await bot.say(words);
      assert.equal(r.retcode, 1400, JSON.stringify(r));
      assert.match(r.message, /message\[0\]/);
    }
    assert.equal((await g.sandbox.messages()).length, before);
  });

  test('a muted group', async () => {
    const r = await bot.say(text('x'), 987654321);
    assert.equal(r.retcode, 1400);
  });

  test('a wrong token is refused', async () => {
    const wrong = await g.bot('', { token: 'x' }), none = await g.bot('', { token: '' });
    assert.equal(wrong.refused, 403);
    assert.equal(none.refused, 401);
  });

  test('a framework that dies mid-action does not stop the message', async () => {
    const dying = await g.bot();
    dying.send({ action: 'send_group_msg', params: { group_id: GROUP, message: JSON.stringify({ messages: [{ segments: text('甲') }, { segments: text('乙') }], reaction: '' }) }, echo: 1 });
    await until('the first', async () => (await g.sandbox.messages()).some((m) => JSON.stringify(m.segments).includes('甲')));
    dying.close();
    await until('the second', async () => (await g.sandbox.messages()).some((m) => JSON.stringify(m.segments).includes('乙')));
  });
});

test('a wrong token towards the implementation: actions are answered with an error', async () => {
  const g = await Gate.start({ upstream: 'wrong' });
  try {
    await until('the refusal', () => /refused/.test(g.run.log));
    const bot = await g.bot();
    const r = await bot.call('get_status');
    assert.equal(r.status, 'failed');
    bot.close();
  } finally {
    await g.stop();
  }
});
