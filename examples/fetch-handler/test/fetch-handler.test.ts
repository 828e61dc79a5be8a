import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningExample, startExample } from '../../running-example.ts';

let example: RunningExample;
beforeAll(async () => {
  example = await startExample('fetch-handler/serve.mjs');
});
afterAll(async () => {
  expect(await example.stop()).toBe(0);
});

it('answers a retry with the stored bytes and makes one order', async () => {
  const first = await example.order('tea', 'tea');
  expect(first).toMatchObject({ status: 201, replayed: null });
  expect(await example.order('tea', 'tea')).toEqual({ ...first, replayed: 'true' });
  const listed = await fetch(`${example.origin}/orders`);
  expect(await listed.json()).toEqual([JSON.parse(first.text)]);
});

it('refuses the same key with another item', async () => {
  await example.order('once', 'tea');
  expect((await example.order('once', 'coffee')).status).toBe(422);
});
