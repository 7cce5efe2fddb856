// The same bot directly and through the gate: for ordinary messages nothing is different, neither
// what it gets nor what the group sees.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Gate, koishi } from '../lib/gate.mjs';
import { GROUP, MEMBER, SELF, Sandbox, until } from '../lib/sandbox.mjs';

const PICTURE = 'base64://iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

// What a Koishi bot does in a day: elements, raw actions, questions, mistakes.
const deeds = [
  ['words', (b) => b.sendMessage(String(GROUP), '你好，{ "a": 1 } 和 [1, 2]')],
  ['a mention and a picture', (b) => b.sendMessage(String(GROUP), `<at id="${MEMBER}"/> 看 <img src="${PICTURE.replace('base64://', 'data:image/png;base64,')}"/>`)],
  ['everyone', (b) => b.sendMessage(String(GROUP), '<at type="all"/> 注意')],
  ['lines and code', (b) => b.sendMessage(String(GROUP), '第一行\n第二行 `x = {"messages": 1}` https://example.com/?a=1&b=2')],
  ['an example of another API', (b) => b.sendMessage(String(GROUP), '请求体：{"model":"x","messages":[{"role":"user","content":"hi"}]} 就行')],
  ['in private', (b) => b.sendPrivateMessage(String(MEMBER), '私聊')],
  ['a CQ string', (b) => b.internal.sendGroupMsg(GROUP, '[CQ:face,id=14]你好&#91;')],
  ['a quote', async (b, s) => b.internal.sendGroupMsg(GROUP, [{ type: 'reply', data: { id: String((await s.say('问')).message_id) } }, { type: 'text', data: { text: '答' } }])],
  ['a group that is not there', (b) => b.internal.sendGroupMsg(5, '谁')],
  ['nobody', (b) => b.internal.sendPrivateMsg(99999999, '谁')],
  ['while it is muted', async (b, s) => { await s.fault('muted'); return b.internal.sendGroupMsg(GROUP, '嘘'); }],
  ['an unknown action', (b) => b.internal._request('get_nothing', {})],
  ['members', (b) => b.getGuildMemberList(String(GROUP))],
  ['the group', (b) => b.internal.getGroupInfo(GROUP)],
  ['a card', (b) => b.internal.setGroupCard(GROUP, MEMBER, '新名片')],
  ['taking back', async (b) => { const [id] = await b.sendMessage(String(GROUP), '说错了'); return b.deleteMessage(String(GROUP), id); }],
];

// Does them all; what came of each, with ids that tell nothing but what they belong to.
const live = async (bot, sandbox) => {
  const seen = new Map();
  const named = (value) => JSON.parse(JSON.stringify(value ?? null, (key, v) => {
    if (/^(message_id|messageId|message_seq|real_id|real_seq|time|seq|echo)$/.test(key)) return undefined;
    return typeof v === 'string' || typeof v === 'number' ? seen.get(String(v)) ?? v : v;
  }));
  const record = [];
  for (const [name, deed] of deeds) {
    let result;
    try { result = await deed(bot, sandbox); } catch (error) { result = { error: error.message }; }
    const messages = await sandbox.messages();
    for (const m of messages) if (!seen.has(m.message_id)) seen.set(m.message_id, `message ${seen.size}`);
    record.push({ name, result: named(result), shown: named(messages.at(-1)?.segments), recalled: messages.filter((m) => m.recalled).length });
  }
  return record;
};

for (const profile of ['napcat', 'lagrange', 'go-cqhttp']) {
  describe(`a Koishi bot on ${profile}, directly and through the gate`, () => {
    let direct, gate, contexts;
    before(async () => {
      direct = await Sandbox.start({ profile });
      gate = await Gate.start({ profile, groups: '    mention_all: true\n' });
      await gate.ready();
      const ends = [{ endpoint: `ws://127.0.0.1:${direct.port}`, token: direct.access_token }, { endpoint: `ws://127.0.0.1:${gate.port}`, token: 'front' }];
      contexts = await Promise.all(ends.map((end) => koishi({ protocol: 'ws', ...end }, (session, next) => (session.content?.includes('回声') ? session.send(`收到：${session.content}`) : next()))));
      for (const c of contexts) await until('Koishi online', () => c.bots[0]?.status === 1, 40000);
    });
    after(async () => {
      for (const c of contexts ?? []) await c.stop();
      await gate?.stop();
      await direct?.stop();
    });

    test('every deed has the same end', async () => {
      const [plain, through] = await Promise.all([live(contexts[0].bots[0], direct), live(contexts[1].bots[0], gate.sandbox)]);
      for (let i = 0; i < deeds.length; i++) assert.deepEqual(through[i], plain[i], deeds[i][0]);
    });

    test('an answer to what was said arrives likewise', async () => {
      for (const s of [direct, gate.sandbox]) {
        await s.say('回声');
        const own = await until('the answer', async () => (await s.messages()).findLast((m) => m.sender === SELF && /收到/.test(JSON.stringify(m.segments))));
        assert.deepEqual(own.segments, [{ type: 'text', data: { text: '收到：回声' } }]);
      }
    });
  });
}
