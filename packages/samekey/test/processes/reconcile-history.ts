/**
 * One seeded history of reconciliation in virtual time: processes that pay at a bad provider, die and stand still at the worst moments
 * (F61), clients that ask again, two reconcilers that die and stand still too, and webhooks that come twice, late and early.
 *
 * In the end, for each key: one payment at most; a payment that was made is what the record says; nothing is left that nobody will look
 * at again.
 */

import { createSamekey, reply, type Samekey } from 'samekey';
import {
  createReconciler,
  type Reconciler,
  type ReconcileEvent,
  type ReconcileOperation,
  type ToldAbout,
} from 'samekey/reconcile';
import { memoryStore } from 'samekey/stores/memory';
import {
  createRandom,
  createTimeline,
  FAKE_WALL_START,
  type FakeWorld,
  fakeWorld,
  turn,
} from '@samekey/testing';
import {
  faultsOfHistory,
  INQUIRIES_MAX,
  type Key,
  type Kind,
  KINDS,
  NAMES,
} from './reconcile-history-end.ts';
import { type ChargeResult, virtualProvider, type Processed, verdictOf } from './reconcile-provider.ts';

/** Bugs that can be planted, to see that they are found. */
export interface Planted {
  /** "No such payment" is believed while the call may be under way. */
  readonly callTimeMaxMs?: number;
  /** The provider is said to know keys, and does not. */
  readonly keyless?: boolean;
}

