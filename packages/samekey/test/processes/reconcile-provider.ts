/**
 * A payment provider in virtual time that behaves as badly as providers do: it is slow, fails before and after it has charged, loses
 * answers, says that it knows of no payment while the call is under way, does not answer questions, and repeats its webhooks. What it
 * never does: say that there is none once it has charged, or charge twice under one key if it knows keys.
 */

import { reply } from 'samekey';
import type { Verdict } from 'samekey/reconcile';
import type { FakeWorld, Random, Timeline } from '@samekey/testing';

/** A call is processed after this long at the most, in milliseconds; then it never is. */
export const FLIGHT_MAX_MS = 8_000;
/** Callers give up after this long, in milliseconds. */
export const CALL_TIMEOUT_MS = 4_000;

/** What one payment came to. */
export interface Processed {
  readonly id: string;
  readonly declined: boolean;
  readonly at: number;
}

/** What an answered call gives. */
export type ChargeResult = Pick<Processed, 'id' | 'declined'>;

/** The provider. */
export interface VirtualProvider {
  /** Charges; rejects when the answer is an error or does not come in time. */
  charge(world: FakeWorld, reference: string, key: string | null): Promise<ChargeResult>;
  /** A question as a reconciler asks it; `phased`: whether the answer is about an effect. */
  ask(world: FakeWorld, reference: string, phased: boolean): Promise<Verdict>;
  /** Every payment that was processed for a reference: two are one too many. */
  readonly books: ReadonlyMap<string, readonly Processed[]>;
  /** How often it said that there is none while a call was under way. */
  readonly lies: number;
  /** Called for each payment that was processed. */
  onProcessed: (reference: string, payment: Processed) => void;
}

/** What is said of a payment that was processed. */
export function verdictOf(payment: Processed, phased: boolean): Exclude<Verdict, { kind: 'not-known' }> {
  const { id, declined } = payment;
  if (phased) return { kind: 'took-effect', result: { id, declined } };
  return declined
    ? { kind: 'failed', answer: reply(402, { id, declined }) }
    : { kind: 'completed', answer: reply(201, { id, declined }) };
}

/** Makes it. `kind` 0 is kind, 1 fails in about half of its calls and questions. */
export function virtualProvider(timeline: Timeline, random: Random): VirtualProvider {
  const books = new Map<string, Processed[]>();
  const byKey = new Map<string, Processed>();
  const underWay = new Map<string, number>();
  let ids = 0;
  let lies = 0;

  function process(reference: string, key: string | null): Processed {
    const known = key === null ? undefined : byKey.get(key);
    if (known !== undefined) return known;
    ids += 1;
    const payment = { id: `pay_${ids}`, declined: random.chance(0.15), at: timeline.now };
    books.set(reference, [...(books.get(reference) ?? []), payment]);
    if (key !== null) byKey.set(key, payment);
    provider.onProcessed(reference, payment);
    return payment;
  }

  const provider: VirtualProvider = {
    books,
    get lies() {
      return lies;
    },
    onProcessed: () => undefined,

    charge(world, reference, key) {
      const mode = random.weighted({ kind: 3, slow: 4, late: 2, before: 2, after: 2, lost: 3, never: 2 });
      const flightMs = random.between(5, mode === 'slow' || mode === 'late' ? FLIGHT_MAX_MS : 1_500);
      underWay.set(reference, (underWay.get(reference) ?? 0) + 1);
      return new Promise((resolve, reject) => {
        const timer = world.setTimer(CALL_TIMEOUT_MS, () =>
          reject(new Error('No answer from the provider.')),
        );
        // It is sent: whatever becomes of the process, it arrives.
        timeline.setTimer(flightMs, () => {
          underWay.set(reference, (underWay.get(reference) ?? 1) - 1);
          const payment = mode === 'before' || mode === 'never' ? null : process(reference, key);
          if (mode === 'lost' || mode === 'never') return;
          const answerMs = mode === 'late' ? random.between(3_000, 30_000) : random.between(1, 200);
          timeline.setTimer(answerMs, () =>
            world.deliver(() => {
              timer.cancel();
              if (payment === null || mode === 'after') reject(new Error('The provider answered 500.'));
              else resolve({ id: payment.id, declined: payment.declined });
            }),
          );
        });
      });
    },

    ask(world, reference, phased) {
      const mode = random.weighted({ answers: 8, fails: 1, silent: 1, late: 1, vague: 1, garbage: 0.5 });
      const delayMs = mode === 'late' ? random.between(5_000, 20_000) : random.between(10, 1_500);
      return new Promise((resolve, reject) => {
        if (mode === 'silent') return;
        timeline.setTimer(delayMs / 2, () => {
          const payment = books.get(reference)?.[0];
          if (payment === undefined && (underWay.get(reference) ?? 0) > 0) lies += 1;
          const verdict: Verdict = payment === undefined ? { kind: 'no-effect' } : verdictOf(payment, phased);
          timeline.setTimer(delayMs / 2, () =>
            world.deliver(() => {
              if (mode === 'fails') reject(new Error('The provider answered 503.'));
              else if (mode === 'vague') resolve({ kind: 'not-known', afterMs: random.between(0, 20_000) });
              else if (mode === 'garbage') resolve({ kind: 'perhaps' } as unknown as Verdict);
              else resolve(verdict);
            }),
          );
        });
      });
    },
  };
  return provider;
}
