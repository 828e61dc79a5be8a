/** Several processes on one SQLite file, racing, migrating and being killed. */

import { describe, expect, it } from 'vitest';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { availableClients, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';
import { startWorker } from './sqlite-workers.ts';

describe.each(availableClients())('sqlite with $name, several processes', ({ name, open }) => {
  async function withFile(
    body: (path: string, database: OpenDatabase, store: SqliteStore) => Promise<void>,
  ): Promise<void> {
    const file = temporaryFile();
    const database = open(file.path);
    try {
      await body(file.path, database, sqliteStore({ service: 'test', database }));
    } finally {
      database.close();
      file.remove();
    }
  }

  it('twenty processes that migrate one fresh file at once all become ready', async () => {
    await withFile(async (path, database, store) => {
      const workers = await Promise.all(Array.from({ length: 20 }, () => startWorker(name, path, 'migrate')));
      for (const worker of workers) worker.go();
      expect(await Promise.all(workers.map((worker) => worker.ended))).toEqual(workers.map(() => 0));
      for (const worker of workers) expect(worker.lines()).toContain('ready');
      await store.ready();
      expect(database.prepare('SELECT count(*) AS n FROM samekey_records').get()).toMatchObject({ n: 0 });
    });
  });

  // F11 at the store's level, and the promise behind every acknowledgement.
  it('processes that race for the same keys and are killed with -9 leave one winner each, and every row they acknowledged', async () => {
    await withFile(async (path, _, store) => {
      await store.migrate();
      const workers = await Promise.all(Array.from({ length: 4 }, () => startWorker(name, path, 'race')));
      for (const worker of workers) worker.go();
      // One that has won dies in the middle; the others go on, then die too.
      const first = await Promise.any(workers.map((worker) => worker.said('finished').then(() => worker)));
      first.process.kill('SIGKILL');
      await first.ended;
      const others = workers.filter((worker) => worker !== first);
      await Promise.any(others.map((worker) => worker.said('finished 200-')));
      for (const worker of workers) worker.process.kill('SIGKILL');
      await Promise.all(workers.map((worker) => worker.ended));

      const winners = new Map<string, number>();
      const acknowledged = new Set<string>();
      for (const worker of workers) {
        for (const line of worker.lines()) {
          const [what, key = ''] = line.split(' ');
          if (what === 'finished') acknowledged.add(key);
          if (what !== 'claimed') continue;
          expect(winners.get(key), `two processes won ${key}`).toBeUndefined();
          winners.set(key, worker.process.pid ?? 0);
        }
      }
      expect(winners.size).toBeGreaterThan(100);
      const ids = [...winners.keys()].map((key) => ({ scope: 'processes', key }));
      for (const [i, record] of (await store.find(ids)).entries()) {
        const key = ids[i]?.key ?? '';
        expect(record?.claimId).toBe(`${winners.get(key)}-${key}`);
        if (acknowledged.has(key))
          expect(new TextDecoder().decode(record?.response?.body ?? undefined)).toBe(key);
      }
    });
  });

  it('a process killed with -9 in the middle of transactions leaves each whole or not at all', async () => {
    await withFile(async (path, database, store) => {
      await store.migrate();
      database.exec('CREATE TABLE business (key TEXT PRIMARY KEY NOT NULL)');
      for (let kill = 0; kill < 3; kill += 1) {
        const worker = await startWorker(name, path, 'transactions');
        worker.go();
        await worker.said('committed');
        const before = worker.lines().length;
        while (worker.lines().length < before + 20 || !worker.lines().at(-1)?.startsWith('inside')) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        worker.process.kill('SIGKILL');
        await worker.ended;
        const rows = database.prepare('SELECT key FROM business').all() as { key: string }[];
        const business = new Set(rows.map(({ key }) => key));
        for (const line of worker.lines()) {
          const [what, key = ''] = line.split(' ');
          const [record] = await store.find([{ scope: 'processes', key }]);
          if (what === 'committed') expect(record?.state).toBe('completed');
          if (what === 'inside') expect(business.has(key)).toBe(record?.state === 'completed');
        }
      }
    });
  });
});
