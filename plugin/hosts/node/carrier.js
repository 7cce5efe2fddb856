// Between a bot framework and a gate: which bot is which endpoint, one message after the other in a
// chat, and actions of the plugin carried over the framework's own connection. No policy: what may be
// sent, when, and by whom is decided behind the gate.
//
// Fails closed: where anything goes wrong `outgoing` rejects, and the framework's hook must stop the
// message in the way its framework needs.
'use strict';

const path = require('node:path');
const { open } = require('./index.js');

const ALL = Symbol.for('replygate.carriers'); // of this process, also of a file that was loaded again
const OFFLINE = 1006514; // NTQQ's own code for "not online": the plugin keeps the message and tries again

// Not to be sent: the hook must stop the message.
class Held extends Error {
  name = 'Held';
}

// What a bot's call rejects with where nothing was sent because it is not connected.
class NotConnected extends Error {
  name = 'NotConnected';
}

// The endpoint answered with an error.
class Failed extends Error {
  name = 'Failed';
  constructor(action, response) {
    super(`${action}: ${response.message || response.wording || response.msg || `retcode ${response.retcode}`}`);
    this.response = response;
    this.code = response.retcode;
  }
}

const plain = (action) => action.replace(/^[._]+/, '');
// An action that only asks: all that passes while there is no gate to judge.
const isQuestion = (action) => /^(get|can)_/.test(plain(action));
// An action that puts something into a chat, where order counts.
const isSend = (action) => /^(send|upload|handle_quick)/.test(plain(action));

const chatOf = (params) => {
  const group = params.message_type === 'private' ? '' : params.group_id;
  return group ? `group ${group}` : `user ${params.user_id}`;
};

const isFailed = (response) => response?.status === 'failed';
const offline = () => ({ status: 'failed', retcode: OFFLINE, data: null });

