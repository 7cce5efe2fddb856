// Bot frameworks against the sandbox: Koishi with its OneBot adapter and node-napcat-ts connect,
// receive what is said, and send.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { GROUP, MEMBER, SELF, Sandbox, until } from '../lib/sandbox.mjs';

const require = createRequire(import.meta.url);

for (const profile of ['napcat', 'llbot', 'lagrange', 'go-cqhttp']) {
  describe(`Koishi with its OneBot adapter, against ${profile}`, () => {
    let s, context, bot;
    const heard = [];
    before(async () => {
      s = await Sandbox.start({ profile });
      const { Context, Logger } = require('koishi');
      const of = (name) => { const m = require(name); return m.default ?? m; };
      Logger.levels = { base: 0 };
      context = new Context({ delay: { message: 0, broadcast: 0, character: 0, cancel: 0 } });
      context.plugin(of('@koishijs/plugin-http'));
      context.plugin(of('koishi-plugin-adapter-onebot'), { protocol: 'ws', endpoint: `ws://127.0.0.1:${s.port}`, selfId: String(SELF), token: s.access_token, responseTimeout: 10000 });
      context.on('message', (session) => heard.push(session));
      context.middleware((session, next) => (session.content?.includes('回声') ? session.send(`收到：${session.content}`) : next()));
      await context.start();
      bot = await until('Koishi online', () => context.bots[0]?.status === 1 && context.bots[0]);
    });
    after(async () => {
      await context.stop();
      await s.stop();
    });

    test('an event becomes a session, its answer a message', async () => {
      await s.say('回声一');
      await until('the answer', async () => (await s.messages()).some((m) => m.sender === SELF && JSON.stringify(m.segments).includes('收到：回声一')));
      const session = heard.find((h) => h.content === '回声一');
      assert.equal(session.guildId, String(GROUP));
      assert.equal(session.userId, String(MEMBER));
      assert.equal(session.selfId, String(SELF));
    });

    test('a mention of the bot is seen as one', async () => {
      await s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ' 在吗' } }] });
      const session = await until('the session', () => heard.find((h) => h.content?.includes('在吗')));
      assert.equal(session.stripped.atSelf, true);
    });

    test('it sends elements: mention and picture', async () => {
      const ids = await bot.sendMessage(String(GROUP), `<at id="${MEMBER}"/> 你好 <img src="http://127.0.0.1:${s.port}/demo/picture.png"/>`);
      const sent = await s.message(ids[0]);
      assert.deepEqual(sent.segments.map((x) => x.type), ['at', 'text', 'image']);
      assert.equal(sent.notes.filter((n) => !n.startsWith('ignored')).length, 0, JSON.stringify(sent.notes));
    });

    test('it reads groups and members', async () => {
      assert.equal((await bot.getGuildList()).data.length, 2);
      assert.equal((await bot.getGuildMemberList(String(GROUP))).data.length, 6);
    });

    test('private chat', async () => {
      await s.say('回声私', { private: true, group: undefined });
      await until('the answer', async () => (await s.messages()).some((m) => m.sender === SELF && m.group_id === 0 && JSON.stringify(m.segments).includes('收到：回声私')));
    });
  });
}

describe('node-napcat-ts', () => {
  let s, bot, Structs;
  const heard = [];
  before(async () => {
    s = await Sandbox.start();
    const module = await import('node-napcat-ts');
    Structs = module.Structs;
    bot = new module.NCWebsocket({ baseUrl: `ws://127.0.0.1:${s.port}`, accessToken: s.access_token, reconnection: { enable: false } }, false);
    bot.on('message', (m) => heard.push(m));
    await bot.connect();
  });
  after(async () => {
    bot.disconnect();
    await s.stop();
  });

  test('it receives and sends', async () => {
    await s.say('早');
    const event = await until('the event', () => heard.find((m) => m.raw_message === '早'));
    assert.equal(event.group_id, GROUP);
    assert.equal(event.sender.card, '明明');
    const { message_id } = await bot.send_group_msg({ group_id: GROUP, message: [Structs.reply(event.message_id), Structs.text('早呀')] });
    assert.deepEqual((await s.message(message_id)).segments.map((x) => x.type), ['reply', 'text']);
    const got = await bot.get_msg({ message_id });
    assert.equal(got.raw_message.endsWith('早呀'), true);
  });

  test('it reacts', async () => {
    const { message_id } = await s.say('谢谢');
    await bot.set_msg_emoji_like({ message_id: Number(message_id), emoji_id: '76', set: true });
    assert.deepEqual((await s.message(message_id)).reactions, [{ emoji_id: '76', user_id: SELF }]);
  });

  test('an error of the implementation reaches it', async () => {
    await s.fault('muted');
    await assert.rejects(bot.send_group_msg({ group_id: GROUP, message: [Structs.text('x')] }), (e) => /120/.test(JSON.stringify(e)));
    await assert.rejects(bot.send_group_msg({ group_id: 5, message: [Structs.text('x')] }));
  });
});
