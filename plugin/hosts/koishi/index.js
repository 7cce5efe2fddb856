// Replygate for Koishi with koishi-plugin-adapter-onebot: what a bot sends goes through the gate, admin
// commands and numbers that answer a keyboard are taken out of what it receives. Plugins that ask a
// model have the service `replygate`.
'use strict';

const path = require('node:path');
const { Schema, Service, h } = require('koishi');
const { Carrier, Held, NotConnected, wordsOf } = require('./node/carrier.js');

const PLATFORM = 'onebot';
const LEVELS = { error: 'error', warn: 'warn', info: 'info', debug: 'debug' };

const isOurs = (bot) => bot?.platform === PLATFORM;

// The adapter's own connection, below Koishi's hooks: what goes this way is not judged again.
const callOf = (bot) => async (action, params) => {
  if (!bot.internal?._request) throw new NotConnected();
  return bot.internal._request(action, params);
};

const turnOf = (session) => ({
  kind: 'answer',
  message_id: session.messageId,
  sender_id: session.userId,
  ...(session.isDirect ? { user_id: session.userId } : { group_id: session.channelId }),
});

// Koishi hands out services through a Proxy, which private members (#) do not survive.
class Replygate extends Service {
  _carrier;
  _taken = new WeakSet(); // sessions that are nothing for the bot
  _joined = new WeakSet();

  constructor(ctx, config) {
    super(ctx, 'replygate', true);
    const logger = ctx.logger('replygate');
    this._carrier = Carrier.of(path.resolve(ctx.baseDir, config.config), {
      endpoints: config.endpoints,
      log: (level, line) => logger[LEVELS[level]](line),
    });
    // The last of the hooks: it judges what the others have made of a message.
    ctx.before('send', (session, options) => this._outgoing(session, options, logger), true);
    ctx.on('internal/session', (session) => this._incoming(session));
    ctx.middleware((session, next) => (this._taken.has(session) ? undefined : next()), true);
    ctx.on('bot-added', (bot) => this._meet(bot));
    ctx.on('bot-status-updated', (bot) => this._meet(bot));
    ctx.on('bot-removed', (bot) => isOurs(bot) && this._carrier.leave(bot.selfId));
    for (const bot of ctx.bots) this._meet(bot);
  }

  async start() {
    await this._carrier.start();
  }

  async stop() {
    await this._carrier.stop();
  }

  _meet(bot) {
    if (!isOurs(bot) || !bot.internal?._request || this._joined.has(bot)) return;
    this._joined.add(bot);
    this._carrier.join(bot.selfId, callOf(bot));
  }

  // --- out ---

  // True: Koishi sends nothing, it is sent already or held back. What is thrown stops it as well.
  async _outgoing(session, options, logger) {
    const { bot } = session;
    if (!isOurs(bot)) return;
    this._meet(bot);
    try {
      const actions = await this._rehearse(session, options);
      const answer = await this._carrier.outgoing(bot.selfId, actions, callOf(bot));
      if (answer === null) return;
      this._tell(session, answer);
    } catch (error) {
      if (!(error instanceof Held)) throw error;
      logger.warn(error.message);
    }
    return true;
  }

  // The actions that the adapter would make of the elements, by its own encoder on a connection that
  // keeps them.
  async _rehearse(session, options) {
    const { bot } = session;
    const actions = [];
    const internal = Object.create(bot.internal, {
      _request: {
        value: async (action, params) => {
          if (!/^[._]*(send|upload)/.test(action)) return callOf(bot)(action, params);
          actions.push({ action, params });
          return { status: 'ok', retcode: 0, data: { message_id: 0 } };
        },
      },
    });
    const silent = { emit() {} }; // nobody is told of a message that is not sent yet
    const stand = Object.create(bot, {
      internal: { value: internal },
      session: { value: (event) => Object.create(bot.session(event), { app: { value: silent } }) },
    });
    const encoder = new bot.constructor.MessageEncoder(stand, session.channelId, undefined, options);
    encoder.session = session;
    await encoder.render(session.elements);
    await encoder.flush();
    return actions;
  }

  // Tells plugins that listen for what was sent, as the adapter does.
  _tell({ bot, channelId, guildId, isDirect }, answer) {
    const sent = bot.session();
    sent.content = '';
    sent.messageId = String(answer.data?.message_id ?? '');
    Object.assign(sent, { userId: bot.selfId, channelId, guildId, isDirect });
    sent.app.emit(sent, 'send', sent);
  }

  // --- in: before middlewares and listeners have a session ---

  _incoming(session) {
    const raw = session.event?._type === PLATFORM ? session.event._data : null;
    if (!isOurs(session.bot) || !raw?.post_type) return;
    this._meet(session.bot);
    const used = this._carrier.incoming(session.selfId, raw);
    if (used === raw) return;
    if (used === null) {
      this._taken.add(session);
      session.type = 'internal'; // for listeners, who have no middleware before them
      return;
    }
    const words = h.text(wordsOf(used));
    // it answers the bot, with or without a mention
    session.elements = session.isDirect ? [words] : [h.at(session.selfId), h.text(' '), words];
  }

  // --- for plugins that ask a model ---

  // What the model is to be given for an answer to this session: {schema, instruction}.
  contract(session) {
    return this._carrier.contract(session.selfId, turnOf(session));
  }

  // A model's raw answer on its whole way: judged, corrected, paced, delivered. Gives the result.
  // complete(request): the same model's text, asked once more where only the form was wrong.
  reply(session, text, complete) {
    return this._carrier.submit(session.selfId, turnOf(session), text, complete);
  }
}

Replygate.Config = Schema.object({
  config: Schema.string().default('replygate.yaml')
    .description('配置文件。The configuration, from Koishi\'s folder.'),
  endpoints: Schema.dict(String).default({})
    .description('多个账号时：QQ 号 → endpoints 里的名字。With several bots: QQ number → endpoint.'),
});

module.exports = Replygate;
