/** One SQLite file, and a process whose clock is 25 hours ahead: through a whole instance, for messages, and in the file itself (F71). */

import { createSamekey } from 'samekey';
import { afterEach, describe, expect, it } from 'vitest';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { availableClients, MEMORY_DISK, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';

const START = Date.UTC(2030, 0);
const HOUR_MS = 3_600_000;
const AHEAD_MS = 25 * HOUR_MS;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

function message(id: string, delayMs: number) {
  return { id, topic: 'mail', group: null, payload: '{}', headers: null, delayMs, owner: null };
}

/** Takes what is due of the messages, and no lease that is over. */
async function take(store: SqliteStore, leaseId: string): Promise<readonly string[]> {
  const request = { topics: ['mail'], limit: 10, leaseMs: 10_000, suspectsMax: 0, deliveriesMax: 9 };
  return (await store.messages.take({ ...request, leaseId })).taken.map(({ id }) => id);
}

async function fileOf(open: (path: string) => OpenDatabase) {
  const place = temporaryFile(MEMORY_DISK);
  const { path } = place;
  cleanups.push(() => place.remove());
  let elapsedMs = 0;
  const client = (): OpenDatabase => {
    const database = open(path);
    cleanups.push(() => database.close());
    return database;
  };
  const reader = client();
  return {
    advance: (ms: number) => {
      elapsedMs += ms;
    },
    lastNow: () =>
      (
        reader.prepare(`SELECT value FROM samekey_meta WHERE name = 'last_now'`).get() as {
          value: number;
        }
      ).value,
    async process(offMs = 0): Promise<SqliteStore> {
      const store = sqliteStore({
        service: 'test',
        database: client(),
        now: () => START + elapsedMs + offMs,
        monotonicNow: () => elapsedMs,
      });
      await store.migrate();
      await store.ready();
      return store;
    },
  };
}

/** One key through a whole instance; whether its handler ran. */
async function pay(store: SqliteStore, key: string, told: string[] = []): Promise<boolean> {
  let ran = false;
  const samekey = createSamekey({
    store,
    policy: 'payments',
    onEvent: (event) => void (event.type === 'misuse' && told.push(event.code)),
  });
  const outcome = await samekey.run(
    { operation: 'pay', scope: ['a'], key, fingerprint: { x: 1 } },
    async () => {
      ran = true;
      return { ok: true };
    },
  );
  expect(outcome.kind).toBe(ran ? 'executed' : 'replay');
  await samekey.close({ drainMs: 0 });
  return ran;
}

for (const { name, open } of availableClients()) {
  describe(`a clock that is ahead, with ${name}`, () => {
    // F71
    it('does not make finished keys run again: not in its process, not in others, not later', async () => {
      const shared = await fileOf(open);
      const right = await shared.process();
      expect(await pay(right, 'k1')).toBe(true);
      const told: string[] = [];
      const ahead = await shared.process(AHEAD_MS);
      expect(await pay(ahead, 'k1', told)).toBe(false);
      expect(await pay(ahead, 'k2', told)).toBe(true);
      await ahead.close();
      expect(told).toEqual(['clock-off', 'clock-off']);
      shared.advance(30_000);
      const quiet: string[] = [];
      expect(await pay(right, 'k1', quiet)).toBe(false);
      expect(await pay(await shared.process(), 'k1', quiet)).toBe(false);
      expect(await pay(await shared.process(), 'k2', quiet)).toBe(false);
      expect(quiet).toEqual([]);
    });

    // F71
    it('does not move the time of the file when it opens it and leaves', async () => {
      const shared = await fileOf(open);
      await shared.process();
      const before = shared.lastNow();
      const ahead = await shared.process(AHEAD_MS);
      await pay(ahead, 'k');
      shared.advance(59_000);
      await pay(ahead, 'k2');
      await ahead.close();
      expect(shared.lastNow() - before).toBe(59_000);
    });

    it('keeps the time of the file moving, once a minute, when nothing else is written', async () => {
      const shared = await fileOf(open);
      const store = await shared.process();
      const before = shared.lastNow();
      for (const [ms, moved] of [
        [59_999, 0],
        [1, 60_000],
        [30_000, 60_000],
        [30_000, 120_000],
      ] as const) {
        shared.advance(ms);
        await store.sweep(10);
        expect(shared.lastNow() - before).toBe(moved);
      }
    });

    // F71
    it('neither delivers messages before their time nor holds them back', async () => {
      const shared = await fileOf(open);
      const right = await shared.process();
      const ahead = await shared.process(AHEAD_MS);
      await right.messages.enqueue([message('later', HOUR_MS)]);
      await ahead.messages.enqueue([message('now', 0), message('soon', 60_000)]);
      expect(await take(ahead, 'a')).toEqual(['now']);
      shared.advance(60_000);
      expect(await take(right, 'b')).toEqual(['soon']);
      shared.advance(HOUR_MS);
      expect(await take(right, 'c')).toEqual(['later']);
    });
  });
}
