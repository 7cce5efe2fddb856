// The sandbox over its sockets: each played implementation as spec/onebot.md tells of it, the faults
// on order, and the walls around the page.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Bot, GROUP, MEMBER, OTHER_GROUP, OWNER, SELF, STRANGER, Sandbox, Socket, text, until } from '../lib/sandbox.mjs';

const profiles = ['napcat', 'llbot', 'lagrange', 'go-cqhttp', 'onebots', 'spec'];
const pause = (ms) => new Promise((r) => setTimeout(r, ms));

// ---- the token, as each implementation refuses it ----

const refusals = {
  napcat: { status: null, code: 1005, json: 1403 },
  llbot: { status: null, code: 1008, json: 1403 },
  lagrange: { status: 403 },
  'go-cqhttp': { status: 403, missing: 401 },
  onebots: { status: null, code: 1008 },
  spec: { status: null, code: 1006 },
};

for (const profile of profiles) {
  describe(profile, () => {
    let s;
    before(async () => { s = await Sandbox.start({ profile }); });
    after(async () => assert.equal(await s.stop(), 0));

    for (const [how, token] of [['wrong', 'nope'], ['missing', '']]) {
      test(`a ${how} token`, async () => {
        const want = refusals[profile];
        const bot = await s.bot('', { token });
        const status = how === 'missing' ? want.missing ?? want.status : want.status;
        if (status) {
          assert.equal(bot.refused, status);
          return;
        }
        await until('the close', () => bot.closed);
        assert.equal(bot.closed.code, want.code);
        assert.equal(bot.answers[0]?.retcode, want.json);
        if (want.json) assert.equal(bot.answers[0].echo, null);
        assert.deepEqual(bot.events, []);
      });
    }

    test('lifecycle, then events and answers of its shape', async () => {
      const bot = await s.bot();
      await bot.event('lifecycle', (e) => e.meta_event_type === 'lifecycle' && e.sub_type === 'connect');
      await s.say('你好');
      const e = await bot.event('the message', (m) => m.post_type === 'message');
      assert.equal(e.self_id, SELF);
      assert.deepEqual(e.message, text('你好'));
      assert.equal(e.raw_message, '你好');
      assert.equal(e.sender.role, 'member');
      assert.equal(e.group_id === GROUP, profile !== 'onebots', 'OneBots shows an alias');
      const answer = await bot.say(text('在'), e.group_id);
      assert.equal(answer.status, 'ok');
      assert.equal(answer.retcode, 0);
      assert.equal(typeof answer.data.message_id, 'number');
      const keys = { napcat: ['status', 'retcode', 'data', 'message', 'wording', 'stream', 'echo'], llbot: ['status', 'retcode', 'data', 'message', 'wording', 'echo'] };
      assert.deepEqual(Object.keys(answer).sort(), (keys[profile] ?? ['status', 'retcode', 'data', 'echo']).sort());
      assert.deepEqual((await s.message(answer.data.message_id)).segments, text('在'));
      const version = await bot.call('get_version_info');
      assert.match(version.data.app_name, { napcat: /^NapCat/, llbot: /^LLOneBot/, lagrange: /^Lagrange/, 'go-cqhttp': /^go-cqhttp/, onebots: /^onebots/, spec: /./ }[profile]);
      bot.close();
    });

    test('an unknown action, bad JSON', async () => {
      const bot = await s.bot();
      const unknown = { napcat: 1404, llbot: 1404, lagrange: 404, 'go-cqhttp': 404, onebots: -1, spec: 1404 };
      assert.equal((await bot.call('no_such_action')).retcode, unknown[profile]);
      const before = bot.answers.length;
      bot.send('{"action":');
      bot.send(JSON.stringify({ action: 'get_status', echo: 7 }));
      await until('the answer behind it', () => bot.answers.find((a) => a?.echo === 7));
      const bad = bot.answers.slice(before).filter((a) => a?.echo !== 7);
      assert.equal(bad.length, profile === 'lagrange' ? 0 : 1);
      if (profile === 'napcat') assert.equal(bad[0].echo, null);
      bot.close();
    });

    test('ids of its kind, which get_msg takes back', async () => {
      const bot = await s.bot();
      const ids = [];
      for (let i = 0; i < 40; i++) ids.push((await s.say(`${i}`)).message_id);
      const range = { napcat: [1, 2 ** 31 - 1], llbot: [-(2 ** 31), 2 ** 31 - 1], lagrange: [-(2 ** 31), 2 ** 31 - 1], 'go-cqhttp': [-(2 ** 31), 2 ** 31 - 1], onebots: [2 ** 31, 1e11], spec: [1, 2 ** 31 - 1] }[profile];
      for (const id of ids) assert.ok(Number(id) >= range[0] && Number(id) <= range[1] && id !== '0', id);
      if (range[0] < 0) assert.ok(ids.some((id) => id.startsWith('-')));
      const got = await bot.call('get_msg', { message_id: Number(ids[3]) });
      assert.equal(got.data.raw_message, '3');
      assert.notEqual((await bot.call('get_msg', { message_id: 4 })).retcode, 0);
      bot.close();
    });

    test('paths: /api without events, /event', async () => {
      const [api, event] = [await s.bot('api'), await s.bot('event')];
      if (profile === 'onebots') {
        assert.equal(api.refused, 404);
        assert.equal(event.refused, 404);
        return;
      }
      await s.say('路径');
      await event.event('the message', (e) => e.raw_message === '路径');
      assert.equal((await api.call('get_status')).status, 'ok');
      assert.deepEqual(api.events, []);
      event.send({ action: 'get_status', echo: 'x' });
      await pause(100);
      assert.equal(event.answers.length, profile === 'napcat' ? 1 : 0);
      api.close();
      event.close();
    });
  });
}

