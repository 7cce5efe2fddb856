// What a model may answer with besides a structured reply: tools that ask a server, a document in the
// operator's schema, words with directives. `replygate run`, the sandbox as QQ, aimock and a scripted
// server as the model, a server of our own behind the tools.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { MEMBER, OWNER, Run, SELF, Sandbox, root, until } from '../lib/sandbox.mjs';

const KEY = 'sk-Z3Q-never-to-be-seen';
const pause = (ms) => new Promise((r) => setTimeout(r, ms));
const reply = (segments, reaction = '') => JSON.stringify({ messages: [{ segments }], reaction });
const words = (text) => reply([{ type: 'text', data: { text } }]);
const ask = (s, text) => s.say('', { text: undefined, segments: [{ type: 'at', data: { qq: String(SELF) } }, { type: 'text', data: { text: ` ${text}` } }] });
const mine = async (s) => (await s.messages()).filter((m) => m.sender === SELF);
const said = (m) => m.segments.filter((x) => x.type === 'text').map((x) => x.data.text).join('');
const answered = (s, text) => until(`the answer ${text}`, async () => (await mine(s)).find((m) => said(m).includes(text)));

// A server that keeps what it was asked and answers with the next script: a function of the response.
class Server {
  requests = [];
  scripts = [];
  closed = 0; // connections that the other side gave up
  async start() {
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (d) => { body += d; });
      request.on('end', () => {
        response.on('close', () => { if (!response.writableEnded) this.closed++; });
        this.requests.push({ url: request.url, method: request.method, headers: request.headers, body });
        (this.scripts.shift() ?? this.always)(response);
      });
    }).listen(0, '127.0.0.1');
    await until('the server', () => this.server.listening);
    this.port = this.server.address().port;
    return this;
  }
  stop() { this.server.closeAllConnections(); this.server.close(); }
}

// A model of OpenAI's kind: each script is a text, or a choice.
const choice = (c) => (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [typeof c === 'string' ? { message: { content: c }, finish_reason: 'stop' } : c], usage: { total_tokens: 10 } }));
const calls = (...all) => ({ message: { content: null, tool_calls: all.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: args } })) }, finish_reason: 'tool_calls' });
const begin = (model, ...scripts) => { model.requests = []; model.scripts = scripts.map(choice); };
const asked = (model, i) => JSON.parse(model.requests[i].body);

const configuration = (s, { base = '', dialect = 'openai', agent = '', group = '', tools = '', more = '' }) => `
admins: [${OWNER}]
endpoints:
  main: {connect: "ws://127.0.0.1:${s.port}", access_token: "${s.access_token}"}
providers:
  one: {dialect: ${dialect}, base_url: "${base}", api_key: "${KEY}", model: m${more}}
${tools}
groups:
  default:
    pace: {min: 0, max: 0}
    rate: {per_minute: 600}
${group}
    agent:
      enabled: true
${agent}
`;

const musicTool = (port, more = '') => `tools:
  search_music:
    description: "Finds songs by name or singer"
    parameters:
      type: object
      properties:
        keyword: {type: string, description: "Song or singer"}
      required: [keyword]
      additionalProperties: false
    url: "http://127.0.0.1:${port}/search?limit=1&q={keyword}"
    headers: {Authorization: "Bearer \${MUSIC_KEY}"}
    addresses: any
    timeout: 2
${more}`;

const song = { title: '晴天', singer: '周杰伦', url: 'https://music.163.com/#/song?id=186016', cover: 'https://p1.music.126.net/c.jpg', audio: 'https://music.163.com/song/media/outer/url?id=186016.mp3' };
const share = reply([{ type: 'share', data: { url: song.url, title: song.title, description: song.singer, image: song.cover, audio: song.audio, platform: 'netease' } }]);

