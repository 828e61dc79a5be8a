/**
 * A primary dies and its standby takes over. What a synchronous standby keeps, an asynchronous one may lose: the guarantees page says
 * so, and here it is shown. The long run is `node tools/prove.mjs promotions`.
 */

import { Client } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { describe, expect, it } from 'vitest';
import { claimed, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { promotionRound } from '../processes/api-promotions.ts';
import { anyPostgres, type PostgresSource } from '../services/postgres.ts';
import { startPair } from '../services/postgres-pair.ts';
import { seedOf } from './seed.ts';

const source = anyPostgres();
const storeAt = (url: string): ReturnType<typeof postgresStore> =>
  postgresStore({
    service: 'test',
    connect: () => new Client({ connectionString: url }),
    statementTimeMaxMs: 400,
  });

describe.runIf(source !== undefined)('a standby that takes over', () => {
  // F44
  it('under load, synchronous: nothing acknowledged is lost, nothing runs twice', async () => {
    const { failures, keys } = await promotionRound({ seed: seedOf('promotion') });
    expect(failures).toEqual([]);
    expect(keys).toBeGreaterThan(60);
  });

  it('synchronous, and cut off before: what it does not have was not acknowledged', async () => {
    const pair = await startPair(source as PostgresSource, { synchronous: true });
    const url = await pair.primary.createDatabase();
    const [before, after] = [storeAt(url), storeAt(urlOn(pair.standby.url(), url))];
    try {
      await before.migrate();
      const owner = await claimed(before);
      await pair.detach();
      const finish = finishRequest(owner, 'completed');
      // It is written on the primary, and the answer waits for the standby; a cancel would not hasten it.
      await expect(before.finish([finish])).rejects.toMatchObject({ applied: 'unknown', transient: true });
      await pair.primary.kill();
      await pair.promote();
      expect((await recordOf(after, owner)).state).toBe('in_progress');
      expect((await after.finish([finish]))[0]?.kind).toBe('applied');
    } finally {
      await Promise.all([before.close(), after.close()]);
      await pair.stop();
    }
  });

  it('synchronous, and away while the primary crashes and comes back alone: that shows what nobody confirmed', async () => {
    const pair = await startPair(source as PostgresSource, { synchronous: true });
    const url = await pair.primary.createDatabase();
    const [before, after] = [storeAt(url), storeAt(urlOn(pair.standby.url(), url))];
    try {
      await before.migrate();
      const owner = await claimed(before);
      const finish = finishRequest(owner, 'completed');
      await pair.detach();
      await expect(before.finish([finish])).rejects.toMatchObject({ applied: 'unknown' });
      await pair.primary.kill();
      await pair.primary.restart();
      // PostgreSQL's own limit, told on the page of guarantees: a reading waits for no standby.
      await expect.poll(async () => (await before.finish([finish]).catch(() => []))[0]?.kind).toBe('already');
      await pair.primary.kill();
      await pair.promote();
      expect((await recordOf(after, owner)).state).toBe('in_progress');
    } finally {
      await Promise.all([before.close(), after.close()]);
      await pair.stop();
    }
  });

  it('asynchronous, and behind: an acknowledged answer is lost with the primary', async () => {
    const pair = await startPair(source as PostgresSource, { synchronous: false });
    const url = await pair.primary.createDatabase();
    const [before, after] = [storeAt(url), storeAt(urlOn(pair.standby.url(), url))];
    try {
      await before.migrate();
      const early = await claimed(before, { key: 'early' });
      // It has all this once it can be read there.
      await expect
        .poll(async () => (await after.find([early]).catch(() => []))[0]?.state)
        .toBe('in_progress');
      await pair.detach();
      const late = await claimed(before, { key: 'late' });
      for (const owner of [early, late]) {
        expect((await before.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
      }
      await pair.primary.kill();
      await pair.promote();
      expect((await after.find([early, late])).map((record) => record?.state ?? null)).toEqual([
        'in_progress',
        null,
      ]);
    } finally {
      await Promise.all([before.close(), after.close()]);
      await pair.stop();
    }
  });
});

/** The same database on another server. */
function urlOn(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = new URL(database).pathname;
  return url.href;
}
