/** What stands in PostgreSQL's tables, as somebody reads them who has a copy of the database and no key. */

import type { Pool, PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { createOutbox } from '../../src/outbox/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { sealed } from '../../src/seal/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { createWorker } from '../../src/worker/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { RING } from './rings.ts';

const source = anyPostgres();
const MARK = 'the-customers-secret';
const scope = ['tenant-1'];

/** All rows of all tables, as text; what is bytes also as what it says. */
async function everything(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'samekey%'`,
  );
  expect(tables.length).toBeGreaterThan(1);
  const parts = await Promise.all(
    tables.map(
      async ({ name }) => (await pool.query<{ text: string }>(`SELECT t::text FROM ${name} t`)).rows,
    ),
  );
  const text = parts
    .flat()
    .map((row) => Object.values(row).join(' '))
    .join('\n');
  const bytes = [...text.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex]) =>
    Buffer.from(hex ?? '', 'hex').toString('latin1'),
  );
  return [text, ...bytes].join('\n');
}

describe.runIf(source !== undefined)('sealed PostgreSQL', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  it('shows nothing of answers, headers, inputs, steps and messages in any table; without a seal it shows all', async () => {
    for (const isSealed of [false, true]) {
      const db = await database();
      const pool = db.pool(5);
      const clear = await db.store();
      const store = isSealed ? sealed(clear, RING) : clear;
      const samekey = createSamekey({ store, policy: 'standard', transactions: fromPg<PoolClient>(pool) });
      const outbox = createOutbox({ store });
      const plain = { operation: 'pay', scope, key: 'k', fingerprint: 1 };
      await samekey.run(plain, () => reply(200, { is: `body-${MARK}` }, [['X-Of', `header-${MARK}`]]));
      const buy = samekey.transactional({
        name: 'buy',
        run: async (_input: null, attempt) => {
          const headers = { trace: `line-${MARK}` };
          await outbox.enqueue(attempt.tx, { topic: 'mail', payload: `payload-${MARK}`, headers });
          return reply(201, `inside-${MARK}`);
        },
      });
      await buy.run({ scope, key: 'b', input: null });
      const late = samekey.deferred(
        samekey.phased({
          name: 'late',
          run: async (_input: unknown, attempt) => {
            await attempt.phase('one', async () => `step-${MARK}`);
            return `late-${MARK}`;
          },
        }),
      );
      await late.run({ scope, key: 'l', input: `input-${MARK}` });
      const pushed = await pushDue({ ...internalsOf(samekey), store }, 10);
      expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
      const text = await everything(pool);
      const parts = ['body', 'header', 'line', 'payload', 'inside', 'step', 'late', 'input'];
      const shown = parts.filter((part) => text.includes(`${part}-${MARK}`));
      expect(shown, isSealed ? 'sealed' : 'clear').toEqual(isSealed ? [] : parts);
      // A worker on the sealed store reads what it delivers.
      const delivered: ((what: unknown) => void)[] = [];
      const told = new Promise<unknown>((resolve) => void delivered.push(resolve));
      const worker = createWorker({
        samekey,
        handlers: { mail: ({ payload, headers }) => delivered[0]?.([payload, headers]) },
      });
      worker.start();
      expect(await told).toEqual([`payload-${MARK}`, { trace: `line-${MARK}` }]);
      await worker.stop();
      await samekey.close();
    }
  });

  it('an answer that was moved to another key does not open there', async () => {
    const db = await database();
    const pool = db.pool(2);
    const samekey = createSamekey({ store: sealed(await db.store(), RING), policy: 'standard' });
    let runs = 0;
    const run = (key: string) =>
      samekey.run({ operation: 'pay', scope, key, fingerprint: 1 }, () => `${key} ${(runs += 1)}`);
    for (const key of ['mine', 'yours']) await run(key);
    await pool.query(`UPDATE samekey_records r SET response_body = o.response_body, response_headers = o.response_headers
      FROM samekey_records o WHERE o.key <> r.key`);
    expect(await run('mine')).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
    expect(runs).toBe(2);
    await samekey.close();
  });
});
