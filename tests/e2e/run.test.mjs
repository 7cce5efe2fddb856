// `replygate run` as a user meets it: the printed address in a browser, a member types, and what the
// scripted model answers arrives as it should.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { browse } from '../lib/browser.mjs';
import { ADMIN, GROUP, MEMBER, OWNER, Page, Run, SELF, STRANGER, Sandbox, root, until } from '../lib/sandbox.mjs';

const pause = (ms) => new Promise((r) => setTimeout(r, ms));
const script = `${root}plugin/demo/script.jsonl`;

describe('replygate run, without a configuration', () => {
  let run, browser, page, ui;
  const faults = [];
  before(async () => {
    run = await Run.start();
    assert.match(run.page, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]{32}$/);
    const address = new URL(run.page);
    ui = await new Page(`ws://${address.host}/ui${address.search}`).open();
    browser = await browse();
    page = browser.context.pages()[0];
    page.setDefaultTimeout(10000);
    page.on('pageerror', (e) => faults.push(e.message));
    await page.goto(run.page);
    await page.waitForSelector('#link.up');
    await page.selectOption('#as', String(OWNER));
    await answers('/gate set rate.per_minute 600'); // these tests type faster than people do
    await page.selectOption('#as', String(MEMBER));
  });
  after(async () => {
    await browser?.close();
    ui?.close();
    assert.equal(await run.stop(), 0);
    assert.deepEqual(faults, []);
  });

  const type = async (words) => {
    await page.fill('#text', words);
    await page.press('#text', 'Enter');
    return until('my own message', async () => {
      const mine = page.locator(`.message[data-sender="${await page.inputValue('#as')}"]`).last();
      return (await mine.locator('.bubble').innerText()) === words && mine.getAttribute('data-message-id');
    });
  };
  const bubbles = () => page.locator(`.message[data-sender="${SELF}"]`);
  // What the bot says to these words: its bubbles, once n of them are there.
  const answers = async (words, n = 1) => {
    const before = await bubbles().count();
    const id = await type(words);
    await until(`${n} answers to ${words}`, async () => (await bubbles().count()) >= before + n, 15000);
    return { id, said: Array.from({ length: n }, (_, i) => bubbles().nth(before + i)) };
  };
  const silence = async (words, ms = 1500) => {
    const before = await bubbles().count();
    const id = await type(words);
    await pause(ms);
    assert.equal(await bubbles().count(), before, `${words} is answered with a message`);
    return id;
  };
  const calls = (action) => ui.frames.filter((f) => f.json?.push === 'frame' && f.json.way === 'call').map((f) => ({ at: f.at, ...JSON.parse(f.json.text) })).filter((c) => c.action === action);

  test('plain text', async () => {
    const { said } = await answers('你好');
    assert.equal(await said[0].locator('.bubble').innerText(), '你好，明明！');
  });

  test('the menu, in English too, and what it names is answered', async () => {
    const { said: [menu] } = await answers('help');
    assert.match(await menu.innerText(), /I play from a script/);
    const { said: [chinese] } = await answers('帮助');
    assert.match(await chinese.innerText(), /两条 – [^]*\/gate 帮助/);
    const { said: [words] } = await answers('bracket');
    assert.equal(await words.locator('.bubble').innerText(), '我原本少了一个右括号。');
  });

  test('two messages with a pause', async () => {
    const { said } = await answers('两条', 2);
    assert.equal(await said[0].innerText().then((t) => t.includes('我看看哦')), true);
    assert.match(await said[1].locator('.bubble').innerText(), /^看好了/);
    const [first, second] = calls('send_group_msg').slice(-2);
    assert.ok(second.at - first.at >= 390, `${second.at - first.at} ms`);
  });

  test('mention and text', async () => {
    const { said } = await answers('叫我');
    assert.equal(await said[0].locator('.chip.at').innerText(), '@明明');
    assert.match(await said[0].locator('.bubble').innerText(), /叫你呢$/);
  });

  test('a picture', async () => {
    const { said } = await answers('图片');
    await until('the picture', () => said[0].locator('img.picture').evaluate((e) => e.naturalWidth > 1));
  });

  test('a music card of each platform', async () => {
    for (const [words, tag] of [['QQ音乐', 'QQ音乐'], ['网易云', '网易云音乐'], ['酷狗', '酷狗音乐'], ['酷我', '酷我音乐'], ['咪咕', '咪咕音乐']]) {
      const { said } = await answers(words);
      const card = said[0].locator('.card.music');
      await card.waitFor();
      assert.equal(await card.locator('small').innerText(), tag);
      assert.notEqual(await card.locator('strong').innerText(), '');
      assert.equal(calls('send_group_msg').at(-1).params.message[0].type, 'music');
    }
  });

  test('thanks: a reaction alone', async () => {
    const id = await silence('谢谢');
    const pill = page.locator(`[data-message-id="${id}"] .reaction`);
    assert.equal(await pill.locator('.sign').innerText(), '赞');
    assert.deepEqual(calls('set_msg_emoji_like').at(-1).params, { message_id: Number(id), emoji_id: '76' });
  });

  test('a reaction, then words', async () => {
    const { id, said } = await answers('厉害');
    assert.equal(await said[0].locator('.bubble').innerText(), '哪里哪里');
    assert.equal(await page.locator(`[data-message-id="${id}"] [data-emoji="182"]`).count(), 1);
  });

  test('a keyboard in numbers, and the tap by number', async () => {
    const { said } = await answers('选择');
    assert.match(await said[0].locator('.bubble').innerText(), /1\. 一张图\n2\. 掷骰子\n3\. 道个谢$/);
    const tapped = await answers('2');
    assert.match(await tapped.said[0].locator('.drawn').innerText(), /[⚀-⚅]/);
  });

  test('dice and rps', async () => {
    assert.match(await (await answers('骰子')).said[0].locator('.drawn').innerText(), /[⚀-⚅]/);
    assert.match(await (await answers('猜拳')).said[0].locator('.drawn').innerText(), /[✊✌✋]/);
  });

  test('what is repaired', async () => {
    for (const [words, want] of [['围栏', /^我原本被包在代码围栏/], ['少括号', /^我原本少了一个右括号/], ['整数', /目标原本写成了整数$/], ['思考', /^想好了/], ['纠正', /已经改好了/]]) {
      assert.match(await (await answers(words)).said[0].locator('.bubble').innerText(), want, words);
    }
  });

  test('a broken reply: the notice, and nothing of the reply', async () => {
    for (const words of ['坏的', '截断']) {
      const { said } = await answers(words);
      assert.equal(await said[0].locator('.bubble').innerText(), '抱歉，这条回复没能生成好，请稍后再试一次。', words);
    }
  });

  test('what never goes out', async () => {
    for (const words of ['工具', '藏工具', '全体']) {
      await type(words);
      await pause(800);
    }
    const sent = JSON.stringify(calls('send_group_msg').map((c) => c.params));
    for (const secret of ['tool_call', 'invoke', '"all"', 'sticker', '这条说到一半']) assert.ok(!sent.includes(secret), secret);
  });

  test('commands: owner and admin may, a member and a stranger get no answer', async () => {
    for (const who of [MEMBER, STRANGER]) {
      await page.selectOption('#as', String(who));
      await silence('/gate off', 800);
      await silence('/gate 设置 quote all', 800);
    }
    assert.match(await (await answers('你好')).said[0].innerText(), /你好/);
    for (const who of [OWNER, ADMIN]) {
      await page.selectOption('#as', String(who));
      const said = async (words) => (await answers(words)).said[0].locator('.bubble').innerText();
      assert.match(await said('/gate 状态'), /./);
      assert.match(await said('/gate set quote all'), /quote/);
      assert.match(await said('/gate show quote'), /all/);
      assert.match(await said('/gate 重置 quote'), /quote/);
      assert.match(await said('/gate show quote'), /never/);
      assert.match(await said('/gate help'), /recall|撤回/);
      assert.match(await said('/gate 最近'), /./);
      assert.match(await said('/gate off'), /./);
      assert.match(await said('/gate on'), /./);
      await silence('/gate reload', 800); // concerns other groups
      await silence('/gate 群', 800);
    }
    await page.selectOption('#as', String(MEMBER));
  });

  test('a timeout of the implementation that was delivered: no second send', async () => {
    const order = await ui.order({ do: 'fault', action: 'send_group_msg', kind: 'timeout', delivered: true });
    assert.equal(order.ok, true);
    const before = calls('send_group_msg').length;
    await answers('你好');
    await pause(1500);
    assert.equal(calls('send_group_msg').length, before + 1);
  });

  test('a muted group is left alone', async () => {
    await ui.order({ do: 'mute', group: GROUP, on: true });
    const before = calls('send_group_msg').length;
    for (let i = 0; i < 3; i++) await silence(`你好`, 500);
    assert.ok(calls('send_group_msg').length - before <= 1, 'at most the first is tried');
    await ui.order({ do: 'mute', group: GROUP, on: false });
    await answers('你好');
  });

  test('the link drops and comes back', async () => {
    await ui.order({ do: 'link', end: 'drop' });
    await page.waitForSelector('#link.waiting');
    await page.waitForSelector('#link.up', { timeout: 15000 });
    await answers('你好');
  });

  test('every frame was sound: nothing was dropped, ignored or unseen', async () => {
    const noted = ui.frames.map((f) => f.json).filter((j) => j?.push === 'message' && j.sender === SELF && (j.notes.length || j.unseen));
    assert.deepEqual(noted.map((m) => [m.notes, m.segments]), []);
  });
});

