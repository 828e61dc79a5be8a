/** Sessions that are killed, servers that go and come back, handlers that hold every connection. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { createDispatch } from '../../src/engine/dispatch.ts';
import { isStoreError } from '../../src/core/errors.ts';
import { createSamekey, type StoreError, singleTenant } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { systemWorld } from '../../src/system.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  describeResult,
  finishRequest,
  only,
  recordOf,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { startFaultProxy } from '../services/fault-proxy.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';
import { programOf } from '../processes/program.ts';

const PROGRAM = programOf('postgres-worker');
const DISPATCH = { batchRowsMax: 500, batchBytesMax: 4 << 20, callTimeMaxMs: 2_000 };

for (const source of availablePostgres()) {
  describe(`faults: ${source.name}`, () => {
    const { database, server } = useServer(source);

    // F15, F44: the server was told to end the session while the statement ran.
    it('a statement whose session is killed is unclear, and its repeat tells what became of it', async () => {
      const db = await database();
      for (const options of [
        {},
        { connect: () => postgres(db.url, { max: 1, fetch_types: false, onnotice: () => undefined }) },
        { prepare: false },
      ]) {
        const store = await db.store(options);
        const key = `killed-${JSON.stringify(Object.keys(options))}`;
        const owner = await claimed(store, { key });
        const other = await db.session();
        // The update stands still inside a trigger of the test's, so that it can be killed at work.
        await other.query(`CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'`);
        await other.query(`CREATE OR REPLACE TRIGGER slow BEFORE UPDATE ON samekey_records
          FOR EACH ROW EXECUTE FUNCTION slow()`);
        const finishing = store.finish([finishRequest(owner, 'completed')]).catch((error: unknown) => error);
        const killed = async (): Promise<number | null> =>
          (
            await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE query LIKE '%locked AS MATERIALIZED%' AND wait_event = 'PgSleep'`)
          ).rowCount;
        while ((await killed()) === 0) await pause(10);
        const error = (await finishing) as StoreError;
        expect(isStoreError(error), String(error)).toBe(true);
        expect(error.applied).toBe('unknown');
        await other.query('DROP TRIGGER slow ON samekey_records');
        expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
        expect((await recordOf(store, owner)).response).toEqual(ANSWER);
      }
    });

    it('a statement that takes too long is cancelled by the server, and was not applied', async () => {
      const db = await database();
      const store = await db.store({ statementTimeMaxMs: 300 });
      const owner = await claimed(store);
      const other = await db.session();
      await other.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'`);
      await other.query(
        'CREATE TRIGGER slow BEFORE UPDATE ON samekey_records FOR EACH ROW EXECUTE FUNCTION slow()',
      );
      const value = await store.finish([finishRequest(owner, 'completed')]).catch((error: unknown) => error);
      // Only the server can say so: who gives up by itself does not know.
      expect((value as StoreError).applied).toBe('no');
      expect((await recordOf(store)).state).toBe('in_progress');
    });

    // F15, F44: half-open, as after a failed switch or a firewall that forgot the connection.
    it('a reply that never comes counts as lost after a bound, and its repeat tells what became of it', async () => {
      const db = await database();
      await db.store();
      const proxy = await startFaultProxy(db.url);
      const connects = {
        pg: () => new Client({ connectionString: proxy.url }),
        postgresJs: () => postgres(proxy.url, { max: 1, fetch_types: false, onnotice: () => undefined }),
      };
      for (const [key, connect] of Object.entries(connects)) {
        const store = await db.store({ connect, statementTimeMaxMs: 300 });
        const first = claimRequest({ key });
        const owner = await claimed(store, first);
        const asks: (readonly [() => Promise<readonly { readonly kind: string }[]>, string])[] = [
          [() => store.claim([{ ...first, key: `${key}-2` }]), 'claimed 1'],
          [() => store.renew([renewRequest(owner)]), 'renewed'],
          [() => store.finish([finishRequest(owner, 'completed')]), 'already'],
        ];
        for (const [ask, again] of asks) {
          // All connections hear again, whichever went deaf before.
          const others = { ...owner, key: 'nobodys' };
          const hearAgain = (): Promise<unknown>[] => [
            store.claim([first]),
            store.find([owner]),
            store.finish([finishRequest(others, 'completed')]),
          ];
          await Promise.allSettled(hearAgain());
          await Promise.all(hearAgain());
          proxy.goDeaf();
          // Nothing will ever come: that it ends at all is the bound.
          const value = await ask().catch((error: unknown) => error);
          expect(value).toMatchObject({ applied: 'unknown', transient: true });
          expect(describeResult(only(await ask()))).toBe(again);
        }
        await store.close();
      }
      await proxy.close();
    });

    // F63
    it('renewals go on while handlers hold every connection of the pool, and wait for more', async () => {
      const db = await database();
      const pool = db.pool(2);
      const store = await db.store({ pool });
      const samekey = createSamekey({ store, policy: 'payments' });
      const held = [await pool.connect(), await pool.connect()];
      const running = samekey.run(
        { operation: 'pay', scope: singleTenant(), key: 'a', fingerprint: null, claimTtlMs: 3_000 },
        async () => {
          // Never gets a connection while the others are held: as a handler that queries in a transaction.
          const client = await pool.connect();
          client.release();
          return 'done';
        },
      );
      const sweeper = await db.store();
      const renewals = async (): Promise<number | undefined> => (await sweeper.list({}))[0]?.renewals;
      await expect.poll(renewals, { timeout: 30_000 }).toBeGreaterThan(2);
      expect(await sweeper.sweep(10)).toEqual([]);
      expect((await sweeper.list({}))[0]?.state).toBe('in_progress');
      for (const client of held) client.release();
      expect((await running).kind).toBe('executed');
    });

    it('what was acknowledged survives kill -9 of the server, and the store comes back by itself', async () => {
      const db = await database();
      const stores = [
        await db.store(),
        await db.store({
          connect: () => postgres(db.url, { max: 1, fetch_types: false, onnotice: () => undefined }),
        }),
      ];
      const acknowledged: string[] = [];
      const errors: StoreError[] = [];
      const traffic = { going: true };
      const world = systemWorld();
      const callers = stores.flatMap((store, s) => {
        const dispatch = createDispatch(store, world, DISPATCH, () => undefined);
        return Array.from({ length: 16 }, async (_, c) => {
          for (let i = 0; traffic.going; i += 1) {
            const key = `${s}-${c}-${i}`;
            try {
              const request = claimRequest({ key });
              const claim = await dispatch.claim(request, world.monotonicNow() + 2_000);
              expect(claim.kind).toBe('claimed');
              const finish = finishRequest({ ...request, attempt: 1 }, 'completed');
              const result = await dispatch.finish(finish, world.monotonicNow() + 2_000);
              // `already`: its first reply was lost with the server.
              expect(describeResult(result)).toMatch(/applied|already/);
              acknowledged.push(key);
            } catch (error) {
              if (!isStoreError(error)) throw error;
              errors.push(error);
              await pause(20);
            }
          }
        });
      });
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(0);
      await server().kill();
      await expect.poll(() => errors.length, { timeout: 20_000 }).toBeGreaterThan(0);
      const before = acknowledged.length;
      await server().restart();
      await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(before + 100);
      traffic.going = false;
      await Promise.all(callers);
      const fresh = await db.store();
      const records = await fresh.find(acknowledged.map((key) => ({ scope: 'tenant-1/payments', key })));
      expect(records.filter((record) => record?.state !== 'completed')).toEqual([]);
    });

    // F1
    it('of processes that are killed at work, what they acknowledged is there and what they had open ends', async () => {
      if (!existsSync(PROGRAM)) throw new Error('The test programs are not built: run npx tsc -b first.');
      const db = await database();
      const store = await db.store();
      const acknowledged: string[] = [];
      const workers = ['a', 'b', 'c'].map((name) => {
        const child = spawn(process.execPath, [PROGRAM, 'work', db.url, name], {
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        let rest = '';
        child.stdout.on('data', (bytes: Buffer) => {
          const lines = (rest + bytes.toString()).split('\n');
          rest = lines.pop() ?? '';
          acknowledged.push(...lines);
        });
        return child;
      });
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(200);
      for (const worker of workers) {
        const ended = once(worker, 'close');
        worker.kill('SIGKILL');
        await ended;
      }
      const records = await store.find(acknowledged.map((key) => ({ scope: 'processes', key })));
      expect(records.filter((record) => record?.state !== 'completed')).toEqual([]);
      // Their claims end by the server's clock.
      await expect
        .poll(
          async () => {
            expect((await store.sweep(100)).every(({ to }) => to === 'unknown')).toBe(true);
            return (await store.count()).in_progress;
          },
          { timeout: 20_000 },
        )
        .toBe(0);
    });

    // F44
    it('a server that is not there is told at once, and nothing was applied', async () => {
      let tries = 0;
      const gone = postgresStore({
        service: 'test',
        connect() {
          tries += 1;
          return new Client({ host: '127.0.0.1', port: 1 });
        },
      });
      const value = await gone.claim([claimRequest()]).catch((error: unknown) => error as StoreError);
      expect(value).toMatchObject({ applied: 'no', transient: true });
      // Nobody tries again for as long as the call may last.
      expect(tries).toBe(1);
      await gone.close();
    });

    it('an idle connection that is killed harms nobody', async () => {
      const db = await database();
      const store = await db.store();
      const owner = await claimed(store);
      const other = await db.session();
      for (let i = 0; i < 3; i += 1) {
        await other.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'samekey'",
        );
        await pause(50);
        const outcome = await store.renew([renewRequest(owner)]).then(
          (results) => only(results).kind,
          (error: unknown) => (isStoreError(error) ? 'store error' : error),
        );
        expect(outcome).toMatch(/renewed|store error/);
        expect(only(await store.renew([renewRequest(owner)])).kind).toBe('renewed');
      }
    });
  });
}
