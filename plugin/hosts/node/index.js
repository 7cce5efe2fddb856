// Replygate in a Node process: see index.d.ts, which says what everything does. Here the plain values
// of replygate.so (plugin/node.c) become promises, objects and errors. No policy.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const CODES = {
  [-1]: ['EARGUMENT', 'a wrong argument'],
  [-2]: ['ECONFIG', 'the configuration has faults'],
  [-3]: ['ENOMEM', 'out of memory'],
  [-4]: ['EBUSY', 'too much is waiting already; submit later'],
  [-5]: ['ENOTYET', 'this build has no such function yet'],
  [-6]: ['ESYSTEM', 'a thread or file could not be had'],
  [-7]: ['ETOOBIG', 'the text is above 64 MiB'],
  [-100]: ['ECLOSED', 'the gate is closed'],
};
const NO_ENDPOINT = 'there is no such endpoint; leave the name out only where the configuration has one';
const LEVELS = ['error', 'warn', 'info', 'debug'];
const KINDS = { answer: 0, proactive: 1, notice: 2 };
const VERDICTS = ['pass', 'replace', 'drop'];
const [OPENED, RELOADED, CLOSED, LOG, SEND, COMPLETE, EVENT, RESULT] = [0, 1, 2, 3, 4, 5, 6, 7];

class GateError extends Error {
  constructor(code, message, path = '') {
    super(message);
    this.name = 'GateError';
    this.code = code;
    this.path = path;
  }
}

// --- the library ---

// The numbers of `replygate-0.2.0.so`; `replygate.so` has none and is the oldest. Null: another file.
const numbersOf = (name) => /^replygate((?:[-.]\d+)*)\.so$/.exec(name)?.[1].split(/[-.]/).slice(1).map(Number) ?? null;

const byNumbers = (a, b) => {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
};

function library() {
  if (process.env.REPLYGATE_SO) return path.resolve(process.env.REPLYGATE_SO);
  const found = fs.readdirSync(__dirname)
    .map((name) => ({ name, numbers: numbersOf(name) }))
    .filter(({ numbers }) => numbers)
    .sort((a, b) => byNumbers(a.numbers, b.numbers));
  if (found.length === 0) throw new GateError('ELIBRARY', `no replygate.so in ${__dirname}`, __dirname);
  return path.join(__dirname, found.at(-1).name);
}

// Node exports an OpenSSL of its own: without RTLD_DEEPBIND the library's would be mixed with it.
// Sanitizers refuse that flag, hence the variable for tests.
function load(file) {
  const { RTLD_NOW, RTLD_DEEPBIND } = os.constants.dlopen;
  const module = { exports: {} };
  try {
    process.dlopen(module, file, RTLD_NOW | (process.env.REPLYGATE_NO_DEEPBIND ? 0 : RTLD_DEEPBIND ?? 0));
  } catch (error) {
    const why = error.message.includes('self-register') ? 'it was built without Node' : error.message;
    throw new GateError('ELIBRARY', `${file} cannot be loaded: ${why}`, file);
  }
  return module.exports;
}

let loaded;
const native = () => (loaded ??= load(library()));

// Gates whose threads run. They must not run while the process takes itself apart.
const running = new Set();
function shutAll() {
  for (const id of running) native().shut(id);
  running.clear();
}
function watchExit(id) {
  if (running.size === 0) process.on('exit', shutAll);
  running.add(id);
}
function unwatchExit(id) {
  if (running.delete(id) && running.size === 0) process.off('exit', shutAll);
}

// --- values ---

const faultOf = (number, why = '', path = '') => {
  const [code, text] = CODES[number] ?? ['ESYSTEM', `result ${number}`];
  return new GateError(code, why || (path ? `${path}: ${/endpoint$/.test(path) && number === -1 ? NO_ENDPOINT : text}` : text), path);
};

const wrong = (what, path) => new GateError('EARGUMENT', `${path}: ${what}`, path);

// Throws where a call gave a fault.
const taken = (value, path) => {
  if (value === undefined) throw faultOf(-3);
  if (typeof value === 'number' && value < 0) throw faultOf(value, '', value === -1 ? path : '');
  return value;
};

function textOf(value, path) {
  if (typeof value === 'string') return value;
  throw wrong('a string is needed', path);
}

// An object as its JSON, a string as it is.
function jsonOf(value, path) {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') throw wrong('an object or its JSON text is needed', path);
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw wrong(`no JSON can be made of it: ${error.name}`, path);
  }
}

