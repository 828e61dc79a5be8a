/** What the events of worker, janitor and reconciler add to the metrics. */

import type { JanitorEvent } from '../janitor/janitor-events.ts';
import type { ReconcileEvent } from '../reconcile/reconcile-events.ts';
import type { WorkerEvent } from '../worker/worker-events.ts';
import type { Labels } from './labels.ts';
import type { Recorder } from './recorder.ts';

/** Makes the listener of a worker. `now` is in milliseconds since 1970. */
export function countWorker(
  recorder: Recorder,
  labels: Labels,
  now: () => number,
): (event: WorkerEvent) => void {
  const upkeep = countUpkeep(recorder, labels, 'worker', now);
  return (event) => {
    switch (event.type) {
      case 'delivered':
      case 'delivery-failed':
      case 'dead-letter': {
        const topic = labels.topic(event.topic);
        recorder.add('delivery.count', { topic, end: ENDS[event.type] });
        return recorder.observe('delivery.duration.seconds', { topic }, event.durationMs / 1_000);
      }
      case 'lease-lost':
      case 'time-up':
        return recorder.add('delivery.count', { topic: labels.topic(event.topic), end: ENDS[event.type] });
      case 'contradiction':
        return recorder.add('contradiction.count', { source: 'worker' });
      case 'store-error':
        return recorder.add('store.error.count', { source: 'worker', verb: labels.verb(event.verb) });
      // The instance tells of them as outcomes, and the delivery has been counted.
      case 'pushed':
      case 'late-answer':
      case 'answer-not-stored':
        return undefined;
      default:
        return upkeep(event);
    }
  };
}

const ENDS = {
  delivered: 'delivered',
  'delivery-failed': 'failed',
  'dead-letter': 'dead',
  'lease-lost': 'lease_lost',
  'time-up': 'time_up',
} as const;

/** Makes the listener of a janitor. `now` is in milliseconds since 1970. */
export function countJanitor(
  recorder: Recorder,
  labels: Labels,
  now: () => number,
): (event: JanitorEvent) => void {
  return countUpkeep(recorder, labels, 'janitor', now);
}

function countUpkeep(
  recorder: Recorder,
  labels: Labels,
  source: 'worker' | 'janitor',
  now: () => number,
): (event: JanitorEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'swept-record':
        recorder.add('swept.count', { from: event.from, to: event.to });
        if (event.from === 'in_progress') recorder.add('zombie_key.count', { to: event.to });
        return undefined;
      case 'reaped':
        return recorder.add('ttl_pruned.count', {}, event.count);
      case 'audit-pruned':
        return recorder.add('audit.pruned.count', {}, event.count);
      case 'janitor-run': {
        const verb = labels.verb(event.verb);
        recorder.set('janitor.last_run', { verb }, now() / 1_000);
        return recorder.observe('janitor.duration.seconds', { verb }, event.durationMs / 1_000);
      }
      case 'store-error':
        return recorder.add('store.error.count', { source, verb: labels.verb(event.verb) });
      default:
        return event satisfies never;
    }
  };
}

/** Makes the listener of a reconciler. */
export function countReconciler(recorder: Recorder, labels: Labels): (event: ReconcileEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'reconcile-scheduled':
        return recorder.add('reconcile.scheduled.count', {});
      case 'reconcile-resolved':
        recorder.add('reconcile.resolved.count', { to: event.to, by: event.by });
        return recorder.observe('reconcile.age.seconds', {}, event.ageMs / 1_000);
      case 'reconcile-failed':
        return recorder.add('reconcile.failed.count', { operation: labels.operation(event.operation) });
      case 'reconcile-given-up':
        return recorder.add('reconcile.given_up.count', {});
      case 'contradiction':
        return recorder.add('contradiction.count', { source: 'reconciler' });
      // Whoever took the webhook is told, and the log says it.
      case 'webhook-ambiguous':
        return undefined;
      case 'store-error':
        return recorder.add('store.error.count', { source: 'reconciler', verb: labels.verb(event.verb) });
      default:
        return event satisfies never;
    }
  };
}
