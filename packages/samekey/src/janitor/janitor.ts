/**
 * The janitor: ends what is over, deletes what has expired, prunes the audit. Any number of them may run, in any number
 * of processes: nothing but the store is between them, and each record is swept by one. It goes by the store's clock
 * alone; its own says only how often it looks.
 *
 * Invariants: one round of a verb at a time · a failure ends a round and not the janitor · each loop sleeps between its
 * rounds, by chance a quarter more or less, so that janitors started together do not come together · `stop()` waits for
 * what is under way.
 */

import { OptionsError } from '../core/errors.ts';
import { keepAlive } from '../lifecycle/alive.ts';
import { createSleeper, type Sleeper } from '../lifecycle/sleep.ts';
import type { JanitorVerb } from './janitor-events.ts';
import { checkJanitorOptions, type JanitorOptions } from './options.ts';
import { createPruner } from './pruner.ts';
import { createReaper } from './reaper.ts';
import { createSweeper } from './sweeper.ts';

/** What one `run()` did. */
export interface JanitorReport {
  /** Records that were moved on. */
  readonly swept: number;
  /** Expired records that were deleted. */
  readonly reaped: number;
  /** Rows of the audit that were deleted. */
  readonly auditPruned: number;
  /** What the store could not do; the others were done all the same. */
  readonly failed: readonly JanitorVerb[];
  /** Whether the time was up, or the janitor stopped, before everything was done. */
  readonly isBrokenOff: boolean;
}

/** A janitor. */
export interface Janitor {
  /** Begins its rounds. Throws `OptionsError` when it was started or stopped before. */
  start(): void;
  /** One round of everything, to the end: for a scheduled job. Never rejects for what the store could not do. */
  run(): Promise<JanitorReport>;
  /** Ends; resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** How often the audit is looked at: its retention counts in months. */
const AUDIT_MS = 3_600_000;

/** Makes a janitor; it does nothing before `start()` or `run()`. Throws `OptionsError`. */
export function createJanitor(options: JanitorOptions): Janitor {
  const checked = checkJanitorOptions(options);
  const { emit, world } = checked;
  const now = (): number => world.monotonicNow();
  const sleepers = new Set<Sleeper>();
  const running = new Set<Promise<unknown>>();
  let isStarted = false;
  let letEnd: (() => void) | null = null;
  let isStopped = false;

  function isStopping(): boolean {
    return isStopped;
  }

  async function sleep(ms: number): Promise<void> {
    if (isStopped) return;
    const sleeper = createSleeper(world);
    sleepers.add(sleeper);
    await sleeper.sleep(ms);
    sleepers.delete(sleeper);
  }

  /** Of its own for `run()` and for the loops: the reaper remembers how loaded the database was. */
  const bodies = (): Readonly<Record<JanitorVerb, (isStopping: () => boolean) => Promise<number>>> => ({
    sweep: createSweeper(checked),
    reap: createReaper({ ...checked, pause: sleep, now }),
    audit: createPruner({ ...checked, pause: sleep }),
  });

  /** One round; null when the store failed. */
  async function round(
    verb: JanitorVerb,
    body: (isStopping: () => boolean) => Promise<number>,
    isOver: () => boolean,
  ): Promise<number | null> {
    const from = now();
    try {
      const count = await body(isOver);
      emit({ type: 'janitor-run', verb, count, durationMs: now() - from });
      return count;
    } catch (error) {
      emit({ type: 'store-error', verb, error });
      return null;
    }
  }

  function underWay<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const left = (): void => void running.delete(work);
    work.then(left, left);
    return work;
  }

  async function loop(verb: JanitorVerb, everyMs: number): Promise<void> {
    const body = bodies()[verb];
    // Not all at the moment of a deploy.
    await sleep(world.random() * Math.min(everyMs, FIRST_WAIT_MAX_MS));
    while (!isStopping()) {
      await round(verb, body, isStopping);
      await sleep(everyMs * (0.75 + world.random() / 2));
    }
  }

  async function runOnce(): Promise<JanitorReport> {
    const deadline = now() + checked.runTimeMaxMs;
    const isOver = (): boolean => isStopped || now() >= deadline;
    const { sweep, reap, audit } = bodies();
    const failed: JanitorVerb[] = [];
    const counted = async (verb: JanitorVerb, body: typeof sweep): Promise<number> => {
      const count = await round(verb, body, isOver);
      if (count === null) failed.push(verb);
      return count ?? 0;
    };
    const swept = await counted('sweep', sweep);
    const reaped = await counted('reap', reap);
    const auditPruned = await counted('audit', audit);
    return { swept, reaped, auditPruned, failed, isBrokenOff: isOver() };
  }

  return {
    start() {
      if (isStarted || isStopped) {
        throw new OptionsError('The janitor was started or stopped before: make a new one.');
      }
      isStarted = true;
      if (options.world === undefined) letEnd = keepAlive();
      void underWay(loop('sweep', checked.sweepMs));
      void underWay(loop('reap', checked.reapMs));
      if (checked.auditRetentionMs !== null || checked.transitionRetentionMs !== null) {
        void underWay(loop('audit', AUDIT_MS));
      }
    },
    run() {
      // Its pauses are timers too.
      const end = options.world === undefined ? keepAlive() : (): void => undefined;
      return underWay(runOnce()).finally(end);
    },
    async stop() {
      isStopped = true;
      for (const sleeper of sleepers) sleeper.wake();
      await Promise.allSettled(running);
      letEnd?.();
    },
  };
}

/** The first round of a loop begins within this. */
const FIRST_WAIT_MAX_MS = 5_000;
