/**
 * One process of a test with several on one PostgreSQL: `migrate`, or `work` (claims and finishes keys one after the other and
 * says each on standard output once it was acknowledged).
 */

import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { claimOf, finishOf } from './requests.ts';

const [, , task = '', url = '', name = ''] = process.argv;
const pool = new Pool({ connectionString: url });
pool.on('error', () => undefined);
const store = postgresStore({ service: 'test', pool });

if (task === 'migrate') {
  await store.migrate();
  await store.ready();
} else {
  for (let i = 0; ; i += 1) await work(`${name}-${i}`);
}
await store.close();
await pool.end();

async function work(key: string): Promise<void> {
  const [claim] = await store.claim([{ ...claimOf(key), claimTtlMs: 1_000 }]);
  if (claim?.kind !== 'claimed') throw new Error(`a fresh key was ${claim?.kind}`);
  const [finish] = await store.finish([finishOf(key)]);
  if (finish?.kind !== 'applied') throw new Error(`a first finish was ${finish?.kind}`);
  process.stdout.write(`${key}\n`);
}
