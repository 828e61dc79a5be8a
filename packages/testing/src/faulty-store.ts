/**
 * A store whose connection misbehaves: requests and replies get lost, come late, come twice, in another order than they were
 * sent. Wraps any store. For single tests a fault is injected (`next`, `inject`); a simulator decides for each call (`plan`).
 *
 * Invariants: the store behind it sees whole calls only, each as it was sent (a statement is applied or not, never half) ·
 * `applied` of a thrown `StoreError` is the truth · a call that is silent never settles: the caller's time-out ends it.
 */

import { StoreError } from 'samekey/internals/core/errors';
import type { StoreVerb } from 'samekey/internals/engine/events';
import type { HotStore, Store } from 'samekey/internals/store/store';
import type { ReservedId, TransactionalStore } from 'samekey/internals/store/transaction';
import { systemWorld } from 'samekey/internals/system';
import type { Timers } from './timeline.ts';

/**
 * What can happen to one call.
 * `refuse`: the store says no at once · `busy`: every row is locked · `someBusy`: every second row is locked, from the first on; the
 * others go through · `loseRequest`: never applied, nobody knows ·
 * `loseReply`: applied, nobody knows · `late`: nobody knows, and it is applied later · `twice`: answered, and applied once
 * more later · `slow`: applied and answered, later.
 */
export type FaultKind =
  | 'refuse'
  | 'busy'
  | 'someBusy'
  | 'loseRequest'
  | 'loseReply'
  | 'late'
  | 'twice'
  | 'slow';

/** How one call travels. */
export interface Passage {
  /** When the store gets it, in milliseconds after sending; several times, or never. */
  readonly arriveAfterMs: readonly number[];
  /** What the caller is told: the reply of the first arrival, an error, "busy", or nothing at all. */
  readonly answer: 'reply' | 'unknown' | 'no' | 'busy' | 'silence';
  /** How long the answer travels, in milliseconds; for errors counted from sending. */
  readonly answerAfterMs: number;
  /** Rows that somebody has locked, by their place in the call: they are told so, the others get there. Default none. */
  readonly isHeld?: (place: number) => boolean;
}

/** A call, as the plan sees it. */
export interface StoreCall {
  readonly verb: StoreVerb;
  readonly requests: readonly unknown[];
}

/** A fault to inject. */
export interface Injection {
  /** Only calls of this verb; default any. */
  readonly verb?: StoreVerb;
  /** How many calls it hits; default 1. */
  readonly times?: number;
  /** How much later `late`, `twice` and `slow` are applied, in milliseconds; default 100. */
  readonly byMs?: number;
  /** The caller is told nothing instead of "unknown"; default false. */
  readonly silent?: boolean;
}

/** Options of {@link faultyStore}. */
export interface FaultyStoreOptions extends Injection {
  /** Injected at once. */
  readonly next?: FaultKind;
  /** Decides how each call travels that no injected fault hits; null: straight through. */
  readonly plan?: (call: StoreCall) => Passage | null;
  /** Time on the way to the store; default real time. */
  readonly timers?: Timers;
  /** Time at the caller, who may be frozen or dead when the answer comes; default `timers`. */
  readonly callerTimers?: Timers;
}

/** A store with a bad connection. */
export interface FaultyStore extends Store {
  /** The next calls of this kind meet a fault. */
  inject(fault: FaultKind, injection?: Injection): void;
}

const STRAIGHT: Passage = { arriveAfterMs: [0], answer: 'reply', answerAfterMs: 0 };

