/**
 * Looks at a store now and then, for the gauges: how many records there are in each state, how old the oldest unknown
 * outcome is, how many messages wait or were given up.
 *
 * Invariants: one look at a time · a look takes at most a twentieth of the time (the pause follows from how long it
 * took), because counting goes through the table where a database has no counter · a look that fails is counted, and
 * tried again like any other.
 */

import type { MessageCount, StoreWithMessages } from '../store/message.ts';
import { having, readOptions, type Table, wholeNumber } from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { Timer, World } from '../core/world.ts';
import { systemWorld } from '../system.ts';
import type { Labels } from './labels.ts';
import type { Recorder } from './recorder.ts';

/** Options of `observeStore`. */
export interface ObserveOptions {
  /** Time from look to look, in milliseconds; default 30,000, at least 1,000. Longer when looks take long. */
  readonly everyMs?: number;
  /** For tests: clock and timers. */
  readonly world?: Pick<World, 'monotonicNow' | 'wallNow' | 'setTimer'>;
}

/** What looks at a store. */
export interface StoreObserver {
  /** Looks now, beside the usual looks; resolves when the gauges are set. Never rejects. */
  look(): Promise<void>;
  /** Ends the looks; resolves when none is under way. */
  stop(): Promise<void>;
}

/** A look may take this part of the time. */
const SHARE = 1 / 20;
/** Questions for the oldest unknown outcome in one look. */
const QUESTIONS_MAX = 30;

const OBSERVE_ROWS = {
  everyMs: wholeNumber(1_000, undefined, 30_000),
  world: having<NonNullable<ObserveOptions['world']>>(
    ['monotonicNow', 'wallNow', 'setTimer'],
    'a world: systemWorld(), or one for tests',
  ),
} satisfies Table<ObserveOptions>;

/** Begins at once. Throws `OptionsError`. */
export function observe(
  recorder: Recorder,
  labels: Labels,
  store: Store,
  options: ObserveOptions = {},
): StoreObserver {
  const { everyMs, ...own } = readOptions('observeStore', OBSERVE_ROWS, options);
  const world = own.world ?? systemWorld();
  const topics = new Set<string>();
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let stopped = false;

  async function lookOnce(): Promise<void> {
    const startedAt = world.monotonicNow();
    let verb = 'count';
    try {
      for (const [state, count] of Object.entries(await store.count()))
        recorder.set('records', { state }, count);
      verb = 'list';
      const oldest = await oldestUnknown(store, world.wallNow());
      recorder.set(
        'unknown.oldest_age.seconds',
        {},
        oldest === null ? 0 : Math.max(0, world.wallNow() - oldest) / 1_000,
      );
      verb = 'count-messages';
      const { messages } = store as Partial<StoreWithMessages>;
      if (messages !== undefined) setDepths(await messages.count());
      recorder.set('observed.last_run', {}, world.wallNow() / 1_000);
    } catch {
      recorder.add('store.error.count', { source: 'observer', verb: labels.verb(verb) });
    }
    if (stopped) return;
    const tookMs = world.monotonicNow() - startedAt;
    timer?.cancel();
    timer = world.setTimer(Math.max(everyMs, tookMs / SHARE), () => void look());
  }

  function setDepths(counts: readonly MessageCount[]): void {
    const depths = new Map<string, { waiting: number; dead: number }>();
    // A topic that has no message any more is at zero, not at what it had.
    for (const topic of topics) depths.set(topic, { waiting: 0, dead: 0 });
    for (const { topic: name, state, count } of counts) {
      const topic = labels.topic(name);
      topics.add(topic);
      const depth = depths.get(topic) ?? { waiting: 0, dead: 0 };
      if (state === 'dead') depth.dead += count;
      else depth.waiting += count;
      depths.set(topic, depth);
    }
    for (const [topic, { waiting, dead }] of depths) {
      recorder.set('queue.depth', { topic }, waiting);
      recorder.set('dead_letters', { topic }, dead);
    }
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = null;
    });
    return looking;
  }

  void look();
  return {
    look,
    async stop() {
      stopped = true;
      timer?.cancel();
      await looking;
    },
  };
}

/**
 * When the oldest record of an unknown outcome was made; null without one. The store lists the newest first, so the way
 * to the oldest is by turns one step and half of what is left, on the scale of orders of magnitude: each question costs
 * one row. Where the bound cuts it short, the oldest is older than what is said by less than a hundredth.
 */
async function oldestUnknown(store: Store, now: number): Promise<number | null> {
  const newestBefore = async (time: number | null): Promise<number | null> => {
    const before = time === null ? {} : { createdBefore: time };
    const [record] = await store.list({ states: ['unknown'], limit: 1, ...before });
    return record?.createdAt ?? null;
  };
  let oldest = await newestBefore(null);
  let ageMax = AGE_MAX_MS;
  for (let asked = 1; oldest !== null && asked < QUESTIONS_MAX; asked += 2) {
    const older = await newestBefore(oldest);
    if (older === null) return oldest;
    oldest = older;
    const age = Math.max(1, now - oldest);
    const middle = Math.sqrt(age * Math.max(age, ageMax));
    const farther = await newestBefore(Math.floor(now - middle));
    if (farther === null) ageMax = middle;
    else oldest = farther;
  }
  return oldest;
}

/** No outcome stays unknown for so long. */
const AGE_MAX_MS = 400 * 24 * 60 * 60 * 1_000;
