// The gate when a side of it fails: an implementation that is killed under load, tokens that do not
// match, accounts that are not clear.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, after, before, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { Gate, freePort } from '../lib/gate.mjs';
import { GROUP, SELF, Bot, Run, Sandbox, Socket, text, until } from '../lib/sandbox.mjs';

const wait = (ms) => new Promise((r) => setTimeout(r, ms));

test('an implementation that is killed under load: every call is answered, nothing is sent twice', async () => {
  const port = await freePort();
  const g = await Gate.start({ port });
  try {
    await g.ready();
    const bot = await g.bot();
    const calls = [], begun = Date.now();
    const flood = async (count, name) => {
      for (let i = 0; i < count; i++) {
        calls.push(bot.say(text(`${name}${i}`)).then((answer) => ({ words: `${name}${i}`, answer })));
        if (i % 10 === 0) await wait(2);
      }
    };
    await flood(150, 'before ');
    const first = g.sandbox;
    await Promise.all([once(first.child, 'exit'), (first.child.kill('SIGKILL'), flood(150, 'during '))]);
    const arrived = first.pushes('message').flatMap((m) => m.segments.map((s) => s.data.text));
    first.ui.close();
    g.sandbox = await Sandbox.start({ port });
    await until('the endpoint again', () => (g.run.log.match(/endpoint main: ready/g) ?? []).length >= 2, 20000);
    await flood(50, 'after ');
    const answers = await Promise.all(calls);
    assert.ok(Date.now() - begun < 50000);
    assert.equal(answers.filter((a) => a.answer.status === 'no answer').length, 0);
    assert.equal(new Set(answers.map((a) => a.answer.echo)).size, answers.length, 'each by itself');
    arrived.push(...(await g.sandbox.messages()).flatMap((m) => m.segments.map((s) => s.data.text)));
    assert.equal(new Set(arrived).size, arrived.length, 'nothing is sent twice');
    const ok = answers.filter((a) => a.answer.status === 'ok'), failed = answers.filter((a) => a.answer.status === 'failed');
    assert.ok(ok.length >= 50 && failed.length > 0, `${ok.length} ok, ${failed.length} failed`);
    for (const a of ok.filter((x) => x.words.startsWith('after'))) assert.ok(arrived.includes(a.words));
    for (const a of failed) assert.match(a.answer.message, /^Replygate: /);
    bot.close();
  } finally {
    await g.stop();
  }
});

