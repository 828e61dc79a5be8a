/** Pending operations in files: several processes, and one that is killed. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createClient, type PendingStore } from '../../../client/src/index.ts';
import { filePending } from '../../../client/src/node/index.ts';
import { startShop } from '../processes/client-shop.ts';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'samekey-pending-')), 'operations');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function racer(me: number, rounds: number): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('file-racer.mjs', import.meta.url));
  const child = fork(script, [folder, String(me), String(rounds)], { execArgv: [] });
  await once(child, 'message');
  return child;
}

const namesOf = async (store: PendingStore): Promise<string[]> =>
  (await store.rows('')).map(([name]) => name);

it('of four processes that make a key at one moment exactly one wins, each time', async () => {
  const rounds = 60;
  const racers = await Promise.all([1, 2, 3, 4].map((me) => racer(me, rounds)));
  const ends = racers.map((child) => once(child, 'message') as Promise<[{ won: string[] }]>);
  for (const child of racers) child.send('go');
  const won = (await Promise.all(ends)).map(([{ won: names }]) => names);
  expect(won.flat()).toHaveLength(rounds);
  const store = filePending(folder);
  expect((await namesOf(store)).toSorted()).toEqual(won.flat().toSorted());
  for (const [index, names] of won.entries())
    for (const name of names) expect(await store.read(name)).toBe(`key of ${index + 1}`);
});

it('a process that is killed while it writes leaves whole operations only', async () => {
  const child = await racer(1, 1_000_000);
  child.send('go');
  const store = filePending(folder);
  while ((await namesOf(store)).length < 20) await new Promise((resolve) => setImmediate(resolve));
  child.kill('SIGKILL');
  await once(child, 'exit');
  const names = await namesOf(store);
  expect(names.length).toBeGreaterThanOrEqual(20);
  for (const name of names) expect(await store.read(name)).toBe('key of 1');
  // And nothing is stuck: another one goes on.
  expect(await store.swap(names[0] ?? '', 'key of 1', 'next')).toBe(true);
  expect(await store.swap(names[0] ?? '', 'key of 1', 'late')).toBe(false);
});

it('what is deleted is absent, can be made again, and leaves one small file', async () => {
  const store = filePending(folder);
  for (const text of ['a', 'b', 'c']) {
    expect(await store.swap('pay', null, text)).toBe(true);
    expect(await store.swap('pay', text, null)).toBe(true);
  }
  expect(await store.read('pay')).toBeNull();
  expect(await namesOf(store)).toEqual([]);
  expect(readdirSync(folder)).toHaveLength(1);
});

it('many are listed at once, each by its newest version, though a crash has left an older one', async () => {
  const store = filePending(folder);
  const names = Array.from({ length: 60 }, (_, at) => `pay-${at}`);
  for (const name of names) await store.swap(name, null, 'old');
  const older = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))] as const);
  for (const name of names) await store.swap(name, 'old', `new ${name}`);
  for (const [file, bytes] of older) writeFileSync(join(folder, file), bytes);
  const rows = await store.rows('pay-');
  expect(new Map(rows)).toEqual(new Map(names.map((name) => [name, `new ${name}`])));
  expect(rows).toHaveLength(60);
  expect(await store.rows('pay-5')).toHaveLength(11);
});

it('nobody else on the machine can read what is kept', async () => {
  await filePending(folder).swap('pay', null, 'secret');
  expect(statSync(folder).mode & 0o077).toBe(0);
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
});

it('a restart goes on under the same key', async () => {
  // F23, for a program instead of a page.
  const shop = await startShop();
  try {
    shop.faults.push('lose-reply');
    const open = () =>
      createClient({
        subject: 'alice',
        baseUrl: shop.url,
        pending: filePending(folder),
        triesMax: 1,
        whenDone: 'same',
      });
    await open().operation('pay').fetch('/pay', { body: '5' });
    const [left] = await open().resume();
    expect(await left?.goOn()).toMatchObject({ operation: 'pay', outcome: 'done', why: 'replayed' });
    expect(await open().operation('pay').fetch('/pay', { body: '5' })).toMatchObject({ why: 'kept' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  } finally {
    await shop.close();
  }
});