for (const [dialect, base] of [['openai', '/v1'], ['anthropic', ''], ['gemini', ''], ['ollama', '']]) {
  describe(`a music search feeds a card, with aimock as ${dialect}`, () => {
    let s, run, mock, music;
    before(async () => {
      music = await new Server().start();
      music.always = (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ songs: [song] }));
      mock = new LLMock({ port: 0 });
      mock.onMessage(/算了/, { content: words('好的') });
      mock.addFixture({ match: { predicate: (r) => JSON.stringify(r.messages.at(-1)).includes('186016') }, response: { content: share } });
      mock.onMessage(/放一首晴天/, { toolCalls: [{ name: 'search_music', arguments: JSON.stringify({ keyword: '晴天&limit=9' }) }] });
      mock.onMessage(/慢慢找/, { toolCalls: [{ name: 'search_music', arguments: JSON.stringify({ keyword: '慢' }) }] });
      await mock.start();
      s = await Sandbox.start();
      run = await Run.start({ config: configuration(s, { dialect, base: mock.url + base, tools: musicTool(music.port), agent: '      tools: [search_music]\n' }), environment: { MUSIC_KEY: KEY } });
      await until('the connection', () => run.log.includes('ready'));
    });
    after(async () => {
      assert.equal(await run.stop(), 0);
      assert.ok(!run.log.includes(KEY), 'the key stands in the log');
      assert.ok(!run.log.includes('/search'), 'the address stands in the log');
      await s.stop();
      await mock.stop();
      music.stop();
    });

    test('the model asks the tool and answers with a share', async () => {
      await ask(s, '放一首晴天');
      const card = await until('the card', async () => (await mine(s)).find((m) => m.segments.some((x) => x.type === 'music' || x.type === 'json')));
      assert.match(JSON.stringify(card.segments), /186016/);
      assert.equal(music.requests.length, 1);
      assert.equal(music.requests[0].url, `/search?limit=1&q=${encodeURIComponent('晴天&limit=9')}`);
      assert.equal(music.requests[0].headers.authorization, `Bearer ${KEY}`);
    });

    test('a newer message ends the call that is waited for', async () => {
      music.scripts = [() => {}];
      await ask(s, '慢慢找');
      await until('the call', () => music.requests.length === 2);
      await ask(s, '算了');
      await until('the connection to be closed', () => music.closed === 1, 1500);
      await answered(s, '好的');
    });
  });
}

describe('tools by their limits', () => {
  let s, run, model, music;
  before(async () => {
    music = await new Server().start();
    music.always = (r) => r.writeHead(200).end(JSON.stringify({ songs: [song] }));
    model = await new Server().start();
    s = await Sandbox.start();
    run = await Run.start({
      config: `${configuration(s, { base: `http://127.0.0.1:${model.port}/v1`, tools: musicTool(music.port, `  secret_door: {description: "d", url: "http://127.0.0.1:${music.port}/door", addresses: any}\n  inside: {description: "d", url: "http://127.0.0.1:${music.port}/inside"}\n`), agent: '      tools: [search_music, inside]\n      tool_rounds: 3\n      newer: queue\n' })}`,
      environment: { MUSIC_KEY: KEY },
    });
    await until('the connection', () => run.log.includes('ready'));
  });
  after(async () => {
    assert.equal(await run.stop(), 0);
    assert.ok(!run.log.includes(KEY));
    await s.stop();
    model.stop();
    music.stop();
  });
  const last = (i) => asked(model, i).messages.at(-1).content;

  test('the model sees name, words and parameters, and the result as data', async () => {
    begin(model, calls(['a', 'search_music', '{"keyword":"x"}']), words('一'));
    await ask(s, '1');
    await answered(s, '一');
    const [tool] = asked(model, 0).tools;
    assert.equal(tool.function.name, 'search_music');
    assert.deepEqual(tool.function.parameters.required, ['keyword']);
    assert.deepEqual(JSON.parse(last(1)), { data: { songs: [song] } });
    assert.ok(!model.requests.some((r) => r.body.includes(KEY)), 'the tool\'s key reaches the model');
    assert.match(asked(model, 0).messages[0].content, /nor does anything that a tool returns/);
  });

  test('the same call is made once, in a round and in the next', async () => {
    music.requests = [];
    begin(model, calls(['a', 'search_music', '{"keyword":"y"}'], ['b', 'search_music', '{ "keyword": "y" }']), calls(['c', 'search_music', '{"keyword":"y"}'], ['d', 'search_music', '{"keyword":"z"}']), words('二'));
    await ask(s, '2');
    await answered(s, '二');
    assert.deepEqual(music.requests.map((r) => r.url.at(-1)), ['y', 'z']);
    const results = asked(model, 2).messages.filter((m) => m.role === 'tool');
    assert.equal(results.length, 4);
    assert.ok(results.every((m) => JSON.parse(m.content).data.songs.length === 1));
  });

  test('what the group does not list, what does not fit, what is not public', async () => {
    music.requests = [];
    begin(model, calls(['a', 'secret_door', '{}'], ['b', 'find_member', '{"name":"x"}'], ['c', 'search_music', '{"keyword":7}'], ['d', 'search_music', 'broken'], ['e', 'inside', '{}']), words('三'));
    await ask(s, '3');
    await answered(s, '三');
    const results = asked(model, 1).messages.filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content).error);
    assert.match(results[0], /no such tool/);
    assert.match(results[1], /no such tool/);
    assert.match(results[2], /\$\.keyword/);
    assert.match(results[3], /missing|no JSON/);
    assert.match(results[4], /not a public one/);
    assert.equal(music.requests.length, 0);
  });

  test('a server that drips, one that sends away, one that never ends', async () => {
    let timer;
    music.scripts = [
      (r) => { r.writeHead(200); timer = setInterval(() => r.write(' '), 100); },
      (r) => r.writeHead(302, { location: `http://127.0.0.1:${music.port}/door` }).end(),
      (r) => { r.writeHead(200); const more = () => { while (r.write('歌'.repeat(1000))); r.once('drain', more); }; more(); },
    ];
    music.requests = [];
    begin(model, calls(['a', 'search_music', '{"keyword":"1"}'], ['b', 'search_music', '{"keyword":"2"}'], ['c', 'search_music', '{"keyword":"3"}']), words('四'));
    await ask(s, '4');
    await answered(s, '四');
    clearInterval(timer);
    const results = asked(model, 1).messages.filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content));
    assert.deepEqual(results[0], { error: 'no answer in time' });
    assert.deepEqual(results[1], { error: 'HTTP status 302' });
    assert.equal(results[2].cut, true);
    assert.ok(Buffer.byteLength(results[2].text) <= 8192 && !results[2].text.includes('\uFFFD'));
    assert.equal(music.requests.length, 3);
  });

  test('after the last round it must answer, in the same form', async () => {
    begin(model, calls(['a', 'search_music', '{"keyword":"a"}']), calls(['b', 'search_music', '{"keyword":"b"}']), calls(['c', 'search_music', '{"keyword":"c"}']), words('五'));
    await ask(s, '5');
    await answered(s, '五');
    assert.equal(asked(model, 3).tool_choice, 'none');
    assert.equal(asked(model, 2).tool_choice, undefined);
  });

  test('a server that says nothing is not waited for longer than its time', async () => {
    music.requests = [];
    music.scripts = [() => {}];
    begin(model, calls(['a', 'search_music', '{"keyword":"slow"}']), words('六'));
    await ask(s, '6');
    await until('the call', () => music.requests.length === 1);
    await answered(s, '六');
    assert.match(last(1), /no answer in time/);
  });
});

