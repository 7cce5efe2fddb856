// Two accounts in one process, one that we dial and one that dials us, talk at once; one of them is
// cut and comes back, the other does not notice.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SELF, Run, Sandbox, Socket, root, until } from '../lib/sandbox.mjs';

const PORT = 39218;
const words = [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: '你好' } }];
const config = (forward) => `
endpoints:
  forward: {connect: "${forward.link}", access_token: secret}
  reverse: {listen: 127.0.0.1:${PORT}/onebot/v11/ws, access_token: back}
groups:
  default: {pace: {min: 0, max: 0}, rate: {per_minute: 6000}}
`;

describe('two accounts at once', () => {
  let forward, reverse, run;
  before(async () => {
    forward = await Sandbox.start({ profile: 'napcat' });
    reverse = await Sandbox.start({ profile: 'go-cqhttp' });
    run = await Run.start({ config: config(forward), script: `${root}plugin/demo/script.jsonl` });
    await reverse.order({ do: 'dial', url: `ws://127.0.0.1:${PORT}/onebot/v11/ws`, token: 'back' });
    await until('both endpoints', () => /forward: ready/.test(run.log) && /reverse: ready/.test(run.log));
  });
  after(async () => {
    assert.equal(await run.stop(), 0);
    await forward.stop();
    await reverse.stop();
  });

  const answers = async (sandbox) => (await sandbox.messages()).filter((m) => m.sender === SELF).length;
  const talk = async (sandbox, n) => { for (let i = 0; i < n; i++) await sandbox.say(undefined, { segments: words }); };

  test('each is answered where it asked, and only there', async () => {
    await Promise.all([talk(forward, 20), talk(reverse, 10)]);
    await until('all answers', async () => (await answers(forward)) === 20 && (await answers(reverse)) === 10);
  });

  test('one is cut and comes back, the other goes on', async () => {
    await forward.order({ do: 'link', end: 'drop' });
    await talk(reverse, 10);
    await until('the answers of the one that stayed', async () => (await answers(reverse)) === 20);
    await until('the other again', () => (run.log.match(/forward: ready/g) ?? []).length >= 2, 15000);
    await talk(forward, 5);
    await until('its answers', async () => (await answers(forward)) === 25);
    await reverse.order({ do: 'link', end: 'drop' });
    await until('the reverse one again', () => (run.log.match(/reverse: ready/g) ?? []).length >= 2, 15000);
    await talk(reverse, 5);
    await until('its answers', async () => (await answers(reverse)) === 25);
  });

  test('a wrong token is refused before the upgrade', async () => {
    for (const [token, status] of [['wrong', 403], [null, 401]]) {
      const headers = { 'X-Self-ID': '10001', ...(token && { Authorization: `Bearer ${token}` }) };
      const socket = await new Socket(`ws://127.0.0.1:${PORT}/onebot/v11/ws`, { headers }).open();
      assert.equal(socket.refused, status);
    }
  });
});
