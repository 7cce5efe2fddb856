// Replygate in a Node process. CommonJS; `import { open } from '.../index.js'` works from an ES module.
//
//   const gate = await open('/path/to/replygate.yaml', { log: (level, line) => console.error(level, line) });
//   const result = await gate.submit({ group_id: 123456789, message_id: 42, sender_id: 10002 }, answer);
//   await gate.close();
//
// Life of the process: an open gate does not keep the process alive, it is a guest in its host; a
// reply that was submitted does until its result is there, and so do open, reload and close while
// they run. `ref()` makes the gate itself keep it alive, as a server would.
// Threads: everything is called on the thread (main or worker) that opened the gate; each worker
// opens its own. A worker or process that ends closes its gates by itself.

/** A QQ number, message id or group number: decimal digits, or a number that is exact in JavaScript. */
export type Id = string | number | bigint;

/** Anything that is plain JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The words of `log`. */
export type Level = 'error' | 'warn' | 'info' | 'debug';

/** Who gets a reply and what it answers. Exactly one of `group_id` and `user_id`. */
export interface Turn {
  /** Default `answer`: answers `message_id`, a reaction on it is offered. `proactive` answers nothing.
   * `notice` is the host's own words: plain text, not judged as a reply. */
  kind?: 'answer' | 'proactive' | 'notice';
  /** A name under `endpoints:` of the configuration; left out or empty: the only one there is. */
  endpoint?: string;
  group_id?: Id;
  user_id?: Id;
  /** The message being answered. May be negative. */
  message_id?: Id;
  /** Who wrote it. */
  sender_id?: Id;
  /** A JSON Schema of your own that the answer has to fit, as an object or as text. */
  schema?: object | string;
}

/** A OneBot action as it goes over the wire. */
export interface Action {
  action: string;
  params?: { [key: string]: any };
  /** Never looked at. */
  echo?: any;
}

/** What `outbound` puts in an action's place: to be sent in this order, each after its pause. */
export interface PacedAction {
  action: string;
  params: { [key: string]: any };
  /** Milliseconds to wait before this one. */
  wait_ms: number;
}

/** A OneBot 11 event as it came, e.g. `{post_type: 'message', message_type: 'group', ...}`. */
export interface Event {
  [key: string]: any;
}

/** What the endpoint answered to an action: `{status, retcode, data}` as OneBot 11 has it. */
export interface Response {
  status?: string;
  retcode?: number;
  data?: any;
  [key: string]: any;
}

/** The one format-only correction: the model is asked once more, without history or tools. */
export interface Correction {
  /** What to do, for the model. */
  instruction: string;
  /** The JSON Schema of a reply, as an object; hand it to the provider where it takes one. */
  schema: object;
  /** The model's raw answer that is to be put right. */
  answer: string;
  /** What was wrong, where (a path into the answer) and in words. */
  code: string;
  path: string;
  why: string;
}

/** How a submitted reply ended. */
export interface Result {
  result: 'delivered' | 'nothing' | 'partial_delivery' | 'failed' | 'blocked' | 'cancelled';
  reason: string | null;
  /** `null` for what is not judged. */
  verdict: 'accept' | 'repair' | 'correct' | 'block' | null;
  code: string | null;
  path: string | null;
  why: string | null;
  repairs: any[];
  corrected: boolean;
  /** The validated reply, `null` where there is none. */
  reply: any;
  /** Its readable text. */
  preview: string;
  sent: { action: string; message_id: string }[];
  unsent: { action: string; outcome: string; reason: string }[];
  /** Media that went as a notice in their place. */
  media: { message: number; segment: number; reason: string }[];
  /** The failure notice that was sent in the place of the reply. */
  notice: { message_id: string } | null;
  /** Where a schema was asked for (`Turn.schema`, `output: schema`): the JSON text that fits it. */
  document: string | null;
  /** A reply of an earlier process that died in the middle; only `onResult` is told of it. */
  recovered?: boolean;
  [key: string]: any;
}

/** What `check` says: as above, nothing is sent. */
export interface Report {
  verdict: 'accept' | 'repair' | 'correct' | 'block';
  code: string | null;
  path: string | null;
  /** Byte offset of the fault. */
  at: number | null;
  why: string | null;
  repairs: any[];
  reply: any;
  preview: string;
  document: string | null;
  [key: string]: any;
}

/** What the host gives. Each may be absent. They are called later on the thread that opened the gate,
 * never from inside a call of it. What they throw or reject with is logged and goes no further. */
export interface Host {
  /** One line without message text or tokens. Absent: nothing is logged, but what `log.file` gets. */
  log?(level: Level, line: string): void;
  /** Asks the host's own model for the one format correction. Gives the model's raw text, or a promise
   * of it; empty, undefined, an exception or more than 30 s: it failed, the reply is refused. */
  complete?(request: Correction, ticket: number): string | undefined | null | Promise<string | undefined | null>;
  /** An event of an endpoint that the gate itself is connected to (not of `connect: host`), without
   * admin commands; numbers that answer a keyboard are replaced. `text` is the event byte for byte. */
  onEvent?(endpoint: string, event: Event, text: string): void;
  /** How a submitted reply ended, once a ticket; the promise of `submit` says the same. Replies of an
   * earlier process that died come too, with `recovered`. */
  onResult?(ticket: number, result: Result): void;
  /** For endpoints with `connect: host`: the host's own connection carries this action. Gives the
   * endpoint's response or a promise of it, which is handed to `response` by itself; an exception
   * counts as no response, so that the send is unknown. Gives undefined: you call `response`. */
  send?(endpoint: string, action: Action, ticket: number, text: string): Response | undefined | void | Promise<Response | undefined | void>;
}