// ---- what is sent and what becomes of it ----

describe('messages', () => {
  let s, bot;
  before(async () => { s = await Sandbox.start(); bot = await s.bot(); });
  after(() => s.stop());
  const play = (profile) => s.order({ do: 'play', profile });
  const music = { type: '163', url: 'https://music.163.com/song?id=186016', audio: 'https://example.com/a.mp3', title: '晴天', content: '周杰伦', image: 'https://example.com/c.jpg' };
  const pixel = 'base64://iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  // profile, message, what is shown (types, or a text for the reason of a refusal), notes (part of one)
  const rows = [
    ['napcat', text('a'), ['text']],
    ['napcat', '[CQ:at,qq=10003] 你好', ['at', 'text']],
    ['napcat', { type: 'text', data: { text: 'one' } }, ['text']],
    ['napcat', [{ type: 'share', data: { url: 'https://a/', title: 't' } }], '未知的消息类型：share'],
    ['napcat', [{ type: 'mention', data: {} }, ...text('x')], '未知的消息类型：mention'],
    ['napcat', [{ type: 'poke', data: {} }, ...text('x')], ['text'], 'dropped: poke'],
    ['napcat', [{ type: 'xml', data: { data: '<a/>' } }], '消息体无法解析'],
    ['napcat', [], '消息体无法解析'],
    ['napcat', [{ type: 'at', data: { qq: '77777' } }, ...text('x')], 'Get Uid Error'],
    ['napcat', [{ type: 'at', data: { qq: 'all' } }], ['at']],
    ['napcat', [{ type: 'face', data: { id: '76' } }], ['face']],
    ['napcat', [{ type: 'face', data: { id: '9999' } }, ...text('x')], ['text'], 'unknown id: face'],
    ['napcat', [{ type: 'reply', data: { id: '5' } }, ...text('x')], ['text'], 'unknown id: reply'],
    ['napcat', [{ type: 'image', data: { file: pixel } }], ['image']],
    ['napcat', [{ type: 'image', data: { file: 'base64://' } }], '文件异常，大小为0'],
    ['napcat', [{ type: 'image', data: { file: 'base64://@@@@' } }], '文件处理失败'],
    ['napcat', [{ type: 'image', data: { file: pixel, url: 'https://a/b.png' } }], ['image'], 'two references'],
    ['napcat', [{ type: 'image', data: { file: 'file:///no/such/file.png' } }], '文件处理失败'],
    ['napcat', [{ type: 'image', data: { file: 'file:///etc/hostname' } }], ['image']],
    ['napcat', [{ type: 'markdown', data: { content: '# a' } }], ['markdown'], 'nobody sees it'],
    ['napcat', [{ type: 'music', data: music }], ['json']],
    ['napcat', [{ type: 'music', data: { ...music, image: undefined } }], '消息体无法解析'],
    ['napcat', [{ type: 'music', data: { ...music, id: '' } }], '消息体无法解析'],
    ['napcat', [{ type: 'music', data: music }, ...text('x')], ['json', 'text'], 'beside others: music'],
    ['napcat', [{ type: 'dice', data: {} }], ['dice']],
    ['napcat', [{ type: 'json', data: { data: '{"app":"com.tencent.music.lua","config":{},"meta":{"music":{"appid":100495085}}}' } }], ['json'], 'without a signature'],
    ['napcat', [{ type: 'json', data: { data: '' } }], 'Timeout: NTEvent'],
    ['napcat', [{ type: 'text', data: { text: 'x', extra: 1 } }], ['text'], 'ignored: text.extra'],
    ['llbot', [{ type: 'share', data: { url: 'https://a/', title: 't' } }, ...text('x')], ['text'], 'dropped: share'],
    ['llbot', [{ type: 'at', data: { qq: 'all' } }, ...text('x')], ['text'], 'dropped: at'],
    ['llbot', [{ type: 'at', data: { qq: '77777' } }], ['text'], 'bare @'],
    ['llbot', [{ type: 'music', data: { ...music, title: '' } }], '自定义音卡缺少参数title'],
    ['llbot', [{ type: 'music', data: { ...music, type: 'xm' } }], '不支持的音乐卡片 type xm'],
    ['llbot', [{ type: 'music', data: { ...music, image: undefined } }], ['json']],
    ['lagrange', [{ type: 'at', data: { qq: 10003 } }], ''],
    ['lagrange', [{ type: 'at', data: { qq: '10003' } }], ['at']],
    ['lagrange', [{ type: 'at', data: { qq: '0' } }], ['at'], 'everyone'],
    ['lagrange', [{ type: 'reply', data: { id: '5' } }, ...text('x')], ''],
    ['lagrange', [{ type: 'image', data: { file: '/etc/hostname' } }], ''],
    ['lagrange', [{ type: 'file', data: { file: 'https://a/b.txt' } }, ...text('x')], ''],
    ['go-cqhttp', [{ type: 'share', data: { url: 'https://a/', title: 't' } }], ['share']],
    ['go-cqhttp', [{ type: 'markdown', data: { content: '# a' } }], ['text'], 'literal CQ code'],
    ['go-cqhttp', [{ type: 'video', data: { file: 'base64://AAAA' } }], 'EMPTY_MSG_ERROR'],
    ['go-cqhttp', [{ type: 'at', data: { qq: 'all' } }], ['text'], '@all as text'],
    ['go-cqhttp', [{ type: 'music', data: { ...music, type: 'custom', subtype: '163', voice: music.audio } }, ...text('x')], ['music'], 'dropped: text'],
    ['go-cqhttp', [{ type: 'music', data: { ...music, type: 'custom', subtype: '163' } }], ['music'], 'without sound'],
    ['onebots', [{ type: 'dice', data: {} }, ...text('x')], ['text'], 'dropped: dice'],
    ['onebots', [{ type: 'share', data: { url: 'https://a/', title: 't', content: 'c' } }], ['share'], 'change places'],
    ['onebots', [{ type: 'at', data: { qq: '30000070021' } }], ['at'], 'stranger'],
    ['spec', [{ type: 'shake', data: {} }], ['shake']],
    ['spec', [{ type: 'no_such', data: {} }], ''],
  ];
  for (const [profile, message, shown, note] of rows) {
    test(`${profile}: ${JSON.stringify(message).slice(0, 90)} -> ${JSON.stringify(shown)}`, async () => {
      await play(profile);
      const group_id = profile === 'onebots' ? 30000000000 + GROUP * 7 : GROUP;
      const answer = await bot.say(message, group_id);
      if (typeof shown === 'string') {
        assert.equal(answer.status, 'failed');
        assert.notEqual(answer.retcode, 0);
        assert.ok((answer.message ?? answer.msg ?? '').includes(shown), answer.message ?? answer.msg);
        return;
      }
      assert.equal(answer.status, 'ok', JSON.stringify(answer));
      const m = await s.message(answer.data.message_id);
      assert.deepEqual(m.segments.map((x) => x.type), shown);
      if (note) assert.ok(m.notes.some((n) => n.includes(note)), JSON.stringify(m.notes));
      else assert.deepEqual(m.notes, []);
    });
  }

  test('the sign service down: dropped in silence on NapCat, refused on LLBot', async () => {
    await play('napcat');
    await s.order({ do: 'set', sign: 'down' });
    const beside = await bot.say([{ type: 'music', data: music }, ...text('x')]);
    assert.equal(beside.status, 'ok');
    assert.deepEqual((await s.message(beside.data.message_id)).segments, text('x'));
    assert.match((await bot.say([{ type: 'music', data: music }])).message, /消息体无法解析/);
    await play('llbot');
    assert.match((await bot.say([{ type: 'music', data: music }])).message, /签名音乐消息失败/);
    await s.order({ do: 'set', sign: 'unset' });
    assert.match((await bot.say([{ type: 'music', data: music }])).message, /签名地址未配置/);
    await s.order({ do: 'set', sign: 'up' });
    await play('napcat');
  });

  test('a music card is shown with the app of its platform, and get_msg has its json', async () => {
    await play('napcat');
    for (const [type, appid] of [['qq', 100497308], ['163', 100495085], ['kugou', 205141], ['kuwo', 100243533], ['migu', 1101053067]]) {
      const { data } = await bot.say([{ type: 'music', data: { ...music, type } }]);
      const got = await bot.call('get_msg', { message_id: data.message_id });
      assert.equal(got.data.message[0].type, 'json');
      const ark = JSON.parse(got.data.message[0].data.data);
      assert.equal(ark.meta.music.appid, appid);
      assert.equal(ark.meta.music.title, '晴天');
    }
  });

  test('forwards: nodes, nested nodes, what is left of them', async () => {
    await play('napcat');
    const node = (content) => ({ type: 'node', data: { user_id: '10003', nickname: '小明', content } });
    const answer = await bot.call('send_group_forward_msg', { group_id: GROUP, messages: [node(text('一')), node([{ type: 'share', data: {} }]), node([node(text('里'))])] });
    assert.equal(answer.status, 'failed', 'NapCat knows no share');
    const good = await bot.call('send_group_forward_msg', { group_id: GROUP, messages: [node(text('一')), node([{ type: 'poke', data: {} }]), node([node(text('里'))])] });
    assert.equal(good.status, 'ok');
    assert.ok(good.data.res_id && good.data.forward_id);
    const [forward] = (await s.message(good.data.message_id)).segments;
    assert.equal(forward.type, 'forward');
    assert.equal(forward.data.content.length, 2);
    const got = await bot.call('get_forward_msg', { message_id: forward.data.id });
    assert.equal(got.data.messages.length, 2);
    assert.equal((await bot.call('send_group_forward_msg', { group_id: GROUP, messages: text('no node') })).status, 'failed');
  });

  test('uploads: any form on NapCat, a path of its host on Lagrange', async () => {
    await play('napcat');
    const answer = await bot.call('upload_group_file', { group_id: GROUP, file: pixel, name: 'a.png' });
    assert.ok(answer.data.file_id);
    assert.equal((await s.messages()).at(-1).segments[0].data.name, 'a.png');
    await play('lagrange');
    assert.equal((await bot.call('upload_group_file', { group_id: GROUP, file: 'https://a/b', name: 'b' })).status, 'failed');
    assert.equal((await bot.call('upload_group_file', { group_id: GROUP, file: '/etc/hostname', name: 'h' })).status, 'ok');
    await play('onebots');
    assert.equal((await bot.call('upload_group_file', { group_id: GROUP, file: '/etc/hostname', name: 'h' })).retcode, -1);
  });

  test('where send_msg goes, as each implementation decides', async () => {
    const both = { group_id: GROUP, user_id: MEMBER, message: text('哪') };
    const cases = [['napcat', GROUP], ['llbot', GROUP], ['lagrange', GROUP], ['go-cqhttp', 0]];
    for (const [profile, group] of cases) {
      await play(profile);
      const { data } = await bot.call('send_msg', both);
      assert.equal((await s.message(data.message_id)).group_id, group, profile);
    }
    await play('spec');
    assert.equal((await bot.call('send_msg', both)).status, 'failed');
    await play('go-cqhttp');
    const echo = bot.answers.length;
    bot.send({ action: 'send_msg', params: { message: 'x' } });
    await until('the empty answer', () => bot.answers.length > echo);
    assert.deepEqual(bot.answers.at(-1), {});
    await play('napcat');
    const astray = await bot.call('send_private_msg', { user_id: 66666, group_id: GROUP, message: text('迷路') });
    assert.equal((await s.message(astray.data.message_id)).group_id, GROUP, 'NapCat falls back to the group');
    await play('llbot');
    assert.equal((await bot.call('send_private_msg', { user_id: 66666, group_id: GROUP, message: text('x') })).status, 'failed');
  });

  test('private chats: friends, strangers, nobody', async () => {
    await play('napcat');
    const friend = await bot.call('send_private_msg', { user_id: MEMBER, message: text('悄悄') });
    assert.equal((await s.message(friend.data.message_id)).user_id, MEMBER);
    assert.match((await bot.call('send_private_msg', { user_id: STRANGER, message: text('x') })).message, /"result": 1/);
    assert.equal((await bot.call('send_private_msg', { user_id: STRANGER, group_id: GROUP, message: text('x') })).status, 'ok');
    assert.match((await bot.call('send_private_msg', { user_id: 66666, message: text('x') })).message, /无法获取用户信息/);
    assert.equal((await bot.call('send_group_msg', { group_id: 5, message: text('x') })).status, 'failed');
    await s.say('在吗', { private: true, group: undefined });
    const e = await bot.event('a private message', (m) => m.message_type === 'private' && m.raw_message === '在吗');
    assert.equal(e.sub_type, 'friend');
    assert.equal('group_id' in e, false);
  });

  test('reactions of the bot and of people', async () => {
    await play('napcat');
    const { message_id } = await s.say('谢谢');
    const like = (emoji_id, more = {}) => bot.call('set_msg_emoji_like', { message_id: Number(message_id), emoji_id, ...more });
    assert.equal((await like('76')).data.result, 0);
    assert.equal((await like('128077')).data.result, 0);
    assert.deepEqual((await s.message(message_id)).reactions.map((r) => r.emoji_id), ['76', '128077']);
    assert.notEqual((await like('0128077')).data.result, 0, 'no such emoji: ok, with a result');
    assert.notEqual((await like('👍')).data.result, 0);
    assert.match((await like(0)).message, /emojiId not found/);
    assert.equal((await like('76', { set: false })).data.result, 0);
    assert.deepEqual((await s.message(message_id)).reactions.map((r) => r.emoji_id), ['128077']);
    assert.match((await bot.call('set_msg_emoji_like', { message_id: 5, emoji_id: '76' })).message, /msg not found/);
    await s.order({ do: 'react', as: OWNER, message_id, emoji_id: '66' });
    const e = await bot.event('the reaction', (n) => n.notice_type === 'group_msg_emoji_like');
    assert.deepEqual(e.likes, [{ emoji_id: '66', count: 1 }]);
    await play('lagrange');
    const react = (params) => bot.call('set_group_reaction', { group_id: GROUP, message_id: Number(message_id), code: '182', ...params });
    assert.equal((await react({})).status, 'ok');
    assert.equal((await react({ code: 182 })).status, 'failed', 'a number throws');
    assert.equal((await react({ code: '99999999' })).retcode, 1);
    await s.order({ do: 'react', as: OWNER, message_id, emoji_id: '5' });
    const r = await bot.event('its own event', (n) => n.notice_type === 'reaction');
    assert.deepEqual([r.sub_type, r.code, r.operator_id, r.count], ['add', '5', OWNER, 1]);
    await play('llbot');
    const private_ = await s.say('私', { private: true, group: undefined });
    assert.match((await bot.call('set_msg_emoji_like', { message_id: Number(private_.message_id), emoji_id: '76' })).message, /只支持群聊消息/);
    await play('go-cqhttp');
    assert.equal((await like('76')).retcode, 404);
  });

  test('recalls by people and by the bot', async () => {
    await play('napcat');
    const { message_id } = await s.say('说错了');
    await s.order({ do: 'recall', as: MEMBER, message_id });
    const e = await bot.event('the recall', (n) => n.notice_type === 'group_recall' && n.message_id === Number(message_id));
    assert.deepEqual([e.user_id, e.operator_id], [MEMBER, MEMBER]);
    const { data } = await bot.say(text('我也错了'));
    assert.equal((await bot.call('delete_msg', { message_id: data.message_id })).status, 'ok');
    assert.equal((await s.message(data.message_id)).recalled, true);
    const others = await s.say('别动');
    assert.equal((await bot.call('delete_msg', { message_id: Number(others.message_id) })).status, 'failed', 'a member may not');
    const silent = bot.call('get_msg', { message_id: data.message_id });
    assert.equal(await Promise.race([silent, pause(200).then(() => 'silent')]), 'silent', 'NapCat never answers for a recalled message');
  });

  test('groups, members, friends, history, quick operation', async () => {
    await play('napcat');
    assert.deepEqual((await bot.call('get_group_list')).data.map((g) => g.group_id), [GROUP, OTHER_GROUP]);
    const members = (await bot.call('get_group_member_list', { group_id: GROUP })).data;
    assert.deepEqual(members.map((m) => m.role).sort(), ['admin', 'member', 'member', 'member', 'member', 'owner']);
    assert.equal((await bot.call('get_group_member_info', { group_id: GROUP, user_id: `${SELF}` })).data.role, 'member');
    assert.equal((await bot.call('get_group_member_info', { group_id: GROUP, user_id: 4 })).status, 'failed');
    assert.equal((await bot.call('get_friend_list')).data.length, 4);
    assert.equal((await bot.call('get_login_info')).data.user_id, SELF);
    assert.equal((await bot.call('get_group_at_all_remain', { group_id: GROUP })).data.can_at_all, false);
    await s.say('历史');
    assert.equal((await bot.call('get_group_msg_history', { group_id: GROUP, count: 3 })).data.messages.length, 3);
    const context = bot.events.filter((e) => e.post_type === 'message' && e.group_id === GROUP).at(-1);
    assert.equal((await bot.call('.handle_quick_operation', { context, operation: { reply: '[CQ:at,qq=10003]好' } })).data, null);
    assert.deepEqual((await s.messages()).at(-1).segments.map((x) => x.type), ['at', 'text']);
    await play('lagrange');
    assert.equal((await bot.call('.handle_quick_operation', { context, operation: { reply: 'x' } })).retcode, 404);
    await play('napcat');
  });

  test('suffixes are aliases where the implementation has them', async () => {
    for (const [profile, suffix, ok] of [['napcat', '_async', true], ['napcat', '_rate_limited', true], ['go-cqhttp', '_async', true], ['go-cqhttp', '_rate_limited', false], ['lagrange', '_async', false]]) {
      await play(profile);
      const answer = await bot.call(`send_group_msg${suffix}`, { group_id: GROUP, message: text('后缀') });
      assert.equal(answer.status, ok ? 'ok' : 'failed', `${profile} ${suffix}`);
    }
    await play('spec');
    const later = await bot.call('send_group_msg_async', { group_id: GROUP, message: text('稍后') });
    assert.deepEqual([later.status, later.retcode, later.data], ['async', 1, null]);
    await play('napcat');
  });

  test('string form, CQ codes escaped', async () => {
    await s.order({ do: 'set', message_format: 'string' });
    await s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: `${SELF}` } }, { type: 'text', data: { text: ' a&b [CQ:at,qq=all], 好' } }] });
    const e = await bot.event('the message', (m) => typeof m.message === 'string');
    assert.equal(e.message, `[CQ:at,qq=${SELF}] a&amp;b &#91;CQ:at,qq=all&#93;, 好`);
    assert.equal(e.message_format, 'string');
    await s.order({ do: 'set', message_format: 'array' });
  });
});

