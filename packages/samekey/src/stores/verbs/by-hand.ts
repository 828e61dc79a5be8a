/**
 * The operator's acts on single records, and giving up on an unknown outcome. Each says why and leaves a row in the
 * audit in the same write; what was deleted is taken off the counts of stored keys.
 */

import { StoreError } from '../../core/errors.ts';
import { idText, type RecordId } from '../../core/record.ts';
import { type AuditAct, type ByHand, checkByHand, giveUpRow, handRow } from '../../store/audit.ts';
import { type Counters, takeOff } from '../../store/counters.ts';
import { settlements } from '../../store/ends.ts';
import { decideForget, decidePostpone, decideReopen, decideSettle } from '../../store/machine/index.ts';
import type { HandResult, LifecycleStore, OperatorStore } from '../../store/store.ts';
import { type Change, type Decide, type RowOf, unclear } from './change.ts';

/** What the acts are made of. */
interface HandParts {
  readonly change: Change;
  /** Requests of one change at most; default: all. */
  readonly atOnceMax?: number;
  /** Throws `StoreError` for ids that the store cannot keep. */
  readonly checkIds?: (ids: readonly RecordId[]) => void;
  /** Absent: they count by themselves, or there are none. */
  readonly counters?: Counters;
}

type Hand = Pick<OperatorStore, 'settle' | 'reopen' | 'forget'> & Pick<LifecycleStore, 'postpone'>;

/** A change that somebody else stands in the way of is tried this often, with pauses that grow to 100 ms. */
const TRIES_MAX = 20;

/** Makes them. */
export function createHand({
  change,
  atOnceMax = Number.POSITIVE_INFINITY,
  checkIds,
  counters,
}: HandParts): Hand {
  /** Until each has its result. Those that have it keep it when a later one fails. */
  async function retried<Request extends RecordId>(
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
    rowOf: RowOf<Request>,
  ): Promise<readonly HandResult[]> {
    checkIds?.(requests);
    const results = new Map<number, HandResult>();
    try {
      for (let tries = 0; results.size < requests.length; ) {
        const open = firstOfEach(requests, (i) => results.has(i)).slice(0, atOnceMax);
        const asked = open.map((i) => requests[i] as Request);
        const answers = await change(asked, decide, rowOf);
        const had = results.size;
        for (const [at, i] of open.entries()) {
          const answer = answers[at];
          if (answer !== undefined && answer.kind !== 'busy') results.set(i, answer);
        }
        tries = results.size > had ? 0 : tries + 1;
        if (tries === TRIES_MAX) throw held();
        if (tries > 0) await new Promise((resolve) => void setTimeout(resolve, Math.min(100, 5 * tries)));
      }
    } catch (error) {
      throw [...results.values()].some(({ kind }) => kind === 'applied') ? unclear(error) : error;
    }
    return requests.map((_, i) => results.get(i) as HandResult);
  }

  async function byHand<Request extends RecordId & ByHand>(
    act: AuditAct,
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
  ): Promise<readonly HandResult[]> {
    checkByHand(requests);
    const deleted = new Set<Request>();
    const results = await retried(requests, decide, (before, after, request) => {
      if (after === null) deleted.add(request);
      else deleted.delete(request);
      return handRow(act, before, after, request);
    });
    const gone = requests.filter((request, i) => deleted.has(request) && results[i]?.kind === 'applied');
    const scopes = gone.map(({ scope }) => [scope, 1] as const);
    if (counters !== undefined) await takeOff(counters, scopes);
    return results;
  }

  return {
    settle: async (requests) => byHand('settle', settlements(requests), decideSettle),
    reopen: (requests) => byHand('reopen', requests, decideReopen),
    forget: (requests) => byHand('forget', requests, decideForget),
    postpone: (requests) => retried(requests, decidePostpone, giveUpRow),
  };
}

/** Of each record the first request that has no result: the next ones are decided on what it leaves. */
function firstOfEach(requests: readonly RecordId[], isDone: (i: number) => boolean): readonly number[] {
  const ids = new Set<string>();
  return [...requests.keys()].filter((i) => {
    const id = idText(requests[i] as RecordId);
    if (isDone(i) || ids.has(id)) return false;
    ids.add(id);
    return true;
  });
}

function held(): StoreError {
  return new StoreError('A record is held by another transaction: let it end, or end it, and try again.', {
    applied: 'no',
  });
}
