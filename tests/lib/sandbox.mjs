// sandbox: starts `replygate sandbox` and speaks to it: as the page does (orders and pushes) and as a
// bot does (calls, answers, events).
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';

export const root = fileURLToPath(new URL('../../', import.meta.url));

// The program under test: $REPLYGATE, or what ./test and ./run built.
export const program = [process.env.REPLYGATE, `${root}build-test/replygate`, `${root}build/replygate`].find((p) => p && existsSync(p));

export const GROUP = 123456789;
export const OTHER_GROUP = 987654321;
export const SELF = 2854196310;
export const OWNER = 10001;
export const ADMIN = 10002;
export const MEMBER = 10003;
export const STRANGER = 10005; // in the group, no friend of the bot

// Waits until test() gives something; its last value, or an error that names what was waited for.
export const until = async (what, test, ms = 8000) => {
  const end = Date.now() + ms;
  for (;;) {
    const value = await test();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((r) => setTimeout(r, 20));
  }
};

// A WebSocket that keeps what it got. open() settles when it is open, refused or closed.
export class Socket {
  constructor(url, options = {}) {
    this.frames = [];
    this.closed = null; // {code, reason}
    this.refused = null; // HTTP status
    this.socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024, ...options });
    this.socket.on('message', (data) => this.take(data.toString()));
    this.socket.on('close', (code, reason) => { this.closed = { code, reason: reason.toString() }; });
    this.socket.on('unexpected-response', (request, response) => { this.refused = response.statusCode; request.destroy(); });
    this.socket.on('error', (error) => { this.error = error; });
  }
  async open() {
    await until('the socket', () => this.refused || this.closed || this.error || this.socket.readyState === WebSocket.OPEN);
    return this;
  }
  take(text) {
    let json;
    try { json = JSON.parse(text); } catch { json = null; }
    this.frames.push({ text, json, at: Date.now() });
  }
  send(value) { this.socket.send(typeof value === 'string' ? value : JSON.stringify(value)); }
  close() { this.socket.terminate(); }
}

// The page's connection: orders by id, pushes among its frames.
export class Page extends Socket {
  #orders = 0;
  #waiting = new Map();
  take(text) {
    super.take(text);
    const json = this.frames.at(-1).json;
    this.#waiting.get(json?.re)?.(json);
    this.#waiting.delete(json?.re);
  }
  order(what) {
    const id = ++this.#orders;
    this.send({ ...what, id });
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      setTimeout(() => resolve({ ok: false, error: 'no answer' }), 10000).unref();
    });
  }
}

// A bot: calls by echo, events in order.
export class Bot extends Socket {
  events = [];
  answers = [];
  #echo = 0;
  #waiting = new Map();
  take(text) {
    super.take(text);
    const json = this.frames.at(-1).json;
    if (json?.post_type) { this.events.push(json); return; }
    this.answers.push(json ?? text);
    const resolve = this.#waiting.get(json?.echo);
    this.#waiting.delete(json?.echo);
    resolve?.(json);
  }
  call(action, params = {}) {
    const echo = `e${++this.#echo}`;
    this.send({ action, params, echo });
    return new Promise((resolve) => {
      this.#waiting.set(echo, resolve);
      setTimeout(() => resolve({ status: 'no answer' }), 10000).unref();
    });
  }
  say(message, group_id = GROUP) { return this.call('send_group_msg', { group_id, message }); }
  event(what, test) { return until(what, () => this.events.find(test)); }
}

export const text = (words) => [{ type: 'text', data: { text: words } }];

export class Sandbox {
  static async start({ profile = 'napcat', token = 'secret', port = 0, pageToken, connect } = {}) {
    if (!program) throw new Error('no program: build it with ./test or set REPLYGATE');
    const s = new Sandbox();
    const more = [...(pageToken ? ['--page-token', pageToken] : []), ...(connect ? ['--connect', connect] : [])];
    s.child = spawn(program, ['sandbox', '--json', '--profile', profile, '--token', token, '--port', String(port), ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await Promise.race([
      once(createInterface({ input: s.child.stdout }), 'line'),
      once(s.child, 'exit').then(([code]) => { throw new Error(`the sandbox ended with ${code}`); }),
    ]);
    Object.assign(s, JSON.parse(line)); // page, link, access_token, page_token, port, profile
    s.ui = await new Page(`ws://127.0.0.1:${s.port}/ui?token=${s.page_token}`).open();
    return s;
  }
  async stop() {
    this.ui?.close();
    if (this.child.exitCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }
  // An order of the page; its answer, an error where it was refused.
  async order(what) {
    const answer = await this.ui.order(what);
    if (!answer.ok) throw new Error(`${what.do}: ${answer.error}`);
    return answer;
  }
  say(words, more = {}) { return this.order({ do: 'say', as: MEMBER, group: GROUP, text: words, ...more }); }
  fault(kind, more = {}) { return this.order({ do: 'fault', action: 'send_group_msg', kind, ...more }); }
  pushes(kind) { return this.ui.frames.map((f) => f.json).filter((j) => j?.push === kind); }
  // The last pushed form of each message, oldest first. The answer to an order comes behind every
  // push before it, so what a bot just did is there.
  async messages() {
    await this.order({ do: 'state' });
    return [...new Map(this.pushes('message').map((m) => [m.message_id, m])).values()];
  }
  async message(id) { return (await this.messages()).find((m) => m.message_id === String(id)); }
  // Frames of one way as objects.
  wire(way) { return this.pushes('frame').filter((f) => f.way === way).map((f) => JSON.parse(f.text)); }
  bot(path = '', { token = this.access_token, headers = {} } = {}) {
    return new Bot(`ws://127.0.0.1:${this.port}/${path}`, { headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers } }).open();
  }
}

// `replygate run`, with the sandbox of its own or (config) against another.
export class Run {
  // config: the text of a configuration; script: a file
  static async start({ config, script, environment = {} } = {}) {
    const r = new Run();
    r.folder = mkdtempSync(join(tmpdir(), 'replygate-run-'));
    const argv = ['run'];
    if (config !== undefined) {
      writeFileSync(join(r.folder, 'gate.yaml'), config);
      argv.push(join(r.folder, 'gate.yaml'));
    }
    if (script) argv.push('--script', script);
    r.log = '';
    r.child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: r.folder, ...environment } });
    r.child.stderr.on('data', (d) => { r.log += d; });
    r.out = '';
    r.child.stdout.on('data', (d) => { r.out += d; });
    await until('the first line of replygate run', () => {
      if (r.child.exitCode !== null) throw new Error(`replygate run ended with ${r.child.exitCode}: ${r.log}`);
      return r.out.includes('\n');
    });
    r.page = /http:\/\/\S+/.exec(r.out)?.[0];
    return r;
  }
  async stop() {
    if (this.child.exitCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
    return this.child.exitCode;
  }
}
