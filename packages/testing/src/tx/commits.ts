/** COMMITs of which nobody was told, or that became rollbacks: one business row, and the right answer. */

import assert from 'node:assert/strict';
import type { ProbePoint } from 'samekey/internals/core/world';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { type AddTest, type Context, type Instance, type Order, ORDER, REQUEST } from './kit.ts';
import { valueOf } from './reruns.ts';

export function commitTests(test: AddTest): void {
  for (const then of ['close', 'half-open'] as const) {
    const what = then === 'close' ? 'the connection closed' : 'the connection silent';
    test(`COMMIT done, its answer lost and ${what}: one order, and its answer`, async (t) => {
      const instance = t.instance({ storeTimeMaxMs: 500 });
      const order = orderOn(t, instance);
      const { happened } = t.loseCommitReply(then);
      const [outcome] = await Promise.all([order.operation.run(REQUEST), happened]);
      assert.equal(valueOf(outcome), 1);
      assert.equal(outcome.kind, 'executed');
      assert.equal(order.runs(), 1);
      assert.equal((await order.operation.run(REQUEST)).kind, 'replay');
      assert.equal(await t.count(), 1);
    });
  }

  test('the server dies between the handler and its completion: rolled back, and a retry runs', async (t) => {
    const instance = t.instance();
    const order = orderOn(t, instance);
    const crashed = crashAt(t, instance, 'commit.before');
    await assert.rejects(order.operation.run(REQUEST));
    await crashed;
    assert.equal(valueOf(await retried(() => order.operation.run(REQUEST))), 2);
    assert.equal(await t.count(), 1);
  });

  test('the server dies between the completion and COMMIT: rolled back, and run again within the attempt', async (t) => {
    const instance = t.instance();
    const order = orderOn(t, instance);
    const crashed = crashAt(t, instance, 'commit.sent');
    const [outcome] = await Promise.all([order.operation.run(REQUEST), crashed]);
    assert.equal(valueOf(outcome), 1);
    assert.equal(order.runs(), 2);
    assert.equal(await t.count(), 1);
  });

  test('the server ends the session inside the handler: the process lives, and a retry runs', async (t) => {
    const instance = t.instance();
    let runs = 0;
    const order = instance.samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        if (runs === 1) {
          await endSessions(t);
          // The driver hears of it while nothing is asked.
          await new Promise((resolve) => void setTimeout(resolve, 50));
        }
        return attempt.number;
      },
    });
    await assert.rejects(order.run(REQUEST));
    assert.equal(await t.count(), 0);
    assert.equal(valueOf(await retried(() => order.run(REQUEST))), 2);
    assert.equal(await t.count(), 1);
  });

  // The answer to COMMIT is then ROLLBACK, which most libraries do not look at; in MySQL it is the same as ever.
  test('a stray query that fails after the handler has ended is not taken for a commit', async (t) => {
    const instance = t.instance();
    let runs = 0;
    const order = instance.samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        if (attempt.number > 1) return attempt.number;
        const { tx } = attempt;
        instance.onceAt('commit.sent', async () => {
          t.query(tx, stray(t)).catch(() => undefined);
        });
        return attempt.number;
      },
    });
    const first = await order.run(REQUEST).then(valueOf, () => 'rolled back');
    if (t.harness.straysRunFirst) {
      assert.equal(first, 'rolled back');
      assert.equal(await t.count(), 0);
      assert.equal(valueOf(await order.run(REQUEST)), 2);
    } else {
      assert.equal(first, 1);
    }
    assert.equal(await t.count(), 1);
  });

  test('a tx that was kept is refused after the end, or its late write is at least not in the attempt', async (t) => {
    const { samekey } = t.instance();
    const kept: unknown[] = [];
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        kept.push(attempt.tx);
        await t.insert(attempt.tx, input.id, input.amount);
        return 'done';
      },
    });
    await order.run(REQUEST);
    const late = Promise.resolve().then(() => t.insert(kept[0], 'o-late', 99));
    if (t.harness.refusesLateUse) {
      await assert.rejects(late);
      assert.equal(await t.count(), 1);
    } else {
      await late.catch(() => undefined);
    }
  });
}

/** A statement that rolls back what was before it. In MySQL a deadlock does so, or this text, which some sources refuse. */
function stray({ harness }: Context): string {
  return harness.dialect === 'mysql' ? 'ROLLBACK' : 'SELECT 1 / 0';
}

/** As an administrator does, or the server: all sessions with an open transaction on the test's database. */
async function endSessions(t: Context): Promise<void> {
  if (t.harness.dialect === 'postgres') {
    await t.beside(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE state = 'idle in transaction' AND datname = current_database()`);
    return;
  }
  const sessions = await t.beside(`SELECT p.id AS id FROM information_schema.innodb_trx AS t
    JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
    WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()`);
  for (const { id } of sessions) await t.beside(`KILL ${String(id)}`);
}

/** Resolves when the server is up again: some libraries hear of the crash before that. */
function crashAt(t: Context, instance: Instance, point: ProbePoint): Promise<void> {
  return new Promise((resolve, reject) => {
    instance.onceAt(point, () => t.crash().then(resolve, reject));
  });
}

function orderOn(
  t: Context,
  { samekey }: Instance,
): {
  readonly operation: Operation<Order, number>;
  readonly runs: () => number;
} {
  let runs = 0;
  const operation = samekey.transactional({
    name: 'order',
    async run(input: typeof ORDER, attempt) {
      runs += 1;
      await t.insert(attempt.tx, input.id, input.amount);
      return attempt.number;
    },
  });
  return { operation, runs: () => runs };
}

/** As a client does that is told to come again. */
async function retried<T extends { readonly kind: string }>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await run().catch((error: unknown) => {
      if (tries === 100) throw error;
      return undefined;
    });
    if (outcome?.kind === 'executed' || outcome?.kind === 'replay') return outcome;
    assert.ok(tries < 200, `still ${outcome?.kind}`);
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}
