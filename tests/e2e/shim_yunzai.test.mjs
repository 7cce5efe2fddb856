// The Yunzai shim in a small copy of what it uses of TRSS-Yunzai (tests/hosts/yunzai.mjs).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Adapter, Plugin, Yunzai } from '../hosts/yunzai.mjs';
import { GROUP, MEMBER, SELF, until } from '../lib/sandbox.mjs';
import { CONFIG, LEAK, installed, remove, reply, say } from '../lib/shim.mjs';

const YUNZAI = { 'package.json': '{"name": "trss-yunzai", "type": "module"}' };
const ADMIN = 10009;
const event = (words, { user = MEMBER, mention = false, group = true } = {}) => JSON.stringify({
  time: 1, self_id: SELF, post_type: 'message', message_type: group ? 'group' : 'private', sub_type: group ? 'normal' : 'friend', message_id: 77,
  ...(group ? { group_id: GROUP } : {}), user_id: user, raw_message: words, sender: { user_id: user, role: 'member' },
  message: [...(mention ? [{ type: 'at', data: { qq: String(SELF) } }] : []), { type: 'text', data: { text: words } }],
});

// Yunzai with the shim loaded and one bot connected. Each import is a shim of its own.
let instances = 0;
const start = async (path) => {
  globalThis.Bot = new Yunzai();
  globalThis.plugin = Plugin;
  const module = await import(`${join(path, 'plugins/replygate/index.js')}?${++instances}`);
  Bot.load(module);
  const adapter = new Adapter();
  adapter.answers.get_version_info = { status: 'ok', retcode: 0, data: { app_name: 'NapCat.Onebot', app_version: '4' } };
  adapter.answers.get_login_info = { status: 'ok', retcode: 0, data: { user_id: SELF } };
  const { bot, self_id } = adapter.connect(SELF);
  return { module, adapter, bot, connect: () => Bot.em(`connect.${self_id}`, { bot, self_id }) };
};

