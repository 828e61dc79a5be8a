/**
 * A process at work on an SQLite file, for tests that race and kill it: `sqlite-worker.js <client> <file> <task>`. Each line
 * it prints is an acknowledgement, written before the next step; it begins on a line of input.
 */

import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';
import { claimOf, finishOf } from './requests.ts';

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

/** Several processes race for the same keys. */
const mine = (key: string): string => `${process.pid}-${key}`;
const claimOfMine = (key: string) => ({ ...claimOf(key, mine(key)), claimTtlMs: 3_600_000 });
const finishOfMine = (key: string) => finishOf(key, mine(key));

const database = open();
const store = sqliteStore({ service: 'test', database, busyTimeMaxMs: 30_000 });
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
      const results = await store.claim(keys.map(claimOfMine));
      const won = keys.filter((_, i) => results[i]?.kind === 'claimed');
      for (const key of won) say(`claimed ${key}`);
      if (won.length > 0) await store.finish(won.map(finishOfMine));
      for (const key of won) say(`finished ${key}`);
    }
  case 'transactions':
    for (let round = 0; ; round += 1) {
      const key = `${process.pid}-${round}`;
      await store.claim([claimOfMine(key)]);
      await store.transaction(async (tx) => {
        tx.database.prepare('INSERT INTO business (key) VALUES (?)').run(key);
        store.within(tx).finish(finishOfMine(key));
        say(`inside ${key}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      });
      say(`committed ${key}`);
    }
  default:
    throw new Error(`unknown task ${task}`);
}