// ---- misbehaviour ----

describe('faults', () => {
  let s, bot;
  before(async () => { s = await Sandbox.start(); bot = await s.bot(); });
  after(() => s.stop());
  const said = async (words) => (await s.messages()).filter((m) => JSON.stringify(m.segments).includes(words)).length;

  test('late, and only the next n calls of that action', async () => {
    await s.fault('late', { ms: 300, count: 2 });
    const begin = Date.now();
    const late = bot.say(text('晚一'));
    assert.equal((await bot.call('get_status')).status, 'ok');
    assert.ok(Date.now() - begin < 250, 'another action is not late');
    await late;
    assert.ok(Date.now() - begin >= 290);
    assert.equal(await said('晚一'), 1);
    await bot.say(text('晚二'));
    const quick = Date.now();
    await bot.say(text('不晚'));
    assert.ok(Date.now() - quick < 250);
  });

  const silent = [[{ kind: 'silent' }, 1], [{ kind: 'silent', delivered: false }, 0]];
  for (const [fault, count] of silent) {
    test(`no answer: ${JSON.stringify(fault)}`, async () => {
      const words = `静${count}`;
      await s.fault(fault.kind, fault);
      assert.equal(await Promise.race([bot.say(text(words)), pause(250).then(() => 'silent')]), 'silent');
      assert.equal(await said(words), count);
    });
  }

  const refusals = [
    ['muted', {}, 1200, /"result": 120/], ['upload', {}, 1200, /rich media transfer failed/], ['offline', {}, 1200, /1006514/],
    ['risk', {}, 1200, /-70/], ['refuse', { retcode: 1413, text: 'request entity too large' }, 1413, /too large/],
  ];
  for (const [kind, more, retcode, message] of refusals) {
    test(`refused: ${kind}`, async () => {
      await s.fault(kind, more);
      const answer = await bot.say(text(`拒${kind}`));
      assert.equal(answer.status, 'failed');
      assert.equal(answer.retcode, retcode);
      assert.match(answer.message, message);
      assert.equal(answer.wording, answer.message);
      assert.equal(await said(`拒${kind}`), 0);
    });
  }

  test("the implementation's own timeout, with and without delivery", async () => {
    await s.fault('timeout', { delivered: true, push: true });
    const told = await bot.say(text('其实到了'));
    assert.match(told.message, /^Timeout: NTEvent/);
    assert.equal(await said('其实到了'), 1);
    await bot.event('message_sent', (e) => e.post_type === 'message_sent' && e.raw_message === '其实到了');
    await s.fault('timeout', { delivered: false });
    assert.match((await bot.say(text('没到'))).message, /^Timeout: NTEvent/);
    assert.equal(await said('没到'), 0);
  });

  test('a reaction with a result, an answer without echo, twice, garbled', async () => {
    await s.fault('result', { action: 'set_msg_emoji_like', retcode: -1 });
    assert.deepEqual((await bot.call('set_msg_emoji_like', { message_id: 1, emoji_id: '76' })).data, { result: -1, errMsg: '' });
    const count = () => bot.frames.length;
    let before = count();
    await s.fault('no_echo');
    bot.say(text('无名'));
    await until('an answer', () => count() > before);
    assert.equal(bot.frames.at(-1).json.echo, '');
    before = count();
    await s.fault('twice');
    await bot.say(text('两遍'));
    await until('both answers', () => count() >= before + 2);
    before = count();
    await s.fault('garbled');
    bot.say(text('乱码'));
    await until('an answer', () => count() > before);
    assert.equal(bot.frames.at(-1).json, null);
  });

  for (const [kind, code, delivered] of [['close_after', 1001, 1], ['close_before', 1001, 0], ['drop', 1006, 1]]) {
    test(kind, async () => {
      const other = await s.bot();
      await s.fault(kind);
      other.say(text(`断${kind}`));
      await until('the end', () => other.closed);
      assert.equal(other.closed.code, code);
      assert.equal(await said(`断${kind}`), delivered);
      assert.equal(other.answers.length, 0);
    });
  }

  test('offline: heartbeats say so, sends are refused', async () => {
    await s.order({ do: 'set', offline: true, heartbeat_ms: 50 });
    const beat = await bot.event('a heartbeat', (e) => e.meta_event_type === 'heartbeat' && e.status.online === false);
    assert.equal(beat.interval, 50);
    assert.match((await bot.say(text('x'))).message, /1006514/);
    await s.order({ do: 'set', offline: false, heartbeat: false });
  });

  test('calls that are left alone first', async () => {
    await s.fault('refuse', { skip: 2, retcode: 7, text: 'third' });
    for (const [words, status] of [['甲', 'ok'], ['乙', 'ok'], ['丙', 'failed'], ['丁', 'ok']]) assert.equal((await bot.say(text(words))).status, status, words);
  });

  test('answers, then closes', async () => {
    const other = await s.bot();
    await s.fault('answer_close');
    assert.equal((await other.say(text('答完'))).status, 'ok');
    await until('the end', () => other.closed);
    assert.equal(other.closed.code, 1001);
    assert.equal(await said('答完'), 1);
  });

  for (const delivered of [true, false]) {
    test(`a restart, ${delivered ? 'after' : 'before'} it acts: nobody may connect for a while`, async () => {
      const other = await s.bot();
      await s.fault('restart', { ms: 300, delivered });
      other.say(text(`重启${delivered}`));
      await until('the end', () => other.closed);
      assert.equal(other.closed.code, 1006);
      assert.equal((await s.bot()).refused, 503);
      assert.equal(await said(`重启${delivered}`), delivered ? 1 : 0);
      await pause(320);
      bot = await s.bot();
      assert.equal((await bot.say(text('回来'))).status, 'ok');
    });
  }

  test('logged out for a while: heartbeats tell both', async () => {
    const from = bot.events.length;
    await s.fault('log_out', { ms: 250 });
    assert.match((await bot.say(text('掉线'))).message, /1006514/);
    assert.match((await bot.say(text('还没上'))).message, /1006514/);
    const beat = (online) => until(`online: ${online}`, () => bot.events.slice(from).find((e) => e.meta_event_type === 'heartbeat' && e.status.online === online));
    await beat(false);
    await beat(true);
    assert.equal((await bot.say(text('上线'))).status, 'ok');
    assert.equal(await said('掉线'), 0);
  });

  test('what a chat shows', async () => {
    await bot.say(text('最后一句'));
    const { messages } = await s.order({ do: 'shown', group: GROUP, count: 1 });
    assert.equal(messages.length, 1);
    assert.deepEqual(messages[0].segments, text('最后一句'));
    assert.equal(messages[0].sender, SELF);
    assert.deepEqual((await s.order({ do: 'shown', user: STRANGER })).messages, []);
    for (const what of [{ group: 5 }, { group: GROUP, count: 0 }, { group: GROUP, count: 501 }, {}]) await assert.rejects(s.order({ do: 'shown', ...what }), /.+/);
  });

  test('every token refused, own messages reported, muted, links ended', async () => {
    await s.order({ do: 'set', refuse_tokens: true, report_self: true });
    const refused = await s.bot();
    await until('the close', () => refused.closed);
    assert.equal(refused.answers[0].retcode, 1403);
    await s.order({ do: 'set', refuse_tokens: false });
    await bot.say(text('自己说的'));
    await bot.event('message_sent', (e) => e.post_type === 'message_sent' && e.raw_message === '自己说的' && e.user_id === SELF);
    await s.order({ do: 'mute', group: GROUP, on: true });
    await bot.event('the ban', (e) => e.notice_type === 'group_ban' && e.sub_type === 'ban');
    assert.match((await bot.say(text('x'))).message, /"result": 120/);
    await s.order({ do: 'mute', group: GROUP, on: false });
    await s.order({ do: 'raw', text: 'no json' });
    await s.order({ do: 'event', event: { post_type: 'notice', notice_type: 'x', n: 7512345678901234567n.toString() } });
    await bot.event('the raw event', (e) => e.notice_type === 'x');
    assert.ok(bot.frames.some((f) => f.text === 'no json'));
    await s.order({ do: 'link', end: 'close', code: 1012 });
    await until('the close', () => bot.closed);
    assert.equal(bot.closed.code, 1012);
  });

  test('orders that are no orders', async () => {
    const bad = [{}, { do: 'fly' }, { do: 'say', as: 1, text: 'x' }, { do: 'say', as: MEMBER, group: 5, text: 'x' }, { do: 'say', as: MEMBER, group: GROUP },
      { do: 'say', as: MEMBER, group: GROUP, segments: [{}] }, { do: 'say', as: MEMBER, group: GROUP, segments: 'x' }, { do: 'fault', kind: 'none' }, { do: 'fault', kind: 'late', ms: -1 },
      { do: 'fault', kind: 'late', count: 0 }, { do: 'fault', kind: 'late', action: 'x'.repeat(100) }, { do: 'play', profile: 'x' }, { do: 'set', sign: 'x' }, { do: 'set', heartbeat_ms: -5 },
      { do: 'mute', group: 1 }, { do: 'role', group: GROUP, user: SELF, role: 'king' }, { do: 'event', event: 5 }, { do: 'raw' }, { do: 'link', end: 'x' }, { do: 'link', end: 'drop', ms: -1 }, { do: 'fault', kind: 'late', skip: -1 }, { do: 'react', as: OWNER, message_id: '1', emoji_id: '76' }, { do: 'recall', as: OWNER, message_id: 'x' }];
    for (const what of bad) await assert.rejects(s.order(what), /.+/, JSON.stringify(what));
    s.ui.send('no json');
    s.ui.send('[1]');
    await until('both refusals', () => s.ui.frames.filter((f) => f.json?.re === null).length === 2);
    assert.equal((await s.order({ do: 'state' })).ok, true);
  });
});

