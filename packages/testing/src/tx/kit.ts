/** What the parts of the transaction contract share: instances on a bench, probe points to stop at, and one small operation. */

import assert from 'node:assert/strict';
import type { SamekeyEvent } from 'samekey/internals/engine/events';
import type { RecordId } from 'samekey/internals/core/record';
import type { ProbePoint } from 'samekey/internals/core/world';
import { createSamekey, type Samekey, type SamekeyOptions } from 'samekey/internals/samekey';
import { systemWorld } from 'samekey/internals/system';
import type { TxBench, TxHarness, TxOpenOptions } from './harness.ts';

/** An instance on a bench. */
export interface Instance {
  readonly samekey: Samekey;
  readonly events: SamekeyEvent[];
  /** Holds the flow the next time it comes to this point; `release` lets it go on. */
  stopAt(point: ProbePoint): Stop;
  /** Runs `body` the next time the flow comes to this point, which waits for it. */
  onceAt(point: ProbePoint, body: () => Promise<void>): void;
}

/** A place at which the flow is held. */
export interface Stop {
  readonly reached: Promise<void>;
  release(): void;
}

/** A bench and what a test made on it. */
export interface Context extends TxBench {
  readonly harness: TxHarness;
  instance(options?: Partial<SamekeyOptions>): Instance;
  /** How many orders there are. */
  count(): Promise<number>;
}

/** Adds one test: it gets a database of its own, closed afterwards. */
export type AddTest = (title: string, body: (t: Context) => Promise<void>, options?: TxOpenOptions) => void;

/** The input of the usual operation. */
export interface Order {
  readonly id: string;
  readonly amount: number;
}

export const ORDER: Order = { id: 'o-1', amount: 5 };
export const REQUEST: { readonly scope: readonly string[]; readonly key: string; readonly input: Order } = {
  scope: ['t1'],
  key: 'k-1',
  input: ORDER,
};

/** A promise and what settles it. */
export interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

/** Makes a signal. */
export function signal(): Signal {
  const { promise, resolve } = withResolvers();
  return { given: promise, give: resolve };
}

/** As the promise of that name in newer Nodes. */
function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle: (() => void) | undefined;
  const promise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: () => settle?.() };
}

/** Runs a test on a bench of its own. */
export async function onTxBench(
  harness: TxHarness,
  options: TxOpenOptions,
  body: (t: Context) => Promise<void>,
): Promise<void> {
  const bench = await harness.open(options);
  const made: Samekey[] = [];
  try {
    await body({
      ...bench,
      harness,
      instance(more = {}) {
        const instance = createInstance(bench, more);
        made.push(instance.samekey);
        return { ...instance, samekey: reservingAs(harness, instance.samekey) };
      },
      count: async () => Number((await bench.beside('SELECT count(*) AS n FROM orders'))[0]?.['n']),
    });
  } finally {
    await Promise.all(made.map((samekey) => samekey.close({ drainMs: 0 })));
    await bench.close();
  }
}

/** Its transactional operations reserve their keys as the harness says. */
function reservingAs({ reserve }: TxHarness, samekey: Samekey): Samekey {
  if (reserve === undefined) return samekey;
  const transactional: Samekey['transactional'] = (definition) =>
    samekey.transactional({ reserve, ...definition });
  return { ...samekey, transactional };
}

function createInstance(bench: TxBench, more: Partial<SamekeyOptions>): Instance {
  const events: SamekeyEvent[] = [];
  const probes: { point: ProbePoint; body: () => Promise<void> }[] = [];
  const samekey = createSamekey({
    store: bench.store,
    transactions: bench.source,
    onEvent: (event) => void events.push(event),
    // What is read must be the record, not this process's memory of it.
    replayCacheTimeMaxMs: 0,
    world: {
      ...systemWorld(),
      async probe(point: ProbePoint, _id: RecordId) {
        const at = probes.findIndex((probe) => probe.point === point);
        if (at >= 0) await probes.splice(at, 1)[0]?.body();
      },
    },
    ...more,
  });
  return {
    samekey,
    events,
    onceAt: (point, body) => void probes.push({ point, body }),
    stopAt(point) {
      const [reached, go] = [signal(), signal()];
      probes.push({
        point,
        body() {
          reached.give();
          return go.given;
        },
      });
      return { reached: reached.given, release: () => go.give() };
    },
  };
}

/** Asks until it holds: a signal that can only be read. Bounded, so that a fault ends in words. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; !(await holds()); ) {
    assert.ok(performance.now() < end, `waited in vain until ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, 10));
  }
}