/** `pass`: send it as it is. `replace`: send `actions` in its place (see `perform`). `drop`: send nothing. */
export type OutboundVerdict =
  | { verdict: 'pass' }
  | { verdict: 'replace'; actions: PacedAction[] }
  | { verdict: 'drop'; retcode: number; code: string; path: string; why: string };

/** `pass`: use the event as it is. `replace`: use `event` in its place (a number that answered a
 * keyboard). `drop`: an admin command that is done already; nothing for the bot. */
export type InboundVerdict =
  | { verdict: 'pass' }
  | { verdict: 'replace'; event: Event; text: string }
  | { verdict: 'drop' };

export interface Stats {
  version: string;
  submitted: number;
  waiting: number;
  delivered: number;
  nothing: number;
  partial_delivery: number;
  failed: number;
  blocked: number;
  cancelled: number;
  events: number;
  conversations: number;
  endpoints: { name: string; state: 'down' | 'open' | 'ready' | 'offline' | 'refused'; profile: string; version: string; self_id: string }[];
  [key: string]: any;
}

/** The promise of a result, with the ticket that `cancel` takes (0 where the reply was not taken). */
export interface Submission extends Promise<Result> {
  readonly ticket: number;
}

export type ErrorCode =
  /** A wrong argument: `path` names it, e.g. `turn.group_id`. */
  | 'EARGUMENT'
  /** The configuration has faults: the message lists them, a line each; `path` is the first one's
   * `file:line:column`. */
  | 'ECONFIG'
  | 'ENOMEM'
  /** Too much is waiting (1,024 replies of a gate, 32 of a chat): submit later. */
  | 'EBUSY'
  /** This build has no such function yet. */
  | 'ENOTYET'
  /** A thread or file could not be had, or another gate has the store: the message says which. */
  | 'ESYSTEM'
  /** A text above 64 MiB. */
  | 'ETOOBIG'
  /** The gate is closed. */
  | 'ECLOSED'
  /** There is no replygate*.so beside index.js, or it cannot be loaded; `path` is its folder or name. */
  | 'ELIBRARY';

/** Everything that is thrown or rejected with. */
export class GateError extends Error {
  readonly name: 'GateError';
  readonly code: ErrorCode;
  /** What it is about: an argument, a file, a place in one. Empty where there is nothing to name. */
  readonly path: string;
}

/** One instance. All of it throws `GateError`; what gives a promise rejects with it. */
export interface Gate {
  /** A model's raw answer: judged, corrected at most once, planned, delivered. Never rejects for what
   * is wrong with the answer: that is a result. Rejects with EBUSY, EARGUMENT and the like. */
  submit(turn: Turn, text: string): Submission;
  /** What is unsent of that reply is not sent; its result says what was. One that has ended: nothing. */
  cancel(ticket: number): void;
  /** Judges an action that the host is about to send itself, as an object or as JSON text. CPU only.
   * Works for every endpoint; endpoint '' is the only one. Send what comes back without asking again. */
  outbound(endpoint: string, action: Action | string): OutboundVerdict;
  /** Shows an event that the host's own connection got (`connect: host`), as an object or as JSON text
   * (which keeps numbers beyond 2^53 whole). Call it for every event before the bot sees it. */
  inbound(endpoint: string, event: Event | string): InboundVerdict;
  /** The answer to an action that went out through `send`, as an object or as JSON text; null: none
   * came. Not needed where `send` gives the answer. */
  response(endpoint: string, ticket: number, answer: Response | string | null): void;
  /** What the host's own model is to be given for this turn. Where words are asked for (`output:
   * text`) the schema is null and the instruction maybe empty. */
  contract(turn: Turn): { schema: any; instruction: string };
  /** Judges only, nothing is sent. */
  check(turn: Turn, text: string): Report;
  /** Reads the configuration file again. Rejects with ECONFIG where it has faults: then nothing has
   * changed. */
  reload(): Promise<void>;
  stats(): Stats;
  /** Ends every submitted reply as cancelled (their promises settle first), disconnects, joins. A
   * second call gives the same promise. */
  close(): Promise<void>;
  /** The gate keeps the process alive from now on; `unref` takes it back. Both give the gate. */
  ref(): this;
  unref(): this;
}

/** Starts an instance with the configuration file at that path (relative: to the working folder). */
export function open(config: string, host?: Host): Promise<Gate>;

/** Sends what `outbound` gave for `replace`: in order, each after its pause, `send` awaited. Gives what
 * the sends gave. Stops at the first that throws, or whose `status` is `failed`, and then rejects
 * with that exception or gives the responses so far, the failed one last. */
export function perform<T>(actions: PacedAction[], send: (action: string, params: { [key: string]: any }) => T | Promise<T>): Promise<T[]>;

/** The version of the loaded library, e.g. `0.1.0`. Loads it. */
export function version(): string;

/** The file that is (or would be) loaded: the environment's REPLYGATE_SO, or the highest version of
 * `replygate.so`, `replygate-VERSION.so` beside index.js. An upgrade is a new file name and a restart. */
export function library(): string;