// ---- reverse ----

describe('reverse', () => {
  test('--connect dials with the token; a drop has no close frame, and it dials again', async () => {
    const { WebSocketServer } = await import('ws');
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await until('the server', () => server.address());
    const came = [];
    server.on('connection', (socket, request) => {
      const one = { headers: request.headers, code: null, frames: [] };
      socket.on('message', (data) => one.frames.push(JSON.parse(data)));
      socket.on('close', (code) => { one.code = code; });
      came.push(one);
    });
    const url = `ws://127.0.0.1:${server.address().port}/onebot/v11/ws`;
    const s = await Sandbox.start({ token: 'back', connect: url, profile: 'lagrange' });
    try {
      await until('the dial', () => came[0]?.frames.length);
      assert.equal(came[0].headers.authorization, 'Bearer back');
      assert.equal(came[0].headers['x-self-id'], String(SELF));
      for (const [end, code] of [['drop', 1006], ['close', 1000]]) {
        const last = came.at(-1), before = came.length;
        await s.order({ do: 'link', end });
        await until('the end', () => last.code);
        assert.equal(last.code, code, end);
        await until('the next dial', () => came.length > before);
      }
    } finally {
      assert.equal(await s.stop(), 0);
      server.close();
    }
  });
});

// ---- walls ----

