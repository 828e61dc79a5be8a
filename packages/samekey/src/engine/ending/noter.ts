/**
 * Writes contradictions into the audit, beside the event that tells of them: the event may have no listener, the row
 * stays.
 *
 * Invariants: never in the way of a request or a delivery · bounded: so many rows wait at most, one call at a time, a
 * few tries, each bounded in time; what cannot be written is told and given up · a reply that was lost may leave a row
 * twice, never none without a word.
 */

import type { AuditStore, NewAuditRow } from '../../store/audit.ts';
import { isStoreError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { RecordId, State } from '../../core/record.ts';
import type { World } from '../../core/world.ts';

/** What writes notes. */
export interface Noter {
  /** Resolves when the row is written or given up; never rejects. */
  note(row: NewAuditRow): Promise<void>;
}

/** What a noter needs. */
interface NoterOptions {
  readonly store: Pick<AuditStore, 'note'>;
  readonly world: Pick<World, 'setTimer'>;
  /** One call at most, in milliseconds. */
  readonly callTimeMaxMs: number;
  /** Told of each call that failed or did not answer. */
  readonly failed: (error: unknown) => void;
}

const ROWS_WAITING_MAX = 1_000;
const ROWS_OF_A_CALL_MAX = 100;
const TRIES_MAX = 5;
const PAUSE_MS = 1_000;

/** The row of a contradiction: an attempt's end that does not fit what stands in its record. */
export function contradictionRow(about: {
  readonly id: RecordId;
  readonly operation: string | null;
  readonly attempt: number;
  /** What stands in the record; null when it is gone, or nobody looked. */
  readonly found: State | null;
  readonly wanted: State;
  readonly reason: string | null;
}): NewAuditRow {
  const { id, operation, attempt, found, wanted, reason } = about;
  const { scope, key } = id;
  return {
    scope,
    key,
    operation,
    attempt,
    act: 'contradiction',
    from: found,
    to: wanted,
    reason,
    actor: null,
  };
}

/** Makes a noter. */
export function createNoter({ store, world, callTimeMaxMs, failed }: NoterOptions): Noter {
  const waiting: { readonly row: NewAuditRow; readonly done: () => void }[] = [];
  let working = false;

  async function work(): Promise<void> {
    working = true;
    while (waiting.length > 0) {
      const some = waiting.splice(0, ROWS_OF_A_CALL_MAX);
      await write(some.map(({ row }) => row));
      for (const { done } of some) done();
    }
    working = false;
  }

  async function write(rows: readonly NewAuditRow[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await inTime(store.note(rows));
      } catch (error) {
        failed(error);
        if (tries === TRIES_MAX || (isStoreError(error) && !error.transient)) return;
        await pause(world, PAUSE_MS);
      }
    }
  }

  function inTime(call: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = world.setTimer(callTimeMaxMs, () =>
        reject(new Error(`The store did not note a contradiction within ${callTimeMaxMs} ms.`)),
      );
      call.finally(() => timer.cancel()).then(resolve, reject);
    });
  }

  return {
    note(row) {
      if (waiting.length >= ROWS_WAITING_MAX) {
        failed(new Error(`A contradiction is not noted: ${ROWS_WAITING_MAX} others wait for the store.`));
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        waiting.push({ row, done: resolve });
        if (!working) void work();
      });
    },
  };
}
