/**
 * A worker: delivers messages of the outbox to handlers, at least once, each under a lease. Any number of them may run,
 * in any number of processes; nothing but the store is between them.
 */

import { OptionsError } from '../core/errors.ts';
import { readOptions, type Table, wholeNumber } from '../core/options.ts';
import { createDeliverer } from './deliverer.ts';
import { createEnds } from './delivery-ends.ts';
import { keepLeases } from './leases.ts';
import { checkWorkerOptions, type DeliveringOptions, type WorkerOptions } from './options.ts';
import { startTaking, type Taking } from './taking.ts';
import { startUpkeep } from './chores.ts';
import { keepAlive } from '../lifecycle/alive.ts';
import { within } from '../lifecycle/bounded-wait.ts';

/** A worker. */
export interface Worker {
  /** Begins to take messages. Throws `OptionsError` when it was started before. */
  start(): void;
  /** Checks the store and resolves once it has answered the first take. Rejects with `SchemaError`. */
  ready(): Promise<void>;
  /**
   * Takes no more, hands back what has not begun, lets running handlers end for up to `drainMs` (default 10,000), then
   * aborts their signals and gives them another second. Resolves with how many are still running: their leases end by
   * themselves, and they are delivered again.
   */
  stop(options?: { readonly drainMs?: number }): Promise<number>;
}

/** How long handlers get to end once their signals were aborted, in milliseconds. */
const ABORT_TIME_MS = 1_000;

const STOP_ROWS = { drainMs: wholeNumber(0, undefined, 10_000) } satisfies Table<{
  readonly drainMs?: number;
}>;

/** Makes a worker; it does nothing before `start()`. Throws `OptionsError`. */
export function createWorker(options: WorkerOptions): Worker {
  const checked = checkWorkerOptions(options);
  const { messages, world } = checked;
  let taking: Taking | null = null;
  let started = false;
  let ends: (() => void)[] = [];
  let stopUpkeep: (() => Promise<void>) | null = null;
  let stopping: Promise<number> | null = null;
  let letEnd: (() => void) | null = null;

  async function stop(drainMs: number): Promise<number> {
    await taking?.stop();
    const upkeep = stopUpkeep?.();
    await within(world, Promise.all([taking?.idle(), upkeep]), drainMs);
    if (taking === null) return 0;
    const { open } = taking;
    for (const delivery of open) delivery.abort(new Error('The worker stops.'));
    await within(world, taking.idle(), ABORT_TIME_MS);
    for (const end of ends) end();
    return open.size;
  }

  function deliver(delivering: DeliveringOptions): void {
    const deliverer = createDeliverer(delivering, createEnds(delivering), () => stopping !== null);
    taking = startTaking(delivering, deliverer);
    const { open, wake, release } = taking;
    ends = [keepLeases(delivering, open, release)];
    if (delivering.listen && delivering.messages.listen !== undefined) {
      ends.push(delivering.messages.listen(wake));
    }
  }

  return {
    start() {
      if (started) throw new OptionsError('The worker was started before: make a new one.');
      started = true;
      if (options.world === undefined) letEnd = keepAlive();
      if (messages !== null) deliver({ ...checked, messages });
      stopUpkeep = startUpkeep(checked);
    },
    async ready() {
      await checked.store.ready();
      await taking?.first;
    },
    stop(given) {
      stopping ??= stop(readOptions('stop', STOP_ROWS, given).drainMs).finally(() => letEnd?.());
      return stopping;
    },
  };
}
