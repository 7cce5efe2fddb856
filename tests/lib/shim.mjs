// shim: a bot framework's folder with Replygate put into it by `./run install`, as its user would.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { program, root } from './sandbox.mjs';

// The library that belongs to the program under test.
export const library = process.env.REPLYGATE_SO ?? join(dirname(program ?? ''), 'replygate.so');

// A folder with these files, {path: text}.
export const folder = (files = {}) => {
  const path = mkdtempSync(join(tmpdir(), 'replygate-shim-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
};
export const remove = (path) => rmSync(path, { recursive: true, force: true });

// {status, out, error} of ./run install PATH.
export const runInstall = (path, { env = {}, cwd = tmpdir() } = {}) => {
  const { status, stdout, stderr } = spawnSync(`${root}run`, ['install', path], {
    cwd, encoding: 'utf8', env: { ...process.env, REPLYGATE_SO: library, ...env },
  });
  return { status, out: stdout, error: stderr };
};

// The folder of a framework with the plugin in it and this configuration.
export const installed = (files, config) => {
  const path = folder(files);
  const { status, error } = runInstall(path);
  assert.equal(status, 0, error);
  if (config !== undefined) writeFileSync(join(path, 'replygate.yaml'), config);
  return path;
};

// npm packages of the tests, for a framework that looks for them in its own folder.
export const linkPackages = (path) => symlinkSync(`${root}tests/node_modules`, join(path, 'node_modules'));

export const say = (...texts) => texts.map((text) => ({ segments: [{ type: 'text', data: { text } }] }));
export const reply = (messages, reaction = '') => JSON.stringify({ messages, reaction });
export const LEAK = '<tool_call>{"name": "a", "arguments": {}}</tool_call>';
export const CONFIG = `language: en
admins: [10009]
endpoints:
  main: {connect: host}
groups:
  default: {pace: {min: 0.15, max: 0.2, per_char: 0}}
`;
