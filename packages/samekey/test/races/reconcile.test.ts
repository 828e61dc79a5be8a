/**
 * Reconciliation on real processes: payers killed and frozen at their calls, two reconcilers killed and frozen too; the long run is
 * `node tools/prove.mjs reconcile-processes`.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileRound } from '../processes/reconcile-round.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { seedOf } from './seed.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('reconciliation by two processes', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
  });
  afterAll(() => server.stop());
  const seed = seedOf('reconcile-processes');

  // F20, F57, F61
  it(`pays once, settles once, and asks no question twice (seed ${seed})`, async () => {
    const { failures, counts } = await reconcileRound(server, seed, 8);
    expect(failures).toEqual([]);
    expect(counts['asked']).toBeGreaterThan(0);
  }, 180_000);
});
