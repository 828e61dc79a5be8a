/**
 * The k-th call of the store meets a fault, for every k, in the ways that write in the caller's own transactions: transactional, handed over
 * to a worker, phased with phases. Calls on the hot path and those inside of transactions are counted together.
 *
 * Invariants: as those of `kth-contract.ts`, but in real time, with short bounds · what was done is read from the application's own table.
 */

import assert from 'node:assert/strict';
import { StoreError } from 'samekey/internals/core/errors';
import { reply } from 'samekey/internals/ways/reply';
import type { Store } from 'samekey/internals/store/store';
import type { TransactionalStore, Within } from 'samekey/internals/store/transaction';
import type { Samekey } from 'samekey/internals/samekey';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import { createWorker } from 'samekey/internals/worker/index';
import type { TestRunner } from '../contract/context.ts';
import { type FaultKind, faultyStore, passageOf } from '../faulty-store.ts';
import type { TxHarness } from './harness.ts';
import { type Context, onTxBench, until } from './kit.ts';

const STORE_TIME_MAX_MS = 150;
const BOUNDS = {
  storeTimeMaxMs: STORE_TIME_MAX_MS,
  saveTimeMaxMs: STORE_TIME_MAX_MS,
  claimTtlMs: 4_000,
} as const;
const DRAIN_MS = 10_000;
const STRUCK = 'The statement was struck.';

interface TxFault {
  readonly title: string;
  readonly kind: FaultKind;
  readonly silent: boolean;
}

const FAULTS: readonly TxFault[] = [
  { title: 'fails', kind: 'refuse', silent: false },
  { title: 'loses its request', kind: 'loseRequest', silent: false },
  { title: 'loses its reply', kind: 'loseReply', silent: false },
  { title: 'stands still and is never applied', kind: 'loseRequest', silent: true },
  { title: 'stands still, applied at once', kind: 'loseReply', silent: true },
];

type Ask = (key: string, amount: number) => Promise<RunOutcome<unknown>>;

interface TxWay {
  readonly name: string;
  readonly callsMin: number;
  /** Orders that stand in the application's table in the end. */
  readonly rows: number;
  open(t: Context, samekey: Samekey): Ask;
}

interface Input {
  readonly key: string;
  readonly amount: number;
}

const WAYS: readonly TxWay[] = [
  {
    name: 'transactional',
    callsMin: 2,
    rows: 1,
    open(t, samekey) {
      const operation = samekey.transactional({
        name: 'order',
        async run({ key, amount }: Input, attempt) {
          await t.insert(attempt.tx, key, amount);
          return reply(201, { ordered: key });
        },
      });
      return (key, amount) => operation.run({ scope: ['t'], key, input: { key, amount } });
    },
  },
  {
    name: 'handed over',
    callsMin: 3,
    rows: 1,
    open(t, samekey) {
      const operation = samekey.transactional({
        name: 'ship',
        async run({ key, amount }: Input, attempt) {
          await t.insert(attempt.tx, key, amount);
          await attempt.handOver({ topic: 'ship', payload: key });
          return { accepted: key };
        },
      });
      return (key, amount) => operation.run({ scope: ['t'], key, input: { key, amount } });
    },
  },
  {
    name: 'phased, with phases',
    callsMin: 5,
    rows: 2,
    open(t, samekey) {
      const operation = samekey.phased({
        name: 'pay',
        async run({ key, amount }: Input, attempt) {
          const insert = (name: string, more: number): Promise<void> =>
            attempt.phase(name, async (tx) => {
              await t.insert(tx, `${key} ${name}`, amount + more);
            });
          await insert('reserve', 0);
          const paid = await attempt.effect('pay', (effect) => effect.downstreamKey, {
            rule: 'downstreamKey',
            retentionMs: 3_600_000,
          });
          await insert('book', 1);
          return reply(201, { paid });
        },
      });
      return (key, amount) => operation.run({ scope: ['t'], key, input: { key, amount } });
    },
  },
];

/** Adds its tests to a runner, for one library on one database. */
export function kthTxContract(runner: TestRunner, harness: TxHarness): void {
  runner.describe(`the k-th call on ${harness.name}`, () => {
    for (const way of WAYS) {
      for (const fault of FAULTS) {
        runner.it(
          `${way.name}: whichever call of the store ${fault.title}, it is done once and answered`,
          () => onTxBench(harness, {}, (t) => strikeEach(t, way, fault)),
        );
      }
    }
  });
}

