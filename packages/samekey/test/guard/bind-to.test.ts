/** Keys that are bound to a session: the same key from another one is refused, and never runs. */

import { expect, it } from 'vitest';
import { memoryStore } from 'samekey/stores/memory';
import { createSamekey } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { codeOf, exchangeOf } from '../http/fake-exchange.ts';

const scope = (session: string): string[] => ['acme', session];
const bindTo = (session: string): string => session;
const now = (session: string): string => `s:${session}`;

it('the same key from another session of the same caller is refused and does not run', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  expect((await exchangeOf(samekey, { bindTo }, { native: 'laptop' })).end).toBe('released');
  const stolen = await exchangeOf(samekey, { bindTo }, { native: 'elsewhere' });
  // Whether the session or the application's way to name it has changed, nobody can tell from here.
  expect([codeOf(stolen), stolen.answer?.status, stolen.calls]).toEqual([
    'request-moved',
    503,
    ['readBody', 'replaced'],
  ]);
  expect((await exchangeOf(samekey, { bindTo }, { native: 'laptop' })).answer?.status).toBe(201);
});

it('a session in the scope instead would have run it a second time', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  expect((await exchangeOf(samekey, { scope }, { native: 'laptop' })).end).toBe('released');
  expect((await exchangeOf(samekey, { scope }, { native: 'phone' })).end).toBe('released');
});

it('a request without a session is refused as anonymous before its body is read', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  const refused = await exchangeOf(samekey, { bindTo: async () => undefined });
  expect([codeOf(refused), refused.calls]).toEqual(['anonymous', ['replaced']]);
});

// F97
it('a session that is the text of a missing value is refused as anonymous, and told of once', async () => {
  const world = fakeWorld();
  const samekey = createSamekey({ store: memoryStore(), world });
  for (const text of ['undefined', 'null', 'NaN', '[object Object]']) {
    const refused = await exchangeOf(samekey, { bindTo }, { native: text });
    expect([codeOf(refused), refused.calls]).toEqual(['anonymous', ['replaced']]);
  }
  expect(world.warnings.map((told) => told.split(':')[0])).toEqual(['caller-missing']);
  expect((await exchangeOf(samekey, { bindTo }, { native: 's:null' })).answer).toBeNull();
});

// F118
it('a way to name sessions that has changed is bridged by the former one, for the session it named', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  await exchangeOf(samekey, { bindTo }, { native: 'laptop' });
  const bridge = { bindTo: now, formerly: [{ bindTo }] };
  expect(codeOf(await exchangeOf(samekey, { bindTo: now }, { native: 'laptop' }))).toBe('request-moved');
  expect((await exchangeOf(samekey, bridge, { native: 'laptop' })).answer?.status).toBe(201);
  expect(codeOf(await exchangeOf(samekey, bridge, { native: 'elsewhere' }))).toBe('request-moved');
});

// F59
it('keys from before a route was bound are replayed for every session, as they were', async () => {
  const samekey = createSamekey({ store: memoryStore() });
  await exchangeOf(samekey, {}, { native: 'laptop' });
  const after = await exchangeOf(samekey, { bindTo }, { native: 'phone' });
  expect([after.answer?.status, after.calls]).toEqual([201, ['readBody', 'replaced']]);
});
