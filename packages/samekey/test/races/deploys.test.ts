/** Rolling deploys on real processes; the long run is `node tools/prove.mjs deploys`. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployRound } from '../processes/deploy-round.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { seedOf } from './seed.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('two versions side by side', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
  });
  afterAll(() => server.stop());
  const seed = seedOf('deploys');

  // F111
  it(`a key runs once, whichever version it meets first, or both in the same instant (seed ${seed})`, async () => {
    const { failures, counts } = await deployRound(server, seed, 20);
    expect(failures).toEqual([]);
    expect(counts['keys']).toBe(60);
  }, 120_000);
});
