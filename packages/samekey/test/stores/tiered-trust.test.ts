/** What a tier may answer, for how long, and whose clock says so. Two processes on one store, with a cache that forgets nothing. */

import { describe, expect, it, vi } from 'vitest';
import { REOPEN_DELAY_MS, REPLAY_TRUST_MAX_MS } from '../../src/core/record.ts';
import { reply } from '../../src/ways/reply.ts';
import type { ClaimRequest, ClaimResult, Store } from '../../src/store/store.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { keyRing, sealed } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type Tiered, tieredStore, type TieredStoreOptions } from '../../src/stores/tiered/index.ts';
import {
  ANSWER,
  claimRequest,
  eraseRequest,
  finished,
  finishRequest,
  handRequest,
  ID,
  only,
  RETENTION_MS,
} from '../../../testing/src/contract/context.ts';
import { FAKE_WALL_START, type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';
import { systemWorld } from '../../src/system.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { createTimeline } from '../../../testing/src/timeline.ts';
import { mapCache } from './tiered-setup.ts';

interface Process {
  readonly store: Tiered<Store>;
  readonly samekey: Samekey;
  readonly world: FakeWorld;
  /** Claims that came to the store behind. */
  claims: number;
}

/** One store, one cache, and processes whose clocks have nothing in common. */
function installation(more: Partial<TieredStoreOptions> = {}) {
  const timeline = createTimeline(createRandom(3));
  const truth = memoryStore({ now: () => Math.floor(FAKE_WALL_START + timeline.now) });
  const cache = mapCache();
  let processes = 0;
  return {
    truth,
    cache,
    process: (own: Partial<TieredStoreOptions> = {}, replayCacheBytesMax = 0): Process => {
      processes += 1;
      const world = fakeWorld({
        name: `p${processes}`,
        timeline,
        wallStart: FAKE_WALL_START + processes * 7_200_000,
        monotonicStart: processes * 1e6,
      });
      const behind: Store = {
        ...truth,
        claim(requests) {
          process.claims += requests.length;
          return truth.claim(requests);
        },
      };
      const store = tieredStore({ store: behind, cache, replayShareMin: 0, world, ...more, ...own });
      const samekey = createSamekey({ store, world, policy: 'standard', replayCacheBytesMax });
      const process: Process = { store, samekey, world, claims: 0 };
      return process;
    },
  };
}

async function ask(store: Store, overrides: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
  return only(await store.claim([claimRequest(overrides)]));
}

const refuse = (): unknown => reply(409, { error: 'out of stock' });

/** A final answer in the cache, and a process that has heard the store's clock and not the answer. */
async function known(more: Partial<TieredStoreOptions> = {}) {
  const all = installation(more);
  const [a, b] = [all.process(), all.process()];
  await finished(a.store, 'failed', { key: 'heard' });
  await ask(b.store, { key: 'heard' });
  const owner = await finished(a.store, 'failed');
  await ask(a.store);
  b.claims = 0;
  return { ...all, a, b, owner };
}

describe('a tier', () => {
  it('answers what another process has read, to an equal request, without asking the store', async () => {
    const { b } = await known();
    const result = await ask(b.store);
    expect(result).toMatchObject({ kind: 'found', because: 'final', record: { ...ID, response: ANSWER } });
    expect(result).toMatchObject({ lifeLeftMs: RETENTION_MS, trustLeftMs: REPLAY_TRUST_MAX_MS });
    expect(b.claims).toBe(0);
    expect(b.store.cacheCounts()).toMatchObject({ sharedHits: 1, memoryHits: 0 });
  });

  // F62
  it('in front of another tier adds no trust of its own to what that one has read', async () => {
    const { b } = await known();
    let ms = 0;
    const world = { ...systemWorld(), monotonicNow: (): number => 1_000 + ms, wallNow: (): number => ms };
    const inner = tieredStore({ store: b.store, world, memoryBytesMax: 1_000_000 });
    for (const outer of [
      tieredStore({ store: inner, world, memoryBytesMax: 1_000_000 }),
      tieredStore({ store: inner, world, cache: mapCache(), replayShareMin: 0 }),
    ]) {
      ms += 2 * REPLAY_TRUST_MAX_MS;
      await ask(inner);
      ms += REPLAY_TRUST_MAX_MS - 1;
      expect(await ask(outer)).toMatchObject({ because: 'final', trustLeftMs: 1 });
      ms += 1;
      const { memoryHits } = inner.cacheCounts();
      await ask(outer);
      expect(outer.cacheCounts()).toMatchObject({ memoryHits: 0, sharedHits: 0 });
      expect(inner.cacheCounts().memoryHits).toBe(memoryHits);
    }
  });

  // F62
  it('a process that stands still anywhere between looking an answer up and keeping it trusts it no longer for that', async () => {
    for (let microtasks = 0; microtasks < 40; microtasks += 1) {
      const { cache, process } = await known();
      let ms = 0;
      const world = { ...systemWorld(), monotonicNow: (): number => 1_000 + ms, wallNow: (): number => ms };
      const c = process({ world, memoryBytesMax: 1_000_000 });
      await ask(c.store, { key: 'heard' });
      const held = mapCache();
      for (const [name, bytes] of cache.entries) held.entries.set(name, bytes);
      cache.get = (names) => {
        const found = held.get(names);
        void (async () => {
          for (let n = 0; n < microtasks; n += 1) await Promise.resolve();
          ms = REPLAY_TRUST_MAX_MS - 1_000;
        })();
        return found;
      };
      await ask(c.store);
      await new Promise((resolve) => void setImmediate(resolve));
      expect(c.store.cacheCounts().sharedHits).toBe(1);
      ms = REPLAY_TRUST_MAX_MS;
      await ask(c.store);
      expect(c.store.cacheCounts().memoryHits, `after ${microtasks} microtasks`).toBe(0);
    }
  });

  it('does not ask the cache before it has heard the store’s clock: it could believe nothing', async () => {
    const { process } = await known();
    const c = process();
    await ask(c.store);
    expect(c.claims).toBe(1);
    expect(c.store.cacheCounts()).toMatchObject({ sharedHits: 0, sharedSkipped: 1 });
  });

  // F25: scope and key are in the entry's name and in its digest.
  it('leaves to the store: another body, another label, another tenant, a newer format, the claimId itself, a worker', async () => {
    const { a, b } = await known();
    const record = (await a.store.find([ID]))[0];
    const others: Partial<ClaimRequest>[] = [
      { fingerprint: { label: 'v1/sha256', digest: 'another' } },
      { fingerprint: { label: 'v2', digest: 'digest-of-the-first-body' } },
      { scope: 'tenant-2/payments' },
      { readVersion: 0 },
      { claimId: record?.claimId ?? '' },
      { entry: 'take' },
    ];
    const kinds: string[] = [];
    for (const other of others) {
      const result = await ask(b.store, other);
      kinds.push(result.kind === 'found' ? result.because : result.kind);
    }
    expect(kinds).toEqual(['mismatch', 'other-label', 'claimed', 'newer-format', 'spent', 'final']);
    expect(b.claims).toBe(others.length);
  });

  it('keeps nothing that is not final, has no body, or was erased', async () => {
    const { process, cache, truth } = installation();
    const a = process();
    await ask(a.store, { key: 'running' });
    await ask(a.store, { key: 'running' });
    const owner = await finished(truth, 'unknown', { key: 'unknown' });
    await ask(a.store, { key: owner.key });
    const claim = claimRequest({ key: 'no body' });
    await truth.claim([claim]);
    const bodiless = finishRequest({ ...claim, attempt: 1 }, 'completed');
    await truth.finish([{ ...bodiless, response: { ...ANSWER, body: null } }]);
    await ask(a.store, { key: 'no body' });
    await finished(truth, 'completed', { key: 'erased', scope: 'tenant-9' });
    await truth.erase(eraseRequest('tenant-9'));
    await ask(a.store, { key: 'erased', scope: 'tenant-9' });
    expect(cache.entries.size).toBe(0);
  });

  it('of what is erased here gives nothing out, and by others nothing for longer than trust lasts', async () => {
    const { a, b } = await known();
    await a.store.erase(eraseRequest(ID.scope));
    expect(await ask(a.store)).toMatchObject({ because: 'final', record: { response: null } });
    expect(await ask(b.store)).toMatchObject({ because: 'final', record: { response: ANSWER } });
    await b.world.advance(REPLAY_TRUST_MAX_MS);
    expect(await ask(b.store)).toMatchObject({ because: 'final', record: { response: null } });
  });
});

describe('trust', () => {
  // F62: the entry is neither dropped nor does it have a time to live, as on a replica that lags.
  it('ends before a reopened key runs, whatever still lies in the cache', async () => {
    const { a, b, owner, cache } = await known();
    const stale = new Map(cache.entries);
    await a.world.advance(100);
    await a.store.reopen([handRequest(owner)]);
    for (const [name, bytes] of stale) cache.entries.set(name, bytes);
    // Who acted is not shown his own past; the other may still replay it.
    expect(await ask(a.store)).toMatchObject({ because: 'in-progress' });
    expect(await ask(b.store)).toMatchObject({ because: 'final', trustLeftMs: REPLAY_TRUST_MAX_MS - 100 });
    await a.world.advance(REPLAY_TRUST_MAX_MS - 100);
    expect(await ask(b.store)).toMatchObject({ because: 'in-progress' });
    await a.world.advance(REOPEN_DELAY_MS);
    expect(await ask(b.store)).toMatchObject({ kind: 'claimed', attempt: 2 });
  });

  // F62
  it('counts from when the store read the record, not from when the entry came into the cache', async () => {
    const { process, truth } = installation();
    const late = mapCache();
    const sent: (() => void)[] = [];
    const a = process({
      cache: {
        ...late,
        put: (name, bytes, ttlMs) =>
          new Promise((resolve) => sent.push(() => resolve(late.put(name, bytes, ttlMs)))),
      },
    });
    const b = process({ cache: late });
    const owner = await finished(truth, 'failed');
    await ask(b.store, { key: 'heard' });
    await finished(truth, 'completed', { key: 'clock' });
    await ask(a.store);
    await truth.reopen([handRequest(owner)]);
    // The fill was under way all the time, and lands behind the reopening.
    await a.world.advance(REPLAY_TRUST_MAX_MS + 500);
    for (const land of sent) land();
    await ask(b.store, { key: 'clock' });
    expect(await ask(b.store)).toMatchObject({ because: 'in-progress' });
    await a.world.advance(REOPEN_DELAY_MS);
    expect(await ask(b.store)).toMatchObject({ kind: 'claimed', attempt: 2 });
    expect(b.store.cacheCounts().sharedHits).toBe(0);
  });

  // F62: five seconds in the cache and five in the instance would be more than the six that a reopened key waits.
  it.each([0, 1_000_000])(
    'does not add up with the memory of an instance (memory tier: %i bytes)',
    async (memoryBytesMax) => {
      const { process, truth } = installation({ memoryBytesMax });
      const MIB = 1_048_576;
      const [a, b] = [process({}, MIB), process({}, MIB)];
      const request = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: 1 } as const;
      const other = { ...request, key: 'heard' } as const;
      for (const each of [a, b, b]) await each.samekey.run(other, refuse);
      await a.samekey.run(request, refuse);
      await a.samekey.run(request, refuse);
      const readAt = a.world.timeline.now;
      await a.world.advance(4_000);
      b.claims = 0;
      expect((await b.samekey.run(request, refuse)).kind).toBe('replay');
      expect(b.claims).toBe(0);
      const record = (await truth.list({})).find(({ key }) => key === 'k');
      const owner = record ?? expect.fail('no record');
      await truth.reopen([handRequest(owner)]);
      await a.world.advance(readAt + REPLAY_TRUST_MAX_MS - 1 - a.world.timeline.now);
      expect((await b.samekey.run(request, refuse)).kind).toBe('replay');
      await a.world.advance(1);
      expect((await b.samekey.run(request, refuse)).kind).toBe('in-progress');
    },
  );

  // F48
  it('ends with the record: an expired key runs again, whatever lies in the cache', async () => {
    const { process, truth } = installation({ memoryBytesMax: 1_000_000 });
    const [a, b] = [process(), process()];
    await finished(truth, 'completed', { key: 'heard' });
    await ask(b.store, { key: 'heard' });
    await finished(truth, 'completed', { retentionMs: 1_000, replayMinMs: 1_000 });
    await ask(a.store);
    await a.world.advance(999);
    expect(await ask(b.store)).toMatchObject({ because: 'final', lifeLeftMs: 1 });
    await a.world.advance(1);
    expect(await ask(a.store)).toMatchObject({ kind: 'claimed', attempt: 1 });
  });

  it('is none after a minute without a word of the store: clocks run apart', async () => {
    const { a, b } = await known();
    await a.world.advance(60_000);
    await ask(a.store);
    await a.world.advance(1);
    await ask(b.store);
    expect(b.claims).toBe(1);
    expect(b.store.cacheCounts().sharedHits).toBe(0);
  });
});

