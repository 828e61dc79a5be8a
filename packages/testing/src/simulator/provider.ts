/**
 * The simulated provider: charges, answers late or not at all, and can be asked. It knows downstream keys for ever.
 *
 * Invariants: a request that has left lands whatever becomes of its sender, at most when its call may last no longer · what it is asked it
 * answers by what has landed until then.
 */

import type { FakeWorld } from '../fake-world.ts';
import type { Random } from '../random.ts';
import type { Timeline } from '../timeline.ts';
import type { FaultRates } from './scenario.ts';

/** One call, as the provider gets it. */
export interface Charging {
  /** What is charged, of which there should be one. */
  readonly what: string;
  /** Null: two requests are two charges. */
  readonly downstreamKey: string | null;
  /** When it has landed at the latest, in milliseconds from now. */
  readonly landsWithinMs: number;
  readonly landed: (charge: number) => void;
}

/** What a charge gives. */
export interface Charge {
  readonly charge: number;
}

/** The provider of one history. */
export interface Provider {
  /** Rejects when the reply is lost or the connection refused; the charge may have been made. */
  charge(world: FakeWorld, charging: Charging): Promise<Charge>;
  /** The first charge of what is asked about; null: none has landed. */
  find(world: FakeWorld, what: string, withinMs: number): Promise<Charge | null>;
  /** Whether anything of it has landed. */
  has(what: string): boolean;
}

/** What the provider stands on. */
export interface ProviderOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly rates: FaultRates;
  readonly isCalm: () => boolean;
}

/** Nobody listened: nothing happened. */
export class Refused extends Error {
  readonly code = 'ECONNREFUSED';
}

/** Nobody knows. */
export class ReplyLost extends Error {}

/** Opens a provider with empty books. */
export function createProvider({ timeline, random, rates, isCalm }: ProviderOptions): Provider {
  const byKey = new Map<string, number>();
  const byWhat = new Map<string, number>();
  let charges = 0;

  function book(what: string, downstreamKey: string | null): number {
    const known = downstreamKey === null ? undefined : byKey.get(downstreamKey);
    if (known !== undefined) return known;
    charges += 1;
    if (downstreamKey !== null) byKey.set(downstreamKey, charges);
    if (!byWhat.has(what)) byWhat.set(what, charges);
    return charges;
  }

  const isBad = (): boolean => !isCalm() && random.chance(rates.provider);

  return {
    has: (what) => byWhat.has(what),

    charge(world, { what, downstreamKey, landsWithinMs, landed }) {
      const fault = isBad()
        ? random.pick(['refused', 'lost', 'late', 'vanished', 'adrift', 'adrift'] as const)
        : null;
      const isSlow = fault === 'late' || fault === 'adrift';
      const travelMs = Math.floor(landsWithinMs * (isSlow ? 0.5 + random.next() / 2 : random.next() * 0.3));
      const answer = (ms: number, callback: () => void): void => void world.setTimer(ms, callback);
      return new Promise((resolve, reject) => {
        if (fault === 'refused') return answer(1, () => reject(new Refused('connect ECONNREFUSED')));
        if (fault === 'vanished') return answer(travelMs, () => reject(new ReplyLost('socket hang up')));
        // Its sender is told that the connection broke, and it lands all the same.
        if (fault === 'adrift') answer(1, () => reject(new ReplyLost('connection reset')));
        timeline.setTimer(travelMs, () => {
          const charge = book(what, downstreamKey);
          landed(charge);
          if (fault !== 'lost' && fault !== 'adrift')
            return answer(random.between(0, 10), () => resolve({ charge }));
          if (random.chance(0.7)) answer(1, () => reject(new ReplyLost('socket hang up')));
        });
      });
    },

    find(world, what, withinMs) {
      const isFailing = isBad();
      return new Promise((resolve, reject) => {
        timeline.setTimer(random.between(0, Math.floor(withinMs / 4)), () => {
          const charge = byWhat.get(what);
          world.setTimer(random.between(0, 5), () => {
            if (isFailing) reject(new ReplyLost('the question failed'));
            else resolve(charge === undefined ? null : { charge });
          });
        });
      });
    },
  };
}
