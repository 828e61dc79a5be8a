/** The replay cache between processes: two engines on one store, in virtual time; and the clock it trusts, for real. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FAKE_WALL_START, type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { createTimeline } from '../../../testing/src/timeline.ts';
import { REOPEN_DELAY_MS, REPLAY_TRUST_MAX_MS } from '../../src/core/record.ts';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { createSamekey, type Samekey, type SamekeyOptions } from '../../src/samekey.ts';
import type { Store } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { reply } from '../../src/ways/reply.ts';

interface Node {
  readonly world: FakeWorld;
  readonly samekey: Samekey;
  readonly events: SamekeyEvent[];
  /** Claims this process sent. */
  claims: number;
}

const REQUEST = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: 1 } as const;

function installation(): {
  readonly store: Store;
  readonly node: (name: string, options?: Partial<SamekeyOptions>) => Node;
} {
  const timeline = createTimeline(createRandom(7));
  const store = memoryStore({ now: () => Math.floor(FAKE_WALL_START + timeline.now) });
  return {
    store,
    node(name, options = {}) {
      const world = fakeWorld({ name, timeline });
      const events: SamekeyEvent[] = [];
      const connection: Store = {
        ...store,
        claim(requests) {
          node.claims += requests.length;
          return store.claim(requests);
        },
      };
      const samekey = createSamekey({
        store: connection,
        world,
        policy: 'standard',
        onEvent: (event) => void events.push(event),
        ...options,
      });
      const node: Node = { world, samekey, events, claims: 0 };
      return node;
    },
  };
}

async function fenceOf(
  store: Store,
): Promise<{ scope: string; key: string; claimId: string; attempt: number }> {
  const [record] = await store.list({});
  if (record === undefined) throw new Error('there is no record');
  const { scope, key, claimId, attempt } = record;
  return { scope, key, claimId, attempt };
}

const refuse = (): unknown => reply(409, { error: 'out of stock' });
const failing = (): unknown => reply(500, null);
const accept = (): unknown => ({ paid: true });

