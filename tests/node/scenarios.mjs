// What a Node process does with replygate.so, one scenario a process so that its end can be judged:
//   node scenarios.mjs NAME JSON        (JSON: what the scenario is given)
// prints what it saw as one JSON line. Runs in every Node from 16 on; node.test.mjs says what is right.
import { readFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

const { open, perform } = createRequire(import.meta.url)('../../plugin/hosts/node/index.js');
const [name, given] = isMainThread ? [process.argv[2], JSON.parse(process.argv[3] ?? '{}')] : [workerData.name, workerData.given];

const say = (value) => console.log(JSON.stringify(value));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (test, ms = 10000) => {
  const end = Date.now() + ms;
  while (!(await test())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${test}`);
    await sleep(10);
  }
};

const config = (endpoint, more = '') => {
  const path = join(mkdtempSync(join(tmpdir(), 'replygate-node-')), 'c.yaml');
  writeFileSync(path, `endpoints:\n  main: ${JSON.stringify(endpoint)}\ngroups:\n  default: {pace: {min: 0, max: 0}, rate: {per_minute: 6000}, reactions: false}\n${more}`);
  return path;
};
const hosted = () => config({ connect: 'host', profile: 'napcat' });
const unreachable = () => config({ connect: 'ws://127.0.0.1:9', profile: 'napcat' });
const reply = (text) => JSON.stringify({ messages: [{ segments: [{ type: 'text', data: { text } }] }], reaction: '' });
const turn = (i) => ({ group_id: 100000 + (i % 40), message_id: String(i + 1), sender_id: 10002 });

// A OneBot implementation behind the host's own connection.
const implementation = (seen = []) => ({
  seen,
  send(endpoint, { action, params }) {
    seen.push({ action, params });
    const data = { get_version_info: { app_name: 'NapCat.Onebot', app_version: '4.18.0', protocol_version: 'v11' }, get_login_info: { user_id: 2854196310, nickname: 'bot' } };
    return Promise.resolve({ status: 'ok', retcode: 0, data: data[action] ?? { message_id: seen.length } });
  },
});

const count = (list, of) => list.reduce((sums, item) => ({ ...sums, [of(item)]: (sums[of(item)] ?? 0) + 1 }), {});

const scenarios = {
  // A thousand replies at once, all through the host's own connection.
  async submits() {
    const host = implementation();
    const told = [];
    const gate = await open(hosted(), { ...host, onResult: (ticket) => told.push(ticket) });
    const submissions = Array.from({ length: 1000 }, (_, i) => gate.submit(turn(i), reply(`nr ${i}`)));
    const results = await Promise.all(submissions);
    const sent = host.seen.filter((x) => x.action === 'send_group_msg');
    // each chat in the order of submission
    let ordered = true;
    const last = {};
    for (const { params } of sent) {
      const n = Number(JSON.stringify(params.message).match(/nr (\d+)/)[1]);
      if (n <= (last[params.group_id] ?? -1)) ordered = false;
      last[params.group_id] = n;
    }
    const stats = gate.stats();
    await gate.close();
    say({ results: count(results, (r) => r.result), tickets: new Set(submissions.map((s) => s.ticket)).size, told: new Set(told).size, sent: sent.length, ordered, delivered: stats.delivered, waiting: stats.waiting });
  },

  // The gate's own connection: replies to the sandbox, its events back.
  async wire() {
    const lines = [];
    const events = [];
    const gate = await open(config({ connect: given.link, access_token: given.token }), { log: (level, line) => lines.push(`${level} ${line}`), onEvent: (endpoint, event, text) => events.push([endpoint, event.post_type, typeof text]) });
    await until(() => gate.stats().endpoints[0].state === 'ready');
    const results = await Promise.all(Array.from({ length: given.count }, (_, i) => gate.submit({ group_id: given.group, message_id: undefined, kind: 'proactive' }, reply(`wire ${i}`))));
    const endpoint = gate.stats().endpoints[0];
    await gate.close();
    say({ results: count(results, (r) => r.result), sent: results.every((r) => r.sent.length === 1 && r.sent[0].action === 'send_group_msg' && r.sent[0].message_id), endpoint, lines, events });
  },

  // wss:// with an authority of our own, with Node's own TLS before, meanwhile and after.
  async wss() {
    const ca = readFileSync(given.ca);
    const get = () => new Promise((resolve, reject) => {
      https.get(`https://localhost:${given.port}/`, { ca, agent: new https.Agent() }, (r) => { r.resume(); r.on('end', () => resolve(r.statusCode)); }).on('error', reject);
    });
    const before = given.before ? await get() : 200;
    const lines = [];
    const gate = await open(config({ connect: `wss://localhost:${given.port}/`, ca: given.ca }), { log: (level, line) => lines.push(`${level} ${line}`) });
    const ready = () => gate.stats().endpoints[0].state === 'ready';
    await until(() => ready() || lines.some((l) => /main: (down|refused)/.test(l)), 15000);
    let results = [];
    let during = [];
    if (ready()) {
      const replies = Array.from({ length: 60 }, (_, i) => gate.submit(turn(i), reply(`tls ${i}`)));
      during = await Promise.all(Array.from({ length: 20 }, get));
      results = await Promise.all(replies);
    }
    await gate.close();
    say({ before, during: during.every((s) => s === 200), after: await get(), results: count(results, (r) => r.result), lines });
  },

  // The built-in agent asks a provider over https:// while Node itself does.
  async agent() {
    const ca = readFileSync(given.ca);
    const get = () => new Promise((resolve, reject) => {
      https.get(`https://localhost:${given.port}/`, { ca, agent: new https.Agent() }, (r) => { r.resume(); r.on('end', () => resolve(r.statusCode)); }).on('error', reject);
    });
    const path = join(mkdtempSync(join(tmpdir(), 'replygate-node-')), 'c.yaml');
    writeFileSync(path, `endpoints:\n  main: {connect: host, profile: napcat}\nproviders:\n  one: {base_url: "https://localhost:${given.port}/v1", api_key: k, model: m, ca: "${given.ca}", timeout: 5}\n` +
      'groups:\n  default: {pace: {min: 0, max: 0}, agent: {enabled: true, triggers: [mention], tools: []}}\n');
    const host = implementation();
    const lines = [];
    const gate = await open(path, { ...host, log: (level, line) => lines.push(`${level} ${line}`) });
    await until(() => gate.stats().endpoints[0].state === 'ready');
    const before = await get();
    gate.inbound('main', { time: Math.floor(Date.now() / 1000), self_id: 2854196310, post_type: 'message', message_type: 'group', sub_type: 'normal', message_id: 71, group_id: 123456789, user_id: 10002, raw_message: '[CQ:at,qq=2854196310] hi', message: [{ type: 'at', data: { qq: '2854196310' } }, { type: 'text', data: { text: ' hi' } }], sender: { user_id: 10002, nickname: 'x', role: 'member' } });
    const sent = () => host.seen.filter((x) => x.action === 'send_group_msg').map((x) => JSON.stringify(x.params.message));
    await until(() => sent().length > 0 || lines.some((l) => /provider|agent/.test(l) && /^(warn|error)/.test(l)));
    const during = await get();
    await gate.close();
    say({ before, during, after: await get(), sent: sent(), lines });
  },

  // Opened and closed again and again: what is left behind.
  async cycles() {
    const cycle = async () => {
      const gate = await open(hosted(), implementation());
      await Promise.all(Array.from({ length: 100 }, (_, i) => gate.submit(turn(i), reply(`text ${i}`))));
      gate.outbound('', { action: 'send_group_msg', params: { group_id: 5, message: 'hi' } });
      gate.contract(turn(1));
      await gate.reload();
      await gate.close();
      global.gc?.();
    };
    const listeners = process.listenerCount('exit');
    for (let i = 0; i < given.warm; i++) await cycle();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < given.cycles; i++) await cycle();
    say({ grown: process.memoryUsage().rss - before, listeners: process.listenerCount('exit') - listeners });
  },

  // Workers that end in order, that leave their gate open, that are stopped in the middle.
  async workers() {
    const codes = [];
    const results = [];
    const run = (kind) => new Promise((resolve, reject) => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { name: 'worker', given: { kind } } });
      worker.on('error', reject);
      worker.on('message', (message) => (message === 'busy' ? worker.terminate() : results.push(message)));
      worker.on('exit', (code) => resolve(codes.push(`${kind} ${kind.endsWith('ing') && code === 1 ? 0 : code}`)) /* stopped, or just done */);
    });
    const gate = await open(hosted(), implementation()); // the main thread's own, all the while
    for (let round = 0; round < given.rounds; round++) await Promise.all(['close', 'leave', 'exit', 'terminate', 'terminate', 'opening', 'closing'].map(run));
    const result = await gate.submit(turn(0), reply('still here'));
    await gate.close();
    say({ codes: count(codes, (c) => c), delivered: results.reduce((a, b) => a + b, 0), main: result.result });
  },
  async worker() {
    const { parentPort } = await import('node:worker_threads');
    const opening = Array.from({ length: given.kind === 'opening' ? 3 : 1 }, () => open(given.kind === 'terminate' ? unreachable() : hosted(), implementation()));
    if (given.kind === 'opening') return parentPort.postMessage('busy');
    const [gate] = await Promise.all(opening);
    const replies = Array.from({ length: 50 }, (_, i) => gate.submit(turn(i), reply('x')));
    if (given.kind === 'terminate') return parentPort.postMessage('busy'); // they wait for a connection
    if (given.kind === 'exit') process.exit(3);
    if (given.kind === 'closing') return void (gate.reload(), gate.close(), parentPort.postMessage('busy'));
    parentPort.postMessage((await Promise.all(replies)).filter((r) => r.result === 'delivered').length);
    if (given.kind === 'close') await gate.close();
  },

  // The process ends in the middle of everything.
  async exit() {
    const gates = await Promise.all([open(hosted(), implementation()), open(given.link ? config({ connect: given.link, access_token: given.token }) : unreachable()), open(unreachable())]);
    for (let i = 0; i < 300; i++) gates[i % 3].submit(turn(i), reply('x'));
    gates[2].close();
    gates[1].reload();
    open(unreachable());
    if (given.after === undefined) throw new Error('uncaught, on purpose');
    setTimeout(() => process.exit(7), given.after);
  },

  // What the host's functions throw goes to the log and no further.
  async throwing() {
    const lines = [];
    let ready = false;
    const { send } = implementation();
    const fail = () => { throw new TypeError('with words of a message'); };
    const failing = given.reject ? async () => fail() : fail;
    const gate = await open(hosted(), {
      log: (level, line) => { lines.push(`${level} ${line}`); if (ready) fail(); },
      complete: failing,
      onResult: failing,
      send: (endpoint, action) => (action.action.startsWith('get_') ? send(endpoint, action) : failing()),
    });
    ready = true;
    const submissions = [gate.submit(turn(1), '{"messages":[{"segments":[{"type":"text","data":{}}]}],"reaction":""}'), gate.submit(turn(2), reply('x'))];
    const [broken, unanswered] = await Promise.all(submissions);
    await gate.reload();
    await gate.close();
    say({ broken: broken.result, unanswered: unanswered.result, lines });
  },

  // The one correction by the host's own model.
  async complete() {
    const asked = [];
    const host = implementation();
    const answers = { promise: async () => reply('mended'), text: () => reply('mended'), empty: () => '', none: () => undefined, still: () => '{"messages":7}' };
    const results = {};
    for (const [kind, complete] of Object.entries(answers)) {
      const gate = await open(hosted(), { ...host, complete: (request, ticket) => { asked.push([typeof ticket, Object.keys(request), typeof request.schema]); return complete(); } });
      const r = await gate.submit(turn(1), '{"messages":[{"segments":[{"type":"text","data":{}}]}],"reaction":""}');
      results[kind] = [r.result, r.corrected, r.preview];
      await gate.close();
    }
    say({ results, asked });
  },

  // connect: host: events in, actions out, answers that come later.
  async hosted() {
    const seen = [];
    let gate;
    gate = await open(config({ connect: 'host', profile: 'napcat' }, 'admins: [10001]\n'), {
      send(endpoint, action, ticket, text) {
        seen.push({ endpoint, action: action.action, params: action.params, exact: JSON.parse(text).action === action.action });
        setTimeout(() => gate.response(endpoint, ticket, seen.length % 2 ? { status: 'ok', retcode: 0, data: { message_id: 5 } } : '{"status":"ok","retcode":0,"data":{"message_id":9007199254740993}}'), 5);
      },
    });
    const event = (user_id, raw, role) => ({ time: 1700000000, self_id: 2854196310, post_type: 'message', message_type: 'group', sub_type: 'normal', message_id: 71, group_id: 123456789, user_id, raw_message: raw, message: [{ type: 'text', data: { text: raw } }], sender: { user_id, nickname: 'x', role } });
    const verdicts = {
      plain: gate.inbound('main', event(10002, 'hello', 'member')),
      command: gate.inbound('', JSON.stringify(event(10001, '/gate status', 'member'))),
      stranger: gate.inbound('', event(10002, '/gate off', 'member')),
    };
    await until(() => seen.some((x) => x.action === 'send_group_msg'));
    const keyboard = JSON.stringify({ messages: [{ segments: [{ type: 'text', data: { text: 'choose' } }, { type: 'keyboard', data: { rows: [[{ label: 'Yes', payload: 'yes-payload' }, { label: 'No', payload: 'no-payload' }]] } }] }], reaction: '' });
    const offered = await gate.submit({ group_id: 123456789, message_id: '71', sender_id: 10002 }, keyboard);
    verdicts.tap = gate.inbound('main', event(10002, '2', 'member'));
    const paced = gate.outbound('main', { action: 'send_group_msg', params: { group_id: 5, message: JSON.stringify({ messages: ['a', 'b'].map((text) => ({ segments: [{ type: 'text', data: { text } }] })), reaction: '' }) } });
    const performed = [];
    if (paced.verdict === 'replace') await perform(paced.actions, async (action, params) => performed.push([action, params.group_id]));
    const dropped = gate.outbound('main', JSON.stringify({ action: 'send_group_msg', params: { group_id: 5, message: [{ type: 'text', data: { text: '<tool_call>{"name":"x","arguments":{}}</tool_call>' } }] } }));
    await gate.close();
    say({ verdicts, offered: [offered.result, offered.sent], seen, paced: paced.verdict, performed, dropped });
  },

  // Whether an open gate keeps the process alive.
  async alive() {
    const gate = await open(unreachable());
    if (given.ref) gate.ref();
    if (given.unref) gate.ref().ref().unref();
    if (given.closing) gate.close().then(() => say({ closed: true }));
    if (given.reply) gate.submit(turn(1), reply('x')).then((r) => say({ result: r.result }));
    say({ open: true });
    if (given.reply) setTimeout(() => gate.close(), 300);
  },

  // Two copies of the library and two of the script in one process, all with one configuration.
  async twice() {
    const require = createRequire(import.meta.url);
    const path = hosted();
    const mine = await open(path, implementation());
    const others = [];
    for (const script of given.scripts) others.push(await require(script).open(path, implementation()));
    const results = await Promise.all([mine, ...others].map((gate, i) => gate.submit(turn(i), reply('x'))));
    await Promise.all([mine, ...others].map((gate) => gate.close()));
    say({ results: results.map((r) => r.result), libraries: given.scripts.map((script) => require(script).library()) });
  },

  // Wrong calls: each a GateError with a code and a path.
  async wrong() {
    const gate = await open(hosted(), implementation());
    const calls = {
      store: () => open(config({ connect: 'host' }, 'store: sqlite:/proc/replygate.db\n')),
      nobody: () => gate.submit({}, 'x'),
      both: () => gate.submit({ group_id: 1, user_id: 2 }, 'x'),
      fraction: () => gate.check({ group_id: 1.5 }, 'x'),
      inexact: () => gate.check({ group_id: 2 ** 60 }, 'x'),
      letters: () => gate.check({ group_id: '12a' }, 'x'),
      kind: () => gate.check({ group_id: 1, kind: 'shout' }, 'x'),
      endpoint: () => gate.check({ group_id: 1, endpoint: 'nowhere' }, 'x'),
      no_turn: () => gate.contract(null),
      no_text: () => gate.submit({ group_id: 1 }, 5),
      large: () => gate.submit({ group_id: 1 }, 'x'.repeat(64 * 1024 * 1024 + 1)),
      action: () => gate.outbound('', 5),
      elsewhere: () => gate.inbound('nowhere', {}),
      round: () => { const a = {}; a.a = a; return gate.outbound('', a); },
      ticket: () => gate.cancel(999),
      config: () => open('/nowhere/c.yaml'),
      faults: () => open(config({ connect: 'host' }, 'colour: red\n')),
      host: () => open(hosted(), { log: 'yes' }),
      busy: () => Promise.all(Array.from({ length: 40 }, () => stuck.submit({ group_id: 7 }, 'x'))),
    };
    const stuck = await open(unreachable());
    const faults = {};
    for (const [call, run] of Object.entries(calls)) {
      try {
        await run();
        faults[call] = 'none';
      } catch (e) {
        faults[call] = [e.name, e.code, String(e.path).replace(/^.*\/replygate-node-[^/]+/, ''), e instanceof Error];
      }
    }
    stuck.submit({ group_id: 8 }, 'x').catch(() => {});
    await stuck.close();
    await gate.close();
    for (const call of ['stats', 'reload', 'submit']) {
      try {
        await gate[call]({ group_id: 1 }, 'x');
      } catch (e) {
        faults[`closed ${call}`] = e.code;
      }
    }
    say({ faults, again: (await gate.close()) === undefined });
  },
};

await scenarios[name]();
