/**
 * A payments API as a process that can be killed: it charges (a line on stdout), and then hangs for ever where the file HANGS is there. Sends
 * "listening <origin>" first.
 */

import { existsSync } from 'node:fs';
import express from 'express';
import Database from 'libsql';
import { Client } from 'pg';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { postgresStore } from 'samekey/stores/postgres';
import { sqliteStore } from 'samekey/stores/sqlite';

const { APP_DATABASE = '', HANGS = '' } = process.env;
const store = APP_DATABASE.startsWith('postgres')
  ? postgresStore({ service: 'shop', connect: () => new Client({ connectionString: APP_DATABASE }) })
  : sqliteStore({ service: 'shop', database: new Database(APP_DATABASE) });
const samekey = createSamekey({ store, policy: 'payments', claimTtlMs: 1_000 });
await samekey.ready();

const app = express();
app.post(
  '/payments',
  idempotent(samekey, { scope: () => ['acme', 'alice'] }),
  express.json(),
  async (request, response) => {
    process.stdout.write(`charged ${request.body.amountCents}\n`);
    if (existsSync(HANGS)) await new Promise(() => undefined);
    response.status(201).json({ id: 'pay_1' });
  },
);
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening http://127.0.0.1:${server.address().port}\n`);
});
