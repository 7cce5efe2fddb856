// The page of the sandbox in a browser: who speaks, how segments look, what goes over the wire, the
// misbehaviour panel, and that nothing from a chat becomes markup.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { browse } from '../lib/browser.mjs';
import { GROUP, MEMBER, OWNER, SELF, STRANGER, Sandbox, text, until } from '../lib/sandbox.mjs';

describe('the page', () => {
  let s, bot, browser, page;
  const faults = [];
  const dialogs = [];
  before(async () => {
    s = await Sandbox.start();
    bot = await s.bot();
    browser = await browse();
    page = browser.context.pages()[0];
    page.setDefaultTimeout(8000);
    page.on('pageerror', (e) => faults.push(e.message));
    page.on('console', (m) => { if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) faults.push(m.text()); });
    page.on('dialog', (d) => { dialogs.push(d.message()); d.dismiss(); });
    await page.goto(s.page);
    await page.waitForSelector('#link.up');
  });
  after(async () => {
    await browser.close();
    await s.stop();
    assert.deepEqual(faults, []);
    assert.deepEqual(dialogs, []);
  });
  const message = (id) => page.locator(`[data-message-id="${id}"]`);
  const send = async (segments) => {
    const { data, message: why } = await bot.say(segments);
    assert.ok(data, why);
    await message(data.message_id).waitFor();
    return message(data.message_id);
  };
  const type = async (words) => {
    await page.fill('#text', words);
    await page.press('#text', 'Enter');
  };

  test('a member types; the bot hears it with its mention; mine is on the right', async () => {
    await page.selectOption('#as', String(MEMBER));
    await type('@小助手 在吗');
    const e = await bot.event('the message', (m) => m.raw_message?.includes('在吗'));
    assert.equal(e.user_id, MEMBER);
    assert.deepEqual(e.message, [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ' 在吗' } }]);
    await page.waitForSelector(`.message.mine[data-message-id="${e.message_id}"] .chip.at`);
    assert.equal(await page.inputValue('#text'), '');
    await page.selectOption('#as', String(OWNER));
    await page.waitForSelector(`.message:not(.mine)[data-message-id="${e.message_id}"]`);
    await type('我是群主');
    const owner = await bot.event('the message', (m) => m.raw_message === '我是群主');
    assert.equal(owner.sender.role, 'owner');
    assert.equal(await message(owner.message_id).locator('.tag').innerText(), '群主');
  });

  test('text, line breaks, links', async () => {
    const m = await send(text('第一行\n第二行 https://example.com/a?b=1&c=2，好'));
    assert.equal(await m.locator('.bubble').innerText(), '第一行\n第二行 https://example.com/a?b=1&c=2，好');
    const link = m.locator('a');
    assert.equal(await link.getAttribute('href'), 'https://example.com/a?b=1&c=2');
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
  });

  test('every kind of segment', async () => {
    const at = await send([{ type: 'at', data: { qq: String(MEMBER) } }, { type: 'at', data: { qq: 'all' } }, { type: 'face', data: { id: '76' } }]);
    assert.deepEqual(await at.locator('.chip').allInnerTexts(), ['@明明', '@全体成员', '赞']);
    const picture = await send([{ type: 'image', data: { file: `http://127.0.0.1:${s.port}/demo/picture.png` } }]);
    await until('the picture', () => picture.locator('img.picture').evaluate((e) => e.naturalWidth === 320));
    const pixel = await send([{ type: 'image', data: { file: 'base64://iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' } }]);
    await until('the pixel', () => pixel.locator('img.picture').evaluate((e) => e.naturalWidth === 1));
    const lost = await send([{ type: 'image', data: { file: `http://127.0.0.1:${s.port}/no/%E5%9B%BE.png` } }]);
    assert.equal(await lost.locator('.row.image .name').innerText(), '图.png');
    const host = await send([{ type: 'image', data: { file: 'file:///etc/hostname' } }]);
    assert.equal(await host.locator('.row.image .name').innerText(), 'hostname');
    const voice = await send([{ type: 'record', data: { file: 'https://example.com/v.mp3' } }]);
    assert.equal(await voice.locator('.row.voice .name').innerText(), 'v.mp3');
    const video = await send([{ type: 'video', data: { file: 'https://example.com/v.mp4' } }]);
    assert.equal(await video.locator('button.video .name').innerText(), 'v.mp4');
    const file = await send([{ type: 'file', data: { file: 'https://example.com/x', name: '报告.pdf' } }]);
    assert.equal(await file.locator('.row.file .name').innerText(), '报告.pdf');
    const dice = await send([{ type: 'dice', data: {} }]);
    assert.match(await dice.locator('.drawn').innerText(), /[⚀-⚅]/);
    const rps = await send([{ type: 'rps', data: {} }]);
    assert.match(await rps.locator('.drawn').innerText(), /[✊✌✋]/);
    const quote = await send([{ type: 'reply', data: { id: await at.getAttribute('data-message-id') } }, ...text('嗯')]);
    assert.match(await quote.locator('.quote').innerText(), /小助手.*@明明/);
    const node = (content) => ({ type: 'node', data: { user_id: '10003', nickname: '小明', content } });
    const { data } = await bot.call('send_group_forward_msg', { group_id: GROUP, messages: [node(text('一')), node(text('二'))] });
    assert.match(await message(data.message_id).locator('summary').innerText(), /聊天记录[\s\S]*2/);
  });

  test('music cards of all platforms', async () => {
    for (const [type_, tag] of [['qq', 'QQ音乐'], ['163', '网易云音乐'], ['kugou', '酷狗音乐'], ['kuwo', '酷我音乐'], ['migu', '咪咕音乐']]) {
      const card = await send([{ type: 'music', data: { type: type_, url: 'https://example.com/s', audio: 'https://example.com/a.mp3', title: '晴天', content: '周杰伦', image: `http://127.0.0.1:${s.port}/demo/cover.png` } }]);
      const face = card.locator('.card.music');
      assert.deepEqual([await face.locator('strong').innerText(), await face.locator('.text').innerText(), await face.locator('small').innerText()], ['晴天', '周杰伦', tag]);
      await until('the cover', () => face.locator('.cover img').evaluate((e) => e.naturalWidth === 160));
      assert.equal(await face.getAttribute('href'), 'https://example.com/s');
    }
    await s.order({ do: 'play', profile: 'go-cqhttp' });
    const gocq = await send([{ type: 'music', data: { type: 'custom', subtype: 'kugou', url: 'https://example.com/s', voice: 'https://example.com/a.mp3', audio: 'https://example.com/a.mp3', title: '歌', image: '' } }]);
    assert.equal(await gocq.locator('.card.music small').innerText(), '酷狗音乐');
    const share = await send([{ type: 'share', data: { url: 'https://example.com/p', title: '文章', content: '说明' } }]);
    assert.equal(await share.locator('.card.share strong').innerText(), '文章');
    await s.order({ do: 'play', profile: 'napcat' });
  });

  test('nothing from a chat becomes markup or a script', async () => {
    const evil = ['<img src=x onerror=alert(1)>', '<script>alert(2)</script>', '"><svg onload=alert(3)>', 'javascript:alert(4)', '&lt;b&gt;', '${alert(5)}'];
    for (const words of evil) {
      const m = await send(text(words));
      assert.equal(await m.locator('.bubble').innerText(), words);
      assert.equal(await m.locator('.bubble img, .bubble script, .bubble svg, .bubble a').count(), 0);
    }
    const said = await s.order({ do: 'say', as: MEMBER, group: GROUP, segments: [
      { type: '<img src=x onerror=alert(6)>', data: {} }, { type: 'constructor', data: {} }, { type: '__proto__', data: {} }, { type: 'toString' },
      { type: 'at', data: { qq: '<b>x</b>' } }, { type: 'face', data: { id: '<i>' } }, { type: 'image', data: { file: 'javascript:alert(7)' } },
      { type: 'image', data: { file: 'data:text/html;base64,PHNjcmlwdD5hbGVydCg4KTwvc2NyaXB0Pg==' } }, { type: 'record', data: { file: 'javascript:alert(9)' } },
      { type: 'share', data: { url: 'javascript:alert(10)', title: '<b>t</b>', image: 'javascript:alert(11)' } }, { type: 'file', data: { file: 'javascript:alert(12)', name: '<u>n</u>' } },
      { type: 'json', data: { data: '{"app":"x","prompt":"<b>","meta":{"music":{"jumpUrl":"javascript:alert(13)","title":{"a":1}}}}' } }, { type: 'json', data: { data: '{' } }, { type: 'json', data: { data: 'null' } },
      { type: 'forward', data: { content: [{ nickname: '<b>', content: [{ type: 'text', data: { text: '<img src=x onerror=alert(14)>' } }] }, { content: 5 }, null].filter(Boolean) } },
      { type: 'text', data: { text: { a: 1 } } }, { type: 'dice', data: { result: '<b>' } }, { type: 'rps', data: { result: 'constructor' } }, { type: 'reply', data: { id: '"]<b>' } } ] });
    const m = message(said.message_id);
    await m.waitFor();
    await m.locator('summary').click();
    assert.equal(await m.locator('.bubble b:not(.quote b):not(.node > b):not(.cover b), .bubble i:not(.bars i), .bubble u, .bubble script, .bubble iframe').count(), 0);
    assert.equal(await page.locator('[href^="javascript"], [src^="javascript"], [src^="data:text"]').count(), 0);
    await m.locator('.quote').click();
    await s.order({ do: 'event', event: { post_type: '<img src=x onerror=alert(15)>', sub_type: '<b>' } });
    bot.send('{"action":"<img src=x onerror=alert(16)>","echo":"<b>"}');
    await page.locator('.frame.call .name', { hasText: 'alert(16)' }).waitFor();
    assert.equal(await page.locator('#frames img, #frames b').count(), 0);
    assert.deepEqual(dialogs, []);
  });

  test('reactions: the bot, then a person by a click', async () => {
    const { message_id } = await s.say('谢谢');
    await bot.call('set_msg_emoji_like', { message_id: Number(message_id), emoji_id: '76' });
    await bot.call('set_msg_emoji_like', { message_id: Number(message_id), emoji_id: '128077' });
    const thumbs = message(message_id).locator('[data-emoji="76"]');
    assert.equal(await thumbs.locator('.sign').innerText(), '赞');
    assert.equal(await message(message_id).locator('[data-emoji="128077"] .sign').innerText(), '👍');
    await thumbs.click();
    await until('the count', async () => (await thumbs.locator('.number').innerText()) === '2');
    await bot.event('the reaction', (e) => e.notice_type === 'group_msg_emoji_like' && e.message_id === Number(message_id) && e.is_add);
    await thumbs.click();
    await until('the count', async () => (await thumbs.locator('.number').innerText()) === '1');
  });

  test('recall, quote', async () => {
    await page.selectOption('#as', String(MEMBER));
    const { message_id } = await s.say('要撤回');
    await message(message_id).hover();
    await message(message_id).getByRole('button', { name: '撤回' }).click();
    await until('the notice', async () => (await message(message_id).innerText()) === '明明 撤回了一条消息');
    const other = await send(text('问题'));
    await other.hover();
    await other.getByRole('button', { name: '回复' }).click();
    await type('答案');
    const e = await bot.event('the quote', (m) => m.raw_message?.endsWith('答案'));
    assert.deepEqual(e.message[0], { type: 'reply', data: { id: await other.getAttribute('data-message-id') } });
  });

  test('the wire: call and answer as they went, collapsed', async () => {
    await page.click('#clear-wire');
    await send(text('看帧'));
    const call = page.locator('.frame.call').last();
    assert.equal(await call.locator('.name').innerText(), 'send_group_msg');
    assert.equal(await call.locator('pre').isVisible(), false);
    await call.locator('summary').click();
    const frame = JSON.parse(await until('the frame', () => call.locator('pre').innerText()));
    assert.deepEqual(frame.params, { group_id: GROUP, message: text('看帧') });
    assert.match(await page.locator('.frame.answer').last().innerText(), /send_group_msg[\s\S]*ok 0/);
    await s.order({ do: 'set', heartbeat_ms: 60 });
    await bot.event('a heartbeat', (e) => e.meta_event_type === 'heartbeat');
    await until('the hidden heartbeat', async () => (await page.locator('li.beat').count()) > 0);
    assert.equal(await page.locator('li.beat').first().isVisible(), false);
    await page.check('#show-beats');
    await page.locator('li.beat').first().waitFor();
    await page.uncheck('#show-beats');
    await s.order({ do: 'set', heartbeat_ms: 0 });
  });

  test('the peer: implementation, switches, faults', async () => {
    await page.click('#tab-faults');
    await page.selectOption('#profile', 'lagrange');
    await until('the version', async () => (await bot.call('get_version_info')).data.app_name === 'Lagrange.OneBot');
    await page.selectOption('#profile', 'napcat');
    await page.check('#muted');
    await until('the ban', async () => /120/.test((await bot.say(text('x'))).message ?? ''));
    await page.uncheck('#muted');
    await page.selectOption('#bot_role', 'admin');
    await until('the role', async () => (await bot.call('get_group_at_all_remain', { group_id: GROUP })).data.can_at_all);
    await page.selectOption('#bot_role', 'member');
    await page.selectOption('#fault_kind', 'refuse');
    assert.equal(await page.locator('#fault_ms').isVisible(), false);
    await page.fill('#fault_retcode', '1413');
    await page.fill('#fault_text', 'too large');
    await page.fill('#fault_count', '2');
    await page.getByRole('button', { name: '安排' }).click();
    await page.locator('#ordered li', { hasText: 'send_group_msg' }).waitFor();
    assert.deepEqual([(await bot.say(text('x'))).retcode, (await bot.say(text('x'))).retcode], [1413, 1413]);
    await page.locator('#ordered li').waitFor({ state: 'detached' });
    assert.equal((await bot.say(text('好了'))).status, 'ok');
    const other = await s.bot();
    await page.click('#drop');
    await until('the end', () => other.closed && bot.closed);
    await page.waitForSelector('#link.waiting');
    bot = await s.bot();
    await page.waitForSelector('#link.up');
    await page.click('#tab-wire');
  });

  test('what is not shown is told: dropped segments and unseen messages', async () => {
    const dropped = await send([{ type: 'poke', data: {} }, ...text('戳')]);
    await dropped.locator('[data-note="dropped: poke"]').waitFor();
    const unseen = await send([{ type: 'markdown', data: { content: '# a' } }]);
    assert.match(await unseen.getAttribute('class'), /unseen/);
  });

  test('private chats', async () => {
    await page.click(`[data-chat="p${MEMBER}"]`);
    await type('悄悄话');
    const e = await bot.event('the private message', (m) => m.message_type === 'private' && m.raw_message === '悄悄话');
    assert.equal(e.user_id, MEMBER);
    await bot.call('send_private_msg', { user_id: MEMBER, message: text('知道了') });
    await page.locator('.message .bubble', { hasText: '知道了' }).waitFor();
    assert.equal(await page.locator('.message').count(), 2);
    await bot.say(text('群里有话'));
    await page.locator('[data-chat="g123456789"] .unread').waitFor();
    await page.click('[data-chat="g123456789"]');
    await page.locator('.message .bubble', { hasText: '群里有话' }).waitFor();
    await page.click(`[data-chat="p${STRANGER}"]`);
    await type('临时会话');
    assert.equal((await bot.event('a temporary session', (m) => m.raw_message === '临时会话')).sub_type, 'group');
    await page.click('[data-chat="g123456789"]');
  });

  test('both languages, phone width', async () => {
    await page.click('#language');
    assert.equal(await page.innerText('#send'), 'Send');
    assert.equal(await page.getAttribute('html', 'lang'), 'en');
    await page.reload();
    await page.waitForSelector('.message');
    assert.equal(await page.innerText('#send'), 'Send');
    for (const e of await page.locator('[data-word]').all()) assert.notEqual(await e.textContent(), '', await e.getAttribute('data-word'));
    await page.setViewportSize({ width: 360, height: 640 });
    await page.waitForTimeout(250);
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, ...[...document.querySelectorAll('.bubble, #composer, .bar')].map((e) => e.getBoundingClientRect().right)]);
    assert.ok(Math.max(...wide.slice(0, 1)) <= 360, `${wide[0]} wide`);
    assert.ok(await page.locator('#text').isVisible());
    assert.equal(await page.locator('#panel').isVisible(), false);
    await page.click('#open-panel');
    await page.locator('#panel').waitFor({ state: 'visible' });
    await page.click('#close-panel');
    await page.click('#open-side');
    await page.click('[data-chat="g987654321"]');
    await page.locator('#title', { hasText: '测试群' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 820 });
    await page.click('[data-chat="g123456789"]');
    await page.click('#language');
    assert.equal(await page.innerText('#send'), '发送');
  });

  test('the page comes back after the sandbox was gone, with what is kept', async () => {
    const port = s.port;
    await s.stop();
    await page.waitForSelector('#link.lost');
    s = await Sandbox.start({ port, pageToken: new URL(page.url()).searchParams.get('token') });
    bot = await s.bot();
    await page.waitForSelector('#link.up');
    await send(text('又在了'));
    assert.equal(await page.locator('.message').count(), 1);
  });
});