/** What a history came to. */
export interface ReconcileHistory {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

const CLAIM_TTL_MS = 10_000;
/** Longer than a call can be under way. */
const CALL_TIME_MAX_MS = 10_000;
const LEASE_MS = 15_000;
const INQUIRY_TIME_MAX_MS = 5_000;
/** When everybody stops failing, and when everything must have come to its end. */
const QUIET_AT_MS = 400_000;
const END_AT_MS = 1_200_000;

interface App {
  readonly world: FakeWorld;
  readonly samekey: Samekey;
  run(
    kind: Kind,
    key: string,
  ): Promise<{ readonly kind: string; readonly value?: unknown; readonly state?: string }>;
}

/** Runs one. */
export async function reconcileHistory(seed: number, planted: Planted = {}): Promise<ReconcileHistory> {
  const random = createRandom(seed);
  const timeline = createTimeline(random);
  const store = memoryStore({ now: () => FAKE_WALL_START + timeline.now });
  const provider = virtualProvider(timeline, random);
  const keys: Key[] = Array.from({ length: random.between(2, 4) }, (_, i) => ({
    key: `key-${i}`,
    kind: random.pick(NAMES),
    answers: [],
    done: false,
    noted: false,
    downstreamKey: null,
  }));
  const byKey = new Map(keys.map((one) => [one.key, one]));
  const failures: string[] = [];
  const counts: Record<string, number> = {};
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
  const fail = (what: string): void => void failures.push(`seed ${seed}: ${what}`);
  let worlds = 0;
  const newWorld = (name: string): FakeWorld => {
    worlds += 1;
    return fakeWorld({ name: `${name}${worlds}`, timeline, random, digest: 'fast' });
  };
  const isQuiet = (): boolean => timeline.now >= QUIET_AT_MS;

  async function pay(world: FakeWorld, key: string, downstreamKey: string | null): Promise<ChargeResult> {
    // Stands still here, for as long as it likes, and then calls: F61.
    await pause(world, random.between(0, 2_000));
    return provider.charge(world, key, planted.keyless === true ? null : downstreamKey);
  }

  function newApp(): App {
    const world = newWorld('app');
    const samekey = createSamekey({
      store,
      world,
      policy: 'payments',
      claimTtlMs: CLAIM_TTL_MS,
      attemptTimeMaxMs: 60_000,
      reconcileAfterMs: 1_000,
      attemptMax: 6,
    });
    const phased = new Map(
      NAMES.filter((kind) => KINDS[kind].phased).map((kind) => [
        kind,
        samekey.phased({
          name: kind,
          run: async ({ key }: { readonly key: string }, attempt) => {
            const { keyed, rule } = KINDS[kind];
            const paid = await attempt.effect<ChargeResult>(
              'charge',
              async ({ downstreamKey, noteProviderId }) => {
                const known = byKey.get(key) as Key;
                known.downstreamKey = downstreamKey;
                if (random.chance(0.5)) {
                  await noteProviderId(`intent of ${key}`);
                  known.noted = true;
                }
                return pay(world, key, keyed ? downstreamKey : null);
              },
              rule === 'downstreamKey'
                ? { rule, retentionMs: 86_400_000, callTimeMaxMs: 7_000 }
                : { rule: 'reconcile', callTimeMaxMs: 7_000 },
            );
            return reply(paid.declined ? 402 : 201, paid);
          },
        }),
      ]),
    );
    return {
      world,
      samekey,
      run: (kind, key) =>
        phased.get(kind)?.run({ scope: ['t'], key, input: { key } }) ??
        samekey.run({ operation: kind, scope: ['t'], key, fingerprint: key }, async () => {
          const paid = await pay(world, key, KINDS[kind].keyed ? key : null);
          return reply(paid.declined ? 402 : 201, paid);
        }),
    };
  }

  const asked = new Map<string, number>();
  const operations: Record<string, ReconcileOperation> = {};
  function newReconciler(): { readonly world: FakeWorld; readonly reconciler: Reconciler } {
    const world = newWorld('reconciler');
    for (const kind of NAMES) {
      const { phased, keyed } = KINDS[kind];
      operations[kind] = {
        callTimeMaxMs: planted.callTimeMaxMs ?? CALL_TIME_MAX_MS,
        downstreamKey: keyed,
        inquire(record, { inquiry }) {
          // Two that take at once never get the same one.
          const unknown = `${record.claimId} since ${record.lockedUntil}`;
          const last = asked.get(unknown) ?? 0;
          if (inquiry <= last) fail(`${record.key} was asked about twice as inquiry ${inquiry}`);
          if (inquiry > INQUIRIES_MAX) fail(`${record.key} was asked about ${inquiry} times`);
          asked.set(unknown, inquiry);
          count('asked');
          return provider.ask(world, record.key, phased);
        },
      };
    }
    const reconciler = createReconciler({
      store,
      world,
      operations: { ...operations },
      backoff: { minMs: 2_000, maxMs: 40_000 },
      inquiriesMax: INQUIRIES_MAX,
      leaseMs: LEASE_MS,
      inquiryTimeMaxMs: INQUIRY_TIME_MAX_MS,
      pollMs: 4_000,
      onEvent: (event: ReconcileEvent) => count(event.type),
    });
    reconciler.start();
    return { world, reconciler };
  }

  let apps = [newApp(), newApp()];
  let reconcilers = [newReconciler(), newReconciler()];

  // Webhooks: 1 to 3 of each payment, again while they are told to come again.
  provider.onProcessed = (key: string, payment: Processed): void => {
    const known = byKey.get(key) as Key;
    const { phased } = KINDS[known.kind];
    for (let copies = random.between(0, 3); copies > 0; copies -= 1) {
      void deliver(known, payment, phased, random.between(0, 120_000), 12);
    }
  };
  async function deliver(
    known: Key,
    payment: Processed,
    phased: boolean,
    afterMs: number,
    left: number,
  ): Promise<void> {
    await new Promise<void>((resolve) => void timeline.setTimer(afterMs, resolve));
    const { world, reconciler } = random.pick(reconcilers);
    if (world.state === 'running') {
      const result = await reconciler.tell({
        by: aboutOf(known),
        verdict: verdictOf(payment, phased),
        source: 'webhook:test',
      });
      count(`webhook ${result.kind}`);
      if (result.kind !== 'not-yet' && result.kind !== 'not-known-here') return;
    }
    if (left > 0) await deliver(known, payment, phased, random.between(5_000, 20_000), left - 1);
  }
  function aboutOf({ key, kind, noted, downstreamKey }: Key): ToldAbout {
    const ways: ToldAbout[] = [
      { scope: ['t'], operation: kind, key },
      { scope: `t|${kind}`, key },
    ];
    if (noted) ways.push({ providerId: `intent of ${key}`, operation: kind });
    if (downstreamKey !== null) ways.push({ downstreamKey });
    return random.pick(ways);
  }

  async function client(known: Key): Promise<void> {
    await outside(random.between(0, 20_000));
    while (!known.done && timeline.now < END_AT_MS) {
      const app = random.pick(apps);
      const answer = await Promise.race([
        app.run(known.kind, known.key).catch(() => null),
        outside(30_000).then(() => null),
      ]);
      const isFinal =
        answer?.kind === 'replay' || (answer?.kind === 'executed' && answer.state !== 'retryable');
      if (answer !== null && isFinal && answer.state !== 'unknown') {
        known.answers.push(JSON.stringify(answer.value));
        known.done = known.answers.length >= 2;
      }
      await outside(random.between(1_000, 25_000));
    }
  }
  function outside(ms: number): Promise<void> {
    return new Promise((resolve) => void timeline.setTimer(ms, resolve));
  }

  /** Kills and freezes, until it is quiet. */
  async function chaos(): Promise<void> {
    while (!isQuiet()) {
      await outside(random.between(500, 30_000));
      const of = random.chance(0.75) ? apps : reconcilers;
      const at = random.between(0, of.length - 1);
      const { world } = of[at] as { readonly world: FakeWorld };
      if (random.chance(0.5)) {
        count('killed');
        world.kill();
        if (of === apps) apps = apps.with(at, newApp());
        else reconcilers = reconcilers.with(at, newReconciler());
      } else if (world.state === 'running') {
        count('frozen');
        world.freeze();
        timeline.setTimer(random.between(1_000, 150_000), () => world.thaw());
      }
    }
  }

  async function upkeep(): Promise<void> {
    for (;;) {
      await outside(5_000);
      await store.sweep(100);
    }
  }

  for (const known of keys) void client(known);
  void chaos();
  void upkeep();
  while (timeline.now < END_AT_MS && timeline.step()) await turn();
  for (const { world } of reconcilers) world.kill();

  for (const what of await faultsOfHistory(store, keys, provider.books, count)) fail(what);
  counts['lies'] = provider.lies;
  return { seed, failures, counts };
}

function pause(world: FakeWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.setTimer(ms, resolve));
}
