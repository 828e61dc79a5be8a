/**
 * An application as `samekey worker --app` and `samekey reconcile --app` take it: sends mails of its outbox and prints each. The mail "fails"
 * fails as long as the file MAIL_DOWN is there; "slow" takes a second.
 */

import { existsSync } from 'node:fs';
import Database from 'libsql';
import { Client } from 'pg';
import { createSamekey } from 'samekey';
import { postgresStore } from 'samekey/stores/postgres';
import { sqliteStore } from 'samekey/stores/sqlite';

const { APP_DATABASE = '', MAIL_DOWN = '' } = process.env;

export default function app() {
  const isPostgres = APP_DATABASE.startsWith('postgres');
  const database = isPostgres ? null : new Database(APP_DATABASE);
  const store =
    database === null
      ? postgresStore({ service: 'shop', connect: () => new Client({ connectionString: APP_DATABASE }) })
      : sqliteStore({ service: 'shop', database });
  const samekey = createSamekey({ store, policy: 'payments' });
  const report = samekey.plain({ name: 'report', run: (input) => ({ reported: input }) });
  samekey.deferred(report);
  return {
    samekey,
    handlers: {
      async mail({ payload }) {
        if (payload === 'fails' && existsSync(MAIL_DOWN)) throw new Error('the mail server is down');
        if (payload === 'slow') await new Promise((resolve) => void setTimeout(resolve, 1_000));
        process.stdout.write(`sent ${payload}\n`);
      },
    },
    worker: { pollMs: 50, deliveriesMax: 2, backoff: { minMs: 10, maxMs: 10 } },
    reconcile: {
      pollMs: 100,
      operations: {
        'POST /payments': {
          async inquire({ key }) {
            if (key.startsWith('paid-')) return { kind: 'completed', answer: { id: key } };
            if (key.startsWith('late-')) return { kind: 'not-known' };
            throw new Error('the provider is down');
          },
        },
      },
    },
    close() {
      database?.close();
      process.stdout.write('closed\n');
    },
  };
}
