/**
 * On MySQL and MariaDB a list of the console reads few rows of a table as it is after a month, as the server itself
 * counts them: its plan says what it would do, and with `LIMIT` not how far it goes.
 */

import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { createSamekey, reply, type Samekey } from 'samekey';
import { mysqlStore } from 'samekey/stores/mysql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { availableMysql, type MysqlServer, startMysql } from '../../samekey/test/services/mysql.ts';
import { deadLetters } from './dead-letters-of.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

const RECORDS = 20_000;
/** A list of the newest, or of one caller's, with what is read to sort it. */
const READ_MAX = 4_000;
/** These count everything, are told with their age, and rest twenty times as long as they took. */
const COUNTING = /count\(/i;

for (const source of availableMysql()) {
  describe(`what lists of the console read: ${source.name}`, () => {
    let server: MysqlServer;
    let admin: Connection;
    let samekey: Samekey;
    let served: Served;
    const sent = new Set<string>();

    beforeAll(async () => {
      server = await startMysql(source);
      const url = await server.createDatabase();
      admin = await createConnection(url);
      const store = mysqlStore({
        service: 'shop',
        async connect() {
          const made = await createConnection(url);
          const query = made.query.bind(made) as (asked: { sql: string }) => unknown;
          const noted = (asked: { sql: string }): unknown => {
            sent.add(asked.sql);
            return query(asked);
          };
          return Object.assign(made, { query: noted });
        },
      });
      samekey = createSamekey({ store, policy: 'payments' });
      await store.migrate();
      await samekey.run(
        { scope: ['acme', 'c1'], key: 'pay-1', operation: 'POST /payments', fingerprint: 1 },
        () => reply(500, {}),
      );
      await deadLetters(store, 10);
      // As many of both as a month leaves; the dead letters are the first and the last of the queue.
      await many(
        'samekey_records',
        `scope = CONCAT('acme/c', n % 50, '|POST /payments'), \`key\` = CONCAT('filled-', n)`,
      );
      await many('samekey_messages', `id = CONCAT('filled-', n), state = 'ready'`);
      await deadLetters(store, 10);
      await admin.query('ANALYZE TABLE samekey_records, samekey_messages');
      served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice', rights: ALL } });
    }, 120_000);
    afterAll(async () => {
      await served?.close();
      await samekey?.close();
      await admin?.end();
      await server?.stop();
    });

    /** Copies of the first row there is, each changed so. */
    async function many(table: string, changes: string): Promise<void> {
      const [columns] = await admin.query<RowDataPacket[]>(
        `SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${table}'
           AND EXTRA NOT LIKE '%auto_increment%' AND EXTRA NOT LIKE '%GENERATED%'`,
      );
      const set = new Map(
        changes.split(/, (?=\S+ = )/).map((each) => each.split(/ = (.*)/s) as [string, string]),
      );
      const names = columns.map(({ name }) => `\`${String(name)}\``);
      const values = columns.map(
        ({ name }) => set.get(String(name)) ?? set.get(`\`${String(name)}\``) ?? `t.\`${String(name)}\``,
      );
      const digits =
        '(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)';
      await admin.query(
        `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM (SELECT * FROM ${table} LIMIT 1) AS t
           JOIN (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM ${digits} a, ${digits} b, ${digits} c, ${digits} e, ${digits} f) AS s
           ON s.n < ${RECORDS}`,
      );
    }
    /** The rows that the server reads for it. */
    async function readBy(sql: string): Promise<number> {
      await admin.query('FLUSH STATUS');
      await admin.query(sql);
      const [rows] = await admin.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler_read%'");
      return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
    }

    it.each([
      ['overview', {}],
      ['records', {}],
      ['records', { states: ['unknown'] }],
      ['records', { caller: 'acme/c7' }],
      ['records', { caller: 'acme/c7', key: 'filled-7' }],
      ['records', { reference: 'pi_of_nobody' }],
      ['record', { scope: 'acme/c1|POST /payments', key: 'pay-1' }],
      ['audit', {}],
      ['letters', {}],
      ['letters', { topic: 'mail', after: 2 }],
      ['preview-requeue', { ids: ['letter-0001'] }],
    ])('%s %o reads few rows', async (verb, body) => {
      sent.clear();
      expect((await served.ask(verb, body)).status).toBe(200);
      const lists = [...sent].filter(
        (sql) => sql.startsWith('SELECT') && sql.includes('samekey_') && !COUNTING.test(sql),
      );
      expect(lists.length).toBeGreaterThan(0);
      for (const sql of lists) expect(await readBy(sql), sql).toBeLessThanOrEqual(READ_MAX);
    });
  });
}
