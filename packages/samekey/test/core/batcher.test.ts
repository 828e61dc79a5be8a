/** When a lane sends: a lone call at once, and where groups form, together with what the same turn still brings. */
import { describe, expect, test } from 'vitest';
import { createLane, type Lane } from '../../src/core/batcher.ts';
import { StoreError } from '../../src/core/errors.ts';
import { systemWorld } from '../../src/system.ts';

/** A lane whose turns are ended by hand, and the flushes it sent. */
function bench(callsAtOnceMax = 1): {
  lane: Lane<string, string>;
  flushes: (readonly string[])[];
  endTurn: () => void;
} {
  const flushes: (readonly string[])[] = [];
  const waiting: (() => void)[] = [];
  const lane = createLane<string, string>({
    world: { ...systemWorld(), soon: (callback) => void waiting.push(callback) },
    async send(requests) {
      flushes.push(requests);
      return requests;
    },
    idOf: (request) => request,
    sizeOf: () => 1,
    isBusy: () => false,
    rowsMax: 40,
    bytesMax: 1_000,
    callsAtOnceMax,
    callTimeMaxMs: 60_000,
    onError: () => undefined,
    onCall: null,
  });
  return { lane, flushes, endTurn: () => waiting.splice(0).forEach((callback) => callback()) };
}

function submit(lane: Lane<string, string>, requests: readonly string[]): Promise<readonly string[]> {
  return Promise.all(requests.map((request) => lane.submit(request, Number.POSITIVE_INFINITY)));
}

describe('An idle lane', () => {
  test('sends lone calls without waiting for the end of the turn', async () => {
    const { lane, flushes } = bench();
    await submit(lane, ['a']);
    await submit(lane, ['b']);
    expect(flushes).toEqual([['a'], ['b']]);
  });

  test('waits for the end of the turn after a flush of several, so that what else arrives goes with the first', async () => {
    const { lane, flushes, endTurn } = bench();
    await submit(lane, ['a', 'b']);
    const first = submit(lane, ['c']);
    // A turn reads one socket after the other, with microtasks in between.
    await Promise.resolve();
    const second = submit(lane, ['d']);
    await Promise.resolve();
    expect(flushes).toEqual([['a', 'b']]);
    endTurn();
    expect(await Promise.all([first, second])).toEqual([['c'], ['d']]);
    expect(flushes).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  test('sends lone calls at once again after a flush of one', async () => {
    const { lane, flushes, endTurn } = bench();
    await submit(lane, ['a', 'b']);
    const lone = submit(lane, ['c']);
    endTurn();
    await lone;
    await submit(lane, ['d']);
    expect(flushes).toEqual([['a', 'b'], ['c'], ['d']]);
  });
});

describe('A lane of a store that works on several calls at once', () => {
  const keys = Array.from({ length: 64 }, (_, i) => `k${i}`);

  test('deals out what waits to as many flushes, and each row is in one of them', async () => {
    const { lane, flushes } = bench(4);
    await submit(lane, keys);
    expect(flushes.map((flush) => flush.length)).toEqual([16, 16, 16, 16]);
    expect(flushes.flat()).toEqual(keys);
  });

  test('makes no flush of a few rows beside others', async () => {
    const { lane, flushes } = bench(4);
    await submit(lane, keys.slice(0, 10));
    expect(flushes.map((flush) => flush.length)).toEqual([8, 2]);
  });
});

describe('A flush that nobody knows the fate of', () => {
  test('is halved until what cannot be stored stands alone, and nobody of it is told that nothing was applied', async () => {
    const sent: (readonly string[])[] = [];
    const lane = createLane<string, string>({
      world: systemWorld(),
      async send(requests) {
        sent.push(requests);
        if (requests.length > 1)
          throw new StoreError('written, but for one', { applied: 'unknown', transient: false });
        if (requests[0] === 'down') throw new StoreError('down', { applied: 'no' });
        if (requests[0] === 'bad') throw new StoreError('bad', { applied: 'no', transient: false });
        return requests;
      },
      idOf: (request) => request,
      sizeOf: () => 1,
      isBusy: () => false,
      rowsMax: 40,
      bytesMax: 1_000,
      callsAtOnceMax: 1,
      callTimeMaxMs: 60_000,
      onError: () => undefined,
      onCall: null,
    });
    const answers = await Promise.allSettled(
      ['good', 'bad', 'down'].map((request) => lane.submit(request, Number.POSITIVE_INFINITY)),
    );
    expect(answers).toMatchObject([
      { value: 'good' },
      { reason: { message: 'bad', applied: 'unknown', transient: false } },
      { reason: { message: 'down', applied: 'unknown', transient: true } },
    ]);
    expect(sent).toEqual([['good', 'bad', 'down'], ['good'], ['bad', 'down'], ['bad'], ['down']]);
  });
});
