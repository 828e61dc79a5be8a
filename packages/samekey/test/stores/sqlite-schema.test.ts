/** What `ready()` and `migrate()` look at: tables, settings, versions, plans, and the ground the file stands on. */

import type Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { checkFileSystem } from '../../src/stores/sqlite/file-system.ts';
import { type SqliteDatabase, sqliteMigrations, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { SCHEMA_VERSION } from '../../src/stores/sqlite/migrations/index.ts';
import * as sql from '../../src/stores/sqlite/statements.ts';
import { claimed, finished, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { availableClients, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';

const SCHEMA = 'ERR_SAMEKEY_SCHEMA';

/** Compiles only while a real client's types fit ours. */
export const fits = (database: Libsql.Database): SqliteDatabase => database;

const local = async (): Promise<{ type: number }> => ({ type: 0xef53 });

function pragma(database: OpenDatabase, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0];
}

function details(database: OpenDatabase, statement: string): string {
  const values = Array.from({ length: statement.split('?').length - 1 }, () => 1);
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(...values) as { detail: string }[];
  return rows.map(({ detail }) => detail).join('; ');
}

describe.each(availableClients())('sqlite with $name, schema and settings', ({ open }) => {
  async function withDatabase(body: (database: OpenDatabase, path: string) => Promise<void>): Promise<void> {
    const file = temporaryFile();
    const database = open(file.path);
    try {
      await body(database, file.path);
    } finally {
      database.close();
      file.remove();
    }
  }

  it('a file without tables is not ready, and is told how to become so', async () => {
    await withDatabase(async (database) => {
      const store = sqliteStore({ service: 'test', database });
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/store\.migrate\(\)/),
      });
      await store.migrate();
      await store.migrate();
      await store.ready();
    });
  });

  it('the SQL that sqliteMigrations() prints makes a file ready', async () => {
    await withDatabase(async (database) => {
      database.exec(sqliteMigrations({ service: 'test' }));
      await sqliteStore({ service: 'test', database }).ready();
    });
  });

  it('commits are flushed to disk: WAL and synchronous = FULL, set and verified', async () => {
    await withDatabase(async (database) => {
      database.exec('PRAGMA synchronous = OFF');
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      await store.ready();
      expect(pragma(database, 'journal_mode')).toBe('wal');
      expect(pragma(database, 'synchronous')).toBe(2);
      database.exec('PRAGMA synchronous = NORMAL');
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/synchronous = FULL/),
      });
      database.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE');
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/journal_mode = WAL/),
      });
    });
  });

  it('a stricter setting of the user stays', async () => {
    await withDatabase(async (database) => {
      database.exec('PRAGMA synchronous = EXTRA; PRAGMA busy_timeout = 1234');
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      await claimed(store);
      expect(pragma(database, 'synchronous')).toBe(3);
      expect(pragma(database, 'busy_timeout')).toBe(1234);
    });
  });

  it('the next schema version is accepted, also with a column this code does not know', async () => {
    await withDatabase(async (database) => {
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      await finished(store, 'completed', { key: 'before' });
      database.exec(`ALTER TABLE samekey_records ADD COLUMN phases TEXT NOT NULL DEFAULT '[]';
        UPDATE samekey_meta SET value = ${SCHEMA_VERSION + 1} WHERE name = 'schema_version'`);
      await store.ready();
      await store.migrate();
      const owner = await claimed(store);
      await store.finish([finishRequest(owner, 'completed')]);
      expect((await recordOf(store)).state).toBe('completed');
    });
  });

  it('a schema that has left this code behind is refused by ready() and by migrate()', async () => {
    await withDatabase(async (database) => {
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      database.exec(
        `UPDATE samekey_meta SET value = ${SCHEMA_VERSION + 1} WHERE name IN ('schema_version', 'min_reader')`,
      );
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/update samekey/),
      });
      await expect(store.migrate()).rejects.toMatchObject({ code: SCHEMA });
    });
  });

  it.each([
    '',
    ', UNIQUE (key)',
    ', UNIQUE (scope COLLATE NOCASE, key COLLATE NOCASE)',
    ', UNIQUE (scope, key, state)',
  ])('a table without the unique index on (scope, key) is refused: "%s"', async (constraint) => {
    await withDatabase(async (database) => {
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      const table = `CREATE TABLE samekey_records (scope TEXT, key TEXT, state TEXT${constraint})`;
      database.exec(`DROP TABLE samekey_records; ${table}`);
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/unique index/),
      });
    });
  });

  it('every statement finds its rows by an index, on an empty table and on a full one', async () => {
    await withDatabase(async (database, path) => {
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      for (const rows of [0, 200]) {
        for (let i = 0; i < rows; i += 1) await finished(store, 'completed', { key: `full-${i}` });
        database.exec('ANALYZE');
        // On a connection of its own: libsql leaves an explained write open.
        const explaining = open(path);
        const plan = (statement: string): string => details(explaining, statement);
        for (const statement of [sql.SELECT_RECORD, sql.UPDATE_RECORD, sql.DELETE_RECORD]) {
          expect(plan(statement)).toMatch(
            /^SEARCH .*sqlite_autoindex_samekey_records_1 \(scope=\? AND key=\?\)$/,
          );
        }
        expect(plan(sql.SELECT_CLAIMS)).toMatch(/^SEARCH .*samekey_open \(state=\? AND rowid>\?\)$/);
        for (const statement of [sql.SELECT_PURGEABLE]) {
          expect(plan(statement)).toMatch(/samekey_purge \(state=\? AND <expr><\?\)/);
        }
        expect(plan(sql.SELECT_NEVER_KNOWN)).toMatch(/samekey_unknown \(locked_until<\?\)/);
        for (const operations of [null, 2]) {
          expect(plan(sql.selectUnknownDue(operations))).toMatch(/samekey_reconcile \(reconcile_after<\?\)/);
        }
        expect(plan(sql.COUNT_OPEN)).toContain('COVERING INDEX samekey_open');
        expect(plan(sql.COUNT_EXPIRING)).toContain('COVERING INDEX samekey_purge');
        explaining.close();
      }
    });
  });

  it('a file on a network file system is refused', async () => {
    await withDatabase(async (database) => {
      const store = sqliteStore({ service: 'test', database, statfs: async () => ({ type: 0x6969 }) });
      await store.migrate();
      await expect(store.ready()).rejects.toMatchObject({
        code: SCHEMA,
        message: expect.stringMatching(/network file system \(NFS\)/),
      });
    });
  });

  it('a database in memory says that it is neither durable nor shared', async () => {
    const database = open(':memory:');
    const store = sqliteStore({ service: 'test', database });
    await store.migrate();
    await store.ready();
    expect(store.capabilities).toMatchObject({ durable: false, shared: false, transactions: true });
    await finished(store, 'completed');
    database.close();
  });
});

