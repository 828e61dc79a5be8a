/**
 * Where virtual time meets a real store: calls that the outside world answers are counted, and the clock stands still until all
 * of them have been answered and what followed from them has run. So a history with real input and output replays from its
 * seed, as one in memory does.
 *
 * Invariants: time moves only while nothing is under way · with `oneAtATime` calls reach the store in the order in which they
 * were made, each after the last one's reply, so their order follows from the seed alone.
 */

import type { HotStore, LifecycleStore, OperatorStore, Store } from 'samekey/internals/store/store';
import { turn } from './timeline.ts';

/** Counts what is under way outside of virtual time. */
export interface Gate {
  /** How many calls are under way. */
  readonly count: number;
  /** Makes a call that the outside world answers. */
  pass<T>(call: () => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way and every microtask has run: now time may move. */
  settled(): Promise<void>;
}

/** Makes a gate. */
export function createGate({ oneAtATime }: { readonly oneAtATime: boolean }): Gate {
  let count = 0;
  let last: Promise<unknown> = Promise.resolve();
  let waiting: (() => void)[] = [];

  function left(): void {
    count -= 1;
    if (count > 0) return;
    const all = waiting;
    waiting = [];
    for (const one of all) one();
  }

  return {
    get count() {
      return count;
    },
    pass(call) {
      count += 1;
      const result = oneAtATime ? last.then(call) : call();
      last = result.then(left, left);
      return result;
    },
    async settled() {
      for (;;) {
        await turn();
        if (count === 0) return;
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
    },
  };
}

type Parts = HotStore & LifecycleStore & OperatorStore;

/** What answers with a promise. */
type Verb = {
  [Name in keyof Parts]: Parts[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Parts];

/** All verbs: one that is missing here does not compile. */
const VERBS: Readonly<Record<NonNullable<Verb>, true>> = {
  claim: true,
  renew: true,
  finish: true,
  checkpoint: true,
  find: true,
  sweep: true,
  due: true,
  reap: true,
  takeUnknown: true,
  postpone: true,
  settle: true,
  reopen: true,
  forget: true,
  erase: true,
  audit: true,
  note: true,
  pruneAudit: true,
  list: true,
  count: true,
};

/** The store behind a gate. It is not closed by those who use it: its maker closes it. */
export function gatedStore(store: Store, gate: Gate): Store {
  const gated = (Object.keys(VERBS) as NonNullable<Verb>[]).map((verb) => {
    const call = store[verb] as (...args: unknown[]) => Promise<unknown>;
    return [verb, (...args: unknown[]) => gate.pass(() => call(...args))] as const;
  });
  return { ...store, ...Object.fromEntries(gated), close: async () => undefined };
}
