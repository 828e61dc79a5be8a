/** A slice of what `npm run prove -- --only simulator-workers` runs by the thousand, every seed that ever failed, and planted bugs that it must find. */

import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/store/message.ts';
import type { MemoryStore } from '../../src/stores/memory/index.ts';
import { describeFailure, replayCommand } from '../../../testing/src/simulator/report.ts';
import { simulateWorkers } from '../../../testing/src/simulator-workers.ts';

const SECONDS = Number(process.env['SAMEKEY_SIM_SECONDS'] ?? 15);
const FIRST = Number(process.env['SAMEKEY_SEED'] ?? 1);
/** Every planted bug is found within so many histories; most within ten. */
const HISTORIES_MAX = 500;
/** The search is bounded by histories, and its time is the machine's. */
const SEARCH_TIME_MAX_MS = 600_000;

/** Histories that find a fault which was there once, or which is planted in `tools/proofs/mutants/workers.mjs`. */
const KEPT: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 19, why: 'a worker that stood still begins nothing that another has by now' },
  { seed: 94, why: 'nor what was done by then' },
  { seed: 588, why: 'what may have killed its worker is handed back as such' },
  { seed: 376, why: 'a COMMIT that comes when its sender has given up on it is rolled back' },
];

async function expectNoViolation(seed: number): Promise<void> {
  const { violations } = await simulateWorkers({ seed });
  if (violations.length === 0) return;
  const command = replayCommand(seed, 'simulator-workers');
  expect.fail(describeFailure(await simulateWorkers({ seed, trace: true }), command));
}

describe('histories of background work', () => {
  it.each(KEPT)('seed $seed holds: $why', ({ seed }) => expectNoViolation(seed));

  it(`seeds from ${FIRST} on hold, for ${SECONDS} seconds`, async () => {
    const endsAt = performance.now() + SECONDS * 1000;
    let seed = FIRST;
    while (performance.now() < endsAt) await expectNoViolation(seed++);
    console.log(`simulator: ${seed - FIRST} histories of background work from SAMEKEY_SEED=${FIRST}`);
    expect(seed).toBeGreaterThan(FIRST);
  });

  it('a history replays exactly from its seed', async () => {
    for (const seed of [1, 2, 3]) {
      const [one, two] = await Promise.all([
        simulateWorkers({ seed, trace: true }),
        simulateWorkers({ seed, trace: true }),
      ]);
      expect(one.trace.length).toBeGreaterThan(100);
      expect(two).toEqual(one);
    }
  });
});

/** Each request under the lease that stands there now, whoever has it. */
async function underAnyLease<Request extends Lease>(
  { messages }: MemoryStore,
  requests: readonly Request[],
): Promise<readonly Request[]> {
  const rows = new Map((await messages.list({ limit: 1_000 })).map((row) => [row.id, row]));
  return requests.map((request) => {
    const { leaseId = request.leaseId, started = request.started } = rows.get(request.id) ?? {};
    return { ...request, leaseId: leaseId ?? request.leaseId, started };
  });
}

type Within = ReturnType<MemoryStore['within']>;

function within(store: MemoryStore, planted: (own: Within) => Partial<Within>): MemoryStore {
  return {
    ...store,
    within(tx) {
      const own = store.within(tx);
      return { ...own, ...planted(own) };
    },
  };
}

function withMessages(store: MemoryStore, planted: Partial<MemoryStore['messages']>): MemoryStore {
  return { ...store, messages: { ...store.messages, ...planted } };
}

const BUGS: Readonly<Record<string, (store: MemoryStore) => MemoryStore>> = {
  'a message that is ended by whoever had it once': (store) =>
    withMessages(store, {
      done: async (requests) => store.messages.done(await underAnyLease(store, requests)),
    }),
  'a message that is given back by whoever had it once': (store) =>
    withMessages(store, {
      retry: async (requests) => store.messages.retry(await underAnyLease(store, requests)),
    }),
  'a message that is sent before its transaction is committed': (store) =>
    within(store, () => ({ enqueue: (all) => void store.messages.enqueue(all) })),
  'a message that is lost': (store) =>
    within(store, (own) => ({ enqueue: (all) => own.enqueue(all.slice(1)) })),
  'a message that is sent twice': (store) =>
    within(store, (own) => ({
      enqueue: (all) => own.enqueue(all.flatMap((one) => [one, { ...one, id: `${one.id} again` }])),
    })),
  'a group that is forgotten': (store) =>
    within(store, (own) => ({ enqueue: (all) => own.enqueue(all.map((one) => ({ ...one, group: null }))) })),
  'a record that ends by itself, and its transaction by itself': (store) =>
    within(store, () => ({
      finish: (request) => (void store.finish([request]), { kind: 'applied', expiresAt: 0 }),
    })),
  'a lost reply to an end that is taken for its end': (store) =>
    withMessages(store, {
      done: (requests) =>
        store.messages.done(requests).then((results) => results.map(() => 'applied' as const)),
    }),
  'several that may have killed their worker in one': (store) =>
    withMessages(store, { take: (request) => store.messages.take({ ...request, suspectsMax: 100 }) }),
  'a delivery more than there may be': (store) =>
    withMessages(store, {
      take: (request) => store.messages.take({ ...request, deliveriesMax: request.deliveriesMax + 1 }),
    }),
  'a settlement in nobody’s name': (store) => ({
    ...store,
    settle: (requests) => store.settle(requests.map((request) => ({ ...request, actor: null }))),
  }),
  'a dead letter that comes back without a word of who sent it': (store) =>
    withMessages(store, { requeue: (ids, by) => store.messages.requeue(ids, { ...by, actor: 'somebody' }) }),
  'a contradiction that is told and not noted': (store) => ({ ...store, note: async () => undefined }),
  'a dead letter that ends nothing': (store) =>
    withMessages(store, {
      dead: (requests) => store.messages.dead(requests.map((request) => ({ ...request, record: null }))),
    }),
};

describe('planted bugs in background work', () => {
  it.each(Object.entries(BUGS))(
    'finds %s',
    async (name, plant) => {
      let found: string | undefined;
      for (let seed = 1; seed <= HISTORIES_MAX && found === undefined; seed += 1) {
        const { violations } = await simulateWorkers({ seed, plant });
        if (violations[0] !== undefined) found = `seed ${seed}: ${violations[0].what}`;
      }
      console.log(`${name}: ${found ?? 'NOT FOUND'}`);
      expect(found).toBeDefined();
    },
    SEARCH_TIME_MAX_MS,
  );
});