describe('Yunzai with the shim', () => {
  let path, y, heard;
  before(async () => {
    path = installed(YUNZAI, CONFIG);
    y = await start(path);
    Bot.dealt = (e) => heard.push(e);
    y.connect();
    await until('the gate to know the bot', () => Bot.logged.some((l) => l.message.includes('ready')));
  });
  after(() => remove(path));
  beforeEach(() => { y.adapter.wire.length = 0; heard = []; });
  const sent = () => y.adapter.wire.map((w) => [w.action, w.params.message?.[0]?.data?.text]);
  const send = (message) => y.bot.sendApi('send_msg', { group_id: GROUP, message });

  test('a reply becomes reaction and messages in order with their pace', async () => {
    y.adapter.message(y.bot, event('hi', { mention: true }));
    const answer = await send([{ type: 'text', data: { text: reply(say('one', 'two'), '76') } }]);
    assert.deepEqual(sent(), [['set_msg_emoji_like', undefined], ['send_group_msg', 'one'], ['send_group_msg', 'two']]);
    assert.equal(y.adapter.wire[2].at - y.adapter.wire[1].at >= 140, true);
    assert.equal(answer.message_id, 1000, 'the id of the first message, as Yunzai gives it');
    assert.equal(answer.data.message_id, 1000);
  });

  test('chats keep their order and do not wait for each other', async () => {
    const elsewhere = y.bot.sendApi('send_msg', { group_id: 5, message: reply(say('elsewhere')) });
    await Promise.all([send(reply(say('1', '2', '3'))), send('4'), elsewhere]);
    assert.deepEqual(y.adapter.wire.filter((w) => w.params.group_id === GROUP).map((w) => w.params.message[0].data.text), ['1', '2', '3', '4']);
    assert.equal(y.adapter.wire.findIndex((w) => w.params.group_id === 5) < 3, true);
  });

  test('what may go goes as it is; other actions too', async () => {
    const message = [{ type: 'text', data: { text: 'hi' } }];
    const answer = await y.bot.sendApi('send_group_msg', { group_id: GROUP, message });
    assert.deepEqual(y.adapter.wire.map(({ action, params }) => ({ action, params })), [{ action: 'send_group_msg', params: { group_id: GROUP, message } }]);
    assert.equal(typeof answer.message_id, 'number');
    assert.equal((await y.bot.sendApi('get_login_info')).user_id, SELF);
  });

  test('what is held back throws, and nothing is sent', async () => {
    await assert.rejects(send(LEAK), /held back: tool_call/);
    await assert.rejects(send({ get type() { throw new Error('trap'); } }), /could not be judged/);
    assert.deepEqual(y.adapter.wire, []);
  });

  test('a refused message stops the rest and is an error as Yunzai makes them', async () => {
    y.adapter.answers.send_group_msg = { status: 'failed', retcode: 120, wording: 'muted' };
    await assert.rejects(send(reply(say('one', 'two'))), (error) => error.error.retcode === 120);
    assert.equal(y.adapter.wire.length, 1);
    y.adapter.answers.send_group_msg = new Error('请求超时');
    await assert.rejects(send(reply(say('one', 'two'))), /请求超时/);
    delete y.adapter.answers.send_group_msg;
    y.adapter.answers.set_msg_emoji_like = { status: 'failed', retcode: 1200 };
    y.adapter.message(y.bot, event('hi', { mention: true }));
    await send(reply(say('one'), '76'));
    assert.equal(sent().at(-1)[1], 'one', 'a reaction that fails takes nothing away');
    delete y.adapter.answers.set_msg_emoji_like;
  });

  test('a command is taken out and answered, a stranger is not', async () => {
    y.adapter.message(y.bot, event('/gate status', { user: ADMIN }));
    await until('the answer', () => y.adapter.wire.length);
    assert.match(JSON.stringify(y.adapter.wire), /napcat/);
    y.adapter.message(y.bot, event('/gate off', { user: MEMBER }));
    await sleep(50);
    assert.deepEqual([heard.length, y.adapter.wire.length], [0, 1]);
    y.adapter.message(y.bot, event('/gate status', { user: MEMBER, group: false }));
    y.adapter.message(y.bot, event('hello'));
    await sleep(50);
    assert.deepEqual(heard.map((e) => e.msg), ['hello']);
  });

  test('a number answers a keyboard', async () => {
    const keyboard = { type: 'keyboard', data: { rows: [[{ label: 'Yes', payload: 'tea please' }, { label: 'No', payload: 'no' }]] } };
    const asked = y.adapter.message(y.bot, event('ask'));
    const { result } = await y.module.reply(asked, reply([{ segments: [{ type: 'text', data: { text: 'Well?' } }, keyboard] }]));
    assert.equal(result, 'delivered');
    y.adapter.message(y.bot, event('1'));
    await sleep(20);
    assert.deepEqual([heard.at(-1).msg, heard.at(-1).atBot], ['tea please', true]);
  });

  test('plugins may hand over what a model answered', async () => {
    const asked = y.adapter.message(y.bot, event('hi'));
    assert.equal(y.module.contract(asked).schema.type, 'object');
    const result = await y.module.reply(asked, reply(say('one', 'two'), '76'));
    assert.deepEqual([result.result, result.sent.length], ['delivered', 2]);
    assert.deepEqual(sent().map(([a]) => a), ['set_msg_emoji_like', 'send_group_msg', 'send_group_msg']);
  });

  test('the model that answered is asked once for the form', async () => {
    const asked = y.adapter.message(y.bot, event('hi'));
    const wrong = '{"messages":[{"segments":[{"type":"text","data":{}}]}]}';
    const requests = [];
    const fixed = await y.module.reply(asked, wrong, async (request) => { requests.push(request); return reply(say('fixed')); });
    assert.deepEqual([fixed.result, fixed.corrected, requests.length, requests[0].answer], ['delivered', true, 1, wrong]);
    assert.equal(sent().at(-1)[1], 'fixed');
    assert.equal((await y.module.reply(asked, wrong, () => { throw new Error('no'); })).result, 'blocked');
    assert.equal((await y.module.reply(asked, wrong)).result, 'blocked');
  });

  test('another adapter, a bot that is gone, one that came again', async () => {
    const foreign = { adapter: { name: 'Satori' }, sendApi: async () => 'raw' };
    Bot.em('connect.x', { bot: foreign, self_id: 'x' });
    assert.equal(await foreign.sendApi('send_msg', {}), 'raw');
    y.bot.ws.readyState = 3;
    await assert.rejects(send(reply(say('one', 'two'))), { name: 'NotConnected' });
    const again = y.adapter.connect(SELF);
    y.adapter.message(again.bot, event('before connect is told'));
    await assert.rejects(again.bot.sendApi('send_msg', { group_id: GROUP, message: LEAK }), /held back/);
    assert.deepEqual(y.adapter.wire, []);
    y.bot.ws.readyState = 1;
  });

  test('a second bot without an endpoint is silent', async () => {
    const { bot } = y.adapter.connect(10002);
    Bot.em('connect.10002', { bot, self_id: 10002 });
    await assert.rejects(bot.sendApi('send_msg', { group_id: GROUP, message: 'hi' }), /list both/);
  });
});

test('without a gate nothing but questions passes', async () => {
  const path = installed(YUNZAI, `${CONFIG}nonsense: 1\n`);
  const y = await start(path);
  y.connect();
  assert.equal(Bot.logged.some((l) => /replygate\.yaml:7:1: nonsense/.test(l.message)), true, JSON.stringify(Bot.logged));
  await assert.rejects(y.bot.sendApi('send_msg', { group_id: GROUP, message: 'hi' }), /does not run/);
  await assert.rejects(y.bot.sendApi('set_group_ban', { group_id: GROUP }), /does not run/);
  assert.equal((await y.bot.sendApi('get_login_info')).user_id, SELF);
  remove(path);
});
