/** A phased operation whose COMMIT or checkpoint is done, or never arrives, and nobody hears of it: one line, one call, one answer. */

import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { type FaultProxy, startFaultProxy, type StatementFault } from '../services/fault-proxy.ts';
import { postgresWire } from '../services/pg-wire.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';

const source = anyPostgres();
const CHECKPOINT = /^samekey_checkpoint_(?!within)/;
const COMMIT = /^commit\b/i;

describe.runIf(source !== undefined)('phased: a reply of PostgreSQL that gets lost', () => {
  let server: PostgresServer;
  let proxy: FaultProxy;
  let direct: Pool;
  let through: Pool;
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
    proxy = await startFaultProxy(server.url(), postgresWire);
    const url = await server.createDatabase();
    const proxied = new URL(url);
    proxied.port = new URL(proxy.url).port;
    direct = new Pool({ connectionString: url });
    through = new Pool({ connectionString: proxied.href });
    through.on('error', () => undefined);
    await postgresStore({ service: 'test', pool: direct }).migrate();
    await direct.query('CREATE TABLE lines (line text)');
  });
  afterAll(async () => {
    await proxy.close();
    await Promise.all([direct.end(), through.end()]);
    await server.stop();
  });

  let count = 0;
  /** Runs note → charge → book with a fault; gives what was told, and what was done. */
  async function runWith(
    fault: StatementFault,
  ): Promise<{ kind: string; attempt: unknown; lines: string[]; calls: number }> {
    count += 1;
    const name = `r${count}`;
    const store = postgresStore({ service: 'test', pool: through, statementTimeMaxMs: 300 });
    const samekey = createSamekey({ store, transactions: fromPg<PoolClient>(through) });
    let calls = 0;
    const line = (what: string) => async (tx: PoolClient) => {
      await tx.query('INSERT INTO lines VALUES ($1)', [`${name} ${what}`]);
      return what;
    };
    const operation = samekey.phased({
      name,
      run: async (_input: null, attempt) => {
        await attempt.phase('note', line('note'));
        await attempt.effect('charge', async () => (calls += 1), { rule: 'reconcile' });
        await attempt.phase('book', line('book'));
        return reply(201, { attempt: attempt.number });
      },
    });
    const armed = proxy.arm(fault);
    try {
      const outcome = await operation.run({ scope: ['t'], key: name, input: null });
      await armed.happened;
      const again = await operation.run({ scope: ['t'], key: name, input: null });
      expect(again).toMatchObject({ kind: 'replay', value: 'value' in outcome ? outcome.value : undefined });
      const { rows } = await direct.query('SELECT line FROM lines WHERE line LIKE $1', [`${name} %`]);
      const lines = rows.map((row: { line: string }) => row.line.slice(name.length + 1)).toSorted();
      return { kind: outcome.kind, attempt: 'attempt' in outcome ? outcome.attempt : null, lines, calls };
    } finally {
      armed.disarm();
      await samekey.close({ drainMs: 0 });
    }
  }

  const ONCE = { kind: 'executed', attempt: 1, lines: ['book', 'note'], calls: 1 };
  const CASES = (['closed', 'half-open'] as const).flatMap((leaves) =>
    [1, 2].map((nth) => ({ leaves, nth })),
  );

  // F15, F44: COMMIT is done; it is looked into by a write that waits for the row.
  it.each(CASES)(
    'COMMIT of phase $nth is done, its reply lost, the connection $leaves',
    async ({ leaves, nth }) => {
      expect(await runWith({ statement: COMMIT, nth, what: 'lose-reply', leaves })).toEqual(ONCE);
    },
  );

  it.each([1, 2])('COMMIT of phase %d never arrives: rolled back, and the phase runs again', async (nth) => {
    expect(await runWith({ statement: COMMIT, nth, what: 'cut-before' })).toEqual(ONCE);
  });

  // 1 is the intent, 2 the result: the same write is made again, and the call is not.
  it.each(CASES)(
    'checkpoint $nth of an effect is done, its reply lost, the connection $leaves',
    async ({ leaves, nth }) => {
      expect(await runWith({ statement: CHECKPOINT, nth, what: 'lose-reply', leaves })).toEqual(ONCE);
    },
  );

  it.each([1, 2])(
    'checkpoint %d of an effect never arrives: it is made again, the call is not',
    async (nth) => {
      expect(await runWith({ statement: CHECKPOINT, nth, what: 'cut-before' })).toEqual(ONCE);
    },
  );

  // F46: the time of a claim counts from the statement that renews it, not from the beginning of its transaction.
  it('a phase that took long leaves a claim that lasts as long as ever', async () => {
    const samekey = createSamekey({
      store: postgresStore({ service: 'test', pool: direct }),
      transactions: fromPg<PoolClient>(direct, { isolation: 'repeatable read' }),
      claimTtlMs: 3_000,
    });
    let leftMs = 0;
    const operation = samekey.phased({
      name: 'long',
      run: async (_input: null, attempt) => {
        await attempt.phase('long', (tx) => tx.query('SELECT pg_sleep(1.5)').then(() => null));
        const { rows } = await direct.query(
          "SELECT extract(epoch FROM locked_until - clock_timestamp()) * 1000 AS left_ms FROM samekey_records WHERE key = 'long'",
        );
        leftMs = Number(rows[0].left_ms);
        return 'done';
      },
    });
    expect(await operation.run({ scope: ['t'], key: 'long', input: null })).toMatchObject({
      kind: 'executed',
    });
    // From the beginning of the transaction it would be 1,500 and less.
    expect(leftMs).toBeGreaterThan(2_000);
    await samekey.close();
  });
});
