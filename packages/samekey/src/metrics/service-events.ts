/** The events of the services beside the engine that are measured and logged. */

import type { RecordId, State } from '../core/record.ts';

interface OfRecord {
  readonly id: RecordId;
  readonly operation: string;
  readonly attempt: number;
}

/** What the sweeper and the reaper tell, in a janitor or a worker. */
export type UpkeepSignal =
  | ({
      readonly type: 'swept-record';
      readonly from: State;
      readonly to: State;
      readonly reason: string | null;
      readonly ageMs: number;
    } & OfRecord)
  | { readonly type: 'reaped'; readonly count: number; readonly durationMs: number }
  | { readonly type: 'audit-pruned'; readonly count: number }
  | {
      readonly type: 'janitor-run';
      readonly verb: string;
      readonly count: number;
      readonly durationMs: number;
    }
  | { readonly type: 'store-error'; readonly verb: string; readonly error: unknown };

/** An event of which the type is known, and may be one of a later version: those are let pass. */
export interface AnyEvent {
  readonly type: string;
}
