/** `samekey verify` against services as users have them: its words, its files, its exit codes. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from '../migrating.ts';
import { freshFolder, RunningDemo } from '../running-demo.ts';

/** A service that runs whatever comes. */
async function unprotected(): Promise<{ readonly server: Server; readonly origin: string }> {
  let orders = 0;
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      if (req.method === 'GET') return void res.end(JSON.stringify({ orders }));
      orders += 1;
      return void res
        .writeHead(201, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ id: orders }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('samekey verify', () => {
  const folder = freshFolder();
  const file = (name: string): string => join(folder.dir, name);
  let shop: Awaited<ReturnType<typeof unprotected>>;
  beforeAll(async () => {
    shop = await unprotected();
  });
  afterAll(() => {
    shop.server.closeAllConnections();
    shop.server.close();
    folder.remove();
  });
  const asked = '--only=runs-once,same-answer,key-missing,store-down';

  it('ends with 2 on a service without protection, and says who is charged again, in all its forms', async () => {
    const { code, stdout, stderr } = await said([
      'verify',
      `${shop.origin}/orders?secret=hidden`,
      asked,
      '--count-url',
      shop.origin,
      '--count-path',
      'orders',
      '--junit',
      file('junit.xml'),
      '--markdown',
      file('report.md'),
      '--badge',
      file('badge.json'),
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(2);
    expect(stdout).toContain('three requests under one key, 3 executions');
    expect(stdout).toContain('A customer whose answer is lost and who tries again is charged again.');
    expect(stdout).toContain('0 held, 3 faults, 2 of a MUST, 1 not judged, 1 of a MUST.');
    expect(stdout).not.toContain('hidden');
    const junit = readFileSync(file('junit.xml'), 'utf8');
    expect(junit).toContain('tests="4" failures="3" errors="1" skipped="0"');
    expect(junit).toContain('<property name="leftOut" value="two-keys ');
    expect(junit).toContain('<failure message="three requests under one key, 3 executions" type="MUST">');
    const markdown = readFileSync(file('report.md'), 'utf8');
    expect(markdown).toContain('| FAULT | MUST | `runs-once` |');
    expect(JSON.parse(readFileSync(file('badge.json'), 'utf8'))).toMatchObject({
      schemaVersion: 1,
      color: 'red',
      message: expect.stringMatching(/^2 of 3 broken, \d+ left out$/) as string,
    });
  });

  it('counts by a member of the answer or by a command, and says nothing of what it cannot count', async () => {
    const field = await said(['verify', shop.origin, '--only=runs-once', '--count-field=id', '--json']);
    expect(field.code).toBe(2);
    expect(JSON.parse(field.stdout)).toMatchObject({ isClean: false, findings: [{ verdict: 'fault' }] });
    const read = `fetch('${shop.origin}').then((r) => r.json()).then((j) => console.log(j.orders))`;
    const command = await said([
      'verify',
      shop.origin,
      '--only=runs-once',
      '--count-command',
      `node -e "${read}"`,
    ]);
    expect(command.stdout).toContain('three requests under one key, 3 executions');
    const blind = await said(['verify', shop.origin, '--only=runs-once']);
    expect(blind.code).toBe(4);
    expect(blind.stdout).toContain('give --count-url, --count-command or --count-field');
  });

  it('ends with 1 and one line when the service cannot be judged or the options make no sense', async () => {
    const nobody = await said(['verify', 'http://127.0.0.1:1/orders']);
    expect(nobody).toMatchObject({ code: 1, stdout: '' });
    expect(nobody.stderr).toMatch(/^samekey: The service does not answer: the connection was refused\.\n$/);
    const unknown = await said(['verify', shop.origin, '--only=nothing']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('There is no scenario "nothing"');
    const half = await said(['verify', shop.origin, '--store-down-command', 'true']);
    expect(half.stderr).toContain('--store-up-command');
    const wrong = await said(['verify', shop.origin, '--header', 'secret-without-colon']);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).not.toContain('secret');
  });

  it('treats faults that are no MUST as faults when asked to', async () => {
    const lenient = await said(['verify', shop.origin, '--only=key-missing,key-long', '--count-field=id']);
    expect(lenient.code).toBe(0);
    const strict = await said([
      'verify',
      shop.origin,
      '--only=key-missing,key-long',
      '--count-field=id',
      '--strict',
    ]);
    expect(strict.code).toBe(2);
  });

  it('ends with 4 when a MUST could not be judged, until it is left out on purpose (F92)', async () => {
    const asking = ['verify', shop.origin, '--only=key-long,store-down', '--count-field=id'];
    const open = await said([...asking, '--junit', file('open.xml'), '--markdown', file('open.md')]);
    expect(open.code).toBe(4);
    expect(open.stdout).toContain('Required, and not judged: store-down.');
    expect(readFileSync(file('open.xml'), 'utf8')).toContain('errors="1"');
    expect(readFileSync(file('open.md'), 'utf8')).toContain('Required, and not judged: store-down.');
    const json = await said([...asking, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ isClean: true, isComplete: false });
    const skipped = await said([...asking, '--skip=store-down']);
    expect(skipped.code).toBe(0);
    expect(skipped.stdout).toMatch(/Required, and left out on purpose: .*\bstore-down\b/);
  });

  it('finds nothing in the demo', async () => {
    const demo = await RunningDemo.start(join(folder.dir, 'demo'));
    try {
      const body = '{"customerId":"cus_1","amountCents":1200,"currency":"usd"}';
      const { code, stdout } = await said([
        'verify',
        `${demo.origin}/payments`,
        '--body',
        body,
        '--count-url',
        `${demo.origin}/ledger`,
        '--count-path',
        'charges',
        '--tenant-b',
        'Authorization: Bearer tenant-b',
        '--get-url',
        `${demo.origin}/payments`,
        '--only=runs-once,same-answer,race-many,hang-up,two-tenants,other-body,key-case,get-untouched',
        '--strict',
      ]);
      expect(stdout).toContain('8 held, 0 faults, 0 not judged.');
      expect(code).toBe(0);
    } finally {
      await demo.interrupt();
    }
  });
});
