/**
 * A process at work on an SQLite file, for tests that race and kill it: `sqlite-worker.js <client> <file> <task>`. Each line
 * it prints is an acknowledgement, written before the next step; it begins on a line of input.
 */

import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';

const [, , client = '', path = '', task = ''] = process.argv;
const require = createRequire(import.meta.url);

type Constructor = new (path: string) => SqliteDatabase;

function open(): SqliteDatabase {
  if (client === 'node:sqlite') {
    const { DatabaseSync } = require('node:sqlite') as { DatabaseSync: Constructor };
    return new DatabaseSync(path);
  }
  // An optional client lies elsewhere; the test passes the path it was found at.
  const Client = require(process.env['SAMEKEY_TEST_CLIENT_PATH'] ?? client) as Constructor;
  return new Client(path);
}

/** Straight to the pipe: what was said before a kill -9 has been said. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

function claimOf(key: string) {
  return {
    scope: 'race',
    key,
    operation: 'POST /payments',
    claimId: `${process.pid}-${key}`,
    claimTtlMs: 3_600_000,
    fingerprint: { label: 'v1', digest: 'd' },
    whenClaimEnds: 'unknown',
    retentionMs: 3_600_000,
    replayMinMs: 3_600_000,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: 1,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: 0,
  } as const;
}

function finishOf(key: string) {
  return {
    scope: 'race',
    key,
    claimId: `${process.pid}-${key}`,
    attempt: 1,
    to: 'completed',
    proof: null,
    reason: null,
    response: { status: 201, headers: [], body: new TextEncoder().encode(key) },
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: 0,
    handedOver: false,
  } as const;
}

const database = open();
const store = sqliteStore({ database, busyTimeMaxMs: 30_000 });
say('up');
await new Promise((resolve) => process.stdin.once('data', resolve));

switch (task) {
  case 'migrate':
    await store.migrate();
    await store.ready();
    say('ready');
    process.exit(0);
    break;
  case 'race':
    for (let round = 0; ; round += 1) {
      const keys = Array.from({ length: 5 }, (_, i) => `${round}-${i}`);
      const results = await store.claim(keys.map(claimOf));
      const won = keys.filter((_, i) => results[i]?.kind === 'claimed');
      for (const key of won) say(`claimed ${key}`);
      if (won.length > 0) await store.finish(won.map(finishOf));
      for (const key of won) say(`finished ${key}`);
    }
  case 'transactions':
    for (let round = 0; ; round += 1) {
      const key = `${process.pid}-${round}`;
      await store.claim([claimOf(key)]);
      await store.transaction(async (tx) => {
        tx.database.prepare('INSERT INTO business (key) VALUES (?)').run(key);
        store.within(tx).finish(finishOf(key));
        say(`inside ${key}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      });
      say(`committed ${key}`);
    }
  default:
    throw new Error(`unknown task ${task}`);
}
