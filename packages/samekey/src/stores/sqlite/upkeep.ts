/**
 * Upkeep and the operator's hand. What may be meant is found by reading, and a write lock is taken only where something
 * was found: under it each record is read again, decided on and written, so two that do the same at once never get the
 * same one.
 */

import type { Counters } from '../../store/counters.ts';
import type { LifecycleStore, OperatorStore } from '../../store/store.ts';
import type { ClaimWatch } from '../../store/time/claim-watch.ts';
import { checkIds, number, type Row } from '../sql/record-row.ts';
import { createHand } from '../verbs/by-hand.ts';
import { type Change, takeBy } from '../verbs/change.ts';
import { createDue, createReap, createSweep } from '../verbs/upkeep.ts';
import type { StoreClock, WatchedClaim } from './clock.ts';
import type { Records } from './records.ts';
import type { Connection } from './client.ts';
import * as sql from './statements.ts';
import type { Writer } from './writer.ts';

/** What the verbs are made of. */
interface UpkeepParts {
  readonly connection: Connection;
  readonly writer: Writer;
  readonly clock: StoreClock;
  readonly watch: ClaimWatch;
  readonly records: Records;
  readonly counters: Counters;
}

/** Rows one sweep looks at: some 10 ms. The next sweep goes on where it stopped. */
const SWEEP_ROWS_MAX = 10_000;

/** The verbs of upkeep, and the operator's on single records. */
type Upkeep = LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'>;

/** Makes them. */
export function createUpkeep({ connection, writer, clock, watch, records, counters }: UpkeepParts): Upkeep {
  let sweptTo = 0;
  const change: Change = (requests, decide, rowOf) =>
    writer.write(() => records.apply(requests, decide, rowOf));

  return {
    sweep: createSweep({
      take: takeBy(change),
      async over(limit, unknownMaxMs) {
        const claims = await writer.read(() =>
          connection.all(sql.SELECT_CLAIMS, sweptTo, SWEEP_ROWS_MAX).map(openClaim),
        );
        // Each is seen, so that each is watched from now on, whatever the limit.
        const over = claims.filter((claim) => watch.see(claim) === 0).slice(0, Math.max(0, limit));
        if (over.length < limit) sweptTo = claims.length < SWEEP_ROWS_MAX ? 0 : (claims.at(-1)?.rowid ?? 0);
        const late = await writer.read(() => records.neverStarted(Math.max(0, limit - over.length)));
        const left = Math.max(0, limit - over.length - late.length);
        const old = await writer.read(() => records.neverKnown(unknownMaxMs, left));
        const ending = [...over, ...late, ...old];
        if (ending.length === 0 && (await writer.read(() => clock.isStale(connection))))
          await writer.write(() => clock.save(connection, clock.now(connection)));
        return ending;
      },
    }),
    due: createDue((request) => writer.read(() => records.due(request))),
    reap: createReap({
      async reap(limit) {
        const due = await writer.read(() => connection.all(sql.SELECT_PURGEABLE, clock.now(connection), 1));
        return due.length === 0 || limit < 1 ? [] : writer.write(() => records.reap(limit));
      },
      counters,
    }),
    async takeUnknown(request) {
      if (request.limit < 1 || request.operations?.length === 0) return [];
      // A look that finds nothing takes no write lock.
      const due = await writer.read(() => records.isUnknownDue(request));
      return due ? writer.write(() => records.takeUnknown(request)) : [];
    },
    ...createHand({ change, checkIds, counters }),
    // With it ends the lease of whoever took it.
    async postpone(requests) {
      checkIds(requests);
      return requests.length === 0 ? [] : writer.write(() => records.postpone(requests));
    },
  };
}

interface OpenClaim extends WatchedClaim {
  readonly rowid: number;
}

function openClaim(row: Row): OpenClaim {
  return {
    rowid: number(row['rowid']),
    scope: String(row['scope']),
    key: String(row['key']),
    claimId: String(row['claim_id']),
    attempt: number(row['attempt']),
    createdAt: number(row['created_at']),
    renewals: number(row['renewals']),
    claimTtlMs: number(row['claim_ttl_ms']),
  };
}
