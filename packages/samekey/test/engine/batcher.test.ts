/** When a lane sends: a lone call at once, and where groups form, together with what the same turn still brings. */
import { describe, expect, test } from 'vitest';
import { createLane, type Lane, type LaneOptions } from '../../src/engine/batcher.ts';
import { StoreError } from '../../src/core/errors.ts';
import { systemWorld } from '../../src/system.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

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

/** A lane on a store of the test's making. */
function laneOn(options: Partial<LaneOptions<string, string>>): Lane<string, string> {
  return createLane<string, string>({
    world: systemWorld(),
    send: async (requests) => requests,
    idOf: (request) => request,
    sizeOf: () => 1,
    isBusy: (result) => result === 'busy',
    rowsMax: 40,
    bytesMax: 1_000,
    callsAtOnceMax: 1,
    callTimeMaxMs: 60_000,
    onError: () => undefined,
    onCall: null,
    ...options,
  });
}

describe('A row that somebody holds', () => {
  const rows = ['a', 'b', 'c', 'd', 'e'];

  test('goes into the next flush, and each caller gets the result of its own row, whichever rows they are', async () => {
    for (let held = 0; held < 1 << rows.length; held += 1) {
      const sent: (readonly string[])[] = [];
      const lane = laneOn({
        async send(requests) {
          sent.push(requests);
          const isFirst = sent.length === 1;
          return requests.map((row) =>
            isFirst && (held & (1 << rows.indexOf(row))) !== 0 ? 'busy' : `of ${row}`,
          );
        },
      });
      expect(await submit(lane, rows)).toEqual(rows.map((row) => `of ${row}`));
      const again = rows.filter((_, i) => (held & (1 << i)) !== 0);
      expect(sent).toEqual(again.length === 0 ? [rows] : [rows, again]);
    }
  });

  test('is given up at the deadline of its caller, who is told that nothing was applied', async () => {
    const world = fakeWorld();
    const lane = laneOn({ world, send: async (requests) => requests.map(() => 'busy') });
    const told = errorOf(lane.submit('a', world.monotonicNow() + 1_000));
    await world.advance(999);
    expect(told.error).toBeNull();
    await world.advance(1_000);
    expect(told.error).toMatchObject({ applied: 'no', transient: true });
  });
});

describe('A flush', () => {
  test('holds no record twice', async () => {
    const sent: (readonly string[])[] = [];
    const lane = laneOn({
      idOf: (request) => request.slice(0, 1),
      async send(requests) {
        sent.push(requests);
        return requests;
      },
    });
    expect(await submit(lane, ['a1', 'a2', 'b1', 'a3'])).toEqual(['a1', 'a2', 'b1', 'a3']);
    expect(sent).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
  });

  test('holds no more bytes than it may, but for a row that is larger by itself', async () => {
    const sent: (readonly string[])[] = [];
    const lane = laneOn({
      bytesMax: 10,
      sizeOf: (request) => request.length,
      async send(requests) {
        sent.push(requests);
        return requests;
      },
    });
    await submit(lane, ['1234', '12345', '12', 'x'.repeat(11), '1234567890']);
    expect(sent).toEqual([['1234', '12345'], ['12'], ['x'.repeat(11)], ['1234567890']]);
  });
});

function lost(): StoreError {
  return new StoreError('no reply', { applied: 'unknown' });
}

describe('A flush whose reply was lost', () => {
  test('is sent again as it was, because only that can tell what became of it', async () => {
    const sent: (readonly string[])[] = [];
    const lane = laneOn({
      async send(requests) {
        sent.push(requests);
        if (sent.length < 3) throw lost();
        return requests;
      },
    });
    expect(await submit(lane, ['a', 'b'])).toEqual(['a', 'b']);
    expect(sent).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  test('may have been applied, whatever the store says of its repetition', async () => {
    for (const transient of [true, false]) {
      let calls = 0;
      const lane = laneOn({
        async send() {
          calls += 1;
          throw calls === 1 ? lost() : new StoreError('refused', { applied: 'no', transient });
        },
      });
      await expect(submit(lane, ['a'])).rejects.toMatchObject({ applied: 'unknown', transient });
    }
  });

  test('may have been applied, also when nobody hears of the store again', async () => {
    const world = fakeWorld();
    const never = new Promise<never>(() => undefined);
    const lane = laneOn({ world, callTimeMaxMs: 100, send: () => never });
    const told = errorOf(lane.submit('a', world.monotonicNow() + 1_000));
    await world.advance(999);
    expect(told.error).toBeNull();
    await world.advance(1_000);
    expect(told.error).toMatchObject({ applied: 'unknown', transient: true });
  });

  test('may have been applied when the store failed in a way that it does not know', async () => {
    const lane = laneOn({ send: () => Promise.reject(new TypeError('undefined is not a function')) });
    await expect(submit(lane, ['a'])).rejects.toMatchObject({ applied: 'unknown', transient: false });
  });
});

describe('A lane that backed off', () => {
  test('sends again once the time is over, also for callers that have less time than the backoff takes', async () => {
    const world = fakeWorld();
    let isAway = true;
    let calls = 0;
    const lane = laneOn({
      world,
      send(requests) {
        calls += 1;
        return isAway ? Promise.reject(lost()) : Promise.resolve(requests);
      },
    });
    const first = errorOf(lane.submit('a', world.monotonicNow() + 2_000));
    await world.advance(2_500);
    expect(first.error).toMatchObject({ applied: 'unknown' });
    isAway = false;
    const before = calls;
    const told = lane.submit('b', world.monotonicNow() + 1);
    await world.advance(0);
    expect(calls).toBe(before + 1);
    expect(await told).toBe('b');
  });

  test('asks nothing before', async () => {
    const world = { ...fakeWorld(), random: () => 0.5 };
    let calls = 0;
    const lane = laneOn({
      world,
      send(requests) {
        calls += 1;
        return calls === 1 ? Promise.reject(lost()) : Promise.resolve(requests);
      },
    });
    const told = lane.submit('a', world.monotonicNow() + 1_000);
    await world.advance(4);
    expect(calls).toBe(1);
    await world.advance(1);
    expect(await told).toBe('a');
    expect(calls).toBe(2);
  });
});

/** What a promise was rejected with so far. */
function errorOf(promise: Promise<unknown>): { readonly error: unknown } {
  const told: { error: unknown } = { error: null };
  promise.catch((error: unknown) => {
    told.error = error;
  });
  return told;
}
