/**
 * `ready()` holds the tables against what the migrations make: each column, key and index in turn is taken away or changed, and must be
 * missed; what it says to do is done, and must mend it. So nothing that a migration makes can be left out of the comparison.
 */

import Libsql from 'libsql';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SchemaError } from '../../src/core/errors.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { wantedShapes as mysqlShapes } from '../../src/stores/mysql/shape.ts';
import { createTables as mysqlTables } from '../../src/stores/mysql/tables.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { MIGRATIONS } from '../../src/stores/postgres/migrations/index.ts';
import { wantedShapes as postgresShapes } from '../../src/stores/postgres/shape.ts';
import { createTables as postgresTables } from '../../src/stores/postgres/tables.ts';
import { PRIMARY, shapesOf, type TableShape } from '../../src/stores/sql/schema-shape.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { wantedShapes as sqliteShapes } from '../../src/stores/sqlite/shape.ts';
import { availableMysql, startMysql } from '../services/mysql.ts';
import { availablePostgres, startPostgres } from '../services/postgres.ts';
import { temporaryFile } from './sqlite-clients.ts';

interface Patient {
  readonly wanted: readonly TableShape[];
  execute(sql: string): Promise<void>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

interface Lane {
  readonly name: string;
  readonly kind: 'sqlite' | 'postgres' | 'mysql';
  readonly start: () => Promise<Patient>;
}

function sqliteLane(): Lane {
  return {
    name: 'SQLite',
    kind: 'sqlite',
    async start() {
      const file = temporaryFile();
      const database = new Libsql(file.path);
      const store = sqliteStore({ service: 'test', database });
      await store.migrate();
      return {
        wanted: sqliteShapes(),
        execute: async (sql) => void database.exec(sql),
        ready: () => store.ready(),
        async close() {
          await store.close();
          database.close();
          file.remove();
        },
      };
    },
  };
}

const postgresLanes = availablePostgres()
  .slice(0, 1)
  .map(
    (source): Lane => ({
      name: source.name,
      kind: 'postgres',
      async start() {
        const server = await startPostgres(source);
        const url = await server.createDatabase();
        const admin = new Client({ connectionString: url });
        await admin.connect();
        const store = postgresStore({
          service: 'test',
          connect: () => new Client({ connectionString: url }),
        });
        await store.migrate();
        return {
          wanted: postgresShapes(postgresTables('public', 'clock_timestamp()'), MIGRATIONS),
          execute: async (sql) => void (await admin.query(sql)),
          ready: () => store.ready(),
          async close() {
            await store.close();
            await admin.end();
            await server.stop();
          },
        };
      },
    }),
  );

const mysqlLanes = availableMysql()
  .slice(0, 1)
  .map(
    (source): Lane => ({
      name: source.name,
      kind: 'mysql',
      async start() {
        const server = await startMysql(source);
        const url = await server.createDatabase();
        const admin = await createConnection(url);
        const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
        await store.migrate();
        return {
          wanted: mysqlShapes(mysqlTables(undefined, '0')),
          execute: async (sql) => void (await admin.query(sql)),
          ready: () => store.ready(),
          async close() {
            await store.close();
            await admin.end();
            await server.stop();
          },
        };
      },
    }),
  );

/** Ills that no name of a table, column or index gives; each with what takes it away, and what the message must say. */
const STRANGERS: Readonly<
  Record<Lane['kind'], readonly (readonly [plant: string, cure: string, said: RegExp])[]>
> = {
  sqlite: [
    [
      'CREATE TRIGGER planted BEFORE UPDATE ON samekey_records BEGIN SELECT RAISE(IGNORE); END',
      'DROP TRIGGER planted',
      /trigger planted on samekey_records .*: DROP TRIGGER planted/,
    ],
    [
      'CREATE TEMP TRIGGER hidden BEFORE UPDATE ON samekey_messages BEGIN SELECT RAISE(IGNORE); END',
      'DROP TRIGGER hidden',
      /trigger hidden on samekey_messages/,
    ],
    [
      'CREATE UNIQUE INDEX planted ON samekey_records (operation)',
      'DROP INDEX planted',
      /unique index planted/,
    ],
    [
      'CREATE TABLE theirs (a TEXT, b TEXT, FOREIGN KEY (a, b) REFERENCES samekey_records (scope, key))',
      'DROP TABLE theirs',
      /foreign key of theirs/,
    ],
  ],
  postgres: [
    [
      'CREATE RULE planted AS ON UPDATE TO samekey_records DO INSTEAD NOTHING',
      'DROP RULE planted ON samekey_records',
      /rule planted on samekey_records may swallow.*: DROP RULE planted ON samekey_records/,
    ],
    [
      `CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER planted BEFORE UPDATE ON samekey_messages FOR EACH ROW EXECUTE FUNCTION planted()`,
      'DROP FUNCTION planted CASCADE',
      /trigger planted on samekey_messages .*: DROP TRIGGER planted ON samekey_messages/,
    ],
    [
      'ALTER TABLE samekey_audit ADD CONSTRAINT planted CHECK (attempt < 5)',
      'ALTER TABLE samekey_audit DROP CONSTRAINT planted',
      /constraint planted on samekey_audit/,
    ],
    [
      'CREATE TABLE theirs (a text, b text, CONSTRAINT planted FOREIGN KEY (a, b) REFERENCES samekey_records)',
      'DROP TABLE theirs',
      /foreign key planted on theirs/,
    ],
    [
      'CREATE UNIQUE INDEX planted ON samekey_records (operation)',
      'DROP INDEX planted',
      /unique index planted .*: DROP INDEX IF EXISTS "public".planted/,
    ],
    [
      'ALTER TABLE samekey_records ADD COLUMN planted text; ALTER TABLE samekey_records ALTER planted SET NOT NULL',
      'ALTER TABLE samekey_records DROP COLUMN planted',
      /column samekey_records.planted is not ours/,
    ],
  ],
  mysql: [
    [
      'CREATE TRIGGER planted BEFORE UPDATE ON samekey_records FOR EACH ROW SET NEW.state = OLD.state',
      'DROP TRIGGER planted',
      /trigger planted on samekey_records .*: DROP TRIGGER planted/,
    ],
    [
      'ALTER TABLE samekey_audit ADD CONSTRAINT planted CHECK (attempt < 5)',
      'ALTER TABLE samekey_audit DROP CONSTRAINT planted',
      /constraint planted on samekey_audit/,
    ],
    [
      'CREATE UNIQUE INDEX planted ON samekey_records (format_version)',
      'DROP INDEX planted ON samekey_records',
      /unique index planted .*: ALTER TABLE samekey_records DROP INDEX planted/,
    ],
  ],
};

async function faultOf(patient: Patient): Promise<SchemaError | null> {
  return patient.ready().then(
    () => null,
    (error: unknown) => error as SchemaError,
  );
}

// F151
describe.each([sqliteLane(), ...postgresLanes, ...mysqlLanes])('ready() on $name', ({ kind, start }) => {
  let patient: Patient;
  beforeAll(async () => {
    patient = await start();
  }, 60_000);
  afterAll(() => patient.close());

  it('finds nothing on what the migrations made', async () => {
    await patient.ready();
  });

  it('misses each column that is taken away', async () => {
    const seen: string[] = [];
    for (const { name, sqlName, columns } of patient.wanted) {
      for (const column of columns) {
        const quoted = kind === 'mysql' ? `\`${column.name}\`` : `"${column.name}"`;
        const away = kind === 'mysql' ? '`away`' : '"away"';
        await patient.execute(`ALTER TABLE ${sqlName} RENAME COLUMN ${quoted} TO ${away}`);
        const error = await faultOf(patient);
        await patient.execute(`ALTER TABLE ${sqlName} RENAME COLUMN ${away} TO ${quoted}`);
        if (error?.code !== 'ERR_SAMEKEY_SCHEMA' && name !== 'samekey_meta')
          seen.push(`${name}.${column.name}`);
        else if (error === null) seen.push(`${name}.${column.name}`);
      }
    }
    expect(seen).toEqual([]);
    await patient.ready();
  }, 60_000);

  it('misses each index that is dropped, and what it says to do makes it again', async () => {
    let count = 0;
    for (const { sqlName, indexes } of patient.wanted) {
      for (const { name } of indexes.filter((index) => index.name !== PRIMARY)) {
        if (name === 'samekey_identity') continue;
        await patient.execute(kind === 'mysql' ? `DROP INDEX ${name} ON ${sqlName}` : `DROP INDEX ${name}`);
        const error = await faultOf(patient);
        expect(error?.message).toContain(`the index ${name} is missing`);
        expect(error?.faults).toHaveLength(1);
        await patient.execute(error?.faults[0]?.mend ?? '');
        await patient.ready();
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(8);
  }, 60_000);

  it.each(STRANGERS[kind])('finds what no migration made: %s', async (plant, cure, said) => {
    await patient.execute(plant);
    const error = await faultOf(patient);
    await patient.execute(cure);
    expect(error?.message).toMatch(said);
    await patient.ready();
  });

  it.runIf(kind !== 'sqlite')(
    'finds a column of another type, nullity or default, and its mend mends it',
    async () => {
      const plants =
        kind === 'postgres'
          ? [
              'ALTER TABLE samekey_records ALTER attempt TYPE bigint',
              'ALTER TABLE samekey_records ALTER operation DROP NOT NULL',
              'ALTER TABLE samekey_records ALTER reason SET NOT NULL',
              'ALTER TABLE samekey_messages ALTER started DROP DEFAULT',
              'ALTER TABLE samekey_audit ALTER act TYPE text COLLATE "POSIX"',
            ]
          : [
              'ALTER TABLE samekey_records MODIFY attempt BIGINT NOT NULL',
              'ALTER TABLE samekey_records MODIFY format_version INT',
              'ALTER TABLE samekey_records MODIFY inquiries INT NOT NULL',
              'ALTER TABLE samekey_messages MODIFY topic VARBINARY(512) NOT NULL',
              'ALTER TABLE samekey_audit MODIFY actor VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci',
            ];
      for (const plant of plants) {
        await patient.execute(plant);
        const error = await faultOf(patient);
        expect([plant, error?.faults.length]).toEqual([plant, 1]);
        await patient.execute(error?.faults[0]?.mend ?? '');
        await patient.ready();
      }
    },
    60_000,
  );

  it.runIf(kind !== 'sqlite')('misses a primary key', async () => {
    const drop = kind === 'mysql' ? 'DROP PRIMARY KEY' : 'DROP CONSTRAINT samekey_counters_pkey';
    await patient.execute(`ALTER TABLE samekey_counters ${drop}`);
    const error = await faultOf(patient);
    expect(error?.message).toMatch(/the primary key of samekey_counters/);
    await patient.execute(error?.faults[0]?.mend ?? '');
    await patient.ready();
  });
});

describe('what migrations make', () => {
  it('is read from their statements, also from a column that a later one adds', () => {
    const [table] = shapesOf(
      [
        "CREATE TABLE t (a TEXT NOT NULL DEFAULT 'x, y', b INTEGER, PRIMARY KEY (a))",
        'INSERT INTO t VALUES (1)',
        'ALTER TABLE t ADD COLUMN c TEXT',
        'CREATE INDEX i ON t (b, c) WHERE c IS NOT NULL',
      ],
      (type) => type,
    );
    expect(table?.columns.map(({ name, type, fallback }) => `${name} ${type} ${fallback}`)).toEqual([
      "a TEXT 'x,y'",
      'b INTEGER ',
      'c TEXT ',
    ]);
    expect(table?.indexes.map(({ name, columns, where }) => `${name} ${columns} ${where}`)).toEqual([
      'PRIMARY a ',
      'i b,c cisnotnull',
    ]);
  });

  it('is not guessed from a statement that is not understood', () => {
    expect(() => shapesOf(['DROP TABLE t'], (type) => type)).toThrow(/not understood/);
  });
});
