// Replygate for zhin with its onebot11 adapter: what a bot sends goes through the gate, admin commands
// and numbers that answer a keyboard are taken out of what it receives.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { buildSendAction, formatOutboundSegments, getOnebot11AgentDeps } from '@zhin.js/adapter-onebot11';
import { messageGatewayToken } from 'zhin.js/core/runtime';
import { definePlugin } from 'zhin.js';
import { defineMiddleware } from 'zhin.js/middleware';

const { Carrier, NotConnected, wordsOf } = createRequire(import.meta.url)('./node/carrier.js');

const ADAPTER = 'onebot11';

// A capability id is owner, feature and local name, with ~ and the endpoint's own id behind it. Gives
// that id; null for other adapters.
const endpointIn = (conversation) => {
  const [name, id] = String(conversation.endpoint.id.split('\0')[2]).split('~');
  return name === ADAPTER ? id ?? ADAPTER : null;
};

// The endpoint's connection, below zhin's middlewares: what goes this way is not judged again. It gives
// the data of an answer and rejects with its retcode.
const callOf = (id) => async (action, params) => {
  try {
    return { status: 'ok', retcode: 0, data: await getOnebot11AgentDeps().getEndpoint(id).callApi(action, params) };
  } catch (error) {
    const refused = /retcode=(-?\d+)/.exec(error.message);
    if (refused) return { status: 'failed', retcode: Number(refused[1]), data: null, message: error.message };
    if (/未连接|不存在/.test(error.message)) throw new NotConnected();
    throw error;
  }
};

// The event that a message was, as far as zhin keeps it: words, mention and quote, no pictures. The role
// is the sender's in the group, not what zhin made of it.
const eventOf = (message) => {
  const { metadata = {}, conversation } = message;
  const group = conversation.kind === 'group';
  const segments = [];
  if (message.replyTo) segments.push({ type: 'reply', data: { id: String(message.replyTo.id) } });
  if (message.mentioned) segments.push({ type: 'at', data: { qq: String(metadata.self_id) } });
  segments.push({ type: 'text', data: { text: message.content } });
  return {
    time: metadata.time ?? Math.floor(Date.now() / 1000),
    self_id: metadata.self_id,
    post_type: 'message',
    message_type: group ? 'group' : 'private',
    sub_type: group ? 'normal' : 'friend',
    message_id: message.id,
    user_id: message.sender?.id,
    ...(group ? { group_id: conversation.id } : {}),
    message: segments,
    raw_message: message.content,
    sender: { user_id: message.sender?.id, role: metadata.role },
  };
};

export default definePlugin({
  name: 'replygate',
  metadata: { displayName: 'Replygate' },

  // A new generation is set up before the old one ends, so that each has a gate of its own.
  async setup(context) {
    const config = context.config.get();
    const SHOWN = Symbol('replygate'); // on a message that was put in the place of another
    const carrier = Carrier.of(resolve(config.config), {
      endpoints: config.endpoints,
      log: (level, line) => console[level === 'debug' ? 'debug' : level](`[replygate] ${line}`),
    });
    const joined = new Set();
    const join = (id) => {
      if (!joined.has(id)) carrier.join(id, callOf(id));
      joined.add(id);
    };
    // Which endpoint a conversation is at; one that is not listed takes part once it is seen.
    const accountOf = (conversation) => {
      const id = endpointIn(conversation);
      if (id !== null) join(id);
      return id;
    };
    await carrier.start();
    for (const id of [...Object.keys(config.endpoints), config.id]) if (id) join(id);

    context.addMiddleware('replygate-outbound', defineMiddleware({
      target: 'outbound',
      phase: 'before-dispatch',
      order: Number.MAX_SAFE_INTEGER, // the last: it judges what the others have made of a message
      // Without next() nothing is sent; a throw stops it as well.
      async handle({ input }, next) {
        const account = accountOf(input.conversation);
        if (account === null) return next();
        const action = buildSendAction(input.conversation, formatOutboundSegments(input.payload));
        if (await carrier.outgoing(account, [action], callOf(account)) === null) await next();
      },
    }));

    context.addMiddleware('replygate-inbound', defineMiddleware({
      target: 'inbound',
      phase: 'before-dispatch',
      order: Number.MIN_SAFE_INTEGER,
      async handle({ input: message, use }, next) {
        const account = accountOf(message.conversation);
        if (account === null || message.metadata?.[SHOWN]) return next();
        const event = eventOf(message);
        const used = carrier.incoming(account, event);
        if (used === event) return next();
        if (used === null) return;
        // messages are read-only: another goes in, and this one no further
        const { conversation, sender, endpointId, replyTo } = message;
        await use(messageGatewayToken).receive({
          conversation,
          message: message.message,
          content: wordsOf(used),
          sender,
          endpointId,
          mentioned: true,
          replyTo,
          metadata: { ...message.metadata, [SHOWN]: true },
        });
      },
    }));

    return () => carrier.stop();
  },
});
