/** What a janitor tells while it works. A listener that throws disturbs nothing. */

import type { RecordId } from '../core/record.ts';
import type { Swept } from '../store/store.ts';

/** What one round did. */
export type JanitorVerb = 'sweep' | 'reap' | 'audit';

/** An event of the sweeper; a worker has one too. */
export type SweeperEvent =
  /**
   * One record was moved on, because nobody did; `ageMs`: how long its claim or deadline was over, or since when nobody
   * knew.
   */
  | {
      readonly type: 'swept-record';
      readonly id: RecordId;
      readonly operation: string;
      readonly attempt: number;
      readonly from: Swept['from'];
      readonly to: Swept['to'];
      readonly reason: string | null;
      readonly ageMs: number;
    }
  /** A round has ended that nothing broke off; `count`: records, or rows of the audit. */
  | {
      readonly type: 'janitor-run';
      readonly verb: JanitorVerb;
      readonly count: number;
      readonly durationMs: number;
    }
  | { readonly type: 'store-error'; readonly verb: string; readonly error: unknown };

/** An event of a janitor. */
export type JanitorEvent =
  | SweeperEvent
  /** One batch of expired records was deleted. */
  | { readonly type: 'reaped'; readonly count: number; readonly durationMs: number }
  /** Old rows of the audit were deleted. */
  | { readonly type: 'audit-pruned'; readonly count: number };

/** The name of an event of a janitor. */
export type JanitorEventType = JanitorEvent['type'];
