/** What a worker tells while it works. A listener that throws disturbs nothing. */

import type { RecordId, State } from '../core/record.ts';
import type { SweeperEvent } from '../janitor/janitor-events.ts';
import type { Outcome } from '../core/outcome.ts';

interface OfMessage {
  readonly id: string;
  readonly topic: string;
  /** The number of the delivery, from 1. */
  readonly delivery: number;
}

interface Delivered extends OfMessage {
  /** From taking it to knowing its end, in milliseconds. */
  readonly durationMs: number;
  /** The message's header `traceparent` (W3C Trace Context), if whoever put it in gave one. */
  readonly traceparent: string | null;
}

/** An event of a worker. */
export type WorkerEvent =
  /**
   * The message is done, and what its handler answered cannot be stored: its request is told so (410). The error names
   * the member.
   */
  | ({ readonly type: 'answer-not-stored'; readonly error: unknown } & OfMessage)
  /** The message's record had already moved on and was left as it is: look at it. */
  | ({ readonly type: 'contradiction'; readonly record: RecordId } & OfMessage)
  /** A message is given up; `record` is what became of the attempt that was handed over, null without one. */
  | ({ readonly type: 'dead-letter'; readonly error: unknown; readonly record: State | null } & Delivered)
  | ({ readonly type: 'delivered' } & Delivered)
  /** A delivery failed and will be tried again; `proven`: it certainly had no effect. */
  | ({
      readonly type: 'delivery-failed';
      readonly error: unknown;
      readonly proven: boolean;
      readonly retryInMs: number;
    } & Delivered)
  /** The message is somebody else's by now: the lease ended before the handler did. */
  | ({ readonly type: 'lease-lost' } & OfMessage)
  /**
   * The lease was lost, nobody knew what became of the request, and the answer was taken all the same; `record`: what
   * it is now.
   */
  | ({ readonly type: 'late-answer'; readonly record: State } & Delivered)
  /** The worker has pushed an unfinished operation on. */
  | { readonly type: 'pushed'; readonly id: RecordId; readonly operation: string; readonly outcome: Outcome }
  /** `swept-record`: what nobody moved on; `janitor-run`: a round of the sweeper; `store-error`: the store failed. */
  | SweeperEvent
  /** The handler ran longer than `deliveryTimeMaxMs`; its signal was aborted and its lease is left to end. */
  | ({ readonly type: 'time-up' } & OfMessage);

/** The name of an event of a worker. */
export type WorkerEventType = WorkerEvent['type'];
