/**
 * A reconciler: finds out what became of unknown outcomes and settles them. Any number of them may run, in any number
 * of processes: nothing but the store is between them, and no two are given the same outcome at once.
 */

import { OptionsError } from '../core/errors.ts';
import type { SamekeyRecord } from '../core/record.ts';
import { readOptions, type Table, wholeNumber } from '../core/options.ts';
import { internalsOf } from '../samekey.ts';
import { type Asked, createAsk } from './ask.ts';
import { checkReconcilerOptions, type ReconcilerOptions } from './options.ts';
import { createSettler } from './settle.ts';
import { createTell, type Told, type ToldResult } from './tell.ts';
import { createWatch } from './watch.ts';

/** What one run came to: how many outcomes were asked about, and what became of them. */
export interface ReconcileReport {
  readonly taken: number;
  readonly resolved: number;
  /** Somebody else had settled it in the meantime, to the same. */
  readonly already: number;
  readonly contradiction: number;
  /** Not known yet. */
  readonly scheduled: number;
  /** The question failed; asked again later. */
  readonly failed: number;
  readonly givenUp: number;
  /** Nothing was written: its owner came back, the store could not answer, or the reconciler stopped. */
  readonly left: number;
}

/** How long questions get to end once they were aborted, in milliseconds. */
const ABORT_TIME_MS = 1_000;
const KEEP_ALIVE_MS = 3_600_000;

/** A reconciler. */
export interface Reconciler {
  /**
   * Begins to ask, and goes on until `stop`. It keeps the process alive. Throws `OptionsError` when it was started
   * before.
   */
  start(): void;
  /**
   * Asks about what is due now, `limit` outcomes at most (default 1,000), and resolves when all are done: for a job
   * that runs by the clock. Rejects with `StoreError` when the store does not say what is due.
   */
  run(options?: { readonly limit?: number }): Promise<ReconcileReport>;
  /** Takes what a provider says by itself. Throws `OptionsError` for what is no verdict, and `StoreError`. */
  tell(told: Told): Promise<ToldResult>;
  /**
   * Asks about nothing new, lets questions under way end for up to `drainMs` (default 10,000), then aborts them: they
   * are asked again when their leases have ended. Resolves with how many were aborted.
   */
  stop(options?: { readonly drainMs?: number }): Promise<number>;
}

const STOP_ROWS = { drainMs: wholeNumber(0, undefined, 10_000) } satisfies Table<{
  readonly drainMs?: number;
}>;
const RUN_ROWS = { limit: wholeNumber(1, undefined, 1_000) } satisfies Table<{ readonly limit?: number }>;

/** Makes a reconciler; it does nothing before `start()`, `run()` or `tell()`. Throws `OptionsError`. */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const checked = checkReconcilerOptions(options);
  const { concurrency, emit, leaseMs, lookupMax, pollMs, probe, store, world } = checked;
  const operations = [...checked.operations.keys()];
  const internals = options.samekey === undefined ? null : internalsOf(options.samekey);
  const watchedMs = store.capabilities.serverClock ? null : createWatch(world);
  const aborting = new AbortController();
  const settle = createSettler(checked);
  const ask = createAsk(checked, settle, watchedMs, aborting.signal);
  const running = new Set<Promise<Asked>>();
  let stopping: Promise<number> | null = null;
  let loop: Promise<void> | null = null;
  let wake: (() => void) | null = null;

  /** Takes what is due and begins to ask about it. */
  async function take(limit: number): Promise<readonly Promise<Asked>[]> {
    const records = await store.takeUnknown({ operations, leaseMs, limit });
    return records.map((record) => {
      const asking = askOf(record);
      running.add(asking);
      void asking.then(() => running.delete(asking));
      return asking;
    });
  }

  async function askOf(record: SamekeyRecord): Promise<Asked> {
    try {
      await probe('take.applied', record);
      return await ask(record);
    } catch (error) {
      // It is asked again when its lease has ended.
      emit({ type: 'store-error', verb: 'reconcile', error });
      return 'left';
    }
  }

  async function goOn(): Promise<void> {
    while (isOpen()) {
      const room = concurrency - running.size;
      if (room === 0) {
        await Promise.race(running);
        continue;
      }
      let more = false;
      try {
        more = (await take(room)).length === room;
      } catch (error) {
        emit({ type: 'store-error', verb: 'takeUnknown', error });
      }
      if (!more && isOpen()) await sleep(pollMs * (0.75 + world.random() / 2));
    }
  }

  function isOpen(): boolean {
    return stopping === null;
  }

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = world.setTimer(ms, resolve);
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async function stop(drainMs: number): Promise<number> {
    wake?.();
    await within(Promise.all(running), drainMs);
    const left = running.size;
    aborting.abort();
    await within(Promise.all([...running, loop]), ABORT_TIME_MS);
    return left;
  }

  function within(work: Promise<unknown>, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = world.setTimer(ms, resolve);
      void work.finally(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  return {
    start() {
      if (loop !== null || stopping !== null)
        throw new OptionsError('The reconciler was started before: make a new one.');
      // Timers of a world keep no process alive, and this one waits for work.
      const alive = options.world === undefined ? setInterval(() => undefined, KEEP_ALIVE_MS) : undefined;
      loop = goOn().finally(() => clearInterval(alive));
    },
    async run(given) {
      const { limit } = readOptions('run', RUN_ROWS, given);
      if (stopping !== null) throw new OptionsError('The reconciler was stopped: make a new one.');
      const counts: Record<Asked, number> = {
        resolved: 0,
        already: 0,
        contradiction: 0,
        scheduled: 0,
        failed: 0,
        'given-up': 0,
        left: 0,
      };
      const own = new Set<Promise<void>>();
      let taken = 0;
      while (taken < limit && isOpen()) {
        const room = Math.min(concurrency - own.size, limit - taken);
        if (room === 0) {
          await Promise.race(own);
          continue;
        }
        const asking = await take(room);
        for (const asked of asking) {
          const counted: Promise<void> = asked.then((what) => {
            counts[what] += 1;
            own.delete(counted);
          });
          own.add(counted);
        }
        taken += asking.length;
        if (asking.length < room) break;
      }
      await Promise.all(own);
      const { 'given-up': givenUp, ...others } = counts;
      return { taken, ...others, givenUp };
    },
    tell: createTell(checked, { store, world, internals, lookupMax }, settle, watchedMs),
    stop(given) {
      stopping ??= stop(readOptions('stop', STOP_ROWS, given).drainMs);
      return stopping;
    },
  };
}
