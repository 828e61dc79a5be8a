/**
 * How a machine's calls travel to the store: those of the hot path as in the simulator, and messages, transactions and the rest likewise.
 * A statement of a worker is bounded by its time-out at the store, so silence ends.
 */

import type { MemoryStore } from 'samekey/internals/stores/memory/index';
import { faultyStore, lost } from '../faulty-store.ts';
import type { FakeWorld } from '../fake-world.ts';
import { drawPassage } from '../simulator/connection.ts';
import { CALL_TIME_MAX_MS, LATENESS_MAX_MS } from '../simulator/scenario.ts';
import { pause, type WorkersContext } from './context.ts';

/** A machine's own handle on the store. */
export function connect(context: WorkersContext, world: FakeWorld): MemoryStore {
  const { store, timeline } = context;
  const { messages, references } = store;

  function answered(ms: number, callback: () => void): void {
    world.setTimer(ms, callback);
  }

  function travel<Result>(verb: string, apply: () => Promise<Result>): Promise<Result> {
    const passage = drawPassage(context, world.name, { verb, requests: [] });
    return new Promise((resolve, reject) => {
      for (const [i, ms] of passage.arriveAfterMs.entries()) {
        timeline.setTimer(ms, () => {
          apply().then(
            (result) =>
              i === 0 && passage.answer === 'reply' && answered(passage.answerAfterMs, () => resolve(result)),
            (error: Error) => i === 0 && answered(passage.answerAfterMs, () => reject(error)),
          );
        });
      }
      if (passage.answer === 'reply') return;
      const isRefused = passage.answer === 'no' || passage.answer === 'busy';
      const waitMs = passage.answer === 'silence' ? CALL_TIME_MAX_MS : passage.answerAfterMs;
      answered(waitMs, () => reject(lost(isRefused ? 'no' : 'unknown')));
    });
  }

  /** COMMIT is lost, its reply is, or it arrives when its sender has given up on it. */
  function transaction<T>(body: Parameters<typeof store.transaction<T>>[0]): Promise<T> {
    const { random, calm, scenario } = context;
    const isBad = !calm && random.chance(scenario.rates.store);
    const fault = isBad ? random.pick(['request', 'reply', 'late'] as const) : null;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(lost('unknown'));
      store
        .transaction(async (tx) => {
          await pause(world, random.between(0, 6));
          const result = await body(tx);
          await pause(world, random.between(0, 6));
          if (fault === 'request') throw lost('unknown');
          if (fault === 'late') {
            giveUp();
            await pause(timeline, random.between(0, LATENESS_MAX_MS));
          }
          return result;
        })
        .then(
          (result) =>
            world.setTimer(random.between(0, 6), fault === 'reply' ? giveUp : () => resolve(result)),
          (error: Error) => world.setTimer(random.between(0, 6), () => reject(error)),
        );
    });
  }

  return {
    ...store,
    ...faultyStore(store, {
      timers: timeline,
      callerTimers: world,
      plan: (call) => drawPassage(context, world.name, call),
    }),
    transaction,
    messages: {
      ...messages,
      enqueue: (all) => travel('enqueue', () => messages.enqueue(all)),
      take: (request) => travel('take', () => messages.take(request)),
      extend: (leases, ms) => travel('extend', () => messages.extend(leases, ms)),
      done: (requests) => travel('done', () => messages.done(requests)),
      retry: (requests) => travel('retry', () => messages.retry(requests)),
      dead: (requests) => travel('dead', () => messages.dead(requests)),
      note: (requests) => travel('note', () => messages.note(requests)),
      listen: (heard) => messages.listen?.(() => world.deliver(heard)) ?? (() => undefined),
    },
    sweep: (most, until) => travel('sweep', () => store.sweep(most, until)),
    due: (request) => travel('due', () => store.due(request)),
    takeUnknown: (request) => travel('takeUnknown', () => store.takeUnknown(request)),
    postpone: (requests) => travel('postpone', () => store.postpone(requests)),
    settle: (requests) => travel('settle', () => store.settle(requests)),
    note: (rows) => travel('note', () => store.note(rows)),
    ...(references !== undefined && {
      references: {
        find: (all, limit) => travel('references', () => references.find(all, limit)),
        underWay: (names, limit) => travel('references', () => references.underWay(names, limit)),
      },
    }),
  };
}