describe('tokens that do not match', () => {
  test('a framework without ours is refused, those with it stay', async () => {
    const g = await Gate.start();
    try {
      await g.ready();
      const good = await g.bot();
      assert.equal((await g.bot('', { token: 'x' })).refused, 403);
      assert.equal((await g.bot('', { token: '' })).refused, 401);
      assert.equal((await good.call('get_status')).status, 'ok');
      good.close();
    } finally {
      await g.stop();
    }
  });

  test('an implementation that refuses ours: actions are answered with an error', async () => {
    const g = await Gate.start({ upstream: 'wrong' });
    try {
      await until('the refusal', () => /refused/.test(g.run.log));
      const bot = await g.bot();
      assert.equal((await bot.call('get_status')).status, 'failed');
      bot.close();
    } finally {
      await g.stop();
    }
  });

  test('a framework that we dial and that refuses ours: said once, the others go on', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', verifyClient: ({ req }) => req.headers.authorization === 'Bearer right' });
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${server.address().port}/ws`, connection = once(server, 'connection');
    const g = await Gate.start({ relay: `  connect:\n    - {url: '${url}', access_token: wrong}\n    - {url: '${url}', access_token: right}\n` });
    try {
      const [socket] = await connection;
      const frames = [];
      socket.on('message', (data) => frames.push(JSON.parse(data)));
      await until('the line', () => /framework 1 of relay\.connect[^\n]*refused/.test(g.run.log));
      await g.sandbox.say('大家好');
      await until('the event', () => frames.some((f) => f.raw_message === '大家好'));
      assert.equal(g.run.log.match(/framework 1 of relay\.connect[^\n]*refused/g).length, 1);
    } finally {
      await g.stop();
      server.close();
    }
  });
});

describe('one framework on several accounts', () => {
  let one, two, run, port;
  const names = ['one', 'two'];
  before(async () => {
    [one, two] = [await Sandbox.start(), await Sandbox.start({ profile: 'llbot' })];
    port = await freePort();
    run = await Run.start({ config: `endpoints:
  one: {connect: 'ws://127.0.0.1:${one.port}', access_token: secret}
  two: {connect: 'ws://127.0.0.1:${two.port}', access_token: secret}
relay: {listen: '127.0.0.1:${port}', access_token: front}
` });
    await until('both', () => names.every((n) => run.log.includes(`endpoint ${n}: ready`)));
  });
  after(async () => {
    await run.stop();
    await one.stop();
    await two.stop();
  });
  const dial = (path, headers = {}) => new Bot(`ws://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer front', ...headers } }).open();

  test('each connection is its account, also on /api and /event', async () => {
    const bots = await Promise.all(['/one', '/two'].map((p) => dial(p)));
    const api = await dial('/two/api'), event = await dial('/one/event');
    await one.say('给一号');
    await bots[0].event('its event', (e) => e.raw_message === '给一号');
    await event.event('the same on /event', (e) => e.raw_message === '给一号');
    const answers = await Promise.all([bots[0].say(text('甲')), bots[1].say(text('乙')), api.say(text('丙'))]);
    assert.ok(answers.every((a) => a.status === 'ok'), JSON.stringify(answers));
    const words = async (s) => (await s.messages()).filter((m) => m.sender === SELF).map((m) => m.segments[0].data.text);
    assert.deepEqual(await words(one), ['甲']);
    assert.deepEqual((await words(two)).sort(), ['丙', '乙'].sort());
    assert.equal(bots[1].events.filter((e) => e.raw_message === '给一号').length, 0);
    assert.equal(api.events.length, 0, 'no events on /api');
    assert.equal((await event.call('get_status')).retcode, 1400, 'no actions on /event');
    for (const s of [...bots, api, event]) s.close();
  });

  test('who names none is told the paths before the upgrade', async () => {
    const ask = (path, headers = {}) => new Promise((resolve) => request({ port, path, headers: { authorization: 'Bearer front', connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': 13, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers } })
      .on('response', (r) => { let body = ''; r.on('data', (d) => { body += d; }).on('end', () => resolve({ status: r.statusCode, body })); })
      .on('upgrade', (r, socket) => { socket.destroy(); resolve({ status: 101 }); }).end());
    for (const path of ['/', '/api', '/nobody']) {
      const r = await ask(path);
      assert.equal(r.status, 404);
      assert.match(r.body, /\/one \/two/);
    }
    assert.equal((await ask('/', { 'x-self-id': String(SELF) })).status, 101, 'X-Self-ID names the account');
    assert.equal((await ask('/', { 'x-self-id': '4711' })).status, 404);
    assert.equal((await ask(`/${SELF}/event`)).status, 101);
  });
});

test('a reverse implementation with a wrong token is refused, the framework is told', async () => {
  const port = await freePort(), back = await freePort();
  const run = await Run.start({ config: `endpoints:
  main: {listen: '127.0.0.1:${back}/onebot/v11/ws', access_token: back}
relay: {listen: '127.0.0.1:${port}'}
` });
  try {
    const peer = await new Socket(`ws://127.0.0.1:${back}/onebot/v11/ws`, { headers: { authorization: 'Bearer x', 'x-self-id': String(SELF) } }).open();
    assert.equal(peer.refused, 403);
    const bot = await new Bot(`ws://127.0.0.1:${port}/`).open();
    const r = await bot.call('send_group_msg', { group_id: GROUP, message: 'x' });
    assert.equal(r.retcode, 1200);
    assert.match(r.message, /not connected/);
    bot.close();
  } finally {
    await run.stop();
  }
});
