// The account is logged out for a while: what is to be said waits for it, and the operator reads of it
// once it is back.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GROUP, MEMBER, OWNER, Run, SELF, Sandbox, root, text, until } from '../lib/sandbox.mjs';

describe('an account that goes offline', () => {
  let s, run;
  before(async () => {
    s = await Sandbox.start();
    run = await Run.start({
      script: `${root}plugin/demo/script.jsonl`,
      config: `notify: [${OWNER}]\nendpoints:\n  main: {connect: "${s.link}", access_token: ${s.access_token}, offline_wait: 20}\ngroups:\n  default:\n    pace: {min: 0, max: 0}\n`,
    });
    await until('the connection', () => /main: ready/.test(run.log));
  });
  after(async () => { await run.stop(); await s.stop(); });

  const shown = async (chat) => (await s.order({ do: 'shown', ...chat })).messages.filter((m) => m.sender === SELF);

  test('what waits is said once, the operator is told once', async () => {
    await s.order({ do: 'set', offline: true, heartbeat_ms: 100 });
    await until('the log', () => /the account is offline/.test(run.log));
    await s.order({ do: 'say', as: MEMBER, group: GROUP, segments: [{ type: 'at', data: { qq: String(SELF) } }, ...text(' 你好')] });
    await new Promise((r) => setTimeout(r, 500));
    assert.deepEqual(await shown({ group: GROUP }), []);
    await s.order({ do: 'set', offline: false });
    await until('the answer', async () => (await shown({ group: GROUP })).length > 0);
    const lines = await until('both lines', async () => { const l = await shown({ user: OWNER }); return l.length === 2 && l; });
    assert.match(lines[0].segments[0].data.text, /^\[\d\d-\d\d \d\d:\d\d\] Replygate main：QQ 账号掉线了/);
    assert.match(lines[1].segments[0].data.text, /恢复正常/);
    for (const offline of [true, false, true, false]) await s.order({ do: 'set', offline }).then(() => new Promise((r) => setTimeout(r, 250)));
    assert.equal((await shown({ user: OWNER })).length, 2, 'once an hour');
  });
});
