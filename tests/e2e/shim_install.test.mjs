// ./run install: every framework that is recognised, again, upgraded while loaded, and what is none.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { program, root } from '../lib/sandbox.mjs';
import { folder, library, remove, runInstall } from '../lib/shim.mjs';

const NODE = ['node/index.js', 'node/carrier.js', 'node/index.d.ts', 'node/package.json', 'README.md', 'README.zh.md', 'replygate.example.yaml'];
const PYTHON = ['replygate.py', 'carrier.py', 'README.md', 'README.zh.md', 'replygate.example.yaml'];
const ASTRBOT = 'astrbot_plugin_replygate';

// What a framework's folder looks like, where the plugin goes, which files it has there, where the
// configuration goes, and what is to be written where.
const ROWS = [
  ['Koishi', { 'koishi.yml': 'plugins: {}\n' }, 'plugins/replygate', ['index.js', 'index.d.ts', 'package.json', ...NODE], 'replygate.yaml', /koishi\.yml .*\.\/plugins\/replygate: \{\}/],
  ['Koishi', { 'package.json': '{"dependencies": {"koishi": "^4"}}' }, 'plugins/replygate', ['index.js', ...NODE], 'replygate.yaml', /koishi\.yml/],
  ['zhin', { 'zhin.config.yml': 'plugins: {}\n', 'package.json': '{}' }, 'plugins/replygate', ['plugin.js', 'schema.json', 'package.json', ...NODE], 'replygate.yaml', /"package": "\.\/plugins\/replygate"/],
  ['zhin', { 'package.json': '{"zhin": {"protocol": 1}}' }, 'plugins/replygate', ['plugin.js'], 'replygate.yaml', /"instanceKey"/],
  ['TRSS-Yunzai', { 'package.json': '{"name": "trss-yunzai"}' }, 'plugins/replygate', ['index.js', ...NODE], 'replygate.yaml', /next start/],
  ['TRSS-Yunzai', { 'plugins/adapter/OneBotv11.js': '' }, 'plugins/replygate', ['index.js'], 'replygate.yaml', /next start/],
  ['NoneBot', { 'pyproject.toml': '[project]\ndependencies = ["nonebot2[fastapi]>=2.3"]\n[tool.nonebot]\nplugin_dirs = ["src/plugins"]\n' }, 'src/plugins/replygate', ['__init__.py', ...PYTHON], 'replygate.yaml', /plugin_dirs = \["src\/plugins"\] .*already/],
  ['NoneBot', { 'bot.py': 'import nonebot\n' }, 'plugins/replygate', ['__init__.py'], 'replygate.yaml', /plugin_dirs = \["plugins"\]/],
  ['AstrBot', { 'data/plugins/x/main.py': '', 'data/cmd_config.json': '{}' }, `data/plugins/${ASTRBOT}`, ['main.py', 'metadata.yaml', '_conf_schema.json', ...PYTHON], `data/plugin_data/${ASTRBOT}/replygate.yaml`, /next start/],
];

const librariesOf = (path) => readdirSync(path).filter((n) => /\.so$/.test(n)).sort();
// A library of the same version with other bytes, as another build of it would be.
const rebuilt = (path) => {
  const other = join(path, 'other-build.so');
  copyFileSync(library, other);
  appendFileSync(other, 'another build');
  return other;
};

