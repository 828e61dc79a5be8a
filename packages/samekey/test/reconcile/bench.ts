/** A reconciler over a memory store in virtual time, and records made unknown by real instances. */

import { createSamekey, type SamekeyRecord } from '../../src/index.ts';
import {
  createReconciler,
  type Inquiry,
  type ReconcileEvent,
  type Reconciler,
  type ReconcilerOptions,
  type Verdict,
} from '../../src/reconcile/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { FAKE_WALL_START, type FakeWorld, fakeWorld } from '../../../testing/src/index.ts';

/** What the next questions are answered; a function is called. */
export type Answer = Verdict | ((record: SamekeyRecord, inquiry: Inquiry) => Promise<Verdict>);

/** What tests work with. */
export interface Bench {
  readonly world: FakeWorld;
  readonly store: ReturnType<typeof memoryStore>;
  readonly events: ReconcileEvent[];
  /** The inquiries so far, in order. */
  readonly asked: { readonly at: number; readonly key: string; readonly inquiry: Inquiry }[];
  /** What is answered from now on, one after the other; the last one for ever. */
  readonly answers: Answer[];
  reconciler(options?: Partial<ReconcilerOptions>): Reconciler;
  /** A key of the plain operation `pay` whose handler threw: its owner told its end. */
  thrown(key?: string): Promise<SamekeyRecord>;
  /** A key of `pay` whose process died: its owner told nothing. */
  died(key?: string): Promise<SamekeyRecord>;
  /** A key of the phased operation `order` whose effect `charge` (rule `reconcile`) ended in nobody knows what. */
  open(
    key?: string,
    given?: {
      readonly scope?: string;
      readonly providerId?: string;
      readonly operation?: 'order' | 'refund';
    },
  ): Promise<SamekeyRecord>;
  /** Runs it again, as its client would. */
  again(key?: string): Promise<string>;
  record(key?: string): Promise<SamekeyRecord>;
  types(): readonly string[];
}

export const CALL_TIME_MAX_MS = 10_000;
export const LEASE_MS = 60_000;
const SETTINGS = { policy: 'payments', claimTtlMs: 10_000, reconcileAfterMs: 0 } as const;

async function chargeAnew(_note: (id: string) => Promise<void>): Promise<string> {
  return 'ch_fresh';
}

/** Makes one; `references` false: on a store that keeps none. */
export function createBench({ references = true } = {}): Bench {
  const world = fakeWorld({ seed: 7 });
  const made = memoryStore({ now: () => FAKE_WALL_START + world.timeline.now });
  const store = references ? made : { ...made, references: undefined };
  const events: ReconcileEvent[] = [];
  const asked: Bench['asked'] = [];
  const answers: Answer[] = [];

  const instance = (own: FakeWorld) => {
    const samekey = createSamekey({ store, world: own, replayCacheBytesMax: 0, ...SETTINGS });
    const phased = (name: 'order' | 'refund') =>
      samekey.phased({
        name,
        run: async (_input: null, attempt) =>
          attempt.effect<string>('charge', ({ noteProviderId }) => charge(noteProviderId), {
            rule: 'reconcile',
            callTimeMaxMs: 4_000,
          }),
      });
    return { samekey, order: phased('order'), refund: phased('refund') };
  };
  let charge = chargeAnew;
  const { samekey, ...operations } = instance(world);
  const { order } = operations;

  async function inquire(record: SamekeyRecord, inquiry: Inquiry): Promise<Verdict> {
    asked.push({ at: world.timeline.now, key: record.key, inquiry });
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? { kind: 'not-known' };
    return typeof answer === 'function' ? answer(record, inquiry) : answer;
  }

  const bench: Bench = {
    world,
    store,
    events,
    asked,
    answers,
    reconciler: (options = {}) =>
      createReconciler({
        store,
        world,
        operations: {
          pay: { inquire, callTimeMaxMs: CALL_TIME_MAX_MS },
          order: { inquire, callTimeMaxMs: CALL_TIME_MAX_MS },
        },
        leaseMs: LEASE_MS,
        onEvent: (event) => void events.push(event),
        ...options,
      }),
    async thrown(key = 'k') {
      const run = samekey.run({ operation: 'pay', scope: ['t'], key, fingerprint: null }, () => {
        throw new Error('the line broke');
      });
      await run.catch(() => undefined);
      return bench.record(key);
    },
    async died(key = 'k') {
      const own = fakeWorld({ name: `dead of ${key}`, timeline: world.timeline, seed: 8 });
      void instance(own).samekey.run({ operation: 'pay', scope: ['t'], key, fingerprint: null }, () => {
        own.kill();
        return new Promise(() => undefined);
      });
      await world.advance(SETTINGS.claimTtlMs);
      await store.sweep(10);
      return bench.record(key);
    },
    async open(key = 'k', { scope = 't', providerId = `pi_${key}`, operation = 'order' } = {}) {
      charge = async (note) => {
        await note(providerId);
        throw new Error('the line broke');
      };
      await operations[operation].run({ scope: [scope], key, input: null });
      charge = chargeAnew;
      return bench.record(key);
    },
    async again(key = 'k') {
      const { operation } = await bench.record(key);
      const outcome =
        operation === 'order'
          ? await order.run({ scope: ['t'], key, input: null })
          : await samekey.run({ operation: 'pay', scope: ['t'], key, fingerprint: null }, () => 'ran again');
      return outcome.kind === 'replay' || outcome.kind === 'executed'
        ? `${outcome.kind} ${JSON.stringify(outcome.value)}`
        : outcome.kind;
    },
    async record(key = 'k') {
      const found = (await store.list({ limit: 1_000 })).find((record) => record.key === key);
      if (found === undefined) throw new Error(`There is no record of ${key}.`);
      return found;
    },
    types: () => events.map(({ type }) => type),
  };
  return bench;
}
