/**
 * One application twice: with Samekey and without it, and what its handlers did at either.
 *
 * Invariant: time is virtual and stands still, so that nothing of a round depends on how fast a machine is.
 */

import type { EventType, SamekeyEvent } from 'samekey/internals/engine/events';
import { createSamekey } from 'samekey/internals/samekey';
import { memoryStore } from 'samekey/internals/stores/memory/index';
import type { Served } from '../adapter/harness.ts';
import { fakeWorld } from '../fake-world.ts';
import type { Answers, FuzzDoor, FuzzRoute } from './door.ts';
import type { AnswerPlan } from './plan.ts';
import { PlannedError, playCalls, type Sight } from './play.ts';

/** One run of a handler. */
export interface Run {
  readonly sight: Sight;
  /** How it ended: by an end, by giving up what it had begun, or by a throw before it had begun. */
  end: 'running' | 'ended' | 'broken' | 'threw';
  /** The status that it had given when it broke off; null: none. */
  status: number | null;
  readonly body: Uint8Array;
}

/** One of the two applications. */
export interface Side {
  readonly port: number;
  readonly runsOf: (id: string) => readonly Run[];
}

export interface FuzzBench {
  readonly bare: Side;
  readonly safe: Side;
  /** What handlers are to answer to requests of this id. */
  plan(id: string, plan: AnswerPlan): void;
  forget(id: string): void;
  /** Resolves when an attempt under this key has been recorded so often; false: it was not, in time. */
  readonly recorded: (key: string, count: number) => Promise<boolean>;
  /** Events of these types since they were asked for last. */
  took(type: EventType): readonly SamekeyEvent[];
  close(): Promise<void>;
}

/** Longer than any answer takes that comes. */
export const TIME_MAX_MS = 15_000;

/** The routes of a run: one for each policy, and such as keep little. */
export const ROUTES: readonly FuzzRoute[] = [
  { path: '/stripe', options: { policy: 'stripe' } },
  { path: '/standard', options: { policy: 'standard' } },
  { path: '/payments', options: { policy: 'payments', storeSetCookie: true } },
  { path: '/little', options: { policy: 'stripe', responseSizeMaxBytes: 60, storeSetCookie: true } },
  { path: '/less', options: { policy: 'payments', responseSizeMaxBytes: 20 } },
];

/** Serves an application with Samekey and without. */
export async function openBench(door: FuzzDoor, routes: readonly FuzzRoute[] = ROUTES): Promise<FuzzBench> {
  const world = fakeWorld();
  const plans = new Map<string, AnswerPlan>();
  const finishes = finishesHeard();
  let events: SamekeyEvent[] = [];
  const samekey = createSamekey({
    world,
    store: memoryStore({ now: () => world.wallNow() }),
    onEvent(event) {
      events.push(event);
      if (event.type === 'finished') finishes.note(event.id.key);
    },
  });
  const bare = sideOf(plans);
  const safe = sideOf(plans);
  const served: readonly [Served, Served] = [
    await door.serve(null, routes, bare.answers),
    await door.serve(samekey, routes, safe.answers),
  ];
  return {
    bare: { port: served[0].port, runsOf: bare.runsOf },
    safe: { port: served[1].port, runsOf: safe.runsOf },
    plan: (id, plan) => void plans.set(id, plan),
    forget(id) {
      plans.delete(id);
      bare.forget(id);
      safe.forget(id);
    },
    recorded: finishes.recorded,
    took(type) {
      const found = events.filter((event) => event.type === type);
      events = events.filter((event) => event.type !== type);
      return found;
    },
    async close() {
      for (const one of served) await one.close();
    },
  };
}

function finishesHeard(): {
  readonly note: (key: string) => void;
  readonly recorded: FuzzBench['recorded'];
} {
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  return {
    note(key) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      for (const look of waiting) look();
    },
    recorded(key, count) {
      const isThere = (): boolean => (counts.get(key) ?? 0) >= count;
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          waiting.delete(look);
          resolve(isThere());
        };
        const look = (): void => {
          if (isThere()) end();
        };
        const timer = setTimeout(end, TIME_MAX_MS);
        waiting.add(look);
        look();
      });
    },
  };
}

function sideOf(plans: ReadonlyMap<string, AnswerPlan>): {
  readonly answers: Answers;
  readonly runsOf: (id: string) => readonly Run[];
  readonly forget: (id: string) => void;
} {
  const runs = new Map<string, Run[]>();
  const answers: Answers = {
    begin(id = '', body) {
      const run: Run = { sight: [], end: 'running', status: null, body };
      runs.set(id, [...(runs.get(id) ?? []), run]);
      const plan = plans.get(id) ?? PLAIN;
      if (plan.kind === 'value') {
        run.end = plan.fault === 'throws' ? 'threw' : plan.fault === 'breaks' ? 'broken' : 'ended';
        run.status = plan.status;
        if (plan.fault === 'throws') throw new PlannedError('planned');
        return plan;
      }
      return async (res) => {
        const before = res.statusCode;
        const given = (): number | null =>
          res.headersSent || res.statusCode !== before ? res.statusCode : null;
        try {
          await playCalls(res, plan, run.sight);
          run.status = given();
          run.end = res.writableEnded ? 'ended' : 'broken';
        } catch (error) {
          run.status = given();
          run.end = res.headersSent ? 'broken' : 'threw';
          throw error;
        }
      };
    },
  };
  return { answers, runsOf: (id) => runs.get(id) ?? [], forget: (id) => void runs.delete(id) };
}

/** Of requests that nobody has planned. */
const PLAIN: AnswerPlan = {
  kind: 'value',
  status: 200,
  lines: [['Content-Type', 'text/plain']],
  body: 'text',
  pieces: [new TextEncoder().encode('done')],
  isSlow: false,
  fault: 'none',
};
