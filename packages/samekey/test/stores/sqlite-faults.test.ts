/** Options, values and faults: what is refused, and what is said about whether it was applied. */

import { describe, expect, it } from 'vitest';
import { createClaimWatch } from '../../src/stores/sqlite/clock.ts';
import { type SqliteDatabase, type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { commitApplied, isBusy, resultCode } from '../../src/stores/sqlite/client.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  ID,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { availableClients, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';

describe.each(availableClients())('sqlite with $name, faults', ({ name, open }) => {
  async function withStore(
    body: (store: SqliteStore, database: OpenDatabase) => Promise<void>,
    wrap: (database: OpenDatabase) => SqliteDatabase = (database) => database,
  ): Promise<void> {
    const file = temporaryFile();
    const database = open(file.path);
    const store = sqliteStore({ service: 'test', database: wrap(database) });
    try {
      await store.migrate();
      await body(store, database);
    } finally {
      database.close();
      file.remove();
    }
  }

  /** For what one client alone does; the others have no such test, rather than a skipped one. */
  const only = (client: string): typeof it | (() => void) => (name === client ? it : () => undefined);

  it('a full database refuses with applied "no", and works again once there is room', async () => {
    await withStore(async (store, database) => {
      const owner = await claimed(store);
      database.exec('PRAGMA max_page_count = 20');
      const big = finishRequest(owner, 'completed', {
        response: { ...ANSWER, body: new Uint8Array(1 << 20) },
      });
      await expect(store.finish([big])).rejects.toMatchObject({
        applied: 'no',
        transient: true,
        message: expect.stringMatching(/disk is full/),
      });
      expect((await recordOf(store)).state).toBe('in_progress');
      database.exec('PRAGMA max_page_count = 1000000');
      expect((await store.finish([big]))[0]?.kind).toBe('applied');
    });
  });

  it('a read-only database refuses writes with applied "no", and still answers reads', async () => {
    await withStore(async (store, database) => {
      await finished(store, 'completed');
      database.exec('PRAGMA query_only = ON');
      const claim = store.claim([claimRequest({ key: 'new' })]);
      await expect(claim).rejects.toMatchObject({
        applied: 'no',
        transient: true,
        message: expect.stringMatching(/read-only/),
      });
      expect((await recordOf(store)).state).toBe('completed');
    });
  });

  only('libsql')('a statement that the client left open is named as what blocks the commit', async () => {
    await withStore(async (store, database) => {
      const left = database.prepare(`INSERT INTO samekey_meta (name, value) VALUES ('x', 1) RETURNING value`);
      left.run();
      const claim = store.claim([claimRequest()]);
      await expect(claim).rejects.toMatchObject({
        applied: 'no',
        transient: true,
        message: expect.stringMatching(/still open/),
      });
      expect(left).toBeDefined();
    });
  });

  it('a file that was never migrated refuses with the remedy', async () => {
    await withStore(async (store, database) => {
      database.exec('DROP TABLE samekey_records');
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({
        code: 'ERR_SAMEKEY_STORE',
        applied: 'no',
        message: expect.stringMatching(/store\.migrate\(\)/),
      });
    });
  });

  // F15: the COMMIT took effect, its answer did not arrive.
  it('a COMMIT that failed on the disk is unknown, and repeating the same call tells', async () => {
    let failing = false;
    const wrap = (database: OpenDatabase): SqliteDatabase => ({
      exec: (text) => database.exec(text),
      prepare(text) {
        const statement = database.prepare(text);
        if (text !== 'COMMIT') return statement;
        return {
          all: (...values) => statement.all(...values),
          get: (...values) => statement.get(...values),
          run(...values) {
            const result = statement.run(...values);
            if (failing) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
            return result;
          },
        };
      },
    });
    await withStore(async (store) => {
      const request = claimRequest();
      failing = true;
      await expect(store.claim([request])).rejects.toMatchObject({ applied: 'unknown', transient: true });
      failing = false;
      expect((await store.claim([request]))[0]).toMatchObject({ kind: 'claimed', attempt: 1 });
    }, wrap);
  });

  it('one value that SQL cannot keep fails its call without effect, and says that repeating is useless', async () => {
    await withStore(async (store) => {
      for (const key of ['nul\u0000byte', 'half\ud83d', '\ude00half']) {
        const fault = { code: 'ERR_SAMEKEY_STORE', applied: 'no', transient: false };
        await expect(store.claim([claimRequest(), claimRequest({ key })])).rejects.toMatchObject(fault);
        await expect(store.find([{ ...ID, key }])).rejects.toMatchObject(fault);
        const operation = store.claim([claimRequest(), claimRequest({ key: 'k', operation: key })]);
        await expect(operation).rejects.toMatchObject(fault);
      }
      expect(await store.find([ID])).toEqual([null]);
      const owner = await claimed(store);
      await store.finish([finishRequest(owner, 'unknown', { reason: 'cut\u0000off \ud83d' })]);
      expect((await recordOf(store)).reason).toBe('cut\ufffdoff \ufffd');
    });
  });

  it('whatever shape of rows the user has set on the client, ours are read right', async () => {
    await withStore(async (store, database) => {
      (database as { defaultSafeIntegers?(on: boolean): void }).defaultSafeIntegers?.(true);
      const owner = await finished(store, 'completed');
      expect((await recordOf(store, owner)).response).toEqual(ANSWER);
      expect((await store.count()).completed).toBe(1);
      await store.ready();
    });
  });

  only('node:sqlite')('clients that return arrays and bigints are read right too', async () => {
    const Client = process.getBuiltinModule('node:sqlite') as unknown as {
      DatabaseSync: new (path: string, options: object) => OpenDatabase;
    };
    const database = new Client.DatabaseSync(':memory:', { readBigInts: true, returnArrays: true });
    const store = sqliteStore({ service: 'test', database });
    await store.migrate();
    await store.ready();
    await finished(store, 'completed');
    expect((await recordOf(store)).response).toEqual(ANSWER);
    database.close();
  });

  it('unknown and wrong options are refused by name', () => {
    const database = open(':memory:');
    const make =
      (options: object): (() => unknown) =>
      () =>
        sqliteStore({ service: 'test', database, ...options });
    expect(make({ busyTimeMs: 1 })).toThrow(/no option "busyTimeMs"/);
    expect(make({ busyTimeMaxMs: -1 })).toThrow(/busyTimeMaxMs must be/);
    expect(make({ busyTimeMaxMs: 1.5 })).toThrow(/busyTimeMaxMs must be/);
    expect(make({ now: 5 })).toThrow(/now is a function/);
    expect(make({ database: {} })).toThrow(/database must be an open client/);
    expect(make({ database: null })).toThrow(/it is null/);
    database.close();
  });
});

describe('result codes', () => {
  it('are read from each client’s errors, extended ones too', () => {
    expect(resultCode({ code: 'ERR_SQLITE_ERROR', errcode: 261 })).toBe(5);
    expect(resultCode({ code: 'UNKNOWN_SQLITE_ERROR_3091', rawCode: 3091 })).toBe(19);
    expect(resultCode({ code: 'SQLITE_IOERR_FSYNC' })).toBe(10);
    expect(resultCode(new TypeError('not open'))).toBeUndefined();
    expect(isBusy({ code: 'SQLITE_BUSY_RECOVERY' })).toBe(true);
    expect(isBusy(new Error('This database connection is busy executing a query'))).toBe(true);
    expect(isBusy({ code: 'SQLITE_FULL' })).toBe(false);
  });

  it('of a failed COMMIT prove that nothing was applied only for BUSY and FULL', () => {
    expect(commitApplied({ code: 'SQLITE_BUSY' })).toBe('no');
    expect(commitApplied({ code: 'SQLITE_FULL' })).toBe('no');
    for (const code of ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_WRITE', 'SQLITE_CORRUPT', undefined]) {
      expect(commitApplied({ code })).toBe('unknown');
    }
  });
});

const watched = (key: string) => ({
  ...ID,
  key,
  claimId: 'c',
  attempt: 1,
  createdAt: 0,
  renewals: 0,
  claimTtlMs: 100,
});

it('the watch forgets the oldest claim past its bound: that one ends later, never earlier', () => {
  let now = 0;
  const watch = createClaimWatch(() => now, 2);
  for (const key of ['a', 'b', 'c']) watch.restart(watched(key));
  now = 100;
  expect(watch.see(watched('c'))).toBe(0);
  expect(watch.see(watched('b'))).toBe(0);
  expect(watch.see(watched('a'))).toBe(100);
});
