/**
 * An installation of whole engines on one store: each process has its handle on the store, its clock, and a connection that can be
 * told to misbehave. Time is virtual for the engines, and the store's own clock moves with it; calls of the store are real
 * and awaited before time moves. So a test waits for what happens, never for time.
 */

import assert from 'node:assert/strict';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import type { SamekeyOptions } from 'samekey/internals/samekey';
import type { StoreUnderTest } from '../contract/context.ts';
import { createGate, gatedStore } from '../gate.ts';
import { createRandom } from '../random.ts';
import { createTimeline } from '../timeline.ts';
import { createNode, type EngineNode, type EngineRequest, idOf } from './node.ts';

export {
  CLAIM_TTL_MS,
  type EngineHandler,
  type EngineNode,
  type EngineRequest,
  JSON_TYPE,
  RETENTION_MS,
  STORE_TIME_MAX_MS,
} from './node.ts';
export { heldHandler } from './signals.ts';

/** The installation. */
export interface EngineBench {
  readonly t: StoreUnderTest;
  /** Runs of handlers so far: of default handlers, and of those that call `count`. */
  readonly runs: number;
  /** Virtual milliseconds since it began. */
  readonly now: number;
  /** Counts a run and gives its number. */
  count(): number;
  /** One more process, perhaps with a wall clock that is off. */
  node(options?: Partial<SamekeyOptions> & { readonly wallOffsetMs?: number }): Promise<EngineNode>;
  /** Lets things happen until the promise is settled. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Lets `ms` pass, and what is due in them happen. */
  pass(ms: number): Promise<void>;
  /** What stands in the store. */
  record(request?: EngineRequest): Promise<SamekeyRecord | null>;
}

/** Adds one test of whole engines. */
export type AddEngineTest = (title: string, body: (bench: EngineBench) => Promise<void>) => void;

/** Beyond this, in virtual milliseconds, nothing that a test waits for comes any more. */
const PATIENCE_MS = 600_000;

/** Makes an installation on an empty store. */
export function createBench(t: StoreUnderTest): EngineBench {
  const timeline = createTimeline(createRandom(1));
  const gate = createGate({ oneAtATime: false });
  let nodes = 0;
  let runs = 0;
  let told = 0;
  const count = (): number => (runs += 1);

  /** The store's clock follows, in whole milliseconds. */
  async function moveStore(at: number): Promise<void> {
    const ms = Math.floor(at) - told;
    told += ms;
    if (ms > 0) await t.advance(ms);
  }

  async function step(at: number): Promise<void> {
    await moveStore(at);
    timeline.step();
    await gate.settled();
  }

  return {
    t,
    get runs() {
      return runs;
    },
    get now() {
      return timeline.now;
    },
    count,
    async until(promise) {
      const pending = { is: true };
      void promise.catch(() => undefined).finally(() => (pending.is = false));
      const latest = timeline.now + PATIENCE_MS;
      await gate.settled();
      while (pending.is) {
        const at = timeline.nextAt;
        assert.ok(at !== null && at <= latest, 'what the test waits for never happens');
        await step(at);
      }
      return promise;
    },
    async pass(ms) {
      const until = timeline.now + ms;
      await gate.settled();
      for (let at = timeline.nextAt; at !== null && at <= until; at = timeline.nextAt) await step(at);
      await moveStore(until);
      timeline.rest(until);
    },
    async record(request) {
      const [record] = await t.store.find([idOf(request)]);
      return record ?? null;
    },
    async node({ wallOffsetMs = 0, ...options } = {}) {
      const number = (nodes += 1);
      const first = number === 1 && wallOffsetMs === 0;
      const handle = first || t.another === undefined ? t.store : await t.another({ wallOffsetMs });
      return createNode({
        number,
        timeline,
        store: gatedStore(handle, gate),
        wallOffsetMs,
        options,
        count,
      });
    },
  };
}