test('the language of the browser decides at first', async () => {
  const s = await Sandbox.start();
  const browser = await browse({ locale: 'en-US' });
  const page = browser.context.pages()[0];
  await page.goto(s.page);
  await page.waitForSelector('.chat');
  assert.equal(await page.innerText('#send'), 'Send');
  await browser.close();
  await s.stop();
});

test('a foreign page reaches nothing', async () => {
  const s = await Sandbox.start();
  const other = await Sandbox.start();
  const browser = await browse();
  const page = browser.context.pages()[0];
  await page.goto(other.page);
  const outcome = await page.evaluate(async ({ port, token }) => {
    const socket = (path) => new Promise((resolve) => {
      const w = new WebSocket(`ws://127.0.0.1:${port}${path}`);
      w.onopen = () => resolve('open');
      w.onerror = () => resolve('refused');
    });
    return [await socket(`/ui?token=${token}`), await socket('/?access_token=secret'), await fetch(`http://127.0.0.1:${port}/faces.tsv`).then(() => 'read', () => 'refused')];
  }, { port: s.port, token: s.page_token });
  assert.deepEqual(outcome, ['refused', 'refused', 'refused']);
  assert.equal((await page.goto(`http://127.0.0.1:${s.port}/?token=wrong`)).status(), 403);
  assert.match(await page.innerText('body'), /token/);
  await browser.close();
  await s.stop();
  await other.stop();
});
