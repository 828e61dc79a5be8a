/** A limiter that several processes share: PostgreSQL counts for all of them. */

import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { Pool } from 'pg';
import { createSamekey } from 'samekey';
import { createLimits } from 'samekey/guard';
import { postgresStore } from 'samekey/stores/postgres';
import { describe, expect, it } from 'vitest';
import { anyPostgres, startPostgres } from '../services/postgres.ts';

const source = anyPostgres();

function sharedLimiter(pool: Pool, points: number): Promise<RateLimiterPostgres> {
  return new Promise((resolve, reject) => {
    const limiter = new RateLimiterPostgres(
      { storeClient: pool, points, duration: 3_600, tableName: 'limits', clearExpiredByTimeout: false },
      (error) => (error === undefined ? resolve(limiter) : reject(error)),
    );
  });
}

describe.skipIf(source === undefined)('a limiter in PostgreSQL', () => {
  it('lets in as many new keys in all as it says, over four instances, and every known key', async () => {
    if (source === undefined) return;
    const server = await startPostgres(source);
    const url = await server.createDatabase();
    const pools: Pool[] = [];
    const instance = async () => {
      const pool = new Pool({ connectionString: url, max: 4 });
      pools.push(pool);
      const store = postgresStore({ service: 'test', pool });
      await store.migrate();
      const limits = createLimits({ newKeys: await sharedLimiter(pool, 20), decisionTimeMaxMs: 10_000 });
      return createSamekey({ store, policy: 'standard', limits, replayCacheBytesMax: 0 });
    };
    try {
      // One after the other: the limiter's own CREATE TABLE IF NOT EXISTS fails where two make it at one moment.
      const instances = [await instance(), await instance(), await instance(), await instance()];
      const ask = async (i: number, key: string) => {
        const samekey = instances[i % 4];
        if (samekey === undefined) throw new Error('no such instance');
        const request = { operation: 'order', scope: ['acme'], key, fingerprint: null };
        return (await samekey.run(request, () => key)).kind;
      };
      const kinds = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i, `k${i}`)));
      expect(kinds.filter((kind) => kind === 'executed')).toHaveLength(20);
      expect(kinds.filter((kind) => kind === 'limited')).toHaveLength(40);
      for (const [i, kind] of kinds.entries()) {
        // In another process than before.
        expect(await ask(i + 1, `k${i}`)).toBe(kind === 'executed' ? 'replay' : 'limited');
      }
    } finally {
      for (const pool of pools) await pool.end();
      await server.stop();
    }
  });
});