describe('replygate run with a configuration, cards', () => {
  const apps = [['QQ音乐', 'qq', 100497308], ['网易云', '163', 100495085], ['酷狗', 'kugou', 205141], ['酷我', 'kuwo', 100243533], ['咪咕', 'migu', 1101053067]];
  const config = (s, card) => `endpoints:\n  main:\n    connect: ${s.link}\n    access_token: \${TOKEN}\ngroups:\n  default:\n    card: ${card}\n    pace: {min: 0, max: 0, per_char: 0}\n`;
  for (const [card, sent] of [['ark', 'json'], ['auto', 'music'], ['music', 'music']]) {
    test(`card: ${card}`, async () => {
      const s = await Sandbox.start();
      const run = await Run.start({ config: config(s, card), script, environment: { TOKEN: s.access_token } });
      try {
        await until('the link', async () => { await s.order({ do: 'state' }); return s.pushes('state').at(-1).bots === 1; });
        for (const [words, type, appid] of apps) {
          const before = s.wire('call').filter((c) => c.action === 'send_group_msg').length;
          await s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ` ${words}` } }] });
          const frame = await until(`the send for ${words}`, () => s.wire('call').filter((c) => c.action === 'send_group_msg')[before], 10000);
          const [segment] = frame.params.message;
          assert.equal(segment.type, sent);
          if (sent === 'music') assert.equal(segment.data.type, type);
          if (sent === 'json') assert.equal(JSON.parse(segment.data.data).meta.music.appid, appid);
          await until('the answer', () => s.wire('answer').some((a) => a.echo === frame.echo));
        }
      } finally {
        await run.stop();
        await s.stop();
      }
    });
  }

  test('the sign service is down: the text form follows, once', async () => {
    const s = await Sandbox.start();
    await s.order({ do: 'set', sign: 'down' });
    const run = await Run.start({ config: config(s, 'auto'), script, environment: { TOKEN: s.access_token } });
    try {
      await until('the link', async () => { await s.order({ do: 'state' }); return s.pushes('state').at(-1).bots === 1; });
      await s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ' 网易云' } }] });
      await until('the text', async () => (await s.messages()).some((m) => m.sender === SELF), 12000);
      await pause(500);
      const said = (await s.messages()).filter((m) => m.sender === SELF);
      assert.equal(said.length, 1);
      assert.match(said[0].segments[0].data.text, /孤勇者[\s\S]*https:\/\/music\.163\.com/);
    } finally {
      await run.stop();
      await s.stop();
    }
  });
});
