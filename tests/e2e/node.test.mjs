// replygate.so in Node: the API under load, worker threads, ends of the process, TLS beside Node's own.
// Each scenario of tests/node/scenarios.mjs runs in a process of its own; here is what is right.
// REPLYGATE_NODES="18 22 24" runs all of it in these versions too (tests/lib/nodes.sh installs them).
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { GROUP, Sandbox, program, root } from '../lib/sandbox.mjs';

const library = join(dirname(program), 'replygate.so');
const scenarios = `${root}tests/node/scenarios.mjs`;
const folderOfApi = `${root}plugin/hosts/node`;
const tls = (name) => `${root}tests/data/tls/${name}`;
const built = execFileSync('nm', ['-D', library], { encoding: 'utf8' }).includes('napi_register_module_v1');

const versions = (process.env.REPLYGATE_NODES ?? '').split(/\s+/).filter(Boolean);
const nodes = [process.execPath, ...(versions.length ? execFileSync(`${root}tests/lib/nodes.sh`, versions, { encoding: 'utf8' }).trim().split('\n') : [])];

// A TLS endpoint: https for Node, a OneBot implementation and a model for the gate.
const startEndpoint = async () => {
  const server = createServer({ key: readFileSync(tls('server.key')), cert: readFileSync(tls('good.pem')) }, (request, response) => {
    if (request.method !== 'POST') return response.end('ok');
    request.resume();
    const content = JSON.stringify({ messages: [{ segments: [{ type: 'text', data: { text: 'said over https' } }] }], reaction: '' });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }], usage: { total_tokens: 10 } }));
  });
  const sockets = new WebSocketServer({ server });
  let sent = 0;
  sockets.on('connection', (socket) => socket.on('message', (frame) => {
    const { action, echo } = JSON.parse(frame);
    const data = { get_version_info: { app_name: 'NapCat.Onebot', app_version: '4.18.0', protocol_version: 'v11' }, get_login_info: { user_id: 2854196310, nickname: 'bot' } };
    socket.send(JSON.stringify({ status: 'ok', retcode: 0, data: data[action] ?? { message_id: ++sent }, echo }));
  }));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: server.address().port };
};

