/** What a line of the log says, and at which level: for every type of event, once. */

import type { EventType } from '../engine/events.ts';
import type { OutcomeKind } from '../core/outcome.ts';
import type { JanitorEventType } from '../janitor/janitor-events.ts';
import type { ReconcileEventType } from '../reconcile/reconcile-events.ts';
import type { WorkerEventType } from '../worker/worker-events.ts';

/** From the least to the most urgent. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** How urgent a line is. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The types of event that have a line. */
export type LoggedType = EventType | WorkerEventType | JanitorEventType | ReconcileEventType;

/** `error`: somebody must look. `warn`: somebody should, if there are many. `debug`: each request has several. */
export const LOG_LINES: Readonly<Record<LoggedType, readonly [LogLevel, string]>> = {
  'answer-not-stored': ['error', 'A message is done, and what its handler answered cannot be stored.'],
  'attempt-time-up': ['warn', 'A handler ran longer than it may; its signal was aborted.'],
  'audit-pruned': ['info', 'Old rows of the audit were deleted.'],
  'claim-abandoned': ['warn', 'The reply to a claim never came; it is released as soon as it is seen.'],
  'claim-released': ['info', 'A claim whose reply had been lost was released.'],
  claimed: ['debug', 'An attempt begins.'],
  'close-left-running': ['warn', 'Requests or claims were left when the instance was closed.'],
  'commit-unclear': ['warn', 'Nobody could say in time whether a transaction was committed.'],
  contradiction: ['error', 'An end does not fit its record, which was left as it is: look at it.'],
  'dead-letter': ['error', 'A message was given up.'],
  delivered: ['debug', 'A message was delivered.'],
  'delivery-failed': ['warn', 'A delivery failed and is tried again.'],
  'fence-lost': ['warn', 'An attempt lost its claim.'],
  finished: ['debug', 'The end of an attempt is recorded.'],
  'handed-over': ['debug', 'An attempt goes on with the worker of a message.'],
  'handler-ended': ['debug', 'A handler has ended.'],
  'handler-error': ['warn', 'A handler threw.'],
  'janitor-run': ['debug', 'The janitor has done a round.'],
  'late-answer': [
    'warn',
    'A delivery ended after its lease; nobody knew what became of its request, so its answer was taken.',
  ],
  'lease-lost': ['warn', 'A message is somebody else’s by now: its lease ended before its handler did.'],
  'limiter-failed': ['warn', 'The limiter failed, or did not answer in time.'],
  misuse: ['warn', 'Samekey is used in a way that will hurt; see the code.'],
  outcome: ['debug', 'A request got its outcome.'],
  pushed: ['info', 'An unfinished operation was pushed on.'],
  reaped: ['info', 'Expired records were deleted.'],
  'reconcile-failed': ['warn', 'A question about an unknown outcome failed; it is asked again.'],
  'reconcile-given-up': ['error', 'An outcome is still unknown and nobody asks again: somebody must look.'],
  'reconcile-resolved': ['info', 'An unknown outcome is known.'],
  'reconcile-scheduled': ['info', 'An outcome is still unknown; the next question is due later.'],
  'record-unreadable': ['error', 'What is stored under a key cannot be opened.'],
  'renewal-failed': ['warn', 'A claim could not be renewed.'],
  'save-abandoned': ['error', 'An answer could not be stored and is given up.'],
  'save-delayed': ['warn', 'An answer left before it was stored.'],
  'save-recovered': ['info', 'An answer that had left before it was stored is stored now.'],
  'store-call': ['debug', 'The store was called.'],
  'store-error': ['error', 'A call of the store failed.'],
  'stream-not-kept': ['warn', 'An answer streamed without being kept: other streams have taken the room.'],
  'swept-record': ['info', 'A record was moved on, because nobody did.'],
  'time-up': ['warn', 'A delivery ran longer than it may.'],
  'transaction-not-started': ['warn', 'A handler did not run: no transaction could be begun.'],
  'webhook-ambiguous': ['error', 'A webhook may be about several records, and nothing was done to any.'],
};

/** Outcomes that say more than that a request was answered. */
export const OUTCOME_LEVELS: Partial<Readonly<Record<OutcomeKind, LogLevel>>> = {
  mismatch: 'warn',
  unknown: 'warn',
  unavailable: 'warn',
};