function idOf(value, path, signed = false) {
  if (value === undefined || value === null || value === '') return '';
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw wrong('this number is not exact; give it as a string', path);
  const text = String(value);
  if (!(signed ? /^-?\d{1,20}$/ : /^[1-9]\d{0,19}$/).test(text)) throw wrong('a decimal number is needed', path);
  return text;
}

// A message_id is the endpoint's own and may be any text.
const messageIdOf = (value) => (value === undefined || value === null ? '' : String(value));

function turnOf(turn) {
  if (turn === null || typeof turn !== 'object') throw wrong('an object is needed', 'turn');
  const kind = KINDS[turn.kind ?? 'answer'];
  if (kind === undefined) throw wrong('answer, proactive or notice', 'turn.kind');
  const group = idOf(turn.group_id, 'turn.group_id');
  const user = idOf(turn.user_id, 'turn.user_id');
  if ((group === '') === (user === '')) throw wrong('exactly one of group_id and user_id is needed', 'turn.group_id');
  return [
    kind,
    textOf(turn.endpoint ?? '', 'turn.endpoint'),
    group,
    user,
    messageIdOf(turn.message_id),
    idOf(turn.sender_id, 'turn.sender_id', true),
    turn.schema === undefined || turn.schema === null ? '' : jsonOf(turn.schema, 'turn.schema'),
  ];
}

const isPromise = (value) => typeof value?.then === 'function';

// --- one instance ---

class Gate {
  #id;
  #host;
  #held = 0; // reasons to keep the process alive: replies, orders, ref()
  #ref = false;
  #waiting = new Map(); // ticket -> {resolve}
  #early = []; // what came before the caller has the gate; null afterwards
  #order = null; // {resolve, reject} of the reload or close that runs
  #orders = Promise.resolve(); // one after the other
  #closing = null;

  constructor(host) {
    this.#host = host;
  }

