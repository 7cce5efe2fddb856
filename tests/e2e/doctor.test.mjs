// `replygate doctor` against the sandbox: what it finds is what holds there, and its exit code says
// whether something is wrong.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OWNER, Sandbox, program } from '../lib/sandbox.mjs';

describe('replygate doctor', () => {
  let sandbox, folder;
  before(async () => {
    sandbox = await Sandbox.start();
    folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    assert.equal(await sandbox.stop(), 0);
  });

  const examine = (endpoint, ...more) => new Promise((settle) => {
    const path = join(folder, 'c.yaml');
    writeFileSync(path, `endpoints:\n  main: ${JSON.stringify(endpoint)}\ngroups:\n  123456789: {mention_all: true}\n  55555: {}\n`);
    execFile(program, ['doctor', path, ...more], { timeout: 30000 }, (error, stdout) => settle({ code: error?.code ?? 0, said: stdout }));
  });

  test('a sound endpoint, and a group the account is not in', async () => {
    const { code, said } = await examine({ connect: sandbox.link, access_token: 'secret' });
    assert.match(said, /ok +connected/);
    assert.match(said, /ok +the token is accepted/);
    assert.match(said, /ok +it is NapCat\S* \S+, profile napcat/);
    assert.match(said, /ok +the account is \d+/);
    assert.match(said, /ok +group 123456789: there, as member/);
    assert.match(said, /note +group 123456789: mention_all is true, but QQ lets only admins do it/);
    assert.match(said, /WRONG +group 55555: the account is not in it/);
    assert.match(said, /note +pictures and music cards were not tried/);
    assert.equal(code, 1);
    assert.ok(!said.includes('secret'));
  });

  test('a wrong token, and nobody there', async () => {
    const refused = await examine({ connect: sandbox.link, access_token: 'other' });
    assert.match(refused.said, /WRONG +refused: .*access_token/);
    assert.equal(refused.code, 1);
    const nobody = await examine({ connect: 'ws://127.0.0.1:9/' });
    assert.match(nobody.said, /WRONG +no connection: /);
    assert.equal(nobody.code, 1);
  });

  test('--try sends a picture and a card, and sees whether the card is there', async () => {
    const signed = await examine({ connect: sandbox.link, access_token: 'secret' }, '--try', String(OWNER));
    assert.match(signed.said, /ok +a picture arrives/);
    assert.match(signed.said, /ok +it signs music cards/);
    await sandbox.order({ do: 'set', sign: 'down' });
    const unsigned = await examine({ connect: sandbox.link, access_token: 'secret' }, '--try', String(OWNER));
    assert.match(unsigned.said, /WRONG +a music card is (accepted and not shown|not taken)/);
  });

  test('a reverse endpoint whose port is taken, by Replygate itself perhaps', async () => {
    const { host } = new URL(sandbox.link);
    const { code, said } = await examine({ listen: `${host}/onebot` });
    assert.equal(code, 1);
    assert.ok(said.includes(`WRONG  ${host}/onebot: the address is in use`), said);
    assert.match(said, /end it first/);
  });

  test('a reverse endpoint that somebody dials', async () => {
    const found = examine({ listen: '127.0.0.1:39217/onebot/v11/ws', access_token: 'back' });
    await sandbox.order({ do: 'dial', url: 'ws://127.0.0.1:39217/onebot/v11/ws', token: 'back' });
    const { said } = await found;
    assert.match(said, /ok +connected/);
    assert.match(said, /profile napcat/);
  });
});
