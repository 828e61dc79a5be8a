/**
 * A primary of MariaDB dies and its replica takes over. What a semi-synchronous replica keeps (AFTER_SYNC), an asynchronous one may lose: the
 * guarantees page says so, and here it is shown. The long run is `node tools/prove.mjs promotions --store mysql`.
 */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { describe, expect, it } from 'vitest';
import type { RecordId } from '../../src/core/record.ts';
import { claimed, finishRequest } from '../../../testing/src/contract/context.ts';
import { promotionRound } from '../processes/api-promotions.ts';
import { anyMariadb } from '../processes/backends/mysql.ts';
import type { MysqlSource } from '../services/mysql.ts';
import { startMysqlPair } from '../services/mysql-pair.ts';
import { seedOf } from './seed.ts';

const source = anyMariadb();
const storeAt = (url: string): ReturnType<typeof mysqlStore> =>
  mysqlStore({ service: 'test', connect: () => createConnection(url), statementTimeMaxMs: 400 });

describe.runIf(source !== undefined)('a replica of MariaDB that takes over', () => {
  // F44
  it('under load, semi-synchronous: nothing acknowledged is lost, nothing runs twice', async () => {
    const { failures, keys } = await promotionRound({ seed: seedOf('promotion'), store: 'mysql' });
    expect(failures).toEqual([]);
    expect(keys).toBeGreaterThan(60);
  });

  it('semi-synchronous, and cut off before: what it does not have was not acknowledged, and the crashed primary shows it', async () => {
    const pair = await startMysqlPair(source as MysqlSource, { synchronous: true });
    const url = await pair.primary.createDatabase();
    const [before, after] = [storeAt(url), storeAt(urlOn(pair.standby.url(), url))];
    try {
      await before.migrate();
      await before.ready();
      const owner = await claimed(before);
      await pair.detach();
      const finish = finishRequest(owner, 'completed');
      // It is in the primary's log, and the answer waits for the replica.
      await expect(before.finish([finish])).rejects.toMatchObject({ applied: 'unknown', transient: true });
      await pair.primary.kill();
      await pair.primary.restart();
      // The limit told on the page of guarantees: what is in the log when a server starts is committed.
      await expect.poll(async () => (await before.finish([finish]).catch(() => []))[0]?.kind).toBe('already');
      await pair.primary.kill();
      await expect(after.finish([finish])).rejects.toThrow(/read-only, probably a replica/);
      await pair.promote();
      // A store that was refused looks again after a moment.
      await expect.poll(() => stateOf(after, owner)).toBe('in_progress');
      await expect.poll(async () => (await after.finish([finish]).catch(() => []))[0]?.kind).toBe('applied');
    } finally {
      await Promise.all([before.close(), after.close()]);
      await pair.stop();
    }
  });

  it('asynchronous, and behind: an acknowledged answer is lost with the primary', async () => {
    const pair = await startMysqlPair(source as MysqlSource, { synchronous: false });
    const url = await pair.primary.createDatabase();
    const [before, after] = [storeAt(url), storeAt(urlOn(pair.standby.url(), url))];
    try {
      await before.migrate();
      const early = await claimed(before, { key: 'early' });
      // It has all this once it can be read there; the store itself does not read a replica.
      const there = await createConnection(urlOn(pair.standby.url(), url));
      await expect
        .poll(
          async () => (await there.query('SELECT state FROM samekey_records').catch(() => []))[0] ?? null,
          { timeout: 5_000 },
        )
        .toEqual([{ state: 'in_progress' }]);
      await there.end();
      await expect(after.find([early])).rejects.toThrow(/read-only, probably a replica/);
      await pair.detach();
      const late = await claimed(before, { key: 'late' });
      for (const owner of [early, late]) {
        expect((await before.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
      }
      await pair.primary.kill();
      await pair.promote();
      await expect.poll(() => stateOf(after, early)).toBe('in_progress');
      expect(await after.find([late])).toEqual([null]);
    } finally {
      await Promise.all([before.close(), after.close()]);
      await pair.stop();
    }
  });
});

async function stateOf(store: ReturnType<typeof mysqlStore>, id: RecordId): Promise<string | undefined> {
  return (await store.find([id]).catch(() => []))[0]?.state;
}

/** The same database on another server. */
function urlOn(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = new URL(database).pathname;
  return url.href;
}
