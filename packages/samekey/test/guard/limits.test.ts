/** Limits of new keys: what is over them, what is not, and what they cost (contract §4, row 13). */

import { expect, it } from 'vitest';
import { OptionsError } from 'samekey';
import { createLimits, type Limits } from 'samekey/guard';
import { internalsOf } from '../../src/samekey.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { limited, limiterOf } from './limited.ts';

it('the key beyond the limit is refused before anything is written, and its handler does not run', async () => {
  const bench = limited({ newKeys: limiterOf(2) });
  await bench.ask('a');
  await bench.ask('b');
  bench.calls.length = 0;
  const third = await bench.ask('c');
  expect(third).toEqual({ kind: 'limited', retryAfterMs: 60_000 });
  expect([bench.runs, bench.calls]).toEqual([2, ['find']]);
  expect(await bench.store.list({ limit: 10 })).toHaveLength(2);
});

it('a known key goes on as without limits, however much its caller is over them', async () => {
  const bench = limited({ newKeys: limiterOf(1) });
  const declined = bench.samekey.run(
    { operation: 'order', scope: ['acme'], key: 'a', fingerprint: null },
    (attempt) => {
      attempt.notExecuted();
      return 'not yet';
    },
  );
  expect(await declined).toMatchObject({ kind: 'executed', state: 'retryable' });
  expect((await bench.ask('spray')).kind).toBe('limited');
  // Resumed, replayed, mismatched.
  expect(await bench.ask('a')).toMatchObject({ kind: 'executed', attempt: 2 });
  expect((await bench.ask('a')).kind).toBe('replay');
  expect((await bench.ask('a', { fingerprint: 'other' })).kind).toBe('mismatch');
  expect((await bench.ask('spray')).kind).toBe('limited');
});

it('a key that is in progress in another process is told so, and not that there are too many', async () => {
  const bench = limited({ newKeys: limiterOf(1) });
  const [claim] = await bench.store.claim([
    {
      scope: 'acme|order',
      key: 'elsewhere',
      operation: 'order',
      claimId: 'theirs',
      claimTtlMs: 30_000,
      fingerprint: {
        label: 'run1',
        digest: String(await bench.world.sha256(new TextEncoder().encode('\u0001null'))),
      },
      whenClaimEnds: 'unknown',
      retentionMs: 60_000,
      replayMinMs: 0,
      tombstoneMs: 0,
      attemptMax: 10,
      formatVersion: 1,
      readVersion: 1,
      entry: 'run',
      input: null,
      pendingTimeMaxMs: 0,
    },
  ]);
  expect(claim?.kind).toBe('claimed');
  await bench.ask('a');
  expect((await bench.ask('b')).kind).toBe('limited');
  expect(await bench.ask('elsewhere')).toMatchObject({ kind: 'in-progress' });
});

it('retries cost nothing: what was taken for a known key is given back', async () => {
  const newKeys = limiterOf(3);
  const bench = limited({ newKeys });
  await bench.ask('a');
  for (let i = 0; i < 20; i += 1) expect((await bench.ask('a')).kind).toBe('replay');
  expect((await newKeys.get('acme'))?.consumedPoints).toBe(1);
  await bench.ask('b');
  await bench.ask('c');
  expect((await bench.ask('d')).kind).toBe('limited');
});

it('a hundred requests with one key take room for one key', async () => {
  const bench = limited({ newKeys: limiterOf(2) });
  const kinds = await Promise.all(Array.from({ length: 100 }, async () => (await bench.ask('a')).kind));
  expect(kinds.filter((kind) => kind === 'executed')).toHaveLength(1);
  expect(kinds.filter((kind) => kind === 'limited')).toHaveLength(0);
  expect((await bench.ask('b')).kind).toBe('executed');
  expect((await bench.ask('c')).kind).toBe('limited');
});

