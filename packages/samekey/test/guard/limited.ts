/** An instance with limits on a virtual machine, and the calls its store gets. */

import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RunOutcome, SamekeyEvent, SamekeyOptions } from 'samekey';
import { createLimits, type Limits, type LimitsOptions } from 'samekey/guard';
import { memoryStore } from 'samekey/stores/memory';
import { createSamekey, type RunRequest, type Samekey } from '../../src/samekey.ts';
import { type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';
import { type FaultyStore, faultyStore, type StoreCall } from '../../../testing/src/faulty-store.ts';

/** Never over while a test runs. */
const DURATION_S = 3_600;

export function limiterOf(points: number): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: DURATION_S });
}

export interface Limited {
  readonly samekey: Samekey;
  readonly store: FaultyStore;
  readonly world: FakeWorld;
  readonly events: SamekeyEvent[];
  /** What the store was asked, in order. */
  readonly calls: string[];
  /** One request that makes `made`; its runs are counted. */
  ask(key: string, more?: Partial<RunRequest>): Promise<RunOutcome<string>>;
  runs: number;
}

export function limited(limits: Limits | LimitsOptions, options: Partial<SamekeyOptions> = {}): Limited {
  const world = fakeWorld();
  const events: SamekeyEvent[] = [];
  const calls: string[] = [];
  const store = faultyStore(memoryStore({ now: () => world.wallNow() }), {
    timers: world,
    plan({ verb, requests }: StoreCall) {
      for (const _ of requests) calls.push(verb);
      return null;
    },
  });
  const samekey = createSamekey({
    store,
    world,
    policy: 'standard',
    limits: 'takeNewKey' in limits ? limits : createLimits(limits),
    replayCacheBytesMax: 0,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  const bench: Limited = {
    samekey,
    store,
    world,
    events,
    calls,
    runs: 0,
    ask: (key, more = {}) =>
      samekey.run({ operation: 'order', scope: ['acme'], key, fingerprint: null, ...more }, () => {
        bench.runs += 1;
        return 'made';
      }),
  };
  return bench;
}