describe('replays from memory', () => {
  it('ask the store once in five seconds, and say so in the event', async () => {
    const { node } = installation();
    const a = node('a');
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('executed');
    for (let i = 0; i < 10; i += 1) {
      expect(await a.samekey.run(REQUEST, refuse)).toMatchObject({ kind: 'replay', value: { paid: true } });
    }
    expect(a.claims).toBe(2);
    await a.world.advance(REPLAY_TRUST_MAX_MS);
    for (let i = 0; i < 10; i += 1) expect((await a.samekey.run(REQUEST, refuse)).kind).toBe('replay');
    expect(a.claims).toBe(3);
    const outcomes = a.events.filter(({ type }) => type === 'outcome');
    expect(outcomes).toHaveLength(21);
    expect(outcomes.filter((event) => 'fromCache' in event && event.fromCache)).toHaveLength(18);
  });

  it('serve the process that only read the answer, too', async () => {
    const { node } = installation();
    const [a, b] = [node('a'), node('b')];
    await a.samekey.run(REQUEST, accept);
    await b.samekey.run(REQUEST, refuse);
    expect(await b.samekey.run(REQUEST, refuse)).toMatchObject({ kind: 'replay', value: { paid: true } });
    expect(b.claims).toBe(1);
  });

  it('are none for another body under the same key: the store refuses it', async () => {
    const { node } = installation();
    const a = node('a');
    await a.samekey.run(REQUEST, accept);
    expect((await a.samekey.run({ ...REQUEST, fingerprint: 2 }, accept)).kind).toBe('mismatch');
  });

  it('are none of what is not final, and none with 0 bytes', async () => {
    const { node } = installation();
    const a = node('a');
    expect(await a.samekey.run(REQUEST, failing)).toMatchObject({ kind: 'executed', state: 'retryable' });
    expect(await a.samekey.run(REQUEST, failing)).toMatchObject({ kind: 'executed', attempt: 2 });
    const off = node('off', { replayCacheBytesMax: 0 });
    await off.samekey.run({ ...REQUEST, key: 'other' }, accept);
    await off.samekey.run({ ...REQUEST, key: 'other' }, accept);
    expect(off.claims).toBe(2);
  });

  it('end with the record: an expired key runs again at once', async () => {
    const { node } = installation();
    const a = node('a', { retentionMs: 1_000 });
    const b = node('b', { retentionMs: 1_000 });
    await a.samekey.run(REQUEST, accept);
    await a.world.advance(400);
    await b.samekey.run(REQUEST, accept);
    await b.world.advance(599);
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('replay');
    expect((await b.samekey.run(REQUEST, accept)).kind).toBe('replay');
    expect([a.claims, b.claims]).toEqual([2, 1]);
    await b.world.advance(1);
    expect(await b.samekey.run(REQUEST, accept)).toMatchObject({ kind: 'executed', attempt: 1 });
    expect((await a.samekey.run(REQUEST, refuse)).kind).toBe('replay');
    expect(a.claims).toBe(3);
  });

  it('are trusted for five seconds at most, whatever is asked for', () => {
    const { node } = installation();
    expect(() => node('a', { replayCacheTimeMaxMs: REPLAY_TRUST_MAX_MS + 1 })).toThrow(
      'replayCacheTimeMaxMs',
    );
    expect(REOPEN_DELAY_MS).toBeGreaterThan(REPLAY_TRUST_MAX_MS);
  });

  // F62
  it('stop before a reopened key runs again: no old answer is given beside the new run', async () => {
    const { store, node } = installation();
    const [a, b] = [node('a'), node('b')];
    await a.samekey.run(REQUEST, refuse);
    await a.samekey.run(REQUEST, refuse);
    await store.reopen([{ ...(await fenceOf(store)), reason: 'stock is back', actor: null }]);
    // a has read the old answer; b, which asks, is told to come back.
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('replay');
    const met = await b.samekey.run(REQUEST, accept);
    expect(met).toMatchObject({ kind: 'in-progress', retryAfterMs: REOPEN_DELAY_MS });
    await a.world.advance(REPLAY_TRUST_MAX_MS);
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('in-progress');
    await a.world.advance(REOPEN_DELAY_MS - REPLAY_TRUST_MAX_MS);
    expect(await b.samekey.run(REQUEST, accept)).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(await a.samekey.run(REQUEST, refuse)).toMatchObject({ kind: 'replay', value: { paid: true } });
  });

  // F62
  it('stop before a forgotten key runs again as new', async () => {
    const { store, node } = installation();
    const [a, b] = [node('a'), node('b')];
    await a.samekey.run(REQUEST, accept);
    await a.samekey.run(REQUEST, accept);
    await store.forget([{ ...(await fenceOf(store)), state: 'completed', reason: 'asked for', actor: null }]);
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('replay');
    expect((await b.samekey.run({ ...REQUEST, fingerprint: 2 }, refuse)).kind).toBe('in-progress');
    await a.world.advance(REOPEN_DELAY_MS);
    const anew = await b.samekey.run({ ...REQUEST, fingerprint: 2 }, refuse);
    expect(anew).toMatchObject({ kind: 'executed', attempt: 1 });
    expect((await a.samekey.run(REQUEST, accept)).kind).toBe('mismatch');
  });

  it('a request that waits for a reopened key asks again when it may run, and not all the time', async () => {
    const { store, node } = installation();
    const [a, b] = [node('a'), node('b', { waitMaxMs: 10_000 })];
    await a.samekey.run(REQUEST, refuse);
    await store.reopen([{ ...(await fenceOf(store)), reason: 'stock is back', actor: null }]);
    const waiting = b.samekey.run(REQUEST, accept);
    await b.world.advance(REOPEN_DELAY_MS + 100);
    expect(await waiting).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(b.claims).toBe(2);
  });

  it('of a process that stood still are none when it goes on', async () => {
    const { store, node } = installation();
    const [a, b] = [node('a'), node('b')];
    await a.samekey.run(REQUEST, refuse);
    await a.samekey.run(REQUEST, refuse);
    a.world.freeze();
    await store.reopen([{ ...(await fenceOf(store)), reason: 'stock is back', actor: null }]);
    await b.world.advance(REOPEN_DELAY_MS);
    await b.samekey.run(REQUEST, accept);
    a.world.thaw();
    expect(await a.samekey.run(REQUEST, refuse)).toMatchObject({ kind: 'replay', value: { paid: true } });
  });
});

describe('the clock of trust', () => {
  it('goes on while its process is stopped', async () => {
    const child = fork(new URL('clock-child.mjs', import.meta.url));
    const ask = async (): Promise<number> => {
      child.send('now');
      const [now] = (await once(child, 'message')) as [number];
      return now;
    };
    try {
      const before = await ask();
      child.kill('SIGSTOP');
      const stoppedFor = 300;
      await new Promise((resolve) => void setTimeout(resolve, stoppedFor));
      child.kill('SIGCONT');
      expect((await ask()) - before).toBeGreaterThanOrEqual(stoppedFor);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