describe('./run install', () => {
  for (const [name, files, plugin, has, config, line] of ROWS) {
    test(`${name}, known by ${Object.keys(files).join(' and ')}`, () => {
      const path = folder(files);
      const first = runInstall(path);
      assert.equal(first.status, 0, first.error);
      assert.match(first.out, new RegExp(`^${name} in `));
      assert.match(first.out, line);
      assert.match(first.out, /admins: \[/);
      assert.match(first.out, /What remains/);
      for (const file of has) assert.equal(existsSync(join(path, plugin, file)), true, file);
      const inner = join(path, plugin, existsSync(join(path, plugin, 'node')) ? 'node' : '');
      assert.equal(librariesOf(inner).length, 1);
      const checked = spawnSync(program, ['config', join(path, config)], { encoding: 'utf8' });
      assert.equal(checked.status, 0, checked.stderr);

      const before = statSync(join(inner, librariesOf(inner)[0])).ino;
      writeFileSync(join(path, config), 'admins: [7]\nendpoints: {main: {connect: host}}\n');
      const second = runInstall(path);
      assert.equal(second.status, 0, second.error);
      assert.match(second.out, /up to date/);
      assert.match(second.out, /kept /);
      assert.match(second.out, /Restart the framework/);
      assert.doesNotMatch(second.out, /What remains/);
      assert.equal(readFileSync(join(path, config), 'utf8').startsWith('admins: [7]'), true, 'a configuration is never written over');
      assert.equal(statSync(join(inner, librariesOf(inner)[0])).ino, before, 'nor a library');
      remove(path);
    });
  }

  test("the folder of a framework's plugins will do, also from elsewhere", () => {
    const path = folder({ 'koishi.yml': '', 'plugins/.keep': '' });
    const { status, out } = runInstall(`${basename(path)}/plugins`, { cwd: join(path, '..') });
    assert.equal(status, 0);
    assert.match(out, new RegExp(`^Koishi in .*${basename(path)}\\n`));
    remove(path);
  });

  test('an upgrade has a new name, and what is loaded is left alone', async () => {
    const path = folder({ 'bot.py': 'import nonebot\n' });
    const inner = join(path, 'plugins/replygate');
    runInstall(path);
    const [old] = librariesOf(inner);
    const host = spawn('python3', ['-c', 'import ctypes, sys, time\nctypes.CDLL(sys.argv[1])\nprint("loaded", flush=True)\ntime.sleep(60)', join(inner, old)]);
    await once(host.stdout, 'data');
    const env = { REPLYGATE_SO: rebuilt(path) };
    const upgrade = runInstall(path, { env });
    assert.equal(upgrade.status, 0, upgrade.error);
    assert.match(upgrade.out, new RegExp(`left ${old}: process ${host.pid}`));
    assert.deepEqual(librariesOf(inner), [old.replace('.so', '-2.so'), old].sort());
    assert.equal(host.exitCode, null, 'it lives');
    host.kill();
    await once(host, 'exit');
    const newest = spawnSync('python3', ['-c', 'import replygate; print(replygate.library().name)'], { cwd: inner, encoding: 'utf8', env: { ...process.env, REPLYGATE_SO: '' } });
    assert.equal(newest.stdout.trim(), old.replace('.so', '-2.so'), 'a restart takes the new one');

    const back = runInstall(path);
    assert.equal(back.status, 0, back.error);
    assert.deepEqual(librariesOf(inner), [old.replace('.so', '-3.so')], 'the way back is an upgrade too, and the rest goes');
    remove(path);
  });

  test('Node takes the newest as well', () => {
    const path = folder({ 'koishi.yml': '' });
    runInstall(path);
    const inner = join(path, 'plugins/replygate/node');
    const [old] = librariesOf(inner);
    copyFileSync(join(inner, old), join(inner, old.replace('.so', '-10.so')));
    copyFileSync(join(inner, old), join(inner, old.replace('.so', '-9.so')));
    const { stdout } = spawnSync(process.execPath, ['-e', 'console.log(require("./index.js").library())'], { cwd: inner, encoding: 'utf8', env: { ...process.env, REPLYGATE_SO: '' } });
    assert.equal(basename(stdout.trim()), old.replace('.so', '-10.so'));
    remove(path);
  });

  test('what is no framework is told what would be one', () => {
    const path = folder({ 'package.json': '[]', 'pyproject.toml': '[project]\n', 'data/plugins/.keep': '' });
    const { status, error } = runInstall(path);
    assert.equal(status, 1);
    for (const name of ['Koishi', 'zhin', 'TRSS-Yunzai', 'NoneBot', 'AstrBot', 'relay:']) assert.match(error, new RegExp(name));
    assert.match(error, /认不出/);
    assert.deepEqual(readdirSync(path).sort(), ['data', 'package.json', 'pyproject.toml']);
    remove(path);
  });

  test('Miao-Yunzai, a missing folder, no folder, a library that is none', () => {
    const path = folder({ 'package.json': '{"name": "miao-yunzai"}' });
    assert.match(runInstall(path).error, /Miao-Yunzai speaks to QQ by itself/);
    assert.match(runInstall(join(path, 'nowhere')).error, /is no folder/);
    assert.equal(spawnSync(`${root}run`, ['install'], { encoding: 'utf8' }).status, 2);
    mkdirSync(join(path, 'koishi'));
    writeFileSync(join(path, 'koishi/koishi.yml'), '');
    writeFileSync(join(path, 'empty.so'), '');
    const { status, error } = runInstall(join(path, 'koishi'), { env: { REPLYGATE_SO: join(path, 'empty.so') } });
    assert.deepEqual([status, /cannot be loaded/.test(error)], [1, true], error);
    remove(path);
  });
});