for (const node of nodes) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  describe(`replygate.so in Node ${version}`, { skip: built ? false : 'built without node_api.h' }, () => {
    let sandbox, endpoint, folder;
    before(async () => {
      sandbox = await Sandbox.start();
      endpoint = await startEndpoint();
      folder = mkdtempSync(join(tmpdir(), 'replygate-node-'));
    });
    after(async () => {
      endpoint.server.close();
      endpoint.server.closeAllConnections();
      rmSync(folder, { recursive: true });
      assert.equal(await sandbox.stop(), 0);
    });

    // {code, signal, said: the last line as JSON, errors}; stopped after `ms`
    const run = (name, given = {}, { environment = {}, argv = [], ms = 60000 } = {}) => new Promise((resolve) => {
      const child = spawn(node, [...argv, scenarios, name, JSON.stringify(given)], { env: { ...process.env, TMPDIR: folder, REPLYGATE_SO: library, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '', errors = '', late = false;
      child.stdout.on('data', (d) => { out += d; });
      child.stderr.on('data', (d) => { errors += d; });
      const timer = setTimeout(() => { late = true; child.kill('SIGKILL'); }, ms);
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        const line = out.trim().split('\n').at(-1);
        resolve({ code, signal, late, errors, said: line ? JSON.parse(line) : null, lines: out.trim().split('\n').length });
      });
    });
    const good = async (...what) => {
      const end = await run(...what);
      assert.deepEqual([end.code, end.signal, end.errors], [0, null, ''], `${what[0]}: ${JSON.stringify(end)}`);
      return end.said;
    };

    test('1,000 replies at once, each with one result, each chat in order', async () => {
      assert.deepEqual(await good('submits'), { results: { delivered: 1000 }, tickets: 1000, told: 1000, sent: 1000, ordered: true, delivered: 1000, waiting: 0 });
    });

    test('replies reach a OneBot endpoint, events come back', async () => {
      const heard = sandbox.say('hello'); // some time before the gate is there
      await heard;
      const said = await good('wire', { link: sandbox.link, token: sandbox.access_token, group: String(GROUP), count: 30 });
      assert.deepEqual(said.results, { delivered: 30 });
      assert.equal(said.sent, true);
      assert.equal(said.endpoint.profile, 'napcat');
      assert.ok(said.events.length > 0 && said.events.every(([from, , type]) => from === 'main' && type === 'string'), JSON.stringify(said.events));
      assert.ok(!said.lines.some((l) => l.includes('off:')), said.lines.join('\n'));
    });

    test('wss:// with a private authority, beside Node\'s own TLS', async () => {
      for (const early of [true, false]) {
        const said = await good('wss', { port: endpoint.port, ca: tls('ca.pem'), before: early });
        assert.deepEqual([said.before, said.during, said.after, said.results], [200, true, 200, { delivered: 60 }], said.lines.join('\n'));
      }
    });

    test('https:// to a provider, beside Node\'s own TLS', async () => {
      const said = await good('agent', { port: endpoint.port, ca: tls('ca.pem') });
      assert.deepEqual([said.before, said.during, said.after], [200, 200, 200]);
      assert.match(said.sent.join(), /said over https/, said.lines.join('\n'));
      const plain = await good('agent', { port: endpoint.port, ca: tls('ca.pem') }, { environment: { REPLYGATE_NO_DEEPBIND: '1' } });
      assert.deepEqual([plain.before, plain.during, plain.after], [200, 200, 200]);
      assert.ok(!plain.sent.join().includes('said over https'));
      assert.match(plain.lines.join('\n'), /warn HTTP and wss:\/\/ are off: /);
    });

    test('without RTLD_DEEPBIND HTTP and TLS stay off, and the log says why', async () => {
      const environment = { REPLYGATE_NO_DEEPBIND: '1' };
      const said = await good('wss', { port: endpoint.port, ca: tls('ca.pem'), before: true }, { environment });
      assert.match(said.lines.join('\n'), /warn HTTP and wss:\/\/ are off: .*RTLD_DEEPBIND/);
      assert.match(said.lines.join('\n'), /warn endpoint main: .*no TLS: /);
      assert.deepEqual([said.before, said.after, said.results], [200, 200, {}]);
      const wire = await good('wire', { link: sandbox.link, token: sandbox.access_token, group: String(GROUP), count: 5 }, { environment });
      assert.deepEqual(wire.results, { delivered: 5 });
      assert.match(wire.lines.join('\n'), /HTTP and wss:\/\/ are off/);
    });

    test('opened and closed again and again: nothing is left behind', async () => {
      const said = await good('cycles', { warm: 15, cycles: 30 }, { argv: ['--expose-gc'] });
      assert.equal(said.listeners, 0);
      assert.ok(said.grown < 6 * 1024 * 1024, `grown by ${said.grown}`); // 200 bytes a reply would be 0.6 MiB
    });

    test('worker threads that close, leave, exit or are stopped in the middle', async () => {
      const said = await good('workers', { rounds: 4 });
      assert.deepEqual(said, { codes: { 'close 0': 4, 'leave 0': 4, 'exit 3': 4, 'terminate 1': 8, 'opening 0': 4, 'closing 0': 4 }, delivered: 400, main: 'delivered' });
    });

    test('the process ends in the middle of everything', async () => {
      const link = { link: sandbox.link, token: sandbox.access_token };
      for (const ms of [0, 0, 1, 2, 3, 5, 8, 13, 20, 40]) {
        const end = await run('exit', { ...link, after: ms });
        assert.deepEqual([end.code, end.signal, end.errors], [7, null, ''], `after ${ms} ms`);
      }
      const thrown = await run('exit', link);
      assert.deepEqual([thrown.code, thrown.signal], [1, null]);
      assert.match(thrown.errors, /uncaught, on purpose/);
    });

    test('an open gate is a guest: only ref() or an awaited reply keeps the process', async () => {
      assert.deepEqual(await good('alive'), { open: true });
      assert.deepEqual(await good('alive', { unref: true }), { open: true });
      assert.deepEqual(await good('alive', { closing: true }), { closed: true });
      assert.deepEqual(await good('alive', { reply: true }), { result: 'cancelled' });
      assert.equal((await run('alive', { ref: true }, { ms: 1000 })).late, true);
    });

    test('what the host\'s functions throw is a line in the log', async () => {
      for (const said of await Promise.all([good('throwing', { reject: false }), good('throwing', { reject: true })])) {
        assert.deepEqual([said.broken, said.unanswered], ['blocked', 'failed']);
        for (const name of ['complete', 'onResult', 'send']) assert.ok(said.lines.some((l) => l.startsWith(`error the host's ${name} failed: TypeError at `)), said.lines.join('\n'));
        assert.ok(!said.lines.join().includes('with words of a message'));
      }
    });

    test('the host\'s own model does the one correction', async () => {
      const { results, asked } = await good('complete');
      assert.deepEqual(results, { promise: ['delivered', true, 'mended'], text: ['delivered', true, 'mended'], empty: ['blocked', true, ''], none: ['blocked', true, ''], still: ['blocked', true, ''] });
      assert.equal(asked.length, 5);
      assert.deepEqual(asked[0], ['number', ['instruction', 'schema', 'answer', 'code', 'path', 'why'], 'object']);
    });

    test('connect: host: commands and taps are taken out, actions go through the host', async () => {
      const said = await good('hosted');
      assert.deepEqual([said.verdicts.plain, said.verdicts.command, said.verdicts.stranger], [{ verdict: 'pass' }, { verdict: 'drop' }, { verdict: 'drop' }]);
      assert.equal(said.verdicts.tap.verdict, 'replace');
      assert.equal(said.verdicts.tap.event.raw_message, 'no-payload');
      assert.deepEqual(JSON.parse(said.verdicts.tap.text), said.verdicts.tap.event);
      assert.equal(said.offered[0], 'delivered');
      assert.equal(said.offered[1][0].message_id, '9007199254740993');
      assert.equal(said.seen.filter((x) => x.action === 'send_group_msg').length, 2);
      assert.ok(said.seen.every((x) => x.endpoint === 'main' && x.exact));
      assert.deepEqual([said.paced, said.performed], ['replace', [['send_group_msg', 5], ['send_group_msg', 5]]]);
      assert.deepEqual([said.dropped.verdict, said.dropped.code], ['drop', 'tool_call']);
    });

    test('wrong calls are errors with a code and a path', async () => {
      const { faults, again } = await good('wrong');
      const argument = (path) => ['GateError', 'EARGUMENT', path, true];
      assert.deepEqual(faults, {
        nobody: argument('turn.group_id'), both: argument('turn.group_id'), fraction: argument('turn.group_id'), inexact: argument('turn.group_id'),
        letters: argument('turn.group_id'), kind: argument('turn.kind'), endpoint: argument('turn.endpoint'), no_turn: argument('turn'), no_text: argument('text'),
        large: ['GateError', 'ETOOBIG', '', true], action: argument('action'), elsewhere: argument('endpoint'), round: argument('action'), ticket: argument('ticket'),
        config: ['GateError', 'ECONFIG', '/nowhere/c.yaml:1:1', true], faults: ['GateError', 'ECONFIG', '/c.yaml:5:1', true], host: argument('host.log'), store: ['GateError', 'ESYSTEM', '', true],
        busy: ['GateError', 'EBUSY', '', true], 'closed stats': 'ECLOSED', 'closed reload': 'ECLOSED', 'closed submit': 'ECLOSED',
      });
      assert.equal(again, true);
    });

    test('two copies of script and library in one process, and of the script alone', async () => {
      const scripts = ['a', 'b'].map((name) => {
        mkdirSync(join(folder, name));
        for (const file of ['index.js', 'package.json']) copyFileSync(join(folderOfApi, file), join(folder, name, file));
        return join(folder, name, 'index.js');
      });
      copyFileSync(library, join(folder, 'a', 'replygate-0.1.9.so'));
      const said = await good('twice', { scripts }, { environment: {} });
      assert.deepEqual(said.results, ['delivered', 'delivered', 'delivered']);
      writeFileSync(join(folder, 'a', 'replygate.so'), 'not a library');
      writeFileSync(join(folder, 'a', 'replygate-0.1.10.so'), 'not a library');
      const api = createRequire(import.meta.url)(scripts[0]);
      const keep = process.env.REPLYGATE_SO;
      delete process.env.REPLYGATE_SO;
      assert.equal(api.library(), join(folder, 'a', 'replygate-0.1.10.so'), 'the highest number, not the last letter');
      await assert.rejects(api.open('/nowhere/c.yaml'), (e) => e instanceof api.GateError && e.code === 'ELIBRARY' && e.path.endsWith('replygate-0.1.10.so'));
      const none = createRequire(import.meta.url)(scripts[1]);
      assert.throws(() => none.library(), (e) => e.code === 'ELIBRARY' && e.path === join(folder, 'b'));
      if (keep !== undefined) process.env.REPLYGATE_SO = keep;
      rmSync(join(folder, 'a'), { recursive: true });
      rmSync(join(folder, 'b'), { recursive: true });
    });
  });
}

