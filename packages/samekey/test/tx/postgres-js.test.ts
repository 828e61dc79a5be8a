/** `fromPostgresJs` keeps the contract, with the library itself and with columns renamed. */

import postgres from 'postgres';
import { fromPostgresJs } from '../../src/tx/postgres-js/index.ts';
import { contractOnPostgres } from './postgres-harness.ts';

contractOnPostgres<postgres.TransactionSql>(
  {
    name: 'postgres.js',
    refusesLateUse: true,
    endsWhenLost: true,
    async open(url, begin, max) {
      const sql = postgres(url, {
        max,
        fetch_types: false,
        onnotice: () => undefined,
        transform: postgres.camel,
      });
      return {
        source: fromPostgresJs(sql, begin),
        query: (tx, text) => tx.unsafe(text),
        insert: (tx, id, amount) => tx`INSERT INTO orders VALUES (${id}, ${amount})`,
        async nested(tx, body) {
          await tx.savepoint((inner) => body(inner));
        },
        close: () => sql.end({ timeout: 1 }),
      };
    },
  },
  { all: true },
);