describe('the ground of an SQLite file', () => {
  it.each([
    [0x6969, 'NFS'],
    [0x517b, 'SMB'],
    [0xfe534d42, 'SMB'],
    [0xff534d42, 'CIFS'],
    [0xff534d42 - 2 ** 32, 'CIFS'],
    [0x01021997, '9p'],
    [0x00c36400, 'Ceph'],
  ])('type %i is refused as %s', async (type, name) => {
    await expect(checkFileSystem('/data/app.db', async () => ({ type }))).rejects.toThrow(`(${name})`);
  });

  it.each([
    ['ext4', 0xef53],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['overlayfs', 0x794c7630],
    ['FUSE, which may be local', 0x65735546],
  ])('%s is accepted', async (_, type) => {
    await checkFileSystem('/data/app.db', async () => ({ type }));
  });

  it('a UNC path is refused, a local long path is not', async () => {
    await expect(checkFileSystem('\\\\server\\share\\app.db', local)).rejects.toThrow('SMB');
    await checkFileSystem('\\\\?\\C:\\data\\app.db', local);
    await checkFileSystem('C:\\data\\app.db', local);
  });

  it('a file that is not there yet is judged by its folder', async () => {
    const asked: string[] = [];
    const statfs = async (path: string): Promise<{ type: number }> => {
      asked.push(path);
      if (path.endsWith('app.db')) throw new Error('ENOENT');
      return { type: 0x6969 };
    };
    await expect(checkFileSystem('/data/app.db', statfs)).rejects.toThrow('NFS');
    expect(asked).toEqual(['/data/app.db', '/data/']);
  });
});