// The sanitized build, in a Node that got the sanitizer first. A process that ends by itself is asked
// for leaks as well: Node itself has none then.
const sanitized = [process.env.REPLYGATE_SANITIZED, `${root}build-asan/replygate.so`].find((p) => p && existsSync(p));
describe('replygate.so in Node, sanitized', { skip: sanitized && built ? false : 'there is no sanitized build' }, () => {
  const preload = ['libasan.so', 'libubsan.so'].map((name) => execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()).join(' ');
  for (const [name, given] of [['submits', {}], ['complete', {}], ['hosted', {}], ['wrong', {}], ['workers', { rounds: 2 }], ['cycles', { warm: 1, cycles: 3 }], ['exit', { after: 5 }]]) {
    test(name, () => {
      const exits = name === 'exit';
      const end = spawnSync(process.execPath, [scenarios, name, JSON.stringify(given)], {
        encoding: 'utf8', timeout: 100000,
        env: {
          ...process.env, REPLYGATE_SO: sanitized, REPLYGATE_NO_DEEPBIND: '1', LD_PRELOAD: preload,
          ASAN_OPTIONS: `detect_leaks=${exits ? 0 : 1}:allocator_may_return_null=1`, UBSAN_OPTIONS: 'halt_on_error=1',
        },
      });
      assert.deepEqual([end.status, end.signal, end.stderr], [exits ? 7 : 0, null, '']);
    });
  }
});

test('the declaration names what the script gives', () => {
  const text = readFileSync(join(folderOfApi, 'index.d.ts'), 'utf8');
  const api = createRequire(import.meta.url)(join(folderOfApi, 'index.js'));
  for (const name of Object.keys(api)) assert.match(text, new RegExp(`export (function|class) ${name}\\b`));
  assert.ok(existsSync(join(folderOfApi, 'index.d.ts')));
});
