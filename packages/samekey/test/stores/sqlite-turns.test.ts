/** Whose turn it is on a file: our flushes, user transactions, other connections, other processes. */

import { describe, expect, it } from 'vitest';
import { type SqliteStore, sqliteStore, type SqliteTransaction } from '../../src/stores/sqlite/index.ts';
import { claimed, claimRequest, finishRequest, ID, recordOf } from '../../../testing/src/contract/context.ts';
import { availableClients, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';

const REFUSED = { code: 'ERR_SAMEKEY_STORE', applied: 'no', transient: false };
const BUSY = { code: 'ERR_SAMEKEY_STORE', applied: 'no', transient: true };

/** As node:sqlite before Node 22.16: it cannot say whether a transaction is open. */
const mute = availableClients()
  .slice(0, 1)
  .map(({ name, open }) => ({
    name: `${name}, without a flag for transactions`,
    open: (path: string): OpenDatabase => {
      const database = open(path);
      return {
        prepare: (text) => database.prepare(text),
        exec: (text) => database.exec(text),
        close: () => database.close(),
      };
    },
  }));

describe.each([...availableClients(), ...mute])('sqlite with $name, turns', ({ open }) => {
  interface Scene {
    readonly database: OpenDatabase;
    readonly store: SqliteStore;
    /** Another connection to the same file. */
    readonly other: OpenDatabase;
  }

  async function scene(body: (scene: Scene) => Promise<void>, busyTimeMaxMs = 2000): Promise<void> {
    const file = temporaryFile();
    const [database, other] = [open(file.path), open(file.path)];
    const store = sqliteStore({ service: 'test', database, busyTimeMaxMs });
    try {
      await store.migrate();
      database.exec('CREATE TABLE business (id INTEGER PRIMARY KEY, note TEXT)');
      await body({ database, store, other });
    } finally {
      database.close();
      other.close();
      file.remove();
    }
  }

  const notes = ({ database }: Scene): unknown[] =>
    (database.prepare('SELECT note FROM business ORDER BY id').all() as { note: string }[]).map(
      ({ note }) => note,
    );

  it('a user transaction commits its own rows and the finish together', async () => {
    await scene(async (s) => {
      const owner = await claimed(s.store);
      await s.store.transaction((tx) => {
        tx.database.prepare('INSERT INTO business (note) VALUES (?)').run('paid');
        expect(s.store.within(tx).finish(finishRequest(owner, 'completed')).kind).toBe('applied');
      });
      expect(notes(s)).toEqual(['paid']);
      expect((await recordOf(s.store)).state).toBe('completed');
    });
  });

  it('a user transaction that throws takes its own rows back, and the file is free again', async () => {
    await scene(async (s) => {
      const failing = s.store.transaction(async (tx) => {
        tx.database.exec(`INSERT INTO business (note) VALUES ('never')`);
        throw new Error('no stock');
      });
      await expect(failing).rejects.toThrow('no stock');
      expect(notes(s)).toEqual([]);
      await claimed(s.store);
    });
  });

  // F64, with transactions that the store did not open: Samekey and the application share the connection.
  it.each(['COMMIT', 'ROLLBACK'])(
    'a claim made while the user holds a transaction waits for %s and survives it',
    async (end) => {
      await scene(async (s) => {
        s.database.exec(`BEGIN; INSERT INTO business (note) VALUES ('theirs')`);
        const claim = s.store.claim([claimRequest()]);
        const find = s.store.find([ID]);
        await new Promise((resolve) => setTimeout(resolve, 30));
        s.database.exec(end);
        expect((await claim)[0]?.kind).toBe('claimed');
        await find;
        expect((await recordOf(s.store)).state).toBe('in_progress');
        expect(notes(s)).toEqual(end === 'COMMIT' ? ['theirs'] : []);
      });
    },
  );

  it('a call that would fall into a user’s transaction fails at the bound, without effect', async () => {
    await scene(async (s) => {
      s.database.exec('BEGIN');
      await expect(s.store.claim([claimRequest()])).rejects.toMatchObject(BUSY);
      await expect(s.store.find([ID])).rejects.toMatchObject(BUSY);
      await expect(s.store.transaction(() => undefined)).rejects.toMatchObject(BUSY);
      s.database.exec('COMMIT');
      expect(await s.store.find([ID])).toEqual([null]);
    }, 30);
  });

  it('a store call inside transaction() on the same file is refused at once, whatever the connection', async () => {
    await scene(async (s) => {
      const second = sqliteStore({ service: 'test', database: s.other });
      await s.store.transaction(async () => {
        for (const store of [s.store, second]) {
          await expect(store.claim([claimRequest()])).rejects.toMatchObject(REFUSED);
          await expect(store.find([ID])).rejects.toMatchObject(REFUSED);
          await expect(store.transaction(() => undefined)).rejects.toMatchObject(REFUSED);
        }
      });
      expect(await s.store.find([ID])).toEqual([null]);
    });
  });

  it('a call that a transaction started and did not await is made after it', async () => {
    await scene(async (s) => {
      let later: Promise<unknown> = Promise.resolve();
      await s.store.transaction(() => {
        later = new Promise((resolve) => setTimeout(resolve, 20)).then(() => claimed(s.store));
      });
      await later;
    });
  });

  it('within() takes no transaction that has ended or that another store opened', async () => {
    await scene(async (s) => {
      const owner = await claimed(s.store);
      let kept: SqliteTransaction | undefined;
      let within: ReturnType<SqliteStore['within']> | undefined;
      await s.store.transaction((tx) => {
        kept = tx;
        within = s.store.within(tx);
        expect(() => sqliteStore({ service: 'test', database: s.other }).within(tx)).toThrow(/another store/);
      });
      expect(() => s.store.within(kept as SqliteTransaction)).toThrow(/has ended/);
      expect(() => within?.finish(finishRequest(owner, 'completed'))).toThrow(/has ended/);
      expect((await recordOf(s.store)).state).toBe('in_progress');
    });
  });

  it('a function that ends the transaction itself is told that nobody knows what was applied', async () => {
    await scene(async (s) => {
      const ended = s.store.transaction((tx) => void tx.database.exec('COMMIT'));
      await expect(ended).rejects.toMatchObject({ applied: 'unknown' });
    });
  });

  it('two stores on two connections to one file take turns with transactions and claims', async () => {
    await scene(async (s) => {
      const second = sqliteStore({ service: 'test', database: s.other, busyTimeMaxMs: 2000 });
      const order: string[] = [];
      let first: Promise<unknown> = Promise.resolve();
      await new Promise<void>((began) => {
        first = s.store.transaction(async () => {
          began();
          await new Promise((resolve) => setTimeout(resolve, 20));
          order.push('first');
        });
      });
      const next = second.transaction(() => void order.push('next'));
      const claim = second.claim([claimRequest()]).then(() => order.push('claim'));
      await Promise.all([first, next, claim]);
      // The claim goes before the transaction that stood in line first: renewals must not queue behind users.
      expect(order).toEqual(['first', 'claim', 'next']);
    });
  });

  it('waiting for another connection’s lock is bounded and leaves the event loop free', async () => {
    await scene(async (s) => {
      s.database.exec('PRAGMA busy_timeout = 5000');
      s.other.exec('BEGIN IMMEDIATE');
      let hasTicked = false;
      setTimeout(() => (hasTicked = true), 1);
      await expect(s.store.claim([claimRequest()])).rejects.toMatchObject(BUSY);
      // A wait inside the client would not have let it pass.
      expect(hasTicked).toBe(true);
      // The user's own setting is as it was.
      expect(Object.values(s.database.prepare('PRAGMA busy_timeout').get() as object)[0]).toBe(5000);
      const claim = s.store.claim([claimRequest()]);
      // Once it has met the lock.
      setImmediate(() => void s.other.exec('ROLLBACK'));
      expect((await claim)[0]?.kind).toBe('claimed');
    }, 150);
  });
});
