/** The command on MySQL and MariaDB: migrations, and the operator's hand and eyes. */

import { createConnection } from 'mysql2/promise';
import { createSamekey } from 'samekey';
import { createOutbox } from 'samekey/outbox';
import { mysqlStore } from 'samekey/stores/mysql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { availableMysql, type MysqlServer, startMysql } from '../../samekey/test/services/mysql.ts';
import { said } from './migrating.ts';

for (const source of availableMysql()) {
  describe(`samekey on ${source.name}`, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    it.each(['mysql:', 'mariadb:'])(
      'migrates a database named by %s, and says how far it is',
      async (scheme) => {
        const url = await server.createDatabase();
        const named = url.replace(/^mysql:/, scheme);
        const status = ['migrate', '--status', '--database', named];
        expect(await said(status)).toMatchObject({ code: 3, stderr: '' });
        const made = await said(['migrate', '--service', 'shop', '--database', named]);
        expect(made).toMatchObject({ code: 0, stderr: '' });
        expect(made.stdout).toContain('Database: MySQL 127.0.0.1:');
        expect(made.stdout).toMatch(/^Migrated: version \d+ \(was none\): tables/m);
        expect(await said(status)).toMatchObject({ code: 0, stderr: '' });
        expect(
          (await said(['migrate', '--service', 'shop', '--print', '--database', named])).stdout,
        ).toContain('samekey_identity');
        const store = mysqlStore({ service: 'shop', connect: () => createConnection(url) });
        await store.ready();
        await store.close();
      },
      60_000,
    );

    it('shows an unknown outcome, settles it, and says who did', async () => {
      const url = await server.createDatabase();
      const store = mysqlStore({ service: 'shop', connect: () => createConnection(url) });
      await store.migrate();
      const samekey = createSamekey({ store, policy: 'payments' });
      const call = { operation: 'pay', scope: ['tenant-1'], key: 'k-1', fingerprint: null };
      await samekey
        .run(call, () => {
          throw new Error('who knows');
        })
        .catch(() => undefined);
      const inspected = await said(['inspect', '--database', url]);
      expect(inspected).toMatchObject({ code: 0, stderr: '' });
      expect(inspected.stdout).toContain('unknown');
      const doctor = await said(['doctor', '--database', url]);
      expect(doctor.stderr).toBe('');
      expect(doctor.stdout).toMatch(/unknown/);
      const told = [
        '--to',
        'failed',
        '--status',
        '402',
        '--body',
        '{}',
        '--reason',
        'declined there',
        '--actor',
        'ada',
      ];
      const settled = await said(['settle', 'k-1', ...told, '--yes', '--database', url]);
      expect(settled).toMatchObject({ code: 0, stderr: '' });
      expect((await said(['audit', '--database', url])).stdout).toMatch(/settle[^]*ada/);
      const janitor = await said(['janitor', '--once', '--database', url]);
      expect(janitor).toMatchObject({ code: 0 });
      expect((await said(['requeue', '--database', url])).stdout).toContain('No dead letters.');
      await samekey.close();
      await store.close();
    }, 60_000);

    it('lists messages that were given up, and delivers them again', async () => {
      const url = await server.createDatabase();
      const store = mysqlStore({ service: 'shop', connect: () => createConnection(url) });
      await store.migrate();
      const outbox = createOutbox({ store });
      const id = await outbox.enqueueAlone({ topic: 'mail', payload: { to: 'ada' } });
      const request = {
        topics: ['mail'],
        limit: 1,
        leaseId: 'l',
        leaseMs: 60_000,
        suspectsMax: 0,
        deliveriesMax: 9,
      };
      const { taken } = await store.messages.take(request);
      const given = { error: 'no such address', proven: true, begun: true, record: null };
      await store.messages.dead(taken.map((lease) => ({ ...lease, ...given })));
      expect((await said(['requeue', '--database', url])).stdout).toContain('no such address');
      const doctor = await said(['doctor', '--database', url]);
      expect(doctor.stdout).toContain('1 messages were given up (mail: 1)');
      const again = ['requeue', id, '--reason', 'mended', '--actor', 'ada', '--yes', '--database', url];
      expect(await said(again)).toMatchObject({ code: 0, stderr: '' });
      expect(await outbox.count()).toEqual([{ topic: 'mail', state: 'ready', count: 1 }]);
      expect((await said(['audit', '--database', url])).stdout).toMatch(/requeue[^]*ada/);
      await store.close();
    }, 60_000);

    it('the doctor looks at settings, sizes, clock and reaper, and names what would lose records', async () => {
      if (source.programs === null) return expect(source.url).toBeDefined();
      const url = await server.createDatabase();
      await said(['migrate', '--service', 'shop', '--database', url, '--audit-transitions']);
      const look = async (): Promise<readonly { check: string; level: string; what: string }[]> =>
        (
          JSON.parse((await said(['doctor', '--json', '--database', url])).stdout) as never as {
            findings: readonly { check: string; level: string; what: string }[];
          }
        ).findings;
      const fine = await look();
      for (const check of ['durability', 'growth', 'clock', 'reaper', 'schema'])
        expect(fine).toContainEqual(expect.objectContaining({ check, level: 'ok' }));
      const status = ['migrate', '--status', '--audit-transitions', '--database', url];
      expect(await said(status)).toMatchObject({ code: 0 });
      const admin = await createConnection(url);
      await admin.query('SET GLOBAL innodb_flush_log_at_trx_commit = 2');
      const bad = await look();
      await admin.query('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
      expect(bad).toContainEqual(expect.objectContaining({ level: 'failure' }));
      expect(JSON.stringify(bad)).toContain('innodb_flush_log_at_trx_commit');
      await admin.query('SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
      const unsafe = await look();
      await admin.query('SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      expect(unsafe).toContainEqual(expect.objectContaining({ check: 'durability', level: 'warning' }));
      await admin.end();
    }, 90_000);
  });
}