const CQ = { '&#91;': '[', '&#93;': ']', '&amp;': '&' };
// What people wrote in an event, in any of the forms of a message.
const wordsOf = ({ message }) => (Array.isArray(message)
  ? message.filter((s) => s.type === 'text').map((s) => s.data.text).join('')
  : String(message).replace(/\[CQ:[^\]]*\]/g, '').replace(/&(#91|#93|amp);/g, (code) => CQ[code])).trim();

class Carrier {
  fault = 'not started'; // why there is no gate
  #config;
  #gate = null;
  #users = 0; // plugins that have started it and not stopped it
  #life = Promise.resolve(); // opening and closing, one after the other
  #endpoints;
  #only = null; // the bot of the only endpoint, where none are listed
  #log;
  #complete;
  #models = new Map(); // ticket -> the model that answered, for the one correction
  #bots = new Map(); // account -> its call
  #asked = new Map(); // endpoint and action -> {endpoint, action, resolve}: questions before a bot came
  #chats = new Map(); // chat -> a promise of its last message

  // config: the YAML's path. endpoints: {a bot's QQ number: a name under `endpoints:`}; empty where
  // there is one bot. log(level, line). complete(request): the model's text, or a promise of it.
  constructor(config, options) {
    this.#config = config;
    this.#adopt(options);
  }

  // The one of that configuration. A framework may set a plugin up anew before it ends the old one;
  // two gates would fight over one journal, so both have the same.
  static of(config, options) {
    const all = (globalThis[ALL] ??= new Map());
    const file = path.resolve(config);
    if (all.has(file)) all.get(file).#adopt(options);
    else all.set(file, new Carrier(file, options));
    return all.get(file);
  }

  #adopt({ endpoints = {}, log = () => {}, complete } = {}) {
    this.#endpoints = new Map(Object.entries(endpoints ?? {}));
    this.#log = log;
    this.#complete = complete;
  }

  // Opens the gate, or reads its configuration again where it is open. False: it cannot be opened; the
  // log says why, and everything is held.
  start() {
    this.#users++;
    return this.#next(() => (this.#gate ? this.#reload() : this.#open()));
  }

  // The last one closes it.
  stop() {
    return this.#next(() => (--this.#users > 0 ? undefined : this.#close()));
  }

  #next(run) {
    const done = this.#life.then(run);
    this.#life = done.catch(() => {});
    return done;
  }

  #say(error) {
    for (const line of error.message.split('\n')) if (line) this.#log('error', line);
  }

  async #reload() {
    try {
      await this.#gate.reload();
    } catch (error) {
      this.#say(error);
    }
    return true;
  }

  async #open() {
    const host = {
      log: (level, line) => this.#log(level, line),
      send: (endpoint, action) => this.#send(endpoint, action),
      // nothing: a provider of the configuration is asked, if there is one
      complete: (request, ticket) => (this.#models.get(ticket) ?? this.#complete)?.(request) ?? '',
    };
    try {
      this.#gate = await open(this.#config, host);
    } catch (error) {
      this.fault = error.message;
      this.#say(error);
      this.#log('error', 'Replygate does not run: nothing is sent until this is put right.');
      return false;
    }
    this.fault = null;
    return true;
  }

  async #close() {
    const gate = this.#gate;
    this.#gate = null;
    this.fault = 'stopped';
    for (const { resolve } of this.#asked.values()) resolve(null);
    this.#asked.clear();
    await gate?.close();
  }

  get gate() {
    if (!this.#gate) throw new Held(`Replygate does not run: ${this.fault}`);
    return this.#gate;
  }

  // --- bots ---

  // A bot is connected. call(action, params) gives a promise of the response {status, retcode, data},
  // also where that is an error; it rejects with NotConnected, or anything else where no answer came.
  join(account, call) {
    this.#bots.set(String(account), call);
    let own;
    try {
      own = this.endpointOf(account);
    } catch (error) {
      return void this.#log('error', error.message);
    }
    for (const [key, { endpoint, action, resolve }] of this.#asked) {
      if (own !== '' && own !== endpoint) continue;
      this.#asked.delete(key);
      resolve(this.#carry(call, action));
    }
  }

  // It is not connected any more.
  leave(account) {
    this.#bots.delete(String(account));
    if (this.#only === String(account)) this.#only = null;
  }

  endpointOf(account) {
    const name = String(account);
    if (this.#endpoints.size > 0) {
      if (!this.#endpoints.has(name)) {
        throw new Held(`bot ${name} has no endpoint: list it in the plugin's \`endpoints\``);
      }
      return this.#endpoints.get(name);
    }
    this.#only ??= name;
    if (this.#only !== name) {
      throw new Held(`bot ${name} is a second one beside ${this.#only}: list both in the plugin's \`endpoints\``);
    }
    return '';
  }

  #botOf(endpoint) {
    for (const [account, call] of this.#bots) {
      if (this.#endpoints.size > 0 ? this.#endpoints.get(account) === endpoint : account === this.#only) return call;
    }
    return null;
  }

  // --- what a bot is about to send ---

  // Before a bot sends actions that belong together, [{action, params}]. Gives null: it may send them as
  // they are. Otherwise they are sent already, through call, and this is the answer of the first.
  // Rejects with Held, Failed, and what call rejects with.
  async outgoing(account, actions, call) {
    const send = actions.find(({ action }) => isSend(action));
    if (!send) return this.#perform(account, actions, call);
    return this.#inTurn(`${account} ${chatOf(send.params ?? {})}`, () => this.#perform(account, actions, call));
  }

  // One after the other in a chat.
  async #inTurn(chat, run) {
    const before = this.#chats.get(chat);
    const now = before ? before.then(run, run) : run();
    const settled = now.catch(() => {});
    this.#chats.set(chat, settled);
    try {
      return await now;
    } finally {
      if (this.#chats.get(chat) === settled) this.#chats.delete(chat);
    }
  }

  #judge(account, { action, params }) {
    if (!this.#gate && isQuestion(action)) return { verdict: 'pass' };
    const { gate } = this;
    const endpoint = this.endpointOf(account);
    try {
      return gate.outbound(endpoint, { action, params });
    } catch (error) {
      throw new Held(`${action} could not be judged: ${error.message}`);
    }
  }

  async #perform(account, actions, call) {
    const steps = [];
    let changed = false;
    for (const one of actions) {
      const judged = this.#judge(account, one);
      if (judged.verdict === 'drop') {
        throw new Held(`${one.action} is held back: ${judged.code} ${judged.path}: ${judged.why}`);
      }
      changed ||= judged.verdict === 'replace';
      steps.push(...(judged.verdict === 'replace' ? judged.actions : [{ ...one, wait_ms: 0 }]));
    }
    return changed ? this.#sendSteps(steps, call) : null;
  }

  async #sendSteps(steps, call) {
    let first = null;
    for (const { action, params, wait_ms: wait } of steps) {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      try {
        const response = await call(action, params);
        if (isFailed(response)) throw new Failed(action, response);
        if (isSend(action)) first ??= response;
      } catch (error) {
        if (isSend(action)) throw error;
        this.#log('debug', `${action} failed: ${error.name}`); // a reaction takes nothing away from what is said
      }
    }
    return first ?? { status: 'ok', retcode: 0, data: null };
  }

  // --- what a bot was told ---

  // An event that came, before the bot sees it, as an object or JSON text. The event to use, or null:
  // nothing for the bot.
  incoming(account, event) {
    if (!this.#gate) return event;
    try {
      const judged = this.#gate.inbound(this.endpointOf(account), event);
      if (judged.verdict === 'drop') return null;
      return judged.verdict === 'replace' ? judged.event : event;
    } catch (error) {
      this.#log('warn', `an event could not be shown to Replygate: ${error.message}`);
      return event;
    }
  }

  // --- a model's answers ---

  // A model's raw answer on its whole way; gives the promise of its result. complete(request) asks that
  // model for the one correction (index.d.ts, Correction), where its form is wrong.
  submit(account, turn, text, complete) {
    const result = this.gate.submit({ ...turn, endpoint: this.endpointOf(account) }, text);
    if (complete && result.ticket) {
      const forget = () => this.#models.delete(result.ticket);
      this.#models.set(result.ticket, complete);
      result.then(forget, forget);
    }
    return result;
  }

  contract(account, turn) {
    return this.gate.contract({ ...turn, endpoint: this.endpointOf(account) });
  }

  // --- the plugin's own actions ---

  #send(endpoint, action) {
    const call = this.#botOf(endpoint);
    if (call) return this.#carry(call, action);
    if (!isQuestion(action.action)) return offline();
    const key = `${endpoint} ${action.action}`;
    this.#asked.get(key)?.resolve(null);
    return new Promise((resolve) => this.#asked.set(key, { endpoint, action, resolve }));
  }

  // The response; null where none came, so that it may have been sent all the same.
  async #carry(call, { action, params }) {
    try {
      return (await call(action, params ?? {})) ?? null;
    } catch (error) {
      if (error instanceof NotConnected) return isQuestion(action) ? null : offline(); // questions come again
      if (error instanceof Failed) return error.response;
      this.#log('debug', `${action}: no answer: ${error.name}`);
      return null;
    }
  }
}

module.exports = { Carrier, Failed, Held, NotConnected, isFailed, wordsOf };