describe('walls', () => {
  let s;
  before(async () => { s = await Sandbox.start(); });
  after(() => s.stop());
  const get = async (path, headers = {}) => {
    const { request } = await import('node:http');
    return new Promise((resolve, reject) => {
      const r = request({ host: '127.0.0.1', port: s.port, path, headers }, (response) => {
        let body = '';
        response.on('data', (d) => { body += d; });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      });
      r.on('error', reject);
      r.end();
    });
  };

  test('the page wants its token', async () => {
    const page = await get(`/?token=${s.page_token}`);
    assert.equal(page.status, 200);
    assert.match(page.headers['content-security-policy'], /default-src 'none'/);
    assert.doesNotMatch(page.body, /<script>|style=| on[a-z]+=/);
    for (const path of ['/', '/?token=', '/?token=wrong', `/?token=${s.page_token}x`, `/?token=${s.page_token.slice(1)}`]) {
      const { status, body } = await get(path);
      assert.equal(status, 403, path);
      assert.match(body, /token/);
      assert.ok(!body.includes(s.page_token));
    }
    for (const path of ['/page.js', '/page.css', '/segments.js', '/words.js', '/icon.svg', '/faces.tsv', '/demo/cover.png', '/demo/picture.png']) {
      assert.equal((await get(path)).status, 200, path);
    }
    assert.equal((await get('/page/../../etc/passwd')).status, 404);
    assert.equal((await get('/no')).status, 404);
  });

  test('the connection of the page wants it too', async () => {
    for (const query of ['', '?token=wrong', `?access_token=${s.access_token}`]) {
      const ui = await new Socket(`ws://127.0.0.1:${s.port}/ui${query}`).open();
      assert.equal(ui.refused, 403, query);
    }
  });

  test('a foreign Host or Origin gets 403', async () => {
    const foreign = [{ host: 'evil.example' }, { host: `evil.example:${s.port}` }, { host: '127.0.0.1.evil.example' }, { origin: 'https://evil.example' }, { origin: 'null' }, { origin: `http://127.0.0.1:${s.port + 1}` }, { origin: `http://127.0.0.1.evil.example:${s.port}` }];
    for (const headers of foreign) {
      assert.equal((await get(`/?token=${s.page_token}`, headers)).status, 403, JSON.stringify(headers));
      const ui = await new Socket(`ws://127.0.0.1:${s.port}/ui?token=${s.page_token}`, { headers }).open();
      assert.equal(ui.refused, 403, JSON.stringify(headers));
      const bot = await s.bot('', { headers });
      assert.equal(bot.refused, 403, JSON.stringify(headers));
    }
    for (const headers of [{ host: `localhost:${s.port}` }, { origin: `http://127.0.0.1:${s.port}` }]) {
      assert.equal((await get(`/?token=${s.page_token}`, headers)).status, 200, JSON.stringify(headers));
    }
  });

  test('only so many pages and bots, and the places come free again', async () => {
    const bots = [];
    for (let i = 0; i < 32; i++) bots.push(await s.bot());
    const last = await s.bot();
    await until('the close', () => last.closed);
    assert.equal(last.closed.code, 1013);
    for (const b of bots) b.close();
    const again = await until('a free place', async () => {
      const b = await s.bot();
      await pause(30);
      return b.closed ? null : b;
    });
    assert.equal((await again.call('get_status')).status, 'ok');
    again.close();
  });

  test('500 messages of a chat are kept', async () => {
    const { message_id } = await s.say('第一条');
    const bot = await s.bot();
    for (let i = 0; i < 500; i++) await s.say(`${i}`);
    assert.notEqual((await bot.call('get_msg', { message_id: Number(message_id) })).retcode, 0);
    const page = await new Socket(`ws://127.0.0.1:${s.port}/ui?token=${s.page_token}`).open();
    await until('the messages', () => page.frames.filter((f) => f.json?.push === 'message').length === 500);
    page.close();
    bot.close();
  });

  test('large and deep frames', async () => {
    const bot = await s.bot();
    const large = await bot.say([{ type: 'image', data: { file: `base64://${'QUJD'.repeat(5 * 1024 * 1024)}` } }]);
    assert.equal(large.status, 'ok');
    assert.match((await s.message(large.data.message_id)).segments[0].data.file, /^too-long:\d+$/);
    const got = await bot.call('get_msg', { message_id: large.data.message_id });
    assert.ok(Number(got.data.message[0].data.file_size) > 15e6);
    bot.send('['.repeat(100000));
    bot.send(`{"action":"send_group_msg","params":{"group_id":${GROUP},"message":${'[CQ:'.repeat(3)}`);
    const hostile = '[CQ:at,qq=1'.repeat(200000);
    const begin = Date.now();
    await bot.say(hostile);
    assert.ok(Date.now() - begin < 2000, 'linear time');
    assert.equal((await bot.call('get_status')).status, 'ok');
    bot.close();
  });
});
