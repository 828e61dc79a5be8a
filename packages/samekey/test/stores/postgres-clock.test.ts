/** A PostgreSQL server's clock that is set: what it costs to hold it back, what a process makes of it that begins then, and who is told (F117). */

import { Client, type ClientConfig } from 'pg';
import { createSamekey } from 'samekey';
import { describe, expect, it } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import {
  claimed,
  finished,
  finishRequest,
  foundBecause,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('a PostgreSQL server whose clock is set', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  /** Counts what its stores send. */
  async function bench() {
    const db = await database();
    const admin = await db.session();
    await admin.query(`CREATE TABLE clock (off interval NOT NULL); INSERT INTO clock VALUES ('0');
      CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp() + off FROM clock'`);
    const sent: string[] = [];
    class CountingClient extends Client {
      constructor(config?: string | ClientConfig) {
        super(config);
        const query = this.query.bind(this) as (asked: unknown) => unknown;
        Object.assign(this, {
          query(asked: { readonly text: string }) {
            sent.push(asked.text);
            return query(asked);
          },
        });
      }
    }
    const options = {
      service: 'test',
      connect: () => new CountingClient({ connectionString: db.url }),
      clock: 'test_now()',
    };
    return {
      open: () => db.store(options),
      /** Of which nobody has asked whether it is ready. */
      unasked: () => postgresStore(options),
      countOf: async (work: () => Promise<unknown>): Promise<number> => {
        sent.length = 0;
        await work();
        return sent.length;
      },
      set: (hours: number) => admin.query(`UPDATE clock SET off = '${hours} hours'`),
    };
  }

  // F117
  it('costs the hot path no statement: claims, renewals, replays and ends are as many as ever', async () => {
    const { open, countOf, set } = await bench();
    const store = await open();
    const warm = await finished(store, 'completed', { key: 'warm' });
    await store.renew([renewRequest(warm)]);
    for (const hours of [0, 25, -25]) {
      await set(hours);
      const key = `at ${hours}`;
      expect(await countOf(() => claimed(store, { key }))).toBe(1);
      const owner = await claimed(store, { key: `${key}, renewed` });
      expect(await countOf(() => store.renew([renewRequest(owner)]))).toBe(1);
      expect(await countOf(() => store.finish([finishRequest(owner, 'completed')]))).toBe(1);
      expect(await countOf(() => foundBecause(store, 'final', { key: 'warm' }))).toBe(2);
    }
  });

  // F117
  it('a process that begins in the wrong moment, and asks nobody whether it may, forgets nothing', async () => {
    const { open, unasked, set } = await bench();
    const right = await open();
    await finished(right, 'completed');
    await set(25);
    const wrong = unasked();
    await foundBecause(wrong, 'final');
    await wrong.close();
    await set(0);
    await foundBecause(right, 'final');
  });

  // F117
  it('is told once as misuse, with what is off', async () => {
    const { open, set } = await bench();
    const store = await open();
    const told: string[] = [];
    const samekey = createSamekey({
      store,
      policy: 'payments',
      onEvent: (event) => void (event.type === 'misuse' && told.push(`${event.code}: ${event.message}`)),
    });
    await set(25);
    await store.sweep(1);
    await store.sweep(1);
    expect(told).toEqual([
      expect.stringMatching(/^clock-off: The clock of the store's server is 1500 minutes ahead/),
    ]);
    await samekey.close({ drainMs: 0 });
  });
});
