// The zhin shim in a small copy of what it uses of zhin (tests/hosts/zhin.mjs).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Endpoint, PACKAGES, Runtime } from '../hosts/zhin.mjs';
import { GROUP, MEMBER, SELF, until } from '../lib/sandbox.mjs';
import { CONFIG, LEAK, installed, remove, reply, say } from '../lib/shim.mjs';

const ADMIN = '10009';
const CAPABILITY = 'root/onebot11\0zhin.adapter\0onebot11';
const ONE = `${CAPABILITY}~bot`;
const conversation = (id = GROUP, endpoint = ONE) => ({ kind: 'group', id: String(id), endpoint: { id: endpoint, adapter: 'root/onebot11' } });
const message = (content, { user = String(MEMBER), role = 'member', mentioned = false, from = conversation(), id = 'bot' } = {}) => ({
  conversation: from, message: { conversation: from, id: '77' }, content, mentioned, endpointId: id,
  sender: { id: user, name: 'x', roles: ['master', role] },
  metadata: { message_type: 'group', user_id: user, group_id: from.id, time: 1, self_id: String(SELF), role },
});

const load = async (config) => {
  const path = installed(PACKAGES, config);
  const { default: definition } = await import(join(path, 'plugins/replygate/plugin.js'));
  const { endpoints } = await import(join(path, 'node_modules/@zhin.js/adapter-onebot11/index.js'));
  return { path, definition, endpoints, yaml: join(path, 'replygate.yaml') };
};
const endpoint = () => {
  const e = new Endpoint();
  e.answers.get_version_info = { app_name: 'NapCat.Onebot', app_version: '4' };
  e.answers.get_login_info = { user_id: SELF };
  return e;
};

describe('zhin with the shim', () => {
  let z, bot, runtime;
  before(async () => {
    z = await load(CONFIG);
    bot = endpoint();
    z.endpoints.set('bot', bot);
    runtime = await Runtime.start(z.definition, { config: z.yaml, id: 'bot', endpoints: {} });
    await until('the gate to ask who is there', () => bot.wire.length >= 2);
    await sleep(50);
  });
  after(async () => {
    await runtime.dispose();
    remove(z.path);
  });
  beforeEach(() => { bot.wire.length = 0; runtime.heard.length = 0; });
  const sent = () => bot.wire.map((w) => [w.action, w.params.message?.[0]?.data?.text]);
  const send = (payload, to = conversation()) => runtime.send(bot, to, payload);

  test('a reply becomes reaction and messages in order with their pace', async () => {
    await runtime.receive(message('hi', { mentioned: true }));
    assert.deepEqual(await send(reply(say('one', 'two'), '76')), { status: 'suppressed' });
    assert.deepEqual(sent(), [['set_msg_emoji_like', undefined], ['send_group_msg', 'one'], ['send_group_msg', 'two']]);
    assert.equal(bot.wire[2].at - bot.wire[1].at >= 140, true);
  });

  test('what may go goes as it is, and other adapters are left alone', async () => {
    const segments = [{ type: 'mention', data: { target: String(MEMBER) } }, { type: 'text', data: { text: ' hi' } }];
    assert.equal((await send(segments)).status, 'sent');
    assert.deepEqual(bot.wire[0].params.message, segments, 'zhin encodes it itself');
    assert.equal((await send(LEAK, conversation(1, 'root/sandbox\0zhin.adapter\0sandbox'))).status, 'sent');
  });

  test('what is held back or refused is an error for zhin, and nothing more is sent', async () => {
    assert.equal((await send(LEAK)).status, 'failed');
    assert.deepEqual(bot.wire, []);
    bot.answers.send_group_msg = new Error('OneBot11 retcode=120');
    const { status, error } = await send(reply(say('one', 'two')));
    assert.deepEqual([status, error.code, bot.wire.length], ['failed', 120, 1]);
    delete bot.answers.send_group_msg;
    bot.open = false;
    assert.equal((await send(reply(say('one', 'two')))).error.name, 'NotConnected');
    bot.open = true;
  });

  test('commands need the role of the group, not what zhin made of it', async () => {
    await runtime.receive(message('/gate status', { user: ADMIN }));
    await until('the answer', () => bot.wire.length);
    assert.match(JSON.stringify(bot.wire), /napcat/);
    await runtime.receive(message('/gate off'));
    await sleep(50);
    assert.deepEqual([runtime.heard.length, bot.wire.length], [0, 1]);
    await runtime.receive(message('/gate status', { role: 'owner' }));
    await until('the answer', () => bot.wire.length === 2);
    await runtime.receive(message('hello'));
    assert.deepEqual(runtime.heard.map((m) => m.content), ['hello']);
  });

  test('a generation ends after the next has begun', async () => {
    const next = await Runtime.start(z.definition, { config: z.yaml, id: 'bot', endpoints: {} });
    for (const one of [runtime, next]) assert.equal((await one.send(bot, conversation(), reply(say('one')))).status, 'suppressed', 'both are served');
    await runtime.dispose();
    assert.equal((await next.send(bot, conversation(), reply(say('one')))).status, 'suppressed');
    const third = Runtime.start(z.definition, { config: z.yaml, id: 'bot', endpoints: {} });
    await next.dispose();
    runtime = await third;
    assert.equal((await runtime.send(bot, conversation(), LEAK)).status, 'failed');
    await runtime.dispose();
    assert.match((await runtime.send(bot, conversation(), 'hi')).error.message, /stopped/, 'the last one closes the gate');
    runtime = await Runtime.start(z.definition, { config: z.yaml, id: 'bot', endpoints: {} });
    assert.equal((await runtime.send(bot, conversation(), reply(say('one')))).status, 'suppressed', 'and it opens again');
  });
});

describe('zhin with two endpoints', () => {
  test('each has its own; one that is not listed is silent', async () => {
    const z = await load(CONFIG.replace('  main: {connect: host}\n', '  main: {connect: host}\n  two: {connect: host, groups: {default: {mode: observe}}}\n'));
    const bots = { a: endpoint(), b: endpoint(), c: endpoint() };
    for (const [id, bot] of Object.entries(bots)) z.endpoints.set(id, bot);
    const runtime = await Runtime.start(z.definition, { config: z.yaml, id: '', endpoints: { a: 'main', b: 'two' } });
    const results = {};
    for (const id of ['a', 'b', 'c']) results[id] = (await runtime.send(bots[id], conversation(GROUP, `${CAPABILITY}~${id}`), LEAK)).status;
    assert.deepEqual(results, { a: 'failed', b: 'sent', c: 'failed' });
    await runtime.dispose();
    remove(z.path);
  });
});

test('a bot that is not named takes part with its first message; a number answers a keyboard', async () => {
  const z = await load(CONFIG);
  const bot = endpoint();
  z.endpoints.set('bot', bot);
  const runtime = await Runtime.start(z.definition, { config: z.yaml, id: '', endpoints: {} });
  await runtime.receive(message('hi'));
  runtime.heard.length = 0;
  await until('the gate to ask who is there', () => bot.wire.length >= 2);
  await sleep(50);
  const keyboard = { type: 'keyboard', data: { rows: [[{ label: 'Yes', payload: 'tea please' }, { label: 'No', payload: 'no' }]] } };
  await runtime.send(bot, conversation(), reply([{ segments: [{ type: 'text', data: { text: 'Well?' } }, keyboard] }]));
  await runtime.receive(message('1'));
  assert.deepEqual(runtime.heard.map((m) => [m.content, m.mentioned]), [['tea please', true]]);
  await runtime.dispose();
  remove(z.path);
});
