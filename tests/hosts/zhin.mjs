// What the shim uses of zhin (zhin.js 6.0.12, its onebot11 adapter 6.0.14), written down from their
// source (packages/im/middleware, packages/im/core im-runtime, plugins/adapters/onebot11): not zhin itself.

// The packages that the shim imports, as files of an application.
export const PACKAGES = {
  'package.json': JSON.stringify({ name: 'bot', type: 'module', zhin: { protocol: 1, type: 'plugin', entry: './plugin.ts', plugins: [] } }),
  'node_modules/zhin.js/package.json': JSON.stringify({ name: 'zhin.js', type: 'module', exports: { '.': './index.js', './middleware': './middleware.js', './core/runtime': './runtime.js' } }),
  'node_modules/zhin.js/index.js': `export const definePlugin = (definition) => {
    if (!/^[a-z][a-z0-9-]*$/.test(definition.name)) throw new TypeError('name');
    return Object.freeze(definition);
  };`,
  'node_modules/zhin.js/middleware.js': `export const defineMiddleware = (d) => {
    if (typeof d.handle !== 'function' || !Number.isSafeInteger(d.order)) throw new TypeError('middleware');
    return Object.freeze({ ...d, $feature: 'zhin.middleware/1' });
  };`,
  'node_modules/zhin.js/runtime.js': "export const messageGatewayToken = { id: 'zhin.im.message-gateway' };",
  'node_modules/@zhin.js/adapter-onebot11/package.json': JSON.stringify({ name: '@zhin.js/adapter-onebot11', type: 'module', exports: './index.js' }),
  'node_modules/@zhin.js/adapter-onebot11/index.js': `
    export const endpoints = new Map();
    export const getOnebot11AgentDeps = () => ({
      getEndpoint(id) {
        if (!endpoints.has(id)) throw new Error('Endpoint ' + id + ' 不存在');
        return endpoints.get(id);
      },
    });
    export const formatOutboundSegments = (payload) => (Array.isArray(payload) ? payload : [payload]).map((p) => {
      if (typeof p === 'string') return { type: 'text', data: { text: p } };
      return p.type === 'mention' ? { type: 'at', data: { qq: String(p.data.target) } } : p;
    });
    export const buildSendAction = (conversation, message) => (conversation.kind === 'group'
      ? { action: 'send_group_msg', params: { group_id: Number(conversation.id), message } }
      : { action: 'send_private_msg', params: { user_id: Number(conversation.id), message } });`,
};

// An endpoint of the adapter: what goes over the wire, and answers by action.
export class Endpoint {
  wire = [];
  answers = {};
  open = true;
  #ids = 1000;
  async callApi(action, params = {}) {
    if (!this.open) throw new Error('WebSocket 未连接');
    this.wire.push({ action, params: JSON.parse(JSON.stringify(params)), at: performance.now() });
    await new Promise((resolve) => setImmediate(resolve));
    const answer = this.answers[action];
    if (answer instanceof Error) throw answer;
    return answer ?? (action.startsWith('send') ? { message_id: this.#ids++ } : null);
  }
}

// One generation: setup, then messages both ways through its middlewares.
export class Runtime {
  middlewares = [];
  heard = [];
  static async start(definition, config) {
    const r = new Runtime();
    r.dispose = await definition.setup({
      config: { get: () => Object.freeze(config) },
      addMiddleware: (name, m) => r.middlewares.push(m),
    });
    return r;
  }
  async #run(target, input, terminal) {
    const chain = this.middlewares.filter((m) => m.target === target).sort((a, b) => a.order - b.order);
    const use = () => ({ receive: (again) => this.receive(again) });
    const dispatch = async (i) => (chain[i] ? chain[i].handle(Object.freeze({ input, use }), () => dispatch(i + 1)) : terminal());
    await dispatch(0);
  }
  async receive(input) {
    const message = Object.freeze({ ...input, metadata: Object.freeze({ ...input.metadata }), id: input.message?.id });
    await this.#run('inbound', message, async () => { this.heard.push(message); });
  }
  // A receipt as zhin gives it.
  async send(endpoint, conversation, payload) {
    let receipt = { status: 'suppressed' };
    const envelope = { conversation, payload, replace(next) { envelope.payload = next; } };
    try {
      await this.#run('outbound', envelope, async () => {
        const kind = conversation.kind === 'group' ? ['send_group_msg', 'group_id'] : ['send_private_msg', 'user_id'];
        const message = typeof envelope.payload === 'string' ? [{ type: 'text', data: { text: envelope.payload } }] : envelope.payload;
        receipt = { status: 'sent', id: (await endpoint.callApi(kind[0], { [kind[1]]: Number(conversation.id), message })).message_id };
      });
    } catch (error) {
      return { status: 'failed', error };
    }
    return receipt;
  }
}
