import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningExample, startExample } from '../../running-example.ts';

const folder = mkdtempSync(join(tmpdir(), 'samekey-example-'));
const start = (): Promise<RunningExample> =>
  startExample('express-sqlite/server.mjs', { DATABASE: join(folder, 'orders.db') });
let example: RunningExample;
beforeAll(async () => {
  example = await start();
});
afterAll(async () => {
  await example.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('answers a retry with the stored bytes and inserts one row', async () => {
  const first = await example.order('tea', 'tea');
  expect(first).toMatchObject({ status: 201, replayed: null });
  expect(await example.order('tea', 'tea')).toEqual({ ...first, replayed: 'true' });
  const listed = await fetch(`${example.origin}/orders`, { headers: { Authorization: 'Bearer acme' } });
  expect(await listed.json()).toEqual([JSON.parse(first.text)]);
});

it('refuses the same key with another item', async () => {
  await example.order('once', 'tea');
  expect((await example.order('once', 'coffee')).status).toBe(422);
});

it('gives another account with the same key an order of its own', async () => {
  const ours = await example.order('shared', 'tea');
  const theirs = await example.order('shared', 'tea', 'globex');
  expect(theirs).toMatchObject({ status: 201, replayed: null });
  expect(theirs.text).not.toBe(ours.text);
});

it('ends cleanly and replays after a restart', async () => {
  const first = await example.order('kept', 'tea');
  expect(await example.stop()).toBe(0);
  example = await start();
  expect(await example.order('kept', 'tea')).toEqual({ ...first, replayed: 'true' });
});
