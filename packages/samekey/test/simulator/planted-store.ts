/**
 * The memory store with one bug in it, for the question whether the simulator would find it. Each bug is a fault that real
 * key tables have had.
 */

import { reapedOf } from '../../src/store/reaped.ts';
import {
  type Decision,
  decideCheckpoint,
  decideClaim,
  decideErase,
  decideFinish,
  decideForget,
  decideRenew,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  serverView,
  type View,
} from '../../src/store/machine/index.ts';
import { idText, isDue, isPurgeable, type RecordId, type SamekeyRecord } from '../../src/core/record.ts';
import { isListed } from '../../src/store/listed.ts';
import { callerOf } from '../../src/core/scope.ts';
import type { ClaimRequest, FinishRequest, RenewRequest, Store, Swept } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { SimulatedMachine } from '../../../testing/src/index.ts';

type Decide<Request, Result> = (
  record: SamekeyRecord | null,
  request: Request,
  view: View,
) => Decision<Result>;

/** What a bug changes; everything else is as it should be. */
export interface Bug {
  readonly claim?: typeof decideClaim;
  readonly checkpoint?: typeof decideCheckpoint;
  readonly finish?: typeof decideFinish;
  readonly renew?: typeof decideRenew;
  readonly sweep?: typeof decideSweep;
  readonly reopen?: typeof decideReopen;
  readonly forget?: typeof decideForget;
  readonly erase?: typeof decideErase;
  /** What a record is found by. */
  readonly idOf?: (id: RecordId) => string;
  /** Time between a claim's read and its write, in milliseconds. */
  readonly readThenWriteMs?: number;
}

/** A store with that bug. */
export function plantedStore(bug: Bug): (machine: SimulatedMachine) => Store {
  return (machine) => {
    const records = new Map<string, SamekeyRecord>();
    const textOf = bug.idOf ?? idText;
    const read = (id: RecordId): SamekeyRecord | null => records.get(textOf(id)) ?? null;
    const write = (id: RecordId, after: SamekeyRecord | null | undefined): void => {
      if (after === null) records.delete(textOf(id));
      else if (after !== undefined) records.set(textOf(id), after);
    };
    const apply =
      <Request extends RecordId, Result>(decide: Decide<Request, Result>) =>
      async (requests: readonly Request[]): Promise<Result[]> =>
        requests.map((request) => {
          const record = read(request);
          const decision = decide(record, request, serverView(record, machine.now()));
          write(request, decision.write);
          return decision.result;
        });
    const claim = bug.claim ?? decideClaim;

    return {
      ...memoryStore({ now: () => machine.now() }),
      claim:
        bug.readThenWriteMs === undefined
          ? apply<ClaimRequest, ReturnType<typeof decideClaim>['result']>(claim)
          : async (requests) => {
              const decisions = requests.map((request) => {
                const record = read(request);
                return claim(record, request, serverView(record, machine.now()));
              });
              await new Promise<void>((resolve) => void machine.setTimer(bug.readThenWriteMs ?? 0, resolve));
              for (const [i, request] of requests.entries()) write(request, decisions[i]?.write);
              return decisions.map(({ result }) => result);
            },
      finish: apply<FinishRequest, ReturnType<typeof decideFinish>['result']>(bug.finish ?? decideFinish),
      checkpoint: apply(bug.checkpoint ?? decideCheckpoint),
      renew: apply<RenewRequest, ReturnType<typeof decideRenew>['result']>(bug.renew ?? decideRenew),
      find: async (ids) => ids.map(read),
      settle: apply(decideSettle),
      reopen: apply(bug.reopen ?? decideReopen),
      forget: apply(bug.forget ?? decideForget),
      async erase(request) {
        const left = { erased: 0, left: 0 };
        for (const record of records.values()) {
          if (callerOf(record.scope) !== request.scope) continue;
          const decision = (bug.erase ?? decideErase)(record, request, { now: machine.now() });
          write(record, decision.write);
          if (decision.result !== 'already') left[decision.result] += 1;
        }
        return left;
      },
      async sweep(most) {
        const swept: Swept[] = [];
        for (const record of records.values()) {
          const decision = (bug.sweep ?? decideSweep)(record, serverView(record, machine.now()));
          if (decision === undefined || swept.length >= most) continue;
          write(record, decision.write);
          swept.push(decision.result);
        }
        return swept;
      },
      due: async ({ operations, limit, ...backoff }) =>
        [...records.values()]
          .filter((record) => operations.includes(record.operation) && isDue(record, machine.now(), backoff))
          .slice(0, limit),
      async takeUnknown({ operations, limit, ...request }) {
        const taken: SamekeyRecord[] = [];
        for (const record of records.values()) {
          if (taken.length >= limit || operations?.includes(record.operation) === false) continue;
          const after = decideTakeUnknown(record, request, serverView(record, machine.now()));
          if (after === undefined) continue;
          write(record, after);
          taken.push(after);
        }
        return taken;
      },
      async reap(most) {
        const over = [...records.values()]
          .filter((record) => isPurgeable(record, machine.now()))
          .slice(0, most);
        for (const record of over) write(record, null);
        return reapedOf(over.map(({ scope }) => scope));
      },
      list: async (request) => [...records.values()].filter((record) => isListed(record, request)),
    };
  };
}
