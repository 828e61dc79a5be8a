/** The triggers that audit transitions on MySQL: installed and removed by migrate, wanted by ready, and nothing at all when off. */

import { type Connection, createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MysqlStore, mysqlMigrations, mysqlStore } from '../../src/stores/mysql/index.ts';
import { SCHEMA_VERSION } from '../../src/stores/mysql/migrations/index.ts';
import {
  claimed,
  claimRequest,
  finished,
  finishRequest,
  only,
} from '../../../testing/src/contract/context.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';

for (const source of availableMysql()) {
  describe(`audit of transitions: ${source.name}`, () => {
    let server: MysqlServer;
    const toEnd: (() => Promise<unknown>)[] = [];
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(async () => {
      for (const end of toEnd.toReversed()) await end();
      await server.stop();
    });

    async function place(): Promise<{
      readonly admin: Connection;
      readonly open: (auditTransitions?: boolean) => MysqlStore;
      readonly triggers: () => Promise<number>;
    }> {
      const url = await server.createDatabase();
      const admin = await createConnection(url);
      toEnd.push(() => admin.end());
      return {
        admin,
        open(auditTransitions) {
          const store = mysqlStore({
            service: 'test',
            connect: () => createConnection(url),
            ...(auditTransitions === undefined ? {} : { auditTransitions }),
          });
          toEnd.push(() => store.close());
          return store;
        },
        async triggers() {
          const [rows] = await admin.query('SHOW TRIGGERS');
          return (rows as unknown[]).length;
        },
      };
    }

    it('is not there unless it is asked for, and goes when it is no longer wanted', async () => {
      const { open, triggers } = await place();
      const silent = open();
      await silent.migrate();
      expect(await triggers()).toBe(0);
      const on = open(true);
      expect((await on.status()).missing).toEqual(['audit-transitions']);
      await expect(on.ready()).rejects.toThrow(/samekey migrate --audit-transitions/);
      await on.migrate();
      await on.migrate();
      expect((await on.status()).missing).toEqual([]);
      await on.ready();
      expect(await triggers()).toBe(2);
      // Processes that were not told anything leave it as it is, and their changes are audited too.
      const owner = await finished(silent, 'completed');
      const rows = await silent.audit({ acts: ['transition'] });
      expect(rows.map(({ from, to, attempt, key }) => ({ from, to, attempt, key }))).toEqual([
        { from: 'in_progress', to: 'completed', attempt: 1, key: owner.key },
        { from: null, to: 'in_progress', attempt: 1, key: owner.key },
      ]);
      const off = open(false);
      await off.ready();
      expect((await off.status()).missing).toEqual(['audit-transitions']);
      await off.migrate();
      expect(await triggers()).toBe(0);
      await finished(silent, 'completed', { key: 'later' });
      expect(await silent.audit({ acts: ['transition'] })).toHaveLength(2);
    });

    it('renewals, replays and claims that lose leave nothing', async () => {
      const { open } = await place();
      const store = open(true);
      await store.migrate();
      const owner = await claimed(store);
      await store.renew([{ ...owner, claimTtlMs: 90_000 }]);
      expect(only(await store.claim([claimRequest({ claimId: 'another' })])).kind).toBe('found');
      expect(await store.audit({ acts: ['transition'] })).toHaveLength(1);
    });

    it('what a transaction of the caller wrote is audited if it commits, and only then', async () => {
      const { open, admin } = await place();
      const store = open(true);
      await store.migrate();
      const owner = await claimed(store);
      for (const end of ['ROLLBACK', 'COMMIT']) {
        await admin.query('START TRANSACTION');
        expect((await store.within(admin).finish(finishRequest(owner, 'completed'))).kind).toBe('applied');
        await admin.query(end);
        expect(await store.audit({ acts: ['transition'] })).toHaveLength(end === 'COMMIT' ? 2 : 1);
      }
    });

    it.each([
      ['removed', ['DROP TRIGGER samekey_audit_inserted']],
      [
        'altered',
        [
          'DROP TRIGGER samekey_audit_updated',
          'CREATE TRIGGER samekey_audit_updated AFTER UPDATE ON samekey_records FOR EACH ROW SET @x = 1',
        ],
      ],
    ])('one that was %s is found by ready and mended by migrate', async (_, statements) => {
      const { open, admin } = await place();
      const store = open(true);
      await store.migrate();
      for (const statement of statements) await admin.query(statement);
      await expect(store.ready()).rejects.toThrow(/audit transitions.*--audit-transitions/);
      await store.migrate();
      await store.ready();
      await finished(store, 'completed');
      expect(await store.audit({ acts: ['transition'] })).toHaveLength(2);
    });

    it('the printed SQL installs it and removes it', async () => {
      const { open, admin, triggers } = await place();
      const store = open(true);
      await open().migrate();
      const send = async (sql: string): Promise<void> => {
        for (const statement of sql.split(/;\n/).filter((text) => text.trim() !== ''))
          await admin.query(statement);
      };
      await send(mysqlMigrations({ from: SCHEMA_VERSION, auditTransitions: true }));
      await store.ready();
      await send(mysqlMigrations({ from: SCHEMA_VERSION, auditTransitions: false }));
      await expect(store.ready()).rejects.toThrow(/--audit-transitions/);
      expect(await triggers()).toBe(0);
      expect(mysqlMigrations({ from: SCHEMA_VERSION })).toBe('');
    });

    it('is installed and removed under traffic, and no request fails', async () => {
      const { open } = await place();
      const store = open();
      await store.migrate();
      const state = { going: true };
      let written = 0;
      const traffic = Array.from({ length: 4 }, async (_, c) => {
        for (let i = 0; state.going; i += 1) {
          const owner = await claimed(store, { key: `${c}-${i}` });
          const end = async (): Promise<string> =>
            only(await store.finish([finishRequest(owner, 'completed')])).kind;
          await expect.poll(end, { interval: 5 }).toBe('applied');
          written += 1;
        }
      });
      for (const auditTransitions of [true, false, true]) {
        await open(auditTransitions).migrate();
        const before = written;
        await expect.poll(() => written, { timeout: 20_000 }).toBeGreaterThan(before + 20);
      }
      state.going = false;
      await Promise.all(traffic);
      const last = await finished(store, 'completed', { key: 'last' });
      const rows = await store.audit({ acts: ['transition'], scope: last.scope, key: last.key });
      expect(rows.map(({ to }) => to)).toEqual(['completed', 'in_progress']);
    });

    it('named by its database it writes into that database’s audit, whichever one a connection has chosen', async () => {
      const [mine, other] = [new URL(await server.createDatabase()), await server.createDatabase()];
      const database = mine.pathname.slice(1);
      const store = mysqlStore({
        service: 'test',
        connect: () => createConnection(other),
        database,
        auditTransitions: true,
      });
      toEnd.push(() => store.close());
      await store.migrate();
      await store.ready();
      await finished(store, 'completed');
      expect(await store.audit({ acts: ['transition'] })).toHaveLength(2);
    });
  });
}
