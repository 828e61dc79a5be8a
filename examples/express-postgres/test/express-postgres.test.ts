import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ordersOnPostgres } from '../../orders-on-postgres.ts';

ordersOnPostgres('express-postgres/server.mjs');

// The promise of the guide: from SQLite to PostgreSQL it is the line of the store, and `samekey migrate` for store.migrate().
it('differs from the example on SQLite in the line of the store, and its import', () => {
  const [sqlite, postgres] = [lines('express-sqlite'), lines('express-postgres')];
  expect(sqlite.filter((line) => !postgres.includes(line))).toEqual([
    "import { sqliteStore } from 'samekey/stores/sqlite';",
    "const store = sqliteStore({ service: 'shop', database });",
    'await store.migrate();',
  ]);
  expect(postgres.filter((line) => !sqlite.includes(line))).toEqual([
    "import { postgresStore } from 'samekey/stores/postgres';",
    "const store = postgresStore({ service: 'shop', pool: database });",
  ]);
});

function lines(example: string): string[] {
  return readFileSync(new URL(`../../${example}/server.mjs`, import.meta.url), 'utf8').split('\n');
}
