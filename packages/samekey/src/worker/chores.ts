/**
 * What a worker does beside its messages: ends claims that are over, puts groups right, pushes unfinished operations
 * on.
 */

import { createSweeper } from '../janitor/sweeper.ts';
import { type Completer, createCompleter, type Pushed } from '../ways/completer.ts';
import type { CheckedWorkerOptions } from './options.ts';
import { createSleeper } from '../lifecycle/sleep.ts';

/** Claims ended in one batch. */
const SWEEP_MAX = 1_000;

/** Starts it; what it returns stops it and resolves when nothing is under way. */
export function startUpkeep(options: CheckedWorkerOptions): () => Promise<void> {
  const { emit, internals, messages, store, backoffMinMs, backoffMaxMs, world } = options;
  const sleepers = [createSleeper(world), createSleeper(world)] as const;
  let stopping = false;

  function isStopping(): boolean {
    return stopping;
  }

  async function every(ms: number, verb: string, index: 0 | 1, body: () => Promise<void>): Promise<void> {
    while (!isStopping()) {
      try {
        await body();
      } catch (error) {
        emit({ type: 'store-error', verb, error });
      }
      if (!isStopping()) await sleepers[index].sleep(ms * (0.75 + world.random() / 2));
    }
  }

  const sweeper = createSweeper({
    store,
    messages,
    batchSizeMax: SWEEP_MAX,
    unknownMaxMs: options.unknownMaxMs,
    emit,
  });

  async function sweep(): Promise<void> {
    const startedAt = world.monotonicNow();
    const count = await sweeper(isStopping);
    emit({ type: 'janitor-run', verb: 'sweep', count, durationMs: world.monotonicNow() - startedAt });
  }

  /** More may be due than there are places: whoever ends wakes the next look. */
  let isFull = false;

  function pushed({ record, outcome }: Pushed): void {
    const { scope, key, operation } = record;
    emit({ type: 'pushed', id: { scope, key }, operation, outcome });
    // What did not run would be begun again at once: the store may be away.
    const ran = outcome.kind === 'executed' || outcome.kind === 'response-not-stored';
    if (isFull && ran) sleepers[1].wake();
  }

  const completer: Completer | null =
    internals === null
      ? null
      : createCompleter(internals, {
          concurrency: options.concurrency,
          backoffMinMs,
          backoffMaxMs,
          ended: pushed,
          failed: (error) => emit({ type: 'store-error', verb: 'push', error }),
          isStopping,
        });

  async function push(of: Completer): Promise<void> {
    isFull = true;
    isFull = await of.look();
  }

  const loops = [
    every(options.sweepMs, 'sweep', 0, sweep),
    ...(completer === null ? [] : [every(options.pushMs, 'push', 1, () => push(completer))]),
  ];
  return async () => {
    stopping = true;
    for (const sleeper of sleepers) sleeper.wake();
    await Promise.all(loops);
    await completer?.idle();
  };
}
