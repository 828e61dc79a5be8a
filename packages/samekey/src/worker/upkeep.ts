/** What a worker does beside its messages: ends claims that are over, puts groups right, pushes unfinished operations on. */

import { createSweeper } from '../janitor/sweeper.ts';
import { pushDue } from '../ways/completer.ts';
import type { CheckedWorkerOptions } from './options.ts';
import { createSleeper } from '../lifecycle/sleep.ts';

/** Claims ended in one batch. */
const SWEEP_MAX = 1_000;

/** Starts it; what it returns stops it and resolves when nothing is under way. */
export function startUpkeep(options: CheckedWorkerOptions): () => Promise<void> {
  const { emit, internals, messages, store, backoffMinMs, backoffMaxMs } = options;
  const sleepers = [createSleeper(), createSleeper()] as const;
  let stopping = false;

  function isStopping(): boolean {
    return stopping;
  }

  async function every(ms: number, verb: string, index: 0 | 1, body: () => Promise<boolean>): Promise<void> {
    while (!isStopping()) {
      let again = false;
      try {
        again = await body();
      } catch (error) {
        emit({ type: 'store-error', verb, error });
      }
      if (!again && !stopping) await sleepers[index].sleep(ms * (0.75 + Math.random() / 2));
    }
  }

  const sweeper = createSweeper({
    store,
    messages,
    batchSizeMax: SWEEP_MAX,
    unknownMaxMs: options.unknownMaxMs,
    emit,
  });

  async function sweep(): Promise<boolean> {
    const startedAt = performance.now();
    const count = await sweeper(isStopping);
    emit({ type: 'janitor-run', verb: 'sweep', count, durationMs: performance.now() - startedAt });
    return false;
  }

  async function push(): Promise<boolean> {
    if (internals === null) return false;
    const pushed = await pushDue(internals, options.concurrency, { backoffMinMs, backoffMaxMs });
    for (const { record, outcome } of pushed) {
      const { scope, key, operation } = record;
      emit({ type: 'pushed', id: { scope, key }, operation, outcome });
    }
    return pushed.some(({ outcome: { kind } }) => kind === 'executed' || kind === 'response-not-stored');
  }

  const loops = [
    every(options.sweepMs, 'sweep', 0, sweep),
    ...(internals === null ? [] : [every(options.pushMs, 'push', 1, push)]),
  ];
  return async () => {
    stopping = true;
    for (const sleeper of sleepers) sleeper.wake();
    await Promise.all(loops);
  };
}
