/**
 * One process of a test with several on one PostgreSQL: `migrate`, or `work` (claims and finishes keys one after the other and
 * says each on standard output once it was acknowledged).
 */

import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';

const [, , task = '', url = '', name = ''] = process.argv;
const pool = new Pool({ connectionString: url });
pool.on('error', () => undefined);
const store = postgresStore({ pool });

if (task === 'migrate') {
  await store.migrate();
  await store.ready();
} else {
  for (let i = 0; ; i += 1) await work(`${name}-${i}`);
}
await store.close();
await pool.end();

async function work(key: string): Promise<void> {
  const id = { scope: 'processes', key };
  const claimId = `claim-${key}`;
  const [claim] = await store.claim([
    {
      ...id,
      operation: 'work',
      claimId,
      claimTtlMs: 1_000,
      fingerprint: { label: 'none', digest: 'none' },
      whenClaimEnds: 'unknown',
      retentionMs: 3_600_000,
      replayMinMs: 3_600_000,
      tombstoneMs: 0,
      attemptMax: 10,
      formatVersion: 1,
      entry: 'run',
      input: null,
      pendingTimeMaxMs: 0,
    },
  ]);
  if (claim?.kind !== 'claimed') throw new Error(`a fresh key was ${claim?.kind}`);
  const [finish] = await store.finish([
    {
      ...id,
      claimId,
      attempt: claim.attempt,
      to: 'completed',
      proof: null,
      reason: null,
      response: { status: 200, headers: [], body: new TextEncoder().encode(key) },
      unbindFingerprint: false,
      extendMs: 0,
      reconcileAfterMs: 0,
      handedOver: false,
    },
  ]);
  if (finish?.kind !== 'applied') throw new Error(`a first finish was ${finish?.kind}`);
  process.stdout.write(`${key}\n`);
}
