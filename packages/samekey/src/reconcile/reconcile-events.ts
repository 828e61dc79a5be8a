/** What a reconciler tells while it works. A listener that throws disturbs nothing. */

import type { RecordId, State } from '../core/record.ts';

interface OfRecord {
  readonly id: RecordId;
  readonly operation: string;
  readonly attempt: number;
}

/** Who settled: an answer to a question, a word that came by itself, or a person. */
export type ReconciledBy = 'inquiry' | 'webhook' | 'hand';

/** An event of a reconciler. */
export type ReconcileEvent =
  /** What was learned contradicts what stands there, which is left as it is: look at it. It is in the audit too. */
  | ({
      readonly type: 'contradiction';
      readonly wanted: 'completed' | 'failed' | 'retryable';
      /** Null: the record is gone. */
      readonly found: State | null;
    } & OfRecord)
  /** A question failed, took too long, or was answered by what is no verdict; it is asked again. */
  | ({ readonly type: 'reconcile-failed'; readonly error: unknown } & OfRecord)
  /** Asked as often as allowed: nobody asks again, an operator must look. */
  | ({ readonly type: 'reconcile-given-up'; readonly inquiries: number } & OfRecord)
  /** An outcome is known. `ageMs`: how long it was not, from the end of its claim. */
  | ({
      readonly type: 'reconcile-resolved';
      readonly to: 'completed' | 'failed' | 'retryable';
      readonly inquiries: number;
      readonly ageMs: number;
      readonly by: ReconciledBy;
    } & OfRecord)
  /** Still not known: the next question is asked after `afterMs`. */
  | ({
      readonly type: 'reconcile-scheduled';
      readonly inquiries: number;
      readonly afterMs: number;
    } & OfRecord)
  /** A webhook named an id that the provider's calls of several records have noted: nothing was done to any of them. */
  | {
      readonly type: 'webhook-ambiguous';
      readonly source: string;
      readonly operation: string;
      readonly count: number;
    }
  | { readonly type: 'store-error'; readonly verb: string; readonly error: unknown };

/** The name of an event of a reconciler. */
export type ReconcileEventType = ReconcileEvent['type'];
