// AlemonJS with its OneBot platform, unchanged, in front of the gate: an AI bot that says what its model
// wrote, and an echo.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Gate } from '../lib/gate.mjs';
import { MEMBER, SELF, root, until } from '../lib/sandbox.mjs';

const reply = {
  messages: [
    { segments: [{ type: 'mention', data: { target: String(MEMBER) } }, { type: 'text', data: { text: ' 听这首' } }] },
    { segments: [{ type: 'share', data: { platform: 'netease', url: 'https://music.163.com/song?id=186016', title: '晴天', description: '周杰伦', image: 'https://example.com/c.jpg', audio: 'https://example.com/a.mp3' } }] },
  ],
  reaction: '76',
};

// The bot's own project, as its documentation has it.
const project = {
  'package.json': '{"type":"module","main":"index.js"}',
  'index.js': `import { defineChildren, defineRouter, lazy } from 'alemonjs';
export default defineChildren({
  register: () => ({ responseRouter: defineRouter([{ selects: ['message.create'], regular: /回声|点歌/, handler: lazy(() => import('./answer.js')) }]) }),
});
`,
  'answer.js': `import { Format, useMessage } from 'alemonjs';
export default async (event) => {
  const [message] = useMessage(event);
  const words = event.MessageText.includes('点歌') ? ${JSON.stringify(JSON.stringify(reply))} : '收到：' + event.MessageText;
  await message.send({ format: Format.create().addText(words) });
};
`,
};

describe('AlemonJS through the gate', () => {
  let g, bot, folder, log = '';
  before(async () => {
    g = await Gate.start();
    await g.ready();
    folder = mkdtempSync(join(tmpdir(), 'replygate-alemon-'));
    for (const [name, text] of Object.entries(project)) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, 'alemon.config.yaml'), `login: onebot\nonebot: {url: 'ws://127.0.0.1:${g.port}', token: front}\n`);
    symlinkSync(join(root, 'tests/node_modules'), join(folder, 'node_modules'));
    bot = spawn(process.execPath, ['node_modules/alemonjs/bin/alemonc.js', 'start'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [bot.stdout, bot.stderr]) stream.on('data', (d) => { log += d; });
    await until('AlemonJS connected', () => /\[OneBot\] connected/.test(log), 30000);
  });
  after(async () => {
    if (bot?.exitCode === null) {
      bot.kill('SIGTERM');
      await Promise.race([once(bot, 'exit'), new Promise((r) => setTimeout(r, 5000).unref())]);
      bot.kill('SIGKILL');
    }
    await g?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const own = async () => (await g.sandbox.messages()).filter((m) => m.sender === SELF);

  // Its application loads for a while after it has connected, and it passes over quick repetitions.
  test('it hears and answers', async () => {
    const end = Date.now() + 30000;
    for (let i = 0; (await own()).length === 0 && Date.now() < end; i++) {
      await g.sandbox.say(`回声${i}`);
      await new Promise((r) => setTimeout(r, 1500));
    }
    assert.match(JSON.stringify((await own()).at(-1)?.segments), /收到：回声/, log);
  });

  test('a structured answer in plain text becomes mention, card, reaction and two messages', async () => {
    const before = (await own()).length;
    const { message_id } = await g.sandbox.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ' 点歌' } }] });
    const [first, second] = await until('two messages', async () => { const list = (await own()).slice(before); return list.length >= 2 && list; });
    assert.deepEqual(first.segments.map((x) => x.type), ['at', 'text']);
    assert.notEqual(second.segments[0].type, 'text', JSON.stringify(second));
    assert.equal((await g.sandbox.message(message_id)).reactions.length, 1, 'it was the only one who spoke to the bot');
  });
});
