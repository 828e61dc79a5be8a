/**
 * The loop that takes messages: as many as there are free places, one statement at a time; when nothing is due it
 * sleeps until it is woken, until the next one is due, or for a time that doubles up to `pollMs`.
 *
 * Invariants: nothing is taken that cannot be begun at once, so `started` means what it says · at most one suspect runs
 * in a process: if it kills the worker, it is the one that is counted to its end, and not its neighbours (F52).
 */

import type { TakenMessage, TakeResult } from '../store/message.ts';
import type { Deliverer } from './deliverer.ts';
import type { RunningDelivery } from './delivery.ts';
import type { DeliveringOptions } from './options.ts';
import { createSleeper } from '../lifecycle/sleep.ts';
import { soon } from '../lifecycle/bounded-wait.ts';

/** The loop. */
export interface Taking {
  /** Deliveries whose end is not written yet. */
  readonly open: ReadonlySet<RunningDelivery>;
  /** Resolves with the first answer of the store. */
  readonly first: Promise<void>;
  readonly wake: () => void;
  /** A delivery that is somebody else's by now gives its place free. */
  readonly release: (delivery: RunningDelivery) => void;
  /** Takes no more; resolves when nothing is being taken. */
  stop(): Promise<void>;
  /** Resolves when no delivery is open. */
  idle(): Promise<void>;
}

const POLL_MIN_MS = 25;
/** An idle worker says so this often, in milliseconds. */
const IDLE_TOLD_MS = 5_000;

/** Starts it. */
export function startTaking(options: DeliveringOptions, deliverer: Deliverer): Taking {
  const { messages, concurrency, batchSizeMax, pollMs, emit, world } = options;
  const topics = [...options.handlers.keys()];
  const open = new Set<RunningDelivery>();
  /** Those whose handlers run. */
  const running = new Set<RunningDelivery>();
  const sleeper = createSleeper(world);
  let stopping = false;
  let sleptMs = 0;
  let taken = 0;
  let toldIdleAt = Number.NEGATIVE_INFINITY;
  let answered: (() => void) | undefined;
  const first = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const waitsForIdle = new Set<() => void>();

  function isStopping(): boolean {
    return stopping;
  }

  /** Ends of deliveries may be on their way to the store: as many again. */
  function free(): number {
    return Math.min(concurrency - running.size, 2 * concurrency - open.size, batchSizeMax);
  }

  async function loop(): Promise<void> {
    while (!isStopping()) {
      if (free() < 1) {
        await sleeper.sleep(pollMs);
        // Whatever ends in this turn makes room for one take together.
        await soon(world);
        continue;
      }
      const result = await takeOnce(free());
      if (result === undefined || result.more) continue;
      const nextMs = result.nextDueMs ?? Number.POSITIVE_INFINITY;
      if (result.taken.length > 0) sleptMs = 0;
      // Somebody else may take what is due first, and a clock that goes otherwise must not make this spin.
      const sleepMs = Math.max(1, Math.min(nextMs, sleptMs === 0 ? POLL_MIN_MS : sleptMs));
      sleptMs = Math.min(pollMs, Math.max(POLL_MIN_MS, sleptMs * 2));
      tellIdle();
      await sleeper.sleep(Math.min(sleepMs, pollMs));
    }
  }

  /** What comes before this is stored is found by the next look, which is soon at first. */
  function tellIdle(): void {
    const now = world.monotonicNow();
    if (!options.listen || now - toldIdleAt < IDLE_TOLD_MS) return;
    toldIdleAt = now;
    void messages.idle?.().catch(() => undefined);
  }

  async function takeOnce(limit: number): Promise<TakeResult | undefined> {
    const askedAt = world.monotonicNow();
    const hasSuspect = [...running].some(({ isSuspect }) => isSuspect);
    try {
      const result = await messages.take({
        // In turns, so that a topic that is always full does not keep the others waiting.
        topics: [...topics.slice(taken % topics.length), ...topics.slice(0, taken % topics.length)],
        limit,
        leaseId: world.newClaimId(),
        leaseMs: options.leaseMs,
        suspectsMax: hasSuspect ? 0 : 1,
        deliveriesMax: options.deliveriesMax,
      });
      taken += 1;
      answered?.();
      if (options.probe !== undefined) {
        for (const message of result.taken) await options.probe('take.applied', message.id);
      }
      for (const message of result.taken) await start(message, askedAt);
      return result;
    } catch (error) {
      emit({ type: 'store-error', verb: 'take', error });
      await sleeper.sleep(Math.min(pollMs, 200 + world.random() * 300));
      return undefined;
    }
  }

  async function start(message: TakenMessage, askedAt: number): Promise<void> {
    if (stopping) return deliverer.handBack(message, askedAt);
    const delivery = await deliverer.begin(message, askedAt);
    open.add(delivery);
    running.add(delivery);
    void deliverer
      .run(delivery, () => leave(delivery, message))
      .catch((error: unknown) => emit({ type: 'store-error', verb: 'end', error }))
      .finally(() => {
        const wasFull = open.size >= 2 * concurrency;
        leave(delivery, message);
        open.delete(delivery);
        // The next of its group may be had now.
        if (wasFull || message.group !== null) sleeper.wake();
        if (open.size === 0) for (const resolve of waitsForIdle) resolve();
      });
  }

  /** The handler has ended: its place is free. */
  function leave(delivery: RunningDelivery, { group }: Pick<TakenMessage, 'group'>): void {
    const wasFull = running.size >= concurrency;
    if (running.delete(delivery) && (wasFull || group !== null || delivery.isSuspect)) sleeper.wake();
  }

  const looping = topics.length === 0 ? Promise.resolve() : loop();
  if (topics.length === 0) answered?.();
  return {
    open,
    first,
    wake: () => {
      sleptMs = 0;
      sleeper.wake();
    },
    release(delivery) {
      leave(delivery, delivery.taken);
      open.delete(delivery);
      if (open.size === 0) for (const resolve of waitsForIdle) resolve();
    },
    async stop() {
      stopping = true;
      sleeper.wake();
      await looping;
    },
    idle() {
      if (open.size === 0) return Promise.resolve();
      return new Promise((resolve) => void waitsForIdle.add(resolve));
    },
  };
}
