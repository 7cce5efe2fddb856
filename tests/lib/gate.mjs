// gate: a sandbox with the gate in front of it, and Koishi as a bot framework that connects there.
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { SELF, Bot, Run, Sandbox, until } from './sandbox.mjs';

const require = createRequire(import.meta.url);
const { Context, Logger } = require('koishi');
const plugin = (name) => { const m = require(name); return m.default ?? m; };
Logger.levels = { base: 0 };

// A port that somebody else is to listen at in a moment: not one that the kernel picks, which by then
// it could have given to a connection. Each process begins elsewhere.
let taken = 0;
export const freePort = () => new Promise((resolve) => {
  const attempt = () => {
    const port = 10000 + ((process.pid * 32 + taken++) % 20000);
    const server = createServer().once('error', attempt).listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  };
  attempt();
});

export class Gate {
  static async start({ relay = '', token = 'front', profile = 'napcat', upstream, groups = '', endpoints, port = 0 } = {}) {
    const g = new Gate();
    g.sandbox = await Sandbox.start({ profile, port });
    g.port = await freePort();
    g.config = `language: zh
endpoints:
  main:
    connect: ws://127.0.0.1:${g.sandbox.port}/
    access_token: ${upstream ?? g.sandbox.access_token}
${endpoints ?? ''}relay:
  listen: 127.0.0.1:${g.port}
  access_token: ${token}
${relay}groups:
  default:
    pace: {min: 0.3, max: 0.3, per_char: 0}
${groups}`;
    g.run = await Run.start({ config: g.config });
    return g;
  }
  async stop() {
    await this.run.stop();
    await this.sandbox.stop();
  }
  bot(path = '', { token = 'front', headers = {} } = {}) {
    return new Bot(`ws://127.0.0.1:${this.port}/${path}`, { headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers } }).open();
  }
  // Until the gate knows its account, so that who comes now is greeted at once.
  async ready() {
    await until('the endpoint', () => /ready/.test(this.run.log));
  }
}

export const koishi = async (config, answerer) => {
  const context = new Context({ delay: { message: 0, broadcast: 0, character: 0, cancel: 0 }, port: config.serverPort });
  context.plugin(plugin('@koishijs/plugin-http'));
  if (config.serverPort) context.plugin(plugin('@koishijs/plugin-server'), { port: config.serverPort, host: '127.0.0.1' });
  const { serverPort, ...adapter } = config;
  context.plugin(plugin('koishi-plugin-adapter-onebot'), { selfId: String(SELF), responseTimeout: 10000, ...adapter });
  context.middleware(answerer);
  await context.start();
  return context;
};
