/**
 * What the events of an instance add to the metrics.
 *
 * Invariant: every request that got as far as its key counts once in `reserve.*`, at most: when its claim was granted,
 * or by the outcome that it met without one.
 */

import type { SamekeyEvent } from '../engine/events.ts';
import type { Labels } from './labels.ts';
import type { Recorder } from './recorder.ts';

/** Makes the listener. */
export function countEngine(recorder: Recorder, labels: Labels): (event: SamekeyEvent) => void {
  const caller = (scope: string, result: 'created' | 'retry' | 'duplicate' | 'misuse'): void =>
    recorder.add('scope.request.count', { scope: labels.caller(scope), result });

  function outcome(event: Extract<SamekeyEvent, { type: 'outcome' }>): void {
    const operation = labels.operation(event.operation);
    const { kind, id } = event;
    if (event.entry === 'take') return recorder.add('pushed.count', { operation, outcome: kind });
    recorder.add('request.count', { operation, outcome: kind });
    recorder.observe('request.duration.seconds', { operation, outcome: kind }, event.durationMs / 1_000);
    // Its claim has been counted.
    if (id === null || event.attempt !== null) return;
    if (event.accepted) {
      recorder.add('reserve.created.count', { operation });
      return caller(id.scope, 'created');
    }
    const duplicate = DUPLICATES.has(kind);
    if (duplicate) caller(id.scope, 'duplicate');
    if (kind === 'replay')
      recorder.add('reserve.replay.count', { operation, memory: event.fromCache ? 'true' : 'false' });
    else if (kind === 'in-progress' || kind === 'pending')
      recorder.add('reserve.in_progress.count', { operation });
    else if (kind === 'unknown') recorder.add('reserve.unknown.count', { operation });
    else if (kind === 'mismatch') {
      recorder.add('reserve.key_misuse.count', { operation });
      caller(id.scope, 'misuse');
    }
  }

  function claimed(event: Extract<SamekeyEvent, { type: 'claimed' }>): void {
    const operation = labels.operation(event.operation);
    recorder.observe('reserve.duration.seconds', { operation }, event.durationMs / 1_000);
    if (event.entry === 'take') return;
    const name = event.resumed === null ? 'reserve.created.count' : 'reserve.failed_retry.count';
    recorder.add(name, { operation });
    caller(event.id.scope, event.resumed === null ? 'created' : 'retry');
  }

  function finished(event: Extract<SamekeyEvent, { type: 'finished' }>): void {
    const operation = labels.operation(event.operation);
    recorder.add('finished.count', { operation, to: event.to });
    recorder.observe('finish.duration.seconds', { operation }, event.durationMs / 1_000);
    recorder.observe('claim.age.seconds', { operation }, event.claimAgeMs / 1_000);
  }

  return (event) => {
    switch (event.type) {
      case 'claimed':
        return claimed(event);
      case 'outcome':
        return outcome(event);
      case 'handler-ended':
        return recorder.observe(
          'handler.duration.seconds',
          { operation: labels.operation(event.operation) },
          event.durationMs / 1_000,
        );
      case 'finished':
        return finished(event);
      case 'store-call': {
        const verb = labels.verb(event.verb);
        recorder.observe('store.call.duration.seconds', { verb }, event.durationMs / 1_000);
        return recorder.add('store.busy.count', { verb }, event.busy);
      }
      case 'store-error':
        return recorder.add('store.error.count', { source: 'engine', verb: labels.verb(event.verb) });
      case 'handler-error':
        return recorder.add('handler.error.count', { operation: labels.operation(event.operation) });
      case 'attempt-time-up':
        return recorder.add('attempt.time_up.count', { operation: labels.operation(event.operation) });
      case 'contradiction':
        return recorder.add('contradiction.count', { source: 'engine' });
      case 'misuse':
        return recorder.add('misuse.count', { code: labels.code(event.code) });
      case 'renewal-failed':
        return recorder.add('renewal.failed.count', {}, event.count);
      case 'fence-lost':
        return recorder.add('fence_lost.count', {});
      case 'commit-unclear':
        return recorder.add('commit.unclear.count', {});
      case 'transaction-not-started':
        return recorder.add('transaction.not_started.count', {});
      case 'save-delayed':
        return recorder.add('save.delayed.count', {});
      case 'save-abandoned':
        return recorder.add('save.abandoned.count', {});
      case 'claim-abandoned':
        return recorder.add('claim.abandoned.count', {});
      case 'limiter-failed':
        return recorder.add('limiter.failed.count', {});
      case 'record-unreadable':
        return recorder.add('record.unreadable.count', {});
      // Told by the log alone: its retries are counted as outcomes.
      case 'stream-not-kept':
      // Counted by what comes before or after them.
      case 'claim-released':
      case 'close-left-running':
      case 'handed-over':
      case 'save-recovered':
        return undefined;
      default:
        return event satisfies never;
    }
  };
}

/** Outcomes of a request whose key was known, and its own. */
const DUPLICATES: ReadonlySet<string> = new Set([
  'replay',
  'response-not-stored',
  'unknown',
  'pending',
  'in-progress',
  'attempts-exhausted',
  'expired',
]);
