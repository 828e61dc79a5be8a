/** The command on MySQL and MariaDB: migrations, and the operator's hand and eyes. */

import { createConnection } from 'mysql2/promise';
import { createSamekey } from 'samekey';
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
        const made = await said(['migrate', '--database', named]);
        expect(made).toMatchObject({ code: 0, stderr: '' });
        expect(made.stdout).toContain('Database: MySQL 127.0.0.1:');
        expect(made.stdout).toMatch(/^Migrated: version \d+ \(was none\): tables/m);
        expect(await said(status)).toMatchObject({ code: 0, stderr: '' });
        expect((await said(['migrate', '--print', '--database', named])).stdout).toContain(
          'samekey_identity',
        );
        const store = mysqlStore({ connect: () => createConnection(url) });
        await store.ready();
        await store.close();
      },
      60_000,
    );

    it('shows an unknown outcome, settles it, and says who did', async () => {
      const url = await server.createDatabase();
      const store = mysqlStore({ connect: () => createConnection(url) });
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
      // There is no outbox, so nothing was given up.
      expect((await said(['requeue', '--database', url])).stdout).toContain('No dead letters.');
      await samekey.close();
      await store.close();
    }, 60_000);
  });
}