  // Gives a promise of itself.
  static open(config, host) {
    const gate = new Gate(host);
    const wants = (host.send ? 1 << SEND : 0) | (host.complete ? 1 << COMPLETE : 0) | (host.onEvent ? 1 << EVENT : 0);
    return new Promise((resolve, reject) => {
      gate.#order = { resolve: () => resolve(gate), reject };
      gate.#held = 1;
      gate.#id = taken(native().open(path.resolve(config), wants, (...told) => gate.#told(...told)), 'config');
      watchExit(gate.#id);
    });
  }

  #told(kind, number, endpoint, text) {
    if (this.#early && ![OPENED, LOG].includes(kind)) return void this.#early.push([kind, number, endpoint, text]);
    switch (kind) {
      case OPENED:
        if (number !== 0) unwatchExit(this.#id);
        else setImmediate(() => this.#catchUp());
        return this.#ordered(number, text);
      case RELOADED: return this.#ordered(number, text);
      case CLOSED:
        unwatchExit(this.#id);
        return this.#ordered(number, text);
      case LOG: return this.#call('log', () => this.#host.log?.(LEVELS[number], text));
      case SEND: return this.#send(endpoint, number, text);
      case COMPLETE: return this.#complete(number, text);
      case EVENT: return this.#call('onEvent', () => this.#host.onEvent(endpoint, JSON.parse(text), text));
      case RESULT: return this.#result(number, JSON.parse(text));
    }
  }

  #catchUp() {
    const early = this.#early;
    this.#early = null;
    for (const told of early) this.#told(...told);
  }

  // What the host's functions throw ends here: a line in the log, without the exception's own words,
  // which may quote a message.
  #call(name, run, failed = () => {}) {
    const caught = (error) => {
      const place = /\(?([^\s()]+:\d+:\d+)\)?$/m.exec(error?.stack ?? '')?.[1] ?? 'an unknown place';
      if (name !== 'log') this.#call('log', () => this.#host.log?.('error', `the host's ${name} failed: ${error?.name ?? typeof error} at ${place}`));
      failed();
    };
    try {
      const value = run();
      if (isPromise(value)) return void Promise.resolve(value).then(undefined, caught);
    } catch (error) {
      caught(error);
    }
  }

  // The function may answer later or by a promise: then(value) comes once, with undefined where it failed.
  #ask(name, run, then) {
    this.#call(name, () => {
      const value = run();
      if (!isPromise(value)) return then(value);
      return Promise.resolve(value).then(then);
    }, () => then(null));
  }

  #send(endpoint, ticket, text) {
    this.#ask('send', () => this.#host.send(endpoint, JSON.parse(text), ticket, text), (answer) => {
      if (answer !== undefined) native().response(this.#id, endpoint, ticket, answer === null ? '' : jsonOf(answer, 'answer'));
    });
  }

  #complete(ticket, text) {
    this.#ask('complete', () => this.#host.complete(JSON.parse(text), ticket), (answer) => {
      native().completed(this.#id, ticket, typeof answer === 'string' ? answer : '');
    });
  }

  #result(ticket, result) {
    const waiting = this.#waiting.get(ticket); // none: it is of an earlier process
    if (this.#waiting.delete(ticket)) {
      this.#hold(-1);
      waiting(result);
    }
    if (this.#host.onResult) this.#call('onResult', () => this.#host.onResult(ticket, result));
  }

  // Keeps the process alive while there is a reason to.
  #hold(change) {
    const before = this.#held > 0;
    this.#held += change;
    if (before !== this.#held > 0) native().keep(this.#id, this.#held > 0);
  }

  #ordered(number, why) {
    const { resolve, reject } = this.#order;
    this.#order = null;
    this.#hold(-1);
    if (number === 0) return resolve();
    // "file:line:column: what", a line each
    reject(faultOf(number, why, /^(.+?:\d+:\d+): /.exec(why)?.[1]));
  }

  #do(name) {
    const run = () => new Promise((resolve, reject) => {
      taken(native()[name](this.#id));
      this.#order = { resolve, reject };
      this.#hold(1);
    });
    const done = this.#orders.then(run);
    this.#orders = done.catch(() => {});
    return done;
  }

  submit(turn, text) {
    let ticket = 0;
    const promise = new Promise((resolve) => {
      const parts = turnOf(turn);
      ticket = taken(native().submit(this.#id, ...parts, textOf(text, 'text')), 'turn.endpoint');
      this.#waiting.set(ticket, resolve);
      this.#hold(1);
    });
    return Object.defineProperty(promise, 'ticket', { value: ticket });
  }

  cancel(ticket) {
    taken(native().cancel(this.#id, ticket), 'ticket');
  }

  outbound(endpoint, action) {
    const [verdict, edit] = taken(native().outbound(this.#id, textOf(endpoint, 'endpoint'), jsonOf(action, 'action')), 'endpoint');
    if (VERDICTS[verdict] === 'pass') return { verdict: 'pass' };
    const json = JSON.parse(edit);
    return VERDICTS[verdict] === 'replace' ? { verdict: 'replace', actions: json } : { verdict: 'drop', ...json };
  }

  inbound(endpoint, event) {
    const [verdict, edit] = taken(native().inbound(this.#id, textOf(endpoint, 'endpoint'), jsonOf(event, 'event')), 'endpoint');
    return VERDICTS[verdict] === 'replace' ? { verdict: 'replace', event: JSON.parse(edit), text: edit } : { verdict: VERDICTS[verdict] };
  }

  response(endpoint, ticket, answer) {
    taken(native().response(this.#id, textOf(endpoint, 'endpoint'), ticket, answer === null ? '' : jsonOf(answer, 'answer')), 'endpoint');
  }

  contract(turn) {
    const [schema, instruction] = taken(native().contract(this.#id, ...turnOf(turn)), 'turn.endpoint');
    return { schema: schema === '' ? null : JSON.parse(schema), instruction };
  }

  check(turn, text) {
    return JSON.parse(taken(native().check(this.#id, ...turnOf(turn), textOf(text, 'text')), 'turn.endpoint'));
  }

  reload() {
    return this.#do('reload');
  }

  stats() {
    return JSON.parse(taken(native().stats(this.#id)));
  }

  close() {
    return (this.#closing ??= this.#do('close'));
  }

  ref() {
    if (!this.#ref) this.#hold(1);
    this.#ref = true;
    return this;
  }

  unref() {
    if (this.#ref) this.#hold(-1);
    this.#ref = false;
    return this;
  }
}

async function open(config, host = {}) {
  textOf(config, 'config');
  if (host === null || typeof host !== 'object') throw wrong('an object is needed', 'host');
  for (const name of ['log', 'complete', 'onEvent', 'onResult', 'send']) {
    if (host[name] !== undefined && typeof host[name] !== 'function') throw wrong('a function is needed', `host.${name}`);
  }
  return Gate.open(config, host);
}

async function perform(actions, send) {
  const answers = [];
  for (const { action, params, wait_ms: wait } of actions) {
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    answers.push(await send(action, params));
    if (answers.at(-1)?.status === 'failed') break;
  }
  return answers;
}

exports.open = open;
exports.perform = perform;
exports.version = () => native().version();
exports.library = library;
exports.GateError = GateError;