async function strikeEach(t: Context, way: TxWay, fault: TxFault): Promise<void> {
  const other = t.instance(BOUNDS).samekey;
  const elsewhere = way.open(t, other);
  const shipped: string[] = [];
  const worker = createWorker({
    samekey: other,
    pollMs: 50,
    handlers: {
      ship({ payload }: { payload: string }) {
        shipped.push(payload);
        return reply(201, { shipped: payload });
      },
    },
  });
  worker.start();
  let tried = 0;
  try {
    for (let k = 1; ; k += 1) {
      let calls = 0;
      for (const after of ['lives on', 'closes'] as const) {
        const key = `${after}-${k}`;
        const where = `${way.name}, call ${k} ${fault.title}, the process ${after}`;
        const store = struckStore(t.store, k, fault);
        const { samekey } = t.instance({ ...BOUNDS, store });
        const amount = 10 * (tried += 1);
        const first = await unlessStruck(way.open(t, samekey)(key, amount));
        calls = Math.max(calls, store.calls);
        if (first !== null) known(first, where);
        if (after === 'closes') assert.equal(await samekey.close({ drainMs: DRAIN_MS }), 0, where);
        const last = await answered(() => elsewhere(key, amount), where);
        if (first?.kind === 'executed' && first.state === 'completed')
          assert.deepEqual(last.value, first.value, `${where}: the answer is another`);
        const rows = await t.beside(`SELECT id FROM orders WHERE id LIKE '${key}%'`);
        const own = rows.filter(({ id }) => id === key || String(id).startsWith(`${key} `));
        assert.equal(own.length, way.rows, where);
      }
      if (calls < k) {
        assert.ok(k > way.callsMin, `it makes ${calls} calls, fewer than it can`);
        break;
      }
    }
    assert.equal(new Set(shipped).size, shipped.length, 'each message was delivered once');
  } finally {
    await worker.stop();
  }
}

/** The transaction was rolled back by the fault, and its caller gets the error: null. */
async function unlessStruck(asked: Promise<RunOutcome<unknown>>): Promise<RunOutcome<unknown> | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StoreError && error.message === STRUCK) return null;
    throw error;
  }
}

function known(outcome: RunOutcome<unknown>, where: string): void {
  assert.notEqual(outcome.kind, 'unknown', `${where}: nobody died, so somebody knows`);
}

async function answered(
  ask: () => Promise<RunOutcome<unknown>>,
  where: string,
): Promise<RunOutcome<unknown> & { readonly value: unknown }> {
  let last: (RunOutcome<unknown> & { readonly value: unknown }) | undefined;
  await until(`${where}: it is answered`, async () => {
    const outcome = await ask();
    known(outcome, where);
    const isFinal =
      outcome.kind === 'replay' || (outcome.kind === 'executed' && outcome.state === 'completed');
    if (isFinal) last = outcome;
    return isFinal;
  });
  assert.ok(last !== undefined, where);
  return last;
}

type Struck = Store & TransactionalStore & { readonly calls: number };

/** A store whose k-th call meets the fault, on the hot path or inside a transaction. */
function struckStore(store: Store & TransactionalStore, k: number, { kind, silent }: TxFault): Struck {
  let calls = 0;
  const isStruck = (): boolean => (calls += 1) === k;
  const faulty = faultyStore(store, { plan: () => (isStruck() ? passageOf(kind, { silent }) : null) });
  const struck = <Given extends unknown[], Result>(
    call: (...given: Given) => Result | Promise<Result>,
  ): ((...given: Given) => Promise<Result>) => {
    return async (...given) => {
      if (!isStruck()) return call(...given);
      // The database ends a statement that stands still: its transaction has local bounds.
      if (silent) await new Promise((resolve) => void setTimeout(resolve, STORE_TIME_MAX_MS));
      if (kind === 'loseReply') await call(...given);
      throw new StoreError(STRUCK, { applied: kind === 'refuse' ? 'no' : 'unknown' });
    };
  };
  const within = (handle: unknown): Within => {
    const own = store.within(handle);
    return {
      finish: struck((request) => own.finish(request)),
      checkpoint: struck((request) => own.checkpoint(request)),
      handOver: struck((owner) => own.handOver(owner)),
      enqueue: struck((messages) => own.enqueue(messages)),
      ...(own.limit === undefined ? {} : { limit: struck(async (ms: number) => own.limit?.(ms)) }),
    };
  };
  const parts = { within, transactionFault: (error: unknown) => store.transactionFault(error) };
  return Object.defineProperty({ ...faulty, ...parts, close: async () => undefined }, 'calls', {
    get: () => calls,
  }) as unknown as Struck;
}
