/**
 * The store as the auditor sees it: every call passes, and every record it changed is reported with what stood before.
 *
 * Invariant: nothing comes between a call and the look at what it changed, or a change would be taken for another call's. A
 * real store passes a gate, one call at a time; a store of this process is asked and looked at without an await between.
 */

import { isDeepStrictEqual } from 'node:util';
import { idText, type RecordId, type SamekeyRecord } from 'samekey/internals/core/record';
import type { Store } from 'samekey/internals/store/store';
import type { WritingVerb } from '../audit/transitions.ts';
import type { Auditor } from '../auditor.ts';
import { type Gate, gatedStore } from '../gate.ts';

/** What watches the stores of one history. */
export interface WatchOptions {
  readonly auditor: Auditor;
  readonly storeNow: () => number;
  /** All keys of the history, for the verbs that name none. */
  readonly ids: readonly RecordId[];
  /** For stores that answer from outside; null: calls take effect within the turn they are made in. */
  readonly gate: Gate | null;
  /** As in `SimulatedDatabase`. */
  readonly timeLags: boolean;
}

/** Puts the auditor behind the handles on one store. */
export function createWatch({
  auditor,
  storeNow,
  ids,
  gate,
  timeLags,
}: WatchOptions): (store: Store) => Store {
  const last = new Map<string, SamekeyRecord | null>();

  return (store) => {
    async function watch<Result>(
      verb: WritingVerb,
      about: readonly RecordId[],
      named: boolean,
      apply: () => Promise<Result>,
    ): Promise<Result> {
      const applied = apply();
      // Asked in the same instant as the call: what a store changes later is seen with its next call.
      const now = storeNow();
      const looked = gate === null ? store.find(about) : null;
      const result = await applied;
      // What a real store changed although it says nothing of it is seen with the next call about the key.
      if (gate !== null && !named && isNothing(result)) return result;
      const records = await (looked ?? store.find(about));
      for (const [i, id] of about.entries()) {
        const text = idText(id);
        const before = last.get(text) ?? null;
        const found = records[i] ?? null;
        // A store outside makes a new object of the same row each time.
        const after = gate !== null && isDeepStrictEqual(before, found) ? before : found;
        last.set(text, after);
        auditor.changed({ verb, request: named ? id : null, before, after, now, timeLags });
      }
      return result;
    }

    /** Through the gate; a real store has nothing to complain of, because its faults are made in front of it. */
    function pass<Result>(call: () => Promise<Result>): Promise<Result> {
      if (gate === null) return call();
      return gate.pass(call).catch((error: unknown) => {
        auditor.report(null, 'state', `the store failed: ${String(error)}`);
        throw error;
      });
    }

    const watched = <Request extends RecordId, Result>(
      verb: WritingVerb,
      apply: (requests: readonly Request[]) => Promise<Result>,
    ): ((requests: readonly Request[]) => Promise<Result>) => {
      return (requests) => pass(() => watch(verb, requests, true, () => apply(requests)));
    };
    return {
      ...(gate === null ? store : gatedStore(store, gate)),
      claim: watched('claim', (requests) => store.claim(requests)),
      renew: watched('renew', (requests) => store.renew(requests)),
      checkpoint: watched('checkpoint', (requests) => store.checkpoint(requests)),
      finish: watched('finish', (requests) => store.finish(requests)),
      settle: watched('settle', (requests) => store.settle(requests)),
      reopen: watched('reopen', (requests) => store.reopen(requests)),
      forget: watched('forget', (requests) => store.forget(requests)),
      takeUnknown: (request) =>
        pass(() => watch('takeUnknown', ids, false, () => store.takeUnknown(request))),
      postpone: watched('postpone', (requests) => store.postpone(requests)),
      erase: (request) => pass(() => watch('erase', ids, false, () => store.erase(request))),
      sweep: (limit, options) => pass(() => watch('sweep', ids, false, () => store.sweep(limit, options))),
      reap: (limit) => pass(() => watch('reap', ids, false, () => store.reap(limit))),
    };
  };
}

/** What a sweep, a take or a reap says that moved nothing. */
function isNothing(result: unknown): boolean {
  return Array.isArray(result) ? result.length === 0 : (result as { count?: number }).count === 0;
}
