/**
 * One process of a rolling deploy: code of before, with, or after a bridge, on PostgreSQL. Each execution of its handler is a row in a ledger
 * of its own, written before it answers. It ends with whoever started it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/fetch';
import { postgresStore } from 'samekey/stores/postgres';
import { type DeployAnswer, type DeployAsk, type DeployProcessOptions, VERSIONS } from './deploy-versions.ts';

const { databaseUrl, version } = JSON.parse(process.argv[2] ?? '{}') as DeployProcessOptions;
const pool = new Pool({ connectionString: databaseUrl, max: 6 });
pool.on('error', () => undefined);
process.once('disconnect', () => process.exit(0));

const samekey = createSamekey({ store: postgresStore({ service: 'test', pool }), policy: 'payments' });
const { method, path, options } = VERSIONS[version];
const pay = idempotent(samekey, options, async (_request, _context, attempt) => {
  await pool.query('INSERT INTO ledger (key, version) VALUES ($1, $2)', [attempt?.key, version]);
  // Long enough that others come meanwhile.
  await sleep(5);
  return Response.json({ key: attempt?.key, by: version }, { status: 201 });
});

process.on('message', (asked: DeployAsk) => void answer(asked));
process.send?.({ id: 0, status: 0, body: 'ready' } satisfies DeployAnswer);

async function answer({ id, key }: DeployAsk): Promise<void> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"`, 'x-user': 'ann' },
    body: '{"amount":1}',
  });
  const response = await pay(request);
  process.send?.({ id, status: response.status, body: await response.text() } satisfies DeployAnswer);
}