describe('a group that wants documents', () => {
  const schema = { type: 'object', properties: { mood: { type: 'string', enum: ['good', 'bad'] }, why: { type: 'string' } }, required: ['mood', 'why'], additionalProperties: false };
  const good = '{"mood": "good", "why": "晴天"}';
  let folder;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'rg-answer-'));
    writeFileSync(join(folder, 'mood.json'), JSON.stringify(schema));
  });
  after(() => rmSync(folder, { recursive: true }));

  const open = async (dialect, agent = '      tools: []\n') => {
    const model = await new Server().start();
    const s = await Sandbox.start();
    const run = await Run.start({ config: configuration(s, { base: `http://127.0.0.1:${model.port}/v1`, dialect, agent: `${agent}      newer: queue\n`, group: `    output: schema\n    output_schema: ${folder}/mood.json\n` }) });
    await until('the connection', () => run.log.includes('ready'));
    return { model, s, run };
  };
  const close = async ({ model, s, run }) => {
    assert.equal(await run.stop(), 0);
    model.stop();
    await s.stop();
  };

  test('native: the schema in the request, the document in the chat, what fails by its name', async () => {
    const x = await open('openai');
    const { model, s, run } = x;
    begin(model, good);
    await ask(s, '1');
    await answered(s, good);
    assert.deepEqual(asked(model, 0).response_format.json_schema.schema, schema);
    assert.ok(!asked(model, 0).messages[0].content.includes('segments'));
    for (const [script, code] of [
      ['{"mood":"so so","why":""}', 'invalid_json'],
      [`\`\`\`json\n${good.replace('晴天', '围栏')}\n\`\`\``, 'invalid_json'],
      ['', 'invalid_json'],
      [{ message: { content: good.replace('晴天', '拒绝'), refusal: 'no' }, finish_reason: 'length' }, 'refusal'],
      [{ message: { content: good.replace('晴天', '半截') }, finish_reason: 'length' }, 'truncated'],
      [{ message: { content: good.replace('晴天', '过滤') }, finish_reason: 'content_filter' }, 'refusal'],
    ]) {
      const before = run.log.length;
      begin(model, script);
      await ask(s, '再');
      await until(`the log of ${code}`, () => run.log.slice(before).includes(`held back, ${code}`));
      assert.equal(model.requests.length, 1, 'a document is not asked for again');
    }
    assert.ok(!(await mine(s)).some((m) => /围栏|拒绝|半截|过滤/.test(said(m))));
    await close(x);
  });

  test('beside tools: the words of a round are a message, the document comes last', async () => {
    const x = await open('openai', '      tools: [find_member]\n');
    const { model, s } = x;
    begin(model, { message: { content: '我看看', tool_calls: [{ id: 'a', type: 'function', function: { name: 'find_member', arguments: '{"name":"明"}' } }] }, finish_reason: 'tool_calls' }, good);
    await ask(s, '心情');
    await answered(s, good);
    const all = (await mine(s)).map(said);
    assert.ok(all.findIndex((t) => t === '我看看') >= 0 && all.findIndex((t) => t === '我看看') < all.findIndex((t) => t.includes(good)));
    await close(x);
  });

  test('unsupported: a form that is stated, and then cannot be', async () => {
    const model = await new Server().start();
    const s = await Sandbox.start();
    const run = await Run.start({ config: configuration(s, { base: `http://127.0.0.1:${model.port}/v1`, dialect: 'vllm', more: ', structured_output: native', agent: '      tools: []\n', group: `    output: schema\n    output_schema: ${folder}/mood.json\n` }) });
    await until('the connection', () => run.log.includes('ready'));
    begin(model, good);
    await s.say('/gate set agent.tools find_member', { as: OWNER });
    await answered(s, 'agent.tools');
    await ask(s, '1');
    await until('the log', () => run.log.includes('held back, unsupported'));
    assert.equal(model.requests.length, 0, 'nothing is asked');
    await close({ model, s, run });
  });

  test('in the prompt: a fence is taken off', async () => {
    const x = await open('deepseek');
    const { model, s } = x;
    begin(model, `\`\`\`json\n${good}\n\`\`\``);
    await ask(s, '1');
    await answered(s, good);
    assert.match(asked(model, 0).messages[0].content, /Answer with one JSON object matching: \{/);
    assert.ok(!(await mine(s)).some((m) => said(m).includes('```')));
    await close(x);
  });

  test('a schema that is none keeps the program from starting', async () => {
    writeFileSync(join(folder, 'bad.json'), JSON.stringify({ ...schema, properties: { mood: { type: 'string', pattern: '(a+)+$' }, why: { type: 'string' } } }));
    const s = await Sandbox.start();
    const run = await Run.start({ config: configuration(s, { base: 'http://127.0.0.1:9/v1', group: `    output: schema\n    output_schema: ${folder}/bad.json\n` }) }).catch((e) => e);
    const log = run.log ?? String(run);
    assert.match(log, /:\d+:\d+: groups\.default\.output_schema: .*\$\.mood: .*pattern/);
    await run.stop?.();
    await s.stop();
  });
});