describe('what is refused', () => {
  it('a shared cache before a store without a clock of its own, or one that is sealed', () => {
    const store = memoryStore();
    const cache = mapCache();
    const capabilities = Object.freeze({ ...store.capabilities, serverClock: false });
    expect(() => tieredStore({ store: { ...store, capabilities }, cache })).toThrow('clock of its own');
    const ring = keyRing({ current: 'a', keys: { a: new Uint8Array(32) } });
    const closed = sealed(store, ring) as unknown as Store;
    expect(() => tieredStore({ store: closed, cache })).toThrow('seal the tiered store');
    expect(() => tieredStore({ store })).toThrow('nothing to do');
    expect(() => tieredStore({ store, cache, trustMs: REPLAY_TRUST_MAX_MS + 1 })).toThrow('trustMs');
    const secrets = { current: 'a', keys: { a: new Uint8Array(15) } };
    expect(() => tieredStore({ store, cache, secrets })).toThrow('16 random bytes');
  });

  it('entries that no secret of ours has signed, or that were made for another key', async () => {
    const secrets = {
      current: 'new',
      keys: { new: new Uint8Array(32).fill(1), old: new Uint8Array(32).fill(2) },
    };
    const { a, b, cache } = await known({ secrets });
    const [first, second] = [...cache.entries.keys()];
    expect((await ask(b.store)).kind).toBe('found');
    expect(b.claims).toBe(0);
    // The other entry under this name.
    const [heard, own] = [cache.entries.get(first ?? ''), cache.entries.get(second ?? '')];
    cache.entries.set(second ?? '', heard ?? new Uint8Array());
    await ask(b.store);
    expect(b.claims).toBe(1);
    // Signed by somebody else, well-formed.
    const forger = tieredStore({
      store: {
        ...memoryStore({ now: () => FAKE_WALL_START }),
        claim: (requests) => a.store.claim(requests),
        identity: async () => (await a.store.identity?.()) ?? expect.fail('it says whose it is'),
      },
      cache,
      replayShareMin: 0,
      world: a.world,
    });
    cache.entries.clear();
    await ask(forger);
    await vi.waitFor(() => expect(forger.cacheCounts().fills).toBe(1));
    const forged = cache.entries.get(second ?? '');
    expect(forged).toBeDefined();
    expect(forged).not.toEqual(own);
    b.claims = 0;
    cache.entries.set(second ?? '', forged ?? new Uint8Array());
    await ask(b.store);
    expect(b.claims).toBe(1);
    expect(b.store.cacheCounts()).toMatchObject({ sharedRefused: 2, sharedHits: 1 });
  });

  it('sealed outside, and nothing of an answer lies open in the cache', async () => {
    const { process, cache } = installation();
    const ring = keyRing({ current: 'a', keys: { a: new Uint8Array(32).fill(3) } });
    const store = sealed(process().store, ring) as unknown as Store;
    await finished(store, 'completed');
    const first = await ask(store);
    expect(await ask(store)).toMatchObject({ because: 'final', record: { response: ANSWER } });
    expect(first).toMatchObject({ record: { response: ANSWER } });
    const [entry] = cache.entries.values();
    const text = Buffer.from(entry ?? []).toString('latin1');
    expect(text).toContain('sksea');
    expect(text).not.toContain('"id":1');
    expect(text).not.toContain('application/json');
  });
});

describe('asking only while it is worth it', () => {
  it('new keys ask the store at once; when many claims meet final answers, the cache is asked', async () => {
    const { process, truth } = installation({ replayShareMin: 0.1 });
    const a = process();
    for (let i = 0; i < 20; i += 1) await ask(a.store, { key: `new-${i}` });
    expect(a.store.cacheCounts()).toMatchObject({ sharedMisses: 0, sharedSkipped: 20 });
    for (let i = 0; i < 5; i += 1) await finished(truth, 'completed', { key: `done-${i}` });
    for (let round = 0; round < 3; round += 1)
      for (let i = 0; i < 5; i += 1) await ask(a.store, { key: `done-${i}` });
    expect(a.store.cacheCounts().sharedHits).toBeGreaterThanOrEqual(5);
    for (let i = 0; i < 2_000; i += 1) await ask(a.store, { key: `calm-${i}` });
    const { sharedMisses } = a.store.cacheCounts();
    await ask(a.store, { key: 'another' });
    expect(a.store.cacheCounts().sharedMisses).toBe(sharedMisses);
  });
});
