// Replygate for TRSS-Yunzai with its OneBotv11 adapter: everything that a bot sends goes through the
// gate, admin commands and numbers that answer a keyboard are taken out of what it receives.
// Bot and plugin are Yunzai's globals.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { Carrier, Failed, NotConnected, wordsOf } = createRequire(import.meta.url)('./node/carrier.js');

const ADAPTER = 'OneBotv11';
const OPEN = 1; // WebSocket.OPEN
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// settings.json: {"config": "path of the YAML", "endpoints": {"10001": "main"}}; both may be left out.
const settings = existsSync(here('settings.json')) ? JSON.parse(readFileSync(here('settings.json'), 'utf8')) : {};
const carrier = Carrier.of(settings.config ?? here('../../replygate.yaml'), {
  endpoints: settings.endpoints,
  log: (level, line) => Bot.makeLog(level, line, 'Replygate'),
});
await carrier.start();

// --- out: sendApi carries every action of a bot, also those of other plugins ---

const guarded = new WeakSet();

// The answer as the endpoint gave it. Yunzai gives its data with the rest behind it, and throws where
// it is an error.
const responseOf = (raw) => async (action, params) => {
  try {
    const answer = await raw(action, params);
    return { status: 'ok', retcode: 0, data: answer?.data ?? null };
  } catch (error) {
    if (error.error?.retcode !== undefined) return { ...error.error, status: 'failed' };
    throw error;
  }
};

const guard = (bot, account) => {
  if (bot?.adapter?.name !== ADAPTER || guarded.has(bot)) return;
  guarded.add(bot); // a bot that connects again is a new object
  const raw = bot.sendApi;
  const answered = responseOf(raw);
  const call = async (action, params) => {
    if (bot.ws && bot.ws.readyState !== OPEN) throw new NotConnected();
    return answered(action, params);
  };
  // A throw is what stops it: Yunzai logs it as a message that could not be sent.
  bot.sendApi = async (action, params = {}) => {
    try {
      const answer = await carrier.outgoing(account, [{ action, params }], call);
      return answer === null ? await raw(action, params) : { ...answer, ...answer.data };
    } catch (error) {
      throw error instanceof Failed ? Bot.makeError(error.message, { error: error.response }) : error;
    }
  };
  carrier.join(account, call);
};

Bot.on('connect', ({ bot, self_id }) => guard(bot, self_id));

// --- in: a message is looked at before Yunzai's loader sees it ---

const taken = new WeakSet();

const show = (e) => {
  if (e.bot?.adapter?.name !== ADAPTER || !e.raw) return;
  guard(e.bot, e.self_id); // messages come before `connect` is told
  const used = carrier.incoming(e.self_id, e.raw);
  if (used === e.raw) return;
  if (used === null) {
    taken.add(e);
    e.message = [];
    e.raw_message = '';
    return;
  }
  e.raw_message = wordsOf(used);
  e.message = [{ type: 'at', qq: e.self_id }, { type: 'text', text: e.raw_message }]; // it answers the bot
};

Bot.on('message.group', show);
Bot.on('message.private', show);
Bot.on('notice', (e) => {
  if (e.bot?.adapter?.name === ADAPTER && e.raw) carrier.incoming(e.self_id, e.raw);
});

export class replygate extends plugin {
  constructor() {
    super({
      name: 'Replygate',
      dsc: '发送前的最后一道关',
      event: 'message',
      priority: Number.NEGATIVE_INFINITY, // before every other
      rule: [],
    });
  }

  accept(e) {
    return taken.has(e) ? 'return' : undefined;
  }
}

// --- for plugins that ask a model ---

const turnOf = (e) => ({
  kind: 'answer',
  message_id: e.message_id,
  sender_id: e.user_id,
  ...(e.group_id ? { group_id: e.group_id } : { user_id: e.user_id }),
});

// What the model is to be given for an answer to this event: {schema, instruction}.
export const contract = (e) => carrier.contract(e.self_id, turnOf(e));
// A model's raw answer on its whole way; a promise of the result (replygate/node/index.d.ts).
// complete(request): the same model's text, asked once more where only the form was wrong.
export const reply = (e, text, complete) => carrier.submit(e.self_id, turnOf(e), text, complete);
