/** A breaker in front of PostgreSQL that is killed and started again (F44). */

import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleAll } from 'cockatiel';
import { Pool } from 'pg';
import { createSamekey } from 'samekey';
import { withBreaker } from 'samekey/guard';
import { postgresStore } from 'samekey/stores/postgres';
import { describe, expect, it } from 'vitest';
import { anyPostgres, startPostgres } from '../services/postgres.ts';

const source = anyPostgres();

describe.skipIf(source === undefined)('PostgreSQL behind a breaker', () => {
  it('is left alone while it is down, and what ran when it died is recorded when it is back', async () => {
    if (source === undefined) return;
    const server = await startPostgres(source);
    const pool = new Pool({ connectionString: await server.createDatabase() });
    pool.on('error', () => undefined);
    try {
      const store = postgresStore({ service: 'test', pool });
      await store.migrate();
      let sent = 0;
      const counted = {
        ...store,
        claim: (requests: Parameters<typeof store.claim>[0]) => {
          sent += 1;
          return store.claim(requests);
        },
      };
      const policy = circuitBreaker(handleAll, {
        halfOpenAfter: 500,
        breaker: new ConsecutiveBreaker(2),
      });
      const samekey = createSamekey({
        store: withBreaker(counted, policy, { halfOpenAfterMs: 500 }),
        policy: 'standard',
        storeTimeMaxMs: 1_000,
        saveTimeMaxMs: 200,
      });
      let runs = 0;
      const ask = (key: string, run: () => Promise<string> = async () => `run ${(runs += 1)}`) =>
        samekey.run({ operation: 'order', scope: ['acme'], key, fingerprint: null }, run);

      expect((await ask('before')).kind).toBe('executed');
      const held = await ask('held', async () => {
        await server.kill();
        return 'paid';
      });
      expect(held).toMatchObject({ kind: 'executed', stored: false });
      let asked = 0;
      const during: string[] = [];
      while (policy.state === CircuitState.Closed && asked < 100) {
        during.push((await ask(`down-${(asked += 1)}`)).kind);
      }
      expect(policy.state).toBe(CircuitState.Open);

      const before = sent;
      const startedAt = performance.now();
      for (let i = 0; i < 50; i += 1) during.push((await ask(`open-${i}`)).kind);
      const tookMs = performance.now() - startedAt;
      // A probe each half second at most; none of the fifty waited for the dead server for long.
      expect(sent - before).toBeLessThanOrEqual(1 + Math.ceil(tookMs / 500));
      expect(new Set(during)).toEqual(new Set(['unavailable']));

      const reset = new Promise<void>((resolve) => void policy.onReset(() => resolve()));
      await server.restart();
      let back = await ask('after');
      for (let i = 0; back.kind === 'unavailable' && i < 2_000; i += 1) back = await ask('after');
      expect(back).toMatchObject({ kind: 'executed', stored: true });
      await reset;
      expect((await ask('before')).kind).toBe('replay');
      // The end of the attempt that ran while the server died never asked the breaker.
      let again = await ask('held');
      for (let i = 0; again.kind !== 'replay' && i < 2_000; i += 1) again = await ask('held');
      expect(again).toMatchObject({ kind: 'replay', value: 'paid' });
      expect(runs).toBe(2);
      await samekey.close({ drainMs: 0 });
    } finally {
      await pool.end();
      await server.stop();
    }
  });
});
