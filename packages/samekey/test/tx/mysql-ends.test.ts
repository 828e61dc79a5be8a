/** What ends a handler's transaction before Samekey does: statements that are refused before they are sent, and deadlocks that it catches. */

import { createConnection, createPool, type PoolConnection } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/samekey.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { fromMysql2 } from '../../src/tx/mysql2/index.ts';
import { availableMysql, startMysql } from '../services/mysql.ts';

const ENDS = [
  'CREATE TABLE x (i INT)',
  ' /* why */ drop table orders',
  '-- why\nTRUNCATE orders',
  'COMMIT',
  'rollback',
  'START TRANSACTION',
  'SET autocommit = 1',
  'alter table orders add b int',
];
const STAYS = [
  'CREATE TEMPORARY TABLE x (i INT)',
  'SAVEPOINT a',
  'ROLLBACK TO SAVEPOINT a',
  "INSERT INTO orders VALUES ('commit')",
];

for (const source of availableMysql().slice(0, 1)) {
  describe(source.name, () => {
    it('a statement that ends the transaction is refused, the rest is not', { timeout: 60_000 }, async () => {
      const server = await startMysql(source);
      const url = await server.createDatabase();
      const pool = createPool({ uri: url, connectionLimit: 2 });
      await pool.query('CREATE TABLE orders (id VARCHAR(64) PRIMARY KEY)');
      const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
      await store.migrate();
      const samekey = createSamekey({ store, transactions: fromMysql2<PoolConnection>(pool) });
      const order = samekey.transactional({
        name: 'order',
        async run(text: string, attempt) {
          await attempt.tx.query("INSERT INTO orders VALUES ('before')");
          await attempt.tx.query({ sql: text });
          for (const each of STAYS) await attempt.tx.query(each);
          return attempt.number;
        },
      });
      for (const [i, input] of ENDS.entries()) {
        await expect(order.run({ scope: ['t'], key: `k-${i}`, input })).rejects.toThrow(
          /would end the transaction/,
        );
        expect((await pool.query('SELECT * FROM orders'))[0]).toEqual([]);
      }
      expect((await order.run({ scope: ['t'], key: 'good', input: 'SELECT 1' })).kind).toBe('executed');
      expect((await pool.query('SELECT COUNT(*) AS n FROM orders'))[0]).toEqual([{ n: 2 }]);
      await samekey.close();
      await store.close();
      await pool.end();
      await server.stop();
    });

    // The server has rolled back all of it, and every further statement would commit by itself.
    it('after a deadlock that the handler catches nothing is sent any more, and the handler runs again', async () => {
      const server = await startMysql(source);
      const url = await server.createDatabase();
      const pool = createPool({ uri: url, connectionLimit: 2 });
      await pool.query('CREATE TABLE orders (id VARCHAR(64) PRIMARY KEY, amount INT)');
      await pool.query("INSERT INTO orders VALUES ('x', 0), ('y', 0)");
      const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
      await store.migrate();
      const samekey = createSamekey({ store, transactions: fromMysql2<PoolConnection>(pool) });
      const other = await createConnection(url);
      const told: unknown[] = [];
      let runs = 0;
      const order = samekey.transactional({
        name: 'order',
        async run(_input: null, { tx, number }) {
          runs += 1;
          await tx.query("INSERT INTO orders VALUES ('before', 1)");
          if (runs > 1) return number;
          await other.query('START TRANSACTION');
          // The one that has written less is the victim.
          const rows = Array.from({ length: 100 }, (_, i) => `('other-${i}', 0)`);
          await other.query(`INSERT INTO orders VALUES ${rows.join(', ')}`);
          await other.query("UPDATE orders SET amount = 1 WHERE id = 'y'");
          await tx.query("UPDATE orders SET amount = 2 WHERE id = 'x'");
          const waiting = other.query("UPDATE orders SET amount = 1 WHERE id = 'x'");
          await tx
            .query("UPDATE orders SET amount = 2 WHERE id = 'y'")
            .catch((error: unknown) => told.push(error));
          await waiting;
          await other.query('ROLLBACK');
          await tx
            .query("INSERT INTO orders VALUES ('after', 1)")
            .catch((error: unknown) => told.push(error));
          return number;
        },
      });
      const request = { scope: ['t'], key: 'k', input: null };
      expect(await order.run(request)).toMatchObject({ kind: 'executed', value: 1 });
      expect(told).toMatchObject([{ errno: 1213 }, { errno: 1213 }]);
      expect(runs).toBe(2);
      expect((await pool.query('SELECT id FROM orders'))[0]).toEqual([
        { id: 'before' },
        { id: 'x' },
        { id: 'y' },
      ]);
      await samekey.close();
      await store.close();
      await other.end();
      await pool.end();
      await server.stop();
    });
  });
}