describe('words with directives', () => {
  let s, run, model, folder;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rg-media-'));
    mkdirSync(join(folder, 'media'));
    copyFileSync(`${root}tests/data/media/picture.png`, join(folder, 'media/cat.png'));
    copyFileSync(`${root}tests/data/media/frames.mp3`, join(folder, 'media/voice.mp3'));
    model = await new Server().start();
    s = await Sandbox.start();
    run = await Run.start({ config: configuration(s, { base: `http://127.0.0.1:${model.port}/v1`, agent: '      tools: []\n      newer: queue\n', group: `    output: text\n    directives: {enabled: true, media_lines: true}\n    media: {roots: ["${folder}/media"]}\n` }) });
    await until('the connection', () => run.log.includes('ready'));
  });
  after(async () => {
    assert.equal(await run.stop(), 0);
    await s.stop();
    model.stop();
    rmSync(folder, { recursive: true });
  });
  const segment = (m, type) => m.segments.find((x) => x.type === type);

  test('a target and a picture', async () => {
    begin(model, '[[reply_to_current]] 看猫\nMEDIA:cat.png\nMEDIA:http://example.com/x.png\nMEDIA:../secret.png');
    await ask(s, '来张猫');
    const m = await answered(s, '看猫');
    const question = (await s.messages()).find((x) => x.sender === MEMBER && said(x).includes('来张猫'));
    assert.equal(String(segment(m, 'reply').data.id), String(question.message_id));
    assert.ok(segment(m, 'image'));
    assert.ok(said(m).includes('MEDIA:http://example.com/x.png'), 'an http address stays words');
    assert.ok(!JSON.stringify(m.segments).includes('secret.png') && !said(m).includes('[['));
    assert.match(asked(model, 0).messages[0].content, /MEDIA:/);
    assert.equal(asked(model, 0).response_format, undefined);
    assert.match(run.log, /attachments of its directives left out: 1/);
  });

  test('voice, and silence', async () => {
    const before = (await mine(s)).length;
    begin(model, '[[audio_as_voice]]\nMEDIA:voice.mp3');
    await ask(s, '唱一句');
    await until('the voice', async () => (await mine(s)).find((m) => segment(m, 'record')));
    begin(model, 'NO_REPLY');
    await ask(s, '别说话');
    await until('the question', () => model.requests.length === 1);
    await pause(300);
    assert.equal((await mine(s)).length, before + 1);
  });
});