/** Puts a bad connection in front of a store. Sweeping, reaping and the operator's verbs go straight through. */
export function faultyStore(store: Store, options: FaultyStoreOptions = {}): FaultyStore {
  const timers = options.timers ?? systemWorld();
  const { callerTimers } = options;
  const injected: { fault: FaultKind; injection: Injection; left: number }[] = [];

  function inject(fault: FaultKind, injection: Injection = {}): void {
    injected.push({ fault, injection, left: injection.times ?? 1 });
  }
  if (options.next !== undefined) inject(options.next, options);

  function passageFor(call: StoreCall): Passage {
    const at = injected.findIndex(({ injection }) => (injection.verb ?? call.verb) === call.verb);
    const hit = injected[at];
    if (hit === undefined) return options.plan?.(call) ?? STRAIGHT;
    hit.left -= 1;
    if (hit.left <= 0) injected.splice(at, 1);
    return passageOf(hit.fault, hit.injection);
  }

  /** A caller with timers of its own may be frozen or dead: then even an answer without delay waits for it. */
  function answered(ms: number, callback: () => void): void {
    if (callerTimers === undefined) after(timers, ms, callback);
    else callerTimers.setTimer(ms, callback);
  }

  function send<Request, Result>(
    verb: StoreVerb,
    requests: readonly Request[],
    apply: (requests: readonly Request[]) => Promise<readonly Result[]>,
  ): Promise<readonly Result[]> {
    const passage = passageFor({ verb, requests });
    const { answerAfterMs } = passage;
    // A read locks nothing.
    const isRead = verb === 'find' || verb === 'reservations';
    const isHeld = isRead ? undefined : passage.isHeld;
    const answer = passage.answer === 'busy' && isRead ? 'no' : passage.answer;
    return new Promise((resolve, reject) => {
      for (const [i, ms] of passage.arriveAfterMs.entries()) {
        after(timers, ms, () => {
          const told = i === 0 && answer === 'reply';
          applyFree(requests, isHeld, apply).then(
            (results) => told && answered(answerAfterMs, () => resolve(results)),
            (error: Error) => told && answered(answerAfterMs, () => reject(error)),
          );
        });
      }
      if (answer === 'busy') {
        answered(answerAfterMs, () => resolve(requests.map(() => BUSY as Result)));
      } else if (answer === 'unknown' || answer === 'no') {
        answered(answerAfterMs, () => reject(lost(answer)));
      }
    });
  }

  const hot: HotStore = {
    claim: (requests) => send('claim', requests, (rows) => store.claim(rows)),
    checkpoint: (requests) => send('checkpoint', requests, (rows) => store.checkpoint(rows)),
    renew: (requests) => send('renew', requests, (rows) => store.renew(rows)),
    finish: (requests) => send('finish', requests, (rows) => store.finish(rows)),
    find: (ids) => send('find', ids, (rows) => store.find(rows)),
  };
  const { reservations } = store as Partial<Pick<TransactionalStore, 'reservations'>>;
  return {
    ...store,
    ...hot,
    ...(reservations !== undefined && {
      reservations: (requests: readonly ReservedId[]) => send('reservations', requests, reservations),
    }),
    inject,
  };
}

/** Applies the rows that nobody holds; each result stands in the place of its row. */
async function applyFree<Request, Result>(
  requests: readonly Request[],
  isHeld: Passage['isHeld'],
  apply: (requests: readonly Request[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  if (isHeld === undefined) return apply(requests);
  const free = requests.filter((_, place) => !isHeld(place));
  const results = (free.length === 0 ? [] : await apply(free)).values();
  return requests.map((_, place) => (isHeld(place) ? BUSY : results.next().value) as Result);
}

/** The passage that a kind of fault stands for. */
export function passageOf(fault: FaultKind, { byMs = 100, silent = false }: Injection = {}): Passage {
  const unclear = silent ? 'silence' : 'unknown';
  switch (fault) {
    case 'refuse':
      return { arriveAfterMs: [], answer: 'no', answerAfterMs: 0 };
    case 'busy':
      return { arriveAfterMs: [], answer: 'busy', answerAfterMs: 0 };
    case 'someBusy':
      return { arriveAfterMs: [0], answer: 'reply', answerAfterMs: 0, isHeld: (place) => place % 2 === 0 };
    case 'loseRequest':
      return { arriveAfterMs: [], answer: unclear, answerAfterMs: 0 };
    case 'loseReply':
      return { arriveAfterMs: [0], answer: unclear, answerAfterMs: 0 };
    case 'late':
      return { arriveAfterMs: [byMs], answer: unclear, answerAfterMs: 0 };
    case 'twice':
      return { arriveAfterMs: [0, byMs], answer: 'reply', answerAfterMs: 0 };
    case 'slow':
      return { arriveAfterMs: [byMs], answer: 'reply', answerAfterMs: 0 };
    default:
      return fault satisfies never;
  }
}

const BUSY = Object.freeze({ kind: 'busy' });

/** What the caller is told of such a call. */
export function lost(applied: 'no' | 'unknown'): StoreError {
  return new StoreError(
    applied === 'no'
      ? 'The faulty store refused the call.'
      : 'The faulty store lost the request or its reply.',
    { applied },
  );
}

function after(timers: Timers, ms: number, callback: () => void): void {
  if (ms <= 0) callback();
  else timers.setTimer(ms, callback);
}