it('callers do not take each other’s room, and operations only with `per: caller`', async () => {
  const together = limited({ newKeys: limiterOf(1) });
  await together.ask('a');
  expect((await together.ask('a', { scope: ['umbrella'] })).kind).toBe('executed');
  expect((await together.ask('a', { operation: 'refund' })).kind).toBe('limited');
  const apart = limited({ newKeys: limiterOf(1), per: 'operation' });
  await apart.ask('a');
  expect((await apart.ask('a', { operation: 'refund' })).kind).toBe('executed');
  expect((await apart.ask('b', { operation: 'refund' })).kind).toBe('limited');
});

it('an operation defined with limits is limited, and work that was let in is not limited again', async () => {
  const bench = limited({ newKeys: limiterOf(1) });
  const defined = bench.samekey.plain({ name: 'ship', run: () => 'shipped' });
  const deferred = bench.samekey.deferred(bench.samekey.plain({ name: 'bill', run: () => 'billed' }));
  const request = { scope: ['acme'], input: null };
  expect((await deferred.run({ ...request, key: 'a' })).kind).toBe('pending');
  expect((await deferred.run({ ...request, key: 'a' })).kind).toBe('pending');
  expect((await defined.run({ ...request, key: 'a' })).kind).toBe('limited');
  expect((await deferred.run({ ...request, key: 'b' })).kind).toBe('limited');
  const pushed = await pushDue(internalsOf(bench.samekey), 10);
  expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
});

// F48
it('an expired key is new: over the limit it does not run, and does not count as known afterwards', async () => {
  const newKeys = limiterOf(2);
  const bench = limited({ newKeys }, { retentionMs: 1_000 });
  await bench.ask('a');
  await bench.ask('b');
  await bench.world.advance(2_000);
  for (let i = 0; i < 3; i += 1) expect((await bench.ask('a')).kind).toBe('limited');
  expect(bench.runs).toBe(2);
  // Let in later, it takes room as every new key does.
  await newKeys.delete('acme');
  expect((await bench.ask('a')).kind).toBe('executed');
  expect((await newKeys.get('acme'))?.consumedPoints).toBe(1);
});

it('over the limit, a store that does not answer is answered 503 before the limit', async () => {
  const bench = limited({ newKeys: limiterOf(1) });
  await bench.ask('a');
  bench.store.inject('refuse', { verb: 'find' });
  expect((await bench.ask('b')).kind).toBe('unavailable');
});

const hanging: Limits['takeNewKey'] = () => new Promise(() => undefined);
const failing: Limits['takeNewKey'] = async () => {
  throw new Error('connection refused');
};

it.each([
  ['fails', failing],
  ['hangs', hanging],
] as const)('a limiter that %s lets requests through in bounded time, and tells of it', async (_, take) => {
  const open = createLimits({ newKeys: limiterOf(1) });
  const bench = limited({ ...open, takeNewKey: take });
  const asked = bench.ask('a');
  await bench.world.advance(open.decisionTimeMaxMs);
  expect((await asked).kind).toBe('executed');
  expect(bench.events).toContainEqual(
    expect.objectContaining({ type: 'limiter-failed', operation: 'order' }),
  );
});

it('with `whenLimiterFails: closed` new keys are answered 503, and known ones go on', async () => {
  const newKeys = limiterOf(9);
  const bench = limited({ newKeys, whenLimiterFails: 'closed' });
  await bench.ask('a');
  newKeys.consume = async () => {
    throw new Error('connection refused');
  };
  expect(await bench.ask('b')).toMatchObject({ kind: 'unavailable', because: 'limiter' });
  expect((await bench.ask('a')).kind).toBe('replay');
  expect(bench.runs).toBe(1);
});

it('options that limit nothing, or name no limiter, are refused at start', () => {
  expect(() => createLimits({})).toThrow(OptionsError);
  expect(() => createLimits({ newKeys: {} as never })).toThrow(/consume and reward/);
  expect(() => createLimits({ newKeys: limiterOf(1), per: 'key' as never })).toThrow(/caller/);
  expect(() => limited({ points: 3 } as never)).toThrow(/no option "points"/);
});
