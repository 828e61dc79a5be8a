/** The triggers that audit transitions: installed and removed by migrate, wanted by ready, and nothing at all when off. */

import { describe, expect, it } from 'vitest';
import { postgresMigrations, postgresStore } from '../../src/stores/postgres/index.ts';
import { SCHEMA_VERSION } from '../../src/stores/postgres/migrations/index.ts';
import { claimed, finished, finishRequest, only } from '../../../testing/src/contract/context.ts';
import { availablePostgres } from '../services/postgres.ts';
import { type TestDatabase, useServer } from './postgres-setup.ts';

const TRIGGERS = `SELECT tgname FROM pg_trigger WHERE tgrelid = 'samekey_records'::regclass AND NOT tgisinternal`;

for (const source of availablePostgres()) {
  describe(`audit of transitions: ${source.name}`, () => {
    const { database } = useServer(source);

    it('is not there unless it is asked for, and goes when it is no longer wanted', async () => {
      const db = await database();
      await db.store();
      expect(await triggers(db)).toBe(0);
      const on = postgresStore({ service: 'test', pool: db.pool(), auditTransitions: true });
      expect((await on.status()).missing).toEqual(['audit-transitions']);
      await expect(on.ready()).rejects.toThrow(/samekey migrate --audit-transitions/);
      await on.migrate();
      await on.migrate();
      expect((await on.status()).missing).toEqual([]);
      await on.ready();
      expect(await triggers(db)).toBe(2);
      // Processes that were not told anything leave it as it is, and their changes are audited too.
      const silent = await db.store();
      await finished(silent, 'completed');
      expect(await triggers(db)).toBe(2);
      expect(await silent.audit({ acts: ['transition'] })).toHaveLength(2);
      const off = postgresStore({ service: 'test', pool: db.pool(), auditTransitions: false });
      await off.ready();
      expect((await off.status()).missing).toEqual(['audit-transitions']);
      await off.migrate();
      expect((await off.status()).missing).toEqual([]);
      expect(await triggers(db)).toBe(0);
      await finished(silent, 'completed', { key: 'later' });
      expect(await silent.audit({ acts: ['transition'] })).toHaveLength(2);
      await Promise.all([on.close(), off.close()]);
    });

    it.each([
      ['disabled', 'ALTER TABLE samekey_records DISABLE TRIGGER samekey_audit_updated'],
      ['removed', 'DROP TRIGGER samekey_audit_inserted ON samekey_records'],
      [
        'altered',
        "CREATE OR REPLACE FUNCTION samekey_audit_transition() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      ],
    ])('one that was %s is found by ready and mended by migrate', async (_, statement) => {
      const db = await database();
      const store = await db.store({ pool: db.pool(), auditTransitions: true });
      await (await db.session()).query(statement);
      await expect(store.ready()).rejects.toThrow(/audit transitions.*--audit-transitions/);
      await store.migrate();
      await store.ready();
      await finished(store, 'completed');
      expect(await store.audit({ acts: ['transition'] })).toHaveLength(2);
    });

    it('the printed SQL installs it and removes it', async () => {
      const db = await database();
      await db.store();
      const admin = await db.session();
      const from = SCHEMA_VERSION;
      await admin.query(postgresMigrations({ from, auditTransitions: true }));
      const store = postgresStore({ service: 'test', pool: db.pool(), auditTransitions: true });
      await store.ready();
      await admin.query(postgresMigrations({ from, auditTransitions: false }));
      await expect(store.ready()).rejects.toThrow(/--audit-transitions/);
      expect(await triggers(db)).toBe(0);
      await store.close();
    });

    it('is installed and removed under traffic, and no request fails', async () => {
      const db = await database();
      const store = await db.store();
      const state = { going: true };
      let written = 0;
      const traffic = Array.from({ length: 4 }, async (_, c) => {
        for (let i = 0; state.going; i += 1) {
          const owner = await claimed(store, { key: `${c}-${i}` });
          expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
          written += 1;
        }
      });
      for (const auditTransitions of [true, false, true]) {
        await db.store({ pool: db.pool(), auditTransitions });
        const before = written;
        await expect.poll(() => written).toBeGreaterThan(before + 20);
      }
      state.going = false;
      await Promise.all(traffic);
      const last = await finished(store, 'completed', { key: 'last' });
      const rows = await store.audit({ acts: ['transition'], scope: last.scope, key: last.key });
      expect(rows.map(({ to }) => to)).toEqual(['completed', 'in_progress']);
    });

    it('in a schema of its own it writes into that schema’s audit', async () => {
      const db = await database();
      const one = await db.store({ pool: db.pool(), schema: 'idem-One', auditTransitions: true });
      const two = await db.store({ pool: db.pool(), schema: 'two' });
      await claimed(one);
      await claimed(two);
      expect(await one.audit({})).toHaveLength(1);
      expect(await two.audit({})).toHaveLength(0);
    });
  });
}

async function triggers(db: TestDatabase): Promise<number> {
  return (await (await db.session()).query(TRIGGERS)).rows.length;
}
