/** The listeners that measure, over whichever library records. */

import type { SamekeyEvent } from '../engine/events.ts';
import type { Store } from '../store/store.ts';
import type { JanitorEvent } from '../janitor/janitor-events.ts';
import type { ReconcileEvent } from '../reconcile/reconcile-events.ts';
import type { WorkerEvent } from '../worker/worker-events.ts';
import { countEngine } from './count-engine.ts';
import { countJanitor, countReconciler, countWorker } from './count-services.ts';
import { createLabels, type LabelOptions } from './labels.ts';
import { type ObserveOptions, observe, type StoreObserver } from './observe.ts';
import type { Recorder } from './recorder.ts';

/**
 * What measures: pass each function as `onEvent` of its service. One set for the process, also for several instances.
 */
export interface Metrics {
  readonly samekey: (event: SamekeyEvent) => void;
  readonly worker: (event: WorkerEvent) => void;
  readonly janitor: (event: JanitorEvent) => void;
  readonly reconciler: (event: ReconcileEvent) => void;
  /**
   * Looks at the store now and then, for the gauges. In one process of the deployment is enough. Throws `OptionsError`.
   */
  readonly observeStore: (store: Store, options?: ObserveOptions) => StoreObserver;
}

/** Makes them. */
export function createMetrics(what: string, recorder: Recorder, options: LabelOptions | undefined): Metrics {
  const labels = createLabels(what, options);
  return Object.freeze<Metrics>({
    samekey: countEngine(recorder, labels),
    worker: countWorker(recorder, labels, Date.now),
    janitor: countJanitor(recorder, labels, Date.now),
    reconciler: countReconciler(recorder, labels),
    observeStore: (store, observing) => observe(recorder, labels, store, observing),
  });
}
