/** Events of every type, for what goes through all of them. */

import type { SamekeyEvent } from '../../src/engine/events.ts';
import type { JanitorEvent } from '../../src/janitor/janitor-events.ts';
import type { ReconcileEvent } from '../../src/reconcile/index.ts';
import type { WorkerEvent } from '../../src/worker/index.ts';

/** In every error and message: never in a line of a log. */
export const SECRET_TEXT = 'a value that a driver put into its error';

const id = { scope: 'a4:acme|pay', key: 'k-1' };
const of = { id, operation: 'pay', attempt: 1 };
const message = { id: 'm-1', topic: 'mail', delivery: 1 };
export const delivered = { ...message, durationMs: 5, traceparent: null };
const error = new Error(SECRET_TEXT);
const outcome = { type: 'outcome', id, operation: 'pay', durationMs: 5, fromCache: false } as const;
export const met = { ...outcome, attempt: null, accepted: false, entry: 'run' } as const;
const claimed = { type: 'claimed', ...of, entry: 'run', durationMs: 5 } as const;

/** One of each, and of those that count in several ways, one of each way. */
export const ENGINE: readonly SamekeyEvent[] = [
  { type: 'attempt-time-up', ...of },
  { type: 'claim-abandoned', id, operation: 'pay' },
  { type: 'claim-released', id, operation: 'pay' },
  { ...claimed, resumed: null },
  { ...claimed, resumed: { proof: 'declared', reason: null } },
  { type: 'close-left-running', count: 1 },
  { type: 'commit-unclear', ...of, error },
  { type: 'contradiction', ...of, wanted: 'completed', found: 'failed' },
  { type: 'fence-lost', ...of, found: null },
  { type: 'finished', ...of, to: 'completed', proof: null, reason: null, durationMs: 5, claimAgeMs: 9 },
  { type: 'handed-over', ...of },
  { type: 'handler-ended', ...of, ending: 'answered', durationMs: 5 },
  { type: 'handler-error', ...of, error },
  { type: 'limiter-failed', operation: 'pay', error },
  { type: 'misuse', code: 'protected-twice', message: SECRET_TEXT },
  { ...met, kind: 'replay' },
  { ...met, kind: 'in-progress' },
  { ...met, kind: 'mismatch' },
  { ...met, kind: 'unknown' },
  { ...met, kind: 'executed', attempt: 2, entry: 'take' },
  { type: 'record-unreadable', id, operation: 'pay', part: 'response', keyId: 'k1', cause: 'missing-key' },
  { type: 'renewal-failed', count: 1 },
  { type: 'save-abandoned', ...of },
  { type: 'save-delayed', ...of },
  { type: 'save-recovered', ...of },
  { type: 'store-call', verb: 'claim', rows: 2, busy: 1, durationMs: 5, failed: false },
  { type: 'store-error', verb: 'claim', applied: 'no', error },
  { type: 'stream-not-kept', ...of },
  { type: 'transaction-not-started', ...of, error },
];
export const WORKER: readonly WorkerEvent[] = [
  { type: 'delivered', ...delivered },
  { type: 'delivery-failed', ...delivered, error, proven: false, retryInMs: 10 },
  { type: 'dead-letter', ...delivered, error, record: null },
  { type: 'lease-lost', ...message },
  { type: 'time-up', ...message },
  { type: 'contradiction', ...message, record: id },
  { type: 'store-error', verb: 'take', error },
];
export const JANITOR: readonly JanitorEvent[] = [
  { type: 'swept-record', ...of, from: 'in_progress', to: 'unknown', reason: 'claim-ended', ageMs: 7 },
  { type: 'swept-record', ...of, from: 'pending', to: 'failed', reason: 'never-started', ageMs: 7 },
  { type: 'reaped', count: 3, durationMs: 5 },
  { type: 'audit-pruned', count: 2 },
  { type: 'janitor-run', verb: 'sweep', count: 2, durationMs: 5 },
  { type: 'store-error', verb: 'sweep', error },
];
export const RECONCILER: readonly ReconcileEvent[] = [
  { type: 'reconcile-scheduled', ...of, inquiries: 1, afterMs: 5 },
  { type: 'reconcile-resolved', ...of, to: 'completed', inquiries: 2, ageMs: 5_000, by: 'inquiry' },
  { type: 'reconcile-failed', ...of, error },
  { type: 'reconcile-given-up', ...of, inquiries: 9 },
  { type: 'contradiction', ...of, wanted: 'completed', found: 'failed' },
  { type: 'webhook-ambiguous', source: 'webhook:bank', operation: of.operation, count: 2 },
  { type: 'store-error', verb: 'settle', error },
];
